"""Arguments that share memory, of which some are written: in all ways that two views of one vector can lie."""

import itertools

import numpy as np
import pytest
from outcomes import outcome

import jitrt

SIZES = (8, 20_000)  # below and above what is written where it lies
STEPS = (1, -1, 2, -2)


def first(x, y):
    x += y * 2.0


def last(y, x):
    x += y * 2.0
    return x.sum()


def both(x, y):
    x += y * 2.0
    y -= x


def shifted(x, y):
    x[1:] = y[:-1] + x[:-1]
    return y * 1.0


def read_again(x, y):
    x[::2] = 3.0
    t = y + 1.0
    x[...] = t + y[::-1]
    return t


def behind_a_look(x, y):
    if y.sum() > 1.0:
        x += y * 2.0
    return y + 1.0


def before_a_look(x, y):
    x += y * 2.0
    if y[0] > 1.0:
        x[1:] -= y[:-1]
    return x * 1.0


def with_a_step_of_numpy(x, y):
    x += 1.0
    x[...] = np.sort(y) + y


def views_are_returned(x, y):
    x += y
    return x[1:], y[::-1]


def same_or_not(x, y):
    if x is y:
        x *= 3.0
    x += y


def three(x, y, z):
    x += y
    z[...] = x - y


def looped(x, y):
    for _ in range(3):
        x[1:] += y[:-1]


FUNCTIONS = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__]


def placed(base, start, step, size):
    """`size` elements of `base` from number `start` on, every `step`-th."""
    return base[start:][:: abs(step)][:size][:: -1 if step < 0 else 1]


def starts(step, other, size):
    """Pairs of places for two views that lie apart, touch, share an element, a part, or all of the elements."""
    length, other_length = abs(step) * size, abs(other) * size
    here = other_length
    for there in (0, abs(other), here - other_length + 1, here - 1, here, here + 1, here + length // 2):
        yield here, there
    yield here, here + length - abs(step)
    yield here, here + length


def arguments(function, base, step, other, here, there, size):
    x, y = placed(base, here, step, size), placed(base, there, other, size)
    if (here, step) == (there, other):
        y = x  # the same object
    if function is three:
        return [x, y, placed(base, (here + there) // 2, step, size)]
    return [x, y] if function.__code__.co_varnames[0] == "x" else [y, x]


def check(compiled, step, other, here, there, size):
    seen = []
    for f in (compiled.__wrapped__, compiled):
        base = np.arange(size * 8.0) % 9.0
        args = arguments(compiled.__wrapped__, base, step, other, here, there, size)
        seen.append(outcome(f, args, [base]))
        kept = [type(a) for a in args]
        assert kept == [np.ndarray] * len(args)
    assert seen[0] == seen[1], (step, other, here, there)


@pytest.mark.wide
@pytest.mark.parametrize(("size", "strict"), [(SIZES[0], True), (SIZES[1], True), (SIZES[1], False)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_like_numpy(function, size, strict, monkeypatch):
    """First with arrays that lie apart, so that what was made for them would serve the others."""
    monkeypatch.setenv("JITRT_STRICT", str(int(strict)))
    for step, other in itertools.product(STEPS, STEPS):
        if size == SIZES[1] and (abs(step), other) not in ((1, 1), (1, -1), (2, 2)):
            continue
        compiled = jitrt.jit(function)
        apart = (size * 2, size * 5)
        for here, there in (apart, apart, apart, *starts(step, other, size), apart):
            check(compiled, step, other, here, there, size)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_cold(function):
    for step, other in ((1, 1), (1, -1), (-2, 2)):
        for here, there in starts(step, other, 8):
            compiled = jitrt.jit(function)
            for place in (there, there, 40, there):
                check(compiled, step, other, here, place, 8)


def writes_one_way(x, y):
    t = y * 2.0
    if x[0] > 5.0:
        x += t
    return y + 1.0


def writes_the_other(x, y):
    t = y.copy()
    if t[0] > 5.0:
        y[1:] -= x[:-1]
    else:
        x[1:] += y[:-1]
    return x - t


def writes_at_the_last_look(x, y):
    t = x + y
    if t[0] > 5.0:
        t = t * 2.0
        if y[-1] > 5.0:
            x[::-1] = t + y
            return y * t
    return t


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("function", [writes_one_way, writes_the_other, writes_at_the_last_look])
@pytest.mark.parametrize("seed", range(4))
def test_each_way_with_each_place(function, size, seed):
    """A way that no call has gone yet may write where the others do not."""
    rng = np.random.default_rng(seed)
    compiled = jitrt.jit(function)
    for call in range(14):
        low, high = rng.integers(0, 2, 2) * 8.0
        here, there = [(size, size * 3), (size, size), (size, size + 2), (size + 2, size)][rng.integers(4)]
        same = rng.integers(2)
        seen = []
        for f in (function, compiled):
            base = np.arange(size * 5.0) % 3.0
            x = base[here : here + size]
            y = x if here == there and same else base[there : there + size]
            y[0], y[-1], x[0] = low, high, low
            seen.append(outcome(f, [x, y], [base]))
        assert seen[0] == seen[1], (call, here, there, low, high)


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["x", "y"])
@pytest.mark.parametrize("function", [first, last, both, behind_a_look, with_a_step_of_numpy, lambda x, y: x * 2.0 + y])
def test_donated(function, name, size):
    """What is given away may hold anything afterwards, but nothing else is touched."""
    compiled = jitrt.jit(function, donate=(name,))
    for step, other in ((1, 1), (1, -1), (-1, 1), (2, 1)):
        for here, there in (size * 2, size * 5), *starts(step, other, size):
            found = []
            for f in (function, compiled):
                base = np.arange(size * 8.0) % 9.0
                args = arguments(function, base, step, other, here, there, size)
                given = args[function.__code__.co_varnames.index(name)]
                error, value, _, _ = outcome(f, args)
                if not any(a is not given and np.shares_memory(a, given) for a in args):
                    given[...] = 0.0
                found.append((error, value, base.tobytes()))
            assert found[0] == found[1], (step, other, here, there)
