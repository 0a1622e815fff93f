"""The native entry: what calling a decorated function runs, from the arguments to the results, without Python code.

`emit_entry` adds to a module

    jitrt_call(self, args, nargs, names) -> object       a vectorcall function (PEP 590), and a method of this kind
    jitrt_hash_of(words, args, nargs, names) -> object   the hash by which the method finds a table
    jitrt_errors(words, args, nargs, names) -> object    the floating-point exceptions that are not ignored now

The object `self` has a field with an array of 64-bit words, laid out as `STATE`. They lead to tables, laid out as
`TABLE`, one for each way of calling that is known: what the arguments have to be (see `guard`), and what to run. The
table that served the last call is tried first, then those that the hash of the arguments leads to. If a table
describes the arguments, its results are allocated, the driver runs, and the results are returned. A call that no
table describes is passed on to a method of `self`.

NumPy reports floating-point exceptions as the current error state says (`numpy.errstate`, a context variable). If a
program raises one that is not ignored, its results are dropped, and the plain function runs: NumPy then warns, raises,
or calls at the user's line. So it does if an index is out of bounds. Functions that raise again and again run plain for
some calls without being tried.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from . import guard
from .api import call_api
from .driver import OUT_OF_BOUNDS_BIT, POSITION_BIT
from .formulas import emit_formulas
from .guard import emit_guard, emit_hash, field, go_on_if
from .procedure import PASSED_ON, emit_procedure_call, emit_returned
from .results import Results
from .words import BYTES, I1, I32, I64, WORDS, Words, clock, counted, defined, record, repeat_while, variable, word

# Words of a function. `plain`, if not 0, is a Python function that serves every call. There are `mask` + 1 pairs of
# words (hash, table) at `slots`, some of them empty. `general` is the first of a chain of tables that are tried when
# none of these fits: they are for arguments of any shape, so that no hash leads to them. `rows` and `places` are the
# most that a table has. `method` is the name of the method for calls that no table describes, but for the next `spared`
# of those that the table at `otherwise` does, which is asked after all others. `last` is the table that served the last
# call, 0 if Python did. `error_state` is the context variable of NumPy's error state. Plain calls are counted in
# the words at `tally`. The Python function `function` is called where what Python code returns is `handed_back`: then
# no frame of that code lies between the caller and the function.
STATE = (
    "plain", "latest", "mask", "slots", "rows", "places", "kinds", "otherwise", "spared", "method", "error_state",
    "last", "general", "tally", "function", "handed_back",
)  # fmt: skip
# How many calls of the function are inside of each other that Python serves or that run plain, how many plain calls
# native code has made, and the ticks of the processor's clock that the outermost of them took.
TALLY = ("depth", "calls", "ticks")
# Words of a table. `busy` is set while a call is served, since it uses the only frame of the table. `handler` is the
# memory handler of large results. `plain`, if not 0, is a Python function that is called in place of kernels; it is
# `function`, too, if it runs what is compiled, so that this is no plain call.
# `watched` are the exceptions that the program may raise, `function` is then the plain function, or what computes all
# that the program does not; `raised` counts calls
# in a row that have raised one, and `skip` calls that are still to run plain. `served` says that there was a call. The
# values of the first `held` rows are kept alive: other threads, and signal handlers, may let go of them meanwhile. What
# a call stores is made as results are, and noted under places from `stored_place` on. What is returned is what `maker`,
# if not 0, makes of the tuple of results, or a dict of them with the tuple of `keys`, if not 0. Before any row is
# looked at, the `fixed` words at the addresses in `fixed_rows` have to be what they were, one after the other: an
# address may be that of nothing any more if one before it does not hold its word. `procedure`, if not 0, is what runs
# instead of blocks; the words from there on are its own (see `procedure`), and `following` is the next table of the
# chain. Where there are `formulas`, the call is described if their guards hold, and they have written what depends on
# extents when it runs.
TABLE = (
    "positional", "keywords", "names", "rows", "row_table", "apart", "apart_rows", "outputs", "output_rows", "written",
    "written_rows", "results", "result_rows", "blocks", "block_table", "busy", "release", "tuple", "plain", "handler",
    "watched", "function", "raised", "skip", "served", "held", "stored", "stored_rows", "stored_place",
    "stores", "store_rows", "maker", "keys", "fixed", "fixed_rows", "procedure", "following", "argument_words",
    "workspace", "result_words", "integers", "integer_rows", "way_at", "ways", "formulas", "formula_rows", "registers",
    "generator",
)  # fmt: skip
FIXED = ("address", "word")
# Two arrays that must not overlap: their places, and where their elements begin and end, in bytes from their first one.
APART = ("first", "first_low", "first_high", "second", "second_low", "second_high")
# Fields of objects, whose offsets the code contains: `words` is that of `self`.
FIELDS = (*guard.FIELDS, "words", "capsule")
UNCOMPUTED_BIT = 4  # from here on the bits of `watched` are exceptions of what the program does not compute
LONGEST_SKIP = 10  # the binary logarithm of the most calls that run plain before kernels are tried again

_METHOD = ir.FunctionType(BYTES, [BYTES, WORDS, I64, BYTES])


def emit_entry(module: ir.Module, run: ir.Function, fields: dict[str, int], item: int) -> None:
    """Add the functions to `module`.

    Parameters
    ----------
    module : llvmlite.ir.Module
    run : llvmlite.ir.Function
        ``jitrt_run`` of the same module.
    fields : dict of str to int
        Offsets in bytes of the fields in `FIELDS`.
    item : int
        Offset of a tuple's items, which the driver adds to the address that it is given.
    """
    errors = _emit_errors(module, fields["capsule"])
    serve = _Serve(module, run, errors, item, fields["data"], emit_returned(module, fields["data"])).emit()
    hash_ = emit_hash(module, fields)
    fits = _emit_fits(module, emit_guard(module, fields), emit_formulas(module, fields), fields["data"])
    _emit_call(module, fits, hash_, serve, fields)

    function, builder = _method(module, "jitrt_hash_of")
    words, args, nargs, names = function.args
    state = _state(builder, builder.ptrtoint(words, I64), fields)
    total = builder.add(nargs, _size(builder, builder.ptrtoint(names, I64)))
    value = builder.call(hash_, [builder.inttoptr(state["kinds"], WORDS), args, total])
    builder.ret(builder.inttoptr(call_api(builder, "PyLong_FromLongLong", value), BYTES))

    function, builder = _method(module, "jitrt_errors")
    state = _state(builder, builder.ptrtoint(function.args[0], I64), fields)
    value = builder.call(errors, [state["error_state"]])
    builder.ret(builder.inttoptr(call_api(builder, "PyLong_FromLongLong", value), BYTES))


def _call_plain(builder: ir.IRBuilder, tally: ir.Value, *call: ir.Value) -> ir.Value:
    """A call of a plain function, with the arguments of `PyObject_Vectorcall`, counted in the words at `tally`."""
    words = Words(builder, TALLY, builder.inttoptr(tally, WORDS))
    depth = words["depth"]
    words.set("depth", builder.add(depth, word(1)))
    start = clock(builder)
    result = call_api(builder, "PyObject_Vectorcall", *call)
    ticks = builder.select(builder.icmp_signed("==", depth, word(0)), builder.sub(clock(builder), start), word(0))
    words.set("ticks", builder.add(words["ticks"], ticks))
    words.set("calls", builder.add(words["calls"], word(1)))
    words.set("depth", builder.sub(words["depth"], word(1)))
    return result


def _unless_handed_back(builder: ir.IRBuilder, state: Words, result: ir.Value, *call: ir.Value) -> ir.Value:
    """What Python code has returned, or the plain function's result if the code leaves the call to that."""
    found = variable(builder)
    builder.store(result, found)
    with builder.if_then(builder.icmp_signed("==", result, state["handed_back"]), likely=False):
        call_api(builder, "Py_DecRef", result)
        builder.store(_call_plain(builder, state["tally"], state["function"], *call), found)
    return builder.load(found)


