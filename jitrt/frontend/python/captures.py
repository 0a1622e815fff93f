"""What a function reads beside its arguments, and where that is."""

from __future__ import annotations

import itertools
import operator
import types
from collections.abc import Iterable
from dataclasses import field
from types import MappingProxyType
from typing import Any

from ...base.frozen import frozen, record
from ...errors import Untraceable
from ...values.attributes import OWN_WAYS, USUAL_WAYS
from ...values.functions import MISSING, Code
from ...values.growing import Growing
from ...values.versions import Unchanged
from .bytecode import compares_objects

Place = tuple[int, str | int | None]


@frozen
class Capture:
    """A value that the code reads from outside.

    Parameters
    ----------
    name : str
        As in the code.
    value : object
        What it was when the code was scanned.
    container, key
        The dict or the class and the key that hold it, the function and the attribute, or the cell and None.
    """

    name: str
    value: Any
    container: Any
    key: str | int | None

    @property
    def place(self) -> Place:
        """What names the place that holds the value, as long as that exists."""
        return id(self.container), self.key

    @property
    def is_number(self) -> bool:
        """Whether the value is a number of a variable that can be another one in the next call."""
        return type(self.value) in (int, float) and isinstance(self.container, (dict, types.CellType))

    def read(self) -> Any:
        """The current value; a mark of its own if there is none."""
        if isinstance(self.container, types.FunctionType):
            return getattr(self.container, str(self.key))
        if self.key == "__mro__" and isinstance(self.container, type):
            return self.container.__mro__
        if self.key is not None:
            holder: Any = vars(self.container) if isinstance(self.container, type) else self.container
            try:
                return holder[self.key]
            except (KeyError, IndexError):
                return MISSING
        try:
            return self.container.cell_contents
        except ValueError:
            return MISSING


