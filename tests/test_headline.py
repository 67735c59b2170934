"""A report's first figures, feasible intervals of suppressed cells, and what is said where nothing can be assessed."""

from __future__ import annotations

import json
import math
import pickle
import random
import re
import tracemalloc
from collections import Counter
from pathlib import Path

import oracle
import pytest
from extras import after_verdict, encoded, run
from test_coupled import releases, total

import recon
import recon.queries.bounds.disclosure
import solvers.programs.cell_model
from recon.queries.bounds.disclosure import interval_cells
from recon.readers.formats.drafts.drafts import _suggested
from recon.report.wording.headline import LEGEND, headline_json, order_json, worlds_lines
from solvers.engines import cells
from solvers.foundation.errors import Inconclusive
from solvers.foundation.exact import log2_multisets, multiset_factors, product
from solvers.foundation.limits import Limits

FOREST = Path(__file__).parents[1] / "examples" / "releases" / "compas_forest.json"
FIRST = "What an adversary is left with"
HIDDEN = "Suppressed and interval cells: what they can still be"


def sections(release, **options):
    return dict(recon.audit(release, **options).sections())


def mean_log2(figure):
    """Return log2 of a number of worlds; of several numbers of rows the entropy with a uniform prior on them."""
    if not isinstance(figure, dict):
        return math.log2(figure)
    logs = [math.log2(count) for count in figure.values() if count]
    return math.log2(len(logs)) + sum(logs) / len(logs)


def sure_rows(release):
    """Return how many rows are in every dataset, by listing them all."""
    worlds = [Counter(world) for world in oracle.datasets(release)]
    return sum(min(world[row] for world in worlds) for row in set(worlds[0]))


def both_kinds(name):
    """Yield random releases of one tree or rule list, and of several models or tables."""
    rng = random.Random(f"{name} alone")
    for _ in range(40):
        release, _ = oracle.random_release(rng)
        yield release
    for _, release, _ in releases(name, 0, 25):
        yield release


# ---------------------------------------------------------------- without the order of rows


@pytest.mark.slow
def test_the_first_figures_are_those_of_every_dataset_in_any_convention():
    seen = Counter()
    for release in both_kinds("headline"):
        got = encoded(release)
        for convention in ("assigned", "ordered", "multiset"):
            try:
                measures = recon.measure(got, convention)
            except recon.Unsupported:
                continue
            found, worlds = headline_json(measures), oracle.count(release, "multiset")
            assert found["bits_left"] == pytest.approx(mean_log2(worlds), abs=1e-9), release
            assert found["datasets"] == str(total(worlds))
            if measures.rows is not None:
                before = oracle.uninformed_bits(release, "multiset")
                before = before if not isinstance(before, dict) else before[measures.rows]
                assert found["bits_before"] == pytest.approx(before, abs=1e-9)
            assert (found["rows_known"], found["rows_known_status"]) == (sure_rows(release), "exact"), release
            order = order_json(measures)
            expected = mean_log2(oracle.count(release, convention)) - mean_log2(worlds)
            assert order["bits_of_row_order"] == pytest.approx(expected, abs=1e-9)
            assert order["bits_of_row_order_bounds"] is None
            seen[convention] += 1
    assert min(seen.values()) > 25
    assert len(seen) == 3


@pytest.mark.sampled(1)
@pytest.mark.parametrize("limits", [Limits(seconds=0.0), Limits(cells=1, seconds=0.0)], ids=["time", "cells"])
def test_where_worlds_are_bounded_so_are_the_first_figures(limits):
    seen = 0
    for _, release, _ in releases(f"bounded headline {limits.cells}", 0, 40):
        try:
            measures = recon.measure(encoded(release), "ordered", limits)
        except (recon.Inconclusive, recon.Unsupported):
            continue
        found, order = headline_json(measures), order_json(measures)
        left = mean_log2(oracle.count(release, "multiset"))
        if found["bits_left"] is None and found["bits_left_bounds"] is not None:
            seen += 1
            low, high = found["bits_left_bounds"]
            assert low - 1e-9 <= left <= high + 1e-9
            if found["dist_g_bounds"] is not None:
                low, high = found["dist_g_bounds"]
                assert low - 1e-9 <= left / found["bits_before"] <= high + 1e-9
        if order["bits_of_row_order_bounds"] is not None:
            low, high = order["bits_of_row_order_bounds"]
            assert low - 1e-9 <= mean_log2(oracle.count(release, "ordered")) - left <= high + 1e-9
        if found["rows_known"] is not None:
            assert found["rows_known"] <= sure_rows(release)
    assert seen > 10


