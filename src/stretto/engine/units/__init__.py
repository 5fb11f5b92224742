"""Operators on several units, and whole plans in cells, within one process."""
