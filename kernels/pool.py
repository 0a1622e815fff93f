"""A pool of worker threads in native code, on which the driver runs the pieces of a kernel.

The thread that calls takes pieces like any worker, and waits only for pieces that a worker has begun. A worker that the
system does not schedule therefore costs nothing, which matters on a machine with other work to do; OpenMP's regions end
only after every thread has been there.

Where other work keeps the processors busy, a worker that is woken takes the place of the thread that woke it, and one
that has begun a piece may not come to its end for long. So the caller compares the time of a job with that of its own
first piece. If it would have been faster alone, it works alone for some time: a multiple of what it has lost, so that
asking in vain costs a small part of the time however long others hold the processors, and a short disturbance is
forgotten soon. The factor is doubled whenever help comes late again, up to `_MOST_PENANCE`, and halved whenever it has
been one.

`emit_pool` adds to a module

    jitrt_worker(pool: i64*, number: i64)                       what a worker thread runs, for ever
    jitrt_share(pool: i64*, row: i64*, pieces: i64, helpers: i64) -> i64    run all pieces

`jitrt_share` gives the floating-point flags that the pieces raised, or -1 if the pool is in use and nothing was run.

A *ticket* is one word: the number of the job, how many pieces it has, and the next piece to be taken. Who increments it
by compare-and-swap owns that piece. A job ends when all its pieces are done, so the row that belongs to a ticket cannot
change between taking a piece and running it. Sleeping workers wait for a lock of CPython's (`PyThread_acquire_lock`,
a binary semaphore that needs no GIL).
"""

from __future__ import annotations

import platform
from collections.abc import Callable

from llvmlite import ir

from .api import call_api
from .floatflags import clear_flags, raised_flags
from .words import I1, I32, I64, WORDS, clock, defined, repeat_while, variable, word

MOST_WORKERS = 64
# Words of the process: the number of threads that it allows, the address of the pool (0 before there is one), whether
# a procedure could have used one, the address of `jitrt_share_loop`, and the work of a loop that is worth threads.
PROCESS = ("threads", "pool", "wanted", "share", "least")
LINE = 8  # words of a cache line; words that different threads write lie on lines of their own
# Words of the pool. From `sleepers` on there are two words a worker: whether it sleeps, and its lock.
# `alone` is until when jobs are run alone; how long that is altogether follows, and the factor that it was computed by.
TICKET, DONE, BUSY, ROW_ADDRESS, HELPERS, FLAGS, ALONE, SLEEPERS = (k * LINE for k in range(8))
POOL_WORDS = SLEEPERS + MOST_WORKERS * LINE

_PIECES = 20  # bits of a number of pieces
_SPINS = 2000  # turns before a worker goes to sleep: some 50 µs
_MOST_PENANCE = 32  # times as long as help has cost, jobs are run without it
_MOST_TICKS = 1 << 31  # of them in a row, a second at most: the process may have been stopped meanwhile
_PATIENCE = 200  # turns of waiting for a worker before the caller lets other threads run: it may sit on their processor


def emit_pool(module: ir.Module, run_piece: ir.Function) -> ir.Function:
    """Add the functions of the pool to `module`.

    Parameters
    ----------
    module : llvmlite.ir.Module
    run_piece : llvmlite.ir.Function
        ``run_piece(row: i64*, piece: i64)``.

    Returns
    -------
    llvmlite.ir.Function
        ``jitrt_share``.
    """
    take = _emit_take(module, run_piece)
    _emit_worker(module, take)
    return _emit_share(module, take)


