"""Leaves and values in turn: what midpoints say of values removes leaves, and fewer leaves say more of values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Domains
from solvers.positions.assignments.propagation import Propagation
from solvers.positions.midpoints.locating import LocatedRows, locate
from solvers.positions.midpoints.splits import Floats, TreeSplits
from solvers.statements.row_problem import RowProblem


def locate_in_turn(
    problem: RowProblem, domains: Domains, splits: TreeSplits, ranges: Floats | None, limits: Limits
) -> tuple[LocatedRows, Domains]:
    """Return where the values of all rows lie, and the leaves left: midpoints and propagation until nothing changes.

    As `locate`; `domains` stay as they are. Where there is a contradiction, the leaves returned are those given. The
    `steps` are those of the last turn, from the leaves returned.
    """
    left = domains
    while True:
        found = locate(problem, left, splits, ranges, limits)
        if found.contradiction:
            start = found if left is domains else locate(problem, domains, splits, ranges, limits)
            return replace(start, contradiction=found.contradiction), domains
        if not len(found.removed) or not found.complete:
            return found, left
        fewer = _without(left, found.removed)
        propagation = Propagation(problem)
        propagation.domains = fewer
        propagation.run(limits)
        if propagation.contradicted:
            reason = "the thresholds are not midpoints: no world has rows with values around them"
            return replace(locate(problem, domains, splits, ranges, limits), contradiction=reason), domains
        if not propagation.complete:
            return replace(found, complete=False), fewer
        left = propagation.domains


def _without(domains: Domains, removed: Ints) -> Domains:
    """Return the values left without some pairs of a row and a value."""
    out, packing = domains.copy(), domains.packing
    rows, values = removed.T
    bits = np.left_shift(np.uint64(1), packing.bit[values])
    np.bitwise_and.at(out.words, (rows, packing.word[values]), ~bits)
    return out
