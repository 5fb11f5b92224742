"""The chosen DAG of operators, its invariants, how a query is lowered into it, and EXPLAIN."""
