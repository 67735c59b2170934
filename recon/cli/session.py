"""The options that commands share, with their checks; how every command opens its files and ends."""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from recon.io.console.guarding import command_line, options_of
from recon.io.console.output import ended_at_once, of_status, parse_memory, working

if TYPE_CHECKING:
    from encoders.domain.domain import Domain
    from encoders.encode.encoder import EncodedRelease
    from encoders.models.related import RelatedDataSets
    from solvers.foundation.limits import Limits


def _known_convention(name: str | None) -> str | None:
    """Return the convention; wrong usage for an unknown one."""
    if name not in {None, "assigned", "ordered", "multiset", "population"}:
        raise typer.BadParameter(f"there is no convention '{name}': choose assigned, ordered or multiset")
    return name


def _known_confidence(level: float) -> float:
    """Return the confidence; wrong usage outside (0, 1]."""
    if not 0 < level <= 1:
        raise typer.BadParameter(f"the confidence must be above 0 and at most 1, not {level:g}")
    return level


def _known_learner(text: str) -> str:
    """Return what --learner says; wrong usage for an unknown learner or setting."""
    if text == "none":
        return text
    from recon.io.console.learner_option import asked_of

    try:
        asked_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return text


def _known_seconds(text: str | float) -> float | None:
    """Return the seconds of a time limit, None for "none"; wrong usage for what is not a number from 0 on."""
    try:
        found = math.inf if str(text).strip().lower() == "none" else float(text)
    except ValueError:
        found = math.nan
    if not found >= 0:
        raise typer.BadParameter(f"--time is a number of seconds, or none, not {text!r}")
    return None if math.isinf(found) else found


def known_size(text: str) -> str:
    """Return the size; wrong usage when it is none."""
    try:
        parse_memory(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; give a size such as 512M or 2G") from None
    return text


def known_epsilons(text: str) -> list[float]:
    """Return the numbers of a list with commas; wrong usage where one is none."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--epsilon is a list of numbers such as 0.1,1,10, not {text!r}") from None
    if not all(math.isfinite(e) and e > 0 for e in found):
        raise typer.BadParameter(f"every epsilon must be above 0 and finite, not {text!r}")
    return found


def with_limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that only reads and writes with `--time` and `--memory`, which bound all it reads and its time.

    There is nothing to keep of one that does not end: when its time is up it ends with exit code 4.
    """
    shape = signature(command, eval_str=True)
    own = {"seconds": ReadingSeconds, "memory": ReadingMemory}
    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default={"memory": "1G"}.get(name), annotation=kind)
        for name, kind in own.items()
        if name not in shape.parameters
    ]

    @wraps(command)
    def run(*args: Any, **given: Any) -> None:
        from recon.io.files.opening import budget_within

        named = {name: given[name] for name in own if name in given}
        for one in more:
            given.pop(one.name, None)
        with (
            working(named.get("seconds"), named.get("memory", "1G"), 1, quiet=True) as limits,
            ended_at_once(),
            budget_within(limits=limits),
        ):
            command(*args, **given)

    every = [*shape.parameters.values(), *more]
    run.__signature__ = shape.replace(parameters=every)  # type: ignore[attr-defined]  # what typer reads
    run.__annotations__ = {one.name: one.annotation for one in every}
    return run


def suffix(path: str | None) -> str:
    """Return how a path ends, in small letters: ".json", or "" without a suffix."""
    return os.path.splitext(path or "")[1].lower()


def written_as(*known: str, json: bool = True) -> Callable[[typer.Context, str | None], str | None]:
    """Return the check of --out, before any work: a suffix that says another format than is written is wrong usage.

    `known`: the suffixes that are; a path without one is taken too. `json`: with --json, JSON is what is written, and
    only a suffix that says so is taken.
    """

    def checked(context: typer.Context, path: str | None) -> str | None:
        end = suffix(path)
        if not path or not end or (os.path.exists(path) and not os.path.isfile(path)):
            return path
        if json and context.params.get("json"):
            if end not in {".json", ".txt"}:
                raise typer.BadParameter(f"--json writes JSON: '{path}' must end in .json, or leave --json out")
        elif end not in known:
            raise typer.BadParameter(f"'{end}' is not written (of '{path}'): end it in {' or '.join(known)}")
        return path

    return checked


