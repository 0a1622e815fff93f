"""Lists that mix traced scalars, arrays and numbers, wherever NumPy takes an array: no symbol may ever get into one."""

import copy
import warnings

import numpy as np
import pytest

import jitrt


def same(want, got):
    if isinstance(want, (tuple, list)):
        assert type(want) is type(got) and len(want) == len(got)
        for a, b in zip(want, got):
            same(a, b)
        return
    assert type(got) is type(want) and got.dtype == want.dtype
    np.testing.assert_array_equal(got, want, strict=isinstance(want, np.ndarray))


def agree(function, *args):
    compiled = jitrt.jit(function)
    for scale in (1, 2):
        given = [scale * a for a in args]
        same(function(*given), compiled(*given))


# Lists of three elements, of scalars that depend on an argument and others.
LISTS = {
    "scalar and numbers": lambda x: [x[0], 2.0, 3],
    "numbers of one kind": lambda x: (x[0], 2, True),
    "scalars of two types": lambda x: [x[0], np.float32(2), x[1]],
    "computed": lambda x: [x.sum(), x.max() * 2, x[1]],
    "0-d array": lambda x: [np.array(x[0]), 1.5, x[1]],
}
ONE_LIST = {
    "concatenate": lambda x, v: np.concatenate((v, np.diff(x))),
    "concatenate alone": lambda x, v: np.concatenate((v, v)),
    "hstack": lambda x, v: np.hstack([x, v, x[0], 3]),
    "vstack": lambda x, v: np.vstack([x, v]),
    "stack": lambda x, v: np.stack([v, x, v], axis=1),
    "column_stack": lambda x, v: np.column_stack([x, v]),
    "dstack": lambda x, v: np.dstack([x, v]),
    "block": lambda x, v: np.block([[x, np.array(v)], [np.array(v), 2 * x]]),
    "append": lambda x, v: np.append(x, v),
    "r_": lambda x, v: np.r_[x, v, x[0], 1.0, 0:3],
    "c_": lambda x, v: np.c_[x, v],
    "einsum": lambda x, v: np.einsum("i,i->i", x, v),
    "dot": lambda x, v: np.dot(x, v),
    "matmul": lambda x, v: np.matmul(v, x),
    "tensordot": lambda x, v: np.tensordot(x, v, 1),
    "outer": lambda x, v: np.outer(v, x),
    "where": lambda x, v: np.where([x[0] > 0, True, False], v, x),
    "select": lambda x, v: np.select([[x[0] > 0, False, True], x > 0], [v, x], x[0]),
    "clip": lambda x, v: np.clip(x, None, v),
    "take": lambda x, v: np.take(v, [0, 2]),
    "full": lambda x, v: np.full((2, 3), v),
    "full_like": lambda x, v: np.full_like(x, v),
    "interp": lambda x, v: np.interp(x, [-100.0, x[0] * 0, 100.0], v),
    "abs": lambda x, v: np.abs(v),
    "square": lambda x, v: np.square([v, x]),
    "add lists": lambda x, v: np.add(v, [x[0], x, 1][:1]),
    "hypot": lambda x, v: np.hypot(v, (x[0], 2, x[1])),
    "where and out": lambda x, v: np.multiply(v, x, out=np.zeros(3), where=[True, False, True]),
    "several results": lambda x, v: np.modf(v),
    "logical_and.reduce": lambda x, v: np.logical_and.reduce([x > 0, x < 2]),
    "maximum.reduce": lambda x, v: np.maximum.reduce([x, v, -x]),
    "add.accumulate": lambda x, v: np.add.accumulate(v),
    "subtract.outer": lambda x, v: np.subtract.outer(v, [x[1], 1]),
    "divmod": lambda x, v: np.divmod(v, [x[0], 0.3, 2]),
    "maximum": lambda x, v: np.maximum(x, v),
    "store": lambda x, v: (y := np.zeros((2, 3)), y.__setitem__(1, v), y)[2],
    "sum": lambda x, v: np.sum(v),
    "max": lambda x, v: np.max([x, v], axis=0),
    "mean": lambda x, v: np.mean([x, x * 2, v], 0),
    "median": lambda x, v: np.median([x, v], axis=0),
    "cumsum": lambda x, v: np.cumsum(v),
    "argmax": lambda x, v: np.argmax(v),
    "any": lambda x, v: np.any([x > 1, x < 0], axis=0),
    "diff": lambda x, v: np.diff(x, prepend=v),
    "norm": lambda x, v: np.linalg.norm(v),
    "asarray": lambda x, v: np.asarray([v, x]),
}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("made", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("function", ONE_LIST.values(), ids=ONE_LIST)
def test_lists_are_what_numpy_makes_of_them(function, made):
    agree(lambda x: function(x, made(x)), np.array([0.5, -1.25, 2.0]))


@pytest.mark.parametrize("dtype", "?bHqefFd")
def test_types_of_lists(dtype):
    x = np.array([1, 0, 3]).astype(dtype)

    def mixed(x):
        lists = [x[0], 2], [x[0], 2.5], [np.int8(1), x[1]], [x[0], np.float32(1)], [[x[0], 1], [True, x[2]]]
        return *map(np.array, lists), *(np.concatenate((v, [x[0]])) for v in lists[:4]), np.r_[x[0], 1], np.r_[x, 1.5]

    agree(mixed, x.view())


def test_nested_lists_of_different_shapes_are_numpys_errors():
    x = np.arange(3.0)
    for function in (lambda x: np.array([x, x[0]]), lambda x: np.vstack([[x, x[0]], x]), lambda x: np.dot(x, [x, [1]])):
        with pytest.raises(ValueError, match="inhomogeneous"):
            jitrt.jit(function)(x)


WRITERS = {
    "copyto": lambda v, x: np.copyto(v, x),
    "copyto, number": lambda v, x: np.copyto(v, 3.0),
    "put": lambda v, x: np.put(v, [0], x[0]),
    "place": lambda v, x: np.place(v, x > 0, x),
    "putmask": lambda v, x: np.putmask(v, x > 0, x),
    "fill_diagonal": lambda v, x: np.fill_diagonal(v, x[0]),
    "put_along_axis": lambda v, x: np.put_along_axis(v, np.array([0]), x, 0),
    "add.at": lambda v, x: np.add.at(v, [0], x[0]),
    "out": lambda v, x: np.add(x, x, out=v),
}


@pytest.mark.parametrize("name", WRITERS)
def test_lists_that_functions_would_write_into(name):
    """NumPy writes into arrays only; an array that were made of a list would be written in vain."""
    for given in ([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]], (1.0, 2.0)):
        raised = []
        for function in (jitrt.jit(WRITERS[name]), WRITERS[name]):
            value = copy.deepcopy(given)
            with pytest.raises((TypeError, AttributeError, ValueError)) as info:
                function(value, np.array([1.0, 2.0]))
            assert value == given
            raised.append(info.type)
        assert raised[0] is raised[1]


