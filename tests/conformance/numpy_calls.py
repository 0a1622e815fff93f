"""Random calls of NumPy's functions: operands of all dtypes and layouts, arguments good and bad.

python tests/conformance/numpy_calls.py 20000 7           makes so many functions from that seed, prints what differs
python tests/conformance/numpy_calls.py 20000 7 loop      makes the calls in loops, which are staged
python tests/conformance/numpy_calls.py 2000 7 loop 25    calls each function with so many kinds of operands
python tests/conformance/numpy_calls.py 2000 7 loop 25 20 and with so many values of each kind: a million calls
"""

from __future__ import annotations

import inspect
import itertools
import linecache
import operator
import random
import re
import resource
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy_arguments import ARGUMENTS, ARRAY, DRAWN, DRAWS, INDICES, ODD, TEMPLATES, UFUNC, Operand, operand

import jitrt
from bench.operations import APART, NAMESPACES, probes, public_functions

_CALLED = (np.ufunc, types.FunctionType, types.BuiltinFunctionType, type(np.sum))
# They call back, give what is in memory, or leave open in which order.
_APART = APART | set(
    """apply_along_axis apply_over_axes tolist view item empty empty_like partition argpartition ids masked_all
    masked_all_like ndenumerate""".split()
)
# The ufuncs whose methods are called.
_FOLDING = "add multiply subtract maximum fmin logical_and logical_or bitwise_or bitwise_xor hypot power equal".split()
_METHODS = "reduce accumulate reduceat outer at".split()


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
# What the letters stand for in the probes of the table of operations: dtype, shape and layout.
_PROBED = {
    "x": ("f8", (60,), ""), "y": ("f8", (60,), ""), "k": ("u1", (60,), ""), "b": ("?", (60,), ""),
    "a": ("f8", (4, 5), ""), "m": ("f8", (10, 4, 4), ""), "s": ("f8", (4, 4), ""), "v": ("f8", (20, 3), ""),
    "c": ("c16", (60,), ""), "d": ("M8[s]", (60,), ""), "u": ("u1", (60,), ""), "rng": ("f8", (), "generator"),
    "w": ("f8", (60,), "masked"), "z": ("f8", (4, 5), "masked"),
}  # fmt: skip
_PREFIXES = {prefix.replace("x.", "x0.")[:-1] for _, prefix in NAMESPACES.values()}
# What turns of ten do where floating point goes wrong.
_STATES = {3: {"all": "ignore"}, 5: {"all": "raise"}, 8: {"divide": "raise", "over": "ignore"}}
_numbers, _calls = itertools.count(), itertools.count()
_MEMORY = 6 << 30  # bytes: counts of large numbers want more
# Sums that meet nan before infinities of both signs raise nothing, others do; whether `logaddexp` warns of nan depends
# on the compiler that made NumPy.
_IN_SOME_ORDER = re.compile("invalid value encountered in (reduce|logaddexp2?)$")
# What has no odd operands: LAPACK's SVD goes on for ever with some infinities, and `bincount` of NumPy 2.4 writes in
# front of its result where that would be 2**63 long, of which the process dies in some later call.
_TAME = re.compile(r"np\.(linalg\..*|bincount)$|.*\.(multivariate_normal|polyfit|roots)$")
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
        space: dict[str, Any] = {"np": np, "operator": operator}
        exec(compile(source, file, "exec"), space)
        return space["function"]

    def run(self, function: Callable[..., Any], *turn: int) -> tuple[Any, ...]:
        """What it gives or raises, what it warns of, its operands afterwards, and what shares memory with them."""
        args = [make(*turn) for make in self.operands]
        found: list[Any] = []
        with warnings.catch_warnings(record=True) as caught, np.errstate(**_STATES.get(sum(turn) % 10, {})):
            warnings.simplefilter("always")
            try:
                found = [function(*args), None]
            except Exception as error:
                found = [None, (type(error), str(error))]
            shared = _shared(found[0], args)
        is_open = _IN_SOME_ORDER.search
        warned = sorted(
            {
                (w.category.__name__, str(w.message))
                for w in caught
                if w.category is not jitrt.JitrtPerformanceWarning and not is_open(str(w.message))
            }
        )
        return (*found, warned, args, shared)

    def difference(self, turns: int = 1, values: int = 1) -> str:
        """How the compiled call differs from NumPy's; empty if it does not.

        Parameters
        ----------
        turns : int
            The function is called with operands of so many kinds: what serves its later calls is compared, too.
        values : int
            And with so many values of each kind.
        """
        plain, compiled = self.function(), jitrt.jit(self.function())
        for _ in range(2):
            raised = self.run(compiled)[1]
            if raised is not None and issubclass(raised[0], jitrt.JitrtError):  # behind which later calls run plain
                return f"raised {raised} at first"
        for turn in itertools.product(range(turns), range(values)):
            if found := self._difference(plain, compiled, *(turn if any(turn) else ())):
                return f"{found} (turn {turn})"
        return ""

    def _difference(self, plain: Callable[..., Any], compiled: Callable[..., Any], *turn: int) -> str:
        next(_calls)
        want, got = self.run(plain, *turn), self.run(compiled, *turn)
        if MemoryError in [(raised or (None,))[0] for raised in (want[1], got[1])]:
            return ""
        if any(raised and _IN_SOME_ORDER.search(raised[1]) for raised in (want[1], got[1])):
            return ""
        if want[1] != got[1]:
            return f"raised {got[1]}, not {want[1]}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns when it is asked for the flags of what is broadcast
            found = _differs(got[0], want[0]) or _differs(got[3], want[3])
        if not found and got[4] != want[4]:
            return f"shares memory as {got[4]}, not as {want[4]}"
        return found or (f"warned of {got[2]}, not {want[2]}" if got[2] != want[2] else "")


