"""Native calls of procedures: words of the arguments in, Python objects made of the words that they give out.

A table of the native entry that describes arguments of any shape has the address of a procedure's entry. Guards have
written the arguments down when it runs. A call that the procedure does not serve gives `PASSED_ON`: one whose integers
are too large for it, one in which it has stopped, or has raised an exception that the error state does not ignore.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from .guard import field
from .words import BYTES, I32, I64, WORDS, Words, call_api, counted, record, variable, word

PASSED_ON = 1  # no address of an object
MOST_INTEGER = 1 << 53  # in amount, of an argument

# What a return of a procedure gives: the object at an address, an argument, a number of Python or of NumPy made of the
# result number `at`, or a new array, whose address is the result `at`, and whose extents are those that follow. Where
# the result number `flag` - 1 is true, it is of the kind `otherwise`.
RETURNED = ("kind", "at", "descr", "ndim", "itemsize", "flag", "otherwise")
OBJECT, GIVEN, FLOAT, INTEGER, BOOLEAN, SCALAR, ARRAY = range(7)

_ENTRY = ir.FunctionType(I64, [WORDS, WORDS, WORDS]).as_pointer()
_SIGNATURES = {
    "Py_IncRef": ir.FunctionType(ir.VoidType(), [I64]),
    "Py_DecRef": ir.FunctionType(ir.VoidType(), [I64]),
    "PyEval_SaveThread": ir.FunctionType(I64, []),
    "PyEval_RestoreThread": ir.FunctionType(ir.VoidType(), [I64]),
    "PyTuple_New": ir.FunctionType(I64, [I64]),
    "PyTuple_SetItem": ir.FunctionType(I32, [I64, I64, I64]),
    "PyBool_FromLong": ir.FunctionType(I64, [I64]),
    "PyFloat_FromDouble": ir.FunctionType(I64, [ir.DoubleType()]),
    "PyLong_FromLongLong": ir.FunctionType(I64, [I64]),
    "PyArray_Empty": ir.FunctionType(I64, [I32, I64, I64, I32]),
    "PyArray_Return": ir.FunctionType(I64, [I64]),
}
API = tuple(_SIGNATURES)
"""Functions of CPython and NumPy that the code calls, linked as `words.symbol` says."""


def _call(builder: ir.IRBuilder, name: str, *args: ir.Value) -> ir.Value:
    return call_api(builder, name, _SIGNATURES[name], *args)


def emit_procedure_call(
    builder: ir.IRBuilder, table: Words, args: ir.Value, errors: Callable[[], ir.Value], data: int
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
    errors : callable
        Emits the exceptions that are not ignored.
    data : int
        Offset in bytes of the address of an array's data.
    """
    passed_on = builder.append_basic_block("passed_on")

    def require(condition: ir.Value) -> None:
        passed = builder.append_basic_block("passed")
        builder.cbranch(condition, passed, passed_on)
        builder.position_at_end(passed)

    integers = builder.inttoptr(table["integer_rows"], WORDS)
    with counted(builder, table["integers"]) as k:
        value = field(builder, builder.load(builder.gep(integers, [k])), 0)
        above = builder.add(value, word(MOST_INTEGER))
        require(builder.icmp_unsigned("<=", above, word(2 * MOST_INTEGER)))
    watched = errors()
    table.set("busy", word(1))
    entry = builder.inttoptr(table["procedure"], _ENTRY)
    given = [builder.inttoptr(table[name], WORDS) for name in ("argument_words", "workspace", "result_words")]
    thread = _call(builder, "PyEval_SaveThread")
    status = builder.call(entry, given)
    _call(builder, "PyEval_RestoreThread", thread)
    results = given[2]
    raised = builder.and_(builder.load(builder.gep(results, [table["raised_at"]])), watched)
    require(builder.icmp_signed("==", builder.or_(status, raised), word(0)))
    # Where the procedure has returned: how many results there, or -1 for one that is no tuple, and their rows.
    way = builder.load(builder.gep(results, [table["way_at"]]))
    ways = builder.inttoptr(table["ways"], WORDS)
    count, address = record(builder, ways, way, ("count", "rows"))
    rows = builder.inttoptr(address, WORDS)
    result = variable(builder)
    with builder.if_else(builder.icmp_signed("<", count, word(0))) as (one, several):
        with one:
            builder.store(_returned(builder, rows, word(0), args, results, data), result)
        with several:
            made = _call(builder, "PyTuple_New", count)
            builder.store(made, result)
            with builder.if_then(builder.icmp_signed("!=", made, word(0))), counted(builder, count) as k:
                item = _returned(builder, rows, k, args, results, data)
                with builder.if_then(builder.icmp_signed("==", item, word(0)), likely=False):
                    _call(builder, "Py_DecRef", made)
                    table.set("busy", word(0))
                    builder.ret(word(0))
                _call(builder, "PyTuple_SetItem", made, k, item)
    table.set("busy", word(0))
    builder.ret(builder.load(result))
    builder.position_at_end(passed_on)
    table.set("busy", word(0))
    builder.ret(word(PASSED_ON))


