"""Boosted models published otherwise: leaf values rounded, fewer trees; and how many rows they give back then.

A rounded model says of every leaf that its value lies within half a unit of the last decimal. Scores that follow from
rounded values are off by as much per tree, gradients and hessians by at most their slopes times that. The intervals of
the figures are widened by both: what is proved of the release that comes out holds for everybody who sees the rounded
model. Statistics that predictions do not need (inner values, impurities, hessians, gains) and classes that were worked
out from leaf values are not in it; the numbers of rows per leaf are.

Source: docs/mathematics.md, "Boosted models"; |p - q| <= |F - G| / 4 and
|p (1 - p) - q (1 - q)| <= |F - G| / (6 sqrt 3) for the logistic function.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease, reassembled
from encoders.models.models import Boosting, Tree, TreeSums, boosted_of
from encoders.models.nodes import CountTable, Support
from recon.queries.leaf_values.determined import Determined, determined
from recon.readers.loading.loading import Released, single_release_of
from recon.readers.loading.settled import as_released
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.gradients.boosted import Gradients

DECIMALS = (8, 6, 5, 4, 3)
UP = 1 + 1e-9  # of widths, for the rounding of what is worked out here
VALUE = "value"  # what figures of leaf values are called
NOTE = "its leaf values are rounded to {} decimals, nothing else that predictions do not need is published but sizes"
SECONDS = 60.0  # for one remedy
Remedy = tuple[str, int | None, int | None]  # in words, decimals (None: as published), rounds of trees (None: all)
Line = tuple[str, int | None, int | None, int | None, int, int, str, float]
COLUMNS = ["remedy", "decimals", "trees", "rows", "rows_known", "labels_known", "status", "seconds"]


def rounded(release: Released, decimals: int) -> EncodedRelease:
    """Return the release as it would be with leaf values (what they add to a score) rounded to so many decimals.

    Raises `Unsupported` where no boosted model with leaf values is in it, `ReleaseError` for decimals outside 0..17.
    Cost: that of encoding.

    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.rounded(release, decimals=3)
    <EncodedRelease: boosting of 2 trees, 4 rows, 2 attributes, label 'ill'>
    """
    release = single_release_of(release)
    if not isinstance(decimals, int) or not 0 <= decimals <= 17:
        raise ReleaseError(f"leaf values are rounded to 0 to 17 decimals, not {decimals!r}")
    return _published_otherwise(release, lambda model: _rounded_model(model, decimals))


def first_trees(release: Released, rounds: int) -> EncodedRelease:
    """Return the release with the trees of the first rounds only (with two classes, one tree per round).

    Raises what `rounded` raises, and `ReleaseError` for less than one round. Cost: that of encoding.

    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.first_trees(release, 1)
    <EncodedRelease: boosting of 1 tree, 4 rows, 2 attributes, label 'ill'>
    """
    release = single_release_of(release)
    if not isinstance(rounds, int) or rounds < 1:
        raise ReleaseError(f"at least one round of trees is published, not {rounds!r}")

    def shortened(model: Boosting) -> Boosting:
        kept = [i for i, sums in enumerate(model.sums) if sums.round < rounds]
        return replace(model, trees=tuple(model.trees[i] for i in kept), sums=tuple(model.sums[i] for i in kept))

    return _published_otherwise(release, shortened)


def _published_otherwise(release: EncodedRelease, change: Callable[[Boosting], Boosting]) -> EncodedRelease:
    """Return the release with its boosted models changed."""
    release = as_released(release)
    if not boosted_of(release.models):
        raise Unsupported("no leaf values of a boosted model are read here: there is nothing to round or to shorten")
    models = tuple(change(m) if isinstance(m, Boosting) else m for m in release.models)
    return reassembled(release, models=models, facts=None)


def _rounded_model(model: Boosting, decimals: int) -> Boosting:
    """Return a boosted model with rounded leaf values and nothing else but sizes; see the head of this module."""
    model = _quotients(model)
    half = 0.5 * 10.0**-decimals * UP
    slopes = _steepest(model.gradients)
    unit = [_per_unit(model, of) for of in range(len(model.base))]
    law, off = _rough_gradients(model.gradients), _drift(model, half)
    sums = tuple(
        _rounded_sums(tree, said, (decimals, half, off[said.round]), slopes, unit[said.of])
        for tree, said in zip(model.trees, model.sums, strict=True)
    )
    note = NOTE.format(decimals)
    origin = model.origin and replace(model.origin, notes=(*model.origin.notes, note), counts=("size",))
    return replace(model, trees=tuple(map(_only_sizes, model.trees)), sums=sums, gradients=law, origin=origin)


def _quotients(model: Boosting) -> Boosting:
    """Return a model whose leaves with a sum of gradients and one of hessians say their value instead.

    LightGBM's weights give both sums exactly; without them a value v = -eta G / (H + penalty) says one equation,
    G + b H = -b penalty with b = v / eta. The interval holds for any b: both sums' intervals make it.
    """
    pairs = [_both_sums(tree, sums) for tree, sums in zip(model.trees, model.sums, strict=True)]
    if not any(len(p[0]) for p in pairs):
        return model
    penalty, out = _penalty_of(model, pairs), []
    for sums, (at, weight, _) in zip(model.sums, pairs, strict=True):
        if len(at) == 0:
            out.append(sums)
            continue
        (total, total_width), (mass, mass_width) = _middles(sums, at), _middles(sums, weight)
        b = -total / (mass + penalty)
        centre = total + b * mass
        wide = (total_width + np.abs(b) * mass_width + 2.0**-50 * (np.abs(total) + np.abs(b) * mass)) * UP
        ends = np.zeros(len(at)), centre - wide, centre + wide
        what = (VALUE,) * len(at)
        out.append(TreeSums(sums.round, sums.of, sums.step, sums.node[at], np.ones(len(at)), b, *ends, what))
    return replace(model, sums=tuple(out))


def _both_sums(tree: Tree, sums: TreeSums) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the figures that are a leaf's sum of gradients alone, those of its hessians, and the leaves."""
    at, leaf = _leaf_places(tree, sums)
    alone = sums.hessian[at] == 0
    at, leaf = at[alone], leaf[alone]
    mass = np.flatnonzero((sums.gradient == 0) & (sums.square == 0) & (sums.hessian != 0))
    place = {int(sums.node[i]): int(i) for i in mass}
    has = np.array([int(sums.node[i]) in place for i in at], dtype=bool)
    at, leaf = at[has], leaf[has]
    return at, np.array([place[int(sums.node[i])] for i in at], dtype=np.int64), leaf


