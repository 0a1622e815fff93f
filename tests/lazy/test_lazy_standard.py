"""The Python array API standard: every function exists, has the standard's signature, and agrees with the reference."""

import importlib.util
import inspect
import os
import subprocess
import sys

import numpy
import pytest

import jitrt
from jitrt.numpy import array_api as xp

strict = pytest.importorskip("array_api_strict")
compat = pytest.importorskip("array_api_compat")
pytestmark = pytest.mark.filterwarnings("ignore")

DTYPES = ["bool", "int8", "int64", "uint8", "uint32", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (3,), (2, 3), (0, 2), (2, 1, 3)]
# How the functions that are not elementwise are called: each with a namespace and an array.
CALLS = {
    "asarray": lambda xp, x: xp.asarray(x, dtype=xp.float64) if x.ndim > 8 else xp.asarray(x, copy=True),
    "arange": lambda xp, x: xp.arange(1, 7, 2, dtype=x.dtype),
    "empty": lambda xp, x: xp.empty((2, 3), dtype=x.dtype) * 0,
    "empty_like": lambda xp, x: xp.empty_like(x) * 0,
    "eye": lambda xp, x: xp.eye(3, 4, k=1, dtype=x.dtype),
    "from_dlpack": lambda xp, x: xp.from_dlpack(x),
    "full": lambda xp, x: xp.full((2,), 1, dtype=x.dtype),
    "full_like": lambda xp, x: xp.full_like(x, 1),
    "linspace": lambda xp, x: xp.linspace(0, 1, 4, endpoint=False),
    "meshgrid": lambda xp, x: xp.meshgrid(x, x, indexing="ij"),
    "ones": lambda xp, x: xp.ones(3, dtype=x.dtype),
    "ones_like": lambda xp, x: xp.ones_like(x),
    "tril": lambda xp, x: xp.tril(x, k=1),
    "triu": lambda xp, x: xp.triu(x, k=-1),
    "zeros": lambda xp, x: xp.zeros((2, 2), dtype=x.dtype),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
    "astype": lambda xp, x: xp.astype(x, xp.complex128),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, *x.shape)),
    "can_cast": lambda xp, x: xp.can_cast(x.dtype, x.dtype),
    "finfo": lambda xp, x: xp.finfo(x.dtype).eps,
    "iinfo": lambda xp, x: xp.iinfo(x.dtype).max,
    "isdtype": lambda xp, x: xp.isdtype(x.dtype, "integral"),
    "result_type": lambda xp, x: x + xp.zeros(1, dtype=x.dtype),
    "broadcast_shapes": lambda xp, x: xp.broadcast_shapes((1, 3), (2, 1)),
    "matmul": lambda xp, x: xp.matmul(x, x.mT),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=1),
    "vecdot": lambda xp, x: xp.vecdot(x, x),
    "concat": lambda xp, x: xp.concat([x, x], axis=-1),
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=1),
    "flip": lambda xp, x: xp.flip(x, axis=0),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, -1),
    "permute_dims": lambda xp, x: xp.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "repeat": lambda xp, x: xp.repeat(x, 2, axis=0),
    "reshape": lambda xp, x: xp.reshape(x, (-1,)),
    "roll": lambda xp, x: xp.roll(x, 1, axis=0),
    "squeeze": lambda xp, x: xp.squeeze(x, axis=1),
    "stack": lambda xp, x: xp.stack([x, x], axis=1),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "unstack": lambda xp, x: list(xp.unstack(x, axis=0)),
    "take": lambda xp, x: xp.take(x, xp.asarray([0, 1]), axis=0),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.zeros(x.shape, dtype=xp.int64), axis=0),
    "argmax": lambda xp, x: xp.argmax(x, axis=0),
    "argmin": lambda xp, x: xp.argmin(x),
    "nonzero": lambda xp, x: xp.nonzero(x),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x, axis=0),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x), x),
    "where": lambda xp, x: xp.where(x == x, x, x),
    "unique_all": lambda xp, x: xp.sort(xp.unique_all(x)[0]),
    "unique_counts": lambda xp, x: xp.sort(xp.unique_counts(x)[0]),
    "unique_inverse": lambda xp, x: xp.sort(xp.unique_inverse(x)[0]),
    "unique_values": lambda xp, x: xp.sort(xp.unique_values(x)),
    "argsort": lambda xp, x: xp.argsort(x, descending=True),
    "sort": lambda xp, x: xp.sort(x, descending=True, axis=0),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=0),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, axis=0, include_initial=True),
    "max": lambda xp, x: xp.max(x, axis=0),
    "mean": lambda xp, x: xp.mean(x, keepdims=True),
    "min": lambda xp, x: xp.min(x),
    "prod": lambda xp, x: xp.prod(x, axis=-1),
    "std": lambda xp, x: xp.std(x, correction=1, axis=0),
    "sum": lambda xp, x: xp.sum(x, axis=0),
    "var": lambda xp, x: xp.var(x),
    "all": lambda xp, x: xp.all(x, axis=0),
    "any": lambda xp, x: xp.any(x),
    "diff": lambda xp, x: xp.diff(x, axis=0),
    "clip": lambda xp, x: xp.clip(x, 1, 2),
    "isin": lambda xp, x: xp.isin(x, x),
}
FFT = {
    **{
        name: (lambda xp, x, name=name: getattr(xp.fft, name)(x, norm="ortho"))
        for name in ("fft", "ifft", "rfft", "ihfft")
    },
    **{name: (lambda xp, x, name=name: getattr(xp.fft, name)(x, n=4)) for name in ("irfft", "hfft")},
    **{
        name: (lambda xp, x, name=name: getattr(xp.fft, name)(x, axes=(0,)))
        for name in ("fftn", "ifftn", "rfftn", "irfftn")
    },
    **{name: (lambda xp, x, name=name: getattr(xp.fft, name)(x)) for name in ("fftshift", "ifftshift")},
    "fftfreq": lambda xp, x: xp.fft.fftfreq(5, d=0.5, dtype=x.dtype),
    "rfftfreq": lambda xp, x: xp.fft.rfftfreq(5),
}