def cells_table(counts):
    where = [(a, b) for a in (0, 1) for b in (0, 1, 2)]
    statements = [{"where": {"a": a, "b": b}, "count": n} for (a, b), n in zip(where, counts, strict=True)]
    return {"kind": "table", "name": "t", "statements": statements}


DOMAIN = {"attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "values": [0, 1, 2]}]}
TREE = {"kind": "tree", "nodes": [{"if": {"a": 0}, "then": 1, "else": 2}, {"count": 9}, {"count": 6}]}


def test_a_table_of_every_cell_leaves_nothing_and_the_tree_alone_is_comparable():
    table = {"recon": 1, "domain": DOMAIN, "rows": 15, "models": [cells_table([4, 5, 0, 3, 2, 1])]}
    lines = sections(encoded(table))[FIRST]
    assert lines[0] == "datasets that agree, whatever the order of their rows: 1   [multiset; exact]"
    assert lines[1].startswith("bits left beyond the order of rows: 0.0 of ")
    assert lines[2] == "rows known completely, in every one of them: 15 of 15"
    assert lines[3] == f"Dist_G without the order of rows: 0.0000   {LEGEND['multiset']}"
    both = {**table, "models": [TREE, *table["models"]]}
    alone = {**table, "models": [TREE]}
    first, second = (json.loads(recon.audit(encoded(r)).to_json()) for r in (alone, both))
    assert first["convention"] == "assigned"  # the commands' default stays
    assert second["convention"] == "ordered"
    first, second = first["without_row_order"], second["without_row_order"]
    assert first["bits_before"] == second["bits_before"] == pytest.approx(math.log2(math.comb(20, 15)))
    assert first["bits_left"] == pytest.approx(math.log2(math.comb(11, 9) * math.comb(8, 6)))
    assert (second["bits_left"], second["dist_g"], second["datasets"]) == (0.0, 0.0, "1")


@pytest.mark.slow
def test_a_forest_that_gives_back_every_row_opens_with_that():
    report = recon.audit(recon.load(FOREST))
    text = after_verdict(report.to_text())
    assert text[2:6] == [
        FIRST,
        "  datasets that agree, whatever the order of their rows: 1   [multiset; exact]",
        "  bits left beyond the order of rows: 0.0 of 1,102.3 (0.00 of 3.67 bits per row)",
        "  rows known completely, in every one of them: 300 of 300",
    ]
    found = json.loads(report.to_json())
    assert found["without_row_order"]["rows_known"] == 300
    # All that is left of the entropy is the order of rows: n! over the orders of rows that stand there twice.
    times = Counter(map(tuple, recon.reconstruct(recon.load(FOREST)).to_frame().to_numpy().tolist()))
    orders = math.lgamma(301) - sum(math.lgamma(n + 1) for n in times.values())
    assert found["bits_of_row_order"] == pytest.approx(orders / math.log(2))
    assert found["bits_of_row_order"] == pytest.approx(found["entropy_bits"])


@pytest.mark.parametrize("convention", ["assigned", "ordered", "multiset"])
def test_the_legend_is_true_in_its_convention(convention):
    """One row space cell per leaf: everything is known, so 0 where the legend says so, and more with an order."""
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, {"count": 2}, {"count": 1}]
    domain = {"attributes": [{"name": "a", "values": [0, 1]}]}
    tree = encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]})
    measures = recon.measure(tree, convention)
    lines = [line for line in worlds_lines(measures) if line.startswith("Dist_G")]
    assert lines[0].endswith(LEGEND[convention])
    assert (measures.dist_g == 0) == (convention != "ordered")
    assert ("order" in LEGEND[convention]) == (convention != "multiset")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("size", "count"), [(1, 5), (5, 1), (2, 10**6), (10**6, 2), (7, 9), (140_000, 150_000)])
def test_multisets_are_counted_from_the_shorter_side(size, count):
    number = math.comb(size + count - 1, count)
    assert log2_multisets(size, count) == pytest.approx(math.log2(number), rel=1e-13)
    if number.bit_length() < 10**4:
        assert product(multiset_factors(size, count)) == number


def test_a_report_on_many_rows_needs_no_memory_for_them():
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, {"count": 3 * 10**8}, {"count": 10**8}]
    release = encoded({"recon": 1, "domain": DOMAIN, "models": [{"kind": "tree", "nodes": nodes}]})
    tracemalloc.start()
    try:
        found = json.loads(recon.audit(release).to_json())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    expected = math.comb(3 * 10**8 + 2, 2) * math.comb(10**8 + 2, 2)
    assert found["without_row_order"]["datasets"] == str(expected)
    assert found["without_row_order"]["bits_left"] == pytest.approx(math.log2(expected))
    assert peak < 50_000_000


