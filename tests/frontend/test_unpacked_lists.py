"""Lists of lengths that are known at run time, unpacked into names; and parts of arrays that are turned in place."""

import pytest
from list_checks import agrees

# Bodies of functions of an integer `n`, integers `u` from 0 to `n`, and an array `x` of as many numbers.
UNPACKED = {
    "what is sorted": """
        total = 0.0
        for k in range(n):
            i, j = sorted((int(u[k]) % 5, int(u[k + 1]) % 5))
            low, middle, high = sorted([x[k], x[k + 1], x[k + 2]])
            last, first = sorted(u[k : k + 2], reverse=True)
            total += i * 10 + j + middle * (high - low) + last * first
        return total""",
    "lists that grow": """
        total = 0
        for k in range(n):
            found = []
            for m in range(int(u[k]) % 4):
                found.append(m + k)
            if len(found) == 2:
                first, second = found
                total += first * second
        return total""",
    "a list into its own elements": """
        total = 0.0
        for k in range(n):
            w = [x[k], x[k + 1]]
            w.append(x[k + 2])
            first, w[0], last = w
            w[1], w[2] = w[2], w[1]
            total += first + 2 * w[0] + 3 * last + w[1]
        return total""",
    "lists in a list": """
        rows = [[k, int(u[k])] for k in range(n)]
        total = 0
        for first, second in rows:
            total += first * second
        (a, b), (c, d) = rows[0], rows[1]
        return total + a * d - b * c""",
    "the wrong length": """
        total = 0
        for k in range(n):
            first, second = [m for m in range(int(u[k]))]
            total += first * second
        return total""",
    "too many names": """
        found = []
        for k in range(n):
            found.append(k)
        total = 0
        for k in range(n):
            (first, second), total = found, total + 1
        return total""",
}

TURNED = {
    "parts": """
        x = x.copy()
        for k in range(n):
            i = (k * 7) % (len(x) - 5)
            j = i + k % 5
            x[i : j + 1] = x[i : j + 1][::-1]
            x[::-1][i : j + 2] = x[i : j + 2]
        return x""",
    "an argument, and columns": """
        y = np.zeros((n, 3))
        for k in range(n):
            i = k % 9
            x[i : i + 6] = x[i : i + 6][::-1]
            y[:, k % 3] += x[:n]
            y[:, k % 3] = y[::-1, k % 3]
        return y""",
}


@pytest.mark.parametrize("name", UNPACKED)
def test_unpacked(name):
    agrees(UNPACKED[name])


@pytest.mark.parametrize("name", TURNED)
def test_turned_in_place(name):
    agrees(TURNED[name])
