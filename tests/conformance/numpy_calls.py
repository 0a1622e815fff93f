"""Random calls of NumPy's functions: operands of all dtypes and layouts, arguments good and bad.

python tests/conformance/numpy_calls.py 20000 7           makes so many functions from that seed, prints what differs
python tests/conformance/numpy_calls.py 20000 7 loop      makes the calls in loops, which are staged
python tests/conformance/numpy_calls.py 20000 7 loop 25   calls each function with so many values
"""

from __future__ import annotations

import inspect
import itertools
import linecache
import random
import re
import resource
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from operands import ordinary, special

import jitrt
from bench.operations import APART
from jitrt.ir.ops.optable import METHODS

DTYPES = "f8 f8 f8 f4 i8 i8 i4 u1 u8 ? c16 c8 f2 i2 M8[s] m8[s]".split()
SHAPES = [(), (0,), (1,), (5,), (5,), (7,), (3, 4), (3, 4), (4, 4), (1, 4), (4, 1), (0, 3), (2, 3, 4), (40,), (300,)]
_AXES = ["0", "0", "1", "-1", "None", "2", "-3", "(0, 1)", "()", "(0, 0)", "1.0", "True", "'a'", "np.int64(0)"]
_NUMBERS = ["0", "1", "2", "3", "-1", "7", "2.5", "None", "True", "np.int32(2)", "10**20", "'x'"]
_DTYPE = ["float", "np.float32", "int", "'i4'", "complex", "bool", "'f2'", "'u1'", "object", "'>f8'", "'nope'", "None"]
_FLAG = ["True", "False", "1", "None"]
# What NumPy makes other arrays of than of numbers, or none.
_ODD = ["'a'", "b'a'", "['a', 'b']", "[1, None]", "np.array(['a', 'b'])", "np.array([1, None])", "range(3)", "{1: 2}"]
_ODD += ["np.datetime64('2020-01-01')", "object", "()", "[[1], [2, 3]]", "2**70", "np.array(None)", "slice(1)", "..."]
# What arguments of these names are given; all others are arrays.
ARGUMENTS = {
    "axis": _AXES, "axes": [*_AXES, "(1, 0)", "[0, 1]", "((0,), (0,))"], "axis1": _AXES, "axis2": _AXES,
    "keepdims": _FLAG, "dtype": _DTYPE, "ddof": ["0", "1", "2", "0.5", "100", "None"], "correction": ["0", "1"],
    "k": _NUMBERS, "n": _NUMBERS, "kth": ["0", "1", "2", "-1", "[0, 2]", "99", "1.5"], "num": ["0", "5", "-1", "2.0"],
    "decimals": ["0", "1", "-1", "3"], "offset": ["0", "1", "-1", "9"], "shift": ["0", "1", "-2", "9", "(1, 2)"],
    "q": ["0.5", "50", "[0.1, 0.9]", "0", "1", "100", "-1", "np.nan"], "method": ["'linear'", "'lower'", "'nope'"],
    "kind": ["None", "'stable'", "'nope'"], "side": ["'left'", "'right'", "'up'"], "sorter": ["None"],
    "mode": ["'raise'", "'wrap'", "'clip'", "'same'", "'full'", "'valid'", "'nope'"],
    "order": ["'C'", "'F'", "'K'", "'x'"],
    "indices": ["0", "1", "-1", "[0, 1]", "99", "[[0], [1]]", "[]", "1.0", "[True, False]"],
    "repeats": ["0", "2", "-1", "[1, 2]"],
    "shape": ["2", "(3, 4)", "(2, 6)", "-1", "(-1, 2)", "(5, 3, 4)", "(-1, -1)", "()", "1.5"],
    "newshape": ["-1", "(2, 6)"], "reps": ["0", "2", "(2, 1)", "-1"], "initial": ["0", "1", "5.0", "None", "np.inf"],
    "prepend": ["0", "1.5"], "indices_or_sections": ["2", "3", "[1, 2]", "0"], "source": ["0", "1", "(0, 1)"],
    "destination": ["0", "-1", "(1, 0)"], "fill_value": ["0", "1.5", "-1", "np.nan", "1j", "'a'"],
    "bins": ["5", "[0, 1, 2]", "0", "'auto'"], "minlength": ["0", "9", "-1"], "range": ["None", "(0, 1)", "(1, 0)"],
    "equal_nan": _FLAG, "return_index": _FLAG, "return_inverse": _FLAG, "return_counts": _FLAG,
    "a_min": ["0", "None", "2"], "a_max": ["1", "None", "0"], "min": ["0"], "max": ["1"],
    "pad_width": ["0", "1", "(1, 2)", "-1"], "N": ["3", "0", "-1"], "M": ["3", "0", "None"],
    "casting": ["'same_kind'", "'unsafe'", "'no'"], "copy": _FLAG, "subok": _FLAG,
    "ord": ["None", "1", "2", "np.inf", "'fro'", "'nope'"], "p": ["2"], "tol": ["None"],
    "subscripts": ["'i->'", "'ij->ji'", "'i,i'", "'ij,jk'", "'i'"], "rtol": ["1e-5"], "atol": ["1e-8", "np.nan"],
    "inplace": ["False"], "refcheck": ["False"], "fweights": ["None"], "aweights": ["None"], "weights": ["None"],
    "density": _FLAG, "stable": ["None"], "descending": ["False"], "like": ["None"], "device": ["None"],
    "out": ["None"], "where": ["True"], "overwrite_input": ["False"], "interpolation": ["None"], "mean": ["None"],
    "unit": ["'s'"], "deg": ["1", "2", "-1"], "period": ["6.28", "None"], "left": ["None", "0"],
    "right": ["None", "1"], "upper": _FLAG, "start": ["0", "1", "9"], "stop": ["3"], "step": ["1"],
    "window_shape": ["2", "3", "9"], "rcond": ["None"], "v": ["0", "2"],
}  # fmt: skip
_CALLED = (np.ufunc, types.FunctionType, types.BuiltinFunctionType, type(np.sum))
# They call back, give what is in memory, or leave open in which order.
_APART = APART | set(
    """apply_along_axis apply_over_axes piecewise tolist view item empty empty_like partition argpartition""".split()
)


