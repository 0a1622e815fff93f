"""What is done when another package is imported, now or later, without importing it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any


def when_imported(name: str, action: Callable[[], None]) -> None:
    """Call `action` once the module `name` has been imported; at once if it has been.

    Parameters
    ----------
    name : str
    action : callable
    """
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Waiting(name, action))


class _Waiting:
    """A finder that leaves all modules to others, and the loading of one to theirs with an action behind it."""

    def __init__(self, name: str, action: Callable[[], None]):
        self._name, self._action = name, action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._name:
            return None
        from importlib.util import find_spec

        with contextlib.suppress(ValueError):  # another thread imports it, too
            sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:  # it may be installed later
            sys.meta_path.insert(0, self)
        else:
            spec.loader = _Loader(spec.loader, self._action)  # type: ignore[assignment]
        return spec


class _Loader:
    """A loader that does something behind another one."""

    def __init__(self, loader: Any, action: Callable[[], None]):
        self._loader, self._action = loader, action

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._action()
