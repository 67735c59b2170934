"""What a known learner's rule says of the training rows as statements: loose ones, and a choice per open fact.

Source: scikit-learn, tree/_splitter.pyx and tree/_tree.pyx; docs/mathematics.md, "Facts of a known learner".
"""

from __future__ import annotations

from collections.abc import Mapping

from encoders.domain.domain import Domain
from encoders.domain.values import Position
from encoders.models.learner_facts import GroupCount, LearnerFacts
from encoders.parts.base import CutDomain, Encoder, Resolutions
from solvers.statements.boxes import Region
from solvers.statements.release import UNBOUNDED, Block, Choice, Loose, RowCount, Statement


class LearnerFactsEncoder(Encoder[LearnerFacts]):
    """Facts of a known learner: counts of groups of rows, and choices between several."""

    def check(self, model: LearnerFacts, domain: Domain, place: str) -> None:
        """Refuse nothing: facts are worked out from a release, never read."""

    def total(self, model: LearnerFacts) -> None:
        """Return None: facts do not say how many rows there are."""

    def further_cuts(self, model: LearnerFacts, domain: Domain) -> Mapping[int, set[Position]]:
        """Return the ends of all groups."""
        out: dict[int, set[Position]] = {}
        for fact in model.facts:
            for alternative in fact.alternatives:
                for one in alternative:
                    domain.cut_points(dict(one.where), out)
        return out

    def assumes(self, model: LearnerFacts) -> tuple[str, ...]:
        """Return which learners are known, and what was left out."""
        return model.notes

    def blocks(
        self, model: LearnerFacts, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return the facts with one reading as one block, and a choice per fact with several."""
        loose: list[Statement] = []
        choices: list[Choice] = []
        for fact in model.facts:
            readings = tuple(tuple(_statement(one, fact.name, cut) for one in a) for a in fact.alternatives)
            if len(readings) == 1:
                loose += readings[0]
            else:
                choices.append(Choice(readings, fact.name))
        return (*((Loose(tuple(loose)),) if loose else ()), *choices)


def _statement(one: GroupCount, name: str, cut: CutDomain) -> Statement:
    high = UNBOUNDED if one.high is None else one.high
    return Statement.count(Region(cut.box(dict(one.where))), one.low, high, f"{name}: {one.text}")
