"""Random functions of arrays for the fuzz test, as Python source: a failure shows a program that can be run."""

import numpy as np

EXTENTS = (1, 2, 3, 4, 5, 7)
WIDE_EXTENTS = (1, 5, 8, 11, 33, 64)  # rows that fill tiles and vectors, and leave something of them
BINARY = ("np.add", "np.subtract", "np.multiply", "np.maximum", "np.minimum", "np.hypot", "np.logaddexp")
UNARY = ("np.negative", "np.abs", "np.sin", "np.tanh", "np.square", "np.floor", "np.exp(-np.abs", "np.sqrt(np.abs")
FOLDS = ("sum", "mean", "max", "min", "std", "prod")


class Writer:
    """Writes one function, line by line, keeping the value of every variable at hand."""

    def __init__(self, seed: int, extents: tuple[int, ...] = EXTENTS):
        self.rng = np.random.default_rng(seed)
        self.extents, self.largest = extents, 5000 * extents[-1] // EXTENTS[-1]
        self.lines: list[str] = []
        self.values: dict[str, np.ndarray] = {}
        self.arguments: dict[str, np.ndarray] = {}
        for k in range(self.rng.integers(1, 4)):
            name = f"x{k}"
            self.arguments[name] = self.values[name] = self._argument()

    def _argument(self) -> np.ndarray:
        shape = [int(self.rng.choice(self.extents)) for _ in range(self.rng.integers(1, 4))]
        if self.rng.random() < 0.05:
            shape[self.rng.integers(len(shape))] = 0
        dtype = self.rng.choice(["float64", "float64", "float32", "int64", "int32"])
        values = (self.rng.normal(size=shape) * 3).astype(dtype)
        layout = self.rng.integers(4)
        if layout == 1:
            return np.asfortranarray(values)
        if layout == 2:
            return values[::-1]
        return np.repeat(values, 2, axis=-1)[..., ::2] if layout == 3 else values

    def write(self, length: int) -> tuple[str, dict[str, np.ndarray], list[str]]:
        """The source of a function, its arguments, and the names of what it returns."""
        while len(self.lines) < length:
            self._add(self._expression(self._pick()))
        names = list(self.values)[len(self.arguments) :]
        count = min(len(names), int(self.rng.integers(1, 4)))
        results = sorted({names[-1], *self.rng.choice(names, count)})
        body = "".join(f"    {line}\n" for line in self.lines)
        source = f"def f({', '.join(self.arguments)}):\n{body}    return ({', '.join(results)},)\n"
        return source, self.arguments, results

    def _pick(self) -> str:
        names = list(self.values)
        return names[-1] if self.rng.random() < 0.5 else str(self.rng.choice(names))

    def _add(self, expression: str) -> None:
        with np.errstate(all="ignore"):
            try:
                value = eval(expression, {"np": np, **self.values})
            except (ValueError, TypeError, IndexError):
                return
        kind = np.asarray(value).dtype.kind
        huge = kind != "b" and np.size(value) and not np.all(np.abs(value) < 1e6)
        if np.size(value) > self.largest or huge or np.ndim(value) > 5:
            return  # overflows differ, by the order of operations, between one correct way and another
        name = f"t{len(self.lines)}"
        self.values[name] = value
        self.lines.append(f"{name} = {expression}")

    def _expression(self, x: str) -> str:
        choose = self.rng.choice
        ndim = np.ndim(self.values[x])
        axis = int(self.rng.integers(ndim)) if ndim else 0
        other = self._pick()
        match int(self.rng.integers(13)):
            case 0 | 1 | 2:
                return f"{choose(BINARY)}({x}, {other})"
            case 3:
                name = str(choose(UNARY))
                return f"{name}({x})" + (")" if name.count("(") else "")
            case 4:
                return f"{x} * {choose(['2', '0.5', '1.5', '-1'])} + {choose(['1', '0.25', other])}"
            case 5 | 6:
                axes = tuple(int(a) for a in np.flatnonzero(self.rng.random(ndim) < 0.5))
                chosen = choose(["None", str(axis), str(axes)])
                return f"{x}.{choose(FOLDS)}(axis={chosen}, keepdims={bool(self.rng.random() < 0.6)})"
            case 7:
                return str(choose([f"{x}.T", f"np.swapaxes({x}, 0, {axis})", f"np.moveaxis({x}, {axis}, 0)"]))
            case 8:
                start, step = int(self.rng.integers(-2, 3)), int(choose([1, 2, -1, -2]))
                return f"{x}[{', '.join([':'] * axis + [f'{start}::{step}'])}]"
            case 9:
                forms = (f"{x}.reshape(-1)", f"{x}.reshape({x}.shape[::-1])", f"{x}[..., None]", f"np.squeeze({x})")
                return str(choose(forms))
            case 10:
                return f"np.concatenate(({x}, {other}, {x}), axis={axis})"
            case 11:
                return str(choose([f"np.where({x} > 0, {x}, {other})", f"({x} < {other})", f"np.clip({x}, -1, 2)"]))
            case _:
                forms = (f"np.roll({x}, 1)", f"np.flip({x})", f"np.repeat({x}, 2, {axis})", f"np.pad({x}, 1)")
                return str(choose((*forms, f"{x}.cumsum()")))
