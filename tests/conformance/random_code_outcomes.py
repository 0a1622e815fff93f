"""What calls of a random program do, compiled and plain, and in what they differ.

Compared are results, arguments, globals and objects with their types, dtypes, bits, memory orders and identities, which
arrays share memory, exceptions and warnings with their texts, what is printed and the states of random generators.
"""

import ast
import contextlib
import dataclasses
import io
import types
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from random_code import FILE, MODULE, Program, TooLong, bounded, is_moderate

import jitrt
from jitrt.errors import ControlException, JitrtPerformanceWarning

# Functions that are not exact, or whose order of operations is nobody's business; and operators.
INEXACT = set(
    """
    exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh
    arctan2 hypot logaddexp power float_power cbrt sum prod mean std var nansum nanmean dot inner tensordot einsum
    matmul outer trace norm det fft cov interp gradient convolve reduce percentile median cumprod sinc angle
    linspace vectorize histogram pow cross cumsum accumulate
    """.split()
)
COMPLEX = {"abs", "absolute", "divide", "true_divide", "multiply", "reciprocal", "sqrt", "square", "sign"}
UNITS = 4096  # in the last place of the largest number, in which inexact results may differ


@dataclasses.dataclass
class Outcome:
    """What a call did: its result, or its exception in words, and all that it may have changed."""

    error: str
    result: Any
    state: list[Any]
    seen: tuple[str, Counter, tuple]


def outcomes(program: Program, wrap: Callable[[Any], Any], module: str = "", is_bounded: bool = True):
    """The outcomes of the calls, one after the other, up to the first one that takes or makes too much."""
    space = program.space(module)
    function = wrap(space["f"])
    drawn = np.random.RandomState(1).get_state()
    results: list[Any] = []
    for call in program.calls:
        with contextlib.suppress(Exception):  # arguments that cannot be made so are missing
            exec(call, space)
        printed, result, error = io.StringIO(), None, ""
        np.random.set_state(drawn)  # noqa: NPY002 - another program may have drawn since the last call
        with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with np.errstate(**space["err"]):
                try:
                    with bounded() if is_bounded else contextlib.nullcontext():
                        result = function(*space["args"])
                except TooLong:
                    return
                except Exception as raised:
                    error = f"{type(raised).__name__} {raised}"
        told = [w for w in caught if w.category is not JitrtPerformanceWarning]
        found = Counter((w.category.__name__, str(w.message), w.filename.startswith(FILE)) for w in told)
        results.append(result)
        globals_ = {k: v for k, v in space.items() if k not in ("__builtins__", "__warningregistry__", "f")}
        drawn = np.random.get_state()  # noqa: NPY002
        if is_bounded and not all(is_moderate(v) for v in (result, *globals_.values())):
            return
        yield Outcome(
            error, result, [list(results), globals_], (printed.getvalue(), found, (drawn[1].tobytes(), drawn[2]))
        )


def mismatch(program: Program, compiled: Callable[[Any], Any] = jitrt.jit) -> str:
    """In what the compiled program differs from the plain one; empty if it agrees in all calls."""
    exact = _is_exact(program)
    found = _compared(program, outcomes(program, compiled, is_bounded=False), exact)
    if found and not exact and "JitrtError" not in found:
        for seed in range(4):  # ill-conditioned: so does the plain one, if its functions are off by some last places
            rng = np.random.default_rng(seed)
            disturbed = outcomes(program, _with_disturbance(rng), _disturbed(program))
            if _compared(program, disturbed, exact):
                return ""
    return found


def _compared(program: Program, got_outcomes: Any, exact: bool) -> str:
    plain = outcomes(program, lambda function: function)
    for call, want in enumerate(plain):
        got = next(got_outcomes, None)
        if got is None:
            return f"ends: before call {call}"
        if got.error != want.error:
            return f"raises: call {call}: {got.error or 'nothing'} and not {want.error or 'nothing'}"
        for what, x, y in zip(("prints", "warns", "draws"), got.seen, want.seen):
            if x != y:
                return f"{what}: call {call}: {x} and not {y}" if what != "draws" else f"{what}: call {call}"
        if found := Comparison(exact).of([got.result, got.state], [want.result, want.state]):
            return f"differs: call {call}: {found}"
    return ""


