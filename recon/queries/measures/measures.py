"""How much uncertainty a release leaves: joint entropy, Dist, Dist_G, bits removed, exposure per leaf or rule.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, Def. 2
(eq. 1), Def. 4 (eq. 2-3), eq. 9, 11, 16. The worlds of a convention are taken as equally likely, so the joint
entropy is log2 of their number.

Bits left where rows have an adversary's prior: entropy is -sum P log P, not the log of a number of worlds.

With whole weights per value the `ordered` count is W, the sum over data sets of the product of their rows' weights, so
that a data set has probability (product of its weights) / W and H = log2 W - E[log2 of that product]. The second term
is linear in how many rows are expected to have each value. Before the release rows are independent, each with the
entropy of one row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.models.adversary import WeighedBox
from encoders.parts.base import CutDomain
from recon.queries.answers.counting import as_subsets, convention_of, count, decide, known_attributes
from recon.queries.measures.attribute_bits import without_bits_left, without_shares
from recon.queries.measures.figures import Measures, empty, exposure_frame
from recon.readers.frames.describe import condition_text
from recon.readers.loading.loading import Released
from recon.readers.loading.settled import asked_release
from solvers.engines.chain import no_closed_form
from solvers.engines.figures.partition import PartitionFigures, log2_alone, log2_before, mean, ratio, row_bits
from solvers.foundation.exact import log2_product
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer
from solvers.statements.questions.query import Convention, Selections

if TYPE_CHECKING:
    import pandas as pd

    from recon.readers.loading.adversary import Knows


def measure(
    release: Released,
    convention: str | None = None,
    limits: Limits | None = None,
    counted: CountAnswer | None = None,
    adversary: Knows | None = None,
) -> Measures:
    """Return the measures of a release; `counted` is a count already at hand.

    `convention`, `adversary`: see `count`.
    Cost: that of `count`, and linear in leaves, rules or cells. Raises what `count` raises.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.measure(release)
    <Measures: Dist_G 0.25, 4 worlds, exact (assigned), 4 rows>
    """
    release = asked_release(release, adversary, limits)
    chosen = convention_of(release, convention)
    limits = limits or Limits()
    answer = _capped(release, counted or count(release, chosen, limits), limits)
    if answer.status == "unsat":
        return empty(release, chosen, answer)
    found = _measures_from_count(release, chosen, answer, limits)
    if release.domain.continuous:
        found = without_shares(found) if release.cut.unsized else without_bits_left(found)
    if found.datasets is not None:  # datasets are no more than their orders
        datasets = _capped(release, found.datasets, limits, answer.bounds[1])
        if datasets.status == "unsat":
            return empty(release, chosen, replace(datasets, convention=chosen))
        answer, datasets = _mutual_bounds(answer, datasets, release.rows.high)
        found = replace(found, counted=answer, datasets=datasets)
    found = _of_subsets(release, _weighed(release, found, limits))
    if not release.noisy:
        return found
    from recon.queries.noisy.verdicts import known_posterior

    return replace(found, posterior=known_posterior(release, limits))


def _capped(release: EncodedRelease, answer: CountAnswer, limits: Limits, above: float = math.inf) -> CountAnswer:
    """Return a count whose upper bound exceeds neither `above` (log2), one tree alone, nor what there was before.

    Fewer worlds than one, proved, are none: the answer then is "unsat", with the statements that clash; at a confidence
    below 1 it is `EmptyConfidenceSet`.
    """
    statements = release.statements
    lower, upper = answer.bounds
    if answer.status == "bounds" and not answer.relative:
        upper = min(upper, log2_alone(statements, answer.convention, limits))
    if answer.status == "unsat" or (answer.status == "bounds" and upper == -math.inf):
        from solvers.noisy.likelihood.most_likely import clash_of, known_conflict

        conflict = clash_of(statements, answer.conflict or known_conflict(statements, limits), limits)
        return replace(answer, status="unsat", bounds=(-math.inf, -math.inf), conflict=conflict)
    if answer.status != "bounds" or answer.relative:
        return answer
    upper = min(upper, above, log2_before(statements, answer.convention, limits))
    return replace(answer, bounds=(lower, max(lower, upper)))


def _mutual_bounds(ordered: CountAnswer, datasets: CountAnswer, rows: int | None) -> tuple[CountAnswer, CountAnswer]:
    """Return bounds on the worlds with an order of at most `rows` rows, and on those without one, each by the other.

    A dataset has at least one order and at most n!; where either is known to exist, neither is fewer than one.
    """
    if rows is None or ordered.convention != "ordered" or ordered.relative:
        return ordered, datasets
    orders = math.lgamma(rows + 1) / math.log(2) * (1.0 + 2.0**-50)
    (low, high), (minimum, maximum) = ordered.bounds, datasets.bounds
    if math.isfinite(max(low, minimum)):
        low, minimum = max(low, minimum, 0.0), max(minimum, low - orders, 0.0)
    high = min(high, maximum + orders)
    if ordered.status == "bounds":
        ordered = replace(ordered, bounds=(low, max(low, high)))
    if datasets.status == "bounds":
        datasets = replace(datasets, bounds=(minimum, max(minimum, maximum)))
    return ordered, datasets


def _measures_from_count(release: EncodedRelease, chosen: Convention, answer: CountAnswer, limits: Limits) -> Measures:
    """Return the measures from the count; see `measure`."""
    if no_closed_form(release.statements) is not None or release.statements.unstated:
        from recon.queries.measures.figures import measure_coupled

        return measure_coupled(release, chosen, answer, limits)
    cells = PartitionFigures.of(release.statements, limits)
    vectors = cells.vectors
    after = list(answer.log2_per_rows.values())
    exact, relative = answer.status == "exact", answer.relative
    spread = math.log2(len(vectors))
    entropy, prior = spread + mean(after), spread + cells.uninformed(chosen)
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
        dist_g_mentioned=cells.mentioned(chosen, spread) if known else None,
        dist=cells.dist(chosen) if known and len(vectors) == 1 else None,
        bits_due_to_order=cells.order_bits() if exact and len(vectors) == 1 else None,
        determined_rows=cells.determined() if known else None,
        smallest_region=cells.smallest_region() if known else None,
        smallest_group=cells.smallest_group(),
        exposures=partial(exposure, release.cut, cells),
        counted=answer,
        assumptions=release.assumptions,
        datasets=None if relative else answer if chosen == "multiset" else cells.datasets(),
        unordered_before=None if relative else cells.unordered(),
    )


def exposure(cut: CutDomain, cells: PartitionFigures) -> pd.DataFrame:
    """Return one line per leaf or rule and class, in file order, with what its rows give away.

    Columns: name; region (index); where (its own conditions in words); class (None: any); rows; worlds_per_row
    (raw rows that fit, Python integers; None where not exact); bits_left and bits_removed per row;
    entropy_reduction_ratio (bits left over bits before, per row: 0 = determined, 1 = nothing learnt);
    share_of_rows_at_most (of all published rows, the share whose ratio is at most this one). With the number of
    rows open, `rows` is the least count; `rows_most` is the greatest.
    """
    lines = []
    for cell in map(cells.cell, range(len(cells.sizes))):
        left, before = cell.bits_left, cell.bits_before
        lines.append(
            {
                "name": cell.name,
                "region": cell.region,
                "where": condition_text(cut, cell.box),
                "class": cells.label_text(cell.label),
                "rows": cell.minimum,
                "rows_most": cell.maximum,
                "worlds_per_row": cell.size,
                "bits_left": left,
                "bits_removed": None if left is None else before - left,
                "entropy_reduction_ratio": None if left is None else (left / before if before else 1.0),
            }
        )
    return exposure_frame(lines)


def _weighed(release: EncodedRelease, found: Measures, limits: Limits) -> Measures:
    """Return the measures of a release beside a prior; figures that count worlds are None.

    The entropy is None where the weight of all worlds is not exact, or the number of rows is open. Cost: one question
    per value that has a weight.
    """
    known = release.knowledge
    if known is None or not known.weighed or found.status == "unsat":
        return found
    weights = known.weights
    parts = [(k, p, w) for k in sorted(weights) for p, w in enumerate(release.cut.cuts[k].weights or ()) if w > 1]
    logs = np.array([*(math.log2(w) for _, _, w in parts), *(math.log2(b.inside / b.outside) for b in known.boxes)])
    rows, entropy, before = found.rows, None, None
    asked = decide(release, _selections(release, parts, known.boxes), "ordered", limits)
    outside = sum(math.log2(box.outside) for box in known.boxes) * (rows or 0)
    if rows is not None and rows and np.isfinite(asked.expected_before).all():
        before = rows * row_bits(release.statements, limits) - float(asked.expected_before @ logs) - outside
    if rows is not None and found.status == "exact" and found.counted.log2 is not None:
        finite = bool(np.isfinite(asked.expected).all())
        entropy = max(0.0, found.counted.log2 - float(asked.expected @ logs) - outside) if finite else None
    removed = None if entropy is None or before is None or not rows else (before - entropy) / rows
    return replace(
        found, entropy_bits=entropy, uninformed_bits=before, bits_removed_per_row=removed,
        dist_g=None if entropy is None or not before else entropy / before, dist_g_mentioned=None, dist=None,
        bits_due_to_order=None, determined_rows=None, smallest_region=None, datasets=None, unordered_before=None,
        counted=replace(found.counted, guarantee="the weight of all worlds under the adversary's prior"),
    )  # fmt: skip


def _of_subsets(release: EncodedRelease, found: Measures) -> Measures:
    """Return the measures of a release beside a list of people, in the convention `population`.

    Before the release any n of the N people were in the data, each with any values that the list leaves open.
    """
    knowledge = release.knowledge
    if knowledge is None or knowledge.people is None or found.status == "unsat" or found.convention != "ordered":
        return found
    counted, typed, before = as_subsets(release, found.counted), release.typed, None
    assert typed is not None
    data, people = typed.of_dataset(knowledge.data), len(knowledge.people.codes)
    if data.exact and not release.statements.impossible:
        known = known_attributes(release, knowledge.people)
        free = [a.total for k, a in enumerate(release.statements.domain.attributes) if k not in known]
        at = typed.attribute
        free.pop(at - len([k for k in known if k is not None and k < at]))  # in or not is what is asked
        before = log2_product([(math.comb(people, data.low), 1), (math.prod(free), people)])
    entropy = counted.log2
    removed = None if entropy is None or before is None or not data.low else (before - entropy) / data.low
    return replace(
        found, convention="population", counted=counted, rows=data.low if data.exact else None,
        entropy_bits=entropy, uninformed_bits=before, bits_removed_per_row=removed,
        dist_g=None if entropy is None or not before else entropy / before, dist_g_mentioned=None, dist=None,
        bits_due_to_order=None, determined_rows=None, smallest_region=None, datasets=None, unordered_before=None,
    )  # fmt: skip


def _selections(release: EncodedRelease, parts: list[tuple[int, int, int]], boxes: Sequence[WeighedBox]) -> Selections:
    """Return one selection per part of an attribute (the rows that have a value of it), then one per box."""
    tables: list[list[tuple[int, ...]]] = [[cuts.sizes] for cuts in release.cut.cuts]
    literals = [[(k, 1 << p)] for k, p, _ in parts]
    literals += [list(release.cut.box(release.domain.resolve(box.condition)).literals) for box in boxes]
    codes = np.zeros((len(literals), len(tables)), dtype=np.int32)
    for i, some in enumerate(literals):
        for k, mask in some:
            one = tuple(size if mask >> q & 1 else 0 for q, size in enumerate(release.cut.cuts[k].sizes))
            if one not in tables[k]:
                tables[k].append(one)
            codes[i, k] = tables[k].index(one)
    return Selections(codes, tuple(map(tuple, tables)))
