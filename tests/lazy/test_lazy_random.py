"""Random programs of views, assignments, mixtures of arrays and errors: lazy arrays give what NumPy's give."""

import random
import re

import numpy
import pytest
from covering import few

import jitrt.numpy

# Where warnings are errors, NumPy computes at once, and raises them at the line that is responsible.
pytestmark = pytest.mark.filterwarnings("default")

DTYPES = ["float64", "float64", "float32", "int64", "int8", "uint8", "bool", "complex128"]
UNARY = ["sqrt", "exp", "negative", "abs", "floor", "square", "isfinite", "sign", "logical_not", "conjugate"]
BINARY = ["+", "-", "*", "/", "//", "%", "<", ">=", "==", "!=", "&", "|"]
UFUNCS = ["maximum", "minimum", "hypot", "arctan2", "multiply", "subtract", "logaddexp", "bitwise_xor"]
FOLDS = ["sum", "max", "min", "mean", "prod", "any", "all", "std", "argmax", "cumsum"]
VIEWS = [
    "{x}.T",
    "{x}[::-1]",
    "{x}[1:]",
    "{x}[..., :-1]",
    "{x}[:, 1]",
    "{x}.reshape(-1)",
    "{x}.ravel()",
    "{x}[None]",
    "{x}[0]",
    "{x}[::2, ::-1]",
    "np.swapaxes({x}, 0, -1)",
    "{x}.real",
    "np.broadcast_to({x}, (2, *{x}.shape))",
    "np.diagonal({x})",
    "{x}.squeeze()",
    "np.flip({x})",
    "{x}[-1, -1]",
    "{x}[1, ...]",
    "np.split({x}, 1)[0]",
    "{x}.view()",
    "np.asarray({x})",
]
OTHERS = [
    "np.where({x} > {y}, {x}, {y})",
    "np.concatenate([{x}, {x}])",
    "np.stack([{x}, {x}], axis=-1)",
    "{x}.copy()",
    "{x}.astype('f4')",
    "{x}.astype('i4')",
    "np.clip({x}, 0, 2)",
    "np.linalg.norm({x})",
    "np.sort({x}, axis=None)",
    "np.diff({x})",
    "{x}[{x} > 0]",
    "{x}[[0, -1]]",
    "np.median({x})",
    "{x} @ {y}",
    "np.dot({x}, {y})",
    "np.add.reduce({x})",
    "np.multiply.outer({x}, {y})",
    "np.zeros_like({x})",
    "np.ones_like({x}) * 2",
    "{x}.flatten()",
    "np.roll({x}, 1)",
    "np.array({x})",
    "np.unique({x})",
    "np.take({x}, [0, 1])",
    "np.isclose({x}, {y})",
    "np.divmod({x}, 3)[1]",
    "np.sum({x}, axis=0, keepdims=True)",
    "{x}.sum(axis=-1)",
    "{x} ** {y}",
    "np.outer({x}, {y})",
    "np.trace({x})",
    "np.full_like({x}, 3)",
    "np.cumsum({x}, axis=0)",
    "np.tile({x}, 2)",
    "np.max({x}, axis=0)",
    "{x}.T.copy()",
    "np.ascontiguousarray({x})",
    "numpy.sin({x})",
    "numpy.asarray({x}) * 2",
    "np.power({x}, 2)",
    "{x} ** 0.5",
    "np.nan_to_num({x})",
    "np.expand_dims({x}, 0) + {y}",
    "np.squeeze({x})",
    "np.pad({x}, 1)",
    "np.logspace(0, 1, 3) * {x}",
    "np.meshgrid({x}, {y})[0]",
]
WRITES = [
    "{x} += {y}",
    "{x} -= {k}",
    "{x} *= {k}",
    "{x} /= {y}",
    "{x} **= 2",
    "{x}[1:] = {k}",
    "{x}[0] = {y}",
    "{x}[...] = {y}",
    "{x}[:] = {x}[::-1]",
    "{x}[1:] = {x}[:-1]",
    "{x}[{x} > 0] = {k}",
    "{x}[0] += {k}",
    "{x}[::2] *= {k}",
    "{x}.fill({k})",
    "{x}.sort()",
    "np.add({x}, {y}, out={x})",
    "np.multiply({y}, {k}, out={x})",
    "np.exp({y}, out={x})",
    "{x}[-1, 0] = {k}",
    "{x}.T[0] = {k}",
    "np.copyto({x}, {y})",
    "np.fill_diagonal({x}, {k})",
    "{x}.flat[1] = {k}",
    "{x}[..., 0] = {y}[..., 0]",
    "{x}[[0, 1]] = {k}",
    "np.add.at({x}, 0, {k})",
    "{x}[1:, :] += {x}[:-1, :]",
    "{x}.put([0], [{k}])",
    "np.sum({y}, axis=0, out={x})",
    "{x}.imag = {k}",
    "{x}.real[...] = {k}",
    "{x}[{y} < 1] -= 1",
    "{x}[5:] = {y}",
    "{x}[0], {x}[-1] = {x}[-1], {x}[0]",
    "{x} &= 1",
]
LOOKS = [
    "float({x}.sum())",
    "bool(({x} > 0).any())",
    "str({x})",
    "{x}.tolist()",
    "[v for v in {x}]",
    "len({x})",
    "{x}.item()",
    "{x}.shape, {x}.dtype, {x}.ndim",
    "numpy.array({x})",
    "repr({x})",
    "{x}[0].tolist()",
    "{x}.strides",
    "{x}.flags.c_contiguous",
]
# User code that keeps what it is handed, and writes into it.
MIXED = [
    "p = numpy.asarray({x})",
    "p[0] = {k}",
    "{x} = np.asarray(p)",
    "{x} = {y} + p",
    "p += 1",
    "q = p[1:]",
    "q[...] = {k}",
    "{x} = p * 2",
    "p = numpy.asarray({x}[1:])",
    "{x} = np.array(p)",
    "p = p.copy()",
    "{x} += p",
]


