"""jitrt makes ordinary NumPy code fast: put `@jitrt.jit` on a function, and it runs as fused kernels.

>>> import numpy as np
>>> import jitrt
>>> @jitrt.jit
... def softmax(x):
...     e = np.exp(x - x.max(axis=-1, keepdims=True))
...     return e / e.sum(axis=-1, keepdims=True)
>>> softmax(np.log([[1.0, 3.0], [2.0, 2.0]]))
array([[0.25, 0.75],
       [0.5 , 0.5 ]])

`jit` is all that most programs need. `JitFunction` is what it makes: its methods tell what a call runs (`explain`),
where its time goes (`profile`) and what is kept (`cache_info`), and compile ahead of calls (`compile`, with `spec`).
Loops and choices as functions are `fori_loop`, `while_loop`, `scan` and `cond`. `evaluate`, with `re_evaluate`,
`validate` and `NumExpr`, takes an expression as a string, as numexpr does; `register_pandas_engine` lets pandas use it.
`report` says what all functions of the process have lost, and why; `progress` shows compilations while they last, and
`show_in_profilers` calls by name.
Functions of other packages are vouched for by `pure`; `numba_function` makes one that code compiled by numba may call.
`set_num_threads`, `clear_caches`, `warm_up` and `non_aliasing` concern the whole process. `schedule` and `memory` are
for experts: fusions made by hand, and plans of memory. `jitrt.numpy` is NumPy's namespace over lazy arrays, for
programs without a decorator: `asarray` makes them, and `compute` computes several at once. `jitrt.dask` compiles the
tasks of dask arrays.

Importing the package imports next to nothing: each public name brings its module when it is first used.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .base.imported import when_imported
from .config import configure_logging

if TYPE_CHECKING:
    from . import expr, memory, schedule
    from .decorator import clear_caches, jit
    from .errors import JitrtError, JitrtPerformanceWarning
    from .frontend.python.externals import pure
    from .frontend.python.operations import operation, register_compiler, register_rule
    from .inspect.ahead_of_time import spec, warm_up
    from .inspect.explain import Explanation
    from .ir.aliasing import non_aliasing
    from .jitfunction import JitFunction
    from .loops import cond, fori_loop, scan, while_loop
    from .numpy.array import compute
    from .numpy.creation import asarray
    from .running.progress import progress
    from .running.report import report
    from .runtime.numbafunction import numba_function
    from .runtime.threads import num_threads, set_num_threads
    from .runtime.visible import show_in_profilers
    from .strings.evaluation import NumExpr, evaluate, re_evaluate, validate
    from .strings.pandas import register_pandas_engine
    from .values.frozen import frozen

__version__ = "0.1.0"
__all__ = [
    "Explanation",
    "JitFunction",
    "JitrtError",
    "JitrtPerformanceWarning",
    "NumExpr",
    "__version__",
    "asarray",
    "clear_caches",
    "compute",
    "cond",
    "evaluate",
    "expr",
    "fori_loop",
    "frozen",
    "jit",
    "memory",
    "non_aliasing",
    "num_threads",
    "numba_function",
    "operation",
    "progress",
    "pure",
    "re_evaluate",
    "register_compiler",
    "register_pandas_engine",
    "register_rule",
    "report",
    "scan",
    "schedule",
    "set_num_threads",
    "show_in_profilers",
    "spec",
    "validate",
    "warm_up",
    "while_loop",
]

_MODULES = {
    ".inspect.ahead_of_time": ("spec", "warm_up"),
    ".errors": ("JitrtError", "JitrtPerformanceWarning"),
    ".inspect.explain": ("Explanation",),
    ".decorator": ("clear_caches", "jit"),
    ".jitfunction": ("JitFunction",),
    ".loops": ("cond", "fori_loop", "scan", "while_loop"),
    ".ir.aliasing": ("non_aliasing",),
    ".numpy.array": ("compute",),
    ".numpy.creation": ("asarray",),
    ".runtime.numbafunction": ("numba_function",),
    ".runtime.threads": ("num_threads", "set_num_threads"),
    ".frontend.python.externals": ("pure",),
    ".frontend.python.operations": ("operation", "register_compiler", "register_rule"),
    ".running.progress": ("progress",),
    ".running.report": ("report",),
    ".runtime.visible": ("show_in_profilers",),
    ".running.ipython": ("load_ipython_extension", "unload_ipython_extension"),
    ".strings.evaluation": ("NumExpr", "evaluate", "re_evaluate", "validate"),
    ".strings.pandas": ("register_pandas_engine",),
    ".values.frozen": ("frozen",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
_PACKAGES = ("dask", "expr", "memory", "numpy", "schedule")


if not TYPE_CHECKING:  # to type checkers, what is not imported above does not exist

    def __getattr__(name: str) -> Any:
        if name in _PACKAGES:
            return importlib.import_module(f".{name}", __name__)
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .base.atwork import at_work

        with at_work():  # a signal handler that asks for the name finds no half of a module
            value = globals()[name] = getattr(importlib.import_module(_MODULE_OF[name], __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not os.path.isdir(os.path.join(__path__[0], "kernels")):  # a source tree, where `kernels` stands beside `jitrt`
    kernels = sys.modules[f"{__name__}.kernels"] = ModuleType(f"{__name__}.kernels")
    kernels.__path__ = [os.path.join(os.path.dirname(__path__[0]), "kernels")]
configure_logging()


def _tell_threadpoolctl() -> None:
    """Let threadpoolctl know of the threads of kernels."""
    from .runtime.threadpool import register

    register()


when_imported("threadpoolctl", _tell_threadpoolctl)
