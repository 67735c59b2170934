"""The ledger of stored objects of Python: every attribute of every object, by the table of its class or by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any

import numpy as np

from recon.readers.inspection.findings.findings import About, Finding, Level, without_numbers
from recon.readers.inspection.ledger.entries import (
    ALL,
    BETWEEN,
    NUMBER,
    SMALL,
    STATE,
    LedgerEntry,
    Status,
    attribute_record,
    class_key,
    decided,
    entries_in,
    has_parts,
    is_complex,
    is_known_class,
    is_small,
    letter_of,
    libraries,
    names,
    parts_of,
    places_of_objects,
    size_in_list,
    size_of,
    texts_of,
    told_text,
)
from recon.readers.inspection.ledger.forms import LEVELS, is_name
from recon.readers.inspection.objects.generic import (
    MIN_ROWS,
    is_unlike_model,
    may_have_lists,
    row_finding,
    sizes_of,
    widths_of,
)
from recon.readers.inspection.objects.traversal import GENERATORS, GraphPlace, NodeField, described, is_sparse
from recon.readers.inspection.objects.traversal import NAMES as SEEDS
from recon.readers.stored.objects.arrays import extra_bytes, is_scalar, padding_bytes, resolve
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing

_SEVERAL = (list, tuple, set, frozenset)
_PLAIN = (bool, int, float, complex, str, bytes, Name)
_LISTED = (*_SEVERAL, str, int)
_LABELS = frozenset(["classes_", "_classes"])
_LEVELS = frozenset(["categories_", "categories", "pandas_categorical", "known_categories", "_known_categories"])
MIN_BLOB = 512  # bytes that may be a file inside a file; what is shorter is a number or a text like others
# Bytes of the numbers in the state of a generator of numpy, beside those of the words of MT19937.
_GENERATOR, _STATE = 160, 2_600
# How many of the 624 words of a generator's state have each of their 32 bits: all others are no draws (once in 10^9).
_DRAWN = (231, 393)
LONGEST = 40  # characters of a text that is an option or a name
COLUMN_NAMES = "feature_names_in_"  # told by itself, with a bound of its own: elsewhere the same names say nothing more
_NAMES = frozenset([COLUMN_NAMES, "_ynames_map", "_cache"])  # the last two of statsmodels: of classes, of columns
LONGEST_NAME = 64  # characters of the name of a column or class
# Entries of a list that a parameter may be given; numbers of parameters in a file beside the first of each.
MAX_LIST_ENTRIES = 8
DEEPEST_FORM = 6  # values inside values that a form tells apart
# Different texts and names that no fit shows, in all of a file, and long numbers of parameters.
MOST_TEXTS = 16
DIGITS, SEED = 8, 33  # digits of a float and bits of a whole number that are given as parameters
# Keys of dicts around models.
_WORDS = (
    "model models clf classifier reg regressor estimator pipeline pipe scaler encoder preprocessor features "
    "feature_names columns cols target label labels classes threshold version params metadata meta name"
)
_KEYS = frozenset(_WORDS.split())
COLUMNS = "figures of single columns that the file's reader states"
PER_ROW = "one entry per training row"
Said = tuple[Status, About, str]
HOLDS_NOTHING: Said = ("harmless", "", "an object with entries of its own, or nothing")
TOO_MUCH: Said = ("unknown", "", "more than any fit has there")
NOT_KNOWN: Said = ("unknown", "", "")


@dataclass
class HeldAttribute:
    """One attribute of one object: the place that leads there, and what all values in it can hold."""

    first: GraphPlace
    bytes: int = 0
    largest: GraphPlace | None = None
    most: int = 0  # bytes of it
    extra: int = 0  # of them, beside what the values are: nothing explains them
    padding: list[tuple[GraphPlace, int]] = field(default_factory=list)  # bytes between the fields of records
    small: bool = True
    texts: set[str] = field(default_factory=set)
    lists: bool = False  # a list, a text or a long number stands inside of a list or dict of it
    beside: bool = False  # a value of a kind stands in it that no attribute about columns, labels or sizes has
    keys: set[str] = field(default_factory=set)  # of dicts inside of it
    forms: set[str] = field(default_factory=set)  # letters of the values on the way to each value in it
    longest: int = 0  # entries of the longest list or array in it
    entries: int = 0  # of all of them that hold no others, texts left out
    objects: int = 0  # bytes that objects in it count for where no fit has any
    generators: bool = False  # generators of random numbers are among them, which count for all that they hold

    @property
    def widest(self) -> GraphPlace:
        """Return the place of the largest array or list."""
        return self.largest or self.first


@dataclass
class _Free:
    """Texts and long numbers of a file that no fit has, and the numbers that each parameter of scikit-learn has."""

    texts: set[str] = field(default_factory=set)
    numbers: set[float] = field(default_factory=set)
    first: dict[tuple[str, str], float] = field(default_factory=dict)
    further: set[tuple[str, str, float]] = field(default_factory=set)  # beside the first of every parameter

    def is_one_more(self, kind: str, attribute: str, number: float) -> bool:
        """Return whether a parameter of a class has another number than before, and many in the file have."""
        if self.first.setdefault((kind, attribute), number) == number:
            return False
        self.further.add((kind, attribute, number))
        return len(self.further) > MAX_LIST_ENTRIES


OF_COLUMNS: dict[str, str] = {
    "": "the labels that occur: the file's reader states them",
    **dict.fromkeys(("columns", "sizes"), COLUMNS),
}


def object_entries(
    places: Sequence[GraphPlace], told: Mapping[int, Said], bounded: Mapping[int, int], rows: set[int],
    read_whole: bool = False, parts: Mapping[int, Sequence[NodeField]] | None = None, stated: Collection[int] = (),
) -> tuple[list[LedgerEntry], list[Finding]]:  # fmt: skip
    """Return the entries of a graph, and findings on what has one entry per training row.

    One entry per class, attribute and status: paths that differ in numbers only are one. `told`: by the id of a place,
    the status, what it is about and why, where a rule says so; `bounded`: of names and seeds, the most bytes that one
    of them has; `rows`: possible numbers of training rows; `read_whole`: plain values that a reader has read to the
    end; `stated`: lists of labels that the file's reader states.
    """
    groups: dict[tuple[Any, ...], list[LedgerEntry]] = {}
    found: list[Finding] = []
    free = _Free()
    every = list(_held_attributes(places))
    columns = frozenset(t for held in every if held.first.attribute in _NAMES for t in held.texts)
    for held in every:
        said = told.get(id(held.first)) or _status(held, free, read_whole, columns)
        if id(held.first) not in told and held.objects and said[0] != "unused" and _is_no_place_of_objects(held):
            said = NOT_KNOWN
        if id(held.first) in bounded and not _is_bounded(held, bounded[id(held.first)]):
            said = TOO_MUCH
        if said[0] == "unused" and said[1] != "rows" and not _is_grave(told, held) and _has_more(held):
            said = TOO_MUCH
        if said[0] == "unused" and held.first.attribute in _LEVELS and not _are_levels(held):
            said = TOO_MUCH
        if said[0] in {"harmless", "used"} and not _has_form(held, few=said[0] == "harmless"):
            said = TOO_MUCH
        if id(held.first) in stated and said[0] == "unused" and said[1] in OF_COLUMNS:  # and nothing else is in it
            said = ("used", "", OF_COLUMNS[said[1]])
        for place, size in held.padding:
            why = BETWEEN[place.can_be_replaced()]
            mine = LedgerEntry(place.path, "unknown", described(place.value), size, why=why)
            groups.setdefault((without_numbers(place.path), why), []).append(mine)
        if held.extra:
            said = ("unknown", "", "bytes beside what the values are")
        one = row_finding(held.widest, rows) if said[0] == "unknown" or said[1] == "rows" else None
        if one is None and said == ("unused", "rows", PER_ROW):
            one = row_finding(held.widest, {n for n in held.widest.shape if n >= MIN_ROWS})
        if one is not None:
            found.append(one)
            said = said if held.extra else ("unused", "rows", one.follows)
        if said[0] == "used" and parts and id(held.first) in parts:
            for part in parts[id(held.first)]:
                mine = _field(held, part)
                groups.setdefault((without_numbers(mine.path), mine.status, mine.about, mine.why), []).append(mine)
            continue
        if said[0] == "unknown" and _is_of_library(held.first.owner):
            held.bytes += held.objects
        entry = _entry(held, said, one is not None or (id(held.first) in told and said is not TOO_MUCH))
        if said is NOT_KNOWN and held.first.owner is None:
            entry = _around_models(held, entry, columns)
        key = (without_numbers(entry.path), entry.status, entry.about, entry.why)
        groups.setdefault(key, []).append(entry)
    return [_merged_entry(group) for group in groups.values()], found


def _held_attributes(places: Sequence[GraphPlace]) -> Iterable[HeldAttribute]:
    """Return what every attribute of every object holds, shared values once, in the order of the walk."""
    found: dict[tuple[int, str], HeldAttribute] = {}
    met: set[int] = set()
    forms: dict[int, str] = {}  # of places that others stand in
    for place in places:
        key = (id(place.owner), place.attribute)
        one = found.get(key)
        if one is None:
            one = found[key] = HeldAttribute(place)
        value = place.value
        form = (forms.get(id(place.above), "") if place.nested and place is not one.first else "") + letter_of(value)
        if form[-1] != ".":
            forms[id(place)] = form = form[:DEEPEST_FORM]
            one.forms.add(form)
            one.longest = max(one.longest, entries_in(value))
        if isinstance(value, (Thing, np.ndarray, dict, list, tuple, set, frozenset, str, bytes)):
            if id(value) in met:
                continue
            met.add(id(value))
        if isinstance(value, np.ndarray) and (padding := padding_bytes(value)):
            one.padding.append((place, padding))
        extra = place.extra + sum(extra_bytes(p) for p in parts_of(value) if isinstance(p, Thing) and is_scalar(p))
        size = _own_size(value, place)
        one.entries += _plain_entries(value) + (place.owner is None and place.nested and _is_plain(value))
        if one.largest is None or (size and size > one.most):
            one.largest, one.most = place, size
        one.bytes += size
        if isinstance(value, Thing) and not is_sparse(value) and not _is_of_array(place):
            one.generators = one.generators or value.kind.startswith(GENERATORS)
            one.objects += _STATE if value.kind.startswith(GENERATORS) else NUMBER
        one.lists = one.lists or (
            place.nested and isinstance(value, _LISTED) and not is_small(value) and not _is_of_array(place)
        )
        one.beside = one.beside or _is_beside(place, size)
        if place.nested and isinstance(value, dict):
            one.keys.update(map(str, value))
        one.extra += extra
        one.small = one.small and (isinstance(value, Thing) or is_small(value)) and not extra
        one.texts.update(_own_texts(value))
    return found.values()


def _plain_entries(value: Any) -> int:
    """Return how many numbers and truth values stand right in a list, dict or array that holds no others."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return 0 if value.dtype.kind in "US" else value.size
    parts = list(value.values()) if isinstance(value, dict) else parts_of(value)
    return sum(not isinstance(p, (str, Name)) for p in parts) if all(map(_is_plain, parts)) else 0


