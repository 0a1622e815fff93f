"""Running a loop tree element by element, with no more storage than the positions leave.

A position that is too deep gives wrong numbers here, since the tensor then has no memory for what is read later.
Splits that do not divide, merges and reordered loops are followed by index, from the loops of a consumer through the
axes of the arrays to the loops of its producer.
"""

import numpy as np

from jitrt.schedule.domain import Split
from jitrt.schedule.looptree import LoopNode, loop_tree, stored_axes
from jitrt.schedule.replay import root_map


def elementwise(name, operands):
    """Some function that differs from tensor to tensor."""
    value = 1.0 + len(name) + sum(map(ord, name)) % 7
    for k, operand in enumerate(operands):
        value = value + (k + 2) * np.sin(operand)
    return value


def by_numpy(fusion, values):
    """Values of all tensors, computed as whole arrays."""
    for e in fusion.expressions:
        operands = [values[t] for t in e.inputs]
        for out in e.outputs:
            if e.op == "ew":
                values[out] = elementwise(out.name, operands)
            elif out.reduction_axes:
                values[out] = operands[0].sum(tuple(k for k, a in enumerate(out.domain.root) if a.is_reduction))
            elif e.op == "bc":
                values[out] = np.expand_dims(operands[0], tuple(k for k, j in enumerate(e.maps[0]) if j is None))
            elif e.op == "tr":
                values[out] = operands[0].transpose(e.maps[0])
            else:
                values[out] = operands[0].reshape(out.domain.shape)
    return values


def inner_index(index, transforms):
    """Add to an index by axes that of the axes which `transforms` make of them."""
    for t in transforms:
        if isinstance(t, Split):
            index[t.outer], index[t.inner] = divmod(index[t.source], t.inner.extent)
        else:
            index[t.result] = index[t.outer] * t.inner.extent + index[t.inner]


def outer_index(index, transforms):
    """Add to an index by axes that of the axes which `transforms` made them of."""
    for t in reversed(transforms):
        if isinstance(t, Split):
            index[t.source] = index[t.outer] * t.inner.extent + index[t.inner]
        else:
            index[t.outer], index[t.inner] = divmod(index[t.result], t.inner.extent)


def place_of(tensor, element):
    """Where in its memory the `element` of a tensor, by the axes of its array, is."""
    index = dict.fromkeys(tensor.domain.logical, 0) | dict(zip(tensor.domain.array_axes, element))
    inner_index(index, tensor.domain.transforms)
    return tuple(index[a] for a in stored_axes(tensor))


def by_loops(fusion, values):
    """Values of the outputs, computed by the loop tree."""
    tree = loop_tree(fusion)
    assert tree is not None
    memory = {t: np.full([a.extent for a in stored_axes(t)], np.nan) for t in fusion.tensors}
    for t, value in values.items():
        for element in np.ndindex(value.shape):
            memory[t][place_of(t, element)] = value[element]

    def read(tensor, consumer, axis_map, index):
        pairs = root_map(tensor.domain, consumer.domain, axis_map)
        element = dict.fromkeys(tensor.domain.array_axes, 0)
        element |= {p: 0 if p.is_broadcast else index[c] for c, p in pairs.items()}
        return memory[tensor][place_of(tensor, element.values())]

    def statement(e, loops):
        for out in e.outputs:
            index = dict(zip(out.axes, loops))
            outer_index(index, (*out.domain.views, *out.domain.transforms))
            if any(n >= a.extent for a, n in index.items() if not a.is_broadcast):
                continue  # beyond the end of an axis that its blocks do not divide
            operands = [read(t, out, axis_map, index) for t, axis_map in zip(e.inputs, e.maps)]
            place = tuple(index[a] for a in stored_axes(out))
            if out.reduction_axes:
                memory[out][place] += operands[0]
            else:
                memory[out][place] = elementwise(out.name, operands) if e.op == "ew" else operands[0]

    def expressions(item):
        return [item] if not isinstance(item, LoopNode) else [e for b in item.body for e in expressions(b)]

    def walk(items, index, started):
        for item in items:
            for out in (t for e in expressions(item) for t in e.outputs):
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
    for tensor, memory in by_loops(fusion, inputs).items():
        for element in np.ndindex(tensor.domain.shape):
            np.testing.assert_allclose(memory[place_of(tensor, element)], want[tensor][element], rtol=1e-12)
