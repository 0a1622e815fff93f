"""The worked cases of compute-at: fusions by name, small enough to be checked by hand."""

from jitrt.schedule import Fusion


def two_reductions_joined():
    """Issue 110: a producer of two reductions that meet again."""
    f = Fusion()
    t1 = f.elementwise("T1", f.input("x", 3, 4))
    t2, t3 = f.reduce("T2", t1, (1,)), f.reduce("T3", t1, (1,))
    f.output(f.elementwise("T4", t2, t3))
    return f


def inner_broadcast():
    f = Fusion()
    v, b = f.input("v", 3), f.input("b", 3, 4)
    t2 = f.broadcast("T2", f.elementwise("T1", v), (1,))
    f.output(f.elementwise("T3", t2, b))
    return f


def outer_broadcast():
    f = Fusion()
    w, b = f.input("w", 4), f.input("b", 3, 4)
    t2 = f.broadcast("T2", f.elementwise("T1", w), (0,))
    f.output(f.elementwise("T3", t2, b))
    return f


def two_broadcasts_joined():
    """The dual of issue 110."""
    f = Fusion()
    v, b = f.input("v", 3), f.input("b", 3, 4)
    t1 = f.elementwise("T1", v)
    t2, t3 = f.broadcast("T2", t1, (1,)), f.broadcast("T3", t1, (1,))
    f.output(f.elementwise("T6", f.elementwise("T4", t2, b), f.elementwise("T5", t3, b)))
    return f


def softmax():
    f = Fusion()
    x = f.input("x", 3, 4)
    mb = f.broadcast("mb", f.reduce("m", x, (1,)), (1,))
    e = f.elementwise("e", f.elementwise("d", x, mb))
    sb = f.broadcast("sb", f.reduce("s", e, (1,)), (1,))
    f.output(f.elementwise("y", e, sb))
    return f


def layer_normalisation():
    f = Fusion()
    x = f.input("x", 3, 4)
    mb = f.broadcast("mb", f.elementwise("mu", f.reduce("s", x, (1,))), (1,))
    xm = f.elementwise("xm", x, mb)
    va = f.reduce("va", f.elementwise("sq", xm, xm), (1,))
    rb = f.broadcast("rb", f.elementwise("rs", va), (1,))
    f.output(f.elementwise("y", xm, rb))
    return f


def siblings():
    f = Fusion()
    t1 = f.elementwise("T1", f.input("x", 3, 4))
    f.output(f.elementwise("T2", t1))
    f.output(f.elementwise("T3", t1))
    return f


def consumers_of_two_ranks():
    f = Fusion()
    v, b = f.input("v", 3), f.input("b", 3, 4)
    t1 = f.elementwise("T1", v)
    f.output(f.elementwise("T2", t1))
    f.output(f.elementwise("T4", f.broadcast("T3", t1, (1,)), b))
    return f


def output_and_row_reduction():
    f = Fusion()
    t1 = f.elementwise("T1", f.input("x", 3, 4))
    f.output(f.elementwise("T2", t1))
    f.output(f.elementwise("T4", f.reduce("T3", t1, (1,))))
    return f


def row_and_column_reduction():
    f = Fusion()
    t1 = f.elementwise("T1", f.input("x", 3, 4))
    f.output(f.reduce("T2", t1, (1,)))
    f.output(f.reduce("T3", t1, (0,)))
    return f


def transposed():
    """nvFuser's InliningMismatchedDims1."""
    f = Fusion()
    t2 = f.elementwise("t2", f.elementwise("t1", f.input("x3", 2, 3, 4)))
    f.output(f.elementwise("t5", f.elementwise("t4", f.transpose("t3", t2, (0, 2, 1)))))
    return f


def column_softmax():
    f = Fusion()
    t1 = f.elementwise("T1", f.input("x", 3, 4))
    sb = f.broadcast("sb", f.reduce("s", t1, (0,)), (0,))
    f.output(f.elementwise("y", t1, sb))
    return f


def full_reduction_used():
    f = Fusion()
    t1 = f.elementwise("T1", f.input("x", 3, 4))
    sb = f.broadcast("sb", f.reduce("s", t1, (0, 1)), (0, 1))
    f.output(f.elementwise("y", t1, sb))
    return f


def output_with_a_consumer():
    """nvFuser's ComputeAtNonterminatingOutput."""
    f = Fusion()
    t1 = f.elementwise("T1", f.input("v", 3))
    f.output(f.elementwise("T2", t1))
    f.output(f.elementwise("T4", f.output(f.elementwise("T3", t1))))
    return f


def two_reductions_broadcast():
    f = Fusion()
    x, b = f.input("x", 3, 4), f.input("b", 3, 4)
    c = f.elementwise("c", f.reduce("r1", x, (1,)), f.reduce("r2", b, (1,)))
    f.output(f.elementwise("y", f.broadcast("cb", c, (1,)), x))
    return f


