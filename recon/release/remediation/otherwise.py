"""The same release published otherwise: cut at a depth, with fewer, rounded or noisy counts, or with none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import AnyModel, Forest, Noise, RuleList, Tree
from encoders.models.nodes import CountTable, ModelNode, Nodes, Support
from recon.queries.measures.sweeping import exact_counts, with_noise
from recon.release.remediation.pruning import bottom_up, links_of, pruned, shortened, with_models
from solvers.engines.figures.partition import PartitionFigures
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.laws.noise.laws import NoiseLaw
from solvers.laws.noise.sampling import Randomness
from solvers.statements.release import ANY_LABEL, Partition

Ints = NDArray[np.int64]
SENSITIVITY = Fraction(1)  # of a count, where one row more or less is told apart


def depths(children: Ints) -> Ints:
    """Return the depth of every node, 0 for the root."""
    out = np.zeros(len(children), dtype=np.int64)
    for v in reversed(bottom_up(children)):
        out[children[v]] = out[v] + 1
    return out


def depth_of(model: Tree | RuleList | Forest) -> int:
    """Return the greatest depth of a model's trees; of a rule list the rules before its default."""
    if isinstance(model, RuleList):
        return max(0, len(model.rules) - 1)
    trees = model.trees if isinstance(model, Forest) else (model,)
    return max(int(depths(links_of(tree)).max()) for tree in trees)


def at_depth(release: EncodedRelease, depth: int) -> EncodedRelease:
    """Return the release with every inner node at a depth (of a list: every later rule) merged into a leaf."""

    def cut(model: Tree) -> Tree:
        children = links_of(model)
        at = np.flatnonzero((depths(children) == depth) & (children[:, 0] >= 0)).tolist()
        return pruned(model, at)[0] if at else model

    return changed(release, cut, lambda model: shortened(model, [depth] if depth < len(model.rules) - 1 else []))


def only_sizes(release: EncodedRelease) -> EncodedRelease:
    """Return the release with the number of rows of every leaf or rule, and no classes.

    Raises `Unsupported` where no classes are counted, and for trees on resamples, whose classes follow from draws.
    """
    model = release.models[0]
    if isinstance(model, Forest) and model.resampled:
        raise Unsupported("not tried: counts of resamples are of draws, and their sizes say as much as is used of them")
    if not any(bool((b.label >= 0).any()) for b in release.statements.partitions.values()):
        raise Unsupported("the counts are not per class already")

    def plain(tree: Tree) -> Tree:
        return replace(tree, nodes=tree.nodes.counting(CountTable.of([total(s) for s in tree.nodes.counts])))

    return changed(
        release, plain, lambda m: replace(m, rules=tuple(replace(r, support=total(r.support)) for r in m.rules))
    )


def total(support: Support) -> Support:
    """Return the rows of all classes together."""
    return Support(None, support.total)


def changed(
    release: EncodedRelease, tree: Callable[[Tree], Tree], rules: Callable[[RuleList], RuleList]
) -> EncodedRelease:
    """Return the release with its one model changed, tree by tree."""
    model = release.models[0]
    found: AnyModel
    if isinstance(model, Tree):
        found = tree(model)
    elif isinstance(model, Forest):
        found = replace(model, trees=tuple(map(tree, model.trees)))
    elif isinstance(model, RuleList):
        found = rules(model)
    else:
        raise Unsupported(f"a {model.kind.replace('_', ' ')} has no leaves to change")
    return with_models(release, [found])


def structure_only(release: EncodedRelease) -> tuple[EncodedRelease, str]:
    """Return the release whose tests are published and no count but that of all rows; and what to note.

    Tests alone say nothing about rows: what is left is one group of everybody. Raises `Unsupported` with the number of
    rows open.
    """
    n = release.rows.high
    if n is None or not release.rows.exact:
        raise Unsupported("not tried: the number of rows is open")
    note = "that one class is the commonest in a leaf is not counted in: it takes some of these bits away"
    return with_models(release, [Tree(Nodes.of([ModelNode(Support(None, n))]))]), note


