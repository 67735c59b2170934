"""Survival forests of R's ranger: what leaves say of times and events, the truth never excluded, bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recon
from recon.readers.formats.boosters.ranger import read_ranger_rds
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.printed.rpart_rds import named_parts
from recon.readers.frames.world import violations
from recon.readers.stored.binary.rds import RObject, read_rds
from solvers.foundation.errors import ReleaseError, Unsupported

CORPUS = Path(__file__).parent / "corpus"
ROWS = pd.read_csv(CORPUS / "ranger_rows.csv")


def loaded(file):
    columns = [c for c in ROWS if file == "ranger_survival.rds" or c != "celltype"]
    return recon.load(CORPUS / file, domain=recon.Domain.from_frame(ROWS[columns])), ROWS[columns]


@pytest.mark.parametrize("file", ["ranger_survival.rds", "ranger_bag.rds"])
def test_the_true_rows_are_never_excluded(file):
    release, rows = loaded(file)
    assert violations(release, rows) == []
    dead = rows.event == 1
    moved = rows.assign(time=np.where(dead, rows.time[dead].max(), rows.time))
    assert violations(release, moved)


def test_leaves_of_trees_that_saw_every_row_say_who_was_at_risk():
    """Every stated number is that of the rows, and exact: leaves together have 60 rows."""
    release, rows = loaded("ranger_survival.rds")
    exact = stated = 0
    for one in release.models[0].statements:
        if not (one.name or "").startswith(("events", "at risk")):
            continue
        inside = np.ones(len(rows), dtype=bool)
        for name, test in one.condition:
            cells = rows[name]
            if test.values is not None:
                inside &= cells.isin(test.values).to_numpy()
                continue
            low, high = (-np.inf if test.low is None else test.low), (np.inf if test.high is None else test.high)
            inside &= ((cells > low) if test.low_open else (cells >= low)).to_numpy()
            inside &= ((cells < high) if test.high_open else (cells <= high)).to_numpy()
        least, most = (one.low, one.high) if one.count is None else (one.count, one.count)
        assert least <= inside.sum() <= most, one.name
        stated, exact = stated + 1, exact + (least == most)
    assert (exact, stated) == (216, 216)


def changed(file, **parts):
    """Return the object of a file with parts of it, or of its forest, replaced (None: taken out)."""
    root = read_rds((CORPUS / file).read_bytes())

    def renewed(value):
        kept = [(n, parts.get(n, renewed(v) if n == "forest" else v)) for n, v in named_parts(value).items()]
        kept = [(n, v) for n, v in kept if v is not None] + [(n, v) for n, v in parts.items() if n.startswith("inbag")]
        names = RObject("character", [n for n, _ in kept])
        return RObject("list", [v for _, v in kept], {**value.attributes, "names": names})

    return renewed(root)


def doubles(*numbers):
    return RObject("double", np.array(numbers, dtype=float))


CALL = RObject("call", [("", RObject("symbol", "ranger")), ("time.interest", doubles(5))])
RISING = doubles(*range(1, 54))


@pytest.mark.parametrize(
    ("parts", "error", "why"),
    [
        ({"forest": None}, Unsupported, "write.forest = FALSE"),
        ({"independent.variable.names": None}, Unsupported, "ranger before 0.12"),
        ({"call": CALL}, Unsupported, "leave time.interest out"),
        ({"is.ordered": RObject("logical", np.array([1, 0, 1]))}, Unsupported, "fit it with respect.unordered.factors"),
        ({"num.samples": doubles(0.5)}, ReleaseError, "no number of rows"),
        ({"num.samples": doubles(20)}, ReleaseError, "at most one for each row"),
        ({"unique.death.times": doubles(3, 2)}, ReleaseError, "no ascending times"),
        ({"unique.death.times": doubles(2, 3)}, ReleaseError, "each of 2 times"),
        ({"chf": RObject("list", [])}, ReleaseError, "as many links, tests and hazards as trees"),
        ({"chf": RISING}, ReleaseError, "is no list"),
        ({"inbag.counts": RObject("list", [doubles(1)] * 2)}, ReleaseError, "60 numbers for each of 2 trees"),
        ({"covariate.levels": RObject("list", [])}, ReleaseError, "one entry for each of 3 columns"),
    ],
)
def test_what_is_no_forest_that_is_read_is_refused(parts, error, why):
    with pytest.raises(error, match=why):
        read_ranger_rds(changed("ranger_survival.rds", **parts))


CHANGED = [
    ("split.varIDs", "tests columns that are none of the 3"),
    ("split.values", "after level 7 of 4"),
    ("chf", "hazards that fall"),
]


@pytest.mark.parametrize(("tree", "why"), CHANGED)
def test_a_number_that_was_changed_is_named(tree, why):
    parts = named_parts(named_parts(read_rds((CORPUS / "ranger_survival.rds").read_bytes()))["forest"])
    every = list(parts[tree].values)
    if tree == "chf":
        node = next(k for k, v in enumerate(every[0].values) if len(v.values))
        fallen = np.array(every[0].values[node].values)
        fallen[-1] = 0.0
        every[0].values[node] = RObject("double", fallen)
    else:
        column = np.array(parts["split.varIDs"].values[0].values)
        numbers = np.array(every[0].values)
        inner = np.flatnonzero(np.array(parts["child.nodeIDs"].values[0].values[0].values) > 0)
        numbers[inner[0] if tree == "split.varIDs" else inner[column[inner] == 2][0]] = 7
        every[0] = RObject("double", numbers)
    with pytest.raises(ReleaseError, match=why):
        read_ranger_rds(changed("ranger_survival.rds", **{tree: RObject("list", every)}))


def test_drawn_once_each_number_is_a_least_one_and_drawn_again_an_event_is_one_row():
    """Where bags are stored, they say how rows were drawn, whatever the call does."""
    ones, some = doubles(*[1] * 60), doubles(*[1] * 59, 0)
    whole = read_ranger_rds(changed("ranger_bag.rds", **{"inbag.counts": RObject("list", [ones] * 2)}))
    part = read_ranger_rds(changed("ranger_survival.rds", **{"inbag.counts": RObject("list", [ones, some])}))
    bag = read_ranger_rds(changed("ranger_bag.rds"))
    assert (whole.resampled, part.resampled, part.replaced, bag.resampled, bag.replaced) == (
        False, True, False, True, True,
    )  # fmt: skip
    assert part.solved
    assert not bag.solved
    domain = recon.Domain.from_frame(ROWS)
    table = part.bound(Binder(part, domain))[0]
    risk = [one for one in table.statements if (one.name or "").startswith("at risk")]
    assert risk
    assert all(one.high is None and one.count is None and one.low >= 1 for one in risk)


def test_the_page_of_findings_names_times_and_predictions():
    found = {one.path: one.level for one in recon.inspect(CORPUS / "ranger_bag.rds").findings}
    assert found["m$unique.death.times"] == "high"
