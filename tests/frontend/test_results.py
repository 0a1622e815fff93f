"""Structure, identity and memory of what a compiled function returns."""

from collections import namedtuple

import numpy as np
import pytest

import jitrt

x = np.arange(12.0).reshape(3, 4)


def check(function, *args, compiled=True):
    """Plain and compiled results are equal in structure, types and values; return both."""
    fast = jitrt.jit(function)
    if compiled:
        assert fast.explain(*args).plain_reason == ""
    want = function(*args)
    for _ in range(2):
        got = fast(*args)
        same(got, want)
    return got, want


def same(got, want):
    assert type(got) is type(want)
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            same(got[key], want[key])
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    else:
        assert got == want or got is want


class TestStructure:
    def test_nested_containers(self):
        check(lambda a: {"sum": a + 1, "parts": (a * 2, [a - 1, None]), "name": "result", "n": 3}, x)

    def test_named_tuple(self):
        check(moments, x)

    def test_arguments_in_containers(self):
        check(lambda pair, options: pair[0] * options["scale"] + pair[1], (x, x), {"scale": 2.0})

    def test_keywords_and_defaults(self):
        def shifted(a, by=1.0, *, scale=2.0):
            return a * scale + by

        fast = jitrt.jit(shifted)
        for kwargs in ({}, {"by": 3.0}, {"scale": 4.0}, {"by": np.float32(2), "scale": x}):
            same(fast(x, **kwargs), shifted(x, **kwargs))

    def test_static_arguments(self):
        def select(a, axis, name, flag, shape):
            b = a.sum(axis=axis) if flag else a.reshape(shape)
            return b + len(name)

        fast = jitrt.jit(select)
        for args in ((0, "ab", True, None), (1, "ab", True, None), (1, "c", False, (6, 2)), (None, "c", True, None)):
            same(fast(x, *args), select(x, *args))


Moments = namedtuple("Moments", "mean spread")


def moments(a):
    return Moments(a.mean(), a.std(axis=0) + 1)


class TestScalars:
    def test_reductions_give_numpy_scalars(self):
        check(lambda a: (a.sum(), a.mean(), a[1, 2], a.max() * 2, a.any()), x)

    def test_zero_dimensional_arrays_stay_arrays(self):
        check(lambda a: (a[1, 2, ...], a.sum().reshape(()), np.where(a[0, 0] > 1, 2.0, a[0, 1])), x)

    def test_numpy_scalar_arguments_are_strong_and_floats_weak(self):
        y = x.astype(np.float32)
        check(lambda a, s: a * s, y, np.float64(2))
        check(lambda a, s: a * s, y, 2.0)
        check(lambda a, s: a * (s + 1.0) - (-s), y, 0.1)

    def test_ufuncs_of_python_floats_give_numpy_scalars(self):
        y = x.astype(np.float32)
        check(lambda a, s: (a * np.sqrt(s), a * np.add(s, 1.0), a + np.maximum(s, 0.5), np.exp(-s)), y, 2.0)
        check(lambda a, s: (a * abs(s), a + (+s), a - (-s), a * (s * 2.0)), y, 2.0)

    def test_arithmetic_of_python_floats_is_compiled(self):
        y = x.astype(np.float32)
        explanation = jitrt.jit(lambda a, s: a * (s + 1.0) - (-s)).explain(y, 0.1)
        assert explanation.kernels and not explanation.host_calls

    def test_python_floats_stay_python_floats(self):
        check(lambda a, s: (a + s, s * 2.0, -s, s / 3.0, s**2), x, 0.1)

    def test_division_of_python_floats_by_zero(self):
        def divided(a, s):
            return a * (1.0 / s)

        fast = jitrt.jit(divided)
        same(fast(x, 2.0), divided(x, 2.0))
        with pytest.raises(ZeroDivisionError):
            fast(x, 0.0)

    def test_new_values_of_floats_compile_nothing(self):
        def scaled(a, s):
            return a * s + 1.0

        fast = jitrt.jit(scaled)
        kernels = {k.name for s in (1.0, 2.5, -3.0) for k in fast.explain(x, s).kernels}
        assert len(kernels) == 1
        same(fast(x, 7.0), scaled(x, 7.0))


