"""What a function's bytecode, and that of the functions it calls, says about its dependence on the world.

A compiled call does not run the Python code again. That is right only for a function whose result follows from
its arguments and from captured values that a guard can watch, and which does nothing that Python can see. The scan
resolves every global and closure name that the code loads; what it cannot vouch for makes the plain function run.
"""

from __future__ import annotations

import enum
import functools
import inspect
import types
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from ...errors import Untraceable
from ...values.attributes import GENERATED, is_copied, is_plain_class
from ...values.constants import constant_key
from ...values.functions import PART, Code, users_method
from ...values.keys import STATIC_TYPES
from ...values.kinds import FUNCTION, SAME, Tree
from ...values.trees import classes_in, methods_in, nodes
from .bytecode import decoded, names_and_texts
from .captures import Captures, Place
from .codescan import Scan, appended_parameters


def scan(function: Callable[..., Any], varying: Collection[Place] = ()) -> Captures:
    """The captures of `function` and of what it calls.

    Parameters
    ----------
    function : callable
    varying : collection of Place
        Places of numbers that are inputs, as arrays are.

    Raises
    ------
    Untraceable
        If the function does, or may do, something that a replay would leave out.
    """
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & inspect.CO_GENERATOR:
        raise Untraceable(f"{code.co_name} is a generator")
    captures = Captures(positions=appended_parameters(code) if code is not None else frozenset())
    captures.varying = frozenset(varying)
    Scan(captures).value(function, getattr(function, "__name__", "function"), None)
    if captures.classes or _enumerations(captures):
        scan_methods(function, captures.classes, captures)
    _scan_modules(captures)
    captures.check_constants()
    return captures


def scan_call(called: Callable[..., Any], structure: Tree, leaves: Iterable[Any], captures: Captures) -> bool:
    """Add to `captures` what functions, classes and modules among the arguments depend on; whether any were new.

    Raises
    ------
    Untraceable
        As for `scan`.
    """
    given = {leaf for leaf in leaves if isinstance(leaf, type) and is_plain_class(leaf)}
    classes = classes_in(structure) | given | {type(leaf) for leaf in leaves if isinstance(leaf, enum.Enum)}
    found: dict[Any, Any] = _functions_in(structure)
    found |= {key: leaf for leaf in leaves if (key := _key_of(leaf)) is not None}
    new = {key: function for key, function in found.items() if key not in captures.given}
    modules = [*captures.modules.values(), *(v for v in new.values() if type(v) is types.ModuleType)]
    texts = {leaf for leaf in leaves if type(leaf) is str and any(leaf in vars(m) for m in modules)}
    texts = (texts | methods_in(structure)) - captures.texts
    captures.texts |= texts
    if not new and not texts and classes <= captures.members.keys() and given <= captures.classes:
        return False
    captures.classes |= given
    for key, function in new.items():
        if isinstance(function, tuple):
            code, callback = function
            captures.callbacks[code] = Scan(captures).callback(callback)
        else:
            Scan(captures).value(function, getattr(function, "__name__", type(function).__name__), None)
        captures.given.add(key)
    if classes or captures.members:
        scan_methods(called, {*classes, *captures.members}, captures)
    _scan_modules(captures)
    captures.check_constants()
    return True


def _scan_modules(captures: Captures) -> None:
    """Add what is in modules by any name that stands in the code, where it does more with them than to look that up."""
    walk = Scan(captures)
    walk.behind_a_branch = True  # a name does not tell where it is looked up
    done: set[tuple[int, str]] = set()
    while captures.modules:
        names = captures.texts.union(*map(names_and_texts, captures.codes))
        found = {(key, name) for key, module in captures.modules.items() for name in names & vars(module).keys()} - done
        if not found:
            break
        done |= found
        for key, name in found:
            walk.in_module(captures.modules[key], name)


_LEAD_NOWHERE = STATIC_TYPES | {np.ndarray, float, complex, np.float64}


def _key_of(leaf: Any) -> Any:
    """What tells an argument that leads to more from others; None for those that do not."""
    if type(leaf) in _LEAD_NOWHERE:
        return None
    return leaf if type(leaf) is types.FunctionType else constant_key(leaf)


def _functions_in(tree: Tree) -> dict[Tree, tuple[Code, types.FunctionType]]:
    """The functions that were taken apart, by what code may do with them, with `PART` for their parts."""
    found: dict[Tree, tuple[Code, types.FunctionType]] = {}
    for kind, code, parts in nodes(tree):
        if kind is FUNCTION:
            fixed = tuple(p if p is not None and p[0] is SAME else None for p in parts)
            function = code.make(code.namespace)
            code.fill(function, [PART if p is None else p[1].value for p in fixed])
            found[code, fixed] = code, function
    return found


