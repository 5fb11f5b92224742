"""The hot loops: Numba functions over plain arrays, each beside a NumPy statement of the same contract."""
