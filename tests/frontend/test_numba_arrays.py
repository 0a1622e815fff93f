"""Functions of numba's on whole arrays are called by their address, from loops and from functions without."""

import os
import subprocess
import sys
import textwrap
import threading
import traceback
import warnings

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import jitrt
from jitrt import expr

_nrt_python.memsys_enable_stats()


@numba.njit
def filtered(x, rate):
    y = np.empty_like(x)
    last = 0.0
    for k in range(x.size):
        last = rate * last + x[k]
        y[k] = last
    return y


@numba.njit
def norm(x):
    total = 0.0
    for k in range(x.size):
        total += x[k] * x[k]
    return total


@numba.njit
def raised(x, by):
    for k in range(x.size):
        x[k] += by


@numba.njit
def described(x):
    return x.size, x.max() > 0.5, x * 2.0, x[::-1].copy()


@numba.njit
def nothing(x):
    x.size  # noqa: B018


@numba.njit
def checked(x):
    total = 0.0
    for v in x:
        if v < 0.0:
            raise ValueError("negative", v)
        total += v
    return total


@numba.njit
def solved(a, y):
    return np.linalg.solve(a, y)


@numba.njit
def itself(x):
    return x


@numba.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()")
def inner(x, y, out):
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    out[0] = total


@numba.guvectorize(["void(float32[:], float32, float32[:])", "void(float64[:], float64, float64[:])"], "(n),()->(n)")
def scaled(x, by, out):
    for k in range(x.shape[0]):
        out[k] = x[k] / by


@numba.guvectorize(["void(float64[:], float64[:], float64[:, :], float64[:])"], "(n),(m)->(n,m),()")
def outer(x, y, out, total):
    total[0] = 0
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            out[i, j] = x[i] * y[j]
            total[0] += out[i, j]


def f_filtered(x):
    return np.sqrt(filtered(x * x, 0.5)) - 1.0


def f_norm(x):
    return norm(x * 2.0) - 1.0, norm(x[1:]), norm(x[:0])


def f_loop(x):
    total = 0.0
    for k in range(7):
        x = filtered(x, 0.5)
        total += norm(x) * k
    return total, x


def f_raised(x):
    y = x * 2.0
    for k in range(5):
        raised(y, k)
    raised(x, 1.5)
    return y, x


def f_described(x):
    size, is_large, double, turned = described(x)
    return size * 2, is_large, double + turned


def f_nothing(x):
    return nothing(x + 1.0), x * 2.0


def f_inner(x):
    m = x.reshape(-1, 2) * 1.0
    return inner(m, m[:1] + 1.0), inner(x, x), inner(m.reshape(-1, 1, 2), m) - 1.0


def f_inner_in_loops(x):
    t = np.zeros(3)
    for k in range(20):
        t[k % 3] += inner(x, x)
    return t


def f_scaled(x):
    return scaled(x, 2.0), scaled(x + 1.0, x[0] + 1.0), scaled(x.astype(np.float32) + 1, np.float32(3))


def f_outer(x):
    made, total = outer(x * 1.0, x[:2] + 1.0)
    out = np.zeros(len(x) // 2)
    m = x.reshape(-1, 2) * 1.0
    for k in range(3):
        inner(m, m + k, out)
        x[: len(out)] += out * 1e-3
    return made * 2.0, total, out


FUNCTIONS = [
    f_filtered, f_norm, f_loop, f_raised, f_described, f_nothing, f_inner, f_inner_in_loops, f_scaled, f_outer,
]  # fmt: skip
SERVED = 80  # calls, after which native code serves


def assert_same(mine, other):
    assert type(mine) is type(other), (mine, other)
    if isinstance(mine, tuple):
        assert len(mine) == len(other)
        for x, y in zip(mine, other):
            assert_same(x, y)
        return
    np.testing.assert_array_equal(mine, other)
    if isinstance(mine, np.ndarray):
        assert mine.dtype == other.dtype
        assert mine.strides == other.strides


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error), error.args


