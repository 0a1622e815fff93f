"""What a name of a module is bound to later is heeded by the next call, wherever the module is found."""

import cmath
import linecache
import math
import types

import numpy as np
import pytest

import jitrt

X = np.arange(400) * 0.5


def module(name, **names):
    made = types.ModuleType(name)
    vars(made).update(names)
    return made


def space():
    sub = module("outer.sub", c=3.0, scaled=lambda x: x * 3)
    outer = module("outer", sub=sub, c=2.0)
    return {"math": math, "np": np, "mm": np, "outer": outer, "sub": sub}


BODIES = {
    "x * math.pi": {"math": types.SimpleNamespace(pi=29.0)},
    "np.negative(x)": {"np": types.SimpleNamespace(negative=lambda x: x * 5)},
    "mm.sqrt(x)": {"mm": types.SimpleNamespace(sqrt=lambda x: x * 6)},
    "np.linalg.norm(x)": {"np": types.SimpleNamespace(linalg=types.SimpleNamespace(norm=lambda x: x * 6))},
    "x * outer.c": {"outer": module("other", c=9.0)},
    "x * outer.sub.c": {"outer.sub": module("other.sub", c=9.0)},
    "outer.sub.scaled(x)": {"outer": module("other", sub=module("other.sub", scaled=lambda x: x))},
    "x * getattr(outer, 'c')": {"outer": module("other", c=9.0)},
    "x * sub.c": {"sub": module("other.sub", c=9.0)},
}
FORMS = {
    "global": "def function(x):\n    return {}\n",
    "in a function that is called": "def inner(x):\n    return {}\ndef function(x):\n    return inner(x)\n",
    "in a loop": "def function(x):\n    s = 0.0\n    for x in x:\n        s += {}\n    return s\n",
    "cell": "def make({names}):\n    def rebind(*given):\n        nonlocal {names}\n        {names}, = given\n"
    "    def function(x):\n        return {}\n    return function, rebind\nfunction, rebind = make({names})\n",
}


def made(form, body, names):
    source = FORMS[form].format(body, names=", ".join(names))
    name = f"<{form}: {body}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    found = space()
    exec(compile(source, name, "exec"), found)
    return found


def outcome(function):
    try:
        return str(function(X))
    except (AttributeError, NameError, TypeError) as error:
        return repr(error)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("body", BODIES)
def test_a_name_of_a_module_is_bound_to_something_else(form, body):
    changes = BODIES[body]
    names = [name.partition(".")[0] for name in changes]
    found = made(form, body, names)
    plain = found["function"]
    fast = jitrt.jit(plain)
    for _ in range(4):
        assert outcome(fast) == outcome(plain)
    for name, value in changes.items():
        holder, _, part = name.partition(".")
        if part:
            setattr(found[holder], part, value)
        elif form == "cell":
            found["rebind"](value)
        else:
            found[holder] = value
    for _ in range(3):
        assert outcome(fast) == outcome(plain)


@pytest.mark.parametrize("form", ["global", "in a function that is called", "in a loop"])
@pytest.mark.parametrize("other", [None, cmath])
def test_a_module_that_lacks_the_name_or_is_gone(form, other):
    found = made(form, "math.floor(x[0])" if form != "in a loop" else "math.floor(x)", ["math"])
    plain = found["function"]
    fast = jitrt.jit(plain)
    for _ in range(4):
        assert outcome(fast) == outcome(plain)
    if other is None:
        del found["math"]
    else:
        found["math"] = other
    assert outcome(fast) == outcome(plain)
