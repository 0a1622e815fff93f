"""Constants whose methods ask the system: paths that may exist or not, dates that know what time it is."""

import datetime
import pathlib

import numpy as np

import jitrt

HERE = pathlib.Path("nowhere")
DAY = datetime.datetime(2020, 1, 1)
BOTH = (DAY, (HERE, 1.0))


def test_a_path_is_asked_at_every_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @jitrt.jit
    def scaled(x):
        return x * 2 if HERE.exists() else x * 3

    @jitrt.jit
    def nested(x):
        return x * 2 if BOTH[1][0].exists() else x * 3

    @jitrt.jit
    def by_name(x):
        return x * 2 if getattr(HERE, "exists")() else x * 3  # noqa: B009

    @jitrt.jit
    def touching(x):
        HERE.touch()
        return x * 2

    x = np.ones(500)
    for expected in (3.0, 2.0, 3.0):
        HERE.touch() if expected == 2.0 else HERE.unlink(missing_ok=True)
        for _ in range(3):
            assert scaled(x)[0] == nested(x)[0] == by_name(x)[0] == expected
    for _ in range(3):
        HERE.unlink(missing_ok=True)
        touching(x)
        assert HERE.exists()
    assert "asks a constant for exists" in scaled.plain_reason


def test_a_date_is_asked_at_every_call(monkeypatch):
    @jitrt.jit
    def stamped(x):
        return x * DAY.now().timestamp()

    x = np.ones(500)
    first = stamped(x)[0]
    while stamped(x)[0] == first:
        pass
    assert "may differ from call to call" in stamped.plain_reason


def test_what_never_changes_is_a_constant():
    @jitrt.jit
    def scaled(x):
        return x * DAY.year + len(HERE.name) + (DAY - datetime.datetime.min).days

    @jitrt.jit
    def years(x):
        return x * DAY.year + len(HERE.suffix)

    x = np.ones(500)
    assert scaled(x)[0] == 2020 + 7 + (DAY - datetime.datetime.min).days
    assert years(x)[0] == 2020
    assert not years.plain_reason
