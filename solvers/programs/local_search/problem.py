"""A release as local search reads it: counts of rows per region and label, walks of rows, and boxes to move them into.

Everything is a flat list or array of whole numbers, so that the loops (`solvers.programs.local_search.loops`) run as
machine code, or over lists where nothing compiles them.

Regions turned into walks: which region of a partition a row is in, found by a few tests on its parts.

A tree's leaves come as disjoint boxes; recursive cuts that split none of them give a tree back, exactly. Whatever
cannot be cut so (rule lists, regions minus others) becomes a chain of tests, box after box.

Source: guillotine cuts of disjoint boxes, as a k-d tree has them: Bentley, "Multidimensional binary search trees used
for associative searching", Communications of the ACM 18, 1975.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Attribute, Region, spans
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Loose, Partition, Release, Statement

Parts = dict[int, int]  # attribute -> mask of the parts allowed
DEPTH = 800  # levels of cuts; deeper regions become chains


@dataclass(slots=True)
class Walks:
    """Tests of rows: node i asks attribute `attribute[i]`, and goes on at `yes[i]` or `no[i]`; -1 - r is region r.

    The test is "part <= cut[i]", or where that is below 0 "table[-1 - cut[i] + part] is 1".
    """

    attributes: Sequence[Attribute]
    attribute: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    yes: list[int] = field(default_factory=list)
    no: list[int] = field(default_factory=list)
    table: list[int] = field(default_factory=list)
    known: dict[tuple[int, int], int] = field(default_factory=dict)

    def tabled(self, k: int, mask: int) -> int:
        """Return where the table of a mask over the parts of attribute k begins."""
        if (k, mask) not in self.known:
            self.known[k, mask] = len(self.table)
            self.table += [mask >> p & 1 for p in range(len(self.attributes[k].sizes))]
        return self.known[k, mask]

    def inside(self, k: int, mask: int, yes: int, no: int) -> int:
        """Return where a test of attribute k for some of its parts begins."""
        full = self.attributes[k].full
        if (mask := mask & full) == full or yes == no:
            return yes
        if mask == 0:
            return no
        if mask & (mask + 1) == 0:  # a first run of parts
            return self.node(k, mask.bit_length() - 1, yes, no)
        if (rest := full & ~mask) & (rest + 1) == 0:
            return self.node(k, rest.bit_length() - 1, no, yes)
        return self.node(k, -1 - self.tabled(k, mask), yes, no)

    def node(self, k: int, cut: int, yes: int, no: int) -> int:
        """Return the number of a new node."""
        self.attribute.append(k)
        self.cut.append(cut)
        self.yes.append(yes)
        self.no.append(no)
        return len(self.cut) - 1

    def chain(self, boxes: Iterable[tuple[Parts, int]], otherwise: int) -> int:
        """Return where tests begin that lead to the target of the first of some boxes that holds a row."""
        entry = otherwise
        for literals, target in reversed(list(boxes)):
            failed, entry = entry, target
            for k, mask in literals.items():
                entry = self.inside(k, mask, entry, failed)
        return entry

    def tree(self, boxes: Sequence[tuple[Parts, int]], weights: Sequence[int], depth: int = 0) -> int:
        """Return where tests begin that lead to the target of the one of some disjoint boxes that holds a row.

        The boxes must cover whatever row comes here; heavy ones come early.
        """
        if len(boxes) == 1:
            return boxes[0][1]
        found = _best_cut(self.attributes, boxes, weights) if depth < DEPTH else None
        if found is None:
            return self.chain(boxes[:-1], boxes[-1][1])
        k, mask = found
        inside = [bool(literals[k] & mask) for literals, _ in boxes]
        yes, no = (
            self.tree(
                [box for box, here in zip(boxes, inside, strict=True) if here is side],
                [w for w, here in zip(weights, inside, strict=True) if here is side],
                depth + 1,
            )
            for side in (True, False)
        )
        return self.inside(k, mask, yes, no)


def _best_cut(
    attributes: Sequence[Attribute], boxes: Sequence[tuple[Parts, int]], weights: Sequence[int]
) -> tuple[int, int] | None:
    """Return an attribute and parts of it that split no box and halve the weight best, None if each splits some."""
    shared = set(boxes[0][0])
    for literals, _ in boxes:
        shared &= literals.keys()
    total, best, found = sum(weights), -1, None
    for k in sorted(shared):
        groups = _mask_components([literals[k] for literals, _ in boxes], weights)
        if len(groups) < 2:
            continue
        mask, weight = 0, 0
        for group, more in groups[:-1]:  # unions of first groups: prefixes where masks are runs
            mask, weight = mask | group, weight + more
            if (quality := min(weight, total - weight)) > best:
                best, found = quality, (k, _below(mask, attributes[k].full, groups))
    return found


def _mask_components(masks: Sequence[int], weights: Sequence[int]) -> list[tuple[int, int]]:
    """Return the unions of masks that share parts, directly or through others, by their first part, with weights."""
    groups: list[tuple[int, int]] = []
    for mask, weight in sorted(zip(masks, weights, strict=True), key=lambda pair: pair[0] & -pair[0]):
        joined, heavy = mask, weight
        rest = []
        for group in groups:
            if group[0] & mask:
                joined, heavy = joined | group[0], heavy + group[1]
            else:
                rest.append(group)
        groups = [*rest, (joined, heavy)]
    return sorted(groups, key=lambda group: group[0] & -group[0])


def _below(mask: int, full: int, groups: Sequence[tuple[int, int]]) -> int:
    """Return the mask filled up to all parts below its last one, where that meets no group beyond it."""
    filled = full & ((1 << mask.bit_length()) - 1)
    others = [group for group, _ in groups if not group & mask]
    return filled if not any(group & filled for group in others) else mask


def _boxes_of(block: Partition) -> list[Parts]:
    """Return the boxes of a partition as masks by attribute."""
    masks = block.boxes.mask.tolist()
    ends, named = block.boxes.start.tolist(), block.boxes.attribute.tolist()
    return [dict(zip(named[a:b], masks[a:b], strict=True)) for a, b in pairwise(ends)]


EVERY, NEVER = (0, 1 << 30), (1, 0)  # the parts between which a row stays in its region: any, or ask the walk
PER_ROW, PER_PLACE = 120, 24  # bytes: of a row, and per attribute and partition: three copies
CELLS = 1 << 27  # regions times attributes, so many bounds are held
# Bytes of such a bound and of a literal of a box while tables are made, and what is left of the latter; its work.
BOUND_BYTES, LITERAL_BYTES, LEFT_BYTES, LITERAL_WORK = 40, 1_500, 800, 1.5e-5
PHASE = "the regions were turned into tests"


class SearchTables(NamedTuple):
    """What the loops look up, flat; r numbers regions, s statements, i nodes of walks, k the searched attributes.

    sizes: counters, attributes, labels, the attribute that is the label (-1: none), 1 where labels are free, rows.
    root (counters,), attribute, cut, yes, no (nodes,), table: see `Walks`. statement (regions x labels,): what counts
    a row. stay (regions x attributes x 2,): first and last part of an attribute with which a row stays where it is.
    low, high (statements,). begin (statements + 1,): the literals of a statement's box; of, least, most, among
    (literals,): attribute, first and last part, and where their table begins (-1: all between). first, end
    (statements,): which rows may be moved into it. parts (attributes,): how many. moved: attributes that may change.
    """

    sizes: Any
    root: Any
    attribute: Any
    cut: Any
    yes: Any
    no: Any
    table: Any
    statement: Any
    stay: Any
    low: Any
    high: Any
    begin: Any
    of: Any
    least: Any
    most: Any
    among: Any
    first: Any
    end: Any
    parts: Any
    moved: Any
    counter: Any


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Rows to be found: `tables` for the loops, the `attributes` searched (numbers in the domain), rows per label.

    `classes` (labels,) are the rows of each label to start with; they stay so unless `free`.
    """

    release: Release
    rows: int
    tables: SearchTables
    attributes: tuple[int, ...]
    classes: tuple[int, ...]
    free: bool


