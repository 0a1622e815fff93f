"""Native calls of procedures: words of the arguments in, Python objects made of the words that they give out.

A table of the native entry that describes arguments of any shape has the address of a procedure's entry. Guards have
written the arguments down when it runs. A call that the procedure does not serve gives `PASSED_ON`: one whose integers
are too large for it, one in which it has stopped, or has raised an exception that the error state does not ignore.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from .api import call_api
from .guard import field, go_on_if
from .pool import PROCESS
from .results import drop_if, emit_set, note_failure
from .words import I32, I64, WORDS, Words, copy_bytes, counted, defined, record, variable, word

PASSED_ON = 1  # no address of an object
MOST_INTEGER = 1 << 53  # in amount, of an argument
# Words in front of the arguments: offsets of an array's data, extents and strides, the exceptions not ignored, the
# address of the process's words (`pool.PROCESS`), and how many threads may be used.
WATCHED, THREADS, LIMIT, FIRST_ARGUMENT = 3, 4, 5, 6

# What a procedure returns, as a tree of rows. An object at the address `at`; the argument whose word is number `at`;
# a number of Python or of NumPy made of the result number `at`, or a new array, whose address is the result `at`, and
# whose extents are those that follow; of another kind, `otherwise`, where the result number `flag` - 1 is true. A
# tuple, a list or a dict of `ndim` parts, the rows from `at` on; the keys of a dict are at the address `descr`. What
# the Python function at the address `at` returns when it is called with the arguments; what that at the address `descr`
# returns when it is called with the row number `at`.
RETURNED = ("kind", "at", "descr", "ndim", "itemsize", "flag", "otherwise")
OBJECT, GIVEN, TUPLE, LIST, DICT, CALLED, APPLIED, FLOAT, INTEGER, BOOLEAN, SCALAR, ARRAY = range(12)
# What a procedure stores if it has returned at `way` and the result number `flag` is true: row number `value` of the
# above describes it, and `made` holds it meanwhile. `how`, `row` and `key` are those of `results.STORE`.
STORED = ("way", "flag", "how", "row", "key", "value", "made")
# A generator of random numbers that a procedure draws from, at the address `generator` of a table: the methods of its
# lock, the argument by which `acquire` does not wait and what it returns then, and the memory that its state is in,
# which is copied to `spare` before.
GENERATOR = ("acquire", "release", "waits_not", "acquired", "state", "spare", "nbytes")

_ENTRY = ir.FunctionType(I64, [WORDS, WORDS, WORDS]).as_pointer()


def emit_procedure_call(
    builder: ir.IRBuilder,
    table: Words,
    args: ir.Value,
    values: ir.Value,
    errors: Callable[[], ir.Value],
    made: ir.Function,
) -> None:
    """Run the procedure of a table, and return an object, or `PASSED_ON`.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Of a function that returns the address of an object, or 0 with an exception set.
    table : Words
        As `entry.TABLE`.
    args : llvmlite.ir.Value
        Where the addresses of the arguments are.
    values : llvmlite.ir.Value
        Where the addresses of the values of the guard's rows are.
    errors : callable
        Emits the exceptions that are not ignored.
    made : llvmlite.ir.Function
        What `emit_returned` adds.
    """
    passed_on = builder.append_basic_block("passed_on")
    require = partial(go_on_if, builder, passed_on)
    words = builder.inttoptr(table["argument_words"], WORDS)
    integers = builder.inttoptr(table["integer_rows"], WORDS)
    with counted(builder, table["integers"]) as k:
        value = field(builder, builder.load(builder.gep(integers, [k])), 0)
        above = builder.add(value, word(MOST_INTEGER))
        require(builder.icmp_unsigned("<=", above, word(2 * MOST_INTEGER)))
    process = Words(builder, PROCESS, builder.inttoptr(builder.load(builder.gep(words, [word(THREADS)])), WORDS))
    require(builder.icmp_signed("==", process["wanted"], word(0)))  # Python starts the pool
    watched = errors()
    draws = builder.icmp_signed("!=", table["generator"], word(0))
    with builder.if_then(draws):
        generator = _generator(builder, table)
        without_waiting = builder.inttoptr(generator["waits_not"], WORDS)
        answer = call_api(builder, "PyObject_Vectorcall", generator["acquire"], without_waiting, word(1), word(0))
        with builder.if_then(builder.icmp_signed("==", answer, word(0)), likely=False):
            builder.ret(word(0))
        call_api(builder, "Py_DecRef", answer)
        require(builder.icmp_signed("==", answer, generator["acquired"]))  # else another thread draws
        copy_bytes(builder, generator["spare"], generator["state"], generator["nbytes"])
    table.set("busy", word(1))
    entry = builder.inttoptr(table["procedure"], _ENTRY)
    given = [builder.inttoptr(table[name], WORDS) for name in ("argument_words", "workspace", "result_words")]
    thread = call_api(builder, "PyEval_SaveThread")
    builder.store(watched, builder.gep(given[0], [word(WATCHED)]))
    status = builder.call(entry, given)
    call_api(builder, "PyEval_RestoreThread", thread)
    with builder.if_then(draws):
        generator = _generator(builder, table)
        with builder.if_then(builder.icmp_signed("!=", status, word(0)), likely=False):
            copy_bytes(builder, generator["state"], generator["spare"], generator["nbytes"])
        nothing = builder.inttoptr(word(0), WORDS)
        given_back = call_api(builder, "PyObject_Vectorcall", generator["release"], nothing, word(0), word(0))
        call_api(builder, "Py_DecRef", given_back)
    results = given[2]
    require(builder.icmp_signed("==", status, word(0)))
    # The row of what it has returned, which depends on where.
    way = builder.load(builder.gep(results, [table["way_at"]]))
    rows = builder.inttoptr(table["ways"], WORDS)
    place = variable(builder)

    def make(row: ir.Value) -> ir.Value:
        return builder.call(made, [rows, row, args, table["positional"], given[0], results])

    builder.store(make(way), place)
    with builder.if_then(builder.icmp_signed("!=", table["stores"], word(0))):
        _store(builder, table, values, way, results, make, place)
    table.set("busy", word(0))
    builder.ret(builder.load(place))
    builder.position_at_end(passed_on)
    table.set("busy", word(0))
    builder.ret(word(PASSED_ON))


def _store(
    builder: ir.IRBuilder,
    table: Words,
    values: ir.Value,
    way: ir.Value,
    results: ir.Value,
    make: Callable[[ir.Value], ir.Value],
    result: ir.Value,
) -> None:
    """Store what the function stores; if that fails, drop the result. All of it is made before any is stored."""
    rows, failed = builder.inttoptr(table["store_rows"], WORDS), variable(builder)
    builder.store(builder.zext(builder.icmp_signed("==", builder.load(result), word(0)), I64), failed)

    def made_of(k: ir.Value) -> ir.Value:
        return builder.gep(rows, [builder.add(builder.mul(k, word(len(STORED))), word(STORED.index("made")))])

    with counted(builder, table["stores"]) as k:
        row = dict(zip(STORED, record(builder, rows, k, STORED)))
        builder.store(word(0), made_of(k))
        is_set = builder.icmp_signed("!=", builder.load(builder.gep(results, [row["flag"]])), word(0))
        with builder.if_then(builder.and_(builder.icmp_signed("==", row["way"], way), is_set)):
            value = make(row["value"])
            builder.store(value, made_of(k))
            note_failure(builder, builder.icmp_signed("==", value, word(0)), failed)
    with counted(builder, table["stores"]) as k:
        row = dict(zip(STORED, record(builder, rows, k, STORED)))
        goes_on = builder.icmp_signed("==", builder.load(failed), word(0))
        with builder.if_then(builder.and_(goes_on, builder.icmp_signed("!=", row["made"], word(0)))):
            container = builder.load(builder.gep(values, [row["row"]]))
            emit_set(builder, row["how"], container, row["key"], row["made"], failed)
    with counted(builder, table["stores"]) as k:
        call_api(builder, "Py_DecRef", builder.load(made_of(k)))  # which does nothing for 0
    drop_if(builder, failed, result)


def _generator(builder: ir.IRBuilder, table: Words) -> dict[str, ir.Value]:
    return dict(zip(GENERATOR, record(builder, builder.inttoptr(table["generator"], WORDS), word(0), GENERATOR)))


def emit_returned(module: ir.Module, data: int) -> ir.Function:
    """``returned(rows, k, args, nargs, words, results) -> i64``: a new reference to what row `k` describes.

    It is 0, with an error set, where that fails.

    `data` is the offset in bytes of the address of an array's data.
    """
    kind_of = ir.FunctionType(I64, [WORDS, I64, WORDS, I64, WORDS, WORDS])
    function, builder = defined(module, kind_of, "jitrt_returned", internal=True)
    rows, k, args, nargs, words, results = function.args
    row = dict(zip(RETURNED, record(builder, rows, k, RETURNED)))
    made, kind = variable(builder), variable(builder)
    builder.store(row["kind"], kind)
    with builder.if_then(builder.icmp_signed("!=", row["flag"], word(0))):
        flag = builder.load(builder.gep(results, [builder.sub(row["flag"], word(1))]))
        other = builder.icmp_signed("!=", flag, word(0))
        builder.store(builder.select(other, row["otherwise"], row["kind"]), kind)

    def kind_is(number: int) -> ir.Value:
        return builder.icmp_signed("==", builder.load(kind), word(number))

    with builder.if_then(kind_is(OBJECT)):
        builder.store(row["at"], made)
        call_api(builder, "Py_IncRef", row["at"])
    with builder.if_then(kind_is(GIVEN)):
        given = builder.load(builder.gep(words, [row["at"]]))
        builder.store(given, made)
        call_api(builder, "Py_IncRef", given)
    with builder.if_then(kind_is(CALLED)):
        builder.store(call_api(builder, "PyObject_Vectorcall", row["at"], args, nargs, word(0)), made)
    with builder.if_then(kind_is(APPLIED)):
        item = builder.call(function, [rows, row["at"], args, nargs, words, results])
        with builder.if_then(builder.icmp_signed("!=", item, word(0)), likely=True):
            builder.store(call_api(builder, "PyObject_CallOneArg", row["descr"], item), made)
            call_api(builder, "Py_DecRef", item)
    for number, new, set_item in ((TUPLE, "PyTuple_New", "PyTuple_SetItem"), (LIST, "PyList_New", "PyList_SetItem")):
        with builder.if_then(kind_is(number)):
            several = call_api(builder, new, row["ndim"])
            builder.store(several, made)
            with builder.if_then(builder.icmp_signed("!=", several, word(0))), counted(builder, row["ndim"]) as j:
                item = builder.call(function, [rows, builder.add(row["at"], j), args, nargs, words, results])
                _unless_failed(builder, builder.icmp_signed("==", item, word(0)), several)
                call_api(builder, set_item, several, j, item)  # which takes the reference
    with builder.if_then(kind_is(DICT)):
        several = call_api(builder, "PyDict_New")
        builder.store(several, made)
        with builder.if_then(builder.icmp_signed("!=", several, word(0))), counted(builder, row["ndim"]) as j:
            key = builder.load(builder.gep(builder.inttoptr(row["descr"], WORDS), [j]))
            item = builder.call(function, [rows, builder.add(row["at"], j), args, nargs, words, results])
            _unless_failed(builder, builder.icmp_signed("==", item, word(0)), several)
            failed = call_api(builder, "PyDict_SetItem", several, key, item)
            call_api(builder, "Py_DecRef", item)
            _unless_failed(builder, builder.icmp_signed("!=", failed, ir.Constant(I32, 0)), several)
    # Of a row of another kind `at` is no number of a result.
    at = builder.select(builder.icmp_signed("<", row["kind"], word(FLOAT)), word(0), row["at"])
    place = builder.gep(results, [at])
    value = builder.load(place)
    with builder.if_then(kind_is(FLOAT)):
        builder.store(call_api(builder, "PyFloat_FromDouble", builder.bitcast(value, ir.DoubleType())), made)
    with builder.if_then(kind_is(INTEGER)):
        builder.store(call_api(builder, "PyLong_FromLongLong", value), made)
    with builder.if_then(kind_is(BOOLEAN)):
        builder.store(call_api(builder, "PyBool_FromLong", value), made)
    with builder.if_then(builder.icmp_signed(">=", builder.load(kind), word(SCALAR))):
        extents = builder.gep(place, [word(1)])
        call_api(builder, "Py_IncRef", row["descr"])  # PyArray_Empty takes a reference away
        ndim, order = builder.trunc(row["ndim"], I32), ir.Constant(I32, 0)
        array = call_api(builder, "PyArray_Empty", ndim, builder.ptrtoint(extents, I64), row["descr"], order)
        builder.store(array, made)
        with builder.if_then(builder.icmp_signed("!=", array, word(0)), likely=True):
            nbytes = variable(builder)
            builder.store(row["itemsize"], nbytes)
            with counted(builder, row["ndim"]) as axis:
                extent = builder.load(builder.gep(extents, [axis]))
                builder.store(builder.mul(builder.load(nbytes), extent), nbytes)
            source = builder.select(kind_is(SCALAR), builder.ptrtoint(place, I64), value)
            copy_bytes(builder, field(builder, array, data), source, builder.load(nbytes))
            with builder.if_then(kind_is(SCALAR)):
                builder.store(call_api(builder, "PyArray_Return", array), made)
    builder.ret(builder.load(made))
    return function


def _unless_failed(builder: ir.IRBuilder, failed: ir.Value, several: ir.Value) -> None:
    """Give up what holds others where one of them cannot be made."""
    with builder.if_then(failed, likely=False):
        call_api(builder, "Py_DecRef", several)
        builder.ret(word(0))
