"""Variables that one loop assigns and another one reads and assigns, and such that only some ways assign."""

import random

import numpy as np
import pytest
from texts import function_of

import jitrt

X = np.arange(5.0)
PROGRAMS = """\
# counted on
for i in range(2):
    j = 0
for i in range(n):
    x[i] = j
    j += 1
# a float
for i in range(2):
    t = 1.0
for i in range(n):
    x = x * t
    t = t + 1
# in a condition
for i in range(2):
    t = 1.0
while t < 5:
    t += 1
    x[0] += t
# the index of a loop that was left
for i in range(len(x)):
    if x[i] > 1:
        break
while i < len(x):
    x[i] = 0
    i += 1
# the index of a loop
for i in range(2):
    x[i] += 1
for k in range(3):
    x[i] += 10
    i += 1
# a bisection
for k in range(n):
    lo, hi = 0, len(x)
while lo < hi:
    mid = (lo + hi) // 2
    if x[mid] < 2.5:
        lo = mid + 1
    else:
        hi = mid
x[0] = lo
# an error
for k in range(n):
    err = 1.0
while err > 0.1:
    err /= 2
    x += err
# a running maximum
for i in range(n):
    m = x[i]
for i in range(5):
    if x[i] > m:
        m = x[i]
x[0] = m
# a flag
for v in x:
    first = 1
for v in x:
    if first:
        n = n + 1
        first = 0
x[0] = n
# a truth value
for i in range(n):
    m = x[i] > 1
for i in range(n):
    if m:
        x[i] = 9
    m = not m
# None at first
for i in range(n):
    prev = None
for i in range(n):
    if prev is not None:
        x[i] += prev
    prev = x[i]
# a text
for i in range(n):
    s = 'a'
for i in range(n):
    if s == 'a':
        x[i] = 7
        s = 'b'
    else:
        s = 'a'
# a tuple
for i in range(n):
    p = (1.0, 2)
for i in range(n):
    x = x * p[0] + p[1]
    p = (p[0] + 1, p[1] * 2)
# a list
for i in range(n):
    l = [1.0]
for i in range(n):
    l.append(l[-1] + 1)
    x = x + l[-1]
# an array
for i in range(2):
    t = x + 0
for i in range(n):
    x = t
    t = x[::-1]
# arrays of other shapes
for i in range(2):
    t = x[1:]
for i in range(n):
    x = t
    t = x[1:]
# inside of a loop
for i in range(n):
    for j in range(2):
        t = 1.0 * i
    for j in range(3):
        x = x + t
        t += 1
# for else
for k in range(n):
    if x[k] > 9:
        break
else:
    x[0] = 3
while k > 0:
    x[k] += k
    k -= 1
# left with continue
for i in range(n):
    if i % 3 == 0:
        t = 1.0
        continue
    if i % 3 == 1:
        t = 2.0
x[0] = t
# on one way
if n > 2:
    t = 1.0
for i in range(n):
    if x[i] > 1:
        t = t + 1
    x[i] = t
# in the first iteration
for i in range(n):
    if i == 0:
        t = 1.0
    if x[i] > 1:
        t = t + 1
    x[i] = t
# in an earlier iteration
for i in range(n):
    if i == 1:
        t = 5.0
    if i > 1:
        x = x + t
        t = t + 1
# on some ways of both
for i in range(n):
    if x[i] > 1:
        t = x[i]
for i in range(n):
    if x[i] > 2:
        t = t * 2
    x[i] = t
# again by the loop
for i in range(n):
    k = i
for k in range(k, k + 3):
    x[k % 5] += k
x[0] = k
"""
TEXTS = dict(text.split("\n", 1) for text in PROGRAMS.split("# ")[1:])


def outcome(function, n):
    x = X.copy()
    try:
        made = np.asarray(function(x, n)).tolist()
    except (NameError, IndexError) as error:
        made = type(error), str(error)
    return made, x.tolist()


@pytest.mark.parametrize("what", TEXTS)
def test_what_later_loops_see(what):
    body = "\n".join(f"    {line}" for line in TEXTS[what].splitlines())
    function = function_of(f"def f(x, n):\n{body}\n    return x\n")
    compiled = jitrt.jit(function)
    for n in (3, 4, 3, 2, 0, 5, 1):
        assert outcome(compiled, n) == outcome(function, n)


NUMBERS = "a float; counted on; in a condition; a bisection; an error; a running maximum; a flag; the index of a loop"


@pytest.mark.parametrize("what", NUMBERS.split("; "))
def test_numbers_are_compiled(what):
    body = "\n".join(f"    {line}" for line in TEXTS[what].splitlines())
    compiled = jitrt.jit(function_of(f"def f(x, n):\n{body}\n    return x\n"))
    for _ in range(3):
        compiled(X.copy(), 4)
    assert str(compiled.explain(X.copy(), 4).loops[-1]).endswith("compiled as a loop")


class Writer:
    """Programs of a few variables, none of which is assigned at first, in nested loops and choices."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.counters = 0

    def expression(self):
        choose = self.random.choice
        value = choose(["1.0", "2", "x[i % 5]", "i", "n", *"abc", *"abc"])
        return value if self.random.random() < 0.5 else f"{value} {choose('+-*')} {choose([*'abc', '0.5', 'i', '3'])}"

    def condition(self):
        return self.random.choice(["i % 2", "x[i % 5] > 1", "n > 2", "i == 0", "i > 0", "a > b", "b < 3", "not i"])

    def block(self, depth, inside):
        return [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, inside)]

    def statement(self, depth, inside):
        kind, pad = self.random.random(), "    " * depth
        name = self.random.choice("abc")
        if kind < 0.35 or depth > 4:
            return [f"{pad}{name} = {self.expression()}"]
        if kind < 0.45:
            return [f"{pad}{name} += {self.expression()}"]
        if kind < 0.52:
            return [f"{pad}x[i % 5] = {self.expression()}"]
        if kind < 0.7:
            made = [f"{pad}if {self.condition()}:", *self.block(depth + 1, inside)]
            return [*made, f"{pad}else:", *self.block(depth + 1, inside)] if self.random.random() < 0.3 else made
        if kind < 0.76 and inside:
            return [f"{pad}if {self.condition()}:", f"{pad}    {self.random.choice(['break', 'continue'])}"]
        if kind < 0.94:
            trips = self.random.choice(["n", "2", "3", "len(x)"])
            return [f"{pad}for i in range({trips}):", *self.block(depth + 1, True)]
        self.counters += 1
        count = f"w{self.counters}"
        body = [f"{pad}    {count} += 1", *self.block(depth + 1, True)]
        return [f"{pad}{count} = 0", f"{pad}while {count} < 3:", *body]

    def write(self):
        body = [line for _ in range(self.random.randint(2, 4)) for line in self.statement(1, False)]
        found = self.random.choice(["a", "b", "a + b", "c", "i"])
        first = ["    if n < 0: a = b = c = 0.0"] if self.random.random() < 0.5 else []
        return "\n".join(["def f(x, n):", "    i = 0", *first, *body, f"    return {found}", ""])


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    function = function_of(Writer(seed).write())
    compiled = jitrt.jit(function)
    with np.errstate(all="ignore"):
        for n in (3, 3, 2, 4, 0, 3):
            assert repr(outcome(compiled, n)) == repr(outcome(function, n))
