"""Arguments that NumPy refuses, warns of, or takes otherwise than its other functions: exceptions, warnings, types."""

import itertools
import re
import warnings

import numpy as np
import pytest
from compare import assert_same, check

import jitrt

X = np.array([1.0, 2.0, 3.0])
F = np.float32([1, 2, 3])
U = np.array([1, 2, 3], np.uint8)
B = np.array([True, False, True])
NUMBERS = (0.25, 5, 300, -1, True, 1j, 2**70, [1.5], [1], np.float64(0.5), np.int64(3), np.int64(300), np.uint8(3))
ARRAYS = (U, U.view(np.int8), U.astype(int), F, X, B, F.astype(np.complex64))


def outcome(function, *args):
    """The result or the exception, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        return result, [(w.category, str(w.message)) for w in caught]


def check_outcome(function, *args):
    """Assert that results, exceptions and warnings of several calls are those of plain NumPy."""
    want, wanted = outcome(function, *args)
    compiled = jitrt.jit(function)
    for _ in range(3):
        got, found = outcome(compiled, *args)
        assert_same(got, want)
        assert found == wanted


def copied(array, value, casting):
    array = array.copy()
    np.copyto(array, value, casting=casting, where=array > 1)
    return array


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("casting", ["no", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: a.dtype.char)
def test_copyto(array, casting):
    """A number has to fit the dtype by the rule that is given; then nothing is written."""
    for value in NUMBERS:
        check_outcome(lambda a, value=value: copied(a, value, casting), array)
        if not isinstance(value, list):  # as an argument
            check_outcome(lambda a, value: copied(a, value, casting), array, value)


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("name", ["max", "min", "sum", "prod"])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: a.dtype.char)
def test_initial(array, name):
    """What a fold starts from has to be an element of its dtype."""
    for value in (v for v in NUMBERS if not isinstance(v, list)):
        check_outcome(lambda a, value=value: getattr(a, name)(initial=value), array)
        check_outcome(lambda a, value=value: getattr(np, name)(a, axis=0, initial=value, where=a > 1), array)


GIVEN = {"a_min": 2, "a_max": 2.5, "min": 1, "max": 3}


@pytest.mark.parametrize("names", [c for n in range(5) for c in itertools.combinations(GIVEN, n)], ids="-".join)
def test_bounds_of_clip(names):
    """Which of them may be missing depends on which are given."""
    given = {name: GIVEN[name] for name in names}
    absent = dict.fromkeys(names)
    for array in (X, U, B):
        check_outcome(lambda x: np.clip(x, **given), array)
        check_outcome(lambda x: np.clip(x, **absent), array)
        check_outcome(lambda x: x.clip(**given), array)


def test_one_bound():
    check_outcome(lambda x: np.clip(x, 2), X)
    check(lambda x: (x.clip(2), x.clip(None, 2), x.clip(max=2), np.clip(x, None, 2), np.clip(x)), X)


@pytest.mark.parametrize("value", [[1.5], (1, 2, 3), X, X[:1], np.array(2), X[0], 3, "a"], ids=repr)
def test_fill(value):
    """A sequence is refused, and nothing is written."""

    def filled(x, given):
        try:
            x.fill(given)
        except ValueError as error:
            return x, str(error)
        return x * 2

    for given in (value, 2):
        check_outcome(lambda x, given=given: filled(x.copy(), given), X)
        if not isinstance(given, (list, tuple)):
            check_outcome(lambda x, given: filled(x.copy(), given), X, given)


def test_out_may_ask_for_an_array():
    """``out=...`` gives arrays without axes where NumPy gives scalars else."""
    check_outcome(lambda x: np.add(x[0], 1, out=...), X)
    check_outcome(lambda x: np.modf(x[0], out=...), X)
    check_outcome(lambda x: np.add.reduce(x, out=...), X)
    check_outcome(lambda x, **kwargs: np.sqrt(x[0], **kwargs), X)
    check_outcome(lambda x: np.sqrt(x[0], **{"out": ...}), X)  # noqa: PIE804
    check_outcome(lambda x: np.sqrt(x[0], out=None), X)
    check(lambda x: (np.sqrt(x[0]), np.add(x[0], 1, dtype=float), np.add(x, 1, out=...), np.add.reduce(x)), X)


@pytest.mark.parametrize("name", "sum prod max min mean std var any all round clip argmax".split())
def test_what_is_given_where_an_array_without_axes_is_written(name):
    """Methods of scalars give scalars then, and functions call them."""
    more = (0, 9) if name == "clip" else ()
    for apply in (getattr(np, name), lambda v, *args, **kwargs: getattr(v, name)(*args, **kwargs)):
        for of in (lambda x: x[0], lambda x: x[:1].reshape(()), lambda x: x):
            check_out(lambda x, out, apply=apply, of=of: apply(of(x), *more, out=out))


def test_products_give_no_array_without_axes():
    for apply in (np.dot, np.matmul, np.vecdot, lambda x, y, out: np.einsum("i,i", x, y, out=out)):
        check_out(lambda x, out, apply=apply: apply(x, x, out=out))
    check_out(lambda x, out: x.dot(x, out))
    check_out(lambda x, out: np.linalg.multi_dot([x, x], out=out))


def check_out(function):
    def call(x, out):
        made = function(x, out)
        return made, type(made).__name__, made is out

    compiled = jitrt.jit(call)
    for out in (np.zeros(()), np.zeros((), bool)):
        for _ in range(2):
            assert repr(outcome(compiled, X, out.copy())) == repr(outcome(call, X, out.copy()))


WITH_OUT = {
    "concatenate": lambda x, y, **kwargs: np.concatenate((x, y), **kwargs),
    "concatenate of all": lambda x, y, **kwargs: np.concatenate((x, y), axis=None, **kwargs),
    "stack": lambda x, y, **kwargs: np.stack((x, y), **kwargs),
    "sum": lambda x, y, **kwargs: np.sum(np.stack([x, y]), axis=1, **kwargs),
    "mean": lambda x, y, **kwargs: np.mean(np.stack([x, y]), axis=1, **kwargs),
    "cumsum": lambda x, y, **kwargs: np.cumsum(x + y, **kwargs),
    "take": lambda x, y, **kwargs: np.take(x, [0, 1], **kwargs),
    "clip": lambda x, y, **kwargs: np.clip(x, y, None, **kwargs),
    "add": lambda x, y, **kwargs: np.add(x, y, **kwargs),
    "dot": lambda x, y, **kwargs: np.dot(x[:, None], y[None], **kwargs),
    "einsum": lambda x, y, **kwargs: np.einsum("i,i->i", x, y, **kwargs),
}


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_with_a_dtype_and_a_casting_rule(name):
    """Which may be given together, and what fits, differs from function to function."""
    function = WITH_OUT[name]
    x, y = np.array([1.5, 2.5]), np.array([3.5, 0.5])
    shape = np.shape(function(x, y))
    for dtype, casting, out in itertools.product((None, "f8", "f4", "i8"), (None, "same_kind", "unsafe"), "dfl-"):
        kwargs = {k: v for k, v in (("dtype", dtype), ("casting", casting)) if v is not None}

        def call(x, y, kwargs=kwargs, out=out):
            target = None if out == "-" else np.zeros(shape, out)
            try:
                return function(x, y, **kwargs, **({} if target is None else {"out": target})), target
            except (TypeError, ValueError) as error:
                return type(error).__name__, target

        check_outcome(call, x, y)


CASTING = {
    "concatenate": lambda x, y, casting: np.concatenate((x, y), casting=casting),
    "concatenate, out": lambda x, y, casting: np.concatenate((x, y), out=np.zeros(6), casting=casting),
    "stack": lambda x, y, casting: np.stack((x, y), casting=casting),
    "hstack": lambda x, y, casting: np.hstack((x, y), casting=casting),
    "vstack": lambda x, y, casting: np.vstack((x, y), casting=casting),
    "add": lambda x, y, casting: np.add(x, y, casting=casting),
    "add, float": lambda x, y, casting: np.add(x, 2.0, casting=casting),
    "add, int": lambda x, y, casting: np.add(2, y, casting=casting),
    "add, dtype": lambda x, y, casting: np.add(x, y, dtype="f4", casting=casting),
    "add, floats": lambda x, y, casting: np.add(0.5, 2.0, dtype="f4", casting=casting),
    "equal": lambda x, y, casting: np.equal(x, y, casting=casting),
    "sqrt": lambda x, y, casting: np.sqrt(x, casting=casting),
    "astype": lambda x, y, casting: x.astype("f8", casting=casting),
    "astype, int": lambda x, y, casting: y.astype(int, casting=casting),
    "copyto": lambda x, y, casting: np.copyto(x.copy(), y, casting=casting),
}


@pytest.mark.wide
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe", "same_value", "none"])
@pytest.mark.parametrize("name", CASTING)
def test_casting_rules(name, casting):
    """Also those that only casts to the same dtype, or the same byte order, keep; and one that there is not."""
    for x, y in itertools.product((X, F, X.astype(">f8"), U), repeat=2):
        check_outcome(lambda x, y: CASTING[name](x, y, casting), x, y)


OF_REDUCE: tuple[dict, ...] = (
    *({"dtype": d} for d in (None, float, bool, "f4", int, complex, object, "U3")),
    *({"initial": v} for v in (1, -1.5, None)),
    *({"axis": a, "dtype": float} for a in (None, (0, 1), -1)),
    {"keepdims": True, "axis": 1, "dtype": bool}, {"where": True, "out": None}, {"dtype": float, "initial": 2},
)  # fmt: skip


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
@pytest.mark.parametrize("name", "add multiply maximum minimum logical_or logical_and fmax subtract".split())
def test_arguments_of_folds_by_ufuncs(name, method):
    """What NumPy's function for the same fold does not take, its ufunc may."""
    fold = getattr(getattr(np, name), method)
    for array, given in itertools.product((X[None] - 2, U[:, None], B[None]), OF_REDUCE):
        check_outcome(lambda a, given=given: fold(a, **given), array)
    check_outcome(lambda a: fold(a, 0, bool), B)


