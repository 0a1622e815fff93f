"""External calls of staged functions: steps that NumPy, SciPy or Python execute, with the interpreter's lock.

    y = np.linalg.solve(a, b)    →    store what describes a and b into words
                                      status = call host.step(handler, 0, words); stop if status
                                      copy what the words say of the result into y

What kind of result a function gives is learnt by calling it on small examples; where a call gives another kind, or
raises, the procedure stops. Only functions are called that do nothing but compute their result, and those of
generators of random numbers, whose states are taken back.
"""

from __future__ import annotations

import itertools
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...base.arrays import is_writeable
from ...base.frozen import frozen
from ...ir.integers import Poly
from ...ir.loops import POINTER
from ...ir.ops.contractions import public_name
from ...ir.ops.optable import MUTATING
from ...kernels.external import STEP
from ..python.externals import is_scipys, signature_of
from ..python.numbas import is_numbas
from ..python.purevalues import why_impure_of_numpy
from . import arrays as a
from . import creation
from .arrays import ZERO
from .recorder import MOST_EXTENT, Recorder
from .scalars import poly_of, register_of
from .values import BOOL, FLOAT, INT, Array, Composite, NotStaged, Scalar, Source, View, is_static, rebuilt, type_name

# Functions of NumPy that call functions, give views or memory that nobody has written, or talk to the outside.
_REFUSED = MUTATING | frozenset(
    """info show_config test frompyfunc vectorize apply_along_axis apply_over_axes piecewise fromfunction fromiter
    require may_share_memory shares_memory nested_iters broadcast_arrays broadcast_to array2string array_repr array_str
    asarray asanyarray ascontiguousarray asfortranarray atleast_1d atleast_2d atleast_3d empty empty_like
    fromstring""".split()
)
# LAPACK's functions, to which NumPy gives copies of its own.
_OF_ANY_ORDER = frozenset("eig eigh eigvals eigvalsh svd qr inv solve cholesky det slogdet".split())
_LEAST_GAIN = 200  # statements of the procedure for each external call: what its loops save pays for the calls
MOST_WORDS = 64


@frozen
class Slot:
    """A value that is known at run time.

    Parameters
    ----------
    kind : str
        ``number``, ``array`` or ``source``.
    at : int
        Its first word among those of the step.
    dtype : numpy.dtype
    what : tuple or type
        The shape of an array, or the type of a source.
    ndim : int
    is_plain : bool
        Whether a number is Python's, or an array in C order.
    """

    kind: str
    at: int
    dtype: np.dtype = INT
    what: Any = None
    ndim: int = 0
    is_plain: bool = False


@frozen(eq=False)
class Step:
    """A call that Python executes.

    Parameters
    ----------
    function : callable
    args : tuple
    kwargs : dict
        Values, and `Slot` for what is known only at run time.
    result : Slot, None or (type, tuple)
        Of one value; of several, which an object of that type holds.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    @property
    def title(self) -> str:
        """The name by which users call the function."""
        return public_name(self.function, getattr(self.function, "__name__", type(self.function).__name__))


def is_pure(function: Any) -> bool:
    """Whether a function of NumPy's or SciPy's does nothing but compute its result: it is called on examples, too."""
    if isinstance(function, np.ufunc):
        return True
    if isinstance(function, type) or not callable(function):
        return False
    name, package = getattr(function, "__name__", "_"), str(getattr(function, "__module__", None)).partition(".")[0]
    if name[0] == "_" or name in _REFUSED:
        return False
    if package == "numpy":
        return why_impure_of_numpy(function, "") is None
    return package == "scipy" and is_scipys(function)


def _given(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterable[str]:
    """The names of parameters that a call gives a value."""
    signature = signature_of(function)
    try:
        return kwargs if signature is None else signature.bind(*args, **kwargs).arguments
    except TypeError:
        return kwargs


def call(r: Recorder, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a call that Python executes."""
    if is_numbas(function):  # which may read and write beyond the ends of small examples
        raise NotStaged(f"arguments of {_name(function)}")
    if any(n in ("out", "output") or n.startswith("overwrite") for n in _given(function, args, kwargs)):
        raise NotStaged(f"arguments of {_name(function)}")
    before = r.recorded, r.nests, r.saved
    words: list[tuple[str, Any]] = []  # a name, and the type of what is stored
    is_any_order = _name(function) in _OF_ANY_ORDER
    given = tuple(_described(r, v, words, is_any_order) for v in args)
    named = {k: _described(r, v, words, is_any_order) for k, v in kwargs.items()}
    sample = _sampled(function, given, named)
    places = itertools.count(len(words))
    result = _kind_of_result(sample, places)
    count = next(places)
    if count > MOST_WORDS:
        raise NotStaged("too much of an external call")
    memory = a.fresh(r, INT, (Poly.number(MOST_WORDS),)).view
    assert memory is not None
    for k, (name, dtype) in enumerate(words):
        r.store(memory, dtype, (Poly.number(k),), name)
    step = r.step(Step(function, given, named, result))
    number = r.integer(Poly.number(step))
    status = r.external(STEP, ("host", number, r.address(memory)), (INT, INT, POINTER), INT)
    r.stop(r.machine("!=", Poly.name(status), ZERO))
    made = received(r, result, memory)
    r.recorded, r.nests, r.saved = before  # they save nothing
    return made


