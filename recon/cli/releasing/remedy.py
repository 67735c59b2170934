"""The command `recon remedy`: the fewest merges of leaves that meet a policy, audited before they are written."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.session import open_release
from recon.io.console.options import (
    BUDGET,
    CommonOptions,
    DomainFile,
    Seed,
    suffix,
    with_options,
)
from recon.io.console.output import INCONCLUSIVE, VIOLATED, print_json, print_lines

if TYPE_CHECKING:
    import pandas as pd

    from encoders.encode.encoder import EncodedRelease
    from encoders.models.models import AnyModel
    from recon.release.policies.assessing import PolicyAssessment
    from recon.release.policies.policy import Policy
    from recon.release.remediation.pruning import Merging
    from solvers.foundation.limits import Limits

RELEASES, COPIES, TABLES = (".json",), (".joblib", ".pkl", ".pickle"), (".csv",)
ModelFile = Annotated[str, typer.Argument(metavar="FILE", help="Release or model file with one tree, list or forest.")]
PolicyFile = Annotated[str, typer.Option("--policy", help="Policy file (.toml) that the result must meet.")]
Better = Annotated[
    str,
    typer.Option(
        "--out", help="Where to: .json (release file), .joblib or .pkl (copy of a scikit-learn model), .csv (a table)."
    ),
]
DataFile = Annotated[str | None, typer.Option("--data", help="Rows with their label: accuracy before and after.")]
LabelName = Annotated[str | None, typer.Option("--label", help="The column of the data with the label.")]
Earlier = Annotated[
    str | None, typer.Option("--register", help="Of tables: folder of earlier releases, which stay as they are.")
]
Method = Annotated[
    str, typer.Option("--method", help="Of tables: cheapest (fewest people in hidden cells) or hypercube.")
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
    method: Method = "cheapest",
) -> None:  # fmt: skip
    """Merge as few leaves, or hide as few cells, as a policy needs; write the result where its audit meets it."""
    from recon.cli.releasing.hiding import hide_in_tables
    from recon.io.files.writing import writing
    from recon.release.policies.policy import read_policy
    from recon.release.remediation.pruning import NoMerging
    from recon.report.document.metadata import limits_json, limits_line
    from solvers.foundation.errors import PolicyError

    _check_out(file, out, strip)
    if method not in {"cheapest", "hypercube"}:
        raise typer.BadParameter(f"there is no method '{method}': choose cheapest or hypercube")
    try:
        wanted = read_policy(policy)
    except PolicyError as error:
        raise typer.BadParameter(str(error)) from None
    with asked.working() as limits:
        release = open_release([file], domain, False, limits, label=label, settle=False)
        if all(model.kind == "table" and model.noise is None for model in release.models):
            return hide_in_tables(asked, release, wanted, out, limits, register, domain, method)
        _check_for_models(out, register, method)
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


def _check_out(file: str, out: str, strip: bool) -> None:
    """Refuse, as wrong usage, names that say another format than is written, and the file itself."""
    end = suffix(out)
    if end not in RELEASES + COPIES + TABLES:
        hint = " (skops: write .joblib or .json)" if end == ".skops" else ""
        raise typer.BadParameter(f"'{end}' is not written (of '{out}'): end it in .json, .joblib, .pkl or .csv{hint}")
    if strip and end in RELEASES:
        raise typer.BadParameter("--strip is for copies of model files: a release file stores no seeds or arrays")
    if os.path.exists(out) and os.path.exists(file) and os.path.samefile(file, out):
        raise typer.BadParameter("the result would overwrite the file itself: give another name")


def _check_for_models(out: str, register: str | None, method: str) -> None:
    """Refuse, as wrong usage, what is for tables alone."""
    if suffix(out) in TABLES:
        raise typer.BadParameter(f"'{out}' would be a table: end it in .json, .joblib or .pkl")
    if register is not None or method != "cheapest":
        raise typer.BadParameter(
            "--register and --method are for tables of counts: leaves are merged one release at a time"
        )


def _remedied(
    release: EncodedRelease, policy: Policy, out: str, limits: Limits, *, data: str | None = None,
    label: str | None = None, strip: bool = False, seed: int = 0, declared: bool = False,
) -> Result:  # fmt: skip
    """Return the merged release as the content of a file, read again, audited and assessed; nothing is written.

    `declared`: the domain of a model file was given; else the result must meet the policy over the one it lets guess.
    """
    from recon.readers.frames.selections import numbers_of, read_table
    from recon.release.remediation.merging import merge_leaves

    rows = None if data is None else numbers_of(read_table(data, limits))
    limits.report("merges are searched")
    found = merge_leaves(release, policy, limits.stage("merges"))  # the audit of the result needs time too
    content, proof = _written_content(release, found, out, strip, limits, seed)
    assessment, facts = _audited(content, out, release, found, policy, limits, seed, declared)
    return Result(found, content, assessment, facts, _accuracies(release, found, rows, label), proof)


def _written_content(
    release: EncodedRelease, found: Merging, out: str, strip: bool, limits: Limits, seed: int
) -> tuple[bytes, tuple[str, ...]]:
    """Return what the file will hold, and what was proved of it."""
    from recon.readers.formats.release.writing import dump, release_json
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


def alone(model: AnyModel) -> AnyModel:
    """Return a model as a release file alone publishes it: without figures of the model file that nothing states."""
    return model if model.origin is None else replace(model, origin=replace(model.origin, unused=()))


def _audited(
    content: bytes, out: str, release: EncodedRelease, found: Merging, policy: Policy, limits: Limits, seed: int,
    declared: bool,
) -> tuple[PolicyAssessment, dict[str, Any]]:  # fmt: skip
    """Return what the policy says of the audit of the file, read again: of a copy also over the domain it says itself.

    Raises `EngineError` where what is read back is not the merged release.
    """
    from recon.readers.loading.loading import load
    from recon.release.auditing.auditing import AuditInputs, run_audit
    from recon.release.auditing.facts import facts_of
    from recon.release.policies.assessing import assess
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
        said = assess(facts, policy)
        if said.outcome == "met" and copy and not declared:
            guessed = load(path, memory=limits.memory, limits=limits)
            own = facts_of(run_audit(guessed, beside, limits)).to_json()
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
