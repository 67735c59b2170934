"""How many rows the leaf values of a boosted model determine.

What leaf values reveal, in words and as JSON: the lines that a report opens with, and the table of remedies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    import pandas as pd

ADVICE = (
    "remedy: round leaf values before publishing, leave out what predictions do not need (counts, inner values, "
    "gains), publish fewer trees, or draw a part of the rows for every tree (subsample); recon audit --remedies works "
    "out what roundings and fewer trees leave"
)


def _opening(found: Determined) -> str:
    """Return the one line on what a boosted model gives back."""
    if found.status == "failed":
        return (
            f"{found.name}: its leaf values are not those of training on these rows, each counted once: {found.failed}"
        )
    if not found.known:
        return f"{found.name}: nothing is proved about single rows from its leaf values ({found.trees:,} trees)"
    label = "all of them with their label" if found.with_label == found.rows else f"with label: {found.with_label:,}"
    label = f"{label} of {found.rows:,}" if found.with_label < found.rows else label
    return f"this boosted model determines {found.known:,} of {found.rows:,} rows ({label})"


def _lines_of(found: Determined, truth: Mapping[str, Any] | None) -> list[str]:
    """Return the lines on one model: what it gives back, what that rests on, and the true rows beside it."""
    lines = [_opening(found)]
    if found.status == "failed":
        return [
            *lines,
            "leaf values, and classes worked out from them, are left out of everything below: sizes are used",
        ]
    if found.known:
        open_values = found.with_label - found.whole
        cells = f"every value is known of {found.whole:,} of them"
        lines.append(cells if not open_values else f"{cells}, of {open_values:,} in which leaf of every tree they are")
    if found.surplus:
        lines.append(
            f"{found.surplus:,} published figures were left over to check that no row was weighted, drawn or added: "
            f"all of them hold (using at most {found.worst:.2f} of what rounding allows)"
        )
    elif found.known:
        lines.append("no published figure was left over to check that no row was weighted, drawn or added")
    if truth is not None:
        lines += _truth_lines(found, truth)
    return lines


def _truth_lines(found: Determined, truth: Mapping[str, Any]) -> list[str]:
    """Return the lines on the true rows: known rows that are true, and what is right without the model."""
    lines = []
    if truth["right"] is not None:
        lines.append(f"of the {found.with_label:,} rows known with label, true rows: {truth['right']:,}")
    chance = [("rows drawn from the true marginals", truth["marginals"]), (truth["other_is"], truth["other"])]
    said = [f"{name}: {100 * share:.1f} % of the true rows" for name, share in chance if share is not None]
    return [*lines, *([f"without the model, right by chance: {'; '.join(said)}"] if said else [])]


def audit_lines(
    found: Sequence[Determined], truths: Sequence[Mapping[str, Any] | None], table: pd.DataFrame | None
) -> list[str]:
    """Return the lines with which a report on boosted models opens; [] where none says anything of classes."""
    lines = [line for one, truth in zip(found, truths, strict=True) for line in _lines_of(one, truth)]
    if table is not None:
        return [*lines, *_remedy_lines(table)]
    return [*lines, ADVICE] if any(one.known for one in found) else lines


def _remedy_lines(table: pd.DataFrame) -> list[str]:
    """Return one line per remedy: how many rows and labels are still proved."""
    lines = ["published otherwise (proved in the time given; sizes of leaves are published in all of these):"]
    for one in table.to_dict("records"):
        more = {"unknown": " (nothing was proved in time)", "failed": " (its figures contradict each other)"}
        left = f"{one['rows_known']:,} of {one['rows']:,} rows, {one['labels_known']:,} with label"
        lines.append(f"  {one['remedy']}: {left}{more.get(one['status'], '')}")
    return lines


def audit_json(
    found: Sequence[Determined], truths: Sequence[Mapping[str, Any] | None], table: pd.DataFrame | None
) -> dict[str, Any]:
    """Return what leaf values reveal as an object ready for JSON: `models`, and `remedies` where they were asked."""
    import pandas as pd

    models = [
        {"summary": _opening(one), **asdict(one), **({} if truth is None else {"truth": dict(truth)})}
        for one, truth in zip(found, truths, strict=True)
    ]
    if table is None:
        return {"models": models}
    records = [{k: None if pd.isna(v) else v for k, v in one.items()} for one in table.to_dict("records")]
    return {"models": models, "remedies": records}


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

    Raises what `recon.load` raises. Cost: that of `strengthened_release`, once per release.

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
