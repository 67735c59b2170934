"""The audit: every question an officer asks of a release, asked once; formats nothing (see `recon.report.report`)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import Table
from recon.io.files.budget import current
from recon.queries.answers.counting import count
from recon.queries.bounds.disclosure import disclosed_values, numeric_target, tells
from recon.queries.bounds.intervals import IntervalCells, interval_cells
from recon.queries.certificates.certificate_format import Json
from recon.queries.certificates.issuing import all_of_it, contradiction_certificate
from recon.queries.leaf_values.determined import Determined
from recon.queries.leaf_values.remedies import Line, Remedy, remedied
from recon.queries.located.placed_rows import PlacedRows
from recon.queries.located.positions import placed, unlocated
from recon.queries.measures.figures import Measures
from recon.queries.measures.sweeping import exact_counts, removed_per_row
from recon.queries.measures.system import groups_left_out
from recon.queries.noisy.posterior import posterior, single
from recon.queries.noisy.verdicts import known_posterior
from recon.readers.inspection.inspecting import Inspection, inspect
from recon.readers.loading.attaching import emptied
from recon.readers.loading.settled import as_released
from recon.release.auditing.determined_rows import beside_truth
from recon.release.auditing.findings import Bought, BoughtWorlds, Emptiness, GroupDisclosure, GroupSize
from recon.release.auditing.spreading import AuditContext
from solvers.engines.figures.partition import PartitionFigures
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.exact import log2_worlds
from solvers.foundation.limits import Limits
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Partition

SMALL_GROUP = 10  # published groups below this size are pointed out (the usual minimum cell count)


def emptiness(release: EncodedRelease, found: EmptyConfidenceSet, limits: Limits) -> Emptiness:
    """Return what can be said where no dataset fits at the release's confidence: a proof, and the posterior."""
    proof = contradiction_certificate(release, limits)
    return Emptiness(release, found, proof, known_posterior(release, limits.stage("posterior")))


def stored_outright(release: EncodedRelease, limits: Limits) -> tuple[Inspection, ...]:
    """Return what the model files that a release was read from store of the training data, without any attack.

    What cannot be inspected (standard input was used up, a file is another one by now) is said in place of findings.
    """
    written = all(model.origin is None or not model.origin.format for model in release.models)  # release files
    found = []
    for file in release.files:
        try:
            if file == "-":
                raise Unsupported("standard input can be read once: save it and run recon inspect")
            with current().lent():  # the file was read before, and what it took then is gone
                found.append(inspect(file, limits.memory))
        except (ReleaseError, Unsupported, Inconclusive) as error:
            found.append(Inspection(file, f"not inspected: {error}", "", None, ()))
    if written:  # all that they say is in statements, but for texts that are no names
        odd = [replace(one, findings=tuple(f for f in one.findings if f.level == "unknown")) for one in found]
        return tuple(one for one in odd if one.findings)
    hashes = [one.sha256 for one in found]
    if release.sha256 and all(hashes) and release.sha256 != _sha256_of(hashes):
        files = "the file has" if len(found) == 1 else "some of the files have"
        changed = f"not inspected: {files} changed since the release was read; run the audit again"
        return tuple(Inspection(one.file, changed, "", None, ()) for one in found)
    return tuple(found)


def _sha256_of(hashes: Sequence[str]) -> str:
    """Return the hash by which a release names its files: that of its one file, else the hash of their hashes."""
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def by_position(release: EncodedRelease, limits: Limits) -> PlacedRows | None:
    """Return what is proved about the row at every position; None where rows have none, or nothing is found in time.

    Raises `ContradictionError` where there is no world.
    """
    if unlocated(release):
        return None
    some = limits.stage("rows by position")
    try:
        return placed(release, limits=some)
    except (Inconclusive, Unsupported):
        return None


