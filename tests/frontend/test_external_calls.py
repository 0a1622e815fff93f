"""Loops with draws of random numbers, and with steps that NumPy executes, are procedures with external calls."""

import itertools
import linecache
import textwrap

import numpy as np
import pytest

import jitrt

SOURCES = {
    "pcg": lambda: np.random.default_rng(7),
    "mt": lambda: np.random.Generator(np.random.MT19937(3)),
    "sfc": lambda: np.random.Generator(np.random.SFC64(5)),
    "legacy": lambda: np.random.RandomState(11),
}


_numbers = itertools.count()


def written(text):
    """The function of a text."""
    text, name = textwrap.dedent(text).lstrip(), f"<external {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space["f"]


def state_of(source):
    is_new = isinstance(source, np.random.Generator)
    return repr(source.bit_generator.state if is_new else source.get_state(legacy=False))


def assert_same(x, y, rtol=0):
    assert type(x) is type(y)
    if isinstance(x, (tuple, list)):
        assert len(x) == len(y)
        for v, w in zip(x, y):
            assert_same(v, w, rtol)
    else:
        np.testing.assert_allclose(x, y, rtol=rtol, atol=0, strict=True)


def assert_staged(function, *args):
    assert "procedure(" in jitrt.jit(function).explain(*args).loop


DRAWS = {
    "both": """rng.normal() rng.normal(1.0, 2.5) rng.uniform() rng.uniform(-1, 3.5) rng.standard_normal() rng.choice(6)
    rng.choice(a) rng.uniform(low=1.0, high=2.0) rng.normal(loc=0.5, scale=0.25) rng.normal(s)
    rng.normal(0.0, s, (2, 3))
    rng.uniform(0.0, 1.0, 3) rng.standard_normal(4) rng.standard_normal((2, 2)) rng.binomial(20, 0.3)
    rng.permutation(5) rng.uniform(a,a+2.0) rng.uniform(-1.0,s,4) rng.uniform(size=(2,3))""",
    "new": """rng.random() rng.random(3) rng.random((2, 2)) rng.integers(7) rng.integers(-3, 12) rng.integers(1 << 40)
    rng.integers(0, 5, endpoint=True) rng.integers(0, 9, size=4) rng.integers(i, i + 3) rng.exponential()
    rng.exponential(2.5, size=(2,)) rng.gamma(2.0) rng.gamma(0.5, 3.0) rng.beta(1.0, 2.0) rng.beta(0.5, 0.5)
    rng.poisson(3.0) rng.poisson(40.0) rng.lognormal(0.0, 0.3) rng.laplace() rng.logistic(1.0, 2.0) rng.gumbel()
    rng.rayleigh() rng.weibull(1.5) rng.pareto(2.5) rng.standard_t(4) rng.chisquare(3) rng.standard_cauchy()
    rng.standard_exponential() rng.standard_gamma(1.5) rng.poisson(lam=s) rng.integers(3, dtype=np.int64)""",
    "old": """rng.rand() rng.rand(3) rng.rand(2,2) rng.randn() rng.randn(3) rng.random_sample() rng.random()
    rng.randint(6) rng.randint(-5, 5) rng.randint(0, 3, size=4) rng.random_sample(2) rng.randint(1 << 35)""",
}
CASES = [(e, s) for e in DRAWS["both"].replace("(2, 3)", "(2,3)").split(" rng") for s in SOURCES if e.strip()]
CASES += [(e, s) for e in DRAWS["new"].split(" rng") for s in SOURCES if s != "legacy"]
CASES += [(e, "legacy") for e in DRAWS["old"].split(" rng")]


@pytest.mark.wide
@pytest.mark.parametrize(("expression", "source"), CASES)
def test_draws_have_numpys_bits_and_leave_its_state(expression, source):
    text = expression.strip()
    text = text if text.startswith("rng") else "rng" + text
    f = written(f"""
        def f(rng, n, a, s):
            made = []
            t = 0.0
            for i in range(n):
                v = {text}
                t = t * 0.5 + np.max(v)
                for j in range(len(a)):
                    t = t + a[j] * 0.125 if t < 3 else t - a[j] * 0.5 - 1.0
                    t = t * 0.75 if t > 1 else t + 0.0625 * a[j]
                made.append(t)
            return v, t, made
    """)
    compiled, a = jitrt.jit(f), np.arange(1.0, 7.0)
    used, fresh = SOURCES[source](), SOURCES[source]()
    for n in (3, 8, 1):
        assert_same(compiled(used, n, a, 1.5), f(fresh, n, a, 1.5))
        assert state_of(used) == state_of(fresh)
    assert_staged(f, SOURCES[source](), 3, a, 1.5)