# ---------------------------------------------------------------- counts that were not published


def suppressed_release(rng):
    """Return a table with its margins and some cells hidden, over a space so small that every dataset can be listed."""
    n = rng.choice([3, 4, 5])
    rows = [(rng.choice((0, 1)), rng.choice((0, 1, 2))) for _ in range(n)]
    statements = []
    for a in (0, 1):
        statements.append({"where": {"a": a}, "count": sum(r[0] == a for r in rows)})
        for b in (0, 1, 2):
            count = rows.count((a, b))
            kind = rng.choice(["count", "primary", "secondary", "between", "least", "count"])
            said = {
                "count": {"count": count},
                "primary": {"suppressed": "primary", "at_least": min(1, count), "at_most": max(2, count)},
                "secondary": {"suppressed": "secondary"},
                "between": {"at_least": max(0, count - 1), "at_most": count + 1},
                "least": {"at_least": max(0, count - 1)},
            }[kind]
            statements.append({"where": {"a": a, "b": b}, **said})
    for b in (0, 1, 2):
        if rng.random() < 0.6:
            statements.append({"where": {"b": b}, "count": sum(r[1] == b for r in rows)})
    table = {"kind": "table", "name": "t", "statements": statements}
    return {"recon": 1, "domain": DOMAIN, "rows": n, "models": [table]}


def brute_force(release):
    """Return the least and most rows of every hidden cell over all datasets, in file order."""
    worlds = oracle.datasets(release)
    hidden = [s for s in release["models"][0]["statements"] if "count" not in s]
    counts = [[sum(oracle.meets(release, s["where"], row) for row in world) for world in worlds] for s in hidden]
    return [(min(c), max(c)) for c in counts]


def cpsat_only(monkeypatch):
    """Let CP-SAT answer one question at a time: no graph of histograms, and no list of them."""

    def unlisted(system, limits):
        raise Inconclusive("not listed in this test")

    monkeypatch.setattr(cells.HistogramEngine, "refuses", lambda self, release, query: "not in this test")
    monkeypatch.setattr(solvers.programs.cell_model, "listed_histograms", unlisted)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("engine", "number"), [("histogram", 60), ("cpsat", 40)])
def test_feasible_intervals_are_those_of_all_datasets(engine, number, monkeypatch):
    rng, seen = random.Random(f"suppressed {engine}"), Counter()
    if engine == "cpsat":
        cpsat_only(monkeypatch)
    for _ in range(number):
        release = suppressed_release(rng)
        found = interval_cells(encoded(release), Limits())
        hidden = [s for s in release["models"][0]["statements"] if "count" not in s]
        listed = [s for s in hidden if "suppressed" in s or s.get("at_least") != s.get("at_most")]
        expected = [ends for s, ends in zip(hidden, brute_force(release), strict=True) if s in listed]
        assert [cell.feasible for cell in found.cells] == expected, release
        assert all(cell.tight for cell in found.cells)
        assert found.recovered == sum(low == high for low, high in expected)
        seen.update(low == high for low, high in expected)
    assert min(seen[True], seen[False]) > 4


@pytest.mark.slow
def test_where_limits_end_intervals_are_outer_bounds(monkeypatch):
    rng, loose = random.Random("suppressed in no time"), 0
    for _ in range(12):
        release = suppressed_release(rng)
        for limits in (Limits(seconds=0.0), Limits(cells=1)):
            found = interval_cells(encoded(release), limits).cells
            hidden = [s for s in release["models"][0]["statements"] if "count" not in s]
            for cell, (low, high) in zip(found, brute_force(release), strict=True):
                assert cell.feasible[0] <= low <= high <= cell.feasible[1]
                assert cell.feasible == (low, high) or not cell.tight
                loose += not cell.tight
            assert len(found) == len(hidden)
    assert loose > 10


def city(**hidden):
    domain = {"attributes": [{"name": "city", "values": ["A", "B", "C"]}, {"name": "ill", "values": [0, 1]}]}
    statements = [{"where": {"city": c}, "count": n} for c, n in zip("ABC", (20, 25, 15), strict=True)]
    statements.append({"where": {"ill": 1}, "count": 14})
    statements += [{"where": {"city": c, "ill": 1}, **said} for c, said in hidden.items()]
    return {"recon": 1, "domain": domain, "rows": 60, "models": [{"kind": "table", "statements": statements}]}


