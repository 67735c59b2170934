"""Experiments as data: groups, layers and sentences of small declarations by hand; the keys of all declarations."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
import pytest

import recon.experiments
from recon.experiments.experiment import NAMES, Declaration, experiment, named_lines, where

PAPERS = Path(recon.experiments.__file__).parent / "papers"
LAYER = {"frame", "where", "sort", "x", "y", "label", "like", "band", "hollow", "style", "over", "level", "each"}
PANEL = {"title", "x", "y", "x_scale", "y_scale", "unit", "names", "layers", "by"}
FRAME = {"of", "like", "with", "where", "once", "last", "by", "sorted", "values", "columns", "texts", "per", "join",
         "named", "sort", "keep", "spread", "types"}  # fmt: skip
FIGURE = {"about", "points", "frame", "where", "sort", "facet", "panels", "like", "what", *PANEL}


def declared(text):
    """Return what is declared of an experiment that is not there."""
    return Declaration("small", '[experiment]\nabout = "a"\nsource = "b"\n' + text)


def test_published_columns_are_numbers_where_all_their_texts_are():
    text = "[published]\none = '''\nname, n, share, none, mixed\n, 1, 0.1, , 1\nb, 2, , , x\n'''"
    found = declared(text).published("one")
    assert found["name"].tolist() == ["", "b"]
    assert found["n"].tolist() == [1, 2]
    assert found["n"].dtype.kind == "i"
    assert found["share"].iloc[0] == 0.1
    assert np.isnan(found["share"].iloc[1])
    assert found["none"].tolist() == ["", ""]
    assert found["mixed"].tolist() == ["1", "x"]


def test_groups_keep_missing_keys_their_order_and_columns_that_are_not_there():
    text = '[frames.m]\nby = ["k"]\nvalues = """\nn: v size\nv w: mean\nwide: v spread\n"""'
    frame = pd.DataFrame({"k": ["b", None, "b", "a"], "v": [1.0, 2.0, 3.0, 4.0]})
    of = Declaration("small", text, spread=lambda values: values.max() - values.min())
    found = of.frame("m", frame)
    assert list(found) == ["k", "n", "v", "w", "wide"]
    assert found["k"].isna().tolist() == [False, True, False]
    assert found["v"].tolist() == [2.0, 2.0, 4.0]
    assert found["w"].isna().all()
    assert found["wide"].tolist() == [2.0, 0.0, 0.0]


FRAMES = """
[values]
NAMES = { b = "B", a = "A" }
ORDER = [2, 1]
[published]
theirs = '''
k, theirs
a, 7
b, 8
c, 9
'''
[frames.some]
of = "all"
with = "lacking"
where = "v > 0"
columns = { twice = "v * 2", again = "twice + 1" }
per = { most = "k: v max" }
texts = { text = "k ~ NAMES[k] ~ ORDER[0]" }
named = ["k NAMES title"]
join = { frame = "published.theirs", on = "k" }
[frames.first]
of = "some"
once = "k"
sort = "-v"
keep = "k v=value lacking"
[frames.latest]
of = "all"
last = "k"
[frames.groups]
of = "some"
by = ["k"]
values = "v: sum"
named = ["v ORDER"]
[frames.both]
of = "published.theirs"
join = { frame = "groups", on = "k", how = "inner" }
[frames.none]
of = "nothing"
join = { frame = "groups", on = "k", how = "inner" }
[tables.some]
about = "a"
[tables.first]
about = "a"
[tables.latest]
about = "a"
[tables.both]
about = "a"
[tables.none]
about = "a"
"""


def test_frames_follow_from_others_step_by_step():
    frame = pd.DataFrame({"k": ["a", "b", "a", "c", "b"], "v": [1, 2, 1, 0, -5]})
    of = declared(FRAMES).experiment(None)
    found = {table.name: table.frame for table in of.findings(frame).tables}
    assert set(found) == {"some", "first", "latest", "both"}
    some = found["some"]
    assert some["k"].tolist() == ["b", "a", "a"]
    assert some["again"].tolist() == [5, 3, 3]
    assert some["most"].tolist() == [2, 1, 1]
    assert some["text"].tolist() == ["bB2", "aA2", "aA2"]
    assert some["title"].tolist() == ["B", "A", "A"]
    assert some["theirs"].tolist() == [8, 7, 7]
    assert some["lacking"].isna().all()
    assert found["first"].to_dict("list") == {
        "k": ["b", "a"],
        "value": [2, 1],
        "lacking": [pytest.approx(np.nan, nan_ok=True)] * 2,
    }
    assert found["latest"]["v"].tolist() == [1, 0, -5]
    assert found["both"].to_dict("list") == {"k": ["a", "b"], "theirs": [7, 8], "v": [2, 2]}


def test_frames_of_nothing_have_no_lines():
    assert declared(FRAMES).experiment(None).findings(pd.DataFrame({"k": [], "v": []})).tables == []
    assert list(declared(FRAMES).frame("groups", pd.DataFrame())) == ["k", "v"]


POINTS = """
[values]
SOME = [{ a = 1, _hidden = 7 }, { a = "=[2, 3]", only = "=a" }]
[points.one]
dataset = ["d", "e"]
case = "=SOME[:1] if quick else SOME"
b = [nan, 0.5]
none = "='there' if a == 3"
cost = "=2.0 * a"
quick = { dataset = "d" }
[points.two]
like = "one"
case = [{ a = 4 }]
b = true
runs = 5
chunk = 3
quick = false
[points.three]
c = "x"
full = false
"""


def test_points_are_combinations_in_order_and_sizes_differ_where_they_say_so():
    of = declared(POINTS)
    full = [(one.dataset, dict(one.parameters), one.cost) for one in of.points("full")]
    first = [{"a": 1, "b": None}, {"a": 1, "b": 0.5}]
    for a in (2, 3):
        more = {"none": "there"} if a == 3 else {}
        first += [{"a": a, "only": a, "b": b, **more} for b in (None, 0.5)]
    chunks = [{"a": 4, "b": True, "first_seed": 0, "seeds": 3}, {"a": 4, "b": True, "first_seed": 3, "seeds": 2}]
    assert full == [(d, one, 2.0 * one["a"]) for d in "de" for one in first] + [
        (d, one, 8.0 * one["seeds"]) for d in "de" for one in chunks
    ]
    quick = [(one.dataset, dict(one.parameters), one.cost) for one in of.points("quick")]
    assert quick == [("d", {"a": 1, "b": None}, 2.0), ("d", {"a": 1, "b": 0.5}, 2.0), ("", {"c": "x"}, 1.0)]


FIGURES = """
[values]
MOST = 3
[figures.one]
about = "about {MOST}"
facet = ["d"]
title = "{name}"
x = "x"
y = "y of {name}"
where = "x <= @MOST"
layers = [
    { x = "x", y = "y", label = "{l}", band = ["low", "high"], hollow = "open" },
    { frame = "theirs", x = "x", y = "y", label = "theirs, {l}", style = "points", like = "{l}" },
    { over = "x", level = "y mean", label = "mean" },
    { over = ["x", "y"], label = "same" },
]
[figures.two]
like = "one"
about = "other"
layers = [{ over = "x", each = true, level = "none", label = "never" }, { x = "x", y = "none", label = "empty" }]
[figures.three]
like = "one"
[[figures.three.panels]]
x = "a"
y = "b"
by = ["l"]
layers = [{ x = "x", y = "y", label = "{l}" }, { x = "x", y = "y", label = "{l} again" }]
"""


@pytest.fixture
def frame():
    """Return lines of two facets; the last one is left out, and one facet has no ends of intervals."""
    lines = [("a", "A", "p", 1, 1.0, 0.5, 1.5, True), ("b", "B", "p", 2, 5.0, None, None, False),
             ("a", "A", "q", 3, 2.0, 1.0, 3.0, False), ("a", "A", "p", 2, 4.0, 3.0, 5.0, False),
             ("a", "A", "p", 9, 9.0, 9.0, 9.0, False)]  # fmt: skip
    return pd.DataFrame(lines, columns=["d", "name", "l", "x", "y", "low", "high", "open"]).assign(none=np.nan)


def test_layers_are_lines_per_label_in_the_panel_of_their_facet(frame):
    theirs = pd.DataFrame({"d": ["b", "a"], "l": ["p", "q"], "x": [1, 2], "y": [3.0, 4.0]})
    found = {one.name: one for one in declared(FIGURES).shown({"one": frame, "theirs": theirs}).figures}
    assert found["one"].about == "about 3"
    first, second = found["one"].panels
    assert (first.title, first.x, first.y, second.title) == ("A", "x", "y of A", "B")
    assert [line.label for line in first.lines] == ["p", "q", "theirs, q", "mean", "same"]
    p, q, other, mean, same = first.lines
    assert (p.x, p.y, p.low, p.high, p.hollow) == ([1, 2], [1.0, 4.0], [0.5, 3.0], [1.5, 5.0], [True, False])
    assert (q.x, q.style, other.like, other.style) == ([3], "line", "q", "points")
    assert (mean.x, mean.style) == ([1.0, 3.0], "dashed")
    assert mean.y == pytest.approx([7 / 3] * 2)
    assert same.x == same.y == [1.0, 4.0]
    assert second.lines[0].low is None


def test_lines_without_values_and_panels_without_lines_are_not_drawn(frame):
    found = declared(FIGURES).shown({"one": frame, "two": frame})
    assert [figure.name for figure in found.figures] == ["one"]
    assert declared(FIGURES).shown({}).figures == []


def test_lines_of_one_group_stand_together(frame):
    (figure,) = (one for one in declared(FIGURES).shown({"three": frame}).figures if one.name == "three")
    assert [line.label for line in figure.panels[0].lines] == ["p", "p again", "q", "q again"]


def test_sentences_are_one_line_each_and_name_only_what_is_there(frame):
    text = """sentences = '''
{% for (d,), part in grouped(one, 'd') %}
- In {{ d }} {% if len(part) > 1 %}( {{ part|each('{x}', ', ') }} ){% endif %}
  : {{ part.y.max()|f('.2f') }} at most ,
  .5 {{ (part|at(l='q') or {'y': 'no q'}).y }} .
{% endfor %}
'''
"""
    said = Declaration("small", text).shown({"one": frame}).sentences
    assert said == ["In a (1, 3, 2, 9): 9.00 at most, .5 2.0.", "In b: 5.00 at most, .5 no q."]
    with pytest.raises(jinja2.UndefinedError):
        Declaration("small", "sentences = '- {{ nothing }}'").shown({})


def test_missing_values_are_chosen_by_none_and_names_order_lines():
    frame = pd.DataFrame({"k": ["b", "a", "c"], "e": [1.0, np.nan, 2.0]})
    assert where(frame, e=None)["k"].tolist() == where(frame, e=np.nan)["k"].tolist() == ["a"]
    assert where(frame, k=("a", "c"), e=2.0)["k"].tolist() == ["c"]
    assert where(pd.DataFrame(), k="a").empty
    assert named_lines(frame, {"c": "C", "b": "B"}, "k")["title"].tolist() == ["C", "B"]
    assert "title" in named_lines(pd.DataFrame(), {"c": "C"})


@pytest.mark.parametrize("name", NAMES)
def test_only_keys_that_the_engine_knows_are_declared(name):
    """A key that is misspelt would be left out in silence."""
    parts = tomllib.loads((PAPERS / f"{name}.toml").read_text(encoding="utf-8"))
    assert set(parts) <= {"sentences", "experiment", "values", "points", "published", "frames", "tables", "figures"}
    assert set(parts["experiment"]) <= {"about", "source", "version", "needs", "by", "frames"}
    for spec in parts.get("frames", {}).values():
        assert set(spec) <= FRAME
        assert ("by" in spec) == ("values" in spec) or "like" in spec
        assert set(spec.get("join", {})) <= {"frame", "on", "how"}
    for spec in parts.get("tables", {}).values():
        assert {"about"} <= set(spec) <= {"about", "frame", "always", "where", "sort", "columns", "names"}
    for spec in parts["figures"].values():
        assert set(spec) <= FIGURE
        assert spec.get("like", "") in {"", *parts["figures"]}
        for plot in spec.get("panels", [spec]):
            assert set(plot) <= (PANEL if plot is not spec else FIGURE)
            for layer in plot.get("layers", []):
                assert {"label"} < set(layer) <= LAYER
                assert "over" in layer or {"x", "y"} < set(layer)
    assert set(experiment(name).figures) == {
        one for one, spec in parts["figures"].items() if "points" in spec or "like" in spec
    }


def test_every_declaration_is_of_an_experiment():
    assert {path.stem for path in PAPERS.iterdir()} == set(NAMES)
