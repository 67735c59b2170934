"""`recon verify` under limits, on hostile certificates, and on results whose attributes have awkward names."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path

import pytest
from extras import with_seal

import recon
from encoders.encode.encoder import encode
from recon.cli.app import _run_app
from recon.queries.certificates.verifying import verify
from recon.readers.formats.release.parts import to_domain, to_models, to_rows
from recon.readers.formats.release.reading import parse
from solvers.foundation.errors import CertificateError, NotVerified
from solvers.foundation.limits import Limits
from solvers.kernel.checker import Verifier
from solvers.kernel.claims import AtLeast, AtMost, NoWorld, RegionProof
from solvers.kernel.proof_format import proof_from
from solvers.statements.boxes import Box

ODD = [10**4400, float("inf"), [], {}, None, True, "1", -1, 10**25]
TWO = Path(__file__).parents[1] / "examples" / "releases" / "two_trees.json"


def run(monkeypatch, capsys, *arguments):
    """Return (exit code, standard output, standard error) of a command."""
    monkeypatch.setattr("sys.argv", ["recon", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        _run_app()
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


@pytest.fixture
def long_list(tmp_path):
    """Return a rule list whose last region, a box minus 60 boxes of width 3, cannot be cut into few boxes."""
    rng = random.Random(5)
    names = [f"x{i}" for i in range(120)]
    rules = [{"if": {n: rng.randint(0, 1) for n in rng.sample(names, 3)}, "count": 1} for _ in range(60)]
    domain = {"attributes": [{"name": n, "values": [0, 1]} for n in names], "source": "declared"}
    models = [{"kind": "rule_list", "rules": [*rules, {"if": {}, "count": 9}]}]
    release = {"recon": 1, "domain": domain, "models": models}
    path = tmp_path / "long.json"
    path.write_text(json.dumps(release))
    return recon.load(path)


def test_regions_that_cannot_be_cut_end_at_the_memory_limit(long_list):
    verifier = Verifier(long_list.statements, Limits(seconds=600, memory=1 << 24))
    with pytest.raises(NotVerified, match="--memory"):
        verifier.verify(AtLeast(Box(((0, 1),)), 1), RegionProof((60,)))
    with pytest.raises(NotVerified, match="--memory"):
        verifier.verify(AtMost(Box(((0, 1),)), 9), RegionProof(tuple(range(61))))


def test_regions_that_cannot_be_cut_end_at_the_time_limit(long_list):
    verifier = Verifier(long_list.statements, Limits(seconds=0.0, memory=1 << 34))
    with pytest.raises(NotVerified, match="time"):
        verifier.verify(AtMost(Box(((0, 1),)), 9), RegionProof(tuple(range(61))))


def test_a_time_limit_is_no_rejection(monkeypatch, capsys, tmp_path):
    result = tmp_path / "r.json"
    assert run(monkeypatch, capsys, "reconstruct", TWO, "--json", "--out", result)[0] == 0
    code, out, _ = run(monkeypatch, capsys, "verify", result, TWO, "--time", 0)
    assert code == 4
    assert "NOT SETTLED" in out
    assert "REJECTED" not in out
    assert "certified (" not in out


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["verdict", "unique", "status", "certificate", "recon_certificate", "rows"])
def test_attributes_may_be_named_like_the_keys_of_results(monkeypatch, capsys, tmp_path, name):
    release, result, people = tmp_path / "t.json", tmp_path / "r.json", tmp_path / "p.csv"
    release.write_text(TWO.read_text().replace("smoker", name))
    people.write_text(f"{name},age\n1,old\n1,young\n")
    for command in (("reconstruct", release), ("certify", release, "--profiles", people), ("audit", release)):
        assert run(monkeypatch, capsys, *command, "--json", "--out", result)[0] == 0
        code, out, err = run(monkeypatch, capsys, "verify", result, release)
        assert code == 0, (command, out, err)


def test_certificates_in_files_move_with_their_result(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("results").mkdir()
    Path("a + b.json").write_text(TWO.read_text())
    command = ("reconstruct", "a + b.json", "--json", "--certificates", "results/proofs", "--out", "results/r.json")
    assert run(monkeypatch, capsys, *command)[0] == 0
    code, _, err = run(
        monkeypatch, capsys, "verify", "results/r.json"
    )  # the release stands beside the folder, not in it
    assert (code, "give the release's files" in err) == (3, True)
    assert run(monkeypatch, capsys, "verify", "results/r.json", "a + b.json")[0] == 0
    assert run(monkeypatch, capsys, "verify", "results/r.json", "--certificates", ".")[0] == 0
    Path("results").rename("moved")
    monkeypatch.chdir(tmp_path / "moved")
    assert run(monkeypatch, capsys, "verify", "r.json", "../a + b.json")[0] == 0


def test_steps_far_beyond_64_bits_are_right_or_rejected(tmp_path):
    """A sum with a huge multiplier may imply a bound far below 0: no rows are left, which is what bounds say too."""
    release = recon.load(TWO)
    verifier = Verifier(release.statements)
    far = -2 * 10**25 + 3
    proof = {
        "kind": "branching",
        "blocks": [0, 1],
        "cells": [[0, 1], [1, 1]],
        "sums": [{"over": 1, "multipliers": [[0, -(10**25)]]}],
        "tree": {
            "steps": [],
            "branch": [1, 0],
            "cases": [{"steps": [[0, "<=", far, -1]]}, {"steps": []}],
        },
    }
    with pytest.raises(CertificateError, match="the proof shows"):
        verifier.verify(NoWorld(), proof_from(proof))
    proof["tree"]["cases"][0]["steps"][0][2] = far**9
    with pytest.raises(CertificateError, match="bits"):
        verifier.verify(NoWorld(), proof_from(proof))


@pytest.mark.sampled(18)
@pytest.mark.parametrize("odd", ODD, ids=[f"odd{i}" for i in range(len(ODD))])
@pytest.mark.parametrize("where", ["over", "statement", "multiplier", "value", "block", "part", "at_most"])
def test_odd_values_end_in_a_rejection(where, odd):
    """Whatever stands in a certificate, verification says no in words."""
    release = recon.load(TWO)
    found = recon.certify(release, [{"smoker": 1, "age": "old"}])["certificate"][0]
    content = json.loads(json.dumps(found))
    content["proof"]["kind"] = "farkas"
    content["proof"]["sums"] = [{"over": 1, "multipliers": [[4, 1]]}]
    proof = content["proof"]
    if where == "at_most":
        content["claim"] = {"profile": content["claim"]["profile"], "at_most": odd}
    elif where in ("over", "statement", "multiplier"):
        one = proof["sums"][0]
        one.update(over=odd) if where == "over" else one["multipliers"][0].__setitem__(where == "multiplier", odd)
        proof["tree"]["sum"] = 0
    elif where == "value":
        proof["tree"]["steps"][0][2] = odd
    elif where == "block":
        proof["blocks"][0] = odd
    else:
        proof["cells"][0][0] = odd
    try:
        content = with_seal(content)
    except ValueError:
        content["seal"] = ""
    checked = verify([content], release).checked
    true = (where == "multiplier" and odd == -1) or (where in ("over", "at_most") and odd == 10**25)
    assert bool(checked[0].error) or true, checked


def test_every_exception_is_caught_before_the_next_certificate():
    release = recon.load(TWO)
    good = recon.certify(release, [{"smoker": 1, "age": "young"}])["certificate"][0]
    bad = [{**good, "proof": proof} for proof in (None, [], {"kind": "drat", "blocks": [0], "lines": ["1 0"]})]
    checked = verify([*map(with_seal, bad), good], release).checked
    assert [bool(c.error) for c in checked] == [True, True, True, False]


@pytest.mark.slow
def test_unused_sums_cost_nothing():
    """A hundred thousand sums over four thousand cells: none is added up before it is used."""
    names = [f"x{i}" for i in range(12)]
    domain = {"attributes": [{"name": n, "values": [0, 1]} for n in names], "source": "declared"}
    rules = [{"if": {n: 1}, "count": 1} for n in names]
    models = [{"kind": "rule_set", "rules": rules}]
    part = parse(json.dumps({"recon": 1, "domain": domain, "rows": 4, "models": models}).encode(), "rules.json")
    release = encode(to_domain(part.domain), to_models(part), to_rows(part)).statements
    sums = [{"over": 1, "multipliers": []}] * 100_000
    proof = {"kind": "farkas", "blocks": [0], "cells": [], "sums": sums, "tree": {"steps": []}}
    tracemalloc.start()
    Verifier(release).verify(AtMost(Box(), 1 << 40), proof_from(proof))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 << 20, "each sum takes 32 kB once it is added up"


def test_a_limit_met_once_is_forgotten():
    release = recon.load(TWO)
    people = [{"smoker": 1, "age": "old"}]
    cramped = recon.certify(release, people, limits=Limits(cells=1))
    assert cramped["verdict"].tolist() == ["certain"]
    assert recon.certify(release, people)["certificate"][0]["proof"]["kind"] == "propagation"
