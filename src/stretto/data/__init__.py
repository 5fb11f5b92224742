"""Events from files, and results to files."""
