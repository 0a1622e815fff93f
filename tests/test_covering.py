"""What the default runs take of the parameters of a test."""

import itertools

import pytest
from covering import covering, few

ROWS = [
    dict(zip("abc", values)) for values in itertools.product([(str, "f"), (str, "d"), (str, "?")], range(7), range(4))
]


def values(rows, *names):
    return {tuple(row[name] for name in names) for row in rows}


@pytest.mark.parametrize("times", [1, 2])
def test_each_value_is_taken(times):
    chosen = [ROWS[k] for k in covering(ROWS, times=times)]
    assert len(chosen) <= 8 * times
    for name in "abc":
        for (value,) in values(ROWS, name):
            assert sum(row[name] == value for row in chosen) >= times


@pytest.mark.parametrize("names", ["ab", "ac", "bc"])
def test_each_pair_is_taken(names):
    chosen = [ROWS[k] for k in covering(ROWS, pairs=True)]
    assert len(chosen) < len(ROWS) / 2 and values(chosen, *names) == values(ROWS, *names)


def test_each_kind_of_dtype_meets_each_value():
    rows = [{"dtype": (str, char), "number": number} for char in "?bhilBHILefdgFDG" for number in range(5)]
    chosen = [rows[k] for k in covering(rows, kinds=True)]
    assert len(chosen) < 50 and values(chosen, "dtype") == values(rows, "dtype")
    kinds = [{"?"}, set("bhiBHI"), {"l"}, {"L"}, {"e"}, {"f"}, set("dg"), {"F", "D", "G"}]
    for kind, number in itertools.product(kinds[:-1], range(5)):
        assert any(row["dtype"][1] in kind and row["number"] == number for row in chosen)
    alone = [rows[k] for k in covering([{"dtype": row["dtype"]} for row in rows], kinds=True)]
    assert len(alone) == len(kinds)


def test_the_first_ones_are_not_slow():
    first, second, third = few("xyz", 2)
    assert (first, second, third.values) == ("x", "y", ("z",)) and third.marks[0].name == "slow"


def test_values_take_turns():
    rows = [{"a": a, "b": b} for a in range(40) for b in range(5)]
    chosen = [rows[k]["b"] for k in covering(rows)]
    assert [chosen.count(b) for b in range(5)] == [8] * 5
