"""Boolean indices: selections where no gather is needed, and results of any shape."""

import warnings

import numpy as np
import pytest
from test_mutation import assert_equal

import jitrt

RNG = np.random.default_rng(0)
VALUES = [RNG.normal(size=(6, 5)) for _ in range(4)] + [-np.ones((6, 5)), np.ones((6, 5))]


def update(x):
    x[x > 0] += 1
    x[x < -1] *= 0.5
    return x


def function_of_chosen(x):
    x[x > 0.5] = np.sqrt(x[x > 0.5]) * 2 - 1
    mask = x < 0
    x[mask] = -x[mask] + x[mask] ** 2
    return x


def kept_mask(x):
    negative = x < 0
    y = x.copy()
    y[negative] = 0
    y[~negative] = np.minimum(y[~negative], 0.5)
    return y, negative


def chosen_rows(x):
    rows = x[:, 0] > 0
    x[rows] = x[rows] * 10 + 1
    x[rows, 1:3] = 0
    return x


def through_a_view(x):
    part = x[1:-1, ::2]
    part[part > 0] = 7
    part.T[part.T < 0] -= 3
    return x


def sums(x):
    return x[x > 0].sum(), np.sum(x[x < 0] * 2), (x > 0).sum(), np.any(x[x > 1] > 2), np.count_nonzero(x > 0)


def other_masks(x):
    chosen = x[x > 0] + 1
    x[x > 1] = 0
    x[(x < 0) & (x > -1)] = x[(x < 0) & (x > -1)] * 2
    chosen *= 2
    return x, chosen


def shapes(x):
    positive = x[x > 0]
    return len(positive), positive.shape, positive.size, positive


def sorted_chosen(x):
    found = np.sort(x[x > 0])[::-1]
    return found[:2] if len(found) > 2 else found


def positions(x):
    rows, columns = np.nonzero(x > 0.5)
    x[rows, columns] = -1
    return x, np.where(x[0] < 0)[0], np.argwhere(x > 0), np.flatnonzero(x < 0)


def distinct(x):
    values, counts = np.unique(np.round(x), return_counts=True)
    return values * 2, counts.max(), values[counts == counts.max()]


def assigned_array(x):
    mask = x > 0
    x[mask] = np.arange(mask.sum()) * 1.0
    return x


def mask_of_another_dtype(x):
    y = np.zeros(x.shape, np.float32)
    y[x > 0] = x[x > 0] * 2
    z = np.zeros(x.shape, int)
    z[x > 0] = x[x > 0]
    return y, z


FUNCTIONS = [
    update, function_of_chosen, kept_mask, chosen_rows, through_a_view, other_masks, shapes, sorted_chosen, positions,
    distinct, assigned_array, mask_of_another_dtype,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_like_numpy(function):
    fast = jitrt.jit(function)
    assert fast.explain(VALUES[0].copy()).plain_reason == ""
    for value in VALUES * 2:
        mine, plain = value.copy(), value.copy()
        assert_equal(fast(mine), function(plain))
        assert_equal(mine, plain)


def test_sums_of_chosen_elements():
    fast = jitrt.jit(sums)
    for value in VALUES:
        got, want = fast(value), sums(value)
        np.testing.assert_allclose(got, want, rtol=1e-14)
        assert [type(g) for g in got] == [type(w) for w in want]


@pytest.mark.parametrize("function", [update, function_of_chosen, kept_mask, through_a_view])
def test_selections_do_not_gather(function):
    explanation = jitrt.jit(function).explain(VALUES[0].copy())
    assert not explanation.looked_at and not explanation.host_calls


def test_elements_that_are_not_chosen_do_not_warn():
    def logs(x):
        y = np.zeros_like(x)
        y[x > 0] = np.log(x[x > 0])
        return y

    fast = jitrt.jit(logs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in VALUES:
            np.testing.assert_allclose(fast(value), logs(value), rtol=1e-14)
    assert not fast.explain(VALUES[0]).looked_at


def test_a_mask_of_the_wrong_shape():
    def wrong(x):
        return x[np.ones((5, 6)) > 0] + 1

    with pytest.raises(IndexError) as want:
        wrong(VALUES[0])
    with pytest.raises(IndexError) as got:
        jitrt.jit(wrong)(VALUES[0])
    assert str(got.value) == str(want.value)


def test_shapes_that_change_in_every_call():
    def compact(x):
        return np.concatenate([x[x > 0], x[x < 0]]) * 2

    fast = jitrt.jit(compact)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(30):
            value = np.arange(30.0) - k
            assert_equal(fast(value), compact(value))
    assert len(caught) <= 1


def test_products_of_chosen_elements_are_no_elementwise_operation():
    def products(x):
        chosen = x[x > 0]
        return chosen @ chosen, np.matmul(chosen[:2], chosen[:2]), np.vecdot(chosen, chosen)

    compiled = jitrt.jit(products)
    for x in (np.arange(-8.0, 8.0).reshape(4, 4), np.arange(16.0).reshape(4, 4)):
        for got, want in zip(compiled(x), products(x)):
            assert got == pytest.approx(want) and type(got) is type(want)


def test_what_a_mask_chooses_is_gathered_before_results_are_told_apart():
    def several(x, shift):
        table = np.eye(2) - shift
        chosen = x[x > 0.5]
        return table, chosen.sum(), chosen, table

    compiled = jitrt.jit(several)
    for _ in range(3):
        table, _, chosen, again = compiled(np.arange(4.0), 2.0)
        assert table is again and chosen.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("density", [0.0, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("layout", ["whole", "shifted", "strided", "reversed"])
def test_masks_of_any_length_and_place_choose_what_numpy_does(density, layout):
    """Eight elements at once are looked at where a mask lies in memory: its length and address are any."""

    @jitrt.jit
    def chosen(x, m):
        return x[m], x[m].sum(), (1 / x)[m]

    rng = np.random.default_rng(0)
    part = {
        "whole": slice(None),
        "shifted": slice(3, None),
        "strided": slice(1, None, 2),
        "reversed": slice(None, None, -1),
    }
    for n in (*range(20), 64, 1001):
        x, m = rng.random(2 * n + 3)[part[layout]], (rng.random(2 * n + 3) < density)[part[layout]]
        made, total, inverse = chosen(x, m)
        np.testing.assert_array_equal(made, x[m])
        np.testing.assert_allclose(total, x[m].sum(), rtol=1e-12)
        np.testing.assert_allclose(inverse, (1 / x)[m], rtol=1e-15)
    x, m = np.ones(100), np.zeros(100, bool)
    x[50] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        chosen(x, m)
