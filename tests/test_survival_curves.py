"""Survival curves and life tables: events and people at risk from printed digits, the true rows never excluded."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from changed_objects import sentence_of
from extras import batches

import recon
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReconError

CORPUS = Path(__file__).parent / "corpus"
WHAS = pd.read_csv(CORPUS / "survival_whas500.csv")  # 500 people: all event times, with the truth beside the curve
PEOPLE = 500
DRAWN = 12  # shapes of files


def drawn(seed):
    """Return random people: a time, an event, and (in half of the seeds) a group."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 120))
    frame = pd.DataFrame({"time": rng.integers(0 if seed % 5 == 0 else 1, int(rng.integers(6, 80)), n)})
    frame["sex"] = rng.choice([1, 2], n)
    frame["event"] = (rng.random(n) < rng.uniform(0.2, 0.95)).astype(int)
    if not frame.event.any():
        frame.loc[0, "event"] = 1
    return frame


def curve(frame, every=False):
    """Return the lines of a curve: at times of events, or at every time at which somebody leaves."""
    lines, survival, spread, hazard = [], 1.0, 0.0, 0.0
    for time in np.unique(frame.time if every else frame.time[frame.event == 1]):
        here = frame[frame.time == time]
        n, d = int((frame.time >= time).sum()), int(here.event.sum())
        survival, hazard = survival * (1 - d / n), hazard + d / n
        spread += d / (n * (n - d)) if d < n else np.inf
        lines.append((time, n, d, len(here) - d, survival, survival * spread**0.5 if d < n else 0.0, hazard))
    return pd.DataFrame(lines, columns=["time", "n.risk", "n.event", "n.censor", "survival", "std.err", "hazard"])


def text_of(frame, seed):
    """Return people's curve in one of several shapes, and whether the number of people has to be said."""
    shape, digits = seed % DRAWN, 3 + seed // DRAWN % 5
    events, every = curve(frame), curve(frame, every=True)
    if shape == 0:
        return events[["time", "survival"]].round(digits), True
    if shape == 1:
        return every[["time", "survival"]].rename(columns={"time": "timeline", "survival": "KM_estimate"}), True
    if shape == 2:
        begin = pd.DataFrame([{"timeline": 0.0, "KM_estimate": 1.0}])
        after = every[every.time > 0] if frame.event[frame.time == 0].sum() == 0 else None
        if after is None:
            return every[["time", "survival"]], True
        named = after[["time", "survival"]].rename(columns={"time": "timeline", "survival": "KM_estimate"})
        return pd.concat([begin, named]).round(digits), True
    if shape == 3:
        return every.drop(columns=["std.err", "hazard"]), False
    if shape == 4:
        return events[["time", "survival", "std.err"]].round(digits), True
    if shape == 5:
        return every[["time", "hazard"]].rename(columns={"hazard": "cumhaz"}).round(digits), True
    if shape == 6:
        return events[["time", "n.risk", "n.event", "survival"]].round(digits), False
    if shape == 7:
        parts = [curve(some, every=seed % 2 == 0).assign(strata=f"sex={k}") for k, some in frame.groupby("sex")
                 if some.event.any()]  # fmt: skip
        return pd.concat(parts).drop(columns="hazard").round(8), False
    if shape == 8:  # at chosen times, as summary(fit, times=...) counts
        times = np.arange(0, frame.time.max() + 5, 5)
        since = np.concatenate([[-1], times[:-1]])
        counts = [
            (t, int((frame.time >= t).sum()), int(frame.event[(frame.time > a) & (frame.time <= t)].sum()))
            for a, t in zip(since, times, strict=True)
        ]
        return pd.DataFrame(counts, columns=["time", "n.risk", "n.event"]), False
    if shape == 9:  # a life table over intervals
        ends = np.arange(0, frame.time.max() + 8, 7)
        lines = []
        for a, b in pairwise(ends):
            here = frame[(frame.time >= a) & (frame.time < b)]
            lines.append(
                (f"{a}-{b}", int((frame.time >= a).sum()), int(here.event.sum()), int((here.event == 0).sum()))
            )
        return pd.DataFrame(lines, columns=["interval", "nsubs", "nevent", "nlost"]), False
    if shape == 10:  # lifelines' event_table
        names = {"time": "event_at", "n.risk": "at_risk", "n.event": "observed", "n.censor": "censored"}
        table = every.rename(columns=names)
        table["removed"], table["entrance"] = table.observed + table.censored, [len(frame), *[0] * (len(table) - 1)]
        return table[["event_at", "removed", "observed", "censored", "entrance", "at_risk"]], False
    return events[["time", "survival", "std.err"]].assign(n=events["n.risk"]).drop(columns="n").round(digits), True


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", batches(36, 360))
def test_the_true_rows_are_never_excluded(seed, tmp_path):
    frame = drawn(seed)
    table, asked = text_of(frame, seed)
    (tmp_path / "curve.csv").write_text(table.to_csv(index=False))
    domain = recon.Domain.from_frame(pd.concat([frame, frame.assign(event=1 - frame.event)]))
    options = {"rows": len(frame)} if asked else {}
    try:
        release = recon.load(str(tmp_path / "curve.csv"), domain=domain, **options)
    except ReconError as error:
        return None if "chosen times" in str(error) else pytest.fail(str(error))
    assert violations(release, frame) == [], seed
    return None


