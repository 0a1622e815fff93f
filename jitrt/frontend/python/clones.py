"""Copies of functions and classes that find other objects where they read from outside.

Nothing is patched: the function itself, its module and other threads see what they saw before.
"""

from __future__ import annotations

import builtins
import copy
import functools
import inspect
import logging
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ...errors import Untraceable
from ...values.attributes import is_copied
from ...values.constants import is_made_function
from ...values.functions import MISSING, Code, contents, is_callback, is_jitted, is_numpy, parts_of, stays, underlying
from ...values.keys import GENERATORS
from ..context import current
from ..numpy import maskedfunctions
from ..numpy.draws import TracedGenerator, of_object
from ..numpy.externalcalls import external_call
from ..numpy.modules import classes_of_generators, stand_in
from ..numpy.operators import is_tracer, traced_complex, traced_float, traced_int, traced_len
from ..numpy.standin import USERS_NAMES, StandIn
from ..rolling.loopsites import only_called
from ..rolling.rolling import traced_range
from .bytecode import names_and_texts, names_in, nested
from .captures import Place
from .classes import STAND_INS, asked, type_among
from .codescan import is_traced_through
from .elsewhere import Logger, Remembering, of_vectorize, refusing
from .externals import is_external
from .purevalues import PURE_FUNCTIONS, SCOPES, is_namespace_getter, works_on_symbols
from .userline import user_line


class _ModuleView(types.ModuleType):
    """A module whose functions and arrays are replaced as they are read."""

    __slots__ = ("_module", "_replaced")

    def __init__(self, module: types.ModuleType, replaced: Callable[[Any, str, Any], Any]):
        super().__init__(module.__name__)
        self._module, self._replaced = module, replaced
        _own(self).clear()  # its name and text are the module's, too

    def __getattribute__(self, name: str) -> Any:
        """What was stored here, or else the module's; its class and its text would be found here without asking."""
        own = _own(self)
        if name in own:
            return own[name]
        module = object.__getattribute__(self, "_module")
        return object.__getattribute__(self, "_replaced")(vars(module), name, getattr(module, name))


def _own(view: _ModuleView) -> dict[str, Any]:
    """What code has stored in the view of a module."""
    return object.__getattribute__(view, "__dict__")


