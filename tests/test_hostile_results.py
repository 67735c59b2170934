"""`recon verify` on results made to hang it, to open what is nobody's business, or to say more than is proved."""

from __future__ import annotations

import copy
import json
import os
import random
from pathlib import Path

import oracle
import oracle_coupled
import pandas as pd
import plain_checker
import pytest
from extras import encoded, run, with_seal
from test_against_oracle import random_profile

import recon
from encoders.domain.patterns import span
from recon.queries.certificates.certificate_format import claim_of
from recon.queries.certificates.issuing import contradiction_certificate
from recon.queries.certificates.verifying import verify
from recon.queries.questions.line_proofs import line_proofs
from solvers.foundation.errors import CertificateError, ReleaseError
from solvers.foundation.exact import exact_number
from solvers.foundation.limits import Limits
from solvers.kernel.checker import Verifier
from solvers.kernel.claims import AtLeast, AtMost, NoWorld, Possible, RegionProof, Witness
from solvers.kernel.proof_format import proof_from, proof_json
from solvers.statements.boxes import Box

ROOT = Path(__file__).parents[1]
TWO = str(ROOT / "examples" / "releases" / "two_trees.json")
HUGE = [
    "1e-999999999",
    "1e999999999",
    "-1E+99999999",
    f"1/{'9' * 5000}",
    "0." + "0" * 5000 + "1",
    "9" * 5000,
    "1/0",
    "nan",
]


@pytest.fixture
def checking(tmp_path, capsys):
    """Return a function that writes a result and verifies it."""

    def check(data, *options, files=(TWO,)):
        path = tmp_path / "result.json"
        path.write_text(json.dumps(data))
        return run(capsys, "verify", str(path), *files, *options)

    return check


@pytest.fixture
def certified(tmp_path, capsys):
    """Return what certify --json says of three profiles: impossible, certain twice."""
    people = tmp_path / "people.csv"
    people.write_text("smoker,age\n1,young\n1,old\n0,old\n")
    return json.loads(run(capsys, "certify", TWO, "--profiles", str(people), "--json")[1])


# ---------------------------------------------------------------- numbers and files


@pytest.mark.parametrize("text", HUGE)
def test_numbers_are_bounded_before_they_are_built(text, checking, certified):
    with pytest.raises(ReleaseError, match="number"):
        exact_number(text)
    with pytest.raises(ReleaseError):
        recon.load(str(ROOT / "examples" / "releases" / "noisy_tree.json"), confidence=text)
    assert span(f"<={text}") is None
    changed = with_seal({k: v for k, v in certified[0]["certificate"].items() if k != "seal"}
                     | {"recon_certificate": 2, "confidence": text})  # fmt: skip
    code, out, _ = checking([certified[1], {"certificate": changed}])
    assert code == 1
    assert "is not a number in (0, 1)" in out
    assert "certified (propagation): some training row has smoker = 1 and age = old" in out


@pytest.mark.parametrize("text", ["1/20", "0.05", " 5e-2 ", "+.05", "500E-4", f"{10**900}/{2 * 10**901}"])
def test_numbers_are_read_as_they_are_written(text):
    assert exact_number(text) * 20 == 1


def named_file(certificate: dict, name: object) -> dict:
    """Return a certificate that stands in a file of some name."""
    kept = ("recon_certificate", "release_files", "release_sha256", "statements_sha256", "claim")
    return {key: certificate[key] for key in kept} | {"file": name, "sha256": "0" * 64}


