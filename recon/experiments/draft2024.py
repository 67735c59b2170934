"""Figures by trees, depth and rows, the number of worlds, and what they say beside the paper.

The experiment: three data sets, no bootstrap, bags that the file gives away, bags unknown; trees, depth and rows.

What an attack asks of a release: one world, how many there are, who certainly is in the data.

One forest: fitted, released with or without its bags, and what an attack makes of it.

Training rows as the authors draw them, the domain they tell the attack, and how far a guess is from the truth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from recon.experiments.experiment import Declaration, Point, Row
from recon.experiments.fits import TrainTestSplit, fitted
from recon.queries.answers.counting import count
from recon.queries.questions.questions import certify, reconstruct
from recon.readers.frames.world import World
from recon.readers.loading.loading import encode
from recon.release.auditing.matching import compare
from solvers.foundation.errors import ReconError
from solvers.foundation.limits import Limits

Bits = NDArray[np.int64]  # rows x binary columns, without the label
# Columns of which exactly one is 1, by their places: what the authors' code tells the attack (its `datasets_infos`).
GROUPS = {
    "compas14": (range(1, 6), range(9, 13)),
    "adult19": (range(3, 9),),
    "credit21": (range(4), range(5, 8)),
}
NAMES = {"compas14": "COMPAS", "adult19": "Adult", "credit21": "Default Credit"}
DRAWN = 1_500  # rows that the authors draw: the first are the training rows, the others test rows
REPEATS = 10  # guesses without the release


@dataclass(frozen=True, eq=False)
class TrainingSample(TrainTestSplit):
    """Training and other rows of the same file, and the domain that an attack knows."""

    domain: Domain
    blocks: tuple[range, ...]  # columns that are one attribute

    @property
    def truth(self) -> Bits:
        """Return the training rows' features."""
        return self.x.to_numpy(dtype=np.int64)


def training_sample(dataset: str, frame: pd.DataFrame, rows: int, seed: int) -> TrainingSample:
    """Return the rows of a seed: the first of `frame.sample(1500, random_state=seed)`, as the authors' code does.

    More are drawn where the training rows would leave fewer others than there are training rows.
    """
    some = frame.sample(n=min(len(frame), max(DRAWN, 2 * rows)), random_state=seed, ignore_index=True)
    return divided(dataset, frame, some, rows)


def divided(dataset: str, frame: pd.DataFrame, some: pd.DataFrame, rows: int) -> TrainingSample:
    """Return the first rows of `some` for training and the others beside them; the domain is that of `frame`."""
    *features, label = frame.columns
    one_hot = [[features[j] for j in group] for group in GROUPS[dataset]]
    domain = Domain.from_frame(frame, label=label, one_hot=one_hot, strict=True)
    train, other, blocks = some.iloc[:rows], some.iloc[rows:], _blocks(dataset, len(features))
    return TrainingSample(train[features], train[label], other[features], other[label], some, domain, blocks)


def _blocks(dataset: str, columns: int) -> tuple[range, ...]:
    """Return the columns in blocks: those of one attribute together."""
    grouped = {j for group in GROUPS[dataset] for j in group}
    return (*GROUPS[dataset], *(range(j, j + 1) for j in range(columns) if j not in grouped))


def distances(truth: Bits, guess: Bits) -> dict[str, float]:
    """Return the mean share of columns that differ after the best matching of rows, and the share that match wholly.

    The first is the authors' `average_error`: labels take no part in it, rows of different classes may be matched.
    """
    found = compare(truth, guess)
    assert found.cells_right is not None
    return {"error": 1.0 - found.cells_right, "rows_right": found.share_right}


def error(truth: Bits, guess: Bits) -> float:
    """Return the mean share of columns that differ; see `distances`."""
    return distances(truth, guess)["error"]


