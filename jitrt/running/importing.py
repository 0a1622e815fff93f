"""The import hook: modules of the user's own are compiled with their functions decorated.

A module is the user's own if its file is in the folder of the program, and in no folder of installed packages.
Processes that are started with ``spawn`` get the hook with what they are told first.
"""

from __future__ import annotations

import builtins
import functools
import importlib.machinery
import os
import runpy
import sys
import types
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..base.atwork import at_work, is_at_work
from ..base.syntax import syntax_tree
from . import deferred
from .choose import DECORATOR, decorate, left

_INSTALLED = ("site-packages", "dist-packages")
_MOST_MADE = 20  # of one function inside of another: each is traced on its own

_roots: list[str] = []
_made: Counter[types.CodeType] = Counter()


def install(root: str, measured: bool = False) -> None:
    """Compile functions of modules in a folder from now on.

    Parameters
    ----------
    root : str
        The folder.
    measured : bool
        Whether calls are counted and timed, for the report.
    """
    _roots.append(os.path.realpath(root))
    _may_hold_own.cache_clear()
    provide_decorator(measured)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def provide_decorator(measured: bool) -> None:
    """Let code that has the decorator find it; parameters as for `install`."""
    vars(builtins)[DECORATOR] = _decorator(measured)


def code_of(path: str, source: bytes) -> types.CodeType:
    """The code of a module of the user's own.

    Parameters
    ----------
    path : str
        Its file, for messages.
    source : bytes
        Its text.

    Raises
    ------
    SyntaxError
        If it is no Python.
    """
    tree = syntax_tree(source, path)
    left.extend((path, x) for x in decorate(tree))
    return compile(tree, path, "exec", dont_inherit=True)


def is_own(path: str) -> bool:
    """Whether a file is one of the user's own."""
    real = os.path.realpath(path)
    inside = [root for root in _roots if real.startswith(os.path.join(root, ""))]
    if not inside or real.startswith(_OTHERS):
        return False
    return not any(part in _INSTALLED for part in os.path.relpath(real, min(inside, key=len)).split(os.sep))


@functools.lru_cache
def _may_hold_own(folder: str) -> bool:
    """Whether modules that are found in a folder of the search path may be the user's own."""
    return is_own(os.path.join(folder, "module.py"))


def _folder_of(path: str, above: int) -> str:
    for _ in range(above):
        path = os.path.dirname(path)
    return os.path.join(os.path.realpath(path), "")


# Not asked of `sysconfig`, which imports what it knows, and would do so within the finder.
_OTHERS = _folder_of(__file__, 2), _folder_of(os.__file__, 1)


def _decorator(measured: bool) -> Callable[[Any], Any]:
    if measured:
        from .report import Measured

    def decorated(function: Any) -> Any:
        if type(function) is not types.FunctionType or is_at_work():  # inside of a trace, it is part of that
            return function
        _made[function.__code__] += 1
        if _made[function.__code__] > _MOST_MADE:
            return function
        with at_work():  # many are never called: none gets the compiler ready before its first call
            return Measured(function) if measured else deferred.decorator()(function)

    return decorated


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads from source always: compiled files in ``__pycache__`` are those of the module as it is."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        return code_of(path, self.get_data(path))


class _Finder:
    """Finds modules of the user's own; leaves all others to the finders behind it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.startswith("multiprocessing.popen_"):  # about to start a process
            _tell_children()
        searched = list(sys.path if path is None else path)
        own = [k for k, folder in enumerate(searched) if _may_hold_own(folder or os.getcwd())]
        if not own:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, searched[: own[-1] + 1], target)
        if (
            spec is None
            or type(spec.loader) is not importlib.machinery.SourceFileLoader
            or not is_own(spec.origin or "")
        ):
            return None
        spec.loader = _Loader(fullname, spec.origin or "")
        return spec


class _Told(str):
    """The name of a process; where it is unpickled, the hook is installed."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _install_in_child, (str(self), _roots)


def _tell_children() -> None:
    from multiprocessing import spawn

    original = spawn.get_preparation_data
    if getattr(original, "tells", False):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = original(name)
        return data | {"name": _Told(data["name"])} if _roots else data

    get_preparation_data.tells = True  # type: ignore[attr-defined]
    spawn.get_preparation_data = get_preparation_data


def _install_in_child(name: str, roots: list[str]) -> str:
    """Install the hook in a process that has just been started, and let it run its main module with it."""
    for root in roots:
        install(root)
    original = runpy.run_path

    def run_path(path_name: str, init_globals: Any = None, run_name: str | None = None) -> dict[str, Any]:
        path = path_name
        if run_name != "__mp_main__" or not is_own(path):
            return original(path, init_globals, run_name or "<run_path>")
        with open(path, "rb") as file:
            code = code_of(path, file.read())
        module = types.ModuleType(run_name)
        module.__file__ = path
        sys.modules[run_name] = module  # classes and functions are looked up in it
        exec(code, vars(module))
        return vars(module)

    runpy.run_path = run_path
    return name
