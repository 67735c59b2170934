"""Files that were read as more than they say: each is read as what its rows can be, or refused for a reason."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import recon
from recon.certificates.assumed import contradicted
from recon.certificates.issuing import contradiction_certificate
from recon.certificates.verifying import verify
from recon.cli.app import app
from recon.frames.true_rows import violations
from recon.loading.loading import read_domain
from recon.loading.settled import settled_release
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


def test_rows_of_a_sparse_matrix_go_the_default_way_and_are_not_certain():
    release, frame = loaded("xgb_missing/csr.json", "xgb_missing/domain.json"), table("xgb_missing/csr.csv")
    assert violations(release, frame) == []
    verdict = recon.certify(release, pd.DataFrame({"c": [2]}))
    assert verdict["verdict"].tolist() == ["possible"]
    number = recon.bound(release, {"c": 2})
    assert number.min <= int((frame["c"] == 2).sum()) <= number.max
    assert any("which values were taken for missing" in note for note in release.assumptions)


def test_another_value_than_zero_may_be_the_missing_one():
    release = loaded("xgb_missing/missing_-1.json", "xgb_missing/domain.json")
    assert violations(release, table("xgb_missing/missing_-1.csv")) == []
    assert any("-1" in note for note in release.assumptions)


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


def test_covers_of_absolute_errors_are_rows():
    draft_rows = recon.load(CASES / "xgb_reg_absoluteerror.json")
    tree = draft_rows.models[0]
    assert draft_rows.rows.low == 100
    assert "size" in tree.origin.counts


# ------------------------------------------------------------------ other rows, weights, copies


def test_trees_of_other_rows_are_left_out_from_the_one_on_that_says_so():
    release = recon.load(CASES / "i11_lgb_continued.txt", domain=domain_of("AB.csv", "label"))
    assert violations(release, table("A.csv")) != []  # as it is published
    found = settled_release(release, Limits(30))
    assert violations(found, table("A.csv")) == []
    assert any("from tree 3 on trees may be about other rows" in line for line in found.assumptions)
    people = table("A.csv").head(3)
    verdicts = recon.certify(release, people)
    assert verdicts["verdict"].ne("impossible").all()
    assert verdicts["certificate"].isna().all()


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
    monkeypatch.setattr("recon.certificates.issuing.contradicted", lambda release: "")
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
    assert "no number of rows" in " ".join(release.assumptions)


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
