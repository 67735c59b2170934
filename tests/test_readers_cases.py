"""Files that were read as more than they say: each is read as what its rows can be, or refused for a reason."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import export_text
from typer.testing import CliRunner

import recon
from recon.cli.app import app
from recon.queries.certificates.agreement import contradicted
from recon.queries.certificates.issuing import contradiction_certificate
from recon.queries.certificates.verifying import verify
from recon.readers.formats.boosters.xgboost import model as xgboost_model
from recon.readers.frames.world import violations
from recon.readers.loading.loading import read_domain
from recon.readers.loading.settled import strengthened_release
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits

CASES = Path(__file__).parent / "golden" / "readers"
GOLDEN = Path(__file__).parent / "golden"


def table(name):
    return pd.read_csv(CASES / name)


def domain_of(name, label):
    return recon.Domain.from_frame(table(name), label=label)


def loaded(file, domain):
    return recon.load(CASES / file, domain=read_domain(str(CASES / domain)))


# ------------------------------------------------------------------ XGBoost: what was taken for missing


def test_rows_of_a_sparse_matrix_go_the_default_way_and_are_not_certain(monkeypatch):
    monkeypatch.setattr(xgboost_model, "TELLING", 1.0)  # 18 rows do not tell that none was drawn
    release, frame = loaded("xgb_missing/csr.json", "xgb_missing/domain.json"), table("xgb_missing/csr.csv")
    assert violations(release, frame) == []
    verdict = recon.certify(release, pd.DataFrame({"c": [2]}))
    assert verdict["verdict"].tolist() == ["possible"]
    number = recon.bound(release, {"c": 2})
    assert number.min <= int((frame["c"] == 2).sum()) <= number.max
    assert any("which values were taken for missing" in note for note in release.assumptions)


@pytest.mark.parametrize("name", ["balanced", "second_root"])
def test_figures_that_drawn_rows_have_by_chance_tell_nothing(name):
    frame = table(f"xgb_drawn/{name}.csv")
    release = recon.load(CASES / f"xgb_drawn/{name}.json", domain=recon.Domain.from_frame(frame, label="y"))
    assert violations(release, frame) == []
    assert (release.rows.low <= len(frame), release.rows.high) == (True, None)


def test_another_value_than_zero_may_be_the_missing_one():
    release = loaded("xgb_missing/missing_-1.json", "xgb_missing/domain.json")
    assert violations(release, table("xgb_missing/missing_-1.csv")) == []
    assert any("-1" in note for note in release.assumptions)


def test_features_that_a_dump_only_numbers_are_those_at_their_places():
    frame = table("xgb_dump_sparse.csv")  # the first split is on f1; later trees send missing values to either side
    domain = recon.Domain.from_frame(frame, label="y")
    release = recon.load(CASES / "xgb_dump_sparse.json", domain=domain)
    assert violations(release, frame) == []
    assert any("splits send missing values to either side" in note for note in release.assumptions)
    turned = recon.Domain.from_frame(frame.set_axis(["f1", "f0", "y"], axis=1), label="y")
    with pytest.raises(recon.ReleaseError, match="'f0' may be the column of that name or the one at that place"):
        recon.load(CASES / "xgb_dump_sparse.json", domain=turned)


def test_trees_of_one_leaf_in_the_first_round_end_no_training():
    frame = table("xgb_one_leaf.csv")  # the tree of class 2, which one row has, does not split
    release = recon.load(CASES / "xgb_one_leaf.json", domain=recon.Domain.from_frame(frame, label="y"))
    assert violations(release, frame) == []
    assert not any("other rows" in line for line in (*release.reader_notes, *release.assumptions))
    with pytest.raises(Unsupported, match="holds one release"):
        recon.load(f"{CASES / 'xgb_one_leaf.json'}#2")


def changed(file, change):
    found = json.loads((GOLDEN / "boosted" / file).read_text(encoding="utf-8"))
    change(found["learner"]["gradient_booster"]["model"]["trees"])
    return found


def test_dense_training_is_read_as_it_compares_and_that_is_said(tmp_path):
    frame = pd.read_csv(GOLDEN / "boosted" / "xgbcat.csv")
    domain = recon.Domain.from_frame(frame, label="y")
    release = recon.load(GOLDEN / "boosted" / "xgb_honest.json", domain=domain)
    assert any("no value was taken for missing" in note for note in release.assumptions)
    assert release.statements.boosted

    def one_turned(trees):
        first = next(i for i, left in enumerate(trees[3]["left_children"]) if left != -1)
        trees[3]["default_left"][first] = 1

    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(changed("xgb_honest.json", one_turned)), encoding="utf-8")
    release = recon.load(path, domain=domain)
    assert not release.statements.boosted
    assert violations(release, frame) == []
    assert any("splits send missing values to either side" in note for note in release.assumptions)


# ------------------------------------------------------------------ drawn rows


@pytest.mark.parametrize("file", ["model", "five_trees"])
def test_subsample_with_the_old_base_score_gives_least_numbers(file):
    release = loaded(f"xgb_subsample/{file}.json", "xgb_subsample/domain.json")
    frame = table("xgb_subsample/train.csv")
    assert violations(release, frame) == []
    assert release.rows.high is None
    assert recon.certify(release, frame)["verdict"].ne("impossible").all()


def test_a_pickle_like_dump_without_parameters_does_not_hide_bagging():
    release = loaded("lgb_json_bagging/model.json", "lgb_json_bagging/domain.json")
    assert violations(release, table("lgb_json_bagging/train.csv")) == []
    assert (release.rows.low, release.rows.high) == (21, None)


def test_a_dump_of_several_classes_without_a_starting_score_does_not_hide_bagging():
    """Half of 67 rows were drawn, the same for all five rounds: roots agree, and no score says of which rows."""
    rows = table("lgb_json_bagging/classes.csv")
    release = recon.load(CASES / "lgb_json_bagging/classes.json", domain=recon.Domain.from_frame(rows, label="y"))
    assert (release.rows.low, release.rows.high) == (34, None)
    assert violations(release, rows) == []


def test_covers_of_absolute_errors_are_rows():
    draft_rows = recon.load(CASES / "xgb_reg_absoluteerror.json")
    tree = draft_rows.models[0]
    assert draft_rows.rows.low == 100
    assert "size" in tree.origin.counts


# ------------------------------------------------------------------ other rows, weights, copies


def continued(file, number=""):
    """Return a release of golden/readers/continued over the values of all three tables, and the file's second one."""
    kind = "_numbers" if "regression" in file or "squared" in file else ""
    tables = {name: table(f"continued/{name}{kind}.csv") for name in ("first", "second", "fewer")}
    domain = recon.Domain.from_frame(pd.concat(tables.values()), label="y")
    return recon.load(f"{CASES / 'continued' / file}{number}", domain=domain), tables


