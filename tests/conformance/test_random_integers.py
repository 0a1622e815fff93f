"""Random functions of arrays and Python numbers against plain NumPy: whatever the numbers are, in call after call."""

import random

import numpy as np
import pytest
from covering import few
from texts import function_of

import jitrt

DTYPES = ["f8", "f8", "f4", "i8", "i4", "i1", "u1", "u8", "?"]
VALUES = [0, 1, 2, 3, 5, -1, -4, 7, 100, 200, 300, 40_000, -40_000, 2**31, 2**53 + 1, -(2**62), 2**62, 2**63 - 1, 2**70]
CALLS = 14


class Program:
    """The source of a random function ``f(x, k, m, a)`` of an array, two integers and a float."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.integers, self.floats, self.arrays = ["k", "m"], ["a"], ["x"]
        lines = [line for n in range(self.random.randint(1, 4)) for line in self.statement(n)]
        results = [self.array(2), self.integer(1), self.float(1), self.array(1), *self.integers[2:], *self.arrays[1:]]
        lines.append("return " + ", ".join(results))
        self.source = "def f(x, k, m, a):\n    " + "\n    ".join(lines) + "\n"

    def choose(self, *options):
        return self.random.choice(options)()

    def statement(self, n):
        new = f"v{n}"
        kind = self.random.randrange(6)
        if kind == 0:
            line = f"{new} = {self.integer(3)}"
            self.integers.append(new)
        elif kind == 1:
            line = f"{new} = {self.float(2)}"
            self.floats.append(new)
        elif kind == 2:
            line = f"x = {self.array(1)} * 1; x[{self.integer(1)} % 3] = {self.integer(1)}"
        elif kind == 3:
            line = f"if {self.truth()}: x = {self.array(2)}"
        else:
            line = f"{new} = {self.array(3)}"
            self.arrays.append(new)
        return [line]

    def integer(self, depth):
        r = self.random
        if depth == 0 or r.random() < 0.2:
            return r.choice([*self.integers, *self.integers, str(r.choice([2, 3, 10, 129, 1000]))])
        sub = lambda: self.integer(depth - 1)  # noqa: E731
        return self.choose(
            lambda: f"({sub()} + {sub()})",
            lambda: f"({sub()} - {sub()})",
            lambda: f"({sub()} * {sub()})",
            lambda: f"({sub()} // {sub()})",
            lambda: f"({sub()} % {sub()})",
            lambda: f"-{sub()}",
            lambda: f"abs({sub()})",
            lambda: f"~{sub()}",
            lambda: f"({sub()} {r.choice('&|^')} {sub()})",
            lambda: f"{r.choice(['min', 'max'])}({sub()}, {sub()})",
            lambda: f"({sub()} if {self.truth()} else {sub()})",
            lambda: f"({sub()} % 5) ** 2",
        )

    def float(self, depth):
        r = self.random
        if depth == 0 or r.random() < 0.2:
            return r.choice([*self.floats, "0.5", "-2.25"])
        sub = lambda: self.float(depth - 1)  # noqa: E731
        whole = lambda: self.integer(depth - 1)  # noqa: E731
        return self.choose(
            lambda: f"({whole()} / {whole()})",
            lambda: f"({sub()} {r.choice('+-*/')} {whole()})",
            lambda: f"({sub()} {r.choice(['+', '-', '*', '/', '//', '%'])} {sub()})",
            lambda: f"{sub()} ** {r.choice(['2', '3', '0.5', '-1'])}",
            lambda: f"math.{r.choice(['sin', 'exp', 'sqrt', 'atan'])}({r.choice([sub, whole])()})",
            lambda: f"(-{sub()})",
        )

    def truth(self):
        r = self.random
        sides = [self.integer(1), r.choice([self.integer, self.float])(1)]
        return f"{sides[0]} {r.choice(['<', '<=', '>', '>=', '==', '!='])} {sides[1]}"

    def array(self, depth):
        r = self.random
        if depth == 0:
            return r.choice(self.arrays)
        sub = lambda: self.array(depth - 1)  # noqa: E731
        number = lambda: r.choice([self.integer, self.integer, self.float])(1)  # noqa: E731
        return self.choose(
            lambda: f"({sub()} {r.choice('+-*')} {number()})",
            lambda: f"({number()} {r.choice('+-*')} {sub()})",
            lambda: f"({sub()} {r.choice(['//', '%', '/'])} {number()})",
            lambda: f"({sub()} + {sub()})",
            lambda: f"({sub()} {r.choice(['<', '==', '>='])} {number()})",
            lambda: f"np.where({sub()} > {number()}, {sub()}, {number()})",
            lambda: f"np.{r.choice(['maximum', 'minimum'])}({sub()}, {number()})",
            lambda: f"np.clip({sub()}, {self.integer(0)}, {self.integer(0)})",
            lambda: f"({sub()} * x[{self.integer(1)} % 3])",
            lambda: f"({sub()} + np.full(4, {self.integer(1)}))",
            lambda: f"({sub()} + x[{self.integer(1)} % 2 :][:1])",
        )


def outcome(function, *args):
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except Exception as error:
        return type(error)


def check(seed):
    program = Program(seed)
    plain = function_of(program.source)
    fast = jitrt.jit(plain)
    rng = random.Random(seed)
    dtype = np.dtype(rng.choice(DTYPES))
    for _ in range(CALLS):
        x = (np.array([0.5, 2.0, -3.25, 7.0]) if dtype.kind == "f" else np.arange(4)).astype(dtype)
        numbers = rng.choice(VALUES), rng.choice([*range(-3, 12), *VALUES]), rng.choice([0.5, -1.5, 0.0, 3.0, 1e200])
        want = outcome(plain, x.copy(), *numbers)
        found = outcome(fast, x.copy(), *numbers)
        message = f"{program.source}{dtype} {numbers}: {want} and not {found}"
        assert isinstance(want, type) == isinstance(found, type), message
        if isinstance(want, type):
            assert want is found, message
            continue
        for one, other in zip(want, found, strict=True):
            assert type(one) is type(other), message
            if isinstance(one, (np.ndarray, np.generic)):
                assert one.dtype == other.dtype and one.shape == other.shape, message
            if np.asarray(one).dtype == object:
                assert np.array_equal(one, other), message
            else:
                np.testing.assert_array_equal(one, other, err_msg=message)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", few(range(0, 40, 10), 1))
def test_like_numpy(first):
    for seed in range(first, first + 10):
        check(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(40, 3000, 20))
def test_many_like_numpy(first):
    for seed in range(first, first + 20):
        check(seed)
