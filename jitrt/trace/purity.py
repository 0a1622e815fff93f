"""What a function's bytecode, and that of the functions it calls, says about its dependence on the world.

A compiled call does not run the Python code again. That is right only for a function whose result follows from
its arguments and from captured values that a guard can watch, and which does nothing that Python can see. The scan
resolves every global and closure name that the code loads; what it cannot vouch for makes the plain function run.
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import dis
import functools
import inspect
import logging
import types
import warnings
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import Untraceable
from ..frozen import frozen
from .arguments import GENERATORS, Growing, has_plain_attributes
from .bytecode import decoded
from .draws import GLOBAL, MAKERS
from .imports import imported_names

_PURE_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in """abs all any bool bytes callable complex dict divmod enumerate filter float format frozenset hasattr
    int isinstance issubclass iter len list map max min next object pow range repr reversed round set slice sorted
    str sum super tuple type zip NotImplemented Ellipsis""".split()
)
_PURE_MODULES = frozenset(
    {"math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "numbers", "typing"}
)
# Functions of Python's library that do with objects what its code could do itself.
PURE_FUNCTIONS = frozenset({dataclasses.replace, copy.copy, copy.deepcopy})
# What changes the error state, or the filters of warnings, as long as a `with` statement lasts.
SCOPES = frozenset({np.errstate, warnings.catch_warnings, warnings.simplefilter, warnings.filterwarnings})
_BY_NAME = frozenset({getattr, setattr, delattr})
_CONSTANT_MODULES = frozenset({"numpy", "math", "cmath"})  # what they hold, nobody rebinds
# Functions of NumPy that change the process or a file, or that read from outside.
_IMPURE_NUMPY = frozenset(
    """seterr seterrcall setbufsize errstate set_printoptions printoptions save savez savez_compressed savetxt load
    loadtxt genfromtxt fromfile fromregex memmap open_memmap frombuffer nditer""".split()
)
_HAS_DEFAULT_FACTORY = getattr(dataclasses, "_HAS_DEFAULT_FACTORY", None)  # a default of the `__init__` of dataclasses
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_LOCAL_LOADS = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_CLASSDEREF"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_EFFECTS = {
    "STORE_GLOBAL": "assigns a global variable",
    "DELETE_GLOBAL": "deletes a global variable",
    "LOAD_BUILD_CLASS": "defines a class",
}


_APPENDING = ("append", "extend")
_STORES = frozenset({"STORE_ATTR", "DELETE_ATTR"})
# Names by which code reaches the class of an object, which has no copy in the trace.
_CLASS_NAMES = frozenset({"type", "__class__"})


Place = tuple[int, str | int | None]


@frozen
class Capture:
    """A value that the code reads from outside.

    Parameters
    ----------
    name : str
        As in the code.
    value : object
        What it was when the code was scanned.
    container, key
        The dict or namespace and the key that hold it, or the cell and None.
    """

    name: str
    value: Any
    container: Any
    key: str | int | None

    @property
    def place(self) -> Place:
        """What names the place that holds the value, as long as that exists."""
        return id(self.container), self.key

    @property
    def is_number(self) -> bool:
        """Whether the value is a number of a variable that can be another one in the next call."""
        return type(self.value) in (int, float) and isinstance(self.container, (dict, types.CellType))

    def read(self) -> Any:
        """The current value; a mark of its own if there is none."""
        if self.key is not None:
            try:
                return self.container[self.key]
            except (KeyError, IndexError):
                return MISSING
        try:
            return self.container.cell_contents
        except ValueError:
            return MISSING


@dataclass(slots=True)
class Captures:
    """What a function depends on beside its arguments.

    Parameters
    ----------
    arrays : list of Capture
        Captured arrays: implicit inputs, read at every call.
    values : list of Capture
        Numbers, strings and functions, which a guard compares by identity.
    floats : set of float
        Numbers that the code itself contains, or captures.
    state : list of Capture
        Lists, dicts and objects that the code reads or changes: further arguments, taken apart at every call.
    classes : set of type
        The user's classes that the code names.
    sets_attributes : bool
        Whether the code sets attributes of objects, its own or those of its arguments.
    asks_for_classes : bool
        Whether it asks for the class of an object.
    makes_objects : bool
        Whether it makes objects of the classes of others.
    computes_names : bool
        Whether it has names of attributes as strings.
    generators : list
        The random generators that it names.
    refused : dict of int to (object, str)
        Functions behind branches that do what a replay would leave out, by their identity, and why.
    codes : set
        All code that has been scanned.
    appended, read : set of str
        Attributes with which it does nothing but to append to them, and those that it uses in another way.
    positions : frozenset of int
        Parameters that are appended to alone.
    used : set of int
        Identities of the lists in `state` that are not appended to alone.
    """

    arrays: list[Capture] = field(default_factory=list)
    values: list[Capture] = field(default_factory=list)
    floats: set[float] = field(default_factory=set)
    state: list[Capture] = field(default_factory=list)
    classes: set[type] = field(default_factory=set)
    sets_attributes: bool = False
    asks_for_classes: bool = False
    makes_objects: bool = False
    computes_names: bool = False
    generators: list[Any] = field(default_factory=list)
    refused: dict[int, tuple[Any, str]] = field(default_factory=dict)
    codes: set[types.CodeType] = field(default_factory=set)
    appended: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    positions: frozenset[int] = frozenset()
    varying: frozenset[Place] = frozenset()
    """Places of numbers that are inputs."""

    used: set[int] = field(default_factory=set)

    @property
    def growing(self) -> Growing:
        """The lists that the function does nothing with but to append to them."""
        attributes = frozenset() if self.computes_names else frozenset(self.appended - self.read)
        state = frozenset(k for k, c in enumerate(self.state) if id(c.value) not in self.used)
        return Growing(attributes, self.positions, state)

    def containers(self) -> tuple[Any, ...]:
        """The lists, dicts and objects as they are now."""
        return tuple([c.read() for c in self.state])

    def unchanged(self) -> bool:
        """Whether every captured value is still the object that was scanned, and every input of the same type."""
        same = all(c.read() is c.value for c in self.values)
        return same and all(type(c.read()) is type(c.value) for c in self.arrays)

    def changed_numbers(self) -> set[Place]:
        """Places where another number of the same type is now."""
        found = [c for c in self.values if c.is_number and c.read() is not c.value]
        return {c.place for c in found if type(c.read()) is type(c.value)}


MISSING = object()


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
    captures = Captures(positions=_appended_parameters(code) if code is not None else frozenset())
    captures.varying = frozenset(varying)
    _Scan(captures).value(function, getattr(function, "__name__", "function"), None)
    if captures.classes:
        scan_methods(function, captures.classes, captures)
    return captures


def scan_functions(functions: Iterable[types.FunctionType], captures: Captures) -> None:
    """Add to `captures` what functions depend on that are arguments.

    Raises
    ------
    Untraceable
        As for `scan`.
    """
    walk = _Scan(captures)
    for function in functions:
        if function.__code__.co_flags & inspect.CO_GENERATOR:
            raise Untraceable(f"{function.__name__} is a generator")
        walk.value(function, function.__name__, None)


def scan_methods(function: Callable[..., Any], classes: set[type], captures: Captures) -> None:
    """Add to `captures` what the methods of these classes depend on that `function`, or one of them, may call.

    Raises
    ------
    Untraceable
        As for `scan`.
    """
    walk = _Scan(captures)
    walk.behind_a_branch = True  # a name does not tell whose method it is, nor whether that is called
    names = set(_OPERATORS)
    done: set[tuple[type, str, bool]] = set()
    pending: list[Any] = [function, *(c.value for c in captures.values)]
    while pending:
        code = getattr(inspect.unwrap(pending.pop()), "__code__", None)
        names |= _names(code) if code is not None else set()
        for kind in {*classes, *captures.classes}:
            makes = captures.asks_for_classes or captures.makes_objects or kind in captures.classes
            used = names | _CONSTRUCTORS if makes else names
            calls_bases = "super" in names
            for name in used & _members(kind) - {name for k, name, bases in done if k is kind and bases >= calls_bases}:
                done.add((kind, name, calls_bases))
                holders = [c for c in kind.__mro__[:-1] if name in vars(c)]
                for holder in holders if calls_bases else holders[:1]:
                    member = vars(holder)[name]
                    for part in _functions_of(member):
                        walk.value(part, f"{kind.__name__}.{name}", (vars(holder), name) if part is member else None)
                        pending.append(part)


# Methods that code calls without their names.
_OPERATORS = frozenset(
    f"__{name}__"
    for name in """call len getitem contains iter add sub mul truediv pow matmul neg abs radd rsub rmul rtruediv
    enter exit bool float int eq lt le gt ge""".split()
)


# Those of a class that is called.
_CONSTRUCTORS = frozenset({"__init__", "__post_init__"})


def _members(kind: type) -> set[str]:
    """Names of what a class and its bases define, without the comparison that `dataclass` writes."""
    names = {name for c in kind.__mro__[:-1] for name in vars(c)}
    return names - {"__eq__"} if hasattr(kind, "__dataclass_fields__") else names


def _functions_of(member: Any) -> list[Any]:
    """What a member of a class runs, or the member itself if it is data."""
    if isinstance(member, (staticmethod, classmethod)):
        return [member.__func__]
    if isinstance(member, property):
        return [f for f in (member.fget, member.fset, member.fdel) if f is not None]
    if isinstance(member, functools.cached_property):
        return [member.func]
    return [member]


def _names(code: types.CodeType) -> set[str]:
    nested = (_names(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return {*code.co_names, *(c for c in code.co_consts if isinstance(c, str))}.union(*nested)


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


class _Scan:
    """A walk over the code of a function and of the functions that it loads."""

    def __init__(self, captures: Captures):
        self.captures = captures
        self.seen: set[int] = set()
        self.behind_a_branch = False

    def value(self, value: Any, name: str, place: tuple[Any, Any] | None) -> None:
        """Check that a value may be used without running the code that uses it.

        Parameters
        ----------
        value : object
            What is loaded under `name`.
        place : tuple, optional
            Container and key that hold it; None for what nobody rebinds.
        """
        loaded, value = value, getattr(value, "__jitrt_function__", value)
        if _is_one_of(value, PURE_FUNCTIONS | SCOPES | _BY_NAME):
            self.captures.makes_objects |= value in PURE_FUNCTIONS
            self.captures.computes_names |= value in _BY_NAME
            self.captures.sets_attributes |= value in _BY_NAME
            return
        if isinstance(value, types.FunctionType) and not is_numpy(value):
            if place is not None:
                self.captures.values.append(Capture(name, loaded, *place))
            if value.__module__ not in _PURE_MODULES and id(value) not in self.seen:
                self.seen.add(id(value))
                self.called(value, lambda: self.function(value, name))
        elif isinstance(value, np.ndarray):
            if place is None:
                raise Untraceable(f"reads the array {name}")
            if all(c.value is not value for c in self.captures.arrays):
                self.captures.arrays.append(Capture(name, value, *place))
        elif type(value) in GENERATORS or _is_one_of(value, MAKERS) or getattr(value, "__self__", None) is GLOBAL:
            if place is not None:
                self.captures.values.append(Capture(name, value, *place))
            self.captures.generators.append(value if type(value) in GENERATORS else GLOBAL)
        elif type(value) is np.vectorize or type(value) is functools._lru_cache_wrapper:
            if place is not None:
                self.captures.values.append(Capture(name, value, *place))
            self.value(value.pyfunc if isinstance(value, np.vectorize) else value.__wrapped__, name, None)
        elif type(value) is logging.Logger:
            if place is not None:
                self.captures.values.append(Capture(name, value, *place))
        elif isinstance(value, functools.partial):
            if place is not None:
                self.captures.values.append(Capture(name, loaded, *place))
            for part in (value.func, *value.args, *value.keywords.values()):
                self.value(part, name, None)
        elif isinstance(value, type) and has_plain_attributes(value):
            if place is not None:
                self.captures.values.append(Capture(name, value, *place))
            self.captures.classes.add(value)
        elif place is not None and _is_container(value):
            if all(c.value is not value for c in self.captures.state):
                self.captures.state.append(Capture(name, value, *place))
        elif _is_plain(value):
            if isinstance(value, float):
                self.captures.floats.add(float(value))
            if place is not None:
                found = Capture(name, value, *place)
                if not found.is_number or found.place not in self.captures.varying:
                    self.captures.values.append(found)
                elif all(c.place != found.place for c in self.captures.arrays):
                    self.captures.arrays.append(found)
        elif isinstance(value, types.BuiltinFunctionType):
            self.called(value, lambda: _check_pure(value, name))
        else:
            _check_pure(value, name)

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

    def function(self, function: types.FunctionType, name: str) -> None:
        if function.__code__.co_flags & _COROUTINES:
            raise Untraceable(f"{name} is a coroutine")
        defaults = function.__defaults__ or ()
        for position, default in enumerate(defaults):
            self.value(default, f"a default of {name}", (defaults, position))
        keyword_defaults = function.__kwdefaults__ or {}
        for keyword, default in keyword_defaults.items():
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
        if _CLASS_NAMES.intersection(code.co_names):
            self.captures.asks_for_classes = True
        self.captures.codes.add(code)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        instructions = _without_nulls(code)
        imports = imports | {n: found for n, *found in imported_names(instructions, function.__globals__)}
        behind_a_branch = self.behind_a_branch
        for k, instruction in enumerate(instructions):
            name, operand = instruction.opname, instruction.argval
            self.behind_a_branch |= "JUMP" in name or name == "FOR_ITER"
            if name in _ATTRIBUTES or name in _STORES:
                appends = name in _ATTRIBUTES and _appends(instructions[k + 1 : k + 2])
                (self.captures.appended if appends else self.captures.read).add(operand)
            try:
                if name in _EFFECTS:
                    raise Untraceable(f"{code.co_name} {_EFFECTS[name]}")
                if name in _STORES:
                    self.captures.sets_attributes = True
                    if _is_captured(instructions[:k], code, function):
                        raise Untraceable(f"{code.co_name} sets an attribute of what is no argument")
                if name == "STORE_DEREF" and operand in code.co_freevars:
                    raise Untraceable(f"{code.co_name} assigns a nonlocal variable")
                following = instructions[k + 1 : k + 3]
                augmented = [i.opname for i in following] == ["COPY", "LOAD_ATTR"]
                if augmented and _is_captured(instructions[: k + 1], code, function):
                    raise Untraceable(f"{code.co_name} sets an attribute of what is no argument")
                attributes = _attributes(instructions[k + 1 :])
                if name in _LOADS:
                    self._global(function, operand, attributes)
                elif name == "LOAD_DEREF" and operand in free and operand in cells:
                    self._loaded(contents(cells[operand]), operand, (cells[operand], None), attributes)
                elif name in _LOCAL_LOADS and operand in imports:
                    module, part = imports[operand]
                    self._loaded(module, module.__name__, None, [part, *attributes] if part else attributes)
            except Untraceable as e:
                raise Untraceable(e.reason, e.line or _line(code, instruction)) from None
        for constant in code.co_consts:
            if type(constant) is float:
                self.captures.floats.add(constant)
            if isinstance(constant, types.CodeType):
                self.code(constant, function, free & frozenset(constant.co_freevars), imports)
        self.behind_a_branch = behind_a_branch

    def _global(self, function: types.FunctionType, name: str, attributes: list[str]) -> None:
        namespace = function.__globals__
        if name in namespace:
            self._loaded(namespace[name], name, (namespace, name), attributes)
        else:
            self._loaded(getattr(builtins, name, MISSING), name, None, attributes)

    def _loaded(self, value: Any, name: str, place: tuple[Any, Any] | None, attributes: list[str]) -> None:
        """Follow attributes through modules, and check what is found."""
        rest = list(attributes)
        while rest and isinstance(value, types.ModuleType):
            attribute = rest.pop(0)
            constant = value.__name__ in _CONSTANT_MODULES
            place = None if constant else (vars(value), attribute)
            name, value = f"{name}.{attribute}", getattr(value, attribute, MISSING)
        if value is MISSING or isinstance(value, types.ModuleType):
            return
        if rest and isinstance(value, type) and has_plain_attributes(value):
            rest.clear()  # its members are looked at as those of its objects are
        if rest and _has_state(value):
            raise Untraceable(f"reads {name}.{rest[0]}")
        if not rest or rest[0] not in _APPENDING:
            self.captures.used.add(id(value))
        self.value(value, name, place)


_COROUTINES = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _attributes(following: list[dis.Instruction]) -> list[str]:
    """Names of the attributes that are loaded next, one of the other."""
    names = []
    for instruction in following:
        if instruction.opname not in _ATTRIBUTES:
            break
        names.append(str(instruction.argval))
    return names


def _without_nulls(code: types.CodeType) -> list[dis.Instruction]:
    return [i for i in decoded(code) if i.opname != "PUSH_NULL"]


def _appends(following: list[dis.Instruction]) -> bool:
    """Whether what comes next looks up how to append."""
    return any(i.opname in _ATTRIBUTES and i.argval in _APPENDING for i in following)


def _appended_parameters(code: types.CodeType) -> frozenset[int]:
    """Positions of the parameters that a function does nothing with but to append to them."""
    instructions = _without_nulls(code)
    appended: set[str] = set()
    used = set(code.co_cellvars)
    for k, instruction in enumerate(instructions):
        if "FAST" in instruction.opname:
            names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            one = len(names) == 1 and instruction.opname.startswith("LOAD_FAST")
            (appended if one and _appends(instructions[k + 1 : k + 2]) else used).update(names)
    parameters = code.co_varnames[: code.co_argcount]
    return frozenset(k for k, name in enumerate(parameters) if name in appended - used)


def _is_captured(before: list[dis.Instruction], code: types.CodeType, function: types.FunctionType) -> bool:
    """Whether what was loaded last is a module, a function or a class that the code names, or an attribute of one."""
    loads = (i for i in reversed(before) if i.opname not in _ATTRIBUTES)
    last = next(loads, None)
    value: Any = None
    if last is not None and last.opname in _LOADS:
        value = function.__globals__.get(last.argval)
    elif last is not None and last.opname == "LOAD_DEREF" and last.argval in function.__code__.co_freevars:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        value = contents(cells[last.argval])
    else:
        return False
    kind: Any = type(value)
    return not has_plain_attributes(kind)


def contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return MISSING


_MOST_KEPT = 64  # what a list or dict may hold that is taken apart at every call


def _is_container(value: Any) -> bool:
    """Whether `value` is a list, a dict or an object that can be taken apart."""
    if type(value) in (list, dict):
        return len(value) <= _MOST_KEPT
    kind: Any = type(value)
    return has_plain_attributes(kind)


def _is_one_of(value: Any, functions: Collection[Any]) -> bool:
    return any(value is f for f in functions)


def _has_state(value: Any) -> bool:
    """Whether attributes of `value` may change between calls: those of functions and of the user's classes."""
    if hasattr(value, "__jitrt_function__"):
        return True
    if isinstance(value, types.FunctionType):
        return not is_numpy(value)
    return isinstance(value, type) and value.__module__ not in ("builtins", "numpy")


