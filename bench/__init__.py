"""Benchmarks: jitrt against NumPy, numexpr, numba and JAX, side by side in one process."""
