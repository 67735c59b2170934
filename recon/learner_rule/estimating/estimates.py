"""The share of a release's worlds in which its learners could have chosen their models, estimated with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from encoders.encode.assumed import NO_LEARNER
from encoders.encode.encoder import EncodedRelease
from encoders.models.learner import Learner
from encoders.models.models import AnyModel, RuleList, Tree
from recon.attacks.evaluation.figures import clopper_pearson
from recon.learner_rule.chosen import greedy_rule
from recon.learner_rule.estimating.figures import EstimatedShare
from recon.learner_rule.estimating.grown import FittedTree, grown_of
from recon.learner_rule.estimating.passing import Passed, closing, passed
from recon.learner_rule.estimating.refitting import list_again
from recon.learner_rule.estimating.standing import stands
from recon.learner_rule.wording import rule_assumptions
from recon.queries.questions.questions import drawn
from recon.readers.frames.world import World
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.greedy.tree_counts import tree_share

BY_ATTRIBUTE = (
    "fillings of single attributes, exactly uniform given the choices below a node, each drawn independently; the "
    "interval is Clopper and Pearson's for every event, joint by Bonferroni's inequality"
)
WHOLE = "whole worlds, exactly uniform and independent; the interval is Clopper and Pearson's"
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
    node (`recon.learner_rule.estimating.passing`), so that a small share costs little; attributes that are one binary
    column are counted exactly where there are two classes (`count_bits`). Several models, known rows, impossible
    boxes, rule lists of GreedyRL of any width (or `whole`): `draws` exactly uniform worlds, each looked at whole, where
    some engine draws such; a share below about 3 / draws then has an upper end only. The draws are of the convention
    `ordered` (of one tree `assigned`: the same share). Raises `Unsupported` saying why nothing is estimated,
    `ContradictionError` where the learner cannot have grown a tree, `Inconclusive` at the limits.
    """
    if draws < 1 or not 0 < confidence < 1:
        raise ReleaseError(f"{draws} draws at confidence {confidence}: at least 1, and between 0 and 1")
    alone = len(release.models) == 1 and isinstance(release.models[0], Tree)
    if whole or not alone or release.known is not None or release.domain.impossible or release.facts is not None:
        return of_worlds(release, learner, limits, seed, draws, confidence)
    grown = grown_of(release, release.models[0], learner)
    exact, rest = bits_of(grown, limits) if count_bits else ((0.0, 0.0), tuple(range(len(grown.seen))))
    kinds = alike(grown, rest)
    streams = np.random.SeedSequence(seed).spawn(2 * len(kinds))
    plans = [
        closing(grown, kind[0], np.random.default_rng(s), limits) for kind, s in zip(kinds, streams[::2], strict=True)
    ]
    every = []
    for kind, plan, stream in zip(kinds, plans, streams[1::2], strict=True):
        every.append(passed(grown, kind[0], plan, draws, np.random.default_rng(stream), limits))
    planned = sum(len(plan | {0}) for plan in plans)
    low, high, middle = joined(every, [len(kind) for kind in kinds], planned, confidence)
    slack = 2.0**-40 * (1 + abs(high)) * max(1, len(grown.left))
    interval = low + exact[0] - slack, min(0.0, high + exact[1] + slack)
    events = tuple(event for one in every for event in one.events)
    return EstimatedShare(
        learner, draws, events, interval, middle + sum(exact) / 2, confidence, BY_ATTRIBUTE, exact,
        () if grown.known_thresholds else (WEAK,), assumed(release, learner),
    )  # fmt: skip


def bits_of(grown: FittedTree, limits: Limits) -> tuple[tuple[float, float], tuple[int, ...]]:
    """Return bounds on log2 of what the attributes that are one binary column leave, and the other attributes."""
    rest = tuple(k for k in range(len(grown.seen)) if k not in grown.bits)
    if not grown.bits or grown.counts.shape[1] != 2:
        return (0.0, 0.0), tuple(range(len(grown.seen)))
    return counted_bits(grown, limits), rest


def counted_bits(grown: FittedTree, limits: Limits) -> tuple[float, float]:
    """Return bounds on log2 of the share of the fillings of all binary attributes in which every choice stands."""
    columns = max(len(grown.bits), int(grown.chosen.column.max(initial=-1)) + 1)
    found = tree_share(grown.chosen, columns, greedy_rule(grown.learner, grown.chosen), limits)
    some = found.by_column[: len(grown.bits)]
    return sum(low for low, _ in some), min(0.0, sum(high for _, high in some))


def alike(grown: FittedTree, attributes: Sequence[int]) -> list[list[int]]:
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


def joined(
    every: Sequence[Passed], times: Sequence[int], planned: int, confidence: float
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


def of_worlds(
    release: EncodedRelease, learner: Learner, limits: Limits, seed: int, draws: int, confidence: float
) -> EstimatedShare:
    """Return the estimate from whole worlds: in how many of them every model could have been chosen."""
    grown = [grown_of(release, m, learner_of_tree(m, learner)) for m in release.models if isinstance(m, Tree)]
    lists = [model for model in release.models if not isinstance(model, Tree)]
    hits = done = 0
    for world in drawn(release, draws, seed, None, limits):
        limits.check(f"worlds were looked at ({done:,} of {draws:,})")
        done += 1
        values = world.inner.values.astype(np.int64)
        chosen = all(could_grow(one, values, world.inner.times) for one in grown)
        hits += chosen and all(could_choose(model, learner, world) for model in lists)
    low, high = clopper_pearson(hits, done, confidence)
    weak = () if all(one.known_thresholds for one in grown) else (WEAK,)
    logs = [math.log2(x) if x > 0 else -math.inf for x in (low, high, hits / done)]
    return EstimatedShare(
        learner, draws, ((hits, done),), (logs[0], logs[1]), logs[2], confidence, WHOLE, (0.0, 0.0), weak,
        assumed(release, learner),
    )  # fmt: skip


def learner_of_tree(model: AnyModel, learner: Learner) -> Learner:
    """Return the learner of one of several models: what its file says where that is the same learner, else as given."""
    said = None if model.origin is None else model.origin.learner
    return said if said is not None and said.name == learner.name else learner


def could_choose(model: AnyModel, learner: Learner, world: World) -> bool:
    """Return whether a learner of rule lists chooses a list on the rows of a world."""
    assert isinstance(model, RuleList)
    return list_again(model, learner_of_tree(model, learner), world)


def could_grow(grown: FittedTree, values: NDArray[np.int64], times: NDArray[np.int64]) -> bool:
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
            if not stands(grown, k, node, table)[0]:
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
