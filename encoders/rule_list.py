"""A rule list as a partition: rule j captures its antecedent minus the earlier ones.

Source: Ferry et al., SaTML 2024, eq. 12-16.
"""

from __future__ import annotations

from encoders.domain import Condition, Domain
from encoders.encoder import CutDomain, Encoder, Supports, check_support, partition
from encoders.models import RuleList
from encoders.tree import check_label
from encoders.values import Ranges
from solvers.errors import ReleaseError
from solvers.release import ANY_LABEL, UNBOUNDED, Block, Box, Rows

DEFAULT = "default rule"


def has_default(model: RuleList) -> bool:
    """Tell whether the last rule has an empty condition."""
    return bool(model.rules) and not model.rules[-1].condition


class KindEncoder(Encoder[RuleList]):
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
        return sum(r.support.total or 0 for r in model.rules) if has_default(model) else None

    def blocks(
        self, model: RuleList, cut: CutDomain, resolved: list[dict[int, Ranges]], rows: Rows | None
    ) -> tuple[Block, ...]:
        """Return the antecedents in order; a missing default rule is added with what `rows` leaves."""
        boxes = [cut.box(r) for r in resolved]
        supports = Supports()
        for j, rule in enumerate(model.rules):
            supports.add(j, rule.support)
        names = [rule.name or f"rule {j}" for j, rule in enumerate(model.rules)]
        if has_default(model):
            names[-1] = model.rules[-1].name or DEFAULT
        else:
            low, high = left_over(model, rows)
            supports.between(len(boxes), ANY_LABEL, low, high)
            boxes.append(Box())
            names.append(DEFAULT)
        return (partition(model.name, boxes, supports, names, cut.domain, first_match=True),)


def left_over(model: RuleList, rows: Rows | None) -> tuple[int, int]:
    """Return how many rows the implicit default rule has; `ReleaseError` when fewer than none."""
    said = sum(rule.support.total or 0 for rule in model.rules)
    if rows is None or (rows.low == 0 and rows.high is None):
        raise ReleaseError("the last rule is not the default ('if': {}), so 'rows' must say how many rows there are")
    if rows.high is not None and rows.high < said:
        raise ReleaseError(f"rows is at most {rows.high}, but the rules' counts sum to {said}")
    return max(0, rows.low - said), UNBOUNDED if rows.high is None else rows.high - said
