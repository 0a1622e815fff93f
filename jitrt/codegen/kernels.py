"""The kernels of loop nests: those that this process knows, those of the disk cache, and new ones.

Kernels are found by their text. A process that finds all of them in the disk cache imports neither what emits code nor
numba.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from ..base import forks
from ..base.atwork import at_work
from ..base.frozen import frozen
from ..schedule.loopnest import LoopNest
from . import cache

_log = logging.getLogger("jitrt.codegen")


@frozen(eq=False)
class Kernel:
    """A compiled loop nest.

    Parameters
    ----------
    name : str
        Its symbol.
    address : int
        Of the machine code.
    nest : LoopNest
    """

    name: str
    address: int
    nest: LoopNest

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {self.nest!r}>"

    @property
    def llvm(self) -> str:
        """Optimised LLVM IR of the kernel, compiled once more for the purpose."""
        from .compile import inspected

        return inspected(self.name, self.nest).get_llvm_str()

    @property
    def assembly(self) -> str:
        """Machine code of the kernel as text."""
        from .compile import inspected

        return inspected(self.name, self.nest).get_asm_str()


_kernels: dict[str, Kernel] = {}
lock = threading.RLock()
"""Held while kernels are looked up and compiled."""
forks.hold("kernels", lock)


def structural_key(nest: LoopNest) -> str:
    """The text that identifies a kernel: two nests with one text are one kernel."""
    return str(nest)


def kernels_of(nests: Iterable[LoopNest]) -> list[Kernel]:
    """The kernels of `nests`; those not yet known are compiled together, as one module."""
    nests = list(nests)
    keys = [structural_key(nest) for nest in nests]
    with lock, at_work():
        new = {}
        for key, nest in zip(keys, nests):
            if key not in _kernels and key not in new and not _load(key, nest):
                new[key] = nest
        if new:
            from .compile import compile_nests

            for key, (name, address) in compile_nests(new).items():
                _kernels[key] = Kernel(name, address, new[key])
        return [_kernels[key] for key in keys]


def forget_unkept() -> None:
    """Compile kernels anew that the disk cache does not have, as it could not be written when they were compiled."""
    with lock:
        for key in [key for key, kernel in _kernels.items() if not cache.is_kept(kernel.name)]:
            del _kernels[key]


def _load(key: str, nest: LoopNest) -> bool:
    """Take a kernel from the disk cache, if it is there."""
    found = cache.load(key)
    if found is None:
        _log.debug("a new kernel, neither in this process nor in the disk cache:\n%s", key)
        return False
    ((name, address),) = found.items()
    _kernels[key] = Kernel(name, address, nest)
    return True
