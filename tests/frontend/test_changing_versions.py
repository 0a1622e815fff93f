"""Calls that leave the baseline version in any turn of any loop, and begin again in the optimised one."""

import ctypes
import enum
from collections import deque

import numpy as np
import pytest
from container_programs import NAMES, ContainerWriter
from jitrt.kernels.tiers import TRAMPOLINE
from jitrt.kernels.words import I1, word
from object_programs import ObjectWriter
from staged_programs import StatefulWriter, Writer, arguments, program
from test_staged_programs import check, outcome

from jitrt.codegen import baseline, entries, procedures, tierup
from jitrt.runtime.stagedloops import LoopEngine

CODE, FIRST, OTHER, TURNS = map(TRAMPOLINE.index, ("code", "baseline", "process", "turns"))


class Leaving(baseline.Trampoline):
    """A trampoline of a baseline version that is left when the turns are over, whatever the process does."""

    def _emit_leaves(self, builder):
        with builder.if_then(self._count(builder, 1)):
            other = builder.load(self._at(builder, "process"))
            builder.store_atomic(other, self._at(builder, "code"), "release", 8)
            builder.ret(I1(1))
        builder.ret(I1(0))

    def _ask(self, builder):
        builder.store(word(1), self._at(builder, "asked"))


@pytest.fixture
def tables(monkeypatch):
    """The words of all procedures that are made, each of which has two versions."""
    made = []

    def begin(entry, words, optimised):
        made.append((ctypes.c_int64 * len(TRAMPOLINE)).from_address(words))
        made[-1][OTHER], made[-1][TURNS] = optimised(), 1 << 40

    monkeypatch.setenv("JITRT_CACHE_DIR", "")
    monkeypatch.setattr(procedures, "fingerprint", lambda: f"leaving {id(made)}")  # symbols of their own
    monkeypatch.setattr(procedures, "Trampoline", Leaving)
    monkeypatch.setattr(tierup, "begin", begin)
    monkeypatch.setattr(entries, "digest", lambda key: "0")
    monkeypatch.setattr(entries, "_entries", {})
    return made


@pytest.fixture
def begin_again(tables):
    """Let calls leave the baseline version, in another turn of a loop each time."""
    rng = np.random.default_rng(1)

    def again():
        for table in tables:
            table[CODE], table[TURNS] = table[FIRST], int(rng.choice([64, 65, 66, 70, 80, 100, 150]))

    return again


WRITERS = [Writer, StatefulWriter, ObjectWriter, ContainerWriter]


def bits(value):
    """All that there is in a result."""
    if isinstance(value, (list, tuple, set, deque)):
        return type(value), [bits(v) for v in value]
    if isinstance(value, dict):
        return type(value), [(bits(k), bits(v)) for k, v in value.items()]
    if type(value).__module__ == "programs" and hasattr(value, "__dict__"):
        return type(value), bits(vars(value)) if not isinstance(value, enum.Enum) else value
    if isinstance(value, (np.ndarray, np.generic, float, complex)):
        made = np.asarray(value)
        return type(value), made.dtype, np.where(made == made, made, 0).tobytes(), (made != made).tobytes()
    return value


def both_versions(seed, writer, tables):
    """Whether a program was compiled; fails where its versions differ in a bit."""
    function, source = program(seed, writer)
    function.__globals__.update(NAMES)
    engine, tables[:] = LoopEngine(function), []
    for turn in range(3):
        found = []
        for version in (FIRST, OTHER):
            for table in tables:
                table[CODE] = table[version]
            found.append(bits(outcome(lambda *given: engine.call(given), arguments(seed, turn))))
        assert found[0] == found[1], f"seed {seed}, turn {turn}\n{source}"
    return bool(tables)


@pytest.mark.parametrize("writer", WRITERS)
def test_versions_give_the_same_bits(writer, tables):
    assert sum(both_versions(seed, writer, tables) for seed in range(600, 612)) > 2


@pytest.mark.parametrize("writer", WRITERS)
def test_random_programs(writer, begin_again):
    assert sum(check(seed, writer, begin_again) for seed in range(500, 516)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20_000, 22_000, 100))
def test_many_random_programs(first, begin_again, tables):
    for seed in range(first, first + 100):
        for writer in WRITERS:
            check(seed, writer, begin_again)
            both_versions(seed, writer, tables)
