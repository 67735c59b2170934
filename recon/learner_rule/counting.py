"""How many worlds are left for whoever knows how the model was chosen, and where the bits are given away."""

from __future__ import annotations

from recon.learner_rule.figures import LearnerRule
from recon.loading.asking import Released
from solvers.foundation.limits import Limits


def learner_rule(release: Released, learner: str = "auto", limits: Limits | None = None) -> LearnerRule:
    """Return what knowing the learner adds to a release."""
    raise NotImplementedError
