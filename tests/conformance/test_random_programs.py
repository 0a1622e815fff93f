"""Random programs give, compiled, what they give as plain NumPy: results, changed arguments, shared memory, errors."""

import numpy as np
import pytest
from covering import few
from programs import Program, Writer, shrunk

import jitrt

pytestmark = pytest.mark.filterwarnings("ignore")


def outcome(function, args):
    with np.errstate(all="ignore"):
        try:
            value = function(*args)
        except Exception as error:
            return type(error), None, args
    return None, value, args


def arrays(value):
    parts = value if isinstance(value, tuple) else (value,)
    return [v for v in parts if isinstance(v, np.ndarray)]


def strides(array):
    return [s for s, n in zip(array.strides, array.shape) if n > 1]


def difference(got, want):
    """In what two values differ; empty if they agree."""
    if type(got) is not type(want):
        return f"{type(got)} and not {type(want)}"
    if isinstance(want, tuple):
        found = [difference(x, y) for x, y in zip(got, want)]
        return next((f"{k}: {d}" for k, d in enumerate(found) if d), "" if len(got) == len(want) else "length")
    if isinstance(want, (np.ndarray, np.generic)):
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"{got.dtype} {got.shape} and not {want.dtype} {want.shape}"
        if isinstance(want, np.ndarray) and got.flags.writeable != want.flags.writeable:
            return "writeable"
        if isinstance(want, np.ndarray) and want.size and strides(got) != strides(want):
            return f"strides {got.strides} and not {want.strides}"
    elif not isinstance(want, float):
        return "" if got == want else f"{got!r} and not {want!r}"
    x, y = np.asarray(got), np.asarray(want)
    if y.dtype.kind not in "fc":
        return "" if np.array_equal(x, y) else f"{x} and not {y}"
    scale = np.max(np.abs(y), where=np.isfinite(y), initial=1.0)
    bound = float(np.finfo(y.dtype).eps) * 1e5 * float(scale)
    return "" if np.allclose(x, y, rtol=0, atol=bound, equal_nan=True) else f"{x} and not {y}"


def invalid(program, call):
    """Whether a call makes a nan or casts one: what an integer is then, differs between processors."""
    with np.errstate(invalid="raise", over="raise"):
        try:
            program.function()(*program.arguments(call))
        except FloatingPointError:
            return True
        except Exception:
            return False
    return False


def mismatch(program: Program) -> str:
    """In what the compiled program differs from the plain one; empty if it agrees in all calls."""
    plain, compiled = program.function(), jitrt.jit(program.function())
    for call in (0, 1, 2, 0):
        if invalid(program, call):
            continue
        want, got = outcome(plain, program.arguments(call)), outcome(compiled, program.arguments(call))
        if got[0] is not want[0]:
            return f"call {call}: raises {got[0]} and not {want[0]}"
        for what, x, y in (("result", got[1], want[1]), ("arguments", got[2], want[2])):
            if found := difference(x, y):
                return f"call {call}, {what}: {found}"
        if shared(got) != shared(want):
            return f"call {call}: other arrays share memory: {shared(got)} and not {shared(want)}"
    return ""


def shared(result):
    _, value, args = result
    found = arrays(value) + arrays(args)
    return [(i, j) for j in range(len(found)) for i in range(j) if np.shares_memory(found[i], found[j])]


def check(seeds):
    for seed in seeds:
        program = Writer(seed).write(3 + seed % 9)
        if mismatch(program):
            small = shrunk(program, lambda p: bool(_safely(p)))
            raise AssertionError(f"seed {seed}: {_safely(small)}\n{small.source}")


def _safely(program):
    """`mismatch`, for programs that were cut so that they may make no sense."""
    try:
        return mismatch(program)
    except (NameError, SyntaxError, UnboundLocalError):
        return ""


@pytest.mark.parametrize("block", few(range(10), 3))
def test_random_programs(block):
    check(range(20 * block, 20 * block + 20))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(50))
def test_many_random_programs(block):
    check(range(10_000 + 100 * block, 10_000 + 100 * block + 100))


def test_the_writer_uses_everything():
    """Programs have loops, branches, updates and views: the fuzz test would not tell if they were empty."""
    sources = [Writer(seed).write(10).source for seed in range(60)]
    for part in ("for k in", "if ", "+=", "[1:]", ".T", "out=", "np.zeros", "return t"):
        assert sum(part in s for s in sources) > 2, part
    assert sum(len(s.split("\n")) > 9 for s in sources) > 40