@pytest.mark.parametrize("function", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])
def test_results_and_memory(function):
    compiled = jitrt.jit(function)
    for size in (6, 6, 8, 2, 64):
        x = np.linspace(0.0, 1.0, size)
        y = x.copy()
        expected = function(x)
        assert_same(compiled(y), expected)
        assert_same(x, y)
    assert "numba." in compiled.explain(y).loop
    before = rtsys.get_allocation_stats()
    for _ in range(20):
        compiled(y)
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free


def mutable(types):
    return tuple(t.copy(readonly=False) for t in types)


@pytest.mark.parametrize("layout", ["turned", "step", "back", "read-only", "swapped", "float32", "column"])
def test_layouts(layout):
    x = np.arange(24.0).reshape(4, 6)
    given = {
        "turned": lambda: x.T, "step": lambda: x[0, ::2], "back": lambda: x[1, ::-1], "read-only": lambda: x[0].copy(),
        "swapped": lambda: x[0].astype(">f8"), "float32": lambda: x[0].astype("f4"), "column": lambda: x[:, 1],
    }[layout]()  # fmt: skip
    given.flags.writeable = layout != "read-only"

    own, plain = (numba.njit(lambda x: x.sum() * 2.0) for _ in range(2))

    def with_calls_of(called):
        def f(x):
            return called(x), called(x + 1.0), called(x[:1]), called(x[:2]), called((x * 2.0).T)

        return f

    compiled, f = jitrt.jit(with_calls_of(own)), with_calls_of(plain)
    for _ in range(4):
        assert_same(outcome(compiled, given), outcome(f, given))
    expected = set(plain.overloads) | {mutable(t) for t in plain.overloads}
    assert set(own.overloads) <= expected or layout == "swapped"  # which numba refuses


def left_by(function, x):
    """How much memory calls that raise do not give back."""
    before = rtsys.get_allocation_stats()
    for _ in range(10):
        outcome(function, x)
    after = rtsys.get_allocation_stats()
    return (after.alloc - before.alloc) - (after.free - before.free)


def test_what_they_raise():
    def whole(x):
        x += 1.0
        y = checked(x)
        x *= 2.0
        return y

    def loops(x):
        for k in range(len(x)):
            x[k] -= 0.5
            checked(x[k:])

    def equations(x):
        a = np.eye(2) * x[0]
        t = 0.0
        for _ in range(3):
            t += solved(a, x[:2])[0]
        return t

    for f, wrong in ((whole, -3.0), (loops, 0.25), (equations, 0.0)):
        compiled = jitrt.jit(f)
        for at in (None, 3, None, 0, 0, None):
            x = np.linspace(0.75, 2.0, 9)
            if at is not None:
                x[at] = wrong
            y = x.copy()
            assert_same(outcome(compiled, y), outcome(f, x))
            assert_same(y, x)
        line = f.__code__.co_firstlineno
        x[0] = wrong
        with pytest.raises(Exception) as caught:
            compiled(x)
        lines = [entry.lineno for entry in traceback.extract_tb(caught.tb) if entry.name == f.__name__]
        assert lines
        assert line < lines[0] < line + 7
        assert left_by(compiled, x) <= 2 * left_by(f, x)  # numba itself frees little of what has raised


def test_an_argument_that_is_returned():
    def f(x):
        y = x * 2.0
        z = itself(y)
        z += 1.0
        return y, z

    compiled = jitrt.jit(f)
    for _ in range(3):
        y, z = compiled(np.arange(4.0))
        assert y is z
        assert_same(y, np.arange(4.0) * 2.0 + 1.0)


def test_arguments_that_share_memory():
    def f(x):
        y = x * 1.0
        for k in range(3):
            shifted(y[1:], y[:-1], k)
        return y

    @numba.njit
    def shifted(out, x, by):
        for k in range(out.size):
            out[k] = x[k] + by

    def g(x, y):
        for k in range(3):
            shifted(x, y, k)
        return x * 2.0

    x = np.arange(9.0)
    assert_same(jitrt.jit(f)(x), f(x))
    compiled = jitrt.jit(g)
    for _ in range(3):
        x, y = np.arange(9.0), np.arange(9.0)
        assert_same(compiled(x[1:], x[:-1]), g(y[1:], y[:-1]))
        assert_same(x, y)
        assert_same(compiled(x, x.copy()), g(y, y.copy()))
        assert_same(x, y)


