"""What is stored, and what shares memory with what afterwards, is as Python and NumPy have it."""

import copy

import numpy as np
import pytest

import jitrt

SIZE = 3000


def numbers(seed=0):
    return np.random.default_rng(seed).normal(size=SIZE)


class Thing:
    def __init__(self, **attributes):
        vars(self).update(attributes)


NAMED = {}
OBJECT = Thing()


def reset():
    NAMED.clear()
    NAMED.update(w=numbers(5), hist=[], n=0)
    vars(OBJECT).clear()
    vars(OBJECT).update(a=numbers(6), b=1.0)


def alias_of_an_argument(o, x):
    o.a = x
    o.b = x
    o.a += 1
    return o.b  # alias of arg, in place


def view_of_an_argument_that_is_written(o, x):
    o.v = x[::2]
    x += 1
    return o.v.sum()  # view of an input written


def in_place_behind_a_store(o, x):
    y = x * 2
    o.y = y
    y += 1
    o.z = y[1:]
    return y  # in place after store


def named_store_then_in_place(o, x):
    NAMED["w"] = x
    NAMED["w"] *= 2
    return x.sum()  # global store then in place writes argument


def exchange_in_a_named_object(o, x):
    OBJECT.a, OBJECT.c = x + 1, OBJECT.a
    return OBJECT.a - OBJECT.c


def array_in_a_named_list(o, x):
    NAMED["hist"].append(x)
    NAMED["n"] += 1
    return x * NAMED["n"]


def circle(o, x):
    o.self = o
    o.l = [o.self, x * 2]
    return o.l[1]


def handlers(o, x):
    try:
        o.t = x + 1
        raise KeyError
    except KeyError:
        o.e = "caught"
    finally:
        o.f = x * 2
    return o.t


def branches(o, x):
    if x.sum() > 0:
        o.s = x * 2
    else:
        o.s = x * 3
        o.neg = True
    return o.s


def one_dict_stored_and_returned(o, x):
    d = {"a": x * 2}
    o.d = d
    d["b"] = x
    return d


def dict_of_attributes(o, x):
    o.__dict__["k"] = x * 2
    return o.k


def deleted_key(o, x):
    del NAMED["n"]
    NAMED["n"] = x.sum()
    return x + 1


def methods_of_a_dict(o, x):
    NAMED.setdefault("q", x * 2)
    NAMED.pop("hist")
    return x + len(NAMED)


def kinds_of_scalars(o, x):
    o.i = int(x.sum() > 0)
    o.j = np.float32(2)
    o.k = x.max()
    o.l = float(x.min())
    o.m = x.argmax()
    return o.k


def array_in_a_named_dict_is_written(o, x):
    a = NAMED["w"]
    a[:10] = 0
    return (a * x).sum()


def named_object_is_stored(o, x):
    b = OBJECT
    b.b += 2.0
    o.p = b
    return x * b.b


def tuples_of_lists(o, x):
    o.t = (x, x * 2)
    o.u = [o.t, o.t]
    return o.u[0][1]


def views_and_orders(o, x):
    o.x = x.T
    o.y = x.reshape(-1, 2).T
    o.z = o.y + 1
    return o.z


def names_that_are_computed(o, x):
    for k in range(4):
        setattr(o, f"a{k}", x * k)
    return o.a3


def function(o, x):
    o.f = lambda v: v + 1
    return o.f(x)


def sorted_in_place(o, x):
    o.g = x.copy()
    o.g.sort()
    return o.g


def stored_and_restored(o, x):
    o.c = x
    o.c = x * 2
    o.c = x
    return o.c is x


def one_array_under_two_names(o, x):
    y = x + 1
    o.a = y
    o.b = y
    return y


def augmented_list(o, x):
    NAMED["hist"] += [x.sum()]
    return len(NAMED["hist"]) + x


def list_replaced(o, x):
    NAMED["hist"] = [*NAMED["hist"], x.max()]
    return x + 1


def chosen_by_a_mask(o, x):
    o.mask = x > 0
    o.sel = x[o.mask]
    return o.sel.sum()


def error_state(o, x):
    with np.errstate(all="ignore"):
        o.q = x / 0.0
        o.n = np.log(x)
    return o.q


def several_targets(o, x):
    o.a, b = x + 1, x + 2
    o.c = o.d = b
    return o


def arrays_of_no_argument(o, x):
    o.a = np.zeros(5)
    o.b = np.arange(4.0)
    o.c = np.ones((2, 3), order="F")
    return x + 1


FUNCTIONS = [
    alias_of_an_argument,
    view_of_an_argument_that_is_written,
    in_place_behind_a_store,
    named_store_then_in_place,
    exchange_in_a_named_object,
    array_in_a_named_list,
    circle,
    handlers,
    branches,
    one_dict_stored_and_returned,
    dict_of_attributes,
    deleted_key,
    methods_of_a_dict,
    kinds_of_scalars,
    array_in_a_named_dict_is_written,
    named_object_is_stored,
    tuples_of_lists,
    views_and_orders,
    names_that_are_computed,
    function,
    sorted_in_place,
    stored_and_restored,
    one_array_under_two_names,
    augmented_list,
    list_replaced,
    chosen_by_a_mask,
    error_state,
    several_targets,
    arrays_of_no_argument,
]


def assert_alike(got, want, seen=()):
    assert type(got) is type(want)
    if isinstance(want, np.ndarray):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            assert_alike(g, w, seen)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        assert_alike(list(got.values()), list(want.values()), seen)
    elif isinstance(want, Thing):
        if id(want) not in seen:
            assert_alike(vars(got), vars(want), (*seen, id(want)))
    elif isinstance(want, (float, np.floating)):
        np.testing.assert_allclose(got, want, rtol=1e-11)
    elif not callable(want):
        assert got == want


def shared(value):
    """Pairs of arrays in a value that share memory, and whether they are one."""
    found = []

    def collect(part, seen=()):
        if isinstance(part, np.ndarray):
            found.append(part)
        elif isinstance(part, (list, tuple)):
            for p in part:
                collect(p, seen)
        elif isinstance(part, dict):
            collect(list(part.values()), seen)
        elif isinstance(part, Thing) and id(part) not in seen:
            collect(vars(part), (*seen, id(part)))

    collect(value)
    pairs = ((i, j) for j in range(len(found)) for i in range(j))
    return [(i, j, found[i] is found[j]) for i, j in pairs if np.shares_memory(found[i], found[j])]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_state_and_memory(function):
    compiled = jitrt.jit(function)
    outcomes = []
    for f in (function, compiled):
        reset()
        thing, x, found = Thing(), numbers(1), []
        for k in range(4):
            if k == 2:
                x = -numbers(2)
            try:
                value = f(thing, x)
            except Exception as error:
                value = type(error).__name__
            everything = (value, thing, NAMED, OBJECT, x)
            found.append((copy.deepcopy(everything), shared(everything)))
        outcomes.append(found)
    for want, got in zip(*outcomes):
        assert_alike(got, want)
