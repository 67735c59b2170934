"""Whose label, or target, is what: inferred for everybody whose features are known beside a release.

Source: Fredrikson, Jha, Ristenpart, "Model inversion attacks", CCS 2015 (features known, one attribute inferred); here
what is said holds in every training set that agrees with the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.values import MISSING
from encoders.encode.encoder import EncodedRelease
from encoders.kinds.known_rows import KnownRegions, known_labels
from encoders.models.models import KnownRows, boosted_of
from recon.queries.answers.counting import decide, why_open
from recon.queries.answers.exact import select_with
from recon.readers.frames.describe import named_like
from recon.readers.loading.known_positions import known_rows
from recon.readers.loading.loading import Released, release_of
from recon.readers.loading.settled import proofs, strengthened_release, surplus_sentence
from solvers.engines.chain import NOT_USED, answer
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.native import one_thread
from solvers.statements.questions.answers import TargetsAnswer
from solvers.statements.questions.query import Targets
from solvers.statements.release import ANY_LABEL

Ints = NDArray[np.int64]
NO_LABEL = "no file says anything of a label, and none is a regression whose leaf values are read"
NO_ROWS = "nobody's features are known: give --known-columns (recon.load(..., known_columns=...))"


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Per region of known rows and label how many rows whose label is not given have it: at least, at most.

    `left` (regions,) are the rows whose label is not given; `lines` says why something is open.
    """

    low: Ints
    high: Ints
    left: Ints
    exact: bool
    lines: tuple[str, ...]

    @property
    def certain(self) -> Ints:
        """Return per region the label that all these rows have in every world, -1 where that is open."""
        sure = self.low == self.left[:, None]
        others = self.high.sum(axis=1)[:, None] - self.high == 0
        found = sure | (others & (self.high > 0))
        return np.where(found.any(axis=1), found.argmax(axis=1), -1).astype(np.int64)


def labels(release: Released, limits: Limits | None = None) -> pd.DataFrame:
    """Return what follows for the label of every row whose features are known, one line per row of their table.

    Columns: row (0-based), label (None where it is open), how ("given" by the table, "certain": the same in every
    world, "open"), possible (the labels that some world leaves, joined by " | "). `attrs` has status ("exact": nothing
    more follows; "bounds": time or engines left something open), assumptions, notes, label (its name) and how many
    rows are given, certain and open. Cost: a verdict per distinct row and label. Raises `Unsupported` without rows
    that are known, or without a label.

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import recon
    >>> domain = {"attributes": [{"name": "old", "values": [0, 1]}], "label": {"name": "ill", "values": [0, 1]}}
    >>> nodes = [{"if": {"old": 0}, "then": 1, "else": 2}, {"counts": [2, 0]}, {"counts": [0, 1]}]
    >>> models = [{"kind": "tree", "nodes": nodes}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tree.json")
    ...     size = path.write_text(json.dumps({"recon": 1, "domain": domain, "models": models}))
    ...     release = recon.load(path, known_columns=pd.DataFrame({"old": [0, 1, 0]}))
    >>> recon.labels(release)[["row", "label", "how"]]
       row label      how
    0    0     0  certain
    1    1     1  certain
    2    2     0  certain
    """
    release = strengthened_release(release_of(release, limits), limits)
    known, label = release.known, release.domain.label
    if known is None:
        raise Unsupported(NO_ROWS)
    if label is None:
        why = "of a regression ask for targets (recon.targets)" if is_regression(release) else NO_LABEL
        raise Unsupported("; ".join((why, *release.reader_notes)))
    given = known_labels(known, release.domain)
    if (given >= 0).all():
        message = f"every row's '{label.name}' is given: leave the column out, or empty where it is not known"
        raise ReleaseError(message, file=known.file)
    regions = KnownRegions.of(known, release.cut)
    with one_thread():  # of two, one waits and counts as work: half of all where other work shares the cores
        found = _label_counts(release, known, regions, given, limits)
    names = [label.value_at(i) for i in range(label.span[1])]
    sure, some = found.certain[regions.of_row], found.high[regions.of_row] > 0
    lines = []
    for row, (own, certain, left) in enumerate(zip(given.tolist(), sure.tolist(), some.tolist(), strict=True)):
        one = own if own >= 0 else certain
        how = "given" if own >= 0 else "certain" if certain >= 0 else "open"
        can = [n for n, able in zip(names, left, strict=True) if able] if how == "open" else [names[one]]
        lines.append((row, None if one < 0 else names[one], how, " | ".join(map(str, can))))
    out = pd.DataFrame(lines, columns=["row", "label", "how", "possible"])
    out["label"] = pd.Series([line[1] for line in lines], dtype=object)
    every = {how: int((out["how"] == how).sum()) for how in ("given", "certain", "open")}
    out.attrs.update(every, status="exact" if found.exact else "bounds", assumptions=list(release.assumptions))
    out.attrs.update(notes=list(found.lines), label=label.name)
    return out


