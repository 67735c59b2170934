"""Survival forests of R's ranger in .rds and .RData files: trees with a cumulative hazard in every leaf.

The object has the times of all training rows, at which of them somebody left; of every leaf Σ d / n up to each of
them, of the rows that its tree drew. Sizes of leaves are not stored. In a tree that saw every row once
(`replace = FALSE, sample.fraction = 1`) hazards are a curve with sixteen digits of at most so many people as there are
rows; of rows drawn without replacement its numbers are least ones; of rows drawn with replacement an event proves one
row. A split sends values up to a midpoint, compared in double precision, to the left.

Source: ranger 0.12 to 0.17, src/TreeSurvival.cpp (`computeDeathCounts`, `createEmptyNodeInternal`),
src/ForestSurvival.cpp (`setUniqueTimepoints`), R/ranger.R.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Categorical, Value, plain_number
from encoders.models.models import Provenance, UnusedPublication
from encoders.models.nodes import UNPUBLISHED
from recon.readers.formats.drafts.binding import Feature
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.printed.rpart_rds import NOTHING, models_in, named_parts, vector
from recon.readers.formats.sklearn.trees.arrays import MAX_NODES, TreeArrays, only_sizes
from recon.readers.formats.sklearn.trees.draft import CategorySplit, CountedTree
from recon.readers.formats.sklearn.trees.survival import (
    BEGUN,
    CURVES,
    NAMED_ALIKE,
    SurvivalDraft,
    Times,
    node_curve,
)
from recon.readers.formats.statistics.survival_curves import EVENT, TIME, Curve
from recon.readers.stored.binary.rds import RObject
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

FORMAT = "R ranger object (.rds)"
LISTED = "hazards are at all times at which somebody left (time.interest was left out)"
ONCE = "every tree saw every row once (replace = FALSE, sample.fraction = 1)"
DRAWN = "each tree was fitted on rows drawn {} replacement"
Numbers = NDArray[np.float64]


def ranger_object(root: RObject) -> RObject | None:
    """Return the only survival forest of ranger in an R object, else None."""
    models = models_in(root)
    found = [one.value for one in models if "ranger" in one.value.classes]
    if len(found) != 1 or len(models) != 1:
        return None
    return found[0] if _text(named_parts(found[0]), "treetype") == "Survival" else None


def read_ranger_rds(value: RObject) -> Draft:
    """Return what a survival forest of ranger publishes. Cost: linear in nodes times training times.

    Raises `ReleaseError` naming the part that is broken, `Unsupported` for unordered splits and times that were chosen.
    """
    parts, call = named_parts(value), named_parts(named_parts(value).get("call", NOTHING))
    forest = named_parts(parts.get("forest", NOTHING))
    if not forest:
        raise Unsupported("the forest was not kept (write.forest = FALSE): it holds no trees")
    names = [str(v) for v in _vector(forest, "independent.variable.names")]
    if not names:
        raise Unsupported("a forest of ranger before 0.12 is not read: fit it with a later version")
    if "time.interest" in call:
        raise Unsupported("hazards at chosen times (time.interest) are not read: leave time.interest out")
    rows = _count(parts, "num.samples")
    times = _times(_numbers(forest, "unique.death.times"), rows)
    every = {name: _list(forest, name) for name in ("child.nodeIDs", "split.varIDs", "split.values", "chf")}
    if len({len(one) for one in every.values()}) > 1 or not every["chf"]:
        raise ReleaseError("has not as many links, tests and hazards as trees", place="m$forest")
    sets = _CategorySets(forest, names)
    counted, found = list[CountedTree](), list[tuple[int, int, Curve | None]]()
    for number, (children, columns, ends, hazards) in enumerate(zip(*every.values(), strict=True)):
        tree = _tree(children, columns, ends, sets, len(names), f"tree {number + 1}")
        counted.append(tree)
        found += [(number, k, c) for k, c in _leaf_curves(hazards, tree, times, rows, f"tree {number + 1}")]
    whole, replaced = _sampling(parts, call, len(counted), rows)
    if whole:  # every event shows in some leaf
        had = {t for _, _, curve in found if curve is not None for t in curve.times}
        times = tuple((t, t in had) for t, _ in times)
    return _draft(names, times, counted, found, sets, rows, whole, replaced, "inbag.counts" in parts)


def _draft(
    names: list[str], times: Times, trees: list[CountedTree], found: list[tuple[int, int, Curve | None]],
    sets: _CategorySets, rows: int, whole: bool, replaced: bool, bags: bool,
) -> SurvivalDraft:  # fmt: skip
    """Return the draft of trees and curves; `bags`: the object says how often each tree drew every row."""
    unused = []
    if not whole:
        why = "they are of drawn rows: that each event was somebody's in its leaf is stated, and no more"
        unused.append(
            UnusedPublication(CURVES, why if replaced else "of drawn rows: stated as least numbers", about="rows")
        )
    if bags and not whole:
        unused.append(UnusedPublication("inbag.counts", "how often each tree drew every row is not used", about="rows"))
    unused.append(UnusedPublication("predictions of rows (chf, survival)", "they are not used", about="rows"))
    if {TIME, EVENT} & set(names):
        found, times, unused = [], (), [UnusedPublication(CURVES, NAMED_ALIKE, about="rows")]
    hints = {TIME: Categorical(TIME, tuple(t for t, _ in times)), EVENT: Categorical(EVENT, (0, 1))} if times else {}
    notes = (ONCE,) if whole else (DRAWN.format("with" if replaced else "without"),)
    return SurvivalDraft(
        Provenance(FORMAT, ("size",) if whole else ("distinct",), (*notes, LISTED, BEGUN), unused=tuple(unused)),
        tuple(Feature(name, name) for name in (*names, *hints)),
        rows=RowCount(rows, rows),
        hints=hints,
        trees=tuple(trees),
        forest=len(trees) > 1 or not whole,
        resampled=not whole,
        replaced=replaced,
        sets=sets.pairs,
        curves=tuple(found),
        times=times,
    )


def _sampling(parts: dict[str, RObject], call: dict[str, RObject], trees: int, rows: int) -> tuple[bool, bool]:
    """Return whether every tree saw each row once, and whether rows were drawn with replacement."""
    told = parts.get("replace", NOTHING)
    replaced = not (told.kind == "logical" and list(vector(told, "replace")) in ([False], [0]))
    if "inbag.counts" in parts:
        bags = [vector(one, "inbag.counts") for one in _list(parts, "inbag.counts")]
        if len(bags) != trees or any(len(one) != rows for one in bags):
            raise ReleaseError(f"has not {rows:,} numbers for each of {trees} trees", place="m$inbag.counts")
        return all(v == 1 for one in bags for v in one), replaced
    share = call.get("sample.fraction", NOTHING)
    return (not replaced and share.kind in {"double", "integer"} and vector(share, "call") == [1]), replaced


def _times(found: Numbers, rows: int) -> Times:
    """Return the different times of the training rows; at which of them somebody had the event is not said."""
    if not 0 < len(found) <= rows or not np.isfinite(found).all() or (np.diff(found) <= 0).any():
        raise ReleaseError("has no ascending times, at most one for each row", place="m$forest$unique.death.times")
    return tuple((plain_number(Fraction(t)), None) for t in found.tolist())


@dataclass(frozen=True, eq=False)
class _CategorySets:
    """Factors of a forest: their levels in the order in which splits compare them; `pairs` as of `TreesDraft.sets`."""

    levels: dict[int, tuple[Value, ...]]
    pairs: dict[int, list[CategorySplit]]

    def __init__(self, forest: dict[str, RObject], names: list[str]) -> None:
        ordered = [bool(v) for v in _vector(forest, "is.ordered")] or [True] * len(names)
        stored = _list(forest, "covariate.levels") if "covariate.levels" in forest else [NOTHING] * len(names)
        if not len(names) == len(ordered) == len(stored):
            raise ReleaseError(f"has not one entry for each of {len(names)} columns", place="m$forest")
        if not all(ordered):
            name = names[ordered.index(False)][:60]
            raise Unsupported(
                f"splits of '{name}' into sets of levels are not read: fit it with respect.unordered.factors = 'order'"
            )
        held = {
            k: tuple(str(v) for v in vector(one, "levels")) for k, one in enumerate(stored) if one.kind != "nothing"
        }
        object.__setattr__(self, "levels", held)
        object.__setattr__(self, "pairs", {k: [] for k in held})

    def number(self, feature: int, end: float) -> float:
        """Return the threshold of a split: of factors the number of its pair of sets of levels."""
        if feature not in self.levels:
            return end
        levels, first = self.levels[feature], int(np.floor(end))
        if not 0 < first < len(levels):
            raise ReleaseError(f"has a split after level {end:g} of {len(levels)}", place="m$forest$split.values")
        self.pairs[feature].append((levels[:first], levels[first:]))
        return float(len(self.pairs[feature]) - 1)


def _tree(
    children: RObject, columns: RObject, ends: RObject, sets: _CategorySets, features: int, place: str
) -> CountedTree:
    """Return the arrays of one tree, whose nodes have no sizes."""
    links = (
        [np.array(_plain_numbers(one, place), dtype=np.int64) for one in children.values]
        if children.kind == "list"
        else []
    )
    at, values = np.array(_plain_numbers(columns, place)), np.array(_plain_numbers(ends, place))
    if len(links) != 2 or {len(one) for one in (*links, at, values)} != {len(at)} or not 0 < len(at) <= MAX_NODES:
        raise ReleaseError("has not as many links as tests", place=place)
    leaf = (links[0] == 0) & (links[1] == 0)
    feature = np.where(leaf, -1, at).astype(np.int64)
    if ((feature >= features) | (feature < 0) & ~leaf).any() or not np.isfinite(values[~leaf]).all():
        raise ReleaseError(f"tests columns that are none of the {features}, or has no threshold", place=place)
    numbers = zip(feature.tolist(), values.tolist(), strict=True)
    threshold = np.array([-2.0 if f < 0 else sets.number(f, end) for f, end in numbers])
    left, right = (np.where(leaf, -1, link) for link in links)
    none, one, size = np.zeros(len(at)), np.ones(len(at), dtype=np.int64), np.full(len(at), UNPUBLISHED, dtype=np.int64)
    arrays = TreeArrays(
        left, right, feature, threshold, none.astype(bool), none, one, one.astype(np.float64), none[:, None]
    )
    arrays.check(features, place)
    return CountedTree(arrays, only_sizes(size, 1, ""))


def _leaf_curves(
    hazards: RObject, tree: CountedTree, times: Times, rows: int, place: str
) -> list[tuple[int, Curve | None]]:
    """Return the leaves of a tree with their curves (None: nobody there had the event)."""
    stored = hazards.values if hazards.kind == "list" else ()
    if len(stored) != len(tree.arrays.leaf):
        raise ReleaseError("has not one list of hazards for every node", place=place)
    out: list[tuple[int, Curve | None]] = []
    for k in np.flatnonzero(tree.arrays.leaf).tolist():
        hazard = np.array(_plain_numbers(stored[k], place))
        if hazard.shape != (len(times),):
            raise ReleaseError(f"has not a hazard of node {k} at each of {len(times)} times", place=place)
        out.append((k, node_curve(hazard, None, times, rows, f"{place}, node {k}")))
    return out


def _plain_numbers(value: RObject, place: str) -> list[float]:
    found: list[Any] = vector(value, place)
    if not all(isinstance(v, (int, float)) for v in found):
        raise ReleaseError("has something else than numbers", place=place)
    return [float(v) for v in found]


def _vector(parts: dict[str, RObject], name: str) -> list[object]:
    return vector(parts[name], f"m$forest${name}") if name in parts else []


def _numbers(parts: dict[str, RObject], name: str) -> Numbers:
    return np.array(_plain_numbers(parts.get(name, NOTHING), f"m$forest${name}"), dtype=np.float64)


def _list(parts: dict[str, RObject], name: str) -> list[RObject]:
    found = parts.get(name, NOTHING)
    if found.kind != "list":
        raise ReleaseError("is no list", place=f"m$forest${name}")
    return list(found.values)


def _text(parts: dict[str, RObject], name: str) -> str:
    found = parts.get(name, NOTHING)
    return str(next(iter(found.values), "")) if found.kind == "character" else ""


def _count(parts: dict[str, RObject], name: str) -> int:
    found = _plain_numbers(parts.get(name, NOTHING), f"m${name}")
    if len(found) != 1 or not 0 < found[0] < 1 << 40 or found[0] != int(found[0]):
        raise ReleaseError("is no number of rows", place=f"m${name}")
    return int(found[0])