@record
class Captures:
    """What a function depends on beside its arguments.

    Parameters
    ----------
    arrays : list of Capture
        Captured arrays: implicit inputs, read at every call.
    values : list of Capture
        Numbers, strings and functions, which a guard compares by identity.
    floats : set of float
        Numbers that the code itself contains, or captures.
    state : list of Capture
        Lists, dicts and objects that the code reads or changes: further arguments, taken apart at every call.
    classes : set of type
        The user's classes that the code names.
    sets_attributes : bool
        Whether the code sets attributes of objects, its own or those of its arguments.
    asks_for_classes : bool
        Whether it asks for the class of an object, for more than to show its name.
    holds_classes : bool
        Whether it does more with one than to compare it.
    impure : set of str
        Attributes of constants that are not always the same, or do something.
    makes_objects : bool
        Whether it makes objects of the classes of others.
    computes_names : bool
        Whether it has names of attributes as strings.
    generators : list
        The random generators that it names.
    refused : dict of int to (object, str)
        Functions behind branches that do what a replay would leave out, by their identity, and why.
    modules : dict of int to module
        Those of which the code does not show what is looked up in them, by identity.
    texts : set of str
        What else than names and texts of the code may be looked up in them, and in classes: texts among the arguments,
        and the names of methods among them.
    codes : set
        All code that has been scanned.
    appended, read : set of str
        Attributes with which it does nothing but to append to them, and those that it uses in another way.
    positions : frozenset of int
        Parameters that are appended to alone.
    grown, used : set of int
        Identities of what is appended to, among which the lists in `state`, and of what is used in another way.
    names : set of str
        What the code may ask the user's classes for.
    members : dict of type to Unchanged
        Whether these classes define the same ones of these names.
    """

    arrays: list[Capture] = field(default_factory=list)
    values: list[Capture] = field(default_factory=list)
    floats: set[float] = field(default_factory=set)
    state: list[Capture] = field(default_factory=list)
    classes: set[type] = field(default_factory=set)
    sets_attributes: bool = False
    asks_for_classes: bool = False
    holds_classes: bool = False
    impure: set[str] = field(default_factory=set)
    makes_objects: bool = False
    computes_names: bool = False
    generators: list[Any] = field(default_factory=list)
    refused: dict[int, tuple[Any, str]] = field(default_factory=dict)
    modules: dict[int, types.ModuleType] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    codes: set[types.CodeType] = field(default_factory=set)
    appended: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    positions: frozenset[int] = frozenset()
    varying: frozenset[Place] = frozenset()
    """Places of numbers that are inputs."""

    constants: dict[Place, Capture] = field(default_factory=dict)
    """What hardly anybody replaces: functions of Python and NumPy, the absence of names that hide them, and the code
    and defaults of functions."""

    given: set[Any] = field(default_factory=set)
    """Functions among the arguments that have been scanned."""

    callbacks: dict[Code, frozenset[int]] = field(default_factory=dict)
    """Which of their parts are lists that they do nothing with but to append to them."""

    methods_read: bool = False
    """Whether methods read arrays, lists or other things that can change: their copies have to run."""

    grown: set[int] = field(default_factory=set)
    used: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    members: dict[type, Unchanged] = field(default_factory=dict)
    number: int = field(default_factory=itertools.count().__next__)
    """Tells it from all others."""

    @property
    def growing(self) -> Growing:
        """The lists that the function does nothing with, or does nothing but to append to them."""
        attributes = frozenset() if self.computes_names else frozenset(self.appended - self.read)
        read = None if self.computes_names or self.makes_objects else frozenset(self.read)
        appended = self.grown - self.used
        state = frozenset(k for k, c in enumerate(self.state) if id(c.value) in appended)
        return Growing(attributes, self.positions, state, read, MappingProxyType(dict(self.callbacks)))

    @property
    def compare_objects(self) -> bool:
        """Whether the code asks which of its values are one object."""
        return any(map(compares_objects, self.codes))

    def check_constants(self) -> None:
        """Raise `Untraceable` if the code may ask a constant for what is not always the same."""
        asked = sorted(self.impure) if self.computes_names else sorted(self.impure & self.read)
        if asked:
            raise Untraceable(f"asks a constant for {asked[0]}, which may differ from call to call")

    def containers(self) -> tuple[Any, ...]:
        """The lists, dicts and objects as they are now."""
        return tuple([c.read() for c in self.state])

    def watched(self) -> list[Capture]:
        """Values that have to be the same objects."""
        return [*self.values, *self.constants.values()]

    def note_constant(self, name: str, value: Any, container: Any, key: str | None) -> None:
        """Watch what is hardly ever replaced."""
        found = Capture(name, value, container, key)
        self.constants[found.place] = found

    def unchanged(self) -> bool:
        """Whether every captured value is still the object that was scanned; inputs and containers of the same type."""
        same = all(c.read() is c.value for c in self.watched())
        same = same and all(type(c.read()) is type(c.value) for c in (*self.arrays, *self.state))
        return same and all(unchanged() for unchanged in list(self.members.values()))

    def watch_members(self, classes: Iterable[type], names: set[str]) -> None:
        """Note which of the `names` the `classes`, and those watched so far, define."""
        self.names |= names
        for kind in {*classes, *self.members}:
            self.members[kind] = _same_members(kind, frozenset(self.names.union(OWN_WAYS, USUAL_WAYS, _UNNAMED)))

    def changed_numbers(self) -> set[Place]:
        """Places where another number of the same type is now."""
        found = [c for c in self.values if c.is_number and c.read() is not c.value]
        return {c.place for c in found if type(c.read()) is type(c.value)}


# What Python and NumPy ask classes for without a name in the code. Where a class has such a method that nobody has
# looked at, a trace refuses to call it.
_UNNAMED = frozenset(
    f"__{name}__"
    for name in """setattr str repr format bytes complex round reversed ne hash missing copy deepcopy reduce reduce_ex
    getstate setstate dir doc length_hint next index array_interface array_struct array_priority instancecheck
    divmod floordiv mod lshift rshift and or xor invert pos trunc floor ceil""".split()
)


def _same_members(kind: type, names: frozenset[str]) -> Unchanged:
    """Whether a class has the same bases, and defines those of the `names` that it defines now.

    Functions, properties and the like have to be the same ones; of data, `Capture` tells what matters.
    """

    def defined() -> tuple[list[Any], list[Any]]:
        own = [(c, name) for c in kind.__mro__[:-1] for name in sorted(names & vars(c).keys())]
        members = [vars(c)[name] for c, name in own]
        return [kind.__mro__, own], [m for m in members if hasattr(type(m), "__get__") or isinstance(m, str)]

    def same() -> bool:
        (places, members), (known, functions) = defined(), before[0]
        return places == known and len(members) == len(functions) and all(map(operator.is_, members, functions))

    before: list[tuple[list[Any], list[Any]]] = []
    watch = Unchanged(kind, same)
    before.append(defined())
    return watch
