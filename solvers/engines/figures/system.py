"""Figures of a release over its live cells: sums of rows, and what cells leave of single attributes, with its entropy.

Every raw row that fits a cell is taken as equally likely. A box leaves each attribute its own values alike; a box minus
boxes is counted value by value; a cell of several boxes is their sum.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, Def. 2 (entropy of
single cells); Shannon, "A Mathematical Theory of Communication", 1948.

Which figures of a boosted model given numbers of rows break.

Bounds on selections that are no worse than any single published count around them, or inside them.

The rows of many selections: least and greatest over all histograms, from both sides, without counting any.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import WordLayout, Words
from solvers.cells.partition_cells import MAX_DIAGRAM_WORK, MAX_PROJECTIONS, PartitionCells, cells_of
from solvers.cells.system import CellSystem, Space, system_of
from solvers.engines.figures.partition import MAX_STEPS_OF_DIST, dist_of_mixture
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import ContradictionError
from solvers.foundation.exact import MAX_SUM
from solvers.foundation.limits import Limits
from solvers.histograms.system_membership import Overlap, overlaps
from solvers.programs.verdicts import VerdictProver, indicator
from solvers.statements.boxes import Attribute, Box, Boxes, RowSpace, spans
from solvers.statements.gradients.boosted import Boosted
from solvers.statements.observations import StatementIndex
from solvers.statements.questions.answers import DecideAnswer, settled_share
from solvers.statements.questions.query import Selections
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Partition, Release

if TYPE_CHECKING:
    from solvers.histograms.system_membership import Overlap

Coefficients = NDArray[np.int64]
LARGEST_SUM = MAX_SUM  # sums over all cells below it stay exact in 64 bits


@dataclass(frozen=True, slots=True)
class Hull:
    """The values that some cells leave every attribute (bit masks of parts), and how many raw rows there are.

    `rows` of the cells together, `combinations` of the values; `boxes` make up the cells, where they are few enough.
    """

    masks: tuple[int, ...]
    rows: int
    combinations: int
    boxes: tuple[Box, ...] | None


@dataclass(frozen=True, eq=False)
class SelectionSums:
    """Per selection: what counts the rows in the cells inside it, and those in the cells that it meets."""

    _figures: SystemFigures
    _overlaps: Sequence[Overlap]

    def __getitem__(self, i: int) -> tuple[Coefficients, Coefficients]:
        met = self._overlaps[i]
        return self._figures.counting(met.inside), self._figures.counting(met.cells)


@dataclass(frozen=True, eq=False)
class SystemFigures:
    """The live cells of a release: how many raw rows each has, the boxes that make it up, and sums over cells."""

    _system: CellSystem = field(repr=False)

    @classmethod
    def of(cls, release: Release, limits: Limits) -> SystemFigures:
        """Return the figures. Raises `Unsupported` for too many cells, `Inconclusive` out of time."""
        return cls(system_of(release, limits))

    @property
    def sizes(self) -> Sequence[int]:
        """Return the raw rows of every cell."""
        return self._system.sizes

    @property
    def upper(self) -> Coefficients:
        """Return proved upper bounds on the rows of every cell."""
        return self._system.bounds.upper

    def boxes(self, cells: Sequence[int], maximum: int) -> list[tuple[list[Box], int]]:
        """Return, per cell, at most so many of its boxes, and how many more there are."""
        system = self._system
        shown = [system.pieces[c][:maximum] for c in cells]
        every = iter(system.layout.boxes(system.words[[p for pieces in shown for p in pieces]]))
        return [
            ([next(every) for _ in pieces], max(0, len(system.pieces[c]) - maximum))
            for c, pieces in zip(cells, shown, strict=True)
        ]

    def dist(self, minimum: Coefficients, maximum: Coefficients) -> float | None:
        """Return Dist of rows in no known order from the least and greatest rows of every cell; `dist_of_mixture`.

        None where a cell has more rows in one world than in another: how often each number occurs is not known here.
        """
        held = np.flatnonzero(maximum).tolist()
        if not np.array_equal(minimum, maximum) or sum(len(self._system.pieces[c]) for c in held) > MAX_STEPS_OF_DIST:
            return None
        boxes = self.boxes(held, MAX_STEPS_OF_DIST)
        rows = ((int(maximum[c]), shown) for c, (shown, _) in zip(held, boxes, strict=True))
        return dist_of_mixture(self._system.release.domain, rows)

    def hull(self, cells: Sequence[int], maximum: int) -> Hull:
        """Return what some cells together leave every attribute; their boxes where they are at most so many."""
        system = self._system
        words, domain = system.words[[p for c in cells for p in system.pieces[c]]], system.release.domain
        held = np.bitwise_or.reduce(words, axis=0) if len(words) else np.zeros_like(system.layout.full)
        masks = []
        for k, attribute in enumerate(domain.attributes):
            full = (1 << len(attribute.sizes)) - 1
            masks.append(sum(w << (64 * j) for j, w in enumerate(held[system.layout.span(k)].tolist())) & full)
        around = Box.of((k, m) for k, m in enumerate(masks) if m != (1 << len(domain.attributes[k].sizes)) - 1)
        boxes = tuple(system.layout.boxes(words)) if len(words) <= maximum else None
        return Hull(tuple(masks), sum(system.sizes[c] for c in cells), around.size(domain), boxes)

    def counting(self, cells: Sequence[int]) -> Coefficients:
        """Return the coefficients that count the rows in some cells."""
        out = np.zeros(len(self.sizes), dtype=np.int64)
        out[list(cells)] = 1
        return out

    def selections(self, chosen: Selections) -> SelectionSums:
        """Return, by the number of a selection, what counts its rows; coefficients are made when they are asked for."""
        from solvers.histograms.system_membership import overlaps

        return SelectionSums(self, overlaps(self._system, chosen))

    def statement(self, block: int, s: int) -> Coefficients:
        """Return what counts the rows of statement s of a block (of its cells, each once)."""
        linear, row = self._system.linear, StatementIndex(self._system.release).first[block] + s
        return self.counting(linear.col[linear.start[row] : linear.start[row + 1]].tolist())

    def last(self, statements: int) -> Coefficients:
        """Return (statements, cells): the coefficients of so many statements at the end of the release's last block."""
        system, linear = self._system, self._system.linear
        first = len(linear) - (0 if system.total is None else 1) - statements
        dense = np.zeros((statements, len(system.sizes)), dtype=np.int64)
        for i in range(statements):
            at = slice(int(linear.start[first + i]), int(linear.start[first + i + 1]))
            dense[i, linear.col[at]] = linear.coef[at]
        return dense


