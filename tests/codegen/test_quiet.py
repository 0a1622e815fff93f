"""Code that LLVM makes of halves converts what lies beside them in a register, too: it must be nothing that matters."""

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest
from jitrt.kernels.floatflags import IS_X86

from jitrt.codegen import linker, quiet

pytestmark = pytest.mark.skipif(not IS_X86, reason="flags of x86")

STATEMENTS = {
    "sum": "%r = fadd half %x, %y",
    "difference": "%r = fsub half %x, 0xH3C00",
    "product": "%r = fmul half %x, %y",
    "quotient": "%r = fdiv half 0xH3C00, %y",
    "floor": "%r = call half @llvm.floor.f16(half %x)",
    "rint": "%r = tail call half @llvm.rint.f16(half %x)",
    "square root": "%w = fpext half %x to float\n  %s = call float @llvm.sqrt.f32(float %w)\n"
    "  %r = fptrunc float %s to half",
    "less": "%c = fcmp olt half %x, %y\n  %r = select i1 %c, half %x, half %y",
    "equal": "%c = fcmp oeq half %x, %y\n  %r = select i1 %c, half %x, half %y",
    "nan": "%c = fcmp uno half %x, 0xH0000\n  %r = select i1 %c, half %x, half %y",
}
TEXT = """
declare half @llvm.floor.f16(half)
declare half @llvm.rint.f16(half)
declare float @llvm.sqrt.f32(float)
declare float @llvm.floor.f32(float)
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse.stmxcsr(ptr)

define void @f(ptr %at) noinline {{
  %px = getelementptr half, ptr %at, i64 0
  %py = getelementptr half, ptr %at, i64 1
  %x = load half, ptr %px
  %y = load half, ptr %py
  {}
  store half %r, ptr %at
  ret void
}}

define i32 @run(ptr %at, ptr %beside) {{
  %word = alloca i32
  store i32 8064, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  {}
  call void @f(ptr %at)
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %flags = load i32, ptr %word
  ret i32 %flags
}}
"""
REGISTERS = [f"xmm{n}" for n in range(16)]
FILL = 'call void asm sideeffect "{}", "r,{}"(ptr %beside)'.format(
    "; ".join(f"movdqu ($0), %{register}" for register in REGISTERS), ",".join(f"~{{{r}}}" for r in REGISTERS)
)


@pytest.mark.parametrize("beside", [0x7C01, 0x7BFF], ids=["signalling nan", "largest"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_what_lies_beside_a_half_raises_nothing(name, beside):
    plain = TEXT.format(STATEMENTS[name], FILL)
    text = quiet.with_quiet_comparisons(plain) or plain
    triple, processor, features = linker.machine()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    module = llvm.parse_assembly(text)
    target = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, features=features, opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(module, target)
    run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("run"))
    operands, others = np.array([0.5, 0.25], np.float16), np.full(8, beside, np.uint16)
    others[2::2] = 0x7C01  # as floats, they are too large for halves
    raised = run(operands.ctypes.data, others.ctypes.data)
    assert raised & 0x0D == 0  # invalid, division by zero, overflow
    want = {"sum": 0.75, "difference": -0.5, "product": 0.125, "quotient": 4, "floor": 0, "rint": 0}
    assert operands[0] == want.get(name, np.sqrt(np.float16(0.5)) if name == "square root" else 0.25)
