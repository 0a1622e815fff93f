"""Deques, sets, dicts with keys of run time, heaps, sorted lists and orders of tuples in staged functions."""

import bisect
import heapq
import textwrap
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import pytest
from texts import function_of

import jitrt
from jitrt.frontend.control.stage import stage
from jitrt.frontend.control.written_containers import _code
from jitrt.ir.loops import statements_within

X = np.random.default_rng(3).normal(size=90)
K = np.random.default_rng(4).integers(-20, 20, 90)
NAMES = {"deque": deque, "defaultdict": defaultdict, "Counter": Counter, "heapq": heapq, "bisect": bisect}

# Bodies of functions of an array `x`, integers `c` and an integer `n`.
BODIES = {
    "the last values": """
        q, out = deque(maxlen=n), np.empty(len(x))
        for i, v in enumerate(x):
            q.append(v)
            out[i] = sum(q) / len(q) + q[0] - q[-1]
        return out""",
    "a queue that is drained": """
        q, out = deque([0]), []
        while q and len(out) < 50:
            k = q.popleft()
            out.append(k)
            q.append(2 * k + 1)
            if k % 3 == 0:
                q.appendleft(k + n)
            if len(q) > 7:
                q.pop()
        return out, q, len(q)""",
    "pairs in a deque": """
        q = deque()
        for i in range(len(x)):
            q.appendleft((i, x[i]))
            if len(q) > n:
                q.pop()
        q[0] = (-1, 0.5)
        return q, [i for i, _ in q]""",
    "a histogram": """
        d = {}
        for v in c:
            d[v] = d.get(v, 0) + 1
        return d, len(d), 3 in d, sum(d.values())""",
    "keys of Python's": """
        d = {int(v): float(w) for v, w in zip(c, x) if w > 0}
        for v in c:
            if int(v) not in d:
                d[int(v)] = 0.0
            d[int(v)] += 1.5
        return d, sorted(d), sorted(d.values()), list(d.items())""",
    "keys that are pairs": """
        seen, again = {}, 0
        for a, b in zip(c[:-1], c[1:]):
            key = (int(a) % 4, int(b) % 4)
            if key in seen:
                again += 1
            seen.setdefault(key, again)
        return seen, again""",
    "a memo": """
        memo = {0: 0, 1: 1}
        for k in range(2, n + 20):
            memo[k] = memo[k - 1] + memo[k - 2]
        return memo, memo[n]""",
    "floats as keys": """
        d = {}
        for v in x:
            d[float(v) // 1 / 4] = float(v)
        return d""",
    "a set": """
        seen, places = set(), []
        for k, v in enumerate(c):
            if v in seen:
                places.append(k)
            seen.add(v)
        return places, len(seen), sorted(seen), 0 in seen, 0.0 in seen, True in seen""",
    "a set of pairs, as a result": """
        seen = {(0, 0)}
        i = j = 0
        for v in c:
            i, j = (i + int(v)) % 5, (j + int(v) * 3) % 5
            seen.add((i, j))
        return seen, {int(v) for v in c}""",
    "counters": """
        a, b, s = Counter(), defaultdict(int), defaultdict(float)
        for v, w in zip(c, x):
            a[int(v)] += 1
            b[int(v)] += int(w > 0)
            s[int(v)] += w
        return a, b, s, a[1000], {k: s[k] / a[k] for k in sorted(a)}, a.most_common(3), dict(b)""",
    "keys that are deleted": """
        d, out = {}, []
        for k, v in enumerate(c):
            d[v] = k
            if v - 1 in d:
                del d[v - 1]
            out.append(len(d))
        return d, out, list(d.items()), 3 in d""",
    "keys that are popped": """
        d, total = {}, 0
        for k, v in enumerate(c):
            d[v % 7] = d.get(v % 7, 0) + k
            if k % 3 == 0:
                total += d.pop(v % 7)
            total += d.pop(v % 5, 2) * 3
            d.pop(k, None)
        for v in d.values():
            total = total * 3 + v
        return total, d""",
    "elements that are removed": """
        s, out = set(), []
        for k, v in enumerate(c):
            if v in s:
                s.remove(v)
            else:
                s.add(v)
            s.discard(k)
            out.append(len(s))
            if len(s) > 20:
                s.clear()
        return sorted(s), out, [k for k in range(20) if k in s]""",
    "a window with few different values": """
        counts, best, first = {}, 0, 0
        for last in range(len(c)):
            counts[c[last]] = counts.get(c[last], 0) + 1
            while len(counts) > n:
                counts[c[first]] -= 1
                if counts[c[first]] == 0:
                    del counts[c[first]]
                first += 1
            best = max(best, last - first + 1)
        return best, counts""",
    "many removals": """
        d = {}
        for k in range(5000):
            d[k] = k * 2
            if k >= n:
                del d[k - n]
        e = {(1, 2): 0.5}
        for k in list(d):
            if k % 2:
                del d[k]
            e[k, k] = 1.5
        for k in list(e):
            e.pop(k)
        e[3, 3] = 2.0
        return d, e, len(d)""",
    "counters that lose keys": """
        a = Counter()
        b = defaultdict(float)
        for v in c:
            a[v] += 1
            b[v] += 0.5
            del a[v + 1]
            if v in b and v % 3 == 0:
                del b[v]
        return a, b, a.most_common(2), sum(b.values())""",
    "keys that are added while an item changes": """
        d = defaultdict(float)
        d[-1] = 0.5
        for k in range(200):
            d[k] += 1.5
            if k > n:
                del d[k - n + 1000]
            d[k] += d[k + 1000] + 0.25
        return d""",
    "a removal that ends the loop": """
        d = {}
        for v in c:
            d[v] = 1
        for k in d:
            if k == n:
                del d[k]
                break
        return d""",
    "keys that are names": """
        d, s = {}, set()
        for v in c:
            k = "pos" if v > 0 else "neg"
            d[k] = d.get(k, 0) + int(v)
            if v % 5 == 0:
                d["five"] = n
            s.add((k, int(v) % 3))
        return d, sorted(d.values()), len(s), ("pos", 1) in s, "none" in d, d.get("neg", 0)""",
    "pairs of names as keys": """
        d, last = Counter(), "up"
        for a, b in zip(x[:-1], x[1:]):
            now = "up" if b > a else "down" if b < a else "same"
            d[last, now] += 1
            last = now
        return d""",
    "largest by a key": """
        p = [(int(v) % 7, k) for k, v in enumerate(c)]
        d = {}
        for v in c:
            d[v] = d.get(v, 0) + 1
        if len(c) == 0:
            return 0
        a, b = max(p, key=lambda q: q[0]), min(p, key=lambda q: -q[0] * n)
        most = max(d, key=d.get), max(d.items(), key=lambda kv: (kv[1], -kv[0]))
        return a, b, most, min(d, key=lambda k: d[k]), max(x, key=abs)""",
    "a heap": """
        heap, out = [], []
        for i, v in enumerate(x):
            heapq.heappush(heap, (v, i))
            if len(heap) > n:
                out.append(heapq.heappop(heap))
        heapq.heapify(heap)
        return out, heap, heapq.heappushpop(heap, (0.0, 3)), heapq.heapreplace(heap, (1.0, 4))""",
    "a heap that is looked at before it is filled": """
        heap, done, found = [], 0, {}
        for i in range(len(x)):
            while heap and heap[0][0] < x[i]:
                due, k = heapq.heappop(heap)
                done += k
                found[k] = due
            heapq.heappush(heap, (x[i] + 0.5, i))
        return done, heap, found""",
    "places in a sorted list": """
        values, out = [], []
        for v in x:
            out.append(bisect.bisect_left(values, v) + bisect.bisect(values, v + 0.5))
            bisect.insort(values, v)
        values.insert(2, 0.5)
        values.insert(-1, 1.5)
        values.insert(1000, 2.5)
        return out, values.pop(n), values""",
    "sorting": """
        pairs = [(int(v) % 5, k) for k, v in enumerate(c)]
        values = [float(v) for v in x]
        values.sort()
        return (sorted(pairs), sorted(pairs, reverse=True), sorted(pairs, key=lambda p: -p[0]), values, sorted(x),
                sorted(pairs, key=lambda p: p[0] % 2, reverse=True))""",
    "views of a dict": """
        d, total, names = {"a": 1.0, "b": 2.0}, 0.0, 0
        for v in x:
            for name, value in d.items():
                total += value * v
            d["a"] = d["a"] * 0.5 + v
        for name in d.keys():
            names += len(name)
        return total, names, d, d.get("b"), d.get("c", 3)""",
    "orders of tuples": """
        best, count = (x[0], 0), 0
        for i in range(len(x)):
            if (x[i], i) < best:
                best = (x[i], i)
            count += (int(c[i]), i) >= (3, 40) or (int(c[i]), 1, 2) == (int(c[i]), 1, 2)
        return best, count, (x[0], 1) < (x[1], 2), (int(c[0]), 1) <= (int(c[0]), 1), (n, x[0]) > (n, x[1])""",
    "membership": """
        count = 0
        for i in range(len(c)):
            if c[i] in (1, 2, 3) or i not in [0, 4, n]:
                count += 1
            if c[i] in {5, 6} and i in c:
                count += 100
        found = [i for i in range(20) if i % 3 == 0]
        return count, [i in found for i in range(10)], 7 in (n, 3)""",
    "a variable in an expression": """
        count = 0
        for i in range(len(x)):
            if (v := x[i] * 2) > 0.5 and v < n:
                count += 1
            total = (w := int(c[i])) + w
        while (n := n - 1) > 2:
            count += n
        return count, v, total, n""",
    "any arguments": """
        def total(*values, scale=1.0, offset):
            made = offset
            for v in values:
                made += v * scale
            return made
        out = np.zeros(len(x))
        for i in range(1, len(x) - 1):
            out[i] = total(x[i - 1], x[i], x[i + 1], offset=0.5) + total(offset=x[i], scale=2)
        return out""",
    "steps of run time": """
        sieve, primes = np.ones(n * 10, bool), []
        composite = set()
        for i in range(2, n * 10):
            if sieve[i]:
                primes.append(i)
            for j in range(i * i, n * 10, i):
                sieve[j] = False
                composite.add(j)
        return primes, len(composite)""",
}


