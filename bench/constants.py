"""Folding of a network's weights: 155 convolutions of the shapes of ResNet-152, with batch normalisation.

    python -m bench.constants

prints the time that the fold takes beside that of the same NumPy statements, and the memory of both. The weights are
`jitrt.frozen`, so that what depends on them alone is computed when a function that reads them is compiled.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator

import numpy as np

import jitrt
from jitrt.base import collection
from jitrt.frontend.trace import Request, trace
from jitrt.ir import build as b
from jitrt.ir.node import Graph, forget_dead
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
