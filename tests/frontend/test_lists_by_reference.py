"""Lists that are held by reference in staged functions: names of one list, lists in lists and dicts, lists in turns."""

import textwrap

import numpy as np
import pytest
from list_checks import agrees, call, made, outcome, shown
from texts import function_of

import jitrt
from jitrt.frontend.control import references
from jitrt.frontend.control.stage import stage
from jitrt.runtime.procedureresults import _are_numbers

# Bodies of functions of an integer `n`, integers `u` from 0 to `n`, and an array `x` of as many numbers.
BODIES = {
    "names of one list": """
        adj = [[] for _ in range(n)]
        a = adj[0]
        a.append(7)
        adj[1] = adj[0]
        adj[1].append(8)
        for k in range(len(u)):
            adj[u[k]].append(k)
        b = adj[n - 1]
        adj[n - 1] = []
        b.append(-1)
        return adj, len(b), adj[0] is adj[1], b""",
    "one list several times": """
        row = []
        rows = [row] * 3
        other = []
        rows.append(other)
        for k in range(len(u)):
            rows[u[k] % 4].append(float(x[k]))
        row.append(1.5)
        return rows, other, row""",
    "lists that take turns": """
        cur = [float(x[0])]
        hist = []
        for i in range(n):
            nxt = []
            for v in cur:
                if len(nxt) < 12:
                    nxt.append(v * 0.5)
                    nxt.append(v + i)
            if i % 3 == 0:
                hist.append(nxt)
            cur = nxt
        return cur, hist""",
    "two lists that change places": """
        a = []
        b = [1]
        for k in range(n):
            a.append(k)
            a, b = b, a
        return a, b""",
    "two lists that change places at times": """
        a = []
        b = [1]
        c = a
        for k in range(n):
            if u[k] % 2:
                a, b = b, a
            a.append(int(u[k]))
        c.append(-5)
        return a, b, c, len(c)""",
    "a list that grows while a loop runs over another one": """
        adj = [[1, 2], [3]]
        s = 0
        for k in range(2):
            adj.append([k])
        for k in range(n):
            for y in adj[k % 3]:
                if y == u[0]:
                    adj[(k + 1) % 3].append(int(u[k]))
                s += y
        return s, adj""",
    "a list that may grow while a loop runs over it": """
        adj = [[] for _ in range(3)]
        adj[0].append(n)
        s = 0
        for y in adj[0]:
            if y > 0:
                adj[u[0] % 2].append(y - 1)
            s += y
        return s, adj""",
    "lists in lists in lists": """
        g = [[[] for _ in range(3)] for _ in range(n)]
        for k in range(len(u)):
            g[u[k]][k % 3].append(k)
        t = 0
        for row in g:
            for cell in row:
                t += len(cell) * sum(cell)
        g[0] = g[1]
        g[0][1] = g[2][2]
        return t, g""",
    "rows of several lengths": """
        rows = []
        for i in range(n):
            row = []
            for j in range(u[i] % 5):
                row.append(i * j)
            rows.append(row)
        rows[0].append(99)
        return rows""",
    "edges with weights": """
        adj = [[] for _ in range(n)]
        for k in range(len(u) - 1):
            adj[u[k]].append((int(u[k + 1]), float(x[k])))
        tot = 0.0
        for i in range(n):
            for j, w in adj[i]:
                tot += w * j
        return tot, adj""",
    "a dict of lists": """
        g = defaultdict(list)
        for k in range(len(u)):
            g[int(u[k])].append(x[k])
        return g""",
    "a dict of lists by pairs": """
        g = defaultdict(list)
        for k in range(len(u)):
            g[int(u[k]), k % 2].append(k)
        best = None
        m = 0
        for key in g:
            if len(g[key]) > m:
                m = len(g[key])
                best = key
        e = g[(1000, 1)]
        return best, m, len(e), len(g), sorted(g), [len(v) for v in g.values()]""",
    "lists that a dict may have": """
        d = {}
        for k in range(len(u)):
            key = int(u[k])
            xs = d.get(key)
            if xs is None:
                xs = []
                d[key] = xs
            xs.append(float(x[k]))
        out = {}
        for key, vals in d.items():
            out[key] = np.mean(np.array(vals))
        return out, d""",
    "stacks": """
        st = [[] for _ in range(4)]
        for k in range(len(u)):
            a = u[k] % 4
            if len(st[a]) > 2 and k % 3 == 0:
                v = st[a].pop()
                st[(a + 1) % 4].append(v)
            else:
                st[a].append(k)
            if k % 17 == 0 and st[a]:
                st[a].pop(0)
            if k % 13 == 0:
                st[a].insert(0, -k)
            if k % 29 == 0:
                st[a].clear()
        for s in st:
            s.sort()
        return st""",
    "arrays of lists": """
        cl = [[] for _ in range(3)]
        for k in range(len(u)):
            cl[u[k] % 3].append(x[k])
        out = []
        for c in cl:
            if len(c) > 0:
                a = np.array(c)
                c[0] = 0.0
                c.append(1.0)
                out.append(a.mean() + a.std() + a[0])
        return out""",
    "rows of points": """
        P = np.outer(x, np.arange(3.0))
        cl = [[] for _ in range(3)]
        for k in range(len(u)):
            cl[u[k] % 3].append(P[k])
        c = np.zeros((3, 3))
        for j in range(3):
            if cl[j]:
                c[j] = np.array(cl[j]).mean(axis=0)
        return c""",
    "all that changes a list": """
        adj = [[k] for k in range(n)]
        adj[-1].append(3)
        adj[-1][-1] += 4
        adj[0][0] = 9
        adj[u[0]] += [5, 6]
        adj[u[1]].extend(adj[u[2]])
        adj[u[3]] = adj[u[4]][1:]
        adj[u[3]].append(2)
        return adj, [a[-1] for a in adj], 5 in adj[u[0]]""",
    "a helper": """
        def add(lst, v):
            lst.append(v)
        adj = [[] for _ in range(n)]
        for k in range(len(u)):
            add(adj[u[k]], k)
        return [len(a) for a in adj]""",
    "an order of nodes": """
        adj = [[] for _ in range(n)]
        deg = [0] * n
        for k in range(len(u) - 1):
            a, b = u[k], u[k + 1]
            if a < b:
                adj[a].append(b)
                deg[b] += 1
        q = [i for i in range(n) if deg[i] == 0]
        out = []
        while q:
            i = q.pop()
            out.append(i)
            for j in adj[i]:
                deg[j] -= 1
                if deg[j] == 0:
                    q.append(j)
        return out""",
    "levels of a graph": """
        adj = [[] for _ in range(n)]
        for k in range(len(u) - 1):
            adj[u[k]].append(int(u[k + 1]))
        seen = {0}
        level = [0]
        sizes = []
        while level:
            sizes.append(len(level))
            nxt = []
            for i in level:
                for j in adj[i]:
                    if j not in seen:
                        seen.add(j)
                        nxt.append(j)
            level = nxt
        return sizes""",
    "components of a graph": """
        adj = [[] for _ in range(n)]
        for k in range(0, len(u) - 1, 2):
            adj[u[k]].append(int(u[k + 1]))
            adj[u[k + 1]].append(int(u[k]))
        seen = [False] * n
        comps = []
        for s in range(n):
            if seen[s]:
                continue
            comp = []
            st = [s]
            seen[s] = True
            while st:
                i = st.pop()
                comp.append(i)
                for j in adj[i]:
                    if not seen[j]:
                        seen[j] = True
                        st.append(j)
            comps.append(comp)
        return comps""",
    "lists that stay empty": """
        adj = [[] for _ in range(n)]
        s = 0
        for a in adj:
            s += len(a)
        return s, adj""",
    "lists by strings": """
        g = {"a": [], "b": []}
        for k in range(len(u)):
            g["a" if x[k] > 0 else "b"].append(k)
        return g""",
    "lists of known lengths": """
        out = []
        for k in range(n):
            if u[k] % 2:
                xs = [k, 1]
            else:
                xs = [k]
            out.append(len(xs) + xs[-1])
        return out""",
    "the longest list": """
        best = []
        for k in range(n):
            cur = []
            for j in range(u[k] % 7):
                cur.append(j)
            if len(cur) > len(best):
                best = cur
        return best""",
    "a copy of the longest list": """
        best = []
        for k in range(n):
            cur = []
            for j in range(u[k] % 7):
                cur.append(j)
            if len(cur) > len(best):
                best = cur.copy()
        best.append(4)
        return best""",
    "distances in a graph": """
        v = (u * 7 + 3) % n
        adj = [[] for _ in range(n)]
        for k in range(len(u)):
            adj[u[k]].append(v[k])
            adj[v[k]].append(u[k])
        dist = np.full(n, -1)
        dist[0] = 0
        q = deque([0])
        while q:
            x = q.popleft()
            for y in adj[x]:
                if dist[y] < 0:
                    dist[y] = dist[x] + 1
                    q.append(y)
        return dist""",
    "nodes in depth": """
        v = (u * 7 + 3) % n
        adj = [[] for _ in range(n)]
        for k in range(len(u)):
            a = int(u[k])
            b = int(v[k])
            adj[a].append(b)
            adj[b].append(a)
        seen = np.zeros(n, bool)
        order = []
        stack = [0]
        while stack:
            x = stack.pop()
            if seen[x]:
                continue
            seen[x] = True
            order.append(x)
            for y in adj[x]:
                if not seen[y]:
                    stack.append(y)
        return np.array(order)""",
    "setdefault": """
        v = (u * 7 + 3) % n
        g = {}
        for k in range(len(u)):
            g.setdefault(int(u[k]), []).append(int(v[k]))
        out = np.zeros(n)
        for key, vals in g.items():
            out[key] = max(vals)
        return out""",
    "a key that is looked for": """
        v = (u * 7 + 3) % n
        g = {}
        for k in range(len(u)):
            a = int(u[k])
            if a not in g:
                g[a] = []
            g[a].append(k)
        s = 0
        for a in g:
            s += len(g[a]) * a
        return s""",
    "rows of a triangle": """
        v = (u * 7 + 3) % n
        prev = [1]
        for i in range(n % 60):
            cur = [1]
            for j in range(len(prev) - 1):
                cur.append(prev[j] + prev[j + 1])
            cur.append(1)
            prev = cur
        return np.array(prev)""",
    "a frontier": """
        v = (u * 7 + 3) % n
        adj = np.zeros((n, n), bool)
        for k in range(len(u)):
            adj[u[k], v[k]] = True
        dist = np.full(n, -1)
        dist[0] = 0
        fr = [0]
        d = 0
        while fr:
            d += 1
            nxt = []
            for x in fr:
                for y in range(n):
                    if adj[x, y] and dist[y] < 0:
                        dist[y] = d
                        nxt.append(y)
            fr = nxt
        return dist""",
    "a row under another name": """
        rows = [[k, k + 1] for k in range(n)]
        rows.append(rows[0])
        rows[0][0] = 99
        return rows[n][0], rows[0][0]""",
    "rows that change places": """
        rows = [[0] * 3 for k in range(n)]
        for k in range(n):
            for j in range(3):
                rows[k][j] = k * j + u[k]
        for k in range(1, n):
            rows[k], rows[k - 1] = rows[k - 1], rows[k]
        s = 0
        for k in range(n):
            s = s * 3 + rows[k][0] + rows[k][1]
        return s""",
    "rows in a dict": """
        rows = [[0] * 3 for k in range(n)]
        d = {}
        for k in range(n):
            d[int(u[k])] = rows[k]
        for k in range(n):
            for j in range(3):
                rows[k][j] = k * j + u[k]
        s = 0
        for k in d:
            s = s * 3 + d[k][0] + d[k][1]
        return s""",
    "rows of one length": """
        rows = [[0] * max(n, 3) for k in range(n)]
        best = rows[0]
        rows[1] = rows[2]
        for k in range(n):
            for j in range(3):
                rows[k][j] = k * j + u[k]
        best[1] = -7
        s = 0
        for k in range(n):
            s = s * 3 + rows[k][0] + rows[k][1]
        return s""",
    "rows in another list": """
        rows = [[0] * max(n, 3) for k in range(n)]
        other = []
        for k in range(n):
            other.append(rows[k])
        for k in range(n):
            for j in range(3):
                rows[k][j] = k * j + u[k]
        s = 0
        for k in range(n):
            s = s * 3 + other[k][0] + other[k][1]
        return s""",
    "which list it is": """
        adj, own, count = [[] for _ in range(n)], [], 0
        own.append(n)
        adj[1] = adj[0]
        for k in range(1, n):
            cur = adj[u[k]]
            count = count * 3 % 1009 + (cur is adj[0]) + (adj[k] is not adj[k - 1]) + (cur is own) + (own is own)
            cur.append(k)
        return count, adj, own""",
    "a row that is appended and changes": """
        out, row = [], [1.0, 2.0]
        for v in x:
            out.append(row)
            row[0] += v
        return out""",
    "a list under another name": """
        before = out = []
        for k in range(n):
            out = []
            out.append(k)
        return before, out""",
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_as_python(name):
    agrees(BODIES[name])


def test_an_index_out_of_range():
    function = made("adj = [[k] * (k % 3) for k in range(n)]\nadj[1].append(0)\nreturn adj[u[0]][2], adj")
    compiled = jitrt.jit(function)
    for first in (2, 0, 5, 2, 1):
        args = (9, np.array([first]), np.zeros(1))
        assert outcome(compiled, args) == outcome(function, args)


def test_what_does_not_fit_into_memory_is_left_to_python(monkeypatch):
    monkeypatch.setattr(references, "_MOST_BYTES", 1 << 12)
    function = made(BODIES["lists that take turns"])
    compiled = jitrt.jit(function)
    for n in (3, 400, 3, 400, 7):
        args = call(n, n)
        assert outcome(compiled, args) == outcome(function, args)


def test_what_lies_between_lists_is_not_read_as_numbers_of_two_kinds():
    """An integer among floats is marked as such; memory that no list uses holds anything."""
    function = made("adj = [[0] for _ in range(n)]\nfor k in range(n):\n    adj[u[k]].append(float(x[k]))\nreturn adj")
    (result,) = stage(function, call(9, 9), True).returns
    kind = result.elements.pool.elements
    assert kind.settled and not _are_numbers(kind)
    compiled = jitrt.jit(function)
    for args in (call(9, 9), call(30, 90), call(9, 9)):
        assert outcome(compiled, args) == outcome(function, args)


def test_lists_that_take_turns_are_few_statements():
    """Each list that is made is one more row of a table: nothing is copied."""
    function = made("a, b = [], [1]\nfor k in range(n):\n    a.append(k)\n    a, b = b, a\nreturn a, b")
    assert len(str(stage(function, call(3, 3), True).procedure)) < 20_000


def test_a_list_is_no_result_and_stored_as_well():
    """Both would be the same list."""

    class Walk:
        def __init__(self):
            self.places, self.others = [1], []

    def walked(text):
        function = function_of(f"def f(walk, n):\n{textwrap.indent(text, '    ')}\n")
        compiled = jitrt.jit(function)
        for n in (4, 9, 0):
            got, want = Walk(), Walk()
            a, b = compiled(got, n), function(want, n)
            assert shown((a, got.places, got.others)) == shown((b, want.places, want.others))

    count = "cur = []\nfor k in range(n):\n    cur.append(k)\n    cur[k // 2] += 1\n"
    walked(count + "walk.places = cur\nreturn cur")
    walked(count + "walk.places = cur\nwalk.others = cur")
    walked(count + "walk.places = cur\ncur.append(-1)\nreturn len(walk.places)")
    walked("for k in range(n):\n    if k % 3 == 0:\n        walk.places = []\n    walk.places.append(k)")
    walked("for k in range(n):\n    walk.places.append(k)\n    walk.others.append([k, k])")
