"""Random functions with loops that make, change, choose, hold and return objects of random classes."""

from staged_programs import Writer

HEADER = """
import dataclasses, enum
from collections import namedtuple

Pair = namedtuple("Pair", "a b")
Mode = enum.Enum("Mode", "LOW HIGH OTHER")

class Vec:
    def __init__(self, a, b=0.5):
        self.a = a
        self.b = b
    def __add__(self, other):
        return Vec(self.a + other.a, self.b + other.b)
    def __mul__(self, k):
        return Vec(self.a * k, self.b * k)
    __rmul__ = __mul__
    def __neg__(self):
        return Vec(-self.a, -self.b)
    def __lt__(self, other):
        return self.a < other.a
    def __bool__(self):
        return bool(self.a > 0)
    @property
    def both(self):
        return self.a + self.b

@dataclasses.dataclass
class Data:
    a: float
    b: float = 0.25
    mode: Mode = Mode.LOW
    count: int = dataclasses.field(default=0, init=False)
    def tick(self, k):
        self.count += k
        if self.count > 5:
            self.mode = Mode.HIGH
        elif self.mode is Mode.HIGH:
            self.mode = Mode.OTHER
        return self.count

@dataclasses.dataclass(frozen=True)
class Fixed:
    a: float
    b: float = 2.0
    def of(self, x):
        return self.a * x - self.b
"""


