"""A release under the assumption that its learner is known: hard facts of scikit-learn's trees and forests."""

from __future__ import annotations

from encoders.encode.encoder import EncodedRelease
from encoders.encode.learner_facts import with_learner_facts
from encoders.models.learner import Learner
from encoders.models.learner_facts import FactLimits
from solvers.foundation.limits import Limits


def with_facts(
    release: EncodedRelease, learner: Learner, limits: Limits | None = None, bounds: FactLimits | None = None
) -> EncodedRelease:
    """Return the release with the facts of its learner among its statements."""
    return with_learner_facts(release, learner, bounds)
