"""Model cards: random ones against every data set, real models and their rows, and cards that are refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from adversary_oracle import _agrees, _condition, _leaf, _meets, _tree
from extras import run
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix, recall_score
from sklearn.tree import DecisionTreeClassifier

import recon

Row = tuple[int, ...]


def _rates(rows: list[Row], said: Callable[[Row], int]) -> dict[str, tuple[int, int]]:
    """Return the rates of class 1 (and of none) as quotients, in plain Python."""
    tp, fp, fn, tn = (
        sum((r[-1], said(r)) == pair for r in rows) for pair in ((1, 1), (0, 1), (1, 0), (0, 0))
    )  # fmt: skip
    return {
        "accuracy": (tp + tn, len(rows)), "error": (fp + fn, len(rows)), "precision": (tp, tp + fp),
        "tpr": (tp, tp + fn), "specificity": (tn, tn + fp), "fpr": (fp, fp + tn), "false_negative_rate": (fn, fn + tp),
        "f1": (2 * tp, 2 * tp + fp + fn), "selection_rate": (tp + fp, len(rows)), "base_rate": (tp + fn, len(rows)),
    }  # fmt: skip


def _commonest(counts: list[int]) -> int:
    """Return the class of most rows; -1 where that is none or two."""
    return -1 if counts.count(max(counts)) > 1 else counts.index(max(counts))


def _predicting(model: dict[str, Any], names: list[str]) -> Callable[[Row], int]:
    """Return what a tree, a rule list or a forest predicts of a row; -1 where classes tie."""
    if model["kind"] == "tree":
        return lambda row: _commonest(model["nodes"][_leaf(model, row, names)]["counts"])
    if model["kind"] == "rule_list":
        return lambda row: _commonest(next(r["counts"] for r in model["rules"] if _meets(row, r["if"], names)))

    def voted(row: Row) -> int:
        total = [Fraction(0), Fraction(0)]
        for tree in model["trees"]:
            counts = tree["nodes"][_leaf(tree, row, names)]["counts"]
            total = [t + Fraction(n, sum(counts)) for t, n in zip(total, counts, strict=True)]
        return -1 if total[0] == total[1] else int(total[1] > total[0])

    return voted


def _of_rows(model: dict[str, Any], rows: list[Row], names: list[str]) -> bool:
    """Return whether a model counts these rows."""
    if model["kind"] == "tree":
        return _agrees({"models": [model]}, rows, names)
    if model["kind"] == "forest":
        return all(_agrees({"models": [{**tree, "kind": "tree"}]}, rows, names) for tree in model["trees"])
    left, found = list(rows), []
    for rule in model["rules"]:
        held = [r for r in left if _meets(r, rule["if"], names)]
        left = [r for r in left if not _meets(r, rule["if"], names)]
        found.append([sum(r[-1] == y for r in held) for y in (0, 1)])
    return found == [rule["counts"] for rule in model["rules"]]


def _case(seed: int) -> dict[str, Any] | None:
    """Return a random model of random rows and a card of it; None where the model's classes tie somewhere."""
    rng = random.Random(f"card {seed}")
    names = ["a", "b", "y"]
    sizes = [rng.randint(2, 3), rng.randint(2, 3), 2]
    truth = [tuple(rng.randrange(s) for s in sizes) for _ in range(rng.randint(3, 5))]
    kind = rng.choice(["tree", "rule_list", "forest"])
    model: dict[str, Any] = _tree(rng, truth, sizes, names)
    if kind == "forest":
        trees = [_tree(rng, truth, sizes, names) for _ in range(rng.randint(2, 3))]
        model = {"kind": "forest", "trees": [{"nodes": t["nodes"]} for t in trees]}
    if kind == "rule_list":
        left, rules = list(truth), []
        for where in [*(_condition(rng, sizes[:-1], names[:-1]) for _ in range(rng.randint(1, 2))), {}]:
            held = [r for r in left if _meets(r, where, names)]
            left = [r for r in left if not _meets(r, where, names)]
            rules.append({"if": where, "counts": [sum(r[-1] == y for r in held) for y in (0, 1)]})
            if not where:
                break
        model = {"kind": "rule_list", "rules": rules}
    try:
        said = _predicting(model, names)
        if any(said(r) < 0 for r in product(*map(range, sizes))):
            return None
    except ZeroDivisionError:  # a leaf of a forest without rows
        return None
    groups = []
    for where in ([{}] if rng.random() < 0.6 else []) + [_condition(rng, sizes[:-1], names[:-1])]:
        held = [r for r in truth if _meets(r, where, names)]
        part: dict[str, Any] = {"where": where}
        if rng.random() < 0.4:
            part["confusion_matrix"] = [[sum((r[-1], said(r)) == (t, p) for r in held) for p in (0, 1)] for t in (0, 1)]
        every = {name: (a, b) for name, (a, b) in _rates(held, said).items() if b}
        digits = rng.choice([1, 2, 17])
        part["metrics"] = [
            {"metric": name, "value": float(f"{a / b:.{digits}f}") if digits < 9 else a / b}
            for name, (a, b) in rng.sample(sorted(every.items()), min(len(every), rng.randint(0, 2)))
        ]
        groups.append(part)
    if not any(part.get("confusion_matrix") or part["metrics"] for part in groups):
        return None
    attributes = [{"name": n, "values": list(range(s))} for n, s in zip(names[:-1], sizes[:-1], strict=True)]
    release = {"recon": 1, "domain": {"attributes": attributes, "label": {"name": "y", "values": [0, 1]}}}
    card = {"recon_card": 1, "rows": "training", "groups": groups}
    return {"release": {**release, "models": [model]}, "card": card, "names": names, "sizes": sizes, "rows": len(truth)}


