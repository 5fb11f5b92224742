"""Totals over trends that are never built: each event adds what it contributes to running sums."""
