"""What an adversary knows beside a release: against brute force, on real data, in certificates, and wrong files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from adversary_oracle import compare, make
from extras import run
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import recon

RELEASES = Path(__file__).resolve().parents[1] / "examples" / "releases"
DOMAIN = {
    "attributes": [{"name": "ward", "values": ["A", "B"]}, {"name": "age", "min": 1, "max": 6}],
    "label": {"name": "ill", "values": [0, 1]},
}
NODES = [
    {"if": {"age": {"at_most": 3}}, "then": 1, "else": 2}, {"counts": [3, 0]},
    {"if": {"ward": "A"}, "then": 3, "else": 4}, {"counts": [2, 1]}, {"counts": [0, 2]},
]  # fmt: skip
COLLEAGUE = {"rows": [{"where": {"ward": "A", "age": 5, "ill": 1}}]}
ASKED = [{"ward": w, "age": a, "ill": y} for w in "AB" for a in range(1, 7) for y in (0, 1)]


def _case(tmp_path: Path, **knows: Any) -> tuple[str, str]:
    """Return the files of the tree and of what an adversary knows."""
    release, adversary = tmp_path / "tree.json", tmp_path / "knows.json"
    release.write_text(json.dumps({"recon": 1, "domain": DOMAIN, "models": [{"kind": "tree", "nodes": NODES}]}))
    adversary.write_text(json.dumps({"recon_adversary": 1, **knows}))
    return str(release), str(adversary)


def test_random_knowledge_against_brute_force(tmp_path: Path) -> None:
    """Worlds, entropies, least, most, shares, people and certificates of ten random cases are those of brute force."""
    assert [found for seed in range(10) if (found := compare(make(seed), str(tmp_path)))] == []


@pytest.mark.long
def test_more_random_knowledge_against_brute_force(tmp_path: Path) -> None:
    """The same of 200 more."""
    assert [found for seed in range(100, 300) if (found := compare(make(seed), str(tmp_path)))] == []


def test_verdicts_do_not_change_by_weights_and_even_ones_change_nothing(tmp_path: Path) -> None:
    """A prior moves shares alone; even weights give the figures of no weights bit for bit."""
    release = recon.load(_case(tmp_path)[0])
    prior = recon.Adversary(weights={"age": {1: 5, 6: "1/3"}, "ill": {0: 2}})
    even = recon.Adversary(weights={"age": dict.fromkeys(range(1, 7), "3/2"), "ill": {0: 1}})
    plain, weighed, flat = (
        recon.certify(one, ASKED, "ordered") for one in (release, prior.beside(release), even.beside(release))
    )
    assert plain["verdict"].tolist() == weighed["verdict"].tolist()
    assert plain["min_count"].tolist() == weighed["min_count"].tolist()
    assert plain["max_count"].tolist() == weighed["max_count"].tolist()
    assert (plain["probability"] != weighed["probability"]).any()
    assert plain["probability"].tolist() == flat["probability"].tolist()
    bits = recon.measure(release, "ordered").entropy_bits
    assert recon.measure(even.beside(release), "ordered").entropy_bits == bits
    with pytest.raises(recon.Unsupported, match="choose ordered, not 'multiset'"):
        recon.count(release, "multiset", adversary=prior)
    with pytest.raises(recon.Unsupported, match="not listed"):
        next(recon.worlds(release, adversary=prior))


def test_boxes_of_weight_one_change_nothing_and_others_no_verdict(tmp_path: Path) -> None:
    """Bits before the release are rows times the entropy of the prior; nothing is drawn beside a box."""
    release = recon.load(_case(tmp_path)[0])
    even = recon.Adversary(boxes=[{"where": {"ward": "A", "age": 2}, "weight": 1}, {"where": {}, "weight": 5}])
    prior = recon.Adversary(boxes=[{"where": {"ward": "A", "age": {"at_least": 5}}, "weight": "7/2"},
                                   {"where": {"age": 5, "ill": 1}, "weight": "1/3"}])  # fmt: skip
    plain, flat, weighed = (recon.certify(one, ASKED, "ordered") for one in (release, even.beside(release),
                                                                              prior.beside(release)))  # fmt: skip
    for column in ("verdict", "min_count", "max_count"):
        assert plain[column].tolist() == flat[column].tolist() == weighed[column].tolist()
    assert plain["probability"].tolist() == flat["probability"].tolist()
    assert (plain["probability"] != weighed["probability"]).any()
    bits = [recon.measure(one, "ordered") for one in (release, even.beside(release), prior.beside(release))]
    assert bits[0].entropy_bits == bits[1].entropy_bits
    each = [(7 / 2 if w == "A" and a > 4 else 1) * (1 / 3 if (a, y) == (5, 1) else 1) for w, a, y in (
            (one["ward"], one["age"], one["ill"]) for one in ASKED)]  # fmt: skip
    row = -sum(x / sum(each) * math.log2(x / sum(each)) for x in each)
    assert bits[2].uninformed_bits == pytest.approx(8 * row)
    for asked in (recon.sample, recon.reconstruct, recon.table):
        with pytest.raises(recon.Unsupported, match="beside weights of boxes"):
            asked(release, adversary=prior)


@pytest.mark.slow
def test_draws_follow_the_prior(tmp_path: Path) -> None:
    """Of 400 draws the rows with a value are as many as are expected, within four standard errors."""
    release = recon.load(_case(tmp_path)[0])
    prior = recon.Adversary(weights={"age": {"1": 6}})
    drawn = [world.to_frame() for world in recon.sample(release, 400, adversary=prior)]
    mean = sum((frame["age"] == 1).sum() for frame in drawn) / 400
    assert abs(mean - 3 * 6 / 8) < 4 * math.sqrt(3 * 0.75 * 0.25 / 400)
    assert all((frame["age"] <= 3).sum() == 3 for frame in drawn)


def test_certify_says_nobody_the_adversary_and_the_difference_and_verify_wants_the_file(tmp_path, capsys) -> None:
    """Every claim of both is verified with the file; without it, or with another one, the adversary's are rejected."""
    release, adversary = _case(tmp_path, **COLLEAGUE)
    pd.DataFrame(ASKED).to_csv(tmp_path / "asked.csv", index=False)
    result, asked = str(tmp_path / "result.json"), str(tmp_path / "asked.csv")
    code, *_ = run(capsys, "certify", release, "--profiles", asked, "--adversary", adversary, "--json", "--out", result)
    assert code == 0
    lines = json.loads(Path(result).read_text())
    known = next(one for one in lines if one["profile_values"] == {"ward": "A", "age": 5, "ill": 1})
    assert (known["verdict"], known["verdict_adversary"]) == ("possible", "certain")
    assert known["min_count_difference"] == 1
    assert known["certificate_adversary"]["adversary"]["sha256"]
    code, out, _ = run(capsys, "verify", result, release, "--adversary", adversary, "--json")
    found = json.loads(out)
    assert (code, found["rejected"], found["not_certified"], found["inconsistent"]) == (0, [], [], [])
    assert any(one["place"].endswith("(adversary)") for one in found["certificates"])
    code, out, _ = run(capsys, "verify", result, release, "--json")
    refused = json.loads(out)["rejected"]
    assert code == 1
    assert all("give verify that file" in one["reason"] for one in refused)
    other = _case(tmp_path, rows=[{"where": {"ward": "A", "age": 5, "ill": 1}}, {"where": {"ward": "B"}}])[1]
    code, out, _ = run(capsys, "verify", result, release, "--adversary", other, "--json")
    assert code == 1
    assert all("another adversary" in one["reason"] for one in json.loads(out)["rejected"])
    known["max_count_adversary"] = 0  # what somebody changed is seen
    Path(result).write_text(json.dumps(lines))
    _case(tmp_path, **COLLEAGUE)
    code, out, _ = run(capsys, "verify", result, release, "--adversary", adversary, "--json")
    assert code in (1, 4)


