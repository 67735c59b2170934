"""A released tree or rule list as what its greedy learner chose, over independent binary columns.

The limits are those of scikit-learn, tree/_tree.pyx: `DepthFirstTreeBuilder.build` and, where the number of leaves is
limited, `BestFirstTreeBuilder.build`.

Which learner's rule is asked about: what files and `--learner` say, and what no exact count can be made of.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Continuous
from encoders.encode.encoder import EncodedRelease
from encoders.models.learner_facts import Learner, LearnerName
from encoders.models.models import AnyModel, Forest, RuleList, Tree, kinds_of
from encoders.models.nodes import CountTable
from recon.io.console.learner_option import EXAMPLE, LearnerSettings, asked_of
from solvers.foundation.displayed import many, quote
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.structures import BinaryTree
from solvers.greedy.gains import ChosenTree, GreedyRule
from solvers.greedy.rule_lists import ListLevel, ListRule

GREEDY: tuple[LearnerName, ...] = ("sklearn tree", "sklearn forest", "greedy rule list")
OPTIMAL: tuple[LearnerName, ...] = ("optimal tree", "optimal rule list")
OWN = "--learner"


def _learners_of(release: EncodedRelease, asked: str, /) -> tuple[Learner | None, ...]:
    """Return the learner of every model of a release, None where its rule is not used.

    `asked`: "none", "midpoints" (thresholds of scikit-learn's trees only), "greedy", "optimal", each of the last two
    with settings after a colon or not, or "auto", what the file says of each model. Settings that are given go before
    those of the file. Raises `Unsupported` where "greedy" or "optimal" are asked for and no model says how it was
    learned, and for a learner that never is what was asked for; `ReleaseError` for another word or setting.
    """
    wanted = asked_of(asked)
    if wanted.known == "none":
        return (None,) * len(release.models)
    found = tuple(_learner(model, wanted) for model in release.models)
    if wanted.known == "auto" or any(one is not None for one in found):
        return found
    raise Unsupported(_nothing_said(release, wanted))


def learner_of(release: EncodedRelease, asked: str, /) -> Learner | None:
    """Return the learner of a release's models, None where none of them has one; see `learners_of`.

    Raises `Unsupported` naming two models with different learners: their rules are asked about one by one.
    """
    found = [(m, one) for m, one in zip(release.models, _learners_of(release, asked), strict=True) if one is not None]
    for model, one in found[1:]:
        if one != found[0][1]:
            first, second = quote(found[0][0].name), quote(model.name)
            raise Unsupported(f"{first} and {second} have different learners or settings: ask about one file at a time")
    return found[0][1] if found else None


def _learner(model: AnyModel, asked: LearnerSettings) -> Learner | None:
    """Return the learner of one model as asked for, None where it has none of that kind."""
    said = None if model.origin is None else model.origin.learner
    if asked.known == "auto":
        return said
    if asked.known == "midpoints":
        return _midpoints(model, said)
    names = GREEDY if asked.known == "greedy" else OPTIMAL
    base = said if said is not None and said.name in names else None
    if not asked.settings:
        return base
    name = _name(model, names)
    if name is None:
        return None
    if base is not None:
        return replace(base, source=f"{base.source} and {OWN}", **asked.settings)
    start = Learner(name, source=OWN)
    if name in OPTIMAL:
        start = replace(start, criterion="errors")
    elif name == "greedy rule list":
        start = replace(start, criterion="gini", width=1, min_support=1)
    else:
        start = replace(start, criterion="gini")
    return replace(start, **asked.settings)


def _name(model: AnyModel, names: tuple[LearnerName, ...]) -> LearnerName | None:
    """Return the learner of this kind of model among some, None where they learn no such model."""
    kinds: dict[type, tuple[LearnerName, ...]] = {
        Tree: ("sklearn tree", "optimal tree"),
        Forest: ("sklearn forest",),
        RuleList: ("greedy rule list", "optimal rule list"),
    }
    return next((n for n in kinds.get(type(model), ()) if n in names), None)


def _midpoints(model: AnyModel, said: Learner | None) -> Learner | None:
    """Return a scikit-learn learner whose thresholds lie halfway; `Unsupported` where they were drawn."""
    name = _name(model, ("sklearn tree", "sklearn forest"))
    if name is None:
        return None
    if said is None:
        return Learner(name, source=OWN)
    if said.name not in GREEDY:
        return None
    if said.splitter == "random":
        raise Unsupported(
            f"{quote(model.name)}: splitter random draws thresholds, they are not midpoints: --learner auto"
        )
    return said


def _nothing_said(release: EncodedRelease, asked: LearnerSettings) -> str:
    """Return why no model has the learner asked for, and what to do."""
    if asked.known == "midpoints":
        return "no model is a tree or a forest: midpoints are of their thresholds"
    if all(m.scores for m in release.models):
        return f"boosted models have no rule that is used: their trees fit residuals (--learner {asked.known})"
    names = GREEDY if asked.known == "greedy" else OPTIMAL
    if not any(_name(m, names) for m in release.models):
        kinds = ", ".join(dict.fromkeys(m.kind.replace("_", " ") for m in release.models)) or "nothing"
        return f"no {asked.known} learner of {kinds} is known: trees, forests and rule lists have one"
    said = {m.origin.learner.name for m in release.models if m.origin is not None and m.origin.learner is not None}
    if said:
        return f"the file says that it was learned by {', '.join(sorted(said))}: --learner auto takes that"
    return (
        "the file does not say how its model was learned: give the settings, as in "
        f"--learner {EXAMPLE.replace('greedy', asked.known)}, or the stored model itself"
    )


def exact_refusals(learner: Learner, columns: int) -> tuple[str, ...]:
    """Return, one sentence each, why no exact count is made under a learner's rule over so many columns; () if one is.

    Limits (`max_depth`, `min_samples_*`, `max_leaf_nodes`, `min_impurity_decrease`, `ccp_alpha`) never are a reason.
    """
    what = f"{learner.name} ({learner.source or 'settings'})"
    out = []
    if learner.name not in {"sklearn tree", "greedy rule list"}:
        out.append(f"{what}: exact counts are made for single greedy trees and greedy rule lists")
    if learner.weighted:
        out.append(f"{what}: rows are weighted (class_weight or sample_weight), and gains depend on the weights")
    if learner.bootstrap:
        out.append(f"{what}: the tree counts rows that were drawn (bootstrap), not the training rows")
    if learner.splitter != "best":
        out.append(f"{what}: splitter {learner.splitter} draws thresholds, and the gain is not the best one")
    if learner.max_features is not None and learner.max_features < columns:
        tried = f"max_features {learner.max_features} of {columns}"
        out.append(f"{what}: {tried}: which columns were tried at a node is not known, so no column had to lose")
    if learner.monotonic:
        out.append(f"{what}: monotonic constraints forbid splits, whatever their gain")
    if learner.name == "sklearn tree" and learner.criterion not in {"gini", "entropy", "log_loss"}:
        out.append(f"{what}: criterion {learner.criterion}: exact counts are made for gini and entropy (log_loss)")
    if learner.name == "greedy rule list" and (learner.width or 1) > 1:
        out.append(f"{what}: width {learner.width}: conjunctions couple the columns, exact counts are made for width 1")
    if learner.columns is not None and learner.columns != columns:
        given = f"the learner chose among {learner.columns} columns, the domain has {columns}"
        out.append(
            f"{what}: {given}: declare the learner's own columns as the domain (--domain, --independent-columns)"
        )
    return tuple(out)


EPSILON = float(np.finfo(np.float64).eps)  # scikit-learn's tolerance on `min_impurity_decrease`
ROUNDING = 1e-12  # relative: a gain this close below `min_impurity_decrease` may be rounding
BITS = "count binary columns as independent bits (--independent-columns), or declare such a domain (--domain)"
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def chosen_tree(release: EncodedRelease, model: AnyModel, learner: Learner) -> ChosenTree:
    """Return a released tree with the class counts of every node, and the leaves that no limit stopped.

    Columns are numbered as `columns_of` has them; classes without rows are left out (two at least stay). Raises
    `Unsupported` naming why no exact count is made (the learner's settings, the domain, the counts) and what to do;
    `ContradictionError` naming the node and the limit where the learner could not have chosen the tree. Cost: linear.
    """
    columns = columns_of(release.domain)
    if not isinstance(model, Tree):
        raise Unsupported(f"{quote(model.name)} is not a tree but a {model.kind.replace('_', ' ')}")
    _refuse(learner, len(columns), model)
    nodes = model.nodes
    leaf = ~nodes.inner
    counts = np.zeros((len(nodes), _classes(release.domain)), dtype=np.int64)
    counts[leaf] = _per_class(nodes.leaf_counts, model)
    then, otherwise = (np.where(leaf, -1, nodes.children[:, side].astype(np.int64)) for side in (0, 1))
    column = np.full(len(nodes), -1, dtype=np.int64)
    for code, first in nodes.first_nodes():
        k, one = _literal(release.domain, nodes.conditions[code], f"node {first} of {quote(model.name)}")
        at = nodes.condition == code
        column[at] = k
        if not one:
            then[at], otherwise[at] = otherwise[at], then[at].copy()
    for node in BinaryTree.of_sides(otherwise, then).upwards:
        counts[node] = counts[then[node]] + counts[otherwise[node]]
    tree = ChosenTree(then, otherwise, column, _with_rows(counts), np.zeros(len(nodes), dtype=bool))
    stored = model.origin is not None and model.origin.format.startswith("scikit-learn")
    check_limits(learner, tree, quote(model.name), [quote(c) for c in columns], stored)
    return ChosenTree(then, otherwise, column, tree.counts, limits_of(learner, tree))


def chosen_list(release: EncodedRelease, model: AnyModel, learner: Learner) -> tuple[tuple[ListLevel, ...], ListRule]:
    """Return the levels of a released list of single tests, the default rule last, and the rule of its learner.

    Columns are numbered as `columns_of` has them, in the order of the learner's own. Ties that nobody speaks of go to
    the fewest rows (`learner_rule` tries every rule then). Raises `Unsupported` and `ContradictionError` as
    `chosen_tree`.
    """
    columns = columns_of(release.domain)
    if not isinstance(model, RuleList):
        raise Unsupported(f"{quote(model.name)} is not a rule list but a {model.kind.replace('_', ' ')}")
    _refuse(learner, len(columns), model)
    table = CountTable.of([rule.support for rule in model.rules])
    counts = _with_rows(_per_class(table, model))
    if not model.rules or model.rules[-1].condition:
        raise Unsupported(
            f"{quote(model.name)} does not say what its default rule captures: add a last rule with no test"
        )
    levels = []
    for k, rule in enumerate(model.rules[:-1]):
        column, one = _literal(release.domain, rule.condition, f"rule {k} of {quote(model.name)}", only_bits=True)
        levels.append(ListLevel(column, int(one), tuple(counts[k].tolist())))
    levels.append(ListLevel(-1, 0, tuple(counts[-1].tolist())))
    ties = learner.ties or "fewest"
    return tuple(levels), ListRule(learner.min_support or 1, learner.max_length, learner.negations, ties)


def greedy_rule(learner: Learner, tree: ChosenTree) -> GreedyRule:
    """Return how the learner compares splits: log_loss is entropy, a least weight is a least number of rows."""
    rows = int(tree.counts[0].sum())
    gini = learner.criterion == "gini"
    least = least_rows(learner, rows)
    return GreedyRule(rows, "gini" if gini else "entropy", least, float(learner.min_impurity_decrease))


def least_rows(learner: Learner, rows: int) -> int:
    """Return the least rows of a leaf: `min_samples_leaf`, or the rows that `min_weight_fraction_leaf` of all make.

    Without weights a child is refused where its rows are below the product in double precision.
    """
    return max(learner.min_samples_leaf, math.ceil(learner.min_weight_fraction_leaf * rows))


def columns_of(domain: Domain) -> tuple[str, ...]:
    """Return the names of the columns of a domain of independent bits: attributes with two values each, no groups.

    Raises `Unsupported` naming the attribute that is none, and what to do.
    """
    if domain.label is None:
        raise Unsupported("the learner's rule is about classes: the domain has no label")
    if domain.impossible:
        raise Unsupported(
            "the learner's rule: rows that cannot exist couple the columns: declare a domain without them"
        )
    views = {view.attribute: name for name, view in domain.columns.items()}
    for attribute in domain.attributes:
        what = None
        if attribute.name in views:
            what = f"is seen through binary columns such as {quote(views[attribute.name])}, which depend on each other"
        elif attribute.missing:
            what = "may be missing, and where missing values go is part of the rule"
        elif isinstance(attribute, Continuous) or attribute.known[1] != 2:
            what = "has not two values"
        if what is not None:
            raise Unsupported(
                f"the learner's rule is counted for independent bits: {quote(attribute.name)} {what}: {BITS}"
            )
    return tuple(attribute.name for attribute in domain.attributes)


def limits_of(learner: Learner, tree: ChosenTree) -> Bools:
    """Return (nodes,) which leaves are impure and were stopped by no limit, so that no split of them was admissible.

    Best-first trees: where there are as many leaves as `max_leaf_nodes` allows, the budget may have stopped any of
    them, and none counts. With `ccp_alpha` above 0 leaves may have been split, and cut back: none counts. Pure.
    """
    leaf = tree.then < 0
    full = learner.max_leaf_nodes is not None and leaf.sum() >= learner.max_leaf_nodes
    if learner.ccp_alpha > 0 or full:
        return np.zeros(len(leaf), dtype=bool)
    rows = tree.counts.sum(axis=1)
    impure = (tree.counts > 0).sum(axis=1) > 1
    large = rows >= max(learner.min_samples_split, 2 * least_rows(learner, int(rows[0])))
    shallow = tree.links.depths < (math.inf if learner.max_depth is None else learner.max_depth)
    return np.asarray(leaf & impure & large & shallow)


def not_used(learner: Learner, tree: ChosenTree) -> tuple[str, ...]:
    """Return, one sentence each, what else the learner's rule says of a tree; with any, counts are upper bounds."""
    out = []
    leaves = int((tree.then < 0).sum())
    if learner.max_leaf_nodes is not None and leaves >= learner.max_leaf_nodes:
        held = f"max_leaf_nodes {learner.max_leaf_nodes:,}"
        out.append(f"{held} is reached: that no leaf promised more than the nodes split after it is not used")
    if learner.ccp_alpha > 0:
        out.append(f"ccp_alpha {learner.ccp_alpha:g} pruned the tree: what was cut back, and what was not, is not used")
    return tuple(out)


def check_limits(learner: Learner, tree: ChosenTree, name: str, columns: list[str], in_order: bool = False) -> None:
    """Raise `ContradictionError` naming the first node, level by level, that breaks a limit, and the limit.

    `in_order`: nodes are numbered as scikit-learn numbered them, which tells in which order a best-first tree grew.
    """
    inner, rows, depth = tree.then >= 0, tree.counts.sum(axis=1), tree.links.depths
    least = least_rows(learner, int(rows[0]))
    smallest = max(learner.min_samples_split, 2 * least)
    deepest = math.inf if learner.max_depth is None else learner.max_depth
    gain = _improvements(tree, learner.criterion or "gini")
    order = tree.links.downwards
    for node in order[1:]:
        if rows[node] < least:
            source = "min_samples_leaf" if least == learner.min_samples_leaf else "min_weight_fraction_leaf"
            line = f"node {node} holds {many(int(rows[node]), 'row')}, and {source} is {many(least, 'row')}"
            raise _contradiction(learner, name, line)
    for node in (n for n in order if inner[n]):
        held, why = many(int(rows[node]), "row"), None
        if depth[node] >= deepest:
            why = f"is split at depth {depth[node]}, and max_depth is {deepest}"
        elif (tree.counts[node] > 0).sum() < 2:
            why = f"is split although its {held} are of one class"
        elif rows[node] < smallest:
            source = "min_samples_split" if smallest == learner.min_samples_split else "twice the least rows of a leaf"
            why = f"is split with {held}, and {source} is {smallest:,}"
        elif gain[node] + EPSILON < learner.min_impurity_decrease * (1 - ROUNDING) - ROUNDING:
            wanted = f"{learner.min_impurity_decrease:g}"
            why = f"is split with a gain of {gain[node]:.6g}, and min_impurity_decrease is {wanted}"
        if why is not None:
            raise _contradiction(learner, name, f"node {node} {why}")
    leaves = int((~inner).sum())
    if learner.max_leaf_nodes is not None and leaves > learner.max_leaf_nodes:
        raise _contradiction(
            learner, name, f"it has {leaves:,} leaves, and max_leaf_nodes is {learner.max_leaf_nodes:,}"
        )
    _refuse_twice(learner, tree, name, columns)
    if in_order and learner.max_leaf_nodes is not None and not learner.ccp_alpha:
        _refuse_order(learner, tree, name, gain)


def _refuse_twice(learner: Learner, tree: ChosenTree, name: str, columns: list[str]) -> None:
    """Raise `ContradictionError` where a column is split on again below a split on it: it is constant there."""
    above: list[tuple[int, frozenset[int]]] = [(0, frozenset())]
    while above:
        node, seen = above.pop()
        column = int(tree.column[node])
        if column < 0:
            continue
        if column in seen:
            raise _contradiction(learner, name, f"node {node} splits on {columns[column]}, which is constant in it")
        above += [(int(child), seen | {column}) for child in (tree.otherwise[node], tree.then[node])]


def _refuse_order(learner: Learner, tree: ChosenTree, name: str, gain: NDArray[np.float64]) -> None:
    """Raise `ContradictionError` where a best-first tree was split at a node while another one promised more.

    The two children of a node are numbered when it is split. Nothing is said of trees that are numbered otherwise.
    """
    first = np.minimum(tree.then, tree.otherwise)
    inner = np.flatnonzero(tree.then >= 0)
    popped = inner[np.argsort(first[inner])]
    if not np.array_equal(np.sort(first[inner]), 2 * np.arange(len(inner)) + 1):
        return
    if not np.array_equal(np.abs(tree.then[inner] - tree.otherwise[inner]), np.ones(len(inner))):
        return
    waiting = {0}
    for node in popped.tolist():
        best = max(waiting, key=lambda n: float(gain[n]))
        if gain[node] < gain[best] * (1 - ROUNDING) - ROUNDING:
            line = (
                f"node {node} was split before node {best}, which promised more ({gain[node]:.6g} and {gain[best]:.6g})"
            )
            raise _contradiction(learner, name, f"{line}: max_leaf_nodes splits the best node first")
        waiting.discard(node)
        waiting |= {child for child in (int(tree.then[node]), int(tree.otherwise[node])) if tree.then[child] >= 0}


def _improvements(tree: ChosenTree, criterion: str) -> NDArray[np.float64]:
    """Return (nodes,) the weighted impurity decrease of every split, 0 at leaves (float64, to about 1e-15).

    Source: scikit-learn, tree/_criterion.pyx, `Criterion.impurity_improvement`.
    """
    rows = tree.counts.sum(axis=1).astype(float)
    shares = tree.counts / np.maximum(rows, 1.0)[:, None]
    if criterion == "gini":
        impurity = 1.0 - (shares**2).sum(axis=1)
    else:
        impurity = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    inner = np.flatnonzero(tree.then >= 0)
    out = np.zeros(len(rows))
    right, left = tree.then[inner], tree.otherwise[inner]
    after = (rows[right] * impurity[right] + rows[left] * impurity[left]) / rows[inner]
    out[inner] = rows[inner] / rows[0] * (impurity[inner] - after)
    return out


def _contradiction(learner: Learner, name: str, line: str) -> ContradictionError:
    source = learner.source or "as given"
    message = f"{name} was not chosen by a {learner.name} with these settings ({source}): {line}"
    return ContradictionError(message, (line,))


def _refuse(learner: Learner, columns: int, model: AnyModel) -> None:
    """Raise `Unsupported` for settings and counts of which no exact count is made."""
    if reasons := exact_refusals(learner, columns):
        raise Unsupported(f"no exact count of {quote(model.name)} under its learner's rule", reasons)
    if model.noise is not None or set(kinds_of(model)) - {"exact"}:
        kinds = ", ".join(kinds_of(model)) or "none"
        raise Unsupported(
            f"{quote(model.name)}: the learner's rule needs the training rows per class, not counts {kinds}"
        )


def _per_class(table: CountTable, model: AnyModel) -> Ints:
    """Return (entries, classes) counts; `Unsupported` naming the first leaf or rule without."""
    if not table.by_class.all() or table.values.dtype != np.int64:
        which = int(np.argmin(table.by_class))
        raise Unsupported(
            f"{quote(model.name)}: {model.group} {which} has no counts per class, which the learner's rule needs"
        )
    return table.values.reshape(len(table), -1)


def _classes(domain: Domain) -> int:
    assert domain.label is not None
    return int(domain.label.known[1])


def _with_rows(counts: Ints) -> Ints:
    """Return the counts of classes that have rows; of the first ones too where fewer than two have."""
    some = counts.sum(axis=0) > 0
    for k in range(len(some)):
        if some.sum() >= 2:
            break
        some[k] = True
    return np.ascontiguousarray(counts[:, some])


def _literal(domain: Domain, condition: Condition, place: str, only_bits: bool = False) -> tuple[int, bool]:
    """Return the column that a condition tests, and whether it asks for its second value (1).

    `only_bits`: the order of the values matters, so that they must be 0 and 1. Raises `Unsupported` for other tests.
    """
    resolved = domain.resolve(condition, place)
    if len(resolved) != 1:
        raise Unsupported(f"{place} tests {len(resolved)} columns: the learner's rule is counted for single tests")
    ((k, ranges),) = resolved.items()
    if k >= len(domain.attributes):
        raise Unsupported(f"{place} tests the label, which no learner does")
    if ranges not in (((0, 1),), ((1, 2),)):
        raise Unsupported(f"{place} tests nothing: all rows or none pass")
    attribute = domain.attributes[k]
    if only_bits and [attribute.value_at(i) for i in (0, 1)] != [0, 1]:
        raise Unsupported(f"{place}: the values of {quote(attribute.name)} are not 0 and 1: {BITS}")
    return k, ranges == ((1, 2),)
