"""Arrays that are mapped from a file, byte-swapped, not aligned, read-only or borrowed: what NumPy gives for them."""

import itertools
import mmap

import numpy as np
import pytest

import jitrt

FUNCTIONS = {}


def example(function):
    FUNCTIONS[function.__name__] = function
    return function


class Holder:
    """An object that holds an array."""

    def __init__(self, x):
        self.x = x


for expression in """
np.sqrt(x * x + 1.0) * 2 - x
x
x[1:]
x[::2, 1:] + 1, x[0], x[0, 1]
x.T
x.T.reshape(-1)
x.reshape(-1), x.ravel()
x.transpose().ravel(), x.squeeze()
x.copy()
x.copy() * 2
x.astype(np.float32)
x.astype(np.float32) + 1
x.astype(np.float64, copy=False)
np.asarray(x)
np.asarray(x)[1:], np.asarray(x) * 2
np.asarray(x, dtype=np.float64) * 2
np.array(x)
np.array(x) + 1
np.ascontiguousarray(x) + 1
np.asanyarray(x)[1]
x.dtype == np.float64
np.zeros(3, x.dtype) + x[0, 0]
np.zeros_like(x)
np.zeros_like(x) + x
np.empty(x.shape) * 0 + x
np.sum(x), x.sum(axis=0), x.mean(1), np.std(x, axis=0, keepdims=True), x.max(), np.min(x, axis=1)
x.argmax(), x.argmin(axis=0)
np.concatenate([x, x]), np.stack([x, x * 2]), np.vstack((x, x[0]))
np.where(x > 1, x, 0.0)
x[x > 1]
x[x > 1].sum()
x[[0, 1]], x[np.array([1, 0])]
x @ x.T, np.dot(x, x.T)
np.cumsum(x), np.add.accumulate(x, axis=1), np.add.reduce(x), np.multiply.outer(x[0], x[1])
np.clip(x, 0.2, 0.8), x.clip(0.1, 0.5), x.round(1)
np.maximum(x, x.mean()), abs(x), -x, x ** 2, 1 / (x + 3), x > 1
np.sort(x), np.median(x), np.linalg.norm(x)
isinstance(x, np.memmap), isinstance(x, np.ndarray), x.shape, x.ndim, x.size, len(x), x.itemsize
float(x[0, 0]), x[0, 0].item(), x.sum().item()
x.tolist()
str(x[0]), repr(x[0])
np.real(x), x.real, x.imag
np.flip(x), x[::-1, ::-1]
np.diff(x), np.gradient(x[0])
np.broadcast_to(x[0], (4, 5)), np.tile(x, 2), np.repeat(x, 2), np.roll(x, 1)
{"a": x + 1, "b": x[0], "c": [x.sum()]}
x.conj(), np.conjugate(x)
x.flat[3], list(x.flat)[:2]
np.outer(x[0], x[1]), np.einsum("ij,ij->i", x, x)
[row.sum() for row in x], [row for row in x]
np.interp(x, [0.0, 1.0], [3.0, 4.0])
np.hstack([x[0], 1.0]), np.pad(x, 1), np.split(x, 2, axis=0)
np.array_equal(x, x), np.allclose(x, x + 1e-12), np.isfinite(x).all(), np.any(x > 2)
""".strip().splitlines():
    FUNCTIONS[expression] = eval(f"lambda x: ({expression})", {"np": np})


@example
def adds_in_place(x):
    x *= 2
    x += 1
    return x


@example
def writes_parts(x):
    y = x[1:]
    y[:, 1:] = x[:-1, :-1] * 3
    x[0] = -1
    x[x > 5] = 5
    return y.sum()


@example
def writes_by_out(x):
    np.sqrt(np.abs(x), out=x)
    np.add(x, 1, out=x[0:1], where=True) if False else np.multiply(x[0], 2, out=x[0])
    return x[1] + 1


