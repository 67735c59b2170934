"""What a known learner's rule says of the training rows, as further statements of a release.

Source: scikit-learn, tree/_splitter.pyx and tree/_tree.pyx; docs/mathematics.md, "Facts of a known learner".

The splits of released trees whose thresholds their learner put halfway between two training values.

What an impure leaf that no limit stopped says of its rows: no feature tells them apart.

The learner splits every node that it may, also without gain; with one row per leaf allowed, any two values that it
tells apart are a split. A leaf of several classes that no limit stopped then holds rows that agree in every feature, up
to gaps of single precision that it does not see.

Source: scikit-learn, tree/_tree.pyx (when a node is a leaf), tree/_splitter.pyx (which features are looked at).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.domain.values import AnyAttribute, Continuous
from encoders.encode.encoder import EncodedRelease, reassembled
from encoders.kinds.split_midpoints import Midpoints, NodeRegion, node_regions
from encoders.kinds.tree import shape
from encoders.models.learner_facts import FactLimits, GroupCount, Learner, LearnerFact, LearnerFacts
from encoders.models.models import Forest, Tree
from encoders.parts.base import CutDomain, Resolutions
from encoders.parts.statistics import Positions, Singles, as_ranges, chains, positions_in, singles
from solvers.foundation.errors import ContradictionError, EngineError, Unsupported
from solvers.foundation.structures import BinaryTree
from solvers.positions.midpoints.splits import TreeSplits
from solvers.statements.row_problem import RowProblem, bags_with_most

EPSILON = float(np.finfo(np.float64).eps)  # of sklearn/tree/_tree.pyx
MOST_ROWS = 1 << 24  # impurities of larger nodes may round to nothing
MOST_SPLITS = 20_000  # pairs of children whose improvement is worked out as the learner does
ROUNDED = "impure leaves of so many of the rows that rounding may have hidden every improvement"
UNSEEN = "leaves, as far as attributes go that are not known to be features, or are preprocessed"
WIDE = "leaves, as far as attributes go of which more values are left than are looked at"


def why_closed(learner: Learner, sampled: bool) -> str:
    """Return why impure leaves say nothing under these settings; "" where they do."""
    reasons = (
        (sampled, "rows were drawn or weighted"),
        (learner.min_samples_leaf > 1, "min_samples_leaf is above 1"),
        (learner.min_weight_fraction_leaf > 0, "min_weight_fraction_leaf is above 0"),
        (learner.min_impurity_decrease > 0, "min_impurity_decrease is above 0"),
        (learner.ccp_alpha > 0, "the tree was pruned (ccp_alpha)"),
        (learner.monotonic, "monotonic constraints forbid splits"),
        (learner.criterion not in {None, "gini", "entropy", "log_loss"}, "impurities of a number are not in the file"),
    )
    return next((why for closed, why in reasons if closed), "")


def open_leaves(nodes: Sequence[NodeRegion], learner: Learner) -> list[NodeRegion]:
    """Return the leaves of several classes that no limit of the learner stopped."""
    leaves = [node for node in nodes if node.tests < 0]
    if learner.max_leaf_nodes is not None and len(leaves) >= learner.max_leaf_nodes:
        return []
    return [
        leaf
        for leaf in leaves
        if leaf.classes is not None
        and sum(c > 0 for c in leaf.classes) > 1
        and leaf.rows >= max(2, learner.min_samples_split)
        and (learner.max_depth is None or leaf.depth < learner.max_depth)
    ]


def always_kept(classes: tuple[int, ...], total: int, criterion: str | None) -> bool:
    """Return whether no split of a node can look worse than none at all: its improvement, rounded, is at least -2^-52.

    Worked out as the learner does for every pair of children where they are few, else by a bound on its rounding: a
    node of few of the rows improves little. Exact improvements are never negative.
    """
    rows = sum(classes)
    if rows > MOST_ROWS:
        return False
    names = ("gini", "entropy") if criterion is None else ("gini" if criterion == "gini" else "entropy",)
    counts, k = tuple(sorted(c for c in classes if c)), sum(c > 0 for c in classes)
    bits = math.log2(max(2, k))
    for name in names:
        error = 5 * EPSILON if name == "gini" else EPSILON * (1.5 + bits * (6 + k))
        if rows / total * error <= 0.9 * EPSILON:
            continue
        if math.prod(c + 1 for c in counts) > MOST_SPLITS or _least_improvement(counts, total, name) < -EPSILON / 2:
            return False
    return True


@lru_cache(maxsize=4096)
def _least_improvement(classes: tuple[int, ...], total: int, name: str) -> float:
    """Return the least improvement over all pairs of children, in the learner's double precision."""
    rows, worst = sum(classes), math.inf
    whole = _impurity(classes, name)
    for left in product(*(range(c + 1) for c in classes)):
        n = sum(left)
        if 0 < n < rows:
            right = tuple(c - a for c, a in zip(classes, left, strict=True))
            gain = whole - (rows - n) / rows * _impurity(right, name) - n / rows * _impurity(left, name)
            worst = min(worst, rows / total * gain)
    return worst