class TestMemory:
    def test_an_argument_comes_back_as_itself(self):
        fast = jitrt.jit(lambda a: (a, a + 1))
        assert fast(x)[0] is x

    def test_views_of_arguments_are_views(self):
        got, _ = check(lambda a: (a.T, a[1:, ::-1], a.reshape(-1), a[None]), x)
        assert all(np.shares_memory(g, x) for g in got)

    def test_copies_are_fresh(self):
        for function in (
            lambda a: a.copy(),
            lambda a: +a,
            lambda a: a * 1,
            lambda a: a.astype(a.dtype),
            lambda a: a**1,
        ):
            got, _ = check(function, x)
            assert not np.shares_memory(got, x)

    def test_views_of_results_share_memory(self):
        got, want = check(lambda a: ((b := a + 1), b[0], b.T), x)
        assert np.shares_memory(got[0], got[1]) and np.shares_memory(got[0], got[2])
        assert got[2].strides == want[2].strides

    def test_equal_results_are_different_arrays(self):
        got, _ = check(lambda a: (a + 1, a + 1), x)
        assert not np.shares_memory(got[0], got[1])

    def test_one_array_returned_twice_is_one_array(self):
        got = jitrt.jit(lambda a: ((b := a + 1), b))(x)
        assert got[0] is got[1]

    def test_results_survive_the_next_call(self):
        fast = jitrt.jit(lambda a: np.sqrt(a * a).sum(axis=0) + 1)
        first = fast(x)
        kept = first.copy()
        fast(x * 5)
        np.testing.assert_array_equal(first, kept)
        assert first.flags.owndata

    def test_results_of_numpy_calls_never_show_the_frame(self):
        fast = jitrt.jit(lambda a: np.rot90(a * 2) if a.ndim else a)
        first = fast(x)
        kept = first.copy()
        fast(x + 1)
        np.testing.assert_array_equal(first, kept)

    def test_zeros_are_writable(self):
        got, _ = check(lambda a: np.zeros_like(a), x)
        got[0] = 1


class TestCaptures:
    def test_captured_arrays_are_read_at_every_call(self, monkeypatch):
        fast = jitrt.jit(uses_weights)
        same(fast(x), uses_weights(x))
        WEIGHTS[0] = 10.0
        same(fast(x), uses_weights(x))
        monkeypatch.setitem(globals(), "WEIGHTS", np.ones((3, 1), np.float32))
        same(fast(x), uses_weights(x))

    def test_views_of_captured_arrays_are_read_at_every_call(self):
        fast = jitrt.jit(uses_weights_through_a_helper)
        for first in (1.0, 5.0):
            WEIGHTS[0] = first
            same(fast(x), uses_weights_through_a_helper(x))

    def test_attributes_of_functions_are_not_frozen(self):
        def scaled(a):
            return a * helper.factor

        fast = jitrt.jit(scaled)
        for helper.factor in (1.0, 2.0):
            same(fast(x), scaled(x))
        del helper.factor

    def test_captured_numbers_and_helpers_are_watched(self, monkeypatch):
        fast = jitrt.jit(uses_helper)
        same(fast(x), uses_helper(x))
        monkeypatch.setitem(globals(), "FACTOR", 5.0)
        same(fast(x), uses_helper(x))
        monkeypatch.setitem(globals(), "helper", lambda a: a - 1)
        same(fast(x), uses_helper(x))

    def test_closures(self):
        scale = 2.0

        def scaled(a):
            return a * scale

        fast = jitrt.jit(scaled)
        same(fast(x), scaled(x))
        scale = 3.0
        same(fast(x), scaled(x))

    def test_arrays_made_inside_are_part_of_the_trace(self):
        check(lambda a: a * np.linspace(0, 1, 4) + np.arange(4), x)

    def test_an_array_written_after_use_is_a_snapshot(self):
        def changing(a):
            w = np.zeros(4)
            y = a + w
            w[0] = 5
            return y, a + w

        check(changing, x)


WEIGHTS = np.arange(4.0)
FACTOR = 2.0


def uses_weights(a):
    return a * WEIGHTS


def doubled_weights():
    return WEIGHTS[::-1] * 2