def test_only_regular_files_in_chosen_folders_are_opened(tmp_path, checking, certified):
    inner = tmp_path / "inner"
    inner.mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.json").symlink_to("/proc/self/environ")
    (tmp_path / "up").symlink_to("/")
    (tmp_path / "loop").symlink_to("loop")
    outside = tmp_path.parent / f"{tmp_path.name}.outside.json"
    outside.write_text("secret")
    names = ["pipe", "/dev/zero", "/proc/kmsg", "/proc/self/mem", "link.json", "up/etc/passwd", "loop", "inner", "",
             "x" * 5_000, "a/" * 2_000, "\0", "../" + outside.name, str(outside),
             "/etc/passwd", None, 5, ["x"], {}]  # fmt: skip
    good, bad = certified[1], certified[0]["certificate"]
    code, out, err = checking([good, *({"certificate": named_file(bad, name)} for name in names)], "--json")
    assert code == 1, err
    said = json.loads(out)
    assert said["verified"] == 3
    assert len(said["rejected"]) == len(names)
    reasons = [one["reason"] for one in said["rejected"]]
    assert all("not a regular file inside" in why or "not a name of a file" in why for why in reasons), reasons
    assert all(len(why) < 500 for why in reasons)
    for name in names:
        released = copy.deepcopy(good)
        released["certificate"]["release_files"] = [name]
        code, out, err = checking(released, files=())
        assert (code, out) == (3, ""), (name, out, err)
        assert "root:" not in err
        assert "secret" not in err
        assert len(err) < 1000


def test_what_a_named_release_holds_is_not_told(tmp_path, checking, certified, capsys):
    (tmp_path / "private.txt").write_text("the password is swordfish")
    released = copy.deepcopy(certified[0])
    released["certificate"]["release_files"] = ["private.txt"]
    code, out, err = checking(released, files=())
    assert (code, "swordfish" in out + err, "the pass" in out + err) == (3, False, False)
    code, _, err = checking(released, files=(str(tmp_path / "private.txt"),))  # the user named it
    assert (code, "the pass" in err) == (3, True)


def test_certificates_and_releases_in_a_folder_that_was_named(tmp_path, capsys):
    people, proofs, results = tmp_path / "people.csv", tmp_path / "proofs", tmp_path / "results"
    people.write_text("smoker,age\n1,young\n,old\n")
    results.mkdir()
    release = tmp_path / "release.json"
    release.write_bytes(Path(TWO).read_bytes())
    out = results / "r.json"
    command = ("certify", str(release), "--profiles", str(people), "--json", "--certificates", str(proofs))
    assert run(capsys, *command, "--out", str(out))[0] == 0
    code, said, _ = run(capsys, "verify", str(out), str(release))
    assert (code, "--certificates" in said) == (1, True)
    assert run(capsys, "verify", str(out), str(release), "--certificates", str(proofs))[0] == 0
    assert run(capsys, "verify", str(out), "--certificates", str(tmp_path))[0] == 0
    assert run(capsys, "verify", str(out), "--certificates", str(proofs))[0] == 3  # the release is not in there
    proofs.rename(tmp_path / "moved")
    assert run(capsys, "verify", str(out), str(release), "--certificates", str(tmp_path / "moved"))[0] == 0


# ---------------------------------------------------------------- claims


def test_what_nothing_proves_is_named_and_ends_with_4(checking, certified):
    """Beside valid certificates: each of these passed with exit 0 before."""
    good, who = certified[1], {"smoker": 0, "age": "young"}
    for claim, told in (
        ({"verdict": "possible", "profile_values": who, "certificate": None}, "'possible'"),
        ({"verdict": "certain", "profile_values": who}, "'certain'"),
        ({"verdict": "outside"}, "'outside'"),
        ({"datasets": "1"}, "datasets '1'"), ({"datasets": 7}, "datasets 7"), ({"datasets": ["x"]}, "datasets"),
        ({"worlds": "1"}, "datasets '1'"), ({"worlds": "9", "convention": "multiset"}, "datasets '9'"),
        ({"answer": "certain"}, "x.answer: 'certain'"), ({"is": {"deep": ["x", [" Impossible "]]}}, "x.is.deep[1][0]"),
        ({"certain": True}, "x.certain: True"), ({"Verdict": "no"}, "x.Verdict"), ({"MIN COUNT": 3}, "x.MIN COUNT"),
        ({"rows": [{"verdict": "certain"}]}, "x.rows[0]"), ({"regions": [{"verdict": "possible"}]}, "x.regions[0]"),
        ({"truth": {"verdict": "certain"}}, "x.truth"),
        ({"profile_values": {"verdict": "certain"}}, "x.profile_values"),
        ({"min_count": 1}, "min_count 1"), ({"max_count": 0}, "max_count 0"),
        ({"min_count": 1, "profile_values": who}, "min_count 1"),
        ({"max_count": 2, "profile_values": who}, "max_count 2"),
        ({"unique": True, "rows": []}, "the only world"), ({"status": "unsat"}, "no world"),
        ({"without_row_order": {"status": None, "datasets": "0"}}, "no world"), ({"worlds": 0}, "no world"),
    ):  # fmt: skip
        code, out, _ = checking({"honest": good, "x": claim})
        assert code == 4, (claim, out)
        assert any(told in line for line in out.splitlines() if line.startswith("not certified")), (claim, out)
    code, out, _ = checking(["certain", good])
    assert (code, "not certified" in out) == (4, True)


