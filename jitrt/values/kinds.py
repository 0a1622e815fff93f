"""What a call may hold: the kinds of values that hold others, and how these are taken apart and put together again.

    value                    →  tree                                                                 leaves
    {"a": (1.0, [x])}        →  (DICT, ("a",), ((TUPLE, None, (None, (LIST, None, (None,)))),))      1.0, x
    Point(x), the same twice →  (TUPLE, None, ((OBJECT, (Point, ("x",)), (None,)), (AGAIN, 0, ())))  x

A node of a tree is its kind, what tells its value from others of that kind beside the parts, and the trees of these; a
leaf is None. All that goes through values asks the kinds.
"""

from __future__ import annotations

import functools
import math
import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import policy
from ..base.frozen import frozen
from .attributes import attributes_of, has_plain_attributes, has_plain_fields, original_class
from .constants import Identity
from .functions import Code, is_own_method, is_taken_apart, parts_of, stays
from .growing import NOT_GROWING, Appended, Growing, Unread
from .keys import STATIC_TYPES, is_foreign
from .mappings import Keys, Mapping, is_mapping, put
from .masked import begun, has_mask, names_of, told
from .masked import parts_of as parts_of_masked
from .masked import put_together as put_masked_together
from .records import Records, fields_of, has_fields, put_together

Tree = Any

# From the arguments of a call to a value in them: indices, keys, and names of attributes.
Path = tuple[Any, ...]


class Attributes:
    """In a path: the attributes of the object so far."""


class Parts:
    """In a path: what the function so far has closed over, and its defaults; the object of a method, and the like."""


_DEEPEST = 8  # objects in objects; deeper ones, which may be circles, are leaves
_MOST_LEAVES = 512  # objects behind so many are leaves, too


@frozen(eq=False)
class Kind:
    """A kind of values that hold others.

    Parameters
    ----------
    name : str
    take : callable
        From a value to what tells it from others beside its parts, and the parts.
    begin : callable, optional
        From the former to a value without parts, which may be one of its own. None for what never changes.
    fill : callable
        Gives such a value, None for what never changes, its parts; the value that has them.
    keys : callable, optional
        From what tells values apart to the keys of the parts. By default these are numbered.
    lead : Path
        What stands in paths before the keys.
    """

    name: str
    take: Callable[[Any], tuple[Any, Sequence[Any]]]
    begin: Callable[[Any], Any] | None
    fill: Callable[[Any, Any, Sequence[Any]], Any]
    keys: Callable[[Any], Sequence[Any]] | None = None
    lead: Path = ()

    def __repr__(self) -> str:
        return self.name

    def made(self, what: Any, parts: Sequence[Any]) -> Any:
        """A value with these parts."""
        return self.fill(None if self.begin is None else self.begin(what), what, parts)

    def steps(self, what: Any, parts: Sequence[Any]) -> Iterator[Path]:
        """For each part what leads to it."""
        return ((*self.lead, key) for key in self.names(what, parts))

    def names(self, what: Any, parts: Sequence[Any]) -> Sequence[Any]:
        """The keys of the parts."""
        return range(len(parts)) if self.keys is None else self.keys(what)


def _fill_list(value: list, what: Any, parts: Sequence[Any]) -> list:
    value[:] = parts
    return value


def _fill_dict(value: dict, keys: tuple, parts: Sequence[Any]) -> dict:
    value.update(zip(keys, parts))
    return value


def _attributes(value: Any) -> tuple[Any, Sequence[Any]]:
    attributes = attributes_of(value)
    return (original_class(type(value)), tuple(attributes)), tuple(attributes.values())


def _fill_object(value: Any, what: tuple[type, tuple[str, ...]], parts: Sequence[Any]) -> Any:
    attributes_of(value).update(zip(what[1], parts))
    return value


def _fill_function(value: types.FunctionType, code: Code, parts: Sequence[Any]) -> types.FunctionType:
    code.fill(value, parts)
    return value


def _partial(function: Any, args: tuple, kwargs: dict[str, Any]) -> functools.partial:
    made = functools.partial(function)
    made.__setstate__((function, args, kwargs, None))  # type: ignore[attr-defined]  # the dict itself, and no copy
    return made


