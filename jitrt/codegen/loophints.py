"""Hints to LLVM's loop passes, as metadata of the branch that closes a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from llvmlite import ir

from ..kernels.loop_metadata import set_hint, set_hints
from ..schedule.loopnest import Compute, Gather, Literal, Load, Loop, Statement, Store, StoreNeutral

Hint = tuple[Any, ...]  # a name, and values

_MOST_INLINED = 8  # elementary functions in one kernel
_OF_A_COMPLEX = 3  # elementary functions of real numbers that one of a complex number calls
_PLAIN = (Compute, Literal, Load, Store, StoreNeutral)


def is_function(s: Compute) -> bool:
    """Whether `s` is an elementary function, or the modulus of a complex number."""
    modulus = s.dtype.kind == "f" and any(t.kind == "c" for t in s.dtypes)
    return s.op.is_function or modulus


def _functions_in(s: Statement) -> int:
    """How many elementary functions of real numbers `s` is made of, about."""
    if not isinstance(s, Compute) or not is_function(s):
        return 0
    return _OF_A_COMPLEX if s.dtype.kind == "c" else 1


def calls_functions(body: Sequence[Statement]) -> bool:
    """Whether there are so many elementary functions that each is better called than inlined.

    LLVM takes some 6 ms for each that it inlines. What the function computes takes longer than its call.
    """
    return _function_count(body) > _MOST_INLINED


def _function_count(body: Sequence[Statement]) -> int:
    return sum(map(_functions_in, body)) + sum(_function_count(s.body) for s in body if isinstance(s, Loop))


def interleaving(body: Sequence[Statement]) -> int | None:
    """Two vectors at a time with one function, one with several, lest their code stand there four times.

    None, 0, where little is done but gather: an instruction that loads from eight places takes longer than eight loads.
    Else what LLVM chooses.
    """
    functions = sum(map(_functions_in, body))
    if not functions and any(isinstance(s, Gather) for s in body):
        return 0
    return None if not functions else 2 if functions == 1 else 1


def beside_loops_over_loops(body: Sequence[Statement]) -> Iterator[int]:
    """Loops of `body`, by identity, that have a small part in its work: others of it have loops inside.

    What is done before and after columns are folded is an example. One vector at a time will do there: two or four, and
    a loop for what they leave, take LLVM as long as the loop that matters.
    """
    loops = [s for s in body if isinstance(s, Loop) and not s.unrolled]
    if any(isinstance(s, Loop) and not s.unrolled for loop in loops for s in loop.body):
        for loop in loops:
            if all(isinstance(s, _PLAIN) for s in loop.body):
                yield id(loop)


def set_interleaving(latch: ir.Instruction, module: ir.Module, count: int) -> None:
    """Let the vectoriser work on `count` vectors at a time, so that fewer than one of them remain at the end for 1.

    Parameters
    ----------
    latch : llvmlite.ir.Instruction
        The conditional branch back to the head of an innermost loop.
    module : llvmlite.ir.Module
    count : int
    """
    set_hint(latch, module, "llvm.loop.interleave.count", ir.Constant(ir.IntType(32), count))


def one_vector(unrolled: bool) -> list[Hint]:
    """Let a loop work on one vector at a time, or on one element; `unrolled` says that LLVM may write that twice."""
    one = ir.Constant(ir.IntType(32), 1)
    return [("llvm.loop.interleave.count", one), *([] if unrolled else [("llvm.loop.unroll.disable",)])]


def lanes_at_once(module: ir.Module) -> list[Hint]:
    """Let a loop over a fixed number of lanes become vectors: it is not unrolled before that, and wholly afterwards."""
    unrolled = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.full")])
    one = ir.Constant(ir.IntType(32), 1)
    return [
        ("llvm.loop.interleave.count", one),
        ("llvm.loop.unroll.disable",),
        ("llvm.loop.vectorize.followup_all", unrolled),
    ]


def one_element() -> list[Hint]:
    """Let a loop work on one element at a time."""
    return [("llvm.loop.vectorize.enable", ir.Constant(ir.IntType(1), 0))]


def independent(group: ir.MDValue) -> Hint:
    """Say that no access of that group meets one of another turn, so that no pointers need be compared."""
    return ("llvm.loop.parallel_accesses", group)


def forbid_vectors(latch: ir.Instruction, module: ir.Module) -> None:
    """Let the loop that `latch` closes work on one element at a time."""
    set_hints(latch, module, one_element())


def leave_as_it_is(latch: ir.Instruction, module: ir.Module) -> None:
    """Let LLVM neither unroll nor vectorise the loop that `latch` closes: it has few turns, and its code would grow."""
    set_hint(latch, module, "llvm.loop.disable_nonforced")


def prefer_wide_vectors(function: ir.Function) -> None:
    """Let LLVM use 512-bit registers where the machine has them; its default for some CPUs is 256."""
    # llvmlite's own `add` accepts a fixed list of attributes; this one is of the kind "key"="value".
    set.add(function.attributes, '"prefer-vector-width"="512"')
