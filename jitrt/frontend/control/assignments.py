"""Assignments of staged functions: to names, parts of arrays, lists, dicts and attributes."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ...ir.integers import Poly
from ...values.functions import MISSING
from . import arrays as a
from . import (
    composites,
    containers,
    forced,
    lists,
    maskedassignments,
    objects,
    references,
    scalars,
    sharing,
    specialmethods,
    subscripts,
)  # fmt: skip
from .calls import check_kept, is_iterator
from .comprehensions import Comprehensions
from .expressions import OPERATORS
from .registry import as_array
from .runtimelists import GrownList, RunTimeList
from .values import FLOAT, Array, Composite, DictDisplay, NotStaged, Referenced, Scalar, dtype_of, is_static, type_name

# What may see, in an update of an item of a dict, whether the item was there before.
_LOOKING = (ast.Call, ast.Compare, ast.NamedExpr, ast.ListComp, ast.SetComp, ast.DictComp)


class Assignments(Comprehensions):
    """Expressions and assignments. Parameters as for `Expressions`."""

    temporaries: dict[ast.stmt, tuple[str, ast.stmt]]
    deferred: dict[str, int]  # temporaries, and when they were assigned
    passing: dict[ast.stmt, list[str]]  # temporaries that a statement is the last to use

    def of_NamedExpr(self, e: ast.NamedExpr) -> Any:
        self.assign(e.target, self.operand(e.value))
        return self.expression(ast.copy_location(ast.Name(e.target.id, ast.Load()), e.target))

    def settle(self, statement: ast.stmt | None = None) -> None:
        """Compute, in the block that is recorded, the arrays whose elements nothing behind `statement` reads."""
        forced.compute(self.r, statement)

    def do_Pass(self, s: ast.Pass) -> None:
        pass

    def do_Expr(self, s: ast.Expr) -> None:
        if isinstance(s.value, ast.Constant):
            return
        self.expression(s.value)

    def do_Assign(self, s: ast.Assign) -> None:
        if maskedassignments.assigned(self, s):
            return
        check_kept(s.value)
        is_named = isinstance(s.value, ast.Name) or all(isinstance(t, ast.Name) for t in s.targets)
        if any(map(self._is_part_of_list, s.targets)) and is_iterator(s.value):
            value = self.drawn(s.value)
        else:
            value = self.untouched(s.value) if is_named else self.operand(s.value)
        if len(s.targets) > 1:
            value = self.kept(value)  # the first assignment may change what it is computed from
        elif isinstance(value, Array) and s in self.temporaries:
            name, last = self.temporaries[s]
            self.r.choose(*value.shape)
            self.variables[name], self.deferred[name] = value, self.r.time
            forced.put_off(self.r, last)
            self.passing.setdefault(last, []).append(name)
            return
        for target in s.targets:
            self.assign(target, value)

    def do_AnnAssign(self, s: ast.AnnAssign) -> None:
        if s.value is not None:
            check_kept(s.value)
            self.assign(s.target, self.expression(s.value))

    def do_Delete(self, s: ast.Delete) -> None:
        for target in s.targets:
            if not isinstance(target, ast.Subscript):
                raise NotStaged("a name that is deleted")
            owner, key = self._in_turn([target.value, target.slice], self.expression)
            if isinstance(owner, (RunTimeList, list)):
                self.delete(owner, key, target)
                continue
            containers.remove(self, owner, key, target)

    def assign(self, target: ast.expr, value: Any) -> None:
        """``target = value``."""
        if isinstance(target, ast.Name):
            self.variables[target.id] = self.kept(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = self.unpacked(value, len(target.elts), target)
            if len(values) > 1:
                values = [self.kept(v) for v in values]
            for t, v in zip(target.elts, values):
                self.assign(t, v)
        elif isinstance(target, ast.Subscript):
            array, index = self.expression(target.value), self.expression(target.slice)
            if isinstance(array, (RunTimeList, list)):
                self._set_item(array, index, value, target)
                return
            if objects.is_object(array) and not issubclass(array.kind, tuple):
                if specialmethods.special(self, array, "__setitem__", [index, value], target) is MISSING:
                    raise NotStaged(f"an assignment to an item of {array.kind.__name__}")
                return
            if isinstance(array, (Composite, DictDisplay)):
                self._set_part(array, index, value)
                return
            if isinstance(array, composites.Record):
                array, index = composites.written_field(array, index), array.index
            if not isinstance(array, Array):
                raise NotStaged(f"an assignment to an item of {type_name(array)}")
            if isinstance(value, RunTimeList):
                value = as_array(self.r, value)
                if array.dtype not in (value.dtype, FLOAT):  # numbers of Python's may not fit
                    raise NotStaged("a list of numbers of another type in place of elements")
            subscripts.assign(self.r, array, index, scalars.stored(self.r, value, array.dtype))
        elif isinstance(target, ast.Attribute):
            owner = self.expression(target.value)
            if not isinstance(owner, Composite) or owner.kind is dict:
                raise NotStaged(f"an assignment to an attribute of {type_name(owner)}")
            objects.assign(self, owner, target.attr, self.kept(value), target)
        else:
            raise NotStaged(f"an assignment to {type(target).__name__}")

    def _set_part(self, owner: Composite | DictDisplay, key: Any, value: Any) -> None:
        """``owner[key] = value`` for a dict."""
        if not is_static(key):
            containers.need_hashed(self.r, owner, key)
        if isinstance(owner, Composite) and composites.is_records(owner) and isinstance(key, str):
            field = owner.part(key)
            subscripts.assign(self.r, field, ..., scalars.stored(self.r, value, field.dtype))
            return
        parts = owner if isinstance(owner, DictDisplay) else owner.parts
        if key not in parts and owner.block == self.r.inside:  # on all ways from here on
            value = self.kept(value)
            self.r.change(parts, key, value)
            if isinstance(owner, DictDisplay) or key not in owner.cells:
                return
        if isinstance(owner, DictDisplay):
            owner = Composite(dict, dict(owner), owner.place)
        if owner.kind is not dict:
            raise NotStaged(f"an assignment to an item of {owner.kind.__name__}")
        composites.write(self.r, owner, key, self.kept(value))

    def _is_part_of_list(self, target: ast.expr) -> bool:
        """Whether an assignment is to a part of a list that a variable holds."""
        if not (isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice)):
            return False
        name = target.value
        return isinstance(name, ast.Name) and isinstance(self.variables.get(name.id), (RunTimeList, list))

    def _set_item(self, values: Any, index: Any, value: Any, e: Any) -> None:
        """``values[index] = value`` for a list."""
        if isinstance(values, list):
            self.need_grown(values)
        if isinstance(index, slice):
            self.set_part(self.changeable(values), index, value, e)
            return
        self.note_lists(values, value)
        value = self.referred(values, scalars.settled(self.r, value))
        lists.write(self.r, values, scalars.index_of(self.r, index), value)

    def unpacked(self, value: Any, count: int, target: Any) -> list[Any]:
        """The parts of what is assigned to the names of `target`."""
        if isinstance(value, Scalar) and self.is_supposed(target):
            return [value] * count
        if isinstance(value, Array):
            if not value.ndim:
                raise NotStaged("unpacking of a number")
            self.r.require_equal(value.shape[0], Poly.number(count))
            value = a.materialise(self.r, value)
            return [subscripts.rows_of(self.r, value, Poly.number(k)) for k in range(count)]
        if isinstance(value, RunTimeList):
            self.r.require_equal(lists.length(self.r, value), Poly.number(count))
            return [lists.element(self.r, value, Poly.number(k)) for k in range(count)]
        if isinstance(value, Composite):
            value = value.items
        if not isinstance(value, (tuple, list)) or len(value) != count:
            raise NotStaged("unpacking of this")
        return list(value)

    def do_AugAssign(self, s: ast.AugAssign) -> None:
        if maskedassignments.assigned(self, s):
            return
        op = OPERATORS[type(s.op)]
        if isinstance(s.target, ast.Name):
            self._update_name(op, s.target, s)
        elif isinstance(s.target, ast.Attribute):
            self._update_attribute(op, s.target, s)
        else:
            self._update_item(op, self.expression(s.target.value), self.expression(s.target.slice), s)

    def _update_name(self, op: str, target: ast.Name, s: ast.AugAssign) -> None:
        """``name op= value``."""
        old = self.named(ast.Name(target.id, ast.Load(), lineno=s.lineno, col_offset=s.col_offset))
        value = self.operand(s.value)
        if isinstance(old, Array):
            self._update(op, old, value)
        elif isinstance(old, (GrownList, Referenced, list)) and op == "add":
            if isinstance(old, list):
                self.need_grown(old)
            self.extend(old, value)
        else:
            self.variables[target.id] = self.kept(self._updated(op, old, value, s))

    def _update_attribute(self, op: str, target: ast.Attribute, s: ast.AugAssign) -> None:
        """``owner.name op= value``."""
        owner = self.expression(target.value)
        old, value = self.attribute(owner, target.attr, target), self.operand(s.value)
        if isinstance(old, Array):
            self._update(op, old, value)
            self._check_assigned(owner, target.attr)
        elif isinstance(owner, Composite) and owner.kind is not dict:
            updated = self._updated(op, old, value, s)
            objects.assign(self, owner, target.attr, self.kept(updated), s)
        else:
            raise NotStaged(f"an assignment to an attribute of {type_name(owner)}")

    def _update_item(self, op: str, owner: Any, index: Any, s: ast.AugAssign) -> None:
        """``owner[index] op= value``."""
        if isinstance(owner, composites.Record):
            owner, index = composites.written_field(owner, index), owner.index
        if isinstance(owner, (RunTimeList, list)):
            if isinstance(owner, list):
                self.need_grown(owner)
            old = scalars.settled(self.r, lists.read(self.r, owner, scalars.index_of(self.r, index)))
            if isinstance(old, Array):
                raise NotStaged("a change of an array that a list holds")
            self._set_item(owner, index, self._updated(op, old, self.expression(s.value), s), s)
            return
        looks: tuple[type, ...] = _LOOKING
        if containers.has_items(owner) and sharing.removes(self.r, owner):
            looks = (*looks, ast.Subscript)  # which may add a key, and move others to new places
        if containers.has_items(owner) and not any(isinstance(n, looks) for n in ast.walk(s.value)):
            values, at = containers.slot(self, owner, index, s)
            with self.r.aside():
                old = lists.read(self.r, values, scalars.index_of(self.r, at))
            made = self._updated(op, old, self.expression(s.value), s)
            with self.r.aside():
                self._set_item(values, at, made, s)
            return
        if objects.is_object(owner) and not issubclass(owner.kind, tuple):
            old = specialmethods.special(self, owner, "__getitem__", [index], s)
            made = MISSING if isinstance(old, Array) else self._updated(op, old, self.expression(s.value), s)
            if made is MISSING or specialmethods.special(self, owner, "__setitem__", [index, made], s) is MISSING:
                raise NotStaged(f"an assignment to an item of {owner.kind.__name__}")
            return
        if isinstance(owner, (Composite, DictDisplay)):
            old = composites.item(self.r, owner, index) if isinstance(owner, Composite) else owner.get(index)
            value = self.expression(s.value)
            if isinstance(old, Array):
                self._update(op, old, value)
            else:
                self._set_part(owner, index, self._updated(op, old, value, s))
            return
        if not isinstance(owner, Array):
            raise NotStaged(f"an assignment to an item of {type_name(owner)}")
        old = subscripts.read(self.r, owner, index)
        value = self.expression(s.value)
        if isinstance(old, Array) and old.view is not None and old.reads == owner.reads:
            self._update(op, old, value)
        else:
            made = self._updated(op, old, value, s)
            if isinstance(old, Array) and not np.can_cast(dtype_of(made), old.dtype, "same_kind"):
                raise NotStaged("a conversion that NumPy refuses")
            subscripts.assign(self.r, owner, index, made)

    def _updated(self, op: str, old: Any, value: Any, s: ast.AugAssign) -> Any:
        """``old op= value`` for what makes a new value, or is an object."""
        if objects.is_object(old):
            return specialmethods.updated(self, op, old, value, s)
        if isinstance(old, (GrownList, Referenced)) and op == "add":
            self.extend(old, value)
            return old
        if isinstance(old, (list, RunTimeList)):
            references.need("a change of a list that is an attribute", old)
        self.here = s
        return self.operation(op, old, value)

    def _check_assigned(self, owner: Any, name: str) -> None:
        """Raise `NotStaged` where Python does not assign an array that has changed in place to its own attribute."""
        if objects.is_object(owner):
            composites.check_assignable(owner, name)
            if name not in owner.parts and name not in owner.cells:
                raise NotStaged("an assignment to an attribute that is none of the object itself")

    def _update(self, op: str, array: Array, value: Any) -> None:
        """``array op= value``: computed as NumPy's ufunc does, and converted within its kind."""
        if op == "matmul":
            raise NotStaged("a product in place")
        a.update(self.r, array, self.operation(op, array, value))
