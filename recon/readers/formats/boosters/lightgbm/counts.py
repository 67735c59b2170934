"""How many rows of a class the leaves of LightGBM's first round have, proved from leaf values, weights and sizes.

Every row starts at the same score s (the log odds p of the class, or 0): its gradient is p - y and its hessian
p(1 - p) times a constant of the objective. A leaf of n rows with hessian sum H has the value s - r G / (H + lambda), so
that n p - G of its rows are of the class. r and lambda stand in a model file's parameters, not in a dump_model() JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recon.readers.formats.boosters.shared import one_unknown, whole

SINGLE = 2.5e-7  # gradients and hessians are float32: four roundings, relative
SIX_DIGITS = 5e-6  # how parameters and values of inner nodes are printed, relative
MAX_STARTS = 64  # class totals that a root value of six digits may stand for


@dataclass(frozen=True, eq=False)
class Round:
    """One tree of the first round: (leaves,) sizes, hessian sums, values; whether a leaf hangs on a categorical split.

    `start` is the value of the root (six digits), `rate` the shrinkage that the tree names. `off`: how far values and
    weights may be off because somebody rounded them in print.
    """

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    value: NDArray[np.float64]
    listed: NDArray[np.bool_]
    start: float
    rate: float
    off: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Objective:
    """How gradients arise: `factor` times p(1 - p) is the hessian; `log_share`: scores are log p, not log odds."""

    sigmoid: float = 1.0
    factor: float = 1.0
    log_share: bool = False

    def score(self, share: float) -> float:
        """Return the starting score of a class with this share of the rows."""
        return math.log(share) if self.log_share else math.log(share / (1 - share)) / self.sigmoid

    def share(self, score: float) -> float:
        """Return the share of a class from its starting score."""
        if self.log_share:
            return math.exp(min(score, 0.0))
        return 1 / (1 + math.exp(-max(-700.0, min(700.0, self.sigmoid * score))))

    def hessian(self, share: float) -> float:
        """Return the hessian of one row."""
        return self.factor * self.sigmoid**2 * share * (1 - share)


@dataclass(frozen=True)
class RateCandidates:
    """What is known of learning rate and regularisation: candidates (none: unknown)."""

    rates: tuple[float, ...]
    ridges: tuple[float, ...] = (0.0,)
    listed: tuple[float, ...] = (0.0, 10.0)
    sure: bool = False


def parameters(params: Mapping[str, str], rates: Sequence[float]) -> RateCandidates | None:
    """Return what a model file's parameters say; None where they make leaf values no function of the counts."""
    odd = ("lambda_l1", "max_delta_step", "path_smooth", "linear_tree", "use_quantized_grad", "is_unbalance")
    if any(number(params, key, 0.0) for key in odd) or params.get("monotone_constraints"):
        return None
    if number(params, "scale_pos_weight", 1.0) != 1:
        return None
    ridge, extra = number(params, "lambda_l2", 0.0), number(params, "cat_l2", 10.0)
    known = dict.fromkeys((number(params, "learning_rate", 0.1), *rates))
    return RateCandidates(tuple(known), (ridge,), (ridge, ridge + extra), True)


def number(params: Mapping[str, str], key: str, otherwise: float) -> float:
    """Return a parameter as a number."""
    try:
        found = float(params.get(key, otherwise))
    except ValueError:
        return otherwise
    return found if math.isfinite(found) else otherwise


def class_counts(tree: Round, objective: Objective, known: RateCandidates) -> tuple[int, ...] | None:
    """Return the rows of the class per leaf, None where they are not proved to be the only whole numbers."""
    try:
        with np.errstate(all="raise", under="ignore"):
            found = _explanations(tree, objective, known)
    except ArithmeticError:  # figures too large, or too many rows for float32
        return None
    return found.pop() if len(found) == 1 else None


