"""numba's code library, with one more pass behind its own: the vector variants of functions are inlined.

LLVM's loop vectoriser replaces calls of scalar functions by calls of their vector variants, those of
`jitrt.kernels.vmath_variants`. No pass of the standard pipeline inlines after it, and a call of some twenty
instructions would cost as much again: it saves and loads all registers around it.
"""

from __future__ import annotations

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary


class KernelLibrary(JITCodeLibrary):
    """A code library whose functions marked ``alwaysinline`` vanish into the loops that call them."""

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        # Versions of numba with LLVM's former pass managers leave the calls as they are.
        if not hasattr(self._codegen, "_pass_builder"):
            return
        groups = (group for function in self._final_module.functions for group in function.attributes)
        if not any(b"alwaysinline" in group for group in groups):
            return
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(self._final_module, self._codegen._pass_builder())
