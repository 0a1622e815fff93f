"""What a function's bytecode, and that of the functions it calls, says about its dependence on the world.

A compiled call does not run the Python code again. That is right only for a function whose result follows from
its arguments and from captured values that a guard can watch, and which does nothing that Python can see. The scan
resolves every global and closure name that the code loads; what it cannot vouch for makes the plain function run.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..errors import Untraceable

_PURE_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in """abs all any bool bytes callable complex dict divmod enumerate filter float format frozenset hasattr
    int isinstance issubclass iter len list map max min next object pow range repr reversed round set slice sorted
    str sum tuple type zip NotImplemented Ellipsis""".split()
)
_PURE_MODULES = frozenset(
    {"math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "numbers", "typing"}
)
_CONSTANT_MODULES = frozenset({"numpy", "math", "cmath"})  # what they hold, nobody rebinds
# Functions of NumPy that change an argument, the process or a file, or that read from outside.
_IMPURE_NUMPY = frozenset(
    """copyto put place putmask fill_diagonal put_along_axis seterr seterrcall setbufsize errstate set_printoptions
    printoptions save savez savez_compressed savetxt load loadtxt genfromtxt fromfile fromregex memmap open_memmap
    frombuffer nditer""".split()
)
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_SKIPPED = frozenset({"CACHE", "EXTENDED_ARG", "PUSH_NULL", "PRECALL", "NOP"})
_EFFECTS = {
    "STORE_GLOBAL": "assigns a global variable",
    "DELETE_GLOBAL": "deletes a global variable",
    "STORE_ATTR": "sets an attribute",
    "DELETE_ATTR": "deletes an attribute",
    "IMPORT_NAME": "imports a module",
    "YIELD_VALUE": "is a generator",
    "LOAD_BUILD_CLASS": "defines a class",
    "SETUP_WITH": "enters a context manager",
    "BEFORE_WITH": "enters a context manager",
    "LOAD_SPECIAL": "enters a context manager",
}


@dataclass(frozen=True, slots=True)
class Capture:
    """A value that the code reads from outside: `read` gives its current value."""

    name: str
    read: Callable[[], Any]
    value: Any


@dataclass(slots=True)
class Captures:
    """What a function depends on beside its arguments.

    Parameters
    ----------
    arrays : list of Capture
        Captured arrays: implicit inputs, read at every call.
    values : list of Capture
        Numbers, strings and functions, which a guard compares by identity.
    """

    arrays: list[Capture] = field(default_factory=list)
    values: list[Capture] = field(default_factory=list)

    def unchanged(self) -> bool:
        """Whether every captured value is still the object that was scanned."""
        return all(c.read() is c.value for c in self.values)


_MISSING = object()


def scan(function: Callable[..., Any]) -> Captures:
    """The captures of `function` and of what it calls.

    Raises
    ------
    Untraceable
        If the function does, or may do, something that a replay would leave out.
    """
    captures = Captures()
    _scan_value(function, getattr(function, "__name__", "function"), captures, set(), None)
    return captures


def _scan_value(value: Any, name: str, captures: Captures, seen: set[int], read: Callable[[], Any] | None) -> None:
    """Check that using `value`, loaded under `name`, is something that a replay may leave out."""
    if isinstance(value, types.MethodType):
        raise Untraceable(f"{name} is a bound method")
    loaded, value = value, getattr(value, "__jitrt_function__", value)
    if isinstance(value, types.FunctionType):
        if _is_numpy(value):
            _check_numpy(value, name)
            return
        if read is not None:
            captures.values.append(Capture(name, read, loaded))
        if value.__module__ in _PURE_MODULES or id(value) in seen:
            return
        seen.add(id(value))
        if value.__code__.co_flags & (0x20 | 0x80 | 0x100 | 0x200):
            raise Untraceable(f"{name} is a generator or a coroutine")
        for position, default in enumerate(value.__defaults__ or ()):
            _scan_value(default, f"a default of {name}", captures, seen, partial(_default, value, position))
        for keyword, default in (value.__kwdefaults__ or {}).items():
            _scan_value(default, f"a default of {name}", captures, seen, partial(_keyword_default, value, keyword))
        _scan_code(value.__code__, value, captures, seen)
    elif isinstance(value, np.ndarray):
        assert read is not None
        if all(c.value is not value for c in captures.arrays):
            captures.arrays.append(Capture(name, read, value))
    elif _is_plain(value):
        if read is not None:
            captures.values.append(Capture(name, read, value))
    elif not _is_pure_callable(value, name):
        raise Untraceable(f"uses {name}, of type {type(value).__name__}, whose effects are unknown")


def _is_plain(value: Any) -> bool:
    """Whether `value` is immutable data."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    plain = (int, float, complex, str, bytes, bool, type(None), np.generic, np.dtype, range, slice, type(...))
    return isinstance(value, plain)


