"""What covers, weights and leaf values of XGBoost say of gradients: float32 rows, sums of doubles, figures too.

Binary logistic, alpha = 0: over the rows of a node H = Σ h, G = Σ g, weight w = -G / (H + λ), a leaf's value v = η w.
So every node says H and G + w H = -w λ, a leaf η G + v H = -v λ. What rounding moves (XGBoost 3.2, CPU; d = 2^-24,
u = 2^-53):
- rows (common/math.h, Sigmoid; objective/regression_loss.h): e = expf(-F), p = 1 / (1 + e), g = p - y, h = p (1 - p),
  in float32 step by step, which is done after them (`Gradients.stages`). expf of glibc and musl is a double rounded,
  that is off by 1.7 * 2^-34 (ARM optimized routines, math/expf.c); four times that is allowed.
- scores are sums of float32, tree by tree (UpdatePredictionCache), from -logf(1 / base_score - 1).
- sums (tree/hist): histograms of doubles, one child's built from rows, the other's by subtraction from the parent's,
  left sides added up bin by bin, right sides by subtraction. Per level at most 3 sums of n terms, of all rows' sizes S:
  (1 + 3 depth) n u S (Higham 2002, section 4.2). `exact` and `approx` sum less.
- figures: covers float32(H), weights float32(-G / (H + λ)) (tree/param.h, CalcWeight), values float32(w η).
η and λ are not in the file: of the values that people take, those that make the counts of the first tree whole.
`tests/bench/xgboost_bounds.py` compares all of it with thousands of models whose rows are known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.models.models import TreeSums
from recon.readers.formats.boosters.shared import sums
from recon.readers.formats.boosters.xgboost.counts import Cover
from recon.readers.formats.boosters.xgboost.file import StoredXGBoostTree, XGBoostFile
from recon.readers.formats.boosters.xgboost.logarithm import single_log
from solvers.laws.gradients.boosted import Gradients

Floats = NDArray[np.float64]
HALF = 2.0**-24  # half a unit in the last place of float32, relative
UNIT = 2.0**-53
TINY = 1e-37  # figures below it may be subnormal float32
MADE = "XGBoost trained on a CPU, its expf and logf those of glibc 2.27 and later or musl (Linux)"
PLAINLY = "a model trained without reg_alpha, max_delta_step and weights of rows, at usual values of both, is read"
# What people take for the learning rate and lambda.
RATES = tuple(sorted({m * 10.0**-k for k in (1, 2, 3, 4) for m in (*range(1, 10), 15, 25, 35, 75)} | {1.0}))
RIDGES = tuple(
    sorted(
        {m * 10.0**k for k in range(-4, 4) for m in range(1, 10)} | {0.0, 0.15, 0.25, 0.75, 1.5, 2.5, 12.0, 15.0, 25.0}
    )
)


@dataclass(frozen=True)
class XGBoostRates:
    """The learning rate and lambda of a model, as the doubles that XGBoost's float32 are."""

    rate: float
    ridge: float

    @property
    def note(self) -> str:
        """Return the assumption in words."""
        return (
            f"learning_rate {self.rate:.6g}, reg_lambda {self.ridge:.6g}, reg_alpha 0 (the first tree's counts say so)"
        )


def start(base: float) -> float:
    """Return the score that rows start at, of a base_score: float32 arithmetic."""
    odds = np.float32(np.float32(1) / np.float32(base)) - np.float32(1)
    return -single_log(float(odds))


def gradients() -> Gradients:
    """Return how gradients follow from scores (docstring of the module)."""
    return Gradients("log_loss", "float32", "float32", relative=2.0**-31, stages="float32")


def unusable(booster: XGBoostFile) -> str:
    """Return why later trees' figures are not used, "" where they are: what the file says of its training."""
    if booster.dump:
        return "a dump says neither learning rate nor weights of inner nodes"
    if booster.objective != "binary:logistic":
        return f"figures of later rounds of the objective {booster.objective[:40]} are not used"
    if booster.dart:
        return "its trees were dropped and scaled (dart)"
    if booster.parallel > 1:
        return "several trees were grown per round"
    return ""


