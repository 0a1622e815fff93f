"""Values of which elements may be missing."""

import warnings

import numpy as np
import pytest

from jitrt import expr

A, B, C = expr.leaf("a", "f4", ndim=0), expr.leaf("b", "f8", ndim=0), expr.leaf("c", "f8", ndim=0)


def _roots(a, b, c):
    d = expr.where_present((discriminant := b * b - 4.0 * a * c) >= 0.0, discriminant)
    return {"first": (-b + d**0.5) / 2.0 / a, "second": (-b - d**0.5) / 2.0 / a}


def test_the_roots_of_a_quadratic_equation_are_missing_where_there_are_none():
    program = expr.compile(_roots(A, B, C))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is computed with what is missing
        for _ in range(3):
            assert program.run(a=1.0, b=-3.0, c=2.0) == {"first": 2.0, "second": 1.0}
            assert program.run(a=1.0, b=1.0, c=2.0) == {"first": None, "second": None}
        value, there = program(a=1.0, b=-3.0, c=2.0)["first"]
        assert value == 2.0 and there
    assert program.plain_reason == ""


def test_the_roots_are_described_with_folded_literals_and_jumps():
    d = B * B - (expr.literal(2.0) + 2.0) * A * C
    given = A, B, np.sqrt(d)

    def root(sign):
        chosen = expr.cond(d >= 0, lambda a, b, s: (-b + sign * s) / 2.0 / a, lambda a, b, s: 0.0 * b, *given)
        return expr.optional(chosen, d >= 0)

    program = expr.compile({"first": root(1.0), "second": root(-1.0)})
    text = program.describe()
    init, operations = text.partition("Init operations:")[2].split("Eval operations")
    assert "= 4.0" in init and "= 2.0" not in init  # 2.0 + 2.0 is folded
    jumps = [line.strip().split(": ")[1].split(" <")[0] for line in operations.splitlines() if "jump to" in line]
    assert jumps == ["jump to 4 unless", "jump to 5", "jump to 9 unless", "jump to 10"]
    assert (
        operations.count("sqrt") == 1 and "in a frame of 320 bytes" in operations
    )  # five slots for what kernels share
    with np.errstate(invalid="ignore"):
        assert program.run(a=1.0, b=-3.0, c=2.0) == {"first": 2.0, "second": 1.0}
        assert program.run(a=1.0, b=1.0, c=2.0) == {"first": None, "second": None}


def test_rows_are_masked():
    found = expr.compile(_roots(A, B, C)).rows(a=1.0, b=np.array([-3.0, 1.0]), c=2.0)
    np.testing.assert_array_equal(np.ma.getmaskarray(found["first"]), [False, True])
    assert found["first"][0] == 2.0 and found["second"][0] == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_operations_pass_absence_on_as_masked_arrays_do(seed):
    rng = np.random.default_rng(seed)
    values = {}
    pool = []
    for name in "xyz":
        data = rng.uniform(0.5, 2, (4, 3) if rng.random() < 0.7 else 3)
        values[name] = np.ma.masked_array(data, rng.random(data.shape) < 0.3)
        pool.append((expr.optional_leaf(name), values[name]))
    for _ in range(6):
        (x, v), (y, w) = pool[rng.integers(len(pool))], pool[rng.integers(len(pool))]
        kind = rng.integers(5)
        if kind <= 2:
            f = [np.add, np.multiply, np.maximum][kind]
            pool.append((f(x, y), [np.ma.add, np.ma.multiply, np.ma.maximum][kind](v, w)))
        elif kind == 3:
            pool.append(
                (expr.where_present(x > 1, y), np.ma.masked_where(~(v > 1).filled(False) | False & w.mask, w + 0 * v))
            )
        else:
            pool.append((2.0 - np.sqrt(abs(x)), 2.0 - np.sqrt(abs(v))))
    e, expected = pool[-1]
    used = {leaf.name for part in (e.value, e.present) for leaf in part.leaves}
    given = {name: value for name, value in values.items() if name in used or f"{name}_present" in used}
    found = expr.evaluate(e, **given)
    np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
    np.testing.assert_allclose(found.filled(0), expected.filled(0))


