"""The whole op table: importing this module fills it."""

from .. import control
from . import (
    angle,
    assembly,
    assumptions,
    contractions,
    folds,
    fused,
    indexing,
    moments,
    movement,
    pythonnumbers,
    reductions,
    rounding,
    scans,
    searches,
    selection,
    ufuncs,
    updates,
)
from .optable import BY_VALUE_FUNCTIONS, CONTIGUOUS_FUNCTIONS, METHODS, NUMPY_FUNCTIONS, OPS, VIEW_FUNCTIONS

__all__ = ["BY_VALUE_FUNCTIONS", "CONTIGUOUS_FUNCTIONS", "METHODS", "NUMPY_FUNCTIONS", "OPS", "VIEW_FUNCTIONS"]

ROW_MODULES = (
    angle, assembly, assumptions, contractions, control, folds, fused, indexing, moments, movement, pythonnumbers,
    reductions, rounding, scans, searches, selection, ufuncs, updates,
)  # fmt: skip