def _impurity(classes: Iterable[int], name: str) -> float:
    """Return the impurity of a node as sklearn/tree/_criterion.pyx works it out."""
    counts = [float(c) for c in classes]
    n = sum(counts)
    if name == "gini":
        return 1.0 - sum(c * c for c in counts) / (n * n)
    return -sum((p := c / n) * (math.log(p) / math.log(2.0)) for c in counts if c > 0)


@dataclass
class Features:
    """What a model's features tell apart of every attribute; `left_out` counts what it says nothing of, by reason.

    `names`: the attributes and columns that are features (`whole`: these are all), `plain` those of them that are
    compared as they are.
    """

    domain: Domain
    names: frozenset[str]
    plain: frozenset[str]
    whole: bool
    left_out: dict[str, int] = field(default_factory=dict)
    known: dict[int, tuple[Singles | None, Positions] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, trees: Sequence[Tree], domain: Domain) -> Features:
        """Return what is known of the features: those that are tested, and all where there are as many as names."""
        viewed = {view.attribute for view in domain.columns.values()}
        label = None if domain.label is None else domain.label.name
        every = [a.name for a in domain.attributes if a.name not in viewed]
        every += [name for name, view in domain.columns.items() if view.attribute != label]
        tested, changed = set(), set()
        for tree in trees:
            learnt = tree.nodes.learnt
            for i in np.flatnonzero(tree.nodes.inner).tolist():
                ((name, _),) = tree.nodes.conditions[int(tree.nodes.condition[i])]
                tested.add(name)
                if learnt is not None and not learnt.plain[learnt.feature[i]]:
                    changed.add(name)
        learnt = trees[0].nodes.learnt
        if learnt is None:
            return cls(domain, frozenset(every) | tested, frozenset(every) | tested, True)
        whole = len(learnt.plain) == len(every) and tested <= set(every)
        numbers = [a.name for a in domain.attributes if a.name in every and singles(a) is not None]
        unchanged = set(numbers) if whole and int(learnt.plain.sum()) == len(numbers) else tested - changed
        return cls(domain, frozenset(every) if whole else frozenset(tested), frozenset(unchanged), whole)

    @property
    def told(self) -> bool:
        """Return whether any feature in which rows differ can be split: none has values that differ and are not told.

        So where not all features are tried, one that is not constant is as good as any.
        """
        return self.whole and all(self.apart(a) for a in self.domain.attributes if a.name in self.names)

    def apart(self, attribute: AnyAttribute) -> bool:
        """Return whether a feature tells any two values of its attribute apart that differ in single precision."""
        if attribute.missing or isinstance(attribute, Continuous):
            return False
        values = singles(attribute) if attribute.name in self.plain else None
        if values is None:
            return attribute.known[1] == 2
        distinct = np.unique(values)
        return len(np.unique(chains(distinct))) == len(distinct)

    def signature(self, k: int) -> tuple[Singles | None, Positions] | None:
        """Return the values of attribute k that its feature compares, and a number per position for its columns.

        None where nothing is known of it.
        """
        if k not in self.known:
            self.known[k] = self.looked_up(k)
        return self.known[k]

    def looked_up(self, k: int) -> tuple[Singles | None, Positions] | None:
        """Return the signature of attribute k, worked out."""
        attribute = self.domain.all[k]
        if isinstance(attribute, Continuous) or attribute.known[1] > 1_000_000:
            return None
        bits = np.zeros(attribute.known[1], dtype=np.int64)
        seen = False
        for name, view in self.domain.columns.items():
            if view.attribute != attribute.name or name not in self.names:
                continue
            one = np.zeros(len(bits), dtype=np.int64)
            one[positions_in(self.domain.view_ranges(name)[1], attribute)] = 1
            bits = np.unique(2 * bits + one, return_inverse=True)[1].reshape(-1).astype(np.int64)
            seen = True
        values = singles(attribute) if attribute.name in self.names & self.plain else None
        if values is None and attribute.name in self.names and len(bits) == 2:
            return None, np.arange(2, dtype=np.int64)  # whatever they are called, a feature tells two values apart
        return (values, bits) if seen or values is not None else None

    def fact(self, leaf: NodeRegion, k: int, name: str, most: int) -> LearnerFact | None:
        """Return that all rows of an open leaf have one of the values of attribute k that are distinguished."""
        found, attribute = self.signature(k), self.domain.all[k]
        at = positions_in(leaf.within(k, self.domain), attribute) if not isinstance(attribute, Continuous) else None
        if found is None or at is None:
            self.left_out[UNSEEN] = self.left_out.get(UNSEEN, 0) + 1
            return None
        values, bits = found
        groups = np.stack([bits[at], chains(values[at]) if values is not None else np.zeros(len(at), dtype=np.int64)])
        of = np.unique(groups, axis=1, return_inverse=True)[1].reshape(-1)
        classes = int(of.max(initial=-1)) + 1
        if classes < 2:
            return None
        if classes > most:
            self.left_out[WIDE] = self.left_out.get(WIDE, 0) + 1
            return None
        said = f"{name}, leaf {leaf.number}: rows of several classes that were not split agree in '{attribute.name}'"
        readings = []
        for g in range(classes):
            shown = attribute.value_at(int(at[of == g][0]))
            others = leaf.having(k, as_ranges(at[of != g]))
            alone = GroupCount(others, 0, 0, f"no row with another value than {shown}")
            here = GroupCount(leaf.having(k, as_ranges(at[of == g])), 1, None, f"a row with {shown}")
            readings.append((here, alone) if attribute.missing else (alone,))
        if attribute.missing:
            readings.append((GroupCount(leaf.having(k, as_ranges(at)), 0, 0, "no row with a value"),))
        return LearnerFact(said, tuple(readings), leaf.rows, leaf.number, k)


