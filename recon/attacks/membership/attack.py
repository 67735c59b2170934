"""What a membership attack is: trained from what the attacker knows, then asked about rows with their true labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from recon.queries.prediction.records import Bits, Floats, Ints, RecordColumns, Target
from solvers.foundation.limits import Limits

Kind = Literal["random", "statistical", "noise"]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What the attacker trains shadow models on: rows (m, d) whose labels the target is asked for, and how got.

    `kind`: "random" (only the columns are known), "statistical" (each column's own values, independently), "noise"
    (rows of the same law that were not trained on, a tenth of their values drawn again).
    """

    kind: Kind
    x: Floats
    columns: RecordColumns
    classes: int


class Trained(Protocol):
    """A trained attack: a row is called a member where its score is above `threshold`."""

    @property
    def threshold(self) -> float:
        """Return above which score a row is called a member."""

    def scores(self, target: Target, x: Floats, y: Ints) -> Floats:
        """Return (rows,) how much speaks for each row (its true label y known) having been trained on."""


class Attack(Protocol):
    """A membership attack by name."""

    @property
    def name(self) -> str:
        """Return its name, with what sets it apart from the published attack."""

    def refuses(self, target: Target, knowledge: Knowledge) -> str | None:
        """Return why it does not apply (it would degenerate to chance), None where it does."""

    def train(self, target: Target, knowledge: Knowledge, seed: int, limits: Limits | None = None) -> Trained:
        """Return the attack trained; the same seed gives the same attack."""


@dataclass(frozen=True, eq=False)
class MembershipGuess:
    """What a trained attack says of some rows: scores, whom it calls members (above `threshold`), a reservation."""

    attack: str
    scores: Floats
    members: Bits
    note: str = ""
    threshold: float | None = None
