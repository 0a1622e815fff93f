"""Folding of a network's weights: 155 convolutions of the shapes of ResNet-152, with batch normalisation.

    python -m bench.constants

prints the time that the fold takes beside that of the same NumPy statements, the memory of both, and what becomes of
buffers, views and roundings. The weights are `jitrt.frozen`, so that what depends on them alone is computed when a
function that reads them is compiled.
"""

from __future__ import annotations

import resource
import time
import tracemalloc
import weakref
from collections.abc import Iterator

import numpy as np

import jitrt
from jitrt.base import collection
from jitrt.frontend.trace import Request, trace
from jitrt.ir import build as b
from jitrt.ir.node import Graph, Node, forget_dead
from jitrt.ir.rounding import Rounding
from jitrt.ir.types import ArrayType
from jitrt.passes.constants import fold_constants


def shapes() -> Iterator[tuple[int, int, int, int]]:
    """The weights of the 155 convolutions."""
    yield 64, 3, 7, 7
    channels = 64
    for blocks, width in ((3, 64), (8, 128), (36, 256), (3, 512)):
        for block in range(blocks):
            yield width, channels, 1, 1
            yield width, width, 3, 3
            yield 4 * width, width, 1, 1
            if block == 0:
                yield 4 * width, channels, 1, 1
            channels = 4 * width


def layers() -> list[list[np.ndarray]]:
    """For each convolution its weights, and the scale, bias, mean and variance of its normalisation."""
    rng = np.random.default_rng(0)
    made = []
    for shape in shapes():
        weights = rng.standard_normal(shape, dtype=np.float32)
        vectors = [rng.uniform(0.5, 1.5, shape[0]).astype(np.float32) for _ in range(4)]
        made.append([weights, *vectors])
    return made


def folded(weights, scale, bias, mean, variance):
    """Weights and bias of a convolution that does what it and its normalisation do."""
    factor = scale / np.sqrt(variance + np.float32(1e-5))
    return weights * np.expand_dims(factor, (1, 2, 3)), bias + factor * -mean


def graph_of(network: list[list[np.ndarray]]) -> Graph:
    """All of it as one graph, in which nothing has been computed."""
    outputs = []
    x = b.input_node(0, ArrayType(np.dtype(np.float32), ()))
    for layer in network:
        weights, scale, bias, mean, variance = map(b.constant, layer)
        epsilon = b.constant(np.float32(1e-5))
        factor = b.elementwise(np.divide, scale, b.elementwise(np.sqrt, b.elementwise(np.add, variance, epsilon)))
        wide = b.view("expand_dims", factor, axis=(1, 2, 3))
        outputs.append(b.elementwise(np.multiply, weights, wide))
        outputs.append(
            b.elementwise(np.add, bias, b.elementwise(np.multiply, factor, b.elementwise(np.negative, mean)))
        )
    return Graph((x,), tuple(b.elementwise(np.multiply, n, x) for n in outputs))