def _returned(
    builder: ir.IRBuilder, rows: ir.Value, k: ir.Value, args: ir.Value, results: ir.Value, data: int
) -> ir.Value:
    """A new reference to what row `k` describes; 0 where there is no memory for it."""
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
        _call(builder, "Py_IncRef", row["at"])
    with builder.if_then(kind_is(GIVEN)):
        given = builder.load(builder.gep(args, [row["at"]]))
        builder.store(given, made)
        _call(builder, "Py_IncRef", given)
    # Of a row of another kind `at` is no number of a result.
    at = builder.select(builder.icmp_signed("<", row["kind"], word(FLOAT)), word(0), row["at"])
    place = builder.gep(results, [at])
    value = builder.load(place)
    with builder.if_then(kind_is(FLOAT)):
        builder.store(_call(builder, "PyFloat_FromDouble", builder.bitcast(value, ir.DoubleType())), made)
    with builder.if_then(kind_is(INTEGER)):
        builder.store(_call(builder, "PyLong_FromLongLong", value), made)
    with builder.if_then(kind_is(BOOLEAN)):
        builder.store(_call(builder, "PyBool_FromLong", value), made)
    with builder.if_then(builder.icmp_signed(">=", builder.load(kind), word(SCALAR))):
        extents = builder.gep(place, [word(1)])
        _call(builder, "Py_IncRef", row["descr"])  # PyArray_Empty takes a reference away
        ndim, order = builder.trunc(row["ndim"], I32), ir.Constant(I32, 0)
        array = _call(builder, "PyArray_Empty", ndim, builder.ptrtoint(extents, I64), row["descr"], order)
        builder.store(array, made)
        with builder.if_then(builder.icmp_signed("!=", array, word(0)), likely=True):
            nbytes = variable(builder)
            builder.store(row["itemsize"], nbytes)
            with counted(builder, row["ndim"]) as axis:
                extent = builder.load(builder.gep(extents, [axis]))
                builder.store(builder.mul(builder.load(nbytes), extent), nbytes)
            source = builder.select(kind_is(SCALAR), builder.ptrtoint(place, I64), value)
            _copy(builder, field(builder, array, data), source, builder.load(nbytes))
            with builder.if_then(kind_is(SCALAR)):
                builder.store(_call(builder, "PyArray_Return", array), made)
    return builder.load(made)


def _copy(builder: ir.IRBuilder, target: ir.Value, source: ir.Value, nbytes: ir.Value) -> None:
    kind = ir.FunctionType(ir.VoidType(), [BYTES, BYTES, I64, ir.IntType(1)])
    copy = builder.module.declare_intrinsic("llvm.memcpy", [BYTES, BYTES, I64], kind)
    places = [builder.inttoptr(address, BYTES) for address in (target, source)]
    builder.call(copy, [*places, nbytes, ir.Constant(ir.IntType(1), 0)])
