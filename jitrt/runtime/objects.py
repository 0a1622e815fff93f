"""Where CPython's and NumPy's objects keep what native code reads, found by looking for known values.

Offsets are probed and not taken from headers, so that another build of Python, such as the free-threaded one, is
noticed: where a field is not found, calls are checked in Python.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import types
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from ..base import layout
from ..base.once import once
from ..kernels import floatflags
from ..kernels.api import C_LIBRARY, MATHEMATICS, PYTHON
from ..values.attributes import slots_of

_SEARCHED_WORDS = 16  # of an object's memory
# Places in NumPy's C API table, which its ABI fixes.
_NUMPY_API = {"PyArray_CopyInto": 50, "PyArray_Return": 76, "PyArray_Empty": 184, "PyDataMem_SetHandler": 304}


class Unguarded(Exception):
    """Native code cannot check a value like this one."""


@once
def tuple_and_array_offsets() -> tuple[int, int]:
    """Offsets in bytes of a tuple's first item, and of an array's data address.

    Raises
    ------
    RuntimeError
        If this build of Python or NumPy keeps them somewhere else than in the object.
    """
    probe = np.empty(3)
    pair = (probe, None)
    item, data = _find(pair, id(probe)), _find(probe, address(probe))
    if item is None or data is None:
        raise RuntimeError("the layout of Python objects is not known here")
    return item, data


def has_gil() -> bool:
    """Whether a global interpreter lock protects native code that does not release it."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def address(array: np.ndarray) -> int:
    """Where the data of `array` begin."""
    return array.__array_interface__["data"][0]


def address_of(values: Sequence[int], kept: list[Any]) -> int:
    """The address of `values` as 64-bit words, which `kept` keeps alive."""
    array = np.array(values, np.int64)
    kept.append(array)
    return address(array)


@once
def fields() -> dict[str, int] | None:
    """Offsets in bytes of the fields that the native entry reads; None if they are not where they are expected."""
    if not has_gil():
        return None  # tables are changed under its protection
    probe = np.empty((3, 5), np.float32)
    kind, data, descr = _find(probe, id(np.ndarray)), _find(probe, address(probe)), _find(probe, id(probe.dtype))
    number = _number_offset()
    cell, slot = _find(types.CellType(probe), id(probe)), _find(_Slot(probe), id(probe))
    capsule = _find(_multiarray_umath._ARRAY_API, _capsule_pointer(_multiarray_umath._ARRAY_API))
    if kind is None or data is None or descr is None or number is None or cell is None or descr != data + 40:
        return None
    dtype = _find(probe.dtype, dtype_word(probe.dtype))
    if slot is None or capsule is None or dtype is None:
        return None
    found = {
        "type": kind, "data": data, "ndim": data + 8, "shape": data + 16, "strides": data + 24, "descr": descr,
        "flags": data + 48, "number": number, "cell": cell, "words": slot, "capsule": capsule,
        "dtype": dtype,
    }  # fmt: skip
    expected = {"shape": probe.shape, "strides": probe.strides}
    ndim = ctypes.c_int.from_address(id(probe) + found["ndim"]).value
    flags = ctypes.c_int.from_address(id(probe) + found["flags"]).value
    if ndim != 2 or flags != probe.flags.num:
        return None
    for name, values in expected.items():
        pointer = ctypes.c_int64.from_address(id(probe) + found[name]).value
        if tuple((ctypes.c_int64 * 2).from_address(pointer)) != values:
            return None
    return found


def slot_offsets(kind: type) -> dict[str, int] | None:
    """Offsets in bytes of the slots of objects of a class; None if they are not where they are expected."""
    slots = slots_of(kind)
    probe: Any = object.__new__(kind)
    marks = {name: object() for name in slots}
    for name, slot in slots.items():
        slot.__set__(probe, marks[name])
    places = offsets_of(probe, [*marks.values()])
    return None if places is None else dict(zip(marks, places))


@once
def method_offsets() -> tuple[int, ...] | None:
    """Offsets in bytes of the function and of the object of a bound method; None if they are not found."""
    probe = types.MethodType(slot_offsets, _Slot(None))
    return offsets_of(probe, [probe.__func__, probe.__self__])


@once
def partial_offsets() -> tuple[int, ...] | None:
    """Offsets in bytes of the function, the arguments and the keywords of a partial function; None if not found."""
    probe = functools.partial(max, 1, default=2)
    return offsets_of(probe, [probe.func, probe.args, probe.keywords])


@once
def factory_offsets() -> tuple[int, ...] | None:
    """The offset in bytes of what makes the missing values of a `defaultdict`; None if it is not found."""
    return offsets_of(defaultdict(int), [int])


@once
def proxy_offsets() -> tuple[int, ...] | None:
    """The offset in bytes of what a `types.MappingProxyType` shows; None if it is not found."""
    shown: dict[str, Any] = {}
    return offsets_of(types.MappingProxyType(shown), [shown])


