"""Choosing the cheapest ways that answer every query."""