def _own_size(value: Any, place: GraphPlace | None = None) -> int:
    """Return the bytes of a value of a walk, without the values in it that the walk goes on to, and without blobs."""
    if isinstance(value, Thing):
        if is_sparse(value):
            return sum(map(size_of, value.attributes.values()))
        given = [v for v in (*value.args, *value.kwargs.values()) if not _is_blob(v, place)]
        size = sum(size_of(v) for v in given if _is_plain(v)) + sum(map(size_of, (*value.kwargs, *value.pairs)))
        return max(NUMBER, size) if size else 0
    if _is_blob(value, place):
        return 0
    parts = parts_of(value)
    nested = place is not None and place.nested
    if isinstance(value, np.ndarray) and not value.size:  # its shape may be anything
        return NUMBER * max(0, sum(int(length > 1) for length in value.shape) - (not nested))
    if not parts:
        return max(size_of(value), int(nested and has_parts(value)))
    if isinstance(value, dict):
        inner = list(value.values())
        keys = sum(map(size_of, value))
        return keys + (_plain_size(inner, place) if all(map(_is_plain, inner)) else 0)
    return _plain_size(parts, place) if all(map(_is_plain, parts)) else 0


def _plain_size(parts: list[Any], place: GraphPlace | None) -> int:
    return sum(size_in_list(p) for p in parts if not _is_blob(p, place))


