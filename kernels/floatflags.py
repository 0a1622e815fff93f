"""The processor's floating-point exception flags, in NumPy's numbering.

The flags belong to a thread. Arithmetic raises them and nothing else lowers them, so they are cleared before kernels
run and read afterwards. On x86-64 they stand in MXCSR, which costs some nanoseconds; the C library's functions, used
elsewhere, also look at the x87 unit, which no kernel uses. `feraiseexcept` does, as functions of NumPy call it.
"""

from __future__ import annotations

import platform

from llvmlite import ir

from .api import call_api
from .words import BYTES, I32, I64, word

DIVIDE, OVER, UNDER, INVALID = 1, 2, 4, 8
"""``NPY_FPE_DIVIDEBYZERO`` and so on."""

NUMBERS = {"divide": DIVIDE, "over": OVER, "under": UNDER, "invalid": INVALID}
"""In the words of `numpy.errstate`."""

_ALL = DIVIDE | OVER | UNDER | INVALID
_MXCSR_FLAGS = 0x3F
_C_FLAGS = 0x0F  # FE_INVALID, FE_DIVBYZERO, FE_OVERFLOW, FE_UNDERFLOW of AArch64

_machine = platform.machine().lower()
IS_X86 = _machine in ("x86_64", "amd64")
IS_KNOWN = IS_X86 or _machine in ("aarch64", "arm64")
"""Whether flags can be read here; where not, kernels raise none."""


def clear_flags(builder: ir.IRBuilder) -> None:
    """Lower all flags of this thread."""
    if IS_X86:
        register = _control_register(builder)
        kept = builder.and_(builder.load(register), ir.Constant(I32, ~_MXCSR_FLAGS))
        builder.store(kept, register)
        builder.call(_intrinsic(builder, "ldmxcsr"), [builder.bitcast(register, BYTES)])
    elif IS_KNOWN:
        call_api(builder, "feclearexcept", ir.Constant(I32, _C_FLAGS))


def raised_flags(builder: ir.IRBuilder) -> ir.Value:
    """The flags of this thread that are up, as a sum of `DIVIDE`, `OVER`, `UNDER` and `INVALID`."""
    if IS_X86:
        # Bit 0 is invalid, bit 1 a denormal operand, and from bit 2 on they stand as NumPy has them.
        raised = builder.zext(builder.load(_control_register(builder)), I64)
        return _renumbered(builder, raised, 2)
    if IS_KNOWN:
        raised = call_api(builder, "fetestexcept", ir.Constant(I32, _C_FLAGS))
        return _renumbered(builder, builder.zext(raised, I64), 1)
    return word(0)


def clear_x87_flags(builder: ir.IRBuilder) -> None:
    """Lower the flags of the x87 unit."""
    if IS_X86:
        builder.asm(ir.FunctionType(ir.VoidType(), []), "fnclex", "", [], True)


def raise_x87_flags(builder: ir.IRBuilder) -> None:
    """Let the flags of the x87 unit be up in MXCSR, too, which has them in the same order."""
    if IS_X86:
        status = builder.asm(ir.FunctionType(ir.IntType(16), []), "fnstsw $0", "={ax}", [], True)
        register = _control_register(builder)
        raised = builder.and_(builder.zext(status, I32), ir.Constant(I32, _MXCSR_FLAGS))
        builder.store(builder.or_(builder.load(register), raised), register)
        builder.call(_intrinsic(builder, "ldmxcsr"), [builder.bitcast(register, BYTES)])


def kept_flags(builder: ir.IRBuilder) -> ir.Value:
    """What `restore_flags` takes to let the flags of this thread be what they are now."""
    if IS_X86:
        return _control_register(builder)
    with builder.goto_entry_block():
        place = builder.alloca(I64)
    if IS_KNOWN:
        _call_on(builder, "fegetexceptflag", place)
    return place


def restore_flags(builder: ir.IRBuilder, kept: ir.Value, flags: int = _ALL) -> None:
    """Let `flags` of this thread, a sum of numbers, be what they were."""
    if IS_X86:
        if flags != _ALL:
            now, mask = _control_register(builder), (flags & ~INVALID) << 2 | flags >> 3
            others = builder.and_(builder.load(now), ir.Constant(I32, ~mask))
            own = builder.and_(builder.load(kept), ir.Constant(I32, mask))
            builder.store(builder.or_(others, own), now)
            kept = now
        builder.call(_intrinsic(builder, "ldmxcsr"), [builder.bitcast(kept, BYTES)])
    elif IS_KNOWN:
        _call_on(builder, "fesetexceptflag", kept, (flags & ~INVALID) << 1 | flags >> 3)


def _call_on(builder: ir.IRBuilder, name: str, place: ir.Value, flags: int = _C_FLAGS) -> None:
    call_api(builder, name, builder.bitcast(place, BYTES), ir.Constant(I32, flags))


def _renumbered(builder: ir.IRBuilder, raised: ir.Value, divide: int) -> ir.Value:
    """NumPy's numbering, from one in which bit 0 is invalid and from bit `divide` on the others follow."""
    others = builder.and_(builder.lshr(raised, word(divide)), word(DIVIDE | OVER | UNDER))
    return builder.or_(others, builder.shl(builder.and_(raised, word(1)), word(3)))


def _control_register(builder: ir.IRBuilder) -> ir.Value:
    """Where MXCSR has been stored just now."""
    with builder.goto_entry_block():
        register = builder.alloca(I32)
    builder.call(_intrinsic(builder, "stmxcsr"), [builder.bitcast(register, BYTES)])
    return register


def _intrinsic(builder: ir.IRBuilder, name: str) -> ir.Function:
    return builder.module.declare_intrinsic(f"llvm.x86.sse.{name}", (), ir.FunctionType(ir.VoidType(), [BYTES]))
