"""NumPy's namespace over lazy arrays: one import changed, and no decorator.

>>> import jitrt.numpy as np
>>> x = np.linspace(0.0, 1.0, 100_001)
>>> y = np.sqrt(x * x + 1) - x  # is recorded
>>> float(y.sum().round(3))  # is computed, in one loop
64780.065

Operations are recorded, with the dtypes and shapes that they have, until somebody looks at a value: then all that it
needs is computed by one program, which is found again when the same operations come again. What the graph has no node
for NumPy computes at once. Small arrays are NumPy's own: it is done with them before an operation would be recorded.
Everything that NumPy's namespace has is here, and so is the array API standard's.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from . import creation as _creation
from . import fft as fft
from . import linalg as linalg
from . import random as random
from . import standard as _standard
from .namespace import contents as _contents
from .namespace import over_other_things as _over_other_things
from .operators import ndarray as ndarray  # from the module that completes it

array, asarray, asanyarray = (
    _over_other_things(getattr(_numpy, name), getattr(_creation, name)) for name in ("array", "asarray", "asanyarray")
)
_OWN = {"fft", "linalg", "random", "ndarray", "array", "asanyarray", "asarray"}
_made = _contents(_numpy)
globals().update({name: value for name, value in _made.items() if name not in _OWN})
globals().update({name: getattr(_standard, name) for name in ("argsort", "sort", "unique_values")})
__all__ = [name for name in _numpy.__all__ if name in globals()]


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_numpy)})
