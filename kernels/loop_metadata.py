"""What the branch that closes a loop tells LLVM's loop passes."""

from __future__ import annotations

from llvmlite import ir


class _LoopId(ir.MDValue):
    """A distinct node whose first operand is itself, which is how LLVM names a loop."""

    def descr(self, buffer: list[str]) -> None:
        operands = ", ".join([self.get_reference(), *(o.get_reference() for o in self.operands)])
        buffer += ("distinct !{ " + operands + " }", "\n")


def set_hint(latch: ir.Instruction, module: ir.Module, name: str, *values: ir.Constant) -> None:
    """Give the loop that `latch`, a conditional branch, closes one property."""
    hint = module.add_metadata([ir.MetaDataString(module, name), *values])
    latch.set_metadata("llvm.loop", _LoopId(module, [hint], name=str(len(module.metadata))))
