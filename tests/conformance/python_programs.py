"""Random small programs over Python's state: callbacks, classes, containers, closures, nested functions, attributes.

A program is the source of a module with a function `f` and what that reads, and of statements that change the module
between calls. Nothing in them is chosen for what a compiler may or may not follow.
"""

import random

PRELUDE = """
import functools
import numpy as np

W = np.arange(1.0, 6.0)
C, N = 1.5, 2
LOG, TABLE = [], {"w": np.full(5, 0.5), "log": []}


def helper(v, k=0.5, *, c=0.25):
    return v * k + c


def other(v, k=0.25, *, c=0.5):
    return v - k * c


class Base:
    s, w, log = 0.5, np.full(5, 0.75), []

    def __init__(self, a):
        self.a, self.n, self.items = a, 1, [a, a * 0.5, 2.0]

    def method(self, v):
        return v * self.s + self.a

    def step(self, v):
        self.n += 1
        self.a = self.a * 0.5 + v
        return self.a

    @classmethod
    def scaled(cls, v):
        return v * cls.s + cls.w

    @staticmethod
    def static(v):
        return v * 0.5 + C

    @property
    def size(self):
        return self.n * 0.5


class Derived(Base):
    def method(self, v):
        return super().method(v) - 1


class Slotted:
    __slots__ = ("a", "n")

    def __init__(self, a):
        self.a, self.n = a, 1


def appending(history):
    return lambda v: history.append(v.sum())


def counting(o):
    def callback(v):
        o.n += 1
        o.a = o.a * 0.5 + v
    return callback


def scaling(scale, shift):
    def callback(v):
        return v * scale + shift
    return callback


def storing(d, key):
    def callback(v, k=key):
        d[k] = v * 0.5
    return callback


def nesting(inner):
    return lambda v: inner(v * 0.5)
"""

# What makes the arguments `o`, `cb`, `d`, `kind`; other places of the same objects are among them.
OBJECTS = ["Base(W * 1)", "Derived(W * 1)", "Slotted(W * 1)"]
CALLBACKS = [
    "appending(LOG)", "appending(TABLE['log'])", "appending([])", "counting(o)", "scaling(0.5, W)", "scaling(C, 1.0)",
    "storing(TABLE, 'new')", "nesting(scaling(0.5, 1.0))", "nesting(appending(LOG))", "helper", "Base.static",
    "lambda v: LOG.append(v.max())", "lambda v, h=LOG: h.append(v.max())", "functools.partial(helper, k=0.25)",
    "lambda v: v * C + W", "Base.scaled", "np.sin", "LOG.append",
]  # fmt: skip
DICTS = [
    "{'x': W * 1, 'n': 1, 'l': [W * 1, 2.0]}",
    "{'x': W * 1, 'n': 1, 'l': LOG}",
    "{'cb': scaling(0.5, 1.0), 'n': 3}",
]
KINDS = ["Base", "Derived", "float", "Slotted"]

