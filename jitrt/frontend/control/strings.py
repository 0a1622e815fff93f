"""Strings of run time: those that values decide on, and texts that are arguments, with their characters.

What is chosen is one of strings that are known, which its number tells; a character is one of ASCII's.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...ir.integers import Poly
from .arithmetic import SYMBOLS
from .givenlists import given
from .kinds import Number
from .recorder import Recorder
from .registry import function
from .runtimelists import RunTimeList
from .scalars import answer, from_register, negation, poly_of, truth_value
from .values import BOOL, INT, Chosen, NotStaged, RunTime, Scalar, dtype_of, integer, is_number, is_static
from .written_containers import text_number

ASCII = tuple(map(chr, range(128)))
"""All characters that a text of run time may have, each at the place of its code."""

METHODS = frozenset(
    """capitalize casefold count endswith find isalnum isalpha isdigit isidentifier islower isspace isupper lower lstrip
    removeprefix removesuffix replace rstrip startswith strip title upper zfill""".split()
)
"""Those that give a string or a number, and depend on nothing but their arguments."""

_MOST_KEYS = 64


class Text(RunTime):
    """A string that is an argument, or a part of one, as a list of its characters."""

    stands_for = str

    def __init__(self, characters: RunTimeList):
        self.characters = characters


def text(r: Recorder, name: str, count: Poly) -> Text:
    """A string that is an argument, of whose `codes` the caller has made an array."""
    return Text(given(r, name, Number(INT, True, False, ASCII), count))


def codes(value: str) -> np.ndarray:
    """The characters of a text of ASCII as numbers."""
    return np.frombuffer(value.encode("ascii"), np.uint8).astype(np.int64)


def characters(value: Any) -> Any:
    """The list of the characters of a text; other values as they are."""
    return value.characters if isinstance(value, Text) else value


def are_equal(x: Any, y: Any) -> Any:
    """``x == y`` for texts, in plain Python. See `written`."""
    if len(x) != len(y):
        return False
    for k in range(len(x)):  # noqa: SIM110
        if x[k] != y[k]:
            return False
    return True


def code(r: Recorder, value: Any) -> Poly:
    """``ord(value)`` for a character."""
    if isinstance(value, str) and len(value) == 1:
        return Poly.number(ord(value))
    if not (isinstance(value, Chosen) and value.strings == ASCII):
        raise NotStaged("the code of this")
    return r.bounded(value.number, 0, 127)


def character(r: Recorder, value: Any) -> Chosen:
    """``chr(value)``, which stops where that is not one of ASCII's."""
    if not is_number(value) or dtype_of(value).kind not in "iu":
        raise NotStaged("the character of this")
    at = poly_of(r, value)
    r.require(at)
    r.require(127 - at)
    return Chosen(ASCII, r.integer(at))


def compare(r: Recorder, op: str, x: Any, y: Any) -> Any:
    """A comparison, by the name of its ufunc, of which a side is such a string."""
    if _is_character(x) and _is_character(y):
        return truth_value(r.machine(SYMBOLS[op], code(r, x), code(r, y)))
    if op not in ("equal", "not_equal"):
        raise NotStaged("an order of strings that values decide on")
    chosen, other = (x, y) if isinstance(x, Chosen) else (y, x)
    if isinstance(other, Chosen):
        both = [
            r.compute("logical_and", [_is(r, chosen, s), _is(r, other, s)], BOOL)
            for s in chosen.strings
            if s in other.strings
        ]
        return answer(r, _any(r, both), op == "equal")
    if not is_static(other):
        raise NotStaged("a comparison of a string that values decide on")
    return answer(r, _any(r, [_is(r, chosen, s) for s in chosen.strings if s == other]), op == "equal")


def _is_character(value: Any) -> bool:
    return value in ASCII if isinstance(value, str) else isinstance(value, Chosen) and value.strings == ASCII


def is_in(r: Recorder, x: Chosen, among: Any) -> bool | str:
    """``x in among``."""
    if not is_static(among) or not isinstance(among, (str, tuple, list, set, frozenset, dict)):
        raise NotStaged("a test of membership")
    return _any(r, [_is(r, x, s) for s in x.strings if s in among])


def item(r: Recorder, values: dict[Any, Any], key: Chosen) -> Scalar:
    """``values[key]`` for a dict of known numbers of one type; it stops where the key is missing."""
    known = [(k, v) for k, v in values.items() if k in key.strings]
    kinds = {type(v) for _, v in known}
    if len(kinds) != 1 or not kinds <= {int, float} or len(known) > _MOST_KEYS:
        raise NotStaged("an item of a dict that a string chooses")
    dtype = np.dtype(kinds.pop())
    conditions = [_is(r, key, k) for k, _ in known]
    made = r.literal(known[0][1], dtype)
    for condition, (_, value) in zip(conditions, known):
        made = r.compute("where", [condition, r.literal(value, dtype), made], [BOOL, dtype, dtype], dtype)
    missing = negation(r, _any(r, conditions))
    assert isinstance(missing, str)
    r.stop(missing)
    found = from_register(r, made, dtype)
    return Scalar(dtype, True, found.name, found.value)


_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}


def formatted(value: Any, conversion: int, form: str) -> str:
    """What stands for a value in an f-string."""
    if type(value) not in (str, int, bool, float):
        raise NotStaged("a text of values that are not known")
    try:
        return format(_CONVERSIONS[conversion](value) if conversion in _CONVERSIONS else value, form)
    except ValueError as error:  # which the plain function raises
        raise NotStaged(str(error)) from None


@function(text_number)
def number(r: Recorder, value: str | Chosen | Text) -> Any:
    """A number that strings have, whichever others a value may be."""
    if isinstance(value, str):
        return ord(value) if value in ASCII else zlib.crc32(value.encode())
    if isinstance(value, Text):
        raise NotStaged("a text of run time as a key")
    if value.strings == ASCII:
        return integer(code(r, value))
    if not all(isinstance(s, str) for s in value.strings) or len(value.strings) > _MOST_KEYS:
        raise NotStaged("such a string as a key")
    found = r.variable()
    for k, string in enumerate(value.strings):
        with r.when(r.machine("==", Poly.name(value.number), Poly.number(k))):
            r.put(found, r.literal(number(r, string), INT), INT)
    return integer(r.bounded(r.get(found, INT, chooses=False), 0, (1 << 32) - 1))


def _is(r: Recorder, x: Chosen, string: str) -> str:
    return r.machine("==", Poly.name(x.number), Poly.number(x.strings.index(string)))


def _any(r: Recorder, conditions: Sequence[str]) -> bool | str:
    """Whether one of the conditions holds."""
    if not conditions:
        return False
    return reduce(lambda found, condition: r.compute("logical_or", [found, condition], BOOL), conditions)
