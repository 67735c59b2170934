"""What an attacker trains on: made-up rows, rows with the columns' own values, or unused rows made noisy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from recon.attacks.membership.attack import Kind, Knowledge
from recon.queries.inputs import Floats, Ints, RecordColumns, Target, predicted
from solvers.foundation.errors import ReleaseError

NOISE = 0.1  # the share of values that is drawn again (REVEAL, "noise")


def knowledge(kind: Kind, columns: RecordColumns, classes: int, size: int, rng: np.random.Generator,
              rows: Floats | None = None, *, share: float = NOISE, ranges: tuple[Floats, Floats] | None = None,
              ) -> Knowledge:  # fmt: skip
    """Return `size` rows of shadow data; a one-hot group counts as one value and stays one-hot throughout.

    "random": nobody's rows are looked at. A bit is a fair coin, a group has one bit set, all equally likely, a
    continuous column is uniform on [0, 1], or from its least to its greatest value where `ranges` says them: two arrays
    (d,), public knowledge of the domain. "statistical": each value is drawn from its column's values in `rows`, with
    replacement and independently of the other columns (a bit keeps its frequency). "noise": `size` different ones of
    `rows`, of the law of the training rows but unused; each value is drawn again with probability `share`, from its
    column's values in `rows` as above: of a continuous column too, so that no value appears that no row has. A value
    drawn again may turn out as it was. A constant column keeps its only value (`constant_columns` names them).

    Raises `ReleaseError`: fewer than two classes, rows that are missing, too few or of other columns, no column that
    varies. Cost: O(size · d). Source: Shokri et al. 2017, section V.C (statistics-based and noisy real data); Naretto,
    Monreale and Giannotti 2025 ("random", "noise").
    """
    if classes < 2:
        raise ReleaseError(f"membership attacks need two classes at least, not {classes}")
    if size < 4:
        raise ReleaseError(f"shadow data need 4 rows at least, not {size}")
    if kind == "random":
        return Knowledge(kind, _made_up(columns, size, rng, ranges), columns, classes)
    if kind not in {"statistical", "noise"}:
        raise ReleaseError(f"there is no shadow data '{kind}'; there are random, statistical, noise")
    if not 0 <= share <= 1:
        raise ReleaseError(f"the share of values drawn again lies in 0 to 1, not {share}")
    least = size if kind == "noise" else 1
    if rows is None or len(rows) < least:
        found = 0 if rows is None else len(rows)
        raise ReleaseError(f"shadow data '{kind}' of {size} rows need {least} unused rows at least; {found} are given")
    if rows.ndim != 2 or rows.shape[1] != len(columns.names):
        raise ReleaseError(f"the unused rows have shape {rows.shape}, but there are {len(columns.names)} columns")
    fixed = constant_columns(columns, rows)
    if len(fixed) == len(columns.names) and len(rows) > 1:
        raise ReleaseError(f"every column of the unused rows is constant: {', '.join(fixed)}")
    again = _marginals(columns, rows, size, rng)
    if kind == "noise":
        x: Floats = rows[rng.choice(len(rows), size, replace=False)].astype(np.float64)
        for unit in _units(columns):
            moved = np.flatnonzero(rng.random(size) < share)[:, None]
            x[moved, unit] = again[moved, unit]
        return Knowledge(kind, x, columns, classes)
    return Knowledge(kind, again, columns, classes)


def _made_up(
    columns: RecordColumns, size: int, rng: np.random.Generator, ranges: tuple[Floats, Floats] | None
) -> Floats:
    """Return (size, d) rows that only need the columns; see `knowledge`, "random"."""
    d = len(columns.names)
    low, high = (np.zeros(d), np.ones(d)) if ranges is None else ranges
    if low.shape != (d,) or high.shape != (d,) or not (low <= high).all():
        raise ReleaseError(f"ranges need the least and the greatest value of each of {d} columns")
    x: Floats = rng.random((size, d))
    bits, numbers = columns.bits, columns.numbers
    x[:, numbers] = low[numbers] + x[:, numbers] * (high - low)[numbers]
    x[:, bits] = x[:, bits] < 0.5
    for group in columns.groups:
        x[:, group] = np.eye(len(group))[rng.integers(len(group), size=size)]
    return x


def _marginals(columns: RecordColumns, rows: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Return (size, d) rows whose values (groups as wholes) are drawn from each column's values in `rows`."""
    x: Floats = np.empty((size, rows.shape[1]))
    for unit in _units(columns):
        x[:, unit] = rows[rng.integers(len(rows), size=size)][:, unit]
    return x


def _units(columns: RecordColumns) -> Iterator[list[int]]:
    """Yield the column numbers that change together: each one-hot group, then each other column by itself."""
    yield from (list(group) for group in columns.groups)
    grouped = {j for group in columns.groups for j in group}
    yield from ([j] for j in range(len(columns.names)) if j not in grouped)


def constant_columns(columns: RecordColumns, x: Floats) -> tuple[str, ...]:
    """Return the names of the columns that hold one value only: no attack learns anything from them."""
    same = (x == x[:1]).all(axis=0)
    return tuple(name for name, one in zip(columns.names, same.tolist(), strict=True) if one)


def one_class(target: Target, knowledge: Knowledge) -> str | None:
    """Return why no shadow model can be trained: the black box names one class for all shadow rows; None if more."""
    said = predicted(target, knowledge.x, knowledge.classes)
    if (said == said[0]).all():
        return (f"the black box names class {said[0]} for all {len(said)} rows of the shadow data '{knowledge.kind}': "
                "one class only teaches no shadow model anything")  # fmt: skip
    return None


def labelled(target: Target, knowledge: Knowledge) -> Ints:
    """Return (m,) the labels of the shadow rows: what the target says, which is all that the attacker can ask.

    Raises `ReleaseError` where that is one class only, naming it.
    """
    reason = one_class(target, knowledge)
    if reason is not None:
        raise ReleaseError(reason)
    return predicted(target, knowledge.x, knowledge.classes)