Ints = NDArray[np.int64]
NO_MIDPOINTS = (
    "midpoints: no threshold of this release is known to lie halfway between two training values: that is what "
    "scikit-learn's trees with splitter='best' do on columns without missing values, in a forest whose bags are known"
)


def learnt_splits(encoded: EncodedRelease, problem: RowProblem) -> TreeSplits:
    """Return the splits of the trees of a problem that are known to be midpoints, with the leaves on either side.

    Raises `Unsupported` where there are none: other learners, random thresholds (extra trees), columns that may miss
    values, forests whose bags are not known.
    """
    trees = _trees_of(encoded, problem)
    if not any(tree.nodes.learnt is not None for tree in trees):
        raise Unsupported(NO_MIDPOINTS)
    found = CollectedSplits(encoded, problem)
    for t, tree in enumerate(trees):
        found.add(t, tree)
    if not found.nodes:
        raise Unsupported(NO_MIDPOINTS)
    return found.splits()


def _trees_of(encoded: EncodedRelease, problem: RowProblem) -> Sequence[Tree]:
    """Return the trees that are the first of a problem: those of the forest whose bags it has."""
    if not problem.positions:
        return ()
    known = [model for model in encoded.models if model.multiplicities is not None]
    bags = problem.release.bags  # those of these forests, in their order
    return known[[one is bags_with_most(bags) for one in bags].index(True)].members()


