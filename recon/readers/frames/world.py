"""A possible world as users hold it: rows with their values, as attributes or as the binary columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.cuts import middles
from encoders.domain.domain import Domain
from encoders.domain.values import AnyAttribute, Continuous, Grid, Ranges, Value, exact, is_number
from encoders.encode.encoder import EncodedRelease
from encoders.parts.resolutions import CutDomain
from solvers.foundation.displayed import WIDTH, Displayed, DisplayFacts, many
from solvers.statements.release import RowWorld as SolverWorld

if TYPE_CHECKING:
    from solvers.foundation.plots import Axes

HEAD = 8  # rows of a preview
ALONE = {True: "the only possible world", False: "one of several possible worlds", None: "perhaps one of several"}
PICTURED = 500  # rows of a plot


def _values_of(attribute: AnyAttribute, indices: NDArray[Any]) -> NDArray[Any]:
    """Return the values at raw indices, decoded once per distinct index; NaN where one is missing.

    Numbers with a missing one are floats, as pandas reads such columns, unless floats cannot tell them apart.
    """
    distinct, back = np.unique(indices, return_inverse=True)
    cells = [attribute.value(int(i)) for i in distinct]
    decoded: list[Value] = [np.nan if c is None else c for c in cells]
    if None in cells:
        known = [c for c in cells if c is not None]
        plain = all(is_number(c) and not isinstance(c, bool) and abs(c) <= 1 << 53 for c in known)
        return np.array(decoded, dtype=np.float64 if plain else object)[back.reshape(-1)]
    whole = all(isinstance(v, int) and abs(v) < 1 << 62 for v in decoded)
    kind: Any = np.int64 if whole else (np.float64 if isinstance(attribute, Grid) else object)
    if isinstance(attribute, Grid) and not whole and all(isinstance(v, int) for v in decoded):
        kind = object
    table: NDArray[Any] = np.empty(len(decoded), dtype=kind)
    table[:] = decoded
    return table[back.reshape(-1)]


def parts_of(cut: CutDomain, k: int, indices: NDArray[Any]) -> list[int]:
    """Return the part of attribute k that every raw index lies in."""
    ends = cut.solver.attributes[k].ends
    return [bisect_right(ends, int(i)) - 1 for i in indices]


def _numbers_of(cut: CutDomain, k: int, indices: NDArray[Any]) -> NDArray[np.float64]:
    """Return the number that stands for the part of each raw index of a continuous attribute; NaN: missing."""
    found = [np.nan if x is None else x for x in middles(cut.cuts[k])]
    return np.array([found[part] for part in parts_of(cut, k, indices)], dtype=np.float64)


def _within(numbers: NDArray[np.float64], attribute: Continuous, ranges: Ranges) -> NDArray[np.bool_]:
    """Return which numbers (NaN: missing) lie in ranges of a continuous attribute's positions."""
    last = attribute.gap
    spans = [last if np.isnan(x) else ((exact(float(x)), 0), (exact(float(x)), 1)) for x in numbers]
    return np.array([any(start <= a and b <= end for start, end in ranges) for a, b in spans], dtype=bool)


