"""Fitted transformers by themselves and in pipelines: what they publish of columns never excludes the true rows."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from extras import batches, run
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import recon
from encoders.domain.values import Categorical, Continuous, Grid, Test, View
from encoders.models.models import ColumnFigures, Statistic
from recon.readers.formats.drafts.binding import single
from recon.readers.formats.statistics import column_figures as figures_of_columns
from recon.readers.formats.statistics.column_figures import column_figures
from recon.readers.frames.world import violations
from recon.readers.loading.loading import load
from solvers.foundation.errors import Unsupported
from solvers.statements.release import RowCount

STEPS = {
    "standard": StandardScaler, "min-max": MinMaxScaler, "max-abs": MaxAbsScaler, "robust": RobustScaler,
    "bins": lambda: KBinsDiscretizer(4, strategy="quantile"),
    "linear bins": lambda: KBinsDiscretizer(4, strategy="quantile", quantile_method="linear"),
    "hazen bins": lambda: KBinsDiscretizer(3, strategy="quantile", quantile_method="hazen"),
    "even bins": lambda: KBinsDiscretizer(3, strategy="uniform"),
    "quantiles": lambda: QuantileTransformer(n_quantiles=5), "rows": QuantileTransformer,
    "mean": SimpleImputer, "median": lambda: SimpleImputer(strategy="median"),
    "commonest": lambda: SimpleImputer(strategy="most_frequent"), "codes": OrdinalEncoder, "one-hot": OneHotEncoder,
    "filled": lambda: make_pipeline(SimpleImputer(), StandardScaler()),
    "filled bins": lambda: make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler(), KBinsDiscretizer(3)),
}  # fmt: skip
GAPS = {"standard", "min-max", "max-abs", "robust", "quantiles", "rows", "mean", "median", "commonest", "filled"}


def drawn(seed, rows=0, gaps=False):
    """Return rows of whole numbers, of tenths and of 0 and 1, with gaps or without, as 64 or 32 bits."""
    rng = np.random.default_rng(seed)
    n = rows or int(rng.integers(8, 80))
    frame = pd.DataFrame(
        {"a": rng.integers(-3, 9, n), "b": rng.integers(0, 40, n) / 10, "c": rng.integers(0, 2, n)}
    ).astype(float)
    frame.iloc[0], frame.iloc[1] = (-3, 0.0, 0), (9, 4.0, 1)
    return frame.mask((rng.random(frame.shape) < 0.2) & (np.arange(n) > 1)[:, None]) if gaps else frame


def stored(tmp_path, model, name="model.pkl"):
    path = tmp_path / name
    path.write_bytes(pickle.dumps(model))
    return str(path)


@pytest.mark.sampled(15)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("seed", batches(2, 60))
def test_transformers_never_exclude_the_true_rows(kind, seed, tmp_path):
    """As numbers of 64 bits and of 32, of which the domain has the decimals; rows that break them are told."""
    frame = drawn(seed, gaps=kind in GAPS and seed % 2 == 0)
    given = frame.astype(np.float32) if seed % 3 == 2 and kind not in {"codes", "one-hot", "commonest"} else frame
    path = stored(tmp_path, STEPS[kind]().fit(given))
    release = recon.load(path, domain=recon.Domain.from_frame(frame), rows=len(frame))
    assert release.rows.low == release.rows.high == len(frame)
    assert violations(release, frame) == []
    assert len(release.models[0].statements) > 2


def test_one_number_of_a_scaler_is_of_values(tmp_path):
    """Where as many are missing of every column, the number stored is of those that are there (seed 60 found it)."""
    frame = pd.DataFrame({"a": [0, 1, None, 1, 2], "b": [3, None, 4, 4, 4]}, dtype=float)
    path, domain = stored(tmp_path, StandardScaler().fit(frame)), recon.Domain.from_frame(frame)
    release = recon.load(path, domain=domain, rows=5)
    assert release.rows.high == 5
    assert violations(release, frame) == []
    with pytest.raises(Unsupported, match="say how many rows there are"):
        recon.load(path, domain=domain)
    whole = StandardScaler().fit(frame.dropna())
    assert recon.load(stored(tmp_path, whole), domain=recon.Domain.from_frame(frame.dropna())).rows.high == 3


def nearly(number):
    return round(float(number), 6)


SAME = {  # what the numbers of a transformer say of the values of five rows, those that are missing left out
    "standard": lambda a, n: (len(a), a.sum(), (a * a).sum()),
    "mean": lambda a, n: nearly(a.mean()) if len(a) else None,
    "min-max": lambda a, n: (a.min(initial=9), a.max(initial=-9)),
    "max-abs": lambda a, n: abs(a).max(initial=-9),
    "rows": lambda a, n: sorted(a),
    "codes": lambda a, n: ({*a}, len(a) < n),
    "commonest": lambda a, n: (a == 0).sum() == np.unique_counts(a).counts.max(initial=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "gap", "most"),
    [
        *((kind, False, 2_000) for kind in SAME),
        *((kind, True, 2_000) for kind in SAME if kind != "rows"),
        *((kind, gap, 5) for kind in ("standard", "mean", "min-max", "max-abs") for gap in (False, True)),
    ],
)
def test_worlds_are_those_with_the_same_figures(kind, gap, most, tmp_path, monkeypatch):
    """Every multiset of five rows of a column to which the transformer fits the same numbers.

    Values of the domain are gone through one by one (`most` of them), or in ranges.
    """
    monkeypatch.setattr(figures_of_columns, "MAX_VALUES", most)
    frame = pd.DataFrame({"a": [0, 0, 3, -1, None if gap else 1]})
    domain = recon.Domain((Grid.between("a", -4, 4, missing=gap),), None)
    release = recon.load(stored(tmp_path, STEPS[kind]().fit(frame)), domain=domain, rows=5)
    cells = [*range(-4, 5), *([None] if gap else [])]
    known = [[v for v in row if v is not None] for row in combinations_with_replacement(cells, 5)]
    said = [SAME[kind](np.array(row, dtype=float), 5) for row in known]
    true = SAME[kind](frame.a.dropna().to_numpy(dtype=float), 5)
    assert recon.count(release, "multiset").value == sum(one == true for one in said)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_columns_side_by_side_are_about_the_same_rows(tmp_path):
    frame = drawn(4, 30)
    parts = [("s", StandardScaler(), ["a"]), ("o", OneHotEncoder(), ["c"]), ("q", QuantileTransformer(), ["b"])]
    release = recon.load(stored(tmp_path, ColumnTransformer(parts).fit(frame)), domain=recon.Domain.from_frame(frame))
    assert (release.rows.low, release.rows.high) == (30, 30)
    assert violations(release, frame) == []
    asked = recon.bound(release, {"b": 4.0})
    assert asked.min == asked.max == int((frame.b == 4.0).sum())  # as many quantiles as rows are the rows


def test_figures_of_steps_are_joined_with_the_counts_of_the_model(tmp_path):
    """Beside a model, and as a file of their own."""
    frame = drawn(3, 9).drop(columns="b").astype(int).assign(y=lambda f: (f.a > 2).astype(int))
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    model = make_pipeline(StandardScaler(), tree).fit(frame[["a", "c"]], frame.y)
    domain = recon.Domain.from_frame(frame, label="y")
    joined = recon.load(stored(tmp_path, model), domain=domain)
    assert [one.kind for one in joined.models] == ["tree", "table"]
    assert violations(joined, frame) == []
    asked = recon.bound(joined, {"c": 1})
    assert asked.min == asked.max == int(frame.c.sum())
    steps = stored(tmp_path, model[:-1], "steps.pkl")
    alone = stored(tmp_path, DecisionTreeClassifier(max_depth=1).fit(frame[["a", "c"]], frame.y), "tree.pkl")
    several = load(alone, steps, domain=domain)
    assert recon.bound(several, {"c": 1}).min == asked.min
    wide = recon.Domain.from_frame(frame.assign(a=frame.a * 500), label="y")
    assert [one.kind for one in recon.load(stored(tmp_path, model), domain=wide).models] == ["tree"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", batches(4, 60))
def test_words_of_texts_never_exclude_the_true_rows(seed, tmp_path):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(list("abcdefghij"), rng.integers(1, 7))) for _ in range(int(rng.integers(20, 60)))]
    words = {"token_pattern": "[a-z]", "min_df": int(rng.integers(1, 4))}
    every = CountVectorizer(token_pattern="[a-z]").fit(texts)
    rows = pd.DataFrame(every.transform(texts).toarray(), columns=every.get_feature_names_out())
    for model in (
        CountVectorizer(**words),
        TfidfVectorizer(**words),
        make_pipeline(CountVectorizer(**words), TfidfTransformer(smooth_idf=False)),
    ):
        release = recon.load(stored(tmp_path, model.fit(texts)), domain=recon.Domain.from_frame(rows), rows=len(texts))
        assert violations(release, rows) == []
        if not isinstance(model, CountVectorizer):
            asked = recon.bound(release, {"a": {"at_least": 1}})
            assert asked.min == asked.max == int((rows.a > 0).sum())


def test_the_number_of_texts_follows_from_weights_of_words(tmp_path):
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(list("abcdefghij"), rng.integers(1, 7))) for _ in range(40)]
    path = stored(tmp_path, TfidfVectorizer(token_pattern="[a-z]").fit(texts))
    release = recon.load(path)
    assert (release.rows.low, release.rows.high) == (40, 40)
    assert recon.bound(release, {"a": 1}).min == sum("a" in text for text in texts)


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (lambda m: setattr(m, "mean_", np.array([0.1, np.nan, 0.0])), 3, "has numbers that are not finite"),
        (lambda m: setattr(m, "mean_", np.array([0.1])), 3, "has not one number per column"),
        (lambda m: m.__dict__.pop("mean_"), 3, "has not one number per column"),
    ],
)
def test_broken_files_are_refused(change, code, said, tmp_path, capsys):
    model = StandardScaler().fit(drawn(1).to_numpy())
    change(model)
    found = run(capsys, "count", stored(tmp_path, model))
    assert (found[0], said in found[2]) == (code, True), found


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_stated_is_named(tmp_path, capsys):
    frame = drawn(6, 30)
    weighted = StandardScaler().fit(frame, sample_weight=np.linspace(0.5, 1.8, 30))
    assert run(capsys, "count", stored(tmp_path, weighted))[0] == 3
    mixed = make_pipeline(PCA(2), StandardScaler()).fit(frame)
    assert run(capsys, "count", stored(tmp_path, mixed))[0] == 3
    drawn_rows = KBinsDiscretizer(3, strategy="quantile", subsample=20, random_state=0).fit(frame)
    sampled = recon.load(stored(tmp_path, drawn_rows), domain=recon.Domain.from_frame(frame), rows=30)
    assert all("drawn if there were more" in one.why for one in sampled.models[0].origin.unused)
    assert len(sampled.models[0].statements) == 1  # the rows, that were declared
    shifted = StandardScaler().fit(frame)
    shifted.mean_[0] += 0.003
    release = recon.load(stored(tmp_path, shifted), domain=recon.Domain.from_frame(frame))
    assert any("no sum of values of the domain" in one.why for one in release.models[0].origin.unused)
    unfitted = StandardScaler()
    assert "not fitted" in run(capsys, "count", stored(tmp_path, unfitted))[2]
    empty = CountVectorizer()
    assert "the vectorizer is not fitted" in run(capsys, "count", stored(tmp_path, empty))[2]
    apart = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    apart.fit(pd.DataFrame({"x": [0.3, 0.7, 0.2, 0.9]}), [0, 1, 0, 1])
    rounded = recon.Domain((Categorical("x", (0, 1)),), Categorical("y", (0, 1)))
    release = recon.load(stored(tmp_path, apart), domain=rounded)  # nothing is stated of x, and that is told
    assert [one.what for one in release.models[0].origin.unused] == ["standardscaler.mean_ of 'x'"]


SMALL, WIDE, ANY, TEXTS = (
    Categorical("x", (0, 1, 2)), Grid.between("x", 0, 4_999, 1), Continuous("x"), Categorical("x", ("a", "b"))
)  # fmt: skip
DOUBLED = {"make": lambda cell: 2 * cell}
REASONS = [
    (Categorical("z", (0, 1)), {"mean": 1.0, "rows": 4}, "the domain has no column of this name"),
    (ANY, {"mean": 1.0, **DOUBLED}, "a step before it changes the column, which has no list of at most 2,000 values"),
    (WIDE, {"mean": 1.0, **DOUBLED}, "a step before it changes the column, which has no list of at most 2,000 values"),
    (TEXTS, {"mean": 1.0, "rows": 4}, "its values in the domain are no numbers"),
    (TEXTS, {"quantiles": ((1, 2, 1.0),)}, "its values in the domain are no numbers"),
    (SMALL, {"mean": 1.0, "drawn": 3}, "it was worked out of at most 3 rows, drawn if there were more: say how many"),
    (ANY, {"commonest": 1}, "the domain has no list of at most 2,000 values of it"),
    (WIDE, {"values": frozenset({1})}, "the domain has no list of at most 2,000 values of it"),
    (Categorical("x", ("a", 1)), {"mean": 1.0, "rows": 4}, "its values in the domain are no numbers"),
    (SMALL, {"mean": 1.0, "rows": 4, "make": lambda cell: math.nan}, "its values in the domain are no numbers"),
    (SMALL, {"commonest": 9}, "9 is no value of it in the domain"),
    (Grid.between("x", 0, 300, 1), {"commonest": 5}, "5 is one of more than 200 values"),
    (SMALL, {"values": frozenset({0, 9})}, "9 is no value of it in the domain"),
    (SMALL, {"least": 7.0}, "7 is no value of it in the domain"),
    (SMALL, {"greatest": 7.0}, "7 is no value of it in the domain"),
    (SMALL, {"largest": 7.0}, "7 is no value of it in the domain"),
    (Grid.between("x", 0, 300, 1), {"mean": 1.0, "rows": 4, **DOUBLED}, "it has more than 200 values after the steps"),
    (Categorical("x", (0, 1), missing=True), {"mean": 1.0, "make": lambda cell: cell}, "of how many rows the mean is"),
]


@pytest.mark.parametrize(("attribute", "figures", "why"), REASONS)
def test_figures_that_a_domain_cannot_state_have_their_reason(attribute, figures, why):
    domain = recon.Domain((attribute, Categorical("other", (0, 1))), None)
    found, left = column_figures([ColumnFigures("x", "step", **figures)], domain, RowCount(4, 4))
    assert [one.what for one in left] == ["step of 'x'"]
    assert left[0].why.startswith(why)
    assert not found or "values" in figures  # of which another one is in the domain


def test_figures_of_a_column_of_the_domain_are_stated():
    columns = {"x": View("age", Test(low=30))}
    domain = recon.Domain((Grid.between("age", 20, 40, 1),), None, columns)
    found, left = column_figures([ColumnFigures("x", "step", rows=4, mean=0.25)], domain, RowCount(4, 4))
    assert left == []
    assert [one.statistic for one in found] == [Statistic("total", "x", 1)]
    assert column_figures([ColumnFigures("x", "step", commonest=1)], domain, None)[0][0].linear is not None


WIDER = {
    "grid": Grid.between("a", 0, 40, 0.01), "missing": Grid.between("a", -40, 40, 0.01, missing=True),
    "any number": Continuous("a"), "an interval": Continuous("a", Fraction(0), Fraction(40)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("attribute", WIDER)
@pytest.mark.parametrize("kind", ["min-max", "max-abs", "robust", "even bins", "bins", "quantiles", "rows"])
@pytest.mark.parametrize("bits", [np.float32, np.float64])
def test_of_more_values_than_are_gone_through_the_true_rows_are_not_excluded(kind, attribute, bits, tmp_path):
    """Rows of 32 bits: their least value is stored as 0.2800000011920929, and the domain has 0.28."""
    frame = pd.DataFrame({"a": np.random.default_rng(len(kind)).integers(28, 4000, 30) / 100})
    path = stored(tmp_path, STEPS[kind]().fit(frame.astype(bits)))
    release = recon.load(path, domain=recon.Domain((WIDER[attribute],), None), rows=30)
    assert violations(release, frame) == []
    assert len(release.models[0].statements) >= 3 or bits == np.float32  # these bins are drawn from 64 bits alone
    assert release.models[0].origin.unused == ()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    "values", [Grid.between("x", -2.5, 3, 0.05), Categorical("x", (-2.5, -0.1, 0, 0.1, 0.35, 1, 2.5, 2.8, 3))]
)
def test_ranges_of_values_are_the_values_gone_through_one_by_one(monkeypatch, values, missing):
    attribute = replace(values, missing=missing)
    domain = recon.Domain((attribute, Categorical("other", (0, 1))), None)
    near = (single(0.35), 0.35, single(-0.1), 0.1, 1.0, 4.0, -4.0, 5.0, -2.5, 2.799999)
    every = [
        *(ColumnFigures("x", "step", least=end, greatest=abs(end), quantiles=((1, 4, end),)) for end in near),
        *(ColumnFigures("x", "step", largest=abs(end)) for end in near),
    ]

    def rows(most):
        monkeypatch.setattr(figures_of_columns, "MAX_VALUES", most)
        found, left = column_figures(every, domain, RowCount(4, 4))

        def held(where):
            return tuple(one for one in sorted(domain.resolve(where).items()) if one[1] != (attribute.span,))

        def terms(linear):
            return linear and (*((t.times, *map(held, t.conditions)) for t in linear.terms), linear.low, linear.high)

        return dict.fromkeys((f.name, f.count, f.low, held(f.condition), terms(f.linear)) for f in found), left

    assert rows(5) == rows(2_000)
    assert len(rows(5)[0]) > 30


GAPPED, HALVES = Categorical("x", (0, 1, 2), missing=True), Categorical("x", (0, 0.1, 0.2))
ROWS = {"rows": 4, "least": 0.0, "greatest": 2.0, "quantiles": ((1, 3, 0.0), (2, 3, 1.0))}
SORTED = {"x = 0": "2", "x = 1": "1", "x = 2": "1"}
MILLIONS = Categorical("x", (-1_000_000, 0, 1_000_000))


def told(found, domain):
    """Return what is counted, as text: the values of x and their rows; linear figures by name."""
    out = {}
    for one in found:
        held = dict(one.condition).get("x")
        k = [domain.all[0].value(i) for a, b in domain.all[0].ranges(held) for i in range(a, b)] if held else ["all"]
        ends = f"{one.low or 0}+" if one.count is None else f"{one.count}"
        if one.linear is None and one.statistic is None:
            out["x = " + ", ".join("none" if v is None else str(v) for v in k)] = ends
    return out


@pytest.mark.parametrize(
    ("attribute", "figures", "rows", "counts"),
    [
        (SMALL, ROWS, 4, SORTED),
        (SMALL, ROWS | {"quantiles": ((1, 3, 5e-8), (2, 3, 0.99999995))}, 4, SORTED),  # worked out between rows
        (SMALL, ROWS | {"quantiles": ((1, 3, 0.0), (2, 3, 0.99))}, 4, {"x = 0": "1+", "x = 2": "1+"}),
        (SMALL, ROWS | {"rows": None}, 4, {"x = 0": "1+", "x = 2": "1+"}),
        (SMALL, ROWS | {"rows": 5}, 5, {"x = 0": "1+", "x = 2": "1+"}),
        (SMALL, ROWS | {"mean": 0.75}, 4, {"x = 0": "1+", "x = 2": "1+"}),
        (SMALL, ROWS | {"least": None}, 4, {"x = 2": "1+"}),
        (SMALL, ROWS | {"greatest": None}, 4, {"x = 0": "1+"}),
        (GAPPED, ROWS, 4, {"x = 0": "1+", "x = 2": "1+"}),
        (SMALL, ROWS | {"drawn": 4}, 4, SORTED),
        (Categorical("x", (0, 1, 1.0000005, 2)), ROWS, 4, {"x = 0": "1+", "x = 2": "1+"}),  # which of both is not said
        (Categorical("x", (0, 1, 1.000002, 2)), ROWS, 4, SORTED),
        (
            MILLIONS, {"rows": 3, "least": -1_000_000.05, "greatest": 1_000_000.05, "quantiles": ((1, 2, 0.0),)}, 3,
            {"x = -1000000": "1", "x = 0": "1", "x = 1000000": "1"},
        ),
        (SMALL, {"among": frozenset({0, 1})}, 4, {"x = 2": "0"}),
        (GAPPED, {"among": frozenset({0, 1}), "gap": None}, 4, {"x = 2": "0"}),
        (GAPPED, {"among": frozenset({0, 1}), "gap": False}, 4, {"x = 2": "0", "x = none": "0"}),
        (GAPPED, {"values": frozenset({0}), "gap": True}, 4, {"x = 0": "1+", "x = 1, 2": "0", "x = none": "1+"}),
        (TEXTS, {"values": frozenset({"a"})}, 4, {"x = a": "1+", "x = b": "0"}),
        (SMALL, {"mean": 1.0, "rows": 4}, 4, {}),
        (SMALL, {"mean": 1.0, "rows": 4}, None, {"x = all": "4"}),
        (GAPPED, {"mean": 1.0, "rows": 3}, 4, {"x = 0, 1, 2": "3"}),
        (SMALL, {"mean": 0.5, "rows": 2, "make": lambda cell: cell - 1 if cell else math.nan}, 4, {"x = 1, 2": "2"}),
    ],
)  # fmt: skip
def test_counts_that_figures_of_a_column_say(attribute, figures, rows, counts):
    domain = recon.Domain((attribute, Categorical("other", (0, 1))), None)
    found, left = column_figures([ColumnFigures("x", "step", **figures)], domain, rows and RowCount(rows, rows))
    assert (told(found, domain), left) == (counts, [])


@pytest.mark.parametrize(
    ("figures", "rows", "kind"),
    [
        ({"rows": 4}, RowCount(4, 4), "total"), ({}, RowCount(4, 4), "total"), ({}, RowCount(4, 9), "mean"),
        ({}, RowCount(4, None), "mean"), ({}, None, "mean"), ({"rows": 4}, RowCount(4, 9), "total"),
    ],
)  # fmt: skip
def test_a_mean_is_a_sum_where_its_rows_are_known(figures, rows, kind):
    domain = recon.Domain((SMALL, Categorical("other", (0, 1))), None)
    (found, *_), _ = column_figures([ColumnFigures("x", "step", mean=0.75, **figures)], domain, rows)
    if found.statistic is None:  # the number of rows comes first
        (_, found, *_), _ = column_figures([ColumnFigures("x", "step", mean=0.75, **figures)], domain, rows)
    assert (found.statistic.kind, found.statistic.value) == (kind, 3 if kind == "total" else 0.75)


def test_a_mean_of_fewer_rows_or_of_whole_numbers_is_nearer():
    """Tenths may have been rounded to 32 bits; how many rows were added is known, or not."""

    def within(attribute, rows):
        domain = recon.Domain((attribute, Categorical("other", (0, 1))), None)
        (found,), _ = column_figures([ColumnFigures("x", "step", mean=0.1)], domain, rows)
        return found.statistic.within

    few, many, open_ = (within(SMALL, rows) for rows in (RowCount(1, 9), RowCount(1, 9_000), RowCount(1, None)))
    assert few < many < open_ == within(SMALL, None)
    assert within(HALVES, RowCount(1, 9)) > 1e-9 > few


def test_of_as_many_values_as_are_gone_through_all_is_stated():
    for attribute, figures in ((Grid.between("x", 0, 1_999), {"values": frozenset({1})}),
                               (Grid.between("x", 0, 200), {"commonest": 1})):  # fmt: skip
        domain = recon.Domain((attribute, Categorical("other", (0, 1))), None)
        found, left = column_figures([ColumnFigures("x", "step", **figures)], domain, RowCount(4, 4))
        assert (len(found), left) == (2 if "values" in figures else 200, [])


def test_a_quantile_bounds_the_rows_on_both_sides_of_it():
    """Whichever of the nine ways it was worked out."""
    domain = recon.Domain((Grid.between("x", 0, 9), Categorical("other", (0, 1))), None)
    methods = "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "hazen", "weibull", "linear"
    sides = set()
    for n, j, how in ((n, j, how) for n in range(1, 10) for j in (1, 2, 3) for how in methods):
        rows = np.arange(n)
        value = float(np.quantile(rows, j / 4, method=how))
        found, _ = column_figures([ColumnFigures("x", "step", quantiles=((j, 4, value),))], domain, RowCount(n, n))
        for one in found:
            beyond, every = one.linear.terms
            side = rows < value if "below" in one.name else rows > value
            assert (beyond.times, every.times) == (4, -j if "below" in one.name else j - 4)
            assert 4 * int(side.sum()) + every.times * n <= one.linear.high == 3
            sides.add(one.name.split()[1])
    assert sides == {"below", "above"}
