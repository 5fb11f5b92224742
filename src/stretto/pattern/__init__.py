"""Syntax to meaning: names and kinds resolved, predicates as data, the normal form, canonical pieces, and the
brute-force oracle that says what every query means.
"""
