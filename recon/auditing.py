"""The audit: every question an officer asks of a release, asked once; formats nothing (see `recon.report`)."""

from __future__ import annotations

import pandas as pd

from encoders.encoder import EncodedRelease
from recon.certificates import all_of_it, contradiction_certificate
from recon.findings import Findings, GroupDisclosure
from recon.measures import Measures, measure
from recon.report import Report
from recon.statements import Json
from recon.truth import check_truth
from solvers.errors import Unsupported
from solvers.limits import Limits
from solvers.release import ANY_LABEL, Partition

SMALL_GROUP = 10  # published groups below this size are pointed out (the usual minimum cell count)


def audit(
    release: EncodedRelease,
    policy: None = None,
    *,
    convention: str | None = None,
    truth: pd.DataFrame | None = None,
    population: pd.DataFrame | None = None,
    limits: Limits | None = None,
    seed: int = 0,
) -> Report:
    """Return the report on a release: worlds, uncertainty left, exposure, group disclosure and, given it, the truth.

    `truth` are the real training rows, `population` other rows of the same kind (for the fresh-sample baseline).
    Raises what `count` raises. A `policy` is refused by this version.
    """
    if policy is not None:
        raise Unsupported("policies are not read by this version")
    limits = limits or Limits()
    first = measure(release, convention, limits)
    checked = None if truth is None else check_truth(release, truth, population, first, seed, limits)
    return Report(Findings(release, first, group_disclosure(release), checked, certificate_of(release, first, limits)))


def certificate_of(release: EncodedRelease, found: Measures, limits: Limits) -> Json | None:
    """Return the certificate that there is no possible world, or only one; None for neither."""
    if found.status == "unsat":
        return contradiction_certificate(release, limits)
    if not release.certain:
        return None  # at a confidence below 1 nothing is certified
    datasets = found.counted if found.datasets is None else found.datasets
    alone = datasets.log2 == 0.0 and datasets.convention != "ordered"
    return all_of_it(release, limits) if alone else None


def group_disclosure(release: EncodedRelease) -> GroupDisclosure:
    """Return pure regions, zero cells and the smallest groups of a release's partitions.

    Of noisy counts the least that the intervals leave: pure and empty hold at the release's confidence.
    """
    pure: list[tuple[str, str, int]] = []
    zeros: list[tuple[str, str]] = []
    totals: list[tuple[str, int]] = []
    several = len(release.statements.blocks) > 1
    for block in release.statements.blocks:
        if not isinstance(block, Partition):
            continue
        for j, statements in block.by_region.items():
            cells = [(int(block.label[s]), int(block.low[s])) for s in statements]
            empty = [label for (label, _), s in zip(cells, statements, strict=True) if not block.high[s]]
            name = f"{block.kind}, {block.names[j]}" if several else block.names[j]
            filled = [(label, c) for label, c in cells if c]
            totals.append((name, sum(c for _, c in cells)))
            if cells[0][0] == ANY_LABEL or (not filled and len(empty) == len(cells)):
                continue
            zeros += [(name, block.labels[label]) for label in empty]
            if len(filled) == 1 and len(empty) == len(cells) - 1 > 0:
                pure.append((name, block.labels[filled[0][0]], filled[0][1]))
    occupied = [(name, n) for name, n in totals if n]
    small = sorted((pair for pair in occupied if pair[1] < SMALL_GROUP), key=lambda pair: pair[1])
    return GroupDisclosure(
        tuple(pure),
        tuple(zeros),
        tuple(small),
        min((n for _, n in occupied), default=None),
        sum(n for _, _, n in pure),
    )
