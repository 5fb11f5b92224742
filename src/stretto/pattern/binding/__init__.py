"""Statements as written to bound queries: names and kinds resolved, every mistake listed."""
