"""A question as statements without bounds: they say nothing, but cut the cells where the question needs it.

Every cell then lies inside the group or outside, and has one value (one range of values, where an attribute has too
many) of every attribute that is asked about.
"""

from __future__ import annotations

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Position
from encoders.models.models import GroupQuestion
from encoders.parts.base import CutDomain, Encoder, Resolutions
from encoders.parts.statistics import numbers_of, numeric, value_cuts
from solvers.statements.boxes import Region
from solvers.statements.release import UNBOUNDED, Block, Loose, RowCount, Statement


class QuestionEncoder(Encoder[GroupQuestion]):
    """Questions: a count of the group, and per attribute the class of its numbers."""

    def check(self, model: GroupQuestion, domain: Domain, place: str) -> None:
        """Refuse names that are not numeric."""
        for name in model.of:
            numeric(domain, name)

    def conditions(self, model: GroupQuestion, place: str) -> list[tuple[Condition, str]]:
        """Return the group's condition."""
        return [(model.condition, "where")]

    def further_cuts(self, model: GroupQuestion, domain: Domain) -> dict[int, set[Position]]:
        """Return every value of the attributes (at most 2,000), and the ends of columns."""
        return value_cuts(domain, model.of)

    def total(self, model: GroupQuestion) -> None:
        """Return None: a question counts nothing."""
        return

    def blocks(
        self, model: GroupQuestion, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return the count of the group, then per attribute the number (from 1) of each row's class of parts."""
        region = Region(cut.box(resolved[model.condition]))
        out = [Statement.count(region, 0, UNBOUNDED, "the question")]
        for name in model.of:
            numbers = numbers_of(cut, name)
            numbers.refuse_missing(region.box, f"the question about {name}")
            classes: dict[tuple[int, int], int] = {}
            pairs = zip(numbers.least, numbers.greatest, strict=True)
            coefs = tuple(classes.setdefault(pair, len(classes) + 1) for pair in pairs)
            out.append(Statement.sum(region, -UNBOUNDED, UNBOUNDED, f"the question about {name}", numbers.of, coefs))
        return (Loose(tuple(out)),)


def class_numbers(cut: CutDomain, name: str) -> tuple[int, list[tuple[int, int]]]:
    """Return (scale, ranges): the least and greatest number of each class times scale, as `blocks` numbers them."""
    numbers = numbers_of(cut, name)
    return numbers.scale, list(dict.fromkeys(zip(numbers.least, numbers.greatest, strict=True)))
