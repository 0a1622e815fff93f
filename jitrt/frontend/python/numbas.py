"""Functions that numba compiles: what they may do beside giving a result, and the operations that kernels inline.

What numba has compiled for numbers is linked with the kernel or the procedure that calls it. A function on whole
arrays, or one that numba has compiled for something else, is a step of the program.
"""

from __future__ import annotations

import builtins
import dis
import functools
import itertools
import sys
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.frozen import frozen
from ...ir.ops.optable import MUTATING, MUTATING_METHODS, OPS, Emitter, Kind, Op
from ...ir.ops.ufuncs import OTHER_UFUNCS
from ...values.functions import cells_of, contents

if TYPE_CHECKING:
    from ...kernels.numbafunctions import Compiled

_PLAIN_BUILTINS = (abs, bool, complex, divmod, enumerate, float, int, len, max, min, pow, range, round, sum, zip)


def is_numbas(value: Any) -> bool:
    """Whether a function is compiled by numba, and all that it does is to compute."""
    function = source_of(value)
    return function is not None and not has_effects(function)


def written_by(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call of a function of numba's that it may write into; of a ufunc those for its results."""
    builder = getattr(function, "gufunc_builder", None)
    if is_vectorized(function) or (builder is not None and not builder.writable_args):
        return [*args[function.nin :], *kwargs.values()]
    source = source_of(function)
    if source is None or kwargs or any(isinstance(v, (tuple, list)) for v in args):
        return [*args, *kwargs.values()]
    places = parameters_written(source)
    return [v for k, v in enumerate(args) if k in places or k >= source.__code__.co_argcount]


def parameters_written(function: types.FunctionType) -> frozenset[int]:
    """Positions of the parameters whose arrays a function that numba compiles may write into."""
    from ...kernels.numbawrites import written_parameters

    return written_parameters(function, source_of, MUTATING, MUTATING_METHODS)


def may_return_arguments(function: types.FunctionType) -> bool:
    """Whether what a function that numba compiles returns may lie in the memory of its arguments."""
    from ...kernels.numbawrites import may_return_parameters

    return may_return_parameters(function, source_of)


def source_of(value: Any) -> types.FunctionType | None:
    """The Python function of one that numba compiles; None for other values."""
    if "numba" not in sys.modules or not str(type(value).__module__).startswith("numba."):
        return None
    try:
        function = getattr(getattr(value, "_dispatcher", value), "py_func", None)
    except KeyError:  # numba's own nodes, as stencils are, look for any attribute among what they have
        return None
    return function if type(function) is types.FunctionType else None


@functools.lru_cache(maxsize=256)
def has_effects(function: types.FunctionType, inside: tuple[Any, ...] = ()) -> bool:
    """Whether a function that numba compiles may do more than to give a result and to write into its arguments."""
    for instruction in dis.get_instructions(function):
        name, value = instruction.opname, instruction.argval
        if name in ("LOAD_ATTR", "LOAD_METHOD") and value in ("random", "ctypes", "objmode"):
            return True
        is_outside = name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
        if is_outside and _may_have_effects(_outside(function, value), (*inside, function)):
            return True
    return False


def _may_have_effects(value: Any, inside: tuple[Any, ...]) -> bool:
    """Whether code that numba compiles may do something beside with a value from outside."""
    if isinstance(value, (bool, int, float, complex, np.ndarray, tuple, np.ufunc, np.generic, np.dtype)):
        return False
    if any(value is known for known in _PLAIN_BUILTINS) or (
        isinstance(value, type) and issubclass(value, (np.generic, Exception))
    ):
        return False
    if isinstance(value, types.ModuleType):
        return value.__name__ not in ("numpy", "math", "cmath", "numba")
    function = source_of(value)
    if function is not None:
        return function not in inside and has_effects(function, inside)
    return getattr(value, "__module__", None) not in ("numpy", "math", "cmath")


def _outside(function: types.FunctionType, name: str) -> Any:
    """What a function finds under a name that is not its own."""
    cells = cells_of(function)
    if name in cells:
        return contents(cells[name])
    return function.__globals__.get(name, getattr(builtins, name, None))


# -- as operations


@frozen(eq=False)
class Inlined:
    """The rows of a function that is called for numbers.

    Parameters
    ----------
    value : Op
        Its result.
    fails : Op
        Whether it raises.
    compiled : callable
        From the dtypes of operands to what numba has compiled; None where that is no function of numbers.
    """

    value: Op
    fails: Op
    compiled: Callable[[tuple[np.dtype, ...]], Compiled | None]


_numbers = itertools.count()


def is_vectorized(function: Any) -> bool:
    """Whether a function of numba's is one by `numba.vectorize`: a ufunc that compiles loops as they are asked for."""
    return type(function).__name__ == "DUFunc"


def may_be_native(function: Any) -> bool:
    """Whether native code may call a function of numba's by its address."""
    return hasattr(function, "overloads") or hasattr(function, "gufunc_builder")


def is_of_numbers(function: Any, count: int) -> bool:
    """Whether a function of numba's may be called for `count` numbers, and is not a ufunc."""
    code = function.py_func.__code__ if hasattr(function, "overloads") else None
    return code is not None and code.co_argcount == count and not code.co_flags & (_VARARGS | _KEYWORDS)


_VARARGS, _KEYWORDS = 4, 8  # flags of code


@functools.lru_cache(maxsize=256)
def inlined(function: Any) -> Inlined:
    """The rows of a function of numba's."""
    from ...kernels import numbafunctions

    ufunc = function.ufunc if is_vectorized(function) else None
    find = numbafunctions.of_scalars if ufunc is None else numbafunctions.of_ufunc

    def compiled(operands: tuple[np.dtype, ...]) -> Compiled | None:
        return find(function, operands)

    def emits(part: str) -> Callable[[tuple[np.dtype, ...], np.dtype], Emitter | None]:
        def emit(operands: tuple[np.dtype, ...], result: np.dtype) -> Emitter | None:
            made = compiled(operands)
            return None if made is None or made.operands != operands else getattr(made, part)

        return emit

    name = f"{function.__name__}.{next(_numbers)}"
    flags = frozenset[str]() if ufunc is None else frozenset({"divide", "over", "under", "invalid"})
    value = Op(
        name,
        Kind.ELEMENTWISE,
        numpy=function if ufunc is not None else lambda *args: function(*(np.asarray(a)[()] for a in args)),
        ufunc=ufunc,
        library="numba",
        cost=16,
        numpy_cost=100,
        flags=flags,
        jumps=True,
        emit=emits("value"),
    )
    fails = Op(
        f"{name}.fails",
        Kind.ELEMENTWISE,
        numpy=functools.partial(_fails, function),
        library="numba",
        cost=16,
        jumps=True,
        emit=emits("fails"),
    )
    OPS.update({op.name: op for op in (value, fails)})
    if ufunc is not None:
        OTHER_UFUNCS[ufunc] = value
    return Inlined(value, fails, compiled)


def _fails(function: Callable[..., Any], *args: Any) -> np.ndarray:
    """Where a function raises."""
    arrays = np.broadcast_arrays(*args)
    made = np.zeros(arrays[0].shape, bool)
    try:
        if is_vectorized(function):
            function(*arrays)
            return made
    except Exception:
        pass
    for place in np.ndindex(made.shape):
        try:
            function(*(a[place] for a in arrays))
        except Exception:
            made[place] = True
    return made


def know_loop(function: Any, samples: Sequence[Any]) -> bool:
    """Let a function by `numba.vectorize` have the loop that arguments like `samples` ask for; False if it has none.

    Samples are numbers of Python's and arrays, which are taken as empty ones, so that nothing is computed. Where there
    are numbers alone, they count as arrays: a ufunc gives such numbers their own dtypes.
    """
    if all(type(v) in (bool, int, float, complex) for v in samples):
        samples = [np.asarray(v) for v in samples]
    try:
        function(*[np.empty(0, v.dtype) if hasattr(v, "dtype") else v for v in samples])
    except Exception:  # which the call itself raises
        return False
    return True
