"""The driver as a builtin, for calls that Python drives: it takes a fifth of the time of one through `ctypes`.

`emit_block_call` adds to a module

    jitrt_block(self, args, nargs, names) -> object      a METH_FASTCALL | METH_KEYWORDS function of four integers

which gives what ``jitrt_run`` gives for these, as an integer. Other Python threads run meanwhile.
"""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from .api import call_api
from .words import BYTES, I64, WORDS, defined, word


def emit_block_call(module: ir.Module, run: ir.Function) -> None:
    """Add the function to `module`, which has ``jitrt_run``."""
    function, builder = defined(module, ir.FunctionType(BYTES, [BYTES, WORDS, I64, BYTES]), "jitrt_block")
    call = partial(call_api, builder)
    objects = [builder.load(builder.gep(function.args[1], [word(k)])) for k in range(4)]
    block, *others = [call("PyLong_AsLongLong", value) for value in objects]
    thread = call("PyEval_SaveThread")
    state = builder.call(run, [builder.inttoptr(block, WORDS), *others])
    call("PyEval_RestoreThread", thread)
    builder.ret(builder.inttoptr(call("PyLong_FromLongLong", state), BYTES))