def _is_plain(value: Any) -> bool:
    """Whether `value` is immutable data."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    if value is _HAS_DEFAULT_FACTORY:
        return True
    plain = (int, float, complex, str, bytes, bool, type(None), np.generic, np.dtype, range, slice, type(...))
    return isinstance(value, plain)


def _check_pure(value: Any, name: str) -> None:
    """Raise `Untraceable` if `value` is nothing that a replay may leave out."""
    if not _is_pure_callable(value, name):
        raise Untraceable(f"uses {name}, of type {type(value).__name__}, whose effects are unknown")


def _is_pure_callable(value: Any, name: str) -> bool:
    try:
        if value in _PURE_BUILTINS:
            return True
    except TypeError:
        return False
    if value is np.vectorize:
        return True
    if isinstance(value, type):
        named_tuple = issubclass(value, tuple) and hasattr(value, "_fields")
        return named_tuple or issubclass(value, (BaseException, np.generic, np.dtype, np.ndarray))
    if isinstance(value, np.ufunc):
        return True
    if isinstance(value, types.BuiltinFunctionType) and value.__module__ in _PURE_MODULES:
        return True
    if is_numpy(value):
        _check_numpy(value, name)
        return True
    return type(value).__module__ == "numpy.lib._index_tricks_impl"  # np.r_, np.mgrid, …


def is_numpy(value: Any) -> bool:
    """Whether `value` comes from NumPy, or is one of the loops that stand in for it here."""
    module = getattr(value, "__module__", None) or ""
    return module in ("numpy", "jitrt.loops") or module.startswith("numpy.")


def _check_numpy(value: Any, name: str) -> None:
    module = value.__module__ or ""
    if module.startswith(("numpy.random", "numpy.testing", "numpy.ctypeslib", "numpy.f2py")):
        raise Untraceable(f"calls {name}, whose results differ from call to call")
    if getattr(value, "__name__", "") in _IMPURE_NUMPY:
        raise Untraceable(f"calls {name}, which changes the process or reads from outside")


def _line(code: types.CodeType, instruction: dis.Instruction) -> str:
    line = instruction.positions.lineno if instruction.positions else code.co_firstlineno
    return f"{code.co_filename}:{line}"
