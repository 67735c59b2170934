"""The report: what an audit found as one JSON document and as sections in words; asks nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import EncodedRelease
from recon.answers.reasons import plain_reasons
from recon.auditing.facts import facts_of
from recon.auditing.findings import Findings, TruthCheck
from recon.auditing.persons.wording import who_lines
from recon.bounds.bound_answer import BoundAnswer
from recon.certificates.certificate_format import certified_lines
from recon.formats.drafts.suggesting import not_assessed_json, not_assessed_lines
from recon.leaf_values.wording import audit_json as leaf_value_json
from recon.leaf_values.wording import audit_lines as leaf_value_lines
from recon.located.wording import audit_json, audit_lines
from recon.measures.exposed import curve_points, exposed_groups
from recon.measures.figures import Measures
from recon.report.audited import Audited
from recon.report.document.drawing import drawing
from recon.report.document.making import Context, audited, how
from recon.report.group_report import SHOWN, exposure_lines, group_json, group_lines, interval_lines, rows_text
from recon.report.headline import (
    finite,
    headline_json,
    headline_lines,
    order_json,
    worlds_lines,
    worlds_text,
)
from recon.report.noise_report import bought_json, empty_json, empty_sections, noise_json, noise_lines
from recon.report.provenance import assumption_lines, doubts, provenance_json, provenance_lines, stored_lines
from recon.report.rendering import DIGITS, Sections, number
from solvers.display.displayed import NAME, Displayed, Facts
from solvers.foundation.escaping import named, shown
from solvers.foundation.exact import decimal, level_text

if TYPE_CHECKING:
    import pandas as pd

    from solvers.display.plots import Axes


HELPS = {
    "pinned": "people known exactly", "bits_left_per_person": "bits left per person",
    "smallest_group": "rows in the smallest group",
}  # fmt: skip


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


@dataclass(frozen=True, eq=False, repr=False)
class Report(Displayed, Audited):
    """A finished audit; `to_json`, `to_markdown`, `to_html` and `to_text` show the same figures.

    `context`: when and how it was made, and what a policy says.
    """

    findings: Findings
    context: Context = field(default_factory=Context)

    @property
    def found(self) -> Findings:
        """Return the findings."""
        return self.findings

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Return what policies look at; see `recon.auditing.facts`."""
        return facts_of(self.findings)

    def audited(self) -> dict[str, Any]:
        """Return what was audited: files, hashes, kinds, rows, attributes."""
        return audited(self.findings.release)

    @property
    def about(self) -> str:
        """Return the file of the release."""
        return self.findings.release.file

    @property
    def status(self) -> str:
        """Return exact, bounds, unsat, or empty: at the confidence asked for, no dataset fits the noisy counts."""
        if self.context.adds is not None and self.context.adds["after"]["status"] == "unsat":
            return "unsat"  # with the earlier releases, even where this one alone has worlds
        return self.findings.measures.status if self.findings.empty is None else "empty"

    def _facts(self) -> Facts:
        found = self.findings
        measured, stored = found.measures._facts(), [one for each in found.stored for one in each.findings]
        smallest = found.groups.smallest
        pairs = [
            ("file", found.release.file), ("SHA-256", found.release.sha256), ("status", self.status),
            *(pair for pair in measured.pairs if pair[0] != "status"),
            ("smallest published group", smallest), ("findings stored in the file", len(stored) or None),
        ]  # fmt: skip
        line = f"audit of {named(self.about or 'a release', NAME)}: {measured.line}"
        more = "to_text(), to_html(), to_markdown() and to_json() give the whole report; to_frame(), plot()"
        return Facts(line, pairs, notes=found.release.assumptions, more=more)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as one line, so that reports make a table: file, and those of `Measures.to_frame`."""
        frame = self.findings.measures.to_frame()
        frame["status"] = self.status
        frame.insert(0, "file", self.about)
        return frame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with how exposed rows are, see `Measures.plot`."""
        return self.findings.measures.plot(ax)

    def own(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return what only this kind of report has in its document."""
        found = self.findings
        head = {"file": found.release.file, "read_from": provenance_json(found.release)}
        if found.empty is not None:
            return head | empty_json(found.empty)
        leaf_values = found.determined, found.determined_truth, found.remedies
        out = {
            **head,
            **({} if found.positions is None else {"positions": audit_json(found.positions, found.positions_truth)}),
            **({"leaf_values": leaf_value_json(*leaf_values)} if found.determined else {}),
            "without_row_order": headline_json(found.measures, digits),
            "not_assessed": not_assessed_json(found.release),
            **count_json(found.release, found.measures, digits),
            "group_disclosure": group_json(found.groups),
            "interval_cells": [cell.to_json() for cell in found.intervals.cells],
            "interval_cells_recovered": found.intervals.recovered,
            "interval_cells_left_out": found.intervals.left_out,
        }
        if found.stored:
            out["stored"] = [one.to_json() for one in found.stored]
        if found.truth is not None:
            out["truth"] = truth_json(found.truth)
        if found.bought is not None:
            out["without_noise"] = bought_json(found.bought)
        if found.certificate is not None:
            out["certificate"] = found.certificate
        out["how"] = how(found, self.context)
        return out | exposure_json(found)

    def beside(self) -> Sections:
        """Return the sections on what was asked beside the release: people, earlier releases, remedies."""
        found, around = self.findings, self.context
        who = who_lines(found.profiles, found.persons)
        added = [] if around.adds is None else list(around.adds["sentences"])
        helps = [help_line(one) for one in around.remedies or ()]
        parts = [("Who", who), ("What this adds to earlier releases", added), ("What would help", helps)]
        return [(title, lines) for title, lines in parts if lines]

    def sections(self) -> Sections:
        """Return the report's sections as titles and lines."""
        found = self.findings
        if found.empty is not None:
            return empty_sections(found.empty)
        if found.measures.status == "unsat":
            conflict = [*found.measures.counted.conflict, *certified_lines(found.certificate), *doubts(found.release)]
            return [("No possible world: the statements contradict each other", conflict)]
        noise, certain = noise_lines(found.release, found.measures, found.bought), found.release.certain
        level = (
            ""
            if certain
            else f", at confidence {level_text(found.release.confidence)} (rows: at least; never for certain)"
        )
        at = "" if certain else f", at confidence {level_text(found.release.confidence)}"
        lines = headline_lines(found.measures)
        first = lines or worlds_lines(found.measures)
        unassessed, hidden = not_assessed_lines(found.release), interval_lines(found.intervals)
        stored = [line for one in found.stored for line in stored_lines(one)]
        leaves = leaf_value_lines(found.determined, found.determined_truth, found.remedies)
        located = [] if found.positions is None else audit_lines(found.positions, found.positions_truth)
        out = [
            *([("What this file gives back, by position in the training file", located)] if located else []),
            *([("What the leaf values give back", leaves)] if leaves else []),
            *([("NOT ASSESSED", unassessed)] if unassessed else []),
            *([("What the file stores outright, without any attack", stored)] if stored else []),
            ("What an adversary is left with" + at, [*first, *certified_lines(found.certificate)]),
            *([("What the noise leaves", noise)] if noise else []),
            *([("The same counted otherwise", worlds_lines(found.measures, stated=True))] if lines else []),
            ("Who is most exposed" + level, exposure_lines(found.measures)),
            *([("Suppressed and interval cells: what they can still be" + at, hidden)] if hidden else []),
            ("What the counts say without any reconstruction" + level, group_lines(found)),
        ]
        if found.truth is not None:
            out.append(("The true rows", truth_lines(found.truth)))
        out += self.beside()
        out.append(("What the counts are", provenance_lines(found.release)))
        return [*out, ("This assumes", assumption_lines(found.release))]


def help_line(one: Mapping[str, Any]) -> str:
    """Return one line on a remedy: what it leaves of the figures, what it costs, what the policy says."""
    figures = [f"{interval_text(one[key])} {words}" for key, words in HELPS.items() if one.get(key) is not None]
    accuracy = [] if one.get("accuracy") is None else [f"accuracy {100 * one['accuracy']:.1f} %"]
    said = {"met": ["meets the policy"], "violated": ["does not meet the policy"]}.get(str(one.get("outcome")), [])
    text = ", ".join([*figures, *accuracy, *said]) or str(one.get("note") or one["status"])
    return f"{one['remedy']}: {text}"


def interval_text(ends: Sequence[Any]) -> str:
    """Return a figure, or that it is bounded."""
    least, most = (x if x is None else f"{x:,.2f}" if isinstance(x, float) else f"{x:,}" for x in ends)
    if most is None:
        return f"at least {least}"
    return str(most) if least == most else f"{least} to {most}"


def exposure_json(found: Findings) -> dict[str, Any]:
    """Return who is exposed and where, for tables and charts: groups, curve, attributes, the model drawn, persons."""
    m = found.measures
    if m.status == "unsat":
        return {}
    exposed = exposed_groups(m)
    return {
        "exposed": exposed,
        "exposed_in_all": max(len(exposed), int((m.exposure["rows"] > 0).sum()) if len(m.exposure) else 0),
        "curve": curve_points(m),
        "attribute_bits": list(found.attribute_bits),
        "forced": found.forced,
        "drawing": drawing(found.release, m),
        "profiles": found.profiles,
        "persons": found.persons,
    }


def bound_json(found: BoundAnswer) -> dict[str, Any]:
    """Return the object that `recon bound --json` prints."""
    keys = ("min", "max", "expectation", "status", "convention", "engine")
    why = {"why_bounds": plain_reasons(found.trail)} if found.status == "bounds" and found.trail else {}
    out = {k: getattr(found, k) for k in keys} | {"assumptions": list(found.assumptions), "trail": list(found.trail)}
    out["informative"] = found.informative
    return out | why


def bound_line(found: BoundAnswer, of: str | None) -> str:
    """Return the line that `recon bound` prints."""
    if found.min is None or found.max is None:
        return f"in no world is there a figure to bound   [{found.convention}; {found.status}]"
    text, of = f"   [{found.convention}; {found.status}]", None if of is None else shown(of)
    if found.informative is False:
        text += "\nthis says no more than the domain and the number of rows do by themselves"
    if found.status == "bounds" and found.trail:
        text += f"\nwhy bounds only: {shown(plain_reasons(found.trail))}"
    if of is None:
        if found.min == found.max:
            return f"{rows_text(int(found.min))} in every world{text}"
        return f"between {found.min:,} and {rows_text(int(found.max))}{expected_text(found)}{text}"
    what = "correlation" if "," in of else "mean"
    if found.min == found.max:
        return f"{what} of {of}: {number(found.min)} in every world that has one{text}"
    return f"{what} of {of}: between {number(found.min)} and {number(found.max)}{expected_text(found)}{text}"


def expected_text(found: BoundAnswer) -> str:
    """Return the mean over worlds for people, and that there is none where it is not known."""
    known = found.expectation
    return ", expected value not known" if known is None else f", {number(known)} expected"


def truth_json(check: TruthCheck) -> dict[str, Any]:
    """Return the truth check as an object ready for JSON."""
    out: dict[str, Any] = {"is_world": check.is_world, "violated": list(check.violated), "note": check.note}
    out |= {"trail": list(check.trail)} if check.trail else {}
    if check.comparison is not None:
        match = check.comparison.match
        out["reconstruction"] = {
            "rows_right": match.rows_right,
            "share_right": match.share_right,
            "cells_right": finite(match.cells_right),
            "unique_rows": match.unique_rows,
            "unique_right": match.unique_right,
            "unique_proved": check.proved,
        }
        out["baselines"] = [
            {"name": b.name, "share_right": b.share_right, "cells_right": finite(b.cells_right)}
            for b in check.comparison.baselines
        ]
    return out


def truth_lines(check: TruthCheck) -> list[str]:
    """Return the lines on the truth."""
    lines = ["the true rows are a possible world" if check.is_world else "the true rows are NOT a possible world:"]
    lines += list(check.violated[:SHOWN])
    if check.comparison is None:
        return [*lines, check.note]

    def shares(rows: float, cells: float | None) -> str:
        return f"{100 * rows:.1f} % of rows, {'-' if cells is None else f'{100 * cells:.1f} %'} of cells right"

    match = check.comparison.match
    lines.append(f"one reconstruction: {shares(match.share_right, match.cells_right)}")
    lines += [f"baseline, {b.name}: {shares(b.share_right, b.cells_right)}" for b in check.comparison.baselines]
    lines += [match.note] if match.note else []
    proved = "not decided" if check.proved is None else f"{check.proved:,}"
    lines.append(
        f"rows that occur once in the truth: {match.unique_rows:,}; given back: {match.unique_right:,}; "
        f"in every possible world: {proved}"
    )
    return lines