def uses_weights_through_a_helper(a):
    return a * doubled_weights() + WEIGHTS.sum()


def helper(a):
    return a * FACTOR


def uses_helper(a):
    return helper(a) + 1


def power_by_squaring(a, n):
    if n == 0:
        return np.ones_like(a)
    half = power_by_squaring(a, n // 2)
    return half * half * a if n % 2 else half * half


class TestNesting:
    def test_a_compiled_function_inside_of_another_is_inlined(self):
        inner = jitrt.jit(lambda a: a * 2 + 1)

        def outer(a):
            return inner(a) - a

        explanation = jitrt.jit(outer).explain(x)
        assert len(explanation.kernels) == 1 and not explanation.host_calls
        same(jitrt.jit(outer)(x), outer(x))

    def test_inlining_does_not_count_as_running_plain(self):
        inner = jitrt.jit(lambda a: a * 2 + 1)
        for k in range(30):
            jitrt.jit(lambda a: inner(a) - a)(x[: 1 + k % 3])
        assert not inner.explain(x).plain_reason

    def test_recursion(self):
        same(jitrt.jit(power_by_squaring)(x, 5), power_by_squaring(x, 5))

    def test_isinstance_sees_an_array(self):
        check(lambda a: a * 2 if isinstance(a, np.ndarray) else None, x)

    def test_ufuncs_with_several_results(self):
        check(lambda a: (np.modf(a / 3), np.frexp(a * 2), divmod(a, 5)), x)

    def test_calls_without_a_row_run_in_numpy(self):
        def ordered(a):
            return np.partition(a * -1, 1, axis=1) + np.partition(a, 3, axis=None)[3]

        fast = jitrt.jit(ordered)
        same(fast(x), ordered(x))
        assert len(fast.explain(x).host_calls) == 2
        same(fast(x + 5), ordered(x + 5))

    def test_a_call_whose_result_changes_its_shape(self):
        def distinct(a):
            return np.unique(a * 2) + 1

        fast = jitrt.jit(distinct)
        for values in ([1.0, 2.0, 1.0], [1.0, 1.0, 1.0], [3.0, 1.0, 2.0]):
            same(fast(np.array(values)), distinct(np.array(values)))


class TestViewsOfWhatIsComputed:
    """A result that is a view of all of a computed array is that array; its memory is in NumPy's order."""

    ALL_OF_IT = (
        lambda a: (a * 2 + 1).T,
        lambda a: (a + 1).reshape(-1),
        lambda a: (a.T + 1).reshape(1, -1),
        lambda a: np.sqrt(a).sum(axis=0, keepdims=True).squeeze(0),
        lambda a: (a * 3).swapaxes(0, 1)[..., None],
        lambda a: ((a + 1).T, a.T * 2),
        lambda a: np.where(a.T > 0, a.T, 1).ravel(),
    )
    LAYOUTS = (x, np.asfortranarray(x), np.arange(96.0).reshape(12, 8)[::2, ::-1], x[:1], x[:, :1], np.empty((0, 4)))

    @pytest.mark.parametrize("number", range(len(ALL_OF_IT)))
    @pytest.mark.parametrize("layout", range(len(LAYOUTS)))
    def test_order_of_memory(self, number, layout):
        function, a = self.ALL_OF_IT[number], self.LAYOUTS[layout]
        got, want = check(function, a)
        for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
            assert g.flags.c_contiguous == w.flags.c_contiguous
            assert g.flags.f_contiguous == w.flags.f_contiguous

    @pytest.mark.parametrize("number", [0, 1, 2, 3, 5, 6])  # the other one's memory is in no order of C or Fortran
    def test_native_code_serves_the_calls(self, number):
        fast = jitrt.jit(self.ALL_OF_IT[number])
        for _ in range(5):
            fast(x)
        assert fast.cache_info().slow_calls == 1

    def test_results_that_share_memory_still_do(self):
        def both(a):
            b = a + 1
            return b, b.T

        got, _ = check(both, x)
        assert np.shares_memory(*got)

    def test_parts_of_complex_numbers_keep_their_distance(self):
        got, want = check(lambda a: ((a + 1j) * 2).real, x)
        assert got.strides == want.strides