def normalised_beside_itself():
    """nvFuser's issue 749."""
    f = Fusion()
    x = f.input("x", 3, 4)
    t1 = f.elementwise("t1", x)
    t3 = f.broadcast("t3", f.reduce("t2", t1, (1,)), (1,))
    f.output(f.elementwise("t5", f.elementwise("t4", x, t3), t1))
    return f


# Minimal cases for the rules that the axis classes alone do not give.
def outer_broadcast_and_another_consumer():
    f = Fusion()
    w, b = f.input("w", 4), f.input("b", 3, 4)
    t0 = f.elementwise("t0", w)
    f.output(f.elementwise("t3", f.broadcast("t1", t0, (0,)), b))
    f.output(f.elementwise("t4", t0))
    return f


def indirect_persistence():
    f = Fusion()
    t0 = f.elementwise("t0", f.input("x", 3, 4))
    t1 = f.elementwise("t1", t0)
    sb = f.broadcast("sb", f.reduce("s", t1, (0,)), (0,))
    f.output(f.elementwise("y", sb, f.elementwise("t3", t1, t0)))
    return f


def enclosed_by_its_users():
    f = Fusion()
    v, b = f.input("v", 4), f.input("b", 3, 4)
    t0 = f.elementwise("t0", v)
    t1 = f.elementwise("t1", t0)
    t2 = f.elementwise("t2", f.broadcast("t1b", t1, (0,)), b)
    t4 = f.reduce("t4", f.elementwise("t3", t2), (0,))
    f.output(f.elementwise("t5", t4, t0))
    return f


def chained_first_uses():
    f = Fusion()
    t0 = f.elementwise("t0", f.input("x", 3, 4))
    r1 = f.broadcast("r1b", f.reduce("r1", t0, (1,)), (1,))
    t1 = f.elementwise("t1", t0, r1)
    r2 = f.broadcast("r2b", f.reduce("r2", t1, (1,)), (1,))
    f.output(f.elementwise("y", f.elementwise("t2", t1, r2), t0))
    return f


def at(**positions):
    """Positions by the names of tensors; those that are not named are 0."""
    return positions


CASES = {
    "c1_two_reductions_joined": (two_reductions_joined, at(T1=2, T2=1, T3=1)),
    "c2a_inner_broadcast": (inner_broadcast, at(T1=1, T2=1)),
    "c2b_outer_broadcast": (outer_broadcast, at(T2=2)),
    "c2c_two_broadcasts_joined": (two_broadcasts_joined, at(T1=1, T2=1, T3=1, T4=2, T5=2)),
    "c3_softmax": (softmax, at(m=1, mb=1, d=2, e=1, s=1, sb=1)),
    "c4_layer_normalisation": (layer_normalisation, at(s=1, mu=1, mb=1, xm=1, sq=2, va=1, rs=1, rb=1)),
    "c5_siblings": (siblings, at(T1=2)),
    "c6a_consumers_of_two_ranks": (consumers_of_two_ranks, at(T1=1, T3=1)),
    "c6b_output_and_row_reduction": (output_and_row_reduction, at(T1=2, T3=1)),
    "c6c_row_and_column_reduction": (row_and_column_reduction, at(T1=2)),
    "c7a_transposed": (transposed, at(t1=3, t2=1, t3=3, t4=3)),
    "c8_column_softmax": (column_softmax, at(sb=2)),
    "c9_full_reduction_used": (full_reduction_used, {}),
    "c10_output_with_a_consumer": (output_with_a_consumer, at(T1=1, T3=1)),
    "c11_two_reductions_broadcast": (two_reductions_broadcast, at(r1=1, r2=1, c=1, cb=1)),
    "c12_normalised_beside_itself": (normalised_beside_itself, at(t1=1, t2=1, t3=1, t4=2)),
    "h1_outer_broadcast_and_another_consumer": (outer_broadcast_and_another_consumer, at(t1=2)),
    "h2_indirect_persistence": (indirect_persistence, at(sb=2, t3=2)),
    "h3_enclosed_by_its_users": (enclosed_by_its_users, None),
    "h4_chained_first_uses": (chained_first_uses, None),
}

FIRST_USES = {
    "c3_softmax": {"e": (2, "s")},
    "c4_layer_normalisation": {"xm": (2, "sq")},
    "c8_column_softmax": {"T1": (2, "s")},
    "c9_full_reduction_used": {"T1": (2, "s")},
    "c12_normalised_beside_itself": {"t1": (2, "t2")},
}

UNMAPPABLE = {
    "c1_two_reductions_joined": [],
    "c3_softmax": [("x", 1), ("e", 1)],
    "c4_layer_normalisation": [("x", 1), ("xm", 1)],
    "c8_column_softmax": [("T1", 0)],
    "c9_full_reduction_used": [("T1", 0), ("T1", 1)],
    "c11_two_reductions_broadcast": [("x", 1)],
    "c12_normalised_beside_itself": [("x", 1), ("t1", 1)],
}
