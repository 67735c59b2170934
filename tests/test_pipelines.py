"""Pipelines, searches and votes around scikit-learn's trees: columns exactly as the library makes them, counts too.

What a column is for a raw value is held against the library's own `transform` on many rows; the training data must
satisfy every statement of the files that five versions wrote, and of models fitted here over domains of every kind.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
import random
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import extra

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Continuous, Grid, Listed, Test, exact
from encoders.encode.encoder import encode
from encoders.models.models import Boosting, Forest
from recon.formats.detection import draft_of_object
from recon.formats.drafts.drafts import Draft
from recon.formats.drafts.guessing import guess_domain
from recon.formats.sklearn.pipelines.pipeline import open_pipeline
from recon.frames.true_rows import violations
from recon.loading.loading import settle
from recon.stored.containers import open_stored
from recon.stored.objects.raw import Name
from recon.stored.objects.things import Thing

compose, ensemble, choice = extra("sklearn.compose"), extra("sklearn.ensemble"), extra("sklearn.model_selection")
line, pre, impute = extra("sklearn.pipeline"), extra("sklearn.preprocessing"), extra("sklearn.impute")
select, tree = extra("sklearn.feature_selection"), extra("sklearn.tree")
calibration, frozen = extra("sklearn.calibration"), extra("sklearn.frozen")

GOLDEN = Path(__file__).parent / "golden" / "models"
MINE = ("pipeline_", "grid_search", "voting", "calibrated")
INDEX = [
    entry
    for entry in json.loads((GOLDEN / "index.json").read_text())
    if entry["file"].startswith("sklearn") and Path(entry["file"]).name.startswith(MINE)
]
READ = [entry for entry in INDEX if "calibrated" not in entry["file"]]


def opened(data: bytes) -> Thing:
    stored = open_stored(data)
    assert stored is not None
    return stored.root


def drafted(model: object) -> Draft:
    return draft_of_object(opened(pickle.dumps(model)), "pickle")


def golden(entry: dict) -> tuple[Draft, pd.DataFrame]:
    root = opened((GOLDEN / entry["file"]).read_bytes())
    return draft_of_object(root, "file"), pd.read_csv(GOLDEN / entry["data"])


def released(draft: Draft, domain: Domain | None) -> recon.EncodedRelease:
    found, models = settle(draft, domain)
    return encode(found, models, draft.rows)


# --- files of five versions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", READ, ids=lambda e: e["file"])
def test_golden_files_agree_with_their_data_and_the_live_models_counts(entry):
    draft, frame = golden(entry)
    release = released(draft, Domain.from_frame(frame, label=frame.columns[-1]))
    assert violations(release, frame) == []
    trees = [t for m in release.models for t in (m.trees if isinstance(m, Forest) else (m,))]
    for found, said in zip(trees, entry["truth"]["trees"], strict=True):
        leaves = [i for i, node in enumerate(found.nodes) if node.condition is None]
        assert leaves == said["leaves"]
        assert [list(found.nodes[i].support.counts) for i in leaves] == said["counts"]
        if "bag" in said:
            assert [found.nodes[i].support.distinct for i in leaves] == said["distinct"]


@pytest.mark.parametrize("name", sorted({Path(e["file"]).name.split(".")[0] for e in READ}))
def test_versions_and_containers_of_a_golden_model_say_the_same(name):
    found: dict[str, list] = {}
    for entry in READ:
        if Path(entry["file"]).name.split(".")[0] == name:
            draft, frame = golden(entry)
            for domain in (Domain.from_frame(frame, label=frame.columns[-1]), None):
                release = released(draft, domain)
                models = [m.trees if isinstance(m, Forest) else m.nodes for m in release.models]
                key = f"{domain is None} {json.dumps(entry['truth'], sort_keys=True)}"
                assert found.setdefault(key, models) == models, entry["file"]


@pytest.mark.parametrize("entry", [e for e in READ if "columns" in e["file"]], ids=lambda e: e["file"])
def test_the_guessed_domain_takes_categories_from_the_encoders_and_turns_thresholds_back(entry):
    draft, frame = golden(entry)
    domain = guess_domain(draft)
    city, grade, income, _ = domain.attributes
    assert city.values == ("Berne", "Oslo", "Rome", "York")
    assert grade.values == ("low", "mid", "high")
    assert isinstance(income, Continuous)
    release = released(draft, None)
    assert violations(release, frame.rename(columns={frame.columns[-1]: draft.label})) == []
    assert "behind ColumnTransformer in a Pipeline" in release.models[0].origin.format


def test_what_encoders_and_bins_say_becomes_the_guessed_domain():
    by_name = {Path(e["file"]).name: e for e in READ if "1.9.1" in e["file"]}
    bins = guess_domain(golden(by_name["pipeline_bins_ordinal.pkl"])[0])
    assert [(float(a.minimum), float(a.maximum)) for a in bins.attributes] == [(3.1, 8.5), (0.8, 4), (0, 1), (3, 8)]
    starts = guess_domain(golden(by_name["pipeline_bins_dense.pkl"])[0]).attributes[3]
    assert starts == Continuous("petals", exact(3), exact(8))
    filled = guess_domain(golden(by_name["pipeline_imputer.pkl"])[0])
    assert all(a.missing for a in filled.attributes)


@pytest.mark.parametrize("entry", [e for e in INDEX if "calibrated" in e["file"]], ids=lambda e: e["file"])
def test_every_fold_of_a_calibration_is_a_release_of_its_own(entry):
    with pytest.raises(recon.Unsupported, match="never joined") as refused:
        golden(entry)
    frame = pd.read_csv(GOLDEN / entry["data"])
    domain = Domain.from_frame(frame, label=frame.columns[-1])
    path = GOLDEN / entry["file"]
    held = entry["truth"]["trees"]
    assert len(refused.value.drafts) == len(held) == 3
    for k, truth in enumerate(held, 1):
        release = recon.load(f"{path}#{k}", domain=domain)
        (model,) = release.models
        assert [list(n.support.counts) for n in model.nodes if n.condition is None] == truth["counts"]
        assert release.rows.low == release.rows.high == len(truth["rows_used"])
        assert any(a.startswith("about a subset") for a in release.assumptions)
        assert violations(release, frame.iloc[truth["rows_used"]]) == []
    for several in ((f"{path}#1", f"{path}#2"), (f"{path}#1", GOLDEN / "sklearn-1.9.1" / "tree.pkl")):
        with pytest.raises(recon.Unsupported, match="joined with nothing"):
            recon.load(*several, domain=domain)
    for wrong in ("#4", "#999999"):
        with pytest.raises(recon.Unsupported, match="no number"):
            recon.load(f"{path}{wrong}")
    with pytest.raises(recon.Unsupported, match="never joined"):
        recon.load(path)


def test_a_converted_fold_stays_about_a_subset(tmp_path):
    from recon.formats.release.writing import dump, release_json

    path, out = GOLDEN / "sklearn-1.9.1" / "calibrated.pkl", tmp_path / "fold.json"
    release = recon.load(f"{path}#2")
    out.write_text(dump(release_json(release.domain, release.models, release.declared)), encoding="utf-8")
    assert any(a.startswith("about a subset") for a in recon.load(out).assumptions)
    with pytest.raises(recon.Unsupported, match="joined with nothing"):
        recon.load(out, GOLDEN / "sklearn-1.9.1" / "tree.pkl")


def test_folds_behind_a_pipeline_and_frozen_models():
    frame, y = table()[["age", "kind", "cold"]], label(table())
    small = tree.DecisionTreeClassifier(max_depth=2, random_state=0)
    model = line.make_pipeline(pre.StandardScaler(), calibration.CalibratedClassifierCV(small, cv=2)).fit(frame, y)
    with pytest.raises(recon.Unsupported, match="never joined") as refused:
        drafted(model)
    assert ["Pipeline" in d.origin.format and "fold" in d.origin.format for d in refused.value.drafts] == [True] * 2
    held = calibration.CalibratedClassifierCV(frozen.FrozenEstimator(small.fit(frame, y)), cv=2, ensemble=True)
    with pytest.raises(recon.Unsupported, match="ensemble=False"):  # not fitted outside of the folds
        drafted(held.fit(frame, y))


def test_members_without_counts_are_left_out_and_named():
    frame, y = table()[["age", "kind", "cold"]], label(table())
    small = tree.DecisionTreeClassifier(max_depth=3, random_state=0)
    logistic = extra("sklearn.linear_model").LogisticRegression()
    folds = calibration.CalibratedClassifierCV(small, cv=2)
    whole = frame.assign(label=y)
    for model in (
        ensemble.VotingClassifier([("a", small), ("b", logistic), ("c", folds)]),
        ensemble.StackingClassifier([("b", logistic), ("a", small), ("c", folds)], cv=2),
    ):
        draft = drafted(model.fit(frame, y))
        release = released(draft, Domain.from_frame(whole, label="label"))
        assert len(release.models) == 1
        assert violations(release, whole) == []
        said = next(s for s in draft.reader_notes if "left out" in s)
        assert "1 of the 3 members" in said
        assert "LogisticRegression" in said
        assert "CalibratedClassifierCV" in said
    with pytest.raises(recon.Unsupported, match="no member of the VotingClassifier is read"):
        drafted(ensemble.VotingClassifier([("b", logistic)]).fit(frame, y))


# --- columns as the library makes them --------------------------------------------------------------------------------


def table(rows: int = 300, seed: int = 7) -> pd.DataFrame:
    dice = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "city": dice.choice(["Oslo", "Rome", "York", "1"], rows, p=[0.6, 0.2, 0.15, 0.05]).astype(object),
            "grade": dice.choice(["low", "mid", "high"], rows).astype(object),
            "kind": dice.choice([1, 2, 3, 7, 9], rows),
            "age": dice.integers(18, 80, rows),
            "income": np.round(dice.gamma(3.0, 9.1, rows), 1),
            "cold": np.round(dice.normal(0, 11, rows), 2),
        }
    )
    frame.loc[dice.random(rows) < 0.1, "city"] = np.nan
    frame.loc[dice.random(rows) < 0.1, "income"] = np.nan
    return frame


def label(frame: pd.DataFrame) -> np.ndarray:
    dice = np.random.default_rng(3)
    score = (frame["age"] > 44) * 2.0 + (frame["city"] == "Rome") + frame["income"].fillna(20) / 20 + frame["kind"] % 3
    return np.where(score + dice.normal(0, 1, len(frame)) > 4, "yes", "no")


TEXT, NUMBERS, GAPPED = ["city", "grade"], ["kind", "age", "cold"], ["income"]
GRADES = [["low", "mid", "high"]]
WHOLE = pre.OneHotEncoder(sparse_output=False)
PREPARED = {
    "one hot with gaps": compose.ColumnTransformer([("a", pre.OneHotEncoder(), TEXT), ("b", WHOLE, ["kind"])]),
    "one hot, dropped": compose.ColumnTransformer(
        [("a", pre.OneHotEncoder(drop="first", handle_unknown="ignore"), [*TEXT, "kind"])]
    ),
    "one hot, binary": compose.ColumnTransformer([("a", pre.OneHotEncoder(drop="if_binary"), ["grade", "kind"])]),
    "one hot, rare": compose.ColumnTransformer(
        [("a", pre.OneHotEncoder(min_frequency=45, handle_unknown="infrequent_if_exist"), [*TEXT, "kind"])]
    ),
    "one hot, rare dropped": compose.ColumnTransformer(
        [("a", pre.OneHotEncoder(max_categories=3, handle_unknown="ignore", drop=["Rome", "low"]), TEXT)]
    ),
    "ordinal": compose.ColumnTransformer(
        [
            ("a", pre.OrdinalEncoder(encoded_missing_value=-3), ["city"]),
            (
                "b",
                pre.OrdinalEncoder(categories=GRADES, handle_unknown="use_encoded_value", unknown_value=9),
                ["grade"],
            ),
            ("c", pre.OrdinalEncoder(), ["kind"]),
            (
                "d",
                pre.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, min_frequency=30),
                ["city"],
            ),
        ],
        verbose_feature_names_out=False,
    ),
    "bins": compose.ColumnTransformer(
        [
            ("a", pre.KBinsDiscretizer(5, encode="onehot", strategy="quantile", quantile_method="linear"), ["age"]),
            ("b", pre.KBinsDiscretizer(4, encode="ordinal", strategy="uniform"), NUMBERS),
            ("c", pre.KBinsDiscretizer(2, encode="onehot-dense", strategy="kmeans", random_state=0), ["cold"]),
        ]
    ),
    "scaled": compose.ColumnTransformer(
        [
            ("a", pre.StandardScaler(), NUMBERS),
            ("b", pre.StandardScaler(with_mean=False), GAPPED),
            ("c", pre.MinMaxScaler((-1, 3), clip=True), ["age", "income"]),
            ("d", pre.MaxAbsScaler(), ["cold"]),
            ("e", pre.RobustScaler(), ["cold", "income"]),
            ("f", pre.RobustScaler(with_scaling=False), ["age"]),
        ],
        remainder="drop",
        transformer_weights={"a": 0.3},
    ),
    "imputed": compose.ColumnTransformer(
        [
            (
                "a",
                line.make_pipeline(impute.SimpleImputer(add_indicator=True), pre.StandardScaler()),
                ["income", "age"],
            ),
            ("b", line.make_pipeline(impute.SimpleImputer(strategy="most_frequent"), pre.OneHotEncoder()), ["city"]),
            (
                "c",
                line.make_pipeline(impute.SimpleImputer(strategy="constant", fill_value="gone"), pre.OrdinalEncoder()),
                TEXT,
            ),
            ("d", impute.SimpleImputer(strategy="median"), ["income"]),
            ("e", impute.SimpleImputer(missing_values=7, strategy="mean"), ["kind"]),
            ("f", impute.MissingIndicator(features="all"), ["income", "age"]),
        ]
    ),
    "chained": line.Pipeline(
        [
            ("take", compose.ColumnTransformer([("keep", "passthrough", [3, 2, 5])], remainder="drop")),
            ("nothing", "passthrough"),
            ("same", pre.FunctionTransformer()),
            ("scale", pre.StandardScaler()),
            (
                "both",
                line.FeatureUnion(
                    [("low", pre.MinMaxScaler()), ("bins", pre.KBinsDiscretizer(3, encode="onehot-dense"))]
                ),
            ),
            ("varied", select.VarianceThreshold(0.05)),
        ]
    ),
    "chosen": line.make_pipeline(
        compose.ColumnTransformer([("a", pre.Binarizer(threshold=40.5), ["age"]), ("n", "passthrough", slice(2, 4))]),
        select.SelectKBest(select.f_classif, k=2),
        select.SelectPercentile(select.f_classif, percentile=60),
    ),
    "masks": compose.ColumnTransformer(
        [
            ("a", "passthrough", [False, False, True, True, False, False]),
            ("b", pre.OrdinalEncoder(), [1]),
            ("c", "drop", [4, 5]),
        ],
        remainder=line.make_pipeline(
            impute.SimpleImputer(strategy="constant", fill_value="0"), pre.OneHotEncoder(handle_unknown="ignore")
        ),
    ),
}


def more_rows(prepared: object, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the training rows, and others: neighbours of edges, extremes; unseen values where the steps take them."""
    extremes = [-1e300, -1.0, 0.0, -0.0, 1e-320, 17, 80.5, 1e30]
    ends = sorted({float(x) for c in ("age", "cold") for x in np.quantile(frame[c], np.linspace(0, 1, 13))})
    near = [y for x in ends for y in (x, np.nextafter(x, -np.inf), np.nextafter(x, np.inf))]
    odd = frame.sample(len(near) + len(extremes), random_state=1, replace=True).reset_index(drop=True)
    for column in ("age", "cold"):
        odd[column] = [*near, *extremes]
    every = pd.concat([frame, odd], ignore_index=True)
    strange = every.tail(5).assign(city="Nowhere", kind=[4, 0, 12, 3, 7], grade="low")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prepared.transform(strange)
    except ValueError:
        return every
    return pd.concat([every, strange], ignore_index=True)


