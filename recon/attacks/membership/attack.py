"""What a membership attack is: trained from what the attacker knows, then asked about rows with their true labels.

Many attacks as one: per row those local attacks that are surest vote on whether it was trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from recon.queries.inputs import Bits, Floats, Ints, RecordColumns, Target
from solvers.foundation.errors import ReleaseError
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


Rule = Literal["confidence", "threshold"]
SAME = 1e-12  # differences of rounding


def ensemble(
    guesses: Sequence[MembershipGuess], rule: Rule = "confidence", thresholds: Sequence[float] | None = None
) -> MembershipGuess:
    """Return what attacks, one per local surrogate, say together of the same rows.

    "confidence" (for scores that are probabilities of membership c_IN, c_OUT = 1 - c_IN): an attack's sureness of a row
    is d = |c_IN - c_OUT|; kept are those with d >= mean + standard deviation (of this row's d, population's). Where
    that keeps nobody, the surest are kept, all of them if tied; where all d are equal, everybody. "threshold" (for
    robustness): d = |score - threshold|, each guess's own one unless `thresholds` are given; kept are those with
    d >= the elbow of this row's sorted d ("≥" as in the paper's prose, ">" in its formula could keep nobody). The kept
    attacks vote with their decisions. The score is the share of votes for "member"; a row is a member where it is above
    1/2: a tie is not.

    Raises `ReleaseError`: no guesses, of different rows, scores that are no probabilities, thresholds missing.
    Cost: O(attacks · log attacks) per row. Source: Naretto, Monreale and Giannotti 2025, local ensemble (their text's
    "c_OUT ... class IN" is read as c_IN).
    """
    if not guesses:
        raise ReleaseError("an ensemble needs one attack at least")
    if len({len(guess.scores) for guess in guesses}) > 1:
        raise ReleaseError(f"attacks of one ensemble speak of the same rows, not of {[len(g.scores) for g in guesses]}")
    scores = np.array([guess.scores for guess in guesses], dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ReleaseError("some score of the ensemble's attacks is no finite number")
    if rule == "confidence":
        if ((scores < 0) | (scores > 1)).any():
            raise ReleaseError("confidence vectors are chosen by probabilities; some score is outside 0 to 1")
        kept = _surest(np.abs(2.0 * scores - 1.0))
    elif rule == "threshold":
        own = [guess.threshold for guess in guesses] if thresholds is None else list(thresholds)
        bars = np.array([bar for bar in own if bar is not None], dtype=np.float64)
        if len(bars) != len(guesses):
            raise ReleaseError(f"{len(guesses)} attacks need a threshold each; {len(bars)} are given")
        kept = _beyond_elbow(np.abs(scores - bars[:, None]))
    else:
        raise ReleaseError(f"there is no rule '{rule}' for an ensemble; there are confidence, threshold")
    votes = np.array([guess.members for guess in guesses], dtype=bool)
    share: Floats = (votes & kept).sum(axis=0) / kept.sum(axis=0)
    return MembershipGuess(f"{guesses[0].attack} (ensemble of {len(guesses)})", share, share > 0.5)


def _surest(distances: Floats) -> Bits:
    """Return (attacks, rows) whom the rule of confidence keeps; of each row one at least.

    `distances` (attacks, rows). Everybody at mean + deviation or above; if nobody is, all at the greatest.
    """
    bar = np.minimum(distances.mean(axis=0) + distances.std(axis=0), distances.max(axis=0))
    kept: Bits = distances >= bar - SAME  # |2 * 0.8 - 1| and |2 * 0.2 - 1| differ in the last bit
    return kept


def _beyond_elbow(distances: Floats) -> Bits:
    """Return (attacks, rows) whom the rule of thresholds keeps: at the elbow of the row's sorted curve or above.

    The elbow is the point of the ascending curve that is farthest from the line between its ends (Satopää et al. 2011,
    without smoothing); of equally far ones the least distance, which keeps most. A straight curve keeps everybody.
    """
    curve = np.sort(distances, axis=0)
    along = np.linspace(0.0, 1.0, len(curve))[:, None]
    away = np.abs(curve - (curve[0] + along * (curve[-1] - curve[0])))
    first = (away >= away.max(axis=0) - SAME).argmax(axis=0)
    kept: Bits = distances >= curve[first, np.arange(curve.shape[1])] - SAME
    return kept
