"""Random programs on arrays that are large enough for blocks, tiles and strips, against plain NumPy.

A failure shows the source of a function that can be run.
"""

import numpy as np
import pytest
from compare import assert_same

import jitrt

EXTENTS = (1, 2, 3, 4, 7, 8, 31, 33, 64, 97, 130)
LARGEST = 60_000

EXPRESSIONS = (
    "np.add({x}, {y})", "np.subtract({x}, {y})", "np.maximum({x}, {y})", "np.sqrt(np.abs({x})) + 0.5",
    "{x} * 2 + {y}", "np.where({x} > 0, {x}, {y})", "{x} + {x}.T", "{x}.transpose({axes})",
    "{x}.sum(axis={k})", "{x}.max(axis={k}, keepdims=True)", "{x}.min()", "{x}.mean(axis=({k}, -1))",
    "{x}.std(axis={k})",
    "np.cumsum({x}, axis={k})", "np.maximum.accumulate({x}, axis={k})", "np.cumsum({x})", "np.diff({x}, axis={k})",
    "np.argmax({a}, axis={m})", "np.argmin({a})", "np.take_along_axis({a}, np.argsort({a}, axis={m}), axis={m})",
    "np.take({x}, np.arange({n}) % {x}.shape[{k}] - 1, axis={k})", "{x}[np.arange({n}) % len({x})]",
    "np.roll({x}, {n} - 40, axis={k})", "np.concatenate([{x}, {x}[::-1] * 2], axis={k})",
    "np.stack([{x}, {x} * 3], axis={k})",
    "np.pad({x}, 2)[1:-1]", "{x}[1:, ...]", "{x}[..., ::-1]", "{x}[::2]", "{x}.reshape(-1)",
    "{x}.reshape({x}.shape[::-1])",
)  # fmt: skip


def argument(rng: np.random.Generator) -> np.ndarray:
    shape = [LARGEST]
    while np.prod(shape) >= LARGEST:
        shape = [int(n) for n in rng.choice(EXTENTS, rng.integers(1, 4))]
    values = (rng.normal(size=shape) * 3).astype(rng.choice(["f8", "f8", "f4", "i8", "i4", "u1"]))
    layout = rng.integers(4)
    if layout == 1:
        return np.asfortranarray(values)
    return values[::-1] if layout == 2 else np.repeat(values, 2, axis=-1)[..., ::2] if layout == 3 else values


def program(seed: int) -> tuple[str, dict[str, np.ndarray]]:
    """The source of a function, and its arguments."""
    rng = np.random.default_rng(seed)
    arguments = {f"x{k}": argument(rng) for k in range(rng.integers(1, 4))}
    values = dict(arguments)
    lines: list[str] = []
    for _ in range(60):
        names = list(values)
        x = names[-1] if rng.random() < 0.5 else str(rng.choice(names))
        a = str(rng.choice(list(arguments)))
        ndim = np.ndim(values[x])
        expression = str(rng.choice(EXPRESSIONS)).format(
            x=x,
            y=rng.choice(names),
            a=a,
            k=rng.integers(max(ndim, 1)),
            m=rng.integers(arguments[a].ndim),
            n=rng.integers(1, 90),
            axes=tuple(map(int, rng.permutation(ndim))),
        )
        try:
            value = eval(expression, {"np": np, **values})
        except (ValueError, TypeError, IndexError):
            continue
        if not 0 < np.size(value) < LARGEST or np.ndim(value) > 5 or float(np.max(np.abs(value))) > 1e9:
            continue  # sums of large numbers differ, by the order of additions, between one correct way and another
        values[f"t{len(lines)}"] = value
        lines.append(f"    t{len(lines)} = {expression}\n")
        if len(lines) > 8:
            break
    results = sorted(rng.choice(len(lines), min(len(lines), 4), replace=False))
    returned = ", ".join(f"t{k}" for k in results)
    return f"def f({', '.join(arguments)}):\n{''.join(lines)}    return ({returned},)\n", arguments


def run(seed: int) -> None:
    source, arguments = program(seed)
    namespace = {"np": np}
    exec(source, namespace)
    plain = namespace["f"]
    with np.errstate(all="ignore"):
        want = plain(*arguments.values())
        fast = jitrt.jit(plain, threads=1 + seed % 2)
        for _ in range(2):
            got = fast(*arguments.values())
            single = any(x.dtype == np.float32 for x in arguments.values())
            assert_same(got, want, relative=1e-4 if single else 1e-11, zeros=False, path=f"{seed}\n{source}")


@pytest.mark.parametrize("seed", range(16))
def test_random_nests(seed):
    run(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_many_random_nests(first):
    for seed in range(first, first + 100):
        run(seed)
