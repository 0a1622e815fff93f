"""``python -m bench.operations``: what becomes of each public function of NumPy's, as a table (``docs/operations.md``).

Each function is compiled in one call, the probe, and asked what runs it. Probes are text: they are code of a user.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import linecache
import os
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jitrt
from jitrt.frontend.control.library import FUNCTIONS
from jitrt.frontend.control.written import WRITTEN
from jitrt.frontend.python.smallmatrices import MOST_ROWS, SMALL
from jitrt.ir.ops.optable import METHODS, OPS
from jitrt.ir.ops.rows import NUMPY_FUNCTIONS

TABLE = Path(__file__).parent.parent / "docs" / "operations.md"

CLASSES = {
    "kernel": "compiled loops, by the table of operations or the library of loops over elements",
    "composition": "compiled as the operations that NumPy's Python code makes of it, or nothing that has to run",
    "native step": "a routine of NumPy's that compiled code calls without Python",
    "step": "NumPy executes it, between compiled code",
    "plain": "a function with such a call runs as it would without jitrt",
}
NAMESPACES = {
    "numpy": (np, "np."), "numpy.ndarray": (np.ndarray, "x."), "numpy.linalg": (np.linalg, "np.linalg."),
    "numpy.fft": (np.fft, "np.fft."), "numpy.random.Generator": (np.random.Generator, "rng."),
    "numpy.ma": (np.ma, "np.ma."),
}  # fmt: skip
# They talk to files or people, or set what all of a process shares: no work on arrays.
APART = frozenset(
    """array2string array_repr array_str asarray_chkfinite asmatrix base_repr binary_repr bit_generator bmat
    busday_count busday_offset bytes byteswap datetime_as_string datetime_data dump dumps einsum_path
    flatten_structured_array
    format_float_positional format_float_scientific from_dlpack frombuffer fromfile fromflex fromfunction fromiter
    frompyfunc fromregex fromstring genfromtxt get_include get_printoptions getbufsize geterr geterrcall
    getfield info is_busday isdtype isscalar issubdtype iterable load loadtxt make_mask_descr may_share_memory
    min_scalar_type mintypecode nested_iters printoptions promote_types resize save savetxt savez
    savez_compressed set_printoptions setbufsize seterr seterrcall setfield setflags shares_memory
    show_config show_runtime spawn test to_device tobytes tofile tolist typename""".split()
)

# What probes are made of; they are parameters of the functions that are compiled.
_GIVEN: dict[str, Callable[[], Any]] = {
    "x": lambda: np.linspace(0.05, 0.95, 2000), "y": lambda: np.linspace(0.9, 0.1, 2000),
    "k": lambda: np.arange(2000) % 11, "b": lambda: np.arange(2000) % 3 == 0,
    "a": lambda: np.ones((40, 50)) + np.eye(40, 50), "m": lambda: np.stack([np.eye(4) * 3 + 0.5] * 100),
    "s": lambda: np.eye(4) * 3 + 0.5, "v": lambda: np.ones((2000, 3)), "c": lambda: np.linspace(0, 1, 2000) * 1j,
    "d": lambda: np.arange(2000).astype("M8[D]"), "u": lambda: np.arange(2000).astype(np.uint8),
    "rng": lambda: np.random.default_rng(1), "w": lambda: np.ma.masked_greater(np.linspace(0.05, 0.95, 2000), 0.7),
    "z": lambda: np.ma.masked_equal(np.ones((40, 50)) + np.eye(40, 50), 2.0),
}  # fmt: skip
_MASKED = "w|w, y|w, 0.5|z|w > 0.5|w > 0.5, x|w > 0.5, x, 0.0|w, 0.2, 0.5|x, 0|(w, w)|w, b, x|2000".split("|")
_TRIED = "x|x, y|k|k, k|b|s|m|m, m|a|c|d|x, 3|3|x, k|(x, y)|b, x|5, x|50".split("|")
_PROBES = """
np.apply_along_axis(np.sum, 1, a) ; np.apply_over_axes(np.sum, a, [0, 1]) ; np.arange(20) ; np.argpartition(x, 3)
np.argwhere(b) ; np.array((x, y)) ; np.array_split(x, 4) ; np.asarray(x) ; np.astype(x, np.float32)
np.atleast_2d(x) ; np.average(x, weights=y) ; np.bincount(k) ; np.bitwise_count(k) ; np.block([[a, a], [a, a]])
np.broadcast_arrays(x, 1.0) ; np.broadcast_shapes((3, 1), (1, 4)) ; np.broadcast_to(x, (3, 2000))
np.can_cast(k, np.float64) ; np.choose(k % 2, [x, y]) ; np.clip(x, 0.2, 0.8) ; np.column_stack((x, y))
np.common_type(x, y) ; np.compress(b, x) ; np.convolve(x, x[:5]) ; np.copyto(x, y) ; np.corrcoef(a)
np.correlate(x, x[:5]) ; np.count_nonzero(b) ; np.cov(a) ; np.cross(v, v[::-1]) ; np.delete(x, 3)
np.diag_indices(4) ; np.diag_indices_from(s) ; np.digitize(x, y[::-1]) ; np.dsplit(m.reshape(100, 4, 4), 2)
np.dstack((x, y)) ; np.ediff1d(x) ; np.einsum('ij,ij->i', v, v) ; np.empty(20) ; np.expand_dims(x, 0)
np.extract(b, x) ; np.eye(4) ; np.fill_diagonal(s, 2.0) ; np.flatnonzero(b) ; np.full(20, 1.5) ; np.full_like(x, 1.5)
np.geomspace(1, 10, 20) ; np.gradient(x) ; np.histogram(x) ; np.histogram2d(x, y) ; np.histogramdd(v)
np.hsplit(a, 2) ; np.hstack((x, y)) ; np.i0(x) ; np.identity(4) ; np.indices((3, 4)) ; np.inner(x, y)
np.insert(x, 3, 1.0) ; np.interp(x, x, y) ; np.intersect1d(k, k[:50]) ; np.isin(k, [1, 5]) ; np.isnat(d)
np.ix_([0, 2], [1, 3]) ; np.kaiser(50, 3.0) ; np.kron(s, s) ; np.ldexp(x, k) ; np.lexsort((k, x))
np.linspace(0, 1, 20) ; np.logspace(0, 1, 20) ; np.mask_indices(4, np.triu) ; np.matmul(m, m) ; np.matvec(m, m[:, 0])
np.max(a, 1) ; np.mean(a, 1) ; np.meshgrid(x[:30], y[:40]) ; np.min(a, 1) ; np.moveaxis(m, 0, 1) ; np.nan_to_num(x)
np.nanpercentile(x, 30) ; np.nanquantile(x, 0.3) ; np.nonzero(b) ; np.ones(20) ; np.packbits(b) ; np.pad(x, 3)
np.partition(x, 3) ; np.percentile(x, 30) ; np.permute_dims(m) ; np.piecewise(x, [x < 0.5], [1.0, 2.0])
np.place(x, b, y) ; np.poly(x[:4]) ; np.polyadd(x, y) ; np.polyder(x[:5]) ; np.polydiv(x[:5], y[:3])
np.polyfit(x, y, 2) ; np.polyint(x[:5]) ; np.polymul(x[:5], y) ; np.polysub(x, y) ; np.polyval(x[:3], y)
np.put(x, k, y) ; np.put_along_axis(a, np.argsort(a, 1), 1.0, 1) ; np.putmask(x, b, y) ; np.quantile(x, 0.3)
np.ravel_multi_index((k, k), (11, 11)) ; np.repeat(x, 2) ; np.require(x) ; np.reshape(a, -1) ; np.result_type(x, k)
np.roll(x, 3) ; np.rollaxis(m, 1) ; np.roots(x[:4]) ; np.rot90(a) ; np.row_stack((x, y)) ; np.searchsorted(x, y)
np.select([b, x > 0.5], [x, y]) ; np.setdiff1d(k, k[:5]) ; np.setxor1d(k, k[:5]) ; np.sort(x) ; np.split(x, 4)
np.squeeze(x[None]) ; np.stack((x, y)) ; np.sum(a, 1) ; np.swapaxes(m, 0, 1) ; np.take(x, k)
np.take_along_axis(a, np.argsort(a, 1), 1) ; np.tensordot(a, a.T, 1) ; np.tile(x, 2) ; np.trapezoid(y, x) ; np.tri(4)
np.tril_indices(4) ; np.tril_indices_from(s) ; np.trim_zeros(x) ; np.triu_indices(4) ; np.triu_indices_from(s)
np.union1d(k, k[:5]) ; np.unique(k) ; np.unpackbits(u) ; np.unravel_index(k, (11, 11)) ; np.unstack(m) ; np.unwrap(x)
np.vander(x, 4) ; np.vdot(x, y) ; np.vecdot(v, v) ; np.vecmat(m[:, 0], m) ; np.vsplit(a, 2) ; np.vstack((x, y))
np.where(b, x, y) ; np.zeros(20) ; x.argpartition(3) ; x.astype(np.float32) ; k.choose([x] * 11) ; x.clip(0.2, 0.8)
x.compress(b) ; a.diagonal() ; x.dot(y) ; x.fill(1.5) ; x.item(3) ; b.nonzero() ; x.partition(3) ; x.put(k, 1.0)
x.repeat(2) ; x.reshape(40, 50) ; x.round(2) ; x.searchsorted(y) ; x.squeeze() ; a.swapaxes(0, 1) ; x.take(k)
a.trace() ; a.transpose() ; x.view(np.int64) ; np.linalg.cholesky(m) ; np.linalg.cond(m)
np.linalg.cross(v, v[::-1]) ; np.linalg.det(m) ; np.linalg.eig(s) ; np.linalg.eigh(m) ; np.linalg.inv(m)
np.linalg.lstsq(a, a[:, 0]) ; np.linalg.matmul(m, m) ; np.linalg.matrix_power(s, 3) ; np.linalg.multi_dot([s, s, s])
np.linalg.norm(v, axis=1) ; np.linalg.pinv(m) ; np.linalg.qr(m) ; np.linalg.slogdet(m) ; np.linalg.solve(m, m)
np.linalg.svd(m) ; np.linalg.tensordot(a, a.T, axes=1) ; np.linalg.tensorinv(s, 1) ; np.linalg.tensorsolve(s, s[0])
np.linalg.trace(m) ; np.linalg.vecdot(v, v) ; np.linalg.vector_norm(v, axis=1) ; rng.beta(2.0, 1.0, 2000)
rng.binomial(5, 0.3, 2000) ; rng.chisquare(2.0, 2000) ; rng.choice(10, 2000) ; rng.dirichlet([1.0, 2.0], 50)
rng.exponential(2.0, 2000) ; rng.f(1.5, 2.5, 2000) ; rng.gamma(2.0, 1.0, 2000) ; rng.geometric(0.5, 2000)
rng.gumbel(0.0, 1.0, 2000) ; rng.hypergeometric(3, 4, 2, 2000) ; rng.integers(0, 10, 2000)
rng.laplace(0.0, 1.0, 2000) ; rng.logistic(0.0, 1.0, 2000) ; rng.lognormal(0.0, 1.0, 2000) ; rng.logseries(0.5, 2000)
rng.multinomial(5, [0.2, 0.8], 50) ; rng.multivariate_hypergeometric([3, 4], 2)
rng.multivariate_normal(np.zeros(4), s) ; rng.negative_binomial(5, 0.3, 2000)
rng.noncentral_chisquare(1.5, 2.5, 2000) ; rng.noncentral_f(3.0, 4.0, 1.0, 2000) ; rng.normal(0.0, 2.0, 2000)
rng.pareto(2.0, 2000) ; rng.permutation(x) ; rng.permuted(x) ; rng.poisson(3.0, 2000) ; rng.power(2.0, 2000)
rng.rayleigh(2.0, 2000) ; rng.shuffle(x) ; rng.standard_gamma(2.0, 2000) ; rng.standard_t(2.0, 2000)
rng.triangular(0.0, 0.5, 1.0, 2000) ; rng.uniform(-1.0, 1.0, 2000) ; rng.vonmises(0.0, 1.0, 2000)
rng.wald(1.5, 2.5, 2000) ; rng.weibull(2.0, 2000) ; rng.zipf(2.0, 2000)
np.ma.apply_along_axis(np.sum, 0, z) ; np.ma.apply_over_axes(np.sum, z, 0) ; np.ma.bitwise_and(w > 0.5, b)
np.ma.bitwise_or(w > 0.5, b) ; np.ma.bitwise_xor(w > 0.5, b) ; np.ma.choose(k % 2, (x, y)) ; np.ma.hsplit(z, 2)
np.ma.indices((4, 5)) ; np.ma.left_shift(k, 1) ; np.ma.masked_equal(w, 0.5) ; np.ma.repeat(w, 2)
np.ma.reshape(w, (40, 50)) ; np.ma.right_shift(k, 1) ; np.ma.swapaxes(z, 0, 1) ; np.ma.take(w, k)
np.ma.where(b, w, y) ; np.ma.set_fill_value(w, 0.5) ; np.ma.put(w, k, x) ; np.ma.putmask(w, b, x)
np.ma.polyfit(w, y, 2) ; np.ma.masked_where(b, w) ; np.ma.compress(b, w)
np.ma.concatenate((w, x)) ; np.ma.make_mask(b) ; np.ma.mask_or(b, b)
"""
_CALLS = {re.sub(r"^\w\.", "x.", call.partition("(")[0]): call for call in re.split(" ; |\n", _PROBES.strip())}


class Row(NamedTuple):
    """One line of the table: a function, its class, the reason, and the call that was made."""

    name: str
    kind: str
    reason: str
    probe: str

    def __str__(self) -> str:
        return f"| `{self.name}` | {self.kind} | {self.reason} | `{self.probe}` |"


def public_functions(title: str) -> list[str]:
    """The functions of a namespace of NumPy's that work on arrays.

    Parameters
    ----------
    title : str
        ``"numpy"``, ``"numpy.ndarray"``, ``"numpy.linalg"``, ``"numpy.fft"``, ``"numpy.random.Generator"`` or
        ``"numpy.ma"``.

    Returns
    -------
    list of str

    Examples
    --------
    >>> "median" in public_functions("numpy"), "savez" in public_functions("numpy")
    (True, False)
    """
    space, _ = NAMESPACES[title]
    names = sorted(getattr(space, "__all__", dir(space)))  # other packages add to a namespace
    functions = ((n, getattr(space, n)) for n in names if n[0] != "_" and n not in APART)
    return [n for n, f in functions if callable(f) and not isinstance(f, type)]


def probes(prefix: str, name: str) -> Iterator[str]:
    """Texts of calls of a function that may be made, the likeliest first."""
    if prefix + name in _CALLS:
        yield _CALLS[prefix + name]
    elif prefix == "x.":
        yield f"x.{name}()"
    elif prefix == "rng.":
        yield f"rng.{name}(2000)"
    else:
        yield from (f"{prefix}{name}({arguments})" for arguments in (_MASKED if prefix == "np.ma." else _TRIED))


_numbers = itertools.count()


def _function_of(text: str) -> tuple[Callable[..., Any], list[str]]:
    """A function that makes a call, with a file that has its source; and the names of its parameters."""
    names = [n for n in compile(text, "", "eval").co_names if n in _GIVEN]
    file = f"<probe {next(_numbers)}>"
    code = f"def probe({', '.join(names)}):\n    return {text}\n"
    linecache.cache[file] = len(code), None, code.splitlines(True), file
    space: dict[str, Any] = {"np": np}
    exec(compile(code, file, "exec"), space)
    return space["probe"], names


def _arguments(names: list[str]) -> list[Any]:
    return [_GIVEN[n]() for n in names]


def _probe(prefix: str, name: str) -> tuple[str, Callable[..., Any], list[str]]:
    """The first call that NumPy makes without an exception."""
    for text in probes(prefix, name):
        function, names = _function_of(text)
        try:
            with np.errstate(all="ignore"):
                function(*_arguments(names))
        except Exception:
            continue
        return text, function, names
    raise LookupError(f"no call of {prefix}{name} is known")


def row_of(title: str, name: str) -> Row:
    """What becomes of one function, in a call of it.

    Parameters
    ----------
    title : str
        The namespace.
    name : str
        Of the function.

    Returns
    -------
    Row

    Examples
    --------
    >>> print(row_of("numpy", "sqrt"))
    | `sqrt` | kernel | row `sqrt` | `np.sqrt(x)` |
    """
    space, prefix = NAMESPACES[title]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, function, names = _probe(prefix, name)
        kind, reason = _judged(getattr(space, name), jitrt.jit(function), names)
    return Row(name, kind, reason, text)


def _judged(called: Any, function: Any, names: list[str]) -> tuple[str, str]:
    """The class of a function of NumPy's, and why."""
    for _ in range(2):
        with np.errstate(all="ignore"):
            function(*_arguments(names))
    explanation = function.explain(*_arguments(names))
    if "random." in explanation.loop:
        return "native step", "NumPy's C function for each number"
    if explanation.loop:
        return ("step", "a step of a loop") if "host.step" in explanation.loop else ("kernel", "a loop over elements")
    if explanation.plain_reason:
        return "plain", re.sub(r" \(<probe.*?\)", "", explanation.plain_reason)
    if explanation.host_calls:
        return "step", _why_a_step(called, explanation.host_calls[0].partition(" ")[0].rpartition(".")[2])
    if not explanation.kernels:
        return "composition", "a view, or known while compiling"
    op = OPS.get(getattr(called, "__name__", ""))
    if op is not None and called in (op.numpy, op.ufunc):
        return "kernel", f"row `{op.name}`"
    if (getattr(called, "__module__", "") or "").startswith("numpy.ma"):
        return "composition", "operations on data and mask"
    if called in NUMPY_FUNCTIONS or called in map(_METHODS.get, METHODS):
        return "kernel", "made of rows"
    if called in SMALL:
        return "composition", f"operations on whole stacks of matrices of up to {MOST_ROWS} rows"
    return "composition", "NumPy's own Python code, compiled"


