"""Stored histogram gradient boosting: its trees, and what leaf values say of sums of gradients, in rigorous intervals.

scikit-learn 1.9.1, sklearn/ensemble/_hist_gradient_boosting/{gradient_boosting,grower}.py, histogram.pyx,
splitting.pyx, common.pyx, sklearn/_loss/_loss.pyx.tp; u = 2^-53.

Scores. `_baseline_prediction` is stored, leaf values are added to it as they stand (`_update_raw_predictions`), all in
double: scores are known bit for bit.

Gradients. `cgrad_hess_half_binomial`: e = exp(-F), g = (1 - y - y e) / (1 + e), h = e / (1 + e)^2 in double (exp off by
at most 3 units in the last place: relative error below 16 u), then cast to single precision.

Sums. Histograms add single precision numbers in double; one child of a node gets that of its parent minus that of its
sibling. All numbers are multiples of the last place of the smallest gradient, 2^(e - 23) for 2^e <= |g|: where
N 2^(23 - e) <= 2^53 every sum and difference is exact (`exact_sums`; scores that rows can have bound |g| below).
Where it is not, an entry at depth d is off by at most (d + 1) N (N + 2) u in all bins together (a histogram of n rows
by n u N, a subtraction by N u more), a node's sum by (d + 1) ((d + 1) (N + 2) + 257) u N, as sums of at most 256 bins
and differences to the parent's sum are taken on the way.

Values. `compute_node_value`: v = -G / (H + l2 + 1e-15), times the learning rate in leaves (`_apply_shrinkage`): five
roundings with the quotient that is taken here: |G + v (H + l2)| <= |v| ((H + l2) 6 u + 1e-15 (1 + 6 u)). Inner nodes
keep v; the root's value is 0 and says nothing. H is at most n / 4 (up to its rounding to single precision).

Gains. `_split_gain`: gain = v G - v_L G_L - v_R G_R, three products and two differences rounded. As G = -v (H + l2) in
the node and both children, and H = H_L + H_R, the gain of a node other than the root gives, with its value,
H_L + l2 = (gain + l2 v v_R) / ((v_L - v) (v_L - v_R)), and that of the right child alike; the gain of the root (v = 0)
is v_L² (H_L + l2) + v_R² (H_R + l2), which gives one where the other is known (`hessians`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Value
from encoders.models.models import TreeSums
from recon.readers.formats.sklearn.boosting.draft import (
    OWN,
    UNIT,
    BoostedLeafValues,
    Floats,
    GradientFigures,
    ScoreEnds,
    rounding_interval,
    stacked,
)
from recon.readers.formats.sklearn.trees.arrays import TreeArrays
from recon.readers.formats.sklearn.trees.draft import CategorySplit
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.structures import BinaryTree
from solvers.statements.gradients.boosted import Gradients

RELATIVE = 16 * UNIT
TINY = 1e-290  # exp(-F) may underflow
OLD = 8 * UNIT  # the first versions take expit(F) - y
QUARTER = 0.2500001  # h <= 1/4, rounded to single precision
BINS = 257
WIDE = 0.25  # ends of a sum that are farther apart tell no numbers of rows apart


@dataclass(frozen=True, eq=False)
class CategoryColumns:
    """The columns that trees number: which feature each is, and of those with categories the value of every code.

    `sets`: the sides of the splits on a feature's categories, as they are met.
    """

    feature: NDArray[np.int64]
    values: dict[int, dict[int, Value]]
    sets: dict[int, list[CategorySplit]] = field(default_factory=dict)

    def numbered(self, feature: int, left: NDArray[np.uint32], missing: bool, place: str) -> int:
        """Return the number of a split's sides, given the bits of the codes that go left; `missing`: so do gaps."""
        values = self.values.get(feature)
        bits = [32 * word + bit for word, of in enumerate(left.tolist()) for bit in range(32) if of >> bit & 1]
        if values is None or not (bits or missing) or not values.keys() >= set(bits):
            raise ReleaseError("splits on categories that the model does not name", place=place)
        sides = tuple(values[c] for c in bits), tuple(v for c, v in values.items() if c not in bits)
        known = self.sets.setdefault(feature, [])
        if sides not in known:
            known.append(sides)
        return known.index(sides)


