"""What every kind of model has to offer: its conditions, its statements, its number of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Position
from encoders.parts.resolutions import CutDomain, Resolutions
from solvers.statements.bags import TreeBags
from solvers.statements.gradients.boosted import Boosted
from solvers.statements.release import Block, Observed, RowCount

M = TypeVar("M")


class Encoder(ABC, Generic[M]):
    """What each kind of model must tell: its conditions (to cut the domain) and its block."""

    @abstractmethod
    def check(self, model: M, domain: Domain, place: str) -> None:
        """Refuse a malformed model with `ReleaseError`, naming the place."""

    def conditions(self, model: M, place: str) -> Iterable[tuple[Condition, str]]:
        """Return every condition, at least once, with a place it stands at (of kinds without trees)."""
        return ()

    def resolve(self, model: M, domain: Domain, place: str, into: Resolutions) -> None:
        """Add the positions of every condition; `ReleaseError` naming the place for what the domain does not have."""
        into.add(self.conditions(model, place), domain)

    @abstractmethod
    def blocks(self, model: M, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str) -> tuple[Block, ...]:
        """Return the statements; `resolved` has the positions of every condition, `rows` what is known of them."""

    @abstractmethod
    def total(self, model: M) -> int | None:
        """Return the number of rows the model itself publishes, None where it leaves it open."""

    def observed(
        self, model: M, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> list[tuple[Block, Observed | None]]:
        """Return the blocks, each with the noisy figures behind it (None: exact)."""
        return [(block, None) for block in self.blocks(model, cut, resolved, rows, place)]

    def bags(self, model: M, blocks: Sequence[Block], first: int) -> tuple[TreeBags, ...]:
        """Return what trees on known resamples count; `blocks` are the model's own, numbered from `first`."""
        return ()

    def boosted(self, model: M, blocks: Sequence[Block], first: int) -> tuple[Boosted, ...]:
        """Return what leaf values say beside counts; `blocks` are the model's own, numbered from `first`."""
        return ()

    def least(self, model: M) -> int:
        """Return how many rows there are at least, by the model alone."""
        return self.total(model) or 0

    def further_cuts(self, model: M, domain: Domain) -> Mapping[int, set[Position]]:
        """Return positions per attribute where it is cut beyond the conditions (statistics of its values)."""
        return {}

    def assumes(self, model: M) -> tuple[str, ...]:
        """Return what every answer assumes about a model of this kind."""
        return ()

    def evidence(self, model: M, minimum: int) -> str:
        """Return why there are that many rows (`total`, `least`), as a clause that follows "but"."""
        return f"the counts sum to {minimum}"

    def loosens(self, model: M) -> tuple[str, ...]:
        """Return what the statements leave out of what the model publishes, so that more worlds meet them than it."""
        return ()
