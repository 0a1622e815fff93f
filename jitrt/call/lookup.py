"""The specialisations of one function: the search for the one that serves a call, and which of them are kept."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from .. import config, policy
from ..base.atwork import at_work
from ..base.frozen import replaced
from ..errors import LoopsWanted, Untraceable
from ..frontend.integers import LARGEST, SMALLEST, IntegerWanted, VaryingIntegers, VaryingNumbers
from ..frontend.promises import donated_leaves, leaves_within, overwritable
from ..frontend.python.captures import Captures
from ..frontend.python.purity import catches, scan, scan_call
from ..ir.ops.contractions import Call as HostedCall
from ..runtime.dispatch import Dispatch
from ..runtime.frames import Retrace
from ..runtime.verdicts import keep_verdict, traced_name, verdict
from ..values import signature
from ..values.frozen import frozen_argument
from ..values.growing import Growing
from ..values.keys import Foreign, leaf_key
from ..values.kinds import TooMany, Tree, flatten_call
from ..values.memory import nbytes
from ..values.signature import Signature
from .budget import TraceBudget
from .failures import Failures
from .options import Options
from .segments import Programs
from .templates import Templates
from .tracing import Call, CallRaises, Unspecialised, internal_error, specialise, warn_if_asked
from .tree import Plain, Specialisation

_log = logging.getLogger("jitrt.trace")


class Specialisations:
    """What one function is compiled to, or why it runs plain, by the types, shapes and values of its arguments.

    Parameters
    ----------
    function : callable
        The user's function.
    name : str
    programs : Programs
        What has been compiled for the function.
    options : Options
    dispatch : Dispatch
        The tables by which native code serves calls.
    lock : lock
        Held while any of this, or `dispatch`, changes.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        programs: Programs,
        options: Options,
        dispatch: Dispatch,
        lock: threading.RLock,
    ):
        self._function = function
        self._name = name
        self._programs = programs
        self._options = options
        self._dispatch = dispatch
        self._lock = lock
        self._known: dict[Signature, Specialisation | Plain] = {}
        self._captures: Captures | None = None
        self._other_captures: list[Captures] = []  # which may be so again
        self._numbers = VaryingNumbers()
        self._budget = TraceBudget()
        self._templates = Templates(programs.threads)
        self._rebound: Counter[str] = Counter()  # how often what the function names was something else
        self._in_use: set[int] = set()  # identities of those that have served calls since the oldest were dropped
        self._warned = False
        self._failures = Failures()
        self.integers = VaryingIntegers()
        self.plain: Plain | None = None
        """Why every call runs the plain function, whatever its arguments, if it does."""
        self.given_up: Plain | None = None
        """Why calls with new arguments run the plain function, if they do."""
        self.unsteady = False
        """Whether calls that NumPy makes have given other types than when traced."""

    def compiled(self) -> list[Specialisation]:
        """Those that are compiled."""
        return [s for s in list(self._known.values()) if isinstance(s, Specialisation)]

    def known(self) -> list[tuple[Signature, Specialisation | Plain]]:
        """The signatures that are known, and what serves their calls."""
        return list(self._known.items())

    def __len__(self) -> int:
        """How many there are, with those that run the plain function."""
        return len(self._known)

    def __contains__(self, found: Specialisation | Plain) -> bool:
        """Whether further calls will find it."""
        return found in self._known.values()

    def clear(self) -> None:
        """Forget all of them, and the tables of native code."""
        with self._lock, at_work():
            self._known.clear()
            self._templates.clear()
            self._other_captures.clear()
            self._failures.clear()
            self._in_use.clear()
            self._dispatch.clear()

    def after_fork(self, lock: threading.RLock) -> None:
        """Make them usable in a child process, in which `lock` takes the place of the lock."""
        self._lock = lock
        for found in self.compiled():
            found.after_fork()

    def find(
        self, leaves: list[Any], structure: Tree, answers: dict[HostedCall, Any] | None = None
    ) -> Specialisation | Plain:
        """The specialisation for these arguments; a new one if there is none.

        If it is new, `answers` gets what NumPy computed on the way to it, for a run with these arguments. Without
        them, nothing is run, and many of them in a row do not end in plain NumPy.
        """
        is_call = answers is not None
        try:
            captures = self.current_captures()
            keys = [leaf_key(leaf) for leaf in leaves] + [_captured_key(c.read()) for c in captures.arrays]
        except Untraceable as reason:
            _log.info("%s runs as plain NumPy: %s", self._name, reason)
            return Plain(str(reason))
        donated = self._donated(leaves, structure, captures) if self._options.donate else ()
        integers = self.integers.symbols(structure, leaves)
        if _are_large(leaves, integers):
            return _LARGE
        key = _key(structure, keys, integers, donated, captures)
        found = self._known.get(key)
        if found is None and (foreign := next((k for k in keys if type(k) is Foreign), None)) is not None:
            found = Plain(foreign.reason)
            with self._lock, at_work():
                _log.info("%s runs as plain NumPy: %s", self._name, foreign.reason)
                self._remember(key, found)
            return found
        if found is None:
            made = None
            with self._lock, at_work():
                while made is None:
                    made = self._attempt(leaves, structure, captures, keys, donated, answers)
            key, found = made
        elif is_call:
            self._in_use.add(id(found))
            self._budget.note_calls(found, 1)
        if isinstance(found, Specialisation) and found.asks_what_is_shared:
            integers, rounding = found.integers(leaves), self._programs.rounding
            call = Call(self._function, self._name, leaves, structure, captures, integers=integers, rounding=rounding)
            return self._told_apart(found, key, replaced(call, answers=answers))
        return found

    def _attempt(
        self,
        leaves: list[Any],
        structure: Tree,
        captures: Captures,
        keys: list[Any],
        donated: tuple[int, ...],
        answers: dict[HostedCall, Any] | None,
    ) -> tuple[Signature, Specialisation | Plain] | None:
        """What serves these arguments, and their signature; None if that has changed: some integers decide more."""
        is_call = answers is not None
        integers = self.integers.note(structure, leaves)
        key = _key(structure, keys, integers, donated, captures)
        if _are_large(leaves, integers):
            return key, _LARGE
        known = self._known.get(key)
        if known is not None:
            return key, known
        if is_call and (failure := self._failures.plain(key)) is not None:
            return key, failure
        if signature.log.isEnabledFor(logging.DEBUG):
            others = [k for k in self._known if k.outside == captures.number]
            signature.log.debug("%s", signature.explain_miss(self._name, key, others, len(leaves)))
        call = Call(
            self._function, self._name, leaves, structure, captures, None, donated, integers, answers,
            self._programs.rounding,
        )  # fmt: skip
        sizes = self.integers.wanted(structure)
        try:
            general = self._general(call, key, sizes) if is_call else None
            if general is not None:
                types, found = general
                if found not in self:
                    self._remember(key._replace(types=types), found)
                    self._budget.note_trace(key, found)
                return key, found
            if is_call and not self._may_trace(key, leaves):
                return key, self._give_up(key)
            found = self._specialise(call, key)
        except CallRaises as reason:  # another trace would say the same
            self._failures.note_raised(key)
            return key, self._note_failure(key, Unspecialised(str(reason)), is_call)
        except IntegerWanted as wanted:
            return (key, Plain(str(wanted))) if self.fix(structure, wanted, len(leaves)) else None
        except Unspecialised as reason:
            if reason.error is not None:
                self._failures.note_raised(key)
            return key, self._note_failure(key, reason, is_call)
        self._failures.forget(key)
        if isinstance(found, Plain) and integers and not found.is_passing:  # they may be why
            self.integers.fix(structure, integers)
            return None
        if isinstance(found, Plain):
            found.integers = integers
        self._remember(key, found)
        if is_call:
            self._budget.note_trace(key, found)
            self._templates.note(call, (structure, captures.number), key.types, sizes, found)
        return key, found

    def find_for_calls(self, leaves: list[Any], structure: Tree, may_make: bool = True) -> Specialisation | Plain:
        """What will serve calls like this one, and of other sizes, too, where `find` gives what people look at.

        Unless it `may_make` a program for other sizes, too, it is one that is known.
        """
        try:
            captures, key = self.current_captures(), self.signature(leaves, structure)
        except Untraceable:
            return self.find(leaves, structure)
        if any(type(k) is Foreign for k in key.types):
            return self.find(leaves, structure)
        integers, rounding = self.integers.symbols(structure, leaves), self._programs.rounding
        call = Call(
            self._function, self._name, leaves, structure, captures, None, key.donated, integers, rounding=rounding
        )
        with self._lock, at_work(), contextlib.suppress(CallRaises, IntegerWanted, LoopsWanted):
            sizes = self.integers.wanted(structure)
            general = self._templates.find(call, (structure, key.outside), key.types, sizes, lambda: may_make)
            if general is not None:
                types, found = general
                if found not in self:
                    self._remember(key._replace(types=types), found)
                return found
        return self.find(leaves, structure)

    def _general(
        self, call: Call, key: Signature, sizes: frozenset[int]
    ) -> tuple[tuple, Specialisation | Plain] | None:
        """What serves a call and those of other sizes, with what it depends on of each leaf; None if nothing does."""

        def may_make() -> bool:
            return self._may_trace(key, call.leaves) and self._in_vain(call, key) is None

        start = perf_counter()
        try:
            found = self._templates.find(call, (call.structure, key.outside), key.types, sizes, may_make)
        except CallRaises:
            if key not in self._failures:
                raise
            found = None  # it may be the sizes that it does not get on with
        if found is not None:
            self._note_trace(call, key, found[1], start)
        return found

    def _specialise(self, call: Call, key: Signature) -> Specialisation | Plain:
        """`specialise`, unless another process has found that it is in vain."""
        known = self._in_vain(call, key)
        if known is not None:
            _log.info("%s runs as plain NumPy: %s", self._name, known.reason)
            return known
        start = perf_counter()
        made = specialise(call, self._programs, self.unsteady)
        self._note_trace(call, key, made, start)
        return made

    def _in_vain(self, call: Call, key: Signature) -> Plain | None:
        """The plain function, if another process has traced such a call in vain."""
        name = None if call.answers is None else traced_name(call.captures, key)
        known = None if name is None else verdict(name)
        return None if known is None else Plain(known[0], is_passing=known[1])

    def _note_trace(self, call: Call, key: Signature, made: Specialisation | Plain, start: float) -> None:
        """Let other processes know that a trace was in vain, if it has taken long."""
        if isinstance(made, Plain) and call.answers is not None and perf_counter() - start > policy.LONG_TRACE:
            name = traced_name(call.captures, key)
            if name is not None:
                keep_verdict(name, made.reason, made.is_passing)

    def signature(self, leaves: list[Any], structure: Tree) -> Signature:
        """The signature of a call."""
        captures = self.current_captures()
        keys = [leaf_key(leaf) for leaf in leaves] + [_captured_key(c.read()) for c in captures.arrays]
        donated = self._donated(leaves, structure, captures) if self._options.donate else ()
        return _key(structure, keys, self.integers.symbols(structure, leaves), donated, captures)

    def _note_failure(self, key: Signature, failure: Unspecialised, is_call: bool) -> Plain:
        """The plain function runs, since these arguments cannot be traced; so may the next calls like this one."""
        if is_call:
            self._budget.note_trace(key, None)
            self._failures.note(key, str(failure))
        return Plain(str(failure), failure.error, is_passing=True)

    def _told_apart(self, found: Specialisation, key: Signature, call: Call) -> Specialisation | Plain:
        """`found` if no arrays are the same, or overlap, where that matters; otherwise what knows that they are."""
        inputs = found.inputs(call.leaves)
        try:
            shared = found.shared(inputs)
        except Untraceable as reason:
            _log.info("%s runs as plain NumPy: %s", self._name, reason)
            return Plain(str(reason))
        if shared is None:
            return found
        key = key._replace(shared=shared)
        with self._lock, at_work():
            knowing = self._known.get(key)
            if knowing is None:
                try:
                    knowing = specialise(replaced(call, shared=shared), self._programs, self.unsteady)
                except IntegerWanted as wanted:
                    self.fix(call.structure, wanted, len(call.leaves))
                    self.replace(found, None)
                    return Plain(str(wanted))
                except Unspecialised as reason:
                    return Plain(str(reason), reason.error, is_passing=True)
                self._remember(key, knowing)
        return knowing

    def _remember(self, key: Signature, found: Specialisation | Plain) -> None:
        self._known[key] = found
        while len(self._known) > policy.SPECIALISATIONS or (
            isinstance(found, Specialisation) and found.frame_bytes and self.frame_bytes() > policy.FRAME_BYTES
        ):
            self._count_calls()
            unused = [k for k, f in self._known.items() if id(f) not in self._in_use]
            several = max(1, len(self._known) // 16)  # for what it takes to forget one
            oldest = (unused[:-1] or list(self._known))[:several]
            if key in oldest:
                break
            self._drop(oldest)
            self._in_use.clear()

    def _drop(self, keys: Sequence[Any]) -> None:
        self._dispatch.remove(*[self._known.pop(k) for k in keys])

    @property
    def spares_traces(self) -> bool:
        """Whether calls with new arguments run plain, since traces have not paid."""
        return self._budget.is_used_up(policy.CREDIT)

    @property
    def unpaid(self) -> float:
        """Traces that have not paid so far."""
        return self._budget.unpaid

    @property
    def calls_between_looks(self) -> int:
        """How many calls of a function that runs plain are not looked at, between two that are."""
        return self._budget.calls_between_looks

    def _may_trace(self, key: Signature, leaves: list[Any]) -> bool:
        """Whether a call with new arguments is to be traced."""
        is_small = not config.strict() and nbytes(leaves) <= policy.SMALL_CALL
        credit = policy.CREDIT_FOR_SMALL if is_small else policy.CREDIT
        if self._budget.is_used_up(credit):
            self._count_calls()
        return self._budget.allows(key, credit)

    def _count_calls(self) -> None:
        """Take account of the calls that native code has served meanwhile."""
        self._budget.note_new()
        for found, calls in self._dispatch.served():
            self._in_use.add(id(found))
            self._budget.note_calls(found, calls)

    def _give_up(self, key: Any) -> Plain:
        """Let calls with new arguments run plain until some come again; say so if it is the first time."""
        self._budget.note_refused(key)
        if self.given_up is None:
            reason = self._why_given_up()
            self.given_up = Plain(reason, is_passing=True)
            crowd = {id(found) for found in self._dispatch.crowd()} - self._in_use
            self._drop([k for k, found in self._known.items() if id(found) in crowd])
            if not self._warned:
                self._warned = True
                _log.info("%s runs as plain NumPy: %s", self._name, reason)
                warn_if_asked(f"{self._name} runs as plain NumPy: {reason}")
        return self.given_up

    def _why_given_up(self) -> str:
        for name, changes in self._rebound.most_common(1):
            if 2 * changes > self._budget.traces:
                return f"{name}, which it reads from outside, was something else in {changes} calls"
        if self._budget.failure:
            return self._budget.failure
        return f"{self._budget.traces + 1} calls had arguments of new shapes or values, and few came again"

    def fix(self, structure: Tree, wanted: IntegerWanted, leaves: int) -> bool:
        """Let integers be part of every trace; whether any of them is none of the `leaves` but captured."""
        captured = [k - leaves for k in wanted.leaves if k >= leaves]
        if captured and self._captures is not None:
            self._numbers.fix(self._captures.arrays[k].place for k in captured)
            self._captures = None  # which clears what was made with other captures
        self.integers.fix(structure, [k for k in wanted.leaves if k < leaves])
        return bool(captured)

    def forget(self, used: Specialisation, failure: Exception, leaves: list[Any], structure: Tree) -> None:
        """After a failed run that plain NumPy survived: trace anew, or stop trying."""
        if isinstance(failure, Retrace):
            integers = used.integers(leaves)
            self.integers.fix(structure, integers)
            self.unsteady = self.unsteady or not integers
            self.replace(used, None)
        elif self.catches():
            self.replace(used, Plain(f"catches {type(failure).__name__}, which depends on values"))
        elif (plain := internal_error(self._name, failure)) and not plain.is_passing:
            self.replace(used, plain)

    def catches(self) -> bool:
        """Whether the function may catch what a trace, or a kernel, does not raise."""
        return self._captures is not None and catches(self._function, self._captures)

    def replace(self, used: Specialisation, replacement: Plain | None) -> None:
        """Let calls like those that `used` has served be found another way; None has them traced anew."""
        with self._lock, at_work():
            self._dispatch.remove(used)
            for key in [k for k, v in self._known.items() if v is used]:
                if replacement is None:
                    del self._known[key]
                else:
                    self._known[key] = replacement
            if used.open_sizes is not None:
                self._templates.replace(used, replacement)

    def extend(self, used: Specialisation, call: Call) -> bool:
        """Add the path of a call to what serves calls of any shape; whether that was possible."""
        with self._lock, at_work():
            self._dispatch.remove(used)  # its guards become narrower
            for key in [k for k, v in self._known.items() if v is used]:
                del self._known[key]
            return self._templates.extend(call, used)

    def run_plain(self, reason: str) -> None:
        """From now on every call runs the plain function."""
        self.plain = Plain(reason)
        _log.info("%s runs as plain NumPy: %s", self._name, reason)

    def current_captures(self) -> Captures:
        """What the function reads beside its arguments; scanned anew when a captured value is another one."""
        captures = self._captures
        if captures is None or not captures.unchanged():
            with self._lock, at_work():
                before, captures = captures, self._captures_known(captures)
                if captures is None:
                    self._note_changes(before)
                    try:
                        captures = scan(self._function, self._numbers.varying)
                    except Untraceable as reason:
                        self.run_plain(str(reason))
                        raise
                self._captures = captures
        return captures

    def _note_changes(self, before: Captures | None) -> None:
        """Count what the function reads from outside, and is something else now than any time before."""
        if not self._budget.traces:
            self._rebound.clear()
        if before is not None:
            self._rebound.update({c.name for c in before.values if c.read() is not c.value})

    def _captures_known(self, before: Captures | None) -> Captures | None:
        """Captures that are so again, in the place of those `before`; None if there are none."""
        kept = self._other_captures
        if before is not None and before is not self._captures:
            return self._captures  # another thread has been here
        if before is not None:
            self._numbers.note(before.changed_numbers())
        if before is None or before.arrays or before.state or before.varying != self._numbers.varying:
            self.clear()
            return None
        kept.append(before)
        for found in kept:
            if found.unchanged():
                kept.remove(found)
                return found
        if len(kept) > policy.CAPTURES:
            number = kept.pop(0).number
            self._drop([k for k in self._known if k.outside == number])
        return None

    def state(self) -> tuple:
        """The lists, dicts and objects that the function names."""
        return () if self._captures is None else self._captures.containers()

    def take_apart(self, args: tuple, kwargs: dict[str, Any], leaves: list[Any]) -> Tree:
        """The structure of a call, as far as the function has been looked at; `leaves` get its leaves."""
        try:
            return self._taken_apart(args, kwargs, leaves, self._captures)
        except TooMany:
            if self._captures is not None:
                raise
            with contextlib.suppress(Untraceable):
                self.current_captures()  # which tell of lists that are appended to and not read
            return self._taken_apart(args, kwargs, leaves, self._captures)

    def _taken_apart(self, args: tuple, kwargs: dict[str, Any], leaves: list[Any], captures: Captures | None) -> Tree:
        """The structure of a call, with frozen arrays for those that the caller promises never to change."""
        leaves.clear()
        structure = take_apart(args, kwargs, leaves, captures)
        if self._options.frozen:
            for k in leaves_within(self._function, structure, self._options.frozen):
                leaves[k] = frozen_argument(leaves[k])
        return structure

    def take_all_apart(self, args: tuple, kwargs: dict[str, Any], leaves: list[Any], structure: Tree) -> Tree:
        """The same with what the function names now. It is looked at for that, which is not done before it has to be.

        What it names may be other lists, dicts and objects than in the call before, with which `structure` was made.
        """
        before = self._captures
        with contextlib.suppress(Untraceable):
            captures = self.current_captures()
            if captures is not before:
                structure = self._taken_apart(args, kwargs, leaves, captures)
            with self._lock:
                is_new = scan_call(self._function, structure, leaves, captures)
            if is_new:
                structure = self._taken_apart(args, kwargs, leaves, captures)
        return structure

    def frame_bytes(self) -> int:
        """Bytes of the frames that the specialisations may hold on to."""
        return sum(s.frame_bytes for s in self.compiled())

    def _donated(self, leaves: list[Any], structure: Tree, captures: Captures) -> tuple[int, ...]:
        """Numbers of the arguments that this call may overwrite."""
        names = donated_leaves(self._function, structure, self._options.donate)
        return overwritable(leaves, names, [c.read() for c in captures.arrays])


def take_apart(args: tuple, kwargs: dict[str, Any], leaves: list[Any], captures: Captures | None) -> Tree:
    """The structure of a call of a function that reads `captures`, if that is known; `leaves` get its leaves."""
    if captures is None:
        return flatten_call(args, kwargs, (), leaves, Growing())
    return flatten_call(args, kwargs, captures.containers(), leaves, captures.growing)


_LARGE = Plain("an integer of more than 64 bits")


def _captured_key(value: Any) -> Any:
    """What a trace depends on of an array or a number that the function reads from outside."""
    if type(value) is not int:
        return leaf_key(value)
    if not SMALLEST <= value <= LARGEST:
        raise Untraceable("an integer of more than 64 bits")
    return int


def _are_large(leaves: list[Any], integers: frozenset[int]) -> bool:
    """Whether kernels cannot take all of the `integers`."""
    return any(not SMALLEST <= leaves[k] <= LARGEST for k in integers)


def _key(
    structure: Tree, keys: list[Any], integers: frozenset[int], donated: tuple[int, ...], captures: Captures
) -> Signature:
    """What tells calls apart that need other specialisations; of `integers` only the type matters."""
    found = [int if k in integers else key for k, key in enumerate(keys)] if integers else keys
    return Signature(structure, tuple(found), donated, captures.number)
