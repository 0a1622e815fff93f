"""Which combinations of a test's parameters are in the default runs; the others are slow."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

__all__ = ["few", "leave_for_slow_runs"]


def few(values, keep):
    """
    Return parameters of which the first ones are in the default runs and the others are slow.

    Parameters
    ----------
    values : iterable
        Values of one parameter of a test of which any finds the same mistakes: seeds, say.
    keep : int
        How many are in the default runs.

    Returns
    -------
    list
        What `pytest.mark.parametrize` takes.
    """
    return [value if k < keep else pytest.param(value, marks=pytest.mark.slow) for k, value in enumerate(values)]


def leave_for_slow_runs(items):
    """
    Mark as slow what a covering selection of the tests that are marked `wide` can do without.

    The selection has each value of each parameter: in ``wide(times=2)`` twice, in ``wide(pairs=True)`` with each
    value of the others, and in ``wide(kinds=True)`` with dtypes of each kind; of one parameter alone this is one dtype
    of each kind.

    Parameters
    ----------
    items : list of pytest.Item
        All tests that were collected.
    """
    tests = {}
    for item in items:
        if item.get_closest_marker("wide") is not None:
            tests.setdefault(item.nodeid.split("[")[0], []).append(item)
    for group in tests.values():
        chosen = covering([_combination(item) for item in group], **group[0].get_closest_marker("wide").kwargs)
        for k, item in enumerate(group):
            if k not in chosen:
                item.add_marker(pytest.mark.slow)


def covering(rows, *, pairs=False, kinds=False, times=1):
    """Return the indices of a selection of the rows, which are dicts from name to value, that covers them."""
    kind = {name: _kinds(row[name] for row in rows) if kinds else {} for name in rows[0]}
    wanted = [_covered(row, kind, pairs) for row in rows]
    chosen, used = set(), Counter()
    for _ in range(times):
        left = [k for k in range(len(rows)) if k not in chosen]
        missing = set().union(*(wanted[k] for k in left))
        while missing:
            left = [k for k in left if wanted[k] & missing]
            # Of those that cover as much, the one of whose values the fewest were chosen: all values take turns.
            best = max(left, key=lambda k: (len(wanted[k] & missing), -sum(used[v] for v in rows[k].items())))
            chosen.add(best)
            used.update(rows[best].items())
            missing -= wanted[best]
    return chosen


def _covered(row, kind, pairs):
    """Return what one row covers: values and pairs of them."""
    of = {name: kind[name].get(value, value) for name, value in row.items()}
    covered = set(row.items() if len(row) > 1 else of.items())
    for a, b in combinations(row, 2):
        if pairs or kind[a] or kind[b]:
            covered.add((a, of[a], b, of[b]))
    return covered


def _combination(item):
    return {name: _key(value) for name, value in item.callspec.params.items()}


def _key(value):
    """Return what is equal for equal values; most objects are equal to themselves only."""
    if isinstance(value, str | int | float | complex | np.generic | np.dtype | type) or value is None:
        return value if isinstance(value, np.dtype | type) else (type(value), str(value))
    return tuple(map(_key, value)) if isinstance(value, tuple) else id(value)


def _kinds(keys):
    """Return the kind of each dtype among values of a parameter that are all dtypes, and otherwise nothing."""
    kinds = {}
    for key in keys:
        try:
            dtype = np.dtype(key[1] if isinstance(key, tuple) and key[0] is str else key)
        except (TypeError, ValueError, IndexError):
            return {}
        if dtype.kind in "iu":
            kinds[key] = dtype.name if dtype.itemsize == 8 else "narrow integers"
        else:
            kinds[key] = dtype.name if dtype.itemsize < 8 else dtype.kind
    return kinds
