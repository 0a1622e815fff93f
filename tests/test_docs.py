"""The documentation: its examples run, and its links lead somewhere."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

import jitrt.expr

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
_OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples(page):
    """The Python blocks of a page that are sessions, and those that are not."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    return [b for b in blocks if ">>>" in b], [b for b in blocks if ">>>" not in b]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_examples(page, monkeypatch):
    sessions, programs = examples(page)
    if page.stem == "dask":
        pytest.importorskip("dask.array")
    for program in programs:
        compile(program, page.name, "exec")
    monkeypatch.delenv("JITRT_STRICT")  # users have none
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {"np": np, "jitrt": jitrt}, page.name, str(page), 0)
    output = []
    doctest.DocTestRunner(optionflags=_OPTIONS).run(test, out=output.append)
    assert not output, "".join(output)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links(page):
    text = page.read_text(encoding="utf-8")
    targets = [t for t in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in t]
    targets += [f"{t}.md" for t in re.findall(r"\{doc\}`(\w[\w-]*)`", text)]
    made = {"reasons.md"}  # when the pages are built
    missing = [t for t in targets if not (page.parent / t).exists() and t not in made]
    assert not missing


def test_every_page_is_in_the_contents():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = {
        line.strip() for block in re.findall(r"```\{toctree\}(.*?)```", index, re.S) for line in block.splitlines()
    }
    assert {p.stem for p in PAGES} - {"README", "index"} <= listed


def test_the_reference_has_every_public_name():
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").split()
    assert set(jitrt.__all__) - {"__version__"} <= set(reference)
    of_expressions = reference[reference.index("jitrt.expr") :]
    assert set(jitrt.expr.__all__) <= set(of_expressions)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) < 750