def test_a_list_of_objects_is_not_computed_with():
    x = np.arange(3.0)
    function = lambda x: np.array([x, x[0], None], dtype=object)[1]  # noqa: E731
    assert jitrt.jit(function)(x) == 0.0


def test_long_vectors():
    """Where the example was found: a result that held symbols."""
    x = np.random.default_rng(0).random(200_000)
    agree(lambda x: np.concatenate(([x[0]], np.diff(x))), x)


SEVERAL = frozenset(["broadcast_arrays", "meshgrid", "histogramdd", "lexsort", "is_busday"])


def functions_of_one_array():
    """NumPy's functions that take an array alone, or an array and an axis."""
    x = np.array([[0.5, -1.25, 2.0], [1.0, -2.5, 4.0]])
    for module in (np, np.linalg):
        for name, function in sorted(vars(module).items()):
            if type(function) is not type(np.max) or name.startswith("_") or name in ("empty_like", "copyto"):
                continue
            for given in ({"axis": 0}, {}):
                try:
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("error")
                        result = function(list(x), **given)
                except Exception:
                    continue
                if name not in SEVERAL and isinstance(result, (np.ndarray, np.generic)):
                    yield pytest.param(function, given, id=f"{module.__name__}.{name}")
                break


@pytest.mark.parametrize("function, given", list(functions_of_one_array()))
def test_functions_of_one_array_take_lists_without_a_look(function, given):
    x = np.array([0.5, -1.25, 2.0])
    agree(lambda x: function([x, 2 * x], **given), x)
    compiled = jitrt.jit(lambda x: function([x, 2 * x], **given))
    compiled(x)
    breaks = [b for found in compiled._specialisations.compiled() for b in found.traced.breaks]
    assert "an array is made of it" not in [b.why for b in breaks]


