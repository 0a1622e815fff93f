"""Python integers among the arguments: results are those of plain NumPy for every value, and few traces serve them."""

import math
import types

import numpy as np
import pytest

import jitrt
from jitrt.runtime.stagedfunction import StagedFunction

ARRAYS = [
    np.linspace(-2, 2, 7),
    np.linspace(-2, 2, 7, dtype=np.float32),
    np.arange(7),
    np.arange(7, dtype=np.int8),
    np.arange(7, dtype=np.uint64),
    np.linspace(-2, 2, 7) > 0,
    np.linspace(-2, 2, 7) + 1j,
]
INTEGERS = [
    3, 0, 1, 2, 5, 7, -1, -4, 10, 200, 300, 40_000, 2**31, 2**40, 2**53 + 1, 2**62 - 1, 2**63, 2**64, -(2**63),
    -(2**65), 3, 4, 6, 8, 9, 11, 12,
]  # fmt: skip


def same(a, b):
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, (np.ndarray, np.generic)):
        alike = a.dtype == b.dtype and a.shape == b.shape
        if a.dtype == object:
            return alike and np.array_equal(a, b)
        return alike and np.allclose(a, b, rtol=1e-6, atol=0, equal_nan=True)
    return a == b or a != a


def check(function, array, integers=INTEGERS):
    fast = jitrt.jit(function)
    for k in integers:
        try:
            want = function(array.copy(), k)
        except Exception as error:
            with pytest.raises(type(error)):
                fast(array.copy(), k)
            continue
        found = fast(array.copy(), k)
        assert same(want, found), f"{k}: {want} and not {found}"
    return fast


def comparisons(x, k):
    return x > k, x == k, k <= x


def quotients(x, k):
    return x / (k or 1), x // (k or 1), k / (abs(x) + 10)


def numpys_functions(x, k):
    return np.sqrt(abs(k)), np.add(k, 1), np.maximum(x, k), np.clip(x, -1, k), np.where(x > 0, x, k)


def pythons_numbers(x, k):
    return x + k, k, k + 1, -k, +k, abs(k), ~k, k & 7, k | 1, k ^ 3, k // 2, k % 3, k / 7, 3 * k * k - k


def branches(x, k):
    if k > 3:
        return x * k
    return x + (1 if k % 2 else 2)


def elements(x, k):
    return x[k % 3] * 2, x[-(k % 5)], np.array([k, k + 1]) + x[:2]


def stores(x, k):
    y = np.zeros_like(x)
    y[1] = k
    y[2:] = k
    y[y == k] = k
    return y


def stores_elements(x, k):
    y = x.copy()
    y[k % 3] = k
    y[k % 3] += 1
    return y


def creates(x, k):
    return np.full(3, k) * 1.5 + np.full_like(x[:3], k)


def mathematics(x, k):
    return x * math.cos(k) + math.sqrt(k * k)


def decays(x, k):
    return x * (1 - 0.9 ** (k % 50 + 1)) + k * 0.1


def generator(x, k):
    return x * (((k * 6364136223846793005 + 1442695040888963407) % 2**64) / 2**64)


def counts_down(x, k):
    n = abs(k) % 4
    while n > 0:
        x = x * 2
        n -= 1
    return x


def loops(x, k):
    for i in range(10):
        x = x + (i + k) * 0.5
    return x


def needs_the_value(x, k):
    y = x * sum([1 for _ in range(abs(k) % 4)]) + x[k % 3 :].sum()
    y = y * math.floor(k * 0.5)
    return y, f"{k}", {0: 1, 1: 2}.get(k, 5), k << 1, k in (1, 2, 3), min(k, 4), np.zeros(abs(k) % 3), k.bit_length()


def asks_for_the_type(x, k):
    return x * 2 if type(k) is int else x + isinstance(k, int)


def exponents(x, k):
    return (abs(x) + 1) ** (k % 4), 2 ** (k % 5), np.power(abs(x), abs(k) % 3)


def axes(x, k):
    return x.reshape(-1, 1).sum(axis=k % 2), np.roll(x, k % 100), np.sum(x, axis=0, initial=k % 7)


ARITHMETIC = [
    lambda x, k: x * k - k + 2 * x,
    comparisons,
    quotients,
    numpys_functions,
    pythons_numbers,
    branches,
    elements,
    stores,
    mathematics,
    decays,
    counts_down,
]
OTHERS = [
    stores_elements,
    creates,
    generator,
    loops,
    needs_the_value,
    asks_for_the_type,
    exponents,
    axes,
]


