"""Arguments that nothing can change, and functions of NumPy's and Python's: other ones are other programs."""

import dataclasses
import datetime
import enum
import functools
import math
import operator
import pathlib
import re
from decimal import Context, Decimal
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pytest

import jitrt

X = np.linspace(0.1, 1, 50)
LONG = np.linspace(0.1, 1, 20_000)


class Edge(enum.Enum):
    ZERO = 0
    WRAP = "wrap"


class Order(enum.IntEnum):
    FIRST = 1
    SECOND = 2


class Option(enum.Flag):
    SCALED = enum.auto()
    SHIFTED = enum.auto()


@dataclasses.dataclass(frozen=True)
class Settings:
    edge: Edge
    scale: float = 2.0


class Pair(NamedTuple):
    order: Order
    edge: Edge


class Holder:
    def __init__(self, value):
        self.value = value


def by_edge(x, edge):
    return np.roll(x, 1) if edge is Edge.WRAP else np.diff(x)


def by_order(x, order):
    return x**order if order == Order.SECOND else x / order


def by_options(x, options):
    if Option.SCALED in options:
        x = x * 2
    return x + 1 if options & Option.SHIFTED else x


def by_settings(x, s):
    return x * s.scale if s.edge is Edge.ZERO else x + s.scale


def by_pair(x, pair):
    order, edge = pair
    return by_edge(by_order(x, order), edge)


def by_attribute(x, holder):
    return by_edge(x, holder.value)


def applied(x, f):
    return f(x) * 2


def folded(x, f, axis=None):
    return f(x.reshape(5, -1), axis=axis) + 1


def made(x, make):
    return make(len(x)) + x


def by_limits(x, info):
    return np.clip(x, info.eps, info.max) * info.eps


def by_set(x, names):
    return x * len(names) + (1 if "a" in names else 0)


def by_text(x, pattern):
    return x * 2 if pattern.match("aab") else x


def by_day(x, day):
    return x * day.month + day.toordinal()


def by_number(x, number):
    return x * float(number)


def by_path(x, path):
    return x * len(path.parts)


def stepped(x, edge, f):
    out = np.zeros(len(x))
    for k in range(1, len(x)):
        out[k] = 0.5 * out[k - 1] + f(x[k])
        if edge is Edge.WRAP and out[k] > 1.2:
            out[k] -= 1
    return out


CALLS = [
    (by_edge, [(Edge.ZERO,), (Edge.WRAP,)]),
    (by_order, [(Order.FIRST,), (Order.SECOND,), (1,), (2,)]),
    (by_options, [(Option.SCALED,), (Option.SHIFTED,), (Option.SCALED | Option.SHIFTED,), (Option(0),)]),
    (by_settings, [(Settings(Edge.ZERO),), (Settings(Edge.WRAP),), (Settings(Edge.ZERO, 3.0),)]),
    (by_pair, [(Pair(Order.FIRST, Edge.ZERO),), (Pair(Order.SECOND, Edge.WRAP),)]),
    (by_attribute, [(Holder(Edge.ZERO),), (Holder(Edge.WRAP),)]),
    (applied, [(np.sin,), (np.sort,), (np.cumsum,), (abs,), (operator.neg,)]),
    (folded, [(np.mean,), (np.sum, 0), (np.median,), (np.max, 1)]),
    (made, [(np.zeros,), (np.ones,), (np.arange,)]),
    (by_limits, [(np.finfo(float),), (np.finfo(np.float32),)]),
    (by_set, [(frozenset("ab"),), (frozenset("b"),), (frozenset(),)]),
    (by_text, [(re.compile("a+b"),), (re.compile("b"),)]),
    (by_day, [(datetime.date(2020, 1, 2),), (datetime.date(2021, 3, 2),)]),
    (by_number, [(Decimal("1.5"),), (Fraction(1, 3),), (Decimal("1.50"),)]),
    (by_path, [(pathlib.PurePosixPath("a/b"),), (pathlib.PurePosixPath("a"),)]),
]


@pytest.mark.parametrize("x", [X, LONG], ids=["short", "long"])
@pytest.mark.parametrize("function, values", CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_like_numpy(function, values, x):
    fast = jitrt.jit(function)
    for more in values * 3:
        np.testing.assert_allclose(fast(x, *more), function(x, *more), rtol=1e-13)
        assert fast.plain_reason == "", more


def test_loops_are_compiled_for_each():
    fast = jitrt.jit(stepped)
    for edge, f in [(Edge.ZERO, np.sin), (Edge.WRAP, np.sin), (Edge.ZERO, math.cos), (Edge.WRAP, np.sin)] * 2:
        np.testing.assert_allclose(fast(LONG, edge, f), stepped(LONG, edge, f), rtol=1e-12)
    assert "compiled as a loop" in str(fast.explain(LONG, Edge.ZERO, np.sin))


EQUALS = [
    (frozenset({1}), frozenset({True})),
    (Decimal("1.0"), Decimal("1.00")),
    (
        datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC),
        datetime.datetime(2020, 1, 1, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    ),
    (datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, fold=1)),
    (Order.FIRST, 1),
]


