"""Families in a plan: one template for many queries, and who of them gets a match."""
