"""What the branch that closes a loop tells LLVM's loop passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir


class _LoopId(ir.MDValue):
    """A distinct node whose first operand is itself, which is how LLVM names a loop."""

    def descr(self, buffer: list[str]) -> None:
        operands = ", ".join([self.get_reference(), *(o.get_reference() for o in self.operands)])
        buffer += ("distinct !{ " + operands + " }", "\n")


class AccessGroup(ir.MDValue):
    """A distinct node without operands, by which a loop names accesses of its own."""

    @staticmethod
    def of(module: ir.Module) -> AccessGroup:
        """A new group."""
        return AccessGroup(module, (), name=str(len(module.metadata)))

    def descr(self, buffer: list[str]) -> None:
        buffer += ("distinct !{}", "\n")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def set_hint(latch: ir.Instruction, module: ir.Module, name: str, *values: ir.Constant) -> None:
    """Give the loop that `latch`, a conditional branch, closes one property."""
    set_hints(latch, module, [(name, *values)])


def set_hints(latch: ir.Instruction, module: ir.Module, hints: Sequence[tuple[Any, ...]]) -> None:
    """Give the loop that `latch` closes properties: names, and values behind them."""
    nodes = [module.add_metadata([ir.MetaDataString(module, name), *values]) for name, *values in hints]
    latch.set_metadata("llvm.loop", _LoopId(module, nodes, name=str(len(module.metadata))))
