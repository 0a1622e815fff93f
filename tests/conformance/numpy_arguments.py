"""Arguments of random calls of NumPy's functions, good and bad: operands of all dtypes and layouts, axes, indices, …"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from operands import ordinary, special

DTYPES = "f8 f8 f8 f4 i8 i8 i4 u1 u8 ? c16 c8 f2 i2 M8[s] m8[s]".split()
SHAPES = [(), (0,), (1,), (5,), (5,), (7,), (3, 4), (3, 4), (4, 4), (1, 4), (4, 1), (0, 3), (2, 3, 4), (40,), (300,)]
LAYOUTS = "F strided reversed swapped unaligned read-only broadcast field".split()
# Where an argument of a table is an array.
ARRAY = "array"
_AXES = ["0", "0", "1", "-1", "None", "2", "-3", "(0, 1)", "()", "(0, 0)", "1.0", "True", "'a'", "np.int64(0)"]
_NUMBERS = ["0", "1", "2", "3", "-1", "7", "2.5", "None", "True", "np.int32(2)", "np.uint8(200)", "'x'"]
_FAR = [*_NUMBERS, "10**20"]
_DTYPE = ["float", "np.float32", "int", "'i4'", "complex", "bool", "'f2'", "'u1'", "object", "'>f8'", "'nope'", "None"]
_FLAG = ["True", "False", "1", "None"]
DRAWN = ["0.5", "2.0", "1", "0", "-1", "3", "np.nan", "[0.5, 1.5]", "1e300", "10**20", "None", ARRAY]
# What NumPy makes other arrays of than of numbers, or none.
ODD = ["'a'", "b'a'", "['a', 'b']", "[1, None]", "np.array(['a', 'b'])", "np.array([1, None])", "range(3)", "{1: 2}"]
ODD += ["np.datetime64('2020-01-01')", "object", "()", "[[1], [2, 3]]", "2**70", "np.array(None)", "slice(1)", "..."]
# What arguments of these names are given; all others are arrays.
ARGUMENTS = {
    "axis": _AXES, "axes": [*_AXES, "(1, 0)", "[0, 1]", "((0,), (0,))"], "axis1": _AXES, "axis2": _AXES,
    "keepdims": _FLAG, "dtype": _DTYPE, "ddof": ["0", "1", "2", "0.5", "100", "None"], "correction": ["0", "1"],
    "k": _FAR, "n": _NUMBERS, "kth": ["0", "1", "2", "-1", "[0, 2]", "99", "1.5"], "num": ["0", "5", "-1", "2.0"],
    "decimals": ["0", "1", "-1", "3"], "offset": ["0", "1", "-1", "9"], "shift": ["0", "1", "-2", "9", "(1, 2)"],
    "q": ["0.5", "50", "[0.1, 0.9]", "0", "1", "100", "-1", "np.nan"], "method": ["'linear'", "'lower'", "'nope'"],
    "kind": ["None", "'stable'", "'nope'"], "side": ["'left'", "'right'", "'up'"], "sorter": ["None"],
    "mode": ["'raise'", "'wrap'", "'clip'", "'same'", "'full'", "'valid'", "'nope'"],
    "order": ["'C'", "'F'", "'K'", "'x'"],
    "indices": ["0", "1", "-1", "[0, 1]", "99", "[[0], [1]]", "[]", "1.0", "[True, False]", ARRAY],
    "repeats": ["0", "2", "-1", "[1, 2]"],
    "shape": ["2", "(3, 4)", "(2, 6)", "-1", "(-1, 2)", "(5, 3, 4)", "(-1, -1)", "()", "1.5"],
    "newshape": ["-1", "(2, 6)"], "reps": ["0", "2", "(2, 1)", "-1", "np.uint8(200)"],
    "initial": ["0", "1", "5.0", "None", "np.inf"],
    "prepend": ["0", "1.5"], "indices_or_sections": ["2", "3", "[1, 2]", "0"], "source": ["0", "1", "(0, 1)"],
    "destination": ["0", "-1", "(1, 0)"], "fill_value": ["0", "1.5", "-1", "np.nan", "1j", "'a'"],
    "bins": ["5", "[0, 1, 2]", "0", "'auto'", "(2, 3)", "[2.0, 1.0]", "2.5", ARRAY], "minlength": ["0", "9", "-1"],
    "range": ["None", "(0, 1)", "(1, 0)", "[(0, 1), (0, 1)]", "(0, np.nan)"],
    "equal_nan": _FLAG, "return_index": _FLAG, "return_inverse": _FLAG, "return_counts": _FLAG,
    "a_min": ["0", "None", "2"], "a_max": ["1", "None", "0"], "min": ["0", ARRAY], "max": ["1", ARRAY],
    "pad_width": ["0", "1", "(1, 2)", "-1"], "N": ["3", "0", "-1"], "M": ["3", "0", "None"],
    "casting": ["'same_kind'", "'unsafe'", "'no'"], "copy": _FLAG, "subok": _FLAG,
    "ord": ["None", "1", "2", "np.inf", "'fro'", "'nope'"], "p": ["2"], "tol": ["None"],
    "subscripts": ["'i->'", "'ij->ji'", "'i,i'", "'ij,jk'", "'i'"], "rtol": ["1e-5"], "atol": ["1e-8", "np.nan"],
    "inplace": ["False"], "refcheck": ["False"], "fweights": ["None"], "aweights": ["None"], "weights": ["None", ARRAY],
    "density": _FLAG, "stable": ["None"], "descending": ["False"], "like": ["None"], "device": ["None"],
    "out": ["None", "x0", ARRAY], "where": ["True", "False", ARRAY], "overwrite_input": ["False"],
    "interpolation": ["None"], "mean": ["None", ARRAY],
    "unit": ["'s'"], "deg": ["1", "2", "-1"], "period": ["6.28", "None"], "left": ["None", "0"],
    "right": ["None", "1"], "upper": _FLAG, "start": ["0", "1", "9"], "stop": ["3"], "step": ["1"],
    "window_shape": ["2", "3", "9"], "rcond": ["None"], "v": ["0", "2"], "norm": ["None", "'ortho'", "'nope'"],
    "s": ["None", "(2, 3)", "(0,)"], "new_shape": ["-1", "(2, 6)"], "funclist": ["[1.0, 2.0]", "[-1]", "[1, 2, 3]"],
    "new_order": ["'S'"], "condlist": [f"[{ARRAY}]", ARRAY, f"[{ARRAY}, {ARRAY}]"], "endpoint": _FLAG,
    "size": ["None", "5", "(3, 4)", "0", "()", "-1", "2.5", "(2, -1)", "np.int8(4)"], "shuffle": _FLAG,
    "replace": _FLAG, "high": ["None", "5", "1", "[3, 9]"], "low": ["0", "3", "-2", "2.5", "[0, 1]"],
    "choicelist": [f"[{ARRAY}]", f"[{ARRAY}, {ARRAY}]"], "choices": [f"[{ARRAY}, {ARRAY}]", ARRAY],
    "obj": ["1", "[0, 1]", "-1", "99", "slice(1, 3)", ARRAY], "ind": ["1", "[0, 1]", "99", ARRAY],
    "multi_index": ["([0, 1], [1, 0])", f"({ARRAY}, {ARRAY})"], "dims": ["(3, 4)", "(2, 2)"], "cnt": ["3"],
    "value": ["0", "1.5", "np.nan", "2"], "func": ["np.sum"], "func1d": ["np.sum"],
}  # fmt: skip
# What an argument of a method of random generators is, whose names are of distributions.
DRAWS = {"dtype": ["np.float64", "np.float32", "'i4'", "np.uint8", "'nope'"], "axis": _AXES, "out": ["None", ARRAY]}
DRAWS |= {name: ARGUMENTS[name] for name in "size shuffle replace high low endpoint".split()}
DRAWS |= {"x": [ARRAY, "5", "0", "[1, 2, 3]"], "pvals": ["[0.2, 0.8]", "[0.5, 0.9]", ARRAY], "n": ["5", "0", "-1"]}
DRAWS |= {"p": ["0.5", "None", "2.0", "[0.5, 0.5]"], "mean": ["[0.0, 1.0]"], "cov": ["[[1.0, 0.5], [0.5, 2.0]]"]}
DRAWS |= {"colors": ["[3, 4]"], "nsample": ["2", "99"], "alpha": ["[1.0, 2.0]", "[0.0]"], "method": ["'svd'", "'x'"]}
INDICES = ["0", "-1", "99", "-99", ":", "::2", "::-1", "1:3", "...", "None", "[0, 1]", "[[0], [1]]", "[-99]", "True"]
INDICES += ["x0 > 0", "x0 == x0", "0, 1", "..., 0", ":, [0, 0]", "1.0", "'a'", "np.array(1)", "::0", "np.uint8(1)"]
INDICES += ["2**70", "()", "[]", "[True, False]", "None, 0", "[0], 1:", "[0], :, [1]", "np.True_", "9:1:-2", "..., ..."]
INDICES += [ARRAY] * 6 + [f"{ARRAY}, {ARRAY}", f"{ARRAY}, 0", f"1:, {ARRAY}"]
_OPERATORS = "+ - * / // % ** @ < <= == != > >= & | ^ << >>".split()
# Calls that have no name.
TEMPLATES = [f"{ARRAY} {operator} {ARRAY}" for operator in _OPERATORS]
TEMPLATES += [f"operator.i{name}({ARRAY}, {ARRAY})" for name in "add sub mul truediv floordiv mod pow and or".split()]
TEMPLATES += [f"{name}({ARRAY})" for name in "abs float int complex bool len operator.index list sum max".split()]
TEMPLATES += [f"-{ARRAY}", f"~{ARRAY}", f"+{ARRAY}", f"divmod({ARRAY}, {ARRAY})", f"pow({ARRAY}, {ARRAY}, None)"]
TEMPLATES += [f"{ARRAY} in x0", f"round({ARRAY}, 1)", "x0.real", "x0.imag", "x0.T", "x0.flat[0]", "x0.mT", "x0[...]"]
TEMPLATES += ["x0[INDEX]"] * 6 + [f"operator.setitem(x0, np.s_[INDEX], {ARRAY})"] * 4
TEMPLATES += [f"operator.iadd(x0[INDEX], {ARRAY})", f"setattr(x0, 'real', {ARRAY})", f"setattr(x0, 'imag', {ARRAY})"]
# What ufuncs may be given besides arrays.
UFUNC = ["dtype=float", "dtype='i4'", "where=True", "casting='no'", "out=None", "axis=0", f"out={ARRAY}", "out=x0"]
UFUNC += [f"out={ARRAY}, where={ARRAY}", "dtype='f4', casting='unsafe'", "order='F'"]


_special = lru_cache(special)


class Operand(NamedTuple):
    """Makes arrays of one dtype and layout, or random generators."""

    dtype: str
    shape: tuple[int, ...]
    seed: int
    layout: str
    is_special: bool
    is_tame: bool = False  # whether it has to be without special values

    def __call__(self, turn: int = 0, value: int = 0) -> Any:
        """What it is in a turn, with one of its values.

        Every third turn has another first extent; two of ten have another layout and another dtype. Values are
        ordinary and special ones in turn.
        """
        if self.layout == "generator":
            return np.random.default_rng(self.seed + turn + value)
        dtype, shape, layout = np.dtype(self.dtype), self.shape, self.layout
        size, seed = int(np.prod(shape)), self.seed + turn
        if turn % 10 == 7 and layout != "masked":
            layout = ("C", *LAYOUTS)[seed % (len(LAYOUTS) + 1)]
        elif turn % 10 == 9:
            dtype = np.dtype(DTYPES[seed % len(DTYPES)])
        if shape and turn % 3 == 2:
            shape = ((0, 1, shape[0] + 1, 2)[turn // 3 % 4], *shape[1:])
            size = int(np.prod(shape))
        drawn = seed + 1000 * value
        if self.is_special == (turn + value) % 2 or self.is_tame:
            values = ordinary(dtype, size, drawn)
        else:
            odd = _special(dtype)
            if dtype.kind == "f" and (turn or value):  # sums of them overflow, or do not, by the order of their terms
                odd = odd[~(np.abs(odd) >= np.finfo(dtype).max)]
            values = odd[np.random.default_rng(drawn).integers(len(odd), size=size)]
        return _laid_out(np.array(values.reshape(shape)), layout, seed, drawn)


def _laid_out(made: np.ndarray, layout: str, seed: int, drawn: int) -> np.ndarray:
    """The elements in a layout."""
    shape = made.shape
    if layout == "masked":
        return np.ma.array(made, mask=np.random.default_rng(drawn).random(shape) < 0.3 if seed % 4 else False)
    if layout == "F":
        return np.asfortranarray(made) if made.ndim else made
    if layout == "strided" and made.ndim:
        return np.repeat(made, 2, axis=-1)[..., ::2]
    if layout == "reversed" and made.ndim:
        return made[::-1].copy()[::-1]
    if layout == "swapped":
        return made.astype(made.dtype.newbyteorder())
    if layout == "unaligned":
        there = np.empty(made.nbytes + 1, np.uint8)[1:].view(made.dtype).reshape(shape)
        there[...] = made
        return there
    if layout == "field":
        records = np.zeros(shape, [("before", "i4"), ("field", made.dtype)])
        records["field"] = made
        return records["field"]
    if layout == "broadcast" and made.ndim:
        return np.broadcast_to(made[:1], shape)
    made.flags.writeable = layout != "read-only"
    return made


def operand(choose: random.Random, masked: float = 0.0) -> Operand:
    """What makes an array of some dtype, shape, layout and values, which is masked with that probability."""
    dtype, shape, seed = choose.choice(DTYPES), choose.choice(SHAPES), choose.randrange(1 << 30)
    layout = choose.choice(["C"] * 6 + LAYOUTS)
    return Operand(dtype, shape, seed, "masked" if choose.random() < masked else layout, choose.random() < 0.2)
