"""Compiling ahead of time, profiles, and what the log says about guards and caches."""

import logging

import numpy as np
import pytest

import jitrt
from jitrt.inspect.profile import Profile, StepTime
from jitrt.runtime import threads

x = np.linspace(0.1, 1.0, 600).reshape(20, 30)


def smooth(a, b, s=2.0):
    return np.sqrt(a * b) * s, (a - b).sum(axis=0)


def served_without_python(function, *args, **kwargs):
    before = function.cache_info().slow_calls
    result = function(*args, **kwargs)
    assert function.cache_info().slow_calls == before
    return result


@pytest.mark.parametrize("given", ["examples", "specs", "pairs", "types"])
def test_a_compiled_call_is_served_at_once(given):
    function = jitrt.jit(smooth)
    arguments = {
        "examples": (x, x),
        "specs": (jitrt.spec("f8", (20, 30)), jitrt.spec(np.float64, [20, 30])),
        "pairs": ((np.dtype("f8"), (20, 30)), (np.dtype("f8"), (20, 30))),
        "types": ((np.float64, (20, 30)), (float, (20, 30))),
    }[given]
    explanation = function.compile(*arguments)
    assert explanation.kernels and not explanation.plain_reason
    for got, want in zip(served_without_python(function, x, x), smooth(x, x)):
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_keywords_and_containers_of_specs():
    function = jitrt.jit(lambda d, scale: d["a"] * scale + d["b"][0])
    described = jitrt.spec("f8", (20, 30))
    function.compile({"a": described, "b": [described]}, scale=1.0)
    np.testing.assert_array_equal(served_without_python(function, {"a": x, "b": [x]}, scale=3.0), x * 3 + x)


def test_compiling_changes_nothing():
    def increment(a):
        a += 1
        return a

    mine = x.copy()
    jitrt.jit(increment).compile(mine)
    np.testing.assert_array_equal(mine, x)


def test_plain_functions_say_why():
    function = jitrt.jit(lambda a: print(a))
    assert "print" in function.compile(jitrt.spec("f8", 3)).plain_reason
    with pytest.raises(ValueError, match=r"runs as plain NumPy: .*print"):
        function.lower(jitrt.spec("f8", 3))


def test_errors_of_the_function_are_raised():
    with pytest.raises(ValueError, match="broadcast"):
        jitrt.jit(smooth).compile(jitrt.spec("f8", 3), jitrt.spec("f8", 4))


def test_stages_are_printed_and_compiled():
    function = jitrt.jit(smooth)
    stages = function.lower(jitrt.spec("f8", (20, 30)), jitrt.spec("f8", (20, 30)))
    for part in ("graph after trace", "loop nests", "frame of"):
        assert part in str(stages)
    assert "<details" in stages._repr_html_()
    assert len(stages.loop_nests) > 0 and stages.frame_bytes >= 0 and len(stages.graph.outputs) == 2
    explanation = stages.compile()
    assert [str(nest) for nest in explanation.loop_nests] == [str(nest) for nest in stages.loop_nests]
    served_without_python(function, x, x)


def test_stages_show_loops():
    stages = jitrt.jit(lambda a: jitrt.fori_loop(0, 5, lambda i, v: v * 1.5, a)).lower(x)
    assert "5 times" in str(stages)


def test_warm_up():
    before = jitrt.num_threads()
    jitrt.set_num_threads(3)
    try:
        jitrt.warm_up()
        jitrt.warm_up()
        assert threads.has_pool()
    finally:
        jitrt.set_num_threads(before)


def test_profile():
    def function(a):
        return np.sort(a, axis=0) * 2 + np.exp(a)

    big = np.tile(x, (50, 20))
    profile = jitrt.jit(function).profile(big)
    assert [s.by_numpy for s in profile.steps].count(True) == 1
    assert all(s.seconds > 0 for s in profile.steps)
    kernel = next(s for s in profile.steps if not s.by_numpy)
    assert kernel.nbytes == 3 * big.nbytes
    assert profile.kernel_seconds > 0 and profile.numpy_seconds > 0 and profile.python_seconds >= 0
    for part in ("GB/s", "NumPy executes np.sort", "Python", "this machine"):
        assert part in str(profile)


