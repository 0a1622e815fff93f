"""Which values a function may use whose code does not run again: data, and functions without effects."""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import dataclasses
import datetime
import functools
import inspect
import itertools
import operator
import pathlib
import types
import warnings
from collections.abc import Collection
from typing import Any

import numpy as np

from ...errors import Untraceable
from ...values.attributes import has_plain_attributes
from ...values.constants import users_members
from ...values.functions import is_jitted, is_numpy

_PURE_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in """abs all any ascii bin bool bytes callable chr complex dict divmod enumerate filter float format
    frozenset hasattr hex int isinstance issubclass iter len list map max min next object oct ord pow range repr
    reversed round set slice sorted
    str sum super tuple type zip NotImplemented Ellipsis""".split()
)
PURE_MODULES = frozenset(
    {"math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "numbers", "typing", "_bisect"}
)
# Functions of Python's library that do with objects what its code could do itself.
PURE_FUNCTIONS = frozenset({dataclasses.replace, copy.copy, copy.deepcopy, inspect.signature})
# Classes whose objects do nothing but to hold, to give and to call what they are made of.
_PURE_CLASSES = frozenset(
    {
        *(value for value in vars(itertools).values() if getattr(value, "__module__", "") == "itertools"),
        *(collections.ChainMap, collections.Counter, collections.OrderedDict, collections.defaultdict),
        *(collections.deque, contextlib.ExitStack, contextlib.closing, contextlib.nullcontext, contextlib.suppress),
        *(operator.attrgetter, operator.itemgetter, operator.methodcaller),
        contextlib._GeneratorContextManager,
    }
)
# What changes the error state, or the filters of warnings, as long as a `with` statement lasts.
SCOPES = frozenset({np.errstate, warnings.catch_warnings, warnings.simplefilter, warnings.filterwarnings})
BY_NAME = frozenset({getattr, setattr, delattr})
BY_NAME_LATER = frozenset({operator.attrgetter, operator.methodcaller})
CONSTANT_MODULES = frozenset({"numpy", "math", "cmath"})  # what they hold, nobody rebinds
# Functions of NumPy that change the process or a file, or that read from outside.
_IMPURE_NUMPY = frozenset(
    """seterr seterrcall setbufsize errstate geterr geterrcall getbufsize set_printoptions get_printoptions printoptions
    save savez savez_compressed savetxt load loadtxt genfromtxt fromfile fromregex memmap open_memmap frombuffer
    nditer""".split()
)
# What people are told of functions that are not pure.
_EFFECTS: dict[Any, str] = {
    print: "prints",
    input: "asks for input",
    open: "opens a file",
    eval: "runs text as code",
    exec: "runs text as code",
    globals: "asks for its variables by name",
    locals: "asks for its variables by name",
    vars: "asks for its variables by name",
    id: "asks where an object is in memory",
    warnings.warn: "gives a warning",
}
_OF_STAND_INS = "jitrt.frontend.numpy.labelled"
_MOST_KEPT = 64  # what a list or dict may hold that is taken apart at every call


# What of their methods asks the system.
_OF_PATHS = frozenset(dir(pathlib.Path)) - frozenset(dir(pathlib.PurePath))
_OF_THE_CLOCK = frozenset({"astimezone", "fromtimestamp", "now", "timestamp", "today", "utcfromtimestamp", "utcnow"})


def impure_names(value: Any) -> frozenset[str]:
    """Names of what immutable data gives that is not always the same, or does something.

    Examples
    --------
    >>> "exists" in impure_names(pathlib.Path("here")), "name" in impure_names(pathlib.Path("here"))
    (True, False)
    >>> impure_names((1.0, "a"))
    frozenset()
    """
    if isinstance(value, (tuple, frozenset)):
        return frozenset[str]().union(*map(impure_names, value))
    if isinstance(value, pathlib.Path):
        return _OF_PATHS
    return _OF_THE_CLOCK if isinstance(value, datetime.date) else users_members(value)


def named_tuples(value: Any) -> frozenset[type]:
    """The classes of tuples with names of fields that a constant is, or holds: somebody may change these."""
    if not isinstance(value, tuple):
        return frozenset()
    own = frozenset({type(value)}) if hasattr(type(value), "_fields") else frozenset[type]()
    return own.union(*map(named_tuples, value))


def is_container(value: Any) -> bool:
    """Whether `value` is a list, a dict or an object that can be taken apart."""
    if type(value) in (list, dict):
        return len(value) <= _MOST_KEPT
    kind: Any = type(value)
    return has_plain_attributes(kind)


def is_namespace_getter(value: Any) -> bool:
    """Whether `value` is the function of ``array_api_compat``, or of a copy of it, that gives a namespace."""
    known = isinstance(value, types.FunctionType) and value.__name__ in ("array_namespace", "get_namespace")
    return known and "array_api_compat" in (value.__module__ or "").split(".")


def works_on_symbols(value: Any) -> bool:
    """Whether `value` is a function that makes the stand-ins for objects of other libraries, or takes them apart."""
    return isinstance(value, types.FunctionType) and value.__module__ == _OF_STAND_INS


def is_one_of(value: Any, functions: Collection[Any]) -> bool:
    """Whether `value`, which may not be hashable, is one of these objects."""
    return any(value is f for f in functions)


def has_state(value: Any) -> bool:
    """Whether attributes of `value` may change between calls: those of functions and of the user's classes."""
    if is_jitted(value):
        return True
    if isinstance(value, types.FunctionType):
        return not is_numpy(value)
    return isinstance(value, type) and value.__module__ not in ("builtins", "numpy")


def check_pure(value: Any, name: str) -> None:
    """Raise `Untraceable` if `value` is nothing that a replay may leave out."""
    if (reason := why_impure(value, name)) is not None:
        raise Untraceable(reason)


def why_impure(value: Any, name: str) -> str | None:
    """Why a replay may not leave out what `value` does, which code knows under that name; None if it may."""
    if is_numpy(value) and not isinstance(value, (type, np.ufunc)):
        return why_impure_of_numpy(value, name)
    if _is_pure_callable(value):
        return None
    if isinstance(value, types.BuiltinFunctionType):
        what = _EFFECTS.get(value)
        return what or f"calls {name}, which may have side effects or differ from call to call"
    kind = "a class" if isinstance(value, type) else f"of type {type(value).__name__}"
    return f"uses {name}, {kind}, which may have side effects or differ from call to call"


def _is_pure_callable(value: Any) -> bool:
    try:
        if value in _PURE_BUILTINS or value in _PURE_CLASSES:
            return True
    except (TypeError, ValueError):  # not hashable; a `memoryview` that may be written raises the latter
        return False
    if value in (np.vectorize, np.finfo, np.iinfo, functools.partial):
        return True
    if isinstance(value, type):
        named_tuple = issubclass(value, tuple) and hasattr(value, "_fields")
        return named_tuple or issubclass(value, (BaseException, np.generic, np.dtype, np.ndarray, np._CopyMode))
    if isinstance(value, np.ufunc):
        return True
    if isinstance(value, types.BuiltinFunctionType) and value.__module__ in PURE_MODULES:
        return True
    return type(value).__module__ == "numpy.lib._index_tricks_impl"  # np.r_, np.mgrid, …


def why_impure_of_numpy(function: Any, name: str) -> str | None:
    """The same for a function of NumPy's."""
    module = function.__module__ or ""
    if module.startswith("numpy.random"):
        return f"calls {name}, which reads or sets the state of a random generator"
    if module.startswith(("numpy.testing", "numpy.ctypeslib", "numpy.f2py")):
        return f"calls {name}, which may have side effects or differ from call to call"
    if getattr(function, "__name__", "") in _IMPURE_NUMPY:
        return f"calls {name}, which changes the process or reads from outside"
    return None
