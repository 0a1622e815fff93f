"""Warnings of NumPy come once in each call, and in the same calls: of its Python code, of casts, of conversions."""

import contextlib
import threading
import warnings

import numpy as np
import pytest
from texts import function_of

import jitrt

FULL = np.arange(600.0).reshape(60, 10)
NAN_ROW = np.where(np.arange(60)[:, None] == 7, np.nan, FULL)
NEARLY = np.where(np.isnan(NAN_ROW) & (np.arange(10) < 9), np.nan, FULL)
SINGLE = np.linspace(1, 2, 300).astype(np.float32)
COMPLEX = np.linspace(1, 2, 300) * (1 + 1j)


def outcome(function, args, state):
    with warnings.catch_warnings(record=True) as caught, np.errstate(**state):
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except (FloatingPointError, TypeError) as error:
            result = repr(error)
    return result, [(w.category, str(w.message)) for w in caught if w.category is not jitrt.JitrtPerformanceWarning]


def check(function, *calls, state=None):
    """Compare results and warnings of calls, each of them made twice."""
    compiled = jitrt.jit(function)
    for arg in [c for call in calls for c in (call, call)]:
        want, got = (outcome(f, (arg,), state or {}) for f in (function, compiled))
        assert got[1] == want[1]
        if isinstance(want[0], str):
            assert got[0] == want[0]
        else:
            np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    return compiled