@pytest.mark.wide(times=2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: str(a.dtype))
@pytest.mark.parametrize("function", ARITHMETIC, ids=lambda f: f.__name__)
def test_arithmetic(function, array):
    check(function, array)


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("array", ARRAYS[1:4], ids=lambda a: str(a.dtype))
@pytest.mark.parametrize("function", OTHERS, ids=lambda f: f.__name__)
def test_others(function, array):
    check(function, array, INTEGERS[::2])


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("function", ARITHMETIC, ids=lambda f: f.__name__)
def test_few_traces(function):
    fast = check(function, ARRAYS[0], [*range(-50, 300), 2**40])
    info = fast.cache_info()
    assert info.compiled <= 5 and info.plain == 0


POWERS = {
    "power": lambda x, k: (np.abs(x) + 1) ** (k % 40 - 3) + k,
    "into": lambda x, k: np.power(x, k % 40, out=x),
    "base": lambda x, k: (k % 40) ** np.abs(x) * 0.5,
    "float_power": lambda x, k: np.float_power(x, k % 40) * 0.5,
}
SHIFTS = {"left": lambda x, k: (x << k) + 1, "right": lambda x, k: (x >> k) + 1, "counts": lambda x, k: k << x}


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: str(a.dtype))
@pytest.mark.parametrize("name", POWERS)
def test_exponents_that_vary(name, array):
    """Squares, reciprocals and copies are no powers, and negative powers of integers raise."""
    fast = check(POWERS[name], array, range(150))
    if array.dtype.kind in "f":
        assert fast.cache_info().compiled <= 9


@pytest.mark.wide
@pytest.mark.parametrize("array", [ARRAYS[2], ARRAYS[3], ARRAYS[3].astype(np.uint16)], ids=lambda a: str(a.dtype))
@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_that_vary(name, array):
    fast = check(SHIFTS[name], array, [*range(70), -1, -9, 200, 2**31, 2**40, 2**64])
    assert fast.cache_info().compiled <= 12


def repeated(x, k):
    for i in range(k):
        x = np.tanh(x) + i
    return x


def repeated_while(x, k):
    n = 0
    while n < k:
        x = x * 0.5 + n
        n += 1
    return x


def repeated_within(x, k):
    for i in range(k):
        for j in range(i, k):
            x = x * 0.5 + i * j
    return x


def repeated_in_a_helper(x, k):
    return repeated(x, k) * 2


def transforms(x, k):
    for i in range(k):
        x = np.fft.ifft(np.fft.fft(x) * 0.5).real + i
    return x


@pytest.mark.parametrize(
    "function", [repeated, repeated_while, repeated_within, repeated_in_a_helper], ids=lambda f: f.__name__
)
def test_numbers_of_iterations_that_vary(function):
    """Loops over whole arrays are unrolled for the first few numbers, and then a procedure serves all of them."""
    x = np.linspace(-2, 2, 500)
    fast = check(function, x, range(5, 30))
    assert fast.cache_info().compiled <= 4
    assert "compiled as one function" in str(fast.explain(x, 50))


def test_numbers_of_transforms_that_vary(monkeypatch):
    """What NumPy does most of is not compiled for each number anew."""
    monkeypatch.setenv("JITRT_STRICT", "0")
    fast = check(transforms, np.linspace(-2, 2, 5000), range(5, 40))
    assert fast.cache_info().compiled <= 3


