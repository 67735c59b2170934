"""A second checker of certificates, for tiny domains: all raw rows are listed, and nothing is clever.

Source: docs/certificates.md, and docs/release-file.md for what a release says. Where the page leaves the numbering open
(an implicit default rule; the whole numbers of means, totals and medians) the encoders were read. One rule was changed
after solvers/kernel/cells.py was read: that a row outside a region and one inside it that adds 0 are of two cells.
Shares no code with the project: conditions and paths are read as the oracle reads them; only where the parts of an
attribute begin is taken from the loaded release. Seals and hashes are ignored, `drat` is not read.
"""

from __future__ import annotations

import json
import math
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import oracle

Bounds = tuple[int | None, int | None]
KINDS = ("propagation", "farkas", "branching")


class Rejected(Exception):
    """The certificate does not prove what it claims."""


def demand(holds: bool, reason: str) -> None:
    if not holds:
        raise Rejected(reason)


def whole(value: Any) -> int:
    demand(isinstance(value, int) and not isinstance(value, bool), f"{value!r} is not a whole number")
    return value


def listed(value: Any, length: int | None = None) -> list:
    demand(
        isinstance(value, list) and length in (None, len(value)), f"{value!r:.60} is not a list of {length or 'any'}"
    )
    return value


def has_keys(value: Any, needed: set[str], allowed: Iterable[str] = ()) -> dict:
    demand(isinstance(value, dict), "an object is needed")
    demand(needed <= set(value) <= needed | set(allowed), f"{sorted(map(str, value))} are not the keys needed")
    return value


# ---------------------------------------------------------------- statements, in the order of the page


@dataclass(frozen=True)
class Said:
    """low <= sum of coefs over the training rows <= high; coefs per possible raw row; None is no bound."""

    coefs: tuple[int, ...]
    low: int | None
    high: int | None
    counts: bool = True  # counts the rows of its region, does not add up values
    within: tuple[bool, ...] = ()  # the rows of its region; left out where the coefficients say it
    marks: tuple[Any, ...] = ()  # of a sum of several terms: what each tells of every row

    def sees(self, i: int) -> Any:
        """What the statement tells of a row: whether it is in the region, and what it adds there."""
        if self.marks:
            return self.marks[i]
        return (self.within[i] if self.within else bool(self.coefs[i])), self.coefs[i]


@dataclass
class Block:
    """Statement numbers of a tree or list ("partition"), of loose statements, or per alternative ("choice")."""

    kind: str
    alternatives: list[list[int]] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        return [s for alternative in self.alternatives for s in alternative]


def number_of_rows(release: dict) -> Bounds:
    for model in oracle._partitions(release):
        if not oracle._lacks_default(model):
            space, parts = oracle._Space(release), oracle._parts(model)
            total = sum(n for region in oracle._regions(model) for _, n in oracle._counted(parts[region], space))
            return total, total
    for figure in oracle._statements(release):
        if "count" in figure and not figure.get("where"):
            return figure["count"], figure["count"]
    stated = release.get("rows", {})
    if isinstance(stated, dict):
        return stated.get("at_least", 0), stated.get("at_most")
    return stated, stated