def _is_blob(value: Any, place: GraphPlace | None = None) -> bool:
    """Return whether a value is opened and told by itself: bytes that nothing explains, a model of LightGBM as text."""
    if isinstance(value, (bytes, bytearray)):
        return place is None or len(value) > explained(place)
    return isinstance(value, str) and value.startswith("tree\n") and "feature_infos=" in value


def explained(place: GraphPlace) -> int:
    """Return how many bytes of a place the table or a decision explains, whatever they are; 0 without one."""
    if place.owner is None:
        return 0
    if _is_of_array(place):
        return MIN_BLOB
    kind = class_key(place.owner)
    decision = decided(kind, place.attribute)
    if decision is not None and decision.most:
        return min(decision.bound(1, 1, 1), MIN_BLOB)
    return NUMBER if attribute_record(kind, place.attribute) is not None else 0


def _is_of_array(place: GraphPlace) -> bool:
    """Return whether a place is in what an array with a mask was made of."""
    above = place.above
    near = [one.value for one in (above, above.above if above else None) if one is not None]
    return any(isinstance(value, Thing) and value.class_name == "MaskedArray" for value in near)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, _PLAIN) or (isinstance(value, Thing) and is_scalar(value))


def _own_texts(value: Any) -> Iterator[str]:
    """Yield the texts and names of a value of a walk, without those of values that the walk goes on to."""
    if isinstance(value, Thing):
        yield from (t for v in (*value.args, *value.pairs) if isinstance(v, (str, Name)) for t in texts_of(v))
    elif not _is_blob(value):
        yield from texts_of([one for one in parts_of(value) if not has_parts(one)] if has_parts(value) else value)


