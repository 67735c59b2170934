"""Itemsets and rules: read in every form, the true rows never excluded, worlds as brute force counts them."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from boosted_cases import compas14
from extras import run
from itemset_files import arules, frequent, mlxtend_csv, rules, spark, spmf

import recon
from recon.readers.formats.statistics import itemsets, shares
from recon.readers.formats.statistics.shares import count_of, intervals, rows_of
from recon.readers.frames.world import violations

FORMS = {"mlxtend": mlxtend_csv, "arules": arules, "spark": spark, "spmf": spmf}


def written(tmp_path, text, name="sets.txt"):
    """Return the path of a text."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def drawn(seed):
    """Return rows of bits that depend on each other, and the least count of a frequent set."""
    rng = np.random.default_rng(seed)
    n, columns = int(rng.integers(4, 60)), int(rng.integers(2, 7))
    base = rng.random((n, 1)) < 0.5
    bits = (rng.random((n, columns)) < rng.uniform(0.2, 0.7, columns)) ^ (base & (rng.random((n, columns)) < 0.4))
    frame = pd.DataFrame(bits.astype(int), columns=[f"i{k}" for k in range(columns)])
    return frame, int(rng.integers(1, max(2, n // 3)))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(30))
def test_the_true_rows_are_never_excluded(seed, tmp_path):
    frame, least = drawn(seed)
    longest = None if seed % 3 else 2
    sets = frequent(frame, least, longest)
    if not sets:
        return
    listed = sorted(frozenset().union(*sets))
    for form, write in FORMS.items():
        path = written(tmp_path, write(sets, len(frame)))
        release = recon.load(path, rows=len(frame))
        assert violations(release, frame[listed]) == [], form
        assert sum(f.count is not None and bool(f.condition) for f in release.models[0].statements) == len(sets)
    table = rules(sets, len(frame))
    if len(table):
        release = recon.load(written(tmp_path, table.to_csv(index=False), "rules.csv"), rows=len(frame))
        named = {name for f in release.models[0].statements for name, _ in f.condition}
        assert violations(release, frame[sorted(named)]) == []
        assert release.models[0].origin.unused == ()  # measures follow from supports, each was compared


@pytest.mark.parametrize("seed", range(12))
def test_worlds_are_those_that_list_the_same_sets(seed, tmp_path):
    """Every multiset of rows over three items whose listed sets have these counts, no other set above the threshold."""
    rng = np.random.default_rng(100 + seed)
    frame = pd.DataFrame(rng.integers(0, 2, (5, 3)), columns=list("abc"))
    least = 1 + seed % 3
    sets = frequent(frame, least)
    if frozenset().union(*sets) != set("abc"):
        return
    lowest, longest = min(sets.values()), max(map(len, sets))
    subsets = [frozenset(c) for k in range(1, longest + 1) for c in itertools.combinations("abc", k)]
    fitting = 0
    for rows in itertools.combinations_with_replacement(itertools.product((0, 1), repeat=3), 5):
        held = {s: sum(all(dict(zip("abc", r, strict=True))[i] for i in s) for r in rows) for s in subsets}
        same = all(held[s] == n for s, n in sets.items())
        border = [s for s in subsets if s not in sets and all(s - {i} in sets for i in s if len(s) > 1)]
        fitting += same and all(held[s] < lowest for s in border)
    release = recon.load(written(tmp_path, mlxtend_csv(sets, 5)), rows=5)
    assert recon.count(release, "multiset").value == fitting > 0


def unique_people(frame):
    """Return the rows that nobody else has, in the order of their values."""
    counted = frame.groupby(list(frame.columns)).size().reset_index(name="n")
    return counted[counted.n == 1].drop(columns="n")


@pytest.mark.slow
def test_sets_of_at_least_11_people_give_unique_people_away(tmp_path, data):
    data("compas14.csv.gz")
    frame, domain = compas14()
    sets = frequent(frame, 11)
    assert len(sets) == 749
    path = written(tmp_path, mlxtend_csv(sets, len(frame)), "sets.csv")
    release = recon.load(path, domain=domain)
    assert release.rows.low == release.rows.high == 7206
    assert violations(release, frame) == []
    found = recon.certify(release, unique_people(frame))
    assert list(found.verdict)[:20] == ["certain"] * 20
    assert found.verdict.value_counts().to_dict() == {"certain": 49, "possible": 26}
    assert found.certificate[found.verdict == "certain"].notna().all()


@pytest.mark.slow
def test_sets_of_at_least_2_people_leave_one_data_set(tmp_path, data):
    data("compas14.csv.gz")
    frame, domain = compas14()
    sets = frequent(frame, 2)
    assert len(sets) == 1150
    release = recon.load(written(tmp_path, mlxtend_csv(sets, len(frame), index=False)), domain=domain)
    assert recon.count(release, "multiset").value == 1
    world = recon.reconstruct(release)
    assert world.unique
    assert sorted(map(tuple, world.to_frame(views=True)[frame.columns].to_numpy())) == sorted(
        map(tuple, frame.to_numpy())
    )


def test_items_that_name_attribute_and_value_are_found_in_a_domain(tmp_path):
    frame = pd.DataFrame({"age": ["young", "old", "old", "mid", "old", "young"], "sex": list("FMFMFF")})
    items = pd.get_dummies(frame, prefix_sep="=").astype(int)
    path = written(tmp_path, arules(frequent(items, 1), len(frame)))
    release = recon.load(path, domain=recon.Domain.from_frame(frame, label=None))
    assert violations(release, frame) == []
    assert recon.count(release, "multiset").value == 1
    names = [f.name for f in release.models[0].statements]
    assert not any("age=mid" in name and "age=old" in name for name in names)  # nobody is both: no statement


def test_json_of_pandas_and_rounded_supports(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(3).integers(0, 2, (101, 5)), columns=list("vwxyz"))
    sets = frequent(frame, 8)
    table = pd.DataFrame({"support": [n / len(frame) for n in sets.values()], "itemsets": [sorted(s) for s in sets]})
    for text in (table.to_json(), table.to_json(orient="records"), table.round(6).to_csv()):
        release = recon.load(written(tmp_path, text))
        assert release.rows.low == release.rows.high == len(frame)
        assert violations(release, frame[sorted(frozenset().union(*sets))]) == []


def test_the_number_of_rows_is_the_common_denominator():
    texts = [(repr(k / 7206), "") for k in (11, 40, 41, 900, 3001, 7001)]
    shares = intervals(texts)
    assert rows_of(shares) == 7206
    assert rows_of(shares[:3]) is None  # too few: all may have a common factor
    assert [count_of(s, 7206, "") for s in shares] == [11, 40, 41, 900, 3001, 7001]
    assert rows_of(intervals([(f"{k / 7206:.3f}", "") for k in (11, 40, 41, 900, 3001, 7001)])) is None
    assert rows_of(intervals([(repr(1 / k), "") for k in (9973, 9967, 9949, 9941, 9931, 9929)])) is None  # 10^24 rows


GOOD = "support,itemsets\n0.5,frozenset({'a'})\n0.25,frozenset({'b'})\n"
BAD = {
    "a count that is not a share": (GOOD, ("--rows", "3"), r"line 2.*0\.5 of 3 rows is not a whole number"),
    "no rows": (GOOD, ("--rows", "0"), r"line 2.*0\.5 of 0 rows is not a whole number"),
    "rows that nobody says": (GOOD, (), r"give --rows"),
    "monotonicity": (GOOD + "0.5,\"frozenset({'a', 'b'})\"\n", (),
                     r"line 4.*\{a, b\} has the share 0\.5, \{b\} only 0\.25 \(line 3.*no more rows than a wider"),
    "monotonicity of counts": ("a #SUP: 3\nb #SUP: 4\na b #SUP: 4\n", (),
                               r"line 3.*\{a, b\} counts 4 rows, \{a\} only 3 \(line 1\)"),
    "two supports of one set": (GOOD + "0.75,frozenset({'a'})\n", (), r"line 4.*share 0\.75, but 0\.5 in line 2"),
    "a support above 1": (GOOD + "1.5,frozenset({'c'})\n", (), r"line 4.*\{c\} has the share 1\.5, more than all rows"),
    "no set": ("support,itemsets\n0.5,frozenset({'a'})\n0.5,b\n", ("--rows", "4"), r"line 3.*'b' is not a set of "
        r"items"),
    "no number": (GOOD.replace("0.25", "few"), (), r"line 3.*'few' is not a number"),
    "negative": (GOOD.replace("0.25", "-0.25"), (), r"line 3.*not a number from 0 on"),
    "two columns of one name": (GOOD.replace("support,", "support,support,").replace("0.", "0.5,0."), (),
                                r"line 1.*the column 'support' stands twice"),
    "cells": (GOOD + "0.5\n", (), r"line 4.*has 1 cells, the header 2"),
    "sequences": ("1 -1 2 -1 #SUP: 3\n", (), r"line 1.*sequences"),
    "half a count": ("a #SUP: 2.5\n", (), r"line 1.*'2.5' is not a whole number"),
    "a count that is not its share": ('"items","support","count"\n"{a}",0.5,3\n"{b}",0.5,2\n', (),
                                      r"line 3.*counts 2 rows, its share is 3 of 6"),
    "both sides": ("antecedents,consequents,support\n{'a'},{'a'},0.5\n", (), r"line 2.*on both sides"),
    "json": ('{"items":["a"],"freq":4}\n{"items":["b"],"freq":[1]}\n', (), r"line 2.*not a whole number"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_with_one_sentence(case, tmp_path, capsys):
    text, options, message = BAD[case]
    code, out, err = run(capsys, "count", written(tmp_path, text), *options)
    assert code == 3, out
    lines = err.strip().splitlines()
    assert len(lines) == 1
    assert re.search(message, lines[0]), lines[0]


@pytest.mark.slow
def test_inspect_and_audit_say_that_everything_in_the_file_is_read(tmp_path, capsys):
    frame, _ = drawn(7)
    sets = frequent(frame, 2)
    path = written(tmp_path, mlxtend_csv(sets, len(frame)))
    found = recon.inspect(path)
    assert [one.rule for one in found.findings] == ["published-counts"]
    code, out, _ = run(capsys, "audit", path, "--rows", str(len(frame)), "--json")
    assert code == 0
    assert json.loads(out)["read_from"][0]["counts"] == ["exact"]


def test_items_that_begin_with_an_at_sign_are_items(tmp_path):
    """SPMF's lines of "@alice" were left out, as if they were remarks, and her set was counted as not listed."""
    release = recon.load(written(tmp_path, "@alice #SUP: 3\n\nbob #SUP: 4\n@alice bob #SUP: 2\n"))
    assert [(f.name, f.count) for f in release.models[0].statements] == [
        ("{@alice}", 3), ("{bob}", 4), ("{@alice, bob}", 2)
    ]  # fmt: skip


def test_an_item_is_the_column_of_its_own_name_before_a_value_of_another(tmp_path):
    frame = pd.DataFrame({"town": ["a", "b", "b"], "town=a": [0, 1, 1]})
    path = written(tmp_path, "town=a #SUP: 2\n")
    release = recon.load(path, domain=recon.Domain.from_frame(frame, label=None))
    assert violations(release, frame) == []
    assert violations(release, frame.assign(**{"town=a": [1, 1, 1]}))


def test_lists_beyond_limits_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(itemsets, "MAX_BORDER", 2)
    text = "a #SUP: 3\nb #SUP: 3\nc #SUP: 3\nd #SUP: 3\na b #SUP: 2\n"
    with pytest.raises(recon.ReconError, match="more than 2 sets are not listed although all their parts are"):
        recon.load(written(tmp_path, text))
    monkeypatch.setattr(shares, "MAX_LINES", 1)
    with pytest.raises(recon.ReconError, match="the table has more than 1 lines"):
        recon.load(written(tmp_path, GOOD), rows=4)


def test_a_list_without_all_parts_says_nothing_of_sets_that_are_not_listed(tmp_path):
    text = spmf({frozenset("ab"): 3, frozenset("cd"): 2}, 5)
    release = recon.load(written(tmp_path, text))
    assert [f.name for f in release.models[0].statements] == ["{a, b}", "{c, d}"]
    assert any("nothing is concluded" in note for note in release.reader_notes)


def test_rules_stored_by_pandas_say_what_their_csv_says(tmp_path, capsys):
    """`to_pickle` of mlxtend's tables (tests/corpus/encoders), and frames of other columns."""
    folder = Path(__file__).parent / "corpus" / "encoders"
    frame = pd.read_csv(folder / "items.csv")
    release = recon.load(str(folder / "mlxtend_rules.pkl"), domain=recon.Domain.from_frame(frame, label="ill"))
    assert violations(release, frame) == []
    rules = pd.read_pickle(folder / "mlxtend_rules.pkl")
    rules.to_csv(tmp_path / "rules.csv", index=False)
    by_text = recon.load(str(tmp_path / "rules.csv"), domain=recon.Domain.from_frame(frame, label="ill"))
    assert by_text.models[0].statements == release.models[0].statements
    frame.to_pickle(tmp_path / "rows.pkl")
    code, _, error = run(capsys, "count", str(tmp_path / "rows.pkl"))
    assert code == 3
    assert "a pandas.DataFrame is not read (pickle)" in error


ENCODERS = Path(__file__).parent / "corpus" / "encoders"  # printed by arules 1.7.13, of Spark 4.3 by pandas 3.1


@pytest.mark.parametrize(
    ("file", "sets", "used"),
    [("arules_sets.txt", 34, True), ("arules_rules.txt", 15, True), ("spark_sets.csv", 34, False),
     ("spark_sets.pkl", 34, False)],
)  # fmt: skip
def test_what_arules_prints_and_spark_gives_to_pandas_holds_the_counts_of_its_rows(file, sets, used):
    frame = pd.read_csv(ENCODERS / "items.csv")
    domain = recon.Domain.from_frame(frame, label="ill")
    release = recon.load(str(ENCODERS / file), domain=domain, rows=None if used else len(frame))
    assert violations(release, frame) == []
    assert release.rows.low == release.rows.high == 40
    counted = {f.name: f.count for f in release.models[0].statements if f.count is not None}
    assert len(counted) == sets
    assert counted["{smoker, town_Bonn}"] == int((frame.smoker & frame.town_Bonn).sum())
    assert release.models[0].origin.unused == ()  # measures below the width of the print too


def test_rules_of_spmf_leave_one_data_set(tmp_path, capsys):
    """Written by SPMF 2.59: confidences count the left sides, lifts the rows and the right sides."""
    frame = pd.read_csv(ENCODERS / "items.csv")
    domain = recon.Domain.from_frame(frame, label="ill")
    text = (ENCODERS / "spmf_rules.txt").read_text(encoding="utf-8")
    release = recon.load(str(ENCODERS / "spmf_rules.txt"), domain=domain)
    assert violations(release, frame) == []
    assert release.rows.low == release.rows.high == 40
    assert release.models[0].origin.unused == ()
    assert recon.count(release, "multiset").value == 1
    without = "\n".join(line.partition(" #LIFT")[0] for line in text.splitlines())
    assert not recon.load(written(tmp_path, without), domain=domain).rows.exact  # confidences say nothing of all rows
    release = recon.load(written(tmp_path, without), domain=domain, rows=40)
    assert (violations(release, frame), release.models[0].origin.unused) == ([], ())
    with_wrong = text.replace("#CONF: 0.6 ", "#CONF: 0.61 ", 1)
    code, _, error = run(capsys, "count", written(tmp_path, with_wrong))
    assert code == 3
    assert "line 1, confidence: no whole number of rows has this figure" in error


@pytest.mark.sampled(1)
@pytest.mark.parametrize("digits", [None, 5, 2])
def test_rules_of_spmf_never_exclude_the_truth(digits, tmp_path):
    """All digits of doubles, or few: what they leave open is not used."""
    counted = 0
    for seed in range(12):
        frame, _ = drawn(seed)
        n, sets, lines = len(frame), frequent(frame, 2), []
        for items, both in sets.items():
            for left in (frozenset({one}) for one in items if len(items) > 1):
                a, c = sets[left] / n, sets[items - left] / n
                shown = [
                    repr(x if digits is None else round(x, digits)) for x in (both / sets[left], both / n / (a * c))
                ]
                sides = f"{' '.join(sorted(left))} ==> {' '.join(sorted(items - left))}"
                lines.append(f"{sides} #SUP: {both} #CONF: {shown[0]} #LIFT: {shown[1]}")
        if lines:
            release = recon.load(written(tmp_path, "\n".join(lines)), domain=recon.Domain.from_frame(frame))
            assert violations(release, frame) == []
            assert release.rows.low <= n <= (release.rows.high or n)
            counted += release.rows.exact
    assert counted > 6 or digits is not None


def test_items_that_numpy_prints_without_commas_are_not_put_together(tmp_path):
    text = "items,freq\n[1 2],3\n\"['a, b' \\\"c' 'd\\\"\n 'e']\",2\n".replace('\\"', '""')
    names = [f.name for f in recon.load(written(tmp_path, text)).models[0].statements]
    assert names == ["{1, 2}", "{a, b, c' 'd, e}"]


def test_a_printed_line_with_other_cells_and_shares_of_few_digits_are_named(tmp_path, capsys):
    text = (ENCODERS / "arules_rules.txt").read_text(encoding="utf-8").replace("0.4250000  1.000    1.000000", "1", 1)
    code, _, error = run(capsys, "count", written(tmp_path, text))
    assert code == 3
    assert "line 2" in error
    frame = pd.DataFrame(
        {"support": [k / 40 for k in (4, 5, 9, 11, 17, 23)], "itemsets": [f"{{'{c}'}}" for c in "abcdef"]}
    )
    code, _, error = run(capsys, "count", written(tmp_path, frame.to_csv(index=False)))
    assert "give --rows (unless its shares were rounded, 40 or a multiple)" in error
    code, _, error = run(capsys, "count", written(tmp_path, frame.assign(support=frame.support / 3).round(3).to_csv()))
    assert error.strip().endswith("give --rows")
