"""`stretto stream`, and how a running stream is shown."""
