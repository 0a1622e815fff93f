"""Templates: programs with variables for extents, from which a call with arrays of a new shape gets its program.

A function is traced with an `Extent` for each large extent of its arguments, and for each number that has varied. The
stages run as ever, and what comes out has formulas for numbers, and conditions under which they hold. Native code looks
whether they do, and evaluates the formulas: calls of any shape that fulfils them are calls of one program. Where the
function looks at values, they are calls of one trace tree, to which a call along a new path adds that, with its
conditions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

from .. import config, policy
from ..base.frozen import record, replaced
from ..ir.extents import LEAST
from ..runtime.objects import fields
from ..runtime.program import UNLIMITED
from ..values.trees import has_vector_fields
from .template import NoPath, Numbers, OneShape, Template, is_simple, new_template, sizes_among, taken
from .tracing import Call
from .tree import Plain, Specialisation

_log = logging.getLogger("jitrt.trace")

_MOST_FAMILIES = 64  # of one function, of which it is remembered how extents vary
_MOST_TEMPLATES = 8  # of one family: guards of each leave sizes out
_MOST_MEMBERS = 64
_MOST_ATTEMPTS = 16  # of one member
_MOST_FAILURES = 2  # attempts that gave no template
_LARGE_EXTENT = 17  # extents from here on are variables; code for smaller ones is better made for the number that it is


class Templates:
    """The templates of one function."""

    def __init__(self, threads: int | None):
        self._limit = UNLIMITED if threads is None else threads
        self._families: dict[Hashable, _Family] = {}

    def clear(self) -> None:
        """Forget all of them."""
        self._families.clear()

    def find(
        self,
        call: Call,
        key: Hashable,
        keys: Sequence[Any],
        wanted: Collection[int],
        may_make: Callable[[], bool],
    ) -> tuple[tuple, Specialisation | Plain] | None:
        """What serves a call, and calls of other sizes, with what it depends on of each leaf; None if nothing does.

        Parameters
        ----------
        call : Call
        key : hashable
            What tells calls apart beside the leaves, and all of what a trace depends on but these.
        keys : sequence
            What a trace depends on of each leaf, as `leaf_key` gives it.
        wanted : collection of int
            Numbers of the leaves that are integers whose values programs depend on.
        may_make : callable
            Tells whether a template may be made.
        """
        if call.donated or call.shared is not None or config.debug() or fields() is None:
            return None
        if has_vector_fields(call.structure):
            return None  # formulas look at the extents of the records: Python would have to prepare each call
        call = replaced(call, integers=call.integers.union(sizes_among(call, wanted)))
        general, numbers, extents = taken(call, keys, wanted)
        if not numbers:
            return None
        family = self._families.get((key, general))
        if family is None:
            while len(self._families) >= _MOST_FAMILIES:
                self._families.pop(next(iter(self._families)))
            family = self._families[key, general] = _Family(numbers, extents)
        template = family.find(call, numbers, wanted, self._limit, may_make)
        if template is None:
            return None
        return template.types(keys), template.made

    def extend(self, call: Call, found: Specialisation) -> bool:
        """Add the path of a call to the tree that its template has; whether that was possible."""
        for family in self._families.values():
            for member in family.members():
                for k, template in enumerate(member.templates):
                    if template.made is found:
                        longer = family.extended(call, template, self._limit)
                        member.templates[k : k + 1] = [] if longer is None else [longer]
                        return longer is not None
        return False

    def replace(self, found: Specialisation, replacement: Plain | None) -> None:
        """Let `replacement` serve calls in the place of `found`; None if each shape has to have its program."""
        for family in self._families.values():
            for member in family.members():
                for k, template in enumerate(member.templates):
                    if template.made is found and replacement is not None:
                        member.templates[k] = replaced(template, made=replacement)
                    elif template.made is found:
                        del member.templates[k]
                        family.is_given_up, family.new_paths = True, found.new_paths
                        return

    def note(
        self, call: Call, key: Hashable, keys: Sequence[Any], wanted: Collection[int], found: Specialisation | Plain
    ) -> None:
        """A call was traced, which gave `found`: there are templates for what ends with one program."""
        family = self._families.get((key, taken(call, keys, wanted)[0]))
        if family is not None:
            family.note(found)


class _Family:
    """Calls that differ in numbers.

    Some of these may turn out to be parts of programs, as the number of iterations of a loop that is unrolled: calls
    with other ones have other templates.
    """

    def __init__(self, numbers: Numbers, extents: frozenset[int]):
        self._first = numbers
        self._extents = extents  # positions of numbers
        self._varying: set[int] = set()
        self._pinned: tuple[int, ...] = ()
        self._free = _Member([])
        self._members: dict[Numbers, _Member] = {}  # by the numbers that are parts of programs
        self._backoff = policy.Backoff()  # of attempts without such parts
        self._failures = 0
        self._has_failed = False
        self.is_given_up = False
        self.new_paths = 0
        """How many calls in a row saw other values than all before, when templates were given up for that."""
        self._leaves_out = True

    def members(self) -> list[_Member]:
        """What is known of calls, whatever parts of programs they have."""
        return [self._free, *self._members.values()]

    def extended(self, call: Call, template: Template, limit: int) -> Template | None:
        """A template with the path of a call, too; None if there can be none.

        It is the same one if only the plain function can follow that path, so that other calls follow theirs.
        """
        try:
            made = new_template(
                call, template.numbers_of(call), template.variables, template.wanted, limit, None, template
            )
        except NoPath as reason:
            _log.info("%s: this path is plain NumPy's: %s", call.name, reason)
            return template
        if made is None:
            self.is_given_up = True
        return made

    def _keep_all(self) -> None:
        """Leave nothing out any more of what nothing reads: the values of a call have not let it."""
        self._leaves_out = False
        self._free = _Member([])
        self._members.clear()

    def find(
        self, call: Call, numbers: Numbers, wanted: Collection[int], limit: int, may_make: Callable[[], bool]
    ) -> Template | None:
        found = None
        for member in (self._free, self._member(numbers)):
            for k, template in enumerate(member.templates):
                if template.fits(call):
                    found = template
                    if template.is_preferred():
                        member.templates.insert(0, member.templates.pop(k))
                        return template
        if self.is_given_up:
            return found
        self._varying |= {k for k, (n, m) in enumerate(zip(self._first, numbers)) if n != m}
        parts = set(self._pinned) if self._pinned and self._backoff.spares() else set[int]()
        member = self._member(numbers) if parts else self._free
        variables = self._variables(numbers, parts)
        if not variables or member.attempts >= _MOST_ATTEMPTS or not may_make():
            return found
        member.attempts += 1
        self._has_failed = False
        try:
            made = new_template(call, numbers, variables, wanted, limit, self._keep_all if self._leaves_out else None)
        except OneShape:
            self._pin({k for group in variables for k in group})
            return found
        if made is None:
            self._has_failed = True
            return found
        if not parts:
            self._pin({k for group in made.pinned for k in variables[group]})
        member = self._member(numbers) if parts or made.pinned else self._free
        member.templates.insert(0, made)
        del member.templates[_MOST_TEMPLATES:]
        return made if made.fits(call) else None

    def _member(self, numbers: Numbers) -> _Member:
        """What is known of calls with these parts of programs."""
        own = tuple([numbers[k] for k in self._pinned])
        found = self._members.get(own)
        if found is None:
            while len(self._members) >= _MOST_MEMBERS:
                self._members.pop(next(iter(self._members)))
            found = self._members[own] = _Member([])
        return found

    def note(self, found: Specialisation | Plain) -> None:
        """A call was traced that no template serves, which gave `found`."""
        self._failures += self._has_failed
        if isinstance(found, Specialisation):
            found.new_paths = self.new_paths
        needs_more = isinstance(found, Specialisation) and not is_simple(found)
        self.is_given_up = self.is_given_up or needs_more or self._failures >= _MOST_FAILURES

    def _pin(self, pinned: set[int]) -> None:
        """Remember which numbers are parts of what was made."""
        self._backoff.note(failed=bool(pinned))
        if not pinned.issubset(self._pinned):
            self._pinned = tuple(sorted(pinned.union(self._pinned)))
            self._members.clear()

    def _variables(self, numbers: Numbers, parts: set[int]) -> list[tuple[int, ...]]:
        """Positions of large extents and of numbers that vary, but for `parts`; together where they have been equal."""
        groups: dict[Any, list[int]] = {}
        for k, number in enumerate(numbers):
            is_variable = k in self._varying or (k in self._extents and number >= _LARGE_EXTENT)
            if is_variable and k not in parts and abs(number) >= LEAST:
                groups.setdefault((abs(self._first[k]), abs(number)), []).append(k)
        return [tuple(group) for group in groups.values()]


@record(eq=False)
class _Member:
    """Templates, and how often there was to be one."""

    templates: list[Template]
    attempts: int = 0
