"""The recorder: makes the statements of a procedure, in order, each name once."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...ir import loops as ir
from ...ir.integers import Facts, Poly
from ...ir.types import NATIVE, SWAPPED, UNALIGNED
from ...values.functions import MISSING
from . import forced
from .values import INT, LISTED, NotStaged, View

MOST_EXTENT = 1 << 47  # of an array in memory
_WHOLE_ARRAY = 12  # statements that an operation on whole arrays counts as
_SOME_TURNS = 8  # of a loop in a loop
_MOST_STATEMENTS = 6000  # of one procedure; a longer one is not worth the time of compiling it


class Recorder:
    """Statements as they are recorded.

    Attributes
    ----------
    facts : Facts
        What is known of names.
    parameters : list of Parameter
    lists : dict
        The kinds of elements that lists were found to hold, by the places where they are made.
    guesses : dict
        For those of which a kind was supposed, whether it still is.
    cells : dict
        The kinds of what is assigned to attributes and items, by the places of what holds them and by their names.
    changing : set
        Places of objects that are changed when they have been made; and, with their names, attributes that may not be
        assigned on all ways.
    begins_again : bool
        Whether something has become known that what has been recorded does not consider.
    """

    def __init__(
        self,
        lists: dict[Hashable, Any] | None = None,
        guesses: dict[Hashable, bool] | None = None,
        cells: dict[Hashable, dict[Any, Any]] | None = None,
        changing: set[Hashable] | None = None,
    ) -> None:
        self.lists = {} if lists is None else lists
        self.guesses = {} if guesses is None else guesses
        self.cells: dict[Hashable, dict[Any, Any]] = {} if cells is None else cells
        self.changing: set[Hashable] = set() if changing is None else changing
        self.begins_again = False
        self.branched: set[int] | None = None  # operands of the chains that are recorded now which are no bare values
        self._changes: list[tuple[dict[Any, Any], Any, Any]] = []  # of objects: what was there before
        self.given_away: list[Any] = []  # objects that lists of run time hold
        self.holders: list[Any] = []  # that have parts which are assigned
        self.grown: list[Any] = []  # lists that are made
        self.pools: dict[Hashable, Any] = {}  # of lists that are held by reference
        self.initial: list[tuple[str, int]] = []  # variables that hold integers from the beginning
        self.iterated: list[Any] = []  # lists that loops are running over
        self.supposed: set[Hashable] = set()  # uses of what a list may hold, before that is known
        self.facts = Facts()
        self.parameters: list[ir.Parameter] = []
        self._block: list[ir.Statement] = []
        self._known: list[dict[Hashable, Any]] = [{}]
        self._names = self._variables = self._labels = self.recorded = self._blocks = 0
        self._inside = [0]  # the block that is recorded, and those around it
        self._defined: dict[str, int] = {}  # in which block
        self.stores = 0  # so far: what was loaded before one is not known behind it
        self._routines: dict[str, ir.Routine] = {}
        self.shared: dict[Hashable, Any] = {}  # routines, by what they depend on
        self._sites: dict[Hashable, int] = {}
        self._pieces: dict[int, int] = {}
        self.loads: list[tuple[View, Poly]] = []
        self.fields: dict[str, tuple[int, int, int]] = {}  # arguments that are fields of arrays of records
        self.encodings: dict[str, str] = {}  # of arguments whose elements do not lie as in other memory
        self.innermost: Poly | None = (
            None  # the index of the innermost loop of an operation on arrays, while it is recorded
        )
        self.written_to: frozenset[str] = frozenset()
        self.time = 0  # stores, and pieces of memory that were made
        self._written_at: dict[tuple[str, str], int] = {}  # the latest store by a pointer to an origin
        self._made_at: dict[str, int] = {}
        self.depth = 0  # of loops of the user's
        self.branches = 0  # of choices that statements are in
        self.catches_warnings = False
        self.in_first_iteration = False  # of a loop, which is recorded by itself
        self.has_loops = False  # of the user's
        self.has_products = False  # of matrices
        self.nests = 0  # loops so far that are not the user's: of operations on whole arrays
        self._varying: set[str] = set()
        self.is_elementwise = False  # whether loops of the user's work on parts that their numbers or values choose
        self.trusts = False  # whether indices are in range where it does not say so, and integers do not overflow
        self.unrolled: set[int] = set()  # lines of the staged function's loops that are no loops any more
        self.looks_at_values = False  # whether values decide how often whole arrays are computed
        self.trips = self.most_trips = 1.0  # of the user's loops: how often runs what is recorded; at most
        self.live: Callable[[str], list[str]] = lambda origin: []  # pointers of variables into memory of that origin
        self.meanings: dict[str, tuple[str, Poly, Poly]] = {}  # of truth values that are comparisons of integers
        self.is_large = False  # whether there are arguments that large matrices may be made of
        self.is_long = self.asked_for_long = False  # whether arguments have many elements; whether that matters
        self.first_iterations = 0  # that are recorded by themselves
        self.inlined = 0  # calls of the user's functions, those in attempts that were taken back as well
        self.steps: list[Any] = []  # that Python executes
        self.pending: dict[object, Any] = {}  # arrays whose elements may not all be read, see `forced`
        self.ignored: frozenset[str] = frozenset()  # floating-point exceptions, in this part of the program
        self._whole: dict[int, tuple[str, Poly]] = {}  # by blocks: the loops from 0 on, and how often they run
        # In the user's loops, as often as they run: statements, and calls of functions outside.
        self.saved = self.called = 0
        self._place: tuple[Hashable, ...] = ()
        self._places = 0

    # -- names

    def name(self) -> str:
        self._names += 1
        name = f"t{self._names}"
        self._defined[name] = self._inside[-1]
        return name

    @property
    def inside(self) -> int:
        """The block that is recorded."""
        return self._inside[-1]

    def change(self, values: dict[Any, Any], key: Any, value: Any) -> None:
        """Change what is known of an object, until that is taken back."""
        self._changes.append((values, key, values.get(key, MISSING)))
        values[key] = value

    def loops_since(self, block: int) -> dict[str, Poly] | None:
        """The indices from 0 on of the loops in `block` around what is recorded, and how often these run.

        None where it stands elsewhere, or where there is something else around it, as a choice.
        """
        if block not in self._inside:
            return None
        blocks = self._inside[self._inside.index(block) + 1 :]
        return dict(self._whole[b] for b in blocks) if all(b in self._whole for b in blocks) else None

    def around(self) -> frozenset[int]:
        """The blocks whose names can be used here."""
        return frozenset(self._inside)

    def are_defined(self, names: Iterable[str], blocks: frozenset[int]) -> bool:
        """Whether all names are defined in `blocks`; parameters are everywhere."""
        return all(self._defined.get(n, 0 if not n.startswith("t") else -1) in blocks for n in names)

    def variable(self) -> str:
        """A new variable, which may change."""
        self._variables += 1
        return f"v{self._variables}"

    def label(self) -> str:
        self._labels += 1
        return f"L{self._labels}"

    @property
    def _turns(self) -> int:
        """About how often statements run here, in loops of the user's."""
        return _SOME_TURNS**self.depth if self.depth else 0

    def emit(self, statement: ir.Statement) -> None:
        self.recorded += 1
        self.saved += self._turns
        if self.recorded > _MOST_STATEMENTS:
            raise NotStaged("it is too long")
        self._block.append(statement)

    def _remembered(self, key: Hashable, make: Callable[[str], ir.Statement]) -> str:
        for known in self._known:
            if key in known:
                return known[key]
        name = self.name()
        statement = make(name)
        self.emit(statement)
        self._known[-1][key] = name
        if isinstance(statement, ir.Load):
            self._note_varying(name)
        elif isinstance(statement, ir.Integer):
            self._note_varying(name, statement.value.names())
        elif isinstance(statement, (ir.Compute, ir.Machine, ir.Checked)):
            self._note_varying(name, statement.args)
        return name

    def _note_varying(self, name: str, operands: Iterable[str] | None = None) -> None:
        """Note that a name is another value in each turn of a loop of the user's, if one of its operands is."""
        if self.depth and (operands is None or not self._varying.isdisjoint(operands)):
            self._varying.add(name)

    # -- blocks

    @contextlib.contextmanager
    def block(self, block: list[ir.Statement] | None = None) -> Iterator[list[ir.Statement]]:
        """A context that records into a block of its own, or at the end of `block`.

        What is found out in it is forgotten at its end.
        """
        before, self._block = self._block, [] if block is None else block
        self._blocks += 1
        self._inside.append(self._blocks)
        facts = len(self.facts.natural)
        self._known.append({})
        try:
            yield self._block
            forced.compute(self, is_end=True)
        finally:
            self._inside.pop()
            self._known.pop()
            self._block = before
            del self.facts.natural[facts:]

    @contextlib.contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """A context whose statements run where a truth value is true."""
        with self.block() as then:
            yield
        self.choice(condition, then, ())

    @contextlib.contextmanager
    def states(self) -> Iterator[None]:
        """A context at whose end, however it ends, what is ignored, caught and supposed is as it was."""
        before = self.catches_warnings, self.ignored, self.in_first_iteration
        try:
            yield
        finally:
            self.catches_warnings, self.ignored, self.in_first_iteration = before

    @contextlib.contextmanager
    def branch(self) -> Iterator[None]:
        """A context that is a part of a choice."""
        self.branches += 1
        try:
            yield
        finally:
            self.branches -= 1

    @contextlib.contextmanager
    def beginning(self) -> Iterator[list[ir.Statement]]:
        """A context that records what will stand in front of everything: nothing that was found out is known in it."""
        known, self._known = self._known, []
        try:
            with self.block() as block:
                yield block
        finally:
            self._known = known

    def routine(
        self, record: Callable[..., str | None], types: Sequence[ir.Type] = (), is_rare: bool = False
    ) -> Callable[..., str]:
        """A function that runs the routine which `record` records.

        `record` gets names of arguments of these types, and may give the name of an integer; what else a routine uses
        are variables.
        """
        known, inside, natural = self._known, self._inside, list(self.facts.natural)
        self._known, self._inside, self.facts.natural[:] = [], [0], []
        name, since = f"R{len(self._routines)}", self.time
        self._routines[name] = ir.Routine(name, (), ())

        def run(*args: str) -> str:
            if written:
                self.stores += 1
                self.time += 1
                self._written_at |= dict.fromkeys(written, self.time)
            target = self.name() if result else ""
            self.emit(ir.Do(target, name, args))
            self._note_varying(target)
            return target

        try:
            with self.block() as body:
                parameters = tuple((self.name(), type_) for type_ in types)
                made = record(*(parameter for parameter, _ in parameters))
                result = None if made is None else (self.variable(), INT)
                if made is not None and result is not None:
                    self.put(result[0], made, INT)
        finally:
            self._known, self._inside, self.facts.natural[:] = known, inside, natural
        self._routines[name] = ir.Routine(name, parameters, tuple(body), result, is_rare)
        written = [key for key, at in self._written_at.items() if at > since]
        self.stores += 1
        return run

    @contextlib.contextmanager
    def attempt(self) -> Iterator[Callable[[], None]]:
        """A context around what may be recorded in vain; the function that it gives takes everything back."""
        block, length = self._block, len(self._block)
        known = [dict(k) for k in self._known]
        state, first = (self.recorded, self.stores, self.nests, len(self.steps), self.saved, self.called), self._names
        natural, lists = list(self.facts.natural), [(made, made.state()) for made in self.grown]
        holders, given, changes = len(self.holders), len(self.given_away), len(self._changes)
        pending = dict(self.pending)

        def take_back() -> None:
            assert self._block is block
            del block[length:]
            self._known = known
            self.recorded, self.stores, self.nests, steps, self.saved, self.called = state
            del self.steps[steps:]
            for made, its in lists:
                made.restore(its)
            self.facts.natural[:] = natural
            del self.holders[holders:]
            del self.given_away[given:]
            self.pending = dict(pending)
            while len(self._changes) > changes:
                values, key, before = self._changes.pop()
                values.pop(key) if before is MISSING else values.update({key: before})
            for k in range(first + 1, self._names + 1):
                self._defined.pop(f"t{k}", None)

        yield take_back

    @contextlib.contextmanager
    def loop(
        self,
        start: Poly,
        stop: Poly,
        step: int = 1,
        folds: Sequence[ir.Fold] = (),
        varying: bool = False,
        is_nest: bool = True,
        part_of: Poly | None = None,
    ) -> Iterator[Poly]:
        """A context in which the body of a loop is recorded; it gives the index.

        `varying` loops hold whole statements of the user's: stores of one iteration are seen by the next one. Others
        are nests of operations on arrays, or bookkeeping. With those behind it, one may run as often as `part_of` says.
        """
        if is_nest and not varying:
            self.nests += 1
            self.saved += _WHOLE_ARRAY * self._turns
        index = self.name()
        ends = ([start], [stop - 1]) if step > 0 else ([stop + 1], [start])
        self.facts.bound(index, *ends)
        if varying:
            self.stores += 1
            self._note_varying(index)
        with self.block() as body:
            self.facts.natural.append(stop - start - 1 if step > 0 else start - stop - 1)
            if step == 1 and (part_of is not None or not start.terms):
                self._whole[self.inside] = index, stop if part_of is None else part_of
            yield Poly.name(index)
        self.stores += 1
        self.emit(ir.For(index, start, stop, step, tuple(body), tuple(folds)))

    def forever(self, body: Sequence[ir.Statement]) -> None:
        self.stores += 1
        self.emit(ir.Forever(tuple(body)))

    def choice(self, condition: str, then: Sequence[ir.Statement], otherwise: Sequence[ir.Statement]) -> None:
        self.stores += 1
        self.emit(ir.If(condition, tuple(then), tuple(otherwise)))

    def scope(self, label: str, body: Sequence[ir.Statement]) -> None:
        self.stores += 1
        self.emit(ir.Scope(label, tuple(body)))

    def leave(self, label: str) -> None:
        self.emit(ir.Leave(label))

    def written(self) -> None:
        """Forget what was loaded: memory may have changed."""
        self.stores += 1

    # -- values

    def literal(self, value: Any, dtype: np.dtype) -> str:
        number = np.asarray(value).astype(dtype)[()]
        key = "literal", dtype.str, number.tobytes()
        plain = number.item() if dtype.kind != "c" else complex(number)
        return self._remembered(key, lambda name: ir.Literal(name, dtype, plain))

    def integer(self, value: Poly) -> str:
        """The name of a 64-bit integer."""
        if len(value.terms) == 1 and value.terms[0][1] == 1 and len(value.terms[0][0]) == 1:
            return value.terms[0][0][0]
        if not all(-(1 << 63) <= c < 1 << 63 for _, c in value.terms):
            raise NotStaged("an integer of more than 64 bits")
        if value.constant is not None:
            return self.literal(value.constant, INT)
        return self._remembered(("integer", value), lambda name: ir.Integer(name, value))

    def compute(
        self, op: str, args: Sequence[str], dtypes: np.dtype | Sequence[np.dtype], dtype: np.dtype | None = None
    ) -> str:
        """What an operation makes of numbers.

        `dtypes` are those of the operands, or the one that they all have; that is the result's, too, unless `dtype` is.
        """
        operands = (dtypes,) * len(args) if isinstance(dtypes, np.dtype) else tuple(dtypes)
        dtype = operands[0] if dtype is None else dtype
        if op == "cast" and operands[0].kind == "c" and dtype.kind in "iuf":
            raise NotStaged("complex numbers become real ones, of which NumPy warns")
        key = op, tuple(args), tuple(d.str for d in operands), dtype.str
        return self._remembered(key, lambda name: ir.Compute(name, op, tuple(args), operands, dtype))

    def cast(self, name: str, source: np.dtype, target: np.dtype) -> str:
        return name if source == target else self.compute("cast", [name], source, target)

    def at_least_zero(self, value: Poly) -> Poly:
        """An integer that is not negative, or the procedure stops."""
        self.require(value)
        return self.narrowed(value, 0, (1 << 63) - 1)

    def narrowed(self, value: Poly, low: int, high: int) -> Poly:
        """An integer under another name, of which it is known here that it lies between two numbers."""
        name = self._remembered(("narrowed", value, low, high), lambda name: ir.Integer(name, value))
        return self.bounded(name, low, high)

    def bounded(self, name: str, low: Poly | int, high: Poly | int) -> Poly:
        """The integer that a name stands for, which lies between two numbers."""
        if name not in self.facts:
            self.facts.bound(name, [low], [high])
        return Poly.name(name)

    def of_dtype(self, name: str, dtype: np.dtype) -> Poly:
        """The integer that a name stands for, which is one of this dtype."""
        if name not in self.facts:
            limits = np.iinfo(dtype)
            self.facts.bound(name, [int(limits.min)], [int(limits.max)])
        return Poly.name(name)

    def machine(self, op: str, x: Poly, y: Poly, lows: Sequence[Poly | int] = (), highs: Sequence[Any] = ()) -> str:
        """An operation on integers; for comparisons the name of a truth value."""
        names = self.integer(x), self.integer(y)
        made = self._remembered((op, *names), lambda name: ir.Machine(name, op, names))
        if op in ir.OPPOSITE:
            self.meanings[made] = op, x, y
        elif made not in self.facts:
            self.facts.bound(made, lows, highs)
        return made

    def in_steps(self, length: Poly, step: int) -> Poly:
        """How many steps begin in a length, which is not negative."""
        if step == 1:
            return length
        return Poly.name(self.machine("floordiv", length + (step - 1), Poly.number(step), [0], [length]))

    def minimum(self, x: Poly, y: Poly) -> Poly:
        """The smaller of two integers."""
        if self.facts.is_at_least(y - x):
            return x
        if self.facts.is_at_least(x - y):
            return y
        lows = [z for z in (x, y) if self.facts.is_at_least((x + y - z) - z)]
        low = min(self.facts.interval(x)[0], self.facts.interval(y)[0])
        return Poly.name(self.machine("min", x, y, [*lows, low], [x, y]))

    def maximum(self, x: Poly, y: Poly) -> Poly:
        """The larger of two integers."""
        if self.facts.is_at_least(x - y):
            return x
        if self.facts.is_at_least(y - x):
            return y
        high = max(self.facts.interval(x)[1], self.facts.interval(y)[1])
        return Poly.name(self.machine("max", x, y, [x, y], [high]))

    def checked(self, op: str, x: Poly, y: Poly) -> Poly:
        """A sum, difference or product that may not fit into 64 bits: the procedure stops then."""
        if self.trusts:
            return Poly.name(self.integer({"add": x + y, "sub": x - y, "mul": x * y}[op]))
        names = self.integer(x), self.integer(y)
        return self.of_dtype(self._remembered(("check", op, *names), lambda name: ir.Checked(name, op, names)), INT)

    def truncated(self, name: str) -> Poly:
        """A float64 as an integer, towards zero; the procedure stops where it is too large, or none."""
        made = self._remembered(("truncated", name), lambda target: ir.Checked(target, "trunc", (name,)))
        return self.bounded(made, -int(ir.MOST_TRUNCATED), int(ir.MOST_TRUNCATED))

    def get(self, variable: str, type_: ir.Type, chooses: bool = True) -> str:
        """What a variable holds; `chooses` says that it is a number of the user's, which may choose parts of arrays."""
        name = self.name()
        self.emit(ir.Get(name, variable, type_))
        if chooses:
            self._note_varying(name)
        return name

    def extent(self, variable: str) -> Poly:
        """The extent, or the number of elements, that a variable holds."""
        return self.bounded(self.get(variable, INT, chooses=False), 0, MOST_EXTENT)

    def put(self, variable: str, value: str, type_: ir.Type) -> None:
        self.emit(ir.Put(variable, value, type_))

    # -- checks

    def stop(self, condition: str) -> None:
        """Stop where a truth value is true."""
        key = "stop", condition
        if not any(key in known for known in self._known):
            self._known[-1][key] = True
            self.emit(ir.Stop(condition))

    def suppose(self, condition: str, holds: bool) -> None:
        """In the block that is recorded, a truth value is known."""
        op, x, y = self.meanings.get(condition, ("", Poly(()), Poly(())))
        if not holds:
            op = ir.OPPOSITE.get(op, "")
        if op in ("<", "<=", "=="):
            self.facts.natural.append(y - x - (op == "<"))
        if op in (">", ">=", "=="):
            self.facts.natural.append(x - y - (op == ">"))

    def choose(self, *values: Poly) -> None:
        """Note that these integers choose a part of an array."""
        if any(not self._varying.isdisjoint(v.names()) for v in values):
            self.is_elementwise = True

    @contextlib.contextmanager
    def library(self) -> Iterator[None]:
        """A context around loops that are not the user's: of functions of Python and NumPy.

        Where they run over elements, NumPy would have to execute the function in any other way of compiling it.
        """
        before, self.is_elementwise = (self.looks_at_values, self.most_trips, self.is_elementwise), False
        yield
        runs_over_elements = self.is_elementwise
        self.looks_at_values, self.most_trips, self.is_elementwise = before
        if runs_over_elements:
            self.most_trips = math.inf

    @contextlib.contextmanager
    def aside(self, really: bool = True) -> Iterator[None]:
        """A context around what Python's containers do: their loops are nobody's, and no work on arrays.

        Their indices are in range, and their integers small.
        """
        before, trusts = (self.has_loops, self.looks_at_values, self.most_trips, self.is_elementwise), self.trusts
        self.trusts = self.trusts or really
        try:
            yield
        finally:
            self.trusts = trusts
        if really:
            self.has_loops, self.looks_at_values, self.most_trips, self.is_elementwise = before

    def choose_by_values(self) -> None:
        """Note that values of an array choose a part of one."""
        if self.depth:
            self.is_elementwise = True

    def require(self, x: Poly) -> None:
        """Stop unless an integer is at least 0."""
        if not self.facts.is_at_least(x):
            self.stop(self.machine("<", x, Poly.number(0)))

    def require_equal(self, x: Poly, y: Poly) -> None:
        """Stop unless two integers are equal."""
        if x != y:
            first, second = sorted((x, y), key=str)
            self.stop(self.machine("!=", first, second))
            self._known[-1]["equal", first, second] = True

    def require_alike(self, shape: Iterable[Poly], other: Iterable[Poly]) -> None:
        """Stop unless the integers of one sequence are those of the other, as far as both go."""
        for x, y in zip(shape, other):
            self.require_equal(x, y)

    def are_equal(self, x: Poly, y: Poly) -> bool:
        """Whether it is known that two integers are equal; as `require_equal` lets it be."""
        return x == y or any(("equal", *sorted((x, y), key=str)) in known for known in self._known)

    # -- calls of functions outside

    def external(self, symbol: str, args: Sequence[str], types: Sequence[ir.Type], type_: ir.Type) -> str:
        """What a function of C gives; it may have changed any memory."""
        name = self.name()
        self.emit(ir.External(name, symbol, tuple(args), tuple(types), type_))
        self.stores += 1
        self._note_varying(name)
        return name

    def step(self, step: Any) -> int:
        """The number of a step that Python executes."""
        self.steps.append(step)
        self.called += self._turns
        return len(self.steps) - 1

    # -- memory

    def load(self, view: View, dtype: np.dtype, indices: Sequence[Poly]) -> str:
        offset = place(view, indices)
        self.loads.append((view, offset))
        key = "load", view.base, offset, dtype.str, self.stores
        encoding = self.encoding(view)
        return self._remembered(key, lambda name: ir.Load(name, dtype, view.base, offset, view.scope, encoding))

    def load_word(self, view: View, place: Poly) -> str:
        """Eight bytes of an array of bytes."""
        offset = view.offset + place
        key = "word", view.base, offset, self.stores
        return self._remembered(key, lambda name: ir.Load(name, INT, view.base, offset, view.scope, UNALIGNED))

    def store(self, view: View, dtype: np.dtype, indices: Sequence[Poly], value: str) -> None:
        if LISTED in view.origins:
            raise NotStaged("a change of a diagonal, or of an array that a list holds")
        self.emit(ir.Store(dtype, view.base, place(view, indices), value, view.scope, self.encoding(view)))
        self.written_to |= view.origins
        self.stores += 1
        self.time += 1
        self._written_at |= dict.fromkeys([(origin, view.base) for origin in view.origins], self.time)

    def has_written(self, origins: frozenset[str], since: int) -> bool:
        """Whether memory of these origins has been written since that `time`, but for memory that is newer."""
        return any(
            at > since and origin in origins and self._made_at.get(base, 0) <= since
            for (origin, base), at in self._written_at.items()
        )

    def encoding(self, view: View) -> str:
        """How elements lie in memory."""
        encoding, *others = {self.encodings.get(origin, NATIVE) for origin in view.origins - {LISTED}}
        if others:
            raise NotStaged("arrays of different byte orders, or not all aligned, in one variable")
        return encoding

    def require_native(self) -> None:
        """Stop staging where arguments are byte-swapped: what NumPy makes like them is, too."""
        if SWAPPED in self.encodings.values():
            raise NotStaged("an array that may be byte-swapped")

    def address(self, view: View) -> str:
        """The pointer to the first element, for what reads it as native code does."""
        if self.encoding(view):
            raise NotStaged("an array that is byte-swapped or not aligned, and whose address is needed")
        if not view.offset.terms:
            return view.base
        key = "address", view.base, view.offset
        return self._remembered(key, lambda name: ir.Address(name, view.base, view.offset))

    def same_place(self, x: str, y: str) -> str:
        """Whether two pointers are the same."""
        name = self.name()
        self.emit(ir.Machine(name, "==", (x, y)))
        return name

    def begin(self, place: tuple[Hashable, ...]) -> None:
        """Say which statement is recorded: what follows gets the same memory each time that it is recorded."""
        self._place, self._places = place, 0

    def place(self) -> tuple[tuple[Hashable, ...], int]:
        """Where recording is, for `begin_again`."""
        return self._place, self._places

    def begin_again(self, place: tuple[tuple[Hashable, ...], int]) -> None:
        """Go on with a statement that another one has interrupted."""
        self._place, self._places = place

    def next_place(self) -> Hashable:
        """What stands for the next array of the statement that is recorded."""
        self._places += 1
        return self._place, self._places

    def site(self, key: Hashable) -> int:
        """The number of the place in the program that `key` stands for."""
        return self._sites.setdefault(key, len(self._sites))

    def memory(self, site: int, nbytes: Poly, apart: Sequence[str]) -> str:
        """Memory that none of the pointers `apart` begins."""
        name = self.name()
        self.emit(ir.Memory(name, site, nbytes, tuple(apart)))
        self._made_at[name] = self.time = self.time + 1
        self._pieces[site] = max(self._pieces.get(site, 0), len(apart) + 1)
        return name

    def move(self, to: str, source: str, nbytes: Poly) -> None:
        """Copy bytes from one piece of memory to another."""
        self.emit(ir.Move(to, source, nbytes))
        self.stores += 1

    def sites(self) -> tuple[int, ...]:
        """For each site how many pieces of memory it needs."""
        return tuple(self._pieces.get(k, 1) for k in range(len(self._sites)))

    def update(self, accumulator: str, value: str) -> None:
        self.emit(ir.Update(accumulator, value))

    def finish(self) -> tuple[ir.Statement, ...]:
        used: dict[str, ir.Routine] = {}

        def use(body: Sequence[ir.Statement]) -> None:
            for s in ir.statements_within(body):
                if isinstance(s, ir.Do) and s.routine not in used:
                    use(self._routines[s.routine].body)
                    used[s.routine] = self._routines[s.routine]

        with self.beginning() as initial:
            for variable, value in self.initial:
                self.put(variable, self.literal(value, INT), INT)
        use(self._block)
        return *used.values(), *initial, *self._block


def place(view: View, indices: Sequence[Poly]) -> Poly:
    """The offset of an element in bytes."""
    offset = view.offset
    for index, stride in zip(indices, view.strides):
        offset = offset + index * stride
    return offset
