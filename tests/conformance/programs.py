"""Random NumPy functions, as Python source: assignments, views, updates, loops and branches on values.

A program is written statement by statement, and each is kept only if the program so far runs without a floating-point
error and with values of moderate size: what is left has one right result up to rounding.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from texts import function_of

LARGEST = 1e6
DTYPES = ("float64", "float64", "float64", "float32", "int64", "int32", "int16", "uint8", "bool", "complex128")


@dataclass(frozen=True)
class Program:
    """A function of a few arrays and numbers.

    Parameters
    ----------
    seed : int
        Of its arguments.
    statements : tuple of str
        Each one a line or a block.
    result : str
        What is returned.
    """

    seed: int
    statements: tuple[str, ...]
    result: str

    @property
    def source(self) -> str:
        lines = [line for s in self.statements for line in s.split("\n")]
        body = "\n".join(f"    {line}" for line in [*lines, f"return {self.result}"])
        return f"def f(a, b, c, s, n):\n{body}\n"

    def function(self) -> Callable[..., Any]:
        """The function, whose source can be looked up as that of any module."""
        return function_of(self.source)

    def arguments(self, call: int) -> tuple:
        """Arguments of the call with this number: other values each time, and another shape the third time."""
        rng = np.random.default_rng(self.seed)
        aliasing, layouts = int(rng.integers(8)), rng.integers(6, size=3)
        dtypes = rng.choice(DTYPES, 3)
        rows, columns = (int(k) for k in rng.integers(2, 6, 2))
        shapes = [(rows, columns), (columns,), (rows, columns)] if rng.random() < 0.7 else [(columns,)] * 3
        values = np.random.default_rng([self.seed, call])
        if call == 2:
            shapes = [tuple(k + 1 for k in shape) for shape in shapes]
        a, b, c = (_array(values, *spec) for spec in zip(shapes, dtypes, layouts))
        if aliasing == 0:
            c = a
        elif aliasing == 1:
            wide = _array(values, tuple(k + 1 for k in shapes[0]), dtypes[0], 0)
            a, c = wide[tuple(slice(1, None) for _ in wide.shape)], wide[tuple(slice(-1) for _ in wide.shape)]
        return a, b, c, float(values.integers(-8, 9)) / 4, int(rng.integers(1, 4))


def _array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, layout: int) -> np.ndarray:
    # Quarters: most sums and products of them are exact, so that the order of operations does not matter.
    values = rng.integers(-12, 13, shape) / 4
    if dtype in ("uint8",):
        values = np.abs(values)
    if dtype == "complex128":
        values = values + 1j * rng.integers(-12, 13, shape) / 4
    made = (values > 0) if dtype == "bool" else values.astype(dtype)
    if layout == 1:
        return np.asfortranarray(made)
    if layout == 2:
        return made[::-1].copy()[::-1]
    return np.repeat(made, 2, axis=-1)[..., ::2] if layout == 3 else made


class Writer:
    """Writes one program.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int):
        self.rng = np.random.default_rng([seed, 1])
        self.program = Program(seed, (), "a")
        self.values: dict[str, Any] = {}
        self._try(())

    def write(self, length: int) -> Program:
        """A program of at least `length` statements, unless few are found that run."""
        for _ in range(12 * length):
            if len(self.program.statements) >= length:
                break
            self._try((*self.program.statements, self._statement()))
        names = [k for k in self.values if k != "n" and not k.startswith("k")]
        chosen = [str(n) for n in self.rng.choice(names, int(self.rng.integers(1, 4)))]
        return replace(self.program, result=f"({', '.join(dict.fromkeys([*chosen, names[-1]]))},)")

    def _try(self, statements: tuple[str, ...]) -> None:
        """Keep the statements if the program runs."""
        program = replace(self.program, statements=statements, result="dict(locals())")
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise", under="ignore"):
                values = program.function()(*program.arguments(0))
        except Exception:
            return
        if not isinstance(values, dict):
            return  # all that follows would not run
        for value in values.values():
            if isinstance(value, (np.ndarray, np.generic)):
                if value.dtype.kind not in "biufc" or value.size > 400 or value.ndim > 4:
                    return
                if value.size and not np.abs(value, dtype=float if value.dtype.kind != "c" else None).max() < LARGEST:
                    return
            elif not isinstance(value, (int, float)) or abs(value) > LARGEST:
                return
        self.program, self.values = program, values

    # Parts of statements.

    def _arrays(self) -> list[str]:
        return [k for k, v in self.values.items() if isinstance(v, np.ndarray)]

    def _pick(self) -> str:
        names = self._arrays()
        return names[-1] if self.rng.random() < 0.3 else str(self.rng.choice(names))

    def _scalar(self) -> str:
        names = [k for k, v in self.values.items() if not isinstance(v, np.ndarray) and k not in ("n",)]
        return str(self.rng.choice([*names, "s", "2", "0.5", "-1", "3.0"]))

    def _operand(self) -> str:
        return self._pick() if self.rng.random() < 0.6 else self._scalar()

    def _fresh(self) -> str:
        return f"t{len(self.program.statements)}"

    def _slice(self, name: str) -> str:
        """An index that gives a view of the array."""
        ndim = np.ndim(self.values[name])
        one = ["1:", ":-1", "::2", "::-1", ":", "1:-1", "0", "-1", "n - 1", ":n", "n:", "..."]
        parts = [str(p) for p in self.rng.choice(one, int(self.rng.integers(1, max(ndim, 1) + 1)))]
        return ", ".join(p for k, p in enumerate(parts) if p != "..." or "..." not in parts[:k])

    def _place(self, name: str) -> str:
        """An index of any kind."""
        kind = self.rng.integers(9)
        if kind < 5:
            return self._slice(name)
        if kind == 5:
            return f"{name} > {self._scalar()}" if np.asarray(self.values[name]).dtype.kind != "c" else "[0]"
        return str(self.rng.choice(["[0, -1]", "np.array([1, 0])", "[1, 1, 0]", "np.arange(n)"]))

    def _expression(self) -> str:
        x, y = self._pick(), self._operand()
        choose = self.rng.choice
        match int(self.rng.integers(15)):
            case 0 | 1 | 2 | 3:
                return f"{x} {choose(['+', '-', '*', '+', '-', '/'])} {y}"
            case 4:
                return f"{choose(['np.maximum', 'np.minimum', 'np.add', 'np.subtract', 'np.multiply'])}({x}, {y})"
            case 5:
                name = choose(
                    ["np.abs", "-", "np.square", "np.sqrt(np.abs", "np.floor", "np.tanh", "np.conj", "np.sign"]
                )
                return f"{name}({x})" + (")" if "(" in str(name) else "")
            case 6:
                axis = choose(["", "axis=0", "axis=-1", "axis=0, keepdims=True"])
                return f"{x}.{choose(['sum', 'max', 'min', 'mean', 'cumsum', 'prod'])}({axis})".replace(
                    "cumsum(axis=0, keepdims=True)", "cumsum(axis=0)"
                )
            case 7:
                return f"np.where({x} > {self._scalar()}, {x}, {y})"
            case 8:
                return f"{x}[{self._place(x)}]"
            case 9:
                return f"{x}[{self._slice(x)}] {choose(['+', '-', '*'])} {x}[{self._slice(x)}]"
            case 10:
                forms = [f"{x}.astype({t})" for t in ("np.float32", "np.int64", "float", "np.int16")]
                return str(choose([*forms, f"{x}.copy()", f"np.array({x})"]))
            case 11:
                forms = [f"np.concatenate(({x}, {x}))", f"np.roll({x}, 1)", f"np.stack([{x}, {x}])", f"np.sort({x})"]
                return str(choose([*forms, f"np.argsort({x}.ravel())", f"np.cumsum({x}, axis=0)", f"np.flip({x})"]))
            case 12:
                forms = [
                    f"np.zeros_like({x})",
                    f"np.ones({x}.shape)",
                    f"np.full({x}.shape, {self._scalar()})",
                    "np.arange(n + 2)",
                ]
                return str(
                    choose(
                        [*forms, f"np.zeros(({x}.shape[0], n))", "np.eye(n)", f"np.linspace(0, {self._scalar()}, 4)"]
                    )
                )
            case 13:
                return f"{x} @ {choose([f'{x}.T', 'b', x])}"
            case _:
                return f"np.array([{self._scalar()}, {self._scalar()}, n])"

    def _view(self) -> str:
        x = self._pick()
        forms = [
            f"{x}[{self._slice(x)}]",
            f"{x}[{self._slice(x)}]",
            f"{x}.T",
            f"{x}.reshape(-1)",
            f"{x}[None]",
            f"{x}.ravel()",
        ]
        return str(
            self.rng.choice([*forms, f"{x}.real", f"np.swapaxes({x}, 0, -1)", f"{x}[..., 0]", f"np.squeeze({x})"])
        )

    def _update(self, index: str = "") -> str:
        x, y = self._pick(), self._operand()
        choose = self.rng.choice
        place = index or self._place(x)
        match int(self.rng.integers(12)):
            case 0 | 1:
                return f"{x}[{place}] = {choose([y, self._scalar(), f'{x}[{place}] * 0.5'])}"
            case 2 | 3:
                return f"{x}[{place}] {choose(['+=', '-=', '*='])} {choose([y, self._scalar()])}"
            case 4:
                return f"{x} {choose(['+=', '-=', '*=', '/=', '//='])} {y}"
            case 5:
                first, second = choose([["1:", ":-1"], [":-1", "1:"], ["1:-1", "2:"], ["::2", "::2"], [":", "::-1"]])
                return f"{x}[{first}] {choose(['=', '+=', '-='])} {x}[{second}]"
            case 6:
                return f"np.{choose(['add', 'subtract', 'multiply', 'maximum'])}({x}, {y}, out={x})"
            case 7:
                return f"{x}[...] = {self._expression()}"
            case 8:
                return str(
                    choose(
                        [
                            f"{x}.fill({self._scalar()})",
                            f"{x}.sort()",
                            f"np.copyto({x}, {y})",
                            f"np.clip({x}, -1, 1, out={x})",
                        ]
                    )
                )
            case 9:
                return str(
                    choose(
                        [
                            f"np.add.at({x}, [0, 0, 1], 1)",
                            f"{x}.flat[1] = {self._scalar()}",
                            f"{x}.T[0] = {self._scalar()}",
                        ]
                    )
                )
            case 10:
                return f"{x}[{self._slice(x)}][{self._slice(x)}] = {self._scalar()}"
            case _:
                return f"{x}[{place}] = {self._expression()}"

    def _condition(self) -> str:
        x = self._pick()
        forms = [
            f"{x}.sum() > {self._scalar()}",
            f"{x}.max() > 1",
            f"{x}.flat[0] > 0",
            f"{x}.size > 6",
            "n > 1",
            "s > 0",
        ]
        return str(
            self.rng.choice([*forms, f"np.any({x} > 2)", f"{x}.mean() < {self._scalar()} and n < 3", f"{x}.ndim == 2"])
        )

    def _statement(self) -> str:
        match int(self.rng.integers(14)):
            case 0 | 1 | 2 | 3:
                return f"{self._fresh()} = {self._expression()}"
            case 4 | 5:
                return f"{self._fresh()} = {self._view()}"
            case 6 | 7 | 8 | 9:
                return self._update()
            case 10:
                name = self._fresh()
                x = self._pick()
                forms = [
                    f"{x}.sum()",
                    f"float({x}.flat[0])",
                    f"{x}.max()",
                    f"int({x}.sum()) % 5",
                    f"len({x})",
                    f"{x}.mean()",
                ]
                return f"{name} = {self.rng.choice(forms)}"
            case 11:
                body = [self._update(), self._update("k")][: int(self.rng.integers(1, 3))]
                head = self.rng.choice(
                    ["for k in range(n):", "for k in range(2):", f"for k in range(len({self._pick()})):"]
                )
                return "\n    ".join([str(head), *body])
            case 12:
                then, other = self._update(), self._update()
                return f"if {self._condition()}:\n    {then}\nelse:\n    {other}"
            case _:
                x, y = self._pick(), self._pick()
                return str(
                    self.rng.choice(
                        [
                            f"{x}, {y} = {y}, {x}",
                            f"for row in {x}:\n    row *= 0.5",
                            f"if {self._condition()}:\n    return {x}",
                        ]
                    )
                )


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The shortest program that is left when statements are taken away as long as it still fails."""
    found = True
    while found:
        found = False
        for k in range(len(program.statements)):
            smaller = replace(program, statements=program.statements[:k] + program.statements[k + 1 :])
            if fails(smaller):
                program, found = smaller, True
                break
    return program
