"""Between expressions and graphs of the compiler: what a stage makes of an expression, and the way back."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base.atwork import at_work
from ..errors import Untraceable
from ..frontend.python.variablenames import variable_names
from ..frontend.returned import Result
from ..frontend.trace import Request, Traced, trace
from ..ir.control import BRANCH
from ..ir.node import Graph, Node
from ..ir.ops.contractions import RESULT
from ..ir.ops.movement import decode_index
from ..ir.ops.optable import CONSTANT, INPUT, Kind, Op
from ..ir.ops.updates import UPDATE, region_between, through
from ..passes.prepare import prepare
from ..schedule.byhand import ByHand
from ..schedule.byhand import by_hand as schedule_by_hand
from ..values.kinds import rebuild
from ..values.trees import leaf_count
from .assigned import assigned
from .branches import cond_of
from .calls import GETITEM, LITERAL, Operation, method, operation_named
from .program import Program, example
from .program import compile as program_of
from .tree import Expression, applied, leaf, literal, name


def from_graph(graph: Graph, names: Sequence[str] = (), values: Mapping[Node, str] | None = None) -> list[Expression]:
    """Expressions of the outputs of a graph.

    Parameters
    ----------
    graph : Graph
    names : sequence of str, optional
        Of the inputs; by default ``x0`` and on.
    values : mapping of Node to str, optional
        Names of other nodes.
    """
    done: dict[Node, Expression] = {}
    for number, node in enumerate(graph.inputs):
        own = names[number] if number < len(names) else f"x{number}"
        done[node] = leaf(own) if node.type.weak else leaf(own, node.dtype, shape=node.shape)
    for node in graph.nodes():
        if node in done:
            continue
        chosen = _choice(node, done)
        made = _expression(node, [done[a] for a in node.args]) if chosen is None else chosen
        given = None if values is None or node.op is CONSTANT else values.get(node)
        done[node] = made if given is None else name(made, given)
    return [done[n] for n in graph.outputs]


def result_of(traced: Traced, names: Sequence[str], values: Mapping[Node, str]) -> Any:
    """The expressions of what a traced function returns, nested as that is.

    Parameters
    ----------
    traced : Traced
    names : sequence of str
        Of the inputs of its graph.
    values : mapping of Node to str
        Names of other nodes.

    Raises
    ------
    ValueError
        If it returns what is neither computed nor given to it.
    """
    leaves = _results(traced)
    nodes = [n for n in leaves if isinstance(n, Node)]
    made = iter(from_graph(Graph(traced.graph.inputs, tuple(nodes)), names, values))
    found = [next(made) if isinstance(leaf, Node) else _value(leaf) for leaf in leaves]
    return rebuild(traced.structure, iter(found))


def _results(traced: Traced) -> list[Node | Result]:
    """For each leaf of the result its node; what is none as it is."""
    graph, written = traced.graph, dict(traced.written)
    leaves: list[Node | Result] = []
    for result in traced.results[: leaf_count(traced.structure)]:
        if result.source not in ("array", "input"):
            leaves.append(result)
        elif result.source == "input" and result.index in written:  # what it holds afterwards
            base, view = graph.inputs[result.index], result.view
            after = graph.outputs[written[result.index]]
            leaves.append(after if view is None else through(after, region_between(view, base)))
        else:
            base = graph.outputs[result.index] if result.source == "array" else graph.inputs[result.index]
            leaves.append(base if result.view is None else result.view)
    return leaves


def _value(result: Result) -> Any:
    if result.source != "value":
        raise ValueError("the function returns an object of its caller's")
    return None if result.value is None else literal(result.value)


def _expression(node: Node, args: list[Expression]) -> Expression:
    """The call that a node is, of NumPy's own function where that takes the same parameters."""
    op, given = node.op, node.numpy_kwargs
    if op is CONSTANT:
        return literal(given["value"])
    if op is INPUT:
        raise ValueError("the graph has inputs that are numbers of elements")
    if op.name == "getitem":
        return applied(GETITEM, (args[0], decode_index(given["index"])), {})
    if op is UPDATE:
        return assigned(node, *args)
    if op.name == "cast" and not node.args[0].type.weak:
        return applied(method("astype"), (args[0], given["dtype"]), {})
    if op.name == "cast" and args[0].operation is LITERAL:  # a number of Python's, which has no methods
        return literal(np.asarray(args[0].value).astype(given["dtype"])[()])
    if not args:
        raise ValueError(f"{op.name} is no operation on values")
    made = applied(_operation(op, given), args, given)
    is_number = node.type.weak and node.dtype.kind in "fc"
    return applied(method("item"), (made,), {}) if is_number else made


