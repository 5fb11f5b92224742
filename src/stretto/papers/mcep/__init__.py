"""MCEP (Kolchinsky and Schuster, SIGMOD 2019): sharing and reordering together, by local search; and its baselines."""
