"""CatBoost models as published trees: `.cbm`, the JSON of save_model, and the .cbm that a pickle holds.

A leaf's weight is the sum of the weights of all training rows in it, whatever was drawn to choose the splits
(bootstrap_type, Ordered boosting): without weights a number of rows, of every tree (catboost 1.2.10, compared with the
training data of 150 random models, docs/readers.md, and tests/golden/models). Splits on categories depend on tables
that training computed row by row: leaves that differ only there are taken together, which leaves exact sums. With log
loss the first tree's values are one Newton (or gradient) step from one score, so that its leaves give the rows of each
class.

What the leaf values of CatBoost say of gradients: one Newton (or gradient) step per tree from exact scores.

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
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Test, Value
from encoders.models.models import (
    AnyModel,
    Boosting,
    CountKind,
    Forest,
    Provenance,
    Table,
    Tree,
    TreeSums,
    UnusedPublication,
)
from encoders.models.nodes import Support
from recon.readers.formats.boosters.catboost_file import (
    MEMORY,
    Branching,
    CatBoostFile,
    Symmetric,
    cbm_booster,
    json_booster,
)
from recon.readers.formats.boosters.shared import (
    NOT_PLACED,
    SAID_CONTINUED,
    SAID_SUMMED,
    VALUES,
    BoosterSplit,
    BoosterTree,
    label_name,
    sums,
)
from recon.readers.formats.drafts.binding import Feature
from recon.readers.formats.drafts.drafts import CHANCE, SAME, Draft, copies_note, divided
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.gradients.boosted import Gradients
from solvers.statements.release import RowCount

UNIT = 2.0**-53
# Relative error of one exp by table and cubic for |x| <= 2: 2 |x| u from the reduction, u each of table, polynomial and
# product, 2^-55 of the series: below 8 u; twice that is allowed, and it grows with |x|.
EXP = 16 * UNIT
FARTHEST = 300.0  # scores: their exponentials, and products of them, are normal doubles
NEEDED = "CatBoost trained on an x86 CPU (elsewhere its exponential is coarser)"


@dataclass(frozen=True, eq=False)
class PlacedTree:
    """A tree as it was read: the number in the file of every leaf (or its node there), its rows, in order of nodes."""

    grown: BoosterTree
    number: tuple[int, ...]
    rows: tuple[int, ...]


def _inner_splits(tree: Symmetric | Branching) -> list[tuple[int, float] | None]:
    """Return the splits of a tree's inner nodes."""
    if isinstance(tree, Symmetric):
        return list(tree.splits)
    return [s for s, (left, _) in zip(tree.splits, tree.children, strict=True) if left >= 0]


