"""Loops over elements: a Python function of arrays and numbers as typed scalar code that numba compiles.

A trace would unroll such loops. They are translated statement by statement instead, with every type decided here by
NumPy's rules and every step checked that may leave them; what is not known to be exact is not translated.

    total += x[i] * 2    →    total = (total + (x[i] * _f8(2)))          x: float64
    d[i, j] = min(a, b)  →    d[i, j] = (b if (b < a) else a)
    k = 3 * k + 1        →    k = _add(_mul(3, k), 1)                     stops where Python's integer is longer
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from ..frozen import frozen
from .captures import Capture
from .elementexpressions import Expressions, local_name
from .elementstatements import Statements
from .elementtypes import (
    BOOL,
    FLOAT,
    INT,
    Array,
    NotTranslated,
    Scalar,
    Type,
    check_dtype,
)

_ROUNDS = 8  # until the types of variables that depend on each other are known


@frozen
class ElementLoop:
    """A translated function.

    Parameters
    ----------
    source : str
        A function ``loop`` of the arguments and then the captured arrays; its names with an underscore are those of
        the checked arithmetic.
    returns : tuple of Type, or None
        What the function returns: numbers, each with its flag beside it where its type has one, and arrays.
    several : bool
        Whether that is a tuple.
    written : tuple of int
        Numbers of the arguments that may be written into.
    exact : bool
        Whether all arithmetic is correctly rounded.
    captured : tuple of Capture
        Numbers and functions of the outside that the code depends on.
    arrays : tuple of Capture
        Arrays of the outside, which follow the arguments.
    """

    source: str
    returns: tuple[Type, ...] | None
    several: bool
    written: tuple[int, ...]
    exact: bool
    captured: tuple[Capture, ...]
    arrays: tuple[Capture, ...]


def has_loops(function: Callable[..., Any]) -> bool:
    """Whether a function has loops of its own, by its code: a cheap first look."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return False
    if code.co_kwonlyargcount:
        return False
    tree = _definition(function)
    return tree is not None and any(isinstance(n, (ast.For, ast.While)) for n in ast.walk(tree))


def _definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    found = tree.body[0] if tree.body else None
    if not isinstance(found, ast.FunctionDef) or found.name != function.__name__:
        return None
    return found


def argument_type(value: Any, number: int) -> Type:
    """The type of an argument.

    Raises
    ------
    NotTranslated
        If translated code does not handle such a value.
    """
    if type(value) is np.ndarray:
        check_dtype(value.dtype)
        if not value.ndim:
            raise NotTranslated("an array without axes", by_argument=True)
        return Array(value.dtype, value.ndim, frozenset({number}), True, value.flags.c_contiguous)
    if type(value) in (bool, int, float):
        return Scalar({bool: BOOL, int: INT, float: FLOAT}[type(value)], True)
    if isinstance(value, np.generic):
        check_dtype(value.dtype)
        return Scalar(value.dtype, False)
    raise NotTranslated(f"an argument of type {type(value).__name__}", by_argument=True)


def translate(function: Callable[..., Any], args: tuple) -> ElementLoop:
    """The typed code of `function` for arguments of the types of `args`.

    Raises
    ------
    NotTranslated
        If it does anything else than loops over elements, or something whose result might differ from NumPy's.
    """
    definition = _definition(function)
    assert definition is not None
    names = [a.arg for a in definition.args.args]
    if len(names) != len(args):
        raise NotTranslated("another number of arguments", by_argument=True)
    variables = {name: argument_type(a, k) for k, (name, a) in enumerate(zip(names, args))}
    arrays: dict[str, Capture] = {}
    for _ in range(_ROUNDS):
        walk = Statements(names, Expressions(function, names, dict(variables), arrays))
        walk.run(definition)
        if walk.known.variables == variables:
            return _translated(walk)
        variables = walk.known.variables
    raise NotTranslated("variables whose types do not settle")


def _translated(walk: Statements) -> ElementLoop:
    """What a walk that has settled gives."""
    if not walk.loops:
        raise NotTranslated("no loop over elements")
    parameters = ", ".join(local_name(n) for n in [*walk.names, *walk.known.arrays])
    source = "\n".join([f"def loop({parameters}):", *walk.lines, ""])
    returns = None
    if walk.returned is not None:
        returns = tuple(walk.known.variables[f"return {k}"] for k in range(walk.returned))
    for kind in returns or ():
        if isinstance(kind, Array) and not (kind.whole and len(kind.origins) == 1):
            raise NotTranslated("returns a view")
    outside = tuple(walk.known.arrays.values())
    return ElementLoop(
        source,
        returns,
        walk.several,
        tuple(sorted(walk.written)),
        walk.known.exact,
        tuple(walk.known.captured.values()),
        outside,
    )