def grid(r: Recorder, made: Any, index: Any) -> Any:
    """``np.mgrid[index]`` or ``np.ogrid[index]``."""
    slices = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(s, slice) for s in slices):
        raise NotStaged("a grid that is no product of ranges")
    if isinstance(index, tuple) and (numbers := creation.grid(r, slices, made is np.ogrid)) is not None:
        return numbers
    ranges = tuple((s.start, s.stop, s.step) for s in slices)
    return call(r, _grid_of, (made is np.ogrid, isinstance(index, tuple), ranges), {})


def _grid_of(is_open: bool, has_axes: bool, ranges: tuple[tuple[Any, Any, Any], ...]) -> Any:
    """A grid from numbers, which a step can be given."""
    slices = tuple(slice(*bounds) for bounds in ranges)
    made = np.ogrid if is_open else np.mgrid
    return made[slices] if has_axes else made[slices[0]]


def is_worth_it(r: Recorder) -> bool:
    """Whether what loops save pays for the external calls in them."""
    return r.saved >= _LEAST_GAIN * r.called


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _described(r: Recorder, value: Any, words: list[tuple[str, Any]], is_any_order: bool) -> Any:
    """The value, or the slot that it is handed over in."""
    at = len(words)
    if isinstance(value, Array):
        if not (value.c_order or is_any_order):
            raise NotStaged("an array whose memory order is not known")
        value = a.materialise(r, value)
        view = value.memory
        words.append((r.address(view), INT))
        words.extend((r.integer(extent), INT) for extent in (*value.shape, *view.strides))
        return Slot("array", at, value.dtype, value.shape, value.ndim)
    if isinstance(value, Source):
        words.append((value.word, INT))
        return Slot("source", at, INT, value.kind)
    if isinstance(value, Scalar):
        if value.python is None or value.settled or value.dtype.kind not in "biuf":
            raise NotStaged("a number whose kind is not known")
        if value.dtype.kind == "f":
            words.append((register_of(r, value, FLOAT), FLOAT))
        else:
            words.append((r.integer(poly_of(r, value)), INT))
        return Slot("number", at, value.dtype, None, 0, bool(value.python))
    if isinstance(value, (tuple, list)):
        kind = tuple if isinstance(value, tuple) else list  # not a list of the front end's own
        return kind(_described(r, v, words, is_any_order) for v in value)
    plain = (str, bool, int, float, complex, type(None), np.generic, np.dtype, type, slice, types.EllipsisType)
    if is_static(value) and isinstance(value, plain):
        return value
    raise NotStaged(f"an external call with an argument of type {type_name(value)}")


# -- what kind of result a function gives