def _emit_take(module: ir.Module, run_piece: ir.Function) -> ir.Function:
    """``take(pool) -> i1``: take and run one piece; false if there is none."""
    function, builder = defined(module, ir.FunctionType(I1, [WORDS]), "jitrt_take", internal=True)
    (pool,) = function.args
    retry, claim, run, none = (function.append_basic_block(name) for name in ("retry", "claim", "run", "none"))
    ticket = builder.gep(pool, [word(TICKET)])
    builder.branch(retry)
    builder.position_at_end(retry)
    seen = builder.load_atomic(ticket, "acquire", 8)
    mask = word((1 << _PIECES) - 1)
    piece = builder.and_(seen, mask)
    pieces = builder.and_(builder.lshr(seen, word(_PIECES)), mask)
    builder.cbranch(builder.icmp_unsigned("<", piece, pieces), claim, none)
    builder.position_at_end(claim)
    outcome = builder.cmpxchg(ticket, seen, builder.add(seen, word(1)), "acq_rel", "acquire")
    builder.cbranch(builder.extract_value(outcome, 1), run, retry)
    builder.position_at_end(run)
    row = builder.inttoptr(builder.load(builder.gep(pool, [word(ROW_ADDRESS)])), WORDS)
    clear_flags(builder)
    builder.call(run_piece, [row, piece])
    raised = raised_flags(builder)
    with builder.if_then(builder.icmp_signed("!=", raised, word(0))):
        builder.atomic_rmw("or", builder.gep(pool, [word(FLAGS)]), raised, "acq_rel")
    builder.atomic_rmw("add", builder.gep(pool, [word(DONE)]), word(1), "acq_rel")
    builder.ret(ir.Constant(I1, 1))
    builder.position_at_end(none)
    builder.ret(ir.Constant(I1, 0))
    return function


def _emit_worker(module: ir.Module, take: ir.Function) -> None:
    """Take pieces; after some turns without any, sleep until the next job."""
    function, builder = defined(module, ir.FunctionType(ir.VoidType(), [WORDS, I64]), "jitrt_worker")
    pool, number = function.args
    blocks = {name: function.append_basic_block(name) for name in ("turn", "idle", "spin", "sleep", "wait", "awake")}
    own = builder.gep(pool, [builder.add(word(SLEEPERS), builder.mul(number, word(LINE)))])
    lock = builder.load(builder.gep(own, [word(1)]))
    idle_turns = builder.alloca(I64)
    builder.store(word(0), idle_turns)
    builder.branch(blocks["turn"])

    def may_help() -> ir.Value:
        return builder.icmp_signed("<", number, builder.load_atomic(builder.gep(pool, [word(HELPERS)]), "acquire", 8))

    builder.position_at_end(blocks["turn"])
    helps = may_help()
    with builder.if_then(helps):
        took = builder.call(take, [pool])
        with builder.if_then(took):
            builder.store(word(0), idle_turns)
            builder.branch(blocks["turn"])
    builder.branch(blocks["idle"])

    builder.position_at_end(blocks["idle"])
    turns = builder.add(builder.load(idle_turns), word(1))
    builder.store(turns, idle_turns)
    builder.cbranch(builder.icmp_signed("<", turns, word(_SPINS)), blocks["spin"], blocks["sleep"])

    builder.position_at_end(blocks["spin"])
    _pause(builder)
    builder.branch(blocks["turn"])

    # Say that it sleeps, and look once more: a job that came in between has either been seen here, or sees the sleeper.
    builder.position_at_end(blocks["sleep"])
    builder.atomic_rmw("xchg", own, word(1), "seq_cst")
    helps = may_help()
    with builder.if_then(helps):
        took = builder.call(take, [pool])
        with builder.if_then(took):
            sleeping = builder.atomic_rmw("xchg", own, word(0), "seq_cst")
            # If somebody else has cleared it, a wake-up is on its way and has to be consumed.
            builder.cbranch(builder.icmp_signed("==", sleeping, word(1)), blocks["awake"], blocks["wait"])
    builder.branch(blocks["wait"])
    builder.position_at_end(blocks["wait"])
    call_api(builder, "PyThread_acquire_lock", lock, ir.Constant(I32, 1))
    builder.branch(blocks["awake"])
    builder.position_at_end(blocks["awake"])
    builder.store(word(0), idle_turns)
    builder.branch(blocks["turn"])


