"""Arrays that a traced function creates."""

import threading
import warnings

import helpers_elsewhere
import numpy as np
import pytest
from helpers_elsewhere import ramp
from numpy import linspace, ones
from test_mutation import assert_equal, numbers

import jitrt


def check(function, *args):
    fast = jitrt.jit(function)
    assert fast.explain(*args).plain_reason == ""
    for factor in (1.0, 2.5):
        mine = [a * factor if isinstance(a, np.ndarray) else a for a in args]
        plain = [a.copy() if isinstance(a, np.ndarray) else a for a in mine]
        assert_equal(fast(*mine), function(*plain))
        assert_equal(mine, plain)


def written(a, x):
    a[0] = x[0]
    a[-1:] += 1
    return a


x = numbers(5)

CREATED = {
    "zeros": lambda x: written(np.zeros(5), x),
    "zeros of a shape": lambda x: written(np.zeros(x.shape), x),
    "zeros of integers": lambda x: np.zeros((2, 3), int) + x[0],
    "zeros by keyword": lambda x: written(np.zeros(shape=(5,), dtype=np.float32), x),
    "ones": lambda x: written(np.ones(5), x),
    "empty": lambda x: _filled_up(np.empty(5), x),
    "full": lambda x: written(np.full(5, 7.5), x),
    "full of a traced value": lambda x: written(np.full(5, x.sum()), x),
    "full of an integer": lambda x: np.full((2, 2), 3) * x[0],
    "zeros_like": lambda x: written(np.zeros_like(x), x),
    "full_like": lambda x: written(np.full_like(x, 2), x),
    "arange": lambda x: written(np.arange(5.0), x),
    "arange of integers": lambda x: np.arange(2, 12, 2) * x,
    "linspace": lambda x: written(np.linspace(0, 1, 5), x),
    "logspace": lambda x: np.logspace(0, 2, 5) * x,
    "geomspace": lambda x: np.geomspace(1, 16, 5) * x,
    "eye": lambda x: written(np.eye(5), x) * x,
    "identity": lambda x: np.identity(5) + x,
    "tri": lambda x: np.tri(5) * x,
    "tril and triu": lambda x: np.tril(np.outer(x, x)) - np.triu(np.outer(x, x), 1),
    "meshgrid": lambda x: np.meshgrid(np.arange(3.0), np.arange(2.0))[1] * x[0],
    "meshgrid of traced": lambda x: np.meshgrid(x, x * 2)[0] + 1,
    "mgrid": lambda x: np.mgrid[0:2, 0:5][1] * x,
    "ogrid": lambda x: np.ogrid[0:5, 0:5][0] * x,
    "indices": lambda x: np.indices((2, 5))[1] + x,
    "fromfunction": lambda x: np.fromfunction(lambda i, j: i * 10 + j, (2, 5)) + x,
    "array of traced scalars": lambda x: np.array([x[0], x.sum(), 2]) * 3,
    "array of rows": lambda x: np.array([[x[0], 1.0], [2.0, x[1]]]) @ np.array([1.0, x[2]]),
    "array of arrays": lambda x: np.array([x, x * 2], dtype=np.float32),
    "asarray": lambda x: np.asarray(x)[1:] + 1,
    "asarray of integers": lambda x: np.asarray(x, dtype=int) + 1,
    "array is a copy": lambda x: (written(np.array(x), x), x),
    "asarray of a scalar": lambda x: np.asarray(x[0]),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x[::-1]) * 2,
    "lists": lambda x: x * [1, 2, 3, 4, 5],
    "imported by name": lambda x: written(ones(5), x) + linspace(0, 1, 5),
    "in a helper": lambda x: ramp(x) + helpers_elsewhere.ramp(x * 2),
    "captured in a helper's module": lambda x: helpers_elsewhere.weighted(x[:3]),
    "loops over created arrays": lambda x: sum(x[k] * k for k in np.arange(5)),
    "branches on created arrays": lambda x: x if np.arange(3).sum() == 3 and np.zeros(2)[0] < 1 else -x,
    "indices from created arrays": lambda x: x[np.arange(3) + 1] + x[np.arange(5)[2]],
    "created in a comprehension": lambda x: [np.zeros(2) + x[k] for k in range(3)],
    "created in a nested function": lambda x: (lambda n: np.zeros(n) + x[:n])(3),
    "created in a generator": lambda x: list(v + np.zeros(2) for v in x[:2]),  # noqa: C400
}


