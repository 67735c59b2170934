"""The facts of an audit with what is proved beside the worlds, and without what something unused leaves open.

Published counts as groups: who was counted is a group of so many people, whatever else its region may hold.

A leaf of a tree on a resample counts drawn rows: with d different ones among them there are d people who were drawn and
lie in the leaf. Where only draws are counted, c of them are of 1 to c people. Noisy counts are no such groups.

What was published and no statement carries, so that no figure that it may change can be said to be met.

Groups that leaf values of boosted models prove: cells of the leaves of all trees, with the rows of each class.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from encoders.encode.encoder import EncodedRelease, figures_of
from encoders.encode.marginals import column_statements
from encoders.models.models import AnyModel, Provenance
from encoders.models.models import UnusedPublication as Unread
from encoders.models.nodes import UNPUBLISHED, CountTable
from recon.readers.frames.describe import condition_text
from recon.readers.inspection.findings.findings import Finding, about
from recon.readers.inspection.inspecting import Inspection
from recon.readers.loading.settled import as_released, proofs
from recon.release.auditing.auditing import stored_outright, was_inspected
from recon.release.policies.facts import (
    EVERY_FIGURE,
    LABEL_FIGURES,
    ROW_FIGURES,
    SIZE_FIGURES,
    FactTable,
    KnownFigure,
    Opens,
    UnknownFigure,
    UnusedFigure,
)
from solvers.foundation.array_types import Ints
from solvers.foundation.displayed import quote
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.kernel.leaf_values.blocks import KIND
from solvers.statements.release import ANY_LABEL, AddedBlocks, Partition, Release

if TYPE_CHECKING:
    from recon.release.auditing.together import PositionGroups

LEAF_VALUES_LISTED = 1_000  # of each kind, the smallest first


@dataclass(frozen=True)
class ValueGroups:
    """Groups and cells (with `class`) that surely have rows, the smallest first; `disclosed`: rows in pure cells.

    `least`: the fewest rows of a group and of a cell, where leaf values say of all of them how many rows they have.
    """

    groups: tuple[Place, ...] = ()
    cells: tuple[Place, ...] = ()
    disclosed: int = 0
    least: tuple[int, int] | None = None


def _groups_by_leaf_values(release: EncodedRelease) -> tuple[ValueGroups, ...]:
    """Return what the leaf values of each model prove, in a release that has it. Linear in cells times labels."""
    return tuple(_of_block(release, one, block) for one, block in proofs(release.statements))


def _of_block(release: EncodedRelease, settled: AddedBlocks, block: Partition) -> ValueGroups:
    """Return the cells of one model; the last box of a block is everything else, where nobody is."""
    k, labels = len(block.boxes) - 1, max(1, len(block.labels))
    low, high = (ends[: k * labels].reshape(k, labels) for ends in (block.low, block.high))
    least, most = _totals(release.statements, settled, block, low, high)
    name = settled.before.boosted[settled.model].name
    value = None if release.domain.label is None else release.domain.label.value

    def place(j: int, ends: tuple[int, int], label: int | None = None) -> dict[str, Any]:
        where = condition_text(release.cut, block.boxes[j])
        found = {"name": f"{name}, leaf values", "where": where, "rows": [*ends]}
        return found if label is None or value is None else found | {"class": str(value(label))}

    rows = [(int(least[j]), int(most[j])) for j in range(k)]
    groups = sorted((j for j in range(k) if rows[j][0] > 0), key=lambda j: rows[j][::-1])[:LEAF_VALUES_LISTED]
    filled = [(int(j), int(c)) for j, c in np.argwhere(low > 0)]
    ends = {(j, c): (int(low[j, c]), int(min(high[j, c], most[j]))) for j, c in filled}
    cells = sorted(filled, key=lambda one: ends[one][::-1])[:LEAF_VALUES_LISTED]
    alone = (high > 0).sum(axis=1) == 1
    exact = bool((low == high).all())
    return ValueGroups(
        tuple(place(j, rows[j]) for j in groups),
        tuple(place(j, ends[j, c], c) for j, c in cells),
        int(least[alone].sum()),
        (int(least[least > 0].min()), int(low[low > 0].min())) if exact and low.any() else None,
    )


def _totals(release: Release, settled: AddedBlocks, block: Partition, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return bounds on the rows of every cell: sums by label, what all others leave, and the block of totals."""
    everybody = settled.before.rows
    least, most = low.sum(axis=1), high.sum(axis=1)
    if everybody.high is not None:
        most = np.minimum(most, everybody.high)
    least = np.maximum(least, everybody.low - (high.sum() - high.sum(axis=1)))
    after = release.blocks.index(block) + 1 if block in release.blocks else len(release.blocks)
    further = release.blocks[after] if after < len(release.blocks) else None
    if isinstance(further, Partition) and further.boxes is block.boxes:
        least, most = np.maximum(least, further.low[: len(least)]), np.minimum(most, further.high[: len(most)])
    return least, most


