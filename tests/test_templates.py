"""Templates: the program that one gives for a shape is the one that is made for this shape."""

import random

import numpy as np
import pytest

import jitrt
from jitrt.call import lookup, template, templates
from jitrt.call.tracing import Call
from jitrt.call.tree import Plain, Specialisation
from jitrt.frontend.python.purity import scan, scan_call
from jitrt.runtime import formulas
from jitrt.runtime.image import FIRST_KERNEL
from jitrt.values.growing import Growing
from jitrt.values.kinds import flatten_call


def softmax(x, y):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) + y[0, 0]


def standardise(x, y):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9), y.var(ddof=1)


def gradient(x, y):
    gx, gy = np.zeros_like(x), np.zeros_like(x)
    gx[:, 1:-1] = (x[:, 2:] - x[:, :-2]) * 0.5
    gy[1:-1, :] = (x[2:, :] - x[:-2, :]) * 0.5
    return np.hypot(gx, gy)


def in_place(x, y):
    x[1:-1] += 0.25 * (x[2:] - x[:-2])
    x[::2] *= 0.5
    return x.sum()


def reversed_and_strided(x, y):
    return x[::-1, ::2] * 2 + x[::-1, ::2].T.sum(), np.concatenate([x, y[:1, :1] + x], axis=0).cumsum(axis=1)


