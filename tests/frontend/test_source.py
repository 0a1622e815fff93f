"""Syntax trees of functions: what `inspect` finds, in a tenth of the time."""

import ast
import inspect
import textwrap

import numpy as np
import pytest

from jitrt.frontend.control.source import _indented_block, definition_of
from jitrt.frontend.control.values import NotStaged


def decorated(function):
    return function


@decorated
@decorated
def with_decorators(x):
    return x


def of_one_line(x): return x  # fmt: skip


def with_a_long_head(
    x,
    y=(1, 2),
):
    return (
x + y[0]
)  # fmt: skip


def with_text(x):
    """Summary.

    Not indented.
    """
    text = """
def with_text(y):
    return y
"""
    return x + len(text)


# fmt: off
def with_comments(x):
    # one
# two, at the margin
    return x + 1
# behind it
# fmt: on


class Holder:
    def method(self, x):
        if x:
            return 1

        return 2

    @staticmethod
    def static(x):
        def inner(y):
            for _ in range(3):
                y += 1
            return y

        return inner(x)


FUNCTIONS = [with_decorators, of_one_line, with_a_long_head, with_comments, Holder.method, Holder.static, np.linspace]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_tree_is_that_of_the_source(function):
    code = getattr(function, "__wrapped__", function).__code__
    want = ast.parse(textwrap.dedent(inspect.getsource(code)))
    assert ast.dump(_indented_block(code)) == ast.dump(want)


def test_text_at_the_margin_is_no_end():
    tree = _indented_block(with_text.__code__)
    assert tree is None or isinstance(tree.body[0].body[-1], ast.Return)


def test_functions_without_source_are_refused():
    scope = {}
    exec("def f(x):\n    return x", scope)
    with pytest.raises(NotStaged):
        definition_of(scope["f"].__code__)
