"""The command `recon remedy`: the fewest merges of leaves that meet a policy, audited before they are written.

Of tables of counts: the cells to hide so that no count below the policy's threshold is given away.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from recon.cli.session import (
    BUDGET,
    AddedRows,
    CommonOptions,
    DomainFile,
    RemovedRows,
    Seed,
    open_release,
    registered_domain,
    suffix,
    with_options,
)
from recon.io.console.output import INCONCLUSIVE, VIOLATED, print_json, print_lines

if TYPE_CHECKING:
    import pandas as pd

    from encoders.encode.encoder import EncodedRelease
    from encoders.models.models import Table
    from recon.io.files.opening import TableOptions
    from recon.release.policies.assessing import PolicyAssessment
    from recon.release.policies.policy import Policy
    from recon.release.registers.versions import HeldVersions
    from recon.release.remediation.hiding import HiddenCells, MovedTables
    from recon.release.remediation.pruning import Merging
    from solvers.foundation.limits import Limits
    from solvers.suppression.patterns import SuppressionPattern

RELEASES, COPIES, TABLES = (".json",), (".joblib", ".pkl", ".pickle"), (".csv", ".tab", ".r")
THRESHOLDS, WIDTH, MOST = ("smallest_group", "smallest_cell"), "least_hidden_width", 100_000
ModelFile = Annotated[str, typer.Argument(metavar="FILE", help="Release or model file with one tree, list or forest.")]
PolicyFile = Annotated[str, typer.Option("--policy", help="Policy file (.toml) that the result must meet.")]
Better = Annotated[
    str,
    typer.Option(
        "--out", help="Where to: .json (release file), .joblib or .pkl (copy of a model), .csv, .tab or .R (a table)."
    ),
]
DataFile = Annotated[str | None, typer.Option("--data", help="Rows with their label: accuracy before and after.")]
LabelName = Annotated[str | None, typer.Option("--label", help="The column of the data with the label.")]
Earlier = Annotated[
    str | None,
    typer.Option(
        "--register", help="Folder of earlier releases, of models of earlier versions: they stay as they are."
    ),
]
Method = Annotated[
    str, typer.Option("--method", help="Tables: cheapest (cells hidden), hypercube, rounding[:BASE] or adjustment.")
]
Strip = Annotated[bool, typer.Option("--strip", help="Also take seeds and stored arrays out of the copy.")]


@dataclass(frozen=True)
class Result:
    """What was found: the merges, the content of the file, what the policy says of it, and what was proved of it."""

    found: Merging
    content: bytes
    assessment: PolicyAssessment
    facts: dict[str, Any]
    accuracy: tuple[float | None, float | None, int | None, str]
    proof: tuple[str, ...]


@with_options(seconds=BUDGET)
def remedy(
    asked: CommonOptions, file: ModelFile, policy: PolicyFile, out: Better, domain: DomainFile = None,
    data: DataFile = None, label: LabelName = None, strip: Strip = False, seed: Seed = 0, register: Earlier = None,
    removed: RemovedRows = None, added: AddedRows = None, method: Method = "cheapest",
) -> None:  # fmt: skip
    """Merge as few leaves, or hide as few cells, as a policy needs; the result is audited before it is written."""
    from recon.io.files.writing import writing
    from recon.release.policies.policy import read_policy
    from recon.release.remediation.pruning import NoMerging
    from recon.report.stored_report import limits_json, limits_line
    from solvers.foundation.errors import PolicyError

    _check_out(file, out, strip)
    way, _, base = method.partition(":")
    known = way in {"cheapest", "hypercube", "rounding", "adjustment"} and (not base or way == "rounding")
    if not known or (":" in method and not (base.isdecimal() and 2 <= int(base) <= MOST)):
        ways = "cheapest, hypercube, rounding (rounding:5) or adjustment"
        raise typer.BadParameter(f"there is no method '{method}': choose {ways}")
    try:
        wanted = read_policy(policy)
    except PolicyError as error:
        raise typer.BadParameter(str(error)) from None
    with asked.working() as limits:
        release = open_release([file], domain, False, limits, label=label, settle=False)
        if all(model.kind == "table" and model.noise is None for model in release.models):
            return _hide_in_tables(asked, release, wanted, out, limits, register, domain, method)
        _check_for_models(out, method)
        if register is not None and domain is None and (domain := registered_domain(register)) is not None:
            release = open_release([file], domain, False, limits, label=label, settle=False)
        beside = None if register is None else _earlier_version(release, register, removed, added, limits)
        try:
            result = _remedied(
                release,
                wanted,
                out,
                limits,
                data=data,
                label=label,
                strip=strip,
                seed=seed,
                declared=domain is not None,
                beside=beside,
            )
        except NoMerging as error:
            if asked.json:
                why = {"why": str(error), "limits": limits_json(limits)}
                print_json({"file": file, "outcome": "violated", "written": None, **why})
            print_lines(f"recon: {error}", limits_line(limits), file=sys.stderr)
            raise typer.Exit(VIOLATED) from None
    met = result.assessment.outcome == "met"
    if met:
        with writing(out, binary=True) as written:
            written.write(result.content)
    if asked.json:
        print_json(_as_json(file, out if met else None, result) | {"limits": limits_json(limits)})
    else:
        print_lines(*_lines_of(file, out if met else None, result))
        print_lines(limits_line(limits), file=sys.stderr)
    if not met:
        raise typer.Exit(VIOLATED if result.assessment.outcome == "violated" else INCONCLUSIVE)
    return None


def _earlier_version(
    release: EncodedRelease, folder: str, removed: int | None, added: int | None, limits: Limits
) -> HeldVersions:
    """Return what a release is compared with; `Unsupported` where the register has no earlier version of its data."""
    from recon.release.registers.register import Register
    from recon.release.registers.versions import comparison, version_relation
    from solvers.foundation.errors import Unsupported

    register = Register.read(folder)
    found = comparison(release, register, version_relation(release, register, removed, added), limits)
    if found is None or found.held is None:
        why = "the register has no earlier version of its data (--removed, --added)" if found is None else found.why
        raise Unsupported(f"{release.file}: not compared with an earlier version: {why or 'it is the earlier one'}")
    if found.further:
        later = ", ".join(one.names[1] for one in found.further)
        raise Unsupported(f"{release.file}: merges are tried beside one earlier version, and there is also {later}")
    return found.held


def _check_out(file: str, out: str, strip: bool) -> None:
    """Refuse, as wrong usage, names that say another format than is written, and the file itself."""
    end = suffix(out)
    if end not in RELEASES + COPIES + TABLES:
        hint = " (skops: write .joblib or .json)" if end == ".skops" else ""
        raise typer.BadParameter(
            f"'{end}' is not written (of '{out}'): end it in .json, .joblib, .pkl, .csv, .tab or .R{hint}"
        )
    if strip and end in RELEASES:
        raise typer.BadParameter("--strip is for copies of model files: a release file stores no seeds or arrays")
    if os.path.exists(out) and os.path.exists(file) and os.path.samefile(file, out):
        raise typer.BadParameter("the result would overwrite the file itself: give another name")


def _check_for_models(out: str, method: str) -> None:
    """Refuse, as wrong usage, what is for tables alone."""
    if suffix(out) in TABLES:
        raise typer.BadParameter(
            f"'{suffix(out)}' is not written of a model (of '{out}'): end it in .json, .joblib or .pkl"
        )
    if method != "cheapest":
        raise typer.BadParameter("--method is for tables of counts")


def _remedied(
    release: EncodedRelease, policy: Policy, out: str, limits: Limits, *, data: str | None = None,
    label: str | None = None, strip: bool = False, seed: int = 0, declared: bool = False,
    beside: HeldVersions | None = None,
) -> Result:  # fmt: skip
    """Return the merged release as the content of a file, read again, audited and assessed; nothing is written.

    `declared`: the domain of a model file was given; else the result must meet the policy over the one it lets guess.
    `beside`: the earlier version that the result must stand beside.
    """
    from recon.readers.frames.selections import numbers_of, read_table
    from recon.release.remediation.merging import merge_leaves
    from recon.release.remediation.versions import merged_beside

    rows = None if data is None else numbers_of(read_table(data, limits))
    limits.report("merges are searched")
    some = limits.stage("merges")  # the audit of the result needs time too
    found = merge_leaves(release, policy, some) if beside is None else merged_beside(beside, release, policy, some)
    content, proof = _written_content(release, found, out, strip, limits, seed)
    assessment, facts = _audited(content, out, release, found, policy, limits, seed, declared, beside)
    return Result(found, content, assessment, facts, _accuracies(release, found, rows, label), proof)


def _written_content(
    release: EncodedRelease, found: Merging, out: str, strip: bool, limits: Limits, seed: int
) -> tuple[bytes, tuple[str, ...]]:
    """Return what the file will hold, and what was proved of it."""
    from recon.readers.formats.release.writing import alone, dump, release_json
    from recon.readers.inspection.inspecting import read_file
    from recon.readers.inspection.stripping import stripped_bytes
    from recon.release.remediation.copies import merged_copy

    if suffix(out) in RELEASES:
        after = found.release
        models = [alone(model) for model in after.models]
        return dump(release_json(after.domain, models, after.declared or after.rows)).encode(), ()
    limits.report("a copy is made, and proved")
    _, data = read_file(release.file)
    copied = merged_copy(data, release.models, found.collapsed, limits.memory, seed)
    if not strip:
        return copied.content, copied.proof
    done, content = stripped_bytes(copied.content, release.file, out, limits.memory)
    return content, (*copied.proof, *done.proof)


def _audited(
    content: bytes, out: str, release: EncodedRelease, found: Merging, policy: Policy, limits: Limits, seed: int,
    declared: bool, beside_it: HeldVersions | None,
) -> tuple[PolicyAssessment, dict[str, Any]]:  # fmt: skip
    """Return what the policy says of the audit of the file, read again: of a copy also over the domain it says itself.

    Raises `EngineError` where what is read back is not the merged release.
    """
    from recon.readers.loading.loading import load
    from recon.release.auditing.auditing import AuditInputs, run_audit
    from recon.release.auditing.facts import facts_of
    from recon.release.policies.assessing import assess
    from recon.release.remediation.versions import facts_beside
    from solvers.foundation.errors import EngineError

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "remedied" + suffix(out))
        with open(path, "wb") as file:
            file.write(content)
        copy = suffix(out) in COPIES
        again = load(path, domain=release.domain if copy else None, memory=limits.memory, limits=limits)
        if again.rows != found.release.rows or not _same_models(again, found.release):
            raise EngineError("the file, read again, is not the merged release: nothing was written")
        limits.report("the result is audited")
        beside = AuditInputs(seed=seed, thresholds=policy.values)
        facts = facts_of(run_audit(again, beside, limits)).to_json()
        facts = facts if beside_it is None else facts_beside(beside_it, again, facts, limits)
        said = assess(facts, policy)
        if said.outcome == "met" and copy and not declared:
            guessed = load(path, memory=limits.memory, limits=limits)
            own = facts_of(run_audit(guessed, beside, limits)).to_json()
            own = own if beside_it is None else facts_beside(beside_it, again, own, limits)
            if (alone := assess(own, policy)).outcome != "met":
                return alone, own
    return said, facts


def _same_models(a: EncodedRelease, b: EncodedRelease) -> bool:
    """Return whether two releases have the same trees or rules over the same domain, whatever file they are from."""
    strip = [[replace(m, origin=None) for m in one.models] for one in (a, b)]
    return a.domain.all == b.domain.all and strip[0] == strip[1]


def _accuracies(
    release: EncodedRelease, found: Merging, rows: pd.DataFrame | None, label: str | None
) -> tuple[float | None, float | None, int | None, str]:
    """Return the accuracy before and after on the data, how many rows were judged, and why it is not known."""
    from recon.release.remediation.candidates import accuracy
    from solvers.foundation.errors import ReleaseError, Unsupported

    if rows is None:
        return None, None, None, ""
    try:
        before, judged = accuracy(release, rows, label)
        return before, accuracy(found.release, rows, label)[0], judged, ""
    except (ReleaseError, Unsupported) as error:
        return None, None, None, str(error)


def _as_json(file: str, written: str | None, result: Result) -> dict[str, Any]:
    """Return what was done as a JSON object."""
    from recon.release.remediation.thresholds import shown_facts

    found, (before, after, judged, why) = result.found, result.accuracy
    left = found.release.models[0].groups()
    return {
        "file": file, "written": written, "outcome": result.assessment.outcome, "merges": found.merges,
        "exact": found.exact, "how": found.how, "leaves": {"before": left + found.merges, "after": left},
        "collapsed": [list(own) for own in found.collapsed], "before": shown_facts(found.before),
        "after": shown_facts(result.facts), "accuracy": {"before": before, "after": after, "rows": judged, "why": why},
        "proof": list(result.proof), "assessment": result.assessment.to_json(),
    }  # fmt: skip


def _lines_of(file: str, written: str | None, result: Result) -> list[str]:
    """Return the same for people."""
    from recon.release.policies.rules import RULES
    from recon.release.remediation.thresholds import shown_facts
    from solvers.foundation.displayed import quote

    found, (before, after, judged, why) = result.found, result.accuracy
    left = found.release.models[0].groups()
    lines = [
        f"{quote(file)}: {found.merges:,} merges; {left + found.merges:,} leaves or rules before, {left:,} after",
        f"  {found.how}",
    ]
    old, new = shown_facts(found.before), shown_facts(result.facts)
    keys = {one.fact: one.merged for one in RULES.values() if one.merged}
    width = max(map(len, keys.values()))
    lines += [
        f"  {words:<{width}}  {_ends_text(old[key])} before, {_ends_text(new[key])} after"
        for key, words in keys.items()
    ]
    if left == 1:
        lines.append(
            "  one leaf or rule is left: everybody gets the same answer; train again with larger groups instead"
        )
    if judged is not None and before is not None and after is not None:
        lines.append(f"  {'accuracy':<{width}}  {before:.4f} before, {after:.4f} after ({judged:,} rows)")
    elif why:
        lines.append(f"  accuracy is not known: {why}")
    lines += [f"  proved: {line}" for line in result.proof]
    lines.append(f"policy: {result.assessment.outcome}: {result.assessment.sentence}")
    open_ones = [one for one in result.assessment.checks if one.outcome in {"violated", "inconclusive"}]
    lines += [f"  {one.sentence}" for one in open_ones]
    if written is None:
        return [*lines, "nothing was written: the result does not meet the policy"]
    return [*lines, f"written: {quote(written)}, read again and audited"]


def _ends_text(ends: Any) -> str:
    """Return an interval in words."""
    if ends is None:
        return "not known"
    low, high = (None if x is None else f"{x:,.4g}" if isinstance(x, float) else f"{x:,}" for x in ends)
    return str(low) if low == high else f"at least {low}" if high is None else f"{low} to {high}"


def _hide_in_tables(
    asked: CommonOptions, release: EncodedRelease, policy: Policy, out: str, limits: Limits, register: str | None,
    domain: str | None, method: str,
) -> None:  # fmt: skip
    """Write the tables with cells hidden where the exact audit finds that nothing is revealed; else end with 1."""
    from recon.io.files.opening import TableOptions
    from recon.io.files.writing import writing
    from recon.release.remediation.hiding import MovedTables, hide_cells, move_counts
    from recon.report.stored_report import limits_json, limits_line
    from solvers.foundation.errors import Unsupported

    if suffix(out) not in {".json", *TABLES}:
        raise typer.BadParameter(f"'{out}' would be a model: tables are written to .json, .csv, .tab or .R")
    if suffix(out) in {".tab", ".r"} and method.partition(":")[0] in {"rounding", "adjustment"}:
        why = f"a {os.path.splitext(out)[1]} file says which counts are hidden"
        raise typer.BadParameter(f"{why}: write counts that were moved to .csv")
    asked_for = {key: policy.values[key] for key in (*THRESHOLDS, WIDTH) if isinstance(policy.values.get(key), int)}
    if not asked_for:
        keys = f"smallest_group, smallest_cell or {WIDTH}"
        raise typer.BadParameter(f"cells of tables are hidden for a policy with {keys}")
    threshold, width = max((asked_for.get(key, 1) for key in THRESHOLDS), default=1), asked_for.get(WIDTH, 0)
    joined, earlier = release, 0
    if register is not None:
        joined = open_release([*release.files, *_known_files(register)], domain, False, limits, settle=False)
        earlier = len(joined.models) - len(release.models)
    limits.report("cells to hide are searched")
    way, _, base = method.partition(":")
    try:
        found: HiddenCells | MovedTables
        if way in {"rounding", "adjustment"}:
            multiples = None if way == "adjustment" else int(base or max(2, threshold, width + 1))
            found = move_counts(joined, threshold, limits, earlier, multiples, width)
            files = _tables_content(release, found.printed if suffix(out) == ".csv" else found.tables, out)
        else:
            found = hide_cells(joined, threshold, limits, earlier, method, width)
            files = _tables_content(release, found.tables, out)
    except Unsupported as error:
        if not str(error).startswith("no pattern"):
            raise
        print_lines(f"recon: {error}", limits_line(limits), file=sys.stderr)
        raise typer.Exit(VIOLATED) from None
    said = TableOptions()
    if isinstance(found, MovedTables) and suffix(out) == ".csv":
        said = TableOptions.said(rounding=found.moved.below)
    _check_beside(files, out, release)
    _check_read_back(files, out, release, found.tables, limits, said)
    for path, content in files.items() if found.holds else ():
        with writing(path, binary=True) as written:
            written.write(content)
    if asked.json:
        print_json(_hidden_json(release.file, out if found.holds else None, found) | {"limits": limits_json(limits)})
    else:
        print_lines(*_hidden_lines(release.file, out if found.holds else None, found))
        print_lines(limits_line(limits), file=sys.stderr)
    if not found.holds:
        raise typer.Exit(VIOLATED)


def _check_beside(files: dict[str, bytes], out: str, release: EncodedRelease) -> None:
    """Refuse, as wrong usage, a name whose further files would be written over what was read."""
    for path in (one for one in files if one != out and os.path.exists(one)):
        if any(os.path.samefile(path, one) for one in release.files if os.path.exists(one)):
            raise typer.BadParameter(f"{path} is read by this command and would be overwritten: choose another name")


def _known_files(folder: str) -> list[str]:
    """Return the files of a register that are known outside; `ReleaseError` where one is not as registered."""
    from recon.release.registers.register import Register
    from solvers.foundation.errors import ReleaseError

    found = Register.read(folder)
    for entry in found.released:
        if (state := found.state(entry)) != "as registered":
            raise ReleaseError(f"{state}: what it says cannot count as known", file=found.path(entry))
    return [found.path(entry) for entry in found.released]


def _tables_content(release: EncodedRelease, tables: tuple[Table, ...], out: str) -> dict[str, bytes]:
    """Return what each file will hold: CSV or τ-ARGUS's files of one table, else a release file."""
    from recon.readers.formats.printed.written_tables import argus_files, sdctable_files, table_text
    from recon.readers.formats.release.writing import alone, dump, release_json

    if suffix(out) == ".json":
        return {out: dump(release_json(release.domain, [alone(one) for one in tables], release.rows)).encode()}
    if len(tables) != 1:
        raise typer.BadParameter(f"{suffix(out)} holds one table, not {len(tables)}: write .json")
    if suffix(out) == ".csv":
        return {out: table_text(tables[0], release.domain, _trees_of(release)).encode()}
    stem, before = os.path.splitext(out)[0], cast("Table", release.models[0])
    written = argus_files if suffix(out) == ".tab" else sdctable_files
    files = written(before, tables[0], release.domain, _trees_of(release), os.path.basename(stem))
    return {f"{stem}{end}": text.encode() for end, text in files.items()}


