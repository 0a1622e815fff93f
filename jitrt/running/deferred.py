"""Functions of a program that is run: plain ones until their calls have had work that a compiler is worth.

Importing the compiler takes twice as long as importing NumPy, and compiling a function some tenths of a second. A short
program ends before that has paid, and most functions of a longer one, which are called once or twice.

How much work a call has is estimated from what a glance sees.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar

from .. import config, policy
from ..base import layout
from ..base.atwork import at_work, is_at_work
from ..values.glance import Glance, instructions

_COMPILER = "jitrt.jitfunction"
_CLASS: Any = vars(object)["__class__"]
_DEEPEST = 40  # recursion: each call has a frame of Python beside that of the function, and their number is limited


class _Code:
    """What is expected of the functions of one code: of a function in another one there is a new one for each call.

    Parameters
    ----------
    code : code object
    """

    __slots__ = ("_code", "_loops", "instructions", "spent")
    _known: ClassVar[dict[int, _Code]] = {}

    def __init__(self, code: types.CodeType):
        self._code = code
        self._loops = instructions(code)
        self.instructions = sum(self._loops)
        self.spent = 0.0
        """Nanoseconds that all calls are expected to have taken."""

    @classmethod
    def of(cls, code: types.CodeType) -> _Code:
        """What is known, found by identity: equality of code takes long."""
        found = cls._known.get(id(code))
        if found is None:
            found = cls._known[id(code)] = cls(code)
        return found

    def work(self, function: types.FunctionType, args: tuple[Any, ...]) -> float:
        """Nanoseconds that a call of the plain function is expected to take."""
        seen = Glance()
        seen.look(args)
        seen.look_at_code(function)
        return seen.work(self._loops)


class Deferred(layout.Callable):
    """A function that becomes a jit function, staying the same object, once that is expected to pay.

    Parameters
    ----------
    function : function
        The plain one.
    """

    __slots__ = ()

    spent = 0.0
    """Nanoseconds that all calls of all these functions are expected to have taken."""
    depth = 0
    """How many of these calls have not ended."""

    def __init__(self, function: types.FunctionType):
        functools.update_wrapper(self, function)
        self._function = function

    @property
    def __jitrt_function__(self) -> types.FunctionType:
        return self._function

    @property  # type: ignore[misc] # to `isinstance`, as jit functions do
    def __class__(self) -> type:
        return types.FunctionType

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if is_at_work():  # perhaps in the middle of importing the compiler, or in the trace of another function
            return self._function(*args, **kwargs)
        own = _Code.of(self._function.__code__)
        work = own.work(self._function, (*args, *kwargs.values()))
        before = Deferred.spent
        Deferred.spent += work
        is_loaded = Deferred.spent >= policy.LOADING or _COMPILER in sys.modules
        is_little = not is_loaded or own.spent + work < policy.COMPILED_INSTRUCTION * own.instructions
        if is_little and Deferred.depth < _DEEPEST:
            Deferred.depth += 1
            try:
                return self._function(*args, **kwargs)
            finally:
                Deferred.depth -= 1
                own.spent += Deferred.spent - before  # with the work of what it has called
        return self._become()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """What functions have, and else what jit functions have."""
        if hasattr(types.FunctionType, name):
            return getattr(self._function, name)
        if name.startswith("_") and not name.startswith("__jitrt_"):
            raise AttributeError(f"'function' object has no attribute {name!r}")
        return getattr(self._become(), name)

    def __repr__(self) -> str:
        return f"<jitrt.jit of {self._function!r}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._become().__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def _become(self) -> Any:
        """This object, as the jit function.

        It shares its state with one that is made first, so that threads find a whole one at any time.
        """
        with at_work():  # many are never called: none gets the compiler ready before its first call
            from ..jitfunction import JitFunction

            made: Any = JitFunction(self._function)
            self._words = made._words
            self.__dict__ = made.__dict__
            _CLASS.__set__(self, JitFunction)
        return self


def decorator() -> Callable[[Any], Any]:
    """What makes such functions, or jit functions at once where somebody asks for what these do."""
    if config.strict() or config.on_plain() != "ignore":
        from ..decorator import jit

        return jit
    return Deferred