def test_figures_that_are_empty_are_said_to_be_open(tmp_path):
    curve = WHAS[["time", "survival"]].round(6)
    assert "survival" in curve
    curve.iloc[[3, 9], 1] = np.nan
    (tmp_path / "curve.csv").write_text(curve.to_csv(index=False, na_rep="nan"))
    release = recon.load(str(tmp_path / "curve.csv"), rows=PEOPLE)
    (note,) = (one for one in release.models[0].origin.notes if "were not published" in one)
    assert "empty or nan (2)" in note


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("digits", "known"), [(7, 158), (6, 158), (5, 142), (4, 15), (3, 0)])
def test_six_digits_of_a_curve_give_deaths_and_people_at_risk(digits, known, tmp_path):
    WHAS[["time", "survival"]].round(digits).to_csv(tmp_path / "curve.csv", index=False)
    release = recon.load(str(tmp_path / "curve.csv"), rows=PEOPLE)
    at_risk = {s.name: s for s in release.models[0].statements if s.name.startswith("at risk")}
    events = [s for s in release.models[0].statements if s.name.startswith("events")]
    exact = 0
    for line, one, deaths in zip(WHAS.itertuples(), at_risk.values(), events, strict=True):
        n, d = line[2], line[3]
        assert (one.count == n) if one.count is not None else one.low <= n <= one.high
        assert (deaths.count == d) if deaths.count is not None else deaths.low <= d <= deaths.high
        exact += one.count is not None and deaths.count is not None
    assert exact == known


@pytest.mark.slow
def test_standard_errors_tell_more(tmp_path):
    left = (WHAS["n.risk"] - WHAS["n.event"]).replace(0, np.nan)
    spread = (WHAS["n.event"] / (WHAS["n.risk"] * left)).cumsum() ** 0.5
    exact = {}
    for name, errors in (("none", None), ("of the curve", spread * WHAS.survival), ("of its logarithm", spread)):
        table = WHAS[["time", "survival"]].assign(**({} if errors is None else {"std.err": errors})).round(6)
        table.to_csv(tmp_path / "curve.csv", index=False)
        release = recon.load(str(tmp_path / "curve.csv"), rows=PEOPLE)
        exact[name] = sum(s.count is not None for s in release.models[0].statements)
        assert not any("errors" in one.what for one in release.models[0].origin.unused)
    assert exact["of the curve"] >= exact["none"] <= exact["of its logarithm"]


