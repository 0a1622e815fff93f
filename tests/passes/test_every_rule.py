"""Each rule applies where it may, not where it may not, and not at all when it is switched off."""

import numpy as np
import pytest

import jitrt
from jitrt.passes import products, simplify

F = np.array([[0.0, -0.0, 1.5, -2.0], [np.nan, np.inf, -np.inf, 0.1], [2.0, 3.0, -1.0, 1e300]])
I = np.array([[0, 1, -1, 7], [-(2**62), 2**62, 3, -3], [2**63 - 1, -(2**63), 5, 6]])  # noqa: E741
S = F[:2].astype(np.float32)
Z = F + 1j
C, D = np.arange(12).reshape(3, 4), np.arange(3).reshape(3, 1)
K = jitrt.frozen(np.arange(12) % 5)

CASES = {  # where the rule applies, and where it does not
    "fold_constants": [(lambda x: x + np.zeros(4) * 3.0, F), (lambda x: x + 3.0, F)],
    "hoist_broadcast": [(lambda x: x + np.zeros((3, 4)) * 2.0, F), (lambda x: x + x * 2.0, F)],
    "merge_broadcasts": [
        (lambda x: np.broadcast_to(np.broadcast_to(x[0], (3, 4)), (2, 3, 4)) + 1.0, F),
        (lambda x: np.broadcast_to(x[0], (3, 4)) + 1.0, F),
    ],
    "literal_last": [
        [(lambda x: 2.0 * x, F), (lambda x: (2 + x) * (x + 2), I)],
        [(lambda x: x * 2.0, F), (lambda x: (0.3 + 0.7j) * x, Z)],
    ],
    "reassociate": [
        [
            (lambda x: (x + 1) + 2, I),
            (lambda x: 1 + (2 + x), I),
            (lambda x: (x + K.reshape(3, 4)) + K[:4], I),
            (lambda x: (x + 5) + (x.T.reshape(3, 4) + 7), I),
            (lambda x: ((x + 5) + x * x) + 7, I),
            (lambda x: (x * x + (x + 5)) + 7, I),
            (lambda x: (x - 5) - (7 - x * x), I),
            (lambda x: 3 - (x - 5), I),
            (lambda x: (5 - x) - 7, I),
            (lambda x: (x * 5) * (x[::-1] * 7), I),
            (lambda x: (x - 5) - 7, I.astype(np.uint8)),
            (lambda x: 100 * (x * 3) * 5, I.astype(np.int16)),
        ],
        [
            (lambda x: (x + 1.0) + 2.0, F),
            (lambda x: (x + 1) * 2, I),
            (lambda x: (x + 1) + x, I),
            (lambda x: (x + 1) + 2, np.int64(5)),
            (lambda x: (x + True) + True, I > 0),
            (lambda x: x + K[:3, None] * 1 + x, np.arange(3)),
        ],
    ],
    "multiply_by_one": [(lambda x: x * 1.0, F), (lambda x: x * 2.0, F)],
    "divide_by_power_of_two": [(lambda x: x / 4.0, F), (lambda x: x / 3.0, F)],
    "subtract_zero": [(lambda x: x - 0.0, F), (lambda x: x - -0.0, F)],
    "add_zero": [[(lambda x: x + -0.0, F), (lambda x: x + 0, I)], (lambda x: x + 0.0, F)],
    "small_power": [[(lambda x: x**2, I), (lambda x: np.power(x, 1.0), F)], (lambda x: np.power(x, 2.5), np.abs(F))],
    "inverse_power": [(lambda x: np.power(x, -1.0), F), (lambda x: np.power(x, -3.0), F)],
    "root_as_power": [(lambda x: np.power(x, 0.5), np.abs(F)), (lambda x: np.power(x, 0.25), np.abs(F))],
    "power_by_number": [
        (lambda x, y: x**y, np.abs(F), np.float64(0.5)),
        (lambda x, y: x**y, np.abs(F), np.full((3, 4), 0.5)),
    ],
    "third_power": [(lambda x: x**3, I), (lambda x: x**5, I % 7)],
    "narrow_power": [(lambda x: x ** np.float32(3), S), (lambda x: x ** np.float32(3.5), np.abs(S))],
    "drop_identity": [(lambda x: np.conjugate(+x), F), (lambda x: np.conjugate(x), Z)],
    "square_as_product": [(lambda x: np.square(x[:2]), F), (lambda x: np.square(x[:1]), Z)],
    "drop_involution": [[(lambda x: np.negative(np.negative(x)), F), (lambda x: ~~x, I)], (lambda x: -np.abs(-x), F)],
    "decided_where": [
        [(lambda x: np.where(np.ones(4) > 0, x, -x), F), (lambda x: np.where(x > 0, x * 2, 2 * x), F)],
        (lambda x: np.where(x > 0, x, -x), F),
    ],
    "decided_branch": [
        [
            (lambda x: jitrt.cond(np.array([1.0])[0] > 0, np.negative, np.square, x), F),
            (lambda x: jitrt.cond(np.array([1.0])[0] < 0, np.negative, lambda x: x.T.reshape(3, 4) * x, x), I),
            (lambda x: jitrt.cond(np.array([1, 2]).sum() > 2, lambda x: x, lambda x: x + 1, x), F),
        ],
        (lambda x: jitrt.cond(x[0, 2] > 0, np.negative, np.square, x), F),
    ],
    "merge_transposes": [
        [(lambda x: x.T.T + 1.0, F), (lambda x: x[None].transpose(1, 2, 0).transpose(2, 1, 0) + 1.0, F)],
        (lambda x: x.T + 1.0, F),
    ],
    "merge_reshapes": [
        [
            (lambda x: x.reshape(12).reshape(4, 3) + 1.0, F),
            (lambda x: x.reshape(3, -1) + 1.0, F),
        ],
        (lambda x: x.reshape(2, 6) + 1.0, F),
    ],
    "merge_slices": [
        [
            (lambda x: x[1:][:, ::-1] + 1.0, F),
            (lambda x: x[::-1][::2, 1] + 1.0, F),
            (lambda x: x[:, 3:0:-1][..., ::-2] + 1.0, F),
            (lambda x: x[2][1:][-1:] + 1.0, F),
            (lambda x: x[:, :][:] + 1.0, F),
            (lambda x: x[::-1][::-1] + 1.0, F),
            (lambda x: x[2:1][:, 1] + 1.0, F),
        ],
        [(lambda x: x[1:] + 1.0, F), (lambda x: x[:, None][1:] + 1.0, F)],
    ],
    "slice_of_part": [
        [
            (lambda x, y: np.concatenate([x, y])[3:5] * 2.0, F, F[::-1]),
            (lambda x, y: np.concatenate([x, y], 1)[::2, 6:3:-1] * 2.0, F, F[::-1]),
            (lambda x, y: np.stack([x, y])[1] * 2.0, F, F[::-1]),
            (lambda x, y: np.pad(x, 1, constant_values=7)[1:-1, 1:-1] + y, F, F),
        ],
        [
            (lambda x, y: np.concatenate([x, y])[2:5] * 2.0, F, F),
            (lambda x, y: np.concatenate([x, y * 2.0])[3:] * 2.0, F, F),
        ],
    ],
    "product_of_zeros": [
        [(lambda x: x @ np.zeros((4, 2), int), I), (lambda x: np.einsum("ij,kj->ik", np.zeros((5, 4), int), x), I)],
        [(lambda x: x @ np.zeros((4, 2)), F[2:]), (lambda x: x @ np.ones((4, 2), int), I)],
    ],
}


