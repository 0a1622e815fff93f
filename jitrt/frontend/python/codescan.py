"""A walk over the bytecode of a function and of those that it loads: what it reads, and whether that is all it does."""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import inspect
import itertools
import logging
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import Untraceable
from ...values.attributes import has_plain_attributes, is_plain_class
from ...values.constants import is_constant
from ...values.frozen import is_frozen
from ...values.functions import MISSING, PART, cells_of, contents, is_numpy, underlying
from ...values.keys import GENERATORS
from ...values.masked import is_masked_constant
from ..numpy.draws import GLOBAL, MAKERS
from ..numpy.modules import renew, stand_in
from .bytecode import Instruction, decoded, line_of
from .captures import Capture, Captures
from .classes import may_ask_values
from .classuses import CLASS_NAMES, Use, names_a_class, use_of_class
from .externals import is_external, is_vouched
from .imports import imported_names
from .purevalues import (
    BY_NAME,
    BY_NAME_LATER,
    CONSTANT_MODULES,
    PURE_FUNCTIONS,
    PURE_MODULES,
    SCOPES,
    check_pure,
    has_state,
    impure_names,
    is_container,
    is_namespace_getter,
    is_one_of,
    named_tuples,
    works_on_symbols,
)

_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_LOCAL_LOADS = frozenset({"LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_SUPER_ATTR"})
_EFFECTS = {
    "STORE_GLOBAL": "assigns a global variable",
    "DELETE_GLOBAL": "deletes a global variable",
    "LOAD_BUILD_CLASS": "defines a class",
}
_OF_CODE = ("__code__", "__module__", "__name__", "__qualname__")  # that a copy of a function has, too
_APPENDING = ("append", "extend")
_STORES = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_BY_NAME = frozenset({"__dict__", "__getattribute__", "__setattr__", "__delattr__"})  # of all attributes
_OF_KIN = frozenset({"__subclasses__", "__bases__", "__base__", "__mro__", "mro"})
_BRANCHES = frozenset(name for name in dis.opmap if "JUMP" in name or name == "FOR_ITER")
_CHECKED = frozenset({*_LOADS, *_LOCAL_LOADS, *_ATTRIBUTES, *_STORES, *_EFFECTS, "STORE_DEREF", "COPY", "MATCH_CLASS"})
_COROUTINES = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Scan:
    """A walk over the code of a function and of the functions that it loads.

    Parameters
    ----------
    captures : Captures
    original : str, optional
        The name of a method, if it is called as it is: a trace has no copy of its class.
    """

    def __init__(self, captures: Captures, original: str = ""):
        self.captures = captures
        self.original = original
        self.seen: set[int] = set()
        self.behind_a_branch = False
        self.in_methods = False
        self.has_steps = False  # calls of functions that NumPy does not own
        self._given: types.FunctionType | None = None
        self._used: set[str] = set()  # parts of the given function that are not appended to alone

    def value(self, value: Any, name: str, place: tuple[Any, Any] | None) -> None:
        """Check that a value may be used without running the code that uses it.

        Parameters
        ----------
        value : object
            What is loaded under `name`.
        place : tuple, optional
            Container and key that hold it; None for what nobody rebinds.
        """
        loaded, value = value, underlying(value)
        if is_namespace_getter(value) or works_on_symbols(value):
            return
        if is_external(value) and not is_traced_through(value):
            self.has_steps = True
            self._note(name, value, place)
            return
        if is_one_of(value, PURE_FUNCTIONS | SCOPES | BY_NAME):
            self.captures.makes_objects |= value in PURE_FUNCTIONS
            self.captures.computes_names |= value in BY_NAME
            self.captures.sets_attributes |= value in BY_NAME
            return
        if isinstance(value, types.FunctionType) and not is_numpy(value):
            self._note(name, loaded, place)
            if value.__module__ not in PURE_MODULES and id(value) not in self.seen:
                self.seen.add(id(value))
                self.called(value, lambda: self.function(value, name))
        elif is_masked_constant(value) or (isinstance(value, np.ndarray) and place is not None and is_frozen(value)):
            self._note(name, value, place)
        elif isinstance(value, np.ndarray):
            self._note_what_changes()
            if place is None:
                raise Untraceable(f"reads the array {name}")
            _add(Capture(name, value, *place), self.captures.arrays)
        elif type(value) in GENERATORS or is_one_of(value, MAKERS) or getattr(value, "__self__", None) is GLOBAL:
            self._note_what_changes()
            self._note(name, value, place)
            self.captures.generators.append(value if type(value) in GENERATORS else GLOBAL)
        elif type(value) is np.vectorize or type(value) is functools._lru_cache_wrapper:
            self._note_what_changes()
            self._note(name, value, place)
            self.value(value.pyfunc if isinstance(value, np.vectorize) else value.__wrapped__, name, None)
        elif type(value) is np.poly1d:
            self._note(name, value, place)
            for key, part in vars(value).items():
                self.value(part, f"{name}.{key}", (vars(value), key))
        elif str(type(value).__module__).startswith("numpy.polynomial."):
            raise Untraceable(f"uses {name}, a {type(value).__name__}, whose coefficients may change")
        elif type(value) in (logging.Logger, types.ModuleType):
            self._note_what_changes()
            self._note(name, value, place)
            if type(value) is types.ModuleType:
                self.captures.modules[id(value)] = value
        elif isinstance(value, functools.partial):
            self._note(name, loaded, place)
            for part in (value.func, *value.args):
                self.value(part, name, None)
            for keyword, part in value.keywords.items():
                self.value(part, name, (value.keywords, keyword))
        elif isinstance(value, type) and is_plain_class(value):
            self._note(name, value, place)
            self.captures.classes.add(value)
        elif place is not None and is_container(value):
            self._note_what_changes()
            _add(Capture(name, value, *place), self.captures.state)
        elif is_constant(value):
            if isinstance(value, float):
                self.captures.floats.add(float(value))
            self.captures.impure |= impure_names(value)
            self.captures.classes |= named_tuples(value)
            if place is not None:
                found = Capture(name, value, *place)
                if not found.is_number or found.place not in self.captures.varying:
                    self.captures.values.append(found)
                else:
                    self._note_what_changes()
                    _add(found, self.captures.arrays)
        else:
            if place is not None:
                self.captures.note_constant(name, value, *place)
            if isinstance(value, type):
                self.captures.computes_names |= is_one_of(value, BY_NAME_LATER)
                self._class(value, name)
            elif isinstance(value, types.BuiltinFunctionType):
                self.called(value, lambda: check_pure(value, name))
            else:
                check_pure(value, name)

    def _note(self, name: str, value: Any, place: Any) -> None:
        """Note a value that further calls have to find in its place, too, if it has one."""
        if place is not None:
            self.captures.values.append(Capture(name, value, *place))

    def _note_what_changes(self) -> None:
        """Note that the code reads something that a trace finds a stand-in for."""
        if self.original:
            raise Untraceable(f"{self.original}, of whose class there is no copy, reads what may change")
        self.captures.methods_read |= self.in_methods

    def called(self, function: Any, check: Callable[[], None]) -> None:
        """Check a function that the code names. Where a branch comes first, the trace will show if it is called."""
        captures = self.captures
        seen, codes, behind_a_branch = set(self.seen), set(captures.codes), self.behind_a_branch
        try:
            check()
        except Untraceable as reason:
            self.behind_a_branch = behind_a_branch
            if not behind_a_branch:
                raise
            self.seen, captures.codes = seen - {id(function)}, codes
            captures.refused[id(function)] = function, str(reason)

    def _class(self, kind: type, name: str) -> None:
        """Check a class: of one that makes more than data the code may ask what is an instance of it, and no more."""
        try:
            check_pure(kind, name)
        except Untraceable as reason:
            self.captures.refused[id(kind)] = kind, str(reason)

    def callback(self, function: types.FunctionType) -> frozenset[int]:
        """Check a function that is an argument and whose parts are arguments; which of them are only appended to."""
        self._given, code = function, function.__code__
        if code.co_flags & inspect.CO_GENERATOR:
            raise Untraceable(f"{code.co_name} is a generator")
        self.function(function, code.co_name)
        first = len(code.co_freevars)
        default = first - code.co_argcount + len(function.__defaults__ or ())
        appended = {default + k for k in appended_parameters(code) if default + k >= first}
        return frozenset(appended | {k for k, name in enumerate(code.co_freevars) if name not in self._used})

    def function(self, function: types.FunctionType, name: str) -> None:
        if function.__code__.co_flags & _COROUTINES:
            raise Untraceable(f"{name} is a coroutine")
        if function is not self._given:
            for field in ("__code__", "__defaults__", "__kwdefaults__"):
                self.captures.note_constant(f"{name}.{field}", getattr(function, field), function, field)
        defaults = function.__defaults__ or ()
        first = function.__code__.co_argcount - len(defaults)
        grown = appended_parameters(function.__code__)
        for position, default in enumerate(defaults):
            if default is not PART:
                (self.captures.grown if first + position in grown else self.captures.used).add(id(default))
                self.value(default, f"a default of {name}", (defaults, position))
        keyword_defaults = function.__kwdefaults__ or {}
        for keyword, default in keyword_defaults.items():
            if default is not PART:
                self.value(default, f"a default of {name}", (keyword_defaults, keyword))
        self.code(function.__code__, function, frozenset(function.__code__.co_freevars), {})

    def code(
        self,
        code: types.CodeType,
        function: types.FunctionType,
        free: frozenset[str],
        imports: dict[str, list[Any]],
    ) -> None:
        """Walk `code`, that of `function` or nested in it.

        `free` are names of the scopes around `function`, `imports` what import statements in it bind.
        """
        self.captures.codes.add(code)
        self.captures.floats.update(c for c in code.co_consts if type(c) is float)
        nested = [c for c in code.co_consts if isinstance(c, types.CodeType)]
        if not (code.co_names or code.co_freevars or nested):
            return  # it has nothing but its local variables
        instructions = _without_nulls(code)
        if CLASS_NAMES.intersection(code.co_names):
            uses = [use_of_class(instructions, k) for k, i in enumerate(instructions) if names_a_class(i)]
            self.captures.asks_for_classes |= max(uses, default=Use.HELD) > Use.SHOWN
            self.captures.holds_classes |= max(uses, default=Use.HELD) > Use.COMPARED
        if "IMPORT_NAME" in {i.opname for i in instructions}:
            imports = imports | {n: found for n, *found in imported_names(instructions, function.__globals__)}
        behind_a_branch = self.behind_a_branch
        for k, instruction in enumerate(instructions):
            if instruction.opname in _CHECKED:
                try:
                    self._instruction(instructions, k, code, function, free, imports)
                except Untraceable as e:
                    line = f"{code.co_filename}:{line_of(code, instruction.offset)}"
                    raise Untraceable(e.reason, e.line or line) from None
            elif instruction.opname in _BRANCHES:
                self.behind_a_branch = True
        for inner in nested:
            self.code(inner, function, free & frozenset(inner.co_freevars), imports)
        self.behind_a_branch = behind_a_branch

    def _instruction(
        self,
        instructions: Sequence[Instruction],
        k: int,
        code: types.CodeType,
        function: types.FunctionType,
        free: frozenset[str],
        imports: dict[str, list[Any]],
    ) -> None:
        """Check one instruction of `code`, number `k`."""
        name, _, operand, _ = instructions[k]
        if name in _EFFECTS:
            raise Untraceable(f"{code.co_name} {_EFFECTS[name]}")
        if name in _ATTRIBUTES or name in _STORES:
            appends = name in _ATTRIBUTES and _appends(instructions, k + 1)
            (self.captures.appended if appends else self.captures.read).add(operand)
        if name == "MATCH_CLASS":
            kind = _matched(instructions, k - 2, function)
            if may_ask_values(kind):
                raise Untraceable(f"{code.co_name} matches a class that may look at methods")
            if kind in GENERATORS or stand_in(kind) is not kind:
                raise Untraceable(f"{code.co_name} matches {kind.__name__}, for which a function stands in traces")
        if operand in _OF_KIN and name in _ATTRIBUTES:
            raise Untraceable(f"{code.co_name} asks a class for its kin, to which copies belong")
        if name in _STORES:
            self.captures.sets_attributes = True
        if name == "MATCH_CLASS" or operand in _BY_NAME:
            self.captures.computes_names = True
            self.captures.sets_attributes |= operand in ("__setattr__", "__delattr__")
        augments = name == "COPY" and instructions[k + 1].opname == "LOAD_ATTR"
        if (name in _STORES or augments) and _is_captured(instructions, k, function):
            raise Untraceable(f"{code.co_name} sets an attribute of what is no argument")
        if name == "STORE_DEREF" and operand in free:
            raise Untraceable(f"{code.co_name} assigns a nonlocal variable")
        if name in _LOADS:
            self._global(function, operand, _attributes(instructions, k + 1))
        elif name == "LOAD_DEREF" and operand in free and operand in cells_of(function):
            cell, attributes = cells_of(function)[operand], _attributes(instructions, k + 1)
            if contents(cell) is not PART:
                place = None if function is self._given else (cell, None)
                self._loaded(contents(cell), operand, place, attributes)
            elif not attributes or attributes[0] not in _APPENDING:
                self._used.add(operand)
        elif name in _LOCAL_LOADS and operand in imports:
            module, part = imports[operand]
            attributes = _attributes(instructions, k + 1)
            self._loaded(module, module.__name__, None, [part, *attributes] if part else attributes)

    def _global(self, function: types.FunctionType, name: str, attributes: list[str]) -> None:
        namespace = function.__globals__
        if name in namespace:
            self._loaded(namespace[name], name, (namespace, name), attributes)
        else:
            value = getattr(builtins, name, MISSING)
            self.captures.note_constant(name, MISSING, namespace, name)
            self.captures.note_constant(name, value, vars(builtins), name)
            self._loaded(value, name, None, attributes)

    def in_module(self, module: types.ModuleType, attribute: str) -> None:
        """Check what code may look up in a module that it has in a variable or hands on."""
        self._loaded(module, module.__name__, None, [attribute])

    def _loaded(self, value: Any, name: str, place: tuple[Any, Any] | None, attributes: list[str]) -> None:
        """Follow attributes through modules, and check what is found."""
        rest = list(attributes)
        while isinstance(value, types.ModuleType):
            if place is not None:
                self.captures.note_constant(name, value, *place)
            if not rest:
                self.captures.modules[id(value)] = value
                return
            attribute = rest.pop(0)
            module, name, value = value, f"{name}.{attribute}", getattr(value, attribute, MISSING)
            place = vars(module), attribute
            if module.__name__ in CONSTANT_MODULES:
                if isinstance(value, types.FunctionType) and not is_numpy(value):
                    raise Untraceable(f"uses {name}, which somebody has replaced")
                if vars(module).get(attribute) is value:
                    self.captures.note_constant(name, value, *place)
                place = None
            if vars(module).get(attribute) is value:
                renew(module, attribute, value)
        if value is MISSING:
            return
        if rest and isinstance(value, type) and has_plain_attributes(value):
            rest.clear()  # its members are looked at as those of its objects are
        is_member = bool(rest) and isinstance(value, enum.EnumType) and rest[0] in value.__members__
        if is_member and rest[1:] in ([], ["value"], ["name"]) and place is not None:
            self.captures.note_constant(name, value, *place)
            return
        if rest and rest[0] in _OF_CODE and isinstance(value, types.FunctionType):
            self.captures.note_constant(f"{name}.{rest[0]}", getattr(value, rest[0]), value, rest[0])
        elif rest and has_state(value):
            raise Untraceable(f"reads {name}.{rest[0]}")
        (self.captures.grown if rest and rest[0] in _APPENDING else self.captures.used).add(id(value))
        self.value(value, name, place)