def _nothing(value: Any) -> tuple[None, tuple]:
    return None, ()


TUPLE = Kind("tuple", lambda v: (None, v), None, lambda _, what, parts: tuple(parts))
NAMED = Kind("named tuple", lambda v: (type(v), v), None, lambda _, cls, parts: cls(*parts))
LIST = Kind("list", lambda v: (None, v), lambda what: [], _fill_list)
DICT = Kind("dict", lambda v: (Keys.of(v), tuple(v.values())), lambda keys: {}, _fill_dict, lambda keys: keys)
MAPPING = Kind(
    "mapping",
    lambda v: (Mapping.of(v), tuple(v.values())),
    lambda what: what.begun(),
    lambda value, what, parts: put(value, what.keys, parts),
    lambda what: what.keys,
)
"""A dict of a class of `collections`."""

OBJECT = Kind("object", _attributes, lambda w: w[0].__new__(w[0]), _fill_object, lambda w: w[1], (Attributes,))
FUNCTION = Kind(
    "function", lambda v: (Code(v), parts_of(v)), lambda code: code.make(code.namespace), _fill_function, None, (Parts,)
)
METHOD = Kind(
    "method",
    lambda v: (v.__name__, (v.__self__,)),
    None,
    lambda _, name, parts: getattr(parts[0], name),
    None,
    (Parts,),
)
"""Of an object or a class that has it under its name."""

PROXY = Kind(
    "mapping proxy",
    lambda v: (None, parts_of(v)),
    None,
    lambda _, what, parts: types.MappingProxyType(*parts),
    None,
    (Parts,),
)
"""Of which the dict that it shows is a part."""

PARTIAL = Kind(
    "partial function", lambda v: (None, parts_of(v)), None, lambda _, what, parts: _partial(*parts), None, (Parts,)
)
"""Of which the function, the tuple of its arguments and the dict of those with names are parts."""

GROWING = Kind("growing list", _nothing, lambda what: Appended(), lambda value, what, parts: value)
"""A list of which a call says nothing but where it is."""

UNREAD = Kind("unread attribute", lambda v: (type(v), ()), None, lambda *_: Unread())
"""Of an object: what has no kernels, or holds such things, where the function does nothing with it."""

RECORDS = Kind(
    "array of records",
    lambda v: ((v.dtype, v.__class__), fields_of(v)),
    lambda what: Records(*what),
    lambda value, what, fields: put_together(value, fields),
    lambda what: what[0].names,
)
"""Of which the fields are parts."""

MASKED = Kind(
    "masked array", lambda v: (told(v), parts_of_masked(v)), begun, put_masked_together, names_of, (Attributes,)
)
"""Of which the data, the mask and the fill value are parts."""

AGAIN = Kind("again", _nothing, None, lambda *_: None)
"""A list, dict, object or function that has occurred before, as which one."""

SAME = Kind("same", _nothing, None, lambda _, same, parts: same.value)
"""A part of a function that stays the same object."""

_EXACT: dict[type, Kind] = {tuple: TUPLE, list: LIST, dict: DICT}


def kind_of(value: Any, objects: bool = True) -> Kind | None:
    """The kind of a value; None if it is a leaf.

    Parameters
    ----------
    value : object
    objects : bool
        Whether objects of the user's classes are no leaves.
    """
    cls = type(value)
    kind = _EXACT.get(cls)
    if kind is not None:
        return None if kind is DICT and objects and any(map(_is_object, value)) else kind
    if has_fields(value):
        return RECORDS if objects else None
    if has_mask(value):
        return MASKED if objects else None
    if issubclass(cls, tuple):
        return NAMED if hasattr(cls, "_fields") and _is_its_fields(value) else None
    if cls is types.MethodType:
        return METHOD if objects and is_own_method(value) else None
    if cls in _OTHERS:
        return _kind_of_other(value) if objects else None
    return OBJECT if objects and has_plain_attributes(original_class(cls)) else None


_OTHERS = frozenset({OrderedDict, defaultdict, Counter, types.MappingProxyType, functools.partial})


