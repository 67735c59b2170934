"""The share of a release's worlds in which its learners could have chosen their models, estimated with an interval.

Rule lists learned again on the rows of a world: nothing is drawn, so that a list is chosen or not.

The share of an attribute's fillings in which every choice of a tree stands, from independent uniform draws.

Rows' leaves and classes are published, so that a row's value of an attribute is uniform over what its leaf leaves, and
nodes side by side hold different rows: what happens below one is independent of what happens below the other. So
exactly uniform fillings *given that all choices below a node stand* are pairs of such fillings below its two children,
drawn again until the node's own choice stands too. The share is the product, node by node from below, of the shares of
pairs that stand; each is seen in draws that are independent and exactly of that law, so that Clopper and Pearson's
interval holds for each, and by Bonferroni's inequality for all at once. Where an event is likely no draw is repeated:
what happens at several nodes is then one event. Which nodes close an event is fixed by draws that are not counted.
Source: splitting by levels (Kahn and Harris 1951), with exact draws in place of a chain. Docs: docs/mathematics.md.

Whether a learner's choice stands: every candidate split of an attribute against the chosen one, for many worlds.

The comparison is scikit-learn's own, in double precision: sums over classes in their order, strict > from one candidate
to the next, columns in any order and the numbers of one column upwards. Source: scikit-learn 1.9.1,
sklearn/tree/_splitter.pyx (`node_split_best`), _criterion.pyx (Gini and Entropy: `children_impurity`,
`proxy_impurity_improvement`, `impurity_improvement`), _tree.pyx (`EPSILON`). Docs: docs/mathematics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.encode.encoder import NO_LEARNER, EncodedRelease
from encoders.models.learner_facts import Learner
from encoders.models.models import AnyModel, RuleList, unsupported
from recon.attacks.evaluation import clopper_pearson
from recon.learner_rule.chosen_model import exact_refusals, greedy_rule
from recon.learner_rule.estimating.fitted_tree import (
    EstimatedShare,
    FittedTree,
    SeenAttribute,
    grown_of,
    refuse_empty,
    seen_of,
)
from recon.learner_rule.figures import rule_assumptions
from recon.queries.questions.questions import iterate_samples
from recon.readers.frames.world import World
from solvers.foundation.displayed import quote
from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.greedy.tree_counts import tree_share

EPSILON = float(np.finfo(float).eps)
NEAR = 2.0**-45  # relative to the rows: logarithms of two libraries differ by less
Floats = NDArray[np.float64]


def _stands(grown: FittedTree, attribute: int, node: int, table: Ints) -> Bools:
    """Return (draws,) whether an attribute leaves what was chosen at a node standing.

    `table` (draws, values, classes): rows of the node by the attribute's value and class. At a split: no candidate of
    the attribute is better than the chosen one, none of the chosen column before it as good, and its threshold lies
    halfway where it is known. At an open leaf: no candidate is admissible, or improves by `min_impurity_decrease`.
    """
    seen, counts = grown.seen[attribute], grown.counts[node]
    left = seen.left(table)
    rows = left.sum(axis=2)
    admissible = (rows >= grown.least) & (counts.sum() - rows >= grown.least)
    criterion = "gini" if grown.learner.criterion == "gini" else "entropy"
    if grown.left[node] < 0:
        if not grown.open_leaf[node]:
            return np.ones(len(table), dtype=bool)
        if grown.learner.min_impurity_decrease <= 0:
            return np.asarray(~admissible.any(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            better = _improvements(criterion, left, counts, float(grown.counts[0].sum()))
        small = better + EPSILON < grown.learner.min_impurity_decrease
        return np.asarray((small | ~admissible).all(axis=1))
    target_left = grown.counts[grown.left[node]]
    signs = _compared(criterion, left, target_left, counts, admissible)
    out = ~(admissible & (signs > 0)).any(axis=1)
    if grown.attribute[node] == attribute:
        column = int(grown.column[node])
        earlier = admissible & (seen.owner == column) & (rows < target_left.sum()) & (signs >= 0)
        out &= ~earlier.any(axis=1)
        out &= _halfway(seen, column, table, int(target_left.sum()), float(grown.threshold[node]))
    return np.asarray(out)


def _compared(criterion: str, left: Ints, chosen: Ints, counts: Ints, admissible: Bools) -> NDArray[np.int8]:
    """Return (draws, candidates) the sign of each gain minus the chosen one, in the learner's arithmetic."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = _proxies(criterion, left, counts)
        target = _proxies(criterion, chosen[None, None], counts)[0, 0]
        apart = np.where(admissible, gains - target, -1.0)
    signs = np.sign(apart).astype(np.int8)
    if criterion == "entropy":  # the learner takes the logarithm of the C library, not NumPy's
        near = admissible & (np.abs(apart) <= NEAR * counts.sum())
        states, back = np.unique(left[near], axis=0, return_inverse=True)
        exact = _plain_proxy(chosen, counts)
        found = np.array([np.sign(_plain_proxy(s, counts) - exact) for s in states], dtype=np.int8)
        signs[near] = found[np.asarray(back).reshape(-1)] if len(states) else 0
    return signs


