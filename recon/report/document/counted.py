"""The keys of the document that `recon count --json` prints too: the figures of one convention, and what is behind."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from recon.report.document.parts import Float

Loose = dict[str, Any]
Maybe = Float | None
Bounds = list[Maybe] | None


class Counted(Struct, kw_only=True):
    """Worlds, bits and figures, of which every number is also in words in `sections`; see `recon count --json`."""

    status: Annotated[
        str | None, Meta(description="How the audit ended: exact, bounds, unsat, empty, stored, unbounded.")
    ] = None
    read_from: Annotated[list[Loose], Meta(description="Models: name, format they were read from, counts.")] = []
    convention: Annotated[str | None, Meta(description="What counts as one training set.")] = None
    guarantee: Annotated[str | None, Meta(description="proved, or the confidence.")] = None
    worlds: Annotated[str | None, Meta(description="Possible training sets, a decimal string.")] = None
    log2_worlds: Annotated[Maybe, Meta(description="log2 of their number, where it is exact.")] = None
    log2_lower: Annotated[Maybe, Meta(description="Lower bound on it.")] = None
    log2_upper: Annotated[Maybe, Meta(description="Upper bound on it.")] = None
    per_rows: Annotated[Loose | None, Meta(description="log2 of it by number of rows, where that is open.")] = None
    prior_on_rows: Annotated[str | None, Meta(description="Prior over numbers of rows.")] = None
    datasets: Annotated[str | None, Meta(description="Training sets without the order of rows.")] = None
    log2_datasets: Annotated[Bounds, Meta(description="log2 of their number, least and most.")] = None
    rows: Annotated[int | None, Meta(description="Rows, null where their number is open.")] = None
    uninformed_bits: Annotated[Maybe, Meta(description="Bits before the release.")] = None
    entropy_bits: Annotated[Maybe, Meta(description="Bits left by it.")] = None
    bits_removed_per_row: Annotated[Maybe, Meta(description="Bits that it takes, per row.")] = None
    bits_removed_per_row_bounds: Annotated[Bounds, Meta(description="Bounds on them.")] = None
    dist_g: Annotated[Maybe, Meta(description="Dist_G: the share of bits left.")] = None
    dist_g_bounds: Annotated[Bounds, Meta(description="Bounds on Dist_G.")] = None
    dist_g_mentioned: Annotated[Maybe, Meta(description="Dist_G over the attributes that the models name.")] = None
    dist: Annotated[Maybe, Meta(description="Dist, of independent cells.")] = None
    bits_due_to_order: Annotated[Maybe, Meta(description="Bits due to the order of rules.")] = None
    bits_of_row_order: Annotated[Maybe, Meta(description="Of the bits left, those of the order of rows.")] = None
    bits_of_row_order_bounds: Annotated[Bounds, Meta(description="Bounds on them.")] = None
    figures: Annotated[str | None, Meta(description="exact, or bounds.")] = None
    why_bounds: Annotated[str | None, Meta(description="Why there are bounds only.")] = None
    determined_rows: Annotated[int | None, Meta(description="Rows that are the same in every world.")] = None
    smallest_region: Annotated[str | None, Meta(description="Fewest raw rows that fit a published row.")] = None
    smallest_group: Annotated[int | None, Meta(description="Rows of the smallest published group.")] = None
    regions: Annotated[list[Loose], Meta(description="One object per leaf or rule, in the file's order.")] = []
    confidence: Annotated[Maybe, Meta(description="Of noisy counts: that of all figures.")] = None
    improbability: Annotated[Maybe, Meta(description="Where nothing fits: a p-value of the noise.")] = None
    posterior_entropy_bits: Annotated[Maybe, Meta(description="Bits left under the prior.")] = None
    posterior_uninformed_bits: Annotated[Maybe, Meta(description="Bits before, under the prior.")] = None
    posterior_bits_removed_per_row: Annotated[Maybe, Meta(description="Bits taken per row, under the prior.")] = None
    posterior_prior: Annotated[str | None, Meta(description="The prior.")] = None
    posterior_remainder: Annotated[Maybe, Meta(description="Probability that was not summed.")] = None
    posterior_odds_factor: Annotated[Maybe, Meta(description="Factor by which odds of a row can move.")] = None
    conflict: Annotated[list[str], Meta(description="Statements that contradict each other.")] = []
    assumptions: Annotated[list[str], Meta(description="What all figures assume.")] = []
    engine: Annotated[str | None, Meta(description="The engine that answered.")] = None
    trail: Annotated[list[str], Meta(description="What each engine said.")] = []
    seconds: Annotated[Maybe, Meta(description="Seconds that the count took.")] = None
    release_sha256: Annotated[str | None, Meta(description="SHA-256 of the release.")] = None
