"""Published tables: zeros before anything is cut, equal figures, cross-tables; brute force and known answers."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from itertools import combinations, product
from pathlib import Path

import numpy as np
import plain_tables
import published_cases as cases
import pytest
import random_tables
from extras import encoded
from test_against_oracle import random_profile

import recon
from recon.queries.answers.exact import as_frame
from recon.queries.certificates.issuing import contradiction_certificate, world_certificate
from recon.queries.certificates.verifying import verify
from recon.readers.formats.release.writing import release_json
from recon.readers.frames.selections import select_frame
from solvers.cells.cutting import WordLayout, disjoint_pieces
from solvers.cells.linear_system import same_columns
from solvers.cells.system import system_of
from solvers.engines.chain import _no_worse
from solvers.foundation.errors import ContradictionError, ReleaseError, TooLarge
from solvers.foundation.limits import Limits
from solvers.histograms.answering import _histograms
from solvers.histograms.branches import branches_of
from solvers.programs import linear_program as tightening
from solvers.programs.linear_program import tightened
from solvers.statements.boxes import Box, Region
from solvers.statements.observations import StatementIndex
from solvers.statements.questions.answers import DecideAnswer
from solvers.statements.questions.query import Decide

TRACTS = {"a": 1, "b": 1, "c": 270_273_024}


def golden(name):
    return json.loads((Path(__file__).parent / "golden" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("seed", range(4))
def test_random_tables_are_what_brute_force_says(seed):
    kinds = random_tables.main(80, f"tests {seed}")
    assert min(kinds[k] for k in ("one data set", "several", "contradiction")) > 2, kinds


@pytest.mark.sampled(1)
@pytest.mark.parametrize("tract", TRACTS)
def test_census_tracts_are_counted_exactly(tract):
    """The number of tract c stands nowhere: its published tables are larger. A second engine counts all three."""
    release = cases.published(f"tract_{tract}")
    found = recon.count(encoded(release), "multiset")
    assert (found.status, found.value) == ("exact", TRACTS[tract])
    assert plain_tables.number_of_data_sets(release) == TRACTS[tract]


@pytest.mark.slow
def test_the_only_data_set_of_a_tract_is_certified():
    got = encoded(cases.published("tract_b"))
    world = recon.reconstruct(got)
    assert world.unique
    certificate = world_certificate(got, world, None)
    assert [c.error for c in verify(certificate, got).checked] == [""]
    less = cases.published("tract_b")
    less["models"][0]["statements"] = [f for f in less["models"][0]["statements"] if f["count"]]
    assert all(c.error for c in verify(certificate, encoded(less)).checked)


@pytest.mark.slow
def test_zeros_bar_rows_before_anything_is_cut():
    """Two million combinations, of which zeros leave 130: no limit on cells or memory is met on the way."""
    release = encoded(cases.published("tract_c")).statements
    assert math.prod(len(a.sizes) for a in release.domain.attributes) > 200_000
    system = system_of(release, Limits(cells=1_000, memory=1 << 24))
    assert len(system.words) == 130


def test_the_rest_of_a_whole_is_empty_where_its_listed_parts_add_up_to_it():
    """Five people, and the one value that they have of each of seven attributes: one of two million cells is live."""
    attributes = [{"name": f"a{k}", "values": list(range(8))} for k in range(7)]
    figures = [
        {"where": {f"a{k}": v, f"a{k + 1}": w}, "at_most": 5} for k in range(6) for v in range(8) for w in (0, 1)
    ]
    figures += [{"where": {f"a{k}": k}, "count": 5} for k in range(7)]
    release = {"recon": 1, "domain": {"attributes": attributes}, "rows": 5}
    release["models"] = [{"kind": "table", "statements": figures}]
    assert len(system_of(encoded(release).statements, Limits(cells=100)).words) == 1
    release["rows"] = 6
    with pytest.raises(TooLarge):
        system_of(encoded(release).statements, Limits(cells=100))


def test_the_rest_of_a_group_is_empty_where_its_listed_parts_add_up_to_it():
    attributes = [{"name": "area", "values": [0, 1]}, {"name": "age", "values": list(range(9))}]
    figures = [{"where": {"area": 0}, "count": 3}, {"where": {"area": 0, "age": 2}, "at_least": 2}]
    figures += [{"where": {"area": 0, "age": {"in": [4, 5]}}, "count": 1}]
    release = {"recon": 1, "domain": {"attributes": attributes}, "rows": 4}
    release["models"] = [{"kind": "table", "statements": figures}]
    system = system_of(encoded(release).statements, Limits())
    assert sorted(system.sizes) == [1, 2, 9]  # age 2 and ages 4, 5 in area 0; area 1
    figures[1]["at_least"] = 1
    assert sorted(system_of(encoded(release).statements, Limits()).sizes) == [1, 2, 6, 9]


@pytest.mark.slow
def test_memory_is_estimated_from_live_cells():
    release = encoded(cases.cross_tables("table")).statements
    assert len(system_of(release, Limits(memory=1 << 22)).words) == 150
    with pytest.raises(TooLarge, match="entries of statements over cells"):
        system_of(encoded(cases.published("itemsets_0002")).statements, Limits(memory=1 << 20))


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", ["table", "trees", "csv"])
def test_cross_tables_say_the_same_in_every_form(form, tmp_path):
    release = cases.cross_tables("table" if form == "csv" else form)
    if form == "csv":
        domain = tmp_path / "domain.json"
        domain.write_text(json.dumps({"recon": 1, "domain": release["domain"]}), encoding="utf-8")
        for i, text in enumerate(cases.as_csv(release)):
            (tmp_path / f"{i:02}.csv").write_text(text, encoding="utf-8")
        got = recon.load(*sorted(map(str, tmp_path.glob("*.csv"))), domain=str(domain))
    else:
        got = encoded(release)
    assert recon.count(got, "multiset").value == 1
    person = cases.people()[0]
    profile = {f"a{i}": v for i, v in enumerate(person)}
    bound = recon.bound(got, profile)
    assert (bound.min, bound.max) == (cases.people().count(person),) * 2


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "trees"])
def test_no_bound_is_worse_than_a_published_figure(form):
    """Where the cells are too many: no more rows than a figure around the profile, no fewer than one inside it."""
    got, people = encoded(cases.cross_tables(form)), cases.people()
    profiles = [{f"a{i}": v for i, v in enumerate(people[0])}, {f"a{i}": 0 for i in range(8)}, {"a0": 1, "a1": 1}]
    around = [
        min(cases.counted(people, c, [p[f"a{i}"] for i in c]) for c in combinations(range(8), 3)) for p in profiles[:2]
    ]
    found = recon.certify(got, profiles, limits=Limits(20, cells=20))
    assert [a <= b for a, b in zip(found["max_count"], around, strict=False)] == [True, True]
    assert found["min_count"][2] >= max(
        cases.counted(people, (0, 1, k), (1, 1, v)) for k in range(2, 8) for v in range(cases.SIZES[k])
    )


@pytest.mark.slow
def test_people_whom_a_column_tells_apart_are_found_row_by_row():
    """The cells are too many to list; rows named by a column whose bins hold one person each give the only data set."""
    release, people = cases.measured_people()
    got = encoded(release)
    with pytest.raises(TooLarge):
        system_of(got.statements, Limits(60, cells=2_000))
    world = recon.reconstruct(got, limits=Limits(60))
    assert world.unique
    assert Counter(world.to_frame().itertuples(index=False, name=None)) == Counter(people)
    answer = recon.count(got, "multiset", limits=Limits(60))
    assert (answer.value, answer.engine) == (1, "assignments")
    names = [f"a{k}" for k in range(len(people[0]))]
    profiles = [
        dict(zip(names, people[0], strict=True)),
        {**dict(zip(names, people[0], strict=True)), "a1": people[1][1]},
    ]
    found = recon.certify(got, profiles, limits=Limits(60), certificates=False)
    assert found["verdict"].tolist() == ["certain", "impossible"]


@pytest.mark.parametrize("name", ["table", "tree_classes", "join", "rule_set", "list_interval"])
def test_answers_of_all_engines_are_compared_with_every_published_count(name):
    """Of bounds 0 to n, whoever says so, the least count around a profile and the greatest inside it are left."""
    rng = random.Random(name)
    for _ in range(20 if name == "table" else 1):
        release = random_tables.random_table(rng)[0] if name == "table" else golden(name)
        try:
            got = encoded(release)
        except (ContradictionError, ReleaseError):
            continue
        index, n = StatementIndex(got.statements), got.statements.rows.high
        rows = list(product(*(range(len(a.sizes)) for a in got.statements.domain.attributes)))
        said = [index.statement(s) for s in np.flatnonzero(index.unconditional[: index.rows])]
        held = [(s, {r for r in rows if Region(s.region.box).holds(r)}) for s in said if s.region is not None]
        chosen = select_frame(got, as_frame([random_profile(rng, release, None) for _ in range(6)]))
        none = np.zeros(len(chosen), dtype=np.int64)
        found = _no_worse(got.statements, Decide(chosen, "ordered"), DecideAnswer.of(none, none + n))
        for i, (meets, holds) in enumerate(chosen.boxes()):
            outer, inner = ({r for r in rows if Region(box).holds(r)} for box in (meets, holds))
            low = max((s.low for s, of in held if of <= inner), default=0)
            high = min((s.high for s, of in held if outer <= of and not s.region.minus), default=n)
            if low <= min(high, n):  # else there is no data set
                assert (found.low[i], found.high[i]) == (low, min(high, n)), (release, i)


@pytest.mark.slow
def test_linear_programs_fix_what_statements_nearly_determine():
    """Of 258 cells that propagation leaves open the programs fix all; where statements are few, none is tried."""
    release = encoded(cases.itemsets(3)).statements
    system = system_of(release, Limits())
    assert len(system.free) > 200
    found = tightened(system, Limits(60))
    assert not len(found.free)
    assert found.satisfied(found.bounds.lower)
    assert tightened(system, Limits(60)) is found
    assert tightened(system_of(encoded(cases.published("ols14")).statements, Limits()), Limits(60)) is None


@pytest.mark.slow
def test_bounds_by_linear_programs_hold_in_every_data_set(monkeypatch):
    """Sets of items and how many people have them, some left out: programs see more than propagation, nothing wrong."""
    monkeypatch.setattr(tightening, "TIGHTENING_NEAR", 0.0)
    rng, moved = random.Random("tightened"), 0
    for _ in range(40):
        people = [tuple(rng.randrange(2) for _ in range(4)) for _ in range(rng.randint(4, 9))]
        sets = [c for size in range(1, 4) for c in combinations(range(4), size) if rng.random() < 0.8]
        figures = [{"where": {f"a{k}": 1 for k in c}, "count": cases.counted(people, c, (1,) * len(c))} for c in sets]
        domain = {"attributes": [{"name": f"a{k}", "values": [0, 1]} for k in range(4)]}
        models = [{"kind": "table", "statements": figures}]
        release = {"recon": 1, "domain": domain, "rows": len(people), "models": models}
        system = system_of(encoded(release).statements, Limits())
        found = tightened(system, Limits(60))
        if found is not None:
            moved += 1
            listed = [z for branch in branches_of(system, Limits()) for z in _histograms(branch)]
            assert (np.min(listed, axis=0) >= found.bounds.lower).all(), release
            assert (np.max(listed, axis=0) <= found.bounds.upper).all(), release
    assert moved > 5


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("least", [2, 3])
def test_itemsets_leave_one_data_set_with_a_certificate(least):
    got = encoded(cases.itemsets(least))
    world = recon.reconstruct(got, limits=Limits(60))
    assert world.unique
    assert world_certificate(got, world, Limits(60)) is not None


def test_a_contradiction_behind_a_zero_names_both_figures():
    attributes = [{"name": "sex", "values": ["f", "m"]}, {"name": "old", "values": [0, 1]}]
    figures = [{"where": {"sex": "f"}, "count": 0}, {"where": {"sex": "f", "old": 1}, "count": 1}, {"count": 3}]
    release = {"recon": 1, "domain": {"attributes": attributes}, "models": [{"kind": "table", "statements": figures}]}
    got = encoded(release)
    named = " ".join(recon.count(got).conflict)
    assert "sex = f: 0" in named.replace(")", "")
    assert "old = 1: at least 1" in named.replace(")", "")
    assert "statement 2" not in named
    assert contradiction_certificate(got, None) is not None


def test_two_figures_of_the_same_live_cells_that_differ_are_named():
    """The rest of a group is empty, so that the group and its part are the same cells."""
    attributes = [
        {"name": "a", "values": [0, 1]},
        {"name": "b", "values": [0, 1, 2, 3]},
        {"name": "c", "values": [0, 1]},
    ]
    figures = [{"count": 20}, {"where": {"a": 0}, "count": 5}, {"where": {"a": 0, "b": {"in": [0, 1, 2]}}, "count": 3}]
    figures += [{"where": {"a": 0, "b": 3}, "count": 0}, {"where": {"c": 1}, "at_most": 9}]
    release = {"recon": 1, "domain": {"attributes": attributes}, "models": [{"kind": "table", "statements": figures}]}
    got = encoded(release)
    named = recon.count(got).conflict
    assert [n for n in range(5) if any(f"statement {n} " in line for line in named)] == [1, 2, 3]
    assert contradiction_certificate(got, None) is not None


def test_complete_tables_say_that_nobody_is_in_what_they_leave_out():
    attributes = [{"name": "a", "values": [0, 1, 2]}, {"name": "b", "values": ["x", "y"]}]
    figures = [{"where": {"a": 0, "b": "x"}, "count": 3}, {"where": {"a": 1, "b": "y"}, "at_most": 2}]
    table = {"kind": "table", "statements": figures, "complete": True}
    release = {"recon": 1, "domain": {"attributes": attributes}, "rows": 5, "models": [table]}
    got = encoded(release)
    assert recon.count(got, "multiset").value == 1
    assert release_json(got.domain, got.models, None)["models"][0]["complete"] is True
    table["complete"] = False
    assert recon.count(encoded(release), "multiset").value > 1
    table |= {"complete": True, "noise": {"law": "laplace", "scale": 1}}
    with pytest.raises(ReleaseError, match="hold no row is exact"):
        encoded(release)


def test_equal_columns_are_found_where_hashes_collide(monkeypatch):
    from solvers.cells import linear_system

    row = np.array([0, 0, 1, 2, 1, 0], dtype=np.int64)
    col = np.array([0, 1, 1, 2, 3, 3], dtype=np.int64)
    coef = np.array([1, 1, 2, 3, 2, 1], dtype=np.int64)
    for weights in (linear_system._hashes, lambda width: np.ones(width, dtype=np.uint64)):
        monkeypatch.setattr(linear_system, "_hashes", weights)
        first, group = same_columns(row, col, coef, 5)
        assert group[1] == group[3]
        assert len(set(group.tolist())) == len(first) == 4
        assert sorted(group[first].tolist()) == [0, 1, 2, 3]


def test_a_region_of_many_boxes_is_cut_within_the_limits():
    """What a table's parts leave of their whole is a box without thousands of boxes: each cut looks at the limits."""
    domain = [{"name": f"a{k}", "values": list(range(60))} for k in range(2)]
    figures = [{"where": {"a0": i, "a1": i}, "count": 1} for i in range(60)]
    models = [{"kind": "table", "statements": figures}]
    got = encoded({"recon": 1, "domain": {"attributes": domain}, "rows": 60, "models": models})
    layout = WordLayout(got.statements.domain)
    boxes = tuple(Box(((0, 1 << i), (1, 1 << i))) for i in range(60))
    asked = []
    disjoint_pieces(layout, layout.full[None].copy(), Region(Box(), boxes), lambda pieces, width: asked.append(pieces))
    assert len(asked) == 60
    assert max(asked) > 50


