"""What nothing reads still raises, and warns, as NumPy does: each call says what the plain function says."""

import warnings

import numpy as np
import pytest
from texts import function_of

import jitrt
from jitrt.passes.prepare import prepared

ORDINARY = np.linspace(1.0, 2.0, 200)
ZERO = np.where(np.arange(200) == 199, 0.0, ORDINARY)


def outcome(function, args, state):
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with warnings.catch_warnings(record=True) as caught, np.errstate(**state):
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except (FloatingPointError, IndexError, ValueError, ZeroDivisionError) as error:
            result = repr(error)
    return result, [(w.category, str(w.message)) for w in caught], args


def check(function, *calls, state=None):
    """Compare results, exceptions, warnings and changed arguments of calls, each of them made twice."""
    compiled = jitrt.jit(function)
    for args in [c for call in calls for c in (call, call)]:
        want, got = (outcome(f, args, state or {}) for f in (function, compiled))
        assert got[1] == want[1]
        if isinstance(want[0], str):
            assert got[0] == want[0]
        else:
            np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
        for a, b in zip(got[2], want[2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    return compiled.explain(*calls[0])


def index_handled(a, i):
    try:
        a[i]
    except IndexError:
        return -a
    return a * 2 + 1


def indices_unread(a, i):
    a[[0, i, 1]]
    a[i] * 2
    return a + 1


@pytest.mark.parametrize("call", ["gamma(a[0])", "lgamma(a[0])", "log(a[0], 2)", "log(2, a[1])", "fsum(a[:3] / a[0])"])
def test_functions_of_math(call):
    body = f"y = math.{call}\n    y = math.sqrt(a[1]) + math.{call.replace('a[0]', 'a[2]')}"
    f = function_of(f"def f(a):\n    {body}\n    return a * 2\n")
    for function in (f, function_of(f"def f(a):\n    {body}\n    return a * y\n")):
        check(function, (ORDINARY,), (ZERO[::-1].copy(),), (-ORDINARY,), (ORDINARY,))


def test_indices():
    for function in (index_handled, indices_unread):
        for i in (np.int64(3), np.array(3)):
            check(function, (ORDINARY, i), (ORDINARY, i + 1), (ORDINARY, i + 500), (ORDINARY, i), (ORDINARY, i - 900))


def quotient(x):
    1 / x
    return x * 2


def logarithm(x):
    np.log(x)
    return x * 2


def overwritten(x):
    c = np.log(x)
    c[c > 0.5] = 2.0
    c[:] = x
    return c


def part_overwritten(x):
    c = 1 / x
    c[:100] = 0
    c[100:] = x[100:]
    return c


def cut_off(x):
    return np.concatenate([x, 1 / x])[: len(x)] * 2


def decided(x):
    return np.where(True, x, 1 / x) + np.where(np.log(x) > 5, x, x)


def narrowed_cast(x):
    y = np.ones(200, np.float32)
    y[1:] = 1e30 / (x[1:] + 1e-20)
    y[1:] = 1
    return y


def last_of_a_loop(x):
    for _ in range(30):
        last = 1 / x
        x = x * 0.5
    last = 0
    return x + last


def in_a_loop(x):
    for _ in range(30):
        1 / x
        x = x * 0.5
    return x


def in_a_while_loop(x):
    while x.max() > 0.01:
        np.log(x).sum()
        x = x * 0.5
    return x


def on_one_way(x):
    y = 1 / x
    if x[0] > 0.5:
        return x * 2
    return y


def behind_a_look(x):
    if x[0] > 0.5:
        np.log(x)
    return x + 1


def within(x):
    with np.errstate(divide="ignore"):
        1 / x
    np.log(x)
    return x


def in_front(x):
    1 / x
    with np.errstate(divide="ignore"):
        return x + np.log(x)


def fold(x):
    np.divide(1.0, x).sum()
    (x > 3).any()
    return x


FUNCTIONS = [
    quotient, logarithm, overwritten, part_overwritten, cut_off, decided, narrowed_cast, last_of_a_loop, in_a_loop,
    in_a_while_loop, on_one_way, behind_a_look, within, in_front, fold,
]  # fmt: skip


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("state", [{}, {"all": "raise"}, {"all": "ignore"}, {"divide": "raise"}], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_floating_point_exceptions(function, state):
    check(function, (ORDINARY,), (ZERO,), (ORDINARY,), (ZERO[::-1],), (ORDINARY[::-1],), state=state)


@pytest.mark.parametrize("function", [cut_off, part_overwritten, quotient], ids=lambda f: f.__name__)
def test_large_arrays(function):
    large = np.repeat(ORDINARY, 100)
    zero = large.copy()
    zero[0] = 0
    check(function, (large,), (zero,), (large,))


def test_numbers():
    def function(x, k, f):
        k // 2
        7 // k
        1.0 / f
        return x + 1

    check(function, (ORDINARY, 3, 2.0), (ORDINARY, 4, 3.0), (ORDINARY, 5, 0.0), (ORDINARY, 0, 2.0), (ORDINARY, 6, 0.5))


def with_stored(x, value):
    y = x.copy()
    y[x > 1.5] = value
    y[0] = value
    return y


LITERALS = {
    "integer": lambda x: x < 2**40,
    "integer divisor": lambda x: x / 2**40,
    "stored integer": lambda x: with_stored(x, 2**40),
    "stored": lambda x: with_stored(x, np.float64(1e300)),
    "less": lambda x: x < 1e300,
    "equal": lambda x: x == -1e300,
    "add": lambda x: x + 1e300,
    "maximum": lambda x: np.maximum(1e300, x),
    "where": lambda x: np.where(x > 2, 1e300, x),
    "infinite": lambda x: x < np.inf,
    "within": lambda x: x > 1e4,
}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("state", [{}, {"over": "raise"}], ids=str)
@pytest.mark.parametrize("char", "efd")
@pytest.mark.parametrize("unread", LITERALS.values(), ids=LITERALS)
def test_literals_that_overflow(unread, char, state):
    def function(x):
        unread(x)
        return x * 2

    check(function, (ORDINARY.astype(char),), state=state)
    check(unread, (ORDINARY.astype(char),), state=state)


NUMBERS = {
    "less": lambda x, s: x < s,
    "equal": lambda x, s: x == s,
    "maximum": lambda x, s: np.maximum(x, s),
    "where": lambda x, s: np.where(x > 2, x, s),
    "logical": lambda x, s: np.logical_and(x, s),
    "copysign": lambda x, s: np.copysign(x, s),
    "full": lambda x, s: np.full(3, s, x.dtype),
}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("state", [{}, {"over": "raise"}], ids=str)
@pytest.mark.parametrize("char", "efdF")
@pytest.mark.parametrize("unread", NUMBERS.values(), ids=NUMBERS)
def test_numbers_that_overflow_in_some_calls(unread, char, state):
    def function(x, s):
        try:
            unread(x, s)
        except TypeError:
            return x
        return x * 2

    x = ORDINARY.astype(char)
    check(function, (x, 0.5), (x, 1e300), (x, 0.5), (x, -1e300), state=state)


def test_arguments_are_as_they_were():
    def function(x, y):
        x += 1
        1 / y
        x *= 2
        return x.sum()

    check(function, (ORDINARY, ORDINARY), (ORDINARY, ZERO), (ORDINARY, ORDINARY), state={"all": "raise"})


def test_only_what_may_raise_is_computed():
    def function(x, i):
        x.max()
        np.greater(x[::-1], 2)
        np.where(x > 1, x, 2)
        y = 1 / x
        np.less(y, 1)
        return y

    graph = prepared(check(function, (ORDINARY, 1), (ZERO, 1)).graph)
    assert not any(n.op.name in ("reduce_maximum", "where", "greater") for n in graph.nodes())


def test_what_is_forced_is_written_in_place():
    def function(x, y):
        np.exp(y)
        x += y
        return None

    large = np.ones(40_000)
    compiled = jitrt.jit(function)
    compiled(large.copy(), large)
    assert compiled.explain(large.copy(), large).frame_bytes < large.nbytes


RAISING = [
    "np.sqrt(a)", "np.sqrt(a[1])", "a ** -2", "a[1] ** -2", "a ** a[1]", "a ** a", "a.sum() ** -1", "np.arccosh(a)",
    "a.astype('i4')", "a[0].astype('i2')", "a.astype('f4')", "np.float16(a)", "1 / a", "7 // a", "a % a[0]",
    "np.log(a) > 3", "np.where(a[0] > 0, 1 / a[0], 0.0)", "np.maximum(1 / a, np.inf)", "(1 / a).astype(bool)",
    "(a * 1j) * (a * 1e300)", "np.isnan(a / a)", "np.sqrt(a) < 0", "(a * a) < 0", "np.abs(a * 1e200) >= 0",
    "np.sign(1 / a)", "a.var() / a[0]", "a // 0.0", "a.mean() ** 0.5", "np.stack([a / a, a])", "(1 / a)[1:]",
]  # fmt: skip
SOME = [
    [1.0, 4, 2],
    [-1, -4, 2],
    [1.0, 0, 0],
    [1e200, 1e300, 3],
    [np.inf, -np.inf, 0],
    [1e20, -1e20, 1e10],
    [1.0, 4, -1],
]


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i2"])
@pytest.mark.parametrize("expression", RAISING)
def test_each_operation_of_each_dtype(expression, dtype):
    function = function_of(f"def f(a):\n    t = {expression}\n    return a + 1\n", "f")
    compiled = jitrt.jit(function)
    with np.errstate(all="ignore"):
        calls = [np.array(values).astype(dtype) for values in SOME]
    for a in calls + calls:
        found = []
        for run in (function, compiled):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    run(a)
                except ValueError as error:
                    found.append(str(error))
            found.append([(w.category, str(w.message), w.lineno) for w in caught])
        assert found[len(found) // 2 :] == found[: len(found) // 2]


def test_two_unread_operations_on_constants():
    """They become one check, which is no array that could be copied."""

    @jitrt.jit
    def f(x):
        one = np.full((), True)
        np.log(one)
        np.sum(one) / 3
        return x

    x = np.ones(3)
    for _ in range(3):
        assert f(x) is x
    assert f.plain_reason == ""


OUT_OF_DOMAIN = {
    "1 / y": 0.0, "x / y": 0.0, "np.sqrt(y)": -1.0, "y * 1e300": 1e300, "y + 1.7e308": 1.7e308, "y - np.inf": np.inf,
    "np.floor_divide(x, y)": 0.0, "np.remainder(x, y)": 0.0, "np.log(y)": -1.0, "np.exp(y)": 1e4, "y**2": 1e300,
    "(y - 1) / (y - 1)": 1.0, "np.arcsin(y / 3)": 9.0, "(y * 1e200).astype('f4')": 1.0, "np.floor(1 / y)": 0.0,
    "np.abs(1j / y)": 0.0,
}  # fmt: skip
BEHIND = {
    "a mask": "q[x > 1.5] = 0.5",
    "a mask and a scan": "q = np.cumsum(q)\n    q[x > 1.5] = 0.5",
    "a part": "q[3:] = 1",
    "a choice": "q = np.where(x > 1.5, 0.5, q)",
    "two masks": "q[x > 1.5] = 0.5\n    q[x < 1] = s / 2",
    "a number": "q = q * (s / 3)",
    "a row": "r = np.log(x[:4]) / s\n    q[:4] = r",
}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("expression", OUT_OF_DOMAIN)
def test_what_is_computed_beside_other_numbers(expression, behind):
    """One operation that nothing reads becomes several that may raise, of other shapes and types."""
    f = function_of(f"def f(x, y, s):\n    q = {expression}\n    {BEHIND[behind]}\n    return x + y")
    x, y = np.linspace(0.6, 2, 64), np.linspace(0.6, 0.9, 64)
    other = np.where(np.arange(64) == 54, OUT_OF_DOMAIN[expression], y)
    check(f, (x, y, 2.0), (x, other, 2.0), (x, y, 2.0), state={"under": "ignore"})


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize(
    "text",
    [
        "a[1:-1] = 0.5 * (q[2:] + q[:-2])",
        "a[2:] = q[2:]",
        "a[:0] = q[:0].sum()",
        "a.T[:0] = q.T[:0]",
        "a = a + q[:0].sum()",
    ],
)  # fmt: skip
def test_what_only_empty_arrays_are_made_of(text, rows):
    """Nothing has to be computed for these, but NumPy computes it and warns."""
    function = function_of(f"import numpy as np\ndef f(a, b):\n    q = b // 100\n    {text}\n    return a * 2\n")
    compiled = jitrt.jit(function)

    def told(f, value):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            f(np.ones((rows, 8)), np.full((rows, 8), value))
        return [str(w.message) for w in found]

    for value in (1.0, np.inf, 2.0, np.inf):
        assert (
            told(compiled, value)
            == told(function, value)
            == ["invalid value encountered in floor_divide"] * (value > 9)
        )
