"""Values of events: vectors with nulls, strings as numbers, and terms evaluated over many rows at a time."""
