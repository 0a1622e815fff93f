"""Steps that NumPy executes, draws, and sequences of a size that varies: one program serves all shapes."""

import numpy as np
import pytest

import jitrt
from jitrt.call import lookup

pytestmark = pytest.mark.filterwarnings("ignore")


def parts(text):
    return text.strip().replace("\n", "; ").split("; ")


# Of a vector x, a matrix a, a square one s that is positive definite, and an integer k.
STEPS = parts("""
np.sort(x); np.sort(a, axis=0); np.sort(a, axis=None); np.sort(a.T); np.argsort(x); np.argsort(a, axis=0)
np.partition(x, 3); np.partition(x, k); np.argpartition(a, 2, axis=1)[:, 2]; np.sort_complex(x)
x[np.argsort(x)]; np.lexsort((x, x * 2)); np.searchsorted(np.sort(x), x[:4]); a[np.argsort(a[:, 0])]
np.take_along_axis(a, np.argsort(a, 0), 0); np.median(a, axis=0); np.median(a)
np.percentile(a, [10, 90], axis=1); np.quantile(x, 0.3); np.nanmedian(a, axis=1, keepdims=True)
np.percentile(a, 50); np.percentile(a, k, axis=0); np.searchsorted(np.sort(x), k - 5)
np.histogram(x, bins=5); np.histogram(x, np.array([0.0, 0.5, 1.0])); np.histogram(x, k)
np.fft.fft(x); np.fft.ifft(x, axis=0); np.fft.rfft(x); np.fft.irfft(np.fft.rfft(x)); np.fft.fft(a, 16, axis=0)
np.fft.rfft(a, k); np.fft.irfft(x, len(x)); np.fft.hfft(x); np.fft.ihfft(x); np.fft.fft2(a); np.fft.rfft2(a)
np.fft.irfft2(a); np.fft.fftn(a, axes=(1, 0)); np.fft.rfftn(a, (8, 6)); np.fft.fft(x.astype(np.float32))
np.fft.fft(a.T); np.convolve(x, np.ones(5), "same"); np.convolve(x, a[0]); np.correlate(x, x[:3])
np.correlate(x, a[0], "full"); np.interp(x, np.arange(4.0), np.arange(4.0) ** 2); np.linalg.inv(s)
np.linalg.det(s); np.linalg.slogdet(s); np.linalg.cholesky(s); np.linalg.eigh(s); np.linalg.eigvalsh(s)
np.linalg.solve(s, s[0]); np.linalg.solve(s, s); np.linalg.qr(a); np.linalg.svd(a)
np.linalg.svd(a, full_matrices=False); np.linalg.svd(a, compute_uv=False); np.linalg.inv(np.stack([s, s]))
np.linalg.qr(a.T)
""")

SEQUENCES = parts("""
np.arange(len(x)) * x; np.arange(k); np.arange(2, k); np.arange(k, 3 * k, 2); np.arange(3 * k, k, -2) * 0.5
np.arange(k, k); np.arange(k, dtype=float); np.arange(float(3), 7) + k
np.arange(1, a.shape[0] + 1)[:, None] * a; np.arange(k, dtype=np.int32); np.linspace(0, 1, len(x)) * x
np.linspace(-2.5, 7, k); np.linspace(1, 0, k, endpoint=False); np.linspace(3, 3, k); np.linspace(0, x[0], k)
np.eye(k); np.eye(len(s)) + s; np.eye(k, len(x)); np.eye(k, k=1); np.eye(k, k + 2, -2, dtype=int)
np.identity(k); np.eye(k, k=k); np.argmax(a, axis=0); np.argmin(a, axis=1); np.tri(k); np.hanning(k)
np.indices((k, 2)); np.outer(np.arange(k), x); a[np.arange(a.shape[0]), 0]; x[np.arange(k) % len(x)]
""")


def function_of(text):
    scope = {"np": np}
    exec(f"def function(x, a, s, k):\n    x = x * 1.5\n    return {text}", scope)
    return scope["function"]


def arguments(generator, n, m, dtype=float):
    square = generator.random((m, m))
    return (
        generator.random(n).astype(dtype),
        (generator.random((n, m)) * 9).astype(dtype),
        (square @ square.T + np.eye(m)).astype(dtype),
        int(generator.integers(4, n)),
    )


def same(got, want, case):
    if isinstance(want, tuple):
        assert type(got) is type(want) and len(got) == len(want), case
        for one, other in zip(got, want):
            same(one, other, case)
        return
    assert (type(got), np.shape(got), got.dtype) == (type(want), np.shape(want), want.dtype), case
    if isinstance(want, np.ndarray):
        assert got.strides == want.strides or got.size <= 1 or 1 in got.shape, (case, got.strides, want.strides)
        assert got.flags.writeable == want.flags.writeable, case
    np.testing.assert_allclose(got, want, 1e-4 if want.dtype.char in "fF" else 1e-9, 1e-9, err_msg=case)


def sizes(generator, count):
    return [(int(n), int(m)) for n, m in zip(generator.integers(6, 80, count), generator.integers(6, 40, count))]


@pytest.fixture
def traced(monkeypatch):
    found = []
    specialise = lookup.specialise
    monkeypatch.setattr(lookup, "specialise", lambda *args: found.append(args[0].leaves) or specialise(*args))
    return found


@pytest.mark.parametrize("text", STEPS)
def test_steps(text, traced):
    function = function_of(text)
    many, generator = jitrt.jit(function), np.random.default_rng(1)
    for n, m in sizes(generator, 12):
        args = arguments(generator, n, m)
        same(many(*args), function(*args), f"{text} {n} {m} {args[3]}")
    assert len(traced) <= 6, text