# Where a call stands: by itself, or in a loop that is staged.
FORMS = {
    "alone": "def function({names}):\n    return {text}\n",
    "loop": """def function({names}):
    made = []
    for turn in range(2):
        made.append({text})
    return made[0], made[1]
""",
    "numbers": """def function({names}):
    total = 0
    for turn in range(3):
        total += turn
    return {text}, total
""",
}
_numbers = itertools.count()
_MEMORY = 6 << 30  # bytes: counts of large numbers want more
# Sums that meet nan before infinities of both signs raise nothing, others do; whether `logaddexp` warns of nan depends
# on the compiler that made NumPy.
_IN_SOME_ORDER = re.compile("invalid value encountered in (reduce|logaddexp2?)$")
# What has no odd operands: LAPACK's SVD goes on for ever with some infinities, and `bincount` of NumPy 2.4 writes in
# front of its result where that would be 2**63 long, of which the process dies in some later call.
_TAME = re.compile(r"np\.(linalg\..*|bincount)$")
# What NumPy leaves open where elements are not sorted, and what NumPy gives as views.
_APART_ALONE = frozenset("np.searchsorted x0.searchsorted".split())
_APART_IN_LOOPS = _APART_ALONE | set("np.digitize np.interp np.imag".split())


class Call(NamedTuple):
    """A call as text, what makes its operands, and where it stands."""

    text: str
    operands: tuple[Callable[..., np.ndarray], ...]
    form: str = "alone"

    def function(self) -> Callable[..., Any]:
        """A function that makes the call."""
        names = ", ".join(f"x{k}" for k in range(len(self.operands)))
        source, file = FORMS[self.form].format(names=names, text=self.text), f"<call {next(_numbers)}>"
        linecache.cache[file] = len(source), None, source.splitlines(True), file
        space: dict[str, Any] = {"np": np}
        exec(compile(source, file, "exec"), space)
        return space["function"]

    def run(self, function: Callable[..., Any], turn: int = 0) -> tuple[Any, ...]:
        """What it gives or raises, what it warns of, and its operands afterwards."""
        args = [make(turn) if turn else make() for make in self.operands]
        found: list[Any] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = [function(*args), None]
            except Exception as error:
                found = [None, (type(error), str(error))]
        is_open = _IN_SOME_ORDER.search
        warned = sorted(
            {
                (w.category.__name__, str(w.message))
                for w in caught
                if w.category is not jitrt.JitrtPerformanceWarning and not is_open(str(w.message))
            }
        )
        return (*found, warned, args)

    def difference(self, turns: int = 1) -> str:
        """How the compiled call differs from NumPy's; empty if it does not.

        Parameters
        ----------
        turns : int
            The function is called with so many values of its operands, which stay what they are otherwise; it is
            traced once, and what serves its later calls is compared, too.
        """
        plain, compiled = self.function(), jitrt.jit(self.function())
        for _ in range(2):
            raised = self.run(compiled)[1]
            if raised is not None and issubclass(raised[0], jitrt.JitrtError):  # behind which later calls run plain
                return f"raised {raised} at first"
        differences = (self._difference(plain, compiled, turn) for turn in range(turns))
        return next((f"{found} (turn {turn})" for turn, found in enumerate(differences) if found), "")

    def _difference(self, plain: Callable[..., Any], compiled: Callable[..., Any], turn: int) -> str:
        want, got = self.run(plain, turn), self.run(compiled, turn)
        if MemoryError in [(raised or (None,))[0] for raised in (want[1], got[1])]:
            return ""
        if want[1] != got[1]:
            return f"raised {got[1]}, not {want[1]}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns when it is asked for the flags of what is broadcast
            found = _differs(got[0], want[0]) or _differs(got[3], want[3])
        return found or (f"warned of {got[2]}, not {want[2]}" if got[2] != want[2] else "")


