"""Functions with loops that print, warn or log: the plain function answers where a message is due, and only there."""

import logging
import warnings

import numpy as np
import pytest

import jitrt
from tests.frontend.test_element_loops import agrees

log = logging.getLogger("tests.of.messages")
X = np.arange(6.0)


def steps(x, limit):
    total = 0.0
    if len(x) and x[0] > limit:
        print("begins above", limit)
    for i in range(len(x)):
        total = total * 0.5 + x[i]
        if total > limit:
            warnings.warn(f"above {limit}", stacklevel=2)
    if total > limit:
        print("ends above", limit)
    return total


def test_what_is_printed_and_warned_of(capsys):
    fast = agrees(steps, (X, 100.0), (X[:3], 100.0))
    for limit in (3.0, 100.0, 3.0):
        said = []
        for function in (steps, fast):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                value = function(X, limit)
            said.append((value, capsys.readouterr().out, [str(w.message) for w in caught]))
        assert said[0] == said[1]


def test_progress_that_is_printed(capsys):
    def slow(x):
        total = 0.0
        for i in range(len(x)):
            total = total * 0.5 + x[i]
            if i % 3 == 0:
                print(i)
        return total

    fast = jitrt.jit(slow)
    for _ in range(3):
        assert fast(X) == slow(X)
        assert capsys.readouterr().out == "0\n3\n" * 2
    assert not fast._loops.source((X,))


def test_a_message_of_every_call(capsys):
    def talkative(x):
        print("starts")
        total = 0.0
        for i in range(len(x)):
            total = total * 0.5 + x[i]
        return total

    fast = jitrt.jit(talkative)
    for _ in range(4):
        assert fast(X) == talkative(X)
        assert capsys.readouterr().out == "starts\n" * 2


def logged(x):
    log.debug("%d elements, the first %s", len(x), f"{x[0]:.3f}")
    total = 0.0
    for i in range(len(x)):
        total = total * 0.5 + x[i]
        log.info("step %d", i)
    return total


@pytest.fixture
def records():
    kept = []
    handler = logging.Handler()
    handler.emit = lambda record: kept.append(record.getMessage())
    log.addHandler(handler)
    before = log.level, log.parent.level, logging.root.level
    yield kept
    log.removeHandler(handler)
    log.setLevel(before[0])
    log.parent.setLevel(before[1])
    logging.root.setLevel(before[2])
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("enable", [
    lambda: log.setLevel(logging.INFO),
    lambda: log.parent.setLevel(logging.DEBUG),
    lambda: logging.root.setLevel(logging.DEBUG),
])  # fmt: skip
def test_a_level_that_changes(records, enable):
    logging.root.setLevel(logging.WARNING)
    fast = agrees(logged, (X,), (X[:3],))
    assert not records
    enable()
    fast(X)
    got = list(records)
    records.clear()
    logged(X)
    assert got == records and got
    records.clear()
    logging.disable(logging.CRITICAL)
    assert fast(X) == logged(X) and not records


def test_arguments_of_messages_that_nobody_reads(records):
    def pops(x):
        rest = [1, 2, 3]
        log.debug("the last one: %d", rest.pop())
        total = 0.0
        for i in range(len(x)):
            total = total * 0.5 + x[i] * len(rest)
        return total

    logging.root.setLevel(logging.WARNING)
    agrees(pops, (X,), (X[:3],))


def test_filters_within_a_function():
    def quiet(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            total = 0.0
            for i in range(len(x)):
                total = total * 0.5 + np.log(x[i])
        return total

    def for_good(x):
        warnings.simplefilter("ignore")
        total = 0.0
        for i in range(len(x)):
            total = total * 0.5 + x[i]
        return total

    fast = agrees(quiet, (X + 1,), (X[1:],))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fast(X) == quiet(X) == -np.inf or np.isinf(quiet(X))
        np.testing.assert_equal(fast(X), quiet(X))
    for function in (for_good, jitrt.jit(for_good)):
        for _ in range(3):
            with warnings.catch_warnings():
                before = len(warnings.filters)
                function(X)
                assert len(warnings.filters) > before
