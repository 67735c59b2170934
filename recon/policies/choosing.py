"""The remedy with the least loss among those that meet a policy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

AS_PUBLISHED = "as published"
LOSS = {"strip": 0, "counts": 1, "rounded counts": 1}  # of predictions none, then of figures; all others change the model


def least_loss(remedies: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the remedy that meets the policy at the least loss, None where none does.

    First those that leave predictions as they are, then the most accurate (unknown last), then the one that leaves the
    fewest bits per person, which gives away most of what it may and so keeps most of the model; then the first.
    """
    met = [one for one in remedies if one.get("outcome") == "met" and one.get("kind") != AS_PUBLISHED]
    return min(met, key=loss, default=None)


def loss(remedy: Mapping[str, Any]) -> tuple[int, float, float]:
    """Return what a remedy costs, to compare: does it change predictions, how inaccurate is it, how little is left."""
    accuracy = remedy.get("accuracy")
    bits = remedy.get("bits_left_per_person")
    least = bits[0] if bits and bits[0] is not None else math.inf
    return LOSS.get(str(remedy.get("kind")), 2), 1.0 if accuracy is None else -float(accuracy), least