def what_noise_bought(noisy: EncodedRelease, exact: EncodedRelease, limits: Limits) -> Bought | BoughtWorlds:
    """Return a noisy release beside the same one without noise; `Unsupported` where they are not the same otherwise.

    One tree or rule list is compared by its posterior, other releases by the worlds that are left.
    """
    if not noisy.noisy or exact.noisy:
        raise Unsupported("what noise bought needs a noisy release, and the same one without noise")
    if not single(noisy):
        if noisy.domain.all != exact.domain.all or _shapes(noisy) != _shapes(exact):
            raise Unsupported("the release without noise has other regions or classes than the noisy one")
        left = [count(one, "ordered", limits).bounds for one in (noisy, exact)]
        return BoughtWorlds(noisy.confidence, *left)
    block, truth = exact_counts(exact)
    found = posterior(noisy, limits=limits)
    sources = [block.source(s) for s in range(len(block))]
    if sources != found.counts["source"].tolist() or exact.domain.all != noisy.domain.all:
        raise Unsupported("the release without noise has other regions or classes than the noisy one")
    sizes = list(PartitionFigures.of(exact.statements, limits).sizes)
    lefts = found.entropy_bits, log2_worlds(sizes, truth, "ordered"), found.uninformed_bits
    with_it, without, alone = (removed_per_row(exact, left, limits) for left in lefts)
    likely = float(np.abs(found.counts["likely"].to_numpy() - truth).sum()) / 2
    return Bought(found.prior, with_it, without, alone, found.distance(truth), likely)


def _shapes(release: EncodedRelease) -> list[Any]:
    """Return what the models test and where, whatever they count."""
    return [
        [f.condition for f in m.statements] if isinstance(m, Table) else replace(emptied(m), name="")
        for m in release.models
    ]


def certificate_wanted(release: EncodedRelease, found: Measures) -> str | None:
    """Return which certificate may be there: of "none" (no possible world), of "one" (no other), None for neither."""
    if found.status == "unsat":
        return "none"
    if not release.certain:
        return None  # at a confidence below 1 nothing is certified
    datasets = found.counted if found.datasets is None else found.datasets
    return "one" if datasets.log2 == 0.0 and datasets.convention != "ordered" else None


def certified(asked: AuditContext, worlds: str | None, limits: Limits) -> Json | None:
    """Return the certificate that is wanted; None where it was not proved."""
    if worlds == "none":
        return contradiction_certificate(asked.release.at_confidence(1), limits)
    return all_of_it(asked.release, limits) if worlds == "one" else None


def grouped(asked: AuditContext, _: None, limits: Limits) -> GroupDisclosure:
    """Return what figures give away of groups: as published where leaf values fail, or add cells nobody published."""
    release = asked.release
    return group_disclosure(as_released(release) if release.statements.settled is not None else release)


def feasible(asked: AuditContext, _: None, limits: Limits) -> IntervalCells:
    """Return the cells that were suppressed or published as intervals, and what is left of them."""
    return interval_cells(asked.release, limits)


def otherwise(asked: AuditContext, remedy: Remedy, limits: Limits) -> Line:
    """Return what boosted models give back published otherwise: one line."""
    return remedied(asked.release, remedy, limits)


def true_beside(asked: AuditContext, found: Determined, limits: Limits) -> Mapping[str, Any]:
    """Return the true rows beside what leaf values determine."""
    assert asked.truth is not None
    return beside_truth(asked.release, found, asked.truth, asked.population, asked.seed)


