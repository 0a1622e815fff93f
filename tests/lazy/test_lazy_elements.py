"""Loops over the elements and rows of lazy arrays, with writes and pending operations in between: as with NumPy."""

import operator
import random
import sys

import numpy
import pytest
from covering import few

import jitrt
import jitrt.numpy
from jitrt.numpy import direct
from jitrt.numpy.pending import PENDING
from jitrt.runtime import threads
from jitrt.runtime.objects import fields

STATEMENTS = [
    "x[i, j] = {k}",
    "x[i] = {k}",
    "x[i][j] += {k}",
    "r = x[i]",
    "r += {k}",
    "r = r * {k}",
    "rows = [row for row in x]",
    "rows[i][j] = {k}",
    "rows[j] *= {k}",
    "y = x * {k}",
    "y = x[1:] + x[:-1]",
    "z = x + r",
    "x = x + {k}",
    "x += {k}",
    "x[i] = x[j]",
    "x[i], x[j] = x[j].copy(), x[i]",
    "v = x.T; v[i, j] = {k}; v[j] += 1",
    "flat = x.reshape(-1); flat[i] = {k}",
    "w = np.broadcast_to(x[i], (3, 4)); w[j, j] = {k}",
    "x[numpy.int64(i)] -= {k}",
    "x[i, 9] = {k}",
    "x[-i - 9]",
    "float(y[j % 2, i])",
    "s = 0.0\nfor row in x:\n    for e in row:\n        s = s + e * {k}",
    "s = 0.0\nfor a in range(len(x)):\n    x[a] = x[a - 1] * 0.5\n    s = s + x[a, 0]",
    "x = np.array(x)",
    "y = numpy.asarray(x)",
    "x = np.array(numpy.arange(16.0)).reshape(4, 4) + {k}",
    "v = x[:, ::-1]; v[i] = v[j] * {k}; r = v[i, 1:]",
    "x[i, 1:] += x[j, :-1]",
    "x[..., i] = r[j]",
    "x[i, np.asarray([0, 2])] = {k}",
    "r = x[i, np.asarray([True, False, True, False])]; r = x[j]",
    "r = x[i:, j][:1].repeat(4)",
    "x[i] = [{k}, 1, 2, 3]",
]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("limit", "is_standard", "is_vain"),
    [(0, False, False), (6, False, False), (6, True, False), (0, False, True), (6, False, True)],
    ids=["large rows", "small rows", "rows of the standard's namespace", "in vain", "in vain, small"],
    indirect=["limit"],
)
@pytest.mark.parametrize("seed", few(range(60), 25))
def test_elements_and_rows(seed, limit, is_standard, is_vain, monkeypatch):
    monkeypatch.setattr(direct, "keeps_small", is_standard)
    direct.renew()
    rng = random.Random(seed)
    if is_vain:
        monkeypatch.setattr(PENDING, "is_vain", lambda size=0: rng.random() < 0.6)
    worlds = []
    for np in (numpy, jitrt.numpy):
        x = np.array(numpy.arange(16.0).reshape(4, 4))
        worlds.append({"np": np, "numpy": numpy, "x": x, "y": x * 1, "r": x[0], "rows": list(x)})
        for _ in range(20):
            x[0], x[0, 0]  # a loop over rows by now
    done = []
    for _ in range(30):
        text = rng.choice(STATEMENTS).replace("{k}", rng.choice(["2", "0.5", "numpy.float64(3)", "True"]))
        positions = {"i": rng.randrange(4), "j": rng.randrange(4)}
        done.append((text, positions))
        raised = []
        for names in worlds:
            names.update(positions)
            try:
                exec(text, names)
                raised.append(None)
            except (IndexError, ValueError) as error:
                raised.append((type(error), str(error)))
        assert raised[0] == raised[1], done
        if rng.random() < 0.3:
            check(worlds, done)
    check(worlds, done)


def check(worlds, done):
    names = [name for name in worlds[0] if name in {"x", "y", "z", "r", "rows", "v", "w", "s", "flat"}]
    for name in names:
        want, got = worlds[0][name], worlds[1][name]
        if name == "rows":
            want, got = numpy.stack(want), numpy.stack([numpy.asarray(row) for row in got])
        got = numpy.asarray(got)
        assert got.dtype == numpy.asarray(want).dtype, (name, done)
        numpy.testing.assert_allclose(got, want, rtol=1e-12, err_msg=f"{name}: {done}")


