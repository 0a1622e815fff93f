"""Arguments of reductions are bound to parameters as Python binds them."""

import inspect
import itertools

import numpy as np
import pytest

from jitrt.ir.ops.reductions import given_arguments

VALUES = [1, None, (0,), True, np._NoValue]


def outcome(bind, *given):
    """The names and values in their order, or the message of the exception."""
    try:
        return list(bind(*given).items())
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("function", [np.sum, np.max, np.mean, np.any, np.argmax], ids=lambda f: f.__name__)
def test_arguments_are_bound_as_python_does(function):
    signature = inspect.signature(function)

    def bound(args, kwargs):
        return {k: v for k, v in signature.bind(*args, **kwargs).arguments.items() if v is not np._NoValue}

    names = [*signature.parameters, "unknown"]
    for count in range(6):
        for chosen in [(), *itertools.combinations(names, 1), *itertools.combinations(names, 2)]:
            args = tuple(VALUES[:count])
            kwargs = {name: VALUES[(k + count) % len(VALUES)] for k, name in enumerate(chosen)}
            assert outcome(given_arguments, function, args, kwargs) == outcome(bound, args, kwargs)
