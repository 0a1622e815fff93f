"""Handlers of exceptions in the user's code: they catch what plain NumPy raises there, and nothing else."""

import numpy as np
import pytest
from test_mutation import assert_equal

import jitrt


def catches_a_conversion(x):
    try:
        return x + int(x[0])
    except ValueError:
        return x - 1


def catches_what_numpy_raises(x):
    try:
        return np.linalg.inv(x[:4].reshape(2, 2))
    except np.linalg.LinAlgError:
        return np.linalg.pinv(x[:4].reshape(2, 2)) * 2


def catches_everything(x):
    try:
        y = x.view(np.int64)
    except:  # noqa: E722
        y = x + 1
    return y


def catches_base_exceptions(x):
    try:
        y = np.frombuffer(x.tobytes()) * 2
    except BaseException:
        y = x + 1
    return y


def raises_another(x):
    try:
        y = x / int(x[0])
    except BaseException:
        raise RuntimeError("not a number") from None
    return y


def returns_finally(x):
    y = x * 0
    try:
        y = x.astype("U8")
    finally:
        return y  # noqa: B012


def catches_a_loop_that_does_not_repeat(x):
    total = x * 0
    for k in range(10):
        try:
            total = total + x[k % 4]
        except:  # noqa: E722
            total = total - 1
    return total


def catches_python(x, a):
    try:
        return x * (1.0 / a)
    except ZeroDivisionError:
        return x


FUNCTIONS = [
    catches_a_conversion, catches_what_numpy_raises, catches_everything, catches_base_exceptions, raises_another,
    returns_finally, catches_a_loop_that_does_not_repeat,
]  # fmt: skip
VALUES = [np.array([np.nan, 1.0, 2.0, 3.0]), np.array([4.0, 1.0, 2.0, 3.0]), np.zeros(4)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("first", range(3))
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_like_plain_whatever_comes_first(function, first):
    fast = jitrt.jit(function)
    for x in [VALUES[first], *VALUES, *VALUES]:
        try:
            want = function(x.copy())
        except Exception as error:
            with pytest.raises(type(error)):
                fast(x.copy())
            continue
        assert_equal(fast(x.copy()), want)


@pytest.mark.parametrize("first", [0.0, 2.0])
def test_python_numbers(first):
    fast, x = jitrt.jit(catches_python), np.ones(3)
    for a in [first, 0.0, 2.0, 0.0, 4.0]:
        assert_equal(fast(x, a), catches_python(x, a))


def test_what_types_decide_is_traced():
    def either(x, y):
        try:
            return x + y
        except ValueError:
            return x[:2] * 2

    fast, x = jitrt.jit(either), np.arange(3.0)
    assert fast.explain(x, np.ones(4)).plain_reason == ""
    for y in (np.ones(4), np.ones(3), np.ones(4)):
        assert_equal(fast(x, y), either(x, y))


def behind_a_handler(x, y, i):
    try:
        z = 1 / y
    except FloatingPointError:
        return -x
    return z * x[i]


def behind_a_scope(x, y, i):
    with np.errstate(divide="raise"):
        try:
            z = 1 / y
        except FloatingPointError:
            return -x
    return z * x[i]


def of_a_helper(x, y, i):
    return behind_a_scope(x, y, i) + 1


@pytest.mark.parametrize("function", [behind_a_handler, behind_a_scope, of_a_helper], ids=lambda f: f.__name__)
@pytest.mark.parametrize("state", ["raise", "ignore"])
def test_what_fails_in_a_trace_behind_a_handler_that_returns(function, state):
    """A trace raises no floating-point exception, and comes to what the function does not."""
    compiled = jitrt.jit(function)
    x = np.arange(1.0, 6.0)
    with np.errstate(all=state):
        for i in (3, 7, 7, 3, 3):
            for y in (np.zeros(5), x, np.zeros(5)):
                results = []
                for f in (function, compiled):
                    try:
                        results.append(f(x, y, i))
                    except IndexError as error:
                        results.append(str(error))
                np.testing.assert_array_equal(*results)
