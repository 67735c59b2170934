"""Ranges of numbers as categories: read, joined across releases, and held against the rows they were made of."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import recon
from encoders.domain.bands import band_of, banded, bands_of, finest
from encoders.domain.values import Categorical, Grid, Test, equals
from recon.cli.app import app
from solvers.foundation.errors import ReleaseError

TEXTS = {
    "<65": "< 65", ">= 65": ">= 65", "≥65": ">= 65", "≤ 64": "<= 64", "65+": ">= 65", "65 and over": ">= 65",
    "65 years and over": ">= 65", "Under 65 years": "< 65", "under 65": "< 65", "65-69": ">= 65 and <= 69",
    "65–69": ">= 65 and <= 69", "65 to 69 years": ">= 65 and <= 69", "20 and under 25": ">= 20 and < 25",
    "20 to under 25": ">= 20 and < 25", "65 bis unter 70 Jahre": ">= 65 and < 70", "unter 15": "< 15",
    "75 Jahre und älter": ">= 75", "moins de 25 ans": "< 25", "75 ans et plus": ">= 75", "Y15-24": ">= 15 and <= 24",
    "Y_GE65": ">= 65", "Y_LT15": "< 15", "Y15T24": ">= 15 and <= 24", "Y65": "= 65", "[20,30)": ">= 20 and < 30",
    "(20, 30]": "> 20 and <= 30", "$10,000 to $14,999": ">= 10000 and <= 14999", "less than $5,000": "< 5000",
    "18.5-24.9": ">= 18.5 and <= 24.9", "85 or older": ">= 85", "14 and younger": "<= 14", "over 64": "> 64",
    "at least 65": ">= 65", "up to 9": "<= 9", "Age 85+": ">= 85", "between 5 and 9": ">= 5 and <= 9", "7": "= 7",
    "10-49 employees": ">= 10 and <= 49", "1 000-4 999": ">= 1000 and <= 4999", "-5 to 5": ">= -5 and <= 5",
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_range_is_read(text):
    assert str(band_of(text)[0]) == TEXTS[text]


@pytest.mark.parametrize(
    "text", ["north", "A10-A19", "2020-21", "2019-01", "yes", "", "+", "<", "10-", "1-2-3", "70-65", "65 maybe"]
)
def test_what_is_no_range_is_none(text):
    assert band_of(text)[0] is None


def test_a_column_is_of_ranges_or_it_is_not():
    assert bands_of(["<65", "65+"]) is not None
    assert bands_of(["64", "65"]) is None, "single numbers are no ranges"
    assert bands_of(["<65", "65+", "other"]) is None
    assert bands_of(["1-6 months", "1-2 years"]) is None, "two units are no one number"
    assert bands_of(["<65", "65+", "unknown"])["unknown"] == Test(values=(), missing=True)


def test_where_ranges_end():
    tests = bands_of(["<65", "65+"]).values()
    assert banded("age", tests)[0] == Grid.between("age", 0, 120)
    assert banded("cases", tests)[0] == Grid.between("cases", 0, 130)
    assert "open below and above" in banded("age", tests)[1]
    closed = banded("bmi", bands_of(["15.0-24.9", "25.0-40.0"]).values())
    assert closed[0] == Grid.between("bmi", 15.0, 40.0, 0.1)
    assert "open" not in closed[1]
    assert banded("t", bands_of(["<-5", "-5-5"]).values())[0].minimum == -11


def test_the_finest_of_nested_ranges():
    tests = list(bands_of(["0-4", "5-9", "0-9", "10-14", "15+", "10+"]).values())
    grid = banded("age", tests)[0]
    kept, whole = finest(grid, tests)
    assert [str(t) for t in kept] == [">= 0 and <= 4", ">= 5 and <= 9", ">= 10 and <= 14", ">= 15"]
    assert whole
    assert finest(grid, tests[1:4])[1] is False, "some ages are in none"
    sets = Categorical("d", ("a", "b", "c"))
    kept, whole = finest(sets, [Test(values=("a", "c")), equals("a"), equals("b"), equals("c")])
    assert [str(t) for t in kept] == ["= a", "= b", "= c"]
    assert whole


def _csv(rows, cuts, path):
    """Write the table of rows (age, ill) by bands that begin at the cuts, total left out."""
    edges = [None, *cuts, None]
    lines = ["age,ill,count"]
    for low, high in itertools.pairwise(edges):
        name = f"<{high}" if low is None else f"{low}+" if high is None else f"{low}-{high - 1}"
        for ill in ("yes", "no"):
            n = sum((low is None or a >= low) and (high is None or a < high) and i == ill for a, i in rows)
            lines.append(f"{name},{ill},{n}")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_two_tables_with_other_bands_say_what_their_difference_says(tmp_path_factory, seed):
    rng, folder = random.Random(seed), tmp_path_factory.mktemp("bands")
    rows = [(rng.randint(0, 40), rng.choice(["yes", "no"])) for _ in range(rng.randint(1, 9))]
    one, other = (sorted(rng.sample(range(1, 41), rng.randint(1, 2))) for _ in range(2))
    _csv(rows, one, folder / "r1.csv")
    _csv(rows, other, folder / "r2.csv")
    release = recon.load(folder / "r1.csv", folder / "r2.csv")
    assert release.rows.low == len(rows)
    cuts = [0, *sorted({*one, *other}), 121]
    parts = list(itertools.pairwise(cuts))
    for ill in ("yes", "no"):
        truth = [sum(low <= a < high and i == ill for a, i in rows) for low, high in parts]
        fitting = [
            z
            for z in itertools.product(range(sum(truth) + 1), repeat=len(parts))
            if _alike(z, truth, parts, one, other)
        ]
        for k, (low, high) in enumerate(parts):
            found = recon.bound(release, {"age": {"at_least": low, "at_most": high - 1}, "ill": ill})
            assert (found.min, found.max) == (min(z[k] for z in fitting), max(z[k] for z in fitting))


def _alike(z, truth, parts, *tables):
    """Return whether numbers of people per part have the sums of the truth in the bands of all tables."""
    return all(
        sum(n for n, (at, _) in zip(z, parts, strict=True) if low <= at < high)
        == sum(n for n, (at, _) in zip(truth, parts, strict=True) if low <= at < high)
        for cuts in tables
        for low, high in itertools.pairwise([0, *cuts, 121])
    )


def test_the_person_of_65_is_found_by_the_ordinary_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r1.csv").write_text("age,ill,count\n<65,yes,12\n<65,no,408\n>=65,yes,9\n>=65,no,71\n")
    (tmp_path / "r2.csv").write_text("age,ill,count\n<66,yes,13\n<66,no,408\n>=66,yes,8\n>=66,no,71\n")
    run = CliRunner().invoke
    found = run(app, ["bound", "r1.csv", "r2.csv", "--where", '{"age": 65, "ill": "yes"}', "--json"])
    assert found.exit_code == 0
    assert (json.loads(found.stdout)["min"], json.loads(found.stdout)["max"]) == (1, 1)
    assert run(app, ["register", "out", "--add", "r1.csv", "--decision", "release"]).exit_code == 0
    audit = run(app, ["audit", "r2.csv", "--register", "out", "--json"])
    assert audit.exit_code == 0
    adds = json.loads(audit.stdout)["adds"]
    assert [(one["where"], one["rows"]) for one in adds["differences"]] == [("age = 65 and ill = yes", [1, 1])]
    (tmp_path / "who.csv").write_text("age,ill\n65,yes\n65,no\n")
    said = json.loads(run(app, ["certify", "r1.csv", "r2.csv", "--profiles", "who.csv", "--json"]).stdout)
    assert [one["verdict"] for one in said] == ["certain", "impossible"]


def test_ranges_beside_single_numbers_and_beside_a_declared_attribute(tmp_path):
    (tmp_path / "a.csv").write_text("age,ill,count\n<3,yes,2\n3+,yes,1\n<3,no,0\n3+,no,1\n")
    (tmp_path / "b.csv").write_text("age,count\n0,1\n1,1\n2,0\n3,1\n4,1\n")
    both = recon.load(tmp_path / "a.csv", tmp_path / "b.csv")
    assert recon.bound(both, {"age": 0, "ill": "yes"}).min == 1, "two below 3 are ill, and nobody else is below 3"
    domain = recon.Domain((Grid.between("age", 0, 4), Categorical("ill", ("yes", "no"))))
    assert recon.load(tmp_path / "a.csv", domain=domain).domain.all[0].count == 5
    with pytest.raises(ReleaseError, match="outside the range"):
        recon.load(
            tmp_path / "a.csv", domain=recon.Domain((Grid.between("age", 5, 9), Categorical("ill", ("yes", "no"))))
        )


def test_a_range_of_everybody_and_people_whose_number_is_not_known(tmp_path):
    (tmp_path / "t.csv").write_text("age,count\n18+,7\n18-64,4\n65+,3\nunknown,2\n")
    release = recon.load(tmp_path / "t.csv")
    age = release.domain.all[0]
    assert age.missing
    assert (age.minimum, age.maximum) == (18, 120)
    assert recon.bound(release, {"age": {"at_least": 65}}).max == 3
    (tmp_path / "u.csv").write_text("age,count\n18+,9\n18-64,6\n65+,3\n")
    assert recon.load(tmp_path / "u.csv").rows.high == 9
    declared = recon.Domain((Grid.between("age", 18, 90),))
    assert recon.load(tmp_path / "u.csv", domain=declared).rows.high == 9


def test_a_grid_of_the_finest_step_of_both():
    from encoders.encode.joining import _united_attribute

    half, whole = Grid.between("x", 0, 5, 0.5), Grid.between("x", 1, 9)
    assert _united_attribute(half, whole) == Grid("x", Fraction(0), Fraction(1, 2), 19)
    assert _united_attribute(Categorical("x", (0.25, 2)), whole) == Grid("x", Fraction(1, 4), Fraction(1, 4), 36)
    assert _united_attribute(Categorical("x", ("a", "b")), whole) == Categorical("x", ("a", "b"))


def test_frames_of_bands_from_pandas_cut(tmp_path):
    frame = pd.DataFrame({"age": pd.cut([3, 14, 26, 77], [0, 10, 20, 80], right=False).astype(str)})
    frame.value_counts().rename("count").reset_index().to_csv(tmp_path / "t.csv", index=False)
    release = recon.load(tmp_path / "t.csv")
    assert release.domain.all[0] == Grid.between("age", 0, 80), "80 is named, and nobody has it"
    assert (release.rows.low, release.rows.high) == (4, 4)
    assert recon.bound(release, {"age": 80}).max == 0