OPENS: Mapping[str, Opens] = {
    "rows": EVERY_FIGURE, "labels": LABEL_FIGURES, "sizes": SIZE_FIGURES, "columns": ROW_FIGURES,
}  # fmt: skip
OF_LABELS: Opens = {**LABEL_FIGURES, "smallest_cell": "lower"}
BAG_SEEDS = "bag-seeds"
VALUES = "leaf values of {name} were not evaluated to the end, and may single out more people"
WORDS = 50  # characters of a path
COARSE = "some statements say less than was published"


def _unused_of(
    release: EncodedRelease, stored: Sequence[Inspection], always: frozenset[str] = frozenset()
) -> tuple[UnusedFigure, ...]:
    """Return what the models of a release publish and no statement carries, and models beside them in its files.

    `always`: figures that leaf values cannot change, whatever they say (`Together.always`).
    """
    every = (*_of_readers(release), *_of_statements(release, always), *_of_bags(release, stored), *_of_files(stored))
    return tuple({one.why: one for one in every}.values())


def _of_readers(release: EncodedRelease) -> Iterator[UnusedFigure]:
    """Yield what readers found and left."""
    for model in release.models:
        for one in () if model.origin is None else model.origin.unused:
            why = f"{one.what} were not used ({one.why})"
            opens = {**(OPENS[one.about] if one.about else {}), **(OF_LABELS if one.labels else {})}
            yield UnusedFigure(why, opens or EVERY_FIGURE)


def _of_statements(release: EncodedRelease, always: frozenset[str] = frozenset()) -> Iterator[UnusedFigure]:
    """Yield what statements leave out: leaf values not evaluated to the end, sums that were loosened."""
    statements = release.statements
    for line in statements.loosened:
        yield UnusedFigure(line, EVERY_FIGURE)
    for boosted in statements.boosted:
        opens = {key: end for key, end in EVERY_FIGURE.items() if key not in always}
        yield UnusedFigure(VALUES.format(name=boosted.name), opens, "limits" if boosted.labels else "")
    if as_released(release).statements.coarse:
        yield UnusedFigure(COARSE, EVERY_FIGURE)


def _of_bags(release: EncodedRelease, stored: Sequence[Inspection]) -> Iterator[UnusedFigure]:
    """Yield the known bags; without the seeds that give them away, which the file can do without, there are none."""
    seeds = [one for file in stored for one in file.findings if one.rule == BAG_SEEDS]
    for bags in release.statements.bags:
        yield UnusedFigure(
            bags.left_out, EVERY_FIGURE, "strip" if seeds and all(one.removable for one in seeds) else ""
        )


def _of_files(stored: Sequence[Inspection]) -> Iterator[UnusedFigure]:
    """Yield the counts of models that stand in the files beside the ones that were audited."""
    for file in stored:
        for one in file.findings:
            if one.beside:
                yield UnusedFigure(f"another model is in the file ({one.path}), and was not audited", EVERY_FIGURE)


def with_unused_of_files(release: EncodedRelease, limits: Limits) -> tuple[AnyModel, ...]:
    """Return the models of a release that say, too, what else stands in their files and no statement carries.

    Without the files, a release file would pass for all that was published.
    """
    from recon.readers.formats.release.writing import NOT_HELD

    found: dict[Unread, None] = {}
    for file in stored_outright(release, limits):
        if not was_inspected(file):
            found.setdefault(Unread(f"what {quote(file.file, WORDS)} stores beside its model", file.format))
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
    if release is None or all(model.scores != "classes" for model in release.models):
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


Place = Mapping[str, Any]
LISTED = 1_000  # of each kind, the smallest first
DRAWN = "drawn rows"


