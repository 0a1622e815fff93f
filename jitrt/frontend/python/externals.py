"""Functions that NumPy does not own and that do nothing but compute: SciPy's, numba's, those that users vouch for.

A call of one is a step of the program, and what stands around it stays compiled. What it writes into of its arguments
is known from its parameters: `overwrite_a` names `a`, `output` itself is written.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from ...base.frozen import frozen
from .numbas import is_numbas, written_by
from .operations import operation_of

F = TypeVar("F", bound=Callable[..., Any])

# The parts of SciPy whose functions compute: others read and write files.
_SCIPY = frozenset(
    """cluster differentiate fft fftpack integrate interpolate linalg ndimage optimize signal sparse spatial special
    stats""".split()
)
# What changes how others compute, or shows something.
_REFUSED = frozenset(
    """set_backend set_global_backend register_backend skip_backend set_workers get_workers errstate seterr geterr
    show_options interpolative""".split()
)
_RANDOM = frozenset({"rng", "random_state", "seed"})  # parameters without which a function draws from NumPy's generator
_OUTPUTS = frozenset({"out", "output", "distances", "indices"})  # parameters that take an array to be written


@frozen(eq=False)
class Vouched:
    """What is known of a function that the user vouches for.

    Parameters
    ----------
    function : callable
    writes, aliases : tuple of str or int
        Parameters whose arrays it writes into, and those in whose memory its result may lie.
    """

    function: Callable[..., Any]
    writes: tuple[str | int, ...] = ()
    aliases: tuple[str | int, ...] = ()


_vouched: dict[int, Vouched] = {}


def pure(
    function: F, writes: str | int | Collection[str | int] = (), aliases: str | int | Collection[str | int] = ()
) -> F:
    """Vouch for a function that jitrt cannot look into: it computes its result of its arguments, and nothing else.

    Parameters
    ----------
    function : callable
        A function of a C extension, for example. SciPy's functions are known without.
    writes : str or int, or collection of these
        Names or positions of the parameters whose arrays it writes into.
    aliases : str or int, or collection of these
        Those in whose memory its result may lie.

    Returns
    -------
    callable
        `function` itself.

    Raises
    ------
    TypeError
        If it is no function.
    ValueError
        If it has no such parameters.

    Notes
    -----
    A call of it is a step of the compiled program. What stands around it is compiled. It is called once more when the
    program is made, with copies of the arrays, to learn what it gives.

    Examples
    --------
    >>> import numpy as np
    >>> import jitrt
    >>> def scaled_in_place(x, factor):  # stands for one of a C extension
    ...     np.multiply(x, factor, out=x)
    >>> scaled_in_place = jitrt.pure(scaled_in_place, writes=["x"])
    >>> @jitrt.jit
    ... def f(x):
    ...     y = x + 1.0
    ...     scaled_in_place(y, 3.0)
    ...     return y - 1.0
    >>> f(np.arange(3.0))
    array([2., 5., 8.])
    """
    if not callable(function):
        raise TypeError(f"a {type(function).__name__} is no function to vouch for")
    writes, aliases = ((given,) if isinstance(given, (str, int)) else tuple(given) for given in (writes, aliases))
    names = [name for name in (*writes, *aliases) if isinstance(name, str)]
    try:
        parameters = inspect.signature(function).parameters if names else {}
    except ValueError:  # nobody knows them
        names, parameters = [], {}
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        for name in names:
            if name not in parameters:
                raise ValueError(f"the function has no parameter {name!r}")
    _vouched[id(function)] = Vouched(function, writes, aliases)
    return function


def is_vouched(value: Any) -> bool:
    """Whether the user vouches for a function.

    Examples
    --------
    >>> is_vouched(len), is_vouched(pure(ascii))
    (False, True)
    """
    return id(value) in _vouched


def is_external(value: Any) -> bool:
    """Whether `value` is a function, not one of NumPy's, of which it is known what it does to its arguments."""
    return is_vouched(value) or is_scipys(value) or is_numbas(value) or operation_of(value) is not None


def _part_of_scipy(module: Any) -> str:
    package, *parts = str(module).split(".")
    return parts[0] if package == "scipy" and parts else ""


