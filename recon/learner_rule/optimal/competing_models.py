"""Labelled models that the learner could have chosen instead, and the inequality that each of them proves.

An optimal model makes at most as many training errors as any other model of its class. Over all data sets that agree
with the release the errors of the released model are one number, its leaves' counts say it; those of a labelled
alternative are the rows outside the boxes where it is right: all rows of some boxes minus boxes, so that
`errors(released) - gap <= errors(alternative)` is a statement like those of a release.

The named optimal learner, asked on one data set: the model with the fewest errors in the class, proved or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from encoders.domain.domain import Condition
from encoders.domain.values import equals
from encoders.encode.encoder import NO_LEARNER, EncodedRelease, reassembled
from encoders.models.models import GroupQuestion
from recon.learner_rule.optimal.classes import ModelClass
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier, trees_by_leaves
from recon.learners.optimal.trees.table import TreeNode
from recon.learners.rule_lists.estimator import Antecedent, Counts
from recon.readers.frames.world import World
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box, Region
from solvers.statements.release import UNBOUNDED, Loose, Statement

Leaf = tuple[Antecedent, int]  # literals (column, 0 or 1) and the class (label index) given to the rows that meet them


@dataclass(frozen=True)
class Alternative:
    """A labelled model as disjoint conjunctions that cover all rows, and the errors it makes at least (`least`).

    `kind`: tree or rule list.
    """

    kind: str
    leaves: tuple[Leaf, ...]
    least: int

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that it tests, each once."""
        return tuple(dict.fromkeys(name for literals, _ in self.leaves for name, _ in literals))

    def renamed(self, names: dict[str, str]) -> Alternative:
        """Return the same model over other columns."""
        leaves = tuple((tuple((names.get(n, n), v) for n, v in found), label) for found, label in self.leaves)
        return replace(self, leaves=leaves)

    def errors(self, x: pd.DataFrame, y: pd.Series) -> int:
        """Return how many rows of binary columns `x` with label indices `y` the model gets wrong."""
        right = 0
        for literals, label in self.leaves:
            met = y.to_numpy() == label
            for name, value in literals:
                met &= x[name].to_numpy() == value
            right += int(met.sum())
        return len(y) - right

    def source(self) -> str:
        """Return where its inequality comes from, in words."""
        shown = "; ".join(
            f"{' and '.join(f'{n} = {v}' for n, v in literals) or 'everybody'}: class {label}"
            for literals, label in self.leaves
        )
        return f"the learner's optimality, no fewer than {self.least} errors by the {self.kind} [{shown}]"


@dataclass(frozen=True)
class AssumedCount:
    """A further assumption: between `low` and `high` rows meet a condition."""

    condition: Condition
    low: int
    high: int


def _of_tree(nodes: Sequence[TreeNode], columns: Sequence[str], order: Sequence[int], least: int) -> Alternative:
    """Return a fitted tree (`order`: the label index of its classes) as an alternative; ties: the first class."""
    leaves: list[Leaf] = []
    stack: list[tuple[int, Antecedent]] = [(0, ())]
    while stack:
        at, path = stack.pop()
        node = nodes[at]
        if node.column is None:
            leaves.append((path, order[node.counts.index(max(node.counts))]))
            continue
        name = columns[node.column]
        stack += [(node.one, (*path, (name, 1))), (node.zero, (*path, (name, 0)))]
    return Alternative("tree", _merged_leaves(leaves), least)


def _of_list(rules: Sequence[tuple[Antecedent, Counts]], order: Sequence[int], least: int) -> Alternative:
    """Return a fitted rule list, the default rule last, as an alternative; ties: the first class."""
    leaves: list[Leaf] = []
    left: list[Antecedent] = [()]
    for antecedent, counts in rules:
        label = order[list(counts).index(max(counts))]
        leaves += [(both, label) for rest in left if (both := _conjunction(rest, antecedent)) is not None]
        left = [piece for rest in left for piece in without(rest, antecedent)]
    return Alternative("rule list", tuple(leaves), least)


def _conjunction(one: Antecedent, other: Antecedent) -> Antecedent | None:
    """Return the conjunction of two conjunctions, None where it contradicts itself."""
    held = dict(one)
    for name, value in other:
        if held.setdefault(name, value) != value:
            return None
    return tuple(held.items())


def without(rest: Antecedent, antecedent: Antecedent) -> list[Antecedent]:
    """Return disjoint conjunctions of the rows that meet `rest` and not the antecedent."""
    out: list[Antecedent] = []
    held = dict(rest)
    for name, value in antecedent:
        if held.get(name) == 1 - value:
            return [*out, tuple(held.items())]
        if name in held:
            continue
        out.append((*held.items(), (name, 1 - value)))
        held[name] = value
    return out


def _merged_leaves(leaves: Iterable[Leaf]) -> tuple[Leaf, ...]:
    """Return leaves where those that differ by their last test and agree in the class are one."""
    found = list(leaves)
    while True:
        for i, (path, label) in enumerate(found):
            if path:
                twin = ((*path[:-1], (path[-1][0], 1 - path[-1][1])), label)
                if twin in found:
                    found = [leaf for leaf in found if leaf not in (twin, found[i])] + [(path[:-1], label)]
                    break
        else:
            return tuple(sorted(found))


