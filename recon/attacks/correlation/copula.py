"""Data with given correlations and given marginals: Gaussian copulas, and the normal correlations that they need.

Source: Cretu, Guepin and de Montjoye 2021, Algorithm 2. With standard normal marginals, as in all experiments of that
paper, the correlations of the data are those of the copula. With others they are not: Pearson's correlation of Y_i =
F_i^-1(Phi(Z_i)) is nearer to 0 than that of Z (`correlation_after`); `correlation_before` adjusts for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from recon.attacks.correlation.matrices import column_label, factors_of
from recon.queries.inputs import Floats
from solvers.foundation.errors import ReleaseError

Marginal = Callable[[Floats], Floats]  # a quantile function: shares in (0, 1) to values, never falling
NODES = 256  # equally probable values of each normal variable, for expectations
TAIL = 24  # times that the outermost of them are halved: heavy tails lie there
STEPS = 60  # of halving: beyond the last bit


def _normals(factors: Floats, rows: int, rng: np.random.Generator) -> Floats:
    """Return (m, rows, n) draws of N(0, B B^T) for each factor B (m, n, n), as `filled` or `factors_of` give it."""
    drawn = rng.standard_normal((factors.shape[0], rows, factors.shape[-1]))
    found: Floats = drawn @ np.swapaxes(factors, -1, -2)
    return found


def copula(matrices: Floats, rows: int, rng: np.random.Generator,
           marginals: Sequence[Marginal | None] | None = None) -> Floats:  # fmt: skip
    """Return (m, rows, n) data of Gaussian copulas with these matrices (m, n, n) and marginals (None: standard normal).

    Raises `ReleaseError` for a matrix that no variables have, or marginals of another number. Cost: O(m rows n^2).
    """
    n = matrices.shape[-1]
    if marginals is not None and len(marginals) != n:
        raise ReleaseError(f"there are {len(marginals)} marginals for {n} variables")
    found = _normals(factors_of(matrices), rows, rng)
    for i, marginal in enumerate(marginals or ()):
        if marginal is not None:
            found[..., i] = marginal(_shares(found[..., i]))
    return found


def empirical(values: Any) -> Marginal:
    """Return the quantile function of some values: each is drawn as often as it occurs."""
    known = np.sort(np.asarray(values, dtype=np.float64))
    if not len(known) or not np.isfinite(known).all():
        raise ReleaseError("a marginal follows from one number at least, without gaps")

    def quantile(share: Floats) -> Floats:
        at = np.clip(np.ceil(share * len(known)).astype(np.int64) - 1, 0, len(known) - 1)
        return known[at]

    return quantile


def correlation_after(rho: Any, one: Marginal | None, other: Marginal | None) -> Floats:
    """Return Pearson's correlation of two columns of a copula whose normal variables have correlation `rho`; any shape.

    By some `NODES` x `NODES` values with their probabilities: to some 1e-3, jumps and heavy tails included.
    Raises `ReleaseError` for a marginal of one value.
    """
    z, weights = _nodes()
    given = np.asarray(rho, dtype=np.float64)
    both = weights[:, None] * weights[None, :]
    first = _standardised(_values_at(one, z), weights, "first")
    found = np.empty(given.shape)
    for at in np.ndindex(given.shape):
        here = float(given[at])
        mixed = here * z[:, None] + max(0.0, 1.0 - here**2) ** 0.5 * z[None, :]
        second = _standardised(_values_at(other, mixed), both, "second")
        found[at] = np.clip((both * first[:, None] * second).sum(), -1.0, 1.0)
    return found


def _nodes() -> tuple[Floats, Floats]:
    """Return values of a standard normal variable and their probabilities: middles of shares, halved to the ends."""
    tail = 0.5 ** np.arange(TAIL, 0, -1) / NODES
    cut = np.concatenate([[0.0], tail, np.arange(1, NODES) / NODES, 1.0 - tail[::-1], [1.0]])
    middle: Floats = ndtri((cut[1:] + cut[:-1]) / 2)
    return middle, np.diff(cut)


def _values_at(marginal: Marginal | None, z: Floats) -> Floats:
    """Return the column's values where the normal variable has the values z."""
    return z if marginal is None else np.asarray(marginal(_shares(z)), dtype=np.float64)


def _shares(z: Floats) -> Floats:
    """Return the probability of values below z, kept apart from 0 and 1, where quantiles are infinite."""
    return np.clip(ndtr(z), 1e-300, 1.0 - 2.0**-53)


def _standardised(values: Floats, weights: Floats, which: str) -> Floats:
    """Return values with mean 0 and deviation 1, given their probabilities."""
    centred = values - (weights * values).sum()
    spread = float((weights * centred**2).sum()) ** 0.5
    if not spread > 1e-12 * (1e-300 + float(np.abs(values).max())):
        raise ReleaseError(f"the {which} marginal is constant: it has no correlation")
    found: Floats = centred / spread
    return found


def correlation_before(wanted: float, one: Marginal | None, other: Marginal | None) -> float:
    """Return the normal variables' correlation that gives two columns of a copula this one, by halving.

    Pearson's correlation never falls as that of the normal variables grows. Raises `ReleaseError` for one beyond what
    the marginals admit. Source: the iterative adjustment of the constraints in the journal version of Cretu et al.
    """
    least, most = (float(correlation_after(end, one, other)) for end in (-1.0, 1.0))
    if not least - 1e-3 <= wanted <= most + 1e-3:
        raise ReleaseError(f"these marginals have no correlation of {wanted:g}: they admit {least:.4g} to {most:.4g}")
    low, high = -1.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if float(correlation_after(middle, one, other)) < wanted:
            low = middle
        else:
            high = middle
        if high - low < 1e-6:
            break
    return (low + high) / 2


def adjusted(rho: Any, marginals: Sequence[Marginal | None], label: Marginal | None = None,
             names: Sequence[str] | None = None) -> Floats:  # fmt: skip
    """Return (n - 1,) constraints for the copula so that the columns have correlations `rho` with the label.

    Raises `ReleaseError` naming a column whose marginal does not admit its correlation.
    """
    found = []
    for i, (wanted, marginal) in enumerate(zip(np.asarray(rho).tolist(), marginals, strict=True)):
        try:
            found.append(correlation_before(wanted, marginal, label))
        except ReleaseError as error:
            raise error.at(place=column_label(names, i)) from None
    return np.array(found)


def pearson_correlations(data: Floats) -> Floats:
    """Return (m, n, n) Pearson's correlations of the columns of data (m, rows, n)."""
    centred = data - data.mean(axis=-2, keepdims=True)
    spread = np.sqrt((centred**2).sum(axis=-2))
    found: Floats = np.swapaxes(centred, -1, -2) @ centred / (spread[..., :, None] * spread[..., None, :])
    return found
