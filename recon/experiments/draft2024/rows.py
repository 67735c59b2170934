"""Training rows as the authors draw them, the domain they tell the attack, and how far a guess is from the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from recon.release.auditing.matching import compare

Bits = NDArray[np.int64]  # rows x binary columns, without the label
# Columns of which exactly one is 1, by their places: what the authors' code tells the attack (its `datasets_infos`).
GROUPS = {
    "compas14": (range(1, 6), range(9, 13)),
    "adult19": (range(3, 9),),
    "credit21": (range(4), range(5, 8)),
}
NAMES = {"compas14": "COMPAS", "adult19": "Adult", "credit21": "Default Credit"}
DRAWN = 1_500  # rows that the authors draw: the first are the training rows, the others test rows
REPEATS = 10  # guesses without the release
BASELINES = {  # the guesses, in words
    "error_uniform": "random rows (prior)",
    "error_frequencies": "column frequencies (needs the data)",
    "error_others": "other rows of the file (needs such rows)",
}


@dataclass(frozen=True, eq=False)
class TrainingSample:
    """Features and labels of training and of other rows of the same file, and the domain that an attack knows."""

    x: pd.DataFrame
    y: pd.Series
    x_other: pd.DataFrame
    y_other: pd.Series
    domain: Domain
    blocks: tuple[range, ...]  # columns that are one attribute

    @property
    def truth(self) -> Bits:
        """Return the training rows' features."""
        return self.x.to_numpy(dtype=np.int64)


def drawn(dataset: str, frame: pd.DataFrame, rows: int, seed: int) -> TrainingSample:
    """Return the rows of a seed: the first of `frame.sample(1500, random_state=seed)`, as the authors' code does.

    More are drawn where the training rows would leave fewer others than there are training rows.
    """
    some = frame.sample(n=min(len(frame), max(DRAWN, 2 * rows)), random_state=seed, ignore_index=True)
    return divided(dataset, frame, some, rows)


def divided(dataset: str, frame: pd.DataFrame, some: pd.DataFrame, rows: int) -> TrainingSample:
    """Return the first rows of `some` for training and the others beside them; the domain is that of `frame`."""
    names = list(frame.columns)
    features, label = names[:-1], names[-1]
    one_hot = [[names[j] for j in group] for group in GROUPS[dataset]]
    domain = Domain.from_frame(frame, label=label, one_hot=one_hot, strict=True)
    train, other = some.iloc[:rows], some.iloc[rows:]
    return TrainingSample(
        train[features], train[label], other[features], other[label], domain, _blocks(dataset, len(features))
    )


def _blocks(dataset: str, columns: int) -> tuple[range, ...]:
    """Return the columns in blocks: those of one attribute together."""
    grouped = {j for group in GROUPS[dataset] for j in group}
    return (*GROUPS[dataset], *(range(j, j + 1) for j in range(columns) if j not in grouped))


def error(truth: Bits, guess: Bits) -> float:
    """Return the mean share of columns that differ after the best matching of rows, whatever their labels.

    This is the authors' `average_error`: labels take no part in it, rows of different classes may be matched.
    """
    right = compare(truth, guess).cells_right
    assert right is not None
    return 1.0 - right


def right(truth: Bits, guess: Bits) -> float:
    """Return the largest share of rows that can be matched with an equal one."""
    return compare(truth, guess).share_right


def baselines(some: TrainingSample, seed: int) -> dict[str, float]:
    """Return the mean errors of guesses without the release.

    `error_uniform`: rows uniform over the domain (the authors' random baseline: the prior of every count of worlds);
    `error_frequencies`: every attribute's own values in a random order (needs the data); `error_others`: as many
    other rows of the same file (needs such rows).
    """
    dice, truth = np.random.default_rng(seed), some.truth
    others = some.x_other.to_numpy(dtype=np.int64)
    guesses: dict[str, Callable[[], Bits]] = {
        "error_uniform": lambda: _uniform(some.blocks, len(truth), dice),
        "error_frequencies": lambda: _shuffled(some.blocks, truth, dice),
        "error_others": lambda: others[dice.choice(len(others), len(truth), replace=False)],
    }
    return {name: float(np.mean([error(truth, guess()) for _ in range(REPEATS)])) for name, guess in guesses.items()}


def _uniform(blocks: tuple[range, ...], rows: int, dice: np.random.Generator) -> Bits:
    """Return rows drawn uniformly from all that can exist."""
    out = np.zeros((rows, sum(map(len, blocks))), dtype=np.int64)
    for block in blocks:
        if len(block) == 1:
            out[:, block[0]] = dice.integers(0, 2, rows)
        else:
            out[np.arange(rows), block[0] + dice.integers(0, len(block), rows)] = 1
    return out


def _shuffled(blocks: tuple[range, ...], truth: Bits, dice: np.random.Generator) -> Bits:
    """Return the rows with every attribute's values in an order of their own."""
    out = np.empty_like(truth)
    for block in blocks:
        out[:, list(block)] = dice.permutation(truth[:, list(block)], axis=0)
    return out