@pytest.mark.slow
def test_an_audit_with_remedies_is_verified_and_its_figures_are_listed(tmp_path, capsys):
    """Figures of remedies, and how many datasets fit, never have a proof: an audit is not rejected for them."""
    result, tree = tmp_path / "result.json", str(Path(__file__).parent / "golden" / "tree_classes.json")
    arguments = ["audit", tree, "--json", "--remedies", "--time", "5", "--out", str(result)]
    assert run(capsys, *arguments)[0] == 0
    document = json.loads(result.read_text(encoding="utf-8"))
    assert any(one["status"] == "not tried" for one in document["remedies"])

    def code(changed):
        result.write_text(json.dumps(changed), encoding="utf-8")
        return run(capsys, "verify", str(result), str(tree))

    ended, out, _ = code(document)
    assert (ended, out.startswith("nothing to verify: ")) == (0, True)  # an audit claims nothing of what is certified
    assert "not certified" not in out
    assert "not checked, these never have a proof: datasets" in out
    for change in (
        {"datasets": "1"}, {"datasets": 256}, {"datasets": "0256"}, {"worlds": "0"}, {"status": "unsat"},
        {"unique": True, "rows": []}, {"audit": True}, {"audit": None}, {"x": {"datasets": "7"}},
    ):  # fmt: skip
        ended, out, _ = code(document | change)
        assert ended in {1, 4}, change
        assert "not certified" in out or "REJECTED" in out


def test_counts_that_certificates_refute_are_rejected(checking, certified):
    (line,) = [one for one in certified if one["profile_values"] == {"smoker": 1, "age": "old"}]
    assert (line["min_count"], line["max_count"]) == (2, 2)
    for key, value, code in (
        ("min_count", 3, 1), ("max_count", 1, 1), ("min_count", 1, 0), ("min_count", "1", 0), ("max_count", 3, 0),
        ("min_count", True, 1), ("max_count", "many", 1), ("max_count", 2.5, 1), ("min_count", None, 0),
    ):  # fmt: skip
        found, out, _ = checking([line | {key: value}])
        assert found == code, (key, value, out)
    assert checking([line | {"verdict": "outside", "certificate": None}])[0] == 1
    missing = line | {"verdict": "outside", "certificate": None, "min_count": None, "max_count": None}
    other = missing | {"profile_values": {"smoker": 7, "age": "old"}}
    assert checking([line, other])[0] == 0


def test_what_never_has_a_proof_is_listed(checking, certified):
    odd = {"probability": 0.3, "entropy_bits": 5, "seconds": 1.0, "trail": ["certain"], "comment": "x"}
    code, out, _ = checking([certified[1] | odd], "--json")
    assert code == 0
    said = json.loads(out)
    assert said["not_certified"] == []
    assert {"probability", "entropy_bits", "seconds", "comment", "expected_count"} <= set(said["not_checked"])
    assert "min_count" not in said["not_checked"]
    code, out, _ = checking([certified[1] | odd])
    assert "not checked, these never have a proof: " in out


