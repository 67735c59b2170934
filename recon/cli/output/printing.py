"""What commands print besides single objects: worlds, tables of answers; and how the program ends.

What `recon audit` answers where the files are no one release: rows that stand in them, models of several folds.

Light to import: the command line does so at every start.

Certificates and estimates as commands print them.

What commands answer about published tables of areas, in place of what they answer about models.

Light to import: the command line does so at every start.

The command `recon report`: the result of an audit in another format, or held against another policy.

How the commands about a release begin and end: its policy read before all else, its verdict as the exit code.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.session import suffix
from recon.io.console.output import (
    INCONCLUSIVE,
    INTERNAL,
    of_error,
    of_verdict,
    print_error,
    print_json,
    print_lines,
    records,
    seconds_said,
    write_table,
    write_text,
)
from solvers.foundation.errors import ReconError, Unsupported

if TYPE_CHECKING:
    from encoders.encode.encoder import EncodedRelease
    from recon.queries.tables.tables import Tables
    from recon.release.auditing.findings import Emptiness
    from recon.release.policies.policy import Policy
    from recon.report.stored_report import AuditReport
    from solvers.foundation.limits import Limits
    from solvers.statements.questions.answers import CountAnswer

ALWAYS = {"files", "seconds", "memory", "json", "quiet", "log_json", "max_cells"}
TAKEN = {  # which options of a command mean something for tables
    "count": {"digits"},
    "certify": {"profiles", "out"},
    "audit": {"out", "digits", "policy"},
    "verify": {"result"},
}


def with_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that answers about release files of kind `tables` too; everything else is as before."""
    defaults = {name: p.default for name, p in inspect.signature(command).parameters.items()}

    @functools.wraps(command)
    def answering(**given: Any) -> None:
        from recon.io.console.output import working
        from recon.io.files.opening import TableOptions, table_options

        with working(given.get("seconds"), given["memory"], 1, given["quiet"], given["log_json"]) as limits:
            tables = _open_tables(given.get("files") or [])
            if tables is not None:
                if table_options() != TableOptions():
                    raise typer.BadParameter("options of tables of counts mean nothing for tables of areas")
                for name, value in given.items():
                    if name not in ALWAYS | TAKEN[command.__name__] and value != defaults[name]:
                        option = name.replace("_", "-")
                        raise typer.BadParameter(f"'{option}' means nothing for tables of areas: leave it out")
                ANSWERS[command.__name__](tables, given, limits)
                return
        command(**given)

    return answering


def show_counted_tables(files: Sequence[str]) -> None:
    """Print how each file that is a table of counts is understood; `Unsupported` where one is something else."""
    from dataclasses import replace

    from recon.io.console.output import print_lines
    from recon.io.files.opening import table_options
    from recon.readers.loading.loading import read_file, refuse_unheeded
    from solvers.foundation.errors import Unsupported

    read = [(file, read_file(file)) for file in files]
    refuse_unheeded([one for _, one in read], replace(table_options(), sheet=None))
    for file, one in read:
        lines = one.understood
        if not lines:
            raise Unsupported(f"{file}: is not a table of counts: --show-table says how those are understood")
        print_lines(f"{file}: as it is understood", *(f"  {line}" for line in lines))


def _open_tables(files: list[str]) -> Tables | None:
    from recon.readers.formats.detection import may_have_tables

    if not any(map(may_have_tables, files)):
        return None
    from recon.queries.tables.reading import opened_tables

    return opened_tables(files)


def _count(tables: Tables, given: dict[str, Any], limits: Limits) -> None:
    from recon.cli.session import finish
    from recon.io.console.output import print_json, print_lines
    from recon.queries.tables.answering import answer_json, count_lines, counted_with_proofs

    found, proofs = counted_with_proofs(tables, limits, wanted=bool(given["json"]))
    if given["json"]:
        print_json(answer_json(found, given["digits"], proofs))
    else:
        print_lines(*count_lines(found))
    finish(found.status)


def _audit(tables: Tables, given: dict[str, Any], limits: Limits) -> None:
    from recon.cli.session import suffix
    from recon.io.console.output import of_verdict, write_text
    from recon.release.policies.policy import read_policy
    from recon.report.tables_report import audit_tables

    out = given["out"]
    if out is not None and suffix(out) not in {".json", ".txt", ".md", ".html"}:
        raise typer.BadParameter(f"reports on tables of areas are text (.txt, .md, .html) or .json, not '{out}'")
    policy = None if given["policy"] is None else read_policy(given["policy"])
    ending = ".json" if given["json"] else suffix(out)
    report = audit_tables(tables, policy, limits, proofs=ending == ".json")
    write_text(report.written_as(ending, given["digits"]), out, private=True)
    told = report.assessment
    if told is not None and out is not None:
        print_lines(f"{told.verdict}: {told.sentence}", file=sys.stderr)
    if code := of_verdict(report.status, None if told is None else told.outcome):
        raise typer.Exit(code)