_METHODS = vars(np.ndarray)
_ROUTINES = {
    "numpy.linalg": "LAPACK or BLAS", "numpy.fft": "pocketfft", "sort": "NumPy's sort", "dot": "BLAS", "inner": "BLAS",
    "partition": "NumPy's selection", "percentile": "NumPy's selection", "quantile": "NumPy's selection",
    "matmul": "BLAS", "vdot": "BLAS", "convolve": "NumPy's correlation", "correlate": "NumPy's correlation",
    "lstsq": "LAPACK or BLAS", "vec": "BLAS", "tensordot": "BLAS", "eigvals": "LAPACK or BLAS",
}  # fmt: skip


def _why_a_step(called: Any, step: str) -> str:
    """What does the work of a step, where that is a routine which is hard to better."""
    module = getattr(called, "__module__", "") or ""
    found = [why for name, why in _ROUTINES.items() if name in step or module.startswith(name)]
    return f"`{step}`: {found[0] if found else 'no row'}"


_HEAD = """# Operations

What becomes of NumPy's functions in a compiled function. Each was compiled in the call that the last column shows,
where `x` and `y` are vectors of floats, `k` one of integers, `b` one of truth values, `a` a matrix, `s` a small square
one, `m` a stack of these, `v` rows of three, `w` and `z` a masked vector and matrix, and `rng` a generator. Other
arguments may lead to another class, and where NumPy does most of the work on small arrays, the function runs as it
would without jitrt.

"""