def test_trees_of_other_rows_are_a_release_of_their_own():
    release = recon.load(CASES / "i11_lgb_continued.txt", domain=domain_of("AB.csv", "label"))
    assert violations(release, table("A.csv")) == []
    assert any("of another training" in line for line in release.assumptions)
    assert release.models[0].origin.unused[-1].what == "the trees after these"
    second = recon.load(f"{CASES / 'i11_lgb_continued.txt'}#2", domain=domain_of("AB.csv", "label"))
    assert violations(second, table("B.csv")) == []
    verdicts = recon.certify(release, table("A.csv").head(3))
    assert verdicts["verdict"].ne("impossible").all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("file", "second"),
    [
        ("lightgbm_binary_second.txt", "second"),  # leaf values
        ("lightgbm_binary_second.json", "second"),
        ("lightgbm_regression_fewer.txt", "fewer"),  # numbers of rows, and leaf values
        ("xgboost_squarederror_second.json", "second"),
        ("xgboost_logistic_second.json", "covers of later rounds are sums of different hessians"),
        ("catboost_continued_second.cbm", "second"),  # the file names its trainings
        ("catboost_sum_fewer.cbm", "fewer"),
        ("catboost_sum_first.cbm", "first"),
    ],
)
def test_every_training_of_a_booster_is_a_release_of_its_own(file, second):
    release, tables = continued(file)
    assert violations(release, tables["first"]) == []
    assert violations(strengthened_release(release, Limits(30)), tables["first"]) == []
    assert release.rows.low == 80
    assert any(f"{file}#2" in line for line in release.reader_notes)
    assert continued(file, "#1")[0].models == release.models
    with pytest.raises(Unsupported, match="no number 3"):
        continued(file, "#3")
    if second not in tables:
        with pytest.raises(Unsupported, match=second):
            continued(file, "#2")
        return
    other, _ = continued(file, "#2")
    assert violations(other, tables[second]) == []
    assert other.rows.low == len(tables[second])


def test_trainings_that_figures_tell_apart_are_never_joined():
    path = CASES / "continued" / "lightgbm_binary_second.txt"
    with pytest.raises(Unsupported, match="about other rows: it is joined with nothing"):
        recon.load(f"{path}#1", f"{path}#2")


