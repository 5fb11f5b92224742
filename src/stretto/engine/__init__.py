"""Arrow batches in, matches out, incrementally: the reorder buffer, the arena of raw events, the predicate index,
the operators and their kernels. It knows nothing of query text and nothing of Spark.
"""
