"""What every command has: no option twice, nothing written over what is read, and --raw where there are tables.

A name of a file that looks like an option is never taken for one: whoever names a file does not choose the policy.

Commands that recon suggests: with the options that the user gave, written so that a shell reads them as they are.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import shlex
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from itertools import combinations, takewhile
from operator import itemgetter
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from recon.io.console.output import interrupts_of_a_command, print_lines
from recon.io.files.opening import TableOptions, table_read_as
from recon.io.files.tables import RAW
from solvers.foundation.errors import ReleaseError

_READING = ("--domain", "--independent-columns", "--rows", "--known-columns", "--adversary")
_LIMITS = ("--time", "--memory", "--max-cells")
_TABLES = (
    "--sheet", "--count-column", "--suppressed", "--totals", "--total-label", "--rounding", "--hierarchy", "--metadata",
)  # fmt: skip
# What is carried over from the user's command to one that is suggested, in the order in which it is written.
TAKES: Mapping[str, Sequence[str]] = {
    "audit": (
        *_READING, "--label", "--policy", "--register", "--removed", "--added", "--profiles", "--data", "--protected",
        "--show-rows",
        "--convention", "--learner", "--confidence", "--seed", "--truth", "--population", "--without-noise", *_LIMITS,
        "--workers", "--dask", "--raw", *_TABLES,
    ),
    "bound": (*_READING, "--convention", "--confidence", *_LIMITS, "--raw", *_TABLES),
    "domain": ("--time", "--memory"),
    "gate": (
        "--policy", "--domain", "--confidence", "--seed", "--time", "--memory", "--max-cells", "--raw", *_TABLES,
    ),
    "inspect": ("--time", "--memory", "--raw", *_TABLES),
    "positions": (*_READING[:3], "--adversary", "--label", "--known", "--confidence", *_LIMITS, "--raw", *_TABLES),
    "remedy": ("--domain", "--policy", "--data", "--label", "--seed", *_LIMITS, "--raw", *_TABLES),
    "verify": (*_READING, "--known", "--learner", "--time", "--memory", "--raw", *_TABLES),
}  # fmt: skip
FLAGS = frozenset(["--independent-columns", "--show-rows", "--raw"])
REPEATED = frozenset(["--count-column", "--suppressed", "--total-label", "--hierarchy"])
_NAMES = frozenset(name for names in TAKES.values() for name in names)
_ASKED: ContextVar[str | None] = ContextVar("command", default=None)

Options = Mapping[str, str | tuple[str, ...] | None]  # by name; None: it is a flag; several: it was repeated


@contextlib.contextmanager
def asking(arguments: Sequence[str]) -> Iterator[None]:
    """Let everything inside know the command that the user gave: what follows `recon`."""
    token = _ASKED.set(shlex.join(["recon", *arguments]))
    try:
        yield
    finally:
        _ASKED.reset(token)


def command_line() -> str | None:
    """Return the command that the user gave, None where there is none: recon is used from Python."""
    return _ASKED.get()


def options_of(command: str | None) -> Options:
    """Return the options of a command that can be carried over, as they were given; none of what is no command."""
    try:
        words = shlex.split(command or "")
    except ValueError:
        return {}
    found: dict[str, str | tuple[str, ...] | None] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--":
            break
        if name in FLAGS:
            found[name] = None
        elif name in _NAMES and (given := value if equals else next(rest, None)) is not None:
            found[name] = (*(found.get(name) or ()), given) if name in REPEATED else given
    return found


def suggestion(
    command: str, files: Sequence[str] = (), options: Options | None = None, *, asked: str | None = None
) -> str:
    """Return a command that can be typed: on files, with options, and with those of the user's that it takes too.

    `options` replace the user's. `asked`: the user's command, where it is not the one that runs (a stored result).
    """
    given = options_of(command_line() if asked is None else asked)
    held = {**(options or {}), **{name: given[name] for name in TAKES.get(command, ()) if name in given}}
    held |= options or {}
    each = [(name, one) for name, value in held.items() for one in (value if isinstance(value, tuple) else (value,))]
    words = [word for name, value in each for word in (name, *(() if value is None else (value,)))]
    return shlex.join(["recon", *command.split(), *map(_as_name, files), *words])


def stripped_name(file: str) -> str:
    """Return the name of a copy of a file without what predictions do not need, in the folder where one is."""
    stem, end = os.path.splitext(os.path.basename(file))
    return f"{stem}-stripped{end}"


def _as_name(file: str) -> str:
    """Return a file as an argument that is no option."""
    return f"./{file}" if file.startswith("-") and file != "-" else file


T = TypeVar("T", bound=Callable[..., None])
OUTPUTS = ("out", "strip", "certificates", "ledger", "sarif", "junit")  # parameters that name what a command writes
WIDTH = 100  # columns of a help page
# Where the help shows an option that several commands have, by parameter; all others stand first, as "Options".
PANELS = {
    "Input": (
        "domain", "independent", "rows", "removed", "added", "known_columns", "known", "adversary", "without_noise",
        "convention", "learner", "seed", "raw",
    ),
    "Policy": ("policy", "register", "remedies", "strict"),
    "People": ("profiles", "of_rows", "data", "label", "protected", "show_rows", "truth", "population"),
    "Tables of counts": (
        "show_table", "sheet", "count_column", "suppressed", "totals", "total_label", "rounding", "hierarchy",
        "metadata",
    ),
    "Limits": ("time", "seconds", "memory", "max_cells", "confidence", "workers", "dask", "counter"),
    "Output": (
        "out", "certificates", "sarif", "junit", "digits", "limit", "views", "json", "quiet", "log_json", "help",
    ),
}  # fmt: skip
METAVARS = {
    "domain": "FILE", "known_columns": "FILE", "known": "FILE", "adversary": "FILE", "profiles": "FILE", "data": "FILE",
    "truth": "FILE",
    "population": "FILE", "out": "FILE", "sarif": "FILE", "junit": "FILE", "without_noise": "FILE", "policy": "POLICY",
    "register": "FOLDER", "certificates": "FOLDER", "label": "COLUMN", "protected": "COLUMN", "rows": "N", "seed": "N",
    "removed": "K", "added": "K", "digits": "N", "limit": "N", "workers": "N", "max_cells": "N", "memory": "SIZE",
    "dask": "ADDRESS",
    "sheet": "NAME", "count_column": "COLUMN", "suppressed": "RANGE", "totals": "WHICH",
    "total_label": "LABEL", "rounding": "N", "hierarchy": "COLUMN=FILE", "metadata": "FILE", "convention": "NAME",
    "learner": "RULE", "confidence": "SHARE", "counter": "NAME",
}  # fmt: skip
KINDS = {"list[str]": "", "str": " TEXT", "int range": " N", "int": " N", "float range": " NUMBER", "float": " NUMBER"}
SAY_THEMSELVES = frozenset(["remedy", "export", "magnitudes"])  # commands whose answer names the file that they wrote
MAP = ".map.json"  # what `export` writes beside its file
Raw = Annotated[
    bool, typer.Option("--raw", help="CSV cells as they are: no apostrophe is put before =1+2, none taken off.")
]
NOISE = "what an adversary knows is not joined with noisy counts"
# Why a command does not take an option that others take, by option and command ("": any other).
NOT_TAKEN = {"--adversary": {
    "gate": "a policy is about nobody (recon audit --policy P --adversary F prints what this adversary knows more)",
    "remedy": "a policy is about nobody, and so is what would help", "posterior": NOISE, "denoise": NOISE,
    "sweep": "noise is tried on what was published alone",
    "": "it is taken by audit, count, bound, certify, attribute, worlds, sample, reconstruct, table, plan, labels, "
        "positions, population and verify",
}}  # fmt: skip
RELEASES = ("files", "file", "before", "add")  # parameters that name released files, which may be tables of counts
TABLE = {  # what may be said of a table, by parameter: its type, and its default
    "show_table": (
        Annotated[bool, typer.Option("--show-table", help="Print tables as they are understood.")], False,
    ),
    "sheet": (Annotated[str | None, typer.Option("--sheet", help="The sheet of a spreadsheet, or its number.")], None),
    "count_column": (
        Annotated[
            list[str] | None,
            typer.Option("--count-column", help="The column of the counts (may be repeated)."),
        ],
        None,
    ),
    "suppressed": (
        Annotated[
            list[str] | None,
            typer.Option("--suppressed", help="What hidden cells hide: 1..4, or x=1..9, -=0."),
        ],
        None,
    ),
    "totals": (
        Annotated[
            str | None, typer.Option("--totals", help="shown: totals leave hidden cells out; all: they do not.")
        ],
        None,
    ),
    "total_label": (
        Annotated[
            list[str] | None,
            typer.Option("--total-label", help="A label that stands for all; none: no other does."),
        ],
        None,
    ),
    "rounding": (
        Annotated[str | None, typer.Option("--rounding", help="Counts are rounded to multiples of N; 1: not rounded.")],
        None,
    ),
    "hierarchy": (
        Annotated[
            list[str] | None,
            typer.Option("--hierarchy", help="What codes of a column lie in: a file (.hrc, .csv), or another column."),
        ],
        None,
    ),
    "metadata": (
        Annotated[str | None, typer.Option("--metadata", help="Metadata (.rda) of a table file (.tab) of τ-ARGUS.")],
        None,
    ),
}  # fmt: skip


class GuardedTyper(typer.Typer):
    """A Typer application whose commands are all guarded.

    `show_tables` prints how the tables among files are understood: what --show-table asks for.
    """

    show_tables: Callable[[Sequence[str]], None] | None = None

    def command(self, *args: Any, **options: Any) -> Callable[[T], T]:
        """Return the decorator that registers a command, as Typer's does; the function itself stays as it is."""
        options["context_settings"] = {"max_content_width": WIDTH} | options.get("context_settings", {})
        register = super().command(*args, cls=OnceCommand, **options)

        def decorate(run: T) -> T:
            register(_guarded_command(run, self))
            return run

        return decorate


