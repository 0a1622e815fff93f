"""Compiles one function of the vector mathematics into a loop over contiguous arrays, called through ctypes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jitrt.kernels import vmath
from llvmlite import ir
from numba.core.compiler_lock import global_compiler_lock

from jitrt.codegen.context import code_generator, has_avx512
from jitrt.codegen.loophints import set_interleaving

_TYPES = {"d": ir.DoubleType(), "f": ir.FloatType()}
_INT = ir.IntType(64)
_libraries: list[Any] = []


def build_module(module: ir.Module, name: str, char: str, symbol: str, fma: bool = True) -> None:
    """Add ``symbol(out*, in*..., n)`` to a module: the function in a loop without aliasing."""
    arity = vmath.FUNCTIONS[name].arity
    element = _TYPES[char]
    pointer = element.as_pointer()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer] * (arity + 1) + [_INT]), symbol)
    set.add(function.attributes, '"prefer-vector-width"="512"')
    for argument in function.args[:-1]:
        argument.add_attribute("noalias")
    entry, loop, done = (function.append_basic_block(label) for label in ("entry", "loop", "done"))
    builder = ir.IRBuilder(entry)
    n = function.args[-1]
    builder.cbranch(builder.icmp_signed(">", n, ir.Constant(_INT, 0)), loop, done)
    builder.position_at_end(loop)
    i = builder.phi(_INT)
    values = [builder.load(builder.gep(p, [i], inbounds=True)) for p in function.args[1:-1]]
    emit = vmath.emitter(name, char * arity, fma, fma and has_avx512())
    assert emit is not None
    builder.store(emit(builder, values), builder.gep(function.args[0], [i], inbounds=True))
    following = builder.add(i, ir.Constant(_INT, 1), flags=["nsw"])
    i.add_incoming(ir.Constant(_INT, 0), entry)
    i.add_incoming(following, builder.block)
    set_interleaving(builder.cbranch(builder.icmp_signed("<", following, n), loop, done), module, 1)
    builder.position_at_end(done)
    builder.ret_void()


@global_compiler_lock
def compile_loop(name: str, char: str, fma: bool = True) -> tuple[Callable[..., None], Any]:
    """``run(out, *arrays)`` over contiguous arrays, and numba's code library with its assembly."""
    library = code_generator().create_library(f"vmath_{name}_{char}")
    symbol = f"vmath_{name}_{char}_{int(fma)}_{len(_libraries)}"
    module = library.create_ir_module(symbol)
    build_module(module, name, char, symbol, fma)
    library.add_ir_module(module)
    library.finalize()
    _libraries.append(library)
    arity = vmath.FUNCTIONS[name].arity
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arity + 1), ctypes.c_int64)
    call = prototype(library.get_pointer_to_function(symbol))

    def run(out: np.ndarray, *arrays: np.ndarray) -> None:
        call(out.ctypes.data, *(array.ctypes.data for array in arrays), out.size)

    def bind(out: np.ndarray, *arrays: np.ndarray) -> Callable[[], None]:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (out, *arrays)]
        return functools.partial(call, *pointers, ctypes.c_int64(out.size))

    run.bind = bind  # type: ignore[attr-defined]
    return run, library
