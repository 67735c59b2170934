"""What policies look at: the figures of a finished audit as `recon.release.policies.facts.FactTable`.

Each figure is worked out by one function here; what may say more than they used (`Unused`: rows in the file, leaf
values, groups that cut each other) then takes away the ends that it makes unsure. Everything is proved at `confidence`
(1: whatever happens).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from encoders.domain.domain import Condition
from encoders.domain.values import Categorical, Test
from encoders.encode.encoder import EncodedRelease, figures_of
from encoders.models.models import kinds_of
from recon.queries.bounds.disclosure import IntervalCells, numeric_target, regression
from recon.queries.measures.attribute_bits import interval_left, least_bits, pinned, system_of
from recon.queries.measures.figures import Measures, bits_left, groups_left_out, published_cells
from recon.readers.frames.describe import condition_text
from recon.readers.inspection.findings.findings import ROWS, About, Finding, about, is_counting
from recon.readers.inspection.inspecting import Inspection
from recon.readers.loading.settled import as_released
from recon.release.auditing.auditing import group_disclosure, was_inspected
from recon.release.auditing.evidence import OPENS, implied, with_evidence
from recon.release.auditing.findings import AuditFindings, GroupDisclosure
from recon.release.auditing.together import JointDisclosure, with_together
from recon.release.policies.assessing import CELLS
from recon.release.policies.facts import (
    EVERY_FIGURE,
    FIGURES,
    LISTED,
    RARE,
    AbsentFigure,
    FactTable,
    Figure,
    Help,
    KnownFigure,
    SmallGroups,
    UnknownFigure,
    UnusedFigure,
    smallest_of,
)
from recon.release.policies.magnitudes import ELSEWHERE
from solvers.foundation.displayed import quote
from solvers.foundation.limits import Limits
from solvers.statements.release import UNBOUNDED

TIME = "time"  # what curves call the end of an observation
SUMS_ALONE = "a release file does not say if its sums are of a regression, and of how many coefficients"
WORDED = 1_000  # groups whose condition is put in words
UNSIZED = UnknownFigure("an attribute has no values that could be counted: declare a domain (--domain)", "domain")
BOUNDED = UnknownFigure("the worlds could not be counted within the limits", "limits")
ROWS_OPEN = UnknownFigure("the number of rows is open", "rows")
ROWS_UNSAID = UnknownFigure(f"{ROWS_OPEN.why} (--rows makes worlds countable)", ROWS_OPEN.help)
TOGETHER = "the class of more people may follow where groups of several models, or figures, overlap"
BY_POSITION = "more may follow by position than propagation proved"
BAGS_UNUSED = "seeds that determine the bags are stored, and what follows from them was not worked out"
TARGETS_TOGETHER = "several figures together may reveal more than was found"
CONTRADICTION = "no training set agrees with the release: its statements contradict each other"


def facts_of(found: AuditFindings) -> FactTable:
    """Return the figures of an audit that policies are held against."""
    release, m = found.release, found.measures
    noisy = release.confidence if release.noisy else 1.0
    if found.empty is not None or m.status == "unsat":
        none = nothing_known(found.stored, CONTRADICTION)
        status = "unsat" if found.empty is None else "empty"
        others = {**none.others, "kinds_of_counts": _counted_kinds(release)}
        return replace(none, status=status, confidence=noisy, others=others)
    group, groups = sizes(release, found.groups, found.intervals)
    cell, cells = _cells_of(release, found.groups)
    rows, pure = _classes(found)
    facts = FactTable(
        m.status,
        1.0 if release.certain else noisy,
        {
            "rows": KnownFigure(release.rows.low, release.rows.high),
            "pinned": _known_wholly(found),
            **_bits(m),
            "least_bits_left": most_exposed(found),
            "smallest_group": group,
            "smallest_cell": cell,
            "class_disclosure": rows,
            "target_disclosure": _targets(release, found.groups),
            **by_position(found),
        },
        {"groups": groups, "cells": cells, "pure": pure},
        {
            "classes_by_position": _classes_at_positions(found),
            "kinds_of_counts": _counted_kinds(release),
            "no_merging": no_merging(release),
            "profiles": None if found.profiles is None else profile_verdicts(found.profiles),
            "profiles_in_all": None if found.profiles is None else dict(found.profiles["verdicts"]),
            **stored_facts(found.stored, worked_out(found)),
        },
    )
    facts = with_together(release, _of_resamples(release, facts), found.together)
    always = frozenset[str]() if found.together is None else found.together.always
    facts = with_evidence(facts, release, found.stored, found.position_groups, always)
    facts = _beside_rows(facts, found.stored, release, found.together)
    facts = facts.with_figure("hidden_width", _narrowest(found.intervals, facts.unused, hidden=True))
    facts = facts.with_figure("rounded_width", _narrowest(found.intervals, facts.unused, hidden=False))
    facts = _with_checked_outputs(facts, release)
    summed = any(one.linear is not None for model in release.models for one in model.figures())
    if summed or not isinstance(facts["target_disclosure"], AbsentFigure):
        return facts.with_figure("magnitudes", UnknownFigure(ELSEWHERE))
    return facts.with_figure("magnitudes", AbsentFigure("no totals are published"))


def _narrowest(intervals: IntervalCells, unused: Sequence[UnusedFigure], hidden: bool) -> Figure:
    """Return the width of the narrowest cell that was hidden, or rounded.

    What was not used, and bounds that are not met, leave it less.
    """
    cells = [one for one in intervals.cells if bool(one.suppressed) == hidden and (hidden or None not in one.published)]
    widths = [(one.width if one.tight else 0, one.width) for one in cells]
    if not widths:
        return AbsentFigure(f"no count is {'hidden' if hidden else 'rounded'}") if not intervals.left_out else BOUNDED
    low, high = (min(ends) for ends in zip(*widths, strict=True))
    if unused:
        return KnownFigure(0, high, unused[0].why, unused[0].help)
    open_ = intervals.left_out or low < high
    return KnownFigure(0 if intervals.left_out else low, high, *((BOUNDED.why, BOUNDED.help) if open_ else ("", "")))


def _with_checked_outputs(facts: FactTable, release: EncodedRelease) -> FactTable:
    """Return the facts with what checkers of outputs look at, which counts of worlds add nothing to."""
    return facts.with_figure("freedom", _freedom(release)).with_figure("survival_step", _survival_step(release))


def _freedom(release: EncodedRelease) -> Figure:
    """Return the rows less the coefficients of the regression that has the fewest; not known of sums in release files.

    What checkers of outputs look at; what a regression reveals all the same are the groups of its sums.
    """
    origins = [model.origin for model in release.models if model.origin is not None]
    told = [one.freedom for one in origins if one.freedom is not None]
    unsaid = [
        model
        for model in release.models
        if (model.origin is None or not model.origin.format) and any(one.linear for one in model.figures())
    ]
    if not told:
        return UnknownFigure(SUMS_ALONE) if unsaid else AbsentFigure("no regression is published")
    low = 0 if unsaid else min(least for least, _ in told)
    high = min((most for _, most in told if most is not None), default=None)
    why: tuple[str, Help] = (SUMS_ALONE, "") if unsaid else (ROWS_OPEN.why, ROWS_OPEN.help)
    return KnownFigure(low, high) if low == high else KnownFigure(low, high, *why)


def _survival_step(release: EncodedRelease) -> Figure:
    """Return how many people left between two times of a curve, where they were fewest: from numbers at risk."""
    steps = list[tuple[int, int | None]]()
    for model in release.models:
        at_risk = dict[Condition, list[tuple[Any, int, int | None]]]()
        for one in model.figures():
            if one.statistic is None and (found := _since(one.condition)) is not None:
                shown = one.count if model.noise is None else None
                low, high = (one.low or 0, one.high) if shown is None else (shown, shown)
                at_risk.setdefault(found[0], []).append((found[1], int(low), None if high is None else int(high)))
        for curve in at_risk.values():
            for (_, low, high), (_, later_low, later_high) in pairwise(sorted(curve, key=lambda one: one[0])):
                least = 0 if later_high is None else max(0, low - later_high)
                steps.append((least, None if high is None else max(0, high - later_low)))
    if not steps:
        return AbsentFigure("no survival curve is published")
    high = min((most for _, most in steps if most is not None), default=None)
    low = min(least for least, _ in steps)
    return (
        KnownFigure(low, high) if low == high else KnownFigure(low, high, "digits or noise of the curve leave it open")
    )


def _since(condition: Condition) -> tuple[Condition, Any] | None:
    """Return who is at risk from which time on, where a condition asks that: all others of it, and the time."""
    *rest, last = condition or (("", Test()),)
    test = last[1]
    if last[0] != TIME or test.low is None or test.high is not None or test.values is not None or test.missing:
        return None
    return tuple(rest), test.low


def _beside_rows(
    facts: FactTable,
    stored: Sequence[Inspection],
    release: EncodedRelease | None = None,
    together: JointDisclosure | None = None,
) -> FactTable:
    """Return the figures as they are beside what else stands in the files, whatever counts say.

    A row that stands there is a group of one. What no statement carries, or nobody understands, takes away the ends of
    the figures that it may say more about. Figures of single columns that are stated do so but for the people pinned
    down, where `together` has worked these out beside them.
    """
    findings = [each for one in stored for each in one.findings]
    alone = [
        {"name": each.path, "where": f"rows in the file: {each.what}", "rows": [1, 1]}
        for each in findings
        if each.level == "critical" and each.rule in ROWS
    ]
    if alone:
        facts = facts.with_groups("smallest_group", alone)
    beside = together is not None and together.pinned is not None and release is not None and figures_of(release)
    unused: dict[tuple[About, bool], list[Finding]] = {}
    for each in findings:
        said, stated = about(each), bool(beside and each.stated)
        if said and not implied(each, release):
            unused.setdefault((said, stated), []).append(each)
    found = []
    for (said, stated), some in unused.items():
        opens = {key: end for key, end in OPENS[said].items() if not (stated and key == "pinned")}
        found.append(UnusedFigure(_not_carried(some[0]), opens, "strip" if all(one.removable for one in some) else ""))
    late = [f"{quote(one.file)} was {one.format}" for one in stored if not was_inspected(one)]
    if late:
        facts = facts.with_figure("stored", UnknownFigure(late[0], "inspection"))
    return facts.opened([*found, *(UnusedFigure(why, EVERY_FIGURE, "inspection") for why in late)])


def _not_carried(one: Finding) -> str:
    """Return that a finding's values are in no statement, in a sentence."""
    if one.level == "unknown":
        return f"it is not known what {one.path} is ({one.what}): training rows may be in it"
    return f"no statement carries what {one.path} says ({one.what})"