@dataclass(frozen=True, eq=False, repr=False)
class World(Displayed):
    """One possible world. `unique` is True when no other world exists, False when others do, None if not asked.

    `cut`: the parts of continuous attributes, whose raw indices only say in which part a number is. `convention`: the
    one that worlds were listed in, `weigh` what works out `weight`.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> next(recon.worlds(release)).to_frame()
       smoker  old  ill
    0       0    0    0
    1       0    0    0
    2       1    1    1
    3       1    0    0
    """

    domain: Domain
    inner: SolverWorld
    cut: CutDomain | None = None
    convention: str | None = None
    weigh: Callable[[SolverWorld], int | None] | None = field(default=None, repr=False)

    @cached_property
    def weight(self) -> int | None:
        """Return for how many worlds of its convention a listed world stands; over all listed, the number of worlds.

        `multiset`: 1; `ordered`: the orders of its rows; `assigned`: those leaf by leaf. None where the world was not
        listed, or rows told apart by position share too many values. Cost: linear in rows, for `assigned` times leaves.
        """
        return None if self.weigh is None else self.weigh(self.inner)

    @property
    def unique(self) -> bool | None:
        """Return whether this is the only possible world (None: not known)."""
        return self.inner.unique

    @property
    def note(self) -> str:
        """Return how the world was found, or how many others there are, where `unique` does not say it."""
        return self.inner.note

    @property
    def figures(self) -> dict[str, Any]:
        """Return what else is known of the world as named numbers: of noisy counts how likely it is."""
        return dict(self.inner.figures)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.inner.times.sum())

    def chosen(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the raw value indices of rows by their number; nothing is repeated for it."""
        return self.inner.values[np.searchsorted(np.cumsum(self.inner.times), rows, side="right")]

    def _facts(self) -> DisplayFacts:
        size = f"{many(self.rows, 'row')} of {many(len(self.domain.all), 'column')}"
        return DisplayFacts(
            f"{size}, {ALONE[self.unique]}", [("different rows, at most", len(self.inner.times))],
            [a.name for a in self.domain.all], self._head, self.rows, [self.note] if self.note else (),
            "to_frame(), plot()",
        )  # fmt: skip

    def _head(self) -> list[tuple[object, ...]]:
        """Return the values of the first rows, as many columns as a preview has."""
        head = self.chosen(np.arange(min(HEAD, self.rows)))
        columns = (self.column(k, head[:, k]).tolist() for k in range(min(WIDTH, len(self.domain.all))))
        return list(zip(*columns, strict=True))

    def column(self, k: int, indices: NDArray[Any]) -> NDArray[Any]:
        """Return the values of attribute k at raw indices, of a continuous one the middle of its gap."""
        attribute = self.domain.all[k]
        if self.cut and isinstance(attribute, Continuous):
            return _numbers_of(self.cut, k, indices)
        return _values_of(attribute, indices)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with the rows as a picture: from dark (the first of an attribute's values) to bright (the last).

        At most 500 rows, evenly chosen, and 40 columns. Raises `Unsupported` without matplotlib.
        """
        from solvers.foundation.plots import BARS, picture

        everybody, wide = self.rows, min(BARS, len(self.domain.all))
        rows = np.unique(np.linspace(0, max(everybody - 1, 0), min(PICTURED, everybody)).astype(np.int64))
        found = self.chosen(rows)[:, :wide].astype(np.float64)
        last = np.maximum(found.max(axis=0, initial=1.0), 1.0)
        if self.cut is not None:
            last = np.array([max(float(a.total - 1), 1.0) for a in self.cut.solver.attributes[:wide]])
        shares = found / last
        title = f"One possible world: {many(everybody, 'row')}"
        title += "" if len(rows) == everybody else f" ({len(rows):,} of them)"
        return picture(shares, [a.name for a in self.domain.all[:wide]], title, everybody, ax)

    def indices(self) -> NDArray[Any]:
        """Return (rows, attributes) raw value indices, the label last."""
        return np.repeat(self.inner.values, self.inner.times, axis=0)

    def to_frame(self, views: bool = False) -> pd.DataFrame:
        """Return the rows: one column per attribute and the label; `views`: the binary columns where declared.

        A missing value is NaN (0 or 1 in a binary column, as its test says). Of a continuous attribute the middle of
        the gap between the thresholds around the number.
        """
        return self._frame(self.indices(), views)

    def _frame(self, values: NDArray[Any], views: bool = False) -> pd.DataFrame:
        """Return raw value indices (rows, attributes) as a table; see `to_frame`."""
        columns: dict[str, NDArray[Any]] = {}
        viewed: dict[int, list[str]] = {}
        for name in self.domain.columns if views else ():
            viewed.setdefault(self.domain.view_ranges(name)[0], []).append(name)
        for k, attribute in enumerate(self.domain.all):
            numbers = _numbers_of(self.cut, k, values[:, k]) if self.cut and isinstance(attribute, Continuous) else None
            for name in viewed.get(k, ()):
                _, ranges = self.domain.view_ranges(name)
                if numbers is not None and isinstance(attribute, Continuous):
                    columns[name] = _within(numbers, attribute, ranges).astype(np.int64)
                    continue
                inside = np.zeros(len(values), dtype=bool)
                for start, end in ranges:
                    inside |= ((values[:, k] >= start) & (values[:, k] < end)).astype(bool)
                columns[name] = inside.astype(np.int64)
            if k not in viewed:
                columns[attribute.name] = _values_of(attribute, values[:, k]) if numbers is None else numbers
        return pd.DataFrame(columns)


def wrap(release: EncodedRelease, world: SolverWorld) -> World:
    """Return a solver's world with the domain to read it by."""
    return World(release.domain, world, release.cut)