def _filled_up(a, x):
    a[:] = x
    return a


@pytest.mark.parametrize("name", CREATED)
def test_created(name):
    check(CREATED[name], x)


def test_created_in_a_method():
    class Model:
        @staticmethod
        def run(x):
            out = np.zeros(5)
            out[::2] = x[::2]
            return out

    check(Model.run, x)


def test_created_arrays_are_returned_fresh():
    @jitrt.jit
    def make(x):
        return np.arange(3.0), np.zeros(2), x + 1

    first = make(x)
    first[0][0] = first[1][0] = 99
    assert make(x)[0].tolist() == [0, 1, 2] and make(x)[1].tolist() == [0, 0]


def test_nothing_stays_patched():
    before = np.zeros, np.array, dict(globals()), vars(helpers_elsewhere).copy()
    jitrt.jit(lambda x: ramp(x) + np.zeros(5))(x)
    assert before == (np.zeros, np.array, dict(globals()), vars(helpers_elsewhere).copy())
    assert type(np.zeros(3)) is np.ndarray and type(linspace(0, 1, 3)) is np.ndarray


def test_other_threads_do_not_notice():
    entered, checked = threading.Event(), threading.Event()
    found = []

    def slow(x):
        out = np.zeros(5)
        if len(threading.enumerate()) > 1:
            entered.set()
            checked.wait(10)
        return out + x

    def other():
        entered.wait(10)
        found.append((type(np.zeros(2)), type(np.asarray([1])), type(linspace(0, 1, 2))))
        checked.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert_equal(jitrt.jit(slow)(x), x + 0)
    thread.join()
    assert found == [(np.ndarray,) * 3]


def test_errors_of_creation_are_numpys():
    def negative(x):
        return np.zeros(-3) + x

    with pytest.raises(ValueError) as want:
        negative(x)
    with pytest.raises(ValueError) as got:
        jitrt.jit(negative)(x)
    assert str(got.value) == str(want.value)


def test_callbacks_of_numpy_get_arrays():
    def smooth(row):
        out = np.zeros(row.shape)
        out[1:] = row[1:] - row[:-1]
        return out

    check(lambda a: np.apply_along_axis(smooth, 1, a) + np.zeros((2, 3)), numbers(2, 3))


def test_a_list_that_is_broadcast_is_a_read_only_view():
    for function in (lambda v: np.broadcast_to(v, (1000, 2)), lambda v: np.broadcast_to([1, 2], (3, 2))):
        fast = jitrt.jit(function)
        for _ in range(3):
            got, want = fast([0]), function([0])
            np.testing.assert_array_equal(got, want)
            assert (got.strides, got.flags.writeable) == (want.strides, want.flags.writeable)
    added = jitrt.jit(lambda x: x + np.broadcast_to([1.0, 2.0], (3, 2)))
    np.testing.assert_array_equal(added(np.ones((3, 2))), [[2.0, 3.0]] * 3)


READ_ONLY = {
    "a number": lambda x: np.broadcast_to(x.sum(), (2, 3)),
    "of no axes": lambda x: np.broadcast_to(x.sum(), ()),
    "as it is": lambda x: np.asarray(np.broadcast_to(x.sum(), (2, 3)), np.float64),
    "with its class": lambda x: np.asanyarray(np.broadcast_to(x.sum(), (2, 3))),
    "turned": lambda x: np.broadcast_to(x.sum(), (2, 3)).T,
    "of the same shape": lambda x: np.ascontiguousarray(np.broadcast_to(x + 1, (3,)), np.float64),
    "a part": lambda x: np.broadcast_to(x + 1, (3,))[1:],
    "of one row": lambda x: np.broadcast_to(x + 1, (1, 3)),
    "next to its array": lambda x: (y := x + 1, np.broadcast_to(y, (3,))),
    "copied": lambda x: np.asarray(np.broadcast_to(x.sum(), (2, 3)), np.float32),
    "copied for its order": lambda x: np.ascontiguousarray(np.broadcast_to(x.sum(), (2, 3))),
    "several": lambda x: np.meshgrid(x + 1, x.sum(), copy=False),
}


