# ruff: noqa: F841, B007
"""`evaluate` beside NumPy: what numexpr's documentation shows, names, results, threads and the error state."""

import gc
import pickle
import threading
import warnings
import weakref

import numpy as np
import pytest

import jitrt
from jitrt import NumExpr, evaluate, re_evaluate, validate
from jitrt.strings.evaluation import _compiled

A = np.arange(24.0).reshape(4, 6) / 7 + 0.1
B = np.linspace(-2, 3, 24).reshape(4, 6)
Z = A + 1j * B
N = np.arange(24).reshape(4, 6)
K = np.array([3, 5, 7, 2, 1, 4], np.int32)
M = A > 1.5

# Operators and functions of numexpr's user guide, and what it refuses: reductions inside of expressions.
EXPRESSIONS = {
    "2*a + 3*b": 2 * A + 3 * B,
    "2*n + 3*n": 5 * N,
    "a**2 + b**2 + 2*a*b": A**2 + B**2 + 2 * A * B,
    "a**-0.5 + 2**k": A**-0.5 + 2**K,
    "(a > 1) & (b < 1) | ~m ^ m": (A > 1) & (B < 1) | ~M ^ M,
    "(n << 2) + (n >> 1) + n % 5 + n // 3 - -n": (N << 2) + (N >> 1) + N % 5 + N // 3 + N,
    "n & 5 | n ^ 3": N & 5 | N ^ 3,
    "(a < 1) == (b <= 1)": (A < 1) == (B <= 1),
    "(a >= 1) != (b > 1)": (A >= 1) != (B > 1),
    "where(a > 1, a, b)": np.where(A > 1, A, B),
    "sin(a) + cos(a) + tan(a)": np.sin(A) + np.cos(A) + np.tan(A),
    "arcsin(a/9) + arccos(b/9) + arctan(a)": np.arcsin(A / 9) + np.arccos(B / 9) + np.arctan(A),
    "arctan2(a, b) + hypot(a, b) + fmod(b, a)": np.arctan2(A, B) + np.hypot(A, B) + np.fmod(B, A),
    "sinh(b) + cosh(b) + tanh(b)": np.sinh(B) + np.cosh(B) + np.tanh(B),
    "arcsinh(b) + arccosh(a+1) + arctanh(b/4)": np.arcsinh(B) + np.arccosh(A + 1) + np.arctanh(B / 4),
    "log(a) + log10(a) + log1p(a) + log2(a)": np.log(A) + np.log10(A) + np.log1p(A) + np.log2(A),
    "exp(b) + expm1(b) + sqrt(a) + abs(b)": np.exp(B) + np.expm1(B) + np.sqrt(A) + np.abs(B),
    "conj(z) * real(z) - imag(z)": np.conj(Z) * Z.real - Z.imag,
    "z.real + z.imag * 2j": Z.real + Z.imag * 2j,
    "complex(a, b)": Z,
    "floor(b) + ceil(b) + trunc(b) + round(b) + sign(b)": np.floor(B)
    + np.ceil(B)
    + np.trunc(B)
    + np.round(B)
    + np.sign(B),
    "isnan(a) | isinf(a) | isfinite(a) & signbit(b)": np.isnan(A) | np.isinf(A) | np.isfinite(A) & np.signbit(B),
    "maximum(a, b) + minimum(a, b) + copysign(a, b)": np.maximum(A, B) + np.minimum(A, B) + np.copysign(A, B),
    "nextafter(a, b) + ones_like(a) + copy(a)": np.nextafter(A, B) + 1 + A,
    "sum(a)": A.sum(),
    "sum(a, axis=0)": A.sum(axis=0),
    "sum(a*b, 1)": (A * B).sum(1),
    "prod(a, axis=-1)": A.prod(axis=-1),
    "min(a, axis=0) + max(b, axis=(0,))": A.min(axis=0) + B.max(axis=0),
    "sum(1)*(-1)": -1,
    "a / sum(a, axis=1, keepdims=True)": A / A.sum(axis=1, keepdims=True),
    "exp(a - max(a)) / sum(exp(a - max(a)))": np.exp(A - A.max()) / np.exp(A - A.max()).sum(),
    "clip(b, 0, 1) + clip(b, min=-1, max=0)": np.clip(B, 0, 1) + np.clip(B, -1, 0),
    "sum(a, where=b > 0, initial=2.0) + mean(a) * std(b, ddof=1)": A.sum(where=B > 0, initial=2.0)
    + A.mean() * B.std(ddof=1),
    "a.T @ b": A.T @ B,
    "sum(n, dtype='f4')": N.sum(dtype="f4"),
    "a": A,
    "a.T": A.T,
    "2 * 3": 6,
}
VARIABLES = {"a": A, "b": B, "z": Z, "n": N, "k": K, "m": M}


