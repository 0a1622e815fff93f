"""Whether calls are too short for compiled code to pay: calls of both are timed, which give the same bits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import policy
from ..codegen import tierup
from ..frontend.control.outside import array_of, element_types
from ..ir.loops import statement_count
from .loopengine import MISS
from .stagedfunction import StagedCall, StagedFunction, kind_of, sizes_of, trips


def plain_is_faster(loop: StagedFunction, call: StagedCall, serve: Callable[..., Any]) -> bool:
    """Whether calls are too short for compiled code to pay; both give the same bits, so that a clock may decide."""
    is_little = trips(call.leaves) < policy.LITTLE_WORK or not loop.is_native
    lists = [a for a in call.leaves if type(a) is list]
    if loop.assigns or loop.draws or not loop.exact or (call.trees is not None and loop.staged.written):
        return False
    if not (is_little or lists) or any(k >= len(call.leaves) for k in loop.staged.written):  # into arrays of outside
        return False
    shapes, most = sizes_of(call.leaves), policy.TRIED_STEPS if loop.staged.steps else policy.TRIED_SHAPES
    if shapes in loop.tried or len(loop.tried) >= most:
        return False
    loop.tried.add(shapes)
    try:
        with np.errstate(all="ignore"):  # the call itself has warned
            is_slower = _is_left_to_python(loop, lists, is_little, call, serve)
            # Steps take the same time in both versions, and for a long procedure the call would have to wait.
            may_gain = tierup.is_baseline(loop.address) and not loop.staged.steps
            if is_slower and may_gain and statement_count(loop.staged.procedure.body) <= policy.MOST_STATEMENTS:
                tierup.optimise(loop.address)
                is_slower = _is_left_to_python(loop, lists, is_little, call, serve)
            return is_slower
    except Exception:
        return False


def _is_left_to_python(
    loop: StagedFunction, lists: list[list[Any]], is_little: bool, call: StagedCall, serve: Callable[..., Any]
) -> bool:
    return _reads_lists(loop, lists, call, serve) or (is_little and _is_slower(loop, call, serve))


def _reads_lists(loop: StagedFunction, lists: list[list[Any]], call: StagedCall, serve: Callable[..., Any]) -> bool:
    """Whether it takes longer to read lists among the arguments than the plain function takes for the call.

    Where that is most of a call, or the call is short, its loops do little: the plain function is done soon, too.
    """
    if not lists or _has_effects(loop, call):
        return False
    start = time.perf_counter()
    for values in lists:
        array_of(values, element_types(values))
    reading = time.perf_counter() - start
    whole = min(_seconds(loop, serve, call) for _ in range(2))
    is_soon = whole < max(policy.READING_LISTS * reading, policy.SHORT_SECONDS)
    return is_soon and _seconds(loop, loop.function, call) < whole


def _has_effects(loop: StagedFunction, call: StagedCall) -> bool:
    """Whether the plain function may have effects that the procedure has not, and has them at each trial."""
    stops, trial = loop.stops, _copied(loop, call)
    if loop.refused or loop.native(trial) is MISS:
        loop.stops = stops
        return True
    return False


def _is_slower(loop: StagedFunction, call: StagedCall, serve: Callable[..., Any]) -> bool:
    if _has_effects(loop, call):
        return False
    if loop.is_native:
        limit = policy.LITTLE_SECONDS
    else:
        limit = policy.STEPS_SECONDS if loop.staged.steps else policy.SHORT_SECONDS
    native = _seconds(loop, serve, call)
    if native > 2 * limit:
        return False
    others = policy.TRIALS - 1 if native < policy.SHORT_SECONDS else 1  # of what takes long
    native = min(native, *(_seconds(loop, serve, call) for _ in range(others)))
    if native > limit:
        return False
    plain = _seconds(loop, loop.function, call)
    if plain > policy.CLEARLY_SLOWER * native:  # no further trial would change that, and it may take long
        return False
    return min(plain, *(_seconds(loop, loop.function, call) for _ in range(others))) < policy.CLEARLY_FASTER * native


def _seconds(loop: StagedFunction, run: Callable[..., Any], call: StagedCall) -> float:
    args = _copied(loop, call).args
    before = time.perf_counter()
    run(*args)
    return time.perf_counter() - before


def _copied(loop: StagedFunction, call: StagedCall) -> StagedCall:
    """The call with copies of what the procedure writes into, all of it arguments and no parts of others."""
    if not loop.staged.written:
        return call
    copies = tuple([_copy(a) if k in loop.staged.written else a for k, a in enumerate(call.args)])
    return call._replace(args=copies, leaves=copies)


def _copy(array: np.ndarray) -> np.ndarray:
    """A copy with strides of the same kind, and writeable or not as the original."""
    copy = array.copy("K")
    if kind_of(copy) == kind_of(array):
        return copy
    if array.flags.c_contiguous or array.flags.f_contiguous:
        copy = array.copy("A")
        copy.flags.writeable = array.flags.writeable
        return copy
    wide = np.zeros([2 * n + 2 for n in array.shape], array.dtype)
    view = wide[tuple(slice(0, 2 * n, 2) for n in array.shape)]
    view[...] = array
    view.flags.writeable = array.flags.writeable
    return view
