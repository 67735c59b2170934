"""Deaths and numbers at risk behind a survival curve: pairs of whole numbers that its digits leave at every time.

A Kaplan-Meier estimate is a product, S(t_i) = S(t_{i-1}) (1 - d_i / n_i), and its numbers at risk only fall:
n_{i+1} <= n_i - d_i. Every printed number is an interval; pairs (d_i, n_i) that no chain of pairs has are left out,
forwards and backwards until nothing changes, with intervals of the exact product, which are tightest where pairs are
known. What is left out is proved; where one pair is left, it is the pair. Sums of d / n (Nelson-Aalen's
cumulative hazard) and of d / (n (n - d)) (Greenwood's variance) are chains of the same form.

Sources: Kaplan, Meier, "Nonparametric estimation from incomplete observations", JASA 53, 1958; Greenwood, "The natural
duration of cancer", 1926; Aalen, "Nonparametric inference for a family of counting processes", Annals of Statistics 6,
1978.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recon.io.files.opening import current
from solvers.foundation.errors import ReleaseError, TooLarge

Floats = NDArray[np.float64]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]  # deaths, numbers at risk
MAX_PAIRS = 20_000_000  # that are looked at, at one time and in all
MAX_ROUNDS = 60
OUTWARD = 1e-12  # relative: what double precision may have moved, here and where the curve was computed


@dataclass(frozen=True)
class CurveStep:
    """A listed time: between which numbers its figures lie (None: not published), and counts that stand there.

    `survival` is after the deaths of this time, `hazard` the sum of d / n up to it, `variance` that of d / (n (n - d)).
    `left`: how many left at least without an event; `place` for messages.
    """

    place: str
    survival: tuple[float, float] | None = None
    hazard: tuple[float, float] | None = None
    variance: tuple[float, float] | None = None
    deaths: int | None = None
    at_risk: int | None = None
    left: int = 0

    @property
    def figure(self) -> tuple[float, float] | None:
        """Return the curve at this time: the survival, else the hazard."""
        return self.hazard if self.survival is None else self.survival

    def with_error(self, error: tuple[float, float] | None, share: bool) -> CurveStep:
        """Return the step with the variance that a standard error is the root of: of the curve itself, or by its share.

        `share`: the error is of the curve, else of its logarithm.
        """
        if error is None or self.survival is None or (share and self.survival[0] <= 0):
            return self
        low, high = (error[0] / self.survival[1], error[1] / self.survival[0]) if share else error
        return replace(self, variance=(low**2 * (1 - OUTWARD), high**2 * (1 + OUTWARD)))


def possible_pairs(steps: Sequence[CurveStep], rows: int, whole: bool) -> list[Pairs]:
    """Return the pairs of deaths and people at risk that every time may have, of at most so many rows.

    `whole`: all rows are at risk at the first time.
    Raises `ReleaseError` naming the time at which no pair is left. Cost: the rows per time that is open, per round.
    """
    if rows * sum(one.at_risk is None for one in steps) > MAX_PAIRS:
        raise TooLarge(f"{len(steps):,} times of {rows:,} people are too many for a curve without numbers at risk")
    current().bytes(32 * rows * len(steps))
    found = [_pairs_of(one, rows) for one in steps]
    bounds = [_Chain(steps, name) for name in ("survival", "hazard", "variance")]
    for _ in range(MAX_ROUNDS):
        before = sum(len(d) for d, _ in found)
        for chain in bounds:
            chain.tighten(found)
        _order(found, steps, rows, whole)
        if sum(len(d) for d, _ in found) == before:
            break
    return found


def _pairs_of(step: CurveStep, rows: int) -> Pairs:
    """Return every pair of one time that its own counts allow, before its figures are looked at."""
    at_risk = np.arange(1, rows + 1) if step.at_risk is None else np.array([step.at_risk])
    if step.deaths is not None:
        deaths = np.full(len(at_risk), step.deaths)
        return deaths[at_risk >= deaths], at_risk[at_risk >= deaths]
    return np.full(len(at_risk), -1), at_risk  # deaths are open: listed once their share is known


class _Chain:
    """The intervals of a product or a sum that every time adds a factor or a term to."""

    def __init__(self, steps: Sequence[CurveStep], name: str) -> None:
        self.steps, self.name = steps, name
        figures = [getattr(one, name) for one in steps]
        self.used = any(figure is not None for figure in figures)
        top = 1.0 if name == "survival" else np.inf
        ends = [(0.0, top) if figure is None else figure for figure in figures]
        start = (1.0, 1.0) if name == "survival" else (0.0, 0.0)
        self.ends = np.array([start, *ends], dtype=np.float64)  # before the first time, and after each

    def factors(self, pairs: Pairs) -> Floats:
        """Return what each pair multiplies the product by, or adds to the sum."""
        deaths, at_risk = (one.astype(np.float64) for one in pairs)
        with np.errstate(divide="ignore"):
            if self.name == "survival":
                return 1 - deaths / at_risk
            return deaths / at_risk if self.name == "hazard" else deaths / (at_risk * (at_risk - deaths))

    def tighten(self, found: list[Pairs]) -> None:
        """Leave out pairs that no product or sum within the intervals has, forwards and backwards."""
        if not self.used:
            return
        for i in (*range(len(found)), *reversed(range(len(found)))):
            low, high = self._factor(i)
            if len(found[i][0]) and found[i][0][0] < 0:
                found[i] = _listed_pairs(found[i][1], low, high, self.name)
            factor = self.factors(found[i])
            keep = (factor >= low) & (factor <= high)
            found[i] = found[i][0][keep], found[i][1][keep]
            if not keep.any():
                raise ReleaseError(
                    "no number of deaths among people at risk gives the curve here: its rows are others than said, it "
                    "is weighted, is no Kaplan-Meier estimate, or does not list each time of an event",
                    place=self.steps[i].place,
                )
            self._narrow(i, float(factor[keep].min()), float(factor[keep].max()))

    def _factor(self, i: int) -> tuple[float, float]:
        """Return between what the factor or term of time i lies."""
        (low, high), (least, most) = self.ends[i], self.ends[i + 1]
        if self.name == "survival":
            return (
                (least / high if high > 0 else 0.0) - OUTWARD,
                (most / low if low > 0 else np.inf) + OUTWARD,
            )
        below = least - high - OUTWARD * max(1.0, high) if np.isfinite(high) else 0.0
        return below, most - low + OUTWARD * max(1.0, low)

    def _narrow(self, i: int, least: float, most: float) -> None:
        """Tighten the intervals before and after time i, whose factor or term lies between two numbers."""
        (low, high), (after, above) = self.ends[i], self.ends[i + 1]
        if self.name == "survival":
            ahead = low * least * (1 - OUTWARD), high * most * (1 + OUTWARD)
            back = (
                after / most * (1 - OUTWARD) if most > 0 else 0.0,
                above / least * (1 + OUTWARD) if least > 0 else 1.0,
            )
        else:
            ahead = (low + least) * (1 - OUTWARD), (high + most) * (1 + OUTWARD)
            back = max(after - most, 0.0) * (1 - OUTWARD) if np.isfinite(most) else 0.0, high
            if np.isfinite(above):
                back = back[0], (above - least) * (1 + OUTWARD)
        self.ends[i + 1] = max(after, ahead[0]), min(above, ahead[1])
        self.ends[i] = max(low, back[0]), min(high, back[1])


def _listed_pairs(at_risk: NDArray[np.int64], low: float, high: float, name: str) -> Pairs:
    """Return the pairs of so many at risk whose share of deaths fits a factor (of a product) or a term (of a sum)."""
    least, most = (1 - high, 1 - low) if name == "survival" else (low, high)
    first = np.maximum(np.ceil(at_risk * least - 1e-9), 0).astype(np.int64)
    last = np.floor(np.minimum(at_risk * most + 1e-9, at_risk)).astype(np.int64)
    number = np.maximum(last - first + 1, 0)
    if number.sum() > MAX_PAIRS:
        raise TooLarge(
            f"more than {MAX_PAIRS:,} pairs of deaths and people at risk fit one time of the curve: give it with more "
            "digits, or with numbers at risk (n.risk)"
        )
    current().bytes(int(number.sum()) * 16)
    within = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
    return np.repeat(first, number) + within, np.repeat(at_risk, number)


def _order(found: list[Pairs], steps: Sequence[CurveStep], rows: int, whole: bool) -> None:
    """Leave out pairs that no chain of falling numbers at risk has; `whole` as in `possible_pairs`."""
    most, least = rows, 0
    for i, step in enumerate(steps):
        at_risk = found[i][1]
        found[i] = _kept_pairs(found[i], at_risk == rows if whole and not i else at_risk <= most, step)
        most = int(_after(found[i], step).max())
    for i in reversed(range(len(steps))):
        found[i] = _kept_pairs(found[i], _after(found[i], steps[i]) >= least, steps[i])
        least = int(found[i][1].min())


def _after(pairs: Pairs, step: CurveStep) -> NDArray[np.int64]:
    """Return how many are at risk after a time at most."""
    return pairs[1] - np.maximum(pairs[0], 0) - step.left


def _kept_pairs(pairs: Pairs, keep: NDArray[np.bool_], step: CurveStep) -> Pairs:
    """Return the pairs that are kept; `ReleaseError` where there is none."""
    if not keep.any():
        raise ReleaseError("the people at risk are more than those before it: people entered late, or are others than "
                           "said (--rows)", place=step.place)  # fmt: skip
    return pairs[0][keep], pairs[1][keep]
