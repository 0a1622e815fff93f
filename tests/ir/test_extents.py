"""Extents: what they decide is noted, and for all sizes that satisfy the guards it is decided in the same way."""

import math
import operator
import pickle
import random
import weakref

import numpy as np
import pytest
from covering import few

from jitrt.ir.extents import LEAST, Extent, NotNoted, Size, Sizes, hidden, is_extent, plain
from jitrt.runtime.formulas import evaluate, new_registers, packed, rows_of


def compiled(sizes, numbers):
    """What gives `numbers` for other values of the variables; None where guards fail."""
    rows = rows_of(sizes, {0: (sizes.variables, None)})
    places = [rows.poly(n.poly) if is_extent(n) else n for n in numbers]
    code = packed(rows.rows)
    registers = new_registers(code)

    def values(*extents):
        if not evaluate(code, (np.broadcast_to(np.int8(0), extents),), registers):
            return None
        return tuple(int(registers[k]) if is_extent(n) else n for k, n in zip(places, numbers))

    return values


def made(value, seed, depth=4):
    """A number of two integers in `value` by a random program, with what it has decided on its way."""
    decided = []
    chosen = random.Random(seed)
    numbers = [*value, 1, 2, 3, 8, 64]
    for _ in range(depth * 3):
        x, y = chosen.choice(numbers), chosen.choice(numbers)
        operation = chosen.randrange(12)
        if operation < 3:
            numbers.append(x + y)
        elif operation < 5:
            numbers.append(x - y)
        elif operation == 5:
            numbers.append(x * y)
        elif operation == 6 and y != 0:
            numbers += divmod(x, y)
        elif operation == 7 and y != 0:
            numbers.append(-(-x // y))
        elif operation == 8:
            numbers.append(max(x, y))
        elif operation == 9:
            decided.append(x < y)
            numbers.append(x + 1 if decided[-1] else y)
        elif operation == 10:
            decided.append(x == y)
        elif operation == 11 and y != 0:
            decided.append(x / y >= 2.5)
            numbers.append(math.ceil(x / y))
    return numbers, decided


@pytest.mark.parametrize("seed", few(range(400), 150))
def test_formulas_hold_where_guards_do(seed):
    chosen = random.Random(seed)
    first = [chosen.randint(LEAST, 40), chosen.randint(LEAST, 3000)]
    sizes = Sizes(first)
    numbers, decided = made(sizes.variables, seed)
    formulas = compiled(sizes, numbers)
    assert formulas(*first) == tuple(made(first, seed)[0])
    for _ in range(60):
        other = [max(LEAST, n + chosen.choice((-30, -3, -1, 0, 1, 2, 100))) for n in first]
        found = formulas(*other)
        if found is not None:
            assert (list(found), decided) == made(other, seed)


@pytest.mark.parametrize(
    "look",
    [
        *(int, float, str, repr, hash, range, np.intp, np.zeros, math.sqrt, pickle.dumps),
        *("{:d}".format, "%d".__mod__, [0].__mul__, {6: 1}.get, {6}.__contains__, np.ones(10).__getitem__),
        *(lambda n: np.float64(2) * n, lambda n: n & 3, lambda n: n.bit_length(), lambda n: 2**n),
        lambda n: np.arange(10)[:n],
    ],
)
def test_what_needs_the_number_gets_it_and_that_is_noted(look):
    sizes = Sizes([6])
    (n,) = map(hidden, sizes.variables)
    look(n)
    assert sizes.pinned()
    formulas = compiled(sizes, [n])
    assert formulas(6) == (6,) and formulas(7) is None


class Other:
    """Whatever else knows how to compute with integers."""

    __index__ = None

    def __getattr__(self, name):
        raise AttributeError(name)


def _other(name):
    return lambda self, other: (name, other)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    setattr(Other, f"__r{_name}__", _other(_name))
    setattr(Other, f"__{_name}__", _other(_name))
for _name, _reflected in {"lt": "gt", "le": "ge", "eq": "eq"}.items():
    setattr(Other, f"__{_name}__", _other(_name))
    setattr(Other, f"__{_reflected}__", _other(_reflected))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "le", "eq"])
@pytest.mark.parametrize("see", [hidden, plain])
def test_operations_with_others_are_theirs(name, see):
    sizes = Sizes([6])
    (n,) = map(see, sizes.variables)
    operation = getattr(operator, name)
    assert isinstance(operation(n, Other()), tuple) and isinstance(operation(Other(), n), tuple)
    assert not sizes.pinned()


def test_quotients_and_floats_are_numbers_to_code_that_is_traced():
    for compute in (lambda n: n / 2, lambda n: 3 / n, lambda n: n * 0.5, lambda n: 1.5 - n, lambda n: n % 2.5):
        (n,) = map(hidden, Sizes([6]).variables)
        assert type(compute(n)) is float and compute(n) == compute(6)


def test_it_is_an_integer_to_those_who_ask():
    (n,) = Sizes([6]).variables
    assert isinstance(n, int) and type(hidden(n)) is Size and type(plain(hidden(n))) is Extent
    assert isinstance(n * 2 - 1, int) and n - n == 0 and type(n - n) is int


def test_equal_ones_are_found_without_their_values():
    sizes = Sizes([6, 7])
    n, m = sizes.variables
    found = {(n, m): 1, (n + m,): 2}
    assert found[n * 1, m + 0] == 1 and found[(m + n,)] == 2
    assert not sizes.pinned()


def test_different_ones_are_told_apart_by_a_guard():
    sizes = Sizes([6, 7])
    n, m = sizes.variables
    assert len({n, m}) == 2
    assert compiled(sizes, [])(5, 5) is None


def test_those_of_two_traces_do_not_mix():
    with pytest.raises(NotNoted):
        Sizes([6]).variables[0] + Sizes([6]).variables[0]


def test_what_is_no_number_is_not_remembered():
    """It may be an array, which would live as long as the program."""
    (n,) = Sizes([100]).variables
    array = np.zeros(3)
    found = weakref.ref(array)
    assert n.__eq__(array) is n.__lt__(array) is n.__add__(array) is NotImplemented
    del array
    assert found() is None


def test_nothing_is_decided_behind_the_guards():
    sizes = Sizes([6])
    (n,) = sizes.variables
    assert n < 10
    compiled(sizes, [n])
    assert n < 11  # which follows
    with pytest.raises(NotNoted):
        n < 8  # noqa: B015


def test_a_division_by_nothing_is_no_fit():
    sizes = Sizes([6])
    (n,) = sizes.variables
    formulas = compiled(sizes, [100 // (n - 5)])
    assert formulas(6) == (100,) and formulas(5) is None