def _fits(part: dict[str, Any], rows: list[Row], said: Callable[[Row], int], names: list[str]) -> bool:
    """Return whether rows have the figures of a group of a card."""
    held = [r for r in rows if _meets(r, part["where"], names)]
    matrix = part.get("confusion_matrix")
    if matrix and matrix != [[sum((r[-1], said(r)) == (t, p) for r in held) for p in (0, 1)] for t in (0, 1)]:
        return False
    for metric in part["metrics"]:
        a, b = _rates(held, said)[metric["metric"]]
        digits = len(repr(metric["value"]).partition(".")[2])
        near = Fraction(1, 2 * 10**digits) if digits < 9 else Fraction(1, 10**12)
        if b and abs(Fraction(a, b) - Fraction(repr(metric["value"]))) > near:
            return False
    return True


def _difference(seed: int, folder: Path) -> str:
    """Return what recon says otherwise than trying every data set, "" where nothing is."""
    case = _case(seed)
    if case is None:
        return ""
    (folder / "m.json").write_text(json.dumps(case["release"]))
    (folder / "c.json").write_text(json.dumps(case["card"]))
    model, names = case["release"]["models"][0], case["names"]
    said, space = _predicting(model, names), list(product(*map(range, case["sizes"])))
    found = [
        rows for rows in map(list, combinations_with_replacement(space, case["rows"]))
        if _of_rows(model, rows, names) and all(_fits(g, rows, said, names) for g in case["card"]["groups"])
    ]  # fmt: skip
    release = recon.load(str(folder / "m.json"), str(folder / "c.json"))
    counted = recon.count(release, "multiset")
    if counted.value != len(found):
        return f"seed {seed}: {counted.value} data sets, by brute force {len(found)}"
    asked = recon.certify(release, pd.DataFrame(space, columns=names), "multiset")
    ends = [(min(c), max(c)) for c in ([rows.count(r) for rows in found] for r in space)]
    told = list(zip(asked["min_count"], asked["max_count"], strict=True))
    return "" if told == ends else f"seed {seed}: {told}, by brute force {ends}"


