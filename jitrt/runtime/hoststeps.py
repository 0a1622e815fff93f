"""The steps of a procedure that Python executes: what is called with which arguments, and what it gives back."""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..frontend.control.external import MOST_WORDS, Slot, Step
from ..frontend.numpy.silence import Warns, ended_by_warnings
from ..kernels import external
from .objects import fields
from .sources import word_of

_PLAIN: dict[str, Any] = {"b": bool, "i": int, "f": float}


# All memory but its beginning, as a buffer in which arrays lie: `numpy.ndarray` takes no address.
_BEGIN = 1 << 12
_MEMORY = memoryview((ctypes.c_char * ((1 << 47) - _BEGIN)).from_address(_BEGIN)).toreadonly()


class HostSteps:
    """The steps of one procedure in one call at a time.

    Attributes
    ----------
    number : int
        By which the procedure calls them.
    sources : dict of int to object
        Generators of random numbers, by what procedures know of them.
    error : BaseException or None
        An interrupt, or another exception that no function may answer.
    """

    def __init__(self, steps: Sequence[Step]):
        self._steps = steps
        # Code in C tells of floating-point exceptions alone.
        self._may_warn = [isinstance(inspect.unwrap(s.function), types.FunctionType) for s in steps]
        self.number = external.register(self.run)
        self.sources: dict[int, Any] = {}
        self.error: BaseException | None = None
        self._kept: Any = None  # the results whose memory the procedure is about to read
        self._words: dict[int, tuple[Any, Any]] = {}
        self._data = (fields() or {})["data"]

    def begin(self) -> None:
        """Forget the call before."""
        self.sources.clear()
        self._words.clear()
        self.error = self._kept = None

    def run(self, number: int, address: int) -> int:
        """Execute a step; 1 if it has failed, or given another kind of result than was supposed."""
        try:
            words = self._words.get(address)
            if words is None:
                integers = (ctypes.c_int64 * MOST_WORDS).from_address(address)
                words = self._words[address] = integers, (ctypes.c_double * MOST_WORDS).from_address(address)
            return self._run(number, *words)
        except (Exception, Warns):
            return 1
        except BaseException as error:  # an interrupt is raised when the procedure has ended
            self.error = error
            return 1

    def _run(self, number: int, words: Any, numbers: Any) -> int:
        step = self._steps[number]
        args = [self._value(v, words, numbers) for v in step.args]
        kwargs = {k: self._value(v, words, numbers) for k, v in step.kwargs.items()} if step.kwargs else {}
        # Where it warns the procedure stops, and the plain function warns: once.
        with ended_by_warnings("a step") if self._may_warn[number] else contextlib.nullcontext():
            made = step.function(*args, **kwargs)
        self._kept = []
        given = [v for v in (*args, *kwargs.values()) if isinstance(v, np.ndarray)]
        return 0 if self._write(step.result, made, words, numbers, given) else 1

    def _value(self, described: Any, words: Any, numbers: Any) -> Any:
        if isinstance(described, (tuple, list)):
            return type(described)([self._value(v, words, numbers) for v in described])
        if type(described) is not Slot:
            return described
        at, dtype = described.at, described.dtype
        if described.kind == "source":
            return self.sources[words[at]]
        if described.kind == "array":
            address, *extents = words[at : at + 1 + 2 * described.ndim]
            return np.ndarray(extents[: described.ndim], dtype, _MEMORY, address - _BEGIN, extents[described.ndim :])
        number = numbers[at] if dtype.kind == "f" else words[at]
        if described.is_plain:
            return bool(number) if dtype.kind == "b" else number
        return dtype.type(number)

    def _write(self, kind: Any, made: Any, words: Any, numbers: Any, given: list[np.ndarray]) -> bool:
        if kind is None:
            return made is None
        if isinstance(kind, tuple):
            make, parts = kind
            if type(made) is not make or len(made) != len(parts):
                return False
            return all(self._write(k, v, words, numbers, given) for k, v in zip(parts, made))
        at, dtype = kind.at, kind.dtype
        if kind.kind == "source":
            words[at] = word_of(made) if type(made) is kind.what else 0
            self.sources[words[at]] = made
            return bool(words[at])
        if kind.kind == "array":
            if type(made) is not np.ndarray or (made.dtype, made.ndim) != (dtype, kind.ndim):
                return False
            flags = made.flags
            if flags.c_contiguous < kind.is_plain:
                return False
            if not flags.owndata and any(np.may_share_memory(made, v) for v in given):
                return False
            if not flags.c_contiguous:
                made = np.ascontiguousarray(made)
            self._kept.append(made)
            words[at] = ctypes.c_int64.from_address(id(made) + self._data).value
            words[at + 1 : at + 1 + made.ndim] = made.shape
            return True
        if type(made) is not (_PLAIN[dtype.kind] if kind.is_plain else dtype.type):
            return False
        if dtype.kind == "f":
            numbers[at] = made
        elif not -(1 << 63) <= made < 1 << 63:
            return False
        else:
            words[at] = int(made)
        return True
