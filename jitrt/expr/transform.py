"""From expression to expression: substitution, rules, literal folding, and operators made of expressions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from operator import is_
from typing import Any, overload

import numpy as np

from ..frontend.python.externals import is_external
from .calls import LITERAL, PLACEHOLDER, Operation, filled, is_current, is_known, is_source, operation_named, register
from .outputs import listed, mapped
from .tree import Expression, literal, nodes_of, placeholder

Rule = Callable[[Expression], Expression | None]


def rebuilt(
    roots: Iterable[Expression], replace: Callable[[Expression], Expression | None]
) -> dict[Expression, Expression]:
    """For each node what takes its place, where `replace` is asked about each, its operands replaced.

    A replacement stays as it is.
    """
    done: dict[Expression, Expression] = {}
    for node in nodes_of(list(roots)):
        operands = tuple([done[o] for o in node.operands])
        new = _with_operands(node, operands)
        found = replace(new)
        done[node] = new if found is None else found
    return done


def _with_operands(node: Expression, operands: tuple[Expression, ...]) -> Expression:
    """`node` with other operands; two that have become one are numbered anew."""
    if all(map(is_, operands, node.operands)):
        return node
    if len({*operands}) == len(operands):
        return Expression(node.operation, operands, node.template)
    args, kwargs = filled(node.template, operands)
    return node.operation(*args, **kwargs)


def substitute(e: Any, replacements: Mapping[Any, Any]) -> Any:
    """`e` with other expressions in the place of some.

    Parameters
    ----------
    e : Expression, Optional, or dict of str to these
    replacements : mapping
        From leaves, placeholders, other nodes, or the names of leaves, placeholders and named values, to expressions or
        values. All are replaced at once.

    Returns
    -------
    Expression, Optional, or dict
        As `e` is.

    Raises
    ------
    KeyError
        If a name does not occur in `e`.

    Examples
    --------
    >>> from jitrt import expr
    >>> x, y = expr.leaf("x"), expr.leaf("y")
    >>> expr.substitute(x - y, {"x": y, y: x}).equals(y - x)
    True
    """
    nodes = nodes_of(listed(e))
    names = {n.name for n in nodes if n.name is not None}
    absent = [key for key in replacements if isinstance(key, str) and key not in names]
    if absent:
        raise KeyError(f"nothing in the expression is called {absent[0]!r}")
    new = {key: literal(value) for key, value in replacements.items()}
    done: dict[Expression, Expression] = {}
    for node in nodes:
        found = new.get(node) if node in new else new.get(node.name) if node.name is not None else None
        if found is None:
            operands = tuple([done[o] for o in node.operands])
            found = _with_operands(node, operands)
        done[node] = found
    return mapped(e, done.__getitem__)


def transform(e: Any, rules: Rule | Iterable[Rule]) -> Any:
    """Apply rules everywhere until none of them changes anything.

    Parameters
    ----------
    e : Expression, Optional, or dict of str to these
    rules : callable or iterable of callables
        From an expression, whose operands have been transformed, to what takes its place, or None. The first rule that
        changes something wins, and the rules are asked about its replacement in turn.

    Returns
    -------
    Expression, Optional, or dict
        As `e` is.

    Raises
    ------
    RecursionError
        If the rules undo each other, or a replacement contains what it replaces.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt import expr
    >>> def log_of_exp(e):
    ...     if e.operation is expr.op["log"] and e.operands[0].operation is expr.op["exp"]:
    ...         return e.operands[0].operands[0]
    >>> x = expr.leaf("x")
    >>> expr.transform(np.log(np.exp(x)) + 1, log_of_exp).equals(x + 1)
    True
    """
    asked = [rules] if callable(rules) else list(rules)
    return mapped(e, lambda part: _transformed(part, asked))


def _transformed(e: Expression, asked: list[Rule]) -> Expression:
    done: dict[Expression, Expression] = {}
    replaced: dict[Expression, Expression] = {}
    stack = [e]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        if node in replaced:  # by something that has been transformed in turn
            if replaced[node] not in done:
                raise RecursionError(f"the rules go round in circles: {replaced[node]!r} contains what it replaces")
            done[node] = done[replaced[node]]
            continue
        pending = [o for o in node.operands if o not in done]
        if pending:
            stack.extend(reversed(pending))
            continue
        operands = tuple([done[o] for o in node.operands])
        new = _with_operands(node, operands)
        found = next((r for rule in asked if (r := rule(new)) is not None and r is not new), None)
        if found is None:
            done[node] = done[new] = new
            continue
        if any(found is waiting for waiting in stack):
            raise RecursionError(f"the rules go round in circles at {found!r}")
        replaced[node] = found
        stack.append(found)
    return done[e]


def fold(e: Expression) -> Expression | None:
    """The literal that an operation on literals is; None for others, and where NumPy would warn or fail."""
    if is_source(e.operation) or e.operation.apply is None or any(o.operation is not LITERAL for o in e.operands):
        return None
    args, kwargs = filled(e.template, [o.value for o in e.operands])
    try:
        with np.errstate(all="raise"):
            value = e.operation.compute(args, kwargs)
    except Exception:
        return None
    return literal(value) if isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)) else None


def expanded(e: Expression) -> Expression:
    """`e` with operators that are made of expressions replaced by these."""
    return expanded_all([e])[e]


def expanded_all(roots: Iterable[Expression]) -> dict[Expression, Expression]:
    """What `expanded` gives, for several expressions."""
    return _expanded(roots, lambda operation: True)


def up_to_date(e: Expression) -> Expression:
    """`e` with what they are made of in place of operators whose names lead to others that have been made since."""
    if all(is_current(n.operation) for n in e.nodes):
        return e
    return _expanded([e], lambda operation: not is_current(operation))[e]


def _expanded(roots: Iterable[Expression], chosen: Callable[[Operation], bool]) -> dict[Expression, Expression]:
    """Expressions with what they are made of in place of the chosen operators."""

    def body(node: Expression) -> Expression | None:
        operation = node.operation
        if operation.body is None or not chosen(operation):
            return None
        args, _ = filled(node.template, node.operands)
        inner = expanded(operation.body)
        used = {p.name for p in inner.placeholders}
        given = {name: literal(v) for name, v in zip(operation.parameters, args) if name in used}
        return substitute(inner, given)

    return rebuilt(roots, body)


@overload
def operator(function: Callable[..., Any]) -> Operation: ...
@overload
def operator(*, name: str | None = None) -> Callable[[Callable[..., Any]], Operation]: ...
def operator(function: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Make an operation of a Python function of expressions.

    It is shown, pickled and parsed by its name, and replaced by what it is made of when it is compiled.

    Parameters
    ----------
    function : callable
        Called once, on placeholders for its parameters, whose defaults are those of calls; gives an expression. A
        function that numba has compiled, one that `jitrt.operation` has made, or one that `jitrt.pure` vouches for,
        is an operation as it is; it must not write into its arguments.
    name : str, optional
        By default that of the function.

    Returns
    -------
    Operation
        Called on expressions and values, it gives an expression.

    Raises
    ------
    ValueError
        If the function has parameters with stars, or the name is that of another operation, unless that was made of
        a function of the same name in the same module: this one takes its place, as when a notebook runs again, and
        what is made of that one is shown, pickled and saved without its name.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt import expr
    >>> @expr.operator
    ... def norm(x, y):
    ...     return np.sqrt(x * x + y * y)
    >>> e = norm(expr.leaf("a"), 4.0)
    >>> print(e)
    def expression(a):
        return op['norm'](a, 4.0)
    >>> expr.evaluate(e, a=3.0)
    np.float64(5.0)
    >>> import numba
    >>> @expr.operator
    ... @numba.vectorize
    ... def clamped(x, limit):
    ...     return limit if x > limit else x
    >>> expr.evaluate(clamped(expr.leaf("a"), 2.0) + 1, a=np.array([1.0, 5.0]))
    array([2., 3.])
    """
    if function is None:
        return lambda f: operator(f, name=name)  # type: ignore[call-overload]
    own = name or function.__name__.partition(".")[0]
    if own.startswith((".", "np.", "scipy.", "row.")):
        raise ValueError(f"{own!r} is the name of another operation")
    if is_external(function):
        return _registered(Operation(own, function), function)
    parameters = inspect.signature(function).parameters.values()
    defaults = []
    for p in parameters:
        with suppress(TypeError):  # of what is no value of an expression
            defaults += [(p.name, literal(p.default))] if p.default is not p.empty else []
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise ValueError("an operator has a fixed number of parameters")
    names = tuple(p.name for p in parameters)
    body = literal(function(*map(placeholder, names)))
    others = {str(p.name) for p in body.nodes if p.operation is PLACEHOLDER} - {*names}
    if others:
        raise ValueError(f"{own} depends on placeholders that are no parameters: {', '.join(sorted(others))}")
    return _registered(Operation(own, _refuse, body, names, tuple(defaults)), function)


