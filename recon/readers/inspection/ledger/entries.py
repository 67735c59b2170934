"""The ledger: what stands at every path of a file, with one status each, and what it keeps checks from being met.

The statuses: "used" (statements carry it), "implied" (computed from used figures, and it came out), "assumed" (it says
more to who knows the learner's rule only), "harmless" (a rule for this class and attribute, with a bound on its size),
"unused" (about training rows, and no statement carries it) and "unknown" (not understood). There is no status for a
class, a library or a kind of value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

from recon.readers.inspection.findings.findings import Finding, Level, not_understood
from recon.readers.inspection.findings.severity import About
from recon.readers.inspection.ledger.sizes import NUMBER

Status = Literal["used", "implied", "assumed", "harmless", "unused", "unknown"]

# Kinds of figures: numbers of rows, rows per class, what leaves add to scores, bags by position, and single columns'.
FigureKind = Literal["counts", "classes", "values", "bags", "columns"]


@dataclass(frozen=True, slots=True)
class Use:
    """What statements carry of one kind of figure, in words ("" nothing), and what they leave out, with the reasons."""

    carried: str
    left: tuple[str, ...] = ()


STATUSES: dict[Status, str] = {
    "used": "statements carry it: the audit evaluates it",
    "implied": "a function of used figures, checked by computing it",
    "assumed": "says more only to who knows the learner's rule or arithmetic",
    "harmless": "the same whatever the rows are, or bounded in size and known not to be about them",
    "unused": "about the training rows, and no statement carries it",
    "unknown": "not understood: it may be anything",
}
# Small values (a number, a truth value, a text of up to eight bytes) and their bytes that are not understood and change
# no check: so many of a file.
SMALL, ALL = 8, 64


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What stands at one path, or at `places` paths that differ in numbers only (`[*]`): its status, and why.

    `bytes`: the most that all of it can hold. `level`: how grave it is, None where it is no finding. `about`: what it
    says something about. `small`: each value is a number or less. `why`: the rule, the statements or the reason.
    """

    path: str
    status: Status
    what: str
    bytes: int
    level: Level | None = None
    about: About = ""
    why: str = ""
    places: int = 1
    small: bool = False
    figures: str = ""
    more: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class FileLedger:
    """The entries of a file, each place in one of them."""

    entries: tuple[LedgerEntry, ...] = ()

    def by_statements(self, uses: Mapping[FigureKind, Use], why: str = "no reader states the figures") -> FileLedger:
        """Return the ledger with "used" only where statements carry the figures of a kind, with their numbers.

        All others are "unused", with the reason: what the reader left out, or `why`.
        """
        return FileLedger(tuple(_stated(one, uses, why) if one.status == "used" else one for one in self.entries))

    def unknown(self) -> tuple[LedgerEntry, ...]:
        """Return what is not understood, without small values while they are no more than eight and 64 bytes."""
        found = [one for one in self.entries if one.status == "unknown"]
        small = [one for one in found if one.small]
        few = sum(one.places for one in small) <= SMALL and sum(one.bytes for one in small) <= ALL
        return tuple(one for one in found if not (few and one.small))

    def findings(self) -> list[Finding]:
        """Return a finding for every entry that is not understood, or unused and told by no rule of its own.

        All small values that are not understood are one finding.
        """
        unknown = self.unknown()
        small = [one for one in unknown if one.small]
        found = [not_understood(one.path, one.bytes, one.what) for one in unknown if not one.small or len(small) == 1]
        if len(small) > 1:
            names = ", ".join(one.path for one in small[1:_SHOWN]) + (", ..." if len(small) > _SHOWN else "")
            what = f"{sum(one.places for one in small):,} values of up to {NUMBER} bytes (with {names})"
            found.append(not_understood(small[0].path, sum(one.bytes for one in small), what))
        found += [
            Finding(one.level, f"ledger-{one.about or 'entry'}", one.path, one.what, one.why, _LOOK)
            for one in self.entries
            if one.status == "unused" and one.level is not None
        ]
        return found

    def to_text(self) -> list[str]:
        """Return all entries for people, one line each, and how many bytes each status has."""
        sizes: Counter[str] = Counter()
        for one in self.entries:
            sizes[one.status] += one.bytes
        lines = [f"{name}: {sizes[name]:,} bytes: {STATUSES[name]}" for name in STATUSES if sizes[name]]
        for one in self.entries:
            places = f" at {one.places:,} places" if one.places > 1 else ""
            why = "".join(f"{mark} {text}" for mark, text in ((":", one.why), (";", one.more)) if text)
            lines.append(f"  {one.status:8} {one.path or '(the object)'}{places}, {one.what}, {one.bytes:,} bytes{why}")
        return lines


def _stated(one: LedgerEntry, uses: Mapping[FigureKind, Use], why: str) -> LedgerEntry:
    """Return an entry of figures with the statements that carry them, as unused where there are none."""
    use = uses.get(cast("FigureKind", one.figures or "counts"))
    if use is not None and use.carried:
        return replace(one, why=use.carried)
    reason = "; ".join(use.left) if use is not None and use.left else why if use is None else "no statement carries it"
    subjects: dict[str, About] = {"values": "labels", "columns": "columns"}
    return replace(one, status="unused", about=subjects.get(one.figures, "sizes"), why=reason)


_SHOWN = 6  # names of small values
_LOOK = "look at what it holds; leave it out where predictions do not need it"