def _proxies(criterion: str, left: Ints, counts: Ints) -> Floats:
    """Return the sums that the learner compares, for (..., classes) rows that go left."""
    ours, theirs = left.astype(float), (counts - left).astype(float)
    n_left, n_right = ours.sum(axis=-1), theirs.sum(axis=-1)
    return np.asarray(-n_right * _impurity(criterion, theirs, n_right) - n_left * _impurity(criterion, ours, n_left))


def _impurity(criterion: str, rows: Floats, total: Floats) -> Floats:
    """Return the impurity of (..., classes) rows."""
    if criterion == "gini":
        return np.asarray(1.0 - (rows * rows).sum(axis=-1) / (total * total))
    out = np.zeros(np.shape(total))
    for k in range(rows.shape[-1]):
        share = np.where(rows[..., k] > 0, rows[..., k], total) / total
        out -= share * (np.log(share) / math.log(2.0))
    return out


def _plain_proxy(left: Ints, counts: Ints) -> float:
    """Return the sum of one candidate with the C library's logarithm."""
    sides = []
    for rows in (counts - left, left):
        n, out = float(rows.sum()), 0.0
        for count in rows.tolist():
            if count > 0:
                share = count / n
                out -= share * (math.log(share) / math.log(2.0))
        sides.append((n, out))
    (n_right, right), (n_left, ours) = sides
    return -n_right * right - n_left * ours


def _improvements(criterion: str, left: Ints, counts: Ints, rows: float) -> Floats:
    """Return the weighted decrease of impurity of (..., classes) candidates."""
    ours, theirs = left.astype(float), (counts - left).astype(float)
    n_left, n_right, n = ours.sum(axis=-1), theirs.sum(axis=-1), float(counts.sum())
    parent = _impurity(criterion, counts.astype(float), np.array(n))
    after = parent - (n_right / n * _impurity(criterion, theirs, n_right))
    return np.asarray((n / rows) * (after - (n_left / n * _impurity(criterion, ours, n_left))))


def _halfway(seen: SeenAttribute, column: int, table: Ints, left: int, threshold: float) -> Bools:
    """Return (draws,) whether a threshold lies halfway between the last number on the left and the next one.

    `left` rows of the node go left. True where the column has two numbers, or the threshold is not known.
    """
    numbers = seen.distinct[column]
    if len(numbers) == 2 or math.isnan(threshold):
        return np.ones(len(table), dtype=bool)
    order = np.argsort(seen.numbers[column], kind="stable")
    rows = table.sum(axis=2)[:, order]
    held, reached = rows > 0, rows.cumsum(axis=1)
    own = seen.numbers[column][order]
    low = np.where(held & (reached <= left), own, -np.inf).max(axis=1)
    high = np.where(held & (reached > left), own, np.inf).min(axis=1)
    middle = low / 2.0 + high / 2.0
    middle = np.where((middle == high) | ~np.isfinite(middle), low, middle)
    return np.asarray(middle == threshold)


