"""Charts as inline SVG: what they show, that names in them stay text, that a page can show and read them."""

from __future__ import annotations

import copy
import itertools
import math
import re
import shutil

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given, settings
from hypothesis import strategies as st

from recon.report.charts import svg
from recon.report.charts import trees as layouts
from recon.report.charts.curve import attribute_bars, exposure_curve
from recon.report.charts.intervals import interval_bars
from recon.report.charts.svg import remedy_bars
from recon.report.charts.trees import model_drawing
from solvers.foundation.displayed import HIDDEN

NAMESPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert(1)</script>",
    "x" * 10_000,
    "\u202eevil\u202c \u0633\u0644\u0627\u0645",
    "a\nb\tc\x00d",
    '=cmd|"/c calc"!A1',
    "]]></svg><img src=x onerror=alert(1)>",
    "",
)


def node(i, text, rows=(3, 3), then=None, otherwise=None, classes=None, share=None):
    return {
        "id": i, "text": text, "then": then, "otherwise": otherwise, "rows": list(rows), "classes": classes,
        "share_left": share,
    }  # fmt: skip


def tree(depth, text="age <= 30", share=0.4):
    """A full tree: node i has the children 2i + 1 and 2i + 2; leaf j has j + 1 rows."""
    inner, leaves = 2**depth - 1, 2**depth
    nodes = [
        node(inner + j, f"leaf {j}", (j + 1, j + 1), None, None, [["no", j], ["yes", 1]], share) for j in range(leaves)
    ]
    rows = {one["id"]: j + 1 for j, one in enumerate(nodes)}
    for i in reversed(range(inner)):
        rows[i] = rows[2 * i + 1] + rows[2 * i + 2]
        nodes.append(node(i, f"{text} {i}", (rows[i], rows[i]), 2 * i + 1, 2 * i + 2, None, share))
    return {"kind": "tree", "root": 0, "note": "", "nodes": nodes[::-1]}


def chain(length):
    """A tree that is one long way: every test splits off one row."""
    nodes = [node(2 * i, f"test {i}", (length - i + 1,) * 2, 2 * i + 2, 2 * i + 1, None, 0.2) for i in range(length)]
    nodes += [node(2 * i + 1, f"leaf {i}", (1, 1), share=0.05) for i in range(length)]
    return {"kind": "tree", "root": 0, "note": "", "nodes": [*nodes, node(2 * length, "last", (1, 1), share=0.05)]}


RULES = {
    "kind": "list",
    "root": 0,
    "note": "the first of 3",
    "nodes": [
        node(0, "priors > 3", (1, 1), classes=[["yes", 1], ["no", 0]], share=0.05),
        node(1, "age in 18..25", (0, 3)),
        node(2, "everybody else", (400, None), share=0.9),
    ],
}
CURVE = [[0.0, 0.1], [0.31, 0.5], [0.6, 0.8], [0.9, 1.0]]


def revealed(name, before, bits, forced=0, kind="exact", why=None):
    share = None if bits is None else bits / before
    figures = {"bits_before": before, "bits_revealed": bits, "share": share, "forced_rows": forced}
    return {"name": name, **figures, "is": kind, "why": why}


def hidden(name, published, feasible, tight=True):
    low, high = feasible
    ends = {"published": published, "feasible": feasible, "width": high - low, "recovered": low == high}
    return {"name": name, "suppressed": "primary", **ends, "tight": tight}


def remedy(words, pinned, bits, outcome=None):
    return {"remedy": words, "kind": words, "pinned": pinned, "bits_left_per_person": bits, "outcome": outcome}


BITS = [revealed("age", 6.0, 3.0, 12, "at least"), revealed("sex", 1.0, 0.0)]
BITS.append(revealed("bmi", None, None, 0, "not known", "any number"))
CELLS = [hidden("north", [1, 9], [2, 5]), hidden("south", [1, 9], [4, 4]), hidden("east", [None, None], [0, 12], False)]
REMEDIES = [
    remedy("as published", [12, 12], [9.0, 9.0], "violated"),
    remedy("merged", [0, 0], [14.25, 14.25], "met"),
    remedy("noise", [0, None], [10.0, 18.5], "inconclusive"),
    remedy("unknown", None, None),
]
ALL = {
    "curve": exposure_curve(CURVE),
    "nodes": model_drawing(tree(3)),
    "icicle": model_drawing(tree(6)),
    "chain": model_drawing(chain(60)),
    "list": model_drawing(RULES),
    "bars": attribute_bars(BITS),
    "intervals": interval_bars(CELLS),
    "remedies": remedy_bars(REMEDIES),
}


