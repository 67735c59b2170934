"""What is known of profiles where no engine answered within the limits: that the rows are 0 to all of them.

Profiles that were read always get their line: an exhausted limit makes a verdict unknown, never the table empty.

Why an answer is only bounded, in one plain sentence: what engines say of themselves stays in the trail (--json). Why
nothing can be said of rows by their position.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from solvers.engines.chain import ask
from solvers.foundation.errors import EXTRAS, EmptyConfidenceSet, Inconclusive
from solvers.foundation.limits import Limits, ended
from solvers.foundation.parallel.pieces import STARTING, completed_with
from solvers.statements.questions.answers import Answer, DecideAnswer, LeaveOneOutAnswer, ShareAnswer
from solvers.statements.questions.query import Convention, Decide, LeaveOneOut, Selections, ShareQuery
from solvers.statements.release import UNBOUNDED, Release

TIME = "the time was up (--time)"
SOLVERS = "|".join(package for package, extra in EXTRAS.items() if extra == "solvers")
# What engines say, and what it means to somebody who does not know them; the first that is found comes first.
MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"(?:^|;)([^;]*not all is used of the bags[^;]*|[^;]*is not used where[^;]*|[^;]*is used in part only)",
        "some of what is published is not used ({})",
    ),
    (
        r"more than ([\d,]+) live cells",
        "the models cut the possible rows into more than {} cells, the combinations of their regions (--max-cells)",
    ),
    (
        r"continuous attribute has no 'resolution'",
        "a continuous attribute has no resolution, so worlds are not countable",
    ),
    (r"a data set was found that the statements hold of", "a data set that fits is known (recon reconstruct)"),
    (rf"((?:{SOLVERS}) is not installed: [^;]+)", "{}"),
    (r"too many values to cut at each", "an attribute that is summed has too many values to distinguish them all"),
    (r"(the clock \(--time\) cut short: [^;]+)", "{}"),
    (r"the time was up|time ran out|out of time|found in time|settled in time", TIME),
    (
        r"a component of ([\d,]+) cells and ([\d,]+) statements",
        "{} cells are tied together by {} statements, too many to count every combination",
    ),
    (
        r"\d free cells are too many|states of histograms|edges of histograms|component is too large to bound",
        "the counts tie too many cells together to count every combination",
    ),
    (r"no diagram|nodes of a diagram|between bounds", "the regions of the rules are too entangled to be sized exactly"),
    (r"the number of rows", "the number of rows is open"),
    (r"\(--memory\)|memory limit", "more memory would be needed than is allowed (--memory)"),
)
SECONDARY = 2  # the last meanings are given only where no other is found


def plain_reasons(trail: Sequence[str]) -> str:
    """Return why no engine gave an exact answer, in words without engines."""
    text, found = ";".join(line.strip() for line in trail), list[str]()
    for pattern, meaning in MEANINGS[:-SECONDARY]:
        if (match := re.search(pattern, text)) is not None:
            found.append(meaning.format(*match.groups()))
    tied = [i for i, reason in enumerate(found) if "every combination" in reason]
    for i in reversed(tied[1:]):
        del found[i]
    if not found:
        found = [meaning for pattern, meaning in MEANINGS[-SECONDARY:] if re.search(pattern, text)][:1]
    return "; ".join(found) or "no exact method copes with it within the limits"


def no_reconstruction(trail: Sequence[str]) -> str:
    """Return why no training set was given back, from what every engine said."""
    if any("no possible world was found in time" in line for line in trail):
        return "no reconstruction: no training set that agrees with the release was found in time (--time)"
    return f"no reconstruction: {plain_reasons(trail)}"


CHUNK = 500  # distinct selections that are decided in one go where there are processes for others


def _given_up(release: EncodedRelease, limits: Limits | None, after: DecideAnswer | None) -> Inconclusive | None:
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
    if why := _given_up(release, limits, after):
        return _open_rows(release, len(chosen), why)
    try:
        return _answered(release, chosen, convention, limits)
    except EmptyConfidenceSet:
        raise
    except Inconclusive as error:
        return _open_rows(release, len(chosen), error)


def _answered(
    release: EncodedRelease, chosen: Selections, convention: Convention, limits: Limits | None
) -> DecideAnswer:
    """Return the engines' answer, of many selections chunk by chunk where there are processes for them."""
    if limits is None or len(chosen) < 2 * CHUNK or (limits.workers <= 1 and not limits.cluster):
        return ask(release.statements, Decide(chosen, convention), DecideAnswer, limits)
    distinct, back = chosen.distinct()
    cuts = range(0, len(distinct), CHUNK)
    chunks = [(Selections(distinct.codes[i : i + CHUNK], distinct.sizes), convention) for i in cuts]
    parts: list[DecideAnswer | Inconclusive] = [Inconclusive(ended(limits))] * len(chunks)
    done = completed_with(release.statements, of_chunk, chunks, limits, what="chunks of profiles", alone=STARTING)
    for k, found in done:
        parts[k] = found
    if all(isinstance(part, Inconclusive) for part in parts):
        raise next(part for part in parts if isinstance(part, Inconclusive))
    known = [
        _open_rows(release, len(chunk), part) if isinstance(part, Inconclusive) else part
        for (chunk, _), part in zip(chunks, parts, strict=True)
    ]
    return _combined_answer(known).at(back)


