"""Assignments, views that are written through, and arguments that are changed for the caller."""

import contextlib
import operator
import threading
import warnings

import numpy as np
import pytest
from texts import function_of

import jitrt


def numbers(*shape, dtype=float):
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) + 1).astype(dtype)


def assert_equal(got, want):
    assert type(got) is type(want)
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            assert_equal(g, w)
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    else:
        assert got == want or got is want


def arrays_in(value):
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in arrays_in(v)]
    return [value] if isinstance(value, np.ndarray) else []


def sharing(arrays):
    return [[bool(np.shares_memory(a, b)) for b in arrays] for a in arrays]


def check(function, *args, compiled=True):
    """Plain and compiled leave the same results, the same arguments, and memory shared in the same way."""
    fast = jitrt.jit(function)
    if compiled:
        reason = fast.explain(*map(np.array, args)).plain_reason
        assert reason == "", reason
    layouts = [lambda a: a.copy(), lambda a: a.copy(order="F"), lambda a: np.repeat(a, 2, -1)[..., ::2]]
    layouts.append(lambda a: np.ascontiguousarray(a[::-1])[::-1])
    for layout in layouts:
        for scale in (1, 3):
            mine, plain = ([layout(a * a.dtype.type(scale)) for a in args] for _ in range(2))
            want = function(*plain)
            got = fast(*mine)
            assert_equal(got, want)
            assert_equal(mine, plain)
            assert sharing(arrays_in(got) + arrays_in(mine)) == sharing(arrays_in(want) + arrays_in(plain))


def slice_store(x, y):
    x[1:3] = y[1:3]
    x[0, ::2] = 7.5
    x[-1] = x[0] * 2
    return x


def chained_views(x, y):
    part = x[1:]
    row = part[0]
    row[1:3] = -1.0
    part.T[2] += 5
    return x, part, row, row.sum()


def shifts_itself(x, y):
    x[1:] = x[:-1]
    x[:, :-1] += x[:, 1:]
    x[::-1] -= x
    return x


def augmented(x, y):
    x += y
    x *= 2
    x -= 1
    x /= 3
    x **= 2
    x //= 0.5
    x %= 7
    return x + 1


def out_arguments(x, y):
    z = x * 2
    np.add(x, y, out=z)
    np.multiply(z, 2, out=y)
    np.sqrt(y, y)
    np.sum(x, axis=0, out=z[0])
    np.clip(x, 2, 5, out=x)
    return z, z is np.subtract(z, 1, out=z)


def where_arguments(x, y):
    np.add(x, 100, out=x, where=x > 5)
    np.copyto(y, x, where=y < 4)
    np.copyto(x, 1)
    return x, y


def through_transposes(x, y):
    x.T[1] = 0
    x.reshape(-1)[5] = 99
    x.ravel()[6:8] = -3
    np.swapaxes(x, 0, 1)[0, 1] = 42
    x[None, :, ::-1][0, 0, 0] = 8
    np.squeeze(x[:1])[1] = -8
    return x


def copies_are_not_written_through(x, y):
    z = x.copy()
    z[0] = 1
    w = x.T.reshape(-1)[::2].copy()
    w[:] = 0
    f = x.flatten()
    f[0] = 77
    return z, w, f, x


def flat_and_fill(x, y):
    x.flat[3] = 55
    x.flat[::5] = -2
    y.fill(4)
    x.T.flat[1] = 66
    return x.flat[2], x.flat[1:4], x, y


def fills_a_diagonal(x, y):
    np.fill_diagonal(x, 0)
    np.fill_diagonal(y, x[0, 1])
    return x


def masks(x, y):
    x[x > 6] = 6
    y[y < 3] = y.max()
    x[x[:, 0] > 2] = 0
    y[(x == 0)] *= -1
    return x, y


def gathers(x, y):
    index = np.array([0, 2, 2])
    x[index] = 5
    x[index, [0, 1, 2]] += 1
    np.add.at(y, (index, index), 10)
    np.put(y, [0, 5], -9)
    return x, y


