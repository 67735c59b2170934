"""How much a release reveals of every attribute, in bits per person; and which groups its people are surely in.

A person is known to be in a group (a leaf or rule, and a class where classes are counted), and is any raw row that fits
it, all alike: what is revealed of an attribute is its entropy before, less its entropy among these rows. Of the label
nobody's class is told by a group, only the counts of classes in it. Less than nothing is nothing: beside impossible
combinations the rows of a group can be more mixed than those of the domain.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, Def. 2 (entropy of
single cells); Shannon, "A Mathematical Theory of Communication", 1948.

What a release makes certain: rows that are known completely, and values that everybody in a group must have.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024 (determined cells);
Hundepool et al., "Statistical Disclosure Control", Wiley 2012 (attribute disclosure by groups).

People who are known: how many are pinned down, and what is left about the most exposed one, as least and most.

The lines of exposure in the order that people read them: the most exposed group first; and the curve of all rows.

At the same exposure the fewest rows come first: about one person in a leaf a release says more than about a crowd.
Where numbers run on without an end no region has a share of what could be: counts, verdicts and worlds' existence need
no sizes; bits removed, probabilities and expected counts do. Groups then are ordered by their rows alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.domain.values import Continuous, cell_text
from encoders.encode.encoder import EncodedRelease
from recon.queries.measures.figures import Measures
from recon.readers.frames.describe import condition_text
from recon.readers.loading.settled import strengthened_release
from solvers.engines.figures.partition import PartitionFigures
from solvers.engines.figures.system import RemainingValues, Values, partition_values, system_values, values_before
from solvers.foundation.exact import decimal
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.release import ANY_LABEL, Partition

if TYPE_CHECKING:
    import pandas as pd

    from solvers.engines.figures.system import SystemFigures

PER_ROW = ("bits_left", "bits_removed", "entropy_reduction_ratio", "share_of_rows_at_most")


def without_shares(found: Measures) -> Measures:
    """Return the measures without the figures that depend on the sizes of regions; those of whole worlds have none."""

    def lines() -> pd.DataFrame:
        return _unshared(found.exposure)

    return replace(found, bits_removed_per_row=None, bits_due_to_order=None, exposures=lines)


def without_bits_left(found: Measures) -> Measures:
    """Return the measures without the bits left of single rows: in a continuous range there is no number of values."""

    def lines() -> pd.DataFrame:
        return _unshared(found.exposure, ("bits_left",))

    return replace(found, exposures=lines)


def _unshared(lines: pd.DataFrame, names: Sequence[str] = PER_ROW) -> pd.DataFrame:
    """Return lines of exposure without the figures, by default all, that depend on sizes."""
    import pandas as pd

    lines = lines.copy()
    for name in names:
        if name in lines:
            lines[name] = np.nan
    if "worlds_per_row" in lines:
        lines["worlds_per_row"] = pd.Series([None] * len(lines), index=lines.index, dtype=object)
    return lines


def worst_first(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of exposure that surely hold rows: groups of one, then the most exposed, then the fewest rows.

    Rows are those of the whole leaf, rule or cell, whose classes stay together. Lines without a figure come last.
    """
    held = lines[lines["rows"] > 0] if len(lines) else lines
    if not len(held):
        return held
    region = held["region"]
    whole = held.groupby("region")[["rows", "rows_most"]].transform("sum")
    several = whole["rows_most"] > 1
    keys = (held["rows"], region, whole["rows_most"], whole["rows"], held["entropy_reduction_ratio"], several)
    return held.iloc[np.lexsort([one.to_numpy() for one in keys])]  # the last key counts first, and NaN is last


def exposed_groups(measures: Measures, most: int = 1000) -> list[dict[str, Any]]:
    """Return the groups, of one row first, then the most exposed, for JSON: one per leaf, rule or cell and class.

    Keys: name, where (in words), class (None: any), rows (least and most), worlds_per_row (a decimal text), bits_left,
    bits_removed, share_left (0: fully known, 1: nothing learnt), share_of_rows_at_most; None where not defined. `most`
    groups at most; `exposed_in_all` says how many there are. Cost: sorting.
    """
    return [
        {
            "name": line["name"],
            "where": line["where"],
            "class": line["class"],
            "rows": [int(line["rows"]), int(line["rows_most"])],
            "worlds_per_row": None if line["worlds_per_row"] is None else decimal(int(line["worlds_per_row"])),
            "bits_left": _figure(line["bits_left"]),
            "bits_removed": _figure(line["bits_removed"]),
            "share_left": _figure(line["entropy_reduction_ratio"]),
            "share_of_rows_at_most": _figure(line["share_of_rows_at_most"]),
        }
        for line in worst_first(measures.exposure).head(most).to_dict("records")
    ]


