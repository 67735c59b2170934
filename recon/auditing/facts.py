"""What policies look at: the figures of a finished audit as intervals, and why a figure is not known.

An interval is [least, most]; most is None where no upper bound is known. A figure that is None is not known, or does
not apply; `not_known` and `not_applicable` say why. Everything is proved at `confidence` (1: whatever happens).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from encoders.encode.encoder import EncodedRelease
from encoders.models.count_kinds import kinds_of
from encoders.models.models import Forest
from recon.auditing.findings import Findings, GroupDisclosure
from recon.frames.describe import condition_text
from recon.inspection.findings.severity import is_counting
from recon.inspection.inspecting import Inspection
from recon.measures.figures import Measures
from recon.measures.revealed.known import least_bits, pinned, system_of
from recon.measures.system import groups_left_out, published_cells
from recon.measures.unordered import bits_left
from solvers.foundation.limits import Limits
from solvers.statements.release import UNBOUNDED

LISTED = 10_000  # groups and cells that are listed, the smallest first
WORDED = 1_000  # of them with their condition in words
UNSIZED = "an attribute has no values that could be counted: declare a domain (--domain)"
BOUNDED = "the worlds could not be counted within the limits"
Ends = list[Any]


def facts_of(found: Findings) -> dict[str, Any]:
    """Return the figures of an audit that policies are held against, ready for JSON; see the module.

    Keys: rows, pinned (people whose every attribute is known in every possible world), bits_before_per_person,
    bits_left_per_person (mean, order of rows not counted), least_bits_left (about the most exposed person, given her
    group), smallest_group and groups, smallest_cell and cells (rows of one class in a group), class_disclosure,
    target_disclosure, kinds_of_counts, stored, stored_inspected, profiles, confidence, status.
    """
    release, m, groups = found.release, found.measures, found.groups
    unknown: dict[str, str] = {}
    elsewhere: dict[str, str] = {}
    if found.empty is not None or m.status == "unsat":
        reason = "no training set agrees with the release: its statements contradict each other"
        return nothing_known(found.stored, reason) | {
            "status": "unsat" if found.empty is None else "empty",
            "kinds_of_counts": counted_kinds(release),
            "confidence": release.confidence if release.noisy else 1.0,
        }
    facts: dict[str, Any] = {
        "status": m.status,
        "confidence": release.confidence if release.noisy and not release.certain else 1.0,
        "rows": [release.rows.low, release.rows.high],
        "pinned": known_wholly(found, unknown),
        **bits(m, unknown),
        "least_bits_left": most_exposed(found, unknown),
        **sizes(release, found, unknown),
        **cells(release, groups, unknown, elsewhere),
        "class_disclosure": classes(found, unknown, elsewhere),
        "target_disclosure": targets(groups, elsewhere),
        "kinds_of_counts": counted_kinds(release),
        "profiles": None if found.profiles is None else asked(found.profiles["rows"]),
        **stored_facts(found.stored),
    }
    return of_resamples(release, facts | {"not_known": unknown, "not_applicable": elsewhere})


def of_resamples(release: EncodedRelease, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return figures in which groups of trees on resamples hold at least the different rows that each drew of them.

    Beside trees whose counts tell their groups' sizes, those that do not must not be passed over. Figures of classes
    are not known then. Other releases: as they are.
    """
    forests = [m for m in release.models if isinstance(m, Forest) and m.resampled]
    why = groups_left_out(release)[1]
    if not forests or not why:
        return dict(facts)
    groups: list[dict[str, Any]] = []
    for tree, support in ((t, s) for m in forests for t in m.trees for s in t.nodes.leaf_counts):
        drawn = support.total or 0
        least = min(1, drawn) if support.distinct is None else support.distinct
        groups.append({"name": f"a leaf of {tree.name}", "where": "", "rows": [least, release.rows.high]})
    groups.sort(key=lambda one: one["rows"][0])
    least = min((max(1, one["rows"][0]) for one in groups), default=1)
    out = dict(facts) | {"smallest_group": [least, release.rows.high], "groups": groups[:LISTED]}
    out |= {"groups_in_all": len(groups), "smallest_cell": None, "class_disclosure": None}
    unknown = {key: text for key, text in (facts.get("not_known") or {}).items() if key != "smallest_group"}
    return out | {"not_known": unknown | {"smallest_cell": why, "class_disclosure": why}}


