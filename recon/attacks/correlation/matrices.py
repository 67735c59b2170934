"""Correlation matrices by angles and by chance: the spherical parametrisation, and fills with a given first column.

Matrices stand in stacks (m, n, n), the label's variable Y is the last. Source: Numpacharoen and Atsawarungruangkit
2012; Cretu, Guepin and de Montjoye 2021, Algorithms 1, 3 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
