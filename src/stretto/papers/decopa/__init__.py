"""DecoPa: query decomposition for parallel complex event processing (SIGMOD 2024)."""
