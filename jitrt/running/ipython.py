"""``%load_ext jitrt``: functions that cells define are compiled, all of them or those of one cell."""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any

from . import importing, report
from .choose import SCIENTIFIC, decorate


class Decorating(ast.NodeTransformer):
    """Decorates the functions of a cell while it is on."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.is_on = False
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        """The tree of a cell, changed in place."""
        if self.is_on and isinstance(node, ast.Module):
            every = list(self._names.items())
            decorate(node, [name for name, x in every if _origin(x).partition(".")[0] in SCIENTIFIC])
        return node


def _origin(value: Any) -> str:
    """The name of a module, or of that which defines a function."""
    found = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return found if isinstance(found, str) else ""


def load_ipython_extension(shell: Any) -> None:
    """Add ``%%jitrt``, for one cell, and ``%jitrt on``, ``off`` and ``report``; ``%load_ext jitrt`` calls it.

    Under a cell stands what became of the calls that it made.

    Parameters
    ----------
    shell : InteractiveShell
        What IPython hands over.
    """
    decorating = Decorating(shell.user_ns)
    importing.provide_decorator(measured=True)
    shell.ast_transformers.append(decorating)

    def show(found: report.Report) -> None:
        shell.display_pub.publish({"text/plain": str(found), "text/html": found._repr_html_()})

    def magic(line: str, cell: str | None = None) -> None:
        """Compile the functions that this cell defines; `%jitrt on`, `off`, `report`: those of all further cells."""
        wanted = line.strip()
        if wanted not in (("", "report") if cell is not None else ("on", "off", "report")):
            raise ValueError("write %%jitrt above a cell, or %jitrt on, %jitrt off or %jitrt report")
        if cell is not None:
            before = set(report.report().functions)
            was_on, decorating.is_on = decorating.is_on, True
            try:
                shell.run_cell(cell)
            finally:
                decorating.is_on = was_on
            if not wanted:
                called = tuple([f for f in report.report().functions if f not in before])
                show(report.Report(called)) if called else None
        if wanted == "report":
            show(report.report())
        elif cell is None:
            decorating.is_on = wanted == "on"

    shell.register_magic_function(magic, "line_cell", "jitrt")


def unload_ipython_extension(shell: Any) -> None:
    """Let cells be as they are again; ``%unload_ext jitrt`` calls it.

    Parameters
    ----------
    shell : InteractiveShell
        What IPython hands over.
    """
    shell.ast_transformers[:] = [x for x in shell.ast_transformers if not isinstance(x, Decorating)]
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("jitrt", None)
