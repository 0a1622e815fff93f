"""Random stencils of stencils, as Python source: a failure shows a function that can be run."""

import math

import numpy as np

SHAPES = (
    (200,),
    (5000,),
    (20_000,),
    (9, 70),
    (40, 90),
    (33, 3000),
    (3, 9000),
    (12, 11, 80),
    (3, 20, 400),
    (6, 8, 7, 64),
)
MOST_ELEMENTS = 130_000
COSTLY = (
    "np.sqrt(np.abs({x}) + 1) / (1 + {x} * {x})",
    "np.where({x} > 0.5, {x} * {x}, 1 / (2 + {x}))",
    "(1 - {x}) / (3 + np.abs({x}) * {x} * {x})",
)
EXACT = ("{x} * 3 + {x} // 2 - ({x} ^ 5)", "np.maximum({x}, 7 - {x}) % 1000 + {x} * 2", "({x} & 255) * ({x} & 15) + 1")


class Writer:
    """Writes one function, line by line, keeping the value of every variable at hand.

    Parameters
    ----------
    seed : int
    odd : bool
        Whether some operands are reversed, or shifted in memory so that their rows go across those of what is stored.
    """

    def __init__(self, seed: int, odd: bool = False):
        self.rng = np.random.default_rng(seed)
        self.odd = odd
        dtype = self.rng.choice(["f8", "f8", "f4", "i8"])
        shape = SHAPES[self.rng.integers(len(SHAPES))]
        self.functions = EXACT if dtype == "i8" else COSTLY
        self.lines: list[str] = []
        self.values: dict[str, np.ndarray] = {}
        for k in range(self.rng.integers(1, 3)):
            values = self.rng.integers(0, 100, shape) if dtype == "i8" else self.rng.normal(size=shape)
            self.values[f"x{k}"] = self._in_memory(values.astype(dtype))
        self.arguments = dict(self.values)

    def _in_memory(self, values: np.ndarray) -> np.ndarray:
        match self.rng.integers(8):
            case 0:
                return np.asfortranarray(values)
            case 1:
                return np.repeat(values, 2, axis=-1)[..., ::2]
            case 2:
                return values[::-1]
        return values

    def write(self, length: int) -> tuple[str, dict[str, np.ndarray]]:
        """The source of a function of several results, and its arguments."""
        while len(self.lines) < length:
            self._add(self._expression())
        made = [n for n in self.values if n not in self.arguments]
        count = int(self.rng.integers(1, 3))
        results = sorted({made[-1], *self.rng.choice(made, count)}) if self.rng.random() < 0.5 else [made[-1]]
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def f({', '.join(self.arguments)}):\n{body}    return ({', '.join(results)},)\n", self.arguments

    def _add(self, expression: str) -> None:
        with np.errstate(all="ignore"):
            value = eval(expression, {"np": np, **self.values})
        if np.size(value) and min(value.shape) > 1:
            name = f"t{len(self.lines)}"
            self.values[name] = value
            self.lines.append(f"{name} = {expression}")

    def _pick(self) -> str:
        names = list(self.values)
        return names[-1] if self.rng.random() < 0.7 else str(self.rng.choice(names))

    def _expression(self) -> str:
        x = self._pick()
        if self.rng.random() < 0.5:
            return str(self.rng.choice(self.functions)).format(x=x)
        return self._differences(x)

    def _differences(self, x: str) -> str:
        """A sum of several parts of an array, cut alike on all sides; or of parts of two arrays."""
        shape = self.values[x].shape
        reach = [int(self.rng.integers(0, 3)) if n > 6 else int(self.rng.integers(0, min(n, 2))) for n in shape]
        extents = [n - r for n, r in zip(shape, reach)]
        terms = []
        for _ in range(self.rng.integers(2, 5)):
            y = self._pick()
            if y == x or len(self.values[y].shape) != len(shape):
                y = x
            first = [int(self.rng.integers(0, r + 1)) for r in reach]
            if any(a + n > m for a, n, m in zip(first, extents, self.values[y].shape)):
                y = x
            cut = ", ".join(f"{a}:{a + n}" for a, n in zip(first, extents))
            operand = f"{y}[{cut}]"
            if self.odd and self.rng.random() < 0.4:
                operand = self._odd(y, cut, tuple(extents))
            terms.append(f"{self.rng.integers(1, 4)} * {operand}")
        return " - ".join(terms)

    def _odd(self, y: str, cut: str, extents: tuple[int, ...]) -> str:
        """Elements of an array in other places than a window of it has."""
        shift = int(self.rng.integers(1, 4))
        size, whole = math.prod(extents), self.values[y].size
        forms = [f"{y}[{cut}][{', '.join(self.rng.choice(['::-1', ':'], len(extents)))}]"]
        if size + shift <= whole:
            forms.append(f"{y}.reshape(-1)[{shift}:{size + shift}].reshape{extents}")
        # The leading axes as they are, and rows that begin where others do not: the last ones end in the next row.
        inner = math.prod(self.values[y].shape[1:])
        if len(extents) > 1 and extents[1:] == self.values[y].shape[1:] and (extents[0] * inner) + shift <= whole:
            forms.append(f"{y}.ravel()[{shift}:{shift + extents[0] * inner}].reshape({extents[0]}, {inner})")
            forms[-1] += f".reshape{extents}"
        return str(self.rng.choice(forms))


def program(seed: int, odd: bool = False) -> tuple[str, dict[str, np.ndarray]]:
    """The source of a function, and its arguments."""
    writer = Writer(seed, odd)
    return writer.write(int(writer.rng.integers(3, 10)))