def sorts(x, y):
    x.sort(axis=0)
    y[0].sort()
    z = y * -1
    z.sort()
    return x, z, z[:, 0]


def parts_of_results(x, y):
    z = x + y
    first = z[:1]
    z[0, 0] = 1000
    first[0, 1] = 2000
    z += 1
    return z, first, first.T


def written_after_use(x, y):
    before = x * 1
    total = x.sum()
    x[...] = 0
    return before, total, x.sum()


def swaps(x, y):
    x[:], y[:] = y.copy(), x.copy()
    x[0], x[1] = x[1].copy(), x[0].copy()


def full_slices(x, y):
    x[:] = y
    y[...] = x.T.T * 2
    x[:, :] = 3
    return x


def columns_and_rows(x, y):
    for k in range(x.shape[0]):
        x[k] = y[k] * k
    for k in range(x.shape[1]):
        x[:, k] -= x[:, 0] if k else 0
    return x


def recurrence(x, y):
    for k in range(1, x.shape[1]):
        x[:, k] = 0.5 * x[:, k - 1] + y[:, k]
    return x


def zero_sized(x, y):
    x[:0] = 5
    x[2:2, 1] += 3
    return x


def broadcast_values(x, y):
    x[1:3, 1:] = y[0, 1:]
    x[:, 0] = [9, 8, 7]
    x[0] = y[:1]
    x[-1, -1:] = np.float32(2.5)
    return x


def steps_of_views(x, y):
    odd = x[:, 1::2]
    odd[::-1] = odd[:, ::-1]
    odd -= 1
    return odd, x[::2, ::-1]


