"""What functions are staged to, as text."""

import importlib
import os
import sys

import numpy as np
import pytest

import jitrt
from jitrt.frontend.control.composites import take_apart
from jitrt.frontend.control.stage import MOST_WHOLE_BYTES, stage
from jitrt.frontend.control.values import NotStaged
from jitrt.ir.verify import verify


def text(function, *args):
    procedure = stage(function, args).procedure
    verify(procedure)
    return str(procedure)


def recursive_filter(x, a):
    for k in range(1, len(x)):
        x[k] += a * x[k - 1]


RECURSIVE_FILTER = """\
procedure(x0:<f8[1]c, x1:<f8) -> (way: <i8) sites ()
  scope function:
    t7 = |b1(False)
    v2 = t7: |b1
    scope L1:
      for t1 in range(1, x0.n0, 1):
        scope L2:
          t2 = load <f8 x0{8*t1} of x0
          t3 = load <f8 x0{-8 + 8*t1} of x0
          t4 = multiply[<f8,<f8-><f8] x1 t3
          t5 = add[<f8,<f8-><f8] t2 t4
          store <f8 x0{8*t1} t5 of x0
          v1 = t1: <i8
          t6 = |b1(True)
          v2 = t6: |b1
    t8 = get v1: <i8
    t9 = <i8(0)
    way = t9: <i8
    leave function"""


def test_an_index_in_range_needs_no_check():
    assert text(recursive_filter, np.ones(3), 0.5) == RECURSIVE_FILTER


def triangle(a):
    for i in range(a.shape[0]):
        a[i, :i] = a[i, i] * 0.5


def test_a_triangle_is_checked_for_what_its_shape_leaves_open():
    made = text(triangle, np.ones((3, 3)))
    assert made.count("stop if") == 1  # that there is a column i
    assert "range(0, min" not in made


def test_the_text_does_not_depend_on_sizes():
    def make(n):
        return text(triangle, np.ones((n, n)))

    assert make(3) == make(300)


def test_bodies_are_visited_once_however_often_they_run():
    def steps(x, n):
        for i in range(n):
            for j in range(i):
                x[j] += x[i] * 0.5

    assert text(steps, np.ones(9), 3) == text(steps, np.ones(9), 3_000_000)


@pytest.mark.parametrize("seed", range(3))
def test_staging_again_gives_the_same_text(seed):
    def mixed(x, n):
        total, before = 0, x.copy()
        for i in range(n):
            if x[i] > 0.5:
                before = x * i
            before[i] = total
            total += before[-1]
        return total, before

    x = np.random.default_rng(seed).normal(size=6)
    assert text(mixed, x, 4) == text(mixed, x, 4)


def heat(u, n):
    for _ in range(n):
        u[1:-1] = 0.5 * (u[2:] + u[:-2])


def until_still(u, tolerance):
    while True:
        v = 0.5 * (u + u[::-1])
        if np.abs(v - u).max() < tolerance:
            return v
        u = v


def power(m, v):
    for _ in range(9):
        v = m @ v
    return v


def snapshots(u, n):
    kept = []
    for _ in range(n):
        u = u * 0.5
        kept.append(u)
    return kept


def test_whole_arrays_in_a_loop_are_left_to_the_tracer_if_it_serves_them():
    u, m = np.ones(9), np.ones((9, 9))
    with pytest.raises(NotStaged, match="whole arrays"):
        stage(heat, (u, 5))
    for function, args in ((triangle, (m,)), (snapshots, (u, 3))):
        assert not stage(function, args).is_whole
    for function, args in ((until_still, (u, 0.5)), (power, (m, u))):
        assert stage(function, args).is_whole


@pytest.mark.parametrize(
    "edit", [("x[k]", "x[-1]"), ("+=", "-="), ("1.5", "2.5"), ("\n        s *= 2", "\n    s *= 2")]
)
def test_a_file_that_was_changed_after_its_import(tmp_path, monkeypatch, edit):
    text = "def f(x):\n    s = 1.5\n    for k in range(len(x)):\n        s += x[k]\n        s *= 2\n    return s\n"
    (tmp_path / "edited.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "edited", raising=False)
    function = importlib.import_module("edited").f
    (tmp_path / "edited.py").write_text(text.replace(*edit))
    os.utime(tmp_path / "edited.py", ns=(0, 0))  # looked at again
    x = np.arange(4.0)
    assert jitrt.jit(function)(x) == function(x)
    with pytest.raises(NotStaged, match="source"):
        stage(function, (x,))


@pytest.mark.parametrize("start", [0, 1, 8, MOST_WHOLE_BYTES])
def test_what_stands_in_front_of_everything_uses_nothing_of_it(start):
    """A check of sizes is recorded last and runs first: literals that variables begin with come later."""

    class Counted:
        def __init__(self):
            self.u, self.count = np.linspace(0, 1, 50), start

    def until(model):
        while model.u.max() - model.u.min() > 1e-3:
            model.u = model.u * 0.5
            model.count += start
        return model.count

    trees, leaves, _ = take_apart((Counted(),))
    verify(stage(until, leaves, True, trees).procedure)


def _refuse(x, k):
    if k is None:
        raise TypeError("no number")
    raise ValueError(f"{x} is too large")


def _total_of_small(x, is_statement):
    total = 0.0
    for k in range(len(x)):
        if x[k] > 5:
            if is_statement:
                _refuse(x[k], k)
            else:
                total += _refuse(x[k], k)
        total += x[k]
    return total


@pytest.mark.parametrize("is_statement", [True, False])
def test_functions_that_always_raise(is_statement):
    compiled, x = jitrt.jit(_total_of_small), np.ones(50)
    for _ in range(3):
        assert compiled(x, is_statement) == 50
    assert is_statement <= (not compiled.explain(x, is_statement).plain_reason)
    with pytest.raises(ValueError, match="too large"):
        compiled(9 * x, is_statement)