_functions: dict[str, tuple[str, str]] = {}
"""The modules and names of the functions of which operators have been made, by the names of these."""


def _registered(made: Operation, function: Callable[..., Any]) -> Operation:
    """Let `made` be found by its name, in place of an earlier one of the same function, as when a notebook runs again.

    One that says the same is given in its place.
    """
    where = str(getattr(function, "__module__", "")), getattr(function, "__qualname__", made.name)
    if not is_known(made.name) or _functions.get(made.name) == where:
        known = operation_named(made.name) if is_known(made.name) else None
        _functions[made.name] = where
        return known if known is not None and _say_the_same(made, known) else register(made)
    module, name = _functions.get(made.name, ("jitrt", made.name))
    raise ValueError(f"{made.name!r} is the name of another operation, which {name} of {module} is: give a name")


def _say_the_same(one: Operation, other: Operation) -> bool:
    of_one, of_other = ((o.apply, o.body, *(value for _, value in o.defaults)) for o in (one, other))
    names = [(o.parameters, [name for name, _ in o.defaults]) for o in (one, other)]
    return names[0] == names[1] and all(map(is_, of_one, of_other))


def _refuse(*args: Any) -> Any:
    raise TypeError("operators are replaced before anything is computed")


def simplify(e: Any) -> Any:
    """`e` without what need not be computed: operations on literals are literals.

    Parameters
    ----------
    e : Expression, Optional, or dict of str to these

    Returns
    -------
    Expression, Optional, or dict
        Operators made of expressions are replaced by these. What NumPy would warn of is left as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt import expr
    >>> x = expr.leaf("x")
    >>> print(expr.simplify(x * (expr.literal(np.array([1.0, 2.0])) * 2.0)))
    def expression(x):
        return np.multiply(x, np.array([2.0, 4.0], '<f8'))
    """
    return transform(mapped(e, expanded), fold)
