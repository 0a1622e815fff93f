"""What entries of the disk cache depend on beside the text that they were made from, as hashes.

Machine code depends on versions, on the processor, and on the modules that emit code; a program on every module.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from ..base.once import once

_EMITTERS = (
    "codegen/",
    "kernels/",
    "schedule/loopnest.py",
    "schedule/nest.py",
    "schedule/legalise.py",
    "ir/inequalities.py",
    "ir/integers.py",
    "ir/ops/folds.py",
    "passes/apart.py",
    "passes/carried.py",
    "passes/places.py",
    "runtime/threads.py",
)
_NUMBA_OPTIONS = tuple(
    f"NUMBA_{name}" for name in "CPU_FEATURES CPU_NAME ENABLE_AVX LOOP_VECTORIZE OPT SLP_VECTORIZE".split()
)  # those on which machine code depends


def digest(text: str) -> str:
    """A hash of `text` for file names and symbols."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@once
def _modules() -> dict[str, str]:
    """Every module of the package, and what stands for its text: size and time of the last change.

    So do they for Python's own bytecode.
    """
    package = os.path.dirname(os.path.dirname(__file__))
    kernels = os.path.join(package, "kernels")
    if not os.path.isdir(kernels):
        kernels = os.path.join(os.path.dirname(package), "kernels")
    found = {}
    folders = [("", package), ("kernels/", kernels)]
    for prefix, folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    found[prefix + entry.name] = f"{status.st_size} {status.st_mtime_ns}"
                elif entry.name not in ("kernels", "__pycache__") and entry.is_dir():
                    folders.append((f"{prefix}{entry.name}/", entry.path))
    return dict(sorted(found.items()))


@once
def fingerprint() -> str:
    """A hash of everything beside its text that a module's code depends on."""
    parts = [llvmlite.__version__, sys.implementation.cache_tag or "", sys.byteorder, *_numba(), *_machine()]
    parts += [f"{name} {text}" for name, text in _modules().items() if name.startswith(_EMITTERS)]
    return digest("\n".join(parts))


def _numba() -> list[str]:
    """What stands for numba's version and options, without an import of it where its file of versions is known."""
    spec = importlib.util.find_spec("numba")
    place = Path(spec.origin).parent / "_version.py" if spec is not None and spec.origin else None
    if place is not None and place.is_file():
        version = place.read_text(encoding="utf-8")
    else:
        import numba

        version = numba.__version__
    chosen = [f"{name}={os.environ[name]}" for name in _NUMBA_OPTIONS if name in os.environ]
    file = Path(".numba_config.yaml")
    return [version, *chosen, file.read_text(encoding="utf-8") if file.is_file() else ""]


def _machine() -> list[str]:
    """The processor, which numba makes code for, and what a program has told numba to make it for instead."""
    found = [llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    if "numba" in sys.modules:
        import numba  # noqa: F401 (the whole before its parts, see `codegen`)
        from numba.core import config

        told = {name: getattr(config, name) for name in ("CPU_NAME", "CPU_FEATURES")}
        found += [f"{name}={told[name]}" for name in told if (told[name] or "") != os.environ.get(f"NUMBA_{name}", "")]
    return found


@once
def sources() -> str:
    """A hash of all beside what it was made from that a program depends on, and the code of its kernels does not."""
    return digest("\n".join([np.__version__, *(f"{name} {text}" for name, text in _modules().items())]))
