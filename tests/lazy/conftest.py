"""Lazy arrays of any size are recorded here, unless a test asks for the limit below which NumPy computes at once."""

from pathlib import Path

import pytest

from jitrt import policy
from jitrt.numpy import direct
from jitrt.numpy.pending import PENDING
from jitrt.numpy.vain import InVain

FOLDER = Path(__file__).parent


@pytest.fixture(autouse=True)
def limit(request, monkeypatch):
    """Elements below which NumPy computes at once; `None` for the ordinary number."""
    chosen = getattr(request, "param", 0)
    monkeypatch.setattr(PENDING, "vain", InVain())
    monkeypatch.setattr(direct, "keeps_small", False)  # as in a program that has not asked for the standard
    if chosen is not None:
        monkeypatch.setattr(policy, "SMALL_ARRAY", chosen)
        monkeypatch.setattr(policy, "KNOWN_FOLD", chosen)
        monkeypatch.setattr(PENDING.vain, "note", lambda code, is_vain: None)  # all gain nothing
    direct.renew()


def pytest_collection_modifyitems(items):
    """Let warnings of floating-point exceptions be warnings: where they are errors nothing is recorded."""
    for item in items:
        if item.path.parent == FOLDER and item.get_closest_marker("filterwarnings") is None:
            item.add_marker(pytest.mark.filterwarnings("default::RuntimeWarning"))
