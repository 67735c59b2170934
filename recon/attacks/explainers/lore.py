"""LORE: why one decision, by a local tree: the rule that a record meets and those that it just misses.

One tree from several local explanations: of one record (stable) or of many (a global surrogate from local ones).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recon.attacks.explainers.neighbourhood import Breeding, Neighbourhood, bred_neighbourhoods
from recon.attacks.explainers.sampling import fitted_tree
from recon.attacks.explainers.surrogate import Box, Surrogate
from recon.queries.inputs import Floats, Ints, RecordColumns, Target
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

Rule = Mapping[str, Any]  # the conditions of a release file: {column: test}


@dataclass(frozen=True)
class Counterfactual:
    """A rule of another class: all its conditions, those of them that the record does not meet, and its class."""

    rule: Rule
    unmet: Rule
    label: int


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a black box decides as it does about a record, as far as a local tree tells.

    `surrogate`: the local tree. `rule`: the conditions of the record's path. `label`: what the rule concludes, the
    tree's prediction; `said`: what the black box says. `counterfactuals`: the leaves of other classes that miss the
    record by the fewest conditions. `fidelity`: the share of `neighbourhood` of which tree and black box say the same.
    """

    surrogate: Surrogate
    rule: Rule
    label: int
    said: int
    counterfactuals: tuple[Counterfactual, ...]
    fidelity: float
    neighbourhood: Neighbourhood

    @property
    def queries(self) -> int:
        """Return how many rows the black box was asked about."""
        return self.neighbourhood.queries

    def released(self, x: Floats, y: Ints) -> dict[str, Any]:
        """Return the rule as one of a release file's `rule_set`, with the number of rows of each class that meet it.

        `x` (rows, columns) and `y` (rows,) are what the counts are of: the data a black box was trained on, where an
        explanation is published with the support of its rule. Without counts a rule says nothing of those data.
        """
        inside = self.surrogate.leaf(x) == self.surrogate.leaf(self.neighbourhood.record[None, :])
        return {"if": dict(self.rule), "counts": np.bincount(y[inside], minlength=self.surrogate.classes).tolist()}

    @property
    def hit(self) -> bool:
        """Return whether the local tree says of the record itself what the black box says."""
        return self.label == self.said


def lore(target: Target, record: Floats, x: Floats, columns: RecordColumns, classes: int, *, seed: int,
         size: int = 1000,
         generations: int = 10, neighbourhoods: int = 1, max_depth: int | None = None, min_leaf: int = 2,
         limits: Limits | None = None) -> Explanation:  # fmt: skip
    """Return the explanation of what a black box says of a record (d,); x (m, d) are rows of the data.

    `size` neighbours are bred in `generations` (see `bred_neighbourhoods`), and a decision tree of depth
    `max_depth` with `min_leaf` neighbours in a leaf is fitted to what the black box says of them. `neighbourhoods`
    above 1 is the stable version: so many are bred independently, and one tree is fitted to them all (see `merging`
    for why). Where all neighbours are of one class the tree is one leaf, its rule has no condition and there is no
    counterfactual. The record itself is no neighbour, so that the tree may say something else of it (`hit`).

    Source: Guidotti et al. 2018, 2019 (LORE); Guidotti et al., Data Mining and Knowledge Discovery 2022 (several
    neighbourhoods). Theirs fits C4.5 with pruning; here scikit-learn's tree, held small by `min_leaf`.

    Raises `ReleaseError` (no rows, other columns, settings out of range), `Unsupported` without scikit-learn,
    `Inconclusive` by `limits`. Cost: at most `size` * `generations` * `neighbourhoods` queries.
    """
    one = np.asarray(record, dtype=np.float64).reshape(1, -1)
    return lores(target, one, x, columns, classes, seed=seed, size=size, generations=generations,
                 neighbourhoods=neighbourhoods, max_depth=max_depth, min_leaf=min_leaf, limits=limits)[0]  # fmt: skip


def lores(target: Target, records: Floats, x: Floats, columns: RecordColumns, classes: int, *, seed: int,
          size: int = 1000,
          generations: int = 10, neighbourhoods: int = 1, max_depth: int | None = None, min_leaf: int = 2,
          limits: Limits | None = None) -> list[Explanation]:  # fmt: skip
    """Return the explanations of several records (r, d), as `lore` gives one, in less time: queries are shared.

    The first one is that of `lore` with the same seed, the k-th does not depend on the others either (`queries` apart).
    """
    if neighbourhoods < 1 or min_leaf < 1:
        raise ReleaseError(f"neighbourhoods {neighbourhoods} and min_leaf {min_leaf} must be positive")
    rows = np.atleast_2d(np.asarray(records, dtype=np.float64))
    seeds = [(seed, i, k) for i in range(len(rows)) for k in range(neighbourhoods)]
    around = bred_neighbourhoods(target, np.repeat(rows, neighbourhoods, axis=0), x, columns, classes, seeds=seeds,
                   breeding=Breeding(size, generations), limits=limits)  # fmt: skip
    groups = [around[i : i + neighbourhoods] for i in range(0, len(around), neighbourhoods)]
    return [_explanation(one[0].united(one[1:]), columns, classes, seed, max_depth=max_depth, min_leaf=min_leaf)
            for one in groups]  # fmt: skip