def shown(value):
    if isinstance(value, np.ndarray):
        return value.dtype, repr(value.tolist())
    if isinstance(value, (tuple, list, deque)):
        return type(value), getattr(value, "maxlen", 0), [shown(v) for v in value]
    if isinstance(value, dict):
        factory = getattr(value, "default_factory", None)
        return type(value), factory, [(shown(k), shown(v)) for k, v in value.items()]
    if isinstance(value, set):
        return set, [shown(v) for v in value]
    return type(value), repr(value)


def outcome(function, *args):
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    try:
        return shown(function(*given)), shown(given)
    except Exception as error:
        return type(error), str(error), shown(given)


def made(body):
    text = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return function_of(f"def f(x, c, n):\n{text}\n", **NAMES)


CALLS = [(X, K, 5), (X[:7], K[:7] * 1000003, 3), (X[::-2].copy(), np.arange(45), 9), (X[:0], K[:0], 4)]


@pytest.mark.parametrize("name", BODIES)
def test_as_python(name):
    function = made(BODIES[name])
    compiled = jitrt.jit(function)
    for args in (*CALLS, CALLS[1]):
        assert outcome(compiled, *args) == outcome(function, *args)
    assert compiled.explain(*CALLS[0]).loop


def test_many_keys():
    """The table grows."""
    function = made("""
        d = {}
        for k in range(n):
            d[k * k % 7919 * 65536] = k
        s = 0
        for k in range(n):
            s += d.get(k * 65536, 1)
        return d, s""")
    assert outcome(jitrt.jit(function), X, K, 5000) == outcome(function, X, K, 5000)


