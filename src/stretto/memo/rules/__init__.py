"""The rules, one per file; each tuple in optimizers names those that a paper uses."""