def test_axes_of_tensordot():
    """Those that are there, are as long as their partners, and are not given twice."""
    x, y = np.ones((2, 3, 3)), np.ones((3, 3, 2))
    pairs = list(itertools.product((0, 1, -1, 3), (0, 1, -1)))
    for (a, c), (e, g) in itertools.combinations(pairs, 2):
        check_outcome(lambda x, y, axes=([a, e], [c, g]): np.tensordot(x, y, axes), x, y)


def test_where_without_out():
    """NumPy warns of elements that nobody writes, unless ``out=None`` says that they are meant."""
    check_outcome(lambda x: np.add(x, 1, where=x > 1)[1:], X)
    check_outcome(lambda x: np.sqrt(x, where=[False, True, True])[1:] + x[1:], X)
    check(lambda x: np.add(x, 1, where=x > 1, out=None)[1:], X)
    check(lambda x: np.add(x, 1, where=x > 1, out=np.zeros(3)), X)


@pytest.mark.parametrize("function", [np.zeros_like, np.ones_like, np.empty_like])
def test_arrays_like_others(function):
    cases = [{"dtype": t} for t in (str, bytes, "U3", ">f8", "M8[s]")]
    cases += [{"shape": s, "order": o} for s in ((3, 4), (2, 3, 4), (5,), 6) for o in "CFAK"]
    for kwargs in cases:
        for array in (np.ones((3, 4)), np.ones((3, 4), order="F"), np.ones((3, 8))[:, ::2]):

            def described(x, kwargs=kwargs):
                made = function(x, **kwargs)
                return made, made.strides

            want, got = described(array), jitrt.jit(described)(array)
            assert (got[1], got[0].dtype, got[0].strides) == (want[1], want[0].dtype, want[0].strides), kwargs