def _method(module: ir.Module, name: str) -> tuple[ir.Function, ir.IRBuilder]:
    return defined(module, _METHOD, name)


def _state(builder: ir.IRBuilder, array: ir.Value, fields: dict[str, int]) -> Words:
    """The words that the array at the address `array` holds."""
    return Words(builder, STATE, builder.inttoptr(field(builder, array, fields["data"]), WORDS))


def _size(builder: ir.IRBuilder, names: ir.Value) -> ir.Value:
    """The number of keyword arguments, given the tuple of their names, or 0."""
    size = variable(builder)
    with builder.if_then(builder.icmp_signed("!=", names, word(0))):
        builder.store(call_api(builder, "PyTuple_Size", names), size)
    return builder.load(size)


def _emit_errors(module: ir.Module, pointer: int) -> ir.Function:
    """``errors(error_state) -> i64``: the exceptions that are not ignored, numbered as in `floatflags`.

    The variable holds a capsule that points to a structure of NumPy's ufuncs, which begins with an integer: from the
    lowest bit on three bits for each of divide, over, under and invalid. All of them are 0 for what is ignored.
    """
    function, builder = defined(module, ir.FunctionType(I64, [I64]), "jitrt_current_errors", internal=True)
    (error_state,) = function.args
    with builder.if_then(builder.icmp_signed("==", error_state, word(0))):
        builder.ret(word(0b1111))
    capsule, errors = variable(builder), variable(builder)
    call_api(builder, "PyContextVar_Get", error_state, word(0), capsule)
    found = builder.load(capsule)
    with builder.if_then(builder.icmp_signed("!=", found, word(0))):
        mask = field(builder, field(builder, found, pointer), 0, I32)
        for k in range(4):
            bits = builder.and_(mask, ir.Constant(I32, 0b111 << 3 * k))
            watched = builder.zext(builder.icmp_signed("!=", bits, ir.Constant(I32, 0)), I64)
            builder.store(builder.or_(builder.load(errors), builder.shl(watched, word(k))), errors)
        call_api(builder, "Py_DecRef", found)
    builder.ret(builder.load(errors))
    return function


