"""Products of matrices, which NumPy writes where they are needed: in the frame, or where the result will be."""

import threading

import numpy as np
import pytest

import jitrt


def relu(x, w, b):
    return np.maximum(x @ w + b, 0)


def sigmoid(x, w, b):
    return 1 / (1 + np.exp(-(x.dot(w) / 100 + b)))


def softmax(x, w, b):
    s = x @ w + b
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def scaled(x, w, b):
    return (x @ w) * b + 1.5


def layers(x, w, b):
    h = np.tanh(x @ w + b)
    return np.maximum(h @ w.T, 0) @ w


def used_twice(x, w, b):
    s = x @ w
    return np.sin(s) + (s @ s.T)[:, : len(b)], s.T * 2


def of_stacks(x, w, b):
    s = np.stack([x, x + 1]) @ w
    return s - b


def between_orders(x, w, b):
    return (x.T @ x)[::-1] * 2, (w.T @ x.T) - b[:, None]


FUNCTIONS = {f.__name__: f for f in (relu, sigmoid, softmax, scaled, layers, used_twice, of_stacks, between_orders)}


def operands(dtype, m=70, k=64, n=65):
    rng = np.random.default_rng(0)
    scale = 3 if np.dtype(dtype).kind == "i" else 0.3
    return [np.asarray(rng.normal(size=s) * scale).astype(dtype) for s in ((m, k), (k, n), (n,))]


def assert_same(got, want):
    for g, w in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, want)), strict=True):
        assert g.dtype == w.dtype
        ulps = 1e-5 if w.dtype == np.float32 else 1e-13  # of the largest: sums of products cancel
        np.testing.assert_allclose(g, w, rtol=ulps, atol=ulps * np.abs(w).max())


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.parametrize("debug", ["", "1"])
def test_results(name, dtype, debug, monkeypatch):
    monkeypatch.setenv("JITRT_DEBUG", debug)
    function, arguments = FUNCTIONS[name], operands(dtype)
    if dtype == "c16" and name in ("relu", "softmax", "layers"):
        arguments = operands("f8")
    compiled = jitrt.jit(function)
    first = compiled(*arguments)
    assert_same(first, function(*arguments))
    doubled = [a * 2 for a in arguments]
    assert_same(compiled(*doubled), function(*doubled))
    assert_same(first, function(*arguments))  # a result is not memory of later calls
    assert not compiled.explain(*arguments).plain_reason


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_the_product_is_numpys_to_the_bit(dtype):
    compiled = jitrt.jit(lambda x, w: -(x @ w))
    for shape in ((128, 64, 64), (257, 129, 65), (1000, 3, 40), (2, 5000, 5000), (1, 300, 4000), (333, 77, 55)):
        x, w, _ = operands(dtype, *shape)
        assert np.array_equal(compiled(x, w), -(x @ w))
        assert np.array_equal(compiled(x[::-1], w[:, ::-1]), -(x[::-1] @ w[:, ::-1]))
    assert np.array_equal(compiled(x, x.T), -(x @ x.T))  # a symmetric product has a function of its own


def test_elements_of_the_product_are_replaced_by_the_result():
    for name in ("relu", "sigmoid", "softmax", "scaled"):
        explanation = jitrt.jit(FUNCTIONS[name]).explain(*operands("f8"))
        assert explanation.frame_bytes == 0
        assert "in place of " in dict(explanation.sections())["in place"]


def test_a_product_that_is_a_result_is_numpys_own_array():
    def function(x, w):
        s = x @ w
        return s, s + 1

    explanation = jitrt.jit(function).explain(*operands("f8")[:2])
    assert "an array that NumPy made" in dict(explanation.sections())["in place"]
    assert explanation.frame_bytes == 0


def test_a_small_product_is_numpys_own_array():
    explanation = jitrt.jit(relu).explain(*operands("f8", 8, 8, 8))
    assert "in place of" not in dict(explanation.sections())["in place"]


def test_an_argument_keeps_its_elements_until_nothing_can_fail():
    def function(x, w, out):
        out[...] = (x @ w) * 2
        return np.linalg.inv(x @ w).sum()

    x, w, _ = operands("f8", 64, 64, 64)
    w[:, 0] = 0
    out = np.ones((64, 64))
    with pytest.raises(np.linalg.LinAlgError):
        jitrt.jit(function)(x, w, out)
    x, w, _ = operands("f8", 64, 64, 64)
    want = np.ones((64, 64))
    assert_same(jitrt.jit(function)(x, w, out), function(x, w, want))
    assert np.array_equal(out, want)


def test_threads_have_products_of_their_own():
    compiled = jitrt.jit(layers)
    arguments = [operands("f8")] + [[a * k for a in operands("f8")] for k in (2, 3, 5)]
    compiled(*arguments[0])
    wrong = []

    def work(own):
        want = layers(*own)
        for _ in range(20):
            if not np.allclose(compiled(*own), want):
                wrong.append(own)

    threads = [threading.Thread(target=work, args=(own,)) for own in arguments]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
