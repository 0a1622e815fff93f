"""What is hard for arrays that are computed later: who sees which write, where errors come from, threads, memory."""

import copy
import pickle
import sys
import threading
import traceback
import tracemalloc
import warnings

import numpy
import pytest

import jitrt
import jitrt.numpy as np
from jitrt.numpy.pending import PENDING

pytestmark = [
    pytest.mark.parametrize("limit", [0, None], indirect=True),
    pytest.mark.filterwarnings("default"),
]
N = 40_000


def arrays():
    x = numpy.arange(float(N)) / N
    return jitrt.asarray(x.copy()), x


def test_writes_between_recording_and_looking(limit):
    for given in arrays():
        y = given * 2
        given[0] = 5.0
        z = given * 2
        view = given[::-1]
        view[-1] += 1.0
        w = given[:3] + view[-3:][::-1]
        given *= 0.0
        assert (y[0], z[0], w[0], given[0], view[-1]) == (0.0, 10.0, 12.0, 0.0, 0.0)


def test_the_same_memory_under_many_names(limit):
    plain = numpy.arange(float(N))
    first, second = jitrt.asarray(plain), jitrt.asarray(plain[1:])
    doubled = first + 1
    second[0] = -1.0
    plain[2] = -2.0
    numpy.asarray(first)[3] = -3.0
    numpy.add(plain, 0.5, out=plain)
    assert first[:4].tolist() == [0.5, -0.5, -1.5, -2.5] and second[:3].tolist() == [-0.5, -1.5, -2.5]
    assert doubled[:4].tolist() == [1.0, 2.0, 3.0, 4.0]
    first[1:] = first[:-1]  # overlaps itself
    assert plain[:4].tolist() == [0.5, 0.5, -0.5, -1.5]


def test_swaps_and_shifts_in_place(limit):
    given, want = arrays()
    for x in (given, want):
        a, b = x[: N // 2], x[N // 2 :]
        a[:], b[:] = b.copy(), a.copy()
        x[1:] += x[:-1]
        x[::2], x[1::2] = x[1::2].copy(), x[::2].copy()
    assert numpy.array_equal(given, want)


def test_errors_come_from_the_line_that_is_wrong(limit):
    wrong = {
        "x + x[:-1]": ValueError,
        "x[N]": IndexError,
        "x.reshape(3, 7)": ValueError,
        "x.sum(axis=1)": numpy.exceptions.AxisError,
        "x @ x[:-1]": ValueError,
        "x.astype('no such dtype')": TypeError,
        "x.no_such_method()": AttributeError,
        "np.concatenate([x, np.ones((2, 2))])": ValueError,
        "x[:3].__setitem__(slice(None), x[:4])": ValueError,
        "x << 1": TypeError,
        "float(x)": TypeError,
        "bool(x)": ValueError,
        "hash(x)": TypeError,
        "np.broadcast_to(x, (2, 3))": ValueError,
    }
    for text, kind in wrong.items():
        x = arrays()[0] + 1.0
        with pytest.raises(kind) as caught:
            exec(compile(f"y = x * 2\n{text}\nz = x * 3", "<users>", "exec"), {"x": x, "np": np, "N": N})
        lines = [f.lineno for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == "<users>"]
        assert lines == [2], text
        assert x[0] == 1.0  # nothing is left half done


def test_the_error_state_is_that_of_the_line_that_looks(limit):
    x = arrays()[0]
    with numpy.errstate(divide="ignore"):
        assert (1 / x)[0] == numpy.inf
    with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError):
        1 / x
    with numpy.errstate(divide="warn"), pytest.warns(RuntimeWarning, match="divide by zero"):
        str(1 / x)
    with warnings.catch_warnings(), pytest.raises(RuntimeWarning):
        warnings.simplefilter("error")
        1 / x
    calls = []
    with numpy.errstate(divide="call", call=lambda *args: calls.append(args)):
        (1 / x).sum()
    assert len(calls) == 1
    assert (x + 1)[0] == 1.0


def test_copies_and_pickles_of_what_is_pending(limit):
    x = arrays()[0]
    pending, view = x * 2, (x + 1)[::3]
    nested = {"a": [pending, view], "b": pending}
    for made in (copy.deepcopy(nested), pickle.loads(pickle.dumps(nested))):
        assert numpy.array_equal(made["a"][0], numpy.asarray(x) * 2) and made["a"][1].shape == view.shape
        made["a"][0][0] = -1.0
        assert pending[0] == 0.0
    assert numpy.array_equal(copy.copy(view), view)


def test_threads_share_and_write(limit):
    shared, failures = arrays()[0] + 1, []

    def work(k):
        try:
            own = shared * k
            for step in range(60):
                own = own + 1.0 if step % 3 else own * 0.5
                own[k] = step
                if step % 7 == k % 7:
                    assert own[k] == step
            want = numpy.asarray(shared) * k
            for step in range(60):
                want = want + 1.0 if step % 3 else want * 0.5
                want[k] = step
            assert numpy.array_equal(own, want)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_many_updates_need_bounded_memory(limit):
    size = 50 if limit == 0 else N
    x = jitrt.asarray(numpy.zeros(size))
    for _ in range(2000):  # programs and pieces are known by now
        x = x * 0.5 + 1.0
    float(x[0])
    tracemalloc.start()
    most = 0
    for turn in range(5000):
        x = x * 0.5 + 1.0
        x[1:-1] += 0.25
        if turn % 500 == 0:
            most = max(most, len(PENDING.values), len(PENDING._memories))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20 and most < 4096
    assert numpy.isfinite(float(x[1]))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="of Python 3.12")
def test_memory_that_is_handed_out_as_a_buffer(limit):
    for given in arrays():
        later = given * 2
        doubled = given + given
        memory = memoryview(given)
        assert (memory.format, memory.shape, memory.readonly) == ("d", (N,), False)
        memory[1] = 5.0
        assert given[1] == 5.0 and later[1] == 2 / N and doubled[1] == 2 / N
        assert bytes(later) == later.tobytes()
        again = numpy.asarray(given)
        again[2] = 6.0
        assert given[2] == 6.0
    fixed = jitrt.asarray(numpy.broadcast_to(1.0, N))
    assert memoryview(fixed).readonly


PRELUDE = "a = np.array(numpy.arange(6.0)) * 2; v = a[1:]; w = v[1:]"
CHANGES = ["a.flags.writeable = False", "a.setflags(write=False)", "v.flags.writeable = False", "v.setflags(write=0)"]
WRITES = ["a[0] = 9", "a += 1", "a[1:3] = a[2:4] * 2", "np.add(a, 1, out=a)", "v[0] = 7", "v *= 2", "w[:] = 5"]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("write", WRITES)
def test_what_is_read_only_is_one_array(change, write):
    """Views that had been taken before were read-only, too, and a view itself could not be."""
    found = []
    for namespace in (numpy, np):
        scope = {"np": namespace, "numpy": numpy}
        exec(f"{PRELUDE}; {change}", scope)
        try:
            exec(write, scope)
            said = ""
        except ValueError as error:
            said = str(error)
        a, v, w = (scope[name] for name in "avw")
        found.append((said, a.tolist(), v.tolist(), w.tolist(), *(x.flags.writeable for x in (a, v, w, v[1:]))))
    assert found[0] == found[1]
