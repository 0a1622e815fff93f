"""Arrays of records, as a call holds them: their fields are arrays, strided views of one memory.

    np.zeros(9, [("mass", "f4"), ("place", "f8", 3)])    →    arrays of shapes (9,) and (9, 3), 28 bytes from row to row

A trace works with `Records`, which have a symbol for each field.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import Untraceable

_MOST_FIELDS = 64
_KINDS = (np.ndarray, np.recarray)
_OF_NUMBERS = "biufcmM"
_BASIC = (int, slice, type(None))


def has_fields(value: Any) -> bool:
    """Whether a value is an array of records, or what stands for one, whose fields are taken apart."""
    return type(value) is Records or (
        type(value) in _KINDS and value.dtype.names is not None and _is_plain(value.dtype)
    )


@lru_cache(maxsize=256)
def _is_plain(dtype: np.dtype) -> bool:
    """Whether a dtype has fields of numbers, each in memory of its own."""
    names, fields = dtype.names, dtype.fields
    if dtype.kind != "V" or not names or fields is None or not len(names) == len(fields) <= _MOST_FIELDS:
        return False  # titles are further names
    end = 0
    for kind, offset in sorted((fields[name][:2] for name in names), key=operator.itemgetter(1)):
        element = kind.base
        if offset < end or not (element.kind in _OF_NUMBERS or (element.names is not None and _is_plain(element))):
            return False
        end = offset + kind.itemsize
    return True


def fields_of(value: Any) -> tuple[Any, ...]:
    """The fields of such an array, in order."""
    if type(value) is Records:
        return tuple(value._fields.values())
    array = value.view(np.ndarray)
    return tuple([array[name] for name in value.dtype.names])


def put_together(records: Records, fields: Sequence[Any]) -> Any:
    """The array of records that has these fields; `records` with them, if they are symbols."""
    if not all(type(field) is np.ndarray for field in fields):
        records._fields = dict(zip(records._dtype.names or (), fields))
        return records
    axes = fields[0].ndim - records._dtype[0].ndim
    made = np.empty(fields[0].shape[:axes], records._dtype)
    for name, field in zip(made.dtype.names or (), fields):
        made[name] = field
    return made.view(records._kind)


class Records:
    """What stands for an array of records, of a dtype and a class, in a trace."""

    __slots__ = ("_dtype", "_fields", "_kind")
    __array_priority__ = 1000.0

    def __init__(self, dtype: np.dtype, kind: type, fields: dict[str, Any] | None = None):
        self._dtype, self._kind = dtype, kind
        self._fields: dict[str, Any] = {} if fields is None else fields

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self._kind

    def __getitem__(self, index: Any) -> Any:
        if type(index) is str:
            if index not in self._fields:
                raise ValueError(f"no field of name {index}")
            return self._fields[index]
        items = index if type(index) is tuple else (index,)
        if not all(type(item) in _BASIC for item in items):
            raise Untraceable("takes parts of an array of records by more than integers and slices")
        if sum(type(item) is int for item in items) == self.ndim and len(items) == self.ndim:
            if self.ndim == 1 and not -len(self) <= index <= len(self) - 1:
                raise IndexError(f"index {index} is out of bounds for axis 0 with size {len(self)}")
            return _Record(self, index)
        return Records(self._dtype, self._kind, {name: field[index] for name, field in self._fields.items()})

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(index) is not str or type(self[index]) is Records:
            raise Untraceable("assigns whole records")
        self[index][...] = value

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __len__(self) -> int:
        return len(next(iter(self._fields.values())))

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        name, field = next(iter(self._fields.items()))
        return field.shape[: len(field.shape) - self._dtype[name].ndim]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        name, field = next(iter(self._fields.items()))
        return field.size // max(1, int(np.prod(self._dtype[name].shape, dtype=int)))

    def _is_attribute(self, name: str, kind: type) -> bool:
        """Whether a field is an attribute of the array, or of a record of it, which is of this kind."""
        return self._kind is np.recarray and name in self._fields and not hasattr(kind, name)

    def __getattr__(self, name: str) -> Any:
        if self._is_attribute(name, np.recarray):
            return self._fields[name]
        return _refuse(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Records.__slots__:
            object.__setattr__(self, name, value)
        elif self._is_attribute(name, np.recarray):
            self[name] = value
        else:
            _refuse(name)

    __hash__ = None  # type: ignore[assignment]

    def __array_function__(self, function: Any, *args: Any) -> Any:
        return _refuse(function.__name__)


class _Record:
    """What stands for a record of an array: NumPy's is a view of that, too."""

    __slots__ = ("_index", "_records")

    def __init__(self, records: Records, index: Any):
        self._records, self._index = records, index

    def __getitem__(self, name: Any) -> Any:
        if type(name) is int:
            name = self._records.dtype.names[name]  # type: ignore[index]
        if type(name) is not str:
            return _refuse("several fields of a record")
        field = self._records[name]
        return field[self._index]

    def __setitem__(self, name: Any, value: Any) -> None:
        if type(name) is not str or type(self._records[name]) is Records:
            _refuse("an assignment to a record")
        self._records[name][self._index] = value

    def __getattr__(self, name: str) -> Any:
        if self._records._is_attribute(name, np.record):
            return self[name]
        return _refuse(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _Record.__slots__:
            object.__setattr__(self, name, value)
        elif self._records._is_attribute(name, np.record):
            self[name] = value
        else:
            _refuse(name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.record if self._records._kind is np.recarray else np.void

    __array_function__ = Records.__array_function__
    __hash__ = None  # type: ignore[assignment]
    __iter__ = __len__ = None


def _refuse(what: str) -> Any:
    raise Untraceable(f"does more with an array of records than to use its fields ({what})")


def _refusing(what: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: _refuse(what)


for _name, _what in {
    "array": "an array made of it", "array_ufunc": "a ufunc", "bool": "bool", "contains": "in", "eq": "==", "ne": "!=",
    "reduce_ex": "a copy", "repr": "repr",
}.items():  # fmt: skip
    for _class in (Records, _Record):
        setattr(_class, f"__{_name}__", _refusing(_what))