def _emit_fits(module: ir.Module, match: ir.Function, formulas: ir.Function, data: int) -> ir.Function:
    """``fits(table, args, nargs, names, values, positions, places) -> i1``: whether the table can serve the call."""
    kind = ir.FunctionType(I1, [WORDS, WORDS, I64, I64, WORDS, WORDS, WORDS])
    function, builder = defined(module, kind, "jitrt_fits", internal=True)
    address, args, nargs, names, values, positions, places = function.args
    missed = function.append_basic_block("missed")
    table = Words(builder, TABLE, address)
    require = partial(go_on_if, builder, missed)
    require(builder.icmp_signed("==", nargs, table["positional"]))
    require(builder.icmp_signed("==", table["busy"], word(0)))
    keywords = _size(builder, names)
    require(builder.icmp_signed("==", keywords, table["keywords"]))
    expected = builder.inttoptr(table["names"], WORDS)
    with counted(builder, keywords) as k:
        name = call_api(builder, "PyTuple_GetItem", names, k)
        require(builder.icmp_signed("==", name, builder.load(builder.gep(expected, [k]))))
    with counted(builder, table["fixed"]) as k:
        place, known = record(builder, builder.inttoptr(table["fixed_rows"], WORDS), k, FIXED)
        require(builder.icmp_signed("==", field(builder, place, 0), known))
    rows = builder.inttoptr(table["row_table"], WORDS)
    require(builder.call(match, [rows, table["rows"], args, values, positions, places]))
    count, holds = table["formulas"], variable(builder, 1)
    with builder.if_then(builder.icmp_signed("!=", count, word(0))):
        words = [builder.inttoptr(table[name], WORDS) for name in ("formula_rows", "registers")]
        found = builder.call(formulas, [words[0], count, places, words[1]])
        builder.store(builder.zext(found, I64), holds)
    require(builder.icmp_signed("!=", builder.load(holds), word(0)))
    with counted(builder, table["apart"]) as k:
        pair = record(builder, builder.inttoptr(table["apart_rows"], WORDS), k, APART)
        spans = []
        for place, low, high in (pair[:3], pair[3:]):
            start = field(builder, builder.load(builder.gep(places, [place])), data)
            spans.append((builder.add(start, low), builder.add(start, high)))
        (low, high), (other_low, other_high) = spans
        before, behind = builder.icmp_unsigned("<=", high, other_low), builder.icmp_unsigned("<=", other_high, low)
        require(builder.or_(before, behind))
    builder.ret(ir.Constant(I1, 1))
    builder.position_at_end(missed)
    builder.ret(ir.Constant(I1, 0))
    return function


