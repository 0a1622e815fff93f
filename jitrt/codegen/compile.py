"""Compiling modules: all new kernels of a program in one."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Mapping

import numba  # noqa: F401 (the whole before its parts, see `codegen`)
from llvmlite import ir
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler_lock import global_compiler_lock

from ..base import forks
from ..kernels.numbafunctions import linked
from ..schedule.loopnest import Compute, LoopNest
from . import cache, linker, perfmap
from .context import code_generator, context
from .emit import Kernel
from .loophints import prefer_wide_vectors

_log = logging.getLogger("jitrt.codegen")
_module_numbers = itertools.count()
forks.hold("numba", global_compiler_lock)


def get_compiler_ready() -> None:
    """Make what all kernels are compiled with; the import of this module has brought the parts of numba."""
    context()


def compile_nests(module: str, nests: Mapping[str, tuple[str, LoopNest]]) -> dict[str, int]:
    """Addresses of the kernels of a module by their symbols, which are given with the texts of their loops."""

    def emit(target: ir.Module) -> None:
        for name, (_, nest) in nests.items():
            prefer_wide_vectors(Kernel(target, nest, name).emit())

    statements = (s for _, nest in nests.values() for s in nest.statements())
    keep = all(s.op.emit is None for s in statements if isinstance(s, Compute))
    return compile_module(module, emit, {text: [name] for name, (text, _) in nests.items()}, keep)


def compile_module(
    name: str, emit: Callable[[ir.Module], None], entries: dict[str, list[str]], keep: bool = True
) -> dict[str, int]:
    """Compile what `emit` adds to a module, and keep it in the disk cache.

    Parameters
    ----------
    name : str
        Of the module, as in `cache.store`.
    emit : callable
        Adds functions to a module.
    entries : dict of str to list of str
        For each text that the module is made from the symbols that it gives.
    keep : bool
        Whether the text means the same in another process.

    Returns
    -------
    dict of str to int
        Addresses of the symbols.
    """
    start = time.perf_counter()
    with global_compiler_lock:
        library = code_generator().create_library(f"jitrt.{name}.{next(_module_numbers)}")
        library.enable_object_caching()
        module = library.create_ir_module(library.name)
        emit(module)
        for other in linked(module):
            library.add_linking_library(other)
        library.add_ir_module(module)
        library.finalize()
        symbols = [symbol for group in entries.values() for symbol in group]
        addresses = {symbol: library.get_pointer_to_function(symbol) for symbol in symbols}
        _libraries.append(library)
        perfmap.note(library._get_compiled_object(), lambda symbol: library.get_pointer_to_function(symbol) or 0)
        if keep:
            cache.store(name, library._get_compiled_object(), entries.items(), linker.undefined(module))
    _log.debug("compiled %s in %.1f ms", cache.listed(symbols), 1e3 * (time.perf_counter() - start))
    return addresses


def assemble_module(name: str, emit: Callable[[ir.Module], None], entries: dict[str, list[str]]) -> dict[str, int]:
    """As `compile_module`, for code that is not worth being optimised."""
    start = time.perf_counter()
    symbols = [symbol for group in entries.values() for symbol in group]
    with global_compiler_lock:
        module = ir.Module(name)
        emit(module)
        code = linker.assemble(module)
        linker.link(code)
        addresses = {symbol: linker.address(symbol) for symbol in symbols}
        cache.store(name, code, entries.items(), linker.undefined(module))
    _log.debug("assembled %s in %.1f ms", cache.listed(symbols), 1e3 * (time.perf_counter() - start))
    return addresses


_libraries: list[CPUCodeLibrary] = []  # code is freed with its library, and kernels are kept


def inspected(symbol: str, nest: LoopNest) -> CPUCodeLibrary:
    """An optimised module with one kernel, which nothing runs."""
    with global_compiler_lock:
        library = code_generator().create_library(f"inspected.{next(_module_numbers)}")
        module = library.create_ir_module(library.name)
        prefer_wide_vectors(Kernel(module, nest, f"{symbol}.{library.name}").emit())
        for other in linked(module):
            library.add_linking_library(other)
        library.add_ir_module(module)
        library.finalize()
        return library