def _choice(node: Node, done: Mapping[Node, Expression]) -> Expression | None:
    """The cond that a result of a branch is; None for others, and where a body has no text."""
    if node.op is not RESULT or node.args[0].op is not BRANCH:
        return None
    (number,), branch = node["path"], node.args[0]["branch"]
    names = [f"cond_{k}" for k in range(len(branch.then.inputs))]
    bodies = [from_graph(Graph(g.inputs, (g.outputs[number],)), names)[0] for g in (branch.then, branch.otherwise)]
    return cond_of([done[a] for a in node.args[0].args], names, bodies)


def _operation(op: Op, given: Mapping[str, Any]) -> Operation:
    """NumPy's function of that name if it means the same, else the row of the table."""
    function = getattr(np, op.name, None)
    if op.ufunc is not None and op.ufunc is function:
        return operation_named(f"np.{op.name}")
    has_kind = op.kind in (Kind.VIEW, Kind.COMPOUND, Kind.ELEMENTWISE) and op.ufunc is None and op.library == "numpy"
    if has_kind and function is not None and given.keys() <= inspect.signature(function).parameters.keys():
        return operation_named(f"np.{op.name}")
    return operation_named(f"row.{op.name}")


def lower(e: Expression, stage: str = "simplify") -> Expression:
    """What a stage of the compiler makes of an expression.

    Parameters
    ----------
    e : Expression
        Its leaves have known dtypes and shapes.
    stage : str
        A pass: ``"trace"``, what the tracer records; ``"lower"``, in fewer kinds of operations, with casts and
        broadcasts made explicit; ``"simplify"``, without what need not be computed.

    Returns
    -------
    Expression

    Raises
    ------
    ValueError
        If there is no such stage, a leaf has an open type, or the expression is not compiled.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt import expr
    >>> x = expr.leaf("x", "f4", shape=(3,))
    >>> print(expr.lower(x**2 / 4.0, "simplify"))
    def expression(x: "f4[3]"):
        t0 = np.multiply(x, x)
        t1 = np.broadcast_to(literal(np.dtype('<f4').type(0.25)), shape=(3,))
        return np.multiply(t0, t1)
    """
    program, traced, _ = _traced(e)
    graph = Graph(traced.graph.inputs, tuple([n for n in _results(traced) if isinstance(n, Node)]))
    if not graph.outputs:
        return e
    stages = {"trace": graph, **dict(prepare(graph))}
    if stage not in stages:
        raise ValueError(f"{stage!r} is no stage; there are {', '.join(stages)}")
    return from_graph(stages[stage], program.inputs)[0]


def by_hand(e: Expression) -> ByHand:
    """An expression as a fusion to be scheduled by hand (`jitrt.schedule`), every operation with loops of its own.

    Parameters
    ----------
    e : Expression
        Its leaves have known dtypes and shapes.

    Returns
    -------
    ByHand
        Its tensors have the names of leaves and named values; `ByHand.function` makes a function of the leaves.

    Raises
    ------
    ScheduleError
        If there are other operations than elementwise ones, folds, transposes and broadcasts, and slices and reshapes
        of leaves.
    ValueError
        If a leaf has an open type, or the expression is not compiled.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt import expr
    >>> from jitrt.schedule import compute_at
    >>> y = expr.name(np.exp(expr.leaf("x", "f8", shape=(4,))), "y")
    >>> made = expr.by_hand((y * 2.0).sum())
    >>> compute_at(made.fusion, made["y"], made.outputs[0], 1)
    >>> print(made.source)
    def loops(x):
        t1 = np.float64(0.0)
        for i0 in range(4):
            y = np.exp(x[i0])
            t0 = np.multiply(y, np.float64(2.0))
            t1 = np.add(t1, t0)
        return t1
    <BLANKLINE>
    """
    program, traced, values = _traced(e)
    return schedule_by_hand(traced.graph, program.inputs, values)


def _traced(e: Expression) -> tuple[Program, Traced, Mapping[Node, str]]:
    """The program of an expression, its trace for values of the types of its leaves, and the names of values."""
    program = program_of(e)
    leaves = {str(n.name): n for n in e.leaves}
    values = [example(leaves[own]) for own in program.inputs]
    call = program._traced.taken(tuple(values), {})
    try:
        with at_work(), variable_names() as names:
            captures = program._specialisations.current_captures()
            return program, trace(Request(program._function, call.leaves, call.structure, captures)), names
    except Untraceable as reason:
        raise ValueError(f"the expression is not compiled: {reason}") from None
