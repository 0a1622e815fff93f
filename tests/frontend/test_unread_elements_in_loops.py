"""Arrays in functions with loops of which nothing reads every element: NumPy has computed them all, and tells of it."""

import warnings

import numpy as np
import pytest

import jitrt
from jitrt.frontend.control.stage import stage

OPERATIONS = [
    "1 / a", "a / a", "np.reciprocal(a)", "np.sqrt(a - 2)", "a * 1e308 * 10", "k // k", "(a * 1e300).astype('f4')",
    "k ** (3 - n - k)",
]  # fmt: skip
READERS = {
    "length": "len({})",
    "shape": "({}).shape",
    "dtype": "({}).dtype",
    "element": "({})[2]",
    "part": "({})[1:3]",
    "reversed": "({})[::-1][0]",
    "index": "({})[len({}) - 1]",
    "chosen": "({})[[1, 2]]",
    "comparison": "(({}) > 1)[2]",
    "made like it": "np.zeros_like({})",
    "rows": "({}).reshape(2, 2)[1]",
    "matrix": "(({}) + np.ones((2, 1)))[1]",
    "rolled": "np.roll({}, 1)[3]",
    "nothing": "({}, 5)[1]",
    "test of its type": "isinstance({}, np.ndarray)",
    "choice": "2 if len({}) > 3 else 4",
    "helper": "first({})",
}
PLACES = {
    "behind": "    {value}\n    r = {value}\n    return out, r\n",
    "in the loop": "        r = {value}\n    return out, r\n",
    "in a branch": "        if out[i] >= 0:\n            r = {value}\n    return out, r\n",
    "returned": "    return {value}\n",
    "condition": "    if ({value}, 1)[1] > 1:\n        a[:] = 1\n    return out\n",
    "temporary": "    t = {operation}\n    r = (t > 1)[2]\n    return out, r\n",
    "before a change": "    r = {value}\n    a += 1\n    k += 1\n    return out, r\n",
}


def function(operation, reader, place, tmp_path):
    value = reader.replace("{}", operation)
    source = "import numpy as np\n\n\ndef first(v):\n    return v[2]\n\n\ndef f(a, k, n):\n    out = np.zeros(n)\n"
    source += "    for i in range(n):\n        out[i] = a[i] * i\n" + place.format(value=value, operation=operation)
    path = tmp_path / "unread.py"
    path.write_text(source)
    scope = {}
    exec(compile(source, str(path), "exec"), scope)
    return scope["f"]


def outcome(f, ones, error):
    a, k = (np.ones(4), np.ones(4, int)) if ones else (np.arange(4.0), np.arange(4))
    with warnings.catch_warnings(record=True) as told, np.errstate(all=error, under="ignore"):
        warnings.simplefilter("always")
        try:
            result = repr(f(a, k, 3))
        except (FloatingPointError, ValueError) as raised:
            result = repr(raised)
    return result, [str(w.message) for w in told], a.tolist()


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_is_computed(operation, reader, place, tmp_path):
    f = function(operation, reader, place, tmp_path)
    fast = jitrt.jit(f)
    for error in ("warn", "raise", "ignore"):
        for ones in (True, False):
            assert outcome(fast, ones, error) == outcome(f, ones, error)


def whole(x, n):
    total = 0.0
    for k in range(n):
        total += x[k] + (1 / x).sum() + (x / 2 - x)[::1].max()
        y = x * 2
        x = (y - x) / (y + 1) + np.sqrt(y[:, None] + 1).T[0]
        x[:2] = x[2:4] * 3
    return total, x


def test_what_is_read_as_a_whole_is_computed_once(monkeypatch):
    from jitrt.frontend.control import forced

    computed = []
    compute = forced.Pending.__init__

    def noted(self, array, block, its, until=None):
        compute(self, array, block, lambda: (computed.append(array), its()), until)

    monkeypatch.setattr(forced.Pending, "__init__", noted)
    x = np.arange(1.0, 7.0)
    want, got = whole(x.copy(), 3), jitrt.jit(whole)(x.copy(), 3)
    assert want[0] == pytest.approx(got[0]) and np.allclose(want[1], got[1])
    assert len(computed) <= 1  # the root, of which one row is read


def test_what_is_ignored_is_not_computed():
    def f(x, n):
        out = np.zeros(n)
        for k in range(n):
            with np.errstate(all="ignore"):
                out[k] = (1 / x)[k + 1] + len(np.log(x)) + (x * 1e308)[1]
        return out

    fast = jitrt.jit(f)
    for _ in range(3):
        x = np.array([0.0, 1.0, 2.0, 3.0])
        want = f(x.copy(), 3)
        assert np.array_equal(fast(x, 3), want)
    assert fast.cache_info().slow_calls <= 1


def test_what_is_read_by_two_loops_is_computed_once():
    def relaxed(p):
        change = 1.0
        while change > 1e-3:
            before = p.copy()
            p[:] = 0.25 * (np.roll(before, 1, axis=1) + np.roll(before, -1, axis=1) + 2 * before)
            change = np.abs(p - before).mean()
        return change

    text = str(stage(relaxed, (np.random.default_rng(0).random((6, 7)),)).procedure)
    assert text.count("= multiply") == 2 * 3  # in each of three parts of a row


def test_what_an_attempt_ignored_is_not_ignored_afterwards():
    def sums(x, m):
        total = 0.0
        for axis in (0, 1, 0, 1, 0, 1, 0, 1):  # first taken for a loop, in which the axis is not known
            with np.errstate(all="ignore"):
                total = total * 0.5
                total = total * 0.5
                total = total + 1.0
                total = total + m.sum(axis=axis)[0] * 0.5
        for i in range(len(x)):
            total += x[i]
        return total, len(1 / x)

    fast, m = jitrt.jit(sums), np.arange(4.0).reshape(2, 2)
    for x in (np.ones(3), np.zeros(3), np.ones(3), np.zeros(3)):
        said = []
        for function in (sums, fast):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                said.append((function(x, m), [str(w.message) for w in caught]))
        assert said[0] == said[1] and bool(said[0][1]) == (not x.any())
