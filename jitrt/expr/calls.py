"""Operations, and what a call of one is beside its operands: a template in which these are numbered."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.frozen import frozen
from ..frontend.python.externals import is_scipys
from ..ir.node import Constant
from ..ir.ops.optable import WITH_EFFECTS
from ..ir.ops.rows import OPS

if TYPE_CHECKING:
    from .tree import Expression

# NumPy's names under which its functions are found, in this order.
_HOMES = ("numpy", "numpy.linalg", "numpy.fft", "numpy.lib.stride_tricks", "scipy.special")


@frozen(eq=False)
class Operation:
    """What a node of an expression does; interned by its name, so that equal ones are one object.

    Parameters
    ----------
    name : str
        By which it is printed, pickled and found: ``"np.add"``, ``".cumsum"`` for methods, ``"getitem"``.
    apply : callable, optional
        Computes it from arrays; None for what is no operation: leaves, literals and placeholders.
    body : Expression, optional
        Of operators that are made of expressions, the expression of `parameters`.
    parameters : tuple of str
    defaults : tuple of (str, Expression)
        What parameters are that are not given.
    special : callable, optional
        From the keyword arguments of a call to the function of its operands, which is compiled in place of `apply`.
    columns : callable, optional
        Of operations on scalars that are not elementwise: from a call of one to that which computes each row of
        columns, or to None.
    """

    name: str
    apply: Callable[..., Any] | None = None
    body: Expression | None = None
    parameters: tuple[str, ...] = ()
    defaults: tuple[tuple[str, Expression], ...] = ()
    special: Callable[..., Callable[..., Any]] | None = None
    columns: Callable[[Expression], Expression | None] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The expression that applies it; what is no expression among the operands is a literal."""
        from .missing import Optional
        from .tree import applied

        if self.apply is not None and not self.parameters and any(isinstance(v, Optional) for v in args):
            return self.apply(*args, **kwargs)
        if self.parameters:
            args, kwargs = self._by_position(args, kwargs), {}
        return applied(self, args, kwargs)

    def _by_position(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        given = dict(zip(self.parameters, args))
        found = dict(self.defaults) | given | kwargs
        if len(args) > len(self.parameters) or kwargs.keys() & given.keys() or {*found} != {*self.parameters}:
            raise TypeError(f"{self.name} takes {', '.join(self.parameters)}")
        return tuple(found[name] for name in self.parameters)

    def compute(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """What it gives for these arguments."""
        assert self.apply is not None
        return self.apply(*args, **kwargs)

    def __repr__(self) -> str:
        return f"expr.op[{self.name!r}]"


LEAF, LITERAL, PLACEHOLDER = Operation("leaf"), Operation("literal"), Operation("placeholder")
_SOURCES = frozenset({LEAF, LITERAL, PLACEHOLDER})


def _getitem(x: Any, index: Any) -> Any:
    return x[index]


def _itself(x: Any, name: str) -> Any:
    return x


GETITEM = Operation("getitem", _getitem)
NAMED = Operation("name", _itself)
_known: dict[str, Operation] = {o.name: o for o in (LEAF, LITERAL, PLACEHOLDER, GETITEM, NAMED)}


def register(operation: Operation) -> Operation:
    """Let `operation` be found by its name."""
    _known[operation.name] = operation
    return operation


def is_known(name: str) -> bool:
    """Whether an operation is registered by exactly that name."""
    return name in _known


def is_current(operation: Operation) -> bool:
    """Whether its name leads to it: an operator of that name may have been made since."""
    return _known.get(operation.name) is operation


def is_source(operation: Operation) -> bool:
    """Whether it is that of leaves, literals or placeholders."""
    return operation in _SOURCES


def operation_of(function: Callable[..., Any]) -> Operation:
    """The operation that a NumPy function or a ufunc is.

    Raises
    ------
    TypeError
        If no name leads to it.
    """
    name = getattr(function, "__name__", "")
    own = getattr(function, "__module__", None) or ""
    for home in (*_HOMES, own):
        if _is_pure(function) and home in sys.modules and getattr(sys.modules[home], name, None) is function:
            return operation_named(f"np{home[5:]}.{name}" if home.startswith("numpy") else f"{home}.{name}")
    if name in _known and _known[name].apply is function:
        return _known[name]
    raise TypeError(f"{name or function!r} is a function that no name leads to; expr.operator makes operations")


def _is_pure(function: Any) -> bool:
    """Whether a function is one of arrays that does nothing but to compute."""
    if isinstance(function, np.ufunc) or isinstance(getattr(function, "__self__", None), np.ufunc):
        return getattr(function, "__name__", "") != "at"
    return isinstance(function, type(np.sum)) and function.__name__ not in WITH_EFFECTS


@cache
def place_of_out(operation: Operation) -> int | None:
    """Which argument by position is ``out``, where the operation has one."""
    if isinstance(operation.apply, np.ufunc):
        return operation.apply.nin
    owner, _, name = operation.name.rpartition(".")
    function = getattr(np, name, None) if owner in ("", "np") else operation.apply
    try:
        parameters = inspect.signature(function).parameters if callable(function) else {}
    except ValueError:
        return None
    by_position = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return by_position.index("out") if "out" in by_position else None


@cache
def fields_of(operation: Operation) -> tuple[str, ...]:
    """The names of the values of those operations that give named tuples."""
    if not operation.name.startswith(("np.linalg.", "np.unique_")):
        return ()
    assert operation.apply is not None
    try:
        return getattr(operation.apply(np.eye(1)), "_fields", ())
    except Exception:  # it takes more than a matrix
        return ()


def method(name: str) -> Operation:
    """The operation that calls the array method `name`."""
    return operation_named(f".{name}")


def _method(name: str) -> Callable[..., Any]:
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    return call


def operation_named(name: str) -> Operation:
    """The operation of that name: NumPy's are found with and without ``np.``.

    Raises
    ------
    KeyError
        If there is none.
    """
    found = _known.get(name)
    if found is not None:
        return found
    if name.startswith(".") and callable(getattr(np.ndarray, name[1:], None)) and not name.startswith("._"):
        return register(Operation(name, _method(name[1:])))
    if name.startswith("row.") and name[4:] in OPS and OPS[name[4:]].numpy is not None:
        return register(Operation(name, OPS[name[4:]].numpy))
    for full in (name, f"np.{name}"):
        function = _function_at(full)
        if _is_pure(function) or is_scipys(function):
            return _known.get(full) or register(Operation(full, function))
    raise KeyError(f"there is no operation called {name!r}")


def _function_at(path: str) -> Any:
    """What a dotted name leads to; None if it leads nowhere. It starts at NumPy or at SciPy."""
    root, *parts = path.split(".")
    found: Any = np
    if root not in ("np", "scipy") or any(part.startswith("_") for part in parts):
        return None
    if root == "scipy":
        try:
            found = importlib.import_module(".".join((root, *parts[:-1])))
        except ImportError:
            return None
        parts = parts[-1:]
    for part in parts:
        found = getattr(found, part, None)
    return found


@frozen
class Operand:
    """The place of an operand in a template."""

    number: int


@frozen
class Nested:
    """A tuple, list, slice or dict in a template, by its parts.

    Parameters
    ----------
    kind : str
        ``"tuple"``, ``"list"``, ``"slice"`` or ``"dict"``.
    parts : tuple
        Of a dict, keys and values in turn.
    """

    kind: str
    parts: tuple[Any, ...]


@frozen
class Static:
    """Anything else in a template; ``1``, ``True`` and ``1.0`` are told apart, as they mean different things."""

    kind: type
    value: Any


@frozen
class Template:
    """The arguments of a call, with operands by their numbers."""

    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]


_MAKE: dict[str, Callable[[Sequence[Any]], Any]] = {
    "tuple": tuple,
    "list": list,
    "slice": lambda parts: slice(*parts),
    "dict": lambda parts: dict(zip(parts[::2], parts[1::2])),
}


def take_apart(
    args: Iterable[Any],
    kwargs: dict[str, Any],
    operand: Callable[[Any], Any],
    keyword: Callable[[Any], Any] | None = None,
) -> tuple[Template, list[Any]]:
    """The template of a call, and its operands.

    Parameters
    ----------
    args, kwargs
        The arguments.
    operand, keyword : callable
        Get the operand that an argument is, by position or by keyword; None if it is none.
    """
    operands: list[Any] = []
    numbers: dict[Any, Operand] = {}

    def part(value: Any, operand: Callable[[Any], Any] = operand) -> Any:
        found = operand(value)
        if found is not None:
            if found not in numbers:
                numbers[found] = Operand(len(operands))
                operands.append(found)
            return numbers[found]
        if type(value) in (tuple, list):
            return Nested(type(value).__name__, tuple([part(v, operand) for v in value]))
        if type(value) is slice:
            return Nested("slice", tuple([part(v, operand) for v in (value.start, value.stop, value.step)]))
        if type(value) is dict:
            return Nested("dict", tuple([part(v, operand) for item in value.items() for v in item]))
        try:
            hash(value)
        except TypeError:
            raise TypeError(f"an expression takes no {type(value).__name__} as an argument") from None
        return Static(type(value), Constant(value) if type(value) is float else value)

    by_position = tuple(map(part, args))
    template = Template(by_position, tuple([(name, part(v, keyword or operand)) for name, v in kwargs.items()]))
    return template, operands


def filled(template: Template, operands: Sequence[Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments of a call whose operands are given."""

    def value(part: Any) -> Any:
        if type(part) is Operand:
            return operands[part.number]
        if type(part) is Nested:
            return _MAKE[part.kind]([value(p) for p in part.parts])
        return static_value(part)

    return tuple(map(value, template.args)), {name: value(part) for name, part in template.kwargs}


def static_value(part: Static) -> Any:
    """The argument that `part` stands for."""
    return part.value.value if type(part.value) is Constant else part.value
