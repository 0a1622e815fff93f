"""docs/operations.md says of each of NumPy's functions what becomes of it."""

import numpy as np
import pytest
from covering import few

from bench.operations import CLASSES, NAMESPACES, SCREEN, TABLE, code_lines, public_functions, row_of

TEXT = TABLE.read_text(encoding="utf-8")
IS_SAME_NUMPY = f"Made with NumPy {np.__version__.rsplit('.', 1)[0]}." in TEXT
SECTIONS = {part.partition("\n")[0]: part.splitlines() for part in TEXT.split("\n## ")[1:]}


def test_all_namespaces():
    assert SECTIONS.keys() == NAMESPACES.keys()


@pytest.mark.parametrize("title", NAMESPACES)
def test_every_function_is_there(title):
    if not IS_SAME_NUMPY:
        pytest.skip("the table was made with another version of NumPy")
    names = [line.split("`")[1] for line in SECTIONS[title] if line.startswith("| `")]
    assert names == public_functions(title)


@pytest.mark.parametrize("part", few(range(6), 2))
@pytest.mark.parametrize("title", NAMESPACES)
def test_every_row_is_true(title, part):
    if not IS_SAME_NUMPY:
        pytest.skip("the table was made with another version of NumPy")
    lines = [line for line in SECTIONS[title] if line.startswith("| `")]
    for line in lines[part::6]:
        row = row_of(title, line.split("`")[1])
        assert str(row) == line, "python -m bench.operations renews the table"
        assert row.kind in CLASSES


def test_no_operation_needs_more_than_a_screen():
    lines = code_lines()
    rows = [f"| `{name}` | {own} | {all_} |" for name, (own, all_) in lines.items()]
    if IS_SAME_NUMPY:
        head = TEXT.partition("\n## ")[0].splitlines()
        assert [line for line in head if line.startswith("| `")] == rows, "python -m bench.operations renews the table"
    assert len(lines) > 100 and max(own for own, _ in lines.values()) <= SCREEN
