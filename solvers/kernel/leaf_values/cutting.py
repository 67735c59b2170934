"""Cells of a boosted model: the possible rows cut by the release's other partitions, then tree by tree.

Source: docs/certificates.md, "Leaf values"; searches nothing, and decides nothing but which rows exist.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import Covering, Index, WordLayout, Words, pack_rows, split_pieces
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import CertificateError
from solvers.kernel.cells import NumberedStatements, subtract
from solvers.statements.boxes import Box
from solvers.statements.release import Partition


@dataclass(frozen=True, eq=False)
class LeafCells:
    """Cells in lexicographic order of `regions` (cells, blocks cut so far): base partitions, then trees.

    `words` are the pieces of the possible rows, `of` the cell of each; `parent` is the cell that each was cut from,
    `trees` how many trees cut them.
    """

    words: Words
    of: Index
    regions: NDArray[np.int32]
    parent: Ints
    trees: int

    def __len__(self) -> int:
        return len(self.regions)

    def kept(self, which: Bits) -> LeafCells:
        """Return some of the cells, in the same order."""
        number = np.cumsum(which) - 1
        pieces = which[self.of]
        words, of = self.words[pieces], number[self.of[pieces]]
        return replace(self, words=words, of=of, regions=self.regions[which], parent=self.parent[which])


class Cutter:
    """Cuts the cells of boosted model number `model`: raises `CertificateError` for a model that does not exist."""

    def __init__(self, facts: NumberedStatements, model: int) -> None:
        release = facts.release
        if not 0 <= model < len(release.boosted):
            raise CertificateError(f"there is no boosted model {model} in this release")
        self.facts, self.boosted = facts, release.boosted[model]
        trees = {b for one in release.boosted for b in one.blocks}
        self.base = tuple(b for b in release.partitions if b not in trees)
        self.labels = release.domain.labels
        self.layout = WordLayout(release.domain)
        if any(b not in release.partitions for b in self.boosted.blocks):
            raise CertificateError("a tree of the model is not a partition")
        known = set(self.boosted.labels)
        if len(known) != len(self.boosted.labels) or any(not 0 <= k < self.labels for k in known):
            raise CertificateError("the labels of the model are not those of the domain, each once")

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """Return the blocks in the order in which they cut: base partitions, then trees."""
        return (*self.base, *self.boosted.blocks)

    def start(self) -> LeafCells:
        """Return the cells of the base partitions. Cost: pieces times boxes of first-match lists, else pieces."""
        words = subtract(self.facts, self.layout.full[None].copy(), self.facts.release.impossible)
        one = np.zeros(min(1, len(words)), dtype=np.int64)
        cells = LeafCells(words, np.zeros(len(words), dtype=np.int64), np.zeros((len(one), 0), dtype=np.int32), one, 0)
        for b in self.base:
            cells = self.cut(cells, b)
            block = self.facts.release.partitions[b]
            if block.first_match and not (block.high[block.region == len(block.boxes) - 1] > 0).any():
                cells = cells.kept(cells.regions[:, -1] != len(block.boxes) - 1)
        return replace(cells, parent=np.zeros(len(cells), dtype=np.int64))

    def refined(self, cells: LeafCells, trees: int) -> LeafCells:
        """Return the cells that the first so many trees leave, with the given cell that each is part of."""
        parent = np.arange(len(cells), dtype=np.int64)
        for t in range(cells.trees, trees):
            cells = self.cut(cells, self.boosted.trees[t].block)
            parent = parent[cells.parent]
        return replace(cells, parent=parent, trees=trees)

    def cut(self, cells: LeafCells, b: int) -> LeafCells:
        """Return the cells cut by the regions of a partition."""
        block = self.facts.release.partitions[b]
        piece, region, words = self.pieces(cells.words, block)
        key = cells.of[piece] * len(block.boxes) + region
        found, of = np.unique(key, return_inverse=True)
        parent, at = found // max(1, len(block.boxes)), found % max(1, len(block.boxes))
        regions = np.concatenate([cells.regions[parent], at[:, None].astype(np.int32)], axis=1)
        return LeafCells(words, of.reshape(-1), regions, parent, cells.trees)

    def pieces(self, words: Words, block: Partition) -> tuple[Index, Index, Words]:
        """Return every part of a piece in a region: the piece, the region, and the part."""
        self.facts.make_room(len(words), words.shape[1])
        if not block.first_match:
            covering = Covering(self.layout, block.boxes)
            every = pack_rows(np.ones((1, len(block.boxes)), dtype=bool))
            piece, region = covering.meet(words, np.repeat(every, len(words), axis=0))
            self.facts.make_room(len(piece), words.shape[1])
            return piece, region, covering.cut(words, piece, region)
        rest, rest_of = words, np.arange(len(words), dtype=np.int64)
        found, origins, regions, held = [words[:0]], [rest_of[:0]], [rest_of[:0]], 0
        for j, box in enumerate(block.boxes):
            inside, inside_of, rest, outside_of = split_pieces(self.layout, rest, box)
            found.append(inside)
            origins.append(rest_of[inside_of])
            regions.append(np.full(len(inside), j, dtype=np.int64))
            rest_of = rest_of[outside_of]
            held += len(inside)
            self.facts.make_room(len(rest) + held, words.shape[1])
        return np.concatenate(origins), np.concatenate(regions), np.concatenate(found)

    def boxes(self, cells: LeafCells) -> list[Box]:
        """Return the intersection of the regions' boxes of every cell; in a first-match list it is that cell."""
        rows = np.repeat(self.layout.full[None], len(cells), axis=0)
        for i, b in enumerate(self.blocks[: cells.regions.shape[1]]):
            rows &= self.layout.rows(self.facts.release.partitions[b].boxes)[cells.regions[:, i]]
        return self.layout.boxes(rows)
