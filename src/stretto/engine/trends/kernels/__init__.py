"""The hot loops of trend totals: Numba functions over plain arrays."""
