"""Programs: expressions compiled as one function of their leaves, which native code calls."""

from __future__ import annotations

import builtins
import itertools
import linecache
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..call.site import ServedFunction
from . import rows
from .calls import NAMED
from .inputs import Loader, load
from .missing import SUFFIX, Optional
from .outputs import listed, with_masks
from .text import descriptor, source
from .transform import expanded_all
from .tree import Expression, literal, nodes_of

Listener = Callable[[dict[str, Any]], Any]
_numbers = itertools.count()
_MOST_KNOWN = 256
_programs: dict[Any, Program] = {}


class Program(ServedFunction):
    """An expression that is compiled; made by `compile`.

    It is called with its inputs by position, in the order of `inputs`, or by their names; an optional input is two,
    the second one whether it is there, which `run` finds by itself. As with `jitrt.jit`, types
    and shapes that are open are bound at the first call with them, and native code serves those that follow.

    Attributes
    ----------
    inputs : tuple of str
        Names of the leaves; those that side outputs alone have are among them if there is a listener.
    outputs : Expression or dict of str to Expression
        What it computes.
    side_outputs : dict of str to Expression
        What it computes beside that for those who ask.
    source : str
        The Python function that is compiled.
    """

    def __init__(
        self, outputs: Any, side_outputs: Mapping[str, Expression], loader: Loader | None, listener: Listener | None
    ):
        self.outputs, self.side_outputs = outputs, dict(side_outputs)
        self._loader, self._listener = loader, listener
        self._with_side: ServedFunction | None = None
        self._of_rows: Program | None = None
        self._leaves = {str(n.name): n for e in (outputs, self.side_outputs) for root in listed(e) for n in root.leaves}
        self._types = {name: leaf.type for name, leaf in self._leaves.items()}
        inputs = None if listener is None else _function(outputs, self.side_outputs)[1]
        function, self.inputs, self.source = _function(outputs, {}, inputs)
        super().__init__(function)

    @property
    def roots(self) -> list[Expression]:
        """The expressions that it computes; of what is optional the value and its presence."""
        return listed(self.outputs)

    def __repr__(self) -> str:
        return f"<program of {', '.join(self.inputs)}>"

    def __reduce__(self) -> Any:
        return type(self), (self.outputs, self.side_outputs, self._loader, self._listener)

    def run(self, given: Any = None, /, **inputs: Any) -> Any:
        """The outputs for inputs that something holds.

        Parameters
        ----------
        given : object, optional
            A dict, a structured array, a pandas frame, or an object with attributes of the names of the inputs; what
            the loader takes, if the program has one.
        **inputs
            Inputs by name, which go first.

        Returns
        -------
        array, number, or dict of str to these
            As `compile` was asked for. Side outputs are computed, and handed to the listener, if there is one.

        Raises
        ------
        TypeError
            If inputs are missing, or there are none of the names given.

        Examples
        --------
        >>> import numpy as np
        >>> from jitrt import expr
        >>> total = expr.compile(expr.leaf("price") * expr.leaf("count"))
        >>> total.run({"price": 2.5, "count": 4})
        np.float64(10.0)
        >>> total.run(np.array([(2.5, 4), (3.0, 1)], [("price", "f8"), ("count", "i4")]))
        array([10.,  3.])
        """
        values = self._loaded(given, inputs)
        if self._listener is None:
            return with_masks(self.outputs, self(*values))
        result, side = self.with_side_outputs(*values)
        self._listener(with_masks(self.side_outputs, side))
        return with_masks(self.outputs, result)

    def _loaded(self, given: Any, inputs: Mapping[str, Any]) -> list[Any]:
        """The inputs in their order, from what `run` is given."""
        return load(given, self.inputs, inputs, self._loader, self._types)

    def with_side_outputs(self, /, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """The outputs, and the side outputs by name.

        Parameters
        ----------
        *args, **kwargs
            As for a call.

        Returns
        -------
        outputs
        side_outputs : dict of str to array or number

        Examples
        --------
        >>> from jitrt import expr
        >>> x = expr.leaf("x")
        >>> square = expr.name(x * x, "square")
        >>> expr.compile(square + 1, side_outputs=["square"]).with_side_outputs(3.0)
        (np.float64(10.0), {'square': np.float64(9.0)})
        """
        if not self.side_outputs:
            return self._results(*args, **kwargs), {}
        if self._with_side is None:
            self._with_side = ServedFunction(_function(self.outputs, self.side_outputs, self.inputs)[0])
        return self._with_side(*args, **kwargs)

    def _results(self, /, *args: Any, **kwargs: Any) -> Any:
        """The outputs, whoever listens."""
        return ServedFunction.__call__(self, *args, **kwargs)

    def describe(self, /, *args: Any, **kwargs: Any) -> str:
        """What a call does: its inputs, outputs, init operations and eval operations, with types and places.

        Parameters
        ----------
        *args, **kwargs
            As for a call; needed if the leaves have open types.

        Returns
        -------
        str
            Inputs and temporaries have offsets in the frame; literals are there before a call. Values of a kernel have
            none: they are in registers.

        Raises
        ------
        ValueError
            If such calls run as plain NumPy, or leaves have open types and no arguments are given.

        Examples
        --------
        >>> from jitrt import expr
        >>> x = expr.leaf("x", "f4", ndim=0)
        >>> print(expr.compile(x * 2.0 + expr.leaf("y", "f8", ndim=0)).describe())
        Inputs:
          x: f4[] [0x00]
          y: f8[] [0x40]
        Outputs:
          output: f8[] [result]
        Init operations:
          f4 [k0.c0] = 2.0
        Eval operations, in a frame of 128 bytes:
          0: a kernel, its values in registers
            v0 = [0x00]
            v1 = literal k0.c0
            v2:f4 = multiply v0 v1
            v3:f8 = cast v2
            v4 = [0x40]
            v5:f8 = add v3 v4
            <output> = v5
        """
        from .describe import description, traced_and_lowered

        if not args and not kwargs:
            values = [example(self._leaves[name]) for name in self.inputs]
        else:
            values = self._loaded(None, dict(zip(self.inputs, args)) | kwargs)
        names = []
        for name, value in (self.outputs if isinstance(self.outputs, dict) else {"output": self.outputs}).items():
            names += [name, f"{name}_present"] if isinstance(value, Optional) else [name]
        traced, lowered = traced_and_lowered(self, values)
        return description(self.inputs, names, traced, lowered)

    def rows(self, given: Any = None, /, **columns: Any) -> Any:
        """The outputs of a program of scalars, for each row of a table.

        Parameters
        ----------
        given, **columns
            As for `run`: one-dimensional arrays, or numbers for all rows.

        Returns
        -------
        array, or dict of str to arrays
            The outputs, one element for each row. Elementwise operations compute all rows at once; where there are
            others, each row is a call.

        Raises
        ------
        ValueError
            If an input is declared to be an array, or the columns have different lengths.

        Examples
        --------
        >>> import numpy as np
        >>> from jitrt import expr
        >>> x, y = expr.leaf("x", "f8", ndim=0), expr.leaf("y", "f8", ndim=0)
        >>> expr.compile(np.where(x > y, x - y, 0.0)).rows(x=np.array([1.0, 5.0]), y=2.0)
        array([0., 3.])
        """
        return self._rows(self._loaded(given, columns))

    def _rows(self, given: Sequence[Any]) -> Any:
        """`rows` of inputs in their order."""
        values = [v if np.ndim(v) == 0 or isinstance(v, np.ma.MaskedArray) else np.asarray(v) for v in given]
        shapes = {np.shape(v) for v in values if np.ndim(v)}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            raise ValueError("columns have one dimension, and the same length")
        shape = next(iter(shapes), ())
        if self._of_rows is None:
            of_columns = rows.of_columns(self.outputs)
            self._of_rows = self if of_columns is None else Program(of_columns, {}, None, None)
        if self._of_rows is self:
            return with_masks(self.outputs, rows.one_by_one(self._results, values, shape))
        of_names = dict(zip(self.inputs, values))
        results = self._of_rows(*[of_names[name] for name in self._of_rows.inputs])
        return rows.filled_up(with_masks(self.outputs, results), shape)


class _Listening(Program):
    """A program whose calls hand side outputs to a listener."""

    _side: Program | None = None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        result, side = self.with_side_outputs(*args, **kwargs)
        assert self._listener is not None
        self._listener(with_masks(self.side_outputs, side))
        return result

    def run(self, given: Any = None, /, **inputs: Any) -> Any:
        return with_masks(self.outputs, self(*self._loaded(given, inputs)))

    def rows(self, given: Any = None, /, **columns: Any) -> Any:
        if self._side is None:
            self._side = Program(self.side_outputs, {}, None, None)
        side = self._side
        values = self._loaded(given, columns)
        of_names = dict(zip(self.inputs, values))
        result = self._rows(values)
        assert self._listener is not None
        self._listener(side._rows([of_names[name] for name in side.inputs]))
        return result


def compile(
    e: Expression | Mapping[str, Expression],
    side_outputs: Mapping[str, Expression] | Sequence[str] = (),
    *,
    loader: Loader | None = None,
    listener: Listener | None = None,
) -> Program:
    """Make a program of an expression, or of several by name.

    Parameters
    ----------
    e : Expression or mapping of str to Expression
        What is computed.
    side_outputs : mapping of str to Expression, or sequence of str, optional
        What is computed beside it for those who ask, or names of values in `e`. Nobody pays for them otherwise.
    loader : callable, optional
        ``loader(source, names)`` gives a mapping of inputs for `Program.run`.
    listener : callable, optional
        Gets the side outputs of each call, as a dict.

    Returns
    -------
    Program

    Raises
    ------
    ValueError
        If there are placeholders in the expressions, or side outputs of a name that nothing has, or several values.

    Examples
    --------
    >>> import numpy as np
    >>> from jitrt import expr
    >>> x, y = expr.leaf("x"), expr.leaf("y")
    >>> polar = expr.compile({"r": np.hypot(x, y), "angle": np.arctan2(y, x)})
    >>> polar(x=3.0, y=0.0)
    {'r': np.float64(3.0), 'angle': np.float64(0.0)}
    """
    outputs = {key: _output(value) for key, value in e.items()} if isinstance(e, Mapping) else _output(e)
    nodes = nodes_of(listed(outputs))
    if isinstance(side_outputs, Mapping):
        side = {key: _output(value) for key, value in side_outputs.items()}
    else:
        side = {key: _only_one_called(key, nodes) for key in side_outputs}
    open_ = [p.name for root in (*listed(outputs), *listed(side)) for p in root.placeholders]
    if open_:
        raise ValueError(f"the placeholder {open_[0]!r} has no value: substitute one")
    return (Program if listener is None else _Listening)(outputs, side, loader, listener)


def _only_one_called(name: str, nodes: Sequence[Expression]) -> Expression:
    found = [n for n in nodes if n.operation is NAMED and n.name == name]
    if len(found) != 1:
        how_many = "several values" if found else "no value"
        raise ValueError(f"the expression has {how_many} called {name!r}")
    return found[0]


def evaluate(e: Expression | Mapping[str, Expression], /, **inputs: Any) -> Any:
    """The value of an expression, or of several by name.

    Parameters
    ----------
    e : Expression or mapping of str to Expression
    **inputs
        Values of the leaves.

    Returns
    -------
    array, number, or dict of str to these

    Raises
    ------
    TypeError
        If inputs are missing, or there are none of the names given.
    Exception
        What NumPy raises for these values.

    Examples
    --------
    >>> from jitrt import expr
    >>> expr.evaluate(expr.leaf("x") ** 2 + 1, x=3.0)
    np.float64(10.0)
    """
    outputs = {key: _output(value) for key, value in e.items()} if isinstance(e, Mapping) else _output(e)
    # By identity: the program keeps them alive.
    key = tuple(outputs) if isinstance(outputs, dict) else None, tuple(map(id, listed(outputs)))
    program = _programs.get(key)
    if program is None:
        if len(_programs) >= _MOST_KNOWN:
            _programs.pop(next(iter(_programs)), None)
        program = _programs[key] = compile(outputs)
    return program.run(None, **inputs)


def example(e: Expression) -> Any:
    """A value of the type of a leaf.

    Raises
    ------
    ValueError
        If it is open.
    """
    dtype, shape = e.dtype, e.shape
    if dtype == np.bool_ and shape is None and str(e.name).endswith(SUFFIX):
        return np.True_
    if dtype is None or shape is None or None in shape:
        raise ValueError(f"the type of the leaf {e.name!r} is open")
    made = np.zeros(tuple(n or 0 for n in shape), dtype)  # contiguous, and no memory before it is touched
    if dtype.kind in "biufc" and len(shape) > 1 and shape[-1] == shape[-2]:
        np.einsum("...ii->...i", made)[...] = 1  # identities have inverses
    return made[()]


def _output(value: Any) -> Any:
    if isinstance(value, str):
        raise TypeError("a text is no expression: expr.parse reads one")
    return value if isinstance(value, Optional) else literal(value)


def function_of(outputs: Any, inputs: Sequence[str] | None = None) -> Callable[..., Any]:
    """The Python function that computes outputs, of `inputs`; by default of the leaves as they are met."""
    return _function(outputs, {}, inputs)[0]


def _function(
    outputs: Any, side: Mapping[str, Expression], inputs: Sequence[str] | None = None
) -> tuple[Callable[..., Any], tuple[str, ...], str]:
    """A Python function that computes expressions, the names of its parameters, and its text."""
    roots = [*listed(outputs), *listed(side)]
    lowered = expanded_all(roots)
    numbers = itertools.count()

    def put_together(value: Any) -> str:
        if isinstance(value, dict):
            return f"{{{{{', '.join(f'{_key(key)}: {put_together(part)}' for key, part in value.items())}}}}}"
        own = [f"{{o{next(numbers)}}}" for _ in listed(value)]
        return own[0] if len(own) == 1 else f"({', '.join(own)})"

    returned = put_together(outputs)
    if side:
        returned = f"{returned}, {put_together(side)}"
    expanded = [lowered[r] for r in roots]
    text, namespace, names = source(expanded, inputs, returned, _conversions)
    if inputs is None and (ordered := _in_pairs(names)) != names:
        text, namespace, names = source(expanded, ordered, returned, _conversions)
    file = f"<expression {next(_numbers)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    code = builtins.compile(text, file, "exec")
    (own,) = (c for c in code.co_consts if isinstance(c, types.CodeType))
    function = types.FunctionType(own, namespace, "expression")
    function.__module__ = None  # type: ignore[assignment]
    return function, names, text


def _in_pairs(names: tuple[str, ...]) -> tuple[str, ...]:
    """Inputs in their order, but the presence of each optional one behind it.

    >>> _in_pairs(("x_present", "y", "x"))
    ('y', 'x', 'x_present')
    """
    found: list[str] = []
    for name in names:
        if name.removesuffix(SUFFIX) == name or name.removesuffix(SUFFIX) not in names:
            found += [name, f"{name}{SUFFIX}"] if f"{name}{SUFFIX}" in names else [name]
    return tuple(found)


def _key(key: Any) -> str:
    """The text of a key, for `str.format`."""
    return repr(key).replace("{", "{{").replace("}", "}}")


def _conversions(e: Expression) -> list[str]:
    """Lines that make of a leaf what it is declared to be."""
    name, dtype, shape = e.name, e.dtype, e.shape
    lines = []
    if dtype is not None:
        scalar = "[()]" if not shape else ""
        lines.append(f"{name} = np.asarray({name}).astype({_dtype(dtype)}, casting='same_kind', copy=False){scalar}")
    if shape is not None:
        lines += [f"if np.ndim({name}) != {len(shape)}:"]
        lines += [f"    raise ValueError('the input {name} must have {len(shape)} dimensions')"]
        for axis, extent in enumerate(shape):
            if extent is not None:
                lines += [f"if np.shape({name})[{axis}] != {extent}:"]
                lines += [f"    raise ValueError('the input {name} must have {extent} elements along axis {axis}')"]
    return lines


def _dtype(dtype: np.dtype) -> str:
    given = repr(descriptor(dtype))
    return f"np.dtype({given})" if dtype.names is None else f"np.lib.format.descr_to_dtype({given})"