def test_the_end_of_an_interval_is_never_printed_as_a_count(tmp_path, capsys):
    primary = {"suppressed": "primary", "at_least": 1, "at_most": 9}
    release = city(A=primary, B={"suppressed": "secondary"}, C={"at_least": 11, "at_most": 12})
    report = recon.audit(encoded(release))
    lines = dict(report.sections())
    assert lines[HIDDEN] == [
        "3 cells without an exact count; recovered, because only one count is left: 0",
        "table, statement 6 (count where city = C and ill = 1): published 11 to 12; feasible 11 to 12 rows (width 1)",
        "table, statement 4 (suppressed count where city = A and ill = 1): published 1 to 9; "
        "feasible 1 to 3 rows (width 2)",
        "table, statement 5 (suppressed count where city = B and ill = 1): published nothing (secondary suppression); "
        "feasible 0 to 2 rows (width 2)",
    ]
    exposed = lines["Who is most exposed"]
    at = exposed.index("  city = A and ill = 1")
    end = ", 1 to 3 rows,   each is known exactly, how many there are is not: 2.58 bits removed"
    assert exposed[at - 1].endswith(end)
    assert not any("known exactly, 2.58" in line or ", 1 row" in line for line in exposed)
    found = json.loads(report.to_json())
    assert found["interval_cells_recovered"] == 0
    assert found["interval_cells"][0] == {
        "name": "table, statement 4 (suppressed count where city = A and ill = 1)",
        "suppressed": "primary",
        "published": [1, 9],
        "feasible": [1, 3],
        "width": 2,
        "recovered": False,
        "tight": True,
    }
    exposure = report.findings.measures.exposure
    assert (exposure["rows"] < exposure["rows_most"]).all()
    page, marked = report.to_html(), report.to_markdown()
    for line in lines[HIDDEN]:
        assert line in page
        assert line in marked


def test_a_recovered_cell_is_called_so():
    release = city(A={"suppressed": "primary", "at_least": 1, "at_most": 9}, B={"count": 5}, C={"count": 7})
    (said, line) = sections(encoded(release))[HIDDEN]
    assert said.endswith("left: 1")
    assert line.endswith("published 1 to 9; feasible RECOVERED: 2 rows in every world")
    groups = sections(encoded(release))["What the counts say without any reconstruction"]
    assert any(x.startswith("groups below 10 rows: 3: ") and "ill = 1) (2)" in x for x in groups)


def test_counts_that_the_number_of_rows_leaves_open_have_two_ends():
    """A rule list without its last rule: the rows left over are 1 to 4, and no group of 1 row was published."""
    rules = [{"if": {"a": 0}, "count": 3}, {"if": {"b": 0}, "count": 2}]
    release = {"recon": 1, "domain": DOMAIN, "rows": {"at_least": 6, "at_most": 9}, "models": [
        {"kind": "rule_list", "rules": rules}
    ]}  # fmt: skip
    report = recon.audit(encoded(release))
    found = json.loads(report.to_json())
    assert [(r["rows"], r["rows_most"]) for r in found["regions"]] == [(3, 3), (2, 2), (1, 4)]
    (cell,) = found["interval_cells"]
    assert (cell["feasible"], cell["recovered"], cell["tight"]) == ([1, 4], False, True)
    assert found["smallest_group"] == 2
    assert found["group_disclosure"]["smallest_group"] == 2
    small = {(g["rows"], g["rows_most"]) for g in found["group_disclosure"]["small_groups"]}
    assert small == {(1, 4), (2, 2), (3, 3)}
    text = report.to_text()
    assert re.search(r", 1 to 4 rows,? ", text)
    assert not re.search(r", 1 row[,\n]", text)


# ---------------------------------------------------------------- nothing can be assessed


def bits_forest(rows=40):
    ensemble = pytest.importorskip("sklearn.ensemble")
    import numpy as np
    import pandas as pd

    dice = np.random.default_rng(7)
    x = pd.DataFrame(dice.integers(0, 2, (rows, 6)), columns=list("abcdef"))
    return ensemble.ExtraTreesClassifier(12, random_state=0).fit(x, dice.integers(0, 2, rows))


