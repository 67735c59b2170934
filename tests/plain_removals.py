"""A second checker of proofs by removals, for tiny domains: sets of values, everything anew at every step.

Source: docs/certificates.md, "Removals: rows distinguished", and docs/release-file.md for what a release says. Shares
no code with the project; conditions are read as tests/oracle.py and tests/position_oracle.py read them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import oracle
import position_oracle
from plain_checker import Rejected, demand, has_keys, listed, number_of_rows, whole

MOST_ASSUMED = 20


class Contradiction(Exception):
    """A row has nothing left in a tree that saw it."""


@dataclass(frozen=True)
class Value:
    """A count above 0 of a tree: the values that its leaf allows per attribute, its class (None: any), its bounds."""

    tree: int
    box: tuple[frozenset, ...]
    label: Any
    weight: int
    low: int
    high: int

    def meets(self, other: Value) -> bool:
        return all(a & b for a, b in zip(self.box, other.box, strict=True))


@dataclass
class Rows:
    """Trees, the times that they count every row, their values, and what every row starts with."""

    made: position_oracle.Finite
    space: oracle._Space = field(init=False)
    times: list[list[int]] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    slots: list[int] | None = None
    n: int = 0

    def __post_init__(self) -> None:
        release = self.made.release
        self.space = oracle._space({"domain": release["domain"]})
        self.orders = list(self.space.values.values())
        known = [model for model in release["models"] if "multiplicities" in model]
        if known:
            bagged = max(
                known, key=lambda m: sum(n > 0 for tree in m["trees"] for leaf in self.counts(tree) for _, n in leaf[1])
            )
            self.n = len(bagged["multiplicities"][0])
            for tree, bag in zip(bagged["trees"], bagged["multiplicities"], strict=True):
                leaves = self.counts(tree)
                if bagged.get("resample") == "without":
                    leaves = [(box, counts, sum(n for _, n in counts)) for box, counts, _ in leaves]
                self.add_tree(leaves, bag)
        else:
            low, high = number_of_rows(release)
            demand(low == high, "the number of rows is not known")
            self.n = low
        for leaves in self.exact_blocks(release):
            self.add_tree(leaves, [1] * self.n)
        self.trees = len(self.times)
        demand(bool(known) or bool(self.trees), "rows cannot be distinguished")
        if not known:
            self.slots = self.slots_of()
        self.with_sets = [any(not self.is_run(k, v.box[k]) for v in self.values) for k in range(len(self.orders))]

    def is_run(self, k: int, some: frozenset) -> bool:
        at = [i for i, value in enumerate(self.orders[k]) if value in some]
        return not at or at[-1] - at[0] + 1 == len(at)

    def counts(self, tree: dict) -> list[tuple[tuple[frozenset, ...], list, int | None]]:
        """Per leaf in file order: its box, (class, count) pairs, its distinct rows."""
        nodes, found = tree["nodes"], {}

        def walk(at: int, box: dict) -> None:
            node = nodes[at]
            if "if" not in node:
                pairs = oracle._counted(
                    {k: v for k, v in node.items() if k == "counts"} or {"count": node["count"]}, self.space
                )
                found[at] = tuple(frozenset(values) for values in box.values()), pairs, node.get("distinct")
                return
            ((name, test),) = node["if"].items()
            attribute = self.space.columns[name]["attribute"] if name in self.space.columns else name
            passing = {v for v in self.space.values[attribute] if self.passes(name, test, v)}
            walk(node["then"], {**box, attribute: box[attribute] & passing})
            walk(node["else"], {**box, attribute: box[attribute] - passing})

        walk(0, {name: set(values) for name, values in self.space.values.items()})
        return [found[at] for at in sorted(found)]

    def passes(self, name: str, test: Any, value: Any) -> bool:
        if name in self.space.columns:
            view = dict(self.space.columns[name])
            value = int(value in self.space.passing(view.pop("attribute"), view))
        return value in self.space.passing(name, test)

    def add_tree(self, leaves: list, times: list[int]) -> None:
        t = len(self.times)
        self.times.append(list(times))
        seen = [m for m in times if m]
        for box, pairs, distinct in leaves:
            counted = [(label, n) for label, n in pairs if n > 0]
            highs = [n // min(seen, default=1) for _, n in counted]
            if distinct is not None:
                highs = [min(high, distinct - (len(counted) - 1)) for high in highs]
            for (label, n), high in zip(counted, highs, strict=True):
                low = max(1, -(-n // max([1, *times])))
                if distinct is not None:
                    low = max(low, distinct - (sum(highs) - high))
                own = box
                if label is not oracle.NO_LABEL:
                    own = (*box[:-1], frozenset([label]) & box[-1])
                self.values.append(Value(t, own, None if label is oracle.NO_LABEL else label, n, low, high))

    def exact_blocks(self, release: dict) -> Iterator[list]:
        """The trees that count training rows, each once, in the order of the blocks."""
        for model in release["models"]:
            if model["kind"] == "tree":
                yield [(box, pairs, None) for box, pairs, _ in self.counts(model)]
            if model["kind"] != "forest":
                continue
            bagged = model.get("bootstrap") or model.get("resample")
            for t, tree in enumerate(model["trees"]):
                leaves = self.counts(tree)
                if not bagged:
                    yield [(box, pairs, None) for box, pairs, _ in leaves]
                else:
                    bag = model["multiplicities"][t] if "multiplicities" in model else None
                    yield from self.implied(leaves, bag, model.get("resample") == "without")

    def implied(self, leaves: list, bag: list[int] | None, without: bool) -> Iterator[list]:
        """The blocks that follow from a bag and come out exact."""
        least, most = [], []
        for _, pairs, distinct in leaves:
            total, d = sum(n for _, n in pairs), distinct
            low = [n if without else min(n, max(1, 0 if d is None else d - (total - n))) for _, n in pairs]
            if bag is not None:
                low = [max(a, self.fewest(bag, n)) for a, (_, n) in zip(low, pairs, strict=True)]
            least.append(low)
            most.append([math.inf if bag is None else self.greatest(bag, n) for _, n in pairs])
        flat, ends = [x for low in least for x in low], [x for high in most for x in high]
        if len(flat) == 1:
            flat = [self.n]
        if sum(flat) == self.n and all(a <= b for a, b in zip(flat, ends, strict=True)):
            each = iter(flat)
            yield [(box, [(label, next(each)) for label, _ in pairs], None) for box, pairs, _ in leaves]
        if without:
            return
        classes = len(self.space.values.get(self.space.label, [])) if self.space.label else 0
        sums, whole_leaf = [], []
        for (_, pairs, d), low in zip(leaves, least, strict=True):
            more = d is not None and d > sum(low) and sum(n > 0 for _, n in pairs) == classes
            whole_leaf.append(more)
            sums.append(d if more else sum(low))
        if any(whole_leaf):
            sums = [self.n] if len(sums) == 1 else sums
            if sum(sums) == self.n:
                yield [(box, [(oracle.NO_LABEL, n)], None) for (box, _, _), n in zip(leaves, sums, strict=True)]

    @staticmethod
    def fewest(bag: list[int], count: int) -> int:
        sums = itertools.accumulate(sorted(bag, reverse=True))
        return 0 if count <= 0 else 1 + sum(total < count for total in sums)

    @staticmethod
    def greatest(bag: list[int], count: int) -> int:
        return sum(total <= count for total in itertools.accumulate(sorted(bag)))

    def slots_of(self) -> list[int]:
        """The values that rows have by the tree with the greatest entropy, of several by that with most in common."""
        best: tuple[tuple[float, int], list[int]] = ((-1.0, 0), [])
        orders = list(enumerate(self.orders))
        about = [
            {k for value in self.values if value.tree == t for k, order in orders if set(order) - value.box[k]}
            for t in range(self.trees)
        ]
        for t in range(self.trees):
            own = [v for v, value in enumerate(self.values) if value.tree == t]
            shares = [self.values[v].weight / max(1, self.n) for v in own]
            rank = (round(-sum(p * math.log2(p) for p in shares), 9), sum(bool(about[t] & one) for one in about))
            if rank > best[0]:
                best = rank, [v for v in own for _ in range(self.values[v].weight)]
        demand(len(best[1]) == self.n, "the tree does not count all rows")
        return best[1]


class Replay:
    """What every row has left in every tree that saw it: `left[i, t]` is a set of values."""

    def __init__(self, rows: Rows, left: dict[tuple[int, int], set[int]] | None = None) -> None:
        self.rows = rows
        if left is not None:
            self.left = {at: set(values) for at, values in left.items()}
            return
        self.left = {}
        for t in range(rows.trees):
            for i in range(rows.n):
                if m := rows.times[t][i]:
                    own = {v for v, x in enumerate(rows.values) if x.tree == t and m <= x.weight - x.low + 1}
                    if rows.slots is not None and rows.values[rows.slots[i]].tree == t:
                        own &= {rows.slots[i]}
                    self.left[i, t] = own

    def take(self, i: int, t: int, gone: set[int]) -> bool:
        if (i, t) not in self.left or not self.left[i, t] & gone:
            return False
        self.left[i, t] -= gone
        if not self.left[i, t]:
            raise Contradiction
        return True

    def run(self, steps: Any, depth: int = 0) -> bool:
        """Whether the steps end in a contradiction."""
        try:
            if not all(self.left.values()):
                raise Contradiction
            for step in listed(steps):
                demand(isinstance(step, list) and len(step) > 1 and isinstance(step[0], str), "this is not a step")
                rules = {"revised": self.revised, "counted": self.counted, "filled": self.filled, "needed": self.filled}
                if step[0] == "assumed":
                    self.assumed(*listed(step, 4)[1:], depth=depth)
                elif step[0] == "labelled":
                    self.labelled(*listed(step, 5)[1:])
                else:
                    demand(step[0] in rules, "there is no such step")
                    rules[step[0]](step)
        except Contradiction:
            return True
        return False

    def row(self, i: Any) -> int:
        demand(0 <= whole(i) < self.rows.n, "there is no such row")
        return i

    def value(self, v: Any) -> Value:
        demand(0 <= whole(v) < len(self.rows.values), "there is no such value")
        return self.rows.values[v]

    def revised(self, step: list) -> None:
        i = self.row(listed(step, 2)[1])
        values, trees = self.rows.values, [t for t in range(self.rows.trees) if (i, t) in self.left]
        again = True
        while again:
            again = False
            for t, s in itertools.permutations(trees, 2):
                here, there = self.left[i, t], self.left[i, s]
                gone = {v for v in here if not any(values[v].meets(values[u]) for u in there)}
                again |= self.take(i, t, gone)
            for k, sets in enumerate(self.rows.with_sets):
                for t in trees if sets else ():
                    parts = self.parts(i, k)
                    again |= self.take(i, t, {v for v in self.left[i, t] if not values[v].box[k] & parts})

    def parts(self, i: int, k: int) -> set:
        """What all trees leave of an attribute, exactly."""
        out = set(self.rows.orders[k])
        for t in range(self.rows.trees):
            if (i, t) in self.left:
                out &= set().union(*(self.rows.values[v].box[k] for v in self.left[i, t]))
        return out

    def numbers(self, v: int) -> dict[int, tuple[int, int, int, int]]:
        """Per times m: q, the least and greatest n_m, p; by all ways."""
        value = self.rows.values[v]
        times = sorted({m for m in self.rows.times[value.tree] if m})
        able, fixed = {}, {}
        for m in times:
            group = [self.left[i, value.tree] for i in range(self.rows.n) if self.rows.times[value.tree][i] == m]
            able[m], fixed[m] = sum(v in left for left in group), sum(left == {v} for left in group)
        ways = [
            way
            for way in itertools.product(*(range(fixed[m], able[m] + 1) for m in times))
            if sum(m * x for m, x in zip(times, way, strict=True)) == value.weight
            and value.low <= sum(way) <= value.high
        ]
        if not ways:
            raise Contradiction
        ends = [(min(column), max(column)) for column in zip(*ways, strict=True)]
        return {m: (fixed[m], *end, able[m]) for m, end in zip(times, ends, strict=True)}

    def counted(self, step: list) -> None:
        v = listed(step, 2)[1]
        t = self.value(v).tree
        for m, (fixed, least, most, able) in self.numbers(v).items():
            group = [i for i in range(self.rows.n) if self.rows.times[t][i] == m and v in self.left[i, t]]
            others = [i for i in group if self.left[i, t] != {v}]
            if most == fixed:
                for i in others:
                    self.take(i, t, {v})
            if least == able:
                for i in group:
                    self.take(i, t, self.left[i, t] - {v})

    def filled(self, step: list) -> None:
        word, t, m, values = listed(step, 4)
        demand(0 <= whole(t) < self.rows.trees, "there is no such tree")
        named = {whole(v) for v in listed(values)}
        demand(len(named) == len(values), "a value stands twice")
        demand(all(0 <= v < len(self.rows.values) and self.rows.values[v].tree == t for v in named), "not of the tree")
        group = [i for i in range(self.rows.n) if self.rows.times[t][i] == whole(m) != 0]
        demand(bool(group), "no row is counted so often")
        ends = [self.numbers(v)[m] for v in named]
        if word == "filled":
            inside = [i for i in group if self.left[i, t] <= named]
            room = sum(most for _, _, most, _ in ends)
            demand(len(inside) >= room, "the rows do not fill the values")
            if len(inside) > room:
                raise Contradiction
            for i in set(group) - set(inside):
                self.take(i, t, named)
            return
        able = [i for i in group if self.left[i, t] & named]
        need = sum(least for _, least, _, _ in ends)
        demand(len(able) <= need, "the values do not need the rows")
        if len(able) < need:
            raise Contradiction
        for i in able:
            self.take(i, t, self.left[i, t] - named)

    def by_classes(self, t: int) -> bool:
        return all(value.label is not None for value in self.rows.values if value.tree == t)

    def labels(self, i: int) -> list:
        """The labels left of a row."""
        out = list(self.rows.space.values[self.rows.space.label]) if self.rows.space.label else [None]
        for t in range(self.rows.trees):
            if (i, t) in self.left:
                held = {self.rows.values[v].label for v in self.left[i, t]}
                out = [label for label in out if label in held or None in held]
        return out

    def labelled(self, rows: Any, labels: Any, over: Any, weights: Any) -> None:
        every = list(self.rows.space.values[self.rows.space.label]) if self.rows.space.label else [None]
        named = [self.row(i) for i in listed(rows)]
        wanted = dict(zip(named, listed(labels, len(named)), strict=True))
        demand(len(wanted) == len(named) and whole(over) > 0, "a row stands twice, or d is not positive")
        demand(all(0 <= whole(k) < len(every) for k in wanted.values()), "there is no such label")
        total, read = 0, []
        for weight in listed(weights):
            t, k, once, y = listed(weight, 4)
            demand(0 <= whole(t) < self.rows.trees and 0 <= whole(k) < len(every), "no such total")
            demand(isinstance(once, bool) and self.by_classes(t), "the tree does not count by classes")
            own = [x for x in self.rows.values if x.tree == t and x.label == every[k]]
            low, high = sum(x.low if once else x.weight for x in own), sum(x.high if once else x.weight for x in own)
            total += whole(y) * (high if y > 0 else low)
            read.append((t, k, once, y))
        for i in range(self.rows.n):
            rest = []
            for k, label in enumerate(every):
                if label not in self.labels(i):
                    continue
                gain = over if i in wanted and wanted[i] != k else 0
                for t, of, once, y in read:
                    m = self.rows.times[t][i]
                    gain -= y * (min(m, 1) if once else m) if of == k else 0
                rest.append(gain)
            if not rest:
                raise Contradiction
            total += max(rest)
        demand(total < over, "other labels are possible")
        for i, k in wanted.items():
            for t in range(self.rows.trees):
                if (i, t) in self.left:
                    held = self.left[i, t]
                    self.take(i, t, {v for v in held if self.rows.values[v].label not in (None, every[k])})

    def assumed(self, row: Any, v: Any, steps: Any, depth: int) -> None:
        i, t = self.row(row), self.value(v).tree
        if v not in self.left.get((i, t), ()):
            return
        demand(depth < MOST_ASSUMED, "too many assumptions below each other")
        inner = Replay(self.rows, self.left)
        inner.left[i, t] = {v}
        demand(inner.run(steps, depth + 1), "the assumption leads to no contradiction")
        self.take(i, t, {v})

    # ------------------------------------------------------------ claims

    def places(self, i: int, k: int) -> set:
        """The values that a row can have of an attribute."""
        if k == len(self.rows.orders) - 1 and self.rows.space.label:
            return set(self.labels(i))
        if self.rows.with_sets[k]:
            return self.parts(i, k)
        order, out = self.rows.orders[k], set(self.rows.orders[k])
        for t in range(self.rows.trees):
            if (i, t) in self.left:
                some = set().union(*(self.rows.values[v].box[k] for v in self.left[i, t]))
                at = [j for j, value in enumerate(order) if value in some]
                out &= set(order[at[0] : at[-1] + 1]) if at else set()
        return out

    def within(self, i: int, box: list[set]) -> bool:
        return all(self.places(i, k) <= allowed for k, allowed in enumerate(box))

    def meets(self, i: int, box: list[set]) -> bool:
        for t in range(self.rows.trees):
            if (i, t) in self.left and not any(
                all(a & b for a, b in zip(self.rows.values[v].box, box, strict=True)) for v in self.left[i, t]
            ):
                return False
        return all(self.places(i, k) & allowed for k, allowed in enumerate(box))


def box_of(rows: Rows, condition: dict) -> list[set]:
    """The values per attribute that a condition in the release's own words allows."""
    out = {name: set(values) for name, values in rows.space.values.items()}
    for name, test in rows.made.condition(condition).items():
        attribute = rows.space.columns[name]["attribute"] if name in rows.space.columns else name
        demand(attribute in out, "unknown attribute")
        out[attribute] = {v for v in out[attribute] if rows.passes(name, test, v)}
    return list(out.values())


