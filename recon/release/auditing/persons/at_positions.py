"""What is left of the row at every position of the training file, where known bags tell rows apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recon.queries.located.against_truth import compared
from recon.queries.located.placed_rows import PlacedRows
from recon.release.auditing.persons.row_groups import RowGroups

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
IN_ORDER = (
    "the file tells the rows apart by position: bits left are what is left of the row at each position, at most; "
    "{known:,} of {rows:,} rows are known wholly"
)
OUT_OF_ORDER = (
    "the file tells rows apart by position, but the data are not in the order in which the model was fitted: "
    "give them in that order"
)


def with_positions(groups: RowGroups, found: PlacedRows, rows: pd.DataFrame) -> tuple[RowGroups, str]:
    """Return what is known about every row with what is proved of its position, and a note on that.

    `rows` are the training rows in the order of the data. Where some true value is not among those left at its position
    the data stand in another order: nothing is added. Cost: linear in rows times parts.
    """
    if len(groups) != found.rows or not compared(found, rows)["inside"]:
        return groups, OUT_OF_ORDER
    whole = np.asarray(np.stack([column.exact for column in found.columns]).all(axis=0))
    bits, before = bits_at_positions(found)
    bits[whole] = 0.0
    fewer = ~np.isnan(bits) & ~(groups.bits_left <= bits)
    share = np.where(whole | (before == 0), 0.0, bits / before if before else bits)
    note = IN_ORDER.format(known=int(whole.sum()), rows=found.rows)
    return replace(
        groups,
        bits_left=np.where(fewer, bits, groups.bits_left),
        share_left=np.where(fewer, share, groups.share_left),
        pinned=groups.pinned | whole,
        by_position=fewer,
        width=np.mean([column.width for column in found.columns], axis=0),
    ), note


def bits_at_positions(found: PlacedRows) -> tuple[Floats, float]:
    """Return the bits left of the row at every position, at most, and those before.

    NaN with an attribute of any numbers. Attributes are counted one by one: that some of their combinations are
    excluded only leaves fewer bits.
    """
    domain, answer = found.release.statements.domain, found.answer
    if found.release.domain.continuous:
        return np.full(found.rows, np.nan), 0.0
    bits, before = np.zeros(found.rows), 0.0
    for k, attribute in enumerate(domain.attributes):
        if k in answer.sets:
            values = np.asarray(answer.sets[k].astype(np.float64) @ np.array(attribute.sizes, dtype=np.float64))
        else:
            ends = np.array(attribute.ends, dtype=np.float64)
            values = ends[answer.end[:, k]] - ends[answer.start[:, k]]
        exact = found.columns[k].exact
        bits += np.log2(np.where(exact, 1.0, np.maximum(values, 1.0)))
        before += float(np.log2(attribute.total))
    return bits, before
