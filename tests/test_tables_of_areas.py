"""Tables of areas against brute force written apart, forged certificates, and bad input."""

import copy
import gzip
import itertools
import json
import math
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from math import factorial

import area_cases
import numpy as np
import pandas as pd
import pytest
from area_cases import DOMAIN, TUPLES, A, B, drawn, every_world, table
from synthetic_census import made, written
from typer.testing import CliRunner

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Grid, Test
from recon.cli.app import app
from recon.queries.tables.answering import (
    BETWEEN,
    FOLLOWING,
    SmallAreaGroups,
    _solutions,
    certified,
    count_areas,
    counted_with_proofs,
)
from recon.queries.tables.proofs import KEY, verify_areas
from recon.queries.tables.reading import opened_tables
from recon.queries.tables.tables import Cell, Tables
from recon.queries.tables.variability import TriedNoise, Variability, variability
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.parallel.pieces import completed_with
from solvers.tables import solving, two_way


@pytest.mark.slow
def test_brute_force_over_tiny_areas():
    """Two and three levels, unions of boxes, partly listed: numbers, bounds and verdicts against all data sets."""
    exact = split = 0
    for seed in range(60):
        rng = random.Random(seed)
        areas, smallest, people, cells, listed = drawn(rng)
        if not all(f"{t}" in cells for t in TUPLES):  # else parts may be wider than values: every value in a cell
            cells |= {f"{k}{v}": ([t for t in TUPLES if t[k == "b"] == v], (((k, Test(values=(v,))),),))
                      for k, values in (("a", A), ("b", B)) for v in values}  # fmt: skip
        places, worlds = every_world(areas, smallest, people, cells, listed)
        tables = table(areas, cells, listed)
        found = count_areas(tables)
        low, high = found.multiset
        assert low <= len(worlds) <= high, seed
        sequences = sum(factorial(len(people)) // np.prod([factorial(x) for x in w.tolist()]) for w in worlds)
        assert found.ordered[0] <= sequences <= found.ordered[1], seed
        least = np.min(worlds, axis=0)
        assert found.certain <= least.sum(), seed
        (one,) = _solutions(tables, Limits())
        split += bool(one.live.split.any())
        if found.status == "exact":
            exact += 1
            assert (low, found.ordered[0], found.certain) == (len(worlds), sequences, least.sum()), seed
        profiles = pd.DataFrame(
            [{"area": a, "a": t[0], "b": t[1]} for a, t in places] + [{"area": "t", "a": "x", "b": None}]
        )
        sums = [
            *np.transpose(worlds),
            np.sum([[n for n, (_, t) in zip(w, places, strict=True) if t[0] == "x"] for w in worlds], axis=1),
        ]
        for line, count in zip(certified(tables, profiles).itertuples(), sums, strict=True):
            assert line.min_count <= count.min() <= count.max() <= line.max_count, seed
            told = {"certain": count.min() > 0, "impossible": count.max() == 0,
                    "possible": count.min() == 0 < count.max(), "unknown": True}  # fmt: skip
            assert told[line.verdict], seed
            assert line.verdict != "unknown" or found.areas[0].unique is not True, seed
    assert exact > 30
    assert split > 25


@pytest.mark.parametrize(
    "seeds", [10, pytest.param(30, marks=pytest.mark.slow), pytest.param(110, marks=pytest.mark.long)]
)
def test_widths_and_radii_of_tiny_areas_against_all_pairs_of_data_sets(seeds):
    """By own tables and by all, with tables left out or noisy: bounds hold, are mostly exact, certificates hold."""
    told = Counter()
    for seed in range(seeds):  # `make safety` tries 1,000
        failures, figures = area_cases.tried(seed)
        assert not failures, seed
        told.update(figures)
    for name in ("width", "radius", "noisy", "less"):
        assert told[name] > 0.7 * seeds
        assert told[f"{name} exact"] == told[name]
    assert told["proofs"] > 2.5 * seeds


def test_widths_are_stored_and_a_stopped_run_goes_on(tmp_path):
    tables = Tables([(f"t{k}", c, v) for k in range(5) for c, v in (("all", 2), ("c", k % 3))],
                    [Cell("all", ((),)), *(Cell(n, ((("a", Test(values=("x",))),),), t) for n, t in ("cT", "dU")),
                     *(Cell(f"b{v}", ((("b", Test(values=(v,))),),)) for v in B)], domain=DOMAIN)  # fmt: skip
    whole, store = variability(tables, store=str(tmp_path / "whole")), tmp_path / "store"
    written = (tmp_path / "whole").read_bytes()
    store.write_bytes(written[: written.rfind(b"t2") + 9])  # killed while it wrote
    assert variability(tables, store=str(store)) == whole
    assert store.read_bytes() == written
    assert variability(tables) == whole
    assert whole.summary()["coupled"]["exact"] == 5
    with pytest.raises(ReleaseError, match="other tables or options"):
        variability(tables, without=["T"], store=str(store))
    with pytest.raises(ReleaseError, match="'Q' is the table of no cell"):
        variability(tables, without=["Q"])
    less = variability(tables, without=["T"])
    assert all(a[6] <= b[6] for a, b in zip(whole.lines, less.lines, strict=True))


@pytest.mark.slow
def test_a_run_killed_at_any_moment_ends_with_the_same_file(tmp_path):
    """SIGKILL as soon as the store holds so many bytes, three times; then it goes on: store and table byte for byte."""
    values, _ = made(12, 3, 8, 5)
    path = str(written(tmp_path, values))

    def started(name):
        words = ["variability", path, "--quiet", "--store", str(tmp_path / f"{name}.jsonl")]
        return subprocess.Popen([sys.executable, "-m", "recon", *words, "--out", str(tmp_path / f"{name}.csv")])

    assert started("whole").wait() == 0
    whole, store = (tmp_path / "whole.jsonl").read_bytes(), tmp_path / "killed.jsonl"
    killed = 0
    for share in (0.1, 0.4, 0.8):
        run_again = started("killed")
        while run_again.poll() is None and not (store.exists() and store.stat().st_size > share * len(whole)):
            time.sleep(0.002)
        run_again.kill()
        killed += run_again.wait() == -signal.SIGKILL and store.read_bytes() != whole
    assert started("killed").wait() == 0
    assert store.read_bytes() == whole
    assert (tmp_path / "killed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert killed


@pytest.mark.slow
def test_one_table_more_never_adds_a_data_set():
    for seed in range(60):
        rng = random.Random(1000 + seed)
        areas, _, _, cells, listed = drawn(rng)
        kept = {k: v for k, v in listed.items() if k[1] == "all" or rng.random() < 0.6}
        less, more = count_areas(table(areas, cells, kept)), count_areas(table(areas, cells, listed))
        if less.status == more.status == "exact":
            assert more.multiset[0] <= less.multiset[0]
            assert more.certain >= less.certain
        assert more.multiset[0] <= less.multiset[1]


def test_two_way_tables_against_all_of_them():
    rng = random.Random(0)
    for _ in range(60):
        wanted = [[rng.choice((0, 0, 1, 2)) for _ in range(rng.randint(3, 3))] for _ in range(rng.randint(1, 3))]
        rows, columns = [sum(r) for r in wanted], [sum(c) for c in zip(*wanted, strict=True)]
        every = [
            t for t in itertools.product(*(compositions(r, len(columns)) for r in rows))
            if [sum(c) for c in zip(*t, strict=True)] == columns
        ]  # fmt: skip
        assert two_way.number(rows, columns) == len(every) <= two_way.table_count_bound(rows, columns)
        assert np.array_equal(two_way.least_entries(np.array(rows), np.array(columns)), np.min(every, axis=0))


def compositions(total, parts):
    if parts == 1:
        return [(total,)]
    return [(k, *rest) for k in range(total + 1) for rest in compositions(total - k, parts - 1)]


SMALL = {
    "recon": 1,
    "domain": {"attributes": [{"name": "a", "values": ["x", "y"]}, {"name": "b", "values": [1, 2, 3]}]},
    "models": [{
        "kind": "tables",
        "cells": [
            {"name": "all", "table": "N", "where": {}},
            {"name": "x", "table": "A", "where": {"a": "x"}},
            {"name": "y", "table": "A", "where": {"a": "y"}},
            {"name": "ends", "table": "B", "any": [{"b": 1}, {"b": 3}]},
            {"name": "one", "table": "B", "where": {"b": 1}},
            {"name": "x1", "table": "B", "where": {"a": "x", "b": 1}},
        ],
        "areas": [{"name": "town"}, {"name": "street", "parent": "town"}, {"name": "lane", "parent": "town"}],
        "values": [["street", "all", 2], ["street", "x", 2], ["street", "ends", 2], ["street", "one", 1],
                   ["lane", "all", 1], ["street", "y", 0], ["town", "x", 2], ["town", "one", 2]],
    }],
}  # fmt: skip


def small_tables():
    """Return SMALL as it is given in Python."""
    model = SMALL["models"][0]
    cells = [Cell(c["name"], tuple(conditions(c)), c["table"]) for c in model["cells"]]
    return Tables(model["values"], cells, {"town": None, "street": "town", "lane": "town"}, domain=DOMAIN)


def run(tmp_path, release, *options, command="count"):
    path = tmp_path / "tables.json"
    path.write_text(json.dumps(release))
    return CliRunner().invoke(app, [command, *options[:1], str(path), *options[1:]] if command == "verify" else
                              [command, str(path), *options])  # fmt: skip


def test_commands_answer_and_forged_certificates_are_refused(tmp_path):
    result = run(tmp_path, SMALL, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (found["people"], found["people_certain"], found["multiset"]["value"]) == ([3, 3], 3, "1")
    out = tmp_path / "out.json"
    out.write_text(result.stdout)
    assert run(tmp_path, SMALL, str(out), command="verify").exit_code == 0
    tables = small_tables()
    _, proofs = counted_with_proofs(tables, Limits())
    good = proofs["town"]
    assert [c.error for c in verify_areas(good, tables, Limits())] == [""]
    forged = [{"people": 4}, {"cells": 1}, {"area": "street"}, {"steps": good["steps"][:-4]}, {KEY: True}, {"more": 1},
              {"claim": "nobody is safe"}, {"steps": "AAAA"}, {"steps": 3}, {"release": ["0"]}]  # fmt: skip
    for change in forged:
        assert verify_areas(copy.deepcopy(good) | change, tables, Limits())[0].error, change
    with_less = run(tmp_path, SMALL | {"about": "another file"}, str(out), command="verify")
    assert with_less.exit_code == 1
    assert "another release" in with_less.stdout
    people = tmp_path / "people.csv"
    people.write_text("area,a,b\nlane,y,1\nstreet,x,2\nstreet,x,\n,y,1\n")
    verdicts = run(tmp_path, SMALL, "--profiles", str(people), "--json", command="certify")
    assert [line["verdict"] for line in json.loads(verdicts.stdout)] == ["certain", "impossible", "certain", "certain"]
    assert "3 of 3 people are reconstructed" in run(tmp_path, SMALL, command="audit").stdout


def conditions(cell):
    for one in cell.get("any", [cell.get("where")]):
        yield tuple((name, Test(values=(value,))) for name, value in one.items())


def test_every_missing_step_is_seen():
    """Steps that are left out, or are no statements, prove nothing."""
    from recon.queries.tables.proofs import replayed
    from solvers.tables.solving import steps_for

    tables = small_tables()
    (one,) = _solutions(tables, Limits())
    steps = steps_for(one.live)
    assert np.array_equal(replayed(one.live, steps), one.low)
    for wrong in ([], steps[:-1], [len(one.live.rows)], [-1]):
        with pytest.raises(Exception, match=r"statement|fixed"):
            replayed(one.live, wrong)


OPEN = copy.deepcopy(SMALL)
OPEN["models"][0] |= {
    "values": [["street", "all", 4], ["street", "x", 2], ["street", "one", 2], ["lane", "all", 2], ["lane", "x", 1],
               ["lane", "one", 1], ["town", "x1", 1]],
    "schema": {"both": ["a", "b:2"]},
}  # fmt: skip
CHANGES = [{"distance": [0, 2]}, {"distance": [10, 10]}, {"distance": [True, 4]}, {"people": 3}, {"area": "lane"},
           {"area": "town"}, {"top": "street"}, {"tables": "any"}, {"schema": ["a"]}, {"without": ["N"]}, {"more": 1},
           {"release": ["0"]}, {"x": "AAAA"}, {"x": ""}, {"rows": "eJxj"}, {"rows": 3}]  # fmt: skip


@pytest.mark.slow
def test_certificates_of_widths_are_verified_and_forged_ones_refused(tmp_path):
    """By own tables the street's people may be swapped; the town's own count of x1 leaves less. All by commands."""
    result = run(tmp_path, OPEN, "--schema", "both", "--proofs", "--json", command="variability")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    street = next(line for line in found["areas"] if line["area"] == "street")
    assert (street["alone_low"], street["alone_high"]) == (100, 100)
    assert (street["coupled_low"], street["coupled_high"]) == (50, 50)
    out = tmp_path / "out.json"
    out.write_text(result.stdout)
    told = run(tmp_path, OPEN, str(out), command="verify")
    assert told.exit_code == 0
    assert "4 of 4 certificates verified" in told.stdout
    good = [c for c in found["certificates"] if c["area"] == "street"]
    for one in good:
        alone = one["tables"] == "own"
        assert one["distance"] == ([8, 8] if alone else [4, 4])
        for change in CHANGES:
            out.write_text(json.dumps(one | change))
            assert run(tmp_path, OPEN, str(out), command="verify").exit_code == 1, change
    own = max(good, key=lambda c: c["distance"])
    out.write_text(json.dumps(own | {"tables": "all"}))  # its data sets do not fit the town's count
    assert run(tmp_path, OPEN, str(out), command="verify").exit_code == 1


def test_variability_prints_per_area_and_refuses_what_it_cannot_answer(tmp_path):
    people = tmp_path / "people.csv"
    rows = ["street,x,1", "street,x,2", "street,y,1", "street,y,3", "lane,y,1", "lane,x,3"]
    people.write_text("\n".join(["area,a,b", *rows]))
    asked = ["--schema", "a", "--around", str(people), "--relaxed", "--by", "area", "--without", "B"]
    told = run(tmp_path, OPEN, *asked, command="variability").stdout
    assert "radius, relaxed" in told
    assert "without them, in" in told
    assert [line.split()[0] for line in told.splitlines() if " % " in line and "street" in line] == ["street", "street"]
    parquet = tmp_path / "widths.parquet"
    assert run(tmp_path, OPEN, "--around", "found", "--out", str(parquet), command="variability").exit_code == 0
    assert (pd.read_parquet(parquet).radius_high > 0).all()
    for wrong, text in (
        ("c", "'c' is neither an attribute nor a declared name"),
        ("b:9", "not a value|outside"),
        ("a:z", "no value|not a value"),
        ("", "attribute"),
    ):
        with pytest.raises(ReleaseError, match=text):
            variability(small_tables(), schema=[x for x in [wrong] if x])
    frame = pd.read_csv(people)
    for change, text in (({"area": "town"}, "not a smallest area"), ({"a": "z"}, "not a value"), ({"b": 2}, "agree")):
        with pytest.raises(ReleaseError, match=text):
            variability(opened(tmp_path), around=frame.assign(**change))
    with pytest.raises(ReleaseError, match="no column 'b'"):
        variability(opened(tmp_path), around=frame.drop(columns="b"))
    with pytest.raises(Unsupported, match="do not distinguish all values of b"):
        variability(opened(tmp_path), schema=["b:3"])


def test_summaries_of_widths_by_numpy():
    """Percentiles over areas and over people, areas and people at 0, sizes, and the bars of the picture."""
    rng = np.random.default_rng(0)
    people, high = rng.integers(1, 1_500, 300), rng.choice([0, 0, 2.5, 10, 33.3333, 80], 300)
    lines = [("t", f"t:{i}", n, h / 2, h, h / 2, h, True) for i, (n, h) in enumerate(zip(people.tolist(), high.tolist(),
                                                                                         strict=True))]  # fmt: skip
    found = Variability(lines, (), ())
    told = found.summary()["coupled"]
    for name, values in (("areas", high), ("people", np.repeat(high, people))):
        for share, value in told[f"percentiles_of_{name}"].items():
            assert value == np.quantile(values, int(share) / 100, method="inverted_cdf"), (name, share)
    assert (told["zero"], told["people_zero"]) == ((high == 0).sum(), people[high == 0].sum())
    assert told["exact"] == (high == 0).sum()
    assert told["people_may_differ"] == pytest.approx((people * high).sum() / 100, abs=0.01)
    sizes = [(people >= s["people_least"]) & (people < (s["people_below"] or 9_999)) for s in told["by_size"]]
    assert [(s["areas"], s["zero"]) for s in told["by_size"]] == [(m.sum(), (m & (high == 0)).sum()) for m in sizes]
    pytest.importorskip("matplotlib").use("svg")
    heights = [bar.get_height() for bar in found.plot().patches]
    assert heights == pytest.approx([100 * (high[m] == 0).mean() for m in sizes if m.any()])


def test_noise_that_leaves_too_much_open_is_refused(monkeypatch):
    """Without zeros every combination of every area stays: refused at once, not after hours."""
    monkeypatch.setattr(solving, "MAX_WITHIN", 11)
    with pytest.raises(TooLarge, match="12 counts of area 'town'"):
        variability(small_tables(), noise=TriedNoise.parse("laplace:1"))


@pytest.mark.slow
def test_noise_and_suppression_in_one_command(tmp_path):
    """With noise on a table areas are at least as open as with its counts, at most as without it."""
    asked = ["--without", "B", "--noise", "discrete_gaussian:1/2", "--seed", "3", "--schema", "both"]
    found = json.loads(run(tmp_path, OPEN, *asked, "--json", command="variability").stdout)
    three = [
        {a["area"]: a["coupled_high"] for a in found[key]} for key in ("areas", "areas_with_noise", "areas_without")
    ]
    for area, exact in three[0].items():
        assert exact <= three[1][area] <= three[2][area] == 100
    assert three[0]["street"] == 50
    again = json.loads(run(tmp_path, OPEN, *asked, "--json", command="variability").stdout)
    assert again == found
    text = run(tmp_path, OPEN, *asked, "--alone", command="variability").stdout
    assert "with noise, in" in text
    assert "width, all tables" not in text
    every = run(tmp_path, OPEN, "--noise", "discrete_gaussian:1", "--json", command="variability")
    assert max(a["coupled_high"] for a in json.loads(every.stdout)["areas_with_noise"]) > 100  # people are open, too
    for wrong, words in (("gauss:1", "unknown noise law"), ("laplace", "no noise"), ("laplace:1:2:3", "no noise"),
                         ("laplace:0", "positive"), ("laplace:x", "no noise")):  # fmt: skip
        with pytest.raises(ReleaseError, match=words):
            raise run(tmp_path, OPEN, "--noise", wrong, command="variability").exception
    with pytest.raises(Unsupported, match="noise is tried"):
        variability(opened(tmp_path), noise=TriedNoise.parse("laplace:1"), relaxed=True)


DIFFERENCE = copy.deepcopy(SMALL)
DIFFERENCE["models"][0]["values"] = [["town", "all", 50], ["town", "x", 20], ["street", "all", 30], ["street", "x", 19],
                                     ["lane", "all", 20], ["town", "one", 25]]  # fmt: skip


def test_audit_holds_areas_to_a_policy(tmp_path):
    """One person of the lane follows from the counts of town and street; large cells that leave much open are met."""
    policy = tmp_path / "policy.toml"
    policy.write_text('name = "five"\nsmallest_group = 5\nmost_pinned = 0\nkinds_of_counts = ["exact"]\n')
    found = run(tmp_path, DIFFERENCE, "--policy", str(policy), "--json", command="audit")
    told = json.loads(found.stdout)
    assert found.exit_code == 1
    assert told["small_groups"]["listed"] == [{"people": 1, "group": "town: x", "how": "by differencing between areas"}]
    assert told["assessment"]["verdict"] == "do not release"
    assert [c["outcome"] for c in told["assessment"]["checks"]] == ["violated", "inconclusive", "met"]
    large = copy.deepcopy(DIFFERENCE)
    large["models"][0]["values"][3][2] = 12
    text = run(tmp_path, large, "--policy", str(policy), command="audit")
    assert text.exit_code == 4
    assert "met: The smallest group" in text.stdout
    assert text.stdout.split("\n")[2] == "Reconstructed"
    page = tmp_path / "page.html"
    assert run(tmp_path, large, "--out", str(page), "--policy", str(policy), command="audit").exit_code == 4
    assert ">Reconstructed</h2>" in page.read_text()
    assert "no area where nothing is protected" in page.read_text()


@pytest.mark.parametrize("seed", range(12))
def test_small_groups_are_right_in_every_data_set(seed):
    """Whatever is listed has so many people in all of them; "none below" holds in one of them."""
    rng = random.Random(500 + seed)
    areas, smallest, people, cells, listed = drawn(rng)
    tables = table(areas, cells, listed)
    places, worlds = every_world(areas, smallest, people, cells, listed)
    small = SmallAreaGroups(3)
    counted_with_proofs(tables, Limits(), small)
    for n, name, how in small.smallest:
        area, cell = name.split(": ")
        inner = [area_cases.within(a, area, areas) for a, _ in places]
        if how == FOLLOWING:
            assert min(sum(w[inner]) for w in np.array(worlds)) >= 1
            continue
        if how == BETWEEN:
            parts = [a for a, up in areas.items() if up == area and (a, cell) in listed]
            inner = [i and not any(area_cases.within(a, p, areas) for p in parts)
                     for i, (a, _) in zip(inner, places, strict=True)]  # fmt: skip
        held = np.array([i and t in cells[cell][0] for i, (_, t) in zip(inner, places, strict=True)])
        assert {int(w[held].sum()) for w in np.array(worlds)} == {n}
    assert small.none_below is not None
    assert any(min(w[w > 0], default=9) >= small.none_below for w in np.array(worlds))


def opened(tmp_path):
    return opened_tables([str(tmp_path / "tables.json")])


BAD = [
    ({"values": [["street", "all", 2], ["lane", "all", 1], ["street", "x", 3]]}, 5, "contradict"),
    ({"values": [["street", "all", 2], ["lane", "all", 1], ["town", "all", 4]]}, 5, "contradict"),
    ({"values": [["street", "all", 2], ["street", "all", 3]]}, 5, "twice"),
    ({"values": [["street", "all", 2], ["nowhere", "all", 1]]}, 3, "nowhere"),
    ({"values": [["street", "every", 2]]}, 3, "'every' is not a published cell"),
    ({"values": [["street", "all", -1]]}, 3, "negative"),
    ({"values": [["street", "all", 1.5]]}, 3, "not a whole number"),
    ({"values": []}, 3, "no count"),
    ({"areas": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}], "values": [["a", "all", 1]]}, 3, "circle"),
    (
        {"areas": [{"name": "a"}, {"name": "b"}, {"name": "c", "parent": "a"}, {"name": "c", "parent": "b"}]},
        3,
        "lies in",
    ),
    ({"areas": [{"name": "a", "parent": "q"}], "values": [["a", "all", 1]]}, 3, "which is not an area"),
    ({"complete": ["Q"]}, 3, "'Q' is the table of no cell"),
    ({"values": {"file": "../elsewhere.csv"}}, 3, "not a name of a file beside"),
    ({"values": {"file": "none.csv"}}, 3, "cannot be read"),
    ({"values": [["street", "x", 1]]}, 4, "no published count bounds"),
    ({"cells": [{"name": "all"}]}, 3, "give one of 'where'"),
    ({"schema": {"both": "a"}}, 3, "schema"),
    ({"noise": {"law": "laplace", "scale": 1}}, 3, "no such key"),
]


@pytest.mark.parametrize(("change", "code", "text"), BAD, ids=lambda x: str(x)[:40])
def test_bad_input_is_one_sentence(tmp_path, change, code, text):
    release = copy.deepcopy(SMALL)
    release["models"][0] |= change
    result = run(tmp_path, release)
    assert result.exit_code == code or isinstance(result.exception, (ReleaseError, ContradictionError, Inconclusive))
    assert text in f"{result.exception} {getattr(result.exception, 'conflict', '')}"


DEFINED, HEAD = "cell,table,a,b\nall,N,,\nx,A,x,\n", "area,cell,value\n"
LINES = "".join(f"t{k},all,3\n" for k in range(2_000))
BAD_FILES = [  # definitions, name and bytes of the counts, what is said
    (DEFINED, "v.csv", HEAD + "t,all,3\nt,x", "v.csv: line 3: 2 fields, but the header has 3"),
    (DEFINED, "v.csv", HEAD + 't,all,3\n"t,x,1\n', "v.csv: .* is not a table: unexpected end of data"),
    (DEFINED, "v.csv", HEAD + "t,all,3\nt,x,(D)\n", r"v.csv: line 3: '\(D\)' is not a count: leave out what"),
    (DEFINED, "v.csv", HEAD + "t,all,3\nt,x,1.5\n", "v.csv: line 3: '1.5' is not a whole number of people"),
    (DEFINED, "v.csv", HEAD + "t,all,3\nt,x,-1\n", "v.csv: line 3: '-1' is negative"),
    (DEFINED, "v.csv", HEAD + "t,all,3\nt,z,1\n", "v.csv: line 3: 'z' is not a published cell"),
    (DEFINED, "v.csv", HEAD + ",all,3\n", "v.csv: line 2: '3' has no area or cell beside it"),
    (DEFINED, "v.csv", HEAD + f"t,all,{10**20}\n", "v.csv: line 2: '1000.*' is more people than there are"),
    (DEFINED, "v.csv", "area,cell\nt,all\n", "v.csv: .* the counts have no column 'value'"),
    (DEFINED, "v.csv", "area,cell,value,note\nt,all,3,a\n", "v.csv: .* the column 'note' is not used, and may say"),
    (DEFINED, "v.csv", "", "v.csv: .* the file is empty"),
    (DEFINED, "v.csv", b"area,cell,value\n\xdf,all,3\n", "v.csv: .* is text, but not in UTF-8"),
    (DEFINED, "v.csv.gz", gzip.compress((HEAD + LINES).encode(), mtime=0)[:-9], "v.csv.gz: .* is cut off"),
    (DEFINED, "v.csv.gz", gzip.compress((HEAD + LINES).encode(), mtime=0)[:4_000], "v.csv.gz: .* is cut off"),
    (DEFINED, "v.parquet", b"PAR1 and no more", "v.parquet: .* is not a table"),
    (DEFINED + "x,B,,1\n", "v.csv", HEAD + "t,all,3\n", "the cell 'x' is defined twice, differently"),
    (DEFINED + "z,B,q,\n", "v.csv", HEAD + "t,all,3\n", "r.json: cell 'z': 'q' is not a value of attribute 'a'"),
    ("cell,start_b,end_b\nall,,\nz,3,1\n", "v.csv", HEAD + "t,all,3\n", "cells.csv: line 3: '3' to '1' counts nobody"),
]


@pytest.mark.parametrize(("cells", "name", "counts", "text"), BAD_FILES, ids=[x[3][:40] for x in BAD_FILES])
def test_a_bad_file_is_one_sentence(tmp_path, cells, name, counts, text):
    with pytest.raises(ReleaseError, match=text):
        assert len(of_files(tmp_path, cells, name, counts).system.names)


def of_files(tmp_path, cells, name, counts):
    (tmp_path / "cells.csv").write_text(cells)
    (tmp_path / name).write_bytes(counts if isinstance(counts, bytes) else counts.encode())
    model = {"kind": "tables", "cells": {"file": "cells.csv"}, "values": {"file": name}}
    (tmp_path / "r.json").write_text(json.dumps({"recon": 1, "domain": SMALL["domain"], "models": [model]}))
    return opened_tables([str(tmp_path / "r.json")])


def test_a_last_line_that_does_not_end_is_an_assumption(tmp_path):
    """It may be cut off within its number."""
    for counts, told in ((HEAD + "t,all,12\nt,x,1", True), (HEAD + "t,all,12\nt,x,1\n", False)):
        said = count_areas(of_files(tmp_path, DEFINED, "v.csv", counts)).assumptions
        assert ("v.csv is whole, though its last line does not end" in said) is told


def test_products_over_the_same_people_are_joined(tmp_path):
    """Two files with some tables each say what one with all does; what does not fit together is refused by file."""
    model, paths = SMALL["models"][0], [str(tmp_path / f"{name}.json") for name in "ab"]
    table_of = {c["name"]: c["table"] for c in model["cells"]}
    parts = []
    for path, tables in zip(paths, (("N", "A"), ("N", "B")), strict=True):
        own = model | {"cells": [c for c in model["cells"] if c["table"] in tables],
                       "values": [v for v in model["values"] if table_of[v[1]] in tables]}  # fmt: skip
        parts.append(SMALL | {"models": [own]})
        (tmp_path / path).write_text(json.dumps(parts[-1]))
    together = opened_tables(paths)
    assert count_areas(together) == count_areas(small_tables())
    assert [c.name for c in together.cells] == ["all", "x", "y", "ends", "one", "x1"]
    assert together.counts.number == len(model["values"])
    other = copy.deepcopy(parts[1])
    other["models"][0]["cells"][0]["where"] = {"a": "x"}
    wider = copy.deepcopy(parts[1])
    wider["domain"]["attributes"][0]["values"].append("z")
    twice = copy.deepcopy(parts[1])
    twice["models"][0]["areas"][2]["parent"] = "street"
    for changed, text in ((other, "'all' is defined twice"), (wider, "its domain is another one"),
                          (twice, "'lane' lies in 'town' and in 'street'")):  # fmt: skip
        (tmp_path / paths[1]).write_text(json.dumps(changed))
        with pytest.raises(ReleaseError, match=rf"b.json: .*{text}"):
            opened_tables(paths)


def test_areas_that_time_leaves_out_are_named(tmp_path):
    for command, key in (("count", "not_solved"), ("variability", "all_tables")):
        found = run(tmp_path, SMALL, "--time", "0", "--json", command=command)
        told = json.loads(found.stdout)
        assert found.exit_code == 4
        assert told["status"] == "unknown"
        assert told[key] == ["town"] if command == "count" else told[key]["not_solved"] == 1
        assert "NOT SOLVED" in run(tmp_path, SMALL, "--time", "0", command=command).stdout


@pytest.mark.slow
def test_workers_say_the_same(tmp_path, monkeypatch):
    """Two processes, begun at once: the same lines and the same store as one."""
    path = written(tmp_path, made(6, 3, 8, 5)[0])
    here = variability(opened_tables([str(path)]), store=str(tmp_path / "one"))
    monkeypatch.setattr("recon.queries.tables.variability.completed_with",
                        lambda *given, **more: completed_with(*given, **more | {"alone": 0.0}))  # fmt: skip
    there = variability(opened_tables([str(path)]), store=str(tmp_path / "two"), limits=Limits(workers=2))
    assert there == here
    lines = [(tmp_path / name).read_text().splitlines() for name in ("one", "two")]
    assert sorted(lines[0]) == sorted(lines[1])


def test_contradiction_names_an_irreducible_set():
    """Leaving any of the counts named out, the others agree; a count that has nothing to do with it is not named."""
    listed = {"t:1: all": 3, "t:1: x1": 2, "t:1: x2": 1, "t:1: y": 1, "t:1: b1": 2, "t:2: all": 2, "t:2: b1": 1,
              "t: all": 5}  # fmt: skip
    boxes = {"all": {}, "y": {"a": "y"}, "b1": {"b": 1}, "x1": {"a": "x", "b": 1}, "x2": {"a": "x", "b": 2}}
    cells = [Cell(n, (tuple((k, Test(values=(v,))) for k, v in box.items()),)) for n, box in boxes.items()]

    def answer(left_out):
        values = [(*name.split(": "), n) for name, n in listed.items() if name != left_out]
        return count_areas(Tables(values, cells, domain=DOMAIN))

    with pytest.raises(ContradictionError) as caught:
        answer("")
    named = {line.split(" = ")[0] for line in caught.value.conflict}
    assert named == {"t:1: all", "t:1: x1", "t:1: x2", "t:1: y"}
    for name in named - {"t:1: all"}:  # which bounds the others
        low, high = answer(name).people
        assert low <= 5 <= high


def test_area_that_its_zeros_empty_contradicts_its_count(tmp_path):
    """Nobody is left for the street, whatever the lane has; the zeros that empty it are named, and no others."""
    release = copy.deepcopy(SMALL)
    zeros = [["street", name, 0] for name in ("x", "y", "one")]
    release["models"][0]["values"] = [["street", "all", 2], *zeros, ["lane", "all", 1]]
    for command in ("count", "variability"):
        found = run(tmp_path, release, command=command).exception
        assert isinstance(found, ContradictionError)
        assert found.conflict == ("street: all (N) = 2", "street: x (A) = 0", "street: y (A) = 0")
    with pytest.raises(ReleaseError, match="no table is left"):
        small_tables().without(["N", "A", "B"])


def test_tables_are_ordered_by_what_they_give_away(tmp_path):
    """Each step leaves out the table that leaves most people certain, by all data sets of the tables that are left."""
    told = json.loads(run(tmp_path, SMALL, "--order", "--json", command="variability").stdout)
    model = SMALL["models"][0]
    areas = {a["name"]: a.get("parent") for a in model["areas"]}
    held = {c["name"]: [t for t in TUPLES if any(meets(t, box) for box in c.get("any", [c.get("where")]))]
            for c in model["cells"]}  # fmt: skip
    table_of = {c["name"]: c["table"] for c in model["cells"]}

    def certain(left_out):
        listed = {(a, c): v for a, c, v in model["values"] if table_of[c] not in left_out}
        if "N" in left_out:  # nothing bounds how many people there are
            return 0
        _, worlds = every_world(areas, ["street", "lane"], range(3), {c: (t, ()) for c, t in held.items()}, listed)
        return int(np.min(worlds, axis=0).sum())

    assert told["status"] == "exact"
    left, out = ["N", "A", "B"], []
    for step in told["tables"]:
        best = max(certain([*out, name]) for name in left)
        assert step["certain_with"] == certain(out)
        assert step["certain_without"] == certain([*out, step["table"]]) == best
        out.append(step["table"])
        left.remove(step["table"])
    assert len(out) == 2
    assert "->" in run(tmp_path, SMALL, "--order", command="variability").stdout


@pytest.mark.parametrize(("options", "words"), [
    (("--order", "--out", "o.csv"), "--out about widths"), (("--order", "--around", "found"), "--around about widths"),
    (("--proofs",), "give --json, too"),
])  # fmt: skip
def test_options_that_would_be_left_out_are_refused(options, words, tmp_path):
    found = run(tmp_path, SMALL, *options, command="variability")
    assert found.exit_code == 2
    assert words in " ".join(found.output.split())


def test_an_order_of_tables_without_names_is_refused(tmp_path):
    nameless = copy.deepcopy(SMALL)
    for cell in nameless["models"][0]["cells"]:
        cell.pop("table")
    with pytest.raises(ReleaseError, match="fewer than two tables are named"):
        raise run(tmp_path, nameless, "--order", command="variability").exception


def meets(person, box):
    return all(person["ab".index(k)] == v for k, v in box.items())


def test_files_beside_definitions_and_a_file_cut_off(tmp_path):
    (tmp_path / "cells.csv").write_text(
        "cell,table,level,r,s,two,sex,start_age,end_age\nall,P,,,,,,0,9\nmany,P,,,,two,,0,9\nr,P,,Y,N,,,0,9\n"
        "m,P,,,,,m,0,9\nf,P,,,,,f,0,9\nyoung,P,,,,,,0,4\n"
    )
    values = b"area,cell,value\nz:1,all,2\nz:1,many,2\nz:1,m,1\nz:1,f,1\nz:1,young,2\n"
    with gzip.open(tmp_path / "values.csv.gz", "wb") as file:
        file.write(values)
    tables = Tables(tmp_path / "values.csv.gz", tmp_path / "cells.csv", complete=True)
    assert [n.name for n in tables.domain.attributes] == ["r", "s", "sex", "age"]
    assert count_areas(tables).certain == 2
    cut = (tmp_path / "values.csv.gz").read_bytes()
    (tmp_path / "values.csv.gz").write_bytes(cut[:-12])
    with pytest.raises(ReleaseError, match="cut off"):
        Tables(tmp_path / "values.csv.gz", tmp_path / "cells.csv")


def test_cells_that_overlap_where_declared_disjoint_are_refused(tmp_path):
    data = copy.deepcopy(SMALL)
    data["models"][0]["disjoint"] = ["A"]
    said = str(run(tmp_path, data).exception)
    assert "'x' and 'y'" not in said
    data["models"][0]["disjoint"] = ["B"]
    said = str(run(tmp_path, data).exception)
    assert "the cells 'ends' and 'one' of table 'B', declared disjoint, count some people twice" in said
    assert str(tmp_path) in said
    data["models"][0]["disjoint"] = ["Q"]
    assert "models[0].disjoint: 'Q' is the table of no cell" in str(run(tmp_path, data).exception)


def test_other_commands_and_options_say_who_answers(tmp_path):
    result = run(tmp_path, SMALL, command="worlds")
    assert "recon count" in str(result.exception)
    assert run(tmp_path, SMALL, "--learner", "optimal").exit_code == 2


@pytest.mark.slow
def test_counts_on_disk_say_the_same(tmp_path, monkeypatch):
    """Counts that are too many for memory, in any order: the same areas, answers, people around and tables left out."""
    rng = random.Random(5)
    cells = [Cell("all", ((),)), Cell("x", ((("a", Test(values=("x",))),),), "T"),
             *(Cell(f"b{v}", ((("b", Test(values=(v,))),),)) for v in B)]  # fmt: skip
    counts, people = [], []
    for k in range(12):
        for leaf in range(rng.randint(1, 3)):
            mine = [rng.choice(TUPLES) for _ in range(rng.randint(1, 4))]
            name = f"t{k}:{leaf}"
            people += [{"area": name, "a": t[0], "b": t[1]} for t in mine]
            told = [len(mine), sum(t[0] == "x" for t in mine), *(sum(t[1] == v for t in mine) for v in B)]
            counts += [(name, cell.name, n) for cell, n in zip(cells, told, strict=True)]
        counts.append((f"t{k}", "all", sum(p["area"].startswith(f"t{k}:") for p in people)))
    rng.shuffle(counts)
    held = Tables(counts, cells, domain=DOMAIN)
    monkeypatch.setattr("recon.queries.tables.counts.MAX_HELD", 20)
    monkeypatch.setattr("recon.queries.tables.counts.PIECE", 15)
    monkeypatch.setattr("recon.queries.tables.kept.MAX_LINES", 10)
    monkeypatch.setattr("recon.queries.tables.variability.MAX_LINES", 10)
    monkeypatch.setattr("recon.queries.tables.answering.MAX_LINES", 10)
    frame, everybody = pd.DataFrame(counts, columns=["area", "cell", "value"]), pd.DataFrame(people)
    frame.to_csv(tmp_path / "counts.csv", index=False)
    frame.to_parquet(tmp_path / "counts.parquet", index=False)
    for file in ("counts.csv", "counts.parquet"):
        told = Tables(str(tmp_path / file), cells, domain=DOMAIN)
        assert told.counts.files
        assert not held.counts.files
        assert sorted(told.top_names) == sorted(held.top_names)
        assert all(told.top_names[told.top_names.index(name)] == name for name in held.top_names)
        assert "t1:0" not in told.top_names
        for asked in ({}, {"around": everybody}, {"without": ["T"], "count": True}):
            one, two = (variability(t, **asked) for t in (held, told))
            assert sorted(one.lines) == sorted(two.lines)
            assert len(two.lines) == len(one.lines)
            assert two.lines[3] == list(two.lines)[3]
            assert one.summary() == two.summary()
            assert sum(map(len, two.frames())) == len(two.lines)
        first, second = count_areas(held), count_areas(told)
        assert (first.people, first.certain, first.multiset) == (second.people, second.certain, second.multiset)
        assert first.ordered == second.ordered
        assert second.sequences.log2[0] == pytest.approx(np.log2(float(first.ordered[0])))
        assert sorted(first.areas, key=str) == sorted(second.areas, key=str)
        chosen = everybody.iloc[:5]
        assert certified(held, chosen).equals(certified(told, chosen))
        assert held.without(["T"]).counts.number == told.without(["T"]).counts.number
        with pytest.raises(ReleaseError, match="is not a smallest area"):
            variability(told, around=everybody.assign(area="t1"))
    with pytest.raises(ContradictionError, match="given twice"):
        Tables([*counts, ("t0", "all", 99)], cells, domain=DOMAIN)


@pytest.mark.parametrize("people", [1_000_000, 1_000_000_000])
def test_numbers_of_many_people_are_bounded_by_work(people):
    """A file of 300 bytes with a large count ran for minutes, or took gigabytes: long numbers stay logarithms."""
    values, women, young = [("t", "all", people), ("t", "women", people // 4)], people // 4, people // 5
    cells = pd.DataFrame({"cell": ["all", "women", "young"], "sex": ["", "F", ""], "age": ["", "", "y"]})
    domain = Domain((Categorical("sex", ("F", "M")), Categorical("age", ("y", "o"))), None, {}, (), "declared")
    one = count_areas(Tables(values, cells.iloc[:2, :2], domain=domain))
    assert one.multiset == (1, 1)
    assert one.sequences.exact
    expected = (math.lgamma(people + 1) - math.lgamma(women + 1) - math.lgamma(people - women + 1)) / math.log(2)
    assert one.sequences.log2[0] == pytest.approx(expected, rel=1e-9)
    assert (one.ordered is None) == (people > 10**8)
    several = count_areas(Tables([*values, ("t", "young", young)], cells, domain=domain)).multisets
    assert several.whole == ((young + 1,) * 2 if people < 10**8 else several.whole)
    assert several.log2[0] <= math.log2(young + 1) <= several.log2[1] + 1e-9


def test_profiles_name_values_that_no_cell_tells_apart():
    """A value inside of what the cells count together: nobody certainly has it, as many may as are counted."""
    domain = Domain((Categorical("sex", ("F", "M")), Grid.between("age", 0, 9)), None, {}, (), "declared")
    cells = pd.DataFrame({"cell": ["all", "young"], "sex": ["", ""], "start_age": ["", "0"], "end_age": ["", "4"]})
    tables = Tables([("t", "all", 5), ("t", "young", 3)], cells, domain=domain)
    asked = pd.DataFrame({"age": [3, 4, 7, None], "sex": [None, "F", None, "M"]})
    asked["age"] = asked["age"].astype("Int64")
    found = certified(tables, asked)
    assert found["verdict"].tolist() == ["possible"] * 4
    assert list(zip(found["min_count"], found["max_count"], strict=True)) == [(0, 3), (0, 3), (0, 2), (0, 5)]


@pytest.mark.parametrize("value", [10**19, 10**400, "1e400", 1e300])
def test_counts_beyond_64_bits_are_refused(value):
    """In a sentence, not by an overflow."""
    with pytest.raises(ReleaseError, match="is more people than there are"):
        table({"t": None}, {"all": (TUPLES, ((),))}, {("t", "all"): value})


def test_a_count_of_few_or_many_choices_is_counted_as_it_is_listed():
    import numpy as np
    import scipy.sparse as sp

    from solvers.tables.counting import FEW_CHOICES, listed_solutions, number

    rng, met = np.random.default_rng(5), 0
    for most in (1, 3, FEW_CHOICES, FEW_CHOICES + 4) * 12:
        some = rng.random((3, 6)) < 0.6
        matrix = sp.csr_matrix((some | (~some.any(axis=0) & (np.arange(3) == 0)[:, None])).astype(np.int64))
        low, high = np.zeros(6, np.int64), rng.integers(1, most + 1, 6)
        left = matrix @ rng.integers(0, high + 1)
        found = listed_solutions(matrix, left, low, high, 1_000_000)
        assert number(matrix, left, low, high) == len(found)
        met += len(found) > 50
    assert met > 5