def statements(uses):
    """How many statements the procedure of a function has that counts at so many places."""
    lines = "\n".join(f"    if v % {k + 2} == 0: d[v + {k}] += {k}" for k in range(uses))
    function = made(f"d = defaultdict(int)\nfor v in c:\n{lines}\nreturn d")
    return len(list(statements_within(stage(function, (X, K, 3)).procedure.body)))


def test_each_use_of_a_container_is_a_few_statements():
    assert statements(9) - statements(8) < 40


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_equal_keys_keep_the_first_one(zero):
    function = made("""
        d = {}
        for v in x:
            d[float(v)] = d.get(float(v), 0) + 1
        return d""")
    x = np.array([zero, -zero, 1.0, 0.0])
    assert outcome(jitrt.jit(function), x, K, 1) == outcome(function, x, K, 1)


def test_what_python_refuses():
    """The plain function raises what it raises, with the state that it leaves."""
    bodies = [
        "q = deque()\nfor v in x:\n    c[0] += 1\n    q.popleft()\nreturn q",
        "d = {}\nfor v in c:\n    c[0] += 1\n    d[v + 1] = d[v]\nreturn d",
        "d, s = {}, 0\nfor v in c:\n    d[v] = 1\nfor k in d:\n    d[k + 1] = 1\nreturn d",
        "h = []\nfor v in x:\n    c[1] = 7\n    heapq.heappop(h)\nreturn h",
        "d = {0: 1}\nfor v in c:\n    c[0] += 1\n    del d[v]\nreturn d",
        "d, t = {'a': 1}, 0\nfor v in c:\n    c[0] += 1\n    t += d['a' if v < 3 else 'b']\nreturn t",
        "h = []\nfor v in x:\n    if v > 99:\n        h.append(v)\nreturn max(h, key=lambda v: -v)",
        "s, k = set(), 0\nfor v in c:\n    c[0] += 1\n    s.remove(v)\nreturn k",
        "d, k = {0: 1}, 0\nfor v in c:\n    c[0] += 1\n    k += d.pop(v)\nreturn k",
    ]
    for body in bodies:
        function = made(body)
        compiled = jitrt.jit(function)
        for _ in range(3):
            assert outcome(compiled, X, K, 3) == outcome(function, X, K, 3)