def mean_exposure(measures: Measures) -> dict[str, float] | None:
    """Return the bits left about a person whose group is known, mean over all people, beside those before.

    None where some person lies in no group that is known, or a group has no figure. Cost: linear in groups.
    """
    lines = measures.exposure
    held = lines[lines["rows"] > 0] if len(lines) else lines
    rows = held["rows"].to_numpy(dtype=np.float64) if len(held) else np.zeros(0)
    if not len(held) or not (held["rows"] == held["rows_most"]).all() or int(rows.sum()) != measures.rows:
        return None
    left, removed = (held[key].to_numpy(dtype=np.float64) for key in ("bits_left", "bits_removed"))
    if not np.isfinite(left + removed).all():
        return None
    return {"bits_left": float(left @ rows / rows.sum()), "bits_before": float((left + removed)[0])}


def exposed_in_all(measures: Measures) -> int:
    """Return how many groups surely hold rows: leaves, rules or cells, each class by itself."""
    lines = measures.exposure
    return int((lines["rows"] > 0).sum()) if len(lines) else 0


def _figure(value: Any) -> float | None:
    """Return a finite number, None for none."""
    return None if value is None or not math.isfinite(value) else float(value)


def curve_points(measures: Measures, most: int = 200) -> list[list[float]]:
    """Return points [share of bits left, share of people at most], both increasing: a staircase, right at every point.

    Between two points nothing is said to happen but a rise, somewhere; each point is one of the true curve. The first
    and the last step are always kept, in between every so many-th. Empty where no share is defined.
    """
    lines = measures.exposure
    if not len(lines):
        return []
    held = lines[(lines["rows"] > 0) & np.isfinite(lines["entropy_reduction_ratio"])]
    steps = held.drop_duplicates("entropy_reduction_ratio").sort_values("entropy_reduction_ratio")
    points = steps[["entropy_reduction_ratio", "share_of_rows_at_most"]].to_numpy(dtype=np.float64)
    if len(points) > most:
        points = points[np.unique(np.linspace(0, len(points) - 1, most).round().astype(np.int64))]
    return [[float(x), float(y)] for x, y in points]


DIGITS = 20  # decimals of thresholds that are looked at
Interval = tuple[float, float | None]  # least and most; most None: no upper bound is known
Counts = tuple[int, int | None]


def system_of(release: EncodedRelease, found: Measures, limits: Limits) -> SystemFigures | None:
    """Return the cells of a coupled release that was measured; None of one partition, or where cells have no sizes."""
    from solvers.engines.figures.system import SystemFigures

    known = found.of_cells and found.determined_rows is not None
    return SystemFigures.of(release.statements, limits) if known else None


def pinned(release: EncodedRelease, found: Measures, system: SystemFigures | None) -> Counts | None:
    """Return how many people have every attribute known, least and most; None where regions have no size.

    They lie in cells of one raw row, so that no more of them are pinned down than such cells can hold.
    """
    if found.determined_rows is None:
        return None
    if found.cells_exact if found.of_cells else found.figures == "exact":
        return found.determined_rows, found.determined_rows
    if system is None:
        return found.determined_rows, release.rows.high
    held = sum(upper for size, upper in zip(system.sizes, system.upper.tolist(), strict=True) if size == 1)
    most = held if release.rows.high is None else min(held, release.rows.high)
    return found.determined_rows, max(found.determined_rows, most)


def interval_left(release: EncodedRelease) -> str:
    """Return an attribute of which every part that the models tell apart holds several values; "" where there is none.

    Then nobody is fully known: whoever has one value of a part can have another, and every statement stays true.
    Values are taken to be as fine as the thresholds and ends: multiples of 1 where thresholds lie halfway between whole
    numbers, of 0.1 where they are 4.95, and so on. Cost: linear in thresholds.
    """
    if release.statements.loose:  # they are about values, not about parts
        return ""
    found = [c for c in release.cut.cuts if isinstance(c.attribute, Continuous) and not c.attribute.missing]
    found.sort(key=lambda one: len(one.inner))
    return next((one.attribute.name for one in found if _all_several(one.edges)), "")


