"""What a release makes certain: rows that are known completely, and values that everybody in a group must have.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024 (determined cells);
Hundepool et al., "Statistical Disclosure Control", Wiley 2012 (attribute disclosure by groups).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import EncodedRelease
from recon.queries.measures.revealed.attribute_bits import CertainGroup, Counted, countings, groups, pure, value_of
from recon.readers.frames.describe import condition_text
from recon.readers.loading.settled import settled_release
from solvers.engines.figures.values import RemainingValues, values_before
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.release import ANY_LABEL

if TYPE_CHECKING:
    from recon.queries.measures.figures import Measures

LISTED = 500  # rows, and values, that are listed; `..._in_all` counts the rest too

Value = tuple[str, str, str, int]  # group, attribute, value, rows


def forced(release: EncodedRelease, measures: Measures, limits: Limits) -> dict[str, Any]:
    """Return what is certain in every world and was not before the release, the largest groups first.

    `rows`: rows of which every attribute is known, in words (`where`), and how many people (`rows`) have it at least;
    `values`: what everybody in a `group` has of an `attribute`, in words (`value`), and at least how many they are
    (`rows`). At most LISTED of each, `rows_in_all` and `values_in_all` say how many there are. `measures` are those of
    the same release. Raises what `recon.queries.measures.revealed.attribute_bits.groups` raises.
    """
    if measures.status == "unsat":
        return {"rows": [], "rows_in_all": 0, "values": [], "values_in_all": 0}
    release = settled_release(release, limits)
    held = [group for group in groups(release, measures, limits) if group.rows]
    before = values_before(release.statements, limits)
    rows = sorted(known_rows(release, held).items(), key=lambda one: -one[1])
    values = sorted(known_values(release, measures, held, before, limits), key=lambda one: -one[3])
    return {
        "rows": [{"where": where, "rows": n} for where, n in rows[:LISTED]],
        "rows_in_all": len(rows),
        "values": [
            {"group": group, "attribute": name, "value": value, "rows": n} for group, name, value, n in values[:LISTED]
        ],
        "values_in_all": len(values),
    }


def known_rows(release: EncodedRelease, held: Sequence[CertainGroup]) -> Counter[str]:
    """Return the rows that are known completely, in words, and how many people surely are each."""
    found: Counter[str] = Counter()
    every = [attribute.full for attribute in release.statements.domain.attributes]
    for group in held:
        masks = [group.values[k].mask if k in group.values else full for k, full in enumerate(every)]
        if all(value_of(release, k, mask) is not None for k, mask in enumerate(masks)):
            cuts = release.cut.cuts
            row = Box(tuple((k, mask) for k, mask in enumerate(masks) if len(cuts[k].sizes) > 1))
            found[condition_text(release.cut, row)] += group.rows
    return found


def known_values(
    release: EncodedRelease,
    measures: Measures,
    held: Sequence[CertainGroup],
    before: Sequence[RemainingValues],
    limits: Limits,
) -> Iterator[Value]:
    """Yield what is certain of whole leaves, rules or cells, and of the classes in them where that is more."""
    label = len(before) - 1 if release.domain.label is not None else -1
    domain = release.domain
    open_before = {k for k, left in enumerate(before) if value_of(release, k, left.mask) is None}
    for region in by_region(held):
        limits.check("values that are certain were listed")
        rows = sum(group.rows for group in region)
        for k in sorted(open_before.intersection(*[group.values.keys() for group in region]) - {label}):
            union = 0
            for group in region:
                union |= group.values[k].mask
            if (value := value_of(release, k, union)) is not None:
                yield region[0].name, domain.all[k].name, value, rows
                continue
            for group in region:  # a class of it where others differ: only beside impossible combinations
                if (value := value_of(release, k, group.values[k].mask)) is not None:
                    yield named_with_class(release, group), domain.all[k].name, value, group.rows
    if label in open_before:
        yield from known_classes(release, countings(release, held, measures))


def by_region(held: Sequence[CertainGroup]) -> list[list[CertainGroup]]:
    """Return the groups of each leaf, rule or cell, in order."""
    found: dict[int, list[CertainGroup]] = {}
    for group in held:
        found.setdefault(group.region, []).append(group)
    return list(found.values())


def named_with_class(release: EncodedRelease, group: CertainGroup) -> str:
    """Return what a group is called, its class included."""
    if group.label == ANY_LABEL or release.domain.label is None:
        return group.name
    return f"{group.name}, class {release.domain.label.value(group.label)}"


def known_classes(release: EncodedRelease, counted: Sequence[Counted]) -> Iterator[Value]:
    """Yield the groups all of whose rows are of one class; of several countings those that tell it of most."""
    label = release.domain.label
    found = [pure(groups) for groups in counted]
    if label is None or not found:
        return
    for name, value, rows in max(found, key=lambda one: sum(n for _, _, n in one)):
        yield name, label.name, str(label.value(value)), rows
