"""The decorator itself: how it is applied, what it looks like, and that it can be copied and sent."""

import copy
import importlib
import inspect
import logging
import pickle
import re

import numpy as np
import pytest

import jitrt
from jitrt import config

x = np.arange(5.0)


@jitrt.jit
def decorated(a, b=1.0):
    """Add."""
    return a + b


def plain(a):
    return a * 2


wrapped = jitrt.jit(plain)


def test_it_looks_like_the_function():
    assert decorated.__name__ == "decorated" and decorated.__doc__ == "Add." and decorated.__wrapped__ is not None
    assert str(inspect.signature(decorated)) == "(a, b=1.0)"
    assert isinstance(decorated, jitrt.JitFunction)


def test_with_options():
    @jitrt.jit(threads=1)
    def halved(a):
        return a / 2

    np.testing.assert_array_equal(halved(x), x / 2)
    with pytest.raises(ValueError):
        jitrt.jit(threads=0)(plain)


@pytest.mark.parametrize("function", [decorated, wrapped], ids=["by name", "by function"])
def test_pickle_and_copy(function):
    for other in (pickle.loads(pickle.dumps(function)), copy.copy(function), copy.deepcopy(function)):
        np.testing.assert_array_equal(other(x), function(x))
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_methods_run():
    class Model:
        scale = 3.0

        @jitrt.jit
        def apply(self, a):
            return a * self.scale

        @staticmethod
        @jitrt.jit
        def double(a):
            return a * 2

    np.testing.assert_array_equal(Model().apply(x), x * 3)
    np.testing.assert_array_equal(Model.double(x), x * 2)


def test_clear_forgets_and_works_on():
    function = jitrt.jit(plain)
    function(x)
    function.clear()
    np.testing.assert_array_equal(function(x), x * 2)


def test_disable(monkeypatch):
    monkeypatch.setenv("JITRT_DISABLE", "1")
    function = jitrt.jit(plain)
    np.testing.assert_array_equal(function(x), x * 2)
    assert "JITRT_DISABLE" in function.explain(x).plain_reason


def test_explanation_tells_everything():
    explanation = jitrt.jit(lambda a: np.sort(np.exp(a) * 2 + 1).sum()).explain(np.ones((30, 40)))
    text = explanation.text()
    for part in (
        "graph after trace",
        "loop nests",
        "frame of",
        "jitrt_",
        "executed by NumPy",
        "sort",
        "time to compile",
    ):
        assert part in text
    assert explanation.frame_bytes >= 30 * 40 * 8
    assert "define void @" in explanation.llvm
    assert explanation.graph is not None and len(explanation.loop_nests) == len(explanation.kernels) > 0
    page = explanation._repr_html_()
    assert page.count("</small></summary>") == len(explanation.sections()) - 1 and page.count("<svg") == 3
    assert "the temporary memory of a call" in page and "the temporary memory of a call" in text
    assert "test_jit.py" in explanation.host_calls[0]


def test_a_short_explanation_says_what_serves_the_loops_and_what_numpy_executes():
    def ranked(a, n):
        t = a.copy()
        for k in range(n):
            t = np.sort(t) * 0.5 + a + k
        return t

    compiled = jitrt.jit(lambda a: np.sort(np.exp(a) * 2 + 1).sum()).explain(np.ones((30, 40)))
    first, executed, *_, parts = str(compiled).split("\n")
    line = ranked.__code__.co_firstlineno + 6
    assert "is compiled: " in first
    assert re.fullmatch(rf"\d+ % of the time is in np.sort \(line {line}\), which jitrt does not compile", executed)
    assert ".memory" in parts and "frame of" in compiled.memory
    looped = str(jitrt.jit(ranked).explain(np.ones(50), 4))
    assert "for k in range(n):" in looped and len(looped.split("\n")) <= 8
    plain = jitrt.jit(lambda a: print(a)).explain(x)
    assert str(plain).startswith("<lambda> runs as plain NumPy: prints (")
    assert plain.advice and f"what helps: {plain.advice} (docs: reasons.html#effects-beside" in str(plain)
    sorts = jitrt.jit(lambda a: np.sort(a, axis=0) + 1).explain(np.random.default_rng(0).random((30_000, 10)))
    assert sorts.advice.startswith("np.partition is enough if only the order statistics count")


def test_the_function_of_numpys_is_named_that_takes_the_time():
    def ordered(a):
        return np.sort(a)

    def helped(a):
        return np.sort(a[:5]), ordered(a) * 2 + 1

    found = jitrt.jit(helped).explain(np.random.default_rng(0).random(200_000))
    shares = {line.rpartition(":")[2]: share for name, line, share in found.numpy_shares if name == "np.sort"}
    first = ordered.__code__.co_firstlineno
    assert shares[f"{first + 1}"] > 0.3 > shares[f"{first + 4}"]
    assert f"is in np.sort (line {first + 1})" in str(found).split("\n")[1]


