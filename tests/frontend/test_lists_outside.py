"""Lists of the module that loops read: constants, as long as nobody changes them."""

import types

import numpy as np
import pytest

import jitrt

x = np.linspace(-1.0, 1.0, 50).reshape(5, 10)
NEIGHBOURS = [(-1, 0), (0, -1), (0, 1), (1, 0)]
WEIGHTS = [0.5, 0.25, 2.0]
NAMES = ["low", "high"]
NESTED = [[1.0, 2.0], [3.0]]
TUPLES = ((1, 0.5), (2, 0.25))
settings = types.ModuleType("settings")
settings.WEIGHTS = [1.0, 3.0]


def over_pairs(z):
    total = 0.0
    for i in range(1, z.shape[0] - 1):
        for j in range(1, z.shape[1] - 1):
            total += max(z[i, j] - z[i + a, j + b] for a, b in NEIGHBOURS)
    return total


def by_number(z):
    out = np.zeros_like(z)
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            di, dj = NEIGHBOURS[(i + j) % len(NEIGHBOURS)]
            out[i, j] = z[(i + di) % z.shape[0], (j + dj) % z.shape[1]] * WEIGHTS[(i * j) % 3]
    return out


def enumerated(z):
    total = 0.0
    for row in z:
        for k, (w, (a, b)) in enumerate(zip(WEIGHTS, NEIGHBOURS)):
            total += row[k] * w * (a - b)
    return total


def asked(z):
    total = 0
    for v in z.ravel():
        k = int(v * 4)
        if k in WEIGHTS or (k, 0) in NEIGHBOURS:
            total += k + len(WEIGHTS)
    return total + sum(WEIGHTS)


def in_arrays(z):
    w = np.array(WEIGHTS)
    total = 0.0
    for i in range(z.shape[0]):
        for j in range(len(w)):
            total += z[i, j] * w[j]
    return total


def of_a_module(z):
    total = 0.0
    for v in z.ravel():
        for w in settings.WEIGHTS:
            total += v * w
    return total


def of_tuples(z):
    total = 0.0
    for i in range(z.shape[0]):
        a, w = TUPLES[i % 2]
        total += z[i, a] * w
    return total


@pytest.mark.parametrize("function", [over_pairs, by_number, enumerated, asked, in_arrays, of_a_module, of_tuples])
def test_they_are_read(function):
    f = jitrt.jit(function)
    for _ in range(4):
        np.testing.assert_allclose(f(x), function(x), rtol=1e-14)
    assert "compiled as one function" in str(f.explain(x))
    before = f.cache_info().slow_calls
    for _ in range(3):
        f(x)
    assert f.cache_info().slow_calls == before


@pytest.mark.parametrize("change", [
    lambda: WEIGHTS.append(1.5), lambda: WEIGHTS.__setitem__(1, 7.0), lambda: WEIGHTS.pop(0), WEIGHTS.reverse,
    lambda: WEIGHTS.__setitem__(slice(None), [3.0, 2.0, 1.0]),
    lambda: globals().__setitem__("WEIGHTS", [9.0, 8.0, 7.0]),
    lambda: NEIGHBOURS.__setitem__(2, (1, 1)), WEIGHTS.clear,
])  # fmt: skip
def test_changes_are_seen(change, monkeypatch):
    f = jitrt.jit(enumerated)
    saved = WEIGHTS, list(WEIGHTS), list(NEIGHBOURS)
    try:
        for _ in range(4):
            assert f(x) == pytest.approx(enumerated(x))
        change()
        for _ in range(4):
            assert f(x) == pytest.approx(enumerated(x))
    finally:
        globals()["WEIGHTS"] = saved[0]
        WEIGHTS[:], NEIGHBOURS[:] = saved[1:]
    for _ in range(3):
        assert f(x) == pytest.approx(enumerated(x))


def gives_it(z):
    total = 0.0
    for v in z.ravel():
        total += v
    return total, WEIGHTS


def keeps_it(z):
    kept = []
    for v in z.ravel():
        if v > 0:
            kept.append(WEIGHTS)
    return kept


def appends(z):
    for v in z.ravel():
        if v > 0.9:
            WEIGHTS.append(float(v))
    return len(WEIGHTS)


def by_another_name(z):
    w = WEIGHTS
    for v in z.ravel():
        if v > 0.9:
            w.append(float(v))
    return sum(WEIGHTS)


def adds_in_place(z):
    w = WEIGHTS
    for v in z.ravel():
        if v > 0.9:
            w += [1.0]
    return len(WEIGHTS)


def assigns(z):
    for k, v in enumerate(z.ravel()):
        WEIGHTS[k % 3] += v
    return WEIGHTS[0]


def asks_for_its_type(z):
    total = 0.0
    for v in z.ravel():
        total += v * isinstance(WEIGHTS, list) * (type(WEIGHTS) is list)
    return total


def compares(z):
    total = 0.0
    for v in z.ravel():
        if WEIGHTS == [0.5, 0.25, 2.0] and WEIGHTS + [0.5] != WEIGHTS * 2:  # noqa: RUF005
            total += v + len(WEIGHTS[1:])
    return total


def indexes(z):
    total = 0.0
    for i in range(z.shape[0]):
        total += z[i, NEIGHBOURS[0]].sum() + z[i, [1, 2]].sum()
    return total


def of_lists(z):
    total = 0.0
    for v in z.ravel():
        for row in NESTED:
            row[0] += v
            total += row[0]
    return total


def chosen_out_of_range(z):
    total = 0.0
    for k, v in enumerate(z.ravel()):
        total += v * WEIGHTS[k % 4]
    return total


def appends_to(z, values):
    for v in z.ravel():
        if v > 0.9:
            values.append(float(v))
    return sum(WEIGHTS)


def formatted(z):
    total = 0.0
    for v in z.ravel():
        total += len(f"{WEIGHTS}") * v
    return total


@pytest.mark.parametrize("function", [
    gives_it, keeps_it, appends, by_another_name, adds_in_place, assigns, asks_for_its_type, compares, indexes,
    of_lists, chosen_out_of_range, formatted, appends_to,
])  # fmt: skip
def test_what_may_change_them_is_as_with_numpy(function):
    """Results, what the lists hold afterwards, and which objects results are."""

    def runs(called):
        found = []
        for _ in range(4):
            WEIGHTS[:], NESTED[:] = [0.5, 0.25, 2.0], [[1.0, 2.0], [3.0]]
            args = (x, WEIGHTS) if function is appends_to else (x,)
            try:
                made = called(*args)
            except IndexError as error:
                made = str(error)
            objects = [v is WEIGHTS for v in made] if isinstance(made, (tuple, list)) else []
            found.append((repr(made), repr(WEIGHTS), repr(NESTED), objects))
        return found

    try:
        assert runs(jitrt.jit(function)) == runs(function)
    finally:
        WEIGHTS[:] = [0.5, 0.25, 2.0]
