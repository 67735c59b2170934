"""Exit codes: one table of what happened and the code that says so (docs/commands.md, "Exit codes")."""

from __future__ import annotations

from collections.abc import Iterable

from solvers.foundation.errors import ContradictionError, Inconclusive, PolicyError, ReconError

DONE, VIOLATED, USAGE, UNREADABLE, INCONCLUSIVE, CONTRADICTION, INTERNAL = 0, 1, 2, 3, 4, 5, 70
INTERRUPTED = 130  # what typer returns for a Ctrl-C of its own
OF_STATUS = {
    "exact": DONE,
    "stored": DONE,  # rows stand in the files: the question is answered
    "unbounded": DONE,  # what is stated was asked for, and is printed
    "bounds": INCONCLUSIVE,
    "unknown": INCONCLUSIVE,
    "empty": INCONCLUSIVE,  # no dataset fits at this confidence
    "unsat": CONTRADICTION,
}
OF_OUTCOME = {"met": DONE, "violated": VIOLATED, "inconclusive": INCONCLUSIVE}  # of a policy
OF_ERROR = (  # the first that an error is one of
    (ContradictionError, CONTRADICTION),
    (PolicyError, USAGE),
    ((Inconclusive, KeyboardInterrupt, MemoryError), INCONCLUSIVE),
    ((ReconError, OSError), UNREADABLE),
)
GRAVITY = (DONE, INCONCLUSIVE, CONTRADICTION, UNREADABLE, VIOLATED, USAGE, INTERNAL)  # of several, the last counts


def of_status(status: str) -> int:
    """Return the exit code of an answer by its status; of one that nobody knows: inconclusive."""
    return OF_STATUS.get(status, INCONCLUSIVE)


def of_verdict(status: str, outcome: str | None) -> int:
    """Return the exit code of an audit: of its policy's outcome where there is one and some training set fits."""
    if outcome is None or status == "unsat":
        return of_status(status)
    return OF_OUTCOME.get(outcome, INCONCLUSIVE)


def of_error(error: BaseException) -> int:
    """Return the exit code of a refusal."""
    return next((code for kinds, code in OF_ERROR if isinstance(error, kinds)), INTERNAL)


def gravest(codes: Iterable[int]) -> int:
    """Return the code of several answers together; one that nobody knows is the gravest."""
    return max(codes, key=lambda code: GRAVITY.index(code) if code in GRAVITY else len(GRAVITY), default=DONE)
