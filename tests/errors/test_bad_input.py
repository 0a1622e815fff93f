"""Bad and unusual input: one test for each row of the table of outcomes in the design."""

import logging
import traceback

import numpy as np
import pytest

import jitrt
from jitrt import JitrtError

x = np.arange(6.0)


def same_exception(function, *args):
    """The plain and the compiled function raise alike, and the innermost user frame is the same line."""
    with pytest.raises(Exception) as plain:
        function(*args)
    with pytest.raises(plain.type) as compiled:
        jitrt.jit(function)(*args)
    assert str(compiled.value) == str(plain.value)
    lines = [
        [f.lineno for f in traceback.extract_tb(e.value.__traceback__) if f.filename == __file__][-1]
        for e in (plain, compiled)
    ]
    assert lines[0] == lines[1]
    return plain.type


def add(a, b):
    return a + b


class TestShapesAndAxes:
    def test_shapes_that_do_not_broadcast(self):
        assert same_exception(add, np.ones(3), np.ones(4)) is ValueError

    def test_axis_out_of_range(self):
        assert same_exception(lambda a: a.sum(axis=2), x) is np.exceptions.AxisError

    def test_duplicate_axis(self):
        assert same_exception(lambda a: a.sum(axis=(0, 0)), np.ones((2, 2))) is ValueError

    def test_index_out_of_range(self):
        assert same_exception(lambda a: a[10] * 2, x) is IndexError

    def test_gathered_index_out_of_range(self):
        def gather(a, i):
            return a[i] * 2

        compiled = jitrt.jit(gather)
        assert compiled(x, np.array([1, 2])).tolist() == [2.0, 4.0]
        with pytest.raises(IndexError):
            compiled(x, np.array([1, 20]))
        assert compiled(x, np.array([5, 0])).tolist() == [10.0, 0.0]

    def test_reshape_to_another_size(self):
        assert same_exception(lambda a: (a + 1).reshape(4, 4), x) is ValueError

    def test_maximum_of_nothing(self):
        assert same_exception(lambda a: a.max(), np.empty(0)) is ValueError

    def test_matrix_product_of_wrong_shapes(self):
        assert same_exception(lambda a, b: (a @ b) + 1, np.ones((2, 3)), np.ones((2, 3))) is ValueError

    def test_no_loop_for_these_types(self):
        assert same_exception(lambda a: np.bitwise_and(a, 1), x) is TypeError

    def test_python_integer_out_of_range(self):
        assert same_exception(lambda a: a + 300, np.ones(3, np.uint8)) is OverflowError


INTERRUPT = False


def interrupted(a):
    b = a + 1
    if INTERRUPT:
        raise KeyboardInterrupt
    return b


class TestUserExceptions:
    def test_exception_of_the_user_propagates_and_the_next_call_works(self):
        def guarded(a, limit):
            if limit < 0:
                raise KeyError("limit")
            return a * 2 + limit

        compiled = jitrt.jit(guarded)
        with pytest.raises(KeyError, match="limit"):
            compiled(x, -1)
        np.testing.assert_array_equal(compiled(x, 1), guarded(x, 1))

    def test_keyboard_interrupt_during_a_trace(self, monkeypatch):
        compiled = jitrt.jit(interrupted)
        monkeypatch.setitem(globals(), "INTERRUPT", True)
        with pytest.raises(KeyboardInterrupt):
            compiled(x)
        monkeypatch.setitem(globals(), "INTERRUPT", False)
        np.testing.assert_array_equal(compiled(x), x + 1)

    def test_linalg_error_of_a_later_call(self):
        def inverse(a):
            return np.linalg.inv(a) * 2

        compiled = jitrt.jit(inverse)
        compiled(np.eye(2))
        with pytest.raises(np.linalg.LinAlgError):
            compiled(np.zeros((2, 2)))
        np.testing.assert_array_equal(compiled(np.eye(2)), 2 * np.eye(2))

    def test_no_context_of_the_compiler_in_the_exception(self):
        with pytest.raises(ValueError) as e:
            jitrt.jit(add)(np.ones(3), np.ones(4))
        assert e.value.__context__ is None and e.value.__cause__ is None


