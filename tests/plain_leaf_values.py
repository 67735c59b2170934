"""A second checker of proofs by leaf values, for tiny domains: every row by itself, fractions, decimals for exp.

Source: docs/certificates.md, "Leaf values". Shares no code with the project; `plain` is all it reads of a release.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

DIGITS = 60
NEAR = Fraction(1, 10**50)  # decimals are nearer than that, relatively


class Rejected(Exception):
    """The proof does not hold."""


def demand(condition: Any, why: str) -> None:
    if not condition:
        raise Rejected(why)


@dataclass
class Plain:
    """A release as plain data. Boxes: attribute -> bits of parts. Blocks: (first match, boxes, statements)."""

    sizes: list[int]
    label: int
    rows: tuple[int, int]
    impossible: list[dict]
    blocks: list[Any]
    models: list[Any]


def plain(release: Any) -> Plain:
    """Return a release of partitions alone as plain data."""
    blocks = []
    for block in release.blocks:
        said = zip(*(x.tolist() for x in (block.region, block.label, block.low, block.high)), strict=True)
        blocks.append((block.first_match, [dict(b.literals) for b in block.boxes], list(said)))
    domain = release.domain
    sizes = [len(a.sizes) for a in domain.attributes]
    impossible = [dict(b.literals) for b in release.impossible]
    return Plain(sizes, domain.label, (release.rows.low, release.rows.high), impossible, blocks, list(release.boosted))


def inside(row: tuple[int, ...], box: dict) -> bool:
    return all(mask >> row[k] & 1 for k, mask in box.items())


def region_of(row: tuple[int, ...], block: Any) -> int:
    return next(j for j, box in enumerate(block[1]) if inside(row, box))


def exp(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return numbers below and above exp(x)."""
    with localcontext() as context:
        context.prec = DIGITS
        found = Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())
    off = found * NEAR * (1 + abs(x))
    return found - off, found + off


def rounded(x: Fraction, precision: str) -> Fraction:
    """Return the nearest float64 or float32, ties to even."""
    if precision == "float64":
        return Fraction(x.numerator / x.denominator)
    if x == 0:
        return x
    size = abs(x)
    power = math.floor(math.log2(float(size))) if size > Fraction(1, 2**1000) else -149
    power += size >= Fraction(2) ** (power + 1)
    power -= size < Fraction(2) ** power
    unit = Fraction(2) ** max(power - 23, -149)
    return round(x / unit) * unit  # Python rounds ties to even


class Model:
    """The gradients of one boosted model."""

    def __init__(self, model: Any) -> None:
        self.model, self.law = model, model.gradients
        self.known: dict[Any, Any] = {}

    def scores(self, leaves: list[int], t: int) -> tuple[float, ...]:
        """Return the scores before the round of tree t of a row with these leaves."""
        if self.model.trees[t].round == 0:
            return tuple(self.model.start)
        found = list(self.model.base)
        for tree, leaf in zip(self.model.trees[:t], leaves, strict=False):
            if tree.round < self.model.trees[t].round:
                total = Fraction(found[tree.of]) + Fraction(float(tree.step[leaf]))
                found[tree.of] = float(rounded(total, self.law.scores))
        return tuple(found)

    def row(self, scores: tuple[float, ...], of: int, first: bool, label: int) -> list[tuple[Fraction, Fraction]]:
        """Return intervals around g and h."""
        key = scores, of, first, label
        if key not in self.known:
            self.known[key] = self.worked_out(*key)
        return self.known[key]

    def worked_out(
        self, scores: tuple[float, ...], of: int, first: bool, label: int
    ) -> list[tuple[Fraction, Fraction]]:
        law = self.law
        off = Fraction(law.start_error if first else law.score_error)
        if law.stages == "float32":
            return self.in_stages([rounded(Fraction(scores[0]) + d, "float32") for d in (-off, off)], label == 1)
        if law.loss == "log_loss":
            size, mine = Fraction(law.scale), label == 1
            odds = [(Fraction(0), Fraction(0)), tuple(sorted((size * (Fraction(scores[0]) + d)) for d in (-off, off)))]
            at = 1
        else:
            size, mine, at = Fraction(1), label == of, of
            odds = [(Fraction(s) - off, Fraction(s) + off) for s in scores]
        others = [k for k in range(len(odds)) if k != at]
        most = sum(exp(odds[k][1] - odds[at][0])[1] for k in others)
        least = sum(exp(odds[k][0] - odds[at][1])[0] for k in others)
        p = 1 / (1 + most), 1 / (1 + least)
        g = sorted(size * (x - mine) for x in p)
        curve = [x * (1 - x) for x in p]
        top = Fraction(1, 4) if p[0] <= Fraction(1, 2) <= p[1] else max(curve)
        h = sorted(Fraction(law.factor) * size * size * x for x in (min(curve), top))
        return [self.computed(g), self.computed(h)]

    def in_stages(self, f: list[Fraction], mine: bool) -> list[tuple[Fraction, Fraction]]:
        """Return intervals around g and h worked out in single precision, every step rounded."""
        demand(self.law.loss == "log_loss" and self.law.scale == self.law.factor == 1, "no such stages")
        off, ends = Fraction(self.law.relative), []
        for score, pick, share in ((f[0], 1, 1 + off), (f[1], 0, 1 - off)):
            e = rounded(exp(min(-score, rounded(Fraction("88.7"), "float32")))[pick] * share, "float32")
            ends.append(rounded(1 / rounded(1 + e, "float32"), "float32"))
        g = [rounded(p - mine, "float32") for p in ends]
        least = rounded(Fraction("1e-16"), "float32")
        h, p = [], ends[0]
        while p <= ends[1]:
            h.append(max(rounded(p * rounded(1 - p, "float32"), "float32"), least))
            p = Fraction(float(np.nextafter(np.float32(float(p)), np.float32(2))))
            demand(len(h) < 10_000, "too many numbers between the ends")
        return [(g[0], g[1]), (min(h), max(h))]

    def computed(self, ends: list[Fraction]) -> tuple[Fraction, Fraction]:
        relative, absolute = Fraction(self.law.relative), Fraction(self.law.absolute)
        low, high = (x + s * (abs(x) * relative + absolute) for x, s in zip(ends, (-1, 1), strict=True))
        return rounded(low, self.law.rounded), rounded(high, self.law.rounded)