TABLES = (".csv", ".parquet", ".json")
COMMON = {"files", "domain", "independent", "seconds", "memory", "max_cells", "json", "quiet", "log_json"}
BUDGET = 60.0  # seconds of audit, gate (each file), positions and remedy, where no --time is given
Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Release or model file; - for standard input.")]
KnownRows = Annotated[
    int | None, typer.Option("--rows", min=0, help="Number of training rows, where the files do not say it.")
]
KnownColumns = Annotated[
    str | None,
    typer.Option("--known-columns", help="Everybody's features (.csv, .parquet); labels left out or empty."),
]
AdversaryFile = Annotated[
    str | None, typer.Option("--adversary", help="What an adversary knows (recon schema adversary): answered too.")
]
KnownByPosition = Annotated[
    str | None,
    typer.Option("--known", help="What is known by position: a table of position, any attributes; empty: not known."),
]
# Eager: read before --out, whose check looks at it.
Json = Annotated[bool, typer.Option("--json", help="Print JSON.", is_eager=True)]
DomainFile = Annotated[
    str | None, typer.Option("--domain", help="Release file whose domain counts, or data (.csv) to read one off.")
]
Independent = Annotated[
    bool, typer.Option("--independent-columns", help="Count binary columns as independent bits, as the paper does.")
]
ConventionName = Annotated[
    str | None, typer.Option("--convention", help="assigned, ordered or multiset.", callback=_known_convention)
]
Seconds = Annotated[
    float | None,
    typer.Option(
        "--time", parser=_known_seconds, metavar="SECONDS", help="Stop after so many seconds with bounds; none: never."
    ),
]
Memory = Annotated[
    str,
    typer.Option("--memory", help="Hold no more beside the program: 512M, 2G. Then bounds.", callback=known_size),
]
ReadingSeconds = Annotated[float | None, typer.Option("--time", min=0, help="Give up after so many seconds.")]
ReadingMemory = Annotated[
    str,
    typer.Option("--memory", help="Hold no more than this beyond the loaded program: 512M, 2G.", callback=known_size),
]
MaxCells = Annotated[int, typer.Option("--max-cells", min=1, help="Stop at more live cells of coupled models.")]
Confidence = Annotated[
    float,
    typer.Option("--confidence", help="Joint, of the intervals around noisy counts.", callback=_known_confidence),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Progress as JSON lines on standard error.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything drawn.")]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Local processes; --memory is for all together.")]
Cluster = Annotated[
    str | None,
    typer.Option("--dask", help="A Dask scheduler instead of --workers, e.g. tcp://10.0.0.1:8786."),
]
Out = Annotated[
    str | None,
    typer.Option("--out", help="Write to this file (.csv, .parquet, .json).", callback=written_as(*TABLES)),
]
WorldOut = Annotated[
    str | None,
    typer.Option(
        "--out", help="Write the world here (.csv, .parquet, .json).", callback=written_as(*TABLES, json=False)
    ),
]
ReportOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        help="Write to this file (.html, .md, .json, .txt; for pipelines .sarif, .xml).",
        callback=written_as(".html", ".md", ".json", ".txt", ".sarif", ".xml"),
    ),
]
FindingsOut = Annotated[
    str | None,
    typer.Option(
        "--out", help="Write to this file (.html, .md, .json, .txt).",
        callback=written_as(".html", ".md", ".json", ".txt"),
    ),
]  # fmt: skip
ReleaseOut = Annotated[
    str | None,
    typer.Option("--out", help="Write to this file (.json).", callback=written_as(".json", json=False)),
]
Counter = Annotated[
    list[str] | None, typer.Option("--counter", help="Ask a model counter too: d4, ganak, approxmc (may be repeated).")
]
Digits = Annotated[int, typer.Option("--digits", min=1, help="Print counts of up to so many decimal digits.")]
Limit = Annotated[int, typer.Option("--limit", min=0, help="At most so many.")]
Views = Annotated[
    bool, typer.Option("--binary-columns", "--views", help="Binary columns instead of the attributes behind them.")
]
Truth = Annotated[str | None, typer.Option("--truth", help="The true rows (.csv, .parquet), to compare with.")]
WithoutNoise = Annotated[
    str | None, typer.Option("--without-noise", help="The same release with exact counts: what did the noise protect?")
]
PolicyFile = Annotated[
    str | None, typer.Option("--policy", help="The policy that decides: a TOML file, or preset:NAME (recon policy).")
]
Remedies = Annotated[
    bool,
    typer.Option("--remedies", help="What would help: leaves merged, counts rounded, noise, fewer trees."),
]
Population = Annotated[
    str | None, typer.Option("--population", help="Other rows of the same kind, for the fresh-sample baseline.")
]
Certificates = Annotated[
    str | None,
    typer.Option("--certificates", help="Folder for certificates; by default they are in the --json result."),
]
LabelName = Annotated[
    str | None,
    typer.Option("--label", help="The label's column in these tables, where the domain has another name."),
]
RowsOf = Annotated[
    str | None,
    typer.Option("--of-rows", help="With related data sets: removed, added, kept, or the name of a data set."),
]
ProfileFile = Annotated[str, typer.Option("--profiles", help="Profiles, one per line; empty cells are unknown.")]
LearnerRule = Annotated[
    str,
    typer.Option(
        "--learner",
        help="Learner's rule: none, midpoints, greedy, optimal, auto.",
        callback=_known_learner,
    ),
]


