"""What noisy counts still say: the posterior over the true counts of one tree or rule list, with its prior named.

Source: docs/mathematics.md, "Noise": a posterior needs a prior over counts; entropy = H(c) + E[log2 worlds(c)].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.exact import Profiles, as_frame
from recon.readers.frames.selections import select_frame
from recon.readers.loading.loading import Released, single_release_of
from solvers.engines.figures.partition import PartitionFigures
from solvers.foundation.displayed import Displayed
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.observations import observations
from solvers.statements.questions.query import Selections

if TYPE_CHECKING:
    from solvers.noisy.posteriors.posterior import CountPosterior, Prior

PRIORS = {
    "counts": "uniform over count vectors that sum to n, rows uniform inside a leaf or rule given its count",
    "worlds": "uniform over sequences of n rows; it weighs counts by the sizes of regions and overrides the noise law "
    "where shares of rows and of the row space differ",
}
LAPLACE = {"laplace", "discrete_laplace"}


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Displayed):
    """What noisy counts of one partition say about the true counts, given the prior.

    counts: one line per count: source, published, expected, likely (the jointly most likely counts), low and high (95 %
    credible). entropy_bits: H(c) + E[log2 worlds(c)], of the rows in order; uninformed_bits the same under the
    prior; bits_removed their difference. remainder: a bound on the probability that the computation left out.
    odds_factor: how much the odds of a named row being x against y can move from the prior's at most when rows are
    independent a priori (e^{2/b}, Laplace noise of scale b; None: no finite factor).

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
    ...     found = recon.posterior(recon.load(path))
    >>> found.prior, round(found.bits_removed, 2)
    ('counts', 2.11)
    """

    prior: str
    counts: pd.DataFrame
    entropy_bits: float
    entropy_counts_bits: float
    uninformed_bits: float
    remainder: float
    odds_factor: float | None
    expected_rows: float
    release: EncodedRelease
    _found: CountPosterior = field(repr=False)
    _cells: PartitionFigures = field(repr=False)

    @property
    def bits_removed(self) -> float:
        """Return the bits that the noisy counts take away, against the same prior."""
        return self.uninformed_bits - self.entropy_bits

    @property
    def bits_removed_per_row(self) -> float | None:
        """Return the bits removed per expected row."""
        return self.bits_removed / self.expected_rows if self.expected_rows else None

    @property
    def prior_text(self) -> str:
        """Return the prior in words."""
        return PRIORS[self.prior]

    def membership(self, profiles: Profiles, limits: Limits | None = None) -> pd.DataFrame:
        """Return per profile: probability (that a row fits), probability_before, expected_count, expected_before."""
        shares = self._cells.shares(select_frame(self.release, as_frame(profiles)))
        return pd.DataFrame(
            {
                "probability": self._present(shares),
                "probability_before": 1.0 - self._found.absent_before(shares, limits),
                "expected_count": self._found.expected_rows(shares),
                "expected_before": self._found.expected_before(shares),
            }
        )

    def _present(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(a row fits), kept off 0 and 1 by the remainder where no share makes it so."""
        found, spare = 1.0 - self._found.absent(shares), self.remainder
        held = np.array([size > 0 for size in self._cells.sizes])
        found = np.where((shares > 0).any(axis=1), np.maximum(found, min(spare, 0.5)), 0.0)
        every: NDArray[np.bool_] = (shares[:, held] == 1.0).all(axis=1)
        return np.where(every, found, np.minimum(found, 1.0 - min(spare, 0.5)))

    def empty(self) -> NDArray[np.float64]:
        """Return per count the probability that it is 0."""
        found = self._found
        return np.array([
            float(m[0]) if int(low) == 0 and len(m) else 0.0
            for low, m in zip(found.low, found.marginals, strict=True)
        ])  # fmt: skip

    def distance(self, counts: NDArray[np.int64]) -> float:
        """Return how many rows change cells on average from these counts: half of E Σ |c - counts|."""
        found = self._found
        pairs = zip(found.low, found.marginals, counts.tolist(), strict=True)
        gone = (float(m @ np.abs(np.arange(int(low), int(low) + len(m)) - c)) for low, m, c in pairs)
        return math.fsum(gone) / 2

    def expected(self, chosen: Selections) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected number of rows of every selection, after and before the release."""
        shares = self._cells.shares(chosen)
        return self._found.expected_rows(shares), self._found.expected_before(shares)


def posterior(release: Released, prior: Prior = "counts", limits: Limits | None = None) -> Posterior:
    """Return the posterior over the true counts of a release that is one noisy tree or rule list.

    `prior` "counts" (default) is uniform over count vectors that sum to the number of rows, "worlds" uniform over
    sequences of rows. Raises `Unsupported` for other releases and where the number of rows is neither known nor in
    an interval, `Inconclusive` when time is up. Cost: one convolution per count over windows around it.

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
    ...     found = recon.posterior(recon.load(path))
    >>> found.counts[["published", "likely"]]
       published  likely
    0        3.0       2
    1       -1.0       0
    2        0.0       0
    3        1.0       1
    """
    release = single_release_of(release, limits)
    if prior not in PRIORS:
        raise Unsupported(f"there is no prior '{prior}': choose counts or worlds")
    reason = why_none(release)
    if reason is not None:
        raise Unsupported(reason)
    return _compute_posterior(release, prior, limits or Limits())


def single(release: EncodedRelease) -> bool:
    """Return whether a release is exactly one tree or rule list."""
    return release.statements.single is not None


def why_none(release: EncodedRelease) -> str | None:
    """Return why a release has no exact posterior, or None."""
    rows = release.declared
    if not release.noisy:
        return "the counts carry no noise: the posterior is the worlds themselves"
    if not single(release):
        return "an exact posterior needs exactly one noisy tree or rule list; others are sampled (recon posterior)"
    if rows is None or rows.high is None:
        return "a posterior needs the number of rows, or an interval for it (uniform prior): give 'rows' (--rows N)"
    if release.domain.continuous:
        return "a continuous attribute has no 'resolution': regions have no sizes"
    return None


def _compute_posterior(release: EncodedRelease, prior: Prior, limits: Limits) -> Posterior:
    """Return the posterior; see `posterior`."""
    from solvers.noisy.posteriors.posterior import posterior_of

    sure, rows = release.at_confidence(1).statements, release.declared
    assert rows is not None
    assert rows.high is not None
    found = posterior_of(sure, (rows.low, rows.high), prior, limits)
    cells, block = PartitionFigures.of(sure, limits), sure.single
    assert block is not None
    seen = {o.statement: o for o in observations(sure)}
    published = (math.nan if s not in seen else float(seen[s].published) for s in range(len(block)))
    lines = [(block.source(s), figure) for s, figure in enumerate(published)]
    low, high = found.interval(0.95)
    frame = pd.DataFrame(lines, columns=["source", "published"]).assign(
        expected=found.expected, likely=found.likely, low=low, high=high
    )
    scales = [float(o.law.scale) for o in seen.values() if o.law.name in LAPLACE]
    finite = len(scales) == len(seen) and len(seen) > 0
    return Posterior(
        prior,
        frame,
        found.entropy("ordered"),
        found.entropy_counts_bits,
        found.prior_entropy("ordered", limits),
        found.remainder,
        math.exp(2 / min(scales)) if finite and 2 / min(scales) < 700 else None,
        float(found.expected.sum()),
        release,
        found,
        cells,
    )
