"""Text-book algorithms with loops over elements."""

import math

import numpy as np
from catalogue import LOOP, example


def distances(r, n):
    d = np.where(r.random((n, n)) < 0.5, r.integers(1, 20, (n, n)).astype(float), np.inf)
    np.fill_diagonal(d, 0)
    return d


def positive_definite(r, n):
    a = r.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def letters(r, n):
    return r.integers(0, 4, n)


@example(lambda r, n: (distances(r, n),), LOOP)
def floyd_warshall(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


@example(lambda r, n: (distances(r, n), 0), LOOP)
def dijkstra(d, source):
    n = len(d)
    best = np.full(n, np.inf)
    best[source] = 0.0
    done = np.zeros(n, dtype=bool)
    for _ in range(n):
        u = -1
        for k in range(n):
            if not done[k] and (u < 0 or best[k] < best[u]):
                u = k
        done[u] = True
        for v in range(n):
            if best[u] + d[u, v] < best[v]:
                best[v] = best[u] + d[u, v]
    return best


@example(lambda r, n: (r.random((n, n)) < 0.3, 0), LOOP)
def breadth_first(adjacent, source):
    n = len(adjacent)
    level = np.full(n, -1)
    level[source] = 0
    queue = [source]
    while queue:
        u = queue.pop(0)
        for v in range(n):
            if adjacent[u, v] and level[v] < 0:
                level[v] = level[u] + 1
                queue.append(v)
    return level


@example(lambda r, n: (r.integers(0, n, (n, 2)), n), LOOP)
def union_find(edges, n):
    parent = np.arange(n)
    for a, b in edges:
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        parent[a] = b
    roots = 0
    for k in range(n):
        if parent[k] == k:
            roots += 1
    return roots


@example(lambda r, n: (letters(r, n), letters(r, n + 2)), LOOP)
def edit_distance(a, b):
    m, n = len(a), len(b)
    d = np.zeros((m + 1, n + 1), dtype=np.int64)
    for i in range(m + 1):
        d[i, 0] = i
    for j in range(n + 1):
        d[0, j] = j
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[m, n]


@example(lambda r, n: (letters(r, n), letters(r, n)), LOOP)
def common_subsequence(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int32)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table


@example(lambda r, n: (r.integers(1, 9, n), r.integers(1, 30, n), 3 * n), LOOP)
def knapsack(weight, value, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for k in range(len(weight)):
        for c in range(capacity, weight[k] - 1, -1):
            candidate = best[c - weight[k]] + value[k]
            if candidate > best[c]:
                best[c] = candidate
    return best[capacity]


@example(lambda r, n: (positive_definite(r, n),), LOOP)
def cholesky(a):
    n = a.shape[0]
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(j):
                total += lower[i, k] * lower[j, k]
            if i == j:
                lower[i, j] = math.sqrt(a[i, i] - total)
            else:
                lower[i, j] = (a[i, j] - total) / lower[j, j]
    return lower


@example(lambda r, n: (positive_definite(r, n),), LOOP)
def cholesky_by_rows(a):
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])


@example(lambda r, n: (positive_definite(r, n),), LOOP)
def lu(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]


@example(lambda r, n: (positive_definite(r, n), r.normal(size=n)), LOOP)
def gauss(a, b):
    n = len(b)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
    return x


@example(lambda r, n: (r.integers(0, 256, n).astype(np.uint8),), LOOP)
def crc32(data):
    crc = 0xFFFFFFFF
    for k in range(len(data)):
        crc ^= int(data[k])
        for _ in range(8):
            crc = (crc >> 1) ^ 0xEDB88320 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


@example(lambda r, n: (n * n,), LOOP)
def sieve(n):
    prime = np.ones(n + 1, dtype=bool)
    prime[:2] = False
    k = 2
    while k * k <= n:
        if prime[k]:
            prime[k * k :: k] = False
        k += 1
    return np.flatnonzero(prime)


@example(lambda r, n: (r.normal(size=n),), LOOP)
def bubble_sort(x):
    n = len(x)
    swaps = 0
    for i in range(n):
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swaps += 1
    return swaps


@example(lambda r, n: (np.sort(r.normal(size=n)), r.normal(size=n)), LOOP)
def binary_search(table, keys):
    out = np.empty(len(keys), dtype=np.int64)
    for k in range(len(keys)):
        low, high = 0, len(table)
        while low < high:
            middle = (low + high) // 2
            if table[middle] < keys[k]:
                low = middle + 1
            else:
                high = middle
        out[k] = low
    return out


@example(lambda r, n: (r.normal(size=(n, n)), r.normal(size=(n, n + 1))), LOOP)
def matrix_product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@example(lambda r, n: (r.integers(0, 2, (n, n)),), LOOP)
def game_of_life(board):
    n, m = board.shape
    new = np.zeros_like(board)
    for i in range(n):
        for j in range(m):
            alive = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di or dj:
                        alive += board[(i + di) % n, (j + dj) % m]
            if alive == 3 or (alive == 2 and board[i, j] == 1):
                new[i, j] = 1
    return new


@example(lambda r, n: (r.integers(1, 60, n),), LOOP)
def collatz(starts):
    steps = np.zeros(len(starts), dtype=int)
    for k in range(len(starts)):
        value = int(starts[k])
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps[k] += 1
    return steps


@example(lambda r, n: (n * 8,), LOOP)
def fibonacci(n):
    values = np.zeros(n + 1, dtype=np.int64)
    values[1] = 1
    for k in range(2, n + 1):
        values[k] = values[k - 1] + values[k - 2]
    return values


@example(lambda r, n: (r.integers(-9, 9, n),), LOOP)
def best_subarray(x):
    best = current = x[0]
    for k in range(1, len(x)):
        current = max(x[k], current + x[k])
        best = max(best, current)
    return best


@example(lambda r, n: (r.integers(0, 1 << 40, n), 1), LOOP)
def rolling_hash(x, seed):
    h = seed
    for k in range(len(x)):
        h = (h * 6364136223846793005 + int(x[k])) % (1 << 64)
    return h


@example(lambda r, n: (r.uniform(1, 2, n), r.uniform(-0.4, 0.4, n), r.normal(size=n)), LOOP)
def thomas(diagonal, off, right):
    n = len(diagonal)
    c = np.zeros(n)
    x = right.copy()
    c[0] = off[0] / diagonal[0]
    x[0] /= diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - off[i] * c[i - 1]
        c[i] = off[i] / m
        x[i] = (x[i] - off[i] * x[i - 1]) / m
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return x


@example(lambda r, n: (r.normal(size=n), r.integers(-n - 1, n + 1, 4)), LOOP)
def picked_elements(x, where):
    total = 0.0
    for k in where:
        total += x[k]
    return total


@example(lambda r, n: (r.normal(size=n).astype(np.float32),), LOOP)
def single_precision_norm(x):
    total = np.float32(0)
    for k in range(len(x)):
        total += x[k] * x[k]
    return np.sqrt(total), 2.0 * total


@example(lambda r, n: (r.integers(0, 2, n).astype(np.int8),), LOOP)
def run_lengths(bits):
    runs = []
    start = 0
    for k in range(1, len(bits) + 1):
        if k == len(bits) or bits[k] != bits[start]:
            runs.append((int(bits[start]), k - start))
            start = k
    return runs
