"""Calls of one function that could not be traced: when to try again, and which others are not worth trying."""

from __future__ import annotations

from .. import config, policy
from ..values.signature import Signature
from .tree import Plain

_MAY_RAISE = Plain("one of the first calls of a kind, and other kinds raise exceptions", is_passing=True, raises=True)


class Failures:
    """Why traces failed, by the signatures of the calls."""

    def __init__(self) -> None:
        self._known: dict[Signature, tuple[str, policy.Backoff]] = {}  # with when to try again
        self._raised = 0  # signatures with which the function itself has raised an exception
        self._once: dict[Signature, None] = {}  # those that came once since this was so with several

    def __contains__(self, key: Signature) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._known)

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()
        self._once.clear()
        self._raised = 0

    def note(self, key: Signature, reason: str) -> None:
        """A call could not be traced."""
        while key not in self._known and len(self._known) >= policy.FAILURES:
            self._known.pop(next(iter(self._known)))
        self._known.setdefault(key, (reason, policy.Backoff()))[1].note(failed=True)

    def note_raised(self, key: Signature) -> None:
        """The function itself has raised an exception in a call, which is to be noted as a failure behind this."""
        self._raised += key not in self._known

    def forget(self, key: Signature) -> None:
        """A call has been traced."""
        self._known.pop(key, None)

    def plain(self, key: Signature) -> Plain | None:
        """The plain function, if a call is not to be traced because of others; None if it may be."""
        return self._fails_again(key) or self._may_raise(key)

    def _fails_again(self, key: Signature) -> Plain | None:
        """The plain function, if calls like this one could not be traced, and it is not time to try again.

        What failed may be of the values of arrays, and other calls may not: the more did, the rarer are traces.
        """
        if key not in self._known:
            return None
        reason, backoff = self._known[key]
        return Plain(reason, is_passing=True, raises=True) if backoff.spares() else None

    def _may_raise(self, key: Signature) -> Plain | None:
        """The plain function for the first call with new arguments, where several such calls have raised exceptions.

        Tests of a function call it with one wrong argument after the other, and none of them twice.
        """
        if self._raised < policy.RAISED or key in self._once or config.strict():
            return None
        if len(self._once) >= policy.SEEN:
            self._once.pop(next(iter(self._once)))
        self._once[key] = None
        return _MAY_RAISE