def _certify(tables: Tables, given: dict[str, Any], limits: Limits) -> None:
    from recon.cli.session import finish
    from recon.io.console.output import print_json, records, write_table
    from recon.queries.tables.answering import certified
    from recon.readers.frames.selections import read_table

    people = read_table(given["profiles"], limits)
    found = certified(tables, people, limits)
    if given["json"]:
        print_json(records(found), given["out"], private=True)
    else:
        write_table(found, given["out"], private=True)
    finish("unknown" if (found["verdict"] == "unknown").any() else "exact")


def _verify(tables: Tables, given: dict[str, Any], limits: Limits) -> None:
    from recon.io.console.output import DONE, INCONCLUSIVE, VIOLATED, print_json, print_lines
    from recon.queries.certificates.verifying import read_result
    from recon.queries.tables.proofs import verify_areas

    found = verify_areas(read_result(given["result"], limits.memory), tables, limits)
    rejected = [c for c in found if c.error and not c.error.startswith("not verified")]
    held = [c for c in found if not c.error]
    if given["json"]:
        print_json({"verified": [c.claim for c in held], "not_verified": [[c.claim, c.error] for c in found if c.error],
                    "assumptions": list(tables.assumptions)})  # fmt: skip
    else:
        print_lines(*(f"certified: {c.claim}" for c in held[:20]))
        print_lines(*([f"... and {len(held) - 20:,} more"] if len(held) > 20 else []))
        print_lines(*(f"REJECTED: {c.claim}: {c.error}" for c in rejected))
        print_lines(f"{len(held):,} of {len(found):,} certificates verified; numbers of data sets and of people "
                    "certain have no certificate", "assuming: " + "; ".join(tables.assumptions))  # fmt: skip
    raise typer.Exit(VIOLATED if rejected else DONE if held and len(held) == len(found) else INCONCLUSIVE)


ANSWERS: dict[str, Callable[[Tables, dict[str, Any], Limits], None]] = {
    "count": _count, "audit": _audit, "certify": _certify, "verify": _verify,
}  # fmt: skip


def stored_certificates(found: list[Any], folder: str | None, out: str | None, kind: str = "certificate") -> list[Any]:
    """Return certificates, equal steps once; or, with a folder, what names the files into which they were written.

    Files are named as seen from the folder of the result, `out`.
    """
    from recon.queries.certificates.certificate_format import sharing_steps
    from recon.queries.certificates.issuing import store_certificate

    if folder is None:
        return sharing_steps(found)
    return [
        None
        if c is None
        else store_certificate(c, folder, f"{kind}-{i:05}-{c['seal'][:8]}", os.path.dirname(out or ""))
        for i, c in enumerate(found)
    ]


def estimates_json(
    release: EncodedRelease, names: list[str], digits: int, limits: Limits, proved: CountAnswer
) -> list[dict[str, Any]]:
    """Return what outside model counters say about the number of `ordered` worlds; nobody proved their figures.

    A count that should be exact and lies outside `proved` bounds of the same convention is not shown.
    """
    from recon.report.wording.headline import LOG2_10
    from solvers.engines.estimates import estimates
    from solvers.foundation.exact import decimal
    from solvers.statements.questions.answers import HASHED

    out = []
    for found in estimates(release.statements, "ordered", limits, names):
        value, note = found.value, found.note
        log2 = math.log2(value) if value else None
        low, high = proved.bounds
        if log2 is not None and proved.convention == "ordered" and found.guarantee == HASHED:
            near = 1e-9 * (1.0 + abs(log2))
            if not low - near <= log2 <= high + near:
                value, note = None, f"counted 2^{log2:.6f}, outside the proved bounds 2^{low:.6f} to 2^{high:.6f}"
        short = value is not None and value.bit_length() / LOG2_10 <= digits
        stated: dict[str, Any] = {
            "engine": found.engine,
            "worlds": decimal(value) if short and value is not None else None,
        }
        stated |= {
            "log2_worlds": None if value is None else log2,
            "guarantee": found.guarantee,
            "convention": "ordered",
        }
        out.append(stated | {"seconds": seconds_said(found.seconds, 6), "note": note})
    return out


