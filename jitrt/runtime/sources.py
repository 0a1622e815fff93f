"""Generators of random numbers as arguments of procedures: where their state is, how it is kept and put back."""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import numpy as np

from ..base.once import once

_NAME = b"BitGenerator"


def word_of(source: Any) -> int:
    """The address of the bit generator, or of the old kind's state, which begins with it; 0 if that is not known."""
    if type(source) is np.random.Generator:
        return _pointer()(source.bit_generator.capsule, _NAME) or 0
    offset = _offset_of_legacy_state()
    return id(source) + offset if offset else 0


def lock_of(source: Any) -> Any:
    """What threads hold while they draw."""
    return _bits(source).lock


def state_of(source: Any) -> Any:
    """What `restore` puts back."""
    return source.bit_generator.state if type(source) is np.random.Generator else source.get_state(legacy=False)


def restore(source: Any, state: Any) -> None:
    """Let the generator draw again what it has drawn since `state_of`."""
    if type(source) is np.random.Generator:
        source.bit_generator.state = state
    else:
        source.set_state(state)


def native_record(source: Any, kept: list[Any]) -> int:
    """The address of what native code has to know of a generator, `kernels.procedure.GENERATOR`; 0 if it cannot.

    What the record points to is added to `kept`.
    """
    bits, found = _bits(source), None
    if type(source) is np.random.Generator:
        found = _state_memory(bits.__class__)
    if found is None:
        return 0
    first, nbytes = found
    no, spare, lock = (ctypes.c_int64 * 1)(id(False)), (ctypes.c_char * nbytes)(), bits.lock
    methods = lock.acquire, lock.release
    words = [*map(id, methods), ctypes.addressof(no), id(True), id(bits) + first, ctypes.addressof(spare), nbytes]
    made = (ctypes.c_int64 * len(words))(*words)
    kept += source, methods, no, spare, made
    return ctypes.addressof(made)


@functools.cache
def _state_memory(kind: Any) -> tuple[int, int] | None:
    """Where objects of a class of NumPy's bit generators have their state, and nothing else, and its size in bytes.

    It is what they have beyond the fields of all bit generators; None if copying it does not restore their states.
    """
    first, nbytes = np.random.BitGenerator.__basicsize__, kind.__basicsize__ - np.random.BitGenerator.__basicsize__
    if kind.__module__.partition(".")[0] != "numpy" or nbytes <= 0:
        return None
    generator = np.random.Generator(kind(1))
    memory = (ctypes.c_char * nbytes).from_address(id(generator.bit_generator) + first)
    for dtype in (np.float64, np.float32):  # of which two come from one draw of bits
        generator.random(1, np.float32)
        before, kept = repr(generator.bit_generator.state), bytes(memory)
        drawn = generator.random(5, dtype)
        memory.raw = kept
        if repr(generator.bit_generator.state) != before or not np.array_equal(generator.random(5, dtype), drawn):
            return None
    return first, nbytes


def _bits(source: Any) -> Any:
    return source.bit_generator if type(source) is np.random.Generator else source._bit_generator


@once
def _pointer() -> Any:
    function = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return function(("PyCapsule_GetPointer", ctypes.pythonapi))


@once
def _offset_of_legacy_state() -> int:
    """Where `RandomState` keeps ``{bitgen *, int has_gauss, double gauss}``, in bytes; 0 if it is not found."""
    source = np.random.RandomState(np.random.MT19937(1))
    size = type(source).__basicsize__
    words = (ctypes.c_int64 * (size // 8)).from_address(id(source))
    numbers = (ctypes.c_double * (size // 8)).from_buffer(words)
    found = set(range(2, size // 8))
    for has, number in ((1, math.pi * 1e-77), (1, -math.e * 1e55), (0, 0.0)):
        source.set_state(source.get_state(legacy=False) | {"has_gauss": has, "gauss": number})
        bits = _pointer()(source._bit_generator.capsule, _NAME)
        state = (ctypes.c_int64 * 5).from_address(bits)
        found = {
            k
            for k in found
            if numbers[k] == number
            and words[k - 1] & 0xFFFFFFFF == has
            and id(source) < words[k - 2] < id(source) + size - 8 * 4
            and words[(words[k - 2] - id(source)) // 8] == state[0]  # a copy of the interface of the bit generator
        }
    return 8 * (found.pop() - 2) if len(found) == 1 else 0
