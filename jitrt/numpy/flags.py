"""Flags of lazy arrays: what is read is NumPy's, and what is set holds for one array and its later views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .array import ndarray


class Flags:
    """`numpy.ndarray.flags` of a lazy array.

    Parameters
    ----------
    array : ndarray
    """

    __slots__ = ("_array",)

    def __init__(self, array: ndarray):
        object.__setattr__(self, "_array", array)

    @property
    def _numpys(self) -> Any:
        return self._array._handed_out().flags

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpys, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._array._apart().flags, name, value)

    def __getitem__(self, name: str) -> Any:
        return self._numpys[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._array._apart().flags[name] = value

    def __eq__(self, other: object) -> bool:
        return bool(self._numpys == (other._numpys if isinstance(other, Flags) else other))

    __hash__ = None  # type: ignore[assignment] # as NumPy's

    def __repr__(self) -> str:
        return repr(self._numpys)
