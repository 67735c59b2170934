"""What leaf values prove about cells: the entry of the room."""

from __future__ import annotations

from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.questions.query import SettledAnswer
from solvers.statements.release import Release


def settled(release: Release, model: int, limits: Limits) -> SettledAnswer:
    """Return bounds on the rows per cell and label of boosted model number `model`, with their proof."""
    raise Unsupported("leaf values are not solved yet")
