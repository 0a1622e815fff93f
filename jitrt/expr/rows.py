"""The whole op table: importing this module fills it."""

from . import (
    angle,
    assembly,
    assumptions,
    contractions,
    control,
    indexing,
    movement,
    pythonnumbers,
    reductions,
    scans,
    selection,
    ufuncs,
    updates,
)
from .optable import BY_VALUE_FUNCTIONS, CONTIGUOUS_FUNCTIONS, METHODS, NUMPY_FUNCTIONS, OPS, VIEW_FUNCTIONS

__all__ = ["BY_VALUE_FUNCTIONS", "CONTIGUOUS_FUNCTIONS", "METHODS", "NUMPY_FUNCTIONS", "OPS", "VIEW_FUNCTIONS"]

ROW_MODULES = (
    angle, assembly, assumptions, contractions, control, indexing, movement, pythonnumbers, reductions, scans,
    selection, ufuncs, updates,
)  # fmt: skip