@example
def fills(x):
    x.fill(3.0)
    x[-1, :] = np.arange(x.shape[1])


@example
def looks(x):
    if x.sum() > 0:
        x[0] = 0
        return x * 2
    return x - 1


@example
def loops(x):
    total = np.zeros(x.shape[1])
    for k in range(x.shape[0]):
        total += x[k] * k
    return total


@example
def rolls(x):
    y = x
    for _ in range(20):
        y = y * 0.5 + x
    return y


@example
def sweeps(x):
    for _ in range(20):
        x[1:-1] = (x[2:] + x[:-2]) / 2
    return x[1]


@example
def sorts_in_place(x):
    x.sort()
    return x


def native(x, path):
    return x


def mapped(x, path):
    made = np.memmap(path, x.dtype, "w+", shape=x.shape)
    made[...] = x
    return made


def mapped_read_only(x, path):
    mapped(x, path).flush()
    return np.memmap(path, x.dtype, "r", shape=x.shape)


def mapped_part(x, path):
    made = np.memmap(path, x.dtype, "w+", shape=(2 * x.shape[0], x.shape[1] + 1))
    made[::2, 1:] = x
    return made[::2, 1:]


def mapped_swapped(x, path):
    return mapped(x.astype(x.dtype.newbyteorder("S")), path)


def swapped(x, path):
    return x.astype(x.dtype.newbyteorder("S"))


def swapped_turned(x, path):
    return np.asfortranarray(swapped(x, path))


def unaligned(x, path):
    made = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    made[...] = x
    return made


def unaligned_column(x, path):
    table = np.zeros(x.shape, np.dtype([("flag", "i1"), ("value", x.dtype)]))
    table["value"] = x
    return table["value"]


def read_only(x, path):
    made = x.copy()
    made.flags.writeable = False
    return made


def borrowed(x, path):
    return np.frombuffer(bytearray(x.tobytes()), x.dtype).reshape(x.shape)


def borrowed_read_only(x, path):
    return np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape)


def of_memory_map(x, path):
    memory = mmap.mmap(-1, x.nbytes)
    made = np.frombuffer(memory, x.dtype).reshape(x.shape)
    made[...] = x
    return made


FORMS = [
    mapped, mapped_read_only, mapped_part, mapped_swapped, swapped, swapped_turned, unaligned, unaligned_column,
    read_only, borrowed, borrowed_read_only, of_memory_map,
]  # fmt: skip


def outcome(function, *args):
    """What a call returns or raises."""
    try:
        return function(*args)
    except Exception as error:
        return type(error)


def compare(got, want, given, expected):
    """Whether results are of the same classes, dtypes and values, and share memory with the argument alike."""
    assert type(got) is type(want)
    if isinstance(want, (list, tuple, dict)):
        pairs = zip(got.values(), want.values()) if isinstance(want, dict) else zip(got, want)
        assert len(got) == len(want)
        for one, other in pairs:
            compare(one, other, given, expected)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert got.dtype == want.dtype and got.dtype.byteorder == want.dtype.byteorder
        np.testing.assert_allclose(np.asarray(got, want.dtype.newbyteorder("=")), want, rtol=1e-5, atol=1e-12)
        if isinstance(want, np.ndarray):
            assert np.may_share_memory(got, given) == np.may_share_memory(want, expected)
            assert [s for s, n in zip(got.strides, got.shape) if n > 1] == [
                s for s, n in zip(want.strides, want.shape) if n > 1
            ]
    elif isinstance(want, float):
        assert got == pytest.approx(want, rel=1e-5)
    else:
        assert got == want


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_numpy(name, form, tmp_path):
    function = FUNCTIONS[name]
    fast = jitrt.jit(function)
    values = np.random.default_rng(5).normal(size=(6, 5)) + 0.5
    for repeat in range(3):
        dtype = np.float32 if repeat == 2 else np.float64
        given = form(values.astype(dtype), tmp_path / f"given{repeat}")
        expected = form(values.astype(dtype), tmp_path / f"expected{repeat}")
        got, want = outcome(fast, given), outcome(function, expected)
        compare(got, want, given, expected)
        compare(given[...], expected[...], given, expected)


