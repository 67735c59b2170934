"""The checks of a policy: what the facts of an audit say against a threshold, and where.

Three-valued logic on intervals: a claim is violated only where every value in the interval violates it.

An interval `[least, most]` holds every number between its ends, ends included; `most` None: no upper bound is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from encoders.models.models import MEANING
from recon.release.policies.facts import (
    NOT_WORKED_OUT,
    AbsentFigure,
    FactTable,
    Figure,
    Help,
    KnownFigure,
    Place,
    UnknownFigure,
)
from solvers.foundation.displayed import quote

Outcome = Literal["met", "violated", "inconclusive", "not applicable"]
Direction = Literal["at least", "at most"]
Interval = Sequence[float | None]


def _compared(interval: Interval, direction: Direction, threshold: float) -> Outcome:
    """Return whether all numbers of an interval are on the right side of a threshold ("met"), none is, or only some."""
    return at_least(interval, threshold) if direction == "at least" else at_most(interval, threshold)


def at_least(interval: Interval, threshold: float) -> Outcome:
    """Return whether all numbers of an interval are at least the threshold ("met"), none is, or only some are."""
    least, most = interval_bounds(interval)
    if most is not None and most < threshold:
        return "violated"
    return "met" if least >= threshold else "inconclusive"


def at_most(interval: Interval, threshold: float) -> Outcome:
    """Return whether all numbers of an interval are at most the threshold ("met"), none is, or only some are."""
    least, most = interval_bounds(interval)
    if least > threshold:
        return "violated"
    return "met" if most is not None and most <= threshold else "inconclusive"


def _none_small(interval: Interval, threshold: float) -> Outcome:
    """Return whether a group of so many rows is large enough or empty: 0 rows are no group and violate nothing.

    Rows are whole, so that a threshold of 1 asks for nothing. "violated" where it surely has a row and surely fewer
    than the threshold.
    """
    least, most = interval_bounds(interval)
    if threshold <= 1:
        return "met"
    if most is not None and most < threshold:
        return "violated" if least > 0 else "met" if most == 0 else "inconclusive"
    return "met" if least >= threshold else "inconclusive"


def all_of(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of several claims at once: violated if one is, met if all are, else inconclusive.

    Claims that do not apply count as met; without any claim: "met".
    """
    found = set(outcomes)
    if "violated" in found:
        return "violated"
    return "inconclusive" if "inconclusive" in found else "met"


def interval_bounds(interval: Interval) -> tuple[float, float | None]:
    """Return least and most of an interval; a least that is not known counts as 0, no figure here is below."""
    least, most = interval
    return (0 if least is None else least), most


def interval_text(interval: Interval, unit: str, digits: int = 4) -> str:
    """Return an interval in words: "1 row", "between 1 and 5 rows", "at least 3 rows", "at most 5 bits".

    `unit`: "row", "bit" or "person"; bits are rounded to so many significant digits.
    """
    least, most = interval_bounds(interval)
    if most is None:
        return (
            f"at least {number_with_unit(least, unit, digits)}"
            if least > 0
            else f"an unknown number of {_plural(unit)}"
        )
    if _figure(least, digits) == _figure(most, digits):
        return number_with_unit(least, unit, digits)
    if least <= 0:
        return f"at most {number_with_unit(most, unit, digits)}"
    return f"between {_figure(least, digits)} and {number_with_unit(most, unit, digits)}"


def number_with_unit(number: float, unit: str, digits: int = 4) -> str:
    """Return a number with its unit: "1 row", "1,234 people", "2.5 bits"."""
    return f"{_figure(number, digits)} {unit if number == 1 else _plural(unit)}"


def _plural(unit: str) -> str:
    """Return several of a unit."""
    return {"person": "people"}.get(unit, f"{unit}s")


def _figure(number: float, digits: int = 4) -> str:
    """Return a number for people: thousands with commas, fractions with so many significant digits."""
    if isinstance(number, int) or number.is_integer():
        return f"{int(number):,}"
    return f"{number:,.{digits}g}" if number < 9_999.5 else f"{number:,.1f}"


KINDS = {str(kind): words for kind, words in MEANING.items()}
NOTHING: tuple[str, Help] = ("", "")  # no reason is needed
PLACES = 20  # shown of a check
BY_CLASS = ("pinned", "labels_by_position", "values_by_position")  # figures whose worst-off class is named
LEVELS = {"none": 0, "low": 1, "medium": 2, "high": 3, "critical": 4}  # of findings, as a policy names them
FOUND = {"info": 1, "medium": 2, "high": 3, "critical": 4}  # the same of `recon inspect`; "unknown" may be any of them
SETTLED = ("certain", "possible", "impossible")  # one of these is true of a profile whose verdict is unknown


