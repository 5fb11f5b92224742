"""Statements that are alike but for names and constants: read, kept and written without a tree for each."""
