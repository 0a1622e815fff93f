"""Arguments that are lists of tuples of numbers, and lists of NumPy's numbers, in loops."""

import numpy as np
import pytest

import jitrt
from jitrt import policy
from jitrt.values.growing import NOT_GROWING
from jitrt.values.kinds import TooMany, flatten_call

PAIRS = [(k % 7, 0.5 * k) for k in range(40)]
NUMPYS = [(np.int64(k % 7), np.float64(0.5 * k)) for k in range(40)]
TRIPLES = [(k, float(k), -k) for k in range(30)]


def summed(pairs):
    total = 0.0
    for a, b in pairs:
        total += a * b
    return total


def by_number(pairs):
    total = 0
    for k in range(len(pairs)):
        total += pairs[k][0] * pairs[-1 - k][1]
    return total


def extremes(pairs):
    best, at = -1.0, 0
    for k, (a, b) in enumerate(pairs):
        if b - a > best:
            best, at = b - a, k
    return best, at, pairs[at]


def counted(pairs, n):
    counts = np.zeros(n)
    for key, weight in pairs:
        counts[key] += weight
    return counts


def kept(pairs):
    made = []
    for a, b in pairs:
        if a % 2:
            made.append((b, a))
    return made, pairs[3:7]


def in_arrays(pairs):
    table = np.array(pairs)
    total = 0.0
    for i in range(len(table)):
        total += table[i, 0] - table[i, 1]
    return total


def both(pairs, others):
    total = 0
    for (a, b), (c, d) in zip(pairs, others):
        total += a * c - b * d
    return total


def member(pairs):
    found = 0
    for k in range(50):
        if (k, 0.5 * k) in pairs:
            found += k
    return found


def of_itself(pairs):
    total = 0.0
    for a, b in pairs:
        total += a + b
    return pairs, total


def appends(pairs):
    for k in range(3):
        pairs.append((k, 1.5))
    return len(pairs)


def replaces(pairs):
    for k in range(len(pairs)):
        pairs[k] = (pairs[k][0], 0.0)
    return pairs


def ordered(pairs):
    total = 0.0
    for k, (a, b) in enumerate(sorted(pairs)):
        total += k * (a - b)
    return total


def triples(values):
    total = 0
    for a, b, c in values:
        total += a * b + c
    return total


def kinds(values):
    made = []
    for v in values:
        made.append(v * 2)
    return made


def shown(value):
    """A result with the types of all that is in it."""
    if isinstance(value, (tuple, list)):
        return type(value), [shown(v) for v in value]
    return type(value), repr(value)


@pytest.mark.wide(times=3)
@pytest.mark.parametrize("given", [PAIRS, NUMPYS, PAIRS[:1], [], [(1, 2)] * 5, [(1.5, 2.5)] * 5, [(1, 2.0), (2, 3)],
                                   [(2**70, 1.0)], [(1, 2.0), [3, 4.0]], [(1, 2.0), (3, 4.0, 5.0)], [(True, 1.0)] * 3,
                                   [(1, np.float32(2.0))] * 4, [(np.nan, -0.0)] * 3, [(1, 2.0), (None, 1.0)]],
                         ids=range(14))  # fmt: skip
@pytest.mark.parametrize("function", [summed, by_number, extremes, kept, in_arrays, member, of_itself, appends,
                                      replaces, ordered])  # fmt: skip
def test_they_are_as_with_python(function, given):
    def runs(called):
        found = []
        for _ in range(4):
            pairs = list(given)
            try:
                made = called(pairs)
            except Exception as error:
                made = type(error), str(error)
            is_same = isinstance(made, (tuple, list)) and any(v is pairs for v in (made, *made))
            found.append((shown(made), shown(pairs), is_same))
        return found

    assert runs(jitrt.jit(function)) == runs(function)


@pytest.mark.parametrize("function, args", [
    (summed, (PAIRS,)), (summed, (NUMPYS,)), (by_number, (PAIRS,)), (extremes, (PAIRS,)), (counted, (PAIRS, 7)),
    (kept, (PAIRS,)), (in_arrays, (PAIRS,)), (both, (PAIRS, NUMPYS)), (triples, (TRIPLES,)), (member, (PAIRS,)),
    (kinds, ([np.float64(k) for k in range(9)],)), (kinds, ([np.int64(k) for k in range(9)],)),
])  # fmt: skip
def test_they_are_compiled(function, args):
    f = jitrt.jit(function)
    for _ in range(4):
        assert repr(f(*args)) == repr(function(*args))
    assert "compiled as one function" in str(f.explain(*args))


def test_other_types_and_lengths_are_told_apart():
    f = jitrt.jit(summed)
    for given in (PAIRS, [(1, 2)] * 5, PAIRS * 3, NUMPYS, [(0.5, 1)] * 3, [(1, 2, 3)], [], PAIRS, [(1, 2)] * 5):
        for _ in range(3):
            try:
                want = shown(summed(given))
            except ValueError as error:
                with pytest.raises(ValueError, match=str(error).replace("(", r"\(").replace(")", r"\)")):
                    f(given)
            else:
                assert shown(f(given)) == want


def test_calls_with_long_lists_are_left_before_all_elements_are_looked_at():
    """All of them were taken apart in each of the first calls: seconds for a hundred thousand."""
    leaves = []
    with pytest.raises(TooMany, match=f"{policy.LEAVES + 1} values in its lists, dicts and objects"):
        flatten_call(([[1.0, 2]] * (policy.LEAVES + 1),), {}, (), leaves, NOT_GROWING)
    assert not leaves

    @jitrt.jit
    def f(values, x):
        return str(values[0]), x + 1

    values = [["a", k] for k in range(policy.LEAVES + 1)]
    for _ in range(5):
        assert f(values, 1.5) == ("['a', 0]", 2.5)
    assert "values in its lists" in f.plain_reason
    assert "values in its lists" in f.explain(values, 1.5).plain_reason
    assert "values in its lists" in f.profile(values, 1.5).plain_reason


def test_what_a_module_holds_too_many_of_is_plain():
    f = jitrt.jit(lambda x: x + len(MANY[7]))
    for _ in range(5):
        assert f(1.5) == 3.5
    MANY[7] = [1]
    assert f(1.5) == 2.5


MANY = [[k, "a"] for k in range(policy.LEAVES + 1)]


class Recorder:
    def __init__(self):
        self.rate, self.history = 0.5, [0.0] * (2 * policy.LEAVES)

    def step(self, x):
        y = np.exp(-self.rate * x) + 1
        self.history.append(float(y[0]))
        return y


def test_a_list_that_is_appended_to_alone_may_be_of_any_length():
    recorder, x = Recorder(), np.linspace(0.0, 1.0, 10_000)
    f = jitrt.jit(Recorder.step)
    for _ in range(4):
        np.testing.assert_allclose(f(recorder, x), np.exp(-0.5 * x) + 1, rtol=1e-14)
        assert not f.plain_reason
    assert recorder.history[-4:] == [2.0] * 4


def test_where_reading_a_list_takes_longer_than_the_loop_the_plain_function_runs():
    def plain(pairs):
        total = 0
        for a, _ in pairs:
            total += a
        return total

    pairs = [(k, 1.0) for k in range(20_000)]
    f = jitrt.jit(plain)
    for k in range(40):
        pairs[0] = (k, 1.0)
        assert f(pairs) == plain(pairs)
    assert f.plain_reason == "such calls are too short for compiled code"
    assert f(pairs[:3]) == 39 + 1 + 2
