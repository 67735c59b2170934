"""What leaf values reveal, in an audit, beside the truth, and published otherwise: rounded, or fewer trees."""

from __future__ import annotations

import json
import warnings

import boosted_oracle as bo
import joblib
import numpy as np
import pandas as pd
import pytest
from boosted_comparison import LABEL, random_case, spoiled
from extras import after_verdict, run
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical
from encoders.models.models import Boosting
from recon.queries.leaf_values.remedies import COLUMNS
from recon.readers.frames.world import violations
from recon.readers.inspection.findings.findings import _bits, _decimals

ROWS = 60
LIMITS = 20.0


def table(seed=0):
    """Return rows whose label follows their features in part."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.integers(0, 3, ROWS), "b": rng.integers(0, 2, ROWS), "c": rng.integers(0, 3, ROWS)})
    return frame.assign(y=(rng.random(ROWS) < 0.2 + 0.2 * frame["a"] + 0.2 * frame["b"]).astype(int))


DOMAIN = Domain(
    (Categorical("a", (0, 1, 2)), Categorical("b", (0, 1)), Categorical("c", (0, 1, 2))),
    Categorical("y", (0, 1)),
)
FRAME = table()


def fitted(kind="hist", **options):
    if kind == "hist":
        common = {"max_iter": 30, "min_samples_leaf": 3, "early_stopping": False, "random_state": 0}
        model = HistGradientBoostingClassifier(**{**common, **options})
    else:
        model = GradientBoostingClassifier(**{"n_estimators": 30, "random_state": 0, **options})
    return model.fit(FRAME.drop(columns="y"), FRAME["y"])


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {kind: fitted(kind) for kind in ("hist", "sk")}


@pytest.fixture(scope="module")
def releases(models):
    return {kind: recon.encode(model, DOMAIN) for kind, model in models.items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hist", "sk"])
def test_all_rows_are_given_back_and_the_report_opens_with_it(releases, kind):
    report = recon.audit(releases[kind], truth=FRAME, limits=recon.Limits(seconds=LIMITS))
    (found,) = report.findings.determined
    assert (found.status, found.known, found.with_label, found.whole) == ("exact", ROWS, ROWS, ROWS)
    assert found.surplus > 0
    assert 0 <= found.worst <= 1
    text = report.to_text()
    first = f"this boosted model determines {ROWS} of {ROWS} rows (all of them with their label)"
    assert after_verdict(text)[2:4] == ["What the leaf values reveal", f"  {first}"]
    said = report.to_dict()["leaf_values"]["models"][0]
    assert said["summary"] == first
    assert said["truth"]["right"] == ROWS
    assert 0 < said["truth"]["marginals"] < 1
    assert 0 < said["truth"]["other"] < 1
    assert "rows drawn from the true marginals" in text
    assert "remedy: round leaf values" in text


@pytest.mark.slow
def test_cells_that_are_several_rows_are_not_called_whole():
    wide = Domain(
        (Categorical("a", (0, 1, 2)), Categorical("b", (0, 1)), Categorical("c", tuple(range(9)))),
        Categorical("y", (0, 1)),
    )
    (found,) = recon.determined(recon.encode(fitted("hist"), wide), recon.Limits(seconds=LIMITS))
    assert found.with_label == ROWS
    assert found.whole < ROWS  # c from 2 on is one part of the domain


def test_where_an_assumption_fails_the_report_opens_with_it():
    case = spoiled(random_case(6), "more")
    report = recon.audit(recon.encode(case.fitted(), case.domain), truth=case.frame)
    (found,) = report.findings.determined
    assert (found.status, found.known, found.with_label) == ("failed", 0, 0)
    text = report.to_text()
    assert "its leaf values are not those of training on these rows, each counted once" in text
    assert "sizes are used" in text
    assert report.to_dict()["leaf_values"]["models"][0]["failed"] == found.failed != ""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["hist", "sk"])
@pytest.mark.parametrize("decimals", [17, 8, 5, 3, 1])
def test_the_true_rows_are_possible_whatever_the_rounding(releases, kind, decimals):
    coarse = recon.rounded(releases[kind], decimals)
    assert violations(coarse, FRAME) == []
    for model in coarse.models:
        assert isinstance(model, Boosting)
        for tree, sums in zip(model.trees, model.sums, strict=True):
            assert np.array_equal(np.round(sums.step, decimals), sums.step)
            assert not tree.nodes.counts.by_class.any()
            assert set(sums.what) <= {"value"}


def test_possible_datasets_stay_possible_when_values_are_rounded():
    for seed in (6, 18):
        case = random_case(seed)
        model = case.fitted()
        found = bo.worlds(bo.ensemble(model), bo.grid(case.values, case.labels), len(case.rows))
        for k in (4, 2):
            coarse = recon.rounded(recon.encode(model, case.domain), k)
            for z in found.z[:2]:
                rows = [(*x, y) for (x, y), times in zip(found.kinds, z, strict=True) for _ in range(times)]
                columns = [*case.frame.columns[:-1], LABEL]
                assert violations(coarse, pd.DataFrame(rows, columns=columns).astype(int)) == []


@pytest.mark.slow
def test_less_is_known_of_fewer_digits_and_fewer_trees(releases):
    found = recon.remedies(releases["hist"], decimals=(8, 1), trees=(1,), limits=recon.Limits(seconds=60))
    assert list(found.columns) == COLUMNS
    assert found["remedy"].tolist() == [
        "as published", "leaf values with 8 decimals", "leaf values with 1 decimals", "the first 1 rounds of trees"
    ]  # fmt: skip
    as_is, eight, one, short = found["labels_known"].tolist()
    assert as_is == ROWS
    assert as_is >= eight > one
    assert found["status"].tolist()[0] == "exact"
    (last,) = recon.determined(recon.first_trees(releases["hist"], 1))
    assert (last.trees, last.with_label) == (1, short)
    assert last.whole < ROWS  # leaves of one tree are several possible rows
    assert (found["rows"] == ROWS).all()
    assert (found["labels_known"] <= found["rows_known"]).all()


def test_the_first_trees_are_those_of_a_shorter_training(releases):
    shorter = recon.first_trees(releases["hist"], 3)
    again = recon.encode(fitted("hist", max_iter=3), DOMAIN)
    assert [m.sums for m in shorter.models] == [m.sums for m in again.models]


@pytest.mark.parametrize(("change", "says"), [
    (lambda r: recon.rounded(r, 18), "0 to 17"), (lambda r: recon.rounded(r, 2.5), "0 to 17"),
    (lambda r: recon.first_trees(r, 0), "at least one"),
])  # fmt: skip
def test_what_cannot_be_rounded_is_refused(releases, change, says):
    with pytest.raises(recon.ReleaseError, match=says):
        change(releases["hist"])


def test_models_without_leaf_values_have_no_remedies():
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(FRAME.drop(columns="y"), FRAME["y"])
    release = recon.encode(tree, DOMAIN)
    assert recon.determined(release) == ()
    with pytest.raises(recon.Unsupported, match="no leaf values"):
        recon.rounded(release, 3)


@pytest.mark.slow
def test_the_command_prints_the_remedies(capsys, tmp_path, models):
    joblib.dump(models["hist"], tmp_path / "m.joblib")
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    args = (tmp_path / "m.joblib", "--label", "y", "--time", "60", "--json", "--remedies")
    _, out, _ = run(capsys, "audit", *args)
    found = json.loads(out)["leaf_values"]
    assert found["remedies"][0]["remedy"] == "as published"
    assert [one["decimals"] for one in found["remedies"][1:6]] == [8, 6, 5, 4, 3]
    assert found["remedies"][-1]["trees"] == 10


def test_inspect_rates_leaf_values(tmp_path, models):
    for kind, level in (("hist", "high"), ("sk", "high")):
        path = tmp_path / f"{kind}.joblib"
        joblib.dump(models[kind], path)
        (one,) = [f for f in recon.inspect(path).findings if f.rule == "leaf-values"]
        assert one.level == level
        assert "30 trees, all digits of a number" in one.what
        assert "per training row" in one.follows
    short = fitted("sk", n_estimators=1, max_depth=1)
    for number in range(3):
        short.estimators_[0, 0].tree_.value[number] = np.round(short.estimators_[0, 0].tree_.value[number], 2)
    joblib.dump(short, tmp_path / "short.joblib")
    found = [f for f in recon.inspect(tmp_path / "short.joblib").findings if f.rule == "leaf-values"]
    assert [f.level for f in found] in ([], ["info"])  # one tree with two decimals says little


def test_decimals_and_bits_of_values():
    assert _decimals(np.array([0.5, -1.25, 0.125, 3.25])) == 2  # half of them
    assert _bits(np.round(np.array([0.123456, -0.5, 0.4567]), 3)) == pytest.approx(np.log2(2 * 0.5 * 1000 + 1))
    assert _bits(np.random.default_rng(0).random(50)) == 53
    assert _bits(np.random.default_rng(0).random(50).astype(np.float32).astype(float)) == 24
