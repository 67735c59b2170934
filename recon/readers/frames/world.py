"""A possible world as users hold it: rows with their values, as attributes or as the binary columns.

The true rows beside the statements: which of them they break.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.domain import Domain, middles
from encoders.domain.values import AnyAttribute, Continuous, Grid, Ranges, Value, exact, is_number
from encoders.encode.encoder import EncodedRelease
from encoders.kinds.table import source_of
from encoders.parts.base import CutDomain
from encoders.parts.statistics import StatisticGroup, bounds, number, numbers_of
from recon.readers.frames.selections import frame_ranges, select_frame, whole_rows
from solvers.engines.figures.system import broken_figures
from solvers.foundation.displayed import WIDTH, Displayed, DisplayFacts, many
from solvers.foundation.errors import ReleaseError
from solvers.foundation.exact import short_number
from solvers.statements.boxes import Box, Boxes, Region
from solvers.statements.gradients.boosted import Boosted
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Choice, Loose, Partition, Statement, Summand
from solvers.statements.release import RowWorld as SolverWorld

if TYPE_CHECKING:
    from solvers.foundation.plots import Axes

SHOWN = 3  # attributes named in a sentence

MAX_BITS = 1 << 25  # distinct rows times boxes looked at together


def demand_attributes(release: EncodedRelease, truth: pd.DataFrame) -> None:
    """Raise `ReleaseError` where the true rows say nothing about some attribute."""
    if missing := [a.name for a in release.domain.all if not speaks_of(release, truth, a.name)]:
        message = f"has no column for the attribute '{missing[0]}'"
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
    figures = _coarse_figures(release, truth, rows)
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
            said = (s for s in block if not (s.coarse and any(line.startswith(s.source) for line in figures)))
            broken += [_violation_text(rows, s) for s in said if not rows.holds(s)]
    broken += [line for model in release.statements.boosted for line in _leaf_values_broken(release, model, rows)]
    broken += figures
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
    if statement.region is not None:
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
        for i, figure in enumerate(model.figures()):
            statistic = figure.statistic
            if statistic is None:
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
                broken.append(f"{source_of(model, i)}: {text} released, {short_number(found, 12)} in the truth")
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


RowsByParts = tuple[NDArray[np.int64], NDArray[np.int64]]  # how many rows, and their parts of some attributes


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
    sums: dict[tuple[Region, tuple[int, ...]], RowsByParts] = field(default_factory=dict)

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
        return sum(self._sum(one) for one in statement.summands)

    def _sum(self, one: Summand) -> int:
        """Return what a summand adds up to."""
        times, parts = self.per_part(one.region, tuple(k for k, _ in one.factors))
        found = times * one.times
        for column, (_, coefs) in zip(parts.T, one.factors, strict=True):
            found = found * np.array(coefs, dtype=np.int64)[column]
        return int(found.sum())

    def per_part(self, region: Region, of: tuple[int, ...]) -> RowsByParts:
        """Return rows in a region and, in a column each, their parts of attributes `of`.

        `ReleaseError` where a row leaves one open.
        """
        if (region, of) in self.sums:
            return self.sums[region, of]
        hit = self.inside(region.box)
        for box in region.minus:
            hit &= ~self.inside(box)
        parts = np.zeros((int(hit.sum()), len(of)), dtype=np.int64)
        for j, k in enumerate(of):
            codes = self.codes[hit, k]
            if (self.parts[k].sum(axis=1)[codes] > 1).any():
                raise ReleaseError(f"the truth leaves '{self.names[k]}' open in some row, and it is summed")
            parts[:, j] = self.parts[k].argmax(axis=1)[codes]
        distinct, at = np.unique(parts, axis=0, return_inverse=True)
        times = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(times, at.reshape(-1), self.times[hit])
        self.sums[region, of] = times, distinct
        return times, distinct

    def holds(self, statement: Statement) -> bool:
        """Return whether the true rows keep a statement."""
        return statement.low <= self.total(statement) <= statement.high


HEAD = 8  # rows of a preview
ALONE = {True: "the only possible world", False: "one of several possible worlds", None: "perhaps one of several"}
PICTURED = 500  # rows of a plot


def _values_of(attribute: AnyAttribute, indices: NDArray[Any]) -> NDArray[Any]:
    """Return the values at raw indices, decoded once per distinct index; NaN where one is missing.

    Numbers with a missing one are floats, as pandas reads such columns, unless floats cannot tell them apart.
    """
    distinct, back = np.unique(indices, return_inverse=True)
    cells = [attribute.value(int(i)) for i in distinct]
    decoded: list[Value] = [np.nan if c is None else c for c in cells]
    if None in cells:
        known = [c for c in cells if c is not None]
        plain = all(is_number(c) and not isinstance(c, bool) and abs(c) <= 1 << 53 for c in known)
        return np.array(decoded, dtype=np.float64 if plain else object)[back.reshape(-1)]
    whole = all(isinstance(v, int) and abs(v) < 1 << 62 for v in decoded)
    kind: Any = np.int64 if whole else (np.float64 if isinstance(attribute, Grid) else object)
    if isinstance(attribute, Grid) and not whole and all(isinstance(v, int) for v in decoded):
        kind = object
    table: NDArray[Any] = np.empty(len(decoded), dtype=kind)
    table[:] = decoded
    return table[back.reshape(-1)]


def parts_of(cut: CutDomain, k: int, indices: NDArray[Any]) -> list[int]:
    """Return the part of attribute k that every raw index lies in."""
    ends = cut.solver.attributes[k].ends
    return [bisect_right(ends, int(i)) - 1 for i in indices]


def _numbers_of(cut: CutDomain, k: int, indices: NDArray[Any]) -> NDArray[np.float64]:
    """Return the number that stands for the part of each raw index of a continuous attribute; NaN: missing."""
    found = [np.nan if x is None else x for x in middles(cut.cuts[k])]
    return np.array([found[part] for part in parts_of(cut, k, indices)], dtype=np.float64)


def _within_ranges(numbers: NDArray[np.float64], attribute: Continuous, ranges: Ranges) -> NDArray[np.bool_]:
    """Return which numbers (NaN: missing) lie in ranges of a continuous attribute's positions."""
    last = attribute.gap
    spans = [last if np.isnan(x) else ((exact(float(x)), 0), (exact(float(x)), 1)) for x in numbers]
    return np.array([any(start <= a and b <= end for start, end in ranges) for a, b in spans], dtype=bool)


