"""What operations raise where NumPy computes them, and the row of what is computed although nothing reads it.

NumPy warns of a quotient, or raises an exception, whether or not anything is done with it. So an operation that may do
that is computed in any case: kernels raise floating-point exceptions, and checks end the program.

    force (multiply (divide 1.0 x0) 2.0)  →  assume m m, m = computed (the largest element of the product)

Where it can only be an exception that is ignored if nobody asks for it, `left_out` may stand in its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from .. import build as b
from ..build import literal
from ..control import LOOP, bodies, needed_results, used_results
from ..node import Node, topological_order
from ..types import ArrayType
from .assumptions import ASSUME
from .contractions import RESULT
from .folds import REDUCE_ADD, REDUCE_MAXIMUM, reduce
from .optable import Kind, Op, row
from .pythonnumbers import is_python
from .ufuncs import CAST, COMPUTED, WHERE, elementwise_op, resolved

FORCE = row(Op("force", Kind.CHECK, numpy=lambda x: np.zeros((), np.int8)))
LEFT_OUT = row(Op("left_out", Kind.CHECK, numpy=lambda flags: np.zeros((), np.int8)))
_NONE: frozenset[str] = frozenset()
_ALL = frozenset({"divide", "over", "under", "invalid"})


def exceptions(node: Node) -> frozenset[str]:
    """The floating-point exceptions that NumPy may report for a node, bodies and what compounds lower to left aside.

    None of those that the node is quiet about.

    Examples
    --------
    >>> x = b.constant(np.ones(3))
    >>> sorted(exceptions(b.elementwise(np.sqrt, x))), sorted(exceptions(b.elementwise(np.isnan, x)))
    (['invalid', 'under'], [])
    """
    keys = tuple([a.type.promotion_key for a in node.args])
    found, beside_a_number, narrow = _exceptions(node.op, keys, node.dtype)
    if narrow is not None and any(_is_too_large(a, narrow) for a in node.args):
        found = found | {"over"}
    elif beside_a_number is not found and any(map(_is_a_number, node.args)):
        found = beside_a_number
    return found - node.quiet if node.params else found


def _is_too_large(node: Node, dtype: np.dtype) -> bool:
    """Whether `node` is, or may be, a finite Python number that overflows where it becomes an element of `dtype`."""
    if not node.type.weak or node.dtype.kind not in "ifc":
        return False
    value = literal(node)
    if value is None:
        return True
    parts = np.abs([value.real, value.imag])
    return bool(np.any((np.finfo(dtype).max < parts) & (parts < np.inf)))


@lru_cache(maxsize=4096)
def _exceptions(
    op: Op, keys: tuple[np.dtype | type, ...], result: np.dtype
) -> tuple[frozenset[str], frozenset[str], np.dtype | None]:
    """The exceptions of an operation on operands with these promotion keys, and those beside a number.

    And, where Python numbers become smaller floats, what these are.
    """
    operands = tuple([np.dtype(key) for key in keys])
    if op.kind is Kind.HOST and not is_python(op):  # of integers, too: it may have floats that are no operands
        return (_NONE, _NONE, None) if op is RESULT else (_ALL, _ALL, None)
    if op.ufunc is not None:  # its loop may be one of floats, also for integers
        if op.kind is Kind.ELEMENTWISE:
            operands = resolved(op.ufunc, keys)[:-1]
        op = elementwise_op(op.ufunc)
    found = op.raises(operands)
    if op is CAST and result.char == "e":
        found = found | {"over"}  # integers do not fit either
    loop = result if op is WHERE else operands[0] if operands else result
    narrow = loop if loop.char in "efF" and (float in keys or complex in keys or loop.char == "e") else None
    return found, op.raises(operands, beside_a_number=True) if found else found, narrow


def _is_a_number(node: Node) -> bool:
    """Whether `node` is known to be a finite real number other than zero."""
    value = literal(node)
    return value is not None and value.dtype.kind in "biuf" and value != 0 and math.isfinite(value)


class _Empty:
    def __contains__(self, node: object) -> bool:
        size = node.type.size if isinstance(node, Node) else None
        return type(size) is int and size == 0


EMPTY = _Empty()
"""The nodes that have no elements, for whose sake nothing is computed."""


def force(node: Node) -> Node:
    """What lets `node` be computed, as an output of a graph."""
    return Node(FORCE, (node,), (), ArrayType(np.dtype(np.int8), ()))


def leave_out(flags: frozenset[str]) -> Node:
    """What says, as an output of a graph, that it does not compute something that may raise exceptions `flags`."""
    return Node(LEFT_OUT, (), b.params(flags=tuple(sorted(flags))), ArrayType(np.dtype(np.int8), ()))


def can_raise(node: Node) -> bool:
    """Whether computing a node, and not its arguments, may end in an exception or a warning; if in doubt, it may."""
    try:
        return node._raises
    except AttributeError:
        found = _can_raise(node)
        _remember(node, found)
        return found


_remember = vars(Node)["_raises"].__set__  # a Node refuses assignments


def _can_raise(node: Node) -> bool:
    if node.op is RESULT or node.op.kind is Kind.CONTROL:
        return False
    return node.op.kind in (Kind.COMPOUND, Kind.CHECK) or is_python(node.op) or _reports(node) or _refuses(node)


def _reports(node: Node) -> bool:
    """Whether there are any `exceptions`, which seldom depends on the values of literals."""
    found, beside_a_number, _ = _exceptions(node.op, tuple([a.type.promotion_key for a in node.args]), node.dtype)
    return bool(found and beside_a_number and not node.params) or bool(exceptions(node))


def _refuses(node: Node) -> bool:
    """Whether NumPy may refuse an operand: integers have no negative powers that are integers, and 64 bits at most."""
    if any(a.type.weak and a.op.name == "constant" and a["value"].number is None for a in node.args):
        return True
    if not node.op.refuses_negative or node.dtype.kind not in "iu" or node.args[-1].dtype.kind != "i":
        return False
    value = literal(node.args[-1])
    return value is None or bool(value < 0)


def is_of_raising_control(node: Node, used: Mapping[Node, set[int]]) -> bool:
    """Whether a loop, or a choice, may raise where it computes its result `node`, and none of those that are `used`."""
    if node.op.name != "result" or node.args[0].op.kind is not Kind.CONTROL:
        return False
    control, (number,) = node.args[0], node["path"]
    others, own = used.get(control, set()), {number}
    if control.op is LOOP:
        others, own = (needed_results(control["loop"], k) for k in (others, own))
    for body in bodies(control):
        done = frozenset(topological_order([body.outputs[k] for k in others]))
        order = topological_order([body.outputs[k] for k in own], done)
        inner = used_results(done)
        if any(n.op is COMPUTED or n.op.kind is Kind.CONTROL or can_raise(n) for n in order):
            return True
        if any(is_of_raising_control(n, inner) for n in order):
            return True
    return False


def forced(node: Node) -> Node:
    """A check that computes `node`, and never fails; `node` itself if it is one."""
    if node.op.kind is Kind.CHECK:
        return node
    holds = _computed(node)
    return Node(ASSUME, (holds, holds), b.params(extent=2), ArrayType(np.dtype(np.int8), ()))


def _computed(node: Node) -> Node:
    """One, which is not to be had without computing `node`."""
    ones = [Node(COMPUTED, (_joined(part),), (), ArrayType(np.dtype(np.intp), ())) for part in parts(node)]
    return ones[0] if len(ones) == 1 else b.elementwise(np.multiply, *ones)


def _joined(node: Node) -> Node:
    """A number that depends on all elements: for integers the sum, as what is out of range becomes the smallest one."""
    op = REDUCE_ADD if node.dtype.kind in "iu" else REDUCE_MAXIMUM
    return reduce(op, node, tuple(range(node.type.ndim))) if node.shape else node


def parts(node: Node) -> list[Node]:
    """The parts of complex numbers, each of which may raise; other numbers themselves."""
    return [b.real(node), b.imag(node)] if node.dtype.kind == "c" else [node]


def witness(nodes: Sequence[Node]) -> Node:
    """An integer that cannot be had without computing `nodes`, and says nothing else: what a body gives of them.

    witness [(divide 1.0 x0)]  →  max 0 (computed (divide 1.0 x0))
    """
    found = b.constant(np.intp(0))
    for node in nodes:
        found = b.elementwise(np.maximum, found, _computed(node))
    return found


def is_met(check: Node) -> bool:
    """Whether a check is one that `forced` has made."""
    return check.op is ASSUME and check["extent"] > 1