def _trees_of(release: EncodedRelease) -> dict[str, Any]:
    """Return the hierarchies that the options name, and those of the metadata."""
    from recon.io.files.opening import table_options
    from recon.readers.formats.tables.hierarchies import hierarchies_of, read_text_file
    from recon.readers.formats.tables.status_tables import hierarchies_in, metadata_of

    said, names = table_options(), [one.name for one in release.domain.all]
    of_files = said.hierarchies
    if said.metadata is not None:
        found = metadata_of(read_text_file(said.metadata), said.metadata)
        of_files = (*of_files, *hierarchies_in(found, os.path.dirname(said.metadata)))
    kept = [one for one in of_files if one.partition("=")[2] not in names]
    return hierarchies_of(kept, names, {}, frozenset())[0]


def _check_read_back(
    files: dict[str, bytes],
    out: str,
    release: EncodedRelease,
    tables: tuple[Table, ...],
    limits: Limits,
    said: TableOptions,
) -> None:
    """Raise `Unsupported` unless the file, read again, says what the tables say: the audit was of these."""
    from recon.io.files.opening import TableOptions, table_options
    from recon.io.files.writing import writing
    from recon.readers.loading.loading import load
    from solvers.foundation.errors import ReleaseError, Unsupported

    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            with writing(os.path.join(folder, os.path.basename(name)), binary=True) as file:
                file.write(content)
        path = os.path.join(folder, os.path.basename(out))
        said = TableOptions(metadata=f"{os.path.splitext(path)[0]}.rda") if suffix(out) == ".tab" else said
        if suffix(out) == ".r":
            path = f"{os.path.splitext(path)[0]}-cells.csv"
        if suffix(out) != ".tab":
            said = replace(said, hierarchies=table_options().hierarchies)
        try:
            again = load(path, domain=release.domain, memory=limits.memory, limits=limits, table=said)
            same = _figures_of(again, again.models) == _figures_of(release, tables)
        except ReleaseError:
            same = False
    if not same:
        why = "is not read back as it was audited, so that nothing was written"
        raise Unsupported(f"the table in {suffix(out)} {why}: write .json")


