"""No release where something is given away: the gate against worlds listed or searched apart from the engine.

`make safety` draws 2,000 cases (tests/safety.py); here are as many as take a minute.
"""

from __future__ import annotations

import random

import oracle_coupled
import plain_groups
import pytest
import safety_cases
from extras import batches

DOMAIN = {"attributes": [{"name": "age", "min": 1, "max": 90}], "label": {"name": "ill", "values": [0, 1]}}


def cut_at(age, low, high):
    """A tree of one split."""
    return {"kind": "tree", "nodes": [{"if": {"age": {"at_most": age}}, "then": 1, "else": 2}, low, high]}


SUBTRACTED = {
    "recon": 1,
    "domain": DOMAIN,
    "models": [
        cut_at(64, {"counts": [210, 210]}, {"counts": [40, 40]}),
        cut_at(65, {"count": 421}, {"count": 79}),
    ],
}


def test_what_is_left_between_two_trees_is_a_group():
    worlds = plain_groups.Worlds(SUBTRACTED)
    (atom,) = worlds.small_group(10, labelled=False)
    assert [worlds.space.values["age"][k] for k in range(64) if worlds.boxes[atom][0][0] >> k & 1] == [65]
    assert worlds.good_world(10, labelled=False) is None
    assert worlds.small_group(1, labelled=False) is None
    assert worlds.known_class() == 0  # 0 or 1: one person, either class


def test_a_group_of_several_cells_is_found_though_no_cell_of_it_is_certain():
    """Five rows in either corner of a diagonal; the other two hold 2 rows together, and either may hold none."""
    stated = [({}, {"count": 12}), ({"a": 0, "b": 0}, {"count": 5}), ({"a": 1, "b": 1}, {"count": 5}),
              ({"a": 0, "b": 1}, {"at_most": 2})]  # fmt: skip
    table = {"kind": "table", "statements": [{"where": where, **number} for where, number in stated]}
    domain = {"attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "values": [0, 1]}]}
    worlds = plain_groups.Worlds({"recon": 1, "domain": domain, "models": [table]})
    assert len(worlds.small_group(3, labelled=False)) == 2
    assert worlds.small_group(2, labelled=False) is None
    assert plain_groups.least_group(worlds.every_world()) == 2


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(40))
def test_programs_listing_and_brute_force_agree(seed):
    release, _ = oracle_coupled.random_coupled(random.Random(seed), ("tree", "forest", "rule_list", "rule_set"))
    by_rows = plain_groups.listed_truth(release)
    worlds = plain_groups.Worlds(release)
    found = plain_groups.decided(worlds.every_world(), len(worlds.labels))
    for key, labelled in (("smallest_group", False), ("smallest_cell", True)):
        if "too many" in (by_rows[key], found[key]):
            continue
        assert by_rows[key] == found[key]
        for k in (2, 3):
            small = found[key] is not None and found[key] < k
            assert (worlds.small_group(k, labelled) is not None) == small
            assert not (small and worlds.good_world(k, labelled) is not None)
    if found["class_disclosure"] is not None:
        assert worlds.known_class() == found["class_disclosure"] == by_rows["class_disclosure"]


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("batch", batches(10, 10))
def test_every_outcome_is_right_and_every_form_of_a_release_has_the_same_verdict(batch):
    for seed in range(batch * 20, batch * 20 + 20):
        case = safety_cases.drawn(seed)
        assert safety_cases.failures(case) == [], f"seed {seed}: {case}"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(4))
def test_nothing_that_bound_or_attribute_prove_is_released(batch):
    for seed in range(batch * 10, batch * 10 + 10):
        case = safety_cases.drawn(seed)
        verdict, _ = safety_cases.judged([case.release], case.policy)
        if verdict == "release":
            assert safety_cases.proved_by_bound(case) == [], f"seed {seed}: {case}"


@pytest.mark.slow
def test_the_harness_notices_a_false_release(monkeypatch):
    case = safety_cases.Case(0, "join", SUBTRACTED, {"smallest_group": 10}, [None] * 500)
    met = ("release", {"smallest_group": "met"})
    monkeypatch.setattr(safety_cases, "judged", lambda files, policy: met)
    assert any(line.startswith("false release: one file") for line in safety_cases.failures(case))
    assert any("has 1 to 1 rows" in line for line in safety_cases.proved_by_bound(case))


def test_classes_0_and_1_whose_mean_is_published_are_classes():
    """Four people, a mean of the class of 0.75: one person is of class 0."""
    statements = [{"count": 4}, {"mean": {"of": "ill", "value": 0.75}}]
    domain = {**DOMAIN, "attributes": [{"name": "a", "values": [0, 1]}]}
    release = {"recon": 1, "domain": domain, "models": [{"kind": "table", "statements": statements}]}
    verdict, outcomes = safety_cases.judged([release], {"smallest_cell": 2})
    assert (verdict, outcomes) == ("do not release", {"smallest_cell": "violated"})
    assert safety_cases.judged([release], {"smallest_cell": 1})[0] == "release"
