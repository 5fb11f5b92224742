"""Memory: the bound on what is held, and buffers that are used again."""
