"""How the commands about a release begin and end: its policy read before all else, its verdict as the exit code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from recon.io.console.exit_codes import of_error, of_verdict
from recon.io.console.output import print_error, print_lines
from solvers.foundation.errors import ReconError

if TYPE_CHECKING:
    from recon.release.policies.policy import Policy
    from recon.report.audited import AuditReport


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
    if told is not None and report.status != "unsat" and quietly:
        print_lines(f"{told.verdict}: {told.sentence}", file=sys.stderr)
    return of_verdict(report.status, None if told is None else told.outcome)
