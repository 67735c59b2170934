"""Statements over one cut of a domain, over a finer one; and with labels that no row has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.domain.values import Grid, Listed
from encoders.models.models import AnyModel
from encoders.parts.cut_domain import CutDomain
from solvers.statements.boxes import Boxes
from solvers.statements.release import ANY_LABEL, Block, Partition


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


def label_excluded(domain: Domain, models: Iterable[AnyModel]) -> NDArray[np.bool_] | None:
    """Return which values of the label no row has, as figures of the label say; None where they say nothing."""
    label = domain.label
    origins = [m.origin for m in models if isinstance(m, AnyModel) and m.origin is not None]  # no questions
    figures = [f for origin in origins for f in origin.columns if label is not None and f.column == label.name]
    among = [f.values if f.values is not None else f.among for f in figures if f.make is None]
    if not isinstance(label, Listed | Grid) or not any(values is not None for values in among):
        return None
    out = np.zeros(label.span[1], dtype=bool)
    for values in among:
        if values is not None:
            out[: label.known[1]] |= [label.value_at(i) not in values for i in range(label.known[1])]
    return out if out.any() else None


def without_labels(block: Block, excluded: NDArray[np.bool_]) -> Block:
    """Return a block of counts whose upper ends say, too, that no row has one of the excluded labels."""
    if not isinstance(block, Partition):
        return block
    none = (block.label != ANY_LABEL) & excluded[block.label]
    return replace(block, high=np.where(none, block.low, block.high))
