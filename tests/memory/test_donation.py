"""Donated arguments: overwritten where that is possible, and never otherwise."""

import pickle
import threading

import numpy as np
import pytest

import jitrt


def scaled(x, y):
    return x * 2.0 + y


donating = jitrt.jit(scaled, donate=("x",))


def arrays(n=1000):
    rng = np.random.default_rng(0)
    return rng.random(n), rng.random(n)


def test_the_result_is_the_donated_array():
    x, y = arrays()
    want = scaled(x, y)
    for _ in range(3):
        given = x.copy()
        result = donating(given, y)
        assert result is given
        np.testing.assert_array_equal(result, want)


def test_by_name_and_among_containers():
    def f(pair, x, *, z):
        return pair[0] + x * z

    compiled = jitrt.jit(f, donate=("x", "z"))
    x, y = arrays()
    z, given = x + 1, y.copy()
    want = f((x, 1.0), y, z=z)
    kept = z.copy()
    result = compiled((x, 1.0), x=given, z=kept)
    assert result is given or result is kept
    np.testing.assert_array_equal(result, want)


def test_without_donation_nothing_is_overwritten():
    x, y = arrays()
    before = x.copy()
    assert jitrt.jit(scaled)(x, y) is not x
    np.testing.assert_array_equal(x, before)


def test_explain_says_so():
    x, y = arrays()
    found = donating.explain(x, y)
    assert any(" in place of input 0" in str(d) for d in found.compiled.decisions)
    assert "in the argument FLOAT64[1000]" in str(found.compiled.program.layout)
    assert "input 0 belongs to the caller" in jitrt.jit(scaled).explain(x, y).text()


def test_temporaries_lie_in_a_donated_array():
    def f(x, y):
        total = x.sum()
        t = y * total
        u = np.cumsum(t)
        return (t[::-1] + u).max()

    x, y = arrays(1 << 14)
    want = f(x, y)
    compiled = jitrt.jit(f, donate=("x",))
    assert compiled.explain(x, y).frame_bytes < jitrt.jit(f).explain(x, y).frame_bytes
    np.testing.assert_allclose(compiled(x, y), want)


def test_an_array_that_is_returned_itself():
    compiled = jitrt.jit(lambda x, y: (x, x + y, x[1:]), donate=("x",))
    x, y = arrays()
    before = x.copy()
    same, total, tail = compiled(x, y)
    assert same is x and np.shares_memory(tail, x) and not np.shares_memory(total, x)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(total, before + y)


def test_an_array_that_the_function_writes():
    def f(x, y):
        x[1:] = y[:-1]
        return x + y

    x, y = arrays()
    wanted = x.copy()
    want = f(wanted, y)
    got = jitrt.jit(f, donate=("x",))(x, y)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(x, wanted)


CASES = {
    "read-only": lambda x, y: (read_only(x), y),
    "strided": lambda x, y: (np.repeat(x, 2)[::2], y),
    "Fortran order": lambda x, y: (np.asfortranarray(x.reshape(10, 100)), y.reshape(10, 100)),
    "same array twice": lambda x, y: (x, x),
    "overlapping": lambda x, y: (lambda both: (both[:1000], both[500:1500]))(np.concatenate([x, y])),
    "view of the other": lambda x, y: (y[::-1][::-1], y),
    "another type": lambda x, y: (x.astype("f4"), y),
    "scalar": lambda x, y: (3.0, y),
    "empty": lambda x, y: (x[:0], y[:0]),
}


def read_only(x):
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_overwritten_stays(name):
    x, y = CASES[name](*arrays())
    want = scaled(x, y)
    before = (np.copy(x), np.copy(y))
    for _ in range(2):
        result = donating(x, y)
        np.testing.assert_array_equal(result, want)
        assert result.dtype == want.dtype
        assert result is not x
        np.testing.assert_array_equal(x, before[0])
        np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize("shape", [(1,), (1, 1000), (1000,)])
def test_intermediate_values_may_lie_there(shape):
    x, y = arrays()
    x, y = np.resize(x, shape), np.stack([y, y])
    want = scaled(x, y)
    result = donating(x, y)
    np.testing.assert_array_equal(result, want)
    assert not np.shares_memory(result, x)


def test_overlapping_arguments_stay():
    base = np.arange(1500.0)
    x, y = base[:1000], base[500:]
    want, before = scaled(x, y), base.copy()
    np.testing.assert_array_equal(donating(x, y), want)
    np.testing.assert_array_equal(base, before)


def test_captured_arrays_stay():
    outside = np.arange(1000.0)
    compiled = jitrt.jit(lambda x: x * 2.0 + outside, donate=("x",))
    before = outside.copy()
    np.testing.assert_array_equal(compiled(outside), before * 3)
    np.testing.assert_array_equal(outside, before)


def test_exceptions_of_numpy_leave_the_array_alone():
    def f(x, y, k):
        t = x * 2.0
        u = np.sort(t)[::-1] + y
        return np.linalg.inv(u.reshape(10, -1)[:, :k]) + 1.0

    x, y = arrays(100)
    before = x.copy()
    compiled = jitrt.jit(f, donate=("x",))
    with pytest.raises(np.linalg.LinAlgError):
        compiled(x, y, 9)
    np.testing.assert_array_equal(x, before)


def test_errstate_that_raises_leaves_the_array_alone():
    compiled = jitrt.jit(lambda x, y: x / y + 1.0, donate=("x",))
    x, y = arrays()
    y[3] = 0.0
    before = x.copy()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        compiled(x, y)
    np.testing.assert_array_equal(x, before)
    with np.errstate(divide="ignore"):
        want = before / y + 1.0
    np.testing.assert_array_equal(compiled(x, y), want)  # and no warning


def test_a_function_that_looks_at_values():
    def f(x, y):
        t = x + 1.0
        return t * y if t.sum() > 100.0 else x - y

    compiled = jitrt.jit(f, donate=("x",))
    for shift in (0.0, -10.0, 0.0):
        x, y = arrays()
        want = f(x + shift, y)
        np.testing.assert_array_equal(compiled(x + shift, y), want)


def test_threads():
    x, y = arrays(20_000)
    want, failures = scaled(x, y), []

    def work():
        for _ in range(50):
            if not np.array_equal(donating(x.copy(), y), want):
                failures.append(1)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not failures


def test_in_debug_mode(monkeypatch):
    monkeypatch.setenv("JITRT_DEBUG", "1")
    x, y = arrays()
    want = scaled(x, y)
    np.testing.assert_array_equal(jitrt.jit(scaled, donate=("x",))(x, y), want)


def test_names_are_checked():
    with pytest.raises(ValueError, match="no parameter 'z'"):
        jitrt.jit(scaled, donate=("x", "z"))
    with pytest.raises(ValueError, match="no parameter 'args'"):
        jitrt.jit(lambda *args: args, donate="args")
    assert jitrt.jit(donate="x")(scaled)._options.donate == ("x",)


def test_pickles():
    x, y = arrays()
    again = pickle.loads(pickle.dumps(jitrt.jit(scaled, donate=("x",))))
    given = x.copy()
    assert again(given, y) is given
