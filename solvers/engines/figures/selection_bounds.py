"""The rows of many selections: least and greatest over all histograms, from both sides, without counting any."""

from __future__ import annotations

from collections.abc import Iterator

from solvers.cells.system import system_of
from solvers.foundation.errors import ContradictionError
from solvers.foundation.limits import Limits
from solvers.histograms.system_membership import Overlap, overlaps
from solvers.programs.verdicts import VerdictProver, indicator
from solvers.statements.questions.query import Selections
from solvers.statements.release import Release


def selection_bounds(release: Release, selections: Selections, limits: Limits) -> Iterator[tuple[int, int, bool]]:
    """Yield, per selection, the least and the greatest number of its rows, and whether both are attained.

    From outside by linear programs over the cells in whole numbers (safe dual bounds), from inside by histograms that
    CP-SAT finds: attained where both meet. For many selections of one release this is far cheaper than a decision by an
    engine that counts the histograms as well.

    Raises `ContradictionError` where there is no histogram, `Unsupported` for too many cells, `Inconclusive` out of
    time: what was yielded by then holds. Cost: two linear programs and two of CP-SAT's solves per selection.
    """
    system = system_of(release, limits)
    if system.bounds.conflict is not None:
        raise ContradictionError("no dataset fits", ())
    prover = VerdictProver(system, limits.limited())
    if prover.relaxation.refutes(limits):
        raise ContradictionError("no dataset fits", ())
    for met in overlaps(system, selections, limits):
        yield _extremes(prover, met, limits)


def _extremes(prover: VerdictProver, met: Overlap, limits: Limits) -> tuple[int, int, bool]:
    """Return the least and the greatest number of rows of one selection; see `selection_bounds`."""
    ends = []
    whole = met.cells == met.inside and not prover.system.coarse and not prover.system.release.loosened
    for greatest in (False, True):
        limits.check("rows of selections are bounded")
        coefs = indicator(met.cells if greatest else met.inside, prover.system)
        outer = prover.outer(coefs, greatest)
        if any(int(coefs @ known) == outer for known in prover.pool):  # found for another selection
            ends.append((outer, whole))
            continue
        solved = prover.exactly(coefs, greatest, prover.limits.stage("selection"))
        if solved.none:
            raise ContradictionError("no dataset fits", ())
        if solved.histogram is not None:
            proved = solved.bounds[1] if greatest else solved.bounds[0]
            outer = min(outer, proved) if greatest else max(outer, proved)
        reached = solved.histogram is not None and int(coefs @ solved.histogram) == outer
        ends.append((outer, whole and reached))
    return ends[0][0], ends[1][0], ends[0][1] and ends[1][1]
