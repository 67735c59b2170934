"""Worlds drawn from those in which the learner could have chosen the model, exactly uniform where that is said."""

from __future__ import annotations

from collections.abc import Iterator

from recon.frames.world import World
from recon.loading.asking import Released
from solvers.foundation.limits import Limits


def sample(
    release: Released, k: int = 100, seed: int = 0, learner: str = "auto", limits: Limits | None = None
) -> Iterator[World]:
    """Yield k worlds drawn independently and uniformly from those under the learner's rule."""
    raise NotImplementedError
