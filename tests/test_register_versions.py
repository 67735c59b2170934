"""Registers of several versions of the data: who left since the last release, what an audit and a policy say of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_registers import DAY, registered, tree, written

import recon
from recon.release.policies.facts import AbsentFigure, Figure, KnownFigure, UnknownFigure
from recon.release.registers.index import HEAD, INDEX, parse_index
from recon.release.registers.register import Register
from recon.release.registers.versions import comparison, version_relation, worst_figure
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.statements.release import RowCount

ENTRY = f'[[release]]\nfile = "a.json"\nsha256 = "{"0" * 64}"\ndate = {DAY}\ndecision = "release"\n'
OLD = {"age": "old"}


def _versions(folder: Path) -> tuple[Path, Path]:
    """Return trees of six people and of the five who stayed: one of two old people left."""
    return written(folder, "march.json", [tree(OLD, [2, 4])]), written(folder, "april.json", [tree(OLD, [1, 4])])


def _policy(folder: Path, text: str) -> str:
    path = folder / "policy.toml"
    path.write_text(text)
    return str(path)


def test_the_audit_opens_with_who_left_as_a_difference_says(tmp_path: Path) -> None:
    march, april = _versions(tmp_path)
    registered(tmp_path / "r", march)
    report = recon.audit(recon.load(april), register=tmp_path / "r", removed=1)
    told = report.to_dict()
    found = recon.difference(march, april, removed=1)
    assert told["versions"]["removed"] == {
        "rows": [1, 1], "identified": 0, "profiles_left": found.possible, "fewest_profiles": [2, 2], "exact": True
    }  # fmt: skip
    assert told["sections"][0][1][0] == (
        f"Comparing this model with march.json (released {DAY}) does not identify the person removed; "
        "2 profiles are left."
    )
    assert "april is march without 1 row" in told["sections"][0][1][-1]
    assert told["facts"]["removed_pinned"] == [0, 0]
    assert told["facts"]["removed_candidates"] == [2, 2]
    assert told["status"] == "exact"
    bits = found.bits
    assert f"everybody the two take {bits['before'] - bits['both']:,.1f} bits more" in told["sections"][0][1][1]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("versions.removed_pinned = 0", "met"),
        ("versions.least_candidates = 2", "met"),
        ("versions.least_candidates = 3", "violated"),
        ('[versions]\nleast_candidates = {value = 3, source = "ours"}', "violated"),
    ],
)
def test_a_policy_asks_how_many_profiles_are_left(tmp_path: Path, text: str, outcome: str) -> None:
    march, april = _versions(tmp_path)
    registered(tmp_path / "r", march)
    report = recon.audit(recon.load(april), _policy(tmp_path, text), register=tmp_path / "r", removed=1)
    assert report.assessment is not None
    assert report.assessment.outcome == outcome


@pytest.mark.parametrize("key", ["removed_pinned = 9", "least_candidates = 1"])
def test_without_an_earlier_version_nothing_is_met(tmp_path: Path, key: str) -> None:
    """Not compared is not known, with and without a register of the same rows alone, and of noisy counts."""
    march, april = _versions(tmp_path)
    policy = _policy(tmp_path, f"versions.{key}")
    alone = recon.audit(recon.load(april), policy)
    assert alone.assessment is not None
    assert alone.assessment.outcome == "inconclusive"
    assert "no earlier version was compared" in alone.assessment.checks[0].sentence
    noisy = json.loads(april.read_text())
    noisy["models"][0] |= {"noise": {"law": "laplace", "scale": 1.0}}
    april.write_text(json.dumps(noisy))
    registered(tmp_path / "r", march)
    report = recon.audit(recon.load(april), policy, register=tmp_path / "r", removed=1)
    assert report.assessment is not None
    assert report.assessment.outcome == "inconclusive"
    assert "noisy counts of related data sets" in report.to_dict()["sections"][0][1][0]


def test_one_of_one_is_identified_and_violates(tmp_path: Path) -> None:
    """The only old smoker left: one profile fits, in every possible pair of data sets."""
    nodes = [{"if": {"age": "old"}, "then": 1, "else": 4}, {"if": {"smoker": 1}, "then": 2, "else": 3}]
    march = written(tmp_path, "march.json", [{"kind": "tree", "nodes": [*nodes, *({"count": n} for n in (1, 2, 3))]}])
    april = written(tmp_path, "april.json", [{"kind": "tree", "nodes": [*nodes, *({"count": n} for n in (0, 2, 3))]}])
    registered(tmp_path / "r", march)
    policy = _policy(tmp_path, "versions.removed_pinned = 0")
    report = recon.audit(recon.load(april), policy, register=tmp_path / "r", removed=1, added=0)
    assert report.assessment is not None
    assert report.assessment.outcome == "violated"
    assert "identifies the person removed, with all values" in report.to_text()


def test_the_register_keeps_how_data_sets_are_related(tmp_path: Path) -> None:
    march, april = _versions(tmp_path)
    register = registered(tmp_path / "r", march)
    register = register.add(april, "release", date=DAY, dataset="april", origin="march", removed=RowCount(1, 1),
                            added=RowCount(0, 20))  # fmt: skip
    entry = Register.read(tmp_path / "r").entries[1]
    assert (entry.dataset, entry.origin, entry.removed, entry.added) == (
        "april",
        "march",
        RowCount(1, 1),
        RowCount(0, 20),
    )
    assert entry.to_json()["dataset"] == "april"
    found = recon.audit(recon.load(april), register=register).to_dict()["versions"]
    assert (found["before"], found["after"], found["removed"]["profiles_left"]) == ("march", "april", 2)
    assert recon.audit(recon.load(march), register=register).to_dict()["versions"]["after"] == "april"


def test_what_march_says_counts_in_may(tmp_path: Path) -> None:
    """Of three versions all are used: april alone does not say who left until may, march and april narrow it."""
    both = {"age": "old"}
    march = written(tmp_path, "march.json", [tree(both, [2, 4]), tree({"smoker": 1}, [1, 5])])
    april = written(tmp_path, "april.json", [tree(both, [2, 3])])
    may = written(tmp_path, "may.json", [tree(both, [1, 3])])
    register = registered(tmp_path / "r", march)
    register = register.add(april, "release", date=DAY, dataset="april", origin="march", removed=RowCount(1, 1),
                            added=RowCount(0, 0))  # fmt: skip
    release = recon.load(may)
    relation = version_relation(release, register, 1, None)
    found = comparison(release, register, relation, Limits())
    assert found is not None
    assert found.names == ("april", "may")
    assert found.found is not None
    assert found.found.possible == recon.difference(april, may).possible == 2
    assert any("may is april without 1 row" in line for line in found.relation)
    assert recon.certify(found.found.release, [{"age": "old"}], of="removed:may")["verdict"].tolist() == ["certain"]
    with pytest.raises(ReleaseError, match="give removed:april or removed:may"):
        recon.certify(found.found.release, [{"age": "old"}], of="removed")


def test_a_release_between_two_versions_is_compared_with_both(tmp_path: Path, run: Any) -> None:
    """Nothing says who left before April, but the one who left then was the only old smoker: both count."""
    nodes = [{"if": {"age": "old"}, "then": 1, "else": 4}, {"if": {"smoker": 1}, "then": 2, "else": 3}]
    march = written(tmp_path, "march.json", [tree(OLD, [3, 3])])
    april = written(tmp_path, "april.json", [{"kind": "tree", "nodes": [*nodes, *({"count": n} for n in (1, 1, 3))]}])
    may = written(tmp_path, "may.json", [{"kind": "tree", "nodes": [*nodes, *({"count": n} for n in (0, 1, 3))]}])
    register, one, none = registered(tmp_path / "r", march), RowCount(1, 1), RowCount(0, 0)
    register = register.add(april, "do not release", date=DAY, dataset="april", origin="march", removed=one, added=none)
    register = register.add(may, "release", date=DAY, dataset="may", origin="april", removed=one, added=none)
    policy = _policy(tmp_path, "[versions]\nremoved_pinned = 0\nleast_candidates = 2")
    report = recon.audit(recon.load(april), policy, register=register)
    assert report.assessment is not None
    assert [one.outcome for one in report.assessment.checks] == ["violated", "violated"]
    facts = report.to_dict()["facts"]
    assert (facts["removed_pinned"], facts["removed_candidates"]) == ([1, 1], [1, 1])
    first, second = [line for line in report.to_dict()["versions"]["sentences"] if line.startswith("Comparing")]
    assert "march.json" in first
    assert "does not identify the person removed; 2 profiles are left" in first
    assert "may.json" in second
    assert "identifies the person removed, with all values" in second
    report = recon.audit(recon.load(april), policy, register=register, remedies=True)
    lines = report.to_dict()["versions"]["remedies"]
    assert {one["outcome"] for one in lines if one["outcome"] is not None} == {"inconclusive"}
    assert all(one["removed_pinned"][1] is None for one in lines if one["removed_pinned"])
    assert report.assessment is not None
    assert report.assessment.verdict == "do not release"
    beside = ("--policy", policy, "--register", tmp_path / "r", "--out", tmp_path / "better.json")
    assert "beside one earlier version, and there is also may" in run("remedy", april, *beside, code=3).stderr


KNOWN, UNKNOWN, ABSENT = KnownFigure(1, 3, "a"), UnknownFigure("b"), AbsentFigure("c")


@pytest.mark.parametrize(
    ("figures", "pinned", "candidates"),
    [
        ([KNOWN, KnownFigure(2, 2)], KnownFigure(2, 3, "a"), KnownFigure(1, 2, "a")),
        ([KNOWN, KnownFigure(2, None)], KnownFigure(2, None, "a"), KnownFigure(1, 3, "a")),
        ([KnownFigure(4, 4), UNKNOWN], KnownFigure(4, None, "b"), KnownFigure(1, 4, "b")),
        ([ABSENT, KNOWN], KNOWN, KNOWN),
        ([ABSENT, UNKNOWN], UNKNOWN, UNKNOWN),
        ([ABSENT, ABSENT], ABSENT, ABSENT),
    ],
)
def test_of_several_versions_the_worst_counts_and_what_is_not_known_is_open(
    figures: Any, pinned: Figure, candidates: Figure
) -> None:
    for key, worst in (("removed_pinned", pinned), ("removed_candidates", candidates)):
        assert worst_figure(key, figures) == worst_figure(key, figures[::-1]) == worst


def test_refusals_name_the_keys(tmp_path: Path, run: Any) -> None:
    march, april = _versions(tmp_path)
    may = written(tmp_path, "may.json", [tree(OLD, [1, 3])])
    register = registered(tmp_path / "r", march)
    out = run("audit", april, "--register", tmp_path / "r", code=5).stdout
    assert "'dataset', 'from', 'removed' and 'added'" in out
    assert "--removed K" in out
    assert f"note: The new release and march.json (released {DAY}) contradict each other" in out
    assert "statements in the file" not in out
    run("audit", april, "--register", tmp_path / "r", "--out", tmp_path / "page.html", code=5)
    assert "Then say how the data sets are related" in (tmp_path / "page.html").read_text()
    register.add(april, "release", date=DAY, dataset="april", origin="march", removed=RowCount(1, 1))
    err = run("audit", may, "--register", tmp_path / "r", code=3).stderr
    assert "several data sets (march, april)" in err
    assert "'dataset', 'from', 'removed' and 'added'" in err
    assert "--removed K" in err
    err = run("audit", april, "--register", tmp_path / "r", "--removed", 1, code=3).stderr
    assert "as of the data set 'april'" in err
    assert "--register" in run("audit", april, "--removed", 1, code=2).stderr


def test_versions_that_contradict_each_other_end_with_five(tmp_path: Path, run: Any) -> None:
    """More old people in April than in March, and nobody came."""
    march, _ = _versions(tmp_path)
    april = written(tmp_path, "april.json", [tree(OLD, [3, 2])])
    registered(tmp_path / "r", march)
    out = run("audit", april, "--register", tmp_path / "r", "--removed", 1, "--added", 0, code=5).stdout
    assert "april is march without 1 row" in out
    assert "march" in out
    run("audit", april, "--register", tmp_path / "r", "--added", 0, code=5)
    assert "does not fit" in run("audit", april, "--register", tmp_path / "r", "--removed", 0, code=3).stderr


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('from = "march"', "from of which data set? give 'dataset'"),
        ('dataset = "april"\nremoved = 1', "since which data set? give 'from'"),
        ('dataset = "april"\nfrom = "march"', "there is no data set 'march'"),
        ('dataset = "april"\nfrom = "april"', "each made from the other"),
        ('dataset = "april"\nfrom = "a"\nremoved = -1', "release 1, removed: must be a whole number of rows"),
        ('dataset = "april"\nfrom = "a"\nremoved = {at_least = 3, at_most = 2}', "must be a whole number of rows"),
        ('dataset = "april"\nfrom = "a"\nadded = {at_lest = 3}', "must be a whole number of rows"),
        ('dataset = "april"\nfrom = "a"\nadded = {}', "must be a whole number of rows"),
        ("removed = 1", "removed of which data set? give 'dataset'"),
    ],
)
def test_a_wrong_relation_is_refused_by_place(lines: str, said: str) -> None:
    with pytest.raises(ReleaseError, match=re.escape(said)):
        parse_index(f"{HEAD}\n{ENTRY}{lines}\n", INDEX)


def test_a_number_of_rows_may_have_one_end() -> None:
    other = ENTRY.replace("a.json", "b.json").replace("0" * 64, "1" * 64)
    text = f'{HEAD}\n{ENTRY}\n{other}dataset = "b"\nfrom = "a"\nremoved = {{at_least = 3}}\n'
    assert parse_index(text, INDEX).entries[1].removed == RowCount(3, None)


def test_two_entries_say_the_same_of_one_data_set() -> None:
    other = ENTRY.replace("a.json", "b.json").replace("0" * 64, "1" * 64)
    third = ENTRY.replace("a.json", "c.json").replace("0" * 64, "2" * 64)
    text = f'{HEAD}\n{ENTRY}\n{other}dataset = "april"\nfrom = "a"\nremoved = 1\n\n{third}dataset = "april"\n'
    assert parse_index(text, INDEX).entries[2].dataset == "april"
    with pytest.raises(ReleaseError, match="otherwise than release 2"):
        parse_index(f'{text}from = "a"\nremoved = 2\n', INDEX)


def test_releases_of_some_data_sets_are_given_by_name() -> None:
    with pytest.raises(ReleaseError, match="there is no data set 'may'"):
        recon.versions({"may": "x.json"}, {"datasets": [{"name": "march"}, {"name": "april", "from": "march"}]})


def test_data_sets_without_a_release_count(tmp_path: Path) -> None:
    """Nothing was released in April: who left between March and May is among those who left in two steps."""
    march, may = _versions(tmp_path)
    steps = [{"name": "march"}, {"name": "april", "from": "march", "removed": 1, "added": 0},
             {"name": "may", "from": "april", "removed": 0, "added": 0}]  # fmt: skip
    both = recon.versions({"march": march, "may": may}, {"datasets": steps})
    assert recon.certify(both, [OLD], of="removed:april")["verdict"].tolist() == ["certain"]


def _many(folder: Path) -> tuple[Path, Path]:
    """Return trees with leaves of 1, 3, 12 and 20 people, before and after the one alone left."""
    nodes = [{"if": {"age": "old"}, "then": 1, "else": 2}, {"if": {"smoker": 1}, "then": 3, "else": 4},
             {"if": {"smoker": 1}, "then": 5, "else": 6}]  # fmt: skip
    sizes = {"march": (1, 3, 12, 20), "april": (0, 3, 12, 20)}
    some = [
        written(folder, f"{name}.json", [{"kind": "tree", "nodes": [*nodes, *({"count": n} for n in held)]}])
        for name, held in sizes.items()
    ]
    return some[0], some[1]


@pytest.mark.slow
def test_remedies_audit_the_pair_again(tmp_path: Path) -> None:
    """Merged leaves are what `recon.difference` says of the merged tree; a schedule has as many leavers as it says."""
    march, april = _many(tmp_path)
    registered(tmp_path / "r", march)
    policy = _policy(tmp_path, "[versions]\nremoved_pinned = 0\nleast_candidates = 2")
    report = recon.audit(recon.load(april), policy, register=tmp_path / "r", removed=1, added=0, remedies=True)
    told = report.to_dict()
    lines = {(one["kind"], one["setting"]): one for one in told["versions"]["remedies"]}
    assert told["facts"]["removed_pinned"] == [1, 1]
    from recon.release.remediation.merging import merge_leaves
    from recon.release.remediation.thresholds import Demands

    for k in (5, 10, 11, 20):
        merged = merge_leaves(recon.load(april), Demands(smallest_group=k), Limits()).release
        found = recon.difference(recon.load(march), merged, removed=1, added=0)
        line = lines["merge of versions", k]
        assert line["removed_pinned"] == [found.certain, found.certain]
        assert line["removed_candidates"] == list(found.removed.fewest)
        assert line["outcome"] == ("met" if found.certain == 0 and (found.possible or 0) >= 2 else "violated")
        assert line["sentence"] in told["versions"]["sentences"]
    for k in (5, 10, 20):
        assert f"of the {k} people removed" in lines["schedule", k]["sentence"]
        assert lines["schedule", k]["removed_pinned"][1] <= k
        assert f"{k - 1} more people drawn" in lines["schedule", k]["note"]
    nobody = lines["not published", None]
    assert nobody["removed_pinned"] == [0, 0]
    assert nobody["removed_candidates"] == [6, 6]  # all profiles of the domain: three ages, smokers and others
    assert nobody["outcome"] is None
    assert report.assessment is not None
    assert report.assessment.outcome == "violated"
    met = [one for one in told["remedies"] if one["kind"] == "merge of versions" and one["outcome"] == "met"]
    assert (report.assessment.verdict == "release with changes") == bool(met)
    assert any("not tried" in one["sentence"] for one in lines.values()) is False


def test_a_schedule_of_what_cannot_be_drawn_is_not_tried(tmp_path: Path) -> None:
    """Two new models, whose counts must fit each other: nothing is drawn, and it says why."""
    march, _ = _many(tmp_path)
    april = written(tmp_path, "april.json", [tree(OLD, [3, 32]), tree({"smoker": 1}, [12, 23])])
    registered(tmp_path / "r", march)
    report = recon.audit(recon.load(april), register=tmp_path / "r", removed=1, added=0, remedies=True)
    lines = report.to_dict()["versions"]["remedies"]
    drawn = [one for one in lines if one["kind"] == "schedule"]
    assert len(drawn) == 3
    assert all("exact counts of one tree or list" in one["note"] and one["outcome"] is None for one in drawn)


@pytest.mark.slow
def test_remedy_merges_until_the_pair_meets_the_policy(tmp_path: Path, run: Any) -> None:
    """What is written is audited beside the earlier version; without one it is refused, and so is what never meets."""
    march, april = _many(tmp_path)
    registered(tmp_path / "r", march)
    policy = _policy(tmp_path, "[versions]\nremoved_pinned = 0\nleast_candidates = 2")
    beside, out = ("--register", tmp_path / "r", "--removed", 1, "--added", 0), tmp_path / "better.json"
    said = run("remedy", april, "--policy", policy, "--out", out, *beside).stdout
    assert "policy: met" in said
    assert "beside the earlier version" in said
    report = recon.audit(recon.load(out), policy, register=tmp_path / "r", removed=1, added=0)
    assert report.assessment is not None
    assert report.assessment.outcome == "met"
    alone = run("remedy", april, "--policy", policy, "--out", tmp_path / "alone.json", code=4).stdout
    assert "no earlier version was compared" in alone
    assert "no earlier version" in run("remedy", march, "--policy", policy, "--out", out, *beside[:2], code=3).stderr
    policy = _policy(tmp_path, "[versions]\nleast_candidates = 100")
    err = run("remedy", april, "--policy", policy, "--out", tmp_path / "never.json", *beside, code=1).stderr
    assert "publish it when more people have left" in err
    assert not (tmp_path / "never.json").exists()
