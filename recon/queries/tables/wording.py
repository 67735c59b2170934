"""Answers about tables in words and as JSON."""

from __future__ import annotations

from typing import Any

from recon.queries.tables.answering import SIZES, AreaFigures, TablesAnswer, log2
from solvers.foundation.exact import decimal
from solvers.tables.solving import Range

DIGITS = 30
NAMED = 20


def number_text(n: Range, digits: int = DIGITS) -> str:
    """Return a number of data sets: exact with commas, about 10^x, or the two numbers that it lies between."""
    if n[0] != n[1]:
        return f"between {number_text((n[0], n[0]), digits)} and {number_text((n[1], n[1]), digits)}"
    bits = log2(n[0])
    return f"{n[0]:,}" if bits is None or bits < 3.3 * digits else f"about 10^{bits * 0.30102999566398120:,.2f}"


def number_json(n: Range, digits: int) -> dict[str, Any]:
    """Return a number of data sets for JSON: its value where exact and short, and log2 of both bounds."""
    ends = [log2(n[0]), log2(n[1])]
    exact = n[0] == n[1]
    short = exact and (ends[0] is None or ends[0] < 3.3 * digits)
    return {"value": decimal(n[0]) if short else None, "exact": exact, "log2": ends}


def by_size(answer: TablesAnswer) -> list[dict[str, Any]]:
    """Return per size of the smallest areas: how many there are, and how many of them their tables settle."""
    leaves = [leaf for a in answer.areas for leaf in a.leaves if leaf[1]]
    out = []
    for i, least in enumerate(SIZES):
        below = SIZES[i + 1] if i + 1 < len(SIZES) else None
        mine = [x for x in leaves if x[1] >= least and (below is None or x[1] < below)]
        out.append({"people_least": least, "people_below": below, "areas": len(mine),
                    "people": sum(x[1] for x in mine), "settled_alone": sum(x[2] for x in mine),
                    "settled": sum(x[3] for x in mine)})  # fmt: skip
    return out


def count_lines(answer: TablesAnswer) -> list[str]:
    """Return what `count` prints of tables."""
    people, exact = answer.people, all(a.multiset[0] == a.multiset[1] for a in answer.areas)
    unique = sum(a.unique is True for a in answer.areas)
    lines = [
        f"data sets that agree with the tables: {number_text(answer.multiset)}"
        f"   [convention: multiset; {'exact' if exact else 'bounds'}]",
        f"with the order of rows: {number_text(answer.ordered)}   [ordered]",
        f"people: {number_text(people)}, of them the same in every data set: {_at_least(answer)}",
        f"areas that lie in no other: {len(answer.areas):,}; one data set only over the cells that their smallest areas"
        f" tell apart, in {unique:,}",
    ]
    if answer.not_solved:
        lines.append(f"NOT SOLVED, the time was up: {len(answer.not_solved):,} areas, from '{answer.not_solved[0]}' on")
    return [*lines, "assuming: " + "; ".join(answer.assumptions)]


def _at_least(answer: TablesAnswer) -> str:
    sure = all(a.unique is True for a in answer.areas)
    return f"{answer.certain:,}" if sure else f"at least {answer.certain:,}"


def audit_lines(answer: TablesAnswer) -> list[str]:
    """Return what `audit` prints of tables: who is given back, where, by size of area, and what follows."""
    hit = sum(a.certain > 0 for a in answer.areas)
    people = number_text(answer.people)
    lines = [
        "Audit of published tables",
        f"  {_at_least(answer)} of {people} people are given back for certain, in {hit:,} of {len(answer.areas):,}"
        " areas",
    ]
    settled = [x for a in answer.areas for x in a.leaves if x[3] and x[1]]
    every = [x for a in answer.areas for x in a.leaves if x[1]]
    lines.append(
        f"  smallest areas with people: {len(every):,}; in {len(settled):,} of them every person's cell follows"
        f" ({sum(x[2] for x in every):,} from their own tables alone)"
    )
    if settled:
        first = min(settled, key=lambda x: x[1])
        lines.append(f"  the smallest area where nothing is protected: {first[0]} ({first[1]:,} people)")
    lines.append("  by size of area:  people      areas   settled alone   settled")
    for line in by_size(answer):
        below = f"{line['people_least']:,}-{line['people_below'] - 1:,}" if line["people_below"] else "1,000+"
        lines.append(f"    {below:>18} {line['areas']:>12,} {line['settled_alone']:>15,} {line['settled']:>9,}")
    for a in sorted(answer.areas, key=lambda a: -a.certain)[:NAMED]:
        lines.append(f"  {a.name}: {a.certain:,} of {number_text(a.people)} people certain;"
                     f" data sets: {number_text(a.multiset)}")  # fmt: skip
    if len(answer.areas) > NAMED:
        lines.append(f"  ... and {len(answer.areas) - NAMED:,} more areas (--json has all)")
    lines.append("  a policy was not applied: the rules of a policy file are not read for tables of areas")
    if answer.not_solved:
        lines.append(
            f"  NOT SOLVED, the time was up: {len(answer.not_solved):,} areas, from '{answer.not_solved[0]}' on"
        )
    return [*lines, "assuming: " + "; ".join(answer.assumptions)]


def answer_json(answer: TablesAnswer, digits: int, certificates: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an answer as JSON, with the certificate of every area that has one."""
    return {
        "kind": "tables", "status": answer.status, "people": list(answer.people), "people_certain": answer.certain,
        "people_certain_exact": all(a.unique is True for a in answer.areas) and not answer.not_solved,
        "multiset": number_json(answer.multiset, digits), "ordered": number_json(answer.ordered, digits),
        "by_size": by_size(answer), "areas": [_area_json(a, digits, certificates or {}) for a in answer.areas],
        "not_solved": list(answer.not_solved), "assumptions": list(answer.assumptions),
    }  # fmt: skip


def _area_json(a: AreaFigures, digits: int, certificates: dict[str, Any]) -> dict[str, Any]:
    return {
        "area": a.name, "people": list(a.people), "unique": a.unique, "people_certain": a.certain,
        "over_lower_cells": number_json(a.solutions, digits), "multiset": number_json(a.multiset, digits),
        "ordered": number_json(a.ordered, digits), "certificate": certificates.get(a.name),
        "smallest_areas": [
            {"area": n, "people": p, "settled_alone": s, "settled": t} for n, p, s, t in a.leaves
        ],
    }  # fmt: skip