def named_only(release: Release) -> Release:
    """Return the release with one value for every attribute that no statement names."""
    named, old = release.mentioned(), release.domain
    kept = tuple(a if k in named else Attribute(a.name, (1,)) for k, a in enumerate(old.attributes))
    return Release(RowSpace(kept, old.label, old.relative), release.rows, release.blocks, release.impossible)


def broken_figures(
    boosted: Boosted, leaves: NDArray[np.int64], times: NDArray[np.int64]
) -> Iterator[tuple[str, float]]:
    """Yield the figures that rows break, by name, with how often half of its interval the sum is from its middle.

    `leaves` (points, trees) are the leaves of every point, `times` (points, classes) its rows. Nothing is said of
    models of a number. Cost: figures times points times classes.
    """
    from solvers.leaf_values.combining import interval_use

    if boosted.gradients.loss == "squared_error":
        return
    for tree, parts in zip(boosted.trees, interval_use(boosted, leaves, times), strict=True):
        for i in np.flatnonzero(parts > 1).tolist():
            yield tree.names[i], float(parts[i])


@dataclass(frozen=True, slots=True)
class RemainingValues:
    """What a cell leaves of one attribute: a bit mask of parts, and the bits of its value.

    `exact`: every part of the mask is some row's and `bits` is the entropy; else the mask holds all parts that are
    left, and maybe others, and `bits` is at least the entropy.
    """

    mask: int
    bits: float
    exact: bool


