"""Where the inputs of a program come from: a value for each name, from whatever holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from .known import UNKNOWN, Known
from .missing import FILLING, SUFFIX

Loader = Callable[[Any, Sequence[str]], Mapping[str, Any]]
_MISSING = object()


def load(
    source: Any,
    names: Sequence[str],
    given: Mapping[str, Any],
    loader: Loader | None = None,
    types: Mapping[str, Any] = MappingProxyType({}),
) -> list[Any]:
    """The inputs, in the order of `names`.

    Parameters
    ----------
    source : object
        A mapping, a structured array, a pandas frame, or an object with attributes; None for nothing.
    names : sequence of str
    given : mapping
        Inputs that go first.
    loader : callable, optional
        ``loader(source, names)`` gives a mapping; in place of what is known of `source`.
    types : mapping of str to Known, optional
        What is known of the types of the inputs.

    Raises
    ------
    TypeError
        If some are missing, or given and not an input.
    """
    optional = {name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)}
    if unknown := sorted(given.keys() - {*names} - optional):
        raise TypeError(f"{', '.join(unknown)}: no such inputs; there are {', '.join(names) or 'none'}")
    loaded: Mapping[str, Any] = loader(source, names) if loader is not None else {}
    if not hasattr(loaded, "get"):
        raise TypeError(f"a loader gives a mapping of inputs, and this one gave {loaded!r}")
    find = _finder(source) if loader is None else (lambda name: loaded.get(name, _MISSING))
    values = [given[name] if name in given else find(name) for name in names]
    for k, name in enumerate(names):
        base = name.removesuffix(SUFFIX)
        if values[k] is not _MISSING or base not in optional or name == base:
            continue
        found = given[base] if base in given else _column(source, base) if _is_frame(source) else find(base)
        if found is not _MISSING:
            value, values[k] = taken_apart(found, types.get(base, UNKNOWN))
            if base in names:
                values[names.index(base)] = value
    if missing := [name for name, value in zip(names, values) if value is _MISSING]:
        raise TypeError(f"missing inputs: {', '.join(missing)}")
    return values


def _is_frame(source: Any) -> bool:
    """Whether it is a frame of pandas, or the like."""
    return hasattr(source, "columns") and hasattr(source, "to_numpy")


def _column(frame: Any, name: str) -> Any:
    """A column, with what it says of missing values."""
    return frame[name] if name in frame.columns else _MISSING


def _finder(source: Any) -> Callable[[str], Any]:
    if source is None:
        return lambda name: _MISSING
    if isinstance(source, Mapping):
        return lambda name: source.get(name, _MISSING)
    if isinstance(source, (np.ndarray, np.void)):
        fields = source.dtype.names or ()
        return lambda name: source[name] if name in fields else _MISSING
    if _is_frame(source):
        return lambda name: source[name].to_numpy() if name in source.columns else _MISSING
    return lambda name: getattr(source, name, _MISSING)


def taken_apart(value: Any, known: Known = UNKNOWN) -> tuple[Any, Any]:
    """The value and the presence of what is given for an optional leaf of that type."""
    if value is None or value is np.ma.masked:
        return _filling(known), False
    if isinstance(value, np.ma.MaskedArray):
        return value.filled(FILLING), ~np.ma.getmaskarray(value)
    if callable(getattr(value, "isna", None)) and np.ndim(value):
        return _column_taken_apart(value)
    return value, True


def _filling(known: Known) -> Any:
    """A value of that type, for what is missing as a whole."""
    dtype = np.dtype(float) if known.dtype is None else known.dtype
    made = np.ones([1 if n is None else n for n in known.shape or ()], dtype)[()]
    return made.item() if known == UNKNOWN else made


def _column_taken_apart(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same of a column of pandas, or of one of its arrays, which stays as it is: ``to_numpy`` may be a view."""
    missing = np.array(column.isna())
    dtype = getattr(column.dtype, "numpy_dtype", None)
    if dtype is not None:  # its integers have no value of their own for what is missing
        return column.to_numpy(dtype, na_value=np.ones((), dtype)[()]), ~missing
    values = np.asarray(column)
    # What can be done with one object, a text or a date, can be done with another.
    there = values[~missing][:1] if values.dtype.hasobject else values[:0]
    return np.where(missing, there if there.size else np.ones(1, values.dtype), values), ~missing
