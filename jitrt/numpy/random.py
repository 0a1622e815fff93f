"""NumPy's random numbers as lazy arrays (`numpy.random`): drawn at once, since their order is what a seed promises."""

from __future__ import annotations

from typing import Any

import numpy as np

from .calls import eager, unless_small
from .namespace import contents, of_values

_WRITING = frozenset({"shuffle"})


def _method(name: str) -> Any:
    drawn = getattr(np.random.Generator, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        targets = args[:1] if name in _WRITING else () if out is None else (out,)
        made = unless_small(eager(lambda *given, **named: drawn(self, *given, **named), args, kwargs, targets))
        return made if out is None else out

    method.__name__, method.__doc__ = name, f"`numpy.random.Generator.{name}`, with lazy arrays for NumPy's."
    return method


class Generator(np.random.Generator):
    """`numpy.random.Generator`, whose draws are lazy arrays."""


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and callable(getattr(np.random.Generator, _name)) and _name not in ("spawn",):
        setattr(Generator, _name, _method(_name))


def default_rng(seed: Any = None) -> Generator:
    """`numpy.random.default_rng`, whose draws are lazy arrays.

    Parameters
    ----------
    seed : optional
        As for NumPy's function.

    Returns
    -------
    Generator

    Examples
    --------
    >>> import numpy
    >>> import jitrt.numpy as np
    >>> np.random.default_rng(3).random() == numpy.random.default_rng(3).random()
    True
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(np.random.default_rng(seed).bit_generator)


globals().update({k: v for k, v in contents(np.random, of_values).items() if k not in ("Generator", "default_rng")})
__all__ = list(np.random.__all__)
