"""Likely worlds of coupled noisy releases, by sampling, with how far the sample may be trusted.

For forests, rule sets, tables and joins there is no exact posterior: histograms are drawn by Metropolis-Hastings from
the posterior under the prior `worlds` (uniform over sequences of rows), exact statements kept as they are.

Source: Gelman et al., "Bayesian Data Analysis", 2013, 11.4-11.5 (split R-hat, effective sample size);
docs/mathematics.md, "Noise".
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.exact import Profiles, as_frame
from recon.queries.noisy.denoising import certain_release
from recon.readers.frames.selections import select_frame
from recon.readers.frames.world import World, wrap
from recon.readers.loading.loading import Released, single_release_of
from solvers.foundation.displayed import Displayed
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.noisy.posteriors.markov_chain import SampledWorlds
from solvers.statements.observations import observations

ENOUGH_RHAT = 1.05
ENOUGH_ESS = 100.0


@dataclass(frozen=True, eq=False, repr=False)
class SampledPosterior(Displayed):
    """Draws from the posterior over worlds of a noisy release, prior `worlds`.

    counts: one line per noisy count: source, published, mean, low and high (95 % credible). rhat: the worst
    split R-hat, ess: the least effective sample size; `trusted` False says that chains disagree or draws are few.

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon
    >>> domain = {"attributes": [{"name": "old", "values": [0, 1]}], "label": {"name": "ill", "values": [0, 1]}}
    >>> nodes = [{"if": {"old": 0}, "then": 1, "else": 2}, {"counts": [3, -1]}, {"counts": [0, 1]}]
    >>> models = [{"kind": "tree", "nodes": nodes, "noise": {"law": "discrete_laplace", "scale": 1}}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tree.json")
    ...     size = path.write_text(json.dumps({"recon": 1, "rows": 3, "domain": domain, "models": models}))
    ...     release = recon.load(path)
    >>> posterior = recon.sampled(release, draws=20)
    >>> sorted(posterior.counts)
    ['high', 'low', 'mean', 'published', 'source']
    """

    counts: pd.DataFrame
    rhat: float
    ess: float
    acceptance: float
    note: str
    release: EncodedRelease
    _sample: SampledWorlds = field(repr=False)

    @property
    def draws(self) -> int:
        """Return how many draws there are, of all chains together."""
        return len(self._sample)

    @property
    def trusted(self) -> bool:
        """Return whether the diagnostics see no reason against the sample."""
        return self.rhat <= ENOUGH_RHAT and self.ess >= ENOUGH_ESS

    def membership(self, profiles: Profiles) -> pd.DataFrame:
        """Return per profile: probability (that a row fits) and expected_count, averages over the draws."""
        found = self._sample.membership(select_frame(self.release, as_frame(profiles)))
        return pd.DataFrame(found, columns=["probability", "expected_count"])

    def worlds(self, k: int, seed: int = 0) -> list[World]:
        """Return k worlds: draws spread over the chains, rows drawn uniformly inside their cells."""
        if not 0 < k <= self.draws:
            raise ReleaseError(f"there are {self.draws} draws: cannot show {k} worlds")
        return [wrap(self.release, world) for world in self._sample.worlds(k, seed)]


def sampled(release: Released, draws: int = 2_000, seed: int = 0, limits: Limits | None = None) -> SampledPosterior:
    """Return `draws` draws, by `seed`, from the posterior over worlds of any noisy release, with diagnostics.

    Raises `Unsupported` for exact releases, too many cells and medians, `Inconclusive` where nothing bounds the number
    of rows or time was up before the first draw. Cost: about a million moves per 10 s; where all noise is unbounded a
    draw moves 2,000 rows, or each once where they are more.

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon
    >>> domain = {"attributes": [{"name": "old", "values": [0, 1]}], "label": {"name": "ill", "values": [0, 1]}}
    >>> nodes = [{"if": {"old": 0}, "then": 1, "else": 2}, {"counts": [3, -1]}, {"counts": [0, 1]}]
    >>> models = [{"kind": "tree", "nodes": nodes, "noise": {"law": "discrete_laplace", "scale": 1}}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tree.json")
    ...     size = path.write_text(json.dumps({"recon": 1, "rows": 3, "domain": domain, "models": models}))
    ...     release = recon.load(path)
    >>> recon.sampled(release, draws=20).counts[["source", "published"]]
                      source  published
    0  tree, leaf 1, class 0        3.0
    1  tree, leaf 1, class 1       -1.0
    2  tree, leaf 2, class 0        0.0
    3  tree, leaf 2, class 1        1.0
    """
    release = single_release_of(release, limits)
    if not release.noisy:
        raise Unsupported("the counts carry no noise: draw possible worlds with recon.sample")
    if draws < 4:
        raise ReleaseError(f"{draws} draws are too few to see whether they may be trusted: ask for 4 or more")
    limits = limits or Limits()
    sure = certain_release(release, limits)
    seen = observations(sure)
    sample = SampledWorlds.of(sure, seen, draws, seed, limits)
    found = sample.walk
    ends = found.credible(0.95)
    lines = [
        (o.source, float(o.published), found.counts[:, o.statement].mean(), *ends[o.statement].tolist()) for o in seen
    ]
    frame = pd.DataFrame(lines, columns=["source", "published", "mean", "low", "high"])
    return SampledPosterior(frame, found.rhat, found.ess, found.acceptance, found.note, release, sample)
