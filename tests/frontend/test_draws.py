"""Random numbers are drawn at every call, in the order of the function, from the generator that the function names."""

import copy
import threading

import numpy as np
import pytest
from texts import function_of

import jitrt

SIZE = 2000
GENERATOR = np.random.default_rng(5)
x = np.linspace(-1, 1, SIZE)


def from_a_global(a):
    return a + GENERATOR.normal(size=a.shape) * 2 + np.exp(a)


def from_numpy(a):
    noise = np.random.rand(a.size) + np.random.standard_normal(a.shape) * a  # noqa: NPY002
    return noise + np.random.normal(0.0, 2.0)  # noqa: NPY002


def several(rng, a):
    first, second = rng.normal(size=a.size), rng.uniform(0, 1, a.size)
    third = rng.normal(a, np.abs(a))
    return np.sqrt(np.abs(first)) * second + third, rng.integers(0, 10, 5), rng.normal()


def in_another_order(rng, a):
    first = rng.normal(size=a.size)
    second = rng.uniform(size=a.size)
    return second * 2 + a, first + 1


def unused(rng, a):
    rng.normal(size=3)
    return a * 2 + rng.random()


def made_inside(a, seed):
    rng = np.random.default_rng(seed)
    noisy = a + rng.normal(size=a.shape)
    return noisy * rng.random() + np.random.default_rng(3).random(a.shape)


def branches(rng, a):
    y = a + rng.normal(size=a.shape)
    y = y * rng.uniform(size=a.shape) if y.mean() > 0 else y + rng.exponential(size=a.shape)
    return y * 2


def unused_behind_a_look(rng, a):
    y = a + rng.normal(size=a.shape)
    rng.random(4)
    if y.sum() > -1e9:
        y = y * 2
    return y + rng.random(a.shape)


def metropolis(rng, a):
    current = a
    for _ in range(5):
        proposal = current + rng.normal(size=a.shape)
        accepted = np.log(rng.random(a.shape)) < (current**2 - proposal**2) / 2
        current = np.where(accepted, proposal, current)
    return current


def chosen(rng, a):
    return rng.permutation(a) * 2, rng.choice(a, size=10) + 1


class Walk:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.x = np.zeros(SIZE)

    def step(self):
        self.x = self.x + self.rng.normal(size=self.x.shape) * 0.1
        return self.x.max()


def two_generators(one, other, a):
    return one.normal(size=a.shape) - other.normal(size=a.shape) + one.random()


def generator(seed=3):
    return np.random.default_rng(seed)


def twice():
    rng = generator()
    return rng, rng, x


CALLS = {
    "global": (from_a_global, lambda: (x,)),
    "NumPy's own": (from_numpy, lambda: (x,)),
    "several": (several, lambda: (generator(), x)),
    "legacy": (in_another_order, lambda: (np.random.RandomState(3), x)),
    "order": (in_another_order, lambda: (generator(), x)),
    "unused": (unused, lambda: (generator(), x)),
    "made inside": (made_inside, lambda: (x, 7)),
    "branches": (branches, lambda: (generator(), x)),
    "unused behind a look": (unused_behind_a_look, lambda: (generator(), x)),
    "metropolis": (metropolis, lambda: (generator(), x)),
    "chosen": (chosen, lambda: (generator(), x)),
    "attribute": (Walk.step, lambda: (Walk(1),)),
    "two": (two_generators, lambda: (generator(), generator(4), x)),
    "one twice": (two_generators, twice),
}


def reset():
    GENERATOR.bit_generator.state = generator(5).bit_generator.state
    np.random.seed(3)  # noqa: NPY002


def assert_alike(got, want):
    assert type(got) is type(want)
    if isinstance(want, tuple):
        for g, w in zip(got, want, strict=True):
            assert_alike(g, w)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_draws_are_those_of_the_plain_function(name):
    function, make = CALLS[name]
    compiled = jitrt.jit(function)
    outcomes = []
    for f in (function, compiled):
        reset()
        args = make()
        outcomes.append([f(*args) for _ in range(6)])
    for want, got in zip(*outcomes):
        assert_alike(got, want)
    assert not compiled.explain(*make()).plain_reason


def test_one_generator_and_two_are_told_apart():
    compiled = jitrt.jit(two_generators)
    for make in (twice, CALLS["two"][1], twice):
        assert_alike(compiled(*make()), two_generators(*make()))


