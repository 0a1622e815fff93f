"""Functions that numba has compiled, and operations of the user's own, in expressions."""

import pickle

import numpy as np
import pytest

import jitrt
from jitrt import expr

numba = pytest.importorskip("numba")
X = np.linspace(-1.0, 1.0, 9)


@numba.vectorize
def chosen(x, y):
    return x * y + 1.0 if x > y else y


@numba.njit
def of_numbers(x, y):
    return x * y + 1.0 if x > y else y


@numba.njit
def filtered(x, rate):
    y = np.empty_like(x)
    last = 0.0
    for k in range(x.size):
        last = rate * last + x[k]
        y[k] = last
    return y


@numba.guvectorize(["void(f8[:],f8,f8[:])"], "(n),()->(n)")
def summed(x, rate, out):
    total = 0.0
    for k in range(x.shape[0]):
        total = rate * total + x[k]
        out[k] = total


twice = jitrt.operation(
    "twice", ["d->d"], lambda x: x * 2, lambda builder, values, _: builder.fadd(values[0], values[0])
)
vouched = jitrt.pure(lambda x: x - 1.0)


@pytest.mark.parametrize("function, args", [
    (chosen, (X, 0.25)), (of_numbers, (0.75, 0.5)), (filtered, (X, 0.5)), (summed, (X, 0.5)), (twice, (X,)),
    (vouched, (X,)),
])  # fmt: skip
def test_they_are_operations(function, args):
    operation = expr.operator(function, name=f"own_{function.__name__.strip('<>')}".replace(".", "_"))
    x = expr.leaf("x", "f8", ndim=np.ndim(args[0]))
    e = operation(x * 2.0, *args[1:]) + 1.0
    expected = function(args[0] * 2.0, *args[1:]) + 1.0
    program = expr.compile(e)
    for _ in range(3):
        np.testing.assert_allclose(program.run(x=args[0]), expected, rtol=1e-14)
    assert not program.plain_reason
    assert expr.parse(str(e)) is e and pickle.loads(pickle.dumps(e)) is e and expr.from_json(expr.to_json(e)) is e


def test_ufuncs_find_their_operation():
    operation = expr.operator(chosen)
    x = expr.leaf("x")
    assert chosen(x, 0.5) is operation(x, 0.5)
    assert repr(operation) == "expr.op['chosen']"


def test_scipys_functions_are_found_by_name():
    linalg = pytest.importorskip("scipy.linalg")
    a, b = expr.leaf("a", "f8", ndim=2), expr.leaf("b", "f8", ndim=1)
    e = expr.op["scipy.linalg.solve"](a, b, assume_a="gen") + 1.0
    assert expr.parse(str(e)) is e and pickle.loads(pickle.dumps(e)) is e and expr.from_json(expr.to_json(e)) is e
    given = np.eye(3) + 0.25, np.arange(3.0)
    np.testing.assert_allclose(expr.evaluate(e, a=given[0], b=given[1]), linalg.solve(*given) + 1.0)
    for name in ("scipy.io.savemat", "scipy.linalg.nothing", "scipy.nothing.solve", "scipy.fft.set_workers"):
        with pytest.raises(KeyError, match="no operation"):
            expr.op[name]


def test_parameters_to_write_into_are_given_by_one_name():
    def filled(x, out):
        np.multiply(x, 2.0, out=out)

    filled = jitrt.pure(filled, writes="out")
    found = jitrt.jit(lambda x: (y := np.zeros(x.shape), filled(x, y), y + 1.0)[2])
    for _ in range(3):
        np.testing.assert_array_equal(found(X), X * 2.0 + 1.0)
    with pytest.raises(ValueError, match="no parameter 'target'"):
        jitrt.pure(filled, writes="target")
