"""Functions and classes that a call is given: what they lead to is changed, and may have changed, as in plain NumPy."""

import functools

import numpy as np
import pytest

import jitrt

X = np.arange(5.0)
HISTORY: list = []
SCALE = np.full(5, 2.0)


def solve(x, n, callback):
    for k in range(n):
        x = x * 0.5 + 1
        callback(k, x)
    return x


def through_dict(x, given):
    given["callback"](0, x)
    return x * 2


def through_list(x, given):
    for f in given:
        f(0, x)
    return x * 2


def applied(x, f):
    return f(x) + 1


def one_list(f):
    history = []

    def callback(k, v):
        history.append(v.sum())

    for _ in range(8):
        f(X, 3, callback)
    return history


def new_lists(f):
    out = []
    for n in range(8):
        history = []
        f(X, 2 + n // 6, lambda k, v: history.append(v.sum() + k))  # noqa: B023
        out.append(history)
    return out


def a_rebound_variable(f):
    history, out = [], []

    def callback(k, v):
        history.append(v.sum())

    for n in range(8):
        if n == 4:
            history = []
        f(X, 2, callback)
        out.append(list(history))
    return out


def a_global_list(f):
    global HISTORY
    HISTORY, out = [], []
    for n in range(8):
        if n == 4:
            HISTORY = []
        f(X, 2, lambda k, v: HISTORY.append(v.sum()))  # noqa: B023
        out.append(list(HISTORY))
    return out


def a_list_that_is_read(f):
    history = [np.zeros(5)]
    for _ in range(4):
        f(X, 2, lambda k, v: history.append(history[-1] + v))
    return history


def a_dict(f):
    store = {}
    for n in range(4):
        f(X + n, 2, lambda k, v: store.__setitem__(k, v.sum()))
    for n in range(4):

        def callback(k, v):
            store["last"] = v
            store["count"] = store.get("count", 0) + 1

        f(X + n, 2, callback)
    return store


def an_object(f):
    class Record:
        total = 0.0

    record = Record()

    def callback(k, v):
        record.total += v.sum()
        record.last = v

    for n in range(5):
        f(X + n, 2, callback)
    return record.total, record.last


def a_default(f):
    out = []
    for n in range(6):
        f(X + n, 2, lambda k, v, history=out, *, scale=n * 0.5: history.append(v * scale))
    return out


def a_default_that_changes(f):
    out = []

    def callback(k, v, history=out, scale=2.0):
        history.append(v * scale)

    for n in range(6):
        callback.__defaults__ = out, n * 0.5
        f(X + n, 2, callback)
    return out


def a_nested_function(f):
    history = []

    def note(v):
        history.append(v.max())

    for n in range(6):
        f(X + n, 2, lambda k, v: note(v * k))
    return history


def a_partial(f):
    history = []
    callback = functools.partial(lambda history, k, v: history.append(v.sum()), history)
    for _ in range(5):
        f(X, 2, callback)
    return history


def a_bound_method(f):
    class Record:
        def __init__(self):
            self.history = []

        def add(self, k, v):
            self.history.append(v.sum())

    record = Record()
    for _ in range(5):
        f(X, 2, record.add)
    return record.history


def a_method_of_a_list(f):
    history = []
    for _ in range(5):
        f(X, 2, lambda k, v: history.append((k, v.sum())))
        f(X, 2, lambda *pair: pair[0] or history.extend(pair))
    return history


def a_counter(f):
    count = 0

    def callback(k, v):
        nonlocal count
        count += k

    for _ in range(5):
        f(X, 3, callback)
    return count


def an_attribute_of_the_function(f):
    def callback(k, v):
        callback.total = getattr(callback, "total", 0) + v.sum()

    for _ in range(5):
        f(X, 3, callback)
    return callback.total


CALLBACKS = [
    one_list, new_lists, a_rebound_variable, a_global_list, a_list_that_is_read, a_dict, an_object, a_default,
    a_default_that_changes, a_nested_function, a_partial, a_bound_method, a_method_of_a_list, a_counter,
    an_attribute_of_the_function,
]  # fmt: skip


def _equal(one, other):
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(_equal(one[k], other[k]) for k in one)
    return type(one) is type(other) and np.array_equal(one, other)


@pytest.mark.parametrize("scenario", CALLBACKS, ids=lambda s: s.__name__)
def test_what_callbacks_store(scenario):
    assert _equal(scenario(jitrt.jit(solve)), scenario(solve))


@pytest.mark.parametrize("through", [through_dict, through_list])
@pytest.mark.parametrize("scenario", CALLBACKS, ids=lambda s: s.__name__)
def test_what_callbacks_in_containers_store(scenario, through):
    function = jitrt.jit(through)
    wrap = (lambda f: {"callback": f}) if through is through_dict else lambda f: [f, f]
    assert _equal(
        scenario(lambda x, n, f: function(x, wrap(f))),
        scenario(lambda x, n, f: through(x, wrap(f))),
    )


def test_new_functions_of_the_same_code_are_no_new_traces():
    f = jitrt.jit(solve)
    new_lists(f)
    known = f.cache_info().compiled
    new_lists(f)
    assert 0 < known <= 2 and f.cache_info().compiled == known


def _scaled(scale, shift):
    return lambda x: x * scale + shift


def test_what_a_function_has_closed_over_are_inputs():
    f = jitrt.jit(applied)
    for n in range(30):
        g = _scaled(n * 0.5, X + n)
        assert np.array_equal(f(X, g), applied(X, g))
    assert f.cache_info().compiled == 1


def test_the_caller_gets_its_own_function():
    def both(x, f):
        return f, f(x)

    f = jitrt.jit(both)
    for n in range(4):
        g = _scaled(n * 0.5, X)
        found, value = f(X, g)
        assert found is g and np.array_equal(value, g(X))


def doubled(x):
    return x * 2


def test_functions_are_compared_by_identity():
    def choose(x, f, g):
        if f is doubled:
            return x + 1
        return x + 2 if f is g else x + 3

    f = jitrt.jit(choose)
    other = _scaled(2.0, X)
    for pair in [(doubled, doubled), (other, other), (other, _scaled(2.0, X)), (doubled, other)] * 2:
        assert np.array_equal(f(X, *pair), choose(X, *pair))


def test_a_function_that_knows_itself():
    def make(scale):
        def power(x, n):
            return x if n == 0 else power(x, n - 1) * scale

        return power

    def f(x, g):
        return g(x, 3)

    g = jitrt.jit(f)
    for n in range(5):
        assert np.array_equal(g(X, make(n + 0.5)), f(X, make(n + 0.5)))


def test_globals_of_a_function_that_is_given():
    f = jitrt.jit(applied)
    for n in range(6):
        SCALE[:] = n
        assert np.array_equal(f(X, lambda x: x * SCALE), X * n + 1)


class Base:
    s = 2.0
    table = np.arange(5.0)
    history: list = []  # noqa: RUF012

    @classmethod
    def scaled(cls, x):
        return x * cls.s + cls.table


class Derived(Base):
    pass


class Meta(type):
    @property
    def s(cls):
        return cls.hidden


class WithMeta(metaclass=Meta):
    hidden = 2.0


def of_class(x, kind):
    return x * kind.s


def in_dict(x, given):
    return x * given["class"].s


def of_instance(x, value):
    return x * value.s


def of_type(x, value):
    return x * type(value).s


def by_classmethod(x, kind):
    return kind.scaled(x)


def made(x, kind):
    return kind().scaled(x) * kind.s


def appends(x, kind):
    kind.history.append(x.sum())
    return x * 2


def change_value(n):
    Base.s = [2.0, 2.0, 9.0, 9.0, 4, "no"[:0] or 5.5][n]


def change_table(n):
    Base.table[:] = n


def replace_table(n):
    Base.table = np.arange(5.0) + n


def change_derived(n):
    if n > 2:
        Derived.s = n * 1.5


def change_hidden(n):
    WithMeta.hidden = n // 2 * 1.0


def replace_history(n):
    if n == 3:
        Base.history = []


@pytest.fixture
def restored():
    yield
    Base.s, Base.table, Base.history, WithMeta.hidden = 2.0, np.arange(5.0), [], 2.0
    if "s" in vars(Derived):
        del Derived.s


@pytest.mark.wide(times=2)
@pytest.mark.parametrize(
    "change", [change_value, change_table, replace_table, change_derived, replace_history], ids=lambda c: c.__name__
)
@pytest.mark.parametrize(
    ("function", "given"),
    [
        *((f, kind) for f in (of_class, by_classmethod, made, appends) for kind in (Base, Derived)),
        *((in_dict, {"class": kind}) for kind in (Base, Derived)),
        *((f, kind()) for f in (of_instance, of_type, by_classmethod) for kind in (Base, Derived)),
    ],
    ids=lambda v: getattr(v, "__name__", type(v).__name__),
)
def test_attributes_of_classes(function, given, change, restored):
    f = jitrt.jit(function)
    for n in range(6):
        change(n)
        got = f(X, given), list(Base.history)
        if function is appends:
            Base.history.pop()
        assert _equal(got, (function(X, given), list(Base.history)))


def test_classes_of_other_classes(restored):
    f = jitrt.jit(of_class)
    for n in range(6):
        change_hidden(n)
        assert np.array_equal(f(X, WithMeta), X * WithMeta.s)


def test_a_class_that_is_called(restored):
    class Scaled:
        def __init__(self, a):
            self.a = a

        def of(self, x):
            return x * SCALE + self.a

    def f(x, kind):
        return kind(x).of(x)

    g = jitrt.jit(f)
    for n in range(6):
        SCALE[:] = n
        assert np.array_equal(g(X, Scaled), f(X, Scaled))


MADE: list = []


def test_a_class_that_is_called_and_notes_it():
    class Noted:
        def __init__(self, a):
            MADE.append(a)
            self.a = a

    def f(x, kind):
        return kind(x.sum()).a * x

    g = jitrt.jit(f)
    for n in range(5):
        MADE.clear()
        assert np.array_equal(g(X + n, Noted), (X + n).sum() * (X + n))
        assert _equal(MADE, [(X + n).sum()])


def test_a_global_array_that_becomes_something_else():
    def f(x):
        return x * OTHER

    global OTHER
    g = jitrt.jit(f)
    for value in (np.full(5, 2.0), 3.0, np.arange(5.0), 4, np.float32(1.5), np.arange(5), np.arange(5.0) * 2):
        OTHER = value
        for _ in range(3):
            assert _equal(g(X), f(X))


class Memo:
    last = X

    @classmethod
    def keep(cls, x):
        cls.last = x + 1
        return x * 2

    def of(self, x):
        return x * SCALE if type(self) is Memo else x


def test_class_attributes_that_a_class_method_sets():
    def f(x):
        return Memo.keep(x)

    g = jitrt.jit(f)
    for n in range(4):
        assert np.array_equal(g(X + n), (X + n) * 2)
        assert np.array_equal(Memo.last, X + n + 1)


def test_methods_of_an_object_whose_class_is_asked_for():
    g = jitrt.jit(lambda memo, x: memo.of(x))
    for n in range(6):
        SCALE[:] = n
        assert np.array_equal(g(Memo(), X), X * n)
