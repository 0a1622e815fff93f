"""Equal signatures, a match of native code, and being served by the same specialisation are one, in random calls.

Values that are compared are the same objects here: native code compares them by identity, and asks Python otherwise.
"""

import collections
import dataclasses
import random
import types

import numpy as np
import pytest
from covering import few

import jitrt

Pair = collections.namedtuple("Pair", "first second")


class Holder:
    """An object with attributes."""

    def __init__(self, x, n):
        self.x, self.n = x, n


@dataclasses.dataclass
class Record:
    """An object of another class with the same attributes."""

    x: object
    n: object


class Slotted:
    """An object with slots."""

    __slots__ = ("n", "x")

    def __init__(self, x, n):
        self.x, self.n = x, n


def closure(x, n):
    """A function that has closed over one value, and has another one as a default."""
    return lambda n=n: (x, n)


def grouped(items):
    """A dict that makes lists for what is missing."""
    return collections.defaultdict(list, items)


def proxy(items):
    """A dict that nobody can change."""
    return types.MappingProxyType(dict(items))


def arrays(rng):
    """An array: of some dtype, shape, strides and flags."""
    dtype = rng.choice(["f8", "f8", "f8", "f4", "i8", "?", ">f8", "c16"])
    shape = rng.choice([(4,), (4,), (3,), (2, 4), (4, 2), (0,), (), (1,)])
    value = np.ones(shape, dtype)
    change = rng.choice(["", "", "", "turned", "spread", "read-only", "unaligned", "reversed"])
    if change == "turned":
        value = value.T
    elif change == "spread" and value.ndim:
        value = np.repeat(value, 2, axis=0)[::2]
    elif change == "reversed" and value.ndim:
        value = value[::-1]
    elif change == "read-only":
        value.flags.writeable = False
    elif change == "unaligned":
        memory = np.zeros(value.nbytes + 1, np.uint8)[1:].view(value.dtype).reshape(value.shape)
        memory[...] = value
        value = memory
    return value


NUMBERS = [1, 2, True, False, 1.0, 2.5, 1j, np.float64(2), np.float32(2), np.int64(1), np.bool_(True), None, "a", "b"]
OTHERS = [
    slice(0, 1), slice(False, True), slice(None, 1), range(0), range(1, 1), range(3), Ellipsis, np.dtype("f4"), float,
    int, np.add, b"a", np.datetime64("2020-01-01"),
]  # fmt: skip


def values(rng, depth=0):
    """An argument: an array, a number, something that is compared, or a container of these."""
    kind = rng.random()
    if kind < 0.4:
        return arrays(rng)
    if kind < 0.6 or depth > 2:
        return rng.choice(NUMBERS)
    if kind < 0.68:
        return rng.choice(OTHERS)
    parts = [values(rng, depth + 1) for _ in range(rng.choice([1, 2, 2, 3]))]
    if kind < 0.76:
        return tuple(parts)
    if kind < 0.84:
        return parts if rng.random() < 0.8 else [parts[0], parts[0]]
    if kind < 0.92:
        keys = rng.choice([["a", "b", "c"], ["b", "a", "c"], [1, "a", 2], [True, "a", 2], [1.0, "a", 2]])
        return rng.choice([dict, dict, dict, collections.OrderedDict, grouped, proxy])(zip(keys, parts))
    made = rng.choice([Holder, Record, Slotted, Pair, closure])
    return made(parts[0], parts[-1])


def changed(rng, value, depth=0):
    """A value that is like another one, or differs from it in one place."""
    if rng.random() < 0.15:
        return values(rng, depth)
    if isinstance(value, np.ndarray):
        if rng.random() < 0.7:
            ordinary = value.flags.c_contiguous and value.flags.aligned and value.flags.writeable
            return value.copy() if ordinary else value
        return arrays(rng)
    if type(value) in (tuple, list):
        return type(value)(changed(rng, v, depth + 1) for v in value)
    if isinstance(value, (dict, types.MappingProxyType)):
        made = {collections.defaultdict: grouped, types.MappingProxyType: proxy}.get(type(value), type(value))
        return made((k, changed(rng, v, depth + 1)) for k, v in value.items())
    if type(value) is Pair:
        return Pair(*(changed(rng, v, depth + 1) for v in value))
    if isinstance(value, (Holder, Record, Slotted)):
        return type(value)(changed(rng, value.x, depth + 1), changed(rng, value.n, depth + 1))
    if type(value) is types.FunctionType:
        return closure(changed(rng, value()[0], depth + 1), changed(rng, value()[1], depth + 1))
    return value if rng.random() < 0.6 else rng.choice(NUMBERS + OTHERS)


def function(*args, **kwargs):
    """Looks into nothing, so that whatever the arguments are, calls are compiled."""
    return np.ones(3) * 2 + 1