def baselines(some: TrainingSample, seed: int) -> dict[str, float]:
    """Return the mean errors of guesses without the release.

    `error_uniform`: rows uniform over the domain (the authors' random baseline: the prior of every count of worlds);
    `error_frequencies`: every attribute's own values in a random order (needs the data); `error_others`: as many
    other rows of the same file (needs such rows).
    """
    dice, truth = np.random.default_rng(seed), some.truth
    others = some.x_test.to_numpy(dtype=np.int64)
    guesses: dict[str, Callable[[], Bits]] = {
        "error_uniform": lambda: _uniform(some.blocks, len(truth), dice),
        "error_frequencies": lambda: _shuffled(some.blocks, truth, dice),
        "error_others": lambda: others[dice.choice(len(others), len(truth), replace=False)],
    }
    return {name: float(np.mean([error(truth, guess()) for _ in range(REPEATS)])) for name, guess in guesses.items()}


def _uniform(blocks: tuple[range, ...], rows: int, dice: np.random.Generator) -> Bits:
    """Return rows drawn uniformly from all that can exist."""
    out = np.zeros((rows, sum(map(len, blocks))), dtype=np.int64)
    for block in blocks:
        if len(block) == 1:
            out[:, block[0]] = dice.integers(0, 2, rows)
        else:
            out[np.arange(rows), block[0] + dice.integers(0, len(block), rows)] = 1
    return out


def _shuffled(blocks: tuple[range, ...], truth: Bits, dice: np.random.Generator) -> Bits:
    """Return the rows with every attribute's values in an order of their own."""
    out = np.empty_like(truth)
    for block in blocks:
        out[:, list(block)] = dice.permutation(truth[:, list(block)], axis=0)
    return out


OUT_OF_TIME = re.compile(r"time was up|more time than|limits? ended|seconds", re.IGNORECASE)


def best_world(release: EncodedRelease, truth: Bits, seed: int, limits: Limits, *figures: str) -> Row:
    """Return how far the best world found is from the truth, in the columns of the training table, and figures of it.

    `unique`: whether it is proved to be the only one (None: not decided). `why`: why there is none.
    """
    try:
        world = reconstruct(release, seed, limits)
    except ReconError as problem:
        return {**dict.fromkeys(("error", "rows_right", "unique", *figures)), "why": short(problem)}
    more = {name: world.figures.get(name) for name in figures}
    return {**distances(truth, guess_of(release, world)), "unique": world.unique, **more, "why": ""}


def guess_of(release: EncodedRelease, world: World) -> Bits:
    """Return a world in the columns of the training table."""
    columns = list(release.domain.in_order or ())
    return world.to_frame(views=True)[columns].to_numpy(dtype=np.int64)


def short(problem: ReconError) -> str:
    """Return why there is no world, in a few words."""
    if OUT_OF_TIME.search(str(problem)):
        return "the time was up"
    return f"{type(problem).__name__}: {problem}"[:200]


def _numbered(release: EncodedRelease, order: str, limits: Limits) -> Row:
    """Return log2 of the number of worlds, or bounds on it; nothing where there are not even bounds."""
    try:
        answer = count(release, order, limits)
    except ReconError as problem:
        return {"count": "unknown", "log2_low": None, "log2_high": None, "engine": short(problem)}
    low, high = answer.bounds
    rows, spans = release.statements.rows.high, [a.span for a in release.domain.all]
    if rows is not None:  # no release leaves more than all tables with so many rows
        high = min(high, rows * math.fsum(math.log2(end - start) for start, end in spans))
    return {
        "count": answer.status, "log2_low": low if math.isfinite(low) else None,
        "log2_high": high if math.isfinite(high) else None, "engine": answer.engine,
    }  # fmt: skip


def certain(release: EncodedRelease, some: TrainingSample, unique: bool, limits: Limits) -> Row:
    """Return the share of training rows that are in every world: proved members, whoever knows the release alone."""
    if unique:
        return {"certain": 1.0}
    table = some.training.drop_duplicates()
    try:
        verdicts = certify(release, table, limits=limits, certificates=False)
    except ReconError:
        return {"certain": None}
    found = verdicts.loc[verdicts["verdict"] == "certain", "min_count"]
    return {"certain": float(found.sum()) / len(some.x)}


