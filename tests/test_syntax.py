"""Syntax trees in the presence of other threads' trees, which CPython 3.11 mixes up."""

import ast

import numpy as np
import pytest

import jitrt
from jitrt.base.syntax import syntax_tree


@pytest.fixture
def disturbed(monkeypatch):
    """Every tree is disturbed once, as by another thread that makes one at the same time."""
    seen, plain = set(), ast.parse

    def parse(source, *args, **kwargs):
        if source not in seen:
            seen.add(source)
            raise SystemError("AST constructor recursion depth mismatch (before=63, after=123)")
        return plain(source, *args, **kwargs)

    monkeypatch.setattr(ast, "parse", parse)
    return seen


def test_a_disturbed_tree_is_made_again(disturbed):
    assert ast.unparse(syntax_tree("a+b", mode="eval")) == "a + b" and disturbed == {"a+b"}
    with pytest.raises(SyntaxError):
        syntax_tree("a +")


def test_a_loop_is_compiled_all_the_same(disturbed):
    @jitrt.jit
    def total(x):
        s = 0.0
        for k in range(x.size):
            s = s * 0.5 + x[k]
        return s

    x = np.arange(50.0)
    assert total(x) == total.__wrapped__(x) and disturbed
    assert not total.explain(x).plain_reason


def test_a_string_is_compiled_all_the_same(disturbed):
    x = np.arange(5.0)
    np.testing.assert_array_equal(jitrt.evaluate("x * 2.0625 + 1"), x * 2.0625 + 1)
    assert disturbed
