"""The ledger: what stands at every path of a file, with one status each, and what it keeps checks from being met.

The statuses: "used" (statements carry it), "implied" (computed from used figures, and it came out), "assumed" (it says
more to who knows the learner's rule only), "harmless" (a rule for this class and attribute, with a bound on its size),
"unused" (about training rows, and no statement carries it) and "unknown" (not understood). There is no status for a
class, a library or a kind of value.

How much a value of a stored graph can hold: its bytes, its texts, its form; objects in it are values by themselves.

What a value counts for is the most that somebody could write there, not what an honest file needs: a number eight
bytes, a long integer its bytes, a text its characters in UTF-8, a name its own, keys as values; a truth value by itself
holds nothing worth naming, in a list or dict (labels of rows may be one) a byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from recon.readers.inspection.findings.findings import Finding, Level, not_understood, padding_finding
from recon.readers.inspection.findings.severity import About
from recon.readers.stored.objects.arrays import extra_bytes, is_scalar
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.objects.things import Thing

NUMBER = 8  # bytes that a float, and an integer up to them, counts for
_PARTS = (dict, list, tuple, set, frozenset)


def size_of(value: Any) -> int:
    """Return the bytes of a value, keys of dicts included; objects and names in it count nothing.

    A value that stands in several places counts once. Iterative, linear in what there is.
    """
    if not has_parts(value):
        return _plain_bytes(value)
    return sum(map(size_in_list, _plain_parts(value)))


def size_in_list(value: Any) -> int:
    """Return the bytes that a plain value counts for where others stand beside it: at least one."""
    if isinstance(value, Name):
        return len(str(value))
    return 0 if isinstance(value, Thing) and not is_scalar(value) else max(1, _plain_bytes(value))


def _plain_parts(value: Any) -> Iterator[Any]:
    """Yield the values in a value, at any depth, that hold no others; those of shared parts once."""
    stack, met = [value], set[int]()
    while stack:
        one = stack.pop()
        if not has_parts(one):
            yield one
        elif id(one) not in met:
            met.add(id(one))
            stack.extend(parts_of(one))


def has_parts(value: Any) -> bool:
    """Return whether a value is a list, dict, set or array of objects: other values stand in it."""
    return isinstance(value, _PARTS) or (isinstance(value, np.ndarray) and value.dtype == object)


def parts_of(value: Any) -> list[Any]:
    """Return the values in a list, dict (its keys too), set or array of objects; [] of everything else."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, np.ndarray):
        return list(value.reshape(-1)) if value.dtype == object else []
    return list(value) if isinstance(value, _PARTS) else []


def _plain_bytes(value: Any) -> int:
    """Return the bytes that one plain value counts for."""
    if value is None or isinstance(value, (bool, Name)):
        return 0
    if isinstance(value, Thing):
        if not is_scalar(value):
            return 0
        return max(NUMBER, *(len(one) for one in value.args if isinstance(one, (str, bytes)))) + extra_bytes(value)
    if isinstance(value, int):
        return max(NUMBER, (value.bit_length() + 7) // 8)
    if isinstance(value, (float, np.floating, np.integer)):
        return NUMBER
    if isinstance(value, complex):
        return 2 * NUMBER
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, slice):
        return sum(map(_plain_bytes, (value.start, value.stop, value.step)))
    return NUMBER


def texts_of(value: Any) -> Iterator[str]:
    """Yield the texts and names in a value, keys included, of arrays of text the different ones."""
    for one in _plain_parts(value):
        if isinstance(one, (str, Name)):
            yield str(one)
        elif isinstance(one, np.ndarray) and one.dtype.kind in "US":
            yield from map(str, np.unique(one).tolist())


def is_small(value: Any) -> bool:
    """Return whether a value holds up to eight bytes: a truth value, None, a number, a short text; or nothing.

    Values in a list, dict or set that hold others are looked at when a walk of the graph comes to them.
    """
    if value is None or isinstance(value, (bool, float)):
        return True
    if isinstance(value, (str, bytes)):
        return size_of(value) <= NUMBER
    if isinstance(value, _PARTS):
        return not any(size_in_list(one) for one in parts_of(value) if not has_parts(one))
    return isinstance(value, int) and value.bit_length() <= 8 * NUMBER


def is_complex(value: Any) -> bool:
    """Return whether a value is a complex number, or an array or list of some: no fit has any."""
    kind = value.dtype.kind if isinstance(value, np.ndarray) else ""
    return kind == "c" or isinstance(value, complex) or any(isinstance(part, complex) for part in parts_of(value))


def letter_of(value: Any) -> str:
    """Return of which kind a value is: "." what holds no other value (or nothing), a letter of all others.

    l lists, d dicts, s sets, b bytes, o objects; arrays: a of numbers, t of texts, r of records, u of objects.
    """
    if isinstance(value, np.ndarray):
        kind = value.dtype.kind
        return "r" if value.dtype.names else {"O": "u", "U": "t", "S": "t", "V": "r"}.get(kind, "a")
    if isinstance(value, (bytes, bytearray)):
        return "b"
    if isinstance(value, Thing):
        return "." if is_scalar(value) else "o"
    if not isinstance(value, _PARTS) or not value:
        return "."
    return "l" if isinstance(value, (list, tuple)) else "d" if isinstance(value, dict) else "s"


def entries_in(value: Any) -> int:
    """Return how many entries a list, dict, set or array has, 0 of all others."""
    return value.size if isinstance(value, np.ndarray) else len(value) if isinstance(value, _PARTS) else 0


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
        return FileLedger(
            tuple(_figures_entry(one, uses, why) if one.status == "used" else one for one in self.entries)
        )

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
        found = [not_understood(one.path, one.bytes, one.what) for one in unknown
                 if one.why not in _CLEARED and (not one.small or len(small) == 1)]  # fmt: skip
        found += [padding_finding(one.path, one.bytes, _CLEARED[one.why]) for one in unknown if one.why in _CLEARED]
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


def _figures_entry(one: LedgerEntry, uses: Mapping[FigureKind, Use], why: str) -> LedgerEntry:
    """Return an entry of figures with the statements that carry them, as unused where there are none."""
    use = uses.get(cast("FigureKind", one.figures or "counts"))
    if use is not None and use.carried:
        return replace(one, why=use.carried)
    reason = "; ".join(use.left) if use is not None and use.left else why if use is None else "no statement carries it"
    subjects: dict[str, About] = {"values": "labels", "columns": "columns"}
    return replace(one, status="unused", about=subjects.get(one.figures, "sizes"), why=reason)


_SHOWN = 6  # names of small values
# Bytes between the fields of records that are not 0, which a copy cannot, or can have as zeros.
BETWEEN = ("bytes between the fields of records in a list or dict", "bytes between the fields of records")
_CLEARED = dict(zip(BETWEEN, (False, True), strict=True))
_LOOK = "look at what it holds; leave it out where predictions do not need it"