def test_a_result_without_certificates_is_refused_as_before(checking):
    code, _, err = checking([{"verdict": "possible"}], files=())
    assert (code, "holds no certificate" in err) == (3, True)
    code, out, _ = checking([{"verdict": "possible"}])
    assert (code, "nothing is certified" in out) == (4, True)


@pytest.mark.slow
def test_honest_results_verify_and_false_ones_never_do():
    """Random coupled releases against all their datasets: every line's claims are proved, and changed ones are not."""
    rng, kinds, possible = random.Random("line proofs"), set(), 0
    for _ in range(15):
        release, truth = oracle_coupled.random_coupled(rng)
        got = encoded(release)
        profiles = [random_profile(rng, release, truth, full=k % 2 == 0) for k in range(4)]
        frame = pd.DataFrame(profiles, dtype=object)
        found = recon.certify(got, frame)
        proofs = line_proofs(got, frame, found, Limits())
        lines = json.loads(found.drop(columns="certificate").to_json(orient="records"))
        told = [line | {"profile_values": who, "certificate": c, "proofs": p}
                for line, who, c, p in zip(lines, profiles, found["certificate"], proofs, strict=True)]  # fmt: skip
        told = json.loads(json.dumps(told))
        checked = verify(told, got)
        assert not checked.rejected
        assert not checked.inconsistent
        assert not checked.bare, (release, checked.bare)
        kinds |= {c.kind for c in checked.verified}
        for i, line in enumerate(told):
            possible += line["verdict"] == "possible"
            for key, by in (("min_count", 1), ("max_count", -1)):
                changed = copy.deepcopy(told)
                changed[i][key] = line[key] + by
                again = verify(changed, got)
                ends = (key == "max_count" and line[key] + by < 0) or line["verdict"] == "impossible"
                assert again.bare or again.inconsistent or ends, (release, line)
            if line["verdict"] == "impossible":
                claim = with_seal(line["certificate"] | {"claim": {"profile": profiles[i], "possible": True}})
                assert verify(claim, got).rejected
    assert {"world", "regions"} <= kinds
    assert possible > 5


def test_worlds_prove_what_is_possible_and_nothing_else():
    release = recon.load(TWO)
    verifier, world = Verifier(release.statements), Witness(((0, 1), (1, 1)), (1, 2))
    verifier.verify(Possible(Box(((0, 2),))), world)
    assert proof_from(json.loads(json.dumps(proof_json(world)))) == world
    for claim, proof, why in (
        (Possible(Box(((1, 1),))), world, "no row of the world"),
        (Possible(Box()), Witness(((0, 1), (1, 1)), (2, 1)), "says otherwise"),
        (Possible(Box()), Witness(((0, 1), (1, 1)), (1, 1)), "says otherwise"),
        (Possible(Box()), Witness(((0, 1), (1, 1)), (1,)), "how often"),
        (Possible(Box()), Witness(((0, 1), (0, 1), (1, 1)), (1, 1, 1)), "twice"),
        (Possible(Box()), Witness(((0, 1), (1, 9)), (1, 2)), "does not exist"),
        (Possible(Box()), Witness((), ()), "says otherwise"),
        (Possible(Box(((1, 1),))), Witness(*world_parts(world), (1, (1, 0))), "tells"),
        (Possible(Box()), Witness(*world_parts(world), (7, (1, 1))), "no row 7"),
        (Possible(Box()), Witness(*world_parts(world), (-1, (1, 1))), "no row -1"),
        (Possible(Box()), RegionProof((0,)), "nothing else does"),
        (AtLeast(Box(), 1), world, "proves nothing else"),
        (AtMost(Box(), 9), world, "proves nothing else"),
        (NoWorld(), world, "proves nothing else"),
    ):
        with pytest.raises(CertificateError, match=why):
            verifier.verify(claim, proof)
    for said in (
        {"profile": {}, "possible": False},
        {"profile": {}, "possible": 1},
        {"profile": {}, "possible": True, "x": 1},
    ):
        with pytest.raises(CertificateError):
            claim_of(said, release)