def _of_resamples(release: EncodedRelease, facts: FactTable) -> FactTable:
    """Return figures in which groups of trees on resamples hold at least the different rows that each drew of them.

    Beside trees whose counts tell their groups' sizes, those that do not must not be passed over. Figures of classes
    are not known then. Other releases: as they are.
    """
    forests = [m for m in release.models if m.resampled]
    why = groups_left_out(release)[1]
    if not forests or not why:
        return facts
    groups: list[dict[str, Any]] = []
    for tree, support in ((t, s) for m in forests for t in m.members() for s in t.nodes.leaf_counts):
        drawn = support.total or 0
        least = min(1, drawn) if support.distinct is None else support.distinct
        groups.append({"name": f"a leaf of {tree.name}", "where": "", "rows": [least, release.rows.high]})
    groups.sort(key=lambda one: one["rows"][0])
    least = min((max(1, one["rows"][0]) for one in groups), default=1)
    unknown = UnknownFigure(why)
    figures = {
        **facts.figures, "smallest_group": KnownFigure(least, release.rows.high, why), "smallest_cell": unknown,
        "class_disclosure": unknown,
    }  # fmt: skip
    cells = replace(facts.listed("smallest_cell"), further=why)
    listed = SmallGroups(groups[:LISTED], len(groups), why)
    return replace(facts, figures=figures, groups={**facts.groups, "groups": listed, "cells": cells})