def by_size(x, y):
    n, m = x.shape
    return x.sum(axis=0) * n - x[: n // 2].sum() / x.size + m, x.reshape(-1)[1:].max()


def numbers(x, y):
    n, m = x.shape
    return x.sum() / n, (n * m - x) / (m - 1), (x.sum(axis=0) * (x.size // 2) + 1j) / n


def masked(x, y):
    z = x.copy()
    z[z < 0.25] = 0.5
    return z, (x > 0.5).sum(axis=1), np.where(x > 0.5, x, -1.0).mean()


def flattened(x, y):
    return np.sort(x.ravel()[:3]) if x.size < 4 else x.T.ravel() * 2


def outer(x, y):
    return (x[:, 0][:, None] * y[0][None, :]).sum(axis=1), x.max(axis=1) + x.min(axis=1)


def branches(x, y):
    return x * 2 if x.shape[0] > 20 else x + y.shape[1]


def twice(x, y):
    for _ in range(3):
        x = 0.5 * x + 0.25 * np.abs(x)
    return x, np.mean(x, axis=1, keepdims=True) * x


FUNCTIONS = [
    softmax,
    standardise,
    gradient,
    in_place,
    reversed_and_strided,
    by_size,
    numbers,
    masked,
    flattened,
    outer,
    branches,
    twice,
]
EXTENTS = [0, 1, 2, 3, 4, 7, 8, 16, 17, 31, 32, 33, 64, 100, 127, 128, 500, 512, 1023]


def arrays(rows, columns, others, seed=0, dtype=np.float64):
    chosen = np.random.default_rng(seed)
    return tuple(chosen.random(shape).astype(dtype) for shape in ((rows, columns), (others, columns)))


def call_of(function, args):
    leaves = []
    structure = flatten_call(args, {}, (), leaves, Growing())
    captures = scan(function, frozenset())
    scan_call(function, structure, leaves, captures)
    return Call(function, function.__name__, leaves, structure, captures, None, ())


def template_of(function, args, variables=None):
    """The template that is made for these arguments, with the positions of `variables`; None if there is none."""
    call = call_of(function, args)
    extents = tuple(n for leaf in call.leaves if isinstance(leaf, np.ndarray) for n in leaf.shape)
    if variables is None:
        variables = [(k,) for k, n in enumerate(extents) if n >= 2]
    return template.new_template(call, extents, variables)


def said(template, args):
    """All that an image says of calls with these arguments, by what its formulas are for."""
    if isinstance(template.made, Plain):
        return template.made.reason
    image = template.made.compiled.program.image
    rows = image.formulas.rows
    registers = formulas.new_registers(rows)
    assert formulas.evaluate(rows, args, registers)
    numbers = {place: registers[k] for place, k in image.formulas.registers().items()}

    def now(value, kind, k=0, j=0):
        return int(numbers.get((kind, k, j), value))

    actions = []
    for a, table in enumerate(image.actions):
        rows = table.rows.copy()
        for k, (_, kernel, _, value, jump) in enumerate(table.rows.tolist()):
            how = formulas.CHUNKED if kernel >= FIRST_KERNEL else formulas.JUMP
            rows[k, 3:] = now(value, formulas.VALUE, a, k), now(jump, how, a, k)
        params = [now(n, formulas.WORD, a, k) for k, n in enumerate(table.params)]
        offsets = [now(n, formulas.OFFSET, a, k) for k, n in enumerate(table.patches[:, 2])]
        actions.append((params, table.relocations.tolist(), table.patches[:, :2].tolist(), offsets, rows.tolist()))
    return [
        now(image.nbytes, formulas.NBYTES),
        now(image.work, formulas.WORK),
        [(k, now(at, formulas.SCALAR_AT, j), dtype) for j, (k, at, dtype) in enumerate(image.scalars)],
        [(now(at, formulas.COUNT_AT, j), now(n, formulas.COUNT, j)) for j, (at, n) in enumerate(image.counts)],
        [
            [now(n, formulas.EXTENT, k, j) for j, n in enumerate(kind.shape)]
            for k, (_, kind, _) in enumerate(image.fresh)
        ],
        [
            (place, now(a, formulas.SAVED_FROM, k), now(b, formulas.SAVED_TO, k))
            for k, (place, a, b) in enumerate(image.saved)
        ],
        actions,
        [(place, kind.dtype) for place, kind, _ in image.fresh],
        (image.places, image.outputs, image.given, image.kernels, image.may_raise),
        [c.tolist() for c in image.constants],
    ]


def check_for_two(function, first, second):
    """Whether a template for `first` serves `second`, with what one that is made for `second` says."""
    one, two = template_of(function, first), template_of(function, second)
    if one is None or two is None:
        return False
    assert one.fits(call_of(function, first)) and two.fits(call_of(function, second))
    if not one.fits(call_of(function, second)) or (one.outside is not None and one.registers[one.outside]):
        return False
    assert said(one, second) == said(two, second)
    return True


def chosen_shapes(chosen):
    rows, columns = chosen.choice(EXTENTS[3:]), chosen.choice(EXTENTS[3:])
    others = rows if chosen.random() < 0.5 else chosen.choice(EXTENTS[3:])
    return rows, columns, others


@pytest.fixture
def anew(monkeypatch):
    """Let templates be made here, and not be those that were made for other sizes elsewhere."""
    monkeypatch.setattr(template.GeneralPrograms, "_key", lambda *_: None)


@pytest.mark.wide(times=2)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_template_says_what_one_for_the_shape_says(function, seed, anew):
    chosen = random.Random(seed)
    first = chosen_shapes(chosen)
    for _ in range(3):
        second = chosen_shapes(chosen) if chosen.random() < 0.3 else [max(2, n + chosen.randint(-2, 2)) for n in first]
        check_for_two(function, arrays(*first), arrays(*second))


@pytest.mark.parametrize("function", [softmax, standardise, gradient, masked, outer, twice])
def test_neighbours_are_served(function, anew):
    rows = 50 if function is gradient else 60
    assert check_for_two(function, arrays(rows, 70, 50), arrays(rows + 1, 72, 53))


def alike(got, want):
    """Whether two results, or what a function has written, are the same to the last bit."""
    got, want = (v if isinstance(v, tuple) else (v,) for v in (got, want))
    return all(
        np.asarray(a).dtype == np.asarray(b).dtype
        and np.asarray(a).shape == np.asarray(b).shape
        and np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(got, want, strict=True)
    )


def close(got, want):
    got, want = (v if isinstance(v, tuple) else (v,) for v in (got, want))
    for a, b in zip(got, want, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        tolerance = 1e-4 if np.asarray(b).dtype in (np.float32, np.complex64) else 1e-11
        np.testing.assert_allclose(a, b, tolerance, tolerance)


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_are_those_of_programs_for_each_shape(function, dtype, monkeypatch):
    chosen = random.Random(3)
    with np.errstate(all="ignore"):
        many = jitrt.jit(function)
        for k in range(40):
            rows, columns, others = (chosen.choice(EXTENTS) for _ in range(3))
            if chosen.random() < 0.6:
                rows, columns, others = 40 + rows % 40, 30 + columns % 30, 40 + rows % 40
            args = arrays(rows, columns, others, k, dtype)
            plain, mine, own = ([a.copy() for a in args] for _ in range(3))
            try:
                want = function(*plain)
            except (ValueError, IndexError) as error:
                with pytest.raises(type(error)):
                    many(*mine)
                continue
            got = many(*mine)
            close(got, want)
            close(tuple(mine), tuple(plain))
            if k % 6 == 0:
                with monkeypatch.context() as patch:
                    patch.setattr(templates.Templates, "find", lambda *_: None)
                    single = jitrt.jit(function)(*own)
                assert alike(got, single) and alike(tuple(mine), tuple(own))


@pytest.fixture
def traces(monkeypatch):
    """Grows with every trace for one shape, and with every one for a template."""
    found = []

    def counted(what):
        return lambda *args: found.append(what) or what(*args)

    monkeypatch.setattr(lookup, "specialise", counted(lookup.specialise))
    monkeypatch.setattr(templates, "new_template", counted(templates.new_template))
    return found


@pytest.mark.parametrize("function", [softmax, standardise, gradient, numbers, masked, twice])
def test_new_shapes_are_not_traced(function, traces):
    fast = jitrt.jit(function)
    for n in range(300):
        args = arrays(40 + n % 97, 50 + n % 89, 20)
        close(fast(*args), function(*args))
    assert len(traces) < 30


def test_large_arrays_go_to_threads_from_one_size_on():
    function = jitrt.jit(lambda x: np.exp(x) + np.sin(x) * np.cos(x))
    for n in (1000, 2000, 3000, 100_000, 1_000_000, 1_000_003, 5000, 200_000):
        x = np.random.default_rng(n).random(n)
        np.testing.assert_allclose(function(x), np.exp(x) + np.sin(x) * np.cos(x), rtol=1e-14)


def test_extents_that_never_vary_stay_numbers():
    def distance(x):
        return np.sqrt((x * x).sum(axis=1))

    template = template_of(distance, (np.ones((50, 3)),), [(0,)])
    assert isinstance(template.made, Specialisation)
    fits = [template.fits(call_of(distance, (np.ones((60, n)),))) for n in (3, 4)]
    assert fits == [True, False]


def test_integers_are_bounds_of_slices(traces):
    def differences(x, w):
        c = np.cumsum(x)
        return (c[w:] - c[:-w]) / w

    fast = jitrt.jit(differences)
    for n in range(200):
        x = np.random.default_rng(n).random(1000 + 7 * n)
        np.testing.assert_allclose(fast(x, 16), differences(x, 16), rtol=1e-11)
        if n % 10 == 0:
            np.testing.assert_allclose(fast(x, 8), differences(x, 8), rtol=1e-11)
    assert len(traces) < 20


def test_arrays_that_are_not_contiguous_have_programs_of_their_own():
    fast = jitrt.jit(softmax)
    for n in range(20, 30):
        x, y = arrays(2 * n, n, n)
        for view in (x[::2], x[:, ::-1], x.T[: n // 2, :], np.asfortranarray(x), np.broadcast_to(x[0], x.shape)):
            np.testing.assert_allclose(fast(view, y), softmax(view, y), rtol=1e-12)


def test_arguments_that_overlap():
    fast = jitrt.jit(in_place)
    for n in range(20, 60):
        one = np.random.default_rng(n).random((n, 8))
        other = one.copy()
        assert fast(one, one) == pytest.approx(in_place(other, other))
        np.testing.assert_allclose(one, other)
        x, y = arrays(n, 8, n)
        z = x.copy()
        assert fast(x, y) == pytest.approx(in_place(z, y))
        np.testing.assert_allclose(x, z)


def test_donated_arguments():
    fast = jitrt.jit(lambda x, y: np.sqrt(x) + y[0], donate=("x",))
    for n in range(2000, 2040):
        x, y = arrays(n, 8, n)
        np.testing.assert_array_equal(fast(x.copy(), y), np.sqrt(x) + y[0])


def test_a_size_that_code_looks_up(traces):
    table = {50: 2.0, 51: 3.0}

    def looks_up(x):
        return x * table.get(x.shape[0], 1.0)

    fast = jitrt.jit(looks_up)
    for n in [*range(40, 60), 50, 51]:
        np.testing.assert_array_equal(fast(np.ones(n)), looks_up(np.ones(n)))


def test_what_explains_a_call_is_made_for_its_shape():
    fast = jitrt.jit(twice)
    for n in range(20, 40):
        fast(*arrays(n, n + 3, 5))
    assert "extents" in fast.explain(*arrays(33, 36, 5)).text()
    fast.clear()
    close(fast(*arrays(33, 36, 5)), twice(*arrays(33, 36, 5)))


def sizes_in_results(x):
    y = x.reshape(1, -1)
    found = {"n": len(x), "all": [x.size, x.nbytes, y.T.shape, x[1:].shape]}
    return x * 2, x.shape, found, range(len(x)), slice(0, len(x)), x.size / 2, x.strides


def test_sizes_in_results_are_numbers():
    def types_in(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, (slice, range)):
            value = [value.start, value.stop]
        return [type(value), *map(types_in, value)] if isinstance(value, (list, tuple)) else type(value)

    for plain in (sizes_in_results, lambda x: (x.sum(), x.shape), lambda x: len(x)):
        compiled = jitrt.jit(plain)
        for n in (3, 5, 7, 9, 11, 13, 3, 5, 15):
            want, got = plain(np.arange(n) * 1.0), compiled(np.arange(n) * 1.0)
            assert types_in(want) == types_in(got) and str(want) == str(got)
