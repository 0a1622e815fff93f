"""Every row of the op table and every NumPy callable that it describes is exercised by a test of this folder."""

import ast
from pathlib import Path

import numpy as np
from test_reductions import FUNCTIONS, INDICES
from test_scans import ACCUMULATED, CUMULATIVE

from jitrt.ir.ops.optable import LIBM, METHODS, NUMPY_FUNCTIONS, OPS, Kind
from jitrt.ir.ops.pythonnumbers import is_python
from jitrt.ir.ops.relaxed import RELAXED
from jitrt.ir.ops.ufuncs import NUMPY_UFUNCS

# Rows that have no NumPy function of their name: what rewrites and schedules put into a graph, and what leads there.
INTERNAL = {
    "input", "constant", "call", "result",  # every graph; calls without a row
    "cast",  # astype
    "copy",  # copies, reshapes of strided views
    "cube",  # power by 3
    "assemble",  # concatenate, roll, pad
    "getitem",  # slicing
    "take_at", "gather", "check_bounds",  # indexing by arrays
    "einsum_view",  # einsum of one operand whose axes are not summed
    "overwrite", "buffer",  # assignments to parts of arrays: tests/frontend/test_mutation.py
    "loop", "branch",  # fori_loop and its kin: test_control.py
}  # fmt: skip


def names_in_tests() -> set[str]:
    """Names of attributes that the tests of this folder use: ``np.flip`` and ``x.ravel`` give flip and ravel."""
    names: set[str] = set()
    for path in Path(__file__).parent.glob("*.py"):
        if path.name != Path(__file__).name:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return names


def with_a_test() -> set[str]:
    generated = {f.__name__ for f in (*FUNCTIONS, *INDICES, *CUMULATIVE, *NUMPY_UFUNCS)}
    return names_in_tests() | generated | {"max", "min"}


def test_every_numpy_function():
    missing = {f.__name__ for f in NUMPY_FUNCTIONS} - with_a_test()
    assert not missing, f"functions of the op table without a conformance test: {sorted(missing)}"


def test_every_method():
    missing = set(METHODS) - with_a_test()
    assert not missing, f"methods without a conformance test: {sorted(missing)}"


def test_every_row():
    folds = {name for name, op in OPS.items() if op.kind is Kind.REDUCTION}
    for name in folds:  # each is a fold of a ufunc, which some reduction lowers to
        ufunc = OPS[name].ufunc
        assert isinstance(ufunc, np.ufunc) and name.endswith(f"reduce_{ufunc.__name__}")
    folds |= {f"scan_{ufunc.__name__}" for ufunc in ACCUMULATED}
    # tests/frontend/test_python_numbers.py, test_unread.py, test_warnings.py, tests/passes/test_harmless.py
    checks = {"assume", "computed", "force", "guarded", "left_out"}  # tests/frontend/test_unread.py
    checks |= {"scalar_multiply", "bitcast"}  # test_complex_products.py, test_bitcasts.py
    python = {name for name, op in OPS.items() if is_python(op) or op.library == LIBM}
    relaxed = {name for name, op in OPS.items() if op.library == RELAXED}  # tests/passes/test_fastmath.py
    users = {name for name, op in OPS.items() if op.emit is not None}  # by `jitrt.operation`, of other tests
    missing = set(OPS) - folds - with_a_test() - INTERNAL - python - checks - relaxed - users
    assert not missing, f"rows without a conformance test: {sorted(missing)}"
