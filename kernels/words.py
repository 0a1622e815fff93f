"""Native code in terms of 64-bit words: constants, tables, loops, and calls of functions outside of the module."""

from __future__ import annotations

import platform
from collections.abc import Callable

from llvmlite import ir

I64 = ir.IntType(64)
I32 = ir.IntType(32)
I1 = ir.IntType(1)
WORDS = I64.as_pointer()
BYTES = ir.IntType(8).as_pointer()


def word(value: int) -> ir.Constant:
    """A 64-bit constant."""
    return ir.Constant(I64, value)


def symbol(name: str) -> str:
    """The symbol under which a function of CPython, NumPy or the system is linked."""
    return f"jitrt.api.{name}"


def defined(
    module: ir.Module, kind: ir.FunctionType, name: str, internal: bool = False
) -> tuple[ir.Function, ir.IRBuilder]:
    """A new function of a module, and what builds it; others do not see it if it is `internal`."""
    function = ir.Function(module, kind, name)
    if internal:
        function.linkage = "internal"
    return function, ir.IRBuilder(function.append_basic_block("entry"))


def declared(module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    """The function of that name, of the C library say, in a module, whether it is there already or not."""
    found = module.globals.get(name)
    return ir.Function(module, kind, name) if found is None else found


def copy_bytes(builder: ir.IRBuilder, into: ir.Value, source: ir.Value, nbytes: ir.Value) -> None:
    """Copy so many bytes from one address to another one."""
    copy = builder.module.declare_intrinsic("llvm.memcpy", [BYTES, BYTES, I64])
    places = [builder.inttoptr(place, BYTES) if place.type == I64 else place for place in (into, source)]
    builder.call(copy, [*places, nbytes, ir.Constant(I1, 0)])


def checked(builder: ir.IRBuilder, op: str, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A sum, difference or product (``sadd``, ``ssub``, ``smul``) of words, and whether it does not fit into one."""
    kind = ir.FunctionType(ir.LiteralStructType([I64, I1]), [I64, I64])
    made = builder.call(builder.module.declare_intrinsic(f"llvm.{op}.with.overflow", [I64], kind), [x, y])
    return builder.extract_value(made, 0), builder.extract_value(made, 1)


def variable(builder: ir.IRBuilder, first: int = 0) -> ir.Value:
    """A local word, which is `first` now."""
    with builder.goto_entry_block():
        place = builder.alloca(I64)
    builder.store(word(first), place)
    return place


def clock(builder: ir.IRBuilder) -> ir.Value:
    """Ticks of the processor's clock; 0 where reading it is not for everybody."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return word(0)
    counter = builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(I64, []))
    return builder.call(counter, [])


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


def repeat_while(builder: ir.IRBuilder, condition: Callable[[], ir.Value], body: Callable[[], None]) -> None:
    """``while condition(): body()``."""
    head, inside, after = (builder.append_basic_block(name) for name in ("while", "do", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    builder.cbranch(condition(), inside, after)
    builder.position_at_end(inside)
    body()
    builder.branch(head)
    builder.position_at_end(after)


def by_case(builder: ir.IRBuilder, value: ir.Value, cases: dict[int, Callable[[], None]]) -> None:
    """Emit for each constant that `value` may be what is done then; nothing is for others."""
    after = builder.append_basic_block("after")
    switch = builder.switch(value, after)
    for constant, emit in cases.items():
        case = builder.append_basic_block("case")
        switch.add_case(word(constant), case)
        builder.position_at_end(case)
        emit()
        builder.branch(after)
    builder.position_at_end(after)


class Words:
    """Words of a table: ``words["busy"]`` reads one, ``words.set("busy", value)`` writes it."""

    def __init__(self, builder: ir.IRBuilder, names: tuple[str, ...], address: ir.Value):
        self.builder = builder
        self.address = address
        self.places = {name: builder.gep(address, [word(k)]) for k, name in enumerate(names)}

    def __getitem__(self, name: str) -> ir.Value:
        return self.builder.load(self.places[name])

    def set(self, name: str, value: ir.Value) -> None:
        self.builder.store(value, self.places[name])
