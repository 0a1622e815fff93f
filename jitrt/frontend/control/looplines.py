"""The loops of a function by their lines in the user's code, and what became of each of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from ...base.frozen import frozen
from .source import definition_of
from .values import NotStaged

_LINE = re.compile(r" at line (\d+)$")  # of the function's text
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@frozen
class LoopLine:
    """A loop of the user's.

    Parameters
    ----------
    line : int
        In its file.
    text : str
        The head of the loop.
    fate : str
        Whether it is compiled as a loop, unrolled or in Python, and why.
    refused : str
        Why it is not in a procedure; empty if it is.
    """

    line: int
    text: str
    fate: str
    refused: str = ""

    @property
    def what(self) -> str:
        """What became of it."""
        return f"{self.fate}; not as a procedure: {self.refused}" if self.refused else self.fate

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}  # {self.what}"


def loop_lines(function: Callable[..., Any], fate: Callable[[int], str], refused: str) -> tuple[LoopLine, ...]:
    """The loops of a function, in the order of their lines; none where there is no source.

    Parameters
    ----------
    function : callable
    fate : callable
        From the line of a loop, counted from the function's first one, to what became of it.
    refused : str
        Why the function is no procedure; empty if it is.
    """
    code = getattr(function, "__code__", None)
    try:
        definition = None if code is None else definition_of(code)
    except NotStaged:
        definition = None
    if code is None or definition is None:
        return ()
    found = sorted((n for n in ast.walk(definition) if isinstance(n, _LOOPS)), key=lambda n: (n.lineno, n.col_offset))
    first = code.co_firstlineno - 1
    refused = _LINE.sub(lambda found: f" at line {first + int(found[1])}", refused)
    return tuple(LoopLine(first + n.lineno, _head(n), fate(n.lineno), refused) for n in found)


def _head(loop: Any) -> str:
    if isinstance(loop, ast.For):
        return f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}:"
    return f"while {ast.unparse(loop.test)}:" if isinstance(loop, ast.While) else ast.unparse(loop)