def _shared(value: Any, args: list[Any]) -> list[Any]:
    """Which arrays among results are arguments or may share memory with them, and which may be written."""
    if isinstance(value, (tuple, list)):
        return [_shared(part, args) for part in value]
    if not isinstance(value, np.ndarray):
        return [value is x for x in args]
    return ["is" if value is x else isinstance(x, np.ndarray) and np.may_share_memory(value, x) for x in args]


def _differs(got: Any, want: Any) -> str:
    if type(got) is not type(want):
        return f"gave a {type(got).__name__}, not a {type(want).__name__}"
    if isinstance(want, (tuple, list)):
        if len(got) != len(want):
            return f"gave {len(got)} values, not {len(want)}"
        return next((found for x, y in zip(got, want) if (found := _differs(x, y))), "")
    if isinstance(want, np.random.Generator):
        same = got.bit_generator.state == want.bit_generator.state
        return "" if same else "left a random generator in another state"
    if isinstance(want, np.ma.MaskedArray) and want is not np.ma.masked:
        mask, wanted = vars(got)["_mask"], vars(want)["_mask"]
        if (mask is np.ma.nomask) != (wanted is np.ma.nomask):
            return f"gave the mask {mask}, not {wanted}"
        found = _differs(mask, wanted) if mask is not np.ma.nomask else ""
        return found or _differs(got.data, want.data) or _differs(got.fill_value, want.fill_value)
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
    if want.dtype != object and got.dtype == want.dtype and got.tobytes() == want.tobytes():
        return True
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
        tiny = 50 * float(np.finfo(want.dtype).smallest_subnormal)
        return np.allclose(got, want, rtol=2000 * eps, atol=50 * eps * least + tiny, equal_nan=True)


def functions() -> list[str]:
    """The functions that are called, as text: of NumPy's namespaces, methods, operators and ufuncs' methods."""
    found = {f"np.{name}.{method}" for name in _FOLDING for method in _METHODS} | set(TEMPLATES)
    for title, (_space, prefix) in NAMESPACES.items():
        found |= {prefix.replace("x.", "x0.") + name for name in public_functions(title)}
    return sorted(name for name in found if name.rpartition(".")[2] not in _APART)


def random_call(choose: random.Random, name: str) -> Call:
    """A call of the function of that name."""
    operands: list[Operand] = []
    masked = 0.7 if name.startswith("np.ma.") else 0.02
    if name not in TEMPLATES and choose.random() < 0.3 and (probe := _probe(choose, name)):
        return probe

    def array() -> str:
        if operands and choose.random() < 0.1:
            return "x0"
        if choose.random() < 0.15:
            return choose.choice(["2", "0.5", "-1", "[1, 2, 3]", "True", "3j", "np.float32(1.5)", "None"])
        if choose.random() < 0.03:
            return choose.choice(ODD)
        made = operand(choose, masked)
        if operands and operands[0].layout != "generator":  # most pairs of dtypes and shapes go together in no call
            made = made._replace(**choose.choice([{}, {"shape": operands[0].shape}, operands[0]._asdict()]))
            made = made._replace(seed=made.seed + len(operands))
        operands.append(made)
        return f"x{len(operands) - 1}"

    def filled(text: str) -> str:
        return re.sub(rf"\b{ARRAY}\b", lambda _: array(), text)

    if name.startswith(("x0", "rng.", "operator.setitem(x0", "operator.iadd(x0", "setattr")) or "in x0" in name:
        operands.append(operand(choose, masked))
    if name.startswith("rng."):
        operands[0] = operands[0]._replace(layout="generator")
    if name in TEMPLATES:
        text = filled(re.sub(r"\bINDEX\b", lambda _: choose.choice(INDICES), name, count=1))
    else:
        args = _random_arguments(choose, name, lambda text=ARRAY: filled(text))
        text = f"{name}({', '.join(sorted(args, key=lambda a: '=' in a.partition('(')[0] and a[0].isalpha()))})"
    made = tuple(operands) or (operand(choose),)
    text = re.sub(r"^rng\.", "x0.", text)
    return Call(text, tuple(x._replace(is_tame=_TAME.match(name) is not None) for x in made))