@pytest.mark.parametrize("file", ["lightgbm_binary_first.txt", "xgboost_logistic_first.json"])
def test_training_continued_on_the_same_rows_is_one_release(file):
    release, tables = continued(file)
    assert violations(strengthened_release(release, Limits(30)), tables["first"]) == []
    assert len(release.models[0].trees) == 4
    with pytest.raises(Unsupported, match="holds one release"):
        continued(file, "#2")


@pytest.mark.slow
def test_other_rows_that_only_leaf_values_of_cells_refute_are_left_out_of_every_answer():
    release, tables = continued("xgboost_logistic_fewer.json")
    assert any("all trees were fitted on the same rows" in line for line in release.assumptions)
    settled = strengthened_release(release, Limits(30))
    assert violations(settled, tables["first"]) == []
    assert any("from tree" in line for line in settled.assumptions)


def test_counts_with_a_common_divisor_are_not_numbers_of_rows():
    frame = table("export_text_class_weight_truth.csv")
    release = recon.load(
        CASES / "export_text_class_weight_2_3.txt", domain=recon.Domain.from_frame(frame, frame.columns[-1])
    )
    assert violations(release, frame) == []
    assert (release.rows.low, release.rows.high) == (120, 292)
    assert release.models[0].origin.counts == ("ratio",)
    assert "class 0 of 2 and those of class 1 of 3" in " ".join(release.assumptions)


# ------------------------------------------------------------------ contradictions inside one model file


def contradiction(tmp_path, source):
    found = json.loads((GOLDEN / "contradiction.json").read_text(encoding="utf-8"))
    found["models"] = [{**model, **({"read_from": source} if source else {})} for model in found["models"]]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def test_a_contradiction_of_a_model_file_names_the_assumption_and_is_not_certified(tmp_path):
    plain = recon.load(contradiction(tmp_path, None))
    proof = contradiction_certificate(plain, Limits(20))
    assert proof is not None
    path = contradiction(
        tmp_path, {"format": "LightGBM, model file", "counts": ["size"], "notes": ["no row was weighted"]}
    )
    read = recon.load(path)
    assert "no row was weighted" in contradicted(read)
    assert contradiction_certificate(read, Limits(20)) is None
    result = CliRunner().invoke(app, ["count", str(path), "--quiet"])
    assert result.exit_code == 5
    assert "something that reading LightGBM, model file assumes is false" in result.output
    assert "certified" not in result.output


def test_verify_rejects_a_contradiction_that_rests_on_a_reader(tmp_path, monkeypatch):
    path = contradiction(
        tmp_path, {"format": "LightGBM, model file", "counts": ["size"], "notes": ["no row was weighted"]}
    )
    read = recon.load(path)
    monkeypatch.setattr("recon.queries.certificates.issuing.contradicted", lambda release: "")
    forged = contradiction_certificate(read, Limits(20))
    assert forged is not None
    found = verify({"certificate": copy.deepcopy(forged)}, read)
    assert not found.verified
    assert "proves nothing about it" in found.rejected[0].error
    assert np.isclose(found.rejected[0].confidence, 1.0)


# ------------------------------------------------------------------ PMML


def test_a_class_that_no_rule_predicts_may_have_rows():
    domain = domain_of("ruleset_default_domain.csv", "y")
    release = recon.load(CASES / "ruleset_default.pmml", domain=domain)
    assert release.models[0].origin.counts == ("size",)
    assert recon.certify(release, table("ruleset_default_people.csv"))["verdict"].ne("impossible").all()


def test_counts_of_overlapping_rules_do_not_add_up_to_rows():
    release = recon.load(CASES / "clementine_ruleset.pmml")
    assert (release.rows.low, release.rows.high) == (40, None)
    assert "not a number of rows" in " ".join(release.assumptions)


def test_the_last_rule_of_rapidminer_is_left_open():
    release = recon.load(CASES / "rapidminer_ruleset.pmml")
    assert (release.rows.low, release.rows.high, len(release.models[0].rules)) == (90, None, 1)


@pytest.mark.parametrize(("file", "rows"), [("scoredistribution_only", 100), ("norootcount", 70)])
def test_counts_stand_in_score_distributions_and_leaves(file, rows):
    release = recon.load(CASES / f"{file}.pmml")
    assert (release.rows.low, release.rows.high) == (rows, rows)
    assert release.models[0].origin.counts == ("exact",)


