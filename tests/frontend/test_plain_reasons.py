"""What people are told of functions that run as plain NumPy: what the function does, and where."""

import threading
import time

import numpy as np
import pytest

import jitrt

x = np.arange(6.0)
lock = threading.Lock()


def prints(x):
    print(end="")
    return x


def reads_the_clock(x):
    return x + time.time()


def evaluates(x):
    return eval("1") + x


def seeds(x):
    np.random.seed(0)  # noqa: NPY002 (it is what the reason is about)
    return x


def locks(x):
    with lock:
        return x + 1


def gives_objects(x):
    return x.astype(object) + 1


def looks_into_memory(x):
    return x.__array_interface__["shape"]


@pytest.mark.parametrize(
    "function, reason",
    [
        (prints, "prints ("),
        (reads_the_clock, "calls time.time, which may have side effects or differ from call to call ("),
        (evaluates, "runs text as code ("),
        (seeds, "calls np.random.seed, which reads or sets the state of a random generator ("),
        (locks, "uses lock, of type lock, which may have side effects or differ from call to call ("),
        (gives_objects, "astype gives an array of object ("),
        (looks_into_memory, ".__array_interface__ of a value that is being traced ("),
    ],
)
def test_reasons_name_what_the_function_does_and_where(function, reason):
    found = jitrt.jit(function).explain(x).plain_reason
    assert found.startswith(reason)
    place, _, line = found.removeprefix(reason).rpartition(":")
    first = function.__code__.co_firstlineno
    assert place == __file__ and first < int(line.rstrip(")")) <= first + 2


@pytest.mark.parametrize(
    "argument, reason",
    [
        (np.array(["a"], object), "takes an array of object, which has no kernels"),
        (np.ma.masked_array(x.astype(object)), "takes an argument of type numpy.ma.MaskedArray, which is not compiled"),
    ],
)
def test_reasons_name_the_argument(argument, reason):
    assert jitrt.jit(lambda a: a * 2).explain(argument).plain_reason == reason


def test_what_reads_memory_gives_what_numpy_gives():
    assert jitrt.jit(looks_into_memory)(x) == looks_into_memory(x)


@pytest.mark.parametrize("kind, unit", [("m", "s"), ("M", "D"), ("M", "ns")])
def test_graphs_with_dates_can_be_printed(kind, unit):
    step = np.timedelta64(3, unit)
    text = jitrt.jit(lambda a: a + step).explain(x.astype(f"{kind}8[{unit}]")).text()
    assert "3" in text and "is compiled" in text