def categories_of(thing: Thing, features: int) -> CategoryColumns:
    """Return the columns of the trees; from 1.4 on those with categories come first, as codes of an encoder.

    Raises `ReleaseError` where the file does not say what its codes stand for.
    """
    flags, encoder = thing.get("is_categorical_"), thing.get("_preprocessor")
    if not isinstance(flags, np.ndarray) or flags.shape != (features,) or not flags.any():
        return CategoryColumns(np.arange(features), {})
    at, rest = np.flatnonzero(flags), np.flatnonzero(~flags.astype(bool))
    order = np.concatenate([at, rest]) if isinstance(encoder, Thing) else np.arange(features)
    mapper = thing.get("_bin_mapper")
    bins = mapper.get("bin_thresholds_") if isinstance(mapper, Thing) else None
    listed = _encoder_categories(encoder.get("transformers_")) if isinstance(encoder, Thing) else None
    values: dict[int, dict[int, Value]] = {}
    for k, feature in enumerate(at.tolist()):
        column = k if isinstance(encoder, Thing) else feature
        codes = bins[column] if isinstance(bins, list) and column < len(bins) else None
        if not isinstance(codes, np.ndarray) or codes.dtype.kind != "f" or len(codes) > BINS - 1:
            raise ReleaseError("names no categories of its columns with categories", place="_bin_mapper")
        if not ((codes >= 0) & (codes < BINS - 1) & (codes == np.floor(codes))).all():
            raise ReleaseError("has a code of a category that is none of 0 to 255", place="_bin_mapper")
        whole = codes.astype(np.int64).tolist()
        if isinstance(encoder, Thing):
            own = listed[k] if isinstance(listed, list) and k < len(listed) else None
            if not isinstance(own, np.ndarray) or own.ndim != 1 or max(whole, default=0) >= len(own):
                raise ReleaseError("names no categories of its columns with categories", place="_preprocessor")
            values[feature] = {c: _category(own[c]) for c in whole}
        else:
            values[feature] = {c: c for c in whole}
    return CategoryColumns(order, values)


def _encoder_categories(steps: Any) -> Any:
    """Return the lists of categories of the encoder that the steps of a preprocessor begin with, None without one."""
    one = steps[0] if isinstance(steps, list) and steps else None
    return one[1].get("categories_") if isinstance(one, tuple) and len(one) == 3 and isinstance(one[1], Thing) else None


def _category(found: Any) -> Value:
    """Return a category as a value: whole numbers and truth values as int."""
    value = found.item() if isinstance(found, np.generic) else found
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    if not isinstance(value, (int, float, str)):
        raise Unsupported(f"a category of the model is a {type(value).__name__}, neither text nor a number")
    return value


def histogram_stages(thing: Thing, features: int, columns: CategoryColumns) -> list[list[TreeArrays]]:
    """Return the trees of histogram gradient boosting, one list per stage."""
    stages = thing.get("_predictors")
    if not isinstance(stages, list) or not stages or not all(isinstance(s, list) and s for s in stages):
        raise ReleaseError("is not fitted: it has no trees", place="_predictors")
    return [
        [_histogram_tree(p, features, f"_predictors[{i}][{k}]", columns) for k, p in enumerate(stage)]
        for i, stage in enumerate(stages)
    ]


FIELDS = ("value", "count", "feature_idx", "num_threshold", "missing_go_to_left", "left", "right", "is_leaf")


def _histogram_tree(predictor: Any, features: int, place: str, columns: CategoryColumns) -> TreeArrays:
    """Return the checked arrays of one stored `TreePredictor`."""
    nodes = predictor.get("nodes") if isinstance(predictor, Thing) else None
    names: Sequence[str] = getattr(getattr(nodes, "dtype", None), "names", None) or ()
    if not isinstance(nodes, np.ndarray) or nodes.ndim != 1 or not len(nodes) or set(FIELDS) - set(names):
        raise ReleaseError("has no node array with the fields of a tree", place=place)
    inner = nodes["is_leaf"] == 0
    threshold = nodes["num_threshold"].astype(np.float64)
    feature = nodes["feature_idx"].astype(np.int64)
    if ((feature < 0) | (feature >= features))[inner].any():
        raise ReleaseError(f"tests a feature that is none of its {features}", place=place)
    feature = np.where(inner, columns.feature[np.where(inner, feature, 0)], -1)
    sets = np.flatnonzero(inner & (nodes["is_categorical"] != 0)) if "is_categorical" in names else ()
    bits = predictor.get("raw_left_cat_bitsets")
    for at in map(int, sets):
        row = int(nodes["bitset_idx"][at])
        if not isinstance(bits, np.ndarray) or bits.ndim != 2 or bits.dtype.kind != "u" or row >= len(bits):
            raise ReleaseError("has no set of categories of a split", place=place)
        threshold[at] = columns.numbered(int(feature[at]), bits[row], bool(nodes["missing_go_to_left"][at]), place)
    if np.isin(feature[inner], list(columns.values)).sum() != len(sets):
        raise ReleaseError("compares a feature with categories with a threshold", place=place)

    def linked(name: str) -> NDArray[np.int64]:
        return np.where(inner, nodes[name].astype(np.int64), -1)

    rows = nodes["count"].astype(np.int64)
    found = TreeArrays(
        linked("left"),
        linked("right"),
        feature,
        threshold,
        nodes["missing_go_to_left"].astype(bool),
        np.zeros(len(nodes)),
        rows,
        rows.astype(float),
        nodes["value"].astype(np.float64)[:, None],
    )
    found.check(features, place)
    return found


