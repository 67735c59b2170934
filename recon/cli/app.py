"""The command line: every command asks one question of a release and prints the answer (docs/commands.md).

`recon plan`: which engines would answer, in which order, and what is left for them to solve; `engines`, `schema`.

`recon audit`: the report on a release, what a policy says to it, and the exit code that follows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.commands.difference import difference
from recon.cli.commands.inspecting import convert, domain, inspect
from recon.cli.commands.labels import labels
from recon.cli.commands.magnitudes import magnitudes
from recon.cli.commands.noise import denoise, posterior, sweep
from recon.cli.commands.population import population
from recon.cli.commands.positions import positions
from recon.cli.commands.proof import export, verify
from recon.cli.commands.queries import queries
from recon.cli.commands.variability import variability
from recon.cli.output.printing import (
    ended,
    ended_early,
    ending,
    estimate_lines,
    estimates_json,
    extreme_world,
    leave_at_once,
    policy_of,
    report,
    show,
    show_counted_tables,
    show_emptiness,
    show_verdicts,
    stored_certificates,
    with_other_answers,
    with_tables,
)
from recon.cli.releasing.policy import gate, policy
from recon.cli.releasing.register import register
from recon.cli.releasing.remedy import remedy
from recon.cli.releasing.serving import decisions, serve
from recon.cli.session import (
    BUDGET,
    AddedRows,
    Certificates,
    Counter,
    Digits,
    EarlierReleases,
    Json,
    Limit,
    Out,
    PolicyFile,
    Population,
    ProfileFile,
    ReleaseOptions,
    Remedies,
    RemovedRows,
    ReportOut,
    Truth,
    Views,
    WithoutNoise,
    WorldOut,
    declared_domain,
    finish,
    open_release,
    registered_domain,
    suffix,
    with_limits,
    with_options,
)
from recon.cli.studies.attack import attack_app
from recon.cli.studies.learn import learn_app
from recon.cli.studies.reproduce import reproduce
from recon.io.console.guarding import GuardedTyper, asking, command_line
from recon.io.console.output import (
    DONE,
    INCONCLUSIVE,
    INTERNAL,
    INTERRUPTED,
    UNREADABLE,
    USAGE,
    lost_output,
    of_error,
    print_error,
    print_json,
    print_lines,
    records,
    write_table,
    write_text,
)
from recon.io.console.version import VERSION
from recon.io.files.opening import files_opened_once
from solvers.foundation.displayed import escape_text

if TYPE_CHECKING:
    from encoders.encode.encoder import EncodedRelease
    from recon.cli.output.adversary import MeasuresBeside
    from recon.queries.measures.figures import Measures
    from solvers.foundation.limits import Limits

Profiles = Annotated[
    str | None, typer.Option("--profiles", help="People to ask about, one per line: are they in the data?")
]
Data = Annotated[
    str | None,
    typer.Option("--data", help="The training rows (.csv, .parquet): whose are most exposed, by position."),
]
Protected = Annotated[
    str | None, typer.Option("--protected", help="Column of --data: exposure by its groups (are some hit harder?).")
]
ShowRows = Annotated[bool, typer.Option("--show-rows", help="Values of single people in the report.")]


@with_tables
@with_other_answers
@with_options(
    "rows",
    "known",
    "adversary",
    "label",
    "convention",
    "seed",
    "learner",
    "confidence",
    "workers",
    "dask",
    seconds=BUDGET,
)
def audit(
    asked: ReleaseOptions, policy: PolicyFile = None, register: EarlierReleases = None, removed: RemovedRows = None,
    added: AddedRows = None, profiles: Profiles = None, data: Data = None, protected: Protected = None,
    show_rows: ShowRows = False, remedies: Remedies = False, truth: Truth = None, population: Population = None,
    digits: Digits = 10_000, out: ReportOut = None, without_noise: WithoutNoise = None,
) -> None:  # fmt: skip
    """Report what a release reveals, what would help, and whether it meets a policy."""
    from recon.io.files.sheets import is_table
    from recon.readers.frames.describe import table_like
    from recon.readers.loading.settled import strengthened_release
    from recon.report.audit import audit as run
    from recon.report.stored_report import limits_line, open_report
    from solvers.foundation.parallel.pieces import kept_open

    if protected is not None and data is None:
        raise typer.BadParameter("--protected is a column of the training rows: give them with --data")
    if (removed, added) != (None, None) and register is None:
        raise typer.BadParameter(
            "--removed and --added are numbers since the last release of --register: give that too"
        )
    chosen = policy_of(policy)
    form = ".json" if asked.json else suffix(out)
    with asked.working() as whole, kept_open(), files_opened_once():
        limits = asked.within_machine(whole)
        asked = replace(asked, domain=asked.domain or registered_domain(register))
        domain, label = asked.domain, asked.label
        release = asked.release(limits, settle=False, whole=True)
        if release.rows.high is None:  # nothing can be counted, but something is said
            stated = open_report(strengthened_release(release, limits), chosen, limits, command_line())
            violated = stated.assessment is not None and stated.assessment.outcome == "violated"
            if violated or not asked.json:
                write_text(stated.written_as(form, digits), out, private=True)
            if violated:  # by what was published, whatever the number of rows is
                raise typer.Exit(ended(stated, bool(out)))
        real, people, known, given = (table_like(release, path, label) for path in (truth, population, profiles, data))
        table = domain if domain is not None and release.statements.bags and is_table(domain) else None
        exact = None if without_noise is None else open_release([without_noise], domain, asked.independent, limits)
        report = run(release, chosen, convention=asked.convention, truth=real, population=people, without_noise=exact,
                     limits=limits, seed=asked.seed, remedies=remedies, profiles=known, data=given, protected=protected,
                     show_rows=show_rows, register=register, removed=removed, added=added,
                     learner=asked.learner, adversary=asked.adversary,
                     domain_rows=table_like(release, table, label),
                     domain=declared_domain(domain, label) if register else None, command=command_line())  # fmt: skip
    with ending(ended(report, bool(out))):
        write_text(report.written_as(form, digits), out, private=True)
        if not asked.json and out is None:
            print_lines(limits_line(limits), file=sys.stderr)
        if report.findings.empty is not None and (asked.json or out):
            print_lines(f"recon: {report.findings.empty.found}", file=sys.stderr)


QuestionName = Annotated[
    str | None, typer.Option("--question", help="One kind of question: count, decide, sample, ...; by default all.")
]


@with_options("rows", "known", "adversary", "convention", "confidence")
def plan(asked: ReleaseOptions, question: QuestionName = None) -> None:
    """Print which engines would be asked, in which order, why others refuse, and what is left to solve."""
    from recon.queries.questions.planning import QUESTIONS
    from recon.queries.questions.planning import plan as run

    if question is not None and question not in QUESTIONS:
        raise typer.BadParameter(f"--question is one of {', '.join(QUESTIONS)}, not '{question}'")
    with asked.opened_beside(settle=False, several=True) as (release, limits):
        found = run(release, question, asked.convention, limits)
    if asked.json:
        print_json(found.to_dict())
    else:
        print_lines(*found.lines())
    finish(found.status)


Described = Annotated[
    str,
    typer.Argument(
        metavar="[release|adversary|card|report|policy]",
        help="Which file: release, adversary, card, report or policy.",
    ),
]


def schema(of: Described = "release") -> None:
    """Print the JSON Schema of release files, adversaries, model cards, an audit's JSON (report) or policies."""
    if of == "release":
        from recon.readers.formats.release.schema import json_schema as described
    elif of == "adversary":
        from recon.readers.formats.release.schema import adversary_schema as described
    elif of == "card":
        from recon.readers.formats.statistics.model_card import card_schema as described
    elif of == "report":
        from recon.report.document.schema import json_schema as described
    elif of == "policy":
        from recon.release.policies.rules import json_schema as described
    else:
        raise typer.BadParameter(f"there is a schema of release, adversary, card, report and policy, not of '{of}'")
    print_json(described())


