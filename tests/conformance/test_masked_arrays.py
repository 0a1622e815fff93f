"""Random programs over masked arrays return, raise, warn and leave what NumPy does."""

import copy
import warnings

import masked_programs
import numpy as np
import pytest

import jitrt

# Comparisons of complex numbers that are nan, which kernels do not report, and sums, where it depends on the order.
NOT_TOLD = ("encountered in less", "encountered in less_equal", "encountered in greater",
            "encountered in greater_equal", "encountered in reduce")  # fmt: skip


def picture(value):
    """A value as what can be compared, with the arrays in it."""
    if isinstance(value, np.ma.MaskedArray) and value is not np.ma.masked:
        own = vars(value)
        rest = [(name, own[name]) for name in ("_hardmask", "_sharedmask", "_isfield", "_baseclass", "_optinfo")]
        mask = "nomask" if own["_mask"] is np.ma.nomask else picture(own["_mask"])
        fill = own["_fill_value"]
        if fill is None:  # it is made when somebody asks for it
            fill = np.ma.core._check_fill_value(None, value.dtype)
        return [type(value), rest, picture(value.data), mask, picture(fill)]
    if isinstance(value, np.ndarray):
        return [type(value), value.dtype, value.shape, value.flags.writeable, np.array(value)]
    if isinstance(value, np.generic):
        return [type(value), value.dtype, np.array(value)]
    if isinstance(value, (tuple, list)):
        return [type(value), *map(picture, value)]
    return [type(value), None if isinstance(value, memoryview) else value]


def memory(value):
    """The arrays that a value consists of."""
    if isinstance(value, np.ma.MaskedArray):
        return [part for part in (value.data, vars(value)["_mask"]) if isinstance(part, np.ndarray)]
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in memory(part)]
    return [value] if isinstance(value, np.ndarray) else []


def run(function, args):
    """Everything that a caller sees of a call."""
    args = copy_of(args)
    before = memory(args)
    error = value = None
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            value = function(*args)
        except Exception as raised:
            error = type(raised), str(raised)
    same = [next((k for k, arg in enumerate(args) if arg is part), None) for part in _parts(value)]
    fills = [getattr(arg, "_fill_value", None) for arg in args]
    for fill in (getattr(part, "_fill_value", None) for part in _parts(value)):
        same.append(next((k for k, other in enumerate(fills) if fill is other is not None), None))
    arrays = [*memory(value), *before]
    shared = [[np.may_share_memory(a, b) and np.shares_memory(a, b) for b in arrays] for a in arrays]
    told = {(w.category, str(w.message)) for w in given if w.category is not jitrt.JitrtPerformanceWarning}
    told = sorted((w for w in told if not w[1].endswith(NOT_TOLD)), key=str)
    return [error, picture(value), picture(args), same, shared, told]


def _parts(value):
    return value if isinstance(value, tuple) else (value,)


def copy_of(args):
    """Copies of arguments in the same layouts, which are one object where these are."""
    known = {}

    def array(a):
        made = np.empty_like(a) if a.flags.c_contiguous or a.flags.f_contiguous else copy.deepcopy(a)
        if made.strides != a.strides:
            whole = np.empty(a.nbytes * 4 + 64, np.uint8)
            first = sum(-s * (n - 1) for s, n in zip(a.strides, a.shape) if s < 0 and n)
            made = np.ndarray(a.shape, a.dtype, whole, first, a.strides)
        made[...] = a
        return made

    def one(a):
        if not isinstance(a, np.ndarray):
            return a
        if id(a) not in known:
            if isinstance(a, np.ma.MaskedArray):
                made = array(a.data).view(np.ma.MaskedArray)
                fill, mask = vars(a)["_fill_value"], vars(a)["_mask"]
                vars(made).update(vars(a))
                vars(made).update(
                    _optinfo={}, _basedict={}, _fill_value=None if fill is None else fill.copy(),
                    _mask=mask if mask is np.ma.nomask else known.setdefault(id(mask), array(mask)),
                )  # fmt: skip
            else:
                made = array(a)
            known[id(a)] = made
        return known[id(a)]

    return tuple(map(one, args))


def alike(one, other, exact):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(alike(a, b, exact) for a, b in zip(one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.dtype.kind in "fc" and not exact:
            rtol = {2: 2e-3, 4: 1e-5}.get(one.real.dtype.itemsize, 1e-9)
            return np.allclose(one, other, rtol=rtol, atol=rtol, equal_nan=True)
        if one.dtype.kind in "fc":
            return np.array_equal(one, other, equal_nan=True) and np.array_equal(
                np.signbit(one[one == one].real), np.signbit(other[other == other].real)
            )
        return np.array_equal(one, other)
    return type(one) is type(other) and one == other


def mismatch(seed):
    """In what the compiled function differs from the plain one; and whether it was compiled."""
    source = masked_programs.written(seed)
    space = {"np": np}
    exec(source, space)
    function = space["f"]
    compiled = jitrt.jit(function)
    exact = not masked_programs.rounds(source)
    was_compiled = False
    for turn in (0, 1, 0, 3, 2, 4, 3):
        args = masked_programs.arguments(seed, turn)
        with np.errstate(divide="warn", over="warn", invalid="warn"):
            want, got = run(function, args), run(compiled, args)
        was_compiled = was_compiled or not compiled.plain_reason
        for what, x, y in zip(("error", "result", "arguments", "identity", "memory", "warnings"), want, got):
            if not alike(x, y, exact):
                return f"call {turn}, {what}: {y}\nand not {x}\n{source}{args}", was_compiled
    return "", was_compiled


def check(first, count):
    compiled = 0
    for seed in range(first, first + count):
        found, was_compiled = mismatch(seed)
        assert not found, f"seed {seed}: {found}"
        compiled += was_compiled
    return compiled


def test_random_programs():
    assert check(0, 60) > 12


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 5000, 500))
def test_many_random_programs(first):
    assert check(first, 500) > 100
