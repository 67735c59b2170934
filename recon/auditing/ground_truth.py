"""The true rows beside the release: are they a possible world, and how much does a reconstruction have right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from recon.answers.reasons import no_reconstruction, plain_reasons
from recon.auditing.findings import TruthCheck
from recon.auditing.matching import against_baselines
from recon.frames.naming import named_like
from recon.frames.selections import raw_indices, whole_rows
from recon.frames.true_rows import SHOWN, violations
from recon.loading.settled import as_released
from recon.measures.figures import Measures
from recon.questions.questions import certify, reconstruct
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits


def check_truth(
    release: EncodedRelease,
    truth: pd.DataFrame,
    population: pd.DataFrame | None,
    measures: Measures,
    seed: int,
    limits: Limits | None = None,
) -> TruthCheck:
    """Return whether the true rows are a possible world and how a reconstruction compares with baselines.

    An empty cell of an attribute that may be missing is missing; of any other it is open.
    """
    truth = whole_rows(named_like(truth, release.domain)[0], release.domain)
    violated = violations(as_released(release), truth)
    if why := no_guess(release, measures):
        return TruthCheck(not violated, tuple(violated), None, why, trail=measures.counted.trail)
    real = raw_indices(release.domain, truth)
    try:
        guess = reconstruct(release, seed, limits).indices()
    except ContradictionError as error:
        return TruthCheck(not violated, tuple(violated), None, f"no reconstruction: {error}")
    except (Inconclusive, Unsupported) as error:
        trail = tuple(str(error).split("; "))
        return TruthCheck(not violated, tuple(violated), None, no_reconstruction(trail), trail=trail)
    people = None
    if population is not None:
        people = raw_indices(release.domain, named_like(population, release.domain)[0])
    totals = [a.total for a in release.cut.solver.attributes]
    compared = against_baselines(real, guess, totals, population=people, seed=seed)
    return TruthCheck(not violated, tuple(violated), compared, proved=proved_rows(release, truth, real, limits))


def no_guess(release: EncodedRelease, measures: Measures) -> str:
    """Return why no training set can be given back before one is looked for; "" where one can."""
    if names := release.domain.continuous:
        named = ", ".join(f"'{name}'" for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        which = f"attribute {named} is" if len(names) == 1 else f"attributes {named} are"
        return f"no reconstruction: the {which} continuous, without single values to give back (declare a 'resolution')"
    if measures.status != "exact" and not measures.of_cells:
        why = plain_reasons(measures.counted.trail)
        return f"no reconstruction: the sizes of the regions are only known between bounds ({why})"
    return ""


def proved_rows(release: EncodedRelease, truth: pd.DataFrame, real: NDArray[Any], limits: Limits | None) -> int | None:
    """Return how many of the rows that occur once in the truth are in every possible world, None if not decided."""
    _, first, times = np.unique(real, axis=0, return_index=True, return_counts=True)
    once = truth.iloc[np.sort(first[times == 1])]
    once.attrs.update(truth.attrs)
    try:
        found = certify(release, once, limits=limits, certificates=False)
    except (Inconclusive, Unsupported):
        return None
    if len(found) and (found["verdict"] == "unknown").all():
        return None
    return int((found["verdict"] == "certain").sum())