def _published_groups(release: EncodedRelease) -> tuple[list[Place], list[Place]]:
    """Return groups and cells (of one class, with `class`) that were counted and that no statement carries as such.

    Leaves of trees on resamples, drawn rows that boosted models count, and all counts of tables where the number of
    rows is open; of each kind the smallest. Linear in leaves and figures.
    """
    groups: list[Place] = []
    cells: list[Place] = []
    for model in release.models:
        if model.noise is not None:
            continue
        if model.resampled:
            groups += _of_leaves(release, model, _drawn_rows)
            cells += _of_leaves(release, model, _drawn_of_classes)
        for by_class, place in _of_table(release, model):
            (cells if by_class else groups).append(place)
    columns = list(_of_columns(release))
    return _smallest([*groups, *columns]), _smallest([*cells, *columns])


def _of_columns(release: EncodedRelease) -> Iterator[Place]:
    """Yield the groups that figures of single columns count: the sum of a column of 0 and 1 is a count."""
    for figures in figures_of(release):
        with contextlib.suppress(Unsupported, ReleaseError):
            for one in column_statements(figures, release.domain, release.rows) if figures.make is None else ():
                if one.source.endswith(f", sum of {figures.column}") and set(one.weights.tolist()) == {0, 1}:
                    for value, rows in ((1, one.low), (0, (figures.rows or 0) - one.low)):
                        if rows > 0:
                            where = f"{figures.column} = {value}"
                            yield {"name": one.source, "where": where, "rows": [rows, rows]}


def _smallest(places: list[Place]) -> list[Place]:
    """Return the places with the fewest rows."""
    return sorted(places, key=lambda one: (one["rows"][1], one["rows"][0]))[:LISTED]


class DrawnGroup(NamedTuple):
    """Least and most people behind some counts of a tree's leaves, and the number of their class (-1: any).

    In a world with many rows there, bags exist that drew the most of them.
    """

    leaf: Ints
    label: Ints
    low: Ints
    high: Ints


def _drawn_rows(model: AnyModel, table: CountTable) -> DrawnGroup:
    """Return how many different people were drawn into every leaf: between the ends, both 0 where nobody was."""
    total = np.zeros(len(table), dtype=np.int64)
    np.add.at(total, np.repeat(np.arange(len(table)), np.diff(table.start)), table.values.astype(np.int64))
    low = np.minimum(total, 1) if model.bootstrap else total
    high, at = total.copy(), np.arange(len(table))
    if table.distinct is not None:
        given = table.distinct != UNPUBLISHED
        low[given] = high[given] = table.distinct[given].astype(np.int64)
    return DrawnGroup(at, np.full(len(at), -1), low, high)


def _drawn_of_classes(model: AnyModel, table: CountTable) -> DrawnGroup:
    """Return the same of every class that was counted in a leaf."""
    rows = _drawn_rows(model, table)
    leaf, counts = np.repeat(np.arange(len(table)), np.diff(table.start)), table.values.astype(np.int64)
    total = np.zeros(len(table), dtype=np.int64)
    np.add.at(total, leaf, counts)
    at = np.flatnonzero(table.by_class[leaf] & (counts > 0))
    own, held = counts[at], leaf[at]
    if not model.bootstrap:
        return DrawnGroup(held, at - table.start[held], own, own)
    # of d different people at most as many are of other classes as draws are, and one at least of each that was drawn
    others = np.bincount(held, minlength=len(table))[held] - 1
    low, high = np.maximum(1, rows.low[held] - (total[held] - own)), np.minimum(own, rows.high[held] - others)
    return DrawnGroup(held, at - table.start[held], low, high)