def with_name(name):
    """All charts with one name for everything that has one."""
    drawings = [copy.deepcopy(one) for one in (tree(2), tree(6), RULES)]
    for drawing in drawings:
        drawing["note"] = name
        for one in drawing["nodes"]:
            one["text"], one["classes"] = name, [[name, 3]]
    named = [
        [{**one, key: name} for one in lines] for lines, key in ((BITS, "name"), (CELLS, "name"), (REMEDIES, "remedy"))
    ]
    return [*map(model_drawing, drawings), attribute_bars(named[0]), interval_bars(named[1]), remedy_bars(named[2])]


def parsed(chart):
    root = fromstring(chart)
    return root if root.tag == f"{NAMESPACE}svg" else root.find(f"{NAMESPACE}svg")


def texts(chart):
    return ["".join(one.itertext()) for one in parsed(chart).iter(f"{NAMESPACE}text")]


def boxes(chart):
    """The rectangles with a tooltip: x, y, width, height and the tooltip."""
    for one in parsed(chart).iter(f"{NAMESPACE}rect"):
        tip = one.find(f"{NAMESPACE}title")
        if tip is not None:
            yield *(float(one.get(key)) for key in ("x", "y", "width", "height")), tip.text


# ---------------------------------------------------------------- what every chart is


@pytest.mark.parametrize("name", ALL)
def test_a_chart_is_named_and_described_and_fetches_nothing(name):
    chart = ALL[name]
    root = parsed(chart)
    assert root.get("role") == "img"
    named = [one.get("id") for one in root if one.tag in (f"{NAMESPACE}title", f"{NAMESPACE}desc")]
    assert root.get("aria-labelledby").split() == named
    assert len(named) == 2
    assert all(one.text.strip() for one in root if one.get("id") in named)
    assert [float(x) for x in root.get("viewBox").split()][2:] == [float(root.get(key)) for key in ("width", "height")]
    assert "max-width" in root.get("style")
    assert "width:100%" in root.get("style")
    tags = {one.tag.removeprefix(NAMESPACE) for one in root.iter()}
    assert tags <= {"svg", "title", "desc", "defs", "pattern", "rect", "circle", "path", "g", "text", "line", "style"}
    assert not re.search(r"href|javascript:|\son\w+=|@import|url\((?!#)", chart)
    for x in re.findall(r' (?:x|y|x1|x2|y1|y2|cx|cy|width|height)="([^"]*)"', chart):
        assert math.isfinite(float(x))


def test_ids_differ_between_charts_of_one_page():
    page = [ALL[name] for name in ("curve", "icicle", "bars", "intervals", "remedies")]
    ids = [found for chart in page for found in re.findall(r' id="([^"]+)"', chart)]
    assert len(ids) == len(set(ids))


def test_a_chart_is_the_same_every_time():
    assert model_drawing(tree(6)) == model_drawing(tree(6))
    assert with_name("a") == with_name("a")


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_text(name):
    for chart in with_name(name):
        root = parsed(chart)
        tags = {one.tag.removeprefix(NAMESPACE) for one in root.iter()}
        assert not tags & {"script", "img", "a", "image", "foreignObject", "use"}
        assert not HIDDEN.search(chart)
        assert len(chart) < 400_000
        for one in root.iter(f"{NAMESPACE}text"):
            assert len("".join(one.itertext())) < 300


def test_nothing_is_drawn_of_nothing():
    assert exposure_curve([]) == exposure_curve([[math.nan, 0.5]]) == ""
    assert model_drawing(None) == model_drawing({}) == ""
    assert model_drawing({"kind": "tree", "root": 0, "nodes": [], "note": ""}) == ""
    assert model_drawing({"kind": "tree", "root": 7, "nodes": [node(0, "a")], "note": ""}) == ""
    assert exposure_curve(None) == attribute_bars(None) == interval_bars(None) == remedy_bars(None) == ""
    assert attribute_bars([]) == interval_bars([]) == remedy_bars([]) == remedy_bars(REMEDIES[:1]) == ""
    assert remedy_bars([REMEDIES[0], REMEDIES[3]]) == ""


