"""Compiling loop nests: all new kernels of a program in one module, known ones found by their text."""

from __future__ import annotations

import hashlib
import itertools
import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from llvmlite import ir
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler_lock import global_compiler_lock

from ..schedule.loopnest import LoopNest
from .context import context
from .emit import emit_kernel

_log = logging.getLogger("jitrt.codegen")
_module_numbers = itertools.count()


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A compiled loop nest.

    Parameters
    ----------
    name : str
        Its symbol, derived from its text.
    address : int
        Of the machine code.
    nest : LoopNest
    library : numba code library
        Holds the code; it lives as long as some kernel of it.
    """

    name: str
    address: int
    nest: LoopNest
    library: CPUCodeLibrary

    @property
    def llvm(self) -> str:
        """Optimised LLVM IR of the module in which the kernel was compiled."""
        return self.library.get_llvm_str()

    @property
    def assembly(self) -> str:
        return self.library.get_asm_str()


_kernels: dict[str, Kernel] = {}
_lock = threading.RLock()


def structural_key(nest: LoopNest) -> str:
    """The text that identifies a kernel: two nests with one text are one kernel."""
    return str(nest)


def compile_nests(nests: Iterable[LoopNest]) -> list[Kernel]:
    """The kernels of `nests`; those not yet known are compiled together, as one module."""
    nests = list(nests)
    keys = [structural_key(nest) for nest in nests]
    with _lock:
        new = {key: nest for key, nest in zip(keys, nests) if key not in _kernels}
        if new:
            _compile(new)
        return [_kernels[key] for key in keys]


def _compile(new: dict[str, LoopNest]) -> None:
    start = time.perf_counter()
    names = {key: "jitrt_" + hashlib.sha256(key.encode()).hexdigest()[:24] for key in new}
    with global_compiler_lock:
        library = context().codegen().create_library(f"jitrt.{next(_module_numbers)}")
        module = library.create_ir_module(library.name)
        for key, nest in new.items():
            function = emit_kernel(module, nest, names[key])
            _prefer_wide_vectors(function)
        library.add_ir_module(module)
        library.finalize()
        for key, nest in new.items():
            _kernels[key] = Kernel(names[key], library.get_pointer_to_function(names[key]), nest, library)
    _log.info("compiled %d kernels in %.1f ms", len(new), 1e3 * (time.perf_counter() - start))


def _prefer_wide_vectors(function: ir.Function) -> None:
    """Let LLVM use 512-bit registers where the machine has them; its default for some CPUs is 256."""
    # llvmlite's own `add` accepts a fixed list of attributes; this one is of the kind "key"="value".
    set.add(function.attributes, '"prefer-vector-width"="512"')
