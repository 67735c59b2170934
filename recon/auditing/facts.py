"""What policies look at: the figures of a finished audit as intervals, and why a figure is not known.

An interval is [least, most]; most is None where no upper bound is known. A figure that is None is not known, or does
not apply: `not_known` and `not_applicable` say why. `not_listed`: why there may be smaller groups than those listed.
Everything is proved at `confidence` (1: whatever happens).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.models.count_kinds import kinds_of
from encoders.models.models import Boosting, Forest
from recon.auditing.findings import Findings, GroupDisclosure
from recon.bounds.disclosure import numeric_target
from recon.frames.describe import condition_text
from recon.inspection.findings.severity import ROWS, is_counting
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
BY_DIFFERENCE = "published groups cut each other: smaller ones may follow by difference"
BY_LEAF_VALUES = "leaf values may say more of classes than the counts that were read"
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
    further: dict[str, str] = {}
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
        **sizes(release, found, unknown, further),
        **cells(release, groups, unknown, elsewhere, further),
        "class_disclosure": classes(found, unknown, elsewhere),
        "target_disclosure": targets(release, groups, elsewhere),
        "kinds_of_counts": counted_kinds(release),
        "profiles": None if found.profiles is None else asked(found.profiles),
        "profiles_in_all": None if found.profiles is None else dict(found.profiles["verdicts"]),
        **stored_facts(found.stored),
    }
    facts = of_resamples(release, facts | {"not_known": unknown, "not_applicable": elsewhere, "not_listed": further})
    return beside_rows(facts, found.stored)


def beside_rows(facts: dict[str, Any], stored: Sequence[Inspection]) -> dict[str, Any]:
    """Return the figures as they are where training rows or labels stand in the file, whatever counts say.

    A row that stands there is a group of one; that nobody is known, or no class, can then not be said any more.
    """
    critical = [each for one in stored for each in one.findings if each.level == "critical"]
    if not critical:
        return facts
    everybody, out = (facts["rows"] or [0, None])[1], dict(facts)
    if out["class_disclosure"] is not None:
        least = out["class_disclosure"]["rows"][0]
        out["class_disclosure"] = out["class_disclosure"] | {"rows": [least, everybody]}
    found = [each for each in critical if each.rule in ROWS]
    if found:
        alone = [{"name": each.path, "where": f"rows in the file: {each.what}", "rows": [1, 1]} for each in found]
        out |= {"smallest_group": [1, 1], "groups": [*alone, *out["groups"]][:LISTED]}
        out["groups_in_all"] += len(alone)
        out["pinned"] = None if out["pinned"] is None else [out["pinned"][0], everybody]
        for key in ("least_bits_left", "bits_left_per_person"):
            out[key] = None if out[key] is None else [0.0, out[key][1]]
    return out


def with_differences(facts: Mapping[str, Any], differences: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures with groups that only several releases together single out (name, where, rows) among them."""
    groups = sorted([*differences, *facts["groups"]], key=lambda one: one["rows"][0])
    ends = [one["rows"] for one in differences if one["rows"][0]] + [facts["smallest_group"] or [1, None]]
    least = min(low for low, _ in ends)
    most = min((high for _, high in ends if high is not None), default=None)
    return dict(facts) | {
        "smallest_group": [least, most],
        "groups": groups[:LISTED],
        "groups_in_all": facts["groups_in_all"] + len(differences),
    }


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
    out = {
        "status": "unknown", "confidence": 1.0, **dict.fromkeys(keys), **empty, "profiles": None,
        **stored_facts(stored), "not_known": dict.fromkeys(keys, reason), "not_applicable": {}, "not_listed": {},
    }  # fmt: skip
    return beside_rows(out, stored)


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


def sizes(release: EncodedRelease, found: Findings, unknown: dict[str, str], further: dict[str, str]) -> dict[str, Any]:
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
    ends = smallest(groups)
    least = by_difference(found)
    if ends is not None and least is not None and least < ends[0]:
        ends, further["groups"] = [least, ends[1]], BY_DIFFERENCE
    return {"smallest_group": ends, "groups": listed, "groups_in_all": len(groups) + more}


