"""New values lie over old ones only where nothing reads the old ones any more."""

import numpy as np
import pytest
from test_nests import arrays, stepping, with_body

from jitrt.frontend.control.stage import stage
from jitrt.ir.loops import Memory, statements_within
from jitrt.passes.nests import fuse_nests
from jitrt.passes.overwriting import overwrite
from jitrt.runtime.stagedloops import LoopEngine

IN_PLACE = {
    "one array": (["a = a * b + c"], 1),
    "two arrays": (["b = b + a * c", "a = a + b"], 2),
    "chosen elements": (["a = np.where(a > b, a - 1, c)"], 1),
    "another name for an array that stays": (["t = b", "a = a + t"], 1),
}
APART = {
    "neighbours": ["a = np.roll(a, 1, 0)"],
    "the old value is kept": ["b = a", "a = a * 2"],
    "the old value is read later": ["t = a", "a = a * 2", "c = c + np.roll(t, 1, 0)"],
    "two names change places": ["a, b = b * 2, a"],
    "the loop may be left before it is kept": ["t = a", "a = a * 2", "if k > 1:", "    a = t", "    break"],
    "it is left with the old value": ["t = a + 1", "if k == 2:", "    break", "a = t"],
    "a list holds it": ["kept.append(a)", "a = a * 2"],
    "other elements": ["a = np.roll(a, -1, 0) + 1"],
}


def programs():
    for name, (body, count) in IN_PLACE.items():
        yield pytest.param(stepping(*body), count, id=name)
    for name, body in APART.items():
        lines = [f"    {line}" for line in body]
        kept = ", np.array(kept)" if "kept" in str(body) else ""
        whole = ["kept = []", "for k in range(steps):", *lines, f"return a + 0, b + 0, c + 0{kept}"]
        yield pytest.param(with_body(whole), None, id=name)


@pytest.mark.parametrize("function, count", list(programs()))
@pytest.mark.parametrize("shape", [(9,), (3, 4)], ids=str)
def test_old_values_are_overwritten_where_they_may_be(function, count, shape):
    args = [*arrays(shape), 5]
    wanted = function(*args)
    engine = LoopEngine(function)
    engine._looked = True
    for _ in range(2):
        for x, y in zip(wanted, engine.call(tuple(args), True)):
            assert np.array_equal(x, y)
    if count is not None:
        fused = fuse_nests(stage(function, args, True).procedure)
        changed = zip(statements_within(fused.body), statements_within(overwrite(fused).body))
        assert sum(isinstance(s, Memory) and s != t for s, t in changed) == count
