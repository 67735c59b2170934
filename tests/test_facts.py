"""What policies look at, against brute force over every dataset of tiny domains: no figure misses a possible world."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path

import oracle
import pytest
from extras import batches, encoded

import recon
from recon.auditing.auditing import group_disclosure
from recon.auditing.facts import facts_of, nothing_known
from recon.auditing.findings import Findings
from recon.auditing.gathering import Beside, gathered
from recon.bounds.intervals import interval_cells
from recon.inspection.findings.findings import Finding
from recon.inspection.inspecting import Inspection
from recon.measures.measures import measure
from recon.measures.revealed.together import judged_together
from recon.policies.facts import (
    FIGURES,
    ROW_FIGURES,
    SIZE_FIGURES,
    Absent,
    Facts,
    Groups,
    Known,
    Unknown,
    Unused,
    smallest_of,
)
from solvers.foundation.limits import Limits

BATCHES = batches(2, 6)


def facts(release, limits=None):
    got = encoded(release)
    limits = limits or Limits()
    together = judged_together(got, {}, limits)
    found = Findings(got, measure(got), group_disclosure(got), intervals=interval_cells(got, limits), together=together)
    return facts_of(found).to_json()


def inside(value, ends):
    return ends is not None and ends[0] <= value and (ends[1] is None or value <= ends[1])


def groups_of(release, world):
    """Return the rows of every leaf or rule of a world that holds any, by model, with their classes."""
    out = []
    for model in release["models"]:
        if model["kind"] in {"tree", "rule_list"}:
            held: dict[int, Counter] = {}
            for row in world:
                held.setdefault(oracle.region_of(release, model, row), Counter())[row[-1]] += 1
            out.append((model, held))
    return out


def of_one_class(release, model, region, held):
    """Say whether a group publishes classes, has rows of one only, and could have had another."""
    classes = len(oracle._listed_values(release["domain"]["label"])) if release["domain"].get("label") else 0
    return classes > 1 and len(held) == 1 and oracle._gives_classes(model, region)


@pytest.mark.parametrize("batch", BATCHES)
def test_no_world_lies_outside_of_the_figures(batch):
    rng = random.Random(f"facts {batch}")
    for k in range(60):
        release, _ = oracle.random_release(rng, models=1 + k % 2)
        told, worlds = facts(release), oracle.datasets(release)
        n = len(worlds[0])
        counted = [Counter(world) for world in worlds]
        known = sum(min(c[row] for c in counted) for row in counted[0])
        assert inside(known, told["pinned"]), release
        assert told["rows"] == [n, n]
        before, left = told["bits_before_per_person"], told["bits_left_per_person"]
        if n:
            assert math.isclose(before * n, oracle.uninformed_bits(release, "multiset"), abs_tol=1e-9)
            assert inside(round(math.log2(len(worlds)) / n, 9), [left[0] - 1e-8, left[1] + 1e-8])
        for world in worlds:
            for _, held in groups_of(release, world):
                smallest = min((sum(c.values()) for c in held.values()), default=None)
                if smallest is not None and told["smallest_group"] is not None:
                    assert told["smallest_group"][0] <= smallest, release
            if told["class_disclosure"] is not None:
                least, most = told["class_disclosure"]["rows"]
                shown = [
                    sum(sum(c.values()) for r, c in held.items() if of_one_class(release, model, r, c))
                    for model, held in groups_of(release, world)
                ]
                assert least <= max(shown, default=0) or least <= n, release
                assert most is None or max(shown, default=0) <= most, release


@pytest.mark.parametrize("batch", BATCHES)
def test_one_tree_is_told_exactly(batch):
    rng = random.Random(f"one tree {batch}")
    for _ in range(60):
        release, truth = oracle.random_release(rng)
        model = release["models"][0]
        if model["kind"] not in {"tree", "rule_list"} or not truth:
            continue
        told = facts(release)
        ((_, held),) = groups_of(release, truth)
        sizes = [sum(c.values()) for c in held.values()]
        assert told["smallest_group"] == [min(sizes), min(sizes)]
        assert sorted(g["rows"][0] for g in told["groups"]) == sorted(sizes)
        if all(oracle._gives_classes(model, r) for r in held):
            pure = sum(sum(c.values()) for r, c in held.items() if of_one_class(release, model, r, c))
            assert told["class_disclosure"]["rows"] == [pure, pure]
            cells = [k for c in held.values() for k in c.values()]
            assert told["smallest_cell"] == [min(cells), min(cells)]
            assert len(told["cells"]) == len(cells)
            fitting = oracle.region_sizes(release, model)
            worlds = min(fitting[r] for r in held)
            assert told["least_bits_left"] == [math.log2(worlds), math.log2(worlds)]


def test_figures_that_limits_left_open_are_intervals():
    release = recon.load(Path(__file__).parent / "golden" / "odd_cycle.json")
    told = facts_of(gathered(release, Beside(), Limits(cells=1))).to_json()
    assert told["pinned"] is None or told["pinned"][0] <= told["pinned"][1]
    for key in ("pinned", "bits_left_per_person", "least_bits_left"):
        assert told[key] is not None or told["not_known"][key]


def test_of_files_that_only_store_rows_everything_else_has_its_reason():
    rows = Finding("critical", "raw-data", "X_", "array", "rows", "leave it out", removable=True)
    counts = Finding("high", "tree", "tree_", "nodes", "counts", "inherent")
    told = nothing_known([Inspection("m.pkl", "pickle", "ab", 3, (rows, counts))], "no counts were read").to_json()
    assert [one["rule"] for one in told["stored"]] == ["raw-data"]  # what counts say is in the other figures
    assert told["stored_inspected"]
    assert told["smallest_group"] == [1, 1]  # a row that stands in the file is a group of one
    assert [one["name"] for one in told["groups"]] == ["X_"]
    for key, reason in told["not_known"].items():
        assert told[key] is None or key == "smallest_group"
        assert reason == "no counts were read"


# The struct of figures


def some_facts(**figures):
    groups = {"groups": Groups([{"name": "leaf 1", "where": "a = 0", "rows": [30, 30]}], 1)}
    others = {"kinds_of_counts": ["exact"], "stored": [], "stored_inspected": True}
    return Facts("exact", 1.0, {"rows": Known(100, 100), **figures}, groups, others)


def test_figures_are_read_back_from_json_as_they_were_written():
    held = some_facts(
        pinned=Known(3, None, "not counted", "limits"), bits_before_per_person=Known(4.5, 4.5),
        bits_left_per_person=Unknown("no domain", "domain"), least_bits_left=Known(0.0, 2.0),
        smallest_group=Known(30, 30), smallest_cell=Unknown("no counts"), class_disclosure=Known(1, 7, "together"),
        target_disclosure=Absent("no numbers"),
        labels_by_position=Known(2, 9), values_by_position=Known(0, 0),
    )  # fmt: skip
    held = held.opened([Unused("a part was not read", {"smallest_group": "lower"})])
    told = held.to_json()
    assert json.loads(json.dumps(told)) == told
    again = Facts.of_json(told)
    assert again.to_json() == told
    assert {key: again[key] for key in FIGURES} == {key: held[key] for key in FIGURES}
    assert again.listed("smallest_group").further == "a part was not read"
    assert Facts.of_json({"status": "exact"})["pinned"] == Unknown("it was not worked out")


def test_what_was_not_used_takes_away_the_ends_that_it_makes_unsure():
    held = some_facts(
        pinned=Known(3, 3), bits_left_per_person=Known(2.0, 2.0), smallest_group=Known(30, 30),
        class_disclosure=Absent("no classes"), smallest_cell=Unknown("no counts"),
    )  # fmt: skip
    found = held.opened([Unused("rows", ROW_FIGURES), Unused("sizes", SIZE_FIGURES, "limits")])
    assert found["pinned"] == Known(3, 100, "rows")
    assert found["bits_left_per_person"] == Known(0, 2.0, "rows")
    assert found["smallest_group"] == Known(1, 30, "sizes", "limits")
    assert found.to_json()["not_listed"] == {"groups": "sizes"}
    assert found["class_disclosure"] == Absent("no classes")
    assert found["smallest_cell"] == Unknown("no counts")
    assert [one["why"] for one in found.to_json()["not_used"]] == ["rows", "sizes"]
    again = found.opened([Unused("more", {"smallest_group": "both"})])
    assert again["smallest_group"] == Known(1, 100, "sizes; more")  # what would settle one reason does not settle both


def test_a_proved_group_bounds_the_smallest_from_above_and_what_cannot_be_from_below():
    held = some_facts(smallest_group=Known(30, 30))
    proved = {"name": "leaf 1 without leaf 2", "where": "a = 0, b = 1", "rows": [2, 5], "how": "by difference"}
    found = held.with_groups("smallest_group", [proved])
    assert found["smallest_group"] == Known(2, 5)
    assert found.to_json()["groups"][0] == proved
    assert found.to_json()["groups_in_all"] == 2
    perhaps = held.with_groups("smallest_group", [proved | {"rows": [0, 5]}])
    assert perhaps["smallest_group"] == Known(30, 30)  # it may be empty
    assert held.with_groups("smallest_group", none_below=12)["smallest_group"] == Known(12, 30)
    further = held.with_groups("smallest_group", further="not searched to the end", help="limits")
    assert further["smallest_group"] == Known(1, 30, "not searched to the end", "limits")
    nothing = some_facts(smallest_group=Unknown("none"))
    assert nothing.with_groups("smallest_group")["smallest_group"] == Unknown("none")
    assert nothing.with_groups("smallest_group", [proved])["smallest_group"] == Known(1, 5)


def test_the_smallest_of_groups():
    assert smallest_of([]) is None
    assert smallest_of([(0, 4), (3, 9), (5, None)]) == Known(1, 9)
    assert smallest_of([(0, 4)]) == Known(1, None)  # none surely has a row
    assert smallest_of([(7, 7), (3, 3)]) == Known(3, 3)
