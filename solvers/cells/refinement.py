"""From statements to pieces: the row space refined by every region, dead branches dropped on the way.

The pieces are never listed blindly. Regions that count 0 go first, the largest first, then those that must be empty
because the listed parts of a whole add up to it: they bar rows before anything is cut. A partition keeps only the
pieces that a region with a positive count meets (classes apart). When the number of pieces grows, bound propagation
over the counts read so far, loose ones too, drops those that can hold no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.bit_boxes import Index, WordLayout, Words, disjoint_pieces, minus
from solvers.cells.cutting import (
    AnyCut,
    PartitionCut,
    RegionCut,
    Room,
    cuts_of,
    labels_of,
    with_labels,
    zeros_first,
)
from solvers.cells.linear_system import SparseStatements, implied_zeros, propagate
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive, TooLarge
from solvers.foundation.exact import MAX_SUM
from solvers.foundation.limits import Limits
from solvers.statements.observations import StatementIndex
from solvers.statements.release import Release

PRUNE_FROM = 4_096  # pieces; below, pruning costs more than it saves
WORD_BYTES, COPIES = 8, 4  # what a step of the refinement holds at a time
BOX_COPIES = 3  # of the words of a tree's boxes: by box, and by part
ENTRY_BYTES = 200  # of a cell in a statement while bounds are propagated and components cut (measured: 225)
CUT = 3e-7  # of work: of a word of a piece on the way, measured
FAR = 3  # times the limit: so many pieces may come out of one tree before pruning
MORE = 1.1  # times the seconds that were too few: less is not tried


@dataclass(eq=False)
class Refinement:
    """Disjoint pieces and, per cut, a column with the value that it gave to each; grows step by step.

    The column of a partition holds the numbers of its statements, that of another region the class of parts, or
    OUTSIDE. `counts` are the cuts that need no step: counts in a region whose values are summed too, with that cut.
    """

    layout: WordLayout
    words: Words
    labels: Ints
    cuts: list[AnyCut] = field(default_factory=list)
    counts: list[tuple[RegionCut, int]] = field(default_factory=list)
    _columns: list[NDArray[np.integer[Any]]] = field(default_factory=list)
    _origins: list[Index | None] = field(default_factory=list)  # None: the same pieces as before

    def step(self, cut: AnyCut, allowed: NDArray[np.bool_], room: Room) -> None:
        """Replace the pieces by those of a cut."""
        before = self.words
        self.words, origin, column = cut.apply(before, self.labels, allowed, room)
        whole = self.words is before
        self.labels = self.labels if whole else self.labels[origin]
        self.cuts.append(cut)
        self._columns.append(column if isinstance(cut, PartitionCut) else _smallest(column))
        self._origins.append(None if whole else origin)

    def keep(self, alive: NDArray[np.bool_]) -> None:
        """Drop the pieces that are not alive."""
        at = np.flatnonzero(alive)
        self.words, self.labels = self.words[at], self.labels[at]
        origin = self._origins[-1]
        self._columns[-1], self._origins[-1] = self._columns[-1][at], at if origin is None else origin[at]

    def columns(self, limits: Limits) -> list[NDArray[np.integer[Any]]]:
        """Return the column of every cut for the present pieces, in as few bytes as hold it.

        Raises `TooLarge` before they are made where they do not fit into the memory.
        """
        n = len(self.words)
        limits.hold(n * sum(c.itemsize for c in self._columns), f"{len(self.cuts):,} values of {n:,} pieces")
        here = np.arange(n, dtype=np.int64)
        out: list[NDArray[np.integer[Any]]] = []
        for column, origin in zip(reversed(self._columns), reversed(self._origins), strict=True):
            out.append(column[here])
            here = here if origin is None else origin[here]
        return out[::-1]

    def values(self, limits: Limits) -> Iterator[tuple[AnyCut, Ints]]:
        """Yield every cut with the values of the present pieces, counts in regions of sums among them."""
        columns = self.columns(limits)
        for cut, column in zip(self.cuts, columns, strict=True):
            yield cut, column.astype(np.int64)
        for cut, i in self.counts:
            yield cut, np.minimum(columns[i].astype(np.int64), 0)  # the one class of a count is 0


@dataclass(slots=True)
class TooShort:
    """The most seconds that were not enough to cut a release into cells (-1: none were too few), and what was said."""

    seconds: float = -1.0
    reason: str = ""

    def note(self, seconds: float, reason: str) -> None:
        """Keep the longer time."""
        self.seconds, self.reason = max((seconds, reason), (self.seconds, self.reason))


def refine(release: Release, limits: Limits, words: Words | None = None) -> Refinement:
    """Return the pieces that can hold rows, of all possible rows or of the given boxes.

    Raises `Unsupported` when more than `limits.cells` would be needed, `Inconclusive` when time is up, or when there
    is hardly more of it than was too short before.
    """
    short = release.derived.part(TooShort) if words is None else TooShort()
    if limits.work_left() <= MORE * short.seconds:
        raise Inconclusive(short.reason)
    begun = limits.remaining()
    try:
        return _refined(release, limits, words)
    except Inconclusive as error:
        if words is None and not limits.stop.is_set():
            short.seconds, short.reason = limits.spent(begun), str(error)
        raise


def _refined(release: Release, limits: Limits, words: Words | None) -> Refinement:
    """Return the pieces, anew; see `refine`."""
    layout, index = WordLayout(release.domain), StatementIndex(release)
    if words is None:
        words = minus(layout, layout.full[None].copy(), release.impossible)
    every = cuts_of(index, range(len(release.blocks)))
    allowed = (index.high > 0) | ~index.unconditional

    def room(pieces: int, width: int) -> None:
        _make_room(pieces, width, limits)

    barring, every = zeros_first(every, allowed)
    nothing = np.zeros(0, dtype=np.int64)
    for zero in limits.paced(barring, "regions that count 0 were left out"):
        words, _, _ = zero.apply(words, nothing, allowed, room)
    for region in limits.paced(implied_zeros(index), "regions that count 0 were left out"):
        words = disjoint_pieces(layout, words, region, room)
        room(len(words), words.shape[1])
    summed = {cut.region for cut in every if isinstance(cut, RegionCut) and cut.of is not None}
    counts = [cut for cut in every if isinstance(cut, RegionCut) and cut.of is None and cut.region in summed]
    skipped = set(counts)
    cuts = [cut for cut in every if cut not in skipped]
    place = {cut.region: i for i, cut in enumerate(cuts) if isinstance(cut, RegionCut)}
    words = with_labels(layout, words, cuts)
    found = Refinement(layout, words, labels_of(layout, words), counts=[(c, place[c.region]) for c in counts])
    known = 0
    for done, cut in enumerate(cuts, start=1):
        _check(found, limits)
        _hold_step(cut, found.words, limits)
        found.step(cut, allowed, room)
        if isinstance(cut, PartitionCut):
            limits.report(f"cells: {done} of {len(release.partitions)} models, {len(found.words):,} pieces")
        if len(found.words) > max(PRUNE_FROM, 2 * known):
            _prune(found, index, limits)
            known = len(found.words)
    _check(found, limits)
    return found


def _check(found: Refinement, limits: Limits) -> None:
    """Refuse more pieces than the limit, and stop when time is up."""
    if len(found.words) > limits.cells:
        raise TooLarge(f"more than {limits.cells:,} live cells (--max-cells)")
    _hold_boxes(len(found.words), found.words.shape[1], limits)
    if limits.expired():
        raise Inconclusive(f"the time was up while the cells were derived ({len(found.words):,} so far)")


def _make_room(pieces: int, width: int, limits: Limits) -> None:
    """Refuse far more pieces on the way than the limit, or more than fit into memory, before they are cut."""
    if pieces > FAR * limits.cells:
        raise TooLarge(f"more than {limits.cells:,} live cells (--max-cells)")
    _hold_boxes(pieces, width, limits)
    if limits.expired() or not limits.pay(pieces * width * CUT):
        raise Inconclusive(f"the time was up while the cells were derived ({pieces:,} boxes so far)")


def _hold_boxes(pieces: int, width: int, limits: Limits) -> None:
    """Refuse boxes that do not fit into the memory."""
    what = f"{pieces:,} boxes on the way to the cells, of {width:,} words,"
    limits.hold(pieces * width * WORD_BYTES * COPIES, what)


def _hold_step(cut: AnyCut, words: Words, limits: Limits) -> None:
    """Refuse boxes of a tree, by the words of the row space, and by pieces, that do not fit into the memory."""
    if isinstance(cut, PartitionCut) and not cut.block.first_match:
        boxes = len(cut.block.boxes)
        size = boxes * words.shape[1] * WORD_BYTES * BOX_COPIES + len(words) * (boxes // 8)
        limits.hold(size, f"a tree of {boxes:,} leaves met by {len(words):,} boxes of {words.shape[1]:,} words")


def hold(entries: int, limits: Limits) -> None:
    """Refuse more entries of statements over cells than the memory holds while they are propagated."""
    if entries * ENTRY_BYTES > limits.room:
        needed = f"about {entries * ENTRY_BYTES / 1e6:,.0f} MB"
        raise TooLarge(f"{entries:,} entries of statements over cells need {needed} of memory (--memory)")


def _prune(found: Refinement, index: StatementIndex, limits: Limits) -> None:
    """Drop the pieces that propagation over the counts read so far, and the number of rows, leaves no room."""
    n, top = len(found.words), index.release.rows.high
    if top is None or n * max(1, top) >= MAX_SUM:
        return
    row, piece, held = [np.full(n, index.rows, dtype=np.int64)], [np.arange(n, dtype=np.int64)], n
    for cut, column in zip(found.cuts, found.columns(limits), strict=True):
        if isinstance(cut, PartitionCut) or cut.of is None:
            statement, at, _ = cut.entries(column.astype(np.int64))
            held += len(at)
            hold(held, limits)
            row.append(statement)
            piece.append(at)
    entries = np.concatenate(row), np.concatenate(piece)
    read = index.unconditional & np.isin(np.arange(len(index)), entries[0])
    system = SparseStatements.of(*entries, np.ones(len(entries[0]), dtype=np.int64), (index.low, index.high), n).take(
        read
    )
    start, maximum = np.zeros(n, dtype=np.int64), np.full(n, top, dtype=np.int64)
    bounds = propagate(system, start, maximum, limits.expired, trace=False)
    if bounds.conflict is None:
        found.keep(bounds.upper > 0)


def _smallest(column: Ints) -> NDArray[np.integer[Any]]:
    """Return a column of small numbers in as few bytes as hold them."""
    return column.astype(np.min_scalar_type(-1 - int(column.max(initial=0))))
