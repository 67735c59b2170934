"""Holds a document against another policy: its facts anew, and each remedy by the figures that it has of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recon.release.policies.assessing import AS_PUBLISHED, assess
from recon.release.policies.rules import RULES

if TYPE_CHECKING:
    from recon.release.policies.policy import Policy

SAME_COUNTS = ("merge", "depth")  # remedies after which counts are of the kinds that they were
NOT_KEPT = "the result of the audit does not hold this figure of a remedy: audit again with --policy and --remedies"


def reassessed(document: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """Return the document with the assessment by this policy, and with its outcome of every remedy.

    Of a remedy the document has some figures only: it meets the policy where these prove it, and is "inconclusive"
    where the policy asks for another one. What an earlier policy said of it counts for nothing.
    """
    facts, remedies = document["facts"], document.get("remedies")
    if remedies is not None:
        remedies = [one | {"outcome": outcome_of(one, facts, policy)} for one in remedies]
    found = assess(facts, policy, remedies)
    return dict(document) | {"assessment": found.to_json(), "remedies": remedies}


def outcome_of(remedy: Mapping[str, Any], facts: Mapping[str, Any], policy: Policy) -> str:
    """Return what a policy says of a remedy: "met", "violated" or "inconclusive"."""
    if remedy.get("kind") == AS_PUBLISHED:
        return assess(facts, policy).outcome
    columns = {one.fact: one.column for one in RULES.values() if one.column}
    figures: dict[str, Any] = {key: remedy.get(column) for key, column in columns.items()}
    figures["class_disclosure"] = figures["class_disclosure"] and {"rows": figures["class_disclosure"]}
    figures |= {
        "status": remedy.get("status") or "unknown",
        "confidence": facts.get("confidence"),
        "rows": facts.get("rows"),
        "kinds_of_counts": facts.get("kinds_of_counts") if remedy.get("kind") in SAME_COUNTS else None,
        "not_known": {one.fact: NOT_KEPT for one in RULES.values() if not one.column},
        "not_applicable": {
            key: why for key, why in (facts.get("not_applicable") or {}).items() if figures.get(key) is None
        },
    }
    return assess(figures, policy).outcome
