"""Parts of lists that staged functions assign and delete, and lists that they reverse."""

import pytest
from list_checks import agrees, made

from jitrt.frontend.control.stage import stage
from jitrt.frontend.control.values import NotStaged

# Bodies of functions of an integer `n`, integers `u` from 0 to `n`, and an array `x` of as many numbers.
BODIES = {
    "parts of a list of numbers": """
        xs = [float(v) for v in x]
        for k in range(n):
            i = int(u[k]) % 7 - 2
            j = int(u[k + 1]) % 9 - 1
            xs[i:j] = xs[j : i + 3]
            if k % 3 == 0:
                xs[:2] = [k, k + 1.0, k + 2.0]
            if k % 4 == 1:
                xs[-3:] = []
            if k % 5 == 2:
                xs[i:i] = (1.0, 2.0)
            if k % 6 == 0:
                del xs[2:4]
            if k % 7 == 0 and len(xs) > 3:
                del xs[-2]
            if k % 8 == 0:
                xs[1:3] = x[2:6]
            if k % 9 == 0:
                xs.reverse()
            xs.append(k * 1.0)
        return xs""",
    "a list in a part of itself": """
        xs = list(range(n))
        xs[2:4] = xs
        xs[:] = xs[::-1]
        ys = xs
        ys[0:1] = [5, 6]
        for k in range(n):
            ys[k] += k
        return xs, len(ys)""",
    "parts of lists in a list": """
        adj = [[k, k + 1, k + 2] for k in range(n)]
        for k in range(n):
            adj[u[k]][1:2] = [7, 8]
            adj[u[k + 1]].reverse()
            adj[u[k + 2]][:1] = adj[u[k]]
            del adj[u[k + 3]][0]
            if len(adj[u[k]]) > 9:
                adj[u[k]][3:] = []
        adj[0:2] = adj[2:4]
        adj.reverse()
        return adj""",
    "parts of a list of tuples": """
        xs = []
        for k in range(n):
            xs.append((k, float(x[k])))
        for k in range(n):
            i = u[k] % 5
            xs[i : i + 3] = reversed(xs[i : i + 3])
            xs[1:1] = [(9, 0.5)]
            del xs[-1:]
        return xs""",
    "an element out of range that is deleted": """
        xs = []
        for k in range(n):
            xs.append(k)
        del xs[u[0] + n]
        return xs""",
    "a tour whose pieces move": """
        tour = list(range(n))
        for k in range(len(u)):
            i = int(u[k])
            seg = tour[i : i + 3]
            del tour[i : i + 3]
            j = int(u[k - 1]) % (len(tour) + 1)
            tour[j:j] = seg
            tour.insert(u[k], tour.pop(0))
        return np.array(tour)""",
    "a tour whose parts are reversed": """
        v = (u * 7 + 3) % n
        u = u[:60]
        tour = list(range(len(u)))
        best = 0
        for i in range(1, len(u) - 2):
            for j in range(i + 1, len(u) - 1):
                a, b, c, d = tour[i - 1], tour[i], tour[j], tour[j + 1]
                if abs(int(u[a] - u[c])) + abs(int(u[b] - u[d])) < abs(int(u[a] - u[b])) + abs(int(u[c] - u[d])):
                    tour[i : j + 1] = tour[i : j + 1][::-1]
        return np.array(tour)""",
    "parts in reverse": """
        v = (u * 7 + 3) % n
        u = u[:60]
        tour = list(range(len(u)))
        best = 0
        for i in range(1, len(u) - 2):
            for j in range(i + 1, len(u) - 1):
                if u[tour[i]] > u[tour[j]]:
                    tour[i : j + 1] = reversed(tour[i : j + 1])
        return tour""",
    "a list that is changed in all ways": """
        v = (u * 7 + 3) % n
        u = u[:60]
        xs = []
        for x in u:
            xs.append(int(x))
            if x % 3 == 0:
                xs.reverse()
            if len(xs) > 20:
                del xs[2:9]
            if len(xs) > 15:
                del xs[0]
            if x % 5 == 0:
                xs.insert(1, 7)
        return xs""",
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_as_python(name):
    agrees(BODIES[name])


@pytest.mark.parametrize("text", ["xs[::2] = xs[1::2]", "del xs[::2]", "xs[1:2] = zip(xs, xs)", "xs[1:2] = n"])
def test_what_is_left_to_python(text):
    function = made(f"xs = [k for k in range(n)]\nfor k in range(n):\n    {text}\nreturn xs")
    with pytest.raises(NotStaged):
        stage(function, (4, 4, 4), True)
