"""The namespace of the Python array API standard: `jitrt.numpy`, with arrays in place of NumPy's scalars.

``x.__array_namespace__()`` gives it. The standard knows no scalars: a sum over all axes is an array without axes.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jitrt.numpy as _numpy

from .calls import lazy
from .direct import keep_small_lazy


def _arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with arrays without axes in place of scalars among its results."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return lazy(function(*args, **kwargs))

    return wrapper


def _contents(module: Any) -> dict[str, Any]:
    names = [name for name in dir(module) if not name.startswith("_")]
    values = {name: getattr(module, name) for name in names}
    return {name: _arrays(v) if _may_give_scalars(v) else v for name, v in values.items()}


def _may_give_scalars(value: Any) -> bool:
    """Whether it is a function; ufuncs give arrays for arrays without axes, but for those of whole rows (`vecdot`)."""
    return isinstance(value, types.FunctionType) or getattr(value, "signature", None) is not None


keep_small_lazy()
globals().update(_contents(_numpy))
linalg = SimpleNamespace(**_contents(_numpy.linalg))
fft = SimpleNamespace(**_contents(_numpy.fft))
__array_api_version__ = _numpy.__array_api_version__
__array_namespace_info__ = _numpy.__array_namespace_info__
