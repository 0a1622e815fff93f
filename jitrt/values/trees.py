"""What the trees of values say, see `kinds`, and the code that puts values of one tree together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .kinds import AGAIN, DICT, LIST, MASKED, METHOD, NAMED, OBJECT, RECORDS, TUPLE, Kind, Tree, rebuild
from .masked import maker as masked_maker


def nodes(tree: Tree) -> Iterator[tuple[Kind, Any, tuple[Tree, ...]]]:
    """The nodes of a tree that are no leaves, each before its parts."""
    if tree is not None:
        yield tree
        for part in tree[2]:
            yield from nodes(part)


def leaf_count(tree: Tree) -> int:
    """How many leaves a tree has."""
    return 1 if tree is None else sum(map(leaf_count, tree[2]))


def part_count(tree: Tree) -> int:
    """How many values a call holds in its lists, dicts and objects, and in those that the function names."""
    return sum(len(parts) for group in tree[2] for value in group[2] for _, _, parts in nodes(value))


def fields_in(tree: Tree) -> dict[int, tuple[int, int, int]]:
    """The leaves that are fields of arrays of records, by their numbers.

    For each the number of the first field of its array, the bytes of a record, and the axes that a record has.
    """
    found: dict[int, tuple[int, int, int]] = {}
    _note_fields(tree, 0, None, found)
    return found


def _note_fields(
    tree: Tree, first: int, of: tuple[int, int, int] | None, found: dict[int, tuple[int, int, int]]
) -> int:
    """Note those in a tree whose first leaf has this number, and which is `of` an array of records; the next number."""
    if tree is None:
        if of is not None:
            found[first] = of
        return first + 1
    kind, what, parts = tree
    array, dtype = first, what[0] if kind is RECORDS else None
    for k, part in enumerate(parts):
        inner = of
        if dtype is not None:
            start, nbytes, axes = (array, dtype.itemsize, 0) if of is None else of
            inner = start, nbytes, axes + dtype[k].ndim
        first = _note_fields(part, first, inner, found)
    return first


def data_in(tree: Tree, first: int = 0) -> set[int]:
    """The leaves that are the data of masked arrays, by their numbers."""
    if tree is None:
        return set()
    kind, _, parts = tree
    found = {first} if kind is MASKED else set[int]()
    for part in parts:
        found |= data_in(part, first)
        first += leaf_count(part)
    return found


def methods_in(tree: Tree) -> set[str]:
    """The names of the bound methods in a tree."""
    return {name for kind, name, _ in nodes(tree) if kind is METHOD}


def is_flat(tree: Tree) -> bool:
    """Whether it is that of a tuple of leaves."""
    return tree is not None and tree[0] is TUPLE and all(part is None for part in tree[2])


def classes_in(tree: Tree) -> set[type]:
    """The classes of the objects in a tree, and those of tuples with names of fields."""
    return {what[0] if kind is OBJECT else what for kind, what, _ in nodes(tree) if kind is OBJECT or kind is NAMED}


def has_vector_fields(tree: Tree) -> bool:
    """Whether fields of arrays of records in a tree are arrays: these have more axes than the records."""
    return any(kind is RECORDS and any(what[0][name].shape for name in what[0].names) for kind, what, _ in nodes(tree))


Part = tuple[Callable[..., Any], tuple[int, ...]]
"""A function that a leaf goes through, and the numbers of what else it takes."""


def maker_of(tree: Tree, parts: Iterable[Part | None] = ()) -> Callable[[Sequence[Any]], Any]:
    """What makes the value of such a tree of a tuple of its leaves: code that is written for it.

    `parts` are what leaves go through; None for those that are taken as they are. Behind the leaves the tuple may have
    what only functions take.

    Examples
    --------
    >>> from jitrt.values.kinds import flatten
    >>> tree = flatten({"a": (1.0, [2.0]), "b": 3.0}, [])
    >>> maker_of(tree)(("x", "y", "z"))
    {'a': ('x', ['y']), 'b': 'z'}
    """
    if any(kind is AGAIN for kind, _, _ in nodes(tree)):
        return _rebuilder(tree, list(parts))
    constants: dict[str, Any] = {"begin": OBJECT.begin, "fill": OBJECT.fill}
    leaves = enumerate(itertools.chain(parts, itertools.repeat(None)))

    def constant(value: Any) -> str:
        name = f"c{len(constants)}"
        constants[name] = value
        return name

    def text(part: Tree) -> str:
        if part is None:
            number, change = next(leaves)
            if change is None:
                return f"leaves[{number}]"
            return f"{constant(change[0])}({', '.join(f'leaves[{k}]' for k in (number, *change[1]))})"
        kind, what, inner = part
        values = [text(p) for p in inner]
        if kind is OBJECT:
            return f"fill(begin({constant(what)}), {constant(what)}, [{', '.join(values)}])"
        if kind is DICT:
            keys = [repr(k) if type(k) is str else constant(k) for k in what]
            return "{" + ", ".join(f"{key}: {value}" for key, value in zip(keys, values)) + "}"
        inside = "".join(f"{v}, " for v in values)
        if kind is MASKED:
            return f"{constant(masked_maker(what))}({inside})"
        if kind is LIST:
            return f"[{inside}]"
        if kind is METHOD:
            return f"getattr({inside}{what!r})"
        if kind is TUPLE:
            return f"({inside})"
        return (
            f"{constant(what)}({inside})" if kind is NAMED else f"{constant(kind.made)}({constant(what)}, [{inside}])"
        )

    return eval(f"lambda leaves: {text(tree)}", constants)


def _rebuilder(tree: Tree, parts: Sequence[Part | None]) -> Callable[[Sequence[Any]], Any]:
    """The same where something occurs twice."""
    changes = [*parts, *[None] * (leaf_count(tree) - len(parts))]

    def changed(leaves: Sequence[Any]) -> Iterator[Any]:
        for leaf, change in zip(leaves, changes):
            yield leaf if change is None else change[0](leaf, *[leaves[k] for k in change[1]])

    return lambda leaves: rebuild(tree, changed(leaves))
