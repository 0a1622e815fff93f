"""The engine that pandas finds, without pandas."""

import numpy as np

import jitrt

ENGINE = jitrt.jit.__pandas_udf__
data = np.arange(6.0).reshape(2, 3)


def test_apply_to_columns_and_rows():
    def spread(x, scale):
        return (x.max() - x.min()) * scale

    for axis, number in ((0, 0), (1, 1), ("index", 0), ("columns", 1)):
        got = ENGINE.apply(data, spread, (2.0,), {}, jitrt.jit, axis)
        np.testing.assert_array_equal(got, np.apply_along_axis(spread, number, data, 2.0))


def test_map_skips_missing_values():
    x = np.array([[1.0, np.nan], [2.0, 3.0]])
    got = ENGINE.map(x, lambda v, n: v * n if v == v else 0.0, (2,), {}, jitrt.jit, True)
    np.testing.assert_array_equal(got, [[2.0, np.nan], [4.0, 6.0]])
    assert ENGINE.map(x, lambda v: v if v == v else 0.0, (), {}, jitrt.jit, False)[0, 1] == 0.0


def test_a_function_is_compiled_once():
    def f(x):
        return x * 2

    first = jitrt.pandas_engine._decorated(f, jitrt.jit)
    assert jitrt.pandas_engine._decorated(f, jitrt.jit) is first
    assert jitrt.pandas_engine._decorated(first, jitrt.jit) is first
