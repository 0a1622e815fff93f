"""Random programs of Python and NumPy do, compiled, what they do plain, in strict and in default mode."""

import pytest
from covering import few
from random_code import Program, Writer, shrunk
from random_code_outcomes import mismatch, outcomes

import jitrt

IN_CI, AT_LENGTH, GROUP = 150, 20_000, 25


def program(seed: int) -> Program:
    return Writer(seed).write(2 + seed % 9)


def check(seeds) -> int:
    """Compare these programs; how many of them were compiled."""
    functions = []

    def compiled(function):
        functions.append(jitrt.jit(function))
        return functions[-1]

    for seed in seeds:
        if mismatch(program(seed), compiled):
            small = minimised(program(seed))
            raise AssertionError(f"seed {seed}: {mismatch(small)}\n{small}")
    return sum(function.cache_info().compiled > 0 for function in functions)


def minimised(program: Program) -> Program:
    """What is left of a program that fails, and fails in the same way."""
    kind = mismatch(program).partition(":")[0]
    return shrunk(program, lambda p: makes_sense(p) and mismatch(p).startswith(kind))


def makes_sense(program: Program) -> bool:
    """Whether no name is missing since a part was taken away."""
    try:
        return all(
            not outcome.error.startswith(("NameError", "UnboundLocalError"))
            for outcome in outcomes(program, lambda function: function)
        )
    except Exception:
        return False


@pytest.fixture(params=["strict", "default"])
def mode(request, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "1" if request.param == "strict" else "0")


@pytest.mark.parametrize("first", few(range(0, IN_CI, GROUP), 2))
def test_random_code(first, monkeypatch):
    is_strict = first // GROUP % 2
    monkeypatch.setenv("JITRT_STRICT", str(is_strict))
    assert check(range(first, first + GROUP)) > GROUP // 4 * is_strict  # of plain functions it would say nothing


@pytest.mark.slow
@pytest.mark.parametrize("first", range(IN_CI, AT_LENGTH, 50))
def test_much_random_code(first, mode):
    check(range(first, first + 50))