@pytest.mark.parametrize("text", SEQUENCES)
def test_sequences(text):
    function = function_of(text)
    many, generator = jitrt.jit(function), np.random.default_rng(2)
    for n, m in [*sizes(generator, 12), (300, 9), (70, 7), (5, 5)]:
        args = arguments(generator, n, m)
        same(many(*args), function(*args), f"{text} {n} {m} {args[3]}")


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4", "i8", "?", "u2"])
def test_dtypes(dtype):
    for text in ("np.sort(x)", "np.argsort(x)", "np.fft.fft(x)", "np.median(a, 0)", "np.linalg.det(s)"):
        function = function_of(text)
        many, generator = jitrt.jit(function), np.random.default_rng(3)
        for n, m in sizes(generator, 6):
            args = arguments(generator, n, m, dtype)
            same(many(*args), function(*args), f"{text} {n} {m} {dtype}")


DRAWS = parts("""
r.random(n); r.random((n, m)); r.normal(0.0, 1.0, n); r.normal(x, 0.5); r.integers(0, 10, n)
r.integers(0, 9, size=(m, n)); r.standard_normal(x.shape); r.permutation(x); r.permutation(n)
r.uniform(-1, 1, (n, 2)); r.choice(x, n); r.exponential(2.0, size=m); np.random.rand(n, m); np.random.randn(n)
np.random.randint(0, 9, n); r.random(n) + r.random(n); r.poisson(3, n)
""")


@pytest.mark.parametrize("text", DRAWS)
def test_draws(text, traced):
    scope = {"np": np}
    exec(f"def function(r, x):\n    n, m = x.shape[0], x.shape[0] // 2\n    return {text} * 2.0", scope)
    function, generator = scope["function"], np.random.default_rng(4)
    many, one, other = jitrt.jit(function), np.random.default_rng(5), np.random.default_rng(5)
    for n, _ in sizes(generator, 10):
        x = generator.random(n)
        state = np.random.get_state()  # noqa: NPY002
        got = many(one, x)
        np.random.set_state(state)  # noqa: NPY002
        same(got, function(other, x), f"{text} {n}")
        assert one.bit_generator.state == other.bit_generator.state
    assert len(traced) <= 4, text


@pytest.mark.parametrize("text", ["r.random(k)", "r.poisson(k, 5)", "r.normal(0, k, size=(k, 2))", "r.permutation(k)"])
def test_draws_of_integers(text):
    scope = {"np": np}
    exec(f"def function(r, x, k):\n    return {text} + x[0]", scope)
    function, many = scope["function"], jitrt.jit(scope["function"])
    one, other, x = np.random.default_rng(8), np.random.default_rng(8), np.ones(300)
    for k in [5, 9, 30, 31, 4, 4, 77, 12]:
        same(many(one, x, k), function(other, x, k), f"{text} {k}")


def test_a_step_that_raises():
    def function(s):
        return np.linalg.inv(s * 1.0) + 1

    many = jitrt.jit(function)
    for n in range(3, 20):
        same(many(np.eye(n)), function(np.eye(n)), str(n))
    with pytest.raises(np.linalg.LinAlgError):
        many(np.zeros((30, 30)))
    same(many(np.eye(31)), function(np.eye(31)), "31")


# Of a vector x with an even number of elements, a matrix a, and an integer k: results that are views.
VIEWS = parts("""
x[:k]; x[k:], x * 2; x[-k:]; x[k]; a[:, :3]; a[1:-1]; a[: a.shape[0] // 2].T; x.reshape(-1, 2)
(x * 2).reshape(2, -1)[0]
(a * 2)[:k]; (a + 1)[None, : a.shape[0] - 1, ::2]; x[::-1][:k]; {"one": x[:k], "other": [a[:k], x[k:]]}; a.T[: k // 2]
a.reshape(-1); a.ravel()[k:]; np.broadcast_to(x[:1], (k,)); (x + 1)[:k], (x + 2)[k:]; np.split(x, [k]); a[..., -1]
x[:k], x[:k]; (x * 3)[:k], x[:k].sum(); np.sort(x)[:k]; np.sort(a, 0)[1:], x[k:]; x[:k] if x[0] > 0.5 else x[k:]
x * 2 if np.sort(x)[0] > 0.02 else x[:k]; np.sort(x)[:k] + 1 if np.median(a, 0).max() > 8 else np.argsort(a, 1)[:, 1:]
""")


@pytest.mark.parametrize("text", VIEWS)
def test_results_that_are_views(text, traced):
    scope = {"np": np}
    exec(f"def function(x, a, k):\n    return {text}", scope)
    function = scope["function"]
    many, generator = jitrt.jit(function), np.random.default_rng(7)
    for n, m in [*sizes(generator, 12), (6, 6), (50, 6)]:
        x, a, _, k = arguments(generator, 2 * n, m)
        got, want = many(x, a, k), function(x, a, k)
        leaves = [list(v.values()) if isinstance(v, dict) else v for v in (got, want)]
        for one, other in zip(*([v] if not isinstance(v, (list, tuple)) else flat(v) for v in leaves), strict=True):
            same(one, other, f"{text} {n} {m} {k}")
            for given in (x, a):
                shares = np.may_share_memory(one, given), np.may_share_memory(other, given)
                assert shares[0] == shares[1], f"{text} {n} {m} {k}"
            if isinstance(other, np.ndarray):
                assert (one.base is None) == (other.base is None), f"{text} {n} {m} {k}"
    assert len(traced) <= 8, text


def flat(values):
    return [leaf for v in values for leaf in (flat(v) if isinstance(v, (list, tuple)) else [v])]
