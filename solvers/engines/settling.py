"""Releases of boosted models with what their leaf values prove as further blocks: what every engine can use."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.engines.chain import answer
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.kernel.leaf_values.blocks import cells_blocks
from solvers.questions.answers import SettledAnswer
from solvers.questions.query import Settle
from solvers.statements.boxes import Box, Boxes
from solvers.statements.release import ANY_LABEL, UNBOUNDED, AddedBlocks, Block, Partition, Release

NOT_USED = "its leaf values are not used"  # and why, behind the name of a model


@dataclass(slots=True)
class StrengthenedRelease:
    """A release with what its leaf values prove, and the seconds that this was given."""

    release: Release | None = None
    seconds: float = 0.0


def strengthened(release: Release, limits: Limits | None = None, lattices: bool = True) -> Release:
    """Return the release with what its leaf values prove as further blocks; itself where there are none.

    One partition per boosted model: the rows of its cells by label (`AddedBlocks` says what proves it). Where all of
    them are known the model is taken out of `boosted`, else it stays, for what is not used. A model whose figures
    contradict what they assume becomes a line of `loosened`, its trees sizes of leaves: classes may be read off leaf
    values too. Remembered; asked anew only with more time. `lattices`: see `Settle`; what is found without is not
    remembered. Cost: see `solvers.leaf_values.settling`.
    """
    if not release.boosted or release.settled is not None:
        return release
    limits = limits or Limits()
    known = release.derived.part(StrengthenedRelease)
    if known.release is None and not lattices:
        return settle_all(release, limits.stage("leaf values"), lattices=False)
    if known.release is None or (known.release.boosted and limits.left() > 2 * known.seconds):
        known.seconds = limits.left()
        known.release = settle_all(release, limits.stage("leaf values"))
    return known.release


def settle_all(release: Release, limits: Limits, lattices: bool = True) -> Release:
    """Return the release with what every boosted model proves, one after the other."""
    found, left = release, []
    for number, model in enumerate(release.boosted):
        try:
            proved = answer(found, Settle(number, lattices), limits)
        except (Unsupported, Inconclusive):
            left.append(model)
            continue
        if not isinstance(proved, SettledAnswer):
            raise TypeError(f"{proved.engine} answered Settle with a {type(proved).__name__}")
        if proved.failed:
            line = f"{model.name}: {NOT_USED}: {proved.failed}"
            kept = agreeing(found, number, limits, lattices)
            if kept < len(model.blocks):
                line += f"; from tree {kept} on trees may be about other rows: what they count is left out"
            found = with_first_trees(found, number, kept)
            blocks = tuple(only_sizes(b) if i in model.blocks else b for i, b in enumerate(found.blocks))
            found = replace(found, blocks=blocks, loosened=(*found.loosened, line))
            continue
        if proved.boxes is not None:
            found = with_block(found, number, proved)
        left += [] if proved.status == "exact" else [model]
    return replace(found, boosted=tuple(left))


def agreeing(release: Release, number: int, limits: Limits, lattices: bool = True) -> int:
    """Return how many trees of a model, from the first one on, agree with each other: at least 1.

    One training set explains them; what the next one says contradicts that, so that it may be about other rows. Cost:
    every prefix that is tried is settled by itself, about log2 of the trees many.
    """
    low, high = 1, len(release.boosted[number].trees)
    while high - low > 1:
        middle = (low + high) // 2
        part = with_first_trees(release, number, middle)
        model = part.boosted[number]
        one = replace(part, boosted=(replace(model, trees=model.trees[:middle]),))
        try:
            found = answer(one, Settle(0, lattices), limits.stage("agreeing trees"))
        except (Unsupported, Inconclusive):
            break
        agrees = isinstance(found, SettledAnswer) and not found.failed and found.boxes is not None
        low, high = (middle, high) if agrees else (low, middle)
    return low


def with_first_trees(release: Release, number: int, kept: int) -> Release:
    """Return the release without what trees of a model count from number `kept` on."""
    gone = set(release.boosted[number].blocks[kept:])
    most = UNBOUNDED if release.rows.high is None else release.rows.high
    return replace(release, blocks=tuple(opened(b, most) if i in gone else b for i, b in enumerate(release.blocks)))


def opened(block: Block, most: int) -> Block:
    """Return a partition that says nothing of its regions, which have up to `most` rows; other blocks as they are."""
    if not isinstance(block, Partition):
        return block
    return replace(block, low=np.zeros_like(block.low), high=np.full_like(block.high, most))


def only_sizes(block: Block) -> Block:
    """Return a partition with the rows of its regions whatever their label; other blocks as they are."""
    if not isinstance(block, Partition) or bool((block.label == ANY_LABEL).all()):
        return block
    k = len(block.boxes)
    low, high = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    np.add.at(low, block.region, block.low)
    np.add.at(high, block.region, np.minimum(block.high, UNBOUNDED // (1 + len(block.labels))))
    open_ones = np.unique(block.region[block.high == UNBOUNDED])
    high[open_ones] = UNBOUNDED
    any_label = np.full(k, ANY_LABEL, dtype=np.int32)
    return replace(block, region=np.arange(k, dtype=np.int32), label=any_label, low=low, high=high)


def with_block(release: Release, model: int, proved: SettledAnswer) -> Release:
    """Return a release with the proved rows of a model's cells as further blocks: by label, then whatever their label.

    The second one only where it says more than the first.
    """
    assert proved.boxes is not None
    boxes = Boxes.of([*proved.boxes, Box()])
    blocks = cells_blocks(release, boxes, proved.low, proved.high, (proved.total_low, proved.total_high))
    settled = AddedBlocks(release, model, proved.steps, proved.surplus, proved.worst, "; ".join(proved.trail))
    return replace(release, blocks=(*release.blocks, *blocks), settled=settled)
