"""Random functions with loops give what plain NumPy gives: values, dtypes, changed arguments, exceptions."""

import copy
import enum
import warnings
from collections import deque

import numpy as np
import pytest
from container_programs import NAMES, ContainerWriter
from iterator_programs import NAMES as ITERATORS
from iterator_programs import IteratorWriter
from object_programs import ObjectWriter
from staged_programs import StatefulWriter, Writer, arguments, program

from jitrt.runtime.loopengine import MISS
from jitrt.runtime.stagedloops import LoopEngine


def outcome(call, args):
    """What a caller sees: the result, the arguments behind the call, the exception."""
    args = copy.deepcopy(args)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = call(*args)
        except Exception as error:
            return None, args, type(error)
    return value, args, None


def same(got, want):
    """Whether two values are the same, sums and means but for rounding."""
    if type(got) is not type(want):
        return False
    if isinstance(want, (tuple, list, set, deque)):
        options = [getattr(v, "maxlen", None) for v in (got, want)]
        return options[0] == options[1] and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, dict):
        factories = [getattr(v, "default_factory", None) for v in (got, want)]
        return factories[0] is factories[1] and same(list(got.items()), list(want.items()))
    if type(want).__module__ == "programs" and hasattr(want, "__dict__") and not isinstance(want, enum.Enum):
        return list(vars(got)) == list(vars(want)) and same(list(vars(got).values()), list(vars(want).values()))
    if isinstance(want, np.ndarray) and (got.dtype, got.shape) != (want.dtype, want.shape):
        return False
    if want is None or isinstance(want, enum.Enum):
        return got is want
    a, b = np.asarray(got), np.asarray(want)
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    scale = max(1.0, float(np.max(np.abs(b), where=np.isfinite(b), initial=0.0)))
    tolerance = (1e-9 if a.dtype.itemsize >= 8 else 1e-3) * scale
    return bool(np.allclose(a, b, rtol=1e-9 if a.dtype.itemsize >= 8 else 1e-3, atol=tolerance, equal_nan=True))


def objects(value, seen=None):
    """Which objects of a result are the same ones."""
    seen = {} if seen is None else seen
    if isinstance(value, (tuple, list)):
        return [objects(v, seen) for v in value]
    if type(value).__module__ != "programs" or not hasattr(value, "__dict__") or isinstance(value, enum.Enum):
        return None
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    return seen[id(value)], [objects(v, seen) for v in vars(value).values()]


def check(seed, writer=Writer, before=lambda: None):
    """Whether a program was compiled; fails where a call differs from the plain function's.

    `before` is called in front of each call.
    """
    function, source = program(seed, writer)
    function.__globals__.update(NAMES | ITERATORS)
    engine = LoopEngine(function)
    for turn in range(4):
        args = arguments(seed, turn)
        want = outcome(function, args)
        if want[2] in (NameError, UnboundLocalError):
            return False
        before()
        got = outcome(lambda *given: engine.call(given), args)
        if got[0] is MISS:
            return False
        assert got[2] == want[2], f"seed {seed}, turn {turn}: {got[2]} and not {want[2]}\n{source}"
        assert same(got[:2], want[:2]) and objects(got[0]) == objects(want[0]), (
            f"seed {seed}, turn {turn}\n{source}\n{args}\n{got}\n{want}"
        )
    return any(loop.runs for loops in engine._loops.values() for loop in loops)


def test_random_programs():
    assert sum(map(check, range(24))) > 4


def test_random_programs_with_state():
    assert sum(check(seed, StatefulWriter) for seed in range(24)) > 4


def test_random_programs_with_objects():
    assert sum(check(seed, ObjectWriter) for seed in range(60)) > 8
    check(30326, ObjectWriter)  # an object in an attribute that is assigned, and by itself, are two results


def test_random_programs_with_containers():
    assert sum(check(seed, ContainerWriter) for seed in range(20)) > 3


def test_random_programs_with_iterators():
    assert sum(check(seed, IteratorWriter) for seed in range(40)) > 8
    check(800337, IteratorWriter)  # a list refers to an array that a generator in a loop was given


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 11000, 250))
def test_many_random_programs(first):
    for seed in range(first, first + 250):
        check(seed)
        check(seed, StatefulWriter)
        check(seed, ObjectWriter)
        check(seed, ContainerWriter)
        check(seed, IteratorWriter)
