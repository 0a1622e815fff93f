"""Draws of random numbers in staged functions, by NumPy's own functions of C and the bit generators of the user.

What is not in the tables here is an external call. Where NumPy would raise, or arguments are on the edge of what a
distribution takes, the procedure stops; the states of all generators are restored then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.once import once
from ...ir.integers import Poly
from ...ir.loops import POINTER, Type
from ...kernels import libm
from ...kernels.external import draws
from . import arrays as a
from . import external, subscripts
from .arithmetic import as_float, binary
from .arrays import ZERO
from .recorder import Recorder
from .registry import as_array, function, shape_of
from .runtimelists import RunTimeList
from .scalars import poly_of, register_of
from .values import BOOL, FLOAT, INT, Array, NotStaged, Scalar, Source, View, dtype_of, integer, is_number
from .written_draws import interval

# Of each distribution its parameters, with their defaults (... where there is none), a sign for those that have to be
# positive, and the dtype.
_GENERATOR: dict[str, tuple[dict[str, Any], str, np.dtype]] = {
    "standard_normal": ({}, "", FLOAT), "standard_exponential": ({}, "", FLOAT), "standard_cauchy": ({}, "", FLOAT),
    "normal": ({"loc": 0.0, "scale": 1.0}, " +", FLOAT), "lognormal": ({"mean": 0.0, "sigma": 1.0}, " +", FLOAT),
    "laplace": ({"loc": 0.0, "scale": 1.0}, " +", FLOAT), "logistic": ({"loc": 0.0, "scale": 1.0}, " +", FLOAT),
    "gumbel": ({"loc": 0.0, "scale": 1.0}, " +", FLOAT), "exponential": ({"scale": 1.0}, "+", FLOAT),
    "rayleigh": ({"scale": 1.0}, "+", FLOAT), "gamma": ({"shape": ..., "scale": 1.0}, "++", FLOAT),
    "standard_gamma": ({"shape": ...}, "+", FLOAT), "beta": ({"a": ..., "b": ...}, "++", FLOAT),
    "chisquare": ({"df": ...}, "+", FLOAT), "weibull": ({"a": ...}, "+", FLOAT), "power": ({"a": ...}, "+", FLOAT),
    "f": ({"dfnum": ..., "dfden": ...}, "++", FLOAT), "wald": ({"mean": ..., "scale": ...}, "++", FLOAT),
    "noncentral_chisquare": ({"df": ..., "nonc": ...}, "++", FLOAT),
    "noncentral_f": ({"dfnum": ..., "dfden": ..., "nonc": ...}, "+++", FLOAT), "pareto": ({"a": ...}, "+", FLOAT),
    "standard_t": ({"df": ...}, "+", FLOAT), "poisson": ({"lam": 1.0}, "+", INT),
}  # fmt: skip
_MOST_POISSON = 1e9
# Drawn by functions that fill arrays, in both precisions.
_FILLS = {
    "random": "standard_uniform",
    "standard_normal": "standard_normal",
    "standard_exponential": "standard_exponential",
}
_STANDARD = {"random", "random_sample", "ranf", "sample"}
# A location plus a scale times what is drawn by those.
_SCALED = {"normal": "standard_normal", "exponential": "standard_exponential"}
Draw = Callable[[], str]


def method(r: Recorder, source: Source, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``source.name(*args, **kwargs)``."""
    with r.attempt() as take_back:
        try:
            made = _drawn(r, source, name, args, kwargs)
        except TypeError:  # arguments that the functions here do not have
            made = None
        if made is not None:
            return made
        take_back()
    if name == "shuffle" or not hasattr(source.kind, name) or name[0] == "_" or name == "spawn":
        raise NotStaged(f"the method {name} of {source.kind.__name__}")
    return external.call(r, getattr(source.kind, name), [source, *args], kwargs)


def has(kind: type, name: str) -> bool:
    """Whether a procedure that native code calls may draw by the method `name` of generators of a class."""
    names = {*_FILLS, *_GENERATOR, "integers", "choice", "uniform"}
    return kind is np.random.Generator and name in names and draws("standard_uniform")


