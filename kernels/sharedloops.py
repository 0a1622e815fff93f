"""How a loop of a procedure runs whose iterations are independent: in pieces on the pool's threads, or in one go.

Such a loop is a function ``loop(environment, first, last)`` of words. The first word of the environment is set by a
piece that stops the procedure, after which no other one begins. The second is the address of the workspace of the
procedure, or 0 where a piece has to have its own.
"""

from __future__ import annotations

from llvmlite import ir

from .driver import KERNEL, ROW
from .pool import PROCESS
from .procedure import LIMIT, THREADS, WATCHED
from .words import I1, I64, WORDS, Words, defined, word

STOPPED, WORKSPACE, FIRST_FIELD = 0, 1, 2  # words of an environment
SHARE_LOOP = ir.FunctionType(I1, [WORDS, WORDS, I64, I64, ir.DoubleType()])
_PIECES = 8  # of each thread: iterations may take different times


def emit_share_loop(module: ir.Module, share: ir.Function) -> ir.Function:
    """Add ``jitrt_share_loop(arguments, environment, loop, span, work) -> i1``: run `span` iterations.

    It is true where the procedure has stopped: if a piece has, or has raised an exception that is not ignored.

    Parameters
    ----------
    module : llvmlite.ir.Module
    share : llvmlite.ir.Function
        ``jitrt_share``.
    """
    function, builder = defined(module, SHARE_LOOP, "jitrt_share_loop")
    arguments, environment, loop, span, work = function.args
    row = builder.bitcast(builder.alloca(ir.ArrayType(I64, len(ROW))), WORDS)

    def at(table: ir.Value, k: int) -> ir.Value:
        return builder.gep(table, [word(k)])

    def has_stopped() -> ir.Value:
        flag = builder.load_atomic(at(environment, STOPPED), "monotonic", 8)
        return builder.icmp_signed("!=", flag, word(0))

    process = Words(builder, PROCESS, builder.inttoptr(builder.load(at(arguments, THREADS)), WORDS))
    limit, allowed = builder.load(at(arguments, LIMIT)), process["threads"]
    threads = builder.select(builder.icmp_signed("<", allowed, limit), allowed, limit)
    pays = builder.fcmp_ordered(">=", work, builder.sitofp(process["least"], ir.DoubleType()))
    with builder.if_then(builder.and_(pays, builder.icmp_signed(">", threads, word(1)))):
        pool = process["pool"]
        with builder.if_else(builder.icmp_signed("==", pool, word(0))) as (none, some):
            with none:
                process.set("wanted", word(1))
            with some:
                most = builder.mul(threads, word(_PIECES))
                chunk = builder.udiv(builder.add(span, builder.sub(most, word(1))), most)
                chunk = builder.select(builder.icmp_signed(">", chunk, word(0)), chunk, word(1))
                pieces = builder.udiv(builder.add(span, builder.sub(chunk, word(1))), chunk)
                for k, value in enumerate((loop, builder.ptrtoint(environment, I64), span, chunk)):
                    builder.store(value, at(row, k))
                own = builder.load(at(environment, WORKSPACE))
                builder.store(word(0), at(environment, WORKSPACE))
                given = [builder.inttoptr(pool, WORDS), row, pieces, builder.sub(threads, word(1))]
                raised = builder.call(share, given)
                with builder.if_then(builder.icmp_signed(">=", raised, word(0))):
                    # This thread is one of the pool's here, which begin with all exceptions down.
                    found = builder.and_(raised, builder.load(at(arguments, WATCHED)))
                    builder.ret(builder.or_(has_stopped(), builder.icmp_signed("!=", found, word(0))))
                builder.store(own, at(environment, WORKSPACE))
    builder.call(builder.inttoptr(loop, KERNEL.as_pointer()), [environment, word(0), span])
    builder.ret(has_stopped())
    return function
