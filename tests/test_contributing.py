"""What CONTRIBUTING.md says of the layout is true."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_named_files_exist():
    named = set(re.findall(r"`((?:jitrt|kernels|tests|bench|\.ci)/[\w/.]*)`", TEXT))
    assert len(named) > 20
    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_folder_is_in_the_table():
    folders = {p.parent.name for p in (ROOT / "jitrt").glob("*/__init__.py")}
    assert not [name for name in folders if f"`jitrt/{name}/`" not in TEXT]


def test_a_way_has_at_most_eight_steps():
    for section in TEXT.split("\n## ")[1:]:
        assert max(map(int, re.findall(r"^(\d+)\. ", section, re.M)), default=0) <= 8
