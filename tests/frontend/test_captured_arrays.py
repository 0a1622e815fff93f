"""What functions read from outside may be rebound, exchanged, aliased and changed between calls."""

import types
import warnings

import numpy as np
import pytest
from texts import function_of

import jitrt

NAMES = ("a", "b", "c")


def in_globals(values, body):
    namespace = {"np": np, **values}
    exec(f"def f(x):\n    {body}", namespace)
    return namespace["f"], namespace


def in_cells(values, body):
    lines = [f"def outer({', '.join(values)}):", "    def f(x):", f"        {body}", "    def rebind(**new):"]
    lines += [f"        nonlocal {', '.join(values)}", *(f"        {n} = new.get({n!r}, {n})" for n in values)]
    namespace = {"np": np}
    exec("\n".join([*lines, "    return f, rebind"]), namespace)
    f, rebind = namespace["outer"](**values)

    class Cells(dict):
        def __setitem__(self, name, value):
            super().__setitem__(name, value)
            rebind(**{name: value})

    return f, Cells(values)


def in_a_module(values, body):
    module = types.ModuleType("constants_of_a_test")
    vars(module).update(values)
    for name in NAMES:
        body = body.replace(f"<{name}>", f"m.{name}")
    namespace = {"np": np, "m": module}
    exec(f"def f(x):\n    {body}", namespace)
    return namespace["f"], vars(module)


def in_lists(values, body):
    known = {id(value): [value, 2.0] for value in values.values()}
    held = {name: known[id(value)] for name, value in values.items()}
    for name in NAMES:
        body = body.replace(f"<{name}>", f"({name}[0] * {name}[1])")
    namespace = {"np": np, **held}
    exec(f"def f(x):\n    {body}", namespace)

    class Lists(dict):
        def __getitem__(self, name):
            return namespace[name][0]

        def __setitem__(self, name, value):
            namespace[name] = next((v for v in namespace.values() if type(v) is list and v[0] is value), [value, 2.0])

    return namespace["f"], Lists(values)


READING = "return x + <a>.sum() * 2.0 + <b>.max() * 3.0 + (<c> * <a>[0]).sum()"
WRITING = "<a>[0] += 1.0; <b>[...] = <b> + x[0]; return x + <a>.sum() + <b>.sum() + <c>.sum()"


def change(rng, held):
    """Rebind, exchange, alias or change some of what is held."""
    one, other = rng.choice(NAMES, 2, replace=False)
    what = rng.integers(6)
    if what == 0:
        held[one] = np.arange(float(rng.integers(2, 6))) + 1.0
    elif what == 1:
        held[one] = held[one] * 2.0
    elif what == 2:
        held[one], held[other] = held[other], held[one]
    elif what == 3:
        held[one] = held[other]
    elif what == 4:
        held[one] = held[one][::-1]
    elif held[one].flags.writeable:
        held[one][1:] += 1.0


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("where", "body"),
    [(where, body) for where in (in_globals, in_cells, in_a_module) for body in (READING, WRITING)]
    + [(in_lists, READING)],
)
def test_like_numpy(where, body, seed):
    if where in (in_globals, in_cells):
        body = body.replace("<", "").replace(">", "")
    outcomes = []
    for wrap in (lambda f: f, jitrt.jit):
        rng = np.random.default_rng(seed)
        first = np.arange(3.0)
        function, held = where({"a": first, "b": first if seed % 2 else first + 1.0, "c": np.arange(2.0)}, body)
        function = wrap(function)
        found = []
        for _ in range(12):
            for _ in range(2):
                result = function(np.arange(4.0))
                found.append((result.tolist(), [held[n].tolist() for n in NAMES]))
            change(rng, held)
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


def test_defaults_and_members_of_classes():
    class Model:
        weights = np.ones(3)

        def scaled(self, x, by=weights, *, shift=weights):
            return x + (self.weights * by).sum() + shift[0]

    model = Model()
    compiled = jitrt.jit(Model.scaled)
    for weights in (np.ones(3), np.zeros(4)[:3], np.arange(3.0) + 1.0):
        Model.weights = weights
        np.testing.assert_array_equal(compiled(model, np.arange(2.0)), Model.scaled(model, np.arange(2.0)))
        weights += 1.0
        np.testing.assert_array_equal(compiled(model, np.arange(2.0)), Model.scaled(model, np.arange(2.0)))


def test_a_global_array_of_another_form_in_a_staged_function():
    """The object is the same, and what the procedure was made for is not."""
    for change in ({"shape": (3, 2)}, {"dtype": np.dtype(np.float32)}):
        given = np.arange(6.0)
        space = {"np": np, "W": given}
        text = "def f(n):\n    t = 0.0\n    for k in range(n):\n        t = t + (W[k] * k).sum()\n    return t\n"
        function = function_of(text, **space)
        fast = jitrt.jit(function)
        for _ in range(3):
            assert fast(3) == function(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, value in change.items():
                setattr(given, name, value)
        assert fast(3) == function(3)