def check(got, want):
    assert type(got) is np.ndarray
    assert got.dtype == np.asarray(want).dtype and got.shape == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_operators_and_functions(text):
    check(evaluate(text, VARIABLES), EXPRESSIONS[text])
    check(evaluate(text, VARIABLES), EXPRESSIONS[text])
    out = np.empty_like(EXPRESSIONS[text])
    assert evaluate(text, VARIABLES, out=out) is out
    check(out, EXPRESSIONS[text])


def test_text_is_compared_and_searched():
    for words in (np.array(["ab", "cab", "c"]), np.array([b"ab", b"cab", b"c"])):
        assert evaluate("contains(words, 'ab')").tolist() == [True, True, False]
        assert evaluate("words == 'ab'").tolist() == [True, False, False]
        assert evaluate("'b' < words").tolist() == [False, True, True]
        assert evaluate("(words != 'c') & contains(words, 'c')").tolist() == [False, True, False]
    words = np.array([b"ab", b"c"])
    assert evaluate("words == b'c'").tolist() == [False, True]


def test_dtypes_are_numpys():
    for dtype in "?bBhHiIlLfdFD":
        x = np.arange(1, 5).astype(dtype)
        assert evaluate("x * 2").dtype == (x * 2).dtype
        assert evaluate("x / 2.5").dtype == (x / 2.5).dtype
        assert evaluate("sqrt(x)").dtype == np.sqrt(x).dtype
        assert evaluate("sum(x)").dtype == x.sum().dtype
    s = 2.0
    x = np.ones(3, "f4")
    assert evaluate("x * s").dtype == "f4"
    s = np.float64(2)
    assert evaluate("x * s").dtype == "f8"


def test_more_inputs_than_numexpr_takes_and_deep_nesting():
    many = {f"x{i}": np.full(3, float(i)) for i in range(100)}
    check(evaluate(" + ".join(many), many), np.full(3, 4950.0))
    deep = "a"
    for _ in range(60):
        deep = f"sqrt(abs({deep}) + 1)"
    want = A
    for _ in range(60):
        want = np.sqrt(abs(want) + 1)
    check(evaluate(deep, VARIABLES), want)


SHARED, HIDDEN = np.arange(3.0), 1.0


def test_names_are_looked_up_where_the_call_is():
    HIDDEN = 10.0
    assert evaluate("SHARED + HIDDEN").tolist() == [10, 11, 12]
    assert evaluate("SHARED + HIDDEN", local_dict={}).tolist() == [1, 2, 3]
    assert evaluate("SHARED + HIDDEN", global_dict={"SHARED": 5.0}).tolist() == 15
    assert evaluate("SHARED + HIDDEN", {"HIDDEN": 1}, {"SHARED": 2}).tolist() == 3
    with pytest.raises(KeyError, match="nowhere"):
        evaluate("SHARED + nowhere")
    with pytest.raises(KeyError, match="SHARED"):
        evaluate("SHARED", {}, {})

    class Body:
        inside = np.ones(2)
        total = evaluate("sum(inside)")

    assert Body.total == 2 and hasattr(Body, "inside")
    assert [evaluate("SHARED * i").sum() for i in range(2)] == [0, 3]


def test_variables_are_not_kept():
    def run():
        x = np.ones(1000)
        seen = weakref.ref(x)
        evaluate("x + 1")
        del x
        gc.collect()
        return seen() is None

    assert run()


def test_what_locals_returned_stays():
    x = np.ones(3)
    mine = locals()
    evaluate("x + 1")
    assert mine["x"] is x


def test_the_same_string_with_other_values_and_dtypes():
    for x in (np.ones(3), np.ones(3, "i4"), 2, 2.5, [1, 2], np.float32(3), np.ones((2, 0))):
        check(evaluate("x * 2 + 1"), np.asarray(x) * 2 + 1)