def test_an_audit_says_all_three(tmp_path, capsys) -> None:
    """Nobody, this adversary, the difference, as text and JSON; a contradiction ends with 5."""
    release, adversary = _case(tmp_path, **COLLEAGUE)
    code, out, _ = run(capsys, "audit", release, "--adversary", adversary)
    assert code == 0
    assert "people fully known: nobody 0, this adversary 1, difference +1" in out
    code, out, _ = run(capsys, "audit", release, "--adversary", adversary, "--json")
    figures = json.loads(out)["adversary"]["figures"]
    change = figures["entropy_bits_adversary"] - figures["entropy_bits"]
    assert figures["entropy_bits_difference"] == pytest.approx(change)
    assert change < 0
    wrong = _case(tmp_path, rows=[{"where": {"age": 6}, "rows": 6}])[1]
    code, out, _ = run(capsys, "audit", release, "--adversary", wrong, "--json")
    assert code == 5
    assert any(
        "rows[0]" in line and "known to the adversary" in line for line in json.loads(out)["adversary"]["conflict"]
    )


def test_a_person_of_a_list_and_one_who_is_absent(tmp_path: Path) -> None:
    """Three of four people below 4 are in: 3 of 4 each; without q1, who is known to be absent, all three are."""
    people = pd.DataFrame({"person": ["p1", "p2", "p3", "q1", "p4", "p5", "p9", "p6", "p7"],
                           "ward": list("AABBAAABB"), "age": [1, 2, 2, 1, 5, 5, 4, 6, 6]})  # fmt: skip
    release = recon.load(_case(tmp_path)[0])
    town = recon.Adversary(population={"people": people})
    found = recon.certify(release, [{"ward": "A", "age": 1}], adversary=town)
    assert found["person_probability_adversary"].tolist() == pytest.approx([0.75])
    gone = recon.Adversary(population={"people": people}, absent=[{"person": "q1"}])
    found = recon.certify(release, [{"ward": "A", "age": 1}], adversary=gone)
    assert found["verdict_adversary"].tolist() == ["certain"]
    assert found["person_probability_adversary"].tolist() == [1.0]
    assert recon.count(release, adversary=gone).value == 3  # whose label in A above 3 is 1