def positive(xp, x):
    """A stack of matrices with a Cholesky factor."""
    return xp.matmul(x, xp.conj(x.mT) if xp.isdtype(x.dtype, "complex floating") else x.mT) + 9 * xp.eye(
        x.shape[-2], dtype=x.dtype
    )


LINALG = {
    "cholesky": lambda xp, x: xp.linalg.cholesky(positive(xp, x)),
    "cross": lambda xp, x: xp.linalg.cross(x, x + 1),
    "det": lambda xp, x: xp.linalg.det(positive(xp, x)),
    "diagonal": lambda xp, x: xp.linalg.diagonal(x, offset=1),
    "eigh": lambda xp, x: xp.linalg.eigh(positive(xp, x))[0],
    "eigvalsh": lambda xp, x: xp.linalg.eigvalsh(positive(xp, x)),
    "inv": lambda xp, x: xp.linalg.inv(positive(xp, x)),
    "matmul": lambda xp, x: xp.linalg.matmul(x, x.mT),
    "matrix_norm": lambda xp, x: xp.linalg.matrix_norm(x),
    "matrix_power": lambda xp, x: xp.linalg.matrix_power(positive(xp, x), 2),
    "matrix_rank": lambda xp, x: xp.linalg.matrix_rank(x),
    "matrix_transpose": lambda xp, x: xp.linalg.matrix_transpose(x),
    "outer": lambda xp, x: xp.linalg.outer(x, x),
    "pinv": lambda xp, x: xp.linalg.pinv(positive(xp, x)),
    "qr": lambda xp, x: xp.abs(xp.linalg.qr(x)[1]),
    "slogdet": lambda xp, x: xp.linalg.slogdet(positive(xp, x)),
    "solve": lambda xp, x: xp.linalg.solve(positive(xp, x), x),
    "svd": lambda xp, x: xp.linalg.svd(x)[1],
    "svdvals": lambda xp, x: xp.linalg.svdvals(x),
    "tensordot": lambda xp, x: xp.linalg.tensordot(x, x, axes=1),
    "trace": lambda xp, x: xp.linalg.trace(x),
    "vecdot": lambda xp, x: xp.linalg.vecdot(x, x),
    "vector_norm": lambda xp, x: xp.linalg.vector_norm(x, axis=0, ord=1),
    "eig": lambda xp, x: xp.linalg.eigvals(positive(xp, x)),
    "eigvals": lambda xp, x: xp.linalg.eigvals(positive(xp, x)),
}
# What the reference has beside the standard's functions.
OTHERS = ("strict_flags", "StrictFlags", "Device")


def functions(module):
    names = [n for n in module.__all__ if not n.startswith("_") and not n.endswith(OTHERS)]
    return [n for n in names if callable(getattr(module, n)) and not isinstance(getattr(module, n), type)]


