"""Numbers that native calls give: each is its own, though the arrays that kernels write them into are not."""

import itertools
import sys
import threading

import numpy as np
import pytest

import jitrt


def _calls(function, *args):
    """What three calls give for each of the arguments, and what plain ones do; the last two are native code's."""
    compiled = jitrt.jit(function)
    for _ in range(2):
        compiled(args[0])
    slow = compiled._slow_calls
    found = [compiled(x) for _ in range(3) for x in args]
    assert compiled._slow_calls == slow or type(args[0]) is int  # Python's integers have no bounds
    return found, [function(x) for _ in range(3) for x in args]


RESULTS = {
    "number": lambda x: x * 2,
    "numbers": lambda x: (x * 2, x + 1, x > 0),
    "dict": lambda x: {"a": x * 2, "b": x + 1, 3: x},
    "one key": lambda x: {"a": x * 2},
    "nested": lambda x: {"a": [x * 2, (x + 1,)], "b": x - 1},
    "the same twice": lambda x: {"a": x * 2, "b": x * 2},
    "array of none": lambda x: {"a": np.asarray(x * 2), "b": x * 2},
    "sum": lambda x: {"sum": (np.ones(40) * x).sum(), "array": np.ones(3) * x},
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16, np.complex128, float, int])
def test_numbers_of_earlier_calls_stay(name, kind):
    found, expected = _calls(RESULTS[name], *(kind(k) for k in (1, 2, 5)))
    assert repr(found) == repr(expected)
    if "dict" in name or "key" in name:
        assert [list(v) for v in found] == [list(v) for v in expected]
        assert all(type(p) is type(q) for v, w in zip(found, expected) for p, q in zip(v.values(), w.values()))


def test_arrays_of_numbers_are_each_calls_own():
    compiled = jitrt.jit(lambda x: np.asarray(x * 2.0))
    made = [compiled(np.float64(k)) for k in range(6)]
    assert [float(v) for v in made] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert not any(np.shares_memory(v, w) for v, w in itertools.pairwise(made))


def test_numbers_of_other_threads_are_not_mixed():
    compiled = jitrt.jit(lambda x: {"a": x * 2.0, "b": (x * np.ones(30_000)).sum()})
    wrong = []

    def work(k):
        for n in range(200):
            found = compiled(np.float64(k + n))
            if found != {"a": 2.0 * (k + n), "b": 30_000.0 * (k + n)}:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(1000 * k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_results_are_freed():
    class Key:
        """A key of which references are counted."""

    key = Key()
    compiled = jitrt.jit(lambda x: {"a": x * 2.0, "b": x + 1.0})
    for _ in range(3):
        compiled(np.float64(1))
    before = sys.getallocatedblocks()
    for _ in range(2000):
        compiled(np.float64(1))
    assert sys.getallocatedblocks() - before < 200
    with_key = jitrt.jit(lambda x: {key: x * 2.0})
    assert [list(with_key(np.float64(1)).values()) for _ in range(3)] == [[2.0]] * 3