ENOUGH = 0.25  # share of draws for which everything so far stands, below which draws are repeated
PILOT = 400
TRIES = 200  # batches without one draw that stands before an event counts as too rare
COPIES = 12  # of a table, while it is looked at
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class TooRareError(Exception):
    """No draw in which the choices below a node stand was found."""


@dataclass(eq=False)
class Passing:
    """Draws of one attribute's fillings: `closed` nodes close an event, `seen` has their (hits, draws).

    `sure`: log2 of the share that open leaves leave where they are counted exactly, the same in all draws.
    """

    grown: FittedTree
    attribute: int
    rng: np.random.Generator
    limits: Limits
    closed: set[int]
    pilot: bool = False
    seen: dict[int, tuple[int, int]] = field(default_factory=dict)
    sure: dict[int, float] = field(default_factory=dict)
    reaching: list[Bools] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Work out which values reach each node."""
        self.reaching = self.grown.reaching(self.attribute)

    def draws(self, node: int, size: int) -> tuple[Ints, Bools]:
        """Return tables (size, values, classes) of a node's rows, and which of them stand; of a closed node all do."""
        self.limits.check("fillings of an attribute were drawn")
        table, alive = self.once(node, size)
        if self.pilot and node and node not in self.closed and alive.mean() < ENOUGH:
            self.closed.add(node)
        if node in self.closed or not node:
            self.seen.setdefault(node, (int(alive.sum()), size))
        if node not in self.closed or not node:
            return table, alive
        kept, tries = [table[alive]], 0
        while (found := sum(len(t) for t in kept)) < size:
            tries = tries + 1 if not found else 0
            if tries > TRIES:
                raise TooRareError
            self.limits.check("fillings of an attribute were drawn")
            table, alive = self.once(node, size)
            kept.append(table[alive])
        return np.concatenate(kept)[:size], np.ones(size, dtype=bool)

    def once(self, node: int, size: int) -> tuple[Ints, Bools]:
        """Return tables of one batch, and which stand."""
        grown = self.grown
        if grown.left[node] < 0:
            return self.leaf(node, size)
        table, alive = self.draws(int(grown.left[node]), size)
        other, standing = self.draws(int(grown.right[node]), size)
        table = table + other
        return table, alive & standing & _stands(grown, self.attribute, node, table)

    def leaf(self, node: int, size: int) -> tuple[Ints, Bools]:
        """Return tables of a leaf; where one row suffices for a child, open leaves are drawn as they must be."""
        grown, free = self.grown, self.reaching[node]
        refuse_empty(grown, node, free, self.attribute)
        counts, values = grown.counts[node], len(free)
        table = np.zeros((size, values, len(counts)), dtype=np.int64)
        uniform = free / max(free.sum(), 1)
        plain = grown.least == 1 and grown.learner.min_impurity_decrease <= 0
        if not (grown.open_leaf[node] and plain):
            for k in np.flatnonzero(counts):
                table[:, :, k] = self.rng.multinomial(counts[k], uniform, size)
            return table, _stands(grown, self.attribute, node, table)
        alike = grown.seen[self.attribute].alike
        sizes = np.bincount(alike, weights=free)
        logs = np.where(sizes > 0, np.log2(np.maximum(sizes, 1)) - math.log2(free.sum()), -np.inf) * counts.sum()
        top = float(logs.max())
        weights = np.exp2(logs - top)
        self.sure[node] = min(0.0, top + math.log2(float(weights.sum())))
        group = self.rng.choice(len(sizes), size, p=weights / weights.sum())
        for one in np.unique(group):
            held, mine = group == one, free & (alike == one)
            for k in np.flatnonzero(counts):
                table[held, :, k] = self.rng.multinomial(counts[k], mine / mine.sum(), int(held.sum()))
        return table, np.ones(size, dtype=bool)


@dataclass(frozen=True)
class AttributeDraws:
    """What was seen of one attribute: (hits, draws) of every event, log2 of the exact part, whether all were seen."""

    attribute: int
    events: tuple[tuple[int, int], ...]
    sure: float
    whole: bool

    @property
    def log2(self) -> float:
        """Return the estimate of log2 of the share, -inf where an event was never seen."""
        if not self.whole or any(hits == 0 for hits, _ in self.events):
            return -math.inf
        return self.sure + sum(math.log2(hits / draws) for hits, draws in self.events)