def _status(held: HeldAttribute, free: _Free, read_whole: bool, columns: frozenset[str] = frozenset()) -> Said:
    """Return the status of an attribute that no rule tells, what it is about, and why.

    `columns`: the names of columns that stand in the file, which are told by themselves.
    """
    owner, value = held.first.owner, held.first.value
    empty = not held.bytes and not held.texts
    if owner is None:
        return HOLDS_NOTHING if empty else ("used", "", "its reader read all of it") if read_whole else NOT_KNOWN
    kind, attribute = class_key(owner), held.first.attribute
    if kind == "pandas.ArrowStringArray" and attribute == "_pa_array" and held.texts <= columns and not held.extra:
        return "harmless", "", "names of columns and classes, which stand elsewhere in the file"
    decision, fits = decided(kind, attribute), attribute_record(kind, attribute)
    if empty and (decision is not None or fits is not None or not isinstance(value, (bool, type(None)))):
        return HOLDS_NOTHING
    if not held.texts and (fits is not None or (decision is not None and decision.most)) and _is_constant(value):
        return "harmless", "", "one number, however often"
    plain = fits is not None and fits.same is not None and not fits.shapes and not (decision and decision.most)
    if plain and held.bytes > NUMBER and (held.widest.shape or has_parts(value)):  # where fits have a number or object
        return TOO_MUCH
    if isinstance(value, str) and fits is not None and told_text(value) in fits.texts:
        return "harmless", "", "a setting: one of the words that fits have"
    if decision is not None and decision.about and decision.about != "listed":
        return "unused", decision.about, decision.why
    if decision is None and (fits is None or (fits.same is False and not fits.per_row())):
        return NOT_KNOWN
    if decision is None and fits is not None and fits.same is False:
        return "unused", "rows", PER_ROW
    sizes = sizes_of(held.first)
    most = decision.bound(*sizes) if decision is not None else fits.bound(*sizes) if fits is not None else 0
    numbers = held.bytes - sum(map(_length, held.texts))
    if decision is not None and decision.about == "listed":
        if held.first.owner is not None and held.first.owner.kind.startswith("numpy."):
            return ("unused", "", decision.why) if _is_generator(held) else TOO_MUCH
        fitting = held.bytes <= most and all(len(t) <= LONGEST_NAME for t in held.texts)
        fitting = fitting and (attribute not in _LABELS or _are_labels(owner, value))
        return ("unused", "", decision.why) if fitting else TOO_MUCH
    if decision is not None:  # a list of truth values has as many entries as one of numbers
        numbers = max(numbers, NUMBER * held.entries)
    if numbers > most or not _texts_fit(held, (fits.texts if fits else frozenset()) | columns, free):
        return TOO_MUCH
    if fits is not None and fits.same and not _numbers_fit(held, free):
        return TOO_MUCH
    given = isinstance(value, (int, float)) and kind.startswith("sklearn.") and kind != "sklearn.Tree"
    if given and free.is_one_more(kind, attribute, value):
        return TOO_MUCH
    return "harmless", "", decision.why if decision is not None else "the same whatever the rows are"


