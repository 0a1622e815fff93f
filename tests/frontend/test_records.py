"""Structured arrays and record arrays: their fields, read and written, as NumPy has them."""

import itertools

import numpy as np
import pytest

import jitrt

PACKED = np.dtype([("flag", "i1"), ("mass", "f4"), ("pos", "f8", 3), ("v", "f8")])
ALIGNED = np.dtype([("flag", "i1"), ("mass", "f4"), ("pos", "f8", 3), ("v", "f8")], align=True)
SWAPPED = PACKED.newbyteorder(">")
GAPS = np.dtype(
    {"names": ["v", "flag", "mass", "pos"], "formats": ["f8", "i1", "f4", "3f8"], "offsets": [40, 3, 8, 12]}
)
NESTED = np.dtype([("v", "f8"), ("inner", [("mass", "f4"), ("flag", "i1")]), ("pos", "3f8")])
DTYPES = {"packed": PACKED, "aligned": ALIGNED, "swapped": SWAPPED, "gaps": GAPS}


def filled(dtype, n=50, seed=1):
    rng = np.random.default_rng(seed)
    p = np.zeros(n, dtype)
    p["v"], p["pos"] = rng.normal(size=n), rng.normal(size=(n, 3))
    inner = p["inner"] if "inner" in dtype.names else p
    inner["mass"], inner["flag"] = rng.uniform(1, 2, n), rng.integers(-1, 2, n)
    return p


def straight(p):
    return p


def reversed_(p):
    return p[::-1]


def every_other(p):
    return np.repeat(p, 2)[::2]


def records(p):
    return p.view(np.recarray)


def anywhere(p):
    made = np.empty(p.nbytes + 1, np.uint8)[1:].view(p.dtype)
    made[...] = p
    return made


FORMS = [straight, reversed_, every_other, records, anywhere]


def energy(p):
    return (0.5 * p["mass"] * p["v"] ** 2).sum(), p["pos"].max(axis=0)


def norms(p):
    return np.sqrt((p["pos"] ** 2).sum(axis=1)) + p["v"], len(p), p.shape, p.size, p.ndim


def chosen(p):
    return p["mass"][p["flag"] > 0].mean(), np.where(p["flag"] > 0, p["v"], -p["mass"])


def parts(p):
    q = p[10:40:3]
    return q["v"] * 2 + q["mass"], p[3]["v"], p[-1]["mass"] * 2, p[2]["pos"] + 1


def writes(p):
    p["pos"] += p["v"][:, None] * 0.1
    p["v"] = p["mass"] * 2
    p["mass"][1:] = p["mass"][:-1] + 1
    p[4]["v"] = 7.0
    p[1:3]["flag"] = 3


def gives_back(p):
    p["v"] *= 2
    return p, p["v"], p["pos"][:, 0]


def loops(p):
    total = 0.0
    for i in range(1, len(p)):
        if p["flag"][i] >= 0:
            total += p["mass"][i] * p[i]["v"] + p["pos"][i, 0]
        p["v"][i] = p["v"][i - 1] * 0.5 + p["v"][i]
    return total


def rows(p):
    total = 0.0
    for q in p:
        total += q["mass"] * q["v"]
    return total


def looks(p):
    return p["v"] * 2 if p["mass"].sum() > 0 else p["mass"]


def plain(p):
    return np.sort(p, order="v")[:3]["v"], p[p["flag"] > 0]["v"].sum(), p.dtype.names, (p[0] == p[1]), p.copy()["mass"]


def compare(got, want, given, expected):
    assert type(got) is type(want)
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for x, y in zip(got, want):
            compare(x, y, given, expected)
        return
    if isinstance(want, (np.ndarray, np.generic)):
        assert got.dtype == want.dtype and np.may_share_memory(got, given) == np.may_share_memory(want, expected)
        if want.dtype.names is None:
            np.testing.assert_allclose(got, want, rtol=1e-5)
            return
        for name in want.dtype.names:
            np.testing.assert_allclose(got[name], want[name], rtol=1e-5)
    else:
        assert got == want or got == pytest.approx(want)


@pytest.mark.wide(pairs=True)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__.strip("_"))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "function",
    [energy, norms, chosen, parts, writes, gives_back, loops, rows, looks, plain],
    ids=lambda f: f.__name__,
)
def test_fields(function, dtype, form):
    fast = jitrt.jit(function)
    for seed in (1, 1, 1, 2):
        given, expected = (form(filled(DTYPES[dtype], seed=seed)) for _ in range(2))
        with np.errstate(all="ignore"):  # vectors may compute with what lies beside a field
            compare(fast(given), function(expected), given, expected)
        for name in ("v", "mass", "pos", "flag"):
            np.testing.assert_allclose(given[name], expected[name], rtol=1e-5)
    if function in (energy, norms, parts, looks):
        assert fast.plain_reason == "", fast.plain_reason


@pytest.mark.parametrize("n", [0, 1, 1000, 30_000])
def test_sizes(n):
    for function in (writes, norms):
        if n < 5 and function is writes:
            continue
        fast = jitrt.jit(function)
        for _ in range(3):
            given, expected = filled(PACKED, n), filled(PACKED, n)
            compare(fast(given), function(expected), given, expected)
            np.testing.assert_array_equal(given, expected)


