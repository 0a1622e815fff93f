"""Functions inside of staged functions, and functions that they are given."""

import math

import numpy as np
import pytest
from test_element_loops import agrees
from texts import function_of

import jitrt

X = np.arange(6.0) + 0.5


def test_a_local_function_reads_the_variables_around_it_as_they_are_at_the_call():
    def solve(y0, h, n):
        w = 0.1

        def slope(t, y):
            return np.array([y[1], -y[0] + w * np.sin(t)])

        ys = np.empty((n + 1, 2))
        ys[0] = y0
        t = 0.0
        for i in range(n):
            k = slope(t, ys[i])
            ys[i + 1] = ys[i] + h * slope(t + h / 2, ys[i] + h / 2 * k)
            t += h
            w = w * 0.9
        return ys

    agrees(solve, (np.array([1.0, 0.0]), 0.1, 10), (np.array([1.0, 0.0]), 0.1, 0), (np.array([1, 0]), 0.1, 3))


def test_lambdas_with_defaults_that_call_each_other():
    def total(x):
        power = lambda v, p=2: v**p  # noqa: E731
        s = 0.0
        for v in x:
            cube = lambda: power(v) * v  # noqa: B023, E731
            s += cube() + power(v, p=3)
        return s

    agrees(total, (X,), (X[:0],))


def test_a_local_function_that_is_handed_on():
    def root(x):
        def halve(f, a, b):
            for _ in range(40):
                m = (a + b) / 2
                if f(a) * f(m) <= 0:
                    b = m
                else:
                    a = m
            return a

        out = np.empty(len(x))
        for k in range(len(x)):
            v = x[k]
            out[k] = halve(lambda z: z * z - v, 0.0, 10.0)  # noqa: B023
        return out

    agrees(root, (X,), (X[:0],))


def test_a_choice_of_local_functions_is_left_to_python():
    def chosen(x, n):
        f = lambda v: v + 1  # noqa: E731
        s = 0.0
        for k in range(n):
            s += f(x[k])
            if x[k] > 2:
                f = lambda v: v * 2  # noqa: E731
        return s

    agrees(chosen, (X, 6), compiled=False)


@pytest.mark.parametrize(
    "body",
    [
        "    def f(v):\n        global s\n        s = v\n        return s\n",
        "    def f(v):\n        yield v\n",
        "    def f(v, found=[]):\n        found.append(v)\n        return len(found)\n",
        "    f = make(3)\n",
    ],
)
def test_what_is_no_plain_function_is_left_to_python(body):
    source = f"def make(a):\n    return lambda v: v * a\n\ndef total(x):\n    s = 0.0\n{body}    for v in x:\n"
    agrees(function_of(source + "        s = s + 1.0 if f(v) is None else s + 2.0\n    return s\n", "total"), (X,),
           compiled=False)  # fmt: skip


def integrate(f, a, b, n):
    s = 0.0
    h = (b - a) / n
    for k in range(n):
        s += f(a + k * h) * h
    return s


def test_functions_as_arguments():
    for f in (lambda x: x * x, lambda x: np.exp(x) - 1, math.sin, np.sin, jitrt.jit(lambda x: x + 1)):
        agrees(integrate, (f, 0.0, 2.0, 50), (f, 0, 1, 9))


def test_a_function_that_is_made_anew_for_each_call_is_staged_once():
    fast = jitrt.jit(integrate)
    for _ in range(20):
        assert fast(lambda x: x * 3, 0.0, 1.0, 7) == integrate(lambda x: x * 3, 0.0, 1.0, 7)
    assert fast._loops._made == 1


def test_closures_are_told_apart_and_not_staged_for_ever():
    fast = jitrt.jit(integrate)
    for k in range(40):
        f = lambda x, k=k: x * k  # noqa: E731
        g = lambda x: x * k  # noqa: B023, E731
        assert fast(f, 0.0, 1.0, 7) == integrate(f, 0.0, 1.0, 7)
        assert fast(g, 0.0, 1.0, 7) == integrate(g, 0.0, 1.0, 7)
    assert fast._loops._made <= 9


def test_a_closure_whose_variable_changes():
    scale = 2.0
    f = lambda x: x * scale  # noqa: E731
    fast = jitrt.jit(integrate)
    assert fast(f, 0.0, 1.0, 7) == fast(f, 0.0, 1.0, 7) == integrate(f, 0.0, 1.0, 7)
    scale = 5.0
    assert fast(f, 0.0, 1.0, 7) == integrate(f, 0.0, 1.0, 7)


def test_several_lambdas_in_one_line():
    fast = jitrt.jit(integrate)
    for f, g in [(lambda x: x + 1, lambda x: x + 2)]:
        assert (fast(f, 0.0, 1.0, 5), fast(g, 0.0, 1.0, 5)) == (integrate(f, 0.0, 1.0, 5), integrate(g, 0.0, 1.0, 5))
        assert fast._loops.source((g, 0.0, 1.0, 5))