def leaf_values(
    thing: Thing, trees: list[TreeArrays], rate: float, classes: int, recent: bool = True
) -> BoostedLeafValues | str:
    """Return what a model says, or why nothing is read off its leaf values.

    `classes` 0: of a regression; `recent`: fitted by version 1.4 or a later one, otherwise of at most two classes.
    """
    raw, ridge = thing.get("_baseline_prediction"), thing.get("l2_regularization")
    scores = classes if classes > 2 else 1
    start = np.asarray(raw, dtype=float).ravel() if isinstance(raw, (np.ndarray, float)) else np.zeros(0)
    if len(start) != scores or not np.isfinite(start).all() or not isinstance(ridge, (int, float)) or ridge < 0:
        return "the scores that it starts from are not known"
    first = tuple(start.tolist())
    steps = [tree.value[tree.leaf, 0] for tree in trees]
    size = ScoreEnds.of(first, steps).size
    if not classes:
        pairs = [
            _means(tree, step, t, rate, float(ridge)) for t, (tree, step) in enumerate(zip(trees, steps, strict=True))
        ]
        law = Gradients("squared_error", rounded="float32")
        return BoostedLeafValues(
            law, first, (), tuple(a for a, _ in pairs), tuple(b for _, b in pairs), float(size.max())
        )
    law = Gradients("log_loss", rounded="float32", relative=RELATIVE, absolute=TINY if recent else OLD)
    if classes > 2:
        off = (4 * (6.0 + 2 * float(size[:-1].max())) + 2 * classes + 16) * UNIT
        law = Gradients("softmax", "float64", "float32", 1.0, 1.0, off, (classes + 4) * UNIT)
    every = []
    for t, (tree, gain, step) in enumerate(zip(trees, _gains(thing), steps, strict=True)):
        exact = _exact_sums(float(tree.rows[0]), _least_share(float(size[t // scores]), classes))
        every.append(_tree_sums(tree, gain, step, (t // scores, t % scores), rate, float(ridge), exact))
    return BoostedLeafValues(law, first, tuple(range(classes)), tuple(every))


def _means(tree: TreeArrays, step: Floats, round_: int, rate: float, ridge: float) -> tuple[TreeSums, Floats]:
    """Return the figures of one tree of a regression (H = n), and how much wider each is per unit of gradients."""
    n = tree.rows.astype(np.float64)
    newton = np.where(tree.leaf, tree.value[:, 0] / rate, tree.value[:, 0])
    size = np.abs(newton) * (n + ridge)
    low, high = rounding_interval(-newton * (n + ridge), UNIT * 8 * size + np.abs(newton) * 1.0001e-15)
    used = np.arange(1, len(n))
    sums = stacked((round_, 0, step), GradientFigures("value", used, 1.0, 0.0, 0.0, low[used], high[used]))
    return sums, _off_per_gradient(tree)[used]


def _off_per_gradient(tree: TreeArrays) -> Floats:
    """Return how far sums of gradients over every node may be off, per unit of the greatest gradient."""
    d, rows = BinaryTree.of_sides(tree.left, tree.right).depths + 1.0, float(tree.rows[0])
    return d * (d * (rows + 2) + BINS) * UNIT * rows * OWN


def _gains(thing: Thing) -> list[Floats | None]:
    """Return the gain of every node's split, tree by tree; None where a tree has none that are numbers."""
    found: list[Floats | None] = []
    for stage in thing.get("_predictors"):
        for predictor in stage:
            nodes = predictor.get("nodes")
            known = nodes["gain"].astype(np.float64) if "gain" in nodes.dtype.names else np.full(1, np.nan)
            found.append(known if np.isfinite(known).all() else None)
    return found


def _tree_sums(
    tree: TreeArrays,
    gain: Floats | None,
    step: Floats,
    at: tuple[int, int],
    rate: float,
    ridge: float,
    exact: bool,
) -> TreeSums:
    """Return the figures of one tree of a classifier, number `at` = (round, score); `exact`: so are all sums."""
    n, leaf = tree.rows.astype(np.float64), tree.leaf
    newton = np.where(leaf, tree.value[:, 0] / rate, tree.value[:, 0])
    size = np.abs(newton)
    most = np.minimum(size * (QUARTER * n + ridge), n * 1.01 + size * 1e-15)  # |v| (H + l2), which is |G|
    error = 6 * UNIT * most + size * 1.0001e-15
    if not exact:
        error += _off_per_gradient(tree) * (1 + QUARTER * size)
    low, high = rounding_interval(-newton * ridge, error + 2 * UNIT * size * ridge)
    used = np.arange(1, len(n))  # nothing is said by the root
    values = GradientFigures("value", used, 1.0, newton[used], 0.0, low[used], high[used])
    if not exact or len(n) == 1 or gain is None:
        return stacked((*at, step), values)
    least, most = _hessians(tree, gain, newton, ridge)
    weighed = np.flatnonzero(leaf & np.isfinite(least) & (most - least < WIDE))
    weights = GradientFigures("gain", weighed, 0.0, 1.0, 0.0, least[weighed], most[weighed])
    return stacked((*at, step), values, weights)


def _hessians(tree: TreeArrays, gain: Floats, newton: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Return the ends of H per node where gains give it, infinite elsewhere; for sums that are exact.

    Values are off by at most 8 u of their size, gains by what six roundings of v G, v_L G_L and v_R G_R are.
    """
    n, every = tree.rows.astype(np.float64), np.flatnonzero(~tree.leaf)
    low, high = np.full(len(n), -np.inf), np.full(len(n), np.inf)
    part = newton**2 * (QUARTER * n + ridge)  # |v G|
    inner = every[every != 0]
    v, sides = newton[inner], (tree.left[inner], tree.right[inner])
    off = UNIT * 16 * (part[inner] + part[sides[0]] + part[sides[1]]) + 2e-15 * v * v
    for here, other in (sides, sides[::-1]):
        tail = ridge * v * newton[other]
        top = gain[inner] + tail, off + UNIT * 32 * np.abs(tail) + 2e-15 * np.abs(v * newton[other])
        near = newton[here] - v, UNIT * 16 * (np.abs(newton[here]) + np.abs(v))
        far = newton[here] - newton[other], UNIT * 16 * (np.abs(newton[here]) + np.abs(newton[other]))
        middle, error = _quotient(top, _product(near, far))
        low[here], high[here] = rounding_interval(middle - ridge, error + 1e-15 + 2 * UNIT * (np.abs(middle) + ridge))
    for here, other in ((tree.left[0], tree.right[0]), (tree.right[0], tree.left[0])):
        if tree.leaf[here] and not tree.leaf[other]:
            below = [tree.left[other], tree.right[other]]
            middle = (low[below] + high[below]).sum() / 2 + ridge  # of H + l2 beside
            error = (high[below] - low[below]).sum() / 2 + 1e-15 + 8 * UNIT * (np.abs(high[below]).sum() + ridge)
            square = newton[other] ** 2, 32 * UNIT * newton[other] ** 2
            taken = _product(square, (middle, error))
            top = gain[0] - taken[0], taken[1] + UNIT * 16 * (part[here] + part[other] + np.abs(taken[0]) + gain[0])
            middle, error = _quotient(top, (newton[here] ** 2, 32 * UNIT * newton[here] ** 2))
            low[here], high[here] = rounding_interval(
                middle - ridge, error + 1e-15 + 2 * UNIT * (np.abs(middle) + ridge)
            )
    return low, high


Near = tuple[Floats, Floats]  # numbers, and how far they may be off


def _product(x: Near, y: Near) -> Near:
    """Return products of numbers that are known up to errors."""
    found = x[0] * y[0]
    return found, (np.abs(x[0]) * y[1] + np.abs(y[0]) * x[1] + x[1] * y[1] + UNIT * np.abs(found)) * OWN


def _quotient(x: Near, y: Near) -> Near:
    """Return quotients of numbers that are known up to errors: off by infinity where the divisor may be 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = x[0] / y[0]
        error = ((x[1] + np.abs(found) * y[1]) / (np.abs(y[0]) - y[1]) + UNIT * np.abs(found)) * OWN
    safe = np.abs(y[0]) > y[1]
    return np.where(safe, found, 0.0), np.where(safe, error, np.inf)


def _least_share(score: float, classes: int) -> float:
    """Return a lower bound on the shares p and 1 - p of classes, for scores of at most this size."""
    apart = score if classes == 2 else 2 * score
    return 1 / (1 + max(classes - 1, 1) * math.exp(min(apart, 200.0)))


def _exact_sums(rows: float, share: float) -> bool:
    """Return whether sums over so many rows with shares of at least `share` are exact in double."""
    least = share * (1 - share) * 0.999  # of h; |g| is at least `share`
    return least > 1e-30 and rows * 2.0 ** (23 - math.floor(math.log2(least))) <= 2.0**53
