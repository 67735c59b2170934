"""The assessment: every threshold of a policy checked against the facts of an audit, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from recon.policies.intervals import Outcome, all_of
from recon.policies.policy import Policy, Threshold
from recon.policies.rules import CHECKS, Said
from recon.policies.wording import TITLES, asked_text, check_sentence, remedy_sentence
from solvers.foundation.escaping import named
from solvers.foundation.exact import level_text

Verdict = Literal["release", "release with changes", "do not release", "not assessed"]
AS_PUBLISHED = "as published"
DONE_BY_RECON, OTHERWISE = 1, 3  # what a command does, and what the model's makers have to do
LOSS = {"strip": 0, "rounded counts": 2, "counts": 4}  # the last says nothing of the classes that leaves still name
NO_WORLD = {
    "unsat": "the statements of the release contradict each other, so that no figure means anything",
    "empty": "no dataset fits the noisy counts at this confidence, so that no figure means anything",
}
OF_WORLDS = {  # checks of figures over the possible worlds: certain only as far as the worlds are
    "smallest_group", "smallest_cell", "most_pinned", "least_bits_left", "mean_bits_left", "class_disclosure",
    "target_disclosure", "profiles",
}  # fmt: skip


@dataclass(frozen=True)
class Check:
    """One threshold and what was found: outcome, sentences, the worst places."""

    rule: str
    threshold: Threshold
    said: Said
    outcome: Outcome
    sentence: str
    remedy: str

    def to_json(self) -> dict[str, Any]:
        """Return the check as it stands in the document."""
        value = self.threshold.value
        return {
            "rule": self.rule,
            "title": TITLES[self.rule],
            "threshold": list(value) if isinstance(value, tuple) else value,
            "source": self.threshold.source,
            "found": self.said.found,
            "outcome": self.outcome,
            "sentence": self.sentence,
            "remedy": self.remedy,
            "places": [dict(one) for one in self.said.places],
            "places_in_all": self.said.places_in_all,
        }


@dataclass(frozen=True)
class Assessment:
    """What a policy says of a release: the outcome of all checks together, the verdict, why in one sentence."""

    policy: Policy
    outcome: Literal["met", "violated", "inconclusive"]
    verdict: Verdict
    sentence: str
    checks: tuple[Check, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the `assessment` object of the document."""
        return {
            "policy": self.policy.to_json(),
            "outcome": self.outcome,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "checks": [one.to_json() for one in self.checks],
        }


def assess(facts: Mapping[str, Any], policy: Policy, remedies: Sequence[Mapping[str, Any]] | None = None) -> Assessment:
    """Return what a policy says of the facts of an audit, and whether one of the tried remedies would do.

    A threshold is violated only where the facts prove it: every value that the figure can still have violates it. It is
    met where every value meets it, else inconclusive, which `inconclusive = "violation"` in the policy counts as a
    violation. Verdicts: "release" (all met), "not assessed" (none violated, some inconclusive), "release with changes"
    (violated, and a remedy meets the policy, or only stored findings that can be taken out violate it), "do not
    release".
    """
    checks = tuple(checked(facts, one, policy) for one in policy.thresholds)
    outcome: Any = all_of(one.outcome for one in checks)
    changes = "" if outcome != "violated" else changed(checks, remedies or ())
    verdict: Verdict = "release"
    if outcome == "violated":
        verdict = "release with changes" if changes else "do not release"
    elif outcome == "inconclusive":
        verdict = "not assessed"
    return Assessment(policy, outcome, verdict, because(policy, verdict, checks, changes), checks)


def checked(facts: Mapping[str, Any], threshold: Threshold, policy: Policy) -> Check:
    """Return the check of one threshold."""
    rule = threshold.key
    said = CHECKS[rule](facts, threshold.value)
    no_world = NO_WORLD.get(facts.get("status") or "")
    if no_world and rule in OF_WORLDS:
        said = Said("inconclusive", "not known", said.asked, why=no_world)
    counted = said.outcome == "inconclusive" and policy.inconclusive == "violation"
    outcome: Outcome = "violated" if counted else said.outcome
    level = facts.get("confidence", 1.0)
    at = f"confidence {level_text(level)}" if level is not None and level < 1 and rule in OF_WORLDS else ""
    sentence = check_sentence(rule, said, threshold, at, counted)
    return Check(rule, threshold, said, outcome, sentence, remedy_sentence(rule, outcome, said))


def changed(checks: Iterable[Check], remedies: Sequence[Mapping[str, Any]]) -> str:
    """Return what would make a release meet the policy, in words; "" where nothing is known to."""
    if (best := least_loss(remedies)) is not None:
        command = f" ({named(best['command'])})" if best.get("command") else ""
        return f"{named(best['remedy'])}{command}"
    bad = [one for one in checks if one.outcome not in {"met", "not applicable"}]
    if bad and all(one.rule == "stored" and one.said.outcome == "violated" and one.said.removable for one in bad):
        return "taking out what it stores beside the model (recon inspect FILE --strip OUT)"
    return ""


def because(policy: Policy, verdict: Verdict, checks: Sequence[Check], changes: str) -> str:
    """Return why the verdict is what it is, in one sentence."""
    name, many = named(policy.name), len(checks)
    if verdict == "release":
        return f"All {many} thresholds of the policy {name} are met." if many > 1 else f"The policy {name} is met."
    kind = "inconclusive" if verdict == "not assessed" else "violated"
    bad = [one for one in checks if one.outcome == kind]
    listed = ", ".join(TITLES[one.rule].lower() for one in bad)
    if verdict == "not assessed":
        which = of_all(len(bad), many)
        which = f"{which[:1].upper()}{which[1:]}"
        reason = next((f": {one.said.why}" for one in bad if one.said.why), "")
        return f"{which} of the policy {name} {'is' if len(bad) == 1 else 'are'} open ({listed}){reason}."
    text = f"The release violates {of_all(len(bad), many)} of the policy {name} ({listed})"
    if changes:
        return f"{text}; this change meets the policy: {changes}."
    first = asked_text(bad[0].rule, bad[0].said)
    return f"{text}: {first[:1].lower()}{first[1:]}."


def of_all(some: int, many: int) -> str:
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
    return min(met, key=loss, default=None)


def loss(remedy: Mapping[str, Any]) -> tuple[int, float, float]:
    """Return what a remedy costs, to compare: how much of the model changes, accuracy lost, how little is left."""
    accuracy = remedy.get("accuracy")
    bits = remedy.get("bits_left_per_person")
    least = bits[0] if bits and bits[0] is not None else math.inf
    rank = LOSS.get(str(remedy.get("kind")), DONE_BY_RECON if remedy.get("command") else OTHERWISE)
    return rank, 1.0 if accuracy is None else -float(accuracy), least
