"""The experiment: forests of random trees, privacy budgets 0.1 to 30, and draws from the posterior for some.

Forests whose trees are drawn at random and whose leaf counts carry noise, and what an attack makes of them.

Errors by privacy budget, trees, depth and accuracy, and what the posterior says, beside the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.values import Test
from encoders.encode.encoder import EncodedRelease
from encoders.encode.encoder import encode as encode_models
from encoders.models.models import Forest, Noise, Tree
from encoders.models.nodes import ModelNode, Support
from recon.experiments.draft2024 import (
    NAMES,
    Bits,
    TrainingSample,
    baselines,
    best_world,
    divided,
    error,
    guess_of,
)
from recon.experiments.experiment import Declaration, Point, Row
from recon.queries.noisy.likely_worlds import sampled
from solvers.foundation.errors import ReconError
from solvers.foundation.limits import Limits
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.noise.sampling import Randomness
from solvers.statements.release import RowCount

DECLARED = Declaration("draftdp2025", NAMES=NAMES)
SHOWN = 12  # worlds of a sample that are set beside the truth and beside each other
Grown = Sequence[tuple[int, int, int] | None]  # per node: column, child where it is 1, child where it is 0; None: leaf
Counts = NDArray[np.int64]  # leaves x classes


@dataclass(frozen=True, eq=False)
class Private:
    """A forest's trees, and per tree the counts that were published (in the order of its leaves) and the true ones."""

    trees: Sequence[Grown]
    published: Sequence[Counts]
    true: Sequence[Counts]
    noise: Noise


def _run(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return the row of one forest: the likeliest data set, and draws from the posterior where they are asked for."""
    some = divided(point.dataset, frame, frame, point["rows"])
    forest = _random_noisy_forest(some, point["trees"], point["depth"], Fraction(str(point["epsilon"])), point["seed"])
    release = _released(forest, some)
    found: Row = {
        "test_accuracy": _accuracy(forest, some),
        "constant_accuracy": float((some.y_test == some.y.mode()[0]).mean()),
        "truth_log_likelihood": log_likelihood(forest),
    }
    found |= baselines(some, point["seed"])
    found |= best_world(release, some.truth, point["seed"], limits.at_most(point["cap_seconds"]),
                        "proved", "log_likelihood", "gap")  # fmt: skip
    if point["draws"]:
        found |= _posterior_distances(
            release, some.truth, point["draws"], point["seed"], limits.at_most(point["cap_seconds"])
        )
    return [found]


def _random_noisy_forest(some: TrainingSample, trees: int, depth: int, epsilon: Fraction, seed: int) -> Private:
    """Return a forest of complete random trees, every leaf's class counts with discrete Laplace noise.

    As in diffprivlib's forests, which the authors attack, every inner node asks about a column drawn uniformly, also
    one that was asked before; no row is looked at. Every tree holds every row once, so each spends epsilon/trees: the
    noise has scale trees/epsilon (the authors take the whole part of continuous Laplace noise of that scale).
    """
    dice, noise = np.random.default_rng(seed), Noise(NoiseLaw("discrete_laplace", trees / epsilon))
    law, shapes, true, published = Randomness(seed), [], [], []
    labels = some.y.to_numpy(dtype=np.int64)
    for _ in range(trees):
        shape = _branch(0, depth, some.x.shape[1], dice)
        exact = np.zeros((sum(node is None for node in shape), 2), dtype=np.int64)
        np.add.at(exact, (_leaves(shape, some.truth), labels), 1)
        drawn = [law.discrete_laplace(trees / epsilon) for _ in range(exact.size)]
        shapes.append(shape)
        true.append(exact)
        published.append(exact + np.array(drawn, dtype=np.int64).reshape(exact.shape))
    return Private(shapes, published, true, noise)


def _branch(at: int, depth: int, columns: int, dice: np.random.Generator) -> list[tuple[int, int, int] | None]:
    """Return the nodes of a complete random tree, parents before children, the first one numbered `at`."""
    if not depth:
        return [None]
    column = int(dice.integers(columns))
    then = _branch(at + 1, depth - 1, columns, dice)
    otherwise = _branch(at + 1 + len(then), depth - 1, columns, dice)
    return [(column, at + 1, at + 1 + len(then)), *then, *otherwise]


def _leaves(shape: Grown, rows: Bits) -> NDArray[np.int64]:
    """Return which leaf, in the order of leaves, every row lies in."""
    where = np.zeros(len(rows), dtype=np.int64)
    for at, node in enumerate(shape):
        if node is not None:
            column, then, otherwise = node
            here = where == at
            where[here] = np.where(rows[here, column] == 1, then, otherwise)
    return np.cumsum([node is None for node in shape])[where] - 1


def _released(forest: Private, some: TrainingSample) -> EncodedRelease:
    """Return what is published: trees, noisy counts, the law of the noise, and the number of rows."""
    names = list(some.x.columns)
    trees = []
    for shape, counts in zip(forest.trees, forest.published, strict=True):
        left = iter(counts.tolist())
        nodes = [
            ModelNode(Support(counts=tuple(next(left))))
            if node is None
            else ModelNode(Support(), ((names[node[0]], Test(values=(1,))),), node[1], node[2])
            for node in shape
        ]
        trees.append(Tree(nodes))  # type: ignore[arg-type] # nodes one by one become arrays
    n = len(some.x)
    return encode_models(some.domain, [Forest(tuple(trees), noise=forest.noise)], RowCount(n, n))


def _accuracy(forest: Private, some: TrainingSample) -> float:
    """Return the share of other rows whose class the forest predicts: the mean over trees of the leaves' shares.

    Negative counts are taken for 0, and a leaf without counts says one half.
    """
    rows = some.x_test.to_numpy(dtype=np.int64)
    score = np.zeros(len(rows))
    for shape, counts in zip(forest.trees, forest.published, strict=True):
        kept = np.maximum(counts, 0)
        total = kept.sum(axis=1)
        share = np.where(total > 0, kept[:, 1] / np.maximum(total, 1), 0.5)
        score += share[_leaves(shape, rows)]
    return float(((score > len(forest.trees) / 2) == (some.y_test.to_numpy() == 1)).mean())


def log_likelihood(forest: Private) -> float:
    """Return the log-likelihood of the training rows: of the noise that was drawn."""
    law, total = forest.noise.law, 0.0
    for published, true in zip(forest.published, forest.true, strict=True):
        for p, c in zip(published.ravel().tolist(), true.ravel().tolist(), strict=True):
            total += float(law.log_likelihood(Fraction(p), np.array([c]))[0])
    return total


def _posterior_distances(release: EncodedRelease, truth: Bits, draws: int, seed: int, limits: Limits) -> Row:
    """Return how far draws from the posterior (prior: rows uniform) are from the truth, and from each other.

    `posterior_spread`: the mean distance of two draws, which the attacker sees without the data.
    """
    nothing: dict[str, Any] = dict.fromkeys(("posterior_error", "posterior_spread", "rhat", "ess", "trusted"))
    try:
        sample = sampled(release, draws, seed, limits)
    except ReconError:
        return nothing
    worlds = [guess_of(release, world) for world in sample.worlds(min(SHOWN, sample.draws), seed)]
    return {
        "posterior_error": float(np.mean([error(truth, one) for one in worlds])),
        "posterior_spread": float(np.mean([error(a, b) for a, b in pairwise(worlds)])),
        "rhat": sample.rhat, "ess": sample.ess, "trusted": sample.trusted,
    }  # fmt: skip


EXPERIMENT = DECLARED.experiment(_run)
