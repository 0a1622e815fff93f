"""Rows of the contractions, which NumPy's BLAS executes, and of calls that only NumPy can make."""

from __future__ import annotations

import contextlib
import string
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from ...base.frozen import frozen, replaced
from .. import build as b
from ..node import Node
from ..types import ArrayType
from .operands import array_node, known
from .optable import Kind, NotCovered, Op, numpy_function, row
from .products import fold_dot, fold_einsum, fold_matmul, fold_tensordot
from .ufuncs import NUMPY_UFUNCS


def _lower_half(n: Node) -> Node:
    """A product of half precision, added in single precision and rounded once, as NumPy's loops do without BLAS."""
    if n.dtype != np.float16:
        return n
    single = np.dtype(np.float32)
    wide = Node(n.op, tuple(b.cast(a, single) for a in n.args), n.params, ArrayType(single, n.shape))
    assert n.op.fold is not None
    return b.cast(n.op.fold(wide) or wide, n.dtype)


MATMUL = row(Op("matmul", Kind.HOST, numpy=np.matmul, lower=_lower_half, fold=fold_matmul, takes_out=True))
DOT = row(Op("dot", Kind.HOST, numpy=np.dot, lower=_lower_half, fold=fold_dot, takes_out=True))


def _einsum(*x: np.ndarray, subscripts: str, optimize: Any) -> Any:
    return np.einsum(subscripts, *x, optimize=optimize)


def _small_einsum(node: Node, arrays: list[np.ndarray]) -> Any:
    """A product like that of `node`, of small arrays: the extents decide in which order the operands are joined."""
    path: Any = node["optimize"]
    if path:
        path, _ = np.einsum_path(node["subscripts"], *(b.phantom(a.shape) for a in node.args), optimize=path)
    return np.einsum(node["subscripts"], *arrays, optimize=path)


row(Op("einsum", Kind.HOST, numpy=_einsum, fold=fold_einsum, order=_small_einsum))
EINSUM_VIEW = row(
    Op("einsum_view", Kind.VIEW, numpy=lambda x, subscripts: np.einsum(subscripts, x), view_like=True)
)  # of one operand, none of whose axes is summed
TENSORDOT = row(
    Op("tensordot", Kind.HOST, numpy=lambda x, y, axes: np.tensordot(x, y, axes), fold=fold_tensordot, view_like=True)
)


def _pair(x: Any, y: Any) -> tuple[Node, Node]:
    nodes = array_node(x), array_node(y)
    if any(v.dtype.kind not in "biufc" for v in nodes):
        raise NotCovered("a contraction of such operands")
    return nodes


def _contract(op: Op, x: Node, y: Node, shape: tuple[int, ...], **arguments: Any) -> Node:
    dtype = np.result_type(x.dtype, y.dtype)
    return b.compound(op.name, (x, y), ArrayType(dtype, shape), **arguments)


@numpy_function(np.matmul)
def matmul(x1: Any, x2: Any, /, **kwargs: Any) -> Node:
    if kwargs:
        raise NotCovered("matmul with further arguments")
    x, y = _pair(x1, x2)
    if not x.type.ndim or not y.type.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    rows = x.shape[-2:-1] if x.type.ndim > 1 else ()
    columns = y.shape[-1:] if y.type.ndim > 1 else ()
    if x.shape[-1] != y.shape[-2 if y.type.ndim > 1 else 0]:
        raise ValueError("matmul: Input operand 1 has a mismatch in its core dimension 0")
    batch = b.joint_shape([x.shape[:-2], y.shape[:-2]])
    return _contract(MATMUL, x, y, (*batch, *rows, *columns))


@numpy_function(np.dot, method="dot")
def dot(a: Any, b_: Any = None, out: Any = None, **kwargs: Any) -> Node:
    if out is not None or kwargs:
        raise NotCovered("dot with further arguments")
    x, y = _pair(a, b_)
    if not x.type.ndim or not y.type.ndim:
        return b.elementwise(np.multiply, x, y)
    core = -2 if y.type.ndim > 1 else 0
    if x.shape[-1] != y.shape[core]:
        raise ValueError(f"shapes {x.shape} and {y.shape} not aligned")
    rest = y.shape[:-2] + y.shape[-1:] if y.type.ndim > 1 else ()
    return _contract(DOT, x, y, x.shape[:-1] + rest)


@numpy_function(np.inner)
def inner(a: Any, b_: Any, /) -> Node:
    x, y = _pair(a, b_)
    if x.type.ndim != 1 or y.shape != x.shape:
        raise NotCovered("inner products of such operands")
    return dot(x, y)


@numpy_function(np.vdot)
def vdot(a: Any, b_: Any, /) -> Node:
    x, y = _pair(a, b_)
    if "c" in (x.dtype.kind, y.dtype.kind) or x.type.size != y.type.size or not x.type.size:
        raise NotCovered("vdot of such operands")
    return dot(*(b.view("reshape", v, shape=(v.type.size,)) for v in (x, y)))


