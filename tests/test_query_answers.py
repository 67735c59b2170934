"""Counts of subsets of known people: bits found, bits proved, certificates, wrong files; against brute force."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from extras import run
from plain_queries import rejected

import recon
from recon.queries.query_answers import QueryAnswers, verify_bits
from solvers.foundation.errors import ContradictionError, ReleaseError
from solvers.foundation.exact import short_number
from solvers.kernel.subset_counts import BitProof, SubsetCounts, check_bit


def _case(seed: int, people: int, queries: int, noise: int) -> tuple[Any, Any, Any]:
    """Return members, answers and secret bits of random queries about random halves."""
    rng = np.random.default_rng(seed)
    bits, members = rng.integers(0, 2, people), (rng.random((queries, people)) < 0.5).astype(int)
    return members, members @ bits + rng.integers(-noise, noise + 1, queries), bits


@pytest.mark.parametrize("seed", range(12))
def test_whose_bits_are_certain_is_what_brute_force_says(seed: int) -> None:
    """Certain bits are those of every solution; where the relaxation is whole there are no others to find."""
    members, answers, truth = _case(seed, 7, 4 + 2 * seed, seed % 3)
    found = recon.secret_bits(recon.QueryAnswers.of("abcdefg", members, answers, seed % 3))
    fits = [x for x in product((0, 1), repeat=7) if (abs(members @ np.array(x) - answers) <= seed % 3).all()]
    fixed = [len({x[k] for x in fits}) == 1 for k in range(7)]
    assert tuple(truth) in fits
    assert found.attrs["fits"]
    assert tuple(found["bit"]) in fits
    for k, verdict in enumerate(found["verdict"]):
        assert verdict != "certain" or (fixed[k] and found["bit"][k] == fits[0][k])
        assert verdict == "certain" or found["left"][k] >= 1 - 1e-6


@pytest.mark.slow
def test_every_bit_of_60_people_is_proved_and_checked_plainly(tmp_path: Path, capsys: Any) -> None:
    """From a CSV: all right, all certain; a checker of its own and `verify` take the certificates, not changed ones."""
    members, answers, truth = _case(3, 60, 240, 2)
    frame = pd.DataFrame(members.T, columns=[f"q{k}" for k in range(240)])
    frame.insert(0, "person", [f"p{k}" for k in range(60)])
    frame.loc[60], frame.loc[61] = ["answer", *answers], ["within", *[2] * 240]
    path, result = str(tmp_path / "queries.csv"), str(tmp_path / "bits.json")
    frame.to_csv(path, index=False)
    code, _, err = run(capsys, "queries", path, "--json", "--out", result)
    found = json.loads(Path(result).read_text())
    assert (code, found["certain"], found["unique"]) == (0, 60, True)
    assert "the bits of 60 of 60 people are certain" in err
    assert [line["bit"] for line in found["people"]] == truth.tolist()
    assert all(rejected(line["certificate"], path) == "" for line in found["people"])
    code, out, _ = run(capsys, "verify", result, path)
    assert (code, "60 of 60 certificates verified" in out) == (0, True)
    one = found["people"][7]
    one["bit"] = 1 - one["bit"]
    Path(result).write_text(json.dumps(found))
    code, out, _ = run(capsys, "verify", result, path)
    assert (code, "REJECTED: p7" in out) == (1, True)
    frame.iloc[3, 5] = 1 - frame.iloc[3, 5]
    frame.to_csv(path, index=False)
    code, out, _ = run(capsys, "verify", result, path, "--json")
    assert (code, json.loads(out)["verified"]) == (1, 0)


def test_wrong_multipliers_prove_nothing() -> None:
    """The kernel takes a sum that refutes, and no other: too small ones, other queries, other people, other bits."""
    counts = SubsetCounts(np.array([[1, 1, 0], [0, 1, 1]], dtype=np.int8), np.array([2, 1]), np.array([2, 1]))
    check_bit(counts, 0, 1, BitProof((0,), (-1,)))
    for person, bit, proof in (
        (0, 0, BitProof((0,), (-1,))), (0, 1, BitProof((1,), (-1,))), (2, 1, BitProof((0,), (-1,))),
        (0, 1, BitProof((0,), (1,))), (0, 1, BitProof((0, 0), (-1, -1))), (0, 1, BitProof((5,), (-1,))),
        (0, 1, BitProof((0,), (1 << 62,))), (9, 1, BitProof((0,), (-1,))), (0, 2, BitProof((0,), (-1,))),
    ):  # fmt: skip
        with pytest.raises(recon.ReconError):
            check_bit(counts, person, bit, proof)


def test_a_certificate_is_about_its_own_queries() -> None:
    """Another file, a broken seal and another person are each refused."""
    members, answers, _ = _case(1, 8, 40, 0)
    asked = recon.QueryAnswers.of("abcdefgh", members, answers)
    found = recon.secret_bits(asked).to_dict("records")
    assert [error for _, error in verify_bits(found, asked)] == [""] * 8
    other = recon.QueryAnswers.of("abcdefgh", members, answers, 1)
    assert all("another file" in error for _, error in verify_bits(found, other))
    broken = json.loads(json.dumps(found[0]["certificate"])) | {"claim": {"person": "a", "bit": 1 - found[0]["bit"]}}
    assert "seal" in verify_bits([broken], asked)[0][1]


WRONG = [
    ("person,q0\na,1\nb,0\n", [], "one line 'answer'"),
    ("name,q0\na,1\nanswer,1\n", [], "no column 'person'"),
    ("person,q0\na,2\nanswer,1\n", ["--within", "0"], "1 or 0"),
    ("person,q0\na,1\nanswer,1\n", [], "no bound on the noise"),
    ("person,q0\na,1\nanswer,x\n", ["--within", "0"], "'answer'"),
    ("person,q0\na,1\na,1\nanswer,1\n", ["--within", "0"], "name of two people"),
    ("person,q0\na,1\nanswer,1\nwithin,-1\n", [], "a bound is 0 or more"),
    ('{"people": ["a"], "members": [[4]], "answers": [1], "within": 0}', [], "numbers from 0"),
    ('{"people": ["a"], "answers": [1]}', [], "not a file of queries"),
]


@pytest.mark.parametrize(("text", "more", "said"), WRONG, ids=[said for *_, said in WRONG])
def test_wrong_files_are_refused_in_one_sentence(text, more, said, tmp_path, capsys) -> None:
    """Exit code 3, a sentence with what is wrong."""
    path = tmp_path / ("queries.json" if text.startswith("{") else "queries.csv")
    path.write_text(text)
    code, out, err = run(capsys, "queries", str(path), *more)
    assert (code, out) == (3, "")
    assert said in err
    assert err.count("\n") == 1


def test_an_answer_that_cannot_be_is_a_contradiction(tmp_path, capsys) -> None:
    """Three of two people: exit code 5, with the query."""
    path = tmp_path / "queries.csv"
    path.write_text("person,q0\na,1\nb,1\nanswer,4\nwithin,1\n")
    code, _, err = run(capsys, "queries", str(path))
    assert (code, "query 0" in err) == (5, True)


@pytest.mark.parametrize("answer", ["1e300", "-1e300", "9" * 200])
def test_answers_beyond_whole_numbers_of_64_bits_are_contradictions(answer, tmp_path, capsys) -> None:
    """Exit code 5 and a short sentence, not an overflow."""
    path = tmp_path / "queries.csv"
    path.write_text(f"person,q0,q1\na,1,1\nb,1,0\nanswer,1,{answer}\nwithin,1,1\n")
    code, _, err = run(capsys, "queries", str(path))
    assert (code, "query 1 counts 1 people" in err) == (5, True)
    assert len(err) < 300


@pytest.mark.parametrize("answer", ["2" * 400, "-1e900", "1e900/7"])
def test_an_answer_of_any_size_is_refused_in_a_sentence(answer, tmp_path, capsys):
    path = tmp_path / "queries.csv"
    path.write_text(f"person,q1\nAnn,1\nBen,0\nanswer,{answer}\nwithin,1\n", encoding="utf-8")
    with pytest.raises((ReleaseError, ContradictionError)) as error:
        QueryAnswers.read(path)
    assert len(str(error.value)) < 400
    assert short_number(Fraction(2 * 10**500)) == "2e+500"
    assert short_number(Fraction(-2, 3)) == "-0.666667"