class CollectedSplits:
    """Splits of trees, collected tree by tree."""

    def __init__(self, encoded: EncodedRelease, problem: RowProblem) -> None:
        self.cut: CutDomain = encoded.cut
        self.problem = problem
        self.resolved = Resolutions()
        self.tree: list[Ints] = []
        self.column: list[Ints] = []
        self.threshold: list[NDArray[np.float64]] = []
        self.part: list[Ints] = []
        self.width: list[Ints] = []
        self.node: list[Ints] = []
        self.left: list[NDArray[np.bool_]] = []
        self.columns: dict[tuple[int, int], int] = {}
        self.seen: dict[tuple[int, int], tuple[NDArray[np.float64], bool]] = {}
        self.nodes = 0

    def add(self, t: int, tree: Tree) -> None:
        """Add the splits of tree t of the problem."""
        nodes, found = tree.nodes, shape(tree.nodes)
        if found is None:
            raise EngineError("a tree is encoded only after it was checked")
        if nodes.learnt is None:
            self.width.append(np.zeros(len(nodes.leaves), dtype=np.int64))
            return
        self.resolved.add_nodes(nodes, self.cut.domain, f"trees[{t}]")
        table = self.resolved.table(nodes)
        inner = np.flatnonzero(nodes.inner)
        codes = nodes.condition[inner]
        passed, single = table.runs(codes, self.cut.cuts)
        attribute = table.attribute[codes].astype(np.int64)
        parts = np.array([len(cut.inner) + 1 for cut in self.cut.cuts], dtype=np.int64)[attribute]
        below = passed[:, 0] == 0  # what passes the test goes left
        above = passed[:, 1] == parts
        missing = np.array([a.missing for a in self.cut.domain.all])[attribute]
        threshold, feature = nodes.learnt.threshold[inner], nodes.learnt.feature[inner]
        kept = single & (below ^ above) & ~missing & np.isfinite(threshold)
        number = np.full(len(nodes), -1, dtype=np.int64)
        number[inner[kept]] = self.nodes + np.arange(int(kept.sum()))
        self.nodes += int(kept.sum())
        pairs = list(zip(attribute[kept].tolist(), feature[kept].tolist(), strict=True))
        self.column.append(np.array([self.columns.setdefault(p, len(self.columns)) for p in pairs], dtype=np.int64))
        for pair in set(pairs):
            self.seen[pair] = nodes.learnt.ends[pair[1]], bool(nodes.learnt.plain[pair[1]])
        self.tree.append(np.full(int(kept.sum()), t, dtype=np.int64))
        self.threshold.append(threshold[kept])
        self.part.append(np.where(below, passed[:, 1], passed[:, 0])[kept])
        left_first = np.ones(len(nodes), dtype=bool)
        left_first[inner] = below
        self.add_paths(found, nodes.leaves, number, left_first)

    def add_paths(self, found: BinaryTree, leaves: Ints, number: Ints, left_first: NDArray[np.bool_]) -> None:
        """Add the nodes on the path to every leaf, in file order; `number`: of a node among the splits, or -1."""
        parent = np.full(len(found.inner), -1, dtype=np.int64)
        on_left = np.zeros(len(found.inner), dtype=bool)
        inner = np.flatnonzero(found.inner)
        for which in (0, 1):
            child = found.children[inner, which].astype(np.int64)
            parent[child] = inner
            on_left[child] = left_first[inner] == (which == 0)
        at, leaf = leaves.copy(), np.arange(len(leaves))
        steps = []
        while len(at):
            above = parent[at]
            at, leaf, side, above = at[above >= 0], leaf[above >= 0], on_left[at][above >= 0], above[above >= 0]
            split = number[above]
            steps.append((leaf[split >= 0], split[split >= 0], side[split >= 0]))
            at = above
        leaf, split, side = (np.concatenate(x) for x in zip(*steps, strict=True))
        order = np.argsort(leaf, kind="stable")
        self.width.append(np.bincount(leaf, minlength=len(leaves)).astype(np.int64))
        self.node.append(split[order])
        self.left.append(side[order])

    def splits(self) -> TreeSplits:
        """Return all that was added."""
        regions = [len(one) for one in self.width]
        start = np.concatenate([[0], np.cumsum(np.concatenate(self.width))]).astype(np.int64)
        names = self.cut.domain.all
        return TreeSplits(
            np.array([k for k, _ in self.columns], dtype=np.int64),
            tuple(names[k].name for k, _ in self.columns),
            np.concatenate(self.tree),
            np.concatenate(self.column),
            np.concatenate(self.threshold),
            np.concatenate(self.part),
            np.concatenate([[0], np.cumsum(regions)]).astype(np.int64),
            start,
            np.concatenate(self.node),
            np.concatenate(self.left),
            np.stack([self.seen[pair][0] for pair in self.columns]),
            np.array([self.seen[pair][1] for pair in self.columns], dtype=bool),
        )


