"""Lists that are arguments, or parts of these, and are appended to: native code extends them when all has gone well."""

import numpy as np
import pytest
from object_checks import outcome

import jitrt

X = np.linspace(0.0, 2.0, 5)
LOG = []


class Run:
    def __init__(self):
        self.x, self.t, self.n = X.copy(), 0.0, 0
        self.log, self.frames, self.pairs = [], [], []

    def step(self, dt):
        for i in range(len(self.x)):
            self.x[i] += dt * i
        self.t += dt
        self.log.append(self.t)

    def frame(self, dt):
        for i in range(len(self.x)):
            self.x[i] += dt * i
        self.frames.append(self.x.copy())

    def on_some_ways(self, dt):
        for i in range(len(self.x)):
            self.n += 1
            if self.x[i] > dt:
                self.log.append(float(self.x[i]))
                self.pairs.append((self.n, self.t))
        if self.n % 2:
            return None
        self.log.extend([dt, 2.0])
        return self.n

    def looks(self, dt):
        for v in self.x:
            self.log.append(float(v))
        if len(self.log) > 12:
            self.t = self.log[-1]

    def gives(self, dt):
        for v in self.x:
            self.log.append(float(v))
        return self.log

    def beyond(self, n):
        for i in range(n):
            self.t += self.x[i]
            self.log.append(self.t)


def of_a_list(log, x):
    total = 0.0
    for v in x:
        total += v
        log.append(float(total))
    log.extend([1, 2])


def of_a_dict(d, x):
    for v in x:
        d["n"] += 1
        d["log"].append(v)


def of_two(a, b, x):
    for v in x:
        a.append(float(v))
        b.append(1.0)


def and_a_global(log, x):
    for v in x:
        log.append(float(v))
        if len(LOG) > 3:
            x[0] = 7


METHODS = [Run.step, Run.frame, Run.on_some_ways, Run.looks, Run.gives]


@pytest.mark.parametrize("method", METHODS)
def test_calls_in_a_row(method):
    compiled, got, want = jitrt.jit(method), Run(), Run()
    lists = got.log, got.frames, got.pairs
    for dt in (0.25, 0.5, 0.5, 1.0, 3.0, 0.25):
        assert outcome(compiled, (got, dt)) == outcome(method, (want, dt))
    assert all(x is y for x, y in zip(lists, (got.log, got.frames, got.pairs)))
    if method not in (Run.looks, Run.gives):
        assert compiled._loops._loops and not compiled._loops._refused


def test_a_procedure_that_stops():
    compiled, got, want = jitrt.jit(Run.beyond), Run(), Run()
    for n in (3, 3, 9, 2, 9):
        assert outcome(compiled, (got, n)) == outcome(Run.beyond, (want, n))


@pytest.mark.parametrize("start", [[], [1.0], [1, 2], ["a", None], [0.5, 2]])
def test_lists_as_arguments(start):
    compiled, got, want = jitrt.jit(of_a_list), list(start), list(start)
    for x in (X, X[:2], X, X):
        assert outcome(compiled, (got, x)) == outcome(of_a_list, (want, x))
    got, want = ({"n": 1, "log": list(start)} for _ in range(2))
    compiled = jitrt.jit(of_a_dict)
    for _ in range(4):
        assert outcome(compiled, (got, X)) == outcome(of_a_dict, (want, X))


def test_one_list_under_two_names():
    compiled = jitrt.jit(of_two)
    got, want = [[], []], [[], []]
    for first, second in ((0, 1), (0, 0), (1, 1), (1, 0), (0, 0)):
        compiled(got[first], got[second], X)
        of_two(want[first], want[second], X)
        assert repr(got) == repr(want)
    compiled, got, want = jitrt.jit(Run.on_some_ways), Run(), Run()
    for k in range(6):
        if k == 3:
            got.pairs, want.pairs = got.log, want.log
        assert outcome(compiled, (got, 0.5)) == outcome(Run.on_some_ways, (want, 0.5))
        assert repr(got.log) == repr(want.log)


def test_a_list_that_the_function_names():
    found = []
    for function in (jitrt.jit(and_a_global), and_a_global):
        LOG.clear()
        x = X.copy()
        for _ in range(3):
            function(LOG, x)
        found.append((repr(LOG), repr(x)))
    assert found[0] == found[1]


def axes(found=[0, 1]):  # noqa: B006
    return found


def noted(value, found=[0]):  # noqa: B006
    found.append(value)
    return value


DEFAULTS = {
    "the class of a parameter's": lambda x, p=[1, 2]: (type(p).__name__, repr(p), x + 1),
    "the class of a helper's": lambda x: (type(axes()).__name__, f"{axes()}", x + 1),
    "as a key": lambda x, p=[1]: {p: x},
    "read": lambda x: (x.sum(axis=tuple(axes())), len(axes()), axes()),
    "compared": lambda x: (axes() == [0, 1], [*axes(), 2], x * 2),
    "a keyword's": lambda x, *, p=[3, 4]: (p[0] * x, p),
    "grown": lambda x: (noted(x.sum()), noted.__defaults__[0][-1:]),
}


@pytest.mark.parametrize("what", DEFAULTS)
def test_lists_that_are_defaults(what, monkeypatch):
    """They are read as others are, unless a function does nothing but append to them."""
    function = DEFAULTS[what]
    monkeypatch.setenv("JITRT_STRICT", str(int(what != "as a key")))
    compiled = jitrt.jit(function)
    x = np.arange(6.0).reshape(2, 3)
    for _ in range(4):
        try:
            expected = repr(function(x))
        except TypeError as error:
            with pytest.raises(TypeError, match=str(error)):
                compiled(x)
        else:
            assert repr(compiled(x)) == expected
    assert what in ("as a key", "grown") or not compiled.plain_reason
