"""Records in loops: what is written into one, and what NumPy copies when several are chosen."""

import numpy as np
import pytest
from texts import function_of

import jitrt

RECORD = np.dtype([("x", "f8"), ("n", "i4"), ("f", "f4"), ("v", "f8", 3), ("b", "?")])
COMPILED = """p[i]['x'] += 1; p[i]['n'] += 0.5; p[i]['n'] *= 3; p[i]['f'] += 1e-9; p[i]['v'] += 1; p[i]['v'][1] -= 2
p[-1]['x'] /= 2; p[i]['b'] |= True; p[i]['b'] &= False; p['x'][i] += p[i]['n']; p[i]['n'] //= 2; p[i]['n'] += 2**40
p[i]['n'] += np.int64(7); p[i]['n'] -= np.float32(2.5); p[i]['x'] **= 2; p[i]['x'], p[i]['n'] = p[i]['n'], p[i]['x']
p[i]['x'] += p[i + 1]['x'] if i < 5 else 0; r = p[i] | r['x'] += 2 | s += r['x']; r = p[1:4] | r['n'][i % 3] += 2
s += p[p['b']]['x'].sum(); s += p[[i, 0]]['n'][0]"""
OTHERS = """p[[0, 1]]['x'] += 1; p[[0, 1]]['x'] = 5; p[p['b']]['x'] = 5; p[p['b']]['x'] += 5; p[1:3]['x'] += i
r = p[[0, 1]] | p['x'] += 1 | s += r['x'][0]; r = p[i] | p['x'] += 1 | s += r['x']; p[i] = p[0]
r = p[1:4] | p['x'] += 1 | s += r['x'][0]; t = (p[[0, 1]], 1) | p['x'] += 1 | s += t[0]['x'][0]
r = p[p['x'] > 2] | for q in r['x']: s += q; q = p[i].copy() | q['x'] += 4 | s += q['x']"""


def records():
    p = np.zeros(6, RECORD)
    p["x"], p["n"], p["f"], p["b"] = np.arange(6) + 0.5, np.arange(6) - 2, 1.25, [1, 0, 1, 0, 1, 1]
    p["v"] = np.arange(18).reshape(6, 3)
    return p


def outcome(function, p):
    try:
        made = repr(function(p))
    except (TypeError, OverflowError) as error:
        made = type(error), str(error)
    return made, p.tobytes()


@pytest.mark.parametrize("text", f"{COMPILED}\n{OTHERS}".replace("\n", "; ").split("; "))
def test_statements(text):
    function = function_of(
        "def f(p):\n    s = 0.0\n    for i in range(len(p)):\n        "
        + text.replace(" | ", "\n        ")
        + "\n        s += p['x'][0]\n    return s, p['x'].sum(), p['n'].sum()\n"
    )
    compiled = jitrt.jit(function)
    for _ in range(3):
        assert outcome(compiled, records()) == outcome(function, records())
    if text in COMPILED:
        assert str(compiled.explain(records()).loops[0]).endswith("compiled as a loop")
