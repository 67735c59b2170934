"""What an attack asks of a release: one world, how many there are, who certainly is in the data.

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
from recon.experiments.experiment import Point, Row
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
BASELINES = {  # the guesses, in words
    "error_uniform": "random rows (prior)",
    "error_frequencies": "column frequencies (needs the data)",
    "error_others": "other rows of the file (needs such rows)",
}


@dataclass(frozen=True, eq=False)
class TrainingSample:
    """Features and labels of training and of other rows of the same file, and the domain that an attack knows."""

    x: pd.DataFrame
    y: pd.Series
    x_other: pd.DataFrame
    y_other: pd.Series
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
    names = list(frame.columns)
    features, label = names[:-1], names[-1]
    one_hot = [[names[j] for j in group] for group in GROUPS[dataset]]
    domain = Domain.from_frame(frame, label=label, one_hot=one_hot, strict=True)
    train, other = some.iloc[:rows], some.iloc[rows:]
    return TrainingSample(
        train[features], train[label], other[features], other[label], domain, _blocks(dataset, len(features))
    )


def _blocks(dataset: str, columns: int) -> tuple[range, ...]:
    """Return the columns in blocks: those of one attribute together."""
    grouped = {j for group in GROUPS[dataset] for j in group}
    return (*GROUPS[dataset], *(range(j, j + 1) for j in range(columns) if j not in grouped))


def error(truth: Bits, guess: Bits) -> float:
    """Return the mean share of columns that differ after the best matching of rows, whatever their labels.

    This is the authors' `average_error`: labels take no part in it, rows of different classes may be matched.
    """
    right = compare(truth, guess).cells_right
    assert right is not None
    return 1.0 - right


def largest_match(truth: Bits, guess: Bits) -> float:
    """Return the largest share of rows that can be matched with an equal one."""
    return compare(truth, guess).share_right


def baselines(some: TrainingSample, seed: int) -> dict[str, float]:
    """Return the mean errors of guesses without the release.

    `error_uniform`: rows uniform over the domain (the authors' random baseline: the prior of every count of worlds);
    `error_frequencies`: every attribute's own values in a random order (needs the data); `error_others`: as many
    other rows of the same file (needs such rows).
    """
    dice, truth = np.random.default_rng(seed), some.truth
    others = some.x_other.to_numpy(dtype=np.int64)
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


def timed(limits: Limits, seconds: float) -> Limits:
    """Return the same limits with so many seconds from now at most."""
    return limits.lasting(min(limits.left(), seconds))


def _guessed(release: EncodedRelease, truth: Bits, seed: int, limits: Limits) -> Row:
    """Return how far the best world found is from the truth, in the columns of the training table.

    `unique`: whether it is proved to be the only one (None: not decided). `why`: why there is none.
    """
    try:
        world = reconstruct(release, seed, limits)
    except ReconError as problem:
        return {"error": None, "rows_right": None, "unique": None, "why": short(problem)}
    guess = guess_of(release, world)
    return {"error": error(truth, guess), "rows_right": largest_match(truth, guess), "unique": world.unique, "why": ""}


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
    high = min(high, _log2_tables(release))
    return {
        "count": answer.status,
        "log2_low": low if math.isfinite(low) else None,
        "log2_high": high if math.isfinite(high) else None,
        "engine": answer.engine,
    }


def _log2_tables(release: EncodedRelease) -> float:
    """Return log2 of the number of tables with so many rows: no release leaves more."""
    rows, spans = release.statements.rows.high, [a.span for a in release.domain.all]
    return math.inf if rows is None else rows * math.fsum(math.log2(end - start) for start, end in spans)


def certain(release: EncodedRelease, some: TrainingSample, unique: bool, limits: Limits) -> Row:
    """Return the share of training rows that are in every world: proved members, whoever knows the release alone."""
    if unique:
        return {"certain": 1.0}
    table = some.x.assign(**{str(some.y.name): some.y}).drop_duplicates()
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


def run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return the row of one forest."""
    assert frame is not None
    bags, seed = point["bags"], point["seed"]
    some = training_sample(point.dataset, frame, point["rows"], seed)
    model = _fitted(some, point["trees"], point["depth"], bags in (KNOWN, UNKNOWN), seed)
    found: Row = {
        "train_accuracy": float(model.score(some.x, some.y)),
        "test_accuracy": float(model.score(some.x_other, some.y_other)),
        "columns_split": len({int(j) for tree in model.estimators_ for j in tree.tree_.feature if j >= 0}),
        "deepest": max(tree.tree_.max_depth for tree in model.estimators_),
    }
    found |= baselines(some, seed)
    if bags == ZEROS:
        guess = zeros(model.estimators_[0].tree_, some)
        found |= dict.fromkeys(("unique", "certain", "log2_low", "log2_high"))
        found |= {
            "count": "not asked",
            "error": error(some.truth, guess),
            "rows_right": largest_match(some.truth, guess),
        }
        return [found | {"ones": float(some.truth.mean())}]
    release = _released(model, some, bags)
    times = [part * point["cap_seconds"] for part in SHARES[bags]]
    found |= _numbered(release, ORDERS[bags], timed(limits, times[0]))
    found |= _guessed(release, some.truth, seed, timed(limits, times[1]))
    found |= certain(release, some, found["unique"] is True, timed(limits, times[2]))
    return [found]


def _fitted(some: TrainingSample, trees: int, depth: int | None, bootstrap: bool, seed: int) -> Any:
    """Return scikit-learn's forest as the authors fit it: everything else at its default."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(trees, max_depth=depth, bootstrap=bootstrap, random_state=seed)
    return model.fit(some.x, some.y)


def _released(model: Any, some: TrainingSample, bags: str) -> EncodedRelease:
    """Return what the fitted forest says; `UNKNOWN`: its seeds, from which the bags follow, are taken out before."""
    if bags == UNKNOWN:
        for one in (model, *model.estimators_):
            one.random_state = None
    return encode(model, some.domain)


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
