"""What the import statements inside a function bind."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from typing import Any

from ...errors import Untraceable
from .bytecode import Instruction

_STORES = frozenset({"STORE_FAST", "STORE_DEREF"})
# Between the attributes of `import a.b.c as d`.
_STEPS = frozenset({"SWAP", "ROT_TWO", "POP_TOP"})


def imported_names(
    instructions: list[Instruction], namespace: dict[str, Any]
) -> Iterator[tuple[str, types.ModuleType, str]]:
    """The local variables that import statements assign.

    Parameters
    ----------
    instructions : list of Instruction
        A function's code.
    namespace : dict
        Its global variables.

    Yields
    ------
    (name, module, attribute)
        `attribute` is empty where the variable is the module itself.

    Raises
    ------
    Untraceable
        If a call may import a module that nobody has imported so far: that runs code, which a replay would leave out.

    Notes
    -----
    A module that is loaded is imported by a lookup, which has no effects. One that the call imports in any case, since
    no branch precedes the statement, is imported here, a moment earlier. Nothing is bound where the import fails.
    """
    branches = [k for k, i in enumerate(instructions) if "JUMP" in i.opname or i.opname == "FOR_ITER"]
    for k, instruction in enumerate(instructions):
        if instruction.opname != "IMPORT_NAME":
            continue
        level, names = instructions[k - 2].argval, instructions[k - 1].argval
        certain = not branches or k < branches[0]
        module = _module(str(instruction.argval), level, namespace, certain)
        if module is not None:
            yield from _bound(instructions[k + 1 :], module, str(instruction.argval), bool(names))


def _module(name: str, level: int, namespace: dict[str, Any], certain: bool) -> types.ModuleType | None:
    """The module called `name`, None if it cannot be imported."""
    try:
        full = importlib.util.resolve_name("." * level + name, namespace.get("__package__") or "")
        if full not in sys.modules and not certain:
            raise Untraceable(f"imports {full}, which is not loaded yet")
        return importlib.import_module(full)
    except Exception:  # the statement raises it again, where the function may catch it
        return None


def _bound(
    following: list[Instruction], module: types.ModuleType, name: str, names_parts: bool
) -> Iterator[tuple[str, types.ModuleType, str]]:
    """What the instructions behind IMPORT_NAME assign."""
    if following[0].opname in _STORES:  # import a.b.c binds a
        package = module.__name__.removesuffix(name) + name.partition(".")[0]
        yield str(following[0].argval), sys.modules[package], ""
        return
    part = ""
    for instruction in following:
        if instruction.opname == "IMPORT_FROM":
            part = str(instruction.argval)
        elif instruction.opname in _STORES and part:
            if not names_parts:  # import a.b.c as d
                yield str(instruction.argval), module, ""
                return
            if hasattr(module, part):
                yield str(instruction.argval), module, part
            part = ""
        elif instruction.opname not in _STEPS:
            return
