"""The true rows beside the release: are they a possible world, and how much does a reconstruction have right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from encoders.encoder import EncodedRelease
from recon.findings import TruthCheck
from recon.matching import against_baselines
from recon.measures import Measures
from recon.questions import reconstruct
from recon.selections import raw_indices, select_frame
from solvers.errors import ReleaseError
from solvers.release import ANY_LABEL, Partition


def check_truth(
    release: EncodedRelease,
    truth: pd.DataFrame,
    population: pd.DataFrame | None,
    measures: Measures,
    seed: int,
) -> TruthCheck:
    """Return whether the true rows are a possible world and how a reconstruction compares with baselines."""
    violated = violations(release, truth)
    if measures.status != "exact" or release.domain.continuous:
        return TruthCheck(not violated, tuple(violated), None, "no reconstruction: sizes are not exact")
    real = raw_indices(release.domain, truth)
    guess = reconstruct(release, seed).indices()
    people = None if population is None else raw_indices(release.domain, population)
    totals = [a.total for a in release.cut.solver.attributes]
    compared = against_baselines(real, guess, totals, population=people, seed=seed)
    return TruthCheck(not violated, tuple(violated), compared)


def violations(release: EncodedRelease, truth: pd.DataFrame) -> list[str]:
    """Return the statements that the true rows break, in words; empty when they are a possible world."""
    if missing := [a.name for a in release.domain.all if not speaks_of(release, truth, a.name)]:
        message = f"the truth says nothing about the attribute '{missing[0]}'"
        raise ReleaseError(message, file=truth.attrs.get("file", ""))
    selected = select_frame(release, truth)
    broken = []
    rows = release.rows
    if len(truth) < rows.low or (rows.high is not None and len(truth) > rows.high):
        said = rows.low if rows.exact else f"{rows.low} to {rows.high}"
        broken.append(f"the release is of {said} rows, the truth has {len(truth)}")
    for block in release.statements.blocks:
        if isinstance(block, Partition):
            counts = count_rows(release, block, selected.codes, selected.sizes)
            for s in np.flatnonzero((counts < block.low) | (counts > block.high)).tolist():
                said = block.low[s] if block.low[s] == block.high[s] else f"{block.low[s]} to {block.high[s]}"
                broken.append(f"{block.source(s)}: {said} rows released, {counts[s]} in the truth")
    if release.statements.impossible:
        masks = row_masks(selected.sizes)
        for i, box in enumerate(release.statements.impossible):
            hit = np.all([inside(masks, k, m)[selected.codes[:, k]] for k, m in box.literals], axis=0)
            if hit.any():
                broken.append(f"domain.impossible[{i}]: row {int(np.flatnonzero(hit)[0]) + 1} of the truth is in it")
    return broken


def speaks_of(release: EncodedRelease, frame: pd.DataFrame, name: str) -> bool:
    """Tell whether a frame has a column for an attribute: the attribute itself or a view of it."""
    views = release.domain.columns
    return any(str(c) == name or (str(c) in views and views[str(c)].attribute == name) for c in frame.columns)


def row_masks(sizes: Sequence[tuple[tuple[int, ...], ...]]) -> list[list[int]]:
    """Return, per attribute, the part mask of every code."""
    return [[sum(1 << p for p, z in enumerate(code) if z) for code in table] for table in sizes]


def inside(masks: list[list[int]], k: int, mask: int) -> Any:
    """Return a boolean per code of attribute k: whether its parts are inside the mask."""
    return np.array([m & ~mask == 0 for m in masks[k]])


def count_rows(release: EncodedRelease, block: Partition, codes: Any, sizes: Any) -> Any:
    """Return how many rows lie in each statement of a partition, by testing every region in order."""
    masks = row_masks(sizes)
    distinct, weight = np.unique(codes, axis=0, return_counts=True)
    free = np.ones(len(distinct), dtype=bool)
    label_at = release.statements.domain.label
    counts = np.zeros(len(block), dtype=np.int64)
    for j, box in enumerate(block.boxes):
        hit = free.copy()
        for k, mask in box.literals:
            hit &= inside(masks, k, mask)[distinct[:, k]]
        free &= ~hit
        for s in block.by_region[j]:
            label = int(block.label[s])
            if label == ANY_LABEL or label_at is None:
                counts[s] = weight[hit].sum()
            else:
                counts[s] = weight[hit & inside(masks, label_at, 1 << label)[distinct[:, label_at]]].sum()
    return counts
