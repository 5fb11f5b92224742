"""A plan as a page: tables, and drawings of what reads what."""
