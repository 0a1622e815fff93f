"""What once was an internal error, or another branch than NumPy's: strict mode raises where it is one again."""

import logging
import math

import numpy as np
import pytest

import jitrt

X = np.random.default_rng(0).random((4, 4)) + 0.5
V = X[0].copy()
IF_NEEDED = np._CopyMode.IF_NEEDED
DAYS = np.array(["2020-01-01", "2020-02-01"], "M8[D]")
OF_OBJECTS = np.frompyfunc(lambda value: value + 1, 1, 1)


class Sub(np.ndarray):
    pass


def read_only(x):
    y, z = x * 2, x * 3
    y.flags.writeable = False
    z.flags["WRITEABLE"] = False
    return y, y.flags.writeable, z.flags.writeable, x.flags.c_contiguous, x.T.flags["F"]


def divided(x, k):
    return np.divide(2.0, k, out=x.copy(), where=x > 0.7), np.divide(k, x, out=np.zeros_like(x), where=x > 0)


def with_named_parts(x):
    e, s = np.linalg.eigh(x @ x.T), np.linalg.svd(x)
    u = np.unique_all(np.round(x))
    return e.eigenvalues, s.S, np.linalg.slogdet(x), u.values, u


def bodies(pos, mass):
    energies = np.ndarray(3, dtype=np.float64)
    for k in range(3):
        dx = pos[:, 0:1].T - pos[:, 0:1]
        pos = pos + 0.1 * (dx @ mass)[:, None]
        energies[k] = 0.5 * np.sum(mass * pos[:, 0] ** 2)
    return pos, energies


def large(x):
    with np.errstate(over="ignore"):
        y = x.astype(np.float32)
        y[0] = 10**100
        np.copyto(y[1:2], 10**100)
        return y, y + 10**60, x * 10**100, np.select([x > 1], [x], 10**60)


CASES = {
    "extremes of nothing": (lambda x: (np.nanmax(x, initial=3.0), np.nanmin(x, axis=0, initial=-np.inf)), X[:0]),
    "maximum of nothing": (lambda x: (np.max(x, initial=3.0) + np.fmax.reduce(x, initial=2.0),), V[:0]),
    "large integers": (large, V),
    "dtypes with a shape": (lambda x: (np.empty(2, "2i4").shape, np.zeros(3, "(2,2)f4"), np.full(2, x[0]) + x[1]), V),
    "full of a list": (lambda x: np.full((2, 4), [1.0, 2.0, 3.0, 4.0]) + x, V),
    "reshape by a NumPy integer": (lambda x, n: x.reshape(n, -1), X, np.int64(2)),
    "copy mode": (lambda x: (np.array(x * 2, copy=IF_NEEDED), np.array(x, copy=np._CopyMode.ALWAYS)), X),
    "copy of a list": (lambda x: np.array([x[0], 1.0], copy=None), V),
    "a number divided": (divided, V, 3.0),
    "buffer": (lambda x: np.ndarray.__new__(Sub, (2, 2), float, x * 2), V),
    "named tuples": (with_named_parts, X),
    "reshape by an array": (lambda x: x.reshape(np.array(x.shape)[::-1]), X),
    "broadcast_to an array": (lambda x: np.broadcast_to(x, np.array([3, 4])), V),
    "namespace": (lambda x: (xp := x.__array_namespace__()).sin(x) + xp.zeros(4), V),
    "namespace of a scalar": (lambda x: x[0].__array_namespace__(api_version="2023.12").exp(x[0]), V),
    "device": (lambda x: x.to_device(x.device) * 2, V),
    "n bodies": (bodies, X, V),
    "byte order": (lambda x: x.astype(">f8"), V),
    "byte order, computed with": (lambda x: x.astype(np.dtype("f4").newbyteorder()) * 2, V),
    "byte order of a full array": (lambda x: (np.zeros_like(x, dtype=">f8"), np.full(3, x[0], ">i4")), V),
    "objects": (lambda x: np.array([x, x[0]], dtype=object)[1], V),
    "a date among numbers": (lambda x, d: (np.array([x[0], d[0]])[1], np.array([d[0], x[0] > 0])[0]), V, DAYS),
    "a date as a short text": (lambda x: (np.array(x[0], "S6"), np.array(x[1], dtype="U4")), DAYS),
    "durations in weeks": (lambda x: (x[::-1].copy(), np.isnat(x), x + x, x[0] - x[1:], x.max()), V.astype("m8[7D]")),
    "dates in fives": (lambda x: (np.where(x > x[0], x, x[0]), x.astype("M8[ms]")), V.astype("i8").astype("M8[5ms]")),
    "objects that a ufunc of Python's gives": (lambda x: (OF_OBJECTS(x).astype(float) * 2, OF_OBJECTS(x) + 1), V),
    "a text among numbers": (lambda x: (np.where(x > 1, x, "a"), x * 2), V),
    "bytes": (lambda x: (bytes(x[:1]), x * 2), V),
    "flags that are set": (read_only, X),
    "Python integers of more than 64 bits": (lambda x: (x * 2, math.floor(x[0]), math.ceil(x[0]) % 7), V * 1e22),
    "full of an array": (lambda x: np.full((2, 4), x), V),
}


