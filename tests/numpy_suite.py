"""NumPy's own tests with its functions wrapped by `jit`; slow, and run by hand.

``python tests/numpy_suite.py [module ...]`` runs test modules of the installed NumPy twice: with wrappers that do
nothing, and with wrappers that call the function by way of `jit`. What only the second run fails is printed. A module
is named ``numpy._core.tests.test_umath``, or ``test_umath`` for short.

In the source of a test module, ``f(...)`` becomes ``__wrapped__(f)(...)``, and so do the functions among the arguments
of ``assert_raises`` and the like. Objects stay what they are: ``np.add`` is the ufunc. Each call is traced anew, so
those that NumPy marks as slow, some of which make 100,000 calls, are left out unless ``-m=`` asks for them.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MODULES = tuple(
    f"numpy.{folder}.tests.test_{name}"
    for folder, names in {
        "_core": "umath numeric ufunc nep50_promotions einsum shape_base indexing multiarray scalarmath "
        "function_base item_selection umath_complex half",
        "lib": "nanfunctions function_base shape_base arraysetops index_tricks twodim_base type_check ufunclike "
        "stride_tricks histograms arraypad polynomial",
        "linalg": "linalg",
        "fft": "pocketfft helper",
        "random": "generator_mt19937 random randomstate",
    }.items()
    for name in names.split()
)
_TAKE_FUNCTIONS = frozenset(
    "assert_raises assert_raises_regex assert_warns assert_no_warnings raises warns assert_deprecated".split()
)
# They count references to 1 and to dtypes, which caches of a few calls hold, too; or, while nothing is collected,
# those to what each call was given, whose function is garbage in a cycle.
_COUNT_REFERENCES = {
    "TestCreationFuncs::test_for_reference_leak",
    "TestIndexing::test_small_regressions",
    "TestBincount::test_dtype_reference_leaks",
    "TestLeaks::test_frompyfunc_leaks[unbound-0]",
    "TestArrayInterface::test_scalar_interface[val0-iface0-0.5]",
    "TestArrayInterface::test_scalar_interface[val1-iface1-expected1]",
}
_MOST_SECONDS = 3600
_loading: set[str] = set()  # modules: the arrays that they make for their tests, by the thousand, are no tests
_MOST_SHOWN = 40


class _Wrapping(ast.NodeTransformer):
    """``f(x)`` → ``__wrapped__(f)(x)``."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in _TAKE_FUNCTIONS:
            node.args = [a if isinstance(a, ast.Starred) else self._wrapped(a) for a in node.args]
        if name != "super":  # which finds its arguments in the frame that calls it
            node.func = self._wrapped(node.func)
        return node

    @staticmethod
    def _wrapped(node: ast.expr) -> ast.expr:
        call = ast.Call(ast.Name("__wrapped__", ast.Load()), [node], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a test module with wrapped calls; nothing is read from, or written to, files of byte code."""

    wrapped: Callable[[Any], Any]

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        tree = _Wrapping().visit(ast.parse(self.get_data(path)))
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module)["__wrapped__"] = self.wrapped
        _loading.add(self.name)
        super().exec_module(module)
        _loading.discard(self.name)


class _Finder(importlib.machinery.PathFinder):
    """Finds one module, which `_Loader` loads; without an ``__init__.py`` beside it, pytest leaves out its package."""

    def __init__(self, name: str, wrapped: Callable[[Any], Any]):
        self.names = (name, name.rpartition(".")[-1])
        self.wrapped = wrapped

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:  # type: ignore[override]
        spec = super().find_spec(fullname, path, target) if fullname in self.names else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
            spec.loader.wrapped = self.wrapped
        return spec


def _public() -> Iterator[Any]:
    for module in (np, np.linalg, np.fft):
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type):
                yield value


def wrapper(mode: str) -> Callable[[Any], Any]:
    """What a test module calls for ``f`` in ``f(...)``: gives `f`, or for NumPy's functions what stands for it."""
    public = {id(f): f for f in _public()}
    made: dict[Any, Any] = {}

    def wrapped(f: Any) -> Any:
        is_method = isinstance(f, types.BuiltinMethodType) and isinstance(f.__self__, np.ufunc)
        if id(f) not in public and not is_method:
            return f
        key = (f.__self__, f.__name__) if is_method else id(f)
        if key not in made:
            made[key] = _plain(f) if mode == "plain" else _compiled(_plain(f))
        return made[key]

    return wrapped


def _plain(f: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    call.__name__ = f.__name__
    return call


def _compiled(call: Any) -> Any:
    import jitrt

    @functools.wraps(call)
    def traced(*args: Any, **kwargs: Any) -> Any:
        if _loading:
            return call(*args, **kwargs)
        return jitrt.jit(call)(*args, **kwargs)

    return traced


class _Outcomes:
    """Writes the outcome of each test in a line of its own as soon as it is known."""

    def __init__(self, path: str):
        self.path = path

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            text = "" if report.outcome == "passed" else str(report.longrepr)
            with open(self.path, "a") as file:
                file.write(json.dumps([report.nodeid.split("::", 1)[-1], report.outcome, text]) + "\n")


def run_module(name: str, mode: str, path: str, rest: list[str]) -> int:
    """Run the tests of a module in this process, and write their outcomes to a file."""
    sys.meta_path.insert(0, _Finder(name, wrapper(mode)))
    options = ["--pyargs", name, "-q", "-p", "no:cacheprovider", "--assert=plain", "-c", os.devnull]
    for action in ("error", "ignore:the matrix subclass", "ignore::pytest.PytestDeprecationWarning"):
        options += ["-W", action]
    options += ["--rootdir", tempfile.gettempdir(), "--tb=short", "--no-header", "-m", "not slow", *rest]
    return pytest.main(options, plugins=[_Outcomes(path)])


def outcomes(name: str, mode: str, rest: list[str]) -> dict[str, tuple[str, str]]:
    """Of each test of a module: ``passed``, ``failed`` or ``skipped``, and its message."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outcomes"
        command = [sys.executable, os.path.abspath(__file__), name, "--mode", mode, "--outcomes", str(path), *rest]
        with open(Path(folder) / "output", "w+") as output:
            try:
                code: int | str = subprocess.run(
                    command, stdout=output, stderr=output, timeout=_MOST_SECONDS, cwd=folder
                ).returncode  # elsewhere, lest the settings of the tests beside this file hold
            except subprocess.TimeoutExpired:
                code = "a timeout"
            if code not in (0, 1) or not path.exists():
                output.seek(0)
                print(f"{name} ended with {code}:\n{output.read()[-4000:]}", flush=True)
        found: dict[str, tuple[str, str]] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            test, outcome, text = json.loads(line)
            if found.get(test, ("passed",))[0] == "passed":
                found[test] = (outcome, text)
        return found


def main() -> int:
    """Print the table; 1 if a test fails with `jit` alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="test modules of the installed NumPy; other options are pytest's")
    parser.add_argument("--messages", action="store_true", help="print why each test fails")
    parser.add_argument("--mode", choices=["plain", "jit"], help=argparse.SUPPRESS)
    parser.add_argument("--outcomes", help=argparse.SUPPRESS)
    arguments, rest = parser.parse_known_args()
    if arguments.mode:
        return run_module(arguments.modules[0], arguments.mode, arguments.outcomes, rest)
    os.environ.setdefault("JITRT_STRICT", "1")
    os.environ.setdefault("NPY_AVAILABLE_MEM", "1 GB")  # or tests take 16
    names = [n for n in MODULES if not arguments.modules or {n, n.rpartition(".")[-1]} & set(arguments.modules)]
    names += [n for n in arguments.modules if n not in names and "." in n]
    lines, is_good = [], True
    for name in names:
        plain, compiled = (outcomes(name, mode, rest) for mode in ("plain", "jit"))
        passed = [sum(outcome == "passed" for outcome, _ in run.values()) for run in (plain, compiled)]
        lost = [t for t, (o, _) in plain.items() if o == "passed" and compiled.get(t, ("lost",))[0] != "passed"]
        lost = [t for t in lost if t not in _COUNT_REFERENCES]
        lines.append(f"{name:48} {passed[0]:7} {passed[1]:7} {len(lost):7}")
        print(lines[-1], flush=True)
        for test in lost[: None if arguments.messages else _MOST_SHOWN]:
            print(f"    {test}")
            if arguments.messages:
                print("        " + compiled.get(test, ("", "was not run"))[1].replace("\n", "\n        "))
        is_good &= bool(plain) and not lost
    print("\n".join([f"\n{'module':48} {'plain':>7} {'jit':>7} {'only jit':>8}", *lines]))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
