"""How many rows the nodes of XGBoost's first round have, in all and of one class, proved from covers and weights.

A node of n rows with k of the class, all at share p: H = n h, G = n p - k, weight w = -G / (H + lambda), a leaf's
value eta w. So k = n p + w (H + lambda), at a leaf k = n p + v H / eta + v lambda / eta. Neither eta nor lambda is in
the file: they are found by trying every count of two leaves, and taken only if one pair makes all nodes whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recon.readers.formats.boosters.shared import MAX_TRIES, different, sums
from recon.readers.formats.boosters.xgboost.file import StoredXGBoostTree, XGBoostFile
from solvers.foundation.errors import Unsupported

SINGLE = 2.0**-23  # relative error of a float32 figure, twice over
MAX_LEFT = 5_000  # explanations by the leaves that are compared with the inner nodes
WHOLE = {"reg:squarederror", "reg:linear"}  # every row's hessian is 1 in every round
ROBUST = {"reg:absoluteerror", "reg:quantileerror"}  # the same; leaf values are quantiles of residuals
LOGISTIC = {"binary:logistic", "binary:logitraw", "reg:logistic"}  # hessian p (1 - p)


@dataclass(frozen=True, eq=False)
class Cover:
    """Rows per node, the share of the class that every row starts at, and how far that may be off."""

    rows: NDArray[np.int64]
    share: float = 0.5
    off: float = 0.0


@dataclass(frozen=True)
class ObjectiveStart:
    """What an objective says about covers: where rows start, and what one row adds to a first cover.

    `shares`: the share that rows start at, per class with trees; () where covers of no class are known. `factor`: of
    the hessian p (1 - p), or the hessian itself. `every`: covers of all rounds are rows. `classes`: labels are 0 and 1.
    `margin`: the score of the first round, None where later covers are not predicted. `balanced`: an estimated
    base_score makes all gradients sum to 0.
    """

    shares: tuple[float, ...]
    factor: float = 1.0
    every: bool = False
    classes: bool = False
    margin: float | None = None
    balanced: bool = True


def starting_shares(booster: XGBoostFile) -> ObjectiveStart:
    """Return what a booster's objective and base_score say about covers.

    Raises `Unsupported` for objectives whose covers are no sizes.
    """
    if booster.base is None:
        return ObjectiveStart((0.5,), classes=True, margin=0.0)
    if booster.objective in WHOLE | ROBUST:
        return ObjectiveStart((), every=True, balanced=booster.objective in WHOLE)
    if booster.objective in LOGISTIC and len(booster.base) == 1:
        base = booster.base[0]
        if booster.objective == "binary:logitraw":  # its base_score is a score, not a share
            return ObjectiveStart(
                (1 / (1 + math.exp(-max(-80.0, min(80.0, base)))),), classes=True, margin=base, balanced=False
            )
        if not 0 < base < 1:
            raise Unsupported(f"the XGBoost model's base_score {base:g} is no share")
        share = float(np.float32(base))
        return ObjectiveStart(
            (share,), classes=booster.objective != "reg:logistic", margin=math.log(share / (1 - share))
        )
    if booster.objective in ("multi:softprob", "multi:softmax") and 2 <= booster.classes <= 10_000:
        scores = booster.base if len(booster.base) == booster.classes else (0.0,) * booster.classes
        top = max(scores)
        powers = [math.exp(max(-700.0, s - top)) for s in scores]
        return ObjectiveStart(tuple(x / sum(powers) for x in powers), 2.0, classes=True)
    if booster.objective == "count:poisson" and len(booster.base) == 1 and 0 < booster.base[0] < 1e6:
        return ObjectiveStart((), booster.base[0] * math.exp(booster.max_delta_step))
    raise Unsupported(
        f"covers of XGBoost's objective {booster.objective[:40]!r} are sums that depend on the target from the first "
        "round on, so that they are no numbers of rows: fit it with binary:logistic, multi:softprob, count:poisson, "
        "reg:squarederror, reg:absoluteerror or reg:quantileerror, or publish fewer figures"
    )


def sizes(tree: StoredXGBoostTree, share: float | None, factor: float) -> Cover | None:
    """Return the rows of every node, None where some cover is no whole number of equal hessians."""
    cover = np.array(tree.cover)
    off = 0.0 if share is None else _share_error(share)
    h = factor if share is None else factor * share * (1 - share)
    if h <= 0 or bool((cover < 0).any()):
        return None
    rows = cover / h
    error = rows * (4 * SINGLE + (off * abs(1 - 2 * (share or 0.5)) * factor / h)) + 1e-6
    near = np.rint(rows)
    if bool((np.abs(rows - near) > error).any()) or bool((error >= 0.25).any()):
        return None
    found = near.astype(np.int64)
    leaves = {i: int(found[i]) for i in tree.grown.leaves}
    if sums(tree.grown, leaves) != found.tolist() or min(leaves.values()) < 1:
        return None
    return Cover(found, 0.5 if share is None else share, off)


def _share_error(share: float) -> float:
    """Return how far float32 arithmetic may take the share through the logarithm and back."""
    if share == 0.5:
        return 0.0
    margin = abs(math.log(share / (1 - share)))
    return share * (1 - share) * SINGLE * (2 + margin + 1 / (1 - share)) + share * SINGLE


def class_counts(tree: StoredXGBoostTree, cover: Cover) -> list[int] | None:
    """Return the rows of the class per node, None unless exactly one learning rate and lambda make them whole."""
    leaves = tree.grown.leaves
    at = np.array(leaves)
    rows, value = cover.rows[at], np.array(tree.weight)[at]
    weight = np.array(tree.cover)[at]
    base, error = rows * cover.share, rows * (cover.off + SINGLE) + 1e-6
    try:
        with np.errstate(all="raise", under="ignore"):
            tried = _pairs_tried(base, value * weight, value, rows, error)
    except ArithmeticError:  # too many rows for float32
        return None
    found = [c for c in tried[:MAX_LEFT] if _fits_inside(tree, cover, leaves, c)]
    if len(found) != 1 or len(tried) > MAX_LEFT:
        return None
    return sums(tree.grown, dict(zip(leaves, found[0].tolist(), strict=True)))


def _pairs_tried(
    base: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    rows: NDArray[np.int64],
    error: NDArray[np.float64],
) -> list[NDArray[np.int64]]:
    """Return all whole counts base + a * first + b * second in 0..rows with a > 0, b >= 0.

    The counts of the two smallest leaves of different sizes give a and b; the others must then come out whole.
    """
    order = np.argsort(rows, kind="stable")
    order = order[np.abs(second[order]) > 1e-9]
    if not len(order):
        return []
    i = int(order[0])
    others = [int(j) for j in order[1:] if rows[j] != rows[i]]
    if not others or (rows[i] + 1) * (rows[others[0]] + 1) * len(rows) > MAX_TRIES:
        return []
    j = others[0]
    det = first[i] * second[j] - first[j] * second[i]
    by_i = (first * second[j] - second * first[j]) / det  # what one more row in leaf i does to every leaf
    by_j = (second * first[i] - first * second[i]) / det
    wrong = error + np.abs(by_i) * error[i] + np.abs(by_j) * error[j]
    ki, kj = (x.ravel() for x in np.meshgrid(np.arange(rows[i] + 1), np.arange(rows[j] + 1), indexing="ij"))
    di, dj = ki - base[i], kj - base[j]
    a, b = (di * second[j] - dj * second[i]) / det, (dj * first[i] - di * first[j]) / det
    slack = SINGLE * 100 * (1 + np.abs(a) * float(rows.max()))
    kept = (a > 0) & (b >= -slack)
    size = np.abs(di[kept, None] * by_i) + np.abs(dj[kept, None] * by_j)
    counts = base + di[kept, None] * by_i + dj[kept, None] * by_j
    worst = wrong + size.max(axis=0, initial=0.0) * 8 * SINGLE
    return different(counts, rows, worst)


def _fits_inside(tree: StoredXGBoostTree, cover: Cover, leaves: list[int], counts: NDArray[np.int64]) -> bool:
    """Return whether one lambda explains the weights of all inner nodes (they are not times the learning rate)."""
    every = np.array(sums(tree.grown, dict(zip(leaves, counts.tolist(), strict=True))))
    inner = np.array([i for i, split in enumerate(tree.grown.splits) if split is not None])
    weight, hessian = np.array(tree.weight)[inner], np.array(tree.cover)[inner]
    if bool(np.isnan(weight).any()):
        return True
    # G = w (H + lambda): each node allows an interval of lambda
    moved = every[inner] - cover.rows[inner] * cover.share
    error = cover.rows[inner] * (cover.off + SINGLE) + (np.abs(weight) * hessian + np.abs(moved)) * 4 * SINGLE + 1e-6
    steep = np.abs(weight) > 1e-6 + error / np.maximum(hessian, 1e-9)
    if bool((np.abs(moved - weight * hessian)[~steep] > error[~steep] + 1e-3 * cover.rows[inner][~steep]).any()):
        return False
    middle, wide = moved[steep] / weight[steep] - hessian[steep], error[steep] / np.abs(weight[steep])
    low, high = (middle - wide).max(initial=0.0), (middle + wide).min(initial=np.inf)
    return bool(low <= high)