@dataclass(frozen=True, eq=False, repr=False)
class World(Displayed):
    """One possible world. `unique` is True when no other world exists, False when others do, None if not asked.

    `cut`: the parts of continuous attributes, whose raw indices only say in which part a number is. `convention`: the
    one in which worlds were listed; `weigh` computes `weight`.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> next(recon.worlds(release)).to_frame()
       smoker  old  ill
    0       0    0    0
    1       0    0    0
    2       1    1    1
    3       1    0    0
    """

    domain: Domain
    inner: SolverWorld
    cut: CutDomain | None = None
    convention: str | None = None
    weigh: Callable[[SolverWorld], int | None] | None = field(default=None, repr=False)

    @cached_property
    def weight(self) -> int | None:
        """Return for how many worlds of its convention a listed world stands; over all listed, the number of worlds.

        `multiset`: 1; `ordered`: the orders of its rows; `assigned`: those leaf by leaf. None where the world was not
        listed, or rows distinguished by position share too many values. Cost: linear in rows; `assigned`: times leaves.
        """
        return None if self.weigh is None else self.weigh(self.inner)

    @property
    def unique(self) -> bool | None:
        """Return whether this is the only possible world (None: not known)."""
        return self.inner.unique

    @property
    def note(self) -> str:
        """Return how the world was found, or how many others there are, where `unique` does not say it."""
        return self.inner.note

    @property
    def figures(self) -> dict[str, Any]:
        """Return what else is known of the world as named numbers: of noisy counts how likely it is."""
        return dict(self.inner.figures)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.inner.times.sum())

    def chosen(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the raw value indices of rows by their number; nothing is repeated for it."""
        return self.inner.values[np.searchsorted(np.cumsum(self.inner.times), rows, side="right")]

    def _facts(self) -> DisplayFacts:
        size = f"{many(self.rows, 'row')} of {many(len(self.domain.all), 'column')}"
        return DisplayFacts(
            f"{size}, {ALONE[self.unique]}", [("different rows, at most", len(self.inner.times))],
            [a.name for a in self.domain.all], self._head, self.rows, [self.note] if self.note else (),
            "to_frame(), plot()",
        )  # fmt: skip

    def _head(self) -> list[tuple[object, ...]]:
        """Return the values of the first rows, as many columns as a preview has."""
        head = self.chosen(np.arange(min(HEAD, self.rows)))
        columns = (self.column(k, head[:, k]).tolist() for k in range(min(WIDTH, len(self.domain.all))))
        return list(zip(*columns, strict=True))

    def column(self, k: int, indices: NDArray[Any]) -> NDArray[Any]:
        """Return the values of attribute k at raw indices, of a continuous one the middle of its gap."""
        attribute = self.domain.all[k]
        if self.cut and isinstance(attribute, Continuous):
            return _numbers_of(self.cut, k, indices)
        return _values_of(attribute, indices)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with the rows as a picture: from dark (the first of an attribute's values) to bright (the last).

        At most 500 rows, evenly chosen, and 40 columns. Raises `Unsupported` without matplotlib.
        """
        from solvers.foundation.plots import BARS, picture

        everybody, wide = self.rows, min(BARS, len(self.domain.all))
        rows = np.unique(np.linspace(0, max(everybody - 1, 0), min(PICTURED, everybody)).astype(np.int64))
        found = self.chosen(rows)[:, :wide].astype(np.float64)
        last = np.maximum(found.max(axis=0, initial=1.0), 1.0)
        if self.cut is not None:
            last = np.array([max(float(a.total - 1), 1.0) for a in self.cut.solver.attributes[:wide]])
        shares = found / last
        title = f"One possible world: {many(everybody, 'row')}"
        title += "" if len(rows) == everybody else f" ({len(rows):,} of them)"
        return picture(shares, [a.name for a in self.domain.all[:wide]], title, everybody, ax)

    def indices(self) -> NDArray[Any]:
        """Return (rows, attributes) raw value indices, the label last."""
        return np.repeat(self.inner.values, self.inner.times, axis=0)

    def to_frame(self, views: bool = False) -> pd.DataFrame:
        """Return the rows: one column per attribute and the label; `views`: the binary columns where declared.

        A missing value is NaN (0 or 1 in a binary column, as its test says). For a continuous attribute the middle of
        the gap between the thresholds around the number.
        """
        return self._frame(self.indices(), views)

    def _frame(self, values: NDArray[Any], views: bool = False) -> pd.DataFrame:
        """Return raw value indices (rows, attributes) as a table; see `to_frame`."""
        columns: dict[str, NDArray[Any]] = {}
        viewed: dict[int, list[str]] = {}
        for name in self.domain.columns if views else ():
            viewed.setdefault(self.domain.view_ranges(name)[0], []).append(name)
        for k, attribute in enumerate(self.domain.all):
            numbers = _numbers_of(self.cut, k, values[:, k]) if self.cut and isinstance(attribute, Continuous) else None
            for name in viewed.get(k, ()):
                _, ranges = self.domain.view_ranges(name)
                if numbers is not None and isinstance(attribute, Continuous):
                    columns[name] = _within_ranges(numbers, attribute, ranges).astype(np.int64)
                    continue
                inside = np.zeros(len(values), dtype=bool)
                for start, end in ranges:
                    inside |= ((values[:, k] >= start) & (values[:, k] < end)).astype(bool)
                columns[name] = inside.astype(np.int64)
            if k not in viewed:
                columns[attribute.name] = _values_of(attribute, values[:, k]) if numbers is None else numbers
        return pd.DataFrame(columns)


def wrap(release: EncodedRelease, world: SolverWorld) -> World:
    """Return a solver's world with the domain to read it by.

    Where values have weights, as many raw indices stand for one value: they become its position.
    """
    for k, cuts in enumerate(release.cut.cuts):
        if cuts.weights is not None:
            values, back = np.unique(world.values[:, k], return_inverse=True)
            positions = np.array([cuts.position_of_raw(int(v)) for v in values], dtype=world.values.dtype)
            table = world.values.copy()
            table[:, k] = positions[back.reshape(-1)]
            world = replace(world, values=table)
    return World(release.domain, world, release.cut)