class Facts:
    """What a release says, over the list of its possible raw rows."""

    def __init__(self, release: dict) -> None:
        self.space = oracle._Space(release)
        self.rows = self.space.rows
        self.least, self.most = number_of_rows(release)
        self.statements: list[Said] = []
        self.blocks: list[Block] = []
        for model in release["models"]:
            trees = oracle._trees(model) if model["kind"] == "forest" else [model]
            for each in trees:
                if each["kind"] == "table":
                    self.add_table(each)
                elif each["kind"] == "rule_set":
                    self.add_rule_set(each)
                else:
                    self.add_partition(each)
        self.everybody = len(self.statements)
        self.statements.append(Said((1,) * len(self.rows), self.least, self.most))

    def add(self, kind: str, alternatives: Sequence[Sequence[Said]]) -> None:
        block = Block(kind)
        for every in alternatives:
            first = len(self.statements)
            self.statements += every
            block.alternatives.append(list(range(first, first + len(every))))
        self.blocks.append(block)

    def counted(self, part: dict, inside: list[bool]) -> list[Said]:
        """One statement per class, or one for a plain count."""
        out = []
        for value, n in oracle._counted({k: v for k, v in part.items() if k == "counts"} or part, self.space):
            here = (
                i and (value is oracle.NO_LABEL or row[-1] == value) for i, row in zip(inside, self.rows, strict=True)
            )
            out.append(Said(tuple(map(int, here)), n, n))
        return out

    def add_partition(self, model: dict) -> None:
        parts = oracle._parts(model)
        at = [oracle._path(self.space, model, row)[-1] for row in self.rows]
        found: list[Said] = []
        for region in oracle._regions(model):
            inside = [here == region for here in at]
            if region < len(parts):
                found += self.counted(parts[region], inside)
            else:  # what the rules leave is the default rule's
                said = sum(n for part in parts for _, n in oracle._counted(part, self.space))
                high = None if self.most is None else self.most - said
                found.append(Said(tuple(map(int, inside)), max(0, self.least - said), high))
        self.add("partition", [found])

    def add_rule_set(self, model: dict) -> None:
        found: list[Said] = []
        for rule in oracle._parts(model):
            found += self.counted(rule, [self.space.holds(rule["if"], row) for row in self.rows])
        if found:
            self.add("loose", [found])

    def add_table(self, model: dict) -> None:
        """Loose statements first, then one choice per median that leaves several."""
        boxes = [self.allowed(figure.get("where", {})) for figure in model["statements"]]
        counts = {box: f["count"] for box, f in zip(boxes, model["statements"], strict=True) if "count" in f}
        if self.least == self.most:
            counts.setdefault(self.allowed({}), self.least)
        loose: list[Said] = []
        choices: list[list[list[Said]]] = []
        for figure, box in zip(model["statements"], boxes, strict=True):
            kind = oracle._statement_kind(figure)
            inside = [all(v in some for v, some in zip(row, box, strict=True)) for row in self.rows]
            ones = tuple(map(int, inside))
            if kind == "count":
                low, high = oracle._limits(figure, kind)
                if set(figure) & {"count", "at_least", "at_most"}:
                    loose.append(Said(ones, int(low), None if high == math.inf else int(high)))
                continue
            if kind == "linear":
                loose.append(self.added_up(figure))
                continue
            if kind != "total":
                loose.append(Said(ones, 1, None))
            odd = bool(counts.get(box, 0) % 2)
            alternatives = Statistic(self, figure[kind], inside, box).alternatives(kind, odd)
            if len(alternatives) == 1:
                loose += alternatives[0]
            else:
                choices.append(alternatives)
        if model.get("complete"):
            by_names = {frozenset(f["where"]): [] for f in model["statements"] if f.get("where")}
            for figure, box in zip(model["statements"], boxes, strict=True):
                by_names.setdefault(frozenset(figure.get("where", {})), []).append(box)
            by_names.pop(frozenset(), None)
            for listed in by_names.values():
                there = [any(all(v in s for v, s in zip(row, b, strict=True)) for b in listed) for row in self.rows]
                loose.append(Said(tuple(int(not inside) for inside in there), 0, 0))
        if loose:
            self.add("loose", [loose])
        for alternatives in choices:
            self.add("choice", alternatives)

    def added_up(self, figure: dict) -> Said:
        """A linear statement in the smallest whole numbers; terms over one region and attribute are one."""
        found: dict[Any, tuple[list[bool], list[Fraction], list[list[int]]]] = {}
        for term in figure["linear"]:
            earlier: list[Any] = []
            for where in term.get("any", [term.get("where", {})]):
                box = self.allowed(where)
                inside = [
                    all(v in some for v, some in zip(row, box, strict=True))
                    and not any(all(v in s for v, s in zip(row, b, strict=True)) for b in earlier)
                    for row in self.rows
                ]
                key = (box, tuple(earlier))
                earlier.append(box)
                self.add_term(found, term, box, (key, inside))
        terms = [(inside, t[0], f) for inside, t, f in found.values() if t[0] and all(any(c) for c in f)]
        unit = _common([t * (math.gcd(*f[0]) if len(f) == 1 else 1) for _, t, f in terms])
        sums = [sum(i[r] * t * math.prod(c[r] for c in f) for i, t, f in terms) / unit for r in range(len(self.rows))]
        marks = [tuple((i[r], *(c[r] if i[r] else 0 for c in f)) for i, _, f in terms) for r in range(len(self.rows))]
        low, high = oracle.linear_limits(figure)
        greatest = [abs(t) * math.prod(max(map(abs, c)) for c in f) for _, t, f in terms]
        most = int(sum(greatest, Fraction(0)) / unit) * max(1, self.most or 1)
        ends = (None if low is None else math.ceil(low / unit), None if high is None else math.floor(high / unit))
        ends = tuple(None if end is None else max(-most - 1, min(end, most + 1)) for end in ends)
        plain = len(terms) == 1 and not terms[0][2] and terms[0][1] > 0
        return Said(tuple(map(int, sums)), *ends, counts=plain, marks=tuple(marks) if terms else ((),) * len(marks))

    def add_term(self, found: dict, term: dict, box: Any, region: Any) -> None:
        """Add what a term says of the rows of a region: whole numbers per attribute, and how often these are added."""
        (key, inside), space, times = region, self.space, Fraction(str(term.get("times", 1)))
        by_attribute: dict[int, list[Any]] = {}
        names = term.get("of", [])
        for name in [names] if isinstance(names, str) else names:
            view = dict(space.columns.get(name, {}))
            attribute = view.pop("attribute", name)
            k, values = space.position[attribute], space.values[attribute]
            number = {v: Fraction(int(oracle._passes(view, v, values)) if view else v) for v in values}
            before = by_attribute.get(k, [{v: Fraction(1) for v in box[k]}])[0]
            by_attribute[k] = [{v: before[v] * number[v] for v in box[k]}]
        factors = []
        for k, (numbers,) in by_attribute.items():
            unit = _common([x for x in numbers.values() if x])
            times *= unit
            factors.append([int(numbers[row[k]] / unit) if row[k] in numbers else 0 for row in self.rows])
        one = tuple(by_attribute) if len(factors) == 1 else (tuple(by_attribute), tuple(map(tuple, factors)))
        if (key, one) in found and len(factors) == 1:
            _, old, (coefs,) = found[key, one]
            sums = [old[0] * a + times * b for a, b in zip(coefs, factors[0], strict=True)]
            unit = _common([x for x in sums if x])
            found[key, one] = (inside, [unit], [[int(x / unit) for x in sums]])
        else:
            found[key, one] = (inside, [times + (found[key, one][1][0] if (key, one) in found else 0)], factors)

    def allowed(self, condition: dict) -> tuple[frozenset, ...]:
        """The values that each attribute may have, tests of binary columns included."""
        out = {name: list(values) for name, values in self.space.values.items()}
        for name, test in condition.items():
            view = dict(self.space.columns.get(name, {}))
            attribute = view.pop("attribute", name)
            values = self.space.values[attribute]
            for v in list(out[attribute]):
                seen = int(oracle._passes(view, v, values)) if view else v
                if not oracle._passes(test, seen, self.space.values_of(name)):
                    out[attribute].remove(v)
        return tuple(map(frozenset, out.values()))


