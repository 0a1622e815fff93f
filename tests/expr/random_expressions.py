"""Random expressions, each with the value that NumPy gives for it."""

import numpy as np

from jitrt import expr

_DTYPES = ["f8", "f4", "i4", "i8", "b1", "c16", "u1"]
_SHAPES = [(), (3,), (4, 3), (1, 3), (4, 1), (2, 1, 3)]
_UNARY = [np.negative, np.absolute, np.square, np.positive, np.conjugate, np.sign, np.logical_not]
_BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.equal, np.not_equal, np.less, np.logical_or]


def _value(rng, dtype, shape):
    if dtype == "b1":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in ("i4", "i8", "u1"):
        return np.asarray(rng.integers(0 if dtype == "u1" else -5, 6, shape)).astype(dtype)
    made = np.asarray(rng.uniform(-2, 2, shape)).astype(dtype)
    return made + 1j * rng.uniform(-2, 2, shape) if dtype == "c16" else made


def _literal(rng):
    value = _value(rng, rng.choice(_DTYPES), _SHAPES[rng.integers(len(_SHAPES))])
    if value.ndim:
        return value
    return value[()] if rng.random() < 0.5 else value[()].item()


def _step(rng, pool):
    """One more operation on pairs of expressions and values."""
    e, v = pool[rng.integers(len(pool))]
    e2, v2 = pool[rng.integers(len(pool))] if rng.random() < 0.8 else [_literal(rng)] * 2
    kind = rng.integers(12)
    if kind <= 3:
        f = _BINARY[rng.integers(len(_BINARY))]
        return (lambda a, b: f(a, b)), (e, e2), (v, v2)
    if kind <= 5:
        f = _UNARY[rng.integers(len(_UNARY))]
        return f, (e,), (v,)
    if kind == 6:
        return (lambda a, b: np.where(a > 0, a, b)), (e, e2), (v, v2)
    if kind == 7:
        axis = [None, 0, -1, (0,)][rng.integers(4)]
        f = [np.sum, np.max, np.any, np.add.reduce][rng.integers(4)]
        return (lambda a: f(a, axis=axis if axis is not None or f is not np.add.reduce else 0)), (e,), (v,)
    if kind == 8:
        index = [0, slice(1, None), (Ellipsis, None), (slice(None, None, -1),), None, (Ellipsis, 0)][rng.integers(6)]
        return (lambda a: a[index]), (e,), (v,)
    if kind == 9:
        views = [lambda a: a.T, lambda a: a.reshape(-1), lambda a: a.astype("c16"), lambda a: a.ravel()]
        return views[rng.integers(len(views))], (e,), (v,)
    if kind == 10:
        return (lambda a: np.concatenate([a, a], axis=-1)), (e,), (v,)
    name = f"v{rng.integers(9)}"
    return (lambda a: expr.name(a, name) if isinstance(a, expr.Expression) else a), (e,), (v,)


def random_expression(seed, steps=8, typed=None):
    """An expression, values of its leaves by name, and what NumPy makes of them."""
    rng = np.random.default_rng(seed)
    typed = rng.random() < 0.5 if typed is None else typed
    values, pool = {}, []
    for name in "abc":
        dtype, shape = rng.choice(_DTYPES), _SHAPES[rng.integers(len(_SHAPES))]
        values[name] = _value(rng, dtype, shape)[()]
        pool.append((expr.leaf(name, dtype, shape=shape) if typed else expr.leaf(name), values[name]))
    while len(pool) < 3 + steps:
        function, operands, given = _step(rng, pool)
        try:
            with np.errstate(all="ignore"):
                value = function(*given)
        except Exception:  # it does not fit: with known types the expression says so, too
            if typed:
                _check_refused(function, operands)
            continue
        pool.append((function(*operands), value))
    return (*pool[-1][:1], values, pool[-1][1])


def _check_refused(function, operands):
    if not any(isinstance(o, expr.Expression) and o.type.is_complete for o in operands):
        return
    try:
        is_complete = function(*operands).type.is_complete
    except Exception:
        return
    assert not is_complete, "NumPy refuses it"
