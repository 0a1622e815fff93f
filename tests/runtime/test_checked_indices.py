"""Bounds of indices are checked by native code: it serves what fits, and NumPy raises where one does not."""

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt.runtime.objects import fields
from jitrt.runtime.steps import CheckStep, HostStep

native = pytest.mark.skipif(fields() is None, reason="calls are checked in Python on this build")
x = np.arange(12.0)


class Watched(jitrt.JitFunction):
    """A function that counts the calls that native code does not serve."""

    missed = 0

    def _call(self, args, kwargs):
        self.missed += 1
        return super()._call(args, kwargs)


def steps(function, *args):
    return jitrt.jit(function).explain(*args).compiled.program.steps


def same(function, *args):
    """The plain and the compiled function give the same, or the same exception, and leave the same arguments."""
    compiled = jitrt.jit(function)
    for _ in range(3):
        copies = [[a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)]
        outcomes = []
        for run, arguments in zip((function, compiled), copies):
            try:
                outcomes.append(run(*arguments))
            except IndexError as error:
                outcomes.append(str(error))
        assert type(outcomes[0]) is type(outcomes[1])
        np.testing.assert_equal(outcomes[1], outcomes[0])
        np.testing.assert_equal(copies[1], copies[0])


@native
def test_native_code_serves_gathers_and_numpy_raises():
    function = Watched(lambda a, i: a[i] * 2)
    inside, outside = np.array([0, -12, 11]), np.array([0, 12, 1])
    function(x, inside)
    function(x, inside)
    for _ in range(20):
        np.testing.assert_array_equal(function(x, inside), x[inside] * 2)
        with pytest.raises(IndexError, match="index 12 is out of bounds for axis 0 with size 12"):
            function(x, outside)
    assert function.missed == 1


def test_a_gather_is_a_check_between_two_kernels():
    found = steps(lambda a, i: a[i] * 2 + a[i], x, np.arange(3))
    assert [type(s).__name__ for s in found] == ["KernelStep", "CheckStep", "KernelStep"]
    assert not any(isinstance(s, CheckStep) for s in steps(lambda a, i: a.take(i, mode="clip"), x, np.arange(3)))


def test_no_check_where_no_index_of_that_dtype_is_out_of_bounds():
    table = np.arange(256.0)
    assert len(steps(lambda a, i: a[i], table, np.arange(3).astype(np.uint8))) == 1
    assert len(steps(lambda a, i: a[i], table, np.arange(3).astype(np.int8))) == 1
    assert len(steps(lambda a, i: a[i], table[:-1], np.arange(3).astype(np.uint8))) > 1


@pytest.mark.parametrize("char", few("lIbBhHiq", 3))
def test_the_last_indices_inside_and_the_first_outside(char):
    info = np.iinfo(char)
    for extent in (1, 7, 127, 128, 129, 255, 256, 300):
        table = np.arange(extent)
        for wanted in (-extent - 1, -extent, -1, 0, extent - 1, extent, info.min, info.max):
            if info.min <= wanted <= info.max:
                for shape in ((), (1,), (5,), (70,), (3, 1)):
                    index = np.zeros(shape, char)
                    index.flat[-1] = wanted
                    same(lambda a, i: a[i], table, index)


def test_nothing_is_seen_of_a_call_that_fails():
    """Neither in arguments that the function writes, in place or copied, nor in those given away."""
    for n in (10, 100_000):
        good, bad = np.arange(n), np.arange(n)
        bad[n // 2] = n

        def write(out, a, i):
            out += 1
            out[...] = a[i] + out
            return out.sum()

        def write_later(out, a, i):
            out *= 2
            return a[i], (a + 1)[i]

        for f in (write, write_later):
            for index in (good, bad):
                same(f, np.ones(n), np.arange(float(n)), index)

        given = jitrt.jit(lambda a, i: (a + 1)[i] * 3, donate=("a",))
        a = np.arange(float(n))
        with pytest.raises(IndexError):
            given(a, bad)
        np.testing.assert_array_equal(given(a, good), (np.arange(float(n)) + 1)[good] * 3)


def test_loops_that_gather_are_native():
    def plain(a, i):
        total = a[:10] * 0
        for _ in range(40):
            total = total + a[i]
            i = i + 1
        return total

    good, bad = np.arange(-48, -38), np.arange(10)
    a = np.arange(50.0)
    assert not any(isinstance(s, HostStep) for s in steps(plain, a, good))
    for index in (good, bad, bad + 1):
        same(plain, a, index)


def test_an_index_that_is_a_result():
    same(lambda a: a[np.argsort(-a)], x)
    same(lambda a: a[(a * 2).astype(int)], x)
    same(lambda a: a[a.argmax()] + a[(a[3] * 4).astype(int)], x)
    same(lambda a, i: a[i[0]] + a[i[1] + i[2]], x, np.array([3, 8, 4]))


def test_gathers_from_arguments_that_are_written():
    def reverse(a, i):
        a[:] = a[i]
        a[i] = a[::-1]
        return a[i]

    same(reverse, x, np.arange(12)[::-1].copy())
    same(reverse, x, np.arange(12) + 1)
    long = np.arange(100_000)
    same(reverse, long, long[::-1].copy())
    same(reverse, long, long + 1)


def test_an_exception_that_the_function_catches():
    """What it does then is not taken for what it does with other values."""

    def total(a, i):
        try:
            found = float(a[i].sum())
        except IndexError:
            found = -1.0
        return a * found

    for order in (1, -1):
        compiled = jitrt.jit(total)
        for index in (np.array([12]), np.array([1]), np.array([13]), np.array([2]))[::order]:
            np.testing.assert_array_equal(compiled(x, index), total(x, index))


def test_explain_says_where_indices_are_checked():
    explanation = jitrt.jit(lambda a, i: a[i]).explain(x, np.arange(3))
    assert "unless all indices are from -12 to 11" in explanation.text()
    assert not explanation.host_calls
