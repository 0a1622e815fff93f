"""Expressions that are evaluated and compiled."""

import pickle
import types

import numpy as np
import pytest
from covering import few
from random_expressions import random_expression

from jitrt import expr

A, B, C = expr.leaf("a"), expr.leaf("b"), expr.leaf("c")


@pytest.mark.parametrize("seed", few(range(40), 15))
def test_random_expressions_evaluate_as_numpy_does(seed):
    e, values, expected = random_expression(seed)
    with np.errstate(all="ignore"):
        found = expr.evaluate(e, **{leaf.name: values[leaf.name] for leaf in e.leaves})
    np.testing.assert_allclose(found, expected, rtol=1e-5 if np.asarray(expected).dtype.char in "fF" else 1e-12)
    if e.leaves:
        assert np.asarray(found).dtype == np.asarray(expected).dtype
    if e.type.is_complete:
        assert e.dtype == np.asarray(found).dtype and e.shape == np.shape(found)


def test_inputs_come_from_whatever_holds_them():
    pd = pytest.importorskip("pandas")
    program = expr.compile(A * B + 1)
    assert program.inputs == ("a", "b")
    table = {"a": np.arange(3.0), "b": np.full(3, 2.0), "other": 5}
    expected = table["a"] * table["b"] + 1
    structured = np.array(list(zip(table["a"], table["b"])), [("a", "f8"), ("b", "f8")])
    for given in (table, types.SimpleNamespace(**table), pd.DataFrame(table), structured, structured.view(np.recarray)):
        np.testing.assert_array_equal(program.run(given), expected)
    np.testing.assert_array_equal(program(table["a"], table["b"]), expected)
    np.testing.assert_array_equal(program(b=table["b"], a=table["a"]), expected)
    np.testing.assert_array_equal(program.run(table, b=0.0), np.ones(3))
    with pytest.raises(TypeError, match="missing inputs: b"):
        program.run({"a": 1.0})
    with pytest.raises(TypeError, match="no such inputs"):
        program.run(table, z=1.0)
    loading = expr.compile(A * B, loader=lambda source, names: {n: source[k] for k, n in enumerate(names)})
    assert loading.run([3.0, 4.0]) == 12


def test_side_outputs_cost_nothing_when_nobody_listens():
    square = expr.name(A * A, "square")
    e = square + B
    program = expr.compile(e, side_outputs=["square"])
    assert program.source.endswith("return t0\n") and program.source == expr.compile(e).source
    assert program(3.0, 1.0) == 10
    assert program.with_side_outputs(3.0, 1.0) == (10, {"square": 9})
    assert expr.compile(e, {"half": A / 2}).with_side_outputs(a=3.0, b=1.0) == (10, {"half": 1.5})
    extra = expr.compile(A + 1, {"with_c": C * 2})
    assert extra.inputs == ("a",) and extra(1.0) == 2
    assert extra.with_side_outputs(1.0, c=4.0) == (2, {"with_c": 8})
    heard = []
    listening = expr.compile({"total": e}, ["square"], listener=heard.append)
    assert listening(3.0, 1.0) == {"total": 10} and listening.run({"a": 2.0, "b": 0.0}) == {"total": 4}
    assert heard == [{"square": 9}, {"square": 4}]
    with pytest.raises(ValueError, match="called 'cube'"):
        expr.compile(e, ["cube"])


HEARD = []


def _hear(side):
    HEARD.append(side)


def test_listeners_hear_of_rows_and_after_pickling():
    half = expr.name(A / 2, "half")
    program = expr.compile({"y": half + 1}, {"half": half, "c": C * half}, listener=HEARD.append)
    again = pickle.loads(pickle.dumps(expr.compile({"y": half + 1}, {"half": half, "c": C * half}, listener=_hear)))
    for listening in (program, again):
        HEARD.clear()
        assert listening(2.0, c=3.0) == {"y": 2.0}
        for _ in range(2):
            found = listening.rows(a=np.array([2.0, 4.0]), c=3.0)
            np.testing.assert_array_equal(found["y"], [2.0, 3.0])
        assert HEARD[0] == {"half": 1.0, "c": 3.0} and len(HEARD) == 3
        np.testing.assert_array_equal(HEARD[2]["c"], [3.0, 6.0])
    nothing = expr.compile(A + 1, listener=HEARD.append)
    assert nothing(3.0) == 4.0 and HEARD[-1] == {} and nothing.with_side_outputs(a=1.0) == (2.0, {})


def test_listeners_hear_of_inputs_of_side_outputs():
    heard = []
    x = expr.leaf("x", "f8", ndim=0)
    program = expr.compile(x * 2, {"q": expr.leaf("c", "f8", ndim=0) + x}, listener=heard.append)
    assert program.inputs == ("x", "c") and "c: f8[]" in program.describe()
    assert program.run(x=1.0, c=3.0) == program(1.0, 3.0) == program.run({"x": 1.0, "c": 3.0}) == 2.0
    assert program.rows(x=np.array([1.0]), c=3.0).tolist() == [2.0]
    assert heard == [{"q": 4.0}] * 4
    with pytest.raises(TypeError, match="missing inputs: c"):
        program.run(x=1.0)


