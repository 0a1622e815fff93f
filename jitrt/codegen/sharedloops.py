"""Loops of procedures whose iterations are independent: functions of their own, for threads to run in pieces.

Such a function, ``loop(environment, first, last)``, runs the iterations from a first one up to a last one. Its
environment has the values that the loop reads, behind the words of `kernels.sharedloops`. It has memory of its own
where the body asks for any and the environment has no workspace.
"""

from __future__ import annotations

from llvmlite import ir

from ..ir.loops import Checked, For, Forever, Get, Memory, Put, Stop, statements_within
from ..ir.verify import defined_in, uses
from ..kernels.driver import KERNEL
from ..kernels.pool import PROCESS
from ..kernels.procedure import THREADS
from ..kernels.sharedloops import FIRST_FIELD, SHARE_LOOP, STOPPED, WORKSPACE
from ..kernels.words import Words, declared, word
from ..passes.apart import WHOLE, Apart
from .context import I64, call_intrinsic, internal
from .context import POINTER as BYTES
from .countedloops import counted
from .loophints import prefer_wide_vectors
from .statements import WORDS, Statements

_DOUBLE = ir.DoubleType()
_ENDS = (Stop, Checked, Memory)


def emit_shared(outer: Statements, loop: For, apart: Apart) -> None:
    """Emit a loop whose iterations are independent."""
    _SharedLoop(outer, loop, apart).emit()


