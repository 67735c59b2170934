"""What a policy demands that merging groups can repair, as plain thresholds; and the figures held against them.

Figures are those of an audit, without its slow questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.counting import convention_of
from recon.queries.measures.figures import empty
from recon.queries.measures.measures import measure
from recon.readers.loading.settled import as_released
from recon.release.auditing.auditing import by_position, group_disclosure
from recon.release.auditing.facts import facts_of, nothing_known
from recon.release.auditing.findings import AuditFindings
from recon.release.auditing.together import judged_together
from recon.release.policies.checks import Outcome, all_of
from recon.release.policies.facts import FactTable, KnownFigure
from recon.release.policies.rules import RULES
from solvers.foundation.displayed import text
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer

Meets = Outcome
Figures = dict[str, Any]
MERGED = {key: one for key, one in RULES.items() if one.merged}  # the rules that merging groups can repair


@dataclass(frozen=True, slots=True)
class Demands:
    """Thresholds in rows, people and bits; None: no such rule. `class_disclosure`: the most rows in pure groups."""

    smallest_group: int | None = None
    smallest_cell: int | None = None
    least_bits_left: float | None = None
    class_disclosure: int | None = None
    most_pinned: int | None = None
    mean_bits_left: float | None = None

    @property
    def sized(self) -> bool:
        """Return whether some rule asks how many different rows fit a group."""
        return any(x is not None for x in (self.least_bits_left, self.most_pinned, self.mean_bits_left))

    @property
    def named(self) -> list[tuple[str, float]]:
        """Return the rules that there are, with their thresholds."""
        found = ((name, getattr(self, name)) for name in MERGED)
        return [(name, value) for name, value in found if value is not None]


def demands_of(policy: Any) -> Demands:
    """Return what a policy demands of groups, people and bits.

    `policy`: a policy, or a mapping with the keys of a policy file, whose entries may be values or tables with `value`.
    """
    if isinstance(policy, Demands):
        return policy
    return Demands(**{key: _limit(_entry_of(policy, key)) for key in MERGED})


def _entry_of(policy: Any, name: str) -> Any:
    """Return the value of an entry, None where the policy has none."""
    found = policy.get(name) if isinstance(policy, Mapping) else getattr(policy, name, None)
    if isinstance(found, Mapping):
        return found.get("value")
    return getattr(found, "value", found)


def _limit(value: Any) -> Any:
    """Return a threshold as a number; None where there is none, or a word allows everything."""
    return {"allowed": None, "forbidden": 0}[value] if isinstance(value, str) else value


def outcomes(facts: Mapping[str, Any], demands: Demands) -> dict[str, Meets]:
    """Return what figures say of every rule: met or violated whatever the truth in them, else open."""
    figures = FactTable.of_json(facts)
    said = {key: MERGED[key].check(figures, MERGED[key], threshold).outcome for key, threshold in demands.named}
    return {key: "met" if outcome == "not applicable" else outcome for key, outcome in said.items()}


def combined_outcome(found: Mapping[str, Meets]) -> Meets:
    """Return the outcome of several rules: violated where one is, else inconclusive where one is."""
    return all_of(found.values())


def unmet(found: Mapping[str, Meets], demands: Demands) -> list[str]:
    """Return the rules that are not met, in words with their thresholds."""
    wanted = dict(demands.named)
    return [
        f"{MERGED[key].merged}: {MERGED[key].direction} {shown_threshold(wanted[key])} wanted ({key})"
        for key, outcome in found.items()
        if outcome != "met"
    ]


def shown_threshold(threshold: float) -> str:
    """Return a threshold in words: a whole number in its digits, however many, so far as a sentence has room."""
    return text(threshold) if isinstance(threshold, int) else f"{threshold:g}"


def figures_of(release: EncodedRelease, limits: Limits, demands: Demands, placed: bool = True) -> Figures:
    """Return the figures of a release as `recon.release.auditing.facts.facts_of` has them, in their keys.

    What takes longest in an audit is not asked for: certificates, suppressed cells, what files store (`stored` is
    empty). Bits are of datasets without an order of rows; groups are searched for as the demands need it. `placed`:
    with what follows for the row at every position. What is not known within the limits is None, with the reason. Cost:
    that of `measure` and of placing rows, where they have positions; of one tree linear in its leaves.
    """
    groups = group_disclosure(as_released(release))
    try:
        rows = by_position(release, limits) if placed else None
        found = AuditFindings(release, measure(release, "multiset", limits), groups, positions=rows)
    except EmptyConfidenceSet as error:
        none = empty(release, convention_of(release, "multiset"), CountAnswer("unsat"))
        return facts_of(AuditFindings(release, none, groups)).to_json() | {"status": "empty", "note": str(error)}
    except (Inconclusive, TooLarge, Unsupported) as error:
        return nothing_known((), str(error), "limits").to_json()
    if found.measures.status != "unsat":
        found = replace(found, together=judged_together(release, dict(demands.named), limits))
    return facts_of(found).to_json()


def shown_facts(facts: Mapping[str, Any]) -> Figures:
    """Return the figures that merging changes without their lists of groups, each [least, most], and the status."""
    read = FactTable.of_json(facts)
    found = {one.fact: read[one.fact] for one in MERGED.values()}
    ends = {key: [one.low, one.high] if isinstance(one, KnownFigure) else None for key, one in found.items()}
    return ends | {"status": facts.get("status")}
