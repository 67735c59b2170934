"""The true rows beside the statements: which of them they break."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.values import Continuous, Ranges
from encoders.encode.encoder import EncodedRelease
from encoders.kinds.table import source_of
from encoders.models.models import Table
from encoders.parts.statistics import StatisticGroup, bounds, number, numbers_of
from recon.readers.frames.selections import frame_ranges, select_frame, whole_rows
from solvers.engines.figures.values import broken as broken_figures
from solvers.foundation.errors import ReleaseError
from solvers.laws.gradients.boosted import Boosted
from solvers.statements.boxes import Box, Boxes, Region
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Choice, Loose, Partition, Statement

SHOWN = 3  # attributes named in a sentence

MAX_BITS = 1 << 25  # distinct rows times boxes looked at together


def demand_attributes(release: EncodedRelease, truth: pd.DataFrame) -> None:
    """Raise `ReleaseError` where the true rows say nothing about some attribute."""
    if missing := [a.name for a in release.domain.all if not speaks_of(release, truth, a.name)]:
        message = f"the truth says nothing about the attribute '{missing[0]}'"
        raise ReleaseError(message, file=truth.attrs.get("file", ""))


def violations(release: EncodedRelease, truth: pd.DataFrame, seen: TrueRows | None = None) -> list[str]:
    """Return the statements that the true rows break, in words; empty when they are a possible world.

    `seen`: the same rows as the release sees them, where they are at hand.
    """
    demand_attributes(release, truth)
    truth = whole_rows(truth, release.domain)
    rows = seen or TrueRows.of(release, truth)
    broken = []
    known = release.declared or release.rows  # not those that the intervals at this confidence leave
    if len(truth) < known.low or (known.high is not None and len(truth) > known.high):
        text = known.low if known.exact else f"{known.low} to {known.high}"
        broken.append(f"the release is of {text} rows, the truth has {len(truth)}")
    for block in release.statements.blocks:
        if isinstance(block, Partition):
            counts = rows.per_statement(block, release.statements.domain.label)
            for s in np.flatnonzero((counts < block.low) | (counts > block.high)).tolist():
                low, high = int(block.low[s]), int(block.high[s])
                broken.append(f"{block.source(s)}: {between(low, high)} rows released, {counts[s]} in the truth")
        elif isinstance(block, Choice):
            if not any(all(rows.holds(s) for s in alternative) for alternative in block.alternatives):
                broken.append(f"{block.name}: none of its {len(block.alternatives)} readings holds in the truth")
        elif isinstance(block, Loose):
            broken += [_violation_text(rows, s) for s in block if not s.coarse and not rows.holds(s)]
    broken += [line for model in release.statements.boosted for line in _leaf_values_broken(release, model, rows)]
    broken += _coarse_figures(release, truth, rows)
    for i, box in enumerate(release.statements.impossible):
        hit = rows.inside(box)
        if hit.any():
            row = int(np.flatnonzero(hit[rows.back])[0]) + 1
            broken.append(f"domain.impossible[{i}]: row {row} of the truth is in it")
    return broken


def _leaf_values_broken(release: EncodedRelease, model: Boosted, rows: TrueRows) -> Iterator[str]:
    """Yield the leaf values of a boosted model that the true rows break; none where a row leaves its leaf open.

    Of a real target nothing is said: the rows do not have it.
    """
    label, blocks = release.statements.domain.label, release.statements.partitions
    if label is None or not model.labels:
        return
    leaves = np.stack([rows.regions(blocks[b].boxes) for b in model.blocks], axis=1)
    if (leaves < 0).any() or (rows.parts[label].sum(axis=1)[rows.codes[:, label]] > 1).any():
        return
    values = rows.parts[label].argmax(axis=1)[rows.codes[:, label]]
    known = np.isin(values, model.labels)
    if not known.all():
        yield f"{model.name}: {int(rows.times[~known].sum())} rows of the truth have a label that it does not know"
        return
    points, at = np.unique(leaves, axis=0, return_inverse=True)
    times = np.zeros((len(points), len(model.labels)), dtype=np.int64)
    classes = {value: k for k, value in enumerate(model.labels)}
    np.add.at(times, (at.reshape(-1), np.array([classes[v] for v in values.tolist()], dtype=np.int64)), rows.times)
    for name, far in broken_figures(model, points, times):
        yield f"{model.name}, {name}: the truth is {far:.3g} times as far from it as what is published allows"


def _violation_text(rows: TrueRows, statement: Statement) -> str:
    """Format which statement the true rows break, and by how much."""
    found, stated = rows.total(statement), between(statement.low, statement.high)
    if statement.of is None:
        return f"{statement.source}: {stated} rows released, {found} in the truth"
    return f"{statement.source}: a sum over its rows is {stated} as released, {found} in the truth"


def between(low: int, high: int) -> str:
    """Return a closed interval in words."""
    if low == high:
        return str(low)
    if high == UNBOUNDED:
        return f"at least {low}"
    return f"at most {high}" if low == -UNBOUNDED else f"{low} to {high}"


def _coarse_figures(release: EncodedRelease, truth: pd.DataFrame, rows: TrueRows) -> list[str]:
    """Return the means and totals that the true rows break, of attributes too large to be cut at every value.

    Their statements say less than was published, so the figures themselves are checked, on the raw values.
    """
    broken = []
    for model in release.models:
        for i, figure in enumerate(model.statements if isinstance(model, Table) else ()):
            statistic = figure.statistic
            if not isinstance(model, Table) or statistic is None:
                continue
            box = release.cut.box(release.domain.resolve(figure.condition))
            if not StatisticGroup.of(box, numbers_of(release.cut, statistic.of), release.rows, "").coarse:
                continue
            k = release.domain.place[statistic.of]
            codes, ranges = frame_ranges(truth, release.domain)[k]
            times = np.bincount(codes[rows.inside(box)[rows.back]], minlength=len(ranges)).tolist()
            values = [_raw_number(release, k, r) if n else Fraction(0) for n, r in zip(times, ranges, strict=True)]
            found, n = sum((n * v for n, v in zip(times, values, strict=True)), Fraction(0)), sum(times)
            if statistic.kind == "mean":
                found /= max(n, 1)
            low, high = bounds(statistic)
            if not low <= found <= high:
                text = f"{statistic.value}" + (f" ± {statistic.within}" if statistic.within else "")
                broken.append(f"{source_of(model, i)}: {text} released, {float(found):.12g} in the truth")
    return broken


def _raw_number(release: EncodedRelease, k: int, ranges: Ranges) -> Fraction:
    """Return the number that a cell of the truth gives attribute k; `ReleaseError` where it leaves it open."""
    attribute = release.domain.all[k]
    if isinstance(attribute, Continuous) or len(ranges) != 1 or ranges[0][1] - ranges[0][0] != 1:
        raise ReleaseError(f"the truth leaves '{attribute.name}' open in some row, and it is summed")
    return number(attribute, ranges[0][0])


def speaks_of(release: EncodedRelease, frame: pd.DataFrame, name: str) -> bool:
    """Return whether a frame has a column for an attribute: the attribute itself or a view of it."""
    views = release.domain.columns
    return any(str(c) == name or (str(c) in views and views[str(c)].attribute == name) for c in frame.columns)


@dataclass(frozen=True, eq=False)
class TrueRows:
    """The d distinct rows of the truth in the release's parts, and how often each occurs.

    `codes` is (d, attributes), `times` (d,), `back` the distinct row of each row. `parts[k]` is (codes, parts): which
    parts a code of attribute k allows; several where the truth leaves the attribute open. A row counts as inside a
    region only where it surely is. `sums` remembers, per region and attribute, the rows per part.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int32]
    times: NDArray[np.int64]
    back: NDArray[np.int64]
    parts: tuple[NDArray[np.bool_], ...]
    sums: dict[tuple[Region, int | None], NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def of(cls, release: EncodedRelease, truth: pd.DataFrame) -> TrueRows:
        """Return the true rows as the release sees them."""
        selected = select_frame(release, whole_rows(truth, release.domain))
        codes, back, times = np.unique(selected.codes, axis=0, return_inverse=True, return_counts=True)
        parts = tuple(np.array(table) > 0 for table in selected.sizes)
        names = tuple(a.name for a in release.domain.all)
        return cls(names, codes, times.astype(np.int64), back.reshape(-1), parts)

    def allowed(self, k: int, masks: NDArray[Any]) -> NDArray[np.bool_]:
        """Return (codes, masks): whether the parts of each code of attribute k are all inside each mask."""
        width = self.parts[k].shape[1]
        raw = b"".join(int(m).to_bytes((width + 7) // 8, "little") for m in masks)
        bits = np.unpackbits(np.frombuffer(raw, np.uint8).reshape(len(masks), -1), axis=1, bitorder="little")
        inside = bits[:, :width].astype(bool)
        out = np.ascontiguousarray(inside[:, self.parts[k].argmax(axis=1)].T)
        for code in np.flatnonzero(self.parts[k].sum(axis=1) > 1).tolist():
            out[code] = inside[:, self.parts[k][code]].all(axis=1)
        return out

    def inside(self, box: Box) -> NDArray[np.bool_]:
        """Return (d,): whether each distinct row is in the box."""
        hit = np.ones(len(self.codes), dtype=bool)
        for k, mask in box.literals:
            hit &= self.allowed(k, np.array([mask], dtype=object))[self.codes[:, k], 0]
        return hit

    def regions(self, boxes: Boxes) -> NDArray[np.int64]:
        """Return (d,): the first box that each distinct row is in, -1 where it surely is in none.

        Boxes are bits: per attribute and code the boxes that allow it, intersected over the attributes.
        """
        found = np.full(len(self.codes), -1, dtype=np.int64)
        widest = max([len(self.codes), *(len(p) for p in self.parts)])
        step = max(8, MAX_BITS // max(1, widest))
        for first in range(0, len(boxes), step):
            last = min(first + step, len(boxes))
            span = slice(int(boxes.start[first]), int(boxes.start[last]))
            box = np.repeat(np.arange(last - first), np.diff(boxes.start[first : last + 1]))
            sure = np.full((len(self.codes), (last - first + 7) // 8), 255, dtype=np.uint8)
            for k in np.unique(boxes.attribute[span]).tolist():
                at = boxes.attribute[span] == k
                masks, which = np.unique(boxes.mask[span][at], return_inverse=True)
                table = np.ones((len(self.parts[k]), last - first), dtype=bool)
                table[:, box[at]] = self.allowed(k, masks)[:, which.reshape(-1)]
                sure &= np.packbits(table, axis=1)[self.codes[:, k]]
            bits = np.unpackbits(sure, axis=1, count=last - first)
            hit = (found < 0) & bits.any(axis=1)
            found[hit] = first + bits[hit].argmax(axis=1)
        return found

    def per_statement(self, block: Partition, label: int | None) -> NDArray[np.int64]:
        """Return how many true rows each statement of a partition counts."""
        region = self.regions(block.boxes)
        labels = 1 if label is None else self.parts[label].shape[1]
        located = region >= 0
        by_region = np.bincount(region[located], self.times[located], minlength=len(block.boxes))
        counts = by_region[block.region]
        if label is not None:
            single = self.parts[label].sum(axis=1) == 1
            located &= single[self.codes[:, label]]
            value = self.parts[label].argmax(axis=1)[self.codes[:, label]]
            both = (region * labels + value)[located]
            by_label = np.bincount(both, self.times[located], minlength=len(block.boxes) * labels)
            counts = np.where(block.label == ANY_LABEL, counts, by_label[block.region * labels + block.label])
        return counts.astype(np.int64)

    def total(self, statement: Statement) -> int:
        """Return the sum that a statement is about: rows, or coefficients of their parts."""
        key = statement.region, statement.of
        if key not in self.sums:
            self.sums[key] = self.per_part(*key)
        found = self.sums[key]
        return int(found.sum() if statement.of is None else found @ np.array(statement.coefs, dtype=np.int64))

    def per_part(self, region: Region, of: int | None) -> NDArray[np.int64]:
        """Return the rows in a region, per part of attribute `of`; `ReleaseError` where one leaves it open."""
        hit = self.inside(region.box)
        for box in region.minus:
            hit &= ~self.inside(box)
        if of is None:
            return self.times[hit]
        codes = self.codes[hit, of]
        if (self.parts[of].sum(axis=1)[codes] > 1).any():
            raise ReleaseError(f"the truth leaves '{self.names[of]}' open in some row, and it is summed")
        part = self.parts[of].argmax(axis=1)[codes]
        return np.bincount(part, self.times[hit], minlength=self.parts[of].shape[1]).astype(np.int64)

    def holds(self, statement: Statement) -> bool:
        """Return whether the true rows keep a statement."""
        return statement.low <= self.total(statement) <= statement.high
