"""The assessment: every threshold of a policy checked against the facts of an audit, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from recon.release.policies.checks import PLACES, Outcome, PolicyRule, RuleResult, all_of, interval_text
from recon.release.policies.facts import FactTable, KnownFigure
from recon.release.policies.policy import Policy, Threshold
from recon.release.policies.rules import RULES
from solvers.foundation.displayed import quote, short_condition
from solvers.foundation.exact import level_text

Verdict = Literal["release", "release with changes", "do not release", "not assessed"]
AS_PUBLISHED = "as published"
DONE_BY_RECON, OTHERWISE = 1, 3  # what a command does, and what the model's makers have to do
LOSS = {"strip": 0, "rounded counts": 2, "counts": 4}  # the last says nothing of the classes that leaves still name
NO_WORLD = {
    "unsat": "the statements of the release contradict each other, so that no figure means anything",
    "empty": "no dataset fits the noisy counts at this confidence, so that no figure means anything",
}
NOT_FOUND = {"not known", "not inspected", "none given", "nobody"}
ONE = {
    " are ": " is ",
    " have ": " has ",
    " their position": " its position",
}  # of one row, person or bit
NO_PASS = "Do not treat this as a pass"
MERGING = "recon remedy"
RETRAIN = (
    "Train again with larger groups, or fewer of them, and audit the result: groups cannot be merged, because {why}."
)
CELLS = "cells of tables are hidden"  # why groups of a table are not merged
HIDING = "Hide the cells that are too small, and as few others as protect them, or publish wider categories."
HELPS = {
    "limits": f"{NO_PASS}: audit again with more time or memory (--time, --memory).",
    "domain": f"{NO_PASS}: audit again with a domain (--domain).",
    "rows": f"{NO_PASS}: audit again with the number of rows (--rows).",
    "profiles": f"{NO_PASS}: audit again with the people to ask about (--profiles).",
    "inspection": f"{NO_PASS}: save the file, inspect it (recon inspect FILE), and audit again.",
    "strip": f"{NO_PASS}: take out what is not needed (recon inspect FILE --strip OUT), and audit again.",
    "audit": f"{NO_PASS}: run recon audit, which works it out.",
    "": f"{NO_PASS}: no option of the audit settles it; publish without what keeps it open.",
}  # what to do about an open check, by what would settle it


@dataclass(frozen=True)
class PolicyCheck:
    """One threshold and what was found: outcome, sentences, the worst places."""

    rule: str
    threshold: Threshold
    said: RuleResult
    outcome: Outcome
    sentence: str
    remedy: str

    def to_json(self) -> dict[str, Any]:
        """Return the check as it stands in the document."""
        value = self.threshold.value
        return {
            "rule": self.rule,
            "title": RULES[self.rule].title,
            "threshold": list(value) if isinstance(value, tuple) else value,
            "source": self.threshold.source,
            "found": self.said.found,
            "outcome": self.outcome,
            "sentence": self.sentence,
            "remedy": self.remedy,
            "would_help": self.said.help if self.outcome not in {"met", "not applicable"} else "",
            "places": [dict(one) for one in self.said.places],
            "places_in_all": self.said.places_in_all,
        }


@dataclass(frozen=True)
class PolicyAssessment:
    """What a policy says of a release: the outcome of all checks together, the verdict, why in one sentence.

    `gives_away`: what is proved to be given away of single people, whatever the policy asks for (`fact`, `rows`,
    `sentence`).
    """

    policy: Policy
    outcome: Literal["met", "violated", "inconclusive"]
    verdict: Verdict
    sentence: str
    checks: tuple[PolicyCheck, ...]
    gives_away: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the `assessment` object of the document."""
        return {
            "policy": self.policy.to_json(),
            "outcome": self.outcome,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "checks": [one.to_json() for one in self.checks],
            "gives_away": [dict(one) for one in self.gives_away],
        }