def _of_leaves(
    release: EncodedRelease, model: AnyModel, drawn: Callable[[AnyModel, CountTable], DrawnGroup]
) -> list[Place]:
    """Return the smallest groups of drawn rows in the leaves of a forest, with their conditions."""
    found = [drawn(model, tree.nodes.leaf_counts) for tree in model.members() if tree.noise is None]
    if not found:
        return []
    tree = np.repeat(np.arange(len(found)), [len(one.leaf) for one in found])
    leaf, label, low, high = (np.concatenate(column) for column in zip(*found, strict=True))
    filled = np.flatnonzero(high > 0)
    order = filled[np.argsort(high[filled], kind="stable")][:LISTED]
    boxes = {block.kind: block.boxes for block in release.statements.partitions.values()}
    attribute = release.domain.label
    out: list[Place] = []
    for i in order.tolist():
        name, j = model.members()[int(tree[i])].name, int(leaf[i])
        held = boxes.get(name, boxes.get(f"{model.name}, {name}"))
        where = "" if held is None or j >= len(held) else condition_text(release.cut, held[j])
        place = {
            "name": f"{DRAWN} in leaf {j} of {name}",
            "where": where,
            "rows": [int(low[i]), int(high[i])],
            "reached": int(high[i]),
        }
        known = label[i] >= 0 and attribute is not None
        out.append(place | ({"class": str(attribute.value(int(label[i])))} if known and attribute is not None else {}))
    return out


def _of_table(release: EncodedRelease, model: AnyModel) -> Iterator[tuple[bool, Place]]:
    """Yield the counts of a table, and whether each is of one class, but for those that statements carry."""
    label = None if release.domain.label is None else release.domain.label.name
    for i, figure in enumerate(model.figures()):
        low = figure.count if figure.count is not None else figure.low
        high = figure.count if figure.count is not None else low if figure.drawn else figure.high
        if not low or high is None or not figure.condition or (release.rows.high is not None and not figure.drawn):
            continue
        of_class = [t.values[0] for name, t in figure.condition if name == label and t.values]
        where = condition_text(release.cut, release.cut.box(release.domain.resolve(figure.condition)))
        name = f"{DRAWN} in {figure.name}" if figure.drawn else figure.name or f"statement {i}"
        place = {"name": name, "where": where, "rows": [int(low), int(high)]}
        yield bool(of_class), place | ({"class": str(of_class[0])} if of_class else {})


def with_evidence(
    facts: FactTable, release: EncodedRelease, stored: Sequence[Inspection], located: PositionGroups | None,
    always: frozenset[str] = frozenset(),
) -> FactTable:  # fmt: skip
    """Return the facts with groups that published counts, positions and leaf values prove, and what was unused.

    A group with 1 to k - 1 rows violates a smallest group of k whatever else is open. `located`: groups by position.
    `always`: see `Together.always`.
    """
    groups, cells = _published_groups(release)
    disclosed = 0
    by_values = _groups_by_leaf_values(release)
    everything: list[ValueGroups | PositionGroups] = [*by_values, *(() if located is None else (located,))]
    for one in everything:
        groups, cells = [*groups, *one.groups], [*cells, *one.cells]
        disclosed = max(disclosed, one.disclosed)
    for key, proved in (("smallest_group", [*groups, *_other_models(stored)]), ("smallest_cell", cells)):
        before = facts[key]
        open_why = (before.why, before.help) if isinstance(before, UnknownFigure) and proved else ("", "")
        facts = facts.with_groups(key, proved, further=open_why[0], help=open_why[1])
    facts, unused = _with_classes(facts, disclosed), _unused_of(release, stored, always)
    if len(release.models) == 1 and len(by_values) == 1 and by_values[0].least is not None and not unused:
        # every world has the same rows of every class in every cell, and rows anywhere in their cell
        group, cell = by_values[0].least
        facts = facts.with_groups("smallest_group", none_below=group).with_groups("smallest_cell", none_below=cell)
        facts = facts.with_figure("class_disclosure", KnownFigure(disclosed, disclosed))
    return facts.opened(unused)


def _other_models(stored: Sequence[Inspection]) -> list[Place]:
    """Return the smallest groups of models that stand in the files beside the ones that were audited."""
    every = (one for file in stored for one in file.findings if one.beside and one.fewest)
    return [{"name": one.path, "where": "a leaf of another model", "rows": [one.fewest, one.fewest]} for one in every]


def _with_classes(facts: FactTable, rows: int) -> FactTable:
    """Return the facts with at least so many people whose class follows."""
    found = facts["class_disclosure"]
    if not rows or not isinstance(found, KnownFigure | UnknownFigure):
        return facts
    if isinstance(found, UnknownFigure):
        return facts.with_figure("class_disclosure", KnownFigure(rows, facts.everybody, found.why, found.help))
    high = found.high if found.high is None else max(rows, found.high)
    return facts.with_figure("class_disclosure", KnownFigure(max(rows, found.low), high, found.why, found.help))