Values = dict[int, RemainingValues]  # by attribute; every value of those that are left out is as likely as any other


def _entropy(parts: Iterable[tuple[int, int]]) -> float:
    """Return the bits of a value, from (raw rows, values) of every part, the rows spread evenly over its values."""
    held = [(rows, size) for rows, size in parts if rows]
    total = sum(rows for rows, _ in held)
    shares = (rows / total * (math.log2(rows) - math.log2(size)) for rows, size in held)
    return max(0.0, math.log2(total) - math.fsum(shares)) if total else 0.0


def values_before(release: Release, limits: Limits) -> list[RemainingValues]:
    """Return what every attribute can be before the release: any value, but for rows that are impossible.

    Cost: nothing without impossible boxes, else a count per part of the attributes that they name. Raises
    `EngineError` where the impossible boxes are too many to count.
    """
    domain, space = release.domain, Space.of(release, limits)
    named = {k for box in release.impossible for k, _ in box.literals}
    found = []
    for k, attribute in enumerate(domain.attributes):
        if k not in named:
            found.append(RemainingValues(attribute.full, math.log2(attribute.total), True))
            continue
        rows = [space.within({k: _only(attribute, p)}) for p in range(len(attribute.sizes))]
        found.append(_remaining_values(attribute, rows))
    return found


def partition_values(release: Release, limits: Limits, sized: bool = True) -> list[Values]:
    """Return, per statement of a release that is one partition, what its rows leave of the attributes.

    `sized`: the sizes of parts mean something. Cost: linear in literals where the cells are boxes; else a restricted
    count per part of every attribute that is named (see `solvers.statements.regions.captures`), or the cells' own
    boxes where these are too many, the time is up, or sizes are not known.
    """
    cells = cells_of(release, limits)
    attributes = release.domain.attributes
    if cells.captures is None:
        return [_from_box(attributes, box, True) for box in cells.boxes]
    named = sorted({k for b in (*release.impossible, *cells.boxes) for k, _ in b.literals})
    whole = {k: RemainingValues(attributes[k].full, math.log2(attributes[k].total), False) for k in named}
    found = [whole | _from_box(attributes, box, False) for box in cells.boxes]
    counts = sum(len(attributes[k].sizes) for k in named)
    costly = cells.captures.method == "bdd" and counts * len(found) > MAX_DIAGRAM_WORK
    if not sized or not cells.exact or counts > MAX_PROJECTIONS or costly:
        return found
    for k in named:
        rows = _rows_by_part(cells, k, limits)
        if rows is None:
            break
        for s, values in enumerate(found):
            values[k] = _remaining_values(attributes[k], [part[s] for part in rows])
    return found


def _rows_by_part(cells: PartitionCells, k: int, limits: Limits) -> list[list[int]] | None:
    """Return (parts, cells): the raw rows of every cell in each part of attribute k; None where the time is up."""
    attribute, out = cells.release.domain.attributes[k], []
    for p in range(len(attribute.sizes)):
        if limits.expired():
            return None
        out.append(cells.sizes_within({k: _only(attribute, p)})[0])
    return out


def system_values(release: Release, chosen: Sequence[int], limits: Limits, sized: bool = True) -> Iterator[Values]:
    """Yield what the rows of chosen live cells (numbers as in `SystemFigures`) leave of the attributes.

    `sized`: the sizes of parts mean something. Cost: linear in the boxes of these cells times the parts that they name;
    out of time, and where sizes are not known, the values of any box bound what is left. Raises what `SystemFigures.of`
    raises.
    """
    from solvers.cells.system import system_of

    system = system_of(release, limits)
    attributes = release.domain.attributes
    for c in chosen:
        pieces = system.pieces[c]
        boxes = system.layout.boxes(system.words[pieces])
        if len(boxes) == 1:
            yield _from_box(attributes, boxes[0], True)
            continue
        sizes = [system.piece_sizes[i] for i in pieces]
        yield _from_boxes(attributes, boxes, sizes, sized and not limits.expired())


