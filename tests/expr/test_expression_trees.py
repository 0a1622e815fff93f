"""Expressions: what they are made of, their types, and NumPy's errors while they are built."""

import copy
import pickle

import numpy as np
import pytest

from jitrt import expr

X = expr.leaf("x", "f8", shape=(4, 3))
Y = expr.leaf("y", "f4", shape=(3,))
N = expr.leaf("n", "i8", ndim=1)


def test_equal_expressions_are_one_object():
    first, second = np.sqrt(X + Y) * 2, np.sqrt(X + Y) * 2
    assert first is second
    assert first == second
    assert (first != second).__bool__() is False
    assert hash(first) == hash(second)
    assert {first: 1}[second] == 1
    assert X * 2 != X * 3
    assert X * 2 is not X * 2.0 and X * True is not X * 1
    assert X * 0.0 is not X * -0.0
    assert X * np.array([1.0, 2.0, 3.0]) is X * np.array([1.0, 2.0, 3.0])
    assert X.sum(keepdims=1) is not X.sum(keepdims=True)
    assert copy.deepcopy(first) is first


def test_expressions_are_immutable_and_have_no_truth_value():
    with pytest.raises(AttributeError, match="immutable"):
        X.operands = ()
    with pytest.raises(TypeError, match="truth value"):
        bool(X > 1)
    with pytest.raises(TypeError, match="before it is evaluated"):
        np.asarray(X)
    with pytest.raises(TypeError, match="write into nothing"):
        np.add(X, 1, out=np.ones((4, 3)))
    for write in (
        lambda: np.sqrt(X, X),
        lambda: np.cumsum(X, 0, None, X),
        lambda: X.sum(0, None, Y),
        lambda: expr.op["np.add"](X, 1, out=X),
        lambda: expr.parse("np.sqrt(x, y)"),
        lambda: expr.parse("x.cumsum(0, None, y)"),
        lambda: np.add.at(X, 0, 1),
    ):
        with pytest.raises(TypeError, match="write into nothing"):
            write()
    with pytest.raises(AttributeError, match="of arrays"):
        X.sort()
    with pytest.raises(TypeError, match="isin"):
        3.0 in X  # noqa: B015


def test_what_is_open_after_an_error_is_known_afterwards():
    for wrong in (lambda: np.around(X, (0,)), lambda: np.angle(X, X), lambda: np.diff(X, X), lambda: np.all(X, [0])):
        with pytest.raises((TypeError, ValueError)):
            wrong()
    assert np.angle(X * 7).type.is_complete and np.tril(X * 7).type.is_complete


def test_values_with_names():
    m = expr.leaf("m", "f8", shape=(2, 2))
    assert np.linalg.eigh(m).eigenvalues is np.linalg.eigh(m)[0]
    assert np.linalg.slogdet(expr.leaf("m")).logabsdet is np.linalg.slogdet(expr.leaf("m"))[1]
    assert expr.evaluate(np.unique_counts(expr.leaf("m")).counts, m=np.array([1, 1, 2])).tolist() == [2, 1]
    with pytest.raises(AttributeError):
        np.linalg.eigh(m).nothing  # noqa: B018


def test_python_numbers_lack_methods():
    with pytest.raises(AttributeError, match="'complex' object has no attribute 'conj'"):
        expr.literal(1j).conj()


def test_sizes():
    assert (X.size, X.nbytes, Y.itemsize) == (12, 96, 4)
    assert expr.evaluate(N.sum() / N.size, n=np.arange(3)) == 1.0


def test_no_value_is_an_object():
    for value in (None, object(), {}, np.sqrt, {1}):
        with pytest.raises(TypeError, match="no value of an expression"):
            expr.literal(value)


