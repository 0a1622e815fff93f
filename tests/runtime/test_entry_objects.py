"""The native entry takes objects apart as Python does: their attributes, and those of what they hold."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from entry_calls import Frozen, Heir, Model, Pair, Point, Watched, axpy_of, check, compiled, needs_versions, x

pytestmark = needs_versions


@pytest.mark.parametrize("kind", [Model, Heir, Point, Frozen, Pair])
def test_objects_are_served(kind, without_templates):
    function = compiled(axpy_of, kind(x, 3.0), 0.5)
    assert check(function, kind(x + 1, 4.0), 1.5)
    assert not check(function, kind(x[:3], 4.0), 1.5)
    assert not check(function, kind(x.astype(np.float32), 4.0), 1.5)
    assert not check(function, kind(x, np.float64(4.0)), 1.5)
    assert not check(function, kind(x, 4), 1.5)
    for value in (kind(x[:3], 4.0), kind(x, 4.0), kind(x.astype(np.float32), 4.0), kind(x, 4)):
        assert check(function, value, 1.5)


def test_methods_and_properties():
    function = compiled(Model.by_property, Model(), 0.5)
    assert check(function, Model(x * 2, 5.0), 0.5)
    assert not check(function, Heir(x * 2, 5.0), 0.5)
    assert check(function, Heir(x * 3, 5.0), 0.5)


def test_changes_of_an_object_between_calls(without_templates):
    model = Model()
    function = compiled(Model.run, model, 0.5)
    model.x = x * 3
    assert check(function, model, 0.5)
    model.x = x[:4]
    assert not check(function, model, 0.5)
    model.x = x
    model.extra = 1.0
    assert not check(function, model, 0.5)
    assert check(function, model, 0.5)
    del model.extra
    assert check(function, model, 0.5)
    model.name = "another"
    assert not check(function, model, 0.5)
    model.__dict__ = {"x": x * 5, "k": 1.0, "name": "model"}
    assert check(function, model, 0.5)
    model.__dict__ = {"k": 1.0, "x": x * 5, "name": "model"}
    assert not check(function, model, 0.5)
    model.__class__ = Heir
    assert not check(function, model, 0.5)
    del model.x
    with pytest.raises(AttributeError):
        function(model, 0.5)


def test_attributes_whose_names_are_not_interned():
    function = compiled(Model.run, Model(), 0.5)
    model = Model()
    vars(model).clear()
    vars(model).update({"".join(name): value for name, value in vars(Model(x + 7)).items()})
    assert check(function, model, 0.5)


def test_what_is_never_the_same_object_runs_plain_on_small_arrays(monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", "0")
    function = Watched(lambda o: o.x[o.part] * 2.0)
    for _ in range(200):
        o = Model()
        o.part = slice(1, int("3"))
        check(function, o)
    assert "too small" in function.explain(o).plain_reason


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_as_before(collects):
    function = compiled(Model.run, Model(), 0.5)
    (gc.enable if collects else gc.disable)()
    try:
        for _ in range(3):
            check(function, Model(), 0.5)
            assert gc.isenabled() == collects
    finally:
        gc.enable()


def test_what_occurs_twice_is_another_call():
    def same(a, b, dt):
        return a.x * (2.0 if a is b else 3.0) + b.x * dt

    y = x.copy()  # arrays that are one object are another call, too
    function = compiled(same, Point(x, 1.0), Point(y, 1.0), 0.5)
    point = Point(y, 1.0)
    assert not check(function, point, point, 0.5)
    for _ in range(2):
        assert check(function, point, point, 0.5)
        assert check(function, Point(x, 1.0), point, 0.5)

    def same_list(a, b):
        return a[0] * (2.0 if a is b else 3.0)

    items = [y]
    function = compiled(same_list, [x], [y])
    assert not check(function, items, items)
    assert check(function, items, items)
    assert check(function, [x], items)


def test_objects_in_containers_and_objects():
    def total(tree):
        return tree["models"][0].x + tree["models"][1].inner.x * tree["weights"]["second"]

    def tree(shift):
        outer = Model(x - shift)
        outer.inner = Point(x + shift, 2.0)
        return {"models": [Model(x * shift), outer], "weights": {"second": 3.0, "": (1, None, True)}}

    function = compiled(total, tree(0.0))
    assert check(function, tree(4.0))
    other = tree(1.0)
    other["models"][1].inner = Frozen(x, 3.0)
    assert not check(function, other)
    other = tree(1.0)
    other["weights"][""] = (1, None, False)
    assert not check(function, other)
    other["weights"][""] = (2, None, True)
    assert not check(function, other)


captured = Model(x * 2)


settings = {"gain": x + 1, "shift": 0.5}


def test_objects_and_dicts_that_a_function_names():
    def named(dt):
        return captured.x * settings["gain"] + settings["shift"] * dt

    global captured
    function = compiled(named, 0.5)
    captured.x = x * 9
    settings["shift"] = 2.5
    assert check(function, 0.5)
    captured = Model(x * 5)
    assert check(function, 0.5)
    settings["gain"] = x[:1]
    assert not check(function, 0.5)
    settings["gain"] = x + 1


def test_captured_arrays_of_several_shapes():
    scope = {"g": x}
    exec("def f(a):\n    return (g * 2.0).sum() + a", scope)
    function = Watched(scope["f"])
    for value in (x, x[:3], x, x[:2], x[:3], x, x[:2]) * 2:
        scope["g"] = value
        check(function, x)
    assert function.missed <= 6


def test_arrays_of_an_object_are_changed():
    def shift(o, dt):
        o.x += dt * o.k
        return o.x

    function = Watched(shift)
    for _ in range(4):
        point = Point(x.copy(), 2.0)
        array = point.x
        assert function(point, 0.5) is array
        np.testing.assert_array_equal(array, x + 1.0)
    assert function.missed <= 2


def test_attributes_that_share_memory():
    class Two:
        def __init__(self, a, b):
            self.a, self.b = a, b

    def change(o):
        o.a += 1.0
        return o.b * 2.0

    function = Watched(change)
    base = np.arange(8.0)
    for first, second in ((0, 1), (0, 0), (0, 1), (1, 0), (0, 0), (0, 1)):
        for views in (False, True):
            ours, theirs = base.copy(), base.copy()
            if views:
                made = [Two(m[first : first + 6], m[second : second + 6]) for m in (ours, theirs)]
            else:
                made = [Two(m, m if first == second else m.copy()) for m in (ours, theirs)]
            np.testing.assert_array_equal(function(made[0]), change(made[1]))
            np.testing.assert_array_equal(ours, theirs)


def test_no_reference_is_lost_or_kept():
    model, other = Model(x.copy()), Model(x[:3].copy())
    function = compiled(Model.run, model, 0.5)
    function(other, 0.5)
    watched = [model, other, model.x, other.x, vars(model), vars(other), Model, vars(model)["name"]]
    for _ in range(100):
        function(model, 0.5), function(other, 0.5)
    gc.collect()
    before = [sys.getrefcount(v) for v in watched], sys.getallocatedblocks()
    for _ in range(20_000):
        function(model, 0.5), function(other, 0.5)
    gc.collect()
    assert [sys.getrefcount(v) for v in watched] == before[0]
    assert abs(sys.getallocatedblocks() - before[1]) < 1000


def test_exceptions_of_a_call_are_numpys():
    def divide(o, dt):
        return o.x / o.k + dt

    function = compiled(divide, Point(x + 1, 2.0), 0.5)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        function(Point(x + 1, np.float64(0.0)), 0.5)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        function(Point(x, np.float64(0.0)), 0.5)
    assert check(function, Point(x + 2, 2.0), 0.5)


def test_threads_that_change_objects():
    big = np.ones(200_000)
    models = [Model(big.copy(), float(k)) for k in range(4)]
    function = Watched(Model.run)

    def work(k):
        model = models[k % 4]
        model.x = np.full(200_000, float(k))  # the array that another call may be reading is let go
        return np.unique(function(model, 0.5)).size

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(400))) == {1}