def test_profile_works_on_copies():
    def increment(a):
        a += 1

    mine = x.copy()
    profile = jitrt.jit(increment).profile(mine)
    np.testing.assert_array_equal(mine, x)
    assert profile.steps and profile.seconds > 0


def test_profile_names_what_kernels_compute():
    profile = jitrt.jit(lambda a: np.exp(a).sum() + a).profile(x)
    assert "kernel: " in str(profile) and "exp" in str(profile) and "reduce_add" in str(profile)


def test_profile_says_how_steps_are_timed():
    step = StepTime("kernel: add", 2e-6, 24, False)
    assert "one at a time" in str(Profile("f", 1e-6, 3e-6, (step,), 1e10))
    assert "one at a time" not in str(Profile("f", 3e-6, 3e-6, (step,), 1e10))


def test_profile_of_segments():
    def function(a):
        total = a.sum()
        return np.sqrt(a) * total if total > 0 else a - total

    profile = jitrt.jit(function).profile(x)
    assert not profile.plain_reason
    assert "reduce_add" in profile.steps[0].what and "sqrt" in profile.steps[-1].what


def test_profile_does_not_print_for_ever(capsys):
    def talks(a):
        print("called")
        return a + 1

    assert "print" in jitrt.jit(talks).profile(x).plain_reason
    assert 0 < capsys.readouterr().out.count("called") < 20


def test_profile_of_a_plain_function():
    profile = jitrt.jit(lambda a: a.tobytes()).profile(x)
    assert "runs as plain NumPy" in str(profile)


def test_cache_info_and_clear():
    function = jitrt.jit(smooth)
    for n in (5, 6, 5, 6):
        function(x[:n], x[:n])
    info = function.cache_info()
    assert (info.compiled, info.plain, info.tables, info.slow_calls) == (2, 0, 2, 2)
    function.clear()
    assert function.cache_info()[:4] == (0, 0, 0, 0)


@pytest.fixture
def log(caplog):
    with caplog.at_level(logging.DEBUG, "jitrt"):
        yield caplog


def test_the_log_says_which_guard_missed(log, without_templates):
    function = jitrt.jit(smooth)
    function(x, x)
    assert "smooth: the first call" in log.text
    function(x[:5], x[:5])
    assert "argument 0: f8(5, 30) and not f8(20, 30); argument 1: f8(5, 30) and not f8(20, 30)" in log.text
    function(x, x.astype("f4"))
    assert "argument 1: f4(20, 30) and not f8(20, 30)" in log.text
    function(x.T, x.T)
    assert "with strides (8, 240)" in log.text
    function(x, b=x)
    assert "arguments are passed as ((.), {'b': .}), not as ((., .), {})" in log.text


def test_the_log_says_what_is_compiled(log, monkeypatch, tmp_path):
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    function = jitrt.jit(lambda a: a * 1.2345 - np.arctan(a) * 3.25)
    function(x)
    assert "a new kernel" in log.text and "went to the disk cache" in log.text and "compiled jitrt_" in log.text


@pytest.mark.parametrize("shape, error", [(-3, ValueError), ((2, -1), ValueError), (2.5, TypeError), ("ab", TypeError)])
def test_shapes_that_no_array_has(shape, error):
    with pytest.raises(error):
        jitrt.spec("f4", shape)


@pytest.mark.parametrize("n", [2.5, "2", None])
def test_numbers_of_threads_are_integers(n):
    with pytest.raises(TypeError):
        jitrt.set_num_threads(n)
    if n is not None:
        with pytest.raises(TypeError):
            jitrt.jit(threads=n)(np.sin)


@pytest.mark.parametrize("thing", [3, "f", classmethod(len)])
def test_what_cannot_be_called_is_not_decorated(thing):
    with pytest.raises(TypeError, match="takes a function"):
        jitrt.jit(thing)
