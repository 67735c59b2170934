"""The fewest merges of leaves into their parents after which a release meets a policy.

One tree and one rule list are exact: dynamic programming over nodes (`recon.release.remediation.merging`). Of forests
each tree alone is exact for rules about single groups; what rules about all people need beyond is greedy, and is
called so.

Forests, and trees too large for exact search: pairs of leaves merged one after the other, greedily.

Each tree alone first meets the rules about single groups with the fewest merges, which is exact. Rules about all people
are measured for all trees together; then the pairs whose merge repairs most come first: people no longer pinned down,
rows no longer in pure groups, bits gained. More merges never give more away, so the shortest run of them that is enough
is found by doubling and halving.

The fewest merges of one tree of groups: dynamic programming over its nodes, exact.

A pruning is a set of inner nodes that become leaves; a subtree of m leaves costs m - 1 merges. Rules about single
groups say which nodes may be leaves. Rules about all groups together are sums over the leaves that are left (people
pinned down, rows in pure groups, bits): every node keeps its front of merges, people, rows and bits, of which no entry
is as good as another in all of them. What is dominated at a node is dominated in every whole tree.

Source: Bohanec and Bratko, "Trading accuracy for simplicity in decision trees", Machine Learning 15, 1994 (optimal
prunings of every size by dynamic programming); here over figures of disclosure, with fronts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import AnyModel, Forest, PublishedModel, RuleList, Tree, unsupported
from recon.readers.loading.settled import as_released
from recon.release.remediation.pruning import (
    EACH_TREE,
    EXACT_LIST,
    EXACT_TREE,
    GREEDY,
    GREEDY_TREE,
    RESAMPLED,
    GroupTree,
    Merging,
    NoMerging,
    alone,
    groups_of,
    merged_at,
    pruned,
    with_models,
)
from recon.release.remediation.thresholds import (
    Demands,
    Figures,
    Meets,
    combined_outcome,
    demands_of,
    figures_of,
    outcomes,
    shown_threshold,
    unmet,
)
from solvers.foundation.displayed import quote
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.exact import log2_multisets
from solvers.foundation.limits import Limits

MAX_PAIRS = 5_000_000  # entries of two fronts put together at one node
MAX_GRID = 20_000_000  # merges x people x rows at one node
NEAR = 1e-9  # of the bits wanted: what sums in another order can differ by, and more
Key = tuple[bool, bool, bool]


class LeafSums(NamedTuple):
    """What a leaf adds: people pinned down, rows in pure groups, bits left."""

    pinned: int
    disclosed: int
    bits: float


@dataclass(frozen=True, eq=False)
class Front:
    """Prunings below a node, none as good as another: merges, pinned, disclosed (whole numbers) and bits left.

    `left`, `right`: the entries of the children's fronts that they are made of; -1: the node is a leaf.
    """

    merges: NDArray[np.int64]
    pinned: NDArray[np.int64]
    disclosed: NDArray[np.int64]
    bits: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.merges)

    def take(self, at: NDArray[np.int64]) -> Front:
        """Return some of the entries."""
        whole = self.merges[at], self.pinned[at], self.disclosed[at]
        return Front(*whole, self.bits[at], self.left[at], self.right[at])


def _pure(groups: GroupTree, v: int) -> bool:
    """Return whether all rows of a group have one class, and other classes exist."""
    return groups.by_class[v] and len(groups.cells[v]) > 1 and sum(c > 0 for c, _ in groups.cells[v]) == 1


def _may_be_leaf(groups: GroupTree, v: int, demands: Demands) -> bool:
    """Return whether a node, as a leaf, meets the rules about single groups; one without rows does."""
    if not groups.rows[v]:
        return True
    if demands.smallest_group is not None and groups.rows[v] < demands.smallest_group:
        return False
    filled = [(c, s) for c, s in groups.cells[v] if c]
    if demands.smallest_cell is not None and groups.by_class[v] and min(c for c, _ in filled) < demands.smallest_cell:
        return False
    if demands.class_disclosure == 0 and _pure(groups, v):
        return False
    left = demands.least_bits_left
    return left is None or min(math.log2(s) if s else 0.0 for _, s in filled) >= left


def _sums_of(groups: GroupTree, v: int) -> LeafSums:
    """Return what a node adds to the sums if it is a leaf."""
    filled = [(c, s) for c, s in groups.cells[v] if c]
    return LeafSums(
        sum(c for c, s in filled if s == 1),
        groups.rows[v] if _pure(groups, v) else 0,
        math.fsum(log2_multisets(s, c) for c, s in filled if s),
    )


def prunings(groups: GroupTree, demands: Demands, limits: Limits) -> Iterator[tuple[int, list[int]]]:
    """Yield prunings that meet the demands by these sums, the fewest merges first: merges, and the nodes made leaves.

    Bits may fall short of what is wanted by rounding (`NEAR`): check each, and take the next where it does. The first
    that holds has the fewest merges of all. Nothing is yielded where no pruning meets the demands. Cost: linear in
    nodes without rules about all groups; with bits on average quadratic in leaves; with rules about people and rows
    times what they allow, squared. Raises `TooLarge` beyond `MAX_PAIRS`, `Inconclusive` out of time.
    """
    fronts = _fronts_of(groups, demands, limits)
    root = fronts[0]
    good = np.arange(len(root))
    if demands.mean_bits_left is not None:
        wanted = demands.mean_bits_left * groups.rows[0]
        good = good[root.bits >= wanted - NEAR * max(1.0, abs(wanted))]
    order = np.lexsort((-root.bits[good], root.merges[good]))
    for entry in good[order].tolist():
        yield int(root.merges[entry]), sorted(_merged_nodes(groups, fronts, entry))


def _fronts_of(groups: GroupTree, demands: Demands, limits: Limits) -> list[Front]:
    """Return the front of every node; see `prunings`."""
    asked = (demands.most_pinned is not None, bool(demands.class_disclosure), demands.mean_bits_left is not None)
    fronts: list[Front] = [NOTHING] * len(groups)
    for v in np.flatnonzero(groups.children[:, 0] < 0).tolist():
        fronts[v] = _as_leaf(groups, v, demands, asked)
    for v in groups.order:
        limits.check("merges were searched")
        a, b = groups.children[v].tolist()
        here = _as_leaf(groups, v, demands, asked)
        if not any(asked):  # without sums the fewest merges are kept splits wherever both sides can be met
            fronts[v] = _paired(fronts[a], fronts[b]) if len(fronts[a]) and len(fronts[b]) else here
        else:
            fronts[v] = _undominated(_joined_front(here, allowed_entries(_paired(fronts[a], fronts[b]), demands)))
    return fronts


def _as_leaf(groups: GroupTree, v: int, demands: Demands, asked: Key) -> Front:
    """Return the front of a node that is a leaf: one entry, or none."""
    if not _may_be_leaf(groups, v, demands):
        return NOTHING
    pinned, disclosed, bits = _sums_of(groups, v) if any(asked) else LeafSums(0, 0, 0.0)
    one = np.full(1, -1, dtype=np.int64)
    merges, people = np.array([groups.leaves[v] - 1]), np.array([pinned * asked[0]])
    rows = np.array([disclosed * asked[1]])
    return allowed_entries(Front(merges, people, rows, np.array([bits * asked[2]]), one, one), demands)


def _paired(a: Front, b: Front) -> Front:
    """Return every entry of one front with every entry of the other."""
    if len(a) * len(b) > MAX_PAIRS:
        raise TooLarge(f"{len(a):,} x {len(b):,} prunings of two branches are too many to be put together")
    left, right = (part.ravel() for part in np.indices((len(a), len(b))))
    one, two = a.take(left), b.take(right)
    merges, pinned, disclosed = one.merges + two.merges, one.pinned + two.pinned, one.disclosed + two.disclosed
    return Front(merges, pinned, disclosed, one.bits + two.bits, left.astype(np.int64), right.astype(np.int64))


def _joined_front(a: Front, b: Front) -> Front:
    """Return the entries of both fronts."""
    names = ("merges", "pinned", "disclosed", "bits", "left", "right")
    return Front(*(np.concatenate([getattr(a, name), getattr(b, name)]) for name in names))


def allowed_entries(front: Front, demands: Demands) -> Front:
    """Return the entries that are not beyond a threshold already: sums of people and rows only grow."""
    keep = np.ones(len(front), dtype=bool)
    if demands.most_pinned is not None:
        keep &= front.pinned <= demands.most_pinned
    if demands.class_disclosure:
        keep &= front.disclosed <= demands.class_disclosure
    return front if keep.all() else front.take(np.flatnonzero(keep))


def _undominated(front: Front) -> Front:
    """Return the entries than which no other is at least as good in merges, people, rows and bits."""
    if len(front) < 2:
        return front
    codes, shape = [], []
    for column in (front.merges, front.pinned, front.disclosed):
        values, code = np.unique(column, return_inverse=True)
        codes.append(code)
        shape.append(len(values))
    if math.prod(shape) > MAX_GRID:
        raise TooLarge(f"{math.prod(shape):,} combinations of merges, people and rows are too many")
    flat = np.ravel_multi_index(codes, shape)
    order = np.lexsort((-front.bits, flat))
    first = order[np.flatnonzero(np.diff(flat[order], prepend=-1))]  # of equal whole numbers the most bits
    best = np.full(math.prod(shape), -math.inf)
    best[flat[first]] = front.bits[first]
    best = best.reshape(shape)
    for axis in range(3):  # the most bits of those that are as good in all whole numbers
        best = np.maximum.accumulate(best, axis=axis)
    beside = np.full(shape, -math.inf)  # the same without those that are equal in all of them
    for axis in range(3):
        at, before = [slice(None)] * 3, [slice(None)] * 3
        at[axis], before[axis] = slice(1, None), slice(None, -1)
        beside[tuple(at)] = np.maximum(beside[tuple(at)], best[tuple(before)])
    return front.take(np.sort(first[front.bits[first] > beside.ravel()[flat[first]]]))


def _merged_nodes(groups: GroupTree, fronts: list[Front], entry: int) -> list[int]:
    """Return the inner nodes that an entry of the root's front makes leaves."""
    found, stack = [], [(0, entry)]
    while stack:
        v, i = stack.pop()
        a, b = groups.children[v].tolist()
        if a < 0:
            continue
        if fronts[v].left[i] < 0:
            found.append(v)
            continue
        stack += [(a, int(fronts[v].left[i])), (b, int(fronts[v].right[i]))]
    return found