@dataclass(slots=True)
class TableLists:
    """The lists that the tables are made of, counter by counter."""

    walks: Walks
    labels: int
    at: dict[int, int]
    root: list[int] = field(default_factory=list)
    statement: list[int] = field(default_factory=list)
    stay: list[Any] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    boxes: list[Parts | None] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    counter: list[int] = field(default_factory=list)

    def stated(self, low: int, high: int, box: Parts | None, label: int = ANY_LABEL) -> int:
        """Return the number of a new statement."""
        self.low.append(max(low, 0))
        self.high.append(high)
        self.boxes.append(box)
        self.label.append(label)
        self.counter.append(len(self.root))
        return len(self.low) - 1

    def region(self, statements: Sequence[int], box: Parts | None, asked: Parts) -> None:
        """Add a region counted by a statement per label; `box`: it is that, else its walk asks about `asked`."""
        self.statement += statements
        room = np.empty((len(self.at), 2), dtype=np.int64)
        room[:] = EVERY
        for k, mask in (asked if box is None else box).items():
            runs = spans(mask)
            room[self.at[k]] = (runs[0][0], runs[0][1] - 1) if box is not None and len(runs) == 1 else NEVER
        self.stay.append(room)

    def partition(self, block: Partition, labels: int) -> None:
        """Add a partition: the leaves of a tree, or a list of boxes of which the first that matches counts."""
        first, base = len(self.stay), len(self.low)
        boxes = _boxes_of(block)
        rows = list(
            zip(block.region.tolist(), block.label.tolist(), block.low.tolist(), block.high.tolist(), strict=True)
        )
        for region, label, low, high in rows:
            self.stated(low, high, boxes[region], label)
        asked = {k: mask for box in boxes for k, mask in box.items()}
        weights = [1] * len(boxes)
        for region, _, low, _ in rows:
            weights[region] += low
        for j, counted in enumerate(block.by_label(labels).tolist()):
            self.region([base + s for s in counted], None if block.first_match else boxes[j], asked)
        some = [j for j, box in enumerate(boxes) if all(box.values())]  # a box without a part is never reached
        targets = [(boxes[j], -1 - (first + j)) for j in some]
        if block.first_match:
            self.root.append(self.walks.chain(targets[:-1], targets[-1][1]))
        else:
            self.root.append(self.walks.tree(targets, [weights[j] for j in some]))

    def counted(self, included: Parts, excluded: Sequence[Parts], low: int, high: int) -> None:
        """Add a count of the rows in a box that are in none of some others."""
        inside = -1 - len(self.stay)
        asked = {k: mask for box in (included, *excluded) for k, mask in box.items()}
        s = self.stated(low, high, included)
        self.region([s] * self.labels, None, asked)
        self.region([self.stated(0, UNBOUNDED, None)] * self.labels, None, asked)
        entry = self.walks.chain([(box, inside - 1) for box in excluded], inside)
        self.root.append(self.walks.chain([(included, entry)], inside - 1))

    def barred(self, boxes: Sequence[Parts]) -> None:
        """Add that no row is in any of some boxes."""
        inside = -1 - len(self.stay)
        asked = {k: mask for box in boxes for k, mask in box.items()}
        self.region([self.stated(0, 0, None)] * self.labels, None, asked)
        self.region([self.stated(0, UNBOUNDED, None)] * self.labels, None, asked)
        self.root.append(self.walks.chain([(box, inside) for box in boxes], inside - 1))


