"""Calls that run as plain NumPy: which those are, what people are told of them, and that others run compiled."""

import numpy as np
import pytest
from covering import few

import jitrt
from jitrt import policy
from jitrt.call.site import Served, Site
from jitrt.call.tree import Plain

MANY = 24
ARRAY = np.linspace(0.5, 1.5, 400)


class ForeignMasked(np.ma.MaskedArray):
    pass


class Foreign(np.ndarray):
    """An array with behaviour of its own."""

    def __array_finalize__(self, other):
        self.note = getattr(other, "note", "")


def smooth(x):
    return np.sqrt(x * x + 1.0) * 2 - x


def of_container(values):
    return smooth(values["x"])


def foreign_arguments():
    yield "structured", np.zeros(5, [("a", "f8")])["a"].astype(object) + 1
    yield "objects", np.array([1.0, 2.0], object)
    yield "subclass", ARRAY.view(Foreign)
    yield "masked", np.ma.masked_array(ARRAY, ARRAY > 1).view(ForeignMasked)
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(ARRAY)
    series.attrs["unit"] = "m"
    yield "series", series
    yield "frame", pandas.DataFrame({"a": ARRAY})


def calls(value):
    """How functions may be given a value."""
    yield smooth, (value,), {}
    yield smooth, (), {"x": value}
    yield of_container, ({"x": value},), {}


@pytest.mark.parametrize("name, value", list(foreign_arguments()), ids=lambda v: v if isinstance(v, str) else "")
def test_foreign_arguments_say_nothing_of_others(name, value):
    if name == "objects":
        value = np.array([4.0, 9.0], object)
    for function, args, kwargs in calls(value):
        if name in ("objects", "structured"):
            function = jitrt.jit(lambda x: (x["x"] if isinstance(x, dict) else x) * 2 + 1)
        else:
            function = jitrt.jit(function)
        for _ in range(MANY):
            function(*args, **kwargs)
            assert "takes" in function.plain_reason
        before = function.cache_info().slow_calls
        for _ in range(MANY):
            function(*args, **kwargs)
        assert function.cache_info().slow_calls == before  # native code knows them
        others = [ARRAY if not isinstance(v, dict) else {"x": ARRAY} for v in args], dict.fromkeys(kwargs, ARRAY)
        function(*others[0], **others[1])
        assert function.plain_reason == "" and function.cache_info().compiled == 1
        assert not function.explain(*others[0], **others[1]).plain_reason
        function(*args, **kwargs)
        assert "takes" in function.plain_reason
        assert function.explain(*args, **kwargs).plain_reason == function.plain_reason
        function(*others[0], **others[1])
        assert function.plain_reason == ""


def test_kinds_of_calls_that_take_turns():
    function = jitrt.jit(smooth)
    lists = [[1.0] * 5000, ARRAY]
    for _ in range(MANY):
        for value in (np.float32(2), ARRAY[:0]):
            np.testing.assert_array_equal(function(value), smooth(value))
        with pytest.raises(TypeError):
            function(lists)
        with pytest.raises(TypeError):
            function("text")
    np.testing.assert_allclose(function(ARRAY), smooth(ARRAY), rtol=1e-15)
    assert function.plain_reason == ""


def sized(x, n):
    """Of as many elements as `n` says."""
    if n % 2:
        print(end="")
    return np.sqrt(x) * n


