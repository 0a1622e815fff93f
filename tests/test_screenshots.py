"""Pages as a browser shows them, in light and dark: what notebooks show of explanations, profiles and reports.

``JITRT_SCREENSHOTS=folder`` keeps the pictures, to be looked at.
"""

import os
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import jitrt
from jitrt.inspect.explain import STYLE

ROOT = Path(__file__).parents[1]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SCHEMES = {"dark": "0", "light": "1"}


@jitrt.jit
def ranks(x):
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return np.cumsum(np.sort(z, axis=0), axis=0) * 2 + z


@pytest.fixture
def folder(tmp_path):
    wanted = os.environ.get("JITRT_SCREENSHOTS")
    if wanted:
        Path(wanted).mkdir(parents=True, exist_ok=True)
    return Path(wanted) if wanted else tmp_path


def shot(page, scheme, height=1400):
    """The bytes of a picture of a page, as a browser shows it to those who like that scheme."""
    if BROWSER is None:
        pytest.skip("there is no Chromium")
    picture = page.with_name(f"{page.stem}-{scheme}.png")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size=1200,{height}"]
    settings = [f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", f"--screenshot={picture}"]
    done = subprocess.run([BROWSER, *options, *settings, page.as_uri()], capture_output=True, text=True, timeout=120)
    if not picture.exists():
        pytest.skip(f"Chromium does not run here: {done.stderr[-300:]}")
    data = picture.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1200, height) and len(data) > 4000  # more than a blank page
    return data


@pytest.mark.parametrize("name", ["explain", "profile", "report", "cache_info"])
def test_pages_follow_the_scheme(name, folder):
    x = np.random.default_rng(0).random((300, 400))
    made = {
        "explain": lambda: ranks.explain(x),
        "profile": lambda: ranks.profile(x),
        "report": lambda: (ranks(x), jitrt.report())[1],
        "cache_info": lambda: (ranks(x), ranks.cache_info())[1],
    }[name]()
    page = folder / f"{name}.html"
    page.write_text(f"<!doctype html><meta charset='utf-8'>{STYLE}{made._repr_html_()}", encoding="utf-8")
    assert shot(page, "light", 700) != shot(page, "dark", 700)


def test_the_notebook_runs_and_is_seen(folder):
    """``examples/notebook.ipynb``."""
    nbformat, nbclient, nbconvert = map(pytest.importorskip, ("nbformat", "nbclient", "nbconvert"))
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(ROOT / "examples" / "notebook.ipynb", 4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = ["".join(str(o.get("data", "")) for o in c.outputs) for c in notebook.cells if c.cell_type == "code"]
    assert "hillshade" in outputs[1] and "<table>" in outputs[1]
    assert outputs[2].count("<svg") == 3 and "<svg" in outputs[3] and "prints" in outputs[4]
    pictures = []
    for scheme in SCHEMES:
        page = folder / f"notebook-{scheme}.html"
        html, _ = nbconvert.HTMLExporter(template_name="lab", theme=scheme).from_notebook_node(notebook)
        page.write_text(html, encoding="utf-8")
        pictures.append(shot(page, scheme, 4000))
    assert pictures[0] != pictures[1]