def test_coalescing():
    x, y = expr.optional_leaf("x"), expr.optional_leaf("y")
    given = {"x": np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 1]), "y": np.ma.masked_array([4.0, 5.0, 6.0], [0, 0, 1])}
    np.testing.assert_array_equal(expr.evaluate(expr.coalesce(x, y, 0.0), **given), [1, 5, 0])
    found = expr.evaluate(expr.coalesce(x, y), **given)
    assert found.tolist() == [1.0, 5.0, None]
    np.testing.assert_array_equal(expr.evaluate(expr.present(x), x=given["x"]), [True, False, False])
    assert expr.evaluate(x + 1, x=None) is None and expr.evaluate(x + 1, x=2.0) == 3.0
    with pytest.raises(TypeError, match="coalesce it first"):
        np.add.reduce(x)


@pytest.mark.parametrize("dtype", ["Float64", "Int32", "float64"])
def test_columns_of_pandas(dtype):
    pd = pytest.importorskip("pandas")
    x = expr.optional_leaf("x")
    frame = pd.DataFrame({"x": pd.Series([1, None, 3], dtype=dtype)})
    for given in ({"x": frame["x"]}, {"x": frame["x"].array}):
        found = expr.evaluate(x * 2, **given)
        assert found.tolist() == [2, None, 6]
    assert expr.compile(x + 1).run(frame).tolist() == [2, None, 4]
    assert expr.evaluate(x * 2, x=pd.Series([1, 2], dtype="Int64")).tolist() == [2, 4]


_TIMES = ["2020-01-01", None, "2020-01-03"]


@pytest.mark.parametrize(
    "make",
    [
        lambda pd: pd.Series(pd.to_datetime(_TIMES)),
        lambda pd: pd.Series(pd.to_datetime(_TIMES, utc=True)),
        lambda pd: pd.Series(pd.to_timedelta(["1D", None, "2D"])),
        lambda pd: pd.Series([1.0, None, 3.0], dtype="f4"),
        lambda pd: pd.Series([1, None, 3], dtype="Int16"),
        lambda pd: pd.Series([True, None, False], dtype="boolean"),
        lambda pd: pd.Series(["a", None, "b"], dtype="string"),
        lambda pd: pd.Series(["a", None, "b"], dtype="category"),
        lambda pd: pd.Series(["a", None, "b"], dtype=object),
    ],
)
def test_columns_of_any_dtype_stay_as_they_are(make):
    pd = pytest.importorskip("pandas")
    column, x = make(pd), expr.optional_leaf("x")
    before = column.copy(deep=True)
    for given in (column, column.array):
        found = expr.evaluate(x, x=given)
        assert np.ma.getmaskarray(found).tolist() == [False, True, False]
        assert pd.Series(found.data[[0, 2]]).tolist() == column[[0, 2]].tolist()
    assert expr.compile(x).run(pd.DataFrame({"x": column})).mask.tolist() == [False, True, False]
    pd.testing.assert_series_equal(column, before)
    if pd.api.types.is_string_dtype(column):
        assert expr.evaluate(x + "!", x=column).tolist() == ["a!", None, "b!"]


@pytest.mark.parametrize("dtype", ["f2", "f8", "i4", "u8", "?", "c8", "M8[D]", "m8[s]", "U3", None])
@pytest.mark.parametrize("shape", [(), (3,), (None, 2)])
def test_nothing_is_given_for_leaves_of_any_type(dtype, shape):
    x = expr.leaf("x", expr.optional(dtype), shape=shape) if dtype else expr.optional_leaf("x", shape=shape)
    for missing in (None, np.ma.masked):
        found = expr.evaluate(x == x, x=missing)
        assert found is None if shape == () else (found.mask.all() and found.ndim == len(shape))


def test_what_they_have_not():
    with pytest.raises(AttributeError, match="no 'sort': coalesce it first"):
        expr.optional_leaf("x").sort()


