"""Configuration of the documentation: ``sphinx-build -W docs build/docs``."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

import jitrt
from jitrt.advice import ADVICE, HOSTS, advice

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
templates_path, html_static_path, html_css_files = ["_templates"], ["_static"], ["jitrt.css"]
html_sidebars = {"**": ["pages"]}
html_theme_options = {"show_toc_level": 2, "secondary_sidebar_items": ["page-toc"], "navbar_center": []}


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


def _sentence(rewrite):
    if not rewrite:
        return "Nothing has to be done."
    start = rewrite.split(" ")[0].rstrip(":")
    return f"{rewrite if '.' in start or start in dir(np.fft) else rewrite[0].upper() + rewrite[1:]}."


def _names(pattern):
    """The names in a pattern of names."""
    return ", ".join(f"`{name}`" for name in re.findall(r"\w+", pattern)) or "others"


def write_reasons(app):
    """Make the page of all reasons."""
    lines = [
        "# All reasons",
        "",
        "What `explain` says where a call runs as plain NumPy, or where a loop does not become machine code, and what",
        "helps. `…` stands for a name or a number. This page is made from the code.",
        "",
        "| kind of reason | what helps |",
        "| --- | --- |",
    ]
    lines += [f"| [{a.title}](#{a.page.partition('#')[2]}) | {_sentence(a.rewrite)} |" for a in ADVICE]
    lines += [
        "",
        "## NumPy takes the time",
        "",
        "A step without a kernel is NumPy's own routine. `explain` measures its share of the time, and says:",
        "",
        "| function | what helps |",
        "| --- | --- |",
        *(f"| {_names(pattern)} | {_sentence(text)} |" for pattern, text in HOSTS),
        "",
    ]
    found = reasons()
    for kind in ADVICE:
        lines += [f"## {kind.title}", "", f"What helps: {_sentence(kind.rewrite)}", ""]
        lines += [*(f"- {text if '`' in text else f'`{text}`'}" for text in sorted(found[kind])), ""]
    (HERE / "reasons.md").write_text("\n".join(lines), encoding="utf-8")


def write_pictures(app):
    """Make the pictures of `explain` that pages show."""

    @jitrt.jit
    def summary(x, y):
        z = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
        w = np.sort(z, axis=1)
        return (w * y).sum(), np.sort(np.cumsum(w, axis=0) * y + z, axis=0)

    @jitrt.jit
    def spread(x):
        d = x - x.mean(axis=1, keepdims=True)
        return d * d

    @jitrt.jit
    def shares(x, w):
        low = np.sort(x * w, axis=0)
        return np.sort(low + x, axis=0)

    @jitrt.jit
    def scaled(x):
        return x * (np.array([1.0, 2.0, 3.0]) * 2.0)

    x, w = np.ones((300, 400)), np.ones(400)
    explanation = summary.explain(x, w)
    pictures = {what: explanation.svg(what) for what in ("graph", "memory")}
    pictures["spread-loops"] = spread.explain(x).svg("loops")
    pictures["shares-memory"] = shares.explain(x, w).svg("memory")
    pictures["scaled-loops"] = scaled.explain(np.ones((5, 3))).svg("loops")
    (HERE / "generated").mkdir(exist_ok=True)
    for name, picture in pictures.items():
        (HERE / "generated" / f"{name}.svg").write_text(picture, encoding="utf-8")


def setup(app):
    app.connect("builder-inited", write_reasons)
    app.connect("builder-inited", write_pictures)