def _common(numbers: Sequence[Fraction]) -> Fraction:
    """The greatest number of which all are multiples (1 of none)."""
    scale = math.lcm(*(x.denominator for x in numbers))
    return Fraction(math.gcd(*(int(x * scale) for x in numbers)) or 1, scale)


class Statistic:
    """A mean, total or median of the rows `inside` as sums of whole numbers."""

    def __init__(self, facts: Facts, stated: dict, inside: list[bool], box: tuple[frozenset, ...]) -> None:
        space, of = facts.space, stated["of"]
        view = dict(space.columns.get(of, {}))
        attribute = view.pop("attribute", of)
        k, values = space.position[attribute], space.values[attribute]
        if len(values) > 2000:
            raise NotImplementedError("an attribute that is not cut at every value")
        self.number = {v: Fraction(int(oracle._passes(view, v, values)) if view else v) for v in values}
        self.scale = math.lcm(*(x.denominator for x in self.number.values()))
        self.within = tuple(inside)
        self.group = sorted({int(self.number[v] * self.scale) for v in box[k]})
        self.values = [
            int(self.number[r[k]] * self.scale) if i else None for r, i in zip(facts.rows, inside, strict=True)
        ]
        within = oracle.canonical(stated.get("within", 0))
        self.low = Fraction(oracle.canonical(stated["value"]) - within)
        self.high = Fraction(oracle.canonical(stated["value"]) + within)

    def alternatives(self, kind: str, odd: bool) -> list[list[Said]]:
        if kind == "total":
            return [[self.between(1, 0, self.low * self.scale, self.high * self.scale)]]
        if kind == "median":
            return self.median(odd)
        zero = Fraction(0)
        ends = [self.deviations(self.low), self.deviations(self.high)]
        if self.low == self.high:
            return [[self.between(*ends[0], zero, zero)]]
        return [[self.between(*ends[0], zero, None), self.between(*ends[1], None, zero)]]

    def deviations(self, end: Fraction) -> tuple[int, int]:
        common = math.lcm(self.scale, end.denominator)
        return common // self.scale, int(end * common)

    def between(self, times: int, less: int, low: Fraction | None, high: Fraction | None) -> Said:
        """The sum of times * value - less over the group, divided by what all of them have in common."""
        unit = math.gcd(*(times * v - less for v in self.group)) or 1
        coefs = tuple(0 if v is None else (times * v - less) // unit for v in self.values)
        floor = None if high is None else math.floor(high / unit)
        return Said(coefs, None if low is None else math.ceil(low / unit), floor, counts=False, within=self.within)

    def signed(self, low: int | None, high: int | None, plus: Iterable[int], minus: Iterable[int] = ()) -> Said:
        more, fewer = set(plus), set(minus)
        return Said(tuple((v in more) - (v in fewer) for v in self.values), low, high, counts=False, within=self.within)

    def median(self, odd: bool) -> list[list[Said]]:
        low, high, group = self.low * self.scale, self.high * self.scale, self.group
        out = []
        for m in group:
            if low <= m <= high:
                below, above = [v for v in group if v < m], [v for v in group if v > m]
                rest = ([v for v in group if v >= m], [v for v in group if v <= m])
                out.append([self.signed(None, -1, below, rest[0]), self.signed(None, -1, above, rest[1])])
        for a in group if not odd else ():
            for b in group:
                if a < b and low <= Fraction(a + b, 2) <= high:
                    halves = self.signed(0, 0, [v for v in group if v <= a], [v for v in group if v >= b])
                    out.append([halves, self.signed(1, None, [a]), self.signed(1, None, [b])])
                    between = [v for v in group if a < v < b]
                    out[-1] += [self.signed(0, 0, between)] if between else []
        return out


# ---------------------------------------------------------------- claims


@dataclass
class Claim:
    """What is claimed: `kind` is at_most, at_least, only_world or worlds; `fits` says which raw rows are meant."""

    kind: str
    k: int = 0
    fits: list[bool] = field(default_factory=list)
    dataset: dict[int, int] = field(default_factory=dict)  # raw row -> times


def read_claim(facts: Facts, said: Any) -> Claim:
    demand(isinstance(said, dict), "the claim is not an object")
    space = facts.space
    if "profile" in said:
        kind = next((k for k in ("at_most", "possible") if k in said), "at_least")
        profile = has_keys(said, {"profile", kind})["profile"]
        demand(isinstance(profile, dict), "the profile is not an object")
        wanted = {}
        for name, value in profile.items():
            demand(name in space.values or name in space.columns, f"{name!r} is unknown")
            wanted[name] = value_of(value, space.values_of(name))
        fits = [all(space.value_at(name, row) == v for name, v in wanted.items()) for row in facts.rows]
        demand(kind != "possible" or said[kind] is True, "only that a row is possible can be claimed")
        return Claim(kind, 1 if kind == "possible" else whole(said[kind]), fits)
    if "worlds" in said:
        demand(whole(has_keys(said, {"worlds"})["worlds"]) == 0, "only that there is no world can be claimed")
        return Claim("worlds")
    world = has_keys(has_keys(said, {"only_world"})["only_world"], {"columns", "rows", "times"})
    demand(world["columns"] == list(space.values), "these are not the attributes of the domain")
    rows, times = listed(world["rows"]), listed(world["times"])
    demand(len(rows) == len(times), "not as many rows as times")
    at = {row: i for i, row in enumerate(facts.rows)}
    dataset: dict[int, int] = {}
    for row, often in zip(rows, times, strict=True):
        values = zip(listed(row, len(space.values)), space.values.values(), strict=True)
        raw = tuple(value_of(value, known) for value, known in values)
        demand(raw in at and at[raw] not in dataset, "a row is impossible, or stands twice")
        demand(whole(often) > 0, "a row stands there not even once")
        dataset[at[raw]] = often
    return Claim("only_world", dataset=dataset)


def value_of(value: Any, known: list) -> Any:
    try:
        value = oracle.canonical(value)
    except (ValueError, OverflowError):
        raise Rejected(f"{value!r} is not a value") from None
    demand(any(value == v for v in known), f"{value!r:.60} is outside the domain")
    return value


# ---------------------------------------------------------------- proofs over cells


@dataclass
class Node:
    """What a node of the proof knows: bounds per cell, and the statements that hold there."""

    lower: list[int]
    upper: list[int]
    usable: set[int]

    def copy(self) -> Node:
        return Node(list(self.lower), list(self.upper), set(self.usable))

    @property
    def empty(self) -> bool:
        return any(low > high for low, high in zip(self.lower, self.upper, strict=True))


class Cells:
    """The cells of the named blocks, and the proof tree over them."""

    def __init__(self, facts: Facts, starts: Sequence[Sequence[int]], claim: Claim, proof: dict) -> None:
        has_keys(proof, {"kind", "blocks", "cells", "sums", "tree"})
        demand(facts.most is not None, "the number of rows is unbounded")
        self.facts, self.claim = facts, claim
        self.blocks = [whole(b) for b in listed(proof["blocks"])]
        demand(all(0 <= b < len(facts.blocks) for b in self.blocks), "there is no such block")
        demand(len(set(self.blocks)) == len(self.blocks), "a block stands twice")
        self.group_rows()
        self.named = [self.find(parts, starts) for parts in listed(proof["cells"])]
        demand(len(set(self.named)) == len(self.named), "a cell stands twice")
        self.sums = [self.read_sum(s) for s in listed(proof["sums"])]

    def group_rows(self) -> None:
        """Group the raw rows by region and by what every statement of the blocks counts; leave out those that count 0.

        A row outside a region and one inside it that adds 0 (a mean's deviation) are of two cells.
        """
        facts = self.facts
        numbers = [s for b in self.blocks for s in facts.blocks[b].numbers]
        every = [facts.statements[s] for s in numbers]
        capped = [s.coefs for s in every if s.counts and s.high is not None and s.high <= 0]
        self.members: list[list[int]] = []
        self.cell_of: dict[int, int] = {}
        seen: dict[tuple[tuple[bool, int], ...], int] = {}
        for i in range(len(facts.rows)):
            if any(coefs[i] for coefs in capped):
                continue
            cell = seen.setdefault(tuple(s.sees(i) for s in every), len(seen))
            self.members += [[]] if cell == len(self.members) else []
            self.members[cell].append(i)
            self.cell_of[i] = cell
        self.coefs = {s: [facts.statements[s].coefs[m[0]] for m in self.members] for s in [*numbers, facts.everybody]}

    def find(self, parts: Any, starts: Sequence[Sequence[int]]) -> int:
        parts = [whole(p) for p in listed(parts, len(starts))]
        demand(all(0 <= p < len(s) for p, s in zip(parts, starts, strict=True)), "there is no such part")
        values = self.facts.space.values.values()
        row = tuple(known[s[p]] for known, s, p in zip(values, starts, parts, strict=True))
        i = self.facts.rows.index(row) if row in self.facts.rows else -1
        demand(i in self.cell_of, "the row of a cell is impossible, or lies where nobody is")
        return self.cell_of[i]

    def read_sum(self, said: Any) -> tuple[int, list[tuple[int, int]]]:
        has_keys(said, {"over", "multipliers"})
        pairs = [listed(pair, 2) for pair in listed(said["multipliers"])]
        demand(whole(said["over"]) > 0, "a sum is divided by what is not positive")
        return said["over"], [(whole(s), whole(y)) for s, y in pairs]

    def start(self) -> Node:
        facts, size = self.facts, len(self.members)
        fixed = {s for b in self.blocks if facts.blocks[b].kind != "choice" for s in facts.blocks[b].numbers}
        return Node([0] * size, [facts.most or 0] * size, fixed | {facts.everybody})

    def bounded(self, node: Node, said: Any, weights: list[int]) -> int:
        """The bound that a sum gives for the weighted number of rows: Farkas' lemma with bounds on the cells."""
        i = whole(said)
        demand(0 <= i < len(self.sums), "there is no such sum")
        over, multipliers = self.sums[i]
        rest = [over * w for w in weights]
        total = 0
        for s, y in multipliers:
            demand(s in node.usable, "a statement does not hold here")
            end = self.facts.statements[s].high if y > 0 else self.facts.statements[s].low
            demand(end is not None or y == 0, "a statement has no bound on this side")
            total += y * (end or 0)
            rest = [r - y * a for r, a in zip(rest, self.coefs[s], strict=True)]
        total += sum(r * (high if r > 0 else low) for r, low, high in zip(rest, node.lower, node.upper, strict=True))
        return total // over

    def step(self, node: Node, said: Any) -> None:
        index, side, value, reason = listed(said, 4)
        demand(0 <= whole(index) < len(self.named), "there is no such cell")
        demand(side in ("<=", ">="), "a step is neither <= nor >=")
        cell, most, value, reason = self.named[index], side == "<=", whole(value), whole(reason)
        if reason < 0:
            weights = [0] * len(self.members)
            weights[cell] = 1 if most else -1
            demand(self.bounded(node, -1 - reason, weights) <= (value if most else -value), "a sum says less")
        else:
            demand(self.implied(node, cell, most, reason) == value, "a statement implies another bound")
        if most:
            node.upper[cell] = min(node.upper[cell], value)
        else:
            node.lower[cell] = max(node.lower[cell], value)

    def implied(self, node: Node, cell: int, most: bool, s: int) -> int:
        """The bound that one statement gives for a cell in it, the others at their bounds."""
        demand(s in node.usable, "a statement does not hold here")
        statement, coefs = self.facts.statements[s], self.coefs[s]
        a = coefs[cell]
        demand(a != 0, "the cell is not in the statement")
        above = most == (a > 0)  # a * z <= high - least of the others; else a * z >= low - most of the others
        end = statement.high if above else statement.low
        demand(end is not None, "a statement has no bound on this side")
        others = 0
        for c, b in enumerate(coefs):
            if c != cell:
                others += b * (node.lower[c] if above == (b > 0) else node.upper[c])
        exact = Fraction((end or 0) - others, a)
        return math.floor(exact) if most else math.ceil(exact)

    def settled(self, node: Node) -> bool:
        """Whether the bounds alone settle the claim."""
        claim = self.claim
        if claim.kind == "at_most":
            return sum(h for h, m in zip(node.upper, self.meets(any), strict=True) if m) <= claim.k
        if claim.kind == "at_least":
            return sum(low for low, m in zip(node.lower, self.meets(all), strict=True) if m) >= claim.k
        if claim.kind == "worlds":
            return False  # a contradiction was looked for before
        counts = [0] * len(self.members)
        for i, times in claim.dataset.items():
            counts[self.cell_of[i]] += times
        return node.lower == counts == node.upper

    def meets(self, how: Any) -> list[bool]:
        return [how(self.claim.fits[i] for i in members) for members in self.members]

    def summed(self, node: Node, said: Any) -> bool:
        """Whether a sum settles the claim; of an only world, that nothing else is left here."""
        if self.claim.kind == "at_most":
            return self.bounded(node, said, [int(m) for m in self.meets(any)]) <= self.claim.k
        if self.claim.kind == "at_least":
            return self.bounded(node, said, [-int(m) for m in self.meets(all)]) <= -self.claim.k
        return self.bounded(node, said, [0] * len(self.members)) <= -1

    def walk(self, tree: Any) -> None:
        stack = [(tree, self.start())]
        while stack:
            said, node = stack.pop()
            has_keys(said, set(), ("steps", "sum", "branch", "choice", "cases"))
            for step in listed(said.get("steps", [])):
                self.step(node, step)
                if node.empty:
                    break
            if node.empty:
                continue
            ends = [key for key in ("sum", "branch", "choice") if key in said]
            demand(len(ends) <= 1 and ("cases" in said) == bool({"branch", "choice"} & set(ends)), "two ends")
            if "sum" in said:
                demand(self.summed(node, said["sum"]), "a sum does not settle the claim")
            elif not ends:
                demand(self.settled(node), "the bounds do not settle the claim")
            else:
                stack += zip(listed(said["cases"]), self.cases(node, said), strict=True)

    def cases(self, node: Node, said: dict) -> list[Node]:
        if "branch" in said:
            index, v = (whole(x) for x in listed(said["branch"], 2))
            demand(0 <= index < len(self.named), "there is no such cell")
            low, high = node.copy(), node.copy()
            cell = self.named[index]
            low.upper[cell], high.lower[cell] = min(low.upper[cell], v), max(high.lower[cell], v + 1)
            out = [low, high]
        else:
            block = whole(said["choice"])
            demand(block in self.blocks and self.facts.blocks[block].kind == "choice", "that block is no choice")
            out = [node.copy() for _ in self.facts.blocks[block].alternatives]
            for case, numbers in zip(out, self.facts.blocks[block].alternatives, strict=True):
                case.usable |= set(numbers)
        demand(len(said["cases"]) == len(out), "a case is missing, or one too many")
        return out


# ---------------------------------------------------------------- the checker


def agrees(facts: Facts, dataset: dict[int, int]) -> bool:
    """Whether a dataset meets every statement, one alternative of every choice, and the number of rows."""

    def holds(s: int) -> bool:
        said = facts.statements[s]
        total = sum(said.coefs[i] * times for i, times in dataset.items())
        return (said.low is None or said.low <= total) and (said.high is None or total <= said.high)

    every = all(any(all(map(holds, a)) for a in block.alternatives) for block in facts.blocks)
    return every and holds(facts.everybody)


def check_regions(facts: Facts, claim: Claim, proof: dict) -> None:
    numbers = [whole(s) for s in listed(has_keys(proof, {"kind", "statements"})["statements"])]
    choices = {s for b in facts.blocks if b.kind == "choice" for s in b.numbers}
    demand(all(0 <= s < len(facts.statements) and s not in choices for s in numbers), "there is no such statement")
    named = [facts.statements[s] for s in numbers]
    demand(all(s.counts for s in named), "a statement does not count the rows of a region")
    if claim.kind == "at_most":
        demand(all(s.high is not None for s in named), "a region may hold any number of rows")
        covered = [any(s.coefs[i] for s in named) for i in range(len(facts.rows))]
        demand(
            all(c for c, fits in zip(covered, claim.fits, strict=True) if fits), "the regions do not cover the profile"
        )
        demand(sum(s.high or 0 for s in named) <= claim.k, "the regions hold more")
    elif claim.kind == "at_least":
        homes = [b for b in facts.blocks if b.kind == "partition" and set(numbers) <= set(b.numbers)]
        demand(len(numbers) <= 1 or bool(homes), "the regions are not of one tree or list")
        demand(len(set(numbers)) == len(numbers), "a region stands twice")
        inside = all(fits for s in named for a, fits in zip(s.coefs, claim.fits, strict=True) if a)
        demand(inside, "a region is not inside the profile")
        demand(sum(s.low or 0 for s in named) >= claim.k, "the regions hold fewer")
    else:
        demand(claim.kind == "worlds", "regions do not prove that")
        demand(any((s.low or 0) >= 1 and not any(s.coefs) for s in named), "a row may lie in each of the regions")


def rows_at(facts: Facts, starts: Sequence[Sequence[int]], parts: Any) -> list[int]:
    """The possible raw rows with these parts."""
    parts = [whole(p) for p in listed(parts, len(starts))]
    demand(all(0 <= p < len(s) for p, s in zip(parts, starts, strict=True)), "there is no such part")
    known = list(facts.space.values.values())
    at = [[bisect_right(s, k.index(v)) - 1 for v, k, s in zip(row, known, starts, strict=True)] for row in facts.rows]
    found = [i for i, where in enumerate(at) if where == parts]
    demand(bool(found), "a row of the world is impossible")
    return found


def check_world(facts: Facts, starts: Sequence[Sequence[int]], claim: Claim, proof: dict) -> None:
    has_keys(proof, {"kind", "rows", "times"}, {"instead"})
    rows = [rows_at(facts, starts, parts) for parts in listed(proof["rows"])]
    times = [whole(t) for t in listed(proof["times"], len(rows))]
    demand(all(t > 0 for t in times), "a row stands there not even once")
    demand(len({r[0] for r in rows}) == len(rows), "a row stands twice")
    demand(agrees(facts, {r[0]: t for r, t in zip(rows, times, strict=True)}), "the world does not agree")
    if "instead" in proof:
        i, parts = listed(proof["instead"], 2)
        demand(0 <= whole(i) < len(rows), "there is no such row")
        other = rows_at(facts, starts, parts)
        alike = all(s.coefs[other[0]] == s.coefs[rows[i][0]] for s in facts.statements)
        demand(alike, "a statement tells the row from the one in its place")
        rows = [other]
    demand(any(claim.fits[i] for row in rows for i in row), "no row of the world fits the profile")


class Checker:
    """Checks certificates about one release; `starts` has, per attribute, the index of every part's first value."""

    def __init__(self, release: dict, starts: Sequence[Sequence[int]] | None = None) -> None:
        self.facts = Facts(release)
        self.starts = part_starts(release) if starts is None else starts

    def check(self, certificate: Any) -> None:
        demand(isinstance(certificate, dict) and {"claim", "proof"} <= set(certificate), "it is not a certificate")
        claim, proof = read_claim(self.facts, certificate["claim"]), certificate["proof"]
        demand(isinstance(proof, dict), "the proof is not an object")
        if claim.kind == "only_world":
            demand(agrees(self.facts, claim.dataset), "the dataset does not agree with the release")
        if claim.kind == "possible" or proof.get("kind") == "world":
            demand(
                claim.kind == "possible" and proof.get("kind") == "world", "a world proves what is possible, no more"
            )
            check_world(self.facts, self.starts, claim, proof)
            return
        if proof.get("kind") == "regions":
            check_regions(self.facts, claim, proof)
            return
        if proof.get("kind") == "drat":
            raise NotImplementedError("clauses are not read here")
        demand(proof.get("kind") in KINDS, "there is no such kind of proof")
        cells = Cells(self.facts, self.starts, claim, proof)
        if claim.kind == "only_world":
            single = all(i in cells.cell_of and len(cells.members[cells.cell_of[i]]) == 1 for i in claim.dataset)
            demand(single, "a row of the dataset shares its cell")
        cells.walk(proof["tree"])


def starts_of(release: Any) -> list[list[int]]:
    """Where the parts of every attribute of a loaded release begin."""
    return [[cuts.bounds(p)[0] for p in range(len(cuts.sizes))] for cuts in release.cut.cuts]


def part_starts(release: dict) -> list[list[int]]:
    import recon

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.json"
        path.write_text(json.dumps(release), encoding="utf-8")
        return starts_of(recon.load(path))


def check(release: dict, certificate: dict) -> None:
    """Check one certificate about a release; `Rejected` with the reason where it proves nothing."""
    Checker(release).check(certificate)