@pytest.mark.parametrize("limit", [None], indirect=True)
def test_small_parts_of_known_arrays_are_views_in_loops():
    """Where a loop asks for them they are NumPy's, in the memory of the array; recording each took 60 microseconds."""
    values = numpy.arange(60_000.0).reshape(200, 300)
    x, y = jitrt.numpy.array(values), values.copy()
    for i in range(1, 199):
        for a, to in ((x, i), (y, i)):
            part = a[to, 1:to]
            part += 1.0
            a[to, -1] = a[to, 1:to].sum() + a[to - 1 : to + 2, ::-2].max() + a[..., 0][to] + a[to][3]
        assert x[i, -1] == y[i, -1]
    later = x + 1
    x[5, 1:4] = 7.0
    y[5, 1:4] = 7.0
    assert later[5, 2] != 8.0
    numpy.testing.assert_array_equal(numpy.asarray(x), y)
    with pytest.raises(IndexError, match="out of bounds"):
        x[200, 1:3]


@pytest.mark.parametrize("limit", [None], indirect=True)
@pytest.mark.parametrize("is_standard", [False, True])
def test_small_parts_are_of_one_namespace_in_programs_for_the_standard(limit, is_standard, monkeypatch):
    """Elsewhere they are NumPy's own, with which loops are faster."""
    monkeypatch.setattr(direct, "keeps_small", is_standard)
    direct.renew()
    x = jitrt.numpy.zeros((300, 300))
    rows = [x[k] for k in range(40)]
    assert (type(rows[-1]) is numpy.ndarray) is not is_standard
    if is_standard:
        assert len({row.__array_namespace__() for row in [x, *rows]}) == 1


@pytest.mark.parametrize("limit", [None], indirect=True)
def test_views_that_loops_look_into_are_no_copies(limit):
    """Of an array that a loop goes through by a view, what is recorded borrows the memory all the same."""
    x = jitrt.numpy.zeros(90_000)
    grid = x.reshape(300, 300)
    for i in range(40):
        grid[i, i] = i
        assert grid[i, i] == x[301 * i] == i
    assert x._memory.views and x._memory.is_private()
    later = grid + 1
    grid[2, 2] = 50.0
    assert later[2, 2] == 3.0 and x[602] == 50.0
    x += 1
    assert grid[3, 3] == 4.0 and grid[2, 2] == 51.0


