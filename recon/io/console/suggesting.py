"""Commands that recon suggests: with the options that the user gave, written so that a shell reads them as they are."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar

_READING = ("--domain", "--independent-columns", "--rows", "--known-columns", "--adversary")
_LIMITS = ("--time", "--memory", "--max-cells")
# What is carried over from the user's command to one that is suggested, in the order in which it is written.
TAKES: Mapping[str, Sequence[str]] = {
    "audit": (
        *_READING, "--label", "--policy", "--register", "--removed", "--added", "--profiles", "--data", "--protected",
        "--show-rows",
        "--convention", "--learner", "--confidence", "--seed", "--truth", "--population", "--without-noise", *_LIMITS,
        "--workers", "--dask", "--raw",
    ),
    "bound": (*_READING, "--confidence", *_LIMITS),
    "domain": ("--time", "--memory"),
    "gate": ("--policy", "--domain", "--confidence", "--seed", "--time", "--memory", "--max-cells", "--raw"),
    "inspect": ("--time", "--memory"),
    "positions": (*_READING[:1], "--label", *_LIMITS, "--raw"),
    "remedy": ("--domain", "--policy", "--data", "--label", "--seed", *_LIMITS, "--raw"),
    "verify": (*_READING, "--learner", "--time", "--memory", "--raw"),
}  # fmt: skip
FLAGS = frozenset(["--independent-columns", "--show-rows", "--raw"])
_NAMES = frozenset(name for names in TAKES.values() for name in names)
_ASKED: ContextVar[str | None] = ContextVar("command", default=None)

Options = Mapping[str, str | None]  # by name; None: it is a flag


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
    found: dict[str, str | None] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--":
            break
        if name in FLAGS:
            found[name] = None
        elif name in _NAMES and (given := value if equals else next(rest, None)) is not None:
            found[name] = given
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
    words = [word for name, value in held.items() for word in (name, *(() if value is None else (value,)))]
    return shlex.join(["recon", *command.split(), *map(_as_name, files), *words])


def stripped_name(file: str) -> str:
    """Return the name of a copy of a file without what predictions do not need, in the folder where one is."""
    stem, end = os.path.splitext(os.path.basename(file))
    return f"{stem}-stripped{end}"


def _as_name(file: str) -> str:
    """Return a file as an argument that is no option."""
    return f"./{file}" if file.startswith("-") and file != "-" else file