def rates_of(tree: StoredXGBoostTree, cover: Cover) -> XGBoostRates | str:
    """Return the only usual learning rate and lambda that make the first tree's counts whole, else why there is none.

    Cost: candidates times nodes.
    """
    rows, weight = cover.rows.astype(np.float64), np.array(tree.weight)
    hessian = np.array(tree.cover)
    inner = np.array([split is not None for split in tree.grown.splits])
    error = rows * (cover.off + 16 * HALF) + 1e-6
    found: list[tuple[float, float]] = []
    for ridge in map(single, RIDGES):
        whole = counted(rows[inner] * cover.share, weight[inner], hessian[inner] + ridge, rows[inner], error[inner])
        if whole is None:
            continue
        for rate in map(single, RATES):
            below = counted(rows[~inner] * cover.share, weight[~inner] / rate, hessian[~inner] + ridge,
                            rows[~inner], error[~inner])  # fmt: skip
            if below is None:
                continue
            every = np.array(sums(tree.grown, dict(zip(np.flatnonzero(~inner).tolist(), below.tolist(), strict=True))))
            if bool((every[inner] == whole).all()):
                found.append((rate, ridge))
    if len(found) != 1:
        how, step = ("more than one", "") if found else ("no", f": {PLAINLY}")
        return f"{how} usual pair of learning rate and lambda makes the first tree's counts whole{step}"
    return XGBoostRates(*found[0])


def counted(base: Floats, weight: Floats, below: Floats, rows: Floats, error: Floats) -> NDArray[np.int64] | None:
    """Return base + weight * below as whole numbers in 0..rows, None where one is none."""
    count = base + weight * below
    near = np.rint(count)
    error = error + np.abs(weight) * below * 6 * HALF
    fits = (np.abs(count - near) <= error) & (near >= 0) & (near <= rows) & (error < 0.25)
    return near.astype(np.int64) if bool(fits.all()) else None


def single(value: float) -> float:
    """Return the nearest float32."""
    return float(np.float32(value))


def depths(tree: StoredXGBoostTree) -> NDArray[np.int64]:
    """Return how many splits stand above every node. Children stand behind their parents."""
    out = np.zeros(len(tree.grown.splits), dtype=np.int64)
    for i, split in enumerate(tree.grown.splits):
        if split is not None:
            out[list(tree.grown.children[i])] = out[i] + 1
    return out


def tree_sums(tree: StoredXGBoostTree, t: int, rates: XGBoostRates, rows: int) -> TreeSums:
    """Return what the figures of one tree say: cover and weight of every node, in the order of the nodes."""
    cover, weight = np.array(tree.cover), np.array(tree.weight)
    leaf = np.array([split is None for split in tree.grown.splits])
    each = (1 + 3 * depths(tree)) * (rows + 8) * UNIT * 1.01
    in_h, in_g = each * float(cover[0]) * (1 + 2 * HALF), each * float(rows)
    high = cover * (1 + 1.001 * HALF) + in_h
    low = np.maximum(cover * (1 - 1.001 * HALF) - in_h, 0.0)
    factor = np.where(leaf, rates.rate, 1.0)
    off = np.abs(weight) * np.where(leaf, 2.01, 1.01) * HALF * (high + rates.ridge)
    off = (off + factor * in_g + np.abs(weight) * in_h) * 1.0001
    said = np.flatnonzero(np.abs(weight) > TINY)  # a weight of 0 may mean that the node has too few rows for one
    n, m = len(cover), len(said)
    middle = -weight[said] * rates.ridge
    return TreeSums(
        t, 0, weight[leaf],
        np.concatenate([np.arange(n), said]),
        np.concatenate([np.zeros(n), factor[said]]),
        np.concatenate([np.ones(n), weight[said]]),
        np.zeros(n + m),
        np.nextafter(np.concatenate([low, middle - off[said]]), -np.inf),
        np.nextafter(np.concatenate([high, middle + off[said]]), np.inf),
        ("cover",) * n + tuple("value" if leaf[i] else "weight" for i in said.tolist()),
    )  # fmt: skip
