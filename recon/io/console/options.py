"""The options that commands share, with their checks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import MISSING, dataclass, fields, replace
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from recon.io.console.output import ended_at_once, parse_memory, working

if TYPE_CHECKING:
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