def test_side_outputs_by_names_that_several_values_have_are_refused():
    with pytest.raises(ValueError, match="several values called 'm'"):
        expr.compile(expr.name(A * 2, "m") + expr.name(A * 3, "m"), ["m"])


def test_rows_of_masked_columns_stay_masked():
    found = expr.compile(A + 1).rows(a=np.ma.masked_array([1.0, 2.0], [False, True]))
    assert found.tolist() == [2.0, None]


def test_loaders_that_give_nothing():
    with pytest.raises(TypeError, match="a loader gives a mapping"):
        expr.compile(A + 1, loader=lambda source, names: None).run(3)


def test_leaves_are_what_they_are_declared_to_be():
    x = expr.leaf("x", "f4", shape=(None, 2))
    program = expr.compile(x * 2)
    assert program(np.ones((3, 2))).dtype == np.float32
    for wrong, error in (
        (np.ones(2, np.float32), ValueError),
        (np.ones((2, 3), np.float32), ValueError),
        (np.ones((2, 2), complex), TypeError),
    ):
        for _ in range(3):
            with pytest.raises(error):
                program(wrong)
    scalar = expr.compile(expr.leaf("s", "f4", ndim=0) * 4.0)
    for given in (0.1, np.float32(0.1), np.array(0.1)):
        assert scalar(given) == np.float32(0.1) * np.float32(4) and type(scalar(given)) is np.float32


def test_operators_are_ufuncs_between_scalars_too():
    program = expr.compile(1.0 / A)
    with np.errstate(all="ignore"):
        assert program(0.0) == np.inf and program(0.0) == np.inf
    assert type(program(2)) is np.float64


def test_programs_compute_rows_of_a_table():
    x, y = expr.leaf("x", "f8", ndim=0), expr.leaf("y", ndim=0)
    program = expr.compile({"z": np.where(x > y, np.sqrt(x), -y), "one": expr.literal(1.0) + 0 * expr.literal(1)})
    table = {"x": np.array([4.0, 1.0, 9.0]), "y": np.array([1.0, 2.0, 3.0])}
    found = program.rows(table)
    np.testing.assert_array_equal(found["z"], [2.0, -2.0, 3.0])
    np.testing.assert_array_equal(found["one"], np.ones(3))
    for k in range(3):
        assert program(table["x"][k], table["y"][k])["z"] == found["z"][k]
    with pytest.raises(ValueError, match="same length"):
        program.rows(x=np.ones(3), y=np.ones(2))
    with pytest.raises(ValueError, match="no scalar"):
        expr.compile(expr.leaf("x", ndim=1) + 1).rows(x=np.ones(3))


X0, Y0 = expr.leaf("x", "f8", ndim=0), expr.leaf("y")


@pytest.mark.parametrize(
    "e",
    [
        divmod(X0, 2.0)[1] + np.modf(Y0)[0],
        X0.astype("f4").round(1) + np.nan_to_num(Y0),
        np.select([X0 > 2, X0 > 1], [X0, Y0], default=0.5),
        np.sum(X0) + np.cumsum(Y0)[0],
        X0 * np.array([1.0, 2.0]),
        {"polynomial": np.polyval([1.0, 2.0], X0), "same": expr.literal(2.0)},
        np.linalg.norm(np.stack([X0, Y0])),
    ],
)
@pytest.mark.parametrize("length", [0, 1, 4])
def test_rows_of_any_program_are_what_calls_give(e, length):
    program = expr.compile(e)
    x, y = np.linspace(0.3, 3.0, length), np.linspace(5.0, 2.0, length)
    given = [program.run({n: v for n, v in (("x", a), ("y", b)) if n in program.inputs}) for a, b in zip(x, y)]
    found = program.rows({"x": x, "y": y})
    for key in e if isinstance(e, dict) else [None]:
        column = found if key is None else found[key]
        assert len(column) == length
        for k, one in enumerate(given):
            np.testing.assert_array_equal(column[k], one if key is None else one[key])


def test_rows_of_what_may_be_missing():
    there = expr.where_present(X0 > 1, X0)
    for e in (there * 2, expr.optional(np.sum(there.value), there.present) * 2):
        np.testing.assert_array_equal(expr.compile(e).rows(x=np.array([0.5, 2.0])), np.ma.masked_array([0, 4], [1, 0]))


def test_leaves_of_any_dtype():
    fields = np.dtype({"names": ["a", "b"], "formats": ["i4", "f8"], "offsets": [0, 16], "itemsize": 32})
    table = np.zeros(3, fields)
    table["b"] = [1.0, 2.0, 3.0]
    e = expr.leaf("r", fields, shape=3)["b"] * 2.0
    assert expr.evaluate(e, r=table).tolist() == [2.0, 4.0, 6.0]
    days = np.array(["2026-01-01", "NaT"], "M8[D]")
    np.testing.assert_array_equal(
        expr.evaluate(expr.leaf("d", "M8[D]", ndim=1) + np.timedelta64(1, "D"), d=days), days + 1
    )
    swapped = expr.leaf("s", np.dtype("f8").newbyteorder(), ndim=1)
    assert expr.evaluate(swapped * 2, s=np.arange(2.0)).tolist() == [0.0, 2.0]


