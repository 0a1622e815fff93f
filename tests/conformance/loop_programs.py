"""Random functions with Python loops for the fuzz test, as source."""

import numpy as np

SHAPE = (4, 6)
NAMES = ("a", "b", "c", "d")


class LoopWriter:
    """Writes one function whose loops may or may not repeat."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.ranges = 0

    def write(self) -> str:
        """The source of ``f(a, b, s)``: two arrays and a float."""
        self._line(0, "c = a * 0.5")
        self._line(0, str(self.rng.choice(["d = b", "d = b.copy()", "d = a[::-1]", "d = np.zeros((4, 6))"])))
        self._line(0, "k, t, state = 0, 0.25, [a, b]")
        for _ in range(int(self.rng.integers(1, 3))):
            self._loop(0, 2)
            if self.rng.random() < 0.5:
                self._statement(0)
        self._line(0, "return a, b, c, d, s, k, t, state[0]")
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def f(a, b, s):\n{body}"

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _loop(self, depth: int, levels: int) -> None:
        if self.rng.random() < 0.3:
            self._conditional(depth)
            return
        variable = str(self.rng.choice(["_", f"i{self.ranges}"]))
        self.ranges += 1
        self._line(depth, f"for {variable} in range({self.rng.choice([0, 1, 5, 9, 10, 11, 16])}):")
        for _ in range(int(self.rng.integers(1, 5))):
            if levels > 1 and self.rng.random() < 0.2:
                self._loop(depth + 1, levels - 1)
            else:
                self._statement(depth + 1)
        if self.rng.random() < 0.1:
            self._line(depth + 1, f"t = t + {variable} * 0.125" if variable != "_" else "k += 1")
        if self.rng.random() < 0.3:
            uses = [f"c = c + {variable}", f"d = d * 0.5 + ({variable} + 1) * t", f"a[{variable} % 4] = 0.5", "k += 2"]
            uses += [f"b = b * 0.5 if {variable} < 6 else b + 0.125", f"a = a + k * 0.25; k = {variable} - 3"]
            for part in str(self.rng.choice(uses)).split("; "):
                self._line(depth + 1, part)

    def _conditional(self, depth: int) -> None:
        """A loop that ends when a scalar has become small."""
        first = str(self.rng.choice(["1.0", "s * 0 + 1.0", "np.abs(a).max() * 0 + 1.0", "b[0, 0] * 0 + 2.0"]))
        limit = float(self.rng.choice([3.0, 0.6, 0.1, 1e-3]))
        self._line(depth, f"m = {first}")
        if self.rng.random() < 0.5:
            self._line(depth, f"while m > {limit}:")
        else:
            self._line(depth, f"for _ in range({self.rng.choice([2, 4, 12])}):")
        for _ in range(int(self.rng.integers(1, 4))):
            self._statement(depth + 1)
        if self.rng.random() < 0.4:
            counted = (
                "k += 1",
                "k = k - 3",
                "k += 1; a = a * 0.5 if k < 4 else a + 0.25",
                "t = -t",
                "b = b + k * 0.125",
            )
            for part in str(self.rng.choice(counted)).split("; "):
                self._line(depth + 1, part)
        self._line(depth + 1, "m = m * 0.5 + abs(c).max() * 0")
        if self.lines[-1].startswith("    " * (depth + 1)) and "while" not in self._head(depth):
            self._line(depth + 1, f"if m < {limit}:")
            self._line(depth + 2, "break")

    def _head(self, depth: int) -> str:
        """The innermost loop of that depth."""
        return next(
            line for line in reversed(self.lines) if line.startswith(("    " * depth + "while", "    " * depth + "for"))
        )

    def _name(self) -> str:
        return str(self.rng.choice(NAMES))

    def _statement(self, depth: int) -> None:
        x, y, z = self._name(), self._name(), self._name()
        forms = (
            f"{x} = {y} * 0.5 + {z} * 0.25",
            f"{x} = ({y} + {z}[::-1]) * 0.5",
            f"{x}, {y} = {y}, {x}",
            f"{x}, {y}, {z} = {y}, {z}, {x}" if len({x, y, z}) == 3 else f"{x} = {y}",
            f"{x}[1:-1] = ({y}[2:] + {y}[:-2]) * 0.5",
            f"{x}[{self.rng.integers(-2, 3)}] *= 0.5",
            f"{x} += 0.125",
            f"{x} = {y}",
            f"{x} = {y}.copy()",
            f"{x} = {y}[::-1]",
            f"w = {x}[1]; w += 0.25",
            f"w = {x} - {y}; {z} = w * 0.5",
            f"s = s * 0.5 + {x}[0, 1]",
            f"{x} = np.minimum({x}, s)",
            "t = t * 0.5",
            f"{x} = {x} * t",
            f"state[{self.rng.integers(2)}] = {x} + 0",
            f"state[0], state[1] = state[1], state[0]; {x} = state[0]",
            f"{x} = np.where({y} > 0, {y} * 0.5, {z})",
            f"np.add({x}, {y} * 0.25, out={z})",
            f"{x} = np.full((4, 6), 0.5) + {y} * 0.25",
        )
        for part in str(self.rng.choice(forms)).split("; "):
            self._line(depth, part)