def _all_several(edges: Sequence[tuple[Any, int]]) -> bool:
    """Return whether between each edge and the next lie at least two values as fine as the edges are."""
    numbers = [2 * Fraction(x) for x, _ in edges if _is_finite(x)]
    digits = next((d for d in range(DIGITS) if all((x * 10**d).denominator == 1 for x in numbers)), DIGITS)
    grid = [Fraction(x) * 10**digits if _is_finite(x) else x for x, _ in edges]
    for (low, high), (after, until) in zip(pairwise(grid), pairwise(side for _, side in edges), strict=True):
        if _is_finite(low) and _is_finite(high):
            first = math.floor(low) + 1 if after else math.ceil(low)  # side 1 stands just above a number
            last = math.floor(high) if until else math.ceil(high) - 1
            if last <= first:
                return False
    return True


def _is_finite(x: Any) -> bool:
    """Return whether a number is finite; whole numbers and fractions are, also those beyond every float."""
    return not isinstance(x, float) or math.isfinite(x)


def least_bits(release: EncodedRelease, found: Measures, system: SystemFigures | None) -> Interval | None:
    """Return the bits left of the most exposed person: of groups that surely hold rows at most, of others at least."""
    lines = found.exposure
    if release.domain.continuous or (not len(lines) and system is None):
        return None
    bits, rows, most = (lines[name].to_numpy(dtype=np.float64) for name in ("bits_left", "rows", "rows_most"))
    if not np.isfinite(bits[most > 0]).all():
        return None
    high = min(bits[rows > 0].tolist(), default=None)
    if system is None:
        low = min(bits[most > 0].tolist(), default=None)
        return None if low is None else (low, high)
    # Cells that may hold rows, or not, are no lines of the exposure.
    live = [size for size, upper in zip(system.sizes, system.upper.tolist(), strict=True) if upper > 0 and size > 0]
    lowest = math.log2(min(live)) if live and high != 0.0 else 0.0
    return (lowest if high is None else min(lowest, high)), high


NO_RESOLUTION = "any number: without a resolution its values have no number of bits"
NO_CLASSES = "no model counts the classes of its groups exactly"
OPEN = "the number of people is open: of those who are surely in a group"

Counted = list[tuple[str, dict[int, int]]]  # groups, each with its name and rows by class


@dataclass(frozen=True)
class CertainGroup:
    """People who are surely in one group, in every world: how many, and what it leaves of the attributes.

    `region`: the leaf or rule (of more than one partition: the cell); `label`: the class that they share (ANY_LABEL:
    any). `rows`: at least so many, `most`: at most.
    """

    name: str
    region: int
    label: int
    rows: int
    most: int
    values: Values


def groups(release: EncodedRelease, measures: Measures, limits: Limits) -> list[CertainGroup]:
    """Return the groups that can hold rows, in the order of the release; of more than one partition the cells that do.

    Raises `Inconclusive` out of time. Cost: see `solvers.engines.figures.system`.
    """
    sized = not release.cut.unsized
    if measures.of_cells:
        lines = measures.exposure
        chosen, found = lines["region"].tolist(), []
        listed = zip(lines["name"], chosen, lines["rows"].tolist(), lines["rows_most"].tolist(), strict=True)
        values = system_values(release.statements, chosen, limits, sized) if chosen else iter(())
        for (name, c, rows, most), left in zip(listed, values, strict=True):
            found.append(CertainGroup(str(name), c, ANY_LABEL, rows, most, left))
        return found
    cells = PartitionFigures.of(release.statements, limits)
    values_of = partition_values(release.statements, limits, sized)
    each = (cells.cell(s) for s in range(len(values_of)))
    return [
        CertainGroup(c.name, c.region, c.label, c.minimum, c.maximum, left)
        for c, left in zip(each, values_of, strict=True)
        if c.maximum
    ]