SCREEN = 50  # lines


_LINES = f"""
How long the operations are that loops are written for, in lines of code: each by itself, which is at most a screen of
{SCREEN}, and with what it calls of its file.

| function | lines | with what it calls |
| --- | ---: | ---: |
"""


def code_lines() -> dict[str, tuple[int, int]]:
    """The lines of code of each operation that loops are written for in Python.

    Returns
    -------
    dict of str to (int, int)
        By the function's name its own lines, without those of its docstring, and those with the functions of its
        module that it calls.

    Examples
    --------
    >>> own, all_of_them = code_lines()["np.median"]
    >>> 0 < own < all_of_them
    True
    """
    found = {}
    for called, handler in {**FUNCTIONS, **WRITTEN}.items():
        module, name = getattr(called, "__module__", None) or "", getattr(called, "__name__", "")
        if not module.startswith("numpy") or isinstance(called, np.ufunc):
            continue
        seen = {inspect.unwrap(handler)}
        waiting = [*seen]
        while waiting:
            function = waiting.pop()
            others = (function.__globals__.get(used) for used in function.__code__.co_names)
            new = {f for f in others if inspect.isfunction(f) and f.__module__ == handler.__module__} - seen
            seen |= new
            waiting += new
        prefix = {"numpy": "np."}.get(module, "rng." if "random" in module else module.replace("numpy", "np") + ".")
        lines = {f: _lines(f) for f in seen}
        found[prefix + name] = lines[inspect.unwrap(handler)], sum(lines.values())
    return dict(sorted(found.items(), key=lambda item: (-item[1][0], item[0])))