@pytest.mark.slow
def test_changed_worlds_prove_only_what_is_true():
    """Witnesses with other rows, times, exchanges and profiles, sealed anew: what is accepted is possible indeed."""
    rng, accepted, refused = random.Random("worlds"), 0, 0
    for _ in range(16):
        release, truth = oracle_coupled.random_coupled(rng)
        got = encoded(release)
        profiles = [random_profile(rng, release, truth, full=k % 2 == 0) for k in range(4)]
        frame = pd.DataFrame(profiles, dtype=object)
        plain = plain_checker.Checker(release, plain_checker.starts_of(got))
        proofs = [p for one in line_proofs(got, frame, recon.certify(got, frame), Limits()) for p in one]
        for certificate in (p for p in proofs if p["proof"]["kind"] == "world"):
            for _ in range(8):
                changed = json.loads(json.dumps(certificate))
                proof, what = changed["proof"], rng.randrange(4)
                if what == 0:
                    changed["claim"]["profile"] = rng.choice(profiles)
                elif what == 1:
                    row = rng.choice(proof["rows"])
                    row[rng.randrange(len(row))] += rng.choice((-1, 1))
                elif what == 2:
                    proof["times"][rng.randrange(len(proof["times"]))] += rng.choice((-1, 1))
                else:
                    row = list(rng.choice(proof["rows"]))
                    row[rng.randrange(len(row))] = rng.randrange(3)
                    proof["instead"] = [rng.randrange(len(proof["rows"])), row]
                try:
                    plain.check(json.loads(json.dumps(changed)))
                    holds = True
                except plain_checker.Rejected:
                    holds = False
                (checked,) = verify(with_seal(json.loads(json.dumps(changed))), got).checked
                refused += bool(checked.error)
                assert holds != bool(checked.error), (release, changed, checked.error)
                if not checked.error:
                    accepted += 1
                    verdict = oracle.membership(release, changed["claim"]["profile"], "ordered")["verdict"]
                    assert verdict != "impossible", (release, changed)
    assert min(accepted, refused) > 30, (accepted, refused)


