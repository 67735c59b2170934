"""Which published figures the statements of a release carry: reading a figure is not using it."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.encode.encoder import EncodedRelease
from encoders.encode.marginals import figures_of, marginals_of
from encoders.models.models import Boosting
from recon.readers.inspection.ledger.entries import FigureKind, Use
from solvers.foundation.errors import ReconError
from solvers.statements.numbering import StatementIndex
from solvers.statements.release import ANY_LABEL


def uses_of(release: EncodedRelease) -> Mapping[FigureKind, Use]:
    """Return what the statements of a release carry, by kind of figure. Cost: linear in the blocks of statements."""
    statements = release.statements
    index = StatementIndex(statements)
    left = tuple(f"{one.what}: {one.why}" for m in release.models if m.origin is not None for one in m.origin.unused)
    counts = f"statements 0 to {index.rows - 1:,}, from {index.source(0)} on" if index.rows else ""
    by_class = any((block.label != ANY_LABEL).any() for block in statements.partitions.values()) or any(
        {"exact", "bag", "ratio", "label"} & set(m.origin.counts) for m in release.models if m.origin is not None
    )
    sums = sum(len(tree.low) for m in release.models if isinstance(m, Boosting) for tree in m.sums)
    values = f"{sums:,} sums of gradients in intervals" if sums else ""
    bags = ", ".join(f"the times of {one.rows:,} rows in {len(one.times):,} bags" for one in statements.bags)
    return {
        "counts": Use(counts, left),
        "classes": Use(counts if by_class else "", left),
        "values": Use(values, left),
        "bags": Use(bags, left),
        "columns": _of_columns(release),
    }


def _of_columns(release: EncodedRelease) -> Use:
    """Return what is stated of single columns, which needs a domain that says their values."""
    if not figures_of(release):
        return Use("", ("nothing is stated of single columns",))
    try:
        return Use(f"{len(marginals_of(release)):,} sums over the values of single columns")
    except ReconError as error:
        return Use("", (str(error),))