NONE, KNOWN, UNKNOWN = "none", "known", "unknown"  # no bootstrap; bags of seeds that the file holds; seeds taken out
ZEROS = "zeros"  # no bootstrap, one tree; what it leaves open of a row is taken to be 0, and nothing is asked
ORDERS = {NONE: "multiset", KNOWN: "ordered", UNKNOWN: "multiset"}  # known bags tell rows apart by their position
# Shares of a point's time: for the number of worlds, a world, and who certainly is in the data. What the count proves
# of single rows helps the search for a world.
SHARES = {NONE: (0.4, 0.3, 0.3), KNOWN: (0.5, 0.35, 0.15), UNKNOWN: (0.15, 0.7, 0.15)}


def run(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return the row of one forest."""
    bags, seed = point["bags"], point["seed"]
    some = training_sample(point.dataset, frame, point["rows"], seed)
    model = _fitted(some, point["trees"], point["depth"], bags in (KNOWN, UNKNOWN), seed)
    found: Row = {
        "train_accuracy": float(model.score(some.x, some.y)),
        "test_accuracy": float(model.score(some.x_test, some.y_test)),
        "columns_split": len({int(j) for tree in model.estimators_ for j in tree.tree_.feature if j >= 0}),
        "deepest": max(tree.tree_.max_depth for tree in model.estimators_),
    }
    found |= baselines(some, seed)
    if bags == ZEROS:
        found |= dict.fromkeys(("unique", "certain", "log2_low", "log2_high")) | {"count": "not asked"}
        found |= distances(some.truth, zeros(model.estimators_[0].tree_, some))
        return [found | {"ones": float(some.truth.mean())}]
    if bags == UNKNOWN:  # the seeds, from which the bags follow, are taken out before
        for one in (model, *model.estimators_):
            one.random_state = None
    release = encode(model, some.domain)
    times = [part * point["cap_seconds"] for part in SHARES[bags]]
    found |= _numbered(release, ORDERS[bags], limits.at_most(times[0]))
    found |= best_world(release, some.truth, seed, limits.at_most(times[1]))
    found |= certain(release, some, found["unique"] is True, limits.at_most(times[2]))
    return [found]


def _fitted(some: TrainingSample, trees: int, depth: int | None, bootstrap: bool, seed: int) -> Any:
    """Return scikit-learn's forest as the authors fit it: everything else at its default."""
    return fitted("forest", some.x, some.y, n_estimators=trees, max_depth=depth, bootstrap=bootstrap, random_state=seed)


def zeros(tree: Any, some: TrainingSample) -> Bits:
    """Return the rows that one exact tree's leaves tell, every column that a leaf leaves open 0 where it can be.

    Of columns of which one has to be 1, it is the first that may be. Which leaf has how many rows the tree says.
    """
    out = []
    for leaf, path in _paths(tree).items():
        row = np.array([path.get(j, 0) for j in range(some.x.shape[1])], dtype=np.int64)
        for block in some.blocks:
            if len(block) > 1 and not row[list(block)].any():
                row[next(j for j in block if j not in path)] = 1
        out += [row] * int(tree.n_node_samples[leaf])
    return np.array(out)


def _paths(tree: Any) -> dict[int, dict[int, int]]:
    """Return the columns that are known in every leaf of a tree over bits."""
    found: dict[int, dict[int, int]] = {}
    stack: list[tuple[int, dict[int, int]]] = [(0, {})]
    while stack:
        node, path = stack.pop()
        if tree.children_left[node] < 0:
            found[node] = path
            continue
        column = int(tree.feature[node])
        stack += [(int(child[node]), {**path, column: bit})
                  for bit, child in enumerate((tree.children_left, tree.children_right))]  # fmt: skip
    return found


DECLARED = Declaration("draft2024", NAMES=NAMES)
EXPERIMENT = DECLARED.experiment(run)
