"""The ledger of stored objects of Python: every attribute of every object, by the table of its class or by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recon.inspection.findings.findings import Finding, Level, without_numbers
from recon.inspection.findings.severity import About
from recon.inspection.ledger.attributes import class_key, decided, known, names
from recon.inspection.ledger.entries import Entry, Status
from recon.inspection.ledger.sizes import has_parts, is_small, parts_of, size_of, texts_of
from recon.inspection.objects.generic import MIN_ROWS, row_finding
from recon.inspection.objects.traversal import Place, described, is_sparse, shape_of
from recon.stored.objects.arrays import padding_bytes
from recon.stored.objects.raw import Name
from recon.stored.objects.things import Thing

LONGEST = 40  # characters of a text that is an option or a name
LONGEST_NAME = 64  # characters of the name of a column or class
_COLUMNS = ("n_features_in_", "_n_features", "n_features_")
MOST_SIZE = 1_000_000  # columns, classes and members that a bound grows with
MOST_TEXTS = 16  # different texts and names that no fit shows, in all of a file
PER_ROW = "one entry per training row"
Said = tuple[Status, About, str]
HOLDS_NOTHING: Said = ("harmless", "", "an object with entries of its own, or nothing")
TOO_MUCH: Said = ("unknown", "", "more than any fit has there")
NOT_KNOWN: Said = ("unknown", "", "")


@dataclass
class Held:
    """One attribute of one object: the place that leads there, and what all values in it can hold."""

    first: Place
    bytes: int = 0
    largest: Place | None = None
    most: int = 0  # bytes of it
    extra: int = 0  # of them, beside what the values are: nothing explains them
    small: bool = True
    texts: set[str] = field(default_factory=set)

    @property
    def widest(self) -> Place:
        """Return the place of the largest array or list."""
        return self.largest or self.first


def object_entries(
    places: Sequence[Place], told: Mapping[int, Said], bounded: set[int], rows: set[int], read_whole: bool = False
) -> tuple[list[Entry], list[Finding]]:
    """Return the entries of a graph, and findings on what has one entry per training row.

    One entry per class, attribute and status: paths that differ in numbers only are one. `told`: by the id of a place,
    the status, what it is about and why, where a rule says so, `bounded` those of names and seeds; `rows`: possible
    numbers of training rows; `read_whole`: plain values that a reader has read to the end.
    """
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    found: list[Finding] = []
    free: set[str] = set()
    for held in held_attributes(places):
        said = told.get(id(held.first)) or _status(held, free, read_whole)
        if id(held.first) in bounded and not _is_bounded(held):
            said = TOO_MUCH
        if held.extra:
            said = ("unknown", "", "bytes beside what the values are")
        one = row_finding(held.widest, rows) if said[0] == "unknown" or said[1] == "rows" else None
        if one is None and said == ("unused", "rows", PER_ROW):
            one = row_finding(held.widest, {n for n in held.widest.shape if n >= MIN_ROWS})
        if one is not None:
            found.append(one)
            said = ("unused", "rows", one.follows)
        entry = _entry(held, said, one is not None or (id(held.first) in told and said is not TOO_MUCH))
        key = (without_numbers(entry.path), entry.status, entry.about, entry.why)
        groups.setdefault(key, []).append(entry)
    return [_together(group) for group in groups.values()], found


def held_attributes(places: Sequence[Place]) -> Iterable[Held]:
    """Return what every attribute of every object holds, shared values once, in the order of the walk."""
    found: dict[tuple[int, str], Held] = {}
    met: set[int] = set()
    for place in places:
        key = (id(place.owner), place.attribute)
        one = found.get(key)
        if one is None:
            one = found[key] = Held(place)
        value = place.value
        if isinstance(value, (Thing, np.ndarray, dict, list, tuple, set, frozenset, str, bytes)):
            if id(value) in met:
                continue
            met.add(id(value))
        extra = place.extra + (padding_bytes(value) if isinstance(value, np.ndarray) else 0)
        size = own_size(value)
        if one.largest is None or (size and size > one.most):
            one.largest, one.most = place, size
        one.bytes += size
        one.extra += extra
        one.small = one.small and (isinstance(value, Thing) or is_small(value)) and not extra
        one.texts.update(_own_texts(value))
    return found.values()


def own_size(value: Any) -> int:
    """Return the bytes of a value of a walk, without the values in it that the walk goes on to, and without blobs."""
    if isinstance(value, Thing):
        if is_sparse(value):
            return sum(map(size_of, value.attributes.values()))
        given = [v for v in (*value.args, *value.kwargs.values()) if not isinstance(v, (bytes, bytearray))]
        return sum(size_of(v) for v in given if _is_plain(v)) + sum(map(size_of, value.kwargs))
    if isinstance(value, (bytes, bytearray)) or is_model_text(value):
        return 0
    parts = parts_of(value)
    if not parts:
        return size_of(value)
    if isinstance(value, dict):
        inner = list(value.values())
        keys = sum(map(size_of, value))
        return keys + (_plain_size(inner) if all(map(_is_plain, inner)) else 0)
    return _plain_size(parts) if all(map(_is_plain, parts)) or isinstance(value, (set, frozenset)) else 0


def _plain_size(parts: list[Any]) -> int:
    return sum(size_of(p) for p in parts if not (isinstance(p, (bytes, bytearray)) or is_model_text(p)))


def is_model_text(value: Any) -> bool:
    """Return whether a text is a model of LightGBM, which is opened and told by itself."""
    return isinstance(value, str) and value.startswith("tree\n") and "feature_infos=" in value


def _is_plain(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, (bool, int, float, complex, str, bytes, Name))
        or (isinstance(value, Thing) and value.callable.name == "scalar" and value.callable.module.startswith("numpy."))
    )


def _own_texts(value: Any) -> Iterator[str]:
    """Yield the texts and names of a value of a walk, without those of values that the walk goes on to."""
    if isinstance(value, Thing):
        yield from (t for v in value.args if isinstance(v, (str, Name)) for t in texts_of(v))
    elif not is_model_text(value):
        yield from texts_of([one for one in parts_of(value) if not has_parts(one)] if has_parts(value) else value)


def _status(held: Held, free: set[str], read_whole: bool) -> Said:
    """Return the status of an attribute that no rule tells, what it is about, and why."""
    owner, value = held.first.owner, held.first.value
    empty = not held.bytes and not held.texts
    if owner is None:
        return HOLDS_NOTHING if empty else ("used", "", "its reader read all of it") if read_whole else NOT_KNOWN
    kind, attribute = class_key(owner), held.first.attribute
    decision, fits = decided(kind, attribute), known(kind, attribute)
    if empty and (decision is not None or fits is not None or not isinstance(value, (bool, type(None)))):
        return HOLDS_NOTHING
    if decision is not None and decision.about and decision.about != "listed":
        return "unused", decision.about, decision.why
    if decision is None and (fits is None or (fits.same is False and not fits.per_row())):
        return NOT_KNOWN
    if decision is None and fits is not None and fits.same is False:
        return "unused", "rows", PER_ROW
    sizes = _sizes_of(held.first)
    most = decision.bound(*sizes) if decision is not None else fits.bound(*sizes) if fits is not None else 0
    numbers = held.bytes - sum(map(_length, held.texts))
    if decision is not None and decision.about == "listed":
        fitting = held.bytes <= most and all(len(t) <= LONGEST_NAME for t in held.texts)
        return ("unused", "", decision.why) if fitting else TOO_MUCH
    if numbers > most or not _texts_fit(held, fits.texts if fits else frozenset(), free):
        return TOO_MUCH
    return "harmless", "", decision.why if decision is not None else "the same whatever the rows are"


def _is_bounded(held: Held) -> bool:
    """Return whether names and seeds are no more and no longer than those of honest models."""
    columns, classes, members = _sizes_of(held.first)
    most = LONGEST_NAME * max(MOST_TEXTS, columns, classes, members)
    return held.bytes <= most and all(len(t) <= LONGEST_NAME for t in held.texts)


def _length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _texts_fit(held: Held, options: frozenset[str], free: set[str]) -> bool:
    """Return whether the texts are options of the class, or names: short ones, and few in all of the file."""
    mine = [t for t in held.texts if t not in options and t not in names()]
    free.update(mine)
    return not mine or (len(free) <= MOST_TEXTS and all(len(t) <= LONGEST for t in mine))


def _sizes_of(place: Place) -> tuple[int, int, int]:
    """Return the numbers of columns, classes and members of the model that a place belongs to."""
    at: Place | None = place
    columns = classes = members = 0
    while at is not None and not (columns and classes and members):
        owner = at.owner
        if owner is not None:
            given = next((owner.get(name) for name in _COLUMNS if owner.has(name)), 0)
            columns = columns or (given if isinstance(given, int) and 0 < given < MOST_SIZE else 0)
            classes = classes or _length_of(owner, "classes_")
            members = members or _length_of(owner, "estimators_")
        at = at.above
    return columns or 1, classes or 1, members or 1


def _length_of(owner: Thing, attribute: str) -> int:
    """Return how many parts a list or array of an object has, 0 where it has none."""
    held = owner.fields().get(attribute)
    shape = shape_of(held if isinstance(held, (list, tuple)) else owner.get(attribute)) if held is not None else ()
    return min(shape[0], MOST_SIZE) if shape else 0


def _entry(held: Held, said: Said, told: bool) -> Entry:
    """Return the entry of an attribute; it has a level where no finding tells it yet."""
    status, about, why = said
    place = held.first
    level: Level | None = None if told or status != "unused" else "high" if about == "rows" else "info"
    small = status == "unknown" and held.small
    return Entry(place.path, status, described(place.value), held.bytes + held.extra, level, about, why, 1, small)


def _together(same: list[Entry]) -> Entry:
    """Return one entry for several whose paths differ in numbers only."""
    first = same[0]
    if len(same) == 1:
        return first
    return Entry(without_numbers(first.path), first.status, first.what, sum(one.bytes for one in same), first.level,
                 first.about, first.why, len(same), all(one.small for one in same))  # fmt: skip