# ---------------------------------------------------------------- colours, words, text that fits


def contrast(first, second):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_text_has_contrast_enough(mode):
    colours = {name: pair[mode] for name, pair in svg.PALETTE.items()}
    for text in ("--ink", "--muted", "--accent"):
        assert contrast(colours[text], colours["--paper"]) >= 4.5
    for i in range(5):
        over = re.match(r"var\((--\w+),", svg.on_level(i))[1]
        assert contrast(colours[over], colours[f"--exposure-{i}"]) >= 4.5
    strength = [contrast(colours[f"--exposure-{i}"], colours["--paper"]) for i in range(5)]
    assert strength == sorted(strength)  # the more exposed the stronger, in both modes
    assert contrast(colours["--muted"], colours["--paper"]) >= 3  # the edges of what is pale


def test_levels_of_exposure_are_told_apart_without_colour():
    patterns = fromstring(f'<svg xmlns="http://www.w3.org/2000/svg">{svg.hatches("p")}</svg>')
    shapes = [re.sub(r"var\([^)]*\)", "", repr([(s.tag, s.attrib) for s in p.iter()][2:])) for p in patterns[0]]
    assert len(set(shapes)) >= 4  # none (pale and full differ by an edge and by lightness), dots, two hatches
    assert [svg.level(x) for x in (0, 0.1, 0.11, 0.3, 0.5, 0.75, 0.76, None)] == [4, 4, 3, 3, 2, 1, 0, 0]
    assert [svg.row_level(n) for n in (1, 2, 5, 6, 10, 11, 20, 21)] == [4, 3, 3, 2, 2, 1, 1, 0]


SHARES = {0: "0 %", 0.0004: "under 0.1 %", 0.004: "0.4 %", 0.314: "31 %", 0.996: "99.6 %", 0.9996: "over 99.9 %"}


@pytest.mark.parametrize(("share", "words"), [*SHARES.items(), (1, "100 %")])
def test_shares_in_words_are_none_and_all_only_where_they_are(share, words):
    assert svg.percent(share) == words


@pytest.mark.slow
@settings(max_examples=200, derandomize=True)
@given(st.text(max_size=60), st.floats(20, 400), st.integers(1, 4))
def test_text_fits_and_says_where_it_was_cut(text, width, lines):
    found = svg.wrapped(text, width, lines)
    assert len(found) <= lines
    assert all(svg.width_of(line) <= width for line in found)
    assert not HIDDEN.search("".join(found))
    whole = svg.fitted(text, 1e9)
    if "…" not in text and not any(line.endswith("…") for line in found) and found:
        assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", whole)


# ---------------------------------------------------------------- the curve


def test_the_curve_is_read_in_words_below_it():
    said = " ".join(texts(ALL["curve"]))
    assert "10 % of the people have no bit left: everything about them is known" in said
    assert "half of the people have at most 31 % of their bits left" in said
    assert "all have at most 90 % of their bits left" in said
    description = next(one.text for one in parsed(ALL["curve"]) if one.tag == f"{NAMESPACE}desc")
    assert "half of the people have at most 31 % of their bits left" in description
    assert "For 40 % of the people it is known" in " ".join(texts(exposure_curve([[0.2, 0.1], [0.5, 0.4]])))


@settings(max_examples=60, derandomize=True)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_the_curve_passes_its_points_and_never_falls(pairs):
    points = list(zip(sorted(x for x, _ in pairs), sorted(y for _, y in pairs), strict=True))
    chart = exposure_curve(points)
    path = next(one.get("d") for one in parsed(chart).iter(f"{NAMESPACE}path") if one.get("fill") == "none")
    heights = [float(y) for y in re.findall(r"V([\d.]+)", path)]
    assert heights == sorted(heights, reverse=True)
    half = [x for x, y in points if y >= 0.5]
    assert ("<circle" in chart) == bool(half)


