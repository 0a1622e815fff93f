"""Functions of Python's library that change lists, in plain Python: heaps, places in sorted lists, insertion.

Comparisons are those of Python's C code, in the same order.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable
from typing import Any

import numpy as np


def insert(values: Any, at: Any, value: Any) -> None:
    """``values.insert(at, value)``."""
    n = len(values)
    if at < 0:
        at = max(at + n, 0)
    values.append(value)
    for k in range(n, at, -1):
        values[k] = values[k - 1]
    values[min(at, n)] = value


def tolist(array: Any) -> Any:
    """``array.tolist()``."""
    assert 1 <= array.ndim <= 2
    if array.ndim == 2:
        return [[value.item() for value in row] for row in array]
    return [value.item() for value in array]


def pop_at(values: Any, at: Any) -> Any:
    """``values.pop(at)``."""
    n = len(values)
    if at < 0:
        at += n
    assert 0 <= at < n
    value = values[at]
    for k in range(at, n - 1):
        values[k] = values[k + 1]
    values.pop()
    return value


def reverse(values: Any) -> None:
    """``values.reverse()``."""
    n = len(values)
    for k in range(n // 2):
        value = values[k]
        values[k] = values[n - 1 - k]
        values[n - 1 - k] = value


def _bound(at: Any, default: Any, n: Any) -> Any:
    """Where a slice begins or ends, in a list of length `n`."""
    if at is None:
        return default
    if at < 0:
        return max(at + n, 0)
    return min(at, n)


def set_part(values: Any, first: Any, last: Any, others: Any) -> None:
    """``values[first:last] = others``, which are elements of another list."""
    n = len(values)
    first = _bound(first, 0, n)
    last = max(_bound(last, n, n), first)
    count = len(others)
    more = count - (last - first)
    if more > 0:
        for _ in range(more):
            values.append(others[0])
        for k in range(n - 1, last - 1, -1):
            values[k + more] = values[k]
    elif more < 0:
        for k in range(last, n):
            values[k + more] = values[k]
        for _ in range(-more):
            values.pop()
    for k in range(count):
        values[first + k] = others[k]


def delete_part(values: Any, first: Any, last: Any) -> None:
    """``del values[first:last]``."""
    n = len(values)
    first = _bound(first, 0, n)
    last = max(_bound(last, n, n), first)
    for k in range(last, n):
        values[k - last + first] = values[k]
    for _ in range(last - first):
        values.pop()


def sorted_list(values: Any, key: Any = None, reverse: Any = False) -> Any:
    """``sorted(values)``: by merging, which keeps the order of what is equal, as Python does."""
    ranks = values if key is None else [key(v) for v in values]
    n = len(values)
    for k in range(n):
        rank = ranks[k]
        assert rank in (rank,)  # no nan: it has no place in an order
    order = np.arange(n)
    merged = np.arange(n)
    width = 1
    while width < n:
        first = 0
        while first < n:
            middle = min(first + width, n)
            last = min(middle + width, n)
            left = first
            right = middle
            for k in range(first, last):
                takes_left = right >= last
                if left < middle and right < last:
                    x = ranks[order[left]]
                    y = ranks[order[right]]
                    if reverse:
                        takes_left = not x < y
                    else:
                        takes_left = not y < x
                if takes_left:
                    merged[k] = order[left]
                    left += 1
                else:
                    merged[k] = order[right]
                    right += 1
            first = last
        order[:] = merged
        width = 2 * width
    return [values[k] for k in order]


def sort(values: Any, *, key: Any = None, reverse: Any = False) -> None:
    """``values.sort()``."""
    made = sorted_list(values, key, reverse)
    for k in range(len(made)):
        values[k] = made[k]


def _rise(heap: Any, first: Any, at: Any) -> None:
    item = heap[at]
    while at > first:
        above = (at - 1) >> 1
        if not item < heap[above]:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = item


def _sink(heap: Any, at: Any) -> None:
    n = len(heap)
    first = at
    item = heap[at]
    below = 2 * at + 1
    while below < n:
        if below + 1 < n and not heap[below] < heap[below + 1]:
            below += 1
        heap[at] = heap[below]
        at = below
        below = 2 * at + 1
    heap[at] = item
    _rise(heap, first, at)


def _heappush(heap: Any, item: Any) -> None:
    assert isinstance(heap, list)
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


def _heappop(heap: Any) -> Any:
    assert isinstance(heap, list)
    item = heap.pop()
    if len(heap) > 0:
        return _heapreplace(heap, item)
    return item


def _heapreplace(heap: Any, item: Any) -> Any:
    assert isinstance(heap, list)
    first = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return first


def _heappushpop(heap: Any, item: Any) -> Any:
    assert isinstance(heap, list)
    if len(heap) > 0 and heap[0] < item:
        return _heapreplace(heap, item)
    return item


def _heapify(heap: Any) -> None:
    assert isinstance(heap, list)
    for at in range(len(heap) // 2 - 1, -1, -1):
        _sink(heap, at)


def _bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None) -> Any:
    assert lo >= 0
    last = len(a) if hi is None else hi
    while lo < last:
        middle = (lo + last) // 2
        if x < a[middle]:
            last = middle
        else:
            lo = middle + 1
    return lo


def _bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None) -> Any:
    assert lo >= 0
    last = len(a) if hi is None else hi
    while lo < last:
        middle = (lo + last) // 2
        if a[middle] < x:
            lo = middle + 1
        else:
            last = middle
    return lo


def _insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None) -> None:
    insert(a, _bisect_right(a, x, lo, hi), x)


def _insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None) -> None:
    insert(a, _bisect_left(a, x, lo, hi), x)


def _extreme(values: Any, key: Any, is_largest: Any) -> Any:
    """The first element whose rank no other one exceeds, or falls below."""
    assert len(values) > 0
    best = values[0]
    rank = key(best)
    for value in values[1:]:
        other = key(value)
        if (other > rank) if is_largest else (other < rank):
            best = value
            rank = other
    return best


def _largest(values: Any, key: Any) -> Any:
    """``max(values, key=key)``."""
    return _extreme(values, key, True)


def _smallest(values: Any, key: Any) -> Any:
    """``min(values, key=key)``."""
    return _extreme(values, key, False)


BY_KEY: dict[Any, Callable[..., Any]] = {max: _largest, min: _smallest}
LISTS: dict[Any, Callable[..., Any]] = {
    sorted: sorted_list,
    heapq.heappush: _heappush,
    heapq.heappop: _heappop,
    heapq.heapreplace: _heapreplace,
    heapq.heappushpop: _heappushpop,
    heapq.heapify: _heapify,
    bisect.bisect_right: _bisect_right,
    bisect.bisect_left: _bisect_left,
    bisect.insort_right: _insort_right,
    bisect.insort_left: _insort_left,
}
