"""Arrays that never change are constants of what reads them."""

import gc
import weakref

import numpy as np
import pytest

import jitrt
from jitrt.values.frozen import is_frozen

W = jitrt.frozen(np.arange(12.0).reshape(4, 3))
LAYERS = [jitrt.frozen(np.full((3, 3), k + 1.0, np.float32)) for k in range(3)]


def test_a_frozen_array_cannot_be_written():
    array = np.ones(3)
    found = jitrt.frozen(array)
    assert np.shares_memory(found, array) and is_frozen(found) and is_frozen(found[1:]) and not is_frozen(array)
    assert jitrt.frozen(found) is found
    for view in (found, found[1:], found.reshape(3, 1)):
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.flags.writeable = True
    assert not is_frozen(found.copy()) and not is_frozen(found + 1)
    with pytest.raises(TypeError, match="objects"):
        jitrt.frozen(np.array([object()]))


def test_it_lives_as_long_as_it_is_used():
    found = jitrt.frozen(np.ones(1000))
    reference = weakref.ref(found)
    view = found[5:]
    del found
    gc.collect()
    assert view.sum() == 995
    del view
    gc.collect()
    assert reference() is None


def _last_graph(function, *args):
    explanation = function.explain(*args)
    assert explanation.plain_reason == ""
    return explanation.compiled.stages[-1][1]


@pytest.mark.parametrize("shape", [(3,), (4, 3)])
def test_what_depends_on_captured_ones_alone_is_computed_once(shape):
    @jitrt.jit
    def f(x):
        return x * (np.sqrt(W + 1) / W.sum(axis=0)) + LAYERS[1].mean()

    x = np.ones(shape)
    for _ in range(3):
        np.testing.assert_allclose(f(x), f.__wrapped__(x), rtol=1e-14)
    assert [n.op.name for n in _last_graph(f, x).nodes() if n.args and n.op.name != "broadcast_to"] == [
        "multiply",
        "add",
    ]


def test_as_arguments_they_are_told_apart_by_identity():
    @jitrt.jit
    def f(x, w):
        return x @ (w["a"] * 2 + 1)

    x = np.ones((2, 3))
    weights = [{"a": jitrt.frozen(np.full((3, 2), float(k)))} for k in range(3)]
    for _ in range(3):
        for k, w in enumerate(weights):
            np.testing.assert_array_equal(f(x, w), np.full((2, 2), 3.0 * (2 * k + 1)))
    np.testing.assert_array_equal(f(x, {"a": np.full((3, 2), 5.0)}), np.full((2, 2), 33.0))
    assert f.cache_info().slow_calls <= 5


def test_they_are_returned_as_they_are():
    @jitrt.jit
    def f(x):
        return W, W[1:], x + W, W * 1

    for _ in range(3):
        whole, part, total, product = f(np.ones(3))
        assert whole is W and np.shares_memory(part, W) and not part.flags.writeable
        assert total.flags.writeable and product.flags.writeable
        product[...] = 7
    np.testing.assert_array_equal(W, np.arange(12.0).reshape(4, 3))


def test_writing_into_one_raises_as_without_jit():
    @jitrt.jit
    def f(x):
        W[0] = x
        return W.sum()

    for _ in range(3):
        with pytest.raises(ValueError, match="read-only"):
            f(np.ones(3))


def test_loops_read_them():
    @jitrt.jit
    def f(x, w):
        total = 0.0
        for i in range(len(x)):
            for j in range(w.shape[0]):
                total += x[i] * w[j, 0] + W[j, 1]
        return total

    x = np.linspace(0, 1, 30)
    for _ in range(3):
        assert f(x, W) == pytest.approx(f.__wrapped__(x, W), rel=1e-13)


def test_rebinding_a_global_is_seen():
    namespace = {"np": np, "w": jitrt.frozen(np.ones(3))}
    exec("def f(x):\n    return x * (w + 1)", namespace)
    f = jitrt.jit(namespace["f"])
    assert [f(np.ones(3))[0] for _ in range(3)] == [2.0] * 3
    namespace["w"] = jitrt.frozen(np.full(3, 4.0))
    assert [f(np.ones(3))[0] for _ in range(3)] == [5.0] * 3
    namespace["w"] = np.full(3, 9.0)
    assert f(np.ones(3))[0] == 10.0
    namespace["w"][:] = 1
    assert f(np.ones(3))[0] == 2.0