def _explanations(tree: Round, objective: Objective, known: RateCandidates) -> set[tuple[int, ...]]:
    """Return all counts per leaf that explain the tree."""
    n = int(tree.rows.sum())
    found: set[tuple[int, ...]] = set()
    for total in _starts(tree, objective, n):
        share = total / n
        for counts in _solutions(tree, objective, known, share, objective.score(share), total):
            if sum(counts) == total:
                found.add(counts)
    if not objective.log_share and (not found or tree.rate != 1):
        # without boost_from_average everybody starts at 0, and any number of rows may be of the class
        found |= set(_solutions(tree, objective, known, 0.5, 0.0, None))
    return found


def _starts(tree: Round, objective: Objective, n: int) -> range:
    """Return the class totals whose starting score is printed as the root's value."""
    off = SIX_DIGITS * abs(tree.start) + 2e-7
    low, high = objective.share(tree.start - off) * n, objective.share(tree.start + off) * n
    first, last = max(1, math.ceil(low - 1e-6)), min(n - 1, math.floor(high + 1e-6))
    return range(first, last + 1) if last - first < MAX_STARTS else range(0)


def _solutions(
    tree: Round, objective: Objective, known: RateCandidates, share: float, start: float, total: int | None
) -> list[tuple[int, ...]]:
    """Return the counts per leaf that explain all its leaves from one starting score."""
    rows = tree.rows.astype(np.float64)
    h = objective.hessian(share)
    if bool((np.abs(tree.weight - rows * h) > rows * h * 4 * SINGLE + 1e-9 + tree.off[1]).any()):
        return []
    base, step = rows * share, (tree.value - start) / objective.sigmoid
    rates = (tree.rate,) if total is None else known.rates
    off = tree.off[0] / objective.sigmoid
    if not rates or (not known.sure and total is None):
        return _by_trial(tree, base, step, rates) if not off else []
    found = [c for rate in rates if (c := _settled(tree, base, step, rate, known, off)) is not None]
    return found if found or known.sure or off else _by_trial(tree, base, step, rates)


def _by_trial(
    tree: Round, base: NDArray[np.float64], step: NDArray[np.float64], rates: Sequence[float]
) -> list[tuple[int, ...]]:
    """Return the counts for whatever learning rate (none given) or lambda makes all of them whole."""
    error: NDArray[np.float64] = SINGLE * tree.rows.astype(np.float64) + 1e-6
    if rates and rates[0] > 0:  # lambda is unknown: base + step H / rate + step lambda / rate; 0 is tried by itself
        fixed = base + step * tree.weight / rates[0]
        error = error + SIX_DIGITS * np.abs(fixed - base)
        zero = _settled(tree, base, step, rates[0], RateCandidates(tuple(rates)))
        found = {tuple(c.tolist()) for c in one_unknown(fixed, step / rates[0], tree.rows, error)}
        return list(found | ({zero} if zero is not None else set()))
    return [tuple(c.tolist()) for c in one_unknown(base, step * tree.weight, tree.rows, error)]


def _settled(
    tree: Round,
    base: NDArray[np.float64],
    step: NDArray[np.float64],
    rate: float,
    known: RateCandidates,
    off: float = 0.0,
) -> tuple[int, ...] | None:
    """Return the counts for one learning rate, None unless each leaf has exactly one whole number; steps are `off`."""
    if rate <= 0:
        return None
    out = []
    ridges = [known.listed if listed else known.ridges for listed in tree.listed.tolist()]
    figures = (tree.rows.tolist(), tree.weight.tolist(), base.tolist(), step.tolist(), ridges)
    for n, weight, start, by, lambdas in zip(*figures, strict=True):
        options = set()
        for ridge in lambdas:
            moved = by * (weight + ridge) / rate
            rounded = (off * (weight + ridge) + (abs(by) + off) * tree.off[1]) / rate
            count = whole(start + moved, SINGLE * n + SIX_DIGITS * abs(moved) + 1e-6 + rounded)
            if count is not None and 0 <= count <= n:
                options.add(count)
        if len(options) != 1:
            return None
        out.append(options.pop())
    return tuple(out)