def _figures_of(release: EncodedRelease, tables: Any) -> list[Any]:
    """Return the figures of tables in an order: whom they are about, and between which numbers they are."""
    out = []
    for table in tables:
        for figure in table.figures():
            where = tuple(sorted(release.domain.resolve(figure.condition).items()))
            ends = (figure.count, figure.count) if figure.count is not None else (figure.low or 0, figure.high)
            out.append((where, ends))
    return sorted(out, key=repr)


def _pattern_json(pattern: SuppressionPattern, found: HiddenCells) -> dict[str, Any]:
    """Return a pattern as an object ready for JSON."""
    hidden = int(pattern.hidden.sum())
    return {"hidden": hidden, "further": hidden - found.sensitive, "cost": pattern.cost, "how": pattern.how,
            "attackable": len(pattern.attackable)}  # fmt: skip


def _hidden_json(file: str, written: str | None, found: HiddenCells | MovedTables) -> dict[str, Any]:
    """Return what was found as one object."""
    from recon.release.remediation.hiding import MovedTables

    if isinstance(found, MovedTables):
        moved = found.moved
        return {
            "file": file, "outcome": "met" if found.holds else "violated", "written": written,
            "threshold": found.threshold, "cells": found.cells, "sensitive": found.sensitive, "narrowest": moved.least,
            "moved_below": moved.below, "moved": moved.total, "least_moved": moved.bound,
            "attackable": len(moved.attackable),
        }  # fmt: skip
    pattern = found.pattern
    return {
        "file": file, "outcome": "met" if found.holds else "violated", "written": written,
        "threshold": found.threshold, "cells": found.cells, "sensitive": found.sensitive,
        "narrowest": found.least, "least_cost": pattern.bound or None, "attacks": pattern.attacks,
        "pattern": _pattern_json(pattern, found), "hypercube": _pattern_json(found.other, found),
    }  # fmt: skip