class OnceCommand(TyperCommand):
    """A command whose options are given once, and whose arguments before "--" are no names of files if options.

    Its help shows the options in panels, those of its own first.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the command's own options, and the panels that commands share."""
        places = {option: (panel, at) for panel, names in PANELS.items() for at, option in enumerate(names)}
        panels: dict[str, list[tuple[int, tuple[str, str]]]] = {name: [] for name in ("Arguments", "Options", *PANELS)}
        for one in self.get_params(ctx):
            argument = one.param_type_name == "argument"
            if not argument and one.metavar is None and one.name in METAVARS:
                one.metavar = METAVARS[one.name]
            if one.name != "help" and (record := one.get_help_record(ctx)) is not None:
                name, text = record
                for kind, word in KINDS.items():
                    name = name.replace(f" <{kind}>", word)
                text += "  [default: none]" if name.startswith("--time ") and one.default is None else ""
                panel, at = ("Arguments", 0) if argument else places.get(one.name or "", ("Options", 0))
                panels[panel].append((at, (name, text)))
        for name, lines in panels.items():
            if lines:
                with formatter.section(name):
                    formatter.write_dl([line for _, line in sorted(lines, key=itemgetter(0))])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the arguments; --show-table ends a command before what it needs else, so that no option is required."""
        given = [*takewhile(lambda one: one != "--", args)]
        shown, taken = "--show-table" in given, {name for one in self.params for name in one.opts}
        for name in (arg.partition("=")[0] for arg in given):
            if name in NOT_TAKEN and name not in taken:
                why = NOT_TAKEN[name]
                raise typer.BadParameter(f"{self.name} does not take {name}: {why.get(self.name or '', why[''])}")
        needed = [one for one in self.params if shown and one.required and one.param_type_name == "option"]
        for one in needed:
            one.required = False
        try:
            return super().parse_args(ctx, args)
        finally:
            for one in needed:
                one.required = True

    def make_parser(self, ctx: Any) -> Any:
        """Return the parser of this command, which refuses as wrong usage what is said twice or in two ways."""
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def once(args: list[str]) -> Any:
            _refuse_option_or_file(args)
            found = parse(args)
            _refuse_repeated(found[2])
            return found

        parser.__dict__["parse_args"] = once
        return parser


def _refuse_repeated(order: Sequence[Any]) -> None:
    """Refuse, as wrong usage, an option of one value that is given twice: of two policies none is the one meant."""
    seen = set[str]()
    for one in order:
        single = one.param_type_name == "option" and not one.multiple
        if single and one.name in seen and (not one.is_flag or one.secondary_opts):
            raise typer.BadParameter(f"{max(one.opts, key=len)} is given more than once: give it once")
        seen.add(one.name)


def _refuse_option_or_file(args: Sequence[str]) -> None:
    """Refuse, as wrong usage, an argument before "--" that is an option, or "-", and also the name of a file."""
    for arg in takewhile(lambda one: one != "--", args):
        if arg.startswith("-") and os.path.lexists(arg):
            reading = "standard input" if arg == "-" else "an option"
            raise typer.BadParameter(
                f"'{arg}' is {reading}, and a file here has that name: write ./{arg} for the file, or move it away"
            )


def _guarded_command(run: Callable[..., None], app: GuardedTyper) -> Callable[..., None]:
    """Return a command that refuses to write over what it reads before any work.

    With --raw if tables of people pass through, and with what may be said of tables of counts if it reads releases.
    """
    signature = inspect.signature(run, eval_str=True)
    tables = any(name in signature.parameters for name in ("domain", "data", "profiles", "truth"))
    released = [name for name in RELEASES if name in signature.parameters] if app.show_tables is not None else []

    @functools.wraps(run)
    @interrupts_of_a_command()
    def guarded(**given: Any) -> None:
        kept = RAW.set(bool(given.pop("raw", False)))
        said = {name: given.pop(name) for name in TABLE if name in given} if released else {}
        show = said.pop("show_table", False)
        try:
            if run.__name__ in SAY_THEMSELVES - {"export"} and given.get("out") == "-":
                raise typer.BadParameter(f"--out -: {run.__name__} says on standard output what it wrote: name a file")
            refuse_overwriting(given)
            before = {path: _stamp(path) for path in _announced(run.__name__, given)}
            try:
                with table_read_as(_table_options(said)):
                    _refuse_sheet(said.get("sheet"), given)
                    if show and app.show_tables is not None:
                        files = [given[name] for name in (*released, "after") if given.get(name)]
                        app.show_tables([one for some in files for one in (some if isinstance(some, list) else [some])])
                        return
                    run(**given)
            finally:
                print_lines(
                    *(f"wrote {path}" for path in before if _stamp(path) not in {None, before[path]}), file=sys.stderr
                )
        finally:
            RAW.reset(kept)

    found = list(signature.parameters.values())
    more = {"raw": (Raw, False)} if tables and "raw" not in signature.parameters else {}
    for name, (kind, default) in (more | (TABLE if released else {})).items():
        found.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    guarded.__dict__["__signature__"] = signature.replace(parameters=found)
    guarded.__annotations__ = {one.name: one.annotation for one in found}
    return guarded


def _table_options(said: Mapping[str, Any]) -> TableOptions | None:
    """Return what the options say of tables, None where they say nothing; wrong usage where they say what is none."""
    given = {name: value for name, value in said.items() if value}
    if not given:
        return None
    try:
        return TableOptions.said(**given)
    except ReleaseError as error:
        raise typer.BadParameter(str(error)) from None


def _refuse_sheet(sheet: str | None, given: Mapping[str, Any]) -> None:
    """Refuse, as wrong usage, the name of a sheet where no file that is given is a spreadsheet."""
    if sheet is None:
        return
    values = [one for value in given.values() for one in (value if isinstance(value, list) else [value])]
    if not any(isinstance(one, str) and (one == "-" or zipfile.is_zipfile(one)) for one in values):
        raise typer.BadParameter(f"--sheet '{sheet}' has no effect: none of the files is a spreadsheet")


def _announced(command: str, given: Mapping[str, Any]) -> list[str]:
    """Return the files that a command would write and does not name itself; none where it shall be quiet."""
    shown = () if given.get("quiet") or command in SAY_THEMSELVES else ("out", "sarif", "junit")
    return [path for name in shown if isinstance(path := given.get(name), str) and path != "-"]


def _stamp(path: str) -> tuple[int, int, int] | None:
    """Return what changes when a regular file is written; None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else None