def nothing_known(stored: Sequence[Inspection], reason: str, help: Help = "") -> FactTable:
    """Return the figures where nothing could be counted: what the files store, and for the rest the reason."""
    return _beside_rows(_unknown_figures(stored, reason, help), stored)


def _unknown_figures(stored: Sequence[Inspection], reason: str, help: Help = "") -> FactTable:
    """Return figures of which nothing is known, and what the files store."""
    others = {"kinds_of_counts": [], "profiles": None, **stored_facts(stored)}
    wanted = [key for key in FIGURES if key not in RARE]
    return FactTable(figures=dict.fromkeys(wanted, UnknownFigure(reason, help)), others=others)


def open_facts(
    release: EncodedRelease, stored: Sequence[Inspection], unknown: UnknownFigure = ROWS_UNSAID,
    together: JointDisclosure | None = None,
) -> FactTable:  # fmt: skip
    """Return what published counts prove one by one, and together if that was asked; all else is `unknown`.

    `unknown`: why nothing more was worked out, the number of rows being open if not said. Linear in the counts.
    """
    facts = _unknown_figures(stored, unknown.why, unknown.help)
    facts = replace(facts, others={**facts.others, "kinds_of_counts": _counted_kinds(release)})
    facts = _with_checked_outputs(facts, release)
    if release.rows.high is not None:
        facts = _with_counts(
            facts.with_figure("rows", KnownFigure(release.rows.low, release.rows.high)), release, unknown
        )
    if together is not None:
        facts = with_together(release, facts, together)
    always = frozenset[str]() if together is None else together.always
    return _beside_rows(with_evidence(facts, release, stored, None, always), stored, release, together)


