"""Guessing a column of rows whose other columns are known: with a model's answers, and without any model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recon.attacks.evaluation import clopper_pearson
from recon.queries.inputs import Bits, Floats, Ints, Records, Target, predicted, probabilities
from solvers.foundation.errors import ReleaseError, Unsupported, installing

MOST_FREQUENT = "most frequent value"
IMPUTED = "imputed without the model"
AGREEMENT = "agreement with the label, times the prior"
BOTH = "imputed with the model's answers"


@dataclass(frozen=True)
class AttributeGuess:
    """How often one way of guessing is right, on training rows and on others, with Clopper-Pearson intervals.

    `advantage`: accuracy on training rows minus that on others (Yeom et al. 2018). `gain`: accuracy on training rows
    beyond imputation without the model, same rows, with its paired interval (normal approximation).
    """

    way: str
    members: float
    members_low: float
    members_high: float
    others: float
    others_low: float
    others_high: float
    advantage: float
    gain: float
    gain_low: float
    gain_high: float


def attribute_inference(target: Target, rows: Records, member: Bits, sensitive: Sequence[int], known: Records,
                        seed: int, confidence: float = 0.95) -> list[AttributeGuess]:  # fmt: skip
    """Return how well four ways guess the columns `sensitive` (one column, or a one-hot group) of `rows`.

    The attacker knows the other columns and the true label of `rows`, and has rows `known` of the same law, not trained
    on. (1) the value most frequent there; (2) imputation: a random forest from the other columns and the label, without
    the model; (3) the value whose prediction agrees best with the label, by the model's confusion on `known`, times
    the value's frequency; (4) the forest of (2) that also sees what the model says of each value. Whatever (2) finds,
    the model did not give away. Raises `ReleaseError` where the columns have one value only among `known`, or a value
    in `rows` is none of theirs; `Unsupported` without scikit-learn. Cost: two forests, `values` calls of the model.
    Source: Fredrikson et al. 2014, figure 2 (3); Yeom et al. 2018, Adversary 5; Jayaraman and Evans 2022 (2).
    """
    at = list(sensitive)
    values = np.unique(known.x[:, at], axis=0)
    if len(values) < 2:
        names = ", ".join(known.columns.names[i] for i in at)
        raise ReleaseError(f"column {names} has one value only: there is nothing to guess")
    truth, known_truth = _numbered(rows.x[:, at], values), _numbered(known.x[:, at], values)
    classes = len(known.classes)
    prior = np.bincount(known_truth, minlength=len(values)) / len(known)
    confusion = _confusion_of(target, known, classes)
    guesses = {
        MOST_FREQUENT: np.full(len(rows), int(prior.argmax()), dtype=np.int64),
        IMPUTED: _imputed(_without(known, at), known_truth, _without(rows, at), len(values), seed),
        AGREEMENT: (_agreement(target, rows, at, values, confusion) * prior).argmax(axis=1),
        BOTH: _imputed(
            np.hstack([_without(known, at), _answers(target, known, at, values)]), known_truth,
            np.hstack([_without(rows, at), _answers(target, rows, at, values)]), len(values), seed,
        ),
    }  # fmt: skip
    right = {way: found == truth for way, found in guesses.items()}
    return [_judged(way, found, right[IMPUTED], np.asarray(member, dtype=bool), confidence)
            for way, found in right.items()]  # fmt: skip


def _numbered(x: Floats, values: Floats) -> Ints:
    """Return (rows,) which of the values each row has; `ReleaseError` for one that none has."""
    hits = (x[:, None, :] == values[None, :, :]).all(axis=2)
    if not hits.any(axis=1).all():
        row = int(np.flatnonzero(~hits.any(axis=1))[0])
        raise ReleaseError(f"row {row} has {x[row].tolist()} in the column to be guessed, which no known row has")
    found: Ints = hits.argmax(axis=1).astype(np.int64)
    return found


def _without(rows: Records, at: list[int]) -> Floats:
    """Return the other columns and the true label, one column per class."""
    return np.column_stack([np.delete(rows.x, at, axis=1), np.eye(len(rows.classes))[rows.y]])


def _confusion_of(target: Target, known: Records, classes: int) -> Floats:
    """Return (predicted, true) the share of rows of each predicted class by true class, one row of each added."""
    found = np.ones((classes, classes))
    np.add.at(found, (predicted(target, known.x, classes), known.y), 1)
    shares: Floats = found / found.sum(axis=1, keepdims=True)
    return shares


def _with_sensitive_value(rows: Records, at: list[int], value: Floats) -> Floats:
    """Return the rows with a value in the sensitive columns."""
    x = rows.x.copy()
    x[:, at] = value
    return x


def _agreement(target: Target, rows: Records, at: list[int], values: Floats, confusion: Floats) -> Floats:
    """Return (rows, values) how probable the true label is given what the model predicts with each value."""
    said = [predicted(target, _with_sensitive_value(rows, at, value), len(rows.classes)) for value in values]
    found: Floats = np.stack([confusion[one, rows.y] for one in said], axis=1)
    return found


def _answers(target: Target, rows: Records, at: list[int], values: Floats) -> Floats:
    """Return (rows, values) the model's probability of the true label with each value."""
    each = np.arange(len(rows))
    said = [
        probabilities(target, _with_sensitive_value(rows, at, value), len(rows.classes))[each, rows.y]
        for value in values
    ]
    return np.stack(said, axis=1)


def _imputed(x: Floats, y: Ints, asked: Floats, values: int, seed: int) -> Ints:
    """Return (rows,) the values that a forest trained on x, y names; no more is tuned with the model than without."""
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError:
        raise Unsupported(f"attribute inference needs scikit-learn: {installing('sklearn')}") from None
    fitted = RandomForestClassifier(100, min_samples_leaf=5, random_state=seed).fit(x, y)
    return predicted(fitted, asked, values)


def _judged(way: str, right: Bits, plain: Bits, member: Bits, confidence: float) -> AttributeGuess:
    """Return one way's figures; `plain`: where imputation without the model is right."""
    from scipy.special import ndtri

    inside, outside = right[member], right[~member]
    if not (len(inside) and len(outside)):
        raise ReleaseError("attribute inference is judged on training rows and on others: one of both is missing")
    shares = [float(part.mean()) for part in (inside, outside)]
    ends = [clopper_pearson(int(part.sum()), len(part), confidence) for part in (inside, outside)]
    apart = right[member].astype(np.float64) - plain[member]
    error = float(apart.std() / np.sqrt(len(apart))) * float(ndtri(0.5 + confidence / 2))
    gain = float(apart.mean())
    return AttributeGuess(way, shares[0], *ends[0], shares[1], *ends[1], shares[0] - shares[1],
                          gain, gain - error, gain + error)  # fmt: skip
