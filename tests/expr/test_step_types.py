"""Types of expressions of functions that NumPy executes, while they are built."""

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