def attribute_bits(release: EncodedRelease, measures: Measures, limits: Limits) -> list[dict[str, Any]]:
    """Return what a release reveals of every attribute, the most revealed first.

    Each: `name`; `bits_before` the release (of a value, among the rows that the domain allows); `bits_revealed` of it
    per person, on average; `share` of the one in the other (0 where nothing was unknown); `forced_rows`: people whose
    value is certain and was not before; `is`: "exact", "at least" (more than one partition, or groups whose size is not
    known), or "not known" with a reason in `why` (numbers without a resolution): then all figures of bits are None.
    `measures` are those of the same release. Raises what `groups` raises.
    """
    if measures.status == "unsat":
        return []
    release = strengthened_release(release, limits)
    held = groups(release, measures, limits)
    before = values_before(release.statements, limits)
    people, why = _number_of_people(release, measures, held)
    counted = _countings(release, held, measures)
    forced = forced_rows(release, held, before, counted)
    out = []
    for k, attribute in enumerate(release.domain.all):
        limits.check("bits of attributes were added up")
        if attribute is release.domain.label:
            found = _label_bits(counted, before[k], measures.of_cells)
        elif isinstance(attribute, Continuous):
            found = None
        else:
            found = _mean_bits(release, k, held, before[k], measures.of_cells, people)
        reason = "" if found else NO_RESOLUTION if isinstance(attribute, Continuous) else NO_CLASSES
        out.append(_line(attribute.name, before[k].bits, found, forced[k], reason or why))
    return sorted(out, key=lambda one: -(-1.0 if one["bits_revealed"] is None else one["bits_revealed"]))


def _line(name: str, before: float, found: tuple[float, bool] | None, forced: int, why: str) -> dict[str, Any]:
    """Return the line on one attribute; see `attribute_bits`."""
    if found is None:
        empty = dict.fromkeys(("bits_before", "bits_revealed", "share"))
        return {"name": name, **empty, "forced_rows": forced, **_status("not known"), "why": why}
    revealed = max(0.0, found[0])
    return {
        "name": name,
        "bits_before": before,
        "bits_revealed": revealed,
        "share": revealed / before if before else 0.0,
        "forced_rows": forced,
        **_status("exact" if found[1] else "at least"),
        "why": why or None,
    }


def _status(word: str) -> dict[str, str]:
    """Return what a figure is under its key, and under the earlier one, which stays for one version."""
    return {"bits_status": word, "is": word}


def _number_of_people(release: EncodedRelease, measures: Measures, held: Sequence[CertainGroup]) -> tuple[int, str]:
    """Return over how many people cells are averaged, and a note where it is not known how many there are."""
    known = sum(group.rows for group in held)
    if not measures.of_cells or release.rows.high is not None:
        return release.rows.high or known, ""
    return known, OPEN


def _mean_bits(
    release: EncodedRelease, k: int, held: Sequence[CertainGroup], before: RemainingValues, of_cells: bool, people: int
) -> tuple[float, bool]:
    """Return the bits revealed of attribute k per person, and whether they are exact; else at least so many.

    Of cells: people who are in none for sure may be of any possible value; an open number of rows: the end with less.
    """
    attribute = release.statements.domain.attributes[k]
    anything = RemainingValues(attribute.full, math.log2(attribute.total), True)
    left = [group.values.get(k, anything) for group in held]
    exact = all(one.exact for one in left)
    revealed = [before.bits - one.bits for one in left]
    if not of_cells:
        ends = [_mean_of(revealed, [count(group) for group in held]) for count in (_fewest_rows, _most_rows)]
        found = [end for end in ends if end is not None] or [0.0]
        return min(found), exact and len(set(found)) == 1
    known = sum(group.rows for group in held)
    total = math.fsum(bits * group.rows for bits, group in zip(revealed, held, strict=True))
    anywhere = before.bits - math.log2(
        release.statements.domain.attributes[k].weight(before.mask)
    )  # 0 but for impossible boxes: then less
    total += (people - known) * min(0.0, anywhere)
    return (total / people if people else 0.0), exact and known == people


def _fewest_rows(group: CertainGroup) -> int:
    """Return the fewest rows of a group."""
    return group.rows


def _most_rows(group: CertainGroup) -> int:
    """Return the most rows of a group."""
    return group.most


