"""What reports say: bounds that follow from each other, values and classes given away, sentences without engines."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path

import oracle
import pandas as pd
import pytest
from extras import batches, encoded, run
from test_coupled import releases, total

import recon
from recon.queries.answers.counting import no_reconstruction, plain_reasons
from recon.queries.bounds.disclosure import disclosed_values
from recon.queries.bounds.placed import BoundAnswer
from recon.queries.measures.measures import _mutual_bounds
from recon.report.wording.group_report import bound_line
from recon.report.wording.headline import worlds_lines
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer
from solvers.statements.release import Partition

SAID = "What the counts say without any reconstruction"
ENGINES = ("closed_form", "histogram", "cpsat", "interval", "likeliest", "columns:", "ganak", "Booleans", "blocks of")


def sections(release, **options):
    return dict(recon.audit(release, **options).sections())


def only(figure):
    """Return a figure of one number of rows."""
    return next(iter(figure.values())) if isinstance(figure, dict) and len(figure) == 1 else figure


# ---------------------------------------------------------------- bounds that follow from each other


@pytest.mark.sampled(1)
@pytest.mark.parametrize("limits", [Limits(seconds=0.0), Limits(cells=1, seconds=0.0)], ids=["time", "cells"])
def test_bounds_hold_the_brute_force_figures(limits):
    seen = removed = 0
    for _, release, _ in releases(f"reports {limits.cells}", 0, 60):
        try:
            found = recon.measure(encoded(release), "ordered", limits)
        except (Inconclusive, Unsupported):
            continue
        if found.status != "bounds" or found.datasets is None:
            continue
        seen += 1
        for answer, convention in ((found.counted, "ordered"), (found.datasets, "multiset")):
            worlds = math.log2(total(oracle.count(release, convention)))
            assert answer.bounds[0] - 1e-9 <= worlds <= answer.bounds[1] + 1e-9, release
        if found.removed_bounds is not None:
            removed += 1
            before, left = (only(f(release, "ordered")) for f in (oracle.uninformed_bits, oracle.entropy_bits))
            low, high = found.removed_bounds
            assert low - 1e-9 <= (before - left) / found.rows <= high + 1e-9
            assert found.dist_g_bounds[0] - 1e-9 <= left / before <= found.dist_g_bounds[1] + 1e-9
    assert min(seen, removed) > 10


def test_worlds_with_and_without_an_order_bound_each_other():
    ordered = CountAnswer("bounds", convention="ordered", bounds=(20.0, 50.0))
    unknown = CountAnswer("bounds", convention="multiset", bounds=(-math.inf, 40.0))
    first, second = _mutual_bounds(ordered, unknown, 4)
    assert first.bounds[0] == 20.0
    assert first.bounds[1] == pytest.approx(40 + math.log2(24))
    assert second.bounds == (pytest.approx(20 - math.log2(24)), 40.0)
    few = CountAnswer("bounds", convention="ordered", bounds=(1.0, 50.0))
    assert _mutual_bounds(few, unknown, 4)[1].bounds[0] == 0.0  # a world is one dataset at least
    none = CountAnswer("bounds", convention="ordered", bounds=(-math.inf, 50.0))
    assert _mutual_bounds(none, unknown, 4)[1].bounds[0] == -math.inf
    some = CountAnswer("bounds", convention="multiset", bounds=(3.0, 40.0))
    assert _mutual_bounds(none, some, 4)[0].bounds == (3.0, pytest.approx(40 + math.log2(24)))


@pytest.mark.parametrize("seed", range(2))
def test_one_tree_alone_bounds_all_of_them_when_the_time_is_up(seed):
    """Two trees of which one alone removes a known number of bits; n rows of S = 2 * 2 * 2 values."""
    count = 3 + seed
    trees = [
        {"nodes": [{"if": {"a": 0}, "then": 1, "else": 2}, {"counts": [count, 0]}, {"counts": [0, 1]}]},
        {"nodes": [{"if": {"b": 0}, "then": 1, "else": 2}, {"counts": [count, 0]}, {"counts": [0, 1]}]},
    ]
    attributes = [{"name": k, "values": [0, 1]} for k in "ab"]
    domain = {"attributes": attributes, "label": {"name": "y", "values": ["no", "yes"]}}
    got = encoded({"recon": 1, "domain": domain, "models": [{"kind": "forest", "trees": trees}]})
    found = recon.measure(got, "ordered", Limits(seconds=0.0, cells=1))
    n = count + 1
    alone = math.log2(n) + n  # orders of `count` equal rows and one other, times 2 for the other attribute
    assert found.counted.bounds[1] == pytest.approx(alone)
    assert found.removed_bounds[0] == pytest.approx((3 * n - alone) / n)
    lines = worlds_lines(found)
    assert any(
        line.startswith(f"bits removed per row: at least {int(1e4 * (3 * n - alone) / n) / 1e4:.4f}") for line in lines
    )
    assert any(line.startswith("why bounds only: ") for line in lines)
    assert not any(name in line for line in lines for name in ENGINES)


# ---------------------------------------------------------------- values that figures give away


def group_release(rng):
    """Return a table about one group (rows with a = 0): how many, and the mean or total of y; and the true numbers."""
    values = sorted(rng.sample(range(-3, 6), rng.choice([2, 3, 4])))
    held = [rng.choice(values) for _ in range(rng.choice([1, 1, 2, 3]))]
    where, kind = {"a": 0}, rng.choice(["mean", "total", "median"])
    figure = {"mean": sum(held) / len(held), "total": sum(held), "median": sorted(held)[len(held) // 2]}[kind]
    if kind == "median" and len(held) % 2 == 0:
        kind, figure = "total", sum(held)
    said = {kind: {"of": "y", "value": figure, "within": rng.choice([0.001, 0.001, 1])}}
    domain = {"attributes": [{"name": "a", "values": [0, 1]}], "label": {"name": "y", "values": values}}
    statements = [{"where": where, "count": len(held)}, {"where": where, **said}]
    table = {"kind": "table", "statements": statements}
    return {"recon": 1, "domain": domain, "rows": len(held) + rng.choice([0, 1]), "models": [table]}, values


@pytest.mark.parametrize("batch", range(4))
def test_disclosed_values_are_those_of_every_world(batch):
    rng, found = random.Random(f"disclosed {batch}"), Counter()
    for _ in range(60):
        release, values = group_release(rng)
        got = disclosed_values(encoded(release))
        n = release["models"][0]["statements"][0]["count"]
        worlds = [[y for a, y in world if a == 0] for world in oracle.datasets(release)]
        sure = {y for group in worlds for y in group}
        expected = sure.pop() if len(sure) == 1 else None
        found[expected is not None, n > 1] += 1
        for one in got.groups:
            assert (one.value, one.rows, one.of) == (expected, n, "y"), release
        assert got.rows == sum(one.rows for one in got.groups)
        median = "median" in release["models"][0]["statements"][1]
        if n == 1 or (expected in {values[0], values[-1]} and not median):
            assert len(got.groups) == (expected is not None), release
    assert min(found[True, False], found[False, False], found[True, True], found[False, True]) > 1


def regression(counts, totals, **more):
    """Return a tree of sizes on a, and a table of totals of y per leaf."""
    nodes = [{"if": {"a": {"at_most": 0}}, "then": 1, "else": 2}, {"count": counts[0]}, {"count": counts[1]}]
    wheres = [{"a": {"at_most": 0}}, {"a": {"at_least": 1}}]
    statements = [{"where": w, "total": {"of": "y", "value": t}} for w, t in zip(wheres, totals, strict=True)]
    label = {"name": "y", "min": 20, "max": 90}
    domain = {"attributes": [{"name": "a", "min": 0, "max": 3}], "label": label}
    models = [{"kind": "tree", "nodes": nodes}, {"kind": "table", "statements": statements}]
    return {"recon": 1, "domain": domain, "models": models, **more}


@pytest.mark.slow
def test_a_leaf_of_one_row_publishes_its_target_and_no_class():
    report = recon.audit(encoded(regression([1, 2], [55, 40])))
    lines = dict(report.sections())[SAID]
    said = "rows whose value is published exactly (target disclosure): at least 3 of 3: "
    assert f"{said}tree 0, leaf 1 (1 row, y = 55), tree 0, leaf 2 (2 rows, y = 20)" in lines
    assert "groups of one class only (class disclosure): not defined (the target is a number)" in lines
    assert not any("cells with no row" in line for line in lines)
    found = json.loads(report.to_json())["group_disclosure"]
    assert found["target_disclosed"] == {
        "rows": 3,
        "groups": [
            {"name": "tree 0, leaf 1", "of": "y", "rows": 1, "value": 55},
            {"name": "tree 0, leaf 2", "of": "y", "rows": 2, "value": 20},
        ],
        "groups_in_all": 2,
        "rows_alone_in_a_leaf": 0,
    }
    assert (found["rows_in_pure_regions"], found["class_disclosure"]) == (None, "not defined: the target is a number")
    open_ones = sections(encoded(regression([2, 2], [55, 100])))[SAID]
    assert "rows whose value is published exactly (target disclosure): none" in open_ones


def test_overlapping_groups_count_their_rows_once():
    release = regression([1, 2], [55, 60])
    wide = {"where": {"y": {"at_least": 50}}, "count": 1}
    figure = {"where": {"y": {"at_least": 50}}, "mean": {"of": "y", "value": 55}}
    release["models"].append({"kind": "table", "name": "other", "statements": [wide, figure]})
    got = disclosed_values(encoded(release))
    assert [(one.name, one.value) for one in got.groups] == [("tree 0, leaf 1", 55), ("other, statement 1", 55)]
    assert got.rows == 1  # they are the same person


def test_regression_forests_say_who_is_alone_in_a_leaf():
    sklearn = pytest.importorskip("sklearn.ensemble")
    x = pd.DataFrame({"a": range(12)})
    model = sklearn.RandomForestRegressor(3, bootstrap=False, random_state=0).fit(x, [7 * i % 12 for i in range(12)])
    attributes = [{"name": "a", "min": 0, "max": 11}]
    domain = encoded(
        regression([1, 2], [55, 60], domain={"attributes": attributes, "label": {"name": "y", "min": 0, "max": 11}})
    )
    report = recon.audit(recon.encode(model, domain.domain))
    assert json.loads(report.to_json())["group_disclosure"]["target_disclosed"]["rows_alone_in_a_leaf"] == 12
    said = (
        "rows whose value is published exactly (target disclosure): not read; 12 of 12 are alone in a leaf of one tree"
    )
    assert any(line.startswith(said) for line in dict(report.sections())[SAID])


# ---------------------------------------------------------------- classes that groups give away


def forest(*leaves):
    """Return a forest of stumps on a and on b; `leaves` are the class counts of each."""
    trees = [
        {"nodes": [{"if": {name: 0}, "then": 1, "else": 2}, {"counts": one[0]}, {"counts": one[1]}]}
        for name, one in zip("ab", leaves, strict=False)
    ]
    attributes = [{"name": k, "values": [0, 1]} for k in "ab"]
    domain = {"attributes": attributes, "label": {"name": "y", "values": ["no", "yes"]}}
    return {"recon": 1, "domain": domain, "models": [{"kind": "forest", "trees": trees}]}


def test_class_disclosure_counts_every_person_once():
    report = recon.audit(encoded(forest([[3, 0], [0, 2]], [[3, 1], [0, 1]])))
    found = json.loads(report.to_json())["group_disclosure"]
    assert (found["pure_regions_in_all"], found["class_disclosure"]) == (3, "evaluated")
    assert (found["rows_in_pure_regions"], found["rows_in_pure_regions_summed_over_models"]) == (5, 6)
    (line,) = [x for x in dict(report.sections())[SAID] if "class disclosure" in x]
    assert "3 in 2 trees, at least 5 rows in one of them" in line


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(2))
def test_rows_in_pure_regions_are_rows_whose_class_follows_in_every_world(batch):
    for _, release, _ in releases("pure", batch, 25):
        got = encoded(release)
        groups = recon.audit(got, limits=Limits(seconds=600.0)).findings.groups
        if got.domain.label is None or not groups.pure:
            continue
        least = min(len(world) for world in oracle.datasets(release))
        assert 0 < groups.rows_in_pure <= least
        assert groups.rows_in_pure_summed >= groups.rows_in_pure


def test_one_tree_keeps_its_plain_sentence():
    release = forest([[3, 0], [1, 2]])
    release["models"] = [{"kind": "tree", **release["models"][0]["trees"][0]}]
    (line,) = [x for x in sections(encoded(release))[SAID] if "class disclosure" in x]
    assert line == "groups of one class only (class disclosure): 1, 3 rows: leaf 1 (3 rows, all class no)"
    found = json.loads(recon.audit(encoded(release)).to_json())
    assert found["group_disclosure"]["rows_in_pure_regions"] == 3
    assert (found["figures"], found["bits_removed_per_row_bounds"]) == ("exact", None)


# ---------------------------------------------------------------- sentences


def test_json_says_that_figures_are_bounds(tmp_path):
    bags = forest([[3, 0], [1, 2]], [[3, 1], [1, 1]])
    bags["models"][0]["bootstrap"], bags["rows"] = True, 6
    report = recon.audit(encoded(bags), limits=Limits(seconds=0.0, cells=1))
    found = json.loads(report.to_json())
    assert (found["status"], found["figures"]) == ("bounds", "bounds")
    assert found["why_bounds"] == plain_reasons(found["trail"])
    assert found["group_disclosure"]["class_disclosure"] == "not defined: counts of resamples are lower bounds"
    assert "determined_rows" in found
    assert not any(name in report.to_text() for name in ENGINES)


@pytest.mark.parametrize(
    ("found", "of", "line"),
    [
        ((1966, 1966, 1966.0), None, "1,966 rows in every world"),
        ((1, 1, 1.0), None, "1 row in every world"),
        ((0, 2, 0.5), None, "between 0 and 2 rows, 0.5000 expected"),
        ((1.5, 2.5, None), "age", "mean of age: between 1.5000 and 2.5000, expected value not known"),
        ((1.5, 1.5, 1.5), "age", "mean of age: 1.5000 in every world that has one"),
    ],
)
def test_bounds_in_words(found, of, line):
    low, high, mean = found
    answer = BoundAnswer("exact", min=low, max=high, expectation=mean, convention="ordered")
    assert bound_line(answer, of) == f"{line}   [ordered; exact]"


@pytest.mark.slow
def test_a_mean_that_no_time_is_left_for_is_bounded_by_the_domain(tmp_path, capsys):
    release = regression([2, 2], [55, 100])
    exact = recon.bound(encoded(release), {"a": 0}, "y")
    found = recon.bound(encoded(release), {"a": 0}, "y", limits=Limits(seconds=0.0))
    assert found.status == "bounds"
    assert 20 <= found.min <= exact.min <= exact.max <= found.max <= 90
    small = recon.bound(encoded(release), {"y": {"at_least": 30, "at_most": 35}}, "y", limits=Limits(cells=1))
    assert (small.status, small.min, small.max) == ("bounds", 30.0, 35.0)
    both = recon.bound(encoded(release), {}, ("a", "y"), limits=Limits(cells=1))
    assert (both.status, both.min, both.max) == ("bounds", -1.0, 1.0)
    path = tmp_path / "release.json"
    path.write_text(json.dumps(release), encoding="utf-8")
    code, out, _ = run(capsys, "bound", str(path), "--where", "{}", "--of", "y", "--max-cells", "1")
    assert code == 4
    assert out.startswith("mean of y: between 20.0000 and 90.0000, expected value not known   [ordered; bounds]")
    assert "why bounds only: the models cut the possible rows into more than 1 cells" in out


@pytest.mark.slow
@pytest.mark.parametrize("batch", batches(1, 1))
def test_means_out_of_time_stay_outside_the_exact_ones(batch):
    seen = 0
    for _, release, _ in releases("hurried", batch, 30):
        got = encoded(release)
        numeric = [a.name for a in got.domain.all if getattr(a, "numeric", True)]
        if not numeric:
            continue
        exact = recon.bound(got, {}, numeric[0])
        if exact.min is None:
            continue
        for limits in (Limits(seconds=0.0), Limits(cells=1)):
            found = recon.bound(encoded(release), {}, numeric[0], limits=limits)
            assert found.min <= exact.min <= exact.max <= found.max
            seen += found.status == "bounds"
    assert seen > 10


def test_why_there_is_no_reconstruction():
    release = regression([1, 2], [55, 60])
    release["models"] = release["models"][:1]
    release["domain"]["attributes"].append({"name": "bmi", "min": 10, "max": 60, "resolution": None})
    truth = pd.DataFrame({"a": [0, 1, 2], "bmi": [20.0, 30.5, 40.25], "y": [55, 30, 30]})
    lines = sections(encoded(release), truth=truth)["The true rows"]
    said = "no reconstruction: the attribute 'bmi' is continuous, without single values to reconstruct"
    assert any(line.startswith(said) for line in lines)
    trail = ("closed_form: 60 blocks of statements instead of one partition", "likeliest: no noisy counts")
    late = "no possible world was found in time, and none was excluded: what is said holds if there is one"
    assert "agrees with the release was found in time" in no_reconstruction((*trail, late))
    cells = no_reconstruction((*trail, "histogram: more than 200,000 live cells (--max-cells)"))
    assert "more than 200,000 cells" in cells
    assert not any(name in cells for name in ENGINES)


def test_plain_reasons_name_what_can_be_changed():
    assert "--time" in plain_reasons(["histogram: the time was up while histograms were counted"])
    several = ["cpsat: 1,280 free cells are too many to list histograms", "interval: a component is too large to bound"]
    assert plain_reasons(several).count("every combination") == 1
    unused = "forest: not all is used of the bags that are known (multiplicities)"
    assert plain_reasons(["interval: the number of rows is open", unused]).startswith("some of what is published")
    assert plain_reasons([]) == "no exact method copes with it within the limits"


@pytest.mark.parametrize("name", ["tree_classes", "list_default", "forest_3", "linear_sums", "rule_set", "bags_open"])
def test_statements_of_a_report_are_those_of_the_release(name):
    """They are listed without building regions: of a list of thousands of rules each would hold all rules before."""
    from recon.report.stored_report import _statement_rows

    release = recon.load(Path(__file__).parent / "golden" / f"{name}.json")
    every = [(s.source, None if s.region is None else (s.low, s.high)) for s in release.statements.statements()]
    assert list(_statement_rows(release)) == every
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Partition, "region_of", None)
        assert len(list(_statement_rows(release))) == len(every)
