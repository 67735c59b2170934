"""Rows as attacks see them: numbers by column and numbered classes, and the black boxes that are asked about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from solvers.foundation.errors import ReleaseError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


class Target(Protocol):
    """A black box: any scikit-learn classifier fitted on class numbers, a surrogate, a released model.

    `classes_`: the class numbers it knows, ascending; `predict_proba` (rows, columns) -> (rows, len(classes_)) shares.
    """

    @property
    def classes_(self) -> NDArray[Any]:
        """Return the class numbers that it knows."""

    def predict_proba(self, X: Any) -> Any:  # noqa: N803 - scikit-learn's name
        """Return each row's shares of the classes that it knows."""


@dataclass(frozen=True)
class RecordColumns:
    """The columns of rows: their names, which are continuous (the others hold 0 and 1), and one-hot groups of bits."""

    names: tuple[str, ...]
    continuous: tuple[bool, ...]
    groups: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, frame: pd.DataFrame, groups: Sequence[Sequence[int]] = ()) -> RecordColumns:
        """Return the columns of a frame of numbers: those with any value beside 0 and 1 are continuous."""
        values = frame.to_numpy(dtype=np.float64)
        continuous = tuple(bool(any_) for any_ in np.any(~np.isin(values, (0.0, 1.0)), axis=0).tolist())
        return cls(tuple(map(str, frame.columns)), continuous, tuple(map(tuple, groups)))

    @property
    def bits(self) -> Ints:
        """Return the numbers of the columns that hold 0 and 1."""
        return np.flatnonzero(~np.array(self.continuous, dtype=bool))

    @property
    def numbers(self) -> Ints:
        """Return the numbers of the continuous columns."""
        return np.flatnonzero(np.array(self.continuous, dtype=bool))


@dataclass(frozen=True, eq=False)
class Records:
    """Rows (n, d) as numbers and their labels (n,) as class numbers 0 .. len(classes) - 1."""

    x: Floats
    y: Ints
    columns: RecordColumns
    classes: tuple[Any, ...]

    @classmethod
    def of(cls, frame: pd.DataFrame, label: str | None = None, classes: Sequence[Any] | None = None,
           columns: RecordColumns | None = None) -> Records:  # fmt: skip
        """Return a frame's rows; its label is the last column unless named, its classes ascend unless given.

        Raises `ReleaseError` naming the column: one that holds no numbers or gaps, an unknown label, an unknown class.
        """
        label = str(frame.columns[-1]) if label is None else label
        if label not in frame.columns:
            raise ReleaseError(f"there is no column '{label}'; there are {', '.join(map(str, frame.columns))}")
        features = frame.drop(columns=label)
        for name in features.columns:
            found = pd.to_numeric(features[name], errors="coerce")
            if not np.isfinite(found.to_numpy(dtype=np.float64)).all():
                raise ReleaseError(f"column '{name}' holds something that is no number, or a gap: encode or drop it")
        known = tuple(sorted(frame[label].unique().tolist())) if classes is None else tuple(classes)
        number = {value: k for k, value in enumerate(known)}
        unknown = next((v for v in frame[label].tolist() if v not in number), None)
        if unknown is not None:
            raise ReleaseError(f"the label '{label}' is {unknown!r} in some row, which is none of {list(known)}")
        x = features.to_numpy(dtype=np.float64)
        y = np.array([number[v] for v in frame[label].tolist()], dtype=np.int64)
        return cls(x, y, RecordColumns.of(features) if columns is None else columns, known)

    def __len__(self) -> int:
        return len(self.x)

    def take(self, index: NDArray[Any]) -> Records:
        """Return the rows of an index or a mask."""
        return Records(self.x[index], self.y[index], self.columns, self.classes)

    def numbered(self) -> Ints:
        """Return (n,) which distinct row, label included, each row is: equal numbers, equal rows."""
        whole = np.column_stack([self.x, self.y])
        number: Ints = np.unique(whole, axis=0, return_inverse=True)[1].reshape(-1)
        return number


def probabilities(target: Target, x: Floats, classes: int) -> Floats:
    """Return (rows, classes) what a black box says; 0 for classes that it does not know."""
    found = np.zeros((len(x), classes))
    if len(x):
        found[:, np.asarray(target.classes_, dtype=np.int64)] = target.predict_proba(x)
    return found


def predicted(target: Target, x: Floats, classes: int) -> Ints:
    """Return (rows,) the class numbers that a black box names: the most probable, of equal ones the first."""
    found: Ints = probabilities(target, x, classes).argmax(axis=1)
    return found
