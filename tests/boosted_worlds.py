"""Tiny boosted releases whose truth is known, and proofs by leaf values made by hand: for tests of the kernel."""

from __future__ import annotations

import math

import numpy as np

from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements
from solvers.kernel.claims import Form, LeafValues, Refined, RegionProof
from solvers.kernel.leaf_values.replay import LeafValueReplay
from solvers.statements.boxes import Attribute, Box, Boxes, RowSpace
from solvers.statements.gradients.boosted import Boosted, BoostedTree, Gradients
from solvers.statements.release import ANY_LABEL, Partition, Release, RowCount

LAWS = (
    Gradients("log_loss"),
    Gradients("log_loss", rounded="float32", relative=1e-15, absolute=1e-30),
    Gradients("log_loss", scale=2.0, relative=2.0**-50),
    Gradients("log_loss", scores="float32", rounded="float32", relative=2.0**-22, score_error=1e-7, start_error=1e-7),
    Gradients("softmax", factor=1.5, relative=2.0**-48),
    Gradients("softmax", rounded="float32", relative=1e-6),
    Gradients("log_loss", "float32", "float32", relative=2.0**-31, stages="float32"),
)


def computed(law, scores, of, y):
    """Return a row's gradient and hessian in doubles, as a library might have them."""
    if law.stages == "float32":
        one, f = np.float32(1), np.float32(scores[0])
        e = np.float32(math.exp(float(min(-f, np.float32(88.7)))))
        p = one / (one + e)
        return float(p - np.float32(y)), float(max(p * (one - p), np.float32(1e-16)))
    if law.loss == "log_loss":
        p, here, size = 1 / (1 + math.exp(-law.scale * scores[0])), y == 1, law.scale
    else:
        odds = [math.exp(s - max(scores)) for s in scores]
        p, here, size = odds[of] / sum(odds), y == of, 1.0
    g, h = size * (p - here), law.factor * size * size * p * (1 - p)
    kind = np.float32 if law.rounded == "float32" else np.float64
    return float(kind(g)), float(kind(h))


class Leaves:
    """A random tree over attributes with values 0..k-1: leaves as dicts attribute -> allowed values."""

    def __init__(self, rng, sizes, depth):
        self.leaves = []
        self.grow(rng, [set(range(k)) for k in sizes], depth)

    def grow(self, rng, allowed, depth):
        able = [k for k, held in enumerate(allowed) if len(held) > 1]
        if depth == 0 or not able:
            self.leaves.append([set(held) for held in allowed])
            return
        k = int(rng.choice(able))
        cut = int(rng.choice(sorted(allowed[k])[1:]))
        for side in ({v for v in allowed[k] if v < cut}, {v for v in allowed[k] if v >= cut}):
            self.grow(rng, [*allowed[:k], side, *allowed[k + 1 :]], depth - 1)

    def of(self, row):
        return next(j for j, held in enumerate(self.leaves) if all(v in held[k] for k, v in enumerate(row)))

    def boxes(self):
        return Boxes.of(
            [Box(tuple((k, sum(1 << v for v in held)) for k, held in enumerate(one))) for one in self.leaves]
        )


class BoostedWorld:
    """A release of a simulated boosting: `release`, the true `rows` (features) and their labels `y`."""

    def __init__(self, seed, law=LAWS[0], rows=12, sizes=(2, 3, 2), rounds=3, depth=2, base=None, width=1e-12):
        rng = np.random.default_rng(seed)
        classes = 2 if law.loss == "log_loss" else 3
        scores = 1 if law.loss == "log_loss" else classes
        self.rows = [tuple(int(rng.integers(k)) for k in sizes) for _ in range(rows)]
        self.y = [int(v) for v in rng.integers(classes, size=rows)]
        self.start = tuple(float(np.float32(x)) for x in rng.normal(size=scores))
        domain = RowSpace(
            (*(Attribute(f"x{k}", (1,) * n) for k, n in enumerate(sizes)), Attribute("y", (1,) * classes)), len(sizes)
        )
        blocks = [] if base is None else [base(self, domain)]
        now, trees = [list(self.start) for _ in self.rows], []
        for t in range(rounds):
            before = [list(s) for s in now]
            for of in range(scores):
                tree = Leaves(rng, sizes, depth)
                at = [tree.of(row) for row in self.rows]
                pairs = [computed(law, s, of, y) for s, y in zip(before, self.y, strict=True)]
                found = boosted_tree(rng, tree, at, pairs, (len(blocks), t, of), width)
                counts = np.bincount(at, minlength=len(tree.leaves))
                names = tuple(f"leaf {j}" for j in range(len(tree.leaves)))
                blocks.append(
                    Partition(
                        f"tree {t}",
                        tree.boxes(),
                        False,
                        np.arange(len(names), dtype=np.int32),
                        np.full(len(names), ANY_LABEL, dtype=np.int32),
                        counts,
                        counts,
                        names,
                        (),
                    )
                )
                trees.append(found)
                for i, j in enumerate(at):
                    total = now[i][of] + float(found.step[j])
                    now[i][of] = float(np.float32(total)) if law.scores == "float32" else total
        labels = tuple(range(classes))
        self.boosted = Boosted("boosted", law, self.start, self.start, labels, tuple(trees))
        self.release = Release(domain, RowCount(rows, rows), tuple(blocks), boosted=(self.boosted,))


