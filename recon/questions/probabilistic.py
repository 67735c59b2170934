"""The probabilistic dataset: per training row, the values that each attribute can still have.

Source: Ferry et al., SaTML 2024, Def. 1 and 3, Tables II and IV.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from encoders.domain.values import cell_text
from encoders.encode.encoder import EncodedRelease
from encoders.parts.cut_domain import CutDomain
from recon.answers.exact import convention_of
from recon.console.output import free_name
from recon.frames.describe import condition_text, values_text
from solvers.cells.partition_cells import Cells, cells_of, no_closed_form
from solvers.cells.system import System, system_of
from solvers.chain import ask
from solvers.foundation.errors import ContradictionError
from solvers.foundation.limits import Limits
from solvers.questions.query import Count, CountAnswer, PerCell, PerCellAnswer
from solvers.statements.release import ANY_LABEL, Box
from solvers.worlds.row_lists import RowList, cell_boxes

PHASE = "the table was made"
SHOWN_BOXES = 3  # boxes of a cell written out
LISTED_ROWS = 12  # a region with at most so many raw rows is written out


def table(release: EncodedRelease, limits: Limits | None = None) -> pd.DataFrame:
    """Return the probabilistic dataset, one line per training row.

    Columns: row, region (leaf or rule), one per attribute and the label with the set of values still possible
    ("{10, 11}", "12..15", "any"), worlds_per_row (None where a number has no grid), and `joint`: empty where the row
    can be any combination of its sets, else what ties them ("one of (0, 1), (1, 0)" or "not (a1 = 1 and a2 = 1)").
    Where an attribute has one of these names, ours ends in "_". Rows of one cell are alike. With the number of rows
    open, the least counts are shown. Cost: linear in rows and cells.

    With more than one partition, a row whose cell differs between worlds has the region "not settled" and the union of
    what the cells leave it.
    """
    if no_closed_form(release.statements) is not None:
        return coupled_table(release, limits or Limits())
    counted = ask(release.statements, Count(convention_of(release, None)), CountAnswer, limits)
    if counted.status == "unsat":
        raise ContradictionError("there is no possible world", counted.conflict)
    cells = cells_of(release.statements, limits or Limits())
    least = np.min(cells.vectors, axis=0)
    heard = (limits or Limits()).paced(np.flatnonzero(least).tolist(), PHASE, 16)
    lines = [line(release.cut, cells, s) for s in heard]
    frame = pd.DataFrame(lines, dtype=object)  # long integers overflow in any other type
    if len(frame):
        frame = frame.loc[frame.index.repeat(least[least > 0])].reset_index(drop=True)
    frame.insert(0, free_name("row", frame.columns), np.arange(len(frame)))
    frame.attrs.update(assumptions=list(release.assumptions), status=counted.status)
    return frame


def coupled_table(release: EncodedRelease, limits: Limits) -> pd.DataFrame:
    """Return the probabilistic dataset of a coupled release; see `table`."""
    statements = release.statements
    found = ask(statements, PerCell(), PerCellAnswer, limits)
    least, system = found.least, system_of(statements, limits)
    loose = np.flatnonzero(found.most > least).tolist()
    heard = enumerate(limits.paced(np.flatnonzero(least).tolist(), PHASE, 16))
    lines = [cell_line(release.cut, system, [c], f"cell {i}") for i, c in heard]
    times = least[least > 0].tolist()
    if rest := max(0, release.rows.low - sum(times)):
        lines.append(cell_line(release.cut, system, loose, "not settled"))
        times.append(rest)
    frame = pd.DataFrame(lines, dtype=object)
    if len(frame):
        frame = frame.loc[frame.index.repeat(times)].reset_index(drop=True)
    frame.insert(0, free_name("row", frame.columns), np.arange(len(frame)))
    frame.attrs.update(assumptions=list(release.assumptions), status=found.status)
    return frame


def cell_line(cut: CutDomain, system: System, cells: list[int], name: str) -> dict[str, object]:
    """Return the line of a row in one of some cells."""
    words = system.words[[p for c in cells for p in system.pieces[c]]]
    held = np.bitwise_or.reduce(words, axis=0) if len(words) else np.zeros_like(system.layout.full)
    taken = [c.attribute.name for c in cut.cuts]
    out: dict[str, object] = {free_name("region", taken): name}
    union: list[tuple[int, int]] = []
    for k, cuts in enumerate(cut.cuts):
        full = (1 << len(cuts.sizes)) - 1
        mask = sum(w << (64 * j) for j, w in enumerate(held[system.layout.span(k)].tolist())) & full
        if mask != full:
            union.append((k, mask))
        out[cuts.attribute.name] = "any" if mask == full else values_text(cut, k, mask)
    size, around = sum(system.sizes[c] for c in cells), Box(tuple(union)).size(system.release.domain)
    countable = not cut.domain.continuous
    out[free_name("worlds_per_row", taken)] = size if countable and len(cells) == 1 else None
    some = f"one of {size:,} of the {around:,} combinations" if countable else "not every combination"
    joint = "" if size == around else some
    if joint and len(words) <= SHOWN_BOXES:
        joint = " or ".join(f"({condition_text(cut, b)})" for b in system.layout.boxes(words))
    out[free_name("joint", taken)] = joint
    return out


def line(cut: CutDomain, cells: Cells, s: int) -> dict[str, object]:
    """Return the line of one cell."""
    block, box = cells.block, cells.tight[s]
    named = dict(box.literals)
    taken = [c.attribute.name for c in cut.cuts]
    out: dict[str, object] = {free_name("region", taken): block.names[int(block.region[s])]}
    for k, cuts in enumerate(cut.cuts):
        out[cuts.attribute.name] = values_text(cut, k, named[k]) if k in named else "any"
    sized = cells.low[s] == cells.high[s] and not cut.domain.continuous
    out[free_name("worlds_per_row", taken)] = cells.low[s] if sized else None
    out[free_name("joint", taken)] = "" if cells.product(s) else joint_text(cut, cells, s)
    return out


def joint_text(cut: CutDomain, cells: Cells, s: int) -> str:
    """Return what ties the attributes of a cell that is no product."""
    size = cells.low[s]
    if size == cells.high[s] and size <= LISTED_ROWS and not cut.domain.continuous:
        rows = RowList(cells.release.domain, cell_boxes(cells, s), size)
        return "one of " + ", ".join(tuple_text(cut, cells, rows[i], s) for i in range(size))
    earlier = [
        *cells.release.impossible,
        *(cells.block.boxes[h] for h in range(int(cells.block.region[s])) if cells.block.first_match),
    ]
    met = [b for b in earlier if not (b & cells.boxes[s]).empty]
    return " and ".join(f"not ({condition_text(cut, b)})" for b in met)


def tuple_text(cut: CutDomain, cells: Cells, row: tuple[int, ...], s: int) -> str:
    """Return one raw row as a tuple; the label is left out where it is published."""
    skip = cells.release.domain.label if int(cells.block.label[s]) != ANY_LABEL else None
    shown = [cell_text(c.attribute.value(row[k])) for k, c in enumerate(cut.cuts) if k != skip]
    return "(" + ", ".join(shown) + ")"
