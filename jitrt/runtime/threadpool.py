"""threadpoolctl: ``threadpool_limits(n)`` limits the threads of kernels, too.

Controllers of threadpoolctl belong to shared libraries, which they find by their names. jitrt's code is in none, so its
controller goes with LLVM's, which is loaded wherever kernels run.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from . import threads

_registered = False


def register(import_it: bool = False) -> None:
    """Make threadpoolctl know the threads of kernels, if the process has imported it, or if it should now."""
    global _registered
    wanted = "threadpoolctl" in sys.modules or (import_it and importlib.util.find_spec("threadpoolctl") is not None)
    if _registered or not wanted:
        return
    _registered = True
    import threadpoolctl

    class Controller(threadpoolctl.LibController):
        """Threads of kernels."""

        user_api = "jitrt"
        internal_api = "jitrt"
        filename_prefixes = ("libllvmlite", "llvmlite")

        def get_num_threads(self) -> int:
            return threads.num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            threads.set_num_threads(num_threads)

        def get_version(self) -> Any:
            return None

    threadpoolctl.register(Controller)