@pytest.mark.parametrize(
    ("given", "error"), [(-3, ValueError), ((2, -1), ValueError), (2.5, TypeError), ((2.5,), TypeError)]
)
def test_shapes_of_leaves(given, error):
    assert expr.leaf("x", shape=3).shape == expr.leaf("x", shape=(np.int64(3),)).shape == (3,)
    with pytest.raises(error):
        expr.leaf("x", shape=given)
    with pytest.raises(ValueError, match="negative"):
        expr.leaf("x", ndim=-1)


def test_a_literal_does_not_change_with_the_array_that_it_was_made_of():
    given = np.ones(3)
    e = Y + given
    given[:] = 5
    np.testing.assert_array_equal(expr.evaluate(e, y=np.zeros(3, np.float32)), np.ones(3))


@pytest.mark.parametrize(
    ("build", "reference"),
    [
        (lambda x, y, n: x + y, "f8[4,3]"),
        (lambda x, y, n: y * 2, "f4[3]"),
        (lambda x, y, n: x @ y, "f8[4]"),
        (lambda x, y, n: x > y, "b1[4,3]"),
        (lambda x, y, n: x.T, "f8[3,4]"),
        (lambda x, y, n: x.sum(axis=0), "f8[3]"),
        (lambda x, y, n: x.mean(), "f8[]"),
        (lambda x, y, n: np.std(x, axis=1, keepdims=True), "f8[4,1]"),
        (lambda x, y, n: x[1:, ::2], "f8[3,2]"),
        (lambda x, y, n: x[:, None, 0], "f8[4,1]"),
        (lambda x, y, n: y.reshape(-1, 1), "f4[3,1]"),
        (lambda x, y, n: np.concatenate([x, x]), "f8[8,3]"),
        (lambda x, y, n: np.where(x > 0, y, 0), "f4[4,3]"),
        (lambda x, y, n: np.modf(x)[1], "f8[4,3]"),
        (lambda x, y, n: divmod(x, 2)[0], "f8[4,3]"),
        (lambda x, y, n: np.add.reduce(y), "f4[]"),
        (lambda x, y, n: y.astype("f2"), "f2[3]"),
        (lambda x, y, n: abs(-x) ** 2 // 3 % 2, "f8[4,3]"),
        (lambda x, y, n: ~(x > 1) | (x < y), "b1[4,3]"),
        (lambda x, y, n: np.linalg.norm(x, axis=1), "f8[4]"),
        (lambda x, y, n: n + 1, "i8[?]"),
        (lambda x, y, n: n * y, "f8[3]"),
        (lambda x, y, n: n[:, None] * y, "f8[?,3]"),
        (lambda x, y, n: n.sum(), "i8[]"),
        (lambda x, y, n: n.reshape(-1, 2), "i8[?,2]"),
        (lambda x, y, n: n[:2], "i8[?]"),
        (lambda x, y, n: n / 2, "f8[?]"),
        (lambda x, y, n: y[n], "f4[?]"),
        (lambda x, y, n: y[y > 0], "f4[?]"),
        (lambda x, y, n: np.unique(x), "f8[?]"),
        (lambda x, y, n: np.inner(x, x), "f8[?,?]"),
        (lambda x, y, n: np.nonzero(x)[1], "i8[?]"),
        (lambda x, y, n: np.nanmean(x), "f8[]"),
        (lambda x, y, n: x.argsort(), "i8[?,?]"),
        (lambda x, y, n: np.roots(y), "?[?]"),
        (lambda x, y, n: expr.leaf("q") + y, "?[...]"),
        (lambda x, y, n: expr.leaf("q", ndim=1) > y, "b1[3]"),
    ],
)
def test_types_are_inferred_as_far_as_the_leaves_say(build, reference):
    assert str(build(X, Y, N).type) == reference


@pytest.mark.parametrize(
    "build",
    [
        lambda x, y: x + y[:2],
        lambda x, y: x @ x,
        lambda x, y: x.reshape(5, 5),
        lambda x, y: x[4],
        lambda x, y: x[0, 0, 0],
        lambda x, y: x.sum(axis=2),
        lambda x, y: np.concatenate([x, y]),
        lambda x, y: np.bitwise_and(x, 1),
        lambda x, y: np.where(x > 0, x.T, x),
        lambda x, y: np.transpose(x, (0, 1, 2)),
        lambda x, y: np.stack([x, x.T]),
        lambda x, y: np.linalg.inv(x),
        lambda x, y: np.linalg.det(x),
        lambda x, y: np.linalg.eig(x),
        lambda x, y: np.linalg.matrix_power(x, 2),
        lambda x, y: np.linalg.solve(x, y),
        lambda x, y: np.linalg.solve(np.eye(3), x),
        lambda x, y: np.linalg.lstsq(x, y),
        lambda x, y: np.linalg.norm(x, axis=2),
        lambda x, y: np.linalg.tensorsolve(x, y),
        lambda x, y: np.linalg.tensorinv(x),
        lambda x, y: x[1.5],
        lambda x, y: x["a"],
        lambda x, y: np.isclose(x, x.T),
        lambda x, y: np.inner(x, x.T),
        lambda x, y: np.nanmean(x, axis=2),
        lambda x, y: np.repeat(x, [1, 2], axis=0),
        lambda x, y: np.digitize(x, x),
        lambda x, y: np.choose(x, y),
    ],
)
def test_what_cannot_fit_raises_numpys_error_at_the_line_that_builds_it(build):
    with pytest.raises(Exception) as expected:
        build(np.ones((4, 3)), np.ones(3, np.float32))
    with pytest.raises(type(expected.value)) as found:
        build(X, Y)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "build",
    [
        np.linalg.inv,
        np.linalg.cholesky,
        np.linalg.eig,
        np.linalg.cond,
        lambda x: np.linalg.solve(x, x[0]),
        lambda x: np.linalg.lstsq(x, np.ones((400, 2))),
        lambda x: np.linalg.tensorsolve(x.reshape(20, 20, 400), np.ones((20, 20))),
        lambda x: np.linalg.multi_dot([x, x, x]),
        lambda x: np.linalg.matrix_rank(x),
    ],
)
def test_what_fits_raises_nothing_whatever_its_values(build):
    build(expr.leaf("x", "f8", shape=(400, 400)))
    build(expr.leaf("x", "f8", ndim=2))
    build(expr.leaf("x"))