class Comparison:
    """Compares two values, part by part.

    Parameters
    ----------
    exact : bool
        Whether all bits of floating-point numbers have to be the same.
    """

    def __init__(self, exact: bool):
        self.exact = exact
        self.partners: dict[int, Any] = {}
        self.arrays: list[tuple[np.ndarray, np.ndarray]] = []

    def of(self, got: Any, want: Any) -> str:
        """In what they differ; empty if in nothing."""
        with warnings.catch_warnings():  # of arrays that NumPy made by broadcasting it is told who looks at their flags
            warnings.simplefilter("ignore")
            return self._parts(got, want, "") or self._sharing()

    def _sharing(self) -> str:
        for k, (x, y) in enumerate(self.arrays):
            for p, q in self.arrays[:k]:
                if np.may_share_memory(x, p) != np.may_share_memory(y, q) and (
                    np.shares_memory(x, p) != np.shares_memory(y, q)
                ):
                    return f"arrays of shapes {y.shape} and {q.shape} share memory in one of the two only"
        return ""

    def _parts(self, x: Any, y: Any, path: str) -> str:
        if type(x).__qualname__ != type(y).__qualname__:
            return f"{path} is {_shown(x)} and not {_shown(y)}"
        if isinstance(y, (np.ndarray, list, dict, set)) or type(y).__module__ == MODULE:
            if id(x) in self.partners or id(y) in self.partners:
                same = self.partners.get(id(x)) is y and self.partners.get(id(y)) is x
                return "" if same else f"{path} is another object"
            self.partners[id(x)], self.partners[id(y)] = y, x
        if isinstance(y, (np.ndarray, np.generic)) and y.dtype != object:
            return self._array(x, y, path)
        if isinstance(y, (float, complex)):
            return "" if self._close(np.asarray(x), np.asarray(y)) else f"{path} is {_shown(x)} and not {_shown(y)}"
        if isinstance(y, np.ndarray):
            return self._parts(x.tolist(), y.tolist(), path)
        if isinstance(y, (tuple, list)):
            if len(x) != len(y):
                return f"{path} has {len(x)} and not {len(y)} elements: {_shown(x)} and not {_shown(y)}"
            return self._first(zip(x, y), path, range(len(y)))
        if isinstance(y, dict):
            if list(x) != list(y):
                return f"{path} has keys {list(x)} and not {list(y)}"
            return self._first(zip(x.values(), y.values()), path, list(y))
        if isinstance(y, np.random.Generator):
            same = x.bit_generator.state == y.bit_generator.state
            return "" if same else f"{path} has drawn other numbers"
        if isinstance(y, type) and y.__module__ == MODULE:
            return self._parts(_attributes(x), _attributes(y), f"{path}:{y.__name__}")
        if type(y).__module__ == MODULE and not isinstance(y, type):
            return self._parts(dict(vars(x)), dict(vars(y)), path)
        if isinstance(y, (bool, int, str, set, bytes, np.dtype, type(None))):
            return "" if x == y else f"{path} is {_shown(x)} and not {_shown(y)}"
        return ""

    def _first(self, pairs: Any, path: str, names: Any) -> str:
        for (x, y), name in zip(pairs, names):
            if found := self._parts(x, y, f"{path}[{name!r}]"):
                return found
        return ""

    def _array(self, x: Any, y: Any, path: str) -> str:
        if x.dtype != y.dtype or x.shape != y.shape:
            return f"{path} is {x.dtype} {x.shape} and not {y.dtype} {y.shape}"
        if isinstance(y, np.ndarray):
            self.arrays.append((x, y))
            if x.flags.writeable != y.flags.writeable:
                return f"{path} is writeable: {x.flags.writeable} and not {y.flags.writeable}"
            if y.size and _strides(x) != _strides(y):
                return f"{path} has strides {x.strides} and not {y.strides}"
        return "" if self._close(np.asarray(x), np.asarray(y)) else f"{path} is {_shown(x)} and not {_shown(y)}"

    def _close(self, x: np.ndarray, y: np.ndarray) -> bool:
        if y.dtype.kind not in "fc":
            return bool(np.array_equal(x, y))
        if y.dtype.kind == "c":
            return self._close(x.real, y.real) and self._close(x.imag, y.imag)
        with np.errstate(all="ignore"):
            same = ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))
            if not self.exact:
                largest = np.max(np.abs(y), where=np.isfinite(y), initial=0)
                same |= (np.abs(x - y) <= UNITS * np.finfo(y.dtype).eps * largest) & np.isfinite(y)
        return bool(same.all())


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except (Exception, ControlException) as error:  # as that of a symbol outside of its trace
        return f"{type(value).__name__}, which raises {type(error).__name__}"