def _with_counts(facts: FactTable, release: EncodedRelease, unknown: UnknownFigure) -> FactTable:
    """Return the facts with the groups, cells and classes that single counts prove; there may be more of each."""
    counts = group_disclosure(as_released(release))
    each = {"smallest_group": sizes(release, counts, IntervalCells()), "smallest_cell": _cells_of(release, counts)}
    for key, (figure, listed) in each.items():
        if isinstance(figure, KnownFigure):
            facts = facts.with_groups(key, listed.each, further=unknown.why, help=unknown.help)
    if counts.rows_in_pure:
        rows = KnownFigure(counts.rows_in_pure, release.rows.high, unknown.why, unknown.help)
        facts = facts.with_figure("class_disclosure", rows)
    return facts


def _known_wholly(found: AuditFindings) -> Figure:
    """Return how many people are fully known: by counts, by position, or by leaf values, whichever proves most."""
    m, elsewhere = found.measures, [0, *(one.whole for one in found.determined)]
    if found.positions is not None:
        elsewhere.append(found.positions.rows_known)
    system = system_of(found.release, m, Limits())  # it is remembered: the measures are taken from it
    ends, least = pinned(found.release, m, system), max(elsewhere)
    if ends is not None:
        return _between(m, max(least, ends[0]), None if ends[1] is None else max(least, ends[1]))
    unknown = not_counted(m)
    if least:
        return KnownFigure(least, found.release.rows.high, unknown.why, unknown.help)
    free = interval_left(found.release)
    assumed = f"{quote(free, 80)} can have several values between any two thresholds that the models have"
    worst = None if found.positions is None else next((one for one in found.positions.classes if one.boxes_whole), None)
    if worst is not None:
        from recon.queries.located.positions import class_text

        assumed += f"; the leaves of rows are known by position all the same, most exposed is {class_text(worst)}"
    return KnownFigure(0, 0, assumes=assumed) if free else unknown


def not_counted(m: Measures) -> UnknownFigure:
    """Return why figures over the worlds are not known."""
    return UNSIZED if m.counted.relative else BOUNDED


def _between(m: Measures, low: float, high: float | None) -> KnownFigure:
    """Return a figure over the worlds between two ends; where limits kept them apart, that they did."""
    if low == high or m.status == "exact":
        return KnownFigure(low, high)
    return KnownFigure(low, high, BOUNDED.why, BOUNDED.help)


def _bits(m: Measures) -> dict[str, Figure]:
    """Return the bits before the release and left by it, per person, the order of rows not counted."""
    ends, before = bits_left(m), m.unordered_before
    if not m.rows or before is None:
        unknown = UNSIZED if m.counted.relative else ROWS_OPEN if m.rows is None else UnknownFigure("there are none")
        return {"bits_before_per_person": unknown, "bits_left_per_person": unknown}
    left = BOUNDED if ends is None else _between(m, ends[0] / m.rows, ends[1] / m.rows)
    return {"bits_before_per_person": KnownFigure(before / m.rows, before / m.rows), "bits_left_per_person": left}