def test_large_matrices_have_to_be_square_too():
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        np.linalg.inv(expr.leaf("x", "f8", shape=(400, 500)))


def test_leaves_and_nodes():
    e = expr.name(X * X, "square") + Y
    assert e.leaves == (X, Y)
    assert [n.operation.name for n in e.nodes] == ["leaf", "np.multiply", "name", "leaf", "np.add"]
    assert [n.name for n in e.nodes] == ["x", None, "square", "y", None]
    assert e.dtype == np.float64 and e.shape == (4, 3) and e.ndim == 2


@pytest.mark.parametrize("name", ["", "a b", "lambda", "np", 3])
def test_names_of_leaves_are_identifiers(name):
    with pytest.raises(ValueError, match="identifier"):
        expr.leaf(name)


def test_substitution():
    p = expr.placeholder("p")
    e = expr.name(X + p, "total") * p
    assert expr.substitute(e, {"p": Y}) is expr.name(X + Y, "total") * Y
    assert expr.substitute(e, {p: 2.0}) is expr.name(X + 2.0, "total") * 2.0
    assert expr.substitute(e, {"total": X}) is X * p
    assert expr.substitute(X + Y, {X + Y: Y}) is Y
    assert expr.substitute(X - p, {p: X}) is X - X
    with pytest.raises(KeyError, match="'q'"):
        expr.substitute(e, {"q": 1})
    with pytest.raises(ValueError, match="placeholder 'p'"):
        expr.compile(e)
    with pytest.raises(ValueError, match="broadcast"):
        expr.substitute(X + p, {p: expr.leaf("v", "f8", shape=(5,))})