@pytest.mark.slow
def test_bits_under_random_thresholds_are_not_assessed_until_somebody_says_so(tmp_path, capsys):
    model, domain = tmp_path / "a model.pkl", tmp_path / "domain.json"
    model.write_bytes(pickle.dumps(bits_forest()))
    code, out, _ = run(capsys, "audit", str(model), "--time", "3")
    lines = after_verdict(out)
    assert lines[2] == "NOT ASSESSED"
    assert "no values to count for 'a', 'b'" in lines[3]
    assert f"run recon audit '{model}' --domain DATA.csv" in lines[5]
    assert lines[6] == (
        "  these columns look like bits, unless they are shares (every threshold lies between 0 and 1): "
        "'a', 'b', 'c', 'd', 'e', 'f'"
    )
    assert f"recon domain '{model}' --suggest --out domain.json" in lines[7]
    assert "rows determined completely: NOT ASSESSED (of 40)" in out
    assert "Dist_G not defined" not in out
    code, out, _ = run(capsys, "count", str(model), "--json", "--time", "3")
    found = json.loads(out)["not_assessed"]
    assert found["looks_like"] == {"bits": list("abcdef"), "integers": [], "others": []}
    code, _, err = run(capsys, "domain", str(model), "--suggest", "--out", str(domain))
    assert code == 0
    assert err.count("CHECK: ") == 6
    code, out, _ = run(capsys, "audit", str(model), "--domain", str(domain), "--json")
    found = json.loads(out)
    assert found["not_assessed"] is None
    assert (found["without_row_order"]["rows_known"], found["rows"]) == (40, 40)
    assert any(line.startswith("nobody declared a domain") for line in found["assumptions"])  # until a person does


def test_integers_are_recognised_by_their_thresholds_and_decimals_are_not():
    tree = pytest.importorskip("sklearn.tree")
    import numpy as np
    import pandas as pd

    from recon.readers.formats.drafts.drafts import suggested_domain
    from recon.readers.loading.loading import bind_draft, draft_of

    dice = np.random.default_rng(3)
    x = pd.DataFrame({"age": dice.integers(18, 80, 120), "bmi": dice.normal(25, 3, 120).round(2)})
    model = tree.DecisionTreeClassifier(random_state=0).fit(x, dice.integers(0, 2, 120))
    guessed, _ = bind_draft(draft_of(model), None)
    release = recon.encode(model, guessed)
    found = _suggested(release)
    (name, low, high) = found.integers[0]
    assert (name, found.bits, found.others) == ("age", (), ("bmi",))
    raw = model.tree_.threshold[model.tree_.feature == 0]
    assert low <= raw.min() < raw.max() < high
    domain = suggested_domain(release)
    assert domain.source == guessed.source
    assert [a.name for a in domain.attributes if a.name in domain.continuous] == ["bmi"]
    assert "age" in {a.name for a in recon.encode(model, domain).domain.attributes}  # every threshold fits


def test_a_declared_domain_without_values_is_not_assessed_either():
    domain = {"attributes": [{"name": "a", "min": 0, "max": 1, "resolution": None}]}
    nodes = [{"if": {"a": {"at_most": 0.25}}, "then": 1, "else": 2}, {"count": 2}, {"count": 1}]
    report = recon.audit(encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]}))
    title, lines = report.sections()[0]
    assert title == "NOT ASSESSED"
    assert lines[0].startswith("not assessed: the domain has no values to count for 'a'")
    assert "NOT ASSESSED" in report.to_html()
    assert "NOT ASSESSED" in report.to_markdown()
    assert json.loads(report.to_json())["without_row_order"]["datasets"] is None
    assert not any("not defined of" in line for _, lines in report.sections() for line in lines)


# ---------------------------------------------------------------- what a file's suffix says


@pytest.mark.parametrize(
    ("arguments", "known"),
    [
        (("audit", "--out", "report.pdf"), ".html or .md or .json or .txt"),
        (("audit", "--json", "--out", "report.html"), "--json writes JSON"),
        (("table", "--out", "rows.xlsx"), ".csv or .parquet or .json"),
        (("sample", "--out", "rows.csv.gz"), ".csv or .parquet or .json"),
        (("worlds", "--json", "--out", "rows.csv"), "--json writes JSON"),
        (("convert", "--out", "release.csv"), ".json"),
        (("domain", "--out", "domain.yaml"), ".json"),
    ],
)
def test_a_suffix_that_is_not_written_is_refused_before_the_work(arguments, known, tmp_path, capsys):
    command, *options, name = arguments
    out = tmp_path / name
    code, _, err = run(capsys, command, str(tmp_path / "not there.json"), *options, str(out))
    assert code == 2  # 3 would say that the file was looked for
    assert known in " ".join(err.split())
    assert not out.exists()


@pytest.mark.parametrize("name", ["report", "report.HTML", "report.txt", "report.md", "report.json"])
def test_known_suffixes_and_none_are_written(name, tmp_path, capsys):
    code, _, _ = run(capsys, "audit", str(FOREST.with_name("two_trees.json")), "--out", str(tmp_path / name))
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert code in {0, 4}
    assert text.startswith({".HTML": "<!doctype html>", ".md": "# Audit", ".json": "{"}.get(Path(name).suffix, "Audit"))
