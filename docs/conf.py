"""Configuration of the documentation: ``sphinx-build -W docs build/docs``."""

import ast
from collections import defaultdict
from pathlib import Path

import numpy as np

import jitrt
from jitrt.advice import ADVICE, advice

HERE = Path(__file__).parent

project, author, release = "jitrt", "the jitrt developers", jitrt.__version__
copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
suppress_warnings = ["myst.header"]
autosummary_generate = True
numpydoc_show_class_members = False
html_theme = "pydata_sphinx_theme"
html_title = "jitrt"
html_sidebars = {"**": []}
html_theme_options = {"show_toc_level": 2, "secondary_sidebar_items": ["page-toc"]}


def reasons():
    """The reasons for plain NumPy that the front end gives, by what helps."""
    found = defaultdict(set)
    for path in sorted(Path(jitrt.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if name not in ("Untraceable", "NotStaged", "NotWorthwhile") or not node.args:
                continue
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[advice(text.value)].add(text.value)
            elif isinstance(text, ast.JoinedStr):
                parts = [v.value if isinstance(v, ast.Constant) else "…" for v in text.values]
                found[advice("".join(parts))].add("".join(parts))
    return found


def write_reasons(app):
    """Make the page of all reasons."""
    lines = [
        "# All reasons",
        "",
        "What `explain` and the log say of calls that run as plain NumPy, or of loops that are",
    ]
    lines += ["no procedure; this page is made from the code. `…` is what a reason names when it is given.", ""]
    found = reasons()
    for kind in ADVICE:
        if kind in found:
            lines += [f"## {kind.title}", "", f"{(kind.rewrite or 'Nothing has to be done').capitalize()}.", ""]
            lines += [*(f"- `{text}`" for text in sorted(found[kind])), ""]
    (HERE / "reasons.md").write_text("\n".join(lines), encoding="utf-8")


def write_pictures(app):
    """Make the pictures that the page about `explain` shows."""

    @jitrt.jit
    def summary(x, y):
        z = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
        w = np.sort(z, axis=1)
        return (w * y).sum(), np.sort(np.cumsum(w, axis=0) * y + z, axis=0)

    explanation = summary.explain(np.ones((300, 400)), np.ones(400))
    (HERE / "generated").mkdir(exist_ok=True)
    for what in ("graph", "memory"):
        (HERE / "generated" / f"{what}.svg").write_text(explanation.svg(what), encoding="utf-8")


def setup(app):
    app.connect("builder-inited", write_reasons)
    app.connect("builder-inited", write_pictures)