def _label_counts(
    release: EncodedRelease, known: KnownRows, regions: KnownRegions, given: Ints, limits: Limits | None
) -> LabelCounts:
    """Return the bounds on rows per region and label, those of rows whose label is given taken off."""
    label = release.domain.label
    assert label is not None
    have = np.zeros((len(regions.boxes), label.span[1]), dtype=np.int64)
    np.add.at(have, (regions.of_row[given >= 0], given[given >= 0]), 1)
    low, high = _proved_counts(release, regions, have)
    rest, exact, lines = regions.times - have.sum(axis=1), True, list[str]()
    left = np.flatnonzero((low < high).any(axis=1))
    if len(left):
        frame = _people(release, known, regions).iloc[left]
        for i in range(label.span[1]):
            selected = select_with(release, frame, label.name, [label.value_at(i)])
            found = decide(release, selected, "ordered", limits)
            low[left, i] = np.maximum(low[left, i], found.low - have[left, i])
            high[left, i] = np.minimum(high[left, i], found.high - have[left, i])
            exact = exact and (found.status == "exact" or not found.open.any())
            lines += why_open(found)
            low, high = _consistent_bounds(low, high, rest)
            if (low == high).all():
                break
    exact = exact or bool((low == high).all())
    return LabelCounts(low, high, rest, exact, () if exact else tuple(dict.fromkeys(lines)))


def _proved_counts(release: EncodedRelease, regions: KnownRegions, have: Ints) -> tuple[Ints, Ints]:
    """Return bounds on rows per region and label, given ones taken off, as far as leaf values say them outright."""
    rest = regions.times - have.sum(axis=1)
    low, high = np.zeros_like(have), np.repeat(rest[:, None], have.shape[1], axis=1)
    place = {box: i for i, box in enumerate(regions.boxes)}
    for _, block in proofs(release.statements):
        at = np.array([place.get(box, -1) for box in block.boxes], dtype=np.int64)[block.region]
        known = (at >= 0) & (block.label != ANY_LABEL)
        cell = at[known], block.label[known]
        low[cell] = np.maximum(low[cell], block.low[known] - have[cell])
        high[cell] = np.minimum(high[cell], block.high[known] - have[cell])
    return _consistent_bounds(low, high, rest)


def _consistent_bounds(low: Ints, high: Ints, rest: Ints) -> tuple[Ints, Ints]:
    """Return bounds that add up to the rows of their region, each as near as the others allow."""
    low, high = np.maximum(low, 0), np.clip(high, 0, rest[:, None])
    low = np.maximum(low, rest[:, None] - (high.sum(axis=1)[:, None] - high))
    return low, np.minimum(high, rest[:, None] - (low.sum(axis=1)[:, None] - low))


def _people(release: EncodedRelease, known: KnownRows, regions: KnownRegions) -> pd.DataFrame:
    """Return one row of every region as a profile without the label."""
    label = release.domain.label
    columns: dict[str, Any] = {}
    for j, (name, values) in enumerate(zip(known.columns, known.values, strict=True)):
        if label is None or name != label.name:
            cells = [values[c] for c in known.codes[regions.first, j].tolist()]
            columns[name] = pd.Series([MISSING if c is None else c for c in cells], dtype=object)
    return pd.DataFrame(columns)


def beside_truth(
    release: EncodedRelease, found: pd.DataFrame, truth: pd.DataFrame, named: str | None = None
) -> dict[str, int]:
    """Return how many certain labels are those of the true rows, in the same order, and what guesses would be right.

    `wrong`: certain labels that are others; `possible`: open rows whose true label is possible; `commonest`: how many
    of the rows that are not given have the label that most of all rows have. `named`: the truth's name for the label.
    """
    label = release.domain.label
    if label is None:
        raise Unsupported("the domain has no label to compare")
    frame, _ = named_like(truth, release.domain, named)
    if len(frame) != len(found):
        message = f"has {len(frame):,} rows, the known ones are {len(found):,}: the same rows in the same order"
        raise ReleaseError(message, file=truth.attrs.get("file", ""))
    if label.name not in frame.columns:
        raise ReleaseError(f"has no column '{label.name}'", file=truth.attrs.get("file", ""))
    own = frame[[label.name]]
    own.attrs.update(truth.attrs)
    column = known_rows(release.domain, own)
    true = [column.values[0][c] for c in column.codes[:, 0].tolist()]
    right = [str(a) == str(b) for a, b in zip(found["label"], true, strict=True)]
    sure, open_ = (found["how"] == "certain").to_numpy(), (found["how"] == "open").to_numpy()
    able = [str(t) in p.split(" | ") for t, p in zip(true, found["possible"], strict=True)]
    times = pd.Series([str(t) for t in true]).value_counts()
    common = np.array([str(t) == str(times.index[0]) for t in true])
    return {
        "right": int((sure & right).sum()),
        "wrong": int((sure & ~np.array(right)).sum()),
        "possible": int((open_ & able).sum()),
        "excluded": int((open_ & ~np.array(able)).sum()),
        "commonest": int((common & (sure | open_)).sum()),
    }


