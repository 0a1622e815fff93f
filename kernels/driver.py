"""The native driver: binds pointers and walks a table of kernel calls, serial or in chunks on several threads.

`emit_driver` adds to a module

    jitrt_run(block: i64*, objects: i64, watched: i64, position: i64) -> i64

where `block` is a table of 64-bit words (its layout is `Header` and `Row` below) and `objects` the address of a Python
tuple that holds the arrays of this call. First the addresses of the arrays' data are written into the parameters of the
kernels, then the kernels are called in order. Loops and choices are rows among those of the kernels. The lowest bits of
the result say which of the floating-point exceptions `watched` (see `floatflags`) the kernels raised, on whatever
threads; the bit `OUT_OF_BOUNDS` that a check has failed, and that no row behind it has run. The bits from
`POSITION_BIT` on are 0 in the end; before, they are the row where the caller has to go on after it has looked for
signals, by another call with that `position`.
"""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from .api import call_api
from .floatflags import clear_flags, raised_flags
from .pool import PROCESS, emit_pool
from .words import BYTES, I64, WORDS, Words, copy_bytes, counted, defined, record, repeat_while, variable, word

# Words of the header of a block. `process` is the address of the words `pool.PROCESS`, `limit` the number of threads
# that the function allows.
HEADER = ("patches", "patch_table", "rows", "row_table", "process", "limit", "item_offset", "data_offset")
# A patch writes the address of item `item` of the tuple plus `offset` to the word at the address `target`.
PATCH = ("target", "item", "offset")
# A row calls `kernel(params, 0, span)`; with `chunk` > 0 in pieces of that many iterations on several threads.
ROW = ("kernel", "params", "span", "chunk")

# Rows whose first word is one of these instead of a kernel. The other words are called `at`, `value` and `jump` here;
# jumps are relative to the row itself.
CONTROL = ("count", "unless", "jump", "set", "move", "add", "copy", "turn", "check")
COUNT = 1  # if word[at] >= value: jump; otherwise add 1 to it
UNLESS = 2  # if the byte at the address word[at] is 0: jump
JUMP = 3  # jump
SET = 4  # word[at] = value
MOVE = 5  # word[at] = word[value] + jump
ADD = 6  # word[at] += value
COPY = 7  # copy `value` bytes to the address word[at] from the address in the word behind it
TURN = 8  # jump; add 1 to word[at], and every `value` times return to the caller in between
CHECK = 9  # end unless -value <= the word at the address word[at], and the one at the address behind that < value

OUT_OF_BOUNDS_BIT = 4  # beside the floating-point exceptions
OUT_OF_BOUNDS = 1 << OUT_OF_BOUNDS_BIT
POSITION_BIT = 8

KERNEL = ir.FunctionType(ir.VoidType(), [WORDS, I64, I64])


def emit_driver(module: ir.Module) -> ir.Function:
    """Add ``jitrt_run`` and what it needs to `module`."""
    share = emit_pool(module, _emit_piece(module))
    function, builder = defined(module, ir.FunctionType(I64, [WORDS, I64, I64, I64]), "jitrt_run")
    block, objects, watched, first = function.args
    words = {name: builder.load(builder.gep(block, [word(k)])) for k, name in enumerate(HEADER)}
    process = Words(builder, PROCESS, builder.inttoptr(words["process"], WORDS))
    allowed, pool = process["threads"], process["pool"]
    threads = builder.select(builder.icmp_signed("<", allowed, words["limit"]), allowed, words["limit"])

    items = builder.add(objects, words["item_offset"])
    patches = builder.inttoptr(words["patch_table"], WORDS)
    with counted(builder, words["patches"]) as k:
        target, item, offset = record(builder, patches, k, PATCH)
        slot = builder.add(items, builder.shl(item, word(3)))
        array = builder.load(builder.inttoptr(slot, WORDS))
        data = builder.load(builder.inttoptr(builder.add(array, words["data_offset"]), WORDS))
        builder.store(builder.add(data, offset), builder.inttoptr(target, WORDS))

    watches = builder.icmp_signed("!=", watched, word(0))
    position, raised, expired = variable(builder), variable(builder), variable(builder)
    builder.store(first, position)
    with builder.if_then(watches):
        clear_flags(builder)

    def pending() -> ir.Value:
        is_running = builder.icmp_signed("==", builder.load(expired), word(0))
        return builder.and_(is_running, builder.icmp_signed("<", builder.load(position), words["rows"]))

    def turn() -> None:
        k = builder.load(position)
        row = builder.gep(builder.inttoptr(words["row_table"], WORDS), [builder.mul(k, word(len(ROW)))])
        following = builder.append_basic_block("next")
        builder.store(builder.add(k, word(1)), position)
        _emit_control(builder, row, k, position, expired, following)
        _emit_call(builder, row, threads, pool, share, raised, following)
        builder.position_at_end(following)

    repeat_while(builder, pending, turn)
    with builder.if_then(watches):
        builder.store(builder.or_(builder.load(raised), raised_flags(builder)), raised)
    found = builder.and_(builder.load(raised), watched)
    with builder.if_then(builder.icmp_signed("!=", builder.load(expired), word(0))):
        builder.ret(builder.or_(found, builder.shl(builder.load(position), word(POSITION_BIT))))
    builder.ret(found)
    return function


