"""The native entry: a Python builtin that checks the arguments of a call, binds them and runs the kernels.

`emit_entry` adds to a module

    jitrt_entry(self, args, nargs) -> object        a METH_FASTCALL function (PEP 590)

`self` is an array of 64-bit words laid out as `TABLE`. A call whose arguments are not of the types, shapes and strides
in the table returns the `miss` object, and the caller looks for another way. On a match the results are allocated, the
driver runs, and the results are returned.
"""

from __future__ import annotations

from llvmlite import ir

from .driver import BYTES, counted, record
from .pool import I32, I64, WORDS, call_api, word

# Words of the table. `busy` is set while a call runs without the GIL, since it uses the only frame of the table.
# `handler` is the memory handler of large results. `plain`, if not 0, is a Python function that is called with the
# arguments in place of kernels.
TABLE = (
    "positional", "arguments", "argument_rows", "results", "result_rows", "places", "block", "miss", "busy", "release",
    "tuple", "plain", "handler",
)  # fmt: skip
# What an argument has to be; `kind` is one of the constants below. The first `positional` rows are the arguments of the
# call. Further ones are values that the function reads from outside: `container` is then a dict, in which `key` is
# looked up, or with no key a cell.
ARGUMENT = ("kind", "object", "descr", "ndim", "shape", "strides", "place", "slot", "container", "key")
ARRAY, FLOAT, IDENTICAL, TYPED = range(4)
# A result to allocate; `scalar` asks for a NumPy scalar, `large` for memory from the handler.
RESULT = ("descr", "ndim", "shape", "scalar", "place", "large")
# Fields of objects, whose offsets the code contains.
FIELDS = ("type", "data", "ndim", "shape", "strides", "descr", "flags", "float", "cell")
_ALIGNED = 0x0100  # NPY_ARRAY_ALIGNED

_ENTRY = ir.FunctionType(BYTES, [BYTES, WORDS, I64])
_SIGNATURES = {
    "Py_IncRef": ir.FunctionType(ir.VoidType(), [I64]),
    "Py_DecRef": ir.FunctionType(ir.VoidType(), [I64]),
    "PyEval_SaveThread": ir.FunctionType(I64, []),
    "PyEval_RestoreThread": ir.FunctionType(ir.VoidType(), [I64]),
    "PyTuple_New": ir.FunctionType(I64, [I64]),
    "PyTuple_SetItem": ir.FunctionType(I32, [I64, I64, I64]),
    "PyObject_Vectorcall": ir.FunctionType(I64, [I64, I64, I64, I64]),
    "PyDict_GetItem": ir.FunctionType(I64, [I64, I64]),
    "PyArray_Empty": ir.FunctionType(I64, [I32, I64, I64, I32]),
    "PyDataMem_SetHandler": ir.FunctionType(I64, [I64]),
    "PyArray_Return": ir.FunctionType(I64, [I64]),
}


API = tuple(_SIGNATURES)
"""Functions of CPython and NumPy that the code calls, linked as `pool.symbol` says."""


