"""Whether rows that a search found are a possible world: every statement evaluated anew, in whole numbers.

Nothing of the search is used: the sums are those that the checker of proofs takes (`solvers.kernel.cells`).
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import CertificateError
from solvers.foundation.limits import Limits
from solvers.kernel.cells import statement_sums
from solvers.kernel.facts import Facts
from solvers.statements.release import Choice, Release


def broken(release: Release, rows: Ints) -> str | None:
    """Return what a dataset does not meet, None for a possible world. `rows`: (rows, attributes) parts, -1: any.

    Raises `NotVerified` where the memory does not hold the walk. Cost: rows times statements' boxes.
    """
    facts = Facts(release, Limits())  # a found world is checked even when the time is up
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
