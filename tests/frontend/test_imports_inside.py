"""Import statements inside traced functions."""

import sys
import types

import numpy
import pytest

import jitrt
from jitrt.errors import Untraceable
from jitrt.frontend.python.purity import scan

x = numpy.linspace(0.1, 2.0, 60)


def modules(a):
    import math

    import numpy as np
    import numpy.linalg

    return np.exp(a) * math.sqrt(2.0) + numpy.linalg.norm(a)


def names(a):
    from math import pi
    from math import sqrt as root

    from numpy import linalg as la
    from numpy import zeros

    made = zeros(a.shape)
    made[1:] = a[:-1] * root(pi)
    return made + la.norm(a)


def dotted(a):
    import numpy.fft as f

    return f.fft(a).real + 1


def read_by_a_nested_function(a):
    import numpy as np

    def helper(v):
        return np.where(v > 1, np.sqrt(v), 0.0)

    return helper(a) + [np.sin(v) for v in (a, a + 1)][1]


def optional(a):
    try:
        import no_such_module_anywhere as fast
    except ImportError:
        fast = None
    return a * 2 if fast is None else fast.double(a)


def helper_that_imports(a):
    return names(a) + modules(a)


def relative(a):
    try:
        from . import no_such_sibling
    except ImportError:
        return a * 3
    return no_such_sibling.triple(a)


CASES = (modules, names, dotted, read_by_a_nested_function, optional, relative, helper_that_imports)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_results_are_numpys_and_the_program_is_compiled(function):
    fast = jitrt.jit(function)
    for n in (60, 33):
        numpy.testing.assert_allclose(fast(x[:n]), function(x[:n]), rtol=1e-13)
    assert "plain NumPy" not in fast.explain(x).text()


def test_what_a_module_of_the_user_holds_is_read_at_every_call(monkeypatch):
    settings = types.ModuleType("settings_of_this_test")
    settings.scale, settings.table = 2.0, numpy.arange(60.0)
    monkeypatch.setitem(sys.modules, settings.__name__, settings)

    def scaled(a):
        import settings_of_this_test as s
        from settings_of_this_test import scale, table

        return a * scale + table * s.scale

    fast = jitrt.jit(scaled)
    for scale, table in ((2.0, x - 1), (3.0, x), (3.0, x + 1)):
        settings.scale, settings.table = scale, table
        numpy.testing.assert_array_equal(fast(x), scaled(x))


def test_what_they_bind_is_scanned_like_a_global():
    def draws(a):
        from random import random

        return a + random()

    def writes(a):
        import numpy as np

        np.save("somewhere", a)
        return a

    for function in (draws, writes):
        with pytest.raises(Untraceable):
            scan(function)


def test_nobody_else_sees_other_modules():
    def keeps(a):
        import numpy as np

        return a * len(np.__name__)

    fast = jitrt.jit(keeps)
    numpy.testing.assert_array_equal(fast(x), keeps(x))
    assert sys.modules["numpy"] is numpy
    assert __import__("numpy") is numpy