class Clones:
    """Copies of functions and classes that find tracers in place of captured arrays and what NumPy creates.

    Parameters
    ----------
    tracers : dict of int to Tracer
        By the identity of the captured array, for arrays that are found elsewhere than in their places.
    known : set
        The code that was found to do nothing that a replay would leave out.
    refused : dict
        What a replay would leave out, by its identity, and why; the code may reach it but not call it.
    classes : bool
        Whether the user's classes are copied, too: code that asks for the class of an object would see the copy.
    places : mapping of Place to Tracer, optional
        What stands for captured arrays, and for numbers that are inputs, by the places that hold them.
    texts : collection of str, optional
        What else than names and texts of the code may be looked up in modules; by default all.
    """

    def __init__(
        self,
        tracers: dict[int, Any],
        known: Collection[types.CodeType],
        refused: dict[int, tuple[Any, str]],
        classes: bool,
        places: Mapping[Place, Any] = MappingProxyType({}),
        texts: Collection[str] | None = None,
    ):
        self._tracers = tracers
        self._texts = texts
        self._places = places
        self._refused = refused
        self._asked = {kind: asked(kind, why) for kind, why in refused.values() if isinstance(kind, type)}
        self._type = type_among(classes_of_generators() | self._asked | maskedfunctions.classes())
        self._known = known
        self._copies_classes = classes
        self._functions: dict[int, types.FunctionType] = {}
        self._of_callbacks: dict[
            types.FunctionType, dict[str, Any]
        ] = {}  # what copies of functions by numba.cfunc have
        self._given: set[int] = set()
        self._unfilled: list[Callable[[], None]] | None = []  # until it is known what stands for containers
        self._classes: dict[type, type] = {}
        self._members: dict[type, dict[str, Any]] = {}
        self._namespaces: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._views: dict[int, _ModuleView] = {}
        self._containers: dict[int, Any] = {}
        self._generators: dict[int, TracedGenerator] = {}

    def make(self, code: Code) -> types.FunctionType:
        """A function that is an argument, with empty cells."""
        made = code.make(self._namespace(code.namespace))
        self._functions[id(made)] = made
        self._given.add(id(made))

        def fill() -> None:
            code.fill(made, [self.of(part) if stays(part) else part for part in parts_of(made)])
            self._name(made, code.namespace)

        self._fill(fill)
        return made

    def given(self) -> set[int]:
        """Identities of the functions that `make` has made."""
        return self._given

    def of_leaf(self, leaf: Any) -> Any:
        """What code finds in place of an argument."""
        leads_to_more = isinstance(leaf, (type, types.FunctionType, types.ModuleType)) or is_made_function(leaf)
        return self.of(leaf) if leads_to_more else leaf

    def stand_for(self, containers: Sequence[Any], copies: Sequence[Any]) -> None:
        """Let code find copies in place of lists, dicts and objects."""
        self._containers = {id(value): copied for value, copied in zip(containers, copies)}
        unfilled, self._unfilled = self._unfilled, None
        for fill in unfilled or ():
            fill()

    def _fill(self, fill: Callable[[], None]) -> None:
        """Give a copy what code finds in it, once that is known."""
        if self._unfilled is None:
            fill()
        else:
            self._unfilled.append(fill)

    def of(self, value: Any) -> Any:
        """What code finds in place of `value`."""
        if id(value) in self._refused:
            return self._asked[value] if isinstance(value, type) else refusing(self._refused[id(value)][1])
        if isinstance(value, np.ndarray):
            return self._tracers.get(id(value), value)
        if id(value) in self._containers:
            return self._containers[id(value)]
        if isinstance(value, types.ModuleType) and not is_numpy_module(value):
            return self._view(value)
        inner = underlying(value)
        if is_external(inner) and not is_traced_through(inner):
            return StandIn(inner, external_call)
        if is_namespace_getter(inner):
            return lambda *arrays, **options: self.of(inner(*map(_example, arrays), **options))
        is_copied = isinstance(inner, types.FunctionType) and not is_numpy(inner)
        if is_copied and inner not in PURE_FUNCTIONS and inner not in SCOPES and not works_on_symbols(inner):
            made = self._function(inner)
            if is_callback(value):
                called = refusing("a function by numba.cfunc is called by its address")
                given = {"address": value.address, "native_name": value.native_name, "ctypes": called}
                if made not in self._of_callbacks:
                    self._of_callbacks[made] = given
                    vars(made).update(given)
            return made
        if isinstance(value, functools.partial):
            keywords = {k: self._held(value.keywords, k, v) for k, v in value.keywords.items()}
            return functools.partial(self.of(value.func), *map(self.of, value.args), **keywords)
        if type(value) is np.vectorize:
            return of_vectorize(value, self.of(value.pyfunc))
        if type(value) is np.poly1d:
            copied = copy.copy(value)
            vars(copied).update({key: self._held(vars(value), key, part) for key, part in vars(value).items()})
            return copied
        if type(value) is functools._lru_cache_wrapper:
            return Remembering(value)
        if type(value) is logging.Logger:
            return Logger(value)
        if type(value) in GENERATORS:
            return self._generators.setdefault(id(value), of_object(value))
        if value is type:
            return self._type
        found = stand_in(value)
        return self.class_of(value) if found is value and isinstance(value, type) else found

    def _held(self, container: Any, key: str | int | None, value: Any) -> Any:
        """What code finds in place of `value`, which a namespace or a cell holds."""
        found = self._places.get((id(container), key))
        return self.of(value) if found is None else found

    def _looked_up(self, names: dict[str, Any], name: str, value: Any) -> Any:
        """What code finds under a name of a module, if that was looked at."""
        if not (self._texts is None or name in self._texts or name in self._known_names or name.startswith("__")):
            raise Untraceable(f"looks up {name} in a module by a name that it makes", user_line())
        return self._held(names, name, value)

    @functools.cached_property
    def _known_names(self) -> frozenset[str]:
        return frozenset().union(*map(names_and_texts, self._known))

    def _view(self, module: types.ModuleType) -> _ModuleView:
        if id(module) not in self._views:
            self._views[id(module)] = _ModuleView(module, self._looked_up)
        return self._views[id(module)]

    def class_of(self, kind: type) -> type:
        """The class that stands for a class of the user's; others stand for themselves."""
        if not self._copies_classes or not is_copied(kind) or "__jitrt_class__" in vars(kind):
            return kind
        if kind not in self._classes:
            bases = tuple(self.class_of(base) for base in kind.__bases__ if base is not object)
            others = tuple(base for base in bases if base not in kind.__bases__)
            namespace = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__jitrt_class__": kind}
            namespace["__doc__"] = vars(kind).get("__doc__")  # which it does not inherit
            if not kind.__dictoffset__:
                namespace["__slots__"] = ()
            self._classes[kind] = made = type(kind.__name__, (kind, *others), namespace)
            if hasattr(kind, "__parameters__"):  # of `typing.Generic`, which takes them from the bases
                made.__parameters__ = kind.__parameters__  # type: ignore[attr-defined]
            self._fill(lambda: self._fill_class(made, kind))
        return self._classes[kind]

    def _fill_class(self, made: type, kind: type) -> None:
        for name, member in vars(kind).items():
            if name in _OF_CLASSES:
                continue
            found = self._held(kind, name, member) if isinstance(member, np.ndarray) else self._member(member)
            if found is not member:
                setattr(made, name, found)
                if isinstance(found, functools.cached_property):
                    found.__set_name__(made, name)
        if kind.__repr__ is object.__repr__:
            made.__repr__ = refusing("shows where an object is in memory")  # type: ignore[method-assign]
        self._members[made] = dict(vars(made))

    def _member(self, member: Any) -> Any:
        """What stands for a member of a class."""
        code = getattr(inspect.unwrap(underlying(member)), "__code__", None)
        if code is not None and code not in self._known:
            return refusing("calls a method that does what a replay would leave out")
        if type(member) is functools._lru_cache_wrapper:
            return refusing("calls a method that remembers objects")  # it would remember copies
        if isinstance(member, staticmethod) and type(member.__func__) is functools._lru_cache_wrapper:
            return staticmethod(self.of(member.__func__))
        if isinstance(member, (staticmethod, classmethod)):
            return type(member)(self._member(member.__func__))
        if isinstance(member, property):
            return property(*(f and self._member(f) for f in (member.fget, member.fset, member.fdel)))
        if isinstance(member, functools.cached_property):
            return functools.cached_property(self._member(member.func))
        if isinstance(member, type):
            return self.class_of(member)
        is_code = isinstance(member, types.FunctionType) or is_jitted(member)
        is_stood_for = isinstance(member, _STOOD_FOR) or id(member) in self._containers
        return self.of(member) if is_code or is_stood_for else member

    def have_been_changed(self) -> bool:
        """Whether something was stored in a function, a module or a class, which only its copy knows."""
        functions = any(
            name not in _OF_SIGNATURES and self._of_callbacks.get(f, {}).get(name) is not value
            for f in self._functions.values()
            for name, value in vars(f).items()
        )
        modules = any(map(_own, self._views.values()))
        members = any(not _is_as_it_was(vars(kind), known) for kind, known in self._members.items())
        return functions or modules or members

    def _imported(self, *args: Any, **kwargs: Any) -> Any:
        """What an import statement inside a copy finds."""
        return self.of(__import__(*args, **kwargs))

    def _namespace(self, names: dict[str, Any]) -> dict[str, Any]:
        """The module's names for copies of its functions, those that are used so far replaced."""
        if id(names) not in self._namespaces:
            known = (
                vars(builtins) | STAND_INS | {"type": self._type, "__import__": self._imported, "sum": stand_in(sum)}
            )
            if self._refused:
                known |= {name: self.of(v) for name, v in vars(builtins).items() if id(v) in self._refused}
            own = {} if self._refused else {USERS_NAMES: names}
            self._namespaces[id(names)] = names | {"__builtins__": known} | own, set()
        return self._namespaces[id(names)][0]

    def _name(self, made: types.FunctionType, names: dict[str, Any]) -> None:
        """Let a copy of a function find what stands for the values that its code names."""
        code, (namespace, done) = made.__code__, self._namespaces[id(names)]
        for name in names_in(code):
            if name in done:  # maybe since the loop has begun: functions name each other
                continue
            done.add(name)
            if name in namespace:
                namespace[name] = self._held(names, name, namespace[name])
        if "type" in code.co_names and (state := current()) is not None and not is_numpy(made):
            state.loops.symbolic = False  # it would tell symbols from integers
            state.want_all_integers()
        for name, original, stands_for in _ONLY_CALLED:
            users = [c for c in nested(code) if name in c.co_names]
            if users and name not in names:
                # Code that does something else with it than call it may compare it by identity.
                calls = all(only_called(c, name) for c in users)
                namespace[name] = stands_for if calls and namespace.get(name) is not original else original

    def _function(self, f: types.FunctionType) -> types.FunctionType:
        if id(f) in self._functions:
            return self._functions[id(f)]
        closure = tuple(types.CellType() for _ in f.__closure__ or ())
        made = types.FunctionType(f.__code__, self._namespace(f.__globals__), f.__name__, None, closure)
        made.__module__, made.__qualname__ = f.__module__, f.__qualname__
        self._functions[id(f)] = made
        self._fill(lambda: self._fill_function(made, f))
        return made

    def _fill_function(self, made: types.FunctionType, f: types.FunctionType) -> None:
        self._name(made, f.__globals__)
        for name, cell, original in zip(f.__code__.co_freevars, made.__closure__ or (), f.__closure__ or ()):
            if (value := contents(original)) is not MISSING:
                cell.cell_contents = value if name == "__class__" else self._held(original, None, value)
        defaults = f.__defaults__ or ()
        made.__defaults__ = tuple(self._held(defaults, k, v) for k, v in enumerate(defaults)) or None
        made.__kwdefaults__ = {
            k: self._held(f.__kwdefaults__, k, v) for k, v in (f.__kwdefaults__ or {}).items()
        } or None
        for name in vars(f).keys() & _OF_SIGNATURES:
            setattr(made, name, self.of(vars(f)[name]))