def _from_box(attributes: Sequence[Attribute], box: Box, exact: bool) -> Values:
    """Return what a box leaves: all the values that it allows, alike."""
    found = {}
    for k, mask in box.literals:
        weight = attributes[k].weight(mask)
        found[k] = RemainingValues(mask, math.log2(weight) if weight else 0.0, exact)
    return found


def _from_boxes(attributes: Sequence[Attribute], boxes: Sequence[Box], sizes: Sequence[int], exact: bool) -> Values:
    """Return what disjoint boxes of so many rows leave together; not `exact`: the values of any of them."""
    found: Values = {}
    literals = [dict(box.literals) for box in boxes]
    for k in sorted({k for own in literals for k in own}):
        attribute = attributes[k]
        masks = [own.get(k, attribute.full) for own in literals]
        union = 0
        for mask in masks:
            union |= mask
        same = len(set(masks)) == 1
        if same or not exact:
            found[k] = RemainingValues(union, math.log2(attribute.weight(union)), same)
            continue
        rows = [0] * len(attribute.sizes)
        for mask, size in zip(masks, sizes, strict=True):
            each = size // attribute.weight(mask)  # a product: every value has as many rows
            for start, end in spans(mask):
                for p in range(start, end):
                    rows[p] += each * attribute.sizes[p]
        found[k] = _remaining_values(attribute, rows)
    return found


def _remaining_values(attribute: Attribute, rows: Sequence[int]) -> RemainingValues:
    """Return what so many raw rows in each part leave of an attribute."""
    mask = sum(1 << p for p, n in enumerate(rows) if n)
    return RemainingValues(mask, _entropy(zip(rows, attribute.sizes, strict=True)), True)


def _only(attribute: Attribute, part: int) -> tuple[int, ...]:
    """Return the part sizes of an attribute that has one part only."""
    return tuple(size if p == part else 0 for p, size in enumerate(attribute.sizes))


WORK = 100_000_000  # words of counts that are compared with selections: about a second


@dataclass(frozen=True, eq=False)
class _Counts:
    """What a release counts of boxes. `whole`: the count is of all of the box, not of what earlier rules leave."""

    words: Words
    low: Ints
    high: Ints
    whole: Bits


@dataclass(slots=True)
class _KnownCounts:
    """The counts of a release."""

    counts: _Counts | None = None


def sharpened(release: Release, chosen: Selections, known: DecideAnswer, settled: bool = False) -> DecideAnswer:
    """Return bounds on selections that are no worse than those of any published count around or inside them.

    `settled`: only where that leaves one number; looser bounds would keep whoever asks on from looking for better ones.
    Cost: counts times selections whose rows are not known; beyond `WORK` words the last of these stay as they are.
    """
    if known.status == "exact" or not (known.low < known.high).any():
        return known
    low, high = _counts_around(release, chosen, np.flatnonzero(known.low < known.high))
    low, high = np.maximum(known.low, low), np.minimum(known.high, high)
    better = (low == high) & (known.low < known.high) if settled else (low > known.low) | (high < known.high)
    if not better.any() or (low > high).any():
        return known
    low, high = np.where(better, low, known.low), np.where(better, high, known.high)
    share = settled_share(low, high, known.probability)
    return replace(known, low=low, high=high, probability=share, open=known.open & (low <= 0) & (high > 0))


