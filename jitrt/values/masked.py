"""Masked arrays, as a call holds them: the data, the mask and the fill value are arrays.

    np.ma.masked_array([1.0, 2.0], [False, True], fill_value=0.0)  →  data [1.0, 2.0], mask [False, True], fill 0.0

A trace works with `Masked`, which has symbols for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.once import once

ATTRIBUTES = ("_fill_value", "_hardmask", "_sharedmask", "_isfield", "_baseclass", "_optinfo", "_basedict", "_mask")
"""What NumPy's own masked arrays have, in the order in which it sets them."""


class Told(NamedTuple):
    """What tells masked arrays apart beside their parts.

    Parameters
    ----------
    names : tuple of str
        Of the attributes, in their order.
    has_mask : bool
        Whether the mask is an array, and not ``nomask``.
    has_fill : bool
        Whether the fill value has been set.
    hard, shared : bool
        Whether the mask is hard, and whether it may be that of other arrays.
    shrinks : bool
        Whether the mask of a result is ``nomask`` if nothing is masked.
    """

    names: tuple[str, ...]
    has_mask: bool
    has_fill: bool
    hard: bool
    shared: bool
    shrinks: bool = False


class Masked:
    """What stands for a masked array in a trace."""

    __slots__ = ("_data", "_fill_value", "_hardmask", "_mask", "_names", "_sharedmask", "_shrinks")
    _data: Any
    _mask: Any
    _fill_value: Any
    _hardmask: bool
    _sharedmask: bool
    _shrinks: bool
    _names: tuple[str, ...]
    filled: Any
    in_traces: type[Masked]
    """The class of such objects, which has what they do."""

    def __init__(self, data: Any = None, mask: Any = np.False_):
        self._data, self._mask, self._fill_value = data, mask, None
        self._hardmask = self._sharedmask = self._shrinks = False
        self._names = ATTRIBUTES


def has_mask(value: Any) -> bool:
    """Whether a value is a masked array of numbers, or what stands for one, which is taken apart."""
    cls = type(value)
    if not issubclass(cls, np.ndarray):
        return issubclass(cls, Masked)
    module = sys.modules.get("numpy.ma")  # which NumPy imports when it is first asked for
    return module is not None and cls is getattr(module, "MaskedArray", None) and _is_plain(value)


def is_masked_constant(value: Any) -> bool:
    """Whether a value is ``np.ma.masked``, which nothing can change."""
    module = sys.modules.get("numpy.ma")
    return module is not None and value is getattr(module, "masked", module)


def _is_plain(value: Any) -> bool:
    """Whether a masked array has nothing that its subclasses, and records, have."""
    own = vars(value)
    if len(own) != len(ATTRIBUTES) or not value.ndim or value.dtype.kind not in "biufc" or not value.dtype.isnative:
        return False
    mask, fill = own.get("_mask"), own.get("_fill_value")
    return (
        own.get("_baseclass") is np.ndarray
        and own.get("_isfield") is False
        and own.get("_optinfo") == {} == own.get("_basedict")
        and type(own.get("_hardmask")) is bool is type(own.get("_sharedmask"))
        and value.flags.aligned
        and (mask is np.False_ or (type(mask) is np.ndarray and mask.dtype.char == "?" and mask.shape == value.shape))
        and (fill is None or (type(fill) is np.ndarray and not fill.shape and fill.dtype.kind in "biufc"))
    )


def told(value: Any) -> Told:
    """What tells a masked array apart beside its parts."""
    if isinstance(value, Masked):
        names, mask, fill, shrinks = value._names, value._mask, value._fill_value, value._shrinks
        return Told(names, mask is not np.False_, fill is not None, value._hardmask, value._sharedmask, shrinks)
    own = vars(value)
    has_fill = own["_fill_value"] is not None
    return Told(tuple(own), own["_mask"] is not np.False_, has_fill, own["_hardmask"], own["_sharedmask"])


def parts_of(value: Any) -> tuple[Any, ...]:
    """The data, and the mask if it is an array and the fill value if it is set, in the order of the attributes."""
    if isinstance(value, Masked):
        return tuple(getattr(value, name) for name in names_of(told(value)))
    own = vars(value)
    others = [own[name] for name in own if name == "_mask" or name == "_fill_value"]
    return (value.view(np.ndarray), *(v for v in others if v is not np.False_ and v is not None))


def names_of(what: Told) -> tuple[str, ...]:
    """The names of the parts."""
    has = {"_mask": what.has_mask, "_fill_value": what.has_fill}
    return ("_data", *(name for name in what.names if has.get(name)))


def fixed_attributes(what: Told) -> dict[str, Any]:
    """The attributes that are no parts, and always the same objects."""
    found = {"_hardmask": what.hard, "_sharedmask": what.shared, "_isfield": False, "_baseclass": np.ndarray}
    return found | {"_mask": np.False_, "_fill_value": None}


def begun(what: Told) -> Masked:
    """A masked array without parts."""
    made = Masked.in_traces()
    made._names, made._hardmask, made._sharedmask, made._shrinks = what.names, what.hard, what.shared, what.shrinks
    return made


def put_together(value: Masked, what: Told, parts: Sequence[Any]) -> Any:
    """The masked array that has these parts; `value` with them, if they are symbols."""
    if all(type(part) is np.ndarray for part in parts):
        return maker(what)(*parts)
    given = dict(zip(names_of(what), parts))
    value._data, value._mask = given["_data"], given.get("_mask", np.False_)
    value._fill_value = given.get("_fill_value")
    return value


def changes(value: Masked, what: Told, parts: Sequence[Any]) -> dict[str, Any]:
    """The attributes of a masked array that are others than those with which it was put together."""
    before = fixed_attributes(what) | dict(zip(names_of(what), parts))
    after = {name: getattr(value, name) for name in ("_mask", "_fill_value", "_hardmask", "_sharedmask")}
    return {name: found for name, found in after.items() if found is not before[name]}


def maker(what: Told) -> Callable[..., Any]:
    """What makes the masked array of its data and its other parts."""
    unfinished, names = _unfinished(), names_of(what)[1:]
    template = dict.fromkeys(ATTRIBUTES) | fixed_attributes(what)

    def make(data: np.ndarray, *others: np.ndarray) -> Any:
        made: Any = data.view(unfinished)
        made.__class__ = np.ma.MaskedArray
        own = made.__dict__
        own.update(template)
        own["_optinfo"] = own["_basedict"] = {}
        own.update(zip(names, others))
        if what.shrinks and not own["_mask"].any():
            own["_mask"] = np.False_
        return made

    return make


@once
def _unfinished() -> type:
    """The class of masked arrays that get their attributes from elsewhere: NumPy would look for them for long."""
    return type("_Unfinished", (np.ma.MaskedArray,), {"__array_finalize__": np.ndarray.__array_finalize__})
