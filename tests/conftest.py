"""Settings of all tests: internal errors raise, and golden files can be renewed."""

import atexit
import gc
import os
import shutil
import tempfile

os.environ["JITRT_STRICT"] = "1"
if "JITRT_CACHE_DIR" not in os.environ:
    os.environ["JITRT_CACHE_DIR"] = tempfile.mkdtemp(prefix="jitrt-tests-")
    atexit.register(shutil.rmtree, os.environ["JITRT_CACHE_DIR"], ignore_errors=True)

from pathlib import Path

import pytest
from covering import leave_for_slow_runs

from jitrt.call.templates import Templates
from jitrt.runtime.loopengine import NoLoops

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config, items):
    """Leave out slow tests unless a -m expression asks for them."""
    leave_for_slow_runs(items)
    if config.option.markexpr:
        return
    chosen = [item for item in items if "slow" not in item.keywords]
    config.hook.pytest_deselected(items=[item for item in items if "slow" in item.keywords])
    items[:] = chosen


def pytest_collection_finish():
    """Let collections of garbage pass over what was imported, so that they take a moment."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def without_templates(monkeypatch):
    """Let every new shape be traced, as it is where no template serves it."""
    monkeypatch.setattr(Templates, "find", lambda *_: None)


@pytest.fixture
def without_procedures(monkeypatch):
    """Let all loops be traced, as they are where no procedure serves them."""
    monkeypatch.setattr("jitrt.call.site.loop_engine", lambda *_: NoLoops())
    monkeypatch.setattr("jitrt.runtime.stagedloops.LoopEngine._find", lambda *_: None)  # where a trace asks for one


@pytest.fixture
def golden(request):
    """Compare a text with the golden file of that name, or write it with --update-golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        assert path.exists(), f"{path} is missing: run pytest --update-golden and read what it writes"
        assert text + "\n" == path.read_text(encoding="utf-8")

    return compare
