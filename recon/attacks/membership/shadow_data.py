"""What an attacker trains on: made-up rows, rows with the columns' own values, or unused rows made noisy.

What a membership attack is: trained from what the attacker knows, then asked about rows with their true labels.

Many attacks as one: per row those local attacks that are surest vote on whether it was trained on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from recon.queries.inputs import Bits, Floats, Ints, RecordColumns, Target, predicted
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


NOISE = 0.1  # the share of values that is drawn again (REVEAL, "noise")


def knowledge(kind: Kind, columns: RecordColumns, classes: int, size: int, rng: np.random.Generator,
              rows: Floats | None = None, *, share: float = NOISE, ranges: tuple[Floats, Floats] | None = None,
              ) -> Knowledge:  # fmt: skip
    """Return `size` rows of shadow data; a one-hot group counts as one value and stays one-hot throughout.

    "random": nobody's rows are looked at. A bit is a fair coin, a group has one bit set, all equally likely, a
    continuous column is uniform on [0, 1], or from its least to its greatest value where `ranges` says them: two arrays
    (d,), public knowledge of the domain. "statistical": each value is drawn from its column's values in `rows`, with
    replacement and independently of the other columns (a bit keeps its frequency). "noise": `size` different ones of
    `rows`, of the law of the training rows but unused; each value is drawn again with probability `share`, from its
    column's values in `rows` as above: of a continuous column too, so that no value appears that no row has. A value
    drawn again may turn out as it was. A constant column keeps its only value (`constant_columns` names them).

    Raises `ReleaseError`: fewer than two classes, rows that are missing, too few or of other columns, no column that
    varies. Cost: O(size · d). Source: Shokri et al. 2017, section V.C (statistics-based and noisy real data); Naretto,
    Monreale and Giannotti 2025 ("random", "noise").
    """
    if classes < 2:
        raise ReleaseError(f"membership attacks need two classes at least, not {classes}")
    if size < 4:
        raise ReleaseError(f"shadow data need 4 rows at least, not {size}")
    if kind == "random":
        return Knowledge(kind, _made_up(columns, size, rng, ranges), columns, classes)
    if kind not in {"statistical", "noise"}:
        raise ReleaseError(f"there is no shadow data '{kind}'; there are random, statistical, noise")
    if not 0 <= share <= 1:
        raise ReleaseError(f"the share of values drawn again lies in 0 to 1, not {share}")
    least = size if kind == "noise" else 1
    if rows is None or len(rows) < least:
        found = 0 if rows is None else len(rows)
        raise ReleaseError(f"shadow data '{kind}' of {size} rows need {least} unused rows at least; {found} are given")
    if rows.ndim != 2 or rows.shape[1] != len(columns.names):
        raise ReleaseError(f"the unused rows have shape {rows.shape}, but there are {len(columns.names)} columns")
    fixed = constant_columns(columns, rows)
    if len(fixed) == len(columns.names) and len(rows) > 1:
        raise ReleaseError(f"every column of the unused rows is constant: {', '.join(fixed)}")
    again = _marginals(columns, rows, size, rng)
    if kind == "noise":
        x: Floats = rows[rng.choice(len(rows), size, replace=False)].astype(np.float64)
        for unit in _units(columns):
            moved = np.flatnonzero(rng.random(size) < share)[:, None]
            x[moved, unit] = again[moved, unit]
        return Knowledge(kind, x, columns, classes)
    return Knowledge(kind, again, columns, classes)


def _made_up(
    columns: RecordColumns, size: int, rng: np.random.Generator, ranges: tuple[Floats, Floats] | None
) -> Floats:
    """Return (size, d) rows that only need the columns; see `knowledge`, "random"."""
    d = len(columns.names)
    low, high = (np.zeros(d), np.ones(d)) if ranges is None else ranges
    if low.shape != (d,) or high.shape != (d,) or not (low <= high).all():
        raise ReleaseError(f"ranges need the least and the greatest value of each of {d} columns")
    x: Floats = rng.random((size, d))
    bits, numbers = columns.bits, columns.numbers
    x[:, numbers] = low[numbers] + x[:, numbers] * (high - low)[numbers]
    x[:, bits] = x[:, bits] < 0.5
    for group in columns.groups:
        x[:, group] = np.eye(len(group))[rng.integers(len(group), size=size)]
    return x


def _marginals(columns: RecordColumns, rows: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Return (size, d) rows whose values (groups as wholes) are drawn from each column's values in `rows`."""
    x: Floats = np.empty((size, rows.shape[1]))
    for unit in _units(columns):
        x[:, unit] = rows[rng.integers(len(rows), size=size)][:, unit]
    return x


def _units(columns: RecordColumns) -> Iterator[list[int]]:
    """Yield the column numbers that change together: each one-hot group, then each other column by itself."""
    yield from (list(group) for group in columns.groups)
    grouped = {j for group in columns.groups for j in group}
    yield from ([j] for j in range(len(columns.names)) if j not in grouped)


def constant_columns(columns: RecordColumns, x: Floats) -> tuple[str, ...]:
    """Return the names of the columns that hold one value only: no attack learns anything from them."""
    same = (x == x[:1]).all(axis=0)
    return tuple(name for name, one in zip(columns.names, same.tolist(), strict=True) if one)


def one_class(target: Target, knowledge: Knowledge) -> str | None:
    """Return why no shadow model can be trained: the black box names one class for all shadow rows; None if more."""
    said = predicted(target, knowledge.x, knowledge.classes)
    if (said == said[0]).all():
        return (f"the black box names class {said[0]} for all {len(said)} rows of the shadow data '{knowledge.kind}': "
                "one class only teaches no shadow model anything")  # fmt: skip
    return None


def labelled(target: Target, knowledge: Knowledge) -> Ints:
    """Return (m,) the labels of the shadow rows: what the target says, which is all that the attacker can ask.

    Raises `ReleaseError` where that is one class only, naming it.
    """
    reason = one_class(target, knowledge)
    if reason is not None:
        raise ReleaseError(reason)
    return predicted(target, knowledge.x, knowledge.classes)
