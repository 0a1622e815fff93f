"""The functions of CPython, NumPy and the system that native code calls, linked as `words.symbol` says."""

from __future__ import annotations

from llvmlite import ir

from .words import BYTES, I32, I64, WORDS, symbol

_VOID = ir.VoidType()

PYTHON = {
    "Py_DecRef": ir.FunctionType(_VOID, [I64]),
    "Py_IncRef": ir.FunctionType(_VOID, [I64]),
    "PyArray_CopyInto": ir.FunctionType(I32, [I64, I64]),
    "PyArray_Empty": ir.FunctionType(I64, [I32, I64, I64, I32]),
    "PyArray_Return": ir.FunctionType(I64, [I64]),
    "PyBool_FromLong": ir.FunctionType(I64, [I64]),
    "PyContextVar_Get": ir.FunctionType(I32, [I64, I64, WORDS]),
    "PyDataMem_SetHandler": ir.FunctionType(I64, [I64]),
    "PyDict_GetItem": ir.FunctionType(I64, [I64, I64]),
    "PyDict_New": ir.FunctionType(I64, []),
    "PyDict_Next": ir.FunctionType(I32, [I64, WORDS, WORDS, WORDS]),
    "PyDict_SetItem": ir.FunctionType(I32, [I64, I64, I64]),
    "PyErr_CheckSignals": ir.FunctionType(I32, []),
    "PyErr_Clear": ir.FunctionType(_VOID, []),
    "PyEval_RestoreThread": ir.FunctionType(_VOID, [I64]),
    "PyEval_SaveThread": ir.FunctionType(I64, []),
    "PyFloat_FromDouble": ir.FunctionType(I64, [ir.DoubleType()]),
    "PyGC_Disable": ir.FunctionType(I32, []),
    "PyGC_Enable": ir.FunctionType(I32, []),
    "PyList_Append": ir.FunctionType(I32, [I64, I64]),
    "PyList_GetItem": ir.FunctionType(I64, [I64, I64]),
    "PyList_New": ir.FunctionType(I64, [I64]),
    "PyList_SetItem": ir.FunctionType(I32, [I64, I64, I64]),
    "PyList_SetSlice": ir.FunctionType(I32, [I64, I64, I64, I64]),
    "PyLong_AsLongLong": ir.FunctionType(I64, [I64]),
    "PyLong_AsLongLongAndOverflow": ir.FunctionType(I64, [I64, I32.as_pointer()]),
    "PyLong_FromLongLong": ir.FunctionType(I64, [I64]),
    "PyMem_RawRealloc": ir.FunctionType(I64, [I64, I64]),
    "PyObject_CallOneArg": ir.FunctionType(I64, [I64, I64]),
    "PyObject_GenericGetDict": ir.FunctionType(I64, [I64, I64]),
    "PyObject_GenericSetAttr": ir.FunctionType(I32, [I64, I64, I64]),
    "PyObject_GetItem": ir.FunctionType(I64, [I64, I64]),
    "PyObject_Hash": ir.FunctionType(I64, [I64]),
    "PyObject_SetItem": ir.FunctionType(I32, [I64, I64, I64]),
    "PyObject_Size": ir.FunctionType(I64, [I64]),
    "PyObject_Vectorcall": ir.FunctionType(I64, [I64, WORDS, I64, I64]),
    "PyObject_VectorcallMethod": ir.FunctionType(I64, [I64, WORDS, I64, I64]),
    "PyThread_acquire_lock": ir.FunctionType(I32, [I64, I32]),
    "PyThread_release_lock": ir.FunctionType(_VOID, [I64]),
    "PyTuple_GetItem": ir.FunctionType(I64, [I64, I64]),
    "PyTuple_New": ir.FunctionType(I64, [I64]),
    "PyTuple_SetItem": ir.FunctionType(I32, [I64, I64, I64]),
    "PyTuple_Size": ir.FunctionType(I64, [I64]),
    "PyUnicode_Compare": ir.FunctionType(I32, [I64, I64]),
}
"""Functions of CPython and NumPy."""
C_LIBRARY = {
    "calloc": ir.FunctionType(I64, [I64, I64]),
    "free": ir.FunctionType(_VOID, [I64]),
    "madvise": ir.FunctionType(I32, [I64, I64, I32]),
    "malloc": ir.FunctionType(I64, [I64]),
    "realloc": ir.FunctionType(I64, [I64, I64]),
}
MATHEMATICS = {
    "feclearexcept": ir.FunctionType(I32, [I32]),
    "fegetexceptflag": ir.FunctionType(I32, [BYTES, I32]),
    "fesetexceptflag": ir.FunctionType(I32, [BYTES, I32]),
    "fetestexcept": ir.FunctionType(I32, [I32]),
}
"""Functions of the C library that read and set floating-point flags, where `floatflags` has no instructions for it."""
_ALL = {**PYTHON, **C_LIBRARY, **MATHEMATICS, "yield_processor": ir.FunctionType(I32, [])}


def call_api(builder: ir.IRBuilder, name: str, *args: ir.Value) -> ir.Value:
    """A call of a function of CPython, NumPy or the system."""
    module = builder.module
    function = module.globals.get(symbol(name)) or ir.Function(module, _ALL[name], symbol(name))
    return builder.call(function, args)
