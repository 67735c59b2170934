"""What users hold shows itself: a short line, HTML that cannot act, a table, a plot; nothing is computed for it."""

from __future__ import annotations

import doctest
import json
import math
import pickle
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import encoded, extra
from hypothesis import given
from hypothesis import strategies as st

import recon
from encoders.domain.values import Categorical, Continuous, Grid
from encoders.models.nodes import Nodes
from recon.queries.bounds.placed import BoundAnswer, Later
from recon.readers.inspection.findings.findings import LEVELS, Finding
from solvers.foundation.displayed import HIDDEN
from solvers.foundation.plots import _power
from solvers.statements.questions.answers import CountAnswer
from solvers.statements.release import RowWorld as SolverWorld

ROOT = Path(__file__).parents[1]
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "x" * 10_000, "\u202eab\u05d0\u05d1\u05d2\u2066",
    "two\nlines\r\n\tand\x00more", "$\\frac{1}{0}$ $$ \\[x\\]", "&lt;b&gt;&amp;", "=cmd|' /C calc'!A0",
    "' onclick='f()", "\U0001f600\u4e2d\u6587", "_hidden",
]  # fmt: skip
TAGS = {"div", "p", "b", "i", "bdi", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li"}


class Reader(HTMLParser):
    """A page as a tree of our tags: anything else, or a tag that is not closed in order, fails."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.text, self.cells = [], [], Counter()

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS
        assert {name for name, _ in attrs} <= {"class", "scope"}
        self.open.append(tag)
        self.cells[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def unexpected(self, data):
        raise AssertionError(data)

    handle_comment = handle_decl = handle_pi = unknown_decl = unexpected


def read(thing):
    """Return what a thing's HTML says, after everything about it was checked; its repr as well."""
    page, line = thing._repr_html_(), repr(thing)
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    assert "mathjax_ignore" in page
    for text in (page, line):
        assert not HIDDEN.search(text)
    assert len(page) < 60_000
    assert len(line) < 400
    assert line.startswith(f"<{type(thing).__name__}: ")
    return " ".join(reader.text), reader, line


def tree(names, label="y", values=(0, 1)):
    """Return a release of one tree with attributes of these names."""
    nodes = [{"if": {names[0]: 1}, "then": 1, "else": 2}, {"counts": [0, 2], "name": names[-1]}, {"counts": [3, 1]}]
    domain = {"attributes": [{"name": name, "values": [0, 1]} for name in names]}
    domain["label"] = {"name": label, "values": list(values)}
    return encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes, "name": names[0]}]})


RELEASE = tree(["a", "b"])
NOISY = {
    "recon": 1,
    "domain": {"attributes": [{"name": "a", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}},
    "rows": 6,
    "models": [
        {
            "kind": "tree", "noise": {"law": "discrete_laplace", "scale": 1.0},
            "nodes": [{"if": {"a": 1}, "then": 1, "else": 2}, {"counts": [0, 2]}, {"counts": [3, 1]}],
        }
    ],
}  # fmt: skip
FINDING = Finding("high", "tree", "tree_.nodes", "record array of 3", "rows", "nothing", values=(1, 2), smallest=1)


def every(release=RELEASE, name="a"):
    """Return one of everything that users hold."""
    return {
        "Domain": release.domain,
        "EncodedRelease": release,
        "CountAnswer": recon.count(release),
        "BoundAnswer": recon.bound(release, {name: 1}),
        "Measures": recon.measure(release),
        "Report": recon.audit(release),
        "Inspection": recon.Inspection(name, "pickle", "0" * 64, 6, (FINDING, replace(FINDING, path=name))),
        "World": recon.reconstruct(release),
    }


THINGS = every()


@pytest.mark.parametrize("kind", THINGS)
def test_a_line_a_page_and_a_table(kind):
    text, reader, line = read(THINGS[kind])
    assert type(THINGS[kind]).__name__ == kind
    assert line.removeprefix(f"<{kind}: ").removesuffix(">") in text.replace("  ", " ")
    assert reader.cells["table"] >= 1
    frame = THINGS[kind].to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)


