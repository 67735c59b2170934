"""Forests, and trees too large for exact search: pairs of leaves merged one after the other, greedily.

Each tree alone first meets the rules about single groups with the fewest merges, which is exact. Rules about all people
are measured for all trees together; then the pairs whose merge repairs most come first: people no longer pinned down,
rows no longer in pure groups, bits gained. More merges never give more away, so the shortest run of them that is enough
is found by doubling and halving.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import Forest, Tree
from recon.release.remediation.demands import Demands, Figures, Meets, figures_of, outcomes, together, unmet
from recon.release.remediation.pruning import (
    EACH_TREE,
    GREEDY,
    GREEDY_TREE,
    RESAMPLED,
    GroupTree,
    Merging,
    NoMerging,
    alone,
    groups_of,
    pruned,
    with_models,
)
from recon.release.remediation.search import prunings, sums_of
from solvers.foundation.errors import Inconclusive
from solvers.foundation.escaping import named
from solvers.foundation.limits import Limits

Places = tuple[tuple[int, ...], ...]  # per tree the nodes that are leaves


def merged_forest(release: EncodedRelease, model: Forest, demands: Demands, before: Figures, limits: Limits) -> Merging:
    """Return a forest that meets the demands; see `recon.release.remediation.merging.merged`."""
    single = replace(demands, most_pinned=None, mean_bits_left=None, class_disclosure=demands.class_disclosure or None)
    single = replace(single, class_disclosure=0 if demands.class_disclosure == 0 else None)
    sized = demands.sized and not release.statements.domain.relative
    groups = [groups_of(alone(model, t), release.domain, limits, sized) for t in range(len(model.trees))]
    places = tuple(first(model.trees[t], one, single, limits) for t, one in enumerate(groups))
    change = changer(release, model)
    how = (RESAMPLED if model.resampled else EACH_TREE, GREEDY)
    return extended(release, groups, places, demands, before, change, limits, how)


def merged_greedily(
    release: EncodedRelease, model: Tree, groups: GroupTree, demands: Demands, before: Figures, limits: Limits
) -> Merging:
    """Return one tree that meets the demands, where exact search is too large."""
    single = replace(demands, most_pinned=None, mean_bits_left=None)
    single = replace(single, class_disclosure=0 if demands.class_disclosure == 0 else None)
    places = (first(model, groups, single, limits),)

    def change(at: Places) -> EncodedRelease:
        return with_models(release, [pruned(model, at[0])[0]])

    return extended(release, [groups], places, demands, before, change, limits, (GREEDY_TREE, GREEDY_TREE))


def changer(release: EncodedRelease, model: Forest) -> Callable[[Places], EncodedRelease]:
    """Return what makes the release with merged trees."""

    def change(at: Places) -> EncodedRelease:
        trees = tuple(pruned(t, own)[0] if own else t for t, own in zip(model.trees, at, strict=True))
        return with_models(release, [replace(model, trees=trees)])

    return change


def first(tree: Tree, groups: GroupTree, single: Demands, limits: Limits) -> tuple[int, ...]:
    """Return the fewest merges of one tree for rules about single groups; `NoMerging` where one leaf violates them."""
    for _, at in prunings(groups, single, limits):
        return tuple(at)
    rules = "; ".join(f"{rule} = {value:g}" for rule, value in single.named)
    raise NoMerging(
        f"no merging meets the policy: one leaf for everybody in '{named(tree.name, 80)}' violates it ({rules})"
    )


def extended(
    release: EncodedRelease, groups: Sequence[GroupTree], places: Places, demands: Demands, before: Figures,
    change: Callable[[Places], EncodedRelease], limits: Limits, how: tuple[str, str],
) -> Merging:  # fmt: skip
    """Return the release with the fewest further merges, in the greedy order, after which it meets the demands.

    Raises `NoMerging` where all merges together do not help, `Inconclusive` where that is open.
    """
    tried: dict[int, tuple[EncodedRelease, Figures, Meets]] = {}
    order = list(further(groups, places, demands, limits))

    def at(m: int) -> tuple[EncodedRelease, Figures, Meets]:
        if m not in tried:
            limits.report(f"{m:,} further merges are measured")
            limits.check("merges of all trees were measured together")
            now = after_merges(groups, places, order[:m])
            found = change(now) if any(now) else release
            facts = figures_of(found, limits.stage("figures of a merge"), demands)
            tried[m] = (found, facts, together(outcomes(facts, demands)))
        return tried[m]

    low, high = -1, 0  # low: not met, high: met
    while at(high)[2] != "met":
        if high == len(order):
            raise not_met(at(high)[1], demands)
        low, high = high, min(len(order), 2 * high or 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if at(middle)[2] == "met" else (middle, high)
    final = after_merges(groups, places, order[:high])
    merges = sum(sum(g.leaves[v] - 1 for v in own) for g, own in zip(groups, final, strict=True))
    found, facts, _ = at(high)
    exact = not merges or (high == 0 and how[0] == EACH_TREE)
    return Merging(found, merges, exact, how[0 if high == 0 else 1], final, before, facts)


def not_met(facts: Figures, demands: Demands) -> NoMerging | Inconclusive:
    """Return the refusal where even one leaf per tree is not enough."""
    found = outcomes(facts, demands)
    rules = "; ".join(unmet(found, demands))
    if together(found) == "violated":
        return NoMerging(f"no merging meets the policy: one leaf per tree for everybody leaves {rules}")
    why = "; ".join(sorted({str(reason) for reason in (facts.get("not_known") or {}).values()}))
    return Inconclusive(f"whether a merging meets the policy is open: {rules}" + (f" ({why})" if why else ""))


def further(groups: Sequence[GroupTree], places: Places, demands: Demands, limits: Limits) -> Iterator[tuple[int, int]]:
    """Yield tree and node of every further merge of two leaves, those that repair most first."""
    known: list[dict[int, Any]] = [{} for _ in groups]
    leaf = [set(own) for own in places]
    parent: list[dict[int, int]] = []
    heap: list[tuple[tuple[float, ...], int, int]] = []

    def sums(t: int, v: int) -> Any:
        if v not in known[t]:
            known[t][v] = sums_of(groups[t], v)
        return known[t][v]

    def is_leaf(t: int, v: int) -> bool:
        return v in leaf[t] or groups[t].children[v, 0] < 0

    def offer(t: int, v: int) -> None:
        a, b = groups[t].children[v].tolist()
        if not (is_leaf(t, a) and is_leaf(t, b)):
            return
        one, two, here = sums(t, a), sums(t, b), sums(t, v)
        pinned = (one.pinned + two.pinned - here.pinned) if demands.most_pinned is not None else 0
        disclosed = (one.disclosed + two.disclosed - here.disclosed) if demands.class_disclosure is not None else 0
        heapq.heappush(heap, ((-pinned, -disclosed, one.bits + two.bits - here.bits), t, v))

    for t, one in enumerate(groups):
        parent.append({c: v for v in one.order for c in one.children[v].tolist()})
        gone = one.below(places[t])
        for v in one.order:
            if not gone[v] and v not in leaf[t]:
                offer(t, v)
    while heap:
        limits.check("merges were put in order")
        _, t, v = heapq.heappop(heap)
        leaf[t].add(v)
        yield t, v
        if v in parent[t]:
            offer(t, parent[t][v])


def after_merges(groups: Sequence[GroupTree], places: Places, order: Sequence[tuple[int, int]]) -> Places:
    """Return the nodes that are leaves after these further merges: of nested ones the highest."""
    chosen = [set(own) for own in places]
    for t, v in order:
        chosen[t].add(v)
    out = []
    for one, own in zip(groups, chosen, strict=True):
        gone = one.below(own)
        out.append(tuple(sorted(v for v in own if not gone[v])))
    return tuple(out)