def nothing_known(stored: Sequence[Inspection], reason: str) -> dict[str, Any]:
    """Return the figures where nothing could be counted: what the files store, and for the rest the reason."""
    keys = (
        "rows", "pinned", "bits_before_per_person", "bits_left_per_person", "least_bits_left", "smallest_group",
        "smallest_cell", "class_disclosure", "target_disclosure",
    )  # fmt: skip
    empty: dict[str, Any] = {"groups": [], "groups_in_all": 0, "cells": [], "cells_in_all": 0, "kinds_of_counts": []}
    return {
        "status": "unknown", "confidence": 1.0, **dict.fromkeys(keys), **empty, "profiles": None,
        **stored_facts(stored), "not_known": dict.fromkeys(keys, reason), "not_applicable": {},
    }  # fmt: skip


def known_wholly(found: Findings, unknown: dict[str, str]) -> Ends | None:
    """Return how many people are known wholly: by counts, by position, or by leaf values, whichever proves most."""
    m, elsewhere = found.measures, [0, *(one.whole for one in found.determined)]
    if found.positions is not None:
        elsewhere.append(found.positions.rows_known)
    system = system_of(found.release, m, Limits())  # it is remembered: the measures are taken from it
    ends, least = pinned(found.release, m, system), max(elsewhere)
    if ends is not None:
        return [max(least, ends[0]), None if ends[1] is None else max(least, ends[1])]
    if least:
        return [least, found.release.rows.high]
    unknown["pinned"] = UNSIZED if m.counted.relative else BOUNDED
    return None


def bits(m: Measures, unknown: dict[str, str]) -> dict[str, Any]:
    """Return the bits before the release and left by it, per person, the order of rows not counted."""
    ends, before = bits_left(m), m.unordered_before
    out: dict[str, Any] = {"bits_before_per_person": None, "bits_left_per_person": None}
    if not m.rows or before is None:
        reason = UNSIZED if m.counted.relative else "the number of rows is open" if m.rows is None else "there are none"
        return out | refused(unknown, dict.fromkeys(out, reason))
    out["bits_before_per_person"] = before / m.rows
    if ends is None:
        return out | refused(unknown, {"bits_left_per_person": BOUNDED})
    out["bits_left_per_person"] = [ends[0] / m.rows, ends[1] / m.rows]
    return out


def refused(unknown: dict[str, str], reasons: Mapping[str, str]) -> dict[str, None]:
    """Return nothing under the keys, and keep the reasons."""
    unknown |= reasons
    return dict.fromkeys(reasons)


def most_exposed(found: Findings, unknown: dict[str, str]) -> Ends | None:
    """Return the bits left about the most exposed person, given the group (leaf, rule or cell, and class) of hers."""
    m = found.measures
    if any(one.whole for one in found.determined) or (found.positions is not None and found.positions.rows_known):
        return [0.0, 0.0]
    ends = least_bits(found.release, m, system_of(found.release, m, Limits()))
    if ends is None:
        unknown["least_bits_left"] = UNSIZED if m.counted.relative else BOUNDED
    return None if ends is None else [*ends]


def sizes(release: EncodedRelease, found: Findings, unknown: dict[str, str]) -> dict[str, Any]:
    """Return the smallest group and the groups, the fewest rows first, with their conditions in words."""
    groups: list[tuple[int, int, str, str]] = []
    partitions, cut = release.statements.partitions, release.cut
    for low, high, name, block, j in found.groups.sizes[:LISTED]:
        held = partitions.get(block)
        worded = held is not None and j < len(held.boxes) and len(groups) < WORDED
        groups.append((low, high, name, condition_text(cut, held.boxes[j]) if worded and held is not None else ""))
    groups += [(rows, rows, name, "") for name, rows in published_cells(release)]
    hidden = [(one.name, *one.feasible) for one in found.intervals.cells]
    groups += [(low, high, name, "") for name, low, high in hidden if high]
    groups.sort(key=lambda one: one[:2])
    if not groups:
        unknown["smallest_group"] = groups_left_out(release)[1] or "no group with a number of rows was published"
    listed = [{"name": n, "where": where, "rows": [low, bounded(high)]} for low, high, n, where in groups[:LISTED]]
    more = max(0, len(found.groups.sizes) - LISTED)
    return {"smallest_group": smallest(groups), "groups": listed, "groups_in_all": len(groups) + more}


