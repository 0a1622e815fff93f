"""Bound methods among what a trace gets: they are those of the copies of classes.

Objects are put together before the classes are there that stand for theirs, and so are their methods. A method of the
class itself would be called with the real lists and dicts that it names, and what it does to them happen once.
"""

from __future__ import annotations

import types
from collections.abc import Collection
from typing import Any

from ...values import kinds


def bound_again(value: Any, functions: Collection[int]) -> Any:
    """`value` with methods of its objects' classes; what can be changed stays the same object.

    Parameters
    ----------
    value : object
        What a trace gets, whose objects have copies of their classes.
    functions : collection of int
        Identities of the functions in it that were taken apart.
    """
    done: dict[int, tuple[Any, Any]] = {}  # with what the identities are of, lest others get these

    def bound(part: Any) -> Any:
        if id(part) in done:
            return done[id(part)][1]
        made = part
        done[id(part)] = part, made
        if type(part) is types.MethodType:
            owner = part.__self__
            if "__jitrt_class__" in vars(owner if isinstance(owner, type) else type(owner)):
                bound(owner)
                made = getattr(owner, part.__name__)
        elif kind := kinds.FUNCTION if id(part) in functions else kinds.kind_of(part):
            what, before = kind.take(part)
            parts = [bound(p) for p in before]
            if any(new is not old for new, old in zip(parts, before)):
                made = kind.fill(None if kind.begin is None else part, what, parts)
        done[id(part)] = part, made
        return made

    return bound(value)
