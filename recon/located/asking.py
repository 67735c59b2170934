"""What is left for the row at every position: the engines are asked, or it is said why rows have no position."""

from __future__ import annotations

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import Forest
from solvers.chain import ask
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.questions.query import Locate, LocatedAnswer

INSTEAD = "recon certify, recon bound and recon reconstruct ask about rows in whatever order"


def unlocated(release: EncodedRelease) -> str:
    """Return why nothing can be said by position, and what to ask instead; "" where known bags tell rows apart.

    A row has a position only by what trees drew of it: how often each one did.
    """
    if release.statements.bags:
        return ""
    forests = [m for m in release.models if isinstance(m, Forest) and m.resampled]
    if forests:
        said = [line for line in release.reader_notes if line.startswith(UNKNOWN)]
        why = f" ({said[0].removeprefix(UNKNOWN).strip()})" if said else ""
        return (
            f"nothing is proved by position: which rows each tree drew is not known{why}: without the bags "
            f"(multiplicities) rows cannot be told apart; {INSTEAD}"
        )
    return (
        "nothing is proved by position: no model was fitted on resamples, each saw all rows alike, so that nothing "
        f"says which row stood where in the training file; {INSTEAD}"
    )


UNKNOWN = "which rows each tree drew is not known:"  # how the reader of forests begins to say it


def located(release: EncodedRelease, limits: Limits) -> LocatedAnswer:
    """Return what is left for the row at every position, in parts of the domain's attributes.

    Where the limits end the work it is what was proved by then (`complete` False). Raises `Inconclusive` where rows
    have no position, or nothing was found in time, `ContradictionError` where there is no world.
    """
    if why := unlocated(release):
        raise Inconclusive(why)
    limits.report("rows are located")
    return ask(release.statements, Locate(), LocatedAnswer, limits)