@pytest.mark.parametrize("source", SOURCES)
def test_states_are_taken_back_where_a_procedure_stops(source):
    def f(rng, n, divisor):
        total = 0.0
        for _ in range(n):
            total += rng.normal() + rng.uniform()
        return total / divisor

    compiled = jitrt.jit(f)
    used, fresh = SOURCES[source](), SOURCES[source]()
    for divisor in (2.0, 0.0, 4.0, 0.0):
        for g, rng in ((compiled, used), (f, fresh)):
            if divisor:
                g(rng, 5, divisor)
            else:
                with pytest.raises(ZeroDivisionError):
                    g(rng, 5, divisor)
        assert state_of(used) == state_of(fresh)


def test_the_generator_that_all_share_is_seeded_and_drawn_from():
    def f(n):
        np.random.seed(n)  # noqa: NPY002
        total = 0.0
        for _ in range(n):
            total += np.random.rand() + np.random.randn() * np.random.randint(2, 9)  # noqa: NPY002
            total += np.random.normal(1.0, 2.0) - np.random.uniform(-1.0, 1.0)  # noqa: NPY002
        return total

    compiled = jitrt.jit(f)
    for n in (3, 8, 5):
        assert_same(compiled(n), f(n))
        after = np.random.rand()  # noqa: NPY002
        compiled(n)
        assert np.random.rand() == after  # noqa: NPY002
    assert_staged(f, 5)


def test_a_generator_is_made_inside():
    def f(n, seed):
        rng = np.random.default_rng(seed)
        inside = 0
        for _ in range(n):
            x, y = rng.random(), rng.random()
            if x * x + y * y <= 1:
                inside += 1
        return 4 * inside / n

    compiled = jitrt.jit(f)
    for seed in (1, 2, 1):
        assert_same(compiled(100, seed), f(100, seed))
    assert_staged(f, 100, 3)


GENERATOR = np.random.default_rng(1)


def test_a_generator_is_captured():
    def f(n):
        total = 0
        for _ in range(n):
            total += GENERATOR.integers(100)
        return total

    compiled, before = jitrt.jit(f), GENERATOR.bit_generator.state
    found = [compiled(n) for n in (4, 9)]
    GENERATOR.bit_generator.state = before
    assert found == [f(n) for n in (4, 9)]


def test_numbers_on_the_edge_of_a_distribution_are_numpys_to_judge():
    def f(rng, n, scale):
        total = 0.0
        for _ in range(n):
            total += rng.normal(0.0, scale)
        return total

    compiled = jitrt.jit(f)
    used, fresh = SOURCES["pcg"](), SOURCES["pcg"]()
    for scale in (1.0, 0.0, -0.0, -1.0, np.nan, np.inf):
        found = []
        for g, rng in ((compiled, used), (f, fresh)):
            try:
                found.append(repr(g(rng, 3, scale)))
            except ValueError as error:
                found.append(str(error))
        assert found[0] == found[1]
        assert state_of(used) == state_of(fresh)


HOST = [
    "np.linalg.inv(m)", "np.linalg.solve(m, a)", "np.sort(a)", "np.argsort(-a)", "np.abs(np.fft.rfft(a))",
    "np.unique(a)",
    "np.linalg.eigvalsh(m + m.T)", "np.linalg.eigh(m + m.T)[1]", "np.percentile(a, 30.0)", "np.convolve(a, m[0])",
    "np.polyfit(np.arange(len(a)), a, 1)", "np.linalg.svd(m)[1]", "np.linalg.qr(m)[0]", "np.linalg.norm(m, 2)",
    "np.histogram(a, bins=4)[0]", "np.kron(a, a)", "np.einsum('ij,j->i', m, a)", "np.roll(a, i)", "np.linalg.cond(m)",
    "np.linalg.slogdet(m)[1]", "np.linalg.slogdet(m).logabsdet", "np.partition(a, 2)", "np.pad(a, 1)", "np.tile(a, 2)",
]  # fmt: skip


@pytest.mark.parametrize("expression", HOST)
def test_numpy_executes_steps_of_loops(expression):
    f = written(f"""
        def f(a, m, n):
            t = 0.0
            for i in range(n):
                v = {expression}
                t = t * 0.5 + np.max(v)
                for j in range(len(a)):
                    t = t + a[j] * 0.125 if t < 3 else t - a[j] * 0.5 - 1.0
                    t = t * 0.75 if t > 1 else t + 0.0625 * a[j]
                    t = t * 0.25 if t > 4 else t + 0.03125 * a[j]
                a = a * 0.5 + 0.25 * np.max(m)
                m = m + 0.125
            return v, t
    """)
    compiled, rng = jitrt.jit(f), np.random.default_rng(0)
    for size, n in ((5, 3), (5, 6), (7, 2)):
        a, m = rng.normal(size=size), rng.normal(size=(size, size)) + 6 * np.eye(size)
        assert_same(compiled(a.copy(), m.copy(), n), f(a, m, n), 1e-12)
    assert_staged(f, a, m, n)


