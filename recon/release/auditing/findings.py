"""What an audit found, as frozen values between the audit (which asks) and the report (which formats).

The true rows beside the release: are they a possible world, and how much does a reconstruction have right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.counting import no_reconstruction, plain_reasons
from recon.queries.bounds.disclosure import IntervalCells, ValueDisclosure
from recon.queries.leaf_values.determined import Determined
from recon.queries.measures.figures import Measures
from recon.readers.inspection.inspecting import Inspection
from recon.readers.loading.settled import PicklableRelease, as_released
from recon.release.auditing.together import AuditContext, JointDisclosure, Question, QuestionBatch
from solvers.foundation.errors import ContradictionError, EmptyConfidenceSet, Inconclusive, Unsupported
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

    from recon.queries.located.placed_rows import PlacedRows
    from recon.queries.noisy.posterior import Posterior
    from recon.queries.questions.which_columns import OpenedLabels
    from recon.release.auditing.matching import Comparison, Match
    from recon.release.auditing.together import PositionGroups


GroupSize = tuple[int, int, str, int, int]  # least and most rows, name, block and region of the statements


@dataclass(frozen=True)
class GroupDisclosure:
    """What the published counts say about groups, without any reconstruction.

    `pure` regions hold rows of one class only: whoever is known to be in the data and in the region has that
    class (name, class, least and most rows). `zeros` are (region, class) cells with no row. `small` are regions with
    fewer than 10 rows, whatever their interval leaves; `perhaps_small` those that may have so few (name, least and most
    rows: one count where it was published). `smallest`: of exact counts the smallest. `rows_in_pure`: the rows (at
    least) in pure regions of one of the `models` (trees, rule lists) that were looked at, the one with the most;
    `rows_in_pure_summed` over all of them counts the same person several times. `undefined`: why nothing can be said
    of classes ("": it can). `small_cells`: exact counts of one class below 10 rows in groups that have more
    (name, class, rows). `sizes`: every group that may have rows; `cells`: least and most rows of a class in a group,
    the group's name and the class, where there may be any; both with the fewest rows first.
    """

    pure: tuple[tuple[str, str, int, int], ...]
    zeros: tuple[tuple[str, str], ...]
    small: tuple[tuple[str, int, int], ...]
    smallest: int | None
    rows_in_pure: int
    rows_in_pure_summed: int = 0
    models: int = 1
    undefined: str = ""
    values: ValueDisclosure = field(default_factory=ValueDisclosure)
    perhaps_small: tuple[tuple[str, int, int], ...] = ()
    small_cells: tuple[tuple[str, str, int], ...] = ()
    sizes: tuple[GroupSize, ...] = ()
    cells: tuple[tuple[int, int, str, str], ...] = ()


@dataclass(frozen=True)
class TruthCheck:
    """What the true rows say: whether they are a possible world, and how much a reconstruction has right.

    `proved`: of the rows that occur once in the truth, how many are in every possible world (None: not decided). `note`
    says why there is no reconstruction, `trail` what every engine said of it.
    """

    is_world: bool
    violated: tuple[str, ...]
    comparison: Comparison | None
    note: str = ""
    proved: int | None = None
    trail: tuple[str, ...] = ()


@dataclass(frozen=True)
class NoiseEffect:
    """What the noise bought: bits removed per row with it and without, of n log2 S (rows in order), and rows to change.

    `prior_alone`: the bits that the posterior's prior takes away before any count is seen (0 for `worlds`), so that
    much noise leaves about as many. `typical`: rows that change cells on average over the posterior from the exact
    counts; `likely`: to the most likely.
    """

    prior: str
    noisy: float
    exact: float
    prior_alone: float
    typical: float
    likely: float


@dataclass(frozen=True)
class NoiseWorldsEffect:
    """What the noise of coupled models bought: log2 of the worlds left, least and most, with the noise and without.

    With noise the worlds are those inside the joint intervals, in the convention `ordered`.
    """

    confidence: float
    noisy: tuple[float, float]
    exact: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Emptiness:
    """That no dataset has all its noise inside the joint intervals of the release's confidence.

    `certificate` proves it (None: not proved), `found` says which statements clash and how improbable such noise is,
    `posterior` is what the counts say all the same (None: no exact one).
    """

    release: EncodedRelease
    found: EmptyConfidenceSet
    certificate: dict[str, Any] | None
    posterior: Posterior | None


@dataclass(frozen=True)
class AuditFindings:
    """Everything an audit found; the report formats it.

    `certificate`: that there is no possible world, or only one (None: neither, or not proved). `bought`: the noisy
    counts beside the exact ones, where those were given. `stored`: what each model file stores of the training data
    outright, besides what its counts say. `intervals`: cells that were suppressed or published as intervals, and what
    is left of them. `empty`: nothing else was found, for no dataset fits at this confidence. `positions`: what is
    proved about the row at every position of the training file (None: rows have none, or nothing was found in time),
    `position_groups` the groups that follow, `positions_truth`: the true rows beside it (None: not given, or not in the
    order of `fit`), `opens` which few columns, known of everybody, open the labels that are left (no true rows, or no
    time: none). `determined`: how many rows leaf values of boosted models give back, `determined_truth` the true
    rows beside each, `remedies` what is given back if they are published otherwise (None: not asked). `attribute_bits`:
    the bits revealed by attribute; `forced`: rows and values that are certain; `together`: groups that follow from all
    counts; `profiles`: verdicts on the people asked about; `persons`: the exposure of the training rows that were given
    (None: nobody was); `learner_rule`: what knowing the learner adds, in figures and `lines` of words (None: not
    asked). All five as the report's JSON has them (docs/commands.md).
    """

    release: EncodedRelease
    measures: Measures
    groups: GroupDisclosure
    truth: TruthCheck | None = None
    certificate: dict[str, Any] | None = None
    bought: NoiseEffect | NoiseWorldsEffect | None = None
    stored: tuple[Inspection, ...] = ()
    empty: Emptiness | None = None
    intervals: IntervalCells = field(default_factory=IntervalCells)
    positions: PlacedRows | None = None
    positions_truth: Mapping[str, Any] | None = None
    determined: tuple[Determined, ...] = ()
    determined_truth: tuple[Mapping[str, Any] | None, ...] = ()
    remedies: pd.DataFrame | None = None
    attribute_bits: tuple[Mapping[str, Any], ...] = ()
    forced: Mapping[str, Any] | None = None
    profiles: Mapping[str, Any] | None = None
    persons: Mapping[str, Any] | None = None
    learner_rule: Mapping[str, Any] | None = None
    together: JointDisclosure | None = None
    position_groups: PositionGroups | None = None
    opens: tuple[OpenedLabels, ...] = ()


@dataclass(frozen=True)
class ReconstructionGuess:
    """A reconstruction beside the true rows, or why there is none (`note`, and what every engine said)."""

    match: Match | None
    note: str = ""
    trail: tuple[str, ...] = ()


def check_truth(
    release: EncodedRelease,
    truth: pd.DataFrame,
    population: pd.DataFrame | None,
    measures: Measures,
    seed: int,
    limits: Limits | None = None,
) -> TruthCheck:
    """Return whether the true rows are a possible world and how a reconstruction compares with baselines.

    An empty cell of an attribute that may be missing is missing; of any other it is open.
    """
    turn = QuestionBatch(AuditContext(PicklableRelease.of(release), truth, population, seed), limits or Limits())
    asked = first_asked(release, measures)
    return truth_check(turn, measures, turn.answers(asked, "questions about the true rows"))


def first_asked(release: EncodedRelease, measures: Measures) -> dict[str, Question]:
    """Return what is asked of the true rows before anything else, the reconstruction first where there can be one."""
    found: dict[str, Question] = {} if _no_guess(release, measures) else {"guess": (_guessed, None)}
    return found | {"broken": (_contradicted_sources, None)}


def truth_check(turn: QuestionBatch, measures: Measures, answers: Mapping[str, Any]) -> TruthCheck:
    """Return what the true rows say from the answers to `first_asked`, asking what is right by chance, and proved."""
    from recon.release.auditing.matching import Comparison

    violated, found = answers["broken"], answers.get("guess")
    if found is None:
        why = _no_guess(turn.asked.release, measures)
        return TruthCheck(not violated, violated, None, why, trail=measures.counted.trail)
    if found.match is None:
        return TruthCheck(not violated, violated, None, found.note, trail=found.trail)
    chance, limits = turn.asked.chance, turn.limits
    draws: dict[int, Question] = {k: (_right_by_chance, k) for k in range(len(chance.names) * chance.repeats)}
    found_by = turn.answers(draws, "draws without the release", needed=not limits.stop.is_set())
    matches = [found_by.get(k) for k in draws]
    proved = _proved_rows(turn.asked, limits)
    return TruthCheck(not violated, violated, Comparison(found.match, chance.baselines(matches)), proved=proved)


def _contradicted_sources(asked: AuditContext, _: None, limits: Limits) -> tuple[str, ...]:
    """Return what the true rows contradict."""
    from recon.readers.frames.world import violations

    return tuple(violations(as_released(asked.release), asked.rows))


def _guessed(asked: AuditContext, _: None, limits: Limits) -> ReconstructionGuess:
    """Return how much of the true rows a reconstruction has right."""
    from recon.queries.questions.questions import reconstruct
    from recon.release.auditing.matching import compare

    real = asked.real
    try:
        guess = reconstruct(asked.release, asked.seed, limits).indices()
        return ReconstructionGuess(compare(real, guess))
    except ContradictionError as error:
        return ReconstructionGuess(None, f"no reconstruction: {error}")
    except (Inconclusive, Unsupported) as error:
        trail = tuple(str(error).split("; "))
        return ReconstructionGuess(None, no_reconstruction(trail), trail)


def _right_by_chance(asked: AuditContext, draw: int, limits: Limits) -> Match | None:
    """Return one draw that needs no release beside the true rows, None where the time was up."""
    try:
        return asked.chance.match(draw)
    except Inconclusive:
        return None


def _no_guess(release: EncodedRelease, measures: Measures) -> str:
    """Return why no training set can be given back before one is looked for; "" where one can."""
    from recon.readers.frames.world import SHOWN

    if names := release.domain.continuous:
        named = ", ".join(f"'{name}'" for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        which = f"attribute {named} is" if len(names) == 1 else f"attributes {named} are"
        return (
            f"no reconstruction: the {which} continuous, without single values to reconstruct (declare a 'resolution')"
        )
    if measures.status != "exact" and not measures.of_cells:
        why = plain_reasons(measures.counted.trail)
        return f"no reconstruction: the sizes of the regions are only known between bounds ({why})"
    return ""


def _proved_rows(asked: AuditContext, limits: Limits) -> int | None:
    """Return how many of the rows that occur once in the truth are in every possible world, None if not decided."""
    from recon.queries.questions.questions import certify

    _, first, times = np.unique(asked.real, axis=0, return_index=True, return_counts=True)
    once = asked.rows.iloc[np.sort(first[times == 1])]
    once.attrs.update(asked.rows.attrs)
    try:
        found = certify(asked.release, once, limits=limits, certificates=False)
    except (Inconclusive, Unsupported):
        return None
    if len(found) and (found["verdict"] == "unknown").all():
        return None
    return int((found["verdict"] == "certain").sum())