def most_exposed(found: AuditFindings) -> Figure:
    """Return the bits left about the most exposed person, given that person's group (leaf, rule or cell, and class)."""
    m = found.measures
    if any(one.whole for one in found.determined) or (found.positions is not None and found.positions.rows_known):
        return KnownFigure(0.0, 0.0)
    ends = least_bits(found.release, m, system_of(found.release, m, Limits()))
    return not_counted(m) if ends is None else _between(m, *ends)


def sizes(release: EncodedRelease, disclosure: GroupDisclosure, intervals: IntervalCells) -> tuple[Figure, SmallGroups]:
    """Return the smallest group and the groups, the fewest rows first, with their conditions in words."""
    groups: list[tuple[int, int | None, str, str]] = []
    partitions, cut = release.statements.partitions, release.cut
    for low, high, name, block, j in disclosure.sizes[:LISTED]:
        held = partitions.get(block)
        worded = len(groups) < WORDED
        where = condition_text(cut, held.boxes[j]) if worded and held is not None and j < len(held.boxes) else ""
        groups.append((low, _row_bound(high), name, where))
    groups += [(rows, rows, name, "") for name, rows in published_cells(release)]
    groups += [(one.feasible[0], one.feasible[1], one.name, "") for one in intervals.cells if one.feasible[1]]
    groups.sort(key=lambda one: (one[0], UNBOUNDED if one[1] is None else one[1]))
    ends = smallest_of(groups)
    more = max(0, len(disclosure.sizes) - LISTED)
    each = [{"name": n, "where": where, "rows": [low, high]} for low, high, n, where in groups[:LISTED]]
    listed = SmallGroups(each, len(groups) + more)
    if ends is None:
        return UnknownFigure(groups_left_out(release)[1] or "no group with a number of rows was published"), listed
    return ends, listed


def _row_bound(rows: int) -> int | None:
    """Return an upper bound on rows, None where there is none."""
    return None if rows >= UNBOUNDED else rows


def _cells_of(release: EncodedRelease, groups: GroupDisclosure) -> tuple[Figure, SmallGroups]:
    """Return the smallest number of rows of one class in a group that is not empty, and the cells, smallest first."""
    each = [{"name": n, "class": c, "rows": [low, _row_bound(high)]} for low, high, n, c in groups.cells[:LISTED]]
    listed = SmallGroups(each, len(groups.cells))
    ends = smallest_of((low, _row_bound(high)) for low, high, *_ in groups.cells)
    if ends is None:
        return _no_classes(release, groups, "no counts per class"), listed
    return ends, listed


def _no_classes(release: EncodedRelease, groups: GroupDisclosure, otherwise: str = "") -> UnknownFigure | AbsentFigure:
    """Return why nothing is said of classes: there are none at all, or none whose counts could be evaluated."""
    boosted = any(model.scores == "classes" for model in release.models)
    classifying = any("lassifier" in m.origin.format for m in release.models if m.origin is not None)
    why = groups.undefined or otherwise
    if boosted or classifying or not groups.undefined:
        return UnknownFigure(why)
    label = release.domain.label
    summed = isinstance(label, Categorical) and not regression(
        release
    )  # the mean of classes 0 and 1 tells their numbers
    return AbsentFigure(why) if label is None or (numeric_target(release) and not summed) else UnknownFigure(why)


def _classes(found: AuditFindings) -> tuple[Figure, SmallGroups]:
    """Return how many people's class follows (groups of one class only, leaf values), and these groups.

    Exact of one tree or list; of several the class may follow where their groups cut each other.
    """
    release, groups = found.release, found.groups
    least = groups.rows_in_pure
    if groups.undefined and not least:
        return _no_classes(release, groups), SmallGroups()
    settled = all(low == high for low, high, *_ in (*groups.sizes, *groups.cells))
    alone = len(release.models) == 1 and not release.statements.loose and not found.determined
    evaluated = settled and alone and not groups.undefined and groups.models == 1
    pure = sorted(groups.pure, key=lambda one: one[2:])[:LISTED]
    each = [{"name": n, "class": c, "rows": [low, _row_bound(high)]} for n, c, low, high in pure]
    rows = KnownFigure(least, least) if evaluated else KnownFigure(least, release.rows.high, TOGETHER)
    return rows, SmallGroups(each, len(groups.pure))