def problem_of(release: Release, limits: Limits) -> SearchProblem:
    """Return a release as local search reads it. Cost: leaves times depth times attributes of every tree.

    Raises `Unsupported` for sums, alternatives, an open number of rows without a maximum and what memory does not
    hold, `Inconclusive` when time is up.
    """
    if release.rows.high is None:
        raise Unsupported("the number of rows is unbounded")
    domain, n = release.domain, release.rows.high
    named = sorted(release.mentioned())
    held = _room_for(n, len(domain.attributes), len(release.blocks), limits)
    labels, label = domain.labels, domain.label
    at = {k: place for place, k in enumerate(named)}
    draft = TableLists(Walks(domain.attributes), labels, at)
    regions = sum(len(b.boxes) for b in release.partitions.values()) + 2 * sum(map(len, release.loose.values()))
    if regions * max(1, len(named)) > CELLS:
        raise Unsupported(f"{regions:,} regions over {len(named):,} attributes do not fit into memory")
    literals = sum(int(b.boxes.start[-1]) for b in release.partitions.values())
    limits.hold(BOUND_BYTES * regions * len(named) + LITERAL_BYTES * literals, f"tests of {regions:,} regions")
    if not limits.pay(LITERAL_WORK * literals):
        raise Inconclusive(f"too little time to turn {regions:,} regions into tests")
    for done, block in enumerate(release.blocks):
        if limits.expired():
            raise Inconclusive(f"the time was up while {PHASE}")
        limits.report(f"local search: regions of {done} of {len(release.blocks)} blocks")
        if isinstance(block, Partition):
            draft.partition(block, labels)
        else:
            for region, statement in _counts(block):
                minus = [dict(b.literals) for b in region.minus]
                draft.counted(dict(region.box.literals), minus, statement.low, statement.high)
    if release.impossible:
        draft.barred([dict(b.literals) for b in release.impossible])
    lows, highs = _class_bounds(release)
    classes = _class_sizes(lows, highs, n)
    free = label in at and lows != highs
    tables = _tables(draft, classes, label, free, n, limits)
    made = SearchProblem(release, n, tables, tuple(named), tuple(classes), free)
    limits.keep(made, held + LEFT_BYTES * literals)
    return made