def is_regression(release: EncodedRelease) -> bool:
    """Return whether a boosted model of a number is among the release's models."""
    return any(m.gradients.loss == "squared_error" for m in boosted_of(release.models))


def targets(release: Released, within: tuple[float, float] | None = None, limits: Limits | None = None) -> pd.DataFrame:
    """Return bounds on the target of every row whose features are known, of a boosted model of a number.

    One line per row: row (0-based), low and high (the target, or the mean of rows that no statement distinguishes; NaN
    where it is open), value (the middle), error (half the width), shared (how many rows have these features). `within`:
    what is known of all targets. `attrs` as `labels`, with bounded (rows) and widest (the largest error among them).
    Raises `Unsupported` without known rows or such a model.

    >>> import pickle
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> import recon
    >>> rows = pd.DataFrame({"old": [0, 1, 0], "pay": [1.0, 2.5, 1.0]})
    >>> model = GradientBoostingRegressor(n_estimators=1, max_depth=1).fit(rows[["old"]], rows["pay"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.pkl")
    ...     size = path.write_bytes(pickle.dumps(model))
    ...     release = recon.load(path, known_columns=rows[["old"]])
    >>> recon.targets(release)["value"].round(3).tolist()
    [1.0, 2.5, 1.0]
    """
    release = release_of(release, limits)
    known = release.known
    if known is None:
        raise Unsupported(NO_ROWS)
    regions = KnownRegions.of(known, release.cut)
    low, high = np.full(len(regions.boxes), -np.inf), np.full(len(regions.boxes), np.inf)
    lines, failed = list[str](), True
    for number, model in enumerate(release.statements.boosted):
        if model.gradients.loss != "squared_error":
            continue
        found = answer(release.statements, Targets(number, within=within), limits)
        assert isinstance(found, TargetsAnswer)
        if found.failed or found.boxes is None:
            lines.append(f"{model.name}: {NOT_USED}: {found.failed or 'nothing follows from them'}")
            continue
        failed = False
        lines.append(f"{model.name}: {surplus_sentence(found.surplus)}")
        place = {box: i for i, box in enumerate(regions.boxes)}
        at = np.array([place.get(found.boxes[i], -1) for i in range(len(found.boxes))], dtype=np.int64)
        own = at >= 0
        low[at[own]] = np.maximum(low[at[own]], found.low[own] / found.rows[own])
        high[at[own]] = np.minimum(high[at[own]], found.high[own] / found.rows[own])
    low, high = np.nextafter(low, -np.inf)[regions.of_row], np.nextafter(high, np.inf)[regions.of_row]
    open_ = ~np.isfinite(low) | ~np.isfinite(high)
    ends = [np.where(open_, np.nan, end) for end in (low, high)]
    middle = ends[0] + (ends[1] - ends[0]) / 2
    error = np.maximum(ends[1] - middle, middle - ends[0])
    shared = regions.times[regions.of_row]
    out = pd.DataFrame(
        {"row": np.arange(len(low)), "low": ends[0], "high": ends[1], "value": middle, "error": error, "shared": shared}
    )
    bounded = int((~open_).sum())
    out.attrs.update(status="unknown" if failed else "bounds" if open_.any() else "exact", notes=lines)
    out.attrs.update(bounded=bounded, widest=float(np.nanmax(error)) if bounded else None)
    out.attrs.update(assumptions=list(release.assumptions))
    return out


def target_truth(
    release: EncodedRelease, found: pd.DataFrame, truth: pd.DataFrame, label: str | None = None
) -> dict[str, Any]:
    """Return how many true targets (column `label`, else the last) lie inside their bounds, of rows of their own."""
    name = str(truth.columns[-1]) if label is None else label
    file = truth.attrs.get("file", "")
    if len(truth) != len(found) or name not in truth.columns:
        raise ReleaseError(f"has no {len(found):,} rows with a column '{name}'", file=file)
    true = pd.to_numeric(truth[name]).to_numpy(dtype=np.float64)
    asked = (found["shared"] == 1).to_numpy() & found["low"].notna().to_numpy()
    inside = (found["low"].to_numpy() <= true) & (true <= found["high"].to_numpy())
    return {
        "inside": int((asked & inside).sum()),
        "outside": int((asked & ~inside).sum()),
        "farthest": float(np.abs(found["value"].to_numpy() - true)[asked].max(initial=0.0)),
        "standard_deviation": float(true.std()),
    }