@pytest.mark.parametrize(
    "form", [mapped, mapped_part, swapped, unaligned, read_only, borrowed], ids=lambda f: f.__name__
)
def test_such_arrays_run_compiled(form, tmp_path):
    fast = jitrt.jit(lambda x, w: (np.sqrt(x * x + w) * 2 - x).sum(axis=0))
    x, w = np.random.default_rng(5).normal(size=(60, 50)), np.ones(50)
    for k in range(3):
        value = form(x + k, tmp_path / str(k))
        np.testing.assert_allclose(fast(value, w), (np.sqrt(value * value + w) * 2 - value).sum(axis=0), rtol=1e-12)
        assert fast.plain_reason == ""
    assert fast.cache_info().slow_calls == 1
    fast(x, w)
    assert fast.cache_info().compiled == (1 if form is borrowed else 2) and fast.plain_reason == ""


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_arrays_in_objects_lists_and_beside_others(form, tmp_path):
    def function(holder, values, y):
        holder.x[0] = values[1] if holder.x.flags is None else 0.5
        return {"sum": holder.x.sum(axis=0) + y, "first": values[0]}

    def reads(holder, values, y):
        return {"sum": holder.x.sum(axis=0) + y, "first": values[0], "all": values[0] * values[1][0]}

    x = np.random.default_rng(5).normal(size=(6, 5))
    numbers = itertools.count()
    for plain in (reads,):
        fast = jitrt.jit(plain)
        for _ in range(3):
            given, expected = (form(x, tmp_path / str(next(numbers))) for _ in range(2))
            got = fast(Holder(given), [given, given], x[0])
            want = plain(Holder(expected), [expected, expected], x[0])
            compare(got, want, given, expected)


TABLE = np.ones((6, 5))


def uses_table(x):
    return x * TABLE + TABLE[0]


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_captured_arrays(form, tmp_path):
    global TABLE
    before = TABLE
    fast = jitrt.jit(uses_table)
    x = np.random.default_rng(5).normal(size=(6, 5))
    try:
        for k in range(4):
            TABLE = form(x + k, tmp_path / str(k)) if k != 2 else before
            for _ in range(2):
                compare(fast(x), uses_table(x), x, x)
                if TABLE.flags.writeable:
                    TABLE[1] += 1
    finally:
        TABLE = before


def test_files_are_opened_in_every_call(tmp_path):
    path = tmp_path / "values"

    def reads(x):
        table = np.memmap(path, np.float64, "r", shape=(5,))
        return table * x

    def makes(x):
        table = np.memmap(tmp_path / "made", np.float64, "w+", shape=(5,))
        table[:] = x * 2
        return table

    for function in (reads, makes):
        fast = jitrt.jit(function)
        for k in range(4):
            np.full(5, k + 0.5).tofile(path)
            x = np.arange(5.0) + k
            got = fast(x)
            want = function(x)
            assert type(got) is type(want)
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(np.fromfile(tmp_path / "made"), x * 2) if function is makes else None


def test_arrays_that_share_memory(tmp_path):
    def shifts(x, y):
        x[1:] = y[:-1] * 2
        return x

    for form in (mapped, swapped, unaligned):
        fast = jitrt.jit(shifts)
        for k, alike in enumerate((False, True, False)):
            given, expected = (form(np.arange(20.0).reshape(4, 5), tmp_path / f"{k}{n}") for n in "ab")
            others = [v if alike else v.copy() for v in (given, expected)]
            compare(fast(given, others[0]), shifts(expected, others[1]), given, expected)
            compare(fast(given[:3], given[1:]), shifts(expected[:3], expected[1:]), given, expected)