def _is_no_place_of_objects(held: HeldAttribute) -> bool:
    """Return whether no fit of a known library has objects in an attribute, whatever stands in them."""
    owner, attribute = held.first.owner, held.first.attribute
    if owner is None or not _is_of_library(owner) or owner.kind.startswith(GENERATORS):
        return False
    kind = class_key(owner)
    if held.generators and attribute not in {*SEEDS, "rng"}:
        return True
    return not (attribute_record(kind, attribute) is not None and attribute in places_of_objects()) and (
        decided(kind, attribute) is None or is_known_class(kind)
    )


def _are_levels(held: HeldAttribute) -> bool:
    """Return whether the texts in lists of categories are names, and no list has more of them than columns have."""
    return not held.texts or (held.longest <= LEVELS and all(is_name(text) for text in held.texts))


def _is_of_library(owner: Thing | None) -> bool:
    return owner is not None and class_key(owner).partition(".")[0] in libraries()


def _are_labels(owner: Thing, value: Any) -> bool:
    """Return whether classes are different numbers, texts or truth values, and no more than the model has.

    Of several outputs there is one list each.
    """
    held = resolve(value)
    several = isinstance(held, list) and bool(held) and all(isinstance(one, (list, np.ndarray)) for one in held)
    most, lists = _numbers_of_classes(owner), held if several else [held]
    if most and len(most) != len(lists):
        return False
    for number, one in enumerate(lists):
        if not isinstance(one, (list, tuple, np.ndarray)) or (isinstance(one, np.ndarray) and one.ndim != 1):
            return False
        labels = one.tolist() if isinstance(one, np.ndarray) else list(one)
        plain = all(label is None or isinstance(label, (str, int, float)) for label in labels)
        missing = sum(isinstance(label, float) and isnan(label) for label in labels)
        if not plain or len(set(labels)) != len(labels) or missing > 1:
            return False
        if most and len(labels) > most[number]:
            return False
    return True


def _numbers_of_classes(owner: Thing) -> list[int]:
    """Return how many classes a model states for each output, [] where it states none."""
    for name in ("n_classes_", "_n_classes"):
        stated = owner.get(name) if owner.has(name) else None
        if isinstance(stated, int):
            return [stated]
        if isinstance(stated, (list, np.ndarray)):
            return [n if isinstance(n, int) else 0 for n in np.asarray(stated, dtype=object).reshape(-1).tolist()]
    for name in ("class_count_", "class_prior_"):
        counts = owner.get(name) if owner.has(name) else None
        if isinstance(counts, np.ndarray) and counts.ndim == 1:
            return [len(counts)]
    return []


def _around_models(held: HeldAttribute, entry: LedgerEntry, columns: frozenset[str]) -> LedgerEntry:
    """Return the entry of a dict or list that models stand in: a small value where little else does.

    Its names of columns and its keys that people give count nothing, once each.
    """
    value = held.first.value
    if not _has_model(value) or held.beside or held.extra:
        return entry
    given = columns | _KEYS
    rest = held.bytes - sum(_length(text) for text in held.texts if text in given)
    few = held.entries <= SMALL and rest <= ALL and sum(text not in given for text in held.texts) <= SMALL
    return replace(entry, bytes=max(rest, 0), small=True) if few else entry