@numpy_function(np.tensordot)
def tensordot(a: Any, b_: Any = None, axes: Any = 2, **kwargs: Any) -> Node:
    x, y = _pair(a, kwargs.get("b", b_))
    axes = known(axes)
    if isinstance(axes, (int, np.integer)):
        first, second = tuple(range(x.type.ndim - axes, x.type.ndim)), tuple(range(axes))
    else:
        first, second = (tuple(map(b.integer, np.atleast_1d(k))) for k in axes)
    keep_x = tuple(n for k, n in enumerate(x.shape) if k not in {q % x.type.ndim for q in first})
    keep_y = tuple(n for k, n in enumerate(y.shape) if k not in {q % y.type.ndim for q in second})
    if [x.shape[k] for k in first] != [y.shape[k] for k in second]:
        raise ValueError("shape-mismatch for sum")
    if any(len({k % v.type.ndim for k in given}) < len(given) for v, given in ((x, first), (y, second))):
        raise NotCovered("an axis twice")
    return _contract(TENSORDOT, x, y, keep_x + keep_y, axes=(first, second))


def _spelled_out(subscripts: str, nodes: list[Node]) -> str:
    """Subscripts with labels in place of dots.

    >>> _spelled_out("...i->i...", [b.constant(np.ones((2, 3, 4)))])
    'YZi->iYZ'
    """
    if "." not in subscripts:
        return subscripts
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    counts = [n.type.ndim - len(t.replace("...", "")) if "..." in t else 0 for t, n in zip(terms, nodes)]
    free = [label for label in string.ascii_letters if label not in subscripts]
    labels = "".join(free[len(free) - max(counts, default=0) :])
    spelled = [t.replace("...", labels[len(labels) - max(c, 0) :]) for t, c in zip(terms, counts)]
    if (
        not arrow
        or len(terms) != len(nodes)
        or min(counts) < 0
        or any("." in t for t in (*spelled, right.replace("...", "", bool(labels))))
    ):
        raise NotCovered("einsum of other subscripts")
    return f"{','.join(spelled)}->{right.replace('...', labels)}"


@numpy_function(np.einsum, view=True)
def einsum(subscripts: Any, /, *operands: Any, optimize: Any = False, **kwargs: Any) -> Node:
    if kwargs or not isinstance(subscripts, str) or not isinstance(optimize, (bool, str)):
        raise NotCovered("einsum in another form")
    nodes = [array_node(v) for v in operands]
    left, arrow, right = _spelled_out(subscripts.replace(" ", ""), nodes).partition("->")
    terms = left.split(",")
    extents: dict[str, int] = {}
    if len(terms) != len(nodes) or any(len(t) != n.type.ndim for t, n in zip(terms, nodes)):
        raise ValueError("einstein sum subscripts string does not match the operands")
    for term, node in zip(terms, nodes):
        for label, extent in zip(term, node.shape):
            if extents.setdefault(label, extent) not in (extent, 1) and extent != 1:
                raise ValueError(f"operands do not agree in the extent of {label!r}")
            extents[label] = max(extents[label], extent) if extent else 0
    if not arrow:
        joined = "".join(terms)
        right = "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    if not extents.keys() >= set(right) or len(set(right)) < len(right) or not "".join((*extents, "i")).isalpha():
        raise NotCovered("einsum of other subscripts")
    type_ = ArrayType(np.result_type(*(n.dtype for n in nodes)), tuple(extents[c] for c in right))
    subscripts = f"{left}->{right}"
    if len(nodes) == 1 and set(right) == set(terms[0]):
        return Node(EINSUM_VIEW, (nodes[0],), b.params(subscripts=subscripts), type_)
    return b.compound("einsum", tuple(nodes), type_, subscripts=subscripts, optimize=optimize)


@numpy_function(np.outer)
def outer(a: Any, b_: Any = None, out: Any = None, **kwargs: Any) -> Node:
    x, y = _pair(a, kwargs.pop("b", b_))
    if out is not None or kwargs:
        raise NotCovered("outer into a given array")
    column = b.view("reshape", x, shape=(x.type.size, 1))
    return b.elementwise(np.multiply, column, b.view("reshape", y, shape=(1, y.type.size)))


def _declare_outer(ufunc: np.ufunc) -> None:
    @numpy_function(ufunc.outer)
    def outer(a: Any, b_: Any, /, **kwargs: Any) -> Node:
        if kwargs or not all(isinstance(v, Node) and not v.type.weak for v in (a, b_)):
            raise NotCovered(f"{ufunc.__name__}.outer of such operands")
        left = b.view("reshape", a, shape=a.shape + (1,) * b_.type.ndim)
        return b.elementwise(ufunc, left, b_)


for _ufunc in NUMPY_UFUNCS:
    if _ufunc.nin == 2:
        _declare_outer(_ufunc)


def public_name(function: Any, name: str) -> str:
    """The name by which users call a function of NumPy's or SciPy's; `name` for others.

    Examples
    --------
    >>> public_name(np.linalg.solve, "solve"), public_name(np.exp, "exp"), public_name(len, "len")
    ('np.linalg.solve', 'np.exp', 'len')
    """
    module = "numpy" if isinstance(function, np.ufunc) else str(getattr(function, "__module__", None))
    public = [part for part in module.split(".") if part[0] != "_"]
    if public[:1] not in (["numpy"], ["scipy"]):
        return name
    found = getattr(sys.modules.get(".".join(public)), name, None)
    public[0] = "np" if public[0] == "numpy" else public[0]
    return ".".join([*public, name]) if found is function else name


