"""A released model as a black box: against scikit-learn's and the learners' own predictions, and by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import extra
from hypothesis import given
from hypothesis import strategies as st

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Grid, Test, View
from encoders.encode.encoder import encode
from encoders.models.models import Forest, ModelNode, PublishedFigure, Rule, RuleList, RuleSet, Support, Table, Tree
from recon.queries.black_box import ReleasedModel
from recon.queries.inputs import columns_of, numbers
from solvers.foundation.errors import ReleaseError, Unsupported

RELEASES = Path(__file__).parents[1] / "examples" / "releases"

VALUES = ("red", "green", "blue")
DOMAIN = Domain(
    (Categorical("colour", VALUES), Grid.between("age", 0, 90), Continuous("income"), Categorical("smoker", (0, 1))),
    Categorical("ill", ("no", "yes")),
    {"age:<25": View("age", Test(high=25, high_open=True)), "red": View("colour", Test(values=("red",)))},
)


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"colour": rng.choice(VALUES, n), "age": rng.integers(0, 91, n),
                         "income": rng.normal(3, 2, n).round(1), "smoker": rng.integers(0, 2, n)})  # fmt: skip


def tree(*nodes, **more):
    return Tree(nodes, **more)


def leaf(no, yes):
    return ModelNode(Support((no, yes)))


def inner(name, test, then, otherwise):
    return ModelNode(Support(), ((name, test),), then, otherwise)


def boxed(*models, domain=DOMAIN, columns=None, rows=None):
    from solvers.statements.release import RowCount

    return ReleasedModel(encode(domain, models, None if rows is None else RowCount(rows, rows)), columns)


BY_HAND = tree(
    inner("age:<25", Test(values=(1,)), 1, 2),
    inner("colour", Test(values=("red", "blue")), 3, 4),
    inner("income", Test(high=2.5), 5, 6),
    leaf(3, 1),
    leaf(0, 0),
    leaf(5, 5),
    leaf(1, 9),
)


def by_hand(rows):
    out = []
    for row in rows.to_dict("records"):
        if row["age"] < 25:
            out.append([0.75, 0.25])  # the leaf without rows has the shares of the node above: 3 and 1
        else:
            out.append([0.5, 0.5] if row["income"] <= 2.5 else [0.1, 0.9])
    return np.array(out)


def test_a_tree_over_views_texts_and_numbers_is_walked_as_by_hand():
    rows = frame()
    assert np.array_equal(boxed(BY_HAND).predict_proba(rows), by_hand(rows))


def test_arrays_are_read_by_column_and_texts_as_bits():
    rows = frame()
    box = boxed(BY_HAND, columns=list(rows.columns))
    assert [c.name for c in box.inputs] == [
        "colour = red",
        "colour = green",
        "colour = blue",
        "age",
        "income",
        "smoker",
    ]
    x = numbers(rows, box.inputs, box.release)
    assert np.array_equal(box.predict_proba(x), by_hand(rows))
    assert box.classes_.tolist() == [0, 1]
    assert set(box.tested) == {"age:<25", "colour", "income"}


def test_views_stand_for_the_attribute_behind_them():
    rows = frame()
    views = pd.DataFrame({"red": (rows["colour"] == "red").astype(int), "age:<25": (rows["age"] < 25).astype(int),
                          "income": rows["income"]})  # fmt: skip
    rules = RuleList((Rule((("colour", Test(values=("red",))),), Support((1, 3))), Rule((), Support((2, 2)))))
    found = boxed(rules, columns=list(views.columns)).predict_proba(views.to_numpy(dtype=float))
    assert np.array_equal(found, np.where(views[["red"]] == 1, [0.25, 0.75], [0.5, 0.5]))


def test_views_that_leave_a_test_open_are_refused_and_others_settle_it():
    ages = np.array([10, 30, 24, 90])
    views = pd.DataFrame({"age:<25": (ages < 25).astype(int)})
    young, forty = ("age", Test(high=24)), ("age", Test(high=40))
    settled = boxed(tree(ModelNode(Support(), (young,), 1, 2), leaf(1, 3), leaf(3, 1)), columns=["age:<25"])
    assert settled.predict_proba(views)[:, 1].tolist() == [0.75, 0.25, 0.75, 0.25]
    assert np.array_equal(settled.predict_proba(views.to_numpy(float)), settled.predict_proba(views))
    left_open = boxed(tree(ModelNode(Support(), (forty,), 1, 2), leaf(1, 3), leaf(3, 1)), columns=["age:<25"])
    with pytest.raises(ReleaseError, match=r"row 2: the model tests 'age', which the columns 'age:<25' leave open"):
        left_open.predict_proba(views)
    wide = Domain((Continuous("x", missing=True),), Categorical("y", (0, 1)), {"v": View("x", Test(high=2.5))})
    bits = pd.DataFrame({"v": [1, 0]})
    for end, closed in ((2.5, True), (3.5, False)):
        model = tree(inner("x", Test(high=end), 1, 2), leaf(1, 0), leaf(0, 1))
        box = boxed(model, domain=wide, columns=["v"])
        if closed:
            assert box.predict_proba(bits)[:, 1].tolist() == [0, 1]
        else:
            with pytest.raises(ReleaseError, match="leave open"):
                box.predict_proba(bits)


def test_numbers_beside_the_domain_are_the_nearest_value():
    box = boxed(tree(inner("age", Test(high=37), 1, 2), leaf(1, 0), leaf(0, 1)), columns=["age"])
    x = np.array([[37.4], [37.6], [-5.0], [200.0], [37.0], [38.0]])
    assert box.predict_proba(x)[:, 1].tolist() == [0, 1, 0, 1, 0, 1]


def test_positions_beyond_64_bits_are_told_apart():
    """A grid from -10^30 on has positions that neither int64 nor doubles hold: rows go where their numbers say."""
    domain = Domain((Grid.between("age", -(10**30), 90),), Categorical("ill", ("no", "yes")))
    model = boxed(tree(inner("age", Test(high=45), 1, 2), leaf(3, 0), leaf(0, 3)), domain=domain, columns=["age"])
    rows = np.array([[44.0], [45.0], [46.0], [1e40], [-1e40], [-(2.0**70)]])
    assert model.predict_proba(rows)[:, 1].tolist() == [0, 0, 1, 1, 0, 0]


def test_rule_lists_give_an_empty_rule_the_shares_of_all_and_clip_noise():
    smoker, old = ("smoker", Test(values=(1,))), ("age", Test(low=60))
    rules = (Rule((smoker, old), Support((0, 0))), Rule((smoker,), Support((3, 1))), Rule((), Support((1, 7))))
    rows = frame()
    found = boxed(RuleList(rules)).predict_proba(rows)
    wanted = np.where(rows[["smoker"]] == 1, [0.75, 0.25], [0.125, 0.875])
    wanted[(rows["smoker"] == 1) & (rows["age"] >= 60)] = [4 / 12, 8 / 12]
    assert np.array_equal(found, wanted)
    noisy = recon.load(str(RELEASES / "noisy_tree.json"))
    box = ReleasedModel(noisy)
    people = pd.DataFrame({"age": ["young", "old"], "smoker": [1, 0]})
    assert np.allclose(box.predict_proba(people), [[0, 1], [44 / 56, 12 / 56]], atol=1e-15)


def test_missing_values_go_where_the_tests_send_them():
    domain = Domain(
        (Continuous("x", missing=True), Categorical("s", ("a", "b"), missing=True)), Categorical("y", (0, 1))
    )
    model = tree(
        inner("x", Test(high=1.0, missing=True), 1, 2), inner("s", Test(values=("a",)), 3, 4),
        inner("x", Test(high=5.0), 5, 6), leaf(1, 0), leaf(0, 1), leaf(1, 1), leaf(1, 3),
    )  # fmt: skip
    release = encode(domain, [model])
    x = np.array([[np.nan, 0.0], [np.nan, 1.0], [0.5, 0], [2, 0], [7, 0]])
    found = ReleasedModel(release, ["x", "s"]).predict_proba(x)
    assert found[:, 1].tolist() == [0, 1, 0, 0.5, 0.75]
    for passes in (True, False):  # above a number, or missing
        above = tree(inner("x", Test(low=1.0, low_open=True, missing=passes), 1, 2), leaf(1, 0), leaf(0, 1))
        found = ReleasedModel(encode(domain, [above]), ["x"]).predict_proba(np.array([[np.nan], [0.5], [2.0]]))
        assert found[:, 0].tolist() == [passes, 0, 1]


def sklearn_data(kind):
    rng = np.random.default_rng(3)
    if kind == "bits":
        x = pd.DataFrame(rng.integers(0, 2, (400, 7)), columns=list("abcdefg"))
    else:
        x = pd.DataFrame(rng.normal(size=(400, 5)).round(2), columns=list("abcde"))
    y = pd.Series(np.where(x.sum(axis=1) + rng.normal(size=400) > x.sum(axis=1).mean(), "yes", "no"), name="ill")
    return x, y


@pytest.mark.sampled(7)
@pytest.mark.parametrize("kind", ["bits", "numbers"])
@pytest.mark.parametrize("name", ["tree", "forest", "bag", "extra", "small"])
def test_stored_scikit_learn_models_predict_the_same_to_the_bit(tmp_path, kind, name):
    ensemble = extra("sklearn.ensemble")
    joblib = extra("joblib")
    from sklearn.tree import DecisionTreeClassifier

    models = {
        "tree": DecisionTreeClassifier(random_state=0),
        "forest": ensemble.RandomForestClassifier(12, bootstrap=False, random_state=0),
        "bag": ensemble.RandomForestClassifier(12, max_depth=6, random_state=0),
        "extra": ensemble.ExtraTreesClassifier(7, random_state=0),
        "small": DecisionTreeClassifier(max_depth=1, random_state=0),
    }
    x, y = sklearn_data(kind)
    model = models[name].fit(x, y)
    joblib.dump(model, tmp_path / "m.joblib")
    release = recon.load(tmp_path / "m.joblib")
    asked = x if kind == "bits" else pd.concat([x, x + np.random.default_rng(1).normal(size=x.shape)])
    box = ReleasedModel(release, list(x.columns))
    assert np.array_equal(box.predict_proba(asked.to_numpy()), model.predict_proba(asked))
    assert np.array_equal(box.predict_proba(asked), model.predict_proba(asked))


def test_a_declared_domain_changes_no_prediction(tmp_path):
    joblib = extra("joblib")
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    x = pd.DataFrame({"age": rng.integers(18, 80, 300), "pay": rng.integers(0, 50, 300) / 10})
    y = pd.Series((x["age"] + 10 * x["pay"] + rng.normal(0, 9, 300) > 75).astype(int), name="y")
    model = DecisionTreeClassifier(random_state=0).fit(x, y)
    joblib.dump(model, tmp_path / "m.joblib")
    domain = Domain((Grid.between("age", 18, 79), Grid.between("pay", 0, 4.9, 0.1)), Categorical("y", (0, 1)))
    box = ReleasedModel(recon.load(tmp_path / "m.joblib", domain=domain))
    assert np.array_equal(box.predict_proba(x), model.predict_proba(x))


@pytest.mark.parametrize("learner", ["greedy", "optimal"])
def test_learners_of_recon_predict_the_same(learner):
    x, y = sklearn_data("bits")
    y = (y == "yes").astype(int)
    if learner == "greedy":
        model = recon.GreedyRuleListClassifier(width=2, min_support=0.05).fit(x, y)
    else:
        model = recon.OptimalRuleListClassifier(max_length=3, seconds=5.0).fit(x, y)
    release = recon.encode(model, recon.Domain.from_frame(x.assign(y=y), label="y"))
    assert np.allclose(ReleasedModel(release).predict_proba(x), model.predict_proba(x), rtol=0, atol=1e-15)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_random_trees_agree_with_the_boxes_of_their_leaves(seed, depth):
    """The leaves as boxes (what certificates are about) and the walk down the tree give every row the same leaf."""
    from recon.readers.frames.world import TrueRows

    rng = np.random.default_rng(seed)
    tests = [("age", lambda: Test(high=int(rng.integers(0, 90)))), ("colour", lambda: Test(values=("green",))),
             ("income", lambda: Test(low=round(float(rng.normal(3, 2)), 1), low_open=bool(rng.integers(2)))),
             ("smoker", lambda: Test(values=(1,))), ("red", lambda: Test(values=(0,)))]  # fmt: skip
    nodes = []

    def grow(level):
        at = len(nodes)
        nodes.append(None)
        if level == depth or rng.random() < 0.2:
            nodes[at] = leaf(int(rng.integers(1, 50)), int(rng.integers(1, 50)))
            return at
        name, test = tests[rng.integers(len(tests))]
        then = grow(level + 1)
        nodes[at] = inner(name, test(), then, grow(level + 1))
        return at

    grow(0)
    release = encode(DOMAIN, [Tree(nodes)])
    rows = frame(60, seed).assign(ill="no")
    (block,) = release.statements.partitions.values()
    region = TrueRows.of(release, rows).regions(block.boxes)[TrueRows.of(release, rows).back]
    counts = np.array([n.support.counts for n in nodes if n.condition is None], dtype=float)[region]
    found = ReleasedModel(release).predict_proba(rows.drop(columns="ill"))
    assert np.array_equal(found, counts / counts.sum(axis=1, keepdims=True))


COUNTED = tree(inner("smoker", Test(values=(1,)), 1, 2), ModelNode(Support(count=3)), ModelNode(Support(count=4)))


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ((Table((PublishedFigure((), count=7),)),), "the table cannot be attacked .* publishes figures about groups"),
        ((RuleSet((Rule((("smoker", Test(values=(1,))),), Support((1, 2))),)),), "rules overlap"),
        ((COUNTED,), "not every leaf says its classes"),
        ((BY_HAND, replace(BY_HAND, name="b")), "a release of 2 models .* has no one prediction"),
    ],
)
def test_what_has_no_prediction_is_refused_by_name(models, said):
    with pytest.raises(Unsupported, match=said):
        boxed(*models, rows=24 if isinstance(models[0], RuleSet) else None)


def test_one_predicting_model_beside_a_table_answers():
    table = Table((PublishedFigure((("smoker", Test(values=(1,))),), count=12),))
    assert np.array_equal(boxed(BY_HAND, table).predict_proba(frame()), by_hand(frame()))


@pytest.mark.parametrize("name", ["gradient", "classes", "histogram", "zero"])
def test_boosted_models_of_scikit_learn_predict_the_same(tmp_path, name):
    ensemble = extra("sklearn.ensemble")
    joblib = extra("joblib")
    models = {
        "gradient": ensemble.GradientBoostingClassifier(n_estimators=6),
        "classes": ensemble.GradientBoostingClassifier(n_estimators=4),
        "histogram": ensemble.HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=5),
        "zero": ensemble.GradientBoostingClassifier(n_estimators=5, init="zero"),
    }
    x, y = sklearn_data("numbers")
    if name == "classes":
        y = pd.Series(np.select([x["a"] > 0.5, x["b"] > 0.5], ["one", "two"], "none"), name="y")
    joblib.dump(models[name].fit(x, y), tmp_path / "m.joblib")
    box = ReleasedModel(recon.load(tmp_path / "m.joblib"), list(x.columns))
    assert np.allclose(box.predict_proba(x), models[name].predict_proba(x), rtol=0, atol=1e-15)


def test_trees_that_are_no_votes_are_refused_where_their_leaf_values_were_not_read(tmp_path):
    ensemble = extra("sklearn.ensemble")
    joblib = extra("joblib")
    x, y = sklearn_data("numbers")
    for model, said in [
        (ensemble.AdaBoostClassifier(n_estimators=1), "AdaBoostClassifier"),
        (ensemble.GradientBoostingClassifier(n_estimators=2, subsample=0.5), "GradientBoostingClassifier"),
    ]:
        joblib.dump(model.fit(x, y), tmp_path / "m.joblib")
        with pytest.raises(Unsupported, match=f"{said}.* cannot be attacked as a black box: its trees add up"):
            ReleasedModel(recon.load(tmp_path / "m.joblib"))
    joblib.dump(ensemble.GradientBoostingRegressor(n_estimators=2).fit(x, x["a"]), tmp_path / "m.joblib")
    with pytest.raises(Unsupported, match="cannot be attacked as a black box"):
        ReleasedModel(recon.load(tmp_path / "m.joblib"))


def test_pipelines_over_texts_predict_the_same(tmp_path):
    ensemble = extra("sklearn.ensemble")
    joblib = extra("joblib")
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(0)
    x = pd.DataFrame({"city": rng.choice(list("ABCD"), 200), "sex": rng.choice(["f", "m"], 200),
                      "age": rng.integers(18, 90, 200), "pay": rng.normal(30, 10, 200).round(1)})  # fmt: skip
    y = pd.Series(np.where(x["age"] + x["pay"] > 90, "high", np.where(x["city"] == "B", "mid", "low")), name="risk")
    before = ColumnTransformer([("o", OneHotEncoder(), ["city", "sex"]), ("s", StandardScaler(), ["age", "pay"])])
    model = make_pipeline(before, ensemble.RandomForestClassifier(8, random_state=0)).fit(x, y)
    joblib.dump(model, tmp_path / "m.joblib")
    box = ReleasedModel(recon.load(tmp_path / "m.joblib"), list(x.columns))
    assert np.array_equal(box.predict_proba(x), model.predict_proba(x))
    assert np.array_equal(box.predict_proba(numbers(x, box.inputs, box.release)), model.predict_proba(x))


def test_releases_without_a_label_are_refused():
    with pytest.raises(Unsupported, match="it has no label"):
        ReleasedModel(recon.load(str(RELEASES / "two_trees.json")))


def test_columns_that_lack_or_are_unknown_are_named():
    release = encode(DOMAIN, [BY_HAND])
    with pytest.raises(ReleaseError, match="the model tests 'income'"):
        ReleasedModel(release, ["age", "colour"])
    with pytest.raises(ReleaseError, match="'shoe' is neither"):
        ReleasedModel(release, ["age", "colour", "income", "shoe"])
    with pytest.raises(ReleaseError, match="rows of 6 columns are needed"):
        ReleasedModel(release, ["age", "colour", "income", "smoker"]).predict_proba(np.zeros((2, 3)))
    with pytest.raises(ReleaseError, match=r"row 2.*column 'colour' holds 'pink'"):
        ReleasedModel(release).predict_proba(frame(2).assign(colour=["red", "pink"]))


def test_a_list_without_a_default_says_where_it_predicts_nothing():
    rules = RuleList((Rule((("smoker", Test(values=(1,))),), Support((1, 2))),))
    box = boxed(rules, rows=9)
    with pytest.raises(ReleaseError, match="no default rule"):
        box.predict_proba(frame())


def test_columns_of_two_texts_are_one_bit():
    domain = Domain((Categorical("sex", ("f", "m")), Categorical("n", (1, 2, 5))), Categorical("y", (0, 1)))
    columns = columns_of(domain)
    assert [c.name for c in columns] == ["sex = m", "n"]
    release = encode(domain, [tree(leaf(1, 1))])
    x = numbers(pd.DataFrame({"sex": ["m", "f"], "n": [5, 1]}), columns, release)
    assert x.tolist() == [[1, 5], [0, 1]]


def test_a_forest_of_release_files_is_the_mean():
    one = tree(inner("smoker", Test(values=(1,)), 1, 2), leaf(1, 3), leaf(3, 1))
    other = tree(leaf(4, 4))
    found = boxed(Forest((one, other))).predict_proba(frame())
    assert np.array_equal(found, np.where(frame()[["smoker"]] == 1, [0.375, 0.625], [0.625, 0.375]))
