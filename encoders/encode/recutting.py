"""Statements over one cut of a domain, over a finer one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from encoders.parts.cut_domain import CutDomain
from solvers.statements.boxes import Boxes
from solvers.statements.release import Partition


def recut(block: Partition, before: CutDomain, after: CutDomain) -> Partition:
    """Return a partition over the parts of a cut that has all cuts of the one before, and maybe others."""
    known: dict[tuple[int, int], int] = {}
    masks = []
    for k, mask in zip(block.boxes.attribute.tolist(), block.boxes.mask.tolist(), strict=True):
        if (k, mask) not in known:
            known[k, mask] = finer(int(mask), k, before, after)
        masks.append(known[k, mask])
    wide = any(mask >> 64 for mask in masks)
    moved = np.empty(len(masks), dtype=object if wide else np.uint64)
    moved[:] = masks
    return replace(block, boxes=Boxes(block.boxes.start, block.boxes.attribute, moved))


def finer(mask: int, k: int, before: CutDomain, after: CutDomain) -> int:
    """Return the parts of attribute k after a further cut that some parts before have become, as bits."""
    old, new = before.cuts[k], after.cuts[k]
    return new.mask(tuple(old.bounds(p) for p in range(len(old.edges) - 1) if mask >> p & 1))
