"""Objects that functions with loops make: attributes as variables, methods in place of their calls."""

import math

import numpy as np
from object_checks import X, check
from test_kinds_of_classes import Point

import jitrt


class Welford:
    def __init__(self):
        self.n, self.mean = 0, 0.0
        self.m2 = 0

    def add(self, x):
        self.n += 1
        d = x - self.mean
        self.mean += d / self.n
        self.m2 += d * (x - self.mean)

    @property
    def variance(self):
        return self.m2 / (self.n - 1)

    def __len__(self):
        return self.n


class Vector:
    scale = 2.0

    def __init__(self, x, y=0.5):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        if isinstance(other, Vector):
            return Vector(self.x - other.x, self.y - other.y)
        return NotImplemented

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    __rmul__ = __mul__

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __abs__(self):
        return math.sqrt(self.x * self.x + self.y * self.y)

    def __iadd__(self, other):
        self.x += other.x
        self.y += other.y
        return self

    def __getitem__(self, k):
        return self.x if k == 0 else self.y

    def __setitem__(self, k, value):
        if k == 0:
            self.x = value
        else:
            self.y = value

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __lt__(self, other):
        return abs(self) < abs(other)

    def __bool__(self):
        return self.x > 0

    def __call__(self, factor):
        return self.x * factor + self.y

    @staticmethod
    def half(x):
        return 0.5 * x

    @classmethod
    def unit(cls, angle):
        return cls(math.cos(angle), math.sin(angle))


def test_methods_and_properties():
    def run(values):
        w = Welford()
        for v in values:
            w.add(v)
        return w.n, w.mean, w.variance, len(w)

    check(run, (X,), (X[:2],), (X[:1],), (X[:0],), (X.astype(np.float32),), (np.arange(5),))


def test_operators():
    def run(n, dt):
        p, v = Vector(1.0, 0.0), Vector(0.0, 1.0)
        for k in range(n):
            a = -p * 2.0 + Vector(0.0, -9.81)
            v = v + dt * a
            p = p + v * dt - Vector(dt) * k
        return p.x, p.y, v.x, abs(p), p[0], p(2.0)

    check(run, (9, 0.125), (0, 0.5), (2, 3))


def test_comparisons_truth_calls_and_items():
    def run(values):
        v, count = Vector(0.0, 0.25), 0
        for x in values:
            v[0] = float(x)
            v[1] = v[0] * 0.5
            if v:
                count += 1
            count += 1000 * (v != Vector(0.5, 0.25)) + 5000 * (Welford() == Welford())
            if v == Vector(1.0, 0.5) or v < Vector(0.5):
                count += 10
            if not v:
                count += 100
            count += v(3) > 0
            count += bool(v)
        return count, v.x

    check(run, (X,), (X[:0],))


def test_static_and_class_methods_and_members():
    def run(values):
        total = 0.0
        for x in values:
            u = Vector.unit(x)
            total += Vector.half(u.x) + u.half(u.y) * Vector.scale + u.scale
        return total

    check(run, (X,))


def test_two_names_of_one_object():
    def run(values):
        a = b = Vector(0.0)
        c = a
        for x in values:
            a.x += x
            b.y = c.x * 0.5
            c += b
        return a.x, b.y, c.x, a is b, a is c, a is Vector(0.0)

    check(run, (X,), (X[:0],))


class Simulation:
    def __init__(self, values):
        self.position, self.speed = Vector(0.0), Vector(0.0, 1.0)
        self.statistics = Welford()
        self.values = values
        self.history = []

    def run(self, dt):
        for x in self.values:
            self.speed = self.speed + Vector(x) * dt
            self.position.x += dt * self.speed.x
            self.statistics.add(self.position.x)
            if x > 0:
                self.history.append(self.position.x)
        return self.statistics.mean


def test_objects_in_objects():
    def run(values, dt):
        for _ in range(2):
            s = Simulation(values)
            s.run(dt)
        return s.statistics.n, s.position.x, s.speed.y, s.history

    check(run, (X, 0.5), (X[:0], 0.5), staged=None)


def test_a_history_in_an_object():
    def run(values, dt):
        s = Simulation(values)
        for x in values:
            s.history.append(x * dt)
            s.position.x += len(s.history)
        return s.history, s.position.x

    check(run, (X, 0.5), (X[:0], 0.5))


def test_results_are_objects():
    def run(values):
        w, v = Welford(), Vector(1.0)
        for x in values:
            w.add(x)
            v = v + Vector(x)
        return w, v

    check(run, (X,), (X[:0],), (X[:1],))