def test_full_like():
    for fill in (1.5, [1, 2, 3], (7, 8, 9), np.int64(4), 2**70, "7"):
        check_outcome(lambda x, fill=fill: np.full_like(x, fill), X)
        check_outcome(lambda x, fill=fill: np.full_like([1, 2, 3], fill, dtype=float) + x, X)
    check_outcome(lambda x: np.full_like([1, 2, 3], x[1]), X)
    check_outcome(lambda u: np.full_like(u, 300), U)
    check_outcome(lambda u: np.full_like(u, -1), U)


@pytest.mark.parametrize("number", [1.0, 1, True, 2j])
def test_numbers_that_do_not_decide_the_dtype(number):
    """NEP 50: ``concatenate`` and ``choose`` take Python's numbers as they take them in an operation."""
    for array in (F, U, X):
        check(lambda x: (np.concatenate([x, number], axis=None), np.concatenate([x[0], x[1]], axis=None)), array)
        check(lambda x, v: np.concatenate([x, v], axis=None), array, number)
        check(lambda x: np.choose([1, 0, 1], [x, number]), array)
        check(lambda x: (np.stack([x[0], number]), np.hstack([x, number]), np.append(x, number)), array)


@pytest.mark.wide(kinds=True)
@pytest.mark.parametrize("char", "fdFDil")
def test_variance_about_a_given_mean(char):
    """As close to NumPy's as without one."""
    x = (np.random.default_rng(1).normal(size=(6, 30, 5)) * 10).astype(char)
    tolerance = {"relative": 60 * float(np.finfo(char if char in "fdFD" else "d").eps)}
    for axis in (0, 1, None, (0, 2)):
        for keepdims in (True, False):
            mean, mask = x.mean(axis=axis, keepdims=True), np.abs(x) < 12
            within = np.mean(x, axis=axis, keepdims=True, where=mask)
            given = {"axis": axis, "keepdims": keepdims}
            check(variances(given), x, mean, **tolerance)
            check(variances_where(given), x, within, mask, **tolerance)


def variances(given):
    return lambda x, m: (np.var(x, mean=m, **given), x.std(mean=m, ddof=1, **given))


def variances_where(given):
    return lambda x, m, mask: np.var(x, mean=m, where=mask, **given)


