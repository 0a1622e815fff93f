"""The baseline version of a procedure: code that neither passes nor LLVM optimise, and that is there at once.

Its entry is a trampoline, which runs what a word in memory points to. Loops of it count their turns, and leave the
procedure when the optimised version is there, see `tierup`:

    name.trampoline → name.baseline, then → name
"""

from __future__ import annotations

from llvmlite import ir

from ..kernels.tiers import PROCESS, TRAMPOLINE
from ..kernels.words import I1, I64, WORDS, Words, word

_FURTHER_TURNS = 1 << 14  # between two looks whether it is there
_TURNS_OF_CALL = 64  # that a call counts for


def symbols(name: str) -> list[str]:
    """What the baseline version of a procedure gives: its trampoline, and the words of that."""
    return [f"{name}.trampoline", f"{name}.words"]


class Trampoline:
    """The entry of a baseline version, added to a module.

    Parameters
    ----------
    module : llvmlite.ir.Module
    name : str
        Of the procedure.
    kind : llvmlite.ir.FunctionType
        Of its entries.
    turns : int
        Of loops, after which it asks for the optimised version.

    Attributes
    ----------
    baseline : llvmlite.ir.Function
        What it leads to at first, still without code.
    leaves : llvmlite.ir.Function
        ``leaves() -> i1``: count a turn of a loop; whether the procedure is to be left.
    """

    def __init__(self, module: ir.Module, name: str, kind: ir.FunctionType, turns: int):
        entry, words = symbols(name)
        self.baseline = ir.Function(module, kind, f"{name}.baseline")
        self._words = ir.GlobalVariable(module, ir.ArrayType(I64, len(TRAMPOLINE)), words)
        address = self.baseline.ptrtoint(I64)
        values = {"turns": word(turns), "code": address, "baseline": address}
        self._words.initializer = ir.Constant(
            self._words.value_type, [values.get(field, word(0)) for field in TRAMPOLINE]
        )
        self.leaves = ir.Function(module, ir.FunctionType(I1, []), f"{name}.leaves")
        self.leaves.linkage = "internal"
        self._emit_leaves(ir.IRBuilder(self.leaves.append_basic_block("entry")))
        self._emit_entry(ir.Function(module, kind, entry))

    def _at(self, builder: ir.IRBuilder, field: str) -> ir.Value:
        return builder.gep(self._words, [word(0), word(TRAMPOLINE.index(field))])

    def _emit_leaves(self, builder: ir.IRBuilder) -> None:
        with builder.if_then(self._count(builder, 1), likely=False):
            self._ask(builder)
            builder.store(word(_FURTHER_TURNS), self._at(builder, "turns"))
            code = builder.load_atomic(self._at(builder, "code"), "acquire", 8)
            builder.ret(builder.icmp_signed("!=", code, builder.load(self._at(builder, "baseline"))))
        builder.ret(I1(0))

    def _count(self, builder: ir.IRBuilder, turns: int) -> ir.Value:
        """Count turns; whether there have been many. Threads may miss some of each other's."""
        place = self._at(builder, "turns")
        left = builder.sub(builder.load(place), word(turns))
        builder.store(left, place)
        return builder.icmp_signed("<", left, word(0))

    def _ask(self, builder: ir.IRBuilder) -> None:
        """Ask the process for the optimised version, once."""
        place = self._at(builder, "asked")
        with builder.if_then(builder.icmp_signed("==", builder.load_atomic(place, "acquire", 8), word(0))):
            builder.store_atomic(word(1), place, "release", 8)
            process = Words(builder, PROCESS, builder.inttoptr(builder.load(self._at(builder, "process")), WORDS))
            outcome = builder.cmpxchg(process.places["pending"], word(0), word(1), "acq_rel", "acquire")
            with builder.if_then(builder.extract_value(outcome, 1)):
                release = ir.FunctionType(ir.VoidType(), [I64]).as_pointer()
                builder.call(builder.inttoptr(process["release"], release), [process["lock"]])

    def _emit_entry(self, function: ir.Function) -> None:
        """Run the version that there is, and once more if it has stopped and another one is there."""
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        again, stopped, end = (function.append_basic_block(name) for name in ("again", "stopped", "end"))
        place = self._at(builder, "code")
        builder.branch(again)
        builder.position_at_end(again)
        code = builder.load_atomic(place, "acquire", 8)
        is_baseline = builder.icmp_signed("==", code, builder.load(self._at(builder, "baseline")))
        with builder.if_then(is_baseline), builder.if_then(self._count(builder, _TURNS_OF_CALL), likely=False):
            self._ask(builder)
        status = builder.call(builder.inttoptr(code, function.function_type.as_pointer()), function.args)
        builder.cbranch(builder.icmp_signed("==", status, word(1)), stopped, end)
        builder.position_at_end(stopped)
        builder.cbranch(builder.icmp_signed("!=", builder.load_atomic(place, "acquire", 8), code), again, end)
        builder.position_at_end(end)
        builder.ret(status)
