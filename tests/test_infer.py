"""Domains read off data: the real files come out as their README says, and no row is ever left out."""

from __future__ import annotations

import datetime
import decimal
import math
import os
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import recon
from encoders.domain.domain import Domain
from encoders.domain.patterns import bases, span, suffix
from encoders.domain.values import TRAINING_DATA, Categorical, Continuous, Grid
from recon.readers.frames.selections import frame_ranges, numbers_of, read_table
from solvers.foundation.errors import ReleaseError

DATA = Path(os.environ.get("RECON_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
LABELS = {
    "compas14": "recidivate-within-two-years:1",
    "compas27": "Recidivate-Within-Two-Years",
    "adult24": "income",
    "adult19": "income",
    "credit21": "DEFAULT_PAYEMENT",
}
HEADLESS = ("mushroom", "german-credit", "tic-tac-toe", "kr-vs-kp")


def real(name: str) -> tuple[pd.DataFrame, str]:
    path = DATA / f"{name}.{'txt' if name in HEADLESS else 'csv'}.gz"
    if not path.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{path} is missing and CI=true")
        pytest.skip(f"{path} is missing")
    if name in HEADLESS:
        return pd.read_csv(path, header=None, sep=" "), "0"
    return pd.read_csv(path), LABELS[name]


def values(domain: Domain, name: str) -> tuple[object, ...]:
    attribute = domain.all[domain.place[name]]
    assert isinstance(attribute, Categorical)
    return attribute.values


def possible_rows(domain: Domain) -> int:
    return math.prod(a.span[1] - a.span[0] for a in domain.attributes)


def grouped(domain: Domain) -> dict[str, set[str]]:
    out: dict[str, set[str]] = {}
    for column, view in domain.columns.items():
        out.setdefault(view.attribute, set()).add(column)
    return out


def assert_no_row_is_left_out(df: pd.DataFrame, domain: Domain) -> None:
    """Written without the inference code: each row's bits are those of exactly one value of each attribute."""
    df = df.set_axis([str(c) for c in df.columns], axis=1)
    groups = grouped(domain)
    assert set(df.columns) == set(domain.columns) | {a.name for a in domain.all if a.name not in groups}
    for attribute in domain.all:
        if attribute.name not in groups:
            for value in df[attribute.name].unique().tolist():
                first, after = attribute.point(value)
                assert first < after
            continue
        views = sorted(groups[attribute.name])
        assert isinstance(attribute, Categorical)
        patterns = [tuple(v in domain.columns[c].test.values for c in views) for v in attribute.values]
        assert len(set(patterns)) == len(patterns)
        assert all(any(p[i] for p in patterns) for i in range(len(views)))
        assert {tuple(bool(x) for x in row) for row in df[views].drop_duplicates().to_numpy()} <= set(patterns)


class TestRealData:
    @pytest.mark.sampled(4)
    @pytest.mark.parametrize(
        ("name", "rows"),
        [("compas14", 640), ("compas27", 11_520), ("adult24", 4_608), ("adult19", 4_608), ("credit21", 196_608)],
    )
    def test_possible_rows_are_those_of_the_readme(self, name, rows):
        df, label = real(name)
        assert possible_rows(Domain.from_frame(df, label=label)) == rows

    @pytest.mark.sampled(1)
    @pytest.mark.parametrize("name", [*LABELS, *HEADLESS])
    def test_no_row_is_left_out(self, name):
        df, label = real(name)
        for options in ({}, {"strict": True}, {"independent": True}):
            assert_no_row_is_left_out(df, Domain.from_frame(df, label=label, **options))

    def test_compas27_age_is_one_ordered_attribute_although_two_names_are_wrong(self):
        df, label = real("compas27")
        domain = Domain.from_frame(df, label=label)
        ages = ("18-20", "21-22", "23", "24-25", "26-29", "30", "31-39", "40", "41-44", ">=45")
        assert values(domain, "Age") == ages
        assert domain.columns["Age=24-30"].test.values == ("24-25", "26-29", "30")
        assert any("contradict the names 'Age<=40', 'Age<=45'" in note for note in domain.notes)

    def test_compas27_thresholds_are_nested(self):
        df, label = real("compas27")
        domain = Domain.from_frame(df, label=label)
        for name in ("Juvenile-Crimes", "Prior-Crimes"):
            assert values(domain, name) == ("0", "1-3", "4-5", ">5")
            assert domain.columns[f"{name}>3"].test.values == ("4-5", ">5")
        assert values(domain, "Juvenile-Felonies") == ("0", "1-3", ">3")

    def test_compas14_groups(self):
        df, label = real("compas14")
        domain = Domain.from_frame(df, label=label)
        assert values(domain, "age") == ("18-20", "21-22", "23-25", "26-45", ">45")
        assert values(domain, "priors") == ("0", "1", "2-3", ">3")
        assert [a.name for a in domain.attributes][:3] == ["sex:Male", "age", "juvenile-felonies:>0"]
        assert domain.label == Categorical(label, (0, 1))
        assert domain.source == TRAINING_DATA
        assert len(domain.notes) == 2

    def test_adult19_groups_and_none(self):
        df, label = real("adult19")
        domain = Domain.from_frame(df, label=label)
        groups = grouped(domain)
        assert {k: len(v) for k, v in groups.items()} == {"education": 6, "occupation": 5, "workclass": 3}
        assert values(domain, "workclass") == ("Government", "Private", "Self-Employed", "none")
        assert "none" not in values(domain, "education")
        assert values(domain, "capital_gain_>0") == values(domain, "capital_loss_>0") == (0, 1)

    def test_adult24_pairs_below_a_shared_prefix(self):
        df, label = real("adult24")
        domain = Domain.from_frame(df, label=label)
        assert values(domain, "capital_gain") == values(domain, "capital_loss") == ("0", ">0")
        assert values(domain, "gender") == ("Female", "Male")

    def test_credit21_groups(self):
        df, label = real("credit21")
        found = grouped(Domain.from_frame(df, label=label))
        assert {k: len(v) for k, v in found.items()} == {"EDUCATION": 4, "MARRIAGE": 3}

    @pytest.mark.sampled(1, 11)
    @pytest.mark.parametrize("name", LABELS)
    @pytest.mark.parametrize("rows", [2, 5, 20, 100])
    def test_few_rows_never_merge_different_attributes(self, name, rows):
        df, label = real(name)
        whole = Domain.from_frame(df, label=label)
        for seed in range(5):
            sample = df.sample(rows, random_state=seed)
            domain = Domain.from_frame(sample, label=label)
            assert_no_row_is_left_out(sample, domain)
            for columns in grouped(domain).values():
                assert len({whole.columns[c].attribute if c in whole.columns else c for c in columns}) == 1

    def test_adult_takes_seconds(self):
        df, label = real("adult24")
        start = time.process_time()
        Domain.from_frame(df, label=label)
        assert time.process_time() - start < 20  # 0.3 s; the limit only holds off what is not linear


def one_hot_frame(codes: np.ndarray, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame({name: (codes == k).astype(int) for k, name in enumerate(names)})


class TestGroups:
    def test_at_most_one_needs_evidence(self):
        codes = np.arange(300) % 4
        df = one_hot_frame(codes, ["c_x", "c_y", "c_z"])
        assert values(Domain.from_frame(df), "c") == ("x", "y", "z", "none")
        few = Domain.from_frame(df.iloc[:8])
        assert not few.columns
        assert any("too few rows" in note for note in few.notes)

    def test_two_columns_that_only_exclude_each_other_stay_bits(self):
        df = one_hot_frame(np.arange(900) % 3, ["gain_a", "gain_b"])
        assert not Domain.from_frame(df).columns
        assert not Domain.from_frame(one_hot_frame(np.arange(900) % 3, ["age<18", "age>65"])).columns

    def test_pairs_without_a_common_name_need_ten_of_both(self):
        a = np.arange(40) % 4 == 0
        domain = Domain.from_frame(pd.DataFrame({"male": a, "x": np.arange(40) % 2, "woman": ~a}))
        assert values(domain, "male/woman") == ("male", "woman")
        assert [x.name for x in domain.attributes] == ["male/woman", "x"]
        b = np.arange(30) % 4 == 0
        assert not Domain.from_frame(pd.DataFrame({"male": b, "woman": ~b})).columns

    def test_thresholds_in_names_are_believed_when_every_row_agrees(self):
        age = np.array([20, 30, 50, 22])
        df = pd.DataFrame({"age<25": age < 25, "age<45": age < 45, "y": [0, 1, 0, 1]})
        domain = Domain.from_frame(df, label="y")
        assert values(domain, "age") == ("<25", "25-44", ">=45")
        assert domain.columns["age<45"].test.values == ("<25", "25-44")

    def test_values_between_seen_ones_exist_too(self):
        x = np.array([1, 9] * 50)
        df = pd.DataFrame({f"x>{t}": x > t for t in (2, 4, 6)})
        domain = Domain.from_frame(df)
        assert values(domain, "x") == ("<=2", "3-4", "5-6", ">6")
        assert any("no row has '3-4', '5-6'" in note for note in domain.notes)

    def test_a_threshold_no_row_passes_still_has_a_value(self):
        x = np.arange(100) % 40
        domain = Domain.from_frame(pd.DataFrame({"x>9": x > 9, "x>20": x > 20, "x>90": x > 90}))
        assert values(domain, "x") == ("<=9", "10-20", "21-90", ">90")

    def test_decimal_thresholds_use_open_intervals(self):
        x = np.linspace(0, 2, 50)
        domain = Domain.from_frame(pd.DataFrame({"x<=0.5": x <= 0.5, "x<=1.5": x <= 1.5}))
        assert values(domain, "x") == ("<=0.5", "(0.5, 1.5]", ">1.5")

    def test_whole_thresholds_on_real_numbers(self):
        x = np.array([2.5, 3.5, 4.5] * 20)
        domain = Domain.from_frame(pd.DataFrame({"x>=3": x >= 3, "x<=3": x <= 3, "x>=4": x >= 4}))
        assert values(domain, "x") == ("<3", "3", "(3, 4)", ">=4")

    def test_data_against_thresholds_are_not_grouped(self):
        rng = np.random.default_rng(1)
        df = pd.DataFrame(rng.integers(0, 2, (200, 3)), columns=["x>1", "x>2", "x<5"])
        domain = Domain.from_frame(df)
        assert not domain.columns
        assert any("do not agree" in note for note in domain.notes)

    def test_numbered_bits_are_not_an_ordered_attribute(self):
        rng = np.random.default_rng(0)
        df = pd.DataFrame(rng.integers(0, 2, (500, 6)), columns=[f"pixel_{k}" for k in range(6)])
        assert not Domain.from_frame(df).columns

    def test_nested_chain_without_numbers(self):
        level = np.arange(200) % 4
        df = pd.DataFrame({"deg_bachelor": level > 1, "deg_school": level > 0, "deg_phd": level > 2})
        domain = Domain.from_frame(df)
        assert values(domain, "deg") == ("none", "school", "school+bachelor", "school+bachelor+phd")
        assert domain.columns["deg_phd"].test.values == ("school+bachelor+phd",)
        assert not Domain.from_frame(df.iloc[:20]).columns

    def test_a_constant_column_of_a_longer_name_stays_apart(self):
        a = np.arange(50) % 2
        df = pd.DataFrame({"c_gain_a": a, "c_gain_b": 1 - a, "c_lost": 0})
        domain = Domain.from_frame(df)
        assert grouped(domain) == {"c_gain": {"c_gain_a", "c_gain_b"}}
        assert values(domain, "c_lost") == (0, 1)

    def test_a_category_that_does_not_occur_belongs_to_its_group(self):
        df = one_hot_frame(np.arange(60) % 2, ["race_a", "race_b", "race_c"])
        assert values(Domain.from_frame(df), "race") == ("a", "b", "c")

    def test_group_names_stay_unique(self):
        a = np.arange(50) % 2
        domain = Domain.from_frame(pd.DataFrame({"sex": a % 1, "sex_F": a, "sex_M": 1 - a}))
        assert "sex group" in domain.place
        assert any("attribute 'sex group'" in note for note in domain.notes)

    def test_equal_suffixes_fall_back_to_whole_names(self):
        a = np.arange(50) % 2
        assert values(Domain.from_frame(pd.DataFrame({"p=0": a, "p:0": 1 - a})), "p") == ("p=0", "p:0")

    def test_none_as_a_suffix(self):
        df = one_hot_frame(np.arange(200) % 4, ["c_none", "c_a", "c_b"])
        assert values(Domain.from_frame(df), "c") == ("none", "a", "b", "none of these")


class TestDeclaredStrictIndependent:
    a = np.arange(40) % 3
    df = one_hot_frame(a, ["u_1", "v", "w_q"]).assign(sex_F=a % 2, sex_M=1 - a % 2)

    def test_declared_groups_are_grouped_and_nothing_else_when_strict(self):
        domain = Domain.from_frame(self.df, one_hot=[["u_1", "v"]], strict=True)
        assert grouped(domain) == {"u_1/v": {"u_1", "v"}}
        assert values(domain, "u_1/v") == ("u_1", "v", "none")

    def test_none_is_left_out_when_every_row_has_one(self):
        assert values(Domain.from_frame(self.df, one_hot=[["u_1", "v", "w_q"]]), "u_1/v/w_q") == ("u_1", "v", "w_q")

    def test_declared_and_guessed_together(self):
        assert set(grouped(Domain.from_frame(self.df, one_hot=[["u_1", "v"]]))) == {"u_1/v", "sex"}

    def test_independent(self):
        domain = Domain.from_frame(self.df, label="v", independent=True)
        assert not domain.columns
        assert [a.name for a in domain.attributes] == ["u_1", "w_q", "sex_F", "sex_M"]
        assert "nothing is grouped" in domain.notes[0]

    def test_a_row_with_two_ones_contradicts_a_declared_group(self):
        with pytest.raises(ReleaseError, match=r"row 1 .*'u_1', 'sex_M'"):
            Domain.from_frame(self.df, one_hot=[["u_1", "sex_M"]])

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            ([["u_1", "nope"]], "no column 'nope'"),
            ([["u_1", "w_q"]], "is the label"),
            ([["u_1", "v"], ["v", "sex_F"]], "named twice"),
            ([["u_1"]], "at least two"),
            (["u_1"], "a list of column names"),
        ],
    )
    def test_wrong_declarations(self, groups, message):
        with pytest.raises(ReleaseError, match=message):
            Domain.from_frame(self.df, label="w_q", one_hot=groups)

    def test_declared_column_that_is_not_binary(self):
        with pytest.raises(ReleaseError, match="not binary"):
            Domain.from_frame(self.df.assign(n=np.arange(40)), one_hot=[["u_1", "n"]])


class TestColumns:
    def test_kinds(self):
        df = pd.DataFrame(
            {
                "int": [3, 9, 5],
                "whole": [2.0, 4.0, 2.0],
                "decimal": [0.1, 0.25, 1.0],
                "float": [math.pi, math.e, 1.0],
                "real": [1e-40, math.e, 1.0],
                "text": ["b", "a", "b"],
                "digits": ["0", "1", "0"],
                "flag": [True, False, True],
                "float bit": [0.0, 1.0, 1.0],
                "mixed": [1, "a", 2],
                "constant": [7, 7, 7],
                "zero": [0, 0, 0],
                "const real": [math.pi] * 3,
            }
        )
        domain = Domain.from_frame(df)
        expected = [
            Grid.between("int", 3, 9),
            Grid.between("whole", 2, 4),
            Grid.between("decimal", 0.1, 1, 0.01),
            Grid.between("float", 1, math.pi, 1e-15),
            Continuous("real", Fraction(1, 10**40), Fraction(str(math.e))),
            Categorical("text", ("a", "b")),
            Categorical("digits", ("0", "1")),
            Categorical("flag", (0, 1)),
            Categorical("float bit", (0, 1)),
            Categorical("mixed", (1, 2, "a")),
            Grid.between("constant", 7, 7),
            Categorical("zero", (0, 1)),
            Grid.between("const real", math.pi, math.pi, 1e-15),
        ]
        assert list(domain.attributes) == expected
        assert any("'zero' are the same in every row" in note for note in domain.notes)
        assert any("continuous" in note for note in domain.notes)

    def test_floats_with_all_their_digits_are_counted_and_drawn(self):
        """Values of 1e-8 beside 1 have 25 decimals: more than 2^63 grid points, and parts of few points among them."""
        rng = np.random.default_rng(0)
        rows = pd.DataFrame({"tiny": rng.normal(size=60) * 1e-8, "real": rng.normal(size=60)})
        rows.loc[0, "tiny"] = 1.0
        label = (rows["real"] > 0.1).astype(int)
        label[:2] = [1, 0]
        model = DecisionTreeClassifier(random_state=0).fit(rows, label)
        domain = Domain.from_frame(rows.assign(y=label), label="y")
        assert domain.attributes[0].count > 2**63
        release = recon.encode(model, domain)
        world = recon.sample(release, 1, seed=1)[0].to_frame()
        _, drawn = np.unique(model.apply(world[["tiny", "real"]]), return_counts=True)
        assert drawn.tolist() == model.tree_.n_node_samples[model.tree_.children_left < 0].tolist()
        assert recon.certify(release, world.head(3))["verdict"].tolist() == ["possible"] * 3
        assert recon.reconstruct(release).to_frame().shape == (60, 3)

    def test_categories(self):
        df = pd.DataFrame(
            {
                "number": pd.Categorical([3, 1, 3]),
                "size": pd.Categorical(["S", "L", "S"], categories=["S", "M", "L"], ordered=True),
                "bit": pd.Categorical([0, 1, 1]),
                "nullable": pd.array([1, 5, 2], dtype="Int64"),
                "flag": pd.array([True, False, True], dtype="boolean"),
                "object": pd.Series([0, 1, 1], dtype=object),
            }
        )
        domain = Domain.from_frame(df)
        assert values(domain, "number") == (1, 3)
        assert values(domain, "size") == ("S", "M", "L")
        assert values(domain, "bit") == values(domain, "flag") == values(domain, "object") == (0, 1)
        assert domain.attributes[3] == Grid.between("nullable", 1, 5)

    @pytest.mark.parametrize(
        ("column", "expected"),
        [([1, 1], (0, 1)), ([2.5, 1.0], (1, 2.5)), (["n", "y"], ("n", "y")), ([True, False], (0, 1)), ([7, 3], (3, 7))],
    )
    def test_label(self, column, expected):
        domain = Domain.from_frame(pd.DataFrame({"x": [0, 1], "y": column}), label="y")
        assert domain.label == Categorical("y", expected)
        assert len(domain.attributes) == 1

    @pytest.mark.parametrize("empty", [None, float("nan"), pd.NA])
    def test_missing_labels_are_refused_by_column_and_row(self, empty):
        with pytest.raises(ReleaseError, match=r"column 'b' has no value in row 2"):
            Domain.from_frame(pd.DataFrame({"a": [1, 2], "b": [1, empty]}), label="b")

    @pytest.mark.parametrize("bad", [float("inf"), decimal.Decimal("Infinity"), 1j])
    def test_values_that_are_no_values(self, bad):
        with pytest.raises(ReleaseError, match="column 'b' has the value"):
            Domain.from_frame(pd.DataFrame({"a": [1], "b": [bad]}))

    def test_frames_that_are_no_frames(self):
        with pytest.raises(ReleaseError, match="empty"):
            Domain.from_frame(pd.DataFrame())
        with pytest.raises(ReleaseError, match="empty"):
            Domain.from_frame(pd.DataFrame({"a": []}))
        with pytest.raises(ReleaseError, match="two columns named 'a'"):
            Domain.from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
        with pytest.raises(ReleaseError, match="no column 'y'"):
            Domain.from_frame(pd.DataFrame({"a": [1]}), label="y")

    def test_from_frame_calls_it(self):
        df = pd.DataFrame({"a": [1, 0], "y": [0, 1]})
        assert Domain.from_frame(df, label="y") == Domain.from_frame(df, label="y")


class TestNames:
    def test_bases(self):
        assert bases("age:18-20") == ["age"]
        assert bases("capital_gain_>0") == ["capital", "capital_gain"]
        assert bases("Juvenile-Crimes>3") == ["Juvenile", "Juvenile-Crimes"]
        assert bases("plain") == bases("_x") == bases("x_") == []

    @pytest.mark.parametrize(
        ("name", "text"),
        [("p:=0", "0"), ("p:>3", ">3"), ("p_Female", "Female"), ("p>=30", ">=30"), ("p_-5", "-5"), ("p-5", "5")],
    )
    def test_suffix(self, name, text):
        assert suffix(name, "p") == text

    @pytest.mark.parametrize(
        ("text", "low", "high"), [("18-20", 18, 20), ("0", 0, 0), (">3", 3, None), ("65+", 65, None), ("<=2", None, 2)]
    )
    def test_span(self, text, low, high):
        found = span(text)
        assert found is not None
        assert (found.low, found.high) == (low, high)

    @pytest.mark.parametrize("text", ["high", "20-18", ">3-4", "", "0_Pay", "1st"])
    def test_no_span(self, text):
        assert span(text) is None


TESTS = ("<{}", "<={}", ">{}", ">={}", "={}")


@st.composite
def frames(draw: st.DrawFn) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a random frame made from random attributes, and the attribute each column comes from."""
    rows = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns: dict[str, np.ndarray] = {}
    origin: dict[str, str] = {}
    for k in range(draw(st.integers(1, 5))):
        base = f"attr{'abcde'[k]}"
        kind = draw(st.sampled_from(["one_hot", "threshold", "interval", "bit", "int", "decimal", "text"]))
        x = rng.integers(0, draw(st.integers(1, 12)), rows)
        made: dict[str, np.ndarray] = {}
        if kind == "one_hot":
            sep = draw(st.sampled_from([":", "_", "=", "-", " ", "."]))
            made = {f"{base}{sep}v{v}": (x == v).astype(int) for v in range(draw(st.integers(1, 6)))}
        elif kind == "threshold":
            for form, t in draw(st.lists(st.tuples(st.sampled_from(TESTS), st.integers(0, 9)), min_size=1, max_size=6)):
                mask = {"<": x < t, "<=": x <= t, ">": x > t, ">=": x >= t, "=": x == t}[form[:-2]]
                made[base + form.format(t)] = mask
        elif kind == "interval":
            for low, width in draw(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=6)):
                made[f"{base}:{low}-{low + width}"] = ((x >= low) & (x <= low + width)).astype(float)
        else:
            made[base] = {"bit": x % 2, "int": x - 3, "decimal": x / 10, "text": np.array([f"t{v}" for v in x])}[kind]
        columns |= made
        origin |= dict.fromkeys(made, base)
    order = draw(st.permutations(list(columns)))
    return pd.DataFrame({name: columns[name] for name in order}), origin


class TestTheTruthIsNeverExcluded:
    @pytest.mark.slow
    @given(frames(), st.sampled_from(["guess", "strict", "independent"]))
    @settings(max_examples=300)
    def test_random_attributes(self, made, mode):
        df, _ = made
        assert_no_row_is_left_out(df, Domain.from_frame(df, strict=mode == "strict", independent=mode == "independent"))

    @pytest.mark.slow
    @given(frames())
    @settings(max_examples=200)
    def test_named_groups_stay_within_one_attribute(self, made):
        df, origin = made
        for name, columns in grouped(Domain.from_frame(df)).items():
            assert "/" in name or len({origin[c] for c in columns}) == 1

    @pytest.mark.slow
    @given(st.lists(st.integers(0, 12), min_size=2, max_size=6, unique=True), st.lists(st.integers(-2, 14), min_size=1))
    @settings(max_examples=200)
    def test_values_between_the_seen_ones_are_possible(self, cuts, seen):
        domain = Domain.from_frame(pd.DataFrame({f"x>{t}": [x > t for x in seen] for t in cuts}))
        for x in range(min(seen), max(seen) + 1):
            if domain.columns:
                row = {f"x>{t}" for t in cuts if x > t}
                assert any(
                    {c for c in domain.columns if v in domain.columns[c].test.values} == row
                    for v in values(domain, "x")
                )

    @pytest.mark.slow
    @given(st.integers(1, 30), st.integers(1, 8), st.data())
    @settings(max_examples=200)
    def test_random_bits_under_awkward_names(self, rows, width, data):
        names = data.draw(
            st.lists(
                st.from_regex(r"[ab](_|:|=|-|>|<=|>=| |\.)[0-9ab]{1,2}(-[0-9]{1,2})?", fullmatch=True),
                min_size=width,
                max_size=width,
                unique=True,
            )
        )
        row = st.lists(st.integers(0, 1), min_size=width, max_size=width)
        kinds = data.draw(st.lists(row, min_size=1, max_size=4))
        picks = data.draw(st.lists(st.sampled_from(kinds), min_size=rows, max_size=rows))
        df = pd.DataFrame(picks, columns=names)
        assert_no_row_is_left_out(df, Domain.from_frame(df))


@pytest.mark.slow
def test_dates_and_decimal_numbers_are_read_as_a_csv_of_them(tmp_path):
    """Databases and Parquet give dates, times and `Decimal`; a CSV of the same frame is the same table."""
    frame = pd.DataFrame({
        "born": [datetime.date(1980, 1, 2), datetime.date(1990, 3, 4), None, datetime.date(1980, 1, 2)],
        "seen": pd.to_datetime(["2020-01-02", "2020-05-06", "2020-01-02", "2021-01-01"]),
        "at": pd.to_datetime(["2020-01-02 10:00", "2020-05-06 11:30", None, "2020-01-02 10:00"]),
        "month": pd.PeriodIndex(["2020-01", "2020-02", "2020-01", "2020-03"], freq="M"),
        "paid": [decimal.Decimal("1.50"), decimal.Decimal("2.00"), None, decimal.Decimal("3.25")],
        "visit": pd.Categorical(pd.to_datetime(["2020-01-02", "2021-03-04", "2020-01-02", "2021-03-04"])),
    })  # fmt: skip
    csv, parquet = tmp_path / "people.csv", tmp_path / "people.parquet"
    frame.to_csv(csv, index=False)
    frame.astype({"month": str, "visit": "datetime64[us]"}).to_parquet(parquet)
    texts = Domain.from_frame(numbers_of(read_table(str(csv))))
    assert {a.name: a.values for a in texts.all if isinstance(a, Categorical)}["born"] == ("1980-01-02", "1990-03-04")
    for other in (frame, read_table(str(parquet))):
        assert Domain.from_frame(other).all == texts.all
        selected = frame_ranges(other, texts)
        for k, (codes, ranges) in frame_ranges(read_table(str(csv)), texts).items():
            assert [ranges[c] for c in codes] == [selected[k][1][c] for c in selected[k][0]]
    with pytest.raises(ReleaseError, match="neither a number, a boolean nor text"):
        Domain.from_frame(pd.DataFrame({"a": [b"x", b"y"]}))
