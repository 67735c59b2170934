"""How many rows the leaf values of a boosted model determine."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Continuous
from encoders.encode.encoder import EncodedRelease
from recon.readers.loading.loading import Released, single_release_of
from recon.readers.loading.settled import as_released, proofs, strengthened_release
from solvers.engines.chain import NOT_USED
from solvers.foundation.displayed import Displayed
from solvers.foundation.limits import Limits
from solvers.statements.release import Partition, Release


@dataclass(frozen=True, repr=False)
class Determined(Displayed):
    """What boosted model number `number` of a release determines of the `rows` rows, `trees` trees in all.

    A row is known where its cell is proved to hold it: one leaf of every tree that was used, `with_label` where its
    label is proved as well. `whole`: rows with label in cells that are one possible row, so that every value is known.
    `cells`: how many can hold rows. `status`: "exact" where all rows are known with their label, "bounds", "unknown"
    (nothing was found in the limits) or "failed": leaf values contradict what they assume, `failed` says what.
    `surplus`: figures left over that hold, at most `worst` of their intervals.
    """

    name: str
    number: int
    rows: int
    trees: int
    known: int = 0
    with_label: int = 0
    whole: int = 0
    cells: int = 0
    status: str = "unknown"
    failed: str = ""
    surplus: int = 0
    worst: float = 0.0


def determined(release: Released, limits: Limits | None = None) -> tuple[Determined, ...]:
    """Return what every boosted model with classes determines; () where none says anything about classes.

    Cost: that of `strengthened_release`, once per release.

    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> [(one.rows, one.known) for one in recon.determined(release)]
    [(4, 4)]
    """
    release = single_release_of(release, limits)
    found = strengthened_release(release, limits)
    published = as_released(found).statements
    proved = {one.model: (one, block) for one, block in proofs(found.statements)}
    out = []
    for number, model in enumerate(published.boosted):
        if not model.labels:
            continue
        base = Determined(model.name, number, published.rows.high or 0, len(model.trees))
        if number in proved:
            settled, block = proved[number]
            out.append(_of_block(found, base, block, settled.surplus, settled.worst))
        else:
            out.append(_unproved(found.statements, base))
    return tuple(out)


def _of_block(release: EncodedRelease, base: Determined, block: Partition, surplus: int, worst: float) -> Determined:
    """Return what a block of cells says: bounds per cell and label."""
    cells = len(block.boxes)
    low, high = (np.zeros(cells, dtype=np.int64) for _ in range(2))
    np.add.at(low, block.region, block.low)
    np.add.at(high, block.region, block.high)
    # all rows are in cells: what the others cannot hold is in this one
    known = np.maximum(low, base.rows - (high.sum() - high))
    single = single_rows(release, block)
    status = "exact" if int(low.sum()) == base.rows else "bounds" if known.any() else "unknown"
    return replace(
        base,
        known=int(known.sum()),
        with_label=int(low.sum()),
        whole=int(low[single].sum()),
        cells=int((high > 0).sum()),
        status=status,
        surplus=surplus,
        worst=worst,
    )


def single_rows(release: EncodedRelease, block: Partition) -> NDArray[np.bool_]:
    """Return which cells are one possible row: one value of every attribute but the label."""
    domain = release.statements.domain
    label, sizes = domain.label, [a.sizes for a in domain.attributes]
    if any(isinstance(cuts.attribute, Continuous) for cuts in release.cut.cuts):
        return np.zeros(len(block.boxes), dtype=bool)  # a part of any numbers is never one value
    out = np.zeros(len(block.boxes), dtype=bool)
    for j in range(len(block.boxes)):
        masks = dict(block.boxes[j].literals)
        values = 1
        for k, size in enumerate(sizes):
            if k == label:
                continue
            mask = masks.get(k)
            values *= sum(n for p, n in enumerate(size) if mask is None or mask >> p & 1)
            if values > 1:
                break
        out[j] = values == 1
    return out


def _unproved(release: Release, base: Determined) -> Determined:
    """Return why a model proves nothing: its assumptions fail, or nothing was found."""
    start = f"{base.name}: {NOT_USED}: "
    for line in release.loosened:
        if line.startswith(start):
            return replace(base, status="failed", failed=line.removeprefix(start))
    return base