def test_native_code_serves_integers_of_any_value():
    fast, x = jitrt.jit(lambda x, k, n: (x * k + k / 7, k // 2)), np.ones(3)
    for k in range(4):
        fast(x, k, 1000)
    before = fast.cache_info().slow_calls
    for k in [*range(1000), 2**50, -(2**50)]:
        result, half = fast(x, k, int("1000"))
        assert result[0] == k + k / 7 and half == k // 2 and type(half) is int
    assert fast.cache_info().slow_calls == before
    np.testing.assert_array_equal(fast(x, 2**70, 1000)[0], x * 2**70 + 2**70 / 7)


def test_bools_and_other_types_are_told_apart():
    fast, x = jitrt.jit(lambda x, k: x * k), np.arange(3)
    for k in [*range(6), True, 2.5, np.int8(3), False, np.float32(2), 4, np.arange(3)]:
        assert same(fast(x, k), x * k)


class Walk:
    def __init__(self, start):
        self.steps = start

    @jitrt.jit
    def move(self, x):
        return x + self.steps * 0.5


def test_attributes():
    x = np.ones(50_000)
    for n in range(12):
        np.testing.assert_array_equal(Walk(n).move(x), x + n * 0.5)


class Simulation:
    def __init__(self):
        self.steps, self.time, self.x = 0, 0.0, np.ones(50_000)

    def plain(self, dt):
        self.steps += 1
        self.time += dt
        self.x = self.x + dt * self.steps
        return self.x[0]

    fast = jitrt.jit(plain)


def test_attributes_that_count():
    one, other = Simulation(), Simulation()
    for _ in range(40):
        assert one.fast(0.1) == other.plain(0.1)
        assert (one.steps, one.time) == (other.steps, other.time) and type(one.steps) is int
    assert vars(Simulation)["fast"].cache_info().compiled <= 5


def test_python_bools_come_from_native_code():
    fast, x = jitrt.jit(lambda x, a, k: (x * 2, a < k, a == 3.0, k >= 4)), np.ones(3)
    for k in range(12):
        assert fast(x, k / 2, k)[1:] == (k / 2 < k, k / 2 == 3.0, k >= 4)
        assert all(type(v) is bool for v in fast(x, k / 2, k)[1:])
    assert fast.cache_info().slow_calls <= 5


def test_keywords_and_containers():
    fast, x = jitrt.jit(lambda x, options, *, lag: x * options["k"][0] + lag), np.ones(4)
    for k in range(20):
        np.testing.assert_array_equal(fast(x, {"k": [k, "a"]}, lag=3 * k), x * k + 3 * k)
    assert fast.cache_info().compiled <= 5


def test_a_later_way_needs_the_value():
    def step(x, k):
        if x.sum() > 0:
            return x * k
        return x[k:]

    fast, x = jitrt.jit(step), np.ones(6)
    for k in range(6):
        np.testing.assert_array_equal(fast(x, k), x * k)
    for k in range(6):
        np.testing.assert_array_equal(fast(-x, k), -x[k:])
        np.testing.assert_array_equal(fast(x, k), x * k)


def test_writes_into_arguments():
    def add(x, k):
        x += k
        x[1:] *= k
        return k * 2

    fast = jitrt.jit(add)
    for dtype in (np.int16, np.float64):
        mine, plain = np.arange(5, dtype=dtype), np.arange(5, dtype=dtype)
        for k in [1, 2, 3, 4, 5, 0, -1, 7, 100_000, 3]:
            try:
                want = add(plain, k)
            except OverflowError:
                with pytest.raises(OverflowError):
                    fast(mine, k)
            else:
                assert fast(mine, k) == want
            np.testing.assert_array_equal(mine, plain)


def test_captured_by_a_nested_jit_function():
    inner = jitrt.jit(lambda x, k: x * k)
    outer, x = jitrt.jit(lambda x, k: inner(x, k + 1) - inner(x, 3)), np.ones(3)
    for k in range(12):
        np.testing.assert_array_equal(outer(x, k), x * (k + 1) - x * 3)


def test_fill_values_that_do_not_fit():
    fast, x = jitrt.jit(lambda x: np.full_like(x, 200) + x), np.arange(3, dtype=np.int8)
    with pytest.raises(OverflowError):
        fast(x)


FACTOR, OFFSET, START = 1, 0.5, 0
parameters = types.ModuleType("parameters")


def tail(x):
    return x[START % 3 :]


@jitrt.jit
def reads_globals(x):
    return x * FACTOR + OFFSET * x + parameters.gain, FACTOR + 1


@jitrt.jit
def needs_a_global(x):
    return tail(x) * 2


def test_captured_numbers(monkeypatch):
    x = np.arange(5.0)
    for k in [*range(30), 2**63, 2.5, 3, np.ones(5), 4, -1]:
        monkeypatch.setitem(globals(), "FACTOR", k)
        monkeypatch.setitem(globals(), "OFFSET", float(np.sum(k)) / 2)
        monkeypatch.setattr(parameters, "gain", 3 * k, raising=False)
        found = reads_globals(x)
        np.testing.assert_array_equal(found[0], x * k + float(np.sum(k)) / 2 * x + 3 * k)
        assert same(found[1], k + 1)
        if type(k) is int and k == 29:
            assert reads_globals.cache_info().slow_calls < 10
    for k in range(12):
        monkeypatch.setitem(globals(), "START", k)
        np.testing.assert_array_equal(needs_a_global(x), x[k % 3 :] * 2)


def test_numbers_in_closures():
    number = 1

    def change(value):
        nonlocal number
        number = value

    fast, x = jitrt.jit(lambda x: x * number + (number > 5)), np.ones(4)
    for k in [*range(20), 3, 4.5, 2**64, 7]:
        change(k)
        np.testing.assert_array_equal(fast(x), x * k + (k > 5))


def test_no_procedure_is_asked_for_integers_of_more_than_a_word(monkeypatch):
    asked = []
    native = StagedFunction.native
    monkeypatch.setattr(StagedFunction, "native", lambda self, call: asked.append(call.args) or native(self, call))

    def generated(s, n):
        t = 0
        for _ in range(n):
            s = (1103515245 * s + 12345) % 2**31
            t = t * 31 + s
        return s, t

    fast = jitrt.jit(generated)
    for s in (3, 2**64, 2**70, -(2**63) - 1, 5, 2**64):
        for n in (3, 40):
            assert fast(s, n) == generated(s, n)
    assert all(abs(s) < 2**63 for s, _ in asked)