class ObjectWriter(Writer):
    """Programs with a class of random methods, and one that is made of it."""

    def write(self):
        classes = [*self.base(), *self.child()]
        self.body = self.pick(["Vec", "Vec", "Data", "Base", "Child"])
        source = super().write()
        begin = [
            f"    u, w = Vec({self.pick(['0.0', '1', 's'])}, s), Vec(0.5)",
            f"    p = {self.pick(['Base(s)', 'Child(1.5, 2)', 'Child(s)', 'Base(0, n)'])}",
            f"    q = {self.pick(['p', 'Base(0.5)', 'Child(2.0)', 'Data(s)', 'Data(1.0, 2)'])}",
            f"    bodies = [{self.body}(v) for v in x]",
            f"    pair, fixed, data = Pair(0, s), Fixed({self.pick(['s', '2', '0.5'])}), Data(0.5)",
        ]
        head, body = source.split("def f(x, y, m, c, n, s):\n")
        *lines, last = body.rstrip("\n").split("\n")
        shown = self.pick(
            ["p.a, q.a, u.both", "p, u.a", "u, data.mode", "pair, p.b, q", "data, w.a", "p, q", "fixed.a, p is q"]
        )
        ends = last.replace("return ", f"return {shown}, ")
        return "\n".join([head + HEADER, *classes, "def f(x, y, m, c, n, s):", *begin, *lines, ends]) + "\n"

    def base(self):
        """A class with attributes of many kinds."""
        late = self.chance(0.3)
        return [
            "class Base:",
            f"    weight = {self.pick(['2', '0.5'])}",
            "    made = 0",
            f"    def __init__(self, a, k={self.pick(['1', '3'])}):",
            f"        self.a = {self.pick(['a', 'a * 2', '0', 'float(a)'])}",
            f"        self.b = {self.pick(['0', '0.0', 'a', 'None', 'Vec(a)'])}",
            "        self.k = k",
            *(["        if a > 1: self.late = a"] if late else []),
            f"        {self.pick(['self.seen = []', 'self.seen = [0.5]', 'self.seen = None'])}",
            *self.method("step", ["x"]),
            *self.method("other", ["x", "y=0.5"]),
            "    @property",
            f"    def level(self): return {self.pick(['self.a * self.weight', 'self.k', 'self.a + 1'])}",
        ]

    def child(self):
        """A class that is made of the other one."""
        lines = ["class Child(Base):"]
        if self.chance(0.5):
            lines += [
                "    def __init__(self, a, k=2):",
                f"        super().__init__({self.pick(['a', 'a, k', 'a * 0.5, 4'])})",
                f"        self.{self.pick(['a', 'extra'])} = {self.pick(['a', '0', 'self.k'])}",
            ]
        if self.chance(0.7):
            lines += self.method("step", ["x"], self.pick(["super().step(x)", "super().other(x)", "pass"]))
        return [*lines, f"    def scaled(self, x): return x * {self.pick(['self.weight', 'self.k', 'Base.weight'])}"]

    def method(self, name, parameters, first="pass"):
        """A method of random statements."""
        statements = [
            "self.a += x",
            "self.a = x * 0.5 + self.a",
            "self.k += 1",
            "self.k = self.k * 3 % 11",
            "self.weight = self.weight * 0.5",
            "self.made += 1",
            "self.b = x",
            "if self.b is None: self.b = x",
            "if x > self.a: self.a, self.b = x, x",
            "if x < -2: return self.a",
            "if x > 1.5: self.late = x",
            "for j in range(self.k % 3): self.a = self.a * 0.5 + j",
            "if isinstance(self, Child): self.k += 2",
            "if self.seen is not None: self.seen.append(x)",
            "if x > 4: raise ValueError(x)",
            "x = self.level + x",
        ]
        body = [self.pick(statements) for _ in range(self.rng.integers(1, 4))]
        value = self.pick(["self.a", "x", "self.level", "self", "None", "self.k", "Vec(x, self.k)"])
        returned = f"return {value}"
        return [f"    def {name}(self, {', '.join(parameters)}):", *[f"        {s}" for s in (first, *body, returned)]]

    def statement(self, depth):
        if self.chance(0.4):
            super().statement(depth)
            return
        e, k = self.number(1), self.pick(self.integers)
        v, p = self.pick(["u", "w"]), self.pick(["p", "q", "p"])
        self.emit(
            depth,
            self.pick(
                [
                    f"{p}.step({e})",
                    f"p.step({e}); q.a += 1",
                    f"total += {p}.a + p.level",
                    f"{p}.a = {e}",
                    f"p.other({e}, {self.pick(['y=1.5', '2', 'p.k'])})",
                    f"{v} = {self.pick(['u + w', 'u * 0.5', f'Vec({e})', '-w', f'2 * u + Vec({e}, {k})'])}",
                    f"{v} = w if {self.condition()} else u",
                    f"{v}.a += {e}",
                    f"if {v}: total += {v}.both",
                    "if u < w: count += 1",
                    f"total += u.a * {self.pick(['w.b', 'fixed.of(u.b)', 'pair.b'])}",
                    f"pair = {self.pick([f'Pair({e}, pair.a)', f'pair._replace(a={e})', 'Pair(*pair)'])}",
                    "g, h = pair; total += h",
                    f"count += data.tick({k})",
                    "if data.mode is Mode.LOW: total += 1",
                    "if data.mode == Mode.HIGH or data.count > 8: data = Data(total)",
                    f"local = {self.pick(['Base', 'Child', 'Data'])}({e}); local.a += 1; total += local.a",
                    "count += (p is q) + isinstance(q, Base)",
                    f"count += len(p.seen) if p.seen is not None else {k}",
                    f"p = {self.pick(['q', 'p.other(1.0)', f'Child({e})', 'p'])}",
                    f"q.b = {self.pick(['Vec(total)', 'None', e, 'p'])}",
                    "total += p.late",
                    f"fixed = Fixed({e})",
                    f"for body in bodies: body.a {self.pick(['=', '+=', '*='])} {e}",
                    f"for body in bodies: total += body.a; body.b = {e}",
                    f"for body in bodies: body.{'both' if self.body == 'Vec' else f'step({e})'}",
                    f"bodies[{self.index()}].a += {e}",
                    f"total += bodies[{self.index()}].a",
                    f"bodies.append({self.pick([f'Base({e})', 'p', 'u', 'data', 'bodies[0]'])})",
                    "for one in bodies: count += sum([two is one for two in bodies])",
                    f"total += min(pair) + {e}",
                    f"pairs = [Pair({e}, 1.0) for _ in range(3)]; total += pairs[{self.pick(['0', '2', '-1'])}].a",
                ]
            ),
        )
