"""Programs for any shape that are kept on disk: found again, made anew where files are damaged, and interrupted."""

import numpy as np
import pytest

import jitrt
from jitrt import pipeline, programs
from jitrt.call import template
from jitrt.errors import Interrupted


def of_kernels(x):
    return np.sqrt(x * x + 1) * 0.5


def with_a_step_of_numpy(x):
    return np.sort(x * 2.0 + 1) - x[0]


def with_sizes_in_a_step(x):
    return np.convolve(x + 1, x[: x.size // 2] * 2, "same") + np.sort(x)


FUNCTIONS = [of_kernels, with_a_step_of_numpy, with_sizes_in_a_step]
SIZES = range(3000, 3600, 100)


@pytest.fixture
def generated(monkeypatch, tmp_path):
    """Grows with every program that is generated, with a disk cache that is empty at first."""
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    found, plain = [], pipeline.generate
    monkeypatch.setattr(pipeline, "generate", lambda *args, **options: found.append(args) or plain(*args, **options))
    return found


def calls_as_in_another_process(function):
    with programs.nothing_known():
        fast = jitrt.jit(function)
        for n in SIZES:
            x = np.sin(np.arange(n) * 1.7)
            np.testing.assert_allclose(fast(x), function(x), rtol=1e-12)
        return {n.open_sizes is not None for _, n in fast._specialisations.known()}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_another_process_generates_nothing(generated, function):
    assert True in calls_as_in_another_process(function) and generated
    generated.clear()
    assert True in calls_as_in_another_process(function) and not generated


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_damaged_files_are_replaced(generated, function, tmp_path):
    calls_as_in_another_process(function)
    for path in tmp_path.glob("*/*.program"):
        path.write_bytes(path.read_bytes()[:-7])
    generated.clear()
    calls_as_in_another_process(function)
    assert generated
    generated.clear()
    calls_as_in_another_process(function)
    assert not generated


def test_kernels_that_could_not_be_kept_are_compiled_anew(generated, monkeypatch, tmp_path):
    def of_own_kernels(x):
        return np.sort(x * 2.125 + 1.875) * x[0] - 7.375

    (tmp_path / "file").touch()
    with monkeypatch.context() as context:
        context.setenv("JITRT_CACHE_DIR", str(tmp_path / "file"))
        calls_as_in_another_process(of_own_kernels)
    calls_as_in_another_process(of_own_kernels)
    generated.clear()
    calls_as_in_another_process(of_own_kernels)
    assert not generated


def test_kernels_that_are_in_another_cache_are_compiled_anew(generated, monkeypatch, tmp_path):
    def of_other_kernels(x):
        return np.sort(np.floor(x * 2.125) - 1.875) * abs(x[0])

    calls_as_in_another_process(of_other_kernels)
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path / "other"))
    calls_as_in_another_process(of_other_kernels)
    generated.clear()
    calls_as_in_another_process(of_other_kernels)
    assert not generated


def test_an_interrupt_in_a_trace_for_any_shape_ends_the_call(monkeypatch):
    def interrupted(*_):
        raise Interrupted(KeyboardInterrupt())

    fast = jitrt.jit(of_kernels)
    monkeypatch.setattr(template, "_specialised", interrupted)
    with pytest.raises(KeyboardInterrupt):
        for n in SIZES:
            fast(np.ones(n))