@dataclass(frozen=True, kw_only=True)
class CommonOptions:
    """The options of every command that computes, each with its default: limits, and how it prints.

    `workers` and `dask` are those of commands that say so (`with_options`).
    """

    seconds: Seconds = None
    memory: Memory = "1G"
    max_cells: MaxCells = 200_000
    workers: Workers = 1
    dask: Cluster = None
    json: Json = False
    quiet: Quiet = False
    log_json: LogJson = False

    def working(self) -> AbstractContextManager[Limits]:
        """Return the limits as a context: progress is shown in it, the first Ctrl-C ends the work; see `working`."""
        return working(self.seconds, self.memory, self.max_cells, self.quiet, self.log_json)

    def within_machine(self, limits: Limits) -> Limits:
        """Return the limits with these workers; wrong usage: processes and a cluster, or one without an address."""
        if self.dask is not None and not self.dask.strip():
            raise typer.BadParameter("--dask has an empty address: give the scheduler's, e.g. tcp://10.0.0.1:8786")
        if self.dask and self.workers > 1:
            raise typer.BadParameter("choose --workers (local processes) or --dask (a cluster), not both")
        return replace(limits, workers=self.workers, cluster=self.dask)


def with_options(
    *more: str, without: Mapping[str, Any] | None = None, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the decorator of a command whose first parameter is `CommonOptions`, or derived from it.

    The command line sees its fields beside the command's own parameters: those in `COMMON`, and of the others the ones
    in `more`. `without`: fields that it does not see, with their values. `defaults`: where this command's are other
    than the fields'.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        first, *own = signature(command, eval_str=True).parameters.values()
        kinds = get_type_hints(first.annotation, include_extras=True)
        hidden = dict(without or {})
        names = (COMMON | set(more)) - hidden.keys()
        every = [one for one in fields(first.annotation) if one.name in names]
        given_defaults = {one.name: Parameter.empty if one.default is MISSING else one.default for one in every}
        shared = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name, default), annotation=kinds[name])
            for name, default in given_defaults.items()
        ]

        @wraps(command)
        def run(**given: Any) -> None:
            command(first.annotation(**{one.name: given.pop(one.name) for one in shared}, **hidden), **given)

        seen = [*(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own), *shared]
        seen.sort(key=lambda one: one.name != "files")
        run.__signature__ = signature(command).replace(parameters=seen)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in seen}
        return run

    return decorate


EarlierReleases = Annotated[
    str | None,
    typer.Option("--register", help="Folder of earlier releases about the same rows: audited with this one."),
]
RemovedRows = Annotated[
    int | None, typer.Option("--removed", min=0, help="Rows that left since the last release of --register.")
]
AddedRows = Annotated[
    int | None, typer.Option("--added", min=0, help="Rows that came since the last release of --register.")
]


SHOWN = 4  # columns of a table that a refusal names


def open_files(
    files: list[str],
    domain: str | None,
    independent: bool,
    memory: int,
    confidence: float = 0.95,
    rows: int | None = None,
    label: str | None = None,
    known: str | None = None,
    limits: Limits | None = None,
    from_forest: bool = False,
    related: RelatedDataSets | None = None,
) -> EncodedRelease:
    """Return the release of the files: its domain replaced, its columns made independent, its rows known, if asked.

    `label`: the label's column in a domain that is read off data, where the data have it. `known`: a table of the
    features of everybody. `limits`: on how many processes several files are read. `from_forest`: the file is the text
    of one tree of a bootstrap forest. `related`: the data sets that the files are of, in their order.
    """
    from encoders.encode.encoder import reassembled
    from recon.io.files.opening import table_options
    from recon.readers.loading.loading import load, of_one_data_set, read_domain
    from solvers.foundation.errors import ReleaseError
    from solvers.statements.release import RowCount

    declared = None if domain is None else read_domain(domain, label, lenient=True)
    beside = known if not independent and rows is None else None
    release = load(*files, domain=declared, confidence=confidence, memory=memory, limits=limits, known_columns=beside,
                   label=label, from_forest=from_forest, rows=rows, related=related, table=table_options())  # fmt: skip
    _check_label(label, release.domain, declared)
    gc.freeze()  # it stays until the program ends: the collector need not walk its millions of objects again and again
    if not independent and rows is None:
        return release
    release = of_one_data_set(release)
    found = release.domain.as_columns() if independent else release.domain
    declared_rows = release.declared if rows is None else RowCount(rows, rows)
    try:
        again = reassembled(release, domain=found, declared=declared_rows)
    except ReleaseError as error:
        raise error.at(file=release.file) from None
    if known is None:
        return again
    from recon.readers.loading.known_positions import with_known_columns

    return with_known_columns(again, known, label)


