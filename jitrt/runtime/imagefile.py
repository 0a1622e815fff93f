"""Images as bytes: JSON for what is small, and behind it the elements of all arrays, one array after the other."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ..ir.types import ArrayType
from .image import Image, Table

_MOST_CONSTANT_BYTES = 1 << 16


def encode(image: Image, hosts: Any = None) -> bytes | None:
    """The bytes of an image, and of its steps as `hostfile` encodes them; None if it has large constants.

    Examples
    --------
    >>> small = Image(64, 1, (), (0,), ((0, ArrayType(np.dtype("f8"), (3,)), None),), (), (), (), (), (), 3, 0)
    >>> decode(encode(small))[0].fresh
    ((0, ArrayType(dtype=dtype('float64'), shape=(3,), weak=False), None),)
    """
    arrays: list[np.ndarray] = []

    def put(array: np.ndarray) -> list[Any]:
        arrays.append(np.ascontiguousarray(array))
        return [array.dtype.str, array.shape]

    constants = image.constants
    if sum(c.nbytes for c in constants) > _MOST_CONSTANT_BYTES:
        return None
    if not all(c.flags.c_contiguous for c in constants):
        return None
    tables = [table and [put(getattr(table, name)) for name in Table.__match_args__] for table in image.actions]
    kept = {
        "nbytes": image.nbytes,
        "places": image.places,
        "scalars": [(k, offset, dtype.str) for k, offset, dtype in image.scalars],
        "outputs": image.outputs,
        "fresh": [(k, t.dtype.str, t.shape, t.weak, strides) for k, t, strides in image.fresh],
        "given": image.given,
        "counts": image.counts,
        "saved": image.saved,
        "kernels": image.kernels,
        "work": image.work,
        "may_raise": image.may_raise,
        "hosts": hosts,
        "actions": tables,
        "constants": [put(c) for c in constants],
    }
    head = json.dumps(kept).encode()
    return b"".join([len(head).to_bytes(8, "little"), head, *(a.tobytes() for a in arrays)])


def decode(data: bytes) -> tuple[Image, Any]:
    """The image whose bytes these are, and its steps.

    Raises
    ------
    Exception
        If they are those of no image.
    """
    size = int.from_bytes(data[:8], "little")
    kept = json.loads(data[8 : 8 + size])
    position = 8 + size

    def take(described: tuple[str, list[int]]) -> np.ndarray:
        nonlocal position
        dtype, shape = np.dtype(described[0]), tuple(described[1])
        count = math.prod(shape)
        array = np.frombuffer(data, dtype, count, position).reshape(shape)
        position += array.nbytes
        return array

    actions = tuple(table and Table(*map(take, table)) for table in kept["actions"])
    constants = tuple(take(c).copy() for c in kept["constants"])  # kernels rely on alignment
    if position != len(data):
        raise ValueError("there is more than an image")
    image = Image(
        nbytes=kept["nbytes"],
        places=kept["places"],
        scalars=tuple((k, offset, np.dtype(dtype)) for k, offset, dtype in kept["scalars"]),
        outputs=tuple(kept["outputs"]),
        fresh=tuple(
            (k, ArrayType(np.dtype(dtype), tuple(shape), weak), None if strides is None else tuple(strides))
            for k, dtype, shape, weak, strides in kept["fresh"]
        ),
        given=tuple(map(tuple, kept["given"])),
        saved=tuple(map(tuple, kept["saved"])),
        constants=constants,
        actions=actions,
        kernels=tuple(kept["kernels"]),
        work=kept["work"],
        may_raise=kept["may_raise"],
        counts=tuple(map(tuple, kept["counts"])),
    )
    return image, kept["hosts"]
