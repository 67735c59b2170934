"""Regions turned into walks: which region of a partition a row is in, found by a few tests on its parts.

A tree's leaves come as disjoint boxes; recursive cuts that split none of them give a tree back, exactly. Whatever
cannot be cut so (rule lists, regions minus others) becomes a chain of tests, box after box.

Source: guillotine cuts of disjoint boxes, as a k-d tree has them: Bentley, "Multidimensional binary search trees used
for associative searching", Communications of the ACM 18, 1975.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from solvers.statements.boxes import Attribute
from solvers.statements.release import Partition

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
        found = best_cut(self.attributes, boxes, weights) if depth < DEPTH else None
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


def best_cut(
    attributes: Sequence[Attribute], boxes: Sequence[tuple[Parts, int]], weights: Sequence[int]
) -> tuple[int, int] | None:
    """Return an attribute and parts of it that split no box and halve the weight best, None if each splits some."""
    shared = set(boxes[0][0])
    for literals, _ in boxes:
        shared &= literals.keys()
    total, best, found = sum(weights), -1, None
    for k in sorted(shared):
        groups = apart([literals[k] for literals, _ in boxes], weights)
        if len(groups) < 2:
            continue
        mask, weight = 0, 0
        for group, more in groups[:-1]:  # unions of first groups: prefixes where masks are runs
            mask, weight = mask | group, weight + more
            if (quality := min(weight, total - weight)) > best:
                best, found = quality, (k, below(mask, attributes[k].full, groups))
    return found


def apart(masks: Sequence[int], weights: Sequence[int]) -> list[tuple[int, int]]:
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


def below(mask: int, full: int, groups: Sequence[tuple[int, int]]) -> int:
    """Return the mask filled up to all parts below its last one, where that meets no group beyond it."""
    filled = full & ((1 << mask.bit_length()) - 1)
    others = [group for group, _ in groups if not group & mask]
    return filled if not any(group & filled for group in others) else mask


def boxes_of(block: Partition) -> list[Parts]:
    """Return the boxes of a partition as masks by attribute."""
    masks = block.boxes.mask.tolist()
    ends, named = block.boxes.start.tolist(), block.boxes.attribute.tolist()
    return [dict(zip(named[a:b], masks[a:b], strict=True)) for a, b in pairwise(ends)]
