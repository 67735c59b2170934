"""What an engine is: one way to answer questions, and the refusals that several engines share."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal

from solvers.foundation.errors import Unsupported, installing
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import Answer, LocatedAnswer, no_world_reason
from solvers.statements.questions.query import Query
from solvers.statements.release import Loose, Partition, Release


def relaxed_answer(release: Release, query: Query, found: Answer, unstated: tuple[str, ...] | None = None) -> Answer:
    """Return what an engine's answer proves about the worlds of a loosened release (`Answer.relaxed`).

    `unstated`: what the engine does not use (None: all that the release's blocks leave out). Raises `Unsupported` for
    worlds, and shares of worlds, that were asked for themselves.
    """
    unstated = release.unstated if unstated is None else unstated
    if found.status in {"unsat", "unknown"}:
        return found
    if isinstance(found, LocatedAnswer):  # what holds in more worlds holds in the true ones
        return found
    return replace(found, status="bounds", trail=(*found.trail, *unstated)).relaxed(release, query)


def unanswered(query: Query, engine: str) -> Unsupported:
    """Return the refusal of a kind of question that an engine does not know, which it names."""
    return Unsupported(f"a question of the kind {type(query).__name__} is not answered by {engine}")


COARSE = "an attribute whose values are summed has too many values to cut at each: worlds are bounded, not built"

FEW_CELLS = "the cells are few enough for engines that know them all"


class Engine(ABC):
    """One way to answer questions. Capabilities are data on the class; a refusal always carries its reason."""

    name: ClassVar[str]
    answers: ClassVar[tuple[type, ...]]  # the kinds of question
    needs: ClassVar[tuple[str, ...]] = ()  # importable packages
    extra: ClassVar[str] = "solvers"  # the extra that installs them
    about: ClassVar[str] = ""
    cells: ClassVar[Literal["few", "many", "any"]] = "any"  # few: it lists all cells; many: only where nobody can
    coarse: ClassVar[bool] = True  # answers where statements on sums were relaxed too, and propagation refutes nothing

    uses_leaf_values: ClassVar[bool] = False  # its worlds agree with leaf values (`Release.boosted`), not blocks alone
    uses_bags: ClassVar[bool] = False  # its worlds agree with bags that are known (`Release.bags`), not blocks alone

    @abstractmethod
    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why this engine does not answer, or None."""

    @abstractmethod
    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return the answer; limits end in a status, not in an exception."""

    @classmethod
    def missing(cls) -> str | None:
        """Return which package is not installed and how to get it, or None."""
        for package in cls.needs:
            if importlib.util.find_spec(package) is None:
                return f"{package} is not installed: {installing(cls.extra)}"
        return None


def no_coupling(release: Release, query: Query) -> str | None:
    """Return why no engine over cells of several blocks answers, None where they may."""
    if release.rows.high is None:
        return "the number of rows is unbounded"
    if getattr(query, "convention", None) == "assigned":
        return "'assigned' worlds need one partition with exact counts"
    if release.domain.relative and query.lists_worlds:
        return "a continuous attribute has no 'resolution': there are no discrete worlds"
    return None


def not_searched(release: Release) -> str | None:
    """Return why no search over rows evaluates all that a release says, None where it can."""
    if release.loosened:
        return no_world_reason(release)
    if any(not isinstance(block, Partition | Loose) for block in release.blocks):
        return "statements of which only one holds are not searched for"
    if any(statement.region is None for block in release.loose.values() for statement in block):
        return "sums of values are not searched for"
    return None
