"""Elements and parts of arrays that objects of a class hold, read and written without a frame of Python's in between.

`emit_elements` adds to a module

    jitrt_elements(table)                                   say where the words `ELEMENTS` are
    jitrt_get_item(self, args, nargs, names) -> object      METH_FASTCALL | METH_KEYWORDS methods of the class
    jitrt_set_item(self, args, nargs, names) -> object

An object has a *memory*, which has an array, if it is `direct`, and views of it by parts. An index goes to the array,
or to the view that is the object's part, if its class is one that NumPy knows. All else is a call of a Python function
with the same arguments, and so is a part of an array that is not small, or that something pending may read. What is
gathered by other indices than integers and slices is no part, but a new array: a function makes an object of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from .api import call_api
from .guard import field, go_on_if
from .words import I1, I32, I64, WORDS, Words, counted, defined, variable, word

_BASIC = ("int", "slice", "int64", "none type", "ellipsis")  # classes of what chooses a part
ELEMENTS = (
    # Offsets in bytes of slots: of an object, and of its memory.
    "memory", "part", "direct", "value", "views",
    # Addresses of objects and classes.
    "true", "none", "array", "tuple", "list", "int", "int64", "slice", "ellipsis", "none type",
    # The address of what is pending, a dict; the number of elements below which a part is small; the functions.
    "pending", "small", "get", "set", "gathered",
)  # fmt: skip


def emit_elements(module: ir.Module, fields: dict[str, int]) -> None:
    """Add the functions to `module`; `fields` are offsets in bytes of the fields of arrays and objects."""
    place = ir.GlobalVariable(module, I64, "jitrt_elements_table")
    place.initializer, place.linkage = word(0), "internal"
    function, builder = defined(module, ir.FunctionType(ir.VoidType(), [I64]), "jitrt_elements")
    builder.store(function.args[0], place)
    builder.ret_void()
    _Method(module, "jitrt_get_item", place, fields).emit_get()
    _Method(module, "jitrt_set_item", place, fields).emit_set()


class _Method:
    """Emission of one of the two methods."""

    def __init__(self, module: ir.Module, name: str, place: ir.GlobalVariable, fields: dict[str, int]):
        kind = ir.FunctionType(I64, [I64, WORDS, I64, I64])
        self.function, self.builder = defined(module, kind, name)
        self.self, self.args, self.nargs, self.names = self.function.args
        self.table = Words(self.builder, ELEMENTS, self.builder.inttoptr(self.builder.load(place), WORDS))
        self.fields = fields
        self.otherwise = self.function.append_basic_block("otherwise")
        self._require = partial(go_on_if, self.builder, self.otherwise)

    def emit_get(self) -> None:
        builder = self.builder
        (index,) = self._arguments(1)
        known = self._known(index)
        found = self._with(known, lambda: call_api(builder, "PyObject_GetItem", known, index))
        with builder.if_then(builder.icmp_signed("==", found, word(0)), likely=False):
            builder.ret(found)  # an exception is set
        with builder.if_then(builder.icmp_signed("!=", self._type(found), self.table["array"])):
            builder.ret(found)
        size = variable(builder, 1)
        shape = builder.inttoptr(field(builder, found, self.fields["shape"]), WORDS)
        with counted(builder, builder.sext(field(builder, found, self.fields["ndim"], I32), I64)) as k:
            builder.store(builder.mul(builder.load(size), builder.load(builder.gep(shape, [k]))), size)
        is_small = builder.icmp_signed("<", builder.load(size), self.table["small"])
        with builder.if_then(builder.and_(is_small, self._nothing_is_pending())):
            builder.ret(found)
        is_gathered = builder.icmp_signed("==", self._is_basic(index), ir.Constant(I1, 0))
        with builder.if_then(is_gathered):
            made = call_api(builder, "PyObject_CallOneArg", self.table["gathered"], found)
            call_api(builder, "Py_DecRef", found)
            builder.ret(made)
        call_api(builder, "Py_DecRef", found)
        builder.branch(self.otherwise)
        self._finish("get")

    def emit_set(self) -> None:
        builder = self.builder
        index, value = self._arguments(2)
        known = self._known(index)
        self._require(self._nothing_is_pending())
        failed = self._with(known, lambda: call_api(builder, "PyObject_SetItem", known, index, value))
        with builder.if_then(builder.icmp_signed("!=", failed, ir.Constant(I32, 0)), likely=False):
            builder.ret(word(0))
        call_api(builder, "Py_IncRef", self.table["none"])
        builder.ret(self.table["none"])
        self._finish("set")

    def _arguments(self, count: int) -> list[ir.Value]:
        """The arguments, if there are `count` by position."""
        builder = self.builder
        self._require(builder.icmp_signed("==", self.nargs, word(count)))
        self._require(builder.icmp_signed("==", self.names, word(0)))
        return [builder.load(builder.gep(self.args, [word(k)])) for k in range(count)]

    def _known(self, index: ir.Value) -> ir.Value:
        """The array whose element or part is asked for, if it is direct."""
        builder, table = self.builder, self.table
        self._require(self._is_one_of(index, ("int", "tuple", "slice", "list", "array")))
        memory, part = self._slot(self.self, "memory"), self._slot(self.self, "part")
        self._require(builder.icmp_signed("!=", memory, table["none"]))
        self._require(builder.icmp_signed("==", self._slot(memory, "direct"), table["true"]))
        known = variable(builder)
        with builder.if_else(builder.icmp_signed("==", part, table["none"])) as (whole, view):
            with whole:
                builder.store(self._slot(memory, "value"), known)
            with view:
                builder.store(call_api(builder, "PyDict_GetItem", self._slot(memory, "views"), part), known)
        found = builder.load(known)
        self._require(builder.icmp_signed("!=", found, word(0)))
        self._require(builder.icmp_signed("==", self._type(found), table["array"]))
        return found

    def _slot(self, value: ir.Value, name: str) -> ir.Value:
        """The object in a slot, all of which are filled."""
        address = self.builder.add(value, self.table[name])
        return self.builder.load(self.builder.inttoptr(address, WORDS))

    def _type(self, value: ir.Value) -> ir.Value:
        return field(self.builder, value, self.fields["type"])

    def _is_one_of(self, value: ir.Value, names: tuple[str, ...]) -> ir.Value:
        kind, found = self._type(value), ir.Constant(I1, 0)
        for name in names:
            found = self.builder.or_(found, self.builder.icmp_signed("==", kind, self.table[name]))
        return found

    def _is_basic(self, index: ir.Value) -> ir.Value:
        """Whether an index chooses a part, and does not gather elements."""
        builder = self.builder
        found = variable(builder)
        builder.store(builder.zext(self._is_one_of(index, _BASIC), I64), found)
        with builder.if_then(self._is_one_of(index, ("tuple",))):
            builder.store(word(1), found)
            with counted(builder, call_api(builder, "PyTuple_Size", index)) as k:
                item = call_api(builder, "PyTuple_GetItem", index, k)
                is_basic = builder.zext(self._is_one_of(item, _BASIC), I64)
                builder.store(builder.and_(builder.load(found), is_basic), found)
        return builder.icmp_signed("!=", builder.load(found), word(0))

    def _nothing_is_pending(self) -> ir.Value:
        return self.builder.icmp_signed("==", call_api(self.builder, "PyObject_Size", self.table["pending"]), word(0))

    def _with(self, held: ir.Value, call: Callable[[], ir.Value]) -> ir.Value:
        """What a call gives, during which `held` has to live: an index may run Python code."""
        call_api(self.builder, "Py_IncRef", held)
        result = call()
        call_api(self.builder, "Py_DecRef", held)
        return result

    def _finish(self, name: str) -> None:
        """Call the Python function `name` of the table where something was not as required."""
        builder = self.builder
        builder.position_at_end(self.otherwise)
        total = variable(builder)
        builder.store(self.nargs, total)
        with builder.if_then(builder.icmp_signed("!=", self.names, word(0))):
            builder.store(builder.add(self.nargs, call_api(builder, "PyTuple_Size", self.names)), total)
        given = builder.alloca(I64, builder.add(builder.load(total), word(1)))
        builder.store(self.self, given)
        with counted(builder, builder.load(total)) as k:
            target = builder.gep(given, [builder.add(k, word(1))])
            builder.store(builder.load(builder.gep(self.args, [k])), target)
        count = builder.add(self.nargs, word(1))
        builder.ret(call_api(builder, "PyObject_Vectorcall", self.table[name], given, count, self.names))
