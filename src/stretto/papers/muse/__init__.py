"""MUSE (2020): the totals of Kleene trends computed once for many queries, and where sharing begins."""
