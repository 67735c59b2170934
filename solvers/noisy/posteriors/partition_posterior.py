"""The exact posterior over the true counts of a release that is one noisy partition, computed once per release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from solvers.cells.partition_cells import cells_of
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.noisy.posteriors.posterior import CountPosterior, Prior, Term, posterior
from solvers.statements.observations import observations
from solvers.statements.release import Release

Law = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(slots=True)
class KnownPosteriors:
    """The posteriors of a release, by prior and interval of the number of rows."""

    of: dict[tuple[Prior, tuple[int, int]], CountPosterior] = field(default_factory=dict)


def posterior_of(release: Release, rows: tuple[int, int], prior: Prior, limits: Limits) -> CountPosterior:
    """Return the posterior over the counts of its cells, the number of rows uniform in `rows` a priori.

    `release` is one partition at confidence 1, where intervals are what bounded noise makes certain. Raises
    `Inconclusive` where sizes are only known between bounds, or time is up.
    """
    cells = cells_of(release, limits)
    if not cells.exact:
        raise Inconclusive("the sizes of the regions are only known between bounds: no exact posterior")
    known = release.derived.part(KnownPosteriors).of
    if (prior, rows) not in known:
        seen, block = {o.statement: o for o in observations(release)}, cells.block
        terms = []
        for s, size in enumerate(cells.low):
            one = seen.get(s)
            law: Law = flat if one is None else partial(one.law.log_likelihood, one.published)
            terms.append(Term(law, size, int(block.low[s]), min(rows[1], int(block.high[s]))))
        known[prior, rows] = posterior(terms, rows, prior, limits)
    return known[prior, rows]


def flat(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log-likelihood of counts of which nothing was published."""
    return np.zeros(len(counts))