_NONE = np.zeros(0, dtype=np.int64)
NOTHING = Front(_NONE, _NONE, _NONE, np.zeros(0), _NONE, _NONE)


Places = tuple[tuple[int, ...], ...]  # per tree the nodes that are leaves


def _merged_forest(
    release: EncodedRelease, model: Forest, demands: Demands, before: Figures, limits: Limits
) -> Merging:
    """Return a forest that meets the demands; see `recon.release.remediation.merging.merge_leaves`."""
    single = replace(demands, most_pinned=None, mean_bits_left=None)
    single = replace(single, class_disclosure=0 if demands.class_disclosure == 0 else None)
    sized = demands.sized and not release.statements.domain.relative
    groups = [groups_of(alone(model, t), release.domain, limits, sized) for t in range(len(model.trees))]
    places = tuple(_first(model.trees[t], one, single, limits) for t, one in enumerate(groups))
    change = _changer(release, model)
    how = (RESAMPLED if model.resampled else EACH_TREE, GREEDY)
    return _extended(release, groups, places, demands, before, change, limits, how)


def _merged_greedily(
    release: EncodedRelease, model: Tree, groups: GroupTree, demands: Demands, before: Figures, limits: Limits
) -> Merging:
    """Return one tree that meets the demands, where exact search is too large."""
    single = replace(demands, most_pinned=None, mean_bits_left=None)
    single = replace(single, class_disclosure=0 if demands.class_disclosure == 0 else None)
    places = (_first(model, groups, single, limits),)

    def change(at: Places) -> EncodedRelease:
        return with_models(release, [pruned(model, at[0])[0]])

    return _extended(release, [groups], places, demands, before, change, limits, (GREEDY_TREE, GREEDY_TREE))


