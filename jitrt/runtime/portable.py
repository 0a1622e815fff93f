"""Values as bytes that other processes read: pickles of this package's values, numbers, arrays and containers alone."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

_BUILTINS = (bool, int, float, complex, str, slice, tuple, list, dict, set, frozenset, ...)
_PACKAGE = __name__.partition(".")[0]
_MAKERS = ("scalar", "_frombuffer", "_reconstruct")  # of NumPy's numbers and arrays


def is_readable(value: Any) -> bool:
    """Whether such bytes may name a class, or what NumPy makes numbers and arrays with."""
    package, _, rest = str(getattr(value, "__module__", "")).partition(".")
    if isinstance(value, type) and (package == _PACKAGE or issubclass(value, (np.generic, np.dtype, np.ndarray))):
        return True
    is_maker = package == "numpy" and rest.startswith("_core.") and getattr(value, "__name__", "") in _MAKERS
    return is_maker or any(value is known for known in _BUILTINS)


class Reader(pickle.Unpickler):
    """Of such bytes; what they must not name raises `pickle.UnpicklingError`."""

    def find_class(self, module: str, name: str) -> Any:
        found: Any = None
        if module.partition(".")[0] in (_PACKAGE, "numpy", "builtins"):
            found = super().find_class(module, name)
        if not is_readable(found):
            raise pickle.UnpicklingError(f"{module}.{name}")
        return found


def dumps(value: Any) -> bytes:
    """The bytes of a value."""
    return pickle.dumps(value, 5)


def loads(data: bytes, reader: type[Reader] = Reader, *args: Any) -> Any:
    """The value of these bytes, as a `reader` made with `args` reads them.

    Raises
    ------
    Exception
        If they are those of no value, or of more.

    Examples
    --------
    >>> loads(dumps((1.0, np.arange(3))))
    (1.0, array([0, 1, 2]))
    """
    file = io.BytesIO(data)
    value = reader(file, *args).load()
    if file.read(1):
        raise ValueError("there is more than a value")
    return value
