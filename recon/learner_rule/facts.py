"""A release under the assumption that its learner is known: facts of scikit-learn's trees and forests, in bits.

Given the leaf of every row its attributes are independent, and each fact is about one attribute: the share of worlds
that one tree's facts leave is a product over attributes, and over leaves that no fact ties. So it is exact where the
statements all together are too many to be counted at once.

Source: docs/mathematics.md, "Facts of a known learner".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NoReturn

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from encoders.encode.learner_facts import facts_of_learner, with_learner_facts
from encoders.kinds.split_midpoints import NodeRegion, node_regions
from encoders.models.learner_facts import FactLimits, Learner, LearnerFact
from encoders.models.models import Tree
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.exact import MAX_BITS
from solvers.foundation.limits import Limits

TERMS = 200_000  # products of powers that are added up for facts that leaves tie
WRITTEN = 1 << 27  # bits of all of them
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
    release: EncodedRelease,
    learner: Learner,
    limits: Limits | None = None,
    bounds: FactLimits | None = None,
    *,
    written: bool = False,
) -> FactBits:
    """Return how many bits all facts of its learner take from the worlds of a release of one tree, exact or bounded.

    `written`: thresholds stand in the conditions as stored. The bits are the same for sequences of rows and for rows
    whose leaf is given. Raises `Unsupported` for anything but one tree with exact counts, and for domains with
    impossible boxes; `ContradictionError` where no worlds are left. Cost: per attribute and tied leaves up to 200,000
    products of powers, in exact whole numbers.
    """
    limits = limits or Limits()
    tree = _only_tree(release)
    every = facts_of_learner(release, learner, bounds or FactLimits(pairs=64), written=written)
    nodes = node_regions(tree, release.domain)
    below = _leaves_below(tree, nodes)
    found: list[tuple[str, Bits]] = []
    for k, facts in groupby(sorted(every.facts, key=lambda f: f.attribute), key=lambda f: f.attribute):
        low = high = 0.0
        for tied in _components(list(facts), below):
            a, b = _bits_of_tied(tied, tree, nodes, release.domain, limits)
            low, high = low + a, high + b
        found.append((release.domain.all[k].name, (low, high)))
    removed = tuple(math.fsum(x[1][end] for x in found) for end in (0, 1))
    return FactBits((removed[0], removed[1]), tuple(found), len(every.facts), every.notes)


def _only_tree(release: EncodedRelease) -> Tree:
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


def _leaves_below(tree: Tree, nodes: Sequence[NodeRegion]) -> list[frozenset[int]]:
    out = [frozenset({node.number}) for node in nodes]
    for node in sorted((n for n in nodes if n.tests >= 0), key=lambda n: -n.depth):
        then, otherwise = tree.nodes.children[node.number].tolist()
        out[node.number] = out[then] | out[otherwise]
    return out


def _components(facts: Iterable[LearnerFact], below: Sequence[frozenset[int]]) -> list[list[LearnerFact]]:
    """Return facts of one attribute in groups that have no leaf in common."""
    out: list[tuple[frozenset[int], list[LearnerFact]]] = []
    for fact in facts:
        own, apart, leaves = [fact], [], below[fact.node]
        for others, group in out:
            if others & leaves:
                own, leaves = group + own, leaves | others
            else:
                apart.append((others, group))
        out = [*apart, (leaves, own)]
    return [group for _, group in out]


@dataclass(frozen=True)
class TiedFacts:
    """Facts of one attribute that leaves tie: per leaf its rows and the values left, as bits by position.

    `readings` of every fact: what must be absent and what must occur, each at some leaves among some values.
    """

    rows: tuple[int, ...]
    allowed: tuple[int, ...]
    readings: tuple[tuple[tuple[tuple[Group, ...], tuple[Group, ...]], ...], ...]

    @classmethod
    def of(
        cls, facts: Sequence[LearnerFact], nodes: Sequence[NodeRegion], below: Sequence[frozenset[int]], domain: Domain
    ) -> TiedFacts:
        """Return the facts over the leaves that they are about."""
        k = facts[0].attribute
        leaves = sorted(frozenset().union(*(below[fact.node] for fact in facts)))
        allowed = tuple(_bits_of(nodes[leaf].within(k, domain)) for leaf in leaves)
        readings = []
        for fact in facts:
            at = tuple(i for i, leaf in enumerate(leaves) if leaf in below[fact.node])
            split: tuple[list[tuple[Group, ...]], list[tuple[Group, ...]]] = ([], [])
            for reading in fact.alternatives:
                for occurs in (False, True):
                    groups = (_bits_of(dict(one.where)[k]) for one in reading if (one.low > 0) == occurs)
                    split[occurs].append(tuple((at, group) for group in groups))
            readings.append(tuple(zip(*split, strict=True)))
        return cls(tuple(nodes[leaf].rows for leaf in leaves), allowed, tuple(readings))

    @property
    def terms(self) -> int:
        """Return how many products of powers `fillings` adds up at most."""
        return math.prod(sum(1 << len(occur) for _, occur in fact) for fact in self.readings)

    @property
    def bits(self) -> float:
        """Return how long a product is at most."""
        return sum(n * math.log2(max(1, mask.bit_count())) for mask, n in zip(self.allowed, self.rows, strict=True))

    def fillings(self, limits: Limits) -> int:
        """Return in how many ways the rows of the leaves can have values under the facts, exactly.

        Readings exclude each other; what must occur by inclusion and exclusion.
        """
        total = 0
        stack = [(0, 1, self.allowed)]
        while stack:
            i, sign, allowed = stack.pop()
            if i == len(self.readings):
                total += sign * self.product(allowed)
                continue
            limits.check("facts of the learner were counted, attribute by attribute")
            for absent, occur in self.readings[i]:
                left = _without(allowed, absent)
                for which in range(1 << len(occur)):
                    missed = [group for j, group in enumerate(occur) if which >> j & 1]
                    fewer = _without(left, missed)
                    if all(fewer):
                        stack.append((i + 1, -sign if len(missed) % 2 else sign, fewer))
        return total

    def product(self, allowed: Sequence[int]) -> int:
        """Return in how many ways the rows can have the values allowed at their leaves."""
        return math.prod(mask.bit_count() ** n for mask, n in zip(allowed, self.rows, strict=True))


Group = tuple[tuple[int, ...], int]  # leaves by number, and positions as bits


def _bits_of(ranges: Iterable[tuple[int, int]]) -> int:
    """Return positions as bits."""
    return sum((1 << end) - (1 << start) for start, end in ranges)


def _without(allowed: tuple[int, ...], groups: Iterable[Group]) -> tuple[int, ...]:
    """Return what is allowed at every leaf when no row is in these groups."""
    out = list(allowed)
    for leaves, group in groups:
        for i in leaves:
            out[i] &= ~group
    return tuple(out)


def _bits_of_tied(
    tied: Sequence[LearnerFact], tree: Tree, nodes: Sequence[NodeRegion], domain: Domain, limits: Limits
) -> Bits:
    """Return the bits of facts of one attribute that leaves tie.

    Where they are too many, of those about most rows only; then no upper bound is known. Raises `ContradictionError`
    naming the lowest node where no filling is left.
    """
    below = _leaves_below(tree, nodes)
    kept: list[LearnerFact] = []
    for fact in sorted(tied, key=lambda f: (len(f.alternatives), -f.rows)):
        more = TiedFacts.of([*kept, fact], nodes, below, domain)
        if more.terms <= TERMS and more.bits <= min(MAX_BITS, WRITTEN / more.terms):
            kept.append(fact)
    if not kept:
        return 0.0, math.inf
    found = TiedFacts.of(kept, nodes, below, domain)
    left, whole = found.fillings(limits), math.log2(found.product(found.allowed))
    if left == 0:
        _refuse(kept, nodes, below, domain, limits)
    low, high = _widened(whole - math.log2(left), whole)
    return low, high if len(kept) == len(tied) else math.inf


def _refuse(
    facts: Sequence[LearnerFact],
    nodes: Sequence[NodeRegion],
    below: Sequence[frozenset[int]],
    domain: Domain,
    limits: Limits,
) -> NoReturn:
    """Raise `ContradictionError` naming the lowest node at which facts of one attribute leave no filling."""
    for fact in sorted(facts, key=lambda f: -nodes[f.node].depth):
        own = [other for other in facts if below[other.node] <= below[fact.node]]
        if not TiedFacts.of(own, nodes, below, domain).fillings(limits):
            name = domain.all[fact.attribute].name
            raise ContradictionError(
                f"the learner could not have made this model: no values of '{name}' are left at node {fact.node}",
                tuple(one.name for one in own),
            )
    raise ContradictionError("the learner could not have made this model", tuple(fact.name for fact in facts))


def _widened(bits: float, of: float) -> Bits:
    """Return bounds on a difference of logarithms of the size `of` that were worked out in double precision."""
    slack = ROUNDING * (abs(of) + 1)
    return max(0.0, bits - slack), bits + slack
