"""A release as a sparse integer system over its live cells, propagated; computed once, shared by all engines.

Cells are the atoms of all regions: the statements see a dataset only through its histogram z over them, which
removes the n! symmetry of the rows. Cells with equal columns are one cell, its size the sum.

Source: docs/mathematics.md, "Cells and histograms"; Ferry et al., SaTML 2024, for possible worlds.

From statements to pieces: the row space refined by every region, dead branches dropped on the way.

The pieces are never listed blindly. Regions that count 0 go first, the largest first, then those that must be empty
because the listed parts of a whole add up to it: they bar rows before anything is cut. A partition keeps only the
pieces that a region with a positive count meets (classes apart). When the number of pieces grows, bound propagation
over the counts read so far, loose ones too, drops those that can hold no row.

The row space without impossible rows: its size, whole or when attributes have fewer values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import (
    AnyCut,
    Index,
    PartitionCut,
    RegionCut,
    Room,
    WordLayout,
    Words,
    cuts_of,
    disjoint_pieces,
    joined_entries,
    labels_of,
    minus,
    with_labels,
    zeros_first,
)
from solvers.cells.linear_system import Propagated, SparseStatements, implied_zeros, propagate, same_columns, same_rows
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.exact import DOUBLE, MAX_SUM
from solvers.foundation.limits import Limits
from solvers.foundation.structures import Derived
from solvers.statements.boxes import Box, RowSpace
from solvers.statements.observations import Choices, StatementIndex
from solvers.statements.release import ANY_LABEL, NO_COUNT, UNBOUNDED, Release

if TYPE_CHECKING:
    from solvers.statements.regions.captures import Captures


@dataclass(frozen=True, eq=False)
class Space:
    """All possible rows of a domain; `found` counts what impossible boxes leave (None where there are none)."""

    domain: RowSpace
    found: Captures | None

    @classmethod
    def of(cls, release: Release, limits: Limits) -> Space:
        """Return the space of a release.

        Cost: a box minus the impossible boxes (`solvers.statements.regions.captures.captures`), once where its size is
        exact.
        """
        if not release.impossible:
            return cls(release.domain, None)
        known = release.derived.part(KnownSpace)
        if known.space is not None:
            return known.space
        from solvers.statements.regions.captures import captures

        found = captures(release.domain.part_sizes, [*release.impossible, Box()], limits)
        space = cls(release.domain, found)
        if found.lower[-1] == found.upper[-1]:
            known.space = space
        return space

    @cached_property
    def size(self) -> int:
        """Return the number of possible rows."""
        return self.within({})

    def labelled(self, label: int) -> int:
        """Return the number of possible rows with a label (ANY_LABEL: with any)."""
        return self.size if label == ANY_LABEL else self.within(self.one_label(label))

    def within(self, smaller: Mapping[int, tuple[int, ...]]) -> int:
        """Return the number of possible rows when attributes have only the given part sizes."""
        if self.found is None:
            attributes = enumerate(self.domain.attributes)
            return math.prod(sum(smaller[k]) if k in smaller else a.total for k, a in attributes)
        low, high = self.found.within(smaller) if smaller else (self.found.lower, self.found.upper)
        if low[-1] != high[-1]:
            raise EngineError("the impossible boxes are too many to count the row space exactly")
        return low[-1]

    def one_label(self, label: int) -> dict[int, tuple[int, ...]]:
        """Return the part sizes that keep one label value only."""
        k = self.domain.label
        if k is None or label == ANY_LABEL:
            return {}
        return {k: tuple(int(i == label) * s for i, s in enumerate(self.domain.attributes[k].sizes))}


@dataclass(slots=True)
class KnownSpace:
    """The row space of a release, where its size is exact."""

    space: Space | None = None


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
    """Refuse boxes that are met at once and do not fit into the memory, by words of the row space and by pieces."""
    if isinstance(cut, PartitionCut) and (cut.apart or not cut.block.first_match):
        boxes = len(cut.block.boxes)
        size = boxes * words.shape[1] * WORD_BYTES * BOX_COPIES + len(words) * (boxes // 8)
        limits.hold(size, f"{boxes:,} leaves or known rows met by {len(words):,} boxes of {words.shape[1]:,} words")


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


PHASE = "the system of cells was set up"


@dataclass(frozen=True, eq=False)
class CellSystem:
    """Statements (rows, numbered by `solvers.statements.observations`) over live cells (columns).

    `sizes` are the cells' raw rows (Python integers). `words` are the disjoint boxes that make up the cells,
    `cell` says which cell each is part of. `linear` holds every statement, also those of alternatives, of which
    `choices` names the groups (choice -> alternative -> statements). `bounds` is what propagation of the
    unconditional statements leaves of every cell. `total` is the statement on the number of rows, None where a
    partition implies it. `coarse`: some statement says less than was published, so that worlds cannot be counted.
    `derived` keeps what engines found out about it.
    """

    release: Release
    space: Space
    layout: WordLayout
    words: Words
    cell: Ints
    piece_sizes: tuple[int, ...]
    sizes: tuple[int, ...]
    linear: SparseStatements
    choices: Choices
    bounds: Propagated
    total: int | None
    coarse: bool
    derived: Derived = field(init=False, default_factory=Derived, repr=False, compare=False)

    @cached_property
    def always(self) -> NDArray[np.bool_]:
        """Return which statements hold whatever the choices."""
        out = np.ones(len(self.linear), dtype=bool)
        out[[s for choice in self.choices for alternative in choice for s in alternative]] = False
        return out

    @cached_property
    def free(self) -> Ints:
        """Return the cells whose number of rows is not fixed."""
        return np.flatnonzero(~self.bounds.fixed).astype(np.int64)

    @cached_property
    def boxes(self) -> list[Box]:
        """Return the disjoint boxes of the cells, label folded in; `cell` says whose each is."""
        return self.layout.boxes(self.words)

    @cached_property
    def pieces(self) -> list[list[int]]:
        """Return the pieces (indices into `words` and `boxes`) of every cell."""
        out: list[list[int]] = [[] for _ in self.sizes]
        for i, c in enumerate(self.cell.tolist()):
            out[c].append(i)
        return out

    def asking(self, sums: NDArray[np.int64], values: Ints | None = None) -> tuple[CellSystem, tuple[int, ...]]:
        """Return the system with sums (m, cells) as further statements, and their numbers.

        Without `values` (m,) they are without bounds, else the sums must take them.
        """
        rows = self.release.rows.high or 1
        if int(np.abs(sums).max(initial=0)) * max(1, rows) * max(1, len(self.sizes)) >= MAX_SUM:
            raise Unsupported("sums over all cells of the values asked about may exceed 2^59")
        at, col = np.nonzero(sums)
        old, first = self.linear, len(self.linear)
        none = np.full(len(sums), UNBOUNDED, dtype=np.int64)
        low, high = (-none, none) if values is None else (values, values)
        linear = SparseStatements.of(
            np.concatenate([old.row, at + first]),
            np.concatenate([old.col, col]),
            np.concatenate([old.coef, sums[at, col]]),
            (np.concatenate([old.low, low]), np.concatenate([old.high, high])),
            old.columns,
        )
        return replace(self, linear=linear), tuple(range(first, first + len(sums)))

    @cached_property
    def index(self) -> StatementIndex:
        """Return the statements by number."""
        return StatementIndex(self.release)

    def source(self, s: int) -> str:
        """Return a human-readable source of statement s."""
        return self.index.source(s)

    def figure(self, s: int) -> str:
        """Return statement s in words, with the figure that it publishes."""
        low, high = int(self.linear.low[s]), int(self.linear.high[s])
        if low > high:
            text = NO_COUNT
        elif low == high:
            text = str(low)
        elif high == UNBOUNDED:
            text = f"at least {low}"
        else:
            text = f"at most {high}" if low <= 0 else f"{low} to {high}"
        return f"{self.source(s)}: {text}"

    def satisfied(self, z: Ints) -> bool:
        """Return whether a histogram meets every statement, exactly one alternative of each choice included."""
        wrong = set(self.linear.broken(z).tolist())
        if any(self.always[s] for s in wrong) or bool((z < 0).any()):
            return False
        return all(sum(not wrong & set(alternative) for alternative in choice) == 1 for choice in self.choices)


@dataclass(slots=True)
class KnownSystem:
    """The system of a release, or why there is none with so many cells."""

    system: CellSystem | None = None
    cells: int = 0
    refusal: Unsupported | None = None


def system_of(release: Release, limits: Limits) -> CellSystem:
    """Return the system of a release, from memory if it, or that it has too many cells, is known.

    Raises `Unsupported` for too many cells, `Inconclusive` when time is up. Cost: pieces times blocks.
    """
    known = release.derived.part(KnownSystem)
    if known.system is not None:
        return known.system
    if known.refusal is not None and limits.cells <= known.cells:
        raise known.refusal
    begun = limits.remaining()
    try:
        known.system = _build(release, limits)
    except Unsupported as error:
        known.cells, known.refusal = limits.cells, error
        raise
    except Inconclusive as error:
        if not limits.stop.is_set():  # whoever has no more time than was too short need not begin
            release.derived.part(TooShort).note(limits.spent(begun), str(error))
        raise
    return known.system


def cells_fit(release: Release, limits: Limits) -> bool:
    """Return whether the cells of a release can be written down."""
    try:
        system_of(release, limits)
    except Unsupported:
        return False
    return True


def keep_system(release: Release, system: CellSystem) -> None:
    """Remember a system of a release with tighter bounds in the place of the one that is known."""
    release.derived.part(KnownSystem).system = system


def cells_known(release: Release) -> bool:
    """Return whether the system of a release was worked out before; nothing is done for it."""
    return release.derived.part(KnownSystem).system is not None


def _build(release: Release, limits: Limits) -> CellSystem:
    """Return the system, anew; see `system_of`."""
    refined, index, total = refine(release, limits), StatementIndex(release), _total_row(release)
    linear, cell = assemble(index, refined, total, limits)
    maximum = release.rows.high if release.rows.high is not None else DOUBLE
    longest = int(np.bincount(linear.row).max(initial=0))
    stated = np.concatenate([linear.low[linear.low > -UNBOUNDED], linear.high[linear.high < UNBOUNDED], [0]])
    far = max(int(np.abs(linear.coef).max(initial=0)) * max(1, maximum) * longest, int(np.abs(stated).max()))
    if far >= MAX_SUM:
        raise Unsupported("sums over all cells of values times rows may exceed 2^59")
    limits.check(PHASE)
    piece_sizes = refined.layout.sizes(refined.words)
    limits.check(PHASE)
    bounds = propagated(linear, index, maximum, limits)
    limits.report(f"{linear.columns:,} live cells, {int(bounds.fixed.sum()):,} fixed by propagation")
    return CellSystem(
        release, Space.of(release, limits), refined.layout, refined.words, cell,
        tuple(piece_sizes.tolist()), _cell_sizes(piece_sizes, cell, linear.columns), linear, index.choices, bounds,
        index.rows if total else None, release.coarse,
    )  # fmt: skip


def propagated(linear: SparseStatements, index: StatementIndex, maximum: int, limits: Limits) -> Propagated:
    """Return what the unconditional statements leave of cells of at most so many rows."""
    always = linear.take(index.unconditional[: len(linear)]) if index.choices else linear
    start = np.zeros(linear.columns, dtype=np.int64)
    return propagate(always, start, np.full(linear.columns, maximum, dtype=np.int64), limits.expired)


def _cell_sizes(pieces: NDArray[Any], cell: Ints, cells: int) -> tuple[int, ...]:
    """Return the sum of the pieces' sizes per cell, exactly."""
    out = [0] * cells
    for c, size in zip(cell.tolist(), pieces.tolist(), strict=True):
        out[c] += size
    return tuple(out)


