"""What one process has traced in vain, the next one does not trace, unless something it depends on is another."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import jitrt
from jitrt import policy
from jitrt.call import lookup, template

TEXT = """
FACTOR = {factor}
def helper(x):
    return {helper}
class Body:
    def __init__(self, x):
        self.x = x
    def twice(self):
        return {method}
def f(x, how="a"):
    x = helper(x) * FACTOR
    x.astype(object)
    return x
def g(body):
    y = body.twice() * 2.0
    y.astype(object)
    return y
"""
PARTS = {"factor": 2.0, "helper": "x + 1", "method": "self.x * 2"}


def scope_of(**parts):
    scope = {"np": np, "__name__": "verdicts"}
    exec(compile(TEXT.format(**PARTS | parts), "<verdicts>", "exec"), scope)
    return scope


@pytest.fixture
def traced(monkeypatch, tmp_path):
    """What is traced, with a disk cache that is empty at first."""
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(policy, "LONG_TRACE", 0.0)
    found, plain, general = [], lookup.specialise, template._specialised

    def of_any_shape(call, *rest):
        made = general(call, *rest)
        found.append(call.name)
        return made

    monkeypatch.setattr(lookup, "specialise", lambda call, *rest: found.append(call.name) or plain(call, *rest))
    monkeypatch.setattr(template, "_specialised", of_any_shape)
    return found


def reason(function, *args):
    fast = jitrt.jit(function)
    want = function(*args)
    np.testing.assert_array_equal(fast(*args), want)
    np.testing.assert_array_equal(fast(*args), want)
    return fast.plain_reason


def test_another_process_does_not_try(traced):
    x = np.ones(500)
    first = reason(scope_of()["f"], x)
    tries = len(traced)
    assert "object" in first
    assert reason(scope_of()["f"], x) == first and len(traced) == tries


@pytest.mark.parametrize(
    "other", [{"factor": 3.0}, {"helper": "x + 2"}, {"helper": "np.sqrt(x)"}, {"helper": "(lambda y: y + 1)(x)"}]
)
def test_other_code_and_other_values_are_tried(traced, other):
    x = np.ones(500)
    reason(scope_of()["f"], x)
    tries = len(traced)
    reason(scope_of(**other)["f"], x)
    assert len(traced) > tries


def test_other_methods_are_tried(traced):
    for tries, method in enumerate(["self.x * 2", "self.x * 3", "self.x * 2"]):
        scope = scope_of(method=method)
        reason(scope["g"], scope["Body"](np.ones(500)))
        assert len(traced) == min(tries + 1, 2)


@pytest.mark.parametrize(
    "args", [(np.ones(501),), (np.ones(500, np.float32),), (np.ones(500), "b"), (np.ones((5, 100)),)]
)
def test_other_arguments_are_tried(traced, args):
    reason(scope_of()["f"], np.ones(500))
    tries = len(traced)
    reason(scope_of()["f"], *args)
    assert len(traced) > tries


def test_what_is_compiled_has_no_verdict(traced):
    def twice(x):
        return x * 2 + 1

    for tries in range(1, 4):
        assert not reason(twice, np.ones(500))
        assert len(traced) == tries


def test_it_reaches_processes_in_which_sets_have_another_order(tmp_path):
    code = textwrap.dedent("""
        import sys
        import numpy as np
        import jitrt
        from jitrt import policy
        from jitrt.call import lookup, template
        sys.path.insert(0, sys.argv[1])
        import of_traces
        policy.LONG_TRACE = 0.0
        tried, plain, general = [], lookup.specialise, template._specialised
        lookup.specialise = lambda *args: tried.append(1) or plain(*args)
        template._specialised = lambda *args: tried.append(1) or general(*args)
        fast = jitrt.jit(of_traces.g)
        fast(of_traces.Body(np.ones(500)))
        print(len(tried), fast.plain_reason)
    """)
    (tmp_path / "of_traces.py").write_text("import numpy as np\n" + TEXT.format(**PARTS | {"method": METHODS}))
    outputs = []
    for seed in ("1", "2", "3"):
        env = os.environ | {"JITRT_CACHE_DIR": str(tmp_path / "cache"), "PYTHONHASHSEED": seed}
        run = [sys.executable, "-c", code, str(tmp_path)]
        outputs.append(subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout)
    assert outputs[0][0] != "0" and "object" in outputs[0]
    assert [output[0] for output in outputs[1:]] == ["0", "0"]


METHODS = "helper(self.x) * FACTOR + np.sqrt(self.x) + np.pi"


@pytest.mark.filterwarnings("ignore::jitrt.JitrtPerformanceWarning")
def test_failures_for_the_same_reason_use_up_the_credit():
    """Objects with options of many kinds, and a line that no trace gets past."""
    scope = scope_of()
    fast = jitrt.jit(scope["f"])
    for k in range(20):
        fast(np.ones(500 + k), "a" * k)
    assert fast._specialisations._budget.traces <= 10
    assert "object" in fast.plain_reason
