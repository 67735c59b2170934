"""Conditions in words: the shortest decimals that do the same, columns of one attribute together, the worst first."""

from __future__ import annotations

import itertools
import json
import math
import re
import struct
from fractions import Fraction
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import recon
from encoders.domain.domain import AttributeCuts, Domain
from encoders.domain.values import Categorical, Continuous, Grid, exact
from encoders.parts.base import CutDomain
from recon.queries.measures.attribute_bits import curve_points, exposed_groups, exposed_in_all, worst_first
from recon.readers.formats.drafts.binding import single_limits
from recon.readers.formats.release.writing import dump, release_json
from recon.readers.frames.describe import _edge_text, _one_hot_groups, _shortest, condition_text, values_text
from recon.report.wording.group_report import _aligned, exposure_lines
from solvers.statements.boxes import Box

FINITE32 = st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False)
PEOPLE = st.one_of(  # thresholds as trees have them: between decimals of a few digits
    st.tuples(st.integers(-(10**6), 10**6), st.integers(0, 4), st.integers(1, 9)).map(
        lambda t: (float(np.float32(t[0] / 10 ** t[1])) + float(np.float32((t[0] + t[2]) / 10 ** t[1]))) / 2
    ),
    FINITE32.map(float),
    st.floats(-1e7, 1e7),
)


def neighbours(x: float, n: int = 6) -> list[float]:
    """Return 32-bit numbers on both sides of a number, found by counting through their bits."""
    (bits,) = struct.unpack("<i", struct.pack("<f", x))
    place = bits if bits >= 0 else -(bits & 0x7FFFFFFF)
    near = range(place - n, place + n + 1)
    return [struct.unpack("<f", struct.pack("<I", p if p >= 0 else 0x80000000 | -p))[0] for p in near]


def six_digits(x: float) -> list[float]:
    """Return decimals of at most six digits around a number."""
    if x == 0:
        return [0.0]
    unit = Fraction(10) ** (math.floor(math.log10(abs(x))) - 5)
    middle = round(Fraction(x) / unit)
    return [float((middle + i) * unit) for i in range(-3, 4) if abs(middle + i) < 10**6]


def passes(text: tuple[str, int], x: float) -> bool:
    number, side = float(text[0]), text[1]
    return x <= number if side else x < number


def cuts_at(*positions: tuple[float, int]) -> AttributeCuts:
    return AttributeCuts.at(Continuous("x"), {(exact(x), side) for x, side in positions})


def threshold_text(t: float) -> tuple[str, int]:
    """Return what is shown of float32(x) <= t, cut as the readers do."""
    return _edge_text(cuts_at((float(single_limits(np.array([t]))[0]), 1)), 1, single=True)


def digits(text: str) -> int:
    return len(re.sub(r"e.*$|[-.]", "", text).strip("0")) or 1


@pytest.mark.slow
@given(PEOPLE)
@example(26.100000381469727)
@example(24.199999809265137)
@example(18.5)
@example(0.0)
@example(-0.5)
@example(1e-35)
@example(16777216.0)
@settings(max_examples=250, deadline=None)
def test_the_shown_threshold_passes_the_same_numbers_of_32_bits_and_of_six_digits(t):
    assume(abs(t) < 1e30 and (t == 0 or abs(t) > 1e-30))
    shown = threshold_text(t)
    said = np.float32(float(shown[0]))
    for x in neighbours(t):
        model = x <= t  # as scikit-learn does: the 32-bit number, widened
        assert (np.float32(x) <= said if shown[1] else np.float32(x) < said) == model
        if float(said) != x or digits(shown[0]) > 6:  # a name of six digits may lie beside the number it names
            assert passes(shown, x) == model
    for x in six_digits(t):
        assert passes(shown, x) == (float(np.float32(x)) <= t)
    assert len(shown[0]) <= len(repr(float(single_limits(np.array([t]))[0])))


