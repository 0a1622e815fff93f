"""Functions that remember by `functools.lru_cache`: what they give is what their cache has at the time of the call."""

import functools

import numpy as np
import pytest

import jitrt

K = 2


def make():
    """Functions with caches of their own, for plain and for compiled calls."""

    @functools.lru_cache(maxsize=64)
    def scaled(n):
        return float(n) * K

    @functools.lru_cache(maxsize=2)
    def few(n):
        return (float(n) * K, f"{n}")

    @functools.cache
    def binomial(n, k):
        return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)

    class Model:
        def __init__(self, k):
            self.k = k

        @functools.lru_cache  # noqa: B019
        def weight(self, n):
            return self.k * n

        @staticmethod
        @functools.lru_cache
        def factor(n):
            return n * K

    return scaled, few, binomial, Model


def of_scaled(caches, x, n):
    return caches[0](n) * x


def of_few(caches, x, n):
    number, text = caches[1](n)
    return number * x + len(text)


def of_binomial(caches, x, n):
    return x * caches[2](2 * n, n) + caches[0](x.size)


def of_method(caches, x, n):
    return caches[4].weight(n) * x + caches[4].factor(n)


FUNCTIONS = [of_scaled, of_few, of_binomial, of_method]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_caches_are_cleared_and_drop_what_they_had(function, monkeypatch):
    plain, own = make(), make()
    plain, own = (*plain, plain[3](3)), (*own, own[3](3))
    fast = jitrt.jit(lambda x, n: function(own, x, n))
    x = np.arange(4.0)
    for k in range(24):
        monkeypatch.setitem(globals(), "K", (2, 5, 3)[k % 3])
        for caches in (plain, own):
            caches[4].k += 1
            if k % 4 == 3:
                caches[0].cache_clear()
        for n in (2, 3, 2, 4):
            np.testing.assert_array_equal(fast(x, n), function(plain, x, n))


@functools.cache
def sine(n):
    return np.sin(n) + np.float64(n)


@functools.cache
def kept(n):
    return [n, 2 * n]


def test_what_depends_on_arguments_alone_is_part_of_the_program():
    fast, x = jitrt.jit(lambda x: x * sine(3)), np.arange(4.0)
    for _ in range(3):
        np.testing.assert_array_equal(fast(x), x * sine(3))
    assert "graph break" not in fast.explain(x).text() and not fast.plain_reason


def test_lists_are_not_copied():
    def appended(x):
        kept(5).append(1)
        return x * len(kept(5))

    fast, x = jitrt.jit(appended), np.arange(4.0)
    for k in range(4):
        np.testing.assert_array_equal(fast(x), x * (3 + k))
    kept.cache_clear()


def test_what_is_asked_of_a_cache():
    def asked(x, n):
        if n == 3:
            sine.cache_clear()
        return x * sine(n), sine.cache_info().currsize

    fast, x = jitrt.jit(asked), np.arange(4.0)
    for n in (1, 2, 3, 4, 2) * 2:
        got, size = fast(x, n)
        np.testing.assert_array_equal(got, x * sine(n))
        assert size == sine.cache_info().currsize
    sine.cache_clear()


def test_arguments_are_pythons_own():
    seen = []

    @functools.lru_cache
    def noted(n):
        seen.append(type(n))
        return n * 2

    fast = jitrt.jit(lambda x: x * noted(x.size))
    for n in (3, 4, 5, 70):
        fast(np.arange(float(n)))
    assert seen == [int] * 4
