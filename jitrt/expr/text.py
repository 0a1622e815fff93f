"""Expressions as text: a Python function of one operation a line, which `parse` reads back, and which is compiled.

    def expression(x: "f8[3]", y):
        square = np.multiply(x, x)
        return np.add(square, y)

Parameters are leaves, placeholders those behind the star; names that are given to values are variables.
"""

from __future__ import annotations

import ast
import base64
import builtins
import keyword
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .calls import (
    GETITEM,
    LEAF,
    LITERAL,
    NAMED,
    PLACEHOLDER,
    Nested,
    Operand,
    filled,
    is_current,
    operation_of,
    static_value,
)
from .known import dtype_text
from .tree import Expression, nodes_of, takes_elements

_MOST_WRITTEN_OUT = 16  # elements of an array
_TEMPORARY = re.compile(r"t\d+")
_HELD = re.compile(r"[cf]\d+_")  # globals of what is compiled
_TAKEN = frozenset({"np", "op", "name", "literal", "array", "float", "complex", "slice", "scipy", "expression"})


class Writer:
    """Lines that compute expressions, and the names of their values.

    Parameters
    ----------
    roots : sequence of Expression
    literal : callable
        The text of a literal.
    call : callable
        The text by which the operation of an expression is called.
    static : callable
        The text of an argument that is no operand.
    for_people : bool
        Whether names are shown.
    """

    def __init__(
        self,
        roots: Sequence[Expression],
        literal: Callable[[Any], str],
        call: Callable[[Expression], str],
        static: Callable[[Any], str],
        for_people: bool = True,
    ):
        self.nodes = nodes_of(roots)
        self.lines: list[str] = []
        self.parameters = [n for n in self.nodes if n.operation is LEAF]
        self.placeholders = [n for n in self.nodes if n.operation is PLACEHOLDER]
        self.names: dict[Expression, str] = {n: str(n.name) for n in (*self.parameters, *self.placeholders)}
        self._literal, self._call, self._static, self._for_people = literal, call, static, for_people
        self._taken = {*_TAKEN, *self.names.values()}
        if len({*self.names.values()}) < len(self.names):
            twice = sorted(self.names.values(), key=list(self.names.values()).count)[-1]
            raise ValueError(f"two leaves of different types are called {twice!r}")
        self._count = 0
        self._uses = Counter(id(o) for node in self.nodes for o in node.operands)
        variables = self._variables()
        inlined = {roots[0]} if for_people and roots[0].operation is not NAMED else set()
        for node in self.nodes:
            if node.operation is LITERAL:
                self.names[node] = self._literal(node.value)
            elif node not in self.names:
                self._assign(node, variables, node in inlined)

    def _variables(self) -> dict[Expression, str]:
        """Names that values are given, as far as they can be variables."""
        found: dict[Expression, str] = {}
        for node in self.nodes:
            if node.operation is NAMED and _is_variable(str(node.name)) and node.name not in self._taken:
                found[node] = str(node.name)
                self._taken.add(found[node])
        return found

    def _assign(self, node: Expression, variables: dict[Expression, str], inlined: bool) -> None:
        if node.operation is NAMED and not self._for_people and node not in variables:
            self.names[node] = self.names[node.operands[0]]
            return
        if node.operation is NAMED and node in variables:
            text, self.names[node] = self.names[node.operands[0]], variables[node]
            last = self.lines[-1].split(" = ", 1) if self.lines else [""]
            if last[0] == text and _TEMPORARY.fullmatch(text) and self._uses[id(node.operands[0])] == 1:
                self.lines.pop()
                self._count = int(text[1:])
                text = last[1]
        else:
            text = self.text(node)
            if inlined:
                self.names[node] = text
                return
            self.names[node] = self.fresh()
        self.lines.append(f"{self.names[node]} = {text}")

    def fresh(self) -> str:
        """The name of a new variable."""
        while (made := f"t{self._count}") in self._taken:
            self._count += 1
        self._count += 1
        return made

    def text(self, node: Expression) -> str:
        """The call that `node` is."""
        names = [self.names[o] for o in node.operands]
        marked = [self._marked(o) for o in node.operands]
        args = [self.part(p, names if takes_elements(node.operation) else marked) for p in node.template.args]
        if node.operation is GETITEM:
            index = node.template.args[1]
            parts = index.parts if isinstance(index, Nested) and index.kind == "tuple" and index.parts else None
            inside = [self.subscript(p, marked) for p in ((index,) if parts is None else parts)]
            return f"{_atom(args[0])}[{', '.join(inside)}{',' if parts is not None and len(parts) == 1 else ''}]"
        if self._for_people or node.operation.special is None:
            args += [f"{key}={self.part(p, marked)}" for key, p in node.template.kwargs]
        if node.operation.name.startswith("."):
            return f"{_atom(args[0])}{node.operation.name}({', '.join(args[1:])})"
        return f"{self._call(node)}({', '.join(args)})"

    def _marked(self, operand: Expression) -> str:
        """The name of an operand where numbers are no operands."""
        is_number = operand.operation is LITERAL and not isinstance(operand.value, np.ndarray)
        return f"literal({self.names[operand]})" if is_number and self._for_people else self.names[operand]

    def subscript(self, part: Any, names: Sequence[str]) -> str:
        """An index as it stands between brackets."""
        if isinstance(part, Nested) and part.kind == "slice":
            start, stop, step = ("" if (t := self.part(p, names)) == "None" else t for p in part.parts)
            return f"{start}:{stop}" + (f":{step}" if step else "")
        return self.part(part, names)

    def part(self, part: Any, names: Sequence[str]) -> str:
        """A part of a template."""
        if isinstance(part, Operand):
            return names[part.number]
        if not isinstance(part, Nested):
            return self._static(static_value(part))
        parts = [self.part(p, names) for p in part.parts]
        if part.kind == "dict":
            return f"{{{', '.join(f'{k}: {v}' for k, v in zip(parts[::2], parts[1::2]))}}}"
        if part.kind == "list":
            return f"[{', '.join(parts)}]"
        return f"{'slice' if part.kind == 'slice' else ''}({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _is_variable(name: str) -> bool:
    is_free = not (_TEMPORARY.fullmatch(name) or _HELD.fullmatch(name))
    return name.isidentifier() and not keyword.iskeyword(name) and is_free