def _middles(sums: TreeSums, at: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the middles and half widths of sums that stand alone in their figures."""
    scale = sums.gradient[at] + sums.hessian[at]  # one of them is 0
    return (sums.low[at] + sums.high[at]) / 2 / scale, (sums.high[at] - sums.low[at]) / 2 / np.abs(scale)


def _penalty_of(
    model: Boosting, pairs: Sequence[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]
) -> float:
    """Return what is added to hessians, by the leaves whose steps are quotients: -G / step = (H + penalty) / eta."""
    left, right = [np.zeros(0)], [np.zeros(0)]
    for sums, (at, weight, leaf) in zip(model.sums, pairs, strict=True):
        if sums.round or model.base == model.start:
            use = sums.step[leaf] != 0
            left.append(_middles(sums, weight[use])[0])
            right.append(-_middles(sums, at[use])[0] / sums.step[leaf[use]])
    mass, ratio = np.concatenate(left), np.concatenate(right)
    if len(mass) < 2:
        return 0.0
    slope, shift = np.linalg.lstsq(np.stack([mass, np.ones(len(mass))], axis=1), ratio, rcond=None)[0]
    found = float(shift / slope) if slope else 0.0
    return found if found > 1e-6 else 0.0


def _rough_gradients(law: Gradients) -> Gradients:
    """Return how gradients are computed where scores are known roughly: their rounding is an error like others."""
    if law.rounded == "float64":
        return law
    return replace(law, rounded="float64", relative=law.relative + 2.0**-24 * UP, absolute=law.absolute + 2.0**-149)


def _drift(model: Boosting, half: float) -> list[float]:
    """Return per round how far scores of rounded values may be off: the steps before it, and rounding of their sums."""
    last = max(sums.round for sums in model.sums)
    size = np.zeros(last + 2)
    for sums in model.sums:
        size[sums.round + 1] = max(size[sums.round + 1], float(np.abs(sums.step).max(initial=0.0)) + half)
    reach = np.cumsum(size) + max(map(abs, (*model.base, *model.start)))
    unit = 2.0**-23 if model.gradients.scores == "float32" else 2.0**-52
    return [half * t + 2 * (t + 1) * unit * float(reach[t]) for t in range(last + 1)]


def _steepest(law: Gradients) -> tuple[float, float, float]:
    """Return the greatest slopes of a gradient and a hessian in the scores, and the greatest hessian."""
    if law.loss == "squared_error":
        return 1.0, 0.0, 1.0
    if law.loss == "softmax":  # all scores off by as much: sum of the sizes of the slopes 2 p (1 - p)
        return 0.5, law.factor * 0.5, law.factor * 0.2500001
    scale = law.scale
    return scale * scale / 4, law.factor * scale**3 * 0.0962251, law.factor * scale * scale * 0.2500001


def _per_unit(model: Boosting, of: int) -> float | None:
    """Return the hessian's coefficient per unit of a step and of the gradient's; None where no leaf says it.

    First steps that contain the start do not count where there are others.
    """
    found: list[float] = []
    for tree, sums in zip(model.trees, model.sums, strict=True):
        if sums.of != of or (sums.round == 0 and model.base != model.start and len(model.sums) > len(model.base)):
            continue
        at, leaf = _leaf_places(tree, sums)
        step, ratio = sums.step[leaf], sums.hessian[at] / sums.gradient[at]
        use = (step != 0) & (ratio != 0)
        found += (ratio[use] / step[use]).tolist()
    return float(np.median(found)) if found else None


def _leaf_places(tree: Tree, sums: TreeSums) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the figures that are leaf values, and their leaves as numbers in file order."""
    number = np.full(len(tree.nodes), -1, dtype=np.int64)
    number[tree.nodes.leaves] = np.arange(len(tree.nodes.leaves))
    named = np.array([w == VALUE for w in sums.what], dtype=bool)
    at = np.flatnonzero(named & (number[sums.node] >= 0) & (sums.square == 0) & (sums.gradient != 0))
    return at, number[sums.node[at]]


def _rounded_sums(
    tree: Tree,
    sums: TreeSums,
    by: tuple[int, float, float],
    slopes: tuple[float, float, float],
    unit: float | None,
) -> TreeSums:
    """Return the leaf values of one tree rounded: `by` decimals, half a unit, and how far scores before may be off."""
    decimals, half, off = by
    step = np.round(sums.step, decimals)
    at, leaf = _leaf_places(tree, sums)
    rows = _leaf_rows(tree)
    if unit is None or rows is None:
        at, leaf = at[:0], leaf[:0]
    n = (np.zeros(0) if rows is None else rows[leaf]).astype(np.float64)
    gradient, hessian = sums.gradient[at], sums.hessian[at]
    slope = np.abs(gradient * (unit or 0.0))
    moved = hessian + gradient * (unit or 0.0) * (step[leaf] - sums.step[leaf])
    middle, width = (sums.low[at] + sums.high[at]) / 2, (sums.high[at] - sums.low[at]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(hessian != 0, middle / hessian, 0.0)  # less what the penalty adds to the hessian
    wide = width + slope * half * (n * slopes[2] + np.abs(each)) + np.abs(gradient) * n * slopes[0] * off
    wide = (wide + np.abs(moved) * n * slopes[1] * off) * UP + 1e-12
    centre = np.where(hessian != 0, each * moved, middle)
    kept = np.isfinite(wide)
    at, moved, centre, wide, gradient = at[kept], moved[kept], centre[kept], wide[kept], gradient[kept]
    zero = np.zeros(len(at))
    what = (VALUE,) * len(at)
    figures = (gradient, moved, zero, centre - wide, centre + wide)
    return TreeSums(sums.round, sums.of, step, sums.node[at], *figures, what)


def _leaf_rows(tree: Tree) -> NDArray[np.int64] | None:
    """Return the rows of every leaf in file order; None where some leaf does not say them."""
    table = tree.nodes.leaf_counts
    return table.totals.astype(np.int64) if bool(table.published.all()) else None


def _only_sizes(tree: Tree) -> Tree:
    """Return a tree whose leaves say how many rows they have, whatever their class."""
    table = tree.nodes.counts
    if not table.by_class.any():
        return tree
    totals = table.totals.tolist()
    supports = [Support(None, t if p else None) for t, p in zip(totals, table.published.tolist(), strict=True)]
    return replace(tree, nodes=tree.nodes.counting(CountTable.of(supports)))


def remedies(
    release: Released,
    decimals: Sequence[int] = DECIMALS,
    trees: Sequence[int] = (),
    limits: Limits | None = None,
    seconds: float = SECONDS,
) -> pd.DataFrame:
    """Return how many rows boosted models still reveal if they are published otherwise, one line each.

    Columns: remedy (in words), decimals, trees (rounds; None: as published), rows, rows_known, labels_known (both
    proved; of several models the most), status (of the model that reveals most), seconds. The first line is the
    release as it is. Each line may take `seconds`, all together the limits. Raises as `rounded`.

    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.remedies(release, decimals=(3, 1))[["remedy", "rows_known"]]
                            remedy  rows_known
    0                 as published           4
    1  leaf values with 3 decimals           4
    2  leaf values with 1 decimals           2
    """
    release = single_release_of(release, limits)
    limits = limits or Limits()
    return table_of([remedied(release, one, limits, seconds) for one in remedies_of(decimals, trees)])


def remedies_of(decimals: Sequence[int] = DECIMALS, trees: Sequence[int] = ()) -> list[Remedy]:
    """Return what `remedies` tries."""
    out: list[Remedy] = [("as published", None, None)]
    out += [(f"leaf values with {k} decimals", k, None) for k in decimals]
    return [*out, *((f"the first {t} rounds of trees", None, t) for t in trees)]


def remedied(release: EncodedRelease, remedy: Remedy, limits: Limits, seconds: float = SECONDS) -> Line:
    """Return one line of `remedies`."""
    name, decimals, trees = remedy
    changed = release
    if decimals is not None:
        changed = rounded(release, decimals)
    elif trees is not None:
        changed = first_trees(release, trees)
    started = time.monotonic()
    found = _most_determined(determined(changed, limits.at_most(seconds)))
    known = (0, 0) if found is None else (found.known, found.with_label)
    status = "unknown" if found is None else found.status
    return name, decimals, trees, changed.rows.high, *known, status, round(time.monotonic() - started, 3)


def table_of(lines: Sequence[Line]) -> pd.DataFrame:
    """Return the lines of `remedies` as its table."""
    frame = pd.DataFrame(lines, columns=COLUMNS).astype({"decimals": "Int64", "trees": "Int64"})
    frame.attrs["sizes"] = "rows per leaf are published in all of them"
    return frame


def _most_determined(found: Sequence[Determined]) -> Determined | None:
    """Return the model that gives back most rows, None where none says anything of classes."""
    return max(found, key=lambda one: (one.with_label, one.known), default=None)
