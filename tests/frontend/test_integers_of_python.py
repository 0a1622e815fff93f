"""Integers that vary from call to call, given to what Python has for integers: it may take none but its own."""

import array
import bisect
import collections
import copy
import datetime
import decimal
import fractions
import functools
import heapq
import itertools
import json
import math
import random
import struct

import numpy as np
import pytest

import jitrt

USES = {
    "deque": lambda x, w: [*collections.deque([1, 2, 3, 4], maxlen=w), x.sum()],
    "copy": lambda x, w: x * copy.copy(w) + copy.deepcopy([w, [w]])[1][0],
    "islice": lambda x, w: x * sum(itertools.islice([1, 2, 3, 4], w)),
    "repeat": lambda x, w: x * sum(itertools.repeat(2, w)),
    "comb": lambda x, w: x * math.comb(9, w),
    "rotate": lambda x, w: (lambda d: (d.rotate(w), x * d[0])[1])(collections.deque([1, 2, 3, 4, 5])),
    "array": lambda x, w: x * array.array("i", [w])[0],
    "pack": lambda x, w: x * struct.unpack("i", struct.pack("i", w))[0],
    "bytes": lambda x, w: x * len(bytes(w)),
    "ljust": lambda x, w: x * len("a".ljust(w)),
    "chr": lambda x, w: x * len(chr(w)),
    "hex": lambda x, w: x * len(hex(w)),
    "bin": lambda x, w: x * bin(w).count("1"),
    "bit_length": lambda x, w: x * w.bit_length(),
    "to_bytes": lambda x, w: x * w.to_bytes(4, "little")[0],
    "list": lambda x, w: x * len([0] * w),
    "str": lambda x, w: x * len("ab" * w),
    "slice": lambda x, w: x * len([1, 2, 3, 4, 5, 6][:w]),
    "insert": lambda x, w: (lambda d: (d.insert(w, 9), x * d[1])[1])([1, 2, 3, 4, 5]),
    "pop": lambda x, w: x * [1, 2, 3, 4, 5, 6, 7, 8, 9].pop(w),
    "isqrt": lambda x, w: x * math.isqrt(w),
    "gcd": lambda x, w: x * math.gcd(w, 6),
    "factorial": lambda x, w: x * math.factorial(w),
    "perm": lambda x, w: x * len(list(itertools.permutations(range(4), w))),
    "batched": lambda x, w: x * len(list(itertools.combinations(range(5), w))),
    "round": lambda x, w: x * round(3.14159, w),
    "format": lambda x, w: x * len(f"{3.14159:.{w}f}"),
    "percent": lambda x, w: x * len("%*d" % (w, 3)),  # noqa: UP031
    "pow3": lambda x, w: x * pow(3, w, 7),
    "int base": lambda x, w: x * int("11", w + 2),
    "complex": lambda x, w: x * complex(w, 1).real,
    "divmod": lambda x, w: x * divmod(17, w)[1],
    "bool": lambda x, w: x * bool(w),
    "dict": lambda x, w: x * {1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8}[w],
    "in": lambda x, w: x * (w in {1, 2, 3}),
    "enumerate": lambda x, w: x * list(enumerate("ab", w))[1][0],
    "count": lambda x, w: x * next(itertools.count(w)),
    "nlargest": lambda x, w: x * sum(heapq.nlargest(w, [3, 1, 2])),
    "random": lambda x, w: x * random.Random(w).random(),
    "date": lambda x, w: x * datetime.date(2020, 1, w).day,
    "td": lambda x, w: x * datetime.timedelta(days=w).days,
    "frac": lambda x, w: x * float(fractions.Fraction(w, 3)),
    "dec": lambda x, w: x * float(decimal.Decimal(w)),
    "range": lambda x, w: x * len(range(w)),
    "hash": lambda x, w: x * (hash(w) % 5),
    "memory": lambda x, w: x * bytearray(w + 1)[w],
    "sorted": lambda x, w: x * sorted([3, w, 1])[1],
    "cmp": lambda x, w: x * (w == 3),
    "isinst": lambda x, w: x * isinstance(w, int),
    "strs": lambda x, w: x * int(str(w)),
    "json": lambda x, w: x * len(json.dumps([w])),
    "lst.index": lambda x, w: x * [1, 2, 3, 4, 5, 6, 7].index(w),
    "sum": lambda x, w: x * sum([w, w], w),
    "max": lambda x, w: x * max(w, 3),
    "any": lambda x, w: x * any([w > 3]),
    "zip": lambda x, w: x * sum(a * b for a, b in zip([w, 1], [1, w])),
    "reduce": lambda x, w: x * functools.reduce(lambda a, b: a * b, [w, 2, w]),
    "nditer": lambda x, w: x * np.zeros(w).size,
    "np.int64": lambda x, w: x * np.int64(w),
    "shift": lambda x, w: x * (1 << w),
    "bits": lambda x, w: x * (w & 3 | 4 ^ w),
    "fl": lambda x, w: x * (w // 2 % 3),
    "pw": lambda x, w: x * 2**w,
    "sl2": lambda x, w: x[w % 3 :: w],
    "named": lambda x, w: x * collections.namedtuple("A", "b")(w).b,
    "counter": lambda x, w: x * collections.Counter([w, 1, w])[1],
    "od": lambda x, w: x * collections.OrderedDict([(1, w)])[1],
    "eval": lambda x, w: x * (lambda q: q + 1)(w),
    "str fmt": lambda x, w: x * len(f"{w:d}"),
    "str fmt2": lambda x, w: x * len("{:>{}}".format("a", w)),
    "math.sqrt": lambda x, w: x * math.sqrt(w),
    "math.floor": lambda x, w: x * math.floor(w / 2),
    "bisect": lambda x, w: x * bisect.bisect([1, 2, 3, 4], w),
    "accumulate": lambda x, w: x * list(itertools.accumulate([w, w, 1]))[2],
    "array2": lambda x, w: x * np.array([w, 1, w])[0],
    "ldexp": lambda x, w: x * math.ldexp(1.5, w),
    "prod": lambda x, w: x * math.prod([w, 2]),
    "as_int": lambda x, w: x * w.as_integer_ratio()[0],
    "conj": lambda x, w: x * (w.real + w.imag + w.conjugate()),
}


@pytest.mark.parametrize("name", USES)
def test_integers_that_vary(name):
    function = USES[name]
    fast = jitrt.jit(function)
    for k in range(12):
        x, w = np.arange(6.0) + k, k * 5 % 7 + 1
        np.testing.assert_array_equal(fast(x, w), function(x, w))


def test_their_errors_are_the_users():
    def function(x, w):
        return x * collections.deque([w], maxlen=w + 0.5)[0]

    fast = jitrt.jit(function)
    for w in range(1, 9):
        with pytest.raises(TypeError, match="integer"):
            fast(np.arange(3.0), w)


def compared(a, b):
    return a == b, a < b, b > a, a != b


def lengths(a, b):
    return len(range(a, b)), sum(range(a, b)), a + b


@pytest.mark.parametrize("function", [compared, lengths], ids=lambda f: f.__name__)
def test_integers_that_no_float_holds(function):
    fast = jitrt.jit(function)
    calls = [(1, 2.0), (10**400, 1.0), (-(10**400), 1.0), (1.5, 10**400), (2, 3.0)]
    for a, b in [*(calls if function is compared else [(2**63, 2**63 + 3), (1, 3)])] * 5:
        assert fast(a, b) == function(a, b)