NAMES = [(part, n) for part in ("", "linalg", "fft") for n in functions(getattr(strict, part) if part else strict)]


def of(namespace, part):
    return getattr(namespace, part) if part else namespace


@pytest.mark.parametrize(("part", "name"), NAMES)
def test_signature(part, name):
    wanted = inspect.signature(getattr(of(strict, part), name)).parameters.values()
    try:
        given = inspect.signature(getattr(of(xp, part), name)).parameters
    except ValueError:
        assert isinstance(getattr(of(xp, part), name), type(numpy.where))  # a function in C, without one
        return
    if any(p.kind is p.VAR_POSITIONAL for p in given.values()):
        return
    by_name = [p.name for p in wanted if p.kind is p.KEYWORD_ONLY]
    assert not [n for n in by_name if n not in given] or any(p.kind is p.VAR_KEYWORD for p in given.values())


def test_constants_and_dtypes():
    for name in ("e", "pi", "inf", "nan", "newaxis"):
        assert getattr(xp, name) == getattr(strict, name) or name == "nan"
    for name in DTYPES:
        assert getattr(xp, name) == numpy.dtype(name)
    info = xp.__array_namespace_info__()
    assert {"boolean indexing", "data-dependent shapes", "max dimensions"} <= info.capabilities().keys()
    assert info.default_device() == "cpu" and info.devices() and set(DTYPES) <= set(info.dtypes())
    assert info.default_dtypes()["real floating"] == numpy.float64
    assert xp.__array_api_version__ >= "2024.12"


def test_every_function_is_called():
    elementwise = {n for p, n in NAMES if not p} - CALLS.keys()
    assert all(hasattr(numpy, n) for n in elementwise)
    assert not {n for p, n in NAMES if p == "fft"} - FFT.keys()
    assert not {n for p, n in NAMES if p == "linalg"} - LINALG.keys()


def values(shape, dtype, seed=0):
    found = numpy.random.default_rng(seed).integers(0, 4, shape).astype(dtype)
    return found * (1 + 1j) if found.dtype.kind == "c" else found


def call(part, name):
    """What is called, of a namespace and an array."""
    table = {"": CALLS, "fft": FFT, "linalg": LINALG}[part]
    if name in table:
        return [table[name]]
    one = lambda xp, x: getattr(xp, name)(x)  # noqa: E731
    two = lambda xp, x: getattr(xp, name)(x, xp.asarray(x, copy=True))  # noqa: E731
    number = lambda xp, x: getattr(xp, name)(x, 2)  # noqa: E731
    return [one, two, number]


def compare(got, want):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for x, y in zip(got, want):
            compare(x, y)
        return
    if isinstance(want, (bool, int, float)):
        assert got == want
        return
    assert type(got) is xp.ndarray
    want = numpy.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    rtol = 1e-4 if want.dtype.itemsize <= 8 and want.dtype.kind in "fc" and want.dtype != numpy.float64 else 1e-10
    numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=rtol, atol=1e-5 if rtol > 1e-5 else 1e-12)


