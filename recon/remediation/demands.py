"""What a policy demands that merging groups can repair, as plain thresholds; and the figures held against them.

Figures are those of an audit, without its slow questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from encoders.encode.encoder import EncodedRelease
from recon.answers.counting import convention_of
from recon.auditing.auditing import by_position, group_disclosure
from recon.auditing.facts import facts_of, nothing_known
from recon.auditing.findings import Findings
from recon.loading.settled import as_released
from recon.measures.figures import empty
from recon.measures.measures import measure
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.questions.answers import CountAnswer

Meets = Literal["met", "violated", "inconclusive"]
GROUPS = 10_000  # that are listed
Facts = dict[str, Any]
SHOWN = ("pinned", "bits_left_per_person", "least_bits_left", "smallest_group", "smallest_cell", "class_disclosure")
WORDS = {
    "smallest_group": "rows of the smallest group",
    "smallest_cell": "rows of one class in a group",
    "least_bits_left": "bits left about the most exposed person",
    "class_disclosure": "rows in groups of one class only",
    "most_pinned": "people pinned down exactly",
    "mean_bits_left": "bits left per person on average",
}


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
        found = ((name, getattr(self, name)) for name in WORDS)
        return [(name, value) for name, value in found if value is not None]


def demands_of(policy: Any) -> Demands:
    """Return what a policy demands of groups, people and bits.

    `policy`: a policy, or a mapping with the keys of a policy file, whose entries may be values or tables with `value`.
    """
    if isinstance(policy, Demands):
        return policy
    return Demands(
        smallest_group=whole_number(entry_of(policy, "smallest_group")),
        smallest_cell=whole_number(entry_of(policy, "smallest_cell")),
        least_bits_left=number(entry_of(policy, "least_bits_left")),
        class_disclosure=largest(entry_of(policy, "class_disclosure")),
        most_pinned=whole_number(entry_of(policy, "most_pinned")),
        mean_bits_left=number(entry_of(policy, "mean_bits_left")),
    )


def entry_of(policy: Any, name: str) -> Any:
    """Return the value of an entry, None where the policy has none."""
    found = policy.get(name) if isinstance(policy, Mapping) else getattr(policy, name, None)
    if isinstance(found, Mapping):
        return found.get("value")
    return getattr(found, "value", found)


def whole_number(value: Any) -> int | None:
    """Return a threshold of rows."""
    return None if value is None else int(value)


def number(value: Any) -> float | None:
    """Return a threshold of bits."""
    return None if value is None else float(value)


def largest(value: Any) -> int | None:
    """Return the most rows that a word or a number allows, None where all are."""
    if value is None or value == "allowed":
        return None
    return 0 if value == "forbidden" else int(value)


def outcomes(facts: Mapping[str, Any], demands: Demands) -> dict[str, Meets]:
    """Return what intervals of figures say of every rule: met or violated whatever the truth in them, else open."""
    disclosed = facts.get("class_disclosure")
    found = {
        "smallest_group": facts.get("smallest_group"),
        "smallest_cell": facts.get("smallest_cell"),
        "least_bits_left": facts.get("least_bits_left"),
        "class_disclosure": None if disclosed is None else disclosed["rows"],
        "most_pinned": facts.get("pinned"),
        "mean_bits_left": facts.get("bits_left_per_person"),
    }
    no_one = facts.get("rows") is not None and facts["rows"][1] == 0
    elsewhere = facts.get("not_applicable") or {}
    out: dict[str, Meets] = {}
    for name, threshold in demands.named:
        ends = found[name]
        if ends is None:
            out[name] = "met" if no_one or name in elsewhere else "inconclusive"
        elif name in {"class_disclosure", "most_pinned"}:
            out[name] = at_most(ends, threshold)
        else:
            out[name] = at_least(ends, threshold)
    return out


def at_least(ends: Any, threshold: float) -> Meets:
    """Return whether a figure between two ends is at least a threshold."""
    low, high = ends
    if low >= threshold:
        return "met"
    return "violated" if high is not None and high < threshold else "inconclusive"


def at_most(ends: Any, threshold: float) -> Meets:
    """Return whether a figure between two ends is at most a threshold."""
    low, high = ends
    if high is not None and high <= threshold:
        return "met"
    return "violated" if low > threshold else "inconclusive"


def together(found: Mapping[str, Meets]) -> Meets:
    """Return the outcome of several rules: violated where one is, else inconclusive where one is."""
    values = set(found.values())
    return "violated" if "violated" in values else "inconclusive" if "inconclusive" in values else "met"


def unmet(found: Mapping[str, Meets], demands: Demands) -> list[str]:
    """Return the rules that are not met, in words with their thresholds."""
    wanted = dict(demands.named)
    most = {"class_disclosure", "most_pinned"}
    return [
        f"{WORDS[name]}: {'at most' if name in most else 'at least'} {wanted[name]:g} wanted ({name})"
        for name, outcome in found.items()
        if outcome != "met"
    ]


def figures_of(release: EncodedRelease, limits: Limits, placed: bool = True) -> Facts:
    """Return the figures of a release as `recon.auditing.facts.facts_of` has them, in their keys.

    What takes longest in an audit is not asked for: certificates, suppressed cells, what files store (`stored` is
    empty). Bits are of datasets without an order of rows. `placed`: with what follows for the row at every position.
    What is not known within the limits is None, with the reason. Cost: that of `measure` and of placing rows, where
    they have positions; of one tree linear in its leaves.
    """
    groups = group_disclosure(as_released(release))
    try:
        rows = by_position(release, limits) if placed else None
        found = Findings(release, measure(release, "multiset", limits), groups, positions=rows)
    except EmptyConfidenceSet as error:
        none = empty(release, convention_of(release, "multiset"), CountAnswer("unsat"))
        return facts_of(Findings(release, none, groups)) | {"status": "empty", "note": str(error)}
    except (Inconclusive, TooLarge, Unsupported) as error:
        return nothing_known((), str(error))
    return facts_of(found)


def shown_facts(facts: Mapping[str, Any]) -> Facts:
    """Return the figures without their lists of groups: `class_disclosure` is the interval of its rows."""
    disclosed = facts.get("class_disclosure")
    rows = None if disclosed is None else disclosed["rows"]
    return {key: facts.get(key) for key in (*SHOWN, "status")} | {"class_disclosure": rows}
