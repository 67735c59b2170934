"""`recon positions`: rows by their position, in Python and on the command line; the truth is never excluded."""

from __future__ import annotations

import json
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from extras import after_verdict, run, some

import recon
from recon.queries.located.positions import _percent, _width_text
from solvers.foundation.limits import Limits
from solvers.positions import known_world
from solvers.positions.assignments import world

sklearn = pytest.importorskip("sklearn")
from sklearn.datasets import load_diabetes  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    BaggingClassifier,
    ExtraTreesClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

ROWS, TREES = 40, 25
KEYS = {
    "status", "complete", "rows", "labels", "labels_known", "share_labels_known", "rows_known", "share_rows_known",
    "share_values_known", "share_leaves_known", "mean_width", "mean_width_domain", "width_of", "learner", "steps",
    "assumptions", "notes", "engine", "seconds", "trail", "certificate", "classes",
}  # fmt: skip


def data(rows=ROWS):
    found = load_diabetes(as_frame=True)
    label = (found.target > found.target.median()).astype(int)
    return found.data.iloc[:rows][["age", "bmi", "bp", "s1", "s5"]], label.iloc[:rows].rename("label")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A default forest on floats, its training rows in order, and the same without seeds."""
    place = tmp_path_factory.mktemp("forest")
    x, y = data()
    forest = RandomForestClassifier(TREES, random_state=1).fit(x, y)
    paths = {name: str(place / f"{name}.joblib") for name in ("forest", "stripped", "plain")}
    joblib.dump(forest, paths["forest"])
    joblib.dump(RandomForestClassifier(3, bootstrap=False, random_state=1).fit(x, y), paths["plain"])
    forest.random_state = None
    for tree in forest.estimators_:
        tree.random_state = None
    joblib.dump(forest, paths["stripped"])
    paths["truth"] = str(place / "train.csv")
    x.assign(label=y).to_csv(paths["truth"], index=False)
    return paths


@pytest.fixture(scope="module")
def located(files):
    release = recon.load(files["forest"])
    return recon.positions(release, truth=pd.read_csv(files["truth"]))


@pytest.mark.slow
def test_one_line_per_position_and_attribute(located, files):
    truth = pd.read_csv(files["truth"])
    assert list(located.columns) == ["position", "attribute", "low", "high", "exact", "values"]
    assert len(located) == ROWS * truth.shape[1]
    assert located["position"].tolist() == np.repeat(np.arange(ROWS), truth.shape[1]).tolist()
    assert located["attribute"].tolist() == list(truth.columns) * ROWS
    assert set(located.attrs) == KEYS | {"truth"}


def test_the_truth_is_inside_and_labels_are_proved(located, files):
    truth = pd.read_csv(files["truth"])
    for name, lines in located.groupby("attribute"):
        real = truth[name].to_numpy()
        assert (lines["low"].to_numpy() <= real).all()
        assert (lines["high"].to_numpy() >= real).all()
    labels = located[located["attribute"] == "label"]
    assert located.attrs["labels_known"] == labels["exact"].sum() > ROWS / 2
    for line in labels[labels["exact"]].to_dict("records"):
        assert line["values"] == [truth["label"][line["position"]]]
        assert line["low"] == line["high"] == line["values"][0]
    assert located.attrs["status"] == "bounds"
    assert located.attrs["rows"] == located.attrs["labels"] == ROWS
    assert 0 < located.attrs["mean_width"] < 1
    beside = located.attrs["truth"]
    assert beside["inside"]
    assert beside["outside"] == 0
    assert beside["first_outside"] is None
    assert beside["labels_right"] == located.attrs["labels_known"]
    assert beside["mean_width_true_leaves"] <= beside["mean_width"] < beside["mean_width_marginals"] == 1
    assert beside["mean_error"] < beside["mean_error_marginals"]


@pytest.mark.slow
def test_another_order_is_told(files):
    release = recon.load(files["forest"])
    found = recon.positions(release, truth=pd.read_csv(files["truth"]).iloc[::-1])
    first = found.attrs["truth"]["first_outside"]
    assert not found.attrs["truth"]["inside"]
    line = found[(found["position"] == first["position"]) & (found["attribute"] == first["attribute"])].iloc[0]
    assert not line["low"] <= first["value"] <= line["high"]
    with pytest.raises(recon.ReleaseError, match="39 rows, the release has 40 positions"):
        recon.positions(release, truth=pd.read_csv(files["truth"]).iloc[1:])


@pytest.mark.slow
def test_ranges_close_open_ends(files):
    release, truth = recon.load(files["forest"]), pd.read_csv(files["truth"])
    ends = {name: (float(truth[name].min()), float(truth[name].max())) for name in ("age", "bmi")}
    found = recon.positions(release, ranges=ends, truth=truth)
    assert found.attrs["truth"]["inside"]
    assert found.attrs["width_of"] == "range or gaps"
    of = found[found["attribute"] == "bmi"]
    assert of["low"].min() >= ends["bmi"][0]
    assert of["high"].max() <= ends["bmi"][1]
    assert any("the least and the greatest value" in line for line in found.attrs["assumptions"])
    declared = recon.load(files["forest"], domain=recon.Domain.from_frame(truth, label="label"))
    known = recon.positions(declared, ranges="attained")
    assert known.attrs["width_of"] == "range"
    assert np.isfinite(known["low"]).all()


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        ({"weight": (0, 1)}, "'weight' is not an attribute of numbers"),
        ({"label": (0, 1)}, "'label' is not an attribute of numbers"),
        ({"bmi": (1, 0)}, "min that is at most its max"),
        ({"bmi": ("a", 0)}, "two numbers, min and max"),
        ({"bmi": (50, 60)}, "not that of the training rows: position"),
        ("attained", "no attribute of the domain has two ends"),
    ],
)
def test_ranges_that_cannot_be(files, ranges, said):
    with pytest.raises(recon.ReleaseError, match=said):
        recon.positions(recon.load(files["forest"]), ranges=ranges)


def test_no_position_is_said_with_what_to_ask_instead(files, capsys):
    for name, said in (("stripped", "no seeds are stored"), ("plain", "each saw all rows alike")):
        with pytest.raises(recon.Inconclusive, match=said):
            recon.positions(recon.load(files[name]))
        code, out, err = run(capsys, "positions", files[name])
        assert (code, out) == (4, "")
        assert said in err
        assert "recon reconstruct" in err
        assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_the_command(files, capsys, tmp_path):
    code, out, _ = run(capsys, "positions", files["forest"], "--truth", files["truth"])
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("this file reveals ")
    assert f"of {ROWS} labels by position, and narrows values to " in lines[0]
    assert "position 0: label" in out
    assert "every true value is among those left" in out
    table = tmp_path / "rows.csv"
    code, out, _ = run(capsys, "positions", files["forest"], "--out", str(table))
    found = pd.read_csv(table)
    assert code == 0
    assert len(found) == ROWS * 6
    assert found["values"].iloc[5] in {"{0}", "{1}", "{0, 1}"}
    assert table.stat().st_mode & 0o077 == 0
    parquet = tmp_path / "rows.parquet"
    assert run(capsys, "positions", files["forest"], "--out", str(parquet))[0] == 0
    assert len(pd.read_parquet(parquet)) == ROWS * 6


def imbalanced(folder):
    """Return a forest of 30 trees on 12 rare rows among 150, in a file, its rows, and which are rare."""
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.normal(size=(150, 6)).round(3), columns=list("abcdef"))
    rare = np.zeros(150, dtype=int)
    rare[np.argsort(x["a"] + x["b"] - 0.5 * x["c"])[-12:]] = 1
    path = str(folder / "rare.joblib")
    joblib.dump(RandomForestClassifier(30, random_state=0).fit(x, rare), path)
    x.assign(label=rare).to_csv(folder / "rare.csv", index=False)
    return path, x, rare


@pytest.mark.slow
def test_the_worst_off_class_stands_first(tmp_path, capsys):
    path, x, rare = imbalanced(tmp_path)
    found = recon.positions(recon.load(path), truth=x.assign(label=rare))
    first, second = found.attrs["classes"]
    assert (first["class"], first["rows"], second["rows"]) == (1, [12, 12], [138, 138])
    assert first["share_leaves_known"] > 0.8 > 10 * second["share_leaves_known"]
    assert first["mean_width"] < second["mean_width"]
    beside = {one["class"]: one for one in found.attrs["truth"]["classes"]}
    assert beside[1]["rows"] == beside[1]["labels_right"] == 12
    assert found.attrs["truth"]["classes"][0]["class"] == 1
    assert beside[1]["mean_width_true_leaves"] <= beside[1]["mean_width"] < beside[0]["mean_width"]
    assert first["boxes_whole"] <= beside[1]["boxes_as_tight"] <= 12
    every = sum(one["share_leaves_known"] * n for one, n in ((first, 12), (second, 138))) / 150
    assert every == pytest.approx(found.attrs["share_leaves_known"], abs=0.01)  # rows are drawn about equally often
    code, out, _ = run(capsys, "positions", path)
    assert code == 0
    assert "; most exposed is class 1: 12 of 12 labels" in out.splitlines()[0]
    policy = tmp_path / "policy.toml"
    policy.write_text('name = "p"\nmost_labels_by_position = 100\nmost_pinned = 0\n')
    code, out, _ = run(capsys, "audit", path, "--policy", str(policy), "--json")
    assert code == 1
    told = json.loads(out)
    assert told["facts"]["classes_by_position"][0]["name"] == "class 1"
    by_rule = {one["rule"]: one for one in told["assessment"]["checks"]}
    assert by_rule["most_labels_by_position"]["places"][0]["name"] == "class 1"
    assert "most exposed is class 1" in by_rule["most_pinned"]["sentence"]


@pytest.mark.slow
def test_json_has_the_same_keys(files, capsys, tmp_path):
    code, out, _ = run(capsys, "positions", files["forest"], "--truth", files["truth"], "--json")
    found = json.loads(out)
    assert code == 0
    assert KEYS | {"truth", "positions"} <= set(found)
    assert len(found["positions"]) == ROWS * 6
    assert set(found["positions"][0]) == {"position", "attribute", "low", "high", "exact", "values"}
    assert {line["low"] for line in found["positions"] if line["attribute"] == "age"} >= {None}  # an open end
    labels = [line for line in found["positions"] if line["attribute"] == "label"]
    assert all(set(line["values"]) <= {0, 1} for line in labels)
    assert found["labels_known"] == sum(line["exact"] for line in labels)


@pytest.mark.slow
def test_wrong_usage_and_bad_files(files, capsys, tmp_path):
    assert run(capsys, "positions", files["forest"], "--learner", "gradient")[0] == 2
    assert run(capsys, "positions", files["forest"], "--out", files["forest"])[0] == 2
    assert run(capsys, "positions", files["forest"], "--out", str(tmp_path / "a.html"))[0] == 2
    assert run(capsys, "positions", str(tmp_path / "none.joblib"))[0] == 3
    code, _, err = run(capsys, "positions", files["forest"], "--ranges", files["truth"])
    assert code == 3
    assert "no column 'attribute'" in err
    ranges = tmp_path / "ranges.csv"
    ranges.write_text("attribute,min,max\nbmi,-1,1\nbmi,-1,1\n")
    code, _, err = run(capsys, "positions", files["forest"], "--ranges", str(ranges))
    assert (code, "row 2: 'bmi' stands twice" in err) == (3, True)
    ranges.write_text("attribute,min,max\nbmi,-1,1\n")
    assert run(capsys, "positions", files["forest"], "--ranges", str(ranges))[0] == 0


@pytest.mark.slow
def test_what_is_known_is_printed_when_the_time_is_up(files, capsys):
    code, out, _ = run(capsys, "positions", files["forest"], "--time", "0")
    assert code == 4
    assert "by position" in out
    assert "the limits ended the work" in out
    code, out, _ = run(capsys, "positions", files["forest"], "--time", "0", "--json")
    assert code == 4
    assert json.loads(out)["complete"] is False


def forest_file(tmp_path, trees, bags, attributes):
    """Write a release file of trees on known bags and return its path."""
    path = tmp_path / "forest.json"
    domain = {"attributes": attributes, "label": {"name": "y", "values": ["no", "yes"]}}
    model = {"kind": "forest", "bootstrap": True, "multiplicities": bags, "trees": [{"nodes": t} for t in trees]}
    path.write_text(json.dumps({"recon": 1, "domain": domain, "models": [model]}))
    return str(path)


def test_bags_that_contradict_each_other(tmp_path, capsys):
    trees = [[{"counts": [2, 0], "distinct": 1}], [{"counts": [0, 2], "distinct": 1}]]
    path = forest_file(tmp_path, trees, [[2, 0], [2, 0]], [{"name": "a", "values": [0, 1]}])
    code, _, err = run(capsys, "positions", path)
    assert code == 5
    assert "contradict" in err


def test_multiplicities_that_do_not_add_up_are_refused(tmp_path, capsys):
    path = forest_file(tmp_path, [[{"counts": [2, 0]}]], [[2, 1]], [{"name": "a", "values": [0, 1]}])
    code, _, err = run(capsys, "positions", path)
    assert code == 3
    assert "they sum to 3, but the tree counts 2 rows" in err
    assert "multiplicities[0]" in err


def test_words_grids_and_missing_values_by_position(tmp_path, capsys):
    """Two rows, one drawn by each tree: every leaf is known, and with it the values that its tests leave."""
    attributes = [
        {"name": "city", "values": ["a", "b", "c"]},
        {"name": "age", "min": 18, "max": 60},
        {"name": "big", "min": 0, "max": 1000000},
        {"name": "pay", "min": 0, "max": 9, "resolution": None, "missing": True},
    ]

    def tree(test, left):
        counts = [{"counts": [0, 0], "distinct": 0}, {"counts": [0, 2], "distinct": 1}]
        return [{"if": test, "then": 1, "else": 2}, *(counts[::-1] if left else counts)]

    trees = [
        tree({"city": {"in": ["a", "c"]}}, True),
        tree({"age": {"at_most": 20}}, True),
        tree({"big": {"at_most": 500}}, False),
        tree({"pay": {"at_most": 2.5}}, True),
        tree({"pay": {"missing": True}}, True),
    ]
    bags = [[2, 0], [2, 0], [2, 0], [2, 0], [0, 2]]
    path = forest_file(tmp_path, trees, bags, attributes)
    code, out, _ = run(capsys, "positions", path, "--json")
    found = json.loads(out)
    assert code == 0
    lines = {(line["position"], line["attribute"]): line for line in found["positions"]}
    assert lines[0, "city"]["values"] == ["a", "c"]
    assert lines[0, "city"]["low"] is None
    assert (lines[0, "age"]["low"], lines[0, "age"]["high"], lines[0, "age"]["values"]) == (18, 20, [18, 19, 20])
    assert (lines[0, "big"]["low"], lines[0, "big"]["values"]) == (501, None)
    assert (lines[0, "pay"]["low"], lines[0, "pay"]["high"], lines[0, "pay"]["missing"]) == (0, 2.5, False)
    assert lines[1, "pay"]["exact"] is True
    assert (lines[1, "pay"]["low"], lines[1, "pay"]["values"], lines[1, "pay"]["missing"]) == (None, ["missing"], True)
    assert lines[1, "age"]["exact"] is False
    assert [lines[i, "y"]["values"] for i in (0, 1)] == [["yes"], ["yes"]]
    code, out, _ = run(capsys, "positions", path)
    assert "city in {a, c}" in out
    assert "pay = missing" in out


@pytest.mark.slow
def test_reports_open_with_what_is_given_back(files, tmp_path, capsys):
    code, out, _ = run(capsys, "audit", files["forest"], "--time", "4")
    first = after_verdict(out)[2:]
    assert code == 4
    assert first[0] == "What this file reveals, by position in the training file"
    assert first[1].strip().startswith("this file reveals ")
    assert "remedy: without the stored seeds 0 of 40 labels and no values follow by position" in out
    for ending, opening in ((".md", "What this file reveals"), (".html", "What this file reveals")):
        page = tmp_path / f"report{ending}"
        run(capsys, "audit", files["forest"], "--time", "3", "--out", str(page))
        text = page.read_text()
        assert text.index(opening) < text.index("Who is most exposed", text.index(opening))
    code, out, _ = run(capsys, "audit", files["forest"], "--json", "--time", "3", "--truth", files["truth"])
    found = json.loads(out)["positions"]
    assert found["summary"].startswith("this file reveals")
    assert found["truth"]["inside"]
    code, out, _ = run(capsys, "audit", files["stripped"], "--time", "3")
    assert "What this file reveals" not in out
    out = run(capsys, "inspect", files["forest"])[1]
    assert "recon positions says what is proved of every one" in out
    assert "without it nothing follows by position" in out


@pytest.mark.slow
def test_boxes_of_profiles(files):
    release, truth = recon.load(files["forest"]), pd.read_csv(files["truth"])
    recon.positions(release)
    found = recon.certify(release, truth.head(4), limits=recon.Limits(seconds=20))
    assert not (found["verdict"] == "certain").any()
    assert (found["box_rows"] >= 1).all()
    assert found["box"].str.contains("label = ").all()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(truth.drop(columns="label"), truth["label"])
    one = recon.encode(tree, recon.Domain.from_frame(truth, label="label"))
    verdicts = recon.certify(one, truth)
    leaf = tree.apply(truth.drop(columns="label"))
    same = [int(((leaf == leaf[i]) & (truth["label"] == truth["label"][i])).sum()) for i in range(len(truth))]
    assert verdicts["box_rows"].tolist() == same
    counts = pd.DataFrame({"a": [0, 0, 1], "label": [0, 1, 1]})
    finite = DecisionTreeClassifier().fit(counts[["a"]], counts["label"])
    encoded = recon.encode(finite, recon.Domain.from_frame(counts, label="label"))
    assert "box" not in recon.certify(encoded, counts)


def fitted(name):
    """Return an ensemble of the kind, fitted on forty rows."""
    x, y = data()
    weights = np.random.default_rng(0).integers(1, 4, ROWS)
    base = DecisionTreeClassifier()
    makers = {
        "criterion": lambda: RandomForestClassifier(12, criterion="log_loss", random_state=0).fit(x, y),
        "entropy, oob": lambda: RandomForestClassifier(30, criterion="entropy", oob_score=True, random_state=0).fit(
            x, y
        ),
        "share": lambda: RandomForestClassifier(12, max_samples=0.5, random_state=0).fit(x, y),
        "number": lambda: RandomForestClassifier(12, max_samples=20, random_state=0).fit(x, y),
        "balanced": lambda: RandomForestClassifier(12, class_weight="balanced", random_state=0).fit(x, y),
        "subsample": lambda: RandomForestClassifier(12, class_weight="balanced_subsample", random_state=0).fit(x, y),
        "dict": lambda: RandomForestClassifier(12, class_weight={0: 1, 1: 3}, random_state=0).fit(x, y),
        "weights": lambda: RandomForestClassifier(12, random_state=0).fit(x, y, sample_weight=weights),
        "extra trees": lambda: ExtraTreesClassifier(12, bootstrap=True, random_state=0).fit(x, y),
        "bagging": lambda: BaggingClassifier(base, 12, random_state=0).fit(x, y),
        "bagging, columns": lambda: BaggingClassifier(base, 12, max_features=0.6, random_state=0).fit(x, y),
        "subsets": lambda: BaggingClassifier(base, 12, bootstrap=False, max_samples=0.5, random_state=0).fit(x, y),
        "shallow": lambda: RandomForestClassifier(12, max_depth=3, random_state=0).fit(x, y),
        "regressor": lambda: RandomForestRegressor(12, random_state=0).fit(x, y),
    }
    return makers[name]()


@pytest.mark.sampled(0, 2)
@pytest.mark.parametrize(
    "name",
    some([
        "share", "criterion", "number", "entropy, oob", "balanced", "subsample", "dict", "weights", "extra trees",
        "bagging", "bagging, columns", "subsets", "shallow", "regressor",
    ]),
)  # fmt: skip
def test_ensembles_with_seeds_never_exclude_the_truth(name):
    x, y = data()
    truth = x.assign(label=y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(name)
    release = recon.encode(model, recon.Domain.from_frame(truth, label="label"))
    assert release.statements.bags
    found = recon.positions(release, truth=truth, limits=recon.Limits(seconds=30))
    assert found.attrs["truth"]["inside"], found.attrs["truth"]["first_outside"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("again", [True, False])
def test_isolation_forests_with_seeds_never_exclude_the_truth(again):
    """With replacement their trees count drawn rows, without it different ones."""
    x, _ = data()
    model = IsolationForest(n_estimators=8, max_samples=20, bootstrap=again, random_state=0).fit(x)
    release = recon.encode(model, recon.Domain.from_frame(x))
    assert release.statements.bags[0].times.sum(axis=1).tolist() == [20] * 8
    found = recon.positions(release, truth=x, limits=recon.Limits(seconds=30))
    assert found.attrs["truth"]["inside"], found.attrs["truth"]["first_outside"]


@pytest.mark.slow
def test_values_proved_missing_have_no_width(tmp_path, capsys):
    """Their ends are NaN; figures of the truth beside them are numbers all the same."""
    x, y = data()
    x = x.mask(np.random.default_rng(0).random(x.shape) < 0.1)
    joblib.dump(RandomForestClassifier(30, random_state=0).fit(x, y), tmp_path / "forest.joblib")
    x.assign(label=y).to_csv(tmp_path / "train.csv", index=False)
    command = "positions", str(tmp_path / "forest.joblib"), "--truth", str(tmp_path / "train.csv"), "--json"
    code, out, err = run(capsys, *command)
    assert code in {0, 4}, err
    found = json.loads(out)
    assert any(line["exact"] and line["values"] == ["missing"] for line in found["positions"])
    assert found["truth"]["inside"]
    assert 0 < found["truth"]["mean_width"] < 1


def test_rows_drawn_more_often_than_memory_allows_to_count(tmp_path, capsys):
    """Counting takes room for every multiplicity up to the greatest: that is named, and other engines answer."""
    most = 2**31 - 1
    leaves = [{"counts": [most, 0], "distinct": 1}, {"counts": [0, most], "distinct": 1}]
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, *leaves]
    domain = {"attributes": [{"name": "a", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}}
    forest = {"kind": "forest", "bootstrap": True, "trees": [{"nodes": nodes}], "multiplicities": [[most, most]]}
    (tmp_path / "release.json").write_text(json.dumps({"recon": 1, "domain": domain, "models": [forest]}))
    code, _, err = run(capsys, "positions", str(tmp_path / "release.json"))
    assert code == 4
    assert "(--memory)" in err
    code, out, _ = run(capsys, "count", str(tmp_path / "release.json"), "--json")
    assert code in {0, 4}
    assert json.loads(out)["log2_upper"] <= 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", [RandomForestClassifier, BaggingClassifier, ExtraTreesClassifier])
def test_trees_of_another_call_of_fit_are_left_out_by_name(kind):
    x, y = data()
    settings = {"random_state": 0, "warm_start": True} | ({} if kind is BaggingClassifier else {"bootstrap": True})
    same = kind(n_estimators=4, **settings).fit(x, y)
    same.set_params(n_estimators=7).fit(x, y)
    release = recon.encode(same, recon.Domain.from_frame(x.assign(label=y), label="label"))
    assert len(release.models[0].trees) == 7
    assert release.statements.bags
    assert any("all calls of fit are taken" in line for line in release.assumptions)
    other = kind(n_estimators=4, **settings).fit(x[20:], y[20:])
    other.set_params(n_estimators=7).fit(x, y)
    release = recon.encode(other, recon.Domain.from_frame(x.assign(label=y), label="label"))
    assert len(release.models[0].trees) == 3
    assert any("its first 4 trees drew 20 rows, those of the last call 40" in line for line in release.reader_notes)
    found = recon.positions(release, truth=x.assign(label=y))
    assert found.attrs["truth"]["inside"]


def test_seeds_that_do_not_fit_are_said_and_not_used():
    x, y = data()
    forest = RandomForestClassifier(6, random_state=0).fit(x, y)
    forest.estimators_[2].random_state = 17
    release = recon.encode(forest, recon.Domain.from_frame(x.assign(label=y), label="label"))
    assert not release.statements.bags
    assert any("do not have the distinct rows that the trees say" in line for line in release.reader_notes)
    with pytest.raises(recon.Inconclusive, match="do not have the distinct rows"):
        recon.positions(release)


def test_figures_in_words():
    assert _percent(1.0) == "100 %"
    assert _percent(0.99999) == "99.9 %"
    assert _percent(0.00001) == "less than 0.1 %"
    assert _percent(None) == "not defined"
    assert _width_text(0.1349) == "14 %"
    assert _width_text(0.0501) == "5.1 %"


@pytest.mark.slow
def test_every_line_is_certified(files, tmp_path, capsys):
    result = tmp_path / "result.json"
    code, _, _ = run(capsys, "positions", files["forest"], "--json", "--out", str(result))
    assert code == 0
    code, out, _ = run(capsys, "verify", str(result), files["forest"])
    assert code == 0, out
    found = json.loads(result.read_text())
    line = next(one for one in found["positions"] if one["attribute"] == "label" and one["exact"])
    line["values"], line["low"], line["high"] = [1 - line["low"]], 1 - line["low"], 1 - line["low"]
    result.write_text(json.dumps(found))
    assert run(capsys, "verify", str(result), files["forest"])[0] == 1
    frame = recon.positions(recon.load(files["forest"]), certificates=True)
    assert not recon.verify([frame.attrs["certificate"]], recon.load(files["forest"])).rejected


@pytest.mark.slow
def test_midpoints_narrow_and_never_exclude_the_truth(files, capsys):
    release, truth = recon.load(files["forest"]), pd.read_csv(files["truth"])
    ends = {name: (float(truth[name].min()), float(truth[name].max())) for name in truth.columns[:-1]}
    plain = recon.positions(release)
    for ranges in (None, ends):
        found = recon.positions(release, learner="midpoints", ranges=ranges, truth=truth)
        assert found.attrs["truth"]["inside"], found.attrs["truth"]["first_outside"]
        assert found.attrs["mean_width"] <= plain.attrs["mean_width"] + 1e-12
        assert any("thresholds are midpoints" in line for line in found.attrs["assumptions"])
        assert not any("does not use how the learner" in line for line in found.attrs["assumptions"])
    exact = found[found["exact"] & (found["attribute"] != "label")]
    for line in exact.to_dict("records"):
        assert line["values"] == [float(np.float32(truth[line["attribute"]][line["position"]]))]
    code, out, _ = run(capsys, "positions", files["forest"], "--learner", "midpoints", "--truth", files["truth"])
    assert code == 0
    assert "learner: midpoints" in out
    assert "every true value is among those left" in out


@pytest.mark.slow
def test_midpoints_that_are_none_are_said():
    x, y = data()
    trees = ExtraTreesClassifier(12, bootstrap=True, random_state=0).fit(x, y)
    release = recon.encode(trees, recon.Domain.from_frame(x.assign(label=y), label="label"))
    found = recon.positions(release, learner="midpoints")
    assert any(note.startswith("midpoints:") for note in found.attrs["notes"])
    assert found.attrs["learner"] == "none"


def test_a_world_stands_in_the_order_of_the_file(tmp_path, capsys):
    """Every leaf of every row follows from how often it was drawn: what is inside of leaves is one of many."""
    attributes = [{"name": name, "min": 0, "max": 9} for name in "ab"]

    def tree(name, right):
        counts = [{"counts": [2, 0], "distinct": 1}, {"counts": [0, 1], "distinct": 1}]
        return [{"if": {name: {"at_most": 4}}, "then": 1, "else": 2}, *(counts[::-1] if right else counts)]

    trees = [tree("a", False), tree("a", False), tree("b", True), tree("b", True)]
    path = forest_file(tmp_path, trees, [[2, 1, 0], [2, 0, 1], [2, 1, 0], [2, 0, 1]], attributes)
    code, out, _ = run(capsys, "positions", path, "--json")
    assert code == 0
    labels = [line["values"] for line in json.loads(out)["positions"] if line["attribute"] == "y"]
    assert labels == [["no"], ["yes"], ["yes"]]
    code, out, _ = run(capsys, "reconstruct", path, "--json")
    assert code == 0
    found = json.loads(out)
    assert [row["y"] for row in found["rows"]] == ["no", "yes", "yes"]
    assert [(row["a"] <= 4, row["b"] > 4) for row in found["rows"]] == [(True, True), (False, False), (False, False)]
    assert found["unique"] is False
    assert "one of many: the middle of what is proved of every row" in found["note"]


@pytest.mark.slow
def test_without_a_world_it_is_said_what_to_ask(files, capsys, monkeypatch):
    monkeypatch.setattr(
        world, "find_world", lambda state, limits, seed: world.AssignedWorld(None, "none was found", False)
    )
    code, _, err = run(capsys, "reconstruct", files["forest"])
    assert code in {3, 4}
    assert "recon positions says what is proved of every row" in err
    assert len(err) < 400


@pytest.mark.slow
def test_a_world_of_a_default_forest_meets_its_trees(files, capsys):
    code, out, _ = run(capsys, "reconstruct", files["forest"], "--json")
    assert code == 0
    found, truth = json.loads(out), pd.read_csv(files["truth"])
    assert found["unique"] is False
    rows = pd.DataFrame(found["rows"])
    assert rows.shape == truth.shape
    release, forest = recon.load(files["forest"]), joblib.load(files["forest"])
    (bags,) = release.statements.bags
    points, label = rows[truth.columns[:-1]].to_numpy(dtype=np.float32), rows[truth.columns[-1]].astype(int).to_numpy()
    for times, tree in zip(bags.times, forest.estimators_, strict=True):
        leaf, nodes = tree.apply(points), tree.tree_
        counts = np.zeros((nodes.node_count, 2))
        np.add.at(counts, (leaf, label), times)
        leaves = nodes.children_left < 0
        published = nodes.value[:, 0] * nodes.weighted_n_node_samples[:, None]
        assert np.allclose(counts[leaves], published[leaves])
        distinct = np.bincount(leaf, weights=times > 0, minlength=nodes.node_count)
        assert (distinct[leaves] == nodes.n_node_samples[leaves]).all()
    lines = recon.positions(release).set_index(["position", "attribute"])
    for (position, attribute), line in lines.iterrows():
        value = rows[attribute][position]
        assert line["low"] <= value <= line["high"] if line["values"] is None else value in line["values"]


@pytest.mark.slow
def test_rows_looked_at_in_pieces_have_the_same_bits_and_are_charged(files, monkeypatch):
    """All rows of a tree at once took 350 MB of a forest of 10,000 rows; what is left for them counts while it is."""
    limits = Limits(seconds=60.0)
    release = recon.load(files["forest"]).statements
    state = world.assigned(release, limits, tries=False)
    assert limits.meter.held >= world.room(release) > 0
    used = limits.meter.used
    whole = known_world.bits_left(state, limits)
    assert limits.meter.used > used
    monkeypatch.setattr(known_world, "TOGETHER", 64)
    assert np.array_equal(known_world.bits_left(state, limits), whole)
