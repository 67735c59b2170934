"""Binary columns as views of attributes."""

from __future__ import annotations

from dataclasses import dataclass

from encoders.domain.values import Test

TRAINING_DATA = "training data"


@dataclass(frozen=True, slots=True)
class View:
    """A binary column: 1 where the test on the attribute holds, else 0."""

    attribute: str
    test: Test
