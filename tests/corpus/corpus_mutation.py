"""Writing into arrays, views, and arrays that are made inside of the function."""

import warnings

import numpy as np
from catalogue import LOOP, MATRIX, example


def vector(r, n):
    return r.normal(size=n)


def twice(r, n):
    x = vector(r, n)
    return x, x


def overlapping(r, n):
    x = vector(r, n + 2)
    return x[2:], x[:-2]


def read_only(r, n):
    x = vector(r, n)
    x.flags.writeable = False
    return (x,)


@example(lambda r, n: (vector(r, n),))
def shift_right(x):
    x[1:] = x[:-1]
    x[0] = 0


@example(lambda r, n: (vector(r, n),))
def add_neighbours(a):
    a[1:-1] += a[2:]
    a[:-1] -= 0.5 * a[1:]
    return a[::2]


@example(twice)
def same_array_twice(a, b):
    a[:] = 2 * b
    b += 1
    return a + b


@example(overlapping)
def overlapping_arguments(a, b):
    a += b
    b[:2] = 7
    return a * b


@example(read_only)
def writes_to_read_only(x):
    y = x + 1
    x[0] = y[0]
    return y


@example(read_only)
def returns_a_view_of_read_only(x):
    return x[1:], x.reshape(1, -1)


@example(lambda r, n: (vector(r, n), vector(r, n), np.empty(n)))
def out_arguments(a, b, result):
    np.multiply(a, b, out=result)
    np.add(result, 1, result)
    np.exp(result, out=result, where=result < 1)
    return result


@example(lambda r, n: (vector(r, n), r.random(n) < 0.5))
def where_arguments(x, mask):
    out = np.zeros_like(x)
    np.sqrt(np.abs(x), out=out, where=mask)
    np.copyto(x, 0.0, where=~mask)
    np.copyto(out[:2], [1.0, 2.0])
    return out, np.sum(x, where=mask)


@example(lambda r, n: (vector(r, n), r.integers(0, n, 4)))
def put_and_take(x, where):
    np.put(x, where, [9.0, 8.0])
    np.add.at(x, where, 0.5)
    np.maximum.at(x, where[:2], 8.75)
    return x.take(where), np.take(x, where[::-1], mode="wrap")


