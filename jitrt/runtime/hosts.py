"""Steps that NumPy executes, and where their operands and results are: what of a graph a frame needs for them."""

from __future__ import annotations

import numpy as np

from ..base.frozen import frozen
from ..ir.node import Node


@frozen
class HostStep:
    """A node that NumPy executes; `results` are the stored values that it gives."""

    node: Node
    results: tuple[Node, ...]


@frozen
class Room:
    """An array in the frame, or in that of another array of the call."""

    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]


@frozen(eq=False)
class Hosts:
    """The steps of a program that NumPy executes.

    Parameters
    ----------
    steps : tuple of HostStep
        In the order in which they run.
    places : dict of Node to int
        Numbers of arrays of the call, as in the image.
    slots : dict of Node to Room
        Values in the frame.
    hosted : dict of Node to (int, Room)
        Values in an array of the call, with the place of that.
    outputs : tuple of Node or None
        Outputs of the program; None for those that no step returns.
    orders : tuple
        For outputs that are to have other strides than NumPy may give them, the strides. What it makes of operands that
        lie in the frame has their order there, and not that of the user's arrays.
    """

    steps: tuple[HostStep, ...]
    places: dict[Node, int]
    slots: dict[Node, Room]
    hosted: dict[Node, tuple[int, Room]]
    outputs: tuple[Node | None, ...]
    orders: tuple[tuple[int, ...] | None, ...]


NO_HOSTS = Hosts((), {}, {}, {}, (), ())
