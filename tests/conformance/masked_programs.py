"""Random small programs over masked arrays, and arguments for them."""

import random

import numpy as np

SHAPES = ((0,), (1,), *[(7,), (40,), (3, 4), (4, 3), (2, 3, 4)] * 3, ())
DTYPES = "ddddffelliBb?FD"
SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 1e300)

BINARY = ("+", "-", "*", "/", "//", "**", "<", "<=", "==", "!=", ">", ">=", "%", "&", "|")
ROUNDING = (
    "sum", "mean", "var", "std", "prod", "cumsum", "cumprod", "anom", "exp", "log", "sin", "sqrt", "**", "power",
    "hypot", "arc", "abs",
)  # fmt: skip
FOLDS = ("sum", "mean", "var", "std", "prod", "min", "max", "any", "all", "count")
OF_ONE = (
    "exp",
    "log",
    "sqrt",
    "sin",
    "abs",
    "negative",
    "arcsin",
    "log2",
    "floor",
    "logical_not",
    "isfinite",
    "square",
)
MA_OF_ONE = (
    "exp",
    "log",
    "sqrt",
    "abs",
    "negative",
    "arctanh",
    "floor",
    "logical_not",
    "around",
    "masked_invalid",
    "round",
)
OF_TWO = ("add", "multiply", "divide", "power", "maximum", "greater", "hypot", "remainder", "logical_or", "fmod")
MA_OF_TWO = (
    "add", "multiply", "divide", "power", "maximum", "greater", "equal", "remainder", "floor_divide", "minimum",
    "masked_greater", "masked_less_equal", "masked_equal", "masked_not_equal", "arctan2", "logical_and",
)  # fmt: skip


class Writer:
    """One program, as it is written."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines, self.count = [], 0
        self.names = ["m", "m", "n", "x"]

    def operand(self):
        number = self.rng.choice(("2.0", "0", "-1.5", "s", "3"))
        return number if self.rng.random() < 0.2 else self.rng.choice(self.names)

    def axis(self):
        return self.rng.choice(("", "", "", "axis=0", "axis=-1", "axis=0, keepdims=True", "axis=1"))

    def one_of(self, words):
        return self.rng.choice(words.split())

    def expression(self):
        rng, one_of, a, c = self.rng, self.one_of, self.rng.choice(self.names), self.operand()
        return rng.choice((
            lambda: f"{a} {rng.choice(BINARY)} {c}",
            lambda: f"{c} {rng.choice(BINARY)} {a}",
            lambda: f"{a} {rng.choice(BINARY)} {c}",
            lambda: f"np.ma.{rng.choice(MA_OF_TWO)}({a}, {c})",
            lambda: f"np.ma.{rng.choice(MA_OF_ONE)}({a})",
            lambda: f"np.{rng.choice(OF_TWO)}({a}, {c})",
            lambda: f"np.{rng.choice(OF_ONE)}({a})",
            lambda: rng.choice((f"-{a}", f"abs({a})", f"~({a} > 0)", f"+{a}")),
            lambda: f"{a}.{rng.choice(FOLDS)}({self.axis()})",
            lambda: f"np.ma.{rng.choice(FOLDS)}({a}, {self.axis()})",
            lambda: f"np.{one_of('sum mean max std any cumsum')}({a})",
            lambda: f"{a}.{one_of('cumsum cumprod argmax argmin anom')}({rng.choice(('', 'axis=0'))})",
            lambda: f"{a}[{rng.choice((*'1: ::2 ... 0 -1 ::-1 None'.split(), f'{a} > 0', '[0, 0]', '..., 0'))}]",
            lambda: f"{a}.{one_of('T copy() ravel() flatten() squeeze() reshape(-1) real imag')}",
            lambda: f"{a}.astype({one_of('float np.float32 int bool complex')})",
            lambda: f"{a}.{one_of('round() round(1) swapaxes(0,-1) repeat(2) diagonal() T.ravel()')}",
            lambda: f"np.ma.{one_of('getmask getmaskarray getdata filled compressed is_masked')}({a})",
            lambda: f"{a}.{one_of('mask data fill_value filled() filled(7) compressed() shape')}",
            lambda: f"{one_of('m n')}.{one_of('mask data fill_value filled() filled(7) compressed() shape')}",
            lambda: f"np.ma.masked_where({a} > 0, {rng.choice(self.names)}{rng.choice(('', '', ', copy=False'))})",
            lambda: f"np.ma.masked_{one_of('inside outside')}({a}, {rng.choice(('-1, 1', '2, 0', 's, 1'))})",
            lambda: f"np.ma.where({a} > 0, {rng.choice(self.names)}, {c})",
            lambda: f"np.where({a} > 0, {rng.choice(self.names)}, {c})",
            lambda: f"np.ma.{one_of('array masked_array MaskedArray')}({a}{self.options()})",
            lambda: f"({a}, {c})[0]",
        ))()  # fmt: skip

    def options(self):
        found = ""
        for option in ("mask=m.mask", "mask=x > 0", "mask=True", "mask=m > 0", "copy=True", "fill_value=3",
                       "keep_mask=False", "dtype=float", "hard_mask=True"):  # fmt: skip
            if self.rng.random() < 0.15 and not (found and option.startswith("mask=") and "mask=" in found):
                found += f", {option}"
        return found

    def statement(self):
        rng = self.rng
        if rng.random() < 0.8:
            name = f"t{self.count}"
            self.count += 1
            self.lines.append(f"{name} = {self.expression()}")
            self.names.append(name)
            return
        a, c = rng.choice(self.names), self.operand()
        self.lines.append(rng.choice((
            f"{a} {rng.choice(('+', '-', '*', '/', '//', '&'))}= {c}",
            f"{a}[{rng.choice(('0', '1:', '...', f'{a} > 0', '::2'))}] = {c}",
            f"{a}[{rng.choice(('0', '1:', f'{a} > 0'))}] = np.ma.masked",
            f"{a}.fill_value = {rng.choice(('1', 's'))}",
            f"{a}.mask = {rng.choice(('True', 'False', f'{a}.data > 0', 'm.mask'))}",
            f"{a}.data[...] = {c}",
        )))  # fmt: skip

    def source(self):
        for _ in range(self.rng.randint(1, 5)):
            self.statement()
        made = [name for name in dict.fromkeys(self.names) if name.startswith("t")]
        results = self.rng.sample(made, min(len(made), self.rng.randint(1, 3))) or ["m"]
        if self.rng.random() < 0.1:
            results.append("m")
        lines = [*self.lines, f"return {', '.join(results)}"]
        return "def f(m, n, x, s):\n" + "".join(f"    {line}\n" for line in lines)


def written(seed):
    """The source of a program."""
    return Writer(seed).source()


def rounds(source):
    """Whether results of a program may differ in the last places."""
    return any(name in source for name in ROUNDING)


def data(rng, shape, dtype):
    """Data of a dtype, some of it special."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu?b":
        return (
            rng.integers(0, 4, shape).astype(dtype) if rng.random() < 0.7 else rng.integers(-9, 99, shape).astype(dtype)
        )
    found = np.asarray(rng.integers(-4, 5, shape) * 0.5)
    if rng.random() < 0.5 and found.size:
        found = np.where(rng.random(shape) < 0.2, rng.choice(SPECIAL, shape), found)
    if dtype.kind == "c":
        found = found + 1j * rng.integers(-2, 3, shape)
    with np.errstate(all="ignore"):
        return np.asarray(found).astype(dtype)


