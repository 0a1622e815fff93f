"""threadpoolctl: ``threadpool_limits(n)`` limits the threads of kernels, too.

Controllers of threadpoolctl belong to shared libraries, which they find by their names. jitrt's code is in none, so its
controller goes with LLVM's, which is loaded wherever kernels run.
"""

from __future__ import annotations

from typing import Any

from . import threads

_registered = False


def register() -> None:
    """Make threadpoolctl, which the process has imported, know the threads of kernels."""
    global _registered
    if _registered:
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
