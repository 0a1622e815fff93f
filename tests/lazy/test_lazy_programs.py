"""Programs as people write them, with `np` bound to `jitrt.numpy`: what they give, write and raise is NumPy's."""

import functools
import importlib
import sys
import types
import warnings
from pathlib import Path

import numpy
import pytest

import jitrt.numpy

CORPUS = Path(__file__).parents[1] / "corpus"
pytestmark = pytest.mark.filterwarnings("ignore")


def _corpus():
    """The functions of the corpus, and recipes for their arguments."""
    sys.path.insert(0, str(CORPUS))
    try:
        for path in sorted(CORPUS.glob("corpus_*.py")):
            importlib.import_module(path.stem)
        return importlib.import_module("catalogue").EXAMPLES
    finally:
        sys.path.remove(str(CORPUS))


EXAMPLES = _corpus()


def bound(function):
    """The function with `jitrt.numpy` in place of NumPy, and so for the functions of its module that it calls."""
    if isinstance(function, functools.partial):
        return functools.partial(bound(function.func), *function.args, **function.keywords)
    names = {k: jitrt.numpy if v is numpy else v for k, v in function.__globals__.items()}
    for key, value in list(names.items()):
        if isinstance(value, types.FunctionType) and value.__globals__ is function.__globals__:
            names[key] = copied(value, names)
    return copied(function, names)


def copied(function, names):
    made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def lazily(value):
    """Nested values with lazy arrays in place of NumPy's, in the same memory."""
    if type(value) is numpy.ndarray:
        return jitrt.numpy.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(map(lazily, value))
    return {k: lazily(v) for k, v in value.items()} if type(value) is dict else value


def outcome(function, args):
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args), None
        except Exception as error:
            return None, type(error)


def assert_same(got, want, tolerance, path):
    if isinstance(want, dict):
        assert got.keys() == want.keys(), path
        for key in want:
            assert_same(got[key], want[key], tolerance, f"{path}.{key}")
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want), path
        for k, (x, y) in enumerate(zip(got, want)):
            assert_same(x, y, tolerance, f"{path}.{k}")
    elif isinstance(want, (numpy.ndarray, numpy.generic, int, float, complex)) and not isinstance(
        want, numpy.ma.MaskedArray
    ):
        got, want = numpy.asarray(got), numpy.asarray(want)
        assert (got.dtype, got.shape) == (want.dtype, want.shape), path
        if want.dtype.kind in "fc":
            scale = numpy.max(numpy.abs(want), where=numpy.isfinite(want), initial=0.0)
            bound = tolerance * numpy.finfo(want.dtype).eps * scale
            numpy.testing.assert_allclose(got, want, rtol=0, atol=bound, err_msg=path)
        else:
            numpy.testing.assert_array_equal(got, want, path)


@pytest.mark.wide
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize(
    ("is_compiled", "limit"),
    [(True, 0), (False, 0), (False, None)],
    ids=["compiled", "by NumPy at first", "by NumPy where small"],
    indirect=["limit"],
)
def test_agrees_with_numpy(name, is_compiled, limit, monkeypatch):
    monkeypatch.setenv("JITRT_STRICT", str(int(is_compiled)))
    example = EXAMPLES[name]
    if example.log is not None:
        pytest.skip("appends to a list of its module")
    function = bound(example.function)
    size = example.sizes[not is_compiled]
    for seed, convert in ((0, lazily), (1, lambda args: args)):
        plain = example.make(numpy.random.default_rng(seed), size)
        args = convert(example.make(numpy.random.default_rng(seed), size))
        want, error = outcome(example.function, plain)
        got, raised = outcome(function, args)
        assert raised is error, f"{name}: {raised} and not {error}"
        assert_same(got, want, example.tolerance, name)
        assert_same(args, plain, example.tolerance, f"{name}, arguments")
