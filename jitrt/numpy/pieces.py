"""Pieces of what lazy arrays have recorded: NumPy computes them until a compile has paid, and a program afterwards."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from .. import config, policy
from ..base.frozen import record
from ..call.segments import Programs
from ..errors import JitrtError, NotWorthwhile, is_passing
from ..ir.interpret import evaluate_once
from ..ir.node import Graph
from ..ir.worthwhile import numpy_time
from ..programs import Compiled
from ..runtime.errstate import FloatingPointRaised
from ..runtime.frames import Retrace

_log = logging.getLogger("jitrt.trace")

_WORTH_A_COMPILE = 2 * 10**10  # picoseconds of NumPy's, in all calls of a piece
_RECORDED_NODE = 4 * 10**6  # what Python spends on a node of a piece that is compiled
_RECENT = 64  # runs of pieces: one that comes again later is no part of a loop that will come to a compile soon
_INTERPRETED_NODE = 5 * 10**6  # what Python spends on a node beside NumPy
_INTERPRETED_PIECE = 50 * 10**6  # what it spends on a piece, and what NumPy's folds take beyond their traffic


@record(eq=False)
class _Piece:
    """What NumPy spends on a graph, what it has spent in all calls, and what computes the graph then."""

    cost: int
    is_short: bool
    """Whether NumPy takes less time for it than recording it does."""
    spent: int = 0
    number: int = -_RECENT
    """Of the run in which it came last."""
    compiled: Compiled | None = None
    is_plain: bool = False


class Pieces:
    """What computes graphs, and what it has cost."""

    def __init__(self) -> None:
        self.programs = Programs(None)
        self._runs = 0
        self._pieces: dict[tuple[Graph, tuple[Any, ...]], _Piece] = {}

    def run(self, graph: Graph, values: list[Any]) -> tuple[list[Any], bool]:
        """The outputs of a graph for these inputs, and whether nothing is gained.

        That is so if NumPy takes less time for it than recording it, and if it has not come lately and is not compiled.
        """
        piece = self._piece(graph, values)
        compiled = self._program(piece, graph, values)
        self._runs += 1
        is_vain = piece.is_short or (compiled is None and self._runs - piece.number > _RECENT)
        piece.number = self._runs
        if compiled is not None:
            try:
                return compiled.run(values), is_vain
            except (FloatingPointRaised, Retrace):  # NumPy reports it
                pass
            except Exception as error:
                self._note(error)
        return evaluate_once(graph.outputs, dict(zip(graph.inputs, values))), is_vain

    def _piece(self, graph: Graph, values: list[Any]) -> _Piece:
        strides = tuple([v.strides if isinstance(v, np.ndarray) else None for v in values])
        piece = self._pieces.get((graph, strides))
        if piece is None:
            if len(self._pieces) >= policy.PROGRAMS:
                self._pieces.pop(next(iter(self._pieces)))
            time, nodes = numpy_time([graph]), len(graph.nodes())
            cost = time + _INTERPRETED_NODE * nodes + _INTERPRETED_PIECE
            piece = self._pieces[graph, strides] = _Piece(cost, time < _RECORDED_NODE * nodes)
        return piece

    def _program(self, piece: _Piece, graph: Graph, values: list[Any]) -> Compiled | None:
        """What computes the graph; None where NumPy is done before a compile would pay, or is expected to be faster."""
        if piece.compiled is None and not piece.is_plain:
            piece.spent += piece.cost
            if config.disabled() or (piece.spent < _WORTH_A_COMPILE and not config.strict()):
                return None
            try:
                piece.compiled = self.programs.compile(graph, values)
            except NotWorthwhile:
                piece.is_plain = True
            except Exception as error:
                piece.is_plain = not is_passing(error)
                self._note(error)
        return piece.compiled

    def _note(self, error: Exception) -> None:
        if config.strict() and not is_passing(error):
            raise JitrtError(f"lazy arrays: internal error: {type(error).__name__}: {error}") from error
        _log.warning("lazy arrays are computed by NumPy: %s: %s", type(error).__name__, error, exc_info=error)
