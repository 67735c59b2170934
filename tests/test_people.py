"""Verdicts on given people in an audit: against brute force, without their values, and re-checked from the document."""

from __future__ import annotations

import json
import math
import random

import oracle
import pandas as pd
import pytest
from extras import batches, encoded, run
from test_against_oracle import random_profile

import recon
from recon.queries.certificates.verifying import verify
from recon.release.auditing.persons import people as module
from recon.release.auditing.persons.people import people
from recon.release.auditing.persons.wording import _percent, who_lines
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

TREE = "examples/releases/compas_tree.json"
FOREST = "examples/releases/compas_forest.json"
NOISY = "examples/releases/noisy_tree.json"
SECRET = "zanzibar"  # a value that must not be repeated


def frame_of(profiles):
    return pd.DataFrame(profiles, dtype=object)


def by_position(found):
    return sorted(found["rows"], key=lambda one: one["position"])


def document(found):
    """Return what an audit writes of people, read back from JSON."""
    verdicts = [{"position": one["position"], "verdict": one["verdict"]} for one in found["rows"]]
    return json.loads(json.dumps({"profiles": found, "facts": {"profiles": verdicts}}))


def some_people(release, number=4):
    """Return people of a possible world of a release, and one that no row of the domain is like."""
    world = recon.reconstruct(release, seed=3).to_frame().drop_duplicates().head(number)
    odd = world.head(1).astype(object)
    odd.iloc[0, 0] = SECRET
    return pd.concat([world.astype(object), odd], ignore_index=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", batches(2, 6))
def test_verdicts_and_shares_are_those_of_brute_force(batch):
    rng, seen = random.Random(f"people {batch}"), set()
    for _ in range(40):
        release, truth = oracle.random_release(rng)
        profiles = [random_profile(rng, release, truth, full=True) for _ in range(4)]
        found = people(encoded(release), frame_of(profiles), Limits())
        assert found["rows_in_all"] == 4
        assert not found["shown"]
        assert "certificates" not in found
        for profile, line in zip(profiles, by_position(found), strict=True):
            expected = oracle.membership(release, profile, line["convention"])
            assert line["verdict"] == expected["verdict"], (release, profile)
            assert math.isclose(line["probability"], float(expected["probability"]), rel_tol=1e-9, abs_tol=1e-12)
            assert (line["certificate"] is not None) == (line["verdict"] != "possible"), (release, profile)
            seen.add(line["verdict"])
    assert seen == {"certain", "possible", "impossible"}


def test_the_gravest_verdicts_stand_first_and_are_kept(monkeypatch):
    release = recon.load(FOREST)
    given = some_people(release)
    rows = people(release, given, Limits())["rows"]
    assert [one["verdict"] for one in rows] == ["certain"] * 4 + ["outside"]
    assert [one["position"] for one in rows] == [0, 1, 2, 3, 4]
    back = people(release, given.iloc[::-1].reset_index(drop=True), Limits())["rows"]
    assert [one["position"] for one in back] == [1, 2, 3, 4, 0]
    monkeypatch.setattr(module, "LISTED", 2)
    cut = people(release, given, Limits(), show_rows=True)
    assert len(cut["rows"]) == 2
    assert cut["rows_in_all"] == 5
    assert len(cut["certificates"]) == 2
    assert any("the 2 most serious" in line for line in who_lines(cut, None))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("file", [TREE, FOREST, NOISY])
def test_no_value_and_no_name_is_repeated_unless_asked_for(file):
    release = recon.load(file)
    given = some_people(release).assign(Name="Grace Hopper")
    hidden, shown = (people(release, given, Limits(seconds=30), show_rows=show) for show in (False, True))
    text = json.dumps(hidden)
    assert SECRET not in text
    assert "Hopper" not in text
    for one in hidden["rows"]:
        assert set(one) == {"position", "name", "verdict", "probability", "convention", "certificate", "why"}
        assert one["name"] is None
    assert SECRET in json.dumps(shown)
    assert {one["name"] for one in shown["rows"]} == {"Grace Hopper"}
    assert shown["shown"] is True
    for a, b in zip(hidden["rows"], shown["rows"], strict=True):  # the rest is the same
        same = ("position", "verdict", "probability", "convention")
        assert [a[key] for key in same] == [b[key] for key in same]
        assert a["certificate"] in (b["certificate"], None)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("file", [TREE, FOREST, NOISY, "tests/golden/boosted_log.json", "tests/golden/columns.json"])
def test_verify_re_checks_every_verdict_of_the_document(file):
    release = recon.load(file)
    found = people(release, some_people(release), Limits(seconds=60), show_rows=True)
    checked = verify(document(found), release)
    assert checked.verified
    assert not checked.rejected
    assert not checked.inconsistent
    assert not checked.bare
    seals = {one["seal"] for one in found["certificates"]}
    assert all(one["certificate"] in seals for one in found["rows"] if one["verdict"] != "outside")


def test_a_changed_verdict_is_not_accepted():
    release = recon.load(FOREST)
    found = people(release, some_people(release), Limits(), show_rows=True)
    for place, verdict in (
        ("rows", "impossible"),
        ("rows", "possible"),
        ("facts", "impossible"),
        ("facts", "possible"),
    ):
        changed = document(found)
        where = changed["profiles"]["rows"] if place == "rows" else changed["facts"]["profiles"]
        where[0]["verdict"] = verdict
        checked = verify(changed, release)
        assert checked.bare or checked.inconsistent, (place, verdict)
    moved = document(found)
    moved["facts"]["profiles"][0]["position"] = 77  # of nobody who is told
    assert verify(moved, release).bare
    other = document(found)
    other["profiles"]["rows"][0]["profile_values"] = {**other["profiles"]["rows"][0]["profile_values"], "priors": "=0"}
    assert verify(other, release).bare


def test_verdicts_without_their_certificates_are_called_bare():
    release = recon.load(FOREST)
    checked = verify(document(people(release, some_people(release), Limits())), release)
    assert not checked.checked
    assert len(checked.bare) == 10


def test_what_a_policy_says_and_rows_that_are_shown_are_no_claims():
    leaves = [{"if": {"status": "single"}, "then": 1, "else": 2}, {"count": 2}, {"count": 1}]
    attributes = [{"name": "status", "values": ["single", "married"]}, {"name": "age", "values": [24, 36]}]
    release = encoded(
        {"recon": 1, "domain": {"attributes": attributes}, "models": [{"kind": "tree", "nodes": leaves}], "rows": 3}
    )  # with an attribute that is called like a claim
    found = document(people(release, some_people(release, 2), Limits(), show_rows=True))
    found["assessment"] = {"verdict": "do not release", "checks": [{"threshold": ["certain"], "status": "met"}]}
    found["persons"] = {"most_exposed": [{"position": 0, "row": {"status": "single", "age": 24}}]}
    checked = verify(found, release)
    assert checked.verified
    assert not checked.inconsistent
    assert not checked.bare
    assert "assessment" in checked.unchecked
    found["persons"]["most_exposed"][0]["row"] = {"status": "unsat", "smuggled": 1}
    assert verify(found, release).bare or verify(found, release).inconsistent


@pytest.mark.slow
def test_seals_are_those_that_certify_gives(tmp_path, capsys):
    release = recon.load(FOREST)
    given = some_people(release).iloc[:4]
    given.to_csv(tmp_path / "people.csv", index=False)
    _, out, _ = run(capsys, "certify", FOREST, "--profiles", tmp_path / "people.csv", "--json", "--quiet")
    seals = [one["certificate"]["seal"] for one in json.loads(out)]
    table = recon.readers.frames.selections.read_table(str(tmp_path / "people.csv"))
    assert [one["certificate"] for one in by_position(people(release, table, Limits()))] == seals


@pytest.mark.slow
def test_the_command_verify_accepts_the_document(tmp_path, capsys):
    release = recon.load(FOREST)
    audited = recon.audit(release).to_dict()
    audited |= document(people(release, some_people(release), Limits(), show_rows=True))
    audited["assessment"] = {"outcome": "violated", "verdict": "do not release"}
    (tmp_path / "result.json").write_text(json.dumps(audited))
    code, out, _ = run(capsys, "verify", tmp_path / "result.json", FOREST, "--quiet")
    assert "REJECTED" not in out, out
    assert "some training row" in out, out
    assert (code == 0) == ("not certified" not in out), out
    assert "profiles" not in "".join(line for line in out.splitlines() if line.startswith("not certified")), out


def test_what_limits_leave_open_is_unknown():
    release = recon.load("examples/releases/compas_forest.pkl")
    given = pd.DataFrame([{a.name: 0 for a in release.domain.all}])
    found = people(release, given, Limits(seconds=0.0))
    (one,) = found["rows"]
    assert one["verdict"] == "unknown"
    assert one["probability"] is None
    assert one["convention"] is None
    assert "not decided" in one["why"]
    assert "not decided" in who_lines(found, None)[0]


def test_noisy_counts_are_told_at_their_confidence():
    release = recon.load(NOISY)
    found = people(release, some_people(release), Limits())
    kinds = {one["verdict"] for one in found["rows"]}
    assert "certain" not in kinds
    assert "possible" in kinds
    likely = [one for one in found["rows"] if one["probability"] is not None]
    assert likely
    assert all(one["convention"].startswith("counts: ") for one in likely)
    partial = people(release, pd.DataFrame([{"ill": "yes"}], dtype=object), Limits())["rows"][0]
    assert partial["verdict"] == "possible"
    assert "at confidence 0.95" in partial["why"]


def test_an_unknown_column_is_refused_and_names_are_kept_out_of_profiles():
    release = recon.load("tests/golden/tree_classes.json")
    given = recon.reconstruct(release).to_frame().head(1).astype(object)
    with pytest.raises(ReleaseError, match="'shoe' is neither an attribute nor a column"):
        people(release, given.assign(shoe=44), Limits())
    named = given.assign(ID="007")
    assert people(release, named, Limits(), show_rows=True)["rows"][0]["name"] == "007"
    assert "ID" not in people(release, named, Limits(), show_rows=True)["rows"][0]["profile_values"]
    nobody = people(release, given.iloc[:0], Limits())
    assert nobody == {"rows": [], "rows_in_all": 0, "shown": False, "verdicts": {}, "positions": {}}
    assert who_lines(nobody, None) == ["no profiles were given"]


def test_words_are_inert_and_percentages_do_not_round_to_certainty():
    hostile = "<script>\n\x1b[31m\u202ealert(1)" + "x" * 10_000
    one = {"position": 0, "name": hostile, "verdict": "possible", "probability": 0.5, "convention": hostile,
           "certificate": None, "why": hostile}  # fmt: skip
    lines = who_lines({"rows": [one], "rows_in_all": 1, "shown": True}, None)
    text = "".join(lines)
    assert len(lines) == 3
    assert not set("\n\x1b\u202e") & set(text)
    assert len(text) < 3_000
    assert _percent(0.99999) == "above 99.9 %"
    assert _percent(1e-9) == "below 0.1 %"
    assert _percent(0.25) == "25.0 %"
    assert _percent(1.0) == "100.0 %"
    assert _percent(0.0) == "0.0 %"
