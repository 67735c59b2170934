"""The facts of an audit with what is proved beside the worlds, and without what something unused leaves open."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.encode.encoder import EncodedRelease
from recon.readers.inspection.inspecting import Inspection
from recon.release.auditing.evidence.leaf_values import ValueGroups, groups_by_leaf_values
from recon.release.auditing.evidence.positions import PositionGroups
from recon.release.auditing.evidence.published import Place, published_groups
from recon.release.auditing.evidence.unused import unused_of
from recon.release.policies.facts import FactTable, KnownFigure, UnknownFigure


def with_evidence(
    facts: FactTable, release: EncodedRelease, stored: Sequence[Inspection], located: PositionGroups | None,
    always: frozenset[str] = frozenset(),
) -> FactTable:  # fmt: skip
    """Return the facts with groups that published counts, positions and leaf values prove, and what was unused.

    A group with 1 to k - 1 rows violates a smallest group of k whatever else is open. `located`: groups by position.
    `always`: see `Together.always`.
    """
    groups, cells = published_groups(release)
    disclosed = 0
    by_values = groups_by_leaf_values(release)
    everything: list[ValueGroups | PositionGroups] = [*by_values, *(() if located is None else (located,))]
    for one in everything:
        groups, cells = [*groups, *one.groups], [*cells, *one.cells]
        disclosed = max(disclosed, one.disclosed)
    for key, proved in (("smallest_group", [*groups, *other_models(stored)]), ("smallest_cell", cells)):
        before = facts[key]
        open_why = (before.why, before.help) if isinstance(before, UnknownFigure) and proved else ("", "")
        facts = facts.with_groups(key, proved, further=open_why[0], help=open_why[1])
    facts, unused = with_classes(facts, disclosed), unused_of(release, stored, always)
    if len(release.models) == 1 and len(by_values) == 1 and by_values[0].least is not None and not unused:
        # every world has the same rows of every class in every cell, and rows anywhere in their cell
        group, cell = by_values[0].least
        facts = facts.with_groups("smallest_group", none_below=group).with_groups("smallest_cell", none_below=cell)
        facts = facts.with_figure("class_disclosure", KnownFigure(disclosed, disclosed))
    return facts.opened(unused)


def other_models(stored: Sequence[Inspection]) -> list[Place]:
    """Return the smallest groups of models that stand in the files beside the ones that were audited."""
    every = (one for file in stored for one in file.findings if one.beside and one.fewest)
    return [{"name": one.path, "where": "a leaf of another model", "rows": [one.fewest, one.fewest]} for one in every]


def with_classes(facts: FactTable, rows: int) -> FactTable:
    """Return the facts with at least so many people whose class follows."""
    found = facts["class_disclosure"]
    if not rows or not isinstance(found, KnownFigure | UnknownFigure):
        return facts
    if isinstance(found, UnknownFigure):
        return facts.with_figure("class_disclosure", KnownFigure(rows, facts.everybody, found.why, found.help))
    high = found.high if found.high is None else max(rows, found.high)
    return facts.with_figure("class_disclosure", KnownFigure(max(rows, found.low), high, found.why, found.help))
