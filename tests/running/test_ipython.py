"""``%load_ext jitrt`` in IPython."""

import numpy as np
import pytest

from jitrt import JitFunction

interactive = pytest.importorskip("IPython.core.interactiveshell")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def shell():
    made = interactive.InteractiveShell.instance(history_length=0)
    made.run_cell("%load_ext jitrt")
    made.run_cell("import numpy as np")
    yield made
    made.run_cell("%unload_ext jitrt")
    interactive.InteractiveShell.clear_instance()


FUNCTION = "def f(x):\n    return np.sqrt(x) + 1\n"


def is_compiled(shell, name):
    return isinstance(shell.user_ns[name], JitFunction)


def test_a_cell(shell):
    assert shell.run_cell("%%jitrt\n" + FUNCTION).success
    assert is_compiled(shell, "f")
    assert shell.user_ns["f"](np.ones(2)).tolist() == [2, 2]
    shell.run_cell(FUNCTION.replace("def f", "def g"))
    assert not is_compiled(shell, "g")


def test_what_became_of_its_calls_stands_under_a_cell(shell, capsys):
    shell.run_cell("%%jitrt\n" + FUNCTION + "f(np.ones(3))")
    shown = capsys.readouterr().out
    assert "function" in shown and "\nf " in shown
    shell.run_cell("%%jitrt\n" + FUNCTION.replace("def f", "def g"))
    assert not capsys.readouterr().out


def test_all_further_cells_and_the_report(shell, capsys):
    shell.run_cell("%jitrt on")
    shell.run_cell(FUNCTION + "y = f(np.ones(3))")
    assert is_compiled(shell, "f") and shell.user_ns["y"].tolist() == [2, 2, 2]
    capsys.readouterr()
    shell.run_cell("%jitrt report")
    shown = capsys.readouterr().out
    assert shown.startswith("function") and "\nf " in shown
    shell.run_cell("%jitrt off")
    shell.run_cell(FUNCTION)
    assert not is_compiled(shell, "f")


def test_loops_find_their_source(shell):
    shell.run_cell(
        "%%jitrt\ndef total(x):\n    s = 0.0\n    for i in range(len(x)):\n        s += x[i] * x[i]\n    return s\n"
    )
    x = np.arange(1000.0)
    assert shell.user_ns["total"](x) == sum(v * v for v in x)
    assert shell.user_ns["total"].plain_reason == ""


def test_unknown_words_and_unloading(shell):
    assert not shell.run_cell("%jitrt perhaps").success
    shell.run_cell("%unload_ext jitrt")
    assert not shell.run_cell("%%jitrt\nx = 1").success
