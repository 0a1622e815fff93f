"""jitrt makes ordinary NumPy code fast: put `@jitrt.jit` on a function, and it runs as fused kernels."""

from . import config as _config
from .aot import spec, warm_up
from .errors import JitrtError, JitrtPerformanceWarning
from .explain import Explanation
from .jit import JitFunction, clear_caches, jit
from .loops import cond, fori_loop, scan, while_loop
from .memory.alias import non_aliasing
from .runtime.threadpool import register as _register_threads
from .runtime.threads import num_threads, set_num_threads

__version__ = "0.1.0"
__all__ = [
    "Explanation",
    "JitFunction",
    "JitrtError",
    "JitrtPerformanceWarning",
    "__version__",
    "clear_caches",
    "cond",
    "fori_loop",
    "jit",
    "non_aliasing",
    "num_threads",
    "scan",
    "set_num_threads",
    "spec",
    "warm_up",
    "while_loop",
]

_config.configure_logging()
_register_threads()