def engines(json: Json = False) -> None:
    """List the engines and whether they can run here."""
    from solvers.engines.chain import iter_statuses

    found = [{"name": name, "about": about, "status": status} for name, about, status in iter_statuses()]
    if json:
        print_json(found)
    else:
        print_lines(*(line for e in found for line in (f"{e['name']}: {e['status']}", f"  {e['about']}")))


def _show_version(asked: bool) -> None:
    """Print the version where it is asked for, and end."""
    if asked:
        print_lines(f"recon {VERSION}")
        raise typer.Exit()


app = GuardedTyper(
    name="recon",
    help="Which training sets agree with a released model? Count, measure, draw and certify them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


app.show_tables = show_counted_tables


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Take what stands before a command."""


app.add_typer(learn_app, name="learn")
app.add_typer(attack_app, name="attack")
reading: list[Callable[..., None]] = [inspect, convert, domain, report, policy, decisions]
deciding: list[Callable[..., None]] = [audit, gate, remedy, register, magnitudes]
questions: list[Callable[..., None]] = [
    difference,
    population,
    queries,
    labels,
    positions,
    verify,
    export,
    plan,
    posterior,
    denoise,
    sweep,
    variability,
]
for command in [*map(with_limits, reading), *deciding, *questions]:
    app.command()(command)
for command in (schema, engines, reproduce, serve):
    app.command()(command)
for learner in learn_app.registered_commands:
    learner.callback = with_limits(learner.callback) if learner.callback else None


def _both_measures(
    asked: ReleaseOptions, release: EncodedRelease, limits: Limits
) -> tuple[Measures, MeasuresBeside | None]:
    """Return the measures of a release for nobody, and for the adversary of `--adversary` where there is one."""
    from recon.queries.measures.measures import measure

    theirs, chosen = asked.beside(release, limits), asked.convention
    if theirs is None:
        return measure(release, chosen, limits), None
    from recon.cli.output.adversary import MeasuresBeside
    from recon.queries.answers.counting import common_convention

    if chosen in (None, "population"):
        chosen = common_convention(release, theirs)
    return measure(release, chosen, limits), MeasuresBeside(theirs, measure(theirs, asked.convention or chosen, limits))


@app.command()
@with_tables
@with_options("rows", "known", "adversary", "convention", "learner", "confidence")
def count(asked: ReleaseOptions, digits: Digits = 10_000, counter: Counter = None) -> None:
    """Count the possible worlds and measure the uncertainty left."""
    from recon.readers.formats.drafts.drafts import not_assessed_lines
    from recon.report.wording.headline import assumption_lines, doubts, worlds_lines
    from solvers.foundation.errors import EmptyConfidenceSet

    with asked.opened(several=True) as (release, limits):
        try:
            measures, beside = _both_measures(asked, release, limits)
        except EmptyConfidenceSet as error:
            from recon.release.auditing.auditing import emptiness

            show_emptiness(emptiness(release, error, limits), asked.json)
            finish("empty")
        proved = None
        if measures.status == "unsat":
            from recon.queries.certificates.issuing import contradiction_certificate

            proved = contradiction_certificate(release.at_confidence(1), limits)
        counted = estimates_json(release, counter, digits, limits, measures.counted) if counter else []
        rule_json: dict[str, Any] = {}
        rule_lines: list[str] = []
        if asked.learner != "none" and measures.status != "unsat":
            from recon.cli.output.under_rule import count_rule

            rule_json, rule_lines = count_rule(release, asked.learner, limits)
    if asked.json:
        from recon.report.wording.headline import count_json

        found = count_json(release, measures, digits)
        found |= {"certificate": proved} if proved is not None else {}
        found = found if beside is None else beside.compared(found, digits, limits)
        print_json(found | ({"estimates": counted} if counted else {}) | rule_json)
    elif measures.status == "unsat":
        from recon.queries.certificates.agreement import contradicted
        from recon.queries.certificates.certificate_format import certified_lines

        why = contradicted(release)
        print_lines(f"possible worlds: 0: the statements contradict each other{f': {why}' if why else ''}")
        print_lines(
            *(f"  {source}" for source in measures.counted.conflict), *certified_lines(proved), *doubts(release)
        )
    else:
        if release.noisy:
            from recon.report.wording.headline import noise_lines

            print_lines(*noise_lines(release, measures))
        print_lines(*worlds_lines(measures), *estimate_lines(counted), *rule_lines, *not_assessed_lines(release))
        print_lines(*(() if beside is None else beside.lines(measures)))
        for text in measures.counted.trail if measures.status == "bounds" else ():
            print_lines(f"not exact: {text}", file=sys.stderr)
        print_lines("assuming: " + "; ".join(assumption_lines(release)))
    finish(measures.status if beside is None else beside.status(measures))


@app.command()
@with_options("rows", "known", "adversary", "convention", "confidence")
def worlds(asked: ReleaseOptions, limit: Limit = 10, views: Views = False, out: Out = None) -> None:
    """List possible worlds, each data set once, whatever the order of its rows."""
    from recon.cli.output.streaming import write_worlds
    from recon.queries.questions.questions import worlds as run

    with asked.opened_beside(several=True) as (release, limits):
        notes, early = write_worlds(run(release, limit, asked.convention, limits), views, out, asked.json)
    ended_early(notes, early)


@app.command()
@with_options("rows", "known", "adversary", "convention", "seed", "learner", "confidence")
def sample(
    asked: ReleaseOptions, k: Annotated[int, typer.Option("-k", "--worlds", min=0, help="How many worlds.")] = 1,
    views: Views = False, out: Out = None,
) -> None:  # fmt: skip
    """Draw possible worlds uniformly from all worlds of the convention."""
    from recon.cli.output.streaming import write_worlds
    from recon.cli.output.under_rule import drawn_worlds

    with asked.opened_beside(several=True) as (release, limits):
        drawn = drawn_worlds(release, k, asked.seed, asked.convention, asked.learner, limits)
        notes, early = write_worlds(drawn, views, out, asked.json)
    ended_early(notes, early)


@app.command()
@with_options("rows", "known", "adversary", "label", "seed", "confidence")
def reconstruct(
    asked: ReleaseOptions, views: Views = False, out: Out = None, truth: Truth = None, population: Population = None,
    certificates: Certificates = None,
) -> None:  # fmt: skip
    """Reconstruct one most likely training set, and say whether it is the only one."""
    from recon.queries.certificates.certificate_format import certified_lines
    from recon.queries.certificates.issuing import world_certificate
    from recon.queries.measures.measures import measure
    from recon.queries.questions.questions import reconstruct as run
    from recon.readers.frames.describe import table_like
    from recon.release.auditing.findings import check_truth
    from recon.report.wording.group_report import truth_json, truth_lines

    with asked.opened_beside(several=True) as (release, limits):
        real, people = (table_like(release, path, asked.label) for path in (truth, population))
        world = run(release, asked.seed, limits)
        proved = world_certificate(release, world, limits) if world.unique else None
        checked = None
        if real is not None:
            checked = check_truth(release, real, people, measure(release, "multiset", limits), asked.seed, limits)
    if asked.json:
        found: dict[str, Any] = {"unique": world.unique, "note": world.note, "rows": records(world.to_frame(views))}
        found |= {"assumptions": list(release.assumptions), **world.figures}
        (found["certificate"],) = stored_certificates([proved], certificates, out)
        print_json(found if checked is None else found | {"truth": truth_json(checked)}, out, private=True)
        return
    write_table(world.to_frame(views), out, private=True)
    alone = "a possible world; whether there are others is not decided"
    if world.unique is not None:
        alone = "the only possible world" if world.unique else "one of several possible worlds"
    stored_certificates([proved], certificates, out)
    lines = certified_lines(proved)
    notes = [world.note] if world.note else []
    print_lines(alone, *lines, *notes, *(() if checked is None else truth_lines(checked)), file=sys.stderr)


@app.command()
@with_tables
@with_options("rows", "known", "adversary", "label", "of_rows", "convention", "learner", "confidence")
def certify(asked: ReleaseOptions, profiles: ProfileFile, out: Out = None, certificates: Certificates = None) -> None:
    """Say whether each person is certainly, possibly or certainly not in the data."""
    from recon.queries.questions.line_proofs import line_proofs
    from recon.queries.questions.questions import certify as run
    from recon.readers.frames.describe import table_like
    from recon.readers.frames.selections import with_rows_of

    with asked.opened(several=True) as (release, limits):
        people = with_rows_of(release, table_like(release, profiles, asked.label), asked.of_rows)
        if asked.learner != "none":
            from recon.cli.output.under_rule import show_under_rule

            found = show_under_rule(release, people, asked.learner, asked.convention, limits, out, asked.json)
            finish("unknown" if found["verdict"].isin(["unknown", "outside"]).any() else "exact")
        beside, chosen = asked.beside(release, limits), asked.convention
        if beside is not None:
            from recon.cli.output.adversary import verdicts_beside
            from recon.queries.answers.counting import common_convention

            chosen = chosen or common_convention(release, beside)
        found = run(release, people, chosen, limits, certificates=True if certificates else None)
        proofs = line_proofs(release, people, found, limits, bool(certificates)) if asked.json else None
        if beside is not None:
            found = verdicts_beside(beside, people, found, chosen, limits, asked.json)
    show_verdicts(found, people, out, proofs, release, certificates)
    finish("unknown" if found["verdict"].isin(["unknown", "outside"]).any() else "exact")


@app.command()
@with_options("rows", "known", "adversary", "label", "of_rows", "convention", "confidence")
def attribute(
    asked: ReleaseOptions, profiles: ProfileFile,
    sensitive: Annotated[str, typer.Option("--sensitive", help="The attribute or column to infer.")], out: Out = None,
) -> None:  # fmt: skip
    """Infer a sensitive column of people who are known to be in the data, from partial profiles."""
    from recon.queries.questions.questions import attribute as run
    from recon.readers.frames.describe import table_like

    with asked.opened(several=True) as (release, limits):
        people = table_like(release, profiles, asked.label)
        found = run(release, people, sensitive, asked.convention, limits, asked.label, asked.of_rows, asked.adversary)
    show(found, out, asked.json, release)
    finish("unknown" if found.attrs.get("outside") else found.attrs["status"])


@app.command()
@with_options("rows", "known", "adversary", "of_rows", "convention", "confidence")
def bound(
    asked: ReleaseOptions,
    where: Annotated[str, typer.Option("--where", help='Condition, e.g. \'{"age": {"below": 25}}\'.')],
    of: Annotated[
        str | None, typer.Option("--of", help="A numeric column: its mean (0/1: a share); a,b: their correlation.")
    ] = None,
    attained: Annotated[
        str | None, typer.Option("--attained", help="Write a world that attains the least (min) or greatest (max).")
    ] = None,
    out: WorldOut = None,
) -> None:
    """Bound a count, a mean, a share or a correlation of the rows that meet a condition over all worlds."""
    from recon.queries.answers.compared import BOUNDED, compared_object
    from recon.queries.answers.counting import common_convention
    from recon.queries.bounds.bounding import bound as run
    from recon.readers.frames.selections import of_rows
    from recon.report.wording.group_report import bound_json, bound_line

    named = None if of is None else tuple(part.strip() for part in of.split(","))
    if named is not None and (len(named) > 2 or not all(named)):
        raise typer.BadParameter(f"--of is one name, or two with a comma (age or age,income), not {of!r}")
    if attained not in {None, "min", "max"}:
        raise typer.BadParameter(f"--attained is min or max, not '{attained}'")
    with asked.opened(several=True) as (release, limits):
        here = _parse_where(where) | ({} if asked.of_rows is None else of_rows(release, asked.of_rows))
        beside, convention = asked.beside(release, limits), asked.convention
        if beside is not None and convention is None:
            convention = common_convention(release, beside)
        found = run(release, here, named, convention=convention, limits=limits)
        theirs = None if beside is None else run(beside, here, named, convention=convention, limits=limits)
        world = None if attained is None else extreme_world(found, attained == "max")
    if asked.json:
        said = bound_json(found)
        print_json(said if theirs is None else compared_object(said, bound_json(theirs), BOUNDED))
    else:
        print_lines(*bound_line(found, of).split("\n"))
        if theirs is not None:
            lines = bound_line(theirs, of).split("\n")
            print_lines(f"for an adversary who knows what {asked.adversary} says: {lines[0]}", *lines[1:])
    if world is not None:
        write_table(world, out, private=True)
    finish(found.status)


@app.command()
@with_options("rows", "known", "adversary", "confidence")
def table(asked: ReleaseOptions, out: Out = None) -> None:
    """Print the probabilistic dataset: per training row the values each attribute can still have."""
    from recon.queries.questions.probabilistic import table as run

    with asked.opened_beside(several=True) as (release, limits):
        found = run(release, limits)
    if asked.json:
        print_json(records(found), out, private=True)
    else:
        write_table(found, out, private=True)
    finish(found.attrs["status"])


def _parse_where(text: str) -> Any:
    """Return the condition in --where; wrong usage when it is not a JSON object."""
    from recon.readers.formats.release.reading import strict_json
    from solvers.foundation.errors import ReleaseError

    try:
        found = strict_json(text)
    except ReleaseError as error:
        raise typer.BadParameter(f"--where {error}") from None
    if not isinstance(found, dict):
        raise typer.BadParameter(f'--where must be an object such as {{"age": 30}}, not {text}')
    return found


def main() -> None:
    """Run the command line and exit with the code of the contract; never a traceback."""
    code: Any = INTERNAL
    try:
        _run_app()
    except SystemExit as error:
        code = error.code
    if (lost := lost_output()) is not None:
        print_lines(f"recon: standard output cannot be written: {lost.strerror}", file=sys.stderr)
        code = code or UNREADABLE
    leave_at_once(code)
    sys.exit(code)


def _run_app() -> None:
    """Run the command line; always ends in `SystemExit`."""
    try:
        with asking(sys.argv[1:]):
            code = app(prog_name="recon", standalone_mode=False)  # also the command that a shell completes
    except (KeyboardInterrupt, typer.Abort):
        print_error(KeyboardInterrupt())
        sys.exit(INCONCLUSIVE)
    except SystemExit as error:
        # A pipe to a process of ours broke: typer takes that for a reader who left, and ends with 1.
        if not isinstance(error.__context__, OSError):
            raise
        print_error(error.__context__)
        sys.exit(of_error(error.__context__))
    except Exception as error:  # the one place that turns whatever went wrong into a sentence
        # Usage errors are click's, which some versions of typer carry under a name of their own.
        if callable(show_usage := getattr(error, "show", None)):
            error.__dict__["message"] = escape_text(getattr(error, "message", ""))
            show_usage()
            sys.exit(USAGE)
        print_error(error)
        sys.exit(of_error(error))
    if code == INTERRUPTED:
        print_error(KeyboardInterrupt())
        code = INCONCLUSIVE
    sys.exit(code if isinstance(code, int) else DONE)