def _emit_call(
    module: ir.Module, fits: ir.Function, hash_: ir.Function, serve: ir.Function, fields: dict[str, int]
) -> None:
    """``jitrt_call``: find the table, and serve the call."""
    function, builder = _method(module, "jitrt_call")
    self_object, args, count, names_object = function.args
    nargs = builder.and_(count, word((1 << 63) - 1))  # without PY_VECTORCALL_ARGUMENTS_OFFSET
    self_address, names = builder.ptrtoint(self_object, I64), builder.ptrtoint(names_object, I64)
    state = _state(builder, field(builder, self_address, fields["words"]), fields)

    def return_(value: ir.Value) -> None:
        builder.ret(builder.inttoptr(value, BYTES))

    plain = state["plain"]
    with builder.if_then(builder.icmp_signed("!=", plain, word(0))):
        return_(_call_plain(builder, state["tally"], plain, args, nargs, names))
    # What the guard notes of the arguments; the places of arrays are laid out as the items of a tuple.
    values, positions = builder.alloca(I64, state["rows"]), builder.alloca(I64, state["rows"])
    places = builder.alloca(I64, state["places"])

    following = variable(builder)

    def try_table(table: ir.Value, note: Callable[[], None]) -> None:
        fitting = builder.call(fits, [table, args, nargs, names, values, positions, places])
        with builder.if_then(fitting):
            note()
            state.set("last", builder.ptrtoint(table, I64))
            held = Words(builder, TABLE, table)["held"]
            with counted(builder, held) as k:
                call_api(builder, "Py_IncRef", builder.load(builder.gep(values, [k])))
            result = builder.call(serve, [state.address, table, args, nargs, names, values, places])
            with counted(builder, held) as k:
                call_api(builder, "Py_DecRef", builder.load(builder.gep(values, [k])))
            with builder.if_then(builder.icmp_signed("!=", result, word(PASSED_ON)), likely=True):
                return_(result)
            builder.store(word(0), following)  # what it was may be no table any more

    latest = state["latest"]
    with builder.if_then(builder.icmp_signed("!=", latest, word(0))):
        try_table(builder.inttoptr(latest, WORDS), lambda: None)
        slots = builder.inttoptr(state["slots"], WORDS)
        total = builder.add(nargs, _size(builder, names))
        wanted = builder.call(hash_, [builder.inttoptr(state["kinds"], WORDS), args, total])
        index = variable(builder)
        builder.store(wanted, index)

        def slot() -> tuple[ir.Value, ir.Value]:
            k = builder.and_(builder.load(index), state["mask"])
            found, table = record(builder, slots, k, ("hash", "table"))
            return found, table

        def try_slot() -> None:
            found, table = slot()
            with builder.if_then(builder.icmp_signed("==", found, wanted)):
                try_table(builder.inttoptr(table, WORDS), lambda: state.set("latest", table))
            builder.store(builder.add(builder.load(index), word(1)), index)

        repeat_while(builder, lambda: builder.icmp_signed("!=", slot()[1], word(0)), try_slot)

    builder.store(state["general"], following)

    def try_following() -> None:
        table = builder.inttoptr(builder.load(following), WORDS)
        builder.store(Words(builder, TABLE, table)["following"], following)
        with builder.if_then(builder.icmp_signed("!=", builder.ptrtoint(table, I64), latest)):
            try_table(table, lambda: state.set("latest", builder.ptrtoint(table, I64)))

    repeat_while(builder, lambda: builder.icmp_signed("!=", builder.load(following), word(0)), try_following)
    spared = state["spared"]
    with builder.if_then(builder.icmp_signed("!=", spared, word(0))):
        otherwise = builder.inttoptr(state["otherwise"], WORDS)
        try_table(otherwise, lambda: state.set("spared", builder.sub(spared, word(1))))
    total = builder.add(nargs, _size(builder, names))
    with_self = builder.alloca(I64, builder.add(total, word(1)))
    builder.store(self_address, with_self)
    with counted(builder, total) as k:
        target = builder.gep(with_self, [builder.add(k, word(1))])
        builder.store(builder.load(builder.gep(args, [k])), target)
    count = builder.add(nargs, word(1))
    result = call_api(builder, "PyObject_VectorcallMethod", state["method"], with_self, count, names)
    return_(_unless_handed_back(builder, state, result, args, nargs, names))