def test_an_average_of_trees_is_a_forest():
    release = recon.load(CASES / "rf_avg.pmml")
    assert release.models[0].origin.counts == ("bag",)
    assert {f.low for f in release.models[0].statements} == {1}


def test_inspect_counts_the_rows_of_a_tree_without_a_root_count():
    assert recon.inspect(CASES / "norootcount.pmml").rows == 70


# ------------------------------------------------------------------ people's tables


@pytest.mark.parametrize("file", ["index_column_with.csv", "index_column_without.csv"])
def test_row_numbers_are_no_attribute(file):
    domain = read_domain(str(CASES / file))
    assert [a.name for a in domain.all] == ["age", "sex", "y"]
    assert any("counts the rows" in note for note in domain.notes) == ("with." in file)


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_frame_and_its_csv_are_the_same_domain(tmp_path, seed, index):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 60), "smoker": rng.random(60) < 0.5, "y": rng.random(60) < 0.3})
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=index)
    read = read_domain(str(path), label="y")
    assert read.all == recon.Domain.from_frame(frame, label="y").all
    frame.assign(smoker=frame["smoker"].map({True: "TRUE", False: "FALSE"})).to_csv(path, index=index)  # R
    assert read_domain(str(path), label="y").all == read.all


def test_true_and_false_are_bits():
    release = recon.load(CASES / "boolean_tree.joblib", domain=read_domain(str(CASES / "boolean.csv")))
    assert violations(release, table("boolean.csv").astype({"smoker": int})) == []


def test_few_numbers_in_many_rows_are_the_values_that_occur():
    codes = pd.DataFrame({"code": np.tile([1, 2, 5, 40, 99, 246], 50), "y": np.tile([0, 1], 150)})
    domain = recon.Domain.from_frame(codes, label="y")
    assert domain.attributes[0].values == (1, 2, 5, 40, 99, 246)
    assert any("--grid takes all numbers between" in note for note in domain.notes)
    few = recon.Domain.from_frame(codes.head(60), label="y")
    assert few.attributes[0].known[1] == 246


# ------------------------------------------------------------------ refused for no good reason


def test_a_split_between_missing_and_the_rest_is_read():
    frame = table("lgb_missing_split.csv")
    release = recon.load(CASES / "lgb_missing_split.txt", domain=recon.Domain.from_frame(frame, label="label"))
    assert violations(release, frame) == []


@pytest.mark.parametrize(
    ("file", "rows", "form"),
    [
        ("rpart_knitr.txt", 3821, "R rpart, printed text"),
        ("j48.txt", 150, "Weka J48, printed tree"),
        ("c50.txt", 150, "C5.0, printed tree"),
        ("lgb_v2.txt", 100, "LightGBM, model file"),
    ],
)
def test_texts_with_counts_per_leaf_are_read(file, rows, form):
    release = recon.load(CASES / file)
    assert (release.rows.low, release.models[0].origin.format) == (rows, form)


def test_printed_leaves_say_their_class_and_how_many_are_of_others():
    release = recon.load(CASES / "j48.txt")
    assert recon.bound(release, {"label": "setosa"}).min == 50
    assert recon.bound(release, {"label": "versicolor"}).max == 47 + 2 + 1
    assert recon.load(CASES / "c50.txt").rows.high == 150


def test_fractions_of_rows_are_refused(tmp_path):
    path = tmp_path / "j48.txt"
    path.write_text((CASES / "j48.txt").read_text().replace("(48.0/1.0)", "(48.5/1.0)"))
    with pytest.raises(recon.Unsupported, match="fractions of rows"):
        recon.load(path)


def test_made_up_rows_are_no_training_rows():
    with pytest.raises(recon.Unsupported, match="SMOTE makes up, copies or drops rows"):
        recon.load(CASES / "imb_smote.joblib")