def signature(fast, args, kwargs):
    """The signature of a call, as Python finds it."""
    known, leaves = fast._specialisations, []
    structure = known.take_apart(args, kwargs, leaves)
    structure = known.take_all_apart(args, kwargs, leaves, structure)
    return known.signature(leaves, structure)


@pytest.mark.usefixtures("without_templates")  # which serve signatures that are not equal
@pytest.mark.parametrize("block", few(range(8), 2))
def test_native_code_matches_what_has_an_equal_signature(block):
    rng = random.Random(block)
    outcomes = collections.Counter()
    for _ in range(120):
        args = tuple(values(rng) for _ in range(rng.choice([0, 1, 2, 3])))
        kwargs = {name: values(rng) for name in rng.sample("pqr", rng.choice([0, 0, 1, 2]))}
        fast = jitrt.jit(function)
        fast(*args, **kwargs)
        if not fast.cache_info().tables:
            outcomes["none"] += 1  # objects that native code does not take apart
            continue
        first = signature(fast, args, kwargs)
        for _ in range(6):
            others = tuple(changed(rng, v) for v in args)
            names = list(kwargs.items()) if rng.random() < 0.9 else list(kwargs.items())[::-1]
            named = {name: changed(rng, v) for name, v in names}
            equal = signature(fast, others, named) == first
            before = fast.cache_info().slow_calls
            owner = fast._specialisations._known.get(signature(fast, others, named))
            fast(*others, **named)
            matched = fast.cache_info().slow_calls == before
            known = fast._dispatch.last() is not None
            assert matched == known
            if matched:  # by the table of an equal signature
                assert fast._dispatch.last() is owner, (args, kwargs, others, named)
            if equal:
                assert matched, (args, kwargs, others, named)
            outcomes[equal] += 1
    assert outcomes[True] > 100 and outcomes[False] > 100


@pytest.mark.parametrize(
    "one, other",
    [
        ({1: 2.0}, {True: 2.0}),
        ({1: 2.0}, {1.0: 2.0}),
        ({(1, 2): 2.0}, {(True, 2): 2.0}),
        ({0.0: 2.0}, {-0.0: 2.0}),
        (range(0), range(1, 1)),
        (slice(0, 1), slice(False, True)),
        (slice(1, None), slice(np.int64(1), None)),
    ],
)
def test_what_is_equal_but_not_the_same(one, other):
    def shows(x, value):
        if isinstance(value, dict):
            return x + 1, list(value)
        return x + 1, [value.start, value.stop]

    fast = jitrt.jit(shows)
    x = np.ones(3)
    for value in (one, other, one, other):
        (_, got), (_, want) = fast(x, value), shows(x, value)
        assert list(map(repr, got)) == list(map(repr, want))


def written(x, y, z):
    """Writes into its first argument, which others may see."""
    x[1:] = x[:-1] * 0.5 + y[1:]
    return x.sum() + z


def views(rng):
    """Three arrays of one shape, in memory of their own or in one that they share, in part or one as the other."""
    memory = np.arange(32.0)
    places = [memory[:8], memory[:8], memory[4:12], memory[8:16], memory[:16:2], memory[1:17:2], memory[16:24], None]
    return [np.arange(8.0) if (found := rng.choice(places)) is None else found for _ in range(3)]


def copies(arrays):
    """The same with memory of their own, which they share in the same way."""
    memories = {id(base): base.copy() for a in arrays if (base := a.base) is not None}
    return [a.copy() if a.base is None else elsewhere(a, memories[id(a.base)]) for a in arrays]


def elsewhere(array, memory):
    first = (array.ctypes.data - array.base.ctypes.data) // array.itemsize
    step = array.strides[0] // array.itemsize
    return memory[first : first + step * (len(array) - 1) + 1 : step]


def layout_apart(arrays):
    """What tells calls apart that have the written array for themselves; None for others."""
    is_apart = not any(np.may_share_memory(arrays[0], a) for a in arrays[1:])
    return tuple(a.strides for a in arrays) if is_apart else None


@pytest.mark.parametrize("block", range(4))
def test_native_code_tells_apart_which_arguments_share_memory(block):
    rng, outcomes = random.Random(block), collections.Counter()
    for _ in range(40):
        fast, known = jitrt.jit(written), set()
        for _ in range(7):
            args = views(rng)
            got, want, layout = copies(args), copies(args), layout_apart(args)
            before = fast.cache_info().slow_calls
            result = fast(*got)
            matched = fast.cache_info().slow_calls == before
            np.testing.assert_allclose(result, written(*want))
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a, b)
            assert matched == (layout in known), args
            known |= {layout} - {None}
            outcomes[layout is None, matched] += 1
    assert min(outcomes[False, True], outcomes[False, False], outcomes[True, False]) > 20
