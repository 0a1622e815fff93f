"""What is computed at once, and what is kept, where programs go on with scalars."""

import warnings

import numpy
import pytest

import jitrt.numpy as np
from jitrt.numpy import pending
from jitrt.numpy.pending import PENDING

pytestmark = [pytest.mark.parametrize("limit", [None], indirect=True), pytest.mark.filterwarnings("default")]
ELEMENTS = numpy.random.default_rng(20).random(40_000)


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "any", "all"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?", "c16"])
def test_folds_of_known_arrays_are_numpys(name, dtype):
    values = (ELEMENTS * 7).astype(dtype) if name != "prod" else (ELEMENTS < 2).astype(dtype)
    x = np.array(values)
    before = PENDING.computed
    for got, want in (
        (getattr(x, name)(), getattr(values, name)()),
        (getattr(np, name)(x), getattr(numpy, name)(values)),
    ):
        assert type(got) is type(want)
        assert got.tobytes() == want.tobytes()
    part = getattr(x[1:-1:3], name)()
    assert part.tobytes() == getattr(values[1:-1:3], name)().tobytes()
    assert PENDING.computed == before


def test_folds_of_what_is_pending_fuse():
    x = np.array(ELEMENTS)
    before = PENDING.computed
    got = (x * 2 + 1).sum()
    assert type(got) is numpy.float64
    assert PENDING.computed == before + 1
    assert numpy.isclose(got, (ELEMENTS * 2 + 1).sum(), rtol=1e-14)


def test_folds_with_options_are_as_with_numpy():
    x = np.array(ELEMENTS)
    for options in ({"keepdims": True}, {"axis": 0}, {"dtype": numpy.float32}, {"where": ELEMENTS > 0.5}):
        assert numpy.allclose(numpy.asarray(x.sum(**options)), ELEMENTS.sum(**options), rtol=1e-6)


def test_graphs_of_parts_are_found_again(monkeypatch):
    """Of ``(x - m) / x.std()`` the difference is pending while the deviation is computed."""
    x = np.array(ELEMENTS)
    made = []
    graph_from_registers = pending.graph_from_registers

    def counted(*args):
        made.append(args)
        return graph_from_registers(*args)

    monkeypatch.setattr(pending, "graph_from_registers", counted)
    for turn in range(6):
        if turn == 3:
            made.clear()
        got = ((x - x.mean()) / x.std()).compute()
    want = (ELEMENTS - ELEMENTS.mean()) / ELEMENTS.std()
    assert numpy.allclose(got, want, rtol=1e-12)
    assert not made


def test_each_piece_reports_as_its_operations_asked():
    x = np.array(ELEMENTS)
    zeros = np.array(ELEMENTS * 0)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        (x / zeros).compute()
    assert [str(w.message) for w in noted] == ["divide by zero encountered in divide"]
    with numpy.errstate(divide="ignore"):
        quiet = x / zeros
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert numpy.isinf(quiet.compute()).all()
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            x / zeros
    with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        x / zeros
    with numpy.errstate(all="ignore"):
        assert numpy.isinf((x / zeros).compute()).all()


def test_an_array_that_is_updated_in_place_is_computed_once_a_piece(monkeypatch):
    """It was computed, and copied, as often as it had been updated."""
    x, values = np.array(ELEMENTS), ELEMENTS.copy()
    asked = []
    compute = pending.Pending._compute
    monkeypatch.setattr(
        pending.Pending, "_compute", lambda self, nodes: asked.append(len(nodes)) or compute(self, nodes)
    )
    for k in range(300):
        x += 1e-3 * k
        values += 1e-3 * k
    assert numpy.allclose(numpy.asarray(x), values, rtol=1e-13)
    assert len(asked) > 3
    assert max(asked) == 1


def test_what_gains_nothing_is_not_recorded(monkeypatch):
    """A matrix is factorised by parts that shrink from turn to turn: each turn took ten times as long as NumPy's."""
    monkeypatch.setenv("JITRT_STRICT", "0")

    def reduced(np, a):
        for k in range(1, 120):
            a[k:, k:] -= 0.25 * np.outer(a[k:, 0], a[0, k:])
            assert a[k, k] == a[k, k]  # a look
        return a

    def steady(x):
        for _ in range(120):
            x = np.exp(-x) * 0.5 + 1.0
            assert float(x[0]) > 0.0

    def hardly_large(x):
        for _ in range(120):
            x = x * 0.5
            assert float(x[0]) > 0.0

    values = numpy.random.default_rng(5).random((400, 300))
    want = reduced(numpy, values.copy())
    a, before = np.array(values), PENDING.computed
    numpy.testing.assert_array_equal(reduced(np, a), want)
    assert PENDING.computed - before < 60
    before = PENDING.computed
    steady(np.array(values[0].repeat(200)))
    assert PENDING.computed - before >= 120  # what comes again is recorded
    before = PENDING.computed
    hardly_large(np.array(values[0].repeat(200)))
    assert PENDING.computed - before < 60  # but not what NumPy has done sooner
    before = PENDING.computed
    for _ in range(20):
        numpy.testing.assert_array_equal(reduced(np, np.array(values)), want)
    assert PENDING.computed - before < 600


def test_large_arrays_are_soon_recorded_again(monkeypatch):
    """Where a function has looked at many values of arrays that are hardly large, and then goes on with large ones."""
    monkeypatch.setenv("JITRT_STRICT", "0")
    x, y = np.array(ELEMENTS), np.array(ELEMENTS.repeat(20))
    for _ in range(40):
        assert float((x * 2)[0]) == ELEMENTS[0] * 2
    before, turns = PENDING.computed, 0
    while PENDING.computed == before:
        y = y * 0.5
        float(y[0])
        turns += 1
        assert turns < 200
