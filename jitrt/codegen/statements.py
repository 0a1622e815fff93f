"""From statements of a procedure to LLVM instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from llvmlite import ir

from ..base.frozen import frozen
from ..frontend.control.values import NotStaged
from ..ir.integers import Poly
from ..ir.loops import (
    MOST_TRUNCATED,
    POINTER,
    Address,
    Checked,
    Compute,
    Do,
    External,
    For,
    Forever,
    Get,
    If,
    Integer,
    Leave,
    Literal,
    Load,
    Machine,
    Memory,
    Move,
    Procedure,
    Put,
    Scope,
    Statement,
    Stop,
    Store,
    Type,
    Update,
    statements_within,
)
from ..ir.ops.optable import OPS
from ..kernels import external, floatflags
from ..kernels.words import checked, copy_bytes, declared
from .conditions import held
from .context import I64, call_intrinsic, internal
from .context import POINTER as BYTES
from .countedloops import emit_for
from .kept import Joined, keep
from .scalar import data_type, emitter, from_memory, make_complex, to_memory, value_type
from .selections import Raising

WORDS = I64.as_pointer()
_I1 = ir.IntType(1)
_I32 = ir.IntType(32)
_MOST_UNROLLED = 32  # loops of a procedure; of more of them LLVM would make too much code
_SLACK = 64  # bytes: memory is aligned for vectors, and a little larger than asked for
_BITS = {"and": "and_", "or": "or_", "xor": "xor", "shl": "shl", "shr": "ashr", "udiv": "udiv", "urem": "urem"}


class Unsupported(NotStaged):
    """An operation on numbers that kernels cannot compute."""


@frozen(eq=False)
class Plan:
    """What is known of a procedure before it is emitted.

    How sums are formed is found out before passes change the procedure, so that it gives the same bits without them.

    Attributes
    ----------
    kept : set of str
        The names of what is computed although nothing may read it.
    blocks, lanes : set of str
        The indices of loops that form a sum by blocks, and of those whose folds are formed in lanes.
    independent : set of str
        The indices of loops whose turns never meet in memory.
    leaves : llvmlite.ir.Function, optional
        Asked in each turn of a loop, whether the procedure is left, see `baseline`.
    """

    kept: Set[str]
    blocks: Set[str]
    lanes: Set[str]
    independent: Set[str] = frozenset()
    leaves: ir.Function | None = None


class Statements:
    """Emission of the statements of one procedure, whose arguments are in `values`.

    Parameters
    ----------
    module : llvmlite.ir.Module
    procedure : Procedure
    function : llvmlite.ir.Function
        It gets its first block.
    plan : Plan
    """

    def __init__(self, module: ir.Module, procedure: Procedure, function: ir.Function, plan: Plan):
        self.module, self.procedure, self.function, self.plan = module, procedure, function, plan
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.workspace = function.args[1]  # where pieces of memory and their sizes stand
        self.raising = Raising(self.builder.ptrtoint(function.args[0], I64))  # addresses are below 2**47
        self.values: dict[str, ir.Value] = {}
        self.variables: dict[str, ir.Value] = {}
        self.unknown: dict[str, ir.Value] = {}  # numbers that variables are given
        self.labels: dict[str, ir.Block] = {}
        self.folds: dict[str, Callable[[ir.Value], None]] = {}  # what takes a value into an accumulator
        self.indices: list[str] = []  # of the loops around
        self.group: ir.MDValue | None = None  # of the accesses of an independent loop, while it is emitted
        self.routines: Any = None  # their code
        self.environment: ir.Value | None = None  # where the variables stand that routines share
        self.shared: Mapping[str, int] = {}  # these variables, and their fields
        self.is_conditional = False
        self.joined: Joined | None = None  # what takes what is kept, in a loop that may become one of vectors
        self.ways_out = 0  # how many have been emitted
        self.stopped: ir.Block | None = None
        self.stopped_by_others: Callable[[], ir.Value] | None = None  # asked where a loop may be endless
        self.domain = module.add_metadata([ir.MetaDataString(module, function.name)])
        self.scopes: dict[str, ir.MDValue] = {}
        self.marks: dict[str, tuple[ir.MDValue, ...]] = {}
        loops = sum(isinstance(s, For) for s in statements_within(procedure.body))
        self.has_many_loops = loops > _MOST_UNROLLED
        self.pieces = [sum(procedure.sites[:k]) for k in range(len(procedure.sites))]
        origins = [p.name for p in procedure.parameters if p.ndim >= 0]
        for origin in [*origins, "workspace", "environment", *(f"m{k}" for k in range(len(procedure.sites)))]:
            self._declare(origin)

    def _declare(self, origin: str) -> None:
        name = f"{self.function.name}.{origin}"
        self.scopes[origin] = self.module.add_metadata([ir.MetaDataString(self.module, name), self.domain])

    def _mark(self, instruction: ir.Instruction, scope: str) -> None:
        """Say which memory is accessed, so that loads and stores of different memory are independent."""
        if scope not in self.scopes:
            return
        if scope not in self.marks:
            others = [s for origin, s in self.scopes.items() if origin != scope]
            self.marks[scope] = tuple(map(self.module.add_metadata, ([self.scopes[scope]], others)))
        own, others = self.marks[scope]
        instruction.set_metadata("alias.scope", own)
        instruction.set_metadata("noalias", others)

    def block(self, body: Sequence[Statement]) -> None:
        """Emit statements up to one that ends the block."""
        for s in body:
            getattr(self, f"_{type(s).__name__.lower()}")(s)
            if self.builder.block.is_terminated:
                return

    def _literal(self, s: Literal) -> None:
        kind, value = value_type(s.dtype), s.value
        if isinstance(value, complex):
            number = ir.Constant(
                kind, [ir.Constant(kind.elements[k], v) for k, v in enumerate((value.real, value.imag))]
            )
        else:
            number = ir.Constant(kind, float(value) if s.dtype.kind == "f" else int(value))
        self.values[s.target] = self._unknown(number) if value != value else number  # of x + nan LLVM makes nan

    def _compute(self, s: Compute) -> None:
        op = OPS[s.op]
        computes_both = self.raising.computes_both(op, s.args, s.dtype)
        is_blended = computes_both and self.joined is not None
        emit = self.raising.blend if is_blended else emitter(op, s.dtypes, s.dtype)
        self.raising.note(s.target, op, s.args, s.dtypes)
        if emit is None:
            raise Unsupported(f"{s.op} of {', '.join(map(str, s.dtypes))}")
        args = [self.values[v] for v in s.args]
        if (self.is_conditional and s.is_guarded) or all(isinstance(a, ir.Constant) for a in args):
            args = held(self.builder, args)  # LLVM computes with numbers itself, and raises nothing
        elif computes_both and not is_blended:
            args[1:] = held(self.builder, args[1:])
        elif OPS[s.op].integer_flags and isinstance(args[0], ir.Constant) and s.dtype.kind == "f":
            args[0] = self._unknown(args[0])  # LLVM divides it by an integer that is 0 in the branch for zeros
        self.values[s.target] = emit(self.builder, args)
        if s.target in self.plan.kept:
            self.keep(self.values[s.target])

    def keep(self, value: ir.Value) -> None:
        if self.joined is not None:
            self.joined.add(self.builder, value)
        else:
            keep(self.builder, value)

    def _integer(self, s: Integer) -> None:
        self.values[s.target] = self.polynomial(s.value)

    def polynomial(self, value: Poly) -> ir.Value:
        """The value of a polynomial; what the innermost loops change is added last."""
        builder = self.builder
        total: ir.Value | None = None
        depth = {name: k for k, name in enumerate(self.indices)}
        for names, c in sorted(value.terms, key=lambda t: max((depth.get(n, -1) for n in t[0]), default=-1)):
            part: ir.Value | None = None
            for n in sorted(names, key=lambda n: depth.get(n, -1)):
                part = self.values[n] if part is None else builder.mul(part, self.values[n], flags=["nsw"])
            if part is None:
                part = ir.Constant(I64, c)
            elif c != 1:
                part = builder.mul(part, ir.Constant(I64, c), flags=["nsw"])
            total = part if total is None else builder.add(total, part, flags=["nsw"])
        return ir.Constant(I64, 0) if total is None else total

    def _machine(self, s: Machine) -> None:
        builder = self.builder
        x, y = (self.values[v] for v in s.args)
        if s.op in ("min", "max"):
            self.values[s.target] = call_intrinsic(builder, f"s{s.op}", (x, y))
        elif s.op in _BITS:
            self.values[s.target] = getattr(builder, _BITS[s.op])(x, y)
        elif s.op in ("floordiv", "mod"):
            integer = np.dtype(np.int64)
            emit = emitter(OPS["floor_divide" if s.op == "floordiv" else "remainder"], (integer, integer), integer)
            assert emit is not None
            self.values[s.target] = emit(builder, [x, y])
        else:
            self.values[s.target] = builder.icmp_signed(s.op, x, y)

    def _checked(self, s: Checked) -> None:
        builder = self.builder
        if s.op == "trunc":
            (x,) = (self.values[v] for v in s.args)
            limit = ir.Constant(x.type, MOST_TRUNCATED)
            self.stop_if(builder.fcmp_unordered(">=", call_intrinsic(builder, "fabs", (x,)), limit))
            self.values[s.target] = builder.fptosi(x, I64)
            return
        made, overflows = checked(builder, f"s{s.op}", *(self.values[v] for v in s.args))
        self.stop_if(overflows)
        self.values[s.target] = made

    def _address(self, s: Address) -> None:
        self.values[s.target] = self._place(s.base, s.offset)

    def _place(self, base: str, offset: Poly, dtype: np.dtype | None = None) -> ir.Value:
        """A pointer to a byte, or to an element, whose index in the innermost loop is added last."""
        builder = self.builder
        index = self.indices[-1] if self.indices else ""
        inner = Poly.of([(m, c) for m, c in offset.terms if m == (index,)])
        if dtype is not None and inner.terms and inner.terms[0][1] % dtype.itemsize == 0:
            start = builder.gep(self._base(base), [self.polynomial(offset - inner)], inbounds=True)
            element = builder.bitcast(start, data_type(dtype).as_pointer())
            steps = self.polynomial(Poly.of([(m, c // dtype.itemsize) for m, c in inner.terms]))
            return builder.bitcast(builder.gep(element, [steps], inbounds=True), BYTES)
        return builder.gep(self._base(base), [self.polynomial(offset)], inbounds=True)

    def _base(self, name: str) -> ir.Value:
        """A pointer; addresses that functions outside have given, or that are read from memory, are integers."""
        value = self.values[name]
        return self.builder.inttoptr(value, BYTES) if value.type == I64 else value

    def _pointer(self, s: Load | Store) -> ir.Value:
        place = self._place(s.base, s.offset, s.dtype)
        return self.builder.bitcast(place, data_type(s.dtype).as_pointer())

    def _load(self, s: Load) -> None:
        parts = []
        for pointer, dtype in self._parts(s):
            data = self.builder.load(pointer)
            data.align = 1 if s.encoding else dtype.alignment
            self._mark(data, s.scope)
            self._note_group(data)
            parts.append(from_memory(self.builder, dtype, data, s.encoding))
        self.values[s.target] = parts[0] if len(parts) == 1 else make_complex(self.builder, *parts)

    def _store(self, s: Store) -> None:
        builder, value = self.builder, self.values[s.value]
        if value.type == BYTES:  # an address, for a function outside
            value = builder.ptrtoint(value, I64)
        values = [value] if s.dtype.kind != "c" else [builder.extract_value(value, k) for k in range(2)]
        for (pointer, dtype), part in zip(self._parts(s), values):
            store = builder.store(to_memory(builder, dtype, part, s.encoding), pointer)
            store.align = 1 if s.encoding else dtype.alignment
            self._mark(store, s.scope)
            self._note_group(store)

    def _parts(self, s: Load | Store) -> list[tuple[ir.Value, np.dtype]]:
        """Where the parts of a complex number lie, of which LLVM makes two accesses in any case, or the number."""
        builder, pointer = self.builder, self._pointer(s)
        if s.dtype.kind != "c":
            return [(pointer, s.dtype)]
        part = np.dtype(f"f{s.dtype.itemsize // 2}")
        real = builder.bitcast(pointer, data_type(part).as_pointer())
        return [(real, part), (builder.gep(real, [ir.Constant(I64, 1)], inbounds=True), part)]

    def _note_group(self, access: ir.Instruction) -> None:
        """Say that an access meets none of another turn of the innermost loop, where that is known."""
        if self.group is not None:
            access.set_metadata("llvm.access.group", self.group)

    def variable(self, name: str, type_: Type) -> ir.Value:
        """The place of a variable."""
        if name in self.shared:
            return self.builder.gep(self.environment, [_I32(0), _I32(self.shared[name])], inbounds=True)
        if name not in self.variables:
            kind = BYTES if isinstance(type_, str) else value_type(type_)
            with self.builder.goto_entry_block():
                self.variables[name] = self.builder.alloca(kind)
                self.builder.store(ir.Constant(kind, None), self.variables[name])
        return self.variables[name]

    def _get(self, s: Get) -> None:
        value = self.values[s.target] = self.builder.load(self.variable(s.variable, s.type))
        if s.variable in self.shared:
            self._mark(value, "environment")

    def _put(self, s: Put) -> None:
        value = self._base(s.value) if s.type == POINTER else self.values[s.value]
        if isinstance(value, ir.Constant) and isinstance(value.type, (ir.FloatType, ir.DoubleType)):
            value = self._unknown(value)
        stored = self.builder.store(value, self.variable(s.variable, s.type))
        if s.variable in self.shared:
            self._mark(stored, "environment")

    def _unknown(self, number: ir.Constant) -> ir.Value:
        """A number that LLVM does not know, lest it compute what is made of it, and raise nothing."""
        key = str(number)
        if key not in self.unknown:
            with self.builder.goto_entry_block():
                (self.unknown[key],) = held(self.builder, (number,))
        return self.unknown[key]

    def _memory(self, s: Memory) -> None:
        """The first piece of the site that is not in use, enlarged if it is too small."""
        builder, first = self.builder, self.pieces[s.site]
        apart = [builder.ptrtoint(self.values[v], I64) for v in s.apart]
        table = self.workspace
        row = ir.Constant(I64, 2 * first)
        for k in reversed(range(self.procedure.sites[s.site] if apart else 1)):
            here = ir.Constant(I64, 2 * (first + k))
            known = self._row(builder.gep(table, [here]))
            is_free: ir.Value = ir.Constant(_I1, 1)
            for other in apart:
                is_free = builder.and_(is_free, builder.icmp_unsigned("!=", known, other))
            row = builder.select(is_free, here, row)
        place, size = builder.gep(table, [row]), builder.gep(table, [builder.add(row, ir.Constant(I64, 1))])
        nbytes = self.polynomial(s.nbytes)
        with builder.if_then(builder.icmp_signed(">", nbytes, self._row(size)), likely=False):
            self.stop_if(builder.call(self._enlarge(), [place, size, nbytes]))
        self.values[s.target] = builder.inttoptr(self._row(place), BYTES)

    def _move(self, s: Move) -> None:
        copy_bytes(self.builder, self._base(s.to), self._base(s.source), self.polynomial(s.nbytes))

    def _row(self, place: ir.Value) -> ir.Value:
        word = self.builder.load(place)
        self._mark(word, "workspace")
        return word

    def _enlarge(self) -> ir.Function:
        """``enlarge(place, size, nbytes) -> i1``: replace a piece of memory by a larger one; true if there is none."""
        name = f"{self.module.name}.enlarge"
        if name in self.module.globals:
            return self.module.globals[name]
        function = internal(self.module, ir.FunctionType(_I1, [WORDS, WORDS, I64]), name)
        place, size, nbytes = function.args
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        free = declared(self.module, "free", ir.FunctionType(ir.VoidType(), [BYTES]))
        malloc = declared(self.module, "malloc", ir.FunctionType(BYTES, [I64]))
        wanted = builder.add(nbytes, builder.add(builder.ashr(nbytes, ir.Constant(I64, 2)), ir.Constant(I64, _SLACK)))
        builder.call(free, [builder.inttoptr(builder.load(place), BYTES)])
        made = builder.ptrtoint(builder.call(malloc, [wanted]), I64)
        missing = builder.icmp_unsigned("==", made, ir.Constant(I64, 0))
        builder.store(made, place)
        builder.store(builder.select(missing, ir.Constant(I64, 0), wanted), size)
        builder.ret(missing)
        return function

    def _external(self, s: External) -> None:
        builder = self.builder
        args = []
        for name, type_ in zip(s.args, s.types):
            value = self.values[name]
            if type_ == POINTER and value.type == I64:
                value = builder.inttoptr(value, BYTES)
            elif type_ != POINTER and value.type == BYTES:
                value = builder.ptrtoint(value, I64)
            args.append(value)
        if external.raises(s.symbol):
            external.bind([s.symbol])
            kind = ir.FunctionType(_c_type(s.type), list(map(_c_type, s.types)))
            self.values[s.target] = builder.call(declared(self.module, s.symbol, kind), args)
            return
        self.values[s.target] = builder.call(self._keeping_flags(s), args)

    def _keeping_flags(self, s: External) -> ir.Function:
        """A function that calls one outside, and lets the floating-point exceptions be what they were.

        It is never inlined: to the compiler, arithmetic and flags are independent.
        """
        name = f"{self.function.name}.{s.symbol}"
        if name in self.module.globals:
            return self.module.globals[name]
        kind = ir.FunctionType(_c_type(s.type), list(map(_c_type, s.types)))
        around = internal(self.module, kind, name)
        around.attributes.add("noinline")
        builder = ir.IRBuilder(around.append_basic_block("entry"))
        external.bind([s.symbol])
        called = declared(self.module, s.symbol, kind)
        kept = floatflags.kept_flags(builder)
        made = builder.call(called, around.args)
        floatflags.restore_flags(builder, kept)
        builder.ret(made)
        return around

    def _stop(self, s: Stop) -> None:
        self.stop_if(self.values[s.condition])

    def stop_if(self, condition: ir.Value) -> None:
        builder = self.builder
        if self.stopped is None:
            self.stopped = builder.append_basic_block("stopped")
        going = builder.append_basic_block("going")
        branch = builder.cbranch(condition, self.stopped, going)
        branch.set_weights([1, 1 << 20])
        builder.position_at_end(going)

    def leave_if_asked(self) -> None:
        """Leave the baseline version if the optimised one is there."""
        if self.plan.leaves is not None:
            self.stop_if(self.builder.call(self.plan.leaves, []))

    def _do(self, s: Do) -> None:
        self.routines.run(self, s)

    def _if(self, s: If) -> None:
        builder = self.builder
        before, ways = self.is_conditional, self.ways_out
        then, otherwise, end = (builder.append_basic_block(n) for n in ("then", "else", "fi"))
        builder.cbranch(self.values[s.condition], then, otherwise)
        for start, body in ((then, s.then), (otherwise, s.otherwise)):
            builder.position_at_end(start)
            self.is_conditional = True
            self.block(body)
            if not builder.block.is_terminated:
                builder.branch(end)
        # Where one way leaves, what stands behind is under the condition, too.
        self.is_conditional = before or self.ways_out > ways
        builder.position_at_end(end)

    def _scope(self, s: Scope) -> None:
        builder, before = self.builder, self.is_conditional
        end = self.labels[s.label] = builder.append_basic_block(s.label)
        self.block(s.body)
        if not builder.block.is_terminated:
            builder.branch(end)
        self.is_conditional = before
        builder.position_at_end(end)

    def _leave(self, s: Leave) -> None:
        self.ways_out += 1
        self.builder.branch(self.labels[s.label])

    def _forever(self, s: Forever) -> None:
        builder = self.builder
        head = builder.append_basic_block("forever")
        builder.branch(head)
        builder.position_at_end(head)
        if self.stopped_by_others is not None:
            self.stop_if(self.stopped_by_others())
        self.leave_if_asked()
        self.turn("", s.body)
        if not builder.block.is_terminated:
            builder.branch(head)
        builder.position_at_end(builder.append_basic_block("never"))

    def turn(self, index: str, body: Sequence[Statement]) -> None:
        """A turn of a loop, which LLVM does not compute in vain: conditions around it hold nothing in it."""
        before, self.is_conditional = self.is_conditional, False
        self.indices.append(index)
        self.block(body)
        self.indices.pop()
        self.is_conditional = before

    def _for(self, s: For) -> None:
        emit_for(self, s)

    def _update(self, s: Update) -> None:
        self.folds[s.accumulator](self.values[s.value])


def _c_type(type_: Type) -> ir.Type:
    return BYTES if isinstance(type_, str) else I64 if type_.kind in "iu" else value_type(type_)