def test_one_object_is_one_result():
    def run(values):
        w = Welford()
        for x in values:
            w.add(x)
        return w, [w], {"w": w}

    check(run, (X,), staged=False)


def test_one_of_two_objects():
    def run(values, second):
        a, b = Vector(1.0), Vector(2.0)
        c = b if second else a
        for x in values:
            a = a + Vector(x)
        c = b if values[0] > 5 else c
        return a, c, b

    check(run, (X, True), (X, False), staged=None)


def test_an_object_that_is_chosen_is_changed():
    def run(values):
        a, b = Vector(1.0), Vector(2.0)
        for x in values:
            c = a if x > 0 else b
            c.x += x
        return a.x, b.x

    check(run, (X,), staged=False)


class Lazy:
    count = 0
    weight = 2.0

    def __init__(self, x):
        if x > 0:
            self.positive = x
        self.x = x

    def bump(self, by):
        self.count += by
        self.weight *= 0.5
        if by > 1:
            self.late = by


def test_attributes_that_may_be_missing():
    def run(values):
        total = 0.0
        for x in values:
            total += Lazy(x).positive
        return total

    check(run, (np.abs(X) + 1,), (X,))

    def late(values):
        z = Lazy(1.0)
        for x in values:
            z.bump(x)
        return z.late, z.count, z.weight

    check(late, (np.array([0.5, 2.0]),), (np.array([0.5, 1.0]),), (X[:0],))


def test_class_members_stand_in_for_attributes():
    def run(values):
        z = Lazy(1.0)
        for x in values:
            if x > 0:
                z.bump(int(x) + 1)
        return z.count, z.weight, Lazy.count

    check(run, (X,), (X[:0],), (-X - 5,))


def test_integers_become_floats_and_grow():
    class Sums:
        def __init__(self):
            self.total, self.product = 0, 1

        def add(self, x):
            self.total += x
            self.product *= 3

    def run(values):
        s = Sums()
        for x in values:
            s.add(x)
        return s.total, s.product

    check(run, (X,), (X[:0],), (np.arange(60),), (X[:1],))


class Account:
    rate = 0.125

    def __init__(self, balance):
        self.balance = balance
        self.refused = 0

    def withdraw(self, amount):
        if amount > self.balance:
            self.refused += 1
            raise ValueError(f"only {self.balance}")
        self.balance -= amount


def test_exceptions_leave_arguments_as_python_does():
    def made(flows):
        a = Account(2.0)
        for f in flows:
            a.withdraw(f)
        return a.balance

    def given(a, flows):
        for f in flows:
            a.withdraw(f)
        return a.balance

    def caught(a, flows):
        for f in flows:
            try:
                a.withdraw(f)
            except ValueError:
                a.balance += 0.5
        return a.balance

    for flows in (np.full(3, 0.5), np.full(9, 0.5)):
        check(made, (flows,))
        check(given, (Account(2.0), flows))
        check(caught, (Account(2.0), flows))


def test_arrays_in_objects():
    class Filter:
        def __init__(self, n):
            self.x, self.p = np.zeros(n), np.eye(n)
            self.gain = 0.5 * np.ones(n)

        def update(self, z):
            self.x = self.x + self.gain * (z - self.x)
            self.p[0, 0] += z
            self.gain *= 0.9

    def run(values):
        f, out = Filter(2), np.zeros((len(values), 2))
        first = f.x
        for k, z in enumerate(values):
            f.update(z)
            out[k] = f.x
        return out, first, f.p, f.gain

    check(run, (X,), (X[:0],))


def test_arrays_of_attributes_in_lists():
    class Holder:
        def __init__(self, n):
            self.x = np.zeros(n)

    def run(values, n):
        h, frames = Holder(n), []
        for v in values:
            h.x = h.x + v
            frames.append(h.x)
            h.x[0] = 5.0
        return frames, h.x[1]

    check(run, (X, 3), (X[:1], 2), staged=None)


