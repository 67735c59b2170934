"""Likely worlds of coupled noisy releases, by sampling, with how far the sample may be trusted.

For forests, rule sets, tables and joins there is no exact posterior: histograms are drawn by Metropolis-Hastings from
the posterior under the prior `worlds` (uniform over sequences of rows), exact statements kept as they are.

Source: Gelman et al., "Bayesian Data Analysis", 2013, 11.4-11.5 (split R-hat, effective sample size);
docs/mathematics.md, "Noise".
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.answers.exact import Profiles, as_frame
from recon.frames.selections import select_frame
from recon.frames.world import World, wrap
from recon.noisy.denoising import certain_release
from solvers.cells.system import System, system_of
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.system_membership import met_cells
from solvers.likelihood.markov_chain import Walk, walk
from solvers.statements.observations import observations
from solvers.worlds.row_lists import Dice
from solvers.worlds.worlds import draw_world, filled_cells

ENOUGH_RHAT = 1.05
ENOUGH_ESS = 100.0


@dataclass(frozen=True, eq=False)
class SampledPosterior:
    """Draws from the posterior over worlds of a noisy release, prior `worlds`.

    counts: one line per noisy count: source, published, mean, low and high (95 % credible). rhat: the worst
    split R-hat, ess: the least effective sample size; `trusted` False says that chains disagree or draws are few.
    """

    counts: pd.DataFrame
    rhat: float
    ess: float
    acceptance: float
    note: str
    release: EncodedRelease
    _walk: Walk = field(repr=False)
    _system: System = field(repr=False)

    @property
    def draws(self) -> int:
        """Return how many draws there are, of all chains together."""
        return len(self._walk.histograms)

    @property
    def trusted(self) -> bool:
        """Tell whether the diagnostics see no reason against the sample."""
        return self.rhat <= ENOUGH_RHAT and self.ess >= ENOUGH_ESS

    def membership(self, profiles: Profiles) -> pd.DataFrame:
        """Return per profile: probability (that a row fits) and expected_count, averages over the draws."""
        lines = []
        for met in met_cells(self._system, select_frame(self.release, as_frame(profiles))):
            drawn = self._walk.histograms[:, list(met.cells)]
            shares = np.array(met.ratios)
            absent = np.prod(np.power(1.0 - shares, drawn), axis=1)
            lines.append((float(1.0 - absent.mean()), float((drawn @ shares).mean()) if len(shares) else 0.0))
        return pd.DataFrame(lines, columns=["probability", "expected_count"])

    def worlds(self, k: int, seed: int = 0) -> list[World]:
        """Return k worlds: draws spread over the chains, rows drawn uniformly inside their cells."""
        drawn, dice = self._walk.histograms, Dice(seed)
        if not 0 < k <= len(drawn):
            raise ReleaseError(f"there are {len(drawn)} draws: cannot show {k} worlds")
        at = np.linspace(0, len(drawn) - 1, k).astype(int)
        domain = self._system.release.domain
        filled = (filled_cells(self._system, drawn[i]) for i in at.tolist())
        return [wrap(self.release, draw_world(domain, one, "ordered", dice)) for one in filled]


def sampled(
    release: EncodedRelease, draws: int = 2_000, seed: int = 0, limits: Limits | None = None
) -> SampledPosterior:
    """Return draws from the posterior over worlds of any noisy release, with diagnostics.

    Raises `Unsupported` for exact releases, too many cells and medians, `Inconclusive` where nothing bounds the number
    of rows or time was up before the first draw. Cost: about a million moves per 10 s; where all noise is unbounded a
    draw moves 2,000 rows, or each once where they are more.
    """
    if not release.noisy:
        raise Unsupported("the counts carry no noise: draw possible worlds with recon.sample")
    if draws < 4:
        raise ReleaseError(f"{draws} draws are too few to see whether they may be trusted: ask for 4 or more")
    limits = limits or Limits()
    sure = certain_release(release, limits)
    system, seen = system_of(sure, limits), observations(sure)
    found = walk(system, seen, draws, seed, limits)
    ends = found.credible(0.95)
    lines = [
        (o.source, float(o.published), found.counts[:, o.statement].mean(), *ends[o.statement].tolist()) for o in seen
    ]
    frame = pd.DataFrame(lines, columns=["source", "published", "mean", "low", "high"])
    return SampledPosterior(frame, found.rhat, found.ess, found.acceptance, found.note, release, found, system)
