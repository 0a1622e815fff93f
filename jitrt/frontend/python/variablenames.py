"""Names that the user's code gives to what a trace records, for texts that people read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ...ir.node import Node
from ..numpy.tracer import Tracer
from .userline import is_ours


@contextmanager
def variable_names() -> Iterator[dict[Node, str]]:
    """Collect, while functions of the user's run on tracers, the names of the variables that hold these at the end.

    The first name of a value is the one that is kept.
    """
    found: dict[Node, str] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "return" and not is_ours(frame):
            for name, value in frame.f_locals.items():
                if type(value) is Tracer and value._choice is None and name.isidentifier():
                    found.setdefault(value._node, name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