def _lines(function: Callable[..., Any]) -> int:
    text = textwrap.dedent(inspect.getsource(function))
    (tree,) = ast.parse(text).body
    quoted = ast.get_docstring(tree, clean=False) if isinstance(tree, ast.FunctionDef) else None
    return sum(bool(line.strip()) for line in text.splitlines()) - len((quoted or "").splitlines())


def document() -> str:
    """The whole table as Markdown.

    Returns
    -------
    str
    """
    tables = {title: [row_of(title, name) for name in public_functions(title)] for title in NAMESPACES}
    kinds = [row.kind for rows in tables.values() for row in rows]
    text = _HEAD + "| class | functions | what it means |\n| --- | ---: | --- |\n"
    text += "".join(f"| {kind} | {kinds.count(kind)} | {what} |\n" for kind, what in CLASSES.items())
    apart = ", ".join(f"`{name}`" for name in sorted(APART))
    text += f"\nMade with NumPy {np.__version__} by `python -m bench.operations`. Left out is what reads and\n"
    text += "writes files, formats, asks of types, or sets options:\n" + textwrap.fill(apart, 118) + ".\n"
    text += _LINES + "".join(f"| `{name}` | {own} | {all_} |\n" for name, (own, all_) in code_lines().items())
    for title, rows in tables.items():
        text += f"\n## {title}\n\n| function | class | why | call |\n| --- | --- | --- | --- |\n"
        text += "".join(f"{row}\n" for row in rows)
    return text


def main() -> int:
    """Write the table, or print a part of it."""
    parser = argparse.ArgumentParser(prog="python -m bench.operations", description=main.__doc__)
    parser.add_argument("--only", default="", help="print the rows of functions of that name instead")
    options = parser.parse_args()
    if options.only:
        for title in NAMESPACES:
            if options.only in public_functions(title):
                print(row_of(title, options.only))
        return 0
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    os.environ["JITRT_STRICT"] = "1"  # what can be compiled is, also where NumPy does most of it
    raise SystemExit(main())