@pytest.mark.slow
def test_bins_of_pairs_of_compas_leave_each_of_640_rows_open():
    """An Explainable Boosting Machine of 7,206 people: a world with each row and one without, none left undecided."""
    release = cases.published("ebm14")
    attributes = release["domain"]["attributes"]
    names = [a["name"] for a in attributes]
    profiles = [dict(zip(names, v, strict=True)) for v in product(*[a["values"] for a in attributes])]
    found = recon.certify(encoded(release), profiles, limits=Limits(600))
    assert len(found) == 640
    assert set(found.verdict) == {"possible"}
    assert set(found.min_count) == {0}
    assert (found.max_count > 0).all()


def test_the_page_says_how_many_fits_of_known_truth_were_tried():
    """The number and the seed of docs/published-models.md are those of the stored result, and none is wrong."""
    tests = Path(__file__).parent
    stored = json.loads((tests / "safety_statistics.json").read_text(encoding="utf-8"))
    page = (tests.parent / "docs" / "published-models.md").read_text(encoding="utf-8")
    assert f"--part statistics --seed {stored['seed']} --number {stored['number']}" in page
    assert set(stored["figures"].values()) == {100}
    scores = json.loads((tests / "safety_scores.json").read_text(encoding="utf-8"))
    exact, sums = scores["figures"]["exact"], scores["figures"]["sums"]
    assert f"{scores['number']:,} random fits with 3 to 12 digits, {exact:,} of {sums:,} sums" in " ".join(page.split())
    assert stored["cases_wrong"] == scores["cases_wrong"] == 0
