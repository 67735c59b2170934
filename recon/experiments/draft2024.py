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
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from recon.experiments.declaration import Declaration, Line, named_lines, records, where
from recon.experiments.experiment import Point, Row
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
BASELINES = {  # the guesses, in words
    "error_uniform": "random rows (prior)",
    "error_frequencies": "column frequencies (needs the data)",
    "error_others": "other rows of the file (needs such rows)",
}


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
LABELS: dict[str, str] = DECLARED["LABELS"]
ROWS, MOST = DECLARED["ROWS"], DECLARED["TREES"]
PUBLISHED = DECLARED.published("runs")
SAME = 1e-9  # accuracies are shares of 100 and of 1,400 rows


def _frames(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the lines of the tables, figures and sentences of all results that are there."""
    deepest = results.groupby("dataset")["deepest"].transform("max")  # where forests without a maximum are drawn
    results = results.assign(grown=results["depth"].isna(), size=results["depth"].fillna(deepest))
    simple, results = where(results, bags=ZEROS), results[results["bags"] != ZEROS]
    means, pairs = _averaged(results), _published_comparison(results)
    base = where(results, rows=ROWS)
    few = means[(means["rows"] == ROWS) & (means["depth"] == 0) & (means["found"] > 0)]
    grown = results[results["grown"] & (results["trees"] == MOST) & results["error"].notna()]
    several = grown[grown.groupby(["bags", "dataset"])["rows"].transform("nunique") > 1]
    frames = {
        "means": means, "published": pairs, "few": few, "compared": _compared(pairs), "authors": _authors(pairs),
        "near": few[(few["bags"] != UNKNOWN) & (few["error"] < 0.05)], "completed": _completed(results, simple, pairs),
        "worlds-by-trees": _worlds(where(base, grown=True)), "by_rows": DECLARED.aggregate("by-rows", several),
        "unfinished": _unfinished(results), "many": named_lines(few[few["trees"] >= 10], LABELS, "bags"),
    }  # fmt: skip
    for name, by, some in (("trees", "trees", where(base, grown=True)), ("depth", "size", where(base, trees=MOST)),
                           ("rows", "rows", where(results, grown=True, trees=MOST))):  # fmt: skip
        frames[f"errors-by-{name}"] = named_lines(_spreads(some, ["dataset", "bags", by], "error", by), NAMES)
        guesses = [_spreads(some, ["dataset", by], guess, by).assign(guess=what) for guess, what in BASELINES.items()]
        frames[f"guesses-by-{name}"] = pd.concat(guesses)
    return frames


def _averaged(results: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds, one line per data set, kind of bags, rows, trees and depth (0: no maximum)."""
    known = results.assign(
        depth=results["depth"].fillna(0).astype(int), found=results["error"].notna(),
        exact=results["count"] == "exact", unique=results["unique"].eq(True),
    )  # fmt: skip
    return DECLARED.aggregate("means", known)


def _published_comparison(results: pd.DataFrame) -> pd.DataFrame:
    """Return a line per published run and kind of bags that was run here: both errors, and whether forests agree."""
    out: list[Line] = []
    mine: dict[Any, Line] = {}
    for line in records(where(results, rows=ROWS)):
        depth: int | None = None if pd.isna(line["depth"]) else int(line["depth"])
        mine[line["dataset"], line["bags"], line["trees"], depth, line["seed"]] = line
    for one in records(PUBLISHED):
        depth = None if pd.isna(one["depth"]) else int(one["depth"])
        for bags in (KNOWN, UNKNOWN) if one["bootstrap"] else (NONE,):
            if (own := mine.get((one["dataset"], bags, one["trees"], depth, one["seed"]))) is None:
                continue
            apart = [own["train_accuracy"] - one["train_right"] / 100, own["test_accuracy"] - one["test_right"] / 1400]
            out.append({
                "dataset": one["dataset"], "bags": bags, "trees": one["trees"], "depth": depth, "seed": one["seed"],
                "published": one["wrong"] / one["cells"], "ours": own["error"], "unique": own["unique"],
                "same_forest": max(map(abs, apart)) < SAME, "published_seconds": one["seconds"],
            })  # fmt: skip
    return pd.DataFrame(out)


def _compared(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return how our errors compare with the published ones, forest by forest, where there is more than one tree."""
    out = []
    some = pairs[(pairs["trees"] > 1) & pairs["same_forest"].astype(bool)] if len(pairs) else pairs
    for bags, name in product(LABELS, NAMES):
        if not len(part := where(some, bags=bags, dataset=name)):
            continue
        done, taken = part[part["ours"].notna()], part["published_seconds"]
        ours, theirs = done["ours"].astype(float), done["published"]
        ends = dict.fromkeys(f"{end:,.0f}" for end in (taken.min(), taken.max()))
        out.append({
            "dataset": name, "bags": bags, "forests": len(part), "done": len(done), "ours": ours.mean(),
            "theirs": theirs.mean(), "smaller": int((ours < theirs - 1e-9).sum()),
            "equal": int(((ours - theirs).abs() <= 1e-9).sum()), "larger": int((ours > theirs + 1e-9).sum()),
            "taken": " to ".join(ends),
        })  # fmt: skip
    return pd.DataFrame(out)


def _authors(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the authors' runs on full-grown trees, each once."""
    if not len(pairs):
        return pairs
    boot = pairs["bags"].where(pairs["bags"] == NONE, UNKNOWN)
    some = where(pairs.assign(bags=boot), depth=None).drop_duplicates(["dataset", "bags", "trees", "seed"])
    return named_lines(some, LABELS, "bags", "label")


def _spreads(some: pd.DataFrame, keys: list[str], column: str, by: str) -> pd.DataFrame:
    """Return mean, least and greatest of a column, hollow where some forest has none; bags in the order of labels."""

    def mean(values: pd.Series) -> float:
        return math.fsum(values.dropna()) / values.count() if values.count() else math.nan

    if not len(some):
        return some
    groups = some.assign(**{column: some[column].astype(float)}).groupby(keys, as_index=False)[column]
    found = groups.agg(mean=mean, least="min", most="max", known="count", forests="size")
    found = found.assign(at=found[by].astype(float), hollow=found["known"].clip(lower=1) < found["forests"])
    return named_lines(found, LABELS, "bags", "label") if "bags" in keys else found


def _worlds(results: pd.DataFrame) -> pd.DataFrame:
    """Return bounds on the number of worlds by the number of trees."""
    known = results[results["log2_high"].notna()]
    known = known.assign(exact=known["count"] == "exact", log2_low=known["log2_low"].fillna(0.0))
    means = DECLARED.aggregate("worlds", known)
    return named_lines(named_lines(means.assign(hollow=~means["exact"].astype(bool)), LABELS, "bags", "label"), NAMES)


def _completed(results: pd.DataFrame, simple: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return what it is worth to take for 0 what one tree leaves open."""
    out: list[Line] = []
    one_tree = where(results, bags=NONE, trees=1, grown=True)
    for dataset, part in simple.groupby("dataset", sort=False):
        same = where(one_tree, dataset=dataset)
        even = same[same["seed"].isin(part["seed"])]["error"]
        theirs = where(pairs, dataset=dataset, trees=1, bags=NONE)
        if even.notna().any():
            out.append({"dataset": dataset, "ones": part["ones"].mean(), "error": part["error"].mean(),
                        "even": even.mean(), "forests": len(theirs),
                        "published": theirs["published"].mean() if len(theirs) else np.nan})  # fmt: skip
    return pd.DataFrame(out)


def _unfinished(results: pd.DataFrame) -> pd.DataFrame:
    """Return where no world was found."""
    found = DECLARED.aggregate("unfinished", results[results["error"].isna()])
    return named_lines(found.assign(forests=found["bags"].map(results["bags"].value_counts())), LABELS, "bags")


EXPERIMENT = DECLARED.experiment(run, _frames)
