"""The report of a correlation attack: which attacker knows what, and how far that narrows every correlation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.attacks.attacking.correlations import Correlations
from recon.attacks.attacking.linear import MODEL, LinearModel
from recon.report.page.blocks import PagePart, section_parts
from recon.report.wording.headline import (
    DIGITS,
    PartReport,
    assumption_lines,
    finite,
    provenance_json,
    provenance_lines,
)

PAIRS_SHOWN = 15


@dataclass(frozen=True, eq=False)
class CorrelationReport(PartReport):
    """A finished correlation attack; `to_json`, `to_markdown`, `to_html` and `to_text` show the same figures.

    `ended`: a limit ended the work, and intervals may be wider than they need to be.
    """

    of: EncodedRelease | LinearModel
    found: Correlations
    confidence: float
    seed: int
    ended: bool = False

    @property
    def about(self) -> str:
        """Return the file of the model."""
        return self.of.file

    @property
    def status(self) -> str:
        """Return "exact" where everything was done, "bounds" where a limit ended the work."""
        return "bounds" if self.ended else "exact"

    @property
    def title(self) -> str:
        """Return the report's title."""
        return f"Correlation attack on {self.about or 'a release'}"

    @property
    def assumptions(self) -> list[str]:
        """Return what the figures assume."""
        rows = "the rows given are those that the model was trained on"
        return [rows, *(assumption_lines(self.of) if isinstance(self.of, EncodedRelease) else [])]

    def attackers(self) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Yield each attacker with what it knows, and its lines."""
        for name, knows in self.found.knows.items():
            own = self.found.frame[self.found.frame["attacker"] == name]
            if len(own):
                yield name, knows, own

    def pairs(self) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Yield each pair of columns with its lines, attackers in the order of what they know."""
        for (first, second), own in self.found.frame.groupby(["first", "second"], sort=False):
            yield str(first), str(second), own

    def to_dict(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return the report as an object ready for JSON; there are no long numbers in it."""
        return {
            "attack": 1, "kind": "correlation", "file": self.about, "read_from": self.read_from(),
            "status": self.status, "seed": self.seed, "confidence": self.confidence,
            "attackers": [
                {"attacker": name, "knows": knows, "pairs": len(own), "mean_width": finite(float(own["width"].mean())),
                 "holds": _covering_intervals(own)}
                for name, knows, own in self.attackers()
            ],
            "pairs": [
                {"first": first, "second": second, "truth": finite(_cell_or_none(own["truth"].iloc[0])),
                 "intervals": [_interval_json(line) for line in own.to_dict("records")]}
                for first, second, own in self.pairs()
            ],
            "notes": list(self.found.notes), "assumptions": self.assumptions,
        }  # fmt: skip

    def read_from(self) -> list[dict[str, Any]]:
        """Return where the model was read from."""
        if isinstance(self.of, EncodedRelease):
            return provenance_json(self.of)
        return [{"model": "linear", "format": self.of.origin, "counts": []}]

    def parts(self) -> list[PagePart]:
        """Return the report's parts: who knows what, and what that leaves of every correlation."""
        found = self.found
        shown = list(self.pairs())
        lines = [line for pair in shown[:PAIRS_SHOWN] for line in _pair_lines(*pair)]
        if len(shown) > PAIRS_SHOWN:
            lines.append(f"and {len(shown) - PAIRS_SHOWN:,} more pairs, listed by --json")
        widths = [_summary(*one) for one in self.attackers()]
        source = provenance_lines(self.of) if isinstance(self.of, EncodedRelease) else [_linear_line(self.of)]
        out = [
            ("Which attacker knows what", [f"{name}: {knows}" for name, knows, _ in self.attackers()]),
            ("How far that narrows correlations down", widths),
            ("Where the correlation of each pair lies", lines),
            ("Beside it", list(found.notes)),
            ("What was read", source),
            ("This assumes", self.assumptions),
        ]
        return section_parts((title, said) for title, said in out if said)


def _summary(name: str, _: str, own: pd.DataFrame) -> str:
    """Return how wide an attacker's intervals are on average, and how many hold the truth."""
    text = f"{name}: mean width {own['width'].mean():.3f} over {len(own):,} pair{'' if len(own) == 1 else 's'}"
    if "estimate" in own and own["estimate"].notna().any():
        return f"{name}: a point estimate" + _error_text(own)
    kept = own["holds"].dropna()
    if len(kept):
        text += f", the true correlation inside {int(kept.sum()):,} of {len(kept):,} times"
    level = own["confidence"].dropna()
    return text + (f" (at confidence {level.min():g})" if len(level) and level.min() < 1 else "")


def _error_text(own: pd.DataFrame) -> str:
    """Return how far estimates are from the truth, where it is known."""
    known = own[own["truth"].notna()]
    if not len(known):
        return ""
    return f", off by {(known['estimate'] - known['truth']).abs().astype(float).max():.3f}"


def _pair_lines(first: str, second: str, own: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of one pair: its true correlation, and what each attacker leaves of it."""
    truth = _cell_or_none(own["truth"].iloc[0])
    yield f"'{first}' and '{second}'" + ("" if truth is None else f": {truth:+.3f}")
    for line in own.to_dict("records"):
        holds = {True: ", the truth inside", False: ", the truth OUTSIDE"}.get(line["holds"], "")
        kind = {"bounds": " (outer bounds)", "empty": " (no dataset fits the noise: what else is known)"}
        if _cell_or_none(line.get("estimate")) is not None:
            yield f"  {line['attacker']}: {line['estimate']:+.3f} (estimate)"
            continue
        yield (f"  {line['attacker']}: {line['low']:+.3f} to {line['high']:+.3f}, width {line['width']:.3f}"
               f"{holds}{kind.get(line['status'], '')}")  # fmt: skip


def _linear_line(of: LinearModel) -> str:
    """Return what a linear model was read from."""
    return f"a linear model of {len(of.names):,} columns, read from {of.origin}; nothing of the file was run"


def _covering_intervals(own: pd.DataFrame) -> int | None:
    """Return how many intervals hold the truth, None where it is not known."""
    known = own["holds"].dropna()
    return int(known.sum()) if len(known) else None


def _cell_or_none(x: Any) -> Any:
    """Return a cell of a frame, None where it is empty."""
    return None if pd.isna(x) else x


def _interval_json(line: Mapping[Any, Any]) -> dict[str, Any]:
    """Return one attacker's line of a pair."""
    out = {k: finite(_cell_or_none(line[k])) for k in ("low", "high", "width", "confidence")}
    holds = _cell_or_none(line["holds"])
    more = {"estimate": finite(_cell_or_none(line["estimate"]))} if line["attacker"] == MODEL else {}
    return {"attacker": line["attacker"], **out, "holds": None if holds is None else bool(holds),
            "status": line["status"], "engine": line["engine"] or None, **more}  # fmt: skip