FUNCTIONS = [
    slice_store, chained_views, shifts_itself, augmented, out_arguments, where_arguments, through_transposes,
    copies_are_not_written_through, flat_and_fill, fills_a_diagonal, masks, gathers, sorts, parts_of_results,
    written_after_use, swaps, full_slices, columns_and_rows, recurrence, zero_sized, broadcast_values, steps_of_views,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_like_numpy(function):
    check(function, numbers(3, 4), numbers(3, 4)[::-1] / 2)


def test_integers_and_booleans():
    def update(i, flags):
        i[0] = 2.9
        i[1] = True
        i //= 2
        i[2:] = i[1:-1] + 0.75
        flags[1:] ^= flags[:-1]
        flags[0] = 5
        return i, flags

    check(update, numbers(5, dtype=np.int32), numbers(5) > 3)


def test_complex_parts():
    def parts(z, x):
        z.real = x
        z.imag[1:] = 2
        z.real[0] += z.imag[1]
        np.conjugate(z, out=z)
        return z, z.real

    check(parts, numbers(4) * (1 + 2j), numbers(4))


def test_shape_is_set():
    def reshape(x):
        y = x + 1
        y.shape = (2, -1)
        y[1, 0] = 7
        return y

    fast = jitrt.jit(reshape)
    warns = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
    with warnings.catch_warnings(action="ignore"):
        assert ("NumPy warns" in fast.explain(numbers(6)).plain_reason) == warns
        wanted = reshape(numbers(6))
    for _ in range(4):
        with pytest.warns(DeprecationWarning, match="the shape") if warns else contextlib.nullcontext():
            result = fast(numbers(6))
        assert_equal(result, wanted)


def test_scalars_are_not_written():
    def scalars(x):
        s = x.sum()
        t = s
        s += 1
        first = x[0]
        x[0] = s
        return s, t, first, x

    check(scalars, numbers(4))


class TestCasting:
    @pytest.mark.parametrize(
        "function",
        [
            lambda i: operator.iadd(i, 1.5),
            lambda i: operator.itruediv(i, 2),
            lambda i: np.sqrt(i, out=i),
            lambda i: np.copyto(i, np.ones(3) * 0.5),
            lambda i: i.__setitem__(0, 1 << 40),
            lambda i: i.__setitem__(0, np.nan),
            lambda i: i.__setitem__(slice(2), [1, 2, 3]),
            lambda i: i.__setitem__(5, 1),
            lambda i: np.add(i[:1], i, out=i[:1]),
            lambda i: np.sum(i, out=i),
        ],
        ids=range(10),
    )
    def test_errors_are_numpys(self, function):
        mine, plain = numbers(3, dtype=np.int32), numbers(3, dtype=np.int32)
        with pytest.raises(Exception) as want:
            function(plain)
        with pytest.raises(want.type) as got:
            jitrt.jit(function)(mine)
        assert str(got.value) == str(want.value)
        np.testing.assert_array_equal(mine, plain)

    def test_an_error_that_the_function_catches(self):
        def careful(i, x):
            try:
                i += x
            except TypeError:
                i += x.astype(i.dtype)
            return i

        check(careful, numbers(3, dtype=np.int64), numbers(3) / 2)


class TestReadOnly:
    @pytest.mark.parametrize("warm", [False, True])
    def test_what_stands_in_front_is_done(self, warm):
        """As in NumPy, the error comes when the rest has been written, stored and warned of."""

        def both(a, b, seen):
            a += 1
            seen.append(a.sum())
            b[1:] = 0.5 * (a[1:] / a[:-1])

        def call(function):
            a, b, seen = np.array([-1.0, 2.0, 0.0]), np.ones(3), []
            if warm:
                for _ in range(3):
                    function(np.ones(3), np.ones(3), [])
            b.flags.writeable = False
            with pytest.warns(RuntimeWarning, match="divide") as caught, pytest.raises(ValueError, match="read-only"):
                function(a, b, seen)
            return a.tolist(), seen, len(caught)

        assert call(jitrt.jit(both)) == call(both) == ([0, 3, 1], [4.0], 1)

    def test_a_function_may_catch_the_error(self):
        def careful(a):
            try:
                a += 1
            except ValueError:
                a = a + 1
            return a

        a = np.ones(3)
        a.flags.writeable = False
        assert jitrt.jit(careful)(a).tolist() == [2, 2, 2]

    @pytest.mark.parametrize("size", [20, 2000])
    @pytest.mark.parametrize(
        "statement",
        ["b[()] = b", "b[...] = b", "v = b[1:3]; b[1:3] = v", "b.T[:] = b.T", "t = b[::-1]; t[:] = b[::-1]",
         "b[:0] = b[:0]", "b[0] = b[0]", "b *= 1"],
    )  # fmt: skip
    def test_parts_that_are_assigned_to_themselves(self, statement, size):
        function = function_of(f"import numpy as np\ndef f(b, c):\n    {statement}\n    return c * 2, b\n")
        compiled = jitrt.jit(function)
        for call in range(6):
            b = np.arange(float(size))
            b.flags.writeable = call not in (3, 5)
            for f in (function, compiled):
                if b.flags.writeable:
                    assert f(b, b)[1] is b
                    assert b.tolist() == list(range(size))
                else:
                    with pytest.raises(ValueError, match="read-only"):
                        f(b, b)

    @pytest.mark.parametrize("view", [lambda a: np.broadcast_to(a, (2, 3)), np.diagonal], ids=["broadcast", "diagonal"])
    def test_read_only_views(self, view):
        def write(a):
            view(a)[0] = 1

        with pytest.raises(ValueError, match="read-only"):
            jitrt.jit(write)(np.ones((3, 3)) if view is np.diagonal else np.ones(3))


class TestArguments:
    def test_the_same_array_twice(self):
        def mix(a, b):
            a[1:] += b[:-1]
            b *= 2
            return a, b, a.sum()

        fast = jitrt.jit(mix)
        for _ in range(2):
            mine, plain = numbers(5), numbers(5)
            assert_equal(fast(mine, mine), mix(plain, plain))
            assert_equal(mine, plain)
            assert_equal(fast(mine, mine.copy()), mix(plain, plain.copy()))
            assert_equal(mine, plain)
            got = fast(mine, mine)
            assert got[0] is mine and got[1] is mine

    def test_arguments_that_overlap_in_part(self):
        def move(a, b):
            a += b
            a[0] = 0
            return b * 1

        fast = jitrt.jit(move)
        for views in (
            lambda m: (m[1:], m[:-1]),
            lambda m: (m[:-1], m[1:]),
            lambda m: (m[::2], m[1::2]),
            lambda m: (m, m[::-1]),
            lambda m: (m[:3], m[3:]),
        ):
            mine, plain = numbers(6), numbers(6)
            assert_equal(fast(*views(mine)), move(*views(plain)))
            assert_equal(mine, plain)

    def test_captured_arrays_are_written(self):
        state, plain = numbers(3), numbers(3)

        def step(memory):
            def run(x):
                memory[:-1] = memory[1:]
                memory[-1] = x.sum()
                return memory.mean()

            return run

        fast, slow = jitrt.jit(step(state)), step(plain)
        for k in range(4):
            assert fast(numbers(4) * k) == slow(numbers(4) * k)
            assert_equal(state, plain)

    def test_a_captured_array_that_is_an_argument_too(self):
        weights = numbers(3)

        @jitrt.jit
        def scale(x):
            x += weights
            weights[0] = 0
            return x * 1

        assert scale(np.zeros(3)).tolist() == [1, 2, 3]
        assert scale(weights).tolist() == [0, 4, 6]
        assert weights.tolist() == [0, 4, 6]

    def test_arrays_in_containers(self):
        def update(state, options):
            state["x"][1:] = options[0] * 2
            options[1] -= state["x"][:2]

        def make():
            return {"x": numbers(3)}, [numbers(2), numbers(2)]

        fast, mine, plain = jitrt.jit(update), make(), make()
        for _ in range(2):
            fast(*mine)
            update(*plain)
            assert_equal(list(mine[0].values()) + mine[1], list(plain[0].values()) + plain[1])

    def test_nothing_is_written_when_a_call_of_numpy_fails(self):
        def solve(a, b):
            b += 1
            return np.linalg.inv(a) @ b

        fast = jitrt.jit(solve)
        fast(np.eye(2), np.ones(2))
        with pytest.raises(np.linalg.LinAlgError):
            fast(np.zeros((2, 2)), np.ones(2))

    def test_an_error_of_the_function_with_the_same_array_twice(self):
        def wrong(a, b, c):
            a[0] = 1
            return b + c

        for function in (wrong, jitrt.jit(wrong)):
            mine = numbers(3)
            with pytest.raises(ValueError, match="broadcast together"):
                function(mine, mine, np.ones(4))
            assert mine[0] == 1

    def test_an_inner_function_writes(self):
        @jitrt.jit
        def inner(a):
            a[0] = -1
            return a * 2

        def outer(a):
            b = a + 1
            c = inner(b)
            inner(a[1:])
            return b, c

        check(outer, numbers(4))


def test_threads_that_trace_at_once():
    def accumulate(x, n):
        for k in range(n):
            x[k % 3] += k
        return x

    fast = jitrt.jit(accumulate)
    wrong = []

    def work(n):
        mine, plain = numbers(3, 2), numbers(3, 2)
        for _ in range(3):
            if not np.array_equal(fast(mine, n), accumulate(plain, n)):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(1 + k % 4,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


class TestRowsByNumpysIntegers:
    """An index that is a NumPy integer gives a view, as one that is a Python integer does."""

    @staticmethod
    def written_through(x, k):
        row = x[k]
        row += 3
        x[k, 0] *= 2
        return x.sum(), row

    @staticmethod
    def of_a_new_array(x, k):
        y = x * 1
        row = y[k]
        row += 3
        return y

    @staticmethod
    def returned(x, k):
        return x[k], x[k : k + 2]

    @pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, int])
    @pytest.mark.parametrize("name", ["written_through", "of_a_new_array", "returned"])
    def test_views(self, name, kind):
        function = getattr(self, name)
        fast = jitrt.jit(function)
        for k in (0, 1, 2, 3, 4, 2, 0):
            one, two = np.arange(12.0).reshape(6, 2), np.arange(12.0).reshape(6, 2)
            got, want = fast(one, kind(k)), function(two, kind(k))
            np.testing.assert_array_equal(one, two)
            for g, w in zip(got, want):
                np.testing.assert_array_equal(g, w)
                assert np.shares_memory(g, one) == np.shares_memory(w, two)


