"""What would help against a comparison of two versions: the pair of them audited again under each remedy.

Leaves of the new model merged; the new model published on a schedule, when at least k people have left; the new model
not published. The earlier releases are out and stay what they are.

A schedule is tried without training rows: those who leave besides are drawn from the counts of the new model, which is
how people drawn at random from the rows that stayed are spread over its leaves. The tests of the model are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from encoders.encode.encoder import EncodedRelease, encode
from encoders.models.models import AnyModel
from encoders.models.nodes import Support
from recon.queries.versions.difference import RowsOfType, earlier_release, who_left
from recon.readers.inspection.inspecting import Inspection
from recon.readers.loading.loading import versions
from recon.readers.loading.settled import as_released
from recon.release.auditing.facts import stored_facts
from recon.release.policies.assessing import assess
from recon.release.policies.facts import FactTable, KnownFigure, UnknownFigure
from recon.release.policies.policy import Policy
from recon.release.registers.versions import LEFT_FIGURES, HeldVersions, identified_words, left_figures, worst_figure
from recon.release.remediation.candidates import SMALLEST, TriedRemedy, blank_line, columns
from recon.release.remediation.merging import merge_leaves
from recon.release.remediation.pruning import Merging, NoMerging
from recon.release.remediation.thresholds import Demands, demands_of, figures_of
from solvers.foundation.errors import ReconError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import RowCount

SCHEDULES = (5, 10, 20)  # people who have left when the model is published
GROUPS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)  # rows of the smallest groups that are tried
VERSION_RULES = ("versions.removed_pinned", "versions.least_candidates")
MET = ("met", "not applicable")
NOT_AGAIN = "the release is compared with another version too, which was not compared again"
DRAWS = 3  # of who leaves besides: the one that reveals most is told
Pair = tuple[EncodedRelease | None, RowsOfType]  # the new release as it would be published (None: not), who left then


@dataclass(frozen=True)
class _VersionRemedy:
    """A remedy: its words, kind and setting, and how the pair is made and asked again."""

    words: str
    kind: str
    setting: int | None
    make: Callable[[Limits], tuple[Pair, str]]


def version_remedies(
    held: HeldVersions,
    policy: Policy | None,
    limits: Limits,
    *,
    seed: int = 0,
    stored: Sequence[Inspection] = (),
    further: bool = False,
) -> list[dict[str, Any]]:
    """Return what the pair of versions reveals of who left under each remedy, a line each.

    Keys: those of `recon.release.remediation.candidates.remedies` (`outcome`: of the whole policy, for what would be
    published), and sentence, removed_pinned, removed_candidates ([least, most], None: not known). `stored`: what the
    files store outright; `seed`: of the draws; `further`: there are other versions, which are not compared again. Each
    takes its share of the time, and one that fails says why.
    """
    every = list(_remedies_of(held, policy, seed))
    return [
        _line(one, policy, limits.stage("one remedy", parts=max(2.0, (len(every) - i + 1) / 2)), stored, further)
        for i, one in enumerate(every)
    ]


def _remedies_of(held: HeldVersions, policy: Policy | None, seed: int) -> Iterator[_VersionRemedy]:
    """Yield the remedies that there are for the later one of two versions."""
    new, made = as_released(held.releases[held.names[1]]), held.made
    left = made.removed
    if left == RowCount(0, 0):
        return
    demands = None if policy is None else demands_of(policy)
    own = () if demands is None or demands.smallest_group is None else (demands.smallest_group,)
    for k in sorted({*SMALLEST, *own}):
        words = f"groups of fewer than {k} rows merged, beside the earlier version"
        yield _VersionRemedy(words, "merge of versions", k, partial(_pair_with_merges, held, new, k))
    if left is not None and left.exact:
        for k in (k for k in SCHEDULES if k > left.low):
            words = f"published when {k} people have left"
            yield _VersionRemedy(words, "schedule", k, partial(_pair_on_schedule, held, new, k, seed))
    yield _VersionRemedy("not published", "not published", None, lambda limits: (_pair_without_new(held, limits), ""))


def merged_beside(held: HeldVersions, release: EncodedRelease, policy: Policy, limits: Limits) -> Merging:
    """Return merges that meet a policy beside an earlier version: of larger and larger groups, the first that do.

    Raises what `merge_leaves` raises, `NoMerging` where no size that is tried meets the rules about versions. Cost:
    that of `recon.difference` for each size.
    """
    demands, before = demands_of(policy), 0
    own = demands.smallest_group or 1
    for k in (own, *(size for size in GROUPS if own < size <= (release.rows.high or own))):
        limits.report(f"groups of at least {k} rows are tried")
        found = merge_leaves(release, demands if k == own else replace(demands, smallest_group=k), limits)
        facts = facts_beside(held, found.release, {}, limits)
        if all(one.outcome in MET for one in assess(facts, policy).checks if one.rule in VERSION_RULES):
            how = f"the fewest merges to groups of at least {k} rows; beside the earlier version, {before} are too few"
            return found if k == own else replace(found, exact=False, how=how)
        before = k
    raise NoMerging("no merging of groups meets the rules about versions: publish it when more people have left")


def facts_beside(held: HeldVersions, new: EncodedRelease, facts: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Return facts with what the comparison says where a release is published in the place of the new one."""
    found = FactTable.of_json(facts)
    for key, figure in left_figures(_rows_that_left(held, new, limits)).items():
        found = found.with_figure(key, figure)
    return found.to_json()


