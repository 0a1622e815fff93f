"""What a function catches says what NumPy's exception says, and has its type."""

import numpy as np
import pytest
from texts import function_of

import jitrt

REFUSED = """
x[0][0]
x.sum()[0:1]
x[0][[0]]
list(x[0])
list(np.sum(x, keepdims=True)[0])
x[0].astype(int, casting='safe')
x.astype(int, casting='safe')
m.reshape()
x + m
m @ m
x @ x[:2]
np.add(m, x[:2])
np.add(x, x.reshape(1, 6), out=x)
np.exp(m, out=np.zeros(3))
np.dot(x, x[:2])
np.dot(m, x)
x.dot(m)
np.matmul(x, 2)
np.einsum('ij,jk', m, m)
m.reshape(4, 2)
x.reshape(-1, -1)
x.reshape(-1, 4)
np.concatenate([m, x])
np.concatenate([m, m.T])
np.hstack([x, m])
np.column_stack([x, x[:2]])
np.stack([x, x[:2]])
np.append(x, m, axis=0)
np.broadcast_to(x, (2, 5))
np.where(x > 2, x[:3], x)
np.isclose(x, x[:2])
np.cov(x, x[:2])
np.repeat(x, -1)
np.tile(x, -1)
x[:0].max()
np.nanmax(x[:0])
np.maximum.reduce(x[:0])
np.ptp(x[:0])
m.sum(axis=5)
m.sum(axis=(0, 0))
x[7]
x[[7]]
m[0, 0, 0]
m[[0, 1], [0, 1, 2]]
x.take([9])
np.split(x, 4)
x[:0].argmax()
x.__setitem__(slice(3), x)
np.broadcast_to(x, (2, 6)).__setitem__(0, 1)
x % 'a'
x + 'a'
x + None
x < None
x.nothing
len(x[0])
len(x.sum())
np.percentile(x, 101)
np.average(x, weights=x * 0)
np.linalg.inv(m)
x(1)
x.T()
",".join([x * 2, 'a'])
'%d' % (x * 2)
ord(x)
{}[x]
x.__enter__
setattr(x, 'nothing', 1)
getattr(x, 'nothing')
getattr(x, 1)
pow(x, 2, 3)
x.tolist(1)
x.flatten(1, 2)
x.copy(1, 2)
x.astype()
x.astype('f4', foo=1)
x.swapaxes(0)
x.item(1, 2, 3)
x.dot()
x.cumsum(0, 1, 2, 3, 4)
x.argmax(foo=1)
x.any(foo=1)
x.min(foo=1)
x.std(0, 1, 2, 3, 4, 5, 6, 7)
x.take()
x.fill()
x.conj(1)
x.round(1, 2, 3)
x.sum().item(3)
x.flat[9]
x.flat.__setitem__(-7, 1)
np.add(x, x, out=m)
np.add(x, x, out=np.zeros(3))
np.add(m, m, out=x)
np.full(3, x)
np.full((2, 2), [1, 2, 3])
(x > 1) + 10**100
x < 10**400
x.astype(int) + 10**100
np.add(np.arange(4), m, out=np.arange(4))
np.arange(4).__iadd__(m)
np.add.reduce(m, axis=0, out=np.zeros(2, int))
(x == m.astype('M8[D]')[:, :1]).tolist()
np.isin(x, (x * 2).astype('M8[D]')).tolist()
""".strip().split("\n")
ALONE = """
([1] + x[0]).tolist()
([1] - x.sum()).tolist()
[2] * x[0]
(1, 2) + float(x[0])
[3] < float(x[1])
[2] * int(x[3]) + [x.astype(int)[2]]
np.einsum('i,j->k', x, x)
np.einsum('i,i->ii', x, x)
np.einsum('i->i->i', x)
np.einsum('ij', x)
np.einsum('i,i', x)
np.einsum('i,j->ij', x, x, x)
np.einsum('i1', m)
""".strip().split("\n")  # functions that use one of these run plain
GROUP = 7


GROUPS = [REFUSED[first : first + GROUP] for first in range(0, len(REFUSED), GROUP)]


@pytest.mark.parametrize("texts", [*GROUPS, *([text] for text in ALONE)], ids=lambda texts: texts[0])
def test_messages_are_numpys(texts):
    statements = "".join(
        f"    try:\n        found.append({text})\n    except Exception as error:\n"
        "        found.append((type(error).__name__, str(error), repr(error)))\n"
        for text in texts
    )
    function = function_of(f"def f(x):\n    found, m = [], x.reshape(2, 3)\n{statements}    return found, m * 2\n")
    compiled = jitrt.jit(function)
    for start in (0, 1):
        got, want = (f(np.arange(6.0) + start)[0] for f in (compiled, function))
        assert got == want and len(want) == len(texts)
