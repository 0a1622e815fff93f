"""What a native call gives and leaves behind: its outputs, what is written into arguments, its results, its stores.

A call allocates its outputs before anything runs. When all has gone well, some are copied into arguments, results are
made of the others and of what the call was given, and everything that is stored is made before any of it is stored.
"""

from __future__ import annotations

from llvmlite import ir

from .api import call_api
from .guard import field
from .words import I32, I64, WORDS, Words, counted, record, variable, word

# An array to allocate; `large` asks for memory from the handler. Or one that is `kept` for all calls, if that is not 0:
# of a number, which no call hands out.
OUTPUT = ("descr", "ndim", "shape", "place", "large", "fortran", "kept")
# An output whose elements are copied into an argument when all has gone well.
WRITTEN = ("into", "place")
# A result: the object at a place, the NumPy scalar that the array there holds, the object at an address, the value of a
# row of the guard, or the Python number that the array at a place holds.
RESULT = ("kind", "place")
ARRAY, SCALAR, OBJECT, GIVEN, FLOAT, INTEGER, BOOLEAN = range(7)
# What happens to the dict, object or list that was the value of `row` when all has gone well: the `key`, or the
# attribute of that name, is set to the value at the place `first`; `count` values from there on are appended; or they
# are all that it holds from then on. Procedures extend a list by all that another one holds (`procedure.STORED`).
STORE = ("how", "row", "key", "first", "count")
SET, ATTRIBUTE, APPEND, REPLACE, EXTEND = range(5)

F64, I8 = ir.DoubleType(), ir.IntType(8)


