"""The calls of a random program: arguments that change in values, shapes, dtypes, layouts and what they share."""

import random
import warnings

import numpy as np
from random_code_definitions import BETWEEN

DTYPES = ("f8 " * 10 + "f4 f4 f4 i8 i8 i4 i2 i1 u1 u2 u4 u8 ? ? c16 c16 c8 f2").split()


def A(seed: int, shape: tuple[int, ...], dtype: str, layout: str = "C", values: str = "quarters") -> np.ndarray:
    """An array of random numbers; most sums and products of quarters are exact."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    x = rng.normal(size=shape) if values == "normal" else rng.integers(-12, 13, shape) / 4
    if values == "special":
        odd = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-320, 1e308, 0.5]
        if kind in "iu":
            info = np.iinfo(dtype)
            odd = [info.min, info.max, 0, 1, info.max - 1, 2, 3]
        x = rng.choice(odd if kind in "fciu" else [0.0, 1.0], shape)
        x = np.array([odd[k] for k in rng.integers(len(odd), size=x.size)], object).reshape(shape)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "u" and values != "special":
            x = np.abs(x)
        if kind == "c":
            x = x.astype(float) + 1j * (rng.integers(-12, 13, shape) / 4)
        made = (x.astype(float) > 0) if kind == "b" else np.asarray(x).astype(dtype)
    if layout == "F":
        return np.asfortranarray(made)
    if layout == "reversed" and made.ndim:
        return made[::-1].copy()[::-1]
    if layout == "strided" and made.ndim:
        return np.repeat(made, 2, axis=-1)[..., ::2]
    return made


class Calls:
    """Writes the statements that make the arguments of each call.

    Parameters
    ----------
    random : random.Random
    parameters : list of str
    """

    def __init__(self, random: random.Random, parameters: list[str]):
        self.random, self.parameters = random, parameters
        rows, columns = random.randint(2, 5), random.randint(2, 5)
        shape: tuple[int, ...] = random.choice([(rows,), (rows,), (rows, columns), (rows, columns), (2, rows, columns)])
        if random.random() < 0.5:
            shape = random.choice([(300,), (40, 30), (5, 9, 11), (2000,), (2000,), (5000,), (90, 70)])
        if random.random() < 0.06:
            shape = random.choice([(20_000,), (150, 140)])
        self.shapes = [shape, random.choice([shape, shape, shape[-1:]])]
        self.dtypes = random.choices(DTYPES, k=2)
        if random.random() < 0.6:
            self.dtypes[1] = self.dtypes[0]
        self.layouts = random.choices(["C", "C", "C", "F", "reversed", "strided"], k=2)
        self.values = random.choice(["quarters"] * 6 + ["normal", "normal", "special"])
        self.callback = random.choice(
            ["HIST.append", "lambda v: HIST.append(v)", "(lambda v: HIST.append(v * 2))", "(lambda v: W * v)"]
        )
        self.n, self.s = random.randint(1, 3), random.choice(["0.5", "2.0", "-1.25", "3", "0.0"])

    def first(self) -> str:
        return self._text(0, self.shapes, self.dtypes, self.layouts, self.values, self.s, str(self.n), [])

    def further(self, call: int) -> str:
        """The call with this number, which differs from the first in something or other."""
        choose = self.random.choice
        shapes, dtypes, layouts, values = self.shapes, self.dtypes, self.layouts, self.values
        s, n, after = choose([self.s, str(call / 4), str(-call / 2)]), str(self.n), []
        what = choose(["same"] * 3 + list(range(15))) if call > 1 else "same"
        if what == 0:
            shapes = [tuple(k + 1 for k in shape) for shape in shapes]
        elif what == 1:
            shapes = [tuple(choose([0, 1, k]) for k in shape) for shape in shapes]
        elif what == 2:
            shapes = [choose([(), (4,), (3, 4), (1, 1)]), shapes[1]]
        elif what == 3:
            dtypes = self.random.choices(DTYPES, k=2)
        elif what == 4:
            layouts = self.random.choices(["C", "F", "reversed", "strided"], k=2)
        elif what in (5, 6):
            values = choose(["special", "normal"])
        elif what in (7, 8):
            alias = [
                "{}",
                "{}[::-1]",
                "{}[...]",
                "{}.T",
                "{}[1:]",
                "{}.reshape(-1)",
                "np.broadcast_to({}[:1], (3,) + {}.shape)",
            ]
            after = ["args[1] = " + choose(alias).replace("{}", "args[0]")]
        elif what == 9:
            after = [f"args[{choose([0, 1])}].flags.writeable = False"]
        elif what == 10:
            n = choose(["0", "1", "2", "3", "4", "-1", "np.int64(2)", "True", "2.0"])
        elif what == 11:
            s = choose(
                ["2", "0.0", "-0.0", "np.nan", "np.inf", "np.float32(0.1)", "True", "1e300", "2**40", "None", "1j"]
            )
        elif what == 12:
            after = [choose(["err = dict(all='ignore')", "err = dict(all='raise')", "err = dict(divide='raise')"])]
        elif what == 13:
            after = [choose(BETWEEN), choose(BETWEEN)]
        elif what == 14:
            after = ["keep.clear()", choose(["args[0] = args[0].tolist()", "args[1] = 2.5", "args[0] = args[0][:2]"])]
        return self._text(call, shapes, dtypes, layouts, values, s, n, after)

    def _text(
        self, call: int, shapes: list, dtypes: list, layouts: list, values: str, s: str, n: str, after: list[str]
    ) -> str:
        a, b = (
            f"A({10 * call + k}, {shape}, {dtype!r}, {layout!r}, {values!r})"
            for k, (shape, dtype, layout) in enumerate(zip(shapes, dtypes, layouts))
        )
        flag = self.random.random() < 0.3
        made = {
            "o": f"keep.setdefault('o', K(A(3, {shapes[0]}, 'f8'), 1))",
            "l": f"keep.setdefault('l', [args[0], A(4, {shapes[0]}, 'f8')])" if call % 2 else "[args[0], args[1]]",
            "d": "keep.setdefault('d', {'p': 0.5, 'q': args[0]})",
            "cb": self.callback if call % 4 != 3 else "(lambda v, seen=keep.setdefault('seen', []): seen.append(v))",
            "g": "keep.setdefault('g', np.random.default_rng(7))",
        }
        lines = ["err = {}", f"args = [{a}, {b}, {s}, {n}, {flag}]", *after]
        return "\n".join(lines + [f"args.append({made[p]})" for p in self.parameters[5:]])
