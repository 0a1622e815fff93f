"""Methods, compiled functions and the like as arguments: ``solve(model.rhs, y)``."""

import numba
import numpy as np
import pytest

import jitrt

SCALE = 1.0


class Model:
    factor = 2.0

    def __init__(self):
        self.k, self.calls = 2.0, 0

    def rate(self, t, y):
        return -self.k * y + t * self.factor * SCALE

    def counted(self, t, y):
        self.calls += 1
        return self.rate(t, y)

    @classmethod
    def of_class(cls, t, y):
        return y * cls.factor - t

    @staticmethod
    def of_nobody(t, y):
        return y * t

    def __call__(self, t, y):
        return self.k * y + t


class Derived(Model):
    def rate(self, t, y):
        return super().rate(t, y) + 1


@jitrt.jit
def compiled(t, y):
    return y * 2 + t * SCALE


@numba.njit
def by_numba(t, y):
    return y * 2 + t


def closed_over(a):
    return jitrt.jit(lambda t, y: y * a + t)


def once(y, f):
    return f(0.5, y) + 1


def stepped(y, f, dt=0.01, n=20):
    t = 0.0
    for _ in range(n):
        k = f(t, y)
        y = y + dt * f(t + dt / 2, y + dt / 2 * k)
        t += dt
    return y


def both(y, f, model):
    model.k += 1
    return f(0.5, y) + model.calls


FUNCTIONS = {
    "method": lambda m: m.rate,
    "changes its object": lambda m: m.counted,
    "class method": lambda m: m.of_class,
    "static method": lambda m: m.of_nobody,
    "object": lambda m: m,
    "compiled": lambda m: compiled,
    "compiled closure": lambda m: closed_over(m.k),
    "numba's": lambda m: by_numba,
}


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("kind", [Model, Derived])
@pytest.mark.parametrize("size", [8, 5000])
@pytest.mark.parametrize("function", [once, stepped])
@pytest.mark.parametrize("of", FUNCTIONS.values(), ids=FUNCTIONS)
def test_like_python(of, function, size, kind, monkeypatch):
    fast, mine, plain = jitrt.jit(function), kind(), kind()
    for call in range(6):
        if call == 3:
            mine.k = plain.k = 3.0
        if call == 4:
            monkeypatch.setattr(Model, "factor", 5.0)
        if call == 5:
            monkeypatch.setitem(globals(), "SCALE", 2.0)
        y = np.linspace(0.1, 1 + call, size)
        np.testing.assert_allclose(fast(y, of(mine)), function(y, of(plain)), rtol=1e-12)
        assert (mine.calls, mine.k) == (plain.calls, plain.k)
    assert fast.plain_reason == ""


def test_the_object_of_a_method_may_be_another_argument():
    fast, mine, plain = jitrt.jit(both), Model(), Model()
    y = np.linspace(0, 1, 100)
    for _ in range(4):
        np.testing.assert_allclose(fast(y, mine.counted, mine), both(y, plain.counted, plain))
        assert (mine.calls, mine.k) == (plain.calls, plain.k)


def test_methods_of_other_objects_and_other_methods():
    fast, models, y = jitrt.jit(once), [Model(), Derived(), Model()], np.linspace(0, 1, 100)
    models[2].k = 7.0
    for _ in range(3):
        for m in models:
            for f in (m.rate, m.of_class, m.counted):
                np.testing.assert_allclose(fast(y, f), once(y, f))


def test_methods_that_are_replaced(monkeypatch):
    fast, m, y = jitrt.jit(once), Model(), np.linspace(0, 1, 100)
    fast(y, m.rate), fast(y, m.rate)
    before = m.rate
    m.rate = lambda t, y: y * 9
    assert np.array_equal(fast(y, m.rate), y * 9 + 1)
    np.testing.assert_allclose(fast(y, before), once(y, before))
    del m.rate
    monkeypatch.setattr(Model, "rate", lambda self, t, y: y * self.k)
    for _ in range(3):
        assert np.array_equal(fast(y, m.rate), y * 2 + 1)
        np.testing.assert_allclose(fast(y, before), once(y, before))
