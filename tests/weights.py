"""What a statement says of single rows, written apart from the engine: how often it counts a row given by its parts."""

from __future__ import annotations

from collections.abc import Sequence

from solvers.statements.boxes import Box
from solvers.statements.release import Statement


def _inside(box: Box, parts: Sequence[int]) -> bool:
    return all(mask >> parts[k] & 1 for k, mask in box.literals)


def weight(statement: Statement, parts: Sequence[int]) -> int:
    """Return what a row adds to a statement."""
    total = 0
    for one in statement.summands:
        if _inside(one.region.box, parts) and not any(_inside(box, parts) for box in one.region.minus):
            product = one.times
            for k, coefs in one.factors:
                product *= coefs[parts[k]]
            total += product
    return total


def of(statement: Statement) -> int | None:
    """Return the only attribute whose numbers a statement sums, None for none."""
    return statement.summands[0].factors[0][0] if statement.summands[0].factors else None


def coefs(statement: Statement) -> tuple[int, ...]:
    """Return the numbers of the parts of that attribute, () for none."""
    return statement.summands[0].factors[0][1] if statement.summands[0].factors else ()
