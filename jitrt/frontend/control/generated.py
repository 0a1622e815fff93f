"""The texts of functions that Python's library writes: the method ``__init__`` of dataclasses.

    @dataclass                    →    def __init__(self, x, trail):
    class Walk:                            self.x = x
        x: float                           self.trail = _dflt_trail() if trail is _HAS_DEFAULT_FACTORY else trail
        trail: list = field(default_factory=list)

What is written here is what the instructions name; whoever asks compares the instructions with those of the text.
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import types

from ...base.syntax import syntax_tree

NO_DEFAULT = vars(dataclasses).get("_HAS_DEFAULT_FACTORY")  # of parameters for which a value is made for each object
_SETS = "__dataclass_builtins_object__"  # of frozen ones


def initialiser(code: types.CodeType) -> ast.Module:
    """The definition that a dataclass may have got as ``__init__``.

    Raises
    ------
    SyntaxError
        If it names what is no name.
    """
    owner, *parameters = code.co_varnames[: code.co_argcount]
    is_frozen = _SETS in code.co_freevars
    if is_frozen:
        names = [c for c in code.co_consts if isinstance(c, str)]
    else:
        names = [i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR"]
    body = []
    for name in names:
        value = _value(name, parameters, code.co_freevars)
        body.append(f"{_SETS}.__setattr__({owner}, {name!r}, {value})" if is_frozen else f"{owner}.{name} = {value}")
    if "__post_init__" in code.co_names:
        body.append(f"{owner}.__post_init__()")
    lines = "".join(f"\n    {line}" for line in body or ["pass"])
    return syntax_tree(f"def __init__({', '.join((owner, *parameters))}):{lines}")


def _value(name: str, parameters: list[str], outside: tuple[str, ...]) -> str:
    """What a field is set to: a parameter, or what is made for each object."""
    made = next((made for made in (f"_dflt_{name}", f"__dataclass_dflt_{name}__") if made in outside), "")
    if not made:
        return name
    if name not in parameters:
        return f"{made}()"
    missing = next((n for n in outside if n.strip("_").endswith("HAS_DEFAULT_FACTORY")), "")
    return f"{made}() if {name} is {missing} else {name}" if missing else name