def _rules(case):
    """How often rules fire in a call, after checking that it has NumPy's bits."""
    function, *args = case
    compiled = jitrt.jit(lambda *args: function(*args))
    with np.errstate(all="ignore"):
        expected, found = function(*args), compiled(*args)
        fired = compiled.explain(*args).rules
    assert (type(found), found.dtype, found.shape) == (type(expected), expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=5e-16 if found.dtype.kind == "f" else 0)  # powers
    if found.dtype.kind == "f":
        some = ~np.isnan(found)
        np.testing.assert_array_equal(np.signbit(found[some]), np.signbit(expected[some]))
    return fired


def _listed(cases):
    return cases if isinstance(cases, list) else [cases]


def test_the_table_has_every_rule():
    assert set(CASES) == {r.key for r in simplify.RULES + products.RULES}


@pytest.mark.parametrize("key", CASES)
def test_it_applies_and_is_switched_off(key, monkeypatch):
    for case in _listed(CASES[key][0]):
        assert _rules(case).get(key), case
    monkeypatch.setenv("JITRT_RULES_OFF", key)
    for case in _listed(CASES[key][0]):
        assert key not in _rules(case)


@pytest.mark.parametrize("key", CASES)
def test_it_does_not_apply_elsewhere(key):
    for case in _listed(CASES[key][1]):
        assert key not in _rules(case), case