def _probe(choose: random.Random, name: str) -> Call | None:
    """The call of a function by which the table of operations is made, on operands of the kinds that it names."""
    prefix, _, last = name.rpartition(".")
    texts = list(probes(prefix.replace("x0", "x") + ".", last)) if prefix in _PREFIXES else []
    if not texts:
        return None
    operands: dict[str, Operand] = {}

    def argument(found: re.Match[str]) -> str:
        dtype, shape, layout = _PROBED[found[0]]
        made = operand(choose)
        if dtype != "f8" or choose.random() < 0.7:
            made = made._replace(dtype=dtype)
        layout = layout or made.layout
        operands.setdefault(found[0], made._replace(shape=shape, layout=layout, is_tame=bool(_TAME.match(name))))
        return f"x{[*operands].index(found[0])}"

    names = "|".join(_PROBED)
    text = re.sub(rf"(?<![\w.'\"])({names})(?![\w'\"])(?!=)", argument, choose.choice(texts)).replace("2000", "60")
    return Call(text, tuple(operands.values()) or (operand(choose),))


def _random_arguments(choose: random.Random, name: str, filled: Callable[..., str]) -> list[str]:
    """The arguments of a call of a named function; arrays are what `filled` makes of texts."""
    spaces = {"np": np, "x0": np.ndarray, "rng": np.random.Generator}
    function, is_method, table = eval(name, spaces), name.startswith(("x0.", "rng.")), ARGUMENTS
    if isinstance(function, np.ufunc):
        return [filled() for _ in range(function.nin)] + [filled(choose.choice(UFUNC))] * (choose.random() < 0.25)
    if name.startswith("rng."):
        table = DRAWS

    def given(parameter: str) -> str:
        if parameter in ("arrays", "tup", "seq"):
            return filled(f"({ARRAY}, {ARRAY})")
        otherwise = DRAWN if table is DRAWS else [ARRAY]
        return filled(choose.choice(table.get(parameter, otherwise)))

    args: list[str] = []
    try:
        parameters = list(inspect.signature(function).parameters.values())[is_method:]
    except ValueError:
        parameters = [inspect.Parameter("a", inspect.Parameter.POSITIONAL_ONLY)] * choose.randint(0, 2)
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL and not name.startswith("np.ma."):
            args += [filled() for _ in range(choose.randint(1, 2))]
        elif p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and (p.default is p.empty or choose.random() < 0.2):
            required = (p.default is p.empty and p.kind is not p.KEYWORD_ONLY) or p.kind is p.POSITIONAL_ONLY
            args.append(given(p.name) if required else f"{p.name}={given(p.name)}")
    return args + ["1"] * (choose.random() < 0.02)


def random_calls(count: int, seed: int, form: str = "alone") -> Iterator[Call]:
    """So many calls, of all functions in turn."""
    choose, names = random.Random(seed), functions()
    names = [name for name in names if name not in (_APART_ALONE if form == "alone" else _APART_IN_LOOPS)]
    choose.shuffle(names)
    for k in range(count):
        yield random_call(choose, names[k % len(names)])._replace(form=form)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    count, seed, form, turns, values = (*sys.argv[1:], *("1", "7", "alone", "1", "1")[len(sys.argv) - 1 :])
    seen: set[tuple[str, str]] = set()
    for k, call in enumerate(random_calls(int(count), int(seed), form)):
        try:
            found = call.difference(int(turns), int(values))
        except Exception as error:
            found = f"FAILED with {type(error).__name__}: {error}"
        name = call.text.partition("(")[0]
        if found and (name, found[:25]) not in seen:
            seen.add((name, found[:25]))
            print(f"{k}: {call.text}  on {', '.join(map(str, call.operands))}\n    {found[:300]}", flush=True)
    print(f"{count} functions, {next(_calls)} calls")


if __name__ == "__main__":
    main()
