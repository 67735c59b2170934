"""How the commands about a release begin and end: its policy read before all else, its verdict as the exit code."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from recon.console.exit_codes import of_verdict
from recon.console.output import print_lines

if TYPE_CHECKING:
    from recon.policies.policy import Policy
    from recon.report.audited import Audited


def policy_of(path: str | None) -> Policy | None:
    """Return the policy of a file or preset, before anything is read; wrong usage where it is none."""
    from recon.policies.policy import read_policy

    return None if path is None else read_policy(path)


def command_line() -> str:
    """Return the command as it was given, for the report."""
    return shlex.join(["recon", *sys.argv[1:]])


def ended(report: Audited, quietly: bool) -> int:
    """Return the exit code of a report: of its policy where there is one; `quietly`: the verdict is not shown yet."""
    told = report.assessment
    if told is not None and report.status != "unsat" and quietly:
        print_lines(f"{told.verdict}: {told.sentence}", file=sys.stderr)
    return of_verdict(report.status, None if told is None else told.outcome)