def test_explaining_draws_nothing():
    rng = generator()
    compiled = jitrt.jit(branches)
    compiled.explain(rng, x)
    assert rng.bit_generator.state == generator().bit_generator.state
    assert_alike(compiled(rng, x), branches(generator(), x))


def test_a_call_that_runs_plain_after_all_draws_the_same():
    def noisy(rng, a):
        return rng.normal(size=a.shape) / a

    compiled = jitrt.jit(noisy)
    compiled(generator(), x)
    rngs = generator(), generator()
    for a in (x, x * 0.0, x):
        with np.errstate(all="ignore" if a.any() else "warn"):
            if a.any():
                assert_alike(compiled(rngs[0], a), noisy(rngs[1], a))
            else:
                with pytest.warns(RuntimeWarning):
                    assert_alike(compiled(rngs[0], a), noisy(rngs[1], a))
    assert rngs[0].bit_generator.state == rngs[1].bit_generator.state


def test_a_function_that_raises_has_drawn_once():
    def fails(rng, a):
        y = rng.normal(size=a.shape)
        return y + np.ones(3)

    for draw in (fails, lambda rng, a: fails(GENERATOR, a)):
        reset()
        rng = generator()
        with pytest.raises(ValueError, match="broadcast"):
            jitrt.jit(draw)(rng, x)
        used, fresh = (rng, generator()) if draw is fails else (GENERATOR, generator(5))
        fresh.normal(size=SIZE)
        assert used.bit_generator.state == fresh.bit_generator.state


def test_many_draws_of_a_loop_are_made_by_its_procedure():
    def walk(rng, a):
        for _ in range(100):
            a = a + rng.normal(size=a.shape)
        return a

    compiled = jitrt.jit(walk)
    assert_alike(compiled(generator(), x), walk(generator(), x))
    assert "random.standard_normal_fill" in compiled.explain(generator(), x).loop


def test_seeding_and_shuffling_run_plain():
    def seeded(a):
        np.random.seed(1)  # noqa: NPY002
        return a + np.random.rand(a.size)  # noqa: NPY002

    def shuffled(rng, a):
        b = a * 2
        rng.shuffle(b)
        return b

    assert_alike(jitrt.jit(seeded)(x), seeded(x))
    assert_alike(jitrt.jit(shuffled)(generator(), x), shuffled(generator(), x))


def test_threads_draw_from_their_own_generators():
    compiled = jitrt.jit(metropolis)
    compiled(generator(), x)
    results = {}

    def work(seed):
        rng = generator(seed)
        results[seed] = [compiled(rng, x) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, found in results.items():
        rng = generator(seed)
        for got in found:
            assert_alike(got, metropolis(rng, x))


def test_copies_of_a_generator_go_on_from_its_state():
    compiled = jitrt.jit(unused)
    rng = generator()
    compiled(rng, x)
    again = copy.deepcopy(rng)
    assert_alike(compiled(rng, x), unused(again, x))


def test_a_profile_draws_from_copies():
    rng = generator()
    profile = jitrt.jit(several).profile(rng, x)
    assert profile.steps and rng.bit_generator.state == generator().bit_generator.state


@pytest.mark.parametrize(
    "draw", ["permuted(x, axis=0)", "permutation(x)", "choice(x, 3)", "uniform(x, 9)", "normal(x)"]
)
@pytest.mark.parametrize("dtype", [">i4", ">f8", "<i4"])
def test_byte_orders_of_what_is_drawn_from(draw, dtype):
    f = function_of(f"def f(x, g):\n    return g.{draw}\n")
    compiled = jitrt.jit(f)
    for _ in range(3):
        want, got = (h(np.arange(6).astype(dtype), np.random.default_rng(3)) for h in (f, compiled))
        assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.int32, lambda n: np.array([n])[0]])
@pytest.mark.parametrize("maker", ["default_rng", "RandomState"])
def test_seeds_that_are_arguments(maker, kind):
    """A generator is made of the seed of the call, whatever kind of integer that is."""

    def f(x, seed):
        return x + getattr(np.random, maker)(seed).normal(size=3)

    fast = jitrt.jit(f)
    for seed in (2, 2, 2, 5, 5, 2):
        np.testing.assert_array_equal(fast(np.arange(3.0), kind(seed)), f(np.arange(3.0), kind(seed)))
