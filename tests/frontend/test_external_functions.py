"""Functions that NumPy does not own are steps of the program: they give, write and share what they do without it."""

import numpy as np
import pytest

import jitrt
from jitrt.frontend.python.externals import is_external, pure

pytest.importorskip("scipy")
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.signal
from scipy.linalg import blas, lapack

CALLS = {
    "solve": lambda a, b: scipy.linalg.solve(a, b),
    "solve, overwriting": lambda a, b: scipy.linalg.solve(a, b, overwrite_a=True, overwrite_b=True),
    "cholesky": lambda a, b: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a @ a.T), b),
    "lu": lambda a, b: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b),
    "eigh": lambda a, b: scipy.linalg.eigh(a + a.T)[0],
    "expm": lambda a, b: scipy.linalg.expm(a / 100),
    "gaussian_filter": lambda a, b: scipy.ndimage.gaussian_filter(a, 1.5),
    "uniform_filter into an array": lambda a, b: (scipy.ndimage.uniform_filter1d(b, 3, output=a[0]), a)[1],
    "label": lambda a, b: scipy.ndimage.label(a > 9.0)[0],
    "fftconvolve": lambda a, b: scipy.signal.fftconvolve(b, b[::-1], mode="same"),
    "filter": lambda a, b: scipy.signal.lfilter(*scipy.signal.butter(3, 0.2), b),
    "detrend": lambda a, b: scipy.signal.detrend(a, overwrite_data=True),
    "dct": lambda a, b: scipy.fft.idct(scipy.fft.dct(b)),
    "simpson": lambda a, b: scipy.integrate.simpson(b, dx=0.1),
    "gesv": lambda a, b: lapack.dgesv(a, b)[2],
    "gesv, overwriting": lambda a, b: lapack.dgesv(a, b, 1, 1)[2],
    "axpy": lambda a, b: blas.daxpy(a[0], b, a=3.0),
    "swap": lambda a, b: blas.dswap(a[0].copy(), b),
    "scal": lambda a, b: blas.dscal(2.0, b),
}


@pytest.mark.wide
@pytest.mark.parametrize("is_temporary", [True, False], ids=["temporary", "argument"])
@pytest.mark.parametrize("name", CALLS)
def test_calls_of_scipy_are_steps(name, is_temporary):
    call = CALLS[name]

    def temporary(a, b):
        c, d = a * 2.0 + 1.0, b * 3.0 - 1.0
        made = call(c, d)
        return (made[0] if isinstance(made, tuple) else made) * 2.0, c + 1.0, d + 1.0

    def argument(a, b):
        made = call(a, b)
        return (made[0] if isinstance(made, tuple) else made) * 2.0

    f = temporary if is_temporary else argument
    g = jitrt.jit(f)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a, b = rng.random((6, 6)) + 8 * np.eye(6), rng.random(6)
        ours, theirs = (a.copy(), b.copy()), (a.copy(), b.copy())
        results, expected = g(*ours), f(*theirs)
        for mine, other in (
            zip((*np.atleast_1d(results), *ours), (*np.atleast_1d(expected), *theirs))
            if (not is_temporary)
            else zip((*results, *ours), (*expected, *theirs))
        ):
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("simpson", "uniform_filter into an array")])
def test_what_stands_around_them_is_compiled(name):
    call = CALLS[name]

    @jitrt.jit
    def f(a, b):
        made = call(a * 2.0 + 1.0, b * 3.0 - 1.0)
        return np.exp(-(made[0] if isinstance(made, tuple) else made)) * 2.0

    a, b = np.random.default_rng(0).random((6, 6)) + 8 * np.eye(6), np.ones(6)
    f(a, b)
    assert "is compiled" in str(f.explain(a, b))


@pytest.mark.parametrize(
    "name", sorted(n for n, v in vars(blas).items() if type(v).__name__ == "fortran" and n[0] == "d")
)
def test_what_wrappers_write_is_known(name):
    """Whatever a wrapper of BLAS leaves in its arrays, a compiled program leaves there, too."""
    function, rng = getattr(blas, name), np.random.default_rng(0)
    required = function.__doc__.partition("(")[2].partition("[")[0].partition(")")[0].strip(", ").split(",")
    arrays = {"x": rng.random(4), "y": rng.random(4), "ap": rng.random(10)}
    given = [arrays.get(p, np.asfortranarray(rng.random((4, 4)))) if p in "x y a b c ap" else 2.0 for p in required]
    given = [4 if p == "n" else 1 if p == "k" else v for p, v in zip(required, given)]
    try:
        function(*[v.copy("K") if isinstance(v, np.ndarray) else v for v in given])
    except Exception:
        pytest.skip("takes other arguments")

    def f(*args):
        function(*args)
        return args[0]

    results = []
    for called in (f, jitrt.jit(f)):
        own = [v.copy("K") if isinstance(v, np.ndarray) else v for v in given]
        called(*own)
        results.append(own)
    for mine, other in zip(*results):
        np.testing.assert_array_equal(mine, other)


def test_the_systems_status_is_no_look_at_a_value():
    @jitrt.jit
    def f(x, d, u):
        *_, y, _ = lapack.dgtsv(u, d, u, np.sin(x))
        return y * 2.0

    x = np.random.default_rng(0).random(50)
    f(x, x + 4.0, x[:-1].copy())
    assert "look at" not in str(f.explain(x, x + 4.0, x[:-1].copy()))


def test_results_that_share_memory_with_what_is_written():
    def f(x):
        y = x + 1.0
        z = blas.dscal(2.0, y)
        z[0] = 7.0
        return y, z

    x = np.arange(4.0)
    for mine, other in zip(jitrt.jit(f)(x), f(x)):
        np.testing.assert_array_equal(mine, other)


def test_functions_that_are_vouched_for():
    calls = []

    def shifted(x, out):
        calls.append(1)
        out[...] = x + 1.0

    pure(shifted, writes=[1])

    def f(x):
        y = np.zeros_like(x)
        shifted(x * 2.0, y)
        return y * 3.0

    g = jitrt.jit(f)
    x = np.arange(5.0)
    for _ in range(3):
        np.testing.assert_array_equal(g(x), f(x))
    assert "is compiled" in str(g.explain(x))


def test_exceptions_are_the_functions_own():
    @jitrt.jit
    def f(a, b):
        return scipy.linalg.solve(a * 2.0, b) + 1.0

    a, b = np.eye(3), np.ones(3)
    f(a, b)
    with pytest.raises(np.linalg.LinAlgError):
        f(np.zeros((3, 3)), b)


def test_numbas_functions():
    numba = pytest.importorskip("numba")

    @numba.njit
    def inner(x):
        return x * x + 1.0

    @numba.njit
    def halved(x):
        for k in range(x.size):
            x[k] = inner(x[k]) / 2.0

    @numba.vectorize
    def positive(x):
        return x if x > 0.0 else 0.0

    @numba.njit
    def drawn(x):
        return x + np.random.random()  # noqa: NPY002

    def f(x):
        y = np.sqrt(x) * 2.0
        z = inner(y)
        halved(y)
        return np.exp(-positive(z - 2.0)) + y

    g = jitrt.jit(f)
    x = np.random.default_rng(0).random(50)
    for _ in range(3):
        np.testing.assert_allclose(g(x), f(x), rtol=1e-15)
    assert "is compiled" in str(g.explain(x))
    h = jitrt.jit(lambda x: halved(x))
    mine, other = x.copy(), x.copy()
    h(mine)
    halved(other)
    np.testing.assert_array_equal(mine, other)
    assert is_external(inner) and not is_external(drawn)
