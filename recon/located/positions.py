"""The question `positions`: one line per training position and attribute, what is proved about its value.

Source: Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML 2024 (what trees on bags give away).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.values import Continuous
from encoders.encode.encoder import EncodedRelease
from recon.located.asking import located
from recon.located.columns import Column, columns_of
from recon.located.known_ranges import KnownRanges, Ranges, known_ranges
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.questions.query import LocatedAnswer

LEARNERS = ("none", "midpoints")


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """What is proved about every position: one `Column` per attribute, the label last; and how it was found.

    `learner`: what was assumed of the learner. `notes`: what else there is to say. `status`: "exact" where every value
    is known, "bounds" where something is, "unknown" where nothing is but what the domain says.
    """

    release: EncodedRelease
    answer: LocatedAnswer
    columns: tuple[Column, ...]
    ranges: KnownRanges
    learner: str = "none"
    assumes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    complete: bool = True

    @property
    def rows(self) -> int:
        """Return the number of positions."""
        return len(self.answer.start)

    @property
    def label(self) -> int | None:
        """Return the number of the label among the columns."""
        return None if self.release.domain.label is None else len(self.columns) - 1

    @cached_property
    def data(self) -> tuple[Column, ...]:
        """Return the columns without the label."""
        return self.columns if self.label is None else self.columns[:-1]

    @property
    def labels_known(self) -> int | None:
        """Return how many labels are proved; None without a label."""
        return None if self.label is None else int(self.columns[self.label].exact.sum())

    @cached_property
    def rows_known(self) -> int:
        """Return how many rows are known wholly: every value, the label among them."""
        return int(np.logical_and.reduce([c.exact for c in self.columns]).sum())

    @cached_property
    def values_known(self) -> float:
        """Return the share of values that are known, the label left out."""
        return float(np.mean([c.exact.mean() for c in self.data])) if self.rows else 0.0

    @cached_property
    def width(self) -> float:
        """Return the mean width of what is left, of every column its share: 0 is known, 1 says nothing."""
        return float(np.mean([c.width.mean() for c in self.data])) if self.rows else 1.0

    @cached_property
    def narrowed(self) -> bool:
        """Return whether anything is proved that the domain, or a range that was given, does not say by itself."""
        parts = np.array([len(cuts.inner) + 1 for cuts in self.release.cut.cuts])
        answer = self.answer
        if bool(((answer.start > 0) | (answer.end < parts)).any()):
            return True
        return any(not held.all() for held in answer.sets.values()) or any(c.exact.any() for c in self.data)

    @property
    def status(self) -> str:
        """Return "exact", "bounds" or "unknown"."""
        if self.rows and self.rows_known == self.rows:
            return "exact"
        return "bounds" if self.narrowed else "unknown"

    @property
    def width_of(self) -> str:
        """Return what widths are shares of: "range", "gaps" (between thresholds), or "range or gaps"."""
        attributes = self.release.domain.attributes
        sized = [self.ranges.of(a) is not None for a in attributes if isinstance(a, Continuous)]
        if all(sized):
            return "range"
        return "range or gaps" if any(sized) else "gaps"

    def figures(self) -> dict[str, Any]:
        """Return the summary as named figures, the same in `attrs`, in `--json` and in an audit."""
        known, rows = self.labels_known, self.rows
        return {
            "status": self.status,
            "complete": self.complete,
            "rows": rows,
            "labels": None if known is None else rows,
            "labels_known": known,
            "share_labels_known": None if known is None or not rows else known / rows,
            "rows_known": self.rows_known,
            "share_rows_known": self.rows_known / rows if rows else None,
            "share_values_known": self.values_known,
            "share_leaves_known": self.answer.leaves_proved,
            "mean_width": self.width,
            "mean_width_domain": 1.0,
            "width_of": self.width_of,
            "learner": self.learner,
            "steps": self.answer.steps,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one line per position and attribute; see `positions`."""
        names = [a.name for a in self.release.domain.all]
        n, width = self.rows, len(names)
        low, high, exact, values = [], [], [], []
        for column in self.columns:
            low.append(column.low)
            high.append(column.high)
            exact.append(column.exact)
            listed = np.empty(len(column.values), dtype=object)
            for i, one in enumerate(column.values):
                listed[i] = None if one is None else list(one)
            values.append(listed[column.values_of])
        found = {
            "position": np.repeat(np.arange(n), width),
            "attribute": np.tile(np.array(names, dtype=object), n),
            "low": np.stack(low, axis=1).reshape(-1),
            "high": np.stack(high, axis=1).reshape(-1),
            "exact": np.stack(exact, axis=1).reshape(-1),
            "values": np.stack(values, axis=1).reshape(-1),
        }
        if any(a.missing for a in self.release.domain.all):
            found["missing"] = np.stack([c.missing for c in self.columns], axis=1).reshape(-1)
        return pd.DataFrame(found)


