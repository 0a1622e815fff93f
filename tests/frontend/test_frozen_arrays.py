"""Arrays that never change are constants of what reads them."""

import gc
import weakref

import numpy as np
import pytest

import jitrt
from jitrt import expr
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


def test_parameters_whose_arrays_never_change():
    @jitrt.jit(frozen="params")
    def f(x, params, scale=2.0):
        return x @ (params["w"] * 2 + 1) + np.sqrt(params["layers"][1]) * scale

    x = np.ones((2, 3))
    made = [{"w": np.full((3, 2), float(k)), "layers": [1, np.full(2, k + 1.0)]} for k in range(3)]
    for _ in range(4):
        for params in made:
            np.testing.assert_allclose(f(x, params), f.__wrapped__(x, params), rtol=1e-14)
            np.testing.assert_allclose(f(x, params=params, scale=x[:, :2]), f.__wrapped__(x, params, x[:, :2]))
    assert f.cache_info().slow_calls <= 12
    operations = [n.op.name for n in _last_graph(f, x, made[0]).nodes() if n.args and n.op.name != "broadcast_to"]
    assert "sqrt" not in operations and operations.count("multiply") == 1  # that of the product of matrices
    assert all(params["w"].flags.writeable for params in made)


def test_frozen_arguments_are_themselves():
    @jitrt.jit(frozen=("w",))
    def f(x, w):
        return w, x + w.sum(), w[1:]

    x, w = np.ones(300), np.arange(300.0)
    for _ in range(4):
        found, total, part = f(x, w)
        assert found is w and np.shares_memory(part, w)
        np.testing.assert_array_equal(total, x + w.sum())
        np.testing.assert_array_equal(part, w[1:])


def test_frozen_arguments_of_every_kind():
    def f(x, w):
        return x * w, (w + w).sum()

    frozen = jitrt.jit(frozen=("w",))(f)
    x = np.arange(40.0)
    kinds = (
        2.5,
        3,
        np.float32(4),
        np.arange(40),
        x[::-1],
        x.astype(">f8"),
        x.astype("f4"),
        np.array(7.0),
        jitrt.frozen(x),
    )
    for _ in range(3):
        for w in kinds:
            for found, expected in zip(frozen(x, w), f(x, w)) if isinstance(w, np.ndarray) else []:
                np.testing.assert_allclose(found, expected)
                assert found.dtype == expected.dtype


def test_frozen_arguments_are_freed():
    f = jitrt.jit(frozen=("w",))(lambda x, w: x * (w + 1))
    w = np.ones(5000)
    reference = weakref.ref(w)
    for _ in range(3):
        f(np.ones(5000), w)
    f.clear()
    del w
    gc.collect()
    assert reference() is None


def test_the_name_of_a_frozen_parameter():
    with pytest.raises(ValueError, match=r"frozen: .* has no parameter 'v'"):
        jitrt.jit(frozen=("v",))(lambda x, w: x)


def test_files_that_are_mapped_into_memory_are_not_copied(tmp_path):
    np.save(tmp_path / "weights.npy", np.arange(6.0).reshape(2, 3))
    weights = np.load(tmp_path / "weights.npy", mmap_mode="r")
    assert np.shares_memory(jitrt.frozen(weights), weights)
    held = expr.literal(weights)
    assert np.shares_memory(held.value, weights)
    assert np.shares_memory(expr.literal(weights.T).value, weights)
    x = np.array([1.0, 2.0, 3.0])
    constant = jitrt.frozen(weights)
    scaled = jitrt.jit(lambda x: (constant * 2.0).T.sum(axis=1) * x)
    for _ in range(3):
        assert np.array_equal(scaled(x), (weights * 2.0).T.sum(axis=1) * x)
    assert np.array_equal(expr.evaluate(held * expr.leaf("x"), x=x), weights * x)
    writable = np.load(tmp_path / "weights.npy", mmap_mode="c")
    assert not np.shares_memory(expr.literal(writable).value, writable)
