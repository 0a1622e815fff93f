"""Types of expressions of functions that NumPy executes, while they are built."""

import time
import warnings

import numpy as np
import pytest

from jitrt import expr

FUNCTIONS = {
    "sort": np.sort,
    "sort along the first axis": lambda x: np.sort(x, axis=0),
    "sort all": lambda x: np.sort(x, axis=None),
    "argsort": np.argsort,
    "partition": lambda x: np.partition(x, 0),
    "searchsorted": lambda x: np.searchsorted(x, 0.5),
    "quantile": lambda x: np.quantile(x, [0.2, 0.4]),
    "interp": lambda x: np.interp(x, np.arange(3.0), np.arange(3.0)),
    "convolve": lambda x: np.convolve(x, np.ones(3)),
    "fft": np.fft.fft,
    "fft of seven": lambda x: np.fft.fft(x, 7),
    "rfft": np.fft.rfft,
    "irfft": np.fft.irfft,
    "fft2": np.fft.fft2,
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "solve": lambda x: np.linalg.solve(x, x),
    "cholesky": np.linalg.cholesky,
    "eigh": np.linalg.eigh,
    "qr": np.linalg.qr,
    "svd": np.linalg.svd,
    "eig": np.linalg.eig,  # whose dtype depends on values
}
KNOWN = ["sort", "argsort", "fft", "rfft", "convolve", "sort all"]


def agrees(e, value):
    value = np.asarray(value)
    if e.shape is not None:
        is_shape = len(e.shape) == value.ndim and all(m in (None, n) for m, n in zip(e.shape, value.shape))
    else:
        is_shape = True
    return is_shape and (e.dtype is None or e.dtype == value.dtype)


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
@pytest.mark.parametrize("shape", [(5,), (4, 3), (3, 3), (2, 3, 3), (0,), (1, 1)])
@pytest.mark.filterwarnings("ignore")
def test_what_is_known_is_right(name, dtype, shape):
    values = (np.random.default_rng(19).random(shape) * 5).astype(dtype)
    try:
        wanted = FUNCTIONS[name](values)
    except Exception:
        wanted = None  # NumPy says so where the expression is evaluated, if not before
    for leaf in (expr.leaf("x", dtype, shape=shape), expr.leaf("x", dtype, ndim=len(shape)), expr.leaf("x", dtype)):
        if wanted is None:
            with pytest.raises(Exception):  # noqa: B017
                expr.evaluate(FUNCTIONS[name](leaf), x=values)
            continue
        e = FUNCTIONS[name](leaf)
        if isinstance(wanted, tuple):
            assert all(agrees(e[k], part) for k, part in enumerate(wanted))
        else:
            assert agrees(e, wanted)


@pytest.mark.parametrize("name", KNOWN)
def test_nothing_is_open_where_the_leaf_is_not(name):
    e, value = FUNCTIONS[name](expr.leaf("x", "f8", shape=(5,))), FUNCTIONS[name](np.ones(5))
    assert (e.dtype, e.shape) == (value.dtype, value.shape)


