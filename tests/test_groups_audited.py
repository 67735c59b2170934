"""The audit decides groups and classes by proof: files that were released although a group, or a class, follows."""

from __future__ import annotations

import json
import random

import group_oracle
import oracle
import plain_groups
import pytest
from extras import encoded, run
from policy_cases import policy_of

import recon

AGE = {"attributes": [{"name": "age", "min": 1, "max": 90}], "label": {"name": "ill", "values": [0, 1]}}
REGION = {"attributes": [{"name": "region", "values": ["north", "south"]}, {"name": "ill", "values": ["flu", "other"]}]}
BYTES = {
    "attributes": [{"name": name, "min": 0, "max": 99} for name in "abc"],
    "label": {"name": "y", "values": [0, 1]},
}


def split_at(age, *leaves):
    return {"nodes": [{"if": {"age": {"at_most": age}}, "then": 1, "else": 2}, *leaves]}


def halves(one, two, counts):
    nodes = [{"if": {one: {"below": 50}}, "then": 1, "else": 2}, {"if": {two: {"below": 50}}, "then": 3, "else": 4},
             {"if": {two: {"below": 50}}, "then": 5, "else": 6}]  # fmt: skip
    return {"nodes": [*nodes, *({"counts": list(pair)} for pair in counts)]}


def three_trees(unit):
    a, b = (unit, 2 * unit), (2 * unit, unit)
    even, more = (unit, unit), (2 * unit, 2 * unit)
    return [halves("a", "b", [a, b, b, a]), halves("b", "c", [even, more, more, even]), halves("a", "c", [a, b, b, a])]


AGED = [
    split_at(64, {"counts": [210, 210]}, {"counts": [40, 40]}),
    split_at(65, {"count": 421}, {"count": 79}),
]


def forest(domain, trees):
    return {"recon": 1, "domain": domain, "models": [{"kind": "forest", "trees": trees}]}


def files(domain, trees):
    return {"recon": 1, "domain": domain, "models": [{"kind": "tree", **tree} for tree in trees]}


def table(domain, *figures):
    statements = [{"count": n} | ({"where": where} if where else {}) for where, n in figures]
    return {"recon": 1, "domain": domain, "models": [{"kind": "table", "statements": statements}]}


RULES = {"recon": 1, "domain": AGE, "rows": 500, "models": [{"kind": "rule_set", "rules": [
    {"if": {"age": {"at_most": 64}}, "count": 420}, {"if": {"age": {"at_most": 65}}, "count": 421}]}]}  # fmt: skip
IMPLIED = table(
    REGION, ({}, 70), ({"region": "north"}, 25), ({"region": "south"}, 45), ({"region": "north", "ill": "flu"}, 23),
    ({"region": "south", "ill": "flu"}, 31),
)  # fmt: skip
SMALL = {
    "two trees of a forest": (forest(AGE, AGED), {"age": 65}, 1),
    "the same as two trees": (files(AGE, AGED), {"age": 65}, 1),
    "two rules": (RULES, {"age": 65}, 1),
    "totals": (IMPLIED, {"region": "north", "ill": "other"}, 2),
    "three trees": (forest(BYTES, three_trees(1)), {"a": {"at_least": 50}, "b": {"below": 50}, "c": {"below": 50}}, 1),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_group_that_follows_violates_and_bound_agrees(name):
    release, where, rows = SMALL[name]
    got = encoded(release)
    report = recon.audit(got, policy_of(smallest_group=rows + 1))
    assert report.assessment.verdict == "do not release"
    facts = report.to_dict()["facts"]
    assert facts["smallest_group"] == [rows, rows]
    told = next(one for one in facts["groups"] if one["rows"] == [rows, rows])
    condition = json.loads(told["how"].partition("--where '")[2].rstrip("'"))
    for one in (where, condition):
        found = recon.bound(got, one)
        assert (found.min, found.max) == (rows, rows)
    assert recon.audit(got, policy_of(smallest_group=rows)).assessment.verdict == "release"


@pytest.mark.parametrize(("unit", "people"), [(10, 40), (1, 4)])
@pytest.mark.parametrize("made", [forest, files])
def test_classes_that_three_trees_tell_together(made, unit, people):
    got = encoded(made(BYTES, three_trees(unit)))
    report = recon.audit(got, policy_of(class_disclosure="forbidden"))
    assert report.assessment.verdict == "do not release"
    assert report.to_dict()["facts"]["class_disclosure"]["rows"][0] == people
    assert recon.audit(got, policy_of(class_disclosure=people)).assessment.verdict != "do not release"


def test_how_many_people_one_training_set_tells_is_counted_by_listing_worlds():
    worlds = plain_groups.Worlds(forest(BYTES, three_trees(1)))
    listed = worlds.every_world()
    assert len(listed) == 1
    assert plain_groups.decided(listed, 2)["class_disclosure"] == 4  # one person in each of four cells of one class


def test_the_world_that_proves_it_is_on_the_page():
    trees = [split_at(40, {"counts": [50, 50]}, {"counts": [30, 30]}), split_at(60, {"count": 140}, {"count": 20})]
    report = recon.audit(encoded(forest(AGE, trees)), policy_of(smallest_group=20))
    assert report.assessment.verdict == "release"
    told = [what for what, status, _ in report.to_dict()["how"]["numbers"] if status == "proved"]
    assert any(what.startswith("smallest group: one possible world has") for what in told)
    assert "so that no group that is never empty has fewer" in report.to_html()


def test_what_the_time_does_not_decide_is_open():
    trees = [{"nodes": t["nodes"]} for t in three_trees(10)]
    report = recon.audit(encoded(forest(BYTES, trees)), policy_of(smallest_group=10), limits=recon.Limits(cells=1))
    (check,) = report.assessment.checks
    assert check.outcome == "inconclusive"
    assert check.said.help == "limits"


@pytest.mark.sampled(2, 6)
@pytest.mark.parametrize("seed", range(12))
def test_verdicts_do_not_change_by_splitting_joining_reordering(seed, tmp_path, capsys):
    rng = random.Random(f"forms {seed}")
    while True:
        release, _ = oracle.random_release(rng, models=3)
        trees = [one for one in release["models"] if one["kind"] == "tree"]
        release["models"] = trees
        if len(trees) == 3 and group_oracle.smallest_group(release, False) not in (None, "many"):
            break
    policy = tmp_path / "p.toml"
    policy.write_text('smallest_group = 2\nsmallest_cell = 2\nclass_disclosure = "forbidden"\n')
    together = release | {"models": [{"kind": "forest", "trees": [{"nodes": one["nodes"]} for one in trees]}]}
    forms = [[release], [together], [release | {"models": trees[::-1]}], [release | {"models": [one]} for one in trees]]
    codes = set()
    for form in forms:
        names = [tmp_path / f"{k}.json" for k in range(len(form))]
        for name, one in zip(names, form, strict=True):
            name.write_text(json.dumps(one))
        codes.add(run(capsys, "audit", *names, "--policy", policy)[0])
    small, cell = (group_oracle.smallest_group(release, by_label) for by_label in (False, True))
    labelled = release["domain"].get("label")
    assert codes <= {0, 1}
    assert len(codes) == 1
    if small < 2:
        assert codes == {1}
    assert labelled is not None or cell == small
