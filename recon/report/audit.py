"""The public audit: every question an officer asks of a release, what a policy says to it, and the report on both.

The report on published tables of areas: who is given back, where, how small groups are, and what a policy says.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import nlargest
from math import inf
from typing import TYPE_CHECKING, Any

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from recon.queries.tables.answering import (
    SmallAreaGroups,
    TablesAnswer,
    answer_json,
    at_least,
    by_size,
    counted_with_proofs,
    number_text,
)
from recon.queries.tables.tables import Tables
from recon.readers.loading.loading import Released, single_release_of
from recon.release.auditing.auditing import AuditInputs, run_audit
from recon.release.auditing.findings import AuditFindings
from recon.release.policies.assessing import PolicyAssessment, assess
from recon.release.policies.facts import FactTable, KnownFigure, SmallGroups, UnknownFigure
from recon.release.policies.policy import Policy, read_policy
from recon.release.registers.adding import AddedDisclosure, adds, joined_release
from recon.release.registers.register import Register
from recon.release.registers.versions import comparison, of_own_data, version_relation
from recon.release.remediation.candidates import columns
from recon.release.remediation.candidates import remedies as what_would_help
from recon.report.document.metadata import Context, build_metadata, limits_json
from recon.report.page.blocks import PagePart, TableBlock, percent, section_parts
from recon.report.rendering import DIGITS, PartReport
from recon.report.report import Report
from solvers.foundation.errors import ContradictionError, ReleaseError
from solvers.foundation.limits import Limits
from solvers.foundation.parallel.opening import kept_open

if TYPE_CHECKING:
    import pandas as pd


def audit(
    release: Released,
    policy: Policy | str | os.PathLike[str] | None = None,
    *,
    convention: str | None = None,
    truth: pd.DataFrame | None = None,
    population: pd.DataFrame | None = None,
    without_noise: Released | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    remedies: bool = False,
    profiles: pd.DataFrame | None = None,
    data: pd.DataFrame | None = None,
    label: str | None = None,
    protected: str | None = None,
    show_rows: bool = False,
    register: Register | str | os.PathLike[str] | None = None,
    domain: Domain | str | None = None,
    learner: str = "none",
    command: str | None = None,
    domain_rows: pd.DataFrame | None = None,
    removed: int | None = None,
    added: int | None = None,
) -> Report:
    """Return the report on a release: worlds, uncertainty left, exposure, group disclosure, and what a policy says.

    `policy`: a `Policy`, a TOML file or "preset:NAME". `truth` are the real training rows, `population` other rows of
    the same kind (for the fresh-sample baseline). `without_noise` is the same release with exact counts, to say what
    the noise bought. `remedies`: the audit again under what could be published instead (docs/remedies.md). `profiles`:
    people to ask about; `data`: the training rows, whose exposure is listed by position and by groups of the column
    `protected`, with their values where `show_rows`; `domain_rows`: the table that the domain was read off.
    `register`: earlier releases about the same rows; all are audited together (read over `domain`, by default the
    register's), and the report says what the new one adds; those of another version of the data (as the register says,
    or `removed` rows left since the last one and `added` came) are compared with it: who left. `learner`: what
    knowing the learner adds ("auto", "greedy", "midpoints": `recon.learner_rule.counting.learner_rule`). Raises what
    `count` raises, `PolicyError` for a policy that is none, `ReleaseError` for data that do not fit.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> report = recon.audit(release, "preset:minimum-cell-10")
    >>> report
    <Report: audit of a release: Dist_G 0.25, 4 worlds, exact (assigned), 4 rows>
    >>> report.assessment.outcome
    'violated'
    """
    begun = time.monotonic()
    release = single_release_of(release, limits, whole=True)
    exact = None if without_noise is None else single_release_of(without_noise, limits)
    limits = limits or Limits()
    chosen = policy if policy is None or isinstance(policy, Policy) else read_policy(os.fspath(policy))
    beside = AuditInputs(convention, truth, population, exact, profiles, data, label, protected, show_rows, remedies,
                         seed,
                    learner, {} if chosen is None else chosen.values, domain_rows)  # fmt: skip
    parts = limits.stage("audit before remedies") if remedies else limits
    earlier = register if register is None or isinstance(register, Register) else Register.read(os.fspath(register))
    if earlier is None and (removed, added) != (None, None):
        raise ReleaseError("--removed and --added are numbers since an earlier release: give --register FOLDER")
    relation = None if earlier is None else version_relation(release, earlier, removed, added)
    with kept_open():
        beside_it = None if earlier is None else comparison(release, earlier, relation, limits, domain)
        earlier = None if earlier is None else of_own_data(earlier, relation)
        whole = release if earlier is None else _joined_release(release, earlier, domain, limits)
        found = run_audit(release if whole is None else whole, beside, parts)
        adding = None if earlier is None else _what_it_adds(release, earlier, whole, found, domain, limits)
        tried = _helping(release, found, chosen, beside, limits) if remedies else None
    around = Context(remedies=tried, adds=None if adding is None else adding.to_json(), seed=seed, versions=beside_it)
    facts = Report(found, around).facts
    told = None if chosen is None else assess(facts, chosen, tried)
    if tried and earlier is None:  # as it is published, the audit knows more of it: by leaf values and positions
        tried[0] |= {**columns(facts), "outcome": None if told is None else told.outcome}
    now = build_metadata(command, time.monotonic() - begun)
    return Report(found, replace(around, made=now, assessment=told, limits=limits_json(limits)))


def _joined_release(
    release: EncodedRelease, earlier: Register, domain: Domain | str | None, limits: Limits
) -> EncodedRelease | None:
    """Return a release and the earlier ones as one, None where they are about different numbers of rows."""
    try:
        return joined_release(release, earlier, limits, domain=domain)
    except ContradictionError:
        return None


def _what_it_adds(
    release: EncodedRelease, earlier: Register, whole: EncodedRelease | None, found: AuditFindings,
    domain: Domain | str | None, limits: Limits,
) -> AddedDisclosure:  # fmt: skip
    """Return what a release adds to the earlier ones; `whole` is all together, and `found` what its audit found."""
    counted = None if whole is None or found.empty is not None or found.measures.status == "unsat" else found.measures
    return adds(release, earlier, limits, domain=domain, after=counted, together=whole)


def _helping(
    release: EncodedRelease, found: AuditFindings, policy: Policy | None, beside: AuditInputs, limits: Limits
) -> list[dict[str, Any]]:
    """Return what would help; nothing where there is no possible world to begin with."""
    if found.empty is not None or found.measures.status == "unsat":
        return []
    return what_would_help(
        release, policy, limits, data=beside.data, label=beside.label, seed=beside.seed, stored=found.stored
    )


NAMED = 20  # areas and groups that are listed for people
SMALL = 10  # people: groups of fewer are listed where no policy says how many are too few
NOT_OF_TABLES = UnknownFigure("it is not worked out for tables of areas")
ASSUMES = "values that no published cell distinguishes count as one"
UNDECIDED = "of some areas not all data sets were looked at"


@dataclass(frozen=True, eq=False)
class TablesReport(PartReport):
    """What an audit of tables of areas found; `assessment`: what a policy says of it (None: there was none)."""

    tables: Tables
    answer: TablesAnswer
    small: SmallAreaGroups
    assessment: PolicyAssessment | None
    certificates: dict[str, Any]

    @property
    def about(self) -> str:
        """Return the files."""
        return ", ".join(self.tables.files) or "tables of areas"

    @property
    def status(self) -> str:
        """Return "exact", "bounds" or "unknown"."""
        return self.answer.status

    def to_dict(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return the answer, the small groups and the policy's assessment as an object ready for JSON."""
        small = self.small
        listed = [{"people": n, "group": name, "how": how} for n, name, how in small.smallest]
        return answer_json(self.answer, digits, self.certificates) | {
            "small_groups": {"below": small.below, "number": dict(small.number), "listed": listed},
            "assessment": None if self.assessment is None else self.assessment.to_json(),
        }

    def parts(self) -> list[PagePart]:
        """Return the report's parts: who is given back first."""
        sections = [
            ("Given back", [*self._given_back()]),
            ("Against the policy", [*self._policy()]),
            (f"Groups of 1 to {self.small.below - 1:,} people", [*self._small()]),
            ("Areas that lie in no other", [*self._areas()]),
            ("Assumptions", list(self.answer.assumptions)),
        ]
        found = section_parts((title, lines) for title, lines in sections if lines)
        found.insert(3, PagePart("sizes", "By size of area", "", [self._sizes()]))
        return found

    def _given_back(self) -> Iterator[str]:
        answer = self.answer
        every = settled = alone = 0
        first: tuple[str, int] | None = None
        for x in (x for a in answer.areas for x in a.leaves if x[1]):
            every, settled, alone = every + 1, settled + x[3], alone + x[2]
            if x[3] and (first is None or x[1] < first[1]):
                first = x[:2]
        hit = sum(a.certain > 0 for a in answer.areas)
        yield (f"{at_least(answer)} of {number_text(answer.people)} people are reconstructed with certainty, in "
               f"{hit:,} of {len(answer.areas):,} areas")  # fmt: skip
        yield (f"smallest areas with people: {every:,}; in {settled:,} of them every person's cell follows "
               f"({alone:,} from their own tables alone)")  # fmt: skip
        yield (
            "there is no area where nothing is protected"
            if first is None
            else (f"the smallest area where nothing is protected: {first[0]} ({first[1]:,} people)")
        )
        if left := answer.not_solved:
            yield f"NOT SOLVED, the time was up: {len(left):,} areas, from '{left[0]}' on"

    def _policy(self) -> Iterator[str]:
        told = self.assessment
        if told is None:
            yield "no policy was given (--policy)"
            return
        yield f"{told.policy.name}: {told.verdict.upper()}: {told.sentence}"
        yield from (f"{one.outcome}: {one.sentence}" for one in told.checks)

    def _small(self) -> Iterator[str]:
        yield "; ".join(f"{how}: {n:,}" for how, n in self.small.number.items()) or "there is none"
        listed = self.small.smallest
        yield from (f" {name} = {n:,} ({how})" for n, name, how in listed[:NAMED])
        if sum(self.small.number.values()) > NAMED:
            yield f" ... the {len(listed):,} smallest are in the JSON"

    def _sizes(self) -> TableBlock:
        rows = [
            (
                f"{one['people_least']:,} to {one['people_below'] - 1:,}" if one["people_below"] else "1,000 or more",
                *(f"{one[key]:,}" for key in ("areas", "settled_alone", "settled", "people_certain")),
                percent(one["people_certain"] / one["people"], 1) if one["people"] else "-",
            )
            for one in by_size(self.answer)
        ]
        head = ("People", "Areas", "Settled alone", "Settled", "People certain", "Share of people")
        return TableBlock("Smallest areas by the people in them", head, rows, frozenset(range(1, 6)))

    def _areas(self) -> Iterator[str]:
        every = self.answer.areas
        for a in nlargest(NAMED, every, key=lambda a: a.certain):
            yield (f"{a.name}: {a.certain:,} of {number_text(a.people)} people certain; data sets: "
                   f"{number_text(a.multiset)}")  # fmt: skip
        if len(every) > NAMED:
            yield f"... and {len(every) - NAMED:,} more (the JSON has all)"


