"""Steps of a proof by leaf values, replayed: bounds on the rows of cells that move only by what weighted sums imply.

Everything is in whole numbers: coefficients are intervals between multiples of 2^-BITS. Sums of products of many
digits are made of products of few, which doubles hold exactly.

Source: docs/certificates.md, "Leaf values"; Farkas, 1902, with intervals for coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Floats, Ints
from solvers.foundation.errors import CertificateError, NotVerified
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements
from solvers.kernel.claims import Form, LeafValues, Refined
from solvers.kernel.leaf_values.blocks import cells_blocks
from solvers.kernel.leaf_values.coefficients import FigureCoefficients, SourceWeights, Whole, column
from solvers.kernel.leaf_values.cutting import Cutter
from solvers.kernel.proof_format import printable
from solvers.statements.boxes import Box, Boxes
from solvers.statements.gradients.enclosed import BITS
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Release

UNITS = BITS + 1  # sums of both ends of coefficients, which are twice their middles, are whole numbers of 2^-UNITS
TOGETHER = 256  # forms checked at a time
HELD = 1 << 20  # coefficients held as limbs at a time
SUMMED = 1 << 12  # sources added up in doubles: with limbs of 24 and 16 bits sums stay below 2^53
LIMB, SHORT = 24, 16  # bits of the limbs of coefficients, and of multipliers
LONGEST = 1_024  # bits of a number in a proof


@dataclass(frozen=True, eq=False)
class ProvedSum:
    """Σ coefficient * column of the cells of a stage lies between `low` and `high`."""

    stage: int
    columns: Ints
    coefficients: Whole
    low: int
    high: int


class LeafValueReplay:
    """Cells, bounds on their columns, and facts, step by step."""

    def __init__(self, facts: NumberedStatements, model: int, limits: Limits) -> None:
        self.facts, self.limits = facts, limits
        self.cutter = Cutter(facts, model)
        self.boosted, self.labels = self.cutter.boosted, self.cutter.labels
        self.cells = self.cutter.start()
        self.maximum = int(facts.release.rows.high or 0)
        self.lower: Ints = np.zeros(len(self.cells) * self.labels, dtype=np.int64)
        barred = [k for k in range(self.labels) if self.boosted.labels and k not in self.boosted.labels]
        upper = np.full((len(self.cells), self.labels), self.maximum, dtype=np.int64)
        upper[:, barred] = 0
        self.upper: Ints = upper.reshape(-1)
        self.figures = FigureCoefficients(self.boosted, self.labels)
        self.figures.over(self.cells)
        self.ancestor = [np.arange(len(self.cells), dtype=np.int64)]  # per stage: which of its cells each is part of
        self.known: list[ProvedSum] = []
        self._ends: dict[int, tuple[int, int]] = {}

    def run(self, steps: Sequence[Refined | Form]) -> None:
        """Follow all steps; raises `CertificateError` at the first that does not hold."""
        i = 0
        while i < len(steps):
            if self.limits.expired():
                raise NotVerified("not verified: the time was up")
            one = steps[i]
            if isinstance(one, Refined):
                self.refine(one, i)
                i += 1
                continue
            end = i + 1
            while end < len(steps) and end - i < TOGETHER and isinstance(steps[end], Form):
                end += 1
            self.forms([s for s in steps[i:end] if isinstance(s, Form)], i)
            i = end

    # ------------------------------------------------------------ cells

    @property
    def alive(self) -> Bits:
        """Return the cells that can hold rows."""
        return np.asarray((self.upper.reshape(-1, self.labels) > 0).any(axis=1))

    def refine(self, step: Refined, i: int) -> None:
        """Drop the cells without rows, and cut the others by more trees."""
        if not self.cells.trees < step.trees <= len(self.boosted.trees):
            raise CertificateError(f"step {i} cuts the cells by {printable(step.trees)} trees")
        alive = self.alive
        old = np.flatnonzero(alive)
        self.cells = self.cutter.refined(self.cells.kept(alive), step.trees)
        stage, one = len(self.ancestor) - 1, np.ones(1, dtype=object)
        for c in old.tolist():
            for j in range(c * self.labels, (c + 1) * self.labels):
                ends = int(self.lower[j]), int(self.upper[j])
                self.known.append(ProvedSum(stage, np.array([j], dtype=np.int64), one, *ends))
        parent = self.cells.parent
        alone = (np.bincount(parent, minlength=len(old)) == 1)[parent]
        came = old[parent]
        lower, upper = self.lower.reshape(-1, self.labels)[came], self.upper.reshape(-1, self.labels)[came]
        self.lower, self.upper = np.where(alone[:, None], lower, 0).reshape(-1), upper.reshape(-1)
        self.ancestor = [*(a[came] for a in self.ancestor), np.arange(len(self.cells), dtype=np.int64)]
        self.figures.over(self.cells)

    # ------------------------------------------------------------ sources

    def row(self, s: int) -> SourceWeights:
        """Return the coefficients of a source over the present columns."""
        if s >= len(self.facts) + len(self.figures):
            return self.fact_row(self.known[s - len(self.facts) - len(self.figures)])
        if s >= len(self.facts):
            return self.figures.row(s - len(self.facts))
        columns = self.counted(s)
        one = np.full(len(columns), 1 << BITS, dtype=object)
        return SourceWeights(columns, one, one)

    def counted(self, s: int) -> Ints:
        """Return the columns whose rows a statement counts; refuses those that the cells do not tell apart."""
        every = np.arange(len(self.upper), dtype=np.int64)
        if s == self.facts.rows:
            return every
        b = self.facts.block_of(s)
        cut = self.cutter.blocks[: self.cells.regions.shape[1]]
        if b not in cut:
            raise CertificateError(f"statement {s} is of no partition that cut the cells")
        block = self.facts.release.partitions[b]
        at = s - self.facts.first[b]
        here = self.cells.regions[:, cut.index(b)] == block.region[at]
        label = int(block.label[at])
        counted = (every % self.labels == label) | (label == ANY_LABEL)
        return np.flatnonzero(np.repeat(here, self.labels) & counted).astype(np.int64)

    def fact_row(self, fact: ProvedSum) -> SourceWeights:
        """Return the coefficients of a fact over the parts of its columns."""
        ancestor = self.ancestor[fact.stage]
        columns = (ancestor[:, None] * self.labels + np.arange(self.labels)).reshape(-1)
        order = np.argsort(fact.columns)
        place = np.minimum(np.searchsorted(fact.columns, columns, sorter=order), len(order) - 1)
        here = np.flatnonzero(fact.columns[order[place]] == columns)
        value = fact.coefficients[order[place[here]]] << BITS
        return SourceWeights(here, value, value)

    def ends(self, s: int) -> tuple[int, int]:
        """Return what a source says its sum lies between, in units of 2^-UNITS, rounded outwards."""
        if s not in self._ends:
            self._ends[s] = self.stated(s)
        return self._ends[s]

    def stated(self, s: int) -> tuple[int, int]:
        """Return the ends of a source, worked out anew."""
        if s >= len(self.facts) + len(self.figures):
            fact = self.known[s - len(self.facts) - len(self.figures)]
            return fact.low << UNITS, fact.high << UNITS
        if s >= len(self.facts):
            return self.figures.ends(s - len(self.facts), UNITS)
        low, high = int(self.facts.low[s]), int(self.facts.high[s])
        if UNBOUNDED in (abs(low), abs(high)):
            raise CertificateError(f"statement {s} has no two ends")
        return low << UNITS, high << UNITS

    # ------------------------------------------------------------ forms

    def forms(self, batch: Sequence[Form], first: int) -> None:
        """Check forms one after the other, and take over what they show."""
        start = len(self.facts) + len(self.figures) + len(self.known)
        for i, form in enumerate(batch):
            self.check_written(form, first + i, start + i)
        for form in batch:  # what later ones of the batch may rest on
            columns = np.array([c for c, _ in form.terms], dtype=np.int64)
            terms = column([a for _, a in form.terms])
            self.known.append(ProvedSum(len(self.ancestor) - 1, columns, terms, form.low, form.high))
        middle, radius = self.combined(batch)
        for i, form in enumerate(batch):
            self.check_form(form, first + i, middle[i], radius[i])

    def check_written(self, form: Form, i: int, sources: int) -> None:
        """Refuse a form that names something twice, or what does not exist."""
        columns, used = [c for c, _ in form.terms], [s for s, _ in form.multipliers]
        if not columns or len(set(columns)) != len(columns) or any(a == 0 for _, a in form.terms):
            raise CertificateError(f"step {i} is about no column, names one twice or weighs it by 0")
        if not 0 <= min(columns) <= max(columns) < len(self.upper):
            raise CertificateError(f"step {i} names a column that does not exist")
        if len(set(used)) != len(used) or any(not 0 <= s < sources for s in used):
            raise CertificateError(f"step {i} names a source twice, or one that is not known yet")
        numbers = (form.over, form.low, form.high, *(a for _, a in form.terms), *(y for _, y in form.multipliers))
        if form.over < 1 or any(x.bit_length() > LONGEST for x in numbers):
            raise CertificateError(f"step {i} has a number that is too long, or divides by none")

    def combined(self, batch: Sequence[Form]) -> tuple[Whole, Whole]:
        """Return Σ y c over every column, (forms, columns): the middle and how far it may be off, units of 2^-UNITS."""
        sources = sorted({s for form in batch for s, _ in form.multipliers})
        middle = np.zeros((len(batch), len(self.upper)), dtype=object)
        radius = np.zeros((len(batch), len(self.upper)))
        step = max(1, min(SUMMED, HELD // max(1, len(self.upper))))
        for at in range(0, len(sources), step):
            if self.limits.expired():
                raise NotVerified("not verified: the time was up")
            here = {s: i for i, s in enumerate(sources[at : at + step])}
            weights = np.zeros((len(batch), len(here)), dtype=object)
            for f, form in enumerate(batch):
                for s, y in form.multipliers:
                    if s in here:
                        weights[f, here[s]] = y
            rows = [self.row(s) for s in here]
            at_row = np.repeat(np.arange(len(rows)), [len(row.columns) for row in rows])
            columns = np.concatenate([row.columns for row in rows])
            low, high = np.concatenate([row.low for row in rows]), np.concatenate([row.high for row in rows])
            middle += _products(weights, (at_row, columns, low + high), (len(rows), len(self.upper)))
            off = np.zeros((len(rows), len(self.upper)))
            off[at_row, columns] = _upwards(high - low)
            size = _upwards(np.abs(weights).reshape(-1)).reshape(weights.shape)
            more = 1 + 2.0**-52 * (len(rows) + 4)  # none is below 0: in any order sums are off by less
            with np.errstate(over="ignore", invalid="ignore"):  # what is not a number is refused below
                radius += size @ off * more
        if not np.isfinite(radius).all():
            raise CertificateError("the numbers of a step are too large to be added up")
        found = column([int(x) + 1 if x else 0 for x in (radius * (1 + 2.0**-40)).reshape(-1).tolist()])
        return middle, found.reshape(radius.shape)

    def check_form(self, form: Form, i: int, middle: Whole, radius: Whole) -> None:
        """Refuse a form unless its multipliers, and the bounds of columns, leave no whole number outside its ends."""
        smallest, greatest = self.shown(form, middle, radius)
        if greatest > form.high or smallest < form.low:
            said, shown = (
                f"{printable(form.low)} to {printable(form.high)}",
                f"{printable(smallest)} to {printable(greatest)}",
            )
            raise CertificateError(f"step {i} says {said}, its sum shows {shown}")
        if len(form.terms) == 1 and form.terms[0][1] == 1:
            j = form.terms[0][0]
            self.lower[j] = min(self.maximum + 1, max(int(self.lower[j]), form.low))
            self.upper[j] = max(-1, min(int(self.upper[j]), form.high))

    def shown(self, form: Form, middle: Whole, radius: Whole) -> tuple[int, int]:
        """Return between which whole numbers a form lies by its multipliers (`combined`) and the bounds of columns."""
        bottom, top = self.reach(form, *self.rest(form, middle, radius))
        columns, terms = [c for c, _ in form.terms], column([a for _, a in form.terms])
        ends = np.stack([terms * self.lower[columns], terms * self.upper[columns]])
        smallest = max(-(-bottom // (form.over << UNITS)), int(ends.min(axis=0).sum()))
        return smallest, min(top // (form.over << UNITS), int(ends.max(axis=0).sum()))

    def rest(self, form: Form, middle: Whole, radius: Whole) -> tuple[Whole, Whole]:
        """Return per column between what the form less its weighted sources lies, in units of 2^-UNITS / over."""
        rest = -middle
        rest[[c for c, _ in form.terms]] += column([a for _, a in form.terms]) * (form.over << UNITS)
        return rest - radius, rest + radius

    def reach(self, form: Form, least: Whole, most: Whole) -> tuple[int, int]:
        """Return what the form's sources and a rest within the bounds of columns add up to, in the same units."""
        bottom = int((least * np.where(least < 0, self.upper, self.lower)).sum())
        top = int((most * np.where(most > 0, self.upper, self.lower)).sum())
        for s, y in form.multipliers:
            low, high = self.ends(s)
            top, bottom = (top + y * high, bottom + y * low) if y > 0 else (top + y * low, bottom + y * high)
        return bottom, top

    # ------------------------------------------------------------ what is left

    def release(self) -> Release:
        """Return the release with what is known of the cells as one more block, a partition."""
        alive, given = self.alive, self.facts.release
        boxes = self.cutter.boxes(self.cells.kept(alive))
        low, high = (x.reshape(-1, self.labels)[alive] for x in (self.lower, self.upper))
        least, most, _, _ = self.totals()
        more = cells_blocks(given, Boxes.of([*boxes, Box()]), low, high, (least[alive], most[alive]))
        return replace(given, blocks=(*given.blocks, *more))

    def totals(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return between what the rows of every cell lie, whatever their label, and by which facts (-1: by none).

        Sums of bounds, the number of rows, and facts that by now are about all labels of one cell, once each.
        """
        least, most = (x.reshape(-1, self.labels).sum(axis=1) for x in (self.lower, self.upper))
        most = np.minimum(most, self.maximum)
        by = np.full((2, len(least)), -1, dtype=np.int64)
        labels = sorted(self.boosted.labels)
        for i, fact in enumerate(self.known):
            if not 1 < len(labels) <= len(fact.columns):
                continue
            if self.limits.expired():
                raise NotVerified("not verified: the time was up")
            row = self.fact_row(fact)
            cells, found = row.columns // self.labels, row.columns % self.labels
            if found.tolist() != labels or cells.min() < cells.max() or any(x != 1 << BITS for x in row.low):
                continue
            c = cells[0]
            low, high = min(fact.low, self.maximum), max(fact.high, -1)
            if low > least[c]:
                least[c], by[0, c] = low, i
            if high < most[c]:
                most[c], by[1, c] = high, i
        return least, most, by[0], by[1]

    def fixed(self) -> bool:
        """Return whether all is known: every column, over the cells of all trees, and every figure can be met."""
        if self.cells.trees < len(self.boosted.trees) or (self.lower != self.upper).any():
            return False
        for i in range(len(self.figures)):
            row, (low, high) = self.figures.row(i), self.figures.ends(i, BITS)
            times = self.lower[row.columns]
            if int((row.low * times).sum()) > high or int((row.high * times).sum()) < low:
                return False
        return True


def replayed(facts: NumberedStatements, proof: LeafValues, limits: Limits) -> LeafValueReplay:
    """Return what the steps of a proof leave; `CertificateError` where one of them does not hold."""
    out = LeafValueReplay(facts, proof.model, limits)
    out.run(proof.steps)
    return out


def _products(weights: Whole, entries: tuple[Ints, Ints, Whole], shape: tuple[int, int]) -> Whole:
    """Return weights (forms, sources) times the sparse matrix of `entries` (row, column, value), exactly.

    In limbs: whole numbers below 2^LIMB and 2^SHORT, so that doubles hold sums of SUMMED products.
    """
    at_row, columns, values = entries
    out = np.zeros((len(weights), shape[1]), dtype=object)
    right, left = _limbs(values, LIMB), _limbs(weights.reshape(-1), SHORT)
    sums: dict[int, NDArray[np.int64]] = {}
    for i in range(right.shape[1]):
        dense = np.zeros(shape)
        dense[at_row, columns] = right[:, i]
        for j in range(left.shape[1]):
            found = (left[:, j].reshape(weights.shape) @ dense).astype(np.int64)
            bits = LIMB * i + SHORT * j
            sums[bits] = sums[bits] + found if bits in sums else found
    for bits in sorted(sums):
        if bits not in sums:
            continue
        found = sums.pop(bits)
        if bits + 8 in sums:  # sums are below 2^54: two of them fit into 63 bits
            found = found + (sums.pop(bits + 8) << 8)
        out += found.astype(object) << bits
    return out


def _limbs(values: Whole, bits: int) -> Floats:
    """Return (values, limbs): whole numbers in limbs of so many bits, the least first, each with the number's sign."""
    numbers = values.tolist()
    width = max(1, -(-max((x.bit_length() for x in numbers), default=0) // bits))
    data = b"".join(abs(x).to_bytes(width * bits // 8, "little") for x in numbers)
    found = np.frombuffer(data, dtype=np.uint8).reshape(len(numbers), width, bits // 8).astype(np.float64)
    sign = np.array([-1.0 if x < 0 else 1.0 for x in numbers])
    whole: Floats = found @ (256.0 ** np.arange(bits // 8)) * sign[:, None]
    return whole


def _upwards(values: Whole) -> Floats:
    """Return doubles that are at least these whole numbers >= 0."""
    try:
        return np.array([float(x) for x in values.tolist()], dtype=np.float64) * (1 + 2.0**-51)
    except OverflowError:
        raise CertificateError("the numbers of a step are too large to be added up") from None
