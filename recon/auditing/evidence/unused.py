"""What was published and no statement carries, so that no figure that it may change can be said to be met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from encoders.encode.encoder import EncodedRelease
from recon.inspection.inspecting import Inspection
from recon.loading.settled import as_released
from recon.policies.facts import EVERY_FIGURE, LABEL_FIGURES, Opens, Unused

OF_LABELS: Opens = {**LABEL_FIGURES, "smallest_cell": "lower"}
VALUES = "leaf values of {name} were not evaluated to the end, and may single out more people"
COARSE = "some statements say less than was published"


def unused_of(release: EncodedRelease, stored: Sequence[Inspection]) -> tuple[Unused, ...]:
    """Return what the models of a release publish and no statement carries, and models beside them in its files."""
    every = (*of_readers(release), *of_statements(release), *of_files(stored))
    return tuple({one.why: one for one in every}.values())


def of_readers(release: EncodedRelease) -> Iterator[Unused]:
    """Yield what readers found and left."""
    for model in release.models:
        for one in () if model.origin is None else model.origin.unused:
            why = f"{one.what} were not used ({one.why})"
            yield Unused(why, OF_LABELS if one.labels else EVERY_FIGURE)


def of_statements(release: EncodedRelease) -> Iterator[Unused]:
    """Yield what statements leave out: leaf values not evaluated to the end, bags, sums that were loosened."""
    statements = release.statements
    for line in statements.loosened:
        yield Unused(line, EVERY_FIGURE)
    for boosted in statements.boosted:
        yield Unused(VALUES.format(name=boosted.name), EVERY_FIGURE, "limits" if boosted.labels else "")
    for bags in statements.bags:
        yield Unused(bags.left_out, EVERY_FIGURE)
    if as_released(release).statements.coarse:
        yield Unused(COARSE, EVERY_FIGURE)


def of_files(stored: Sequence[Inspection]) -> Iterator[Unused]:
    """Yield the counts of models that stand in the files beside the ones that were audited."""
    for file in stored:
        for one in file.findings:
            if one.beside:
                yield Unused(f"another model stands in the file ({one.path}), and was not audited", EVERY_FIGURE)
