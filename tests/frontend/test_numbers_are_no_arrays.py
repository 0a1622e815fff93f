"""Python numbers among the arguments have no subscripts and none of an array's methods, whatever stands for them."""

import numpy as np
import pytest

import jitrt

USES = {
    "subscript": lambda x, y: x + y[0],
    "ellipsis": lambda x, y: x + y[...],
    "ravel": lambda x, y: x + y.ravel(),
    "reshape": lambda x, y: x + y.reshape(1),
    "T": lambda x, y: x + y.T,
    "transpose": lambda x, y: x + y.transpose(),
    "sum": lambda x, y: x + y.sum(),
    "copy": lambda x, y: x + y.copy(),
    "len": lambda x, y: x + len(y),
    "store": lambda x, y: y.__setitem__(0, 1.0),
}


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("number", [2.5, 7, True, 1 + 2j])
def test_they_refuse_what_python_refuses(use, number):
    function = USES[use]
    compiled = jitrt.jit(function)
    for value in (np.ones(3), number, np.ones(3), number, number):
        try:
            wanted = function(np.arange(3.0), value)
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(np.arange(3.0), value)
        else:
            np.testing.assert_array_equal(compiled(np.arange(3.0), value), wanted)


def test_a_handler_sees_the_right_one():
    def careful(x, y):
        try:
            return x + y[9]
        except IndexError:
            return x
        except TypeError:
            return x - y

    compiled = jitrt.jit(careful)
    for y in (2.5, np.ones(2), 3.5):
        np.testing.assert_array_equal(compiled(np.ones(3), y), careful(np.ones(3), y))


def test_numbers_keep_their_own():
    def own(x, y):
        return x + y.real - y.imag + y.conjugate() + round(y, 1)

    compiled = jitrt.jit(own)
    for y in (2.25, 3.5, 7):
        np.testing.assert_array_equal(compiled(np.ones(3), y), own(np.ones(3), y))


@pytest.mark.wide(times=2)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16", "?"])
@pytest.mark.parametrize("number", [-3, 2.75, 300, True])
def test_real_and_imaginary_parts_take_any_number(dtype, number):
    """They are cast to the dtype, unlike numbers that are assigned to elements; NumPy 2.5 refuses large integers."""

    def parts(x):
        x.real = number
        if x.dtype.kind == "c":
            x.imag = number
        return x * 2

    compiled = jitrt.jit(parts)
    for _ in range(3):
        got, want = np.ones(3, dtype), np.ones(3, dtype)
        try:
            expected = parts(want)
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)):
                compiled(got)
        else:
            np.testing.assert_array_equal(compiled(got), expected, strict=True)
        np.testing.assert_array_equal(got, want, strict=True)