def is_scipys(value: Any) -> bool:
    """Whether a function is one of SciPy's that does nothing but compute."""
    if "scipy" not in sys.modules or isinstance(value, types.ModuleType):
        return False
    kind = type(value)
    if kind.__name__ == "fortran":
        return id(value) in _linear_algebra()
    if not _is_function(kind) or getattr(value, "__name__", "_") in _REFUSED:
        return False
    return _part_of_scipy(getattr(value, "__module__", None)) in _SCIPY and not _draws(value)


def _is_function(kind: type) -> bool:
    if kind in (types.FunctionType, types.BuiltinFunctionType):
        return True
    return kind.__name__ == "cython_function_or_method" or (kind.__module__, kind.__name__) == ("uarray", "_Function")


def _linear_algebra() -> Collection[int]:
    """The identities of SciPy's wrappers of BLAS and LAPACK, which do not say whose they are."""
    modules = [sys.modules.get(f"scipy.linalg._{name}") for name in ("fblas", "flapack", "fblas_64", "flapack_64")]
    return _wrappers(tuple(module for module in modules if module is not None))


@functools.cache
def _wrappers(modules: tuple[types.ModuleType, ...]) -> frozenset[int]:
    return frozenset(id(v) for m in modules for v in vars(m).values() if type(v).__name__ == "fortran")


@functools.lru_cache(maxsize=256)
def signature_of(function: Any) -> inspect.Signature | None:
    """The signature of a function; None if it has none that is known."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # it is one of C
        return None


def _draws(function: Any) -> bool:
    """Whether a function may draw random numbers."""
    signature = signature_of(function)
    return signature is not None and not _RANDOM.isdisjoint(signature.parameters)


def _named(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of their parameters, as far as these are known."""
    names: Sequence[str] = ()
    if type(function).__name__ == "fortran":
        names = _of_fortran(function)[0]
    elif (signature := signature_of(function)) is not None:
        try:
            return dict(signature.bind(*args, **kwargs).arguments)
        except TypeError:
            return dict(kwargs)
    return dict(zip(names, args)) | kwargs


@functools.lru_cache(maxsize=256)
def _of_fortran(function: Any) -> tuple[tuple[str, ...], tuple[tuple[str, str, bool], ...]]:
    """The parameters of a wrapper by f2py, as its text describes them, and which of them share memory with results.

    Of the latter the parameter, what decides whether it is written ("" for always), and the default of that.
    """
    text = function.__doc__
    results, _, call = text.partition("\n")[0].rpartition(" = ")
    names = tuple(re.findall(r"\w+", call.partition("(")[2]))
    returned = set(re.findall(r"\w+", results)) | set(re.findall(r"and (\w+) storage", text))
    inout = set(re.findall(r"(\w+) : in/output", text))
    defaults = dict(re.findall(r"(overwrite_\w+) : input int, optional\n\s*Default: (\d)", text))
    shared = [
        (name, flag if (flag := f"overwrite_{name}") in names else "", defaults.get(flag, "0") == "1")
        for name in names
        if name in returned | inout or f"overwrite_{name}" in names
    ]
    return names, tuple(shared)


def written(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call that it writes into, whether they are arrays or not."""
    known = _vouched.get(id(function))
    named = _named(function, args, kwargs)
    if known is not None:
        return [_given(p, args, named) for p in known.writes]
    if type(function).__name__ == "fortran":
        shared = _of_fortran(function)[1]
        return [named[p] for p, flag, default in shared if p in named and (not flag or named.get(flag, default))]
    if is_numbas(function):
        return [value for value in written_by(function, args, kwargs) if value is not None]
    found = [value for name, value in named.items() if name in _OUTPUTS]
    found += [named.get(k[10:]) for k, v in named.items() if k.startswith("overwrite_") and v is not False]
    if named.get("overwrite", False) is not False:  # of `scipy.sparse.csgraph`
        found += [next(iter(named.values()))]
    return [value for value in found if value is not None]


def aliased(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call in whose memory its result may lie by what the user says."""
    known = _vouched.get(id(function))
    return [] if known is None else [_given(p, args, _named(function, args, kwargs)) for p in known.aliases]


def _given(parameter: str | int, args: Sequence[Any], named: dict[str, Any]) -> Any:
    if isinstance(parameter, str):
        return named.get(parameter)
    return args[parameter] if parameter < len(args) else None