def _emit_control(
    builder: ir.IRBuilder,
    row: ir.Value,
    k: ir.Value,
    position: ir.Value,
    expired: ir.Value,
    following: ir.Block,
) -> None:
    """Execute row `k` if it is one of `CONTROL`; go on behind it otherwise."""
    opcode, at, value, jump = record(builder, row, word(0), ROW)
    target = builder.inttoptr(at, WORDS)
    kernel = builder.append_basic_block("kernel")
    blocks = [builder.append_basic_block(name) for name in CONTROL]
    switch = builder.switch(opcode, kernel)
    for number, block in enumerate(blocks, 1):
        switch.add_case(word(number), block)

    def jump_if(condition: ir.Value) -> None:
        with builder.if_then(condition):
            builder.store(builder.add(k, jump), position)

    for number, block in enumerate(blocks, 1):
        builder.position_at_end(block)
        if number == COUNT:
            done = builder.load(target)
            finished = builder.icmp_signed(">=", done, value)
            builder.store(builder.select(finished, done, builder.add(done, word(1))), target)
            jump_if(finished)
        elif number == UNLESS:
            flag = builder.load(builder.inttoptr(builder.load(target), BYTES))
            jump_if(builder.icmp_unsigned("==", flag, ir.Constant(flag.type, 0)))
        elif number == JUMP:
            builder.store(builder.add(k, jump), position)
        elif number == TURN:
            builder.store(builder.add(k, jump), position)
            turns = builder.add(builder.load(target), word(1))
            full = builder.icmp_signed(">=", turns, value)
            builder.store(builder.select(full, word(0), turns), target)
            builder.store(builder.zext(full, I64), expired)
        elif number == SET:
            builder.store(value, target)
        elif number == MOVE:
            builder.store(builder.add(builder.load(builder.inttoptr(value, WORDS)), jump), target)
        elif number == ADD:
            builder.store(builder.add(builder.load(target), value), target)
        elif number == CHECK:
            places = (builder.load(builder.gep(target, [word(n)])) for n in range(2))
            low, high = (builder.load(builder.inttoptr(place, WORDS)) for place in places)
            below = builder.icmp_signed("<", low, builder.neg(value))
            with builder.if_then(builder.or_(below, builder.icmp_signed(">=", high, value)), likely=False):
                builder.ret(word(OUT_OF_BOUNDS))
        else:
            into, source = (builder.load(builder.gep(target, [word(n)])) for n in range(2))
            copy_bytes(builder, into, source, value)
        builder.branch(following)
    builder.position_at_end(kernel)


def _emit_call(
    builder: ir.IRBuilder,
    row: ir.Value,
    threads: ir.Value,
    pool: ir.Value,
    share: ir.Function,
    raised: ir.Value,
    following: ir.Block,
) -> None:
    """Run the kernel of a row, in pieces on several threads if it is large enough, and go on at `following`.

    Floating-point flags of the pieces are added to the word at `raised`.
    """
    address, params, span, chunk = record(builder, row, word(0), ROW)
    several = builder.and_(
        builder.icmp_signed(">", chunk, word(0)),
        builder.and_(builder.icmp_signed(">", threads, word(1)), builder.icmp_signed(">", span, chunk)),
    )
    several = builder.and_(several, builder.icmp_signed("!=", pool, word(0)))
    with builder.if_then(several):
        pieces = builder.sdiv(builder.add(span, builder.sub(chunk, word(1))), chunk)
        helpers = builder.sub(threads, word(1))
        shared = builder.call(share, [builder.inttoptr(pool, WORDS), row, pieces, helpers])
        with builder.if_then(builder.icmp_signed(">=", shared, word(0))):
            builder.store(builder.or_(builder.load(raised), shared), raised)
            builder.branch(following)
    kernel = builder.inttoptr(address, KERNEL.as_pointer())
    builder.call(kernel, [builder.inttoptr(params, WORDS), word(0), span])
    builder.branch(following)


def _emit_piece(module: ir.Module) -> ir.Function:
    """``piece(row, number)``: run one piece of a row."""
    function, builder = defined(module, ir.FunctionType(ir.VoidType(), [WORDS, I64]), "jitrt_piece", internal=True)
    row, number = function.args
    address, params, span, chunk = record(builder, row, word(0), ROW)
    start = builder.mul(number, chunk)
    end = builder.add(start, chunk)
    end = builder.select(builder.icmp_signed("<", end, span), end, span)
    kernel = builder.inttoptr(address, KERNEL.as_pointer())
    builder.call(kernel, [builder.inttoptr(params, WORDS), start, end])
    builder.ret_void()
    return function


def emit_block_call(module: ir.Module, run: ir.Function) -> None:
    """Add the driver as a builtin to `module`: for calls that Python drives, in a fifth of the time of `ctypes`.

        jitrt_block(self, args, nargs, names) -> object      a METH_FASTCALL | METH_KEYWORDS function of four integers

    gives what ``jitrt_run`` gives for these, as an integer. Other Python threads run meanwhile.
    """
    function, builder = defined(module, ir.FunctionType(BYTES, [BYTES, WORDS, I64, BYTES]), "jitrt_block")
    call = partial(call_api, builder)
    objects = [builder.load(builder.gep(function.args[1], [word(k)])) for k in range(4)]
    block, *others = [call("PyLong_AsLongLong", value) for value in objects]
    thread = call("PyEval_SaveThread")
    state = builder.call(run, [builder.inttoptr(block, WORDS), *others])
    call("PyEval_RestoreThread", thread)
    builder.ret(builder.inttoptr(call("PyLong_FromLongLong", state), BYTES))