def test_items_may_change_while_a_loop_runs_over_a_dict():
    function = made("""
        d, total = {}, 0
        for k, v in enumerate(c):
            d[v] = d.get(v, 0) + k
        for k in d:
            d[k] *= 2
        for k, v in d.items():
            if v > n:
                d[k] = 0
                total += v
        return d, total""")
    for args in CALLS:
        assert outcome(jitrt.jit(function), *args) == outcome(function, *args)
    assert jitrt.jit(function).explain(*CALLS[0]).loop


def test_nan_has_no_order_and_is_itself():
    function = made("""
        heap, seen, count = [], [], 0
        for i in range(len(x)):
            v = float(x[i])
            count += v in seen
            seen.append(v)
            count += v in (v, 1.0)
            heapq.heappush(heap, (v, i))
        return count, heap, sorted(seen), (seen[0], 1) == (seen[0], 1), (seen[0], 1) < (seen[0], 2)""")
    compiled = jitrt.jit(function)
    for x in (X[:9], np.array([1.0, np.nan, 0.5, np.nan]), np.array([np.nan, 2.0])):
        assert outcome(compiled, x, K, 3) == outcome(function, x, K, 3)


def test_the_order_of_a_set_that_has_lost_elements_is_pythons():
    function = made("s = set()\nfor v in c:\n    s.add(v * 8)\n    s.discard(v + 1)\nreturn s")
    for args in CALLS:
        assert outcome(jitrt.jit(function), *args) == outcome(function, *args)


def test_classes_of_containers():
    function = made("""
        q, d, s = deque([n]), {}, set()
        for v in c:
            d[v] = 1
            s.add(v)
            q.append(v)
        return isinstance(q, deque), isinstance(d, dict), type(s) is set, len(d), isinstance(d, list)""")
    assert outcome(jitrt.jit(function), X, K, 3) == outcome(function, X, K, 3)


def test_other_kinds_of_dicts_are_left_to_python():
    function = made("""
        d = OrderedDict()
        for v in c:
            d[v] = 1
        return d""")
    function.__globals__["OrderedDict"] = OrderedDict
    assert outcome(jitrt.jit(function), X, K, 3) == outcome(function, X, K, 3)


def test_functions_of_any_arguments():
    def weighted(x, *others, scale=2.0):
        total = np.zeros(len(x))
        for i in range(len(x)):
            for k, other in enumerate(others):
                total[i] += scale * other[i] * k + x[i]
        return total

    compiled = jitrt.jit(weighted)
    for args in ((X,), (X, X), (X, X * 2, X * 3), (X, X), (X, X, 3 * K)):
        for _ in range(2):
            assert shown(compiled(*args)) == shown(weighted(*args))
    assert shown(compiled(X, X, scale=3)) == shown(weighted(X, X, scale=3))


KEYS = {
    "numbers": range(1000),
    "multiples": range(0, 64_000, 64),
    "large multiples": range(0, 4_096_000, 4096),
    "below zero": range(-500, 500),
    "tenths": [0.1 * k for k in range(1000)],
    "pairs": [(i, j) for i in range(32) for j in range(32)],
    "equal pairs": [(i, i) for i in range(1000)],
    "floats": [(0.1 * i, 0.1 * j) for i in range(32) for j in range(32)],
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_keys_are_spread_over_the_table(keys):
    assert len({_code(key) & 4095 for key in keys}) > 200