def smallest(groups: Sequence[tuple[Any, ...]]) -> Ends | None:
    """Return the least and most rows that the smallest group can have that is not empty; None without groups."""
    if not groups:
        return None
    least = min(max(1, low) for low, *_ in groups)
    most = min((high for low, high, *_ in groups if low), default=None)
    return [least, None if most is None else bounded(most)]


def bounded(rows: int) -> int | None:
    """Return an upper bound on rows, None where there is none."""
    return None if rows >= UNBOUNDED else rows


def cells(
    release: EncodedRelease, groups: GroupDisclosure, unknown: dict[str, str], elsewhere: dict[str, str]
) -> dict[str, Any]:
    """Return the smallest number of rows of one class in a group that is not empty, and the cells, smallest first."""
    listed = [{"name": n, "class": c, "rows": [low, bounded(high)]} for low, high, n, c in groups.cells[:LISTED]]
    if not groups.cells:
        where = elsewhere if without_classes(release, groups) else unknown
        where["smallest_cell"] = groups.undefined or "no counts per class"
    return {"smallest_cell": smallest(groups.cells), "cells": listed, "cells_in_all": len(groups.cells)}


def without_classes(release: EncodedRelease, groups: GroupDisclosure) -> bool:
    """Return whether figures are of no classes at all, not only of none that could be evaluated."""
    return bool(groups.undefined) and groups.undefined != groups_left_out(release)[1]


def classes(found: Findings, unknown: dict[str, str], elsewhere: dict[str, str]) -> dict[str, Any] | None:
    """Return how many people's class follows (groups of one class only, leaf values), and these groups."""
    release, groups = found.release, found.groups
    given_back = max((one.with_label for one in found.determined), default=0)
    if groups.undefined and not given_back:
        (elsewhere if without_classes(release, groups) else unknown)["class_disclosure"] = groups.undefined
        return None
    settled = all(low == high for low, high, *_ in (*groups.sizes, *groups.cells))
    evaluated = settled and not groups.undefined and not found.determined and (groups.models == 1 or not groups.pure)
    least = max(groups.rows_in_pure, given_back)
    pure = sorted(groups.pure, key=lambda one: one[2:])[:LISTED]
    listed = [{"name": n, "class": c, "rows": [low, bounded(high)]} for n, c, low, high in pure]
    rows = [least, least if evaluated else release.rows.high]
    return {"rows": rows, "groups": listed, "groups_in_all": len(groups.pure)}


def targets(groups: GroupDisclosure, elsewhere: dict[str, str]) -> dict[str, Any] | None:
    """Return how many people's numeric target is published exactly; None where no figures are of numbers."""
    values = groups.values
    if values.rows is not None:
        return {"rows": [values.rows, values.rows]}
    if values.alone:  # alone in a leaf whose stored value is then their target
        return {"rows": [values.alone, None]}
    elsewhere["target_disclosure"] = "no figures of numbers were published"
    return None


def asked(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the verdicts on the people who were asked about, by their position."""
    return [{"position": one["position"], "verdict": one["verdict"]} for one in rows]


def counted_kinds(release: EncodedRelease) -> list[str]:
    """Return the kinds of counts that a release holds, in their order of appearance."""
    return list(dict.fromkeys(kind for model in release.models for kind in kinds_of(model)))


def stored_facts(stored: Sequence[Inspection]) -> dict[str, Any]:
    """Return what files store outright besides counts, the gravest first, and whether all files were looked at.

    What counts say is in all other figures.
    """
    found = [
        {
            "file": one.file, "level": each.level, "rule": each.rule, "what": each.what, "path": each.path,
            "follows": each.follows, "remedy": each.remove, "removable": each.removable,
        }
        for one in stored
        for each in one.findings[:LISTED]
        if not is_counting(each.rule)
    ]  # fmt: skip
    inspected = all(not one.format.startswith("not inspected") for one in stored)
    return {"stored": found, "stored_inspected": inspected}