def positions(
    release: EncodedRelease,
    learner: str = "none",
    ranges: Ranges = None,
    truth: pd.DataFrame | None = None,
    limits: Limits | None = None,
) -> pd.DataFrame:
    """Return what is proved about the row at every position of the training file, one line per attribute, label
    included.

    Positions count from 0 in the order in which `fit` got the rows. Columns: position, attribute, low, high (the
    least and the greatest value that are possible, as floats; infinite where no end is known, NaN where values have no
    order), exact (one value is left: it is proved), values (those left of an attribute with single values, None where
    they are more than 100 numbers of a grid, or any numbers); where values may be missing also `missing`. Of an
    attribute of any numbers, low and high are edges of the proved interval: the value is at most `high`, and above
    `low` where that is a tree's threshold (trees send x <= threshold to the left).

    `learner`: "midpoints" also uses that scikit-learn's best splitter puts thresholds halfway between two training
    values; an assumption that every figure names. `ranges`: attribute -> (least, greatest value of the training rows),
    a file of them (attribute, min, max), or "attained": the ends of the domain are values of training rows. `truth`:
    the true rows in the same order, to compare with (`attrs["truth"]`).

    `attrs`: status ("exact", "bounds", "unknown": nothing is proved), complete (nothing more follows; else a limit was
    met), the figures of `PlacedRows.figures`, assumptions, notes, engine, seconds. Raises `Inconclusive` where rows
    have no position, which says why; `ContradictionError` where there is no world.
    """
    found = placed(release, learner, ranges, limits)
    frame = found.to_frame()
    frame.attrs.update(attributes(found))
    if truth is not None:
        from recon.located.against_truth import compared

        frame.attrs["truth"] = compared(found, truth)
    return frame


def placed(
    release: EncodedRelease, learner: str = "none", ranges: Ranges = None, limits: Limits | None = None
) -> PlacedRows:
    """Return what is proved about every position; see `positions`."""
    if learner not in LEARNERS:
        raise ReleaseError(f"there is no learner '{learner}': choose {' or '.join(LEARNERS)}")
    limits = limits or Limits()
    known = known_ranges(release.domain, ranges)
    answer = located(release, limits)
    columns = tuple(columns_of(release, answer, known))
    refuse_empty(release, columns)
    assumed = [f"the least and the greatest value of {name} are known" for name in list(known.given)[:1]]
    if len(known.given) > 1:
        assumed = [f"the least and the greatest value of {len(known.given)} attributes are known"]
    found = PlacedRows(release, answer, columns, known, assumes=tuple(assumed), complete=answer.complete)
    if learner == "midpoints":
        from recon.located.learning import with_midpoints

        found = with_midpoints(found, limits)
    return replace(found, learner=learner)


def refuse_empty(release: EncodedRelease, columns: tuple[Column, ...]) -> None:
    """Refuse ranges that leave a position no value."""
    for attribute, column in zip(release.domain.all, columns, strict=True):
        empty = np.flatnonzero(column.low > column.high)
        if len(empty):
            i = int(empty[0])
            raise ReleaseError(
                f"the range given for '{attribute.name}' is not that of the training rows: position {i} has a value "
                f"between {column.high[i]:g} and {column.low[i]:g}",
                place="ranges",
            )


def attributes(found: PlacedRows) -> dict[str, Any]:
    """Return what stands beside the lines: the figures, and how they were found."""
    return {
        **found.figures(),
        "assumptions": [*found.release.assumptions, *found.assumes],
        "notes": list(found.notes),
        "engine": found.answer.engine,
        "seconds": found.answer.seconds,
        "trail": list(found.answer.trail),
    }


def plain_number(x: float) -> float | None:
    """Return a number for JSON, None for an end that is not known or values without an order."""
    return x if math.isfinite(x) else None
