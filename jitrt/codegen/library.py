"""numba's code library with passes of its own: each module goes through LLVM's standard pipeline once.

numba itself runs two shorter pipelines before, which inline calls of its runtime's reference counting. Kernels have
none, and come out of the standard pipeline the same without them, in five sixths of the time. It is that of level 2:
level 3 only unswitches more, which writes loops over loops twice, with and without turns of the inner one.

One pass more stands behind it: the vector variants of functions are inlined. LLVM's loop vectoriser replaces calls of
scalar functions by calls of their vector variants, those of `jitrt.kernels.vmath_variants`. No pass of the standard
pipeline inlines after it, and a call of some twenty instructions would cost as much again: it saves and loads all
registers around it. And comparisons become quiet ones, see `quiet`.

LLVM's strength reduction of loops is left out of code generation. It looks for the cheapest set of registers that give
all addresses of a loop, by trying combinations of them, which takes a third of the time of code generation and more
than half where loops stand in loops. An x86 instruction adds base, index and displacement by itself: kernels are as
fast without.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import llvmlite.binding as llvm
import numba  # noqa: F401 (the whole before its parts, see `codegen`)
from numba.core.codegen import JITCodeLibrary

from ..kernels.floatflags import IS_X86
from .quiet import with_quiet_comparisons


class KernelLibrary(JITCodeLibrary):
    """A code library whose functions marked ``alwaysinline`` vanish into the loops that call them."""

    def _optimize_functions(self, module: llvm.ModuleRef) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        builder = self._codegen._pass_builder(opt=2)
        builder.getModulePassManager().run(self._final_module, builder)
        groups = (group for function in self._final_module.functions for group in function.attributes)
        if any(b"alwaysinline" in group for group in groups):
            passes = llvm.create_new_module_pass_manager()
            passes.add_always_inliner_pass()
            passes.run(self._final_module, builder)
        if IS_X86 and (text := with_quiet_comparisons(str(self._final_module))) is not None:
            name = self._final_module.name
            self._final_module = llvm.parse_assembly(text)
            self._final_module.name = name

    def _finalize_specific(self) -> None:
        with _without_strength_reduction():
            super()._finalize_specific()


@contextlib.contextmanager
def _without_strength_reduction() -> Iterator[None]:
    """A context for code generation, with numba's lock held: the option is one of the process."""
    # LLVM ends a process that gives it an unknown option, and before 16 one that gives an option twice.
    known = 20 <= llvm.llvm_version_info[0] <= 22
    if known:
        llvm.set_option("jitrt", "-disable-lsr=true")
    try:
        yield
    finally:
        if known:
            llvm.set_option("jitrt", "-disable-lsr=false")
