"""The true rows beside the release: are they a possible world, and how much does a reconstruction have right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.reasons import no_reconstruction, plain_reasons
from recon.queries.measures.figures import Measures
from recon.queries.questions.questions import certify, reconstruct
from recon.readers.frames.true_rows import SHOWN, violations
from recon.readers.loading.settled import Travelling, as_released
from recon.release.auditing.findings import TruthCheck
from recon.release.auditing.matching import Comparison, Match, compare
from recon.release.auditing.spreading import AuditContext, Question, Turn
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits


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
    turn = Turn(AuditContext(Travelling.of(release), truth, population, seed), limits or Limits())
    asked = first_asked(release, measures)
    return checked(turn, measures, turn.answers(asked, "questions about the true rows"))


def first_asked(release: EncodedRelease, measures: Measures) -> dict[str, Question]:
    """Return what is asked of the true rows before anything else, the reconstruction first where there can be one."""
    found: dict[str, Question] = {} if no_guess(release, measures) else {"guess": (guessed, None)}
    return found | {"broken": (broken, None)}


def checked(turn: Turn, measures: Measures, answers: Mapping[str, Any]) -> TruthCheck:
    """Return what the true rows say from the answers to `first_asked`, asking what is right by chance, and proved."""
    violated, found = answers["broken"], answers.get("guess")
    if found is None:
        why = no_guess(turn.asked.release, measures)
        return TruthCheck(not violated, violated, None, why, trail=measures.counted.trail)
    if found.match is None:
        return TruthCheck(not violated, violated, None, found.note, trail=found.trail)
    chance, limits = turn.asked.chance, turn.limits
    draws: dict[int, Question] = {k: (right_by_chance, k) for k in range(len(chance.names) * chance.repeats)}
    found_by = turn.answers(draws, "draws without the release", needed=not limits.stop.is_set())
    matches = [found_by.get(k) for k in draws]
    proved = proved_rows(turn.asked, limits)
    return TruthCheck(not violated, violated, Comparison(found.match, chance.baselines(matches)), proved=proved)


def broken(asked: AuditContext, _: None, limits: Limits) -> tuple[str, ...]:
    """Return what the true rows contradict."""
    return tuple(violations(as_released(asked.release), asked.rows))


def guessed(asked: AuditContext, _: None, limits: Limits) -> ReconstructionGuess:
    """Return how much of the true rows a reconstruction has right."""
    real = asked.real
    try:
        guess = reconstruct(asked.release, asked.seed, limits).indices()
        return ReconstructionGuess(compare(real, guess))
    except ContradictionError as error:
        return ReconstructionGuess(None, f"no reconstruction: {error}")
    except (Inconclusive, Unsupported) as error:
        trail = tuple(str(error).split("; "))
        return ReconstructionGuess(None, no_reconstruction(trail), trail)


def right_by_chance(asked: AuditContext, draw: int, limits: Limits) -> Match | None:
    """Return one draw that needs no release beside the true rows, None where the time was up."""
    try:
        return asked.chance.match(draw)
    except Inconclusive:
        return None


def no_guess(release: EncodedRelease, measures: Measures) -> str:
    """Return why no training set can be given back before one is looked for; "" where one can."""
    if names := release.domain.continuous:
        named = ", ".join(f"'{name}'" for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        which = f"attribute {named} is" if len(names) == 1 else f"attributes {named} are"
        return f"no reconstruction: the {which} continuous, without single values to give back (declare a 'resolution')"
    if measures.status != "exact" and not measures.of_cells:
        why = plain_reasons(measures.counted.trail)
        return f"no reconstruction: the sizes of the regions are only known between bounds ({why})"
    return ""


def proved_rows(asked: AuditContext, limits: Limits) -> int | None:
    """Return how many of the rows that occur once in the truth are in every possible world, None if not decided."""
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
