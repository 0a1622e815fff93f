"""Scalar functions that numba has compiled, as parts of kernels: their code is linked with the kernel's and inlined.

numba compiles a function for types of its arguments, into a function of LLVM that gives a status and, through a
pointer, the result. The module that has it can be linked with others, as numba does for functions that call it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numba  # noqa: F401 (the whole before its parts)
import numpy as np
from llvmlite import ir
from numba.core.codegen import CPUCodeLibrary
from numba.core.errors import NumbaError, NumbaNotImplementedError
from numba.core.registry import cpu_target
from numba.core.typeconv.rules import default_type_manager
from numba.np.numpy_support import as_dtype, from_dtype

_libraries: dict[str, CPUCodeLibrary] = {}  # by the names of the functions that code has called
_FIRST_INSTRUCTIONS = 4000  # of a function that is inlined


class Compiled:
    """A function for certain types.

    Attributes
    ----------
    operands : tuple of numpy.dtype
    dtype : numpy.dtype
        Of the result.
    raises : bool
        Whether it may end with an exception.
    """

    def __init__(self, result: Any):
        self._result = result
        self.operands = tuple(as_dtype(t) for t in result.signature.args)
        self.dtype = as_dtype(result.signature.return_type)
        self.raises = _raises(result)

    def value(self, builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
        """The result; anything where the function raises."""
        return self._call(builder, args)[1]

    def fails(self, builder: ir.IRBuilder, args: Sequence[ir.Value]) -> ir.Value:
        """Whether the function raises."""
        return self._call(builder, args)[0]

    def _call(self, builder: ir.IRBuilder, args: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        result, context = self._result, cpu_target.target_context
        name = result.fndesc.llvm_func_name
        _libraries[name] = result.library
        status, value = context.call_internal_no_propagate(builder, result.fndesc, result.signature, args)
        for instruction in builder.block.instructions:
            # Assembly, which keeps constants from being folded, has no name.
            if isinstance(instruction, ir.CallInstr) and getattr(instruction.callee, "name", "") == name:
                instruction.attributes.add("alwaysinline")
        return status.is_error, value


def _raises(result: Any) -> bool:
    """Whether the code has another end than the one without an exception."""
    text = str(result.library.get_function(result.fndesc.llvm_func_name))
    return set(re.findall(r"^\s*ret i32 (\S+)", text, re.MULTILINE)) != {"0"}


def _compiled(result: Any) -> Compiled | None:
    """None for a function that is too large, or of other things than numbers."""
    try:
        made = Compiled(result)
    except (NumbaNotImplementedError, KeyError):
        return None
    text = str(result.library.get_function(result.fndesc.llvm_func_name))
    return None if text.count("\n") > _FIRST_INSTRUCTIONS else made


def of_ufunc(function: Any, operands: Sequence[np.dtype]) -> Compiled | None:
    """What computes an element of a function by `numba.vectorize`, in its loop for these dtypes."""
    _, result = function.find_ewise_function(tuple(map(from_dtype, operands)))
    return None if result is None else _compiled(result)


def of_scalars(function: Any, operands: Sequence[np.dtype]) -> Compiled | None:
    """What a call of a function by `numba.njit` runs for numbers of these dtypes; it is compiled, if need be."""
    try:
        result = overload_of(function, tuple(map(from_dtype, operands)))
        return None if result is None else _compiled(result)
    except (NumbaError, NotImplementedError, KeyError):
        return None


def overload_of(function: Any, given: tuple[Any, ...]) -> Any:
    """What numba's dispatcher runs for arguments of the types `given`, compiled if need be; None if it refuses them."""
    known = list(function.overloads)
    if given not in known:
        try:  # it converts rather than to compile anew
            place = default_type_manager.select_overload(given, known, not function._can_compile, False)
            given = known[place]
        except TypeError:
            if not function._can_compile:
                return None
            function.compile(given)
    return function.overloads[given]


def linked(module: ir.Module) -> Iterator[CPUCodeLibrary]:
    """What the functions of numba's are in that a module calls."""
    for function in module.functions:
        if function.is_declaration and function.name in _libraries:
            yield _libraries[function.name]