def forest_member(folder, **options):
    """Write one tree of a bootstrap forest as pickle and as text; return the training rows and their domain."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(0, 6, 60), "b": rng.integers(0, 3, 60)})
    frame["y"] = (frame["a"] + rng.integers(0, 4, 60)) % 3
    forest = options.pop("of", RandomForestClassifier)(2, random_state=1, max_depth=3, **options)
    tree = forest.fit(frame[["a", "b"]], frame["y"]).estimators_[0]
    joblib.dump(tree, folder / "tree.joblib")
    text = export_text(tree, feature_names=["a", "b"], show_weights=True, decimals=10)
    (folder / "tree.txt").write_text(text)
    return frame, recon.Domain.from_frame(frame, label="y")


@pytest.mark.parametrize("of", [RandomForestClassifier, RandomForestRegressor])
def test_a_stored_tree_of_a_bootstrap_forest_counts_drawn_rows(of, tmp_path):
    frame, domain = forest_member(tmp_path, of=of)
    release = recon.load(tmp_path / "tree.joblib", domain=domain)
    assert release.rows.low < len(frame)
    assert release.rows.high is None
    assert not list(violations(release, frame))
    assert release.assumptions[0].startswith("the tree counts rows several times")


def test_the_text_of_a_tree_assumes_first_that_it_is_no_tree_of_a_forest_and_takes_it_that_it_is(tmp_path):
    frame, domain = forest_member(tmp_path)
    assumed = recon.load(tmp_path / "tree.txt", domain=domain)
    assert "--from-forest" in assumed.assumptions[0]
    assert list(violations(assumed, frame))  # what is assumed is false of it
    release = recon.load(tmp_path / "tree.txt", domain=domain, from_forest=True)
    assert not list(violations(release, frame))
    assert (release.rows.high, release.models[0].kind, release.models[0].bootstrap) == (None, "forest", True)
    out = tmp_path / "member.json"
    done = CliRunner().invoke(app, ["convert", str(tmp_path / "tree.txt"), "--from-forest", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert recon.load(out).assumptions[0].startswith("the tree is one of a forest")
    with pytest.raises(Unsupported, match="says itself how the rows"):
        recon.load(tmp_path / "tree.joblib", from_forest=True)


def test_weights_of_one_class_alone_leave_only_bounds_and_the_number_of_rows_makes_them_exact(tmp_path):
    leaves = (
        "|--- a <= 1.50\n|   |--- weights: [{}, 5.00] class: 1\n|--- a >  1.50\n|   |--- weights: [{}, 0.00] class: 0\n"
    )
    (tmp_path / "t.txt").write_text(leaves.format("4.00", "6.00"))
    weighted = recon.load(tmp_path / "t.txt")
    assert (weighted.rows.low, weighted.rows.high) == (10, 15)
    (tmp_path / "t.txt").write_text(leaves.format("4.00", "7.00"))
    assert recon.load(tmp_path / "t.txt").rows.exact


def test_rows_of_weight_0_count_in_histogram_gradient_boosting_and_nowhere_else_in_scikit_learn():
    x, y, weight = np.arange(40)[:, None] % 7, np.arange(40) % 2, np.repeat([0.0, 1.0], [10, 30])
    for model, rows, word in (
        (HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=1), 40, "count as training rows"),
        (RandomForestClassifier(1, bootstrap=False), 30, "do not count"),
        (GradientBoostingClassifier(n_estimators=1), 30, "do not count"),
    ):
        domain = recon.Domain.from_frame(pd.DataFrame({"x0": x[:, 0], "y": y}), label="y")
        release = recon.encode(model.fit(x, y, sample_weight=weight), domain)
        assert release.rows.low == release.rows.high == rows
        assert any(f"rows of weight 0 {word}" in line for line in release.assumptions)


@pytest.mark.parametrize(
    ("column", "cells", "unused"),
    [
        ("percent", ("25.0", "25.0", "12.5", "37.5"), 0),
        ("percent", ("25.0", "25.0", "12.5", "40.0"), 1),
        ("mean_income", ("25.5", "27.0", "12.5", "37.5"), 1),
        ("weight", ("1.2", "1.3", "0.7", "3.1"), 1),
    ],
)
def test_figures_beside_the_counts_of_a_table_are_no_attributes(column, cells, unused, tmp_path):
    lines = ["m,young,10", "m,old,10", "f,young,5", "f,old,15"]
    rows = [f"{line},{cell}" for line, cell in zip(lines, cells, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join([f"sex,age,count,{column}", *rows]) + "\n")
    release = recon.load(tmp_path / "t.csv")
    assert [a.name for a in release.domain.attributes] == ["sex", "age"]
    assert len(release.models[0].origin.unused) == unused
    assert any(f"'{column}'" in note and ("figures" in note or "means" in note) for note in release.reader_notes)


def test_an_attribute_that_is_called_like_a_figure_and_parts_the_lines_stays_one(tmp_path):
    (tmp_path / "t.csv").write_text("sex,weight,count\nm,60,3\nm,70,4\nf,60,5\nf,70,1\n")
    assert [a.name for a in recon.load(tmp_path / "t.csv").domain.attributes] == ["sex", "weight"]
