"""Read-only memory is never written: by no way that serves calls, of no size, in cold and in warm functions."""

from types import SimpleNamespace

import numpy as np
import pytest
from outcomes import outcome

import jitrt

SMALL, LARGE = 100, 20_000  # below and above what is written where it lies
CAPTURED = np.zeros(1)


def by_native_code(x, y):
    x += y * 3.0
    x *= 0.5
    return x.sum()


def last_argument(y, x):
    x += y * 3.0
    y *= 2.0
    return x * y


def behind_another(y, x):
    y *= 2.0
    x += y


def returns_a_view(x, y):
    x += y * 3.0
    return x[1:], y[::-1]


def with_a_step_of_numpy(x, y):
    x += np.sort(y)
    return x * 2.0


def behind_a_look(x, y):
    if y.sum() > 1.0:
        x += y
    return x * 2.0


def before_a_look(x, y):
    x += y
    return x * 2.0 if x.sum() > 1.0 else y


def looks_at_changing_values(x, y):
    t = float(y[0]) + float(y[1])
    x += y * t
    return x * 2.0


def in_a_loop(x, y):
    for _ in range(5):
        x[1:-1] = x[2:] + y[:-2]


def loop_over_elements(x, y):
    for k in range(1, x.size):
        if y[k] > y[k - 1]:
            x[k] = x[k - 1] + y[k]


def catches_it(x, y):
    y += 1.0
    try:
        x += y
    except ValueError:
        return y * 2.0
    return x * 3.0


def asks_for_the_flag(x, y):
    return x * 2.0 if x.flags.writeable else y + 1.0


def runs_plain(x, y):
    x += len(y.tobytes())
    return x * 2.0


def little(x, y):
    x[0] = y[0]


def element(x, y):
    x[3] = 1.0
    return x + y


def masked(x, y):
    x[y > 3.0] = 0.0


def by_positions(x, y):
    x[[1, 3, 5]] = y[:3]


def reversed_part(x, y):
    x[::-2] -= y[::-2]


def out(x, y):
    return np.multiply(x, y, out=x)


def reduced_into(x, y):
    np.cumsum(y, out=x)


def filled(x, y):
    x.fill(4.0)
    return x + y


def sorted_in_place(x, y):
    x.sort()
    return x + y


def copied(x, y):
    np.copyto(x, y)


def put(x, y):
    np.put(x, [1, 2], y[:2])


def reshaped(x, y):
    x.reshape(2, -1)[1] = y[0]


PAIRS = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__]


def in_a_list(items):
    items[0] += items[1] * 3.0
    return items[0].sum()


def in_a_dict(items):
    items["x"] += items["y"] * 3.0
    return items["x"] * 2.0


def in_an_object(o):
    o.x += o.y * 3.0
    return o.x.sum()


def from_outside(y):
    CAPTURED[...] = CAPTURED + y
    return CAPTURED.sum()


def given(function, x, y):
    """Arguments that lead to the arrays x, which is written, and y."""
    if function is in_a_list:
        return ([x, y],)
    if function is in_a_dict:
        return ({"x": x, "y": y},)
    if function is in_an_object:
        return (SimpleNamespace(x=x, y=y),)
    if function is from_outside:
        globals()["CAPTURED"] = x
        return (y,)
    return (x, y) if function.__code__.co_varnames[0] == "x" else (y, x)


def by_flag(x):
    x.flags.writeable = False
    return x, x


def of_bytes(x):
    data = x.tobytes()
    return np.frombuffer(data), np.frombuffer(data)


def view_of_another(x):
    fixed = x.view()
    fixed.flags.writeable = False
    return fixed[:], x


def writable(x):
    return x, x


def check(compiled, make, size, seed=1, donated=""):
    """Assert that a call does what it does in NumPy; what is `donated` may hold anything afterwards.

    Where the function fails, it may have failed before it wrote to the array that is writable.
    """
    seen = []
    for f in (compiled.__wrapped__, compiled):
        y = np.arange(float(size)) % 7.0 + seed
        before = y.tobytes()
        x, memory = make(np.arange(float(size)) % 5.0)
        error, value, related, (x_after, y_after) = outcome(f, given(compiled.__wrapped__, x, y), [memory, y])
        may_differ = donated == "y" or (error and y_after == before)
        is_refused = error is not None and issubclass(error[0], ValueError) and "read-only" in error[1]
        seen.append([is_refused or error, value, x_after, not donated and related, y_after])
    assert seen[0][:-1] == seen[1][:-1]
    assert may_differ or seen[0][-1] == seen[1][-1]


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("function", [*PAIRS, in_a_list, in_a_dict, in_an_object, from_outside])
def test_like_numpy(function, size, strict, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", str(int(strict)))
    if function is loop_over_elements:
        size = min(size, 2000)
    compiled = jitrt.jit(function)
    for seed in range(12 if function is looks_at_changing_values else 3):
        check(compiled, writable, size, seed)
    for make in (by_flag, of_bytes, writable, view_of_another, of_bytes, writable):
        check(compiled, make, size)
    for fixed in (of_bytes, view_of_another):
        compiled = jitrt.jit(function)
        for make in (fixed, fixed, writable, writable, fixed):
            check(compiled, make, size)


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("name", ["x", "y"])
@pytest.mark.parametrize("function", PAIRS)
def test_donated(function, name, size):
    compiled = jitrt.jit(function, donate=(name,))
    for make in (writable, writable, of_bytes, by_flag, writable):
        check(compiled, make, size, donated=name)