def test_a_kind_of_calls_that_runs_plain_is_looked_at_again(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    function = jitrt.jit(smooth)
    shapes = [np.ones(n) for n in range(1, 40)]
    with pytest.raises(TypeError):
        function(None)
    for _ in range(40):
        for value in shapes:
            np.testing.assert_allclose(function(value), smooth(value), rtol=1e-15)
    assert function.plain_reason == ""


def test_what_is_explained_is_what_runs():
    function = jitrt.jit(lambda x, text: x * float(text))
    with pytest.warns(jitrt.JitrtPerformanceWarning):
        for n in range(200):
            function(ARRAY, str(n))
    assert "few came again" in function.plain_reason
    new = "100000"
    assert not function.explain(ARRAY, new).plain_reason
    function(ARRAY, new)
    assert function.plain_reason == ""


def test_signatures_say_what_serves_them():
    function = jitrt.jit(lambda x, scale=1.0, *, holder=None: (x if holder is None else holder["x"]) * scale)
    function(ARRAY)
    function(ARRAY.astype("f4"), 2)
    function(np.array([1], object), scale=2.5)
    function(ARRAY, holder={"x": ARRAY[::2], 1: (3, "text")})
    found = [(s.arguments, bool(s.plain_reason)) for s in function.signatures()]
    assert found[:3] == [("f8(s0,)", False), ("f4(s0,), int 2", False), ("object, scale=float", True)]
    assert found[3][0] == "f8(s0,), holder={'x': f8(s1,), 1: (int 3, str 'text')}"
    function.clear()
    assert function.signatures() == ()


def test_clear_forgets_all(monkeypatch):
    function = jitrt.jit(lambda x, text: x * float(text))
    for _ in range(2):
        with pytest.warns(jitrt.JitrtPerformanceWarning):
            for n in range(200):
                function(ARRAY, str(n))
        assert function.plain_reason
        function.clear()
        info = function.cache_info()
        assert (info.compiled, info.plain, info.tables, info.frame_bytes) == (0, 0, 0, 0)
        assert function.plain_reason == ""
        function(ARRAY, 7)
        assert function.plain_reason == ""
        function.clear()


def test_clear_lets_a_function_be_looked_at_again():
    global helper
    helper = np.sqrt

    def asks(x):
        return helper(x) * 2

    def prints(x):
        print(end="")
        return x

    function = jitrt.jit(asks)
    helper = prints
    for _ in range(MANY):
        function(ARRAY)
    assert function.plain_reason
    helper = np.sqrt
    function.clear()
    np.testing.assert_array_equal(function(ARRAY), np.sqrt(ARRAY) * 2)
    assert function.plain_reason == ""


@pytest.mark.parametrize("seed", few(range(20), 3))
def test_states_of_a_call_site(seed):
    rng = np.random.default_rng(seed)
    site, in_a_row = Site(), 0
    longest = int(rng.choice([16, 100, 4096]))
    for _ in range(3000):
        spared = 0
        while site.spares():
            spared += 1
        assert spared <= longest and (not spared or in_a_row > policy.PLAIN_CALLS)
        if rng.random() < 0.02:
            site.become(rng.choice([Served.COMPILED, Served.TREE, Served.STAGED]))
            in_a_row = 0
            assert not site.spares() and site.plain is None
        else:
            site.become(Served.FALLBACK, Plain("a reason"), longest)
            in_a_row += 1
            assert site.plain.reason == "a reason"
    for _ in range(40):
        site.become(Served.FALLBACK, Plain("a reason"), longest)
    assert min(longest, 1000) <= site.backoff.spared <= longest


def looks_at_its_sum(x):
    return x * 2 if x.sum() > 0 else x - 1


def adds_up(x):
    total = 0.0
    for k in range(len(x)):
        total = total * 0.5 + x[k]
    return total


@pytest.mark.parametrize(
    "function, value, served",
    [
        (smooth, ARRAY, Served.COMPILED),
        (looks_at_its_sum, ARRAY, Served.TREE),
        (adds_up, ARRAY, Served.STAGED),
        (smooth, np.ma.masked_array(ARRAY, ARRAY > 1).view(ForeignMasked), Served.FALLBACK),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_what_serves_a_kind_of_calls(function, value, served):
    fast = jitrt.jit(function)
    assert not fast._sites
    fast(value)
    (site,) = fast._sites.values()
    assert site.served is served and (site.plain is not None) == (served is Served.FALLBACK)
    fast.clear()
    assert not fast._sites