def _emit_share(module: ir.Module, take: ir.Function) -> ir.Function:
    """Publish a job, wake sleepers, take pieces, and wait for those that others have taken."""
    function, builder = defined(module, ir.FunctionType(I64, [WORDS, WORDS, I64, I64]), "jitrt_share")
    pool, row, pieces, helpers = function.args

    def place(k: int) -> ir.Value:
        return builder.gep(pool, [word(k)])

    free = builder.cmpxchg(place(BUSY), word(0), word(1), "acq_rel", "acquire")
    with builder.if_then(builder.not_(builder.extract_value(free, 1))):
        builder.ret(word(-1))
    start = clock(builder)
    # A clock that was set back, as that of another machine may be, is in no such time.
    left = builder.sub(builder.load(place(ALONE)), start)
    is_alone = builder.icmp_unsigned("<", builder.sub(left, word(1)), builder.load(place(ALONE + 1)))
    helpers = builder.select(is_alone, word(0), helpers)
    builder.store(builder.ptrtoint(row, I64), place(ROW_ADDRESS))
    # What this thread has raised so far; pieces start with all flags down.
    builder.store_atomic(raised_flags(builder), place(FLAGS), "release", 8)
    builder.store_atomic(word(0), place(DONE), "release", 8)
    builder.store_atomic(helpers, place(HELPERS), "release", 8)
    job = builder.add(builder.lshr(builder.load_atomic(place(TICKET), "acquire", 8), word(2 * _PIECES)), word(1))
    ticket = builder.or_(builder.shl(job, word(2 * _PIECES)), builder.shl(pieces, word(_PIECES)))
    builder.atomic_rmw("xchg", place(TICKET), ticket, "seq_cst")

    def wake(k: ir.Value) -> None:
        sleeper = builder.gep(pool, [builder.add(word(SLEEPERS), builder.mul(k, word(LINE)))])
        was_asleep = builder.atomic_rmw("xchg", sleeper, word(0), "seq_cst")
        with builder.if_then(builder.icmp_signed("==", was_asleep, word(1))):
            call_api(builder, "PyThread_release_lock", builder.load(builder.gep(sleeper, [word(1)])))

    _for(builder, helpers, wake)
    begun = clock(builder)
    has_taken = builder.call(take, [pool])
    first = builder.sub(clock(builder), begun)
    repeat_while(builder, lambda: builder.call(take, [pool]), lambda: None)
    waited = variable(builder)
    repeat_while(
        builder,
        lambda: builder.icmp_signed("<", builder.load_atomic(place(DONE), "acquire", 8), pieces),
        lambda: _wait(builder, waited),
    )
    with builder.if_then(builder.and_(has_taken, builder.not_(is_alone))):
        # Alone, all pieces would have taken as long as the first one each.
        end = clock(builder)
        lost = builder.sub(builder.sub(end, start), builder.mul(first, pieces))
        is_late = builder.icmp_signed(">", lost, word(0))
        before = builder.load(place(ALONE + 2))
        twice = builder.shl(builder.or_(before, builder.zext(builder.icmp_signed("==", before, word(0)), I64)), word(1))
        capped = builder.select(builder.icmp_signed("<", twice, word(_MOST_PENANCE)), twice, word(_MOST_PENANCE))
        factor = builder.select(is_late, capped, builder.lshr(before, word(1)))
        builder.store(factor, place(ALONE + 2))
        owed = builder.select(is_late, builder.mul(lost, factor), word(0))
        penance = builder.select(builder.icmp_unsigned("<", owed, word(_MOST_TICKS)), owed, word(_MOST_TICKS))
        builder.store(penance, place(ALONE + 1))
        builder.store(builder.add(end, penance), place(ALONE))
    raised = builder.load_atomic(place(FLAGS), "acquire", 8)
    builder.store_atomic(word(0), place(BUSY), "release", 8)
    builder.ret(raised)
    return function


def _for(builder: ir.IRBuilder, count: ir.Value, body: Callable[[ir.Value], None]) -> None:
    index = variable(builder)

    def turn() -> None:
        k = builder.load(index)
        body(k)
        builder.store(builder.add(k, word(1)), index)

    repeat_while(builder, lambda: builder.icmp_signed("<", builder.load(index), count), turn)


def _wait(builder: ir.IRBuilder, waited: ir.Value) -> None:
    """One turn of waiting; `waited` counts them."""
    _pause(builder)
    turns = builder.add(builder.load(waited), word(1))
    builder.store(turns, waited)
    with builder.if_then(builder.icmp_signed(">", turns, word(_PATIENCE))):
        call_api(builder, "yield_processor")


def _pause(builder: ir.IRBuilder) -> None:
    """Tell the processor that this is a spin loop."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        builder.call(
            builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), ir.FunctionType(ir.VoidType(), [])), []
        )
    elif machine in ("aarch64", "arm64"):
        hint = builder.module.declare_intrinsic("llvm.aarch64.hint", (), ir.FunctionType(ir.VoidType(), [I32]))
        builder.call(hint, [ir.Constant(I32, 1)])  # yield