def estimate_lines(estimates: list[dict[str, Any]]) -> list[str]:
    """Return what model counters say, one line each."""
    out = []
    for stated in estimates:
        figure = stated["worlds"] or (f"2^{stated['log2_worlds']:,.2f}" if stated["log2_worlds"] is not None else None)
        text = f"counts {figure} ordered worlds, {stated['guarantee']}, not proved"
        out.append(f"{stated['engine']} {text if figure is not None else 'says nothing: ' + stated['note']}")
    return out


def with_other_answers(audit: Callable[..., None]) -> Callable[..., None]:
    """Return the command `audit` with an answer for models without counts.

    Files that store training rows get a report of their own (exit 0). Everything else ends as before.
    """

    @functools.wraps(audit)
    def command(**given: Any) -> None:
        begun = time.monotonic()
        try:
            audit(**given)
        except Unsupported as error:
            raise typer.Exit(_other_answer(error, given, begun)) from None

    return command


def _other_answer(error: Unsupported, given: dict[str, Any], begun: float) -> int:
    """Write what can be said instead, and return the exit code; raises the error again where there is nothing.

    `begun`: when the command did; its time and memory bound this too.
    """
    from recon.cli.session import suffix
    from recon.io.console.guarding import command_line
    from recon.io.console.output import parse_memory, write_text
    from recon.io.files.opening import drawing
    from recon.report.stored_report import stored_instead
    from solvers.foundation.limits import Limits

    limits = Limits(seconds=given.get("seconds"), memory=parse_memory(given["memory"]), started=begun)
    out = given.get("out")
    with drawing(limits, rings=True):
        report = stored_instead(given["files"], error, limits, policy_of(given.get("policy")), command_line())
    write_text(report.written_as(".json" if given.get("json") else suffix(out)), out, private=True)
    return ended(report, bool(out))


def ended_early(notes: list[str], early: str) -> None:
    """Print the notes on the worlds, and end with exit code 4 where a limit ended them."""
    print_lines(*notes, file=sys.stderr)
    if early:
        print_lines(f"recon: {early}", file=sys.stderr)
        raise typer.Exit(INCONCLUSIVE)


def extreme_world(found: Any, greatest: bool) -> Any:
    """Return a world that attains a bound, None (with the reason on standard error) where there is none to show."""
    from solvers.foundation.errors import Inconclusive, Unsupported

    try:
        return found.attained(greatest).to_frame()
    except (Inconclusive, Unsupported) as error:
        print_lines(f"no world: {error}", file=sys.stderr)
        return None


def show(found: Any, out: str | None, json: bool, release: EncodedRelease) -> None:
    """Print or write a table of answers about people; its assumptions go to standard error."""
    if json:
        print_json(records(found), out, private=True)
        print_lines(*found.attrs.get("notes", ()), file=sys.stderr)
        return
    write_table(found, out, private=True)
    from recon.report.wording.headline import assumption_lines

    print_lines(*found.attrs.get("notes", ()), file=sys.stderr)
    convention = found.attrs["convention"]
    print_lines(f"convention: {convention}; assuming: " + "; ".join(assumption_lines(release)), file=sys.stderr)


def show_emptiness(found: Emptiness, json: bool) -> None:
    """Print that no dataset fits the noisy counts at the confidence, and the proof of it."""
    from recon.report.wording.headline import empty_json, empty_sections

    if json:
        print_lines(f"recon: {found.found}", file=sys.stderr)
        print_json(empty_json(found))
        return
    for title, lines in empty_sections(found):
        print_lines(title, *(f"  {line}" for line in lines))


def show_verdicts(
    found: Any,
    profiles: Any,
    out: str | None,
    proofs: list[list[Any]] | None,
    release: EncodedRelease,
    folder: str | None,
) -> None:
    """Print or write verdicts: as JSON with `proofs` of all else that it claims, as a table where they are None.

    Certificates go into JSON, or into files of a folder, else their kinds are named.
    """
    from recon.queries.certificates.certificate_format import proof_word
    from recon.queries.certificates.issuing import profiles_json

    proved = found["certificate"].tolist()
    kinds = ["" if c is None else f"{proof_word(c)} ({c['proof']['kind']})" for c in proved]
    stored = stored_certificates(proved, folder, out)
    if proofs is not None:
        lines = records(found.drop(columns="certificate"))
        every = iter(stored_certificates([c for line in proofs for c in line], folder, out, "proof"))
        more = [[next(every) for _ in line] for line in proofs]
        verdicts = zip(lines, profiles_json(release, profiles), stored, more, strict=True)
        print_json(
            [line | {"profile_values": who, "certificate": one, "proofs": rest} for line, who, one, rest in verdicts],
            out,
            private=True,
        )
        print_lines(*found.attrs.get("notes", ()), file=sys.stderr)
        return
    show(found.assign(certificate=kinds), out, False, release)


