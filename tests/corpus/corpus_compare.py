"""Comparison of two outcomes: types, dtypes, shapes and memory alike, values up to rounding."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def assert_agree(got: Any, want: Any, tolerance: float, path: str) -> None:
    """Assert that two values are the same kind of thing with the same values.

    Parameters
    ----------
    tolerance : float
        Rounding errors that may differ, in units of the last place of the largest magnitude of an array.
    path : str
        What is compared, for the message.
    """
    assert type(got) is type(want), f"{path}: {type(got)} and not {type(want)} ({got!r}, {want!r})"
    if isinstance(want, dict):
        assert list(got) == list(want), path
        for key in want:
            assert_agree(got[key], want[key], tolerance, f"{path}.{key}")
    elif isinstance(want, (tuple, list)):
        assert len(got) == len(want), path
        for k, (x, y) in enumerate(zip(got, want)):
            assert_agree(x, y, tolerance, f"{path}.{k}")
    elif is_dataclass(want):
        for field in fields(want):
            assert_agree(getattr(got, field.name), getattr(want, field.name), tolerance, f"{path}.{field.name}")
    elif isinstance(want, np.ma.MaskedArray):
        assert_agree(np.ma.getmaskarray(got), np.ma.getmaskarray(want), tolerance, f"{path}.mask")
        assert_agree(got.filled(0), want.filled(0), tolerance, path)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert got.dtype == want.dtype, f"{path}: {got.dtype} and not {want.dtype}"
        assert got.shape == want.shape, f"{path}: shape {got.shape} and not {want.shape}"
        if isinstance(want, np.ndarray):
            assert got.flags.writeable == want.flags.writeable, f"{path}: writeable is {got.flags.writeable}"
            if want.size:
                used = [k for k, n in enumerate(want.shape) if n > 1]
                orders = [[a.strides[k] for k in used] for a in (got, want)]
                assert orders[0] == orders[1], f"{path}: strides {got.strides} and not {want.strides}"
        _assert_close(np.asarray(got), np.asarray(want), tolerance, path)
    elif isinstance(want, (float, complex)):
        _assert_close(np.asarray(got), np.asarray(want), tolerance, path)
    elif isinstance(want, np.random.Generator):
        assert got.bit_generator.state == want.bit_generator.state, f"{path}: other numbers were drawn"
    else:
        assert got == want, f"{path}: {got!r} and not {want!r}"


def _assert_close(got: np.ndarray, want: np.ndarray, tolerance: float, path: str) -> None:
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want, path)
        return
    finite = np.isfinite(want)
    scale = np.max(np.abs(want), where=finite, initial=0.0)
    bound = tolerance * float(np.finfo(want.dtype).eps) * float(scale)
    np.testing.assert_allclose(got, want, rtol=0, atol=bound, err_msg=path)


def shared_memory(*values: Any) -> list[tuple[int, int, Any]]:
    """Pairs of arrays in nested values that share memory: whether they are one object, else how many bytes apart."""
    arrays: list[np.ndarray] = []
    _collect(values, arrays, set())
    pairs = ((i, j, arrays[i], arrays[j]) for j in range(len(arrays)) for i in range(j))
    return [(i, j, "is" if a is b else _address(a) - _address(b)) for i, j, a, b in pairs if np.may_share_memory(a, b)]


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0] if array.size else 0


def _collect(value: Any, arrays: list[np.ndarray], seen: set[int]) -> None:
    """Add the arrays in nested tuples, lists, dicts and objects, each of these once."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    parts = value if isinstance(value, (tuple, list)) else value.values() if isinstance(value, dict) else ()
    for part in (*parts, *getattr(value, "__dict__", {}).values()):
        _collect(part, arrays, seen)