def _changer(release: EncodedRelease, model: Forest) -> Callable[[Places], EncodedRelease]:
    """Return what makes the release with merged trees."""

    def change(at: Places) -> EncodedRelease:
        trees = tuple(pruned(t, own)[0] if own else t for t, own in zip(model.trees, at, strict=True))
        return with_models(release, [replace(model, trees=trees)])

    return change


def _first(tree: Tree, groups: GroupTree, single: Demands, limits: Limits) -> tuple[int, ...]:
    """Return the fewest merges of one tree for rules about single groups; `NoMerging` where one leaf violates them."""
    for _, at in prunings(groups, single, limits):
        return tuple(at)
    rules = "; ".join(f"{rule} = {shown_threshold(value)}" for rule, value in single.named)
    raise NoMerging(
        f"no merging meets the policy: one leaf for everybody in '{quote(tree.name, 80)}' violates it ({rules})"
    )


def _extended(
    release: EncodedRelease, groups: Sequence[GroupTree], places: Places, demands: Demands, before: Figures,
    change: Callable[[Places], EncodedRelease], limits: Limits, how: tuple[str, str],
) -> Merging:  # fmt: skip
    """Return the release with the fewest further merges, in the greedy order, after which it meets the demands.

    Where the time ends the search, the fewest that were seen to meet them. Raises `NoMerging` where all merges together
    do not help, `Inconclusive` where that is open: it says how many further merges are too few, and how many meet them.
    """
    tried: dict[int, tuple[EncodedRelease, Figures, Meets]] = {}
    order = list(_further(groups, places, demands, limits))

    def at(m: int) -> tuple[EncodedRelease, Figures, Meets]:
        if m not in tried:
            limits.report(f"{m:,} further merges are measured")
            limits.check(f"{m:,} of {len(order):,} further merges were measured")
            now = _after_merges(groups, places, order[:m])
            found = change(now) if any(now) else release
            facts = figures_of(found, limits.stage("figures of a merge"), demands)
            tried[m] = (found, facts, combined_outcome(outcomes(facts, demands)))
        return tried[m]

    low, high, cut = -1, 0, ""  # low: not met, high: met
    try:
        while at(high)[2] != "met":
            if high == len(order):
                raise _not_met(at(high)[1], demands)
            low, high = high, min(len(order), 2 * high or 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if at(middle)[2] == "met" else (middle, high)
    except Inconclusive as ended:
        if low < 0 or (high in tried and tried[high][2] != "met"):
            raise
        known = f"with {low:,} further merges the policy was not seen to be met"
        if high not in tried:
            raise Inconclusive(f"{ended}; {known}") from None
        if limits.stop.is_set():
            raise Inconclusive(f"{ended}; {known}, with {high:,} it is, by their figures") from None
        cut = f"; {ended}: {known}, so that fewer than {high:,} may do"
    final = _after_merges(groups, places, order[:high])
    merges = sum(sum(g.leaves[v] - 1 for v in own) for g, own in zip(groups, final, strict=True))
    found, facts, _ = at(high)
    exact = not merges or (high == 0 and how[0] == EACH_TREE)
    return Merging(found, merges, exact, how[0 if high == 0 else 1] + cut, final, before, facts)


def _not_met(facts: Figures, demands: Demands) -> NoMerging | Inconclusive:
    """Return the refusal where even one leaf per tree is not enough."""
    found = outcomes(facts, demands)
    rules = "; ".join(unmet(found, demands))
    if combined_outcome(found) == "violated":
        return NoMerging(f"no merging meets the policy: one leaf per tree for everybody leaves {rules}")
    why = "; ".join(sorted({str(reason) for reason in (facts.get("not_known") or {}).values()}))
    return Inconclusive(f"whether a merging meets the policy is open: {rules}" + (f" ({why})" if why else ""))


def _further(
    groups: Sequence[GroupTree], places: Places, demands: Demands, limits: Limits
) -> Iterator[tuple[int, int]]:
    """Yield tree and node of every further merge of two leaves, those that repair most first."""
    known: list[dict[int, Any]] = [{} for _ in groups]
    leaf = [set(own) for own in places]
    parent: list[dict[int, int]] = []
    heap: list[tuple[tuple[float, ...], int, int]] = []

    def sums(t: int, v: int) -> Any:
        if v not in known[t]:
            known[t][v] = _sums_of(groups[t], v)
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


def _after_merges(groups: Sequence[GroupTree], places: Places, order: Sequence[tuple[int, int]]) -> Places:
    """Return the nodes that are leaves after these further merges: of nested ones the highest."""
    chosen = [set(own) for own in places]
    for t, v in order:
        chosen[t].add(v)
    out = []
    for one, own in zip(groups, chosen, strict=True):
        gone = one.below(own)
        out.append(tuple(sorted(v for v in own if not gone[v])))
    return tuple(out)


TRIES = 50  # prunings that are looked at where rounding decides


def merge_leaves(release: EncodedRelease, policy: Any, limits: Limits | None = None) -> Merging:
    """Return the release with the fewest merges of leaves into parents after which it meets the policy.

    Rules that merging cannot repair (kinds of counts, what the file stores, profiles) are not looked at: assess the
    result. `policy`: a policy or a mapping of its keys; `limits`: two minutes, where they have no time. Raises
    `Unsupported` naming what is not a tree, rule list or forest, and for noisy counts; `NoMerging` where one leaf alone
    violates the policy, naming the rule; `Inconclusive` where the limits leave it open. Cost: see
    `recon.release.remediation.merging.prunings`; of forests also some joint measures.
    """
    limits = (limits or Limits()).limited()
    release, demands = as_released(release), demands_of(policy)
    model = _mergeable(release)
    before = figures_of(release, limits.stage("figures of a merge"), demands)
    return _merged_model(model, release, demands, before, limits)


@singledispatch
def _merged_model(
    model: PublishedModel, release: EncodedRelease, demands: Demands, before: Figures, limits: Limits
) -> Merging:
    """Return the release with the fewest merges of its one model; see `merge_leaves`."""
    raise unsupported(model, "its groups are not merged")


@_merged_model.register(Forest)
def _(model: Forest, release: EncodedRelease, demands: Demands, before: Figures, limits: Limits) -> Merging:
    return _merged_forest(release, model, demands, before, limits)


@_merged_model.register(Tree | RuleList)
def _(model: Tree | RuleList, release: EncodedRelease, demands: Demands, before: Figures, limits: Limits) -> Merging:
    groups = groups_of(model, release.domain, limits, demands.sized)
    try:
        for merges, at in islice(prunings(groups, demands, limits), TRIES):
            found = with_models(release, [merged_at(model, at)]) if at else release
            after = figures_of(found, limits, demands)
            if combined_outcome(outcomes(after, demands)) == "met":
                how = EXACT_TREE if model.members() else EXACT_LIST
                return Merging(found, merges, True, how, (tuple(at),), before, after)
    except TooLarge:
        if not isinstance(model, Tree):
            raise
        return _merged_greedily(release, model, groups, demands, before, limits)
    raise no_merging(release, model, demands, groups, limits)


def no_merging(
    release: EncodedRelease, model: Tree | RuleList, demands: Demands, groups: GroupTree, limits: Limits
) -> NoMerging | Inconclusive:
    """Return the refusal that says which rule one leaf alone violates."""
    root = [0] if groups.leaves[0] > 1 else []
    found = outcomes(figures_of(with_models(release, [merged_at(model, root)]), limits, demands), demands)
    if combined_outcome(found) == "met":
        return Inconclusive(
            "the fewest merges that meet the policy were not settled: rounding decides; change it a bit"
        )
    return NoMerging(
        f"no merging meets the policy: one leaf for everybody leaves {'; '.join(unmet(found, demands))}. Publish less "
        "(no class counts, or none at all), or change the policy"
    )


def _mergeable(release: EncodedRelease) -> AnyModel:
    """Return the one model of a release whose groups can be merged; `Unsupported` says by name why there is none."""
    if release.noisy or any(m.noise is not None for m in release.models):
        raise Unsupported(
            "leaves with noisy counts are not merged: their noise would add up; merge the exact counts, then add noise"
        )
    first, *rest = release.models
    of_one_file = bool(rest) and all(m.origin is not None and m.origin == first.origin for m in rest)
    partitions = sum(m.unit == "node" for m in release.models)
    if of_one_file and first.unit == "node" and partitions > 1:
        raise Unsupported(
            f"partitions by {partitions} variables in one file are not merged: publish "
            "coarser bins, which recon audit judges, or the points alone, without counts"
        )
    if of_one_file and first.unit == "node":
        raise Unsupported(
            "a regression tree whose leaves say totals of the target is not merged: give a domain without the target "
            "(--domain), over which its leaves say how many rows they have"
        )
    if rest:
        raise Unsupported(
            f"a release of {len(release.models)} models is not merged: give one file, and merge each model alone"
        )
    model = first
    if model.mergeable:
        return model
    what = f"the {model.kind.replace('_', ' ')} '{quote(model.name, 80)}'"
    if model.scores:
        raise Unsupported(
            f"{what} is not merged: its leaf values say more than its counts; recon audit --remedies shows what "
            "rounded leaf values and fewer trees leave"
        )
    raise Unsupported(
        f"{what} has no leaves with parents to merge: leave out its small groups, or publish intervals in their place"
    )
