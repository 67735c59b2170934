"""How many worlds are left for whoever knows how the model was chosen, and where the bits are given away.

The worlds are those of the convention `assigned`; an order of the rows multiplies them by n! / Π c! over the published
counts c whatever the rule is, because the learner does not look at the order of rows. Proved in docs/mathematics.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import get_args

import numpy as np

from encoders.encode.encoder import NO_LEARNER, EncodedRelease
from encoders.encode.learner_facts import facts_of_learner
from encoders.models.learner_facts import Learner, LearnerFact, LearnerFacts, Ties
from encoders.models.models import AnyModel, PublishedModel, RuleList, Tree
from recon.learner_rule.chosen_model import (
    OPTIMAL,
    chosen_list,
    chosen_tree,
    columns_of,
    exact_refusals,
    greedy_rule,
    learner_of,
    not_used,
)
from recon.learner_rule.figures import Bits, LearnerRule, RuleContribution, rule_assumptions
from recon.queries.answers.counting import count
from recon.queries.measures.measures import measure
from recon.readers.frames.describe import condition_text
from recon.readers.loading.loading import Released, single_release_of
from recon.readers.loading.settled import strengthened_release
from solvers.foundation.displayed import short
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.exact import log2_multinomial
from solvers.foundation.limits import Limits
from solvers.greedy.gains import ChosenTree, GreedyRule, RuleShare
from solvers.greedy.rule_lists import ListLevel, ListRule, list_share, united
from solvers.greedy.tree_counts import tree_share
from solvers.statements.boxes import Box
from solvers.statements.questions.query import Convention

UNKNOWN = (
    "the file does not say how its model was learned: give the settings, as in --learner greedy:criterion=gini,"
    "max_depth=5, or the stored model itself"
)
TRIED = "nobody says how the learner breaks ties: of the rules that were tried only ties={} can have chosen the list"
EITHER = "nobody says how the learner breaks ties: the worlds of both rules that were tried are counted"
STAYS = "what stays are facts of its thresholds and leaves: --learner midpoints"
DRAWS = 200  # per event
FLOATS = 2.0**-48  # relative: more than a sum of a few logarithms is off


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """A released tree or rule list over independent binary columns as its learner chose it.

    `columns`: their names. Of a tree `tree` and `rule`, of a list `levels` (the default rule last) and `list_rule`.
    """

    release: EncodedRelease
    model: AnyModel
    learner: Learner
    columns: tuple[str, ...]
    tree: ChosenTree | None = None
    rule: GreedyRule | None = None
    levels: tuple[ListLevel, ...] = ()
    list_rule: ListRule | None = None


def learner_rule(release: Released, learner: str = "auto", limits: Limits | None = None) -> LearnerRule:
    """Return what knowing the learner adds to a release: bits beside those of the counts, by node and by column.

    `learner`: "greedy", with settings after a colon ("greedy:criterion=gini,max_depth=5") or as the file says, "auto",
    what the file says, "optimal" (no model of its class makes fewer errors), "midpoints", facts that hold in every
    training set of a scikit-learn tree or forest. Where no
    exact count is made under a learner's rule (attributes with several values, several models, wider rules), the share
    is estimated from uniform draws and says so; where neither is (forests), "auto" counts with these facts and says
    why, and "greedy" is refused. Raises `Unsupported` for that and where the file says nothing, `ContradictionError`
    where the learner cannot have chosen the model (the lowest node and the column, or the limit), `Inconclusive`.
    """
    limits = limits or Limits()
    release = single_release_of(release, limits)
    known = asked_learner(release, learner)
    if learner == "midpoints":
        return _with_facts_counted(release, known, limits)
    if known.name in OPTIMAL:
        return _of_optimal(release, known, limits)
    if known.name == "greedy rule list" and known.ties is None:
        return _of_either_rule(release, known, learner, limits)
    return _of_known_rule(release, known, learner, limits)


def _of_either_rule(release: EncodedRelease, known: Learner, learner: str, limits: Limits) -> LearnerRule:
    """Return the figures of a list of which nobody says how ties are broken: of the worlds of either rule.

    Raises `Inconclusive` where neither can have chosen the list: then the rule is not known.
    """
    fitting, reasons = [], []
    for ties in get_args(Ties):
        try:
            fitting.append(_of_known_rule(release, replace(known, ties=ties), learner, limits))
        except ContradictionError as error:
            reasons.append(f"ties={ties}: {'; '.join(error.conflict) or error}")
    if not fitting:
        raise Inconclusive(
            f"the rule by which the list was chosen is not known: GreedyRL chose none ({' | '.join(reasons)})"
        )
    best = max(fitting, key=lambda one: one.share[0])
    if len(fitting) == 1:
        return replace(best, notes=(*best.notes, TRIED.format(best.learner.ties)))
    share = best.share[0], united(*(one.share for one in fitting))[1]  # worlds of both rules stand in both shares
    return replace(best, share=share, exact=False, strict=None, without_leaves=None, notes=(*best.notes, EITHER))


def _of_known_rule(release: EncodedRelease, known: Learner, learner: str, limits: Limits) -> LearnerRule:
    """Return the figures under a greedy rule that is fully known; see `learner_rule`."""
    try:
        chosen = chosen_of(release, known)
    except Unsupported as error:
        return _otherwise_known(release, known, learner, limits, str(error))
    return _of_list(chosen, limits) if chosen.tree is None else _of_tree(chosen, limits)


def rule_or_reason(release: EncodedRelease, learner: str, limits: Limits) -> LearnerRule | str:
    """Return what knowing the learner adds, or, beside other answers, why that is not known, in words.

    Raises `Unsupported` for a rule that was asked for by name, and `ContradictionError`; see `learner_rule`.
    """
    try:
        return learner_rule(release, learner, limits)
    except Unsupported as error:
        if learner != "auto":
            raise
        return f"what knowing the learner adds is not worked out: {error}"
    except Inconclusive as error:
        return f"what knowing the learner adds is not worked out: {error}"


def asked_learner(release: EncodedRelease, learner: str) -> Learner:
    """Return the learner asked about; `Unsupported` where nobody says which it is, saying what to do."""
    known = learner_of(release, learner)
    if known is None:
        raise Unsupported(UNKNOWN if learner != "none" else "--learner none: the learner's rule is not used")
    return known


def chosen_of(release: EncodedRelease, learner: Learner) -> ChosenModel:
    """Return the one model of a release as its learner chose it; `Unsupported` saying why no exact count is made."""
    if len(release.models) != 1:
        raise Unsupported(f"exact counts under a learner's rule are made for one model, not {len(release.models)}")
    if release.known is not None:
        raise Unsupported("exact counts under a learner's rule are made without known rows or columns beside the model")
    return _chosen_model(release.models[0], release, learner)


@singledispatch
def _chosen_model(model: PublishedModel, release: EncodedRelease, learner: Learner) -> ChosenModel:
    """Return a model as its learner chose it; `Unsupported` of a kind that no exact count is made of."""
    reasons = exact_refusals(learner, len(release.domain.attributes))
    raise Unsupported(f"no exact count of {short(release.models[0].name)} under its learner's rule", reasons)


@_chosen_model.register(Tree)
def _(model: Tree, release: EncodedRelease, learner: Learner) -> ChosenModel:
    tree = chosen_tree(release, model, learner)
    return ChosenModel(release, model, learner, columns_of(release.domain), tree, greedy_rule(learner, tree))


@_chosen_model.register(RuleList)
def _(model: RuleList, release: EncodedRelease, learner: Learner) -> ChosenModel:
    levels, rule = chosen_list(release, model, learner)
    return ChosenModel(release, model, learner, columns_of(release.domain), levels=levels, list_rule=rule)


def _of_tree(chosen: ChosenModel, limits: Limits) -> LearnerRule:
    """Return the figures of a tree. Cost: three dynamic programs over its nodes (`tree_share`)."""
    tree, rule, columns = chosen.tree, chosen.rule, len(chosen.columns)
    assert tree is not None
    assert rule is not None
    share = tree_share(tree, columns, rule, limits)
    _refuse_nothing(chosen, share)
    plain: Bits | None = share.log2
    if tree.open_leaf.any():
        plain = _otherwise(lambda: tree_share(tree, columns, rule, limits, leaf_rule=False).log2)
    further = not_used(chosen.learner, tree)  # then the worlds counted only contain the learner's
    strict = None
    if not further:
        strict = _otherwise(lambda: tree_share(tree, columns, rule, limits, strict=True).log2)
    leaves = np.flatnonzero(tree.column < 0)
    left = columns - tree.links.depths[leaves]  # no column is tested twice on a path
    bits = int((tree.counts[leaves].sum(axis=1) * left).sum())
    found = _figures(chosen, share, bits, tree.counts[leaves].ravel().tolist())
    strict = None if strict is None else _no_world(bits, strict)
    found = replace(found, strict=strict, without_leaves=plain, by_node=_tree_parts(chosen, tree, share.by_node))
    found = replace(found, exact=found.exact and not further, notes=(*found.notes, *further))
    return replace(found, assumptions=assumed(chosen, (strict is None and not further) or plain is None))


def _of_list(chosen: ChosenModel, limits: Limits) -> LearnerRule:
    """Return the figures of a rule list of single tests (`list_share`)."""
    columns, levels, rule = len(chosen.columns), chosen.levels, chosen.list_rule
    assert rule is not None
    share = list_share(levels, columns, rule, limits)
    _refuse_nothing(chosen, share)
    plain = _otherwise(lambda: list_share(levels, columns, rule, limits, default_rule=False).log2)
    used: set[int] = set()
    bits = 0
    for level in levels:
        used |= {level.column} - {-1}
        bits += sum(level.counts) * (columns - len(used))
    found = _figures(chosen, share, bits, [c for level in levels for c in level.counts])
    found = replace(found, strict=share.log2, without_leaves=plain, by_node=_list_parts(chosen, share.by_node))
    return replace(found, assumptions=assumed(chosen, plain is None))


def _of_optimal(release: EncodedRelease, learner: Learner, limits: Limits) -> LearnerRule:
    """Return what it removes that no model of the class makes fewer errors: proved by inequalities, so at least that.

    Raises as `recon.learner_rule.optimal.generation.optimal_rule`, whose cost it has.
    """
    from recon.learner_rule.optimal.generation import optimal_rule

    found = optimal_rule(release, learner, limits)
    before, _, _ = _plain_worlds(release, limits, "ordered")
    names = ", ".join(short(model.name) for model in release.models)
    drawn = f"{found.drawn_better:,} of {found.drawn:,} data sets drawn uniformly have a better model in its class"
    proved = f"{len(found.alternatives):,} inequalities and {len(found.places):,} replaced parts prove the bits"
    return LearnerRule(
        "optimal", learner, names, release.rows.high or 0, before, found.ordered_bits, found.ordered_bits, found.share,
        exact=found.status == "exact", notes=(proved, drawn), assumptions=(*release.assumptions, found.assumption),
    )  # fmt: skip


def _no_world(bits: int, share: Bits) -> Bits:
    """Return a share, -inf for both bounds where the worlds left are fewer than one."""
    return (-math.inf, -math.inf) if bits + share[1] < 0 else share


def _figures(chosen: ChosenModel, share: RuleShare, bits: int, counts: Sequence[int]) -> LearnerRule:
    """Return the figures that trees and lists share; `bits` of the worlds (`assigned`), `counts` per leaf and class."""
    rows = sum(counts)
    order = log2_multinomial([c for c in counts if c])
    ordered = bits + order * (1 - FLOATS), bits + order * (1 + FLOATS)
    before = float(rows * len(chosen.columns))
    named = zip(chosen.columns, share.by_column, strict=True)
    columns = [RuleContribution("column", c, name, rows, _lost_bits(bits)) for c, (name, bits) in enumerate(named)]
    return LearnerRule(
        "greedy", chosen.learner, chosen.model.name, rows, (before, before), (float(bits), float(bits)), ordered,
        share.log2, exact=share.exact, by_column=_most_first(columns),
    )  # fmt: skip


def _tree_parts(chosen: ChosenModel, tree: ChosenTree, by_node: Sequence[Bits]) -> tuple[RuleContribution, ...]:
    """Return what every split and every open leaf removes, in words, most first."""
    out, depth = [], tree.links.depths
    for node, box in enumerate(_boxes(tree)):
        where, column = condition_text(chosen.release.cut, box), int(tree.column[node])
        counted = " / ".join(f"{c:,}" for c in tree.counts[node].tolist())
        if column < 0 and not tree.open_leaf[node]:
            continue
        what = f"leaf of {where} ({counted} rows)"
        if column >= 0:
            what = f"split of {where} on {chosen.columns[column]}"
        kind = "split" if column >= 0 else "leaf"
        out.append(RuleContribution(kind, node, what, int(tree.counts[node].sum()), by_node[node], int(depth[node])))
    return _most_first(out)


def _list_parts(chosen: ChosenModel, by_level: Sequence[Bits]) -> tuple[RuleContribution, ...]:
    """Return what every rule of a list removes, in words, most first."""
    out, rows = [], sum(sum(level.counts) for level in chosen.levels)
    for i, (level, bits) in enumerate(zip(chosen.levels, by_level, strict=True)):
        kind, what = "default rule", "no rule is left that is worth it"
        if level.column >= 0:
            box = Box(((level.column, 1 << level.value),))
            kind, what = "rule", f"rule {i + 1}: {condition_text(chosen.release.cut, box)}"
        out.append(RuleContribution(kind, i, what, rows, bits, i))
        rows -= sum(level.counts)
    return _most_first(out)


def _boxes(tree: ChosenTree) -> list[Box]:
    """Return the box of every node: the tests above it."""
    out = [Box()] * len(tree.column)
    order = [0]
    for node in order:
        k = int(tree.column[node])
        if k < 0:
            continue
        for child, mask in ((int(tree.otherwise[node]), 1), (int(tree.then[node]), 2)):
            out[child] = Box(tuple(sorted((*out[node].literals, (k, mask)))))
            order.append(child)
    return out


def _otherwise_known(release: EncodedRelease, known: Learner, learner: str, limits: Limits, why: str) -> LearnerRule:
    """Return an estimate of the share, `why` saying why there is no exact count, or what facts of thresholds remove.

    Raises `Unsupported` where the rule was asked for by name and nothing is estimated: facts are less than that.
    """
    try:
        return _estimated_figures(release, known, limits, why)
    except Unsupported as error:
        if learner.startswith("greedy"):
            raise Unsupported(f"{why}; {error}; {STAYS}") from None
        nor = str(error)
    except Inconclusive as error:
        if learner.startswith("greedy"):
            raise
        nor = str(error)
    return _with_facts_counted(release, known, limits, why, nor)


def _estimated_figures(release: EncodedRelease, learner: Learner, limits: Limits, why: str) -> LearnerRule:
    """Return the figures of models that are no product of columns: the share from uniform draws, with an interval."""
    from recon.learner_rule.estimating.estimates import estimated_share

    if not all(model.mergeable and model.unit != "tree" for model in release.models):
        raise Unsupported("nothing is estimated of forests: which columns were tried, and on which rows, is not known")
    part = limits.stage("estimated share")
    found = estimated_share(release, learner, part, draws=DRAWS)
    before, bits, ordered = _plain_worlds(release, limits, "assigned" if len(release.models) == 1 else "ordered")
    names = ", ".join(short(model.name) for model in release.models)
    lines = [line for line in found.assumptions if line != NO_LEARNER]
    return LearnerRule(
        "greedy", learner, names, release.rows.high or 0, before, bits, ordered, found.log2_share, exact=False,
        confidence=found.confidence, estimate=-found.middle if math.isfinite(found.middle) else math.inf,
        notes=(f"estimated, for {why}", f"drawn: {found.random}", *found.contains), assumptions=tuple(lines),
    )  # fmt: skip


def _with_facts_counted(
    release: EncodedRelease, learner: Learner, limits: Limits, why: str = "", nor: str = ""
) -> LearnerRule:
    """Return the figures of a release with the facts of its trees beside those without.

    `why` no exact count is made, `nor` an estimate.
    Of one tree a product over attributes (`recon.learner_rule.facts.fact_bits`), else the difference of two counts.
    Raises `ContradictionError` where the facts leave no world, and where the counts alone leave none.
    """
    from recon.learner_rule.facts import fact_bits, with_facts

    with_them = with_facts(release, learner, limits)
    half = limits.stage("without the rule")
    before, bits, _ = _plain_worlds(release, half, "ordered")
    known, columns, unbounded = not release.domain.continuous, list[RuleContribution](), (-math.inf, math.inf)
    said = with_them.facts or LearnerFacts(())
    try:
        alone = fact_bits(release, learner, limits) if known else None
    except Unsupported:
        alone = None
    if alone is not None:
        said = facts_of_learner(release, learner)
        share = -alone.removed[1], -alone.removed[0]
        rows, named = release.rows.high or 0, enumerate(alone.by_attribute)
        columns = [RuleContribution("column", k, name, rows, removed) for k, (name, removed) in named]
    elif known:
        under = _worlds_of(with_them, limits)
        share = min(0.0, under[0] - bits[1]), min(0.0, under[1] - bits[0])
    else:
        share, bits = (-math.inf, 0.0), unbounded
    notes = [*said.notes, *([f"no exact count under the learner's rule: {why}"] if why else [])]
    notes += [f"no estimate either: {nor}"] if nor else []
    notes += [] if known else ["attributes of any numbers: there is no number of worlds, the facts hold all the same"]
    names = ", ".join(short(model.name) for model in release.models)
    return LearnerRule(
        "midpoints", learner, names, release.rows.high or 0, before, bits, bits, share, exact=False,
        by_column=_most_first(columns), facts=tuple(map(_fact_text, said.facts)), notes=tuple(notes),
        assumptions=with_them.assumptions,
    )  # fmt: skip


def _plain_worlds(release: EncodedRelease, limits: Limits, convention: Convention) -> tuple[Bits, Bits, Bits]:
    """Return bounds on the bits before a release, on log2 of its worlds, and of the ordered ones, without the rule."""
    m = measure(release, convention, limits)
    if m.status == "unsat":
        raise ContradictionError("the statements contradict each other", tuple(m.counted.conflict))
    before = (0.0, math.inf) if m.uninformed_bits is None else (m.uninformed_bits, m.uninformed_bits)
    bits = max(0.0, m.counted.bounds[0]), m.counted.bounds[1]
    return before, bits, bits if convention == "ordered" else _worlds_of(release, limits)


def _fact_text(fact: LearnerFact) -> str:
    """Return a fact in words."""
    if len(fact.alternatives) == 1:
        return f"{fact.name}: {'; '.join(one.text for one in fact.alternatives[0])}"
    first = "; ".join(one.text for one in fact.alternatives[0])
    return f"{fact.name}: one of {len(fact.alternatives):,} readings, such as {first}"


def _worlds_of(release: EncodedRelease, limits: Limits) -> Bits:
    """Return bounds on log2 of the ordered worlds; `ContradictionError` where there is none."""
    answer = count(strengthened_release(release, limits), "ordered", limits)
    if answer.status == "unsat":
        raise ContradictionError("the statements contradict each other", tuple(answer.conflict))
    return max(0.0, answer.bounds[0]), answer.bounds[1]


def _refuse_nothing(chosen: ChosenModel, share: RuleShare) -> None:
    """Raise `ContradictionError` where no filling of a column is left, naming the lowest such node and the column."""
    if share.nothing_at is None:
        return
    node, column = share.nothing_at
    name = chosen.columns[column]
    place = f"rule {node + 1}"
    if chosen.tree is not None:
        place = f"node {node} ({condition_text(chosen.release.cut, _boxes(chosen.tree)[node])})"
    line = f"{place}: whatever column {short(name)} holds there, the learner would have chosen otherwise"
    source = chosen.learner.source or "as given"
    what = f"{short(chosen.model.name)} was not chosen by a {chosen.learner.name} with these settings ({source})"
    raise ContradictionError(f"{what}: {line}", (line,))


def _otherwise(asked: Callable[[], Bits]) -> Bits | None:
    """Return a figure beside the first, None where the limits end it."""
    try:
        return asked()
    except Inconclusive:
        return None


def _lost_bits(share: Bits) -> Bits:
    """Return the bits that a share removes."""
    return max(0.0, -share[1]), max(0.0, -share[0])


def _most_first(parts: Iterable[RuleContribution]) -> tuple[RuleContribution, ...]:
    """Return parts by their bits, most first, and in their order where they are equal."""
    return tuple(sorted(parts, key=lambda one: (-one.bits[0], one.number)))


def assumed(chosen: ChosenModel, cut_short: bool) -> tuple[str, ...]:
    """Return what the figures assume: what the release does, with the learner's rule for its absence."""
    base = [line for line in chosen.release.assumptions if line != NO_LEARNER]
    late = ["the time was up before every figure was worked out"] if cut_short else []
    return (*base, *rule_assumptions(chosen.learner), *late)