def _closing(grown: FittedTree, attribute: int, rng: np.random.Generator, limits: Limits) -> set[int]:
    """Return the nodes at which an attribute's events are closed, from a few draws of their own."""
    pilot = Passing(grown, attribute, rng, limits, set(), pilot=True)
    with suppress(TooRareError):
        pilot.draws(0, PILOT)
    return pilot.closed


def _draw_attribute(
    grown: FittedTree, attribute: int, closed: set[int], draws: int, rng: np.random.Generator, limits: Limits
) -> AttributeDraws:
    """Return what was seen of an attribute in `draws` draws per event; `Inconclusive` where memory is too small."""
    seen, classes = grown.seen[attribute], grown.counts.shape[1]
    needed = draws * max(seen.values, len(seen.owner)) * classes * 8 * COPIES
    if needed > limits.room:
        raise Inconclusive(f"{draws:,} draws of '{seen.name}' need about {needed / 1e6:,.0f} MB: ask for fewer draws")
    one = Passing(grown, attribute, rng, limits, set(closed))
    whole = True
    try:
        one.draws(0, draws)
    except TooRareError:
        whole = False
    # rounding: a logarithm per leaf
    return AttributeDraws(attribute, tuple(one.seen.values()), sum(one.sure.values()), whole)


def _list_again(model: RuleList, learner: Learner, world: World) -> bool:
    """Return whether GreedyRL with a learner's settings, fitted to a world's rows, gives the published list.

    Ties are broken as recon's own learner breaks them. Raises `Unsupported` for another learner, and for columns that
    are not binary. Cost: one fit.
    """
    from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier

    domain, name = world.domain, quote(model.name)
    if learner.name != "greedy rule list":
        raise Unsupported(f"{name}: no share of worlds is estimated under the rule of a {learner.name}")
    columns = [column for seen in seen_of(domain) for column in seen.names]
    columns = [column for column in domain.in_order or columns if column in columns]
    reasons = tuple(one for one in exact_refusals(learner, len(columns)) if "conjunctions couple" not in one)
    if reasons:
        raise Unsupported(f"no share of worlds of {name} is estimated under its learner's rule", reasons)
    frame = world.to_frame(views=True)
    assert domain.label is not None
    y = frame[domain.label.name]
    if y.nunique() < 2:
        return False
    if not np.isin(frame[columns].to_numpy(), (0, 1)).all():
        raise Unsupported(f"{name}: GreedyRL takes binary columns, these have other values")
    again = GreedyRuleListClassifier(
        learner.width or 1,
        int(learner.min_support or 1),
        learner.max_length,
        learner.negations,
        learner.ties or "fewest",
    ).fit(frame[columns], y)
    values = [domain.label.value_at(i) for i in range(domain.label.known[1])]
    return _rule_meanings(again.to_model(label_values=values), domain) == _rule_meanings(model, domain)


def _rule_meanings(model: RuleList, domain: Domain) -> list[object]:
    """Return the rules of a list as what they say, whatever words they say it with."""
    return [(sorted(domain.resolve(rule.condition).items()), rule.support.counts) for rule in model.rules]


BY_ATTRIBUTE = (
    "fillings of single attributes, exactly uniform given the choices below a node, each drawn independently; the "
    "interval is Clopper and Pearson's for every event, joint by Bonferroni's inequality"
)
WHOLE_WORLDS = "whole worlds, exactly uniform and independent; the interval is Clopper and Pearson's"
WEAK = "a threshold is not known to the last digit: that it lies halfway between two values is not used"