@given(PEOPLE)
@settings(max_examples=120, deadline=None)
def test_no_shorter_decimal_would_do(t):
    assume(1e-3 < abs(t) < 2**24)
    x = float(single_limits(np.array([t]))[0])
    low = max(y for y in neighbours(t) if y <= t)
    high = min(y for y in neighbours(t) if y > t)
    number, _ = threshold_text(t)
    top = math.floor(math.log10(abs(t))) + 1
    for unit in (Fraction(10) ** e for e in range(top - digits(number) + 1, top + 1)):
        between = range(math.ceil(Fraction(low) / unit), math.floor(Fraction(high) / unit) + 1)
        assert not [i for i in between if digits(str(abs(i))) < digits(number)], (x, number)


@pytest.mark.slow
@given(st.lists(st.tuples(PEOPLE, st.integers(0, 4), st.integers(0, 1), st.booleans()), min_size=2, max_size=8))
@settings(max_examples=150, deadline=None)
def test_texts_of_several_thresholds_are_different_and_in_order(drawn):
    """Also of thresholds that lie side by side, in one gap, or were turned back through other preparation."""
    positions = set()
    for t, beside, side, tie in drawn:
        assume(abs(t) < 1e30)
        at = float(single_limits(np.array([t]))[0]) if tie else t
        positions.add((at, side))
        positions.add((float(single_limits(np.array([neighbours(t)[6 + beside]]))[0]), 1))
    cuts = cuts_at(*positions)
    texts = [_edge_text(cuts, e, single=True) for e in range(1, len(cuts.edges) - 1)]
    places = [(Fraction(number), side) for number, side in texts]
    assert places == sorted(set(places))


def test_other_models_thresholds_are_shown_exactly():
    """Numbers of 64 bits lie in the gap: nothing shorter does the same."""
    assert _edge_text(cuts_at((39.50000000000001, 1)), 1, single=False) == ("39.5", 1)
    assert _edge_text(cuts_at((25.949999999999996, 1)), 1, single=False) == ("25.95", 0)
    assert _edge_text(cuts_at((39.50000000000001, 1), (39.5, 1)), 2, single=False) == ("39.50000000000001", 1)
    cuts = cuts_at((18.500000953674316, 1), (0.1, 0))
    assert [_edge_text(cuts, e, single=False) for e in (1, 2)] == [("0.1", 0), ("18.500000953674316", 1)]
    assert _edge_text(cuts, 2, single=True) == ("18.5", 1)
    assert _edge_text(cuts_at((100000004.0, 1)), 1, single=True) == ("100000004", 1)  # a 64-bit whole number is inside
    assert _edge_text(cuts_at((18.500000953674316, 1), (18.5000003, 1)), 1, single=True) == ("18.5000003", 1)
    assert _edge_text(cuts_at((7.12798399744671e20, 1)), 1, single=True) == ("7.12798399744671e+20", 1)
    assert _edge_text(cuts_at((10**300 + 1, 1)), 1, single=True) == (str(10**300 + 1), 1)
    assert _edge_text(cuts_at((0.5, 1), (10**300 + 1, 1)), 1, single=True) == ("0.5", 1)
    assert _shortest(3.5e38, 1, (-math.inf, 0), (math.inf, 1)) is None


NOISY = st.tuples(st.integers(-(10**6), 10**6), st.integers(0, 5), st.integers(-3, 3)).map(
    lambda t: t[0] / 10 ** t[1] + t[2] * math.ulp(t[0] / 10 ** t[1])
)


