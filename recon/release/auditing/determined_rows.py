"""The true rows beside what leaf values determine: how many known rows are true, and what is right by chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from recon.queries.leaf_values.determined import Determined
from recon.readers.frames.naming import named_like
from recon.readers.frames.selections import raw_indices, whole_rows
from recon.readers.frames.world import TrueRows
from recon.readers.loading.settled import proofs, strengthened_release
from recon.release.auditing.matching import fresh, group_rows, halves, marginals
from solvers.statements.release import ANY_LABEL

REPEATS = 3  # draws of every baseline


def beside_truth(
    release: EncodedRelease, found: Determined, truth: pd.DataFrame, population: pd.DataFrame | None, seed: int = 0
) -> Mapping[str, Any]:
    """Return the true rows beside what is proved: how many of the known rows are true, and what baselines have right.

    `right`: rows known with label that are true rows of their cell (None: nothing is proved); `marginals`, `other`:
    shares of the true rows that equal rows drawn from the true marginals, and other rows of the same kind (`other_is`).
    """
    truth = whole_rows(named_like(truth, release.domain)[0], release.domain)
    real = raw_indices(release.domain, truth)
    rng, n = np.random.default_rng(seed), len(real)
    by_chance = [_share_equal(real, marginals(real, n, rng)) for _ in range(REPEATS if n else 0)]
    if population is not None:
        people = raw_indices(release.domain, named_like(population, release.domain)[0])
        size, source = min(n, len(people)), "a fresh sample of the population"
        other = [_share_equal(fresh(real, size, rng), fresh(people, size, rng)) for _ in range(REPEATS)]
    else:
        source = "one half of the true rows beside the other"
        other = [_share_equal(*halves(real, rng)) for _ in range(REPEATS if n > 1 else 0)]
    means = (float(np.mean(shares)) if shares else None for shares in (by_chance, other))
    right = _true_rows(release, found, truth)
    return dict(zip(("right", "marginals", "other", "other_is"), (right, *means, source), strict=True))


def _share_equal(real: NDArray[Any], guess: NDArray[Any]) -> float:
    """Return the share of true rows that equal rows of a guess, each counted once."""
    _, times, guessed = group_rows(real, guess)
    return float(np.minimum(times, guessed).sum() / max(1, len(real)))


def _true_rows(release: EncodedRelease, found: Determined, truth: pd.DataFrame) -> int | None:
    """Return how many rows proved with their label are true rows of that cell and label; None where none is proved."""
    for settled, block in proofs(strengthened_release(release).statements):
        if settled.model == found.number:
            counts = TrueRows.of(release, truth).per_statement(block, release.statements.domain.label)
            return int(np.minimum(block.low, counts)[block.label != ANY_LABEL].sum())
    return None