def _has_model(value: Any) -> bool:
    """Return whether a model of a known class stands in a dict or list, or in those in it, three deep at most."""
    met: set[int] = set()
    level = [value]
    for _ in range(3):
        near = [p for one in level for p in parts_of(one)]
        if any(isinstance(p, Thing) and is_known_class(class_key(p)) for p in near):
            return True
        level = list({id(p): p for p in near if has_parts(p) and id(p) not in met}.values())
        met.update(map(id, level))
    return False


def _is_constant(value: Any) -> bool:
    """Return whether an array holds one number of at most eight bytes, however often."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind in "biuf"
        and value.size > 0
        and bool((value == value.flat[0]).all())
    )


def _is_beside(place: GraphPlace, size: int) -> bool:
    """Return whether a value of so many bytes is of a kind that attributes about columns, labels and sizes do not have.

    Sets, slices, complex numbers, objects that are called with values, keys that are not texts; inside of a list
    records, bytes, and lists of lists.
    """
    value, above = place.value, place.above
    if isinstance(value, Thing) and is_known_class(class_key(value)):
        return False  # an object with entries of its own
    if isinstance(value, (set, frozenset, slice)) or (isinstance(value, Thing) and size and not is_sparse(value)):
        return not (_is_of_array(place) or (isinstance(value, Thing) and value.class_name == "MaskedArray"))
    if isinstance(value, dict) and any(isinstance(key, (tuple, frozenset, bytes)) for key in value):
        return not (_has_bound(place) and all(isinstance(part, str) for key in value for part in key))
    if is_complex(value) or not place.nested or above is None or _is_of_array(place):
        return is_complex(value)
    if isinstance(value, dict):
        return not all(isinstance(key, str) for key in value)
    if isinstance(value, (list, tuple)):
        return bool(value) and above.nested and isinstance(above.value, (list, tuple))
    return isinstance(value, (bytes, bytearray)) or (isinstance(value, np.ndarray) and bool(value.dtype.names))


def _has_bound(place: GraphPlace) -> bool:
    """Return whether the bytes of a value have a bound that was decided by hand: conditions of imodels' rules."""
    owner = place.owner
    found = None if owner is None else decided(class_key(owner), place.attribute)
    return found is not None and bool(found.most)


def _has_more(held: HeldAttribute) -> bool:
    """Return whether an attribute has values of other kinds in it than it should have, or keys that no fit has."""
    owner, value = held.first.owner, held.first.value
    if owner is None:
        return held.beside or held.lists
    if owner.kind.startswith("numpy.") or (held.generators and isinstance(value, Thing)):
        return False
    fits, decision = (
        attribute_record(class_key(owner), held.first.attribute),
        decided(class_key(owner), held.first.attribute),
    )
    entries = value.size if isinstance(value, np.ndarray) else len(value) if isinstance(value, _SEVERAL) else 0
    each = (decision is not None and decision.most == "d") or (fits is not None and fits.per_column())
    flat, (columns, classes) = not isinstance(value, np.ndarray) or value.ndim == 1, widths_of(held.first)
    labels = fits is not None and fits.per_class() and decision is not None and decision.about in {"labels", "sizes"}
    return (
        held.beside
        or not _has_form(held)
        or is_unlike_model(held.first)
        or (held.lists and not may_have_lists(held.first, decision))
        or (flat and ((each and entries > columns) or (labels and entries > max(2, classes))))
        or (isinstance(value, (int, str)) and size_of(value) > LONGEST_NAME)
        or bool(fits is not None and fits.same is None and held.keys - fits.texts)
    )


def _has_form(held: HeldAttribute, few: bool = False) -> bool:
    """Return whether values of such kinds stand in an attribute as in fits, where fits tell.

    `few`: parameters may have others, of as many entries as people write.
    """
    owner = held.first.owner
    fits = None if owner is None else attribute_record(class_key(owner), held.first.attribute)
    if fits is None or fits.has_form(held.forms):
        return True
    return few and held.longest <= max(MAX_LIST_ENTRIES, *sizes_of(held.first))


