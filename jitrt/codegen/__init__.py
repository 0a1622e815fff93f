"""Code generation: from loop nests to machine code, through numba's code generator."""