def group_disclosure(release: EncodedRelease) -> GroupDisclosure:
    """Return pure regions, zero cells, the smallest groups and the values that a release's figures give away.

    Of noisy counts the least that the intervals leave: pure and empty hold at the release's confidence. Counts of
    resamples are left out where they leave the number of training rows open.
    """
    pure: list[tuple[str, str, int, int]] = []
    zeros: list[tuple[str, str]] = []
    totals: list[tuple[str, int, int]] = []
    sizes: list[GroupSize] = []
    everybody = UNBOUNDED if release.rows.high is None else release.rows.high
    rows_in_pure = []
    several = len(release.statements.blocks) > 1
    telling = {k: b for k, b in release.statements.partitions.items() if tells(b) or release.noisy}
    counted = list(telling.values())
    for key, block in telling.items():
        before = len(pure)
        for j, statements in block.by_region.items():
            cells = [(int(block.label[s]), int(block.low[s])) for s in statements]
            empty = [label for (label, _), s in zip(cells, statements, strict=True) if not block.high[s]]
            name = f"{block.kind}, {block.names[j]}" if several else block.names[j]
            filled = [(label, c) for label, c in cells if c]
            minimum, maximum = sum(c for _, c in cells), min(everybody, sum(int(block.high[s]) for s in statements))
            totals.append((name, minimum, max(minimum, maximum)))
            sizes.append((minimum, max(minimum, maximum), name, key, j))
            if cells[0][0] == ANY_LABEL or (not filled and len(empty) == len(cells)):
                continue
            zeros += [(name, block.labels[label]) for label in empty]
            if len(filled) == 1 and len(empty) == len(cells) - 1 > 0:
                pure.append((name, block.labels[filled[0][0]], minimum, max(minimum, maximum)))
        rows_in_pure.append(sum(n for _, _, n, _ in pure[before:]))
    occupied = sorted((one for one in totals if one[1]), key=lambda one: one[1:])
    open_ones = (one for one in totals if one[1] < SMALL_GROUP <= one[2] or (not one[1] and one[2]))
    return GroupDisclosure(
        tuple(pure),
        tuple(zeros),
        tuple(one for one in occupied if one[2] < SMALL_GROUP),
        min((minimum for _, minimum, maximum in occupied if minimum == maximum), default=None),
        max(rows_in_pure, default=0),
        sum(rows_in_pure),
        len(counted),
        _no_classes(release, counted),
        disclosed_values(release),
        tuple(sorted(open_ones, key=lambda one: one[1:])),
        _small_cells(counted, several),
        tuple(sorted((one for one in sizes if one[1]), key=lambda one: one[:2])),
        _filled_cells(counted, several),
    )


def _small_cells(counted: list[Partition], several: bool) -> tuple[tuple[str, str, int], ...]:
    """Return the exact counts of one class below SMALL_GROUP rows in groups that have more, the fewest rows first."""
    out = []
    for block in counted:
        for j, statements in block.by_region.items():
            cells = [(int(block.label[s]), int(block.low[s]), int(block.high[s])) for s in statements]
            if sum(low for _, low, _ in cells) < SMALL_GROUP:
                continue
            name = f"{block.kind}, {block.names[j]}" if several else block.names[j]
            small = [(k, low) for k, low, high in cells if 0 < low == high < SMALL_GROUP and k != ANY_LABEL]
            out += [(name, block.labels[k], low) for k, low in small]
    return tuple(sorted(out, key=lambda one: one[2]))


def _filled_cells(counted: list[Partition], several: bool) -> tuple[tuple[int, int, str, str], ...]:
    """Return the least and most rows of every class in a group, its name and the class; those surely empty not."""
    out = []
    for block in counted:
        names = [f"{block.kind}, {name}" for name in block.names] if several else block.names
        at = np.flatnonzero((block.label != ANY_LABEL) & (block.high > 0))
        figures = (block.low[at], block.high[at], block.region[at], block.label[at])
        for low, high, j, k in zip(*(column.tolist() for column in figures), strict=True):
            out.append((low, high, names[j], block.labels[k]))
    return tuple(sorted(out, key=lambda one: one[:2]))


def _no_classes(release: EncodedRelease, counted: list[Partition]) -> str:
    """Return why partitions say nothing of classes; "" where some counts rows per class."""
    if not counted:
        return groups_left_out(release)[1]
    if any((block.label != ANY_LABEL).any() for block in counted):
        return ""
    if release.domain.label is None:
        return "the domain has no label"
    return "the target is a number" if numeric_target(release) else "the counts are not per class"