def _room_for(rows: int, attributes: int, counters: int, limits: Limits) -> int:
    """Return the bytes of rows, their places in every partition, and their check; `TooLarge` beyond the memory."""
    needed = rows * (PER_ROW + PER_PLACE * (attributes + counters))
    if needed > limits.room:
        raise TooLarge(f"local search over {rows:,} rows needs about {needed / 1e6:,.0f} MB (--memory)")
    return needed


def _counts(block: Any) -> Iterator[tuple[Region, Statement]]:
    """Yield the regions and statements of a block that only counts; `Unsupported` for sums and alternatives."""
    if not isinstance(block, Loose):
        raise Unsupported("statements of which only one holds are not searched for locally")
    for statement in block:
        if statement.region is None:
            raise Unsupported(f"sums of values are not searched for locally ({statement.source})")
        yield statement.region, statement


def _class_bounds(release: Release) -> tuple[list[int], list[int]]:
    """Return how many rows of each label every single partition leaves at least and at most."""
    labels, n = release.domain.labels, release.rows.high or 0
    lows, highs = [0] * labels, [n] * labels
    for block in release.partitions.values():
        if (block.label == ANY_LABEL).any():
            continue
        for c in range(labels):
            chosen = block.label == c
            lows[c] = max(lows[c], int(block.low[chosen].sum()))
            highs[c] = min(highs[c], sum(min(n, high) for high in block.high[chosen].tolist()))
    return lows, highs


def _class_sizes(lows: Sequence[int], highs: Sequence[int], n: int) -> list[int]:
    """Return numbers of rows per label between the bounds that sum to n, as near to the lower ones' shares as can be.

    Bounds that leave no such numbers are met as far as it goes: the search then ends without a world.
    """
    sizes = list(lows)
    weight = max(1, sum(lows))
    for c, low in enumerate(lows):
        sizes[c] += max(0, min(highs[c] - low, (n - sum(lows)) * max(low, 0) // weight))
    for c, high in enumerate(highs):
        sizes[c] += max(0, min(high - sizes[c], n - sum(sizes)))
    sizes[0] += max(0, n - sum(sizes))
    for c in range(len(sizes)):
        sizes[c] -= max(0, min(sizes[c], sum(sizes) - n))
    return sizes


def _tables(
    draft: TableLists, classes: Sequence[int], label: int | None, free: bool, n: int, limits: Limits
) -> SearchTables:
    """Return the lists as tables; statements about one label get its rows, or a literal on the label where free."""
    ends = [0, *np.cumsum(classes).tolist()]
    begin, of, least, most, among, first, end = (array("q") for _ in range(7))  # an eighth of what lists hold
    begin.append(0)
    searched = draft.walks.attributes
    for box, only in limits.paced(zip(draft.boxes, draft.label, strict=True), PHASE):
        literals = dict(box or {})
        fixed = only != ANY_LABEL and not free
        if only != ANY_LABEL and free and label is not None:
            literals[label] = 1 << only
        first.append(ends[only] if fixed else 0)
        end.append(ends[only + 1] if fixed else n)
        for k, mask in literals.items():
            if not (runs := spans(mask & searched[k].full)):
                continue
            of.append(draft.at[k])
            least.append(runs[0][0])
            most.append(runs[-1][1] - 1)
            among.append(-1 if len(runs) == 1 else draft.walks.tabled(k, mask))
        begin.append(len(of))
    parts = [len(searched[k].sizes) for k in draft.at]
    moved = [p for k, p in draft.at.items() if parts[p] > 1 and (k != label or free)]
    walks = draft.walks
    place = -1 if label is None or label not in draft.at else draft.at[label]
    sizes = [len(draft.root), len(parts), draft.labels, place, int(free), n]
    stay = np.concatenate(draft.stay).reshape(-1) if draft.stay else np.zeros(0, dtype=np.int64)
    nodes = walks.attribute
    asked = [draft.at[k] for k in nodes]
    before = (sizes, draft.root, asked, walks.cut, walks.yes, walks.no, walks.table, draft.statement)
    rest = (draft.low, draft.high, begin, of, least, most, among, first, end, parts, moved, draft.counter)
    return SearchTables._make([*map(as_int_array, before), stay.astype(np.int32), *map(as_int_array, rest)])


def as_int_array(numbers: Sequence[int]) -> Any:
    """Return numbers as an array that the loops read."""
    if isinstance(numbers, array) and numbers:  # its bytes, not copied
        return np.frombuffer(numbers, dtype=np.int64)
    return np.array(numbers, dtype=np.int64)