def _hidden_lines(file: str, written: str | None, found: HiddenCells | MovedTables) -> list[str]:
    """Return what was found in words."""
    from recon.release.remediation.hiding import MovedTables

    if isinstance(found, MovedTables):
        return _moved_lines(file, written, found)
    pattern, hidden = found.pattern, int(found.pattern.hidden.sum())
    small = f"{found.sensitive:,} counts below {found.threshold:,}, or hidden before"
    lines = [f"{file}: {small}; {hidden:,} cells are hidden in all"]
    proved = f", at least {pattern.bound:,} of any" if 0 < pattern.bound < pattern.cost else ""
    cheapest = " (no pattern hides fewer)" if 0 < pattern.bound >= pattern.cost else proved
    lines.append(f"  further people in hidden cells  {pattern.cost:,}{cheapest}: {pattern.how}")
    other = found.other
    undone = f"; {len(other.attackable):,} sensitive cells are too narrow in it" if len(other.attackable) else ""
    lines.append(f"  by hypercubes                   {other.cost:,}{undone}")
    if found.least is not None:
        what = "hidden cell   " if found.width else "sensitive cell"
        lines.append(f"  narrowest {what}        {found.least:,} rows between the least and the most")
    if written is None:
        return [*lines, f"nothing was written: {len(pattern.attackable):,} sensitive cells stay too narrow"]
    beside = {".tab": ".rda", ".r": "its tables"}.get(suffix(written))
    own = f" ({beside} beside it; with the hidden counts: the office's own)" if beside else ""
    return [*lines, f"written: {written}{own}, read again and audited exactly"]


def _moved_lines(file: str, written: str | None, found: MovedTables) -> list[str]:
    """Return what rounding or adjusting did, in words."""
    moved = found.moved
    proved = " (no such table moves fewer)" if moved.bound >= moved.total else f", at least {moved.bound:,} in any"
    small = f"{found.sensitive:,} counts below {found.threshold:,}"
    lines = [
        f"{file}: {small}; every count is moved by less than {moved.below:,}",
        f"  counts moved by                 {moved.total:,} in all{proved}",
    ]
    if moved.least is not None:
        lines.append(f"  narrowest sensitive cell        {moved.least:,} rows between the least and the most")
    if written is None:
        return [*lines, f"nothing was written: {len(moved.attackable):,} sensitive cells stay too narrow"]
    how = f"; read it with --rounding {moved.below}" if suffix(written) == ".csv" else ""
    return [*lines, f"written: {written}, read again and audited exactly{how}"]