class _Serve:
    """``serve(state, table, args, nargs, names, values, places) -> i64``: the result of a call that fits."""

    def __init__(
        self, module: ir.Module, run: ir.Function, errors: ir.Function, item: int, data: int, made: ir.Function
    ):
        kind = ir.FunctionType(I64, [WORDS, WORDS, WORDS, I64, I64, WORDS, WORDS])
        self.function, self.builder = defined(module, kind, "jitrt_serve", internal=True)
        state, table, self.args, self.nargs, self.names, self.values, self.places = self.function.args
        self.state, self.table = Words(self.builder, STATE, state), Words(self.builder, TABLE, table)
        self.run, self.errors, self.item = run, errors, item
        self.results = Results(self.builder, self.table, self.values, self.places, data)
        self.made = made

    def emit(self) -> ir.Function:
        builder, table = self.builder, self.table
        table.set("served", builder.add(table["served"], word(1)))
        plain = table["plain"]
        with builder.if_then(builder.icmp_signed("!=", plain, word(0))):
            with builder.if_then(builder.icmp_signed("==", plain, table["function"])):
                call = self.args, self.nargs, self.names
                result = call_api(builder, "PyObject_Vectorcall", plain, *call)
                builder.ret(_unless_handed_back(builder, self.state, result, *call))
            self._return_plain(plain)
        with builder.if_then(builder.icmp_signed("!=", table["procedure"], word(0))):
            emit_procedure_call(builder, table, self.args, self.values, self._current_errors, self.made)
        watched = self._watched()
        table.set("busy", word(1))
        self.results.allocate_outputs()
        raised = self._run(watched)
        with builder.if_then(builder.icmp_signed("!=", raised, word(0)), likely=False):
            self.results.drop_outputs(table["outputs"])
            self._note_raising()
            self._return_plain(table["function"])
        table.set("raised", word(0))
        self.results.write_back()
        self.results.return_results()
        return self.function

    def _return_plain(self, function: ir.Value) -> None:
        call = self.args, self.nargs, self.names
        result = _call_plain(self.builder, self.state["tally"], function, *call)
        self.builder.ret(_unless_handed_back(self.builder, self.state, result, *call))

    def _current_errors(self) -> ir.Value:
        return self.builder.call(self.errors, [self.state["error_state"]])

    def _watched(self) -> ir.Value:
        """Exceptions that the program may raise and that are not ignored. Calls that have to run plain do so here."""
        builder, table = self.builder, self.table
        watched, possible = variable(builder), table["watched"]
        with builder.if_then(builder.icmp_signed("!=", possible, word(0))):
            asked = self._current_errors()
            uncomputed = builder.and_(asked, builder.lshr(possible, word(UNCOMPUTED_BIT)))
            with builder.if_then(builder.icmp_signed("!=", uncomputed, word(0)), likely=False):
                self._return_plain(table["function"])
            current = builder.and_(asked, possible)
            builder.store(current, watched)
            skip = table["skip"]
            may_skip = builder.icmp_signed(">", skip, word(0))
            with builder.if_then(builder.and_(may_skip, builder.icmp_signed("!=", current, word(0)))):
                table.set("skip", builder.sub(skip, word(1)))
                self._return_plain(table["function"])
        return builder.load(watched)

    def _note_raising(self) -> None:
        """After a call that raised an exception: the more in a row there were, the longer kernels are not tried."""
        builder, table = self.builder, self.table
        raised = builder.add(table["raised"], word(1))
        most = builder.icmp_signed(">", raised, word(LONGEST_SKIP))
        raised = builder.select(most, word(LONGEST_SKIP), raised)
        table.set("raised", raised)
        skip = builder.sub(builder.shl(word(1), raised), word(2))
        table.set("skip", skip)

    def _run(self, watched: ir.Value) -> ir.Value:
        """Run all blocks, and let signal handlers run between them; gives the exceptions that were raised."""
        builder, table = self.builder, self.table
        blocks = builder.inttoptr(table["block_table"], WORDS)
        items = builder.sub(builder.ptrtoint(self.places, I64), word(self.item))
        raised = variable(builder)
        with counted(builder, table["blocks"]) as k:
            with builder.if_then(builder.icmp_signed("!=", k, word(0))):
                self._let_signals_in()
            block = builder.inttoptr(builder.load(builder.gep(blocks, [k])), WORDS)
            position, again = variable(builder), variable(builder)
            builder.store(word(0), position)
            builder.store(word(1), again)

            def turn() -> None:
                state = self._run_block(block, items, watched, builder.load(position))
                with builder.if_then(builder.trunc(builder.lshr(state, word(OUT_OF_BOUNDS_BIT)), I1), likely=False):
                    self.results.drop_outputs(table["outputs"])
                    self._return_plain(table["function"])
                builder.store(builder.or_(builder.load(raised), builder.and_(state, watched)), raised)
                following = builder.ashr(state, word(POSITION_BIT))
                unfinished = builder.icmp_signed("!=", following, word(0))
                builder.store(following, position)
                builder.store(builder.zext(unfinished, I64), again)
                with builder.if_then(unfinished):
                    self._let_signals_in()

            repeat_while(builder, lambda: builder.icmp_signed("!=", builder.load(again), word(0)), turn)
        return builder.load(raised)

    def _run_block(self, *arguments: ir.Value) -> ir.Value:
        """Call the driver, while other Python threads may run if the work is worth that."""
        builder = self.builder
        state = variable(builder)
        releases = builder.icmp_signed("!=", self.table["release"], word(0))
        with builder.if_else(releases) as (released, held):
            with released:
                thread = call_api(builder, "PyEval_SaveThread")
                builder.store(builder.call(self.run, arguments), state)
                call_api(builder, "PyEval_RestoreThread", thread)
            with held:
                builder.store(builder.call(self.run, arguments), state)
        return builder.load(state)

    def _let_signals_in(self) -> None:
        """Run handlers of signals that have arrived; if one raises, the call ends."""
        builder = self.builder
        signal = call_api(builder, "PyErr_CheckSignals")
        with builder.if_then(builder.icmp_signed("!=", signal, ir.Constant(I32, 0)), likely=False):
            self.results.drop_outputs(self.table["outputs"])
            builder.ret(word(0))
