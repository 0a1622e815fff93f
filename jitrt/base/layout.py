"""The memory of callable objects that native code may serve, now or later."""

from __future__ import annotations

import ctypes
from typing import Any


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]


_PY_SSIZE_T, _READONLY = 19, 1  # of members
_TP_MEMBERS = 72  # of slots
_BASETYPE = 1 << 10  # of classes


def _with_vectorcall() -> Any:
    """A class whose objects have room for the address of the function that calls them, see PEP 590.

    It is 0 at first. Classes that Python code defines have no members that are not objects.
    """
    offset = object.__basicsize__
    members = (_Member * 3)(
        _Member(b"__vectorcalloffset__", _PY_SSIZE_T, offset, _READONLY), _Member(b"_vectorcall", _PY_SSIZE_T, offset)
    )
    slots = (_Slot * 2)(_Slot(_TP_MEMBERS, ctypes.cast(members, ctypes.c_void_p)))
    size = offset + ctypes.sizeof(ctypes.c_void_p)
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(_Spec)]
    return make(ctypes.byref(_Spec(b"jitrt.base.layout.WithVectorcall", size, 0, _BASETYPE, slots)))


class Callable(_with_vectorcall()):  # type: ignore[misc]
    """An object with room for the words that native code reads, and for the function by which it is called.

    A class that is cheap to import makes objects of it, which become those of another class when that pays.
    """

    __slots__ = ("__dict__", "__weakref__", "_words")

    _words: Any
    _vectorcall: int
