"""The true rows beside what is proved by position: are they inside, and how near is a guess."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import MISSING, AnyAttribute, Categorical, Continuous, Ranges, is_number
from encoders.encode.encoder import EncodedRelease, untested
from recon.queries.located.placed_rows import Floats, KnownRanges, PlacedRows, PositionColumn, columns_of
from recon.readers.frames.describe import named_like
from recon.readers.frames.selections import profile_ranges, whole_rows
from recon.readers.frames.world import TrueRows, speaks_of
from solvers.foundation.errors import ReleaseError
from solvers.statements.boxes import runs_of
from solvers.statements.questions.answers import LocatedAnswer

if TYPE_CHECKING:
    import pandas as pd

NEAR = 0.01  # of the column's range: a guess of a number so near counts as right
TIGHT = 1e-12  # by which two widths may differ that are the same
DRAWS = 20  # of rows from the marginals, whose mean is the baseline


def compared(found: PlacedRows, truth: pd.DataFrame) -> dict[str, Any]:
    """Return how the true rows, in the order in which `fit` got them, compare with what is proved of them.

    `inside`: whether every true value is among those left; else `first_outside` says where not, and `outside` how many
    values. `labels_right`: of the labels proved. Widths here are shares of the true columns' ranges: `mean_width` of
    what is proved, `mean_width_true_leaves` of what would be if the leaf of every row in every tree that drew it were
    known, `mean_width_marginals` 1. `values_right`: the share of values that the middle of what is left meets (a number
    within 1 % of the column's range), `mean_error`: how far it is off, as a share of the range; the same of rows drawn
    from the true marginals, which an adversary would have to know. `classes`: per true class, that with most boxes as
    tight as the truth allows first: rows, labels_right, mean_width, mean_width_true_leaves, boxes_as_tight (of how many
    rows the true leaves leave no column narrower). Raises `ReleaseError` for another number of rows.
    """
    release = found.release
    truth = _true_table(release, truth, found.rows)
    rows = TrueRows.of(release, truth)
    real = _numbers_of(release, truth)
    out = np.stack([_truth_outside(found, k, rows, real[:, k]) for k in range(len(found.columns))], axis=1)
    spans = [np.nanmax(x) - np.nanmin(x) if np.isfinite(x).any() else np.nan for x in real.T]
    ends = {
        a.name: (float(np.nanmin(real[:, k])), float(np.nanmax(real[:, k])))
        for k, a in enumerate(release.domain.attributes)
        if isinstance(a, Continuous) and spans[k] > 0
    }
    label = found.label
    sure = np.zeros(found.rows, dtype=bool) if label is None else found.columns[label].exact
    own, true = _widths(found, ends), _widths(_by_true_leaves(found, rows, ends), ends)
    right = sure & ~out[:, label] if label is not None else sure
    return {
        "inside": not out.any(),
        "outside": int(out.sum()),
        "first_outside": first_outside(found, truth, out),
        "labels_right": None if label is None else int(right.sum()),
        "mean_width": float(own.mean()),
        "mean_width_true_leaves": float(true.mean()),
        "mean_width_marginals": 1.0,
        "classes": [] if label is None else _by_class(found, real[:, label], right, own, true),
        **_guesses(found, real, np.array(spans)),
    }


def _true_table(release: EncodedRelease, truth: pd.DataFrame, rows: int) -> pd.DataFrame:
    """Return the true rows with the domain's names; `ReleaseError` where they cannot be those of the release."""
    file = truth.attrs.get("file", "")
    if len(truth) != rows:
        raise ReleaseError(f"has {len(truth):,} rows, the release has {rows:,} positions", file=file or "the truth")
    truth = named_like(truth, release.domain)[0]
    if absent := [a.name for a in release.domain.all if not speaks_of(release, truth, a.name)]:
        raise ReleaseError(f"has no column for the attribute '{absent[0]}'", file=file)
    return whole_rows(truth, release.domain)


EXACT_INDICES = float(1 << 53)  # indices above are no exact floats: of finer grids the parts decide


def _numbers_of(release: EncodedRelease, truth: pd.DataFrame) -> Floats:
    """Return (rows, attributes): numbers of attributes of any numbers, indices of other values; NaN where open.

    Open are also the attributes of a guessed domain that no test uses: nobody said which values they have.
    """
    out, unsaid = np.full((len(truth), len(release.domain.all)), np.nan), untested(release.domain, release.cut)
    for k, (codes, every) in profile_ranges(release, truth).items():
        if k in unsaid:
            continue
        continuous = isinstance(release.domain.all[k], Continuous)
        out[:, k] = np.array([_number_of(one, continuous, release.domain.all[k].known[1]) for one in every])[codes]
    return out


def _number_of(ranges: Ranges, continuous: bool, last: Any) -> float:
    """Return the number or index of one cell, NaN where it is open or missing."""
    if len(ranges) != 1:
        return float("nan")
    start, end = ranges[0]
    if continuous:
        return float(start[0]) if start[0] == end[0] and start < last else float("nan")
    return float(start) if end - start == 1 else float("nan")


def _truth_outside(found: PlacedRows, k: int, rows: TrueRows, real: Floats) -> NDArray[np.bool_]:
    """Return (rows,): whether the true value of attribute k is none of those left."""
    answer, true = found.answer, rows.parts[k][rows.codes[rows.back, k]]
    place = np.arange(true.shape[1])
    allowed = (place >= answer.start[:, k, None]) & (place < answer.end[:, k, None])
    if k in answer.sets:
        allowed &= answer.sets[k]
    wrong = ~(allowed & true).any(axis=1)
    if isinstance(found.release.domain.all[k], Continuous):
        column = found.columns[k]  # narrower than the parts: by ranges that were given, or by midpoints
        wrong |= (real > column.high) | (real < column.low)
    else:  # fewer values than the parts hold
        wrong |= _not_among(found.release.domain.all[k], found.columns[k], real)
    return np.asarray(wrong)


def _not_among(attribute: AnyAttribute, column: PositionColumn, real: Floats) -> NDArray[np.bool_]:
    """Return (rows,): whether the value with a true index (NaN: open) is none of the single values left."""
    known = np.flatnonzero(real < EXACT_INDICES)
    keys = np.stack([column.values_of[known], real[known].astype(np.int64)], axis=1)
    different, at, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    gone = []
    for (pattern, index), row in zip(different.tolist(), known[at].tolist(), strict=True):
        value, left = attribute.value(index), column.values[pattern]
        if left is not None:
            gone.append((MISSING if value is None else value) not in left)
        else:
            gone.append(not (is_number(value) and column.low[row] <= value <= column.high[row]))
    out = np.zeros(len(real), dtype=bool)
    out[known] = np.array(gone, dtype=bool)[back.reshape(-1)]
    return out


def first_outside(found: PlacedRows, truth: pd.DataFrame, out: NDArray[np.bool_]) -> dict[str, Any] | None:
    """Return the first position with a value that is not left, and the value beside what is; None without one."""
    if not out.any():
        return None
    i, k = (int(x) for x in np.argwhere(out)[0])
    name, column = found.release.domain.all[k].name, found.columns[k]
    cell = truth[name].iloc[i] if name in truth.columns else None
    value = cell.item() if isinstance(cell, np.generic) else cell
    ends = [float(x) if np.isfinite(x) else None for x in (column.low[i], column.high[i])]
    left = column.values[int(column.values_of[i])]
    return {
        "position": i,
        "attribute": name,
        "value": value,
        "low": ends[0],
        "high": ends[1],
        "values": None if left is None else list(left),
    }


def _by_class(
    found: PlacedRows, label: Floats, right: NDArray[np.bool_], own: Floats, true: Floats
) -> list[dict[str, Any]]:
    """Return the figures of every true class, that with the greatest share of boxes as tight as the truth's first."""
    attribute, out = found.release.domain.all[-1], []
    tight = np.asarray((own <= true + TIGHT).all(axis=1))
    for k in np.unique(label[np.isfinite(label)]).astype(np.int64).tolist():
        rows = label == k
        out.append(
            {
                "class": attribute.value_at(k),
                "rows": int(rows.sum()),
                "labels_right": int(right[rows].sum()),
                "mean_width": float(own[rows].mean()),
                "mean_width_true_leaves": float(true[rows].mean()),
                "boxes_as_tight": int(tight[rows].sum()),
            }
        )
    return sorted(out, key=lambda one: (-one["boxes_as_tight"] / one["rows"], one["mean_width"]))


def _widths(found: PlacedRows, ends: dict[str, tuple[float, float]]) -> Floats:
    """Return (rows, attributes) how wide what is left is, of numbers as shares of the true ranges; 0: missing."""
    out = []
    for attribute, column in zip(found.release.domain.attributes, found.data, strict=True):
        if attribute.name in ends:
            low, high = ends[attribute.name]
            left = np.minimum(column.high, high) - np.maximum(column.low, low)
            shares = np.clip(left / (high - low), 0.0, 1.0)
            out.append(np.where(np.isnan(left), column.width, shares))
        else:
            out.append(column.width)
    return np.stack(out, axis=1)


def _by_true_leaves(found: PlacedRows, rows: TrueRows, ends: dict[str, tuple[float, float]]) -> PlacedRows:
    """Return what would be left if the leaf of every row in every tree that drew it were known: rows x trees."""
    release = found.release
    parts = np.array([len(cuts.inner) + 1 for cuts in release.cut.cuts])
    start, end = np.zeros((found.rows, len(parts)), dtype=np.int64), np.tile(parts, (found.rows, 1))
    bags = max(release.statements.bags, key=lambda one: sum(int((tree.count > 0).sum()) for tree in one.trees))
    for times, tree in zip(bags.times, bags.trees, strict=True):
        first, behind, _ = runs_of(tree.boxes)
        leaf = rows.regions(tree.boxes)[rows.back]
        seen = np.flatnonzero((times > 0) & (leaf >= 0))
        literals = np.diff(tree.boxes.start)[leaf[seen]]
        row = np.repeat(seen, literals)
        at = np.arange(len(row)) - np.repeat(np.cumsum(literals) - literals, literals)
        at += np.repeat(tree.boxes.start[leaf[seen]], literals)
        np.maximum.at(start, (row, tree.boxes.attribute[at]), first[at])
        np.minimum.at(end, (row, tree.boxes.attribute[at]), behind[at])
    answer = LocatedAnswer("bounds", start=start, end=end)
    columns = tuple(columns_of(release, answer, KnownRanges(ends)))
    return replace(found, columns=columns, answer=answer)


def _guesses(found: PlacedRows, real: Floats, spans: Floats) -> dict[str, Any]:
    """Return how near the middle of what is left is to the truth, beside rows drawn from the true marginals."""
    names = found.release.domain.attributes
    numbers = np.array([not (isinstance(a, Categorical) and not a.numeric) for a in names])
    guess = np.stack([c.middle for c in found.data], axis=1)
    real, spans = real[:, : len(names)], np.where(spans[: len(names)] > 0, spans[: len(names)], np.inf)
    rng = np.random.default_rng(0)
    drawn = [np.stack([rng.permutation(x) for x in real.T], axis=1) for _ in range(DRAWS)]
    own = _nearness(guess, real, spans, numbers)
    others = [_nearness(one, real, spans, numbers) for one in drawn]
    return {
        "values_right": own[0],
        "values_right_marginals": float(np.mean([one[0] for one in others])),
        "mean_error": own[1],
        "mean_error_marginals": None if own[1] is None else float(np.mean([one[1] for one in others])),
    }


def _nearness(
    guess: Floats, real: Floats, spans: Floats, numbers: NDArray[np.bool_]
) -> tuple[float | None, float | None]:
    """Return the share of values that a guess has right, and its mean distance in numbers as a share of their range."""
    known = np.isfinite(real)
    off = np.abs(guess - real) / spans
    right = np.where(numbers, off <= NEAR, guess == real)
    share = float(right[known].mean()) if known.any() else None
    far = np.where(known & numbers, np.minimum(off, 1.0), np.nan)
    return share, float(np.nanmean(far)) if np.isfinite(far).any() else None
