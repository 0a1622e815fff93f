"""Running a loop tree element by element, with no more storage than the positions leave.

A position that is too deep gives wrong numbers here, since the tensor then has no memory for what is read later.
"""

import numpy as np

from jitrt.schedule.looptree import LoopNode, loop_tree, stored_axes
from jitrt.schedule.replay import loop_keys


def elementwise(name, operands):
    """Some function that differs from tensor to tensor."""
    value = 1.0 + len(name) + sum(map(ord, name)) % 7
    for k, operand in enumerate(operands):
        value = value + (k + 2) * np.sin(operand)
    return value


def by_numpy(fusion, values):
    """Values of all tensors, computed as whole arrays."""
    for e in fusion.expressions:
        (out,) = e.outputs
        operands = [values[t] for t in e.inputs]
        if e.op == "ew":
            values[out] = elementwise(out.name, operands)
        elif e.op == "red":
            values[out] = operands[0].sum(tuple(k for k, a in enumerate(out.domain.root) if a.is_reduction))
        elif e.op == "bc":
            values[out] = np.expand_dims(operands[0], tuple(k for k, j in enumerate(e.maps[0]) if j is None))
        elif e.op == "tr":
            values[out] = operands[0].transpose(e.maps[0])
    return values


def by_loops(fusion, values):
    """Values of the outputs, computed by the loop tree."""
    tree = loop_tree(fusion)
    assert tree is not None
    memory = dict(values)
    for t in fusion.tensors:
        if t.definition is not None:
            memory[t] = np.full([a.extent for a in stored_axes(t)], np.nan)

    def read(tensor, keys, index):
        place = tuple(index[keys[1].index(keys[0][tensor.axes.index(a)])] for a in stored_axes(tensor))
        return memory[tensor][place]

    def statement(e, index):
        (out,) = e.outputs
        operands = [read(t, loop_keys(t.domain, out.domain, axis_map), index) for t, axis_map in zip(e.inputs, e.maps)]
        place = tuple(index[out.axes.index(a)] for a in stored_axes(out))
        if e.op == "red":
            memory[out][place] += operands[0]
        else:
            memory[out][place] = elementwise(out.name, operands) if e.op == "ew" else operands[0]

    def expressions(item):
        return [item] if not isinstance(item, LoopNode) else [e for b in item.body for e in expressions(b)]

    def walk(items, index, started):
        for item in items:
            for e in expressions(item):
                (out,) = e.outputs
                folded = [k for k, a in enumerate(out.axes) if a.is_reduction]
                if folded and folded[0] == len(index) and (out, tuple(index)) not in started:
                    started.add((out, tuple(index)))
                    # What an outer loop has fixed of the stored axes, and all of the others, starts anew.
                    place = tuple(
                        index[k] if (k := out.axes.index(a)) < len(index) else slice(None) for a in stored_axes(out)
                    )
                    memory[out][place] = 0.0
            if not isinstance(item, LoopNode):
                statement(item, index)
                continue
            for k in range(item.extent):
                walk(item.body, [*index, k], started)

    walk(tree, [], set())
    return {t: memory[t] for t in fusion.tensors if t.is_output}


def check(fusion, rng):
    """Assert that both ways agree."""
    inputs = {t: rng.normal(size=t.domain.shape) for t in fusion.tensors if t.definition is None}
    want = by_numpy(fusion, dict(inputs))
    for tensor, got in by_loops(fusion, inputs).items():
        axes = tensor.domain.array_axes
        kept = [k for k, a in enumerate(axes) if not a.is_broadcast]
        expected = np.squeeze(want[tensor], tuple(k for k in range(len(axes)) if k not in kept))
        np.testing.assert_allclose(got, expected, rtol=1e-12)
