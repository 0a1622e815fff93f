"""Strings that values decide on, in staged functions: states of machines, kinds of events, names in results."""

import random
import textwrap

import numpy as np
import pytest
from covering import few
from texts import function_of

import jitrt

X = np.array([0.5, 2.0, -1.0, 3.0, 0.25, 4.0, -2.0, 1.0])


def trades(prices, low, high):
    cash, shares, log = 100.0, 0.0, []
    for t in range(len(prices)):
        if prices[t] < low and shares == 0:
            shares, cash = cash / prices[t], 0.0
            log.append((t, "buy", prices[t]))
        elif prices[t] > high and shares > 0:
            cash, shares = shares * prices[t], 0.0
            log.append((t, "sell", prices[t]))
    return cash, log


def machine(x, limit):
    state, changes, level = "idle", 0, 0.0
    for v in x:
        before = state
        if state == "idle" and v > limit:
            state = "rising"
        elif state == "rising":
            state = "falling" if v < limit else "rising"
        elif state in ("falling", "broken"):
            state = "idle"
        if state != before:
            changes += 1
        level += 1.0 if state == "rising" else -0.5
    return state, changes, level


def names(x):
    found = []
    for v in x:
        found.append("negative" if v < 0 else "small" if v < 1 else "large")
    return found


def maybe(x, limit):
    kind = None
    for v in x:
        if v > limit:
            kind = "above"
        elif v < -limit:
            kind = "below"
    return kind


class Pump:
    def __init__(self, mode):
        self.mode, self.used = mode, 0.0

    def run(self, x):
        for v in x:
            if self.mode == "off" and v > 1:
                self.mode = "on"
            elif self.mode == "on" and v < 0:
                self.mode = "off"
            self.used += v if self.mode == "on" else 0.0
        return self.mode


def agrees(function, *calls, staged=True):
    fast = jitrt.jit(function)
    for args in calls:
        got, want = fast(*args), function(*args)
        assert repr(got) == repr(want)
    if staged:
        assert fast.explain(*calls[-1]).loop, fast.explain(*calls[-1])


def test_events():
    agrees(trades, (abs(X), 1.0, 2.0), (abs(X[::-1].copy()), 1.0, 2.0), (X[:0].copy(), 1.0, 2.0))


def test_states():
    agrees(machine, (X, 1.0), (X[::-1].copy(), 0.3), (X[:1].copy(), 9.0), (X[:0].copy(), 9.0))


def test_lists_of_names():
    agrees(names, (X,), (X[:2].copy(),), (X[2:3].copy(),))


def test_none_or_a_name():
    agrees(maybe, (X, 1.5), (X, 3.5), (X, 9.0), (-X, 3.5))


def test_attributes():
    fast = jitrt.jit(Pump.run)
    for mode in ("off", "on", "off", "broken"):
        mine, its = Pump(mode), Pump(mode)
        assert fast(mine, X) == Pump.run(its, X)
        assert (mine.mode, mine.used) == (its.mode, its.used)


# What has no meaning for them in the loop language, or has one that is not that of numbers.
USES = """\
s + "!"|s * 2|s.upper()|len(s)|s[0]|s < "b"|s == 3|s == None|s is None|bool(s)|not s|s or "none"
isinstance(s, str)|isinstance(s, int)|{"a": 1, "b": 2, "": 3}[s]|s in "abc"|s in {"a": 1}
s not in ("a", "c")|f"{s}"|str(s)|type(s) is str|hash(s) == hash("a")|(s, 1) == ("a", 1)|[s] == ["a"]
max(s, "aa")|np.array([s])|{s: 1}|s == t|s != t|t == s|s if s else "z"|"b" == s|s == "zz"|s and t|s % ()
int(s == "a") + 1|"x" if s == "a" else s|(lambda v: v)(s)|[s, t]|(s, (t, s))|{"k": s}"""


@pytest.mark.parametrize("use", USES.replace("\n", "|").split("|"))
def test_uses(use):
    text = textwrap.dedent(f"""
        import numpy as np
        def f(x):
            s, t, out = "a", "b", []
            for v in x:
                s = "b" if v > 1 else "" if v < -1 else s
                t = s if v > 2 else "c"
                out.append(v * 2)
            return {use}, out[-1]
    """)
    f = function_of(text)
    fast = jitrt.jit(f)
    for x in (X, X[::-1].copy(), X[:1].copy(), -X):
        try:
            want = repr(f(x))
        except Exception as error:
            with pytest.raises(type(error)):
                fast(x)
        else:
            assert repr(fast(x)) == want


@pytest.mark.parametrize("seed", few(range(30), 12))
def test_random_machines(seed):
    rng = random.Random(seed)
    states = ["a", "b", "cc", "", "d e"][: rng.randint(2, 5)]

    def state():
        return repr(rng.choice(states))

    def value(depth=2):
        if depth and rng.random() < 0.5:
            return f"({value(depth - 1)} if {condition()} else {value(depth - 1)})"
        return rng.choice([state(), state(), "s", "t"])

    def condition():
        return rng.choice(
            [
                f"v > {rng.uniform(-2, 3):.2f}",
                f"s == {state()}",
                f"t != {state()}",
                f"s in ({state()}, {state()})",
                "s == t",
            ]
        )

    lines = ["def f(x):", f"    s, t, log, n = {state()}, {state()}, [], 0", "    for v in x:"]
    for _ in range(rng.randint(2, 5)):
        kind = rng.randrange(4)
        if kind == 0:
            lines += [f"        if {condition()}:", f"            s = {value()}"]
        elif kind == 1:
            lines += [f"        t = {value()}"]
        elif kind == 2:
            lines += [f"        if {condition()}:", f"            log.append({rng.choice(['s', '(v, t)', '(s, t)'])})"]
            lines += ["            continue"] if rng.random() < 0.3 else []
        else:
            lines += [f"        n += 1 if {condition()} else 0"]
    lines += [f"    return {rng.choice(['s, t, log, n', 's, n', 'log, t', '[s, t], n, log'])}"]
    text = "\n".join(lines) + "\n"
    plain = function_of(text)
    values = np.random.default_rng(seed)
    fast = jitrt.jit(plain)
    assert fast.explain(np.ones(3)).loop, text
    for n in (7, 0, 1, 40):
        x = values.uniform(-3, 4, n)
        assert repr(fast(x)) == repr(plain(x)), text