def test_an_exception_of_a_step_is_the_plain_functions():
    def f(m, n):
        t = 0.0
        for i in range(n):
            v = np.linalg.inv(m[:, :] * (3 - i))
            for j in range(len(m)):
                for k in range(len(m)):
                    t = t * 0.5 + v[j, k] if t < 3 else t - v[k, j] * 0.25
                    t = t * 0.75 if t > 1 else t + 0.0625 * v[j, k]
                    m[j, k] = m[j, k] * 0.5 + t - 0.125 * m[k, j] * t + 0.375 * v[k, j] if t > 2 else m[j, k]
        return t

    compiled, m = jitrt.jit(f), np.eye(4) + 0.1
    x, y = m.copy(), m.copy()
    assert_same(compiled(x, 2), f(y, 2))
    with pytest.raises(np.linalg.LinAlgError):
        compiled(x, 4)
    with pytest.raises(np.linalg.LinAlgError):
        f(y, 4)
    np.testing.assert_array_equal(x, y)


def test_what_steps_cost_must_pay():
    def f(a, n):
        t = 0.0
        for _ in range(n):
            t += np.partition(a, 1)[0]
        return t

    compiled, a = jitrt.jit(f), np.array([3.0, 1.0, 2.0])
    assert compiled(a, 5) == f(a, 5)
    assert not compiled.explain(a, 5).loop


EFFECTS = {  # the name of a part of SciPy, and what a loop may do with it without being allowed to while it is compiled
    "a file": ("io.wavfile", "part.write(name, 8000, a)"),
    "a matrix": ("io", "part.mmwrite(name, a.reshape(-1, 1))"),
    "numpy's generator": ("cluster.vq", "t += part.kmeans(a.reshape(-1, 1), 2)[1]"),
    "samples": ("stats", "t += part.permutation_test((a, a), lambda x, y: x.mean() - y.mean()).pvalue"),
    "an array that is given": ("ndimage", "part.gaussian_filter(a, 1.0, 0, a)"),
    "an array by name": ("ndimage", "part.gaussian_filter(a, 1.0, output=a)"),
    "an array that is overwritten": ("linalg", "t += part.lu_factor(a.reshape(2, -1)[:, :2], True)[0].sum()"),
}


@pytest.mark.parametrize("runs", [False, True], ids=["not run", "run"])
@pytest.mark.parametrize("effect", EFFECTS)
def test_compiling_changes_nothing(effect, runs, tmp_path):
    scipy = pytest.importorskip("scipy")
    part, statement = EFFECTS[effect]
    f = written(f"""
        import importlib
        part = importlib.import_module("scipy.{part}")
        def f(a, n, name, rare):
            t = 0.0
            for i in range(n):
                for j in range(len(a)):
                    t = t * 0.5 + a[j] if t < 3 else t - a[j] * 0.25 - 1.0
                    t = t * 0.75 if t > 1 else t + 0.0625 * a[j]
                if rare:
                    {statement}
            return t
    """)
    assert scipy
    outcomes = []
    for function in (f, jitrt.jit(f)):
        np.random.seed(5)  # noqa: NPY002
        path, a = tmp_path / f"{len(outcomes)}.mtx", np.linspace(-1, 2, 12)
        t = [function(a, 3, str(path), runs) for _ in range(2)]
        outcomes.append((t, a, path.exists() and path.read_bytes(), np.random.random()))  # noqa: NPY002
    np.testing.assert_equal(outcomes[1], outcomes[0])


GRIDS = (
    "np.mgrid[0:n, 0:n]",
    "np.mgrid[0:n, 1:n+1]",
    "np.mgrid[-1:1:9j, 0:n]",
    "np.mgrid[-1.5:n:0.5, 3:0:-1]",
    "np.ogrid[0:n, 0:n]",
    "np.ogrid[-1:1:9j, 0:n:2]",
    "np.meshgrid(np.arange(n), np.linspace(0, 1, n))",
    "np.indices((n, n))",
)


@pytest.mark.parametrize("grid", GRIDS)
def test_grids_in_front_of_loops(grid):
    function = written(
        f"""
        def f(n, steps):
            y, x = {grid}
            total = np.zeros(8)
            for k in range(steps):
                for i in range(8):
                    total[i] += y[k % y.shape[0], i % y.shape[1]] * x[i % x.shape[0], k % x.shape[1]] * (k + 1)
            return total, x.copy(), y + 0
        """
    )
    assert_staged(function, 6, 30)
    for n in (6, 1, 9, 0):
        try:
            want = function(n, 30)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                jitrt.jit(function)(n, 30)
        else:
            assert_same(jitrt.jit(function)(n, 30), want)


@pytest.mark.parametrize("grid", ["np.mgrid[0:n]", "np.ogrid[0:1:0.125]", "np.mgrid[2:n:2]"])
def test_grids_of_one_axis(grid):
    function = written(
        f"""
        def f(n, steps):
            t, total = {grid}, 0.0
            for k in range(steps):
                total = total * 0.5 + t[k % len(t)]
            return total
        """
    )
    assert_staged(function, 7, 30)
    assert_same(jitrt.jit(function)(7, 30), function(7, 30))