def _attributes(owner: type) -> dict[str, Any]:
    hidden = (types.FunctionType, property, classmethod, staticmethod, types.GetSetDescriptorType)
    return {k: v for k, v in vars(owner).items() if not k.startswith("_") and not isinstance(v, hidden)}


def _strides(array: np.ndarray) -> list[int]:
    return [s for s, n in zip(array.strides, array.shape) if n > 1]


def _names(program: Program) -> set[str]:
    is_complex = any(word in str(program) for word in ("c16", "c8", "1j", "complex"))
    return INEXACT | COMPLEX if is_complex else INEXACT


class _Disturb(ast.NodeTransformer):
    """``np.exp(x)`` → ``disturb(np.exp(disturb(x)))``, and so with all that is inexact.

    Parameters
    ----------
    names : set of str
    """

    def __init__(self, names: set[str]):
        self.names, self.count = names, 0

    def _wrapped(self, node: ast.expr) -> ast.expr:
        self.count += 1
        return ast.Call(ast.Name("disturb", ast.Load()), [node], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        for k, argument in enumerate(node.args):  # as of ``map(np.sin, values)``
            if isinstance(argument, ast.Attribute) and argument.attr in self.names:
                self.count += 1
                node.args[k] = ast.parse(f"lambda *v: disturb({ast.unparse(argument)}(*v))", mode="eval").body
        function = node.func
        parts = [n.attr for n in ast.walk(function) if isinstance(n, ast.Attribute)]
        if (isinstance(function, ast.Name) and function.id in ("abs", "sum", "f")) or self.names.intersection(parts):
            if isinstance(function, ast.Name) and function.id not in self.names | {"sum"}:
                return node
            if node.args:
                node.args[0] = self._wrapped(node.args[0])
            elif isinstance(function, ast.Attribute):
                function.value = self._wrapped(function.value)
            return self._wrapped(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult):
            return self._wrapped(ast.BinOp(self._wrapped(node.left), node.op, node.right))
        is_inexact = isinstance(node.op, ast.Pow) or ("abs" in self.names and isinstance(node.op, (ast.Div, ast.Mult)))
        return self._wrapped(node) if is_inexact else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow) or ("abs" in self.names and isinstance(node.op, (ast.Div, ast.Mult))):
            node.value = self._wrapped(node.value)
        return node


def _transformed(program: Program) -> tuple[str, int]:
    disturb = _Disturb(_names(program))
    tree = ast.fix_missing_locations(disturb.visit(ast.parse(program.module)))
    return ast.unparse(tree), disturb.count


def _is_exact(program: Program) -> bool:
    return not _transformed(program)[1]


def _disturbed(program: Program) -> str:
    return _transformed(program)[0]


def _with_disturbance(rng: np.random.Generator) -> Callable[[Any], Any]:
    def disturb(value: Any) -> Any:
        if isinstance(value, (float, complex, np.inexact)):
            eps = np.finfo(getattr(value, "dtype", float)).eps
            return type(value)(value * (1 + 4 * float(eps) * rng.integers(-1, 2)))
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc" and value.base is None and value.flags.writeable:
            with np.errstate(all="ignore"):
                factors = 1 + 4 * float(np.finfo(value.dtype).eps) * rng.integers(-1, 2, value.shape)
                value = (value * factors).astype(value.dtype)
        return value

    def wrap(function: Any) -> Any:
        function.__globals__["disturb"] = disturb
        return function

    return wrap
