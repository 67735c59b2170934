"""What correlations with the label alone say of two columns: exact intervals, for any variables and for bits.

What a released linear model says of its training columns without any shadow model: correlations in closed form.

For Gaussian data the direction of a linear or logistic regression is w ~ R^-1 rho, with R the correlations of the
columns and rho theirs with the label: R w = kappa rho for some kappa > 0. With p = sum w_k x_k (the columns as unit
vectors), every column has x_k . p = kappa rho_k and |p|^2 = kappa (w . rho), so that x_k = rho_k sqrt(s) p/|p| plus a
vector of norm sqrt(1 - s rho_k^2) across p, s = kappa / (w . rho); these vectors times w_k add up to nothing: a closed
polygon of sides L_k = |w_k| sqrt(1 - s rho_k^2). A matrix exists if and only if 1 <= s <= 1 / max rho_k^2 and no side
is longer than the others together, and x_i . x_j follows from the length d of L_i and L_j together, which is anything
that both and the remaining sides can have. So the interval of each correlation is found exactly, by one number s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from recon.attacks.correlation.matrices import checked_constraints
from recon.queries.inputs import Floats
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


GOLDEN = (5**0.5 - 1) / 2
STEPS = 80  # of golden sections: an interval shrinks to 2e-17 of itself
SPLITS = 129  # places of s that are looked at first for one where the polygon closes
CLOSED = 1e-9  # by which a side may be too long, of the largest weight
NOTHING = 1e-6  # of the largest weight: a side so short is none (below, differences of squares cancel)


def three_variables(w: Any, rho: Any) -> Floats:
    """Return (m,) the correlation of two columns from weights (m, 2) and correlations with the label (m, 2).

    (w2 rho1 - w1 rho2) / (w2 rho2 - w1 rho1), clipped to the interval that the constraints leave; its middle where the
    weights say nothing (0 / 0). Weights of standardised columns; their scale plays no part.
    """
    weights, given = np.atleast_2d(np.asarray(w, dtype=np.float64)), np.atleast_2d(checked_constraints(rho))
    low, high = pair_interval(given[:, 0], given[:, 1])
    above = weights[:, 1] * given[:, 0] - weights[:, 0] * given[:, 1]
    below = weights[:, 1] * given[:, 1] - weights[:, 0] * given[:, 0]
    nothing = np.abs(below) < 1e-12 * (1e-300 + np.abs(weights).max(axis=1))
    found = np.where(nothing, (low + high) / 2, above / np.where(nothing, 1.0, below))
    return np.clip(found, low, high)


def linear_intervals(w: Any, rho: Any) -> tuple[Floats, Floats] | None:
    """Return (low, high), (d, d) each: where correlations lie, given weights (d,) and correlations with the label (d,).

    Exact if the weights are those of the whole law (R w = kappa rho): every value in an interval is that of some
    matrix. Weights from a sample make it an estimate; where no matrix has them None is returned. The ends are, as
    functions of s, convex and concave (the matrices are a convex set), so golden sections find them. Cost: O(d^3) times
    some 200.
    """
    weights, given = np.asarray(w, dtype=np.float64), checked_constraints(rho)
    if weights.shape != given.shape or weights.ndim != 1 or len(weights) < 2:
        raise ReleaseError(f"there are weights of shape {weights.shape} for correlations of shape {given.shape}")
    if not np.isfinite(weights).all():
        raise ReleaseError(f"the weights hold something that is not a number: {weights.tolist()}")
    scale, most = float(np.abs(weights).max()), float((given**2).max())
    if scale == 0 or most == 0 or weights @ given <= 0:
        return None  # no direction, no constraint, or a model that points away from its label
    sides = PolygonSides(weights / scale, given)
    span = sides.closing(1.0, 1.0 / most)
    if span is None:
        return None
    lows = _convex_minima(lambda s: sides.ends(s)[0], *span, len(sides.i))
    highs = -_convex_minima(lambda s: -sides.ends(s)[1], *span, len(sides.i))
    low, high = np.eye(len(weights)), np.eye(len(weights))
    low[sides.i, sides.j] = low[sides.j, sides.i] = np.clip(np.minimum(lows, highs), -1.0, 1.0)
    high[sides.i, sides.j] = high[sides.j, sides.i] = np.clip(np.maximum(lows, highs), -1.0, 1.0)
    return low, high


class PolygonSides:
    """The polygon of one released model: its sides by s, and what every pair of them says."""

    def __init__(self, weights: Floats, rho: Floats) -> None:
        self.w2, self.rho2 = weights**2, rho**2
        self.i, self.j = np.triu_indices(len(weights), 1)
        self.sign = np.where(weights[self.i] * weights[self.j] > 0, 1.0, -1.0)
        self.product = rho[self.i] * rho[self.j]
        number = np.arange(len(weights))
        self.others = (number != self.i[:, None]) & (number != self.j[:, None])

    def lengths(self, s: Floats) -> Floats:
        """Return (..., d) the sides at numbers s (...)."""
        found: Floats = np.sqrt(np.maximum(0.0, self.w2 * (1.0 - s[..., None] * self.rho2)))
        return found

    def excess(self, s: Floats) -> Floats:
        """Return by how much the longest side is longer than all others together; at most 0: the polygon closes."""
        found = self.lengths(s)
        worst: Floats = 2 * found.max(axis=-1) - found.sum(axis=-1)
        return worst

    def closing(self, low: float, high: float) -> tuple[float, float] | None:
        """Return the least and greatest s for which the polygon closes; they are all those between them, or none."""
        places = np.linspace(low, high, SPLITS)
        worst = self.excess(places)
        best = int(np.argmin(worst))
        inside = float(places[best])
        if worst[best] > 0:
            around = places[max(0, best - 1)], places[min(SPLITS - 1, best + 1)]
            inside = float(_argmin(self.excess, *around, 1)[0])
            if self.excess(np.array(inside)) > CLOSED:
                return None
        return self.edge(inside, low), self.edge(inside, high)

    def edge(self, inside: float, end: float) -> float:
        """Return the last s on the way from one inside to an end for which the polygon closes, by halving."""
        if self.excess(np.array(end)) <= CLOSED:
            return end
        for _ in range(STEPS):
            middle = (inside + end) / 2
            inside, end = (middle, end) if self.excess(np.array(middle)) <= CLOSED else (inside, middle)
        return inside

    def ends(self, s: Floats) -> tuple[Floats, Floats]:
        """Return (pairs,) the least and greatest correlation of every pair, each at its own s (pairs,)."""
        sides, along = self.lengths(s), s * self.product
        number = np.arange(len(s))
        one, other = sides[number, self.i], sides[number, self.j]
        rest = np.where(self.others, sides, 0.0)
        total = rest.sum(axis=1)
        free = np.sqrt(np.maximum(0.0, (1 - s * self.rho2[self.i]) * (1 - s * self.rho2[self.j])))
        longest = np.minimum(one + other, total)
        shortest = np.maximum(np.abs(one - other), 2 * rest.max(axis=1) - total)
        apart = np.minimum(one, other) > NOTHING  # else one of both plays no part: its direction across p is free
        scale = np.where(apart, 2 * one * other, 1.0)
        turns = [
            np.where(apart, np.clip((d**2 - one**2 - other**2) / scale, -1.0, 1.0), end)
            for d, end in ((shortest, -1.0), (np.maximum(shortest, longest), 1.0))
        ]
        both = [along + self.sign * free * turn for turn in turns]
        return np.minimum(*both), np.maximum(*both)


def _argmin(function: Callable[[Floats], Floats], low: float, high: float, count: int) -> Floats:
    """Return (count,) where convex functions of one number, asked together, are least, by golden sections."""
    left, right = np.full(count, low), np.full(count, high)
    one, other = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_one, at_other = function(one), function(other)
    for _ in range(STEPS):
        lower = at_one <= at_other
        left, right = np.where(lower, left, one), np.where(lower, other, right)
        asked = np.where(lower, right - GOLDEN * (right - left), left + GOLDEN * (right - left))
        found = function(asked)
        one, other = np.where(lower, asked, other), np.where(lower, one, asked)
        at_one, at_other = np.where(lower, found, at_other), np.where(lower, at_one, found)
    found_at: Floats = np.where(at_one <= at_other, one, other)
    return found_at


def _convex_minima(function: Callable[[Floats], Floats], low: float, high: float, count: int) -> Floats:
    """Return (count,) the least values of convex functions on an interval, its ends included."""
    inside = function(_argmin(function, low, high, count))
    found: Floats = np.minimum(np.minimum(function(np.full(count, low)), function(np.full(count, high))), inside)
    return found
