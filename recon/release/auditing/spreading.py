"""Questions of an audit that do not wait for each other: asked here, or on as many processes as there are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import pandas as pd
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from recon.readers.frames.naming import named_like
from recon.readers.frames.selections import raw_indices, whole_rows
from recon.readers.frames.world import demand_attributes
from recon.readers.loading.settled import Travelling
from recon.release.auditing.matching import Chance
from solvers.foundation.limits import Limits
from solvers.foundation.parallel.opening import running
from solvers.foundation.parallel.pieces import STARTING, completed_with


@dataclass(frozen=True)
class AuditContext:
    """What the questions of one audit start from; it travels once to every process.

    `truth` are the true rows, `population` other rows of the same kind, as users give them (None: not given). Their
    indices are worked out where they are needed, once.
    """

    about: Travelling
    truth: pd.DataFrame | None = None
    population: pd.DataFrame | None = None
    seed: int = 0

    @property
    def release(self) -> EncodedRelease:
        """Return the release with what its leaf values prove."""
        return self.about.release

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Return the true rows by the names of the domain; `ReleaseError` where they leave an attribute out."""
        assert self.truth is not None
        found = whole_rows(named_like(self.truth, self.release.domain)[0], self.release.domain)
        demand_attributes(self.release, found)  # whoever asks first for them says so, in the same words
        return found

    @cached_property
    def real(self) -> NDArray[Any]:
        """Return the value indices of the true rows."""
        return raw_indices(self.release.domain, self.rows)

    @cached_property
    def chance(self) -> Chance:
        """Return what is right without the release."""
        people, domain = self.population, self.release.domain
        drawn = None if people is None else raw_indices(domain, named_like(people, domain)[0])
        return Chance(self.real, [a.total for a in self.release.cut.solver.attributes], drawn, seed=self.seed)


K = TypeVar("K", bound=Hashable)
Question = tuple[Callable[[AuditContext, Any, Limits], Any], Any]  # a function of a module, and what it is given


def _one(asked: AuditContext, question: Question, limits: Limits) -> Any:
    """Return the answer to one question."""
    function, given = question
    return function(asked, given, limits)


class Turn:
    """Asks the questions of one audit; as long as they take no time no process is started for them.

    `large`: they will take time, so that they are handed out at once.
    """

    def __init__(self, asked: AuditContext, limits: Limits, large: bool = False) -> None:
        self.asked, self.limits, self.alone = asked, limits, 0.0 if large else STARTING

    def answers(self, questions: Mapping[K, Question], what: str, needed: bool = True) -> dict[K, Any]:
        """Return the answers to questions by their names; they are handed out in their order.

        Those that limits left out are asked here when the others are done, and say themselves what they can within no
        time; they have no answer where they are not `needed`.
        """
        names, pieces = list(questions), list(questions.values())
        alone = 0.0 if running(self.limits) else self.alone
        found = {names[k]: x for k, x in completed_with(self.asked, _one, pieces, self.limits, what=what, alone=alone)}
        if needed:
            found.update((name, _one(self.asked, questions[name], self.limits)) for name in names if name not in found)
        return found
