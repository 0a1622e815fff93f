"""Expressions that are one of two, of which one is computed."""

import pickle
import warnings

import numpy as np
import pytest

from jitrt import expr

C, X, K = expr.leaf("c", "f8", ndim=0), expr.leaf("x", "f8", shape=(50,)), expr.leaf("k", "f8", ndim=0)
VALUES = np.linspace(-1.0, 1.0, 50)


def nested():
    return 1.0 + expr.cond(
        C > 0,
        lambda v: np.arctan(np.sin(v) * np.cos(v)) * K,
        lambda v: expr.cond(K > 1, lambda w: w + K + v, lambda w: w - 2 * v, v),
        X,
    )


def expected(c, k, v):
    return 1.0 + (np.arctan(np.sin(v) * np.cos(v)) * k if c > 0 else v + k + v if k > 1 else v - 2 * v)


@pytest.mark.parametrize(("c", "k"), [(1.0, 2.0), (-1.0, 2.0), (-1.0, 0.5)])
def test_one_of_them_is_the_value(c, k):
    program = expr.compile(nested())
    for _ in range(3):
        np.testing.assert_allclose(program.run(c=c, k=k, x=VALUES), expected(c, k, VALUES), rtol=1e-14)
    assert program.plain_reason == ""
    half = expr.cond(C > 0, lambda v: v / 2, lambda v: v * 2, X)
    assert half.dtype == np.float64 and half.shape == (50,)


def test_it_is_an_expression_as_others():
    e = nested()
    assert e is nested()
    assert expr.parse(str(e)) is e
    assert expr.from_json(expr.to_json(e)) is e
    assert pickle.loads(pickle.dumps(e)) is e
    given = expr.substitute(e, {"c": -1.0, "k": 3.0})
    np.testing.assert_allclose(expr.evaluate(given, x=VALUES), expected(-1.0, 3.0, VALUES), rtol=1e-14)
    of_literals = expr.cond(expr.literal(True), lambda v: v + 1, lambda v: v - 1, expr.literal(3.0))
    assert expr.evaluate(expr.simplify(of_literals)) == 4.0


def test_programs_in_files(tmp_path):
    expr.save(expr.compile(nested()), tmp_path / "program")
    program = expr.load(tmp_path / "program")
    np.testing.assert_allclose(program.run(c=-1.0, k=0.5, x=VALUES), expected(-1.0, 0.5, VALUES), rtol=1e-14)


def test_programs_hold_the_functions_that_they_choose_between():
    program = expr.compile(nested())
    assert "def expression(" not in program.source.partition("\n")[2]  # no text that each call would look up
    program.run(c=1.0, k=1.0, x=VALUES)
    assert all(callable(c.value) for c in program._specialisations.current_captures().values)