@pytest.mark.slow
def test_a_colleague_and_a_census_figure_beside_a_tree_of_real_people() -> None:
    """COMPAS: who is known is certain, the census caps a profile, and nothing becomes less known."""
    release = recon.load(str(RELEASES / "compas_tree.json"))
    world = recon.reconstruct(release).to_frame()
    person = {k: v.item() if hasattr(v, "item") else v for k, v in world.iloc[0].items()}
    first = next(iter(person))
    cap = int((world[first] == person[first]).sum())
    knows = recon.Adversary(
        rows=[{"where": person}], statements=[{"where": {first: person[first]}, "at_most": cap, "at_least": cap}]
    )
    found = recon.certify(release, [person, {first: person[first]}], adversary=knows, certificates=True)
    assert found["verdict_adversary"].tolist()[0] == "certain"
    assert (found["min_count_adversary"] >= found["min_count"]).all()
    assert (found["max_count_adversary"] <= found["max_count"]).all()
    assert found["max_count_adversary"].tolist()[1] == found["min_count_adversary"].tolist()[1] == cap
    proofs = [c for c in found["certificate_adversary"] if c is not None]
    assert proofs
    assert len(recon.verify(proofs, release, adversary=knows).verified) == len(proofs)


def test_population_gives_proved_intervals_with_certificates(tmp_path, capsys) -> None:
    """f, F and both risks of a list; every end has a certificate; without a population there is a sentence."""
    release, adversary = _case(tmp_path, population={"people": "reg.csv"})
    (tmp_path / "reg.csv").write_text("ward,age\nA,1\nA,2\nB,2\nB,1\nA,5\nA,5\nA,4\nB,6\nB,6\n")
    (tmp_path / "asked.csv").write_text("ward,age\nA,5\nA,2\n")
    result = str(tmp_path / "result.json")
    asked = ("--profiles", str(tmp_path / "asked.csv"), "--adversary", adversary)
    assert run(capsys, "population", release, *asked, "--json", "--out", result)[0] == 0
    first, second = json.loads(Path(result).read_text())["profiles"]
    assert [first[of]["min_count"] for of in ("sample", "population")] == [2, 2]
    assert (first["journalist_min"], first["journalist_max"], first["population_unique"]) == (0.5, 0.5, False)
    assert (second["sample"]["min_count"], second["sample"]["max_count"], second["population_unique"]) == (0, 1, True)
    code, out, _ = run(capsys, "verify", result, release, "--adversary", adversary, "--json")
    found = json.loads(out)
    assert (code, found["rejected"], found["not_certified"]) == (0, [], [])
    assert found["verified"] >= 6
    (tmp_path / "far.csv").write_text("ward,age\nA,5\nA,99\n")
    code, out, err = run(capsys, "population", release, "--profiles", str(tmp_path / "far.csv"), *asked[2:])
    assert (code, out.splitlines()[-1], "1 of 2 profiles lie outside the domain" in err) == (0, "1,,,,,,,,,", True)
    assert "nan" not in out + err
    _, other = _case(tmp_path, **COLLEAGUE)
    code, _, err = run(capsys, "population", release, *asked[:2], "--adversary", other)
    assert (code, "nothing is known of a population" in err) == (3, True)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "says nothing"),
    ({"absent": [{"person": "P-1"}]}, "a bare profile cannot be known to be absent"),
    ({"weights": {"age": {"9": 2}}}, "weights.age.9"),
    ({"weights": {"height": {"9": 2}}}, "no attribute of the domain"),
    ({"weights": {"age": {"1": 0}}}, "not above 0"),
    ({"weights": {"age": {"1": -1}}}, "not above 0"),
    ({"weights": {"age": {"1": "x"}}}, "weights.age.1"),
    ({"boxes": [{"where": {"age": 1}, "weight": 0}]}, "boxes[0].weight"),
    ({"boxes": [{"where": {"age": 1}, "weight": "much"}]}, "not a number"),
    ({"boxes": [{"where": {"age": 77}, "weight": 2}]}, "boxes[0].where"),
    (
        {"boxes": [{"where": {"age": {"above": 5, "below": 6}}, "weight": 2}]},
        "no row",
    ),
    ({"boxes": [{"where": {"age": 1}, "weight": 2}], "population": {"rows": 9}}, "not taken beside a population"),
    ({"rows": [{"where": {"age": 77}}]}, "rows[0].where"),
    ({"rows": [{"where": {"height": 7}}]}, "height"),
    ({"rows": [{"where": {"age": 1}, "position": 3}]}, "no positions"),
    ({"rows": [{"where": {"age": 1}, "dataset": "march"}]}, "no data set 'march'"),
    ({"statements": [{"where": {"age": 1}}]}, "statements[0]"),
    ({"population": {"rows": 5}}, "smaller than the data"),
    ({"population": {}}, "give 'people', 'tables' or 'rows'"),
    ({"columns": "nowhere.csv"}, "nowhere.csv"),
    ({"rowz": []}, "unknown key"),
]


