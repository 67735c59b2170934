"""What all published counts say together of groups and classes: proved small or of one class, or that there is none.

Policies ask about the smallest group; the search is asked with their thresholds (`solvers.groups`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from encoders.encode.encoder import EncodedRelease
from recon.frames.describe import condition_json, condition_text
from recon.policies.facts import FIGURES, LISTED, Absent, Facts, Groups, Help, Known
from solvers.foundation.limits import Limits
from solvers.groups.classes import KnownClasses, known_classes
from solvers.groups.published import ProvedGroup
from solvers.groups.smallest import UNUSED, SmallestGroup, smallest_group
from solvers.statements.boxes import Region
from solvers.statements.release import UNBOUNDED

SMALL_GROUP = 10  # rows, where no policy says
PART, SECONDS = 0.3, 60.0  # of the time that is left for each question, and at most
REGIONS = 3  # of a group in words
SMALLER = "smaller ones were not searched for"
NOT_ASKED = "what all counts say together was not worked out"


@dataclass(frozen=True, eq=False)
class Together:
    """The smallest group with labels left out and kept, and the people whose class follows (None: not asked)."""

    group: SmallestGroup | None = None
    cell: SmallestGroup | None = None
    classes: KnownClasses | None = None


def judged_together(release: EncodedRelease, thresholds: Mapping[str, Any], limits: Limits) -> Together:
    """Return what the counts say together, as far as thresholds by their keys (without: 10 rows, no class) need it."""

    def asked(key: str, otherwise: int) -> int:
        value = thresholds.get(key)
        return value if isinstance(value, int) else otherwise

    def some() -> Limits:
        return limits.lasting(SECONDS) if math.isinf(limits.left()) else limits.share(PART, SECONDS)

    statements, labelled = release.statements, release.domain.label is not None
    return Together(
        smallest_group(statements, asked("smallest_group", SMALL_GROUP), some()),
        smallest_group(statements, asked("smallest_cell", SMALL_GROUP), some(), by_label=True) if labelled else None,
        known_classes(statements, asked("class_disclosure", 0), some()) if labelled else None,
    )


def with_together(release: EncodedRelease, facts: Facts, found: Together | None) -> Facts:
    """Return the facts with what the counts say together; where that was not asked, nothing is proved not to exist."""
    found = found or Together()
    for key, one in (("smallest_group", found.group), ("smallest_cell", found.cell)):
        facts = with_smallest(release, facts, key, one)
    return facts if found.classes is None else with_classes(release, facts, found.classes)


def with_smallest(release: EncodedRelease, facts: Facts, key: str, found: SmallestGroup | None) -> Facts:
    """Return the facts with the smallest group as it is proved."""
    figure, listed = facts[key], facts.listed(key)
    if isinstance(figure, Absent) or (found is None and not isinstance(figure, Known)):
        return facts
    high = figure.high if isinstance(figure, Known) else None
    if found is None:
        return with_listed(facts, key, Known(1, high, NOT_ASKED), replace(listed, further=NOT_ASKED))
    if found.high < UNBOUNDED:
        high = found.high if high is None else min(high, found.high)
    low = found.low if found.low < UNBOUNDED else facts.everybody or 0
    low = low if high is None else min(low, high)
    proved = found.group
    if proved is not None and not proved.published and proved.high == high:
        listed = replace(listed, each=[place(release, proved), *listed.each][:LISTED], in_all=(listed.in_all or 0) + 1)
    if low == high or (low > 1 and not found.why):
        return with_listed(facts, key, Known(low, high, found.why and "", ""), replace(listed, further=""))
    why = found.why or SMALLER
    if not isinstance(figure, Known) and high is None:
        return facts
    return with_listed(facts, key, Known(low, high, why, help_of(found.why)), replace(listed, further=why))


def help_of(why: str) -> Help:
    """Return what would settle a search that ended early: more time or cells; nothing where figures are not used."""
    return "" if why in {"", UNUSED} else "limits"


def with_listed(facts: Facts, key: str, figure: Known, listed: Groups) -> Facts:
    """Return the facts with a figure and its groups."""
    return replace(facts.with_figure(key, figure), groups={**facts.groups, FIGURES[key].groups: listed})


def with_classes(release: EncodedRelease, facts: Facts, found: KnownClasses) -> Facts:
    """Return the facts with the people whose class follows from all counts together."""
    key = "class_disclosure"
    figure, listed = facts[key], facts.listed(key)
    if isinstance(figure, Absent):
        return facts
    known = figure if isinstance(figure, Known) else Known(0, release.rows.high, found.why)
    low, tops = max(known.low, found.low), [known.high, None if found.high >= UNBOUNDED else found.high]
    high = min((one for one in tops if one is not None), default=None)
    high = None if high is None else max(low, high)
    if found.why and not isinstance(figure, Known) and not found.low:
        return facts
    if found.low > known.low:
        label = release.domain.label
        more = [
            place(release, group) | {"class": str(label.value(number)) if label is not None else None}
            for number, group in found.groups
        ]
        listed = replace(listed, each=[*more, *listed.each][:LISTED], in_all=(listed.in_all or 0) + len(more))
    settled = low == high or not found.why
    why, help = ("", "") if settled else (found.why or known.why, help_of(found.why))
    return with_listed(facts, key, Known(low, high, why, help), listed)  # type: ignore[arg-type]


def place(release: EncodedRelease, group: ProvedGroup) -> dict[str, Any]:
    """Return a proved group as facts list it: `where` in words, `how` with the condition that `recon bound` takes."""
    shown = [region_text(release, one) for one in group.regions[:REGIONS]]
    more = f" or {len(group.regions) - REGIONS:,} more" if len(group.regions) > REGIONS else ""
    where = (shown[0] if len(shown) == 1 else " or ".join(f"({text})" for text in shown)) + more
    high = None if group.high >= UNBOUNDED else group.high
    return {"name": group.source, "where": where, "rows": [group.low, high], "how": proof(release, group)}


def proof(release: EncodedRelease, group: ProvedGroup) -> str:
    """Return how a group is proved, with the condition on which `recon bound` agrees where one condition says it."""
    alone = group.regions[0] if len(group.regions) == 1 and not group.regions[0].minus else None
    condition = None if alone is None else condition_json(release.cut, alone.box)
    text = "in every possible world it has so many rows"
    return text if condition is None else f"{text}: recon bound FILE --where '{json.dumps(condition)}'"


def region_text(release: EncodedRelease, region: Region) -> str:
    """Return a region in words."""
    text = condition_text(release.cut, region.box)
    return " and ".join([text, *(f"not ({condition_text(release.cut, box)})" for box in region.minus)])


def proofs(release: EncodedRelease, found: Together) -> list[tuple[str, str]]:
    """Return how each figure is proved, in words: by a group, by worlds, or that it is open; (what, status)."""
    out = []
    for name, one in (("smallest group", found.group), ("smallest cell", found.cell)):
        if one is None:
            continue
        if one.world is not None and one.low > 1:
            out.append((f"{name}: {world_text(one)}", "proved"))
        if one.group is not None and not one.group.published:
            told = place(release, one.group)
            out.append((f"{name}: {told['where']}: {told['how']}", "proved"))
        if one.why:
            out.append((f"{name}: {one.why}", "open"))
    if (classes := found.classes) is not None and classes.world is not None:
        inside, rows = classes.world
        text = f"one possible world of {rows:,} rows has {inside:,} of them where nothing but one class is known of"
        out.append((f"classes that follow: {text}", "proved"))
    return out


def world_text(found: SmallestGroup) -> str:
    """Return what worlds say that leave no smaller group."""
    assert found.world is not None
    if found.world.worlds == 1:
        cells = f"{found.world.items:,} cells with rows, the smallest of {found.world.fewest:,}"
        return f"one possible world has {cells}, so that no group that is never empty has fewer"
    return f"{found.world.worlds:,} possible worlds leave no group of fewer than {found.low:,} rows that is never empty"