def where(function, *args):
    """Of each warning of a call its text, and the file and line that it names."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args)
    told = [w for w in caught if w.category is not jitrt.JitrtPerformanceWarning]
    return [(w.category, str(w.message), w.filename, w.lineno) for w in told]


WARNING_IN_C = {
    "concatenate": lambda x: np.concatenate([x, x], dtype=float, casting="unsafe"),
    "stack": lambda x: np.stack([x, x], dtype=float, casting="unsafe"),
    "insert": lambda x: np.insert(np.ones(2), 0, x[0]),
    "linspace": lambda x: np.linspace(x[0], 1, 3, dtype=float),
    "einsum": lambda x: np.einsum("i->", x, dtype=float, casting="unsafe"),
    "behind a kernel": lambda x: np.concatenate([x * 2, x + 1], dtype=float, casting="unsafe") * 2,
    "row_stack": lambda x: np.row_stack([x, x * 2]) if hasattr(np, "row_stack") else x,  # noqa: NPY201
}


@pytest.mark.parametrize("name", WARNING_IN_C)
@pytest.mark.parametrize("is_strict", ["0", "1"])
def test_whose_line_a_warning_names(name, is_strict, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", is_strict)
    function = WARNING_IN_C[name]
    compiled = jitrt.jit(function)
    for _ in range(5):
        assert where(compiled, COMPLEX) == where(function, COMPLEX)


def silent(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(x, axis=1) + np.nanmax(x, axis=1)


def unread(x):
    np.nanmin(x, axis=1)
    return x * 2


def in_a_loop(x):
    for _ in range(20):
        x = x - np.nanmean(x, axis=1, keepdims=True) * 0.5
    return x


def in_a_while_loop(x):
    while np.nanmax(np.abs(x[0])) > 0.1:
        x = x * 0.5 - np.nanmax(x, axis=1, keepdims=True) * 0.01
    return x


def of_a_mask(x):
    return np.mean(x, axis=1, where=x > 75), np.var(x, axis=1, where=~np.isnan(x), ddof=1)


FUNCTIONS = [
    *(
        lambda x, f=f, kwargs=kwargs: f(x * 1.0, axis=1, **kwargs) * 2
        for f in (np.nanmax, np.nanmin, np.nanmean, np.nanvar, np.nanstd, np.nanmedian)
        for kwargs in ({}, {"keepdims": True})
    ),
    lambda x: np.nanvar(x[:, 8:], axis=1, ddof=2),
    lambda x: np.nanmax(x, axis=0, initial=-5.0),
    lambda x: np.nanpercentile(x, 30, axis=1),
    lambda x: np.mean(x[:0]) + x,
    lambda x: np.var(x[:, :1], axis=1, ddof=1),
    lambda x: x[:1].std(ddof=2) + x,
    lambda x: np.cov(x[:, :1]),
    lambda x: np.polyfit(np.ones(10), np.arange(10.0), 3) * x[0, 0],
    silent, unread, in_a_loop, in_a_while_loop, of_a_mask,
]  # fmt: skip


@pytest.mark.wide
@pytest.mark.parametrize("state", [{}, {"all": "ignore"}], ids=str)
@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
@pytest.mark.parametrize("first", [FULL, NAN_ROW], ids=["ordinary", "nan"])
def test_python_code_of_numpy(number, state, first):
    check(FUNCTIONS[number], first, FULL, NAN_ROW, NEARLY, NAN_ROW, FULL, state=state)


@pytest.mark.parametrize("number", [0, 2, 4, 6, 8])
def test_what_does_not_warn_is_compiled(number):
    compiled = check(FUNCTIONS[number], FULL, NAN_ROW, FULL)
    assert compiled.explain(FULL).kernels and not compiled.explain(FULL).host_calls


def test_what_is_silent_runs_in_kernels():
    compiled = check(silent, FULL, NAN_ROW)
    calls = []
    compiled._function = lambda x: calls.append(1)  # what runs plain from now on
    compiled(NAN_ROW)
    assert not calls


def assigned(x):
    y = x * 2
    y[3:5] = 1e300
    y[y > 3] = -1e300
    return y


def filled(x):
    y = np.zeros(5, np.float32)
    y.fill(1e300)
    return y + x[0] + np.full(5, 1e300, np.float32)


def compared(x):
    for _ in range(20):
        x = x * 0.5 + (x > 1e300)
    return x


OVERFLOWING = [
    lambda x: x * 1e300,
    lambda x: x > 1e300,
    lambda x: np.where(x > 1.5, x, 1e300),
    lambda x: np.clip(x, -1e300, 1e300),
    lambda x: (x + 1j).astype(np.complex64) * 1e300,
    lambda x: x[0] * 1e300,
    lambda x: x.sum() - 1e300,
    lambda x: (x * 1e300, x * 2)[1],
    lambda x: x + np.float32(3e38) * np.float32(10),
    lambda x: x * 1e-300,
    assigned, filled, compared,
]  # fmt: skip


@pytest.mark.wide
@pytest.mark.parametrize("state", [{}, {"all": "ignore"}, {"over": "raise"}], ids=str)
@pytest.mark.parametrize("number", range(len(OVERFLOWING)))
def test_numbers_that_overflow(number, state):
    check(OVERFLOWING[number], SINGLE, SINGLE + 1, SINGLE[:40], SINGLE, state=state)


def loop(make):
    def function(x):
        total = np.zeros(3)
        for k in range(3):
            total[k] = x[k] * make()
        return total

    return function


@pytest.mark.parametrize("is_in_loop", [False, True])
@pytest.mark.parametrize("state", [{}, {"all": "raise"}], ids=str)
@pytest.mark.parametrize(
    "make",
    [
        lambda: np.mean([]),
        lambda: np.nanmax([np.nan, np.nan]),
        lambda: np.var([1.0], ddof=1),
        lambda: np.float32(2**200),
        lambda: np.float16(7e4),
        lambda: np.float32(1e38) * np.float32(10),
        lambda: np.log(0.0),
        lambda: np.asarray(1j).astype("f4"),
        lambda: np.array(2j).sum(dtype=float),
    ],
)
def test_constants_warn_in_each_call(make, state, is_in_loop):
    check(loop(make) if is_in_loop else lambda x: x * make(), SINGLE, state=state)


def integer(x):
    return x * int(x[0].real + int(x[3]))


def real(x):
    return x + float(x[1])


def stored(x):
    y = np.zeros(300)
    y[:] = x
    return y


def looked_at_twice(x):
    if x[0].real > 0.5:
        return x * int(x[2])
    return x + int(x[0])


def accumulated(x):
    return np.cumulative_prod(x[:4], dtype="u1") + np.add.accumulate(x[:4], dtype=int)


def folded(x):
    return np.add.reduce(x, dtype=float) + np.multiply.reduce(x[:3], dtype=int)


CASTS = [integer, real, stored, looked_at_twice, accumulated, folded]


@pytest.mark.parametrize("function", CASTS, ids=lambda f: f.__name__)
def test_casts_of_complex_numbers(function):
    check(function, COMPLEX, COMPLEX + 1, COMPLEX - 1, COMPLEX)


def test_warnings_that_come_before_a_ufunc_asks_its_operands():
    def written_by_position(x):
        np.minimum(x, 2.0, x)
        return np.maximum(x, 1.0)

    def in_a_loop_over_elements(x):
        for k in range(3):
            x[k] += x[k + 1]
        np.maximum(x, 1.0, x)
        return x

    check(written_by_position, SINGLE.copy(), SINGLE.copy())
    check(in_a_loop_over_elements, SINGLE.copy(), SINGLE.copy())


def told_at_line(x, s):
    warnings.warn("told", stacklevel=2)
    return x * s


def told_after_a_look(x, s):
    if x.sum() > s:
        warnings.warn("told", stacklevel=2)
    return x * s


def told_after_exceptions(x, s):
    y = 1 / x
    if not np.isfinite(y).all():
        warnings.warn("told", stacklevel=2)
    return y + s


@pytest.mark.parametrize("strict", ["0", "1"])
@pytest.mark.parametrize("function", [told_at_line, told_after_a_look, told_after_exceptions], ids=lambda f: f.__name__)
def test_the_line_of_the_caller_is_told(function, strict, monkeypatch):
    """Where the plain function runs, no frame of ours stands between it and its caller."""
    monkeypatch.setenv("JITRT_STRICT", strict)
    compiled = jitrt.jit(function)
    calls = [(np.arange(4.0), 1.0), (np.arange(1.0, 5.0), 100.0), (np.arange(3000.0), 2.0), ([1.0, 0.0], 1), ("a", 2)]
    for args in [c for call in calls for c in (call,) * 12]:
        found = []
        for f in (compiled, function):
            with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
                warnings.simplefilter("always")
                with contextlib.suppress(TypeError, AttributeError):
                    f(*args)
            told = [w for w in caught if w.category is UserWarning]
            found.append([(w.filename, w.lineno, str(w.message)) for w in told])
        assert found[0] == found[1]


@pytest.mark.parametrize("decided", [True, False])
def test_a_number_that_overflows_and_is_not_chosen(decided):
    check(lambda number: np.where(decided, SINGLE, number), 1.0, 1e200, 2.0)
    check(lambda number: np.where(decided, SINGLE, 1e200) * number, 1.0, 2.0)


SPELT = r"""
import numpy as np
import jitrt