def assess(
    facts: FactTable | Mapping[str, Any], policy: Policy, remedies: Sequence[Mapping[str, Any]] | None = None
) -> PolicyAssessment:
    """Return what a policy says of the facts of an audit, and whether one of the tried remedies would do.

    A threshold is violated only where the facts prove it: every value that the figure can still have violates it. It is
    met where every value meets it, else inconclusive, which `inconclusive = "violation"` in the policy counts as a
    violation. Verdicts: "release" (all met), "not assessed" (none violated, some inconclusive), "release with changes"
    (violated, and a remedy meets the policy, or only stored findings that can be taken out violate it), "do not
    release".
    `facts`: those of a report's document, or `FactTable`.
    """
    figures = facts if isinstance(facts, FactTable) else FactTable.of_json(facts)
    checks = tuple(check_threshold(figures, one, policy) for one in policy.thresholds)
    outcome: Any = all_of(one.outcome for one in checks)
    changes = "" if outcome != "violated" else _change_sentence(checks, remedies or ())
    verdict: Verdict = "release"
    if outcome == "violated":
        verdict = "release with changes" if changes else "do not release"
    elif outcome == "inconclusive":
        verdict = "not assessed"
    away = tuple(_given_away(figures))
    return PolicyAssessment(policy, outcome, verdict, _because(policy, verdict, checks, changes, away), checks, away)


def _given_away(facts: FactTable) -> Iterator[Mapping[str, Any]]:
    """Yield what is proved to be given away of single people: rows or labels in the file, people pinned, positions."""
    for one in [each for each in facts.others.get("stored") or () if each["level"] == "critical"][:PLACES]:
        where = f" at {quote(one['path'])}" if one.get("path") else ""
        text = f"Training rows, or their labels, are stored in the file{where}: {quote(one['what'])}."
        yield {"fact": "stored", "place": one.get("path") or "", "rows": None, "sentence": text}
    for key in ("most_pinned", "most_labels_by_position", "most_values_by_position"):
        rule, figure = RULES[key], facts[RULES[key].fact]
        if facts.status not in NO_WORLD and isinstance(figure, KnownFigure) and figure.low > 0:
            ends = [figure.low, figure.high]
            text = _worded(rule, interval_text(ends, rule.unit))
            yield {"fact": rule.fact, "place": "", "rows": ends, "sentence": f"{text[:1].upper()}{text[1:]}."}


def check_threshold(facts: FactTable, threshold: Threshold, policy: Policy) -> PolicyCheck:
    """Return the check of one threshold."""
    rule = RULES[threshold.key]
    said = rule.check(facts, rule, threshold.value)
    no_world = NO_WORLD.get(facts.status)
    if no_world and rule.of_worlds:
        said = RuleResult("inconclusive", "not known", said.asked, why=no_world)
    counted = said.outcome == "inconclusive" and policy.inconclusive == "violation"
    outcome: Outcome = "violated" if counted else said.outcome
    level = facts.confidence
    at = f"confidence {level_text(level)}" if level is not None and level < 1 and rule.of_worlds else ""
    sentence = _check_sentence(rule.key, said, threshold, at, counted)
    return PolicyCheck(rule.key, threshold, said, outcome, sentence, _remedy_sentence(rule, outcome, said, facts))


def _change_sentence(checks: Iterable[PolicyCheck], remedies: Sequence[Mapping[str, Any]]) -> str:
    """Return what would make a release meet the policy, in words; "" where nothing is known to."""
    if (best := least_loss(remedies)) is not None:
        command = f" ({quote(best['command'])})" if best.get("command") else ""
        return f"{quote(best['remedy'])}{command}"
    bad = [one for one in checks if one.outcome not in {"met", "not applicable"}]
    if bad and all(one.rule == "stored" and one.said.outcome == "violated" and one.said.removable for one in bad):
        return "taking out what it stores beside the model (recon inspect FILE --strip OUT)"
    return ""


