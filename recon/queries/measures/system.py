"""The measures of a release that is more than one partition: forests, rule sets, tables, joins.

Exposure is told per cell that surely holds rows: in every world so many training rows are among the cell's raw rows.
Source: Ferry et al., SaTML 2024, Def. 2 and 4; docs/mathematics.md, "Possible worlds and their conventions".
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from recon.queries.measures.figures import Measures, exposure_frame
from recon.readers.frames.describe import condition_text
from solvers.engines.chain import ask
from solvers.engines.figures.partition import bits_before, bits_of_types, mean, ratio, row_bits, unnamed_factor
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer, PerCellAnswer
from solvers.statements.questions.query import Convention, Count, PerCell
from solvers.statements.release import Release

if TYPE_CHECKING:
    import pandas as pd

    from solvers.engines.figures.system import SystemFigures

SHOWN_BOXES = 3  # boxes of a cell written out


def measure_coupled(release: EncodedRelease, convention: Convention, answer: CountAnswer, limits: Limits) -> Measures:
    """Return the measures of a coupled release from its count; entropy figures are None where it is not exact."""
    from solvers.engines.figures.system import SystemFigures

    statements = release.statements
    numbers = list(answer.log2_per_rows) or ([release.rows.low] if release.rows.exact else [])
    spread = math.log2(len(numbers)) if numbers else 0.0
    exact = answer.status == "exact"
    prior = entropy = removed = None
    if numbers and not answer.relative:
        prior = _bits_before(release, numbers, convention, limits)
    if exact and prior is not None:
        entropy = spread + mean(list(answer.log2_per_rows.values()))
        rows = mean([float(n) for n in numbers])
        removed = (prior - entropy) / rows if rows else None
    try:
        system = SystemFigures.of(statements, limits)
        cells = ask(statements, PerCell(), PerCellAnswer, limits)
        minimum, maximum = cells.minimum, cells.maximum
        cells_exact = cells.status == "exact" or bool((cells.minimum == cells.maximum).all())
    except (Unsupported, Inconclusive):
        system, cells_exact = None, True
        minimum = maximum = np.zeros(0, dtype=np.int64)
    datasets = answer if convention == "multiset" else ask(statements, Count("multiset"), CountAnswer, limits)
    held = [(c, int(minimum[c]), int(maximum[c])) for c in np.flatnonzero(minimum).tolist()]
    sizes = [] if system is None else [system.sizes[c] for c, _, _ in held]
    unordered = _bits_before(release, numbers, "multiset", limits) if numbers and not answer.relative else None
    unsized = system is None or answer.relative  # sizes of a continuous attribute are volumes, not raw rows
    return Measures(
        convention=convention,
        status=answer.status,
        rows=numbers[0] if len(numbers) == 1 else None,
        entropy_bits=entropy,
        uninformed_bits=prior,
        bits_removed_per_row=removed,
        dist_g=None if entropy is None or prior is None else ratio(entropy, prior),
        dist_g_mentioned=None if entropy is None else _mentioned(statements, convention, entropy, numbers, limits),
        dist=None if system is None or not exact or convention != "ordered" else system.dist(minimum, maximum),
        bits_due_to_order=None,
        determined_rows=None if unsized else sum(n for (_, n, _), z in zip(held, sizes, strict=True) if z == 1),
        smallest_region=None if unsized else min(sizes, default=None),
        smallest_group=_smallest_count(statements),
        exposures=partial(exposure_frame, [])
        if system is None
        else partial(_cell_exposure, release, system, held, limits),
        counted=answer,
        assumptions=release.assumptions,
        of_cells=True,
        datasets=None if answer.relative else datasets,
        cells_exact=cells_exact,
        unordered_before=unordered,
    )


def _bits_before(release: EncodedRelease, numbers: list[int], convention: Convention, limits: Limits) -> float:
    """Return the bits before the release; of related data sets with public numbers of rows per type, with these."""
    typed = release.typed
    if typed is None or not all(n.exact for n in typed.numbers):
        return bits_before(release.statements, numbers, convention, limits)
    return bits_of_types(release.statements, [n.low for n in typed.numbers], convention, limits)


def _mentioned(
    release: Release, convention: Convention, entropy: float, numbers: list[int], limits: Limits
) -> float | None:
    """Return Dist_G over the attributes that the release names, the others shrunk to one value.

    `ordered`: they are a factor of every row. `multiset`: the smaller release is counted anew, None where there is no
    time for that.
    """
    from solvers.engines.figures.system import named_only

    factor, spread = unnamed_factor(release), math.log2(len(numbers))
    before = bits_before(named_only(release), numbers, convention, limits)
    if factor == 1:
        return ratio(entropy, before)
    if convention == "ordered":
        return ratio(entropy - mean([n * math.log2(factor) for n in numbers]), before)
    try:
        found = ask(named_only(release), Count(convention), CountAnswer, limits)
    except (Inconclusive, Unsupported):
        return None
    if found.status != "exact":
        return None
    return ratio(spread + mean(list(found.log2_per_rows.values())), before)


def _smallest_count(release: Release) -> int | None:
    """Return the smallest positive count that was published; the ends of intervals (noise, suppression) are none."""
    found: list[int] = []
    for partition in release.partitions.values():
        found += partition.low[(partition.low > 0) & (partition.low == partition.high)].tolist()
    for block in release.loose.values():
        found += [s.low for s in block if s.region is not None and s.low == s.high and s.low > 0]
    return min(found, default=None)


def published_cells(release: EncodedRelease) -> list[tuple[str, int]]:
    """Return name and rows of every group, not everybody, that a table or rule set counts exactly; the empty not."""
    from encoders.kinds.table import name_of

    found: list[tuple[str, int | None]] = []
    for model in release.models:
        if model.figures() and model.noise is None:
            figures = enumerate(model.figures())
            found += [(name_of(model, i), None if f.count is None else int(f.count)) for i, f in figures if f.condition]
        elif not model.disjoint and model.noise is None:  # groups may overlap
            named = [(p.name or f"{model.unit} {i}", p.support) for i, p in enumerate(model.parts()) if p.condition]
            found += [(f"{model.name}, {name}", None if support is None else support.total) for name, support in named]
    return [(name, rows) for name, rows in found if rows]


def groups_left_out(release: EncodedRelease) -> tuple[bool, str]:
    """Return whether some partition's counts tell the sizes of its groups, and why others' do not ("": all do)."""
    parts = list(release.statements.partitions.values())
    notes = [release.noisy or b.open_counts <= min(1, len(b) - 1) for b in parts]
    if all(notes):
        return bool(notes), "" if notes else "no partition of exact counts"
    resampled = any(model.resampled for model in release.models)
    why = "counts of resamples are lower bounds" if resampled else "no partition of exact counts"
    return any(notes), f"{why} ({len(parts) - sum(notes)} of {len(parts)} partitions)" if any(notes) else why


def _cell_exposure(
    release: EncodedRelease, system: SystemFigures, held: list[tuple[int, int, int]], limits: Limits
) -> pd.DataFrame:
    """Return one line per cell that surely holds rows, in the columns of `recon.queries.measures.measures.exposure`.

    `rows` is the least number of rows over all worlds, `rows_most` the greatest (outer bounds where not exact).
    """
    lines: list[dict[str, Any]] = []
    before = row_bits(release.statements, limits)
    boxes = system.boxes([c for c, _, _ in held], SHOWN_BOXES)
    for i, ((c, rows, maximum), (shown, further)) in enumerate(zip(held, boxes, strict=True)):
        size, more = system.sizes[c], f" or {further} more boxes" if further else ""
        texts = [condition_text(release.cut, b) for b in shown]
        left = math.log2(size)
        lines.append(
            {
                "name": f"cell {i}",
                "region": c,
                "where": (texts[0] if len(texts) == 1 else " or ".join(f"({text})" for text in texts)) + more,
                "class": None,
                "rows": rows,
                "rows_most": maximum,
                "worlds_per_row": size,
                "bits_left": left,
                "bits_removed": before - left,
                "entropy_reduction_ratio": left / before if before else 1.0,
            }
        )
    return exposure_frame(lines)
