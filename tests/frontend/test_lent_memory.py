"""Arrays that NumPy makes of the memory of other objects stay views of it; what it refuses to make, it refuses."""

import array

import numpy as np
import pytest

import jitrt

SIZES = [4, 100_000]


class Interface:
    def __init__(self, values):
        self.values = values

    @property
    def __array_interface__(self):
        return self.values.__array_interface__


class Struct:
    def __init__(self, values):
        self.values = values

    @property
    def __array_struct__(self):
        return self.values.__array_struct__


class Array:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


def lenders(values):
    kept = array.array("d", values.tolist())
    yield from ((made, values) for made in (Interface(values), Struct(values), Array(values), memoryview(values)))
    yield kept, np.frombuffer(kept)


CALLS = [
    lambda x, y: np.asarray(x),
    lambda x, y: np.asanyarray(x) * 1,
    lambda x, y: np.array(x, copy=True) + y[0],
    lambda x, y: np.array(x, copy=False),
    lambda x, y: np.array([x, x]) + y[0],
    lambda x, y: np.asarray(x, order="F"),
]


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.parametrize("writeable", [True, False])
def test_views_of_the_memory_of_others(size, number, writeable):
    values = np.arange(float(size))
    values.flags.writeable = writeable
    call, other = CALLS[number], np.ones(size)
    compiled = jitrt.jit(call)
    for lender, memory in lenders(values):
        for step in range(4):
            want, got = call(lender, other), compiled(lender, other)
            assert got.tobytes() == want.tobytes()
            assert got.flags.writeable == want.flags.writeable
            assert np.shares_memory(got, memory) == np.shares_memory(want, memory)
            if memory.flags.writeable:
                memory[0] = step + 10.0  # which the next call has to see


@pytest.mark.parametrize("size", SIZES)
def test_views_of_the_memory_of_globals(size):
    values = np.arange(float(size))
    for lender, memory in lenders(values):

        @jitrt.jit
        def call(y, lender=lender):
            return np.asarray(lender) + y

        for step in range(4):
            memory[0] = step
            assert call(np.ones(size))[0] == step + 1


@pytest.mark.parametrize("size", [4, 300])
@pytest.mark.parametrize("layout", ["C", "T", "::2", "F"])
@pytest.mark.parametrize("positional", [True, False])
def test_products_into_arrays_that_numpy_refuses(size, layout, positional):
    a, c = np.ones((size, size)), np.zeros((size, 2 * size))
    out = {"C": c[:, :size].copy(), "T": c[:, :size].copy().T, "::2": c[:, ::2], "F": np.zeros_like(a, order="F")}[
        layout
    ]
    call = (lambda a, out: np.dot(a, a, out)) if positional else (lambda a, out: a.dot(a, out=out))
    compiled = jitrt.jit(call)
    for _ in range(3):
        if layout == "C":
            assert compiled(a, out) is out and (out == size).all()
        else:
            with pytest.raises(ValueError, match="not acceptable"):
                compiled(a, out)
            assert not out.any()


@pytest.mark.parametrize("function", [np.zeros, np.ones, np.empty, lambda n, d: np.full(n, 3, d)])
def test_integers_with_fields(function):
    dtype = np.dtype(("i4", [("a", "<i2"), ("b", "<i2")]))
    made = jitrt.jit(lambda: function(4, dtype))()
    assert made.dtype.names == function(4, dtype).dtype.names
    compiled = jitrt.jit(lambda x: x)
    assert compiled(np.zeros(4, dtype)).dtype.names == ("a", "b")


WITH_FIELDS = [
    lambda x, d: x.astype(d),
    lambda x, d: (x * 2).astype(d)["a"],
    lambda x, d: x.astype(d).astype(float),
    lambda x, d: x[0].astype(d),
    lambda x, d: np.array(x, d),
    lambda x, d: np.asarray(x, dtype=d).dtype.names,
    lambda x, d: np.empty_like(x, dtype=d).dtype.names,
    lambda x, d: np.full_like(x, 3, dtype=d),
    lambda x, d: x.sum(dtype=d),
    lambda x, d: np.cumsum(x, dtype=d),
    lambda x, d: np.concatenate([x, x], dtype=d, casting="unsafe"),
    lambda x, d: np.arange(3, dtype=d),
    lambda x, d: np.eye(2, dtype=d),
]


@pytest.mark.wide
@pytest.mark.parametrize("dtype", ["i4", "i8", "f8"])
@pytest.mark.parametrize("number", range(len(WITH_FIELDS)))
def test_casts_to_integers_with_fields(number, dtype):
    fields = np.dtype(("i4", [("a", "<i2"), ("b", "<i2")]))
    function = WITH_FIELDS[number]
    compiled = jitrt.jit(lambda x: function(x, fields))
    x = np.arange(4).astype(dtype)
    for _ in range(2):
        got, want = compiled(x), function(x, fields)
        assert getattr(got, "dtype", None) == getattr(want, "dtype", None)
        assert getattr(got, "dtype", fields).names == getattr(want, "dtype", fields).names
        assert np.array_equal(got, want)


@pytest.mark.wide
@pytest.mark.parametrize("condition", [True, False, np.array([True, False])])
@pytest.mark.parametrize("value", [1e150, -1e300, 1e300j, 1.0, float("inf")])
@pytest.mark.parametrize("dtype", ["f4", "f2", "c8", "f8"])
@pytest.mark.parametrize("size", [2, 20_000])
def test_where_warns_of_numbers_that_overflow(condition, value, dtype, size):
    x = np.resize(np.array([1.0, 2.0], dtype), size)
    c = np.resize(condition, size) if isinstance(condition, np.ndarray) else condition

    def call(c, x):
        return np.where(c, x, value)

    def outcome(function):
        with np.errstate(over="raise"):
            try:
                return function(c, x).tobytes()
            except FloatingPointError as error:
                return str(error)

    compiled = jitrt.jit(call)
    for _ in range(3):
        assert outcome(compiled) == outcome(call)
