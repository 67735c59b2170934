"""What correlations with the label alone say of two columns: exact intervals, for any variables and for bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recon.attacks.correlation.matrices import checked_constraints
from recon.queries.prediction.records import Floats, Ints
from solvers.foundation.errors import ReleaseError


def pair_interval(rho_iy: Any, rho_jy: Any) -> tuple[Floats, Floats]:
    """Return (low, high): where the correlation of two variables lies that have these with a third; arrays broadcast.

    rho_iy rho_jy -+ sqrt((1 - rho_iy^2)(1 - rho_jy^2)): both ends are attained, and further variables do not narrow it,
    as the rest of a matrix can always be completed. Raises `ReleaseError` for a number that is no correlation.
    Source: positive definiteness of the matrix of three variables; Cretu, Guepin and de Montjoye 2021, (1).
    """
    one, other = checked_constraints(rho_iy), checked_constraints(rho_jy)
    middle = one * other
    half = np.sqrt((1.0 - one**2) * (1.0 - other**2))
    return np.maximum(middle - half, -1.0), np.minimum(middle + half, 1.0)


def label_table(column: Any, label: Any) -> Ints:
    """Return (2, k) how many rows have each value 0, 1 of a column of bits, by label class (ascending)."""
    bits, classes = np.asarray(column), np.unique(np.asarray(label), return_inverse=True)[1]
    if not np.isin(bits, (0, 1)).all():
        raise ReleaseError(f"a column of bits holds {bits[~np.isin(bits, (0, 1))][0]!r}")
    k = int(classes.max()) + 1
    found: Ints = np.bincount(bits.astype(np.int64) * k + classes, minlength=2 * k).reshape(2, k)
    return found


def discrete_interval(
    table_i: Any, table_j: Any, names: Sequence[str] = ("the first column", "the second column")
) -> tuple[float, float]:
    """Return (low, high): the least and greatest correlation of two columns of bits, given each one's table (2, k).

    `table[x, y]`: how many rows have value x in label class y, as `label_table` counts. Exact: within each class the
    number of rows with both bits takes every whole number between Frechet's bounds, and the correlation grows with
    their sum. Raises `ReleaseError` naming a constant column, or tables that differ in the rows of a class.
    Source: Frechet 1951, per class of the label.
    """
    tables = [np.asarray(table, dtype=np.int64) for table in (table_i, table_j)]
    for name, table in zip(names, tables, strict=True):
        if table.ndim != 2 or table.shape[0] != 2 or (table < 0).any():
            raise ReleaseError(f"the table of {name} is not of counts by value 0, 1 and label: {table.tolist()}")
        if not table.sum(axis=1).all():
            raise ReleaseError(f"{name} is constant: it has no correlation")
    one, other = tables
    if one.shape != other.shape or (one.sum(axis=0) != other.sum(axis=0)).any():
        sizes = " and ".join(str(table.sum(axis=0).tolist()) for table in tables)
        raise ReleaseError(
            f"the tables of {names[0]} and {names[1]} differ in the rows of the label's classes: {sizes}"
        )
    rows = one.sum(axis=0)
    least = int(np.maximum(0, one[1] + other[1] - rows).sum())
    most = int(np.minimum(one[1], other[1]).sum())
    n, a, b = int(rows.sum()), int(one[1].sum()), int(other[1].sum())
    scale = float(a * (n - a)) ** 0.5 * float(b * (n - b)) ** 0.5
    low, high = ((n * both - a * b) / scale for both in (least, most))
    return max(-1.0, low), min(1.0, high)


def label_correlations(x: Any, y: Any, names: Sequence[str] | None = None) -> Floats:
    """Return (d,) the correlations of columns (n, d) with a label (n,) of numbers.

    Raises `ReleaseError` naming a constant column, or the label where it has one value.
    """
    rows, label = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = [f"column '{name}'" for name in names] if names is not None else None
    for i, constant in enumerate((rows == rows[:1]).all(axis=0).tolist()):
        if constant:
            raise ReleaseError(f"{known[i] if known else f'column {i + 1}'} is constant: it has no correlation")
    if (label == label[:1]).all():
        raise ReleaseError("the label has one value in all rows: nothing correlates with it")
    centred, other = rows - rows.mean(axis=0), label - label.mean()
    found: Floats = centred.T @ other / np.sqrt((centred**2).sum(axis=0) * (other @ other))
    return np.clip(found, -1.0, 1.0)
