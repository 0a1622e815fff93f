"""Random graphs for the fusion policy: elementwise operations, folds, broadcasts, transposes, slices, reshapes.

Integers are exact whatever the order of operations, so one wrong index shows; floats bring functions that are too
expensive to be computed twice.
"""

import numpy as np

from jitrt.ir import build as b
from jitrt.ir.node import Graph
from jitrt.ir.ops import folds
from jitrt.ir.ops.assembly import concatenate
from jitrt.ir.ops.movement import getitem
from jitrt.ir.types import ArrayType

EXTENTS = (1, 2, 3, 4, 5, 7, 12, 20)
INTEGER = (np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.bitwise_xor)
FLOAT = (np.add, np.subtract, np.maximum, np.minimum, np.hypot)
FUNCTIONS = (np.sin, np.tanh, np.abs, np.cos, np.negative)
FOLDS = (folds.REDUCE_ADD, folds.REDUCE_MAXIMUM, folds.REDUCE_MINIMUM)
MOST_ELEMENTS = 3000


class Maker:
    """Makes one graph and values for its inputs."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.is_float = self.rng.random() < 0.4
        self.dtype = np.dtype(np.float64 if self.is_float else np.int64)
        self.inputs, self.values, self.nodes = [], [], []
        for k in range(self.rng.integers(1, 4)):
            shape = tuple(int(self.rng.choice(EXTENTS)) for _ in range(self.rng.integers(1, 4)))
            self.inputs.append(b.input_node(k, ArrayType(self.dtype, shape)))
            self.values.append(self._array(shape))
        self.nodes = list(self.inputs)

    def _array(self, shape):
        values = self.rng.normal(size=shape) if self.is_float else self.rng.integers(-9, 10, shape)
        match self.rng.integers(4):
            case 0:
                return np.asfortranarray(values)
            case 1:
                return np.repeat(values, 2, axis=-1)[..., ::2]
            case _:
                return values

    def make(self, length):
        for _ in range(length):
            node = self._step(self._pick())
            if node is not None and 0 < node.type.size <= MOST_ELEMENTS and node.type.ndim <= 5:
                self.nodes.append(node)
        made = self.nodes[len(self.inputs) :] or self.nodes
        count = int(self.rng.integers(1, 4))
        chosen = {made[-1], *(made[k] for k in self.rng.integers(len(made), size=count))}
        return Graph(tuple(self.inputs), tuple(chosen)), self.values

    def _pick(self):
        return self.nodes[-1] if self.rng.random() < 0.45 else self.nodes[self.rng.integers(len(self.nodes))]

    def _step(self, x):
        rng, ndim = self.rng, x.type.ndim
        axis = int(rng.integers(ndim)) if ndim else 0
        match int(rng.integers(12)):
            case 0 | 1 | 2:
                return self._mix(x, self._pick())
            case 3 | 4 | 5 if ndim:
                axes = tuple(int(k) for k in np.flatnonzero(rng.random(ndim) < 0.5)) or (axis,)
                fold = folds.reduce(FOLDS[rng.integers(len(FOLDS))], x, axes, keepdims=bool(rng.random() < 0.8))
                return self._mix(x, fold) if rng.random() < 0.6 else fold
            case 6 if ndim > 1:
                return b.view("transpose", x, axes=tuple(int(k) for k in rng.permutation(ndim)))
            case 7 if ndim:
                start, step = int(rng.integers(-2, 3)), int(rng.choice([1, 1, 2, -1]))
                cut = [slice(None)] * ndim
                cut[axis] = slice(start, None, step)
                return getitem(x, tuple(cut))
            case 8:
                shapes = [(-1,), (x.type.size, 1), x.shape[::-1], (1, *x.shape)]
                if ndim > 1:
                    shapes.append((x.shape[0] * x.shape[1], *x.shape[2:]))
                return b.view("reshape", x, shape=shapes[rng.integers(len(shapes))])
            case 9 if ndim:
                return concatenate([x, x, getitem(x, (slice(None),) * axis + (slice(0, 1),))], axis)
            case 10:
                return self._unary(x)
            case _:
                return self._mix(self._unary(x), self._unary(x))

    def _mix(self, x, y):
        ufuncs = FLOAT if self.is_float else INTEGER
        try:
            return b.elementwise(ufuncs[self.rng.integers(len(ufuncs))], self._unary(x), y)
        except ValueError:
            return self._unary(x)

    def _unary(self, x):
        if self.is_float:
            return b.elementwise(FUNCTIONS[self.rng.integers(len(FUNCTIONS))], x)
        for _ in range(self.rng.integers(1, 5)):
            ufunc = INTEGER[self.rng.integers(len(INTEGER))]
            x = b.elementwise(ufunc, x, b.constant(np.int64(self.rng.integers(2, 9))))
        return x
