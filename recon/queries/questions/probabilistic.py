"""The probabilistic dataset: per training row, the values that each attribute can still have.

Source: Ferry et al., SaTML 2024, Def. 1 and 3, Tables II and IV.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from encoders.domain.values import cell_text
from encoders.encode.encoder import EncodedRelease
from encoders.parts.base import CutDomain
from recon.io.console.output import unique_column_name
from recon.queries.answers.counting import convention_of
from recon.queries.bounds.placed import parts_left, places
from recon.readers.frames.describe import condition_text, values_text
from recon.readers.loading.adversary import Knows
from recon.readers.loading.loading import Released
from recon.readers.loading.settled import asked_release, refuse_weighed_boxes
from solvers.engines.chain import ask, no_closed_form
from solvers.engines.figures.partition import PartitionFigures
from solvers.engines.figures.system import SystemFigures
from solvers.foundation.errors import ContradictionError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer, LocatedAnswer, PerCellAnswer
from solvers.statements.questions.query import Count, PerCell
from solvers.statements.release import ANY_LABEL

PHASE = "the table was made"
CELL_BYTES = 24  # of a table: a reference, and copies while rows are repeated
SHOWN_BOXES = 3  # boxes of a cell written out
LISTED_ROWS = 12  # a region with at most so many raw rows is written out


def table(release: Released, limits: Limits | None = None, adversary: Knows | None = None) -> pd.DataFrame:
    """Return the probabilistic dataset, one line per training row.

    Columns: row, region (leaf or rule), one per attribute and the label with the set of values still possible ("{10,
    11}", "12..15", "any"), worlds_per_row (None where a number has no grid), and `joint`: empty where the row can be
    any combination of its sets, else what ties them ("one of (0, 1), (1, 0)" or "not (a1 = 1 and a2 = 1)"). Where an
    attribute has one of these names, ours ends in "_". Rows of one cell are alike. With the number of rows open, the
    least counts are shown. `adversary`: see `count`. Raises what `count` raises. Cost: linear in rows and cells.

    With more than one partition, a row whose cell differs between worlds has the region "not settled" and the union of
    what the cells leave it. Where bags are known, line i is the row at position i of the training file, as far as it is
    proved (region "position"), and `joint` says whether its leaves are.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.table(release)[["smoker", "old", "ill"]]
      smoker  old  ill
    0    {0}  any  {0}
    1    {0}  any  {0}
    2    {1}  any  {0}
    3    {1}  any  {1}
    """
    release = asked_release(release, adversary, limits)
    refuse_weighed_boxes(release)
    if release.statements.bags and (located := places(release, limits)) is not None:
        return _placed_table(release, located, limits or Limits())
    if no_closed_form(release.statements) is not None:
        return _coupled_table(release, limits or Limits())
    counted = ask(release.statements, Count(convention_of(release, None)), CountAnswer, limits)
    if counted.status == "unsat":
        raise ContradictionError("there is no possible world", counted.conflict)
    cells = PartitionFigures.of(release.statements, limits or Limits())
    minimum = cells.minimum
    heard = (limits or Limits()).paced(np.flatnonzero(minimum).tolist(), PHASE, 16)
    lines = [_line(release.cut, cells, s) for s in heard]
    frame = _line_per_row(lines, minimum[minimum > 0].tolist(), limits or Limits())
    frame.attrs.update(assumptions=list(release.assumptions), status=counted.status)
    return frame


def _coupled_table(release: EncodedRelease, limits: Limits) -> pd.DataFrame:
    """Return the probabilistic dataset of a coupled release; see `table`."""
    statements = release.statements
    found = ask(statements, PerCell(), PerCellAnswer, limits)
    minimum, system = found.minimum, SystemFigures.of(statements, limits)
    loose = np.flatnonzero(found.maximum > minimum).tolist()
    heard = enumerate(limits.paced(np.flatnonzero(minimum).tolist(), PHASE, 16))
    lines = [_cell_line(release.cut, system, [c], f"cell {i}") for i, c in heard]
    times = minimum[minimum > 0].tolist()
    if rest := max(0, release.rows.low - sum(times)):
        lines.append(_cell_line(release.cut, system, loose, "not settled"))
        times.append(rest)
    frame = _line_per_row(lines, times, limits)
    frame.attrs.update(assumptions=list(release.assumptions), status=found.status)
    return frame


def _line_per_row(lines: list[dict[str, object]], times: list[int], limits: Limits) -> pd.DataFrame:
    """Return every line as often as there are rows of it, numbered; `Inconclusive` where memory does not hold them."""
    rows, width = sum(times), len(lines[0]) + 1 if lines else 0
    if rows * width * CELL_BYTES > limits.room:
        needed = f"about {rows * width * CELL_BYTES / 1e6:,.0f} MB (--memory)"
        raise Inconclusive(f"a table of {rows:,} rows x {width} columns needs {needed}")
    frame = pd.DataFrame(lines, dtype=object)  # long integers overflow in any other type
    if len(frame):
        frame = frame.loc[frame.index.repeat(times)].reset_index(drop=True)
    frame.insert(0, unique_column_name("row", frame.columns), np.arange(len(frame)))
    return frame


def _placed_table(release: EncodedRelease, located: LocatedAnswer, limits: Limits) -> pd.DataFrame:
    """Return what is proved about the row at every position; see `table`."""
    cut, lines, texts = release.cut, [], dict[tuple[int, bytes], str]()
    taken = [c.attribute.name for c in cut.cuts]
    left = [parts_left(release, located, k) for k in range(len(cut.cuts))]
    product = located.status == "exact" and not release.statements.impossible
    for i in limits.paced(range(len(located.start)), PHASE, 16):
        out: dict[str, object] = {unique_column_name("region", taken): f"position {i}"}
        size = 1
        for k, cuts in enumerate(cut.cuts):
            parts = left[k][i]
            if (key := (k, parts.tobytes())) not in texts:
                mask = int.from_bytes(np.packbits(parts, bitorder="little").tobytes(), "little")
                texts[key] = "any" if parts.all() else values_text(cut, k, mask)
            out[cuts.attribute.name] = texts[key]
            size *= sum(cuts.sizes[p] for p in np.flatnonzero(parts).tolist())
        out[unique_column_name("worlds_per_row", taken)] = size if product and not cut.domain.continuous else None
        out[unique_column_name("joint", taken)] = "" if product else "perhaps not every combination"
        lines.append(out)
    frame = pd.DataFrame(lines, dtype=object)
    frame.insert(0, unique_column_name("row", frame.columns), np.arange(len(frame)))
    frame.attrs.update(assumptions=list(release.assumptions), status=located.status)
    return frame


def _cell_line(cut: CutDomain, system: SystemFigures, cells: list[int], name: str) -> dict[str, object]:
    """Return the line of a row in one of some cells."""
    hull = system.hull(cells, SHOWN_BOXES)
    taken = [c.attribute.name for c in cut.cuts]
    out: dict[str, object] = {unique_column_name("region", taken): name}
    for k, (cuts, mask) in enumerate(zip(cut.cuts, hull.masks, strict=True)):
        full = (1 << len(cuts.sizes)) - 1
        out[cuts.attribute.name] = "any" if mask == full else values_text(cut, k, mask)
    size, around = hull.rows, hull.combinations
    countable = not cut.domain.continuous
    out[unique_column_name("worlds_per_row", taken)] = size if countable and len(cells) == 1 else None
    some = f"one of {size:,} of the {around:,} combinations" if countable else "not every combination"
    joint = "" if size == around else some
    if joint and hull.boxes is not None:
        joint = " or ".join(f"({condition_text(cut, b)})" for b in hull.boxes)
    out[unique_column_name("joint", taken)] = joint
    return out


def _line(cut: CutDomain, cells: PartitionFigures, s: int) -> dict[str, object]:
    cell, named = cells.cell(s), dict(cells.tight(s).literals)
    taken = [c.attribute.name for c in cut.cuts]
    out: dict[str, object] = {unique_column_name("region", taken): cell.name}
    for k, cuts in enumerate(cut.cuts):
        out[cuts.attribute.name] = values_text(cut, k, named[k]) if k in named else "any"
    sized = not cut.domain.continuous
    out[unique_column_name("worlds_per_row", taken)] = cell.size if sized else None
    out[unique_column_name("joint", taken)] = "" if cells.product(s) else _joint_text(cut, cells, s)
    return out


def _joint_text(cut: CutDomain, cells: PartitionFigures, s: int) -> str:
    """Return what ties the attributes of a cell that is no product."""
    size = cells.cell(s).size
    if size is not None and size <= LISTED_ROWS and not cut.domain.continuous:
        rows, skip = cells.rows(s), None if cells.cell(s).label == ANY_LABEL else len(cut.cuts) - 1
        return "one of " + ", ".join(_tuple_text(cut, rows[i], skip) for i in range(size))
    return " and ".join(f"not ({condition_text(cut, b)})" for b in cells.excluded(s))


def _tuple_text(cut: CutDomain, row: tuple[int, ...], skip: int | None) -> str:
    """Return one raw row as a tuple, without attribute `skip` (the label, where it is published)."""
    shown = [cell_text(c.attribute.value(row[k])) for k, c in enumerate(cut.cuts) if k != skip]
    return "(" + ", ".join(shown) + ")"