def _explanation(around: Neighbourhood, columns: RecordColumns, classes: int, seed: int, **limited: Any) -> Explanation:
    """Return what a tree fitted to a neighbourhood says of its record; `limited`: `max_depth`, `min_leaf`."""
    if not len(around.x):  # every column is constant: nothing but the record itself
        alone = Neighbourhood(around.record, around.said, around.record[None, :], np.array([around.said]), 0)
        around = around.united([alone])
    min_leaf = max(1, min(limited.pop("min_leaf", 1), len(around.x)))
    tree = fitted_tree(around.x, around.labels, random_state=seed, min_samples_leaf=min_leaf, **limited)
    surrogate = Surrogate.of(tree, "lore", columns, classes, around.queries)
    fidelity = surrogate.accuracy(around.x, around.labels)
    rule, label, others = _explained(surrogate, around.record)
    return Explanation(surrogate, rule, label, around.said, others, fidelity, around)


def _explained(surrogate: Surrogate, record: Floats) -> tuple[Rule, int, tuple[Counterfactual, ...]]:
    """Return the rule of a record in a tree of single tests, its class, and the nearest rules of other classes.

    Nearest are those with the fewest columns whose condition the record does not meet (tests of one column on a path
    are one condition, or one at each end); of several such leaves all are returned, in the order of the tree.
    """
    boxes = _leaf_boxes(surrogate)
    own = int(surrogate.leaf(record[None, :])[0])
    says = {leaf: int(np.argmax(surrogate.inner[leaf].shares)) for leaf in boxes}
    unmet = {leaf: [k for k, (above, most) in box.items() if not above < record[k] <= most]
             for leaf, box in boxes.items() if says[leaf] != says[own]}  # fmt: skip
    fewest = min(map(len, unmet.values()), default=0)
    others = tuple(Counterfactual(_conditions(boxes[leaf], surrogate.columns),
                                  _conditions({k: boxes[leaf][k] for k in missed}, surrogate.columns), says[leaf])
                   for leaf, missed in unmet.items() if len(missed) == fewest)  # fmt: skip
    return _conditions(boxes[own], surrogate.columns), says[own], others


def _leaf_boxes(surrogate: Surrogate) -> dict[int, Box]:
    """Return the leaves of a tree of single tests with the box of each: column -> (above, at most)."""
    found: dict[int, Box] = {}
    boxes: dict[int, Box] = {0: {}}
    for k, node in enumerate(surrogate.inner):
        if node.test is None:
            found[k] = boxes[k]
            continue
        if len(node.test.literals) != 1:
            raise ReleaseError(f"node {k} of the {surrogate.kind} tree has an m-of-n test: its paths are no rules")
        literal = node.test.literals[0]
        boxes[node.then], boxes[node.other] = literal.within(boxes[k], True), literal.within(boxes[k], False)
    return found


def _conditions(box: Box, columns: RecordColumns) -> Rule:
    """Return a box as conditions of a release file: 0 or 1 for bits, one or two ends for numbers."""
    found: dict[str, Any] = {}
    for k, (above, most) in box.items():
        if not columns.continuous[k]:
            found[columns.names[k]] = int(above >= 0)
            continue
        ends = {"above": above, "at_most": most}
        found[columns.names[k]] = {name: end for name, end in ends.items() if np.isfinite(end)}
    return found


def merged_tree(explanations: Sequence[Explanation], *, seed: int = 0, max_depth: int | None = None,
           max_leaves: int | None = None, min_leaf: int = 2) -> Surrogate:  # fmt: skip
    """Return one decision tree fitted to the neighbourhoods of all explanations together.

    A row that stands in several neighbourhoods counts that often: what lies near several explained records weighs
    more. The black box is not asked again, every neighbourhood keeps what it said. `queries`: of all explanations.

    Guidotti et al. 2022 merge the trees themselves, as tables of their leaves that are intersected and then fitted
    again. That needs thresholds for coverage and precision which neither paper gives, and its tree answers, where
    leaves overlap, by votes of trees outside of their own neighbourhoods. Fitting to the union instead says of every
    neighbour what the black box said, has no thresholds, and with k neighbourhoods of one record is LORE with a
    sample k times as large, which is what makes it stable. Cost: one fit.

    Raises `ReleaseError` where there is no explanation or they are of different columns, `Unsupported` without
    scikit-learn.
    """
    if not explanations:
        raise ReleaseError("there are no explanations to merge")
    columns, classes = explanations[0].surrogate.columns, explanations[0].surrogate.classes
    for k, one in enumerate(explanations):
        if (one.surrogate.columns, one.surrogate.classes) != (columns, classes):
            raise ReleaseError(f"explanation {k} is of other columns or classes than explanation 0")
    x = np.concatenate([one.neighbourhood.x for one in explanations])
    said = np.concatenate([one.neighbourhood.labels for one in explanations])
    tree = fitted_tree(x, said, random_state=seed, max_depth=max_depth, max_leaf_nodes=max_leaves,
                       min_samples_leaf=max(1, min(min_leaf, len(x))))  # fmt: skip
    return Surrogate.of(tree, "lore merged", columns, classes, sum(one.queries for one in explanations))
