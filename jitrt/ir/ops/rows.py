"""The whole op table: importing this module fills it."""

from .. import control  # noqa: F401 (its rows are in the table)
from . import (  # noqa: F401
    assembly,
    assumptions,
    composed,
    contractions,
    folds,
    fused,
    indexing,
    moments,
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