def _differs(got: Any, want: Any) -> str:
    if type(got) is not type(want):
        return f"gave a {type(got).__name__}, not a {type(want).__name__}"
    if isinstance(want, (tuple, list)):
        if len(got) != len(want):
            return f"gave {len(got)} values, not {len(want)}"
        return next((found for x, y in zip(got, want) if (found := _differs(x, y))), "")
    if not isinstance(want, (np.ndarray, np.generic)):
        return "" if got == want or got != got or _are_close(got, want) else f"gave {got!r}, not {want!r}"
    if (got.dtype, got.shape) != (want.dtype, want.shape) or got.dtype.byteorder != want.dtype.byteorder:
        return f"gave {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if isinstance(want, np.ndarray) and _layout(got) != _layout(want):
        return f"gave an array with other strides or flags: {_layout(got)}, not {_layout(want)}"
    return "" if _are_close(got, want) else f"gave {got!r}, not {want!r}"


def _layout(array: np.ndarray) -> tuple[Any, ...]:
    strides = [step for step, n in zip(array.strides, array.shape) if n > 1 and array.size]
    return strides, array.flags.c_contiguous, array.flags.f_contiguous, array.flags.writeable


def _are_close(got: Any, want: Any) -> bool:
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype == object:
        return repr(got) == repr(want)
    if want.dtype.kind not in "fc":
        return bool(np.array_equal(got, want)) or (
            want.dtype.kind in "mM" and np.array_equal(got, want, equal_nan=True)
        )
    eps = np.finfo(want.dtype).eps
    with np.errstate(all="ignore"):
        finite = np.abs(want[np.isfinite(want)])
        least = float(finite.max(initial=0)) if finite.size else 0.0  # sums are of another order
        return np.allclose(got, want, rtol=200 * eps, atol=50 * eps * least + 1e-300, equal_nan=True)