def _total_row(release: Release) -> bool:
    """Return whether the number of rows must be stated: no partition of exact counts implies it."""
    return not any(
        bool((b.low == b.high).all()) and release.rows.exact and int(b.low.sum()) == release.rows.low
        for b in release.partitions.values()
    )


def assemble(index: StatementIndex, refined: Refinement, total: bool, limits: Limits) -> tuple[SparseStatements, Ints]:
    """Return the statements over cells, and the cell of every piece; `total`: the number of rows is a statement too.

    Pieces that count alike in every statement are one cell.
    """
    n = len(refined.words)
    limits.report(f"{n:,} pieces of cells: {PHASE}")
    none, held = np.zeros(0, dtype=np.int64), n
    entries, keys = [(none, none, none)], [np.zeros((n, 0), dtype=np.int64)]
    for cut, value in refined.values(limits):
        entries.append(cut.entries(value))
        held += len(entries[-1][0])
        hold(held, limits)
        if isinstance(cut, PartitionCut):
            keys.append(value[:, None])
    row, piece, coef = joined_entries(entries, refined.cuts)
    limits.check(PHASE)
    # Of partitions alone the statements of a piece are a row of a matrix: to compare these takes less.
    whole = len(keys) == len(entries)
    first, cell = same_rows(np.concatenate(keys, axis=1)) if whole else same_columns(row, piece, coef, n)
    limits.check(PHASE)
    chosen = np.zeros(n, dtype=bool)
    chosen[first] = True
    kept = chosen[piece]
    row, col, coef = row[kept], cell[piece[kept]], coef[kept]
    if total:
        row = np.concatenate([row, np.full(len(first), index.rows, dtype=np.int64)])
        col = np.concatenate([col, np.arange(len(first), dtype=np.int64)])
        coef = np.concatenate([coef, np.ones(len(first), dtype=np.int64)])
    end = index.rows + total
    made = SparseStatements.of(row, col, coef, (index.low[:end], index.high[:end]), len(first))
    limits.keep(made, made.row.nbytes + made.col.nbytes + made.coef.nbytes)
    return made, cell