def test_results_are_new_arrays():
    for text in ("a", "a.T", "a.real", "real(a)", "ravel(a)", "squeeze(a)"):
        assert not np.shares_memory(evaluate(text, {"a": A}), A)


def test_out_may_be_an_input_and_conversions_follow_casting():
    x = np.arange(4.0)
    assert evaluate("x + 1", out=x) is x and x.tolist() == [1, 2, 3, 4]
    single = np.empty(4, "f4")
    assert evaluate("x * 2", out=single) is single and single.tolist() == [2, 4, 6, 8]
    whole = np.empty(4, int)
    with pytest.raises(TypeError, match="Cannot cast"):
        evaluate("x / 3", out=whole)
    with pytest.raises(TypeError, match="Cannot cast"):
        evaluate("x * 2", out=single, casting="safe")
    assert evaluate("x / 3", out=whole, casting="unsafe").tolist() == [0, 0, 1, 1]
    tall = np.empty((2, 4))
    assert evaluate("x + 1", out=tall).tolist() == [[2, 3, 4, 5]] * 2
    with pytest.raises(ValueError):
        evaluate("x + 1", out=np.empty(3))


@pytest.mark.parametrize("order", "KCFA")
def test_orders(order):
    for x in (A, A.T, A[::2], np.asfortranarray(A)):
        got, want = evaluate("x * 2", order=order), np.array(x * 2, order=order)
        assert got.flags.c_contiguous == want.flags.c_contiguous and got.flags.f_contiguous == want.flags.f_contiguous


@pytest.mark.parametrize(
    "wrong", [{"order": "X"}, {"casting": "no way"}, {"optimization": "all"}, {"truediv": "maybe"}], ids=str
)
def test_unknown_options(wrong):
    x = np.ones(3)
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be one of"):
        evaluate("x", **wrong)
    assert isinstance(validate("x", **wrong), ValueError)


def test_all_of_numexprs_arguments():
    x = np.ones(3)
    got = evaluate("x/2", None, None, None, "K", "same_kind", True, 3, True, optimization="none", truediv=False)
    assert got.tolist() == [0.5] * 3

    def nested():
        return evaluate("x + 1", _frame_depth=4)

    assert nested().tolist() == [2.0] * 3


def test_re_evaluate():
    x = np.arange(3.0)
    evaluate("x * 2")
    x = x + 1
    assert re_evaluate().tolist() == [2, 4, 6]
    assert re_evaluate({"x": 5.0}) == 10
    out = np.empty(3)
    evaluate("x * 3", out=out)
    x = np.ones(3)
    assert re_evaluate() is out and out.tolist() == [3, 3, 3]
    del out
    gc.collect()
    with pytest.raises(RuntimeError, match="does not exist any more"):
        re_evaluate()
    failures = []

    def other():
        try:
            re_evaluate()
        except RuntimeError as error:
            failures.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert failures == ["nothing was evaluated before: call evaluate or validate first"]


def test_validate():
    x = np.arange(3)
    assert validate("2*x") is None
    assert re_evaluate().tolist() == [0, 2, 4]
    assert isinstance(validate("2*y"), KeyError)
    assert isinstance(validate("2*"), SyntaxError)
    assert isinstance(validate("x[0]"), ValueError)
    assert isinstance(validate("x + y", {"x": np.ones(2), "y": np.ones(3)}), ValueError)
    assert re_evaluate().tolist() == [0, 2, 4]


def test_numexpr_objects():
    f = NumExpr("a*x + b")
    assert f.input_names == ("a", "b", "x") and f.signature == b""
    assert f(2.0, 1.0, np.arange(3)).tolist() == [1, 3, 5]
    f = NumExpr("a*x + b", [("x", "f4"), ("a", "f4"), ("b", "f4")])
    got = f(np.arange(3, dtype="i2"), np.float32(2), np.float32(1))
    assert got.dtype == "f4" and got.tolist() == [1, 3, 5]
    with pytest.raises(TypeError, match="Cannot cast"):
        f(np.ones(3), 1, 1)
    assert f.signature == b"fff"
    assert NumExpr("x * n + y", [("x", "S3"), ("n", "i8"), ("y", "i2")]).signature == b"slh"
    assert f.run(np.ones(3), 1, 1, casting="same_kind").tolist() == [2, 2, 2]
    out = np.empty(3)
    assert f(np.ones(3, "f4"), np.float32(1), np.float32(1), out=out) is out
    again = pickle.loads(pickle.dumps(f))
    assert again.input_names == ("x", "a", "b") and repr(again) == "NumExpr('a*x + b')"
    with pytest.raises(TypeError, match="takes 3 inputs"):
        f(1)
    with pytest.raises(ValueError, match="the signature names"):
        NumExpr("a + b", [("a", float)])