def program(seed):
    """Statements over the names a, b, c, d, p and q."""
    rng = random.Random(seed)
    shapes = [rng.choice([(4,), (3, 4), (4, 4), (2, 3, 4), (1,), (), (0, 3)]) for _ in range(2)]
    lines = []
    for name in "abcd":
        shape, dtype = rng.choice(shapes + shapes[:1]), rng.choice(DTYPES)
        lines.append(f"{name} = np.array(given({rng.randrange(99)}, {shape}, '{dtype}'))")
    lines.append("p = given(1, (4,), 'float64')")
    lines.append("q = p[1:]")
    for _ in range(rng.randrange(6, 24)):
        x, y, z = (rng.choice("abcd") for _ in range(3))
        k = rng.choice(["2", "0.5", "3", "-1", "1.5", "numpy.float32(2)", "True", "300"])
        kind = rng.random()
        if kind < 0.2:
            text = f"{z} = {x} {rng.choice(BINARY)} {rng.choice([y, k])}"
        elif kind < 0.28:
            text = f"{z} = np.{rng.choice(UNARY)}({x})"
        elif kind < 0.34:
            text = f"{z} = np.{rng.choice(UFUNCS)}({x}, {rng.choice([y, k])})"
        elif kind < 0.40:
            text = f"{z} = np.{rng.choice(FOLDS)}({x}{rng.choice(['', ', axis=0', ', axis=-1'])})"
        elif kind < 0.52:
            text = f"{z} = {rng.choice(VIEWS)}"
        elif kind < 0.64:
            text = f"{z} = {rng.choice(OTHERS)}"
        elif kind < 0.84:
            text = rng.choice(WRITES)
        elif kind < 0.92:
            text = rng.choice(MIXED)
        else:
            text = rng.choice(LOOKS)
        lines.append(text.replace("{x}", x).replace("{y}", y).replace("{k}", k))
    return lines


def given(seed, shape, dtype):
    """An array of few different elements, none of which makes results depend on the last place."""
    return numpy.random.default_rng(seed).integers(0, 5, shape).astype(dtype)


def run(line, names):
    """What a statement raises, or gives if it is an expression."""
    try:
        try:
            code = compile(line, "program", "eval")
        except SyntaxError:
            exec(compile(line, "program", "exec"), names)
            return None
        return eval(code, names)
    except Exception as error:
        return type(error)


NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]\d+)?")


def same(x, y, is_single=False):
    """Whether two values are equal: arrays bit by bit but for what mathematics rounds, at times to single precision."""
    if isinstance(x, type) or isinstance(y, type):
        return x is y
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(same(v, w, is_single) for v, w in zip(x, y))
    if isinstance(x, str):
        if x == y or not is_single:
            return x == y
        text = [NUMBER.sub("", v).split() for v in (x, y)]
        numbers = [list(map(float, NUMBER.findall(v))) for v in (x, y)]
        return text[0] == text[1] and numpy.allclose(*numbers, rtol=1e-4)
    x, y = numpy.asarray(x), numpy.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind not in "fc":
        return (x == y).all()
    return numpy.allclose(x, y, rtol=1e-4 if is_single else 1e-10, atol=1e-30, equal_nan=True)


def check(seed):
    lines = program(seed)
    is_single = "float32" in "".join(lines)
    worlds = [{"np": np, "numpy": numpy, "given": given} for np in (numpy, jitrt.numpy)]
    done = []
    with numpy.errstate(all="ignore"):
        for line in lines:
            done.append(line)
            results = [run(line, names) for names in worlds]
            is_assigned = "]" in line.partition("=")[0]
            if results[0] is TypeError and is_assigned and isinstance(worlds[0].get(line[0]), numpy.generic):
                return  # NumPy's scalars have no elements to assign to; those of the standard are arrays
            assert same(*results, is_single), ("\n".join(done), *results)
            assert [(k, getattr(v, "shape", None), getattr(v, "dtype", None)) for k, v in arrays(worlds[0])] == [
                (k, getattr(v, "shape", None), getattr(v, "dtype", None)) for k, v in arrays(worlds[1])
            ], "\n".join(done)
        for (name, x), (_, y) in zip(arrays(worlds[0]), arrays(worlds[1])):
            assert same(x, y, is_single), ("\n".join(done), name, x, y)
            if isinstance(x, numpy.ndarray):
                assert x.flags.c_contiguous == numpy.asarray(y).flags.c_contiguous, ("\n".join(done), name)


def arrays(names):
    return [(k, names[k]) for k in "abcdpq" if k in names]


@pytest.mark.parametrize("first", few(range(0, 300, 20), 4))
def test_random_programs(first):
    for seed in range(first, first + 20):
        check(seed)


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_programs_that_numpy_computes_at_first(first, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    for seed in range(1000 + first, 1000 + first + 20):
        check(seed)


@pytest.mark.parametrize("limit", [None, 5, 13], indirect=True)
def test_random_programs_with_small_arrays(limit):
    for seed in range(7000, 7080):
        check(seed)


@pytest.mark.slow
def test_many_random_programs():
    for seed in range(2000, 6000):
        check(seed)