def _counts_around(release: Release, chosen: Selections, asked: Ints) -> tuple[Ints, Ints]:
    """Return, for the selections asked, the most rows that a count inside has, and the fewest that one around has.

    (0, UNBOUNDED) where there is none, and for the others.
    """
    counts, layout = _counts(release), WordLayout(release.domain)
    least, most = np.zeros(len(chosen), dtype=np.int64), np.full(len(chosen), UNBOUNDED)
    met = chosen.boxes()
    for i in asked[: WORK // max(1, counts.words.size)].tolist():
        outer, inner = layout.rows(Boxes.of(met[i]))
        around = counts.whole & ~(outer & ~counts.words).any(axis=1)
        most[i] = counts.high[around].min(initial=UNBOUNDED)
        inside = ~(counts.words & ~inner).any(axis=1)
        least[i] = counts.low[inside].max(initial=0)
    return least, most


def _counts(release: Release) -> _Counts:
    """Return the counts of a release that hold in every world, collected once."""
    known = release.derived.part(_KnownCounts)
    if known.counts is None:
        every = [(s, s.region) for block in release.loose.values() for s in block]
        loose = [(s, region) for s, region in every if region is not None]
        layout = WordLayout(release.domain)
        boxes = Boxes.of([region.box for _, region in loose])
        words = [layout.rows(boxes), *(_words(layout, p) for p in _parts(release))]
        ends = [
            [np.array([getattr(s, end) for s, _ in loose], dtype=np.int64), *(getattr(p, end) for p in _parts(release))]
            for end in ("low", "high")
        ]
        whole = [np.array([not region.minus for _, region in loose], dtype=bool)]
        whole += [np.full(len(p), not p.first_match) for p in _parts(release)]
        low, high = map(np.concatenate, ends)
        known.counts = _Counts(np.concatenate(words), low, high, np.concatenate(whole))
    return known.counts


def _parts(release: Release) -> list[Partition]:
    return list(release.partitions.values())


def _words(layout: WordLayout, block: Partition) -> Words:
    """Return the boxes of a partition's counts, the label folded in."""
    found: Words = layout.rows(block.boxes)[block.region]
    k = layout.domain.label
    counted = np.flatnonzero(block.label != ANY_LABEL)
    if k is not None and len(counted):
        label, first = block.label[counted].astype(np.int64), layout.at[k]
        only = np.zeros((len(counted), layout.at[k + 1] - first), dtype=np.uint64)
        only[np.arange(len(counted)), label // 64] = np.left_shift(np.uint64(1), (label % 64).astype(np.uint64))
        found[counted, first : layout.at[k + 1]] &= only
    return found


def selection_bounds(release: Release, selections: Selections, limits: Limits) -> Iterator[tuple[int, int, bool]]:
    """Yield, per selection, the least and the greatest number of its rows, and whether both are attained.

    From outside by linear programs over the cells in whole numbers (safe dual bounds), from inside by histograms that
    CP-SAT finds: attained where both meet. For many selections of one release this is far cheaper than a decision by an
    engine that counts the histograms as well.

    Raises `ContradictionError` where there is no histogram, `Unsupported` for too many cells, `Inconclusive` out of
    time: what was yielded by then holds. Cost: two linear programs and two of CP-SAT's solves per selection.
    """
    system = system_of(release, limits)
    if system.bounds.conflict is not None:
        raise ContradictionError("no dataset fits", ())
    prover = VerdictProver(system, limits.limited())
    if prover.relaxation.refutes(limits):
        raise ContradictionError("no dataset fits", ())
    for met in overlaps(system, selections, limits):
        yield _extremes(prover, met, limits)


def _extremes(prover: VerdictProver, met: Overlap, limits: Limits) -> tuple[int, int, bool]:
    """Return the least and the greatest number of rows of one selection; see `selection_bounds`."""
    ends = []
    whole = met.cells == met.inside and not prover.system.coarse and not prover.system.release.loosened
    for greatest in (False, True):
        limits.check("rows of selections are bounded")
        coefs = indicator(met.cells if greatest else met.inside, prover.system)
        outer = prover.outer(coefs, greatest)
        if any(int(coefs @ known) == outer for known in prover.pool):  # found for another selection
            ends.append((outer, whole))
            continue
        solved = prover.exactly(coefs, greatest, prover.limits.stage("selection"))
        if solved.none:
            raise ContradictionError("no dataset fits", ())
        if solved.histogram is not None:
            proved = solved.bounds[1] if greatest else solved.bounds[0]
            outer = min(outer, proved) if greatest else max(outer, proved)
        reached = solved.histogram is not None and int(coefs @ solved.histogram) == outer
        ends.append((outer, whole and reached))
    return ends[0][0], ends[1][0], ends[0][1] and ends[1][1]