def seen_ranges(
    encoded: EncodedRelease, splits: TreeSplits, given: Mapping[str, tuple[float, float]]
) -> NDArray[np.float64]:
    """Return (columns, 2) the least and greatest value that the trees saw, from those of attributes by name.

    Behind a pipeline they are known where they are the ends of the declared domain (a MinMaxScaler declares them); NaN
    where they are not. What a pipeline makes of them is worked out in 64-bit floats.
    """
    out = np.full((len(splits.attribute), 2), np.nan)
    for c, k in enumerate(splits.attribute.tolist()):
        attribute = encoded.domain.all[k]
        if attribute.name not in given:
            continue
        if splits.plain[c]:
            out[c] = np.array(given[attribute.name], dtype=np.float64).astype(np.float32)
        elif isinstance(attribute, Continuous) and attribute.bounded:
            declared = [float(x) for x in (attribute.minimum, attribute.maximum) if x is not None]
            same = np.array(given[attribute.name], dtype=np.float64) == np.array(declared)
            out[c] = np.where(same, splits.ends[c], np.nan)
    return out


KINDS: dict[str, type[Tree] | type[Forest]] = {"sklearn tree": Tree, "sklearn forest": Forest}
TOO_MANY = "of {} facts {} are left out: {} (limits of what is added)"


def with_learner_facts(
    release: EncodedRelease, learner: Learner, limits: FactLimits | None = None, *, written: bool = False
) -> EncodedRelease:
    """Return the release with what the learner's rule says of its training rows among its statements.

    The learner is that of the release's trees (or forests, by its name); facts of another learner that the release has
    are kept. They say: the two values around a threshold occur and none between, an impure leaf that no limit stopped
    has rows alike; what the settings leave of this is exact, what is left out is named in the assumptions. `written`:
    thresholds stand in the conditions as the learner stored them; else only those of a stored model count.

    Raises `Unsupported` for other learners and where the release has no model of it, `ContradictionError` where the
    learner could not have made a model: a limit that it breaks, a threshold that no two values of the domain have.
    Cost: nodes times the values of their attributes, and that of encoding.
    """
    limits = limits or FactLimits()
    every = facts_of_learner(release, learner, limits, written=written)
    earlier = () if release.facts is None else release.facts.facts
    kept, left_out = _facts_within_limits(every.facts, earlier, release, limits)
    return _adding(release, replace(every, facts=tuple(kept), notes=(*every.notes, *left_out)))


def _adding(release: EncodedRelease, facts: LearnerFacts) -> EncodedRelease:
    """Return the release with these facts among its statements, beside those that it has. Cost: that of encoding."""
    earlier = release.facts or LearnerFacts(())
    both = LearnerFacts(
        tuple(dict.fromkeys((*earlier.learners, *facts.learners))),
        tuple(dict.fromkeys((*earlier.facts, *facts.facts))),
        tuple(dict.fromkeys((*earlier.notes, *facts.notes))),
    )
    return reassembled(release, facts=both)


def facts_of_learner(
    release: EncodedRelease, learner: Learner, limits: FactLimits | None = None, *, written: bool = False
) -> LearnerFacts:
    """Return all facts that follow from a learner's rule, however many, and in words what is left out.

    Raises as `with_learner_facts`. Cost: nodes times the values of their attributes.
    """
    kind, limits = KINDS.get(learner.name), limits or FactLimits()
    if kind is None:
        message = f"facts of single splits are known of scikit-learn's trees and forests, not of: {learner.name}"
        raise Unsupported(message)
    models = [model for model in release.models if isinstance(model, kind)]
    if not models:
        raise Unsupported(f"the learner is a {learner.name}, and the release has no model of it")
    found: list[LearnerFact] = []
    notes = [_known_line(learner, written)]
    for model in models:
        own, said = _facts_of(model, release, learner, limits, written)
        found += own
        notes += said
    return LearnerFacts((learner,), tuple(found), tuple(notes))


