"""pandas: its frames run the plain function, and its engine protocol runs functions of arrays compiled."""

import numpy as np
import pytest

import jitrt

pandas = pytest.importorskip("pandas")

frame = pandas.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, np.nan, 5.0]})


def test_frames_run_the_plain_function():
    function = jitrt.jit(lambda x: x * 2 + 1)
    assert function(frame).equals(frame * 2 + 1)
    assert "pandas" in function.explain(frame).plain_reason


def test_an_engine_for_apply():
    def spread(x, scale=1.0):
        return (x.max() - x.min()) * scale

    for axis in (0, 1):
        for raw in (False, True):
            got = frame.fillna(0).apply(spread, axis=axis, raw=raw, engine=jitrt.jit)
            pandas.testing.assert_series_equal(got, frame.fillna(0).apply(spread, axis=axis, raw=raw))


def test_an_engine_for_apply_that_gives_columns():
    def centred(x):
        return x - x.mean()

    got = frame.fillna(0).apply(centred, raw=True, engine=jitrt.jit)
    pandas.testing.assert_frame_equal(got, frame.fillna(0).apply(centred, raw=True))


def test_an_engine_for_map():
    def f(x):
        return x * x

    got = frame["b"].map(f, engine=jitrt.jit, na_action="ignore")
    pandas.testing.assert_series_equal(got, frame["b"].map(f, na_action="ignore"))
