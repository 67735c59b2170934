"""Membership over one partition, in batches: in how many rows can a profile be, and in which share of worlds.

Every selection is met with the cells by bit sets (one bit per cell and per attribute value set), so that only
the pairs (selection, cell) that can meet are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import pack_rows
from solvers.cells.partition_cells import PartitionCells
from solvers.cells.system import Space
from solvers.foundation.array_types import Bits
from solvers.foundation.exact import log_absent_multiset
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import DecideAnswer, LeaveOneOutAnswer, settled_share
from solvers.statements.questions.query import Decide, LeaveOneOut, Selections
from solvers.statements.release import ANY_LABEL

CHUNK = 8_192
CHUNK_BYTES = 1 << 26  # pairs of a chunk, one byte each
EPSILON = 1e-12  # below this share of the rows, rounding is all that is left of a difference


@dataclass(frozen=True, eq=False)
class OverlapTable:
    """Pairs (selection, cell) that share at least one raw row.

    `ratio` is the share of the cell's rows inside the selection (NaN where the cell's size is not exact),
    `whole` says that the cell lies inside the selection, `sure` that the pair is known to share a row and that
    `whole` is settled.
    """

    query: NDArray[np.int64]
    cell: NDArray[np.int64]
    ratio: NDArray[np.float64]
    whole: Bits
    sure: Bits


def chunk_of(table: BoxIndex) -> int:
    """Return how many selections are met with the boxes of a table at a time."""
    return max(1, min(CHUNK, CHUNK_BYTES // max(1, table.boxes)))


def decide(
    cells: PartitionCells, vectors: list[NDArray[np.int64]], query: Decide, limits: Limits | None = None
) -> DecideAnswer:
    """Return counts and shares of worlds for every selection.

    Raises `Inconclusive` when time is up and there are thousands of them.
    """
    limits, chosen = limits or Limits(), query.selections
    table = BoxIndex.for_cells(cells, chosen.sizes)
    step, pieces = chunk_of(table), []
    for i in range(0, max(1, len(chosen)), step):
        if i:  # the first chunk is answered however short the time: it takes a moment
            limits.check("profiles were asked about")
        some = Selections(chosen.codes[i : i + step], chosen.sizes)
        pieces.append(_decide_chunk(cells, vectors, some, query.convention, table))
    found: dict[str, Any] = {name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}
    return DecideAnswer("exact" if cells.exact else "bounds", **found)


def _decide_chunk(
    cells: PartitionCells, vectors: list[NDArray[np.int64]], chosen: Selections, convention: str, table: BoxIndex
) -> dict[str, Any]:
    """Return the arrays of `DecideAnswer` for a chunk of selections, averaged over the count vectors."""
    q, met = len(chosen), _overlap_table(cells, chosen, table)
    known = [cells.known_rows(counts, convention) for counts in vectors]
    prior = PriorMembership(cells.space, chosen, convention, set(known[0]))

    def total(weights: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(met.query, weights, minlength=q).astype(np.float64)

    here = np.stack([counts[met.cell] for counts in vectors])
    low = np.min([total(c * met.whole) for c in here], axis=0).astype(np.int64)
    high = np.max([total(c) for c in here], axis=0).astype(np.int64)
    share = np.mean([-np.expm1(total(_log_absent(cells, met, c, convention))) for c in vectors], axis=0)
    return {
        "low": low,
        "high": high,
        "probability": settled_share(low, high, share),
        "before": np.mean([-np.expm1(prior.log_absent(c)) for c in known], axis=0),
        "expected": np.mean([total(_where_counted(c, met.ratio)) for c in here], axis=0),
        "expected_before": np.mean([prior.expected(c) for c in known], axis=0),
        "open": total(~met.sure) > 0,
    }


def leave_one_out(cells: PartitionCells, vectors: list[NDArray[np.int64]], query: LeaveOneOut) -> LeaveOneOutAnswer:
    """Return, per pair (q, v), the share of v among q's rows in the release without one row that is (q, v).

    The row left out lies in cell j with probability proportional to c_j r_j(q,v); without it the cell counts
    c_j - 1. NaN where nothing else remains to infer from.
    """
    counts = np.mean(vectors, axis=0)
    inner, outer = (_overlap_table(cells, c, BoxIndex.for_cells(cells, c.sizes)) for c in (query.inner, query.outer))
    n = len(query.inner)
    hits = np.bincount(inner.query, counts[inner.cell] * inner.ratio, minlength=n)
    all_rows = np.bincount(outer.query, counts[outer.cell] * outer.ratio, minlength=n)
    outer_ratio = dict(
        zip(zip(outer.query.tolist(), outer.cell.tolist(), strict=True), outer.ratio.tolist(), strict=True)
    )
    out, seen = np.zeros(n), np.zeros(n)
    more = _size_bias(cells, vectors, query.convention)
    for i, s, ratio in zip(inner.query.tolist(), inner.cell.tolist(), inner.ratio.tolist(), strict=True):
        whole = outer_ratio[i, s]
        weight, rest = counts[s] * ratio, all_rows[i] + whole * (more[s] - 1.0)
        if weight and rest > EPSILON * all_rows[i]:
            out[i] += weight * max(0.0, hits[i] + ratio * (more[s] - 1.0)) / rest
            seen[i] += weight
    with np.errstate(invalid="ignore", divide="ignore"):
        return LeaveOneOutAnswer("exact" if cells.exact else "bounds", share=np.where(seen > 0, out / seen, np.nan))


def share_of_counts(inner: DecideAnswer, other: DecideAnswer) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bounds on inner / (inner + other) from bounds on both counts, NaN where both are always 0.

    The best bounds where the two vary independently, else outer bounds.
    """
    low, high, other_low, other_high = (x.astype(np.float64) for x in (inner.low, inner.high, other.low, other.high))
    with np.errstate(invalid="ignore", divide="ignore"):
        lower = np.where(low + other_high > 0, low / (low + other_high), np.where(high > 0, 1.0, np.nan))
        upper = np.where(high + other_low > 0, high / (high + other_low), np.where(other_high > 0, 0.0, np.nan))
    return lower, upper


