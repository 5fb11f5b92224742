"""Trend aggregation, planned: automata of Kleene patterns merged into one graph, and what of it queries share."""
