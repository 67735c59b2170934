"""How much uncertainty a release leaves: joint entropy, Dist, Dist_G, bits removed, exposure per leaf or rule.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, Def. 2
(eq. 1), Def. 4 (eq. 2-3), eq. 9, 11, 16. The worlds of a convention are taken as equally likely, so the joint
entropy is log2 of their number.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from encoders.parts.cut_domain import CutDomain
from recon.answers.exact import convention_of
from recon.frames.describe import condition_text
from recon.measures.figures import Measures, empty, exposure_frame, mean, ratio, uninformed, unnamed_factor, unordered
from recon.measures.unordered import datasets_of
from recon.measures.unsized import without_shares
from recon.questions.questions import count
from solvers.cells.partition_cells import Cells, cells_of, no_closed_form
from solvers.columns.single_partitions import alone
from solvers.foundation.exact import log2_multisets, log2_worlds
from solvers.foundation.limits import Limits
from solvers.histograms.partition_membership import known_rows
from solvers.likelihood.explain import clash_of, known_conflict
from solvers.questions.query import Convention, CountAnswer
from solvers.regions.row_space import Space
from solvers.statements.release import ANY_LABEL, Release

if TYPE_CHECKING:
    pass

MOST_STEPS = 10_000_000  # rows up to which C(S + n - 1, n) is computed (8 bytes each); above, S^n bounds it
MOST_LEAVES = 100_000  # leaves of trees whose bounds are computed even when the time is up: a second


def measure(
    release: EncodedRelease,
    convention: str | None = None,
    limits: Limits | None = None,
    counted: CountAnswer | None = None,
) -> Measures:
    """Return the measures of a release; a count already at hand may be given.

    Cost: that of `count`, and linear in leaves, rules or cells. Raises what `count` raises.
    """
    chosen = convention_of(release, convention)
    limits = limits or Limits()
    answer = capped(release, counted or count(release, chosen, limits), limits)
    if answer.status == "unsat":
        return empty(release, chosen, answer)
    found = measured(release, chosen, answer, limits)
    found = without_shares(found) if release.cut.unsized else found
    if found.datasets is not None:  # datasets are no more than their orders
        datasets = capped(release, found.datasets, limits, answer.bounds[1])
        if datasets.status == "unsat":
            return empty(release, chosen, replace(datasets, convention=chosen))
        answer, datasets = tied(answer, datasets, release.rows.high)
        found = replace(found, counted=answer, datasets=datasets)
    if not release.noisy:
        return found
    from recon.noisy.verdicts import known_posterior

    return replace(found, posterior=known_posterior(release, limits))


def capped(release: EncodedRelease, answer: CountAnswer, limits: Limits, above: float = math.inf) -> CountAnswer:
    """Return a count whose upper bound exceeds neither `above` (log2), one tree alone, nor what there was before.

    Fewer worlds than one, proved, are none: the answer then is "unsat", with the statements that clash; at a confidence
    below 1 it is `EmptyConfidenceSet`.
    """
    statements = release.statements
    lower, upper = answer.bounds
    if answer.status == "bounds" and not answer.relative:
        upper = min(upper, log2_alone(statements, answer.convention, limits))
    if answer.status == "unsat" or (answer.status == "bounds" and upper == -math.inf):
        conflict = clash_of(statements, answer.conflict or known_conflict(statements, limits), limits)
        return replace(answer, status="unsat", bounds=(-math.inf, -math.inf), conflict=conflict)
    if answer.status != "bounds" or answer.relative:
        return answer
    upper = min(upper, above, log2_before(statements, answer.convention, limits))
    return replace(answer, bounds=(lower, max(lower, upper)))


def tied(ordered: CountAnswer, datasets: CountAnswer, rows: int | None) -> tuple[CountAnswer, CountAnswer]:
    """Return bounds on the worlds with an order of at most `rows` rows, and on those without one, each by the other.

    A dataset has at least one order and at most n!; where either is known to exist, neither is fewer than one.
    """
    if rows is None or ordered.convention != "ordered" or ordered.relative:
        return ordered, datasets
    orders = math.lgamma(rows + 1) / math.log(2) * (1.0 + 2.0**-50)
    (low, high), (least, most) = ordered.bounds, datasets.bounds
    if math.isfinite(max(low, least)):
        low, least = max(low, least, 0.0), max(least, low - orders, 0.0)
    high = min(high, most + orders)
    if ordered.status == "bounds":
        ordered = replace(ordered, bounds=(low, max(low, high)))
    if datasets.status == "bounds":
        datasets = replace(datasets, bounds=(least, max(least, most)))
    return ordered, datasets


def log2_alone(release: Release, convention: Convention, limits: Limits) -> float:
    """Return an upper bound of log2 of the datasets: what the most telling partition alone leaves, rounded up.

    Infinite where none has exact counts, minus infinity where one counts rows that cannot be. Cost: linear in the
    leaves; of partitions whose sizes take longer, and beyond MOST_LEAVES, only as many as there is time for.
    """
    found, leaves = math.inf, 0
    for one in alone(release) if release.rows.exact and len(release.blocks) > 1 else ():
        leaves += sum(map(len, one.partitions.values()))
        boxes = not release.impossible and not any(b.first_match for b in one.partitions.values())
        if limits.expired() and not (boxes and leaves <= MOST_LEAVES):
            break
        cells = cells_of(one, limits)
        bits = log2_worlds(cells.high, cells.block.low, convention)
        found = min(found, bits * (1.0 + 2.0**-50))
    return found


def log2_before(release: Release, convention: Convention, limits: Limits) -> float:
    """Return an upper bound of log2 of the datasets before the release: S^n, of multisets C(S + n - 1, n).

    With n open, the greatest n as often as there are numbers. Rounded up; infinite where n is unbounded.
    """
    low, n = release.rows.low, release.rows.high
    if n is None:
        return math.inf
    space = Space.of(release, limits)
    size = max(1, release.domain.size if space.found is None else space.found.upper[-1])
    found = log2_multisets(size, n) if convention == "multiset" and n <= MOST_STEPS else n * math.log2(size)
    found += math.log2(n - low + 1)
    return found * (1.0 + 2.0**-50)


def measured(release: EncodedRelease, chosen: Convention, answer: CountAnswer, limits: Limits) -> Measures:
    """Return the measures from the count; see `measure`."""
    if no_closed_form(release.statements) is not None or release.statements.loosened:
        from recon.measures.system import measure_coupled

        return measure_coupled(release, chosen, answer, limits)
    cells = cells_of(release.statements, limits)
    vectors = cells.vectors
    before = [uninformed(cells.space, known_rows(cells, v, chosen), chosen) for v in vectors]
    numbers = [int(v.sum()) for v in vectors]
    after = list(answer.log2_per_rows.values())
    exact, relative = answer.status == "exact", answer.relative
    spread = math.log2(len(vectors))
    entropy, prior = spread + mean(after), spread + mean(before)
    n = mean([float(v.sum()) for v in vectors])
    removed = (prior - entropy) / n if n and exact and not (relative and chosen == "multiset") else None
    known = exact and not relative
    return Measures(
        convention=chosen,
        status=answer.status,
        rows=int(vectors[0].sum()) if len(vectors) == 1 else None,
        entropy_bits=entropy if known else None,
        uninformed_bits=None if relative else prior,
        bits_removed_per_row=removed,
        dist_g=ratio(entropy, prior) if known else None,
        dist_g_mentioned=mentioned(cells, vectors, chosen, spread) if known else None,
        dist=dist(cells, vectors[0]) if known and chosen == "assigned" and len(vectors) == 1 else None,
        bits_due_to_order=order_bits(cells, vectors[0]) if exact and len(vectors) == 1 else None,
        determined_rows=determined(cells, vectors) if known else None,
        smallest_region=smallest(cells, vectors) if known else None,
        smallest_group=smallest_told(cells, vectors),
        exposure=exposure(release.cut, cells, vectors),
        counted=answer,
        assumptions=release.assumptions,
        datasets=None if relative else answer if chosen == "multiset" else datasets_of(cells),
        unordered_before=None if relative else unordered(cells.space, numbers),
    )


def mentioned(cells: Cells, vectors: list[NDArray[np.int64]], convention: Convention, spread: float) -> float | None:
    """Return Dist_G over the attributes that the release names: the others' factor taken out of every size."""
    factor = unnamed_factor(cells.release)
    sizes = [size // factor for size in cells.low]
    after = mean([log2_worlds(sizes, v, convention) for v in vectors])
    before = [uninformed(cells.space, known_rows(cells, v, convention), convention, factor) for v in vectors]
    return ratio(spread + after, spread + mean(before))


def dist(cells: Cells, counts: NDArray[np.int64]) -> float | None:
    """Return Dist (Def. 2): the mean over rows and attributes of H(cell | release) / H(attribute).

    None where some published row's cell is no product of attributes, or nothing was unknown. Attributes with one
    value stay out; the label counts as an attribute only for rows whose class was not published.
    """
    domain, terms, places = cells.release.domain, [], 0
    for s in np.flatnonzero(counts).tolist():
        if not cells.product(s):
            return None
        named, c, labelled = dict(cells.tight[s].literals), int(counts[s]), int(cells.block.label[s]) != ANY_LABEL
        for k, a in enumerate(domain.attributes):
            if a.total == 1 or (k == domain.label and labelled):
                continue
            places += c
            terms.append(c * math.log2(a.weight(named[k])) / math.log2(a.total) if k in named else float(c))
    return math.fsum(terms) / places if places else None


def order_bits(cells: Cells, counts: NDArray[np.int64]) -> float | None:
    """Return the bits that the order of a rule list removes, None for a tree."""
    if not cells.block.first_match:
        return None
    domain, bits = cells.release.domain, []
    for s in np.flatnonzero(counts).tolist():
        alone = cells.boxes[s].size(domain)
        if cells.release.impossible:
            from solvers.regions.captures import minus_size

            alone = minus_size(domain.part_sizes, cells.boxes[s], cells.release.impossible)[0]
        bits.append(int(counts[s]) * (math.log2(alone) - math.log2(cells.low[s])))
    return math.fsum(bits)


def determined(cells: Cells, vectors: list[NDArray[np.int64]]) -> int:
    """Return how many published rows have only one possible value in every attribute (in every world)."""
    alone = np.array([size == 1 for size in cells.low])
    return min(int(v[alone].sum()) for v in vectors)


def smallest(cells: Cells, vectors: list[NDArray[np.int64]]) -> int | None:
    """Return the fewest raw rows that a published row can be."""
    return min((cells.low[s] for v in vectors for s in np.flatnonzero(v).tolist()), default=None)


def smallest_told(cells: Cells, vectors: list[NDArray[np.int64]]) -> int | None:
    """Return the smallest positive count that is known: one that an open number of rows leaves open is none."""
    low, high = np.min(vectors, axis=0), np.max(vectors, axis=0)
    return min((int(c) for c in low[(low == high) & (low > 0)]), default=None)


def exposure(cut: CutDomain, cells: Cells, vectors: list[NDArray[np.int64]]) -> pd.DataFrame:
    """Return one line per leaf or rule and class, in file order, with what its rows give away.

    Columns: name; region (index); where (its own conditions in words); class (None: any); rows; worlds_per_row
    (raw rows that fit, Python integers; None where not exact); bits_left and bits_removed per row;
    entropy_reduction_ratio (bits left over bits before, per row: 0 = determined, 1 = nothing learnt);
    share_of_rows_at_most (of all published rows, the share whose ratio is at most this one). With the number of
    rows open, `rows` is the least count; `rows_most` is the greatest.
    """
    block, lines = cells.block, []
    least, most = np.min(vectors, axis=0), np.max(vectors, axis=0)
    for s in range(len(block)):
        label = int(block.label[s])
        size = cells.low[s] if cells.low[s] == cells.high[s] else None
        space = cells.space.labelled(label)
        left = math.log2(size) if size else None
        before = math.log2(space) if space else 0.0
        lines.append(
            {
                "name": block.names[int(block.region[s])],
                "region": int(block.region[s]),
                "where": condition_text(cut, block.boxes[int(block.region[s])]),
                "class": None if label == ANY_LABEL else block.labels[label],
                "rows": int(least[s]),
                "rows_most": int(most[s]),
                "worlds_per_row": size,
                "bits_left": left,
                "bits_removed": None if left is None else before - left,
                "entropy_reduction_ratio": None if left is None else (left / before if before else 1.0),
            }
        )
    return exposure_frame(lines)