def test_outputs_have_any_names():
    assert expr.evaluate({"{a}": A, "b'": A + 1}, a=1.0) == {"{a}": 1.0, "b'": 2.0}


def test_texts_are_not_compiled():
    for run in (expr.compile, expr.evaluate):
        with pytest.raises(TypeError, match=r"expr\.parse"):
            run("a + 1")


def test_a_program_with_an_inverse_is_described():
    m, y = expr.leaf("m", "f8", shape=(2, 2)), expr.leaf("y", "f8", shape=(2,))
    assert "<output>" in expr.compile(np.linalg.inv(m) @ y).describe()
    assert expr.lower(np.linalg.inv(m) * 2).shape == (2, 2)


def test_a_program_of_scalars_is_served_by_native_code():
    d = B * B - 4.0 * A * C
    program = expr.compile((-B + d**0.5) / 2.0 / A)
    assert [program(a=1.0, b=-3.0, c=2.0) for _ in range(4)] == [2.0] * 4
    assert program.plain_reason == "" and program._slow_calls == 1


def test_evaluating_equal_expressions_compiles_once():
    before = expr.evaluate(A + 2 * B, a=1, b=2)
    assert before == expr.evaluate(A + 2 * B, a=1, b=2) == 5
    assert expr.evaluate({"s": A + B, "d": A - B}, a=1, b=2) == {"s": 3, "d": -1}


def test_a_program_says_what_it_does():
    a, b, c = expr.leaf("a", "f4", ndim=0), expr.leaf("b", "f8", ndim=0), expr.leaf("c", "f8", ndim=0)
    d = b * b - (expr.literal(2.0) + 2.0) * a * c
    program = expr.compile({"first": (-b + d**0.5) / 2.0 / a, "second": (-b - d**0.5) / 2.0 / a})
    text = program.describe()
    assert text.startswith(
        "Inputs:\n  b: f8[] [0x00]\n  a: f4[] [0x40]\n  c: f8[] [0x80]\nOutputs:\n  first: f8[] [result]"
    )
    init, operations = text.split("Init operations:\n")[1].split("Eval operations")
    assert "= 4.0" in init and "= 2.0" not in init
    assert operations.count("sqrt") == 1 and "<first> = v" in operations and "<second> = v" in operations
    open_ = expr.compile(A @ B)
    with pytest.raises(ValueError, match="'a' is open"):
        open_.describe()
    shown = open_.describe(np.ones((5, 3)), b=np.ones(3))
    assert "a: f8[5,3] [of the caller]" in shown and "<a>[i,j]" in shown and "<output>[i] = v" in shown
    summed = expr.compile((A * np.array([1.0, 2.0, 3.0])).sum(axis=0) @ A.T).describe(np.ones((50, 3)))
    assert "= [1.0, 2.0, 3.0]" in summed and "[0x00][j]" in summed


def test_all_outputs_are_listed_and_nothing_else():
    m, x, y = expr.leaf("m", "f8", shape=(3, 3)), expr.leaf("x", "f8", shape=(50,)), expr.leaf("y", "f8", ndim=0)
    e = {"a": np.linalg.inv(m) * 2, "same": x, "turned": m.T, "two": expr.literal(2.0), "sum": (x + 1).reshape(5, 10)}
    e |= {"last": y / (y - 1.0), "again": y / (y - 1.0), "table": expr.literal(np.arange(3.0))}
    inputs, outputs = expr.compile(e).describe().partition("Init operations")[0].split("Outputs:\n")
    found = dict(line.strip().split(": ") for line in outputs.splitlines())
    assert found == {
        "a": "f8[3,3] [result]", "same": "f8[50] [x]", "turned": "f8[3,3] [a view of m]", "two": "f8[]* [literal]",
        "sum": "f8[5,10] [result]", "last = again": "f8[] [result]", "table": "f8[3] [literal]",
    }  # fmt: skip
    assert [line.split()[0] for line in inputs.splitlines()[1:]] == ["m:", "x:", "y:"]
    unused = expr.compile({"y": y + 1, "x": expr.leaf("x")}).describe(1.0, np.ones(3))
    assert "x: f8[3] [of the caller]" in unused or "x: not read" in unused


def test_named_values_are_variables_of_what_is_compiled():
    x = expr.leaf("x", "f8", shape=(3,))
    names = ["y", "x", "np", "t3", "c1_", "f2_", "lambda", "y", "expression"]
    e = x
    for k, name in enumerate(names):
        e = expr.name(e * np.array([1.0, 2.0, k]) + np.cumsum(e), name)
    values, expected = np.array([1.0, -2.0, 0.5]), np.array([1.0, -2.0, 0.5])
    for k in range(len(names)):
        expected = expected * np.array([1.0, 2.0, k]) + np.cumsum(expected)
    np.testing.assert_allclose(expr.evaluate(e, x=values), expected, rtol=1e-13)
    assert " y = np.add(" in expr.compile(e).source
    assert expr.parse(str(e)) is e