@example(lambda r, n: (vector(r, n),))
def fill_and_sort(x):
    y = x.copy()
    y.sort()
    x[: len(x) // 2].fill(y[0])
    x.partition(1)
    y.resize(y.size)
    return y[::-1]


@example(lambda r, n: (r.normal(size=(n, n)),), MATRIX)
def written_through_flat(m):
    m.flat[::3] = 0
    m.flat[1] = 5
    m.ravel()[-1] = 4
    m.T[0] = 1
    m.reshape(-1)[2:4] = 2
    return m.flat[3], m.diagonal().copy()


@example(lambda r, n: (r.normal(size=n) + 1j * r.normal(size=n),))
def real_and_imaginary(z):
    z.real = np.abs(z)
    z.imag += 1
    z.real[1:] -= z.imag[:-1]
    return z.conj()


@example(lambda r, n: (r.normal(size=(n, n)),), MATRIX)
def chained_views(m):
    inner = m[1:-1]
    corner = inner[:, 1:][::-1]
    corner[0] *= 2
    inner[:, 0] = corner[-1, 0]
    m[0] = 0
    return corner.sum(), inner


@example(lambda r, n: (vector(r, n),))
def views_of_one_another(x):
    y = x * 2
    head = y[: len(y) // 2]
    head += 1
    return y, head, y[::-1], x[1:]


@example(lambda r, n: (vector(r, n),))
def masked_writes(x):
    positive = x > 0
    x[positive] = np.sqrt(x[positive])
    x[~positive] *= -0.5
    x[(x > 0.5) & (x < 0.6)] = 0.55
    return positive.sum()


@example(lambda r, n: (r.normal(size=(n, n)), r.integers(0, n, 3)), MATRIX)
def integer_array_writes(m, rows):
    m[rows] = 1.0
    m[rows, rows] += 2.0
    m[:, rows[0]] = np.arange(len(m))
    m[np.ix_([0, 1], [1, 2])] = -1
    return m[rows].sum(axis=1)


@example(lambda r, n: (r.normal(size=(n, n)),), MATRIX)
def swaps(m):
    m[[0, -1]] = m[[-1, 0]]
    m[:, 0], m[:, 1] = m[:, 1].copy(), m[:, 0].copy()
    a, b = m[0], m[1]
    a[:], b[:] = b + 1, a - 1


@example(lambda r, n: (r.integers(0, 100, n), r.integers(0, 100, n).astype(np.uint8)))
def integer_updates(x, small):
    x //= 3
    x <<= 1
    x[::2] |= 1
    small += 200
    small[0] = 255
    x %= 7
    return x ^ small


@example(lambda r, n: (r.integers(0, 100, n),))
def bad_cast(x):
    x += 1
    x += 0.5
    return x


@example(lambda r, n: (vector(r, n),))
def bad_assignment(x):
    x[0] = 1.0
    x[:2] = np.arange(3)


@example(lambda r, n: (vector(r, n), n + 3))
def bad_index(x, k):
    x[0] = 3.0
    return x[k]


@example(lambda r, n: (n,), MATRIX)
def created(n):
    a = np.zeros((n, n))
    a[np.arange(n), np.arange(n)] = 2
    a[np.arange(n - 1), np.arange(1, n)] = -1
    b = np.tri(n) + np.identity(n, dtype=np.float32)
    c = np.fromfunction(lambda i, j: i * 10 + j, (n, 2))
    return a, b, c, np.tril(a), np.triu(a, 1), np.indices((2, n)), np.ogrid[:n, :2]


@example(lambda r, n: (vector(r, n),))
def created_from_values(x):
    s, t = x.sum(), x[0]
    m = np.array([[s, t], [0.0, 1.0]])
    m[1, 0] = len(x)
    return m, np.full(3, s), np.asarray([s, 2, t]), np.linspace(t, s, 5), np.stack([x, x + s]), np.logspace(0, 1, 4) * t


@example(lambda r, n: (vector(r, n),), LOOP)
def list_of_rows(x):
    rows = []
    row = x
    for k in range(4):
        row = np.roll(row, 1) * (k + 1)
        rows.append(row)
    table = np.array(rows)
    table[:, 0] = -1
    return table, rows[0]


@example(lambda r, n: (np.asfortranarray(r.normal(size=(n, n + 1))), r.normal(size=(n, 2 * n + 2))[:, ::2]), MATRIX)
def strange_orders(f, strided):
    total = f + strided
    f[1:] = f[:-1].copy()
    return total, f * 2, f.T + 1, np.exp(-f), total.ravel(order="K"), strided[::-1] * 2.0


@example(lambda r, n: (vector(r, n).astype(">f8"), np.zeros(3 * n + 1, np.uint8)))
def foreign_layouts(big, raw):
    unaligned = raw[1 : 1 + len(big) // 8 * 8].view(np.float64)
    unaligned += 1.5
    return big * 2, big.sum(), unaligned + 1


@example(lambda r, n: (np.array(2.5), np.zeros((0, 3)), vector(r, n)))
def odd_shapes(zero_d, empty, x):
    zero_d += 1
    return zero_d * 2, zero_d[()], empty.sum(axis=0), empty.sum(), empty + 1, x[:0], x[0], x.sum(), x.max(keepdims=True)


def matrix():
    with warnings.catch_warnings(action="ignore", category=PendingDeprecationWarning):
        return np.matrix([[1.0, 2.0], [3.0, 4.0]])


@example(lambda r, n: (np.ma.masked_greater(vector(r, n), 0.5), matrix()))
def subclasses(masked, matrix):
    return masked.sum(), masked + 1, matrix * 2, matrix.T


@example(lambda r, n: (np.array(["a", "bc"] * n), np.array([1, "x", None], dtype=object)))
def other_dtypes(text, things):
    return np.char.upper(text), things == "x", text[1:], np.strings.str_len(text)


@example(lambda r, n: (np.zeros(n, dtype=[("x", "f8"), ("y", "i4")]),))
def records(table):
    table["x"] += 1.5
    table["y"][0] = 3
    return table["x"] * table["y"], table.dtype.names


@example(lambda r, n: (np.arange(n).astype("M8[D]"), np.timedelta64(2, "D")))
def dates(days, gap):
    later = days + gap
    return later, (later - days[0]) / np.timedelta64(1, "h"), later.astype(int) % 7