def weighed(pairs: list[tuple[Fraction, tuple[Fraction, Fraction]]]) -> tuple[Fraction, Fraction]:
    low = sum((min(a * x for x in ends) for a, ends in pairs), Fraction(0))
    return low, sum((max(a * x for x in ends) for a, ends in pairs), Fraction(0))


class Checker:
    """Follows steps; `lower` and `upper` are by (cell, label), a cell is its regions, in order."""

    def __init__(self, release: Plain, model: int) -> None:
        demand(0 <= model < len(release.models), "no such model")
        self.release, self.model = release, Model(release.models[model])
        trees = {tree.block for one in release.models for tree in one.trees}
        self.trees = [tree.block for tree in self.model.model.trees]
        self.base = [b for b in range(len(release.blocks)) if b not in trees]
        self.labels = release.sizes[release.label]
        every = itertools.product(*(range(k) for k in release.sizes))
        possible = [row for row in every if not any(inside(row, box) for box in release.impossible)]
        self.cells: dict[tuple[int, ...], list[Any]] = {}
        for row in possible:
            cell = tuple(region_of(row, release.blocks[b]) for b in self.base)
            if not any(self.left_out(b, j) for b, j in zip(self.base, cell, strict=True)):
                self.cells.setdefault(cell, []).append(row)
        self.order, self.cut = sorted(self.cells), 0
        top, has = release.rows[1], self.model.model.labels
        self.lower = {(c, k): 0 for c in self.order for k in range(self.labels)}
        self.upper = {(c, k): top if k in has else 0 for c, k in self.lower}
        self.facts: list[Any] = []
        self.known: dict[int, Any] = {}
        self.sources = sum(len(block[2]) for block in release.blocks) + 1
        self.figures = [(t, i) for t, tree in enumerate(self.model.model.trees) for i in range(len(tree.low))]

    def left_out(self, b: int, j: int) -> bool:
        first, boxes, said = self.release.blocks[b]
        return first and j == len(boxes) - 1 and not any(high > 0 for region, _, _, high in said if region == j)

    def run(self, steps: Any) -> None:
        for step in steps:
            if step[0] == "refined":
                self.refine(step[1])
            else:
                self.form(*step[1:])

    def refine(self, trees: int) -> None:
        demand(self.cut < trees <= len(self.trees), "the trees do not go on")
        old = [c for c in self.order if any(self.upper[c, k] > 0 for k in range(self.labels))]
        new: dict[tuple[int, ...], list[Any]] = {}
        for c in old:
            for row in self.cells[c]:
                leaves = tuple(region_of(row, self.release.blocks[b]) for b in self.trees[self.cut : trees])
                new.setdefault(c + leaves, []).append(row)
        parts = {c: [d for d in sorted(new) if d[: len(c)] == c] for c in old}
        moved = []
        for weights, low, high in self.facts:
            moved.append(({(d, k): w for (c, k), w in weights.items() for d in parts.get(c, ())}, low, high))
        for c in old:
            for k in range(self.labels):
                moved.append(({(d, k): 1 for d in parts[c]}, self.lower[c, k], self.upper[c, k]))
        before = self.lower, self.upper
        self.known = {}
        self.cells, self.order, self.cut, self.facts = new, sorted(new), trees, moved
        whose = {d: c for c in old for d in parts[c]}
        self.upper = {(d, k): before[1][whose[d], k] for d in self.order for k in range(self.labels)}
        alone = {d: len(parts[whose[d]]) == 1 for d in self.order}
        self.lower = {(d, k): before[0][whose[d], k] if alone[d] else 0 for d, k in self.upper}

    def source(self, s: int) -> tuple[dict, Fraction, Fraction]:
        """Return intervals of coefficients by column, and the ends."""
        demand(0 <= s < self.sources + len(self.figures) + len(self.facts), "no such source")
        if s >= self.sources + len(self.figures):
            weights, low, high = self.facts[s - self.sources - len(self.figures)]
            return {c: (Fraction(w), Fraction(w)) for c, w in weights.items()}, Fraction(low), Fraction(high)
        if s >= self.sources:
            if s not in self.known:
                self.known[s] = self.figure(*self.figures[s - self.sources])
            return self.known[s]
        one = Fraction(1), Fraction(1)
        if s == self.sources - 1:
            return dict.fromkeys(self.lower, one), *map(Fraction, self.release.rows)
        b = 0
        while s >= len(self.release.blocks[b][2]):
            s -= len(self.release.blocks[b][2])
            b += 1
        cutting = self.base + self.trees[: self.cut]
        demand(b in cutting, "a block that did not cut")
        region, label, low, high = self.release.blocks[b][2][s]
        at = cutting.index(b)
        mine = {(c, k): one for c, k in self.lower if c[at] == region and label in (-1, k)}
        return mine, Fraction(low), Fraction(high)

    def figure(self, t: int, i: int) -> tuple[dict, Fraction, Fraction]:
        demand(t < self.cut, "a tree that did not cut")
        tree, out = self.model.model.trees[t], {}
        members = tree.leaf[tree.start[i] : tree.start[i + 1]].tolist()
        for c in self.order:
            leaves = list(c[len(self.base) :])
            if leaves[t] not in members:
                continue
            for place, k in enumerate(self.model.model.labels):
                g, h = self.model.row(self.model.scores(leaves, t), tree.of, tree.round == 0, place)
                ends = [x * x for x in g]
                square = (Fraction(0) if g[0] <= 0 <= g[1] else min(ends), max(ends))
                kinds = (tree.gradient[i], g), (tree.hessian[i], h), (tree.square[i], square)
                out[c, k] = weighed([(Fraction(float(a)), x) for a, x in kinds])
        return out, Fraction(float(tree.low[i])), Fraction(float(tree.high[i]))

    def form(self, terms: Any, over: int, multipliers: Any, low: int, high: int) -> None:
        columns = {}
        for j, w in terms:
            demand(0 <= j < len(self.order) * self.labels and w != 0, "no such column")
            columns[self.order[j // self.labels], j % self.labels] = w
        demand(len(columns) == len(terms) > 0 and over > 0, "a column twice, or none")
        demand(len({s for s, _ in multipliers}) == len(multipliers), "a source twice")
        rest = {c: [Fraction(over * columns.get(c, 0))] * 2 for c in self.lower}
        top = bottom = Fraction(0)
        for s, y in multipliers:
            weights, least, most = self.source(s)
            for c, ends in weights.items():
                rest[c][0] -= max(y * x for x in ends)
                rest[c][1] -= min(y * x for x in ends)
            top += max(y * least, y * most)
            bottom += min(y * least, y * most)
        for c, (a, b) in rest.items():
            x = self.lower[c], self.upper[c]
            top += max(b * x[0], b * x[1])
            bottom += min(a * x[0], a * x[1])
        own = [sum(pick(w * self.lower[c], w * self.upper[c]) for c, w in columns.items()) for pick in (min, max)]
        demand(min(math.floor(top / over), own[1]) <= high, "the sum shows less from above")
        demand(max(math.ceil(bottom / over), own[0]) >= low, "the sum shows less from below")
        self.facts.append((columns, low, high))
        if len(terms) == 1 and terms[0][1] == 1:
            (c,) = columns
            self.lower[c], self.upper[c] = max(self.lower[c], low), min(self.upper[c], high)

    def bounds(self) -> tuple[list[int], list[int]]:
        """Return the bounds of all columns in order."""
        order = [(c, k) for c in self.order for k in range(self.labels)]
        return [self.lower[c] for c in order], [self.upper[c] for c in order]

    def totals(self) -> tuple[list[int], list[int]]:
        """Return bounds on the rows of every cell, whatever their label."""
        labels, out = self.model.model.labels, []
        for c in self.order:
            least = sum(self.lower[c, k] for k in range(self.labels))
            most = min(self.release.rows[1], sum(self.upper[c, k] for k in range(self.labels)))
            for weights, low, high in self.facts:
                if len(labels) > 1 and weights == {(c, k): 1 for k in labels}:
                    least, most = max(least, low), min(most, high)
            out.append((least, most))
        return [x for x, _ in out], [x for _, x in out]

    def truth(self, rows: Any, labels: Any) -> np.ndarray:
        """Return how many of some rows (parts, without label) lie in every column."""
        out = np.zeros(len(self.order) * self.labels, dtype=np.int64)
        for row, label in zip(rows, labels, strict=True):
            whole = (*row[: self.release.label], label, *row[self.release.label :])
            (at,) = (i for i, c in enumerate(self.order) if whole in self.cells[c])
            out[at * self.labels + label] += 1
        return out
