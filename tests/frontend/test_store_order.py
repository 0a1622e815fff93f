"""What a call leaves in containers: what they held before, their order, what is the same object, and half-way failures.

Every function is called several times, with what was stored before, and after each call everything that can be reached
is compared with plain NumPy: values, types, order of keys, and which places hold one object.
"""

import copy

import numpy as np
import pytest

import jitrt

X = np.arange(1500.0)


class Holder:
    def __init__(self):
        self.a, self.b, self.n = X * 1, X + 1, 3
        self.items, self.table = [X * 2, X * 3, 1.5], {"x": X * 1, "y": 2.0, 7: X + 2}


def replaced_list(h, x):
    h.items = [x * 2]
    h.items.append(x + 1)
    return x


def replaced_dict_and_old_one(h, x):
    old = h.table
    h.table = {"y": x * 2, "x": x}
    old["y"] = x + 3
    old["new"] = x * 4
    return old["y"]


def old_list_after_a_replacement(h, x):
    old = h.items
    h.items = [*old, x]
    old[0] = x * 5
    old.append(x * 0.5)
    return x


def old_list_kept(h, x):
    h.kept, h.items = h.items, [x + 1, 2.0]
    h.kept.append(x)
    return x


def new_keys_in_order(h, x):
    h.table["z"] = x * 2
    h.table["c"] = x * 3
    h.table["x"] = x * 4
    h.table[3] = x + 4
    return x


def keys_removed(h, x):
    h.table.pop("y", None)
    del h.table["x"]
    h.table["last"] = x + 1
    h.table["x"] = x
    return x


def key_removed_alone(h, x):
    h.table.pop("y", None)
    return x * 2


def removed_and_set_again(h, x):
    value = h.table.pop("x")
    h.table["x"] = value + x
    return x


def moved_to_the_end(h, x):
    h.table["x"] = h.table.pop("x")
    return x


def attribute_removed(h, x):
    h.new = x
    if hasattr(h, "b"):
        del h.b
    return x * 2


def equal_value(h, x):
    h.n = 3
    h.table["y"] = 2.0
    h.items[2] = 1.5
    h.a = h.a * 1
    return x * 2


def equal_number_of_another_type(h, x):
    h.n = 3.0 if type(h.n) is int else 3
    h.table["y"] = 2
    return x * 2


def swapped_items(h, x):
    h.items[0], h.items[1] = h.items[1], h.items[0]
    return x * 2


def swapped_attributes(h, x):
    h.a, h.b = h.b, h.a
    h.a[0] = 5.0
    return x * 2


def swapped_containers(h, x):
    h.items[2], h.n = h.n, h.items[2]
    h.table["x"], h.items[0] = h.items[0], h.table["x"]
    return x * 2


def reversed_list(h, x):
    h.items.reverse()
    h.items.insert(0, x + 1)
    h.items.pop()
    return x * 2


def shortened(h, x):
    del h.items[1:]
    h.items[0] = x * 2
    return x


def cleared(h, x):
    h.items.clear()
    h.table.clear()
    h.items.append(x * 2)
    return x


def one_array_in_two_places(h, x):
    y = x * 2
    h.a = h.table["x"] = h.items[0] = y
    return y


def one_list_in_two_places(h, x):
    h.items = h.table["list"] = [x * 2, x]
    h.items.append(3)
    return h.items


def holds_itself(h, x):
    h.me = h
    h.items.append(h.items[0])
    h.table["h"] = h
    h.a = x + 1
    return h


def list_in_a_list(h, x):
    h.items = [[x * 2], h.items[-1:], {"a": h.a}]
    h.items[0].append(h.items[2])
    return h.items[0]


def tuple_of_old_and_new(h, x):
    h.pair = (h.items, x * 2, h.a)
    h.pair[0].append(1)
    return h.pair


def written_and_replaced(h, x):
    old = h.a
    old[1:] = x[1:] * 3
    h.a = x + 1
    h.b = old
    return old[1]


def appended_in_a_loop(h, x):
    for k in range(4):
        h.items.append(x * k)
        h.n += k
    return h.n


def moved(h, x):
    h.table["moved"] = h.items.pop(0)
    h.items.append(h.table["moved"])
    return x * 2


def extended_by_itself(h, x):
    h.items += h.items[:1]
    h.items[0] = x
    return x * 2


FUNCTIONS = [
    f for f in list(globals().values()) if getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("h",)
]


def picture(value, seen):
    """A value as tuples of types and numbers; what occurs again, by the number of its first place."""
    if isinstance(value, (np.ndarray, list, dict, Holder)):
        for k, known in enumerate(seen):
            if known is value:
                return ("again", k)
        seen.append(value)
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.tolist())
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(picture(v, seen) for v in value))
    if isinstance(value, dict):
        return ("dict", *((k, picture(v, seen)) for k, v in value.items()))
    if isinstance(value, Holder):
        return ("Holder", *((k, picture(v, seen)) for k, v in vars(value).items()))
    return (type(value).__name__, value)


def after(function, calls):
    """What every call returns and leaves, with the containers that there were before all calls and before each."""
    holder, found = Holder(), []
    kept = [holder, holder.items, holder.table, holder.a, holder.b]
    for k in range(calls):
        before = [copy.copy(c) for c in (holder.items, holder.table)]
        try:
            result = function(holder, X + k)
        except Exception as error:
            result = repr(error)
        found.append(picture([result, *kept, *before], []))
    return found


@pytest.mark.parametrize("keywords", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_calls_leave(function, keywords):
    compiled = jitrt.jit(function)

    def f(h, x):
        return compiled(x=x, h=h) if keywords else compiled(h, x)

    for calls in (5, 2):
        for k, (got, want) in enumerate(zip(after(f, calls), after(function, calls))):
            assert got == want, k


@pytest.mark.parametrize("where", ["first", "second", "native"])
def test_a_failure_half_way_changes_nothing_twice(where):
    """A floating-point exception of what is computed last: the plain function runs on what was there before."""

    def grows(h, x):
        h.n += 1
        h.items.append(x * 2)
        h.table["x"] = h.table["x"] + 1
        h.a[0] += 1
        h.b = 1 / (x - x[0] * h.n)
        return h.b

    f = jitrt.jit(grows)
    made = [Holder(), Holder()]
    for g, h in ((f, made[0]), (grows, made[1])):
        with np.errstate(all="ignore"):
            for _ in range({"first": 0, "second": 1, "native": 6}[where]):
                g(h, X)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            g(h, X + 1)
        assert h.n == 4 + {"first": 0, "second": 1, "native": 6}[where]
    assert picture(made[0], []) == picture(made[1], [])


def test_two_containers_when_one_is_missing():
    """What a path leads to is found before anything is stored."""

    def both(h, x):
        h.items[0] = x * 2
        h.other.items[0] = x * 3
        return x + 1

    f = jitrt.jit(both)
    for k in range(4):
        ours, plain = Holder(), Holder()
        ours.other, plain.other = (ours, plain) if k % 2 else (Holder(), Holder())
        f(ours, X)
        both(plain, X)
        assert picture(ours, []) == picture(plain, [])
