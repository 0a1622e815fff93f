"""Functions that tests have as texts, whose sources can be looked up as those of modules and notebooks can."""

import linecache
import math

import numpy as np

__all__ = ["function_of"]


def function_of(source, name="f", **namespace):
    """
    Return a function that a text defines.

    Parameters
    ----------
    source : str
        The text, which finds NumPy as `np` and Python's `math`.
    name : str
        Of the function.
    **namespace
        What else the text finds.
    """
    filename = f"<text {hash(source)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    space = {"np": np, "math": math, **namespace}
    exec(compile(source, filename, "exec"), space)
    return space[name]
