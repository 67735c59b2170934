"""Bounds on a mean where rows are distinguished by their position: from the place that is proved for each of them.

A row whose place lies inside the group is in it in every world, one whose place meets the group may be. The greatest
mean takes of every sure row its greatest number, and of the others the greatest as long as they raise it.

Bounds on a statistic over all worlds, as users read them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from encoders.domain.domain import Condition
from encoders.domain.values import Continuous, Ranges, complement, intersection
from encoders.encode.encoder import EncodedRelease
from encoders.parts.statistics import number, numeric
from recon.queries.bounds.disclosure import numbers_within
from recon.readers.frames.world import World
from solvers.engines.chain import ask
from solvers.foundation.array_types import Bits
from solvers.foundation.displayed import Displayed, DisplayFacts, text
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import Answer, CountAnswer, LocatedAnswer
from solvers.statements.questions.query import Count, Locate

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.plots import Axes


@dataclass(frozen=True, repr=False)
class BoundAnswer(Displayed, Answer):
    """Least, greatest and mean value of a statistic over the worlds of a convention.

    `min` and `max` are attained where `status` is exact, else outer bounds; None where no world has the statistic (a
    mean of nobody). `expectation` is None where it is not exact. `distribution()` and `attained(greatest)` are
    computed when asked. `informative` tells whether the answer says more than the domain and the number of rows by
    themselves; None where that was not found out.
    """

    min: float | None = 0
    max: float | None = 0
    expectation: float | None = None
    convention: str = ""
    assumptions: tuple[str, ...] = field(default=())
    informative: bool | None = None
    _more: Later | None = None

    def _facts(self) -> DisplayFacts:
        ends = "no world has it" if self.min is None else text(self.min)
        ends += "" if self.max is None or self.min == self.max else f" to {text(self.max)}"
        mean = "" if self.expectation is None else f", {text(self.expectation)} expected"
        names = ("status", "min", "max", "expectation", "convention", "informative", "guarantee", "engine", "seconds")
        pairs = [(name, getattr(self, name)) for name in names]
        notes = self.conflict or self.assumptions
        return DisplayFacts(
            f"{ends}{mean}, {self.status} ({self.convention})", pairs, notes=notes, more="to_frame(), plot()"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the answer as one line: min, max, expectation, status, convention, informative, engine, seconds."""
        import pandas as pd

        names = ("min", "max", "expectation", "status", "convention", "informative", "engine", "seconds")
        return pd.DataFrame([{name: getattr(self, name) for name in names}])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with the interval from the least to the greatest value, the mean over worlds in it.

        Raises `Unsupported` without matplotlib, and where there is no finite interval.
        """
        from solvers.foundation.plots import interval

        if self.min is None or self.max is None or not (math.isfinite(self.min) and math.isfinite(self.max)):
            raise Unsupported("there is nothing to draw: no finite bounds are known")
        title = f"Over all worlds ({self.status}; diamond: mean)" if self.expectation is not None else "Over all worlds"
        return interval(self.min, self.max, title, "value", self.expectation, ax)

    def attained(self, greatest: bool) -> World:
        """Return a world with the least (greatest) value. Raises `Unsupported` where none is known."""
        if self._more is None:
            raise Unsupported("no world is known for this bound")
        return self._more.attained(greatest)

    def distribution(self) -> dict[float, float]:
        """Return value -> share of worlds, ascending. Raises `Unsupported` where worlds cannot be counted."""
        if self._more is None:
            raise Unsupported("the distribution of this figure is not computed")
        return self._more.distribution()


@dataclass(frozen=True, eq=False)
class Later:
    """What is computed only when asked."""

    attained: Callable[[bool], World]
    distribution: Callable[[], dict[float, float]]


Ends = tuple[Fraction, Fraction]  # the least and the greatest number of a part


def places(release: EncodedRelease, limits: Limits | None) -> LocatedAnswer | None:
    """Return what is proved about the row at every position, None where rows have none or nothing was found."""
    if not release.statements.bags:
        return None
    try:
        return ask(release.statements, Locate(), LocatedAnswer, limits)
    except (Inconclusive, Unsupported):
        return None


def same_mean(
    release: EncodedRelease, where: Condition, name: str, located: LocatedAnswer, limits: Limits | None
) -> BoundAnswer | None:
    """Return the mean of a group where what is proved of the rows leaves one only; None elsewhere.

    Exact where the worlds can be counted; else an answer of status "bounds" whose ends are equal, because that there is
    a world is not proved. So it is where some rows are impossible: places say nothing of them, and a group that may
    have a row attribute by attribute may have none.
    """
    low, high = _mean_of_places(release, where, name, located)
    if low is None or high is None or low != high:
        return None
    found = BoundAnswer("bounds", engine=located.engine, seconds=located.seconds, min=float(low), max=float(high))
    if located.status != "exact" or release.statements.impossible:
        return found
    counted = ask(release.statements, Count("ordered"), CountAnswer, limits)
    return replace(found, status="exact", expectation=found.min) if counted.status == "exact" else found


def nearer(
    release: EncodedRelease, where: Condition, name: str, found: BoundAnswer, located: LocatedAnswer
) -> BoundAnswer:
    """Return the bounds on a mean, made tighter by what is proved about the row at every position."""
    if found.min is None or found.max is None:
        return found
    low, high = _mean_of_places(release, where, name, located)
    if low is None or high is None:  # in no world has the group a row
        return replace(found, min=None, max=None)
    return replace(found, min=max(found.min, float(low)), max=min(found.max, float(high)))


def _mean_of_places(
    release: EncodedRelease, where: Condition, name: str, located: LocatedAnswer
) -> tuple[Fraction | None, Fraction | None]:
    """Return outer bounds on the mean of the rows in a group, over the worlds where it has one; None: in no world."""
    n = len(located.start)
    possible, sure = np.ones(n, dtype=bool), np.ones(n, dtype=bool)
    for k, ranges in release.domain.resolve(where).items():
        left, inside, meets = parts_left(release, located, k), *_overlap(release, k, ranges)
        possible &= (left & meets).any(axis=1)
        sure &= ~(left & ~inside).any(axis=1)
    k, ends = numeric(release.domain, name), _numbers_of_parts(release, where, name)
    left = parts_left(release, located, k) & np.array([pair is not None for pair in ends])
    possible &= left.any(axis=1)
    rows: list[tuple[Ends, bool]] = []
    for i in np.flatnonzero(possible).tolist():
        held = [pair for pair in (ends[p] for p in np.flatnonzero(left[i]).tolist()) if pair is not None]
        rows.append(((min(a for a, _ in held), max(b for _, b in held)), bool(sure[i])))
    greatest = _extreme_mean([(pair[1], certain) for pair, certain in rows])
    least = _extreme_mean([(-pair[0], certain) for pair, certain in rows])
    return None if least is None else -least, greatest


def _extreme_mean(rows: list[tuple[Fraction, bool]]) -> Fraction | None:
    """Return the greatest mean of numbers of which the sure ones are taken and others may be; None of no numbers."""
    total = sum((v for v, certain in rows if certain), Fraction(0))
    taken = sum(certain for _, certain in rows)
    for value in sorted((v for v, certain in rows if not certain), reverse=True):
        if taken and value * taken <= total:
            break
        total, taken = total + value, taken + 1
    return total / taken if taken else None


def parts_left(release: EncodedRelease, located: LocatedAnswer, k: int) -> Bits:
    """Return (rows, parts): the parts of attribute k that are left for every row."""
    at = np.arange(len(release.cut.cuts[k].sizes))
    left: Bits = (at >= located.start[:, k, None]) & (at < located.end[:, k, None])
    return left & located.sets[k] if k in located.sets else left


def _overlap(release: EncodedRelease, k: int, ranges: Ranges) -> tuple[Bits, Bits]:
    """Return which parts of attribute k lie inside ranges of positions, and which meet them."""
    cuts = release.cut.cuts[k]
    spans = [(cuts.bounds(p),) for p in range(len(cuts.sizes))]
    shared = [intersection(ranges, span) for span in spans]
    inside = [one == span for one, span in zip(shared, spans, strict=True)]
    return np.array(inside, dtype=bool), np.array([bool(one) for one in shared], dtype=bool)


def _numbers_of_parts(release: EncodedRelease, where: Condition, name: str) -> list[Ends | None]:
    """Return per part the least and greatest number of a numeric name among rows in a group; None: it has none."""
    domain = release.domain
    k = numeric(domain, name)
    cuts, attribute = release.cut.cuts[k], domain.all[k]
    out: list[Ends | None] = []
    if isinstance(attribute, Continuous):
        raise TypeError("a continuous attribute has no numbers")
    if name in domain.columns:
        ones = domain.view_ranges(name)[1]
        sides = complement(ones, attribute.span), ones
        group = domain.resolve(where).get(k, (attribute.span,))
        for p in range(len(cuts.sizes)):
            span = intersection(group, (cuts.bounds(p),))
            bits = [Fraction(bit) for bit, side in enumerate(sides) if intersection(span, side)]
            out.append((bits[0], bits[-1]) if bits else None)
        return out
    held = numbers_within(domain, where, name).ranges
    for p in range(len(cuts.sizes)):
        span = intersection(held, (cuts.bounds(p),))
        out.append((number(attribute, span[0][0]), number(attribute, span[-1][1] - 1)) if span else None)
    return out
