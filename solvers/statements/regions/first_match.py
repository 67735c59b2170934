"""A list of boxes over a compressed grid, and what is left of each box once the earlier ones are taken out.

Attributes that no box tells apart are only a factor; parts of one attribute that no box tells apart become one
*group*. A box is then a dict {variable: bit mask over groups} without full masks. Earlier boxes that are
empty, disjoint or constrain one variable only are resolved here; what is left needs counting.

Source: eq. 12-16 of Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from solvers.statements.boxes import Box

Cut = dict[int, int]  # variable -> mask over its groups, never full, never 0
Weights = Sequence[Sequence[int]]  # sizes of the groups of each variable

MERGE_WORK = 1_000_000  # comparing non-adjacent parts beyond this costs more than merging them saves


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the ones in `mask`, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def runs(mask: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of ones in `mask` as half-open intervals (low, high)."""
    ends = bits(mask ^ (mask << 1))
    return zip(ends, ends, strict=True)


def as_bits(positions: Iterable[int]) -> int:
    """Return the integer with ones at the given positions."""
    found = 0
    for i in positions:
        found |= 1 << i
    return found


def weight(sizes: Sequence[int], mask: int) -> int:
    """Return the total size of the groups in `mask`."""
    total = 0
    while mask:
        low = mask & -mask
        total += sizes[low.bit_length() - 1]
        mask ^= low
    return total


def _groups(sizes: Sequence[int], masks: Collection[int]) -> list[int]:
    """Return the parts of positive size as masks, one for each class that no mask of `masks` tells apart."""
    if len(sizes) == 2 and sizes[0] and sizes[1]:
        return [1, 2] if any((mask & 3) in (1, 2) for mask in masks) else [3]
    change = 0
    for mask in masks:
        change |= mask ^ (mask >> 1)  # bit p: parts p and p + 1 differ
    alike: list[int] = []
    fresh = True
    for p, size in enumerate(sizes):
        if size:
            if fresh:
                alike.append(0)
                fresh = False
            alike[-1] |= 1 << p
        fresh = fresh or bool(change >> p & 1)
    if len(alike) * len(masks) > MERGE_WORK:
        return alike
    classes: dict[tuple[bool, ...], int] = {}
    for one in alike:
        behaviour = tuple(mask & one != 0 for mask in masks)
        classes[behaviour] = classes.get(behaviour, 0) | one
    return list(classes.values())


@dataclass(frozen=True, eq=False)
class BoxVariables:
    """The variables of a list of boxes: attribute, groups (masks over parts) and their sizes.

    `factor` is the number of rows over all other attributes; `void` says that the row space is empty.
    """

    part_sizes: Sequence[Sequence[int]]
    attribute: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    sizes: tuple[tuple[int, ...], ...]
    factor: int
    void: bool

    @classmethod
    def of(cls, part_sizes: Sequence[Sequence[int]], boxes: Sequence[Box]) -> BoxVariables:
        """Return the coarsest grid that tells apart what some box does."""
        masks: dict[int, dict[int, None]] = {}
        for box in boxes:
            for a, mask in box.literals:
                masks.setdefault(a, {})[mask] = None
        attribute, groups, sizes = [], [], []
        for a in sorted(masks):
            found = _groups(part_sizes[a], masks[a])
            # Parts outside a mask make it constrain: one group alone matters only if a mask excludes it.
            if len(found) > 1:
                attribute.append(a)
                groups.append(tuple(found))
                sizes.append(tuple(weight(part_sizes[a], g) for g in found))
        named = set(attribute)
        factor = math.prod(sum(s) for a, s in enumerate(part_sizes) if a not in named)
        return cls(part_sizes, tuple(attribute), tuple(groups), tuple(sizes), factor, factor == 0)

    @cached_property
    def variable(self) -> dict[int, int]:
        """The variable of each attribute that is one."""
        return {a: v for v, a in enumerate(self.attribute)}

    @cached_property
    def full(self) -> tuple[int, ...]:
        """The mask that allows every group, per variable."""
        return tuple((1 << len(s)) - 1 for s in self.sizes)

    @cached_property
    def starts(self) -> tuple[list[int], ...]:
        """The lowest part of every group, per variable, increasing: a mask holds a group iff it holds this part."""
        return tuple([(g & -g).bit_length() - 1 for g in groups] for groups in self.groups)

    def cut(self, box: Box) -> Cut | None:
        """Return the box over groups, None when it holds no row."""
        result: Cut = {}
        for a, mask in box.literals:
            v = self.variable.get(a)
            if v is None:
                if not any(size and mask >> p & 1 for p, size in enumerate(self.part_sizes[a])):
                    return None
                continue
            met, start = 0, self.starts[v]
            for low, high in runs(mask):
                met |= (1 << bisect_left(start, high)) - (1 << bisect_left(start, low))
            met &= result.get(v, met)
            if met == 0:
                return None
            if met != self.full[v]:
                result[v] = met
        return result

    def box(self, cut: Mapping[int, int]) -> Box:
        """Return the box over parts again."""
        pairs = []
        for v in sorted(cut):
            if cut[v] != self.full[v]:
                mask = 0
                for g in bits(cut[v]):
                    mask |= self.groups[v][g]
                pairs.append((self.attribute[v], mask))
        return Box(tuple(pairs))


