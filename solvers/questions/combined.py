"""What several engines say about one question, as one answer: the best of all proved bounds, verdicts of any of them.

Every bound is proved by itself, so the greatest lower and the least upper one hold together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import EngineError
from solvers.questions.answers import (
    Answer,
    CountAnswer,
    DecideAnswer,
    ExtremeAnswer,
    ShareAnswer,
    Status,
    settled_share,
)
from solvers.questions.query import Decide, Query, Selections

NEAR = 1e-9  # relative: bounds on log2 that cross by less differ by rounding


def left_open(query: Query, answer: Answer) -> Query | None:
    """Return what of a question an answer leaves to be asked of other engines, None where it settles it.

    Open are questions without any answer, a count without a known world, an extreme without a bound at one of its
    ends, and the selections whose verdict is open.
    """
    if answer.status == "unknown":
        return query
    if isinstance(answer, CountAnswer) and answer.status == "bounds" and answer.estimate is None:
        return query if answer.bounds[0] == -np.inf else None
    if isinstance(answer, ExtremeAnswer) and None in answer.bounds:
        return query
    if isinstance(answer, DecideAnswer) and isinstance(query, Decide) and answer.open.any():
        return replace(query, selections=Selections(query.selections.codes[answer.open], query.selections.sizes))
    return None


def combined(answer: Answer, other: Answer) -> Answer:
    """Return one answer for two about the same question; of selections `other` is about those that `answer` left open.

    Raises `EngineError` where their bounds exclude each other.
    """
    if answer.status == "unknown" or (other.status in {"unsat", "exact"} and not isinstance(other, DecideAnswer)):
        return other
    if isinstance(answer, CountAnswer) and isinstance(other, CountAnswer):
        return counted(answer, other)
    if isinstance(answer, ExtremeAnswer) and isinstance(other, ExtremeAnswer):
        return reached(answer, other)
    if isinstance(answer, ShareAnswer) and isinstance(other, ShareAnswer):
        return shared(answer, other)
    if isinstance(answer, DecideAnswer) and isinstance(other, DecideAnswer):
        return decided(answer, other)
    return other if other.status == "unsat" else answer


def counted(answer: CountAnswer, other: CountAnswer) -> CountAnswer:
    """Return the best bounds on a number of worlds, and the estimate of either."""
    low, high = max(answer.bounds[0], other.bounds[0]), min(answer.bounds[1], other.bounds[1])
    if low > high + NEAR * (1.0 + abs(high)):
        raise EngineError(f"log2 of the number of worlds is at least {low} and at most {high}")
    estimate = answer if answer.estimate is not None else other
    bounds = low, max(low, high)
    return replace(answer, bounds=bounds, estimate=estimate.estimate, guarantee=estimate.guarantee)


def shared(answer: ShareAnswer, other: ShareAnswer) -> ShareAnswer:
    """Return the best bounds on shares; undefined where either knows that no world has one."""
    lower, upper = np.maximum(answer.lower, other.lower), np.minimum(answer.upper, other.upper)
    return replace(answer, lower=lower, upper=upper)


def reached(answer: ExtremeAnswer, other: ExtremeAnswer) -> ExtremeAnswer:
    """Return the best bounds on an extreme, with the world of the answer that has one."""
    lows, highs = ([x for x in ends if x is not None] for ends in zip(answer.bounds, other.bounds, strict=True))
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        raise EngineError(f"an extreme is at least {low} and at most {high}")
    world = answer if answer.histogram is not None else other
    status: Status = "exact" if low is not None and low == high and world.histogram is not None else "bounds"
    return replace(answer, status=status, bounds=(low, high), histogram=world.histogram, world=world.world)


def decided(answer: DecideAnswer, other: DecideAnswer, at: NDArray[np.intp] | None = None) -> DecideAnswer:
    """Return the best bounds on the rows of every selection, and the verdicts of both.

    `other` is about the selections `at` of `answer` (None: those that it left open).
    """
    at = np.flatnonzero(answer.open) if at is None else at
    low, high, unsettled = answer.low.copy(), answer.high.copy(), answer.open.copy()
    probability, expected = answer.probability.copy(), answer.expected.copy()
    low[at], high[at] = np.maximum(low[at], other.low), np.minimum(high[at], other.high)
    if (low > high).any():
        raise EngineError("engines' bounds on the rows of a selection exclude each other")
    unsettled[at] &= other.open & (low[at] <= 0) & (high[at] > 0)
    share = settled_share(low[at], high[at], other.probability)
    probability[at], expected[at] = share, np.where(np.isnan(expected[at]), other.expected, expected[at])
    multipliers = {**answer.multipliers, **other.multipliers}
    return replace(
        answer, low=low, high=high, open=unsettled, probability=probability, expected=expected, multipliers=multipliers
    )


def left_to_others(query: Query, answer: Answer) -> Query | None:
    """Return what other engines may still add to an answer about bags that they do not use; None: nothing.

    Of selections those whose number of rows is not known.
    """
    if answer.status == "unknown":
        return query
    if answer.status in {"unsat", "exact"} or not isinstance(answer, CountAnswer | DecideAnswer | ShareAnswer):
        return None
    if isinstance(answer, DecideAnswer) and isinstance(query, Decide):
        at = unequal(answer)
        return (
            replace(query, selections=Selections(query.selections.codes[at], query.selections.sizes))
            if len(at)
            else None
        )
    return query


def unequal(answer: DecideAnswer) -> NDArray[np.intp]:
    """Return the selections whose number of rows is not known."""
    return np.flatnonzero(answer.low < answer.high)


def joined(query: Query, whole: Answer, outer: Answer) -> Answer:
    """Return one answer for one from engines that use the bags and what others prove of `left_to_others`.

    The guarantee and the status are those of bounds; what was said on the way stands one after the other.
    """
    if outer.status == "unknown" or whole.status in {"unsat", "exact"}:
        return replace(whole, trail=(*whole.trail, *outer.trail))
    trail = (*whole.trail, *outer.trail)
    if isinstance(whole, DecideAnswer) and isinstance(outer, DecideAnswer):
        return replace(decided(whole, outer, unequal(whole)), trail=trail)
    return replace(combined(whole, outer), trail=trail)