def _kind_of_other(value: Any) -> Kind | None:
    """The kind of a value of a class of the standard library."""
    if type(value) is functools.partial:
        return None if vars(value) else PARTIAL
    if type(value) is types.MappingProxyType:
        shown = parts_of(value)[0]
        return PROXY if kind_of(shown) in (DICT, MAPPING) else None
    return MAPPING if is_mapping(value) and not any(map(_is_object, value)) else None


def _is_object(key: Any) -> bool:
    """Whether a key is an object that a copy may not be equal to, or has such parts."""
    cls = type(key)
    if cls is str:
        return False
    return any(map(_is_object, key)) if cls in (tuple, frozenset) else has_plain_attributes(original_class(cls))


def _is_its_fields(value: tuple) -> bool:
    """Whether a tuple with names of fields has nothing else: classes without slots give theirs a dict, too."""
    kind = type(value)
    return has_plain_fields(kind) and not (kind.__dictoffset__ and vars(value))


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Nested tuples, lists and dicts with their leaves changed.

    Examples
    --------
    >>> mapped({"a": (1, [2])}, lambda leaf: leaf + 1)
    {'a': (2, [3])}
    """
    kind = _EXACT.get(type(value))
    if kind is None:
        return change(value)
    what, parts = kind.take(value)
    return kind.made(what, [mapped(part, change) for part in parts])


def at(value: Any, path: Path) -> Any:
    """What is at a path in a value."""
    for key in path:
        value = attributes_of(value) if key is Attributes else parts_of(value) if key is Parts else value[key]
    return value


class _Seen(dict[int, int]):
    """The numbers of lists, dicts, objects and functions by their identity."""

    __slots__ = ("growing", "most")

    def __init__(self, most: float = math.inf) -> None:
        self.growing: set[int] = set()  # identities of lists of which nothing is known
        self.most = most


class TooMany(Exception):
    """A call has more leaves than are asked for; its text says how many have been counted."""


class _Needed(Exception):
    """A list that a function does nothing with as the attribute of an object is given to it in another way, too."""


def flatten_call(args: tuple, kwargs: dict[str, Any], state: tuple, leaves: list[Any], growing: Growing) -> Tree:
    """The leaves and the tree of a call, ``(args, kwargs, state)``, with its objects.

    `state` are the lists, dicts and objects that the function names.

    Raises
    ------
    TooMany
        If there are more than `policy.LEAVES`, before all of them have been looked at.
    """
    before = len(leaves)
    try:
        return _flatten_call(args, kwargs, state, leaves, growing)
    except _Needed:
        del leaves[before:]
        return _flatten_call(args, kwargs, state, leaves, NOT_GROWING)


def _flatten_call(args: tuple, kwargs: dict[str, Any], state: tuple, leaves: list[Any], growing: Growing) -> Tree:
    seen = _Seen(policy.LEAVES)

    def parts(values: tuple, lists: frozenset[int]) -> Tree:
        found = [
            _grown(v, seen) if k in lists and type(v) is list else _flatten(v, leaves, seen, 0, growing)
            for k, v in enumerate(values)
        ]
        return (TUPLE, None, tuple(found))

    positional = parts(args, growing.positions)
    seen[id(kwargs)] = len(seen)
    named = tuple([_flatten(v, leaves, seen, 0, growing) for v in kwargs.values()])
    return (TUPLE, None, (positional, (DICT, tuple(kwargs), named), parts(state, growing.state)))


def _grown(value: list, seen: _Seen) -> Tree:
    if id(value) in seen:
        return (AGAIN, seen[id(value)], ())
    seen[id(value)] = len(seen)
    seen.growing.add(id(value))
    return (GROWING, None, ())


def flatten(value: Any, leaves: list[Any], objects: bool = False) -> Tree:
    """Append the leaves of nested tuples, lists and dicts to `leaves`; return what is left, a hashable value.

    With `objects`, the attributes of objects of the user's classes are leaves, too, and what occurs twice is taken
    apart once.

    Examples
    --------
    >>> leaves = []
    >>> tree = flatten({"a": (1.0, [2.0])}, leaves)
    >>> leaves
    [1.0, 2.0]
    >>> rebuild(tree, iter(["x", "y"]))
    {'a': ('x', ['y'])}
    """
    return _flatten(value, leaves, _Seen() if objects else None, 0, NOT_GROWING)


def _flatten(value: Any, leaves: list[Any], seen: _Seen | None, depth: int, growing: Growing) -> Tree:
    """`seen` numbers the lists, dicts, objects and functions; None if they do not matter."""
    cls = type(value)
    is_leaf = cls is float or (cls is np.ndarray and value.dtype.names is None)
    kind = None if is_leaf else kind_of(value, seen is not None)
    if kind is None and cls is types.FunctionType and seen is not None and is_taken_apart(value):
        kind = FUNCTION
    if kind is None:
        leaves.append(value)
        return None
    if seen is not None and kind.begin is not None:
        if id(value) in seen:
            if id(value) in seen.growing:
                raise _Needed
            return (AGAIN, seen[id(value)], ())
        if kind is OBJECT or kind is FUNCTION:
            if depth >= _DEEPEST or (kind is OBJECT and len(leaves) >= _MOST_LEAVES):
                leaves.append(value)
                return None
            depth += 1
        seen[id(value)] = len(seen)
    what, parts = kind.take(value)
    if seen is not None and len(leaves) + len(parts) > seen.most:
        raise TooMany(f"{len(leaves) + len(parts)} values in its lists, dicts and objects")
    if seen is not None and kind is OBJECT:
        found = [_attribute(name, v, leaves, seen, depth, growing) for name, v in zip(what[1], parts)]
    elif seen is not None and kind is FUNCTION:
        lists = growing.callbacks.get(what, frozenset())
        found = [
            (SAME, Identity(v), ())
            if stays(v)
            else _grown(v, seen)
            if type(v) is list and k in lists
            else _flatten(v, leaves, seen, depth, growing)
            for k, v in enumerate(parts)
        ]
    else:
        found = [_flatten(v, leaves, seen, depth, growing) for v in parts]
    return (kind, what, tuple(found))


def _attribute(name: str, value: Any, leaves: list[Any], seen: _Seen, depth: int, growing: Growing) -> Tree:
    if type(value) is list and growing.has(name):
        return _grown(value, seen)
    if growing.is_unread(name) and _leads_to_foreign(value, set()):
        return (UNREAD, type(value), ())
    return _flatten(value, leaves, seen, depth, growing)


def _leads_to_foreign(value: Any, seen: set[int]) -> bool:
    """Whether a value has no kernels, or holds such things, or is so large that nobody knows."""
    if type(value) is float or type(value) in STATIC_TYPES:
        return False
    kind = kind_of(value)
    if kind is None:
        return is_foreign(value) and not (type(value) is types.FunctionType and is_taken_apart(value))
    if id(value) in seen:
        return False
    seen.add(id(value))
    return len(seen) > _MOST_LEAVES or any(_leads_to_foreign(part, seen) for part in kind.take(value)[1])


Make = Callable[[Code], types.FunctionType]


def rebuild(tree: Tree, leaves: Any, make: Make | None = None) -> Any:
    """The value of that `tree` with the leaves that the iterator `leaves` gives.

    `make` gives functions whose cells are empty.
    """
    return _rebuild(tree, leaves, [], make)


def rebuild_all(trees: Sequence[Tree], leaves: Any) -> list[Any]:
    """The values of several trees; what occurs in two of them is one object."""
    made: list[Any] = []
    return [_rebuild(tree, leaves, made, None) for tree in trees]


def _rebuild(tree: Tree, leaves: Any, made: list[Any], make: Make | None) -> Any:
    """`made` are the lists, dicts, objects and functions so far."""
    if tree is None:
        return next(leaves)
    kind, what, parts = tree
    if kind is AGAIN:
        return made[what]
    if kind.begin is None:
        return kind.fill(None, what, [_rebuild(part, leaves, made, make) for part in parts])
    number = len(made)
    made.append(make(what) if make is not None and kind is FUNCTION else kind.begin(what))
    made[number] = kind.fill(made[number], what, [_rebuild(part, leaves, made, make) for part in parts])
    return made[number]