def under(
    release: EncodedRelease,
    alternatives: Sequence[Alternative],
    assumed: Sequence[AssumedCount] = (),
    learner: str = "",
) -> EncodedRelease:
    """Return the release with the inequalities of alternatives (and what is `assumed`) among its statements.

    Rebuilt from the models and the alternatives alone, so that whoever holds both can check a proof that rests on
    them. `learner`: the assumption in words. Cost: that of encoding.
    """
    tested = sorted({name for a in alternatives for name in a.columns})
    questions: list[Any] = [GroupQuestion(((name, equals(1)),)) for name in tested]
    questions += [GroupQuestion(one.condition) for one in assumed]
    found = reassembled(release, questions, "the learner's rule", facts=None)
    box = {name: {v: found.cut.box(release.domain.resolve(((name, equals(v)),))) for v in (0, 1)} for name in tested}
    label = len(release.domain.all) - 1
    high = UNBOUNDED if release.rows.high is None else release.rows.high
    members = []
    for one in alternatives:
        right = [
            Box.of([*(p for n, v in literals for p in box[n][v].literals), (label, 1 << where)])
            for literals, where in one.leaves
        ]
        region = Region(Box(), tuple(b for b in right if not b.empty))
        members.append(Statement.count(region, one.least, high, one.source()))
    for said in assumed:
        region = Region(found.cut.box(release.domain.resolve(said.condition)))
        members.append(Statement.count(region, said.low, min(said.high, high), "what is asked of a profile"))
    statements = found.statements
    published = statements.blocks[: len(statements.blocks) - len(questions)]
    notes = tuple(learner if line == NO_LEARNER and learner else line for line in release.assumptions)
    blocks = (*published, Loose(tuple(members))) if members else published
    statements = replace(statements, blocks=blocks, assumptions=notes, loosened=release.statements.loosened)
    return replace(release, cut=found.cut, statements=statements)


Solver = Literal["own", "streed"]
NAMES = {"own": "recon's dynamic program over trees", "streed": "STreeD", "lists": "recon's search for rule lists"}


@dataclass(frozen=True)
class BestFound:
    """The best model found on a data set: its errors, itself, whether no model of the class is proved to make fewer.

    `solver`: who says so, in words.
    """

    errors: int
    model: Alternative
    proved: bool
    solver: str


def training_table(release: EncodedRelease, world: World, models: ModelClass) -> tuple[pd.DataFrame, pd.Series]:
    """Return a world's binary columns and labels (label indices)."""
    frame = world.to_frame(views=True)
    label = release.domain.label
    assert label is not None
    values = [label.value(i) for i in range(label.span[1])]
    codes = frame[label.name].map({v: i for i, v in enumerate(values)}).astype(np.int64)
    return frame[list(models.columns)].astype(np.int64), codes


def best_on(x: pd.DataFrame, y: pd.Series, models: ModelClass, limits: Limits, solver: Solver = "own") -> BestFound:
    """Return the model of the class with the fewest errors on rows `x` of binary columns with label indices `y`.

    Raises `Inconclusive` where limits end the search before any model was found, `Unsupported` without pystreed
    ("streed"). Cost: that of the learner.
    """
    limits.check("the named learner was asked for a better model")
    limits = limits.stage("better model")
    if models.kind == "rule list":
        fitted = OptimalRuleListClassifier(models.length, 0.0, models.negations, width=models.width).fit(
            x, y, limits=limits
        )
        order = [int(c) for c in fitted.classes_]
        found = _of_list(fitted.rules_, order, models.least)
        return BestFound(fitted.errors_, found, bool(fitted.optimal_), NAMES["lists"])
    if models.leaves is not None:
        return _sized_tree(x, y, models, limits)
    if models.depth == 0:
        return _majority(y, models)
    tree = OptimalTreeClassifier(models.depth, 1, solver=solver).fit(x, y, limits)
    return _of_fitted(tree, models)


def _of_fitted(tree: OptimalTreeClassifier, models: ModelClass) -> BestFound:
    order = [int(c) for c in tree.classes_]
    model = _of_tree(tree.nodes_, [str(n) for n in tree.feature_names_in_], order, models.least)
    return BestFound(tree.errors_, model, bool(tree.optimal_), NAMES[tree.certified_by_ or "own"])


def _majority(y: pd.Series, models: ModelClass) -> BestFound:
    """Return the model that gives everybody the commonest class."""
    counts = np.bincount(y, minlength=models.labels)
    model = Alternative(models.kind, (((), int(counts.argmax())),), models.least)
    return BestFound(int(counts.sum() - counts.max()), model, True, NAMES["own"])


def _sized_tree(x: pd.DataFrame, y: pd.Series, models: ModelClass, limits: Limits) -> BestFound:
    """Return the best tree with so many leaves at most; its depth follows from the leaves."""
    assert models.leaves is not None
    best = _majority(y, models)
    if models.leaves < 2:
        return best
    for sized in trees_by_leaves(x, y, models.leaves, 1, limits=limits):
        if sized.errors < best.errors:
            best = _of_fitted(sized.fewest_tree, models)
    return best
