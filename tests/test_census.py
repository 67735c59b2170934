"""Real tracts of the 2010 census (public domain, examples/census): published figures, and those of docs/census.md."""

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recon
from recon.queries.tables.answering import _solutions, count_areas
from recon.queries.tables.proofs import certificate, verify_areas
from recon.queries.tables.variability import variability
from solvers.foundation.limits import Limits

DATA = Path(__file__).parents[1] / "examples" / "census"
RACES = ["white", "black", "aian", "asian", "nhopi", "sor"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("tract", "people", "certain", "datasets"), [("a", 1, 1, 1), ("b", 11, 11, 1), ("c", 87, 46, 270_273_024)]
)
def test_three_tracts_as_published(tract, people, certain, datasets):
    tables = recon.Tables(DATA / f"tract_{tract}.csv.gz", DATA / "sf1_cells.csv.gz", complete=["P12"])
    found = recon.count(tables)
    assert (found.status, found.people, found.certain, found.multiset) == (
        "exact",
        (people, people),
        certain,
        (datasets, datasets),
    )
    assert found.areas[0].unique is True


def counted_cells(people):
    """Return area, cell and value of all cells above 0: people held against each definition, one after the other."""
    cells = pd.read_csv(DATA / "sf1_cells.csv.gz", dtype=str).fillna("")
    has = {n: people.race.str.contains(rf"\b{n}\b").to_numpy() for n in RACES}
    many = sum(has.values()) >= 2
    age, sex, hispanic = people.age.to_numpy(), (people.sex == "female").to_numpy(), (people.hispanic == "Y").to_numpy()
    areas = {"tract": pd.factorize(people.tract), "block": pd.factorize(people.tract + ":" + people.block)}
    out = []
    for c in cells.itertuples():
        held = (age >= int(c.start_age)) & (age <= int(c.end_age))
        held = held & (sex == (c.sex == "female")) if c.sex else held
        held = held & (hispanic == (c.hispanic == "Y")) if c.hispanic else held
        held = held & many if c.two else held
        for n in RACES:
            if getattr(c, n):
                held = held & (has[n] == (getattr(c, n) == "Y"))
        codes, names = areas[c.level]
        number = np.bincount(codes[held], minlength=len(names))
        at = np.flatnonzero(number)
        out.append(pd.DataFrame({"area": np.asarray(names)[at], "cell": c.cell, "value": number[at]}))
    return pd.concat(out)


@pytest.fixture(scope="module")
def tracts():
    people = pd.read_csv(DATA / "people_28_tracts.csv.gz", dtype={"block": str})
    values = counted_cells(people)
    return people, recon.Tables(values, DATA / "sf1_cells.csv.gz", complete=True)


@pytest.mark.slow
def test_28_tracts_have_one_data_set_over_bins_and_it_is_the_file(tracts):
    """Proved, equal to the people of the file, each certificate below 10 KB and checked again from the tables."""
    people, tables = tracts
    begun, certain, alone, blocks = time.process_time(), 0, 0, 0
    for one in _solutions(tables, Limits()):
        assert one.unique is True
        certain += one.certain
        alone += len(one.settled_leaves[0])
        blocks += len(one.live.top.leaves)
        proof = certificate(tables, one)
        assert len(json.dumps(proof)) < 10_000
        held = people[people.tract == one.live.top.names[0]]
        assert_same(one, held, tables)
        if held.tract.iloc[0] in {"tract-06", "tract-17"}:
            again = time.process_time()
            assert verify_areas(proof, tables, Limits())[0].error == ""
            assert time.process_time() - again < 5
            (steps,) = [dict(proof, people=proof["people"] + 1)]
            assert verify_areas(steps, tables, Limits())[0].error
    assert (certain, alone, blocks, len(people)) == (14_733, 8_488, 8_530, 63_969)
    assert time.process_time() - begun < 60  # 4 s on an idle machine


def assert_same(one, held, tables):
    """Hold the solved counts of a tract against its people: by block, sex, age in bins, race and origin."""
    live, shape = one.live, tables.system.shape
    order = [a.name for a in tables.domain.all]
    parts = np.unravel_index(tables.system.tuples, shape)
    found = {}
    for i in np.flatnonzero(one.low).tolist():
        b = int(live.atom_b[live.atom[i]])
        t = int(np.flatnonzero(live.design.b == b)[0])
        found[live.top.names[int(live.leaf[i])], b] = int(one.low[i]), tuple(int(p[t]) for p in parts)
    mine = {name: k for k, name in enumerate(order)}
    place = {tuple(int(p[t]) for p in parts): t for t in range(len(parts[0]))}
    edges = [tables.cuts[mine["age"]].part(a) for a in range(111)]
    expected = {}
    for area, sex, age, race, hispanic in zip(
        held.tract + ":" + held.block, held.sex, held.age, held.race, held.hispanic, strict=True
    ):
        at = [0] * len(order)
        at[mine["sex"]] = tables.domain.all[mine["sex"]].index[sex]
        at[mine["age"]], at[mine["hispanic"]] = edges[age], int(hispanic == "Y")
        for r in RACES:
            at[mine[r]] = int(r in race.split("+"))
        key = area, int(live.design.b[place[tuple(at)]])
        expected[key] = expected.get(key, 0) + 1
    assert {k: n for k, (n, _) in found.items()} == expected


@pytest.mark.slow
def test_every_width_of_a_tract_is_0_with_its_own_tables_or_the_tracts(tracts):
    people, _ = tracts
    some = people[people.tract.isin(["tract-06", "tract-21"])]
    tables = recon.Tables(counted_cells(some), DATA / "sf1_cells.csv.gz", complete=True)
    told = variability(tables)
    summary = told.summary()
    assert told.status == "exact"
    assert summary["coupled"]["zero"] == summary["areas"] == some.groupby("tract").block.nunique().sum()
    assert summary["alone"]["zero"] < summary["areas"]
    assert count_areas(tables).status == "exact"