def by_difference(found: Findings) -> int | None:
    """Return the fewest rows that a group can have that follows from groups that cut each other, None if none do.

    Tables, rule sets and several models: what is in one group and not in another is a group too, and made of cells.
    Where some cell may have rows, or none, it is 1. A forest's groups are its leaves, as published.
    """
    release, m = found.release, found.measures
    if not release.statements.loose and len(release.models) == 1:
        return None
    if len(release.statements.blocks) == 1 and not release.statements.loose:
        return None
    system = system_of(release, m, Limits())
    if system is None or not len(m.exposure):
        return 1
    held = m.exposure["rows"].to_numpy()
    live = int((np.asarray(system.upper) > 0).sum())
    return max(1, int(held.min())) if live == int((held > 0).sum()) else 1


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
    release: EncodedRelease, groups: GroupDisclosure, unknown: dict[str, str], elsewhere: dict[str, str],
    further: dict[str, str],
) -> dict[str, Any]:  # fmt: skip
    """Return the smallest number of rows of one class in a group that is not empty, and the cells, smallest first."""
    listed = [{"name": n, "class": c, "rows": [low, bounded(high)]} for low, high, n, c in groups.cells[:LISTED]]
    if not groups.cells:
        where = elsewhere if without_classes(release, groups) else unknown
        where["smallest_cell"] = groups.undefined or "no counts per class"
    ends = smallest(groups.cells)
    if ends is not None and any(isinstance(model, Boosting) for model in release.models):
        ends, further["cells"] = [1, ends[1]], BY_LEAF_VALUES
    return {"smallest_cell": ends, "cells": listed, "cells_in_all": len(groups.cells)}


def without_classes(release: EncodedRelease, groups: GroupDisclosure) -> bool:
    """Return whether there are no classes at all, not only none whose counts could be evaluated."""
    boosted = any(isinstance(model, Boosting) and model.labels for model in release.models)
    classifying = any("lassifier" in m.origin.format for m in release.models if m.origin is not None)
    if boosted or classifying or not groups.undefined:
        return False
    return release.domain.label is None or numeric_target(release)


def classes(found: Findings, unknown: dict[str, str], elsewhere: dict[str, str]) -> dict[str, Any] | None:
    """Return how many people's class follows (groups of one class only, leaf values), and these groups.

    Exact of one tree or list, and where no leaf of a forest is pure; of several models and tables the class may follow
    where their groups cut each other.
    """
    release, groups = found.release, found.groups
    given_back = max((one.with_label for one in found.determined), default=0)
    least = max(groups.rows_in_pure, given_back)
    if groups.undefined and not least:
        (elsewhere if without_classes(release, groups) else unknown)["class_disclosure"] = groups.undefined
        return None
    settled = all(low == high for low, high, *_ in (*groups.sizes, *groups.cells))
    alone = len(release.models) == 1 and not release.statements.loose and not found.determined
    evaluated = settled and alone and not groups.undefined and (groups.models == 1 or not groups.pure)
    pure = sorted(groups.pure, key=lambda one: one[2:])[:LISTED]
    listed = [{"name": n, "class": c, "rows": [low, bounded(high)]} for n, c, low, high in pure]
    rows = [least, least if evaluated else release.rows.high]
    return {"rows": rows, "groups": listed, "groups_in_all": len(groups.pure)}


def targets(release: EncodedRelease, groups: GroupDisclosure, elsewhere: dict[str, str]) -> dict[str, Any] | None:
    """Return how many people's numeric target is published exactly; None where nothing is about numbers.

    Several figures together may give away more than was found, so that there is no upper bound but everybody.
    """
    values, everybody = groups.values, release.rows.high
    if values.rows is not None:
        return {"rows": [values.rows, everybody]}
    boosted = any(isinstance(model, Boosting) and not model.labels for model in release.models)
    if numeric_target(release) or boosted:
        return {"rows": [values.alone, everybody]}  # alone in a leaf whose stored value is then their target
    elsewhere["target_disclosure"] = "no figures of numbers were published"
    return None


def asked(profiles: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return verdicts on people who were asked about, by position: the first of every verdict, few or many."""
    return [{"position": at, "verdict": v} for v, places in profiles["positions"].items() for at in places]


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