def _mean_of(figures: Sequence[float], rows: Sequence[int]) -> float | None:
    """Return the mean of a figure over rows, None without rows."""
    total = sum(rows)
    return math.fsum(x * n for x, n in zip(figures, rows, strict=True)) / total if total else None


def _label_bits(counted: Sequence[Counted], before: RemainingValues, of_cells: bool) -> tuple[float, bool] | None:
    """Return the bits revealed of the label per person by counts of classes, and whether they are exact.

    Of several countings what the most telling one says by itself. None where no classes are counted exactly.
    """
    found = [_class_bits(groups, before.bits) for groups in counted]
    return (max(found), not of_cells) if found else None


def _class_bits(counted: Counted, before: float) -> float:
    """Return the bits revealed of the label by one counting: those before, less its entropy within every group."""
    rows = [sum(classes.values()) for _, classes in counted]
    left = _mean_of([_class_entropy(classes) for _, classes in counted], rows)
    return 0.0 if left is None else before - left


def _class_entropy(classes: Mapping[int, int]) -> float:
    """Return the bits of the class of somebody in a group with so many rows of each class."""
    rows = sum(classes.values())
    return -math.fsum(n / rows * math.log2(n / rows) for n in classes.values() if n)


def _countings(release: EncodedRelease, held: Sequence[CertainGroup], measures: Measures) -> list[Counted]:
    """Return the countings of classes: every partition with exact counts, and the cells where these hold everybody.

    A counting is a list of groups, each with its name and the rows of every class; together they are all the people.
    """
    label = release.domain.label
    if release.noisy or label is None:
        return []
    blocks = release.statements.partitions.values()
    found = [_of_partition(block, len(release.statements.blocks) > 1) for block in blocks if _tells_classes(block)]
    if measures.of_cells and sum(group.rows for group in held) == release.rows.high:
        found += _of_cells(held, len(release.domain.attributes))
    return found


def _tells_classes(block: Partition) -> bool:
    """Return whether a partition counts the training rows themselves exactly, class by class."""
    return bool((block.label != ANY_LABEL).all()) and not block.open_counts and block.draws is None


def _of_partition(block: Partition, several: bool) -> Counted:
    """Return the regions of a partition and the rows of every class in them."""
    out = []
    for region, statements in block.by_region.items():
        name = f"{block.kind}, {block.names[region]}" if several else block.names[region]
        out.append((name, {int(block.label[s]): int(block.low[s]) for s in statements}))
    return out


def _of_cells(held: Sequence[CertainGroup], label: int) -> list[Counted]:
    """Return cells that hold everybody as groups that differ in more than the class; none where a class is open."""
    found: dict[tuple[tuple[int, int], ...], tuple[str, dict[int, int]]] = {}
    for group in held:
        mask = group.values[label].mask if label in group.values else 0
        if not mask or mask & (mask - 1):
            return []
        key = tuple(sorted((k, left.mask) for k, left in group.values.items() if k != label))
        classes = found.setdefault(key, (group.name, {}))[1]
        of = mask.bit_length() - 1
        classes[of] = classes.get(of, 0) + group.rows
    return [list(found.values())]


def forced_rows(
    release: EncodedRelease, held: Sequence[CertainGroup], before: Sequence[RemainingValues], counted: Sequence[Counted]
) -> list[int]:
    """Return, per attribute, how many people's value is certain now and was not before, in every world."""
    label = len(before) - 1 if release.domain.label is not None else -1
    found = [
        0 if k == label else sum(g.rows for g in held if k in g.values and _certain(release, k, g.values[k], left))
        for k, left in enumerate(before)
    ]
    if label >= 0 and _value_of(release, label, before[label].mask) is None:
        found[label] = max((sum(rows for _, _, rows in _pure(groups)) for groups in counted), default=0)
    return found


def _pure(counted: Counted) -> list[tuple[str, int, int]]:
    """Return the groups of a counting all of whose rows are of one class: (name, class, rows)."""
    out = []
    for name, classes in counted:
        filled = [(c, n) for c, n in classes.items() if n]
        if len(filled) == 1:
            out.append((name, *filled[0]))
    return out


def _certain(release: EncodedRelease, k: int, left: RemainingValues, before: RemainingValues) -> bool:
    """Return whether one value of attribute k is left, of several before."""
    return _value_of(release, k, left.mask) is not None and _value_of(release, k, before.mask) is None


