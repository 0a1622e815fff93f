"""What a prompt shows of the objects that users hold: a few lines at most, whatever they stand for."""

import numpy as np
import pytest

import jitrt
from jitrt import expr


@jitrt.jit
def blur(x):
    rows = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3
    return np.sort((rows[:-2] + rows[1:-1] + rows[2:]) / 3)


X = np.linspace(0, 1, 40 * 30).reshape(40, 30)
EXPLANATION, STAGES = blur.explain(X), blur.lower(X)
LEAF = expr.leaf("x")
HELD = {
    "function": blur,
    "stages": STAGES,
    "lowered": STAGES.lowered,
    "traced": STAGES.traced,
    "graph": STAGES.graph,
    "nests": STAGES.loop_nests,
    "kernels": EXPLANATION.kernels,
    "programs": EXPLANATION.programs,
    "cache_info": blur.cache_info(),
    "report": jitrt.report(),
    "expression": np.sqrt(LEAF * LEAF + 1),
    "program": expr.compile(np.sqrt(LEAF * LEAF + 1)),
}


@pytest.mark.parametrize("name", HELD)
def test_it_is_short(name):
    shown = repr(HELD[name])
    parts = len(HELD[name]) if isinstance(HELD[name], list) else 1
    assert 0 < len(shown) <= 120 * parts and "\n" not in shown


def test_explanations_and_profiles_are_shown_as_they_are_printed():
    profile = blur.profile(X)
    assert repr(EXPLANATION) == str(EXPLANATION) and repr(profile) == str(profile)
    assert EXPLANATION.kernels and len(repr(EXPLANATION).splitlines()) <= 5


def test_graphs_have_the_names_of_the_users_variables():
    trace = dict(EXPLANATION.sections())["graph after trace"]
    assert trace.startswith("{ lambda x:f8[40,30] .") and "\n  rows:f8[40,28] = divide " in trace


def test_graphs_have_the_names_of_parameters_where_the_function_looks_at_values():
    @jitrt.jit
    def doubled(image):
        return np.sqrt(image) if image.sum() > 0 else -image

    assert "{ lambda image:f8[40,30] ." in doubled.explain(X).text()