# ---------------------------------------------------------------- trees and lists


def test_a_small_tree_is_nodes_and_links():
    chart = ALL["nodes"]
    said = texts(chart)
    assert said.count("yes") == said.count("no") == 7
    assert "leaf 0: 1 row" in said
    assert "no 7, yes 1" in said
    assert said.count("40 % of bits left") == 8
    assert any(text.startswith("age <= 30") for text in said)


@pytest.mark.parametrize("drawing", [tree(6), tree(9), chain(60)], ids=["64", "512", "chain"])
def test_an_icicle_is_a_partition(drawing):
    """Rectangles of a row lie side by side inside the rows above, and the first has the whole width."""
    rows = {}
    for x, y, width, height, tip in boxes(model_drawing(drawing)):
        assert tip
        rows.setdefault(y, []).append((x, x + width))
        assert height > 0
    levels = [sorted(rows[y]) for y in sorted(rows)]
    assert len(levels[0]) == 1
    assert levels[0][0][1] - levels[0][0][0] == pytest.approx(layouts.WIDE - 12, abs=1)
    for above, below in itertools.pairwise(levels):
        assert all(a[1] <= b[0] + 0.31 for a, b in itertools.pairwise(below))
        assert all(any(p[0] - 0.1 <= a and b <= p[1] + 1.0 for p in above) for a, b in below)


def test_a_large_tree_stays_small():
    """1,024 leaves; beyond 2,000 rectangles those with fewest rows are left to the ones above."""
    text = "hours-per-week of the main job in 2019 <= 40.5"
    chart = model_drawing(tree(10, text))
    assert 200_000 < len(chart) < 400_000
    found = list(boxes(chart))
    assert len(found) <= layouts.MAX_RECTANGLES
    assert "leaves are too narrow or too deep to draw" in chart
    assert len(model_drawing(tree(9, text)).split("<title>")) > 1_023
    assert len(model_drawing(tree(13))) < 400_000
    assert len(model_drawing(chain(3_000))) < 400_000


def test_leaves_of_one_person_are_marked_however_narrow():
    chart = model_drawing(chain(60))
    assert "strongest colour" in chart
    feet = [one.get("d") for one in parsed(chart).iter(f"{NAMESPACE}path") if one.get("stroke-width") == "4"]
    assert feet[0].count("M") == 39  # as many as rows of rectangles are drawn below the root


def test_where_bits_are_not_known_colours_tell_rows():
    drawing = tree(2)
    for one in drawing["nodes"]:
        one["share_left"] = None
    chart = model_drawing(drawing)
    assert "rows of the group (bits left are not known)" in chart
    assert "2 to 5 rows" in chart
    assert "#chart-model-e4" in chart  # the leaf of one row


def test_a_rule_list_says_what_follows():
    said = texts(ALL["list"])
    assert "if priors > 3" in said
    assert "else if age in 18..25" in said
    assert "everybody else" in said
    assert "then yes 1" in said
    assert "1 row, 5 % of bits left" in said
    assert "0 to 3 rows" in said
    assert "at least 400 rows, 90 % of bits left" in said
    assert "The first of 3." in said
    long = {**RULES, "nodes": [node(i, f"a = {i}", (1, 1)) for i in range(100)]}
    assert "40 more rules are not drawn." in texts(model_drawing(long))


def test_a_drawing_that_is_no_tree_is_drawn_all_the_same():
    circle = {"kind": "tree", "root": 0, "note": "", "nodes": [node(0, "a", (1, 1), 1, 0), node(1, "b", (1, 1), 0, 9)]}
    assert "<svg" in model_drawing(circle)
    twice = {"kind": "tree", "root": 0, "note": "", "nodes": [node(0, "a", (2, 2), 1, 1), node(1, "b")]}
    assert "<svg" in model_drawing(twice)
    nobody = tree(6)
    for one in nobody["nodes"]:
        one["rows"] = [0, 0]
    assert "<svg" in model_drawing(nobody)


# ---------------------------------------------------------------- bars