def boosted_tree(rng, tree, at, pairs, place, width):
    """Return a tree with a sum of gradients and of hessians per leaf, and of squares at the root."""
    leaves, members, weights, ends = len(tree.leaves), [], [], []
    for j in [*range(leaves), None]:
        inside = [p for p, a in zip(pairs, at, strict=True) if j is None or a == j]
        kinds = [(1.0, 0.0, 0.0), (0.5, 2.0, 0.0)] if j is not None else [(0.0, 0.0, 1.0), (-1.0, 0.25, 3.0)]
        for a, b, q in kinds:
            total = math.fsum(a * g + b * h + q * g * g for g, h in inside)
            off = width * (1 + len(inside))
            members.append(list(range(leaves)) if j is None else [j])
            weights.append((a, b, q))
            ends.append((total - off, total + off))
    start = np.cumsum([0, *map(len, members)])
    a, b, q = (np.array(x) for x in zip(*weights, strict=True))
    low, high = (np.array(x) for x in zip(*ends, strict=True))
    block, turn, of = place
    names = tuple(f"figure {i}" for i in range(len(members)))
    step = (0.3 * rng.normal(size=leaves)).astype(np.float32).astype(np.float64)
    leaf = np.array([j for one in members for j in one], dtype=np.int32)
    return BoostedTree(block, turn, of, step, start, leaf, a, b, q, low, high, names)


def times_of(world, replay):
    """Return the true number of rows of every present column."""
    cells, out = replay.cells, np.zeros(len(replay.upper), dtype=np.int64)
    boxes = replay.cutter.boxes(cells)
    for row, y in zip(world.rows, world.y, strict=True):
        (c,) = (c for c, box in enumerate(boxes) if all(mask >> row[k] & 1 for k, mask in box.literals))
        out[c * replay.labels + y] += 1
    return out


def usable(replay):
    """Return the sources that can be used now."""
    facts, figures = replay.facts, replay.figures
    cut = replay.cutter.blocks[: replay.cells.regions.shape[1]]
    stated = [s for s in range(len(facts)) if s == facts.rows or facts.block_of(s) in cut]
    known = range(len(facts) + len(figures), len(facts) + len(figures) + len(replay.known))
    return [*stated, *(len(facts) + i for i in range(int(figures.first[replay.cells.trees]))), *known]


def forms_for(replay, columns, bits=44):
    """Return forms of single columns by least squares over all sources that can be used."""
    sources = usable(replay)
    matrix = np.zeros((len(sources), len(replay.upper)))
    for i, s in enumerate(sources):
        row = replay.row(s)
        matrix[i, row.columns] = [(a + b) / 2 / 2**120 for a, b in zip(row.low, row.high, strict=True)]
    inverse = np.linalg.pinv(matrix, rcond=1e-9)
    out = []
    for j in columns:
        y = [(s, round(w * 2**bits)) for s, w in zip(sources, inverse[j], strict=True)]
        out.append(Form(((j, 1),), 2**bits, tuple(one for one in y if one[1]), 0, 0))
    return out


def with_ends(replay, forms):
    """Return the forms with the narrowest ends that the present bounds and sources show."""
    middle, radius = replay.combined(forms)
    found = [replay.shown(form, m, r) for form, m, r in zip(forms, middle, radius, strict=True)]
    return [Form(f.terms, f.over, f.multipliers, *ends) for f, ends in zip(forms, found, strict=True)]


def proved(world, stages=None, rounds=2, model=0):
    """Return a proof of bounds on all columns, cut in some stages (numbers of trees), and the replay behind it."""
    replay = LeafValueReplay(NumberedStatements(world.release), model, Limits())
    steps = []
    for trees in stages or [len(world.boosted.trees)]:
        steps.append(Refined(trees))
        replay.run(steps[-1:])
        for _ in range(rounds):
            open_ = np.flatnonzero(replay.lower < replay.upper).tolist()
            if not open_:
                break
            new = with_ends(replay, forms_for(replay, open_))
            replay.run(new)
            steps += new
    return LeafValues(model, tuple(steps), RegionProof(())), replay
