"""Batches: DataFrames and event files in, matches and totals out."""
