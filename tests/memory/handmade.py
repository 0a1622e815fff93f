"""Kernels written by hand, one operation each, so that tests of the memory stage do not depend on what is fused."""

import itertools

import numpy as np

from jitrt.ir import build as b
from jitrt.ir.node import Graph
from jitrt.ir.types import ArrayType
from jitrt.memory.plan import BlockMemory, plan_steps
from jitrt.schedule.layout import Layout, Layouts
from jitrt.schedule.loopnest import Compute, Load, Loop, LoopNest, Operand, Store
from jitrt.schedule.nest import KernelCall

_numbers = itertools.count(1000)
SIZE = 1000


def value(shape=(SIZE,), dtype="f8", of=None):
    """A stored value: a node of its own, whatever it is computed from; in the graph it is a copy of `of`."""
    return b.copy(array_input(shape, dtype) if of is None else of)


def array_input(shape=(SIZE,), dtype="f8"):
    return b.input_node(next(_numbers), ArrayType(np.dtype(dtype), shape if isinstance(shape, tuple) else (shape,)))


def kernel(into, *operands):
    """``into = -operand``, or ``into = a + b``; views of a value are written and read through their layouts."""
    return several([into], operands, np.negative if len(operands) == 1 else np.add)


def copying(into, operand):
    """``into = operand``."""
    return several([into], [operand], None)


def several(sinks, operands, ufunc):
    """One kernel that stores the same in each of `sinks`."""
    extents, layouts = sinks[0].shape, Layouts({})
    written = [_operand(f"y{k}", n, layouts[n]) for k, n in enumerate(sinks)]
    read = [_operand(f"x{k}", n, layouts[n]) for k, n in enumerate(operands)]
    body = [Load(k, operand) for k, operand in enumerate(read)]
    last = len(read) - 1
    if ufunc is not None:
        last += 1
        op, float_ = b.elementwise(ufunc, *operands).op, np.dtype("f8")
        body.append(Compute(last, op, tuple(range(last)), (float_,) * last, float_))
    body += [Store(operand, last) for operand in written]
    for axis in reversed(range(len(extents))):
        body = [Loop(axis, tuple(body), axis == 0)]
    places = tuple(layouts[n] for n in (*sinks, *operands))
    nest = LoopNest(len(extents), (*written, *read), (), tuple(body))
    return KernelCall(nest, extents, places, (), extents[0] if extents else 1, int(np.prod(extents)), 1)


def statements(extents, operands, layouts, body):
    """A kernel of the given statements; `layouts` are (node, offset, strides)."""
    layouts = tuple(Layout(*place) for place in layouts)
    return KernelCall(LoopNest(len(extents), operands, (), body), extents, layouts, (), 1, int(np.prod(extents)), 1)


def _operand(name, node, layout):
    last = node.type.ndim - 1
    classes = tuple(
        "0" if s == 0 else "1" if k == last and s == node.dtype.itemsize else "s" for k, s in enumerate(layout.strides)
    )
    return Operand(name, node.dtype, classes)


def plan(steps, outputs, inputs=()):
    """The memory plan of these steps."""
    return BlockMemory(*plan_steps(Graph(tuple(inputs), tuple(outputs)), steps), {})


def decision(plan_, node):
    return next(d for d in plan_.decisions if d.node is node)


def over(plan_, node):
    """The operands in whose memory `node` lies."""
    return decision(plan_, node).over


def reason(plan_, node, operand):
    """Why `node` does not lie in the memory of `operand`."""
    return dict(decision(plan_, node).refusals)[operand]


def place(plan_, node):
    """Where a value begins: in the frame, or in a result."""
    if node in plan_.layout.slots:
        return "frame", plan_.layout.slots[node].offset
    host, slot = plan_.layout.hosted.get(node, (node, None))
    return host, slot.offset if slot else 0
