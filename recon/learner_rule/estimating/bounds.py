"""A rigorous upper bound on the worlds under a learner's rule from some of its conditions: columns, nodes, models.

Every condition only takes worlds away. Of a tree over independent attributes those on the binary columns are counted
exactly, whatever the other attributes are, so that their share bounds the share of all. The worlds of several models
are worlds of each of them, so that the least bound of any holds. Proved in docs/mathematics.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.encode.encoder import EncodedRelease, encode
from encoders.models.learner_facts import Learner
from encoders.models.models import AnyModel
from recon.learner_rule.chosen_model import greedy_rule
from recon.learner_rule.estimating.estimates import assumed, learner_of_tree
from recon.learner_rule.estimating.fitted_tree import FittedTree, WorldsUpperBound, grown_of
from recon.queries.answers.counting import count
from recon.readers.loading.settled import strengthened_release
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.greedy.gains import check_choice
from solvers.greedy.states import Mask, StateWindow
from solvers.greedy.tree_counts import CUTS, ChoiceConditions, Passes, check_tree

Bits = tuple[float, float]


@dataclass(eq=False)
class PartialConditions(ChoiceConditions):
    """The conditions at some nodes only; the others leave every state."""

    nodes: Collection[int] = ()

    def split(self, node: int, window: StateWindow) -> Mask:
        """Return where in a window the split of an inner node stands; everywhere at a node that is not asked about."""
        return super().split(node, window) if node in self.nodes else np.ones(window.mass.shape, dtype=bool)

    def leaf(self, node: int) -> Mask | None:
        """Return which states of a leaf are left, None where all are."""
        return super().leaf(node) if node in self.nodes else None


def worlds_at_most(
    release: EncodedRelease,
    learner: Learner,
    limits: Limits,
    columns: Sequence[str] | None = None,
    nodes: Sequence[int] | None = None,
) -> WorldsUpperBound:
    """Return a rigorous upper bound on the worlds (`ordered`) in which the learner could have chosen the models.

    Used are the conditions on `columns` (None: all that are independent bits) at `nodes` (None: all; node numbers of
    the one model), of trees with two classes; other attributes may have any values, continuous ones too as long as the
    release itself has a number of worlds. Raises `Unsupported` where no condition can be used, saying why of the first
    model; `ReleaseError` for a column or node that is not there; `ContradictionError` where nothing is left.
    """
    if nodes is not None and len(release.models) != 1:
        raise ReleaseError(f"nodes are of one model, and there are {len(release.models)}")
    bits = _ordered_bounds(release, limits)
    most, share, used, refused = bits[1], None, tuple[str, ...](), list[Unsupported]()
    for model in release.models:
        try:
            grown = grown_of(release, model, learner_of_tree(model, learner))
            found, used = _share_at_most(grown, limits, columns, nodes)
        except Unsupported as error:
            refused.append(error)
            continue
        alone = bits[1] if len(release.models) == 1 else _ordered_bounds(_alone_of(release, model), limits)[1]
        most = min(most, alone + found)
        share = found if len(release.models) == 1 else None
    if len(refused) == len(release.models):
        raise refused[0]
    where = None if nodes is None else tuple(nodes)
    return WorldsUpperBound(learner, bits, most, share, used, where, assumed(release, learner))


def _share_at_most(
    grown: FittedTree, limits: Limits, columns: Sequence[str] | None, nodes: Sequence[int] | None
) -> tuple[float, tuple[str, ...]]:
    """Return log2 of the share that conditions on some binary columns at some nodes leave at most, and the columns."""
    names = [grown.seen[k].names[0] for k in grown.bits]
    if missing := [name for name in columns or () if name not in names]:
        raise ReleaseError(f"'{missing[0]}' is not an independent binary column that the learner saw")
    if missing_nodes := [node for node in nodes or () if not 0 <= node < len(grown.left)]:
        raise ReleaseError(f"node {missing_nodes[0]} is not there: the tree has {len(grown.left)}")
    asked = [i for i, name in enumerate(names) if columns is None or name in columns]
    if not asked:
        raise Unsupported("no column is an independent bit: an estimate is all there is (estimated_share)")
    tree, rule = grown.chosen, greedy_rule(grown.learner, grown.chosen)
    check_tree(tree, max(len(names), int(tree.column.max(initial=-1)) + 1))
    check_choice(tree, rule)
    every = range(len(grown.left)) if nodes is None else nodes
    passes = Passes(PartialConditions(tree, rule, False, True, nodes=frozenset(every)), *CUTS[0], limits)
    used, total, shared = set(tree.column.tolist()), 0.0, None
    for i in asked:
        if i in used or shared is None:
            found = passes.column(i)
            if found.nothing_at is not None:
                line = f"node {found.nothing_at}: whatever column {names[i]} holds there, another split is chosen"
                raise ContradictionError(f"the learner cannot have chosen the tree: {line}", (line,))
            high = found.log2[1]
            shared = high if i not in used else shared
        else:
            high = shared
        total += high
    return min(0.0, total + len(asked) * 2.0**-50 * abs(total)), tuple(names[i] for i in asked)


def _alone_of(release: EncodedRelease, model: AnyModel) -> EncodedRelease:
    """Return the release of one of several models about the same rows."""
    return encode(release.domain, (model,), release.declared)


def _ordered_bounds(release: EncodedRelease, limits: Limits) -> Bits:
    """Return bounds on log2 of the ordered worlds; `ContradictionError` where there is none."""
    answer = count(strengthened_release(release, limits), "ordered", limits)
    if answer.status == "unsat":
        raise ContradictionError("the statements contradict each other", tuple(answer.conflict))
    return max(0.0, answer.bounds[0]), answer.bounds[1] if answer.bounds[1] is not None else math.inf