def estimated_share(
    release: EncodedRelease,
    learner: Learner,
    limits: Limits,
    seed: int = 0,
    draws: int = 1000,
    confidence: float = 0.95,
    *,
    count_bits: bool = True,
    whole: bool = False,
) -> EstimatedShare:
    """Return an estimate of the share of worlds in which the learner could have chosen the models, with an interval.

    One scikit-learn tree over independent attributes, with any number of values: attribute by attribute and node by
    node (`recon.learner_rule.estimating.estimates`), so that a small share costs little; attributes that are one binary
    column are counted exactly where there are two classes (`count_bits`). Several models, known rows, impossible
    boxes, rule lists of GreedyRL of any width (or `whole`): `draws` exactly uniform worlds, each looked at whole, where
    some engine draws such; a share below about 3 / draws then has an upper end only. The draws are of the convention
    `ordered` (of one tree `assigned`: the same share). Raises `Unsupported` saying why nothing is estimated,
    `ContradictionError` where the learner cannot have grown a tree, `Inconclusive` at the limits.
    """
    if draws < 1 or not 0 < confidence < 1:
        raise ReleaseError(f"{draws} draws at confidence {confidence}: at least 1, and between 0 and 1")
    alone = len(release.models) == 1 and bool(release.models[0].members())
    if whole or not alone or release.known is not None or release.domain.impossible or release.facts is not None:
        return _of_worlds(release, learner, limits, seed, draws, confidence)
    grown = grown_of(release, release.models[0], learner)
    exact, rest = _bits_of(grown, limits) if count_bits else ((0.0, 0.0), tuple(range(len(grown.seen))))
    kinds = _alike(grown, rest)
    streams = np.random.SeedSequence(seed).spawn(2 * len(kinds))
    plans = [
        _closing(grown, kind[0], np.random.default_rng(s), limits) for kind, s in zip(kinds, streams[::2], strict=True)
    ]
    every = []
    for kind, plan, stream in zip(kinds, plans, streams[1::2], strict=True):
        every.append(_draw_attribute(grown, kind[0], plan, draws, np.random.default_rng(stream), limits))
    planned = sum(len(plan | {0}) for plan in plans)
    low, high, middle = _joint_interval(every, [len(kind) for kind in kinds], planned, confidence)
    slack = 2.0**-40 * (1 + abs(high)) * max(1, len(grown.left))
    interval = low + exact[0] - slack, min(0.0, high + exact[1] + slack)
    events = tuple(event for one in every for event in one.events)
    return EstimatedShare(
        learner, draws, events, interval, middle + sum(exact) / 2, confidence, BY_ATTRIBUTE, exact,
        () if grown.known_thresholds else (WEAK,), assumed(release, learner),
    )  # fmt: skip


def _bits_of(grown: FittedTree, limits: Limits) -> tuple[tuple[float, float], tuple[int, ...]]:
    """Return bounds on log2 of what the attributes that are one binary column leave, and the other attributes."""
    rest = tuple(k for k in range(len(grown.seen)) if k not in grown.bits)
    if not grown.bits or grown.counts.shape[1] != 2:
        return (0.0, 0.0), tuple(range(len(grown.seen)))
    return _counted_bits(grown, limits), rest


def _counted_bits(grown: FittedTree, limits: Limits) -> tuple[float, float]:
    """Return bounds on log2 of the share of the fillings of all binary attributes in which every choice stands."""
    columns = max(len(grown.bits), int(grown.chosen.column.max(initial=-1)) + 1)
    found = tree_share(grown.chosen, columns, greedy_rule(grown.learner, grown.chosen), limits)
    some = found.by_column[: len(grown.bits)]
    return sum(low for low, _ in some), min(0.0, sum(high for _, high in some))


def _alike(grown: FittedTree, attributes: Sequence[int]) -> list[list[int]]:
    """Return attributes in groups that have the same share: those that no node tests, with the same columns.

    Attributes of which the learner saw no column have no part.
    """
    groups: dict[object, list[int]] = {}
    tested = set(grown.attribute.tolist())
    for k in attributes:
        seen = grown.seen[k]
        if seen.names:
            key: object = k if k in tested else (seen.numbers.shape, seen.numbers.tobytes())
            groups.setdefault(key, []).append(k)
    return list(groups.values())