@pytest.mark.slow
def test_random_cards_against_every_data_set(tmp_path: Path) -> None:
    """Numbers of data sets, least and most rows of every profile."""
    assert [said for seed in range(60) if (said := _difference(seed, tmp_path))] == []


@pytest.mark.long
def test_more_random_cards_against_every_data_set(tmp_path: Path) -> None:
    """The same of 400 more."""
    assert [said for seed in range(100, 500) if (said := _difference(seed, tmp_path))] == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("forest", [False, True], ids=["tree", "forest"])
def test_the_rows_of_a_real_model_are_never_excluded(forest: bool, tmp_path: Path) -> None:
    """Breast cancer in coarse columns: the card adds figures of groups, and every true row stays possible."""
    import joblib

    raw = load_breast_cancer(as_frame=True)
    rows = pd.DataFrame({name: pd.qcut(raw.data[name], 4, labels=False) for name in ("mean radius", "mean texture",
                         "mean smoothness", "mean symmetry")}).assign(y=raw.target).head(200)  # fmt: skip
    x, y = rows.drop(columns="y"), rows["y"]
    model = (RandomForestClassifier(3, max_depth=2, random_state=0, bootstrap=False) if forest
             else DecisionTreeClassifier(max_depth=4, random_state=0)).fit(x, y)  # fmt: skip
    said = model.predict(x)
    small = x["mean texture"] == 0
    caught = f"{100 * recall_score(y[small], said[small]):.0f} %"
    card = {"recon_card": 1, "rows": "training", "confusion_matrix": confusion_matrix(y, said).tolist(),
            "classification_report": classification_report(y, said, output_dict=True),
            "groups": [{"where": {"mean texture": 0}, "metrics": [
                {"metric": "accuracy", "value": accuracy_score(y[small], said[small])},
                {"metric": "recall", "value": caught, "of": 1}]}]}  # fmt: skip
    joblib.dump(model, tmp_path / "model.joblib")
    (tmp_path / "card.json").write_text(json.dumps(card))
    domain = recon.Domain.from_frame(rows, "y")
    alone = recon.load(str(tmp_path / "model.joblib"), domain=domain)
    both = recon.load(str(tmp_path / "model.joblib"), str(tmp_path / "card.json"), domain=domain)
    people = rows.drop_duplicates().head(40).reset_index(drop=True)
    found = recon.certify(both, people)
    counts = np.array([(rows == person).all(axis=1).sum() for _, person in people.iterrows()])
    assert (found["verdict"] != "impossible").all()
    assert (found["min_count"] <= counts).all()
    assert (counts <= found["max_count"]).all()
    before, after = (recon.measure(one, "ordered").entropy_bits for one in (alone, both))
    assert forest or after < before
    assert {left.why for left in both.models[1].origin.unused} == {"a mean of rates of classes"}


TREE = [
    {"if": {"a": {"at_most": 1}}, "then": 1, "else": 2}, {"counts": [3, 1]},
    {"if": {"b": 0}, "then": 3, "else": 4}, {"counts": [1, 4]}, {"counts": [2, 2]},
]  # fmt: skip
DOMAIN = {
    "attributes": [{"name": "a", "min": 1, "max": 3}, {"name": "b", "values": [0, 1]}],
    "label": {"name": "y", "values": [0, 1]},
}


def _files(folder: Path, card: dict[str, Any], model: dict[str, Any] | None = None) -> list[str]:
    model = model or {"kind": "tree", "nodes": TREE}
    (folder / "m.json").write_text(json.dumps({"recon": 1, "domain": DOMAIN, "models": [model]}))
    (folder / "c.json").write_text(json.dumps({"recon_card": 1, "rows": "training", **card}))
    return [str(folder / "m.json"), str(folder / "c.json")]