def _sampled(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result for an example of such arguments."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for style in range(4):
            given, named = [_sample(v, style) for v in args], {k: _sample(v, style) for k, v in kwargs.items()}
            try:
                made = function(*given, **named)
            except Exception:
                continue
            arrays = [v for v in (*given, *named.values()) if isinstance(v, np.ndarray)]
            if any(np.may_share_memory(made, v) for v in arrays if isinstance(made, np.ndarray)):
                raise NotStaged(f"a view that {_name(function)} gives")
            return made
    raise NotStaged(f"a call of {_name(function)}, which fails for examples")


def _sample(value: Any, style: int) -> Any:
    if isinstance(value, Slot) and value.kind == "source":
        return np.random.default_rng(0) if value.what is np.random.Generator else value.what(0)
    if isinstance(value, Slot) and value.kind == "array":
        return _sample_array(value.dtype, [3 if e.constant is None else e.constant for e in value.what], style)
    if isinstance(value, Slot):
        number = value.dtype.type(0.5 if value.dtype.kind == "f" and style % 2 == 0 else style % 3 + 1)
        return number.item() if value.is_plain else number
    if isinstance(value, (tuple, list)):
        return rebuilt(value, (_sample(v, style) for v in value))
    return value


def _sample_array(dtype: np.dtype, shape: list[int], style: int) -> np.ndarray:
    if len(shape) < 2:
        made = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
        return (
            made.astype(dtype) if style % 2 or dtype.kind not in "fc" else np.full(shape, 1 / max(made.size, 1), dtype)
        )
    return np.broadcast_to(2 * np.eye(shape[-2], shape[-1]) + (0 if style % 2 else 0.25), shape).astype(dtype)


def _kind_of_result(value: Any, places: Iterator[int]) -> Any:
    if value is None:
        return None
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return Slot("source", next(places), INT, type(value))
    if type(value) is np.ndarray and not (value.dtype.isnative and is_writeable(value)):
        raise NotStaged("an external call with a result that is byte-swapped or read-only")
    if type(value) is np.ndarray and value.dtype.char in "?bhilqBHIfdFD" and value.ndim:
        at = next(places)
        for _ in value.shape:
            next(places)
        return Slot("array", at, value.dtype, None, value.ndim, value.flags.c_contiguous)
    if type(value) in (bool, int, float) or (isinstance(value, np.generic) and value.dtype.char in "?bhilqBHIfd"):
        dtype = value.dtype if isinstance(value, np.generic) else np.dtype(type(value))
        return Slot("number", next(places), dtype, None, 0, not isinstance(value, np.generic))
    if isinstance(value, tuple):
        return type(value), tuple(_kind_of_result(v, places) for v in value)
    raise NotStaged(f"an external call with a result of type {type_name(value)}")


def received(r: Recorder, kind: Any, memory: View) -> Any:
    """What the words say that a step has given."""
    if kind is None:
        return None
    if isinstance(kind, tuple):
        parts = [received(r, k, memory) for k in kind[1]]
        return tuple(parts) if kind[0] is tuple else Composite(kind[0], dict(zip(kind[0]._fields, parts)))

    def word(k: int, dtype: np.dtype = INT) -> str:
        return r.load(memory, dtype, (Poly.number(kind.at + k),))

    if kind.kind == "source":
        return Source(kind.what, word(0), r.depth)
    if kind.kind == "number":
        if kind.dtype.kind == "f":
            return Scalar(kind.dtype, kind.is_plain, r.cast(word(0, FLOAT), FLOAT, kind.dtype))
        name = word(0)
        if kind.dtype == BOOL:
            return Scalar(BOOL, kind.is_plain, r.machine("!=", Poly.name(name), ZERO))
        return Scalar(kind.dtype, kind.is_plain, "", r.of_dtype(name, kind.dtype))
    base, *extents = (word(k) for k in range(1 + kind.ndim))
    shape = tuple(r.bounded(name, 0, MOST_EXTENT) for name in extents)
    view = View(base, ZERO, a.contiguous_strides(shape, kind.dtype), frozenset({"external"}))
    made = a.materialise(r, a.in_memory(r, view, kind.dtype, shape), always=True)
    return Array(made.dtype, made.shape, made.element, made.reads, made.view, kind.is_plain)