def test_a_frame_has_the_names():
    pandas = pytest.importorskip("pandas")
    df = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "n": [4, 5, 6]}, index=list("xyz"))
    scale, a = 2, None
    got = evaluate("a * n * scale", frame=df)
    assert type(got) is np.ndarray and got.tolist() == [8, 20, 36]
    table = np.array([(1.0, 2), (3.0, 4)], [("a", "f8"), ("n", "i4")])
    assert evaluate("a * n * scale", frame=table).tolist() == [4, 24]
    assert evaluate("a + n + scale", frame={"a": [1, 2], "n": 3}).tolist() == [6, 7]
    assert evaluate("a + n", {"a": df["a"], "n": df["n"]}).tolist() == [5, 7, 9]
    assert re_evaluate(frame=df).tolist() == [5, 7, 9]


def test_the_engine_of_pandas():
    pandas = pytest.importorskip("pandas")
    jitrt.register_pandas_engine()
    df = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0], "s": ["u", "v", "u"]}, index=[5, 6, 7])
    df["whole"] = pandas.array([1, None, 3], "Int64")
    factor = 3
    for text in (
        "a * b + 1",
        "a > 1 and b < 6",
        "sin(a) * @factor",
        "c = a + b",
        "-a ** 2 / b",
        "s == 'u'",
        "whole + a",
    ):
        got, want = df.eval(text, engine="jitrt"), df.eval(text, engine="python")
        same = (
            pandas.testing.assert_frame_equal
            if isinstance(want, pandas.DataFrame)
            else pandas.testing.assert_series_equal
        )
        same(got, want)
    pandas.testing.assert_frame_equal(df.query("a > 1", engine="jitrt"), df[df.a > 1])
    other = pandas.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[7, 6, 5])
    pandas.testing.assert_series_equal(pandas.eval("df.a + other.a", engine="jitrt"), df.a + other.a)
    assert factor == 3


def test_warnings_and_errors_are_numpys():
    x = np.array([1.0, 0.0])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        evaluate("1 / x")
    with np.errstate(divide="ignore"):
        assert evaluate("1 / x").tolist() == [1.0, np.inf]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        evaluate("1 / x")
    y = np.ones(3)
    with pytest.raises(ValueError, match="broadcast"):
        evaluate("x + y")
    with pytest.raises(TypeError):
        evaluate("x << 1")


def test_many_threads():
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for i in range(60):
            x = rng.random(50 + i % 7)
            text = f"x * {i % 5} + sum(x)"
            if not np.allclose(evaluate(text), x * (i % 5) + x.sum()) or not np.allclose(
                re_evaluate(), x * (i % 5) + x.sum()
            ):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_inside_of_a_jit_function():
    @jitrt.jit
    def f(x):
        y = x + 1
        return evaluate("x * y + sum(x)") * 2

    x = np.arange(4.0)
    for _ in range(3):
        np.testing.assert_allclose(f(x), (x * (x + 1) + x.sum()) * 2)


def test_the_second_call_runs_native_code():
    x = np.ones(10)
    evaluate("x * 3 - 2")
    function = _compiled("x * 3 - 2", False, "K", "same_kind").call
    before = function.cache_info().slow_calls
    for _ in range(5):
        evaluate("x * 3 - 2")
    assert function.cache_info().slow_calls == before and not function.plain_reason


def test_disabled(monkeypatch):
    monkeypatch.setenv("JITRT_DISABLE", "1")
    x = np.ones(3)
    with warnings.catch_warnings():
        assert evaluate("x * 17.5 - sum(x)").tolist() == [14.5] * 3
