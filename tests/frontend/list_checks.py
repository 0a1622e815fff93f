"""Checks of functions that change lists: of a body, against plain Python, with which lists are one and the same."""

import textwrap
from collections import defaultdict, deque

import numpy as np
from texts import function_of

import jitrt
from jitrt.frontend.control.stage import stage

NAMES = {"deque": deque, "defaultdict": defaultdict}


def made(body):
    text = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return function_of(f"def f(n, u, x):\n{text}\n", **NAMES)


def call(n, count, seed=0):
    rng = np.random.default_rng(seed)
    return n, rng.integers(0, n, count), rng.normal(size=count)


CALLS = [call(20, 100), call(7, 31), call(45, 700, seed=1), call(5, 12)]


def shown(value, known=None):
    """A value with the types in it; of lists which of them are one."""
    known = {} if known is None else known
    if isinstance(value, dict):
        return type(value), [(shown(k), shown(v, known)) for k, v in value.items()]
    if isinstance(value, list):
        is_new = id(value) not in known
        return known.setdefault(id(value), len(known)), [shown(v, known) for v in value] if is_new else None
    if isinstance(value, tuple):
        return tuple(shown(v, known) for v in value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.round(12).tolist()
    if isinstance(value, (float, np.floating)):
        return type(value), repr(float(f"{value:.12g}"))
    return type(value), repr(value)


def outcome(function, args):
    given = [v.copy() if isinstance(v, np.ndarray) else v for v in args]
    try:
        return shown(function(*given)), shown(given)
    except Exception as error:
        return type(error), str(error), shown(given)


def agrees(body):
    """A body is staged, and gives what Python gives: over calls of several sizes."""
    function = made(body)
    stage(function, CALLS[0], True)  # which raises where it is not staged
    compiled = jitrt.jit(function)
    for args in (*CALLS, *CALLS[:2]):
        assert outcome(compiled, args) == outcome(function, args)
    assert compiled.explain(*CALLS[0]).loop