@pytest.mark.parametrize("name", PREPARED)
def test_columns_are_bit_for_bit_those_of_the_library(name):
    frame = table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = line.Pipeline([("prepare", PREPARED[name]), ("tree", tree.DecisionTreeClassifier(max_depth=4))])
        model.fit(frame, label(frame))
        rows = more_rows(model[:-1], frame)
        expected = model[:-1].transform(rows)
    expected = expected.toarray() if hasattr(expected, "toarray") else np.asarray(expected)
    found = open_pipeline(opened(pickle.dumps(model)))
    assert found.columns
    assert len({c.name for c in found.columns}) == len(found.columns) == expected.shape[1]
    plain = rows.astype(object).where(rows.notna(), None)
    for k, column in enumerate(found.columns):
        values = plain[found.raw[column.source]].tolist()
        made = np.array([column.make(v) for v in values], dtype=float)
        np.testing.assert_array_equal(made, expected[:, k].astype(float), err_msg=column.name)
        numeric = [v for v in values if isinstance(v, (int, float))]
        if column.direction and not column.tells_missing and len(numeric) > 9:
            along = [column.make(v) for v in sorted(numeric)]
            assert along == sorted(along, reverse=column.direction < 0)


LEARNERS = {
    "tree": tree.DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": ensemble.RandomForestClassifier(3, max_depth=5, random_state=0),
    "boosting": ensemble.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
}