def shrink(
    cut: Cut, minus: Sequence[int], cuts: Sequence[Cut | None], live: Sequence[int]
) -> tuple[Cut, list[int]] | None:
    """Return the box and the boxes still to subtract from it, by index; None when nothing is left.

    A variable absent from `cut` allows `live[v]`. A subtracted box that is disjoint is dropped; one that
    constrains a single variable of what is left shrinks the box; one that constrains none empties it.
    """
    cut, pending, changed = dict(cut), minus, True
    while changed:
        changed, rest = False, []
        for h in pending:
            other = cuts[h]
            if other is None:
                continue
            proper, at, keep = 0, -1, 0
            for v, mask in other.items():
                have = cut.get(v, live[v])
                both = mask & have
                if both == 0:
                    break
                if both != have:
                    proper, at, keep = proper + 1, v, have & ~both
            else:
                if proper == 0:
                    return None
                if proper == 1:
                    cut[at], changed = keep, True
                else:
                    rest.append(h)
        pending = rest
    return cut, list(pending)


@dataclass(frozen=True, slots=True)
class Task:
    """Region j: a box over groups minus the boxes `rest`; `after` boxes on one variable came before it."""

    cut: Cut
    rest: Sequence[int]
    after: int


class FirstMatch:
    """An ordered list of boxes, reduced: `tasks[j]` is what region j is, None when it is empty.

    Boxes on a single variable are kept as events (index, variable, groups left): from then on the variable
    has fewer groups, so that a list of such boxes is a running product.
    """

    def __init__(
        self,
        part_sizes: Sequence[Sequence[int]],
        boxes: Sequence[Box],
        only_last: bool = False,
        expired: Callable[[], bool] = lambda: False,
    ) -> None:
        self.grid = BoxVariables.of(part_sizes, boxes)
        self.cuts: list[Cut | None] = [None if self.grid.void else self.grid.cut(b) for b in boxes]
        self.events: list[tuple[int, int, int]] = []
        self.tasks: list[Task | None] = []
        self.unfinished = len(boxes)  # from this box on time was too short to reduce
        self._meets: dict[tuple[int, int], int] = {}
        self._allow = self._index()
        self._reduce(only_last, expired)

    def _index(self) -> list[list[int]]:
        """Return, for each variable and group, the boxes that allow the group, as bits of an integer."""
        everyone, named = 0, [0] * len(self.grid.sizes)
        users: dict[tuple[int, int], int] = {}
        for j, cut in enumerate(self.cuts):
            if cut is not None:
                everyone |= 1 << j
                for pair in cut.items():
                    users[pair] = users.get(pair, 0) | 1 << j
        change = [[0] * (len(s) + 1) for s in self.grid.sizes]
        for (v, mask), used in users.items():
            named[v] |= used
            for g in bits(mask ^ (mask << 1)):  # where runs of the mask start and end
                change[v][g] ^= used
        table: list[list[int]] = []
        for v, row in enumerate(change):
            now, allowed = everyone & ~named[v], []
            for flip in row[:-1]:
                now ^= flip
                allowed.append(now)
            table.append(allowed)
        return table

    def meets(self, v: int, mask: int) -> int:
        """Return the boxes that allow some group of `mask` on variable v, as bits."""
        key = (v, mask)
        found = self._meets.get(key)
        if found is None:
            found = 0
            for g in bits(mask):
                found |= self._allow[v][g]
            self._meets[key] = found
        return found

    @cached_property
    def clashes(self) -> list[int]:
        """For each box the boxes, as bits, whose masks on some common variable are not nested in its own."""
        found = [0] * len(self.cuts)
        users: dict[int, dict[int, int]] = {}
        for j, cut in enumerate(self.cuts):
            for v, mask in (cut or {}).items():
                by_mask = users.setdefault(v, {})
                by_mask[mask] = by_mask.get(mask, 0) | 1 << j
        for by_mask in users.values():
            for mask, owners in by_mask.items():
                others = 0
                for other, used in by_mask.items():
                    if mask & ~other and other & ~mask:
                        others |= used
                for j in bits(owners) if others else ():
                    found[j] |= others
        return found

    def _reduce(self, only_last: bool, expired: Callable[[], bool]) -> None:
        live = list(self.grid.full)
        earlier, over = 0, False  # boxes of two literals or more met so far; everything captured already
        for j, cut in enumerate(self.cuts):
            if j % 64 == 63 and expired():
                self.unfinished = j
                break
            wanted = not only_last or j == len(self.cuts) - 1
            self.tasks.append(None if over or cut is None or not wanted else self._task(cut, live, earlier))
            if cut is None or over:
                continue
            if len(cut) == 0:
                over = True
            elif len(cut) == 1:
                ((v, mask),) = cut.items()
                if live[v] & mask:
                    live[v] &= ~mask
                    self.events.append((j, v, live[v]))
                    over = live[v] == 0
            else:
                earlier |= 1 << j

    def _task(self, cut: Cut, live: Sequence[int], earlier: int) -> Task | None:
        own: Cut = {}
        hit = earlier
        for v, mask in cut.items():
            own[v] = mask & live[v]
            if own[v] == 0:
                return None
            hit &= self.meets(v, mask)
        left = shrink(own, list(bits(hit)), self.cuts, live)
        return None if left is None else Task(left[0], tuple(left[1]), len(self.events))

    def live(self, task: Task) -> list[int]:
        """Return the groups of each variable that boxes on one variable have left before region j."""
        left = list(self.grid.full)
        for _, v, mask in self.events[: task.after]:
            left[v] = mask
        return left

    def weights(self, smaller: Mapping[int, Sequence[int]]) -> tuple[list[Sequence[int]], int]:
        """Return group sizes and factor if the attributes in `smaller` had those part sizes."""
        sizes: list[Sequence[int]] = list(self.grid.sizes)
        factor = self.grid.factor
        for a, parts in smaller.items():
            v = self.grid.variable.get(a)
            if v is None:
                total = sum(self.grid.part_sizes[a])
                factor = factor // total * sum(parts) if total else 0
            else:
                sizes[v] = [weight(parts, g) for g in self.grid.groups[v]]
        return sizes, factor