def _atom(text: str) -> str:
    return text if text.isidentifier() or (text.endswith(("]", ")")) and "(" in text) else f"({text})"


def to_text(e: Expression) -> str:
    """The text of an expression."""
    from .transform import up_to_date

    e = up_to_date(e)
    writer = Writer([e], literal_text, _called, lambda value: static_text(value, for_people=True))
    given = [_parameter(n) for n in writer.parameters]
    given += ["*", *(_parameter(n) for n in writer.placeholders)] if writer.placeholders else []
    lines = "".join(f"    {line}\n" for line in writer.lines)
    return f"def expression({', '.join(given)}):\n{lines}    return {writer.names[e]}"


def _called(node: Expression) -> str:
    operation = node.operation
    if operation.name.startswith(("np.", "scipy.")):
        return operation.name
    replaced = "" if is_current(operation) else " (made anew since)"  # there is no such name
    return "name" if operation is NAMED else f"op[{operation.name + replaced!r}]"


def _parameter(e: Expression) -> str:
    known = e.type
    return str(e.name) if str(known) == "?[...]" else f'{e.name}: "{known}"'


def literal_text(value: Any) -> str:
    """The text of a literal."""
    if isinstance(value, np.ndarray):
        is_short = value.dtype.kind in "biuf" and value.dtype.itemsize <= 8 and 0 < value.size <= _MOST_WRITTEN_OUT
        if is_short and np.isfinite(value).all():
            return f"np.array({value.tolist()!r}, {value.dtype.str!r})"
        return _bytes_text(value)
    if isinstance(value, np.generic):
        return f"np.dtype({descriptor(value.dtype)!r}).type({_scalar_text(value)})"
    return _number_text(value)


def _scalar_text(value: Any) -> str:
    is_wide = value.dtype.itemsize > (16 if value.dtype.kind == "c" else 8) and value.dtype.kind in "fc"
    return _bytes_text(value) if is_wide or value.dtype.kind in "mMV" else _number_text(value.item())


def _bytes_text(value: Any) -> str:
    held = ... if value.dtype.hasobject else base64.b64encode(value.tobytes()).decode()
    return f"array({descriptor(value.dtype)!r}, {value.shape!r}, {'...' if held is ... else repr(held)})"


