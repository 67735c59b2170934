"""What `recon count --json` prints: the count, the measures, every leaf or rule."""

from __future__ import annotations

from typing import Any

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.reasons import plain_reasons
from recon.queries.measures.figures import Measures
from recon.readers.formats.drafts.suggesting import not_assessed_json
from recon.report.rendering import DIGITS
from recon.report.wording.headline import finite, order_json, worlds_text
from recon.report.wording.noise_report import noise_json
from solvers.foundation.exact import decimal


def interval_json(ends: tuple[float, float] | None) -> list[float | None] | None:
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
        "bits_removed_per_row_bounds": interval_json(measures.removed_bounds),
        "dist_g": finite(measures.dist_g),
        "dist_g_bounds": interval_json(measures.dist_g_bounds),
        "dist_g_mentioned": finite(measures.dist_g_mentioned),
        "dist": finite(measures.dist),
        "bits_due_to_order": finite(measures.bits_due_to_order),
        **order_json(measures),
        "not_assessed": not_assessed_json(release),
        "figures": measures.figures,
        "determined_rows": measures.determined_rows,
        "smallest_region": None if measures.smallest_region is None else decimal(measures.smallest_region),
        "smallest_group": measures.smallest_group,
        "regions": regions_json(measures),
        "assumptions": list(release.assumptions),
        "engine": answer.engine,
        "seconds": round(answer.seconds, 6),
        "trail": list(answer.trail),
    }
    if answer.status == "bounds":
        out["why_bounds"] = plain_reasons(answer.trail)
    out |= noise_json(release, measures)
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


def regions_json(measures: Measures) -> list[dict[str, Any]]:
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