class Arrangement(Protocol):
    """The arguments of a call, but for its operands."""

    def __call__(self, values: list[Any]) -> tuple[tuple, dict]:
        """``(args, kwargs)`` with the values of the operands."""

    def fixed(self) -> list[Any]:
        """What is in the arguments beside the operands."""

    def changed(self, change: Callable[[Any], Any]) -> Arrangement:
        """The same with other values in place of `fixed`."""


@frozen(eq=False)
class Call:
    """A Python call that NumPy makes at its place in the program.

    Parameters
    ----------
    function : callable
        What is called.
    arrange : Arrangement, optional
        From the operands' values to ``(args, kwargs)`` of the call, which takes them as they are by default.
    name, line : str
        The function and the line of the user's code, for messages.
    is_effect : bool
        Whether it does something beside giving a result, so that it is made even if nothing needs that.
    """

    function: Callable[..., Any]
    arrange: Arrangement | None
    name: str
    line: str
    is_effect: bool = False

    def __call__(self, *values: Any) -> Any:
        if _answers:
            result = _answers.pop((threading.get_ident(), self), _NO_ANSWER)
            if result is not _NO_ANSWER:
                return result
        if self.arrange is None:
            return self.function(*values)
        args, kwargs = self.arrange(list(values))
        return self.function(*args, **kwargs)

    def into(self, *values: Any, out: np.ndarray) -> np.ndarray:
        """The same, written to `out`; for functions that `writes_out` names."""
        args, kwargs = self.arguments(list(values))
        if self.function is not np.sort:
            return self.function(*args, **kwargs, out=out)
        given = dict(zip(("a", "axis", "kind", "order"), args)) | kwargs
        array = np.asarray(given.pop("a"))
        if given.get("axis", -1) is None:
            array, given["axis"] = array.ravel(), -1
        out[...] = array
        out.sort(**given)
        return out

    @property
    def writes_out(self) -> bool:
        """Whether it makes a new array, and can be told where."""
        return self.function in _WRITING

    @property
    def title(self) -> str:
        """The name by which users call the function."""
        return public_name(self.function, self.name)

    def arguments(self, values: list[Any]) -> tuple[tuple, dict]:
        """``(args, kwargs)`` with the values of the operands."""
        return (tuple(values), {}) if self.arrange is None else self.arrange(values)

    def fixed(self) -> list[Any]:
        """What is in the arguments beside the operands."""
        return [] if self.arrange is None else self.arrange.fixed()

    def changed(self, change: Callable[[Any], Any]) -> Call:
        """The same with other values in place of `fixed`."""
        return replaced(self, arrange=self.arrange.changed(change)) if self.arrange and self.fixed() else self

    def __repr__(self) -> str:
        return self.name


_WRITING = frozenset({np.sort, np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft})
_answers: dict[tuple[int, Call], Any] = {}
_NO_ANSWER = object()


_no_answers = contextlib.nullcontext()


def answered(results: Mapping[Call, Any]) -> contextlib.AbstractContextManager[None]:
    """A context in which calls, once each and in this thread alone, give `results` and are not made.

    Examples
    --------
    >>> double = Call(lambda x: 2 * x, lambda values: (values, {}), "double", "")
    >>> with answered({double: 6}):
    ...     double(3), double(4)
    (6, 8)
    """
    return _answering(results) if results else _no_answers


@contextlib.contextmanager
def _answering(results: Mapping[Call, Any]) -> Iterator[None]:
    thread = threading.get_ident()
    keys = {(thread, call): result for call, result in results.items()}
    _answers.update(keys)
    try:
        yield
    finally:
        for key in keys:
            _answers.pop(key, None)


CALL = row(Op("call", Kind.HOST, numpy=lambda *values, call: call(*values)))
RESULT = row(Op("result", Kind.HOST, numpy=lambda value, path: _at(value, path)))


def _at(value: Any, path: tuple) -> Any:
    for key in path:
        value = value[key]
    return value


def call(function: Call, args: tuple[Node, ...]) -> Node:
    """A call whose result's parts are taken by `call_result`; every call is a node of its own."""
    return Node(CALL, args, b.params(call=function), ArrayType(np.dtype(np.int8), ()))


def writes_out(node: Node) -> bool:
    """Whether a node is what a call gives that makes a new array and does nothing else, and can be told where."""
    return node.op is RESULT and node.args[0].op is CALL and node.args[0]["call"].writes_out


def is_effect(node: Node) -> bool:
    """Whether a node is a part of what a call gives that has to be made in any case."""
    return node.op is RESULT and node.args[0].op is CALL and node.args[0]["call"].is_effect


def call_result(of: Node, path: tuple, type: ArrayType) -> Node:
    """The part of a call's result that ``result[path[0]][path[1]]…`` names."""
    return Node(RESULT, (of,), b.params(path=path), type)