def offsets_of(probe: object, parts: list[Any]) -> tuple[int, ...] | None:
    """Where an object holds its parts, each of them once, as offsets in bytes; None if that is not so."""
    size = type(probe).__basicsize__
    words = list((ctypes.c_int64 * (size // 8)).from_address(id(probe)))
    return tuple(8 * words.index(id(part)) for part in parts) if all(words.count(id(p)) == 1 for p in parts) else None


@once
def order_offset() -> int | None:
    """The offset in bytes of how often an `OrderedDict` has got, lost or moved a key; None if it is not found.

    Where that is the number of its keys, their order is that of the dict below.
    """
    probe: OrderedDict[int, None] = OrderedDict.fromkeys(range(77))

    def words() -> list[int]:
        return list((ctypes.c_int64 * (OrderedDict.__basicsize__ // 8)).from_address(id(probe)))

    found = [words()]
    for change in (lambda: probe.update({77: None}), lambda: probe.move_to_end(0), lambda: probe.popitem()):
        change()
        found.append(words())
    first = dict.__basicsize__ // 8
    places = [k for k, (a, b, c, d) in enumerate(zip(*found)) if k >= first and a == 77 and b == 78 < c < d]
    return 8 * places[0] if len(places) == 1 else None


def dtype_word(dtype: np.dtype) -> int:
    """The word of a dtype, under `guard.DTYPE_MASK`, that tells those of numbers apart."""
    return ord(dtype.kind) | ord(dtype.char) << 8 | ord(dtype.byteorder) << 16 | dtype.num << 32


class _Slot(layout.Callable):
    """An object whose first slot is found as that of `dispatch.NativeCallable`."""

    __slots__ = ()

    def __init__(self, words: object):
        self._words = words


def _number_offset() -> int | None:
    """Where Python's and NumPy's numbers keep their value, if that is the same place in all of them."""
    place = _find(0.1234567891, int(np.float64(0.1234567891).view(np.int64)))
    numbers = [complex(0.5, 3.0), np.float64(0.3), np.complex128(0.3), np.float32(0.3), np.complex64(0.3)]
    numbers += [np.int64(-77), np.int32(77), np.uint16(777), np.uint8(77), np.bool_(True)]
    for number in numbers:
        value = np.asarray(number).tobytes()
        if place is None or ctypes.string_at(id(number) + place, len(value)) != value:
            return None
    return place


def _capsule_pointer(capsule: object) -> int:
    """What a capsule without a name points to."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get_pointer(capsule, None) or 0)


def _find(value: object, word: int) -> int | None:
    size = min(_SEARCHED_WORDS, type(value).__basicsize__ // 8 + 2)
    words = (ctypes.c_int64 * size).from_address(id(value))
    return next((8 * k for k in range(size) if words[k] == word), None)


@once
def api() -> dict[str, int]:
    """Addresses of the functions of CPython, NumPy and the system that native code calls."""
    found = {name: _address_of(getattr(ctypes.pythonapi, name)) for name in PYTHON.keys() - _NUMPY_API.keys()}
    found["yield_processor"] = _address_of(_yield_processor())
    library = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
    for name in C_LIBRARY:
        # What a system does not have is only an advice; any function that takes as little harm will do.
        found[name] = _address_of(getattr(library, name, None) or library.abs)
    if not floatflags.IS_X86 and floatflags.IS_KNOWN:
        from ctypes.util import find_library

        mathematics = ctypes.CDLL(find_library("m"))
        found |= {name: _address_of(getattr(mathematics, name)) for name in MATHEMATICS}
    table = ctypes.cast(_capsule_pointer(_multiarray_umath._ARRAY_API), ctypes.POINTER(ctypes.c_void_p))
    return found | {name: int(table[place] or 0) for name, place in _NUMPY_API.items()}


def _yield_processor() -> Any:
    """The system's function that lets another thread run; where it is not known, one that does nothing."""
    try:
        if sys.platform == "win32":
            return ctypes.WinDLL("kernel32").SwitchToThread
        return ctypes.CDLL(None).sched_yield
    except (AttributeError, OSError):
        return ctypes.pythonapi.PyThread_get_thread_ident


def _address_of(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_METH_FASTCALL_KEYWORDS = 0x0082


def builtin(name: str, function: int, bound: Any) -> Any:
    """A builtin that calls the METH_FASTCALL | METH_KEYWORDS function at that address with `bound` as its self."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.byref(_definition(name, function)), bound, None)


def method(kind: type, name: str, function: int) -> Any:
    """A method of the class `kind` that calls the METH_FASTCALL | METH_KEYWORDS function at the address `function`."""
    make = ctypes.pythonapi.PyDescr_NewMethod
    make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.POINTER(_MethodDef)]
    return make(kind, ctypes.byref(_definition(name, function)))


_FLAGS = 168  # offset in bytes of the flags of a class
_HAVE_VECTORCALL, _METHOD_DESCRIPTOR = 1 << 11, 1 << 17  # Py_TPFLAGS_…


def call_as_functions(kind: type, directly: bool) -> None:
    """Let objects of the class `kind` be called as Python's functions are.

    As members of a class they are called without a bound method: ``instance.member(x)`` is ``member(instance, x)``. If
    they are called `directly`, that is by the function whose address each of them holds, without a tuple of the
    arguments; otherwise by the method ``__call__``. Classes that Python code defines cannot ask for it. Where the flags
    of a class are not where they are expected, nothing happens.
    """
    flags = ctypes.c_ulong.from_address(id(kind) + _FLAGS)
    if flags.value == kind.__flags__:
        flags.value = flags.value & ~_HAVE_VECTORCALL | _METHOD_DESCRIPTOR | _HAVE_VECTORCALL * directly
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


@lru_cache(maxsize=8)
def _definition(name: str, function: int) -> _MethodDef:
    """The method definition, which has to outlive everything made of it."""
    return _MethodDef(name.encode(), function, _METH_FASTCALL_KEYWORDS, None)
