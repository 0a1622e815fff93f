"""The whole op table: importing this module fills it."""

from . import (
    assembly,
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
from .optable import CONTIGUOUS_FUNCTIONS, METHODS, NUMPY_FUNCTIONS, OPS, VIEW_FUNCTIONS

__all__ = ["CONTIGUOUS_FUNCTIONS", "METHODS", "NUMPY_FUNCTIONS", "OPS", "VIEW_FUNCTIONS"]

ROW_MODULES = (
    assembly, contractions, control, indexing, movement, pythonnumbers, reductions, scans, selection, ufuncs, updates,
)  # fmt: skip
