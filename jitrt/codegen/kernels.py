"""The kernels of loop nests: those that this process knows, those of the disk cache, and new ones.

Kernels are found by their text. A process that finds all of them in the disk cache imports neither what emits code nor
numba.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..base import forks
from ..base.atwork import at_work
from ..base.frozen import frozen
from ..base.stages import put_off
from ..schedule.loopnest import LoopNest
from . import cache
from .fingerprint import digest, fingerprint
from .later import Task

_log = logging.getLogger("jitrt.codegen")


class Code:
    """The machine code of kernels of one module, which is there or will be.

    Parameters
    ----------
    addresses : dict of str to int
        Of the kernels by their symbols, as far as it is there.
    module : str, optional
    nests : dict of str to (str, LoopNest), optional
        What it is to be made from: texts and loops of the kernels, by their symbols.
    """

    __slots__ = ("_addresses", "_task", "_then")

    def __init__(
        self, addresses: dict[str, int], module: str = "", nests: Mapping[str, tuple[str, LoopNest]] | None = None
    ):
        self._addresses = addresses
        self._task = None if nests is None else Task(partial(self._make, module, nests))
        self._then: list[Callable[[], None]] | None = None if nests is None else []

    def _make(self, module: str, nests: Mapping[str, tuple[str, LoopNest]]) -> None:
        from .compile import compile_nests

        try:
            self._addresses.update(compile_nests(module, nests))
        except BaseException:  # other programs may do without the one that is in the way
            with _lock:
                for key, _ in nests.values():
                    if key in _kernels and _kernels[key].code is self:
                        del _kernels[key]
            raise
        with _lock:
            then, self._then = self._then or (), None
        for do in then:
            do()

    @property
    def is_there(self) -> bool:
        """Whether it is made."""
        return self._then is None

    def begin(self) -> None:
        """Have it made, while nobody waits for it."""
        if self._task is not None:
            self._task.begin()

    def address(self, name: str) -> int:
        """Where the kernel of that symbol is; it is made if it was not."""
        if self._task is not None:
            self._task.finish()
        return self._addresses[name]

    def then(self, do: Callable[[], None]) -> None:
        """Do that as soon as it is there."""
        with _lock:
            if self._then is not None:
                self._then.append(do)
                return
        do()


@frozen(eq=False)
class Kernel:
    """A compiled loop nest.

    Parameters
    ----------
    name : str
        Its symbol.
    code : Code
        In which it is.
    nest : LoopNest
    """

    name: str
    code: Code
    nest: LoopNest

    @property
    def address(self) -> int:
        """Of the machine code, which is made if it was not."""
        return self.code.address(self.name)

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


class Addresses(Sequence[int]):
    """Addresses of kernels, whose code may not have been made when nobody has asked for one."""

    __slots__ = ("_kernels",)

    def __init__(self, kernels: list[Kernel]):
        self._kernels = kernels

    def __len__(self) -> int:
        return len(self._kernels)

    def __getitem__(self, number: Any) -> Any:
        return self._kernels[number].address

    def then(self, do: Callable[[], None]) -> None:
        """Do that as soon as the code of all of them is there."""
        pending = next((k.code for k in self._kernels if not k.code.is_there), None)
        if pending is None:
            do()
        else:
            pending.then(partial(self.then, do))


_kernels: dict[str, Kernel] = {}
_lock = threading.RLock()  # held while kernels are looked up
forks.hold("known", _lock)


def structural_key(nest: LoopNest) -> str:
    """The text that identifies a kernel: two nests with one text are one kernel."""
    return str(nest)


def kernels_of(nests: Iterable[LoopNest], later: bool = False) -> list[Kernel]:
    """The kernels of `nests`; those not yet known are compiled together, as one module.

    If they may be there `later`, a thread compiles them, and who needs one first waits for it.
    """
    nests = list(nests)
    keys = [structural_key(nest) for nest in nests]
    code = None
    with _lock, at_work():
        new = {}
        for key, nest in zip(keys, nests):
            if key not in _kernels and key not in new and not _load(key, nest):
                new[key] = nest
        if new:
            # Symbols contain the name of the module, so that a kernel that stands in two cached modules has two.
            module = digest("\n".join(new) + fingerprint())
            names = {key: f"jitrt_{digest(key)[:16]}_{module[:16]}" for key in new}
            code = Code({}, module, {names[key]: (key, nest) for key, nest in new.items()})
            _kernels.update((key, Kernel(names[key], code, nest)) for key, nest in new.items())
        found = [_kernels[key] for key in keys]
    if later and code is not None:
        code.begin()
        put_off()
    for kernel in found:  # the clock shall not say which calls run compiled
        if not later or kernel.code is not code:
            _ = kernel.address
    return found


def forget_unkept() -> None:
    """Compile kernels anew that the disk cache does not have, as it could not be written when they were compiled."""
    with _lock:
        for key, kernel in list(_kernels.items()):
            if kernel.code.is_there and not cache.is_kept(kernel.name):
                del _kernels[key]


def _load(key: str, nest: LoopNest) -> bool:
    """Take a kernel from the disk cache, if it is there."""
    found = cache.load(key)
    if found is None:
        _log.debug("a new kernel, neither in this process nor in the disk cache:\n%s", key)
        return False
    ((name, _),) = found.items()
    _kernels[key] = Kernel(name, Code(found), nest)
    return True
