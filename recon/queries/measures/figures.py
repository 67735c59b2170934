"""The figures of a release as frozen values, and what they are made of.

What a release leaves beyond the order of its rows: datasets counted as multisets, in whatever convention one asks.

A count of sequences (`ordered`, and `assigned` inside each leaf) also counts in which order the rows stand, which is
not what anybody means by what a model gives away: a release that gives back every row still leaves up to log2 n! bits
of it. Figures without the order are the ones in which a tree, and the same tree with a table, can be compared.

Source: docs/mathematics.md, "Possible worlds and their conventions".

The measures of a release that is more than one partition: forests, rule sets, tables, joins.

Exposure is told per cell that surely holds rows: in every world so many training rows are among the cell's raw rows.
Source: Ferry et al., SaTML 2024, Def. 2 and 4; docs/mathematics.md, "Possible worlds and their conventions".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from encoders.encode.encoder import EncodedRelease
from recon.readers.frames.describe import condition_text
from solvers.engines.chain import ask
from solvers.engines.figures.partition import bits_before, bits_of_types, mean, ratio, row_bits, unnamed_factor
from solvers.foundation.displayed import Displayed, DisplayFacts, text
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.plots import worlds_words
from solvers.statements.questions.answers import CountAnswer, PerCellAnswer
from solvers.statements.questions.query import Convention, Count, PerCell
from solvers.statements.release import Release

if TYPE_CHECKING:
    import pandas as pd

    from recon.queries.noisy.posterior import Posterior
    from solvers.engines.figures.system import SystemFigures
    from solvers.foundation.plots import Axes

Ends = tuple[float, float]


def bits_left(m: Measures) -> Ends | None:
    """Return the bits left of a release without the order of rows, least and most (equal where exact).

    With the number of rows open: of its uniform prior and the datasets given it. None where datasets are not counted.
    """
    found = m.datasets
    if found is None or found.relative or found.status == "unsat":
        return None
    if found.status == "exact":
        logs = list(found.log2_per_rows.values())
        left = math.log2(len(logs)) + math.fsum(logs) / len(logs) if logs else found.bounds[0]
        return left, left
    lower, upper = found.bounds
    if m.rows is None:  # the mean of logarithms is at most that of the sum, but has no other bound from it
        lower = 0.0
    elif m.unordered_before is not None:
        upper = min(upper, m.unordered_before)
    return max(0.0, lower), max(0.0, upper)


def row_order(m: Measures) -> Ends | None:
    """Return the bits of the entropy that are the order of rows, least and most (equal where exact).

    The entropy less that of the datasets without an order: log2 of how many orders a dataset has on average, the order
    inside each leaf or rule in the convention `assigned`, 0 in `multiset`. None where either is not known.
    """
    left = bits_left(m)
    if m.convention == "multiset":
        return None if left is None else (0.0, 0.0)
    whole = m.entropy_bounds if m.entropy_bits is None else (m.entropy_bits, m.entropy_bits)
    if left is None or whole is None:
        return None
    minimum, maximum = max(0.0, whole[0] - left[1]), max(0.0, whole[1] - left[0])
    if left[0] < left[1] and m.rows is not None:  # a dataset has n! orders at most
        maximum = min(maximum, math.lgamma(m.rows + 1) / math.log(2) * (1.0 + 2.0**-50))
    return min(minimum, maximum), maximum


def dist_g(m: Measures) -> Ends | None:
    """Return Dist_G without the order of rows, least and greatest (equal where exact); None where it is not defined."""
    left, before = bits_left(m), m.unordered_before
    return None if left is None or not before else (left[0] / before, left[1] / before)


def removed_per_row(m: Measures) -> Ends | None:
    """Return the bits removed per row without the order of rows, least and most; None where that is not defined."""
    left, before = bits_left(m), m.unordered_before
    return None if left is None or before is None or not m.rows else _tuple_of(before, left, m.rows)


def _tuple_of(before: float, left: Ends, rows: int) -> Ends:
    """Return what bits left leave of the bits before, per row."""
    return (before - left[1]) / rows, (before - left[0]) / rows


EXPOSURE = (
    "name",
    "region",
    "where",
    "class",
    "rows",
    "rows_most",
    "worlds_per_row",
    "bits_left",
    "bits_removed",
    "entropy_reduction_ratio",
)


FIGURES = (
    "convention",
    "status",
    "rows",
    "entropy_bits",
    "uninformed_bits",
    "bits_removed_per_row",
    "dist_g",
    "dist_g_mentioned",
    "dist",
    "bits_due_to_order",
    "determined_rows",
    "smallest_region",
    "smallest_group",
    "figures",
)


@dataclass(frozen=True, repr=False)
class Measures(Displayed):
    """The figures of one release in one convention; None where a figure is undefined or not exact.

    entropy_bits: log2 of the number of worlds (with the number of rows open: of its uniform prior and the worlds
    given it). uninformed_bits: the same before the release. dist_g: their ratio, 1 for a release that says
    nothing, smaller = more revealed. bits_removed_per_row: their difference per row. dist_g_mentioned: Dist_G over
    the attributes that the release names. dist: Def. 2, where rows are products of attributes (`assigned`),
    or where all rows have the same marginal that is known: every cell has as many rows in all worlds (`ordered`).
    bits_due_to_order: Σ_j C_j (log2 num(f_j) - log2 Capt(f_j)) of a rule list. determined_rows: rows whose every
    attribute is known. smallest_region: the fewest raw rows that fit a published row; smallest_group: the fewest
    published rows in one cell. exposure (made when asked for): one line per leaf or rule; with
    `of_cells` (more than one partition) one per cell that surely holds rows. datasets: the count of datasets without
    an order of rows (None: not asked, of continuous attributes), unordered_before the bits before the release without
    it; see `recon.queries.measures.figures`. cells_exact: whether the least rows of every cell, on which
    determined_rows and smallest_region rest, are exact.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> found = recon.measure(release)
    >>> round(found.entropy_bits, 2), round(found.dist_g, 2)
    (4.0, 0.5)
    """

    convention: Convention
    status: str
    rows: int | None
    entropy_bits: float | None
    uninformed_bits: float | None
    bits_removed_per_row: float | None
    dist_g: float | None
    dist_g_mentioned: float | None
    dist: float | None
    bits_due_to_order: float | None
    determined_rows: int | None
    smallest_region: int | None
    smallest_group: int | None
    exposures: Callable[[], pd.DataFrame]
    counted: CountAnswer
    assumptions: tuple[str, ...] = field(default=())
    of_cells: bool = False
    datasets: CountAnswer | None = None
    posterior: Posterior | None = None
    cells_exact: bool = True
    unordered_before: float | None = None

    @cached_property
    def exposure(self) -> pd.DataFrame:
        """Return the lines on leaves, rules or cells, most of them with figures of their own."""
        return self.exposures()

    def _facts(self) -> DisplayFacts:
        share, bounds = self.dist_g, self.dist_g_bounds
        known = "not defined" if share is None else text(round(share, 4))
        if bounds is not None:
            known = f"{text(round(bounds[0], 4))} to {text(round(bounds[1], 4))}"
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        line = f"Dist_G {known}, {worlds_words(self.counted)}, {self.status} ({self.convention}){rows}"
        pairs = [(name, getattr(self, name)) for name in FIGURES]
        more = "exposure: a line per leaf, rule or cell; to_frame(), plot()"
        return DisplayFacts(line, pairs, notes=self.assumptions, more=more)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as one line, so that those of several releases can be put below each other.

        Columns: the fields of that name, and log2_worlds, None where not exact.
        """
        import pandas as pd

        line = {name: getattr(self, name) for name in FIGURES} | {"log2_worlds": self.counted.log2}
        return pd.DataFrame([line], dtype=object)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with the share of rows (0 to 1) that keep at most a given share of their bits (0: fully known).

        Works the exposure out where nobody asked for it yet. Raises `Unsupported` without matplotlib, and where no row
        has such a figure (no world, a continuous attribute).
        """
        from solvers.foundation.plots import curve

        lines = self.exposure
        ratio = lines["entropy_reduction_ratio"].to_numpy(dtype=np.float64) if len(lines) else np.zeros(0)
        known = np.isfinite(ratio)
        if not known.any():
            raise Unsupported("there is nothing to draw: no row has a share of bits left")
        order = np.argsort(ratio[known], kind="stable")
        share = lines["share_of_rows_at_most"].to_numpy(dtype=np.float64)[known][order]
        title = f"Rows by what is left of their bits ({self.convention})"
        return curve(ratio[known][order], share, title, "share of bits left", "share of rows at most", ax)

    @property
    def figures(self) -> Literal["exact", "bounds"]:
        """Return whether determined_rows (at least) and smallest_region (at most) are figures or bounds on them."""
        return "bounds" if self.status == "bounds" or not self.cells_exact else "exact"

    @property
    def entropy_bounds(self) -> tuple[float, float] | None:
        """Return the least and most bits left where worlds are only bounded (least 0: a world may be all there is).

        None where the number is exact, not defined, or of an open number of rows.
        """
        if self.status != "bounds" or self.counted.relative or self.rows is None or self.uninformed_bits is None:
            return None
        lower, upper = self.counted.bounds
        return max(0.0, lower), min(upper, self.uninformed_bits)

    @property
    def removed_bounds(self) -> tuple[float, float] | None:
        """Return the least and most bits removed per row that bounds on the bits left imply; None where none are."""
        left, before = self.entropy_bounds, self.uninformed_bits
        if left is None or before is None or not self.rows:
            return None
        return (before - left[1]) / self.rows, (before - left[0]) / self.rows

    @property
    def dist_g_bounds(self) -> tuple[float, float] | None:
        """Return the least and greatest Dist_G that bounds on the bits left imply; None where there are none."""
        left, before = self.entropy_bounds, self.uninformed_bits
        return None if left is None or not before else (left[0] / before, left[1] / before)


def empty(release: EncodedRelease, convention: Convention, answer: CountAnswer) -> Measures:
    """Return the measures of a release without a world: none."""
    rows = release.rows.low if release.rows.exact else None
    nothing = (None,) * 10
    return Measures(convention, answer.status, rows, *nothing, _nowhere, answer, release.assumptions)


def uncounted(release: EncodedRelease, convention: Convention, why: str) -> Measures:
    """Return the measures of a release whose data sets are not counted, for a reason: trivial bounds on how many."""
    space, rows = release.statements.domain, release.rows.high
    most = math.inf if rows is None else rows * math.log2(space.size)
    answer = CountAnswer("bounds", convention=convention, bounds=(-math.inf, most), trail=(why,))
    return replace(empty(release, convention, answer), exposures=lambda: exposure_frame([]))


def _nowhere() -> pd.DataFrame:
    """Return no lines at all, of a release without a world."""
    import pandas as pd

    return pd.DataFrame()


def exposure_frame(lines: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the lines as a frame, with the share of rows that are as exposed or more."""
    import pandas as pd

    # As objects: pandas would turn None into NaN, and overflow on long integers.
    frame = pd.DataFrame(lines, columns=EXPOSURE, dtype=object)
    numeric = ("bits_left", "bits_removed", "entropy_reduction_ratio")
    frame = frame.astype(dict.fromkeys(("region", "rows", "rows_most"), np.int64) | dict.fromkeys(numeric, np.float64))
    rows, ratio = frame["rows"].to_numpy(), frame["entropy_reduction_ratio"].to_numpy()
    order = np.argsort(ratio, kind="stable")  # where no ratio is known (NaN), no row is known to be as exposed
    below = np.concatenate(([0], np.cumsum(rows[order])))
    upto = np.where(np.isnan(ratio), 0, np.searchsorted(ratio[order], ratio, side="right"))
    total = int(rows.sum())
    frame["share_of_rows_at_most"] = [n / total if total else math.nan for n in below[upto].tolist()]
    return frame


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
