"""Rules that reassociate, that are switched off, and that are counted."""

import numpy as np
import pytest

import jitrt


def _operations(function, *args):
    nodes = function.explain(*args).compiled.stages[-1][1].nodes()
    return [n.op.name for n in nodes if n.args and n.op.name != "broadcast_to"]


@pytest.mark.parametrize("dtype", ["i8", "u1", "i2", "f8", "b1"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x + 1) + 2,
        lambda x: 100 + (50 + x),
        lambda x: (x * 7) * 3 * 5,
        lambda x: ((x + 1) + 2) * 3 * (x + 1),
    ],
)
def test_literals_meet_in_integers_alone(function, dtype):
    x = np.arange(-20, 20).astype(dtype)
    compiled = jitrt.jit(function)
    expected = function(x)
    found = compiled(x)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    if found.dtype.kind == "f":
        assert "reassociate" not in compiled.explain(x).rules
    elif dtype != "b1":
        assert "reassociate" in compiled.explain(x).rules


def test_a_sum_of_literals_wraps_without_a_warning():
    big = 2**62
    compiled = jitrt.jit(lambda x: (x + big) + big)
    x = np.arange(3)
    np.testing.assert_array_equal(compiled(x), (x + big) + big)


def test_a_scalar_warns_where_numpy_does():
    compiled = jitrt.jit(lambda x: (x + np.int8(100)) + np.int8(100))
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert compiled(np.int8(5)) == np.int8(-51)
    assert "reassociate" not in compiled.explain(np.int8(5)).rules


def test_rules_are_switched_off_by_name(monkeypatch):
    x = np.arange(5)

    def function(x):
        return (x + 1) + 2

    assert _operations(jitrt.jit(function), x) == ["add"]
    monkeypatch.setenv("JITRT_RULES_OFF", "reassociate, add_zero")
    off = jitrt.jit(lambda x: (x + 1) + 2)
    assert _operations(off, x) == ["add", "add"]
    np.testing.assert_array_equal(off(x), x + 3)
    scaled = jitrt.jit(lambda x: x * (np.array([1.0, 2.0, 3.0]) * 2.0))
    y = np.ones(3)
    assert _operations(scaled, y) == ["multiply"] and scaled.explain(y).rules["fold_arrays"] == 1
    monkeypatch.setenv("JITRT_RULES_OFF", "fold_arrays,fold_constants,hoist_broadcast")
    unfolded = jitrt.jit(lambda x: x * (np.array([1.0, 2.0, 3.0]) * 2.0))
    assert _operations(unfolded, y) == ["multiply", "multiply"]
    np.testing.assert_array_equal(unfolded(y), [2.0, 4.0, 6.0])
