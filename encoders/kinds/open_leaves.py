"""What an impure leaf that no limit stopped says of its rows: no feature tells them apart.

The learner splits every node that it may, also without gain; with one row per leaf allowed, any two values that it
tells apart are a split. A leaf of several classes that no limit stopped then holds rows that agree in every feature, up
to gaps of single precision that it does not see.

Source: scikit-learn, tree/_tree.pyx (when a node is a leaf), tree/_splitter.pyx (which features are looked at).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np

from encoders.domain.domain import Domain
from encoders.domain.values import AnyAttribute, Continuous
from encoders.kinds.split_midpoints import NodeRegion
from encoders.models.learner_facts import GroupCount, Learner, LearnerFact
from encoders.models.models import Tree
from encoders.parts.statistics import Positions, Singles, as_ranges, chains, positions_in, singles

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