class Operand(NamedTuple):
    """Makes arrays of one dtype and layout."""

    dtype: str
    shape: tuple[int, ...]
    seed: int
    layout: str
    is_special: bool
    is_tame: bool = False  # see _TAME

    def __call__(self, turn: int = 0) -> np.ndarray:
        """The array of a turn: each has other values, odd turns odd ones, and every third another first extent."""
        dtype, shape, layout = np.dtype(self.dtype), self.shape, self.layout
        if shape and turn % 3 == 2:
            shape = ((0, 1, shape[0] + 1, 2)[turn // 3 % 4], *shape[1:])
        size, seed = int(np.prod(shape)), self.seed + turn
        values = ordinary(dtype, size, seed)
        if self.is_special != turn % 2 and not self.is_tame:
            odd = special(dtype)
            if dtype.kind == "f" and turn:  # sums of them overflow, or do not, by the order of their terms
                odd = odd[~(np.abs(odd) >= np.finfo(dtype).max)]
            values = odd[np.random.default_rng(seed).integers(len(odd), size=size)]
        made = np.array(values.reshape(shape))
        if layout == "F":
            return np.asfortranarray(made) if made.ndim else made
        if layout == "strided" and made.ndim:
            return np.repeat(made, 2, axis=-1)[..., ::2]
        if layout == "reversed" and made.ndim:
            return made[::-1].copy()[::-1]
        if layout == "swapped":
            return made.astype(made.dtype.newbyteorder())
        if layout == "unaligned":
            there = np.empty(made.nbytes + 1, np.uint8)[1:].view(made.dtype).reshape(shape)
            there[...] = made
            return there
        if layout == "broadcast" and made.ndim:
            return np.broadcast_to(made[:1], shape)
        made.flags.writeable = layout != "read-only"
        return made


def operand(choose: random.Random) -> Operand:
    """What makes an array of some dtype, shape, layout and values."""
    dtype, shape, seed = choose.choice(DTYPES), choose.choice(SHAPES), choose.randrange(1 << 30)
    layout = choose.choice(["C"] * 6 + ["F", "strided", "reversed", "swapped", "unaligned", "read-only", "broadcast"])
    return Operand(dtype, shape, seed, layout, choose.random() < 0.2)


def functions() -> list[str]:
    """The functions that are called, as text."""
    found = {f"np.{name}" for name in np.__all__ if isinstance(getattr(np, name), _CALLED)}
    found |= {f"np.linalg.{name}" for name in np.linalg.__all__ if isinstance(getattr(np.linalg, name), _CALLED)}
    found |= {f"x0.{name}" for name in METHODS if callable(getattr(np.ndarray, name, None)) and name[0] != "_"}
    return sorted(name for name in found if name.rpartition(".")[2] not in _APART)


def random_call(choose: random.Random, name: str) -> Call:
    """A call of the function of that name."""
    is_method = name.startswith("x0.")
    function = getattr(np.ndarray, name[3:]) if is_method else eval(name, {"np": np})
    operands: list[Operand] = [operand(choose)] if is_method else []
    args: list[str] = []

    def array() -> str:
        if operands and choose.random() < 0.1:
            return "x0"
        if choose.random() < 0.15:
            return choose.choice(["2", "0.5", "-1", "[1, 2, 3]", "True", "3j", "np.float32(1.5)", "None"])
        if choose.random() < 0.03:
            return choose.choice(_ODD)
        operands.append(operand(choose))
        return f"x{len(operands) - 1}"

    def given(parameter: str) -> str:
        return choose.choice(ARGUMENTS[parameter]) if parameter in ARGUMENTS else array()

    if isinstance(function, np.ufunc):
        args = [array() for _ in range(function.nin)]
        if choose.random() < 0.15:
            args.append(
                choose.choice(["dtype=float", "dtype='i4'", "where=True", "casting='no'", "out=None", "axis=0"])
            )
    else:
        try:
            parameters = list(inspect.signature(function).parameters.values())[is_method:]
        except ValueError:
            parameters = [inspect.Parameter("a", inspect.Parameter.POSITIONAL_ONLY)] * choose.randint(0, 2)
        for p in parameters:
            wanted = p.default is p.empty or choose.random() < 0.2
            if p.kind is p.VAR_POSITIONAL:
                args += [array() for _ in range(choose.randint(1, 2))]
            elif p.kind is not p.VAR_KEYWORD and wanted:
                text = f"({array()}, {array()})" if p.name in ("arrays", "tup", "seq") else given(p.name)
                args.append(text if p.default is p.empty and p.kind is not p.KEYWORD_ONLY else f"{p.name}={text}")
    if choose.random() < 0.02:
        args.append("1")
    text = f"{name}({', '.join(sorted(args, key=lambda a: '=' in a.partition('(')[0] and a[0].isalpha()))})"
    made = tuple(operands) or (operand(choose),)
    return Call(text, tuple(x._replace(is_tame=_TAME.match(name) is not None) for x in made))


def random_calls(count: int, seed: int, form: str = "alone") -> Iterator[Call]:
    """So many calls, of all functions in turn."""
    choose, names = random.Random(seed), functions()
    names = [name for name in names if name not in (_APART_ALONE if form == "alone" else _APART_IN_LOOPS)]
    choose.shuffle(names)
    for k in range(count):
        yield random_call(choose, names[k % len(names)])._replace(form=form)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    given = sys.argv[1:]
    count, seed, form, turns = int(given[0]), int(given[1]), (*given[2:3], "alone")[0], int((*given[3:], 1)[0])
    seen: set[tuple[str, str]] = set()
    for k, call in enumerate(random_calls(count, seed, form)):
        try:
            found = call.difference(turns)
        except Exception as error:
            found = f"FAILED with {type(error).__name__}: {error}"
        name = call.text.partition("(")[0]
        if found and (name, found[:25]) not in seen:
            seen.add((name, found[:25]))
            print(f"{k}: {call.text}  on {', '.join(map(str, call.operands))}\n    {found[:300]}", flush=True)
    print(f"{count} functions, {count * turns} calls")


if __name__ == "__main__":
    main()