class Results:
    """Emission of the parts of a function that concern what it gives.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Of the function, which returns the address of an object, or 0 with an exception set.
    table : Words
        The words of the table that describes the call.
    values, places : llvmlite.ir.Value
        What the guard has noted, by rows and by places.
    data : int
        Offset in bytes of the address of an array's data.
    """

    def __init__(self, builder: ir.IRBuilder, table: Words, values: ir.Value, places: ir.Value, data: int):
        self.builder, self.table, self.values, self.places, self.data = builder, table, values, places, data

    def allocate_outputs(self) -> None:
        builder, table = self.builder, self.table
        rows = builder.inttoptr(table["output_rows"], WORDS)
        with builder.goto_entry_block():
            ordinary = builder.alloca(I64)
        with counted(builder, table["outputs"]) as k:
            descr, ndim, shape, place, large, fortran, kept = record(builder, rows, k, OUTPUT)
            made = variable(builder)
            with builder.if_else(builder.icmp_signed("!=", kept, word(0))) as (known, fresh):
                with known:
                    call_api(builder, "Py_IncRef", kept)
                    builder.store(kept, made)
                with fresh:
                    large = builder.icmp_signed("!=", large, word(0))
                    call_api(builder, "Py_IncRef", descr)  # PyArray_Empty takes a reference away
                    with builder.if_then(large):
                        builder.store(call_api(builder, "PyDataMem_SetHandler", table["handler"]), ordinary)
                    order = builder.trunc(fortran, I32)
                    array = call_api(builder, "PyArray_Empty", builder.trunc(ndim, I32), shape, descr, order)
                    with builder.if_then(large):
                        handler = builder.load(ordinary)
                        call_api(builder, "Py_DecRef", call_api(builder, "PyDataMem_SetHandler", handler))
                        call_api(builder, "Py_DecRef", handler)
                    builder.store(array, made)
            array = builder.load(made)
            with builder.if_then(builder.icmp_signed("==", array, word(0)), likely=False):
                self.drop_outputs(k)
                builder.ret(word(0))  # MemoryError is set
            builder.store(array, builder.gep(self.places, [place]))

    def drop_outputs(self, count: ir.Value) -> None:
        """Give up the first `count` outputs, and the table to the next call."""
        builder = self.builder
        rows = builder.inttoptr(self.table["output_rows"], WORDS)
        with counted(builder, count) as k:
            place = record(builder, rows, k, OUTPUT)[OUTPUT.index("place")]
            call_api(builder, "Py_DecRef", builder.load(builder.gep(self.places, [place])))
        self.table.set("busy", word(0))

    def write_back(self) -> None:
        """Copy what the program computed for them into arguments."""
        builder, table = self.builder, self.table
        with counted(builder, table["written"]) as k:
            places = record(builder, builder.inttoptr(table["written_rows"], WORDS), k, WRITTEN)
            arrays = [builder.load(builder.gep(self.places, [place])) for place in places]
            failed = builder.icmp_signed("!=", call_api(builder, "PyArray_CopyInto", *arrays), ir.Constant(I32, 0))
            with builder.if_then(failed, likely=False):
                self.drop_outputs(table["outputs"])
                builder.ret(word(0))

    def return_results(self) -> None:
        builder, table = self.builder, self.table
        rows = builder.inttoptr(table["result_rows"], WORDS)
        result = variable(builder)
        with builder.if_else(builder.icmp_signed("==", table["tuple"], word(0))) as (one, several):
            with one:
                builder.store(self._result(rows, word(0)), result)
            with several:
                self._several(rows, result)
        with builder.if_then(builder.icmp_signed("!=", table["stores"], word(0))):
            self._store(result)
        self.drop_outputs(table["outputs"])
        maker, given = table["maker"], builder.load(result)
        has_both = builder.and_(builder.icmp_signed("!=", maker, word(0)), builder.icmp_signed("!=", given, word(0)))
        with builder.if_then(has_both):
            builder.store(call_api(builder, "PyObject_CallOneArg", maker, given), result)
            call_api(builder, "Py_DecRef", given)
        builder.ret(builder.load(result))

    def _several(self, rows: ir.Value, result: ir.Value) -> None:
        """Store a tuple of all results in the variable `result`, or a dict with the keys of the table; 0 for none."""
        builder, table = self.builder, self.table
        keys = table["keys"]
        is_tuple = builder.icmp_signed("==", keys, word(0))
        with builder.if_else(is_tuple) as (as_tuple, as_dict):
            with as_tuple:
                builder.store(call_api(builder, "PyTuple_New", table["results"]), result)
            with as_dict:
                builder.store(call_api(builder, "PyDict_New"), result)
        with counted(builder, table["results"]) as k:
            whole = builder.load(result)  # until a part of it cannot be made: MemoryError is set then
            with builder.if_then(builder.icmp_signed("!=", whole, word(0))):
                part, is_whole = self._result(rows, k), variable(builder)
                builder.store(part, is_whole)
                with builder.if_else(is_tuple) as (as_tuple, as_dict):
                    with as_tuple:
                        call_api(builder, "PyTuple_SetItem", whole, k, part)
                    with as_dict, builder.if_then(builder.icmp_signed("!=", part, word(0)), likely=True):
                        status = call_api(
                            builder, "PyDict_SetItem", whole, call_api(builder, "PyTuple_GetItem", keys, k), part
                        )
                        call_api(builder, "Py_DecRef", part)
                        is_set = builder.icmp_signed("==", status, ir.Constant(I32, 0))
                        builder.store(builder.zext(is_set, I64), is_whole)
                with builder.if_then(builder.icmp_signed("==", builder.load(is_whole), word(0)), likely=False):
                    call_api(builder, "Py_DecRef", whole)
                    builder.store(word(0), result)

    def _store(self, result: ir.Value) -> None:
        """Store what the function stores; if that fails, drop the result. All of it is made before any is stored."""
        builder, table = self.builder, self.table
        failed = variable(builder)
        builder.store(builder.zext(builder.icmp_signed("==", builder.load(result), word(0)), I64), failed)
        rows, place = builder.inttoptr(table["stored_rows"], WORDS), table["stored_place"]
        with counted(builder, table["stored"]) as k:
            value = self._result(rows, k)
            builder.store(value, builder.gep(self.places, [builder.add(place, k)]))
            note_failure(builder, builder.icmp_signed("==", value, word(0)), failed)
        stores = builder.inttoptr(table["store_rows"], WORDS)
        with counted(builder, table["stores"]) as k:
            row = dict(zip(STORE, record(builder, stores, k, STORE)))
            with builder.if_then(builder.icmp_signed("==", builder.load(failed), word(0))):
                self._store_one(row, failed)
        with counted(builder, table["stored"]) as k:
            value = builder.load(builder.gep(self.places, [builder.add(place, k)]))
            call_api(builder, "Py_DecRef", value)  # which does nothing for 0
        drop_if(builder, failed, result)

    def _store_one(self, row: dict[str, ir.Value], failed: ir.Value) -> None:
        builder = self.builder
        container = builder.load(builder.gep(self.values, [row["row"]]))

        def note(status: ir.Value) -> None:
            note_failure(builder, builder.icmp_signed("!=", status, ir.Constant(I32, 0)), failed)

        def value(k: ir.Value) -> ir.Value:
            return builder.load(builder.gep(self.places, [builder.add(row["first"], k)]))

        def does(how: int) -> ir.Value:
            return builder.icmp_signed("==", row["how"], word(how))

        emit_set(builder, row["how"], container, row["key"], value(word(0)), failed)
        with builder.if_then(does(APPEND)), counted(builder, row["count"]) as k:
            note(call_api(builder, "PyList_Append", container, value(k)))
        with builder.if_then(does(REPLACE)):
            items = call_api(builder, "PyList_New", row["count"])
            with builder.if_else(builder.icmp_signed("!=", items, word(0)), likely=True) as (made, missing):
                with made:
                    with counted(builder, row["count"]) as k:
                        item = value(k)
                        call_api(builder, "Py_IncRef", item)
                        call_api(builder, "PyList_SetItem", items, k, item)
                    note(call_api(builder, "PyList_SetSlice", container, word(0), word((1 << 63) - 1), items))
                    call_api(builder, "Py_DecRef", items)
                with missing:
                    builder.store(word(1), failed)

    def _result(self, rows: ir.Value, k: ir.Value) -> ir.Value:
        """A new reference to result number `k`."""
        builder = self.builder
        kind, place = record(builder, rows, k, RESULT)
        result = variable(builder)
        builder.store(place, result)
        is_elsewhere = builder.icmp_signed("==", kind, word(OBJECT))
        is_elsewhere = builder.or_(is_elsewhere, builder.icmp_signed("==", kind, word(GIVEN)))
        with builder.if_then(builder.not_(is_elsewhere)):
            builder.store(builder.load(builder.gep(self.places, [place])), result)
        with builder.if_then(builder.icmp_signed("==", kind, word(GIVEN))):
            builder.store(builder.load(builder.gep(self.values, [place])), result)
        with builder.if_then(builder.icmp_signed("<", kind, word(FLOAT))):
            call_api(builder, "Py_IncRef", builder.load(result))
        for number, type_, make in (
            (FLOAT, F64, "PyFloat_FromDouble"),
            (INTEGER, I64, "PyLong_FromLongLong"),
            (BOOLEAN, I8, "PyBool_FromLong"),
        ):
            with builder.if_then(builder.icmp_signed("==", kind, word(number))):
                data = field(builder, builder.load(result), self.data)
                value = builder.load(builder.inttoptr(data, type_.as_pointer()))
                value = builder.zext(value, I64) if type_ is I8 else value
                builder.store(call_api(builder, make, value), result)
        with builder.if_then(builder.icmp_signed("==", kind, word(SCALAR))):
            builder.store(call_api(builder, "PyArray_Return", builder.load(result)), result)
        return builder.load(result)


