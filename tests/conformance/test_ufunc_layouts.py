"""Every ufunc row on operands of every layout: strided, reversed, broadcast, Fortran order, empty, 0-d."""

import numpy as np
import pytest
from compare import check, together
from covering import few
from operands import LINES, MATRICES, ordinary
from test_ufunc_loops import UFUNCS, loops, tolerance

LENGTHS = (0, 1, 3, 7, 15, 16, 17, 33, 65)
PREFERRED = ("d", "dd", "ddd", "ll", "l", "lll", "dl", "dd", "mm", "M", "MM", "m", "?", "??")


def dtypes(ufunc: np.ufunc) -> list[np.dtype]:
    """Operand dtypes of one loop of `ufunc`."""
    loop = next(t for t in PREFERRED if t in loops(ufunc))
    return [np.dtype(f"{c}8[s]" if c in "mM" else c) for c in loop]


def pairs_of(layouts: dict, count: int) -> list[tuple]:
    """Each layout with itself and with its neighbours in the list."""
    names = list(layouts)
    if count == 1:
        return [(name,) for name in names]
    chosen = []
    for k, name in enumerate(names):
        for step in (0, 1, 4):
            others = (names[(k + step) % len(names)], *[name] * (count - 2))
            chosen.append((name, *others))
    return chosen


def positive(dtype: np.dtype, size: int, seed: int) -> np.ndarray:
    """Values at which no ufunc fails."""
    values = ordinary(dtype, size, seed)
    return np.abs(values) if dtype.kind in "if" else values


def apply(ufunc, first, count):
    if count == 1:
        return lambda *a: ufunc(a[first])
    if count == 2:
        return lambda *a: ufunc(a[first], a[first + 1])
    return lambda *a: ufunc(a[first], a[first + 1], a[first + 2])


def check_layouts(ufunc, layouts, sizes):
    cases, args = {}, []
    types = dtypes(ufunc)
    for size in sizes:
        for combination in pairs_of(layouts, len(types)):
            first = len(args)
            args += [layouts[name](positive(t, size, k)) for k, (name, t) in enumerate(zip(combination, types))]
            cases[f"{size} {combination}"] = apply(ufunc, first, len(types))
    check(together(cases), *args, **tolerance(ufunc, any(t.kind == "c" for t in types)))


@pytest.mark.parametrize("ufunc", few(UFUNCS[::3] + UFUNCS[1::3] + UFUNCS[2::3], 28), ids=lambda u: u.__name__)
def test_lines(ufunc):
    check_layouts(ufunc, LINES, LENGTHS if ufunc in (np.add, np.exp, np.maximum) else (0, 1, 17))


@pytest.mark.parametrize("ufunc", few(UFUNCS[1::3] + UFUNCS[2::3] + UFUNCS[::3], 28), ids=lambda u: u.__name__)
def test_matrices(ufunc):
    check_layouts(ufunc, MATRICES, (35,))


def test_lengths_around_vector_sizes():
    """Every dtype of an addition, a comparison and a conversion, at every length up to two vectors of bytes."""
    for char in "?bBhHiIlLefdgFDG":
        for first in range(0, 130, 65):
            sizes = range(first, first + 65, 1 if char == "b" else 8)
            args = [ordinary(char, n) for n in sizes]
            cases = {f"{k}": arithmetic(k) for k in range(len(args))}
            check(together(cases), *args)


def arithmetic(k):
    return lambda *a: (a[k] + a[k], a[k] == a[k], a[k].astype(np.complex64))


def test_empty_shapes():
    a, row, column = np.ones((0, 5)), np.ones(5), np.ones((0, 1))
    check(lambda a, row, column: (a + row, row * column, a[:, :0] - 1.0, np.exp(a[..., None])), a, row, column)


def test_four_axes():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3, 4, 5, 6))
    y = rng.normal(size=(5, 1))
    check(
        lambda x, y: (x.T + x.transpose(3, 2, 1, 0), x * y, x[:, ::-2, :, None, 1:] - y, x.swapaxes(1, 2)[::-1] + 1.0),
        x,
        y,
    )