def of_chunk(statements: Release, chunk: tuple[Selections, Convention], limits: Limits) -> DecideAnswer | Inconclusive:
    """Return the engines' answer for some selections, or why there is none within the limits."""
    try:
        return ask(statements, Decide(*chunk), DecideAnswer, limits)
    except EmptyConfidenceSet:
        raise
    except Inconclusive as error:
        return error


def _combined_answer(parts: Sequence[DecideAnswer]) -> DecideAnswer:
    """Return the answer for the selections of all parts, as good as the worst of them."""
    names = ("low", "high", "probability", "before", "expected", "expected_before", "open")
    arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    worst = next((part for part in parts if part.status != "exact"), parts[0])
    trail = tuple(dict.fromkeys(line for part in parts for line in part.trail))
    multipliers = {side: m for part in parts for side, m in part.multipliers.items()}
    seconds = sum(part.seconds for part in parts)
    return replace(worst, **arrays, trail=trail, multipliers=multipliers, seconds=seconds)


def _open_rows(release: EncodedRelease, number: int, error: Inconclusive) -> DecideAnswer:
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
        if why := _given_up(release, limits, after):
            raise why
        return ask(release.statements, query, LeaveOneOutAnswer, limits)
    except EmptyConfidenceSet:
        raise
    except Inconclusive as error:
        return LeaveOneOutAnswer("bounds", trail=(str(error),), share=np.full(len(query.inner), np.nan))


def share(
    release: EncodedRelease, query: ShareQuery, limits: Limits | None, after: DecideAnswer | None = None
) -> ShareAnswer:
    """Return the bounds on shares, 0 to 1 where the limits leave no answer; `after`: see `decide`."""
    try:
        if why := _given_up(release, limits, after):
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


_UNKNOWN = "which rows each tree drew is not known:"  # how the reader of forests begins to say it
_INSTEAD = "recon certify, recon bound and recon reconstruct ask about rows in whatever order"


def no_positions_reason(release: EncodedRelease) -> str:
    """Return why nothing can be said by position, and what to ask instead; "" where known bags tell rows apart.

    A row has a position only by what trees drew of it: how often each one did.
    """
    if release.statements.bags:
        return ""
    if any(model.resampled for model in release.models):
        said = [line for line in release.reader_notes if line.startswith(_UNKNOWN)]
        why = f" ({said[0].removeprefix(_UNKNOWN).strip()})" if said else ""
        return (
            f"nothing is proved by position: which rows each tree drew is not known{why}: without the bags "
            f"(multiplicities) rows cannot be distinguished; {_INSTEAD}"
        )
    return (
        "nothing is proved by position: no model was fitted on resamples, each saw all rows alike, so that nothing "
        f"says which row stood where in the training file; {_INSTEAD}"
    )