GIVEN_TABLES = ("--domain", "--known", "--known-columns", "--profiles", "--data", "--truth", "--population")


def declared_domain(path: str | None, label: str | None, limits: Limits | None = None) -> Domain | None:
    """Return the domain of `--domain`, None without one; a label that no table of the command has is refused."""
    from recon.readers.loading.loading import read_domain

    if path is None:
        return None
    found = read_domain(path, label, lenient=True, limits=limits)
    _check_label(label, found)
    return found


def _check_label(label: str | None, *domains: Domain | None) -> None:
    """Refuse, as wrong usage, a label that no table of the command has: it would be ignored."""
    if label is None or label in [one.label.name for one in domains if one is not None and one.label is not None]:
        return
    from recon.io.files.sheets import is_table
    from recon.readers.frames.selections import read_table

    typed = command_line() or ""
    given = options_of(typed)
    tables = [path for path in map(given.get, GIVEN_TABLES) if isinstance(path, str) and is_table(path)]
    if not tables or "--adversary" in given or "--sensitive" in typed:
        return
    columns = [[str(name) for name in read_table(path).columns] for path in tables]
    if not any(label in names for names in columns):
        others = "" if len(tables) == 1 else f", nor has another of the {len(tables)} tables"
        more = "its columns are" if len(columns[0]) <= SHOWN else f"the last of its {len(columns[0])} columns are"
        listed = ", ".join(map(repr, columns[0][-SHOWN:]))
        said = f"{tables[0]} has no column '{label}'{others}: {more} {listed}"
        raise typer.BadParameter(said, param_hint="'--label'")


def open_release(
    files: list[str], domain: str | None, independent: bool, limits: Limits, confidence: float = 0.95,
    rows: int | None = None, label: str | None = None, settle: bool = True, known: str | None = None,
    related: RelatedDataSets | None = None, several: bool = False, whole: bool = False,
) -> EncodedRelease:  # fmt: skip
    """Return the release of the files, as the options say; progress says which is being read.

    `settle`: with what leaf values of boosted models prove, worked out first. `known`: a table of everybody's features.
    `related`: the data sets that the files are of. `several`: whether the command knows models of several data sets,
    `whole`: of parts of one.
    """
    from recon.readers.loading.loading import of_one_data_set

    limits.report(f"reading {files[0]}")
    with ended_at_once():
        release = open_files(
            files, domain, independent, limits.memory, confidence, rows, label, known, limits, related=related
        )
    release = release if several else of_one_data_set(release, whole)
    if not settle or not release.statements.boosted:
        return release
    from recon.readers.loading.settled import strengthened_release

    limits.report("leaf values are used")
    return strengthened_release(release, limits)


def finish(status: str) -> None:
    """End with the exit code of a status."""
    raise typer.Exit(of_status(status))


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(CommonOptions):
    """The options of every command that asks about a release, each with its default: the files, and how to read them.

    A command has those in `recon.cli.session.COMMON` and those that it names (`with_options`).
    """

    files: Files
    domain: DomainFile = None
    independent: Independent = False
    rows: KnownRows = None
    known: KnownColumns = None
    adversary: AdversaryFile = None
    label: LabelName = None
    of_rows: RowsOf = None
    convention: ConventionName = None
    seed: Seed = 0
    learner: LearnerRule = "none"
    confidence: Confidence = 0.95

    def release(self, limits: Limits, **more: Any) -> EncodedRelease:
        """Return the release of the files; `more`: of `open_release`, in place of what the options say too."""
        asked = {"confidence": self.confidence, "rows": self.rows, "label": self.label, "known": self.known} | more
        return open_release(self.files, self.domain, self.independent, limits, **asked)

    @contextmanager
    def opened(self, **more: Any) -> Iterator[tuple[EncodedRelease, Limits]]:
        """Yield the release and the limits, see `release` and `working`."""
        with self.working() as limits:
            yield self.release(limits, **more), limits

    @contextmanager
    def opened_beside(self, **more: Any) -> Iterator[tuple[EncodedRelease, Limits]]:
        """Yield the same, the release beside what the adversary knows where one is given."""
        with self.opened(**more) as (release, limits):
            beside = self.beside(release, limits)
            yield release if beside is None else beside, limits

    def beside(self, release: EncodedRelease, limits: Limits) -> EncodedRelease | None:
        """Return the release beside what the adversary of `--adversary` knows, None without one."""
        if self.adversary is None:
            return None
        from recon.readers.loading.adversary import Adversary

        return Adversary.read(self.adversary).beside(release, self.label, limits)


def registered_domain(register: str | None) -> str | None:
    """Return the file of the domain that a register reads its releases with, None where it names none."""
    from recon.release.registers.register import Register as Registered

    return None if register is None else Registered.read(register).domain