def same(want, got):
    assert type(want) is type(got)
    if isinstance(want, tuple):
        assert len(want) == len(got)
        for a, b in zip(want, got):
            same(a, b)
    else:
        got, want = np.asarray(got), np.asarray(want)
        assert got.dtype == want.dtype and got.shape == want.shape
        if want.dtype.kind in "fc":  # the order of additions in products is our own
            np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("function", "args"), [(f, args) for f, *args in CASES.values()], ids=CASES)
def test_none_is_left(function, args, caplog):
    compiled = jitrt.jit(function)
    with caplog.at_level(logging.WARNING, "jitrt"):
        for _ in range(3):
            same(function(*args), compiled(*args))
        compiled.explain(*args)
    assert not [
        r.getMessage() for r in caplog.records if " to compile" not in r.msg
    ]  # how long it takes is the machine's


def test_of_python_integers_that_change():
    compiled = jitrt.jit(divided)
    for k in (1, 2, 3, 4, 5):
        same(divided(V, k), compiled(V, k))


KINDS = {
    "array": lambda x, s: x * 2,
    "scalar": lambda x, s: x[0] * 2,
    "0-d array": lambda x, s: np.array(x[0]),
    "mask": lambda x, s: x > 1,
    "integer": lambda x, s: np.argmax(x),
    "number": lambda x, s: s * 2,
}
NAMES = sorted({*dir(np.ndarray), *dir(np.float64), *dir(float), "nonsense"} - {"mT"})  # an error of vectors


@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)
def test_attributes_are_those_of_the_value(made):
    """Code tells arrays from numbers by them."""

    def function(x, s):
        value = made(x, s)
        return [hasattr(value, name) for name in NAMES], getattr(value, "shape", None), getattr(value, "nonsense", 7)

    compiled = jitrt.jit(function)
    for scale in (1.0, 2.0):
        assert compiled(V * scale, 0.5 * scale) == function(V * scale, 0.5 * scale)
    with pytest.raises(AttributeError, match="nonsense"):
        jitrt.jit(lambda x, s: getattr(made(x, s), "nonsense"))(V, 0.5)  # noqa: B009


@pytest.mark.parametrize("name", NAMES)
def test_attributes_can_be_asked_for(name):
    if name in ("__class__", "__dict__", "__dir__", "__doc__", "__getattribute__", "__hash__"):
        return  # of the class, or of what stands for the value
    for made in (KINDS["array"], KINDS["scalar"], KINDS["number"]):
        function = lambda x, s, made=made: callable(getattr(made(x, s), name, None))  # noqa: E731
        assert jitrt.jit(function)(V, 0.5) is function(V, 0.5)


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, -1, None, ()])
@pytest.mark.parametrize(
    "fold", [np.any, np.all, np.sum, np.prod, np.max, np.min, np.count_nonzero, np.mean], ids=lambda f: f.__name__
)
def test_reductions_of_scalars_along_an_axis(fold, axis, keepdims):
    """NumPy lets some of them pass."""

    def f(x, y):
        return fold(x[0] + y, axis=axis, keepdims=keepdims)

    for x, y in ((np.arange(3.0), 1.5), (np.arange(3), np.float32(2)), (np.zeros(2, bool), np.array(0.0))):
        try:
            want = f(x, y)
        except ValueError:  # np.exceptions.AxisError
            with pytest.raises(ValueError):
                jitrt.jit(f)(x, y)
            continue
        got = jitrt.jit(f)(x, y)
        assert got == want and type(got) is type(want)


REFUSED_BY_PYTHON = ["'a' + 1", "sum(['a'])", "sum(['a'], 'b')", "(1,) + 1", "(1, 2) // 2", "'%d' % 'a'", "'a' - 'b'"]


@pytest.mark.parametrize("text", REFUSED_BY_PYTHON)
def test_what_python_refuses_in_loops(text, tmp_path):
    path = tmp_path / "refused.py"
    path.write_text(f"def f(x):\n    for k in range(2):\n        x[k] += 1\n        y = {text}\n    return x, y\n")
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    fast = jitrt.jit(scope["f"])
    for _ in range(3):
        x, y = np.zeros(3), np.zeros(3)
        with pytest.raises(TypeError) as want:
            scope["f"](x)
        with pytest.raises(TypeError) as got:
            fast(y)
        assert str(got.value) == str(want.value) and np.array_equal(x, y)


@pytest.mark.parametrize("value", [None, "1.5", [1.0, None]])
def test_values_of_other_kinds_in_loops(value):
    def stores(x):
        for k in range(len(x)):
            x[k, 1:] = value
        return x.sum()

    x, y = np.ones((3, 4)), np.ones((3, 4))
    try:
        want = stores(y)
    except Exception as error:
        with pytest.raises(type(error)):
            jitrt.jit(stores)(x)
    else:
        np.testing.assert_array_equal(jitrt.jit(stores)(x), want)
    np.testing.assert_array_equal(x, y)
