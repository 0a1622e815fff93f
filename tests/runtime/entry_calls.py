"""What the tests of the native entry have in common: whether native code serves a call."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import jitrt
from jitrt.runtime.objects import fields
from jitrt.values.versions import version_offset

needs_native_calls = pytest.mark.skipif(fields() is None, reason="calls are checked in Python on this build")
needs_versions = pytest.mark.skipif(
    fields() is None or version_offset() is None, reason="calls are checked in Python on this build"
)

x = np.arange(6.0)


class Watched(jitrt.JitFunction):
    """A function that counts the calls that native code does not serve."""

    missed = 0

    def _call(self, args, kwargs):
        self.missed += 1
        return super()._call(args, kwargs)


def is_served(function, *args, **kwargs):
    """Whether native code serves a call like this one."""
    before = function.missed
    function(*args, **kwargs)
    return function.missed == before


def check(function, *args, **kwargs):
    """Whether native code serves such a call, which gives what the plain function gives."""
    before = function.missed
    np.testing.assert_array_equal(function(*args, **kwargs), function.__wrapped__(*args, **kwargs))
    return function.missed == before


def compiled(function, *args):
    """`function`, called so that native code serves further calls like these."""
    made = Watched(function)
    for _ in range(2):  # what methods name is known after the first one
        check(made, *args)
    assert check(made, *args)
    return made


class Model:
    scale = 2.0

    def __init__(self, x=x, k=3.0):
        self.x = x
        self.k = k
        self.name = "model"

    def run(self, dt):
        return self.x * self.k * self.scale + dt

    @property
    def scaled(self):
        return self.x * self.k

    def by_property(self, dt):
        return self.scaled + dt


class Heir(Model):
    pass


@dataclass
class Point:
    x: np.ndarray
    k: float


@dataclass(frozen=True)
class Frozen:
    x: np.ndarray
    k: float


Pair = namedtuple("Pair", "x k")


def axpy_of(o, dt):
    return o.x * o.k + dt
