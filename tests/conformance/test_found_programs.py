"""Short functions that once gave something else than NumPy, most of them found by the random programs."""

import numpy as np
import pytest
from compare import assert_same

import jitrt


def clips_below_the_range(x):
    return np.clip(x, -1, 7), x.clip(0, 300), np.clip(x, -5, 999)


def returns_a_number(x, s=0.5):
    return s, x[:]


def returns_views_of_one_argument(x):
    y = x.real
    return y, y.real, x.ravel()


@pytest.mark.parametrize(
    "function",
    [lambda x: np.zeros(x[x > 0.5].size), lambda x: x * len(np.unique(x)), lambda x: (x[x > 1], x + 1)[1]],
    ids=["size", "length", "unused"],
)
def test_shapes_that_depend_on_values(function):
    compiled = jitrt.jit(function)
    for x in (np.arange(4.0), np.arange(4.0) + 1, np.zeros(4), np.arange(4.0)):
        for _ in range(2):
            assert_same(compiled(x), function(x))


def test_an_array_that_has_the_value_of_a_scalar_that_numpy_computes():
    """The choice between one scalar and itself is that scalar, but an array."""

    def f(x):
        total = x.sum().sum(axis=0)
        chosen = np.where(total > 0, total, total)
        return chosen, chosen.prod(axis=None), total

    compiled = jitrt.jit(f)
    for x in (np.arange(4.0), np.arange(4.0) - 9):
        for _ in range(2):
            got, want = compiled(x), f(x)
            assert_same(got, want)
            assert [type(g) for g in got] == [type(w) for w in want]


def test_a_single_element_that_is_flipped_is_a_scalar():
    def f(x):
        one = np.roll(x.sum() > 1, 1)
        return one, np.flip(one), np.flip(x.sum()), np.flip(x)

    compiled = jitrt.jit(f)
    for _ in range(2):
        got, want = compiled(np.arange(4.0)), f(np.arange(4.0))
        assert_same(got, want)
        assert [type(g) for g in got] == [type(w) for w in want]


def test_a_call_whose_result_nobody_uses_raises():
    def f(x):
        np.linalg.inv(x)
        return x + 1

    compiled = jitrt.jit(f)
    assert_same(compiled(np.eye(2)), f(np.eye(2)))
    with pytest.raises(np.linalg.LinAlgError):
        compiled(np.zeros((2, 2)))


def test_an_argument_given_twice_that_only_later_calls_write():
    def f(x, y, s):
        if s < 0:
            y[[0, 1]] *= 2
        return x - 0.5

    compiled = jitrt.jit(f)
    for s in (0.5, -0.5, 0.5, -0.5):
        x, y = np.arange(4.0), np.arange(4.0)
        assert_same(compiled(x, x, s), f(y, y, s))
        assert_same(x, y)


def writes_what_does_not_fit(x):
    y = x / 3.0
    y[[1, 1, 0]] = y
    return x


def test_an_assignment_that_nobody_reads_raises():
    with pytest.raises(ValueError, match="shape mismatch"):
        jitrt.jit(writes_what_does_not_fit)(np.ones((4, 4)))


def chosen_by_truth_values(x):
    one = x[..., 0]
    return one[one > 0], x[True], x[x[0] > 5]


def choices_out_of_range(x):
    return np.where(x > 2, x, -1), np.where(x > 2, 300, x), np.where(x > 2, x, 2.5)


def extremes_of_literals(x):
    y = x + 1
    y[...] = np.zeros(2, complex).max()
    return y


def copies_of_what_is_read_backwards(x):
    y = x[::-1].astype(float)
    return y.ravel(), y, np.swapaxes(y, 0, -1)


def updates_nothing(x):
    x[3:, ::-1] = x[3:, ::-1] * 0.5
    return x.reshape(-1)


CASES = [
    (updates_nothing, (np.asfortranarray(np.arange(6.0).reshape(3, 2)),)),
    (choices_out_of_range, (np.array([1, 2, 3, 4], np.uint8),)),
    (extremes_of_literals, (np.ones(2, complex),)),
    (copies_of_what_is_read_backwards, (np.arange(3.0),)),
    (chosen_by_truth_values, (np.array([1.0, 2.0]),)),
    (clips_below_the_range, (np.arange(9, dtype=np.uint8),)),
    (returns_a_number, (np.arange(3.0), 0.25)),
    (returns_views_of_one_argument, (np.arange(3.0),)),
]


@pytest.mark.parametrize("function, args", CASES, ids=[c[0].__name__ for c in CASES])
def test_agrees(function, args):
    compiled = jitrt.jit(function)
    for _ in range(3):
        copies = [a.copy("K") if isinstance(a, np.ndarray) else a for a in args]
        originals = [a.copy("K") if isinstance(a, np.ndarray) else a for a in args]
        assert_same(compiled(*copies), function(*originals))
        assert_same(copies, originals)
    assert not compiled.explain(*copies).plain_reason