def _value_of(release: EncodedRelease, k: int, mask: int) -> str | None:
    """Return the one value that some parts of attribute k have, in words; None where they have several or none."""
    cuts = release.cut.cuts[k]
    if not mask or mask & (mask - 1):
        return None
    start, end = cuts.bounds(mask.bit_length() - 1)
    attribute = cuts.attribute
    if isinstance(attribute, Continuous):
        return cell_text(None) if attribute.missing and start >= attribute.known[1] else None
    return cell_text(attribute.value(start)) if end - start == 1 else None


LISTED = 500  # rows, and values, that are listed; `..._in_all` counts the rest too

Value = tuple[str, str, str, int]  # group, attribute, value, rows


def forced_groups(release: EncodedRelease, measures: Measures, limits: Limits) -> dict[str, Any]:
    """Return what is certain in every world and was not before the release, the largest groups first.

    `rows`: rows of which every attribute is known, in words (`where`), and how many people (`rows`) have it at least;
    `values`: what everybody in a `group` has of an `attribute`, in words (`value`), and at least how many they are
    (`rows`). At most LISTED of each, `rows_in_all` and `values_in_all` say how many there are. `measures` are those of
    the same release. Raises what `recon.queries.measures.attribute_bits.groups` raises.
    """
    if measures.status == "unsat":
        return {"rows": [], "rows_in_all": 0, "values": [], "values_in_all": 0}
    release = strengthened_release(release, limits)
    held = [group for group in groups(release, measures, limits) if group.rows]
    before = values_before(release.statements, limits)
    rows = sorted(known_rows(release, held).items(), key=lambda one: -one[1])
    values = sorted(_known_values(release, measures, held, before, limits), key=lambda one: -one[3])
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
        if all(_value_of(release, k, mask) is not None for k, mask in enumerate(masks)):
            cuts = release.cut.cuts
            row = Box(tuple((k, mask) for k, mask in enumerate(masks) if len(cuts[k].sizes) > 1))
            found[condition_text(release.cut, row)] += group.rows
    return found


def _known_values(
    release: EncodedRelease,
    measures: Measures,
    held: Sequence[CertainGroup],
    before: Sequence[RemainingValues],
    limits: Limits,
) -> Iterator[Value]:
    """Yield what is certain of whole leaves, rules or cells, and of the classes in them where that is more."""
    label = len(before) - 1 if release.domain.label is not None else -1
    domain = release.domain
    open_before = {k for k, left in enumerate(before) if _value_of(release, k, left.mask) is None}
    for region in _by_region(held):
        limits.check("values that are certain were listed")
        rows = sum(group.rows for group in region)
        for k in sorted(open_before.intersection(*[group.values.keys() for group in region]) - {label}):
            union = 0
            for group in region:
                union |= group.values[k].mask
            if (value := _value_of(release, k, union)) is not None:
                yield region[0].name, domain.all[k].name, value, rows
                continue
            for group in region:  # a class of it where others differ: only beside impossible combinations
                if (value := _value_of(release, k, group.values[k].mask)) is not None:
                    yield _named_with_class(release, group), domain.all[k].name, value, group.rows
    if label in open_before:
        yield from _known_classes(release, _countings(release, held, measures))


def _by_region(held: Sequence[CertainGroup]) -> list[list[CertainGroup]]:
    """Return the groups of each leaf, rule or cell, in order."""
    found: dict[int, list[CertainGroup]] = {}
    for group in held:
        found.setdefault(group.region, []).append(group)
    return list(found.values())


def _named_with_class(release: EncodedRelease, group: CertainGroup) -> str:
    """Return what a group is called, its class included."""
    if group.label == ANY_LABEL or release.domain.label is None:
        return group.name
    return f"{group.name}, class {release.domain.label.value(group.label)}"


def _known_classes(release: EncodedRelease, counted: Sequence[Counted]) -> Iterator[Value]:
    """Yield the groups all of whose rows are of one class; of several countings those that tell it of most."""
    label = release.domain.label
    found = [_pure(groups) for groups in counted]
    if label is None or not found:
        return
    for name, value, rows in max(found, key=lambda one: sum(n for _, _, n in one)):
        yield name, label.name, str(label.value(value)), rows