@dataclass(frozen=True)
class RuleResult:
    """What facts say against a threshold: the outcome, what was found, what was asked, the worst places first.

    `found` and `asked` complete "the smallest group has ..., the policy asks for ...". `why`: what kept the check from
    an answer, `help`: what would settle it. `assumes`: what that takes for granted.
    `removable`: all that violates it can be taken out of the file by `recon inspect --strip`.
    """

    outcome: Outcome
    found: str
    asked: str
    places: tuple[Place, ...] = ()
    places_in_all: int = 0
    why: str = ""
    removable: bool = False
    help: Help = ""
    assumes: str = ""


Check = Callable[[FactTable, "PolicyRule", Any], RuleResult]


@dataclass(frozen=True)
class ThresholdValues:
    """What a threshold may be: its type in a policy file, the same in words, and what the type leaves to be checked."""

    type: Any
    words: str
    holds: Callable[[Any], bool] = lambda value: True


@dataclass(frozen=True)
class PolicyRule:
    """One rule: its key in a policy file, the fact that it looks at, and everything that is said of it.

    `check`: what facts say against a threshold. `title`, `subject` ("... has {found}"), `help` (of the template) and
    `remedy` are its words; `example`: a threshold. `of_worlds`: it is about the possible worlds, certain only as far as
    they are, and merging groups may change it. `merged`: the same figure in the words of `recon remedy` ("": that
    demands nothing of it). `column`: where the figure of a remedy stands in a report ("": nowhere).
    """

    key: str
    fact: str
    check: Check
    values: ThresholdValues
    title: str
    subject: str
    help: str
    remedy: str
    example: Any
    unit: str = ""
    direction: Direction = "at most"
    of_worlds: bool = True
    merged: str = ""
    column: str = ""


def of_groups(facts: FactTable, rule: PolicyRule, threshold: int) -> RuleResult:
    """Return what the smallest of all groups, and every group by itself, say against a threshold of rows.

    No group that is not empty may have fewer rows.
    """
    smallest, listed = facts[rule.fact], facts.listed(rule.fact)
    asked = f"at least {number_with_unit(threshold, rule.unit)}"
    if not isinstance(smallest, KnownFigure) and not listed.each:
        return _absent(facts, smallest, asked)
    each = [(_none_small(one["rows"], threshold), one) for one in listed.each]
    ends_known: Interval | None = [smallest.low, smallest.high] if isinstance(smallest, KnownFigure) else None
    outcome: Outcome = "inconclusive" if ends_known is None else at_least(ends_known, threshold)
    complete = bool(each) and listed.in_all is not None and len(each) >= listed.in_all and not listed.further
    if outcome != "violated" and any(said == "violated" for said, _ in each):
        outcome = "violated"
    elif outcome == "inconclusive" and complete:
        outcome = all_of(said for said, _ in each)
    bad = [one for said, one in each if said == "violated"] or [one for said, one in each if said == "inconclusive"]
    found = ends_known
    if found is None and bad:
        found = _least_of([one["rows"] for one in bad])
    if found is None and outcome == "met":
        found = _least_of([one["rows"] for _, one in each if interval_bounds(one["rows"])[1] != 0])
    why, help = _reason(smallest, listed.further) if outcome == "inconclusive" else NOTHING
    text = "not known" if found is None else interval_text(found, rule.unit)
    return RuleResult(outcome, text, asked, _worst(bad), len(bad), why, help=help)


def _least_of(intervals: Sequence[Interval]) -> Interval | None:
    """Return the interval of the least of several numbers, None of none."""
    if not intervals:
        return None
    most = [m for _, m in map(interval_bounds, intervals) if m is not None]
    return [min(interval_bounds(one)[0] for one in intervals), min(most, default=None)]