def test_warnings_are_those_of_the_generalised_ufunc():
    f = jitrt.jit(lambda x, by: scaled(x + 1.0, by) * 2.0)
    x = np.arange(3.0)
    for by in (2.0, 0.0, 2.0, 0.0):
        found = []
        for function in (f, f.__wrapped__):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                assert_same(function(x, by), (x + 1.0) / by * 2.0)
            found.append([str(w.message) for w in caught][:1])
        assert found[0] == found[1]
    h = jitrt.jit(lambda x: norm(x / 2.0) + 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert h(np.array([1e300, 2.0])) == np.inf  # numba does not tell of it


def test_signatures_that_are_given():
    strided = numba.njit("float64(float64[:])")(norm.py_func)

    def f(x):
        t = strided(x * 1.0)
        for k in range(3):
            t += strided(x) * k
        return t

    compiled = jitrt.jit(f)
    x = np.arange(5.0)
    for given in (x, x[::2], x.astype("f4"), x):
        assert_same(outcome(compiled, given), outcome(f, given))
    x.flags.writeable = False
    assert outcome(compiled, x)[0] is outcome(f, x)[0] is TypeError


def test_conversions_are_those_of_what_is_compiled_already():
    own, plain = (numba.njit(norm.py_func) for _ in range(2))
    for function in (own, plain):
        function(np.arange(6.0)[::2])
    f, x = jitrt.jit(lambda x: own(x + 1.0)), np.arange(4.0)
    for _ in range(3):
        assert f(x) == plain(x + 1.0)
    assert len(own.overloads) == len(plain.overloads)


@pytest.mark.parametrize("typed", [True, False])
def test_expressions(typed):
    x = expr.leaf("x", "f8", ndim=1) if typed else expr.leaf("x")
    once, total = expr.operator(filtered)(x * 2.0, 0.5) + 1.0, expr.operator(inner)(x, x + 1.0)
    programs = [
        (expr.compile(once), lambda x: filtered(x * 2.0, 0.5) + 1.0),
        (expr.compile(total), lambda x: inner(x, x + 1.0)),
    ]
    for program, function in programs:
        for _ in range(4):
            given = np.linspace(0.0, 1.0, 9)
            assert_same(program(given), function(given))
        assert not program.plain_reason


@pytest.mark.parametrize("casting", ["no", "safe", "same_kind", "unsafe", "C"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_conversions_with_rules(casting, dtype):
    def f(x):
        y = x.astype(np.dtype(dtype), casting=casting, copy=False)
        for k in range(3):
            y = y + k
        return y, x.astype(dtype, "C")

    compiled, x = jitrt.jit(f), np.arange(5.0)
    for _ in range(3):
        assert_same(outcome(compiled, x), outcome(f, x))


def test_several_threads():
    compiled = jitrt.jit(f_loop)
    x = np.linspace(0.0, 1.0, 500)
    expected = f_loop(x)
    found = []

    def run():
        for _ in range(50):
            found.append(compiled(x))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    for made in found:
        assert_same(made, expected)


def test_nothing_of_them_is_kept_on_disk(tmp_path):
    """Their addresses, and the names under which procedures know them, are those of one process."""
    script = textwrap.dedent(
        """
        import sys, numba, numpy as np, jitrt
        def first(x):
            return x.sum() * 2.0
        def second(x):
            return x.sum() - 1.0
        called = numba.njit(first if sys.argv[1] == "first" else second)
        called.__name__ = "called"
        def f(x):
            t = 0.0
            for k in range(5):
                t += called(x) * k
            return t
        g, x = jitrt.jit(f), np.arange(4.0)
        for _ in range(5):
            assert g(x) == f(x)
        """
    )
    path = tmp_path / "script.py"
    path.write_text(script)
    environment = os.environ | {"JITRT_CACHE_DIR": str(tmp_path / "cache"), "JITRT_STRICT": "1"}
    for which in ("first", "second", "first"):
        subprocess.run([sys.executable, str(path), which], check=True, env=environment, cwd=os.getcwd())
    texts = [p.read_bytes() for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert not any(b"numba.called" in text for text in texts)