def test_the_other_one_is_not_computed():
    x, c = expr.leaf("x"), expr.leaf("c")
    e = expr.cond(c > 0, lambda v: np.log(v), lambda v: v * 0.5, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert expr.evaluate(e, c=-1, x=np.array([-1.0])) == -0.5
    with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
        expr.evaluate(e, c=1, x=np.array([-1.0]))


def test_jumps_are_described():
    text = expr.compile(nested()).describe()
    jumps = [line.strip() for line in text.splitlines() if "jump to" in line]
    assert [line.split(": ")[0] for line in jumps] == ["1", "3", "5", "7"]
    assert jumps[0].startswith("1: jump to 4 unless [0x") and jumps[1] == "3: jump to 9"
    assert "<x>[i]" in text and "<output>[i] = " in text


def test_arguments_conditions_and_operators():
    x, c = expr.leaf("x"), expr.leaf("c")
    without = expr.cond(c > 0, lambda: np.exp(x), lambda: x * 2)
    assert expr.evaluate(without, c=-1, x=1.5) == 3.0
    assert expr.evaluate(expr.cond(True, lambda v: v + 1, lambda v: v - 1, x), x=2.0) == 3.0
    with pytest.raises(ValueError, match="truth value of an array"):
        expr.evaluate(expr.cond(c > 0, lambda v: v + 1, lambda v: v - 1, x), x=1.0, c=np.array([1, 2]))

    @expr.operator
    def kept_if_positive(x):
        return expr.cond(x.sum() > 0, lambda v: v * 1.0, lambda v: v * 0.0, x)

    for values in ([1.0, 2.0], [-1.0, -2.0]):
        got = expr.evaluate(kept_if_positive(x) + 1, x=np.array(values))
        assert got.tolist() == [max(v, 0.0) + 1 for v in values]


def test_types_that_differ_are_left_to_python():
    x, c = expr.leaf("x"), expr.leaf("c")
    e = expr.cond(c > 0, lambda v: v + 1, lambda v: v.sum(), x)
    assert expr.evaluate(e, x=np.arange(3), c=1).tolist() == [1, 2, 3]
    assert expr.evaluate(e, x=np.arange(3), c=-1) == 3


def test_rows_take_one_or_the_other():
    a, b, c = (expr.leaf(name, "f8", ndim=0) for name in "abc")
    d = expr.name(b * b - 4.0 * a * c, "d")
    root = expr.cond(
        d >= 0,
        lambda a, b, d: (-b + np.sqrt(d)) / (2.0 * a),
        lambda a, b, d: expr.cond(d < -1, lambda d: np.log(-d), lambda d: 0.5, d),
        *(a, b, d),
    )
    program = expr.compile({"root": root, "d": d})
    columns = dict(zip("abc", np.random.default_rng(3).normal(size=(3, 50))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # neither root nor logarithm is taken of other rows
        for given in (columns, columns | {"b": 0.3}, {n: v[:1] for n, v in columns.items()}, columns):
            found, length = program.rows(given), len(given["a"])
            for k in range(length):
                one = program.run({n: v if np.ndim(v) == 0 else v[k] for n, v in given.items()})
                assert (found["root"][k], found["d"][k]) == (one["root"], one["d"])
    assert program.rows(a=np.zeros(0), b=np.zeros(0), c=np.zeros(0))["root"].shape == (0,)


def test_rows_of_a_choice_for_all_and_of_what_is_no_choice_of_scalars():
    x, limit = expr.leaf("x", "f8", ndim=0), expr.leaf("limit", "f8", ndim=0)
    chosen = expr.compile(expr.cond(limit > 0, lambda x: x + 1, lambda x: x * 3, x))
    for given in (1.0, -1.0):
        np.testing.assert_array_equal(
            chosen.rows(x=np.arange(3.0), limit=given), [chosen(x=v, limit=given) for v in np.arange(3.0)]
        )
    one_by_one = expr.compile(expr.cond(limit > 0, lambda x: np.sum(x), lambda x: x * 3, x))
    np.testing.assert_array_equal(one_by_one.rows(x=np.arange(3.0), limit=np.array([1.0, -1.0, 0.0])), [0.0, 3.0, 6.0])


@pytest.mark.parametrize("name", ["cond_0", "cond_1", "cond0_0", "v", "x"])
def test_other_leaves_may_have_any_name(name):
    x, other = expr.leaf("x"), expr.leaf(name)
    e = expr.cond(
        np.sum(other) > 0, lambda v: v * other, lambda v: expr.cond(v > 9, lambda w: w - v, lambda w: w + other, v), x
    )
    assert expr.parse(str(e)) is e
    for value in (4.0, -4.0):
        given = {"x": 3.0, name: value}
        wanted = given["x"] * given[name] if given[name] > 0 else given["x"] + given[name]
        assert expr.evaluate(e, **given) == wanted


def test_placeholders_in_bodies_are_operands():
    x, p = expr.leaf("x"), expr.placeholder("p", "f8")
    e = expr.cond(np.sum(x) > 0, lambda v: v + p, lambda v: expr.cond(p > 1, lambda w: w * p, lambda w: w + v, v), x)
    assert [n.name for n in e.placeholders] == ["p"] and expr.parse(str(e)) is e
    for value in (2.0, 0.5):
        one = expr.substitute(e, {"p": value})
        assert [expr.evaluate(one, x=v) for v in (-1.0, -1.5)] == [
            -1.0 * value if value > 1 else -2.0,
            -1.5 * value if value > 1 else -3.0,
        ]

    @expr.operator
    def raised_if_positive(q, by):
        return expr.cond(
            q.sum() > 0, lambda v: v + q * by, lambda v: expr.cond(by > 0, lambda w: w, lambda w: -by, v), q
        )

    found = raised_if_positive(x, expr.leaf("by"))
    for given, wanted in (([1.0, 2.0], [3.0, 6.0]), ([-1.0, -2.0], [-1.0, -2.0])):
        np.testing.assert_array_equal(expr.evaluate(found, x=np.array(given), by=2.0), wanted)
