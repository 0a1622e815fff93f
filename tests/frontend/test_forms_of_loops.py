"""Loops with handlers of exceptions, over indices, over lists that are arguments, with matrices that may be small."""

import copy

import numpy as np
import pytest

import jitrt


def handled(x):
    failed, total = 0, 0.0
    for k in range(len(x)):
        try:
            total += 10 / float(x[k])
        except ZeroDivisionError:
            failed += 1
        else:
            total += 1
        finally:
            total += 0.5
    return total, failed


def out_of_range(x, i):
    total = 0.0
    for k in range(len(i)):
        try:
            total += x[i[k]]
        except IndexError:
            total -= 100
    return total


def silent(x):
    made = np.zeros(len(x))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(1, len(x)):
            made[k] = x[k] / x[k - 1]
    return made


def over_indices(a):
    made = np.zeros_like(a)
    for i, j in np.ndindex(a.shape):
        if a[i, j] < -1:
            continue
        made[i, j] = a[i, j] * i - j
    for index in np.ndindex(*a.shape[1:], 2):
        made[index[1], index[0]] += 1
    return made


def over_elements(a):
    best, at = None, None
    for index, value in np.ndenumerate(a):
        if best is None or value > best:
            best, at = value, index
    return best, at


def matched(tape):
    state, count = 0, 0
    for symbol in tape:
        match state:
            case 0:
                state = 1 if symbol == 0 else 2
            case 1 | 3:
                state, count = 0, count + 1
            case other if other > 5:
                state = 0
            case _:
                state = 3 if symbol > 1 else 6
    return state, count


def filtered(x, b, a):
    y = np.zeros_like(x)
    for n in range(len(x)):
        y[n] = b[0] * x[n]
        for k in range(1, len(b)):
            if n >= k:
                y[n] += b[k] * x[n - k] - a[k] * y[n - k]
    return y, max(b), len(a), sum(b)


def coins(values, amount):
    ways = [0] * (amount + 1)
    ways[0] = 1
    for v in values:
        for k in range(v, amount + 1):
            ways[k] += ways[k - v]
    return ways


def changed(values):
    for k in range(len(values)):
        values[k] = values[k] * 2
    return values


def pair(n):
    best = (0, 0)
    for k in range(1, n):
        m, c = k, 0
        while m != 1:
            m, c = m // 2 if m % 2 == 0 else 3 * m + 1, c + 1
        if c > best[1]:
            best = (k, c)
    return best


def descent(w, x, y):
    losses = []
    for _ in range(3):
        total = 0
        for row, value in zip(x, y):
            error = w @ row - value
            w -= 0.125 * error * row
            total += error**2
        losses.append(total)
    return w, losses


def diagonals(a, n):
    total = 0.0
    for k in range(n):
        d = np.diag(a)
        a[k, k] = 3.0
        total += d[k] + np.max(d)
    return total


RNG = np.random.default_rng(0)
X, M = RNG.normal(size=9), RNG.normal(size=(5, 4))
CASES = [
    (handled, [(X,), (np.array([1.0, 0.0, 2.0]),)]),
    (out_of_range, [(X, np.array([1, 3, -2])), (X, np.array([1, 30, -2]))]),
    (silent, [(X,), (np.array([1.0, 0.0, 2.0, 0.0, 0.0]),)]),
    (over_indices, [(M,), (M[:4],), (M[:0],)]),
    (over_elements, [(M,), (X,), (M[:0],)]),
    (matched, [(RNG.integers(0, 3, 40),)]),
    (
        filtered,
        [(X, [0.1, 0.2, 0.1], [1.0, -0.5, 0.25]), (X, [0.5], [1.0]), (X, [1, 2], [1, 3]), (X, [1, 0.5], [1, 1])],
    ),
    (coins, [([1, 5, 10], 30), ([2], 7), ([], 3), ([1 << 70], 3)]),
    (pair, [(30,), (1,)]),
    (descent, [(np.zeros(2), RNG.normal(size=(6, 2)), X[:6])]),
    (diagonals, [(RNG.normal(size=(4, 4)), 3)]),
]


def shown(value):
    if isinstance(value, (tuple, list)):
        return [type(value), *map(shown, value)]
    return (value.dtype, repr(value.tolist())) if isinstance(value, np.ndarray) else (type(value), repr(value))


def outcome(function, args):
    args = copy.deepcopy(args)
    with np.errstate(all="ignore"):
        try:
            return shown(function(*args)), shown(args)
        except Exception as error:
            return type(error), str(error), shown(args)