def test_what_takes_the_time_is_named_where_the_plain_function_runs(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")

    def solved(m, v):
        return np.linalg.solve(m, 2 * v) + 1

    matrix = np.eye(50) + np.random.default_rng(0).random((50, 50))
    found = jitrt.jit(solved).explain(matrix, matrix[0])
    line = solved.__code__.co_firstlineno + 1
    why = rf"solved runs as plain NumPy: \d+ % of the time is in np.linalg.solve \(line {line}\), which jitrt does not "
    assert re.match(why, str(found)) and found.advice.startswith("call it once for a stack of matrices")
    looks = jitrt.jit(lambda m, v: solved(m, v) if np.linalg.det(m) > 0 else v).explain(matrix, matrix[0])
    assert {name for name, _, _ in looks.numpy_shares} <= {"np.linalg.solve", "np.linalg.det"} and looks.advice


def test_a_call_between_two_segments_has_its_share():
    def counted(x):
        values, counts = np.unique(np.round(x, 2), return_counts=True)
        return values * 2, counts

    fast, x = jitrt.jit(counted), np.random.default_rng(0).random(100_000)
    ((name, line, share),) = fast.explain(x).numpy_shares
    assert (name, line.rpartition(":")[2]) == ("np.unique", f"{counted.__code__.co_firstlineno + 1}") and share > 0.2
    assert fast.profile(x).numpy_seconds > 0 and "NumPy executes np.unique (" in str(fast.profile(x))


def test_what_numpy_executes_for_a_procedure_is_named():
    def levels(m, v):
        total = 0.0
        for _ in range(3):
            w = np.linalg.eigvalsh(m)
            for i in range(len(v)):
                for j in range(60):
                    total = 0.5 * total + v[i] * w[j]
        return total

    m = np.random.default_rng(0).random((60, 60))
    first = str(jitrt.jit(levels).explain(m + m.T, np.ones(600))).split("\n")[0]
    assert first == "levels is compiled as one function: NumPy executes np.linalg.eigvalsh"


def test_explanation_of_a_plain_function():
    def writes(a):
        a.setflags(write=False)

    explanation = jitrt.jit(writes).explain(x.copy())
    assert "setflags" in explanation.plain_reason and "test_jit.py" in explanation.text()
    assert explanation.kernels == [] and explanation.graph is None and explanation.frame_bytes == 0


def test_varying_arguments_end_in_plain_numpy_with_a_warning():
    function = jitrt.jit(lambda a, text: np.roll(a, 1) + float(text))
    with pytest.warns(jitrt.JitrtPerformanceWarning, match="plain NumPy"):
        for n in range(200):
            np.testing.assert_array_equal(function(x, str(n)), np.roll(x, 1) + n)


def test_logging(monkeypatch, caplog):
    monkeypatch.setenv("JITRT_LOG", "trace")
    logger = logging.getLogger("jitrt.trace")
    before = list(logger.handlers), logger.level
    try:
        config.configure_logging()
        with caplog.at_level(logging.INFO, "jitrt.trace"):
            jitrt.jit(lambda a: print(a))(x)
        assert "runs as plain NumPy" in caplog.text
    finally:
        logger.handlers[:], level = before
        logger.setLevel(level)


def test_logging_of_something_unknown(monkeypatch, caplog):
    monkeypatch.setenv("JITRT_LOG", "cahce")
    before = set(logging.getLogger().manager.loggerDict)
    config.configure_logging()
    assert "cahce" in caplog.text and "cache" in caplog.text
    for name in set(logging.getLogger().manager.loggerDict) - before:
        logging.getLogger(name).handlers.clear()


def test_the_package_exports_what_it_says():
    module = importlib.import_module("jitrt")
    assert all(hasattr(module, name) for name in module.__all__)


def test_parameters_of_any_name():
    x = np.arange(3.0)
    function = lambda x, self, cls, args, kwargs, function=1, name=2: x * self + cls - args * kwargs + function * name  # noqa: E731
    names = {"self": 3, "cls": 1.0, "args": x, "kwargs": 2, "function": 5, "name": 7}
    compiled = jitrt.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x, **names), function(x, **names))
    np.testing.assert_array_equal(jitrt.jit(function)(**names, x=x), function(**names, x=x))
    assert compiled.explain(x, **names).kernels
    assert compiled.compile(x, **names).kernels
    assert str(compiled.lower(x, **names).graph)
    assert compiled.profile(x, **names).steps
