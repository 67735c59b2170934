"""What an attacker trains on: made-up rows, rows with the columns' own values, or unused rows made noisy.

What a membership attack is: trained from what the attacker knows, then asked about rows with their true labels.

Many attacks as one: per row those local attacks that are surest vote on whether it was trained on.

The likelihood ratio attack (LiRA), the strong reference: how confident models with and without the row are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from recon.queries.inputs import Bits, Floats, Ints, RecordColumns, Records, Target, predicted, probabilities
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
        raise ReleaseError("some score of the ensemble's attacks is not a finite number")
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


Sample = Callable[[int, np.random.Generator], tuple[Floats, Ints]]
Fit = Callable[[Floats, Ints, int], Target]


def population(records: Records) -> Sample:
    """Return a sampler of an attacker's own rows of the target's law: different ones, all of them where too few."""

    def sample(size: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
        rows = rng.permutation(len(records))[:size]
        return records.x[rows], records.y[rows]

    return sample


@dataclass(frozen=True)
class LikelihoodRatio:
    """LiRA: the logit of the true label's share, against Gaussians of shadow models that had the row and had it not.

    It knows more than the other attacks: `sample(m, rng)` gives m rows (x, y) of the target's law with their true
    labels (`population` of an attacker's own rows), `fit(x, y, seed)` fits the target's kind of model, `size` is the
    number of the target's training rows. Labels are true ones, the shadow data's are not used.

    `online`: shadow models are trained for the very rows asked about: each distinct row is in exactly half of the
    `shadows` (an even number), rows of the sample fill up to `size`; rows are asked about in batches of 2 `size` at
    most. The score is log N(logit; in) - log N(logit; out), the threshold 0. Offline (`online=False`): `shadows` models
    of rows of the sample only, fitted once; the score is (logit - mean out) / deviation out, the threshold its quantile
    1 - `level`. A row of the sample that equals a row asked about is left in: "in" means one copy more.

    Shares are clipped to [`clip`, 1 - `clip`], so that trees and bare labels have logits; deviations are over all rows
    (`pooled`) or per row, `floor` at least. Pooled ones are the default below 64 shadows, where the paper finds them
    better. Cost: `shadows` fits, online again for each batch: about 6 s for 8,400 rows of Adult and forests of 100
    trees on one core. Source: Carlini et al. 2022, "Membership Inference Attacks From First Principles", Algorithm 1
    and its offline variant.
    """

    sample: Sample
    fit: Fit
    size: int
    shadows: int = 16
    online: bool = True
    clip: float = 1e-3
    floor: float = 0.1
    pooled: bool | None = None
    level: float = 0.05

    def __post_init__(self) -> None:
        if self.shadows < 2 or (self.online and self.shadows % 2):
            raise ReleaseError(f"LiRA needs an even number of shadow models, not {self.shadows}")
        if self.size < 2:
            raise ReleaseError(f"LiRA needs the number of the target's training rows, 2 at least, not {self.size}")
        if not (0 < self.clip < 0.5 and self.floor > 0 and 0 < self.level < 1):
            raise ReleaseError(f"LiRA needs 0 < clip < .5, floor > 0, 0 < level < 1, not {self.clip}, {self.floor}, "
                               f"{self.level}")  # fmt: skip

    @property
    def name(self) -> str:
        """Return "lira", or "lira (offline)"."""
        return "lira" if self.online else "lira (offline)"

    def refuses(self, target: Target, knowledge: Knowledge) -> str | None:
        """Return why it does not apply: the black box knows one class, so the true label's share says nothing."""
        if len(target.classes_) < 2:
            return f"the black box knows class {target.classes_[0]} only: one class only says nothing about any row"
        return None

    def train(self, target: Target, knowledge: Knowledge, seed: int, limits: Limits | None = None) -> TrainedRatio:
        """Return the attack trained: offline its shadow models, online those are fitted for the rows asked about.

        Raises `ReleaseError` where the sample has one class only, naming it.
        """
        rng = np.random.default_rng(seed)
        models: list[Target] = []
        for _ in range(0 if self.online else self.shadows):
            if limits is not None:
                limits.check("LiRA's shadow models were trained")
            models.append(self.fitted(*self.sample(self.size, rng), rng))
        return TrainedRatio(self, knowledge.classes, tuple(models), seed, limits)

    def fitted(self, x: Floats, y: Ints, rng: np.random.Generator) -> Target:
        """Return a shadow model of rows; raises `ReleaseError` where they have one class only."""
        if len(y) < 2 or (y == y[0]).all():
            only = f"class {y[0]}" if len(y) else "no row"
            raise ReleaseError(f"a shadow model of LiRA would be trained on {len(y)} rows of one class only: {only}")
        return self.fit(x, y, int(rng.integers(2**31)))


@dataclass(frozen=True, eq=False)
class TrainedRatio:
    """LiRA trained: its settings, and offline its shadow models."""

    attack: LikelihoodRatio
    classes: int
    models: tuple[Target, ...]
    seed: int
    limits: Limits | None = None

    @property
    def threshold(self) -> float:
        """Return 0 for the ratio of likelihoods, the Gaussian's quantile 1 - `level` offline."""
        from scipy.special import ndtri

        return 0.0 if self.attack.online else float(ndtri(1.0 - self.attack.level))

    def scores(self, target: Target, x: Floats, y: Ints) -> Floats:
        """Return (rows,) log likelihood ratios, offline standardised logits; equal rows score equal.

        Online the score of a row depends a little on which rows are asked about with it: they share shadow models.
        """
        if not len(x):
            return np.zeros(0)
        whole, which = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
        rows, labels = np.ascontiguousarray(whole[:, :-1]), whole[:, -1].astype(np.int64)
        observed = self.logits(target, rows, labels)
        if not self.attack.online:
            outside = np.array([self.logits(model, rows, labels) for model in self.models])
            mean, deviation = self.gaussian(outside, np.ones(outside.shape, dtype=bool))
            return ((observed - mean) / deviation)[which.reshape(-1)]
        parts, batches = [], -(-len(rows) // (2 * self.attack.size))
        rng = np.random.default_rng(self.seed)
        for batch in np.array_split(np.arange(len(rows)), batches):
            logits, inside = self.shadowed(rows[batch], labels[batch], rng)
            parts.append(_log_density(observed[batch], *self.gaussian(logits, inside))
                         - _log_density(observed[batch], *self.gaussian(logits, ~inside)))  # fmt: skip
        return np.concatenate(parts)[which.reshape(-1)]

    def shadowed(self, x: Floats, y: Ints, rng: np.random.Generator) -> tuple[Floats, Bits]:
        """Return (shadows, rows) logits of shadow models with some of the rows among theirs, and which had which."""
        attack, logits = self.attack, []
        inside = _halves(attack.shadows, len(x), rng)
        for chosen in inside:
            if self.limits is not None:
                self.limits.check("LiRA's shadow models were trained")
            more, labels = attack.sample(max(0, attack.size - int(chosen.sum())), rng)
            model = attack.fitted(np.vstack([x[chosen], more]), np.concatenate([y[chosen], labels]), rng)
            logits.append(self.logits(model, x, y))
        return np.array(logits), inside

    def logits(self, model: Target, x: Floats, y: Ints) -> Floats:
        """Return (rows,) the logit of the share that a model gives to the true label, clipped."""
        shares = probabilities(model, x, self.classes)[np.arange(len(x)), y]
        clipped = np.clip(shares, self.attack.clip, 1.0 - self.attack.clip)
        found: Floats = np.log(clipped) - np.log1p(-clipped)
        return found

    def gaussian(self, logits: Floats, used: Bits) -> tuple[Floats, Floats]:
        """Return (rows,) means and deviations over the shadow models that are used for each row."""
        count = used.sum(axis=0)
        mean = np.where(used, logits, 0.0).sum(axis=0) / count
        squares = np.where(used, (logits - mean) ** 2, 0.0)
        pooled = self.attack.shadows < 64 if self.attack.pooled is None else self.attack.pooled
        variance = np.full(len(mean), squares.sum() / count.sum()) if pooled else squares.sum(axis=0) / count
        return mean, np.maximum(np.sqrt(variance), self.attack.floor)


def _log_density(value: Floats, mean: Floats, deviation: Floats) -> Floats:
    """Return the log density of normal laws at values, without the constant that all share."""
    found: Floats = -0.5 * ((value - mean) / deviation) ** 2 - np.log(deviation)
    return found


def _halves(shadows: int, rows: int, rng: np.random.Generator) -> Bits:
    """Return (shadows, rows) who is in which training set: each row in exactly half of them."""
    rank = rng.random((shadows, rows)).argsort(axis=0).argsort(axis=0)
    inside: Bits = rank < shadows // 2
    return inside
