"""Which few columns, if an attacker knows them of everybody, open the labels of a forest whose bags are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from recon.queries.located.placed_rows import PlacedRows
from recon.queries.located.positions import position_results
from recon.readers.loading.known_positions import POSITION, with_known_positions
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

MAX_COLUMNS = 4  # columns that are added
TRIED = 12  # candidates per round, those that trees test most
WORK = 20.0  # units of work (`solvers.foundation.limits`) that one try may take; seconds are the outer bound only


@dataclass(frozen=True)
class OpenedLabels:
    """What follows where the columns `names` are known of everybody: labels proved of so many, the share of leaves."""

    names: tuple[str, ...]
    labels: int
    rows: int
    leaves: float
    complete: bool

    def __str__(self) -> str:
        """Return it as a sentence."""
        known = f"knowing {' and '.join(self.names)} of everybody" if self.names else "knowing nothing beside the file"
        labels = f"all {self.rows:,}" if self.labels == self.rows else f"{self.labels:,} of {self.rows:,}"
        late = "" if self.complete else ", so far"
        return f"{known} gives {labels} labels by position, and {100 * self.leaves:.1f} % of leaves{late}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as an object ready for JSON."""
        return {
            "columns": list(self.names),
            "labels_known": self.labels,
            "rows": self.rows,
            "share_leaves_known": self.leaves,
            "complete": self.complete,
        }


def which_columns(
    release: EncodedRelease, rows: pd.DataFrame, limits: Limits | None = None, alone: PlacedRows | None = None
) -> list[OpenedLabels]:
    """Return what opens with no column, one, two and more known, each time the one that proves most labels added.

    Greedy, so that fewer columns may do. `rows`: the training rows in the order in which `fit` got them; `alone`: what
    follows with no column, where that is known. Ends with the first column that proves all labels, after `MAX_COLUMNS`,
    or with the limits. Cost: at most MAX_COLUMNS x TRIED runs of `recon.positions`, each of `WORK` at most.
    """
    limits = limits or Limits()
    frame = rows.reset_index(drop=True).assign(**{POSITION: np.arange(len(rows))})
    frame.attrs.update(rows.attrs)
    best = _labels_with_known(release, frame, (), limits) if alone is None else _labels_of((), alone)
    out = [] if best is None else [best]
    candidates = _most_tested(release, frame)
    while out and out[-1].labels < out[-1].rows and len(out) <= MAX_COLUMNS and not limits.expired():
        known = out[-1].names
        found: list[OpenedLabels] = []
        for name in (name for name in candidates if name not in known):
            one = _labels_with_known(release, frame, (*known, name), limits)
            found += [] if one is None else [one]
            if one is not None and one.labels == one.rows:  # none proves more
                break
        if not found:
            break
        out.append(max(found, key=lambda one: (one.labels, one.leaves)))
    return out


def _labels_with_known(
    release: EncodedRelease, frame: pd.DataFrame, names: Sequence[str], limits: Limits
) -> OpenedLabels | None:
    """Return what follows where some columns are known; None where nothing was found in a part of the time."""
    if limits.expired():
        return None
    limits.report(f"known: {', '.join(names) or 'nothing'}")
    known = frame[[POSITION, *names]]
    known.attrs.update(frame.attrs)
    try:
        found = position_results(
            with_known_positions(release, known) if names else release, limits=limits.at_most(WORK)
        )
    except Inconclusive:
        return None
    return _labels_of(names, found)


def _labels_of(names: Sequence[str], found: PlacedRows) -> OpenedLabels:
    """Return the labels and leaves proved where `names` are known."""
    return OpenedLabels(tuple(names), found.labels_known or 0, found.rows, found.answer.leaves_proved, found.complete)


def _most_tested(release: EncodedRelease, frame: pd.DataFrame) -> list[str]:
    """Return the attributes that are columns of a table, those with most thresholds first, at most `TRIED`."""
    cuts = zip(release.domain.attributes, release.cut.cuts, strict=False)
    found = [(len(each.inner), a.name) for a, each in cuts if a.name in frame.columns and len(each.inner)]
    return [name for _, name in sorted(found, key=lambda one: -one[0])[:TRIED]]