def of_interval(facts: FactTable, rule: PolicyRule, threshold: float) -> RuleResult:
    """Return what one interval says against a threshold."""
    asked = f"{rule.direction} {number_with_unit(threshold, rule.unit)}"
    found = facts[rule.fact]
    if not isinstance(found, KnownFigure):
        return _absent(facts, found, asked)
    interval = [found.low, found.high]
    outcome = _compared(interval, rule.direction, threshold)
    digits = 4
    if outcome == "violated":  # rounded to as few digits, it might look as if it were met
        bound = found.high if rule.direction == "at least" and found.high is not None else found.low
        digits = next((d for d in range(4, 17) if _figure(bound, d) != _figure(threshold, d)), 17)
    why, help = _reason(found) if outcome == "inconclusive" else NOTHING
    text = interval_text(interval, rule.unit, digits)
    classes = [] if outcome == "met" or rule.fact not in BY_CLASS else facts.others.get("classes_by_position") or []
    shown = tuple({"name": one["name"], "where": one["where"], "rows": one["rows"]} for one in classes[:PLACES])
    return RuleResult(outcome, text, asked, shown, len(classes), why, help=help, assumes=quote(found.assumes, 400))


def of_versions(facts: FactTable, rule: PolicyRule, threshold: float) -> RuleResult:
    """Return what a figure of who left between two versions says against a threshold; open where none was compared."""
    found = facts.figures.get(rule.fact)
    if found is None or found == UnknownFigure(NOT_WORKED_OUT):
        why = "no earlier version was compared (recon audit --register FOLDER --removed K)"
        facts = facts.with_figure(rule.fact, UnknownFigure(why, "audit"))
    return of_interval(facts, rule, threshold)


def disclosed(facts: FactTable, rule: PolicyRule, threshold: str | int) -> RuleResult:
    """Return what the rows whose label or target is disclosed say against a threshold."""
    limit = {"allowed": None, "forbidden": 0}[threshold] if isinstance(threshold, str) else threshold
    asked = (
        "any number of rows"
        if limit is None
        else "no row"
        if limit == 0
        else f"at most {number_with_unit(limit, rule.unit)}"
    )
    known = facts[rule.fact]
    if not isinstance(known, KnownFigure):
        return RuleResult("met", "not known", asked) if limit is None else _absent(facts, known, asked)
    rows = [known.low, known.high]
    found = interval_text(rows, rule.unit)
    if limit is None:
        return RuleResult("met", found, asked)
    outcome, listed = at_most(rows, limit), facts.listed(rule.fact)
    groups = [] if outcome == "met" else [g for g in listed.each if interval_bounds(g["rows"])[1] != 0]
    why, help = _reason(known) if outcome == "inconclusive" else NOTHING
    in_all = max(len(groups), listed.in_all or 0) if groups else 0
    return RuleResult(outcome, found, asked, _worst(groups), in_all, why, help=help)


def kinds_of_counts(facts: FactTable, rule: PolicyRule, allowed: Sequence[str]) -> RuleResult:
    """Return whether only allowed kinds of counts are published."""
    asked = f"nothing but {_in_words(allowed)}" if allowed else "no counts at all"
    kinds = facts.others.get(rule.fact)
    if kinds is None:
        return _absent(facts, facts[rule.fact], asked)
    strange = [kind for kind in kinds if kind not in allowed]
    return RuleResult("violated" if strange else "met", _in_words(strange or kinds) or "no counts", asked)


def _in_words(kinds: Sequence[str]) -> str:
    """Return what kinds of counts are, in quotes because commas stand in some."""
    return ", ".join(f'"{KINDS.get(kind, quote(kind))}"' for kind in kinds)


def stored_rule(facts: FactTable, rule: PolicyRule, allowed: str) -> RuleResult:
    """Return whether the files store nothing more serious than allowed; what nobody understood may be anything.

    Left out is what was worked out to the end (seeds whose bags were used): the other figures judge it.
    """
    asked = (
        "nothing"
        if allowed == "none"
        else f"nothing more serious than {allowed}"
        if allowed != "critical"
        else "anything"
    )
    findings = [one for one in facts.others.get(rule.fact) or () if not one.get("worked_out")]
    grave = [one for one in findings if FOUND.get(one["level"], 0) > LEVELS[allowed]]
    grave.sort(key=lambda one: -FOUND[one["level"]])
    open_ones = [one for one in findings if one["level"] not in FOUND]
    if grave or (allowed == "none" and open_ones):
        bad = grave + (open_ones if allowed == "none" else [])
        rated = "rated" if len(bad) == 1 else "the most serious rated"
        found = f"{number_with_unit(len(bad), 'item')}, {rated} {bad[0]['level']}"
        removable = all(one.get("removable") for one in [*bad, *open_ones])
        return RuleResult("violated", found, asked, _worst(list(map(_place_of, bad))), len(bad), removable=removable)
    if allowed == "critical":
        return RuleResult("met", number_with_unit(len(findings), "finding"), asked)
    if open_ones:
        why = f"it is not known what {quote(open_ones[0]['what'])} holds, training rows may be in it"
        places = _worst(list(map(_place_of, open_ones)))
        return RuleResult(
            "inconclusive",
            f"{number_with_unit(len(open_ones), 'finding')} not understood",
            asked,
            places,
            len(open_ones),
            why,
        )
    if not facts.others.get("stored_inspected"):
        why, help = _reason(facts[rule.fact])
        return RuleResult("inconclusive", "not inspected", asked, why=why, help=help)
    if not findings:
        return RuleResult("met", "nothing", asked)
    return RuleResult("met", f"{number_with_unit(len(findings), 'finding')}, none more serious", asked)


