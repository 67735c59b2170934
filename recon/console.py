"""What all commands share: exit codes, limits with progress and Ctrl-C, tables written by extension."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from solvers.errors import ContradictionError, Inconclusive, ReconError, ReleaseError

if TYPE_CHECKING:
    import pandas as pd

    from solvers.limits import Limits

DONE, VIOLATED, USAGE, UNREADABLE, INCONCLUSIVE, CONTRADICTION, INTERNAL = 0, 1, 2, 3, 4, 5, 70
INTERRUPTED = 130  # what typer returns for a Ctrl-C of its own
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def exit_code(error: BaseException) -> int:
    """Return the exit code of a refusal (design.md, section 5)."""
    if isinstance(error, ContradictionError):
        return CONTRADICTION
    if isinstance(error, (Inconclusive, KeyboardInterrupt, MemoryError)):
        return INCONCLUSIVE
    return UNREADABLE if isinstance(error, (ReconError, OSError)) else INTERNAL


def say(error: BaseException) -> None:
    """Print one clear sentence on stderr, and the conflicting statements of a contradiction."""
    if isinstance(error, KeyboardInterrupt):
        print("recon: stopped before there was an answer", file=sys.stderr)
        return
    if isinstance(error, MemoryError):
        print("recon: out of memory before there was an answer", file=sys.stderr)
        return
    known = isinstance(error, (ReconError, OSError))
    text = " ".join(str(error).split())
    print(f"recon: {text}" if known else f"recon: internal error: {type(error).__name__}: {text}", file=sys.stderr)
    for source in getattr(error, "conflict", ()):
        print(f"  {source}", file=sys.stderr)


def parse_memory(text: str) -> int:
    """Return bytes of a size such as 512M or 2G; `ValueError` otherwise."""
    cleaned = text.strip().upper().removesuffix("B")
    unit = cleaned[-1:] if cleaned[-1:] in UNITS else ""
    size = float(cleaned[: len(cleaned) - len(unit)]) * UNITS[unit]
    if not 1 << 20 <= size < 1 << 50:
        raise ValueError(f"{text!r} is not between 1M and 1,000,000G")
    return int(size)


@contextlib.contextmanager
def working(
    seconds: float | None, memory: str, max_cells: int, quiet: bool = False, log_json: bool = False
) -> Iterator[Limits]:
    """Yield limits that show progress on a terminal (or as JSON lines) and stop at the first Ctrl-C.

    After the first Ctrl-C the engines return their best bounds; a second one ends the program.
    """
    from solvers.limits import Limits

    shown: Callable[[str], None] | None = None
    with contextlib.ExitStack() as stack:
        if log_json:
            shown = json_lines
        elif not quiet and sys.stderr.isatty():
            from rich.console import Console

            begun = time.monotonic()
            status = stack.enter_context(Console(stderr=True).status("reading"))

            def shown(text: str) -> None:
                status.update(f"{text}  [{time.monotonic() - begun:.0f} s]")

        limits = Limits(seconds=seconds, memory=parse_memory(memory), cells=max_cells, progress=shown)

        def interrupted(number: int, frame: FrameType | None) -> None:
            if limits.stop.is_set():
                raise KeyboardInterrupt
            limits.stop.set()

        before = signal.signal(signal.SIGINT, interrupted)
        stack.callback(signal.signal, signal.SIGINT, before)
        yield limits


@contextlib.contextmanager
def ended_at_once() -> Iterator[None]:
    """Let Ctrl-C end the program at once while there is nothing to keep: no bounds are known yet."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def json_lines(text: str) -> None:
    """Print a line of progress as JSON on stderr."""
    print(json.dumps({"event": "progress", "text": text, "time": time.time()}), file=sys.stderr, flush=True)


def free_name(name: str, taken: Iterable[object]) -> str:
    """Return the name, with underscores behind it until no column has it."""
    names = {str(t) for t in taken}
    while name in names:
        name += "_"
    return name


def print_json(value: Any, out: str | None = None) -> None:
    """Print a value as JSON on stdout or to a file; NaN and Infinity are refused."""
    write_text(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n", out)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame as JSON objects: NaN becomes null, numpy numbers plain, long integers decimal strings."""

    def plain(value: Any) -> Any:
        value = value.item() if hasattr(value, "item") else value
        if type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value)):
            return None
        return str(value) if isinstance(value, int) and abs(value) > 1 << 53 else value

    return [{str(k): plain(v) for k, v in line.items()} for line in frame.to_dict("records")]


def write_table(frame: pd.DataFrame, out: str | None) -> None:
    """Write a frame to stdout as CSV, or to a file: Parquet, JSON or CSV by its extension."""
    if out is None:
        frame.to_csv(sys.stdout, index=False)
    elif out.endswith(".parquet"):
        try:
            frame.to_parquet(out, index=False)
        except ImportError:
            raise ReleaseError("Parquet needs an extra: pip install 'recon-worlds[parquet]'", file=out) from None
        except OSError as error:
            raise ReleaseError(f"cannot be written: {error.strerror or error}", file=out) from None
    elif out.endswith(".json"):
        write_text(json.dumps(records(frame), indent=1, allow_nan=False) + "\n", out)
    else:
        try:
            frame.to_csv(out, index=False)
        except OSError as error:
            raise ReleaseError(f"cannot be written: {error.strerror or error}", file=out) from None


def write_text(text: str, out: str | None) -> None:
    """Write text to a file, or to stdout."""
    if out is None:
        sys.stdout.write(text)
        return
    try:
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ReleaseError(f"cannot be written: {error.strerror or error}", file=out) from None
