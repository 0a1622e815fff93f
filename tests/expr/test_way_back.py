"""From traced functions to expressions, and what stages make of expressions."""

import pickle

import numpy as np
import pytest
from covering import few
from random_expressions import random_expression

import jitrt
from jitrt import expr


@jitrt.jit
def mixed(x, s, d):
    centred = x - x.mean(axis=0, keepdims=True)
    spread = np.var(centred, axis=1, ddof=1)
    y = d["w"] @ centred
    z = np.concatenate([y, y])[1:, ::2] * (s + 1.0)
    return {
        "sum": z.sum(),
        "list": [np.cumsum(spread), np.where(z > 0, z, 0).T, np.clip(z, 0, 1)],
        "others": (np.argmax(z), z.astype("f4").reshape(-1), x[[0, 2]], np.linalg.norm(z, axis=0), x.T, 5, s),
    }


def test_what_a_function_returns_is_expressions_of_its_parameters():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(400, 300)), rng.normal(size=(200, 400)).astype("f4")
    found = mixed.lower(x, 2.0, {"w": w}).expression
    again = expr.evaluate(
        {"sum": found["sum"]} | {f"{k}": e for k, e in enumerate((*found["list"], *found["others"]))},
        x=x, s=2.0, d=w,
    )  # fmt: skip
    expected = mixed.__wrapped__(x, 2.0, {"w": w})
    np.testing.assert_allclose(again["sum"], expected["sum"], rtol=1e-6)
    for k, value in enumerate((*expected["list"], *expected["others"])):
        assert np.asarray(again[str(k)]).dtype == np.asarray(value).dtype
        np.testing.assert_allclose(again[str(k)], value, rtol=2e-4, atol=1e-4)
    text = str(found["sum"])
    assert all(name in text for name in ("centred = ", "y = ", "z = ", 'x: "f8[400,300]"', 'd: "f4[200,400]"'))


def test_names_stand_in_the_dump():
    @jitrt.jit
    def step(state, dt):
        slope = np.sin(state) * 3.0
        return state + dt * slope

    shown = str(step.lower(np.ones(50), 0.1))
    assert "lambda state:f8[50] dt:f8[]*" in shown and "slope:f8[50] = multiply" in shown
    assert shown.count("x0:") < 3  # in loop nests alone


def test_a_number_of_pythons_stays_weak():
    @jitrt.jit
    def scaled(x, s):
        return x * (s * 0.5 + 1.0)

    x = np.linspace(0, 1, 50, dtype=np.float32)
    e = scaled.lower(x, 0.3).expression
    found = expr.evaluate(e, x=x, s=0.3)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, scaled.__wrapped__(x, 0.3))


@pytest.mark.parametrize("seed", few(range(25), 10))
def test_every_stage_of_a_random_expression_has_its_value(seed):
    e, values, expected = random_expression(seed, typed=True)
    if not e.leaves:
        return
    for stage in ("trace", "lower", "simplify"):
        try:
            lowered = expr.lower(e, stage)
        except ValueError as reason:
            assert "is not compiled" in str(reason)
            continue
        with np.errstate(all="ignore"):
            found = expr.evaluate(lowered, **{leaf.name: values[leaf.name] for leaf in lowered.leaves})
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_stages_have_names():
    x = expr.leaf("x", "f8", shape=(3,))
    with pytest.raises(ValueError, match="trace, lower, simplify"):
        expr.lower(x + 1, "nothing")
    with pytest.raises(ValueError, match="open"):
        expr.lower(expr.leaf("x") + 1)


def _element(x, out):
    x[0] = 7
    return x, x[::-1][1:]


def _all_of_it(x, out):
    out[:] = x * 2
    return out, out[1:], x + 1


def _into(x, out):
    np.multiply(x, 3, out=out)
    out[2] += x[0]
    return out * 2


def _copies(x, out):
    y, z = x.copy(), x.astype("i4")
    y[0], z[1], y[2:] = 5.0, 2.7, x[:-2]
    return y, z


def _made(x, out):
    y = np.zeros(2 * len(x))
    y[: len(x)] = x
    y[-1] = 1
    y.reshape(2, -1)[:, 1] *= 2.5
    return y, None


def _reshaped_behind_a_view(x, out):
    y = x.copy().reshape(2, -1)
    y[:, ::-1].reshape(-1)[0] = 9  # a copy
    y.T[0] = 4.0
    return y


def _complex(x, out):
    y = x + 1j
    y.imag[1:] = x[1:]
    return y, np.pad(x, 1)


def _weak(x, out, s=2.0):
    y = x.copy()
    y[1] = s
    return y * s


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize(
    "function", [_element, _all_of_it, _into, _copies, _made, _reshaped_behind_a_view, _complex, _weak]
)
def test_what_is_written_is_part_of_the_expression(function, dtype):
    given = {"x": np.arange(1, 7).astype(dtype), "out": np.zeros(6, dtype), "s": 2.0}
    wanted = function(given["x"].copy(), given["out"].copy())
    try:
        found = jitrt.jit(function).lower(given["x"].copy(), given["out"].copy()).expression
    except ValueError as reason:
        assert "runs as plain NumPy" in str(reason)
        return
    pairs = zip(found, wanted) if isinstance(wanted, tuple) else [(found, wanted)]
    for e, value in pairs:
        if value is None:
            assert e is None
            continue
        for _ in range(2):
            got = expr.evaluate(e, **{leaf.name: np.copy(given[leaf.name])[()] for leaf in e.leaves})
            np.testing.assert_array_equal(got, value)
            assert got.dtype == value.dtype
        assert expr.parse(str(e)) is e and expr.from_json(expr.to_json(e)) is e and pickle.loads(pickle.dumps(e)) is e
        assert not expr.compile(e).plain_reason


def test_numbers_that_are_operands_are_told_from_those_that_are_not():
    x, two = expr.leaf("x"), expr.literal(2)
    for e in (
        np.sum(two), x[two], x[2], x[1:two], np.take(x, two), np.take(x, 2), np.broadcast_to(expr.literal(0.0), (3,)),
        np.full_like(x, two), np.full_like(x, fill_value=two), expr.literal(np.float64(2)).astype("f4"), np.add(x, 2),
        x.clip(two, 3),
    ):  # fmt: skip
        assert expr.parse(str(e)) is e


def test_choices_are_conds():
    def chosen(x, limit):
        scaled = x * 2.0
        y, z = jitrt.cond(
            x.sum() > limit,
            lambda v, w: (v + w, v.max()),
            lambda v, w: (v - 1.0, jitrt.cond(w[0] > 0, np.min, np.sum, v)),
            x,
            scaled,
        )
        return y * z, z

    for x in (np.arange(4.0), np.arange(4.0) - 1.0, -np.arange(4.0) + 0.25):
        found = jitrt.jit(chosen).lower(x, 4.0).expression
        for e, wanted in zip(found, chosen(x, 4.0)):
            again = expr.parse(str(e))
            assert again is e and pickle.loads(pickle.dumps(e)) is e and expr.from_json(expr.to_json(e)) is e
            given = {"x": x, "limit": 4.0}
            np.testing.assert_allclose(expr.evaluate(e, **{leaf.name: given[leaf.name] for leaf in e.leaves}), wanted)
