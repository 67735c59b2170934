"""What a known learner's rule says of the training rows, as further statements of a release.

Source: scikit-learn, tree/_splitter.pyx and tree/_tree.pyx; docs/mathematics.md, "Facts of a known learner".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from encoders.encode.encoder import CONFIDENCE, EncodedRelease, Origin, assemble
from encoders.kinds.open_leaves import ROUNDED, Features, always_kept, open_leaves, why_closed
from encoders.kinds.split_midpoints import Midpoints, NodeRegion, node_regions
from encoders.models.learner_facts import FactLimits, Learner, LearnerFact, LearnerFacts
from encoders.models.models import Forest, Tree
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.statements.release import RowCount

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
    kept, left_out = _chosen(every.facts, earlier, release, limits)
    return _adding(release, replace(every, facts=tuple(kept), notes=(*every.notes, *left_out)))


def _adding(release: EncodedRelease, facts: LearnerFacts) -> EncodedRelease:
    """Return the release with these facts among its statements, beside those that it has. Cost: that of encoding."""
    earlier = release.facts or LearnerFacts(())
    both = LearnerFacts(
        tuple(dict.fromkeys((*earlier.learners, *facts.learners))),
        tuple(dict.fromkeys((*earlier.facts, *facts.facts))),
        tuple(dict.fromkeys((*earlier.notes, *facts.notes))),
    )
    origins = [Origin("", f"models[{i}]") for i in range(len(release.models))]
    level, rows = release.statements.confidence or CONFIDENCE, release.declared or RowCount()
    found = assemble(release.domain, release.models, rows, origins, release.file, level, release.known, both)
    return found.read_as(release)


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
    trees = model.trees if isinstance(model, Forest) else (model,)
    resampled = isinstance(model, Forest) and model.resampled
    sampled = resampled or learner.bootstrap or learner.weighted
    splits = Midpoints(release.domain, not sampled, written, limits.pairs)
    features = Features.of(trees, release.domain)
    closed = why_closed(learner, sampled)
    if not closed and learner.max_features is not None and not features.told:
        closed = "not every feature was tried, and some may have values that are not told apart"
    found: list[LearnerFact] = []
    for tree in trees:
        name = f"{model.name}, {tree.name}" if isinstance(model, Forest) else model.name
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
        _broken(f"{name}: {len(leaves)} leaves, max_leaf_nodes is {learner.max_leaf_nodes}")
    deepest = max(nodes, key=lambda node: node.depth)
    if learner.max_depth is not None and deepest.depth > learner.max_depth:
        _broken(f"{name}, node {deepest.number} at depth {deepest.depth}, max_depth is {learner.max_depth}")
    for node in nodes:
        if node.tests < 0 and len(nodes) > 1 and node.rows < learner.min_samples_leaf:
            _broken(f"{name}, leaf {node.number}: {node.rows} rows, min_samples_leaf is {learner.min_samples_leaf}")
        if node.tests >= 0 and node.rows < learner.min_samples_split:
            _broken(f"{name}, node {node.number}: {node.rows} rows, min_samples_split is {learner.min_samples_split}")


def _broken(conflict: str) -> None:
    """Raise that the learner could not have made a tree."""
    raise ContradictionError(f"the learner could not have made this model: {conflict}", (conflict,))


def _chosen(
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
                        inner = _inside((p for pair in ranges for p in pair), leaf.within(k, self.domain))
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


def _inside(positions: Iterable[int], ranges: Sequence[tuple[int, int]]) -> set[int]:
    """Return the positions strictly inside some range."""
    return {p for p in positions if any(start < p < end for start, end in ranges)}
