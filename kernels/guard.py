"""The native guard: whether the arguments of a call are what a table says, and a hash to find the table by.

A table describes the arguments by rows (`ROW`). The values that rows look at are arguments of the call, values that the
function reads from outside, items of containers that earlier rows have checked, and the dicts in which objects keep
their attributes. No row runs Python code: between the rows of a table nothing can change.

`emit_guard` and `emit_hash` add to a module

    jitrt_match(rows, count, args, values, positions, places) -> i1    whether the call is described by the rows
    jitrt_hash(kinds, args, count) -> i64     equal for calls whose arguments have the same types, shapes and strides
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from .api import call_api
from .words import I1, I32, I64, WORDS, by_case, counted, defined, record, repeat_while, variable, word

# What a value has to be: `kind` is one of the constants below, `object` the type or the object, `descr` the dtype, or
# one whose word under `DTYPE_MASK` is `dtype`, if that is not 0: unpickled arrays have dtypes of their own. `ndim`,
# `shape` and `strides` are those of an array, `flags` those of its flags that are in `FLAGS`; or, where `shape` is 0
# and any will do, in `LAYOUT`; nothing of these matters if `ndim` is negative. In the bits of `mask`, the address of
# its first element is `low`. `ndim` is the number of items of a container, in which the word `mask` bytes behind its
# beginning is `low` where `mask` is not 0. An array is noted in `places` under `place`,
# and at `slot` if that is not 0; a number is copied to `slot` with `words` words. A Python integer of 64 bits is copied
# to `slot`, or has to be `ndim` where that is 0. A value is `AGAIN` that of row `ndim`; where it is a `FIELD` of that
# array of records, the address of its first element, `low` bytes behind that of the array, is written to `slot`, and
# with 1 in `words` those of its extents and strides as arrays have them behind it. A string is `EQUAL` to `object`. The
# elements of a list of `NUMBERS` are of the type `descr`, integers where `words` is 0; they are copied to the memory
# whose address is at `slot`, their number to the address `shape`, and for how many there is room stands behind that.
# Those of a list of `ARRAYS` are of the type `low`, with `ndim` axes and one shape, aligned and in C order; what is
# written there are the offset of their data address, the shape, and their addresses. At the address `version_at`, if
# not 0, has to be the 32-bit `version` of a class. The value must not be that of row `other` - 1, nor of that row's
# `other`, and so on until 0. `source`, one of the constants below, says where the value is found, with `base` and
# `key`.
ROW = (
    "kind", "object", "descr", "ndim", "shape", "strides", "flags", "mask", "low", "place", "slot", "words",
    "version_at", "version", "other", "source", "base", "key", "key_type", "dtype",
)  # fmt: skip
ARRAY, NUMBER, IDENTICAL, TYPED, CONTAINER, INTEGER, AGAIN, EQUAL, FIELD, NUMBERS, ARRAYS = range(11)
# An argument with the number `key`; a dict's item; what a cell holds; an item of the tuple, list or dict that was the
# value of row `base`; the dict with the attributes of that value; the object at the address `base`; what that value
# holds in the slot `key` bytes behind its beginning, or `object` if that is empty. Items of a dict are asked for in its
# order, in which `key` has to be the next, or an equal string where `key_type` is the type of strings.
ARGUMENT, LOOKED_UP, IN_CELL, IN_TUPLE, IN_LIST, NEXT_IN_DICT, OWN_DICT, FIXED, IN_SLOT, EMPTY_SLOT = range(10)
# Fields of objects, whose offsets the code contains.
FIELDS = ("type", "data", "ndim", "shape", "strides", "descr", "flags", "number", "cell", "dtype")
# In a dtype: its kind, character and byte order, a byte that is of no interest, and 32 bits with its number.
DTYPE_MASK = -1 << 32 | 0xFFFFFF
# Addresses of types that the hash tells apart.
KINDS = ("array", "bool", "none", "str", "tuple", "list", "dict")

CONTIGUOUS, ALIGNED, WRITEABLE = 0x0003, 0x0100, 0x0400  # of NumPy's flags; contiguous in C or in Fortran order
FLAGS = ALIGNED | WRITEABLE
LAYOUT = FLAGS | CONTIGUOUS  # of arrays of any shape
C_ARRAY = ALIGNED | 0x0001


def field(builder: ir.IRBuilder, value: ir.Value, offset: int, kind: ir.Type = I64) -> ir.Value:
    """The field at an offset in bytes of the object at the address `value`."""
    address = builder.add(value, word(offset))
    return builder.load(builder.inttoptr(address, kind.as_pointer()))


def go_on_if(builder: ir.IRBuilder, otherwise: ir.Block, condition: ir.Value) -> None:
    """Go on if `condition` holds, and with the block `otherwise` if it does not."""
    passed = builder.append_basic_block("passed")
    builder.cbranch(condition, passed, otherwise)
    builder.position_at_end(passed)


def emit_guard(module: ir.Module, fields: dict[str, int]) -> ir.Function:
    """Add ``jitrt_match`` to `module`; `fields` are offsets in bytes of the fields in `FIELDS`."""
    return _Guard(module, fields).emit()


class _Guard:
    """Emission of the guard."""

    def __init__(self, module: ir.Module, fields: dict[str, int]):
        kind = ir.FunctionType(I1, [WORDS, I64, WORDS, WORDS, WORDS, WORDS])
        self.function, self.builder = defined(module, kind, "jitrt_match", internal=True)
        self.rows, self.count, self.args, self.values, self.positions, self.places = self.function.args
        self.fields = fields
        self.missed = self.function.append_basic_block("missed")
        self._require = partial(go_on_if, self.builder, self.missed)  # in other cases the call is another one

    def emit(self) -> ir.Function:
        builder = self.builder
        self.found, self.name, self.overflow = (variable(builder) for _ in range(3))
        checks = {IDENTICAL: self._require_identical, EQUAL: self._require_equal_string} | {
            kind: partial(self._require_typed, check)
            for kind, check in {
                TYPED: lambda *_: None,
                ARRAY: self._check_array,
                NUMBER: self._copy_number,
                CONTAINER: self._check_container,
                INTEGER: self._convert_integer,
                AGAIN: self._require_again,
                FIELD: self._note_field,
                NUMBERS: self._copy_list,
                ARRAYS: self._note_arrays,
            }.items()
        }
        with counted(builder, self.count) as k:
            row = dict(zip(ROW, record(builder, self.rows, k, ROW)))
            value = self._value(row)
            builder.store(value, builder.gep(self.values, [k]))
            builder.store(value, builder.gep(self.places, [row["place"]]))
            with builder.if_then(builder.icmp_signed("!=", row["version_at"], word(0))):
                version = builder.zext(field(builder, row["version_at"], 0, I32), I64)
                self._require(builder.icmp_signed("==", version, row["version"]))
            self._require_another(value, row)
            by_case(builder, row["kind"], {kind: partial(check, k, value, row) for kind, check in checks.items()})
        builder.ret(ir.Constant(I1, 1))
        builder.position_at_end(self.missed)
        builder.ret(ir.Constant(I1, 0))
        return self.function

    def _value(self, row: dict[str, ir.Value]) -> ir.Value:
        """The object of a row."""
        builder, base, key, found = self.builder, row["base"], row["key"], self.found

        def note(value: ir.Value) -> None:
            builder.store(value, found)

        def next_in_dict() -> None:
            position = builder.gep(self.positions, [base])
            more = call_api(builder, "PyDict_Next", self._earlier(base), position, self.name, found)
            self._require(builder.icmp_signed("!=", more, ir.Constant(I32, 0)))
            self._require_name(builder.load(self.name), row)

        def slot() -> ir.Value:
            return builder.load(builder.inttoptr(builder.add(self._earlier(base), key), WORDS))

        def empty_slot() -> None:
            self._require(builder.icmp_signed("==", slot(), word(0)))
            note(row["object"])

        sources: dict[int, Callable[[], None]] = {
            ARGUMENT: lambda: note(builder.load(builder.gep(self.args, [key]))),
            LOOKED_UP: lambda: note(call_api(builder, "PyDict_GetItem", base, key)),
            IN_CELL: lambda: note(self._field(base, "cell")),
            IN_TUPLE: lambda: note(call_api(builder, "PyTuple_GetItem", self._earlier(base), key)),
            IN_LIST: lambda: note(call_api(builder, "PyList_GetItem", self._earlier(base), key)),
            NEXT_IN_DICT: next_in_dict,
            OWN_DICT: lambda: self._get_dict(self._earlier(base)),
            FIXED: lambda: note(base),
            IN_SLOT: lambda: note(slot()),
            EMPTY_SLOT: empty_slot,
        }
        note(word(0))
        by_case(builder, row["source"], sources)
        value = builder.load(found)
        self._require(builder.icmp_signed("!=", value, word(0)))  # deleted, or not assigned yet
        return value

    def _earlier(self, row: ir.Value) -> ir.Value:
        """The value of an earlier row."""
        return self.builder.load(self.builder.gep(self.values, [row]))

    def _get_dict(self, value: ir.Value) -> None:
        """Find the dict with the attributes of `value`, which keeps it alive.

        It may have to be made. Garbage is collected later then: finalizers are Python code.
        """
        builder = self.builder
        collects = call_api(builder, "PyGC_Disable")
        attributes = call_api(builder, "PyObject_GenericGetDict", value, word(0))
        with builder.if_then(builder.icmp_signed("!=", collects, ir.Constant(I32, 0)), likely=True):
            call_api(builder, "PyGC_Enable")
        builder.store(attributes, self.found)
        with builder.if_else(builder.icmp_signed("!=", attributes, word(0)), likely=True) as (there, failed):
            with there:
                call_api(builder, "Py_DecRef", attributes)
            with failed:
                call_api(builder, "PyErr_Clear")

    def _require_name(self, name: ir.Value, row: dict[str, ir.Value]) -> None:
        """Go on if `name` is the key of `row`, or both are strings and equal: not all keys of dicts are interned."""
        builder = self.builder
        with builder.if_then(builder.icmp_signed("!=", name, row["key"]), likely=False):
            self._require(builder.icmp_signed("==", self._field(name, "type"), row["key_type"]))
            self._require_equal(name, row["key"])

    def _require_equal(self, one: ir.Value, other: ir.Value) -> None:
        """Go on if two strings are equal."""
        compared = call_api(self.builder, "PyUnicode_Compare", one, other)
        self._require(self.builder.icmp_signed("==", compared, ir.Constant(I32, 0)))

    def _require_another(self, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        other = variable(builder)
        builder.store(row["other"], other)

        def compare() -> None:
            k = builder.sub(builder.load(other), word(1))
            self._require(builder.icmp_signed("!=", value, self._earlier(k)))
            before = builder.add(builder.mul(k, word(len(ROW))), word(ROW.index("other")))
            builder.store(builder.load(builder.gep(self.rows, [before])), other)

        repeat_while(builder, lambda: builder.icmp_signed("!=", builder.load(other), word(0)), compare)

    def _require_identical(self, k: ir.Value, value: ir.Value, row: dict[str, ir.Value]) -> None:
        self._require(self.builder.icmp_signed("==", value, row["object"]))

    def _require_equal_string(self, k: ir.Value, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        with builder.if_then(builder.icmp_signed("!=", value, row["object"]), likely=False):
            kinds = self._field(value, "type"), self._field(row["object"], "type")
            self._require(builder.icmp_signed("==", *kinds))
            self._require_equal(value, row["object"])

    def _require_typed(
        self, check: Callable[..., None], k: ir.Value, value: ir.Value, row: dict[str, ir.Value]
    ) -> None:
        self._require(self.builder.icmp_signed("==", self._field(value, "type"), row["object"]))
        check(k, value, row)

    def _require_again(self, k: ir.Value, value: ir.Value, row: dict[str, ir.Value]) -> None:
        self._require(self.builder.icmp_signed("==", value, self._earlier(row["ndim"])))

    def _note_field(self, k: ir.Value, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        self._require_again(k, value, row)
        first = builder.add(self._field(value, "data"), row["low"])
        builder.store(first, builder.inttoptr(row["slot"], WORDS))
        with builder.if_then(self._is(row, "words", 1)):
            for name in ("shape", "strides"):
                there = builder.add(row["slot"], word(self.fields[name] - self.fields["data"]))
                builder.store(self._field(value, name), builder.inttoptr(there, WORDS))

    def _check_container(self, k: ir.Value, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        size = call_api(builder, "PyObject_Size", value)
        self._require(builder.icmp_signed("==", size, row["ndim"]))
        builder.store(word(0), builder.gep(self.positions, [k]))
        with builder.if_then(builder.icmp_signed("!=", row["mask"], word(0))):
            found = builder.load(builder.inttoptr(builder.add(value, row["mask"]), WORDS))
            self._require(builder.icmp_signed("==", found, row["low"]))

    def _check_array(self, k: ir.Value, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        self._check_dtype(value, row)
        with builder.if_then(builder.icmp_signed(">=", row["ndim"], word(0)), likely=True):
            self._check_layout(value, row)
        with builder.if_then(builder.icmp_signed("!=", row["slot"], word(0))):
            builder.store(value, builder.inttoptr(row["slot"], WORDS))

    def _check_dtype(self, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        descr = self._field(value, "descr")
        with builder.if_then(builder.icmp_signed("!=", descr, row["descr"]), likely=False):
            found = builder.and_(self._field(descr, "dtype"), word(DTYPE_MASK))
            self._require(builder.icmp_signed("==", found, row["dtype"]))

    def _check_layout(self, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        ndim = builder.sext(self._field(value, "ndim", I32), I64)
        self._require(builder.icmp_signed("==", ndim, row["ndim"]))
        low = builder.and_(self._field(value, "data"), row["mask"])
        self._require(builder.icmp_signed("==", low, row["low"]))
        any_shape = self._is(row, "shape", 0)
        mask = builder.select(any_shape, ir.Constant(I32, LAYOUT), ir.Constant(I32, FLAGS))
        flags = builder.and_(self._field(value, "flags", I32), mask)
        self._require(builder.icmp_signed("==", builder.zext(flags, I64), row["flags"]))
        axes = builder.select(any_shape, word(0), ndim)
        for name in ("shape", "strides"):
            actual = builder.inttoptr(self._field(value, name), WORDS)
            expected = builder.inttoptr(row[name], WORDS)
            with counted(builder, axes) as axis:
                pair = [builder.load(builder.gep(table, [axis])) for table in (actual, expected)]
                self._require(builder.icmp_signed("==", *pair))

    def _copy_number(self, k: ir.Value, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        source = builder.inttoptr(builder.add(value, word(self.fields["number"])), WORDS)
        target = builder.inttoptr(row["slot"], WORDS)
        with counted(builder, row["words"]) as k:
            builder.store(builder.load(builder.gep(source, [k])), builder.gep(target, [k]))

    def _copy_list(self, k: ir.Value, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        count, target = self._room_for(value, row, word(0))
        is_float = self._is(row, "words", 1)
        with counted(builder, count) as k:
            item = call_api(builder, "PyList_GetItem", value, k)
            self._require(builder.icmp_signed("==", self._field(item, "type"), row["descr"]))
            with builder.if_else(is_float) as (copied, converted):
                with copied:
                    builder.store(self._field(item, "number"), builder.gep(target, [k]))
                with converted:
                    builder.store(self._integer(item), builder.gep(target, [k]))

    def _room_for(self, value: ir.Value, row: dict[str, ir.Value], head: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The length of a list, and memory for so many words behind `head` other ones."""
        builder = self.builder
        memory, extent = (builder.inttoptr(row[name], WORDS) for name in ("slot", "shape"))
        room, count = builder.gep(extent, [word(1)]), call_api(builder, "PyObject_Size", value)
        self._require(builder.icmp_signed("!=", count, word(0)))  # nothing is known of its elements
        words = builder.add(head, count)
        with builder.if_then(builder.icmp_signed(">", words, builder.load(room)), likely=False):
            more = builder.add(builder.add(words, builder.lshr(words, word(3))), word(16))
            found = call_api(builder, "PyMem_RawRealloc", builder.load(memory), builder.mul(more, word(8)))
            self._require(builder.icmp_signed("!=", found, word(0)))
            builder.store(found, memory)
            builder.store(more, room)
        builder.store(words, extent)
        return count, builder.inttoptr(builder.load(memory), WORDS)

    def _note_arrays(self, k: ir.Value, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        head = builder.add(row["ndim"], word(1))
        count, target = self._room_for(value, row, head)
        builder.store(word(self.fields["data"]), target)
        shape, items = builder.gep(target, [word(1)]), builder.gep(target, [head])
        with counted(builder, count) as k:
            item = call_api(builder, "PyList_GetItem", value, k)
            self._require(builder.icmp_signed("==", self._field(item, "type"), row["low"]))
            self._check_dtype(item, row)
            self._require(builder.icmp_signed("==", builder.sext(self._field(item, "ndim", I32), I64), row["ndim"]))
            flags = builder.and_(self._field(item, "flags", I32), ir.Constant(I32, C_ARRAY))
            self._require(builder.icmp_signed("==", flags, ir.Constant(I32, C_ARRAY)))
            extents = builder.inttoptr(self._field(item, "shape"), WORDS)
            with counted(builder, row["ndim"]) as axis:
                extent, place = builder.load(builder.gep(extents, [axis])), builder.gep(shape, [axis])
                with builder.if_then(builder.icmp_signed("==", k, word(0)), likely=False):
                    builder.store(extent, place)
                self._require(builder.icmp_signed("==", extent, builder.load(place)))
            builder.store(item, builder.gep(items, [k]))

    def _integer(self, value: ir.Value) -> ir.Value:
        """A Python integer, if it has no more than 64 bits."""
        builder = self.builder
        builder.store(word(0), self.overflow)
        low = builder.bitcast(self.overflow, I32.as_pointer())
        converted = call_api(builder, "PyLong_AsLongLongAndOverflow", value, low)
        self._require(builder.icmp_signed("==", builder.load(self.overflow), word(0)))
        return converted

    def _convert_integer(self, k: ir.Value, value: ir.Value, row: dict[str, ir.Value]) -> None:
        builder = self.builder
        converted = self._integer(value)
        with builder.if_else(self._is(row, "slot", 0)) as (compared, copied):
            with compared:
                self._require(builder.icmp_signed("==", converted, row["ndim"]))
            with copied:
                builder.store(converted, builder.inttoptr(row["slot"], WORDS))

    def _is(self, row: dict[str, ir.Value], name: str, constant: int) -> ir.Value:
        return self.builder.icmp_signed("==", row[name], word(constant))

    def _field(self, value: ir.Value, name: str, kind: ir.Type = I64) -> ir.Value:
        return field(self.builder, value, self.fields[name], kind)


def emit_hash(module: ir.Module, fields: dict[str, int]) -> ir.Function:
    """Add ``jitrt_hash`` to `module`; the words at `kinds` are laid out as `KINDS`."""
    function, builder = defined(module, ir.FunctionType(I64, [WORDS, WORDS, I64]), "jitrt_hash", internal=True)
    kinds, args, count = function.args
    total, number = variable(builder), variable(builder)
    known = {name: builder.load(builder.gep(kinds, [word(k)])) for k, name in enumerate(KINDS)}

    def mix(value: ir.Value) -> None:
        # One round of Fowler, Noll and Vo's hash, with words for bytes; the shift brings high bits down.
        mixed = builder.mul(builder.xor(builder.load(total), value), word(0x100000001B3))
        builder.store(builder.xor(mixed, builder.lshr(mixed, word(29))), total)

    def one() -> None:
        k = builder.load(number)
        builder.store(builder.add(k, word(1)), number)
        value = builder.load(builder.gep(args, [k]))
        kind = field(builder, value, fields["type"])
        mix(kind)

        def is_any(*names: str) -> ir.Value:
            result = ir.Constant(I1, 0)
            for name in names:
                result = builder.or_(result, builder.icmp_signed("==", kind, known[name]))
            return result

        with builder.if_else(is_any("array")) as (array, other):
            with array:
                dtype = field(builder, field(builder, value, fields["descr"]), fields["dtype"])
                mix(builder.and_(dtype, word(DTYPE_MASK)))
                ndim = builder.sext(field(builder, value, fields["ndim"], I32), I64)
                mix(ndim)
                for name in ("shape", "strides"):
                    extents = builder.inttoptr(field(builder, value, fields[name]), WORDS)
                    with counted(builder, ndim) as axis:
                        mix(builder.load(builder.gep(extents, [axis])))
            with other:
                with builder.if_then(is_any("bool", "none")):
                    mix(value)
                with builder.if_then(is_any("str")):
                    mix(call_api(builder, "PyObject_Hash", value))
                with builder.if_then(is_any("tuple", "list", "dict")):
                    mix(call_api(builder, "PyObject_Size", value))

    repeat_while(builder, lambda: builder.icmp_signed("<", builder.load(number), count), one)
    builder.ret(builder.load(total))
    return function