def test_rules_apply_until_nothing_changes():
    def doubled(e):
        if e.operation is expr.op["multiply"] and e.operands[-1] is expr.literal(2):
            return e.operands[0] + e.operands[0]

    def negated_twice(e):
        if e.operation is expr.op["negative"] and e.operands[0].operation is e.operation:
            return e.operands[0].operands[0]

    e = np.negative(-(X * 2)) * 2
    assert expr.transform(e, [doubled, negated_twice]) is (X + X) + (X + X)
    assert expr.transform(e, lambda e: None) is e
    with pytest.raises(RecursionError, match="circles"):
        expr.transform(X + Y, lambda e: Y + X if e is X + Y else X + Y if e is Y + X else None)


def test_simplify_folds_literals_alone():
    two = expr.literal(2.0)
    assert expr.simplify(X * (two * 3.0 + 1.0)) is X * np.float64(7.0)
    assert expr.simplify(X / (two - 2.0)) is X / np.float64(0.0)
    divided = X + expr.literal(1.0) / expr.literal(0.0)
    assert expr.simplify(divided) is divided  # NumPy warns at each evaluation


def test_operators_made_of_expressions():
    @expr.operator
    def scaled_norm(x, y, scale):
        return np.sqrt(x * x + y * y) * scale

    e = scaled_norm(X, Y, scale=2.0)
    assert e.operation is expr.op["scaled_norm"] and str(e.type) == "f8[4,3]"
    x, y = np.arange(12.0).reshape(4, 3), np.ones(3, np.float32)
    np.testing.assert_allclose(expr.evaluate(e, x=x, y=y), np.sqrt(x * x + y * y) * 2)
    nested = scaled_norm(scaled_norm(X, X, 1.0), 3.0, 1.0)
    inner = np.sqrt(x * x + x * x)
    np.testing.assert_allclose(expr.evaluate(nested, x=x), np.sqrt(inner * inner + 9))
    with pytest.raises(TypeError, match="takes x, y, scale"):
        scaled_norm(X, Y)
    with pytest.raises(ValueError, match="another operation"):
        expr.operator(lambda x: x, name="np.add")


def test_a_picture_shows_each_node():
    text = expr.name(X + Y, "a<b").to_svg()
    assert text.count("<rect") == 4 and "a&lt;b" in text


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.floor_divide, np.less, np.arctan2])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u8", "i4", "f4"])
@pytest.mark.parametrize("number", [-3, 300, 2**63 - 1, -(2**63), True, 1.5])
def test_numbers_of_pythons_fit_or_raise_as_for_numpy(ufunc, dtype, number):
    x, array = expr.leaf("x", dtype, shape=(3,)), np.ones(3, dtype)
    outcomes = []
    for operands in ((array, number), (number, array)), ((x, number), (number, x)):
        for pair in operands:
            with np.errstate(all="ignore"):
                try:
                    outcomes.append(ufunc(*pair).dtype)
                except (OverflowError, TypeError) as error:
                    outcomes.append(repr(error))
    assert all(found in (expected, None) for expected, found in zip(outcomes[:2], outcomes[2:]))


def test_rules_that_go_round_in_circles():
    x = expr.leaf("x")
    for rule in (lambda e: e + 0 if e is x else None, lambda e: np.negative(np.negative(e)) if e is x + 1 else None):
        with pytest.raises(RecursionError, match="round in circles"):
            expr.transform(x + 1, rule)


