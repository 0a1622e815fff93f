"""Which functions are staged, and which come from the disk."""

import pytest

from jitrt.runtime import stagedfunction


@pytest.fixture
def tried(monkeypatch, tmp_path):
    """Which functions are staged, with a disk cache that is empty at first."""
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    found, stage = [], stagedfunction.stage
    monkeypatch.setattr(
        stagedfunction, "stage", lambda function, *rest: found.append(function) or stage(function, *rest)
    )
    return found
