"""Object code: made of small modules, and linked into the process, without numba.

A process that finds everything in the disk cache never imports numba: linking does not depend on the features of the
processor. Where code is made, what numba's code generator tells LLVM about the machine is told in the same words.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm

from ..base import forks
from ..base.once import once
from ..kernels import external, numpy_loops
from . import perfmap

if TYPE_CHECKING:
    from llvmlite import ir


_llvm_lock: Any = getattr(llvm.ffi.lib, "_lock", None)
if hasattr(_llvm_lock, "__enter__"):
    forks.hold("llvm", _llvm_lock)


@once
def machine() -> tuple[str, str, str]:
    """The triple, the processor and its features that code is made for; as numba's options say."""
    import numba  # noqa: F401 (the whole before its parts, see `codegen`)
    from numba.core import config
    from numba.core.codegen import get_host_cpu_features

    name, features = (getattr(config, option) for option in ("CPU_NAME", "CPU_FEATURES"))
    name = name or llvm.get_host_cpu_name()
    features = get_host_cpu_features() if features is None else features
    return llvm.get_process_triple(), name, features


def has_feature(name: str) -> bool:
    """Whether code may use an extension of the processor's instructions, under LLVM's name for it."""
    return f"+{name}" in machine()[2].split(",")


def _target_machine(name: str = "", features: str = "") -> llvm.TargetMachine:
    """What makes code for a processor of that name; a bare one links code for any."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # of `floatflags`
    reloc = "static" if platform.machine().lower() in ("x86_64", "amd64", "i386", "i686") else "default"
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=name, features=features, opt=0, reloc=reloc, codemodel="jitdefault", jit=True
    )


@once
def _engine() -> llvm.ExecutionEngine:
    module = llvm.parse_assembly("")
    module.triple = llvm.get_process_triple()
    return llvm.create_mcjit_compiler(module, _target_machine())


def assemble(module: ir.Module) -> bytes:
    """Object code of a module, made quickly: it is translated as it is, but for variables in registers.

    It takes a tenth of the time of optimised code.
    """
    triple, name, features = machine()
    module.triple = triple
    target = _target_machine(name, features)
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(parsed, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=0)))
    return target.emit_object(parsed)


def link(code: bytes) -> None:
    """Load object code; `address` then knows its symbols."""
    _engine().add_object_file(llvm.ObjectFileRef.from_data(code))
    _engine().finalize_object()
    perfmap.note(code, address)


def address(symbol: str) -> int:
    """The address of a symbol of linked code; 0 if there is none."""
    return _engine().get_function_address(symbol)


def is_resolvable(symbols: Iterable[str]) -> bool:
    """Whether the process defines all of `symbols`. LLVM ends a process in which it misses one."""
    _engine()  # with it LLVM begins to look for symbols in the libraries of the process
    symbols = list(symbols)
    for library in (numpy_loops, external):
        library.bind(symbols)
    return all(llvm.address_of_symbol(symbol) for symbol in symbols)


def undefined(module: ir.Module) -> list[str]:
    """What a module refers to and does not contain, functions of LLVM itself excepted."""
    from llvmlite import ir

    functions = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    variables = [v.name for v in module.global_values if isinstance(v, ir.GlobalVariable) and v.linkage == "external"]
    return sorted(functions + variables)
