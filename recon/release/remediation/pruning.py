"""Trees and rule lists as binary trees of groups, and the models that are left where inner nodes became leaves.

A rule list is a tree as well: every rule parts those it captures from those that go on to the next rule.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease, encode, reassembled
from encoders.models.models import AnyModel, Forest, PublishedModel, Rule, RuleList, Tree, unsupported
from encoders.models.nodes import CountTable, Nodes, Support
from solvers.engines.figures.partition import PartitionFigures
from solvers.foundation.displayed import quote
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.structures import BinaryTree
from solvers.statements.release import ANY_LABEL

EXACT_TREE = "exact: dynamic programming over the nodes of the tree; no fewer merges meet the policy"
EXACT_LIST = (
    "exact over all prefixes: the shortest run of last rules merged into the default; merging other rules is not tried"
)
EACH_TREE = (
    "exact: rules about single groups concern each tree alone, so each is merged alone by dynamic programming over its "
    "nodes; rules about all people need no more; no fewer merges meet the policy"
)
RESAMPLED = (
    "greedy: each tree counts a resample, so each is merged alone until its groups hold enough different rows of it; "
    "fewer merges may do"
)
GREEDY = (
    "greedy: each tree alone meets the rules about single groups with the fewest merges (exact); then the most exposed "
    "pairs of leaves are merged first, as many as the rules about all people need; fewer merges may do"
)
GREEDY_TREE = (
    "greedy: the exact search was too large for so many rules about all people; the pairs of leaves whose merge "
    "repairs most are merged first; fewer merges may do"
)


Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupTree:
    """A binary tree of groups; node 0 is the root.

    `children` (nodes, 2), -1 for leaves; `order`: inner nodes, children before parents. Per node `leaves` (how many
    below or at it), `rows`, and `cells`: (rows, raw rows that fit) per class in the order of the classes, or one for
    any class (`by_class` False).
    """

    tree: BinaryTree
    leaves: tuple[int, ...]
    rows: tuple[int, ...]
    cells: tuple[tuple[tuple[int, int], ...], ...]
    by_class: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.leaves)

    @property
    def children(self) -> Ints:
        """Return (nodes, 2) children, -1 for leaves."""
        return self.tree.children

    @cached_property
    def order(self) -> list[int]:
        """Return the inner nodes, children before their parents."""
        return self.tree.upwards

    def below(self, collapsed: Collection[int]) -> NDArray[np.bool_]:
        """Return which nodes go where these become leaves: those below one of them."""
        return self.tree.below(collapsed)


@singledispatch
def links_of(model: PublishedModel) -> Ints:
    """Return (nodes, 2) children, -1 for leaves; of a rule list node j is rule j with its successors, last the rules.

    `Unsupported` for a rule list that does not count those whom no rule captures, and for other kinds.
    """
    raise unsupported(model, "it has no leaves with parents to merge")


@links_of.register(Tree)
def _(model: Tree) -> Ints:
    inner = model.nodes.inner
    children = model.nodes.children.astype(np.int64).copy()
    children[~inner] = -1
    return children


@links_of.register(RuleList)
def _(model: RuleList) -> Ints:
    m = len(model.rules)
    if not m or model.rules[-1].condition:
        raise Unsupported(
            f"the rule list '{quote(model.name, 80)}' has no default rule with a count: rules cannot be merged into "
            "it; add one ('if': {}) that counts the rows which no rule captures"
        )
    children = np.full((2 * m - 1, 2), -1, dtype=np.int64)
    for j in range(m - 1):  # node j < m - 1: rule j against the rest; the last one is the default itself
        children[j] = (m + j, j + 1)
    return children


def groups_of(model: Tree | RuleList, domain: Domain, limits: Limits, sized: bool = True) -> GroupTree:
    """Return the groups of a tree or rule list with exact counts, their sizes as the audit knows them.

    `sized`: rules ask for sizes; then `Unsupported` is raised where those are only known between bounds, or not at all.
    Cost: that of encoding, and linear in nodes and classes.
    """
    children = links_of(model)
    statements = encode(domain, [model]).statements
    figures = PartitionFigures.of(statements, limits)
    if sized and (not figures.exact or statements.domain.relative):
        raise Unsupported(
            f"how many different rows fit each group of '{quote(model.name, 80)}' is not known exactly: merges cannot "
            "be counted; give a domain whose attributes have a smallest step (--domain)"
        )
    leaf = np.flatnonzero(children[:, 0] < 0)
    place = leaf if model.members() else _rule_places(model.groups())
    counts, sizes, vector = _figure_columns(figures)
    cells: list[Any] = [None] * len(children)
    by_class = [False] * len(children)
    for region, (own, classes) in enumerate(_joined_cells(counts, sizes, vector, len(place))):
        cells[int(place[region])], by_class[int(place[region])] = own, classes
    tree = BinaryTree(children, children[:, 0] >= 0)
    leaves = [1] * len(children)
    for i, v in enumerate(tree.upwards):
        if i % 1024 == 0:
            limits.check("groups were added up")
        a, b = children[v].tolist()
        leaves[v] = leaves[a] + leaves[b]
        by_class[v] = by_class[a] and by_class[b]
        pairs: list[Any] = [cells[c] if by_class[v] else (_class_totals(cells[c]),) for c in (a, b)]
        cells[v] = tuple((c + d, s + t) for (c, s), (d, t) in zip(*pairs, strict=True))
    rows = tuple(_class_totals(one)[0] for one in cells)
    return GroupTree(tree, tuple(leaves), rows, tuple(cells), tuple(by_class))


def _rule_places(rules: int) -> Ints:
    """Return the node of every rule of a list: the last is the end of the spine."""
    return np.array([*range(rules, 2 * rules - 1), rules - 1], dtype=np.int64)


def _figure_columns(figures: PartitionFigures) -> tuple[list[tuple[int, int]], Sequence[int], Ints]:
    """Return region and label of every cell, its size, and its rows."""
    found = [figures.cell(s) for s in range(len(figures.sizes))]
    return [(c.region, c.label) for c in found], figures.sizes, figures.minimum


def _joined_cells(
    places: Sequence[tuple[int, int]], sizes: Sequence[int], rows: Ints, regions: int
) -> list[tuple[tuple[tuple[int, int], ...], bool]]:
    """Return per region (rows, size) of its classes, and whether they are classes."""
    found: list[list[tuple[int, int, int]]] = [[] for _ in range(regions)]
    for (region, label), size, count in zip(places, sizes, rows.tolist(), strict=True):
        found[region].append((label, count, size))
    return [(tuple((c, s) for _, c, s in sorted(one)), one[0][0] != ANY_LABEL) for one in found]


def _class_totals(pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the rows and the size of all classes together."""
    return sum(c for c, _ in pairs), sum(s for _, s in pairs)


