"""What callers promise of arguments: to give arrays away, so that calls may overwrite them, or to leave them alone."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.arrays import is_writeable
from ..values.kinds import Tree
from ..values.trees import leaf_count


def check_names(function: Callable[..., Any], names: Collection[str], option: str) -> None:
    """Raise an error if one of the `names` that an option has is not that of a parameter.

    Raises
    ------
    ValueError
        If a name is not that of a parameter that takes one argument.
    """
    known = _parameters(function) if names else {}
    for name in names:
        if name not in known:
            raise ValueError(f"{option}: {function!r} has no parameter {name!r} that takes one argument")


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    found = inspect.signature(function).parameters
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: p for name, p in found.items() if p.kind not in several}


def donated_leaves(function: Callable[..., Any], structure: Tree, donate: Collection[str]) -> list[int]:
    """Numbers of the leaves of a call ``(args, kwargs)`` that are arguments for the parameters `donate`.

    Examples
    --------
    >>> from jitrt.values.kinds import flatten
    >>> def f(a, b, c): ...
    >>> donated_leaves(f, flatten((((1, 2), 3), {"c": 4}), []), ["b", "c"])
    [2, 3]
    """
    return [leaf for name, leaf, inner in _arguments(function, structure) if inner is None and name in donate]


def leaves_within(function: Callable[..., Any], structure: Tree, names: Collection[str]) -> Iterator[int]:
    """Numbers of all leaves of the arguments for the parameters `names`.

    Examples
    --------
    >>> from jitrt.values.kinds import flatten
    >>> def f(a, b, c): ...
    >>> list(leaves_within(f, flatten((((1, 2), 3), {"c": 4}), []), ["a", "c"]))
    [0, 1, 3]
    """
    for name, leaf, inner in _arguments(function, structure):
        if name in names:
            yield from range(leaf, leaf + leaf_count(inner))


def _arguments(function: Callable[..., Any], structure: Tree) -> Iterator[tuple[str | None, int, Tree]]:
    """The arguments of a call ``(args, kwargs)``: the name of the parameter, the number of the first leaf, the tree."""
    (_, _, positional), (_, names, keywords) = structure[2][:2]
    by_place = [n for n, p in _parameters(function).items() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    rest = itertools.repeat(None, len(positional) - len(by_place))
    leaf = 0
    for name, inner in zip([*by_place[: len(positional)], *rest, *names], [*positional, *keywords]):
        yield name, leaf, inner
        leaf += leaf_count(inner)


def overwritable(leaves: Sequence[Any], donated: Sequence[int], others: Sequence[Any]) -> tuple[int, ...]:
    """Those of the `donated` leaves that a call may overwrite.

    They are contiguous, writable arrays without memory in common with another argument or one of the `others`. Where
    floating-point exceptions raise Python's, nothing is overwritten: the plain function raises them, and needs its
    arguments.
    """
    if any(how in ("raise", "call") for how in np.geterr().values()):
        return ()
    return tuple(k for k in donated if _is_overwritable(k, leaves, others))


def _is_overwritable(k: int, leaves: Sequence[Any], others: Sequence[Any]) -> bool:
    array = leaves[k]
    if type(array) is not np.ndarray or not (array.flags.c_contiguous and is_writeable(array) and array.size):
        return False
    rest = [*leaves[:k], *leaves[k + 1 :], *others]
    return not any(isinstance(other, np.ndarray) and np.may_share_memory(array, other) for other in rest)
