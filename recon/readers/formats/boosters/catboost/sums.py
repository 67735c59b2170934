"""What the leaf values of CatBoost say of gradients: one Newton (or gradient) step per tree from exact scores.

Log loss: with p = 1 / (1 + exp(-F)), G = Σ (p - y), H = Σ p (1 - p) over all the rows of a leaf, a leaf of rate η and
regularisation l2 adds v = -η G / (H + l2); with leaf_estimation_method Gradient the number of rows stands for H. So
η G + v H = -v l2. Values are those of the averaging fold, whatever the boosting type: rows drawn for the choice of
splits (bootstrap) do not matter, all rows count once.

What rounding moves (catboost 1.2, CPU; u = 2^-53):
- leaf: delta = G / (H + l2) (online_predictor.h, CalcDeltaNewtonBody), times η (NormalizeLeafValues): 4 roundings,
  |v| (H + l2) * 4 u;
- G and H: sums over the leaf's rows one by one (approx_calcer.cpp, CalcLeafDers; blocks of rows only beyond some size):
  at most n additions on the way of any row (Higham 2002, section 4.2); 6,000 rows were seen to use half of that;
- rows: the fold keeps e = exp(F), multiplied by exp(v) after every tree (UpdateAvrgApprox), exp by a table of 2^11
  values and a cubic (FastExpInplace, fmath's expd_v, on x86): EXP below bounds its relative error; the first factor,
  exp of the bias, is by the table of `fast_exp`: half the square of what 4 times 5 leading bits leave of the bias;
- p = 1 - 1 / (1 + e), g = y - p, h = p (1 - p) (error_functions.cpp, CalcCrossEntropyDerRangeImpl): p is off by 3 u at
  most, g by u more, relative; h by 3 u + 4 u.
`tests/bench/catboost_bounds.py` compares all of it with thousands of models whose rows are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.models.models import TreeSums
from recon.readers.formats.boosters.catboost.file import Branching, CatBoostFile, Symmetric
from recon.readers.formats.boosters.shared import BoosterTree
from solvers.laws.gradients.boosted import Gradients

UNIT = 2.0**-53
# Relative error of one exp by table and cubic for |x| <= 2: 2 |x| u from the reduction, u each of table, polynomial and
# product, 2^-55 of the series: below 8 u; twice that is allowed, and it grows with |x|.
EXP = 16 * UNIT
FARTHEST = 300.0  # scores: their exponentials, and products of them, are normal doubles
NEEDED = "CatBoost trained on an x86 CPU (elsewhere its exponential is coarser)"


@dataclass(frozen=True, eq=False)
class Placed:
    """A tree as it was read: the number in the file of every leaf (or its node there), its rows, in order of nodes."""

    grown: BoosterTree
    number: tuple[int, ...]
    rows: tuple[int, ...]


def inner_splits(tree: Symmetric | Branching) -> list[tuple[int, float] | None]:
    """Return the splits of a tree's inner nodes."""
    if isinstance(tree, Symmetric):
        return list(tree.splits)
    return [s for s, (left, _) in zip(tree.splits, tree.children, strict=True) if left >= 0]