def test_solutions_and_parts():
    a, b = expr.leaf("a", "f8", ndim=2), expr.leaf("b", "f4", ndim=1)
    solution = np.linalg.solve(a, b)
    assert (solution.dtype, len(solution.shape)) == (np.float64, 1)
    assert np.linalg.svd(a)[1].dtype == np.float64
    with pytest.raises(np.exceptions.AxisError):
        np.sort(expr.leaf("x", "f8", shape=(3,)), axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (np.fft.rfft(expr.leaf("x", "f8", shape=(6,))) * 2).shape == (4,)


def _leaf(name, *shape):
    return expr.leaf(name, "f8", shape=shape)


REFUSED = {  # what does not fit, with a size of its largest array
    "interp": lambda n: np.interp(1.0, _leaf("x", n), _leaf("y", n + 1)),
    "lexsort": lambda n: np.lexsort((_leaf("x", n), _leaf("y", n + 1))),
    "searchsorted": lambda n: np.searchsorted(_leaf("x", n), 0.5, sorter=expr.leaf("k", "i8", shape=(3,))),
    "histogram": lambda n: np.histogram(_leaf("x", n), weights=_leaf("y", 3)),
    "convolve": lambda n: np.convolve(_leaf("x", n), _leaf("y", 0)),
    "solve": lambda n: np.linalg.solve(_leaf("x", 20, 20), _leaf("y", n)),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("size", [4, 30, 3_000_000])
def test_extents_that_do_not_fit_are_refused_where_it_is_written(name, size):
    with pytest.raises(ValueError):
        REFUSED[name](size)


def test_places_outside_are_refused_and_others_are_not():
    for n in (5, 40):
        for function in (np.partition, np.argpartition):
            assert function(_leaf("x", n), n - 1).shape == (n,)
            with pytest.raises(ValueError, match="out of bounds"):
                function(_leaf("x", n), n)
    assert np.interp(1.0, _leaf("x", 3_000_000), _leaf("y", 3_000_000)).shape == ()


@pytest.mark.parametrize("size", [20, 2_000_000])
def test_what_depends_on_values_is_not_refused(size):
    e = np.quantile(_leaf("x", size), _leaf("q", 2))
    assert e.dtype == np.float64 and e.ndim == 1
    values = np.linspace(0.0, 1.0, size)
    np.testing.assert_allclose(expr.evaluate(e, x=values, q=np.array([0.25, 0.5])), [0.25, 0.5])


BINARY = sorted(
    name
    for name, f in vars(np).items()
    if isinstance(f, np.ufunc) and (f.nin, f.nout, f.signature) == (2, 1, None) and f.types[0][0] != "O"
)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.filterwarnings("ignore")
def test_what_is_known_of_ufuncs_of_an_open_leaf_is_right(name):
    ufunc = getattr(np, name)
    for dtype in ("i8", "?", "f8"):
        known = np.ones((1, 4), dtype)
        for other in (np.ones((3, 4), d) for d in ("i2", "?", "f4")):
            others = (other, other[0], other[0, 0])
            leaves = [expr.leaf("b"), expr.leaf("b", other.dtype)]
            for value in others:
                for b in (*leaves, expr.leaf("b", ndim=value.ndim), expr.leaf("b", shape=(None,) * value.ndim)):
                    for swapped in (False, True):
                        try:
                            wanted = ufunc(value, known) if swapped else ufunc(known, value)
                        except TypeError:
                            continue
                        a = expr.leaf("a", dtype, shape=(1, 4))
                        e = ufunc(b, a) if swapped else ufunc(a, b)
                        assert agrees(e, wanted), (dtype, value.dtype, value.shape, e.type)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f2", "f8", "c8"])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 2.0, 0.5, np.int64(2)])
def test_powers_are_those_of_numpys_operator(dtype, exponent):
    values = np.array([1, 0, 1]).astype(dtype)
    e = expr.leaf("x", dtype, ndim=1) ** exponent
    found, wanted = expr.evaluate(e, x=values), values**exponent
    assert e.dtype == found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_functions_of_an_open_leaf_are_tried_with_dtypes_that_fit():
    a, b = expr.leaf("a", "i8", shape=(1, 4)), expr.leaf("b")
    for e in (np.bitwise_and(a, b, dtype="i8"), np.bitwise_or.outer(b, a)[0], np.unravel_index(b, (3, 4))[0]):
        assert e.shape is None
    assert np.bitwise_and(a, expr.leaf("b", shape=(None, 4)), casting="same_kind").shape == (None, 4)


def test_chains_of_open_leaves_are_built_in_time():
    e = expr.leaf("x")
    began = time.perf_counter()
    for k in range(500):
        e = e * 1.25 + k
    assert time.perf_counter() - began < 2.0  # 0.05 s alone; by trials it took four
    assert e.dtype is None and e.shape is None
