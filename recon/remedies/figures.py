"""Figures of a release that a policy looks at, as an audit has them, without its slow questions: before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from solvers.questions.query import CountAnswer

Facts = dict[str, Any]
SHOWN = ("pinned", "bits_left_per_person", "least_bits_left", "smallest_group", "smallest_cell", "class_disclosure")


def figures_of(release: EncodedRelease, limits: Limits) -> Facts:
    """Return the figures of a release as `recon.auditing.facts.facts_of` has them, in their keys.

    What takes longest in an audit is not asked for: certificates, suppressed cells, what files store (`stored` is
    empty). Bits are of datasets without an order of rows. What is not known within the limits is None, with the reason.
    Cost: that of `measure` and, where rows have positions, of placing them; of one tree linear in its leaves.
    """
    groups = group_disclosure(as_released(release))
    try:
        placed = by_position(release, limits)
        found = Findings(release, measure(release, "multiset", limits), groups, positions=placed)
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
