"""The commands `recon policy`, which writes, checks and prints policies, and `recon gate`: models held to one."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.output.printing import ending
from recon.cli.session import (
    BUDGET,
    CommonOptions,
    Confidence,
    DomainFile,
    Json,
    Seed,
    with_options,
    written_as,
)
from recon.io.console.guarding import same_file, suggestion
from recon.io.console.output import (
    gravest,
    of_error,
    of_verdict,
    print_error,
    print_json,
    print_lines,
    write_text,
)
from recon.io.files.opening import files_opened_once

if TYPE_CHECKING:
    from recon.release.policies.policy import Policy
    from solvers.foundation.limits import Limits

LINE = 120  # characters of what is said of one file of several
PolicyFile = Annotated[str | None, typer.Argument(metavar="[FILE]", help="Policy file (TOML), or preset:NAME.")]
Init = Annotated[bool, typer.Option("--init", help="A new policy file, every key explained.")]
PresetName = Annotated[
    str | None, typer.Option("--preset", help="With --init: the preset that it extends (see --list).")
]
List = Annotated[bool, typer.Option("--list", help="List the presets with their sources.")]
PolicyOut = Annotated[
    str | None, typer.Option("--out", help="Write to this file (.toml).", callback=written_as(".toml"))
]
ByPolicy = Annotated[str, typer.Option("--policy", help="Policy file (TOML), or preset:NAME.")]
Gated = Annotated[list[str], typer.Argument(metavar="FILE...", help="Models; each is audited by itself.")]
SarifOut = Annotated[
    str | None,
    typer.Option("--sarif", help="Write the findings as SARIF (.sarif).", callback=written_as(".sarif", json=False)),
]
JunitOut = Annotated[
    str | None,
    typer.Option("--junit", help="Write the checks as JUnit XML (.xml).", callback=written_as(".xml", json=False)),
]


def policy(
    file: PolicyFile = None, init: Init = False, preset: PresetName = None, listed: List = False, out: PolicyOut = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Check a policy and print every threshold with its source; --init writes a new one, --list lists the presets."""
    from recon.release.policies.policy import init_text, policy_lines, preset_lines, presets, read_policy

    if sum([file is not None, init, listed]) != 1:
        raise typer.BadParameter("give a policy file, or --init, or --list")
    if preset is not None and not init:
        raise typer.BadParameter("--preset goes with --init; to print one: recon policy preset:NAME")
    if out is not None and not init:
        raise typer.BadParameter("--out goes with --init: nothing else is written")
    if init:
        if out is not None and os.path.lexists(out):
            raise typer.BadParameter(f"{out} is there already: choose another name, or take it away first")
        write_text(init_text(preset), out)
    elif listed:
        if json:
            print_json([_resolved_json(one) for one in presets()])
        else:
            print_lines(*preset_lines())
    else:
        found = read_policy(str(file))
        if json:
            print_json(_resolved_json(found))
        else:
            print_lines(*policy_lines(found))


def _resolved_json(found: Policy) -> dict[str, Any]:
    """Return a policy with all that it extends worked in, as JSON."""
    return found.to_json() | {
        "note": found.note,
        "inconclusive": found.inconclusive,
        "thresholds": [
            {"key": one.key, "value": one.value, "source": one.source, "set_in": one.set_in} for one in found.thresholds
        ],
    }


@dataclass(frozen=True)
class Gate:
    """What a gate said of one file: the exit code, one line, the document (None: it could not be audited, `why`)."""

    file: str
    code: int
    line: str
    document: dict[str, Any] | None
    why: str = ""


@with_options(seconds=BUDGET)
def gate(
    asked: CommonOptions, files: Gated, policy: ByPolicy, domain: DomainFile = None, sarif: SarifOut = None,
    junit: JunitOut = None, confidence: Confidence = 0.95, seed: Seed = 0,
) -> None:  # fmt: skip
    """Audit each model by itself against a policy; exit code 0 if all meet it, 1 if one violates it, else 3, 5 or 4."""
    from recon.release.policies.policy import read_policy

    for path in filter(None, (sarif, junit)):
        if any(same_file(path, one) for one in (*files, policy)):
            raise typer.BadParameter(f"{path} is read by this command and would be overwritten: choose another name")
    demanded = read_policy(policy)  # before any model is opened
    found = []
    for file in files:
        with asked.working() as limits, files_opened_once():
            found.append(_gated(file, domain, demanded, limits, confidence, seed, len(files) == 1 or asked.json))
        if not asked.json:
            print_lines(found[-1].line if len(files) == 1 else _short_line(found[-1]))
    if not asked.json and len(files) > 1:
        print_lines(*_summary(found, policy))
    with ending(gravest(one.code for one in found)):
        if asked.json:
            print_json([_gate_json(one) for one in found])
        _write_results(found, sarif, junit)