def _joint_interval(
    every: Sequence[AttributeDraws], times: Sequence[int], planned: int, confidence: float
) -> tuple[float, float, float]:
    """Return the interval of log2 of the product of what all attributes leave, and its estimate.

    Every of the `planned` events has an interval at the confidence that leaves each an equal part of the doubt.
    """
    each = 1 - (1 - confidence) / max(planned, 1)
    low = high = middle = 0.0
    for one, t in zip(every, times, strict=True):
        ends = [clopper_pearson(hits, draws, each) for hits, draws in one.events]
        least = sum(math.log2(a) if a > 0 else -math.inf for a, _ in ends) if one.whole else -math.inf
        low += t * (one.sure + least)
        high += t * (one.sure + sum(math.log2(b) for _, b in ends))
        middle += t * one.log2
    return low, min(high, 0.0), middle


def _of_worlds(
    release: EncodedRelease, learner: Learner, limits: Limits, seed: int, draws: int, confidence: float
) -> EstimatedShare:
    """Return the estimate from whole worlds: in how many of them every model could have been chosen."""
    grown = [grown_of(release, m, learner_of_tree(m, learner)) for m in release.models if m.members()]
    lists = [model for model in release.models if not model.members()]
    hits = done = 0
    for world in iterate_samples(release, draws, seed, None, limits):
        limits.check(f"worlds were looked at ({done:,} of {draws:,})")
        done += 1
        values = world.inner.values.astype(np.int64)
        chosen = all(_could_grow(one, values, world.inner.times) for one in grown)
        hits += chosen and all(_could_choose(model, learner, world) for model in lists)
    low, high = clopper_pearson(hits, done, confidence)
    weak = () if all(one.known_thresholds for one in grown) else (WEAK,)
    logs = [math.log2(x) if x > 0 else -math.inf for x in (low, high, hits / done)]
    return EstimatedShare(
        learner, draws, ((hits, done),), (logs[0], logs[1]), logs[2], confidence, WHOLE_WORLDS, (0.0, 0.0), weak,
        assumed(release, learner),
    )  # fmt: skip


def learner_of_tree(model: AnyModel, learner: Learner) -> Learner:
    """Return the learner of one of several models: what its file says where that is the same learner, else as given."""
    said = None if model.origin is None else model.origin.learner
    return said if said is not None and said.name == learner.name else learner


def _could_choose(model: AnyModel, learner: Learner, world: World) -> bool:
    """Return whether a learner of rule lists chooses a list on the rows of a world."""
    if not isinstance(model, RuleList):
        raise unsupported(model, "no learner of such models is known")
    return _list_again(model, learner_of_tree(model, learner), world)


def _could_grow(grown: FittedTree, values: NDArray[np.int64], times: NDArray[np.int64]) -> bool:
    """Return whether a learner could have grown a tree, for some draws of its seed, on given rows; exactly.

    `values` (rows, attributes and label): raw value indices, `times`: how often each row occurs. Rows that do not have
    the tree's counts were not its rows: False. Cost: rows times attributes times depth, and every candidate per node.
    """
    classes = grown.counts.shape[1]
    at: dict[int, NDArray[np.int64]] = {0: np.arange(len(values))}
    for node in grown.order():
        rows = at.pop(node)
        held = np.bincount(values[rows, -1], weights=times[rows], minlength=classes)
        if not np.array_equal(held, grown.counts[node]):
            return False
        if grown.left[node] < 0 and not grown.open_leaf[node]:
            continue
        for k, seen in enumerate(grown.seen):
            table = np.zeros((1, seen.values, classes), dtype=np.int64)
            np.add.at(table[0], (values[rows, k], values[rows, -1]), times[rows])
            if not _stands(grown, k, node, table)[0]:
                return False
        if grown.left[node] >= 0:
            passes = grown.goes_left[node]
            assert passes is not None
            left = passes[values[rows, grown.attribute[node]]]
            at[int(grown.left[node])], at[int(grown.right[node])] = rows[left], rows[~left]
    return True


def assumed(release: EncodedRelease, learner: Learner) -> tuple[str, ...]:
    """Return what an estimate assumes: what the release does, with the learner's rule for its absence."""
    base = [line for line in release.assumptions if line != NO_LEARNER]
    return (*base, *rule_assumptions(learner))
