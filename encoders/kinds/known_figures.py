"""What an adversary knows of counts: the same statements as a table of published figures makes."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Position
from encoders.kinds.table import TableEncoder
from encoders.models.adversary import KnownFigures
from encoders.parts.base import CutDomain, Encoder, Resolutions
from solvers.statements.release import Block, RowCount


class KnownFiguresEncoder(Encoder[KnownFigures]):
    """Figures that nobody published: everything is asked of the encoder of tables."""

    def check(self, model: KnownFigures, domain: Domain, place: str) -> None:
        """Refuse what a table would be refused for."""
        TableEncoder().check(model.table, domain, place)

    def conditions(self, model: KnownFigures, place: str) -> list[tuple[Condition, str]]:
        """Return the condition of every figure."""
        found = TableEncoder().conditions(model.table, place)
        names = [f"{figure.name}.where" for figure in model.table.statements]
        return [(one, names[i] if i < len(names) else at) for i, (one, at) in enumerate(found)]

    def further_cuts(self, model: KnownFigures, domain: Domain) -> Mapping[int, set[Position]]:
        """Return where means, totals and medians cut attributes."""
        return TableEncoder().further_cuts(model.table, domain)

    def total(self, model: KnownFigures) -> int | None:
        """Return the number of everybody where a figure says it."""
        return TableEncoder().total(model.table)

    def blocks(
        self, model: KnownFigures, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return the statements."""
        return TableEncoder().blocks(model.table, cut, resolved, rows, place)