def test_a_list_of_every_time_gives_one_data_set(tmp_path):
    frame = drawn(7)
    curve(frame, every=True)[["time", "n.risk", "n.event", "n.censor"]].to_csv(tmp_path / "t.csv", index=False)
    release = recon.load(str(tmp_path / "t.csv"))
    assert recon.count(release, "multiset").value == 1
    assert set(recon.certify(release, frame[["time", "event"]].head(5)).verdict) == {"certain"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("file", ["survfit.rds", "survfit.txt"])
def test_r_curves_of_two_groups_are_read(file):
    frame = pd.read_csv(CORPUS / "survfit_rows.csv")
    given = {"rows": len(frame)} if file.endswith("txt") else {}  # who left before the first event is not told
    release = recon.load(str(CORPUS / file), domain=recon.Domain.from_frame(frame), **given)
    assert violations(release, frame) == []
    assert release.rows.low == len(frame)
    assert release.models[0].origin.unused == ()
    asked = recon.bound(release, {"sex": 1, "time": {"at_most": 12}, "event": 1})
    assert asked.min == asked.max == int(((frame.sex == 1) & (frame.time <= 12) & (frame.event == 1)).sum())


BAD = (
    ("time,survival\n1,0.9\n2,0.95\n", {"rows": 10}, "line 3: no number of deaths among people at risk"),
    ("time,survival\n1,0.9\n2,0.8\n", {}, "give --rows"),
    ("time,survival\n2,0.9\n1,0.8\n", {"rows": 10}, "line 3: the time 1 does not follow on 2"),
    ("time,survival\n1,0.9\nx,0.8\n", {"rows": 10}, "line 3: 'x' is not a time"),
    ("time,survival\n1,0.9\n2,-0.8\n", {"rows": 10}, "is not a number from 0 on"),
    ("time,n.risk,n.event\n1,10.5,1\n2,9,1\n", {}, "the count '10.5' is not a whole number of rows"),
    (f"time,n.risk,n.event\n1,1{'0' * 400},1\n2,9,1\n", {}, "the count has 401 digits: no table counts so many"),
    ("time,n.risk,n.event,survival\n1,10,1,0.9\n2,11,1,0.8182\n3,5,1,0.1\n", {}, ""),
    ("time,survival\n" + "".join(f"{t},{1 - t / 20}\n" for t in range(1, 9)), {"rows": 20}, "a curve at chosen times"),
    ("event_at,removed,observed,censored,entrance,at_risk\n0,0,0,0,5,5\n1,1,1,0,2,5\n", {}, "entered late"),
    ("interval,survival\n0-5,0.9\n5-10,0.8\n", {"rows": 9}, "give both columns"),
    ("Call: survfit(formula = Surv(t, e) ~ 1)\n\n time n.risk n.event survival\n 1 10 1\n", {}, "has 3 numbers"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "options", "why"), BAD)
def test_what_is_no_curve_is_refused_in_a_sentence(text, options, why, tmp_path):
    (tmp_path / "bad.csv").write_text(text)
    if not why:  # figures that are not those of the counts are not used: the times may be chosen
        release = recon.load(str(tmp_path / "bad.csv"), **options)
        assert [one.what for one in release.models[0].origin.unused] == ["the column 'survival'"]
        return
    with pytest.raises(ReconError) as error:
        recon.load(str(tmp_path / "bad.csv"), **options)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


LIVES = pd.DataFrame({"time": [1, 4, 5, 9, 10, 14], "event": [1, 0, 1, 0, 1, 1]})
SPANS = {
    "ends that the next begins with": ("0-5", "5-10", "10-15"),
    "written with other digits": ("0-5.0", "5-10", "10-15.0"),
    "last times that belong to them": ("0-4", "5-9", "10-14"),
    "ends of years": ("0 to 4", "5 to 9", "10 to NA"),
    "with brackets": ("[0, 5)", "[5, 10)", "[10, inf)"),
    "of pandas": ("(-0.001, 4.0]", "(4.0, 9.0]", "(9.0, 14.0]"),
}


@pytest.mark.parametrize("name", SPANS)
def test_intervals_of_a_life_table_hold_each_time_once(name, tmp_path):
    lines = [f'"{a}",{b}' for a, b in zip(SPANS[name], ("6,1,1,0.8", "4,1,1,0.6", "2,2,0,0"), strict=True)]
    (tmp_path / "life.csv").write_text("\n".join(["interval,entering,died,withdrawn,survival", *lines]))
    domain = recon.Domain.from_frame(pd.concat([LIVES, LIVES.assign(event=1 - LIVES.event)]))
    release = recon.load(str(tmp_path / "life.csv"), domain=domain)
    assert violations(release, LIVES) == []
    for frame in (LIVES.replace({"time": {4: 5}}), LIVES.replace({"time": {9: 10}}), LIVES.assign(event=[1] * 6)):
        assert violations(release, frame)
    assert [one.what for one in release.models[0].origin.unused] == ["the column 'survival'"]
    alone = recon.load(str(tmp_path / "life.csv")).domain  # whole times, whatever pandas' least end is
    assert alone.all[alone.place["time"]].step == 1


@pytest.mark.slow
def test_a_workspace_with_one_object_is_read_as_the_object():
    """save(f, file="survfit.RData") of the same people without groups, written by R 4.2."""
    frame = pd.read_csv(CORPUS / "survfit_rows.csv")
    release = recon.load(str(CORPUS / "survfit.RData"), domain=recon.Domain.from_frame(frame[["time", "event"]]))
    assert violations(release, frame[["time", "event"]]) == []
    assert release.rows.low == release.rows.high == len(frame)
    assert {one.level for one in recon.inspect(str(CORPUS / "survfit.RData")).findings} == {"high"}


REFUSED = [
    ("time,survival\n", {}, "the table has no lines"),
    ("time,survival,km\n1,0.9,0.9\n", {}, "line 2: has two columns for survival"),
    ("time,survival\n1,0.9\n2,0.8\n", {"rows": 0}, "give --rows"),
    ("time,survival\n1,0.9\n2,0.8\n", {"rows": 10, "domain": "age"}, "the domain has no attribute 'time'"),
    ("time,survival\n1,0.9\n2,0.8\n", {"rows": 10, "domain": "time"}, "counts rows, but the domain has no such time"),
    ("time,survival\n1,0.9\n2,0.8\n", {"rows": 10, "domain": "words"}, "'time' has values that are no numbers"),
    ("time,n.risk,n.event,n.censor\n1,10,1,0\n2,9,0,9\n", {"rows": 11}, "the file says 10 people, not 11"),
    ("time,n.risk,n.event\n1,10,1\n2,11,1\n", {}, ""),
    ("time,cumhaz\n1,0.0001\n2,0.0002\n", {"rows": 10_000}, ""),
    ("time,survival\n1,0.9\n2,0.8\n", {"rows": 1_000_000}, "more than 20,000,000 pairs of deaths and people at"),
    ("time,survival,strata\n1,0.9,=1\n2,0.8,=1\n", {"rows": 10}, "line 2: '=1' is not a group such as sex=1"),
    ("time,n.risk,n.event\n0-5,10,1\n5,9,1\n", {}, "line 3: '5' is not an interval of times"),
    ("time,n.risk,n.event\n0-5,10,1\n10-15,8,1\n5-10,9,1\n", {}, "line 4: the interval 5-10 does not begin after the"),
    ('time,n.risk,n.event\n"[0,5]",10,1\n"[5,9]",9,1\n', {}, "line 3: the interval [5,9] does not begin after the one"),
    ("time,n.risk,n.event\n0-NA,10,1\n5-9,9,1\n", {}, "line 3: the interval 5-9 does not begin after the one before"),
    ("time,n.risk,n.event\n0-5,10,1\n", {}, "line 2: does not say whether 5 is in the interval: write [0,5) or [0,5]"),
    ("time,n.risk,n.event\n0-5,10,11\n5-9,9,1\n", {}, "line 2: counts 11 events among 10 people at risk"),
    ("Call: survfit(formula = Surv(t, e) ~ 1)\n\n time n.risk n.event survival\n 1 10 1 0.9\n what is this\n", {},
     "line 5: 'what is this' is no line of a curve"),
    ("time,survival\n" + "".join(f"{k * k},{1 - k / 99_999}\n" for k in range(1, 99)), {"rows": 2_000_000},
     "98 times of 2,000,000 people are too many for a curve without numbers at risk"),
]  # fmt: skip
TIMES = {"age": {"age": [1, 2], "event": [0, 1]}, "time": {"time": [7, 8], "event": [0, 1]},
         "words": {"time": ["a", "b"], "event": [0, 1]}}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "said"), REFUSED)
def test_curves_and_life_tables(text, options, said, tmp_path):
    if "domain" in options:
        options = {**options, "domain": recon.Domain.from_frame(pd.DataFrame(TIMES[options["domain"]]))}
    (tmp_path / "file.csv").write_text(text)
    found = sentence_of(lambda: recon.load(str(tmp_path / "file.csv"), **options))
    assert said in found if said else not found, found