@pytest.mark.slow
@given(st.lists(st.tuples(st.one_of(NOISY, st.floats(-1e7, 1e7)), st.integers(0, 1)), min_size=1, max_size=6))
@example([(39.50000000000001, 1)])
@example([(25.949999999999996, 1), (25.950000000000003, 0)])
@settings(max_examples=150, deadline=None)
def test_thresholds_of_64_bits_lose_nothing_but_noise(drawn):
    """Decimals of 15 digits, written out around each threshold, pass the exact test and the shown one alike."""
    cuts = cuts_at(*drawn)
    places = []
    for e in range(1, len(cuts.edges) - 1):
        (x, side), (number, at) = cuts.edges[e], _edge_text(cuts, e, single=False)
        said = Fraction(number)
        places.append((said, at))
        unit = Fraction(10) ** (math.floor(math.log10(abs(x))) - 14) if abs(x) > 1e-9 else Fraction(1, 10**30)
        for i in range(-3, 4):
            d = (round(x / unit) + i) * unit
            assert (d <= said if at else d < said) == (d <= x if side else d < x)
    assert places == sorted(set(places))


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 400
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "bmi": rng.normal(25, 4, n).round(1),
            "income": rng.integers(8_000, 90_000, n),
            "score": rng.normal(0, 1, n),
            "city": rng.choice(["Oslo", "Rome", "Wien", "Bern"], n),
        }
    )
    odd = (frame["bmi"] > 26) ^ (frame["score"] > 0.5) ^ frame["city"].isin(["Oslo", "Bern"]) ^ (frame["age"] < 30)
    frame["y"] = odd.astype(int)
    return pd.get_dummies(frame, columns=["city"], dtype=int)


@pytest.fixture(scope="module")
def tree_file(people, tmp_path_factory):
    x = people.drop(columns="y")
    model = DecisionTreeClassifier(random_state=0).fit(x, people["y"])
    path = tmp_path_factory.mktemp("plain") / "tree.joblib"
    joblib.dump(model, path)
    return path, model, x


def rows_of(where: str, x: pd.DataFrame) -> np.ndarray:
    """Return which rows meet a condition in words; a reader of its own, which knows nothing of boxes."""
    met = np.ones(len(x), dtype=bool)
    for part in [] if where == "everybody" else where.split(" and "):
        if found := re.fullmatch(r"(\w+) is none of (.*)", part):
            for value in found[2].split(", "):
                met &= (x[f"{found[1]}_{value}"] == 0).to_numpy()
        elif found := re.fullmatch(r"((\w+?)_\w+) = 1 \(not (.*)\)", part):
            met &= (x[found[1]] == 1).to_numpy()
            for value in found[3].split(", "):
                met &= (x[f"{found[2]}_{value}"] == 0).to_numpy()
        elif found := re.fullmatch(r"(\S+) (<=?) (\w+) (<=?) (\S+)", part):
            met &= x.eval(f"({found[1]} {found[2]} {found[3]}) & ({found[3]} {found[4]} {found[5]})").to_numpy()
        elif found := re.fullmatch(r"(\w+) in (\S+)\.\.(\S+)", part):
            met &= x[found[1]].between(float(found[2]), float(found[3])).to_numpy()
        else:
            found = re.fullmatch(r"(\w+) (=|<=|>=|<|>) (\S+)", part)
            assert found, part
            met &= x.eval(f"{found[1]} {found[2].replace('=', '==') if found[2] == '=' else found[2]} {found[3]}")
    return met


@pytest.mark.sampled(1)
@pytest.mark.parametrize("with_domain", [False, True])
def test_the_words_of_a_leaf_select_its_training_rows(tree_file, people, with_domain):
    path, model, x = tree_file
    given_domain = recon.Domain.from_frame(people, label="y", independent=True) if with_domain else None
    release = recon.load(path, domain=given_domain) if with_domain else recon.load(path)
    leaves = model.apply(x)
    wheres = recon.measure(release).exposure.groupby("name")["where"].first()
    assert len(wheres) == model.get_n_leaves() > 20
    for name, where in wheres.items():
        assert (rows_of(where, x) == (leaves == int(name.split()[-1]))).all(), where
        assert not [part for part in where.split(" and ") if "score" not in part and re.search(r"\d\.\d{3}", part)]
    assert any("city is none of" in where for where in wheres) or any("(not " in where for where in wheres)