def peak() -> float:
    """Megabytes that the process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def value_of(n: Node) -> np.ndarray:
    """The elements of a constant."""
    return n["value"].value


def buffers(graph: Graph) -> None:
    """Checks 1, 3 and 4: a buffer for each constant, in the memory of these and a chunk, and none at the end."""
    forget_dead()
    tracemalloc.start()
    made = fold_constants(graph)
    forget_dead()
    held, most = tracemalloc.get_traced_memory()
    constants = [n for n in made.nodes() if n.op.name == "constant"]
    owners = {value_of(n).ctypes.data for n in constants}
    results = sum(value_of(n).nbytes for n in constants)
    gone = [weakref.ref(value_of(n)) for n in constants]
    print(f"constants that are reached: {len(constants)}, buffers: {len(owners)}")
    print(f"results {results / 1e6:.1f} MB; held {held / 1e6:.1f} MB, at most {most / 1e6:.1f} MB")
    del made, constants
    forget_dead()
    left = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(f"afterwards {sum(r() is not None for r in gone)} of {len(gone)} are alive, {left / 1e6:.1f} MB")


def views(weights: list[np.ndarray]) -> None:
    """Check 2: chains of views take the same time for all sizes, and lie in the memory of what they show."""
    x = b.input_node(0, ArrayType(np.dtype(np.float32), ()))
    shared, times = 0, []
    for value in weights:
        node = b.constant(value)
        start = time.perf_counter()
        for _ in range(10):
            node = b.view("reshape", node, shape=(value.shape[0], -1))
            node = b.view("reshape", b.view("transpose", node, axes=(1, 0)), shape=(-1,))
            node = b.view("reshape", node, shape=value.shape)
        times.append((time.perf_counter() - start) / 40)
        row = b.view("getitem", b.constant(value), index=((0, len(value) // 2, 1),))
        made = fold_constants(Graph((x,), (b.elementwise(np.add, x, row),)))
        shared += np.shares_memory(value_of(made.outputs[0].args[1]), value)
    order = np.argsort([v.size for v in weights])
    small, large = (1e6 * min(times[k] for k in part) for part in (order[:20], order[-20:]))
    print(f"slices that share memory: {shared} of {len(weights)}; a view {small:.1f} µs, of the largest {large:.1f} µs")


def roundings(weights: list[np.ndarray]) -> None:
    """Check 5: chains of ten operations have NumPy's bits, or are within a unit of the rounded doubles if wide."""
    x = b.input_node(0, ArrayType(np.dtype(np.float32), ()))
    chain = (np.add, np.multiply, np.divide, np.subtract, np.maximum)
    differing, furthest = 0, 0
    for value in weights:
        one = np.abs(value[:, :1, :1, :1]) + np.float32(0.3)
        node, narrow, wide = b.constant(value), value, value.astype(np.float64)
        for function in 2 * chain:
            node = b.elementwise(function, node, b.constant(one))
            narrow, wide = function(narrow, one), function(wide, one.astype(np.float64))
        for is_wide in (False, True):
            rounding = Rounding(wide_constants=is_wide)
            made = fold_constants(Graph((x,), (b.elementwise(np.add, x, node),), rounding=rounding))
            found = value_of(made.outputs[0].args[1])
            if not is_wide:
                differing += int((found.view(np.int32) != narrow.view(np.int32)).sum())
            else:
                ordered = [np.where(v < 0, -(2**31) - v, v) for v in (
                    u.view(np.int32).astype(np.int64) for u in (found, wide.astype(np.float32))
                )]  # fmt: skip
                furthest = max(furthest, int(np.abs(ordered[0] - ordered[1]).max()))
    print(f"bits that are not NumPy's: {differing}; wide, units from the rounded doubles: {furthest}")


def main() -> None:
    network = layers()
    elements = sum(layer[0].size for layer in network)
    print(f"{len(network)} convolutions, {elements:,} weights, {peak():.0f} MB")
    graph = graph_of(network)
    operations = sum(n.op.kind.value == "elementwise" for n in graph.nodes()) - len(graph.outputs)
    start = time.perf_counter()
    made = fold_constants(graph)
    first = time.perf_counter() - start
    print(f"fold of {operations} operations, first: {first:.3f} s, {peak():.0f} MB")
    assert all(n.args[0].op.name == "constant" for n in made.outputs)
    del made
    forget_dead()
    fold, plain = [], []
    for _ in range(9):
        start = time.perf_counter()
        with collection.paused():  # as for every compilation
            made = fold_constants(graph)
        fold.append(time.perf_counter() - start)
        del made
        forget_dead()  # memory is given back outside of both times
        start = time.perf_counter()
        results = [folded(*layer) for layer in network]
        plain.append(time.perf_counter() - start)
        del results
    print(f"fold {min(fold):.3f} s, NumPy {min(plain):.3f} s")
    buffers(graph)
    weights = [layer[0] for layer in network]
    views(weights)
    roundings(weights[:20])
    frozen = [[jitrt.frozen(array) for array in layer] for layer in network[:12]]

    @jitrt.jit
    def reads(x):
        return [x * weights[:1, :1, :1, :1].sum() + bias[0] for weights, bias in (folded(*layer) for layer in frozen)]

    captures = reads._specialisations.current_captures()
    call = reads._traced.taken((np.float32(1),), {})
    left = trace(Request(reads.__wrapped__, call.leaves, call.structure, captures)).graph
    print(f"operations left of twelve layers in a jitted function that reads two numbers of each: {len(left.nodes())}")


if __name__ == "__main__":
    main()
