"""What a traced function finds in place of one of NumPy's functions, and takes for that function itself."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..context import current

_METHOD = type(np.add.reduce)
USERS_NAMES = "__jitrt_names__"
"""The name of the user's own namespace in a copy of it, if its functions may be called outside of the trace."""


class StandIn:
    """A function that does something else during a trace, and is equal to `function`, with its class and attributes.

    Parameters
    ----------
    function : callable
        NumPy's function, or Python's.
    make : callable
        From the trace, the function, and the arguments of a call to its result.
    """

    __slots__ = ("function", "make")

    def __init__(self, function: Callable[..., Any], make: Callable[..., Any]):
        self.function, self.make = function, make

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = current()
        return self.function(*args, **kwargs) if state is None else self.make(state, self.function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.function, name)
        takes_arrays = type(found) is _METHOD and type(self.function) is np.ufunc and name != "at"  # but an index
        return StandIn(found, self.make) if takes_arrays else found

    # What classes have of their own does not reach `__getattr__`.
    __class__ = property(lambda self: type(self.function))
    __module__ = property(lambda self: self.function.__module__)
    __doc__ = property(lambda self: self.function.__doc__)

    def __eq__(self, other: object) -> bool:
        return self.function == without_stand_in(other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


class ModuleStandIn(types.ModuleType):
    """A module whose members are replaced as code first asks for them, and those that it stores are its own.

    Parameters
    ----------
    module : module
    replaced : callable
        From the name of a member, and the member, to what code finds.
    """

    __slots__ = ("_module", "_replaced")

    def __init__(self, module: types.ModuleType, replaced: Callable[[str, Any], Any]):
        super().__init__(module.__name__)
        vars(self).clear()  # its name and text are the module's, too
        self._module, self._replaced = module, replaced

    def __getattr__(self, name: str) -> Any:
        vars(self)[name] = found = self._replaced(name, getattr(self._module, name))
        return found

    def __dir__(self) -> list[str]:
        return dir(self._module)


def without_stand_in(value: Any) -> Any:
    """The function that `value` stands for, if it is a stand-in; otherwise `value` itself."""
    return value.function if issubclass(type(value), StandIn) else value


def users_own(function: Any) -> Any:
    """The function that the user's code would have in place of this one, which code on symbols has or has made.

    NumPy calls it with values, for every element perhaps; what stands for functions in a trace would take most of the
    time.
    """
    return _own(function, {})


def _own(value: Any, made: dict[int, types.FunctionType]) -> Any:
    """As `users_own`; `made` has what was made so far, since a function may reach itself."""
    value = without_stand_in(value)
    if type(value) is not types.FunctionType or USERS_NAMES not in value.__globals__:
        return value
    if id(value) not in made:
        cells = value.__closure__ and tuple([types.CellType() for _ in value.__closure__])
        names = value.__globals__[USERS_NAMES]
        own = types.FunctionType(value.__code__, names, value.__name__, value.__defaults__, cells)
        own.__kwdefaults__ = value.__kwdefaults__
        made[id(value)] = own
        for cell, before in zip(cells or (), value.__closure__ or ()):
            with contextlib.suppress(ValueError):  # not assigned yet
                cell.cell_contents = _own(before.cell_contents, made)
    return made[id(value)]
