"""What reports say of noisy counts: the level of their figures, and the posterior with its prior.

What `recon count --json` prints: the count, the measures, every leaf or rule.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import EncodedRelease
from recon.io.files.writing import seconds_said
from recon.queries.answers.undecided import plain_reasons
from recon.queries.certificates.certificate_format import certified_lines
from recon.queries.measures.figures import Measures
from recon.readers.formats.drafts.suggesting import not_assessed_json
from recon.release.auditing.findings import Emptiness, NoiseEffect, NoiseWorldsEffect
from recon.report.rendering import DIGITS
from recon.report.wording.headline import assumption_lines, finite, order_json, worlds_text
from solvers.foundation.exact import complement_text, decimal, level_text

if TYPE_CHECKING:
    from recon.queries.noisy.posterior import Posterior


def _noise_json(release: EncodedRelease, measures: Measures) -> dict[str, Any]:
    """Return what noise adds to JSON results, nothing for exact counts."""
    if not release.noisy:
        return {}
    out: dict[str, Any] = {"confidence": release.confidence, "posterior_entropy_bits": None}
    return out if measures.posterior is None else out | posterior_json(measures.posterior)


def posterior_json(found: Posterior) -> dict[str, Any]:
    """Return the figures of a posterior."""
    return {
        "posterior_entropy_bits": found.entropy_bits,
        "posterior_uninformed_bits": found.uninformed_bits,
        "posterior_bits_removed_per_row": found.bits_removed_per_row,
        "posterior_prior": f"{found.prior}: {found.prior_text}",
        "posterior_remainder": found.remainder,
        "posterior_odds_factor": found.odds_factor,
    }


def posterior_lines(found: Posterior) -> list[str]:
    """Return the figures of a posterior for people."""
    per_row = found.bits_removed_per_row
    removed = "" if per_row is None else f", {per_row:,.4f} bits removed per row"
    lines = [
        f"posterior uncertainty: {found.entropy_bits:,.1f} of {found.uninformed_bits:,.1f} bits{removed}"
        f"   [prior {found.prior}: {found.prior_text}]"
    ]
    if found.bits_removed < 0:
        lines.append("more is open than before: the counts put rows into larger regions than the prior expected")
    if found.odds_factor is None:
        return [*lines, "this noise gives no finite factor for the odds of a named row"]
    moved = f"{found.odds_factor:,.4g}"
    text = f"if rows are independent, the odds of a named row being x against y move by a factor {moved} at most"
    return [*lines, f"{text}, by these counts alone (not by how the regions were chosen)"]


def noise_effect_json(found: NoiseEffect | NoiseWorldsEffect) -> dict[str, Any]:
    """Return what the noise bought; a count of worlds that has no bound is null."""
    if isinstance(found, NoiseEffect):
        return asdict(found)
    ends = {"noisy": found.noisy, "exact": found.exact}
    bits = {f"bits_left_{name}": [x if math.isfinite(x) else None for x in pair] for name, pair in ends.items()}
    return {"confidence": found.confidence, "convention": "ordered", **bits}


def _between(ends: tuple[float, float]) -> str:
    """Return bits, or bounds on them, in words."""
    low, high = ends
    if math.isinf(low):
        return f"at most {high:,.1f}"
    return f"{low:,.1f}" if high - low < 0.05 else f"{low:,.1f} to {high:,.1f}"


def _bought_line(found: NoiseEffect | NoiseWorldsEffect) -> str:
    """Return what the noise bought, one line."""
    if isinstance(found, NoiseWorldsEffect):
        left = f"{_between(found.noisy)} bits left at confidence {level_text(found.confidence)}"
        return (
            f"what the noise protects: {left} instead of {_between(found.exact)} (log2 of the datasets, rows in order)"
        )
    return (
        f"what the noise protects: {found.noisy:,.4f} bits removed per row instead of {found.exact:,.4f}, rows in "
        "order "
        f"(prior {found.prior}, which alone takes {found.prior_alone:,.4f}); rows to change from the exact counts: "
        f"{found.likely:,.0f} to the most likely ones, "
        f"{found.typical:,.1f} on average"
    )


def noise_lines(
    release: EncodedRelease, measures: Measures, bought: NoiseEffect | NoiseWorldsEffect | None = None
) -> list[str]:
    """Return what noisy counts still say; nothing for exact counts."""
    if not release.noisy:
        return []
    from recon.queries.noisy.posterior import why_none

    level = (
        "whatever the noise, which is bounded" if release.certain else f"at confidence {level_text(release.confidence)}"
    )
    lines = [f"the counts carry noise: figures on training sets that agree with them hold {level}"]
    if measures.posterior is None:
        lines.append(f"no posterior: {why_none(release) or 'not within the limits'}")
    else:
        lines += posterior_lines(measures.posterior)
    return lines if bought is None else [*lines, _bought_line(bought)]


def empty_json(found: Emptiness) -> dict[str, Any]:
    """Return the object that stands in place of a count where no dataset fits at the confidence."""
    out: dict[str, Any] = {
        "status": "empty",
        "confidence": found.release.confidence,
        "conflict": list(found.found.clashing),
        "improbability": found.found.improbability,
        "posterior_entropy_bits": None,
    }
    out |= posterior_json(found.posterior) if found.posterior is not None else {}
    out |= {"certificate": found.certificate} if found.certificate is not None else {}
    return out | {"assumptions": list(found.release.assumptions), "release_sha256": found.release.sha256 or None}


def empty_sections(found: Emptiness) -> list[tuple[str, list[str]]]:
    """Return the sections of a report on a release that no dataset fits at the confidence."""
    level, improbable = found.release.confidence, found.found.improbability
    lines = ["these cannot all hold:"] if found.found.clashing else []
    lines += [f"  {source}" for source in found.found.clashing]
    if improbable is None:
        lines.append("from which confidence on there is one was not found within the limits")
    else:
        lines.append(
            f"beyond confidence {complement_text(improbable)} there is one: noise of the stated law gives counts that "
            f"fit every dataset as badly with probability {improbable:.3g} at most"
        )
    lines += certified_lines(found.certificate)
    notes = [] if found.posterior is None else posterior_lines(found.posterior)
    return [
        (f"No dataset has all its noise inside the joint intervals at confidence {level_text(level)}", lines),
        *([("What the noise leaves", notes)] if notes else []),
        ("This assumes", assumption_lines(found.release)),
    ]


def _interval_json(ends: tuple[float, float] | None) -> list[float | None] | None:
    """Return the least and greatest value a figure can have, None where nothing is known of it."""
    return None if ends is None else [finite(x) for x in ends]


def count_json(release: EncodedRelease, measures: Measures, digits: int = DIGITS) -> dict[str, Any]:
    """Return the object that `recon count --json` prints (docs/commands.md, "What `recon count --json` prints")."""
    answer = measures.counted
    lower, upper = (None, None) if answer.status == "unsat" or answer.relative else answer.bounds
    out: dict[str, Any] = {
        "convention": measures.convention,
        "status": answer.status,
        "guarantee": answer.guarantee,
        "worlds": worlds_text(answer, digits),
        "log2_worlds": finite(answer.log2) if answer.status == "exact" else None,
        "log2_lower": finite(lower),
        "log2_upper": finite(upper),
        "rows": measures.rows,
        "uninformed_bits": finite(measures.uninformed_bits),
        "entropy_bits": finite(measures.entropy_bits),
        "bits_removed_per_row": finite(measures.bits_removed_per_row),
        "bits_removed_per_row_bounds": _interval_json(measures.removed_bounds),
        "dist_g": finite(measures.dist_g),
        "dist_g_bounds": _interval_json(measures.dist_g_bounds),
        "dist_g_mentioned": finite(measures.dist_g_mentioned),
        "dist": finite(measures.dist),
        "bits_due_to_order": finite(measures.bits_due_to_order),
        **order_json(measures),
        "not_assessed": not_assessed_json(release),
        "figures": measures.figures,
        "determined_rows": measures.determined_rows,
        "smallest_region": None if measures.smallest_region is None else decimal(measures.smallest_region),
        "smallest_group": measures.smallest_group,
        "regions": _regions_json(measures),
        "assumptions": list(release.assumptions),
        "engine": answer.engine,
        "seconds": seconds_said(answer.seconds, 6),
        "trail": list(answer.trail),
    }
    if answer.status == "bounds":
        out["why_bounds"] = plain_reasons(answer.trail)
    out |= _noise_json(release, measures)
    if len(answer.log2_per_rows) > 1:
        out["per_rows"] = {str(n): finite(x) for n, x in answer.log2_per_rows.items()}
        out["prior_on_rows"] = "uniform"
    if measures.datasets is not None:
        out["datasets"] = worlds_text(measures.datasets, digits)
        out["log2_datasets"] = [finite(x) for x in measures.datasets.bounds]
    if answer.status == "unsat":
        out["conflict"] = list(answer.conflict)
    if release.sha256:
        out["release_sha256"] = release.sha256
    return out


def _regions_json(measures: Measures) -> list[dict[str, Any]]:
    """Return one object per leaf or rule in file order: name, rows, worlds_per_row (a decimal string).

    `rows_most` is more than `rows` where the number of rows leaves the count open; the classes have the least.
    Empty where the release is not one partition.
    """
    out: list[dict[str, Any]] = []
    if measures.of_cells:
        return out
    for line in measures.exposure.to_dict("records"):
        same = bool(out) and out[-1]["region"] == line["region"]
        if same:
            out[-1]["rows"] += line["rows"]
            out[-1]["rows_most"] += line["rows_most"]
            out[-1]["classes"].append([line["class"], line["rows"]])
            continue
        size = line["worlds_per_row"]
        out.append(
            {
                "name": line["name"],
                "region": line["region"],
                "where": line["where"],
                "rows": line["rows"],
                "rows_most": line["rows_most"],
                "worlds_per_row": None if size is None else decimal(size),
                "classes": [] if line["class"] is None else [[line["class"], line["rows"]]],
                "bits_removed": finite(line["bits_removed"]),
                "entropy_reduction_ratio": finite(line["entropy_reduction_ratio"]),
                "share_of_rows_at_most": finite(line["share_of_rows_at_most"]),
            }
        )
    return out
