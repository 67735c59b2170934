"""A release of boosted models with what their leaf values prove: every question starts from it.

Which published figures the statements of a release carry (reading one is not using it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from encoders.encode.encoder import EncodedRelease, figures_of
from encoders.encode.marginals import marginals_of
from encoders.models.models import boosted_of
from recon.readers.inspection.ledger.entries import FigureKind, Use
from recon.readers.loading.loading import Released, release_of
from solvers.engines.chain import strengthened
from solvers.foundation.errors import ReconError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.observations import StatementIndex
from solvers.statements.release import ANY_LABEL, AddedBlocks, Partition, Release

if TYPE_CHECKING:
    from recon.readers.loading.adversary import Knows


@dataclass(slots=True)
class StrengthenedReleases:
    """A release with what its leaf values prove, made of these statements."""

    statements: Release | None = None
    release: EncodedRelease | None = None


@dataclass(slots=True)
class PublishedRelease:
    """The release as it was published, kept with the one that has what its leaf values prove."""

    release: EncodedRelease | None = None


def asked_release(release: Released, adversary: Knows | None, limits: Limits | None) -> EncodedRelease:
    """Return what a question is asked about: a release beside what an adversary knows, and what leaf values prove."""
    known = release_of(release, limits)
    if adversary is not None:
        from recon.readers.loading.adversary import adversary_of  # with pandas

        known = adversary_of(adversary).beside(known, None, limits)
    return strengthened_release(known, limits)


def refuse_weighed_boxes(release: EncodedRelease) -> None:
    """Refuse, where the answer is rows, what an adversary's weights of boxes are not taken for (`Unsupported`)."""
    if release.knowledge is not None and release.knowledge.boxes:
        raise Unsupported("rows are not drawn or listed beside weights of boxes: ask count, certify, bound or audit")


def strengthened_release(
    release: EncodedRelease, limits: Limits | None = None, lattices: bool = True
) -> EncodedRelease:  # fmt: skip
    """Return the release with what its leaf values prove; itself without leaf values, and beside noisy counts.

    Its assumptions say how much is known by them, or which assumption they contradict. Remembered: the first question
    pays for it, out of its own time. `lattices`: see `solvers.engines.chain.strengthened`, whose cost this has.
    """
    if not release.statements.boosted or release.noisy or release.derived.part(PublishedRelease).release is not None:
        return release
    found = strengthened(release.statements, limits, lattices)
    if found is release.statements:
        return release
    known = release.derived.part(StrengthenedReleases)
    if known.statements is not found or known.release is None:
        known.statements, lines = found, tuple(_leaf_value_lines(release.statements, found))
        noted = replace(found, assumptions=(*found.assumptions, *lines))
        known.release = replace(release, statements=noted)
        known.release.derived.part(PublishedRelease).release = release
    return known.release


def as_released(release: EncodedRelease) -> EncodedRelease:
    """Return the release without what its leaf values prove."""
    return release.derived.part(PublishedRelease).release or release


@dataclass(frozen=True)
class PicklableRelease:
    """A release and the one that was published, so that where both arrive the one is known as the other's."""

    release: EncodedRelease
    published: EncodedRelease

    @classmethod
    def of(cls, release: EncodedRelease) -> PicklableRelease:
        """Return a release that is sent elsewhere."""
        return cls(release, as_released(release))

    def __setstate__(self, state: dict[str, EncodedRelease]) -> None:
        self.__dict__.update(state)
        if self.published is not self.release:
            self.release.derived.part(PublishedRelease).release = self.published


def surplus_sentence(surplus: int) -> str:
    """Return in words how many figures were left over to check what leaf values assume, and hold."""
    return f"{surplus:,} surplus figures hold" if surplus else "no figure is left over to check that"


def _leaf_value_lines(before: Release, found: Release) -> Iterator[str]:
    """Yield what leaf values say, model by model: how many rows, or why they are not used."""
    yield from found.loosened[len(before.loosened) :]
    for proved, block in proofs(found):
        rows, known = before.rows.high or 0, int(block.low.sum())
        name = proved.before.boosted[proved.model].name
        yield (
            f"{name}: leaf values: {known:,} of {rows:,} rows are known, with their label; "
            f"{surplus_sentence(proved.surplus)}"
        )
        if proved.note:
            yield f"{name}: leaf values: {proved.note}"


def proofs(release: Release) -> list[tuple[AddedBlocks, Partition]]:
    """Return the blocks by label that leaf values prove, each with its proof, in the order in which they were added."""
    out: list[tuple[AddedBlocks, Partition]] = []
    while release.settled is not None:
        block = release.blocks[len(release.settled.before.blocks)]  # one with totals may follow
        assert isinstance(block, Partition)
        out.append((release.settled, block))
        release = release.settled.before
    return out[::-1]


def uses_of(release: EncodedRelease) -> Mapping[FigureKind, Use]:
    """Return what the statements of a release carry, by kind of figure. Cost: linear in the blocks of statements."""
    statements = release.statements
    index = StatementIndex(statements)
    left = tuple(f"{one.what}: {one.why}" for m in release.models if m.origin is not None for one in m.origin.unused)
    counts = f"statements 0 to {index.rows - 1:,}, from {index.source(0)} on" if index.rows else ""
    by_class = any((block.label != ANY_LABEL).any() for block in statements.partitions.values()) or any(
        {"exact", "bag", "ratio", "label"} & set(m.origin.counts) for m in release.models if m.origin is not None
    )
    sums = sum(len(tree.low) for model in boosted_of(release.models) for tree in model.sums)
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
    unused = (one for m in release.models if m.origin is not None for one in m.origin.unused if one.about == "columns")
    left = tuple(dict.fromkeys(f"{one.what}: {one.why}" for one in unused))
    if not figures_of(release):
        return Use("", left or ("nothing is stated of single columns",))
    try:
        return Use(f"{len(marginals_of(release)):,} sums over the values of single columns", left)
    except ReconError as error:
        return Use("", (str(error), *left))
