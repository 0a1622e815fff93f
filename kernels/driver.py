"""The native driver: binds pointers and walks a table of kernel calls, serial or in chunks on several threads.

`emit_driver` adds to a module

    jitrt_run(block: i64*, objects: i64)

where `block` is a table of 64-bit words (its layout is `Header` and `Row` below) and `objects` the address of a Python
tuple that holds the arrays of this call. First the addresses of the arrays' data are written into the parameters of
the kernels, then the kernels are called in order.
"""

from __future__ import annotations

from llvmlite import ir

I64 = ir.IntType(64)
I32 = ir.IntType(32)
WORDS = I64.as_pointer()
BYTES = ir.IntType(8).as_pointer()

# Words of the header of a block. `threads` is the address of the number of threads that the process allows, `limit`
# how many the function does.
HEADER = (
    "patches",
    "patch_table",
    "rows",
    "row_table",
    "threads",
    "limit",
    "parallel_for",
    "item_offset",
    "data_offset",
)
# A patch writes the address of item `item` of the tuple plus `offset` to the word at the address `target`.
PATCH = ("target", "item", "offset")
# A row calls `kernel(params, 0, span)`; with `chunk` > 0 in pieces of that many iterations on several threads.
ROW = ("kernel", "params", "span", "chunk")

KERNEL = ir.FunctionType(ir.VoidType(), [WORDS, I64, I64])
# numba's threading layers: parallel_for(function, args, dimensions, steps, data, inner_ndim, array_count, threads).
_PARALLEL_FOR = ir.FunctionType(ir.VoidType(), [BYTES] * 5 + [I64, I64, I32])
_CHUNK = ir.FunctionType(ir.VoidType(), [BYTES.as_pointer(), WORDS, WORDS, BYTES])


def emit_driver(module: ir.Module) -> ir.Function:
    """Add ``jitrt_run`` and what it needs to `module`."""
    chunk = _emit_chunk(module)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [WORDS, I64]), "jitrt_run")
    block, objects = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    words = {name: builder.load(builder.gep(block, [word(k)])) for k, name in enumerate(HEADER)}
    allowed = builder.load(builder.inttoptr(words["threads"], WORDS))
    threads = builder.select(builder.icmp_signed("<", allowed, words["limit"]), allowed, words["limit"])
    dimensions, steps, args = (builder.alloca(I64, 2) for _ in range(3))

    items = builder.add(objects, words["item_offset"])
    patches = builder.inttoptr(words["patch_table"], WORDS)
    with counted(builder, words["patches"]) as k:
        target, item, offset = record(builder, patches, k, PATCH)
        slot = builder.add(items, builder.shl(item, word(3)))
        array = builder.load(builder.inttoptr(slot, WORDS))
        data = builder.load(builder.inttoptr(builder.add(array, words["data_offset"]), WORDS))
        builder.store(builder.add(data, offset), builder.inttoptr(target, WORDS))

    rows = builder.inttoptr(words["row_table"], WORDS)
    with counted(builder, words["rows"]) as k:
        address, params, span, size = record(builder, rows, k, ROW)
        several = builder.and_(
            builder.icmp_signed(">", size, word(0)),
            builder.and_(builder.icmp_signed(">", threads, word(1)), builder.icmp_signed(">", span, size)),
        )
        with builder.if_else(several) as (parallel, serial):
            with parallel:
                pieces = builder.sdiv(builder.add(span, builder.sub(size, word(1))), size)
                builder.store(pieces, dimensions)
                # One "array" that starts at address 0 and advances by 1: its pointer is the number of the piece.
                builder.store(word(0), args)
                builder.store(word(1), steps)
                row = builder.gep(rows, [builder.mul(k, word(len(ROW)))])
                builder.call(
                    builder.inttoptr(words["parallel_for"], _PARALLEL_FOR.as_pointer()),
                    [
                        *(builder.bitcast(p, BYTES) for p in (chunk, args, dimensions, steps, row)),
                        word(0),
                        word(1),
                        builder.trunc(threads, I32),
                    ],
                )
            with serial:
                kernel = builder.inttoptr(address, KERNEL.as_pointer())
                builder.call(kernel, [builder.inttoptr(params, WORDS), word(0), span])
    builder.ret_void()
    return function


def _emit_chunk(module: ir.Module) -> ir.Function:
    """The function that a thread runs: piece number ``args[0]`` of the row at `data`."""
    function = ir.Function(module, _CHUNK, "jitrt_chunk")
    args, _, _, data = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    piece = builder.ptrtoint(builder.load(args), I64)
    address, params, span, size = record(builder, builder.bitcast(data, WORDS), word(0), ROW)
    start = builder.mul(piece, size)
    end = builder.add(start, size)
    end = builder.select(builder.icmp_signed("<", end, span), end, span)
    kernel = builder.inttoptr(address, KERNEL.as_pointer())
    builder.call(kernel, [builder.inttoptr(params, WORDS), start, end])
    builder.ret_void()
    return function


def word(value: int) -> ir.Constant:
    """A 64-bit constant."""
    return ir.Constant(I64, value)


def record(builder: ir.IRBuilder, table: ir.Value, k: ir.Value, fields: tuple[str, ...]) -> list[ir.Value]:
    """The fields of record `k` of a table of words."""
    first = builder.mul(k, word(len(fields)))
    return [builder.load(builder.gep(table, [builder.add(first, word(j))])) for j in range(len(fields))]


class counted:
    """``for k in range(count):`` as a context."""

    def __init__(self, builder: ir.IRBuilder, count: ir.Value):
        self.builder, self.count = builder, count

    def __enter__(self) -> ir.Value:
        builder = self.builder
        before = builder.block
        self.head = builder.append_basic_block("for")
        body = builder.append_basic_block("do")
        self.after = builder.append_basic_block("done")
        builder.branch(self.head)
        builder.position_at_end(self.head)
        self.index = builder.phi(I64)
        self.index.add_incoming(word(0), before)
        builder.cbranch(builder.icmp_signed("<", self.index, self.count), body, self.after)
        builder.position_at_end(body)
        return self.index

    def __exit__(self, *exception: object) -> None:
        builder = self.builder
        self.index.add_incoming(builder.add(self.index, word(1)), builder.block)
        builder.branch(self.head)
        builder.position_at_end(self.after)
