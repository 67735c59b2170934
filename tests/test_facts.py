"""What policies look at, against brute force over every dataset of tiny domains: no figure misses a possible world."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import oracle
import pytest
from extras import batches, encoded

import recon
from recon.queries.bounds.disclosure import interval_cells
from recon.queries.measures.measures import measure
from recon.readers.inspection.findings.findings import Finding
from recon.readers.inspection.inspecting import Inspection
from recon.release.auditing.auditing import AuditInputs, group_disclosure, run_audit
from recon.release.auditing.facts import facts_of, nothing_known
from recon.release.auditing.findings import AuditFindings
from recon.release.auditing.together import judged_together
from solvers.foundation.limits import Limits

BATCHES = batches(2, 6)


def facts(release, limits=None):
    got = encoded(release)
    limits = limits or Limits()
    together = judged_together(got, {}, limits)
    found = AuditFindings(
        got, measure(got), group_disclosure(got), intervals=interval_cells(got, limits), together=together
    )
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


@pytest.mark.sampled(0, 1)
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_figures_that_limits_left_open_are_intervals():
    release = recon.load(Path(__file__).parent / "golden" / "odd_cycle.json")
    told = facts_of(run_audit(release, AuditInputs(), Limits(cells=1))).to_json()
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
