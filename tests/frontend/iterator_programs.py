"""Random functions with loops over generators and iterators, arrays and lists that grow, values that may be None."""

import itertools
import math

from staged_programs import Writer

NAMES = {"itertools": itertools, "math": math}
HELPERS = """
def positive(values, low=0.0):
    for v in values:
        if v > low:
            yield v

def spiral(count, step):
    k = 0
    while k < count:
        yield k, k * step
        k += 1
    yield count, -1

def until(values, high):
    for v in values:
        if v > high:
            return
        yield v * 2
"""


class IteratorWriter(Writer):
    """Writes functions that have `grown`, an array, `path`, a list, and `entry`, a number or None."""

    def statement(self, depth):
        if self.chance(0.5):
            super().statement(depth)
            return
        e, i, v = self.number(1), self.pick(self.integers), self.pick(self.vectors)
        name = self.name("g")
        leaves = self.pick(["total += 0.25", "break", "continue", "count += 1"])
        self.emit(
            depth,
            self.pick(
                [
                    f"grown = np.append(grown, {e})",
                    f"grown = np.append(grown, {v}[:2])",
                    f"grown = np.hstack([{v}[:1], grown])",
                    f"total += grown[{self.index()}]",
                    "count += len(grown) + len(path)",
                    "grown = grown[-3:].copy()",
                    f"path = path + [{e}]",
                    "path = path[-2:] + path[:2]",
                    f"path = [{e}] + path",
                    "path.sort(key=abs, reverse=True)",
                    f"path.sort(key=lambda p: p * {self.number(0)})",
                    f"total += path[{self.index()}] if path else 0.5",
                    f"if {self.condition()}: entry = {self.pick([e, 'None', e])}",
                    f"if {self.condition()}: total += entry * 2",
                    f"if entry is not None and entry < {e}: total += entry",
                    f"total += 0.5 if entry is None else entry - {self.number(0)}",
                    f"for {name}, h{name} in itertools.pairwise({v}): total += {name} * h{name}",
                    f"for {name} in itertools.islice({v}, {i}): total += {name}",
                    f"for {name}, h{name} in zip(itertools.cycle([1, -2]), {v}): total += {name} * h{name}",
                    f"for {name} in itertools.accumulate({v}): total += {name}",
                    f"for {name}, h{name} in enumerate(reversed(range({i}, n, 2))): count += {name} * h{name}",
                    f"for {name} in map(abs, {v}): total += {name}",
                    f"total += sum(map(lambda a, b: a * b, {v}, {self.pick(self.vectors)}))",
                    f"total += next(({name} for {name} in {v} if {name} > {self.number(0)}), 0.5)",
                    f"count += next(k{name} for k{name} in range(40) if k{name} * 3 > {i})",
                    f"total += sum(positive({v}, {self.number(0)}))",
                    f"total += max(positive({v}, -99.0)) + len(list(until({v}, {self.number(0)})))",
                    f"count += math.comb({i}, 2) + math.gcd({i}, 6) + n.bit_length()",
                    f"count += math.isclose({e}, {self.number(0)})",
                    f"count += any({name} > 1 for {name} in until({v}, {self.number(0)}))",
                ]
            ),
        )
        if self.chance(0.3):
            over = self.pick([f"positive({v})", f"until({v}, {self.number(0)})", f"(a{name} * 2 for a{name} in {v})"])
            self.emit(depth, f"for {name}, h{name} in {self.pick(['enumerate(' + over + ')', f'spiral(n, {i})'])}:")
            self.emit(depth + 1, f"if h{name} > {self.number(0)}: {leaves}")
            self.emit(depth + 1, f"total += {name} + h{name}")

    def write(self):
        source = super().write()
        head, body = source.split("def f(x, y, m, c, n, s):\n")
        *lines, last = body.rstrip("\n").split("\n")
        begin = f"    grown, path, entry = {self.pick(['np.array([])', 'x[:1]', 'np.zeros(2)'])}, [], None"
        ends = last.replace("return ", f"return {self.pick(['grown', 'path', 'entry', 'grown, path, entry'])}, ")
        return "\n".join([HELPERS + head + "def f(x, y, m, c, n, s):", begin, *lines, ends]) + "\n"