CONCATENATED = {
    "r_ of slices": lambda x: np.r_[x, 1:5, 0:1:4j, x[0], 2],
    "r_ of floats": lambda x: np.r_[0, x * 2, np.float64(3)],
    "r_ of lists": lambda x: np.r_[[x[0], 2], x],
    "r_ of matrices": lambda x: np.r_[np.stack([x, x]), np.stack([x, x * 2])],
    "r_ with a directive": lambda x: np.r_["0,2", x, x],
    "r_ of one": lambda x: np.r_[x],
    "c_": lambda x: np.c_[x, x * 2],
    "c_ of slices": lambda x: np.c_[x, 0:3, 0:1:3j],
    "c_ of matrices": lambda x: np.c_[np.stack([x, x], 1), x],
    "c_ of a number": lambda x: np.c_[np.stack([x[:1]]), 5],
}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("dtype", "?bHiqfdF")
@pytest.mark.parametrize("function", CONCATENATED.values(), ids=CONCATENATED)
def test_concatenators(function, dtype):
    agree(function, np.array([1, 0, 3]).astype(dtype).view())


def test_concatenators_raise_what_numpy_raises():
    x = np.arange(3.0)
    for function in (
        lambda x: np.r_[np.stack([x, x]), x],
        lambda x: np.c_[x, x[:2]],
        lambda x: np.r_[x.astype("b"), 300],
    ):
        with pytest.raises((ValueError, OverflowError)) as want:
            function(x)
        with pytest.raises(type(want.value)):
            jitrt.jit(function)(x)


KEYED = {np.cumsum: 2.0, np.max: 3.0}


def test_functions_stay_what_they_are():
    """NumPy's functions are keys, are passed on and asked for their class, in a traced function as anywhere."""

    def by_key(x, g=np.max):
        return x * KEYED[np.cumsum] * KEYED[g] if g is np.max and np.max == g else x

    def by_class(x):
        return x * 2 if isinstance(np.max, type(np.sum)) and np.max.__module__ == "numpy" else x * 3

    def by_name(x):
        return x * len(np.mean.__name__) + len(np.mean.__doc__) + (repr(np.mean)[:14] == "<function mean")

    def handed_on(x):
        return np.apply_along_axis(np.cumsum, 0, x) + sum(map(np.max, [x, 2 * x])) + np.vectorize(np.mean)(x)

    for function in (by_key, by_class, by_name, handed_on):
        agree(function, np.linspace(0.5, 2.0, 50))


@pytest.mark.parametrize("name", ["meshgrid", "lexsort", "histogramdd"])
def test_lists_of_several_arrays(name):
    function = getattr(np, name)
    agree(lambda x: function([x, 2 * x])[0], np.array([0.5, -1.25, 2.0]))


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("number", [np.longdouble(1) / 3, np.clongdouble(1j) / 3, np.finfo(np.longdouble).min, 0.1])
@pytest.mark.parametrize("name", ["minimum", "add", "multiply", "hypot", "array", "concatenate", "stack", "sum"])
def test_long_doubles_in_lists(name, number, monkeypatch):
    """An element that is no long double itself NumPy puts into an array by way of a float."""
    monkeypatch.setenv("JITRT_STRICT", "1")
    two = (lambda a, b: getattr(np, name)([a, b])) if name in ("array", "concatenate", "stack", "sum") else None
    function = two or getattr(np, name)
    if name == "hypot" and np.iscomplexobj(number):
        return
    calls = (
        (lambda v, w: function([v], [w]), (number, 2.0)),
        (lambda a, b: function(a, b), ([number], [2.0])),
        (lambda a, b: function(a, b), ([number, 1.0], [2.0, 3.0])),
        (lambda x, v: function([x[0]], [v]), (np.array([number]), np.inf)),
    )
    for call, args in calls:
        compiled = jitrt.jit(call)
        for _ in range(2):
            with np.errstate(all="ignore"):
                want, got = np.asarray(call(*args)), np.asarray(compiled(*args))
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
