"""Memory of large results: a NumPy memory handler (NEP 49) that keeps what was freed for the next result of that size.

The system gives fresh memory page by page, and each page costs an interrupt and its clearing: writing a fresh 8 MB
array takes ten times longer than computing it. So blocks that NumPy frees are kept, up to a limit, and given out again.
The arrays own their memory like any others.

`emit_allocator` adds the functions of a handler, ``jitrt_malloc`` and so on, whose context is an array of words
(`KEPT`, `BYTES_KEPT` …, then the address and the size of each kept block), and ``jitrt_release(context)``, which gives
all of it back. NumPy calls them with the GIL held.
"""

from __future__ import annotations

from llvmlite import ir

from .api import call_api
from .words import I32, I64, WORDS, defined, repeat_while, word

KEPT, BYTES_KEPT, LIMIT, SMALLEST, BLOCKS = range(5)
"""Words of the context: blocks kept, their bytes, the most bytes to keep, the smallest block to keep, the blocks."""
MOST_BLOCKS = 32
CONTEXT_WORDS = BLOCKS + 2 * MOST_BLOCKS

FUNCTIONS = ("jitrt_malloc", "jitrt_calloc", "jitrt_realloc", "jitrt_free")
"""In the order of the fields of ``PyDataMemAllocator``."""

_HUGE_PAGES = 14  # MADV_HUGEPAGE of Linux; elsewhere nothing is advised
_PAGE = 4096
_VOID = ir.VoidType()


def emit_allocator(module: ir.Module) -> None:
    """Add the functions of the handler to `module`."""
    _emit_malloc(module)
    for name, arity in (("calloc", 2), ("realloc", 2)):
        function, builder = _function(module, f"jitrt_{name}", I64, arity)
        builder.ret(call_api(builder, name, *function.args[1:]))
    _emit_free(module)
    _emit_release(module)


def _function(module: ir.Module, name: str, result: ir.Type, arity: int) -> tuple[ir.Function, ir.IRBuilder]:
    """A function of the context and `arity` words."""
    return defined(module, ir.FunctionType(result, [WORDS, *[I64] * arity]), name)


class _Context:
    """The words of a context."""

    def __init__(self, builder: ir.IRBuilder, words: ir.Value):
        self.builder, self.words = builder, words

    def place(self, k: ir.Value | int) -> ir.Value:
        return self.builder.gep(self.words, [word(k) if isinstance(k, int) else k])

    def get(self, k: ir.Value | int) -> ir.Value:
        return self.builder.load(self.place(k))

    def add(self, k: int, amount: ir.Value) -> None:
        self.builder.store(self.builder.add(self.get(k), amount), self.place(k))

    def block(self, k: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Where the address and the size of kept block `k` stand."""
        first = self.builder.add(word(BLOCKS), self.builder.shl(k, word(1)))
        return self.place(first), self.place(self.builder.add(first, word(1)))

    def forget(self, k: ir.Value) -> None:
        """Take block `k` off the list; the blocks behind it move up, so that the oldest is always the first."""
        builder = self.builder
        self.add(BYTES_KEPT, builder.neg(builder.load(self.block(k)[1])))
        self.add(KEPT, word(-1))
        with builder.goto_entry_block():
            index = builder.alloca(I64)
        builder.store(k, index)

        def move_up() -> None:
            here = builder.load(index)
            behind = builder.add(here, word(1))
            for target, source in zip(self.block(here), self.block(behind)):
                builder.store(builder.load(source), target)
            builder.store(behind, index)

        repeat_while(builder, lambda: builder.icmp_signed("<", builder.load(index), self.get(KEPT)), move_up)


def _emit_malloc(module: ir.Module) -> None:
    """A kept block of just this size, the latest first; else fresh memory, in huge pages where the system has them."""
    function, builder = _function(module, "jitrt_malloc", I64, 1)
    words, size = function.args
    context = _Context(builder, words)
    large = builder.icmp_unsigned(">=", size, context.get(SMALLEST))
    index = builder.alloca(I64)
    with builder.if_then(large):
        builder.store(context.get(KEPT), index)

        def look() -> None:
            k = builder.sub(builder.load(index), word(1))
            builder.store(k, index)
            start, extent = context.block(k)
            with builder.if_then(builder.icmp_signed("==", builder.load(extent), size)):
                found = builder.load(start)
                context.forget(k)
                builder.ret(found)

        repeat_while(builder, lambda: builder.icmp_signed(">", builder.load(index), word(0)), look)
    fresh = call_api(builder, "malloc", size)
    with builder.if_then(builder.and_(large, builder.icmp_signed("!=", fresh, word(0)))):
        start = builder.and_(builder.add(fresh, word(_PAGE - 1)), word(-_PAGE))
        extent = builder.sub(builder.add(fresh, size), start)
        call_api(builder, "madvise", start, extent, ir.Constant(I32, _HUGE_PAGES))
    builder.ret(fresh)


def _emit_free(module: ir.Module) -> None:
    """Keep the block; the oldest ones make room for it."""
    function, builder = _function(module, "jitrt_free", _VOID, 2)
    words, start, size = function.args
    context = _Context(builder, words)
    too_small = builder.icmp_unsigned("<", size, context.get(SMALLEST))
    too_large = builder.icmp_unsigned(">", size, context.get(LIMIT))
    with builder.if_then(builder.or_(too_small, too_large)):
        call_api(builder, "free", start)
        builder.ret_void()

    def crowded() -> ir.Value:
        full = builder.icmp_signed("==", context.get(KEPT), word(MOST_BLOCKS))
        heavy = builder.icmp_unsigned(">", builder.add(context.get(BYTES_KEPT), size), context.get(LIMIT))
        return builder.or_(full, heavy)

    def drop_oldest() -> None:
        call_api(builder, "free", builder.load(context.block(word(0))[0]))
        context.forget(word(0))

    repeat_while(builder, crowded, drop_oldest)
    place, extent = context.block(context.get(KEPT))
    builder.store(start, place)
    builder.store(size, extent)
    context.add(KEPT, word(1))
    context.add(BYTES_KEPT, size)
    builder.ret_void()


def _emit_release(module: ir.Module) -> None:
    function, builder = _function(module, "jitrt_release", _VOID, 0)
    context = _Context(builder, function.args[0])

    def drop() -> None:
        call_api(builder, "free", builder.load(context.block(word(0))[0]))
        context.forget(word(0))

    repeat_while(builder, lambda: builder.icmp_signed(">", context.get(KEPT), word(0)), drop)
    builder.ret_void()
