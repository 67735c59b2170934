"""What every report says in words: worlds and entropy, kinds of counts, noise, and the figures of `recon count`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from encoders.domain.domain import GUESSED
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import MEANING, CountKind, Provenance, kinds_of
from recon.io.console.guarding import suggestion
from recon.io.console.output import json_text, seconds_said
from recon.queries.answers.counting import plain_reasons
from recon.queries.certificates.certificate_format import certified_lines
from recon.queries.measures.figures import Measures, bits_left, dist_g, removed_per_row, row_order
from recon.readers.formats.drafts.drafts import WANTING, not_assessed_json
from recon.readers.inspection.findings.findings import is_counting
from recon.release.auditing.findings import Emptiness, NoiseEffect, NoiseWorldsEffect
from solvers.foundation.exact import complement_text, decimal, level_text
from solvers.statements.questions.answers import CountAnswer
from solvers.statements.questions.query import Convention

if TYPE_CHECKING:
    from recon.queries.noisy.posterior import Posterior
    from recon.readers.inspection.inspecting import Inspection
    from recon.report.page.blocks import PagePart

DIGITS = 10_000  # decimal digits printed without being asked
Sections = list[tuple[str, list[str]]]


def number(x: float | None, places: int = 4) -> str:
    """Return a figure for people."""
    return "not defined" if x is None else f"{x:,.{places}f}"


class Rendered(ABC):
    """A report that says what it is about; every format shows the same."""

    @property
    @abstractmethod
    def about(self) -> str:
        """Return the file that the report is about."""

    @property
    @abstractmethod
    def status(self) -> str:
        """Return how the audit ended."""

    @abstractmethod
    def to_dict(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return the report as an object ready for JSON."""

    @abstractmethod
    def formatted(self, form: str, digits: int = DIGITS) -> str:
        """Return the report as "html", "md" or "json"; as text for a `form` that it does not have."""

    @property
    def title(self) -> str:
        """Return the report's title."""
        return f"Audit of {self.about or 'a release'}"

    def to_json(self, digits: int = DIGITS) -> str:
        """Return the report as JSON text, without NaN or Infinity."""
        return self.formatted("json", digits)

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        return self.formatted("md")

    def to_html(self) -> str:
        """Return the report as one self-contained page, without scripts, that prints well."""
        return self.formatted("html")

    def to_text(self) -> str:
        """Return the report for a terminal."""
        return self.formatted("txt")

    def written_as(self, suffix: str, digits: int = DIGITS) -> str:
        """Return the report in the format of a file's suffix (".html", ".md", ".json", ".sarif", ".xml"), else text."""
        return self.formatted({".xml": "junit"}.get(suffix, suffix.removeprefix(".")), digits)


class PartReport(Rendered):
    """A report that consists of parts and no more: attacks, tables of areas."""

    @abstractmethod
    def parts(self) -> list[PagePart]:
        """Return the report's parts, which every format renders."""

    def formatted(self, form: str, digits: int = DIGITS) -> str:
        """Return the parts as "html" or "md", the object of `to_dict` as "json"; else the parts as text."""
        from recon.report.page.renderers import as_markdown, as_page, as_text

        if form == "json":
            return json_text(self.to_dict(digits))
        title, parts = self.title, self.parts()
        return as_page(title, parts) if form == "html" else (as_markdown if form == "md" else as_text)(title, parts)


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


SCREEN = 20  # lines of one screen
MODELS_SHOWN = 5
NOTES_SHOWN = 12
GRAVE = ("critical", "high", "unknown")  # what is about single training rows, or may be


def provenance_json(release: EncodedRelease) -> list[dict[str, Any]]:
    """Return one object per model: its kind, the format it was read from (null: a release file), kinds of counts."""
    return [
        {"model": m.name, "format": (m.origin and m.origin.format) or None, "counts": list(kinds_of(m))}
        | ({"understood": list(m.origin.understood)} if m.origin and m.origin.understood else {})
        for m in release.models
    ]