class _SharedLoop:
    """One loop, in the function that `outer` emits."""

    def __init__(self, outer: Statements, loop: For, apart: Apart):
        self.outer, self.loop, self.apart = outer, loop, apart
        inside = list(statements_within(loop.body))
        defined = {loop.index, *defined_in(inside)}
        used = dict.fromkeys(name for s in inside for name in uses(s))
        outside = {name: outer.values[name] for name in used if name not in defined}
        self.constants = {name: value for name, value in outside.items() if isinstance(value, ir.Constant)}
        self.names = [name for name in outside if name not in self.constants]
        puts = {s.variable for s in inside if isinstance(s, Put)}
        self.read = list({s.variable: s.type for s in inside if isinstance(s, Get) and s.variable not in puts}.items())
        self.asks_for_memory = any(isinstance(s, Memory) for s in inside)
        self.may_be_endless = any(isinstance(s, Forever) for s in inside) and any(isinstance(s, _ENDS) for s in inside)

    def emit(self) -> None:
        outer, loop, builder = self.outer, self.loop, self.outer.builder
        start, stop = outer.polynomial(loop.start), outer.polynomial(loop.stop)
        span = _count(builder, start, stop, loop.step)
        values = [
            word(0),
            builder.ptrtoint(outer.workspace, I64),
            start,
            span,
            *(outer.values[name] for name in self.names),
            *(builder.load(outer.variable(*variable)) for variable in (*self.read, *self.apart.last)),
        ]
        kind = ir.LiteralStructType([value.type for value in values])
        with builder.goto_entry_block():
            environment = builder.alloca(kind)
        for k, value in enumerate(values):
            builder.store(value, _field(builder, environment, k))
        function = self._function(kind)
        arguments = outer.function.args[0]
        process = builder.load(builder.gep(arguments, [word(THREADS)]))
        share = Words(builder, PROCESS, builder.inttoptr(process, WORDS))["share"]
        given = [arguments, builder.bitcast(environment, WORDS), builder.ptrtoint(function, I64), span, self._work()]
        outer.stop_if(builder.call(builder.inttoptr(share, SHARE_LOOP.as_pointer()), given))
        for k, (name, type_) in enumerate(self.apart.last, len(values) - len(self.apart.last)):
            builder.store(builder.load(_field(builder, environment, k)), outer.variable(name, type_))

    def _work(self) -> ir.Value:
        """What the loop is expected to do, in units."""
        builder, total = self.outer.builder, ir.Constant(_DOUBLE, 0.0)
        for names, c in self.apart.work.terms:
            part: ir.Value = ir.Constant(_DOUBLE, c / WHOLE)
            for name in names:
                part = builder.fmul(part, builder.sitofp(self.outer.values[name], _DOUBLE))
            total = builder.fadd(total, part)
        return total

    def _function(self, kind: ir.Type) -> ir.Function:
        outer, loop = self.outer, self.loop
        function = internal(outer.module, KERNEL, f"{outer.function.name}.{loop.index}")
        prefer_wide_vectors(function)
        inner = Statements(outer.module, outer.procedure, function, outer.plan)
        builder, (given, first, last) = inner.builder, function.args
        environment = builder.bitcast(given, kind.as_pointer())
        numbers = iter(range(FIRST_FIELD, len(kind.elements)))

        def following() -> ir.Value:
            return builder.load(_field(builder, environment, next(numbers)))

        start, span = following(), following()
        inner.values.update(self.constants)
        for name in self.names:
            inner.values[name] = following()
        for variable in self.read:
            builder.store(following(), inner.variable(*variable))
        flag = _field(builder, environment, STOPPED)
        if self.may_be_endless:

            def stopped_by_others() -> ir.Value:
                return builder.icmp_signed("!=", builder.load_atomic(flag, "monotonic", 8), word(0))

            inner.stopped_by_others = stopped_by_others
        memory = self._memory(inner, environment) if self.asks_for_memory else None
        step = word(loop.step)
        lower, upper = (builder.add(start, builder.mul(k, step)) for k in (first, last))
        counted(inner, loop, lower, upper, ())
        if self.apart.last:
            has_last = builder.and_(builder.icmp_signed("<", first, last), builder.icmp_signed("==", last, span))
            with builder.if_then(has_last):
                for variable in self.apart.last:
                    value = builder.load(inner.variable(*variable))
                    builder.store(value, _field(builder, environment, next(numbers)))
        end = builder.append_basic_block("end")
        builder.branch(end)
        if inner.stopped is not None:
            builder.position_at_end(inner.stopped)
            builder.store_atomic(word(1), flag, "monotonic", 8)
            builder.branch(end)
        builder.position_at_end(end)
        for k in range(2 * sum(outer.procedure.sites) if memory is not None else 0):
            if k % 2 == 0:
                free = declared(outer.module, "free", ir.FunctionType(ir.VoidType(), [BYTES]))
                builder.call(free, [builder.inttoptr(builder.load(builder.gep(memory, [word(k)])), BYTES)])
        builder.ret_void()
        return function

    def _memory(self, inner: Statements, environment: ir.Value) -> ir.Value:
        """A table for memory of the function's own, which is its workspace unless the environment has one."""
        builder = inner.builder
        table = builder.alloca(ir.ArrayType(I64, 2 * sum(self.outer.procedure.sites)))
        builder.store(ir.Constant(table.type.pointee, None), table)
        own = builder.bitcast(table, WORDS)
        workspace = builder.load(_field(builder, environment, WORKSPACE))
        has_one = builder.icmp_signed("!=", workspace, word(0))
        inner.workspace = builder.select(has_one, builder.inttoptr(workspace, WORDS), own)
        return own


def _field(builder: ir.IRBuilder, environment: ir.Value, k: int) -> ir.Value:
    return builder.gep(environment, [ir.Constant(ir.IntType(32), n) for n in (0, k)], inbounds=True)


def _count(builder: ir.IRBuilder, start: ir.Value, stop: ir.Value, step: int) -> ir.Value:
    """How many iterations a loop has."""
    distance = builder.sub(stop, start) if step > 0 else builder.sub(start, stop)
    distance = call_intrinsic(builder, "smax", (distance, word(0)))
    if abs(step) == 1:
        return distance
    return builder.udiv(builder.add(distance, word(abs(step) - 1)), word(abs(step)))
