"""SciPy's special functions are parts of kernels: bits, types, warnings and errors are SciPy's."""

import itertools
import warnings

import numpy as np
import pytest

import jitrt

special = pytest.importorskip("scipy.special")

VALUES = np.array([0.5, 1.0, 2.0, 3.5, 0.0, -0.0, -1.0, -2.5, 30.0, 200.0, np.inf, -np.inf, np.nan, 1e-3])
FUNCTIONS = """agm airye bei betainc betaln binom boxcox chdtr digamma ellipk ellipkinc entr erf erfc erfcx erfinv exp1
expi expit exp10 expn fdtr gamma gammainc gammaln gdtr hankel1 huber hyp2f1 i0 i0e i1 iv it2i0k0 jv k0 kl_div kv
log1p log_ndtr logit modstruve ndtr ndtri nbdtr owens_t pdtr poch psi rel_entr rgamma sinc spence stdtr struve tklmbda
voigt_profile wofz xlog1py xlogy y0 yv zeta zetac""".split()
FUNCTIONS = [n for n in FUNCTIONS if isinstance(f := getattr(special, n, None), np.ufunc) and f.nout == 1]
FORMULAS = ("erf", "erfc", "expit", "exp2", "expm1", "log1p", "cbrt")  # of kernels' own, which round in other ways
GROUPS = [FUNCTIONS[k : k + 10] for k in range(0, len(FUNCTIONS), 10)]


def outcome(function, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return function(*args), sorted({str(w.message) for w in caught})
        except TypeError as error:  # there is no loop
            return str(error), []
        except special.SpecialFunctionError as error:
            return str(error), []


def operands(count, dtype):
    """All pairs of values for two operands; the others are as the second one, rotated."""
    x, y = (v.ravel() for v in np.meshgrid(VALUES, VALUES))
    return [v.astype(dtype) for v in (y, x, np.roll(x, 5), np.roll(y, 3))[:count]]


@pytest.mark.wide
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_all(names, dtype):
    for name in names:
        function = getattr(special, name)
        args = operands(function.nin, dtype)
        compiled = jitrt.jit(lambda *args, function=function: function(*args) * 1.0)
        with np.errstate(all="warn", under="ignore"):
            mine, plain = outcome(compiled, *args), outcome(compiled.__wrapped__, *args)
        assert mine[1] == plain[1], name
        if isinstance(plain[0], str):
            assert mine[0] == plain[0]
            continue
        assert mine[0].dtype == plain[0].dtype, name
        if name in FORMULAS:
            np.testing.assert_allclose(mine[0], plain[0], rtol=8 * np.finfo(dtype).eps)
        else:
            np.testing.assert_array_equal(mine[0], plain[0], err_msg=name)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?", "c16"])
def test_types(dtype):
    @jitrt.jit
    def f(x, n):
        return special.gammaln(x.real + 2), special.jv(n, x), special.eval_legendre(n, x), special.gamma(x + 1) * x

    x = np.arange(1, 9).astype(dtype)
    for n in (1, 2.5, np.int32(3), np.float32(0.5)):
        plain = f.__wrapped__(x, n)
        for _ in range(2):
            mine = f(x, n)
            assert [(type(v), v.dtype) for v in mine] == [(type(v), v.dtype) for v in plain]
            for a, b in zip(mine, plain):
                np.testing.assert_allclose(a, b, rtol=1e-14)


def test_they_are_parts_of_kernels():
    f = jitrt.jit(lambda x: np.exp(-special.gammaln(x * x + 1.5)) * special.psi(x + 1.0))
    x = np.linspace(0.0, 3.0, 5000)
    np.testing.assert_allclose(f(x), f.__wrapped__(x), rtol=1e-14)
    text = str(f.explain(x))
    assert "1 kernel" in text and "NumPy executes nothing" in text


def test_the_error_state_of_a_call_counts():
    f = jitrt.jit(lambda x: special.gammaln(x * 1.0) + special.psi(x) * 2.0)
    good, bad = np.linspace(0.5, 3.0, 50), np.array([-1.0, 2.0])
    for state, x in itertools.product(("ignore", "warn", "raise", "ignore"), (good, bad, good)):
        with special.errstate(all=state):
            mine, plain = outcome(f, x), outcome(f.__wrapped__, x)
        np.testing.assert_equal(mine, plain)
    with special.errstate(all="raise"):  # from the first call on
        g = jitrt.jit(f.__wrapped__)
        np.testing.assert_equal(outcome(g, bad), outcome(f.__wrapped__, bad))
    np.testing.assert_equal(outcome(g, bad), outcome(f.__wrapped__, bad))


def test_floating_point_exceptions_of_others_are_not_lost():
    f = jitrt.jit(lambda x: special.psi(1.0 / x) + 1.0)
    x = np.array([1.0, 0.0, 2.0])
    for function in (f.__wrapped__, f, f):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            function(x)


def test_threads():
    f = jitrt.jit(lambda x: special.gamma(x) + x)
    x = np.linspace(0.5, 20.0, 300_000)
    np.testing.assert_allclose(f(x), f.__wrapped__(x), rtol=1e-14)


def test_loops_call_them():
    @jitrt.jit
    def f(x):
        total = 0.0
        for k in range(len(x)):
            total = 0.5 * total + special.gamma(x[k]) if x[k] > 0.5 else total
        return total

    x = np.linspace(0.0, 2.0, 9)
    assert f(x) == f.__wrapped__(x)


def test_lazy_arrays():
    x = np.linspace(-2.0, 2.0, 5000)
    lazy = jitrt.asarray(x)
    with special.errstate(all="raise"), pytest.raises(special.SpecialFunctionError):
        np.asarray(special.gammaln(jitrt.asarray(np.full(5000, -1.0)) * 1.0))
    np.testing.assert_allclose(np.asarray(special.gammaln(lazy * 2.0) + 1.0), special.gammaln(x * 2.0) + 1.0)
