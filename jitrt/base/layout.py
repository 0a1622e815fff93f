"""The memory of callable objects that native code may serve, now or later."""

from __future__ import annotations

from typing import Any


class Callable:
    """An object with room for the words that native code reads.

    A class that is cheap to import makes objects of it, which become those of another class when that pays.
    """

    __slots__ = ("__dict__", "__weakref__", "_words")

    _words: Any
