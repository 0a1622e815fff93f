"""The whole op table: importing this module fills it."""

from . import (
    angle,
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
    angle, assembly, contractions, control, indexing, movement, pythonnumbers, reductions, scans, selection, ufuncs,
    updates,
)  # fmt: skip