def _gate_json(one: Gate) -> dict[str, Any]:
    """Return what a gate said of a file, as JSON."""
    assessment = (one.document or {}).get("assessment") or {}
    verdict, sentence = assessment.get("verdict"), assessment.get("sentence") or one.why
    return {"file": one.file, "verdict": verdict, "sentence": sentence, "exit_code": one.code}


def _gated(
    file: str, domain: str | None, demanded: Policy, limits: Limits, confidence: float, seed: int, loud: bool = True
) -> Gate:  # fmt: skip
    """Return what a policy says of one file; what cannot be audited stops no other file (`loud`: an error line)."""
    from recon.cli.session import open_release
    from recon.readers.loading.settled import strengthened_release
    from recon.report.audit import audit
    from recon.report.stored_report import open_report, settled_early
    from solvers.foundation.errors import ReconError

    try:
        release = open_release([file], domain, False, limits, confidence, settle=False)
        if release.rows.high is None:
            document = open_report(strengthened_release(release, limits), demanded, limits, None).to_dict()
        else:
            settled = settled_early(release, demanded, limits)
            document = (settled or audit(release, demanded, limits=limits, seed=seed)).to_dict()
    except (ReconError, OSError) as error:
        if loud:
            print_error(error)
        why = " ".join(str(error).split()).removeprefix(f"{file}: ")
        return Gate(file, of_error(error), f"{file}: not audited", None, why)
    assessment = document["assessment"]
    code = of_verdict(document["facts"]["status"], assessment["outcome"])
    return Gate(file, code, f"{file}: {assessment['verdict']}: {assessment['sentence']}", document)


def _short_line(one: Gate) -> str:
    """Return what a gate says of one file of several in at most LINE characters; a long path is cut in front."""
    verdict, why = "not audited", ""
    if one.document is not None:
        verdict, checks = one.document["assessment"]["verdict"], one.document["assessment"]["checks"]
        short = [f"{check['title'].lower()} {check['found']}" for check in checks if check["outcome"] != "met"]
        why = f": {short[0]}; {len(short)} of {len(checks)} checks not met" if short else ": all checks met"
        if len(why) > LINE // 2:
            why = f": {len(short)} of {len(checks)} checks not met"
    room = LINE - len(f"{verdict}{why}  ")
    file = one.file if len(one.file) <= room else f"...{one.file[3 - room :]}"
    return f"{file}: {verdict}{why}"


def _summary(found: list[Gate], policy: str) -> list[str]:
    """Return how often each verdict was given, why files were not audited, and what says more of one."""
    verdicts = Counter("not audited" if g.document is None else g.document["assessment"]["verdict"] for g in found)
    unread = [f"{one.file}: not audited: {one.why}" for one in found if one.document is None]
    of_each = ", ".join(f"{number:,} {verdict}" for verdict, number in verdicts.most_common())
    return [
        "",
        f"{len(found):,} files: {of_each}",
        *unread,
        f"for one file: {suggestion('gate', ['FILE'], {'--policy': policy})}",
    ]


def _write_results(found: list[Gate], sarif: str | None, junit: str | None) -> None:
    """Write what a gate found as SARIF and as JUnit XML, all files in one."""
    if sarif is None and junit is None:
        return
    from recon.report.sarif import junit_of_several, sarif_of_several

    documents = [one.document for one in found if one.document is not None]
    unread = [(one.file, one.why) for one in found if one.document is None]
    if sarif is not None:
        write_text(sarif_of_several(documents, unread), sarif)
    if junit is not None:
        write_text(junit_of_several(documents, unread), junit)
