"""Random programs of arrays of all layouts and of integers: what serves any size gives what NumPy gives."""

import random

import numpy as np
import pytest
from covering import few
from texts import function_of

import jitrt

pytestmark = pytest.mark.filterwarnings("ignore")

SAME = """{a} * 0.5 + 1; np.abs({a}); np.exp(-{a}); {a}[::-1]; {a}[:, ::-1]; {a} - {a}.mean(axis=0); {a} * k + m;
{a} / ({a}.max(axis=1)[:, None] + 2); np.cumsum({a}, axis=1); np.where({a} > 0.5, {a}, -{a}); np.roll({a}, k, axis=0);
{a} / {a}.shape[0]; np.ascontiguousarray({a}); {a} + {a}.sum(); {a}.copy()""".replace("\n", "").split(";")
OTHER = """{a}[k:]; {a}[:, :m]; {a}[:-k]; {a}[::m]; {a}[1:-1, 1:]; {a}.T; {a}.reshape(-1)[None, :];
{a}[: {a}.shape[0] // 2]; np.concatenate([{a}, np.full((k, {a}.shape[1]), 0.5)]); {a}[:, ::2];
{a}.reshape({a}.shape[1], {a}.shape[0]); np.repeat({a}, 2, axis=1); np.zeros((m, k)) + {a}.size;
np.broadcast_to({a}[0], (k, {a}.shape[1])) * 1.0; np.diff({a}, axis=0); {a}[k - 1][None, :] + 0.5""".replace(
    "\n", ""
).split(";")


def program(seed):
    """A function, with its text."""
    chosen, lines, kinds = random.Random(seed), [], [["x", "z"], ["y"]]
    lines.append("    z = x * 2")
    for number in range(chosen.randint(2, 7)):
        name, kind = f"t{number}", chosen.choice(kinds)
        if len(kind) > 1 and chosen.random() < 0.3:
            text = f"{kind[-1]} {chosen.choice('+-*')} {chosen.choice(kind)}"
            kind.append(name)
        elif chosen.random() < 0.6:
            text = chosen.choice(SAME).strip().format(a=chosen.choice(kind))
            kind.append(name)
        else:
            text = chosen.choice(OTHER).strip().format(a=chosen.choice(kind))
            kinds.append([name])
        lines.append(f"    {name} = {text}")
    if chosen.random() < 0.3:
        lines.append("    x[k:] += 0.25 * x[:-k]" if chosen.random() < 0.5 else "    x[:, 1:] = x[:, :-1] + 1")
    lines.append(f"    return {', '.join(kind[-1] for kind in kinds)},")
    scope = {"np": np}
    text = "def function(x, y, k, m):\n" + "\n".join(lines)
    exec(text, scope)
    return scope["function"], text


def laid_out(array, kind):
    """A copy in memory of its own, in one of several layouts."""
    n, m = array.shape
    memory = [
        lambda: np.empty((n, m)),
        lambda: np.empty((2 * n + 1, m))[1::2],
        lambda: np.empty((n, 2 * m + 3))[:, 3::2],
        lambda: np.empty((n, m))[::-1],
        lambda: np.empty((m, n + 2)).T[2:],
        lambda: np.empty((n + 2, m + 1))[1:-1, :-1],
        lambda: np.empty((n, m * 2))[:, ::-2],
        lambda: np.empty((n, m), order="F"),
    ][kind]()
    memory[...] = array
    return memory


def outcome(function, *args):
    try:
        return function(*args)
    except (ValueError, IndexError, ZeroDivisionError) as error:
        return type(error)


def compare(seed, calls=30):
    """Compare calls at many sizes; how many of them Python has served."""
    function, text = program(seed)
    chosen, generator, many = random.Random(seed), np.random.default_rng(seed), jitrt.jit(function)
    kinds, signs = [chosen.randrange(8) for _ in range(2)], [chosen.choice([1, 1, -1]) for _ in range(2)]
    with np.errstate(all="ignore"):
        for _ in range(calls):
            n, m, o = (chosen.choice([0, 1, 2, 3]) if chosen.random() < 0.04 else chosen.randint(16, 70) for _ in "nmo")
            k, j = (
                sign * (chosen.randint(0, 1) if chosen.random() < 0.04 else chosen.randint(2, 12)) for sign in signs
            )
            values = generator.random((n, m)), generator.random((o, n if chosen.random() < 0.2 else m))
            one, other = ([laid_out(v, kind) for v, kind in zip(values, kinds)] for _ in "ab")
            want, got = outcome(function, *one, k, j), outcome(many, *other, k, j)
            case = f"{text}\n{(n, m, o, k, j, kinds)}"
            if isinstance(want, type):
                assert got is want, case
                continue
            assert not isinstance(got, type), f"{got} {case}"
            for a, b in zip((*got, *other), (*want, *one), strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape), case
                assert np.allclose(a, b, 1e-10, 1e-10, equal_nan=True), case
    return many.cache_info().slow_calls


@pytest.mark.parametrize("block", few(range(6), 1))
def test_random_programs_at_random_sizes(block):
    slow = sum(compare(10 * block + seed) for seed in range(10))
    assert slow < 0.8 * 10 * 30


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_more_random_programs_at_random_sizes(block):
    for seed in range(20):
        compare(1000 + 20 * block + seed)


NUMBERS = """m + k; k - m; m * k; m // k; k // m; m % k; -m + k; m / k; m & k; m == k; m < k; m - 0.5; s + m; m * s;
x[0] + m; m + x.sum(); divmod(m, k); max(m, k); m if m > k else k; len(x) + k; len(x) * s""".replace("\n", " ").split(
    "; "
)


@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_computed_of_sizes_is_of_pythons_types(number):
    """An integer that is an index is one of the sizes of a program; the others are symbols."""
    source = f"def f(x, k, m, s):\n    x[m % 3] = 1.0\n    return {number}, x\n"
    plain = function_of(source)
    fast = jitrt.jit(plain)
    for n, k, m in [(4, 200, 8), (4, 100, 4), (5, 7, 20), (6, -40, 5), (4, 1, 5), (7, 5, 10), (9, -3, 7), (4, 300, 2)]:
        want, got = plain(np.ones(n), k, m, 0.25 * k), fast(np.ones(n), k, m, 0.25 * k)
        assert repr(got) == repr(want) and type(got[0]) is type(want[0])