def world_parts(world: Witness) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Return the rows and times of a world."""
    return world.parts, world.times


def test_a_row_stands_for_another_that_no_statement_tells_from_it():
    """Six values, one tree that cuts between 2 and 3: every value below is possible, by one world."""
    nodes = [{"if": {"a": {"at_most": 2}}, "then": 1, "else": 2}, {"count": 1}, {"count": 0}]
    attributes = [{"name": "a", "min": 0, "max": 5}, {"name": "b", "values": [0, 1]}]
    table = {"kind": "table", "statements": [{"where": {"b": 1}, "count": 1}]}
    got = encoded({"recon": 1, "rows": 1, "domain": {"attributes": attributes, "source": "declared"},
                   "models": [{"kind": "tree", "nodes": nodes}, table]})  # fmt: skip
    frame = pd.DataFrame([{"a": a, "b": b} for a in range(6) for b in (0, 1)], dtype=object)
    found = recon.certify(got, frame)
    proofs = line_proofs(got, frame, found, Limits())
    said = [(v, [next(k for k in ("possible", "at_most", "at_least") if k in p["claim"]) for p in one])
            for v, one in zip(found["verdict"], proofs, strict=True)]  # fmt: skip
    assert [v for v, _ in said] == ["impossible", "possible"] * 3 + ["impossible"] * 6
    assert all(("possible" in kinds) == (v == "possible") for v, kinds in said)


@pytest.mark.slow
def test_a_confidence_that_is_none_lowers_nothing(checking, certified):
    """Beside a valid certificate, "at confidence 0" passed as proved: nothing is proved at 0 indeed."""
    good, who = certified[1], {"smoker": 0, "age": "old"}
    for level in (0, 0.0, -1, -1e300, 2, "0", False, None):
        for claim in ({"verdict": "impossible"}, {"min_count": 1_000}, {"max_count": 0}, {"datasets": "1"}):
            code, out, _ = checking({"honest": good, "x": claim | {"confidence": level, "profile_values": who}})
            assert (code, "not certified, no certificate proves it: x: " in out) == (4, True), (level, claim, out)


def test_claims_are_found_in_every_disguise(checking, certified):
    """What looks like a certificate where none is looked for, numbers written otherwise, groups by verdict."""
    good, who = certified[1], {"smoker": 0, "age": "old"}
    false = {"recon_certificate": 1, "verdict": "impossible", "profile_values": who}
    for claim, told in (
        ({"truth": false}, "x.truth: 'impossible'"), ({"regions": [{"a": false}]}, "x.regions[0].a: 'impossible'"),
        ({"rows": [false]}, "x.rows[0]: 'impossible'"), ({"rows": [{"x": {"unique": True, **false}}]}, "only world"),
        ({"Worlds": 0}, "x.Worlds: 0"), ({"Max Count": 0}, "x.Max Count: 0"), ({"DATASETS": 0.0}, "x.DATASETS: 0.0"),
        ({"worlds": 0.0}, "worlds 0.0"), ({"worlds": "00"}, "worlds '00'"), ({"worlds": " 0"}, "worlds ' 0'"),
        ({"datasets": 0.0}, "datasets 0.0"), ({"worlds": 1.0}, "worlds 1.0"), ({"worlds": "+1"}, "worlds '+1'"),
        ({"worlds": [0]}, "worlds [0]"), ({"worlds": {"value": "0"}}, "worlds"), ({"datasets": False}, "datasets"),
        ({"impossible": [who]}, "x.impossible[0]: 'impossible'"), ({"Certain": who}, "x.Certain: 'Certain'"),
    ):  # fmt: skip
        code, out, _ = checking({"honest": good, "x": claim})
        assert code == 4, (claim, out)
        assert any(told in line for line in out.splitlines() if line.startswith("not certified")), (claim, out)


def test_what_is_proved_at_nearly_1_is_not_proved_for_certain(tmp_path, checking):
    """Noise that 1 - 1e-21 leaves out is improbable, not impossible: as a float that confidence is 1."""
    table = {"kind": "table", "statements": [{"where": {"a": 0}, "count": 3}, {"where": {"b": 1}, "count": 8}]}
    noise = {"law": "discrete_laplace", "scale": 0.1}
    noisy = {"kind": "table", "noise": noise, "statements": [{"where": {"a": 1}, "count": 0}]}
    attributes = [{"name": "a", "values": [0, 1]}, {"name": "b", "values": [0, 1]}]
    release = {"recon": 1, "rows": {"at_least": 3, "at_most": 10}, "models": [table, noisy]}
    path = tmp_path / "nearly.json"
    path.write_text(json.dumps(release | {"domain": {"attributes": attributes, "source": "declared"}}))
    level = "0." + "9" * 21
    none = contradiction_certificate(recon.load(str(path), confidence=level), None)
    assert recon.load(str(path), confidence=level).confidence < 1
    assert recon.load(str(path), confidence=1).confidence == 1
    assert none is not None
    assert none["confidence"] == f"{'9' * 21}/1{'0' * 21}"
    code, out, _ = checking(none, files=(str(path),))
    assert (code, out.startswith("proved (")) == (0, True), out
    for claim in ({"status": "unsat", "worlds": "0"}, {"status": "empty"}, {"status": "empty", "confidence": 1.0}):
        code, out, _ = checking(claim | {"certificate": none}, files=(str(path),))
        assert (code, "its certificate holds only at confidence" in out) == (1, True), (claim, out)
    line = {"verdict": "impossible", "profile_values": {"a": 1}, "confidence": 1.0}
    assert checking([{"certificate": none, "status": "empty", "confidence": 0.99}, line], files=(str(path),))[0] == 4