FOLDS = ["sum", "prod", "min", "max", "mean", "var", "std", "any", "all"]


CASES = [(name, dtype) for name in [*FOLDS, "cumsum", "cumprod"] for dtype in ("f8", "f4", "f2", "i8", "i2", "?")]


@pytest.mark.wide(times=2)
@pytest.mark.parametrize(("name", "dtype"), [c for c in CASES if c not in [("var", "?"), ("std", "?")]])
def test_folds_are_those_of_what_is_there(name, dtype):
    rng = np.random.default_rng(19)
    data = (rng.random((4, 3)) * 5 - 2).astype(dtype)
    missing = rng.random((4, 3)) < 0.4
    missing[1], missing[:, 1] = True, [False, True, True, True]
    x, given = expr.optional_leaf("x"), np.ma.masked_array(data, missing)
    for options in ({}, {"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}, {"axis": None}):
        if name.startswith("cum") and "keepdims" in options:
            continue
        with warnings.catch_warnings():  # numpy.ma's fill value is too large for half floats
            warnings.simplefilter("ignore")
            want = getattr(given, name)(**options)
        got = expr.evaluate(getattr(x, name)(**options), x=given)
        assert np.array_equal(np.ma.getmaskarray(want), np.ma.getmaskarray(np.ma.asanyarray(got)))
        rtol = {"f4": 1e-5, "f2": 2e-2}.get(dtype, 1e-14)
        np.testing.assert_allclose(np.ma.filled(got, 0), np.ma.filled(want, 0), rtol=rtol)
        assert got.dtype == want.dtype
    assert expr.evaluate(x.count(axis=1), x=given).tolist() == given.count(axis=1).tolist()


def test_folds_of_nothing_are_missing():
    x = expr.optional_leaf("x")
    nothing = np.ma.masked_array([1.0, 2.0], True)
    for name in FOLDS:
        assert expr.evaluate(getattr(np, name)(x), x=nothing) is None
    assert expr.evaluate(x.count(), x=nothing) == 0
    assert expr.evaluate(x.var(ddof=1), x=np.ma.masked_array([1.0, 2.0], [True, False])) is None


def test_folds_of_numbers_and_of_one_presence_for_all():
    x, p = expr.leaf("x"), expr.leaf("p", bool)
    total = np.sum(expr.where_present(p, x))
    assert expr.evaluate(total, x=np.arange(3.0), p=True) == 3.0
    assert expr.evaluate(total, x=np.arange(3.0), p=False) is None
    assert expr.evaluate(total, x=2.0, p=np.array([True, False, True])) == 4.0
    assert expr.evaluate(expr.optional_leaf("y").max(), y=3.0) == 3.0
    with pytest.raises(TypeError, match="takes no out"):
        np.sum(expr.optional_leaf("y"), out=np.empty(()))


def test_nothing_that_is_missing_is_reported():
    x = expr.optional_leaf("x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = expr.evaluate((1.0 / x).mean(axis=0), x=np.ma.masked_array([[0.0, 2.0], [4.0, 0.0]], [[1, 0], [0, 1]]))
        assert got.tolist() == [0.25, 0.5]
        extreme = expr.evaluate(np.log(x).min(), x=np.ma.masked_array([0.0, np.e], [True, False]))
        assert extreme == 1.0


@pytest.mark.parametrize(
    "build",
    [
        lambda x, np: x[1:],
        lambda x, np: x[0],
        lambda x, np: x.T + 1,
        lambda x, np: np.transpose(x),
        lambda x, np: x.reshape(-1, 1) * x.reshape(1, -1),
        lambda x, np: np.ravel(x),
        lambda x, np: x.astype("f4"),
        lambda x, np: np.clip(x, 1, 2),
        lambda x, np: np.round(x / 3, 1),
        lambda x, np: (x / 3).round(1).clip(0.5, 0.8),
        lambda x, np: np.where(x > 1.5, x, 0.0),
        lambda x, np: np.where(x > 1.5, 1.0, x),
        lambda x, np: np.concatenate([x, x * 2]),
        lambda x, np: np.stack([x, -x], axis=1),
        lambda x, np: np.expand_dims(x, 0).sum(axis=1),
    ],
)
@pytest.mark.parametrize("mask", [[0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
def test_what_moves_joins_and_chooses_takes_presence_along(build, mask):
    given = np.ma.masked_array([3.0, 1.0, 2.0, 1.25], mask)
    wanted = build(given, np.ma if hasattr(np.ma, "stack") else np)
    found = expr.evaluate(build(expr.optional_leaf("x"), np), x=given)
    if wanted is np.ma.masked or found is None:
        assert wanted is np.ma.masked and found is None
        return
    np.testing.assert_array_equal(np.ma.getmaskarray(np.ma.asarray(found)), np.ma.getmaskarray(np.ma.asarray(wanted)))
    np.testing.assert_allclose(np.ma.filled(found, -1), np.ma.filled(wanted, -1), rtol=1e-6)


def test_what_would_lose_presence_is_refused():
    x = expr.optional_leaf("x")
    for build in (np.median, np.sort, np.asarray, bool, np.fft.fft, np.linalg.norm, np.add.reduce):
        with pytest.raises(TypeError):
            build(x)


def test_optional_values_have_names_types_and_side_outputs(tmp_path):
    x = expr.leaf("x", expr.optional("f8"), ndim=0)
    assert x.value.dtype == np.float64 and x.present.ndim == 0
    assert "o_present" not in expr.compile(x + 1).describe() and "x_present: b1[]" in expr.compile(x + 1).describe()
    half = expr.name(x / 2, "half")
    program = expr.compile(half + 1, ["half", "half_present"])
    assert program.with_side_outputs(3.0, True) == ((2.5, True), {"half": 1.5, "half_present": True})
    heard = []
    listening = expr.compile({"y": half + 1}, {"half": half}, listener=heard.append)
    assert listening.run(x=3.0) == {"y": 2.5} and listening.run(x=None) == {"y": None}
    assert heard == [{"half": 1.5}, {"half": None}]
    given = expr.substitute(half, {"x": 4.0, "x_present": True})
    assert expr.evaluate(given) == 2.0
    expr.save(expr.compile(half, {"more": half * 3}), tmp_path / "program")
    assert expr.load(tmp_path / "program").with_side_outputs(2.0, True) == ((1.0, True), {"more": (3.0, True)})


def test_the_presence_of_an_input_follows_it():
    x, y = expr.leaf("x", expr.optional("f8"), ndim=0), expr.leaf("y", "f8", ndim=0)
    program = expr.compile(y * expr.coalesce(x + 1.0, -1.0))
    assert program.inputs == ("y", "x", "x_present")
    assert (program(2.0, 3.0, True), program(2.0, 3.0, False)) == (8.0, -2.0)
    assert (program.run(x=3.0, y=2.0), program.run(x=None, y=2.0)) == (8.0, -2.0)


def test_half_floats_are_added_up_as_single_ones():
    given = np.ma.masked_array(np.full(5000, 60.0, np.float16), [1] + [0] * 4999)
    for x in (expr.optional_leaf("x"), expr.leaf("x", expr.optional("f2"), ndim=1)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert expr.evaluate(x.mean(), x=given) == given.mean() == 60


@pytest.mark.parametrize("dtype", ["f8", "i4", "c8", "?"])
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((3, 3), (3, 3))])
def test_products_are_those_of_masked_arrays(dtype, shapes):
    rng = np.random.default_rng(3)
    x, y = (np.ma.masked_array((rng.random(s) * 4).astype(dtype), rng.random(s) < 0.5) for s in shapes)
    a, b, w = expr.optional_leaf("a"), expr.optional_leaf("b"), expr.leaf("w")
    for wanted, built, given in (
        (np.ma.dot(x, y), (a @ b, np.dot(a, b), np.matmul(a, b)), {"a": x, "b": y}),
        (np.ma.dot(x, y.data), (a @ w, np.dot(a, w), a @ y.data), {"a": x, "w": y.data}),
        (np.ma.dot(x.data, y), (w @ b, np.dot(w, b), x.data @ b), {"w": x.data, "b": y}),
    ):
        for e in built:
            used = {str(n.name).removesuffix("_present") for part in (e.value, e.present) for n in part.leaves}
            found = np.ma.asarray(expr.evaluate(e, **{name: given[name] for name in used}))
            if not found.ndim and wanted.mask:
                assert found == np.ma.asarray(None)  # no number
                continue
            np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(wanted))
            np.testing.assert_allclose(found.filled(0), wanted.filled(0), rtol=1e-6)
            assert found.dtype == wanted.dtype


MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])


@pytest.mark.parametrize(
    "build",
    [
        lambda w, m, np: w + m,
        lambda w, m, np: np.maximum(m, w),
        lambda w, m, np: np.where(w > 1, w, m),
        lambda w, m, np: np.where(m > 1, w, 0.0),
        lambda w, m, np: np.concatenate([w, m]),
        lambda w, m, np: np.concatenate([m, w]),
        lambda w, m, np: np.clip(w, m, 9.0),
        lambda w, m, np: divmod(w, m)[1],
    ],
)
def test_arrays_among_optional_values_keep_their_masks(build):
    w = np.array([1.0, 1.5, 2.0])
    wanted = build(np.ma.asarray(w), MASKED, np.ma if "clip" not in build.__code__.co_names else np)
    o = expr.optional_leaf("o")
    for e, given in (
        (build(expr.leaf("w"), MASKED, np), {"w": w}),
        (build(expr.leaf("w"), o, np), {"w": w, "o": MASKED}),
        (build(expr.leaf("w"), expr.optional(MASKED), np), {"w": w}),
    ):
        found = expr.evaluate(e, **given)
        np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(wanted))
        np.testing.assert_allclose(found.filled(0), wanted.filled(0))
    assert expr.evaluate(expr.leaf("w") * np.ma.masked, w=w).mask.all()
    assert expr.evaluate(expr.coalesce(MASKED, expr.leaf("w")), w=w).tolist() == [1.0, 1.5, 3.0]
    assert expr.evaluate(expr.where_present(expr.leaf("w") > 1, MASKED), w=w).tolist() == [None, None, 3.0]


def test_a_masked_array_is_no_literal():
    for build in (expr.literal, expr.evaluate, lambda m: expr.leaf("w").take(m)):
        with pytest.raises(TypeError, match=r"expr\.optional takes it"):
            build(MASKED)


def test_folds_begin_with_a_number():
    x = expr.optional_leaf("x")
    for fold in (np.sum, np.prod, np.min, np.max):
        for given in (MASKED, np.ma.masked_all(3)):
            found = expr.evaluate(fold(a=x, initial=2.0), x=given)
            assert found == fold(given.compressed(), initial=2.0)


def test_optional_values_are_inspected_and_transformed_as_others():
    x, w = expr.leaf("x", expr.optional("f4"), shape=(3,)), expr.leaf("w", "f8")
    e = x * (expr.literal(2.0) + 1.0) + w
    assert (e.dtype, e.shape, e.ndim) == (np.float64, None, None) and (x.dtype, x.shape) == (np.float32, (3,))
    assert [n.name for n in e.leaves] == ["x", "w", "x_present"] and e.placeholders == ()
    assert e.nodes[-1] is e.present and e.value in e.nodes
    assert expr.simplify(e).equals(x * np.float64(3.0) + w) and not e.equals(x * np.float64(3.0) + w)
    y = expr.leaf("y", "f8")
    assert expr.transform({"e": e}, lambda n: y if n is w else None)["e"].equals(x * (expr.literal(2.0) + 1.0) + y)
    assert expr.op["sqrt"](x).equals(np.sqrt(x)) and expr.op["np.where"](w > 0, x, w).equals(np.where(w > 0, x, w))
    assert expr.op[".astype"](x, "f8").equals(x.astype("f8"))
