"""Generators of the papers' event streams and query workloads."""
