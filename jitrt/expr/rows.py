"""The whole op table: importing this module fills it."""

from . import assembly, contractions, control, movement, reductions, selection, ufuncs
from .optable import METHODS, NUMPY_FUNCTIONS, OPS, VIEW_FUNCTIONS

__all__ = ["METHODS", "NUMPY_FUNCTIONS", "OPS", "VIEW_FUNCTIONS"]

ROW_MODULES = (assembly, contractions, control, movement, reductions, selection, ufuncs)