class TestForeignArguments:
    @pytest.mark.parametrize(
        "value",
        [
            np.ma.array([1.0, 2.0], mask=[True, False]),
            np.array([1, 2], dtype=object),
            np.array(["a", "b"]),
            np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])["b"],
            np.arange(3.0).astype(">f8"),
            np.frombuffer(b"\0" * 17, np.uint8)[1:].view(np.float64),
            [1, 2],
        ],
        ids=["masked", "object", "string", "field", "byteswapped", "unaligned", "list"],
    )
    def test_plain_function_runs(self, value):
        def double(a):
            return a + a

        compiled = jitrt.jit(double)
        try:
            want = double(value)
        except TypeError as error:
            with pytest.raises(type(error)):
                compiled(value)
            return
        got = compiled(value)
        assert type(got) is type(want)
        assert str(got) == str(want)

    def test_subclass_is_untouched(self):
        class Tagged(np.ndarray):
            pass

        value = np.arange(3.0).view(Tagged)
        assert type(jitrt.jit(add)(value, 1.0)) is Tagged

    def test_reason_is_told(self):
        assert "MaskedArray" in jitrt.jit(add).explain(np.ma.array([1.0], dtype=object), 1.0).plain_reason


class TestArrays:
    @pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (), (1,), (1, 1)])
    def test_empty_and_small(self, shape):
        def compute(a):
            return a * 2 + 1, a.sum(), (a + 1).sum(axis=-1) if a.ndim else a

        value = np.ones(shape)
        for got, want in zip(jitrt.jit(compute)(value), compute(value)):
            np.testing.assert_array_equal(got, want)
            assert type(got) is type(want) and np.shape(got) == np.shape(want)

    def test_overlapping_arguments(self):
        base = np.arange(10.0)
        np.testing.assert_array_equal(jitrt.jit(add)(base[1:], base[:-1]), base[1:] + base[:-1])

    def test_negative_strides(self):
        base = np.arange(12.0).reshape(3, 4)
        for view in (base[::-1], base[:, ::-1], base[::-2, ::-3], base.T[::-1]):
            np.testing.assert_array_equal(jitrt.jit(add)(view, 1.0), view + 1.0)

    def test_read_only_input_is_read(self):
        value = np.arange(3.0)
        value.flags.writeable = False
        np.testing.assert_array_equal(jitrt.jit(add)(value, 1.0), value + 1.0)

    def test_writing_to_a_read_only_array_raises_before_anything_is_written(self):
        def scale(a, b):
            a *= 2
            b *= 2

        writable, fixed = np.ones(3), np.ones(3)
        fixed.flags.writeable = False
        with pytest.raises(ValueError):
            jitrt.jit(scale)(fixed, writable)
        assert writable.tolist() == [1.0, 1.0, 1.0]


class TestInternalErrors:
    @pytest.fixture
    def broken(self, monkeypatch, tmp_path):
        def fail(*args):
            raise RuntimeError("broken stage")

        monkeypatch.setattr("jitrt.programs._known", {})  # neither this process has compiled it before, nor another
        monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
        monkeypatch.setattr("jitrt.pipeline.schedule", fail)

    def test_strict_raises(self, broken):
        with pytest.raises(JitrtError, match="broken stage"):
            jitrt.jit(add)(x, 1.0)

    def test_otherwise_the_plain_function_runs_and_says_so(self, broken, monkeypatch, caplog):
        monkeypatch.setenv("JITRT_STRICT", "0")
        compiled = jitrt.jit(add)
        with caplog.at_level(logging.WARNING, "jitrt"):
            for _ in range(3):  # small calls wait for the third of a kind
                np.testing.assert_array_equal(compiled(x, 1.0), x + 1.0)
        assert "broken stage" in caplog.text
        assert "broken stage" in compiled.explain(x, 1.0).plain_reason

    def test_an_error_while_running_falls_back(self, monkeypatch):
        monkeypatch.setenv("JITRT_STRICT", "0")
        compiled = jitrt.jit(add)
        compiled.explain(x, b=1.0)

        def fail(*args):
            raise RuntimeError("broken run")

        monkeypatch.setattr("jitrt.runtime.program.Program.run", fail)
        np.testing.assert_array_equal(compiled(x, b=1.0), x + 1.0)
        assert "broken run" in compiled.explain(x, b=1.0).plain_reason


@pytest.mark.parametrize("function", [lambda t: -t + t + t, lambda t: -t - t, lambda t: abs(t) * 4, lambda t: t.sum()])
def test_times_that_overflow(function):
    """NumPy 2.5 raises; earlier ones give NaT or wrap around."""
    t = np.full(100_000, 2**62, "m8[s]")
    try:
        want = function(t)
    except OverflowError:
        with pytest.raises(OverflowError):
            jitrt.jit(function)(t)
        return
    np.testing.assert_array_equal(jitrt.jit(function)(t), want)
