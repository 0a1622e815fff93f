"""Of complex numbers that become real ones, and of numbers that do not fit, NumPy warns once a call, at a line."""

import warnings

import numpy as np
import pytest

import jitrt

WAYS = [
    "y = x.astype('f4')", "y = x[0].astype(float)", "y = (x * 2).astype(int)", "y[:] = x", "y[1:] = x[1:]",
    "y[i] = x[i]", "y[[0, 1]] = x", "y[y > 0] = x", "y[k] = x[0]", "y[[0, 1]] = 1j", "y.fill(x[i])", "y.put([0], x[0])",
    "y = np.array(x, float)", "y = np.asarray(x * 2, dtype='i4')", "y = np.full(2, x[0], float)",
    "y = np.full_like(y, x[1])", "y = np.array([x[0], x[1]], float)", "np.add(x, y, out=y, casting='unsafe')",
    "np.copyto(y, x, casting='unsafe')",
    "y = np.multiply(x, y, dtype='f8', casting='unsafe')", "y = x.sum(dtype=float)", "y = np.sum(x, dtype='f4')",
    "y = np.cumsum(x, dtype=float)", "y = np.prod(x, dtype='f4')", "y = x.mean(dtype='f8')", "np.add.at(y, [0, 0], x)",
    "y = np.float32(x[0])", "y = np.float64(x)", "y = np.int32(x[1])", "y = np.where(y > 0, x, y).astype('f4')",
    "y = x.real.astype('f4')", "y = x.astype(bool)", "y = np.sqrt(np.float16(x.real[0]))", "y = np.float32(x.real)",
]  # fmt: skip
FORMS = {
    "once": "    i = 0\n    {way}\n",
    "in a loop": "    for i in range(len(x)):\n        {way}\n        s += 1.5\n",
}


def outcome(function, args):
    args = [a.copy() for a in args]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except (TypeError, IndexError) as error:
            result = str(error)
    return [(w.category, str(w.message), w.filename, w.lineno) for w in caught], repr(result), repr(args)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("way", WAYS)
def test_each_call_warns(tmp_path, way, form):
    path = tmp_path / "discards.py"
    path.write_text(f"import numpy as np\n\n\ndef f(x, y, k):\n    s = 0.0\n{form.format(way=way)}    return y, s\n")
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    fast = jitrt.jit(scope["f"])
    for turn in range(5):
        args = np.array([1.0 + turn, 1e200 if turn == 3 else 2.0], complex), np.ones(2), np.array([True, False])
        want, got = (outcome(f, args) for f in (scope["f"], fast))
        assert got == want


def test_where_the_function_silences_them(tmp_path):
    def parts(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.fft.ifft(np.fft.fft(x)).astype(float) * 2

    fast, x = jitrt.jit(parts), np.linspace(0, 1, 1000)
    for _ in range(3):
        np.testing.assert_allclose(fast(x), parts(x), atol=1e-12)
    assert "compiled" in str(fast.explain(x))