@pytest.mark.parametrize(
    ("function", "dtypes", "shapes"),
    [
        (np.left_shift, ("i8", "f8"), ((None,), (None,))),
        (np.invert, ("f8",), ((2, None),)),
        (np.sqrt, ("M8[s]",), ((None,),)),
        (np.add, ("f8", "f8"), ((3, None), (4, None))),
        (np.add, ("f8", "U3"), ((None,), (None,))),
    ],
    ids=["shift", "invert", "sqrt", "extents", "text"],
)
def test_what_cannot_fit_raises_although_extents_are_open(function, dtypes, shapes):
    leaves = [expr.leaf(f"x{k}", d, shape=s) for k, (d, s) in enumerate(zip(dtypes, shapes))]
    with pytest.raises((TypeError, ValueError)) as plain:
        function(*[np.zeros([n or 1 for n in s], d) for d, s in zip(dtypes, shapes)])
    with pytest.raises(plain.type):
        function(*leaves)


def test_types_beside_an_array_without_axes():
    assert (expr.leaf("x", "f4", ndim=1) + np.array(1.0)).dtype == np.float64


@pytest.mark.parametrize("size", [100, 8_000, 9_000, 40_000])
def test_literals_of_any_size_are_equal_to_themselves(size):
    for values in (
        np.arange(float(size)),
        np.arange(size) * 1j,
        np.arange(size).astype("M8[s]"),
        np.arange(size) > 9,
    ):
        e = expr.literal(values)
        assert expr.literal(values) is e is expr.literal(values.copy()) and expr.literal(values[::-1]) is not e
        assert pickle.loads(pickle.dumps(e)) is e and expr.from_json(expr.to_json(e)) is e and expr.parse(str(e)) is e
        assert (expr.leaf("x") == e) is (expr.leaf("x") == values)
        values[-1] = values[0]
        assert expr.literal(values) is not e


def _scale(factor, base=None):
    @expr.operator
    def scaled_by(x, plus=1.0):
        return x * factor + plus

    return scaled_by


def test_operators_that_are_made_again():
    x = expr.leaf("x")
    first = _scale(2.0)
    assert _scale(2.0) is first
    e = first(x) * 3
    second = _scale(5.0)
    assert second is not first and expr.op["scaled_by"] is second and _scale(5.0) is second
    for again in (expr.parse(str(e)), pickle.loads(pickle.dumps(e)), expr.from_json(expr.to_json(e)), e):
        assert expr.evaluate(again, x=1.0) == 9.0
    assert expr.evaluate(second(x), x=1.0) == 6.0 and expr.parse(str(second(x))) is second(x)
    assert expr.evaluate(second(first(x)), x=1.0) == expr.evaluate(expr.parse(str(second(first(x)))), x=1.0) == 16.0

    def scaled_by(x):
        return x

    for name in ("scaled_by", "cond", "leaf", "np.add"):
        with pytest.raises(ValueError, match="name of another operation"):
            expr.operator(scaled_by, name=name)


def test_operators_have_defaults():
    x = expr.leaf("x")
    scaled = _scale(3.0)
    assert scaled(x) is scaled(x, 1.0) is scaled(plus=1.0, x=x) and scaled(x, 2.0) is scaled(x, plus=2.0)
    assert expr.parse(str(scaled(x))) is scaled(x) and expr.evaluate(scaled(x), x=2.0) == 7.0
    for args, kwargs in (((), {}), ((x, 1.0, 2.0), {}), ((x, 1.0), {"plus": 1.0}), ((x,), {"minus": 1.0})):
        with pytest.raises(TypeError, match="scaled_by takes x, plus"):
            scaled(*args, **kwargs)


def test_functions_of_numbas_that_are_made_again():
    numba = pytest.importorskip("numba")
    x = expr.leaf("x")

    def make(k):
        @expr.operator
        @numba.vectorize
        def added_to(x, y):
            return x + y

        return added_to

    e = make(1)(x, 2.0)
    make(2)
    assert expr.evaluate(e, x=1.0) == 3.0
    for write in (pickle.dumps, expr.to_json):
        with pytest.raises(TypeError, match="made anew"):
            write(e)
    with pytest.raises(ValueError, match="no operation"):
        expr.parse(str(e))
