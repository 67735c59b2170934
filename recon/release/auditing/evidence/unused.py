"""What was published and no statement carries, so that no figure that it may change can be said to be met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import AnyModel, Boosting, Provenance
from encoders.models.models import UnusedPublication as Unread
from recon.readers.formats.release.writing import NOT_HELD
from recon.readers.inspection.findings.findings import Finding
from recon.readers.inspection.findings.severity import about
from recon.readers.inspection.inspecting import Inspection
from recon.readers.loading.settled import as_released
from recon.release.auditing.auditing import stored_outright
from recon.release.policies.facts import EVERY_FIGURE, LABEL_FIGURES, ROW_FIGURES, SIZE_FIGURES, Opens, UnusedFigure
from solvers.foundation.limits import Limits
from solvers.kernel.leaf_values.blocks import KIND
from solvers.statements.release import ANY_LABEL, Partition, Release

OPENS: Mapping[str, Opens] = {
    "rows": EVERY_FIGURE, "labels": LABEL_FIGURES, "sizes": SIZE_FIGURES, "columns": ROW_FIGURES,
}  # fmt: skip
OF_LABELS: Opens = {**LABEL_FIGURES, "smallest_cell": "lower"}
BAG_SEEDS = "bag-seeds"
VALUES = "leaf values of {name} were not evaluated to the end, and may single out more people"
WORDS = 50  # characters of a path
COARSE = "some statements say less than was published"


def unused_of(
    release: EncodedRelease, stored: Sequence[Inspection], always: frozenset[str] = frozenset()
) -> tuple[UnusedFigure, ...]:
    """Return what the models of a release publish and no statement carries, and models beside them in its files.

    `always`: figures that leaf values cannot change, whatever they say (`Together.always`).
    """
    every = (*of_readers(release), *of_statements(release, always), *of_bags(release, stored), *of_files(stored))
    return tuple({one.why: one for one in every}.values())


def of_readers(release: EncodedRelease) -> Iterator[UnusedFigure]:
    """Yield what readers found and left."""
    for model in release.models:
        for one in () if model.origin is None else model.origin.unused:
            why = f"{one.what} were not used ({one.why})"
            yield UnusedFigure(why, OPENS[one.about] if one.about else OF_LABELS if one.labels else EVERY_FIGURE)


def of_statements(release: EncodedRelease, always: frozenset[str] = frozenset()) -> Iterator[UnusedFigure]:
    """Yield what statements leave out: leaf values not evaluated to the end, sums that were loosened."""
    statements = release.statements
    for line in statements.loosened:
        yield UnusedFigure(line, EVERY_FIGURE)
    for boosted in statements.boosted:
        opens = {key: end for key, end in EVERY_FIGURE.items() if key not in always}
        yield UnusedFigure(VALUES.format(name=boosted.name), opens, "limits" if boosted.labels else "")
    if as_released(release).statements.coarse:
        yield UnusedFigure(COARSE, EVERY_FIGURE)


def of_bags(release: EncodedRelease, stored: Sequence[Inspection]) -> Iterator[UnusedFigure]:
    """Yield the known bags; without the seeds that give them away, which the file can do without, there are none."""
    seeds = [one for file in stored for one in file.findings if one.rule == BAG_SEEDS]
    for bags in release.statements.bags:
        yield UnusedFigure(
            bags.left_out, EVERY_FIGURE, "strip" if seeds and all(one.removable for one in seeds) else ""
        )


def of_files(stored: Sequence[Inspection]) -> Iterator[UnusedFigure]:
    """Yield the counts of models that stand in the files beside the ones that were audited."""
    for file in stored:
        for one in file.findings:
            if one.beside:
                yield UnusedFigure(f"another model stands in the file ({one.path}), and was not audited", EVERY_FIGURE)


def with_unused_of_files(release: EncodedRelease, limits: Limits) -> tuple[AnyModel, ...]:
    """Return the models of a release that say, too, what else stands in their files and no statement carries.

    Without the files, a release file would pass for all that was published.
    """
    found: dict[Unread, None] = {}
    for file in stored_outright(release, limits):
        for one in file.findings:
            if (said := about(one)) and not one.stated and not implied(one, release):
                found.setdefault(Unread(f"what {one.path[:WORDS]} says", NOT_HELD, about=said))
    first, *rest = release.models
    if not found:
        return release.models
    origin = first.origin or Provenance("", ())
    return (replace(first, origin=replace(origin, unused=(*origin.unused, *found))), *rest)


def implied(one: Finding, release: EncodedRelease | None) -> bool:
    """Return whether a finding says nothing that is not the same in every possible world anyway.

    A number of rows does not where all worlds have so many. Of boosted models the shares of the classes follow from the
    rows of every class, the losses after every tree from those in every cell.
    """
    if release is not None and one.rule == "ledger-sizes":
        return release.rows.exact and one.what == f"number {release.rows.low}"
    if release is None or not any(isinstance(model, Boosting) and model.labels for model in release.models):
        return False
    statements = release.statements
    if one.rule == "class-shares":
        return any(_counts_classes(block) for block in statements.partitions.values())
    every = not statements.boosted and not _open_cells(statements)
    return one.rule == "losses" and one.path.endswith("train_score_") and every


def _counts_classes(block: Partition) -> bool:
    """Return whether a partition has the exact rows of every class in every region that can have rows."""
    return bool((block.low == block.high).all()) and not (block.high[block.label == ANY_LABEL] > 0).any()


def _open_cells(release: Release) -> bool:
    """Return whether leaf values leave the rows of some cell and class open."""
    return not any(_counts_classes(block) for block in release.partitions.values() if block.kind == KIND)
