"""The question `positions`: one line per training position and attribute, what is proved about its value.

Source: Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML 2024 (what trees on bags give away).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import Forest
from recon.certificates.issuing import position_certificate
from recon.queries.located.against_truth import compared
from recon.queries.located.columns import PositionColumn, columns_of
from recon.queries.located.known_ranges import Ranges, known_ranges
from recon.queries.located.learning import with_midpoints
from recon.queries.located.placed_rows import PlacedRows, attributes
from recon.readers.loading.asking import Released, release_of
from recon.readers.loading.known_columns import Table
from recon.readers.loading.known_positions import contradicting, with_known_positions
from solvers.engines.chain import ask
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError
from solvers.foundation.limits import Limits
from solvers.questions.answers import LocatedAnswer
from solvers.questions.query import Locate

LEARNERS = ("none", "midpoints")
UNKNOWN = "which rows each tree drew is not known:"  # how the reader of forests begins to say it
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


def located(release: EncodedRelease, limits: Limits) -> LocatedAnswer:
    """Return what is left for the row at every position, in parts of the domain's attributes.

    Where the limits end the work it is what was proved by then (`complete` False). Raises `Inconclusive` where rows
    have no position, or nothing was found in time, `ContradictionError` where there is no world.
    """
    if why := unlocated(release):
        raise Inconclusive(why)
    limits.report("rows are located")
    return ask(release.statements, Locate(), LocatedAnswer, limits)


def positions(
    release: Released,
    learner: str = "none",
    ranges: Ranges = None,
    truth: pd.DataFrame | None = None,
    limits: Limits | None = None,
    certificates: bool = False,
    known: Table | None = None,
) -> pd.DataFrame:
    """Return what is proved about the row at every position of the training file, a line per attribute and label.

    Positions count from 0 in the order in which `fit` got the rows. Columns: position, attribute, low, high (the
    least and the greatest value that are possible, as floats; infinite where no end is known, NaN where values have no
    order), exact (one value is left: it is proved), values (those left of an attribute with single values, None where
    they are more than 100 numbers of a grid, or any numbers); where values may be missing also `missing`. Of an
    attribute of any numbers, low and high are edges of the proved interval: the value is at most `high`, and above
    `low` where that is a tree's threshold (trees send x <= threshold to the left).

    `learner`: "midpoints" also uses that scikit-learn's best splitter puts thresholds halfway between two training
    values; an assumption that every figure names. `ranges`: attribute -> (least, greatest value of the training rows),
    a file of them (attribute, min, max), or "attained": the ends of the domain are values of training rows. `truth`:
    the true rows in the same order, to compare with (`attrs["truth"]`). `known`: what is known of rows by position
    beside the file, a table (or its path) of `position`, any attributes and the label, empty cells not known; the frame
    then has a column `given`, and figures leave these values out.

    `attrs`: status ("exact", "bounds", "unknown": nothing is proved), complete (nothing more follows; else a limit was
    met), the figures of `PlacedRows.figures`, assumptions, notes, engine, seconds, and with `certificates` a
    certificate of all that rests on the statements alone (`recon.verify` accepts it; a replay of the proof). Raises
    `Inconclusive` where rows have no position, which says why, `ContradictionError` where there is no world, naming the
    values known that leave none.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> forest = RandomForestClassifier(2, max_depth=1, random_state=0).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(forest, recon.Domain.from_frame(rows, "ill"))
    >>> recon.positions(release).query("exact and position > 1")[["position", "attribute", "values"]]
        position attribute values
    6          2    smoker    [1]
    8          2       ill    [0]
    9          3    smoker    [1]
    10         3       old    [1]
    11         3       ill    [1]
    """
    release = release_of(release, limits)
    if known is not None:
        release = with_known_positions(release, known)
    found = placed(release, learner, ranges, limits)
    frame = found.to_frame()
    frame.attrs.update(attributes(found))
    if certificates:
        frame.attrs["certificate"] = position_certificate(release, limits)
    if truth is not None:
        frame.attrs["truth"] = compared(found, truth)
    return frame


def placed(
    release: EncodedRelease, learner: str = "none", ranges: Ranges = None, limits: Limits | None = None
) -> PlacedRows:
    """Return what is proved about every position; see `positions`."""
    if learner not in LEARNERS:
        raise ReleaseError(f"there is no learner '{learner}': choose {' or '.join(LEARNERS)}")
    limits = limits or Limits()
    known = known_ranges(release.domain, ranges)
    try:
        answer = located(release, limits)
    except ContradictionError:
        if release.beside is None:
            raise
        raise contradicting(release, limits) from None
    columns = tuple(columns_of(release, answer, known))
    refuse_empty(release, columns)
    assumed = [f"the least and the greatest value of {name} are known" for name in list(known.given)[:1]]
    if len(known.given) > 1:
        assumed = [f"the least and the greatest value of {len(known.given)} attributes are known"]
    cut = () if answer.complete else limits.cut_short()
    found = PlacedRows(release, answer, columns, known, assumes=tuple(assumed), complete=answer.complete, notes=cut)
    if learner == "midpoints":
        found = with_midpoints(found, limits)
    return found


def refuse_empty(release: EncodedRelease, columns: tuple[PositionColumn, ...]) -> None:
    """Refuse ranges that leave a position no value."""
    for attribute, column in zip(release.domain.all, columns, strict=True):
        empty = np.flatnonzero(column.low > column.high)
        if len(empty):
            i = int(empty[0])
            raise ReleaseError(
                f"the range given for '{attribute.name}' is not that of the training rows: position {i} has a value "
                f"between {column.high[i]:g} and {column.low[i]:g}",
                place="ranges",
            )
