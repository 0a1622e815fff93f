"""The entries of procedures: those that this process knows, those of the disk cache, and new ones.

As with kernels, a process that finds them in the disk cache imports neither what emits code nor numba.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import config, policy
from ..ir.loops import Compute, Procedure, statement_count, statements_within
from ..ir.ops.optable import OPS
from ..ir.ops.relaxed import RELAXED
from . import cache, tierup
from .fingerprint import digest
from .later import Task, compiling

_entries: dict[str, int] = {}


def entry_of(procedure: Procedure, written: Sequence[int], begins: bool = True) -> int:
    """The address of the entry of a procedure that writes the array parameters ``x{k}`` for k in `written`.

    If it `begins`, the address may lead to a baseline version at first, see `tierup`. Calls may change to the other one
    in the middle, and all that the first one has done has to be taken back by the procedure itself.

    Raises
    ------
    NotStaged
        If it has an operation that cannot be emitted.
    """
    key = _key(procedure, written)
    with compiling:
        if key not in _entries:
            _entries[key] = _found(key, procedure, written, begins and _has_two_versions(procedure))
        return _entries[key]


def make_later(procedure: Procedure, written: Sequence[int]) -> bool:
    """Have a thread compile an entry; False if it is there already, here or in the disk cache.

    It makes the optimised version, or the baseline of a long procedure.
    """
    key = _key(procedure, written)
    if key in _entries or cache.has(key):
        return False

    def make() -> None:
        entry_of(procedure, written, begins=statement_count(procedure.body) > policy.MOST_STATEMENTS)

    Task(make).begin()
    return True


def _key(procedure: Procedure, written: Sequence[int]) -> str:
    return f"{procedure}\nwrites {written}\nshares loops of {policy.SHARED_WORK}"


def _found(key: str, procedure: Procedure, written: Sequence[int], has_two_versions: bool) -> int:
    def optimised() -> int:
        from .procedures import compile_procedure

        (address,) = compile_procedure(key, procedure, written).values()
        return address

    known = cache.load(key)
    if known is not None:
        return next(iter(known.values()))
    if not has_two_versions or (config.strict() and int(digest(key), 16) % 2):  # tests see each alone
        return optimised()
    of_baseline = f"baseline of {key}"
    first = cache.load(of_baseline)
    if first is None:
        from .procedures import assemble_procedure

        first = assemble_procedure(of_baseline, procedure, written)
    entry, words = first.values()
    tierup.begin(entry, words, optimised)
    return entry


def _has_two_versions(procedure: Procedure) -> bool:
    """Whether a baseline version gives the same bits.

    Relaxed arithmetic depends on what LLVM makes of it, and an emitter of the user's may do anything.
    """
    computed = (OPS[s.op] for s in statements_within(procedure.body) if isinstance(s, Compute))
    return all(op.library != RELAXED and op.emit is None for op in computed)
