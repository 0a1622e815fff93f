"""Programs that serve any shape from the first call on, and what is made for one shape all the same."""

import warnings

import numpy as np
import pytest

import jitrt
from jitrt import pipeline, programs
from jitrt.call import template


@pytest.fixture
def generated(monkeypatch, tmp_path):
    """Grows with every program that is generated, with a disk cache that is empty at first."""
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    found, plain = [], pipeline.generate
    monkeypatch.setattr(pipeline, "generate", lambda *args, **options: found.append(1) or plain(*args, **options))
    with programs.nothing_known():
        yield found


def same(got, want):
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def elementwise(x):
    return np.sqrt(x * x + 1) * 0.5


def folds(x):
    return (x * 2).sum() + x.max()


def looks(x):
    return x * 2 if x[0] > 0 else x - 1


def looks_between(x):
    y = x * 2 + 1
    return y.sum() if (y > 0).any() else y


def of_numpy(x):
    return np.sort(x * 2 + 1)


def chosen(x):
    return x[x > 0.5].mean() + x[x < 0.2].std()


def without_nan(x):
    return np.nanmean(x) + np.nanstd(x)


FUNCTIONS = [elementwise, folds, looks, looks_between, of_numpy, chosen, without_nan]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_second_shape_generates_nothing(generated, function):
    fast = jitrt.jit(function)
    rng = np.random.default_rng(1)
    for k, n in enumerate((40_000, 41_003, 52_001)):
        x = rng.random(n)
        same(fast(x), function(x))
        if not k:
            assert generated
            generated.clear()
    assert not generated


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("shape", [(40, 40), (40, 50), (50, 40), (17, 40), (40, 1), (1, 40), (2, 40), (40, 0), (1, 1)])
@pytest.mark.parametrize("other", [(40,), (1,), (40, 1), (1, 40), (40, 40)])
def test_extents_that_are_equal_in_the_first_call_need_not_stay_so(shape, other):
    def function(x, y):
        return x * y + x.sum(axis=0), (x + 1).T @ np.ones(len(x))

    fast = jitrt.jit(function)
    rng = np.random.default_rng(2)
    for first, second in [((40, 40), (40,)), (shape, other), ((40, 40), (40, 1)), (shape, other)]:
        x, y = rng.random(first), rng.random(second)
        try:
            want = function(x, y)
        except ValueError:
            with pytest.raises(ValueError, match="broadcast"):
                fast(x, y)
            continue
        for a, b in zip(fast(x, y), want, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_what_needs_all_extents_is_made_for_one_shape():
    def unrolled(x):
        return x * 2 + float(str(x.size))

    fast = jitrt.jit(unrolled)
    for n in (30, 40, 30):
        np.testing.assert_array_equal(fast(np.ones(n)), unrolled(np.ones(n)))
    assert {found.open_sizes for _, found in fast._specialisations.known()} == {None}


@pytest.mark.parametrize("value", [-1.0, 0.0, 2.0])
def test_arguments_without_axes_are_looked_at(value):
    def function(x, flag):
        return x * 2 if flag else x - 1

    fast = jitrt.jit(function)
    for flag in (value, 0.0, 1.0, value):
        x, given = np.arange(30.0), np.array(flag)
        np.testing.assert_array_equal(fast(x, given), function(x, given))
    assert not fast.plain_reason


def test_errors_of_the_first_calls_are_no_reason_to_make_programs_for_one_shape():
    def function(x, y):
        return x * 2 + y

    fast = jitrt.jit(function)
    for n in range(20, 26):
        with pytest.raises(ValueError, match="broadcast"):
            fast(np.ones(n), np.ones(n + 7))
    for n in (30, 40):
        np.testing.assert_array_equal(fast(np.ones(n), np.ones(n)), np.full(n, 3.0))
    assert [found.open_sizes is not None for _, found in fast._specialisations.known()] == [True]


def test_warnings_that_the_first_call_gives_are_numpys():
    fast = jitrt.jit(without_nan)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fast(np.full(40, np.nan))
    assert [str(w.message) for w in found] == ["Mean of empty slice", "Degrees of freedom <= 0 for slice."]
    np.testing.assert_allclose(fast(np.arange(40.0)), without_nan(np.arange(40.0)))


def test_fields_of_records_are_served_natively_at_any_shape():
    def speed(p):
        return np.sqrt(p["x"] ** 2 + p["y"] ** 2) * p["m"]

    kind = np.dtype([("x", "f8"), ("y", "f8"), ("m", "f4"), ("n", "f4")])
    fast = jitrt.jit(speed)
    for k, n in enumerate(range(1000, 1010)):
        p = np.zeros(n, kind)
        p["x"], p["y"], p["m"] = 3.0, np.arange(n), 2.0
        np.testing.assert_allclose(fast(p), speed(p))
        np.testing.assert_allclose(fast(p[::2]), speed(p[::2]))
        np.testing.assert_allclose(fast(p[::-1]), speed(p[::-1]))
        if k == 1:
            calls = fast.cache_info().slow_calls
    assert fast.cache_info().slow_calls == calls


def test_a_process_that_compiles_ahead_serves_other_shapes_of_another_one(generated):
    with programs.nothing_known():
        jitrt.jit(elementwise).compile(jitrt.spec("f8", 3000))
    assert generated
    generated.clear()
    with programs.nothing_known():
        fast = jitrt.jit(elementwise)
        for n in (3000, 4000):
            same(fast(np.ones(n)), elementwise(np.ones(n)))
    assert not generated


def test_small_extents_are_variables_once_they_vary(monkeypatch):
    made = []
    plain = template._specialised
    monkeypatch.setattr(template, "_specialised", lambda *args: made.append(1) or plain(*args))

    def function(x):
        return x * 2 - x[0]

    fast = jitrt.jit(function)
    for m in range(2, 17):
        np.testing.assert_array_equal(fast(np.arange(float(m))), function(np.arange(float(m))))
    assert len(made) <= 3


@pytest.mark.parametrize("place", ["formulas.packed", "formulas.new_registers", "GeneralFrame._link"])
def test_interrupts_leave_no_frame_by_halves(monkeypatch, place):
    """Native code wrote registers that there were not, where an interrupt came between them and the rows."""
    fast = jitrt.jit(elementwise)
    fast(np.ones(300))
    (found,) = fast._specialisations.compiled()
    frame = found.compiled.program.new_frame()

    def interrupted(*_):
        raise KeyboardInterrupt

    for n in (300, 200_000, 40):
        x = np.linspace(0, 1, n)
        with monkeypatch.context() as context, pytest.raises(KeyboardInterrupt):
            context.setattr(f"jitrt.runtime.generalframes.{place}", interrupted)
            frame._lay_out(frame.image, frame.image.nbytes)
            frame.begin([x])
        same(frame.run([x], 0)[0], elementwise(x))
