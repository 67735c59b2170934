"""Holds a document against another policy: its facts anew, and each remedy by the figures that it has of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recon.policies.assessing import AS_PUBLISHED, assess

if TYPE_CHECKING:
    from recon.policies.policy import Policy

FIGURES = ("pinned", "bits_left_per_person", "least_bits_left", "smallest_group")
SAME_COUNTS = ("merge", "depth")  # remedies after which counts are of the kinds that they were
OTHERS = ("smallest_cell", "target_disclosure", "kinds_of_counts", "stored", "profiles")
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
    disclosed = remedy.get("class_disclosed_rows")
    figures: dict[str, Any] = {
        "status": remedy.get("status") or "unknown",
        "confidence": facts.get("confidence"),
        "rows": facts.get("rows"),
        **{key: remedy.get(key) for key in FIGURES},
        "class_disclosure": None if disclosed is None else {"rows": disclosed, "groups": [], "groups_in_all": 0},
        "kinds_of_counts": facts.get("kinds_of_counts") if remedy.get("kind") in SAME_COUNTS else None,
        "stored": None,
        "stored_inspected": False,
        "not_known": dict.fromkeys(OTHERS, NOT_KEPT),
        "not_applicable": {
            key: why for key, why in (facts.get("not_applicable") or {}).items() if remedy.get(key) is None
        },
    }
    return assess(figures, policy).outcome