@pytest.mark.parametrize(("knows", "said"), WRONG, ids=[said for _, said in WRONG])
def test_wrong_knowledge_is_refused_in_one_sentence(knows, said, tmp_path, capsys) -> None:
    """Exit code 3, a sentence with what is wrong."""
    release, adversary = _case(tmp_path, **knows)
    code, out, err = run(capsys, "count", release, "--adversary", adversary)
    assert (code, out) == (3, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_release_is_no_adversary_and_the_reverse(tmp_path, capsys) -> None:
    """Each is refused as the other, by name."""
    release, adversary = _case(tmp_path, **COLLEAGUE)
    code, _, err = run(capsys, "count", release, "--adversary", release)
    assert (code, "is a release file" in err) == (3, True)
    code, _, err = run(capsys, "count", adversary)
    assert (code, "give it with --adversary" in err) == (3, True)


REFUSING = [
    ("gate", "a policy is about nobody"), ("posterior", "noisy counts"), ("denoise", "noisy counts"),
    ("sweep", "published alone"), ("remedy", "about nobody"), ("difference", "it is taken by audit"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "why"), REFUSING)
def test_a_command_that_takes_no_adversary_says_why(command, why, tmp_path, capsys) -> None:
    """Wrong usage, in one sentence; nothing is read."""
    release, adversary = _case(tmp_path, **COLLEAGUE)
    code, out, err = run(capsys, command, release, "--adversary", adversary)
    assert (code, out) == (2, "")
    assert f"{command} does not take --adversary" in err
    assert why in " ".join(err.split())


def test_labels_and_a_plan_for_an_adversary(tmp_path, capsys) -> None:
    """Of three above 3 in A one is ill: who knows that it is one of 5 knows the label of the one of 6."""
    people = pd.DataFrame({"ward": list("ABAAABBA"), "age": [1, 2, 3, 5, 5, 4, 5, 6]})
    people.to_csv(tmp_path / "cols.csv", index=False)
    release, adversary = _case(tmp_path, **COLLEAGUE)
    asked = ("labels", release, "--known-columns", str(tmp_path / "cols.csv"))
    assert run(capsys, *asked)[1].splitlines()[-1] == "7,,open,0 | 1"
    assert run(capsys, *asked, "--adversary", adversary)[1].splitlines()[-1] == "7,0,certain,0"
    both = _case(tmp_path, **COLLEAGUE, columns="cols.csv")[1]
    assert run(capsys, "labels", release, "--adversary", both)[1].splitlines()[-1] == "7,0,certain,0"
    code, _, err = run(capsys, *asked, "--adversary", both)
    assert (code, "give them once" in err) == (3, True)
    code, out, _ = run(capsys, "plan", release, "--adversary", adversary, "--question", "count")
    assert (code, "convention: ordered" in out) == (0, True)


def test_what_is_known_already_is_not_forgotten(tmp_path: Path) -> None:
    """A release beside one adversary takes no other: what the first knows would be lost."""
    release = recon.load(_case(tmp_path)[0])
    first = recon.Adversary(**COLLEAGUE).beside(release)
    with pytest.raises(recon.Unsupported, match="write one file of both"):
        recon.Adversary(statements=[{"where": {"ward": "A"}, "at_most": 4}]).beside(first)


@pytest.mark.slow
def test_positions_take_rows_by_position_alone(tmp_path: Path) -> None:
    """A known row narrows others; figures about rows without an order are refused, and of joined files named."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"a": rng.integers(0, 4, 20), "b": rng.integers(0, 3, 20)})
    rows["y"] = (rows["a"] + rows["b"] + rng.integers(0, 3, 20) > 3).astype(int)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(rows[["a", "b"]], rows["y"])
    release = recon.encode(forest, recon.Domain.from_frame(rows, "y"))
    person = {"where": {k: int(v) for k, v in rows.loc[4].items()}, "position": 4}
    known = recon.positions(recon.Adversary(rows=[person]).beside(release))
    assert known.query("position == 4")["exact"].all()
    assert known.attrs["labels_known"] >= recon.positions(release).attrs["labels_known"]
    with pytest.raises(recon.Unsupported, match="rows with a 'position' alone"):
        recon.positions(recon.Adversary(rows=[person], statements=[{"where": {"a": 3}, "at_least": 1}]).beside(release))


def test_one_open_column_of_everybody_is_exact(tmp_path: Path) -> None:
    """All columns but one known: shares lie between counts over the people alike, no program is needed for them."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 2, (60, 2)), columns=["old", "sex"]).assign(priors=rng.integers(0, 4, 60))
    frame["y"] = ((frame["priors"] + frame["old"] + rng.integers(0, 2, 60)) > 2).astype(int)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[["old", "sex", "priors"]], frame["y"])
    release = recon.encode(tree, recon.Domain.from_frame(frame, "y"))
    known = recon.Adversary(columns=frame[["old", "sex", "y"]]).beside(release)
    people = frame[["old", "sex", "y"]].drop_duplicates().reset_index(drop=True)
    found = recon.attribute(known, people, "priors")
    assert found.attrs["status"] == "exact"
    assert found["probability"].notna().all()
    for _, line in found.iterrows():
        alike = frame[(frame[["old", "sex", "y"]] == people.iloc[line["profile"]]).all(axis=1)]
        share = (alike["priors"] == line["value"]).mean()
        assert line["lower"] - 1e-9 <= share <= line["upper"] + 1e-9
        assert line["lower"] == pytest.approx(line["min_count"] / len(alike))


def test_a_sum_that_is_known_says_what_a_table_would(tmp_path: Path) -> None:
    """Those in ward A and those who are ill, added up; a term that the domain does not have is named."""
    terms = [{"where": {"ward": "A"}}, {"where": {"ill": 1}}]
    release, adversary = _case(tmp_path, statements=[{"linear": terms, "value": 6}])
    table = {"kind": "table", "statements": [{"linear": terms, "value": 6}]}
    both = {"recon": 1, "domain": DOMAIN, "models": [{"kind": "tree", "nodes": NODES}, table]}
    (tmp_path / "both.json").write_text(json.dumps(both))
    told = recon.count(release, "multiset", adversary=adversary).value
    assert told == recon.count(tmp_path / "both.json", "multiset").value
    assert 0 < told < recon.count(release, "multiset").value
    wrong = _case(tmp_path, statements=[{"linear": [{"where": {"bed": 1}}], "value": 6}])[1]
    with pytest.raises(recon.ReleaseError, match=r"statements\[0\]\.linear\[0\].*'bed'"):
        recon.count(release, "multiset", adversary=wrong)
