"""Classes of named tuples that a function names are heeded when somebody changes them."""

import linecache
from collections import namedtuple

import numpy as np
import pytest

import jitrt

X = np.arange(400) * 0.5

BODIES = {
    "x + 1 if P else x": ("__bool__", lambda self: False),
    "P + (x,)": ("__add__", lambda self, other: other * 3),
    "x * P.a": ("a", property(lambda self: 7.0)),
    "P._replace(b=2 * x)": ("_replace", lambda self, **parts: 5.0),
    "x * P.norm() if hasattr(P, 'norm') else x": ("norm", lambda self: 5.0),
    "(len(P), x * 2)": ("__len__", lambda self: 2),
    "x * P[1]": ("__getitem__", lambda self, key: 9.0),
    "x * (P == (1.0, 2.0, 3.0))": ("__eq__", lambda self, other: False),
}
FORMS = {
    "global": "P = Named(1.0, 2.0, 3.0)\ndef function(x):\n    return {}\n",
    "default": "def function(x, P=Named(1.0, 2.0, 3.0)):\n    return {}\n",
    "in a tuple": "Q = (1, Named(1.0, 2.0, 3.0))\ndef function(x):\n    P = Q[1]\n    return {}\n",
    "in a class": "class K:\n    P = Named(1.0, 2.0, 3.0)\ndef function(x):\n    P = K.P\n    return {}\n",
    "in a loop": "P = Named(1.0, 2.0, 3.0)\ndef function(x):\n    s = []\n    for x in x:\n        s.append({})\n"
    "    return s\n",
}


def outcome(function):
    try:
        return str(function(X))
    except TypeError as error:
        return repr(error)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("body", BODIES)
def test_the_class_of_a_named_tuple_is_changed(form, body):
    source = FORMS[form].format(body)
    name = f"<{form}: {body}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    kind = namedtuple("Named", "a b c")
    space = {"Named": kind}
    exec(compile(source, name, "exec"), space)
    plain = space["function"]
    fast = jitrt.jit(plain)
    for _ in range(4):
        assert outcome(fast) == outcome(plain)
    setattr(kind, *BODIES[body])
    for _ in range(3):
        assert outcome(fast) == outcome(plain)