def _place_of(finding: Mapping[str, Any]) -> Place:
    """Return where a finding of an inspection is."""
    return {"name": finding.get("path") or finding.get("rule", ""), "where": finding.get("what", ""), "rows": None}


def profiles(facts: FactTable, rule: PolicyRule, forbidden: Sequence[str]) -> RuleResult:
    """Return whether no given profile has a forbidden verdict; one that is unknown may turn out to be any of three."""
    asked = f"none that is {' or '.join(forbidden)}" if forbidden else "any verdicts"
    given = facts.others.get(rule.fact)
    if given is None:
        if not forbidden:
            return RuleResult("met", "none given", asked)
        none = UnknownFigure("no profiles were given (recon audit --profiles people.csv)", "profiles")
        why, help = _reason(facts.figures.get(rule.fact, none))
        return RuleResult("inconclusive", "none given", asked, why=why, help=help)
    held = facts.others.get("profiles_in_all") or dict(Counter(one["verdict"] for one in given))
    if not held and forbidden:
        return RuleResult("inconclusive", "none given", asked, why="the table of profiles has no rows", help="profiles")
    said = {verdict: _verdict_outcome(verdict, forbidden) for verdict in held}
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
        found = f"{number_with_unit(many, 'profile')} without a verdict"
        return RuleResult(outcome, found, asked, _worst(places), many, why, help="limits")
    met = f"{number_with_unit(sum(held.values()), 'profile')}, none of them so"
    found = met if outcome == "met" else f"{number_with_unit(many, 'profile')} {' or '.join(bad)}"
    return RuleResult(outcome, found, asked, _worst(places), many)


def _verdict_outcome(verdict: str, forbidden: Sequence[str]) -> Outcome:
    """Return whether a verdict is forbidden; of one that is unknown, whether all or none of what it may be are."""
    if verdict in forbidden:
        return "violated"
    if verdict != "unknown":
        return "met"
    hit = [one in forbidden for one in SETTLED]
    return "violated" if all(hit) else "inconclusive" if any(hit) else "met"


def _worst(places: Sequence[Place]) -> tuple[Place, ...]:
    """Return the first places, the fewest rows first, as name, where and rows."""
    return tuple(_ranked_places(places))


def _ranked_places(places: Sequence[Place]) -> Iterator[Place]:
    """Yield the places that are shown."""
    for one in sorted(places, key=lambda one: _rank(one.get("rows")))[:PLACES]:
        label = one.get("class")
        where = one.get("where") or ("" if label is None else f"class {label}")
        yield {"name": one["name"], "where": str(where), "rows": one.get("rows")}


def _rank(rows: Interval | None) -> tuple[float, float]:
    """Return the order of a group: the one that surely has the fewest rows first."""
    if rows is None:
        return 0, 0
    least, most = interval_bounds(rows)
    return (float("inf") if most is None else most), least


def _absent(facts: FactTable, figure: Figure, asked: str) -> RuleResult:
    """Return what a figure that is not there says: it does not apply, is met by nobody, or is open."""
    if isinstance(figure, AbsentFigure):
        return RuleResult("not applicable", f"does not apply ({quote(figure.why, 400).rstrip('.')})", asked)
    if facts.everybody == 0:
        return RuleResult("met", "nobody", asked)
    why, help = _reason(figure)
    return RuleResult("inconclusive", "not known", asked, why=why, help=help)


def _reason(figure: Figure, further: str = "") -> tuple[str, Help]:
    """Return why a figure is open, and what would help; `further`: why there may be smaller groups than those known."""
    why = further or figure.why
    return quote(why, 400).rstrip("."), "" if isinstance(figure, AbsentFigure) else figure.help
