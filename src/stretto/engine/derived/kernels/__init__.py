"""Loops of derived streams: Numba functions over plain arrays."""
