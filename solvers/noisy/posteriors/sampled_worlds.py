"""Draws from the posterior over histograms of noisy counts, as answers about rows: memberships and worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import CellSystem, system_of
from solvers.cells.worlds.row_lists import RandomSource
from solvers.cells.worlds.worlds import draw_world, filled_cells
from solvers.foundation.limits import Limits
from solvers.histograms.system_membership import overlaps
from solvers.noisy.posteriors.markov_chain import ChainDraws, run_chains
from solvers.questions.query import Selections
from solvers.statements.observations import Observation
from solvers.statements.release import Release, RowWorld


@dataclass(frozen=True, eq=False)
class SampledWorlds:
    """Histograms drawn by a Markov chain, over the cells of a release; `run_chains` has the diagnostics."""

    walk: ChainDraws
    _system: CellSystem

    @classmethod
    def of(cls, release: Release, seen: Sequence[Observation], draws: int, seed: int, limits: Limits) -> SampledWorlds:
        """Return draws; see `solvers.noisy.posteriors.markov_chain.run_chains` for what it raises and costs."""
        system = system_of(release, limits)
        return cls(run_chains(system, seen, draws, seed, limits), system)

    def __len__(self) -> int:
        return len(self.walk.histograms)

    def membership(self, chosen: Selections) -> NDArray[np.float64]:
        """Return (selections, 2): the probability that a row is in the selection, the expected number of its rows."""
        out = np.zeros((len(chosen), 2))
        for i, met in enumerate(overlaps(self._system, chosen)):
            drawn, shares = self.walk.histograms[:, list(met.cells)], np.array(met.ratios)
            absent = np.prod(np.power(1.0 - shares, drawn), axis=1)
            out[i] = 1.0 - absent.mean(), (drawn @ shares).mean() if len(shares) else 0.0
        return out

    def worlds(self, k: int, seed: int) -> list[RowWorld]:
        """Return k worlds: draws spread over the chains, rows drawn uniformly inside their cells."""
        drawn, random = self.walk.histograms, RandomSource(seed)
        at = np.linspace(0, len(drawn) - 1, k).astype(int)
        filled = (filled_cells(self._system, drawn[i]) for i in at.tolist())
        return [draw_world(self._system.release.domain, one, "ordered", random) for one in filled]