def check(release: dict, certificate: dict) -> None:
    """Check a certificate with a proof by removals; `Rejected` where it proves nothing."""
    claim = certificate["claim"]
    proof = has_keys(certificate["proof"], {"kind", "steps"})
    conditions = [claim["profile"]] if "profile" in claim else [one["where"] for one in claim.get("positions", ())]
    rows = Rows(position_oracle.finite(release, tuple(conditions)))
    replay = Replay(rows)
    over = replay.run(proof["steps"])
    if "worlds" in claim:
        demand(over, "there is no contradiction")
    elif "positions" in claim:
        demand(rows.slots is None, "slots have no positions")
        for one in listed(claim["positions"]):
            i = whole(has_keys(one, {"position", "where"})["position"])
            demand(0 <= i < rows.n, "there is no such position")
            demand(over or replay.within(i, box_of(rows, one["where"])), "a row may be elsewhere")
    elif "at_most" in claim:
        box = box_of(rows, claim["profile"])
        found = sum(replay.meets(i, box) for i in range(rows.n)) if not over else 0
        demand(found <= whole(claim["at_most"]), "more rows fit")
    else:
        box = box_of(rows, claim["profile"])
        demand(over or sum(replay.within(i, box) for i in range(rows.n)) >= whole(claim["at_least"]), "fewer rows fit")


__all__ = ["Rejected", "check"]
