"""Benchmarks: jitrt against NumPy, numexpr, blosc2, numba and JAX, side by side in one process."""
