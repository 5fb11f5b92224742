"""Rows of events that operators keep between steps, and how new rows find their partners among them."""
