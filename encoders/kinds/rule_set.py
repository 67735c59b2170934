"""A rule set as loose statements: how many rows meet each rule, the rules may overlap.

Source: Lakkaraju, Bach, Leskovec, "Interpretable Decision Sets", KDD 2016 (rules without an order).
"""

from __future__ import annotations

from encoders.domain.domain import Condition, Domain
from encoders.models.models import RuleSet
from encoders.parts.base import CutDomain, Encoder, Resolutions, check_support, label_texts, numbered_names
from solvers.foundation.errors import ReleaseError
from solvers.statements.boxes import Box, Region
from solvers.statements.release import Block, Loose, RowCount, Statement


class RuleSetEncoder(Encoder[RuleSet]):
    """Rule sets: a count, or counts per class, of the rows that meet each rule."""

    def check(self, model: RuleSet, domain: Domain, place: str) -> None:
        """Refuse rules without counts."""
        for i, rule in enumerate(model.rules):
            check_support(rule.support, domain, f"{place}.rules[{i}]")
            if rule.support.total is None:
                raise ReleaseError("a rule needs 'counts' or 'count'", place=f"{place}.rules[{i}]")

    def conditions(self, model: RuleSet, place: str) -> list[tuple[Condition, str]]:
        """Return every antecedent."""
        return [(rule.condition, f"{place}.rules[{i}].if") for i, rule in enumerate(model.rules)]

    def total(self, model: RuleSet) -> None:
        """Return None: rows that meet no rule are not counted."""
        return

    def blocks(
        self, model: RuleSet, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return one statement per rule, or one per rule and class."""
        label, labels = len(cut.cuts) - 1, label_texts(cut.domain)
        names = numbered_names([rule.name or f"rule {i}" for i, rule in enumerate(model.rules)], "rule")
        out = []
        for rule, name in zip(model.rules, names, strict=True):
            box, source = cut.box(resolved[rule.condition]), f"{model.name}, {name}"
            if rule.support.count is not None:
                out.append(Statement.count(Region(box), int(rule.support.count), int(rule.support.count), source))
            for c, count in enumerate(rule.support.counts or ()):
                with_label = box & Box(((label, 1 << c),))
                out.append(Statement.count(Region(with_label), int(count), int(count), f"{source}, class {labels[c]}"))
        return (Loose(tuple(out)),) if out else ()
