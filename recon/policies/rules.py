"""The rules of a policy: what the facts of an audit say against each threshold, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from encoders.models.count_kinds import MEANING
from recon.policies.intervals import (
    Interval,
    Outcome,
    all_of,
    at_least,
    at_most,
    counted,
    ends,
    figure,
    interval_text,
    none_small,
)
from solvers.foundation.escaping import named

Place = Mapping[str, Any]
KINDS = {str(kind): words for kind, words in MEANING.items()}
PLACES = 20  # shown of a check
LEVELS = {"none": 0, "low": 1, "medium": 2, "high": 3, "critical": 4}  # of findings, as a policy names them
FOUND = {"info": 1, "medium": 2, "high": 3, "critical": 4}  # the same of `recon inspect`; "unknown" may be any of them
SETTLED = ("certain", "possible", "impossible")  # one of these is true of a profile whose verdict is unknown


@dataclass(frozen=True)
class Said:
    """What facts say against a threshold: the outcome, what was found, what was asked, the worst places first.

    `found` and `asked` complete "the smallest group has ..., the policy asks for ...". `why`: what kept the check from
    an answer. `removable`: all that violates it can be taken out of the file by `recon inspect --strip`.
    """

    outcome: Outcome
    found: str
    asked: str
    places: tuple[Place, ...] = ()
    places_in_all: int = 0
    why: str = ""
    removable: bool = False


Rule = Callable[[Mapping[str, Any], Any], Said]


def smallest_group(facts: Mapping[str, Any], threshold: int) -> Said:
    """Return whether no group that is not empty has fewer rows than the threshold."""
    return small(facts, "smallest_group", "groups", threshold)


def smallest_cell(facts: Mapping[str, Any], threshold: int) -> Said:
    """Return whether no class has fewer rows than the threshold in a group that has any of it."""
    return small(facts, "smallest_cell", "cells", threshold)


def small(facts: Mapping[str, Any], key: str, listed: str, threshold: int) -> Said:
    """Return what the smallest of all groups, and every group by itself, say against a threshold of rows."""
    groups: Sequence[Place] = facts.get(listed) or ()
    smallest: Interval | None = facts.get(key)
    asked = f"at least {counted(threshold, 'row')}"
    if smallest is None and not groups:
        return absent(facts, key, asked)
    each = [(none_small(one["rows"], threshold), one) for one in groups]
    outcome: Outcome = "inconclusive" if smallest is None else at_least(smallest, threshold)
    in_all = facts.get(f"{listed}_in_all")
    further = (facts.get("not_listed") or {}).get(listed, "")  # why there may be smaller ones that nobody published
    complete = bool(groups) and in_all is not None and len(groups) >= in_all and not further
    if outcome != "violated" and any(said == "violated" for said, _ in each):
        outcome = "violated"
    elif outcome == "inconclusive" and complete:
        outcome = all_of(said for said, _ in each)
    bad = [one for said, one in each if said == "violated"] or [one for said, one in each if said == "inconclusive"]
    if smallest is None and bad:
        smallest = least_of([one["rows"] for one in bad])
    if smallest is None and outcome == "met":
        smallest = least_of([one["rows"] for _, one in each if ends(one["rows"])[1] != 0])
    why = unknown(facts, key) if smallest is None else further if outcome == "inconclusive" else ""
    found = "not known" if smallest is None else interval_text(smallest, "row")
    return Said(outcome, found, asked, worst(bad), len(bad), why)


def least_of(intervals: Sequence[Interval]) -> Interval | None:
    """Return the interval of the least of several numbers, None of none."""
    if not intervals:
        return None
    most = [m for _, m in map(ends, intervals) if m is not None]
    return [min(ends(one)[0] for one in intervals), min(most, default=None)]


def most_pinned(facts: Mapping[str, Any], threshold: int) -> Said:
    """Return whether at most so many people are pinned down: every attribute of theirs is certain."""
    return of_interval(facts, "pinned", "person", threshold, at_most)


def least_bits_left(facts: Mapping[str, Any], threshold: float) -> Said:
    """Return whether at least so many bits are left about the most exposed person."""
    return of_interval(facts, "least_bits_left", "bit", threshold, at_least)


def mean_bits_left(facts: Mapping[str, Any], threshold: float) -> Said:
    """Return whether at least so many bits are left per person on average."""
    return of_interval(facts, "bits_left_per_person", "bit", threshold, at_least)


def of_interval(
    facts: Mapping[str, Any], key: str, unit: str, threshold: float, compare: Callable[[Interval, float], Outcome]
) -> Said:
    """Return what one interval says against a threshold."""
    asked = f"at {'least' if compare is at_least else 'most'} {counted(threshold, unit)}"
    interval: Interval | None = facts.get(key)
    if interval is None:
        return absent(facts, key, asked)
    outcome = compare(interval, threshold)
    digits = 4
    if outcome == "violated":  # rounded to as few digits, it might look as if it were met
        least, most = ends(interval)
        bound = most if compare is at_least and most is not None else least
        digits = next((d for d in range(4, 17) if figure(bound, d) != figure(threshold, d)), 17)
    return Said(outcome, interval_text(interval, unit, digits), asked)


def class_disclosure(facts: Mapping[str, Any], threshold: str | int) -> Said:
    """Return whether at most so many people stand in groups of one class only: who is in one has her label known."""
    return disclosed(facts, "class_disclosure", threshold)


def target_disclosure(facts: Mapping[str, Any], threshold: str | int) -> Said:
    """Return whether at most so many people have their numeric target published exactly."""
    return disclosed(facts, "target_disclosure", threshold)


def disclosed(facts: Mapping[str, Any], key: str, threshold: str | int) -> Said:
    """Return what the rows whose label or target is disclosed say against a threshold."""
    limit = {"allowed": None, "forbidden": 0}[threshold] if isinstance(threshold, str) else threshold
    entry: Mapping[str, Any] = facts.get(key) or {}
    asked = "any number of rows" if limit is None else "no row" if limit == 0 else f"at most {counted(limit, 'row')}"
    if entry.get("rows") is None:
        return Said("met", "not known", asked) if limit is None else absent(facts, key, asked)
    found = interval_text(entry["rows"], "row")
    if limit is None:
        return Said("met", found, asked)
    outcome = at_most(entry["rows"], limit)
    groups = [] if outcome == "met" else [g for g in entry.get("groups") or () if ends(g["rows"])[1] != 0]
    in_all = max(len(groups), entry.get("groups_in_all") or 0) if groups else 0
    return Said(outcome, found, asked, worst(groups), in_all)


def kinds_of_counts(facts: Mapping[str, Any], allowed: Sequence[str]) -> Said:
    """Return whether only allowed kinds of counts are published."""
    asked = f"nothing but {in_words(allowed)}" if allowed else "no counts at all"
    kinds = facts.get("kinds_of_counts")
    if kinds is None:
        return absent(facts, "kinds_of_counts", asked)
    strange = [kind for kind in kinds if kind not in allowed]
    return Said("violated" if strange else "met", in_words(strange or kinds) or "no counts", asked)


def in_words(kinds: Sequence[str]) -> str:
    """Return what kinds of counts are, in quotes because commas stand in some."""
    return ", ".join(f'"{KINDS.get(kind, named(kind))}"' for kind in kinds)


def stored(facts: Mapping[str, Any], allowed: str) -> Said:
    """Return whether the files store nothing graver than allowed; what nobody understood may be anything."""
    asked = (
        "nothing" if allowed == "none" else f"nothing graver than {allowed}" if allowed != "critical" else "anything"
    )
    findings = facts.get("stored") or ()
    grave = [one for one in findings if FOUND.get(one["level"], 0) > LEVELS[allowed]]
    grave.sort(key=lambda one: -FOUND[one["level"]])
    open_ones = [one for one in findings if one["level"] not in FOUND]
    if grave or (allowed == "none" and open_ones):
        bad = grave + (open_ones if allowed == "none" else [])
        found = f"{counted(len(bad), 'finding')}, the gravest {bad[0]['level']}: {named(bad[0]['what'])}"
        removable = all(one.get("removable") for one in [*bad, *open_ones])
        return Said("violated", found, asked, worst(list(map(place_of, bad))), len(bad), removable=removable)
    if allowed == "critical":
        return Said("met", counted(len(findings), "finding"), asked)
    if open_ones:
        why = f"nobody knows what {named(open_ones[0]['what'])} holds, training rows may be in it"
        places = worst(list(map(place_of, open_ones)))
        return Said(
            "inconclusive", f"{counted(len(open_ones), 'finding')} not understood", asked, places, len(open_ones), why
        )
    if not facts.get("stored_inspected"):
        return Said("inconclusive", "not inspected", asked, why=unknown(facts, "stored"))
    if not findings:
        return Said("met", "nothing", asked)
    return Said("met", f"{counted(len(findings), 'finding')}, none graver", asked)


def place_of(finding: Mapping[str, Any]) -> Place:
    """Return where a finding of an inspection is."""
    return {"name": finding.get("path") or finding.get("rule", ""), "where": finding.get("what", ""), "rows": None}


def profiles(facts: Mapping[str, Any], forbidden: Sequence[str]) -> Said:
    """Return whether no given profile has a forbidden verdict; one that is unknown may turn out to be any of three."""
    asked = f"none that is {' or '.join(forbidden)}" if forbidden else "any verdicts"
    given = facts.get("profiles")
    if given is None:
        if not forbidden:
            return Said("met", "none given", asked)
        why = unknown(facts, "profiles", "no profiles were given (recon audit --profiles people.csv)")
        return Said("inconclusive", "none given", asked, why=why)
    held = facts.get("profiles_in_all") or dict(Counter(one["verdict"] for one in given))
    if not held and forbidden:
        return Said("inconclusive", "none given", asked, why="the table of profiles has no rows")
    said = {verdict: verdict_outcome(verdict, forbidden) for verdict in held}
    outcome = all_of(said.values())
    bad = [verdict for verdict in held if said[verdict] == outcome and outcome != "met"]
    many = sum(held[verdict] for verdict in bad)
    places: list[Place] = [
        {"name": f"profile {one['position']}", "where": one["verdict"], "rows": None}
        for one in given
        if one["verdict"] in bad
    ]
    if outcome == "inconclusive":
        why = "limits left the verdict on some profiles open"
        return Said(outcome, f"{counted(many, 'profile')} without a verdict", asked, worst(places), many, why)
    met = f"{counted(sum(held.values()), 'profile')}, none of them so"
    found = met if outcome == "met" else f"{counted(many, 'profile')} {' or '.join(bad)}"
    return Said(outcome, found, asked, worst(places), many)


def verdict_outcome(verdict: str, forbidden: Sequence[str]) -> Outcome:
    """Return whether a verdict is forbidden; of one that is unknown, whether all or none of what it may be are."""
    if verdict in forbidden:
        return "violated"
    if verdict != "unknown":
        return "met"
    hit = [one in forbidden for one in SETTLED]
    return "violated" if all(hit) else "inconclusive" if any(hit) else "met"


def worst(places: Sequence[Place]) -> tuple[Place, ...]:
    """Return the first places, the fewest rows first, as name, where and rows."""
    return tuple(ranked(places))


def ranked(places: Sequence[Place]) -> Iterator[Place]:
    """Yield the places that are shown."""
    for one in sorted(places, key=lambda one: rank(one.get("rows")))[:PLACES]:
        label = one.get("class")
        where = one.get("where") or ("" if label is None else f"class {label}")
        yield {"name": one["name"], "where": str(where), "rows": one.get("rows")}


def rank(rows: Interval | None) -> tuple[float, float]:
    """Return the order of a group: the one that surely has the fewest rows first."""
    if rows is None:
        return 0, 0
    least, most = ends(rows)
    return (float("inf") if most is None else most), least


def absent(facts: Mapping[str, Any], key: str, asked: str) -> Said:
    """Return what a figure that is not there says: it does not apply, if the audit says so, else it is open."""
    elsewhere = (facts.get("not_applicable") or {}).get(key)
    if elsewhere:
        return Said("not applicable", f"does not apply ({named(elsewhere, 400).rstrip('.')})", asked)
    return Said("inconclusive", "not known", asked, why=unknown(facts, key))


def unknown(facts: Mapping[str, Any], key: str, otherwise: str = "it was not worked out") -> str:
    """Return why a figure is not known."""
    said = (facts.get("not_known") or {}).get(key)
    return named(said, 400).rstrip(".") if said else otherwise


CHECKS: dict[str, Rule] = {
    "smallest_group": smallest_group,
    "smallest_cell": smallest_cell,
    "most_pinned": most_pinned,
    "least_bits_left": least_bits_left,
    "mean_bits_left": mean_bits_left,
    "class_disclosure": class_disclosure,
    "target_disclosure": target_disclosure,
    "kinds_of_counts": kinds_of_counts,
    "stored": stored,
    "profiles": profiles,
}