def _size_bias(cells: PartitionCells, vectors: list[NDArray[np.int64]], convention: str) -> NDArray[np.float64]:
    """Return, per cell, how many more rows it has than on average, given that a row is taken out of it.

    E[g(c) c] / E[g(c)] - E[c] over the count vectors, g(c) = c, and in `multiset` c / (size + c - 1): what the weight
    of a world loses by that row. 0 where the count is known.
    """
    counts = np.stack(vectors).astype(np.float64)
    gain = counts
    if convention == "multiset":
        sizes = np.array([float(min(size, 1 << 1000)) for size in cells.low])
        gain = counts / np.maximum(sizes + counts - 1.0, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        biased = (gain * counts).mean(axis=0) / gain.mean(axis=0)
        return np.where(gain.mean(axis=0) > 0, biased - counts.mean(axis=0), 0.0)


def _where_counted(counts: NDArray[np.int64], ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return counts * ratio, 0 where nothing is counted even if the ratio is unknown."""
    return np.where(counts > 0, counts * ratio, 0.0)


def _log_absent(
    cells: PartitionCells, met: OverlapTable, counts: NDArray[np.int64], convention: str
) -> NDArray[np.float64]:
    """Return, per pair, ln of the share of the cell's worlds with no row in the selection."""
    here = counts[met.cell]
    if convention != "multiset":
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = here * np.log1p(-met.ratio)
        return np.where(here > 0, np.where(met.whole, -np.inf, logs), 0.0)
    keys, back = np.unique(np.stack([met.cell.astype(float), met.ratio]), axis=1, return_inverse=True)
    found = [
        log_absent_multiset(ratio, cells.low[int(s)], int(counts[int(s)])) if counts[int(s)] else 0.0
        for s, ratio in keys.T.tolist()
    ]
    return np.where(met.whole & (here > 0), -np.inf, np.array(found, dtype=float)[back.reshape(-1)])


Rows = dict[int, int]  # label (ANY_LABEL: any) -> number of rows


class PriorMembership:
    """The same share before the release, when only the number of rows (and, `assigned`, the labels) is known."""

    def __init__(self, space: Space, chosen: Selections, convention: str, labels: set[int]) -> None:
        self._space, self._chosen, self._convention = space, chosen, convention
        self._ratios = {label: self._ratio(label) for label in labels}

    def _ratio(self, label: int) -> NDArray[np.float64]:
        """Return the share of possible rows (with this label) inside each selection."""
        space, chosen = self._space, self._chosen
        total, out = space.labelled(label), np.zeros(len(chosen))
        if total == 0:
            return out
        fixed, at = space.one_label(label), space.domain.label
        if space.found is None:
            out[:] = 1.0
            for k, sizes in enumerate(chosen.sizes):
                allowed = fixed.get(k) if k == at else None
                kept = [sum(z for p, z in enumerate(s) if allowed is None or allowed[p]) for s in sizes]
                whole = space.domain.attributes[k].total if allowed is None else sum(allowed)
                out *= np.array([x / whole for x in kept])[chosen.codes[:, k]]
            return out
        for q in range(len(chosen)):
            smaller = _smaller_of(chosen, q)
            for k, one in fixed.items():
                smaller[k] = tuple(a if b else 0 for a, b in zip(smaller.get(k, one), one, strict=True))
            out[q] = space.within(smaller) / total
        return out

    def log_absent(self, rows: Rows) -> NDArray[np.float64]:
        """Return ln of the share of datasets with as many rows that have none in the selection."""
        out = np.zeros(len(self._chosen))
        for label, ratio in self._ratios.items():
            n = rows[label]
            if self._convention == "multiset":
                values, back = np.unique(ratio, return_inverse=True)
                out += np.array([log_absent_multiset(r, self._space.size, n) for r in values.tolist()])[back]
            elif n:
                with np.errstate(divide="ignore"):
                    out += n * np.log1p(-ratio)
        return out

    def expected(self, rows: Rows) -> NDArray[np.float64]:
        """Return the mean number of rows in each selection before the release."""
        terms = [rows[label] * ratio for label, ratio in self._ratios.items()]
        out: NDArray[np.float64] = np.sum(terms, axis=0)
        return out


def _smaller_of(chosen: Selections, q: int) -> dict[int, tuple[int, ...]]:
    """Return the attributes that selection q restricts, with their part sizes."""
    return {k: chosen.sizes[k][c] for k, c in enumerate(chosen.codes[q].tolist()) if c}


def _overlap_table(cells: PartitionCells, chosen: Selections, table: BoxIndex) -> OverlapTable:
    """Return the pairs of selections and cells that meet.

    Cells that are boxes: a product over attributes. Else a selection inside one atom of the boxes belongs to
    one region as a whole, and a wider one is counted by `Captures.within`.
    """
    if cells.captures is None:
        return _box_overlaps(cells, chosen, table)
    return _region_overlaps(cells, chosen, table)


@dataclass(frozen=True, eq=False)
class MaskOverlaps:
    """Tables (codes, distinct masks) of one attribute; `at` (boxes,) says which mask every box has.

    The share of the mask's values that the code keeps; whether the code meets the mask, holds all of it, and lies
    inside it.
    """

    at: NDArray[np.intp]
    share: NDArray[np.float64]
    meets: Bits
    holds: Bits
    inside: Bits


class BoxIndex:
    """How the value sets of a batch meet some boxes, per attribute, computed once for all its chunks."""

    def __init__(self, boxes: Sequence[Box], sizes: Sequence[tuple[tuple[int, ...], ...]]) -> None:
        self.boxes, self._sizes = len(boxes), sizes
        self._named = [dict(b.literals) for b in boxes]
        self.mentioned = {k for named in self._named for k in named}
        self._known: dict[int, MaskOverlaps] = {}

    @classmethod
    def for_cells(cls, cells: PartitionCells, sizes: Sequence[tuple[tuple[int, ...], ...]]) -> BoxIndex:
        """Return the table for cells that may hold rows, or, where regions are no boxes, for all boxes in order."""
        if cells.captures is None:
            return cls([cells.boxes[int(s)] for s in cells.occupied], sizes)
        return cls([*cells.release.impossible, *cells.block.boxes], sizes)

    def of(self, k: int) -> MaskOverlaps:
        """Return the tables of attribute k."""
        if k not in self._known:
            masks, at = self.masks(k)
            self._known[k] = MaskOverlaps(at, *_mask_overlaps(self._sizes[k], masks))
        return self._known[k]

    def masks(self, k: int) -> tuple[list[int], NDArray[np.intp]]:
        """Return the distinct masks of attribute k, and which of them every box has."""
        full = (1 << len(self._sizes[k][0])) - 1
        if k not in self.mentioned:
            return [full], np.zeros(self.boxes, dtype=np.intp)
        masks = [named.get(k, full) for named in self._named]
        distinct = {m: i for i, m in enumerate(dict.fromkeys(masks))}
        return list(distinct), np.array([distinct[m] for m in masks], dtype=np.intp)


def _mask_overlaps(
    codes: tuple[tuple[int, ...], ...], masks: list[int]
) -> tuple[NDArray[np.float64], Bits, Bits, Bits]:
    """Return the tables (see `MaskOverlaps`) of value sets against masks; `codes[0]` is the full attribute."""
    parts, total = len(codes[0]), max(1, sum(codes[0]))
    size = -(-parts // 8)
    packed = np.frombuffer(b"".join(m.to_bytes(size, "little") for m in masks), dtype=np.uint8).reshape(-1, size)
    allowed = np.unpackbits(packed, axis=1, count=parts, bitorder="little").T.astype(np.float64)
    sizes = np.array(codes, dtype=np.int64 if total < 1 << 53 else object)
    kept = (sizes / total).astype(np.float64)
    some, lost = (sizes > 0).astype(np.float64), (sizes < sizes[:1]).astype(np.float64)
    whole = kept[:1] @ allowed
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(whole > 0, (kept @ allowed) / whole, 0.0)
    return share, (some @ allowed) > 0, ((lost @ allowed) == 0) & (whole > 0), (some @ (1 - allowed)) == 0


Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], Bits]


def box_pairs(chosen: Selections, table: BoxIndex) -> Pairs:
    """Return the pairs (selection, box of the table) that meet, the share of the box inside, and if it is all."""
    boxes = table.boxes
    meet = np.full((len(chosen), max(1, -(-boxes // 64))), ~np.uint64(0), dtype=np.uint64)
    known: dict[int, MaskOverlaps] = {}
    for k in np.flatnonzero(chosen.codes.any(axis=0)).tolist():
        found = known[k] = table.of(k)
        used, code = np.unique(chosen.codes[:, k], return_inverse=True)
        meet &= pack_rows(found.meets[used][:, found.at])[code.reshape(-1)] if boxes else meet
    spread = np.unpackbits(meet.view(np.uint8), axis=1, bitorder="little")[:, :boxes]
    query, column = np.nonzero(spread)
    ratio, whole = np.ones(len(query)), np.ones(len(query), dtype=bool)
    for k, found in known.items():
        code, where = chosen.codes[query, k], found.at[column]
        ratio *= found.share[code, where]
        whole &= found.holds[code, where]
    return query, column, np.where(whole, 1.0, ratio), whole


def _box_overlaps(cells: PartitionCells, chosen: Selections, table: BoxIndex) -> OverlapTable:
    """Return the meetings with cells that are boxes; only cells that may hold rows count."""
    query, column, ratio, whole = box_pairs(chosen, table)
    return OverlapTable(query, cells.occupied[column], ratio, whole, np.ones(len(query), dtype=bool))


def _region_overlaps(cells: PartitionCells, chosen: Selections, table: BoxIndex) -> OverlapTable:
    """Return the meetings with cells that are boxes minus boxes."""
    inside = _atoms(cells, chosen, table)
    pairs: list[tuple[int, int, float, bool, bool]] = []
    occupied = set(cells.occupied.tolist())
    for q in range(len(chosen)):
        smaller = _smaller_of(chosen, q)
        region = int(inside[q])
        if region == OUTSIDE:
            continue
        if region == SEVERAL:
            low, high = cells.sizes_within(smaller)
            found = [(s, low[s], high[s]) for s in occupied]
        else:
            found = [
                (s, *(_labelled_rows(cells, s, smaller),) * 2) for s in cells.block.by_region[region] if s in occupied
            ]
        for s, minimum, maximum in found:
            if maximum == 0:
                continue
            known = minimum == maximum and cells.low[s] == cells.high[s]
            ratio = minimum / cells.low[s] if known else math.nan
            # The cell lies inside the selection when nothing of it is lost; with bounds only, when the
            # selection's least is the cell's most, and surely not when something is left outside.
            whole = minimum == cells.high[s]
            settled = known or whole or maximum < cells.low[s] or _leaves_some(cells, s, smaller)
            pairs.append((q, s, ratio, whole, minimum > 0 and settled))
    columns = list(zip(*pairs, strict=True)) if pairs else [(), (), (), (), ()]
    return OverlapTable(
        np.array(columns[0], dtype=np.int64),
        np.array(columns[1], dtype=np.int64),
        np.array(columns[2], dtype=np.float64),
        np.array(columns[3], dtype=np.bool_),
        np.array(columns[4], dtype=np.bool_),
    )


def _leaves_some(cells: PartitionCells, s: int, smaller: dict[int, tuple[int, ...]]) -> bool:
    """Return whether cell s surely has a row outside the selection: one that differs in a single attribute."""
    for k, kept in smaller.items():
        sizes = cells.release.domain.attributes[k].sizes
        if cells.sizes_within({k: tuple(f - z for f, z in zip(sizes, kept, strict=True))})[0][s] > 0:
            return True
    return False


OUTSIDE, SEVERAL = -2, -1


def _labelled_rows(cells: PartitionCells, s: int, smaller: dict[int, tuple[int, ...]]) -> int:
    """Return how many rows of an atom (selected part sizes, inside one region) have the label of statement s."""
    size, label_at, label = 1, cells.release.domain.label, int(cells.block.label[s])
    for k, attribute in enumerate(cells.release.domain.attributes):
        parts = smaller.get(k, attribute.sizes)
        size *= parts[label] if k == label_at and label != ANY_LABEL else sum(parts)
    return size


def _atoms(cells: PartitionCells, chosen: Selections, table: BoxIndex) -> NDArray[np.int64]:
    """Return, per selection, the one region it lies in, SEVERAL, or OUTSIDE (only impossible or no rows).

    A selection is inside one region when some box holds all of it and every earlier box misses it.
    """
    boxes = table.boxes
    meet, hold = (np.ones((len(chosen), boxes), dtype=bool) for _ in "ab")
    for k in sorted(table.mentioned):
        found = table.of(k)
        meet &= found.meets[chosen.codes[:, k]][:, found.at]
        hold &= found.inside[chosen.codes[:, k]][:, found.at]
    first_met = np.argmax(meet, axis=1)
    whole = hold[np.arange(len(chosen)), first_met] & meet.any(axis=1)
    region = first_met - cells.skipped
    if not cells.block.first_match:  # disjoint leaves behind impossible boxes: the only leaf that is met
        leaves_met = meet[:, cells.skipped :].sum(axis=1)
        whole &= (region < 0) | (leaves_met == 1)
    out = np.where(whole, np.where(region < 0, OUTSIDE, region), SEVERAL)
    return out.astype(np.int64)