def refuse_overwriting(given: Mapping[str, Any]) -> None:
    """Refuse, as wrong usage, an output that is an input, by whatever name or link, or another output.

    An input is any other parameter that names a regular file that exists.
    """
    written = list(_outputs(given))
    for (name, path), (other, twin) in combinations(written, 2):
        if os.path.realpath(path) == os.path.realpath(twin):
            raise typer.BadParameter(f"--{name} and --{other} name the same file: {path}")
    for name, path in written:
        for source in _inputs(given):
            if same_file(path, source):
                message = f"--{name} {path} is read by this command and would be overwritten: choose another name"
                raise typer.BadParameter(message)


def _outputs(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and the path of everything that a command would write."""
    for name in OUTPUTS:
        if isinstance(path := given.get(name), str) and path != "-":
            yield name, path
            if name == "out" and "to" in given:
                yield name, path + MAP


def _inputs(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield every text among the other parameters, which may name a file."""
    for name, value in given.items():
        if name not in OUTPUTS:
            yield from (one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, str))


def same_file(path: str, other: str) -> bool:
    """Return whether two paths lead to one regular file; a terminal or pipe may be read and written."""
    try:
        return os.path.isfile(path) and os.path.samefile(path, other)
    except (OSError, ValueError):  # one of them is no path at all
        return False
