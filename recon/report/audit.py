"""The public audit: every question an officer asks of a release, and the report on what was found."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.answers.counting import convention_of
from recon.auditing.auditing import (
    by_position,
    certificate_wanted,
    certified,
    emptiness,
    feasible,
    group_disclosure,
    grouped,
    otherwise,
    stored_outright,
    true_beside,
    what_noise_bought,
)
from recon.auditing.findings import Findings
from recon.auditing.ground_truth import checked, first_asked
from recon.auditing.spreading import Asked, Question, Turn
from recon.bounds.intervals import IntervalCells
from recon.leaf_values.determined import Determined, determined
from recon.leaf_values.remedies import remedies_of, table_of
from recon.loading.asking import Released, release_of
from recon.loading.settled import Travelling, as_released, settled_release
from recon.located.against_truth import compared
from recon.measures.figures import Measures, empty
from recon.measures.measures import measure
from recon.report.report import Report
from solvers.foundation.errors import EmptyConfidenceSet, Unsupported
from solvers.foundation.limits import Limits
from solvers.parallel.opening import kept_open
from solvers.questions.query import CountAnswer

LARGE = 1.0  # seconds: where the measures take longer, the questions behind them are spread at once
COUNTING = 5.0  # seconds, of worlds over attributes of any numbers where positions are known


def audit(
    release: Released,
    policy: None = None,
    *,
    convention: str | None = None,
    truth: pd.DataFrame | None = None,
    population: pd.DataFrame | None = None,
    without_noise: Released | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    remedies: bool = False,
) -> Report:
    """Return the report on a release: worlds, uncertainty left, exposure, group disclosure and, given it, the truth.

    `truth` are the real training rows, `population` other rows of the same kind (for the fresh-sample baseline).
    `without_noise` is the same release with exact counts, to say what the noise bought. `remedies`: work out what
    boosted models give back with rounded leaf values or fewer trees (at most a minute each). Raises what `count`
    raises. A `policy` is refused by this version.
    """
    release = release_of(release, limits)
    if policy is not None:
        raise Unsupported("policies are not read by this version")
    exact = None if without_noise is None else release_of(without_noise, limits)
    limits = limits or Limits()
    with kept_open():
        return Report(findings(release, convention, truth, population, exact, limits, seed, remedies))


def findings(
    release: EncodedRelease, convention: str | None, truth: pd.DataFrame | None, population: pd.DataFrame | None,
    without_noise: EncodedRelease | None, limits: Limits, seed: int, remedies: bool,
) -> Findings:  # fmt: skip
    """Return what an audit finds; see `audit`."""
    begun = time.monotonic()
    stored = stored_outright(release, limits)  # first: the surest of all, and quick
    release = settled_release(release, limits)
    rows = by_position(release, limits)
    # Single values are told apart by position there; to count worlds of any numbers has nothing to add.
    some = limits if rows is None or not release.domain.continuous else limits.lasting(min(COUNTING, limits.left()))
    try:
        first = measure(release, convention, some)
    except EmptyConfidenceSet as error:
        none = empty(release, convention_of(release, convention), CountAnswer("unsat"))
        groups = group_disclosure(as_released(release))
        return Findings(release, none, groups, empty=emptiness(release, error, limits))
    known = () if first.status == "unsat" else determined(release)  # settled before
    large = time.monotonic() - begun > LARGE or (remedies and bool(known))
    turn = Turn(Asked(Travelling.of(release), truth, population, seed), limits, large)
    answers: dict[Any, Any] = turn.answers(dict(asked(turn.asked, first, known, remedies)), "questions of the audit")
    checks = None if truth is None else checked(turn, first, answers)
    bought = None if without_noise is None else what_noise_bought(release, without_noise, limits)
    beside = None if rows is None or truth is None or len(truth) != rows.rows else compared(rows, truth)
    tried = [answers["remedy", k] for k in range(len(answers)) if ("remedy", k) in answers]
    return Findings(
        release, first, answers["groups"], checks, answers["certificate"], bought, stored, None,
        answers.get("intervals", IntervalCells()), rows, beside, known,
        tuple(answers.get(("beside", one.number)) for one in known), table_of(tried) if tried else None,
    )  # fmt: skip


def asked(
    about: Asked, first: Measures, known: Sequence[Determined], remedies: bool
) -> Iterator[tuple[Hashable, Question]]:
    """Yield the questions that need nothing but the release and its measures by their names.

    What matters most comes first: where time is short, the last are those that are left out.
    """
    if about.truth is not None:
        yield from first_asked(about.release, first).items()
    yield "certificate", (certified, certificate_wanted(about.release, first))
    if first.status != "unsat":
        yield "intervals", (feasible, None)
    yield "groups", (grouped, None)
    if about.truth is not None:
        yield from ((("beside", one.number), (true_beside, one)) for one in known)
    if remedies and known:
        fewer = [t for t in (10, 30) if t < max(one.trees for one in known)]
        yield from ((("remedy", k), (otherwise, one)) for k, one in enumerate(remedies_of(trees=fewer)))