def pruned(model: Tree, collapsed: Sequence[int]) -> tuple[Tree, Ints]:
    """Return the tree in which these nodes are leaves that count what was below them, and the nodes that were kept.

    Nodes keep their order. Counts are sums; conditions that nobody tests any more are not in it.
    """
    nodes = model.nodes
    children = links_of(model)
    tree = BinaryTree(children, children[:, 0] >= 0)
    chosen = np.zeros(len(children), dtype=bool)
    chosen[list(collapsed)] = True
    kept = np.flatnonzero(~tree.below(collapsed))
    number = np.full(len(children), -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    now_leaf = chosen[kept]
    condition = np.where(now_leaf, -1, nodes.condition[kept])
    links = np.where(children[kept] >= 0, number[children[kept]], -1)
    links[now_leaf] = -1
    supports = list(nodes.counts.take(kept))
    for i in np.flatnonzero(now_leaf).tolist():
        supports[i] = _summed([nodes.counts[v] for v in tree.leaves_below(int(kept[i]))])
    names = tuple(nodes.names[i] for i in kept.tolist()) if nodes.names else ()
    learnt = nodes.learnt
    if learnt is not None:
        threshold = np.where(now_leaf, np.nan, learnt.threshold[kept])
        learnt = replace(learnt, feature=np.where(now_leaf, -1, learnt.feature[kept]), threshold=threshold)
    found = Nodes(nodes.conditions, condition.astype(np.int64), links, CountTable.of(supports), names, learnt)
    return replace(model, nodes=found.translated(lambda same: same)), kept


def _summed(found: Sequence[Support]) -> Support:
    """Return what groups count together: classes where all say them, else rows."""
    each = [s.distinct for s in found]
    distinct = None if any(d is None for d in each) else sum(d for d in each if d is not None)
    classes = [s.counts for s in found if s.counts is not None]
    if len(classes) == len(found) and len({len(c) for c in classes}) == 1:
        return Support(tuple(sum(column) for column in zip(*classes, strict=True)), None, distinct)
    return Support(None, sum(s.total or 0 for s in found), distinct)


def shortened(model: RuleList, collapsed: Sequence[int]) -> RuleList:
    """Return the rule list whose rules from the first collapsed node of `links_of` on are its default."""
    if not collapsed:
        return model
    first = min(collapsed)
    default = Rule((), _summed([r.support for r in model.rules[first:]]), model.rules[-1].name)
    return replace(model, rules=(*model.rules[:first], default))


def alone(forest: Forest, number: int) -> Tree:
    """Return one tree of a forest as a release of its own: of a resample it counts how many different rows it saw."""
    tree = forest.trees[number]
    if not forest.resampled:
        return tree
    supports = [s if s.distinct is None else Support(None, s.distinct) for s in tree.nodes.leaf_counts]
    return replace(tree, nodes=tree.nodes.counting_leaves(supports))


class NoMerging(Unsupported):
    """No merging meets the policy: even one leaf, or one rule, violates it."""


@dataclass(frozen=True, eq=False)
class Merging:
    """A release whose leaves were merged until it meets a policy.

    `merges`: how many pairs of leaves became one. `exact`: whether no fewer do; `how` says why, or that it is greedy.
    `collapsed`: per tree the nodes (numbers of the released model) that became leaves; of a rule list the rule from
    which on rules are merged into the default. `before`, `after`: figures, see
    `recon.release.remediation.thresholds.figures_of`.
    """

    release: EncodedRelease
    merges: int
    exact: bool
    how: str
    collapsed: tuple[tuple[int, ...], ...]
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def leaves(self) -> int:
        """Return how many leaves or rules are left."""
        return self.release.models[0].groups()


def with_models(release: EncodedRelease, models: Sequence[AnyModel]) -> EncodedRelease:
    """Return the release with other models over the same domain and rows. Cost: that of encoding."""
    return reassembled(release, models=tuple(models), facts=None)


@singledispatch
def merged_at(model: PublishedModel, at: Sequence[int]) -> AnyModel:
    """Return a model whose nodes at these places are leaves, or whose list ends there; see `pruned` and `shortened`."""
    raise unsupported(model, "it has no leaves with parents to merge")


@merged_at.register
def _(model: Tree, at: Sequence[int]) -> AnyModel:
    return pruned(model, at)[0]


@merged_at.register
def _(model: RuleList, at: Sequence[int]) -> AnyModel:
    return shortened(model, at)
