"""The papers, each in its own room and words; the product reaches them through the registry of optimizers alone."""
