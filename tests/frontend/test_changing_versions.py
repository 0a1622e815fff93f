"""Calls that leave the baseline version in any turn of any loop, and begin again in the optimised one."""

import ctypes

import numpy as np
import pytest
from container_programs import ContainerWriter
from jitrt.kernels.tiers import TRAMPOLINE
from jitrt.kernels.words import I1, word
from object_programs import ObjectWriter
from staged_programs import StatefulWriter, Writer
from test_staged_programs import check

from jitrt.codegen import baseline, entries, procedures, tierup

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
def begin_again(monkeypatch):
    """Let all procedures have two versions, and calls leave the first one; what does that before each call."""
    rng, tables = np.random.default_rng(1), []

    def begin(entry, words, optimised):
        tables.append((ctypes.c_int64 * len(TRAMPOLINE)).from_address(words))
        tables[-1][OTHER] = optimised()

    def again():
        for table in tables:
            table[CODE], table[TURNS] = table[FIRST], int(rng.choice([64, 65, 66, 70, 80, 100, 150]))

    monkeypatch.setenv("JITRT_CACHE_DIR", "")
    monkeypatch.setattr(procedures, "fingerprint", lambda: f"leaving {id(tables)}")  # symbols of their own
    monkeypatch.setattr(procedures, "Trampoline", Leaving)
    monkeypatch.setattr(tierup, "begin", begin)
    monkeypatch.setattr(entries, "digest", lambda key: "0")
    monkeypatch.setattr(entries, "_entries", {})
    return again


@pytest.mark.parametrize("writer", [Writer, StatefulWriter, ObjectWriter, ContainerWriter])
def test_random_programs(writer, begin_again):
    assert sum(check(seed, writer, begin_again) for seed in range(500, 516)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20_000, 22_000, 100))
def test_many_random_programs(first, begin_again):
    for seed in range(first, first + 100):
        for writer in (Writer, StatefulWriter, ObjectWriter, ContainerWriter):
            check(seed, writer, begin_again)