def _is_pure_callable(value: Any, name: str) -> bool:
    try:
        if value in _PURE_BUILTINS:
            return True
    except TypeError:
        return False
    if isinstance(value, type):
        named_tuple = issubclass(value, tuple) and hasattr(value, "_fields")
        return named_tuple or issubclass(value, (BaseException, np.generic, np.dtype, np.ndarray))
    if isinstance(value, np.ufunc):
        return True
    if isinstance(value, types.BuiltinFunctionType) and value.__module__ in _PURE_MODULES:
        return True
    if _is_numpy(value):
        _check_numpy(value, name)
        return True
    return type(value).__module__ == "numpy.lib._index_tricks_impl"  # np.r_, np.mgrid, …


def _is_numpy(value: Any) -> bool:
    module = getattr(value, "__module__", None) or ""
    return module == "numpy" or module.startswith("numpy.")


def _check_numpy(value: Any, name: str) -> None:
    module = value.__module__ or ""
    if module.startswith(("numpy.random", "numpy.testing", "numpy.ctypeslib", "numpy.f2py")):
        raise Untraceable(f"calls {name}, whose results differ from call to call")
    if value.__name__ in _IMPURE_NUMPY:
        raise Untraceable(f"calls {name}, which changes its arguments or the process")


def _scan_code(
    code: types.CodeType, function: types.FunctionType, captures: Captures, seen: set[int], nested: bool = False
) -> None:
    free = set(code.co_freevars) if not nested else set()
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _SKIPPED]
    for k, instruction in enumerate(instructions):
        name = instruction.opname
        if name in _EFFECTS:
            raise Untraceable(f"{code.co_name} {_EFFECTS[name]}", _line(code, instruction))
        if name == "STORE_DEREF" and (
            instruction.argval in free or (nested and instruction.argval in code.co_freevars)
        ):
            raise Untraceable(f"{code.co_name} assigns a nonlocal variable", _line(code, instruction))
        if name in _LOADS:
            resolved = _global(function, instruction.argval)
        elif name == "LOAD_DEREF" and instruction.argval in cells and instruction.argval in code.co_freevars:
            resolved = _cell(cells[instruction.argval], instruction.argval)
        else:
            continue
        value, read = resolved
        constant_module = False
        loaded = str(instruction.argval)
        for following in instructions[k + 1 :]:
            if following.opname not in _ATTRIBUTES or not isinstance(value, types.ModuleType):
                break
            constant_module = value.__name__ in _CONSTANT_MODULES
            value, read = _attribute(value, following.argval, loaded, _line(code, instruction))
            loaded = f"{loaded}.{following.argval}"
        if isinstance(value, types.ModuleType) or value is _MISSING:
            continue
        try:
            _scan_value(value, loaded, captures, seen, None if constant_module else read)
        except Untraceable as e:
            raise Untraceable(e.reason, e.line or _line(code, instruction)) from None
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _scan_code(constant, function, captures, seen, nested=True)


def _global(function: types.FunctionType, name: str) -> tuple[Any, Callable[[], Any]]:
    namespace = function.__globals__
    if name in namespace:
        return namespace[name], lambda: namespace.get(name, _MISSING)
    return getattr(builtins, name, _MISSING), lambda: namespace.get(name, getattr(builtins, name, _MISSING))


def _cell(cell: types.CellType, name: str) -> tuple[Any, Callable[[], Any]]:
    def read() -> Any:
        try:
            return cell.cell_contents
        except ValueError:  # not yet assigned
            return _MISSING

    return read(), read


def _default(function: types.FunctionType, position: int) -> Any:
    return (function.__defaults__ or ())[position]


def _keyword_default(function: types.FunctionType, keyword: str) -> Any:
    return (function.__kwdefaults__ or {}).get(keyword, _MISSING)


def _attribute(module: types.ModuleType, name: str, loaded: str, line: str) -> tuple[Any, Callable[[], Any]]:
    value = getattr(module, name, _MISSING)
    if value is _MISSING:
        raise Untraceable(f"{loaded} has no attribute {name}", line)
    return value, lambda: getattr(module, name, _MISSING)


def _line(code: types.CodeType, instruction: dis.Instruction) -> str:
    line = instruction.positions.lineno if instruction.positions else code.co_firstlineno
    return f"{code.co_filename}:{line}"
