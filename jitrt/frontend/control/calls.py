"""Calls in staged functions: of NumPy's functions, of Python's own, of methods, and of functions of the user's."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.integers import Poly
from ...ir.ops.optable import OUT_BY_NAME
from ...values.functions import MISSING, underlying
from ..python.numbas import is_numbas
from ..python.operations import operation_of, stands_for
from . import (
    arithmetic,
    choosing,
    complexnumbers,
    containers,
    draws,
    external,
    folding,
    generators,
    items,
    library,
    makingobjects,
    mathematics,
    numbaarrays,
    numbacalls,
    objects,
    scalars,
    specialmethods,
    strings,
    vectorized,
)
from . import arrays as a
from .iterations import is_of_itertools
from .listcalls import ListCalls
from .localfunctions import LocalFunction
from .outside import of_listing
from .python_functions import ASKING, BUILTINS
from .registry import as_array
from .runtimelists import RunTimeList
from .values import (
    BOOL,
    FLOAT,
    INT,
    Array,
    Complex,
    Composite,
    ListChanges,
    Method,
    NeedsValue,
    NotStaged,
    Scalar,
    Source,
    is_number,
    is_static,
    type_of,
)
from .written import MOST_INLINE, WRITTEN
from .written_lists import BY_KEY, tolist
from .written_maps import UFUNC_METHODS
from .written_math import METHODS as INTEGER_METHODS

_OPERATORS = {function: name for name, function in arithmetic.BINARY.items()}
_WRITTEN_METHODS = ("cumprod", "cumsum", "repeat", "trace")
_ITERATORS = ("range", "zip", "enumerate", "reversed", "map")


_GIVE_ARRAYS = frozenset(  # without axes, too
    """copy asarray asanyarray array reshape where empty zeros ones full empty_like zeros_like ones_like
    full_like""".split()
)
_OF_SMALL = (np.linalg.inv, np.linalg.solve, np.linalg.det, np.linalg.cholesky)


_ALL = ".all"  # no name of a user's
# They go through their arguments, and do not keep them.
_READERS = (len, list, tuple, set, frozenset, sum, min, max, any, all, sorted, np.array, np.asarray, np.asanyarray)
_OF_ALL = (list, tuple, sum, min, max, any, all, sorted)  # they want all elements of their argument


def is_iterator(e: ast.expr) -> bool:
    """Whether an expression makes an object that is iterated over once."""
    if not isinstance(e, ast.Call):
        return isinstance(e, ast.GeneratorExp)
    return is_of_itertools(e.func) or (isinstance(e.func, ast.Name) and e.func.id in _ITERATORS)


def check_kept(e: ast.AST) -> None:
    """Raise `NotStaged` for an iterator over an array that may be asked for elements at several places."""
    if isinstance(e, (ast.Tuple, ast.List, ast.IfExp, ast.BoolOp)):
        for part in ast.iter_child_nodes(e):
            check_kept(part)
    if isinstance(e, ast.Attribute) and e.attr == "flat":
        raise NotStaged("a flat iterator that is kept")


class Calls(ListCalls):
    """Expressions with calls. Parameters as for `Expressions`."""

    def of_Call(self, e: ast.Call) -> Any:
        iterates = bool(e.args) and (is_iterator(e.args[0]) or generators.is_generator(self, e.args[0]))
        function = None if isinstance(e.func, ast.Attribute) else self.expression(e.func)
        if isinstance(e.func, ast.Name) and iterates:
            if function is next and isinstance(e.args[0], ast.GeneratorExp) and len(e.args) <= 2:
                return self.first(e.args[0], self.untouched(e.args[1]) if len(e.args) == 2 else None, len(e.args) == 1)
            if function in (any, all) and isinstance(e.args[0], ast.GeneratorExp):
                return self.quantified(e.args[0], function is all)
            if function is dict and len(e.args) == 1 and not e.keywords:
                return self.dict_from(e, e.args[0])
            if function in _OF_ALL or containers.is_made(function):
                drawn = self.drawn(e.args[0])
                rest, kwargs = self._arguments(ast.Call(e.func, e.args[1:], e.keywords))
                return self.call(function, [drawn, *rest], kwargs, e)
        if isinstance(e.func, ast.Attribute):
            (owner, *args), kwargs = self._arguments(e, [e.func.value])
            if isinstance(owner, Array):
                return self._method(owner, e.func.attr, args, kwargs, e)
            if isinstance(owner, Complex) and e.func.attr == "conjugate" and not e.args:
                return complexnumbers.conjugate(self.r, owner)
            if isinstance(owner, Scalar):
                return self._scalar_method(owner, e.func.attr, args, kwargs, e)
            if not kwargs and (made := containers.method(self, owner, e.func.attr, args)) is not MISSING:
                return made
            if isinstance(owner, Source):
                return self._draw(owner, e.func.attr, args, kwargs, e)
            if isinstance(owner, np.ufunc):
                return self._ufunc_method(owner, e.func.attr, args, kwargs, e)
            if type(owner) is str and e.func.attr in strings.METHODS and all(map(is_static, args)) and not kwargs:
                return getattr(owner, e.func.attr)(*args)
            if e.func.attr == "__getattribute__" and objects.is_object(owner) and [*map(type, args)] == [str]:
                return self.attribute(owner, args[0], e.func)
            if isinstance(owner, (list, RunTimeList)):
                return self.list_method(owner, e.func.attr, args, kwargs, e)
            return self.call(self.attribute(owner, e.func.attr, e.func), args, kwargs, e)
        is_extreme = isinstance(e.func, ast.Name) and function in (min, max)
        args, kwargs = self._arguments(e, evaluate=self.operand if is_extreme else None)
        return self.call(function, args, kwargs, e)

    def all_of(self, value: Any, e: ast.expr) -> Any:
        """What a container of run time holds, as a list; other values as they are."""
        if not (isinstance(value, containers.DictView) or containers.is_container(value)):
            return value
        return self._with_name(value, self.drawn, e)

    def _with_name(self, value: Any, visit: Callable[[ast.expr], Any], e: ast.expr) -> Any:
        """What `visit` makes of an expression that stands for a value."""
        self.variables[_ALL] = value
        made = visit(ast.copy_location(ast.Name(_ALL, ast.Load()), e))
        del self.variables[_ALL]
        return made

    def _arguments(
        self, e: ast.Call, first: Sequence[ast.expr] = (), evaluate: Callable[[ast.expr], Any] | None = None
    ) -> tuple[list[Any], dict[str, Any]]:
        """What `first` stands for, and the arguments that are given by position; those by name."""
        values = self._several([*first, *e.args, *(k.value for k in e.keywords)], evaluate)
        count = len(values) - len(e.keywords)
        named: dict[str, Any] = {}
        for k, value in zip(e.keywords, values[count:]):
            parts = self._items(value, k.value) if k.arg is None else {k.arg: value}
            if parts.keys() & named.keys() or not all(type(name) is str for name in parts):
                raise NotStaged("names of arguments")
            named |= parts
        return values[:count], named

    def _items(self, value: Any, e: ast.expr) -> dict[Any, Any]:
        """What a dict holds of which the keys are known."""
        is_dict = isinstance(value, dict) or (isinstance(value, Composite) and value.kind is dict)
        if not is_dict or containers.is_container(value):
            raise NotStaged("starred keyword arguments")
        keys = list(value.parts if isinstance(value, Composite) else value)
        return {key: items.read(self, value, key, e) for key in keys}

    def _method(self, array: Array, name: str, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        if name == "tolist" and not (args or kwargs):
            return self.written(tolist, [array], {}, e)
        if name in _WRITTEN_METHODS:
            return self.written(WRITTEN[getattr(np, name)], [array, *args], kwargs, e)
        handler = library.METHODS.get(name)
        if handler is None:
            raise NotStaged(f"the method {name} of arrays")
        return self._handled(handler, [array, *args], kwargs, name)

    def _handled(self, handler: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], name: str) -> Any:
        kwargs = {k: scalars.settled(self.r, v) for k, v in kwargs.items()}
        if handler.__annotations__.get("array") == "Array" and not (args and isinstance(args[0], Array)):
            raise NotStaged(f"{name} of what is no array")
        scalars.check_axes(handler, [self.r, *args], kwargs)
        try:
            made = handler(self.r, *scalars.settled(self.r, args), **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise NotStaged(f"arguments of {name}") from None
            raise
        return made if name in _GIVE_ARRAYS else library.scalar_if_0d(self.r, made)

    def _ufunc_method(self, function: np.ufunc, name: str, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        if name == "at" and not kwargs:
            return choosing.at(self.r, function, *args)
        if name == "reduce" and function in folding.REDUCED and len(args) <= 2:
            axis = {} if len(args) == 2 else {"axis": 0}
            return self.call(folding.REDUCED[function], args, axis | kwargs, e)
        if name not in UFUNC_METHODS:
            raise NotStaged(f"the method {name} of {function.__name__}")
        return self.written(UFUNC_METHODS[name], [function, *args], kwargs, e)

    def _scalar_method(self, value: Scalar, name: str, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        if name in INTEGER_METHODS and value.dtype == INT and value.python and not (args or kwargs):
            return self.written(INTEGER_METHODS[name], [value], {}, e)
        if args or kwargs or name not in ("item", "copy") or value.python is not False or value.dtype.kind == "c":
            raise NotStaged(f"the method {name} of numbers")
        if name == "copy":
            return value
        if value.dtype.kind == "f":
            return Scalar(FLOAT, True, self.r.cast(value.name, value.dtype, FLOAT))
        return Scalar(BOOL if value.dtype == BOOL else INT, True, value.name, value.value)

    def _types(self, args: list[Any]) -> list[Any]:
        """What `ufunc.resolve_dtypes` takes for arguments; None for what is no array and no number."""
        values = scalars.settled(self.r, tuple(args))
        return [type_of(v) if isinstance(v, Array) or is_number(v) else None for v in values]

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        """A call of a function that is known."""
        r = self.r
        is_empty = len(e.args) == 1 and isinstance(e.args[0], ast.List) and not (e.args[0].elts or kwargs)
        if is_empty and function in (np.array, np.asarray, np.asanyarray):
            return self.call(np.empty, [0], {}, ast.copy_location(ast.Call(e.func, [], []), e))
        if function in _READERS:
            args = list(map(of_listing, args))
        if isinstance(function, Method):
            if function.function is object.__init__:
                if args or kwargs:
                    raise NotStaged("arguments of object.__init__")
                return None
            with r.aside(containers.is_container(function.owner)):
                return self.inlined(function.function, [function.owner, *args], kwargs, e)
        if isinstance(function, objects.Replace) and not args:
            return makingobjects.replaced(self, function.owner, kwargs, e)
        if objects.is_object(function) and not kwargs:
            return specialmethods.called(self, function, args, e)
        if function in (getattr, setattr) and len(args) == 2 + (function is setattr) and isinstance(args[1], str):
            return self._by_name(args, e)
        if function is super and not kwargs:
            return objects.super_of(self, args)
        if function is object.__setattr__ and len(args) == 3 and not kwargs:
            return objects.set_directly(self, *args)
        if containers.is_made(function):
            return containers.make(self, function, args, kwargs, e)
        if function is dict and len(args) <= 1:
            items = containers.items_of(self, *args)
            if kwargs and items is not None:
                items |= {name: self.kept(value) for name, value in kwargs.items()}
            elif kwargs:
                raise NotStaged("arguments of dict")
            if items is None:
                return self._with_name(containers.items_in(args[0]), lambda source: self.dict_from(e, source), e)
            return self.dict_of(items, e)
        if function in _OF_ALL and args and isinstance(args[0], (containers.DictView, Composite)):
            keys = containers.keys_of(self, args[0]) if function is sorted and not kwargs else None
            args = [self.all_of(args[0], e) if keys is None else keys, *args[1:]]
        if function is sorted and len(args) == 1 and isinstance(args[0], (tuple, list)) and is_static((args, kwargs)):
            return self.display(sorted(*args, **kwargs), e)
        if function is np.dtype and is_static((args, kwargs)):
            return np.dtype(*args, **kwargs)
        if makingobjects.is_made(function):
            return makingobjects.make(self, function, args, kwargs, e)
        if isinstance(function, LocalFunction):
            return self.inlined(function, args, kwargs, e)
        if function is np.vectorize:
            return vectorized.of_call(*args, **kwargs)
        if type(function) is np.vectorize:
            self.captures.note_attributes(function, *vectorized.ATTRIBUTES)
            function = vectorized.of_object(function)
        if isinstance(function, vectorized.Vectorized) and not kwargs:
            return self.written(function.loop(len(args)), [function.function, function.dtype, *args], {}, e)
        if (name := _global_draw(function)) is not None:
            source = self.captures.of("_rand", vars(np.random.mtrand), "_rand")
            return self._draw(source, name, args, kwargs, e)
        if function is np.random.default_rng or function is np.random.RandomState:
            return external.call(r, function, args, kwargs)
        own = operation_of(function)
        if own is not None and not kwargs and (own is function or stands_for(own, function, self._types(args))):
            return library.ufunc(r, own, scalars.settled(r, args))  # type: ignore[arg-type]
        if is_numbas(function):
            return self._known_or(
                lambda: numbacalls.call(r, function, args, kwargs), lambda: numbaarrays.call(r, function, args, kwargs)
            )
        python = underlying(function)
        is_python = type(function) is types.FunctionType or python is not function
        if is_python and not _is_numpys(function) and function not in library.FUNCTIONS:
            return self.inlined(python, args, kwargs, e)
        if not external.is_pure(function):
            return self._known(function, args, kwargs, e)
        is_small = r.is_large and function in _OF_SMALL and args and isinstance(args[0], Array) and args[0].ndim == 2
        known = self._inline_or_not if is_small else self._known
        return self._known_or(
            lambda: known(function, args, kwargs, e), lambda: external.call(r, function, args, kwargs)
        )

    def _by_name(self, args: list[Any], e: ast.Call) -> Any:
        """``getattr(value, name)`` and ``setattr(value, name, what)``."""
        value, name, *what = args
        if not what:
            return self.attribute(value, name, e)
        if not objects.is_object(value):
            raise NotStaged("an assignment to an attribute of what is no object")
        objects.assign(self, value, name, self.kept(what[0]), e)
        return None

    def _known_or(self, known: Callable[[], Any], external: Callable[[], Any]) -> Any:
        """What `known` records, or, if that cannot be staged, what `external` does."""
        r, path = self.r, self.path
        place = r.place()
        with r.attempt() as take_back:
            try:
                return known()
            except (NeedsValue, ListChanges):
                raise
            except NotStaged as reason:
                take_back()
                self.path = path
                r.begin_again(place)
                try:
                    return external()
                except NotStaged as second:
                    raise reason from second

    def _draw(self, source: Source, name: str, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        """A method of a generator of random numbers."""

        def drawn() -> Any:
            return draws.method(self.r, source, name, args, kwargs)

        written = WRITTEN.get(getattr(source.kind, name, None))
        return (
            drawn()
            if written is None
            else self._known_or(lambda: self.written(written, [source, *args], kwargs, e), drawn)
        )

    def _inline_or_not(self, function: Any, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        """Linear algebra: small matrices are worked on here, large ones by LAPACK."""
        r, shapes = self.r, []

        def inline() -> Any:
            made = self._known(function, args, kwargs, e)
            shapes.append(made.shape if isinstance(made, Array) else ())
            return made

        def outside() -> Any:
            made = external.call(r, function, args, kwargs)
            return a.as_shape(r, made, shapes[0]) if isinstance(made, Array) else made

        is_small = r.machine("<=", args[0].shape[0], Poly.number(MOST_INLINE))
        return self.chosen(is_small, inline, outside)

    def _known(self, function: Any, args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        """A call of a function of NumPy's or Python's that procedures compute themselves."""
        r = self.r
        try:
            known = function in library.FUNCTIONS or function in WRITTEN
        except TypeError:
            known = False
        if known and function in WRITTEN:
            if _is_numpys(function):
                args = [as_array(r, v) if isinstance(v, RunTimeList) else v for v in args]
            return self.written(WRITTEN[function], args, kwargs, e)
        if known:
            return self._handled(library.FUNCTIONS[function], args, kwargs, function.__name__)
        if isinstance(function, np.ufunc):
            out, args, kwargs = _output(function, args, kwargs)
            if kwargs.keys() == {"where"}:
                given, where = scalars.settled(self.r, (args, kwargs["where"]))
                return choosing.masked(self.r, function, list(given), out, where)
            if kwargs:
                raise NotStaged(f"keyword arguments of {function.__name__}")
            if out is not None:
                return self._stored(out, library.ufunc(r, function, scalars.settled(r, args)))
            if all(map(is_static, args)) and all(map(is_number, args)):
                with np.errstate(all="raise"):
                    try:
                        return function(*args)
                    except Exception as error:  # which the plain function raises
                        raise NotStaged(str(error)) from None
            return library.ufunc(r, function, scalars.settled(r, args))
        if function in _OPERATORS and len(args) == 2 and not kwargs:
            self.here = e
            return self.operation(_OPERATORS[function], *args)
        if mathematics.is_known(function):
            return mathematics.call(r, function, args, kwargs)
        if function in BY_KEY and len(args) == 1 and kwargs.keys() == {"key"}:
            return self.written(BY_KEY[function], [*args, kwargs["key"]], {}, e)
        if isinstance(function, type) and issubclass(function, np.generic) and len(args) == 1 and not kwargs:
            return self._converted(args[0], np.dtype(function))
        handler = BUILTINS.get(function) or ASKING.get(function)
        if handler is not None and not kwargs:
            if function in BUILTINS:
                args = [a.items if isinstance(a, Composite) and a.items is not None else a for a in args]
            return self._handled_by_python(handler, args, e)
        raise NotStaged(f"a call of {getattr(function, '__name__', type(function).__name__)}")

    def _stored(self, out: Any, made: Any) -> Any:
        """A result that is written to the array `out`, which is the result of the call."""
        if not isinstance(out, Array) or out.view is None or not out.ndim:
            raise NotStaged("an output that is no array")
        a.update(self.r, out, made)
        return out

    def _handled_by_python(self, handler: Callable[..., Any], args: list[Any], e: ast.Call) -> Any:
        try:
            inspect.signature(handler).bind(self, e, *args)
        except TypeError:
            raise NotStaged("arguments") from None
        return handler(self, e, *args)

    def _converted(self, value: Any, dtype: np.dtype) -> Any:
        """``np.float64(x)`` and the like."""
        if is_static(value) and is_number(value):
            try:
                with np.errstate(all="raise"):  # of which the plain function tells people at each call
                    return dtype.type(value)
            except Exception as error:
                raise NotStaged(str(error)) from None
        if (
            not isinstance(value, Scalar)
            or dtype.kind not in "biuf"
            or (dtype.kind in "iu" and value.dtype.kind == "f")
        ):
            raise NotStaged(f"a conversion to {dtype}")
        return scalars.from_register(self.r, scalars.register_of(self.r, value, dtype), dtype)


def _output(function: np.ufunc, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, list[Any], dict[str, Any]]:
    """The array that a ufunc with one result writes to, if there is one, and the other arguments of a call."""
    if len(args) == function.nargs and function.nout == 1:
        if function in OUT_BY_NAME:
            raise NotStaged(f"an output of {function.__name__} that is not named, of which NumPy warns")
        return args[-1], args[:-1], kwargs
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    out = kwargs.get("out")
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out, args, rest


def _global_draw(function: Any) -> str | None:
    """The name of a function of `numpy.random` that draws from the generator which all share."""
    if function is np.random.seed:
        return "seed"
    shared = vars(np.random.mtrand).get("_rand")
    return function.__name__ if shared is not None and getattr(function, "__self__", None) is shared else None


def _is_numpys(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").partition(".")[0] in ("numpy", "scipy")