@pytest.mark.parametrize("values", EQUALS, ids=lambda v: type(v[0]).__name__)
def test_equal_values_that_differ_are_told_apart(values):
    def scaled(x, value):
        return x * len(repr(value))

    fast = jitrt.jit(scaled)
    assert values[0] == values[1]
    for value in values * 4:
        assert np.array_equal(fast(X, value), scaled(X, value))


@pytest.mark.parametrize("value", [Annotated[int, [1]], int | None, Literal["a"]], ids=repr)
def test_types_that_have_no_hash(value):
    fast = jitrt.jit(lambda x, kind: x * 2 if kind is value else x)
    for _ in range(3):
        assert np.array_equal(fast(X, value), X * 2)


def test_what_can_change_is_no_constant():
    context = Context(prec=3)
    fast = jitrt.jit(lambda x, context: x * context.prec)
    for precision in (3, 3, 5, 7):
        context.prec = precision
        assert np.array_equal(fast(X, context), X * precision)


class Kernel(enum.Enum):
    BLUR = "blur"

    def __init__(self, _):
        self.weights = np.ones(3)


class Named(enum.Enum):
    ONE = 1
    TWO = 2

    @property
    def factor(self):
        LOG.append(self)
        return self.value * FACTOR

    def apply(self, x):
        return x * FACTOR + self.value

    def __bool__(self):
        LOG.append(self)
        return self is Named.TWO


LOG: list = []
FACTOR = 2.0
MEMBER = Named.ONE


def weighted(x, kernel=Kernel.BLUR):
    return x * kernel.weights.sum()


def by_property(x, member=MEMBER):
    return x * member.factor


def by_method(x, member=MEMBER):
    return member.apply(x)


def by_truth(x, member=MEMBER):
    return x * 2 if member else x


def of_global(x):
    return MEMBER.apply(x) + MEMBER.factor


@pytest.mark.parametrize(
    "function, args",
    [
        (weighted, ()),
        (weighted, (Kernel.BLUR,)),
        (by_property, ()),
        (by_property, (Named.TWO,)),
        (by_method, ()),
        (by_method, (Named.TWO,)),
        (by_truth, ()),
        (by_truth, (Named.TWO,)),
        (of_global, ()),
    ],
)
def test_members_that_hold_or_do_more(function, args, monkeypatch):
    fast = jitrt.jit(function)
    for call in range(6):
        if call == 3:
            monkeypatch.setitem(globals(), "FACTOR", 5.0)
            monkeypatch.setattr(Kernel.BLUR, "weights", np.arange(4.0))
        LOG.clear()
        want = function(X, *args)
        expected = list(LOG)
        LOG.clear()
        assert np.array_equal(fast(X, *args), want) and expected == LOG


def test_functions_with_effects_are_called(capsys):
    def told(x, tell):
        tell("called")
        return x * 2

    fast, history = jitrt.jit(told), []
    for call in range(4):
        fast(X, print)
        fast(X, history.append)
        assert capsys.readouterr().out == "called\n" and len(history) == call + 1


def test_partial_functions_whose_keywords_change():
    scaled = functools.partial(np.round, decimals=1)
    fast = jitrt.jit(applied)
    for decimals in (1, 2, 1, 3):
        scaled.keywords["decimals"] = decimals
        assert np.array_equal(fast(X, scaled), applied(X, scaled))


def test_constants_are_returned():
    def both(x, edge):
        return x * 2, edge

    fast = jitrt.jit(both)
    for edge in (Edge.ZERO, Edge.WRAP) * 3:
        got, same = fast(X, edge)
        assert np.array_equal(got, X * 2) and same is edge


OPERATIONS = {
    "add": lambda a, order: a + order,
    "reflected": lambda a, order: order - a,
    "compare": lambda a, order: a == order,
    "where": lambda a, order: np.where(a > 3, order, a),
    "maximum": lambda a, order: np.maximum(a, order),
    "fill": lambda a, order: np.full(3, order) + a[:3],
    "shape": lambda a, order: np.zeros(order) + 1,
    "axis": lambda a, order: a.reshape(2, -1).sum(axis=order - 1),
    "item": lambda a, order: a[order],
    "slice": lambda a, order: a[order:],
    "range": lambda a, order: sum(a[k] for k in range(order)),
    "key": lambda a, order: {Order.FIRST: a, Order.SECOND: a * 2}.get(order, a),
    "list": lambda a, order: np.array([order, order]) + 1,
}


@pytest.mark.parametrize("dtype", ["i1", "f4", "f8"])
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_integers_of_enumerations_are_numbers(operation, dtype):
    fast, a = jitrt.jit(operation), np.arange(1, 13).astype(dtype)
    for order in (Order.FIRST, Order.SECOND, Order.FIRST):
        got, want = fast(a, order), operation(a, order)
        assert np.array_equal(got, want) and got.dtype == want.dtype
    assert fast.plain_reason == ""