def _line(
    remedy: _VersionRemedy, policy: Policy | None, limits: Limits, stored: Sequence[Inspection], further: bool
) -> dict[str, Any]:
    """Return the line of a remedy."""
    blank = TriedRemedy(remedy.words, remedy.kind, remedy.setting, lambda _: (None, ""))  # type: ignore[arg-type,return-value]
    out: dict[str, Any] = {**blank_line(blank), **dict.fromkeys(LEFT_FIGURES)}
    limits.report(f"remedy: {remedy.words}")
    begin = remedy.words[0].upper() + remedy.words[1:]
    try:
        (published, left), out["note"] = remedy.make(limits)
        figures = left_figures(left)
        if further:
            figures = {key: worst_figure(key, [one, UnknownFigure(NOT_AGAIN)]) for key, one in figures.items()}
        out |= {k: [f.low, f.high] if isinstance(f, KnownFigure) else None for k, f in figures.items()}
        said = f"{begin}, the comparison {identified_words('removed', left)}"
        if published is not None:
            found = figures_of(published, limits, Demands() if policy is None else demands_of(policy))
            out |= columns(found)
            facts = FactTable.of_json({**found, **stored_facts(stored)})
            for key, figure in figures.items():
                facts = facts.with_figure(key, figure)
            out["outcome"] = None if policy is None else assess(facts, policy).outcome
            said += "" if policy is None else f" Policy: {out['outcome']}."
        return out | {"sentence": said + (f" ({out['note']}.)" if out["note"] else "")}
    except ReconError as error:
        return out | {"status": "not tried", "note": str(error), "sentence": f"{begin}: not tried. {error}."}


def _rows_that_left(held: HeldVersions, new: EncodedRelease, limits: Limits, removed: int | None = None) -> RowsOfType:
    """Return who left where another release is published in the place of the new one; `removed`: how many have."""
    relation = held.relation
    if removed is not None:
        other = replace(held.made, removed=RowCount(removed, removed))
        relation = replace(relation, datasets=tuple(other if o == held.made else o for o in relation.datasets))
    return who_left(versions({**held.releases, held.names[1]: new}, relation, limits), limits, held.later)


def _pair_with_merges(held: HeldVersions, new: EncodedRelease, smallest: int, limits: Limits) -> tuple[Pair, str]:
    """Return the pair whose new model has no smaller groups."""
    found = merge_leaves(new, Demands(smallest_group=smallest), limits)
    return (found.release, _rows_that_left(held, found.release, limits)), f"{found.merges:,} merges"


def _pair_on_schedule(
    held: HeldVersions, new: EncodedRelease, people: int, seed: int, limits: Limits
) -> tuple[Pair, str]:
    """Return the pair when so many people have left, those besides drawn: of some draws the one that reveals most."""
    assert held.made.removed is not None
    more, found = people - held.made.removed.low, list[Pair]()
    for k in range(DRAWS):
        later = _without_some(new, more, np.random.default_rng([seed, people, k]))
        found.append((later, _rows_that_left(held, later, limits, people)))
    worst = max(found, key=lambda pair: (pair[1].certain, -pair[1].fewest[0]))
    return worst, f"{more} more people drawn at random, {DRAWS} times: the draw that reveals most"


def _without_some(release: EncodedRelease, people: int, draw: np.random.Generator) -> EncodedRelease:
    """Return the release of one model whose rows are so many fewer, drawn from its counts; its tests are kept.

    Raises `Unsupported` for several models, and for one whose counts do not add up to its rows.
    """
    model, cells = release.models[0], list[int]()
    if len(release.models) != 1 or len(model.members()) > 1 or model.resampled or model.scores or model.noise:
        raise Unsupported("people who leave besides are drawn from the exact counts of one tree or list")

    def seen(one: Support) -> Support:
        cells.extend(_numbers(one))
        return one

    model.mapped(lambda condition: condition, seen)
    if RowCount(sum(cells), sum(cells)) != release.rows or people >= sum(cells):
        raise Unsupported("the counts of the model do not say where all of its rows are, or there are too few")
    left = iter((np.array(cells) - draw.multivariate_hypergeometric(cells, people)).tolist())

    def fewer(one: Support) -> Support:
        some = [next(left) for _ in _numbers(one)]
        return (
            replace(one, counts=tuple(some)) if one.counts is not None else replace(one, count=next(iter(some), None))
        )

    changed: AnyModel = model.mapped(lambda condition: condition, fewer)
    return replace(encode(release.domain, [changed], file=release.file), files=release.files)


def _numbers(support: Support) -> list[int]:
    """Return the numbers of rows of a group, per class where it has these."""
    found: Sequence[Any] = support.counts if support.counts is not None else (support.count,)
    return [int(n) for n in found if n is not None]


def _pair_without_new(held: HeldVersions, limits: Limits) -> Pair:
    """Return what the earlier releases alone say of who left."""
    joined = versions(held.releases, held.relation, limits)
    return None, who_left(earlier_release(joined, held.names[1]), limits, held.later)
