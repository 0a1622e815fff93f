"""What it costs to record an operation, and that what is remembered of one is true of the next one."""

import sys

import numpy
import pytest

import jitrt.numpy as np
from jitrt.numpy import parts
from jitrt.numpy.pending import PENDING

ELEMENTS = numpy.random.default_rng(20).random((30, 40))
# Operations of a turn, each recorded by one expression or statement; the limit of functions called for it says "five
# microseconds".
OPERATIONS = [
    "r + x",
    "r * 2.5",
    "2 * r",
    "-r",
    "r > 3",
    "r**2",
    "numpy.exp(r)",
    "np.exp(r)",
    "numpy.maximum(r, x)",
    "r[1:]",
    "r[1:-1, 3]",
    "r[:, None]",
    "r.T",
    "r.reshape(40, 30)",
    "numpy.transpose(r)",
    "r.sum(axis=0)",
    "np.mean(r, axis=1, keepdims=True)",
    "r.astype(numpy.float32)",
    "numpy.where(m, r, x)",
    "r.clip(0, 1)",
    "r.copy()",
    "np.cumsum(r, axis=1)",
    "np.concatenate([r, x])",
    "r.__iadd__(x)",
    "r**2.5",
    "r > 3.0",
    "r + 2j",
    "i % 7",
    "r + small",
    "numpy.add(r, x, out=r)",
    "np.sum(r, axis=0)",
    "np.stack([r, x])",
    "np.where(m, r, 0.0)",
    "np.zeros_like(r)",
    "r @ columns",
    "r.__setitem__(slice(1, None), rows)",
    "r.__setitem__(slice(None), 0.0)",
    "r.__setitem__(m, 0.0)",
]


def functions_called(code, scope):
    """How many functions, Python's and native ones, run while `code` does."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        exec(code, scope)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("text", OPERATIONS)
def test_an_operation_that_comes_again_is_found(text):
    """In calls of functions, of which a hundred take five microseconds: a clock would tell of other things."""
    x = np.array(ELEMENTS)
    scope = {"np": np, "numpy": numpy, "x": x, "i": np.array(ELEMENTS.astype(int)) + 1, "m": x > 0.5, "kept": []}
    scope |= {"small": numpy.arange(40.0), "rows": x[1:], "columns": np.array(ELEMENTS.T)}
    code = compile(f"kept.append({text})", "user", "exec")
    counts = []
    for _ in range(4):  # turns of a loop, each a piece
        PENDING.compute()
        scope["r"] = x + x
        counts.append(functions_called(code, scope))
    assert PENDING.values and counts[-1] <= 75


@pytest.mark.parametrize("limit", [0, None], indirect=True)
@pytest.mark.parametrize("text", ["x.T", "x[1:]", "x[:, ::-1]", "x.reshape(x.shape[::-1])"])
def test_views_of_views_are_one(text, limit):
    """A loop that turns an array over made chains of views as long as it had turns."""

    def turned(x):
        for _ in range(21):
            x = eval(text, {"x": x})
        x[0] = 7.0
        return x

    wide = ELEMENTS.repeat(50, axis=1)
    got = turned(np.array(wide))
    assert numpy.array_equal(got, turned(wide.copy()))
    part = getattr(got, "_part", None)  # small parts are NumPy's
    assert part is None or len(part.region) == 1


def test_parts_that_show_the_same_are_one():
    """A loop that turns an array over, or cuts off one row more in each turn, made each view anew."""
    x = np.array(ELEMENTS.repeat(50, axis=1)) + 1
    assert x.T.T._part is parts.root(x.type, None)
    assert x.T.T.T._part is x.T._part
    assert x[1:][2:]._part is x[1:][1:][1:]._part


def test_each_view_is_another_array():
    x = np.array(ELEMENTS)
    turned = x.T.T
    assert turned is not x
    turned.shape = (1200,)
    assert x.shape == (30, 40)
    turned[0] = -1.0
    assert x[0, 0] == -1.0


def test_views_are_remembered_by_shape_and_strides():
    """The same reshape is a view of one array and a copy of another one."""
    for make in (numpy.array, numpy.asfortranarray):
        want, x = make(ELEMENTS), np.asarray(make(ELEMENTS))
        for shape in (want, x):
            flat = shape.reshape(-1)
            flat[3] = 9.0
        assert numpy.array_equal(x, want)
        y, plain = x + 1, want + 1
        for shape in (plain, y):
            flat = shape.reshape(-1)
            flat[3] = 9.0
        assert numpy.array_equal(y, plain)


@pytest.mark.parametrize(
    ("index", "error"),
    [(numpy.s_[1.0:], TypeError), (numpy.s_[40], IndexError), (numpy.s_[0, 0, 0], IndexError), (1.0, IndexError)],
)
def test_an_index_that_equals_a_good_one_is_none(index, error):
    x = np.array(ELEMENTS) + 1
    assert x[1:].shape == (29, 40) and x[1].shape == (40,)
    with pytest.raises(error):
        x[index]
    assert x[True].shape == (1, 30, 40)
    assert x[numpy.int64(1)].shape == (40,)


def test_numbers_that_are_equal_are_not_the_same():
    x = np.array(ELEMENTS) - 0.5
    for one, two in ((1, 1.0), (1, True), (0.0, -0.0)):
        for value in (one, two):
            got = numpy.full_like(x, value)
            assert repr(got[0, 0]) == repr(numpy.full_like(ELEMENTS, value)[0, 0])
            powers = x**value
            assert (powers.dtype, powers.tolist()) == (
                (numpy.asarray(x) ** value).dtype,
                (numpy.asarray(x) ** value).tolist(),
            )


@pytest.mark.parametrize("dtype", ["c16", "f8", "f2"])
def test_what_was_made_of_an_array_of_others_is_made_of_the_next_one(dtype):
    """Of elements that are not compared each call takes a copy, so the second one must not find the first one's."""
    plain = ELEMENTS.astype(dtype)
    x = np.array(plain)
    for k in range(3):
        plain[0] = k
        got, want = np.concatenate([x + 1, plain]), numpy.concatenate([numpy.asarray(x) + 1, plain])
        plain[0] = -1
        assert numpy.array_equal(got, want)


def test_functions_of_the_user_may_keep_what_they_see():
    x = np.array(ELEMENTS)
    later = x + 1
    kept = []
    numpy.apply_along_axis(lambda row: kept.append(row) or row.sum(), 1, x)
    kept[0][:] = 100.0
    assert numpy.array_equal(later, ELEMENTS + 1)
    assert x[0, 0] == 100.0


def test_what_is_remembered_is_bounded():
    x = np.array(ELEMENTS.repeat(100, axis=0))
    for k in range(1500):
        x[k : k + 5] + 1
    assert len(PENDING.root(x._memory).children) <= parts._MOST_CHILDREN
    for n in range(1, 400):
        np.array(numpy.ones((n, 2)))[:, 0]
    assert len(parts._roots) <= parts._MOST_ROOTS
