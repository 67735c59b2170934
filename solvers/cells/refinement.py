"""From statements to pieces: the row space refined by every region, dead branches dropped on the way.

The pieces are never listed blindly: a partition keeps only the pieces that a region with a positive count meets
(classes apart), and when their number grows, bound propagation over the statements read so far drops those that
can hold no row.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from solvers.cells.bit_boxes import Covering, Index, Layout, Words, minus, packed, split, split_parts
from solvers.cells.linear_system import Ints, Linear, propagate
from solvers.foundation.errors import Inconclusive, TooLarge
from solvers.foundation.limits import Limits
from solvers.statements.release import ANY_LABEL, Choice, Partition, Region, Release, Statement

PRUNE_FROM = 4_096  # pieces; below, pruning costs more than it saves
MOST_SUM = 1 << 59  # sums over all pieces stay exact in 64 bits
WORD_BYTES, COPIES = 8, 4  # what a step of the refinement holds at a time
ENTRY_BYTES = 200  # of a cell in a statement while bounds are propagated and components cut (measured: 225)
FAR = 3  # times the limit: so many pieces may come out of one tree before pruning
NOWHERE = -1
MORE = 1.1  # times the seconds that were too few: less is not tried
SHORT = "time too short for the cells"  # what a release remembers: seconds that were not enough, and the reason


@dataclass(frozen=True, eq=False)
class Splitter:
    """How one block or region tells pieces apart.

    `block` set: the column holds the region of that partition. Else it holds whether the piece is inside `region`
    (0, NOWHERE), or with `of` which class of parts of that attribute it holds (`classes`: part -> class).
    """

    block: int | None = None
    region: Region | None = None
    of: int | None = None
    classes: tuple[int, ...] = ()


@dataclass(eq=False)
class Refinement:
    """Disjoint pieces and, per splitter, a column that says where each lies; grows step by step."""

    layout: Layout
    words: Words
    splitters: list[Splitter] = field(default_factory=list)
    _columns: list[Ints] = field(default_factory=list)
    _origins: list[Index] = field(default_factory=list)

    def step(self, words: Words, origin: Index, splitter: Splitter, column: Ints) -> None:
        """Replace the pieces by finer ones; `origin` is the piece each comes from."""
        self.words = words
        self.splitters.append(splitter)
        self._columns.append(column)
        self._origins.append(origin)

    def keep(self, alive: NDArray[np.bool_]) -> None:
        """Drop the pieces that are not alive."""
        at = np.flatnonzero(alive)
        self.words, self._columns[-1], self._origins[-1] = self.words[at], self._columns[-1][at], self._origins[-1][at]

    def columns(self) -> list[Ints]:
        """Return the column of every splitter for the present pieces."""
        here = np.arange(len(self.words), dtype=np.int64)
        out: list[Ints] = []
        for column, origin in zip(reversed(self._columns), reversed(self._origins), strict=True):
            out.append(column[here])
            here = origin[here]
        return out[::-1]

    def labels(self) -> Ints:
        """Return the label of every piece (0 where there is no label, or pieces hold several)."""
        k = self.layout.domain.label
        if k is None:
            return np.zeros(len(self.words), dtype=np.int64)
        found: Ints = np.argmax(self.layout.parts(self.words, k), axis=1).astype(np.int64)
        return found


def statement_table(block: Partition, labels: int) -> Ints:
    """Return (regions, labels): the statement that counts the rows of a region with a label."""
    out = np.zeros((len(block.boxes), labels), dtype=np.int64)
    for label in range(labels):
        at = np.flatnonzero((block.label == label) | (block.label == ANY_LABEL))
        out[block.region[at], label] = at
    return out


def refine(release: Release, limits: Limits, words: Words | None = None) -> Refinement:
    """Return the pieces that can hold rows, of all possible rows or of the given boxes.

    Raises `Unsupported` when more than `limits.cells` would be needed, `Inconclusive` when time is up, or when there
    is hardly more of it than was too short before.
    """
    short: tuple[float, str] = release.memo.get(SHORT, (-1.0, "")) if words is None else (-1.0, "")
    if limits.left() <= MORE * short[0]:
        raise Inconclusive(short[1])
    begun = limits.left()
    try:
        return refined(release, limits, words)
    except Inconclusive as error:
        if words is None and not limits.stop.is_set():
            release.memo[SHORT] = begun, str(error)
        raise


def refined(release: Release, limits: Limits, words: Words | None) -> Refinement:
    """Return the pieces, anew; see `refine`."""
    layout = Layout(release.domain)
    if words is None:
        words = minus(layout, layout.full[None].copy(), release.impossible)
    found, k = Refinement(layout, words), release.domain.label
    partitions = [(b, block) for b, block in enumerate(release.blocks) if isinstance(block, Partition)]
    if k is not None and any((block.label != ANY_LABEL).any() for _, block in partitions):
        singles = [1 << p for p in range(len(release.domain.attributes[k].sizes))]
        found.words, _, _ = split_parts(layout, words, k, singles)
    partitions.sort(key=lambda pair: pair[1].first_match)
    known = 0
    for done, (b, block) in enumerate(partitions, start=1):
        check(found, limits)
        limits.report(f"cells: {done} of {len(partitions)} models, {len(found.words):,} pieces")
        if block.first_match:
            by_order(found, b, block, release, limits)
        else:
            by_covering(found, b, block, release, limits)
        if len(found.words) > max(PRUNE_FROM, 2 * known):
            prune(found, release, limits)
            known = len(found.words)
        check(found, limits)
    for splitter in loose_splitters(release):
        by_region(found, splitter, limits)
        check(found, limits)
    return found


def check(found: Refinement, limits: Limits) -> None:
    """Refuse more pieces than the limit, and stop when time is up."""
    if len(found.words) > limits.cells:
        raise TooLarge(f"more than {limits.cells:,} live cells (--max-cells)")
    if limits.expired():
        raise Inconclusive(f"the time was up while the cells were derived ({len(found.words):,} so far)")


def make_room(found: Refinement, pieces: int, limits: Limits) -> None:
    """Refuse far more pieces on the way than the limit, or more than fit into memory, before they are cut."""
    if pieces > FAR * limits.cells:
        raise TooLarge(f"more than {limits.cells:,} live cells (--max-cells)")
    if pieces * found.words.shape[1] * WORD_BYTES * COPIES > limits.memory:
        raise TooLarge(f"{pieces:,} boxes on the way to the cells do not fit into the memory (--memory)")
    if limits.expired():
        raise Inconclusive(f"the time was up while the cells were derived ({pieces:,} boxes so far)")


def by_covering(found: Refinement, b: int, block: Partition, release: Release, limits: Limits) -> None:
    """Refine by disjoint boxes (a tree): only boxes with a positive count for the piece's class are met.

    Raises `Unsupported` for far more pieces than the limit before they are cut, `Inconclusive` when time is up.
    """
    labels = release.domain.labels
    alive = packed((block.high[statement_table(block, labels)] > 0).T)
    covering = Covering(found.layout, block.boxes)
    check(found, limits)
    piece, box = covering.meet(found.words, alive[found.labels()])
    if len(piece) > FAR * limits.cells:
        raise TooLarge(f"more than {limits.cells:,} live cells (--max-cells)")
    if limits.expired():
        raise Inconclusive(f"the time was up while the cells were derived ({len(piece):,} boxes so far)")
    found.step(covering.cut(found.words, piece, box), piece, Splitter(block=b), box)


def by_order(found: Refinement, b: int, block: Partition, release: Release, limits: Limits) -> None:
    """Refine by a rule list: every box takes what the boxes before it left."""
    rest, rest_of = found.words, np.arange(len(found.words), dtype=np.int64)
    words, origins, regions = [], [], []
    for j, box in enumerate(block.boxes):
        inside, inside_of, rest, outside_of = split(found.layout, rest, box)
        words.append(inside)
        origins.append(rest_of[inside_of])
        regions.append(np.full(len(inside), j, dtype=np.int64))
        rest_of = rest_of[outside_of]
        make_room(found, len(rest) + sum(map(len, words)), limits)
    found.step(np.concatenate(words), np.concatenate(origins), Splitter(block=b), np.concatenate(regions))
    table = statement_table(block, release.domain.labels)
    found.keep(block.high[table[found.columns()[-1], found.labels()]] > 0)


def by_region(found: Refinement, splitter: Splitter, limits: Limits) -> None:
    """Refine by one region of loose statements, or by an attribute's classes of parts inside it."""
    if splitter.region is None:
        raise TypeError("a splitter of loose statements has a region")
    inside, inside_of, outside, outside_of = split(found.layout, found.words, splitter.region.box)
    out, out_of = [outside], [outside_of]
    for box in splitter.region.minus:
        hit, hit_of, inside, rest_of = split(found.layout, inside, box)
        out.append(hit)
        out_of.append(inside_of[hit_of])
        inside_of = inside_of[rest_of]
        make_room(found, len(inside) + sum(map(len, out)), limits)
    inner = np.zeros(len(inside), dtype=np.int64)
    if splitter.of is not None:
        masks = [0] * (max(splitter.classes) + 1)
        for p, c in enumerate(splitter.classes):
            masks[c] |= 1 << p
        inside, back, inner = split_parts(found.layout, inside, splitter.of, masks)
        inside_of = inside_of[back]
    outer = np.full(sum(map(len, out)), NOWHERE, dtype=np.int64)
    found.step(
        np.concatenate([inside, *out]),
        np.concatenate([inside_of, *out_of]),
        splitter,
        np.concatenate([inner, outer]),
    )


