"""`recon magnitudes`: a table of totals held against the rules of a policy on contributions, and what to hide of it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.session import BUDGET, CommonOptions, suffix, with_options
from recon.io.console.guarding import same_file
from recon.io.console.output import INCONCLUSIVE, VIOLATED, print_json, print_lines

if TYPE_CHECKING:
    from recon.readers.formats.tables.magnitudes import EarlierTotals, MagnitudeTable, RespondentColumns
    from recon.release.policies.assessing import PolicyAssessment
    from recon.release.policies.policy import Policy
    from recon.release.remediation.hidden_totals import TotalsTask
    from solvers.foundation.array_types import Bits
    from solvers.foundation.limits import Limits
    from solvers.suppression.dominance import SensitivityRule
    from solvers.suppression.patterns import SuppressionPattern

INSIDE, PREFIX = "magnitudes.from_inside", "magnitudes."
LARGEST = 12  # contributions of a cell that are kept at most
TableFile = Annotated[
    str, typer.Argument(metavar="FILE", help="Rows of respondents (.csv, .parquet), or a table (.tab) of τ-ARGUS.")
]
PolicyFile = Annotated[str, typer.Option("--policy", help="Policy file with keys of [magnitudes], or preset:NAME.")]
By = Annotated[
    list[str] | None,
    typer.Option("--by", help="For rows: the columns of a table, with commas; again for a linked table."),
]
Value = Annotated[str | None, typer.Option("--value", help="The column that is added up.")]
Holding = Annotated[str | None, typer.Option("--holding", help="Column: rows of one holding are one contributor.")]
Hierarchy = Annotated[
    list[str] | None, typer.Option("--hierarchy", help="COLUMN=FILE: what codes lie in (.hrc; CSV of code and parent).")
]
Weight = Annotated[str | None, typer.Option("--weight", help="Column: how many respondents a row of a sample is.")]
Shadow = Annotated[
    str | None, typer.Option("--shadow", help="Column whose contributions rules look at: --value may be below 0.")
]
Request = Annotated[
    str | None, typer.Option("--request", help="Column: who asked for protection (nothing, 1 or 2), for that rule.")
]
Earlier = Annotated[
    str | None, typer.Option("--register", help="Folder of tables that are out: attacks are over all of them.")
]
Metadata = Annotated[str | None, typer.Option("--metadata", help="Metadata (.rda) of the .tab file.")]
Written = Annotated[
    str | None,
    typer.Option("--out", help="Hide what the policy needs: .tab (τ-ARGUS), .R (sdcTable), .csv (hidden totals as *)."),
]
Method = Annotated[str, typer.Option("--method", help="Of --out: cheapest, or hypercube.")]


@with_options(seconds=BUDGET, without={"max_cells": 1})
def magnitudes(
    asked: CommonOptions, table: TableFile, policy: PolicyFile, by: By = None, value: Value = None,
    holding: Holding = None, weight: Weight = None, shadow: Shadow = None, request: Request = None,
    hierarchy: Hierarchy = None, metadata: Metadata = None, register: Earlier = None, out: Written = None,
    method: Method = "cheapest",
) -> None:  # fmt: skip
    """Check a table of totals by (n, k), p %, (p, q) and numbers of contributors; --out hides what they need."""
    from recon.readers.formats.tables.magnitudes import RespondentColumns, lines_of_earlier
    from recon.release.policies.policy import read_policy
    from recon.release.remediation.hidden_totals import hidden_already, pattern_of_totals, totals_task
    from recon.report.stored_report import limits_json

    if out is not None and suffix(out) not in {".tab", ".csv", ".r"}:
        raise typer.BadParameter(f"'{out}': a table of totals is written to .tab, .R or .csv")
    if method not in {"cheapest", "hypercube"}:
        raise typer.BadParameter(f"there is no method '{method}': choose cheapest or hypercube")
    of_rows = {"--by": by, "--holding": holding, "--weight": weight, "--shadow": shadow, "--request": request}
    if metadata is None and not (by and value):
        raise typer.BadParameter("rows of respondents need --by COLUMN,... and --value COLUMN, a .tab needs --metadata")
    if metadata is not None and (wrong := next((name for name, given in of_rows.items() if given), None)):
        raise typer.BadParameter(f"{wrong} is about rows of respondents: --metadata says what a .tab holds")
    demanded = _about_totals(read_policy(policy))
    rules = _rules_of(demanded)
    _check_requests(rules, request, metadata)
    with asked.working() as limits:
        what = None if metadata else RespondentColumns(value or "", holding, weight, shadow, request)
        earlier = _earlier_tables(register)
        found = _table(table, metadata, by or [], value, what, hierarchy or [], rules, earlier, limits)
        out_already = lines_of_earlier(found, earlier)
        task = totals_task(found, rules, limits, demanded.threshold(INSIDE) is not None, out_already)
        pattern = None if out is None else pattern_of_totals(task, limits, method)
        hidden = hidden_already(task) if pattern is None else pattern.hidden
        assessment = _assessed(task, hidden, demanded, limits)
        met = assessment.outcome == "met"
        files = _content(task, hidden, out) if out is not None and met else {}
    for path in files:
        if (
            path != out
            and os.path.exists(path)
            and any(same_file(path, one) for one in [table, *_read(metadata, hierarchy)])
        ):
            raise typer.BadParameter(f"{path} is read by this command and would be overwritten: choose another name")
    for path, text in files.items():
        _write(path, text)
    told = _answer_json(table, task, hidden, pattern, assessment, list(files))
    told["earlier"] = [one.file for one in earlier]
    if asked.json:
        print_json(told | {"limits": limits_json(limits)})
    else:
        print_lines(*_answer_lines(told, assessment))
    if not met:
        raise typer.Exit(VIOLATED if assessment.outcome == "violated" else INCONCLUSIVE)


def _about_totals(policy: Policy) -> Policy:
    """Return what of a policy is about tables of totals; wrong usage where nothing is."""
    own = tuple(one for one in policy.thresholds if one.key.startswith(PREFIX))
    if not any(one.key != INSIDE for one in own):
        keys = "p_percent, prior_posterior, dominance, contributors, request and zero"
        raise typer.BadParameter(f"the policy {policy.name} sets no rule of [magnitudes]: {keys} are known")
    return replace(policy, thresholds=own)


def _rules_of(policy: Policy) -> dict[str, SensitivityRule]:
    """Return the rules by which cells are sensitive."""
    from recon.release.policies.magnitudes import SENSITIVITY

    return {one.key: SENSITIVITY[one.key](one.value) for one in policy.thresholds if one.key in SENSITIVITY}


def _check_requests(rules: dict[str, SensitivityRule], request: str | None, metadata: str | None) -> None:
    """Refuse, as wrong usage, the request rule without requests, and requests without the rule."""
    if "magnitudes.request" in rules and request is None:
        why = "a .tab names no requests: give the rows (--by, --value)" if metadata else "name the column of requests"
        raise typer.BadParameter(f"magnitudes.request looks at who asked for protection: {why} (--request COLUMN)")
    if request is not None and "magnitudes.request" not in rules:
        raise typer.BadParameter("--request has no effect: the policy has no key magnitudes.request")


def _earlier_tables(register: str | None) -> list[EarlierTotals]:
    """Return the tables of totals of a register; `ReleaseError` where it has none, or one is not as registered."""
    from recon.readers.formats.tables.hierarchies import read_text_file
    from recon.readers.formats.tables.magnitudes import earlier_totals
    from recon.release.registers.register import Register
    from solvers.foundation.errors import ReleaseError

    if register is None:
        return []
    found = Register.read(register)
    if not found.totals:
        step = f"recon register {register} --add FILE --decision release --totals-of COLUMN"
        raise ReleaseError(f"no table of totals is registered: {step}", file=register)
    found.check(found.totals)
    return [earlier_totals(read_text_file(path), one.totals, path)
            for one in found.totals for path in [found.path(one)]]  # fmt: skip


def _table(
    file: str, metadata: str | None, by: list[str], value: str | None, what: RespondentColumns | None,
    hierarchy: list[str], rules: dict[str, SensitivityRule], earlier: list[EarlierTotals], limits: Limits,
) -> MagnitudeTable:  # fmt: skip
    """Return the table of a file; `ReleaseError` where it has fewer contributions of a cell than a rule looks at."""
    from recon.readers.formats.tables.magnitudes import table_of_argus, table_of_rows
    from recon.readers.frames.selections import read_table
    from solvers.foundation.errors import ReleaseError

    needed = max((one.looks_at for one in rules.values()), default=0)
    if what is not None:
        frame = read_table(file, limits)
        columns = {str(name): frame[name].astype(str).tolist() for name in frame.columns}
        tables = [[name.strip() for name in one.split(",")] for one in by]
        before = [one.names for one in earlier]
        return table_of_rows(columns, tables, what, hierarchy, max(needed, 2), file, before)
    found = table_of_argus(file, metadata or "", value, hierarchy)
    there = found.contributions.largest.shape[1]
    if there < needed:
        name = next(key for key, one in rules.items() if one.looks_at == needed)
        why = f"{name} looks at the {needed} largest contributions, the metadata names {there} (<MAXSCORE>)"
        raise ReleaseError(why, file=file)
    return found


def _assessed(task: TotalsTask, hidden: Bits, policy: Policy, limits: Limits) -> PolicyAssessment:
    """Return what a policy says of a table with these cells hidden."""
    from recon.release.policies.assessing import assess
    from recon.release.policies.facts import FactTable
    from recon.release.remediation.hidden_totals import checked_totals

    limits.report("hidden cells are audited")
    return assess(FactTable("exact", others={"magnitudes": checked_totals(task, hidden, limits)}), policy)


def _content(task: TotalsTask, hidden: Bits, out: str) -> dict[str, str]:
    """Return the text of each file to write; `EngineError` where they are not read back as they were audited."""
    from recon.readers.formats.tables.magnitudes import argus_files, sdc_problems, table_csv
    from recon.readers.formats.tables.status_tables import sdc_files

    table, own = task.table.published()
    lines, levels = task.hidden_lines(hidden)[own], task.levels[own]
    if suffix(out) == ".csv":
        return {out: table_csv(table, lines)}
    stem = os.path.splitext(out)[0]
    if suffix(out) == ".tab":
        files = argus_files(table, lines, levels, os.path.basename(stem))
    else:
        files = sdc_files(sdc_problems(table, lines, levels), os.path.basename(stem))
    return {f"{stem}{end}": text for end, text in files.items()}


def _read(metadata: str | None, hierarchy: list[str] | None) -> list[str]:
    """Return the files beside the table that the command reads."""
    return [*([metadata] if metadata else []), *(one.partition("=")[2] for one in hierarchy or [])]


def _write(path: str, text: str) -> None:
    from recon.io.files.writing import writing

    with writing(path, binary=True) as file:
        file.write(text.encode())


def _answer_json(
    file: str, task: TotalsTask, hidden: Bits, pattern: SuppressionPattern | None, assessment: PolicyAssessment,
    written: list[str],
) -> dict[str, Any]:  # fmt: skip
    """Return what was found as an object ready for JSON; values are texts as in the file."""
    table, own = task.table.published()
    lines = task.hidden_lines(hidden)[own]
    sensitive = {key: int(some[own].sum()) for key, some in task.rules.items()}
    out: dict[str, Any] = {
        "file": file, "value": table.value, "attributes": list(table.names), "cells": len(table.codes),
        "sensitive": int((task.levels[own] > 0).sum()), "sensitive_by_rule": sensitive, "hidden": int(lines.sum()),
        "outcome": assessment.outcome, "assessment": assessment.to_json(), "written": written,
    }  # fmt: skip
    if pattern is not None:
        out["pattern"] = {
            "cost": table.number(pattern.cost), "least_cost": table.number(pattern.bound) if pattern.bound else None,
            "how": pattern.how, "attacks": pattern.attacks,
        }  # fmt: skip
    return out


def _answer_lines(told: dict[str, Any], assessment: PolicyAssessment) -> list[str]:
    """Return what was found in words."""
    what = f"{told['cells']:,} cells of {told['value']} by {', '.join(told['attributes'])}"
    lines = [f"{told['file']}: {what}; {told['sensitive']:,} are sensitive, {told['hidden']:,} are hidden"]
    if told["earlier"]:
        lines.append(f"  attacked together with {', '.join(told['earlier'])}")
    if pattern := told.get("pattern"):
        proved = pattern["least_cost"] == pattern["cost"]
        cheapest = " (no pattern hides less)" if proved else ""
        lines.append(f"  further totals that are hidden  {pattern['cost']}{cheapest}: {pattern['how']}")
    for one in assessment.checks:
        lines.append(f"  {one.outcome}: {one.sentence}")
        lines += [f"    {place['name']}: {place['where']}" for place in one.said.places]
    lines.append(f"policy: {assessment.outcome}: {assessment.sentence}")
    if told["written"]:
        own = " (with the hidden totals: the office's own)" if suffix(told["written"][0]) != ".csv" else ""
        lines.append(f"written: {', '.join(told['written'])}{own}")
    return lines
