"""Worlds that local search finds, verified and remembered; where trees had bags nobody knows, likely ones.

What is found is evaluated anew in whole numbers. Nothing of the search is used there: the sums are those that the
checker of proofs takes (`solvers.kernel.cells`).

Source: `solvers.programs.local_search.loops`, `solvers.programs.local_search.likely`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import CertificateError, EngineError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.kernel.cells import statement_sums
from solvers.kernel.facts import NumberedStatements
from solvers.programs.local_search.annealing import EFFORT, searched
from solvers.programs.local_search.likely import climb
from solvers.programs.local_search.problem import SearchProblem, problem_of
from solvers.statements.release import Choice, Release


@dataclass(slots=True)
class SearchedWorlds:
    """Worlds that were found, by seed, and how many seconds a search took that found none."""

    rows: dict[int, Ints] = field(default_factory=dict)
    seconds: float = 0.0


def known_rows(release: Release, seed: int, limits: Limits) -> Ints:
    """Return (rows, attributes) parts of a world, -1 where nothing names an attribute; from memory if known.

    Every statement has been evaluated anew on them. Raises `Inconclusive` where none is found.
    """
    remembered = release.derived.part(SearchedWorlds)
    if seed in remembered.rows:
        return remembered.rows[seed]
    begun = left_for(remembered, limits)
    problem = problem_of(release, limits)
    found = searched(problem, seed, limits)
    if found.world is None:
        remembered.seconds = begun if not limits.stop.is_set() else 0.0
        raise missing(found.off)
    rows = verified(problem, found.world)
    remembered.rows[seed] = rows
    return rows


def likely_rows(release: Release, seed: int, limits: Limits, effort: int = EFFORT) -> tuple[Ints, bool]:
    """Return (rows, attributes) parts of a world that makes the bags' counts likely, and whether another was met.

    Raises `Inconclusive` where none is found; a search of less than full effort leaves it to others to find one.
    """
    remembered = release.derived.part(SearchedWorlds)
    begun = left_for(remembered, limits)
    problem = problem_of(release, limits)
    found = searched(problem, seed, limits, effort, likely=True)
    if found.world is None:
        if effort == EFFORT and not limits.stop.is_set():
            remembered.seconds = begun
        raise missing(found.off)
    first = verified(problem, found.world)
    best, last, _ = climb(problem, *found.end, limits)
    rows = verified(problem, best)
    others = [first] if same(first, rows) is False else [verified(problem, last)]
    return rows, not all(same(rows, other) for other in others)


def left_for(remembered: SearchedWorlds, limits: Limits) -> float:
    """Return the seconds left; raises `Inconclusive` where a search of as many found nothing."""
    if (left := limits.left()) <= remembered.seconds:
        raise Inconclusive("no world was found in more time than is left")
    return left


def missing(off: int) -> Inconclusive:
    """Return what is raised where no world was found."""
    return Inconclusive(f"no world was found, and none was excluded (at best {off:,} rows off)")


def verified(problem: SearchProblem, found: Ints) -> Ints:
    """Return rows over all attributes, every statement evaluated anew on them."""
    release = problem.release
    rows = np.full((problem.rows, len(release.domain.attributes)), -1, dtype=np.int64)
    rows[:, problem.attributes] = found
    if (wrong := broken(release, rows)) is not None:
        raise EngineError(f"local search found rows that are no world: {wrong}")
    return rows


def same(some: Ints, others: Ints) -> bool:
    """Return whether two lists hold the same rows in whatever order."""
    return Counter(map(tuple, some.tolist())) == Counter(map(tuple, others.tolist()))


def broken(release: Release, rows: Ints) -> str | None:
    """Return what a dataset does not meet, None for a possible world. `rows`: (rows, attributes) parts, -1: any.

    Raises `NotVerified` where the memory does not hold the walk. Cost: rows times statements' boxes.
    """
    facts = NumberedStatements(release, Limits())  # a found world is checked even when the time is up
    often = Counter(map(tuple, np.maximum(rows, 0).tolist()))
    for box in release.impossible:
        if any(all(mask >> row[k] & 1 for k, mask in box.literals) for row in often):
            return "a row that is declared impossible"
    try:
        sums = statement_sums(facts, tuple(often), tuple(often.values()))
    except CertificateError as error:
        return str(error)
    met = (sums >= facts.low) & (sums <= facts.high)
    for s in np.flatnonzero(facts.unconditional & ~met).tolist():
        return f"{facts.source(s)}: {int(sums[s])} rows"
    for b, block in enumerate(release.blocks):
        if isinstance(block, Choice) and sum(bool(met[a].all()) for a in facts.alternatives(b)) != 1:
            return block.name
    return None
