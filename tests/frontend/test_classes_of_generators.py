"""Code that asks of which class a generator of random numbers is, as `check_random_state` of many packages."""

import numpy as np
import pytest

import jitrt


def checked(seed):
    if seed is None or isinstance(seed, int):
        return np.random.RandomState(seed)
    if isinstance(seed, np.random.RandomState):
        return seed
    raise ValueError("seed")


class Index:
    def __getitem__(self, index):
        return index

    @property
    def __name__(self):
        return "Index"


FUNCTIONS = {
    "instance": lambda rng, x: np.exp(x) + 1000 * isinstance(rng, np.random.RandomState),
    "instances": lambda rng, x: np.exp(x) + isinstance(rng, (int, np.random.Generator, np.ndarray)),
    "type": lambda rng, x: np.exp(x) + (type(rng) is np.random.RandomState) + 10 * (type(rng) is np.random.Generator),
    "equal": lambda rng, x: (
        np.exp(x) + (type(rng) == np.random.Generator) + 10 * (type(rng) in (np.random.RandomState,))  # noqa: E721
    ),
    "attributes": lambda rng, x: np.exp(x) + hasattr(rng, "rand") + 10 * hasattr(rng, "integers"),
    "name": lambda rng, x: np.exp(x) + (rng.__class__.__name__ == "RandomState"),
    "drawn": lambda rng, x: rng.rand(x.size) * x if isinstance(rng, np.random.RandomState) else rng.random(x.size) - x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_classes_are_those_of_numpy(name):
    fast, x = jitrt.jit(FUNCTIONS[name]), np.linspace(0, 1, 3000)
    for _ in range(3):
        for make in (np.random.RandomState, np.random.default_rng):
            np.testing.assert_allclose(fast(make(1), x), FUNCTIONS[name](make(1), x), rtol=1e-15)


def test_seeds_are_checked():
    fast, given = jitrt.jit(checked), np.random.RandomState(2)
    for _ in range(4):
        assert fast(given) is given
        assert fast(3).rand() == checked(3).rand()
        with pytest.raises(ValueError, match="seed"):
            fast("a seed")


def test_properties_that_a_class_cannot_have_of_its_own():
    fast, x = jitrt.jit(lambda index, x: np.exp(x)[index[1:]]), np.linspace(0, 1, 3000)
    for _ in range(3):
        np.testing.assert_allclose(fast(Index(), x), np.exp(x)[1:], rtol=1e-15)