@functools.lru_cache(maxsize=256)
def is_traced_through(function: Any) -> bool:
    """Whether the source of a function of SciPy's is as clear as a user's function that is all compiled."""
    if type(function) is not types.FunctionType or is_vouched(function) or function in _in_question:
        return False
    found = Captures()
    _in_question.append(function)
    try:
        walk = Scan(found)
        walk.function(function, function.__name__)
    except Untraceable:
        return False
    finally:
        _in_question.pop()
    more = walk.has_steps or found.arrays or found.state or found.classes or found.generators or found.refused
    return not (more or found.sets_attributes or found.asks_for_classes or found.makes_objects or found.computes_names)


_in_question: list[Any] = []


def _add(found: Capture, known: list[Capture]) -> None:
    """Add what a place holds, unless that place is known; what is the same in two places may be rebound in one."""
    if all(c.place != found.place for c in known):
        known.append(found)


def _attributes(instructions: Sequence[Instruction], k: int) -> list[str]:
    """Names of the attributes that are loaded from number `k` on, one of the other."""
    following = itertools.takewhile(lambda i: i.opname in _ATTRIBUTES, itertools.islice(instructions, k, None))
    return [str(i.argval) for i in following]


def _matched(instructions: Sequence[Instruction], k: int, function: types.FunctionType) -> Any:
    """The class that instruction number `k` loads, an attribute perhaps; None if that is not known."""
    attributes = []
    while instructions[k].opname in _ATTRIBUTES:
        attributes.append(str(instructions[k].argval))
        k -= 1
    name = str(instructions[k].argval) if instructions[k].opname in _LOADS else ""
    found = function.__globals__.get(name, vars(builtins).get(name))
    for attribute in reversed(attributes):
        found = getattr(found, attribute, None)
    return found