def test_where_classes_tie_a_card_is_an_interval(tmp_path: Path) -> None:
    """Leaf 4 predicts either class: 7 + 2 of 13 are right whatever it is, and 69 % is no contradiction."""
    card = {"groups": [{"where": {"b": 1}, "confusion_matrix": [[2, 1], [1, 1]]}]}
    release = recon.load(*_files(tmp_path, card))
    assert any("1 regions" in line and "tie" in line for line in release.assumptions)
    assert recon.count(release).status == "exact"
    assert (
        recon.measure(recon.load(*_files(tmp_path, {"metrics": [{"metric": "accuracy", "value": "69 %"}]}))).status
        == "exact"
    )


def test_a_contradiction_names_card_and_figure(tmp_path: Path, capsys) -> None:
    """Exit code 5, with the figure that cannot be."""
    for said in ({"metrics": [{"metric": "accuracy", "value": "90 %"}]},
                 {"metrics": [{"metric": "tpr", "value": 0.6920001}]}, {"confusion_matrix": [[6, 0], [1, 6]]},
                 {"groups": [{"where": {"a": 1}, "metrics": [{"metric": "prevalence", "value": 0.5}]}]}):  # fmt: skip
        code, out, err = run(capsys, "count", *_files(tmp_path, said))
        assert code == 5
        assert "c.json" in out + err
        assert any(word in out + err for word in ("accuracy", "tpr", "confusion matrix", "prevalence"))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "says nothing"),
    ({"rows": "test", "metrics": []}, "only figures of the training rows"),
    ({"metrics": [{"metric": "auc", "value": 0.9}]}, "'auc' is no metric that is read"),
    ({"metrics": [{"metric": "accuracy", "value": 69.2}]}, "a percentage is a text with its sign"),
    ({"metrics": [{"metric": "accuracy", "value": "high"}]}, "no number and no percentage"),
    ({"metrics": [{"metric": "accuracy", "value": 0.7, "of": 1}]}, "accuracy is of no class"),
    ({"metrics": [{"metric": "recall", "value": 0.7, "of": 2}]}, "metrics[0]"),
    ({"metrics": [{"metric": "recall", "value": 0.7, "within": -1}]}, "negative"),
    ({"confusion_matrix": [[1, 2]]}, "no table of 2 rows and columns"),
    ({"confusion_matrix": [[0.5, 0.5], [0, 1]]}, "It must be a whole number"),
    ({"classification_report": {"0": {"gain": 1}}}, "no line of a classification report"),
    ({"classification_report": {"0": {"support": "many"}}}, "classification_report.0: 'many' is no number and no"),
    ({"groups": [{"where": {"c": 1}, "metrics": [{"metric": "accuracy", "value": 1}]}]}, "groups[0].where"),
    ({"model": "net", "confusion_matrix": [[1, 0], [0, 1]]}, "no one model 'net'"),
    ({"labels": [0, 0], "confusion_matrix": [[1, 0], [0, 1]]}, "a label stands twice"),
    ({"acuracy": 1}, "unknown key"),
]