def _group(found: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a group of settings, empty where it is not there."""
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def _unusable(booster: CatBoostFile) -> str:
    """Return why the values of the leaves are not used, "" where they are: what the file says of its training."""
    settings, boosting = _group(booster.params, "tree_learner_options"), _group(booster.params, "boosting_options")
    objective = _group(booster.params, "loss_function")
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
    if any(None in _inner_splits(t) for t in booster.trees):
        return "some trees split on categories or texts"
    if any(len(t.value) != len(t.weight) for t in booster.trees):
        return "there are several values per leaf"
    rate, ridge = boosting.get("learning_rate"), settings.get("l2_leaf_reg")
    if not all(isinstance(v, (int, float)) and not isinstance(v, bool) and 0 <= v < 1e9 for v in (rate, ridge)):
        return "the file does not say learning_rate and l2_leaf_reg"
    if _largest(booster)[-1] > FARTHEST:
        return "scores may leave what the library's exponential can hold"
    return "" if rate else "the learning rate is 0"


def _gradients(booster: CatBoostFile) -> Gradients:
    """Return how gradients follow from scores, with what the scores may be off after all trees."""
    first = _started(booster.bias or 0.0)
    each = sum(_step_error(t.value) for t in booster.trees)
    return Gradients(
        "log_loss",
        relative=4 * UNIT,
        absolute=8 * UNIT,
        score_error=(first + each + _summed(booster)) * (1 + 1e-6),
        start_error=first,
    )


def _started(bias: float) -> float:
    """Return how far the first score may be off: `fast_exp` leaves at most 2^-19 of the bias's power of two."""
    if bias == 0:
        return 0.0
    left = 2.0 ** (math.frexp(bias)[1] - 1 - 19)
    return left * left + 16 * UNIT  # twice the square's half; four products of table values and one more


def _step_error(values: Sequence[float]) -> float:
    """Return how far the exponential of one tree's value, and its product, may take a score."""
    return EXP * max(1.0, max(map(abs, values), default=0.0)) + UNIT


def _summed(booster: CatBoostFile) -> float:
    """Return how far the sum of the values in doubles may be from the true one."""
    return UNIT * sum(_largest(booster))


def _largest(booster: CatBoostFile) -> list[float]:
    """Return how large scores may be before the first tree, and after each."""
    steps = (max(map(abs, t.value), default=0.0) for t in booster.trees)
    return list(accumulate(steps, initial=abs(booster.bias or 0.0)))


def _tree_sums(booster: CatBoostFile, tree: Symmetric | Branching, placed: PlacedTree, t: int) -> TreeSums:
    """Return what the values of one tree say, a figure for every leaf with rows."""
    settings, boosting = _group(booster.params, "tree_learner_options"), _group(booster.params, "boosting_options")
    rate, ridge = float(np.float32(boosting["learning_rate"])), float(np.float32(settings["l2_leaf_reg"]))
    step = np.array([tree.value[k] for k in placed.number])
    rows = np.array(placed.rows, dtype=np.float64)
    kept = rows > 0
    node = np.array(placed.grown.leaves, dtype=np.int64)[kept]
    v, n = step[kept], rows[kept]
    newton = settings["leaf_estimation_method"] == "Newton"
    middle, error = _leaf_interval(v, n, rate, ridge, newton)
    zero = np.zeros(len(v))
    return TreeSums(
        t, 0, step, node, np.full(len(v), rate), v if newton else zero, zero,
        np.nextafter(middle - error, -np.inf), np.nextafter(middle + error, np.inf), ("value",) * len(v),
    )  # fmt: skip


def _leaf_interval(
    v: NDArray[np.float64], n: NDArray[np.float64], rate: float, ridge: float, newton: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return middle and half width of η G + v H for leaves of n rows and value v (docstring of the module)."""
    most = n / 4 if newton else n  # of the denominator, without the regularisation
    middle = -v * ridge if newton else -v * (n + ridge)
    quotient = np.abs(v) * (most + ridge) * 4 * UNIT
    sums = n * UNIT * 1.01 * (rate * n + (np.abs(v) * most if newton else 0.0))
    return middle, (quotient + sums) * 1.01 + np.abs(middle) * 4 * UNIT + 1e-290


LARGEST = 3.4e38  # borders beyond it tell missing values from all others
NEAR = 1e-6  # relative: values are doubles, computed in doubles (largest error seen 6e-12)
MOST_IN_LEAF = 100_000  # rows of which they tell one count from the next
OBJECTIVES = frozenset(["Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll", "RMSE", "MAE", "Quantile",
                        "Poisson"])  # fmt: skip
NOT_WEIGHTED = (
    "no training row was weighted (the CatBoost file does not say; rows of weight 0 do not count): every leaf weight "
    "is a number of rows"
)
NONE_BESIDE_CATEGORIES = (
    "no training row was weighted, not with 0 either: beside splits on categories or texts CatBoost adds up weights "
    "of other rows"
)
SAME_ROWS = f"{SAME} (no continued training, no sum of models)"
HELD_OUT = "rows held out in a table of their own (eval_set) are not among the training rows counted here"
HELD_OUT_ROWS = "a part of the rows was held out (eval_fraction): a leaf's weight is a least number of training rows"
WEIGHTS = "its leaf weights"
TOGETHER = "splits on categories or texts are left out: leaves that differ only there are taken together"
SIZES = "counts per class are not proved by the leaf values: only sizes are stated"
LATER = "of the first tree classes are known, of later ones only how many rows are in each leaf"


def read_cbm(data: bytes, classes: Sequence[Value] | None = None, memory: int = MEMORY) -> Draft:
    """Return what a .cbm file says; `classes` are the label's values in the order of the codes, if known.

    Raises `ReleaseError` where it is broken, `Unsupported` where leaf weights are no numbers of rows. Linear in leaves.
    """
    return _to_draft(cbm_booster(data, memory), classes)


def read_catboost(found: Any, classes: Sequence[Value] | None = None) -> Draft:
    """Return what the JSON of `save_model(format="json")` says; see `read_cbm`."""
    return _to_draft(json_booster(found), classes)


def _to_draft(booster: CatBoostFile, classes: Sequence[Value] | None) -> Draft:
    """Return the statements of a booster in its own terms: of its first training, where it has several."""
    starts, why = _starts(booster)
    if len(starts) == 1:
        return _draft_of(booster, classes)
    others: list[Draft | str] = []
    for k, (first, end) in enumerate(pairwise([*starts[1:], len(booster.trees)]), start=1):
        try:
            others.append(_draft_of(_some_trees(booster, k, first, end), classes).of_others(why))
        except Unsupported as error:
            others.append(str(error))
    if why == NOT_PLACED:
        others = [f"trees 1 to {len(booster.trees) - 1}: {why}"]
    return _draft_of(_some_trees(booster, 0, 0, starts[1]), classes).before_others(starts[1], others, why)


def _starts(booster: CatBoostFile) -> tuple[list[int], str]:
    """Return the first tree of every training that the file names, and why there are several ("": there is one)."""
    named, count = booster.trainings, len(booster.trees)
    if len(named) < 2 or count < 2:
        return [0], ""
    if sum(one.trees for one in named) != count or min(one.trees for one in named) < 1:
        return [0, 1], NOT_PLACED
    ends = list(accumulate(one.trees for one in named))
    return [0, *ends[:-1]], SAID_SUMMED if named[0].summed else SAID_CONTINUED


def _some_trees(booster: CatBoostFile, k: int, first: int, end: int) -> CatBoostFile:
    """Return the trees of training number k, with its settings where the file has them.

    The score that rows start at is that of the first training alone, and of sums it is scaled.
    """
    one = booster.trainings[k]
    bias = None if k or one.summed else booster.bias
    return replace(booster, trees=booster.trees[first:end], params=one.params, bias=bias)


def _draft_of(booster: CatBoostFile, classes: Sequence[Value] | None) -> Draft:
    """Return the statements of the trees of one training in the file's own terms."""
    _refuse_weights(booster)
    every = [_grow(tree, booster, t) for t, tree in enumerate(booster.trees)]
    if not every:
        raise Unsupported("the CatBoost model has no trees: it says nothing about its rows")
    totals = {counts[0] for _, counts in every}
    if len(totals) != 1:
        raise Unsupported(f"the CatBoost trees count {min(totals):,} to {max(totals):,} rows: not of the same rows")
    rows = totals.pop()
    kept = [(t, grown, counts) for t, (grown, counts) in enumerate(every) if len(grown.splits) > 1]
    if not kept:
        raise Unsupported("no tree of the CatBoost model has a split on a number: it says only how many rows there are")
    values = tuple(classes) if classes is not None else _class_values(booster)
    ones = _first_classes(booster, values) if kept[0][0] == 0 else None
    trees = [
        grown.tree([Support(count=n) if ones is None or t else Support((n - k, k))
                    for n, k in zip(counts, counts if ones is None or t else ones, strict=True)], f"tree {t}")
        for t, grown, counts in kept
    ]  # fmt: skip
    told = [[counts[i]] for _, grown, counts in kept for i in grown.leaves]
    if ones is not None and kept[0][0] == 0:
        told = [[kept[0][2][i] - ones[i], ones[i]] for i in kept[0][1].leaves]
    divisors, _ = divided(told, CHANCE)
    note = copies_note(divisors, values if len(divisors) == 2 else ()) if max(divisors) > 1 else NOT_WEIGHTED
    split_else = any(s is None for tree in booster.trees for s in _inner_splits(tree))
    unweighted = (NONE_BESIDE_CATEGORIES,) if split_else else ()
    if max(divisors) > 1 or eval_fraction(booster):
        return _of_bounds(booster, kept, max(divisors), (note, *unweighted))
    kinds: tuple[CountKind, ...] = ("size",) if ones is None else ("exact",) if len(trees) == 1 else ("exact", "size")
    models: tuple[AnyModel, ...] = (Tree(trees[0].nodes, "tree"),) if len(trees) == 1 else (Forest(tuple(trees)),)
    why = _unusable(booster)
    if ones is not None and not why:
        models = (_boosting(booster, every, trees[0]),)
    notes = [TOGETHER] if split_else else []
    notes += [SIZES] if ones is None else [LATER] if why and len(trees) > 1 else []
    notes += [f"leaf values are not used: {why}"] if why else []
    unused = [UnusedPublication(WEIGHTS, TOGETHER)] if split_else else []
    if not models[0].scores and (len(trees) > 1 or ones is None):
        unused.append(UnusedPublication(VALUES, why or SIZES, labels=len(booster.trees) == 1))
    return Draft(
        Provenance(
            booster.form,
            kinds,
            (
                NOT_WEIGHTED,
                *unweighted,
                HELD_OUT,
                *([SAME_ROWS] if len(every) > 1 else []),
                *([] if why or ones is None else [NEEDED]),
            ),
            unused=tuple(unused),
        ),
        tuple(Feature(name, name) for name in booster.names),
        models,
        values if ones is not None else None,
        label_name(booster.names),
        rows=RowCount(rows, rows),
        named=booster.named,
        single=True,
        reader_notes=tuple(notes),
        gaps=frozenset(column.name for column in booster.columns if column.gaps),
    )


def eval_fraction(booster: CatBoostFile) -> bool:
    """Return whether the file says that a part of the rows was held out."""
    return bool(_group(booster.params, "data_processing_options").get("eval_fraction"))


def _of_bounds(
    booster: CatBoostFile, kept: Sequence[tuple[int, BoosterTree, list[int]]], divisor: int, notes: tuple[str, ...]
) -> Draft:
    """Return bounds on the rows per leaf, where leaf weights have a divisor (weights, copies) or count not all rows."""
    out = eval_fraction(booster)
    figures = [
        figure
        for t, grown, counts in kept
        for figure in grown.at_least([-(-n // divisor) for n in counts], f"tree {t}", None if out else counts)
    ]
    rows = kept[0][2][0]
    return Draft(
        Provenance(
            booster.form,
            ("size",),
            (*notes, HELD_OUT_ROWS if out else HELD_OUT, SAME_ROWS),
            unused=(UnusedPublication(VALUES, SIZES),),
        ),
        tuple(Feature(name, name) for name in booster.names),
        (Table(tuple(figures), "leaves"),),
        label=label_name(booster.names),
        rows=RowCount(-(-rows // divisor), None if out else rows),
        named=booster.named,
        single=True,
        reader_notes=(SIZES,),
        gaps=frozenset(column.name for column in booster.columns if column.gaps),
    )


def _boosting(booster: CatBoostFile, every: Sequence[tuple[BoosterTree, list[int]]], first: Tree) -> Boosting:
    """Return all trees with what their values say; `first`: the first one with the classes of its leaves."""
    trees, said = [], []
    for t, (tree, (grown, counts)) in enumerate(zip(booster.trees, every, strict=True)):
        number = _paths(tree.splits, booster)[1] if isinstance(tree, Symmetric) else _nested_order(tree)
        placed = PlacedTree(grown, tuple(number[i] for i in grown.leaves), tuple(counts[i] for i in grown.leaves))
        trees.append(grown.tree([Support(count=n) for n in counts], f"tree {t}") if t else first)
        said.append(_tree_sums(booster, tree, placed, t))
    start = (float(booster.bias or 0.0),)
    return Boosting(tuple(trees), tuple(said), _gradients(booster), start, start, (0, 1))


def _refuse_weights(booster: CatBoostFile) -> None:
    """Raise `Unsupported` for models whose leaf weights are known to be something else than numbers of rows."""
    data = _group(booster.params, "data_processing_options")
    if data.get("class_weights") or data.get("auto_class_weights", "None") not in ("None", None):
        raise Unsupported("the CatBoost model weighs its classes: its leaf weights are not numbers of rows")
    if booster.params.get("task_type", "CPU") != "CPU":
        raise Unsupported("the CatBoost model was fitted on a GPU, where leaf weights were never compared with rows")
    objective = _group(booster.params, "loss_function").get("type")
    if objective is not None and objective not in OBJECTIVES:
        raise Unsupported(f"leaf weights of CatBoost's objective {str(objective)[:40]!r} were never compared with rows")


def _row_count(weight: float, t: int) -> int:
    """Return a leaf weight as a number of rows; `Unsupported` where it is none."""
    if weight != int(weight) or weight >= 1 << 53:
        raise Unsupported(f"tree {t} has a leaf of weight {weight:g}: rows were weighted, no numbers of rows are known")
    return int(weight)


def _grow(tree: Symmetric | Branching, booster: CatBoostFile, t: int) -> tuple[BoosterTree, list[int]]:
    """Return a tree with its conditions, and the rows of every node."""
    if isinstance(tree, Branching):
        return _nested(tree, booster, t)
    kept = [i for i, s in enumerate(tree.splits) if s is not None]
    found = _marginal_sums([_row_count(w, t) for w in tree.weight], kept)
    return _level_by_level([tree.splits[i] for i in kept], found, booster, t)


def _marginal_sums(figures: Sequence[int], kept: Sequence[int]) -> list[int]:
    """Return the sums of the leaves' figures over all splits but the kept ones (bits of a leaf's number)."""
    out = [0] * (1 << len(kept))
    for leaf, figure in enumerate(figures):
        out[sum((leaf >> i & 1) << k for k, i in enumerate(kept))] += figure
    return out


def _level_by_level(
    splits: Sequence[tuple[int, float] | None], figures: Sequence[int], booster: CatBoostFile, t: int
) -> tuple[BoosterTree, list[int]]:
    """Return a symmetric tree with the figures of its nodes; where a path settles a split, that node is left out."""
    out, number = _paths(splits, booster)
    of_leaves = {here: figures[k] for here, k in number.items()}
    if sum(of_leaves.values()) != sum(figures):
        raise ReleaseError("has rows in a leaf that no row can reach", place=f"tree {t}")
    return out, sums(out, of_leaves)


def _paths(splits: Sequence[tuple[int, float] | None], booster: CatBoostFile) -> tuple[BoosterTree, dict[int, int]]:
    """Return a symmetric tree, and the number in the file of every leaf that some row can reach."""
    out, number_of = BoosterTree(), {}
    # node above, side, level, number of the leaf so far, bounds of each column on the way
    todo: list[tuple[int, int, int, int, dict[int, tuple[float, float]]]] = [(-1, 0, 0, 0, {})]
    while todo:
        above, side, level, number, bounds = todo.pop()
        while level < len(splits):
            split = splits[level]
            assert split is not None
            low, high = bounds.get(split[0], (-math.inf, math.inf))
            if low < split[1] < high:
                break
            number |= (split[1] <= low) << level
            level += 1
        here = len(out.splits)
        if above >= 0:
            a, b = out.children[above]
            out.children[above] = (here, b) if side == 0 else (a, here)
        out.children.append((-1, -1))
        if level == len(splits):
            out.splits.append(None)
            number_of[here] = number
            continue
        column, border = splits[level] or (0, 0.0)
        out.splits.append(_split_at(booster, column, border))
        low, high = bounds.get(column, (-math.inf, math.inf))
        todo.append((here, 1, level + 1, number | 1 << level, {**bounds, column: (border, high)}))
        todo.append((here, 0, level + 1, number, {**bounds, column: (low, border)}))
    return out, number_of


def _nested(tree: Branching, booster: CatBoostFile, t: int) -> tuple[BoosterTree, list[int]]:
    """Return any other tree; what stands below a split on categories is one leaf."""
    rows = [_row_count(w, t) if left < 0 else 0 for w, (left, _) in zip(tree.weight, tree.children, strict=True)]
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += [c for c in tree.children[node] if c >= 0]
    for node in reversed(order):
        rows[node] += sum(rows[c] for c in tree.children[node] if c >= 0)
    out, of_leaves = BoosterTree(), {}
    todo = [(0, -1, 0)]
    while todo:
        node, above, side = todo.pop()
        here, split = len(out.splits), tree.splits[node]
        if above >= 0:
            a, b = out.children[above]
            out.children[above] = (here, b) if side == 0 else (a, here)
        out.children.append((-1, -1))
        left, right = tree.children[node]
        if left == -1 or split is None:
            out.splits.append(None)
            of_leaves[here] = rows[node]
            continue
        out.splits.append(_split_at(booster, *split))
        todo += [(right, here, 1), (left, here, 0)]
    return out, sums(out, of_leaves)


def _nested_order(tree: Branching) -> dict[int, int]:
    """Return of every leaf of `nested`, without splits on categories, its node in the file."""
    found, todo = {}, [0]
    for here in range(len(tree.splits)):
        node = todo.pop()
        left, right = tree.children[node]
        if left < 0:
            found[here] = node
        else:
            todo += [right, left]
    return found


def _split_at(booster: CatBoostFile, column: int, border: float) -> BoosterSplit:
    """Return the split "at most the border" (left) of a column; the outermost borders tell missing values alone."""
    one = booster.columns[column]
    if border < -LARGEST:
        return BoosterSplit(one.name, Test(missing=True), Test())
    if border > LARGEST:
        return BoosterSplit(one.name, Test(), Test(missing=True))
    left = Test(high=border, missing=not one.missing_right)
    return BoosterSplit(one.name, left, Test(low=border, low_open=True, missing=one.missing_right))


def _class_values(booster: CatBoostFile) -> tuple[Value, ...]:
    """Return the values of the label in the order of their codes, 0 and 1 where the file does not name two."""
    names = booster.classes.get("class_names")
    if isinstance(names, list) and len(names) == 2 and all(isinstance(n, (str, int, float)) for n in names):
        return tuple(int(n) if isinstance(n, float) and n.is_integer() else n for n in names)
    return (0, 1)


def _first_classes(booster: CatBoostFile, classes: Sequence[Value]) -> list[int] | None:
    """Return the rows of the second class per node of the first tree, None where its values do not prove them.

    A leaf of n rows, k of the class, all at share p: value = rate (k - n p) / (n h + l2), h = p (1 - p) for Newton's
    step and 1 for the gradient's. Every k must be whole: shrunk, noised and weighted values are not.
    """
    tree, settings = booster.trees[0], _group(booster.params, "tree_learner_options")
    boosting = _group(booster.params, "boosting_options")
    rate, ridge = boosting.get("learning_rate"), settings.get("l2_leaf_reg")
    how, steps = settings.get("leaf_estimation_method"), settings.get("leaf_estimation_iterations")
    objective = _group(booster.params, "loss_function").get("type")
    if len(tree.value) != len(tree.weight) or booster.bias is None:
        return None
    if isinstance(tree, Branching) and None in _inner_splits(tree):
        return None
    if objective != "Logloss" or len(classes) != 2 or steps != 1 or how not in {"Newton", "Gradient"}:
        return None
    if settings.get("monotone_constraints") or not all(
        isinstance(v, (int, float)) and 0 < v < 1e9 for v in (rate, ridge)
    ):
        return None
    share = 1 / (1 + math.exp(-max(-700.0, min(700.0, booster.bias))))
    each = share * (1 - share) if how == "Newton" else 1.0
    found = []
    for weight, value in zip(tree.weight, tree.value, strict=True):
        k = weight * share + value / float(rate or 1) * (weight * each + float(ridge or 0))
        if abs(k - round(k)) > NEAR * weight or not 0 <= round(k) <= weight or weight > MOST_IN_LEAF:
            return None
        found.append(round(k))
    if isinstance(tree, Branching):
        grown, _ = _nested(tree, booster, 0)
        return sums(grown, {here: found[node] for here, node in _nested_order(tree).items()})
    kept = [i for i, s in enumerate(tree.splits) if s is not None]
    return _level_by_level([tree.splits[i] for i in kept], _marginal_sums(found, kept), booster, 0)[1]
