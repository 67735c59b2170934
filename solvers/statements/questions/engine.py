"""What an engine is: one way to answer questions, and the refusals that several engines share.

What an answer over too many worlds is worth: `Release.unstated` says what was published and not stated.

The worlds of such statements are the true ones and others. No row, or some row, in all of them: so it is in the true
ones; numbers are outer bounds; a world, or a share of worlds, proves nothing. Where there is none, there is none.
"""

from __future__ import annotations

import importlib.util
import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from solvers.foundation.errors import Unsupported, installing
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import (
    Answer,
    CountAnswer,
    DecideAnswer,
    ExtremeAnswer,
    LeaveOneOutAnswer,
    LocatedAnswer,
    PerCellAnswer,
    ShareAnswer,
    settled_share,
)
from solvers.statements.questions.query import Enumerate, Extreme, MostLikely, Query, Sample
from solvers.statements.release import Loose, Partition, Release


def relaxed_answer(release: Release, query: Query, found: Answer, unstated: tuple[str, ...] | None = None) -> Answer:
    """Return what an engine's answer proves about the worlds of a loosened release.

    `unstated`: what the engine does not use (None: all that the release's blocks leave out). Raises `Unsupported` for
    worlds, and shares of worlds, that were asked for themselves.
    """
    unstated = release.unstated if unstated is None else unstated
    if found.status in {"unsat", "unknown"}:
        return found
    if isinstance(found, LocatedAnswer):  # what holds in more worlds holds in the true ones
        return found
    outer = replace(found, status="bounds", trail=(*found.trail, *unstated))
    if isinstance(outer, CountAnswer):
        return _upper_count(outer)
    if isinstance(outer, DecideAnswer):
        return _decided(outer)
    if isinstance(outer, ExtremeAnswer) and isinstance(query, Extreme):
        return _outer_extreme(outer, query, release.rows.high)
    if isinstance(outer, LeaveOneOutAnswer):
        return replace(outer, share=np.full(len(outer.share), np.nan))
    if isinstance(outer, ShareAnswer | PerCellAnswer):
        return outer
    raise Unsupported(unnamed(release))


def unnamed(release: Release) -> str:
    """Return why no world is given, what may be asked, and what to do."""
    return f"{no_world_reason(release)}; ask for counts, bounds or verdicts, or take that out{how(release)}"


def no_world_reason(release: Release) -> str:
    """Return why no world of a loosened release is given: which of the statements' datasets are worlds is not known."""
    unused = "; ".join(release.unstated)
    return f"no single dataset can be named: not all that fit are possible worlds, as something is not used ({unused})"


def how(release: Release) -> str:
    """Return how to take what is not used out of a file, where a command does."""
    bags = any("multiplicities" in line for line in release.unstated)
    return " (recon convert FILE --without-bags --out release.json)" if bags else " of the file"


def _upper_count(found: CountAnswer) -> CountAnswer:
    """Return the number of worlds as an upper bound: a true release has one world at least, an impossible one none."""
    none = found.bounds[1] == -math.inf
    return CountAnswer(
        "unsat" if none else found.status,
        convention=found.convention,
        bounds=(-math.inf if none or found.relative else 0.0, found.bounds[1]),
        relative=found.relative,
        engine=found.engine,
        seconds=found.seconds,
        trail=found.trail,
    )


def _decided(found: DecideAnswer) -> DecideAnswer:
    """Return bounds on numbers of rows; a row that some of the worlds have is neither possible nor impossible."""
    unsettled = (found.low <= 0) & (found.high > 0)
    return replace(
        found,
        open=found.open | unsettled,
        probability=settled_share(found.low, found.high),
        expected=np.where(found.low == found.high, found.low.astype(np.float64), np.nan),
    )


def _outer_extreme(found: ExtremeAnswer, query: Extreme, rows: int | None) -> ExtremeAnswer:
    """Return the outer end of an extreme; what no row can exceed stands at its inner end."""
    far = query.coefs.min(initial=0) if query.greatest else query.coefs.max(initial=0)
    inner = int(far) * (rows or 0)
    ends = (inner, found.bounds[1]) if query.greatest else (found.bounds[0], inner)
    return replace(found, bounds=ends, histogram=None, world=None)


COARSE = "an attribute whose values are summed has too many values to cut at each: worlds are bounded, not built"

FEW_CELLS = "the cells are few enough for engines that know them all"


class Engine(ABC):
    """One way to answer questions. Capabilities are data on the class; a refusal always carries its reason."""

    name: ClassVar[str]
    answers: ClassVar[tuple[type, ...]]  # the kinds of question
    needs: ClassVar[tuple[str, ...]] = ()  # importable packages
    extra: ClassVar[str] = ""  # the extra that installs them
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
    if release.domain.relative and isinstance(query, Enumerate | Sample | MostLikely):
        return "a continuous attribute has no 'resolution': there are no discrete worlds"
    return None


def not_searched(release: Release) -> str | None:
    """Return why no search over rows evaluates all that a release says, None where it can."""
    if release.loosened:
        return no_world_reason(release)
    if any(not isinstance(block, Partition | Loose) for block in release.blocks):
        return "statements of which only one holds are not searched for"
    if any(statement.of is not None for block in release.loose.values() for statement in block):
        return "sums of values are not searched for"
    return None
