"""Splits of queries and units for them: loads, exact allocation, and both together."""