def test_attributes_have_bars_figures_and_reasons():
    said = texts(ALL["bars"])
    assert "at least 3.00 of 6.00 bits" in said
    assert "the value is certain for 12 people" in said
    assert "Without bits (any number): bmi" in said
    widths = {tip: width for _, _, width, _, tip in boxes(ALL["bars"])}  # the last with a tooltip: what is revealed
    assert widths["age: at least 3.00 of 6.00 bits (50 %)"] == pytest.approx(468 / 2, abs=0.1)
    assert widths["sex: 0.00 of 1.00 bits (0 %)"] == pytest.approx(468 / 6, abs=0.1)  # nothing is drawn over it
    many = [{**BITS[0], "name": f"a{i}", "bits_revealed": 1 / (i + 1)} for i in range(30)]
    assert "5 more attributes with 0.04 bits or less each" in texts(attribute_bars(many))


def test_intervals_show_what_was_published_and_what_is_left():
    chart = ALL["intervals"]
    said = texts(chart)
    names = [text for text in said if text in ("north", "south", "east")]
    assert names == ["south", "north", "east"]  # recovered first, then the narrowest
    assert "recovered: 4 rows" in said
    assert "2 to 5 rows" in said
    assert "within 0 to 12 rows" in said
    unit = (466 - 14) / 12
    found = {(round(x, 1), round(width, 1)) for x, _, width, _, tip in boxes(chart) if tip.startswith("north")}
    assert found == {(round(14 + unit, 1), round(8 * unit, 1)), (round(14 + 2 * unit, 1), round(3 * unit, 1))}
    assert chart.count("stroke-dasharray") == 1  # the one without a greatest count
    many = [{**CELLS[0], "name": f"cell {i}"} for i in range(40)]
    assert "and 10 more cells" in texts(interval_bars(many))


def test_remedies_stand_beside_the_release_as_published():
    chart = ALL["remedies"]
    said = texts(chart)
    assert [text for text in said if text in ("as published", "merged", "noise", "unknown")] == [
        "as published",
        "merged",
        "noise",
    ]
    assert {"meets the policy", "not decided", "14.25", "10 to 18.5", "at least 0", "was 9", "was 12"} <= set(said)
    tips = [tip for *_, tip in boxes(chart)]
    assert "merged: fully known 0, as published 12" in tips
    widths = [(width, tip) for _, _, width, _, tip in boxes(chart) if tip.startswith("merged: bits left")]
    assert widths[0][0] / widths[1][0] == pytest.approx(14.25 / 9.0, rel=0.01)


# ---------------------------------------------------------------- in a browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
MEASURE = """() => [...document.querySelectorAll('svg.chart')].map(svg => {
  const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width
  const texts = [...svg.querySelectorAll('text')]
  const out = texts.filter(t => { const b = t.getBoundingClientRect()
    return b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1 })
  const sizes = texts.map(t => parseFloat(getComputedStyle(t).fontSize))
  return {id: svg.querySelector('title').id, size: Math.min(...sizes) * scale,
          out: out.map(t => t.textContent), width: box.width, height: box.height} })"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed: charts were not opened in a browser")
def test_a_browser_shows_the_charts_whole_and_readable():
    sync = pytest.importorskip("playwright.sync_api")
    light = "".join(f"{name}:{pair[0]};" for name, pair in svg.PALETTE.items())
    css = f":root{{{light}}}body{{margin:16px;background:var(--paper);color:var(--ink)}}"
    charts = [*ALL.values(), *with_name(HOSTILE[1]), *with_name(HOSTILE[2])]
    body = f"<style>{css}</style>{''.join(f'<div>{chart}</div>' for chart in charts)}"
    page_text = (
        f'<!doctype html><html lang="en"><title>charts</title><meta name="viewport" content="width=device-width">{body}'
    )
    with sync.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for width, least in ((1280, 11.0), (400, 8.5)):
            page = browser.new_page(viewport={"width": width, "height": 900})
            said = []
            page.on("console", lambda message, said=said: said.append(message.text))
            page.on("request", lambda request, said=said: said.append(request.url))
            page.set_content(page_text)
            found = page.evaluate(MEASURE)
            assert len(found) == len(charts)
            assert not said
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            for one in found:
                assert one["size"] >= least, one
                assert not one["out"], one
                assert one["height"] > 40
            page.close()
        browser.close()
