"""What every answer about a release assumes, in words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from encoders.domain.domain import DECLARED, GUESSED, Domain
from encoders.domain.values import Categorical
from encoders.models.learner_facts import LearnerFacts
from encoders.models.models import AnyModel, published_of
from encoders.parts.base import CutDomain
from solvers.foundation.exact import level_text
from solvers.statements.release import RowCount

INTERVALS = "noisy counts are intervals"  # how the assumption begins that a posterior does not make
ON_THE_ROWS = "the tree "  # how a reader's assumption begins on which rows a tree counts: it comes first
NO_LEARNER = "the adversary does not use how the learner chose the model"  # what the learner's midpoints replace


def assumptions(
    domain: Domain,
    unsized: Sequence[str],
    rows: RowCount,
    models: int,
    said_by_models: Sequence[str] = (),
    noisy: bool = False,
    resampled: bool = False,
    facts: LearnerFacts | None = None,
    relations: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return what every verdict about the release assumes (docs/what-is-computed.md, "What every verdict assumes").

    `relations`: how the data sets that the models are of are related, none where there is one.
    `unsized`: the attributes without an end that the models cut. `facts` of a known learner say what that assumes
    themselves (`said_by_models`).
    """
    if domain.source == DECLARED:
        where = "the domain is as declared: no row lies outside it"
    elif domain.source == GUESSED:
        where = "nobody declared a domain: it is what the model file says, and for the rest guessed"
    else:
        where = f"the domain was read off the {domain.source}: an adversary may not know it"
    n = f"exactly {rows.low} rows" if rows.exact else f"at least {rows.low} rows"
    n = "any number of rows" if noisy and rows == RowCount() else n
    if not rows.exact and rows.high is not None:
        n = f"between {rows.low} and {rows.high} rows"
    n = f"{n} in all data sets, each counted once" if relations else n
    notes = [
        *dict.fromkeys(line for line in said_by_models if line.startswith(ON_THE_ROWS)),
        where,
        n,
        _raw_rows_line(domain, noisy, resampled),
        *((NO_LEARNER,) if facts is None else ()),
        *domain.about_missing,
        *domain.notes,
    ]
    if relations:
        notes += relations
    elif models > 1:
        notes.append("all models were trained on the same rows")
    notes += (line for line in dict.fromkeys(said_by_models) if line not in notes)
    if found := [name for name in domain.continuous if name not in unsized]:
        notes.append(f"continuous without a resolution, only relative figures: {', '.join(found)}")
    if unsized:
        why = "no region has a share of what could be, so that bits removed and probabilities are not defined"
        notes.append(f"numbers without an end ({', '.join(unsized)}): {why}")
    return tuple(notes)


def _raw_rows_line(domain: Domain, noisy: bool, resampled: bool = False) -> str:
    """Return what is assumed of the rows behind counts; where values may be missing, that is said elsewhere."""
    without = ([] if noisy else ["noise"]) + ([] if domain.about_missing else ["missing values"])
    line = f"counts are of raw training rows: unweighted{'' if resampled else ', not resampled'}"
    return f"{line}, without {' or '.join(without)}" if without else line


def level_lines(models: Sequence[AnyModel], confidence: Fraction) -> list[str]:
    """Return what unbounded noise makes of every figure."""
    if all(m.noise is None or m.noise.law.bounded for m in published_of(models)):
        return []
    if confidence == 1:
        return ["counts with unbounded noise are left out: at confidence 1 they say nothing"]
    level = f"jointly at confidence {level_text(confidence)} over the noise"
    return [f"{INTERVALS}, {level}: figures hold at it, not for certain"]


def privacy_lines(models: Sequence[AnyModel], known: RowCount) -> list[str]:
    """Return what the number of rows gives away beside private counts."""
    relations = {m.noise.neighbours for m in published_of(models) if m.noise is not None}
    if known.exact and "add_remove" in relations:
        return [
            "the exact number of rows is released beside counts that are private for adding or removing a row: "
            "an exact release, which that privacy does not cover"
        ]
    return []


def untested(domain: Domain, cut: CutDomain) -> frozenset[int]:
    """Return the attributes of a guessed domain that no test uses: nobody said which values they have."""
    guessed = domain.attributes if domain.source == GUESSED else ()
    binary = (k for k, a in enumerate(guessed) if isinstance(a, Categorical) and a.values == (0, 1))
    return frozenset(k for k in binary if len(cut.cuts[k].sizes) == 1)