@pytest.mark.parametrize("name", ["isclose", "allclose"])
def test_tolerances_that_are_no_numbers(name, monkeypatch):
    """NumPy asks its error state whether to warn of them."""
    monkeypatch.setenv("JITRT_STRICT", "1")
    function = getattr(np, name)
    for rtol, atol in itertools.product((1e-5, 0.0, np.nan, np.inf), repeat=2):
        check_outcome(lambda x, y, r=rtol, a=atol: function(x, y, rtol=r, atol=a), X, X + 0.1)
        check_outcome(lambda x, y, r, a: function(x, y, rtol=r, atol=a), X, X + 0.1, rtol, atol)
    compiled = jitrt.jit(lambda x, y, r: function(x * 2.0, y, rtol=r))
    for rtol in (0.1, np.nan, 0.1, np.inf):
        want = outcome(compiled.__wrapped__, X, X * 2.0, rtol)
        assert str(outcome(compiled, X, X * 2.0, rtol)) == str(want)


def test_the_error_state_is_what_the_caller_has():
    compiled = jitrt.jit(lambda x: (x * 2, np.geterr(), np.geterrcall()))
    for states in ({}, {"over": "raise"}, {"invalid": "ignore"}, {"all": "warn"}, {}):
        with np.errstate(**states):
            for _ in range(2):
                assert compiled(X)[1:] == compiled.__wrapped__(X)[1:]


FLAGS = ["C", "F", "A", "W", "O", "E", "C_CONTIGUOUS", "ALIGNED"]


@pytest.mark.parametrize("flag", FLAGS)
def test_require_gives_the_array_itself_where_it_can(flag):
    for array in (np.ones((2, 3)), np.ones((2, 3), order="F"), np.ones((2, 6))[:, ::2], np.ones(7)[1:]):
        for dtype in (None, float, int):
            compiled = jitrt.jit(lambda a, dtype=dtype: np.require(a, dtype, [flag]))
            for _ in range(3):
                want, got = compiled.__wrapped__(array), compiled(array)
                assert (got is array, got.flags.owndata, got.strides) == (
                    want is array,
                    want.flags.owndata,
                    want.strides,
                )
                assert np.shares_memory(got, array) == np.shares_memory(want, array)


def _calls(text):
    return re.split(r";\s", text)


DTYPED = """np.zeros(3, {}); np.ones(3, {}); np.empty_like(x, {}).dtype; np.full(3, 1, {}); np.arange(3, dtype={});
np.eye(3, dtype={}); x.astype({}); x.view({}); np.asarray(x, {}); np.array([1, 2], {}); np.zeros_like(x, {});
np.linspace(0, 1, 3, dtype={}); np.add(x, 1, dtype={}); np.add.reduce(x, 0, {}); np.sum(x, 0, {});
np.cumsum(x, 0, {}); x.sum(dtype={}); x.mean(dtype={}); np.var(x, dtype={}); np.prod(x, dtype={});
np.nansum(x, dtype={}); np.concatenate([x, x], dtype={}); np.dtype({}); np.einsum('i->', x, dtype={});
np.can_cast(x, {}); np.fromiter([1], {}); np.issubdtype({}, float); np.finfo({}); np.dtype([('a', {})]);
np.dtype((float, {})); np.promote_types({}, float)"""


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="np.dtype asks what it is given for .dtype")
@pytest.mark.parametrize("text", _calls(DTYPED))
def test_an_array_is_no_dtype(text):
    """A number of NumPy's is one."""
    for given in ("x", "x > 1", "x * 2", "x.dtype", "x[0]"):
        check_outcome(eval(f"lambda x: {text.format(given)}"), X)


ORDERED = """x.copy(order); x.astype('f4', order); x.astype(x.dtype, order, copy=False); x.ravel(order);
x.flatten(order); x.reshape(-1, 2, order=order); np.zeros_like(x, order=order); np.copy(x, order);
np.array(x, order=order); np.array(x * 2, dtype='f4', order=order);
np.asarray(x, order=order); np.asarray(x * 2, order=order);
np.zeros((3, 2), order=order) * x[0, 0]; np.full((2, 2), x[0, 0], order=order); np.array([x, x], order=order);
np.add(x, 1, order=order); np.full_like(x, 2, order=order); x[0, 0].copy(order); x[0].astype(int, order)"""


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("text", _calls(ORDERED))
@pytest.mark.parametrize("order", ["c", "F", "f", "A", "k", None, "", "Q", "CF", 1, True, b"C", X], ids=repr)
def test_order(order, text):
    """Letters of both cases; what is none is refused."""
    for array in (ORDINARY, ORDINARY.reshape(3, 4).T, ORDINARY.reshape(2, 2, 3).transpose(2, 0, 1), ORDINARY[:, ::-2]):
        check_outcome(eval(f"lambda x: {text}", {"np": np, "order": order}), array)


ORDINARY = np.arange(12.0).reshape(4, 3)