def _without_nulls(code: types.CodeType) -> list[Instruction]:
    return [i for i in decoded(code) if i.opname != "PUSH_NULL"]


def _appends(instructions: Sequence[Instruction], k: int) -> bool:
    """Whether instruction number `k` looks up how to append."""
    return instructions[k].opname in _ATTRIBUTES and instructions[k].argval in _APPENDING


def appended_parameters(code: types.CodeType) -> frozenset[int]:
    """Positions of the parameters that a function does nothing with but to append to them."""
    if not set(_APPENDING).intersection(code.co_names):
        return frozenset()
    instructions = _without_nulls(code)
    appended: set[str] = set()
    used = set(code.co_cellvars)
    for k, instruction in enumerate(instructions):
        if "FAST" in instruction.opname:
            appends = instruction.opname.startswith("LOAD_FAST") and _appends(instructions, k + 1)
            (appended if appends else used).add(instruction.argval)
    parameters = code.co_varnames[: code.co_argcount]
    return frozenset(k for k, name in enumerate(parameters) if name in appended - used)


def _is_captured(instructions: Sequence[Instruction], k: int, function: types.FunctionType) -> bool:
    """Whether what was loaded last, before number `k`, is a module, a function or a class that the code names.

    Attributes of them count as they do.
    """
    last = next((i for i in reversed(instructions[:k]) if i.opname not in _ATTRIBUTES), None)
    value: Any = None
    if last is not None and last.opname in _LOADS:
        value = function.__globals__.get(last.argval)
    elif last is not None and last.opname == "LOAD_DEREF" and last.argval in function.__code__.co_freevars:
        value = contents(cells_of(function)[last.argval])
    else:
        return False
    kind: Any = type(value)
    return value is not PART and not has_plain_attributes(kind)
