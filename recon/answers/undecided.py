"""What is known of profiles where no engine answered within the limits: that the rows are 0 to all of them.

Profiles that were read always get their line: an exhausted limit makes a verdict unknown, never the table empty.
"""

from __future__ import annotations

import numpy as np

from encoders.encode.encoder import EncodedRelease
from recon.answers.reasons import plain_reasons
from solvers.chain import ask
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive
from solvers.foundation.limits import Limits
from solvers.questions.query import (
    Answer,
    Convention,
    Decide,
    DecideAnswer,
    LeaveOneOut,
    LeaveOneOutAnswer,
    Selections,
    Share,
    ShareAnswer,
)
from solvers.statements.release import UNBOUNDED


def given_up(release: EncodedRelease, limits: Limits | None, after: DecideAnswer | None) -> Inconclusive | None:
    """Return why nothing more is asked: the time is up, and the question before was left open; None where it is.

    Where bags are known, what was proved about every position is remembered and costs no more than a look.
    """
    if after is None or limits is None or not limits.expired() or not after.open.any() or release.statements.bags:
        return None
    return Inconclusive("; ".join(after.trail))


def decide(
    release: EncodedRelease,
    chosen: Selections,
    convention: Convention,
    limits: Limits | None,
    after: DecideAnswer | None = None,
) -> DecideAnswer:
    """Return bounds on the rows of every selection; 0 to all rows, open, where the limits leave no answer.

    `after` is the answer before: where it was left open for want of time, nothing is asked any more. Raises what the
    engines raise but `Inconclusive`: `EmptyConfidenceSet` and `ContradictionError` are answers.
    """
    if why := given_up(release, limits, after):
        return open_rows(release, len(chosen), why)
    try:
        return ask(release.statements, Decide(chosen, convention), DecideAnswer, limits)
    except EmptyConfidenceSet:
        raise
    except Inconclusive as error:
        return open_rows(release, len(chosen), error)


def open_rows(release: EncodedRelease, number: int, error: Inconclusive) -> DecideAnswer:
    """Return what is known without an answer: 0 rows at least, all rows at most (UNBOUNDED where they are open)."""
    maximum = UNBOUNDED if release.rows.high is None else release.rows.high
    low, high, every = (
        np.zeros(number, dtype=np.int64),
        np.full(number, maximum, dtype=np.int64),
        np.ones(number, dtype=bool),
    )
    nothing = np.full(number, np.nan)
    return DecideAnswer.of(low, high, trail=tuple(str(error).split("; ")), probability=nothing, open=every)


def leave_one_out(
    release: EncodedRelease, query: LeaveOneOut, limits: Limits | None, after: DecideAnswer | None = None
) -> LeaveOneOutAnswer:
    """Return the shares without the person's own row, NaN where the limits leave no answer; `after`: see `decide`."""
    if unused := release.statements.unstated:  # which datasets are worlds is not known, nor how they share out
        return LeaveOneOutAnswer("bounds", trail=unused, share=np.full(len(query.inner), np.nan))
    try:
        if why := given_up(release, limits, after):
            raise why
        return ask(release.statements, query, LeaveOneOutAnswer, limits)
    except EmptyConfidenceSet:
        raise
    except Inconclusive as error:
        return LeaveOneOutAnswer("bounds", trail=(str(error),), share=np.full(len(query.inner), np.nan))


def share(
    release: EncodedRelease, query: Share, limits: Limits | None, after: DecideAnswer | None = None
) -> ShareAnswer:
    """Return the bounds on shares, 0 to 1 where the limits leave no answer; `after`: see `decide`."""
    try:
        if why := given_up(release, limits, after):
            raise why
        return ask(release.statements, query, ShareAnswer, limits)
    except EmptyConfidenceSet:
        raise
    except Inconclusive as error:
        nothing = np.zeros(len(query.outer))
        return ShareAnswer("bounds", trail=(str(error),), lower=nothing, upper=nothing + 1.0)


def why_open(found: Answer) -> list[str]:
    """Return the note on profiles that were left open, [] where none was."""
    if isinstance(found, DecideAnswer) and found.open.any():
        return [f"not decided: {int(found.open.sum()):,} profiles; {plain_reasons(found.trail)}"]
    return []
