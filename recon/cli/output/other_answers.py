"""What `recon audit` answers where the files are no one release: rows that stand in them, models of several folds.

Light to import: the command line does so at every start.
"""

from __future__ import annotations

import functools
import json as json_text
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import typer

from solvers.foundation.errors import Unsupported


def with_other_answers(audit: Callable[..., None]) -> Callable[..., None]:
    """Return the command `audit` with an answer for models without counts and for calibrations on folds.

    Files whose training rows stand in them get a report of their own (exit 0); every fold of a calibration is audited
    by itself, and the exit code is the worst. Everything else ends as before.
    """

    @functools.wraps(audit)
    def command(**given: Any) -> None:
        begun = time.monotonic()
        try:
            audit(**given)
        except Unsupported as error:
            raise typer.Exit(other_answer(audit, error, given, begun)) from None

    return command


def other_answer(audit: Callable[..., None], error: Unsupported, given: dict[str, Any], begun: float) -> int:
    """Write what can be said instead, and return the exit code; raises the error again where there is nothing.

    `begun`: when the command did; its time and memory bound this too.
    """
    from recon.cli.releasing.ending import ended, policy_of
    from recon.io.console.options import suffix
    from recon.io.console.output import parse_memory, write_text
    from recon.io.console.suggesting import command_line
    from recon.io.files.budget import drawing
    from recon.readers.formats.sklearn.pipelines.folds import Folds
    from recon.report.stored_report import stored_instead
    from solvers.foundation.limits import Limits

    files = given["files"]
    if isinstance(error, Folds) and len(files) == 1:
        return each_fold(audit, files[0], len(error.drafts), given)
    limits = Limits(seconds=given.get("seconds"), memory=parse_memory(given["memory"]), started=begun)
    out = given.get("out")
    with drawing(limits, rings=True):
        report = stored_instead(files, error, limits, policy_of(given.get("policy")), command_line())
    write_text(report.written_as(".json" if given.get("json") else suffix(out)), out, private=True)
    return ended(report, bool(out))


def each_fold(audit: Callable[..., None], file: str, folds: int, given: dict[str, Any]) -> int:
    """Audit every fold by itself and return the worst exit code; the time is shared.

    With --json one list is printed; with --out NAME.md the reports go to NAME.1.md, NAME.2.md, ...
    """
    from recon.io.console.exit_codes import DONE, gravest
    from recon.io.console.guarding import refuse_overwriting
    from recon.io.console.output import print_json, print_lines, write_text

    seconds = given.get("seconds")
    shared = given | {"seconds": None if seconds is None else seconds / folds}
    out, worst, texts = given.get("out"), DONE, []
    print_lines(f"{file}: {folds} models of different parts of the rows, each a release of its own", file=sys.stderr)
    with tempfile.TemporaryDirectory() as place:
        paths = [fold_file(out or os.path.join(place, "report"), k) for k in range(1, folds + 1)]
        for path in paths:
            refuse_overwriting(given | {"out": path})
        for k, path in enumerate(paths, start=1):
            worst = gravest((worst, _code_of(audit, shared | {"files": [f"{file}#{k}"], "out": path})))
            if out:
                print_lines(f"fold {k}: {path}", file=sys.stderr)
            elif os.path.exists(path):
                with open(path, encoding="utf-8") as report:
                    texts.append(report.read())
    if given.get("json") and not out:
        print_json([json_text.loads(t) for t in texts])
    elif not out:
        write_text("\n".join(texts), None)  # reports, whose lines are shown already
    return worst


def fold_file(out: str, fold: int) -> str:
    """Return the file of one fold's report: NAME.1.md for NAME.md."""
    stem, ending = os.path.splitext(out)
    return f"{stem}.{fold}{ending}"


def _code_of(audit: Callable[..., None], given: dict[str, Any]) -> int:
    """Run one audit and return its exit code; a refusal is said, and the next one goes on."""
    from recon.io.console.exit_codes import of_error
    from recon.io.console.output import print_error
    from solvers.foundation.errors import ReconError

    try:
        audit(**given)
    except typer.Exit as ended:
        return int(ended.exit_code)
    except ReconError as error:
        print_error(error)
        return of_error(error)
    return 0
