"""The attack without a model: the interval that correlations with the label leave, and the bin that it names.

Bins cut [-1, 1] evenly, [low, high) but for the last. Source: Cretu, Guepin and de Montjoye 2021, section on the
model-less attack; what is defined beyond it is said where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recon.attacks.correlation.intervals import pair_interval
from recon.attacks.correlation.matrices import constrained_matrices, random_matrices
from recon.queries.inputs import Floats, Ints
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

BINS = 3  # negative, low, positive
EQUAL = 1e-12  # overlaps that differ by less are equal
GRID = 100  # cells by a side of [0, 1]: they are .01 wide
CHUNK = 1 << 21  # numbers that are drawn at once: other sizes would draw others
SQUARES = 1 << 18  # of a quadrature at once: some 200 bytes each


def _edges(bins: int = BINS) -> Floats:
    """Return (bins + 1,) where [-1, 1] is cut evenly."""
    if bins < 2:
        raise ReleaseError(f"correlations are distinguished by at least 2 bins, not by {bins}")
    return np.linspace(-1.0, 1.0, bins + 1)


def bin_of(rho: Any, bins: int = BINS) -> Ints:
    """Return the number of the bin of each correlation; an edge belongs to the bin above it, 1 to the last."""
    found: Ints = np.clip(np.searchsorted(_edges(bins), np.asarray(rho), side="right") - 1, 0, bins - 1)
    return found


def overlaps(low: Any, high: Any, bins: int = BINS) -> Floats:
    """Return (..., bins) how long a part of each interval lies in each bin; of a single number: 1 in its bin."""
    one, other = np.asarray(low, dtype=np.float64)[..., None], np.asarray(high, dtype=np.float64)[..., None]
    cut = _edges(bins)
    found = np.clip(np.minimum(other, cut[1:]) - np.maximum(one, cut[:-1]), 0.0, None)
    single = np.arange(bins) == bin_of(one, bins)
    result: Floats = np.where(other - one <= EQUAL, single.astype(np.float64), found)
    return result


def in_one_bin(low: Any, high: Any, bins: int = BINS) -> np.ndarray:
    """Return whether each interval lies in one bin: the answer is then certain."""
    found: np.ndarray = (overlaps(low, high, bins) > EQUAL).sum(axis=-1) == 1
    return found


def decided(low: Any, high: Any, bins: int = BINS, rng: np.random.Generator | None = None) -> Ints:
    """Return the bin that each interval names: the one that most of it lies in.

    That is the paper's rule (the bin it lies in, else the one covered wholly, else the larger overlap), since bins are
    equally wide. Ties (several covered wholly, or equal overlaps) are drawn by `rng`; without one the lowest is named.
    """
    shared = overlaps(low, high, bins)
    best = shared >= shared.max(axis=-1, keepdims=True) - EQUAL
    if rng is None:
        lowest: Ints = best.argmax(axis=-1)
        return lowest
    drawn: Ints = np.where(best, rng.random(shared.shape), -1.0).argmax(axis=-1)
    return drawn


def exact_accuracy(bins: int = BINS, side: int = 2000, law: str = "grid") -> float:
    """Return by quadrature how often the attack is right about three variables, both constraints uniform in [-1, 1].

    The third correlation is then uniform in its interval (Algorithm 3). `law="elliptope"`: uniform over all matrices of
    three variables instead. Midpoints of side x side squares of a quarter (the bins are symmetric); error below 1e-5.
    """
    middle = (np.arange(side) + 0.5) / side
    total = weights = 0.0
    for some in np.array_split(middle, max(1, side * side // SQUARES)):
        low, high = pair_interval(some[:, None], middle[None, :])
        right = overlaps(low, high, bins).max(axis=-1) / (high - low)
        weight = high - low if law == "elliptope" else np.ones_like(right)
        total += float((right * weight).sum())
        weights += float(weight.sum())
    return total / weights


def class_masses(bins: int = BINS, side: int = 2000) -> Floats:
    """Return (bins,) how often the correlation of two columns lies in each bin, both constraints uniform in [-1, 1]."""
    middle = (np.arange(side) + 0.5) / side
    total = np.zeros(bins)
    for some in np.array_split(middle, max(1, side * side // SQUARES)):
        low, high = pair_interval(some[:, None], middle[None, :])
        total += (overlaps(low, high, bins) / (high - low)[..., None]).sum(axis=(0, 1))
    found: Floats = total / side**2
    return (found + found[::-1]) / 2


@dataclass(frozen=True)
class ProtocolCells:
    """What the cell protocol says: accuracy as the interval promises it, and as the drawn matrices have it; cells."""

    promised: float
    right: float
    cells: int


def cell_accuracy(count: int, rng: np.random.Generator, every: int = 1, bins: int = BINS,
                  limits: Limits | None = None) -> ProtocolCells:  # fmt: skip
    """Return the accuracy by the paper's protocol on cells of width .01 of the grid, three variables.

    In each cell `count` pairs of constraints are drawn, a matrix each; the least and greatest third correlation are the
    interval, which names a bin. `promised`: the share of the interval in that bin, which is what the authors' code
    reports; `right`: the share of the matrices in it. The 10,000 cells of positive constraints stand for all 40,000 by
    symmetry, of them every so many-th by row and column is taken (odd and a divisor of 100: each is the middle of what
    it stands for). Cost: O(cells count).
    Source: Cretu et al. 2021, k = 1500.
    """
    if every < 1 or GRID % every or not every % 2:
        raise ReleaseError(f"every {every}-th cell: it has to be an odd divisor of {GRID}")
    promised = right = 0.0
    kept = np.arange(every // 2, GRID, every)
    cells = np.stack(np.meshgrid(kept, kept), axis=-1).reshape(-1, 1, 2) / GRID
    for some in np.array_split(cells, max(1, len(cells) * count // CHUNK)):
        if limits is not None:
            limits.check("cells of the grid were drawn")
        rho = some + rng.random((len(some), count, 2)) / GRID
        truth = constrained_matrices(rho.reshape(-1, 2), rng)[:, 0, 1].reshape(len(some), count)
        low, high = truth.min(axis=1), truth.max(axis=1)
        named = decided(low, high, bins, rng)
        shared = overlaps(low, high, bins)
        promised += float((shared[np.arange(len(some)), named] / shared.sum(axis=1)).sum())
        right += float((bin_of(truth, bins) == named[:, None]).mean(axis=1).sum())
    return ProtocolCells(promised / len(cells), right / len(cells), len(cells))


def _chunks(total: int, most: int) -> list[int]:
    """Return sizes of at most `most` that add up to the total."""
    return [most] * (total // most) + ([total % most] if total % most else [])


@dataclass(frozen=True, eq=False)
class ByPair:
    """Accuracy of the attack and of the most frequent bin by pair of columns (pairs,), and what it was measured on."""

    accuracy: Floats
    majority: Floats
    targets: int


def accuracy_by_pair(n: int, targets: int, rng: np.random.Generator, bins: int = BINS,
                     limits: Limits | None = None) -> ByPair:  # fmt: skip
    """Return the accuracy on random matrices of n variables (Algorithm 1), by pair of columns. Cost: O(targets n^2)."""
    one, other = np.triu_indices(n - 1, 1)
    right, masses = np.zeros(len(one)), np.zeros((len(one), bins))
    for size in _chunks(targets, max(1, CHUNK // (n * n))):
        if limits is not None:
            limits.check("random matrices were drawn")
        found = random_matrices(size, n, rng)
        truth = bin_of(found[:, one, other], bins)
        label = found[:, :-1, -1]
        right += (decided(*pair_interval(label[:, one], label[:, other]), bins, rng) == truth).sum(axis=0)
        masses += (truth[..., None] == np.arange(bins)).sum(axis=0)
    return ByPair(right / targets, masses.max(axis=1) / targets, targets)