def _known_line(learner: Learner, written: bool) -> str:
    """Return what is assumed of the learner."""
    settings = [f"splitter {learner.splitter}"]
    settings += [f"{name} {value}" for name, value in (
        ("criterion", learner.criterion), ("max_depth", learner.max_depth), ("max_features", learner.max_features),
        ("max_leaf_nodes", learner.max_leaf_nodes),
    ) if value is not None]  # fmt: skip
    settings += [f"{name} {value}" for name, value, usual in (
        ("min_samples_split", learner.min_samples_split, 2), ("min_samples_leaf", learner.min_samples_leaf, 1),
        ("min_weight_fraction_leaf", learner.min_weight_fraction_leaf, 0),
        ("min_impurity_decrease", learner.min_impurity_decrease, 0), ("ccp_alpha", learner.ccp_alpha, 0),
    ) if value != usual]  # fmt: skip
    settings += [word for word, said in (("weighted", learner.weighted), ("bootstrap", learner.bootstrap)) if said]
    whose = f" ({learner.source})" if learner.source else ""
    line = f"the learner is known{whose}: {learner.name}, {', '.join(settings)}; what its rule says is not released"
    return f"{line}, thresholds as they are written" if written else line


def _facts_of(
    model: Tree | Forest, release: EncodedRelease, learner: Learner, limits: FactLimits, written: bool
) -> tuple[list[LearnerFact], list[str]]:
    """Return the facts of a model, and what is left out of them in words."""
    if model.noise is not None:
        return [], [f"{model.name}: its counts carry noise, no fact of its learner is used"]
    trees, resampled = model.members(), model.resampled
    sampled = resampled or learner.bootstrap or learner.weighted
    splits = Midpoints(release.domain, not sampled, written, limits.pairs)
    features = Features.of(trees, release.domain)
    closed = why_closed(learner, sampled)
    if not closed and learner.max_features is not None and not features.told:
        closed = "not every feature was tried, and some may have values that are not distinguished"
    found: list[LearnerFact] = []
    for tree in trees:
        name = f"{model.name}, {tree.name}" if tree is not model else model.name
        nodes = node_regions(tree, release.domain)
        if not resampled:
            _check_limits(nodes, learner, name)
        if learner.splitter == "best":
            found += splits.facts(tree, name, nodes)
        if not closed:
            found += _leaf_facts(nodes, learner, features, name, limits.values)
    notes = [
        *([f"{model.name}: thresholds say only that both children have rows (splitter random)"]
          if learner.splitter != "best" else []),
        *([f"{model.name}: no row between the values around a threshold: rows were drawn or weighted, not said"]
          if sampled and learner.splitter == "best" else []),
        *([f"{model.name}: impure leaves say nothing: {closed}"] if closed else []),
        *(f"{model.name}: left out: {why} ({n:,})" for why, n in {**splits.left_out, **features.left_out}.items()),
    ]  # fmt: skip
    return found, notes


def _leaf_facts(
    nodes: list[NodeRegion], learner: Learner, features: Features, name: str, most: int
) -> list[LearnerFact]:
    """Return what the open leaves of a tree say, attribute by attribute."""
    found = []
    for leaf in open_leaves(nodes, learner):
        if leaf.classes is not None and not always_kept(leaf.classes, nodes[0].rows, learner.criterion):
            features.left_out[ROUNDED] = features.left_out.get(ROUNDED, 0) + 1
            continue
        facts = (features.fact(leaf, k, name, most) for k in range(len(features.domain.attributes)))
        found += [fact for fact in facts if fact is not None]
    return found


