"""Certificates at a confidence over the noise: held against every dataset of a tiny domain, and against tampering."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path

import oracle_noisy
import pandas as pd
import pytest
from extras import with_seal
from oracle_noisy import Enumerated
from test_noisy_commands import NOISY, tree, write  # noqa: F401 - fixtures
from test_noisy_oracle import profiles, range_of

import recon
from recon.queries.certificates.certificate_format import level_of
from recon.queries.certificates.issuing import contradiction_certificate
from recon.queries.certificates.verifying import verify

LEVEL = 0.8
EMPTY = tree([[31, -2], [3, 20], [4, 1]], rows=100)


def errors(certificate, got):
    return [c.error for c in verify(json.loads(json.dumps(certificate)), got).checked]


def claim_holds(said, worlds, release):
    """Tell whether a claim is true of these datasets."""
    if "worlds" in said:
        return not worlds
    if not worlds:
        return True
    low, high = range_of(worlds, release, said["profile"])
    return low >= said["at_least"] if "at_least" in said else high <= said["at_most"]


def forged(rng, certificate):
    """Return the certificate with another confidence or claim, sealed anew as a forger would."""
    changed = copy.deepcopy(certificate)
    kind = rng.choice(["higher", "lower", "sure", "claim"])
    if kind == "sure":
        changed.pop("confidence", None)
        changed["recon_certificate"] = 1
    elif kind == "claim" and "profile" in changed["claim"]:
        changed["claim"]["profile"].popitem()
    else:
        changed |= {"recon_certificate": 2, "confidence": 0.3 if kind == "lower" else 0.999}
    return with_seal({key: value for key, value in changed.items() if key != "seal"})


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("batch", range(3))
def test_verdicts_and_empty_sets_are_proved_at_their_confidence(encoded, batch):
    rng, made = random.Random(f"certificates {batch}"), {"at_most": 0, "at_least": 0, "worlds": 0}
    below = 0
    for _ in range(40):
        release = oracle_noisy.random_noisy(rng)
        got, listed = encoded(release), Enumerated(release)
        if listed.close_to_an_end(LEVEL) or got.certain:
            continue
        here, worlds = got.at_confidence(LEVEL), listed.confident(LEVEL)
        asked = profiles(rng, release)
        if worlds:
            lines = recon.certify(here, asked).to_dict("records")
            found = [(line, line["certificate"]) for line in lines]
        else:
            found = [(None, contradiction_certificate(here, None))]
        for line, certificate in found:
            settled = line is None or line["verdict"] in {"impossible", "certain"} or line["min_count"] > 0
            assert (certificate is not None) == settled, (release, line)
            if certificate is None:
                continue
            said, level = certificate["claim"], float(level_of(certificate))
            made[next(key for key in made if key in said)] += 1
            below += level < 1
            assert level == (LEVEL if line is None else line["confidence"])
            assert errors(certificate, got) == [""], (release, said)
            assert claim_holds(said, listed.confident(level), release), (release, said)
            other = forged(rng, certificate)
            if errors(other, got) == [""]:  # then it must be true, at the level that it names
                at = float(level_of(other))
                assert listed.close_to_an_end(at) or claim_holds(other["claim"], listed.confident(at), release)
    assert min(made.values()) > 0, made
    assert below > 10


@pytest.mark.slow
def test_results_of_commands_are_verified_and_changes_are_not(write, run, tmp_path):  # noqa: F811 - the fixtures
    people, path, result = write("a,b,y\n3,x,1\n,,0\n7,x,1\n", "p.csv"), write(NOISY), str(tmp_path / "result.json")
    run("certify", path, "--profiles", people, "--json", "--out", result)
    said = run("verify", result).stdout
    assert "proved (regions): at confidence 0.95, some training row has y = 0" in said
    assert "certified (" not in said
    assert "jointly at confidence 0.95" in said
    assert "26 to 36" in run("verify", result, "--steps").stdout
    lines = json.loads(Path(result).read_text(encoding="utf-8"))
    (at,) = [i for i, line in enumerate(lines) if line["certificate"] is not None]
    for key, value, words in (
        ("confidence", 0.99, "only at confidence 0.95"),
        ("confidence", 1.0, "the verdict is possible, though there are 62 rows at least"),
        ("min_count", 0, "its certificate says"),
        ("verdict", "impossible", "the verdict is impossible, with 62 rows at least and 81 at most"),
        ("verdict", "certain", "at a confidence below 1"),
    ):
        changed = copy.deepcopy(lines)
        changed[at][key] = value
        assert words in run("verify", write(changed, "changed.json"), path, code=1).stdout, (key, value)
    for change in (
        {"certificate": None, "proofs": []},  # rows that are present at a confidence need a proof as well
        {"status": "unsat"},
        {"unique": True, "rows": []},
    ):
        changed = copy.deepcopy(lines)
        changed[at] |= change
        run("verify", write(changed, "changed.json"), path, code=4 if "proofs" in change else 1)
    changed = copy.deepcopy(lines)
    del changed[at]["profile_values"]
    assert "not certified" in run("verify", write(changed, "changed.json"), path, code=4).stdout
    bare = copy.deepcopy(lines)
    bare[0] |= {"min_count": 1}
    assert "not certified" in run("verify", write(bare, "changed.json"), path, code=4).stdout
    bare[0] |= {"min_count": 7}  # beside the proof of at most 3
    assert "REJECTED at [0]: min_count is 7" in run("verify", write(bare, "changed.json"), path, code=1).stdout
    weaker = copy.deepcopy(lines)
    weaker[at]["confidence"] = 0.9  # what holds in wider intervals holds in these
    run("verify", write(weaker, "weaker.json"), path)
    for bad in (1, 0, -0.5, 1.5, "x", True, None, "1/0"):
        changed = copy.deepcopy(lines)
        certificate = changed[at]["certificate"] | {"confidence": bad}
        changed[at]["certificate"] = with_seal({k: v for k, v in certificate.items() if k != "seal"})
        assert "REJECTED" in run("verify", write(changed, "changed.json"), path, code=1).stdout, bad


def test_certificates_in_files_of_their_own_keep_their_confidence(write, run, tmp_path):  # noqa: F811
    people, path, result = write("a,b,y\n,,0\n", "p.csv"), write(NOISY), tmp_path / "result.json"
    run("certify", path, "--profiles", people, "--json", "--out", result, "--certificates", tmp_path / "proofs")
    assert "at confidence 0.95" in run("verify", result).stdout
    lines = json.loads(result.read_text(encoding="utf-8"))
    lines[0]["certificate"]["confidence"] = 0.99
    assert "certifies something else" in run("verify", write(lines, "changed.json"), path, code=1).stdout


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", ["audit", "count"])
def test_an_empty_confidence_set_is_reported_with_its_proof(write, run, tmp_path, command):  # noqa: F811
    path = write(EMPTY)
    told = run(command, path, code=4)
    assert "proved (propagation): at confidence 0.95, there is no possible training set" in told.stdout
    assert "beyond confidence 0.997061 there is one" in told.stdout
    assert "certified" not in told.stdout
    found = json.loads(run(command, path, "--json", code=4).stdout)
    assert (found["status"], found["confidence"]) == ("empty", 0.95)
    assert "the number of rows: at least 100" in found["conflict"]
    # Beyond 1 - improbability, and no sooner, there is a dataset.
    edge = 1 - found["improbability"]
    assert recon.count(recon.load(path).at_confidence(round(edge + 1e-7, 9))).status == "exact"
    below = json.loads(run(command, path, "--json", "--confidence", round(edge - 1e-7, 9), code=4).stdout)
    changed = found | {"status": "unsat", "worlds": "0"}
    assert "only at confidence 0.95" in run("verify", write(changed, "result.json"), path, code=1).stdout
    run("verify", write(found | {"status": "exact", "worlds": "0"}, "result.json"), path, code=1)
    run("verify", write(found | {"certificate": None}, "result.json"), path, code=4)
    for one in (found, below):
        run("verify", write(one, "result.json"), path)
        one["confidence"] = 0.9999
        assert "only at confidence" in run("verify", write(one, "result.json"), path, code=1).stdout
    if command == "audit":
        run("audit", path, "--out", tmp_path / "report.html", code=4)
        assert "No dataset has all its noise" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_exact_releases_have_no_confidence_to_speak_of(write):  # noqa: F811
    exact = tree([[31, 0], [3, 20], [41, 9]])
    exact["models"] = [{k: v for k, v in exact["models"][0].items() if k != "noise"}]
    got = recon.load(write(exact))
    (certificate,) = recon.certify(got, pd.DataFrame([{"a": 3, "y": 1}]))["certificate"]
    assert errors(certificate, got) == [""]
    head = {k: v for k, v in certificate.items() if k != "seal"}
    (error,) = errors(with_seal(head | {"recon_certificate": 2, "confidence": 0.95}), got)
    assert "no noise is unbounded" in error
    (error,) = errors(with_seal(head | {"confidence": 0.95}), got)
    assert "confidence" in error
    (error,) = errors(with_seal(head | {"recon_certificate": 2}), got)
    assert "confidence" in error


def test_rows_that_were_given_are_given_to_verify_too(write, run, tmp_path):  # noqa: F811
    exact = {**copy.deepcopy(NOISY)}
    del exact["rows"]
    path, people, result = write(exact), write("a,b,y\n,,0\n", "p.csv"), tmp_path / "result.json"
    run("certify", path, "--rows", 100, "--profiles", people, "--json", "--out", result)
    assert "--rows" in run("verify", result, code=1).stdout
    assert "proved" in run("verify", result, "--rows", 100).stdout


@pytest.mark.slow
def test_contradictions_beside_noise_are_certified(write, run):  # noqa: F811
    """What no noise can repair is a contradiction, whatever the confidence asked for."""
    one, other = (
        {"kind": "tree", "name": name, "nodes": [{"counts": c}]} for name, c in (("p", [1, 2]), ("q", [2, 1]))
    )
    beside = {**copy.deepcopy(NOISY), "rows": 3}
    beside["models"] += [one, other]
    bounded = tree([[31, 1], [3, 20], [41, 9]], {"law": "truncated_laplace", "scale": 1, "bound": 2}, rows=200)
    for release in (beside, bounded):
        path = write(release)
        for command in ("count", "audit"):
            found = json.loads(run(command, path, "--json", code=5).stdout)
            assert (found["status"], found["certificate"]["recon_certificate"]) == ("unsat", 1)
            assert found["conflict"]
            assert found["guarantee"] == "proved"
            assert "certified" in run("verify", write(found, "result.json"), path).stdout