@pytest.mark.wide
@pytest.mark.parametrize("limit", [0, None], indirect=True, ids=["recorded", "by NumPy where small"])
@pytest.mark.parametrize(("part", "name"), NAMES)
def test_agrees_with_the_reference(part, name, limit, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    calls = 0
    for function in call(part, name):
        for dtype in DTYPES:
            for shape in SHAPES:
                x = values(shape, dtype)
                try:
                    want = function(strict, strict.asarray(x))
                except Exception:
                    continue  # what the standard leaves out, others may have
                compare(function(xp, xp.asarray(x)), want)
                calls += 1
    assert calls


def test_the_namespace_of_an_array():
    x = xp.asarray([1.0, 2.0])
    assert x.__array_namespace__(api_version="2024.12") is xp
    assert compat.array_namespace(x, xp.sum(x)) is xp
    assert compat.is_array_api_obj(x) and not compat.is_numpy_array(x)
    assert compat.device(x) == "cpu" and compat.to_device(x, "cpu") is x and compat.size(x) == 2
    with pytest.raises(ValueError, match="Version"):
        x.__array_namespace__(api_version="1999.12")


def test_the_namespace_in_a_traced_function():
    @jitrt.jit
    def by_method(x):
        namespace = x.__array_namespace__()
        return namespace.sqrt(x) + namespace.ones(3)

    @jitrt.jit
    def by_compat(x):
        namespace = compat.array_namespace(x)
        return namespace.sort(namespace.concat([x, x]), descending=True) + namespace.std(x, correction=1)

    x = numpy.asarray([1.0, 4.0, 9.0])
    for function in (by_method, by_compat):
        numpy.testing.assert_allclose(function(x), function.__wrapped__(x))
        assert "is compiled" in str(function.explain(x))


SCIPY = """
import jitrt.numpy
large = jitrt.numpy.linspace(0, 1, 60_000).reshape(200, 300)
rows = [large[k] for k in range(30)]  # before anything has asked for the namespace
import numpy, scipy.ndimage, scipy.special, scipy.stats
from jitrt.numpy import array_api as xp
x = xp.asarray(numpy.random.default_rng(0).random((50, 4)))
v, w = x[:, 0], x[:, 1]
calls = {
    "gammaln": lambda v, w, x: scipy.special.gammaln(v), "erf": lambda v, w, x: scipy.special.erf(v),
    "expit": lambda v, w, x: scipy.special.expit(v), "xlogy": lambda v, w, x: scipy.special.xlogy(v, w),
    "softmax": lambda v, w, x: scipy.special.softmax(x, axis=1),
    "logsumexp": lambda v, w, x: scipy.special.logsumexp(x, axis=0), "zscore": lambda v, w, x: scipy.stats.zscore(v),
    "skew": lambda v, w, x: scipy.stats.skew(x), "kurtosis": lambda v, w, x: scipy.stats.kurtosis(x),
    "pearsonr": lambda v, w, x: scipy.stats.pearsonr(v, w).statistic, "entropy": lambda v, w, x: scipy.stats.entropy(v),
    "ttest": lambda v, w, x: scipy.stats.ttest_ind(v, w).pvalue, "gmean": lambda v, w, x: scipy.stats.gmean(x),
    "one sample": lambda v, w, x: scipy.stats.ttest_1samp(v, 0.4).pvalue,
    "normal": lambda v, w, x: scipy.stats.normaltest(v).pvalue,
    "gaussian_filter": lambda v, w, x: scipy.ndimage.gaussian_filter(x, 1.0),
    "uniform_filter": lambda v, w, x: scipy.ndimage.uniform_filter(x, 3),
    "zoom": lambda v, w, x: scipy.ndimage.zoom(x, 2),
}
flat, few, weights = large.ravel() + 0.5, jitrt.numpy.asarray([1.0, 2.0, 3.0]), jitrt.numpy.linspace(0.1, 1, 5)
calls["small ones of the other namespace"] = lambda v, w, x: scipy.special.xlogy(flat, jitrt.numpy.full(1, 2.0))
calls["a small kernel"] = lambda v, w, x: scipy.ndimage.convolve1d(flat, weights)
calls["large and small"] = lambda v, w, x: scipy.stats.ttest_ind(flat, few).pvalue
calls["rows of a large array"] = lambda v, w, x: scipy.stats.ttest_ind(rows[0], rows[-1]).pvalue
for name, call in calls.items():
    found, wanted = call(v, w, x), call(*map(numpy.asarray, (v, w, x)))
    assert type(found) is xp.ndarray or numpy.ndim(found) == 0, (name, type(found))
    numpy.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12, err_msg=name)
"""
SKLEARN = """
import numpy, sklearn
from jitrt.numpy import array_api as xp
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.preprocessing import MinMaxScaler
x = xp.asarray(numpy.random.default_rng(0).random((50, 4)))
y = (x[:, 0] > 0.5) * 1
estimators = {
    "pca": lambda x, y: PCA(2, svd_solver="full").fit_transform(x),
    "scaler": lambda x, y: MinMaxScaler().fit_transform(x),
    "ridge": lambda x, y: Ridge(solver="svd").fit(x, x[:, 0]).predict(x),
    "discriminant": lambda x, y: LinearDiscriminantAnalysis().fit(x, y).predict(x),
}
with sklearn.config_context(array_api_dispatch=True):
    for name, call in estimators.items():
        found, wanted = call(x, y), call(numpy.asarray(x), numpy.asarray(y))
        assert type(found) is xp.ndarray, name
        numpy.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12, err_msg=name)
"""


@pytest.mark.parametrize(("library", "code"), [("scipy", SCIPY), ("sklearn", SKLEARN)])
def test_dispatch_of_other_libraries(library, code):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "JITRT_STRICT": "0"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=environment)
