"""Loops over products and combinations: they stand for loops in loops."""

import itertools
from itertools import combinations, permutations, product

import numpy as np
import pytest
from test_element_loops import agrees

X = np.array([3.0, 5.0, 1.0, 4.0, 0.0, 2.0, 6.0, 5.0])


def concordant(x, n):
    count, pairs = 0, []
    for i, j in itertools.combinations(range(n), 2):
        if x[i] < x[j]:
            count += 1
        else:
            continue
        pairs.append(i * j)
    return count, pairs


def triples(x, n):
    total = 0.0
    for a, b, c in combinations(x, 3):
        total += a * b - c
        x[0] += 1
    return total, x


def whole_pairs(x, n):
    total = 0.0
    for pair in combinations(range(1, n), 2):
        total += x[pair[0]] - pair[1]
    return total


def indices(x, n):
    total = 0.0
    for i, j in product(range(n), range(1, n)):
        total += x[i] * j
        x[i] = j
    return total, x


def elements(x, n):
    total = 0.0
    for a, k in product(x, range(n)):
        total += a * k
        x[k] += 1
    return total, x


def neighbours(x, n):
    total = 0.0
    for k in range(n):
        for i, j in product((-1, 0, 1), (-1, 0, 1)):
            total += x[k] * i + j * k
        for signs in product((-1, 1), repeat=2):
            total += signs[0] * x[k] - signs[1]
    return total


def nothing(x, n):
    count = 0
    for _ in product(range(0), range(n)):
        count += 1
    for _, _ in combinations(range(n - n + 1), 2):
        count += 1
    for _, _ in combinations(range(n, 2), 2):
        count += 1
    return count


def nested(x, n):
    total = 0.0
    for i, j in combinations(range(n), 2):
        for a, b in product(x[:2], range(j)):
            total += (x[i] - x[j]) * a + b
    return total


def until(x, n):
    total = 0.0
    for i, j in product(range(n), range(n)):
        if i > j and x[i] > x[j]:
            break
        total += x[i]
    return total


def drawn(x, n):
    source = np.random.default_rng(n)
    total = 0.0
    for a, b in product(source.random(3), source.random(2)):
        total += a * b
    for a, k in product(source.random(3), range(n)):
        total += a * k
    for a, b in combinations(source.random(4), 2):
        total += a - b
    for i, j in np.ndindex(*(n, 2)):
        total += i * j
    return total, source.random()


def powers(x, n):
    numbers, total = np.arange(n), 0
    for k in range(n):
        if x[k] > 1:
            total += ((numbers - k) ** 2).sum() + ((numbers.astype(np.int8) * 20) ** 3).sum()
    return total, numbers**1, (numbers - 3).astype(np.uint8) ** 5


def left_at_both_ends(x, n):
    count = 0
    for i, j in combinations(range(n), 2):
        if (i + j) % 3 == 0:
            continue
        if x[i] * x[j] > 14:
            if j % 2:
                break
            count += 1
        else:
            count += i
    else:
        count = -count
    return count


def left_inside(x, n):
    found = []
    for k in range(n):
        for a, b, c in combinations(range(k), 3):
            for z in range(3):
                if z == b:
                    break
            else:
                if a == 2:
                    break
            if a + b + c == k:
                found.append((a, b, c))
                break
        else:
            found.append((0, 0, k))
    return found


def first_of_repeated(x, n):
    for i, j, k in product(range(n), repeat=3):
        if x[i] + x[j] < x[k]:
            return i, j, k
    return None


def never_left(x, n):
    count = 0
    for i, j in np.ndindex(n, n):
        if x[i] == x[j] and i != j:
            break
        count += 1
    else:
        count = -1
    return count


def shortest(x, n):
    best, order = 1e18, (0, 0, 0, 0, 0, 0)
    for p in itertools.permutations(range(6)):
        length = 0.0
        for i in range(5):
            length += abs(x[p[i]] - x[p[i + 1]])
        if length < best:
            best = length
            order = p
    return best, order


def ordered_pairs(x, n):
    total = 0.0
    for a, b in permutations(x, 2):
        x[0] += 1
        if a < b:
            continue
        total = total * 0.5 + a - b
    return total, x


def some_of_many(x, n):
    found = []
    for p in permutations(range(n), 3):
        if p[0] + p[2] == 4:
            continue
        found.append(p)
        if len(found) > 50:
            break
    else:
        found.append((0, 0, 0))
    return found


def all_of_known(x, n):
    code = 0
    for p in permutations([3, 1, 2, 5, 4, 0, 9], 4):
        code = (code * 31 + p[0] * p[3] + p[n % 4] + p[-1 - n % 4]) % 1000003
    for p in permutations((0.5, 1.5, 2.5)):
        code += p[n % 3]
    return code, [p[::-1] for p in permutations(range(2, 5))]


def least(x, n):
    return min(sum(x[i] * k for k, i in enumerate(p)) for p in permutations(range(5)))


def chosen(x, n):
    total, steps = 0.0, (1.5, -2.0, 0.25)
    for k in range(-3, 3):
        total = total * 2 + steps[k] + (x[0], x[1])[k % 2]
    return total


@pytest.mark.parametrize(
    "function",
    [
        concordant, triples, whole_pairs, indices, elements, neighbours, nothing, nested, drawn, powers, until,
        left_at_both_ends, left_inside, first_of_repeated, never_left, ordered_pairs, some_of_many, all_of_known, least,
        chosen, shortest,
    ],
)  # fmt: skip
def test_is_compiled_and_like_python(function):
    agrees(function, (X.copy(), 5), (X[::-1].copy(), 4), (X.copy(), 1), (X.copy(), 8))


def test_an_index_of_a_tuple_that_is_out_of_range():
    def last(x, n):
        steps, total = (1, 2, 4), 0
        for k in range(n):
            total += steps[k] * x[k]
        return total

    agrees(last, (X, 3), (X, 4), (X, 2))