@pytest.mark.parametrize("function", READ_ONLY.values(), ids=READ_ONLY)
def test_what_is_broadcast_is_writable_where_numpy_copies(function):
    def of_result(made):
        parts = made if isinstance(made, (tuple, list)) else (made,)
        return [(p.strides, p.flags.writeable, p.flags.owndata, p.tolist()) for p in parts]

    fast = jitrt.jit(function)
    for x in (np.arange(3.0), np.ones(3), np.ones(3)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's of flags that will be others
            assert of_result(fast(x)) == of_result(function(x))


def test_what_a_number_is_broadcast_to_is_not_written():
    @jitrt.jit
    def write(x):
        y = np.broadcast_to(x.sum(), (2, 3))
        y[0] = 1
        return y

    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            write(np.ones(3))


PAIR = [("a", "f8"), ("b", "f4")]
OF_NUMBERS = {
    "records": lambda s, n: np.array([(s, 2.0), (n, s)], dtype=PAIR),
    "a record": lambda s, n: np.array((s, n), dtype=PAIR),
    "computed": lambda s, n: np.asarray([(np.arange(3.0)[1] * s, 2.0)], dtype=PAIR),
    "of an array": lambda s, n: np.array(np.ones(2) * s, dtype=PAIR),
    "full": lambda s, n: np.full(2, (s, n), dtype=PAIR),
    "texts": lambda s, n: np.array([s, n], dtype="U8"),
    "bytes": lambda s, n: np.array([n, s], dtype="S8"),
    "a text": lambda s, n: np.array(n, dtype="U8"),
    "pairs": lambda s, n: np.array([(s, n), (n, s)], dtype="(2,)f8"),
    "objects": lambda s, n: np.array([s, n], dtype=object),
    "spans": lambda s, n: np.array([n, n], dtype="m8[s]"),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_arrays_of_other_things_than_numbers_made_of_numbers(name):
    """A tuple may be a record, and the text of an integer is not that of a float."""
    function = OF_NUMBERS[name]
    for s, n in ((1.5, 2), (2.0, 3), (0.1, True)):
        got, want = jitrt.jit(function)(s, n), function(s, n)
        assert got.dtype == want.dtype
        assert repr(got) == repr(want)


@pytest.mark.parametrize("order", ["A", "C", "F", "K"])
@pytest.mark.parametrize("copy", [None, False, np.False_, 0, np._CopyMode.NEVER])
def test_arrays_that_are_no_copies(order, copy):
    def f(x):
        made = np.array(x, copy=copy, order=order)
        made[0] = 7.0
        return made

    def outcome(function, x):
        try:
            made = function(x)
        except ValueError as error:
            return str(error), x
        return np.shares_memory(made, x), made.flags.c_contiguous, made.flags.f_contiguous, x

    fast = jitrt.jit(f)
    full = np.arange(81.0).reshape(9, 9)
    for x in (full, full.T, full[::2, ::2], full[:, :1], full[::2, ::2]):
        got, want = outcome(fast, x.copy("K")), outcome(f, x.copy("K"))
        assert got[:-1] == want[:-1] and np.array_equal(got[-1], want[-1])
        base = full.copy()
        got, want = outcome(fast, base[::2, ::3]), outcome(f, full.copy()[::2, ::3])
        assert got[:-1] == want[:-1] and np.array_equal(got[-1], want[-1])


def written_without_axes(x, n):
    total = np.zeros(())
    total[...] = x.sum()
    total += n
    is_large = np.full_like(n, False, dtype=bool)
    np.greater_equal(np.abs(n), 3, where=~np.isnan(n), out=is_large)
    return np.where(is_large, total, -total), is_large


@pytest.mark.parametrize("n", [2, 4, 2.5, 4.5])
def test_arrays_without_axes_that_are_made_may_be_written(n):
    fast, x = jitrt.jit(written_without_axes), np.ones(5)
    for _ in range(3):
        for got, want in zip(fast(x, n), written_without_axes(x, n)):
            assert type(got) is type(want) and np.array_equal(got, want)