def test_replaced_methods_are_noticed():
    class Gain:
        factor = 2.0

        def __init__(self, x):
            self.x = x

        def step(self, x):
            self.x = self.x * self.factor + x

    def run(values):
        g = Gain(1.0)
        for x in values:
            g.step(x)
        return g.x

    compiled = jitrt.jit(run)

    def same():
        for _ in range(3):
            assert compiled(X) == run(X)

    same()
    Gain.factor = 3.0
    same()
    Gain.step = lambda self, x: setattr(self, "x", x)
    same()
    Gain.step = lambda self, x: None
    same()
    Gain.__init__ = lambda self, x: object.__setattr__(self, "x", 2 * x)
    same()
    Gain.x = property(lambda self: 7.0, lambda self, value: None)
    same()
    del Gain.x
    Gain.__getattr__ = lambda self, name: 0.5
    Gain.__init__ = lambda self, x: None
    same()


def test_other_bases_are_noticed():
    class First:
        def step(self, x):
            self.x += x

    class Second:
        def step(self, x):
            self.x -= x

    class Child(First):
        def __init__(self):
            self.x = 0.0

    def run(values):
        c = Child()
        for x in values:
            c.step(x)
        return c.x

    compiled = jitrt.jit(run)
    assert [compiled(X) for _ in range(3)] == [run(X)] * 3
    Child.__bases__ = (Second,)
    assert [compiled(X) for _ in range(3)] == [run(X)] * 3


def test_counters_of_classes_are_pythons():
    class Counted:
        count = 0

        def __init__(self):
            Counted.count += 1
            self.x = 0.0

    def run(values):
        for x in values:
            c = Counted()
            c.x += x
        return c.x

    compiled = jitrt.jit(run)
    for k in range(3):
        compiled(X)
        assert Counted.count == (k + 1) * len(X)


def test_defaults_that_can_change():
    class Bag:
        def __init__(self, items=[]):  # noqa: B006
            self.items = items

        def put(self, x):
            self.items.append(x)

    def run(values):
        b = Bag()
        for x in values:
            b.put(x)
        return len(b.items)

    compiled = jitrt.jit(run)
    assert [compiled(X) for _ in range(3)] == [9, 18, 27]


def test_ways_of_a_class_are_pythons():
    class Printing:
        def __init__(self):
            self.x = 0.0

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value * 2)

    class Deleted:
        gone = 0

        def __del__(self):
            Deleted.gone += 1

    class Meta(type):
        def __call__(cls, *args):
            return 3.0

    class Odd(metaclass=Meta):
        pass

    class New:
        def __new__(cls, x):
            return 2.0 * x

    def setting(values):
        p = Printing()
        for x in values:
            p.x = p.x + x
        return p.x

    def deleting(values):
        for _ in values:
            Deleted()
        return Deleted.gone

    def of_a_metaclass(values):
        total = 0.0
        for x in values:
            total += Odd() + x + New(x)
        return total

    check(setting, (X,), staged=False)
    check(of_a_metaclass, (X,), staged=False)
    compiled = jitrt.jit(deleting)
    assert [compiled(X) for _ in range(3)] == [9, 18, 27]


def test_objects_of_earlier_iterations():
    def run(values):
        best, last = None, Vector(0.0)
        for x in values:
            v = Vector(x)
            v.y += last.x
            if best is None or v.x > best.x:
                best = v
            last = v
        return best.y, last.y

    check(run, (X,), (X[:1],), staged=None)


def test_closures_and_arguments():
    start = Vector(2.0, 3.0)

    def run(values, v):
        def kick(w, x):
            w.x += x * v.x
            return w

        w = Vector(0.0)
        for x in values:
            kick(w, x).y += 1
        return w.x, w.y, v.x

    def captured(values):
        w = Vector(0.0)
        for x in values:
            w.x += start.x * x
        return w.x

    check(run, (X, Vector(0.5)), (X[:0], Vector(0.5)))
    check(captured, (X,), staged=None)


def test_truth_and_iteration_of_arguments():
    class Falsy:
        def __init__(self):
            self.k = 0.0

        def __bool__(self):
            return False

    class Many:
        def __init__(self):
            self.k = 0.0

        def __iter__(self):
            return iter([1.0, 2.0])

    def truth(value, values):
        total = 0.0
        for x in values:
            if value:
                total += x
            else:
                total -= 2 * x
        return total

    def over(value, values):
        total = 0.0
        for x in values:
            for v in value:
                total += v * x
        return total

    for value in (Falsy(), {}, {"a": 1.0}, Vector(1.0), Vector(-1.0), Point(0, 0), Lazy(1.0), Welford()):
        compiled = jitrt.jit(truth)
        assert [compiled(value, X) for _ in range(3)] == [truth(value, X)] * 3
    compiled = jitrt.jit(over)
    assert [compiled(Many(), X) for _ in range(3)] == [over(Many(), X)] * 3
