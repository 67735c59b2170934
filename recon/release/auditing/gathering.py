"""Everything an audit finds, gathered in one value: each question asked once, what matters most first.

What knowing how the model was chosen adds to a release, and about whom, as an audit has it.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.learner_rule.counting import rule_or_reason
from recon.learner_rule.figures import rule_lines
from recon.learner_rule.verdicts import certify
from recon.queries.answers.counting import convention_of
from recon.queries.bounds.intervals import IntervalCells
from recon.queries.leaf_values.determined import Determined, determined
from recon.queries.leaf_values.remedies import remedies_of, table_of
from recon.queries.located.against_truth import compared
from recon.queries.measures.attribute_bits import attribute_bits, forced
from recon.queries.measures.figures import Measures, empty
from recon.queries.measures.measures import measure
from recon.readers.loading.settled import Travelling, as_released, settled_release
from recon.release.auditing.auditing import (
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
from recon.release.auditing.findings import AuditFindings, checked, first_asked
from recon.release.auditing.persons.exposed_rows import exposed_rows
from recon.release.auditing.persons.people import people, without_names
from recon.release.auditing.positions import groups_at_positions
from recon.release.auditing.spreading import AuditContext, Question, Turn
from recon.release.auditing.together import judged_together
from solvers.foundation.displayed import many
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer

LIKELIER = 2.0  # times: from where on a person counts as much likelier to be in the data, or much less


def _under_rule(
    release: EncodedRelease, learner: str, profiles: pd.DataFrame | None, limits: Limits, label: str | None = None
) -> dict[str, Any]:
    """Return the `learner_rule` object of an audit: figures, `people` where some were asked about, `lines` in words.

    `reason` instead of figures where nothing is known of the learner, or no count is made. `people`: how many were
    asked about, how many become certain or impossible by the rule alone, and how many are at least twice as likely (or
    half as likely) to be in the data as without it. Raises `ContradictionError` where the learner cannot have chosen
    the model. Cost: that of `recon.learner_rule.counting.learner_rule`, and of its verdicts.
    """
    try:
        found = rule_or_reason(release, learner, limits)
    except Unsupported as error:
        found = f"what knowing the learner adds is not worked out: {error}"
    if isinstance(found, str):
        return {"reason": found, "lines": [found]}
    out = found.to_json() | {"lines": rule_lines(found)}
    if profiles is None:
        return out
    try:
        people = _about(certify(release, without_names(profiles, release)[0], learner, limits, label))
    except (Unsupported, Inconclusive) as error:
        return out | {"lines": [*out["lines"], f"  of the people asked about nothing is said under the rule: {error}"]}
    lines = out["lines"]
    at = next((i for i, line in enumerate(lines) if line.startswith("  assuming:")), len(lines))
    return out | {"people": people, "lines": [*lines[:at], _people_line(people), *lines[at:]]}


def _about(found: pd.DataFrame) -> dict[str, int]:
    """Return how many people the rule decides, and whom it makes likelier, out of verdicts beside those without it."""
    decided, inside = found["by_rule"].fillna(value=False).astype(bool), found["verdict"] != "outside"
    now, before = (found[name].astype(float) for name in ("probability", "probability_without"))
    open_still = (found["verdict"] == "possible") & (before > 0)
    return {
        "asked": int(inside.sum()),
        "certain_by_rule": int((decided & (found["verdict"] == "certain")).sum()),
        "impossible_by_rule": int((decided & (found["verdict"] == "impossible")).sum()),
        "likelier": int((open_still & (now >= LIKELIER * before)).sum()),
        "less_likely": int((open_still & (now * LIKELIER <= before)).sum()),
    }


def _people_line(people: dict[str, int]) -> str:
    """Return that in words."""
    certain, impossible = people["certain_by_rule"], people["impossible_by_rule"]
    line = f"  of {many(people['asked'], 'profile')} asked about, {certain:,} become certain and "
    line += f"{impossible:,} impossible by the rule alone"
    more = [f"{people['likelier']:,} at least twice as likely"] if people["likelier"] else []
    more += [f"{people['less_likely']:,} at most half as likely"] if people["less_likely"] else []
    return f"{line}; {' and '.join(more)} as without it" if more else line


LARGE = 1.0  # seconds: where the measures take longer, the questions behind them are spread at once


@dataclass(frozen=True, eq=False)
class AuditInputs:
    """What an officer gives beside the release; everything may be left out.

    `truth`: the real training rows, `population`: other rows of the same kind (for the fresh-sample baseline),
    `without_noise`: the same release with exact counts. `profiles`: people to ask about. `data`: the training rows
    whose exposure is listed by position, with `label` their label's column and `protected` a column to group them by;
    `show_rows`: with their values. `learner`: what is known of how the model was chosen (`--learner`; "none": nobody
    asks). `remedies`: what boosted models give back published otherwise is worked out. `thresholds`: of
    the policy by their keys, with which groups are searched for.
    """

    convention: str | None = None
    truth: pd.DataFrame | None = None
    population: pd.DataFrame | None = None
    without_noise: EncodedRelease | None = None
    profiles: pd.DataFrame | None = None
    data: pd.DataFrame | None = None
    label: str | None = None
    protected: str | None = None
    show_rows: bool = False
    remedies: bool = False
    seed: int = 0
    learner: str = "none"
    thresholds: Mapping[str, Any] = field(default_factory=dict)


def gathered(release: EncodedRelease, beside: AuditInputs, limits: Limits) -> AuditFindings:
    """Return what an audit finds. Raises what `count` raises, and of data that do not fit what says where."""
    truth, remedies = beside.truth, beside.remedies
    begun = time.monotonic()
    stored = stored_outright(release, limits)  # first: the surest of all, and quick
    release = settled_release(release, limits)
    rows = by_position(release, limits)
    # Single values are told apart by position there; to count worlds of any numbers has nothing to add.
    some = limits if rows is None or not release.domain.continuous else limits.stage("worlds beside positions")
    try:
        first = measure(release, beside.convention, some)
    except EmptyConfidenceSet as error:
        none = empty(release, convention_of(release, beside.convention), CountAnswer("unsat"))
        groups = group_disclosure(as_released(release))
        return AuditFindings(release, none, groups, stored=stored, empty=emptiness(release, error, limits))
    known = () if first.status == "unsat" else determined(release)  # settled before
    large = time.monotonic() - begun > LARGE or (remedies and bool(known))
    turn = Turn(AuditContext(Travelling.of(release), truth, beside.population, beside.seed), limits, large)
    answers: dict[Any, Any] = turn.answers(dict(_asked(turn.asked, first, known, remedies)), "questions of the audit")
    checks = None if truth is None else checked(turn, first, answers)
    exact = beside.without_noise
    bought = None if exact is None else what_noise_bought(release, exact, limits)
    against = None if rows is None or truth is None or len(truth) != rows.rows else compared(rows, truth)
    tried = [answers["remedy", k] for k in range(len(answers)) if ("remedy", k) in answers]
    located = None if rows is None else groups_at_positions(rows)
    found = AuditFindings(
        release, first, answers["groups"], checks, answers["certificate"], bought, stored, None,
        answers.get("intervals", IntervalCells()), rows, against, known,
        tuple(answers.get(("beside", one.number)) for one in known), table_of(tried) if tried else None,
        position_groups=located,
    )  # fmt: skip
    if first.status == "unsat":
        return found
    return _with_persons(replace(found, together=judged_together(release, beside.thresholds, limits)), beside, limits)


def _with_persons(found: AuditFindings, beside: AuditInputs, limits: Limits) -> AuditFindings:
    """Return the findings with what is revealed by attribute, and of the people who were given."""
    release, m = found.release, found.measures
    asked, rows = None, None
    if beside.profiles is not None:
        asked = people(release, beside.profiles, limits, beside.seed, beside.show_rows)
    if beside.data is not None:
        rows = exposed_rows(release, m, beside.data, beside.label, beside.protected, beside.show_rows, limits,
                            positions=found.positions)  # fmt: skip
    found = replace(found, profiles=asked, persons=rows)
    if beside.learner != "none":
        found = replace(found, learner_rule=_under_rule(release, beside.learner, beside.profiles, limits, beside.label))
    try:
        bits = attribute_bits(release, m, limits)
        return replace(found, attribute_bits=tuple(bits), forced=forced(release, m, limits))
    except Inconclusive:  # the time is up: the report has what was found until then
        return found


def _asked(
    about: AuditContext, first: Measures, known: Sequence[Determined], remedies: bool
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