@pytest.mark.slow
def test_the_words_of_a_pipeline_select_its_training_rows(people, tmp_path):
    x = people.drop(columns="y")
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=1)).fit(x, people["y"])
    joblib.dump(model, tmp_path / "pipeline.joblib")
    wheres = recon.measure(recon.load(tmp_path / "pipeline.joblib")).exposure.groupby("name")["where"].first()
    leaves = model[-1].apply(model[:-1].transform(x))
    assert len(wheres) == model[-1].get_n_leaves() > 20
    for name, where in wheres.items():
        assert (rows_of(where, x) == (leaves == int(name.split()[-1]))).all(), where


def test_hostile_names_are_folded_and_stay_inert(encoded):
    names = (
        "<script>alert(1)//_a",
        "<script>alert(1)//_b",
        "\u202eno_x\n",
        "\u202eno_y",
        "=cmd|' /C calc'!A0",
    )
    domain = {"attributes": [{"name": n, "values": [0, 1]} for n in names]}
    tree = []
    for i, name in enumerate(names):
        tree += [{"if": {name: 0}, "then": 2 * i + 2, "else": 2 * i + 1}, {"count": 1}]
    tree.append({"count": 2})
    report = recon.audit(encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": tree}]}))
    wheres = "".join(report.findings.measures.exposure["where"])
    assert "<script>alert(1)// is none of a, b and \u202eno is none of x\n, y" in wheres
    assert "<script>" not in report.to_html()
    assert "\u202e" not in report.to_text() + report.to_html() + report.to_markdown()


def test_the_release_file_keeps_its_numbers_and_is_said_alike(tree_file, tmp_path):
    path, model, _ = tree_file
    release = recon.load(path)
    document = release_json(release.domain, release.models, release.declared)
    written = tmp_path / "release.json"
    written.write_text(dump(document))
    bmi = model.tree_.threshold[model.tree_.feature == 1]
    exactly = {node["if"]["bmi"]["at_most"] for node in document["models"][0]["nodes"] if "bmi" in node.get("if", ())}
    assert exactly == set(single_limits(bmi).tolist())  # as they are compared, digit by digit
    again = recon.load(written)
    assert recon.measure(again).exposure["where"].tolist() == recon.measure(release).exposure["where"].tolist()


def cut_domain(*attributes, single=True, label=None):
    """Return a domain whose attributes are cut between all values."""
    domain = Domain(tuple(attributes), label)
    cuts = tuple(
        AttributeCuts.at(a, set(range(1, a.span[1])) if not isinstance(a, Continuous) else set()) for a in domain.all
    )
    return CutDomain(domain, cuts, single)


BITS = [
    Categorical(name, (0, 1)) for name in ("city_Oslo", "city_Rome", "city_Wien", "smoker", "x0=a b", "x0=c", "is_a")
]


def said(*literals: tuple[int, int]) -> str:
    return condition_text(cut_domain(*BITS), Box.of((k, 1 << bit) for k, bit in literals))


def test_columns_of_one_attribute_are_said_together():
    assert said((0, 0), (1, 0), (3, 1)) == "city is none of Oslo, Rome and smoker = 1"
    assert said((0, 0), (1, 1)) == "city_Rome = 1 (not Oslo)"
    assert said((0, 0), (1, 1), (2, 0)) == "city_Rome = 1 (not Oslo, Wien)"
    assert said((0, 0), (3, 0)) == "city_Oslo = 0 and smoker = 0"
    assert said((0, 1)) == "city_Oslo = 1"
    assert said((0, 1), (1, 1), (2, 0)) == "city_Oslo = 1 and city_Rome = 1 and city_Wien = 0"  # independent: possible
    assert said((4, 0), (5, 0), (6, 0)) == "x0 is none of a b, c and is_a = 0"


@given(st.dictionaries(st.integers(0, 6), st.integers(0, 1), min_size=1))
def test_folded_words_say_every_bit_once(bits):
    """Taking the words apart again gives the bits."""
    found = {}
    for part in said(*sorted(bits.items())).split(" and "):
        if " is none of " in part:
            base, values = part.split(" is none of ")
            named = {one.name: k for k, one in enumerate(BITS)}
            found |= {named.get(f"{base}_{v}", named.get(f"{base}={v}")): 0 for v in values.split(", ")}
            continue
        head, _, others = part.partition(" (not ")
        name, _, bit = head.rpartition(" = ")
        k = next(i for i, one in enumerate(BITS) if one.name == name)
        found[k] = int(bit)
        base = re.split("[_=]", name)[0]
        for v in others.rstrip(")").split(", ") if others else ():
            found[next(i for i, one in enumerate(BITS) if one.name in {f"{base}_{v}", f"{base}={v}"})] = 0
    assert found == bits


def test_names_alone_make_groups_only_of_values():
    def names(*given):
        return {k: (g.base, g.value) for k, g in _one_hot_groups([Categorical(n, (0, 1)) for n in given]).items()}

    assert names("age<=30", "age<=50", "age>=20") == {}
    assert names("a_", "_a", "a__", "a") == {}
    assert names("race:White", "race:Black") == {0: ("race", "White"), 1: ("race", "Black")}
    assert names("marital_status_single", "marital_status_married") == {
        0: ("marital_status", "single"), 1: ("marital_status", "married"),
    }  # fmt: skip
    assert names("\u202e_x", "\u202e_y", "!_x", "!_y") == {}  # nothing to see before the value
    assert names("a=x", "a:x") == {}  # the same value twice says nothing
    assert _one_hot_groups([Categorical("c_a", (0, 1, 2)), Categorical("c_b", (0, 1)), Continuous("c_c")]) == {}
    long = [Categorical("_".join("ab" * 2_500) + end, (0, 1)) for end in ("_x", "_y")]
    assert len(_one_hot_groups(long)) == 2


def test_listed_values_are_said_as_ranges_or_by_what_is_not_meant():
    cut = cut_domain(
        Categorical("c", tuple("abcdefgh")), Categorical("n", (1, 2, 5, 7, 9, 11, 13)), Grid.between("g", 18, 90)
    )

    def of(k, *values):
        return condition_text(cut, Box(((k, sum(1 << v for v in values)),)))

    assert of(0, 0, 1) == "c in {a, b}"
    assert of(0, *range(7)) == "c is not h"
    assert of(0, *range(1, 7)) == "c is none of a, h"
    assert of(1, 0, 1, 2, 3, 4) == "n <= 9"
    assert of(1, 2, 3, 4, 5, 6) == "n >= 5"
    assert of(1, 1, 2, 3, 4, 5) == "2 <= n <= 11"
    assert of(1, 0, 2) == "n in {1, 5}"
    assert of(2, *range(13)) == "g in 18..30"
    missing = cut_domain(Categorical("m", tuple("abcdef"), missing=True))
    assert condition_text(missing, Box(((0, 0b0111111),))) == "m is not missing"
    assert condition_text(missing, Box(((0, 0b1000000),))) == "m is missing"


def test_real_numbers_that_may_be_missing():
    attribute = Continuous("x", missing=True)
    cuts = AttributeCuts.at(attribute, {(Fraction(5, 2), 1), attribute.gap[0]})
    cut = CutDomain(Domain((attribute, BITS[0])), (cuts, AttributeCuts.at(BITS[0], {1})), True)
    assert condition_text(cut, Box(((0, 0b101),))) == "x <= 2.5 or x is missing"
    assert condition_text(cut, Box(((0, 0b101), (1, 1)))) == "(x <= 2.5 or x is missing) and city_Oslo = 0"
    assert condition_text(cut, Box(((0, 0b011),))) == "x is any number"
    assert condition_text(cut, Box(((0, 0b100),))) == "x is missing"
    assert values_text(cut, 0, 0b110) == "{2.5.., missing}"


def frame(lines):
    """Return lines of exposure: (region, class, rows, share left)."""
    from recon.queries.measures.figures import exposure_frame

    return exposure_frame(
        [
            {"name": f"leaf {r}", "region": r, "where": f"w{r}", "class": c, "rows": n, "rows_most": n,
             "worlds_per_row": None if share is None else round(1000 * share), "bits_left": share and 10 * share,
             "bits_removed": share and 10 - 10 * share, "entropy_reduction_ratio": share}
            for r, c, n, share in lines
        ]
    )  # fmt: skip


SHARES = st.sampled_from([0.0, 0.25, 0.5, 1.0, None])
LINES = st.lists(st.tuples(st.integers(0, 9), SHARES), min_size=1, max_size=30)


@pytest.mark.slow
@given(LINES)
def test_the_most_exposed_come_first_and_of_those_the_fewest_rows(drawn):
    lines = frame([(i // 2, str(i % 2), n, drawn[i // 2 * 2][1]) for i, (n, _) in enumerate(drawn)])
    measures = SimpleNamespace(exposure=lines)
    found = exposed_groups(measures, most=7)
    size = lines.groupby("region")["rows"].sum()
    held = lines[lines["rows"] > 0]
    keys = [
        (size[region] != 1, math.inf if math.isnan(r) else r, size[region], region, n)
        for r, region, n in zip(held["entropy_reduction_ratio"], held["region"], held["rows"], strict=True)
    ]
    assert [one["rows"][0] for one in found] == [key[-1] for key in sorted(keys)[:7]]
    assert exposed_in_all(measures) == len(keys)
    assert all((one["worlds_per_row"] is None) == (one["share_left"] is None) for one in found)
    json.dumps(found, allow_nan=False)


@pytest.mark.slow
@given(LINES, st.integers(2, 9))
def test_every_point_of_the_curve_is_true(drawn, most):
    lines = frame([(i, None, n, share) for i, (n, share) in enumerate(drawn)])
    points, total = curve_points(SimpleNamespace(exposure=lines), most), sum(n for n, _ in drawn)
    assert len(points) <= most
    for x, y in points:
        assert y == pytest.approx(sum(n for n, share in drawn if share is not None and share <= x) / total)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(points))
    known = {share for n, share in drawn if n and share is not None}
    assert not known or {points[0][0], points[-1][0]} == {min(known), max(known)}


def test_long_numbers_of_worlds_are_decimal_texts():
    lines = frame([(0, None, 1, 0.5)])
    lines["worlds_per_row"] = pd.Series([10**5000], dtype=object)
    found = exposed_groups(SimpleNamespace(exposure=lines))
    assert found[0]["worlds_per_row"] == "1" + "0" * 5000


def test_nothing_is_exposed_where_there_is_no_world():
    nothing = SimpleNamespace(exposure=pd.DataFrame())
    assert exposed_groups(nothing) == curve_points(nothing) == []
    assert exposed_in_all(nothing) == 0
    assert not len(worst_first(nothing.exposure))


def test_the_table_of_a_report_has_columns_and_says_its_order(tree_file, people, tmp_path):
    path, _, _ = tree_file
    without = exposure_lines(recon.measure(recon.load(path)))
    assert "from the smallest to the largest" in without[1]
    rows = [int(re.search(r"(\d+) rows?$", line)[1]) for line in without[2::2]]
    assert rows == sorted(rows)
    assert rows[0] == 1
    sized = people.drop(columns="score")
    joblib.dump(
        DecisionTreeClassifier(random_state=0).fit(sized.drop(columns="y"), sized["y"]), tmp_path / "sized.joblib"
    )
    domain = recon.Domain.from_frame(sized, label="y")
    counted = exposure_lines(recon.measure(recon.load(tmp_path / "sized.joblib", domain=domain)))
    assert counted[1] == "groups of one row first, then the most exposed, then the fewest rows"
    table = counted[2::2]
    assert len({line.index("one of") for line in table}) == len({line.index(" bits left") for line in table}) == 1
    assert all(len(line) <= 100 for line in table)
    shares = [float(re.search(r"([\d.]+) % of rows as exposed", line)[1]) for line in table]
    assert shares == sorted(shares)


def test_a_hostile_name_does_not_push_the_columns_of_others():
    lines = _aligned([["a" * 10_000, "1 row", "x"], ["leaf 1", "20 rows", "y"]])
    assert lines[1].index("20 rows") < 40
    assert lines[0].endswith("1 row,   x")
