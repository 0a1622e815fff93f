"""The catalogue of the corpus: functions as people write them, each with a recipe for its arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Sizes that a recipe for arguments is called with: lengths of vectors, sides of matrices, trips of Python loops.
VECTOR = (5, 60, 3000)
MATRIX = (4, 17, 70)
LOOP = (3, 8, 15)

Make = Callable[[Any, int], tuple]


@dataclass(frozen=True)
class Example:
    """A function of the corpus.

    Parameters
    ----------
    function : callable
    make : callable
        Arguments from a random generator and a size; the same ones for an equal generator.
    sizes : tuple of int
    tolerance : float
        Rounding errors that may differ, in units of the last place of the largest magnitude of an array.
    log : list, optional
        What the function appends to, a global of its module.
    """

    function: Callable[..., Any]
    make: Make
    sizes: tuple[int, ...]
    tolerance: float
    log: list | None


EXAMPLES: dict[str, Example] = {}


def example(
    make: Make, sizes: tuple[int, ...] = VECTOR, tolerance: float = 1e4, log: list | None = None
) -> Callable[[Callable], Callable]:
    """Enter a function into the catalogue."""

    def enter(function: Callable) -> Callable:
        name = f"{function.__module__.removeprefix('corpus_')}.{function.__name__}"
        assert name not in EXAMPLES
        EXAMPLES[name] = Example(function, make, sizes, tolerance, log)
        return function

    return enter