def test_what_the_lines_say():
    lines = {kind: repr(thing) for kind, thing in THINGS.items()}
    assert lines["Domain"] == "<Domain: 2 attributes, label 'y' (values 0, 1), declared>"
    assert lines["EncodedRelease"] == "<EncodedRelease: tree of 3 nodes, 6 rows, 2 attributes, label 'y'>"
    assert lines["CountAnswer"] == f"<CountAnswer: {recon.count(RELEASE).value:,} worlds, exact (assigned)>"
    assert lines["BoundAnswer"] == "<BoundAnswer: 2, 2 expected, exact (assigned)>"
    share = recon.measure(RELEASE).dist_g
    assert lines["Measures"].startswith(f"<Measures: Dist_G {share:.4g}, ")
    assert lines["Report"].startswith("<Report: audit of a release: Dist_G")
    refused = recon.audit(RELEASE, "preset:minimum-cell-10")
    assert repr(refused).startswith("<Report: do not release: audit of a release: Dist_G")
    assert "Report do not release" in " ".join(read(refused)[0].split())
    asked = recon.QueryAnswers.of(["x", "y"], [[1, 1], [0, 1]], [1, 1], 1)
    assert repr(asked) == "<QueryAnswers: 2 queries about 2 people, each count within 2>"
    known = recon.Adversary(rows=[{"where": {"a": 0}}], population={"rows": 9})
    assert repr(known) == "<Adversary: knows 1 row, population>"
    assert repr(recon.Adversary()) == "<Adversary: knows nothing>"
    assert lines["Inspection"] == "<Inspection: a, pickle, 6 training rows; found: 2 high>"
    assert lines["World"] == "<World: 6 rows of 3 columns, one of several possible worlds>"


def test_tables_hold_the_figures():
    frame = THINGS["Domain"].to_frame()
    assert frame["name"].tolist() == ["a", "b", "y"]
    assert frame["number"].tolist() == [2, 2, 2]
    assert frame["role"].tolist() == ["attribute", "attribute", "label"]
    assert THINGS["EncodedRelease"].to_frame().loc[0, ["kind", "trees", "parts"]].tolist() == ["tree", 1, 3]
    count, bound, measures = (THINGS[kind].to_frame().iloc[0] for kind in ("CountAnswer", "BoundAnswer", "Measures"))
    assert count["log2"] == count["log2_lower"] == count["log2_upper"] == recon.count(RELEASE).log2
    assert (bound["min"], bound["max"], bound["expectation"]) == (2, 2, 2)
    assert measures["dist_g"] == recon.measure(RELEASE).dist_g
    assert measures["log2_worlds"] == recon.count(RELEASE).log2
    assert THINGS["Report"].to_frame().loc[0, "dist_g"] == measures["dist_g"]
    assert len(pd.concat([THINGS["Report"].to_frame()] * 2)) == 2
    assert THINGS["Inspection"].to_frame()["path"].tolist() == ["tree_.nodes", "a"]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_text_and_nothing_else(name):
    release = tree([name, name + "2"], label=name + "y", values=(name + "no", name + "yes"))
    release = replace(release, file=name, files=(name,))
    found = every(release, name)
    for kind, thing in found.items():
        text, _, line = read(thing)
        naming = kind in {"Domain", "EncodedRelease", "Report", "Inspection", "World"}
        assert not naming or name[:4] in text or HIDDEN.search(name[:4]), text
        if len(name) > 1_000:
            assert "x" * 200 not in line
            assert "x" * 400 not in text
    domain = replace(release.domain, notes=(name,) * 9, source=name)
    assert "and 4 more" in read(domain)[0]
    assert name[:4] in read(replace(found["BoundAnswer"], conflict=(name,)))[0] or HIDDEN.search(name[:4])
    read(CountAnswer("unsat", conflict=(name,), engine=name))
    read(recon.Inspection(name, name, name, None, (replace(FINDING, path=name, what=name, follows=name),) * 30))


@pytest.mark.sampled(1, 4)
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_drawn_as_they_stand(name):
    plt = drawing()
    release = tree([name, name + "2"], label=name + "y")
    for thing in every(release, name).values():
        axes = thing.plot()
        axes.figure.canvas.draw()  # a formula that cannot be parsed, or a glyph that no font has, is an error
        for text in (axes.title, axes.xaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()):
            assert len(text.get_text()) < 200
            assert not HIDDEN.search(text.get_text())
        plt.close("all")