def group(found: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a group of settings, empty where it is not there."""
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def unusable(booster: CatBoostFile) -> str:
    """Return why the values of the leaves are not used, "" where they are: what the file says of its training."""
    settings, boosting = group(booster.params, "tree_learner_options"), group(booster.params, "boosting_options")
    objective = group(booster.params, "loss_function")
    if objective.get("type") != "Logloss" or objective.get("params"):
        return f"those of the objective {str(objective.get('type'))[:40]} are not derived"
    if booster.bias is None:
        return "scores are scaled, or start from several biases"
    if settings.get("leaf_estimation_iterations") != 1:
        return "a leaf's value is the sum of several steps (leaf_estimation_iterations)"
    if settings.get("leaf_estimation_method") not in {"Newton", "Gradient"}:
        return "a leaf's value is no Newton or gradient step (leaf_estimation_method)"
    if settings.get("monotone_constraints"):
        return "values are made monotone (monotone_constraints)"
    if settings.get("dev_leafwise_approxes"):
        return "values are computed leaf by leaf (dev_leafwise_approxes)"
    if boosting.get("model_shrink_rate") or boosting.get("posterior_sampling") or boosting.get("langevin"):
        return "earlier trees are shrunk or noise is added (model_shrink_rate, langevin)"
    if any(None in inner_splits(t) for t in booster.trees):
        return "some trees split on categories or texts"
    if any(len(t.value) != len(t.weight) for t in booster.trees):
        return "there are several values per leaf"
    rate, ridge = boosting.get("learning_rate"), settings.get("l2_leaf_reg")
    if not all(isinstance(v, (int, float)) and not isinstance(v, bool) and 0 <= v < 1e9 for v in (rate, ridge)):
        return "the file does not say learning_rate and l2_leaf_reg"
    if largest(booster)[-1] > FARTHEST:
        return "scores may leave what the library's exponential can hold"
    return "" if rate else "the learning rate is 0"


def gradients(booster: CatBoostFile) -> Gradients:
    """Return how gradients follow from scores, with what the scores may be off after all trees."""
    first = started(booster.bias or 0.0)
    each = sum(step_error(t.value) for t in booster.trees)
    return Gradients(
        "log_loss",
        relative=4 * UNIT,
        absolute=8 * UNIT,
        score_error=(first + each + summed(booster)) * (1 + 1e-6),
        start_error=first,
    )


def started(bias: float) -> float:
    """Return how far the first score may be off: `fast_exp` leaves at most 2^-19 of the bias's power of two."""
    if bias == 0:
        return 0.0
    left = 2.0 ** (math.frexp(bias)[1] - 1 - 19)
    return left * left + 16 * UNIT  # twice the square's half; four products of table values and one more


def step_error(values: Sequence[float]) -> float:
    """Return how far the exponential of one tree's value, and its product, may take a score."""
    return EXP * max(1.0, max(map(abs, values), default=0.0)) + UNIT


def summed(booster: CatBoostFile) -> float:
    """Return how far the sum of the values in doubles may be from the true one."""
    return UNIT * sum(largest(booster))


def largest(booster: CatBoostFile) -> list[float]:
    """Return how large scores may be before the first tree, and after each."""
    steps = (max(map(abs, t.value), default=0.0) for t in booster.trees)
    return list(accumulate(steps, initial=abs(booster.bias or 0.0)))


def tree_sums(booster: CatBoostFile, tree: Symmetric | Branching, placed: Placed, t: int) -> TreeSums:
    """Return what the values of one tree say, a figure for every leaf with rows."""
    settings, boosting = group(booster.params, "tree_learner_options"), group(booster.params, "boosting_options")
    rate, ridge = float(np.float32(boosting["learning_rate"])), float(np.float32(settings["l2_leaf_reg"]))
    step = np.array([tree.value[k] for k in placed.number])
    rows = np.array(placed.rows, dtype=np.float64)
    kept = rows > 0
    node = np.array(placed.grown.leaves, dtype=np.int64)[kept]
    v, n = step[kept], rows[kept]
    newton = settings["leaf_estimation_method"] == "Newton"
    middle, error = leaf_interval(v, n, rate, ridge, newton)
    zero = np.zeros(len(v))
    return TreeSums(
        t, 0, step, node, np.full(len(v), rate), v if newton else zero, zero,
        np.nextafter(middle - error, -np.inf), np.nextafter(middle + error, np.inf), ("value",) * len(v),
    )  # fmt: skip


def leaf_interval(
    v: NDArray[np.float64], n: NDArray[np.float64], rate: float, ridge: float, newton: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return middle and half width of η G + v H for leaves of n rows and value v (docstring of the module)."""
    most = n / 4 if newton else n  # of the denominator, without the regularisation
    middle = -v * ridge if newton else -v * (n + ridge)
    quotient = np.abs(v) * (most + ridge) * 4 * UNIT
    sums = n * UNIT * 1.01 * (rate * n + (np.abs(v) * most if newton else 0.0))
    return middle, (quotient + sums) * 1.01 + np.abs(middle) * 4 * UNIT + 1e-290
