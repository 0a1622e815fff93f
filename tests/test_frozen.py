"""Immutable values behave as the standard library's dataclasses do."""

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, field

import pytest

from jitrt.base.frozen import frozen, record, replaced


@frozen
class Point:
    """A point."""

    x: float
    y: tuple = (1, 2)

    def doubled(self):
        return replaced(self, x=2 * self.x)


@frozen
class Listed:
    items: list = field(default_factory=list)


@frozen
class Single:
    value: object


@frozen
class Empty:
    pass


@frozen(eq=False)
class Alone:
    x: int


@frozen
class Checked:
    x: int

    def __post_init__(self):
        if self.x < 0:
            raise ValueError("negative")


@frozen
class Shown:
    x: int

    def __repr__(self):
        return "shown"


def test_fields_and_defaults():
    point = Point(3)
    assert (point.x, point.y, point.doubled()) == (3, (1, 2), Point(6.0))
    assert Point(x=1, y=()) == Point(1, ())
    with pytest.raises(TypeError):
        Point()
    with pytest.raises(TypeError):
        Point(1, 2, 3)


def test_factories_of_defaults():
    first, second = Listed(), Listed()
    first.items.append(1)
    assert (first.items, second.items, Listed([5]).items) == ([1], [], [5])


def test_equality_and_hashes():
    assert Point(1) == Point(1) and hash(Point(1)) == hash(Point(1)) and Point(1) != Point(2)
    assert Point(1) != Single(1) and Single([1]) == Single([1]) and Empty() == Empty() and len({Empty(), Empty()}) == 1
    nan = float("nan")
    assert Single(nan) == Single(nan) and Point(nan) == Point(nan)  # the same object, as in tuples
    alone = Alone(1)
    assert alone == alone and Alone(1) != Alone(1) and len({Alone(1), Alone(1)}) == 2
    with pytest.raises(TypeError):
        hash(Single([]))


def test_nothing_can_be_changed():
    point = Point(1)
    for change in (lambda: setattr(point, "x", 2), lambda: setattr(point, "z", 2), lambda: delattr(point, "x")):
        with pytest.raises(FrozenInstanceError):
            change()
    assert not hasattr(point, "__dict__")


def test_texts():
    assert repr(Point(1)) == "Point(x=1, y=(1, 2))" and repr(Empty()) == "Empty()" and repr(Shown(1)) == "shown"
    assert Point.__doc__ == "A point." and Point.__qualname__ == "Point" and Point.__module__ == __name__


def test_checks_after_making():
    assert Checked(1).x == 1
    with pytest.raises(ValueError, match="negative"):
        replaced(Checked(1), x=-1)


def test_copies_and_pickles():
    for value in (Point(1, (3,)), Single(None), Empty()):
        for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert other == value


def test_patterns():
    match Point(1, (2,)):
        case Point(x, y):
            assert (x, y) == (1, (2,))


@record
class Walk:
    place: int
    seen: list = field(default_factory=list)


def test_records_can_be_changed():
    first, second = Walk(1), Walk(1, [2])
    first.place += 1
    first.seen.append(1)
    assert first == Walk(2, [1]) != second and second.seen == [2] and Walk(5).seen == []
    assert copy.deepcopy(first) == pickle.loads(pickle.dumps(first)) == first
    with pytest.raises(AttributeError):
        first.other = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)
    first.seen.append(first)
    assert repr(first) == "Walk(place=2, seen=[1, ...])"


def test_arguments_are_named_as_fields_are():
    """Classes of as many fields share code, not names."""

    @record(eq=False)
    class One:
        left: int
        right: int = 7

    @record(eq=False)
    class Other:
        up: int
        down: int = 8

    one, other = One(left=1), Other(up=2)
    assert (one.left, one.right, other.up, other.down) == (1, 7, 2, 8)
    assert str(inspect.signature(One)) == "(left, right=7)" and one != One(1) and len({one, One(1)}) == 2
    with pytest.raises(TypeError, match="up"):
        One(up=1)
    with pytest.raises(TypeError, match="'up'"):
        Other()


def test_defaults_stand_last():
    with pytest.raises(TypeError, match="without a default"):

        @frozen
        class Wrong:
            x: int = 1
            y: int