# Terms and statements of `f`.
TERMS = [
    "x", "x * 0.5", "o.a", "o.n * 0.25", "W", "C", "N * 0.25", "TABLE['w']", "d['n'] * 0.5", "kind.s", "kind.w", "o.s",
    "o.method(x)", "o.size", "kind.scaled(x)", "helper(x)", "helper(x, C)", "Base.s", "type(o).s", "len(LOG) * 0.25",
    "Base.static(x)", "d.get('x', 1.0)", "o.items[0]", "(lambda v: v * C)(x)", "abs(x)", "np.sin(x)", "x.sum() * 0.125",
    "sum(o.items[1:])", "max(N, 1)", "cb(x)",
]  # fmt: skip
STATEMENTS = [
    "x = {t} + {t}", "x = {t} - 0.5 * {t}", "y = {t}", "o.a = {t}", "o.n += 1", "o.n = N", "o.new = {t}", "cb({t})",
    "d['x'] = {t}", "d['n'] += 1", "d['new'] = x", "d.pop('new', None)", "d['l'].append({t})", "d['l'][0] = {t}",
    "LOG.append(x.sum())", "TABLE['w'] = {t}", "TABLE['log'].append(x * 0.5)", "TABLE.pop('new', None)",
    "o.items[0], o.items[1] = o.items[1], o.items[0]", "o.items[0] = {t}", "o.items.reverse()", "o.step(x)",
    "x = x * 1; x[1:] = x[:-1] + 1", "W[0] = 0.5", "kind.log.append(x.sum())", "del o.new", "o.items = [x, {t}, o.n]",
    "d['l'] = [x, x]", "x, y = y, x", "o.a, y = y, o.a", "o.other = o", "o.cb = cb", "y = o.cb(x)", "kind.s = C",
    "for k in range(N): x = x * 0.5 + k", "for k in range(N): o.step(x)", "for v in d.values(): x = x + 0.5",
    "for q in o.items: x = x + q * 0.25", "if o.n > 3: x = x + 1", "if d['n'] > 2: d['x'] = x", "if x[0] > 1: o.n += 2",
    "def inner(v): return v * C + x[0]\ny = inner(y)", "def inner(v):\n    o.a = v\n    return v * 0.5\ny = inner(x)",
    "try: x = d['new'] * 0.5\nexcept KeyError: x = x + 1", "y = [o.method(v * 0.5) for v in (x, y)][-1]",
    "y = functools.reduce(lambda p, q: p * 0.5 + q, [x, y, {t}])", "q = kind(x); y = q.a", "y = map(cb, [x]); y = x",
]  # fmt: skip
RESULTS = ["x", "y", "x, y", "o.a", "[x, y]", "{'x': x, 'o': o}", "o", "d", "cb", "o.items", "x.sum()", "None"]
# Between calls.
CHANGES = [
    "pass", "C = C + 0.25", "C = 2", "N = N + 1", "N = 0", "W[:] = 0.5", "W = W + 1", "LOG = []", "LOG.append(1.0)",
    "TABLE = dict(TABLE)", "TABLE['w'] = W * 1", "TABLE['w'][0] = 3.0", "Base.s = Base.s + 0.25", "Base.s = 2",
    "Base.w = W * 2", "Base.w[1] = 4.0", "Derived.s = 0.75", "Base.log = []", "Base.method = Derived.method",
    "Base.method = lambda self, v: v - self.a", "helper.__defaults__ = (0.75,)", "helper.__kwdefaults__ = {'c': 1.0}",
    "helper.__code__ = other.__code__", "helper = other", "abs = lambda v: v * 0.5", "max = lambda p, q: 3",
    "o.a = o.a + 1", "o.a = 2.0", "o.n = o.n + 1", "o.items = [1.0, W, 2]", "o.items.append(3.0)", "o.new = W",
    "d['x'] = 2.0", "d['n'] = 5", "d['l'] = []", "d = dict(d)", "o = type(o)(W * 1)", "o.s = 0.125",
    "cb = scaling(0.75, W)", "cb = appending(LOG)", "cb = counting(o)", "kind = Derived", "kind = Base",
]  # fmt: skip


# What keeps a whole program in Python is rare.
RARE = {"type(o).s", "kind.s = C", "del o.new", "y = map(cb, [x]); y = x", "o.cb = cb", "d.pop('new', None)"}


def _source(lines, objects):
    body = "\n".join("    " + line for line in lines)
    return f"{PRELUDE}\n\ndef f(x, o, cb, d, kind):\n{body}\n\n{objects}"


def _runs(source):
    space = {"__name__": "world"}
    try:
        exec(source + "\nf(np.arange(5.0), o, cb, d, kind)", space)
    except Exception:
        return False
    return True


def written(seed):
    """A program: the text of a module, and those of what happens between calls."""
    rng = random.Random(seed)

    def choose(texts):
        text = rng.choice(texts)
        return text if text not in RARE or rng.random() < 0.1 else choose(texts)

    def objects():
        chosen = rng.choice(OBJECTS), rng.choice(CALLBACKS), rng.choice(DICTS), rng.choice(KINDS)
        return "o = {}\ncb = {}\nd = {}\nkind = {}\n".format(*chosen)

    arguments = next(found for found in iter(objects, None) if _runs(_source(["return x"], found)))
    lines, result = ["y = x * 0.5"], f"return {rng.choice(RESULTS)}"
    for _ in range(rng.randint(2, 7)):
        statement = choose(STATEMENTS)
        while "{t}" in statement:
            statement = statement.replace("{t}", choose(TERMS), 1)
        more = statement.split("\n")
        if rng.random() < 0.05:
            more = ["try:", *("    " + p for p in more), "except (AttributeError, KeyError, TypeError): pass"]
        if _runs(_source([*lines, *more, result], arguments)) or rng.random() < 0.02:
            lines += more
    changes = [rng.choice(CHANGES) if rng.random() < 0.6 else "pass" for _ in range(8)]
    return _source([*lines, result], arguments), changes
