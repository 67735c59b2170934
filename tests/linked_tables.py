"""Made-up linked tables with groups of groups: counts of people by region and one further attribute each.

Region and each other attribute is a tree; all its nodes, and everybody, stand in the table. Margins over regions agree.
"""

from __future__ import annotations

import math

import numpy as np

from solvers.statements.boxes import Attribute, Box, RowSpace
from solvers.suppression.linked_cells import linked_cells
from solvers.suppression.patterns import SuppressionTask

SHAPES = {  # widths of the levels below everybody: of the region, then of one attribute per table
    "736 cells": ((3, 4), (4, 4), (3, 4), (2, 4)),
    "1,066 cells": ((3, 4), (4, 5), (4, 4), (3, 5)),
    "4,089 cells": ((4, 6), (5, 6), (6, 6), (7, 8)),
    "10,276 cells": ((6, 7), (5, 8), (7, 7), (9, 11)),
}


def tree_masks(widths):
    """Return the number of leaves of a tree and the masks of all its nodes below the root."""
    leaves, size, out = math.prod(widths), math.prod(widths), []
    for width in widths:
        size //= width
        out += [((1 << size) - 1) << (i * size) for i in range(leaves // size)]
    return leaves, list(dict.fromkeys(out))


def made(name, seed=0, mean=40):
    """Return (row space, box -> count) of the linked tables of a name."""
    rng, nodes = np.random.default_rng(seed), [tree_masks(widths) for widths in SHAPES[name]]
    space = RowSpace(tuple(Attribute(f"a{k}", (1,) * n) for k, (n, _) in enumerate(nodes)))
    regions, values, totals = nodes[0][0], {}, None
    sizes = rng.lognormal(0, 1, regions)
    for k in range(1, len(nodes)):
        shares = rng.lognormal(0, 1, nodes[k][0])[None] * rng.lognormal(0, 0.5, (regions, nodes[k][0]))
        if totals is None:
            expected = sizes[:, None] * shares
            table = rng.poisson(expected / expected.mean() * mean)
            totals = table.sum(axis=1)
        else:
            shares /= shares.sum(axis=1, keepdims=True)
            table = np.array([rng.multinomial(n, p) for n, p in zip(totals, shares, strict=True)])
        for first, rows in groups_of(*nodes[0]):
            for second, columns in groups_of(*nodes[k]):
                box = Box(tuple((at, mask) for at, mask in ((0, first), (k, second)) if mask is not None))
                values[box] = int(table[np.ix_(rows, columns)].sum())
    return space, values


def groups_of(leaves, masks):
    """Return every group of a tree with its leaves; None stands for everybody."""
    return [(None, list(range(leaves))), *((m, [i for i in range(leaves) if m >> i & 1]) for m in masks)]


def task(name, threshold=5, seed=0, mean=40):
    """Return the task of hiding counts below a threshold so that each is left as many rows of room."""
    space, values = made(name, seed, mean)
    cells = linked_cells(space, {box: (0, values[Box()]) for box in values} | {Box(): (values[Box()],) * 2})
    counts = np.array([values[box] for box in cells.boxes])
    sensitive = (counts > 0) & (counts < threshold)
    everybody = np.arange(len(counts)) == cells.place[Box()]
    need = np.where(sensitive, threshold, 0)
    return SuppressionTask(
        cells, counts, ~sensitive & ~everybody, sensitive, everybody & False, np.maximum(1, counts), need
    )


def closed(found):
    """Return the sensitive cells and so many more, the smallest first, that none is alone in a sum."""
    hidden, linear = found.sensitive.copy(), found.cells.relations
    lines = [linear.col[linear.start[r] : linear.start[r + 1]] for r in range(len(linear))]
    while True:
        alone = [line for line in lines if hidden[line].sum() == 1]
        more = [min((c for c in line if found.open[c] and found.values[c]), key=lambda c: found.values[c], default=None)
                for line in alone]  # fmt: skip
        more = [c for c in more if c is not None and not hidden[c]]
        if not more:
            return hidden
        hidden[more] = True
