"""Random functions with loops, as people write them: nested and triangular, rows beside elements, masks, helpers.

A `Writer` keeps the variables by what they hold: integers that may be indices, numbers, vectors and matrices. Most
programs run to their end; some leave their ranges, divide by zero or overflow, as plain NumPy does.
"""

import numpy as np
from texts import function_of

HELPERS = """
def clipped(v, low=-2.0, high=2.0):
    if v < low:
        return low
    if v > high:
        return high
    return v

def smallest(a, b):
    return min(a, b)

def scaled(row, factor):
    return row * factor + 1.0
"""


class Writer:
    """Writes one function of vectors `x` and `y`, a matrix `m`, an integer vector `c`, an integer `n`, a number `s`."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.lines = []
        self.names = 0
        self.integers, self.numbers = ["n"], ["s"]
        self.vectors, self.matrices = ["x", "y"], ["m"]
        self.lists = []
        self.in_loop = 0

    def pick(self, values):
        return values[self.rng.integers(len(values))]

    def chance(self, probability):
        return self.rng.random() < probability

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def emit(self, depth, line):
        self.lines.append("    " * depth + line)

    # -- expressions

    def index(self):
        """An index that is mostly in range."""
        form = self.rng.integers(5)
        i = self.pick(self.integers)
        if form == 0 or i == "n":
            return self.pick(["0", "-1", "1", "2"])
        if form == 1:
            return f"{i} - 1"
        if form == 2 and self.chance(0.3):
            return f"{i} + 1"
        return i

    def bounds(self):
        i = self.pick(self.integers)
        return self.pick(["1:-1", ":-1", "1:", f"{i}:", f":{i}", f"{i}:{i} + 2", "::2", "::-1", f"-{i}:", ":", "2:4"])

    def number(self, depth=2):
        """An expression for a number."""
        if depth == 0 or self.chance(0.2):
            simple = [*self.numbers, "0.5", "2", "1.25", *self.integers[1:]]
            return self.pick(simple)
        form = self.rng.integers(12)
        if form < 3:
            return f"{self.pick(self.vectors)}[{self.index()}]"
        if form < 5:
            return f"{self.pick(self.matrices)}[{self.index()}, {self.index()}]"
        if form < 7:
            return f"({self.number(depth - 1)} {self.pick('+-*')} {self.number(depth - 1)})"
        if form == 7:
            return self.pick(["min", "max", "smallest"]) + f"({self.number(depth - 1)}, {self.number(depth - 1)})"
        if form == 8:
            return f"clipped({self.number(depth - 1)})"
        if form == 9:
            fold = self.pick(["sum", "max", "min", "mean", "argmax", "argmin"])
            return f"{self.vector(1)}.{fold}()"
        if form == 10:
            return f"abs({self.number(depth - 1)})"
        return f"({self.number(depth - 1)} if {self.condition()} else {self.number(depth - 1)})"

    def vector(self, depth=2):
        """An expression for a vector; extents fit often enough."""
        form = self.rng.integers(9)
        v = self.pick(self.vectors)
        if depth == 0 or form < 2:
            return v
        if form == 2:
            return f"{v}[{self.bounds()}]"
        if form == 3:
            return f"{self.pick(self.matrices)}[{self.index()}]"
        if form == 4:
            return f"{self.pick(self.matrices)}[:, {self.index()}]"
        if form == 5:
            return f"scaled({self.vector(depth - 1)}, {self.number(1)})"
        if form == 6:
            return f"np.{self.pick(['abs', 'negative', 'floor', 'square'])}({self.vector(depth - 1)})"
        if form == 7:
            return f"({self.vector(depth - 1)} {self.pick('+-*')} {self.number(1)})"
        return f"({v} {self.pick('+-*')} {self.pick(self.vectors)})"

    def condition(self):
        form = self.rng.integers(5)
        if form == 0 and len(self.integers) > 1:
            return f"{self.pick(self.integers[1:])} % 2 == {self.rng.integers(2)}"
        if form == 1:
            return f"{self.number(1)} < {self.number(1)} and {self.number(0)} != 0.25"
        if form == 2:
            return f"not {self.number(1)} > {self.number(0)}"
        if form == 3:
            return f"-3 < {self.number(1)} <= 3"
        return f"{self.number(1)} {self.pick(['<', '>', '>=', '<='])} {self.number(1)}"

    # -- statements

    def comprehension(self, opening, closing):
        """A comprehension or a generator expression over numbers."""
        self.names += 1
        e, v = f"z{self.names}", self.pick(self.vectors)
        self.numbers.append(e)
        item = self.pick([e, f"{e} * {e}", self.number(1), f"{e} + {self.number(1)}"])
        condition = self.pick(["", "", f" if {self.condition()}", f" if {e} > {self.number(0)}"])
        self.numbers.remove(e)
        k = self.pick(self.integers)
        source = self.pick([f"{e} in {v}", f"{e} in range({k})", f"i{e}, {e} in enumerate({v})", f"{e} in {v}[{k}:]"])
        return f"{opening}{item} for {source}{condition}{closing}"

    def list_statement(self, depth):
        """A statement with a list that grows."""
        numbers, rows, pairs, grid = self.lists
        self.emit(
            depth,
            self.pick(
                [
                    f"{numbers}.append({self.number()})",
                    f"{numbers}.append({self.number()})",
                    f"{numbers}.append({self.pick(self.numbers)})",
                    f"{numbers}.extend({self.comprehension('[', ']')})",
                    f"{numbers} += [{self.number(1)}, {self.number(1)}]",
                    f"{rows}.append({self.vector(1)}.copy())",
                    f"{rows}.append({self.vector(1)} * 2)",
                    f"{rows}.append({self.pick(self.vectors)})",
                    f"{pairs}.append(({self.pick(self.integers)}, {self.number(1)}))",
                    f"total += sum({self.comprehension('', '')})",
                    f"total += len({self.comprehension('[', ']')})",
                    f"count += any({self.comprehension('', '')}) + all({self.comprehension('', '')})",
                    f"total += {numbers}[-1] if {numbers} else {self.number(0)}",
                    f"total += {numbers}[{self.index()}]",
                    f"total += max({numbers})",
                    f"total += np.array({numbers}).sum()",
                    f"{numbers}[{self.index()}] = {self.number(1)}",
                    f"total += {numbers}.pop() if len({numbers}) > 2 else 1",
                    f"total += {grid}[{self.index()}][{self.index()}]",
                    f"{grid}[{self.index()}][{self.index()}] = {self.number(1)}",
                    f"for e{numbers} in {numbers}: total += e{numbers}",
                    f"for k{pairs}, e{pairs} in {pairs}: total += k{pairs} * e{pairs}",
                    f"total += np.mean({rows}[-1])",
                ]
            ),
        )

    def statement(self, depth):
        if self.lists and self.chance(0.35):
            self.list_statement(depth)
            return
        form = self.rng.integers(16)
        v, w = self.pick(self.vectors), self.pick(self.matrices)
        if form == 0:
            name = self.name("a")
            self.emit(depth, f"{name} = {self.number()}")
            self.numbers.append(name)
        elif form == 1 and len(self.numbers) > 1:
            self.emit(depth, f"{self.pick(self.numbers)} {self.pick(['+', '-', '*'])}= {self.number()}")
        elif form == 2:
            self.emit(depth, f"{v}[{self.index()}] = {self.number()}")
        elif form == 3:
            self.emit(depth, f"{w}[{self.index()}, {self.index()}] {self.pick(['', '+', '*'])}= {self.number()}")
        elif form == 4:
            self.emit(depth, f"{v}[{self.index()}] += {self.number()}")
        elif form == 5:
            bounds = self.bounds()
            self.emit(depth, f"{v}[{bounds}] = {self.pick(self.vectors)}[{bounds}] * {self.number(1)}")
        elif form == 6:
            self.emit(
                depth, f"{w}[{self.index()}] {self.pick(['', '+', '-'])}= {self.pick([self.vector(1), self.number(1)])}"
            )
        elif form == 7:
            self.emit(depth, f"{w}[{self.index()}, {self.bounds()}] *= {self.number(1)}")
        elif form == 8:
            name = self.name("b")
            self.emit(depth, f"{name} = {self.vector()}{self.pick(['', '.copy()'])}")
            self.vectors.append(name)
        elif form == 9:
            self.emit(depth, f"{v}[{v} {self.pick('<>')} {self.number(1)}] = {self.number(1)}")
        elif form == 10:
            self.emit(depth, f"total += {v}[{self.pick(self.vectors)} > {self.number(0)}].sum()")
        elif form == 11:
            self.emit(depth, f"{v}[c] {self.pick(['', '+'])}= {self.number(1)}")
        elif form == 12:
            i, j = self.index(), self.index()
            self.emit(depth, f"{w}[[{i}, {j}]] = {w}[[{j}, {i}]]")
        elif form == 13:
            self.emit(depth, f"count += 1 if {self.condition()} else 2")
        elif form == 14:
            self.emit(depth, f"{v}[1:] = {v}[:-1] + {self.number(1)}")
        else:
            self.emit(depth, f"total += {self.number()}")

    def block(self, depth, length):
        """Statements; names that it assigns are not used behind it."""
        state = [list(names) for names in (self.integers, self.numbers, self.vectors, self.matrices)]
        before = len(self.lines)
        for _ in range(length):
            form = self.rng.integers(10)
            if form < 2 and depth < 4:
                self.loop(depth)
            elif form == 2 and depth < 5:
                self.emit(depth, f"if {self.condition()}:")
                self.block(depth + 1, 2)
                if self.chance(0.5):
                    self.emit(depth, "else:")
                    self.block(depth + 1, 1)
            elif form == 3 and self.in_loop:
                self.emit(depth, f"if {self.condition()}:")
                self.emit(depth + 1, self.pick(["break", "continue", "continue", "return x, total, count"]))
            else:
                self.statement(depth)
        if len(self.lines) == before:
            self.emit(depth, "pass")
        self.integers, self.numbers, self.vectors, self.matrices = state

    def loop(self, depth):
        i, v = self.name("i"), self.pick(self.vectors)
        k = self.pick(self.integers)
        form = self.rng.integers(9)
        heads = [
            f"for {i} in range(n):", f"for {i} in range(1, n - 1):", f"for {i} in range(n - 1, -1, -1):",
            f"for {i} in range({k}):", f"for {i} in range({k}, n):", f"for {i} in range(0, n, 2):",
            f"for {i}, e{i} in enumerate({v}):", f"for {i}, (e{i}, f{i}) in enumerate(zip(x, y)):",
        ]  # fmt: skip
        if form == 8:
            self.emit(depth, f"{i} = 0")
            self.emit(depth, f"while {i} < n - 1:")
            self.emit(depth + 1, f"{i} += 1")
        else:
            self.emit(depth, heads[form])
        self.integers.append(i)
        extra = {6: [f"e{i}"], 7: [f"e{i}", f"f{i}"]}.get(form, [])
        self.numbers.extend(extra)
        self.in_loop += 1
        self.block(depth + 1, self.rng.integers(1, 4))
        self.in_loop -= 1
        self.integers.remove(i)
        for name in extra:
            self.numbers.remove(name)
        if self.chance(0.1):
            self.emit(depth, "else:")
            self.emit(depth + 1, "count += 100")

    def write(self):
        """The source of a function `f`."""
        self.emit(0, "def f(x, y, m, c, n, s):")
        self.emit(1, f"total = {self.pick(['0', '0.0'])}")
        self.emit(1, "count = 0")
        if self.chance(0.5):
            self.lists = ["numbers", "rows", "pairs", "grid"]
            start = self.pick(["[]", "[]", "[0.0]", "[0]", f"[{self.number(1)}]"])
            self.emit(1, f"numbers, rows, pairs = {start}, [], []")
            self.emit(1, f"grid = [[{self.pick(['0', '0.0', '1'])}] * n for _ in range(n)]")
        self.loop(1)
        self.block(1, self.rng.integers(0, 3))
        self.loop(1)
        if self.lists:
            returned = ["numbers", "rows", "pairs", "grid", "np.array(numbers)", "np.array(rows)", "numbers, pairs"]
            self.emit(1, f"return total, count, {self.pick(returned)}")
            return HELPERS + "\n" + "\n".join(self.lines) + "\n"
        self.emit(1, f"return {self.pick(['x, total, count', 'total, m', 'count, total, y', 'm', 'total'])}")
        return HELPERS + "\n" + "\n".join(self.lines) + "\n"


class StatefulWriter(Writer):
    """Also draws random numbers, changes items of a dict, handles exceptions, and lets variables change their kinds."""

    def write(self):
        source = super().write()
        begin = [
            "    rng = np.random.default_rng(n)",
            "    state = {'a': 0, 'b': 0.5}",
            f"    best, latest = None, {self.pick(['None', '0', '0.0', 's', 'x'])}",
        ]
        head, body = source.split("def f(x, y, m, c, n, s):\n")
        *lines, last = body.rstrip("\n").split("\n")
        ends = last.replace("return ", "return state['a'], state['b'], best, latest, rng.random(), ")
        return "\n".join([head + "def f(x, y, m, c, n, s):", *begin, *lines, ends]) + "\n"

    def statement(self, depth):
        if self.chance(0.6):
            super().statement(depth)
            return
        e, v = self.number(1), self.pick(self.vectors)
        self.emit(
            depth,
            self.pick(
                [
                    "state['a'] += 1",
                    f"state['b'] = state['b'] * 0.5 + {e}",
                    f"state['a'] = state['a'] * 3 % 7 if {self.condition()} else state['a']",
                    f"if best is None or {e} < best: best = {e}",
                    f"best = {self.pick(['None', e])}",
                    f"latest = {self.pick([e, v, self.pick(self.integers), 'latest'])}",
                    f"latest = latest + {self.pick([e, '1', '0.5'])}",
                    "total += rng.random() + rng.normal(0.5, 2.0)",
                    f"if rng.random() < 0.5: {v}[rng.integers(len({v}))] = rng.standard_normal()",
                    f"total += rng.choice({v})",
                    f"total += rng.poisson(2.0) + rng.permutation(4)[{self.pick(['0', '1', '-1', '7'])}]",
                    f"total += np.sum(rng.normal(size=len({v})) * {v})",
                    f"total += np.sort({v})[{self.index()}]",
                    f"total += state['b'] * np.linalg.norm({v})",
                    f"for p, q in np.ndindex(2, n): total += {self.pick(self.matrices)}[p, q]",
                    f"for p, q in np.ndenumerate({v}): total += p[0] * q",
                ]
            ),
        )
        if self.chance(0.2):
            self.emit(depth, "try:")
            self.emit(depth + 1, self.pick([f"total += 1 / float({e})", f"total += {v}[int({e})]"]))
            self.emit(depth, "except (ZeroDivisionError, IndexError, ValueError, OverflowError):")
            self.emit(depth + 1, "count += 10")


def program(seed, writer=Writer):
    """A function, and its source."""
    source = writer(seed).write()
    return function_of(source, __name__="programs"), source  # the module of its classes


def arguments(seed, turn):
    """Arguments of a program: in each turn of another size, in most of ordinary values."""
    rng = np.random.default_rng((seed, turn))
    n = int(rng.choice([5, 7, 9]) if turn else 6)
    dtype = [np.float64, np.float64, np.float32, np.int64][seed % 4]
    x, y = (rng.normal(size=n) * 2 for _ in range(2))
    m = rng.normal(size=(n, n)) * 2
    if turn == 2:
        x[rng.integers(n)] = rng.choice([np.nan, np.inf, -0.0])
    arrays = [
        a.astype(dtype) if dtype != np.int64 else np.nan_to_num(a * 3, posinf=9, neginf=-9).astype(dtype)
        for a in (x, y, m)
    ]
    c = rng.integers(-n, n, 4) if turn < 3 else rng.integers(0, n + 1, 4)
    return [*arrays, c, n, [1.5, 2, np.float64(0.75), np.float32(0.5)][(seed // 4) % 4]]