IMAGINARY = {
    "set": "x.imag[...] = 2",
    "one": "x.imag[0] = 2",
    "filled": "x.imag.fill(3)",
    "in place": "y = x.imag\n    y += 1",
    "sorted": "x.imag.sort()",
    "out": "np.add(x, 1, out=x.imag)",
    "caught": "try:\n        x.imag[0] = 3\n    except ValueError as error:\n        return str(error)",
    "returned": "return x.imag, np.imag(x), x.T.imag",
    "whole": "x.imag = 3",
}


@pytest.mark.wide
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16"])
@pytest.mark.parametrize("statement", IMAGINARY.values(), ids=IMAGINARY)
def test_imaginary_parts_of_real_numbers_are_read_only(statement, dtype):
    function = function_of(f"def f(x):\n    {statement}\n    return x\n")
    compiled = jitrt.jit(function)
    for start in (0, 1):
        found = []
        for f in (compiled, function):
            x = (np.arange(6.0).reshape(2, 3).T + start).astype(dtype)
            try:
                made = f(x)
            except (TypeError, ValueError) as error:
                made = repr(error)
            parts = made if isinstance(made, tuple) else (made,)
            forms = [(a.dtype, a.strides, a.flags.writeable) for a in parts if isinstance(a, np.ndarray)]
            found.append((*map(str, parts), forms, x.tolist()))
        assert found[0] == found[1]