def test_loops_over_records_of_any_number():
    def function(p, k):
        total = 0.0
        for i in range(1, len(p)):
            p["v"][i] = p["v"][i - 1] * 0.5 + p["mass"][i]
            total += p["pos"][i, k] * p[i]["v"]
        return total

    fast = jitrt.jit(function)
    for dtype in (PACKED, ALIGNED, GAPS, SWAPPED):
        for n in (5, 5, 5, 1, 0, 30, 5, 400):
            for form in (straight, every_other, reversed_, anywhere):
                given, expected = form(filled(dtype, n)), form(filled(dtype, n))
                assert fast(given, 1) == pytest.approx(function(expected, 1))
                np.testing.assert_allclose(given["v"], expected["v"])


def test_loops_over_records_that_reach_into_each_other():
    def function(p):
        for i in range(len(p)):
            p["a"][i] = p["b"][i] + 1

    dtype = np.dtype([("a", "i8"), ("b", "i8")])
    fast = jitrt.jit(function)
    for step in (16, 16, 8, 24, 8, -8):
        given, expected = (np.arange(40) for _ in range(2))
        for call, memory in ((fast, given), (function, expected)):
            start = 80 if step < 0 else 0
            call(np.ndarray((5,), dtype, memory, start, (step,)))
        np.testing.assert_array_equal(given, expected)


def test_attributes_of_record_arrays():
    def function(p, q):
        p.v = p.v + p.inner.mass * 2
        q.pos[0] = 3.0
        return p.v * 2, q[1].mass, p.inner.flag + 1

    fast = jitrt.jit(function)
    for _ in range(3):
        given = [filled(NESTED).view(np.recarray), filled(PACKED).view(np.recarray)]
        expected = [filled(NESTED).view(np.recarray), filled(PACKED).view(np.recarray)]
        compare(fast(*given), function(*expected), given[0], expected[0])
        for x, y in zip(given, expected):
            np.testing.assert_array_equal(x, y)


def test_records_in_records_objects_and_keywords():
    def function(holder, *, q):
        return holder["p"]["inner"]["mass"] * 2 + q["v"] * holder["p"]["pos"][:, 1]

    fast = jitrt.jit(function)
    for _ in range(4):
        p, q = filled(NESTED), filled(ALIGNED)
        np.testing.assert_allclose(fast({"p": p}, q=q), function({"p": p}, q=q), rtol=1e-6)
    assert fast.plain_reason == ""


def test_the_same_array_twice_and_arrays_that_overlap():
    def function(p, q):
        p["v"][1:] = q["v"][:-1] * 2 + q["mass"][1:]

    fast = jitrt.jit(function)
    for same, shifted in itertools.product((False, True), repeat=2):
        for _ in range(3):
            given, expected = filled(PACKED), filled(PACKED)
            pairs = [
                (x[:-1], x[1:] if shifted else x[:-1]) if same else (x[:-1], x[1:].copy()) for x in (given, expected)
            ]
            fast(*pairs[0]), function(*pairs[1])
            np.testing.assert_array_equal(given, expected)


def test_dtypes_that_are_equal_are_told_from_others():
    fast = jitrt.jit(lambda p: p["v"] * 2 + p["mass"])
    for _ in range(2):
        for dtype in (PACKED, np.dtype(PACKED.descr), ALIGNED, GAPS, SWAPPED):
            p = filled(dtype)
            np.testing.assert_allclose(fast(p), p["v"] * 2 + p["mass"], rtol=1e-6)


def test_memory_that_is_aligned_in_some_calls_alone():
    fast = jitrt.jit(lambda p: np.sqrt(p["a"] * p["a"] + 1) * p["b"])
    dtype = np.dtype([("a", "f8"), ("b", "f8")])
    for k in (0, 0, 0, 1, 2, 0, 4, 8, 1):
        p = np.zeros(16 * 1000 + 8, np.uint8)[k : k + 16 * 1000].view(dtype)
        p["a"], p["b"] = np.arange(1000.0), 2.0
        np.testing.assert_array_equal(fast(p), np.sqrt(p["a"] * p["a"] + 1) * 2)


def test_what_is_no_array_of_plain_fields():
    overlapping = np.dtype({"names": ["v", "bits"], "formats": ["f8", "i8"], "offsets": [0, 0]})
    objects = np.dtype([("v", "f8"), ("o", "O")])
    texts = np.dtype([("v", "f8"), ("s", "U3")])

    def function(p):
        p["v"] += 1
        return p["v"] * 2, p[p.dtype.names[1]].copy()

    for dtype in (overlapping, objects, texts):
        fast = jitrt.jit(function)
        for _ in range(3):
            given, expected = np.zeros(5, dtype), np.zeros(5, dtype)
            for x, y in zip(fast(given), function(expected)):
                np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "function",
    [
        lambda p: p["none"],
        lambda p: p[99]["v"],
        lambda p: p["v"] + p,
        lambda p: p.none,
        lambda p: p[1.5],
        len,
        bool,
        hash,
    ],
)
def test_exceptions_are_those_of_numpy(function):
    p = filled(PACKED)
    for _ in range(2):
        try:
            want = function(p)
        except Exception as error:
            with pytest.raises(type(error)) as found:
                jitrt.jit(function)(p)
            assert str(found.value) == str(error)
        else:
            assert jitrt.jit(function)(p) == want
