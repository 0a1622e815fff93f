"""Python's library around arrays: iterators, containers and contexts, signatures and names of functions."""

import collections
import contextlib
import functools
import inspect
import itertools
import operator

import numpy as np
import pytest

import jitrt

WEIGHTS = (1.0, 2.0, 4.0)
TABLE = {"a": 2.0, "b": 3.0}


def products(x):
    return sum(x * i + j for i, j in itertools.product(range(2), WEIGHTS))


def chained(x):
    for k in itertools.chain(WEIGHTS, [0.5], itertools.repeat(1.5, 2)):
        x = x * k + 1
    return x


def accumulated(x):
    a, b, c = itertools.accumulate((x, x * 2, np.sqrt(x)))
    return a, b, c


def rows_in_pairs(x):
    return sum(np.abs(b - a) for a, b in itertools.pairwise(x[:6]))


def chosen(x):
    return sum(x[i] * x[j] for i, j in itertools.combinations(range(4), 2))


def counted(x):
    for k, v in zip(itertools.count(1), itertools.islice(itertools.cycle(WEIGHTS), 5)):
        x = x * v + k
    return x


def starred(x):
    return sum(itertools.starmap(lambda a, b: x * a + b, [(1.0, 2.0), (2.0, 4.0)]))


def grouped(x):
    return [x * k * len(list(g)) for k, g in itertools.groupby([1, 1, 2])]


def zipped(x):
    return [a * 2 if a is not None else b for a, b in itertools.zip_longest([x], [x * 3, x])]


def in_a_deque(x):
    last = collections.deque(maxlen=2)
    for k in range(6):
        last.append(x * k)
        last.rotate(k)
    return last[0] + last[1] * 2


def a_deque_in_a_long_loop(x):
    last = collections.deque([x, x + 1], maxlen=2)
    for _ in range(60):
        x = x * 0.5 + last[0]
        last.append(x)
    return x + last[0]


def a_count_in_a_long_loop(x):
    numbers = itertools.count(1)
    for _ in range(60):
        x = x * 0.5 + next(numbers)
    return x


def a_counter_in_a_long_loop(x):
    seen = collections.Counter()
    for k in range(60):
        seen[k % 7] += 1
        x = x * 0.5 + seen[3]
    return x


def ordered_in_a_long_loop(x):
    kept = collections.OrderedDict(a=x)
    for k in range(60):
        kept["a"] = kept["a"] * 0.5 + k
        kept.move_to_end("a")
    return kept["a"]


def defaults_in_a_long_loop(x):
    found = collections.defaultdict(float)
    for k in range(60):
        found[k % 3] = found[k % 3] + x * k
    return found[0] + found[1] - found[2]


def a_cycle_in_a_long_loop(x):
    signs = itertools.cycle((1.0, -1.0, 0.5))
    for _ in range(61):
        x = x * 0.5 + next(signs)
    return x


def items(x):
    first, upper = operator.itemgetter(1), operator.methodcaller("upper")
    return x * first(WEIGHTS) + len(upper("abc")) + operator.attrgetter("ndim")(x)


@contextlib.contextmanager
def doubled(k):
    yield 2 * k


@contextlib.contextmanager
def quietly():
    with np.errstate(all="ignore"):
        yield


def under_contexts(x):
    with doubled(3.0) as k, contextlib.nullcontext(x + 1) as y, quietly():
        z = np.log(x - 1.5) * k
    with contextlib.suppress(KeyError):
        y = y + TABLE["c"]
    with contextlib.ExitStack() as stack:
        y = y + stack.enter_context(doubled(x))
    return y + z


def checked(function):
    signature = inspect.signature(function)

    @functools.wraps(function)
    def check(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        again = inspect.signature(check).bind(*args, **kwargs)
        if bound.arguments.keys() != again.arguments.keys():
            raise TypeError("other parameters")
        again.apply_defaults()
        for name, value in again.arguments.items():
            if isinstance(value, str):
                raise TypeError(f"{check.__name__} takes no text for {name}")
        return function(*again.args, **again.kwargs)

    return check


SHIFT = np.full(8, 0.25)


@checked
def with_defaults(x, k=2.0, shift=SHIFT):
    return np.sqrt(x * x + k) + shift


def by_names(x):
    names = (
        with_defaults.__code__.co_varnames[:1],
        with_defaults.__name__,
        with_defaults.__qualname__,
        checked.__module__,
    )
    return x * len(names[0]) + len(names[1]) + len(names[2]) + (names[3] == __name__)


def with_a_default(x, options={"scale": 2.0, "parts": (1.0, 3.0)}):  # noqa: B006
    return np.sqrt(x * options["scale"] + options["parts"][1])


FUNCTIONS = [
    products, chained, accumulated, rows_in_pairs, chosen, counted, starred, grouped, zipped, in_a_deque,
    a_deque_in_a_long_loop, a_count_in_a_long_loop, a_counter_in_a_long_loop, ordered_in_a_long_loop,
    defaults_in_a_long_loop, a_cycle_in_a_long_loop, items, under_contexts, with_defaults, by_names, with_a_default,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_like_python(function):
    fast = jitrt.jit(function)
    for k in range(4):
        x = np.linspace(2 + k, 3 + k, 8)
        got, want = fast(x.copy()), function(x.copy())
        assert type(got) is type(want)
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert not fast.plain_reason


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_without_procedures(function, without_procedures):
    fast = jitrt.jit(function)
    for k in range(3):
        x = np.linspace(2 + k, 3 + k, 8)
        np.testing.assert_allclose(fast(x.copy()), function(x.copy()), rtol=1e-12)


def test_an_array_in_a_default_is_read_at_every_call():
    fast, x = jitrt.jit(with_defaults), np.linspace(2, 3, 8)
    try:
        for k in range(4):
            SHIFT[:] = k
            np.testing.assert_allclose(fast(x), with_defaults(x), rtol=1e-15)
    finally:
        SHIFT[:] = 0.25


def test_a_function_gets_another_name():
    def named():
        pass

    fast = jitrt.jit(lambda x: x * len(named.__name__))
    for name in ("a", "abc", "abcdef"):
        named.__name__ = name
        assert fast(np.ones(3)).tolist() == [len(name)] * 3


def test_a_default_that_changes():
    fast, x = jitrt.jit(with_a_default), np.linspace(2, 3, 8)
    options = with_a_default.__defaults__[0]
    try:
        for scale in (2.0, 2.0, 5.0, 7.0, 7):
            options["scale"] = scale
            np.testing.assert_allclose(fast(x), with_a_default(x), rtol=1e-15)
    finally:
        options["scale"] = 2.0
    before = fast.cache_info().slow_calls
    for _ in range(5):
        fast(x)
    assert fast.cache_info().slow_calls <= before + 1


RETURNED = [
    lambda x: collections.Counter("abca"),
    lambda x: collections.deque([x, x * 2], maxlen=2),
    lambda x: collections.defaultdict(float, a=x + 1),
    lambda x: collections.OrderedDict(a=x + 1, b=x),
    lambda x: itertools.chain([x], [x + 1]),
    lambda x: operator.itemgetter(0),
]


@pytest.mark.parametrize("function", RETURNED)
def test_what_is_returned_is_new_in_every_call(function):
    fast, x = jitrt.jit(function), np.arange(3.0)
    found = [fast(x) for _ in range(4)]
    assert len({id(v) for v in found}) == 4 and {type(v) for v in found} == {type(function(x))}
    if isinstance(found[0], collections.Counter):
        found[0]["z"] += 1
        assert found[1] == fast(x) == function(x)
