"""Which learner's rule is asked about: what the files say, what `--learner` says, and what no exact count is made for."""

from __future__ import annotations

from encoders.encode.encoder import EncodedRelease
from encoders.models.learner import Learner


def learner_of(release: EncodedRelease, asked: str, /) -> Learner | None:
    """Return the learner asked about."""
    raise NotImplementedError