def _drawn(r: Recorder, source: Source, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The draw; None if the tables here do not have it."""
    is_new = source.kind is np.random.Generator
    if not draws("standard_uniform"):
        return None
    if not is_new and name in ("rand", "randn") and not kwargs:
        size = tuple(args) if args else None
        return _uniforms(r, source, size) if name == "rand" else _each(r, size, FLOAT, _gauss(r, source))
    if is_new and name in _FILLS and (made := _filled(r, source, _FILLS[name], *args, **kwargs)) is not None:
        return made
    if name in _STANDARD and (is_new is (name == "random") or not is_new):
        return _uniforms(r, source, _only_size(args, kwargs)) if _has_size(args, kwargs) else None
    if name == ("integers" if is_new else "randint"):
        return _integers(r, source, *args, **kwargs)
    if name == "choice":
        return _choice(r, source, *args, **kwargs)
    if name == "uniform":
        return _uniform_between(r, source, *args, **kwargs)
    if not is_new:
        if name == "standard_normal" and _has_size(args, kwargs):
            return _each(r, _only_size(args, kwargs), FLOAT, _gauss(r, source))
        return _legacy_normal(r, source, *args, **kwargs) if name == "normal" else None
    return _of_table(r, source, name, args, dict(kwargs)) if name in _GENERATOR else None


def _has_size(args: list[Any], kwargs: dict[str, Any]) -> bool:
    return len(args) + len(kwargs) <= 1 and kwargs.keys() <= {"size"}


def _only_size(args: list[Any], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else kwargs.get("size")


def _each(r: Recorder, size: Any, dtype: np.dtype, draw: Draw, python: bool = True) -> Any:
    """A number, or an array of numbers that are drawn one after the other."""
    if size is None:
        name = draw()
        return Scalar(dtype, python, name) if dtype == FLOAT else integer(Poly.name(name), dtype, python)
    made = a.fresh(r, dtype, shape_of(r, size))
    view = made.memory
    with r.loop(ZERO, made.size) as k:
        r.store(View(view.base, ZERO, (Poly.number(8),), view.origins), dtype, (k,), draw())
    return made


def _filled(
    r: Recorder, source: Source, name: str, size: Any = None, dtype: Any = np.float64, method: Any = "zig"
) -> Any:
    """An array that one function fills; None if that is not what is asked for."""
    if (
        size is None
        or method != "zig"
        or dtype not in (np.float64, float, np.float32, "float64", "float32", "f8", "f4")
    ):
        return None
    return _fill(r, source, name, shape_of(r, size), np.dtype(dtype))


def _fill(r: Recorder, source: Source, name: str, shape: tuple[Poly, ...], dtype: np.dtype = FLOAT) -> Array:
    made = a.fresh(r, dtype, shape)
    operands = r.integer(made.size), r.address(made.memory)
    _called(r, source, f"{name}_fill{'_f' if dtype.itemsize == 4 else ''}", operands, (INT, POINTER), INT)
    return made


def _address(r: Recorder, source: Source) -> str:
    """The bit generator; the state of the old kind begins with its address."""
    return source.word if source.kind is np.random.Generator else r.load(_legacy(source, 0), INT, (ZERO,))


def _legacy(source: Source, offset: int) -> View:
    return View(source.word, Poly.number(offset), (Poly.number(8),), frozenset({"external"}))


def _called(r: Recorder, source: Source, name: str, args: Sequence[str], types: Sequence[Type], dtype: np.dtype) -> str:
    if not draws(name):
        raise NotStaged(f"draws of {name}")
    return r.external(f"random.{name}", (_address(r, source), *args), (POINTER, *types), dtype)


def _uniform(r: Recorder, source: Source) -> Draw:
    return lambda: _called(r, source, "standard_uniform", (), (), FLOAT)


def _uniforms(r: Recorder, source: Source, size: Any) -> Any:
    """Numbers from 0 to 1."""
    if size is None:
        return _each(r, None, FLOAT, _uniform(r, source))
    return _fill(r, source, "standard_uniform", shape_of(r, size))


def _of_table(r: Recorder, source: Source, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    parameters, _, dtype = _GENERATOR[name]
    names = list(parameters)
    if not kwargs.keys() <= {*names[len(args) :], "size"} or len(args) > len(names) + 1:
        return None
    size = args[len(names)] if len(args) > len(names) else kwargs.pop("size", None)
    values = [*args[: len(names)], *(kwargs.get(n, parameters[n]) for n in names[len(args) :])]
    if not all(is_parameter(v) for v in values) or (size is not None and any(isinstance(v, Array) for v in values)):
        return None
    has_arrays = any(isinstance(v, Array) for v in values)
    if name in _SCALED and (has_arrays or size is not None) and _rounds_twice():
        return _scaled(r, source, _SCALED[name], values[0] if name == "normal" else -0.0, values[-1], size)
    if not has_arrays:
        draw = _with_parameters(r, source, name, [register_of(r, as_float(r, v), FLOAT) for v in values])
        return _each(r, size, dtype, draw)
    values = [a.materialise(r, v) if isinstance(v, Array) else as_float(r, v) for v in values]
    shape = a.broadcast(r, [v.shape for v in values if isinstance(v, Array)])
    made = a.fresh(r, dtype, shape)

    def body(indices: tuple[Poly, ...]) -> None:
        registers = [a.element_of(r, v, FLOAT, indices) for v in values]
        a.store(r, made, indices, _with_parameters(r, source, name, registers)())

    a.nest(r, shape, body)
    return made


def _scaled(r: Recorder, source: Source, fill: str, first: Any, width: Any, size: Any) -> Array:
    """``first + width * standard``, where `fill` draws the standard numbers, all widths being positive and finite."""
    arrays = [v for v in (first, width) if isinstance(v, Array)]
    shape = a.broadcast(r, [v.shape for v in arrays]) if size is None else shape_of(r, size)
    first, width = (a.materialise(r, v) if isinstance(v, Array) else as_float(r, v) for v in (first, width))

    def check(indices: tuple[Poly, ...]) -> None:
        element = a.element_of(r, width, FLOAT, indices)
        _need(r, "greater", element, 0.0)
        _need(r, "less", element, float("inf"))

    a.nest(r, width.shape if isinstance(width, Array) else (), check)
    product = a.elementwise(r, "multiply", [width, _fill(r, source, fill, shape)], [FLOAT] * 2, FLOAT)
    return a.elementwise(r, "add", [first, product], [FLOAT] * 2, FLOAT)


@once
def _rounds_twice() -> bool:
    """Whether NumPy's ``loc + scale * standard`` was not compiled to an operation that rounds once."""
    states = np.random.default_rng(1), np.random.default_rng(1)
    return np.array_equal(states[0].normal(0.1, 0.3, 200), 0.1 + 0.3 * states[1].standard_normal(200))


def is_parameter(value: Any) -> bool:
    """Whether the parameter of a distribution is a real number or an array of such."""
    if isinstance(value, Array):
        return value.ndim > 0 and value.dtype.char in "bhilqBHIfd"
    return is_number(value) and dtype_of(value).kind in "iuf"


def _with_parameters(r: Recorder, source: Source, name: str, registers: list[str]) -> Draw:
    """A draw from a distribution; the procedure stops if its parameters are none that it is sure to take."""
    _, signs, dtype = _GENERATOR[name]
    for register, sign in zip(registers, signs):
        if sign == "+":
            _need(r, "greater", register, 0.0)
    if name == "poisson":
        _need(r, "less", registers[0], _MOST_POISSON)

    def draw() -> str:
        made = _called(r, source, name, registers, [FLOAT] * len(registers), dtype)
        if dtype == INT:
            r.facts.bound(made, [0], [1 << 62])
        return made

    return draw


def _need(r: Recorder, op: str, x: str, limit: float) -> None:
    """Stop unless a float is above or below a limit."""
    holds = r.compute(op, [x, r.literal(limit, FLOAT)], FLOAT, BOOL)
    r.stop(r.compute("logical_not", [holds], BOOL))


def _uniform_between(r: Recorder, source: Source, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    if not (is_parameter(low) and is_parameter(high)):
        return None
    low, high = (v if isinstance(v, Array) else as_float(r, v) for v in (low, high))
    if isinstance(low, Array) or isinstance(high, Array):
        if size is not None or not _rounds_twice():
            return None
        width = a.elementwise(r, "subtract", [high, low], [FLOAT] * 2, FLOAT)
        return _scaled(r, source, "standard_uniform", low, width, None)
    width = binary(r, "subtract", high, low)
    if size is not None and _rounds_twice():
        return _scaled(r, source, "standard_uniform", low, width, size)
    operands = register_of(r, low, FLOAT), register_of(r, width, FLOAT)
    _need(r, "greater", operands[1], 0.0)
    _need(r, "less", operands[1], float("inf"))
    return _each(r, size, FLOAT, lambda: _called(r, source, "uniform", operands, [FLOAT] * 2, FLOAT))


def _integers(
    r: Recorder, source: Source, low: Any, high: Any = None, size: Any = None, dtype: Any = None, endpoint: Any = False
) -> Any:
    is_new = source.kind is np.random.Generator
    if high is None:
        low, high = 0, low
    if not all(is_number(v) and dtype_of(v).kind in "iu" for v in (low, high)) or not isinstance(endpoint, bool):
        return None
    if dtype is not None and dtype not in ((np.int64, "int64") if is_new else (int,)):
        return None
    first, last = poly_of(r, low), poly_of(r, high) + (endpoint - 1)
    r.require(last - first)
    made = a.fresh(r, INT, (a.ONE,) if size is None else shape_of(r, size))
    view = made.memory
    operands = [r.integer(v) for v in (first, last - first, made.size, Poly.number(not is_new))]
    types = (INT, INT, INT, INT, POINTER)
    if size is not None:
        _called(r, source, "bounded_uint64_fill", (*operands, r.address(view)), types, INT)
        return _bounded(r, made, first, last)

    def draw() -> str:
        _called(r, source, "bounded_uint64_fill", (*operands, r.address(view)), types, INT)
        made = r.load(view, INT, (ZERO,))
        r.facts.bound(made, [first], [last])
        return made

    return _each(r, size, INT, draw, python=not is_new)


def _bounded(r: Recorder, array: Array, first: Poly, last: Poly) -> Array:
    """The array, of whose elements it is known that they lie between two numbers."""

    def element(indices: tuple[Poly, ...]) -> str:
        name = array.element(indices)
        r.facts.bound(name, [first], [last])
        return name

    return Array(array.dtype, array.shape, element, array.reads, array.view, array.c_order)


@function(interval)
def _interval(r: Recorder, source: Source, most: Any) -> Any:
    """A whole number of `interval`'s."""
    last = poly_of(r, most)
    return integer(r.bounded(_called(r, source, "interval", (r.integer(last),), (INT,), INT), 0, last))


def _choice(
    r: Recorder, source: Source, among: Any, size: Any = None, replace: Any = True, p: Any = None, shuffle: Any = True
) -> Any:
    if replace is not True or p is not None:
        return None
    among = as_array(r, among) if isinstance(among, (tuple, list, RunTimeList)) else among
    is_array = isinstance(among, Array)
    if is_array and among.ndim != 1:
        return None
    if not is_array and not (is_number(among) and dtype_of(among).kind in "iu"):
        return None
    at = _integers(r, source, integer(among.shape[0]) if is_array else among, size=size)
    if at is None or isinstance(at, Array):
        return subscripts.read(r, among, at) if at is not None and is_array else at
    return subscripts.read(r, among, at) if is_array else integer(poly_of(r, at))


def _legacy_normal(r: Recorder, source: Source, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    if not all(is_number(v) and dtype_of(v).kind in "iuf" for v in (loc, scale)):
        return None
    first, width = (register_of(r, as_float(r, v), FLOAT) for v in (loc, scale))
    _need(r, "greater", width, 0.0)
    gauss = _gauss(r, source)

    def draw() -> str:
        product = r.compute("multiply", [width, gauss()], FLOAT)
        return r.compute("add", [first, product], FLOAT)

    return _each(r, size, FLOAT, draw)


def _gauss(r: Recorder, source: Source) -> Draw:
    """The normal distribution of `numpy.random.RandomState`: Marsaglia's polar method gives two numbers at a time."""
    if libm.symbol("log") is None:
        raise NotStaged("a logarithm of the C library's")
    kept, number = _legacy(source, 8), _legacy(source, 16)
    single = np.dtype(np.int32)

    def of(op: str, *args: str) -> str:
        return r.compute(op, args, FLOAT)

    def draw() -> str:
        made, found, zero, one = r.variable(), r.label(), r.literal(0.0, FLOAT), r.literal(1.0, FLOAT)
        two, minus_two = r.literal(2.0, FLOAT), r.literal(-2.0, FLOAT)
        with r.block() as second:
            r.put(made, r.load(number, FLOAT, (ZERO,)), FLOAT)
            r.store(kept, single, (ZERO,), r.literal(0, single))
            r.store(number, FLOAT, (ZERO,), zero)
        with r.block() as turn:
            r.written()
            x, y = (of("subtract", of("multiply", two, _uniform(r, source)()), one) for _ in range(2))
            square = of("add", of("multiply", x, x), of("multiply", y, y))
            inside = r.compute("less", [square, one], FLOAT, BOOL)
            positive = r.compute("not_equal", [square, zero], FLOAT, BOOL)
            with r.when(r.compute("logical_and", [inside, positive], BOOL)):
                logarithm = r.external("libm.log", (square,), (FLOAT,), FLOAT)
                factor = of("sqrt", of("divide", of("multiply", minus_two, logarithm), square))
                r.store(number, FLOAT, (ZERO,), of("multiply", factor, x))
                r.store(kept, single, (ZERO,), r.literal(1, single))
                r.put(made, of("multiply", factor, y), FLOAT)
                r.leave(found)
        with r.block() as turns:
            r.forever(turn)
        with r.block() as first:
            r.scope(found, turns)
        has = r.cast(r.load(kept, single, (ZERO,)), single, INT)
        r.choice(r.machine("!=", Poly.name(has), ZERO), second, first)
        return r.get(made, FLOAT)

    return draw