@pytest.mark.parametrize("limit", [None], indirect=True)
def test_native_code_serves_elements_and_small_parts(limit):
    """And hands over to Python what it does not know: other indices, values, numbers of arguments, and errors."""
    if fields() is None:
        pytest.skip("objects are not known here")
    threads.native_address("jitrt_get_item")
    x, y = jitrt.numpy.zeros((200, 300)), numpy.zeros((200, 300))
    for k in range(10):
        x[k, k], x[k] = k, x[k]  # a loop by now
        y[k, k], y[k] = k, y[k]
    assert type(vars(type(x))["__getitem__"]) is type(str.join)
    for index in [(3, 4), (-1, slice(None)), (..., 3), (3, None, 4), slice(3, 9), ([1, 2], 3), (numpy.int64(3), 4),
                  (slice(None), numpy.arange(3)), (True, 3), 199, numpy.array(5), y > 5, (), [], [3, 3],
                  numpy.arange(200), ([0] * 200, slice(0, 200)), None, [True] * 200]:  # fmt: skip
        for value in (2, 2.5, numpy.float32(3), True, [7], numpy.ones(1), numpy.array(3), "8", None, 1j, {}):
            raised = []
            for array in (x, y):
                try:
                    array[index] = value
                    raised.append(None)
                except (TypeError, ValueError) as error:
                    raised.append((type(error), str(error)))
            assert raised[0] == raised[1]
        x[index] = y[index] = 3.0
        x[index] = jitrt.asarray(numpy.ones(1)) * 4 if numpy.ndim(y[index]) else jitrt.numpy.asarray(4.0)
        y[index] = 4.0
        got, want = x[index], y[index]
        assert numpy.asarray(got).dtype == want.dtype and numpy.array_equal(got, want)
        assert isinstance(want, numpy.ndarray) or type(got) is type(want)
    for wrong in (200, (0, 300), (0, 0, 0), "a", 1.0, (slice(1.5), 0)):
        raised = []
        for array in (x, y):
            for attempt in (lambda a: a[wrong], lambda a: operator.setitem(a, wrong, 1)):  # noqa: B023
                with pytest.raises((IndexError, TypeError)) as caught:
                    attempt(array)
                raised.append((type(caught.value), str(caught.value)))
        assert raised[:2] == raised[2:]
    with pytest.raises(ValueError, match="could not broadcast"):
        x[3] = numpy.ones(7)
    for call in (lambda: x.__getitem__(), lambda: x.__setitem__(1), lambda: type(x).__getitem__(x, 1, k=2)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        type(x).__getitem__(y, 1)
    assert numpy.array_equal(x, y)


@pytest.mark.parametrize("limit", [None], indirect=True)
def test_an_index_that_writes_into_its_array(limit):
    """What an index runs may give the array other elements: the ones that were asked for live on."""
    x = jitrt.numpy.zeros((200, 300))
    for k in range(10):
        x[k, k] = k

    class Index:
        def __index__(self):
            x[...] = jitrt.numpy.ones((200, 300)) + 1  # pending
            return 3

    for _ in range(3):
        assert x[Index(), 3] in (2.0, 3.0)
        assert x[3, Index() : 9].shape == (6,)
        x[Index(), 5] = 9.0
        assert x[4, 4] == 2.0


@pytest.mark.parametrize("limit", [None], indirect=True)
def test_references_to_elements_and_arrays_are_given_back(limit):
    x = jitrt.numpy.zeros((200, 300))
    row, value = numpy.ones(300), 0.5
    for _ in range(10):
        x[3, 4] = x[3, 5]
    known = x._memory.value
    counts = [sys.getrefcount(v) for v in (known, row, value, x, x._memory)]
    for k in range(200):
        x[k], x[k, 3], x[k, 1:-1]
        x[k] = row
        x[k, 4] = value
        for wrong in (300, (0, 300)):
            with pytest.raises(IndexError):
                x[wrong]
            with pytest.raises(IndexError):
                x[wrong] = value
    after = [sys.getrefcount(v) for v in (known, row, value, x, x._memory)]
    assert all(abs(a - b) < 20 for a, b in zip(counts, after)), (counts, after)
    before = sys.getrefcount(None)
    for _ in range(20_000):
        x[3, 4] = value
    assert abs(sys.getrefcount(None) - before) < 10_000
    del known
    assert x._memory.is_private()


@pytest.mark.parametrize("limit", [None], indirect=True)
def test_python_serves_elements_where_native_code_cannot_be_had(limit, monkeypatch):
    def failing(name):
        raise OSError("no memory that may be executed")

    monkeypatch.setattr(direct, "_is_installed", False)
    monkeypatch.setattr(direct.threads, "driver_is_cached", lambda: True)
    monkeypatch.setattr(direct.threads, "native_address", failing)
    kind = type(jitrt.numpy.zeros((200, 300)))
    for name, function in zip(("__getitem__", "__setitem__"), direct._functions):
        monkeypatch.setattr(kind, name, function)
    x, y = jitrt.numpy.zeros((200, 300)), numpy.zeros((200, 300))
    for k in range(20):
        for array in (x, y):
            array[k, k] = k + array[k, 3]
            array[k + 1] += array[k, ::-1]
            array[[1, 2], k] = array[2:4, k + 1]
    assert numpy.array_equal(x, y) and type(x[3]) is numpy.ndarray


@pytest.mark.parametrize("is_held", [True, False])
def test_a_loop_over_elements_does_not_wait_for_what_is_pending(is_held):
    """What nobody looked at before the loop, or nobody holds any more, kept each element from native code."""
    x, u = jitrt.numpy.array(numpy.ones(50_000)), jitrt.numpy.array(numpy.zeros(50_000))
    pending = jitrt.numpy.sqrt(x) + 1
    if not is_held:
        del pending
    assert PENDING.values
    for i in range(1, 500):
        u[i] = u[i - 1] + 1.0
    assert not PENDING.values
    assert float(u[499]) == 499.0
    assert not is_held or float(pending[7]) == 2.0
