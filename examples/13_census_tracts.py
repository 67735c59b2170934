"""Count the people of 28 real census tracts into their 34 tables, and prove that no other people have the same tables.

    python examples/13_census_tracts.py [FOLDER]

The release file and what it needs are written to FOLDER, for `recon variability FOLDER/tables.json`. The people were
published by the Census Bureau (public domain; examples/census), which chose tracts where this is so.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import recon

HERE = Path(__file__).parent / "census"
RACES = ["white", "black", "aian", "asian", "nhopi", "sor"]


def counted(people: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return area, cell and number of people, where it is not 0: of blocks and of the tracts that they lie in."""
    kinds = people.groupby(["sex", "age", "race", "hispanic"], sort=False)
    each = {n: x.to_numpy() for n, x in kinds.size().index.to_frame().items()}
    each |= {n: np.where([n in race.split("+") for race in each["race"]], "Y", "N") for n in RACES}
    each["two"] = np.where(sum((each[n] == "Y").astype(int) for n in RACES) > 1, "two", "")
    out = []
    for level, place in (("tract", people.tract), ("block", people.tract + ":" + people.block)):
        own = cells[cells.level == level]
        held = np.array([fits(cell, each) for cell in own.to_dict("records")])
        area, areas = pd.factorize(place)
        ones = np.ones(len(people), np.int64)
        numbers = csr_array((ones, (kinds.ngroup(), area)), shape=(held.shape[1], len(areas)))
        found = (csr_array(held.astype(np.int64)) @ numbers).tocoo()
        table = {"area": areas[found.col], "cell": own.cell.to_numpy()[found.row], "value": found.data}
        out.append(pd.DataFrame(table))
    return pd.concat(out)


def fits(cell: dict[str, str], each: dict[str, np.ndarray]) -> np.ndarray:
    """Return which kinds of people a published cell counts."""
    held = (each["age"] >= int(cell["start_age"])) & (each["age"] <= int(cell["end_age"]))
    for name in (*RACES, "two", "hispanic", "sex"):
        if cell[name]:
            held = held & (each[name] == cell[name])
    return held


with tempfile.TemporaryDirectory() as temporary:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
    folder.mkdir(parents=True, exist_ok=True)
    people = pd.read_csv(HERE / "people_28_tracts.csv.gz", dtype={"block": str})
    cells = pd.read_csv(HERE / "sf1_cells.csv.gz", dtype=str).fillna("")
    values = counted(people, cells)
    values.to_csv(folder / "tables.csv.gz", index=False)
    for name in ("tables.json", "sf1_cells.csv.gz"):
        shutil.copy(HERE / name, folder / name)
    print(f"{len(people):,} people in {people.tract.nunique()} tracts: {len(values):,} counts above 0")
    found = recon.variability(recon.Tables(values, cells, complete=True)).summary()
    only = found["coupled"]["zero"]
    print(f"in {only:,} of {found['areas']:,} blocks one data set only agrees with the tables")
