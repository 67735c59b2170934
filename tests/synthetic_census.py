"""Published census tables of made-up people: tracts of blocks, counted as the 2010 Summary File 1 counts them.

    python tests/synthetic_census.py OUT [--tracts 2] [--blocks 100] [--mean 45] [--seed 0]

OUT gets `tables.csv.gz` (area, cell, value; every area that has people is listed, cells of 0 are not), `people.csv`
(area and every attribute: the truth), the definitions of the cells and `tables.json`, a release file of all three.
Made-up people show less than real ones do how often one data set only is left: households mix more races.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd

CELLS = Path(__file__).parents[1] / "examples" / "census" / "sf1_cells.csv.gz"
RACES = ["white", "black", "aian", "asian", "nhopi", "sor"]
COMBINATIONS = np.array([c for c in itertools.product([0, 1], repeat=6) if any(c)])
AGES = 111


def _held(cell, people):
    """Return which of the people a published cell counts."""
    sex, age, race, hispanic = people.T
    mask = (age >= cell.start_age) & (age <= cell.end_age)
    if cell.sex:
        mask &= sex == (cell.sex == "female")
    if cell.hispanic:
        mask &= hispanic == (cell.hispanic == "Y")
    fits = np.ones(63, bool)
    for k, name in enumerate(RACES):
        if wanted := getattr(cell, name):
            fits &= COMBINATIONS[:, k] == (wanted == "Y")
    if cell.two == "two":
        fits &= COMBINATIONS.sum(1) >= 2
    return mask & fits[race]


def _block(rng, size, shares):
    """Return people of one block: households share their race, ages and sexes are independent."""
    household = np.repeat(np.arange(size), rng.integers(1, 6, size))[:size]
    kind = rng.choice(7, size=size, p=rng.dirichlet(shares * 8 + 1e-3))[household]
    hispanic = (rng.random(size) < np.where(kind == 5, 0.95, 0.12))[household].astype(int)
    index = {tuple(c): k for k, c in enumerate(COMBINATIONS)}
    race = np.empty(size, int)
    for i, k in enumerate(kind):
        bits = [0] * 6
        if k < 6:
            bits[k] = 1
        else:
            many = 2 if rng.random() < 0.92 else 3
            for j in rng.choice(6, size=many, replace=False, p=[0.35, 0.2, 0.15, 0.15, 0.05, 0.1]):
                bits[j] = 1
        race[i] = index[tuple(bits)]
    young = rng.random(size) < 0.26
    old = 20 + (rng.beta(1.3, 2.2, size) * 75).astype(int)
    age = np.minimum(AGES - 1, np.where(young, rng.integers(0, 20, size), old))
    return np.stack([rng.integers(0, 2, size), age, race, hispanic], axis=1)


def made(tracts=2, blocks=100, mean=45, seed=0):
    """Return the counts (area, cell, value) and the people of made-up tracts."""
    cells = pd.read_csv(CELLS, dtype=str).fillna("").astype({"start_age": int, "end_age": int})
    space = np.array(list(itertools.product(range(2), range(AGES), range(63), range(2))), dtype=np.int16)
    counted = {level: np.array([_held(c, space) for c in part.itertuples()], dtype=np.float32)
               for level, part in cells.groupby("level")}  # fmt: skip
    names = {level: part.cell.to_numpy() for level, part in cells.groupby("level")}
    rng = np.random.default_rng(seed)
    tables, people = [], []
    for t in range(tracts):
        tract = f"tract-{t + 1}"
        sizes = np.maximum(1, rng.lognormal(np.log(mean) - 0.5, 1.0, blocks).astype(int))
        shares = rng.dirichlet(np.array([0.62, 0.12, 0.01, 0.05, 0.004, 0.06, 0.03]) * 6 + 1e-2)
        total = np.zeros(len(space), np.float32)
        for b, size in enumerate(sizes):
            rows = _block(rng, size, shares)
            where = ((rows[:, 0] * AGES + rows[:, 1]) * 63 + rows[:, 2]) * 2 + rows[:, 3]
            histogram = np.bincount(where, minlength=len(space)).astype(np.float32)
            total += histogram
            used = np.unique(where)
            values = (counted["block"][:, used] @ histogram[used]).astype(int)
            tables += [(f"{tract}:block-{b + 1}", c, v) for c, v in zip(names["block"], values, strict=True) if v]
            people.append(pd.DataFrame(rows, columns=["sex", "age", "race", "hispanic"]))
            people[-1].insert(0, "area", f"{tract}:block-{b + 1}")
        used = np.flatnonzero(total)
        values = (counted["tract"][:, used] @ total[used]).astype(int)
        tables += [(tract, c, v) for c, v in zip(names["tract"], values, strict=True) if v]
    everybody = pd.concat(people, ignore_index=True)
    for k, name in enumerate(RACES):
        everybody[name] = np.where(COMBINATIONS[everybody.race][:, k] == 1, "Y", "N")
    everybody["sex"] = np.where(everybody.sex == 1, "female", "male")
    everybody["hispanic"] = np.where(everybody.hispanic == 1, "Y", "N")
    return pd.DataFrame(tables, columns=["area", "cell", "value"]), everybody.drop(columns="race")


def written(folder, values, complete=True, name="tables"):
    """Write a release file of counts beside them and the definitions of the cells; return its path."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(CELLS, folder / CELLS.name)
    values.to_csv(folder / f"{name}.csv.gz", index=False, compression={"method": "gzip", "mtime": 0})
    release = json.loads(CELLS.with_name("tables.json").read_text(encoding="utf-8"))
    release["models"][0] |= {"values": {"file": f"{name}.csv.gz"}, "complete": complete}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(release), encoding="utf-8")
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for option, default in (("--tracts", 2), ("--blocks", 100), ("--mean", 45), ("--seed", 0)):
        parser.add_argument(option, type=int, default=default)
    asked = vars(parser.parse_args())
    out = asked.pop("out")
    values, people = made(**asked)
    written(out, values)
    people.to_csv(out / "people.csv", index=False)
    print(f"{len(people):,} people, {values.area.nunique():,} areas, {len(values):,} counts above 0")
