"""Experiments: points stored one by one, gone on with, drawn from what is there."""

from __future__ import annotations

import json
import re
import resource
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow.parquet
import pytest
from experiment_cases import EXPERIMENT
from typer.testing import CliRunner

from recon.cli.app import app
from recon.cli.studies.reproduce import _where
from recon.experiments import experiment as experiments
from recon.experiments import running
from recon.experiments.drawing import (
    GREYS,
    MARKERS,
    Heat,
    Panel,
    PanelFigure,
    PlotLine,
    Ranks,
    _canvas,
    _looks,
    _rendering,
    svg,
)
from recon.experiments.experiment import Declaration, Point
from recon.experiments.running import SOURCES, Store, TravellingPoint, _point_results, load, reproduce
from solvers.foundation.errors import EngineError, ReleaseError, TooLarge
from solvers.foundation.limits import Limits

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Make the tiny experiment known, and return what it was called for so far."""
    monkeypatch.setitem(experiments.NAMES, "squares", "experiment_cases")
    path = tmp_path / "calls"
    monkeypatch.setenv("RECON_TEST_CALLS", str(path))
    return lambda: sorted(int(line) for line in path.read_text().split()) if path.exists() else []


@pytest.mark.slow
def test_all_points_are_run_once_and_drawn(calls, tmp_path):
    out = tmp_path / "out"
    outcome = reproduce("squares", str(out))
    assert outcome.complete
    assert outcome.now == 10
    assert calls() == list(range(10))
    table = pd.read_csv(out / "squares.csv")
    assert dict(zip(table["x"], table["square"], strict=True)) == {x: x * x for x in range(10)}
    assert "<svg" in (out / "squares.svg").read_text()
    assert "| 9 | 81 |" in (out / "squares.md").read_text()
    assert "the largest square is 81" in (out / "README.md").read_text()
    again = reproduce("squares", str(out))
    assert again.complete
    assert (again.before, again.now) == (10, 0)
    assert calls() == list(range(10))


@pytest.mark.slow
def test_figures_are_the_same_bytes_each_time(calls, tmp_path):
    for name in ("a", "b"):
        reproduce("squares", str(tmp_path / name))
    for file in ("squares.svg", "squares.csv", "squares.md"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_stopped_run_goes_on_where_it_was(calls, tmp_path):
    limits, seen = Limits(), []

    def stop_after_four(text):
        seen.append(text)
        if len(seen) == 5:  # the fifth is begun
            limits.stop.set()

    object.__setattr__(limits, "progress", stop_after_four)
    first = reproduce("squares", str(tmp_path / "out"), limits=limits)
    assert first.now == 4
    assert first.left == 6
    assert not first.complete
    assert "the largest square is 81" in first.findings.sentences  # dear points come first
    second = reproduce("squares", str(tmp_path / "out"))
    assert second.complete
    assert (second.before, second.now) == (4, 6)
    assert set(calls()) == set(range(10))
    assert len(calls()) == 11  # what was under way is done again


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_under_way_when_time_was_up_is_left(calls, tmp_path, monkeypatch, workers):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("RECON_TEST_LASTS", "5")
    first = reproduce("squares", str(tmp_path / "out"), limits=Limits(6.0, workers=workers))
    assert first.left >= 1
    assert not first.failed
    assert 5 not in list(first.results.get("x", []))
    monkeypatch.delenv("RECON_TEST_LASTS")
    second = reproduce("squares", str(tmp_path / "out"))
    assert second.complete
    assert second.before == first.now
    assert second.results["square"].tolist() == [x * x for x in range(10)]


def test_a_point_has_its_caps_whatever_the_command_has_left():
    limits = []
    case = Declaration("squares", "[experiment]").experiment(
        lambda point, frame, given: limits.append(given) or [{"square": 1}]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recon.experiments.running.of_module", lambda name: case)
        command = Limits(60.0)
        assert _point_results(TravellingPoint("squares", Point("", {"x": 1}), None), command) is not None
        assert limits[0].left() == float("inf")
        assert not limits[0].expired()
        command.stop.set()
        assert limits[0].expired()
        assert _point_results(TravellingPoint("squares", Point("", {"x": 1}), None), command) is None


def test_a_folder_that_cannot_be_is_refused_before_anything_is_run(calls, tmp_path):
    (tmp_path / "file").write_text("")
    for out in ("file", "file/below"):
        with pytest.raises(ReleaseError, match="cannot be written: Not a directory"):
            reproduce("squares", str(tmp_path / out))
    assert calls() == []


@pytest.mark.slow
def test_a_failing_point_is_named_and_the_others_go_on(calls, tmp_path, monkeypatch):
    monkeypatch.setenv("RECON_TEST_FAILS", "7")
    outcome = reproduce("squares", str(tmp_path / "out"))
    assert outcome.now == 9
    assert not outcome.complete
    assert outcome.failed == (("x 7", "ReleaseError: this point was told to fail"),)
    monkeypatch.delenv("RECON_TEST_FAILS")
    assert reproduce("squares", str(tmp_path / "out")).complete


@pytest.mark.slow
def test_every_run_carries_its_manifest(calls, tmp_path):
    reproduce("squares", str(tmp_path / "out"), "quick")
    point = EXPERIMENT.points("quick")[2]
    stored = Store(tmp_path / "out", EXPERIMENT)
    manifest = json.loads(pyarrow.parquet.read_table(stored.path(point)).schema.metadata[b"recon"])
    assert manifest["parameters"] == {"x": 2}
    assert manifest["experiment"] == "squares"
    assert {"numpy", "python", "recon-worlds"} <= set(manifest["versions"])
    assert manifest["seconds"] >= 0
    assert stored.read([(point, "")])[0].rows == [{"square": 4, "nothing": None, "half": 1.0}]


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("spoil", ["half", "other data", "nothing"])
def test_what_is_broken_or_of_other_data_is_run_anew(calls, tmp_path, spoil):
    reproduce("squares", str(tmp_path / "out"), "quick")
    stored = Store(tmp_path / "out", EXPERIMENT)
    point = EXPERIMENT.points("quick")[1]
    content = stored.path(point).read_bytes()
    if spoil == "other data":
        run = stored.read([(point, "")])[0]
        run.manifest["data_sha256"] = "another"
        stored.write(point, run)
    else:
        stored.path(point).write_bytes(content[: len(content) // 2] if spoil == "half" else b"")
    assert reproduce("squares", str(tmp_path / "out"), "quick").now == 1
    assert calls() == [0, 1, 1, 2]


@pytest.mark.slow
def test_stored_results_are_read_within_the_memory(calls, tmp_path):
    """Millions of rows in a few KB: this process does not unpack them, and the file stays."""
    reproduce("squares", str(tmp_path / "out"), "quick")
    stored, point = Store(tmp_path / "out", EXPERIMENT), EXPERIMENT.points("quick")[1]
    metadata = pyarrow.parquet.read_table(stored.path(point)).schema.metadata
    zeros = pyarrow.array([0], pyarrow.int64()).take(pyarrow.repeat(0, 10_000_000).cast("int32"))
    nulls = pyarrow.nulls(1_000_000)
    for column in (zeros, nulls):
        table = pyarrow.table({"square": column}).replace_schema_metadata(metadata)
        pyarrow.parquet.write_table(table, stored.path(point), row_group_size=len(column))
        content = stored.path(point).read_bytes()
        assert len(content) < 200_000
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(TooLarge, match=r"raise --memory"):
            reproduce("squares", str(tmp_path / "out"), "quick", limits=Limits(memory=128 << 20))
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
        assert stored.path(point).read_bytes() == content
    assert calls() == [0, 1, 2]


@pytest.mark.slow
def test_one_file_that_ends_its_reader_loses_no_other(calls, tmp_path, monkeypatch):
    reproduce("squares", str(tmp_path / "out"), "quick")
    stored, points = Store(tmp_path / "out", EXPERIMENT), EXPERIMENT.points("quick")
    bad = str(stored.path(points[1]))

    def ends(function, asked, limits):
        if any(path == bad for _, path in asked["files"]):
            raise EngineError("ended by signal SIGSEGV")
        return running.is_plain(asked)

    monkeypatch.setattr(running, "run_alone", ends)
    found = stored.read([(point, "") for point in points])
    assert [one is None for one in found] == [False, True, False]


@pytest.mark.slow
def test_processes_give_the_same_results(calls, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    one = reproduce("squares", str(tmp_path / "one"))
    two = reproduce("squares", str(tmp_path / "two"), limits=Limits(workers=2))
    pd.testing.assert_frame_equal(one.results, two.results)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_published_data_are_found_by_name(data, name):
    frame, digest = load(name, str(Path(data(SOURCES[name].file)).parent))
    assert frame.shape == (SOURCES[name].rows, SOURCES[name].columns)
    assert digest == SOURCES[name].sha256
    assert set(frame.iloc[:, -1].unique()) == {0, 1}


def test_other_data_under_the_name_are_refused(tmp_path):
    (tmp_path / "compas14.csv").write_text("a,y\n1,0\n")
    with pytest.raises(ReleaseError, match=r"compas14\.csv: is not the published file"):
        load("compas14", str(tmp_path))
    with pytest.raises(ReleaseError, match="give their folder: --data"):
        load("adult19", str(tmp_path))


def test_a_worker_without_the_data_fails_its_points_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RECON_DATA", raising=False)
    work = TravellingPoint("recon.experiments.ferry2024", Point("compas27", {}), str(tmp_path))
    assert str(_point_results(work, Limits())).startswith("ReleaseError: ")


@pytest.mark.slow
def test_what_is_there_is_drawn_where_processes_die_again_and_again(calls, tmp_path, monkeypatch):
    monkeypatch.setenv("RECON_TEST_DIES", "9")  # the first that is handed out
    with pytest.raises(EngineError, match="processes that worked on one of the points of squares died"):
        reproduce("squares", str(tmp_path / "out"), limits=Limits(workers=2))
    stored = calls()
    assert stored
    assert f"{len(stored)} of 10 points are stored" in (tmp_path / "out" / "README.md").read_text()
    monkeypatch.delenv("RECON_TEST_DIES")
    assert reproduce("squares", str(tmp_path / "out"), limits=Limits(workers=2)).complete
    assert calls() == list(range(10))


def test_a_quantity_looks_the_same_in_all_figures_and_others_look_otherwise():
    names = [f"q{k}" for k in range(30)]
    one = PanelFigure("one", "", [Panel("a", "x", "y", [PlotLine(name, [0, 1], [0, 1]) for name in names[:20]])])
    other = PanelFigure(
        "other", "", [Panel("b", "x", "y", [PlotLine(name, [0, 1], [0, 1]) for name in ("GreedyRL", *names[10:])])]
    )
    known = _looks([one, other])
    assert len(set(known.values())) == len(known) == 31
    assert (
        known["GreedyRL"]
        == _looks([PanelFigure("f", "", [Panel("", "", "", [PlotLine("greedy rule list", [0], [0])])])])[
            "greedy rule list"
        ]
    )
    with _rendering(other):
        lines = _canvas(other, [one, other]).axes[0].lines
    for drawn, name in zip(lines, ("GreedyRL", *names[10:]), strict=True):
        assert (drawn.get_color(), drawn.get_marker()) == known[name]


def test_references_are_grey_and_unmarked_and_steps_end_at_one():
    lines = [PlotLine("a", [1, 2, 4], [0.2, 0.5, 1.0]), PlotLine("chance", [1, 4], [0.5, 0.5], style="dashed"),
             PlotLine("a, on other rows", [1, 4], [0.1, 0.2], style="dashed", like="a"),
             PlotLine("a, published", [1, 4], [0.1, 0.2], style="points", like="a")]  # fmt: skip
    figure = PanelFigure("f", "", [Panel("p", "x", "share", lines, unit=True)])
    with _rendering(figure):
        place = _canvas(figure).axes[0]
    own, chance, others, theirs = place.lines
    assert own.get_marker() in MARKERS
    assert {chance.get_marker(), others.get_marker()} <= {"", "None"}
    assert chance.get_color() in GREYS
    assert theirs.get_marker() == "x"
    assert own.get_color() == others.get_color() == theirs.get_color()
    low, high = place.get_ylim()
    assert low <= 0
    assert high >= 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("scale", "values"), [
    ("log", [0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 100.0]), ("log", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1000]),
    ("log", [0.001 * 1.2**k for k in range(38)]), ("linear", [k * 0.0051 - 0.083 for k in range(40)]),
    ("linear", [40, 80, 120]), ("linear", [0.4988, 0.5002, 0.5171]), ("linear", list(range(1, 11))),
])  # fmt: skip
def test_names_of_values_do_not_overlap(scale, values):
    line = PlotLine("a", values, [float(v) for v in values])
    figure = PanelFigure("f", "", [Panel("p", "x", "y", [line], x_scale=scale)] * 2)
    with _rendering(figure):
        drawn = _canvas(figure)
        drawn.draw_without_rendering()
        marks = [label for label in drawn.axes[0].get_xticklabels() if label.get_text()]
        ends = drawn.axes[0].get_window_extent()
        boxes = [
            box for box in (label.get_window_extent() for label in marks) if ends.x0 <= box.x1 and box.x0 <= ends.x1
        ]
    assert len(boxes) >= 3
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
    if values in ([40, 80, 120], list(range(1, 11))):
        assert [label.get_text() for label in marks] == list(map(str, values))


def test_quantities_of_one_figure_have_colours_of_their_own():
    def of(names):
        return [Panel("p", "x", "y", [PlotLine(name, [0, 1], [0, 1]) for name in names])]

    many = PanelFigure("many", "", of([f"q{k}" for k in range(12)]))
    few = PanelFigure("few", "", of(["greedy tree", "q2", *"abcdef"]))
    known = _looks([many, few])
    assert len({known[line.label][0] for line in few.panels[0].lines}) == 8


@pytest.mark.slow
def test_maps_and_critical_differences_are_drawn():
    heat = Heat([-0.5, 0.5], [-0.5, 0.5], [[0.4, None], [1.0, 0.5]])
    pairs = [[1.0, 0.9, 0.01], [0.9, 1.0, 0.03], [0.01, 0.03, 1.0]]
    ranks = Ranks(["RF", "DT", "NN"], [1.2, 1.6, 3.0], pairs, 0.8)
    text = svg(PanelFigure("f", "", [Panel("map", "x", "y", heat=heat), Panel("ranks", "", "", ranks=ranks)]))
    for name in ("RF", "DT", "NN", "critical difference 0.8"):
        assert name in text
    assert _looks([PanelFigure("f", "", [Panel("ranks", "", "", ranks=ranks)])])["DT"][0] in text  # as in all figures


def test_bars_of_a_critical_difference_diagram_are_the_same_in_every_process():
    names = [f"model {k}" for k in range(7)]
    figure = PanelFigure("f", "", [Panel("r", "", "", ranks=Ranks(names, range(1, 8), [[1.0] * 7] * 7, 9.0))])
    with _rendering(figure):
        bars = [list(line.get_xdata()) for line in _canvas(figure).axes[0].lines if len(line.get_xdata()) == 7]
    assert bars == [list(range(1, 8))]


@pytest.mark.slow
def test_every_experiment_names_its_figures_and_the_points_they_are_drawn_of():
    for name in experiments.NAMES:
        of = experiments.experiment(name)
        every = of.points("full")
        for figure in of.figures:
            assert of.selected(every, [figure], [], ""), (name, figure)
    commands = re.findall(r"recon reproduce (\w+) --figure ([\w-]+)", (DOCS / "errata.md").read_text(encoding="utf-8"))
    assert commands
    for name, figure in commands:
        assert experiments.experiment(name).figure_names([figure])


def test_parts_of_an_experiment_are_chosen_on_the_command_line(tmp_path):
    every = experiments.experiment("ferry2024").points("full")
    assert _where(["compas", str(tmp_path)], every) == (str(tmp_path), ["compas27"])
    assert _where(["nowhere"], every) == ("nowhere", [])
    assert _where([], every) == (None, [])
    for arguments, said in ((["--figure", "9"], "no figure '9': choose one of figure-2a"),
                            (["--only", "nothing"], "no point of ferry2024 is left")):  # fmt: skip
        found = CliRunner().invoke(app, ["reproduce", "ferry2024", *arguments])
        assert found.exit_code == 2
        assert said in " ".join(found.output.replace("│", " ").split())
