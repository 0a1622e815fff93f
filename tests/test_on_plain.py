"""What happens when a call is about to run the plain function, as the user wants it; and what helps."""

import ast
import copy
import importlib.util
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import jitrt
from jitrt.advice import ADVICE, advice

PACKAGE = Path(jitrt.__file__).parent
x = np.arange(6.0)
done = []


def effects(a):
    done.append(len(a))
    print(end="")
    return a + 1


def by_kind(a):
    return a + 1


def reasons():
    """The reasons that are written in the front end, as far as they are known before they are given."""
    for path in sorted((PACKAGE / "frontend").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if name in ("Untraceable", "NotStaged") and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value


def filtered(data):
    out = np.empty_like(data)
    for k in range(len(data)):
        out[k] = np.fft.irfft(np.fft.rfft(data[k]) * 0.5, data.shape[1])
    return out


def by_name(values, names):
    return values[names == "may"].mean()


def test_the_rewrite_is_about_what_keeps_a_loop_in_python(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    found = jitrt.jit(filtered).explain(np.ones((3000, 100)))
    assert "most of it are calls of np.fft.rfft, np.fft.irfft" in str(found)
    assert found.advice.startswith("one call with axis= in place of a loop")
    texts = jitrt.jit(by_name).explain(np.ones(3), np.array(["may", "june", "may"]))
    assert "np.unique(texts, return_inverse=True)" in texts.advice and "reasons.html#arrays-of-text" in str(texts)


@pytest.mark.parametrize("way", ["option", "environment"])
def test_raising_runs_nothing(way, monkeypatch):
    if way == "environment":
        monkeypatch.setenv("JITRT_ON_PLAIN", "raise")
    fast = jitrt.jit(effects) if way == "environment" else jitrt.jit(effects, on_plain="raise")
    done.clear()
    for _ in range(40):
        with pytest.raises(jitrt.JitrtPerformanceWarning, match=r"prints .*; what helps: "):
            fast(x)
    assert not done


def test_calls_that_are_compiled_do_not_raise():
    fast = jitrt.jit(by_kind, on_plain="raise")
    objects = np.array([1, None, 2], object)[[0, 2]]
    for _ in range(40):
        np.testing.assert_array_equal(fast(x), x + 1)
        with pytest.raises(jitrt.JitrtPerformanceWarning, match="array of object"):
            fast(objects)


def test_exceptions_of_the_function_come_first():
    def fails(a):
        return a + np.ones(len(a) + 1)

    fast = jitrt.jit(fails, on_plain="raise")
    for _ in range(3):
        with pytest.raises(ValueError, match="broadcast"):
            fast(x)


def test_a_warning_comes_once_for_each_reason():
    fast = jitrt.jit(effects, on_plain="warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(40):
            np.testing.assert_array_equal(fast(x), x + 1)
    assert [w.category for w in caught] == [jitrt.JitrtPerformanceWarning]
    assert caught[0].filename == __file__ and "prints" in str(caught[0].message)


def test_nothing_is_said_by_default_or_where_the_variable_says_nothing(monkeypatch):
    monkeypatch.setenv("JITRT_ON_PLAIN", "shout")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(jitrt.jit(effects)(x), x + 1)


def test_the_option_is_checked_and_stays():
    with pytest.raises(ValueError, match="on_plain must be one of ignore, warn, raise, not 'no'"):
        jitrt.jit(on_plain="no")(effects)
    fast = jitrt.jit(on_plain="raise")(effects)
    for same in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        with pytest.raises(jitrt.JitrtPerformanceWarning):
            same(x)


def test_every_kind_of_reason_is_given_and_found():
    found = {advice(reason).title for reason in reasons()}
    assert found >= {a.title for a in ADVICE} - {
        "New arguments in every call",
        "An error of jitrt's own",
        "Arrays of text",
    }


def test_what_has_a_rewrite_is_more_than_what_has_none():
    texts = list(reasons())
    other = [t for t in texts if advice(t) is ADVICE[-1]]
    assert len(texts) > 150 and len(other) < len(texts) / 4


def test_following_the_advice_compiles():
    spec = importlib.util.spec_from_file_location(
        "following_advice", PACKAGE.parent / "examples" / "following_advice.py"
    )
    examples = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(examples)
    said = {"district_means": "one type", "star_map": "np.bincount", "repeats": "number"}
    for before, args, after, args_after in examples.cases(np.random.default_rng(1), 200):
        explanation = jitrt.jit(before).explain(*args)
        assert said.get(before.__name__, "behind it") in explanation.advice, before.__name__
        followed = jitrt.jit(after)
        made = followed.explain(*args_after)
        assert not made.plain_reason and "histogram" not in str(made)
        found, wanted = followed(*args_after), before(*args)
        for one, other in zip(found, wanted) if isinstance(wanted, tuple) else [(found, wanted)]:
            np.testing.assert_allclose(one, other, rtol=1e-12)


kept_outside: list[int] = []


def test_advice_is_about_what_keeps_the_loops_from_being_compiled():
    """It told to make an array where a list of the module is appended to, and to split a function that prints."""

    @jitrt.jit
    def appends(values):
        for k, v in enumerate(values):
            if v > 0.5:
                kept_outside.append(k)
        return len(values)

    @jitrt.jit
    def shows(values):
        total = 0.0
        for k in range(len(values)):
            if values[k] < 0:
                print(f"negative: {k}")
            total += values[k]
            if total > 1e9:
                break
        return total

    x = np.linspace(0.0, 1.0, 5000)
    for f, reason in ((appends, "append of a list from outside"), (shows, "prints in a loop")):
        text = str(f.explain(x))
        assert reason in text
        assert "do this in front of the call or behind it" in text