def _check_limits(nodes: Sequence[NodeRegion], learner: Learner, name: str) -> None:
    """Raise `ContradictionError` naming the node for a tree that breaks a limit of its learner."""
    leaves = [node for node in nodes if node.tests < 0]
    if learner.max_leaf_nodes is not None and len(leaves) > learner.max_leaf_nodes:
        _raise_conflict(f"{name}: {len(leaves)} leaves, max_leaf_nodes is {learner.max_leaf_nodes}")
    deepest = max(nodes, key=lambda node: node.depth)
    if learner.max_depth is not None and deepest.depth > learner.max_depth:
        _raise_conflict(f"{name}, node {deepest.number} at depth {deepest.depth}, max_depth is {learner.max_depth}")
    for node in nodes:
        if node.tests < 0 and len(nodes) > 1 and node.rows < learner.min_samples_leaf:
            _raise_conflict(
                f"{name}, leaf {node.number}: {node.rows} rows, min_samples_leaf is {learner.min_samples_leaf}"
            )
        if node.tests >= 0 and node.rows < learner.min_samples_split:
            _raise_conflict(
                f"{name}, node {node.number}: {node.rows} rows, min_samples_split is {learner.min_samples_split}"
            )


def _raise_conflict(conflict: str) -> None:
    """Raise that the learner could not have made a tree."""
    raise ContradictionError(f"the learner could not have made this model: {conflict}", (conflict,))


def _facts_within_limits(
    facts: Sequence[LearnerFact], earlier: Sequence[LearnerFact], release: EncodedRelease, limits: FactLimits
) -> tuple[list[LearnerFact], list[str]]:
    """Return the facts that the limits leave, those of most rows first, and what is left out in words."""
    only = release.models[0] if len(release.models) == 1 and release.known is None else None
    cells = CellBound(only, release) if isinstance(only, Tree) else None
    combinations = math.prod(len(fact.alternatives) for fact in earlier)
    statements = sum(len(a) for fact in earlier for a in fact.alternatives)
    kept, why = [], dict.fromkeys(("statements", "combinations", "cells"), 0)
    for fact in sorted(facts, key=lambda f: (len(f.alternatives) > 1, -f.rows)):
        size = sum(len(a) for a in fact.alternatives)
        if statements + size > limits.statements:
            why["statements"] += 1
        elif combinations * len(fact.alternatives) > limits.combinations:
            why["combinations"] += 1
        elif cells is not None and not cells.add(fact, limits.cells):
            why["cells"] += 1
        else:
            kept.append(fact)
            statements += size
            combinations *= len(fact.alternatives)
    out = sum(why.values())
    which = ", ".join(f"{n:,} for the number of {word}" for word, n in why.items() if n)
    return kept, [TOO_MANY.format(f"{len(facts):,}", f"{out:,}", which)] if out else []


class CellBound:
    """An upper bound on the cells of a release of one tree with facts: per leaf, the parts of every attribute."""

    def __init__(self, tree: Tree, release: EncodedRelease) -> None:
        self.domain = release.domain
        self.leaves = [node for node in node_regions(tree, self.domain) if node.tests < 0]
        self.cuts: list[dict[int, set[int]]] = [{} for _ in self.leaves]

    def add(self, fact: LearnerFact, most: int) -> bool:
        """Add the cuts of a fact unless the bound goes above `most`; return whether they were added."""
        new: list[dict[int, set[int]]] = []
        for leaf, cuts in zip(self.leaves, self.cuts, strict=True):
            fresh = dict(cuts)
            for one in (one for alternative in fact.alternatives for one in alternative):
                where = dict(one.where)
                if all(_meet(ranges, leaf.within(k, self.domain)) for k, ranges in where.items()):
                    for k, ranges in where.items():
                        inner = _positions_inside((p for pair in ranges for p in pair), leaf.within(k, self.domain))
                        if inner:
                            fresh[k] = fresh.get(k, set()) | inner
            new.append(fresh)
        if sum(math.prod(len(cut) + 1 for cut in cuts.values()) for cuts in new) > most:
            return False
        self.cuts = new
        return True


def _meet(a: Iterable[tuple[int, int]], b: Sequence[tuple[int, int]]) -> bool:
    """Return whether two lists of ranges have a position in common."""
    return any(s < f and t < e for s, e in a for t, f in b)


def _positions_inside(positions: Iterable[int], ranges: Sequence[tuple[int, int]]) -> set[int]:
    """Return the positions strictly inside some range."""
    return {p for p in positions if any(start < p < end for start, end in ranges)}