def spelt(x):
    total = 0.0
    for k in range(len(x)):
        total += x[k] if len("\d") is 2 else 0.5
    return total

@jitrt.jit
def decorated(x):
    total = 0.0
    for k in range(len(x)):
        total += x[k] if len("\d") is 2 else 0.5
    return total

shorter = jitrt.jit(lambda x: sum([v if len("\d") is 2 else 0.5 for v in x]))
"""


@pytest.mark.parametrize("name", ["spelt", "decorated", "shorter"])
def test_what_python_has_said_of_the_source_is_not_said_again(name, tmp_path):
    """The source is parsed again for loops; this is nothing that the user has to know."""
    file = tmp_path / "spelt.py"
    file.write_text(SPELT)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        code = compile(SPELT, str(file), "exec")
    assert len(caught) == 6
    space = {}
    exec(code, space)
    f = space[name] if name != "spelt" else jitrt.jit(space[name])
    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [f(np.arange(n + 0.0)) for n in (50, 50, 60)] == [1225, 1225, 1770]
        warnings.warn("told", stacklevel=1)
    assert [str(w.message) for w in caught] == ["told"]
    assert warnings.filters == before


WARN_AND_REFUSE = {
    "axes that repeat": (lambda x, g: x[::-1].mean((0, 0)), np.zeros((0, 3))),
    "axes of nanstd that repeat": (lambda x, g: np.nanstd(x, axis=(0, 0)), np.zeros((0, 3))),
    "no dtype": (lambda x, g: np.std(x, dtype="x"), np.ones((0, 3))),
    "where without out": (lambda x, g: np.invert(x, where=x > 1), np.ones(3)),
    "parts of nanvar": (lambda x, g: np.nanvar(x, dtype=complex), np.ones((1, 3))),
    "parts of nanstd": (lambda x, g: np.nanstd(x, dtype="c8"), np.ones((1, 3))),
    "limits of integers": (lambda x, g: g.integers(x, 9), np.ones(3) * 1j),
    "means": (lambda x, g: g.normal(x), np.ones(3) * 1j),
}


@pytest.mark.parametrize("name", WARN_AND_REFUSE)
def test_warnings_before_an_exception(name):
    """What is asked to say what NumPy says, or which types it gives, warns of nothing by itself."""
    function, x = WARN_AND_REFUSE[name]
    compiled = jitrt.jit(function)
    for _ in range(3):
        said = []
        for f in (function, compiled):
            g = np.random.default_rng(3)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    made = repr(f(x, g))
                except (TypeError, ValueError) as error:
                    made = repr(error)
            told = [w for w in caught if w.category is not jitrt.JitrtPerformanceWarning]
            said.append((made, [(w.category, str(w.message), w.filename, w.lineno) for w in told]))
        assert said[1] == said[0]


C, CS = np.complex128(1 + 2j), np.array([1 + 2j, 3])
OF_CONSTANTS = {
    "float": lambda x: x * float(C),
    "int": lambda x: x + int(C),
    "float64": lambda x: x * np.float64(C),
    "float32": lambda x: x * np.float32(C),
    "int64": lambda x: x * np.int64(C),
    "astype": lambda x: x * C.astype("f8"),
    "an array": lambda x: x + np.array(C, float),
    "a list": lambda x: x + np.array([C], float),
    "asarray": lambda x: x[:2] + np.asarray(CS, float),
    "full": lambda x: x + np.full(5, C, float),
    "an element": lambda x: x.__setitem__(0, C),
    "elements": lambda x: x.__setitem__(slice(0, 2), CS),
    "a mean": lambda x: x + np.mean(np.array([])),
    "a sum": lambda x: x + np.sum(CS, dtype=float),
    "in a helper": lambda x: OF_CONSTANTS["float64"](x) + OF_CONSTANTS["astype"](x),
}


@pytest.mark.parametrize("name", OF_CONSTANTS)
def test_warnings_of_constants(name):
    """They come in each call, as those of arguments do."""
    function = OF_CONSTANTS[name]
    compiled = jitrt.jit(function)
    for _ in range(4):
        said = []
        for f in (function, compiled):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                f(np.ones(5))
            told = [w for w in caught if w.category is not jitrt.JitrtPerformanceWarning]
            said.append([(w.category, str(w.message), w.filename, w.lineno) for w in told])
        assert said[1] == said[0] != []


def test_silenced_warnings_of_constants():
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return x * np.float64(C) - 1

    compiled = jitrt.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            np.testing.assert_array_equal(compiled(np.ones(5)), 0.0)
    assert compiled.cache_info().plain == 0


def test_other_threads_warn_during_a_trace():
    def warn():
        warnings.warn("of another thread", UserWarning, stacklevel=1)

    def f(x):
        thread = threading.Thread(target=warn)
        thread.start()
        thread.join()
        return x * 2

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(jitrt.jit(f)(np.ones(5)), 2.0)
    assert "of another thread" in [str(w.message) for w in caught]


_BROADCAST = np.broadcast_arrays(2.0, np.arange(300.0))[0]


@pytest.mark.parametrize("size", [20, 2000])
@pytest.mark.parametrize(
    "text",
    ["x * 2 + y", "x", "(x[1:], [y, x])", "np.sort(x)", "(x + y).sum()", "x.copy()", "np.broadcast_arrays(x, y, 3.0)",
     "np.broadcast_arrays(np.broadcast_arrays(y, 1j), 1j)", "OUTSIDE", "OUTSIDE[:5] * x[:5]", "sum([a for a in x])",
     "x.__setitem__(0, 1.0)", "x.__iadd__(1)", "np.add(y, 1, out=x)"],
)  # fmt: skip
def test_arrays_that_numpy_has_broadcast(text, size):
    """NumPy warns of those where they are written, or asked whether they may be."""
    function = function_of(f"import numpy as np\ndef f(x, y):\n    return {text}\n")
    function.__globals__["OUTSIDE"] = _BROADCAST
    compiled = jitrt.jit(function)

    def told(f):
        y = np.arange(float(size))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            f(np.broadcast_arrays(2.0, y)[0], y)
        return [(w.category, str(w.message)) for w in found]

    for _ in range(4):
        assert told(compiled) == told(function)


@pytest.mark.parametrize("dtype", ["u8", "i8", "i4", "u1", "f4"])
@pytest.mark.parametrize(
    "number", ["np.nan", "float('nan')", "np.inf", "complex('nan').real", "-np.nan", "complex(0, float('nan'))"]
)
@pytest.mark.parametrize("index", ["k", "k, 1:"])
def test_numbers_that_decide_a_sum(index, number, dtype):
    """The sum is nan, whatever is added, and still none that an integer can be."""
    f = function_of(
        "def f(b):\n    for k in range(1, len(b)):\n"
        f"        b[{index}] = b[{index.replace('k', 'k - 1')}] * 0.5 + {number}\n    return b\n"
    )
    compiled = jitrt.jit(f)
    for _ in range(3):
        (want, warned), (got, noted) = (outcome(g, (np.ones((9, 6), dtype),), {}) for g in (f, compiled))
        assert noted == warned
        np.testing.assert_array_equal(got, want)
