"""Correlation matrices by angles and by chance, and data with given correlations and marginals: Gaussian copulas.

Matrices stand in stacks (m, n, n), the label's variable Y is the last. Source: Numpacharoen and Atsawarungruangkit
2012; Cretu, Guepin and de Montjoye 2021, Algorithms 1, 3 and 4.

Copulas: Algorithm 2 of Cretu, Guepin and de Montjoye. With standard normal marginals, as in all experiments of that
paper, the correlations of the data are those of the copula. With others they are not: Pearson's correlation of Y_i =
F_i^-1(Phi(Z_i)) is nearer to 0 than that of Z (`correlation_after`); `correlation_before` adjusts for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from recon.queries.inputs import Floats
from solvers.foundation.errors import ReleaseError

STABLE = 0.01  # a correlation whose range is narrower (half of it) is put in the middle, as the authors' code does
TOLERANCE = 1e-8  # of eigenvalues, of symmetry and of the diagonal


def _correlations_of(factor: Floats) -> Floats:
    """Return (m, n, n) the correlation matrices C = B B^T, with a diagonal of exact ones."""
    found = factor @ np.swapaxes(factor, -1, -2)
    at = np.arange(factor.shape[-1])
    found[..., at, at] = 1.0
    return found


def factors_of(matrices: Floats) -> Floats:
    """Return (m, n, n) B of correlation matrices, singular ones included: rank-deficient columns are 0.

    Raises `ReleaseError` for a matrix that is none. Cost: O(m n^3). Source: Cholesky's decomposition.
    """
    stack = np.asarray(matrices, dtype=np.float64)
    n = stack.shape[-1]
    factor = np.zeros_like(stack)
    for i in range(n):
        for j in range(i + 1):
            rest = stack[..., i, j] - np.sum(factor[..., i, :j] * factor[..., j, :j], axis=-1)
            if i == j:
                if (rest < -TOLERANCE).any():
                    raise ReleaseError("a matrix of correlations has a negative eigenvalue: no variables have it")
                factor[..., i, i] = np.sqrt(np.maximum(rest, 0.0))
            else:
                pivot = factor[..., j, j]
                factor[..., i, j] = np.where(pivot > np.sqrt(TOLERANCE), rest / np.where(pivot > 0, pivot, 1.0), 0.0)
    return factor


def _filled(first: Floats, rng: np.random.Generator) -> Floats:
    """Return (m, n, n) random factors B whose matrices have the given first column (m, n - 1) of correlations.

    Each further correlation is uniform in the range that those before leave it. Written by the norm that is left of a
    row: c_ij = base + b_jj * rest * U(-1, 1), hence b_ij = rest * U(-1, 1), and 0 where b_jj * rest < `STABLE`.
    Cost: O(m n^2). Source: Cretu et al. 2021, Algorithm 4.
    """
    m, n = first.shape[0], first.shape[1] + 1
    factor = np.zeros((m, n, n))
    factor[:, 0, 0] = 1.0
    factor[:, 1:, 0] = first
    rest = np.sqrt(np.maximum(1.0 - first**2, 0.0))  # what is left of the norms of rows 1 .. n - 1
    for j in range(1, n):
        factor[:, j, j] = rest[:, j - 1]
        below = rest[:, j:]
        drawn = rng.uniform(-1.0, 1.0, below.shape)
        drawn[factor[:, j, j, None] * below < STABLE] = 0.0
        factor[:, j + 1 :, j] = below * drawn
        rest[:, j:] = below * np.sqrt(1.0 - drawn**2)
    return factor


def random_matrices(count: int, n: int, rng: np.random.Generator) -> Floats:
    """Return (count, n, n) random correlation matrices, no correlation given; n from 2 on.

    The law is the paper's, not uniform on the set of all correlation matrices. Source: Cretu et al. 2021, Algorithm 1.
    """
    if n < 2:
        raise ReleaseError(f"a matrix of correlations has 2 variables at least, not {n}")
    found = _correlations_of(_filled(rng.uniform(-1.0, 1.0, (count, n - 1)), rng))
    order = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
    return _permuted(found, order)


def constrained_matrices(rho: Floats, rng: np.random.Generator, names: Sequence[str] | None = None) -> Floats:
    """Return (m, n, n) random correlation matrices, one for each row of correlations with the label (m, n - 1).

    Y is the last variable, the others stand in the order of `rho`. Raises `ReleaseError` naming a correlation that is
    none. Cost: O(m n^2). Source: Cretu et al. 2021, Algorithm 3.
    """
    given = np.atleast_2d(checked_constraints(rho, names))
    m, others = given.shape
    order = rng.permuted(np.tile(np.arange(others), (m, 1)), axis=1)
    found = _correlations_of(_filled(np.take_along_axis(given, order, axis=1), rng))
    back = np.argsort(order, axis=1) + 1  # where each variable stands; Y stands first
    return _permuted(found, np.concatenate([back, np.zeros((m, 1), dtype=back.dtype)], axis=1))


def _permuted(matrices: Floats, order: np.ndarray) -> Floats:
    """Return matrices (m, n, n) with rows and columns in the order (m, n), each its own."""
    rows = np.take_along_axis(matrices, order[:, :, None], axis=1)
    return np.take_along_axis(rows, order[:, None, :], axis=2)


def checked_constraints(rho: Floats, names: Sequence[str] | None = None) -> Floats:
    """Return correlations with the label as numbers; `ReleaseError` naming the first that is not in [-1, 1]."""
    given = np.asarray(rho, dtype=np.float64)
    wrong = np.argwhere(~(np.abs(given) <= 1.0))
    if len(wrong):
        at = tuple(wrong[0])
        raise ReleaseError(
            f"the correlation of {column_label(names, int(at[-1]))} with the label is {given[at]:g}: no matrix of "
            "correlations has it, they lie in [-1, 1]"
        )
    return given


def column_label(names: Sequence[str] | None, number: int) -> str:
    """Return what a variable is called: by its name, or by its number from 1 on."""
    return f"variable {number + 1}" if names is None else f"'{names[number]}'"


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