def _because(
    policy: Policy,
    verdict: Verdict,
    checks: Sequence[PolicyCheck],
    changes: str,
    away: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return why the verdict is what it is, in one sentence."""
    name, many = quote(policy.name), len(checks)
    if verdict == "release":
        text = f"All {many} thresholds of the policy {name} are met" if many > 1 else f"The policy {name} is met"
        more = f" (and {len(away) - 1:,} more)" if len(away) > 1 else ""
        return f"{text}, but the file reveals people: {away[0]['sentence']}{more}" if away else f"{text}."
    kind = "inconclusive" if verdict == "not assessed" else "violated"
    bad = [one for one in checks if one.outcome == kind]
    listed = ", ".join(RULES[one.rule].title.lower() for one in bad)
    if verdict == "not assessed":
        which = _of_all(len(bad), many)
        which = f"{which[:1].upper()}{which[1:]}"
        reason = next((f": {one.said.why}" for one in bad if one.said.why), "")
        return f"{which} of the policy {name} {'is' if len(bad) == 1 else 'are'} open ({listed}){reason}."
    text = f"The release violates {_of_all(len(bad), many)} of the policy {name} ({listed})"
    if changes:
        return f"{text}; this change meets the policy: {changes}."
    first = _asked_text(bad[0].rule, bad[0].said, conditions=False)
    return f"{text}: {first[:1].lower()}{first[1:]}."


def _of_all(some: int, many: int) -> str:
    """Return how many thresholds of all in words."""
    if many == 1:
        return "the one threshold"
    return f"all {many} thresholds" if some == many else f"{some} of {many} thresholds"


def least_loss(remedies: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the remedy that meets the policy at the least loss, None where none does.

    First what leaves the model as it is (stored data taken out), then what a command of recon does (the fewest merges),
    then rounded counts, then all else, counts dropped last; of these the most accurate (unknown last), then the one
    that leaves the fewest bits per person, which keeps most of the model; then the first.
    """
    met = [one for one in remedies if one.get("outcome") == "met" and one.get("kind") != AS_PUBLISHED]
    return min(met, key=_loss, default=None)


def _loss(remedy: Mapping[str, Any]) -> tuple[int, float, float]:
    """Return what a remedy costs, to compare: how much of the model changes, accuracy lost, how little is left."""
    accuracy = remedy.get("accuracy")
    bits = remedy.get("bits_left_per_person")
    least = bits[0] if bits and bits[0] is not None else math.inf
    rank = LOSS.get(str(remedy.get("kind")), DONE_BY_RECON if remedy.get("command") else OTHERWISE)
    return rank, 1.0 if accuracy is None else -float(accuracy), least


def _check_sentence(rule: str, said: RuleResult, threshold: Threshold, at: str, counted: bool) -> str:
    """Return one sentence: what was found where, what the policy asks for, by which source.

    `at`: the confidence in words, "" where the figures are certain. `counted`: it is open, which counts as violated.
    """
    text = _asked_text(rule, said)
    if at and said.found not in NOT_FOUND and said.outcome != "not applicable":
        text = f"At {at}: {text[:1].lower()}{text[1:]}"
    source = quote(threshold.source, 1000)
    text += f" (source: {source})" if source else f" (set in {quote(threshold.set_in)})"
    text += f"; this assumes that {said.assumes}" if said.assumes else ""
    if said.outcome == "inconclusive":
        text += f"; this is open{f': {said.why}' if said.why else ''}"
        text += ", and the policy counts what is open as a violation" if counted else ""
    return text + "."


def _asked_text(rule: str, said: RuleResult, conditions: bool = True) -> str:
    """Return what was found, with the worst place (and its condition), beside what the policy asks for."""
    if said.outcome == "not applicable" or said.found in NOT_FOUND:
        return f"{RULES[rule].title}: {said.found}, the policy asks for {said.asked}"
    text = _worded(RULES[rule], said.found)
    if said.places and said.outcome != "met":
        text += f" ({_worst_place(said, conditions)})"
    return f"{text[:1].upper()}{text[1:]}, the policy asks for {said.asked}"


def _worded(rule: PolicyRule, found: str) -> str:
    """Return what was found as the beginning of a sentence, in the singular where it is one."""
    text = rule.subject.format(found=found)
    if found.split()[-2:-1] == ["1"]:
        for many, one in ONE.items():
            text = text.replace(many, one)
    return text


def _worst_place(said: RuleResult, conditions: bool) -> str:
    """Return the worst place in words, and how many more there are."""
    first = said.places[0]
    where = f": {short_condition(first['where'])}" if first["where"] and conditions else ""
    rows = f", {interval_text(first['rows'], 'row')}" if first["rows"] is not None else ""
    more = f"; {said.places_in_all - 1:,} more" if said.places_in_all > 1 else ""
    return f"{quote(first['name'])}{where}{rows}{more}"


def _remedy_sentence(rule: PolicyRule, outcome: Outcome, said: RuleResult, facts: FactTable) -> str:
    """Return what to do about a check in one sentence, "" where nothing is to be done."""
    if outcome in {"met", "not applicable"}:
        return ""
    if said.outcome == "inconclusive":
        return HELPS[said.help]
    why = facts.others.get("no_merging")
    if why == CELLS and MERGING in rule.remedy:
        return HIDING
    return RETRAIN.format(why=quote(why, 200)) if why and MERGING in rule.remedy else rule.remedy
