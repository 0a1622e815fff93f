"""Code generation: from loop nests to machine code, through numba's code generator.

numba is imported when code is generated for the first time, in whatever thread that is. A thread that imports one of
its parts while another one imports the whole waits for it with the lock of the part in hand; Python sees the deadlock
and gives one of them a half-made module. So ``import numba`` stands in front of every import of a part.
"""