def emit_entry(module: ir.Module, run: ir.Function, fields: dict[str, int], item: int) -> None:
    """Add ``jitrt_entry`` to `module`.

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
    _Entry(module, run, fields, item).emit()


class _Entry:
    """Emission of the entry."""

    def __init__(self, module: ir.Module, run: ir.Function, fields: dict[str, int], item: int):
        self.function = ir.Function(module, _ENTRY, "jitrt_entry")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.run, self.fields, self.item = run, fields, item

    def emit(self) -> None:
        builder = self.builder
        self_object, args, nargs = self.function.args
        table = builder.inttoptr(self._field(builder.ptrtoint(self_object, I64), "data"), WORDS)
        self.table = {name: builder.gep(table, [word(k)]) for k, name in enumerate(TABLE)}
        # The places of arrays, as if they were the items of a tuple.
        self.places = builder.alloca(I64, self._get("places"))
        self.missed = self.function.append_basic_block("missed")

        self._require(builder.icmp_signed("==", nargs, self._get("positional")))
        self._require(builder.icmp_signed("==", self._get("busy"), word(0)))
        self._check_arguments(args)
        plain = self._get("plain")
        with builder.if_then(builder.icmp_signed("!=", plain, word(0))):
            arguments = builder.ptrtoint(args, I64)
            result = self._call("PyObject_Vectorcall", plain, arguments, nargs, word(0))
            builder.ret(builder.inttoptr(result, BYTES))
        self._allocate_results()
        self._run()
        self._return_results()

        builder.position_at_end(self.missed)
        miss = self._get("miss")
        self._call("Py_IncRef", miss)
        builder.ret(builder.inttoptr(miss, BYTES))

    def _check_arguments(self, args: ir.Value) -> None:
        builder = self.builder
        rows = builder.inttoptr(self._get("argument_rows"), WORDS)
        with counted(builder, self._get("arguments")) as k:
            kind, wanted, descr, ndim, shape, strides, place, slot, container, key = record(builder, rows, k, ARGUMENT)
            value = self._value(args, k, container, key)
            is_array = builder.icmp_signed("==", kind, word(ARRAY))
            is_identical = builder.icmp_signed("==", kind, word(IDENTICAL))
            with builder.if_else(is_identical) as (identical, typed):
                with identical:
                    self._require(builder.icmp_signed("==", value, wanted))
                with typed:
                    self._require(builder.icmp_signed("==", self._field(value, "type"), wanted))
            builder.store(value, builder.gep(self.places, [place]))
            with builder.if_then(is_array):
                self._require(builder.icmp_signed("==", self._field(value, "descr"), descr))
                found = builder.sext(self._field(value, "ndim", I32), I64)
                self._require(builder.icmp_signed("==", found, ndim))
                flags = self._field(value, "flags", I32)
                aligned = builder.and_(flags, ir.Constant(I32, _ALIGNED))
                self._require(builder.icmp_signed("!=", aligned, ir.Constant(I32, 0)))
                for name, expected in (("shape", shape), ("strides", strides)):
                    actual = builder.inttoptr(self._field(value, name), WORDS)
                    with counted(builder, ndim) as axis:
                        same = builder.icmp_signed(
                            "==",
                            builder.load(builder.gep(actual, [axis])),
                            builder.load(builder.gep(builder.inttoptr(expected, WORDS), [axis])),
                        )
                        self._require(same)
            with builder.if_then(builder.icmp_signed("==", kind, word(FLOAT))):
                builder.store(self._field(value, "float"), builder.inttoptr(slot, WORDS))

    def _value(self, args: ir.Value, k: ir.Value, container: ir.Value, key: ir.Value) -> ir.Value:
        """The object of row `k`: an argument, or what is found in a dict or a cell now."""
        builder = self.builder
        with builder.goto_entry_block():
            found = builder.alloca(I64)
        with builder.if_else(builder.icmp_signed("==", container, word(0))) as (positional, captured):
            with positional:
                builder.store(builder.load(builder.gep(args, [k])), found)
            with captured, builder.if_else(builder.icmp_signed("==", key, word(0))) as (cell, item):
                with cell:
                    builder.store(self._field(container, "cell"), found)
                with item:
                    builder.store(self._call("PyDict_GetItem", container, key), found)
        value = builder.load(found)
        self._require(builder.icmp_signed("!=", value, word(0)))  # deleted, or not assigned yet
        return value

    def _allocate_results(self) -> None:
        builder = self.builder
        rows = builder.inttoptr(self._get("result_rows"), WORDS)
        with counted(builder, self._get("results")) as k:
            descr, ndim, shape, _, place, large = record(builder, rows, k, RESULT)
            large = builder.icmp_signed("!=", large, word(0))
            self._call("Py_IncRef", descr)  # PyArray_Empty takes a reference away
            with builder.goto_entry_block():
                ordinary = builder.alloca(I64)
            with builder.if_then(large):
                builder.store(self._call("PyDataMem_SetHandler", self._get("handler")), ordinary)
            array = self._call("PyArray_Empty", builder.trunc(ndim, I32), shape, descr, ir.Constant(I32, 0))
            with builder.if_then(large):
                handler = builder.load(ordinary)
                self._call("Py_DecRef", self._call("PyDataMem_SetHandler", handler))
                self._call("Py_DecRef", handler)
            with builder.if_then(builder.icmp_signed("==", array, word(0)), likely=False):
                with counted(builder, k) as done:
                    earlier = record(builder, rows, done, RESULT)[-2]
                    self._call("Py_DecRef", builder.load(builder.gep(self.places, [earlier])))
                builder.ret(builder.inttoptr(word(0), BYTES))  # MemoryError is set
            builder.store(array, builder.gep(self.places, [place]))

    def _run(self) -> None:
        builder = self.builder
        block = builder.inttoptr(self._get("block"), WORDS)
        items = builder.sub(builder.ptrtoint(self.places, I64), word(self.item))
        with builder.if_else(builder.icmp_signed("!=", self._get("release"), word(0))) as (released, held):
            with released:
                builder.store(word(1), self.table["busy"])
                state = self._call("PyEval_SaveThread")
                builder.call(self.run, [block, items])
                self._call("PyEval_RestoreThread", state)
                builder.store(word(0), self.table["busy"])
            with held:
                builder.call(self.run, [block, items])

    def _return_results(self) -> None:
        builder = self.builder
        rows = builder.inttoptr(self._get("result_rows"), WORDS)
        with builder.if_then(builder.icmp_signed("==", self._get("tuple"), word(0))):
            builder.ret(builder.inttoptr(self._result(rows, word(0)), BYTES))
        several = self._call("PyTuple_New", self._get("results"))
        with builder.if_then(builder.icmp_signed("==", several, word(0)), likely=False):
            builder.ret(builder.inttoptr(word(0), BYTES))
        with counted(builder, self._get("results")) as k:
            self._call("PyTuple_SetItem", several, k, self._result(rows, k))
        builder.ret(builder.inttoptr(several, BYTES))

    def _result(self, rows: ir.Value, k: ir.Value) -> ir.Value:
        """Result number `k`: the array, or the scalar that it holds."""
        builder = self.builder
        *_, scalar, place, _ = record(builder, rows, k, RESULT)
        array = builder.load(builder.gep(self.places, [place]))
        before = builder.block
        with builder.if_then(builder.icmp_signed("!=", scalar, word(0))):
            value = self._call("PyArray_Return", array)
            converted = builder.block
        result = builder.phi(I64)
        result.add_incoming(array, before)
        result.add_incoming(value, converted)
        return result

    def _get(self, name: str) -> ir.Value:
        return self.builder.load(self.table[name])

    def _field(self, value: ir.Value, name: str, kind: ir.Type = I64) -> ir.Value:
        """A field of the object at the address `value`."""
        address = self.builder.add(value, word(self.fields[name]))
        return self.builder.load(self.builder.inttoptr(address, kind.as_pointer()))

    def _require(self, condition: ir.Value) -> None:
        """Go on if `condition` holds; otherwise the call is a miss."""
        passed = self.builder.append_basic_block("passed")
        self.builder.cbranch(condition, passed, self.missed)
        self.builder.position_at_end(passed)

    def _call(self, name: str, *args: ir.Value) -> ir.Value:
        return call_api(self.builder, name, _SIGNATURES[name], *args)
