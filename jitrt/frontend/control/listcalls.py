"""What staged functions do with lists: written out, made by methods, changed in parts, repeated, added."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from . import (
    lists,
    makingobjects,
    objects,
    references,
    scalars,
)
from .arrays import ZERO, contiguous_strides
from .expressions import Expressions
from .holders import holds
from .iterations import MOST_UNROLLED
from .runtimelists import Appended, Given, GrownList, RowOf, RunTimeList
from .values import (
    LISTED,
    Array,
    Composite,
    Copied,
    DictDisplay,
    Display,
    ListChanges,
    NeedsValue,
    NotStaged,
    Referenced,
    dtype_of,
    is_number,
    is_static,
    rebuilt,
)
from .written_lists import delete_part, insert, pop_at, reverse, set_part, sort

_METHODS = {  # of lists: how many arguments
    "append": (1,), "extend": (1,), "pop": (0, 1), "clear": (0,), "copy": (0,), "insert": (2,), "sort": (0,),
    "reverse": (0,),
}  # fmt: skip


class ListCalls(Expressions):
    """Expressions that make and change lists. Parameters as for `Expressions`."""

    def written(self, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], e: ast.Call) -> Any:
        """A call of a function of this package's, which is staged like a user's."""
        scalars.check_axes(function, args, kwargs)
        with self.r.library():
            return self.inlined(function, args, kwargs, e)

    def display(self, values: list[Any], e: ast.expr) -> Any:
        """A list of known length, or one of run time if it is appended to later on."""
        place = self.place_of(e)
        if values and place not in self.r.lists:  # what is empty is appended to
            return Display(values, place)
        made = self.list_at(e)
        for value, part in zip(values, _parts_of(e, len(values))):
            self.append(made, value, part)
        return made

    def list_at(self, e: ast.expr) -> GrownList | Referenced:
        """A new list of run time, which an expression makes."""
        return lists.new(self.r, self.place_of(e))

    def append(self, values: GrownList | Referenced, value: Any, e: ast.expr | None = None) -> None:
        """``values.append(value)``: arrays that others know of must not change any more. `e` is its expression."""
        self.note_lists(values, value, e)
        if isinstance(value, DictDisplay):
            objects.check_not_given_away(self.r, value)
            if value.depth < self.r.depth:
                raise NotStaged("a dict that may be in a list several times")
            self.r.given_away.append(value)
        if isinstance(value, Composite) and isinstance(values, GrownList):
            value = makingobjects.element(self, values, value, e)
        lists.append(self.r, values, self.referred(values, value))

    def note_lists(self, values: RunTimeList, value: Any, e: ast.expr | None = None) -> None:
        """Others may know of the lists in a value whose expression `e`, if it is known, does not make them."""
        if isinstance(values, GrownList) and not _makes_lists(e, value):
            values.is_shared = True

    def referred(self, values: GrownList | Referenced, value: Any) -> Any:
        """A value that a list is to hold: arrays that others know of must not change any more."""
        if isinstance(value, (tuple, list)):
            return rebuilt(value, (self.referred(values, v) for v in value))
        if isinstance(value, Composite) and value.is_value:
            return value.with_parts({name: self.referred(values, v) for name, v in value.parts.items()})
        if isinstance(value, GrownList):
            if value.depth < self.r.depth or isinstance(values, Referenced):
                references.need("a list that may be an element of another one several times", value)
            self.forget(value)
            if holds(self.r, value):
                references.need("a list that an object has, as an element of another one", value)
            return value
        if not isinstance(value, Array) or value.view is None:
            return value
        origins = value.view.origins
        is_dense = value.view.strides == contiguous_strides(value.shape, value.dtype)
        if not is_dense or any(origin == LISTED or origin.startswith("x") for origin in origins):
            self._share(values)
        if any(self.r.live(origin) for origin in origins):
            self.list_memory(origins - {LISTED})
        return value

    def _share(self, values: GrownList | Referenced) -> None:
        if isinstance(values, GrownList):
            values.is_shared = True

    def list_method(
        self, values: list[Any] | RunTimeList, name: str, args: list[Any], kwargs: dict[str, Any], e: ast.Call
    ) -> Any:
        r = self.r
        if name not in _METHODS or (kwargs and name != "sort") or len(args) not in _METHODS[name]:
            raise NotStaged(f"the method {name} of lists")
        if isinstance(values, (RowOf, Given)) and values.argument is not None:
            raise NeedsValue(values.argument)  # it has to be a list that is appended to
        if not isinstance(values, Appended) or name not in ("append", "extend"):
            values = self.changeable(values)
        if name == "append":
            return self.append(values, args[0], e.args[0])
        if name == "extend":
            return self.extend(values, args[0])
        if name == "insert":
            return self.written(insert, [values, *args], {}, e)
        if name == "sort":
            return self.written(sort, [values], kwargs, e)
        if name == "reverse":
            return self._changed(reverse, [values], e)
        if name == "pop":
            if args and not (is_static(args[0]) and args[0] in (0, -1)):
                return self.written(pop_at, [values, *args], {}, e)
            return lists.pop_first(r, values) if args and args[0] == 0 else lists.pop(r, values)
        if name == "clear":
            return lists.clear(r, values)
        made = self.list_at(e)
        lists.extend(r, made, values)
        return made

    def set_part(self, values: GrownList | Referenced, part: slice, others: Any, e: Any) -> None:
        """``values[part] = others``."""
        if part.step is not None:
            raise NotStaged("an assignment to a part of a list, with steps")
        if isinstance(others, Array) and others.ndim == 1:
            others = self.kept(others)
        elif not isinstance(others, RunTimeList | tuple | list):
            raise NotStaged("an assignment of this to a part of a list")
        is_other = isinstance(others, GrownList) and others is not values
        if not isinstance(others, Array) and not is_other:  # it may be the list itself
            copied = lists.new(self.r, (*self.place_of(e), "part"))
            self.extend(copied, others)
            others = copied
        self._changed(set_part, [values, part.start, part.stop, others], e)

    def _changed(self, function: Callable[..., Any], args: list[Any], e: Any) -> None:
        """Change a list: its indices are in range."""
        with self.r.aside():
            self.written(function, args, {}, e)

    def delete(self, values: RunTimeList | list[Any], key: Any, e: Any) -> None:
        """``del values[key]``."""
        values = self.changeable(values)
        if not isinstance(key, slice):
            self.written(pop_at, [values, key], {}, e)
        elif key.step is None:
            self._changed(delete_part, [values, key.start, key.stop], e)
        else:
            raise NotStaged("a part of a list that is deleted, with steps")

    def changeable(self, values: Any) -> GrownList | Referenced:
        """A list that statements may change in all ways."""
        if isinstance(values, list):
            self.need_grown(values)
        if isinstance(values, Appended) or (isinstance(values, (RowOf, Given)) and values.argument is not None):
            raise NotStaged("a change of a list that is an argument")
        if not isinstance(values, (GrownList, Referenced)):
            references.need("a change of a list in a list", values)
        return values

    def need_grown(self, values: Any) -> NoReturn:
        """Begin again with a list of run time in place of one of known length."""
        if isinstance(values, Copied):
            references.need("a change of a list that a list or a variable holds", values)
        if not isinstance(values, Display) or values.place in self.r.lists:
            raise NotStaged("a change of a list that the function has not made")
        self.r.lists[values.place] = None
        raise ListChanges("a list that changes")

    def extend(self, values: GrownList | Referenced, others: Any) -> None:
        """``values.extend(others)``."""
        if isinstance(others, RunTimeList) or (isinstance(others, Array) and others.ndim == 1):
            lists.extend(self.r, values, others)
        elif isinstance(others, (tuple, list)):
            for value in others:
                self.append(values, value)
        else:
            raise NotStaged("a list extended by this")

    def repeated(self, values: Any, count: Any, e: ast.expr) -> Any:
        """``[…] * count``."""
        if not is_number(count) or dtype_of(count).kind not in "iu":
            raise NotStaged("a list times this")
        if isinstance(count, int) and len(values) * count <= MOST_UNROLLED and self.place_of(e) not in self.r.lists:
            return Display(values * count, self.place_of(e))
        if some := [v for v in values if isinstance(v, (Display, GrownList))]:
            references.need("a list of the same list several times", *some)
        if any(isinstance(v, (Array, list)) or objects.is_object(v) for v in values):
            raise NotStaged("a list of the same object several times")
        made = self.list_at(e)
        with self.r.loop(ZERO, scalars.poly_of(self.r, count), varying=True):
            for value in values:
                lists.append(self.r, made, value)
        return made

    def concatenated(self, x: Any, y: Any, e: ast.expr) -> Any:
        """``x + y`` of two lists, which is a new one."""
        made = self.list_at(e)
        for values in (x, y):
            self.extend(made, values)
        return made


def _parts_of(e: ast.expr | None, count: int) -> Sequence[ast.expr | None]:
    """The expressions of the `count` elements of a list or a tuple; None for each where it is not written out."""
    is_written = isinstance(e, (ast.List, ast.Tuple)) and not any(isinstance(p, ast.Starred) for p in e.elts)
    return e.elts if is_written else [None] * count  # type: ignore[union-attr]


def _makes_lists(e: ast.expr | None, value: Any) -> bool:
    """Whether the expression `e` makes all lists of known length in its value, so that nobody else has them."""
    if not isinstance(value, (tuple, list)):
        return True
    if isinstance(value, list) and not isinstance(e, ast.List):
        return False
    return all(map(_makes_lists, _parts_of(e, len(value)), value))