def descriptor(dtype: np.dtype) -> str | list[Any]:
    """What a dtype is written as: `numpy.dtype.str`, or the list of its fields."""
    return np.lib.format.dtype_to_descr(dtype) if dtype.names else dtype.str


def dtype_of(given: Any) -> np.dtype:
    """The dtype of a `descriptor`."""
    return np.lib.format.descr_to_dtype(given)


def _number_text(value: Any) -> str:
    if type(value) is complex:
        return f"complex({_number_text(value.real)}, {_number_text(value.imag)})"
    return repr(value) if type(value) is not float or np.isfinite(value) else f"float({str(value)!r})"


def static_text(value: Any, for_people: bool = False) -> str:
    """The text of an argument that is no operand.

    Parameters
    ----------
    value : object
    for_people : bool
        Whether there may be a text that `parse` cannot read.

    Raises
    ------
    TypeError
        If there is none that `parse` could read.
    """
    if value is None or value is Ellipsis or type(value) in (bool, int, str):
        return "..." if value is Ellipsis else repr(value)
    if type(value) in (float, complex):
        return _number_text(value)
    if isinstance(value, np.dtype):
        return f"np.dtype({descriptor(value)!r})"
    if isinstance(value, np.generic):
        return literal_text(value)
    if isinstance(value, type) and issubclass(value, (np.generic, bool, int, float, complex)):
        return f"np.{value.__name__}" if issubclass(value, np.generic) else value.__name__
    if isinstance(value, np.ufunc) or getattr(value, "__module__", "").startswith("numpy"):
        return operation_of(value).name
    if for_people:
        return f"<{type(value).__name__}>"
    raise TypeError(f"a {type(value).__name__} in an expression has no text")


def dtype_and_shape(text: str) -> tuple[np.dtype | None, tuple[int | None, ...] | None]:
    """The reverse of ``str`` of a `Known`.

    Examples
    --------
    >>> dtype_and_shape("f4[3,?]")
    (dtype('float32'), (3, None))
    """
    name, _, rest = text.rstrip("*").removesuffix("]").rpartition("[")
    shape = None if rest == "..." else tuple([None if n == "?" else int(n) for n in rest.split(",") if n])
    if name == "?":
        return None, shape
    try:
        dtype = dtype_of(ast.literal_eval(name) if name.startswith("[") else name)
    except (TypeError, SyntaxError):
        dtype = None
    if dtype is None or dtype_text(dtype) != name:
        raise ValueError(f"{name!r} is no dtype")
    return dtype, shape


def source(
    roots: Sequence[Expression],
    inputs: Sequence[str] | None,
    returned: str,
    conversions: Callable[[Expression], list[str]],
) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """The text of a Python function that computes expressions with NumPy.

    Parameters
    ----------
    roots : sequence of Expression
    inputs : sequence of str, optional
        Names of its first parameters; by default the leaves as they are met.
    returned : str
        How the results are put together; ``{o0}`` and on are their names.
    conversions : callable
        Lines in front, for a leaf.

    Returns
    -------
    text : str
    namespace : dict
        The globals that it needs.
    names : tuple of str
        Its parameters.
    """
    namespace: dict[str, Any] = {"np": np, "__builtins__": builtins}

    def held(prefix: str, value: Any) -> str:
        found = f"{prefix}{len(namespace)}_"
        namespace[found] = value
        return found

    def constant(value: Any) -> str:
        if type(value) in (bool, int) or (type(value) is float and np.isfinite(value)):
            return repr(value)
        return held("c", value)

    def called(node: Expression) -> str:
        operation = node.operation
        if operation.special is not None:
            return held("f", operation.special(**filled(node.template, node.operands)[1]))
        return operation.name if operation.name.startswith("np.") else held("f", operation.apply)

    def static(value: Any) -> str:
        if value is None or value is Ellipsis or type(value) in (bool, int, str):
            return static_text(value)
        return constant(value)

    writer = Writer(roots, constant, called, static, for_people=False)
    lines = [line for n in writer.parameters for line in conversions(n)] + writer.lines
    given = tuple(dict.fromkeys([*(inputs or ()), *(str(n.name) for n in writer.parameters)]))
    body = "".join(f"    {line}\n" for line in lines)
    final = returned.format(**{f"o{k}": writer.names[e] for k, e in enumerate(roots)})
    return f"def expression({', '.join(given)}):\n{body}    return {final}\n", namespace, given