@pytest.mark.parametrize(("function", "calls"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_forms(function, calls):
    compiled = jitrt.jit(function)
    for args in calls * 2:
        assert outcome(compiled, args) == outcome(function, args)
    assert jitrt.jit(function).explain(*copy.deepcopy(calls[0])).loop


def test_lists_that_change_run_plain():
    values = [1.0, 2.0]
    assert jitrt.jit(changed)(values) is values and values == [2.0, 4.0]


def test_infinities_warn_as_they_do_in_plain_numpy():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        jitrt.jit(lambda x: [v / (v - v) for v in x])(X)


@pytest.mark.wide
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12, 13, 20])
@pytest.mark.parametrize("name", ["det", "cholesky", "inv", "solve"])
def test_linear_algebra_of_small_and_large_matrices(name, n):
    operation = getattr(np.linalg, name)

    def f(m, b, turns):
        total, made = 0.0, np.zeros(len(b))
        for k in range(turns):
            found = operation(m, b) if name == "solve" else operation(m)
            for i in range(len(b)):
                made[i] += b[i] * 0.5 + k - made[i] * 0.25 if made[i] < 3 else made[i] * 0.125 - b[i] * k
            total = total + np.sum(found)
            m = m * 1.25
        return total, made

    compiled = jitrt.jit(f)
    for size in (n, 4, 15, n):
        a, b = RNG.normal(size=(size, size)), RNG.normal(size=size)
        m = a @ a.T + size * np.eye(size)
        for got, want in zip(compiled(m.copy(), b, 4), f(m, b, 4)):
            assert type(got) is type(want)
            np.testing.assert_allclose(got, want, rtol=1e-10)


def test_what_linear_algebra_refuses_is_refused():
    def f(m, turns):
        total = 0.0
        for _ in range(turns):
            total += np.linalg.cholesky(m)[0, 0]
        return total

    compiled = jitrt.jit(f)
    assert compiled(np.eye(3), 2) == 2.0
    with pytest.raises(np.linalg.LinAlgError):
        compiled(-np.eye(3), 2)
    assert jitrt.jit(lambda m: sum(np.linalg.det(m) for _ in range(3)))(np.zeros((3, 3))) == 0.0


def penalties(x, y):
    best = None
    for penalty in [0.01, 0.1, 1.0, 10.0]:
        errors = []
        for k in range(3):
            left_out = np.arange(len(y)) % 3 == k
            a, b = x[~left_out], y[~left_out]
            slope = (a * b).sum() / ((a * a).sum() + penalty)
            errors.append(np.mean((x[left_out] * slope - y[left_out]) ** 2))
        error = np.mean(errors)
        if best is None or error < best[0]:
            best = error, penalty
    return best


def first_that_fits(x):
    for count, bound in [(1, 0.5), (2, 0.25), (5, -3.5), (7, 1.25)]:
        total = 0.0
        for k in range(len(x)):
            total += x[k] * count
        if total > bound:
            break
    else:
        count, bound = -1, 0.0
    return count, bound, type(bound) is float, type(count) is int


def many_values(x):
    total = 0.0
    for weight in (0.5, -1.5, 2.5, 1e300, -0.0, 3.5, 1.5, 0.25, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1e-300):
        for k in range(len(x)):
            total = total * 0.5 + x[k] * weight
    return total


def known_in_advance(x):
    found = []
    for share in (0.25, 0.5, 0.75):
        n = int(share * 8)
        part = np.zeros((n, 2))
        for k in range(n):
            part[k, 0] = x[k] + share
            part[k, 1] = x[k] - share
            if part[k, 0] > 1:
                part[k, 1] = 0
            elif part[k, 0] < -1:
                part[k, 1] = 1
            else:
                part[k, 1] += 2
        found.append(part.sum())
    return found


@pytest.mark.parametrize("function", [first_that_fits, many_values, known_in_advance])
def test_values_that_are_written_out(function):
    compiled = jitrt.jit(function)
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=50 + seed)
        for given in (x, -x):
            np.testing.assert_allclose(compiled(given), function(given), rtol=1e-13)
    assert not compiled.explain(x).plain_reason


def test_candidates_that_are_written_out():
    compiled = jitrt.jit(penalties)
    for n in (12, 60, 61):
        x, y = np.random.default_rng(n).normal(size=(2, n))
        np.testing.assert_allclose(compiled(x, y), penalties(x, y), rtol=1e-12)
    assert not compiled.explain(x, y).plain_reason
