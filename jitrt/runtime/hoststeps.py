"""The steps of a procedure that Python executes: what is called with which arguments, and what it gives back."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..frontend.control.external import MOST_WORDS, Slot, Step
from ..frontend.numpy.silence import Warns, ended_by_warnings, may_warn
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
        self.number = external.register(self.run)
        self.sources: dict[int, Any] = {}
        self.error: BaseException | None = None
        self._kept: list[np.ndarray] = []  # the results whose memory the procedure is about to read
        self._words: dict[int, tuple[Any, Any]] = {}
        self._data = (fields() or {})["data"]
        self._steps = [
            (_silent(s), list(map(self._read, s.args)), {k: self._read(v) for k, v in s.kwargs.items()}, s.result)
            for s in steps
        ]

    def begin(self) -> None:
        """Forget the call before."""
        self.sources.clear()
        self._words.clear()
        self._kept.clear()
        self.error = None

    def run(self, number: int, address: int) -> int:
        """Execute a step; 1 if it has failed, or given another kind of result than was supposed."""
        try:
            words = self._words.get(address)
            if words is None:
                integers = (ctypes.c_int64 * MOST_WORDS).from_address(address)
                words = self._words[address] = integers, (ctypes.c_double * MOST_WORDS).from_address(address)
            function, reads, named, result = self._steps[number]
            args = [read(*words) for read in reads]
            kwargs = {k: read(*words) for k, read in named.items()}
            made = function(*args, **kwargs)
            self._kept.clear()
            return 0 if self._write(result, made, words[0], words[1], (*args, *kwargs.values())) else 1
        except (Exception, Warns):
            return 1
        except BaseException as error:  # an interrupt is raised when the procedure has ended
            self.error = error
            return 1

    def _read(self, described: Any) -> Callable[[Any, Any], Any]:
        """What gives an argument of a step, from its words as integers and as floats."""
        if isinstance(described, (tuple, list)):
            make, parts = type(described), list(map(self._read, described))
            return lambda words, numbers: make([part(words, numbers) for part in parts])
        if type(described) is not Slot:
            return lambda words, numbers: described
        at, dtype = described.at, described.dtype
        if described.kind == "source":
            return lambda words, numbers: self.sources[words[at]]
        if described.kind == "array":
            return _array_reader(at, described.ndim, dtype)
        if not described.is_plain:
            return lambda words, numbers: dtype.type((numbers if dtype.kind == "f" else words)[at])
        if dtype.kind == "b":
            return lambda words, numbers: bool(words[at])
        return lambda words, numbers: (numbers if dtype.kind == "f" else words)[at]

    def _write(self, kind: Any, made: Any, words: Any, numbers: Any, given: Sequence[Any]) -> bool:
        """Write down what a step has given; whether it is of that kind."""
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
            if type(made) is not np.ndarray or made.dtype != dtype or made.ndim != kind.ndim:
                return False
            flags = made.flags
            is_contiguous = flags.c_contiguous
            if is_contiguous < kind.is_plain:
                return False
            if not flags.owndata and any(np.may_share_memory(made, v) for v in given if type(v) is np.ndarray):
                return False
            if not is_contiguous:
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


def _silent(step: Step) -> Callable[..., Any]:
    """The function of a step: where it would warn the procedure stops, and the plain function warns, once."""
    function = step.function
    # Of what complex numbers lose code in C tells, too.
    if not (may_warn(function) or _has_complex((*step.args, *step.kwargs.values()))):
        return function

    def watched(*args: Any, **kwargs: Any) -> Any:
        with ended_by_warnings("a step"):
            return function(*args, **kwargs)

    return watched


def _has_complex(described: Any) -> bool:
    if isinstance(described, (tuple, list)):
        return any(map(_has_complex, described))
    return isinstance(described, Slot) and described.dtype.kind == "c"


def _array_reader(at: int, ndim: int, dtype: np.dtype) -> Callable[[Any, Any], np.ndarray]:
    """What gives an array: the same one as before, where it lies in the same memory."""
    end = at + 1 + 2 * ndim
    known: list[Any] = [None, None]

    def read(words: Any, numbers: Any) -> Any:
        here = words[at:end]
        if here != known[0]:
            address, *extents = here
            known[:] = here, np.ndarray(extents[:ndim], dtype, _MEMORY, address - _BEGIN, extents[ndim:])
        return known[1]

    return read