def emit_set(
    builder: ir.IRBuilder, how: ir.Value, container: ir.Value, key: ir.Value, value: ir.Value, failed: ir.Value
) -> None:
    """Set an item or an attribute, or extend a list, as `how` says; note in the variable `failed` where that fails."""
    end = word((1 << 63) - 1)
    for number, name, args in (
        (SET, "PyDict_SetItem", (key, value)),
        (ATTRIBUTE, "PyObject_GenericSetAttr", (key, value)),
        (EXTEND, "PyList_SetSlice", (end, end, value)),
    ):
        with builder.if_then(builder.icmp_signed("==", how, word(number))):
            status = call_api(builder, name, container, *args)
            note_failure(builder, builder.icmp_signed("!=", status, ir.Constant(I32, 0)), failed)


def note_failure(builder: ir.IRBuilder, fails: ir.Value, failed: ir.Value) -> None:
    """Note in the variable `failed` that the condition `fails` holds."""
    with builder.if_then(fails, likely=False):
        builder.store(word(1), failed)


def drop_if(builder: ir.IRBuilder, failed: ir.Value, result: ir.Value) -> None:
    """Give up the reference in the variable `result`, which is 0 from then on, where `failed` is noted."""
    with builder.if_then(builder.icmp_signed("!=", builder.load(failed), word(0)), likely=False):
        call_api(builder, "Py_DecRef", builder.load(result))
        builder.store(word(0), result)