def understood_sections(release: EncodedRelease) -> list[tuple[str, list[str]]]:
    """Return the section on how tables of counts were understood, one screen at most; none where there are none."""
    tables = [m for m in release.models if m.origin is not None and m.origin.understood]
    lines = []
    for model in tables:
        told = list(model.origin.understood) if model.origin is not None else []
        shown = told[: max(2, SCREEN // len(tables))]
        more = [f"and {len(told) - len(shown):,} more lines: --show-table"] if len(told) > len(shown) else []
        lines += [f"{model.name}: {line}" for line in (*shown, *more)] if len(tables) > 1 else [*shown, *more]
    return [
        ("The table as it is understood" if len(tables) == 1 else "The tables as they are understood", lines)
    ] * bool(lines)


def provenance_lines(release: EncodedRelease) -> list[str]:
    """Return where the models were read from, what their counts are, and what their readers have to say."""
    found: dict[tuple[Provenance | None, tuple[CountKind, ...]], list[str]] = {}
    for model in release.models:
        found.setdefault((model.origin, kinds_of(model)), []).append(model.name)
    lines = []
    for (origin, kinds), names in list(found.items())[:MODELS_SHOWN]:
        what = "; ".join(f"{kind}: {MEANING[kind]}" for kind in kinds) or "none"
        source = (origin and origin.format) or "a release file"
        lines.append(f"{names[0] if len(names) == 1 else f'{len(names)} models'}, read from {source}; counts {what}")
    if len(found) > MODELS_SHOWN:
        lines.append(f"and {len(found) - MODELS_SHOWN} more kinds of models")
    return [*lines, *release.reader_notes]


def stored_lines(found: Inspection) -> list[str]:
    """Return what a file stores about single training rows, one line each, and how much else.

    Not its counts: what they say of single rows is the rest of the report.
    """
    if found.format.startswith("not inspected"):
        return [f"{found.file}: {found.format}"]
    grave = [one for one in found.findings if one.level in GRAVE and not is_counting(one.rule)]
    lines = [f"{one.level}: {one.path}: {one.follows}" for one in grave]
    counted = any(is_counting(one.rule) for one in found.findings)
    others = sum(1 for one in found.findings if one.level == "medium" and not is_counting(one.rule))
    kinds = "1 kind" if others == 1 else f"{others} kinds"
    further = ["counts of training rows: what they reveal is the rest of this report"] if counted else []
    further += [f"{kinds} of other exact statistics of the training set (means, extremes, ...)"] if others else []
    remedy = ", and how to take it out" if grave else ""
    return [*lines, "; ".join([*further, f"{suggestion('inspect', [found.file])} lists everything{remedy}"])]


def assumption_lines(release: EncodedRelease) -> list[str]:
    """Return the assumptions, the notes on the domain in one line (`recon domain` and --json give them whole)."""
    notes = release.domain.notes
    kept = [a for a in release.assumptions if a not in notes]
    if release.domain.source != GUESSED or not notes:
        return kept + ([f"the domain makes {len(notes)} further assumptions, listed by --json"] if notes else [])
    more = f"; and {len(notes) - NOTES_SHOWN} more, listed by --json" if len(notes) > NOTES_SHOWN else ""
    return [*kept, "; ".join(notes[:NOTES_SHOWN]).replace(f"; {WANTING}", "; ") + more]


def doubts(release: EncodedRelease) -> list[str]:
    """Return what else may be wrong where no training set fits: the guessed domain."""
    guess = "nobody declared a domain: the guessed one may exclude the training rows (give --domain)"
    return [guess] if release.domain.source == GUESSED else []


LOG2_10 = math.log2(10)
LEGEND: dict[Convention, str] = {
    "multiset": "[multiset: 1 = nothing revealed, 0 = everything]",
    "population": "[population: 1 = nothing revealed, 0 = who is in the data, with all values]",
    "ordered": "[ordered, row order included: 1 = nothing revealed, 0 = every row and its place]",
    "assigned": "[assigned, order inside leaves or rules included: 1 = nothing revealed but classes, 0 = every row]",
}

NO_DIST: dict[Convention, str] = {  # why there is none of an exact count
    "multiset": "not defined (there are no rows to distinguish)",
    "population": "not defined (people of a list are distinguished already)",
    "ordered": "not known (how rows spread over cells differs between worlds)",
    "assigned": "not defined (the rows of a leaf or rule are no product of values)",
}


def worlds_text(answer: CountAnswer, digits: int = DIGITS) -> str | None:
    """Return the number of worlds in decimal, None where not exact or longer than `digits`."""
    if answer.status == "unsat":
        return "0"
    if answer.log2 is None or answer.log2 / LOG2_10 > digits:
        return None
    value = answer.value
    return None if value is None else decimal(value)


def finite(x: float | None) -> float | None:
    """Return x, None where JSON has no number for it."""
    return x if x is not None and math.isfinite(x) else None


def _power(answer: CountAnswer) -> str:
    """Return the number of worlds for people: digits if few, else a power of ten."""
    if answer.status == "unsat":
        return "0"
    if answer.relative:
        return "not countable (a continuous attribute has no resolution)"
    lower, upper = answer.bounds
    if answer.status != "exact" and math.isinf(lower):
        return f"at most 10^{upper / LOG2_10:,.2f} (no world was found)"
    if answer.status != "exact":
        minimum = f"10^{lower / LOG2_10:,.2f}" if lower > 0 else "1"
        return f"between {minimum} and 10^{upper / LOG2_10:,.2f}"
    text = worlds_text(answer, 24)
    return f"{int(text):,}" if text else f"about 10^{lower / LOG2_10:,.2f}"


def _datasets_text(found: CountAnswer) -> str:
    """Return the number of datasets for people."""
    text = _power(found)
    if text.endswith(")"):  # in brackets stands what else is to be said
        return " datasets (".join(text.rsplit(" (", 1))
    return "1 dataset" if text == "1" else f"{text} datasets"


def _ends_text(ends: tuple[float, float] | None, places: int = 1) -> str:
    """Return a figure, or what is proved of it where its least and greatest value differ, rounded outwards."""
    if ends is None:
        return "not known"
    scale = 10**places
    minimum, maximum = math.floor(ends[0] * scale) / scale, math.ceil(ends[1] * scale) / scale
    if ends[0] == ends[1]:
        return number(ends[0], places)
    upper = number(maximum, places)
    return f"at most {upper}" if minimum <= 0 else f"between {number(minimum, places)} and {upper}"


def headline_lines(m: Measures) -> list[str]:
    """Return a report's first figures: datasets without an order, bits left beyond it, rows known.

    They are the same whatever convention was asked for, so that any two releases of the same rows can be compared.
    """
    if m.datasets is None:
        return []
    known = "not known" if m.determined_rows is None else f"{m.determined_rows:,}"
    if m.figures == "bounds" and m.determined_rows is not None:
        known = f"at least {known}" if m.determined_rows else "none proved"
    everybody = "" if m.rows is None else f" of {m.rows:,}"
    left, before = bits_left(m), m.unordered_before
    per_row = ""
    if left is not None and before is not None and m.rows and left[0] == left[1]:
        per_row = f" ({number(left[0] / m.rows, 2)} of {number(before / m.rows, 2)} bits per row)"
    of_all = "" if before is None else f" of {number(before, 1)}"
    bits = _ends_text(left)
    if left is not None and before is not None and left[0] <= 0 < before <= left[1]:
        bits = "at most all"  # not more than all of them by rounding
    share = dist_g(m)
    shown = "not defined" if share is None else "not known" if share[0] < 1 <= share[1] else _ends_text(share, 4)
    return [
        f"datasets that agree, whatever the order of their rows: {_power(m.datasets)}   [multiset; "
        f"{m.datasets.status}]",
        f"bits left beyond the order of rows: {bits}{of_all}{per_row}",
        f"rows known completely, in every one of them: {known}{everybody}",
        f"Dist_G without the order of rows: {shown}   {LEGEND['multiset']}",
    ]


def headline_json(m: Measures, digits: int = DIGITS) -> dict[str, Any]:
    """Return the same figures as an object ready for JSON; intervals where a figure is not exact."""
    left, share, removed = bits_left(m), dist_g(m), removed_per_row(m)
    status = None if m.datasets is None else m.datasets.status
    out: dict[str, Any] = {
        "convention": "multiset",
        "datasets_status": status,
        "datasets_are": status,  # the earlier name, for one version
        "datasets": None if m.datasets is None else worlds_text(m.datasets, digits),
        "log2_datasets": None if m.datasets is None else [finite(x) for x in m.datasets.bounds],
        "bits_before": finite(m.unordered_before),
    }
    for key, ends in (("bits_left", left), ("bits_removed_per_row", removed), ("dist_g", share)):
        out[key] = _exactly(ends)
        out[f"{key}_bounds"] = _open_range(ends)
    known = None if m.determined_rows is None else "exact" if m.figures == "exact" else "at least"
    out |= {"rows_known": m.determined_rows, "rows_known_status": known, "rows": m.rows}
    return out | {"rows_known_is": known}  # the earlier name, for one version


def _exactly(ends: tuple[float, float] | None) -> float | None:
    """Return a figure whose least and greatest value are one, else None."""
    return None if ends is None or ends[0] < ends[1] else finite(ends[0])


def _open_range(ends: tuple[float, float] | None) -> list[float | None] | None:
    """Return the least and greatest value of a figure that is not exact, None where it is, or nothing is known."""
    return None if ends is None or ends[0] >= ends[1] else [finite(x) for x in ends]


def order_json(m: Measures) -> dict[str, Any]:
    """Return how many of the bits left are the order of rows, and bounds on it where it is not exact."""
    ends = row_order(m)
    return {"bits_of_row_order": _exactly(ends), "bits_of_row_order_bounds": _open_range(ends)}


def _dist_text(m: Measures) -> str:
    """Return the line on Dist_G and Dist; where worlds are bounded, the greatest Dist_G that is possible."""
    shown = number(m.dist_g)
    if m.dist_g_bounds is not None:
        maximum = math.ceil(10**4 * m.dist_g_bounds[1]) / 10**4
        shown = f"at most {number(maximum)}" if maximum < 1 else "not known"
    known = number(m.dist) if m.dist is not None or m.status == "bounds" else NO_DIST[m.convention]
    rest = f"over the attributes the release names {number(m.dist_g_mentioned)}; Dist {known}"
    return f"Dist_G {shown}; {rest}   {LEGEND[m.convention]}"


def worlds_lines(m: Measures, stated: bool = False) -> list[str]:
    """Return the lines on worlds and entropy in the convention asked for; `stated`: those without an order are said."""
    order = (
        [] if m.bits_due_to_order is None else [f"bits due to the order of the rules: {number(m.bits_due_to_order, 1)}"]
    )
    per_row = (
        ""
        if not m.rows or m.entropy_bits is None or m.uninformed_bits is None
        else (f" ({number(m.entropy_bits / m.rows, 2)} of {number(m.uninformed_bits / m.rows, 2)} bits per row)")
    )
    without_order = None if m.convention == "multiset" else m.datasets
    sets = rows = []
    if without_order is not None:
        sets = [f"the same without the order of rows: {_datasets_text(without_order)}   [multiset]"]
        rows = [f"part of that is the order of rows: {_ends_text(row_order(m))} bits"]
    why = plain_reasons(m.counted.trail) if m.status == "bounds" else ""
    if m.counted.relative:
        removed = "NOT ASSESSED" if m.bits_removed_per_row is None else number(m.bits_removed_per_row)
        return [
            f"training sets that agree with the release: {_power(m.counted)}   [convention: {m.convention}; "
            f"{m.status}]",
            f"uncertainty left, Dist_G and Dist: NOT ASSESSED; bits removed per row: {removed}",
            *([f"why bounds only: {why}"] if why else []),
            *order,
        ]
    return [
        f"training sets that agree with the release: {_power(m.counted)}   [convention: {m.convention}; {m.status}]",
        *([] if stated else sets),
        f"uncertainty left: {_bits_text(m)} of {number(m.uninformed_bits, 1)} bits{per_row}",
        *rows,
        f"bits removed per row: {_removed_text(m)}",
        _dist_text(m),
        *([f"why bounds only: {why}"] if why else []),
        *order,
    ]


def _bits_text(m: Measures) -> str:
    """Return the bits left, as an interval where sizes are bounds."""
    if m.status != "bounds" or m.counted.relative:
        return number(m.entropy_bits, 1)
    lower, upper = (number(x, 1) for x in m.counted.bounds)
    return f"at most {upper}" if math.isinf(m.counted.bounds[0]) else f"between {lower} and {upper}"


def _removed_text(m: Measures) -> str:
    """Return the bits removed per row; where worlds are bounded, the bounds that follow, rounded outwards."""
    if m.removed_bounds is None:
        return number(m.bits_removed_per_row)
    minimum, maximum = (10**4 * x for x in m.removed_bounds)
    lower = f"at least {number(math.floor(minimum) / 10**4)}" if math.floor(minimum) > 0 else "0 or more"
    return lower if math.isinf(m.counted.bounds[0]) else f"{lower}, at most {number(math.ceil(maximum) / 10**4)}"
