"""The direction of imports: downwards only, and numba in the layers that generate or run code."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from covering import few

ROOT = Path(__file__).parents[1]

# Lower layers first; modules of the face and the pipeline stand above all folders.
LAYERS = [
    "errors",
    "base",
    "config",
    "policy",
    "advice",
    "values",
    "ir",
    "frontend",
    "passes",
    "schedule",
    "memory",
    "codegen",
    "runtime",
    "pipeline",
    "programs",
]
FACE = [
    "loops",
    "call",
    "expr",
    "inspect",
    "numpy",
    "pandas_engine",
    "pickling",
    "jitfunction",
    "decorator",
    "running",
    "dask",
    "strings",
    "__init__",
    "__main__",
]
MAY_IMPORT_NUMBA = {"codegen", "runtime", "kernels"}


def _modules():
    for folder in ("jitrt", "kernels"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield folder, path


def _layer(parts):
    """The layer of a module given by its path inside of the package."""
    return parts[0] if parts else "__init__"


def _imports(path, parts):
    """Layers of jitrt, and other top-level packages, that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _absolute(alias.name)
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0:
                yield from _absolute(node.module or "")
                continue
            base = parts[: len(parts) - node.level]
            target = [*base, *(node.module or "").split(".")] if node.module else base
            names = [a.name for a in node.names]
            yield ("jitrt", _layer(target) if target or names[0] == "__version__" else names[0])


def _absolute(name):
    top, _, rest = name.partition(".")
    yield ("jitrt", rest.partition(".")[0]) if top == "jitrt" and rest else (top, "")


def _height(layer):
    if layer == "kernels":
        return -1
    return LAYERS.index(layer) if layer in LAYERS else len(LAYERS) + FACE.index(layer)


def test_imports_point_downwards():
    wrong = []
    for folder, path in _modules():
        inside = list(path.relative_to(ROOT / folder).with_suffix("").parts)
        if folder == "kernels":
            inside = ["kernels", *inside]
        own = _layer(inside)
        for top, layer in _imports(path, inside):
            if top != "jitrt" or layer == own or (layer == "kernels" and own != "kernels"):
                continue
            if own == "kernels" or (_height(layer) >= _height(own) and own not in ("__init__", "__main__")):
                wrong.append(f"{path.relative_to(ROOT)} imports {layer}")
    assert not wrong


def test_numba_is_imported_where_code_is_generated_or_run():
    wrong = []
    for folder, path in _modules():
        inside = list(path.relative_to(ROOT / folder).with_suffix("").parts)
        own = "kernels" if folder == "kernels" else _layer(inside)
        for top, _ in _imports(path, inside):
            if top in ("numba", "llvmlite") and own not in MAY_IMPORT_NUMBA:
                wrong.append(f"{path.relative_to(ROOT)} imports {top}")
    assert not wrong


def test_the_whole_of_numba_is_imported_before_its_parts():
    wrong = []
    for _, path in _modules():
        whole = []
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                whole += [node.lineno] * ("numba" in names)
                if any(n.startswith("numba.") for n in names) and not any(line < node.lineno for line in whole):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not wrong


def test_threads_that_generate_code_at_once_find_all_of_numba(tmp_path):
    code = """
import sys, threading
sys.setswitchinterval(1e-5)
import jitrt
def whole():
    from jitrt.codegen import procedures
def parts():
    from jitrt import pipeline
threads = [threading.Thread(target=f) for f in (whole, parts, whole, parts)]
failures = []
threading.excepthook = lambda failure: failures.append(failure.exc_value)
for t in threads: t.start()
for t in threads: t.join()
assert not failures, failures
"""
    environment = os.environ | {"JITRT_CACHE_DIR": str(tmp_path)}
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)


FIRST = """
import importlib, os, sys
import numba  # what takes long, once
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        importlib.import_module(name)
        os._exit(0)
    assert not os.waitpid(child, 0)[1], name
"""
FOLDERS = sorted({path.parent.relative_to(ROOT) for _, path in _modules()}, key=lambda f: (f.name != "passes", f))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="takes a fork for each module")
@pytest.mark.parametrize("folder", few(FOLDERS, 1), ids=str)
def test_each_module_may_be_the_first_that_is_imported(folder):
    paths = [path.relative_to(ROOT).with_suffix("") for path in sorted((ROOT / folder).glob("*.py"))]
    names = [".".join(path.parts) for path in paths if path.name not in ("__init__", "__main__")]
    names = [f"jitrt.{name}" if name.startswith("kernels.") else name for name in names]
    subprocess.run([sys.executable, "-c", FIRST, *names], check=True, cwd=ROOT)


def test_a_source_tree_is_importable_without_being_installed():
    code = (
        "import sys; from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder; "
        "sys.meta_path = [BuiltinImporter, FrozenImporter, PathFinder]; "  # none that an editable install has put there
        f"sys.path.insert(0, {str(ROOT)!r}); import jitrt.kernels.words; print(jitrt.kernels.words.__file__)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == str(ROOT / "kernels" / "words.py")


def test_a_wheel_has_every_package():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    folders = [path.parent.relative_to(ROOT) for path in (ROOT / "jitrt").rglob("__init__.py")]
    assert sorted(listed) == sorted([*(".".join(folder.parts) for folder in folders), "jitrt.kernels"])
