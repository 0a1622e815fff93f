"""Methods of classes that Python calls without their names in the code, set after the first calls, are heeded."""

import linecache

import numpy as np
import pytest

import jitrt

X = np.arange(400) * 0.5

USES = {
    "str(o)": ("__str__", lambda self: "text"),
    "repr(o)": ("__repr__", lambda self: "text"),
    "f'{o}'": ("__format__", lambda self, how: "text"),
    "f'{o!r}'": ("__repr__", lambda self: "text"),
    "'%s' % o": ("__str__", lambda self: "text"),
    "copy.copy(o)": ("__copy__", lambda self: 54.0),
    "copy.deepcopy(o)": ("__deepcopy__", lambda self, memory: 55.0),
    "list(reversed(o))": ("__reversed__", lambda self: iter([48.0])),
    "o != 1": ("__ne__", lambda self, other: "other"),
    "o in [1, 2]": ("__eq__", lambda self, other: True),
    "hash(o) * 0": ("__hash__", None),
    "round(o)": ("__round__", lambda self: 3),
    "complex(o)": ("__complex__", lambda self: 2j),
    "bytes(o)": ("__bytes__", lambda self: b"x"),
    "divmod(o, 2)": ("__divmod__", lambda self, other: (1, 2)),
    "o // 2": ("__floordiv__", lambda self, other: 4.0),
    "o & 1": ("__and__", lambda self, other: 5),
    "~o": ("__invert__", lambda self: 5),
    "o.__doc__": ("__doc__", "other"),
    "type(o).__doc__": ("__doc__", "other"),
    "np.asarray(o).shape": ("__array_interface__", property(lambda self: X.__array_interface__)),
}
FORMS = {
    "argument": "def function(x, o):\n    return {}, x * 2\n",
    "global": "def function(x, _):\n    return {}, x * 2\n",
    "default": "def function(x, _, o=o):\n    return {}, x * 2\n",
    "held": "held = [o]\ndef function(x, _):\n    o = held[0]\n    return {}, x * 2\n",
}
CLASS = '''
class Item:
    """First."""
    def __init__(self): self.a = 1.0
    def __len__(self): return 1
    def __getitem__(self, k): return (1.0,)[k]
o = Item()
'''


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("use", USES)
def test_a_method_is_set_later(use, form):
    source = CLASS + FORMS[form].format(use)
    name = f"<{form}: {use}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"np": np, "copy": __import__("copy"), "__name__": "users"}
    exec(compile(source, name, "exec"), space)
    plain = space["function"]
    fast = jitrt.jit(plain)

    def outcome(function):
        try:
            found = function(X, space["o"])[0]
        except (TypeError, AttributeError) as error:
            return repr(error)
        return "a copy" if type(found) is space["Item"] else str(found)

    for _ in range(4):
        assert outcome(fast) == outcome(plain)
    setattr(space["Item"], *USES[use])
    for _ in range(3):
        assert outcome(fast) == outcome(plain)
