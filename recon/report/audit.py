"""The public audit: every question an officer asks of a release, and the report on what was found."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.answers.counting import convention_of
from recon.auditing.auditing import (
    by_position,
    certificate_of,
    emptiness,
    group_disclosure,
    stored_outright,
    what_noise_bought,
)
from recon.auditing.determined_rows import beside_truth
from recon.auditing.findings import Findings
from recon.auditing.ground_truth import check_truth
from recon.bounds.intervals import IntervalCells, interval_cells
from recon.leaf_values.determined import determined
from recon.leaf_values.remedies import remedies as remedies_of
from recon.loading.settled import as_released, settled_release
from recon.located.against_truth import compared
from recon.measures.figures import empty
from recon.measures.measures import measure
from recon.report.report import Report
from solvers.foundation.errors import EmptyConfidenceSet, Unsupported
from solvers.foundation.limits import Limits
from solvers.questions.query import CountAnswer

COUNTING = 5.0  # seconds, of worlds over attributes of any numbers where positions are known


def audit(
    release: EncodedRelease,
    policy: None = None,
    *,
    convention: str | None = None,
    truth: pd.DataFrame | None = None,
    population: pd.DataFrame | None = None,
    without_noise: EncodedRelease | None = None,
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
    if policy is not None:
        raise Unsupported("policies are not read by this version")
    limits = limits or Limits()
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
        return Report(Findings(release, none, groups, empty=emptiness(release, error, limits)))
    checked = None if truth is None else check_truth(release, truth, population, first, seed, limits)
    bought = None if without_noise is None else what_noise_bought(release, without_noise, limits)
    proved = certificate_of(release, first, limits)
    cells = IntervalCells() if first.status == "unsat" else interval_cells(release, limits)
    # cells that leaf values prove are nothing that was published; where these fail, classes were dropped
    groups = group_disclosure(as_released(release) if release.statements.settled is not None else release)
    beside = None if rows is None or truth is None or len(truth) != rows.rows else compared(rows, truth)
    located = Findings(release, first, groups, positions=rows, positions_truth=beside)
    located = with_leaf_values(located, truth, population, seed, limits if remedies else None)
    return Report(replace(located, truth=checked, certificate=proved, bought=bought, stored=stored, intervals=cells))


def with_leaf_values(
    found: Findings, truth: pd.DataFrame | None, population: pd.DataFrame | None, seed: int, remedied: Limits | None
) -> Findings:
    """Return the findings with what leaf values give back, and, where limits are given for it, published otherwise."""
    if found.measures.status == "unsat":
        return found
    release = found.release
    known = determined(release)  # settled before
    if not known:
        return found
    beside = tuple(None if truth is None else beside_truth(release, one, truth, population, seed) for one in known)
    trees = [t for t in (10, 30) if t < max(one.trees for one in known)]
    table = None if remedied is None else remedies_of(release, trees=trees, limits=remedied)
    return replace(found, determined=known, determined_truth=beside, remedies=table)