def scan_methods(function: Callable[..., Any], classes: set[type], captures: Captures) -> None:
    """Add to `captures` what the methods of these classes depend on that `function`, or one of them, may call.

    Raises
    ------
    Untraceable
        As for `scan`.
    """
    walk = Scan(captures)
    walk.behind_a_branch = True  # a name does not tell whose method it is, nor whether that is called
    walk.in_methods = True
    names = captures.texts.union(_OPERATORS, *map(names_and_texts, captures.codes))
    done: dict[tuple[type, bool], set[str]] = {}
    members, originals = functools.cache(_members), functools.cache(_originals)
    pending: list[Any] = [function, *(c.value for c in captures.values)]
    while pending:
        codes = [getattr(inspect.unwrap(f), "__code__", None) for f in pending]
        names = names.union(*(names_and_texts(code) for code in codes if code is not None))
        pending = []
        for kind in {*classes, *captures.classes, *_enumerations(captures)}:
            makes = captures.asks_for_classes or captures.makes_objects or kind in captures.classes
            used = names | _CONSTRUCTORS if makes else names
            used = used | originals(kind) if captures.computes_names else used
            calls_bases = "super" in names
            known = done.setdefault((kind, calls_bases), set())
            for name in used & members(kind) - known - (set() if calls_bases else done.get((kind, True), set())):
                known.add(name)
                holders = [c for c in kind.__mro__[:-1] if name in _own(c)]
                for holder in holders if calls_bases else holders[:1]:
                    member, whole = vars(holder)[name], f"{kind.__name__}.{name}"
                    parts = _functions_of(member)
                    if parts and parts[0] is not member:
                        captures.note_constant(whole, member, holder, name)
                    for part in parts:
                        scan = Scan(captures, whole) if name in originals(kind) else walk
                        scan.value(part, whole, (holder, name) if part is member else None)
                        pending.append(part)
    for kind in captures.classes:  # which may get further members: its version, of which this asks, tells
        captures.note_constant(f"{kind.__name__}.__mro__", kind.__mro__, kind, "__mro__")
    captures.watch_members({*classes, *captures.classes}, names | _CONSTRUCTORS)


def _enumerations(captures: Captures) -> set[type]:
    """The enumerations that code names, or of which it names a member."""
    found = [c.value for c in (*captures.values, *captures.constants.values())]
    return {v for v in found if isinstance(v, enum.EnumType)} | {type(v) for v in found if isinstance(v, enum.Enum)}


def _originals(kind: type) -> set[str]:
    """The names of members that code finds as they are: of a class without copies, or descriptors of the user's."""
    members = _members(kind)
    if not is_copied(kind):
        return members
    return {name for name in members if users_method(type(inspect.getattr_static(kind, name)), "__get__")}


# Methods that code calls without their names.
_OPERATORS = frozenset(
    f"__{name}__"
    for name in """call len getitem contains iter add sub mul truediv pow matmul neg abs radd rsub rmul rtruediv
    enter exit bool float int index eq lt le gt ge""".split()
)


# What Python gives to each class: the attributes of its objects, and weak references to them.
_OF_INSTANCES = frozenset({"__dict__", "__weakref__"})


# Those of a class that is called.
_CONSTRUCTORS = frozenset({"__init__", "__post_init__"})


def _members(kind: type) -> set[str]:
    """Names of what a class and its bases define, without the comparison that `dataclass` writes."""
    names = {name for c in kind.__mro__[:-1] for name in _own(c)}
    return names - {"__eq__"} if hasattr(kind, "__dataclass_fields__") else names


def _own(kind: type) -> Collection[str]:
    """Names of what a class of the user's defines, without what is that of every tuple with names of fields."""
    if kind in (tuple, types.SimpleNamespace) or kind.__module__ in ("abc", "builtins", "enum", "typing"):
        return ()
    own = vars(kind)
    names = own.keys() - _OF_INSTANCES
    return names - GENERATED - set(own["_fields"]) if "_fields" in own and issubclass(kind, tuple) else names


def _functions_of(member: Any) -> list[Any]:
    """What a member of a class runs, or the member itself if it is data."""
    if isinstance(member, (staticmethod, classmethod)):
        return [member.__func__]
    if isinstance(member, property):
        return [f for f in (member.fget, member.fset, member.fdel) if f is not None]
    if isinstance(member, functools.cached_property):
        return [member.func]
    if users_method(type(member), "__get__"):
        held = [v for c in type(member).__mro__ for v in vars(c).values()] + [*getattr(member, "__dict__", {}).values()]
        return [part for part in held if isinstance(part, types.FunctionType)]
    return [] if isinstance(member, types.MemberDescriptorType) else [member]


def catches(function: Callable[..., Any], captures: Captures) -> bool:
    """Whether `function`, or one that it reads from outside, has handlers of exceptions."""
    codes = [getattr(inspect.unwrap(f), "__code__", None) for f in (function, *(c.value for c in captures.values))]
    pending = [code for code in codes if code is not None]
    while pending:
        code = pending.pop()
        if any(i.opname == "PUSH_EXC_INFO" for i in decoded(code)):
            return True
        pending += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return False
