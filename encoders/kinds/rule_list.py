"""A rule list as a partition: rule j captures its antecedent minus the earlier ones.

Source: Ferry et al., SaTML 2024, eq. 12-16.
"""

from __future__ import annotations

from encoders.domain.domain import Condition, Domain
from encoders.kinds.tree import check_label
from encoders.models.models import RuleList
from encoders.models.nodes import CountTable
from encoders.parts.base import CutDomain, Encoder, PartitionSupports, Resolutions, check_support, partition
from solvers.foundation.errors import ReleaseError
from solvers.statements.boxes import Box, Boxes
from solvers.statements.release import UNBOUNDED, Block, RowCount

DEFAULT = "default rule"


def _has_default(model: RuleList) -> bool:
    """Return whether the last rule has an empty condition."""
    return bool(model.rules) and not model.rules[-1].condition


class RuleListEncoder(Encoder[RuleList]):
    """Rule lists: exact class counts or plain counts per rule; the default's count may follow from `rows`."""

    def check(self, model: RuleList, domain: Domain, place: str) -> None:
        """Refuse rules without counts, and rules after one that captures everything left."""
        for i, rule in enumerate(model.rules):
            here = f"{place}.rules[{i}]"
            check_support(rule.support, domain, here)
            check_label(rule.condition, domain, here)
            if rule.support.total is None:
                raise ReleaseError("a rule needs 'counts' or 'count'", place=here)

    def conditions(self, model: RuleList, place: str) -> list[tuple[Condition, str]]:
        """Return every antecedent."""
        return [(rule.condition, f"{place}.rules[{i}].if") for i, rule in enumerate(model.rules)]

    def total(self, model: RuleList) -> int | None:
        """Return the number of rows in all rules, None when the default rule's count is not published."""
        return sum(r.support.total or 0 for r in model.rules) if _has_default(model) else None

    def least(self, model: RuleList) -> int:
        """Return the number of rows in the rules, the default rule included where its count is published."""
        return sum(r.support.total or 0 for r in model.rules)

    def blocks(
        self, model: RuleList, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return the antecedents in order; a missing default rule is added with what `rows` leaves."""
        boxes = [cut.box(resolved[rule.condition]) for rule in model.rules]
        supports = PartitionSupports.of(CountTable.of([rule.support for rule in model.rules]))
        names = [rule.name or f"rule {j}" for j, rule in enumerate(model.rules)]
        if _has_default(model):
            names[-1] = model.rules[-1].name or DEFAULT
        else:
            supports = supports.between(len(boxes), *_left_over(model, rows))
            boxes.append(Box())
            names.append(DEFAULT)
        return (partition(model.name, Boxes.of(boxes), supports, names, cut.domain, first_match=True),)


def _left_over(model: RuleList, rows: RowCount) -> tuple[int, int]:
    """Return how many rows the implicit default rule has; `ReleaseError` where nothing says how many rows there are."""
    if rows.low == 0 and rows.high is None:
        raise ReleaseError("the last rule is not the default ('if': {}), so 'rows' must say how many rows there are")
    stated = sum(rule.support.total or 0 for rule in model.rules)
    return max(0, rows.low - stated), UNBOUNDED if rows.high is None else rows.high - stated
