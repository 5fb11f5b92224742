"""Streams and queries as operators over streams, and sets of operators that are computed as one."""
