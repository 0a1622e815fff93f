"""numba's target context, with as much of it as kernels need.

The ordinary context loads the implementations of all of Python's and NumPy's functions on first use, which takes 0.3 s.
Kernels need arithmetic only, so they have a context of their own that registers just that, in 0.02 s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba  # noqa: F401 (the whole before its parts, see `codegen`)
from llvmlite import ir
from numba.core import callconv
from numba.core.codegen import CPUCodegen
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target

from ..base.once import once
from . import linker
from .library import KernelLibrary

POINTER = ir.IntType(8).as_pointer()
I64 = ir.IntType(64)
Bounds = tuple[ir.Value, ir.Value]  # of a loop


class _KernelContext(CPUContext):
    """A CPU context that knows numbers, `math` and `cmath`."""

    def init(self) -> None:
        super().init()
        self._internal_codegen._library_class = KernelLibrary

    def load_additional_registries(self) -> None:
        from numba.core.imputils import builtin_registry
        from numba.cpython import builtins, mathimpl, numbers  # noqa: F401  (they fill the registry)
        from numba.np import npyfuncs  # noqa: F401

        self.install_registry(mathimpl.registry)
        self.install_registry(builtin_registry)

    def refresh(self) -> None:
        """Nothing: what there is was registered by `context`."""

    def compile_subroutine(self, *args: object, **kwargs: object) -> None:
        raise NotImplementedError("kernels are straight code: no call of a compiled Python function")


@once
def _base() -> _KernelContext:
    return _KernelContext(cpu_target.typing_context, "cpu")


def code_generator() -> CPUCodegen:
    """numba's code generator for this processor, which also links object code from the disk cache."""
    return _base().codegen()


@once
def context() -> CPUContext:
    """The context in which kernels are emitted; integer division by zero gives what NumPy gives."""
    _base().load_additional_registries()
    return _base().subtarget(error_model=callconv.create_error_model("numpy", _base()))


@once
def has_fma() -> bool:
    """Whether the machine multiplies and adds with one rounding."""
    return linker.has_feature("fma")


@once
def has_avx512() -> bool:
    """Whether the machine has the AVX-512 instructions that vector mathematics knows."""
    return all(map(linker.has_feature, ("fma", "avx512f", "avx512dq")))


def call_intrinsic(builder: ir.IRBuilder, name: str, args: Sequence[ir.Value], flags: tuple[str, ...] = ()) -> ir.Value:
    """``llvm.<name>`` of values of one type."""
    kind = args[0].type
    signature = ir.FunctionType(kind, [kind] * len(args))
    function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], signature)
    return builder.call(function, args, fastmath=flags)


def smaller(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    """The smaller of two indices."""
    return builder.select(builder.icmp_signed("<", x, y), x, y)


def internal(module: ir.Module, kind: ir.FunctionType, name: str) -> ir.Function:
    """A function of the module's own that is called and not inlined."""
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    function.attributes.add("noinline")
    return function
