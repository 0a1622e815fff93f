"""What could not be staged in one process is not tried in the next one, unless something it depends on is another."""

import linecache
import os
import statistics
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy
from scipy import optimize, sparse

import jitrt
from jitrt.codegen import cachefiles
from jitrt.runtime import loopengine, verdicts
from jitrt.runtime.stagedloops import LoopEngine
from jitrt.runtime.verdicts import keep_verdict, verdict

TEXT = """
FACTOR = 2.0
def helper(x):
    return {helper}
def f(x, how="a"):
    total = {start}
    for v in x:
        total = total + helper(v) * FACTOR
        {body}
    return total
"""
IN_VAIN = {"start": "0.0", "body": "print(end='')", "helper": "x + 1"}


def scope_of(**parts):
    text = TEXT.format(**IN_VAIN | parts)
    linecache.cache["<verdicts>"] = (len(text), None, text.splitlines(True), "<verdicts>")
    scope = {"np": np}
    exec(compile(text, "<verdicts>", "exec"), scope)
    return scope


def refused(function, *args):
    engine = LoopEngine(function)
    assert engine.call(args) is loopengine.MISS
    return engine.reason(args)


def test_where_there_is_no_verdict_no_file_is_looked_for(tried, monkeypatch):
    asked = []
    read = cachefiles.read
    monkeypatch.setattr(cachefiles, "read", lambda name: asked.append(name) or read(name))
    for k in range(5):
        assert verdict(f"what nobody has tried {k}") is None
    assert not asked
    keep_verdict("what was tried", "in vain", False)
    assert verdict("what was tried") == ("in vain", False)
    assert asked


def test_another_process_does_not_try(tried):
    x = np.ones(5)
    reason = refused(scope_of()["f"], x)
    assert reason and len(tried) == 1
    assert refused(scope_of()["f"], x) == reason and refused(scope_of()["f"], np.ones(9)) == reason
    assert len(tried) == 1


