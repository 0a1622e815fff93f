"""Comparison of what jitrt gives with what NumPy gives: values bit for bit, dtypes, shapes and types."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import jitrt


def together(cases: dict[str, Callable[..., Any]], silent: bool = False) -> Callable[..., Any]:
    """One function that gives the results of all `cases` by name, so that one compile serves them all.

    Where NumPy warns of values the plain function runs, unless the function makes warnings `silent`.
    """
    names = [f"case{k}" for k in range(len(cases))]
    entries = ", ".join(f"{key!r}: {name}(*args)" for key, name in zip(cases, names))
    namespace: dict[str, Any] = dict(zip(names, cases.values()))
    text = f"def cases(*args):\n    return {{{entries}}}"
    if silent:
        namespace["warnings"] = warnings
        text = "def cases(*args):\n  with warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n" + text[18:]
    exec(text, namespace)
    return namespace["cases"]


def check(function: Callable[..., Any], *args: Any, **tolerance: Any) -> Any:
    """Assert that `function` compiles and gives what it gives as plain NumPy; return the explanation.

    Parameters
    ----------
    function : callable
        A plain function of `args`.
    tolerance
        As for `assert_same`.
    """
    compiled = jitrt.jit(function)
    with np.errstate(all="ignore"):
        expected = function(*args)
        explanation = compiled.explain(*args)
        assert not explanation.plain_reason, explanation.plain_reason
        for _ in range(2):  # the second call enters natively, and finds a used frame
            assert_same(compiled(*args), expected, **tolerance)
    return explanation


def _layout(array: Any) -> list[int]:
    """The strides in bytes that say where elements lie."""
    return [s for s, n in zip(array.strides, array.shape) if n > 1 and array.size]


def assert_same(
    got: Any,
    want: Any,
    *,
    ulp: float = 0,
    zeros: bool = True,
    path: str = "",
    relative: float = 0.0,
    least: float = 0.0,
) -> None:
    """Assert that two results are one: types, dtypes, shapes and bits. Any nan is as good as another.

    Parameters
    ----------
    ulp : float
        Units in the last place by which finite numbers may differ.
    zeros : bool
        Whether the sign of a zero matters.
    path : str
        Where in a nested result this is, for the message.
    least : float
        Magnitude whose last place counts for smaller numbers: where a result comes out of a cancellation.
    relative : float
        Difference that is allowed in units of the largest magnitude of the array: for sums that cancel.
    """
    assert type(got) is type(want), f"{path}: {type(got)} and not {type(want)}"
    options = {"ulp": ulp, "zeros": zeros, "relative": relative, "least": least}
    if isinstance(want, dict):
        assert got.keys() == want.keys()
        for key in want:
            assert_same(got[key], want[key], path=f"{path}.{key}", **options)
    elif isinstance(want, (tuple, list)):
        assert len(got) == len(want), path
        for k, (x, y) in enumerate(zip(got, want)):
            assert_same(x, y, path=f"{path}.{k}", **options)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert got.dtype == want.dtype, f"{path}: {got.dtype} and not {want.dtype}"
        assert got.shape == want.shape, f"{path}: shape {got.shape} and not {want.shape}"
        assert _layout(got) == _layout(want), f"{path}: strides {got.strides} and not {want.strides}"
        _assert_values(np.asarray(got), np.asarray(want), path, ulp, zeros, relative, least)
    elif isinstance(want, (float, complex)):
        _assert_values(np.asarray(got), np.asarray(want), path, ulp, zeros, relative, least)
    else:
        assert got == want, f"{path}: {got!r} and not {want!r}"


def _assert_values(
    got: np.ndarray, want: np.ndarray, path: str, ulp: float, zeros: bool, relative: float, least: float
) -> None:
    if want.dtype.kind == "c":
        _assert_values(got.real, want.real, f"{path}.real", ulp, zeros, relative, least)
        _assert_values(got.imag, want.imag, f"{path}.imag", ulp, zeros, relative, least)
        return
    if want.dtype.kind == "f":
        good = _close(got, want, ulp, zeros, relative, least)
    elif want.dtype.kind in "mM":
        good = got.view(np.int64) == want.view(np.int64)
    else:
        good = got == want
    if not np.all(good):
        bad = np.argwhere(~np.asarray(good))
        shown = [(tuple(map(int, k)), got[tuple(k)], want[tuple(k)]) for k in bad[:4]]
        raise AssertionError(f"{path}: {len(bad)} of {want.size} differ; (index, got, wanted): {shown}")


def _close(got: np.ndarray, want: np.ndarray, ulp: float, zeros: bool, relative: float, least: float) -> np.ndarray:
    same = got == want
    if zeros:
        same = same & (np.signbit(got) == np.signbit(want))
    same = same | (np.isnan(got) & np.isnan(want))
    finite = np.isfinite(got) & np.isfinite(want)
    with np.errstate(all="ignore"):
        distance = np.abs(got - want)
        if ulp:
            magnitude = np.maximum(np.abs(np.where(finite, want, 1)), want.dtype.type(least))
            same = same | (finite & (distance <= ulp * np.spacing(magnitude)))
        if relative and finite.any():
            same = same | (finite & (distance <= relative * np.max(np.abs(want), where=finite, initial=0)))
    return same
