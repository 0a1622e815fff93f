"""Expressions: built from leaves with NumPy's own functions, inspected, transformed, saved, and run.

>>> import numpy as np
>>> from jitrt import expr
>>> x, y = expr.leaf("x"), expr.leaf("y")
>>> distance = np.sqrt(x**2 + y**2)
>>> expr.evaluate(distance, x=3.0, y=4.0)
np.float64(5.0)

An expression is an immutable tree of operations; equal ones are one object (`tree`). It says nothing that NumPy does
not say: an operation is a NumPy function, a method or an index (`calls`), and its type is what the tracer of jitted
functions finds (`types`). To run one, it is written as a Python function, one operation a line (`text`), and that
function is compiled as `jitrt.jit` compiles any other (`program`): through the same graph, passes, schedules and
caches. The text is what ``str`` shows, and what `parse` reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from .branches import cond
from .calls import Operation, operation_named
from .files import load, save
from .graphs import by_hand, lower
from .missing import Optional, coalesce, optional, optional_leaf, present, where_present
from .parse import parse
from .program import Program, compile, evaluate
from .serial import from_json, to_json
from .transform import operator, simplify, substitute, transform
from .tree import Expression, leaf, literal, name, placeholder

__all__ = [
    "Expression",
    "Operation",
    "Optional",
    "Program",
    "by_hand",
    "coalesce",
    "compile",
    "cond",
    "evaluate",
    "from_json",
    "leaf",
    "literal",
    "load",
    "lower",
    "name",
    "op",
    "operator",
    "optional",
    "optional_leaf",
    "parse",
    "placeholder",
    "present",
    "save",
    "simplify",
    "substitute",
    "to_json",
    "transform",
    "where_present",
]


class _Operations:
    """Operations by name: ``op["sqrt"]``, ``op["np.linalg.norm"]``, ``op[".cumsum"]``; operators by theirs."""

    def __getitem__(self, name: str) -> Operation:
        return operation_named(name)

    def __iter__(self) -> Iterator[str]:
        raise TypeError("operations are found by name; NumPy's documentation lists its functions")


op = _Operations()