def _is_grave(told: Mapping[int, Said], held: HeldAttribute) -> bool:
    """Return whether a rule tells that rows or labels of rows stand in an attribute, whatever else is in it."""
    return told.get(id(held.first), NOT_KNOWN)[1] == "rows"


def _is_generator(held: HeldAttribute) -> bool:
    """Return whether an attribute is the state of a generator of numpy: its parts, and no number longer than theirs."""
    state = held.widest.value
    twister = isinstance(state, np.ndarray) and state.dtype == np.uint32 and state.shape == (624,)
    if twister:
        bits = np.unpackbits(state.view(np.uint8)).reshape(624, 32).sum(axis=0)
        if bits.min() < _DRAWN[0] or bits.max() > _DRAWN[1]:
            return False
    size = held.bytes - sum(map(_length, held.texts | held.keys)) - (state.nbytes if twister else 0)
    return size <= _GENERATOR and held.keys <= STATE and all(len(t) <= LONGEST for t in held.texts)


def _is_bounded(held: HeldAttribute, each: int) -> bool:
    """Return whether names and seeds are no more and no longer than those of honest models: `each` bytes at most."""
    columns, classes, members = sizes_of(held.first)
    most = each * max(1 if each == NUMBER else MOST_TEXTS, columns, classes, members)
    plain = each == NUMBER or not (held.objects or held.entries > columns or any(len(f) > 1 for f in held.forms))
    return plain and held.bytes <= most and all(len(t) <= LONGEST_NAME for t in held.texts)


def _length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _numbers_fit(held: HeldAttribute, free: _Free) -> bool:
    """Return whether the numbers of a parameter are short ones, as people give them, or few in all of the file."""
    value = held.first.value
    mine = {one for one in (parts_of(value) if has_parts(value) else [value]) if _is_long(one)}
    free.numbers.update(mine)
    return not mine or len(free.numbers) <= MOST_TEXTS


def _is_long(value: Any) -> bool:
    """Return whether a number has more digits than numbers that people write, or seeds."""
    if isinstance(value, float):
        return len(repr(value).partition("e")[0].replace(".", "").strip("-0")) > DIGITS
    return isinstance(value, int) and value.bit_length() > SEED


def _texts_fit(held: HeldAttribute, options: frozenset[str], free: _Free) -> bool:
    """Return whether the texts are options of the class, or names: short ones, and few in all of the file."""
    mine = [t for t in held.texts if told_text(t) not in options and t not in names() and _last_two(t) not in options]
    free.texts.update(mine)
    return not mine or (len(free.texts) <= MOST_TEXTS and all(len(t) <= LONGEST for t in mine))


def _last_two(name: str) -> str:
    """Return module and class of a class of scikit-learn by its full name: packages move between versions."""
    return ".".join(name.rsplit(".", 2)[1:]) if name.startswith("sklearn.") else name


def _entry(held: HeldAttribute, said: Said, told: bool) -> LedgerEntry:
    """Return the entry of an attribute; it has a level where no finding tells it yet."""
    status, about, why = said
    place = held.first
    level: Level | None = None if told or status != "unused" else "high" if about == "rows" else "info"
    small = status == "unknown" and held.small and held.bytes <= NUMBER
    return LedgerEntry(place.path, status, described(place.value), held.bytes + held.extra, level, about, why, 1, small,
                 "columns" if why == COLUMNS else "")  # fmt: skip


def _field(held: HeldAttribute, part: NodeField) -> LedgerEntry:
    """Return the entry of a field of an array, which is told with the array."""
    place = held.first
    path = f"{place.path}.{part.name}" if part.name else place.path
    return LedgerEntry(path, part.status, described(place.value), part.bytes, None, part.about, part.why, 1, False,
                 part.figures)  # fmt: skip


def _merged_entry(same: list[LedgerEntry]) -> LedgerEntry:
    """Return one entry for several whose paths differ in numbers only."""
    first = same[0]
    if len(same) == 1:
        return first
    return LedgerEntry(without_numbers(first.path), first.status, first.what, sum(one.bytes for one in same),
                       first.level,
                 first.about, first.why, len(same), all(one.small for one in same), first.figures)  # fmt: skip