SETS = (
    "y.dtype = np.int64", "y.shape = (3, 2)", "y.shape = -1", "y.shape = (5, 5)", "y.strides = (8, 16)",
    "y.dtype = 'f4'", "y.dtype = 'U3'", "x.dtype = 'i8'", "x.shape = 6", "x.strides = (16, 8)",
)  # fmt: skip


@pytest.mark.parametrize("statement", SETS)
def test_what_an_array_is_may_be_set(statement):
    function = function_of(f"def f(x):\n    y = x * 2\n    {statement}\n    return y + 1, y\n")
    compiled = jitrt.jit(function)
    for start in (0, 1):
        found = []
        for f in (compiled, function):
            x = np.arange(6.0).reshape(2, 3) + start
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    made = [(a.dtype, a.strides, a.tolist()) for a in f(x)]
                except (AttributeError, TypeError, ValueError) as error:
                    made = repr(error)
            told = [(w.category, str(w.message), w.filename, w.lineno) for w in caught]
            found.append((made, told, x.dtype, x.shape, x.strides, x.tolist()))
        assert found[0] == found[1]


@pytest.mark.parametrize("statement", ["x[1:] = z", "x[x > 2] = z", "x.fill(z)", "x[0] = z", "np.copyto(x, z)"])
def test_complex_numbers_that_become_real_warn_at_the_line(statement):
    function = function_of(f"def f(x):\n    z = np.complex64(1 + 2j)\n    {statement}\n    return x\n")
    compiled = jitrt.jit(function)
    for start in (0, 1):
        found = []
        for f in (compiled, function):
            x = np.arange(6.0) + start
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    f(x)
                except TypeError as error:
                    found.append(str(error))
            found.append(([(w.category, str(w.message), w.filename, w.lineno) for w in caught], x.tolist()))
        assert found[: len(found) // 2] == found[len(found) // 2 :]