def laid_out(rng, array):
    """The same array in another layout."""
    how = rng.integers(6)
    if how == 0:
        return np.asfortranarray(array)
    if how == 1 and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if how == 2 and array.ndim:
        return array[::-1]
    return array


def masked(rng, shape, dtype, kinds):
    """A masked array; `kinds` says which, so that several calls get arrays of one kind."""
    array = laid_out(kinds, data(rng, shape, dtype))
    which = kinds.choice(["nomask", "some", "some", "some", "none", "all", "bare"])
    fill = (None, None, 5, 77)[kinds.integers(4)]
    if which in ("nomask", "bare"):
        made = array.view(np.ma.MaskedArray) if which == "bare" else np.ma.array(array, fill_value=fill)
    else:
        mask = {"some": rng.random(shape) < 0.4, "none": np.zeros(shape, bool), "all": np.ones(shape, bool)}[which]
        made = np.ma.array(array, mask=laid_out(kinds, np.asarray(mask)), fill_value=fill)
    if kinds.random() < 0.1:
        made.harden_mask()
    if kinds.random() < 0.1:
        made = made[...]
    return made


def arguments(seed, turn):
    """The arguments of a call: of the same kinds in each turn, with other values, and late ones with other sizes."""
    kinds, rng = np.random.default_rng(seed), np.random.default_rng((seed, turn))
    shape = tuple(n + 2 * max(turn - 2, 0) for n in SHAPES[kinds.integers(len(SHAPES))])
    dtypes = [DTYPES[kinds.integers(len(DTYPES))] for _ in range(3)]
    if kinds.random() < 0.6:
        dtypes = dtypes[:1] * 3
    m = masked(rng, shape, dtypes[0], kinds)
    other = kinds.random()
    n_shape = shape if other < 0.7 else shape[-1:] if other < 0.97 else ()
    n = m if kinds.random() < 0.05 else masked(rng, n_shape, dtypes[1], kinds)
    if kinds.random() < 0.1:
        n = m + 0 if m.dtype.kind != "b" else m.copy()
    x = laid_out(kinds, data(rng, shape, dtypes[2]))
    s = (1.5, 2, np.float64(0.5), np.float32(3), True)[kinds.integers(5)]
    return m, n, x, s