def drawing():
    """Return pyplot without a display."""
    matplotlib = extra("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def test_plots_draw_the_figures():
    plt = drawing()
    numbers = recon.Domain(
        (Categorical("a", (1, 2, 3, 4)), Grid("g", 0, 1, 1024), Continuous("c")), Categorical("y", (0, 1))
    )
    bars = numbers.plot()
    assert [bar.get_width() for bar in bars.patches] == [2.0, 10.0, 0.0, 1.0]
    assert [t.get_text() for t in bars.get_yticklabels()] == ["a", "g", "c", "y"]
    groups = RELEASE.plot()
    assert {i: bar.get_height() for i, bar in enumerate(groups.patches) if bar.get_height()} == {2: 1, 4: 1}
    (line,) = THINGS["CountAnswer"].plot().lines
    assert set(line.get_xdata()) == {recon.count(RELEASE).log2}
    line, mark = BoundAnswer("exact", min=1.0, max=4.0, expectation=2.5).plot().lines
    assert [*line.get_xdata(), *mark.get_xdata()] == [1.0, 4.0, 2.5]
    levels = THINGS["Inspection"].plot()
    assert [bar.get_width() for bar in levels.patches] == [2 * (level == "high") for level in LEVELS]
    (image,) = THINGS["World"].plot().images
    assert (image.get_array() == THINGS["World"].to_frame().to_numpy()).all()  # all values are 0 and 1
    _, own = plt.subplots()
    assert all(thing.plot(ax=own) is own for thing in THINGS.values())
    plt.close("all")


def test_the_curve_is_the_share_of_rows_at_most_as_exposed():
    plt = drawing()
    release = recon.load(ROOT / "examples" / "releases" / "compas_tree.json")
    measures = recon.measure(release)
    (line,) = measures.plot().lines
    lines = measures.exposure
    for x, share in zip(line.get_xdata()[1:-1], line.get_ydata()[1:-1], strict=True):
        below = lines["rows"][lines["entropy_reduction_ratio"] <= x].sum() / lines["rows"].sum()
        assert share == pytest.approx(below)
    assert line.get_ydata()[-1] == pytest.approx(1.0)
    plt.close("all")


def test_where_there_is_nothing_to_draw_a_sentence_says_so():
    drawing()
    nothing = [
        CountAnswer("unsat"),
        CountAnswer("unknown"),
        CountAnswer("exact", relative=True, bounds=(3.0, 3.0)),
        BoundAnswer("exact", min=None, max=None),
        BoundAnswer("bounds", min=-math.inf, max=1.0),
    ]
    for answer in nothing:
        read(answer)
        assert len(answer.to_frame()) == 1
        with pytest.raises(recon.Unsupported, match="nothing to draw"):
            answer.plot()


@pytest.mark.parametrize("kind", THINGS)
def test_without_matplotlib_plots_name_the_extra(kind, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    read(THINGS[kind])
    with pytest.raises(recon.Unsupported, match=r"plots need matplotlib: pip install '\.\[plots\]'"):
        THINGS[kind].plot()


@given(st.integers(1, 1 << 30))
def test_few_worlds_are_written_out(n):
    assert _power(math.log2(n)) == f"{n:,}"


def refuse(*_args, **_named):
    raise AssertionError("something was computed to be shown")


def test_huge_things_are_shown_without_computing(monkeypatch):
    """A number of a million digits, exposure, worlds and nodes are never worked out for a line or a page."""
    huge = CountAnswer("exact", bounds=(3.4e6, 3.4e6), per_rows=refuse, log2_per_rows={9: 3.4e6})
    assert repr(huge) == "<CountAnswer: about 10^1,023,501.99 worlds, exact (ordered)>"
    read(huge)
    measures = replace(recon.measure(RELEASE), exposures=refuse, counted=huge, smallest_region=10**500_000)
    assert "about 10^500,000" in read(measures)[0]
    read(BoundAnswer("exact", min=1, max=2, _more=Later(refuse, refuse)))
    findings = THINGS["Report"].findings
    read(recon.Report(replace(findings, measures=measures)))
    million = np.full(2, 500_000)
    world = replace(THINGS["World"], inner=SolverWorld(THINGS["World"].inner.values[:2], million))
    monkeypatch.setattr(recon.World, "indices", refuse)
    text, _, line = read(world)
    assert "1,000,000 rows" in line
    assert "the first 8 of 1,000,000 lines" in text
    monkeypatch.undo()
    forest = json.loads(json.dumps({"kind": "forest", "trees": [{"nodes": [{"counts": [3, 3]}]}] * 100}))
    domain = {"attributes": [{"name": f"a{i}", "values": [0, 1]} for i in range(3000)]}
    release = encoded({"recon": 1, "domain": {**domain, "label": {"name": "y", "values": [0, 1]}}, "models": [forest]})
    monkeypatch.setattr(Nodes, "__getitem__", refuse)
    monkeypatch.setattr("solvers.engines.chain.ask", refuse)
    assert "forest of 100 trees, 6 rows, 3,000 attributes" in read(release)[2]
    assert "the first 20 of 3,000 lines" in read(release.domain)[0]


def test_the_first_rows_are_those_of_the_table():
    values = np.array([[0, 1, 0], [1, 0, 1], [1, 1, 1]])
    world = replace(THINGS["World"], inner=SolverWorld(values, np.array([2, 0, 3])))
    frame = world.to_frame()
    assert world._head() == [tuple(line) for line in frame.to_numpy().tolist()]
    nobody = replace(world, inner=SolverWorld(values[:0], np.zeros(0, dtype=np.int64)))
    assert "0 rows" in read(nobody)[2]
    gaps = encoded({
        "recon": 1, "rows": 3,
        "domain": {"attributes": [{"name": "x", "min": 0, "max": 8, "resolution": None}],
                   "label": {"name": "y", "values": [0, 1]}},
        "models": [{"kind": "tree", "nodes": [{"if": {"x": {"at_most": 4}}, "then": 1, "else": 2},
                                              {"counts": [2, 0]}, {"counts": [0, 1]}]}],
    })  # fmt: skip
    continuous = recon.World(gaps.domain, SolverWorld(np.array([[0, 0], [5, 1]]), np.array([2, 1])), gaps.cut)
    assert continuous._head() == [tuple(line) for line in continuous.to_frame().to_numpy().tolist()]
    read(continuous)
    read(gaps)
    read(recon.measure(gaps))


def test_other_answers_have_a_short_line_too():
    noisy = encoded(NOISY)
    result = recon.certify(RELEASE, pd.DataFrame({"a": [1]}))["certificate"].dropna().tolist()
    answers = [
        recon.plan(RELEASE), recon.posterior(noisy), recon.sampled(noisy, draws=8), recon.denoise(noisy),
        recon.verify(result, RELEASE), noisy, recon.measure(noisy), recon.audit(noisy), noisy.domain,
        recon.attack_correlation(RELEASE_OF_TWO, ROWS),
    ]  # fmt: skip
    for one in answers:
        read(one)
    assert "noisy counts" in repr(noisy)
    assert "verified 1" in repr(answers[4]).replace("1 verified", "verified 1")


ROWS = pd.DataFrame({"a": [1, 1, 0, 0, 0, 0], "b": [0, 1, 0, 1, 0, 1], "y": [1, 1, 0, 0, 0, 1]})
RELEASE_OF_TWO = encoded({
    "recon": 1,
    "domain": {"attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "values": [0, 1]}],
               "label": {"name": "y", "values": [0, 1]}},
    "models": [{"kind": "tree", "nodes": [{"if": {"a": 1}, "then": 1, "else": 2}, {"counts": [0, 2]},
                                          {"if": {"b": 1}, "then": 3, "else": 4}, {"counts": [1, 1]},
                                          {"counts": [2, 0]}]}],
})  # fmt: skip


def test_values_still_compare_and_travel():
    again = pickle.loads(pickle.dumps(RELEASE.domain))
    assert again == RELEASE.domain
    assert repr(again) == repr(RELEASE.domain)
    assert pickle.loads(pickle.dumps(BoundAnswer("exact", min=1, max=2))) == BoundAnswer("exact", min=1, max=2)


def test_the_page_on_notebooks_shows_real_output(monkeypatch):
    extra("sklearn")
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    blocks, names = re.findall(r"```python\n(.*?)```", page, re.DOTALL), {}
    for number, block in enumerate(blocks):
        runner = doctest.DocTestRunner()
        example = doctest.DocTestParser().get_doctest(block, names, f"block {number}", None, 0)
        assert runner.run(example, clear_globs=False).failed == 0
        names = example.globs
    assert len(blocks) == 3