def domains(frame: pd.DataFrame, target: str) -> list[Domain]:
    """Return the domain read off the data, one of continuous numbers, one with more values than were seen."""
    read = Domain.from_frame(frame, label=target)
    stretched = [
        Continuous(a.name, a.minimum, a.maximum, missing=a.missing) if isinstance(a, Grid) else a
        for a in read.attributes
    ]
    wider = [
        Listed(a.name, (*a.values, "Nowhere"), missing=a.missing)
        if isinstance(a, Listed)
        else Grid.between(a.name, float(a.minimum), float(a.maximum), float(a.step), True)
        for a in read.attributes
    ]
    return [read, Domain(tuple(stretched), read.label), Domain(tuple(wider), read.label)]


CASES = [(n, "tree") for n in PREPARED] + [
    (n, k) for n in ("bins", "imputed", "chained") for k in ("forest", "boosting")
]


@pytest.mark.parametrize(("name", "learner"), CASES)
def test_training_data_satisfy_every_statement_over_domains_of_every_kind(name, learner):
    frame = table(200)
    frame["cold"] = frame["cold"].round(0).astype(int)
    y = label(frame)
    prepared = copy.deepcopy(PREPARED[name])
    if learner == "boosting" and hasattr(prepared, "sparse_threshold"):
        prepared.set_params(sparse_threshold=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = line.Pipeline([("prepare", prepared), ("last", LEARNERS[learner])]).fit(frame, y)
    draft, whole = drafted(model), frame.assign(label=y)
    read, stretched, wider = domains(whole, "label")
    one_hot = name.startswith(("one hot", "ordinal", "imputed"))  # categories that are numbers, gaps that are numbers
    for domain in (read, wider, *([] if one_hot else [stretched])):
        release = released(draft, domain)
        assert violations(release, whole) == []
        first = release.models[0].trees[0] if isinstance(release.models[0], Forest | Boosting) else release.models[0]
        assert any(node.condition for node in first.nodes)
    if name == "imputed":
        with pytest.raises(recon.ReleaseError, match=r"'e__kind' .* is no range of 'kind': declare a domain"):
            released(draft, stretched)
    else:
        released(draft, None)


def test_one_hot_bins_of_a_continuous_attribute_are_ranges():
    frame = table()[["age", "cold"]].assign(cold=lambda f: f["cold"] / 3)
    y = label(table())
    model = line.make_pipeline(pre.KBinsDiscretizer(6), pre.StandardScaler(with_mean=False), LEARNERS["tree"]).fit(
        frame, y
    )
    whole = frame.assign(label=y)
    domain = Domain.from_frame(whole, label="label")
    assert isinstance(domain.attributes[1], Continuous)
    for where in (domain, guess_domain(drafted(model))):
        release = released(drafted(model), where)
        assert violations(release, whole) == []
        tests = [node.condition[0][1] for node in release.models[0].nodes if node.condition]
        assert all(type(test) is Test for test in tests)
        assert any(test.low is not None and test.high is not None for test in tests)


def test_real_data_behind_encoders_bins_and_a_selection(data):
    frame = pd.read_csv(data("compas14.csv.gz"), nrows=800)
    target = frame.columns[-1]
    kept = frame.columns[:-1]
    parts = compose.ColumnTransformer(
        [("h", pre.OneHotEncoder(drop="if_binary"), list(kept[:7])), ("b", pre.KBinsDiscretizer(2), list(kept[7:9]))],
        remainder=pre.StandardScaler(),
    )
    last = ensemble.RandomForestClassifier(3, max_depth=6, random_state=0, oob_score=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bins of binary columns are thin
        model = line.make_pipeline(parts, select.SelectKBest(k=12), last).fit(frame[kept], frame[target])
    draft = drafted(model)
    assert violations(released(draft, Domain.from_frame(frame, label=target)), frame) == []
    guessed = guess_domain(draft)
    known = frame.rename(columns={target: draft.label})[[a.name for a in guessed.all]]
    assert violations(released(draft, guessed), known) == []


def test_a_pipeline_on_an_array_takes_the_domains_columns_in_order():
    frame = table()[["age", "kind", "cold"]]
    y = label(table())
    model = line.make_pipeline(
        pre.StandardScaler(), select.VarianceThreshold(), tree.DecisionTreeClassifier(max_depth=3)
    )
    model.fit(frame.to_numpy(dtype=float), y)
    whole = frame.assign(label=y)
    assert violations(released(drafted(model), Domain.from_frame(whole, label="label")), whole) == []
    with pytest.raises(recon.ReleaseError, match="3 unnamed columns"):
        released(drafted(model), Domain.from_frame(whole.drop(columns="cold"), label="label"))
    assert [a.name for a in guess_domain(drafted(model)).attributes] == ["x0", "x1", "x2"]


def test_a_turned_threshold_stands_where_the_library_changes_its_mind():
    frame = table()
    model = line.make_pipeline(
        compose.ColumnTransformer([("s", pre.StandardScaler(), ["cold"]), ("m", pre.MinMaxScaler(), ["age"])]),
        tree.DecisionTreeClassifier(max_depth=6, random_state=0),
    ).fit(frame, label(frame))
    features = {f.name: f for f in drafted(model).features}
    checked = 0
    for name, test in drafted(model).tests():
        turned = features[name].invert(test)
        end = np.nextafter(turned.high, -np.inf) if turned.high_open else turned.high
        raw = "cold" if name.startswith("s__") else "age"
        rows = pd.concat([frame.head(1)] * 3).assign(
            **{raw: [end, np.nextafter(end, np.inf), np.nextafter(end, -np.inf)]}
        )
        made = model[:-1].transform(rows).astype(np.float32)[:, 0 if raw == "cold" else 1]
        assert (made <= test.high).tolist() == [True, False, True]
        checked += 1
    assert checked


def test_categories_that_look_alike_are_different():
    frame = pd.DataFrame({"code": ["1", "1", "2", "2"] * 5, "x": range(20)})
    model = line.make_pipeline(
        compose.ColumnTransformer([("o", pre.OneHotEncoder(), ["code"])]), tree.DecisionTreeClassifier()
    ).fit(frame, frame["code"] == "1")
    text, number = (
        Domain((Listed("code", v), Listed("x", (0, 1))), Listed("label", (0, 1))) for v in (("1", "2"), (1, 2))
    )
    assert released(drafted(model), text).models
    with pytest.raises(recon.ReleaseError, match="does not tell values of 'code' apart"):
        released(drafted(model), number)


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED = {
    "PolynomialFeatures": (pre.PolynomialFeatures(), "one column alone"),
    "FunctionTransformer": (pre.FunctionTransformer(np.abs), "code, which is not run"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_steps_are_refused_by_name(name):
    frame = table()[["age", "kind"]]
    model = line.make_pipeline(pre.StandardScaler(), REFUSED[name][0], tree.DecisionTreeClassifier(max_depth=2))
    model.fit(frame + 5.0, label(table()))
    with pytest.raises(recon.Unsupported, match=f"{name.lower()}.*{REFUSED[name][1]}"):
        drafted(model)


def test_what_holds_no_model_of_all_rows_is_refused_in_words():
    frame, y = table()[["age", "kind"]], label(table())
    search = choice.GridSearchCV(tree.DecisionTreeClassifier(), {"max_depth": [1, 2]}, refit=False).fit(frame, y)
    with pytest.raises(recon.Unsupported, match="refit=True"):
        drafted(search)
    with pytest.raises(recon.Unsupported, match="ends without a model"):
        drafted(line.make_pipeline(pre.StandardScaler(), "passthrough").fit(frame))
    with pytest.raises(recon.ReleaseError, match="not fitted"):
        drafted(line.make_pipeline(pre.StandardScaler(), tree.DecisionTreeClassifier()))


def test_models_inside_themselves_are_refused():
    for kind, field in (
        ("GridSearchCV", "best_estimator_"),
        ("VotingClassifier", "estimators_"),
        ("Pipeline", "steps"),
    ):
        thing = Thing(Name("sklearn", kind), "newobj", state={})
        inside = {"estimators_": [thing, thing], "steps": [("a", thing), ("b", thing)]}.get(field, thing)
        thing.state[field] = inside
        begun = time.process_time()
        with pytest.raises(recon.ReleaseError, match=r"nested|how many columns"):
            draft_of_object(thing, "pickle")
        assert time.process_time() - begun < 2


# --- searches, votes, calibration -------------------------------------------------------------------------------------


def wrapped() -> dict[str, object]:
    """Return models of `table()[WIDE]` that hold one or two trees of all rows."""
    small = tree.DecisionTreeClassifier(max_depth=3, random_state=0)
    scaled = line.make_pipeline(pre.MinMaxScaler(), tree.DecisionTreeClassifier(max_depth=2))
    vote = ensemble.VotingClassifier([("a", small), ("b", scaled), ("c", "drop")])
    logistic = extra("sklearn.linear_model").LogisticRegression()
    return {
        "in a CalibratedClassifierCV": calibration.CalibratedClassifierCV(small, cv=3, ensemble=False),
        "the best of a RandomizedSearchCV": choice.RandomizedSearchCV(
            scaled, {"minmaxscaler__clip": [True]}, n_iter=1, cv=3
        ),
        "in a TunedThresholdClassifierCV": choice.TunedThresholdClassifierCV(scaled, cv=3),
        "one of 2 in a VotingClassifier": vote,
        "one of 2 in a StackingClassifier": ensemble.StackingClassifier([("a", small), ("b", scaled)], logistic, cv=3),
        "behind StandardScaler in a Pipeline": line.make_pipeline(pre.StandardScaler(), vote),
        "behind RobustScaler in a Pipeline": line.make_pipeline(
            pre.RobustScaler(), choice.GridSearchCV(scaled, {"decisiontreeclassifier__max_depth": [2]}, cv=3)
        ),
    }


@pytest.mark.parametrize("where", list(wrapped()))
def test_what_stands_around_a_model_is_opened(where):
    frame, y = table()[["age", "kind", "cold"]], label(table())
    model = wrapped()[where].fit(frame, y)
    draft, whole = drafted(model), frame.assign(label=y)
    release = released(draft, Domain.from_frame(whole, label="label"))
    assert violations(release, whole) == []
    several = "one of 2" in where or "StandardScaler" in where
    assert len(release.models) == 1 + several
    assert where in release.models[0].origin.format
    for one in release.models:
        totals = np.sum([n.support.counts for n in one.nodes if n.condition is None], axis=0)
        assert totals.tolist() == [int((y == c).sum()) for c in ("no", "yes")]
    released(draft, None)


def test_a_frozen_model_is_read_from_its_calibration():
    frame, y = table()[["age", "kind", "cold"]], label(table())
    fitted = tree.DecisionTreeClassifier(max_depth=3).fit(frame, y)
    model = calibration.CalibratedClassifierCV(frozen.FrozenEstimator(fitted)).fit(frame, y)
    whole = frame.assign(label=y)
    domain = Domain.from_frame(whole, label="label")
    assert settle(drafted(model), domain)[1][0].nodes == settle(drafted(fitted), domain)[1][0].nodes


# --- damaged objects --------------------------------------------------------------------------------------------------

ODD = [
    None,
    True,
    -1,
    0,
    3,
    10**400,
    1e308,
    math.nan,
    -math.inf,
    "",
    "error",
    b"x",
    [],
    {},
    (),
    [None],
    (1, 2),
    slice(1),
]
ODD += [np.zeros(0), np.zeros((2, 2)), np.array([np.nan, 1]), np.array([None, "a"], dtype=object), np.arange(3)]
ODD += [Thing(Name("numpy", "nothing"), "newobj", state={}), Name("os", "thing")]


def fields_of(root: Thing) -> list[tuple[Thing, str]]:
    """Return every attribute of every object around the trees (the trees' own reader has tests of its own)."""
    found, stack, seen = [], [root], set()
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Thing) and not one.class_name.startswith(("DecisionTree", "RandomForest")):
            names = [n for n in one.fields() if isinstance(n, str)]
            found += [(one, n) for n in names]
            stack += [one.get(n) for n in names]
        elif isinstance(one, (list, tuple)):
            stack += list(one)
    return found


def damage(times: int, seed: int) -> int:
    dice, refused = random.Random(seed), 0
    files = [e["file"] for e in READ if e["file"].startswith("sklearn-1.9.1") and e["file"].endswith(".pkl")]
    for k in range(times):
        root = opened((GOLDEN / files[k % len(files)]).read_bytes())
        places = fields_of(root)
        for _ in range(dice.choice([1, 1, 2, 3])):
            thing, name = dice.choice(places)
            other, its = dice.choice(places)
            odd = dice.choice([*ODD, other.fields().get(its), thing.get(name)])
            if isinstance(odd, np.ndarray) and odd.size and dice.random() < 0.7:
                odd = np.roll(odd, 1)[: dice.randint(0, len(odd))]
            thing.fields()[name] = odd
        begun = time.process_time()
        try:
            released(draft_of_object(root, "pickle"), None)
        except (recon.ReleaseError, recon.Unsupported):
            refused += 1
        assert time.process_time() - begun < 30
    return refused


def test_damaged_objects_are_refused_in_words():
    assert damage(300, 1) > 60


@pytest.mark.slow
def test_many_damaged_objects():
    assert damage(10_000, 2) > 2_000
