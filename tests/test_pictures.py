"""Pictures of programs: well-formed, with a box for each step and frames for loops."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import jitrt
from jitrt.base.drawing import Box, layered
from jitrt.inspect.pictures import bars_picture

NAMES = "{http://www.w3.org/2000/svg}"


@jitrt.jit
def sorted_twice(a):
    b = np.cumsum(a, axis=0)
    c = np.sort(b, axis=0)
    return np.sort(np.cumsum(c * 2, axis=0) + b, axis=0) * np.exp(c)


def shapes(picture, kind):
    return ET.fromstring(picture).findall(f".//{NAMES}{kind}")


def texts(picture):
    return [t.text for t in shapes(picture, "text")]


@pytest.fixture(scope="module")
def explanation():
    return sorted_twice.explain(np.ones((50, 30)))


def test_steps_are_boxes_below_what_they_read(explanation):
    picture = explanation.svg()
    heads = [t for t in texts(picture) if re.match(r"step \d+: |x\d|result", t)]
    steps = explanation.compiled.program.steps
    assert len(heads) == len(steps) + 2 == len(shapes(picture, "rect"))
    assert sum("NumPy" in h for h in heads) == 2
    box = {t.text: float(t.get("y")) for t in shapes(picture, "text")}
    assert box["x0"] < box["step 0: kernel"] < box["step 1: NumPy"]
    assert len(shapes(picture, "path")) >= len(steps)


def test_what_is_made_and_not_returned_is_no_result():
    fast = jitrt.jit(lambda a: np.sort(np.exp(a), axis=0).sum())
    assert [t for t in texts(fast.explain(np.ones((300, 400))).svg()) if t.startswith("result")] == ["result 0"]


def test_loops_are_frames(explanation):
    picture = explanation.svg("loops")
    lines = [line for nest in explanation.loop_nests for line in str(nest).split("\n")]
    assert len(shapes(picture, "rect")) == sum(line.strip().startswith("for ") for line in lines)
    assert len(texts(picture)) == len(lines)


def test_memory_is_a_map(explanation):
    picture, layout = explanation.svg("memory"), explanation.compiled.program.layout
    assert len(shapes(picture, "rect")) == len(layout.slots) > 0
    assert f"{layout.nbytes:,} bytes" in texts(picture)
    assert "no temporary arrays" in jitrt.jit(np.hypot).explain(np.ones(5), np.ones(5)).svg("memory")


def test_pages_have_the_pictures(explanation, tmp_path):
    explanation.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3 and page.startswith("<!doctype html>") and "graph after simplify" in page
    assert not re.search(r"(fill|stroke)=.(black|white|#000|#fff)", page)  # which dark pages would hide


def test_what_has_no_program_has_no_pictures():
    plain = jitrt.jit(lambda x: print(x)).explain(np.ones(3))
    with pytest.raises(ValueError, match="no pictures of it"):
        plain.svg()
    assert "<svg" not in plain._repr_html_() and "prints" in plain._repr_html_()


def test_unknown_pictures(explanation):
    with pytest.raises(ValueError, match="not of kernels"):
        explanation.svg("kernels")


def test_times_are_bars():
    page = sorted_twice.profile(np.ones((50, 30)))._repr_html_()
    picture = page[page.index("<svg") : page.index("</svg>") + 6]
    assert any(t.startswith("NumPy executes np.sort") for t in texts(picture)) and "Python" in texts(picture)


@pytest.mark.parametrize("seed", range(20))
def test_boxes_never_overlap(seed):
    rng = np.random.default_rng(seed)
    boxes = []
    for k in range(int(rng.integers(1, 30))):
        after = tuple(sorted({int(j) for j in rng.integers(0, k, rng.integers(0, 4))})) if k else ()
        boxes.append(Box(tuple("<&" * int(n) for n in rng.integers(1, 9, rng.integers(1, 4))), "gray", after))
    rects = [[float(r.get(n)) for n in ("x", "y", "width", "height")] for r in shapes(layered(boxes), "rect")]
    assert len(rects) == len(boxes)
    for i, (x, y, w, h) in enumerate(rects):
        assert all(rects[j][1] + rects[j][3] < y for j in boxes[i].after)
        for x1, y1, w1, h1 in rects[:i]:
            assert x + w <= x1 or x1 + w1 <= x or y + h <= y1 or y1 + h1 <= y


def test_lines_pass_by_the_boxes_between():
    boxes = [Box(("a",), "gray"), Box(("b" * 30,), "gray", (0,)), Box(("c",), "gray", (0, 1))]
    picture = layered(boxes)
    between = shapes(picture, "rect")[1]
    x, w = float(between.get("x")), float(between.get("width"))
    straight = [float(v) for p in shapes(picture, "path") for v in re.findall(r"([\d.]+),[\d.]+ V", p.get("d"))]
    assert straight and all(not x <= v <= x + w for v in straight)


def test_bars_of_nothing():
    assert shapes(bars_picture([("none", 0.0, "0 µs")], 0.0), "rect")
