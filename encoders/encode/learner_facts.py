"""What a known learner's rule says of the training rows, as further statements of a release."""

from __future__ import annotations

from encoders.encode.encoder import EncodedRelease
from encoders.models.learner import Learner
from encoders.models.learner_facts import FactLimits


def with_learner_facts(
    release: EncodedRelease, learner: Learner, limits: FactLimits | None = None, *, written: bool = False
) -> EncodedRelease:
    """Return the release with what the learner's rule says of its training rows among its statements."""
    raise NotImplementedError