@pytest.mark.parametrize(("card", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_wrong_card_is_refused_in_one_sentence(card, said, tmp_path, capsys) -> None:
    """Exit code 3, naming the card."""
    code, out, err = run(capsys, "count", *_files(tmp_path, card))
    assert (code, out) == (3, "")
    assert said in err
    assert "c.json" in err
    assert err.count("\n") == 1


def test_the_order_of_labels_is_asked_for_where_the_domain_has_another(tmp_path: Path, capsys, monkeypatch) -> None:
    """Rows of a matrix are in ascending order: "no" before "yes", whatever the domain says first."""
    monkeypatch.setitem(DOMAIN, "label", {"name": "y", "values": ["yes", "no"]})
    card = {"confusion_matrix": [[4, 1], [2, 6]]}
    assert "give 'labels', the order of the rows and columns" in run(capsys, "count", *_files(tmp_path, card))[2]
    names = [one.name for one in recon.load(*_files(tmp_path, {**card, "labels": ["no", "yes"]})).models[1].statements]
    assert names[0] == "confusion matrix, label no as no"
    monkeypatch.delitem(DOMAIN, "label")
    sizes = _files(tmp_path, card, {"kind": "tree", "nodes": [{"count": 13}]})
    assert "the tree 'tree' has no label, and predicts nothing" in run(capsys, "count", *sizes)[2]


RULES = {"kind": "rule_set", "rules": [{"if": {"a": 1}, "counts": [1, 1]}]}
SHARES = {"kind": "tree", "nodes": [{"count": 13}]}
NOISY = {"kind": "tree", "nodes": [{"counts": [3, 10]}], "noise": {"law": "discrete_laplace", "scale": 1}}


@pytest.mark.parametrize(("model", "said"), [(RULES, "about a tree, a forest or a rule list"),
                                             (SHARES, "training rows, whatever their class"),
                                             (NOISY, "counts with noise")])  # fmt: skip
def test_a_model_whose_predictions_are_not_known_is_refused_by_name(model, said, tmp_path, capsys) -> None:
    """Overlapping rules, sizes alone, noisy counts."""
    files = _files(tmp_path, {"metrics": [{"metric": "accuracy", "value": 0.7}]}, model)
    code, _, err = run(capsys, "count", *files, "--rows", "13")
    assert (code, said in err) == (3, True), err


def test_cards_of_other_tools_say_the_accuracy_of_training_rows(tmp_path: Path) -> None:
    """Hugging Face's and Google's: of the split that is train; what is not used is named."""
    tree = _files(tmp_path, {"metrics": [{"metric": "accuracy", "value": 0.69}]})
    own = recon.count(recon.load(*tree)).value
    metrics = [{"type": "accuracy", "value": 0.69}, {"type": "f1", "value": 0.8}]
    face = {"model-index": [{"name": "m", "results": [{"dataset": {"split": "train"}, "metrics": metrics}]}]}
    google = {"quantitative_analysis": {"performance_metrics": [{**m, "slice": "train"} for m in metrics]}}
    for one in (face, google):
        (tmp_path / "c.json").write_text(json.dumps(one))
        release = recon.load(*tree)
        assert recon.count(release).value == own
        assert [left.what for left in release.models[1].origin.unused] == ["f1 0.8"]
        (tmp_path / "c.json").write_text(json.dumps(one).replace("train", "test"))
        with pytest.raises(recon.Unsupported, match="without the accuracy on its training rows"):
            recon.load(*tree)


def test_a_joined_card_is_converted_into_figures_of_a_release_file(tmp_path: Path, capsys) -> None:
    """What `recon convert` writes of both files has the same worlds."""
    files = _files(tmp_path, {"groups": [{"where": {"b": 1}, "metrics": [{"metric": "prevalence", "value": "1/2"}]}]})
    assert run(capsys, "convert", *files, "--out", str(tmp_path / "both.json"))[0] == 0
    both = recon.load(*files)
    again, alone = recon.load(str(tmp_path / "both.json")), recon.load(files[0])
    found = [recon.count(one, "multiset").value for one in (both, again, alone)]
    assert found[0] == found[1] < found[2]


def test_scores_and_too_many_regions_are_refused_by_name(tmp_path: Path, capsys, monkeypatch) -> None:
    """A boosted model adds up scores; a model of more regions than are encoded is not encoded in part."""
    files = _files(tmp_path, {"metrics": [{"metric": "accuracy", "value": 0.7}]})
    boosted = Path(__file__).resolve().parents[1] / "examples" / "releases" / "boosted_model.txt"
    code, _, err = run(capsys, "count", str(boosted), files[1])
    assert (code, "adds up scores" in err) == (3, True), err
    monkeypatch.setattr("encoders.encode.predicted_regions.MAX_REGIONS", 2)
    code, _, err = run(capsys, "count", *files)
    assert (code, "predicts in more than 2 regions" in err) == (3, True), err
