"""Derived streams: windowed aggregates, exact and incremental."""