def leave_at_once(code: object) -> None:
    """End the program now where Ctrl-C left a solver at work in a thread; else let Python end it."""
    natively = sys.modules.get("solvers.foundation.native")
    if natively is None or not natively.left_behind():
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else INTERNAL)


@contextlib.contextmanager
def ending(code: int) -> Iterator[None]:
    """End with an exit code that is fixed before the block prints or writes.

    Where that fails, or is stopped, the reason is said, and the code is that of the failure only if it was 0.
    """
    try:
        yield
    except (ReconError, OSError, MemoryError, KeyboardInterrupt) as error:
        print_error(error)
        code = code or of_error(error)
    raise typer.Exit(code)


def policy_of(path: str | None) -> Policy | None:
    """Return the policy of a file or preset, before anything is read; wrong usage where it is none."""
    from recon.release.policies.policy import read_policy

    return None if path is None else read_policy(path)


def ended(report: AuditReport, quietly: bool) -> int:
    """Return the exit code of a report: of its policy where there is one; `quietly`: the verdict is not shown yet."""
    told = report.assessment
    if report.status != "unsat" and quietly:
        line = f"not assessed: {NO_POLICY}" if told is None else f"{told.verdict}: {told.sentence}"
        print_lines(line, file=sys.stderr)
    return of_verdict(report.status, None if told is None else told.outcome)


NO_POLICY = "no policy was given (--policy FILE, or preset:NAME)"
SUFFIXES = {".html": "html", ".md": "md", ".txt": "txt", ".json": "json", ".sarif": "sarif", ".xml": "junit"}
FORMATS = tuple(SUFFIXES.values())


def _known_format(name: str | None) -> str | None:
    """Return the format; wrong usage for an unknown one."""
    if name not in {None, *FORMATS}:
        raise typer.BadParameter(f"there is no format '{name}': choose {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    return name


Result = Annotated[
    str, typer.Argument(metavar="RESULT", help="What recon audit FILE --json printed; - for standard input.")
]
To = Annotated[
    str | None,
    typer.Option("--to", help="html, md, txt, json, sarif or junit; by default as --out ends.", callback=_known_format),
]
ByPolicy = Annotated[
    str | None, typer.Option("--policy", help="Assess the result again by this policy (TOML file, or preset:NAME).")
]
ReportTo = Annotated[
    str | None, typer.Option("--out", help="Write to this file (.html, .md, .txt, .json, .sarif, .xml for JUnit).")
]


def report(result: Result, to: To = None, policy: ByPolicy = None, out: ReportTo = None) -> None:
    """Show the result of an audit as a page, Markdown, text, SARIF or JUnit; nothing is computed again."""
    from recon.report.results import as_read, filled, read_document
    from recon.report.stored_report import rendered

    form = _output_format(to, out)
    demanded = None
    if policy is not None:
        from recon.release.policies.policy import read_policy

        demanded = read_policy(policy)
    document = read_document(result)
    if demanded is not None:
        from recon.report.results import reassessed

        document = reassessed(document, demanded)
    with ending(of_verdict("exact", _outcome(document))):
        said = as_read(document)
        write_text(rendered(said if form == "json" else filled(said), form), out, private=True)


def _outcome(document: dict[str, Any]) -> str:
    """Return what the assessment says, "met" where there is none: without a policy nothing fails."""
    assessment = document.get("assessment")
    return "met" if assessment is None else str(assessment["outcome"])


def _output_format(to: str | None, out: str | None) -> str:
    """Return the format that was asked for; wrong usage where --out ends like another one."""
    end = suffix(out)
    if not end:
        return to or "txt"
    if to is None:
        if end not in SUFFIXES:
            raise typer.BadParameter(f"'{end}' is not written: end --out in {', '.join(SUFFIXES)}, or say --to")
        return SUFFIXES[end]
    if end in SUFFIXES and SUFFIXES[end] != to:
        raise typer.BadParameter(f"--to {to} and --out '{out}' disagree: leave one of them out")
    return to