def loose_statements(release: Release) -> list[Statement]:
    """Return every statement outside partitions, those of choices included, in order."""
    out: list[Statement] = []
    for block in release.blocks:
        if isinstance(block, Choice):
            out += [s for alternative in block.alternatives for s in alternative]
        elif not isinstance(block, Partition):
            out += block
    return out


def loose_splitters(release: Release) -> list[Splitter]:
    """Return one splitter per distinct region of counts, and per region and attribute whose values are summed.

    Parts of that attribute which every statement of the region weighs alike are one class.
    """
    groups: dict[tuple[Region, int | None], list[tuple[int, ...]]] = {}
    for s in loose_statements(release):
        groups.setdefault((s.region, s.of), []).append(s.coefs)
    summed = {region for region, of in groups if of is not None}
    out = []
    for (region, of), coefs in groups.items():
        if of is None:
            if region not in summed:
                out.append(Splitter(region=region))
            continue
        classes: dict[tuple[int, ...], int] = {}
        by_part = [classes.setdefault(weights, len(classes)) for weights in zip(*coefs, strict=True)]
        out.append(Splitter(region=region, of=of, classes=tuple(by_part)))
    return out


def hold(entries: int, limits: Limits) -> None:
    """Refuse more entries of statements over cells than the memory holds while they are propagated."""
    if entries * ENTRY_BYTES > limits.memory:
        needed = f"about {entries * ENTRY_BYTES / 1e6:,.0f} MB"
        raise TooLarge(f"{entries:,} entries of statements over cells need {needed} of memory (--memory)")


def prune(found: Refinement, release: Release, limits: Limits) -> None:
    """Drop the pieces that propagation over the partitions read so far leaves no room."""
    hold(len(found.words) * len(found.splitters), limits)
    columns, labels = found.columns(), found.labels()
    rows, offset, low, high = [], 0, [], []
    for splitter, column in zip(found.splitters, columns, strict=True):
        block = release.blocks[splitter.block or 0]
        if not isinstance(block, Partition):
            continue
        rows.append(offset + statement_table(block, release.domain.labels)[column, labels])
        offset += len(block)
        low.append(block.low)
        high.append(block.high)
    n, top = len(found.words), release.rows.high
    if not rows or top is None or n * max(1, top) >= MOST_SUM:
        return
    entries = np.concatenate(rows), np.tile(np.arange(n, dtype=np.int64), len(rows))
    system = Linear.of(*entries, np.ones(n * len(rows), dtype=np.int64), (np.concatenate(low), np.concatenate(high)), n)
    start, most = np.zeros(n, dtype=np.int64), np.full(n, top, dtype=np.int64)
    bounds = propagate(system, start, most, limits.expired, trace=False)
    if bounds.conflict is None:
        found.keep(bounds.upper > 0)
