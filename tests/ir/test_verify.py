"""The verifier finds procedures that break a rule of the loop language."""

import numpy as np
import pytest

from jitrt.ir.integers import Poly
from jitrt.ir.loops import (
    Compute,
    Do,
    Fold,
    For,
    If,
    Integer,
    Leave,
    Literal,
    Load,
    Parameter,
    Procedure,
    Put,
    Routine,
    Scope,
    Stop,
    Store,
    Update,
)
from jitrt.ir.verify import Malformed, verify

F8, I8 = np.dtype(float), np.dtype(np.int64)
X = Parameter("x", F8, 1, True)
N, T1 = Poly.name("x.n0"), Poly.name("t1")


def load(target, index):
    return Load(target, F8, "x", Poly.name(index) * 8, "x")


def total(body, behind=()):
    loop = For("t1", Poly.number(0), N, 1, tuple(body), (Fold("t3", "add", F8),))
    return Procedure((X,), (loop, *behind), (("v1", F8),), ())


def test_a_sum():
    verify(total([load("t2", "t1"), Update("t3", "t2")], behind=[Put("v1", "t3", F8)]))


@pytest.mark.parametrize(
    "procedure",
    [
        total([Update("t3", "t2"), load("t2", "t1")]),
        total([load("t2", "t1"), load("t2", "t1")]),
        total([load("t2", "t1"), Update("t4", "t2")]),
        total([load("t2", "t1"), Update("t3", "t2")], behind=[Put("v1", "t2", F8)]),
        total([load("t2", "t1")], behind=[Integer("t5", T1)]),
        total([load("t2", "t5")]),
        total([Leave("L1")]),
        total([Scope("L1", ()), Leave("L1")]),
        total([Stop("t9")]),
        total([If("t2", ())]),
        total([Compute("t2", "add", ("t1", "t4"), (F8, F8), F8)]),
        total([Store(F8, "y", T1, "t1", "")]),
        total([Literal("t1", I8, 0)]),
    ],
)
def test_what_breaks_a_rule(procedure):
    with pytest.raises(Malformed):
        verify(procedure)


def test_routines_stand_in_front_of_what_runs_them():
    routine = Routine("R1", (("t2", I8),), (Put("v2", "t2", I8),), ("v2", I8))
    number = Literal("t3", I8, 1)
    verify(Procedure((X,), (routine, number, Do("t4", "R1", ("t3",)), Put("v1", "t4", I8)), (("v1", I8),), ()))
    for body in ((number, Do("t4", "R1", ("t3",)), routine), (routine, Do("t4", "R1", ("t2",)))):
        with pytest.raises(Malformed):
            verify(Procedure((X,), body, (), ()))
