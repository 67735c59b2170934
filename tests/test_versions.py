"""Models of related data sets: types of rows, numbers, who left and who came; all against brute force or real fits."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from extras import with_seal
from plain_checker import Rejected
from plain_types import TypedChecker, contained
from versions_oracle import compare, expected, make

import recon
from recon.queries.questions.line_proofs import line_proofs
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements

NAMES = ["smoker", "old", "site"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(5))
def test_random_related_data_sets_against_brute_force(tmp_path: Path, batch: int) -> None:
    """Numbers of data sets, least and most rows, shares and bits of every type and profile are those of brute force."""
    assert [found for seed in range(3_000 + batch, 3_040, 5) if (found := compare(make(seed), str(tmp_path)))] == []


def _people(n: int = 60) -> pd.DataFrame:
    """Return people whose label follows from nothing alone."""
    lines = [(i % 2, (i // 2) % 3, (i * i // 5) % 4, int((i * 7 + i // 3) % 5 < 2)) for i in range(n)]
    return pd.DataFrame(lines, columns=[*NAMES, "ill"])


def _tree(rows: pd.DataFrame) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0).fit(rows[NAMES].to_numpy(), rows["ill"])


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, pd.Series[Any]]:
    """Return files of a tree before and after one person left, and that person."""
    folder, people = tmp_path_factory.mktemp("versions"), _people()
    domain = recon.Domain.from_frame(people, "ill")
    for name, rows in (("march", people), ("april", people.drop(index=23))):
        release = recon.encode(_tree(rows), domain)
        from recon.readers.formats.release.writing import dump, release_json

        (folder / f"{name}.json").write_text(dump(release_json(release.domain, release.models, release.declared)))
    return str(folder / "march.json"), str(folder / "april.json"), people.iloc[23]


def test_who_left_is_among_the_rows_that_are_possible_and_certificates_hold(versions: Any) -> None:
    """Certain is who left, as every data set by brute force over single rows says; `verify` takes the certificates."""
    before, after, left = versions
    found = recon.difference(before, after, removed=1)
    mine = (found.rows[[*NAMES, "ill"]] == left[[*NAMES, "ill"]]).all(axis=1)
    assert mine.sum() == 1
    assert found.possible == len(found.rows)
    assert found.certain == int(found.possible == 1)
    assert found.removed.exact
    proved = [c for c in found.rows["certificate"] if c is not None]
    assert len(recon.verify(proved, found.release).verified) == len(proved) == found.certain
    assert any("april is march without 1 row" in line for line in found.assumptions)
    assert not any("same rows" in line for line in found.assumptions)


def test_bits_of_who_left_and_of_the_others_add_up(versions: Any) -> None:
    """The closed form of one row set apart is the count of the earlier model with the relation; so is its entropy."""
    before, after, _ = versions
    found = recon.difference(before, after)
    alone = json.loads(Path(before).read_text())
    datasets = [{"name": "march"}, {"name": "april", "from": "march", "removed": 1, "added": 0}]
    alone["models"][0]["dataset"] = "march"
    document = alone | {"datasets": datasets}
    document.pop("rows", None)
    path = Path(before).with_name("typed.json")
    path.write_text(json.dumps(document))
    typed = recon.load(path)
    counted = recon.count(typed, "multiset")
    assert math.isclose(found.bits["before"] or 0, counted.log2 or 1, rel_tol=1e-9)
    space = pd.MultiIndex.from_product([range(2), range(3), range(4), range(2)], names=[*NAMES, "ill"]).to_frame(
        index=False
    )
    shares = recon.certify(typed, space, "multiset", certificates=False, of="removed")["probability"]
    assert math.isclose(shares.sum(), 1)
    entropy = -sum(p * math.log2(p) for p in shares if p > 0)
    assert math.isclose((found.bits["before"] or 0) - (found.bits["kept_before"] or 0), entropy, rel_tol=1e-9)


def test_what_each_says_alone_is_worked_out_when_asked_for(versions: Any) -> None:
    """It is no part of the answer; then it is what a question about one version says, and travels with the object."""
    before, after, _ = versions
    found = recon.difference(before, after, removed=1, certificates=False)
    assert "bits" in found._repr_html_()
    assert not {"alone", "bits"} & set(vars(found))
    again = pickle.loads(pickle.dumps(found))
    for key, path in (("before", before), ("after", after)):
        assert found.alone[key]["bits"] == again.alone[key]["bits"] == recon.count(path, "multiset").log2


def test_a_certificate_of_another_relation_is_rejected(versions: Any) -> None:
    """Whoever changes the relation, and the seal with it, is found out: statements follow from the relation anew."""
    before, after, _ = versions
    found = recon.difference(before, after, removed=1)
    asked = recon.certify(found.release, found.rows[[*NAMES, "ill"]].head(1).assign(ill=[9]), of="removed")
    assert asked["verdict"].tolist() == ["outside"]
    possible = {tuple(row) for row in found.rows[[*NAMES, "ill"]].to_numpy().tolist()}
    others = [row for row in _people().to_numpy().tolist() if tuple(row) not in possible]
    people = pd.DataFrame(others[:3], columns=[*NAMES, "ill"])
    lines = recon.certify(found.release, people, of="removed")
    assert lines["verdict"].tolist() == ["impossible"] * 3
    held = lines["certificate"].tolist()
    assert len(recon.verify(held, found.release).verified) == 3
    forged = copy.deepcopy(held[0])
    forged["related"]["datasets"][1]["removed"] = 2
    assert "related otherwise" in recon.verify(with_seal(forged), found.release).rejected[0].error
    wider = recon.difference(before, after, removed=2).release
    del forged["seal"]
    assert recon.verify(with_seal(forged), wider).rejected
    plain = recon.load(before)
    assert recon.verify(held, plain).rejected


def test_command_names_the_difference_and_verify_derives_the_types_anew(
    versions: Any, tmp_path: Path, run: Any
) -> None:
    """`recon difference --json` holds what `recon verify` checks from the two files alone."""
    before, after, _ = versions
    out = run("difference", before, after, "--json").stdout
    document = json.loads(out)
    assert document["removed"]["rows"] == 1
    assert document["removed"]["profiles_left"] >= 1
    assert any("fewest changes" in line for line in document["assumptions"])
    asked = json.loads(run("difference", before, after, "--json", "--profiles", _profiles(tmp_path)).stdout)["profiles"]
    assert {line["verdict"] for line in asked} == {"impossible"}
    assert all(line["certificate"] is not None for line in asked)
    result = tmp_path / "result.json"
    result.write_text(out)
    assert "certificates verified" in run("verify", result, before, after).stdout
    for removed, code in (({"at_least": 0, "at_most": 3}, 1), (3, 3)):  # by the files one row is missing
        for line in document["removed"]["profiles"]:
            for one in (line["certificate"], *line["proofs"]):
                if one is not None:
                    one["related"]["datasets"][1]["removed"] = removed
        result.write_text(json.dumps(document))
        refused = run("verify", result, before, after, code=code)
        assert "REJECTED" in refused.stdout if code == 1 else "april is march without 3 rows" in refused.stderr


def test_numbers_without_end_are_told_by_their_parts() -> None:
    """Of columns of any numbers no row is listed, and nothing is expanded: attributes say where who left was."""
    from sklearn.tree import DecisionTreeClassifier

    people = pd.DataFrame({"x": [i * 7 % 20 + 0.5 for i in range(20)], "y": [i % 2 for i in range(20)]})
    fitted = [DecisionTreeClassifier(random_state=0).fit(p[["x"]], p["y"]) for p in (people, people.drop(index=4))]
    found = recon.difference(*fitted, removed=1)
    assert found.possible is None
    assert not len(found.rows)
    lines = found.attributes.set_index("attribute")
    assert lines.loc[["y"] if "y" in lines.index else ["label"], "max_count"].tolist()
    assert found.certain == 0


DATASETS: list[tuple[list[dict[str, Any]], list[dict[str, Any]], str]] = [
    ([{"name": "a", "from": "b"}, {"name": "b", "from": "a"}], [], "'a' and 'b' are each made from the other"),
    ([{"name": "a", "rows": 2}, {"name": "b", "from": "a", "removed": 3}], [], "cannot hold together"),
    ([{"name": "a", "rows": 2}, {"name": "b", "within": "a", "rows": 1}], [{"disjoint": ["a", "b"]}], "b has 1 row"),
    (
        [{"name": "a", "rows": 9}, {"name": "b", "within": "a", "rows": 2}, {"name": "c", "within": "a", "rows": 3}],
        [{"parts": ["b", "c"], "of": "a"}],
        "a has 9 rows",
    ),
    ([{"name": "a", "from": "c"}], [], "no data set 'c'"),
    ([{"name": "a"}, {"name": "a"}], [], "declared twice"),
    ([{"name": "a", "removed": 1}], [], "give 'from'"),
    (
        [{"name": "a"}, {"name": "b"}, {"name": "c", "from": "a", "without": "b", "removed": 1}],
        [],
        "'without' says who",
    ),
    ([{"name": "a"}, {"name": "b"}], [{"disjoint": ["a", "a"]}], "relations[0]: a data set stands twice in it"),
    ([{"name": "a", "rows": {"at_most": 2}}, {"name": "b", "from": "a", "removed": 3}], [], "a has 0 to 2 rows"),
    ([{"name": str(i)} for i in range(7)], [], "more than 64"),
    ([{"name": "b"}], [], "no data set 'a'"),
    ([{"name": "a", "rows": 2, "size": 3}], [], "unknown key"),
    ([{"name": "a"}], [{"disjoint": ["a", "b"], "of": "a"}], "'disjoint' alone"),
]


@pytest.mark.parametrize(("datasets", "relations", "said"), DATASETS, ids=[said for *_, said in DATASETS])
def test_relations_that_cannot_hold_are_refused(
    datasets: Any, relations: Any, said: str, tmp_path: Path, run: Any
) -> None:
    """Exit code 3 and a sentence that names both."""
    attributes = {"attributes": [{"name": "x", "values": [0, 1]}]}
    models = [{"kind": "tree", "dataset": "a", "nodes": [{"count": 2}]}]
    document = {"recon": 1, "domain": attributes, "datasets": datasets, "models": models}
    path = tmp_path / "file.json"
    path.write_text(json.dumps(document | ({"relations": relations} if relations else {})))
    err = run("count", path, code=3).stderr
    assert said in err
    assert "Traceback" not in err


def test_versions_that_contradict_each_other_end_with_five(versions: Any, tmp_path: Path, run: Any) -> None:
    """More rows in a leaf than the earlier version had, and nobody who came: relation and file are named."""
    before, _, _ = versions
    document = json.loads(Path(before).read_text())
    document["rows"] = 59
    document["models"][0]["nodes"] = [{"counts": [59, 0]}]
    path = tmp_path / "april.json"
    path.write_text(json.dumps(document))
    err = run("difference", before, path, code=5).stderr
    assert "april is march without 1 row" in err
    assert "april: tree" in err


def test_a_release_of_one_data_set_has_no_rows_of_another(versions: Any) -> None:
    """Questions about versions are refused where there are none; models without a data set beside named ones, too."""
    before, _, _ = versions
    with pytest.raises(recon.ReleaseError, match="all of one data set"):
        recon.certify(recon.load(before), [{"smoker": 1}], of="removed")
    with pytest.raises(recon.ReleaseError, match="say how many rows left"):
        recon.difference(before, before)


@pytest.mark.parametrize("command", ["audit", "gate", "remedy", "count --rows 3", "positions"])
def test_what_is_of_one_data_set_is_refused_of_several(command: str, versions: Any, run: Any, tmp_path: Path) -> None:
    """No command takes models of several data sets for models of one: it refuses, and says why."""
    before, after, _ = versions
    path = tmp_path / "both.json"
    path.write_text(json.dumps(_both(before, after)))
    name, *options = command.split()
    policy = ["--policy", "preset:minimum-cell-10"] if name in ("gate", "remedy") else []
    out = ["--out", tmp_path / "out.json"] if name == "remedy" else []
    assert "data set" in run(name, path, *options, *policy, *out, code=3).stderr


def test_convert_keeps_data_sets_and_every_answer(versions: Any, run: Any, tmp_path: Path) -> None:
    """A file with data sets is written as it was read, without the attribute of types."""
    before, after, _ = versions
    path, again = tmp_path / "both.json", tmp_path / "again.json"
    path.write_text(json.dumps(_both(before, after)))
    run("convert", path, "--out", again)
    document = json.loads(again.read_text())
    assert document["datasets"] == _both(before, after)["datasets"]
    assert [a["name"] for a in document["domain"]["attributes"]] == NAMES
    first, second = recon.load(path), recon.load(again)
    assert first.assumptions == second.assumptions
    assert recon.count(first, "multiset").value == recon.count(second, "multiset").value
    assert run("certify", path, "--profiles", _profiles(tmp_path), "--of-rows", "removed").stdout.count("impossible")


def _profiles(folder: Path) -> Path:
    path = folder / "people.csv"
    _people().head(5).to_csv(path, index=False)
    return path


def _both(before: str, after: str) -> dict[str, Any]:
    """Return one release file of both versions."""
    documents = [json.loads(Path(path).read_text()) for path in (before, after)]
    models = [d["models"][0] | {"dataset": name} for d, name in zip(documents, ("march", "april"), strict=True)]
    datasets = [{"name": "march"}, {"name": "april", "removed": 1, "added": 0, "from": "march"}]
    return {"recon": 1, "domain": documents[0]["domain"], "datasets": datasets, "models": models}


def test_the_oracle_knows_a_case_by_hand() -> None:
    """One row left and nobody came: of two binary columns, where the trees differ in one leaf by one row."""
    attributes = {"attributes": [{"name": "a", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}}
    datasets = [{"name": "m", "rows": 2}, {"name": "n", "from": "m", "removed": 1, "added": 0, "rows": 1}]
    root = {"if": {"a": 0}, "then": 1, "else": 2}
    models = [
        {"kind": "tree", "dataset": name, "nodes": [root, {"counts": [1, 0]}, {"counts": [0, n]}]}
        for name, n in (("m", 1), ("n", 0))
    ]
    kinds = [frozenset("m"), frozenset("mn")]
    profiles = [(0, 0), (0, 1), (1, 0), (1, 1)]
    case = {"profiles": profiles, "names": ["a", "y"], "kinds": kinds, "numbers": [(1, 1)],
            "release": {"recon": 1, "domain": attributes, "datasets": datasets, "models": models}}  # fmt: skip
    found = expected(case)
    assert found["multiset"] == 1
    assert found["least"][frozenset("m"), (1, 1)] == 1


def test_versions_are_taken_by_their_paths(versions: Any) -> None:
    """`recon.versions` reads files as every other question does."""
    before, after, _ = versions
    relation = {"datasets": [{"name": "march"}, {"name": "april", "from": "march", "removed": 1, "added": 0}]}
    read = [recon.load(path) for path in (before, after)]
    found = [recon.count(recon.versions(some, relation), "multiset").value for some in ([before, after], read)]
    assert found[0] == found[1] is not None


def _certified(case: dict[str, Any], path: Path) -> tuple[recon.EncodedRelease, list[Any]]:
    """Return a random release as recon reads it, and the certificates of all that it says of every type and profile."""
    path.write_text(json.dumps(case["release"]))
    release = recon.load(path)
    names = [one["name"] for one in case["release"]["datasets"]]
    asked = pd.DataFrame(
        [dict(zip(case["names"], profile, strict=True)) | {f"in {n}": int(n in kind) for n in names}
         for kind in case["kinds"] for profile in case["profiles"]]
    )  # fmt: skip
    found = recon.certify(release, asked, "multiset")
    more = [one for line in line_proofs(release, asked, found, Limits()) for one in line]
    return release, [one for one in [*found["certificate"], *more] if one is not None]


@pytest.mark.slow
def test_the_second_checker_derives_types_by_itself(tmp_path: Path) -> None:
    """What recon proves of typed rows a checker without its code accepts, and it refuses the opposite."""
    kinds = Counter[str]()
    for seed in range(5_000, 5_014):
        case = make(seed)
        release, proved = _certified(case, tmp_path / "case.json")
        checker = TypedChecker(case["release"], release)
        names = [one["name"] for one in case["release"]["datasets"]]
        order = [case["kinds"].index(frozenset(n for i, n in enumerate(names) if kind >> i & 1))
                 for kind in release.typed.related.types]  # type: ignore[union-attr]  # fmt: skip
        assert contained(checker.facts, [[some[t] for t in order] for some in case["numbers"]])
        assert len(recon.verify(proved, release).verified) == len(proved)
        for one in proved:
            kinds[one["proof"]["kind"]] += 1
            checker.check(one)
            claim = dict(one["claim"])
            if "at_most" in claim:
                claim["at_least"] = claim.pop("at_most") + 1
            elif "at_least" in claim:
                claim["at_most"] = claim.pop("at_least") - 1
            else:
                continue
            with pytest.raises(Rejected):
                checker.check({**one, "claim": claim})
    assert min(kinds[kind] for kind in ("regions", "propagation", "world")) > 10


def test_a_wrong_relation_in_the_file_makes_a_verified_certificate_rejected(versions: Any, tmp_path: Path) -> None:
    """Two left and one came, as the file says then: what was impossible of one who left is proved no more."""
    before, after, _ = versions
    document = _both(before, after)
    document["models"] = [{key: one[key] for key in ("kind", "dataset", "nodes")} for one in document["models"]]
    path, other = tmp_path / "both.json", tmp_path / "other.json"
    path.write_text(json.dumps(document))
    release = recon.load(path)
    rows = recon.difference(before, after, removed=1).rows
    possible = {tuple(row) for row in rows[[*NAMES, "ill"]].to_numpy().tolist()}
    others = [row for row in _people().to_numpy().tolist() if tuple(row) not in possible]
    asked = pd.DataFrame(others[:6], columns=[*NAMES, "ill"])
    proved = [c for c in recon.certify(release, asked, of="removed")["certificate"] if c is not None]
    assert len(recon.verify(proved, release).verified) == len(proved) == 6
    checker = TypedChecker(document, release)
    for one in proved:
        checker.check(one)
    document["datasets"][1] |= {"removed": 2, "added": 1}
    other.write_text(json.dumps(document))
    wrong = recon.load(other)
    wider = recon.certify(wrong, asked, of="removed", certificates=False)["verdict"]
    assert (wider == "possible").any()
    assert len(recon.verify(proved, wrong).rejected) == len(proved)
    keys = {"release_files": [str(other)], "release_sha256": wrong.sha256, "assumptions": list(wrong.assumptions)}
    forged = [
        with_seal({**one, **keys, "statements_sha256": NumberedStatements(wrong.statements, Limits()).fingerprint})
        for one in proved
    ]
    said = recon.verify(forged, wrong).checked
    second = TypedChecker(document, wrong)
    for one, line, verdict in zip(forged, said, wider, strict=True):
        if verdict == "possible":
            assert line.error
            with pytest.raises(Rejected):
                second.check(one)