# What copies of classes inherit, or cannot have of their own.
_OF_CLASSES = frozenset({"__subclasshook__", "__init_subclass__", "__class_getitem__", "__name__", "__qualname__"})
_STOOD_FOR = (list, dict, types.ModuleType, np.poly1d, *GENERATORS)  # of what a class holds
_OF_SIGNATURES = {"__wrapped__", "__signature__"}  # what `inspect.signature` goes by
_ONLY_CALLED: tuple[tuple[str, Any, Any], ...] = (
    ("range", range, traced_range), ("float", float, traced_float), ("len", len, traced_len), ("int", int, traced_int),
    ("complex", complex, traced_complex),
)  # fmt: skip


def _example(value: Any) -> Any:
    """An array or a number of the class that `value` stands for."""
    return value if not is_tracer(value) else np.empty(0) if value._is_array() else value.__class__(0)


def _is_as_it_was(members: Mapping[str, Any], known: dict[str, Any]) -> bool:
    """Whether a class has the members that it had; the name is what `copy` notes of a class."""
    return all(known.get(name) is member for name, member in members.items() if name != "__slotnames__") and (
        known.keys() <= members.keys()
    )


def is_numpy_module(module: types.ModuleType) -> bool:
    return module.__name__ == "numpy" or module.__name__.startswith("numpy.")
