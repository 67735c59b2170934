"""A release under the assumption that its learner is known: facts of scikit-learn's trees and forests, in bits.

Given the leaf of every row its attributes are independent, and each fact is about one attribute: the share of worlds
that one tree's facts leave is a product over attributes, and over leaves that no fact ties. So it is exact where the
statements all together are too many to be counted at once.

Source: docs/mathematics.md, "Facts of a known learner".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from encoders.encode.encoder import EncodedRelease
from encoders.encode.learner_facts import adding, facts_of_learner, with_learner_facts
from encoders.kinds.node_regions import NodeRegion, node_regions
from encoders.models.learner import Learner
from encoders.models.learner_facts import Fact, FactLimits, LearnerFacts
from encoders.models.models import Tree
from recon.answers.counting import count
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.limits import Limits

COMBINATIONS = 2_000  # alternatives multiplied that are tried at once
ROUNDING = 1e-13  # relative: of logarithms worked out in double precision
Bits = tuple[float, float]


@dataclass(frozen=True)
class FactBits:
    """How many bits the facts of a learner take from the worlds of one tree: bounds, rounded outwards.

    `removed` in all, which is the sum of `by_attribute`, of `facts` facts. A high end of infinity: some facts of one
    attribute were too many to be counted at once, and were left out of the low end.
    """

    removed: Bits
    by_attribute: tuple[tuple[str, Bits], ...]
    facts: int
    assumptions: tuple[str, ...]


def with_facts(
    release: EncodedRelease, learner: Learner, limits: Limits | None = None, bounds: FactLimits | None = None
) -> EncodedRelease:
    """Return the release with the facts of its learner among its statements.

    `bounds` say how many; `limits` of time and memory are looked at before, encoding is one step. Raises as
    `encoders.encode.learner_facts.with_learner_facts`.
    """
    (limits or Limits()).check("what the learner's rule says was worked out")
    return with_learner_facts(release, learner, bounds)


def fact_bits(
    release: EncodedRelease, learner: Learner, limits: Limits | None = None, bounds: FactLimits | None = None
) -> FactBits:
    """Return how many bits all facts of its learner take from the worlds of a release of one tree, exact or bounded.

    The same for sequences of rows and for rows with their leaf given. Raises `Unsupported` for anything but one tree
    with exact counts, and for domains with impossible boxes. Cost: that of `count` per attribute and tied leaves.
    """
    limits = limits or Limits()
    tree = only_tree(release)
    every = facts_of_learner(release, learner, bounds)
    nodes = node_regions(tree, release.domain)
    below = leaves_below(tree, nodes)
    before = count(release, "ordered", limits).bounds if every.facts else (0.0, 0.0)
    found: list[tuple[str, Bits]] = []
    for k, facts in groupby(sorted(every.facts, key=lambda f: f.attribute), key=lambda f: f.attribute):
        low = high = 0.0
        for tied in components(list(facts), below):
            limits.check("facts of the learner were counted, attribute by attribute")
            a, b = alone(tied, nodes, release) or counted(release, every, tied, before, limits)
            low, high = low + a, high + b
        found.append((release.domain.all[k].name, (low, high)))
    removed = tuple(math.fsum(x[1][end] for x in found) for end in (0, 1))
    return FactBits((removed[0], removed[1]), tuple(found), len(every.facts), every.notes)


def only_tree(release: EncodedRelease) -> Tree:
    """Return the tree of a release of one; `Unsupported` for any other release."""
    tree = release.models[0]
    if len(release.models) > 1 or not isinstance(tree, Tree) or tree.noise is not None:
        raise Unsupported(
            "the bits of a learner's facts are a product over attributes for one tree with exact counts only"
        )
    if release.known is not None or release.facts is not None or release.statements.impossible:
        what = "impossible boxes" if release.statements.impossible else "what else the adversary knows"
        raise Unsupported(f"the bits of a learner's facts are no product over attributes beside {what}")
    return tree


def leaves_below(tree: Tree, nodes: Sequence[NodeRegion]) -> list[frozenset[int]]:
    """Return the leaves below every node."""
    out = [frozenset({node.number}) for node in nodes]
    for node in sorted((n for n in nodes if n.tests >= 0), key=lambda n: -n.depth):
        then, otherwise = tree.nodes.children[node.number].tolist()
        out[node.number] = out[then] | out[otherwise]
    return out


def components(facts: Iterable[Fact], below: Sequence[frozenset[int]]) -> list[list[Fact]]:
    """Return facts of one attribute in groups that have no leaf in common."""
    out: list[tuple[frozenset[int], list[Fact]]] = []
    for fact in facts:
        own, apart, leaves = [fact], [], below[fact.node]
        for others, group in out:
            if others & leaves:
                own, leaves = group + own, leaves | others
            else:
                apart.append((others, group))
        out = [*apart, (leaves, own)]
    return [group for _, group in out]


def alone(tied: Sequence[Fact], nodes: Sequence[NodeRegion], release: EncodedRelease) -> Bits | None:
    """Return the bits of one fact about a leaf in closed form, None for any other group of facts.

    Of n rows with m of M values in each reading that leaves other values no row: n·log2 M - log2 Σ m^n.
    """
    (fact, *others) = tied
    attribute = release.domain.all[fact.attribute]
    if others or nodes[fact.node].tests >= 0 or attribute.missing:
        return None
    whole = sum(b - a for a, b in nodes[fact.node].within(fact.attribute, release.domain))
    without = [sum(b - a for a, b in dict(one.where)[fact.attribute]) for (one,) in fact.alternatives]
    left = math.log2(sum((whole - m) ** fact.rows for m in without))
    return widened(fact.rows * math.log2(whole) - left, fact.rows * math.log2(whole))


def counted(release: EncodedRelease, every: LearnerFacts, tied: Sequence[Fact], before: Bits, limits: Limits) -> Bits:
    """Return the bits of facts that leaves tie, by counting the worlds with them and no others."""
    kept: list[Fact] = []
    for fact in sorted(tied, key=lambda f: (len(f.alternatives) > 1, -f.rows)):
        if math.prod(len(f.alternatives) for f in [*kept, fact]) <= COMBINATIONS:
            kept.append(fact)
    answer = count(adding(release, replace(every, facts=tuple(kept))), "ordered", limits)
    if answer.status in {"unsat", "empty"}:
        message = "the learner could not have made this model: no training set has these counts and its thresholds"
        raise ContradictionError(message, answer.conflict or tuple(fact.name for fact in kept))
    low, high = answer.bounds
    least = widened(before[0] - high, before[0])[0] if math.isfinite(high) else 0.0
    most = widened(before[1] - low, before[1])[1] if math.isfinite(low) else math.inf
    return max(0.0, least), most if len(kept) == len(tied) else math.inf


def widened(bits: float, of: float) -> Bits:
    """Return bounds on a difference of logarithms of the size `of` that were worked out in double precision."""
    slack = ROUNDING * (abs(of) + 1)
    return max(0.0, bits - slack), bits + slack
