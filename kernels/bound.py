"""Symbols that kernels use for what this process has, defined when code first asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import llvmlite.binding as llvm


class BoundSymbols:
    """The symbols of a library: a prefix of ours, and a name in the library.

    Parameters
    ----------
    prefix : str
        With which all of them begin.
    address : callable
        From a name to the address that its symbol is to have; None if kernels cannot use what has that name.
    """

    def __init__(self, prefix: str, address: Callable[[str], int | None]):
        self._prefix, self._address = prefix, address
        self._bound: dict[str, bool] = {}

    def symbol(self, name: str) -> str | None:
        """The symbol of a name, which is defined; None if there is none."""
        found = self._prefix + name
        return found if self.bind([found]) else None

    def bind(self, symbols: Iterable[str]) -> bool:
        """Define those of `symbols` that are of this library; whether all of them could be defined."""
        found = [self._bind(s) for s in symbols if s.startswith(self._prefix)]
        return all(found)

    def _bind(self, symbol: str) -> bool:
        if symbol not in self._bound:
            address = self._address(symbol.removeprefix(self._prefix))
            if address is not None:
                llvm.add_symbol(symbol, address)
            self._bound[symbol] = address is not None
        return self._bound[symbol]
