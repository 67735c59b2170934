"""The report on tables of areas: who is given back, small groups, what a policy says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from math import inf
from typing import Any

from recon.queries.tables.answering import (
    SmallAreaGroups,
    TablesAnswer,
    answer_json,
    at_least,
    bounds_text,
    by_size,
    counted_with_proofs,
    number_text,
)
from recon.queries.tables.tables import Tables
from recon.release.policies.assessing import PolicyAssessment, assess
from recon.release.policies.facts import FactTable, KnownFigure, SmallGroups, UnknownFigure
from recon.release.policies.policy import Policy
from recon.report.page.blocks import PagePart, TableBlock, percent, section_parts
from recon.report.wording.headline import DIGITS, PartReport
from solvers.foundation.limits import Limits

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
            ("Reconstructed", [*self._given_back()]),
            ("Against the policy", [*self._policy()]),
            (f"Groups of 1 to {self.small.below - 1:,} people", [*self._small()] if self.small.below > 1 else []),
            ("Areas that lie in no other", [*self._areas()]),
            ("Assumptions", list(self.answer.assumptions)),
        ]
        found = section_parts((title, lines) for title, lines in sections if lines)
        found.insert(1, PagePart("sizes", "By size of area", "", [self._sizes()]))
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
            else f"the smallest area where nothing is protected: {first[0]} ({first[1]:,} "
            f"{'person' if first[1] == 1 else 'people'})"
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
                percent(one["people_certain"] / one["people"], 1),
            )
            for one in by_size(self.answer)
            if one["areas"]
        ]
        head = ("People", "Areas", "Settled alone", "Settled", "People certain", "Share of people")
        return TableBlock("Smallest areas by the people in them", head, rows, frozenset(range(1, 6)))

    def _areas(self) -> Iterator[str]:
        every = self.answer.areas
        for a in nlargest(NAMED, every, key=lambda a: a.certain):
            yield (f"{a.name}: {a.certain:,} of {number_text(a.people)} people certain; data sets: "
                   f"{bounds_text(a.multisets)}")  # fmt: skip
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