CHANGES = {
    "the body": {"body": "print('', end='')"},
    "a constant": {"start": "1.0"},
    "a function that it calls": {"helper": "x + 2"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_texts_are_tried(tried, change):
    refused(scope_of()["f"], np.ones(5))
    refused(scope_of(**CHANGES[change])["f"], np.ones(5))
    assert len(tried) == 2


def test_other_values_and_kinds_are_tried(tried):
    refused(scope_of()["f"], np.ones(5))
    scope = scope_of()
    scope["FACTOR"] = 3
    refused(scope["f"], np.ones(5))
    refused(scope_of()["f"], np.ones(5, "f4"))
    assert len(tried) == 3


def test_values_of_strings_are_told_apart(tried):
    for how in ("a", "b", "a", "b"):
        refused(scope_of()["f"], np.ones(5), how)
    assert len(tried) == 2


OF_OBJECTS = """
def helper(v):
    return {helper}
class Body:
    def __init__(self, x):
        self.x, self.factor = x, 2.0
    def one(self, v):
        return helper(v) * self.factor + {method}
    def total(self):
        total = 0.0
        for v in self.x:
            total = total + self.one(v)
            print(end='')
        return total
"""


def body_of(size=5, helper="v + 1", method="1"):
    text = OF_OBJECTS.format(helper=helper, method=method)
    linecache.cache["<objects>"] = (len(text), None, text.splitlines(True), "<objects>")
    scope = {"__name__": "objects"}
    exec(compile(text, "<objects>", "exec"), scope)
    return scope["Body"](np.ones(size))


def test_methods_are_not_tried_again_where_classes_have_other_versions(tried):
    for _ in range(3):
        body = body_of()
        assert refused(type(body).total, body)
    assert len(tried) == 1


@pytest.mark.parametrize("change", [{"size": (2, 3)}, {"helper": "v + 2"}, {"method": "2"}])
def test_methods_are_tried_with_other_code_and_other_objects(tried, change):
    for body in (body_of(), body_of(**change), body_of(**change)):
        refused(type(body).total, body)
    assert len(tried) == 2


def test_what_is_refused_at_the_same_line_is_tried_more_rarely(tried):
    engine = LoopEngine(scope_of()["f"])
    kinds = [np.dtype(t).type for t in "bBhHiIlLefd"]
    for kind in kinds:
        engine.call((np.ones(5, kind),))
    assert 2 <= len(tried) <= 5


def test_what_follows_from_other_values_is_no_verdict(tried):
    for _ in range(2):
        refused(scope_of(body="how(v); print(end='')")["f"], np.ones(5), abs)
    assert len(tried) == 2


def test_what_can_be_staged_is_served_behind_a_verdict_of_another_text(tried):
    refused(scope_of()["f"], np.ones(5))
    scope = scope_of(body="total = total * 0.5")
    fast = jitrt.jit(scope["f"])
    assert fast(np.ones(5)) == scope["f"](np.ones(5)) and fast._loops.source((np.ones(5), "a"))


def test_verdicts_reach_other_processes(tmp_path):
    code = textwrap.dedent("""
        import sys
        import numpy as np
        sys.path.insert(0, sys.argv[1])
        import of_verdicts
        from jitrt.runtime import loopengine, stagedfunction, stagedloops
        stage, tried = stagedfunction.stage, []
        stagedfunction.stage = lambda *args: tried.append(1) or stage(*args)
        engine = stagedloops.LoopEngine(of_verdicts.f)
        assert engine.call((np.ones(5), "a")) is loopengine.MISS
        print(len(tried), engine.reason((np.ones(5), "a")))
    """)
    (tmp_path / "of_verdicts.py").write_text(TEXT.format(**IN_VAIN))
    env = os.environ | {"JITRT_CACHE_DIR": str(tmp_path / "cache")}
    run = [sys.executable, "-c", code, str(tmp_path)]
    first, second = (subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first[0] == "1" and second[0] == "0" and first[1:] == second[1:]


def test_functions_that_differ_in_names_of_inner_functions_only():
    def outer(name):
        space = {}
        exec(f"def f(x):\n    return (lambda y: y.{name}())(x)\n", space)
        return space["f"]

    first, second = (verdicts.text_of(outer(name).__code__) for name in ("sum", "max"))
    assert first != second


class Restless:
    """A constant of code whose hash is another one each time, and with it that of the code."""

    count = 0

    def __hash__(self):
        Restless.count += 1
        return Restless.count


def test_code_whose_hash_changes_is_forgotten_as_well(monkeypatch):
    monkeypatch.setattr(verdicts, "_texts", {})
    monkeypatch.setattr(verdicts.policy, "SEEN", 4)
    functions = [scope_of(start=f"{k}.0")["f"] for k in range(12)]
    for f in functions:
        f.__code__ = f.__code__.replace(co_consts=(*f.__code__.co_consts, Restless()))
        verdicts.staged_name(f, (), (), False)
    assert len(verdicts._texts) <= 4


def test_functions_of_libraries_are_told_by_their_names():
    """What they name in turn does not count: SciPy's have thousands of functions behind them."""

    def fitted(x):
        return optimize.curve_fit(lambda a, b: a * b, x, x)[0] + statistics.mean(x) + sparse.diags(x)

    seen, texts = set(), []
    verdicts._describe(fitted, seen, texts)
    assert len(seen) < 8 and f"scipy.optimize._minpack_py.curve_fit {scipy.__version__}" in texts
    assert verdicts.staged_name(fitted, (), (), False) is not None


def test_functions_with_many_others_behind_them_have_no_name(monkeypatch):
    monkeypatch.setattr(verdicts, "_MOST_DESCRIBED", 8)
    text = "".join(f"def f{k}(x): return f{k + 1}(x)\n" for k in range(40)) + "def f40(x): return x\n"
    scope = {"__name__": __name__}
    exec(text, scope)
    assert verdicts.staged_name(scope["f0"], (), (), False) is None
    assert verdicts.staged_name(scope["f36"], (), (), False) is not None