def _targets(release: EncodedRelease, groups: GroupDisclosure) -> Figure:
    """Return how many people's numeric target is published exactly; nothing where nothing is about numbers.

    Several figures together may give away more than was found, so that there is no upper bound but everybody.
    """
    values, everybody = groups.values, release.rows.high
    if values.rows is not None:
        return KnownFigure(values.rows, everybody, TARGETS_TOGETHER)
    boosted = any(model.scores == "number" for model in release.models)
    if numeric_target(release) or boosted:  # alone in a leaf whose stored value is then their target
        return KnownFigure(values.alone, everybody, TARGETS_TOGETHER)
    return AbsentFigure("no figures of numbers were published")


def worked_out(found: AuditFindings) -> frozenset[str]:
    """Return the rules of stored findings whose consequences are in the other figures: seeds whose bags were used."""
    complete = found.positions is not None and found.positions.complete
    return frozenset(["bag-seeds"] if complete else [])


def by_position(found: AuditFindings) -> dict[str, Figure]:
    """Return how many labels and values are proved by position; 0 where nothing tells rows apart by position."""
    release, placed = found.release, found.positions
    labelled = release.domain.label is not None
    none: Figure = AbsentFigure("the domain has no label")
    if not release.statements.bags:
        seeds = any(each.rule == "bag-seeds" for one in found.stored for each in one.findings)
        zero = UnknownFigure(BAGS_UNUSED) if seeds else KnownFigure(0, 0)
        return {"labels_by_position": zero if labelled else none, "values_by_position": zero}
    if placed is None:
        late = UnknownFigure("what follows by position was not worked out within the limits", "limits")
        return {"labels_by_position": late if labelled else none, "values_by_position": late}
    help: Help = "" if placed.complete else "limits"
    values = sum(int(column.exact.sum()) for column in placed.data)
    labels = KnownFigure(placed.labels_known or 0, placed.rows, BY_POSITION, help)
    return {
        "labels_by_position": labels if labelled else none,
        "values_by_position": KnownFigure(values, placed.rows * len(placed.data), BY_POSITION, help),
    }


def _classes_at_positions(found: AuditFindings) -> list[dict[str, Any]] | None:
    """Return what is proved by position of the rows of every class, the worst-off class first; None without positions.

    A threshold on all rows says nothing of a class with few: these stand beside it.
    """
    if found.positions is None:
        return None
    from recon.queries.located.positions import class_text

    classes = found.positions.classes
    return [
        {"name": f"class {one.value}", "where": class_text(one), "rows": [one.labels_known, one.rows_most]}
        for one in (classes if len(classes) > 1 else ())
    ]


def profile_verdicts(profiles: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return verdicts on people who were asked about, by position: the first of every verdict, few or many."""
    return [{"position": at, "verdict": v} for v, places in profiles["positions"].items() for at in places]


def no_merging(release: EncodedRelease) -> str:
    """Return why groups of the release cannot be merged (`recon remedy`), "" where they may be."""
    if any(model.scores for model in release.models):
        return "the leaf values of boosted models say more than their counts"
    if not release.noisy and all(model.kind == "table" for model in release.models):
        return CELLS
    if release.noisy:
        return "the noise of merged counts adds up"
    if len(release.models) != 1:
        return "only one model is merged at a time"
    return "" if release.models[0].mergeable else "it has no leaves with parents"


def _counted_kinds(release: EncodedRelease) -> list[str]:
    """Return the kinds of counts that a release holds, in their order of appearance."""
    return list(dict.fromkeys(kind for model in release.models for kind in kinds_of(model)))


def stored_facts(stored: Sequence[Inspection], used: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return what files store outright besides counts, the gravest first, and whether all files were looked at.

    What counts say is in all other figures, and so is what follows from findings of the rules in `used`.
    """
    found = [
        {
            "file": one.file, "level": each.level, "rule": each.rule, "what": each.what, "path": each.path,
            "follows": each.follows, "remedy": each.remove, "removable": each.removable,
            "worked_out": each.rule in used,
        }
        for one in stored
        for each in one.findings[:LISTED]
        if each.beside or not is_counting(each.rule)
    ]  # fmt: skip
    return {"stored": found, "stored_inspected": all(map(was_inspected, stored))}