def rounded_counts(release: EncodedRelease, multiple: int) -> tuple[EncodedRelease, str]:
    """Return the release whose counts are multiples (halves up), as the intervals that they stand for; a note."""

    def ends(block: Partition, n: int) -> tuple[Ints, Ints]:
        shown = (block.low + multiple // 2) // multiple * multiple
        low, high = np.maximum(shown - multiple // 2, 0), shown + (multiple - 1) // 2
        return low, np.minimum(high, n)

    return bounded(release, ends), "the number of all rows is taken to be known exactly"


def bounded(release: EncodedRelease, ends: Callable[[Partition, int], tuple[Ints, Ints]]) -> EncodedRelease:
    """Return the release with intervals in place of exact counts.

    Raises `Unsupported` for trees on resamples and where counts are intervals already.
    """
    n, statements = release.rows.high, release.statements
    exact = all(isinstance(b, Partition) and not b.draws and not b.open_counts for b in statements.blocks)
    if n is None or not release.rows.exact or not exact or release.noisy:
        raise Unsupported("not tried: its counts are no exact numbers of all rows")
    blocks = tuple(b.bounded(*ends(b, n)) for b in statements.blocks if isinstance(b, Partition))
    return replace(release, statements=replace(statements, blocks=blocks))


def with_drawn_noise(
    release: EncodedRelease, epsilon: float, seed: int, confidence: float
) -> tuple[EncodedRelease, str]:
    """Return one tree or rule list with discrete Laplace noise on its counts, drawn once, and what to note.

    One row more or less changes one count by 1: the noise has scale 1 / epsilon. Figures hold at the confidence.
    Raises `Unsupported` for other releases.
    """
    _, truth = exact_counts(release)
    exact, random = Fraction(repr(epsilon)), Randomness(seed)
    noise = Noise(NoiseLaw("discrete_laplace", SENSITIVITY / exact), exact, Fraction(0), SENSITIVITY, "add_remove")
    drawn = [int(c) + random.discrete_laplace(noise.law.scale) for c in truth]
    found = with_noise(release, drawn, noise).at_confidence(Fraction(repr(confidence)))
    return found, f"one draw (seed {seed}); figures hold at confidence {confidence:g}; the tests are not private"


def interval_facts(release: EncodedRelease, limits: Limits) -> dict[str, Any]:
    """Return figures of one partition with intervals that need no count: people, the most exposed, groups, classes.

    Nobody is pinned down in a group that several rows fit: another row can stand there. {} for other releases.
    """
    block = release.statements.single
    if block is None or release.statements.domain.relative:
        return {}
    figures = PartitionFigures.of(release.statements, limits)
    if not figures.exact:
        return {}
    n = release.rows.high
    high = block.high if n is None else np.minimum(block.high, n)
    alone = np.array([size == 1 for size in figures.sizes])
    most = int(high[alone].sum())
    possible = [math.log2(size) for size, h in zip(figures.sizes, high.tolist(), strict=True) if size and h]
    sure = [math.log2(size) for size, low in zip(figures.sizes, block.low.tolist(), strict=True) if size and low]
    out: dict[str, Any] = {
        "pinned": [int(block.low[alone].sum()), most if n is None else min(n, most)],
        "least_bits_left": [min(possible), min(sure, default=None)] if possible else None,
    }
    each = [(block.names[j], [(int(block.low[s]), int(high[s])) for s in own]) for j, own in block.by_region.items()]
    sums = [(name, sum(a for a, _ in own), sum(b for _, b in own)) for name, own in each]
    groups = [{"name": name, "where": "", "rows": [a, b if n is None else min(b, n)]} for name, a, b in sums if b]
    out |= {"smallest_group": ends_of(groups), "groups": groups, "groups_in_all": len(groups)}
    if bool((block.label == ANY_LABEL).any()):
        return out
    cells = [
        {"name": name, "class": block.labels[k], "rows": list(one)}
        for name, own in each
        for k, one in enumerate(own)
        if one[1]
    ]
    pure = [(sum(a for a, _ in own), max(b for _, b in own)) for _, own in each if sum(a > 0 for a, _ in own) <= 1]
    surely = sum(a for (_, own) in each for a in [sum(x for x, _ in own)] if a and sum(b > 0 for _, b in own) == 1)
    maybe = sum(b for _, b in pure)
    rows = [surely, maybe if n is None else min(n, maybe)]
    disclosed = {"rows": rows, "groups": [], "groups_in_all": 0}
    return out | {
        "smallest_cell": ends_of(cells), "cells": cells, "cells_in_all": len(cells), "class_disclosure": disclosed
    }  # fmt: skip


def ends_of(found: Sequence[Mapping[str, Any]]) -> list[int | None] | None:
    """Return the least and the most rows that the smallest of several groups can have that is not empty."""
    if not found:
        return None
    sure = [one["rows"][1] for one in found if one["rows"][0]]
    return [min(max(1, one["rows"][0]) for one in found), min(sure, default=None)]