def audit_tables(tables: Tables, policy: Policy | None, limits: Limits, proofs: bool = True) -> TablesReport:
    """Return the report on tables of areas; raises `ContradictionError` where nothing fits them.

    `proofs`: with the certificates that its JSON has.
    """
    asked = {} if policy is None else policy.values
    small = SmallAreaGroups(
        max([asked.get(key, 1) for key in ("smallest_group", "smallest_cell") if key in asked] or [SMALL])
    )
    answer, certificates = counted_with_proofs(tables, limits, small, proofs)
    facts = _facts(answer, small)
    return TablesReport(tables, answer, small, None if policy is None else assess(facts, policy), certificates)


def _facts(answer: TablesAnswer, small: SmallAreaGroups) -> FactTable:
    """Return what a policy looks at. Cells have no labels: the smallest cell is the smallest group."""
    people, whole = answer.people, not answer.not_solved
    decided = whole and all(a.unique is True for a in answer.areas)
    most = people[1] if whole else None
    pinned = KnownFigure(answer.certain, answer.certain if decided else most, "" if decided else UNDECIDED,
                         assumes=ASSUMES)  # fmt: skip
    listed = [{"name": name, "rows": [n, n], "how": how} for n, name, how in small.smallest]
    groups = SmallGroups(listed, sum(small.number.values()), "" if whole else "areas were left out, the time was up")
    low = max(1, small.none_below or 1) if whole else 1
    size = KnownFigure(min(low, small.fewest or inf), small.fewest, "" if low == small.fewest else UNDECIDED)
    exposed = KnownFigure(0, 0, assumes=ASSUMES) if answer.certain else NOT_OF_TABLES
    return FactTable(
        answer.status,
        figures={"rows": KnownFigure(people[0], most), "pinned": pinned, "smallest_group": size, "smallest_cell": size,
                 "least_bits_left": exposed, "bits_left_per_person": NOT_OF_TABLES},
        groups={"groups": groups, "cells": groups},
        others={"kinds_of_counts": ["exact"], "stored": [], "stored_inspected": True},
    )  # fmt: skip
